"""Replicated experiments, with intervals that need no distributional assumption."""

from dpbook.simulation.edge import (
    edge_experiment,
    edge_ridge,
    edge_truth,
    edge_win_counts,
    summary_rows,
)
from dpbook.simulation.gaps import critical_gaps, quantile_interval
from dpbook.simulation.individual import edge_errors, individual_errors, paper_strengths
from dpbook.simulation.metrics import log_relative_error, top_k_error
from dpbook.simulation.oneshot import oneshot_scale, spectral_scores
from dpbook.simulation.rates import (
    ErrorParts,
    LeaveOneOutPath,
    error_parts,
    leave_one_out_path,
    log_slopes,
)
from dpbook.simulation.responses import (
    ResponseErrors,
    pair_order_error,
    privacy_schedule,
    ranking_errors,
    response_errors,
)
from dpbook.simulation.subsampled import survey_distances
from dpbook.simulation.trends import Trend, trend

__all__ = [
    "ErrorParts",
    "LeaveOneOutPath",
    "ResponseErrors",
    "Trend",
    "critical_gaps",
    "edge_errors",
    "edge_experiment",
    "edge_ridge",
    "edge_truth",
    "edge_win_counts",
    "error_parts",
    "individual_errors",
    "leave_one_out_path",
    "log_relative_error",
    "log_slopes",
    "oneshot_scale",
    "pair_order_error",
    "paper_strengths",
    "privacy_schedule",
    "quantile_interval",
    "ranking_errors",
    "response_errors",
    "spectral_scores",
    "summary_rows",
    "survey_distances",
    "top_k_error",
    "trend",
]
