"""Replicated experiments, with intervals that need no distributional assumption."""

from dpbook.simulation.experiments import critical_gaps, edge_win_counts
from dpbook.simulation.local import LocalErrors, local_errors, ranking_errors
from dpbook.simulation.local_limits import local_rate, pair_order_error, privacy_schedule
from dpbook.simulation.local_orders import local_order_errors, local_order_rates
from dpbook.simulation.statistics import (
    Trend,
    log_relative_error,
    log_slopes,
    quantile_interval,
    top_k_error,
    trend,
)

__all__ = [
    "LocalErrors",
    "Trend",
    "critical_gaps",
    "edge_win_counts",
    "local_errors",
    "local_order_errors",
    "local_order_rates",
    "local_rate",
    "log_relative_error",
    "log_slopes",
    "pair_order_error",
    "privacy_schedule",
    "quantile_interval",
    "ranking_errors",
    "top_k_error",
    "trend",
]
