"""Noise in the shape of what neighbours can change: the K-norm mechanism, in whole numbers.

K is the convex hull of all moves of a statistic between neighbours, and its gauge a norm that no
move can change by more than 1. So noise with weight exp(-gauge / scale) is (1 / scale, 0)-DP, and
if a vertex of K is a move, no less (Hardt and Talwar 2010; Awan and Slavkovic 2021). Rounding the
gauge up keeps that, since ceil(x + 1) = ceil(x) + 1.

Three bodies. The *root polytope*, all differences of two unit vectors: one comparison. A
*graphical zonotope*, the sum of segments, one for each pair: an answer to every pair, given or not.
The *cube*: the margins of all pairs. With ``free`` there is one vertex more, for the answers that
nobody gives, which is not published: then the noise does not add up to 0. A scale is read by
`~dpbook.mechanisms.noise.exact_scale`.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, partial
from itertools import accumulate
from numbers import Rational

import numpy as np

from dpbook._typing import Ints
from dpbook.mechanisms.noise import bernoulli_exp_of, discrete_laplace_noise, exact_scale

Cuts = tuple[list[int], list[int]]

_BITS = 60  # of a uniform number, before more are needed
_CHUNK = 2**22  # entries of a path matrix at once


def root_level(x: Ints, *, free: bool = False) -> Ints:
    """Gauge of the root polytope at (..., n): what is added in all; the larger sum if free."""
    return np.maximum(x.clip(min=0).sum(-1), (-x).clip(min=0).sum(-1) if free else 0)


def zonotope_level(x: Ints, *, free: bool = False) -> Ints:
    """Gauge, rounded up, of the moves of win counts if a person answers every pair; free: or not.

    A set of k items wins at most k (n - k) more; if pairs may be skipped, as many more or fewer as
    it meets pairs. Largest over all sets, that is over the k largest entries, or the k smallest.
    """
    n, one = x.shape[-1], np.sort(x, axis=-1)
    k = np.arange(1, n + 1)
    top = np.cumsum(one[..., ::-1], axis=-1)
    most = k * (2 * n - k - 1) // 2 if free else k * (n - k)
    if not free:
        return (-(-top[..., :-1] // most[:-1])).max(axis=-1)
    return np.maximum(-(-top // most), -(np.cumsum(one, axis=-1) // most)).max(axis=-1)


def root_noise(
    n: int,
    scale: float | Rational,
    size: tuple[int, ...],
    *,
    rng: np.random.Generator,
    free: bool = False,
) -> Ints:
    """Whole numbers, (*size, n), with weight exp(-`root_level` / scale).

    Independent discrete Laplace noise, of which one entry makes the sum 0, is kept with the chance
    that this entry has beside the others.
    """
    out = np.empty((*size, n + free), dtype=np.int64)
    rows, todo = out.reshape(-1, n + free), np.arange(int(np.prod(size)))
    wide = 2 * exact_scale(scale)
    p, q = wide.as_integer_ratio()
    while todo.size:
        x = discrete_laplace_noise(wide, (todo.size, n - 1 + free), rng=rng)
        last = -x.sum(axis=1)
        kept = bernoulli_exp_of(np.abs(last).astype(object) * q, p, rng)
        rows[todo[kept], :-1], rows[todo[kept], -1] = x[kept], last[kept]
        todo = todo[~kept]
    return out[..., :n]


def cube_noise(
    dimension: int, scale: float | Rational, size: tuple[int, ...], *, rng: np.random.Generator
) -> Ints:
    """Whole numbers, (*size, dimension), with weight exp(-largest absolute value / scale).

    The radius first, then every entry uniformly within it (Steinke and Ullman 2016, for the largest
    error of many counts).
    """
    r = _radius(dimension, True, exact_scale(scale), int(np.prod(size)), rng)[:, None]
    x = rng.integers(-r, r, size=(len(r), dimension), endpoint=True)
    return x.reshape(*size, dimension)


def zonotope_noise(
    n: int,
    scale: float | Rational,
    size: tuple[int, ...],
    *,
    rng: np.random.Generator,
    free: bool = False,
) -> Ints:
    """Whole numbers, (*size, n), with weight exp(-`zonotope_level` / scale), for n > 2 if not free.

    A zonotope is tiled by one parallelepiped for each spanning tree of its graph: draw a radius, a
    tree and a whole point of its tile, and begin again, radius included, until the point is within
    the radius. Keeping the radius would not be private. All tiles together have `volume` times
    (2 r + 1)^d points, or (r + 1)^d; of those of the radius 0 only the origin counts. For many
    items exp(-1 / (2 scale)) of the points are kept, or exp(-1 / scale): the noise has to be loud.
    """
    d, volume = (n, (n - 1) * (2 * n - 1) ** (n - 1)) if free else (n - 1, n ** (n - 2))
    out = np.empty((*size, n), dtype=np.int64)
    rows, todo = out.reshape(-1, n), np.arange(int(np.prod(size)))
    law = d, not free, exact_scale(scale)
    while todo.size:
        part, todo = np.split(todo, [max(1, _CHUNK // (n + 1) ** 2)])
        away = _index(partial(_zero_cut, *law, volume), part.size, rng)
        rows[part[away == 0]] = 0
        part = part[away == 1]
        r = _radius(*law, part.size, rng)
        while (none := np.flatnonzero(r == 0)).size:
            r[none] = _radius(*law, none.size, rng)
        x = _tile_points(n, r, free, rng)
        kept = zonotope_level(x, free=free) <= r
        rows[part[kept]] = x[kept]
        todo = np.concatenate([part[~kept], todo])
    return out


def _tile_points(n: int, r: Ints, free: bool, rng: np.random.Generator) -> Ints:
    """A uniform whole point of the zonotope of each radius r, and of a margin around it.

    Pairs i < j have segments from 0 to t (e_i - e_j), with the extra vertex 0 they are n - 1 times
    as long. Lift pair number k to the height 3^k: the upper side of the lifted zonotope is a
    tiling. In the tile of a tree another pair is whole if, on its circle through the tree, the
    pair of the largest number is in the tree and is walked from its smaller end to its larger one.
    """
    b, nodes, t = r.size, n + free, (r + 1 if free else 2 * r + 1)
    rows = np.arange(b)
    if free:  # a tree's chance is its volume: the extra vertex counts n - 1 times
        code = (rng.integers(0, 2 * n - 1, size=(b, nodes - 2)) - (n - 2)).clip(min=0)
    else:
        code = rng.integers(0, nodes, size=(b, nodes - 2))
    child, parent = _trees(code, nodes)
    first, second = np.triu_indices(nodes, 1)
    number = np.zeros((nodes, nodes), dtype=np.int32)
    number[first, second] = number[second, first] = np.arange(1, first.size + 1)
    # Entry [u, v]: number of the largest pair from u to v, below 0 if walked from larger to smaller
    path = np.zeros((b, nodes, nodes), dtype=np.int32)
    for v, p in zip(child.T[::-1], parent.T[::-1], strict=True):
        way, step = path[rows, p], (number[v, p] * np.sign(p - v))[:, None].astype(np.int32)
        way = np.where(np.abs(way) > np.abs(step), way, step)
        way[rows, v] = 0
        path[rows, v], path[rows, :, v] = way, -way
    whole = (path > number) & np.triu(np.ones((nodes, nodes), dtype=bool), 1)
    length = np.ones((nodes, nodes), dtype=np.int64)
    if free:
        length[0] = length[:, 0] = n - 1
    given = whole * length
    x = t[:, None] * (given.sum(axis=2) - given.sum(axis=1))
    # Half-open tiles: every point is in one. The last vertex, the root, is on the open side.
    up = parent > child
    point = rng.integers(0, t[:, None] * length[child, parent]) + ~up
    for k in range(nodes - 1):
        move = np.where(up[:, k], point[:, k], -point[:, k])
        x[rows, child[:, k]] += move
        x[rows, parent[:, k]] -= move
    if free:
        return x[:, 1:] + t[:, None] * np.arange(n)
    # Between the whole points lies the centre if n is even; beside it no point within r is lost.
    twice = t[:, None] * (n - 1 - 2 * np.arange(n))
    if n % 2 == 0:
        twice = twice + np.where(np.arange(n) < n // 2, 1, -1)
    return np.asarray(x - twice // 2)


def _trees(code: Ints, nodes: int) -> tuple[Ints, Ints]:
    """Trees of Pruefer codes, (b, nodes - 2): every vertex but the last one, and its parent."""
    rows, left = np.arange(len(code)), np.ones((len(code), nodes), dtype=np.int64)
    np.add.at(left, (rows[:, None], code), 1)
    child = np.empty((len(code), nodes - 1), dtype=np.intp)
    for k in range(nodes - 1):
        child[:, k] = (left == 1).argmax(axis=1)  # the smallest leaf; the last vertex stays
        left[rows, child[:, k]] = 0
        if k < nodes - 2:
            left[rows, code[:, k]] -= 1
    last = np.full((len(code), 1), nodes - 1)
    return child, np.concatenate([code, last], axis=1).astype(np.intp)


def _radius(power: int, odd: bool, scale: Fraction, size: int, rng: np.random.Generator) -> Ints:
    """Whole numbers r >= 0 of weight (2 r + 1)^power exp(-r / scale), or (r + 1)^power if not odd.

    The series of (a r + 1)^power z^r sums to that of E_k z^k over (1 - z)^(power + 1), E_k Eulerian
    numbers, of type B if odd, else of type A: r is such a k, and power + 1 geometric numbers.
    """
    start = _index(partial(_cuts, power, odd, scale), size, rng)
    waits, todo = np.empty(size * (power + 1), dtype=np.int64), np.arange(size * (power + 1))
    while todo.size:  # a discrete Laplace number that is not below 0 is geometric
        drawn = discrete_laplace_noise(scale, todo.size, rng=rng)
        waits[todo] = drawn
        todo = todo[drawn < 0]
    return start + waits.reshape(size, power + 1).sum(axis=1)


def _index(cuts: Callable[[int], Cuts], size: int, rng: np.random.Generator) -> Ints:
    """How many cuts a uniform number has passed, by as many bits as it takes to be sure.

    With so many bits, ``cuts`` gives whole numbers below and above 2^bits times every cut.
    """
    u = rng.integers(0, 2**_BITS, size=size)
    most, k = (np.searchsorted(side, u, side="right") for side in cuts(_BITS))
    for at in np.flatnonzero(k != most):
        bits, drawn = _BITS, int(u[at])
        while k[at] != most[at]:
            drawn, bits = (drawn << _BITS) + int(rng.integers(0, 2**_BITS)), bits + _BITS
            most[at], k[at] = (sum(cut <= drawn for cut in side) for side in cuts(bits))
    return k.astype(np.int64)


@cache
def _cuts(power: int, odd: bool, scale: Fraction, bits: int) -> Cuts:
    """Where the distribution function of k, of weight E_k exp(-k / scale), rises below 1."""
    with localcontext(prec=bits // 3 + 20):
        (low, high), _ = _sums(power, odd, scale, bits)
        return _rounded([s / high[-1] for s in low[:-1]], [s / low[-1] for s in high[:-1]], bits)


@cache
def _zero_cut(power: int, odd: bool, scale: Fraction, volume: int, bits: int) -> Cuts:
    """The chance 1 / (1 + volume (S - 1)), where S is the sum of the series of `_radius`."""
    with localcontext(prec=bits // 3 + 20):
        room = Decimal(1).scaleb(-10 - bits // 3)  # for a volume times what is left
        low, high = (
            max(sums[-1] / (1 - z) ** (power + 1) * (1 + sign * room) - 1, Decimal(0))
            for sums, z, sign in zip(*_sums(power, odd, scale, bits), (-1, 1), strict=True)
        )
        return _rounded([1 / (1 + volume * high)], [1 / (1 + volume * low)], bits)


@cache
def _sums(
    power: int, odd: bool, scale: Fraction, bits: int
) -> tuple[list[list[Decimal]], list[Decimal]]:
    """Partial sums of E_k z^k for a z just below exp(-1 / scale), and just above; both z."""
    with localcontext(prec=bits // 3 + 20) as context:
        rate = Decimal(scale.denominator) / Decimal(scale.numerator)
        error = (rate + 1).scaleb(3 - context.prec)  # of the quotient and of exp, relatively
        ends = [(-rate).exp() * (1 - error), (-rate).exp() * (1 + error)]
        numbers = _eulerian(power, odd)
        sums = [list(accumulate(e * z**k for k, e in enumerate(numbers))) for z in ends]
    return sums, ends


@cache
def _eulerian(power: int, odd: bool) -> list[int]:
    """Eulerian numbers of type B if odd, else of type A."""
    a, numbers = 1 + odd, [1]
    for d in range(1, power + 1):
        stays = [(a * k + 1) * e for k, e in enumerate(numbers)] + [0]
        steps = [0, *((a * (d - k) + odd) * e for k, e in enumerate(numbers, 1))]
        numbers = [x + y for x, y in zip(stays, steps, strict=True)]
    return numbers


def _rounded(low: list[Decimal], high: list[Decimal], bits: int) -> Cuts:
    """Times 2^bits, to whole numbers, with room for the rounding of thousands of operations."""
    room = Decimal(1).scaleb(-10 - bits // 3)
    below = [int(x * 2**bits * (1 - room)) - 1 for x in low]
    return below, [int(x * 2**bits * (1 + room)) + 1 for x in high]
