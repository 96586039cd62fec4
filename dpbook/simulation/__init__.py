"""Replicated experiments, with intervals that need no distributional assumption."""

from dpbook.simulation.compare import (
    Entry,
    Situation,
    compare_rankers,
    field,
    simultaneous_width,
    winner,
)
from dpbook.simulation.errors import expected_wrong_pairs, margin_needed, pair_errors
from dpbook.simulation.experiments import critical_gaps, edge_win_counts
from dpbook.simulation.replicates import (
    edge_experiment,
    estimates_at,
    planted_strengths,
    rankers_at,
    strength_errors,
)
from dpbook.simulation.responses import (
    pair_order_error,
    privacy_schedule,
    ranking_errors,
    response_errors,
)
from dpbook.simulation.statistics import log_relative_error, quantile_interval, top_k_error, trend

__all__ = [
    "Entry",
    "Situation",
    "compare_rankers",
    "critical_gaps",
    "edge_experiment",
    "edge_win_counts",
    "estimates_at",
    "expected_wrong_pairs",
    "field",
    "log_relative_error",
    "margin_needed",
    "pair_errors",
    "pair_order_error",
    "planted_strengths",
    "privacy_schedule",
    "quantile_interval",
    "rankers_at",
    "ranking_errors",
    "response_errors",
    "simultaneous_width",
    "strength_errors",
    "top_k_error",
    "trend",
    "winner",
]
