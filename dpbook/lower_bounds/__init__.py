"""What lower bounds are made of: the number of laws, how far apart they are, Fano's inequality."""

from dpbook.lower_bounds.fano import (
    edge_kl,
    fano_error,
    gilbert_varshamov,
    product_law,
    product_log_ratio,
)

__all__ = ["edge_kl", "fano_error", "gilbert_varshamov", "product_law", "product_log_ratio"]
