"""Page 35: a file of made-up answers, the law of a whole release, and what a limit costs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from itertools import combinations, combinations_with_replacement, permutations
from math import exp, log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpbook.mechanisms import discrete_laplace_pmf
from dpbook.privacy import ExactLaw, Polynomial, noisy_counts_law
from dpbook.privacy.balls import Ball
from dpbook.privacy.balls import exp as exp_of
from dpbook.rank import Answers, BadFile, read_answers
from dpbook.rank.noise import redrawn_noise
from dpbook.rank.rank import fitted_strengths, sensitivity_of, statistic_of

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bundle = tuple[tuple[int, int], ...]

ITEMS = ("coffee", "tea", "juice", "cocoa", "mate", "water")  # the best first
STRENGTHS = (1.0, 0.7, 0.3, 0.0, -0.6, -1.4)  # log-odds
STATISTICS = ("net", "wins", "pairs")

# ------------------------------------------------------------------ a file of nobody's answers


def write_answers(path: Path, kind: str, people: int, seed: int) -> Path:
    """Answers drawn from a Bradley-Terry model, as a CSV file.

    One person in five is eager, answers all pairs and likes water best; the others answer four.
    """
    coin = random.Random(seed)
    pairs = list(combinations(range(len(ITEMS)), 2))
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


BAD_FILES: dict[str, str | bytes] = {
    "an unknown column": "person,winner,loser,date\n",
    "a tie": "person,winner,loser\nann,tea,coffee\nbob,tea,\n",
    "an item against itself": "person,winner,loser\nann,tea,tea\n",
    "a pair answered twice": "person,winner,loser\nann,tea,juice\nbob,tea,mate\nann,juice,tea\n",
    "an incomplete ranking": "person,ranking\nann,tea > juice > mate\nbob,tea > mate\n",
    "a broken count": "winner,loser,count\ntea,juice,2.5\n",
    "not UTF-8": b"person,winner,loser\nann,tea,caf\xe9\n",
    "an empty file": "",
}


def refusals(folder: Path) -> list[dict[str, str]]:
    """What the reader of files says of each bad one."""
    rows, path = [], folder / "bad.csv"
    for what, content in BAD_FILES.items():
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        try:
            read_answers(path)
        except BadFile as error:
            rows.append({"wrong": what, "message": str(error).replace(str(path), path.name)})
    return rows


def repeatable(seed: int) -> Callable[[int], int]:
    """A source of bits that everybody can repeat: for a page, never for a release."""
    return random.Random(seed).randrange


# ------------------------------------------------------------------ the law of a release


def bundles(n_items: int, most: int) -> list[Bundle]:
    """All that one person can write into the file: from nothing to so many comparisons."""
    ways = list(permutations(range(n_items), 2))
    return [b for k in range(most + 1) for b in combinations_with_replacement(ways, k)]


@lru_cache(maxsize=4096)
def kept_law(
    bundle: Bundle, n_items: int, limit: int | None, statistic: str
) -> tuple[tuple[tuple[int, ...], float], ...]:
    """What the kept answers of one person add to the released numbers, with its chance."""
    chosen = list(combinations(bundle, len(bundle) if limit is None else min(limit, len(bundle))))
    found = Counter[tuple[int, ...]]()
    for kept in chosen:
        data = np.array(kept, dtype=np.int64).reshape(-1, 2).T
        items = tuple(map(str, range(n_items)))
        exact = statistic_of(Answers("comparisons", items, True, data, None), statistic)
        moving = ~np.eye(n_items, dtype=bool) if statistic == "pairs" else ...
        found[tuple(exact[moving].tolist())] += 1
    return tuple((values, count / len(chosen)) for values, count in found.items())


def true_laws(
    statistic: str, n_items: int, limit: int | None, most: int
) -> list[Counter[tuple[int, ...]]]:
    """Chances of the numbers before noise: one law for each file, beside another person's three."""
    mine = [kept_law(b, n_items, limit, statistic) for b in bundles(n_items, most)]
    last = n_items - 1
    other = kept_law(((0, 1), (last, 0), (0, last)), n_items, limit, statistic)
    laws = [Counter[tuple[int, ...]]() for _ in mine]
    for law, own in zip(laws, mine, strict=True):
        for values, chance in own:
            for more, luck in other:
                law[tuple(a + b for a, b in zip(values, more, strict=True))] += chance * luck  # type: ignore[assignment]
    return laws


def release_laws(
    *, factor: float = 1.0, kept: bool = True
) -> tuple[list[ExactLaw], list[tuple[int, int]]]:
    """Laws of noisy net wins of two items for every epsilon, and all pairs; one answer is kept."""
    scale = sensitivity_of("comparisons", 2, "person", 1, "net")
    steps = Fraction(str(factor)) * scale
    true = true_laws("net", 2, 1 if kept else None, 2)
    ends = [value for law in true for values in law for value in values]
    low, high, laws = min(ends), max(ends), []
    for law in true:
        weights: dict[Hashable, Polynomial] = {}
        for values, chance in law.items():
            shifted = [value - low for value in values]
            times = Polynomial((round(6 * chance),))  # of 1, 2 or 3 answers one is kept
            for outcome, weight in noisy_counts_law(shifted, high - low, steps).weights.items():
                weights[outcome] = weights.get(outcome, Polynomial(())) + times * weight
        laws.append(ExactLaw(weights, steps.numerator))
    return laws, list(combinations(range(len(laws)), 2))


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
    laws = true_laws(statistic, n_items, limit if kept else None, most)
    reached = np.array([values for law in laws for values in law])
    low, high = int(reached.min()), int(reached.max())
    noisy = one_count(low, high, scale)
    logs = np.array([np.log(_mixture(law, noisy, low)) for law in laws])
    return float((logs.max(axis=0) - logs.min(axis=0)).max())


def one_count(low: int, high: int, scale: float) -> Array:
    """Law of one noisy count in low..high with both tails as its ends, a row for each true one."""
    q = exp(-1 / scale)
    steps = np.subtract.outer(np.arange(low, high + 1), np.arange(low, high + 1))
    law = np.array(discrete_laplace_pmf(steps, scale))
    law[:, 0] /= 1 - q  # a tail beginning at distance d: the chance of d over 1 - q
    law[:, -1] /= 1 - q
    return law


def _mixture(law: Counter[tuple[int, ...]], noisy: Array, low: int) -> Array:
    """Chances of all noisy vectors, flat."""
    total: Array = np.zeros(1)
    for values, chance in law.items():
        product = np.array([float(chance)])
        for value in values:
            product = np.multiply.outer(product, noisy[value - low]).ravel()
        total = total + product
    return np.asarray(total)


# ------------------------------------------------------------------ the draw

Sampler = Callable[[Fraction, Callable[[int], int]], int]


class _Toss(Exception):
    """A coin is wanted that was not given; it has so many sides."""


def coin_tree(sampler: Sampler, scale: Fraction, cut: Fraction) -> tuple[Counter[int], Fraction]:
    """Exact chance of each value over all sequences of coins, and the chance of those cut off.

    A sequence is followed no further when its chance is below the cut.
    """
    found, lost = Counter[int](), Fraction()
    todo: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while todo:
        given, chance = todo.pop()
        rest = list(given)
        try:
            found[sampler(scale, partial(_tossed, rest))] += chance  # type: ignore[assignment]
        except _Toss as toss:
            sides = toss.args[0]
            if chance < cut:
                lost += chance
            else:
                todo += [((*given, side), chance / sides) for side in range(sides)]
    return found, lost


def law_balls() -> dict[str, Ball]:
    """The chance of 0 under noise of scale 1, tanh(1/2), with proved bounds."""
    e = exp_of(Ball(1))
    return {"law_of_0_b1": (e - 1) / (e + 1)}


def _tossed(coins: list[int], sides: int) -> int:
    if not coins:
        raise _Toss(sides)
    return coins.pop(0)


def broken_noise(*, zero_twice: bool = False, terms: int | None = None) -> Sampler:
    """The sampler, broken: minus zero is kept, or the coin of chance exp(-x) stops too soon."""

    def coin(p: int, q: int, below: Callable[[int], int]) -> bool:
        k = 1
        while k != terms and below(q * k) < p:
            k += 1
        return k % 2 == 1

    def draw(scale: Fraction, below: Callable[[int], int]) -> int:
        t, s = scale.numerator, scale.denominator
        while True:
            u, v = below(t), 0
            if not coin(u, t, below):
                continue
            while coin(1, 1, below):
                v += 1
            size, negative = (u + t * v) // s, below(2)
            if size or not negative or zero_twice:
                return -size if negative else size

    return draw


# ------------------------------------------------------------------ what noise leaves open


def lead_by_noise(lead: int, scale: Fraction) -> float:
    """Chance that the difference of two noises reaches the lead, summed over both of them."""
    wide = int(45 * scale) + lead + 2  # beyond: less than exp(-45) each
    one = discrete_laplace_pmf(np.arange(-wide, wide + 1), scale)
    above = np.append(np.cumsum(one[::-1])[::-1], 0.0)  # P(Z >= k), from k = -wide
    needed = np.clip(np.arange(-wide, wide + 1) + lead + wide, 0, 2 * wide + 1)
    return float(one @ above[needed])


def covered(n_items: int, scale: Fraction, reach: int) -> float:
    """Chance that all noises lie within -reach..reach."""
    if reach < 0:
        return 0.0
    return float(discrete_laplace_pmf(np.arange(-reach, reach + 1), scale).sum() ** n_items)


# ------------------------------------------------------------------ the limit


def limit_errors(answers: Answers, limits: Ints, epsilon: float) -> Iterator[dict[str, float]]:
    """Errors of the leads per answer, root mean square over all pairs of items, in percent.

    Bias: those who answer much lose weight. Spread: which answers are kept is drawn. Noise: that of
    two released scores. All three are exact for the answers at hand.
    """
    if answers.person is None:
        raise ValueError("answers do not say who gave which: allowed are comparisons by people")
    n, size = len(answers.items), answers.person.size
    scores = np.zeros((size, n))
    scores[np.arange(size), answers.data[0]] = 1
    scores[np.arange(size), answers.data[1]] = -1
    one, other = np.triu_indices(n, 1)
    leads = scores[:, one] - scores[:, other]
    index = np.unique(answers.person, return_inverse=True)[1]
    given = np.bincount(index)
    sums = np.array([np.bincount(index, column) for column in leads.T])
    squares = np.array([np.bincount(index, column**2) for column in leads.T])
    mean, full = sums / given, sums.sum(axis=1) / size
    variance = squares / given - mean**2
    for limit in limits.tolist():
        kept = np.minimum(given, limit)
        total = kept.sum()
        bias = (kept * mean).sum(axis=1) / total - full
        left = np.where(given > limit, (given - kept) / np.maximum(given - 1, 1), 0)
        spread = (kept * left * variance).sum(axis=1) / total**2
        scale = sensitivity_of("comparisons", n, "person", limit, "net") / epsilon
        q = exp(-1 / scale)
        noise = 4 * q / (1 - q) ** 2 / total**2  # of two scores
        parts = [(bias**2).mean(), spread.mean(), noise]
        names = ("bias", "draw of the kept", "noise", "all")
        yield {"limit": limit} | {
            name: 100 * float(np.sqrt(part))
            for name, part in zip(names, [*parts, sum(parts)], strict=True)
        }


# ------------------------------------------------------------------ floating point


def float_outputs(count: int, scale: float, bits: int) -> set[float]:
    """All that a textbook sampler of Laplace noise adds to a count, from so many uniform bits."""
    uniform = (np.arange(2**bits) + 0.5) / 2**bits
    size = -scale * np.log(uniform)
    return set((count + np.concatenate([size, -size])).tolist())


# ------------------------------------------------------------------ items compared unequally often


def newcomer(
    epsilons: list[float], limit: int, runs: int, rng: np.random.Generator
) -> Iterator[dict[str, float]]:
    """How often the best of four items, seldom compared, is ranked first, in percent.

    The counts are expected ones: 600 comparisons of each pair, 60 of the newcomer with each.
    """
    strength, often = np.array([1.2, 0.6, 0.0, -0.6]), np.full((4, 4), 600.0)
    often[0], often[:, 0] = 60, 60
    np.fill_diagonal(often, 0)
    table = np.rint(often / (1 + np.exp(strength - strength[:, None]))).astype(np.int64)
    net = table.sum(axis=1) - table.sum(axis=0)
    for epsilon in epsilons:
        scales = [
            sensitivity_of("comparisons", 4, "person", limit, what) / epsilon
            for what in ("net", "pairs")
        ]
        scores = net + redrawn_noise(scales[0], (runs, 4), rng)
        tables = table + redrawn_noise(scales[1], (runs, 4, 4), rng) * ~np.eye(4, dtype=bool)
        first = [s.argmax(axis=1) == 0 for s in (scores, fitted_strengths(tables))]
        yield {"epsilon": epsilon, "net": 100 * first[0].mean(), "pairs": 100 * first[1].mean()}
