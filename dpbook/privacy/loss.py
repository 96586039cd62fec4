"""Privacy loss, hockey-stick profiles, and the exact checker of finite mechanisms."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpbook import _validation as check
from dpbook._typing import Array

Distribution = ArrayLike | Mapping[Hashable, float]

# Up to this many scales the quadrature of `laplace_profile` keeps its stated error.
_LARGEST_RATIO = 40
# Convolving two distributions takes the product of their lengths: seconds here.
_LONGEST_SHIFT = 100_000
# Losses that differ by less are equal: of several such outcomes and pairs the first is named.
_ALIKE = 1 - 1e-12


@dataclass(frozen=True)
class MechanismReport:
    """What `check_mechanism` found over the listed pairs.

    The loss is the smallest epsilon for which the mechanism is (epsilon, 0)-DP; infinite if some
    outcome is possible on one side only.
    """

    loss: float
    pair: tuple[Any, Any]  # the first neighbouring data sets where it is attained
    outcome: Hashable  # and the first outcome
    delta: float | None = None  # smallest one at the epsilon asked about
    private: bool | None = None  # whether the (epsilon, delta) asked about holds


def privacy_loss(p: ArrayLike, q: ArrayLike) -> float:
    """Largest absolute log-ratio of two distributions on the same finite outcomes, (outcomes,).

    Infinite if an outcome has probability zero under exactly one of the distributions.
    """
    return float(_losses(*_distributions(p, q)).max())


def hockey_stick(p: ArrayLike, q: ArrayLike, epsilons: ArrayLike) -> Array:
    """Smallest delta at which two distributions are (epsilon, delta)-indistinguishable, both ways.

    The larger sum of (p - e^epsilon q)_+ of both directions, of the shape of ``epsilons``.
    """
    p, q = _distributions(p, q)
    eps = check.levels("epsilons", epsilons)[..., None]
    with np.errstate(over="ignore", invalid="ignore"):
        # Where y is 0 the product is 0, also when the factor has overflowed to infinity.
        excess = [x - np.where(y > 0, np.exp(eps) * y, 0) for x, y in ((p, q), (q, p))]
    return np.asarray(np.maximum(*(np.maximum(e, 0).sum(axis=-1) for e in excess)))


def remembered(mechanism: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The mechanism, asked only once for the distribution of a data set that can be a key."""
    memory: dict[Hashable, Any] = {}

    def distribution_of(dataset: Any) -> Any:
        array = isinstance(dataset, np.ndarray)
        key = (dataset.shape, dataset.dtype.str, dataset.tobytes()) if array else dataset
        try:
            known = key in memory
        except TypeError:  # it cannot be a key
            return mechanism(dataset)
        if not known:
            memory[key] = mechanism(dataset)
        return memory[key]

    return distribution_of


def check_mechanism(
    mechanism: Callable[[Any], Distribution],
    pairs: Iterable[tuple[Any, Any]],
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
) -> MechanismReport:
    """Exact privacy of a finite mechanism: its distributions compared on all pairs of neighbours.

    Parameters
    ----------
    mechanism : callable
        Maps a data set to the exact distribution of the output: a mapping from outcome to
        probability (missing outcomes have probability zero) or an array of probabilities.
    pairs : iterable of (dataset, dataset)
        All pairs of neighbours; an array of shape (pairs, 2, ...) will do.
    epsilon, delta : float
        With an epsilon, the smallest delta at it is found too. ``private`` compares with both, with
        1e-12 to spare for the rounding of a log-ratio; `certify_mechanism` is for all epsilon.

    Examples
    --------
    >>> truth = {0: [0.75, 0.25], 1: [0.25, 0.75]}  # one bit, reported truly three times in four
    >>> round(check_mechanism(truth.get, [(0, 1)]).loss, 4)  # log 3
    1.0986
    """
    check.probability("delta", delta, one=False)
    distribution_of = remembered(mechanism)
    worst: MechanismReport | None = None
    loss = largest_delta = 0.0
    for x, y in pairs:
        p, q, outcomes = _aligned(distribution_of(x), distribution_of(y))
        losses = _losses(p, q)
        largest = float(losses.max())
        if worst is None or largest * _ALIKE > loss:
            at = int((losses >= largest * _ALIKE).argmax())
            worst = MechanismReport(largest, (x, y), outcomes[at])
        loss = max(loss, largest)
        if epsilon is not None:
            largest_delta = max(largest_delta, float(hockey_stick(p, q, epsilon)))
    if worst is None:
        raise ValueError("pairs is empty: allowed is at least one pair of neighbours")
    worst = replace(worst, loss=loss)
    if epsilon is None:
        return worst
    slack = 1e-12
    private = largest_delta <= delta + slack if delta > 0 else worst.loss <= epsilon + slack
    return replace(worst, delta=largest_delta, private=private)


def laplace_profile(shift: ArrayLike, scale: float, epsilons: ArrayLike) -> Array:
    """Smallest delta for each epsilon when a vector gets Laplace noise, for one pair of neighbours.

    The shift, (n,), is the difference of the statistic between the two sides; at most two entries
    may differ from 0. The noise has the scale b; ``epsilons`` are in nats, at least 0, any shape.
    Right to 1e-14 for shifts of up to 40 scales.
    """
    # With a the absolute shift over b, the loss of one coordinate is +a with probability 1/2, -a
    # with probability exp(-a)/2, and has the density exp((x - a)/2)/4 between. The second one is
    # integrated on the pieces where the first one's profile is a single exponential.
    b = check.noise_scale(scale)
    ratio = _moved(shift) / b
    ratio = np.sort(ratio[ratio > 0])
    eps = check.levels("epsilons", epsilons)
    if ratio.size == 0:
        return np.zeros_like(eps)
    if ratio.size > 2:
        raise ValueError(f"shift has {ratio.size} entries other than 0: allowed are at most 2")
    if ratio.max() > _LARGEST_RATIO:
        raise ValueError(f"shift exceeds {_LARGEST_RATIO} scales {b!r}: allowed are smaller shifts")
    if ratio.size == 1:
        return _one_coordinate_profile(eps, ratio[0])
    small, a = ratio
    u, w = np.polynomial.legendre.leggauss(40)
    # The atom of the second loss at -a adds nothing: eps + a exceeds every loss of the first.
    total = 0.5 * _one_coordinate_profile(eps - a, small)
    cuts = (np.clip(eps + s * small, -a, a) for s in (-1, 1))
    for low, high in pairwise([np.full_like(eps, -a), *cuts, np.full_like(eps, a)]):
        half = (high - low)[..., None] / 2
        x = (low + high)[..., None] / 2 + half * u
        inner = 0.25 * np.exp((x - a) / 2) * _one_coordinate_profile(eps[..., None] - x, small)
        total = total + (half * w * inner).sum(axis=-1)
    return np.asarray(total)


def discrete_laplace_profile(shift: ArrayLike, scale: float, epsilons: ArrayLike) -> Array:
    """Smallest delta for each epsilon when an integer vector gets discrete Laplace noise.

    Parameters as for `laplace_profile`, but any number of entries, all whole. The loss of a
    coordinate takes the values (d - 2 j) / b, j = 0..d, only; the losses of the coordinates add up,
    so the distribution of the total is a finite convolution of positive terms: exact.
    """
    b, eps = check.noise_scale(scale), check.levels("epsilons", epsilons)
    steps = _moved(shift)
    if (steps != np.rint(steps)).any():
        raise ValueError("shift holds a fraction: allowed are integers")
    if not steps.sum() <= _LONGEST_SHIFT:
        allowed = f"allowed are at most {_LONGEST_SHIFT} steps, since all are listed"
        raise ValueError(f"shift moves by {steps.sum():g} in all: {allowed}")
    reach = int(steps.sum())
    check.fits("epsilons", epsilons, eps.size * (reach + 1), "fewer values, or a shorter shift")
    pmf, z, tail = np.ones(1), exp(-1 / b), 1 / (1 + exp(-1 / b))
    for d in steps[steps > 0].astype(int).tolist():
        # Distribution of (|w + d| - |w|) / b on d/b, (d - 2)/b, ..., -d/b for discrete Laplace w.
        one = (1 - z) * tail * z ** np.arange(d + 1.0)
        one[0], one[d] = tail, tail * z**d
        pmf = np.convolve(pmf, one)
    values = (reach - 2 * np.arange(reach + 1)) / b
    return profile_of_loss(values, pmf, eps)


def _moved(shift: ArrayLike) -> Array:
    """Absolute entries of one shift; a stack of shifts is no longer one."""
    moves = np.abs(check.finite_array("shift", shift))
    check.shaped("shift", moves, moves.ndim == 1, "(n,), the difference between two data sets")
    return moves


def profile_of_loss(values: Array, weights: Array, eps: Array) -> Array:
    """Expected 1 - e^(eps - loss) where the loss, with these values and weights, is larger."""
    return np.asarray(-np.expm1(np.minimum(eps[..., None] - values, 0.0)) @ weights)


def _one_coordinate_profile(eps: Array, a: float) -> Array:
    """E (1 - exp(eps - X))_+ for the loss X of one coordinate; eps may be negative here."""
    inside = -np.expm1((np.clip(eps, -a, a) - a) / 2)
    return np.where(eps >= a, 0.0, np.where(eps <= -a, -np.expm1(np.minimum(eps, 0.0)), inside))


def _distributions(p: ArrayLike, q: ArrayLike) -> tuple[Array, Array]:
    first, second = (check.real_array(*named).astype(float) for named in (("p", p), ("q", q)))
    fit = first.shape == second.shape and first.ndim == 1 and first.size
    check.shaped("p and q", first, fit, f"(outcomes,), both alike; q has {second.shape}")
    check_probabilities("p", first)
    check_probabilities("q", second)
    return first, second


def check_probabilities(name: str, distribution: Array) -> None:
    """Refuse what is no distribution, up to the rounding of a few thousand additions."""
    if not np.isfinite(distribution).all() or distribution.min() < 0:
        raise ValueError(f"{name} holds a negative or infinite entry: allowed are chances")
    if abs(distribution.sum() - 1) > 1e-9:
        raise ValueError(f"{name} sums to {distribution.sum():.12g}: allowed is a total of 1")


def _losses(p: Array, q: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(np.log(p) - np.log(q))
    return np.where((p == 0) & (q == 0), 0.0, ratio)


def _aligned(first: Distribution, second: Distribution) -> tuple[Array, Array, list[Hashable]]:
    """Both distributions as arrays over the union of their outcomes."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        outcomes = list(dict.fromkeys([*first, *second]))
        both = ([one.get(o, 0.0) for o in outcomes] for one in (first, second))
        return *_distributions(*both), outcomes
    if isinstance(first, Mapping) or isinstance(second, Mapping):
        raise ValueError("mechanism returns a mapping and an array: allowed is one kind only")
    p, q = _distributions(first, second)
    return p, q, list(range(p.size))
