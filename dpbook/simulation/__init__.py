"""Replicated experiments, with intervals that need no distributional assumption."""

from dpbook.simulation.gaps import critical_gaps, quantile_interval

__all__ = ["critical_gaps", "quantile_interval"]
