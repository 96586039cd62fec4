"""Page 35: a file of made-up answers, and the exact loss of a whole release."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache, partial, reduce
from itertools import combinations, combinations_with_replacement, permutations, product
from math import exp, log
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from dpbook._typing import Array, Ints
from dpbook.mechanisms import discrete_laplace_pmf
from dpbook.mechanisms.knorm import root_level, zonotope_level
from dpbook.privacy.balls import Ball
from dpbook.privacy.balls import exp as exp_of
from dpbook.rank import Answers
from dpbook.rank.promise import Promise

Contribution = tuple[tuple[int, int], ...]
Pmf = dict[tuple[int, ...], float]  # chances of vectors of numbers

ITEMS = ("coffee", "tea", "juice", "cocoa", "mate", "water")  # the best first
STRENGTHS = (1.0, 0.7, 0.3, 0.0, -0.6, -1.4)  # log-odds


def write_answers(path: Path, kind: str, people: int, seed: int) -> Path:
    """Answers drawn from a Bradley-Terry model, as a CSV file.

    One person in five is eager, answers all pairs and likes water best; the others answer four.
    """
    coin, pairs = random.Random(seed), list(combinations(range(len(ITEMS)), 2))
    rows, won = [], Counter[tuple[int, int]]()
    for person in range(people):
        eager = coin.random() < 0.2
        taste = (*STRENGTHS[:-1], 1.5) if eager else STRENGTHS
        if kind == "rankings":
            luck = [taste[i] - log(-log(coin.random())) for i in range(len(ITEMS))]
            order = sorted(range(len(ITEMS)), key=lambda i: -luck[i])
            rows.append(f"p{person}," + " > ".join(ITEMS[i] for i in order))
            continue
        for i, j in pairs if eager else coin.sample(pairs, 4):
            if coin.random() > 1 / (1 + exp(taste[j] - taste[i])):
                i, j = j, i
            won[i, j] += 1
            rows.append(f"p{person},{ITEMS[i]},{ITEMS[j]}")
    head = "person,ranking" if kind == "rankings" else "person,winner,loser"
    if kind == "counts":
        head = "winner,loser,count"
        rows = [f"{ITEMS[i]},{ITEMS[j]},{count}" for (i, j), count in sorted(won.items())]
    path.write_text("\n".join([head, *rows, ""]), encoding="utf-8")
    return path


def _first_bytes(keys: Iterator[Any], size: int) -> bytes:
    """So many of the next keys."""
    return next(keys).tobytes()[:size]


@lru_cache(maxsize=4096)
def kept_distribution(one: Contribution, statistic: str, limit: int | None, repeats: str) -> Pmf:
    """What one person's answers add to the numbers, with its chance, over all random orders."""
    data, size = np.array(one, dtype=np.int64).reshape(-1, 2).T, len(one)
    answers = Answers("comparisons", ITEMS[:3], data, np.zeros(size, np.int64), repeats=repeats)
    sums = Counter[tuple[int, ...]]()
    for orders in product(permutations(range(size)), repeat=2):  # of pairs, and of the rest
        keys = iter(np.array(orders, dtype=np.uint64).reshape(2, size))
        bits = partial(_first_bytes, keys)
        exact = answers.exact("net" if statistic == "net" else "pairs", limit, bits)
        sums[tuple((exact.sum(axis=1) if statistic == "wins" else exact.ravel()).tolist())] += 1
    return {values: count / sums.total() for values, count in sums.items()}


@lru_cache(maxsize=64)
def true_distributions(most: int, other: Contribution, *how: Any) -> list[Pmf]:
    """Chances of the numbers before noise, for all that one person can write on three items.

    That is from nothing, which comes first, to so many comparisons, beside another person's.
    """
    ways, pmfs = list(permutations(range(3), 2)), []
    for one in (one for k in range(most + 1) for one in combinations_with_replacement(ways, k)):
        pmf: Pmf = {}
        both = kept_distribution(one, *how).items(), kept_distribution(other, *how).items()
        for (values, p), (more, q) in product(*both):
            total = tuple(map(add, values, more))
            pmf[total] = pmf.get(total, 0) + p * q
        pmfs.append(pmf)
    return pmfs


def lattice(values: Ints) -> Ints:
    """All vectors of three numbers and sum 0 at which the chances have a ratio of their own.

    Beyond, one entry is larger than all the values, and another smaller, by 2 at least: a vector
    with 2 less in one, and 2 more in the other, is 2 root levels, or 1 zonotope level, nearer.
    """
    far = 2 * (int(np.abs(values).max()) + 1)
    x = np.array([(a, b, -a - b) for a, b in product(range(-far, far + 1), repeat=2)])
    return np.asarray(x[root_level(x) <= far])


def release_loss(
    statistic: str, epsilon: Any, limit: int = 2, factor: float = 1, kept: bool = True, **how: str
) -> float:
    """Exact loss of a release for three items: limit, counts and noise, over all neighbours.

    One person writes anything into the file, up to three comparisons, beside another's three. The
    scale of the noise is multiplied by `factor`; without `kept` the limit is not applied; `how` are
    the relation and the repeats. "wins" is what no release is: wins with the noise of net wins.
    """
    about: dict[str, Any] = {"max_answers": limit, "repeats": "one", "relation": "replace"} | how
    about["statistic"] = "pairs" if statistic == "pairs" else "net"
    noise = Promise.of("comparisons", 3, "person", epsilon, **about).noise()
    rule = statistic, limit if kept else None, about["repeats"]
    pmfs = true_distributions(3, ((0, 1), (2, 0), (0, 2)), *rule)
    values, scale = np.array(sorted(set().union(*pmfs))), factor * float(noise.scale)
    if statistic == "pairs":  # a number beyond all true ones says no more than the outermost one
        noisy = one_count(values.min(), values.max(), scale)
        rows = noisy[values[:, values.any(axis=0)] - values.min()]
        chances = np.array([reduce(np.multiply.outer, row).ravel() for row in rows])
    else:
        ends = np.unique((lattice(values) + values[:, None]).reshape(-1, 3), axis=0)
        away = ends - values[:, None]
        level = root_level(away) if noise.kind == "root" else zonotope_level(away)
        chances = np.exp(-level / scale) * (away.sum(axis=2) == 0)
    mixed = np.array([[pmf.get(tuple(v), 0) for v in values.tolist()] for pmf in pmfs]) @ chances
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(mixed)
        lost = logs - logs[0] if about["relation"] == "add_remove" else np.ptp(logs, axis=0)
    return float(np.nanmax(np.abs(lost)))


def one_count(low: int, high: int, scale: float) -> Array:
    """Probabilities of a noisy count in low..high, tails at its ends, a row for each true one."""
    q, counts = exp(-1 / scale), np.arange(low, high + 1)
    pmf = np.array(discrete_laplace_pmf(np.subtract.outer(counts, counts), scale))
    pmf[:, 0] /= 1 - q  # a tail beginning at distance d: the chance of d over 1 - q
    pmf[:, -1] /= 1 - q
    return pmf


def law_balls() -> dict[str, Ball]:
    """The chance of 0 under noise of scale 1, tanh(1/2), with proved bounds."""
    e = exp_of(Ball(1))
    return {"law_of_0_b1": (e - 1) / (e + 1)}
