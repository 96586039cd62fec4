"""Non-private estimators: win counts, orders, and the ridge maximum-likelihood estimator."""

from dpbook.estimators.orders import ranks_from_scores, top_k_mask, win_counts
from dpbook.estimators.ridge import RidgeFit, ridge_mle, ridge_mle_complete

__all__ = [
    "RidgeFit",
    "ranks_from_scores",
    "ridge_mle",
    "ridge_mle_complete",
    "top_k_mask",
    "win_counts",
]
