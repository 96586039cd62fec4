"""What a private ranking will be worth, from public numbers alone, before any look at data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
from scipy.special import expit

from dpbook import _validation as check
from dpbook._typing import Array
from dpbook.models.people import net_wins
from dpbook.rank.promise import Promise


@dataclass(frozen=True, eq=False)
class Plan:
    """What to expect of a release if the strengths of the items are equally spaced.

    ``spreads`` are log-odds with which the best item beats the worst one; ``values``, (columns,
    spreads), are means over simulated data sets, and ``errors`` their standard errors.
    """

    heading: str
    spreads: tuple[float, ...]
    columns: tuple[str, ...]
    values: Array
    errors: Array
    note: str

    def __str__(self) -> str:
        lines = [self.heading, ""]
        for spread, row in zip(self.spreads, self.values.T, strict=True):
            often = f"{100 * expit(spread):.0f} times in 100"
            cells = [f"{100 * x:.3g} %" for x in row[:4].round(4)]
            lines.append(f"If the best item beats the worst {often}, a release gets right:")
            if len(row) == 1:
                lines.append(f"    {self.columns[0]} in {cells[0]} of all cases.")
                continue
            right = ", ".join(
                f"{name} in {cell}" for name, cell in zip(self.columns[:3], cells, strict=False)
            )
            open_ = " or, for all people, ".join(f"{x:.1f}" for x in row[4:])
            lines.append(f"    {right} of all cases; {cells[3]} of the pairs come out wrong,")
            lines.append(f"    and an item has {open_} possible ranks.")
        return "\n".join([*lines, "", self.note])


def planned(
    promise: Promise,
    people: int,
    *,
    answers: int | None = None,
    spreads: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0),
    replicates: int = 500,
    rng: np.random.Generator,
) -> Plan:
    """Simulate releases of `net_wins`; ``answers`` of each person, or as many as count, or one."""
    check.choice("statistic, with a plan", promise.statistic, ("net",))
    n = check.integer("number of items, with a plan", promise.n_items, 2, 1000)
    ranked, limit, noise = promise.kind == "rankings", promise.max_answers, promise.noise()
    each = check.integer("answers", limit or 1 if answers is None else answers, 1)
    each = min(each, limit or each, each if ranked else comb(n, 2))
    theta, k = np.linspace(spreads, 0, n, axis=1), promise.only or min(3, n - 1)
    net, bound = net_wins(theta, people, each, replicates, rankings=ranked, rng=rng)
    what = "rankings" if ranked else "random pairs"
    heading = f"{n} items, {people:,} people, {what} from each: {each}.\nNoise: {noise.words}"
    note = f"{replicates:,} simulated data sets; standard errors are at most "
    note += f"{50 / replicates**0.5:.1f} percentage points"
    if promise.only:
        columns: tuple[str, ...] = ("the first place" if k == 1 else f"the top {k}",)
        data = _alone(net, k, float(noise.scale), rng)
    else:
        widths = [noise.width(0.05)]
        heading += f"; no difference moves by more than {widths[0]:,} net wins (95 % sure)"
        if (promise.protect, promise.relation) == ("person", "replace"):
            widths.append(noise.width(0.025) + promise.sample_width(people, 0.025))
        places = ("possible ranks", "possible ranks in all people")[: len(widths)]
        columns = ("the first place", f"the top {k}", "the order", "wrong pairs", *places)
        noisy = net + rng.random(net.shape) / 4 + noise.simulate(replicates, rng)  # without ties
        data = _met(noisy, k, widths)
        note += f", of wrong pairs {100 * data[3].std(axis=-1).max() / replicates**0.5:.2g}"
    if bound:
        note += f"; normal net wins move them by up to {100 * bound:.2g} points (Berry and Esseen)"
    errors = data.std(axis=-1, ddof=1) / replicates**0.5
    return Plan(f"{heading}.", spreads, columns, data.mean(axis=-1), errors, f"{note}.")


SIZES = {"small": 100, "medium": 1000, "large": 10_000}  # surveys, in people
EPSILONS = ("1/10", "1/2", "1", "2")
SPREAD = 2.0  # log-odds with which the best item beats the worst


def choices_of_epsilon(promise: Promise, *, rng: np.random.Generator) -> str:
    """How often the first place comes out right, for three sizes of a survey."""
    rows = [("survey", "people", *(f"epsilon = {epsilon}" for epsilon in EPSILONS))]
    for name, people in SIZES.items():
        cells = []
        for epsilon in EPSILONS:
            asked = replace(promise, epsilon=Fraction(epsilon))
            plan = planned(asked, people, spreads=(SPREAD,), rng=rng)
            cells.append(f"{100 * plan.values[0, 0]:.0f} %")
        rows.append((name, f"{people:,}", *cells))
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = ["  ".join(map(str.rjust, row, wide)) for row in rows]
    often = f"beats the worst {100 * expit(SPREAD):.0f} times in 100"
    head = f"How often the first of {promise.n_items} items comes out right, if the best {often}:"
    end = "Choose before you look at the data; with --epsilon and --people the plan says more."
    return "\n".join([head, "", *table, "", end])


def _met(noisy: Array, k: int, widths: list[int]) -> Array:
    """What is right, (columns, spreads, size), the share of wrong pairs, and the places open."""
    n, shape = noisy.shape[-1], noisy.shape[:-1]
    wrong, near = np.zeros(shape), np.zeros((len(widths), *shape))
    for i in range(n - 1):
        lead = noisy[..., i, None] - noisy[..., i + 1 :]
        wrong += (lead < 0).sum(axis=-1) / comb(n, 2)
        near += [(np.abs(lead) < width + 0.5).sum(axis=-1) * 2 / n for width in widths]
    first, order = noisy.argmax(axis=-1) == 0, (np.diff(noisy) < 0).all(axis=-1)
    top = noisy[..., :k].min(axis=-1) > noisy[..., k:].max(axis=-1)
    return np.array([first, top, order, wrong, *near])


def _alone(net: Array, k: int, scale: float, rng: np.random.Generator) -> Array:
    """Chance that permute-and-flip, whose scale this is, names the right set alone."""
    sets, found = np.array(list(combinations(range(net.shape[-1]), k))), []
    for row in np.floor(net).reshape(-1, net.shape[-1]):
        total = row[sets].sum(axis=1)
        kept = rng.random(len(sets)) < np.exp((total - total.max()) / scale)
        found.append(kept[0] / kept.sum())
    return np.array(found).reshape(1, *net.shape[:-1])
