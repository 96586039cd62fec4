"""Laws as polynomials in t = e^(epsilon/steps): privacy for every epsilon at once.

With discrete noise, randomised answers and exponential weights the chance of every outcome is a
quotient of polynomials with whole coefficients.  Then "P_x(o) <= e^epsilon P_y(o) for all epsilon"
says that one such polynomial, D(t) = t^steps N_y Z_x - N_x Z_y, is nowhere negative for t >= 1.  If
no coefficient of D(1 + s) is negative, that is a proof.  Certificates: ``proofs/FORMAT.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp, prod
from typing import Any

import numpy as np

from dpbook import _validation as check

Steps = int | Fraction


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
    """What `certify_mechanism` found, over the listed pairs; the first that fails is named."""

    violations: int  # ordered pairs and outcomes, and orders, that fail at some epsilon
    cases: int  # of so many
    pair: tuple[Any, Any] | None = None
    outcome: Hashable = None
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
    laws = {x: [law.weights.get(o, empty) for o in outcomes] for x, law in distributions.items()}

    @cache
    def decided(factor: Polynomial, *of: Polynomial) -> tuple[int, bool]:
        """The sign of the difference of the two sides, and whether they are the same."""
        p, p_total, q, q_total = of
        difference = factor * q * p_total - p * q_total
        return _sign(_shifted(difference.coefficients)), difference == empty

    failed: list[tuple[Any, Hashable]] = []
    place: dict[Any, int] = {}  # of a data set that is compared
    bounds: dict[Polynomial, int] = {}
    listed: dict[tuple[int, int], tuple[int, int]] = {}
    for way in both:
        x, y = map(_label, way)
        if laws[x] == laws[y]:
            continue  # nothing is lost
        factor, sharp = bound(*way) if bound else t**power, False
        totals = distributions[x].total, distributions[y].total
        for outcome, p, q in zip(outcomes, laws[x], laws[y], strict=True):
            sign, same = decided(factor, p, totals[0], q, totals[1])
            sharp |= same and p != empty
            if sign == 0:
                case = f"outcome = {outcome!r} of {way!r}: the two sides meet without crossing"
                raise ValueError(f"{case}, which is not decided: allowed are strict inequalities")
            failed += [(way, outcome)] * (sign < 0)
        first, second = (place.setdefault(label, len(place)) for label in (x, y))
        listed[first, second] = bounds.setdefault(factor, len(bounds)), int(sharp)
    rising = []
    for lower, upper in order:
        rising.append([bounds.setdefault(each, len(bounds)) for each in (lower, upper)])
        above = (upper - lower).coefficients
        failed += [((lower, upper), None)] * (not above or _sign(_shifted(above)) < 1)
    cases = len(both) * len(outcomes)
    if failed:
        return AllEpsilonReport(len(failed), cases, *failed[0])
    there = [k for k in range(len(outcomes)) if any(laws[x][k] != empty for x in place)]
    certificate = {
        "kind": "laws",
        "power": power,
        "bounds": [factor.coefficients for factor in bounds],
        "order": rising,
        "datasets": [*place],
        "outcomes": [_label(outcomes[k]) for k in there],
        "laws": [[laws[x][k].coefficients for k in there] for x in place],
        "pairs": [pair + found for pair, found in listed.items()],
    }
    return AllEpsilonReport(0, cases, certificate=certificate)


def _label(x: Any) -> Any:
    """A data set or outcome as JSON has it: whole numbers, and tuples of labels."""
    x = x.tolist() if isinstance(x, np.ndarray | np.generic) else x
    if isinstance(x, list | tuple):
        return tuple(map(_label, x))
    return int(x) if isinstance(x, bool) else x


def _shifted(f: Sequence[int]) -> list[int]:
    """Coefficients of f(1 + s), by repeated synthetic division."""
    moved = list(f)
    for start in range(len(moved)):
        for k in range(len(moved) - 2, start - 1, -1):
            moved[k] += moved[k + 1]
    return moved


def _sign(f: Sequence[int], cuts: int = 30) -> int:
    """Of f on s >= 0: 1 nowhere negative, -1 negative somewhere, 0 not decided.

    Coefficients of one sign decide; else s is beyond 1, or 1 / (1 + u), and that again.
    """
    if min(f, default=0) >= 0:
        return 1
    if max(f) <= 0 or not cuts:
        return -1 if max(f) <= 0 else 0
    beyond = _sign(_shifted(f), cuts - 1)
    return beyond if beyond < 0 else min(beyond, _sign(_shifted(f[::-1]), cuts - 1))
