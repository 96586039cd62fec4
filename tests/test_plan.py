"""A plan before any look at data, against sums over all data sets, noises and orders of ties."""

from __future__ import annotations

import re
from collections import Counter
from importlib.resources import files
from itertools import combinations, permutations, product

import numpy as np
import pytest

from dpbook.mechanisms import permute_and_flip_pmf
from dpbook.mechanisms.knorm import root_level, zonotope_level
from dpbook.models import people as draws
from dpbook.rank.plan import planned, simulated
from dpbook.rank.promise import Promise


def of_one(theta: np.ndarray, each: int, ranked: bool) -> Counter:
    """Exact distribution of what one person adds to net wins."""
    law, n, w, unit = Counter(), len(theta), np.exp(theta), np.eye(len(theta), dtype=int)
    sets = [] if ranked else list(combinations(combinations(range(n), 2), each))
    asked = [games for pairs in sets for games in product(*((p, p[::-1]) for p in pairs))]
    chances = [np.prod([w[a] / (w[a] + w[b]) for a, b in games]) / len(sets) for games in asked]
    for order in permutations(range(n)) if ranked else ():
        asked.append(list(combinations(order, 2)))
        chances.append(np.prod([w[i] / w[list(order[k:])].sum() for k, i in enumerate(order)]))
    for games, chance in zip(asked, chances, strict=True):
        law[tuple(sum(unit[a] - unit[b] for a, b in games))] += chance
    return law


@pytest.mark.parametrize(("people", "each"), [(5, 1), (6, 2), (4, 3), (20, 0)])
def test_a_plan_is_an_exact_sum(people: int, each: int) -> None:
    kind, each = ("comparisons", each) if each else ("rankings", 1)
    promise, best = (
        Promise.of(kind, 3, "person", "1", max_answers=each, only=k) for k in (None, 1)
    )
    noise = promise.noise()
    x, y = np.mgrid[-90:91, -90:91]
    points, one = np.stack([x, y, -x - y]), of_one(np.linspace(1.5, 0, 3), each, people == 20)
    level = {"root": root_level, "zonotope": zonotope_level}[noise.kind](np.moveaxis(points, 0, 2))
    laws = [np.exp(-level * s / float(noise.scale)) for s in (1, 1.25, 1e6)]
    for _ in range(people):  # what people say is added to the noises, and to nothing
        laws = [sum(p * np.roll(law, net[:2], (0, 1)) for net, p in one.items()) for law in laws]
    exact = np.zeros((5, 2))
    for ties in permutations(range(3)):
        u, v, w = 8 * points + np.reshape(ties, (3, 1, 1))
        leads = np.array([u - v, u - w, v - w])
        right = [leads[:2].min(axis=0) > 0, leads[1:].min(axis=0) > 0, leads.min(axis=0) > 0]
        near = (abs(leads) < 8 * noise.width(0.05) + 4).sum(axis=0) * 2 / 3
        tell = np.array([*right, (leads < 0).mean(axis=0), near])
        exact += [[(t * law).sum() / law.sum() / 6 for law in laws[:2]] for t in tell]
    found, alone = (
        np.array([*simulated(promise, people, (1.5,), 20_000, rng=rng)[0].values()])[:5, 0]
        for promise, rng in zip((promise, best), map(np.random.default_rng, (1, 2)), strict=True)
    )
    off = abs(found.mean(axis=1)[:, None] - exact) / found.std(axis=1)[:, None] * 20_000**0.5
    assert off[:, 0].max() < 5 < off[:4, 1].min()
    rates = 2 / float(best.noise().scale) * np.array([1, 1.5])
    seen = [(points[:, *at], laws[2][*at]) for at in np.argwhere(laws[2] > 1e-12)]
    exact = [sum(p * permute_and_flip_pmf(net, 1, rate)[0] for net, p in seen) for rate in rates]
    off = abs(alone.mean() - exact) / alone.std() * 20_000**0.5
    assert off[0] < 5 < off[1]


@pytest.mark.parametrize("ranked", [False, True])
def test_moments_of_what_people_say(ranked: bool) -> None:
    law = of_one(theta := np.array([1.2, 0.9, 0.1, -0.6]), 4, ranked)
    x, p = np.array([*law]), np.array([*law.values()])
    mean, cov = draws._of_ranking(theta) if ranked else draws._of_answers(theta, 4)
    assert np.allclose(mean, p @ x) and np.allclose(cov, np.cov(x.T, aweights=p, ddof=0))
    asked = draws._times_asked(6, 40, 3, 50_000, np.random.default_rng(1))
    assert abs(np.cov(asked.T) - 12 * np.eye(6) + 2).max() < 0.4  # 40 people, three pairs each


def test_a_plan_in_sentences() -> None:
    """For a city, of whose rankings there are too many to draw; with one number by hand."""
    promise, rng = Promise.of("rankings", 50, "person", "1"), np.random.default_rng(1)
    said = planned(promise, 100_000, rng=rng)
    assert said.startswith(f"50 items, 100,000 people. Noise: {promise.noise().words}.\n\nIf the b")
    assert "up to 0.64 % (Berry" in said and "beats the worst 62 times in 100:\n    the fir" in said
    assert said.count("the top 3 is right in ") == said.count("possible ranks in all people") == 4
    alone = planned(Promise.of("rankings", 2, "person", "50", only=1), 10**6, rng=rng)
    assert "98 times in 100:\n    the top 1 is right in 100.0% of all cases\n" in alone
    with pytest.raises(ValueError, match="statistic, with a plan = 'pairs': allowed is"):
        planned(Promise.of("rankings", 9, "person", 1, statistic="pairs"), 9, rng=rng)


def test_the_table_of_the_help() -> None:
    """Three sizes of a survey, to choose epsilon by."""
    said = (files("dpbook.rank") / "help.txt").read_text().split("5 answers:\n")[1]
    head, *lines = (re.findall(r"[\d.,]+", line) for line in said.splitlines())
    for (people, *cells), k in product(lines, range(4)):
        promise = Promise.of("comparisons", 10, "person", head[k], max_answers=5)
        asked = int(people.replace(",", "")), (2,), 1000
        first, *_ = simulated(promise, *asked, rng=np.random.default_rng(3))[0].values()
        assert abs(100 * first.mean() - int(cells[k])) < 5
