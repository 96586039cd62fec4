"""The papers' private rankers, built from mechanisms and estimators.

Every sampler has an exact twin: a density or the finite law of what is released. What a sampler
itself draws is for study, as `dpbook.mechanisms` says, and never for a release.
"""

from dpbook.rankers.base import Ranker
from dpbook.rankers.calibration import MleCalibration, mle_calibration, perturbed_mle_loss
from dpbook.rankers.counts import NoisyCounts, count_noise_scale, noisy_counts
from dpbook.rankers.exponential import ExponentialRanking
from dpbook.rankers.footrule import PrivateFootrule
from dpbook.rankers.local_pairs import (
    Hypercube,
    LocalRanker,
    PairResponses,
    best_queries,
    best_ratio,
    laplace_bit_loss,
    report_pmf,
    response_exponent,
)
from dpbook.rankers.mle import objective_perturbation, perturbed_mle, perturbed_mle_logpdf
from dpbook.rankers.on_demand import AnswersOnDemand, DemandRun, GroupAnswers, OneQuestion
from dpbook.rankers.pairs import CappedKwikSort, CappedRuns, NoisyPairs
from dpbook.rankers.responses import FlippedAnswers, LaplaceAnswers, debiased_mle

__all__ = [
    "AnswersOnDemand",
    "CappedKwikSort",
    "CappedRuns",
    "DemandRun",
    "ExponentialRanking",
    "FlippedAnswers",
    "GroupAnswers",
    "Hypercube",
    "LaplaceAnswers",
    "LocalRanker",
    "MleCalibration",
    "NoisyCounts",
    "NoisyPairs",
    "OneQuestion",
    "PairResponses",
    "PrivateFootrule",
    "Ranker",
    "best_queries",
    "best_ratio",
    "count_noise_scale",
    "debiased_mle",
    "laplace_bit_loss",
    "mle_calibration",
    "noisy_counts",
    "objective_perturbation",
    "perturbed_mle",
    "perturbed_mle_logpdf",
    "perturbed_mle_loss",
    "report_pmf",
    "response_exponent",
]
