"""Replicated experiments, with intervals that need no distributional assumption."""

from dpbook.simulation.experiments import critical_gaps, edge_win_counts
from dpbook.simulation.responses import (
    pair_order_error,
    privacy_schedule,
    ranking_errors,
    response_errors,
)
from dpbook.simulation.statistics import log_relative_error, quantile_interval, top_k_error, trend

__all__ = [
    "critical_gaps",
    "edge_win_counts",
    "log_relative_error",
    "pair_order_error",
    "privacy_schedule",
    "quantile_interval",
    "ranking_errors",
    "response_errors",
    "top_k_error",
    "trend",
]
