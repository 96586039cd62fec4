"""Lower bounds: packings, Fano inequalities, exact minimax by linear programming."""

from dpbook.lower_bounds.fano import (
    dp_fano_error,
    dp_fano_risk,
    edge_kl,
    fano_error,
    product_log_ratio,
)
from dpbook.lower_bounds.optimum import (
    OptimalMechanism,
    optimal_mechanism,
    product_law,
    relabel,
    unreduced_risk,
)
from dpbook.lower_bounds.packings import (
    constant_weight_code,
    gilbert_varshamov,
    johnson_bound,
    minimum_distance,
)

__all__ = [
    "OptimalMechanism",
    "constant_weight_code",
    "dp_fano_error",
    "dp_fano_risk",
    "edge_kl",
    "fano_error",
    "gilbert_varshamov",
    "johnson_bound",
    "minimum_distance",
    "optimal_mechanism",
    "product_law",
    "product_log_ratio",
    "relabel",
    "unreduced_risk",
]
