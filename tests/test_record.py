from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from dpbook.privacy import Edge, WholeRanking, record_play
from dpbook.rankers import NoisyCounts, NoisyPairs, PerturbedMle

COUNTS, BESIDE = [2, 1, 0], [1, 2, 0]
TABLE = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
EXCHANGED = np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]]), np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])


def play(mechanism: Any, x: Any = COUNTS, y: Any = BESIDE, **how: Any) -> Any:
    return record_play(mechanism, x, y, **{"declared": 1.0, **how})


def by_hand(counts: Any, rng: Any) -> Any:
    return np.array([count + 2 * rng.laplace() for count in counts])


def in_the_call(counts: Any, rng: Any) -> Any:
    return rng.laplace(counts, 2.0)


def in_two_steps(counts: Any, rng: Any) -> Any:
    first = counts[0] + rng.laplace(scale=2)
    return first, counts[1:] + rng.laplace(scale=2 if first > 0 else 4, size=2)


@pytest.mark.parametrize("mechanism", [by_hand, in_the_call])
@pytest.mark.parametrize("seed", range(3))
def test_values_and_scales_are_seen_however_noise_is_added(mechanism: Any, seed: int) -> None:
    report = play(mechanism, seed=seed)
    assert report.l1 == pytest.approx(1.0) and not report.violations
    assert {round(side, 9) for call in report.calls for side in call.scale} == {2.0}
    assert sum(call.shift for call in report.calls) == pytest.approx(1.0)
    assert report.number == ((3, 3) if mechanism is by_hand else (1, 1))
    assert report.l2 == report.count == 0
    (found,) = play(mechanism, seed=seed, declared=0.99).violations
    assert mechanism.__name__ in found and "0.99 declared" in found


def test_noise_is_what_the_seed_says_whoever_listens() -> None:
    heard: list[Any] = []
    for mechanism in (by_hand, in_the_call):
        record_play(lambda c, rng, m=mechanism: heard.append(m(c, rng=rng)) or heard[-1], [1], [1])
        plain = mechanism([1], rng=np.random.Generator(np.random.PCG64(0)))
        assert heard[0] == pytest.approx(plain, abs=1e-12)
        heard.clear()


@pytest.mark.parametrize("pair", [(TABLE, TABLE.T), EXCHANGED])
@pytest.mark.parametrize("seed", range(3))
def test_the_ratio_is_that_of_the_density(pair: Any, seed: int) -> None:
    """Against the closed density of the perturbed MLE, whose noise is not added to the release."""
    ranker = PerturbedMle.private(1.0, Edge(3))
    theta = ranker.publish(pair[0], rng=np.random.Generator(np.random.PCG64(seed)))
    exact = ranker.logpdf(theta, pair[0]) - ranker.logpdf(theta, pair[1])
    assert play(ranker.publish, *pair, seed=seed).ratio == pytest.approx(exact, abs=1e-6)
    counts = NoisyCounts.private(1.0, Edge(3))
    noisy = counts.publish(pair[0], rng=np.random.Generator(np.random.PCG64(seed)))
    wins = [table.sum(axis=1) for table in pair]
    exact = counts.logpdf(noisy, wins[0]) - counts.logpdf(noisy, wins[1])
    assert play(counts.publish, *pair, seed=seed).ratio == pytest.approx(exact, abs=1e-6)


def test_gaussian_noise_is_counted_in_l2() -> None:
    unit = WholeRanking(3, users=1)
    ranker = NoisyPairs.private(1.0, unit, delta=1e-6)
    declared = 2 * np.sqrt(3) / ranker.scale  # three leads, by two each
    report = play(ranker.publish, TABLE, TABLE.T, declared=declared)
    assert report.l2 == pytest.approx(declared) and report.l1 == 0 and not report.violations
    assert play(ranker.publish, TABLE, TABLE.T, declared=0.9 * declared).violations


@pytest.mark.parametrize("seed", range(3))
def test_the_ratio_of_gaussian_noise_is_that_of_its_density(seed: int) -> None:
    """Against the normal density as a library has it."""
    unit = WholeRanking(3, users=1)
    ranker = NoisyPairs.private(1.0, unit, delta=1e-6)
    released = ranker.publish(TABLE, rng=np.random.Generator(np.random.PCG64(seed)))
    pairs = np.triu_indices(3, 1)
    sides = [
        norm.logpdf(released[pairs], (table - table.T)[pairs], ranker.scale).sum()
        for table in (TABLE, TABLE.T)
    ]
    report = play(ranker.publish, TABLE, TABLE.T, seed=seed)
    assert report.ratio == pytest.approx(sides[0] - sides[1], abs=1e-6)


def test_what_follows_a_release_may_look_at_it() -> None:
    found = [play(in_two_steps, seed=seed) for seed in range(20)]
    assert not [words for report in found for words in report.violations]
    assert len({report.calls[1].scale for report in found}) > 1  # both branches were taken
    blind = [play(lambda c, rng: in_two_steps(c, rng)[1], seed=seed) for seed in range(20)]
    assert any(report.violations for report in blind)


@pytest.mark.parametrize(
    ("control", "words"),
    [
        (lambda c, rng: c + rng.laplace(size=3), "move by 2 scales, 1 declared, most at laplace"),
        (lambda c, rng: c + rng.laplace(scale=c[0], size=3), "scale = 2 and 1"),
        (lambda c, rng: c + c[0] * rng.laplace(size=3), "multiplied by 2 and 1"),
        (lambda c, rng: (rng.laplace(c[0], 2), rng.laplace(c[1], c[0])), "call 2, laplace in"),
        (lambda c, rng: c + rng.integers(c[0], size=3), "argument 1 = 2 and 1"),
        (lambda c, rng: c[:1] + rng.laplace(size=c[0]), "2 and 1 numbers are released"),
        (lambda c, rng: sum(rng.laplace(size=c[0])), "1 and 1 calls, the first that differs"),
        (lambda c, rng: sum(rng.laplace() for _ in range(c[0])), "2 and 1 calls"),
        (lambda c, rng: c, "no call asks for noise"),
        (lambda c, rng: (c[0] + rng.laplace(), c[1]), "differ by 1 where no noise reaches"),
        (lambda c, rng: c + np.random.default_rng().laplace(size=3), "some noise is not recorded"),
        (lambda c, rng: (rng.laplace(c[0], 2), rng.laplace(c[0], 2), rng.laplace(c[1], 2)), "1.5"),
    ],
)
def test_every_broken_twin_is_told_with_its_place(control: Any, words: str) -> None:
    right = play(lambda c, rng: c + 2 * rng.laplace(size=3), np.array(COUNTS), np.array(BESIDE))
    assert not right.violations
    report = play(control, np.array(COUNTS), np.array(BESIDE))
    assert any(words in found for found in report.violations), report
    if report.calls or max(report.number) > 1:
        ranks = [found for found in report.violations if "test_record.<lambda>" in found]
        assert bool(ranks) is ("where no noise" not in words)
    assert all(f"! {found}" in str(report) for found in report.violations)


@pytest.mark.parametrize(
    ("control", "scale", "words"),
    [
        (lambda c, rng: np.argsort(-c - rng.laplace(size=3)), None, "such as a ranking"),
        (lambda c, rng: c + rng.geometric(0.5, size=3), None, "names no scale"),
        (lambda c, rng: c - np.log(rng.random(3)), None, "names no scale"),
        (lambda c, rng: c + rng.exponential(size=3) + rng.laplace(size=3) * 9, None, "no scale"),
        (lambda c, rng: np.argsort(-c - rng.geometric(0.5, size=3)), 2.0, "such as a ranking"),
        (lambda c, rng: (c[0] + 2 * rng.laplace(), c[1] > rng.laplace()), None, "each draw"),
        (lambda c, rng: np.lexsort((-c, np.round(c + rng.laplace(size=3)))), None, "a ranking"),
    ],
)
def test_what_is_not_compared_is_never_silent(control: Any, scale: Any, words: str) -> None:
    x, y = np.array([9, 5, 0]), np.array([8, 6, 0])
    report = play(control, x, y, scale=scale)
    assert words in str(report) and str(report).count("\n! inconclusive: ") == 1
    assert not record_play(control, x, y).violations  # nothing was declared


def test_only_scales_are_called_scales() -> None:
    whole = partial(play, lambda c, rng: np.array(c) + rng.geometric(0.5, size=3))
    assert "Shift: 2 units of the release (other)." in str(whole())
    assert str(whole(scale=2.0)).endswith("Shift: 1 scales (other).")
    (ratio,) = play(PerturbedMle.private(2.0, Edge(3)).publish, *EXCHANGED, declared=0.1).violations
    assert ratio.startswith("densities by e^") and "scales" not in ratio
