"""Page 17: laws of flipped answers, by hand and by enumeration; what fits make of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from scipy.stats import laplace

from dpbook.mechanisms import randomized_response_pmf
from dpbook.models import btl_probabilities
from dpbook.privacy import Edge, ExactLaw, Polynomial, randomized_response_law
from dpbook.privacy.balls import Ball, exp, log
from dpbook.rankers import FlippedAnswers, debiased_mle
from dpbook.simulation import ranking_errors

Array = NDArray[np.float64]
Weight = Callable[[Array, float], Array]


# ------------------------------------------------------------------ one answer, one person


def channel(e: float, rarer: float = 0) -> Array:
    """A symmetric channel on one bit, by hand."""
    b = 1 / (1 + rarer + np.exp(e))
    return np.array([[1 - b, b], [b, 1 - b]])


def for_all(tenths: int = 10, rarer: int = 0) -> dict[int, ExactLaw]:
    """The channel for every epsilon, by truth; as for so many tenths of it, or flipping rarer."""
    kept, flipped = Polynomial((rarer, *(0,) * (tenths - 1), 1)), Polynomial((1,))
    return {truth: ExactLaw({truth: kept, 1 - truth: flipped}, 10) for truth in (0, 1)}


def log_odds_balls() -> dict[str, Ball]:
    """Reported log-odds one place apart, twice, and two; epsilon and spacing 1; proved bounds."""
    told = exp(Ball(1)) / (1 + exp(Ball(1)))  # the chance that an answer is not flipped

    def reported(gap: int) -> Ball:
        true = exp(Ball(gap)) / (1 + exp(Ball(gap)))
        said = told * true + (1 - told) * (1 - true)
        return log(said / (1 - said))

    return {"two_logit_p12": 2 * reported(1), "logit_p13": reported(2)}


def variance_balls() -> dict[str, Ball]:
    """Variance of a debiased answer at a fair pair, epsilon 1: of the flip, over a squared."""
    told = exp(Ball(1)) / (1 + exp(Ball(1)))
    slope = 2 * told - 1
    return {"variance_at_F_half_eps_1": Ball(1) / 4 + told * (1 - told) / slope**2}


def report_law(ranking: Sequence[int], e: float) -> Array:
    """Law of all reports of a person: one probability per 0-1 vector."""
    law = np.ones(1)
    for i, j in combinations(range(len(ranking)), 2):
        law = np.outer(law, randomized_response_pmf(e)[int(ranking[i] < ranking[j])]).ravel()
    return law


def reports_for_all(ranking: Sequence[int], steps: int | Fraction = 1) -> ExactLaw:
    """Law of all reports of a person, for every epsilon."""
    truth = [ranking[i] < ranking[j] for i, j in combinations(range(len(ranking)), 2)]
    return randomized_response_law(truth, steps)


def picked(ranking: Sequence[int], e: float) -> dict[Any, float]:
    """Law of reports at twice the epsilon if item 0 is above item 1; the epsilon is sent along."""
    level = e * (1 + (ranking[0] < ranking[1]))
    return {(level, k): p for k, p in enumerate(report_law(ranking, level))}


def picked_law(ranking: Sequence[int]) -> ExactLaw:
    """The same for every epsilon."""
    level = 1 + (ranking[0] < ranking[1])
    return reports_for_all(ranking, Fraction(1, level)).map(lambda reports: (level, reports))


def disagreements(r: Sequence[int], s: Sequence[int]) -> int:
    """Pairs on which two rankings disagree."""
    return sum((r[i] < r[j]) != (s[i] < s[j]) for i, j in combinations(range(len(r)), 2))


def displacement(r: Sequence[int], s: Sequence[int]) -> int:
    """Largest displacement of an item."""
    return max(abs(a - b) for a, b in zip(r, s, strict=True))


# ------------------------------------------------------------------ the law of a report


def reported(theta: Array, e: float) -> Array:
    """Probability that the report is "i over j", through the channel."""
    win = btl_probabilities(theta)
    return np.asarray(np.stack([1 - win, win], axis=-1) @ randomized_response_pmf(e)[:, 1])


def chain_gap(probabilities: Array) -> float:
    """How far the log-odds are from differences r_i - r_j."""
    odds = logit(probabilities)
    r = odds.mean(axis=1)
    return float(np.abs(odds - (r[:, None] - r[None, :])).max())


def reported_odds(x: ArrayLike, e: ArrayLike) -> Array:
    """Log-odds of a report, from those of the answer, in closed form."""
    return np.asarray(2 * np.arctanh(np.tanh(np.asarray(e) / 2) * np.tanh(np.asarray(x) / 2)))


def lemma(theta: Array, e: float) -> Array:
    """XSC, Lemma 1: the printed a F + b, and the closed form."""
    a, b, x = np.tanh(e / 2), 1 / (1 + np.exp(e)), np.subtract.outer(theta, theta)
    return np.stack([a * expit(x) + b, expit(reported_odds(x, e))])


def random_levels(count: int, rng: np.random.Generator, n: int = 6) -> Array:
    """Strengths of n items with exactly this many levels."""
    levels = np.cumsum(rng.uniform(0.3, 1.5, count))
    return np.asarray(levels[rng.permutation(np.arange(n) % count)])


def without_bias(p: ArrayLike, e: float) -> Array:
    """Debiasing, applied to the mean of the reports."""
    return np.asarray((np.asarray(p) - 1 / (1 + np.exp(e))) / np.tanh(e / 2))


def limit_of_fit(theta: Array, e: float, answer: Callable[[Array, float], Array]) -> Array:
    """Strengths that a fit to ever more reports comes to, each changed by ``answer``."""
    return debiased_mle(answer(reported(theta, e), e) * (1 - np.eye(len(theta))), gamma=0).theta


# ------------------------------------------------------------------ unbiased numbers


def moments(p: float, flip: float, values: Array) -> tuple[float, float]:
    """Mean and variance of the number sent, summed over truth and report."""
    law = np.array([1 - p, p]) @ np.array([[1 - flip, flip], [flip, 1 - flip]])
    return law @ values, law @ values**2 - (law @ values) ** 2


def variance_interval(sample: Array) -> tuple[float, float]:
    """Variance with its half-width at 95 %, from the fourth central moment."""
    centred = sample - sample.mean()
    v = (centred**2).mean()
    return v, 1.96 * np.sqrt(((centred**4).mean() - v * v) / sample.size)


def laplace_response(bits: NDArray[np.int64], e: float, rng: np.random.Generator) -> Array:
    """Each bit plus Laplace noise of scale 1 / epsilon (XSC, section 5.3)."""
    return np.asarray(bits + rng.laplace(size=bits.shape) / e)


def noisy_bit(e: float, scale: float = 1.0) -> Array:
    """Law of a bit with Laplace noise, as intervals: one row for each truth."""
    edges = np.concatenate([[-np.inf], np.linspace(-3, 4, 29), [np.inf]])
    return np.diff(laplace.cdf(edges, loc=[[0], [1]], scale=scale / e), axis=1)


def twelfths(e: float) -> Array:
    """All pairs of laws on three values, in twelfths, that are epsilon-private."""
    laws = np.array([(a, b, 12 - a - b) for a in range(13) for b in range(13 - a)]) / 12
    pairs = laws[np.array(list(product(range(len(laws)), repeat=2)))]
    return pairs[(pairs <= np.exp(e) * pairs[:, ::-1] * (1 + 1e-12)).all(axis=(1, 2))]


# ------------------------------------------------------------------ orders


def same_order(x: Array, y: Array) -> NDArray[np.bool_]:
    """Whether two scores put the items in one order, ties included; one entry per replicate."""
    gaps = [scores[..., :, None] - scores[..., None, :] for scores in (x, y)]
    signs = [np.sign(np.where(np.abs(gap) < 1e-6, 0.0, gap)) for gap in gaps]
    return np.asarray((signs[0] == signs[1]).all(axis=(-2, -1)))


def all_tables(answers: Sequence[int]) -> Array:
    """Every outcome, given the number of answers to each pair of 4 items."""
    won = np.array(list(product(*[range(count + 1) for count in answers])), dtype=float)
    wins = np.zeros((len(won), 4, 4))
    i, j = np.triu_indices(4, 1)
    wins[:, i, j], wins[:, j, i] = won, np.array(answers) - won
    return wins


def outcomes(wins: Array, e: float) -> Array:
    """Debiased outcomes of reports on four items."""
    return FlippedAnswers.private(e, Edge(4, exchange=False)).debias(wins)


def both_orders(wins: Array, e: float, gamma: float) -> list[Array]:
    """Fits to the reports as they are, and debiased."""
    return [debiased_mle(y, gamma=gamma).theta for y in (wins, outcomes(wins, e))]


def agree(wins: Array, e: float, gamma: float = 0.5) -> float:
    """Share of tables on which both fits have one order."""
    return float(same_order(*both_orders(wins, e, gamma)).mean())


# ------------------------------------------------------------------ people who differ


def right_order(levels: ArrayLike, d: float, weight: Weight) -> tuple[float, float]:
    """Chance of the right order over all sets of reports, and the largest there is."""
    t = np.tanh(np.asarray(levels) / 2)
    signs = np.array(list(product((-1, 1), repeat=t.size)))
    law, mirror = (np.prod(0.5 + s * signs * t * d, axis=1) for s in (1, -1))
    vote = np.sign(np.round(signs @ weight(t, d), 9))
    return law @ (0.5 + 0.5 * vote), (1 + np.abs(law - mirror).sum() / 2) / 2


def signals(t: Array, theta: Array, weight: Weight) -> Array:
    """Squared mean over variance, of all differences of scores."""
    i, j = np.triu_indices(len(theta), 1)
    enters = np.eye(len(theta))[:, i] - np.eye(len(theta))[:, j]  # items by answers
    c, w, f = enters.T @ enters, weight(t, 0.2), expit(theta[i] - theta[j]) - 0.5
    return np.asarray((w @ t * (f @ c)) ** 2 / (w**2 @ (0.25 - np.outer(t**2, f**2)) @ c**2))


def mixed_group(rng: np.random.Generator) -> tuple[Array, float, Array]:
    """People, never all of one epsilon: half of the largest is there as well."""
    levels = rng.uniform(0.05, 4, rng.integers(1, 8))
    levels = np.append(levels, levels.max() / 2)
    return levels, rng.uniform(0.01, 0.49), rng.normal(0, 2, rng.integers(2, 7))


def misordered(t: Array, theta: Array, weight: Weight) -> float:
    """Expected share of misordered pairs, over all sets of reports."""
    i, j = np.triu_indices(len(theta), 1)
    signs = np.array(list(product((-1, 1), repeat=t.size * i.size))).reshape(-1, t.size, i.size)
    law = np.prod(0.5 + signs * np.outer(t, expit(theta[i] - theta[j]) - 0.5), axis=(1, 2))
    enters = np.eye(len(theta))[i] - np.eye(len(theta))[j]
    scores = np.round(np.einsum("sua,u,ai->si", signs, weight(t, 0), enters), 9)
    return float(law @ ranking_errors(scores, theta, 1)[0])
