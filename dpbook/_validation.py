"""Checks of arguments shared by the science modules.

Every failure is a ``ValueError`` that names the argument, the value given and what is allowed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from numbers import Rational, Real
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook._typing import Array, Ints

# The most 8-byte numbers that a function holds at once: 2 GiB.
MOST_NUMBERS = 2**28
# Beyond this not every whole number is a float, and sums of counts are no longer exact.
MOST_COUNT = 2**53
# Variances go as 1 / epsilon^2 and scale^2. Within these limits they are finite, with room for
# factors as large as 1e50 (sensitivities, numbers of users and of items).
EPSILONS = (1e-100, 1e100)
SCALES = (1e-150, 1e150)


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def _refuse(name: str, value: Any, allowed: str) -> NoReturn:
    raise ValueError(f"{name} = {_short(value)}: allowed is {allowed}") from None


def _number(name: str, value: Any, allowed: str, test: Callable[[float], bool]) -> float:
    """Return ``value`` as a float if it is a real number that passes the test."""
    scalar = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    # A truth value is a number to Python, and a text may hold one: neither is meant as one.
    if isinstance(scalar, bool) or not isinstance(scalar, Real):
        _refuse(name, value, allowed)
    try:
        number = float(scalar)
    except OverflowError:
        number = math.nan  # which passes no test
    if not test(number):
        _refuse(name, value, allowed)
    return number


def epsilon(value: float | Rational, name: str = "epsilon") -> float:
    """Return a privacy parameter as a float; its noise must be a float as well."""
    return positive(name, value, EPSILONS)


def noise_scale(value: float | Rational, name: str = "scale") -> float:
    """Return the scale of some noise as a float; its variance must be one as well."""
    return positive(name, value, SCALES)


def positive(
    name: str, value: float | Rational, limits: tuple[float, float] = (0, math.inf)
) -> float:
    """Return ``value`` as a float if it is finite and above zero, and within the limits."""
    number = _number(name, value, "a finite number above 0", lambda x: 0 < x < math.inf)
    low, high = limits
    return _number(name, number, f"a number from {low:g} to {high:g}", lambda x: low <= x <= high)


def nonnegative(name: str, value: float) -> float:
    """Return ``value`` as a float if it is finite and at least zero."""
    return _number(name, value, "a finite number of at least 0", lambda x: 0 <= x < math.inf)


def probability(name: str, value: float, *, zero: bool = True, one: bool = True) -> float:
    """Return ``value`` as a float if it is a probability; the ends may be shut out."""
    allowed = f"a number in {'[' if zero else '('}0, 1{']' if one else ')'}"
    return _number(
        name, value, allowed, lambda x: 0 <= x <= 1 and (zero or x > 0) and (one or x < 1)
    )


def integer(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return ``value`` as an int if it is a whole number from ``low`` to ``high``."""
    allowed = f"an integer from {low} to {high}" if high is not None else f"an integer >= {low}"
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if isinstance(value, bool) or number < low or (high is not None and number > high):
        _refuse(name, value, allowed)
    return number


def choice(name: str, value: str, allowed: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of the ``allowed`` words."""
    if not isinstance(value, str) or value not in allowed:
        _refuse(name, value, f"one of {', '.join(map(repr, allowed))}")
    return value


def fits(name: str, value: Any, numbers: float, allowed: str) -> None:
    """Refuse ``value`` if it asks for more numbers at once than 2 GiB hold."""
    if not numbers <= MOST_NUMBERS:
        raise ValueError(f"{name} = {_short(value)} asks for too much work: allowed is {allowed}")


def shape(name: str, value: Any) -> tuple[int, ...]:
    """Return the shape that an integer or a tuple of integers stands for."""
    sides = value if isinstance(value, tuple) else (value,)
    try:
        result = tuple(integer(name, side, 0) for side in sides)
    except ValueError:
        _refuse(name, value, "an integer >= 0 or a tuple of them")
    fits(name, value, math.prod(result), f"a shape of at most {MOST_NUMBERS} entries")
    return result


def shaped(name: str, array: NDArray[Any], fit: Any, allowed: str) -> None:
    """Refuse an array that does not fit by its shape."""
    if not fit:
        raise ValueError(f"{name} of shape {array.shape}: allowed is {allowed}")


def _without(name: str, bad: NDArray[Any], allowed: str) -> None:
    """Refuse the array called ``name`` if any of its entries is bad."""
    if bad.size:
        raise ValueError(f"{name} holds {bad.flat[0]}: allowed are {allowed}")


class WholeNumbers:
    """A source of whole numbers and nothing else, in the place of a generator."""


def generator(rng: Any) -> np.random.Generator:
    """Return ``rng`` if it is a NumPy generator, or draws the whole numbers of one."""
    if not isinstance(rng, np.random.Generator | WholeNumbers):
        _refuse("rng", rng, "a numpy.random.Generator")
    return cast(np.random.Generator, rng)


def real_array(name: str, value: ArrayLike) -> NDArray[Any]:
    """Return ``value`` as an array of integers, floats or truth values, of any shape."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        _refuse(name, value, "an array of numbers, all its rows of one length")
    if array.dtype.kind not in "biuf":
        given = f"{name} = {_short(value)}, of type {array.dtype}"
        raise ValueError(f"{given}: allowed is an array of real numbers")
    return array


def number_array(name: str, value: ArrayLike) -> Array:
    """Return ``value`` as a float array of any shape without NaN; infinities may stand."""
    array = real_array(name, value).astype(float)
    _without(name, array[np.isnan(array)], "numbers")
    return array


def levels(name: str, value: ArrayLike) -> Array:
    """Return ``value`` as privacy parameters in nats, any shape, infinity included."""
    eps = number_array(name, value)
    _without(name, eps[eps < 0], "numbers of at least 0")
    return eps


def finite_array(name: str, value: ArrayLike, *, min_ndim: int = 1) -> Array:
    """Return ``value`` as a float array without NaN or infinity, not empty."""
    array = real_array(name, value).astype(float, copy=False)
    allowed = f"a non-empty array of at least {min_ndim} dimension(s)"
    shaped(name, array, array.ndim >= min_ndim and array.size, allowed)
    if not (finite := np.isfinite(array)).all():
        _without(name, array[~finite], "finite numbers only")
    return array


def item_vector(name: str, value: ArrayLike) -> Array:
    """Return ``value`` as finite numbers, one for each of at least two items."""
    vector = finite_array(name, value)
    shaped(name, vector, vector.ndim == 1 and vector.size >= 2, "(n,) with n >= 2")
    return vector


def whole_array(name: str, value: ArrayLike) -> Ints:
    """Return ``value`` as integers of any shape; floats must be whole numbers."""
    array = real_array(name, value)
    if array.dtype.kind == "b":
        raise ValueError(f"{name} of type bool: allowed are whole numbers")
    far = (array < -MOST_COUNT) | (array > MOST_COUNT)
    bad = array[far if array.dtype.kind != "f" else far | (array != np.rint(array))]
    _without(name, bad, "whole numbers up to 2**53")
    return array.astype(np.int64)


def square_tables(name: str, value: ArrayLike) -> Array:
    """Return ``value`` as a stack of finite square tables, (..., n, n) with n >= 2."""
    return _square(name, finite_array(name, value, min_ndim=2))


def square_table(name: str, value: ArrayLike) -> Array:
    """Return ``value`` as one finite square table, (n, n) with n >= 2."""
    table = finite_array(name, value, min_ndim=2)
    shaped(name, table, table.ndim == 2, "(n, n) with n >= 2")
    return _square(name, table)


def _square(name: str, table: NDArray[Any]) -> NDArray[Any]:
    fit = table.ndim >= 2 and table.shape[-1] == table.shape[-2] >= 2 and table.size
    shaped(name, table, fit, "(..., n, n) with n >= 2")
    return table


def win_tables(name: str, value: ArrayLike, *, unit: float | None = None) -> NDArray[Any]:
    """Return ``value`` as a stack of win tables, shape (..., n, n), n >= 2, zero diagonal.

    Entries are finite and at least 0. With a ``unit``, 1 or 1/2, they are multiples of it and so
    small that the sum over a table is exact; for a unit of 1 the result holds integers. Without
    one they keep their type.
    """
    tables = _square(name, real_array(name, value))
    _without(name, tables[~np.isfinite(tables) | (tables < 0)], "finite counts >= 0")
    if np.diagonal(tables, axis1=-2, axis2=-1).any():
        raise ValueError(f"{name} has a non-zero diagonal: an item is never compared with itself")
    if unit is None:
        return tables
    whole = unit == 1 or tables.dtype.kind != "f"
    if tables.dtype.kind == "f":
        kind = " and halves (a tie)" if unit != 1 else ", as noise in them does not hide half a win"
        _without(name, tables[tables % unit != 0], f"counts >= 0, whole numbers{kind}")
    large = tables[tables > MOST_COUNT / tables.shape[-1] ** 2]
    _without(name, large, "counts whose sum over a table stays below 2**53")
    return tables.astype(np.int64 if whole else float, copy=False)  # short floats add up badly


def rankings(name: str, value: ArrayLike, ndim: int | None = None) -> Ints:
    """Return places, shape (..., n), n >= 2, each row a permutation of 0..n-1."""
    ranks = real_array(name, value)
    if ranks.dtype.kind not in "iu":
        raise ValueError(f"{name} of type {ranks.dtype}: allowed are integers")
    n = ranks.shape[-1] if ranks.ndim else 0
    allowed = "(..., n)" if ndim is None else "(users, n), at least one user and"
    fit = n >= 2 and ranks.size and ndim in (None, ranks.ndim)
    shaped(name, ranks, fit, f"{allowed} n >= 2")
    wrong = np.argwhere((np.sort(ranks, axis=-1) != np.arange(n)).any(axis=-1))
    if len(wrong):
        at = tuple(wrong[0].tolist())
        where = f"{name}{list(at) if at else ''} = {ranks[at].tolist()}"
        raise ValueError(f"{where}: allowed is a permutation of 0..{n - 1}")
    return ranks.astype(np.int64, copy=False)
