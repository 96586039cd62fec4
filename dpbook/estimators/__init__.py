"""Non-private estimators: win counts, orders, ridge maximum likelihood, rank aggregation."""

from dpbook.estimators.kemeny import kemeny_fit, local_search_ranking
from dpbook.estimators.kwiksort import (
    comparisons_pmf,
    comparisons_pmf_tournament,
    kwiksort_pmf,
    kwiksort_rankings,
)
from dpbook.estimators.orders import (
    borda_ranking,
    copeland_ranking,
    footrule_ranking,
    ranks_from_scores,
    top_k_mask,
    win_counts,
)
from dpbook.estimators.pairwise import kemeny_score, kendall_distance, pairwise_counts
from dpbook.estimators.ridge import ridge_mle, ridge_mle_complete

__all__ = [
    "borda_ranking",
    "comparisons_pmf",
    "comparisons_pmf_tournament",
    "copeland_ranking",
    "footrule_ranking",
    "kemeny_fit",
    "kemeny_score",
    "kendall_distance",
    "kwiksort_pmf",
    "kwiksort_rankings",
    "local_search_ranking",
    "pairwise_counts",
    "ranks_from_scores",
    "ridge_mle",
    "ridge_mle_complete",
    "top_k_mask",
    "win_counts",
]
