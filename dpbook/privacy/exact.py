"""Laws as polynomials in t = e^(epsilon/steps): privacy for every epsilon at once.

With discrete noise, randomised answers and exponential weights the chance of every outcome is a
quotient of polynomials with whole coefficients.  Then "P_x(o) <= e^epsilon P_y(o) for all epsilon"
says that one such polynomial, D(t) = t^steps N_y Z_x - N_x Z_y, is nowhere negative for t >= 1.  If
no coefficient of D(1 + s) is negative, that is a proof, and the integers are its certificate.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from itertools import groupby, product
from math import exp, inf, log, prod
from typing import Any

import numpy as np

from dpbook import _validation as check

# A sign change is enclosed in an interval of this width, relative to 1 + s.
_WIDTH = Fraction(1, 2**44)
Steps = int | Fraction
Piece = tuple[Fraction, Fraction | None, int]


@dataclass(frozen=True)
class Polynomial:
    """A polynomial in t with whole coefficients, the constant one first and the last one not 0."""

    coefficients: tuple[int, ...]

    def __post_init__(self) -> None:
        entries = list(self.coefficients)
        if not all(isinstance(c, int) for c in entries):
            raise ValueError(f"coefficients = {self.coefficients!r}: allowed are whole numbers")
        while entries and entries[-1] == 0:
            entries.pop()
        object.__setattr__(self, "coefficients", tuple(entries))

    def __add__(self, other: Polynomial) -> Polynomial:
        short, long = sorted((self.coefficients, other.coefficients), key=len)
        head = [a + b for a, b in zip(short, long, strict=False)]
        return Polynomial((*head, *long[len(short) :]))

    def __neg__(self) -> Polynomial:
        return Polynomial(tuple(-c for c in self.coefficients))

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + -other

    def __mul__(self, other: Polynomial) -> Polynomial:
        total = [0] * (len(self.coefficients) + len(other.coefficients))
        for i, a in enumerate(self.coefficients):
            if a:
                for j, b in enumerate(other.coefficients):
                    total[i + j] += a * b
        return Polynomial(tuple(total))

    def __pow__(self, times: int) -> Polynomial:
        half = self ** (times // 2) if times > 1 else one
        return half * half * self if times % 2 else half * half

    def at(self, value: float) -> float:
        """Its value, by Horner's rule."""
        return reduce(lambda total, c: total * value + c, reversed(self.coefficients), 0.0)

    def shifted(self) -> Polynomial:
        """The polynomial in s that this one is at t = 1 + s."""
        return Polynomial(tuple(_shifted(self.coefficients, 1)))


one, t = Polynomial((1,)), Polynomial((0, 1))


@dataclass(frozen=True)
class ExactDistribution:
    """Distribution of an output for every epsilon: weights over a total, t = e^(epsilon/steps).

    Weights are polynomials, nowhere negative for t >= 1; outcomes left out have chance zero.
    """

    weights: Mapping[Hashable, Polynomial]
    steps: int = 1
    total: Polynomial = field(init=False)

    def __post_init__(self) -> None:
        check.integer("steps", self.steps, 1)
        object.__setattr__(self, "total", sum(self.weights.values(), start=Polynomial(())))

    def at(self, epsilon: float) -> dict[Hashable, float]:
        """The distribution at one epsilon, in nats, as floating-point numbers."""
        # in 1/t, so that nothing overflows
        u = exp(-check.nonnegative("epsilon", epsilon) / self.steps)
        size = len(self.total.coefficients)

        def value(p: Polynomial) -> float:
            return sum(c * u ** (size - 1 - k) for k, c in enumerate(p.coefficients))

        whole = value(self.total)
        return {outcome: value(weight) / whole for outcome, weight in self.weights.items()}

    def map(self, function: Callable[[Any], Hashable]) -> ExactDistribution:
        """The distribution of a function of the outcome."""
        weights: dict[Hashable, Polynomial] = {}
        for outcome, weight in self.weights.items():
            image = function(outcome)
            weights[image] = weights.get(image, Polynomial(())) + weight
        return ExactDistribution(weights, self.steps)


@dataclass(frozen=True)
class AllEpsilonReport:
    """What `certify_mechanism` found, over the listed pairs.

    Where it is not ``proved``, the inequality fails for the epsilon in ``where`` (nats, the upper
    end may be infinite; the longest interval, if there are several), at this pair and outcome, and
    there exactly where ``difference``, in t, is negative. Of all that fail it is the one with the
    largest loss at epsilon 1.
    """

    violations: int  # ordered pairs and outcomes for which it fails at some epsilon
    cases: int  # of so many
    pair: tuple[Any, Any] | None = None
    outcome: Hashable = None
    where: tuple[float, float] | None = None
    difference: Polynomial | None = None
    certificate: Mapping[str, Any] | None = None  # for a program that knows nothing of ours

    @property
    def proved(self) -> bool:
        """Whether the inequality holds for every epsilon >= 0, every pair and outcome."""
        return not self.violations


def joint_distribution(distributions: Sequence[ExactDistribution]) -> ExactDistribution:
    """The distribution of independent outputs, as tuples; all in the same t."""
    steps = [each.steps for each in distributions]
    if len(set(steps)) != 1:
        raise ValueError(f"steps = {steps}: allowed is one value for all")
    cases = product(*(each.weights.items() for each in distributions))
    weights: dict[Hashable, Polynomial] = {
        tuple(o for o, _ in case): prod((w for _, w in case), start=one) for case in cases
    }
    return ExactDistribution(weights, distributions[0].steps)


def exponential_mechanism_distribution(
    scores: Mapping[Any, int], steps: Steps = 1
) -> ExactDistribution:
    """Chances in proportion to e^(epsilon score / steps): the exponential mechanism, and others.

    The Mallows model scores minus the distance. Steps, here and below: an integer or a `Fraction`.
    """
    unit, power = _unit(steps)
    least = min(scores.values())
    weights = {outcome: unit ** (score - least) for outcome, score in scores.items()}
    return ExactDistribution(weights, power)


def randomized_response_distribution(truth: Sequence[int], steps: Steps = 1) -> ExactDistribution:
    """Answers 0 or 1, each through randomised response: what is right scores 1; as tuples."""
    reports = product((0, 1), repeat=len(truth))
    scores = {r: sum(a == b for a, b in zip(r, truth, strict=True)) for r in reports}
    return exponential_mechanism_distribution(scores, steps)


def discrete_laplace_distribution(
    value: int, low: int, high: int, steps: Steps = 1
) -> ExactDistribution:
    """A count plus discrete Laplace noise of scale steps/epsilon, clipped to low..high.

    Between values in this range the two ends lose what every outcome beyond them does, so the
    privacy loss is that of the noisy count itself; and of continuous noise, whose log-ratio is
    linear between integers.
    """
    if not low <= value <= high or low == high:
        raise ValueError(f"value = {value}: allowed are integers from {low} to {high}, at least 2")
    unit, power = _unit(steps)
    width = high - low
    weights: dict[Hashable, Polynomial] = {
        at: (unit - one) * unit ** (width - abs(at - value)) for at in range(low + 1, high)
    }
    for end in (low, high):
        weights[end] = unit ** (width + 1 - abs(end - value))
    return ExactDistribution(weights, power)


def noisy_counts_distribution(
    counts: Iterable[int], high: int, steps: Steps = 1
) -> ExactDistribution:
    """Counts, each from 0 to high and each with its own discrete Laplace noise, as a tuple."""
    one_by_one = [discrete_laplace_distribution(int(x), 0, high, steps) for x in counts]
    return joint_distribution(one_by_one)


def as_fraction(value: float) -> Fraction:
    """The fraction that a number is up to its rounding, with a denominator of at most 100.

    Raises
    ------
    ValueError
        If there is none: a distribution of another fraction would prove another statement.
    """
    near = Fraction(value).limit_denominator(100)
    if abs(near - Fraction(value)) > abs(near) / 10**12:
        raise ValueError(f"value = {value}: allowed are fractions with a denominator up to 100")
    return near


def _unit(steps: Steps) -> tuple[Polynomial, int]:
    """e^(epsilon / steps) as a power of t, and the power of t that e^epsilon is."""
    if not isinstance(steps, int | Fraction) or steps <= 0:
        raise ValueError(f"steps = {steps!r}: allowed are positive whole numbers and fractions")
    return t**steps.denominator, steps.numerator


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


def certify_mechanism(
    mechanism: Callable[[Any], ExactDistribution],
    pairs: Iterable[tuple[Any, Any]],
    bound: Callable[[Any, Any], Polynomial] | None = None,
    order: Iterable[tuple[Polynomial, Polynomial]] = (),
) -> AllEpsilonReport:
    """Whether a finite mechanism is epsilon-private for every epsilon at once, with a certificate.

    As `check_mechanism`, for exact distributions: P_x(o) <= bound P_y(o), both ways, all pairs?

    Parameters
    ----------
    mechanism, pairs
        Data sets and outcomes are whole numbers, or tuples or arrays of them; they are the labels.
    bound : callable, optional
        A polynomial in t for two data sets; by default t^steps, which is e^epsilon.
    order : pairs of polynomials
        The first is below the second for every t > 1; where it is not, that is one violation more.
    """
    both = [way for x, y in pairs for way in ((x, y), (y, x))]
    if not both:
        raise ValueError("pairs is empty: allowed is at least one pair of neighbours")
    named = {_label(side): side for way in both for side in way}
    distributions = {label: mechanism(side) for label, side in named.items()}
    outcomes = list(dict.fromkeys(o for each in distributions.values() for o in each.weights))
    if len(steps := {each.steps for each in distributions.values()}) > 1:
        raise ValueError(f"steps = {sorted(steps)}: allowed is one value for all distributions")
    power, empty = steps.pop(), Polynomial(())
    at_one = exp(1 / power)  # t at epsilon 1
    # Polynomials are compared once, and are small numbers from then on.
    kind: dict[Polynomial, int] = {}
    weights, totals = {}, {}
    for label, each in distributions.items():
        weights_of = (each.weights.get(outcome, empty) for outcome in outcomes)
        weights[label] = [kind.setdefault(weight, len(kind)) for weight in weights_of]
        totals[label] = kind.setdefault(each.total, len(kind))
    polynomials = list(kind)
    bounds: dict[Polynomial, int] = {}
    memory: dict[tuple[int, ...], tuple[Polynomial, set[int], float]] = {}

    def decide(factor: Polynomial, key: Iterable[int]) -> tuple[Polynomial, set[int], float]:
        """A difference in s = t - 1, its signs, the loss at epsilon 1 where one is -1."""
        p, p_total, q, q_total = (polynomials[at] for at in key)
        moved = (factor * q * p_total - p * q_total).shifted()
        present, loss = {sign for _, _, sign in _signs(moved.coefficients, stop=True)}, inf
        if -1 in present and q != empty:
            loss = log(p.at(at_one) / q.at(at_one)) - log(p_total.at(at_one) / q_total.at(at_one))
        return moved, present, loss

    worst, violations = None, 0
    place: dict[Any, int] = {}  # of a data set that is compared
    listed: dict[tuple[int, int], tuple[int, int]] = {}
    for way in both:
        x, y = map(_label, way)
        if weights[x] == weights[y]:
            continue  # nothing is lost
        factor, sharp = bound(*way) if bound else t**power, False
        at = bounds.setdefault(factor, len(bounds))
        for outcome, p, q in zip(outcomes, weights[x], weights[y], strict=True):
            key = (at, p, totals[x], q, totals[y])
            if key not in memory:
                memory[key] = decide(factor, key[1:])
            moved, present, loss = memory[key]
            sharp |= moved == empty != polynomials[p]
            if -1 in present:
                violations += 1
                if worst is None or loss > worst[0]:
                    worst = (loss, way, outcome, moved)
            elif 0 in present:
                case = f"outcome = {outcome!r} of {way!r}: the two sides meet without crossing"
                raise ValueError(f"{case}, which is not decided: allowed are strict inequalities")
        first, second = (place.setdefault(label, len(place)) for label in (x, y))
        listed[first, second] = at, int(sharp)
    rising = []
    for lower, upper in order:
        rising.append([bounds.setdefault(each, len(bounds)) for each in (lower, upper)])
        moved = (upper - lower).shifted()
        if moved == empty or {sign for _, _, sign in _signs(moved.coefficients)} != {1}:
            violations += 1
    cases = len(both) * len(outcomes)
    if worst is not None:
        _, way, outcome, moved = worst
        longest = _longest(_signs(moved.coefficients), -1)
        nats = [inf if s is None else power * log(1 + s) for s in longest]
        back = Polynomial(tuple(_shifted(moved.coefficients, -1)))
        return AllEpsilonReport(violations, cases, way, outcome, (nats[0], nats[1]), back)
    laws = {x: [polynomials[at].coefficients for at in weights[x]] for x in place}
    there = [k for k in range(len(outcomes)) if any(law[k] for law in laws.values())]
    certificate = {
        "kind": "laws",
        "power": power,
        "bounds": [factor.coefficients for factor in bounds],
        "order": rising,
        "datasets": [*place],
        "outcomes": [_label(outcomes[k]) for k in there],
        "laws": [[law[k] for k in there] for law in laws.values()],
        "pairs": [pair + found for pair, found in listed.items()],
    }
    return AllEpsilonReport(violations, cases, certificate=None if violations else certificate)


def _label(x: Any) -> Any:
    """A data set or outcome as JSON has it: whole numbers, and tuples of labels."""
    x = x.tolist() if isinstance(x, np.ndarray | np.generic) else x
    if isinstance(x, list | tuple):
        return tuple(map(_label, x))
    return int(x) if isinstance(x, bool) else x


# ------------------------------------------------------------------ signs on a half-line


def _shifted(coefficients: Sequence[int], by: int) -> list[int]:
    """Coefficients of f(x + by), by repeated synthetic division."""
    moved = list(coefficients)
    for start in range(len(moved)):
        for k in range(len(moved) - 2, start - 1, -1):
            moved[k] += by * moved[k + 1]
    return moved


def _on(coefficients: Sequence[int], low: Fraction, high: Fraction | None) -> list[int]:
    """Whole numbers whose signs bound those of f between two cuts: all alike, and so is f."""
    # with a common denominator of the cuts, whole numbers are shifted and scaled
    unit = low.denominator if high is None else max(low.denominator, high.denominator)
    degree = len(coefficients) - 1
    scaled = [c * unit ** (degree - k) for k, c in enumerate(coefficients)]
    moved = _shifted(scaled, int(low * unit))
    if high is None:
        return moved
    width = int((high - low) * unit)
    return _shifted([c * width**k for k, c in enumerate(moved)][::-1], 1)


def _signs(coefficients: Sequence[int], *, stop: bool = False) -> list[Piece]:
    """Pieces of s >= 0, in order, with the sign of f: 1, -1, or 0 where it crosses zero.

    The last ones are shorter than `_WIDTH`; cuts are halves of halves. ``stop``: at the first -1.
    """
    pieces: list[Piece] = []
    queue: deque[tuple[Fraction, Fraction | None]] = deque([(Fraction(0), None)])
    while queue:
        low, high = queue.popleft()  # the widest
        values = _on(coefficients, low, high)
        sign = 1 if min(values, default=0) >= 0 else -1 if max(values) <= 0 else 0
        if sign or (high is not None and high - low <= _WIDTH * (1 + low)):
            pieces.append((low, high, sign))
            if stop and sign < 0:
                break
        else:
            middle = 2 * low + 1 if high is None else (low + high) / 2
            queue += [(low, middle), (middle, high)]
    return sorted(pieces, key=lambda piece: piece[0])


def _longest(pieces: Sequence[Piece], wanted: int) -> tuple[Fraction, Fraction | None]:
    """The longest interval of one sign, in the logarithm of 1 + s; pieces that touch are joined."""
    by_sign = groupby(pieces, key=lambda piece: piece[2])
    runs = [list(run) for sign, run in by_sign if sign == wanted]
    return max(((run[0][0], run[-1][1]) for run in runs), key=_length)


def _length(interval: tuple[Fraction, Fraction | None]) -> float:
    low, high = interval
    return inf if high is None else log((1 + high) / (1 + low))
