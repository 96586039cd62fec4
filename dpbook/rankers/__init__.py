"""The papers' private rankers, built from mechanisms and estimators.

Every sampler has an exact counterpart: a density or the finite distribution of what is released,
here or, where no page needs it, in the tests. What a sampler itself draws is for study, as
`dpbook.mechanisms` says, and never for a release.
"""

from dpbook.estimators.debiased import debiased_mle
from dpbook.estimators.flipped import flipped_mle
from dpbook.rankers.base import Ranker, StandardNoise
from dpbook.rankers.counts import DiscreteCounts, NoisyCounts
from dpbook.rankers.exponential import ExponentialRanking
from dpbook.rankers.knorm import CubePairs, KNormCounts
from dpbook.rankers.local_orders import PairOrParity, RandomOrder
from dpbook.rankers.local_pairs import (
    Hypercube,
    PairResponses,
    best_queries,
    best_ratio,
    laplace_bit_loss,
    report_pmf,
)
from dpbook.rankers.mle import PerturbedMle
from dpbook.rankers.on_demand import AnswersOnDemand, OneQuestion
from dpbook.rankers.pairs import CappedKwikSort, NoisyPairs, PrivateFootrule
from dpbook.rankers.responses import FlippedAnswers, LaplaceAnswers
from dpbook.rankers.top_set import TopSet

__all__ = [
    "AnswersOnDemand",
    "CappedKwikSort",
    "CubePairs",
    "DiscreteCounts",
    "ExponentialRanking",
    "FlippedAnswers",
    "Hypercube",
    "KNormCounts",
    "LaplaceAnswers",
    "NoisyCounts",
    "NoisyPairs",
    "OneQuestion",
    "PairOrParity",
    "PairResponses",
    "PerturbedMle",
    "PrivateFootrule",
    "RandomOrder",
    "Ranker",
    "StandardNoise",
    "TopSet",
    "best_queries",
    "best_ratio",
    "debiased_mle",
    "flipped_mle",
    "laplace_bit_loss",
    "report_pmf",
]
