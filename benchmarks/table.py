"""One line of the table: the ratio, the verdict, the words."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np


def compare(
    case: str,
    peer: str,
    seconds: tuple[Sequence[float], Sequence[float]],
    accuracy: tuple[float, float],
    *,
    target: float,
    tolerance: float,
    peak_mb: float,
    peak_mb_limit: float | None = None,
    cpu_s: float | None = None,
) -> dict[str, Any]:
    """Compare the times of the rounds, ours and the peer's, and judge.

    Parameters
    ----------
    case, peer : str
        Words of the table.
    seconds : tuple of two sequences
        Time of each round, ours and the peer's; round by round they took turns.
    accuracy : tuple of float
        Worst error, ours and the peer's.
    target : float
        Smallest allowed ratio.
    tolerance : float
        Largest allowed error of either.
    peak_mb, peak_mb_limit : float
        Peak memory of our process, and the limit on it if there is one.
    cpu_s : float, optional
        Processor time of ours; it decides nothing, but tells a busy machine from slow code.

    Returns
    -------
    dict
        An entry of ``bench.json``; the ratio is the median over the rounds of peer over ours.
    """
    ours, theirs = seconds
    ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
    fits = peak_mb_limit is None or peak_mb <= peak_mb_limit
    return {
        "case": case,
        "peer": peer,
        "ours_s": statistics.median(ours),
        "peer_s": statistics.median(theirs),
        "ratio": ratio,
        "accuracy": float(np.maximum(*accuracy)),
        "accuracy_ours": accuracy[0],
        "accuracy_peer": accuracy[1],
        "target": target,
        "peak_mb": peak_mb,
        "peak_mb_limit": peak_mb_limit,
        "cpu_s": cpu_s,
        # Written so that an error which is not a number fails.
        "passed": bool(ratio >= target and all(e <= tolerance for e in accuracy) and fits),
    }


def line(result: dict[str, Any]) -> str:
    """One row for a terminal."""
    memory = (
        ""
        if result["peak_mb_limit"] is None
        else f"; peak memory {result['peak_mb']:.0f} MB (at most {result['peak_mb_limit']:.0f})"
    )
    processor = "" if result["cpu_s"] is None else f"; processor time {result['cpu_s']:.2f} s"
    return (
        f"{'pass' if result['passed'] else 'MISS'}  {result['case']:42} {result['peer']:17}"
        f"ours {1e3 * result['ours_s']:9.3f} ms   peer {1e3 * result['peer_s']:9.2f} ms   "
        f"ratio {result['ratio']:6.1f} (target {result['target']:g})   residuals "
        f"{result['accuracy_ours']:.0e}, {result['accuracy_peer']:.0e}{memory}{processor}"
    )
