"""The papers' private rankers, built from mechanisms and estimators.

Every sampler has an exact twin: a density or the finite law of what is released.
"""

from dpbook.rankers.calibration import MleCalibration, mle_calibration, perturbed_mle_loss
from dpbook.rankers.counts import (
    count_noise_scale,
    noisy_counts,
    noisy_counts_logpdf,
    noisy_counts_ranking_pmf,
    noisy_counts_top_k_pmf,
)
from dpbook.rankers.debiased import debiased_mle, debiased_wins, response_weights
from dpbook.rankers.local import laplace_wins, reported_wins, reported_wins_pmf
from dpbook.rankers.mle import objective_perturbation, perturbed_mle, perturbed_mle_logpdf

__all__ = [
    "MleCalibration",
    "count_noise_scale",
    "debiased_mle",
    "debiased_wins",
    "laplace_wins",
    "mle_calibration",
    "noisy_counts",
    "noisy_counts_logpdf",
    "noisy_counts_ranking_pmf",
    "noisy_counts_top_k_pmf",
    "objective_perturbation",
    "perturbed_mle",
    "perturbed_mle_logpdf",
    "perturbed_mle_loss",
    "reported_wins",
    "reported_wins_pmf",
    "response_weights",
]
