"""A release of real answers: its promise, its noise, its loss, what it says and refuses."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, combinations_with_replacement, permutations, product
from math import ceil, exp, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpbook.mechanisms import discrete_laplace_pmf, gaussian_scale, permute_and_flip_pmf
from dpbook.mechanisms.noise import bernoulli_exp_of
from dpbook.privacy import audit_sampler
from dpbook.rank import Answers, Promise, rank_privately
from dpbook.rank import noise as noises
from dpbook.rank.ledger import fraction_of
from dpbook.rank.noise import Noise, SystemBits, discrete_gaussian_noise, rounded_up
from dpbook.rank.promise import exact_delta, exact_epsilon, gaussian_variance
from dpbook.rank.rank import _redrawn
from dpbook.rank.statement import statement_of
from tests.oracles import NoFloats, clipped_distribution, clipped_tally

DRAWS, SURE, Patch = 20_000, 1 - 1e-6, pytest.MonkeyPatch


def comparisons(rows: list[tuple[int, int, int]], n: int, **how: Any) -> Answers:
    """Answers (person, winner, loser) on n items."""
    person, winner, loser = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Answers("comparisons", tuple("abcdefg"[:n]), np.array([winner, loser]), person, **how)


def counts(table: object) -> Answers:
    data = np.array(table)
    return Answers("counts", tuple("abcdefg"[: len(data)]), data)


# What one person can add, and how it moves


def of_comparisons(n: int, most: int, statistic: str, repeats: str = "keep") -> np.ndarray:
    """All that one person can add by so many comparisons, each won, lost or tied."""
    given = [(i, j, tie) for i, j in permutations(range(n), 2) for tie in range(1 + (i < j))]
    found = []
    for k in range(most + 1):
        for rows in combinations_with_replacement(given, k):
            pairs = {frozenset(row[:2]) for row in rows}
            if repeats == "keep" or len(pairs) == k:
                data = np.array(rows, dtype=int).reshape(k, 3).T
                one = Answers(
                    "comparisons",
                    tuple("abcd"[:n]),
                    data[:2],
                    np.zeros(k, dtype=int),
                    data[2] == 1,
                )
                found.append(one.exact(statistic).ravel())
    return np.unique(found, axis=0)


def of_rankings(n: int, most: int, statistic: str) -> np.ndarray:
    """By so many rankings: whole, tied, partial, or none."""
    each = [
        Answers("rankings", tuple("abcd"[:n]), np.array([ranks])).exact(statistic).ravel()
        for ranks in product(range(-1, n), repeat=n)
    ]
    found = one = np.unique(each, axis=0)
    for _ in range(most - 1):
        found = np.unique((found[:, None] + one).reshape(-1, one.shape[1]), axis=0)
    return found


SITUATIONS = [
    *((n, most, repeats) for n in (2, 3, 4) for most in (1, 2, 3) for repeats in ("one", "keep")),
    *((n, most, "rankings") for n in (2, 3) for most in (1, 2, 3)),
    (4, 1, "rankings"),
]


@cache
def situation(n: int, most: int, what: str, relation: str, statistic: str) -> tuple[Any, Any]:
    """A promise, and all moves between data sets that it names."""
    kind = "rankings" if what == "rankings" else "comparisons"
    repeats = "keep" if what == "keep" else "one"
    promise = Promise(
        kind, n, "person", "1", 0, relation, most, repeats, halves=True, statistic=statistic
    )  # type: ignore[arg-type]
    if kind == "rankings":
        given = of_rankings(n, most, statistic)
    else:
        given = of_comparisons(n, most, statistic, repeats)
    if relation == "add_remove":
        return promise, np.unique(np.concatenate([given, -given]), axis=0)
    if statistic == "pairs" and len(given) > 2500:
        given = given[:: len(given) // 1000]
    parts = [np.unique(given - one, axis=0) for one in given]
    return promise, np.unique(np.concatenate(parts), axis=0)


def zonotope_level(x: np.ndarray) -> np.ndarray:
    """By all sets of items: what they win over the most they can win."""
    n = x.shape[-1]
    levels = [
        -(-x[..., list(s)].sum(axis=-1) // (k * (n - k)))
        for k in range(1, n)
        for s in combinations(range(n), k)
    ]
    return np.max(levels, axis=0)


def root_level(x: np.ndarray) -> np.ndarray:
    return np.abs(x).sum(axis=-1) // 2


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize(("n", "most", "what"), SITUATIONS)
def test_every_move_that_is_named_is_within_the_bounds(n, most, what, relation) -> None:
    promise, moves = situation(n, most, what, relation, "net")
    assert not moves.sum(axis=1).any()  # as no noise can change
    assert root_level(moves).max() == promise.root_bound
    assert np.abs(moves).sum(axis=1).max() == promise.l1
    assert (moves**2).sum(axis=1).max() == promise.l2_squared
    if n > 2:
        assert zonotope_level(moves).max() == promise.zonotope_bound
    for k in range(1, n):
        sums = [moves[:, list(chosen)].sum(axis=1) for chosen in combinations(range(n), k)]
        apart = max((one - other).max() for one in sums for other in sums)
        assert apart == promise.changes * promise.swing(min(k, n - k))


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize(("n", "most", "what"), [(2, 2, "keep"), (3, 1, "one"), (3, 3, "one"),
    (3, 2, "keep"), (2, 2, "rankings"), (3, 1, "rankings")])  # fmt: skip
def test_every_move_of_the_table_is_within_the_bounds(n, most, what, relation) -> None:
    promise, moves = situation(n, most, what, relation, "pairs")
    assert np.abs(moves).sum(axis=1).max() == promise.l1
    assert (moves**2).sum(axis=1).max() <= promise.l2_squared
    whole = replace(promise, halves=False)
    assert (whole.l1, whole.l2_squared) == (promise.l1 / 2, promise.l2_squared / 4)


# What it loses


def box(n: int, reach: int) -> np.ndarray:
    """All whole points whose sum is 0, in a box."""
    x = np.indices((2 * reach + 1,) * (n - 1)).reshape(n - 1, -1).T - reach
    return np.column_stack([x, -x.sum(axis=1)])


LEVEL = {"root": root_level, "zonotope": zonotope_level}


def largest_loss(noise: Noise, moves: np.ndarray, points: np.ndarray) -> Fraction:
    level = LEVEL[noise.kind]
    at = level(points)
    return max(int((level(points - move) - at).max()) for move in moves) / noise.scale


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize(("n", "most", "what"), [s for s in SITUATIONS if s[0] < 4 or s[1] == 1])
def test_no_neighbours_lose_more_than_epsilon(n, most, what, relation) -> None:
    """At every whole point around, for both bodies; with 5 % less noise more would be lost."""
    promise, moves = situation(n, most, what, relation, "net")
    moves = moves[:: 1 + len(moves) // 300] if n == 4 else moves
    ends = moves[[LEVEL[k](moves).argmax() for k in LEVEL]]
    kinds = [Noise("root", n, promise.root_bound / promise.epsilon)]
    kinds += [Noise("zonotope", n, promise.zonotope_bound / promise.epsilon)] * (n > 2)
    assert (chosen := promise.noise()).kind in {noise.kind for noise in kinds}
    assert chosen in kinds
    for noise in kinds:
        assert largest_loss(noise, np.concatenate([moves, ends]), box(n, 7 if n < 4 else 4)) <= 1
        weak = replace(noise, scale=noise.scale * Fraction(19, 20))
        assert largest_loss(weak, situation(n, most, what, relation, "net")[1], box(n, 0)) > 1


def law_of_choice(sums: np.ndarray, scale: float) -> np.ndarray:
    """Of one of the sets whose sums are in the last axis, by all ways to accept some of them."""
    accepted = np.exp((sums - sums.max(axis=-1, keepdims=True)) / scale)
    law = np.zeros(sums.shape)
    for some in product((False, True), repeat=sums.shape[-1]):
        if any(some):
            chance = np.where(some, accepted, 1 - accepted).prod(axis=-1)
            law[..., np.array(some)] += chance[..., None] / sum(some)
    return law


@pytest.mark.parametrize(("n", "k", "most", "what"), [(2, 1, 2, "keep"), (3, 1, 1, "one"),
    (3, 1, 2, "one"), (3, 2, 3, "one"), (3, 1, 1, "rankings"), (4, 2, 1, "one")])  # fmt: skip
def test_no_choice_loses_more_than_epsilon(n, k, most, what) -> None:
    promise, moves = situation(n, most, what, "replace", "net")
    noise = replace(promise, only=k).noise()
    sets = np.array(list(combinations(range(n), k)))
    points = box(n, 12 if n < 4 else 5) * (2 if n < 4 else 4)

    def loss(scale: float) -> float:
        before = law_of_choice(points[:, sets].sum(axis=-1), scale)
        after = (law_of_choice((points + m)[:, sets].sum(axis=-1), scale) for m in moves)
        return max(float(np.log(before / law).max()) for law in after)

    assert noise.kind == "flip" and loss(float(noise.scale)) <= 1 + 1e-9
    assert loss(0.95 * float(noise.scale)) > 1


def test_a_choice_follows_permute_and_flip() -> None:
    """The law of the book for half the range: by enumeration, and by whole numbers alone."""
    net = np.array([5, 3, 2, -10])
    for k, scale in ((1, Fraction(2)), (2, Fraction(10, 3))):
        sets = np.array(list(combinations(range(4), k)))
        law = permute_and_flip_pmf(net[sets].sum(axis=1), float(scale) / 2, 1.0)
        assert law == pytest.approx(law_of_choice(net[sets].sum(axis=1), float(scale)), rel=1e-9)
        noise, bits = Noise("flip", 4, scale), NoFloats(np.random.PCG64(k))
        drawn = Counter(tuple(noise.choose(net, k, bits).tolist()) for _ in range(2500))
        found = [drawn[tuple(one)] for one in sets.tolist()]
        assert audit_sampler(found, law, confidence=SURE).passed
        wrong = np.exp(net[sets].sum(axis=1) / float(scale))  # without the second chances
        assert not audit_sampler(found, wrong / wrong.sum(), confidence=SURE).passed


def delta_of(shift: tuple[int, ...], variance: float, epsilon: float) -> float:
    """Of discrete Gaussian noise that moves so far, exactly but for far tails."""
    far = ceil(12 * sqrt(variance)) + max(map(abs, shift))
    x = np.arange(-far, far + 1)

    def law(move: int) -> np.ndarray:
        weight = np.exp(-((x - move) ** 2) / (2 * variance))
        return weight / np.exp(-(x**2) / (2 * variance)).sum()

    still, moved = np.ones(1), np.ones(1)
    for move in shift:
        still, moved = np.outer(still, law(0)).ravel(), np.outer(moved, law(move)).ravel()
    return float((moved - exp(epsilon) * still).clip(min=0).sum())


@pytest.mark.parametrize(("shift", "epsilon", "delta"), [
    ((1,), "1", "1e-6"), ((4,), "1/2", "1e-9"), ((20,), "3", "1e-4"), ((2, -2), "1", "1e-3"),
    ((2, -1, -1), "2", "1e-2"), ((50,), "1/10", "1e-5"), ((7,), "8", "1e-12")])  # fmt: skip
def test_the_gaussian_spends_no_more_than_delta(shift, epsilon, delta) -> None:
    eps, allowed, l2 = float(Fraction(epsilon)), float(delta), sum(x * x for x in shift)
    variance = gaussian_variance(l2, Fraction(epsilon), Fraction(delta))
    assert delta_of(shift, float(variance), eps) <= allowed
    assert delta_of(shift, 0.7 * float(variance), eps) > allowed  # the control
    best = gaussian_scale(sqrt(l2), eps, allowed)  # of Gaussian noise that is not discrete
    assert 0.99 * best < sqrt(variance) < 1.2 * best


# Its bits and its laws

RANGES = [(0, k) for k in (1, 2, 3, 20, 256, 257, 1000)] + [(-7, 6), (2**62 - 5, 2**62)]
RANGES += [
    (0, 3 * 2**60),
    (-(2**61), 2**61 + 2**60),
]  # one bit more than needed, and often not kept


@pytest.mark.parametrize("endpoint", [False, True])
@pytest.mark.parametrize(("low", "high"), RANGES)
def test_bits_of_the_system_are_uniform(low: int, high: int, endpoint: bool) -> None:
    drawn = SystemBits().integers(low, high - endpoint, size=DRAWS, endpoint=endpoint)
    cells = min(20, high - low)
    found = [int(x - low) * cells // (high - low) for x in drawn.tolist()]
    assert drawn.dtype == np.int64 and low <= drawn.min() and drawn.max() < high
    edges = [-(-(high - low) * k // cells) for k in range(cells + 1)]
    law = np.diff(edges) / (high - low)
    assert audit_sampler(np.bincount(found, minlength=cells), law, confidence=SURE).passed


def test_bits_of_the_system_take_arrays() -> None:
    bits, high = SystemBits(), np.array([[1], [3], [10]])
    drawn = bits.integers(np.array([[0], [-2], [5]]), high, size=(3, DRAWS))
    for row, low, top in zip(drawn, (0, -2, 5), (1, 3, 10), strict=True):
        found = np.bincount(row - low, minlength=top - low)
        assert audit_sampler(found, np.full(top - low, 1 / (top - low)), confidence=SURE).passed
    assert bits.integers(-high, high, endpoint=True).shape == (3, 1)
    assert bits.integers(3, 4) == 3 and bits.integers(0, 2**62) != bits.integers(0, 2**62)
    for low, top in ((3, 3), (np.array([0, 2]), 2)):
        with pytest.raises(ValueError, match=r"low >= high: allowed is a range that is not empty"):
            bits.integers(low, top)


class _More(Exception):
    """Coins that were not given: so many sides of one."""


class Coins(np.random.Generator):
    """A generator that gives the whole numbers it is told."""

    def __init__(self, coins: tuple[int, ...]) -> None:
        super().__init__(np.random.PCG64(0))
        self.coins = list(coins)

    def integers(self, low: Any, high: Any, size: Any = None, **how: Any) -> Any:
        if not self.coins:
            raise _More(high)
        return np.full(size, self.coins.pop(0))


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_a_coin_of_any_rate_is_exact(rate: Fraction) -> None:
    """All sequences of coins with exact chances; of the long ones, left out, the sum is known."""
    heads, lost = Fraction(), Fraction()
    todo: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while todo:
        given, probability = todo.pop()
        try:
            up = np.array([rate.numerator], dtype=object)
            heads += probability * int(bernoulli_exp_of(up, rate.denominator, Coins(given))[0])
        except _More as more:
            sides = int(more.args[0])
            if probability < Fraction(1, 10**4):
                lost += probability
            else:
                todo += [((*given, coin), probability / sides) for coin in range(sides)]
    assert lost < Fraction(1, 50) and float(heads) <= exp(-rate) <= float(heads + lost)


@pytest.mark.parametrize("deviation", [Fraction(1), Fraction(3, 2), Fraction(2, 7)])
def test_the_gaussian_is_kept_by_exact_chances(deviation: Fraction, monkeypatch: Patch) -> None:
    """The weights of the Laplace noise times the chances to be kept are those of the Gaussian."""
    x, chances = np.arange(-40, 41), []

    def kept(up: Any, down: int, rng: object) -> Any:
        chances[:] = [Fraction(int(one), down) for one in up]
        return np.ones(len(up), dtype=bool)

    def laplace(scale: Fraction, size: int, *, rng: object) -> Any:
        assert scale == deviation
        return x

    monkeypatch.setattr(noises, "bernoulli_exp_of", kept)
    monkeypatch.setattr(noises, "discrete_laplace_noise", laplace)
    variance = deviation**2
    discrete_gaussian_noise(variance, (x.size,), rng=None)  # type: ignore[arg-type]
    lost = [
        abs(k) / deviation + chance - k * k / (2 * variance)
        for k, chance in zip(x.tolist(), chances, strict=True)
    ]
    assert set(lost) == {Fraction(1, 2)} and min(chances) >= 0


def drawn_by(source: str, noise: Noise) -> np.ndarray:
    if source == "simulate":
        return noise.simulate(DRAWS, np.random.default_rng(1))
    return noise._drawn(DRAWS, SystemBits())  # type: ignore[arg-type]


@pytest.mark.parametrize("source", ["draw", "simulate"])
@pytest.mark.parametrize("noise", [Noise("root", 3, Fraction(2)), Noise("zonotope", 3, Fraction(1)),
    Noise("root", 4, Fraction(1)), Noise("zonotope", 4, Fraction(1, 2)),
    Noise("root", 2, Fraction(7, 3))], ids=str)  # fmt: skip
def test_noise_that_adds_up_to_zero_follows_its_law(noise: Noise, source: str) -> None:
    """At bits of the operating system, point by point near 0, where no whole point is left out."""
    points = box(noise.n, 40 if noise.n < 4 else 20)
    at = LEVEL[noise.kind](points)
    drawn = drawn_by(source, noise)
    assert not drawn.sum(axis=1).any() and drawn.dtype == np.int64
    near = points[at <= (2 if noise.n < 4 or noise.kind == "root" else 1)]
    known = {tuple(point): k for k, point in enumerate(near.tolist())}
    cells = [known.get(tuple(row), len(near)) for row in drawn.tolist()]
    found = np.bincount(cells, minlength=len(near) + 1)
    for factor in (1, 1.15):  # the second is the control
        weights = np.exp(-at / (factor * float(noise.scale)))
        law = np.exp(-LEVEL[noise.kind](near) / (factor * float(noise.scale))) / weights.sum()
        passed = audit_sampler(found, np.append(law, 1 - law.sum()), confidence=SURE).passed
        assert passed == (factor == 1)


@pytest.mark.parametrize("source", ["draw", "simulate"])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(20, 3), Fraction(0.7)])
def test_independent_noise_follows_its_law(scale: Fraction, source: str) -> None:
    most = int(4 * scale) + 1
    drawn = clipped_tally(drawn_by(source, Noise("laplace", 1, scale)).ravel(), most)
    assert audit_sampler(drawn, clipped_distribution(scale, most), confidence=SURE).passed
    wrong = clipped_distribution(scale * Fraction(9, 8), most)  # the control
    assert not audit_sampler(drawn, wrong, confidence=SURE).passed
    variance = Fraction(str(round(float(scale), 2))) ** 2
    drawn = clipped_tally(drawn_by(source, Noise("gaussian", 1, variance)).ravel(), most)
    x = np.arange(-most, most + 1)
    for v, right in ((variance, True), (variance * Fraction(3, 2), False)):
        weights = np.exp(-(np.arange(-200, 201.0) ** 2) / (2 * float(v)))
        law = np.exp(-(x**2) / (2 * float(v))) / weights.sum()
        law = np.append(law, max(0.0, 1 - law.sum()))
        assert audit_sampler(drawn, law, confidence=SURE).passed == right


def test_a_scale_is_never_rounded_down() -> None:
    for scale in (Fraction(20, 3), Fraction(10**30 + 1, 3), Fraction(1, 10**30), Fraction("1e-7")):
        small = rounded_up(scale / 10**18)
        assert small >= scale / 10**18 and max(small.as_integer_ratio()) < 2**50
    for scale in (Fraction(2 * 10**39, 10**39 + 7), Fraction(10**37, 3 * 10**25 + 1)):
        wide = rounded_up(scale)
        assert scale < wide < scale * (1 + Fraction(1, 10**12))
        assert max(wide.as_integer_ratio()) < 2**50
    assert rounded_up(Fraction(20, 3)) == Fraction(20, 3)
    odd = Promise("comparisons", 4, "person", "0.12345678901234567890123", max_answers=2)
    assert odd.noise().scale * odd.epsilon >= odd.root_bound and odd.noise().draw(SystemBits()).size


DRAW = """
import hashlib, os, sys
import numpy as np
asked, given = [], hashlib.shake_128(sys.argv[1].encode()).digest(10**6)
def urandom(size):
    asked.append(size)
    return given[sum(asked[:-1]):sum(asked)]
os.urandom = urandom
from dpbook.rank import Answers, rank_privately
votes, who = np.array([[0, 1, 2, 3] * 30, [1, 2, 3, 0] * 30]), np.arange(120) // 9
people = Answers("comparisons", ("a", "b", "c", "d"), votes, who, repeats="keep")
asked.clear()
kept = people.keep(2).data.tolist()
print(asked, kept)
asked.clear()
for protect, limit, more in (("person", 2, {}), ("comparison", None, {}), ("person", 2, {"only": 2}),
        ("person", 5, {"delta": "1e-2", "statistic": "pairs", "relation": "add_remove"})):
    how = {"epsilon": "0.01", "protect": protect, "max_answers": limit, **more}
    drawn = rank_privately(people, **how)
    print(drawn.noise.kind, [row.item for row in drawn.ranking], drawn.released is None
        or drawn.released.tolist(), end=" ")
print(len(asked), sum(asked))
"""


def test_all_that_is_drawn_are_bytes_of_the_operating_system() -> None:
    """The answers kept and the noise hang on `os.urandom` and on nothing else.

    The bytes are given: the same bytes, the same release; other bytes, another one.
    """
    command, how = [sys.executable, "-c", DRAW], {"stdout": -1, "text": True, "check": True}
    runs = [subprocess.run([*command, key], **how) for key in ("one", "one", "two")]
    said = [run.stdout.splitlines() for run in runs]
    assert said[0] == said[1] and said[0][0].startswith("[960] ")
    assert all(kind in said[0][1] for kind in ("root", "flip", "gaussian"))
    assert said[0][0] != said[2][0] and said[0][1] != said[2][1]


# What the noise leaves open

KINDS = [Noise("root", 2, Fraction(3)), Noise("root", 3, Fraction(2)),
    Noise("zonotope", 3, Fraction(3, 2)), Noise("zonotope", 4, Fraction(2, 3)),
    Noise("laplace", 3, Fraction(5, 2)), Noise("gaussian", 3, Fraction(36))]  # fmt: skip


def law_of(noise: Noise) -> tuple[np.ndarray, np.ndarray]:
    """Whole points, and their chances."""
    if noise.kind in LEVEL:
        points = box(noise.n, {2: 200, 3: 70, 4: 27}[noise.n])
        weights = np.exp(-LEVEL[noise.kind](points) / float(noise.scale))
    else:
        x = np.arange(-40, 41)
        points = np.array(list(product(x, repeat=noise.n)))
        each = {"laplace": np.abs(x), "gaussian": x**2 / 2}[noise.kind]
        each = np.exp(-each / float(noise.scale))
        weights = each[points + 40].prod(axis=1)
    return points, weights / weights.sum()


@pytest.mark.parametrize("noise", KINDS, ids=str)
def test_what_the_noise_leaves_open_by_its_law(noise: Noise) -> None:
    """All from enumeration: the spread of a difference, the chance of a lead, the width of all."""
    points, law = law_of(noise)
    apart = points[:, 0] - points[:, 1]
    assert noise.deviation == pytest.approx(sqrt(law @ apart**2), rel=0.03)
    for margin in (0, 1, 4, 12):
        exact = law[apart >= margin].sum()
        assert noise.reversal(margin) == pytest.approx(exact, rel=0.15, abs=0.004)
    assert 0 <= noise.resolution <= 1e-4 and (noise.resolution > 0) == (noise.kind in LEVEL)
    spread = np.ptp(points, axis=1)
    for miss in (0.05, 0.2):
        assert law[spread > noise.width(miss)].sum() <= miss
        assert law[spread > 0.75 * noise.width(miss) - 1].sum() > miss  # the control


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(15, 2)])
def test_chances_of_laplace_noise_are_exact(scale: Fraction) -> None:
    wide = 400
    one = discrete_laplace_pmf(np.arange(-wide, wide + 1), scale)
    two = np.convolve(one, one)
    for margin in (0, 1, 2, 5, 20):
        expected = two[2 * wide + margin :].sum()
        assert Noise("laplace", 9, scale).reversal(margin) == pytest.approx(expected, rel=1e-9)
    for n, miss in product((1, 5, 300), (0.05, 1e-6)):
        t = Noise("laplace", n, scale).width(miss) // 2
        inside = [one[wide - t + k : wide + t + 1 - k].sum() ** n for k in (0, 1)]
        assert inside[0] >= 1 - miss - 1e-12 and (t == 0 or inside[1] < 1 - miss)


def test_wide_noise_of_many_numbers() -> None:
    """Of a Gaussian by a bound, and of Laplace noise by its law: checked by other draws."""
    rng = np.random.default_rng(8)
    for noise in (Noise("gaussian", 300, Fraction(900)), Noise("laplace", 300, Fraction(9))):
        spread = np.ptp(noise.simulate(400, rng), axis=1)
        assert (
            (spread > noise.width(0.05)).mean() < 0.05 < (spread > 0.7 * noise.width(0.05)).mean()
        )


# Which noise


def test_the_narrowest_noise_is_chosen() -> None:
    how = {"kind": "comparisons", "protect": "person", "epsilon": "1"}
    kinds = set()
    for n, most in ((2, 1), (3, 1), (5, 3), (5, 10), (20, 20), (20, 190), (60, 1770)):
        promise = Promise(n_items=n, max_answers=most, **how)  # type: ignore[arg-type]
        noise = promise.noise()
        every = [Noise("root", n, Fraction(promise.root_bound))]
        every += [Noise("zonotope", n, Fraction(promise.zonotope_bound))] * (n > 2)
        assert noise in every and noise.delta == 0
        assert noise.deviation == min(one.deviation for one in every)
        assert noise.deviation < Noise("laplace", n, Fraction(promise.l1)).deviation
        kinds.add(noise.kind)
        for delta in ("1e-6", "1e-2"):
            other = replace(promise, delta=delta).noise()  # type: ignore[arg-type]
            variance = gaussian_variance(promise.l2_squared, Fraction(1), Fraction(delta))
            assert (other.kind == "gaussian") == (sqrt(2 * variance) < noise.deviation)
            assert other.delta == (float(delta) if other.kind == "gaussian" else 0)
            assert other.kind == "gaussian" or other == noise
            kinds.add(other.kind)
    assert kinds == {"root", "zonotope", "gaussian"}
    wide = Promise(n_items=201, max_answers=4, **how)  # type: ignore[arg-type]
    assert wide.noise() == Noise("laplace", 201, Fraction(16))
    pairs = Promise(n_items=5, max_answers=4, statistic="pairs", halves=True, **how)  # type: ignore[arg-type]
    assert pairs.noise() == Noise("laplace", 20, Fraction(16))
    weak = Promise("rankings", 60, "person", 50, relation="add_remove")  # type: ignore[arg-type]
    assert weak.noise().kind == "root"  # the sampler of the zonotope would never come to an end


def test_no_noise_for_answers_that_nobody_can_give() -> None:
    """The bounds of the audit, in l1: min(4 L, 4 floor(n^2 / 4)), and half of it for one more."""
    for n, most in ((5, 20), (5, 10), (5, 3), (8, 28), (12, 66), (12, 5)):
        once = Promise("comparisons", n, "person", "1", max_answers=most)  # type: ignore[arg-type]
        assert once.l1 == min(4 * most, 4 * (n * n // 4))
        assert replace(once, relation="add_remove").l1 == once.l1 / 2
        assert replace(once, repeats="keep").l1 == 4 * most
        vouched = replace(once, has_persons=False, vouched=True)
        assert (vouched.repeats, vouched.l1) == ("keep", 4 * most)  # nobody can see a repeated pair
    for n, l1 in ((2, 4), (3, 8), (4, 16), (5, 24)):
        assert Promise("rankings", n, "person", "1").l1 == l1  # type: ignore[arg-type]
