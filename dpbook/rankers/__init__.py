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
from dpbook.rankers.local_rankings.adaptive_answers import (
    AdaptiveAnswers,
    AdaptiveRanking,
    adaptive_answers,
    ldp_adaptive_kwiksort,
    ldp_one_question_kwiksort,
)
from dpbook.rankers.local_rankings.adaptive_budget import (
    adaptive_loss,
    adaptive_report,
    adaptive_report_pmf,
    refusal_bound,
    refusal_probability,
)
from dpbook.rankers.local_rankings.entry_variance import entry_variance
from dpbook.rankers.local_rankings.hypercube import (
    hypercube_loss,
    hypercube_response,
    hypercube_response_pmf,
    hypercube_scale,
    sign_vectors,
)
from dpbook.rankers.local_rankings.ldp_channels import (
    channel_information,
    laplace_bit_loss,
    laplace_bit_pmf,
    printed_response,
    printed_response_pmf,
    report_pmf,
)
from dpbook.rankers.local_rankings.ldp_errors import (
    PairErrors,
    expected_wrong_pairs,
    wrong_pair_probability,
    yll_mu,
)
from dpbook.rankers.local_rankings.ldp_kwiksort import ldp_kwiksort, ldp_pair_counts
from dpbook.rankers.local_rankings.ldp_profile_errors import (
    expected_error_rate,
    profile_pair_errors,
)
from dpbook.rankers.local_rankings.ldp_queries import (
    best_queries,
    best_ratio,
    response_exponent,
    switch_epsilon,
)
from dpbook.rankers.local_rankings.ldp_wrong_pairs import (
    all_right_probability,
    wrong_pairs_bound,
    wrong_pairs_pmf,
)
from dpbook.rankers.local_rankings.one_pair import (
    local_fractions,
    one_pair_response,
    pairs_response,
)
from dpbook.rankers.mle import PerturbedMle
from dpbook.rankers.spectral import OneShotSpectral, spectral_scores

__all__ = [
    "AdaptiveAnswers",
    "AdaptiveRanking",
    "CappedRun",
    "NoisyCounts",
    "OneShotSpectral",
    "PairErrors",
    "PerturbedMle",
    "Ranker",
    "ReductionBudget",
    "adaptive_answers",
    "adaptive_loss",
    "adaptive_report",
    "adaptive_report_pmf",
    "all_right_probability",
    "best_queries",
    "best_ratio",
    "capped_kwiksort",
    "capped_kwiksort_pmf",
    "channel_information",
    "count_noise_scale",
    "debiased_mle",
    "debiased_wins",
    "dp_kwiksort",
    "dp_kwiksort_loss_bound",
    "dp_kwiksort_loss_three",
    "dp_kwiksort_pmf",
    "dp_kwiksort_scale",
    "entry_variance",
    "expected_error_rate",
    "expected_wrong_pairs",
    "exponential_ranking",
    "exponential_ranking_chain",
    "exponential_ranking_cost",
    "exponential_ranking_loss",
    "exponential_ranking_pmf",
    "hypercube_loss",
    "hypercube_response",
    "hypercube_response_pmf",
    "hypercube_scale",
    "kwiksort_cost_pmf",
    "laplace_bit_loss",
    "laplace_bit_pmf",
    "laplace_wins",
    "ldp_adaptive_kwiksort",
    "ldp_kwiksort",
    "ldp_one_question_kwiksort",
    "ldp_pair_counts",
    "local_fractions",
    "mle_calibration",
    "noisy_counts",
    "noisy_counts_logpdf",
    "noisy_counts_ranking_pmf",
    "noisy_counts_top_k_pmf",
    "noisy_fractions",
    "objective_perturbation",
    "one_pair_response",
    "pair_noise_scale",
    "pairs_response",
    "permute_and_flip_ranking",
    "permute_and_flip_ranking_pmf",
    "perturbed_mle",
    "perturbed_mle_logpdf",
    "printed_response",
    "printed_response_pmf",
    "private_footrule",
    "private_kemeny",
    "private_kemeny_pmf",
    "profile_pair_errors",
    "ranking_costs",
    "reduction_budget",
    "refusal_bound",
    "refusal_probability",
    "report_pmf",
    "reported_wins",
    "reported_wins_pmf",
    "response_exponent",
    "response_weights",
    "sign_vectors",
    "spectral_scores",
    "switch_epsilon",
    "wrong_pair_probability",
    "wrong_pairs_bound",
    "wrong_pairs_pmf",
    "yll_mu",
]
