"""Page 35: a file of made-up answers, and the exact loss of a whole release."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, permutations
from math import exp, log
from pathlib import Path

import numpy as np

from dpbook._typing import Array
from dpbook.mechanisms import discrete_laplace_pmf
from dpbook.privacy.balls import Ball
from dpbook.privacy.balls import exp as exp_of
from dpbook.rank import Answers
from dpbook.rank.rank import sensitivity_of, statistic_of

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


def repeatable(seed: int) -> Callable[[int], int]:
    """A source of bits that everybody can repeat: for a page, never for a release."""
    return random.Random(seed).randrange


@lru_cache(maxsize=4096)
def kept_distribution(
    contribution: Contribution, n_items: int, limit: int | None, statistic: str
) -> tuple[tuple[tuple[int, ...], float], ...]:
    """What the kept answers of one person add to the released numbers, with its chance."""
    size = len(contribution)
    chosen = list(combinations(contribution, size if limit is None else min(limit, size)))
    sums, items = Counter[tuple[int, ...]](), tuple(map(str, range(n_items)))
    for kept in chosen:
        data = np.array(kept, dtype=np.int64).reshape(-1, 2).T
        exact = statistic_of(Answers("comparisons", items, True, data, None), statistic)
        moving = ~np.eye(n_items, dtype=bool) if statistic == "pairs" else ...
        sums[tuple(exact[moving].tolist())] += 1
    return tuple((values, count / len(chosen)) for values, count in sums.items())


def true_distributions(statistic: str, n_items: int, limit: int | None, most: int) -> list[Pmf]:
    """Chances of the numbers before noise, for all that one person can write into the file.

    That is anything from nothing to so many comparisons, beside another person's three.
    """
    ways = list(permutations(range(n_items), 2))
    contributions = [b for k in range(most + 1) for b in combinations_with_replacement(ways, k)]
    last, pmfs = n_items - 1, []
    other = kept_distribution(((0, 1), (last, 0), (0, last)), n_items, limit, statistic)
    for contribution in contributions:
        pmf: Pmf = {}
        for values, p in kept_distribution(contribution, n_items, limit, statistic):
            for more, q in other:
                total = tuple(a + b for a, b in zip(values, more, strict=True))
                pmf[total] = pmf.get(total, 0) + p * q
        pmfs.append(pmf)
    return pmfs


def release_loss(
    statistic: str,
    epsilon: float,
    *,
    n_items: int = 3,
    limit: int = 2,
    most: int = 3,
    factor: float = 1.0,
    kept: bool = True,
) -> float:
    """Exact loss of a release: limit, counts and noise together, over all neighbours.

    One person writes anything into the file, up to `most` comparisons, and another three. The
    declared sensitivity is multiplied by `factor`; without `kept` the limit is not applied. A
    number below the smallest or above the largest count that can occur says no more about them than
    that count itself, so both tails are one cell each, and nothing is cut off.
    """
    scale = factor * sensitivity_of("comparisons", n_items, "person", limit, statistic) / epsilon
    distributions = true_distributions(statistic, n_items, limit if kept else None, most)
    reached = [value for pmf in distributions for values in pmf for value in values]
    noisy, low = one_count(min(reached), max(reached), scale), min(reached)

    def mixture(pmf: Pmf) -> Array:  # chances of all noisy vectors
        total: Array = np.zeros(1)
        for values, p in pmf.items():
            product = np.array([float(p)])
            for value in values:
                product = np.multiply.outer(product, noisy[value - low]).ravel()
            total = total + product
        return total

    logs = np.array([np.log(mixture(pmf)) for pmf in distributions])
    return float((logs.max(axis=0) - logs.min(axis=0)).max())


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
