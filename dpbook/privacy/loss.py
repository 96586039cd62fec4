"""Privacy loss, hockey-stick profiles, and the exact checker of finite mechanisms."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check

Array = NDArray[np.float64]
Law = ArrayLike | Mapping[Hashable, float]

# A law may miss total mass one by this much: the rounding of a few thousand additions.
_MASS_TOLERANCE = 1e-9

# Up to this many scales the quadrature of `laplace_profile` keeps its stated error.
_LARGEST_RATIO = 40

# Convolving two laws takes the product of their lengths: seconds here.
_LONGEST_SHIFT = 100_000


@dataclass(frozen=True)
class MechanismReport:
    """What the exact checker found.

    Attributes
    ----------
    loss : float
        The smallest epsilon for which the mechanism is (epsilon, 0)-DP over the listed pairs;
        infinite if some outcome is possible on one side only.
    pair, outcome
        The two neighbouring data sets, and the outcome, where it is attained.
    delta : float or None
        Smallest delta at the epsilon asked about, over the listed pairs.
    private : bool or None
        Whether the mechanism satisfies the (epsilon, delta) asked about.
    """

    loss: float
    pair: tuple[Any, Any]
    outcome: Hashable
    delta: float | None = None
    private: bool | None = None


def privacy_loss(p: ArrayLike, q: ArrayLike) -> float:
    """Largest absolute log-ratio of two laws on the same finite set of outcomes, (outcomes,).

    Infinite if an outcome has probability zero under exactly one of the laws.
    """
    return float(_losses(*_laws(p, q)).max())


def hockey_stick(p: ArrayLike, q: ArrayLike, epsilons: ArrayLike) -> Array:
    """Smallest delta such that the two laws are (epsilon, delta)-indistinguishable, both ways.

    The larger sum of (p - e^epsilon q)_+ of both directions, of the shape of ``epsilons``.
    """
    p, q = _laws(p, q)
    with np.errstate(over="ignore"):
        factor = np.exp(check.levels("epsilons", epsilons))[..., None]

    def excess(x: Array, y: Array) -> Array:
        # Where y is 0 the product is 0, also when the factor has overflowed to infinity.
        shape = np.broadcast_shapes(factor.shape, y.shape)
        scaled = np.multiply(factor, y, out=np.zeros(shape), where=y > 0)
        return np.asarray(np.maximum(x - scaled, 0).sum(axis=-1))

    return np.maximum(excess(p, q), excess(q, p))


def check_mechanism(
    mechanism: Callable[[Any], Law],
    pairs: Iterable[tuple[Any, Any]],
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
) -> MechanismReport:
    """Exact privacy of a finite mechanism, by comparing its laws on all pairs of neighbours.

    Parameters
    ----------
    mechanism : callable
        Maps a data set to the exact law of the output: a mapping from outcome to probability
        (missing outcomes have probability zero) or an array of probabilities.
    pairs : iterable of (dataset, dataset)
        All pairs of neighbours; an array of shape (pairs, 2, ...) will do.
    epsilon : float, optional
        If given, the smallest delta at this epsilon is computed too.
    delta : float
        The delta that ``private`` is judged against.

    Notes
    -----
    Each data set's law is computed once, if the data set can serve as a key. ``private`` allows
    the loss to exceed epsilon by the rounding of a log-ratio (1e-12), no more.

    Examples
    --------
    >>> truth = {0: [0.75, 0.25], 1: [0.25, 0.75]}  # one bit, reported truly three times in four
    >>> round(check_mechanism(truth.get, [(0, 1)]).loss, 4)  # log 3
    1.0986
    """
    check.probability("delta", delta, one=False)
    memory: dict[Hashable, Law] = {}

    def law_of(dataset: Any) -> Law:
        key = _key(dataset)
        if key is None:
            return mechanism(dataset)
        if key not in memory:
            memory[key] = mechanism(dataset)
        return memory[key]

    worst: MechanismReport | None = None
    largest_delta = 0.0
    for x, y in pairs:
        p, q, outcomes = _aligned(law_of(x), law_of(y))
        losses = _losses(p, q)
        at = int(losses.argmax())
        if worst is None or losses[at] > worst.loss:
            worst = MechanismReport(float(losses[at]), (x, y), outcomes[at])
        if epsilon is not None:
            largest_delta = max(largest_delta, float(hockey_stick(p, q, epsilon)))
    if worst is None:
        raise ValueError("pairs is empty: allowed is at least one pair of neighbours")
    if epsilon is None:
        return worst
    slack = 1e-12
    private = largest_delta <= delta + slack if delta > 0 else worst.loss <= epsilon + slack
    return MechanismReport(worst.loss, worst.pair, worst.outcome, largest_delta, private)


def laplace_profile(shift: ArrayLike, scale: float, epsilons: ArrayLike) -> Array:
    """Profile delta(epsilon) of a vector released with Laplace noise, for one pair of neighbours.

    Parameters
    ----------
    shift : array, shape (n,)
        Difference of the statistic between the two sides; at most two entries may differ from 0.
    scale : float
        Scale b of the noise.
    epsilons : array, shape (...)
        Privacy parameters in nats, at least 0.

    Notes
    -----
    With a the absolute shift over b, the loss of one coordinate is +a with probability 1/2, -a with
    probability exp(-a)/2, and has the density exp((x - a)/2)/4 between. One coordinate has the
    closed form 1 - exp((epsilon - a)/2); the second is integrated by Gauss-Legendre on the
    pieces where the first one's profile is a single exponential, 40 nodes each (error below
    1e-14 for a <= 40).
    """
    b = check.noise_scale(scale)
    ratio = np.abs(check.finite_array("shift", shift)).ravel() / b
    ratio = np.sort(ratio[ratio > 0])
    eps = check.levels("epsilons", epsilons)
    if ratio.size == 0:
        return np.zeros_like(eps)
    if ratio.size > 2:
        raise ValueError(
            f"shift has {ratio.size} entries other than 0: allowed are at most 2 "
            "(discrete_laplace_profile takes any number)"
        )
    if ratio.max() > _LARGEST_RATIO:
        raise ValueError(
            f"shift exceeds {_LARGEST_RATIO} scales of {b!r}: allowed are smaller shifts"
        )
    if ratio.size == 1:
        return _one_coordinate_profile(eps, ratio[0])
    small, a = ratio
    u, w = np.polynomial.legendre.leggauss(40)
    # The atom of the second loss at -a adds nothing: eps + a exceeds every loss of the first.
    total = 0.5 * _one_coordinate_profile(eps - a, small)
    edges = [
        np.full(eps.shape, -a),
        *(np.clip(eps + s * small, -a, a) for s in (-1, 1)),
        np.full(eps.shape, a),
    ]
    for low, high in itertools.pairwise(edges):
        half = (high - low)[..., None] / 2
        x = (low + high)[..., None] / 2 + half * u
        inner = 0.25 * np.exp((x - a) / 2) * _one_coordinate_profile(eps[..., None] - x, small)
        total = total + (half * w * inner).sum(axis=-1)
    return np.asarray(total)


def discrete_laplace_profile(shift: ArrayLike, scale: float, epsilons: ArrayLike) -> Array:
    """Profile delta(epsilon) of an integer vector released with discrete Laplace noise.

    Parameters as for `laplace_profile`, but any number of entries, all whole. The loss of a
    coordinate takes the values (d - 2 j) / b, j = 0..d, only; the losses of the coordinates add up,
    so the law of the total is a finite convolution of positive terms: exact.
    """
    b = check.noise_scale(scale)
    steps = np.abs(check.finite_array("shift", shift)).ravel()
    if not np.array_equal(steps, np.rint(steps)):
        raise ValueError("shift holds a fraction: allowed are integers")
    eps = check.levels("epsilons", epsilons)
    if not steps.sum() <= _LONGEST_SHIFT:
        raise ValueError(
            f"shift moves by {steps.sum():g} in all: allowed are at most {_LONGEST_SHIFT}, since "
            "the law of the loss is listed step by step"
        )
    reach = int(steps.sum())
    check.fits("epsilons", epsilons, eps.size * (reach + 1), "fewer values, or a shorter shift")
    pmf = np.ones(1)
    for d in steps.astype(int):
        pmf = np.convolve(pmf, _discrete_loss_pmf(int(d), b))
    values = (reach - 2 * np.arange(reach + 1)) / b
    gain = -np.expm1(np.minimum(eps[..., None] - values, 0.0))
    return np.asarray((pmf * gain).sum(axis=-1))


def _discrete_loss_pmf(d: int, b: float) -> Array:
    """Law of (|w + d| - |w|) / b on d/b, (d-2)/b, ..., -d/b for discrete Laplace w."""
    z, tail = exp(-1 / b), 1 / (1 + exp(-1 / b))
    pmf = (1 - z) * tail * z ** np.arange(d + 1.0)
    pmf[0], pmf[d] = tail, tail * z**d
    return pmf if d else np.ones(1)


def _one_coordinate_profile(eps: Array, a: float) -> Array:
    """E (1 - exp(eps - X))_+ for the loss X of one coordinate; eps may be negative here."""
    inside = -np.expm1((np.clip(eps, -a, a) - a) / 2)
    return np.where(eps >= a, 0.0, np.where(eps <= -a, -np.expm1(np.minimum(eps, 0.0)), inside))


def _laws(p: ArrayLike, q: ArrayLike) -> tuple[Array, Array]:
    first, second = (check.real_array(*law).astype(float) for law in (("p", p), ("q", q)))
    if first.shape != second.shape or first.ndim != 1 or not first.size:
        raise ValueError(
            f"p and q of shapes {first.shape}, {second.shape}: allowed are equal shapes (outcomes,)"
        )
    for name, law in (("p", first), ("q", second)):
        if not np.isfinite(law).all() or law.min() < 0:
            raise ValueError(f"{name} holds a negative or infinite entry: allowed are chances")
        if abs(law.sum() - 1) > _MASS_TOLERANCE:
            raise ValueError(f"{name} sums to {law.sum():.12g}: allowed is a total of 1")
    return first, second


def _losses(p: Array, q: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(np.log(p) - np.log(q))
    return np.where((p == 0) & (q == 0), 0.0, ratio)


def _aligned(first: Law, second: Law) -> tuple[Array, Array, list[Hashable]]:
    """Both laws as arrays over the union of their outcomes."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        outcomes = list(dict.fromkeys([*first, *second]))
        p, q = _laws([first.get(o, 0.0) for o in outcomes], [second.get(o, 0.0) for o in outcomes])
        return p, q, outcomes
    if isinstance(first, Mapping) or isinstance(second, Mapping):
        raise ValueError("mechanism returns a mapping and an array: allowed is one kind only")
    p, q = _laws(first, second)
    return p, q, list(range(p.size))


def _key(dataset: Any) -> Hashable:
    if isinstance(dataset, np.ndarray):
        return (dataset.shape, dataset.dtype.str, dataset.tobytes())
    try:
        hash(dataset)
    except TypeError:
        return None
    return dataset
