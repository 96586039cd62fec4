"""Page 42: what three libraries promise, account and draw, against enumeration at small sizes.

`benchmarks.libraries` asks the libraries and judges nothing; here nothing of them is run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from functools import cache, reduce
from importlib.resources import files
from itertools import permutations, product
from typing import Any

import numpy as np
from scipy.special import log_ndtr, logsumexp

from dpbook._typing import Array
from dpbook.mechanisms import exponential_pmf, permute_and_flip_pmf
from dpbook.privacy import composed_response_delta as answers_profile
from dpbook.privacy import discrete_laplace_profile, laplace_profile, privacy_loss

Row = Mapping[str, Any]
MISSED = 1e-9  # chance that draws of the law itself are called another law


def record() -> list[dict[str, Any]]:
    """The rows that ``make libraries`` wrote."""
    return list(json.loads((files("dpbook.data") / "libraries.json").read_text(encoding="utf-8")))


def law(row: Row, scores: Any = (2, 1, 0)) -> Array:
    """Probabilities of what a row names, of a selection from ``scores``, else at the origin."""
    name = row["law"]
    if name in ("flip", "weights"):
        pmf = permute_and_flip_pmf if name == "flip" else exponential_pmf
        return pmf(scores, 1, 2 / row["scale"])
    if name == "top2":  # the second is chosen from the two that are left
        first = permute_and_flip_pmf(scores, 1, 2 / row["scale"])
        left = [np.delete(scores, i) for i in range(3)]
        rest = [permute_and_flip_pmf(two, 1, 2 / row["scale"]) for two in left]
        return np.array([first[i] * rest[i][j] for i in range(3) for j in range(2)])
    if name == "order":
        return np.array([row["keep"], *[(1 - row["keep"]) / 5] * 5])
    if name == "mallows":  # 0, 1, 1, 2, 2, 3 of three pairs are wrong
        return exponential_pmf(np.array([0, -1, -1, -2, -2, -3]), 0.5, row["rate"])
    if name == "answer":
        kept = 1 / (1 + math.exp(-row["each"]))
        return np.array([kept, 1 - kept])
    x = np.arange(-200, 201)
    log = -np.abs(x) / row["scale"] if name == "laplace" else -(x**2) / (2 * row["sd"] ** 2)
    return exponential_pmf(log, 0.5, 1)


def drawn_law(row: Row) -> Array:
    """The law of the values that a row of draws lists; the ends hold all that lies beyond."""
    if row["law"] not in ("laplace", "gauss"):
        return law(row)
    end = row["values"][-1]
    return np.bincount(np.clip(np.arange(-200, 201), -end, end) + end, law(row)).astype(float)


def apart(row: Row) -> tuple[float, float]:
    """Distance in l1 of the drawn frequencies from the law, and the limit that it may reach.

    N draws of k values exceed it with probability at most ``MISSED``, (2^k - 2) exp(-N limit^2 / 2)
    (Weissman and others 2003), and draws of a law that is twice as far miss it with no larger one.
    """
    counts, pmf = np.asarray(row["says"]), drawn_law(row)
    room = math.log((2.0**pmf.size - 2) / MISSED)
    limit = math.sqrt(2 * room / counts.sum())
    return float(np.abs(counts / counts.sum() - pmf).sum()), limit


def moves(unit: str, most: int = 6) -> Iterator[tuple[Array, Array]]:
    """Scores of three items before and after: one answer reversed, or one ranking more or less."""
    if unit == "answer":  # a reversed answer takes a win from one item and gives it to another
        for scores in product(range(-most, most + 1), repeat=2):
            yield np.array([*scores, 0]), np.array([scores[0] + 1, scores[1] - 1, 0])
        return
    wins = 2 - np.array(list(permutations(range(3))))
    for counts in product(range(2), repeat=6):  # each order was given by one person or none
        yield from ((counts @ wins, counts @ wins + one) for one in wins)


@cache
def selection_loss(name: str, scale: float, unit: str) -> float:
    """Largest loss of a choice among three items over all `moves` of one answer or ranking."""
    row = {"law": name, "scale": scale}
    return max(privacy_loss(*(law(row, scores) for scores in pair)) for pair in moves(unit))


def exact(row: Row) -> float:
    """The loss of a row that promises delta = 0, else the least delta at the epsilon promised."""
    epsilon, delta = row["says"]
    if "unit" in row:
        return selection_loss(row["law"], row["scale"], row["unit"])
    if delta == 0 and row["law"] in ("answer", "laplace"):
        each = row.get("each") or np.abs(row["shift"]).sum() / row["scale"]
        return float(each * row.get("count", 1))
    # Reports of an order have the same law for every true order, up to the names.
    return delta_at(row, epsilon) if delta else float(np.ptp(np.log(law(row))))


def delta_at(row: Row, epsilon: float) -> float:
    """The least delta at this epsilon: hockey-stick divergence of the law from the law moved."""
    if row["law"] == "answer":
        return float(answers_profile(row["each"], row["count"], epsilon))
    if row["law"] == "continuous":
        return float(laplace_profile([1], row["scale"], epsilon))
    if row["law"] == "normal":  # Balle and Wang 2018, Theorem 8, for a sensitivity of 1
        a, b = 0.5 / row["sd"] - epsilon * row["sd"], -0.5 / row["sd"] - epsilon * row["sd"]
        return float(np.exp(log_ndtr(a)) - np.exp(epsilon + log_ndtr(b)))
    if row["law"] == "laplace":
        return float(discrete_laplace_profile(row["shift"], row["scale"], epsilon))
    pmf = law(row)[140:261]  # at most 60 from the origin, where the rest is below 10^-16
    moved = [np.roll(pmf, step) for step in row["shift"]]
    p, q = (reduce(np.multiply.outer, parts) for parts in ([pmf] * len(moved), moved))
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@cache
def rho(name: str, scale: float) -> float:
    """Largest Renyi divergence of neighbours, one answer apart, over its order up to 32."""
    row, a = {"law": name, "scale": scale}, np.array([1.01, 1.5, 2, 3, 4, 8, 16, 32])[:, None]
    logs = ([np.log(law(row, scores)) for scores in pair] for pair in moves("answer", 3))
    both = [two for pair in logs for two in permutations(pair)]
    sums = [logsumexp(a * p + (1 - a) * q, axis=1) for p, q in both]
    return float((np.array(sums) / (a[:, 0] - 1) / a[:, 0]).max())
