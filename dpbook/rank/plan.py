"""What a private ranking will be worth, from public numbers alone, before any look at data."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from scipy.special import expit

from dpbook import _validation as check
from dpbook._typing import Array
from dpbook.models.people import net_wins
from dpbook.rank.promise import Promise

SPREADS = (0.5, 1.0, 2.0, 4.0)  # log-odds with which the best item beats the worst one
SIZE = 500  # data sets


def planned(promise: Promise, people: int, *, rng: np.random.Generator) -> str:
    """What to expect of a release, in sentences, if the strengths are equally spaced."""
    check.choice("statistic, with a plan", promise.statistic, ("net",))
    noise = promise.noise()
    found, bound = simulated(promise, people, SPREADS, SIZE, rng=rng)
    lines = [f"{promise.n_items} items, {people:,} people. Noise: {noise.words}."]
    for k, spread in enumerate(SPREADS):
        lines.append(f"\nIf the best item beats the worst {100 * expit(spread):.0f} times in 100:")
        for sentence, values in found.items():
            lines.append(f"    {sentence.format(values[k].mean())}")
    lines.append(
        f"\n{SIZE} simulated data sets: a standard error is {50 / SIZE**0.5:.1f} % at most."
    )
    if bound:
        lines.append(f"Normal net wins move it by up to {100 * bound:.2g} % (Berry and Esseen).")
    lines.append(
        "People are taken to differ by chance: where they form camps, less comes out right."
    )
    return "\n".join(lines)


def simulated(
    promise: Promise,
    people: int,
    spreads: tuple[float, ...],
    size: int,
    *,
    rng: np.random.Generator,
) -> tuple[dict[str, Array], float]:
    """By the sentences that say them, numbers (spreads, size) for as many releases; `net_wins`."""
    n = check.integer("number of items, with a plan", promise.n_items, 2, 1000)
    rankings = promise.kind == "rankings"
    each = promise.max_answers or 1
    if not rankings:
        each = min(each, comb(n, 2))
    noise = promise.noise()
    theta = np.linspace(spreads, 0, n, axis=1)
    net, bound = net_wins(theta, people, each, size, rankings=rankings, rng=rng)
    if promise.only:
        return _alone(net, promise.only, float(noise.scale), rng), bound
    widths = {"an item has {:.1f} possible ranks": noise.width(0.05)}
    if (promise.protect, promise.relation) == ("person", "replace"):
        sample = promise.sample_width(people, 0.025)
        widths["and {:.1f} possible ranks in all people"] = noise.width(0.025) + sample
    noisy = net + noise.simulate(size, rng)
    noisy += rng.random(net.shape) / 4  # no ties
    return _met(noisy, min(3, n - 1), widths), bound


def _met(noisy: Array, k: int, widths: dict[str, int]) -> dict[str, Array]:
    """What is right, the share of wrong pairs, and the places that the widths leave open."""
    n = noisy.shape[-1]
    first = noisy.argmax(axis=-1) == 0
    last = noisy[..., :k].min(axis=-1)
    next_ = noisy[..., k:].max(axis=-1)
    top = last > next_
    order = (np.diff(noisy) < 0).all(axis=-1)
    wrong = np.zeros(noisy.shape[:-1])
    near = {sentence: wrong.copy() for sentence in widths}
    for i in range(n - 1):
        lead = noisy[..., i, None] - noisy[..., i + 1 :]
        wrong += (lead < 0).sum(axis=-1) / comb(n, 2)
        for sentence, width in widths.items():
            open_ = np.abs(lead) < width + 0.5
            near[sentence] += open_.sum(axis=-1) * 2 / n
    return {
        "the first place is right in {:.1%} of all cases": first,
        f"the top {k} is right in {{:.1%}} of all cases": top,
        "the order is right in {:.1%} of all cases": order,
        "{:.1%} of the pairs come out wrong": wrong,
        **near,
    }


def _alone(net: Array, k: int, scale: float, rng: np.random.Generator) -> dict[str, Array]:
    """Whether permute-and-flip, as the largest sum with exponential noise, names the right set."""
    sets = np.array(list(combinations(range(net.shape[-1]), k)))
    right = np.zeros(net.shape[:-1])
    for at in np.ndindex(right.shape):
        sums = np.floor(net[at])[sets].sum(axis=1)
        noisy = sums + rng.exponential(scale, len(sets))
        right[at] = noisy.argmax() == 0
    return {f"the top {k} is right in {{:.1%}} of all cases": right}
