"""The papers' private rankers, built from mechanisms and estimators.

Every sampler has an exact twin: a density or the finite law of what is released. What a sampler
itself draws is for study, as `dpbook.mechanisms` says, and never for a release.
"""

from dpbook.rankers.base import Ranker
from dpbook.rankers.calibration import (
    mle_calibration,
    objective_perturbation,
    perturbed_mle,
    perturbed_mle_logpdf,
)
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
from dpbook.rankers.mle import PerturbedMle
from dpbook.rankers.on_demand import AnswersOnDemand, DemandRun, GroupAnswers, OneQuestion
from dpbook.rankers.pairs import CappedKwikSort, CappedRuns, NoisyPairs
from dpbook.rankers.responses import FlippedAnswers, LaplaceAnswers, debiased_mle
from dpbook.rankers.spectral import OneShotSpectral, spectral_scores

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
    "NoisyCounts",
    "NoisyPairs",
    "OneQuestion",
    "OneShotSpectral",
    "PairResponses",
    "PerturbedMle",
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
    "report_pmf",
    "response_exponent",
    "spectral_scores",
]
