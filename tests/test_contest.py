"""Contests of rankers: fields at equal loss, crowds of the models, winners and their intervals."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from dpbook.privacy import Edge, Person, WholeRanking
from dpbook.rankers import PairResponses, PerturbedMle
from dpbook.simulation.contest import (
    FLOOR,
    CountedResponses,
    Situation,
    _ridge_as_large,
    contest,
    decide,
    field,
    simultaneous_width,
    winner,
)

DATA = ("comparisons", "surveys", "rankings")
SITUATIONS = [
    Situation(data, protect, n, 40, 6, 0.7)
    for data, protect, n in product(DATA, ("comparison", "person"), (3, 6))
]


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 10.0])
@pytest.mark.parametrize("s", SITUATIONS, ids=str)
def test_every_ranker_of_a_field_loses_epsilon(s: Situation, epsilon: float) -> None:
    for name, entry in field(s, epsilon).items():
        spent = entry.ranker.at_loss(epsilon * entry.share).loss()[1]
        assert spent == pytest.approx(epsilon * entry.share, rel=1e-9), name
        # and as it stands no more
        assert entry.ranker.loss()[1] <= epsilon * entry.share * (1 + 1e-9), name


@pytest.mark.parametrize("s", SITUATIONS, ids=str)
def test_what_a_person_answers_composes_to_epsilon(s: Situation) -> None:
    local = {name: entry for name, entry in field(s, 1.0).items() if entry.local}
    for name, entry in local.items():
        by_answer = isinstance(entry.ranker.unit, Edge) and not s.one_answer
        everything = s.per_user if s.data == "comparisons" else 0
        used = (entry.few or everything) if by_answer else 1
        assert used * entry.share == pytest.approx(1), name


def test_a__ridge_as_large_as_the_noise_is_cheaper_than_the_proof_says() -> None:
    for unit in (Edge(5), Person(5, 7, vouched=True)):
        made, proved = _ridge_as_large(0.8, unit), PerturbedMle.private(0.8, unit)
        assert made.scale == made.gamma <= proved.scale
        assert made.loss()[1] == pytest.approx(0.8, rel=1e-9)
    complete = Edge(5, exchange=False)
    assert _ridge_as_large(0.8, complete) == PerturbedMle.private(0.8, complete)


@pytest.mark.parametrize("data", DATA)
def test_crowds_have_the_law_of_their_model(data: str) -> None:
    s = Situation(data, "person", 4, 200, 6, 0.7)
    rng = np.random.default_rng(1)
    tables = np.array([s.crowd(rng)["table"] for _ in range(200)])
    answers = (tables + np.swapaxes(tables, 1, 2)).sum(axis=0)
    share = (
        tables.sum(axis=0)[np.arange(3), np.arange(1, 4)] / answers[np.arange(3), np.arange(1, 4)]
    )
    # neighbours: five standard deviations of a share of about that many answers
    assert np.abs(share - 0.7).max() < 5 * np.sqrt(0.21 / answers[0, 1])
    assert tables.sum() == 200 * 200 * 6  # six comparisons each, and four items have six pairs


@pytest.mark.parametrize("data", ["comparisons", "surveys"])
def test_a_part_of_the_answers_is_a_part_and_has_the_mean(data: str) -> None:
    s, rng = Situation(data, "person", 4, 50, 6, 0.7), np.random.default_rng(2)
    table = s.crowd(rng)["table"]
    parts = np.array([s._part(table, 2, rng) for _ in range(2000)])
    assert (parts <= table).all() and (parts.sum(axis=(1, 2)) == 100).all()
    spread = parts.std(axis=0) / np.sqrt(2000)
    assert (np.abs(parts.mean(axis=0) - table / 3) <= 5 * spread + 1e-12).all()
    assert not (np.abs(parts.mean(axis=0) - table / 2) <= 5 * spread + 1e-12).all()


def test_counted_reports_are_ranked_by_net_reports() -> None:
    ranker = CountedResponses.private(1.0, WholeRanking(3))
    reports = np.array([[0, 5, 1], [2, 0, 9], [3, 1, 0]])
    assert ranker.rank(reports, rng=np.random.default_rng(1)).tolist() == [1, 0, 2]
    assert ranker.loss() == PairResponses.private(1.0, WholeRanking(3)).loss()


def test_errors_are_shares_of_wrong_pairs() -> None:
    """So much privacy lost that nothing but the crowd is left: all agree, nothing is wrong."""
    s = Situation("surveys", "person", 4, 400, 6, 0.99)
    errors = contest(s, 200.0, crowds=2, draws=3, rng=np.random.default_rng(5))
    assert not any(error.any() for error in errors.values())
    lost = contest(s, 1e-6, crowds=40, draws=25, rng=np.random.default_rng(6))
    for name in set(lost) - {FLOOR}:  # a coin for each pair; five standard deviations at least
        assert abs(lost[name].mean() - 0.5) < 5 * 0.25 / np.sqrt(1000), name


def test_contests_repeat_with_the_seed_and_show_the_price_of_noise() -> None:
    s = Situation("surveys", "person", 4, 100, 6, 0.7)
    runs = [
        contest(s, e, crowds=6, draws=3, rng=np.random.default_rng(7)) for e in (1.0, 1.0, 0.01)
    ]
    assert all((runs[0][name] == runs[1][name]).all() for name in runs[0])
    assert runs[2]["counts"].mean() > runs[0]["counts"].mean() + 0.1
    local = {name for name, entry in field(s, 1.0).items() if entry.local}
    assert local == {"flipped", "Laplace", "few flipped"} < set(runs[0])


def test_a_decision_is_the_same_contest_read_twice() -> None:
    s, how = Situation("surveys", "person", 4, 100, 6, 0.7), {"crowds": 6, "draws": 3}
    errors = contest(s, 1.0, **how, rng=np.random.default_rng(7))
    both = decide(s, 1.0, **how, rng=np.random.default_rng(7))
    local = {name: errors[name] for name in ("flipped", "Laplace", "few flipped")}
    assert both == {"curator": winner(errors), "nobody": winner(local)}
    assert both["nobody"].name in local


def test_a_winner_beats_all_others_or_is_not_one() -> None:
    rng = np.random.default_rng(3)
    noise = rng.normal(0, 0.01, 30)
    errors = {"a": 0.1 + noise, "b": 0.2 + rng.normal(0, 0.01, 30), FLOOR: 0 * noise}
    won = winner(errors)
    assert (won.name, won.error, won.equals) == ("a", errors["a"].mean(), ())
    near = winner(errors | {"c": 0.1001 + rng.normal(0, 0.01, 30)})
    assert near.equals in (("c",), ("a",))
    alone = winner({"a": noise})
    assert (alone.name, alone.equals) == ("a", ())


def test_intervals_of_all_pairs_are_right_in_95_contests_of_100() -> None:
    """Of three equal rankers two are told apart in at most 5 of 100; by narrower ones, more."""
    rng, told, plain = np.random.default_rng(4), 0, 0
    for _ in range(2000):
        errors = {name: rng.normal(size=20) for name in "abc"}
        wide = simultaneous_width(errors)
        for count, factor in ((0, wide), (1, wide / 1.5)):
            apart = any(
                abs((errors[x] - errors[y]).mean()) > factor * (errors[x] - errors[y]).std(ddof=1)
                for x, y in combinations("abc", 2)
            )
            told, plain = told + (apart and not count), plain + (apart and count)
    assert told <= 0.05 * 2000 + 4 * np.sqrt(2000 * 0.05 * 0.95) < plain
