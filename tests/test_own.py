"""Own mechanisms: quadrature against the exact laws, controls with too little noise, refusals."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import dlaplace, expon, laplace, logistic, norm, rv_histogram, zipf

from dpbook.models import all_rankings
from dpbook.privacy import Edge, Person, WholeRanking, check_mechanism, check_ranker
from dpbook.privacy.distributions import ranking_pmf, sets_of, top_k_pmf

# A density that jumps where no cell of the quadrature begins.
STEPS = rv_histogram((np.array([1.0, 5, 2, 7, 1]), np.linspace(-3.3, 3.1, 6)), density=False)


@pytest.mark.parametrize("scale", [0.8, 2.0])
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("noise", ["laplace", "discrete_laplace"])
def test_laplace_noise_is_as_the_exact_law_says(n: int, scale: float, noise: str) -> None:
    """Two ways to the same law: sums over a grid, and a closed form there. Half the noise fails."""
    wide, half = (
        laplace(scale=b) if noise == "laplace" else dlaplace(1 / b) for b in (scale, scale / 2)
    )
    report = check_ranker(wide, Edge(n), epsilon=2 / scale)
    pmf = partial(ranking_pmf, scale=scale, noise=noise)
    exact = check_mechanism(pmf, Edge(n).neighbours())
    assert report.loss == pytest.approx(exact.loss, abs=1e-9) and report.private
    assert not check_ranker(half, Edge(n), epsilon=exact.loss).private


def test_sets_are_as_their_exact_law_says() -> None:
    def distribution(counts: Any) -> dict[object, float]:
        sets = map(tuple, sets_of(4, 2).tolist())
        return dict(zip(sets, top_k_pmf(counts, 2, scale=2.0), strict=True))

    report = check_ranker(distribution, Edge(4))
    exact = check_mechanism(lambda counts: top_k_pmf(counts, 2, scale=2.0), Edge(4).neighbours())
    assert report.loss == pytest.approx(exact.loss, abs=1e-9)
    assert report.outcome.startswith("outcome (") and report.private is None


def test_exponential_noise_on_two_items_has_a_closed_form() -> None:
    """Counts (1, 0) and (0, 1): the noises differ by a Laplace variable, tail exp(-1 / b) / 2."""
    tail = math.exp(-1 / 2) / 2
    report = check_ranker(expon(scale=2), Edge(2))
    assert report.loss == pytest.approx(math.log((1 - tail) / tail), abs=1e-9)
    assert sorted(report.probabilities) == pytest.approx([tail, 1 - tail], abs=1e-9)
    assert check_ranker(norm(scale=2), Edge(2)).loss != pytest.approx(report.loss, abs=1e-3)


def test_narrow_logistic_noise_has_a_closed_form() -> None:
    """The difference of two logistic noises lies below x in u (u - 1 - x) / (u - 1)^2, u = e^x."""
    x, u = 10, math.exp(10)
    loss = math.log(u * (u - 1 - x) / (1 - u + u * x))
    assert check_ranker(logistic(scale=0.1), Edge(2)).loss == pytest.approx(loss, abs=1e-7)


def test_a_mechanism_that_looks_at_names_is_seen() -> None:
    """Classes of neighbours are not enough here: only the pair that moves item 1 betrays it."""

    def favours(counts: Any) -> np.ndarray:
        weights = np.where(all_rankings(3)[:, 1] == 0, math.exp(counts[1]), 1.0)
        return weights / weights.sum()

    report = check_ranker(favours, Edge(3))
    first, second = (favours(counts) for counts in (np.array([0, 2, 1]), np.array([1, 1, 1])))
    assert report.loss >= np.abs(np.log(first / second)).max() - 1e-12
    assert report.loss > 0.5


def test_tables_of_rankings_and_people() -> None:
    """Whoever publishes the first ranking says it all; whoever publishes none says nothing."""
    unit = WholeRanking(3, users=1)

    def told(table: np.ndarray) -> dict[str, float]:
        return {str(table.tolist()): 1.0}

    assert check_ranker(told, unit).loss == math.inf
    assert check_ranker(lambda table: {"nothing": 1.0}, unit).loss == 0
    assert check_ranker(lambda counts: np.full(3, 1 / 3), Person(3, per_user=1, users=2)).loss == 0


def test_who_wins_in_a_table_of_rankings_is_ranked_first() -> None:
    """Its rows are winners: the ranking that is named is likelier where its first item leads."""
    report = check_ranker(laplace(scale=1), WholeRanking(2, users=1))
    first = "AB".index(report.outcome.removeprefix("ranking ")[0])
    likelier, other = (report.pair[side] for side in np.argsort(report.probabilities)[::-1])
    assert likelier[first].sum() == 1 and other[first].sum() == 0


def test_one_thousandth_of_epsilon_too_much_is_not_private() -> None:
    loss = check_ranker(laplace(scale=2), Edge(2)).loss
    assert check_ranker(laplace(scale=2), Edge(2), epsilon=loss * (1 + 1e-9)).private
    assert not check_ranker(laplace(scale=2), Edge(2), epsilon=0.999 * loss).private


@pytest.mark.parametrize(
    ("mechanism", "n", "words"),
    [
        (lambda counts: 3, 3, "return the distribution, 6 probabilities"),
        (lambda counts: np.argsort(-counts), 3, "return the distribution, .* a draw shows"),
        (lambda counts: np.argsort(-counts), 2, "a draw shows nothing"),
        (lambda counts: np.argsort(-counts) + 1.0, 4, "a draw shows nothing"),
        (lambda counts: np.full(6, 0.15), 3, "sums to 0.9"),
        (lambda counts: np.full(3, 1 / 3), 4, "return the distribution, 24 probabilities"),
        (lambda counts: {"a": -0.5, "b": 1.5}, 2, "negative"),
        ("laplace", 3, "mechanism = 'laplace': allowed is a function"),
        (laplace(scale=2), 6, "unit has 6 items: allowed are 2 to 5"),
        (laplace(scale=0.02), 3, "wider noise"),
        (STEPS, 2, "too rough for a quadrature"),
        (dlaplace(20), 3, "wider noise"),
        (zipf(2), 2, "sums to 0.99999"),
        (dlaplace(1, loc=0.5), 2, "on whole numbers, sums to 0"),
    ],
)
def test_refusals_say_what_to_return(mechanism: Any, n: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_ranker(mechanism, Edge(n))


def test_the_sentence_names_loss_budget_and_the_pair() -> None:
    told = str(check_ranker(laplace(scale=1), Edge(3), epsilon=1))
    assert "ranking alone" in told and "Edge(n_items=3, exchange=True), and for no other" in told
    first = str(check_ranker(lambda c: np.full(3, 1 / 3), Person(3, per_user=1, users=2)))
    assert "the first item alone loses 0." in first and "users=2), and for no other" in first
    assert "NOT private" in told and "1 was asked for" in told and "ranking" in told
    assert told.count("█") == 6  # three wins on either side
    assert ": private" in str(check_ranker(laplace(scale=2), Edge(3), epsilon=1))
