"""A release of real answers: its promise, its noise, its loss, what it says and refuses."""

from __future__ import annotations

import hashlib
import io
import os
import re
import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, combinations_with_replacement, permutations, product
from math import ceil, log, sqrt
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from dpbook.mechanisms import discrete_laplace_pmf, permute_and_flip_pmf
from dpbook.mechanisms.knorm import root_level, zonotope_level
from dpbook.mechanisms.noise import discrete_gaussian_variance
from dpbook.privacy import audit_sampler
from dpbook.rank import Answers, Promise, answers, rank_privately
from dpbook.rank import noise as noises
from dpbook.rank.noise import Noise, SystemBits, rounded_up
from tests.oracles import NoFloats, clipped_distribution, clipped_tally

DRAWS, SURE, Patch = 20_000, 1 - 1e-6, pytest.MonkeyPatch
ALL = {"kind": "comparisons", "n_items": 4, "protect": "person", "epsilon": 1, "max_answers": 2}


def comparisons(rows: list[tuple[int, int, int]], n: int, **how: Any) -> Answers:
    """Answers (person, winner, loser) on n items."""
    person, winner, loser = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Answers("comparisons", tuple("abcdefg"[:n]), np.array([winner, loser]), person, **how)


def counts(table: object) -> Answers:
    data = np.array(table)
    return Answers("counts", tuple("abcdefg"[: len(data)]), data)


# What one person can add, and how it moves


SITUATIONS = [
    *((n, most, repeats) for n in (2, 3, 4) for most in (1, 2, 3) for repeats in ("one", "keep")),
    *((n, most, "rankings") for n in (2, 3) for most in (1, 2, 3)),
    (4, 1, "rankings"),
]


@cache
def situation(n: int, most: int, what: str, relation: str, statistic: str) -> tuple[Any, Any]:
    """A promise, and all moves between data sets that it names."""
    kind, repeats = ("rankings", "one") if what == "rankings" else ("comparisons", what)
    how: dict[str, Any] = {"repeats": repeats, "relation": relation, "statistic": statistic}
    promise = Promise.of(kind, n, "person", "1", max_answers=most, halves=True, **how)
    if kind == "rankings":  # whole, tied, partial
        rows: Any = product(range(-1, n), repeat=n)
        each = [Answers(kind, tuple("abcd"[:n]), np.array([ranks])) for ranks in rows]
    else:  # won, lost, tied
        rows = product(permutations(range(n), 2), ([False], [True]))
        how = {"kind": kind, "items": tuple("abcd"[:n])}
        each = [Answers(**how, data=np.array([pair]).T, tied=np.array(tie)) for pair, tie in rows]
    net = np.array([one.exact(statistic).ravel() for one in each])
    pairs = [frozenset(one.data.ravel().tolist()) for one in each]
    sums = [
        net[list(some)].sum(axis=0)
        for k in range(most + 1)
        for some in combinations_with_replacement(range(len(each)), k)
        if what != "one" or len({pairs[one] for one in some}) == k
    ]
    given = np.unique(sums, axis=0)
    before = given if relation == "replace" else np.zeros_like(given[:1])
    moves = np.unique((given - before[:, None]).reshape(-1, given.shape[1]), axis=0)
    return promise, np.unique(np.concatenate([moves, -moves]), axis=0)


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize(("n", "most", "what"), SITUATIONS)
def test_every_move_that_is_named_is_within_the_bounds(n, most, what, relation) -> None:
    promise, moves = situation(n, most, what, relation, "net")
    assert not moves.sum(axis=1).any()  # as no noise can change
    assert root_level(moves).max() == promise.root_bound
    assert np.abs(moves).sum(axis=1).max() == promise.l1
    assert (moves**2).sum(axis=1).max() == promise.l2_squared
    assert zonotope_level(moves).max() == promise.zonotope_bound
    for k in range(1, n):
        sums = [moves[:, list(chosen)].sum(axis=1) for chosen in combinations(range(n), k)]
        apart = max((one - other).max() for one in sums for other in sums)
        assert apart == promise.swing(min(k, n - k))
    if n < 4 and (most < 3 or what == "one"):
        promise, moves = situation(n, most, what, relation, "pairs")
        whole = replace(promise, halves=False)
        assert np.abs(moves).sum(axis=1).max() == promise.l1 == 2 * whole.l1
        assert (moves**2).sum(axis=1).max() <= promise.l2_squared == 4 * whole.l2_squared


def box(n: int, reach: int) -> np.ndarray:
    """All whole points whose sum is 0, in a box."""
    x = np.indices((2 * reach + 1,) * (n - 1)).reshape(n - 1, -1).T - reach
    return np.column_stack([x, -x.sum(axis=1)])


LEVEL = {"root": root_level, "zonotope": zonotope_level}


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize(("n", "most", "what"), [s for s in SITUATIONS if s[0] < 4 or s[1] == 1])
def test_no_neighbours_lose_more_than_epsilon(n, most, what, relation) -> None:
    """At every whole point around, for both bodies; with 5 % less noise more would be lost."""
    promise, every = situation(n, most, what, relation, "net")
    moves, points = every[:: 1 + len(every) // 300 * (n == 4)], box(n, 7 if n < 4 else 4)
    scales = {"root": promise.root_bound, "zonotope": promise.zonotope_bound}
    assert promise.noise() in [Noise(kind, n, Fraction(scale)) for kind, scale in scales.items()]
    for kind, scale in scales.items():
        level = LEVEL[kind]
        at, farthest = level(points), every[level(every).argmax()]
        assert max((level(points - move) - at).max() for move in [*moves, farthest]) <= scale
        assert level(farthest) > 0.95 * scale


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
    for k, scale in ((1, Fraction(2)), (2, Fraction(4, 3))):
        sets = np.array(list(combinations(range(4), k)))
        law = permute_and_flip_pmf(net[sets].sum(axis=1), float(scale) / 2, 1.0)
        assert law == pytest.approx(law_of_choice(net[sets].sum(axis=1), float(scale)), rel=1e-9)
        noise, bits = Noise("flip", 4, scale), NoFloats(np.random.PCG64(k))
        drawn = Counter(tuple(noise.choose(net, k, bits).tolist()) for _ in range(1200))
        found = [drawn[tuple(one)] for one in sets.tolist()]
        assert audit_sampler(found, law, confidence=SURE).passed
        wrong = np.exp(net[sets].sum(axis=1) / float(scale))  # without the second chances
        assert not audit_sampler(found, wrong / wrong.sum(), confidence=SURE).passed


RANGES = [(0, k) for k in (1, 2, 3, 20, 256, 257, 1000)] + [(-7, 6), (2**62 - 5, 2**62)]
FAR = [(0, 3 * 2**60), (0, 2**61 + 1), (-(2**61), 2**61 + 2**60)]  # often not kept at first


@pytest.mark.parametrize("endpoint", [False, True])
@pytest.mark.parametrize(("low", "high"), RANGES + FAR)
def test_bits_of_the_system_are_uniform(low: int, high: int, endpoint: bool) -> None:
    drawn = SystemBits().integers(low, high - endpoint, size=DRAWS, endpoint=endpoint)
    cells = min(20, high - low)
    found = [int(x - low) * cells // (high - low) for x in drawn.tolist()]
    assert drawn.dtype == np.int64 and low <= drawn.min() and drawn.max() < high
    assert (low, high) not in FAR or abs(np.mean(drawn % 2) - 0.5) < 0.02  # to the last bit
    law = np.diff([-(-(high - low) * k // cells) for k in range(cells + 1)]) / (high - low)
    assert audit_sampler(np.bincount(found, minlength=cells), law, confidence=SURE).passed


def test_bits_of_the_system_take_arrays() -> None:
    bits, low, high = SystemBits(), np.array([[0], [-2], [5]]), np.array([[1], [3], [10]])
    drawn = bits.integers(low, high, size=(3, DRAWS))
    ends = drawn.min(axis=1, keepdims=True), drawn.max(axis=1, keepdims=True)
    assert np.array_equal(ends, (low, high - 1))
    assert bits.integers(-high, high, endpoint=True).shape == (3, 1) and bits.integers(3, 4) == 3
    with pytest.raises(ValueError, match=r"low >= high: allowed is a range that is not empty"):
        bits.integers(np.array([0, 2]), 2)


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


@pytest.mark.parametrize("noise", [Noise("root", 2, Fraction(3)), Noise("root", 3, Fraction(7, 3)),
    Noise("zonotope", 3, Fraction(1)), Noise("laplace", 1, Fraction(0.7)),
    Noise("laplace", 1, Fraction(11, 3)), Noise("gaussian", 1, Fraction(49, 100)),
    Noise("gaussian", 1, Fraction(36))], ids=str)  # fmt: skip
def test_noise_follows_its_law(noise: Noise) -> None:
    """Point by point near 0, where no whole point is left out, at bits of the operating system."""
    drawn = noise.draw(SystemBits(), (DRAWS // 2,))
    assert drawn.dtype == np.int64 and (noise.n == 1 or not drawn.sum(axis=1).any())
    near = law_of(noise)[1] > 2e-3
    known = {tuple(point): k for k, point in enumerate(law_of(noise)[0][near].tolist())}
    cells = [known.get(tuple(row), near.sum()) for row in drawn.tolist()]
    found = np.bincount(cells, minlength=near.sum() + 1)
    for factor in (1, Fraction(4, 3)):  # the second is the control
        law = law_of(replace(noise, scale=noise.scale * factor))[1][near]
        passed = audit_sampler(found, np.append(law, 1 - law.sum()), confidence=SURE).passed
        assert passed == (factor == 1)


def test_a_scale_is_never_rounded_down() -> None:
    for above, below in ((2 * 10**39, 10**39 + 7), (1, 10**48)):
        scale = Fraction(above, below)
        wide = rounded_up(scale)
        assert scale < wide < max(scale * (1 + Fraction(1, 10**12)), Fraction(1, 2**48))
        assert max(wide.as_integer_ratio()) < 2**50
    assert rounded_up(Fraction(20, 3)) == Fraction(20, 3)
    odd = Promise.of(**ALL | {"epsilon": "0.12345678901234567890123"})
    assert odd.noise().scale * odd.epsilon >= odd.root_bound and odd.noise().draw(SystemBits()).size


def test_all_that_is_drawn_are_bytes_of_the_operating_system(monkeypatch: Patch) -> None:
    """The answers kept and the noise hang on `os.urandom` and on nothing else.

    The bytes are given: the same bytes, the same release; other bytes, another one.
    """
    assert noises.urandom is answers.urandom is os.urandom
    votes, who = np.array([[0, 1, 2, 3] * 30, [1, 2, 3, 0] * 30]), np.arange(120) // 9
    people = Answers("comparisons", tuple("abcd"), votes, who, repeats="keep")
    said = []
    for key in (b"one", b"one", b"two"):
        stream = io.BytesIO(hashlib.shake_128(key).digest(10**6))
        for module in (noises, answers):
            monkeypatch.setattr(module, "urandom", stream.read)
        kept, asked, found = people.keep(2).data.tolist(), stream.tell(), []
        for more in ({}, {"only": 2}, {"delta": "1e-2"}):
            release = rank_privately(
                people, epsilon="0.01", protect="person", max_answers=3, **more
            )
            found.append((release.noise.kind, str(release.released), release.ranking))
        said.append((kept, found, stream.tell()))
        assert asked == 960 and stream.tell() < 10**6  # eight for each answer
    assert said[0] == said[1] and [kind for kind, *_ in said[0][1]] == ["root", "flip", "gaussian"]
    assert said[0][0] != said[2][0] and said[0][1] != said[2][1]


KINDS = [Noise("root", 2, Fraction(3)), Noise("root", 3, Fraction(2)),
    Noise("zonotope", 3, Fraction(3, 2)), Noise("zonotope", 4, Fraction(2, 3)),
    Noise("laplace", 3, Fraction(5, 2)), Noise("gaussian", 3, Fraction(36))]  # fmt: skip


@pytest.mark.parametrize("noise", KINDS, ids=str)
def test_what_the_noise_leaves_open_by_its_law(noise: Noise) -> None:
    """All from enumeration: the spread of a difference, the width of all."""
    points, law = law_of(noise)
    apart = points[:, 0] - points[:, 1]
    assert noise.deviation == pytest.approx(sqrt(law @ apart**2), rel=0.05)
    spread = np.ptp(points, axis=1)
    for miss in (0.05, 0.2):
        assert law[spread > noise.width(miss)].sum() <= miss
        share = 0.6 if noise.kind == "laplace" else 0.75  # whose widths are of single noises
        assert law[spread > share * noise.width(miss) - 1].sum() > miss  # the control


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(15, 2)])
def test_widths_of_laplace_noise_are_exact(scale: Fraction) -> None:
    one = discrete_laplace_pmf(np.arange(-400, 401), scale)
    for n, miss in product((1, 5, 300), (0.05, 1e-6)):
        t = Noise("laplace", n, scale).width(miss) // 2
        inside = [one[400 - t + k : 401 + t - k].sum() ** n for k in (0, 1)]
        assert inside[0] >= 1 - miss - 1e-12 and (t == 0 or inside[1] < 1 - miss)


def test_the_narrowest_noise_is_chosen() -> None:
    kinds = set()
    for n, most in ((2, 1), (3, 1), (5, 3), (5, 10), (20, 20), (20, 190), (60, 1770)):
        promise = Promise.of(**ALL | {"n_items": n, "max_answers": most})
        noise = promise.noise()
        every = [Noise("root", n, Fraction(promise.root_bound))]
        every += [Noise("zonotope", n, Fraction(promise.zonotope_bound))] * (n > 3)
        assert noise in every and noise.delta == 0 and promise.l1 == 4 * min(most, n * n // 4)
        assert noise.deviation == min(one.deviation for one in every)
        assert noise.deviation < Noise("laplace", n, Fraction(promise.l1)).deviation
        for delta in (1e-6, 1e-2):
            other = replace(promise, delta=delta).noise()  # type: ignore[arg-type]
            variance = discrete_gaussian_variance(promise.l2_squared, 1.0, delta)
            narrower = sqrt(2 * variance) < noise.deviation
            assert other == (Noise("gaussian", n, variance, delta) if narrower else noise)
            kinds |= {noise.kind, other.kind}
        about = {"n_items": n, "max_answers": most, "has_persons": False, "vouched": True}
        vouched = Promise.of(**ALL | about)
        assert (vouched.repeats, vouched.l1) == ("keep", 4 * most)  # nobody can see a repeated pair
    assert kinds == {"root", "zonotope", "gaussian"}
    wide, pairs = {"n_items": 201, "max_answers": 4}, {"statistic": "pairs", "halves": True}
    assert Promise.of(**ALL | wide).noise() == Noise("laplace", 201, Fraction(16))
    assert Promise.of(**ALL | pairs).noise() == Noise("laplace", 12, Fraction(8))
    weak = Promise.of("rankings", 60, "person", 50, relation="add_remove")  # type: ignore[arg-type]
    assert weak.noise().kind == "root"  # the sampler of the zonotope would never come to an end


# What is refused before anything is read or spent

REFUSED: dict[str, dict[str, Any]] = {
    "protect = 'comparison' with rankings: allowed is 'person'": {
        "kind": "rankings", "protect": "comparison", "max_answers": None},
    "do not say who gave which answer: allowed is 'comparison', or vouched=True (--vouch)": {
        "has_persons": False},
    "items for 'pairs' = 1001: allowed is": {"n_items": 1001, "statistic": "pairs"},
    "items for 'net' = 1: allowed is": {"n_items": 1},
    "statistic = 'wins': allowed is": {"statistic": "wins"},
    "delta = 1/1000: allowed is 'net' and 0": {"only": 2, "delta": "1e-3"},
    "only = 2 with statistic = 'pairs'": {"only": 2, "statistic": "pairs"},
    "only = 5 of 60 items: allowed is at most 1000000 sets of them": {"only": 5, "n_items": 60},
    "max_answers = 1000000000 with epsilon = 1/1000000: allowed is noise of a scale of": {
        "kind": "rankings", "max_answers": 10**9, "epsilon": "1e-6", "n_items": 120},
    "epsilon = '1e99999999': allowed is": {"epsilon": "1e99999999"},
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_released_is_refused(message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Promise.of(**ALL | REFUSED[message])


def test_what_is_refused_is_not_charged(tmp_path: Path, monkeypatch: Patch) -> None:
    data, ledger = comparisons([(0, 0, 1)], 3, repeats="keep"), tmp_path / "spent"
    rank = partial(rank_privately, data, epsilon=1, protect="person", max_answers=1, ledger=ledger)
    for how in ({"max_answers": 10**9, "epsilon": "1e-6"}, {"only": 3}, {"items": ["a"]},
                {"items_from_data": True}, {"people": 0}, {"people": 9, "relation": "add_remove"},
                {"people": 9, "only": 1}, {"people": 9, "statistic": "pairs"}, {"sampler": "mine"},
                {"sampler": "opendp", "only": 1}, {"sampler": "opendp", "rng": 1}):  # fmt: skip
        with pytest.raises(ValueError, match="allowed"):
            rank(**how)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(ModuleNotFoundError):
        rank(sampler="opendp")
    assert not ledger.exists()
    rank()
    assert ledger.read_text().count('"epsilon"') == 1


@pytest.mark.parametrize("name", ["epsilon", "delta"])
def test_numbers_are_taken_as_they_print(name: str) -> None:
    for given, exact in (("1/300", Fraction(1, 300)), (0.001, Fraction(1, 1000)), ("1e-6", 1e-6)):
        promise = Promise.of(**ALL | {name: given})
        assert getattr(promise, name) == Fraction(str(exact))
    for bad in ("51", "nan", "inf", "one", True, None, -1, float("nan"), "1/0", "-1e-9"):
        with pytest.raises(ValueError, match=rf"{name} = .*allowed is "):
            Promise.of(**ALL | {name: bad})


@pytest.mark.parametrize(("kind", "said"), [(ValueError, "failed after"), (OverflowError, "failed"),
    (MemoryError, "not fit into memory"), (KeyboardInterrupt, "17")])  # fmt: skip
def test_an_error_after_the_charge_says_nothing_about_the_answers(
    kind: Any, said: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(Answers, "exact", Mock(side_effect=kind("ann said 17")))
    how = {"epsilon": 1, "protect": "person", "max_answers": 1, "ledger": tmp_path / "spent"}
    with pytest.raises((kind, ValueError), match=said) as error:
        rank_privately(comparisons([(0, 0, 1)], 2), **how)  # type: ignore[arg-type]
    told = f"{error.value!r} {error.value.__context__!r} {error.value.__cause__!r}"
    assert ("17" in told) == (kind is KeyboardInterrupt) and (tmp_path / "spent").exists()


@pytest.mark.parametrize("sampler", ["book", "opendp"])
def test_counts_beyond_32_bits_and_at_the_limit(sampler: str, tmp_path: Path) -> None:
    if sampler == "opendp":
        pytest.importorskip("opendp")
    for most in (3 * 10**9, 2**53 - 4):
        data = counts([[0, most, 0], [1, 0, 0], [3, 0, 0]])
        release = rank_privately(data, epsilon="1/10", protect="comparison", sampler=sampler)
        away = release.released - data.exact("net")
        assert release.sampler == sampler and 0 < np.abs(away).max() < 3000
    release.write(tmp_path / "out.csv")


def test_opendp_follows_the_same_distribution() -> None:
    pytest.importorskip("opendp")
    scale = Promise.of("counts", 2, "comparison", "3/5", halves=True).noise("opendp").scale
    assert Fraction(20, 3) <= scale < Fraction(20, 3) * (1 + Fraction(1, 2**47))
    drawn = clipped_tally(Noise("laplace", DRAWS, scale, sampler="opendp").draw(SystemBits()), 27)
    assert audit_sampler(drawn, clipped_distribution(scale, 27), confidence=SURE).passed
    wide = Promise.of(**ALL | {"epsilon": "1e-6", "max_answers": 10**5, "repeats": "keep"})
    assert np.abs(wide.noise("opendp").draw(SystemBits())).max() > 2**31  # but once in 10^9


def test_what_a_person_keeps_does_not_hang_on_others() -> None:
    """Every subset of the right size is drawn, equally often, whoever else is there."""
    mine = [(5, 0, 1), (5, 1, 2), (5, 2, 0), (5, 1, 0)]
    rng = np.random.default_rng(2)
    for others in ([], [(p, 0, 1) for p in (0, 0, 1, 1, 1, 2, 3, 3, 3, 3)]):
        data = comparisons(others + mine, 3, repeats="keep")
        seen = Counter[tuple[int, ...]]()
        for _ in range(1200):
            kept = data.keep(2, rng.bytes)
            seen[tuple(kept.data[:, kept.person == 5].ravel().tolist())] += 1
        assert not others or np.bincount(kept.person).tolist() == [2, 2, 1, 2, 0, 2]
        assert audit_sampler(list(seen.values()), np.full(6, 1 / 6), confidence=SURE).passed


def test_a_release_counts_no_more_of_a_person_than_its_noise_is_made_for() -> None:
    """At scale 2 / 50 noise is 0 but once in 10^10 draws."""
    many = comparisons([(0, 0, 1)] * 9, 2, repeats="keep")
    how = {"epsilon": 50, "protect": "person"}
    assert rank_privately(many, max_answers=1, **how).released.tolist() == [1, -1]
    assert rank_privately(many, max_answers=2, **how).released.tolist() == [2, -2]
    once = replace(many, repeats="one")
    assert rank_privately(once, max_answers=5, **how).released.tolist() == [1, -1]
    assert [row.item for row in rank_privately(many, max_answers=9, only=1, **how).ranking] == ["a"]


def test_a_demonstration_is_no_release() -> None:
    data = comparisons([(0, 0, 1), (0, 1, 0)], 5)
    how = {"epsilon": "0.01", "protect": "person", "max_answers": 2}
    one, same = (rank_privately(data, rng=np.random.default_rng(3), **how) for _ in range(2))
    assert one.ranking == same.ranking != rank_privately(data, **how).ranking
    assert "A DEMONSTRATION, NOT A RELEASE" in one.short[0]
    with pytest.raises(ValueError, match="sampler = 'repeatable': allowed are 'book', 'opendp'"):
        one.write("nowhere.csv")


@pytest.fixture
def silent(monkeypatch: Patch) -> None:
    """Noise that is always 0: what is computed from the noisy numbers can be followed by hand."""
    draw = Noise.draw
    monkeypatch.setattr(Noise, "draw", lambda *how: draw(*how) * (len(how) > 2))


@pytest.mark.usefixtures("silent")
def test_the_ranking_follows_the_noisy_numbers() -> None:
    how: dict[str, Any] = {"epsilon": 1, "protect": "comparison"}
    table = [[0, 0, 0, 10], [0, 0, 0, 300], [900, 500, 0, 0], [0, 0, 0, 0]]
    ranking = rank_privately(counts(table), **how).ranking
    assert [(row.item, row.noisy) for row in ranking] == [
        ("c", 1400), ("b", -200), ("d", -310), ("a", -890)]  # fmt: skip
    assert [row.best for row in ranking] == [row.worst for row in ranking]
    least = Noise("root", 2, Fraction(2)).width(0.05) // 2
    for wins, open_ in ((least, [(1, 2), (1, 2)]), (least + 1, [(1, 1), (2, 2)])):
        close = rank_privately(counts([[0, wins], [0, 0]]), **how).ranking
        assert [(row.best, row.worst) for row in close] == open_
    lead = rank_privately(counts([[0, 9], [8, 0]]), **how)
    assert lead.ranking[0].likely_best is None and lead.released.tolist() == [1, -1]
    how, votes = how | {"protect": "person", "max_answers": 1}, [(p, 0, 1) for p in range(500)]
    for people, open_ in ((500, [(1, 1), (2, 2), (3, 3)]), (10**6, [(1, 3)] * 3)):
        asked = rank_privately(comparisons(votes, 3), people=people, **how)
        assert [row.best for row in asked.ranking] == [1, 2, 3]
        assert [(row.likely_best, row.likely_worst) for row in asked.ranking] == open_
    sample = asked.promise.sample_width(500, 0.025)
    assert 100 < asked.noise.width(0.025) + sample < 500  # both leads


@pytest.mark.usefixtures("silent")
def test_pairs_are_fitted() -> None:
    table, how = np.array([[0, 30, 900], [10, 0, 5], [300, 2, 0]]), {"protect": "comparison"}
    release = rank_privately(counts(table), epsilon=8, statistic="pairs", **how)
    assert [row.item for row in release.ranking] == ["a", "b", "c"]
    assert np.array_equal(release.released, table) and release.ranking[0].best is None
    net = rank_privately(counts(table), epsilon=8, **how).ranking[1]
    assert net.item == "b" and net.noisy < 0  # which gets it wrong, as b is hardly asked about


def test_the_sample_leaves_open_what_hoeffding_says() -> None:
    """People who all hand in one order of four items, or the other one."""
    one = Promise.of("comparisons", 2, "person", "1", max_answers=1)
    assert one.sample_width(100, 0.05) == ceil(2 * sqrt(200 * log(2 / 0.05)))
    width = Promise.of("rankings", 4, "person", "1").sample_width(200, 0.3)
    assert width == ceil(6 * sqrt(2 * 200 * log(12 / 0.3)))
    apart = 6 * np.abs(2 * np.random.default_rng(4).binomial(200, 0.5, size=20_000) - 200)
    assert (apart > width).mean() < 0.3 < (apart > 0.35 * width).mean()
    with pytest.raises(ValueError, match="people = 9: allowed is with person, replace, net"):
        Promise.of("counts", 3, "comparison", "1").sample_width(9, 0.1)
