"""Checks of arguments shared by the science modules.

Every failure is a ``ValueError`` that names the argument, the value given and what is allowed.
"""

from __future__ import annotations

import math
import operator
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def positive(name: str, value: float | Rational) -> float:
    """Return ``value`` as a float if it is finite and above zero."""
    number = _real(name, value, "a finite number above 0")
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} = {value!r}: allowed is a finite number above 0")
    return number


def nonnegative(name: str, value: float) -> float:
    """Return ``value`` as a float if it is finite and at least zero."""
    number = _real(name, value, "a finite number of at least 0")
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(f"{name} = {value!r}: allowed is a finite number of at least 0")
    return number


def probability(name: str, value: float, *, zero: bool = True, one: bool = True) -> float:
    """Return ``value`` as a float if it is a probability; the ends may be shut out."""
    allowed = f"a number in {'[' if zero else '('}0, 1{']' if one else ')'}"
    number = _real(name, value, allowed)
    if not (0 <= number <= 1) or (number == 0 and not zero) or (number == 1 and not one):
        raise ValueError(f"{name} = {value!r}: allowed is {allowed}")
    return number


def integer(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return ``value`` as an int if it is a whole number from ``low`` to ``high``."""
    allowed = f"an integer from {low} to {high}" if high is not None else f"an integer >= {low}"
    if isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} = {value!r}: allowed is {allowed}")
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} = {value!r}: allowed is {allowed}") from None
    if number < low or (high is not None and number > high):
        raise ValueError(f"{name} = {value!r}: allowed is {allowed}")
    return number


def choice(name: str, value: str, allowed: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of the ``allowed`` words."""
    if value not in allowed:
        raise ValueError(f"{name} = {value!r}: allowed is one of {', '.join(map(repr, allowed))}")
    return value


def finite_array(name: str, value: ArrayLike, *, min_ndim: int = 1) -> NDArray[np.float64]:
    """Return ``value`` as a float array without NaN or infinity, not empty."""
    array = np.asarray(value, dtype=float)
    if array.ndim < min_ndim or array.size == 0:
        raise ValueError(
            f"{name} of shape {array.shape}: allowed is a non-empty array of at least "
            f"{min_ndim} dimension(s)"
        )
    if not np.isfinite(array).all():
        bad = array[~np.isfinite(array)][0]
        raise ValueError(f"{name} holds {bad}: allowed are finite numbers only")
    return array


def square_tables(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return ``value`` as a stack of finite square tables, (..., n, n) with n >= 2."""
    tables = finite_array(name, value, min_ndim=2)
    if tables.shape[-1] != tables.shape[-2] or tables.shape[-1] < 2:
        raise ValueError(f"{name} of shape {tables.shape}: allowed is (..., n, n) with n >= 2")
    return tables


def square_table(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return ``value`` as one finite square table, (n, n) with n >= 2."""
    table = finite_array(name, value, min_ndim=2)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or len(table) < 2:
        raise ValueError(f"{name} of shape {table.shape}: allowed is (n, n) with n >= 2")
    return table


def item_vector(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return ``value`` as finite numbers, one for each of at least two items."""
    vector = finite_array(name, value)
    if vector.ndim != 1 or vector.size < 2:
        raise ValueError(f"{name} of shape {vector.shape}: allowed is (n,) with n >= 2")
    return vector


def generator(rng: Any) -> np.random.Generator:
    """Return ``rng`` if it is a NumPy generator."""
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng = {rng!r}: allowed is a numpy.random.Generator")
    return rng


def _real(name: str, value: Any, allowed: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} = {value!r}: allowed is {allowed}") from None
