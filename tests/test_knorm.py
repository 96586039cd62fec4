"""K-norm noise: gauges against hulls, tilings point by point, samplers against exact weights."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations, product
from math import ceil, exp, log

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog

from dpbook.data import Comparisons
from dpbook.mechanisms import knorm
from dpbook.privacy import Edge, Person, WholeRanking
from dpbook.rankers import CubePairs, KNormCounts
from tests.oracles import NoFloats, rng

UNITS = {
    "flip": lambda n: Edge(n, exchange=False),
    "exchange": Edge,
    "at most two": lambda n: Person(n, 2),
    "once": lambda n: Person(n, design="each_pair_once"),
    "skips": lambda n: Person(n, design="each_pair_or_skip"),
    "ranking": WholeRanking,
    "one more": lambda n: WholeRanking(n, relation="add_remove"),
}


def box(reach: int, sides: int) -> np.ndarray:
    return np.indices((2 * reach + 1,) * sides).reshape(sides, -1).T - reach


def closed(x: np.ndarray) -> np.ndarray:
    return np.column_stack([x, -x.sum(axis=1)])


def moves(unit) -> np.ndarray:
    """From what one participant may hand in to what else; of one more, twice the wins, centred."""
    n, (*e, nothing) = unit.n_items, np.vstack([np.eye(unit.n_items, dtype=int), [0] * unit.n_items])
    if isinstance(unit, Edge):
        return np.array([a - b for a, b in permutations(e, 2)])
    if isinstance(unit, WholeRanking):
        given = np.array(list(permutations(range(n))))
        if unit.relation == "add_remove":
            return 2 * given - (n - 1)
    else:
        skip = [nothing] * (unit.design == "each_pair_or_skip")
        asked = [[*pair, *skip] for pair in combinations(e, 2)]
        asked = [[*e, nothing]] * 2 if unit.per_user else asked
        given = np.unique([sum(one) for one in product(*asked)], axis=0)
    return np.unique((given[:, None] - given).reshape(-1, n), axis=0)


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("make", UNITS.values(), ids=UNITS)
def test_the_gauge_is_that_of_the_hull_of_all_moves_and_moves_by_one(make, n) -> None:
    unit = make(n)
    ranker, steps = KNormCounts.private(1.0, unit), moves(unit)
    most = getattr(unit, "per_user", None) or 1
    points = rng(n).integers(-9, 10, size=(6, n))
    if not steps.sum(axis=1).any():
        points[:, -1] -= points.sum(axis=1)
    for x in points:
        hull = linprog(np.ones(len(steps)), A_eq=steps.T, b_eq=x, bounds=(0, None)).fun
        assert ranker.gauge(x) == ceil(most * hull - 1e-7)
        assert (np.abs(ranker.gauge(x + steps) - ranker.gauge(x)) <= most).all()
    far = ranker.gauge(99 * steps)
    assert far.max() == 99 * most == ranker.gauge(100 * steps[far.argmax()]) - most


class Listed:
    """All points of one tile, in the place of random ones."""

    def __init__(self, code: np.ndarray) -> None:
        self.code = code

    def integers(self, low: int, high: np.ndarray, size: tuple[int, int] | None = None):
        if size:
            return np.broadcast_to(self.code, size).copy()
        return np.stack(np.unravel_index(np.arange(len(high)), high[0]), axis=1)


@pytest.mark.parametrize(
    ("n", "r", "free", "inside"),
    [(3, 0, False, 1), (3, 1, False, 19), (3, 5, False, 331), (4, 1, False, 201)]
    + [(4, 2, False, 1289), (5, 1, False, 3081), (2, 1, True, 7), (2, 3, True, 37)]
    + [(3, 0, True, 1), (3, 1, True, 93), (3, 2, True, 551), (4, 1, True, 1763)],
)
def test_the_tiles_hold_every_whole_point_once(n: int, r: int, free: bool, inside: int) -> None:
    d, t, found = n - 1 + free, r + 1 if free else 2 * r + 1, []
    for code in product(range(n + free), repeat=n + free - 2):
        many = t**d * ((n - 1) ** (code.count(0) + 1) if free else 1)
        listed = Listed(np.array(code, dtype=int) + (n - 2) * free)
        found.append(knorm._tile_points(n, np.full(many, r), free, listed))
    points = np.concatenate(found)
    volume = (n - 1) * (2 * n - 1) ** (n - 1) if free else n ** (n - 2)
    assert len(points) == len(np.unique(points, axis=0)) == volume * t**d
    grid = box(r * (n - 1), d) if free else closed(box(r * (n - 1), d))
    kept, wanted = (x[knorm.zonotope_level(x, free=free) <= r] for x in (points, grid))
    assert np.array_equal(np.unique(kept, axis=0), np.unique(wanted, axis=0))
    assert len(kept) == inside


SHELLS = {False: [1, 18, 42, 66], True: [1, 92, 458, 1124]}


@pytest.mark.parametrize("free", [False, True])
def test_shells(free: bool) -> None:
    grid = box(6, 3) if free else closed(box(6, 2))
    assert np.bincount(knorm.zonotope_level(grid, free=free))[:4].tolist() == SHELLS[free]


SAMPLERS = {
    "ranking": (knorm.zonotope_noise, knorm.zonotope_level, 3, {}, 0.0510),
    "ranking of four": (knorm.zonotope_noise, knorm.zonotope_level, 4, {}, None),
    "skips": (knorm.zonotope_noise, knorm.zonotope_level, 3, {"free": True}, 0.0042),
    "comparison": (knorm.root_noise, knorm.root_level, 4, {}, 0.0453),
    "at most": (knorm.root_noise, knorm.root_level, 3, {"free": True}, None),
    "cube": (knorm.cube_noise, lambda x: np.abs(x).max(axis=-1), 3, {}, None),
}


@pytest.mark.parametrize(("draw", "level", "n", "free", "none"), SAMPLERS.values(), ids=SAMPLERS)
def test_the_sampler_follows_its_weights(draw, level, n, free, none, monkeypatch) -> None:
    """Point by point up to level 2, then by level; with few bits, so that cuts are refined."""
    monkeypatch.setattr(knorm, "_BITS", 3)
    size, flat = 30_000, draw is not knorm.cube_noise and not free
    grid = closed(box(24, n - 1)) if flat else box(24, n)
    near = grid[level(grid, **free) <= 2]
    top = 12 if draw is not knorm.zonotope_noise else 24 // (n - 1)  # all their points are in the box
    shells = np.bincount(level(grid, **free))[: top + 1]
    for scale, right in ((1.0, True), (1.1, False)):
        x = draw(n, scale, (size,), rng=NoFloats(np.random.PCG64(3)), **free)
        at = level(x, **free)
        rows, counts = np.unique(x[at <= 2], axis=0, return_counts=True)
        found = dict(zip(map(tuple, rows.tolist()), counts.tolist(), strict=True))
        seen = [found.get(tuple(row), 0) for row in near.tolist()]
        # Given that the level is within the box, the weights are known.
        weights = [exp(-k) for k in level(near, **free)]
        weights += [many * exp(-k) for k, many in enumerate(shells) if k > 2]
        seen += [int((at == k).sum()) for k in range(3, top + 1)]
        expected = np.array(weights) / sum(weights) * sum(seen)
        keep = expected > 5
        assert keep.sum() > 5
        chi = ((np.array(seen) - expected)[keep] ** 2 / expected[keep]).sum()
        assert (stats.chi2.sf(chi, keep.sum() - 1) > 1e-3) == right
        if right and none:
            assert (at == 0).mean() == pytest.approx(none, abs=4.5 * np.sqrt(none / size) + 5e-5)


@pytest.mark.parametrize("free", [False, True])
def test_points_of_many_items_are_uniform_in_their_body(free: bool) -> None:
    n, r, d = 20, 10**6, 19 + free
    x = knorm._tile_points(n, np.full(2000, r), free, rng(5))
    inside = knorm.zonotope_level(x, free=free) / r
    assert stats.kstest(inside[inside <= 1] ** d, "uniform").pvalue > 1e-3
    assert stats.kstest(inside[inside <= 1] ** (d - 2), "uniform").pvalue < 1e-3


def test_cuts_enclose_what_more_digits_give() -> None:
    for n, scale in ((3, 1.0), (26, 0.01), (25, 1 / 98), (31, 1 / 140), (20, 1e6)):
        key = n - 1, True, Fraction(scale)
        for cuts in (knorm._cuts, lambda *key: knorm._zero_cut(*key[:3], n ** (n - 2), key[3])):
            (low, high), exact = cuts(*key, 60), cuts(*key, 1260)
            assert all(x << 1200 <= y for x, y in zip(low, exact[0], strict=True))
            assert all(x << 1200 >= y for x, y in zip(high, exact[1], strict=True))


def test_a_radius_kept_after_a_rejection_would_lose_more() -> None:
    r = np.arange(200)
    points, weights = 1 + 6 * r + 12 * r**2, (2.0 * r + 1) ** 2 * np.exp(-r)
    kept = np.cumsum((weights / points)[::-1])[::-1] / weights.sum()  # of one point at each level
    redrawn = np.cumsum(np.exp(-r)[::-1])[::-1]
    redrawn /= np.diff(points, prepend=0) @ redrawn
    assert (kept[0], log(kept[0] / kept[1])) == pytest.approx((0.0952, 1.579), abs=1e-3)
    assert (redrawn[0], log(redrawn[0] / redrawn[1])) == pytest.approx((0.0510, 1), abs=1e-4)


def test_what_would_show_through_whole_noise_is_refused_or_has_noise_of_its_own() -> None:
    once = KNormCounts.private(1.0, Person(3, design="each_pair_once"))
    missing = Comparisons(3, [0, 0], [1, 2], user=[0, 0])
    with pytest.raises(ValueError, match="answered 2 of 3 pairs"):
        once.publish(missing, rng=rng())
    tie = np.array([[0, 0.5, 1], [0.5, 0, 1], [0, 0, 0]])
    for ranker in (KNormCounts.private(1.0, Edge(3)), CubePairs.private(1.0, WholeRanking(3))):
        with pytest.raises(ValueError, match=r"data holds 0\.5: .* does not hide half a win"):
            ranker.publish(tie, rng=rng())
    with pytest.raises(ValueError, match="x has another sum than 0"):
        once.gauge([1, 0, 0])
    table = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
    sums = {
        name: np.unique(KNormCounts.private(1.0, u).publish(table, 99, rng=rng()).sum(axis=1)).size
        for name, u in (("edge", Edge(3)), ("at most", Person(3, 2, vouched=True)))
    }
    assert sums["edge"] == 1 < sums["at most"]  # the number of answers: public, or hidden
    for relation, steps in (("replace", {0}), ("add_remove", {0, 1})):
        cube = CubePairs.private(1.0, WholeRanking(3, relation=relation))
        moved = cube.publish(table, 99, rng=rng()) - (table - table.T)
        assert set(np.unique(moved % 2)) == steps
