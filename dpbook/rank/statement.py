"""The statement that goes with a release."""

from __future__ import annotations

from dpbook.rank.noise import Noise
from dpbook.rank.promise import Promise


def statement_of(
    promise: Promise, noise: Noise, listed: bool, sampler: str, people: int | None
) -> tuple[str, tuple[str, str]]:
    """One paragraph, and two lines of it."""
    return "", ("", "")
