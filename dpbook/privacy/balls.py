"""Numbers with proved bounds: arithmetic with intervals that always contain the exact result.

Every operation is rounded outward, by `decimal` of the standard library, whose ``exp`` and ``ln``
are correctly rounded; so it needs no other library and gives the same digits on every machine.  A
ball keeps the steps that led to it.  Another program can take them again: its certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import Any

PRECISION = 40  # digits that are carried
_DOWN, _UP = (Context(prec=PRECISION, rounding=way) for way in (ROUND_FLOOR, ROUND_CEILING))
_EXACT = Context(prec=1000)  # for sums of bounds, whose digits are few


class Ball:
    """A number of which only bounds are known: ``low`` <= number <= ``high``.

    Made of a whole number or a `Fraction`, and of other balls by +, -, *, /, whole powers, `exp`,
    `log`, `sqrt`, `largest` and `root`.
    """

    def __init__(self, value: int | Fraction) -> None:
        if isinstance(value, bool) or not isinstance(value, int | Fraction):
            raise ValueError(f"value = {value!r}: allowed are whole numbers and fractions")
        over = Fraction(value)
        if over.denominator == 1:
            self._set((str(over),), Decimal(over.numerator), Decimal(over.numerator))
        else:
            quotient = Ball(over.numerator) / Ball(over.denominator)
            self._set(quotient.step, quotient.low, quotient.high)

    def _set(self, step: tuple[Any, ...], low: Decimal, high: Decimal) -> Ball:
        self.step, self.low, self.high = step, low, high
        return self

    def _with(self, name: str, *others: Any) -> Ball:
        """Of an operation that is monotone in each argument: its ends are those of the corners."""
        sides = [self, *(other if isinstance(other, Ball) else Ball(other) for other in others)]
        corners = [*product(*((side.low, side.high) for side in sides))]
        ends = ((min, _DOWN), (max, _UP))
        low, high = (pick(getattr(to, name)(*at) for at in corners) for pick, to in ends)
        if name in ("exp", "ln"):  # rounded to nearest, whatever the context says
            low, high = _DOWN.next_minus(low), _UP.next_plus(high)
        return _new((name, *sides), low, high)

    def __add__(self, other: Any) -> Ball:
        return self._with("add", other)

    def __sub__(self, other: Any) -> Ball:
        return self._with("subtract", other)

    def __mul__(self, other: Any) -> Ball:
        return self._with("multiply", other)

    def __truediv__(self, other: Any) -> Ball:
        below = other if isinstance(other, Ball) else Ball(other)
        if below.low <= 0 <= below.high:
            raise ValueError(f"{below!r} may be zero: allowed is a divisor of one sign")
        return self._with("divide", below)

    def __pow__(self, times: int) -> Ball:
        if not isinstance(times, int) or times < 0:
            raise ValueError(f"times = {times!r}: allowed are whole numbers from 0 on")
        return reduce(Ball.__mul__, [self] * times, Ball(1))

    def __neg__(self) -> Ball:
        return Ball(0) - self

    def __radd__(self, other: Any) -> Ball:
        return Ball(other) + self

    def __rsub__(self, other: Any) -> Ball:
        return Ball(other) - self

    def __rmul__(self, other: Any) -> Ball:
        return Ball(other) * self

    def __rtruediv__(self, other: Any) -> Ball:
        return Ball(other) / self

    def __repr__(self) -> str:
        return f"[{self.low}, {self.high}]"

    def certificate(self, digits: int = 12) -> dict[str, Any]:
        """The number to so many significant digits, all of them right, and the steps to it.

        The ``centre`` is the rounded number, the ``radius`` half a unit of its last digit, as
        text. A step names its arguments by their places; a constant is text as well. The steps to a
        root lead to the product of the function's values at the ends, ``low`` and ``high``.

        Raises
        ------
        ValueError
            If the bounds are too far apart for that.
        """
        middle = _EXACT.divide(_EXACT.add(self.low, self.high), Decimal(2))
        centre = Context(prec=digits).plus(middle)
        radius = Decimal((0, (5,), centre.adjusted() - digits))
        low, high = _EXACT.subtract(centre, radius), _EXACT.add(centre, radius)
        if not centre or low > self.low or high < self.high:
            raise ValueError(f"digits = {digits}: allowed are fewer, the number is in {self!r}")
        last, is_root = self, self.step[0] == "root"
        if is_root:
            function = self.step[1]
            last = function(_new(("low",), low, low)) * function(_new(("high",), high, high))
        return {
            **{"centre": str(centre), "radius": str(radius), "precision": PRECISION},
            **{"root": is_root, "steps": _steps(last)},
        }


def _new(step: tuple[Any, ...], low: Decimal, high: Decimal) -> Ball:
    return Ball.__new__(Ball)._set(step, low, high)


def exp(x: Ball) -> Ball:
    """Its exponential."""
    return x._with("exp")


def log(x: Ball) -> Ball:
    """Its natural logarithm; of what is certainly positive."""
    if x.low <= 0:
        raise ValueError(f"x = {x!r}: allowed is what is certainly positive")
    return x._with("ln")


def sqrt(x: Ball) -> Ball:
    """Its square root; of what is certainly positive."""
    return exp(log(x) / 2)


def largest(balls: Iterable[Ball]) -> Ball:
    """The largest of some numbers, where the bounds tell which one that is."""
    first, *others = sorted(balls, key=lambda ball: ball.high, reverse=True)
    if any(other.high >= first.low for other in others):
        raise ValueError(f"balls = {[first, *others]}: allowed is one that is above all others")
    return first


def root(function: Callable[[Ball], Ball], low: Fraction, high: Fraction) -> Ball:
    """Where a continuous function changes its sign between two numbers, by bisection.

    That it does so once is the caller's business. A certificate is given for the root itself, not
    for what is computed from it.
    """

    def sign(at: Decimal) -> int:
        value = function(_new(("x",), at, at))
        return 1 if value.low > 0 else -1 if value.high < 0 else 0

    ends = [_DOWN.divide(Decimal(at.numerator), Decimal(at.denominator)) for at in (low, high)]
    signs = [sign(at) for at in ends]
    if low >= high or sorted(signs) != [-1, 1]:
        allowed = "allowed are a smaller and a larger end, of opposite signs"
        raise ValueError(f"low = {low}, high = {high}: {allowed}")
    for _ in range(4 * PRECISION):  # a root at zero has no last digit
        middle = _DOWN.divide(_DOWN.add(*ends), Decimal(2))
        found = sign(middle)
        if not found or middle in ends:
            break
        ends[signs.index(found)] = middle
    return _new(("root", function), *ends)


def _steps(ball: Ball) -> list[list[Any]]:
    """The steps to a ball, each once, and after those whose places it names."""
    place: dict[int, int] = {}
    same: dict[tuple[Any, ...], int] = {}
    waiting = [ball]
    while waiting:
        name, *parts = waiting[-1].step
        if name == "root":
            raise ValueError(f"{ball!r} is computed from a root: allowed is the root alone")
        missing = [part for part in parts if id(part) not in place]
        if not missing:
            step = (name, *(place[id(part)] for part in parts))
            place[id(waiting.pop())] = same.setdefault(step, len(same))
        waiting += missing
    return [list(step) for step in same]
