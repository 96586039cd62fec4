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
from dpbook.rankers.mle import objective_perturbation, perturbed_mle, perturbed_mle_logpdf

__all__ = [
    "MleCalibration",
    "count_noise_scale",
    "mle_calibration",
    "noisy_counts",
    "noisy_counts_logpdf",
    "noisy_counts_ranking_pmf",
    "noisy_counts_top_k_pmf",
    "objective_perturbation",
    "perturbed_mle",
    "perturbed_mle_logpdf",
    "perturbed_mle_loss",
]
