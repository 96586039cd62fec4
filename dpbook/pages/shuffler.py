"""Page 39: exact privacy of bits by randomised response that a shuffler has mixed, in fractions.

A bit is reported truly with odds K = e^epsilon_0 to 1, and E = e^epsilon is the factor of the
central guarantee. Both are whole numbers or fractions, so that every delta here is one as well.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from dpbook import _validation as check

Odds = int | Fraction


def shuffled_delta(people: int, agree: int, odds: Odds, factor: Odds) -> Fraction:
    """Least delta of the number of ones: a bit turns from 1 to 0, ``agree`` of the others are 1."""
    check.integer("people", people, 1)
    check.integer("agree", agree, 0, people - 1)
    k, j = _ratio("odds", odds)
    e, d = _ratio("factor", factor)
    others = _ones(people - 1, agree, k, j)
    apart = 0
    for below, here in zip([0, *others], [*others, 0], strict=True):
        apart += max(0, d * (k * below + j * here) - e * (j * below + k * here))
    return Fraction(apart, d * (k + j) ** people)


def blanket_delta(people: int, odds: Odds, factor: Odds) -> Fraction:
    """The same where the others' true answers are known, but not who gave a random one.

    Of the other bits Bin(people - 1, 2 / (K + 1)) are fair coins, which alone hide the turned bit.
    """
    check.integer("people", people, 1)
    k, j = _ratio("odds", odds)
    e, d = _ratio("factor", factor)
    if e * j >= k * d:  # pure privacy
        return Fraction(0)
    ways = _coins(people - 1, k - j, j)
    total, at = 0, 1
    tail, edge = 0, 1  # ways of at least so many ones among the coins, and of one fewer exactly
    for coins in range(people):
        # more likely before the turn from so many ones on
        least = (e * k - d * j) * (coins + 1) // ((e + d) * (k - j)) + 1
        if coins:
            tail, edge = 2 * tail + edge, edge * coins // (coins - at + 1)
        for passed in range(at, least):
            edge = edge * (coins - passed + 1) // passed
            tail -= edge
        at = least
        apart = (k * d - e * j) * (tail + edge) - (e * k - d * j) * tail
        total += ways[coins] * max(0, apart)
    return Fraction(total, d * (k + j) ** people)


def crossing(
    delta_of: Callable[[Fraction], Fraction], target: Fraction, low: int, high: int, grid: int
) -> tuple[Fraction, Fraction]:
    """Neighbours a < b on the grid of 1/grid between which a falling delta reaches the target."""
    above, below = low * grid, high * grid
    if delta_of(Fraction(low)) <= target or delta_of(Fraction(high)) > target:
        raise ValueError(f"low = {low}, high = {high}: allowed are ends on two sides of the target")
    while below - above > 1:
        middle = (above + below) // 2
        if delta_of(Fraction(middle, grid)) > target:
            above = middle
        else:
            below = middle
    return Fraction(above, grid), Fraction(below, grid)


@lru_cache(maxsize=16)
def _ones(people: int, agree: int, k: int, j: int) -> list[int]:
    """Coefficients of (k x + j)^agree (j x + k)^rest, read off at a large power of 256."""
    width = (people + 1) * (k + j).bit_length() // 8 + 1
    x = 1 << 8 * width
    value = (k * x + j) ** agree * (j * x + k) ** (people - agree)
    digits = value.to_bytes((people + 1) * width, "little")
    starts = range(0, len(digits), width)
    return [int.from_bytes(digits[at : at + width], "little") for at in starts]


@lru_cache(maxsize=16)
def _coins(people: int, k: int, j: int) -> list[int]:
    """Coefficients of (k + j x)^people."""
    ways = [1]
    for s in range(people):
        ways.append(ways[-1] * (people - s) // (s + 1))
    return [many * j**s * k ** (people - s) for s, many in enumerate(ways)]


def _ratio(name: str, value: Odds) -> tuple[int, int]:
    if not isinstance(value, int | Fraction) or value < 1:
        raise ValueError(f"{name} = {value!r}: allowed are whole numbers and fractions from 1 on")
    return Fraction(value).as_integer_ratio()
