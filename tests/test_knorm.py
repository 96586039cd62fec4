"""K-norm noise: gauges against hulls, tilings point by point, samplers against exact weights."""

from fractions import Fraction
from functools import partial
from itertools import combinations, permutations, product
from math import ceil
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog

from dpbook.data import Comparisons
from dpbook.mechanisms import knorm
from dpbook.privacy import Edge, Person, WholeRanking
from dpbook.rankers import CubePairs, KNormCounts
from tests.oracles import NoFloats, rng

UNITS = (Edge, WholeRanking, *(lambda n, k=k: Person(n, **k) for k in (
    {"per_user": 2}, {"design": "each_pair_once"}, {"design": "each_pair_or_skip"})),
    lambda n: Edge(n, exchange=False), lambda n: WholeRanking(n, None, "add_remove"))  # fmt: skip


def box(reach: int, sides: int, free: bool) -> np.ndarray:
    x = np.indices((2 * reach + 1,) * sides).reshape(sides, -1).T - reach
    return x if free else np.column_stack([x, -x.sum(axis=1)])


def moves(unit) -> np.ndarray:
    """From what one participant may hand in to what else; of one more, wins minus losses."""
    n, design = unit.n_items, getattr(unit, "design", "")
    e, none = list(np.eye(n, dtype=int)), [np.zeros(n, dtype=int)]
    asked = [[*pair, *none * (design == "each_pair_or_skip")] for pair in combinations(e, 2)]
    asked = [e] if isinstance(unit, Edge) else asked
    asked = [[*e, *none]] * 2 if design == "with_replacement" else asked
    given = np.unique([sum(one) for one in product(*asked)], axis=0)
    if isinstance(unit, WholeRanking):
        given = np.array(list(permutations(range(n))))
    if getattr(unit, "relation", "replace") == "add_remove":
        return 2 * given - (n - 1)
    return np.unique((given[:, None] - given).reshape(-1, n), axis=0)


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("make", UNITS)
def test_the_gauge_is_that_of_the_hull_of_all_moves_and_moves_by_one(make, n) -> None:
    unit, points = make(n), rng(n).integers(-9, 10, size=(6, n))
    gauge, steps = KNormCounts.private(1.0, unit).gauge, moves(unit)
    most = getattr(unit, "per_user", None) or 1
    if not steps.sum(axis=1).any():
        points[:, -1] -= points.sum(axis=1)
    for x in points:
        hull = linprog(np.ones(len(steps)), A_eq=steps.T, b_eq=x, bounds=(0, None)).fun
        assert gauge(x) == ceil(most * hull - 1e-7)
        assert (np.abs(gauge(x + steps) - gauge(x)) <= most).all()
    far = gauge(99 * steps)
    assert far.max() == 99 * most == gauge(100 * steps[far.argmax()]) - most


def listed(code: np.ndarray, low: int, high, size=None) -> np.ndarray:
    """All points of the tile of one tree, in the place of random trees and points."""
    every = np.arange(0 if size else len(high))
    return np.tile(code, (size[0], 1)) if size else np.stack(np.unravel_index(every, high[0]), 1)


@pytest.mark.parametrize(("n", "r", "inside"), [
    (3, 0, 1), (3, 1, 19), (3, 5, 331), (4, 1, 201), (4, 2, 1289), (5, 1, 3081),
    (-2, 1, 7), (-2, 3, 37), (-3, 0, 1), (-3, 1, 93), (-3, 2, 551), (-4, 1, 1763)])  # fmt: skip
def test_the_tiles_hold_every_whole_point_once(n: int, r: int, inside: int) -> None:
    n, free = abs(n), n < 0
    d, t, found = n - 1 + free, r + 1 if free else 2 * r + 1, []
    for code in product(range(n + free), repeat=n + free - 2):
        many = t**d * ((n - 1) ** (code.count(0) + 1) if free else 1)
        fake = SimpleNamespace(integers=partial(listed, np.array(code, int) + (n - 2) * free))
        found.append(knorm._tile_points(n, np.full(many, r), free, fake))
    points, grid = np.concatenate(found), box(r * (n - 1), d, free)
    volume = (n - 1) * (2 * n - 1) ** (n - 1) if free else n ** (n - 2)
    assert len(points) == len(np.unique(points, axis=0)) == volume * t**d
    kept, wanted = (x[knorm.zonotope_level(x, free=free) <= r] for x in (points, grid))
    assert np.array_equal(np.unique(kept, axis=0), np.unique(wanted, axis=0))
    assert len(kept) == inside


TREES, ROOT = (knorm.zonotope_noise, knorm.zonotope_level), (knorm.root_noise, knorm.root_level)
CUBE = knorm.cube_noise, lambda x: np.abs(x).max(axis=-1)


@pytest.mark.parametrize(("draw", "level", "n", "free", "shells", "none"), [
    (*TREES, 3, 0, [1, 18, 42, 66], 0.0510), (*TREES, 3, 1, [1, 92, 458, 1124], 0.0042),
    (*TREES, 4, 0, [1, 200], None), (*ROOT, 4, 0, [1, 12], 0.0453),
    (*ROOT, 3, 1, [1, 12], 0.0453), (*CUBE, 3, None, [1, 26], None)])  # fmt: skip
def test_the_sampler_follows_its_weights(draw, level, n, free, shells, none, monkeypatch) -> None:
    """Point by point up to level 2, then by level; with few bits, so that cuts are refined."""
    monkeypatch.setattr(knorm, "_BITS", 3)
    size, solid, free = 30_000, free != 0, {} if free is None else {"free": bool(free)}
    grid = box(24, n if solid else n - 1, solid)
    top, at = 24 // (n - 1) if draw is knorm.zonotope_noise else 12, level(grid, **free)
    near, counts = grid[at <= 2], np.bincount(at)[: top + 1]
    assert counts[: len(shells)].tolist() == shells
    weights = np.exp(-np.append(level(near, **free), np.arange(3, top + 1)))
    weights[len(near) :] *= counts[3:]
    for scale in (1.0, 1.1):
        x = draw(n, scale, (size,), rng=NoFloats(np.random.PCG64(3)), **free)
        found = level(x, **free)
        rows, times = np.unique(x[found <= 2], axis=0, return_counts=True)
        known = dict(zip(map(tuple, rows.tolist()), times.tolist(), strict=True))
        seen = [known.get(tuple(row), 0) for row in near.tolist()]
        seen += [int((found == k).sum()) for k in range(3, top + 1)]
        expected = weights / weights.sum() * sum(seen)
        far, often = (np.array(seen) - expected) ** 2 / expected, expected > 5
        assert (stats.chi2.sf(far[often].sum(), often.sum() - 1) > 1e-3) == (scale == 1)
        if none and scale == 1:
            assert (found == 0).mean() == pytest.approx(none, abs=4.5 * (none / size) ** 0.5 + 5e-5)


@pytest.mark.parametrize("free", [False, True])
def test_points_of_many_items_are_uniform_in_their_body(free: bool) -> None:
    x = knorm._tile_points(20, np.full(2000, 10**6), free, rng(5))
    inside = knorm.zonotope_level(x, free=free) / 10**6
    for power in (19 + free, 17 + free):
        fits = stats.kstest(inside[inside <= 1] ** power, "uniform").pvalue > 1e-3
        assert fits == (power == 19 + free)


def test_cuts_enclose_what_more_digits_give() -> None:
    for n, scale in ((3, 1), (26, Fraction(1, 100)), (25, Fraction(1, 98)), (20, 10**6)):
        key = n - 1, True, Fraction(scale)
        for cuts, more in ((knorm._cuts, ()), (knorm._zero_cut, (n ** (n - 2),))):
            (low, high), exact = cuts(*key, *more, 60), cuts(*key, *more, 1260)
            assert all(x << 1200 <= y for x, y in zip(low, exact[0], strict=True))
            assert all(x << 1200 >= y for x, y in zip(high, exact[1], strict=True))


def test_a_radius_kept_after_a_rejection_would_lose_more() -> None:
    r = np.arange(200)
    inside, weights = 1 + 6 * r + 12 * r**2, (2.0 * r + 1) ** 2 * np.exp(-r)
    kept = np.cumsum((weights / inside)[::-1])[::-1] / weights.sum()  # of one point at each level
    assert (kept[0], np.log(kept[0] / kept[1])) == pytest.approx((0.0952, 1.579), abs=1e-3)


def test_what_would_show_through_whole_noise_is_refused_or_has_noise_of_its_own() -> None:
    once = KNormCounts.private(1.0, Person(3, design="each_pair_once"))
    with pytest.raises(ValueError, match="answered 2 of 3 pairs"):
        once.publish(Comparisons(3, [0, 0], [1, 2], user=[0, 0]), rng=rng())
    with pytest.raises(ValueError, match="x has another sum than 0"):
        once.gauge([1, 0, 0])
    table, tie = np.triu(np.ones((3, 3), dtype=int), 1), (np.ones((3, 3)) - np.eye(3)) / 2
    for ranker in (KNormCounts.private(1.0, Edge(3)), CubePairs.private(1.0, WholeRanking(3))):
        with pytest.raises(ValueError, match=r"data holds 0\.5: .* does not hide half a win"):
            ranker.publish(tie, rng=rng())
    for unit, sums in ((Edge(3), 1), (Person(3, 2, vouched=True), 2)):  # public, or hidden
        released = KNormCounts.private(1.0, unit).publish(table, 99, rng=rng())
        assert np.unique(released.sum(axis=1))[:2].size == sums
    for relation, parities in (("replace", {0}), ("add_remove", {0, 1})):
        cube = CubePairs.private(1.0, WholeRanking(3, relation=relation))
        moved = cube.publish(table, 99, rng=rng()) - (table - table.T)
        assert set(np.unique(moved % 2)) == parities
