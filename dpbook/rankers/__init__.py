"""The papers' private rankers, built from mechanisms and estimators.

Every sampler has an exact twin: a density or the finite law of what is released. What a sampler
itself draws is for study, as `dpbook.mechanisms` says, and never for a release.
"""

from dpbook.rankers.base import Ranker
from dpbook.rankers.calibration import MleCalibration, mle_calibration, perturbed_mle_loss
from dpbook.rankers.central_rankings._kwiksort_runs import kwiksort_cost_pmf
from dpbook.rankers.central_rankings.capped_kwiksort import (
    CappedRun,
    ReductionBudget,
    capped_kwiksort,
    capped_kwiksort_pmf,
    reduction_budget,
)
from dpbook.rankers.central_rankings.dp_kwiksort import (
    dp_kwiksort,
    dp_kwiksort_loss_bound,
    dp_kwiksort_loss_three,
    dp_kwiksort_pmf,
    dp_kwiksort_scale,
)
from dpbook.rankers.central_rankings.footrule import private_footrule
from dpbook.rankers.central_rankings.pair_noise import (
    noisy_fractions,
    pair_noise_scale,
    private_kemeny,
    private_kemeny_pmf,
)
from dpbook.rankers.central_rankings.ranking_exponential import (
    exponential_ranking,
    exponential_ranking_chain,
    exponential_ranking_cost,
    exponential_ranking_loss,
    exponential_ranking_pmf,
    permute_and_flip_ranking,
    permute_and_flip_ranking_pmf,
    ranking_costs,
)
from dpbook.rankers.counts import (
    NoisyCounts,
    count_noise_scale,
    noisy_counts,
    noisy_counts_logpdf,
    noisy_counts_ranking_pmf,
    noisy_counts_top_k_pmf,
)
from dpbook.rankers.debiased import debiased_mle, debiased_wins, response_weights
from dpbook.rankers.local import laplace_wins, reported_wins, reported_wins_pmf
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

__all__ = [
    "AnswersOnDemand",
    "CappedRun",
    "DemandRun",
    "GroupAnswers",
    "Hypercube",
    "LocalRanker",
    "MleCalibration",
    "NoisyCounts",
    "OneQuestion",
    "PairResponses",
    "Ranker",
    "ReductionBudget",
    "best_queries",
    "best_ratio",
    "capped_kwiksort",
    "capped_kwiksort_pmf",
    "count_noise_scale",
    "debiased_mle",
    "debiased_wins",
    "dp_kwiksort",
    "dp_kwiksort_loss_bound",
    "dp_kwiksort_loss_three",
    "dp_kwiksort_pmf",
    "dp_kwiksort_scale",
    "exponential_ranking",
    "exponential_ranking_chain",
    "exponential_ranking_cost",
    "exponential_ranking_loss",
    "exponential_ranking_pmf",
    "kwiksort_cost_pmf",
    "laplace_bit_loss",
    "laplace_wins",
    "mle_calibration",
    "noisy_counts",
    "noisy_counts_logpdf",
    "noisy_counts_ranking_pmf",
    "noisy_counts_top_k_pmf",
    "noisy_fractions",
    "objective_perturbation",
    "pair_noise_scale",
    "permute_and_flip_ranking",
    "permute_and_flip_ranking_pmf",
    "perturbed_mle",
    "perturbed_mle_logpdf",
    "perturbed_mle_loss",
    "private_footrule",
    "private_kemeny",
    "private_kemeny_pmf",
    "ranking_costs",
    "reduction_budget",
    "report_pmf",
    "reported_wins",
    "reported_wins_pmf",
    "response_exponent",
    "response_weights",
]
