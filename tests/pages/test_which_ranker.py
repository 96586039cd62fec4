"""Page 33: fields at equal loss, contests and their winners, the exact small settings."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from math import inf, log

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import sparse

from dpbook.lower_bounds import best_private_rule
from dpbook.models import btl_probabilities, mallows_pmf
from dpbook.pages import which_ranker as page
from dpbook.privacy import Edge, Person, WholeRanking, check_mechanism
from dpbook.rankers import NoisyCounts, NoisyPairs, PairResponses, PerturbedMle

SITUATIONS = [
    page.Situation(data, protect, n, 40, 6, 0.7)
    for data, protect, n in product(page.DATA, ("comparison", "person"), (3, 6))
]


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 10.0])
@pytest.mark.parametrize("s", SITUATIONS, ids=str)
def test_every_ranker_of_a_field_loses_epsilon(s: page.Situation, epsilon: float) -> None:
    for name, entry in page.field(s, epsilon).items():
        spent = entry.ranker.at_loss(epsilon * entry.share).loss()[1]
        assert spent == pytest.approx(epsilon * entry.share, rel=1e-9), name
        # and as it stands no more
        assert entry.ranker.loss()[1] <= epsilon * entry.share * (1 + 1e-9), name


@pytest.mark.parametrize("s", SITUATIONS, ids=str)
def test_what_a_person_answers_composes_to_epsilon(s: page.Situation) -> None:
    for name, entry in page.of_nobody(s, 1.0).items():
        by_answer = isinstance(entry.ranker.unit, Edge) and not s.one_answer
        everything = s.per_user if s.data == "comparisons" else 0
        used = (entry.few or everything) if by_answer else 1
        assert used * entry.share == pytest.approx(1), name
        assert entry.local


def test_a_ridge_as_large_as_the_noise_is_cheaper_than_the_proof_says() -> None:
    for unit in (Edge(5), Person(5, 7, vouched=True)):
        made, proved = page.ridge_as_large(0.8, unit), PerturbedMle.private(0.8, unit)
        assert made.scale == made.gamma <= proved.scale
        assert made.loss()[1] == pytest.approx(0.8, rel=1e-9)
    complete = Edge(5, exchange=False)
    assert page.ridge_as_large(0.8, complete) == PerturbedMle.private(0.8, complete)


@pytest.mark.parametrize("data", page.DATA)
def test_crowds_have_the_law_of_their_model(data: str) -> None:
    s = page.Situation(data, "person", 4, 200, 6, 0.7)
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
    s, rng = page.Situation(data, "person", 4, 50, 6, 0.7), np.random.default_rng(2)
    table = s.crowd(rng)["table"]
    parts = np.array([s.part(table, 2, rng) for _ in range(2000)])
    assert (parts <= table).all() and (parts.sum(axis=(1, 2)) == 100).all()
    spread = parts.std(axis=0) / np.sqrt(2000)
    assert (np.abs(parts.mean(axis=0) - table / 3) <= 5 * spread + 1e-12).all()
    assert not (np.abs(parts.mean(axis=0) - table / 2) <= 5 * spread + 1e-12).all()


def test_counted_reports_are_ranked_by_net_reports() -> None:
    ranker = page.CountedResponses.private(1.0, WholeRanking(3))
    reports = np.array([[0, 5, 1], [2, 0, 9], [3, 1, 0]])
    assert ranker.rank(reports, rng=np.random.default_rng(1)).tolist() == [1, 0, 2]
    assert ranker.loss() == PairResponses.private(1.0, WholeRanking(3)).loss()


def test_wrong_share() -> None:
    assert page.wrong_share(np.array([[0, 1, 2], [2, 1, 0], [1, 0, 2]])).tolist() == [0, 1, 1 / 3]


def test_contests_repeat_with_the_seed_and_show_the_price_of_noise() -> None:
    s = page.Situation("surveys", "person", 4, 100, 6, 0.7)
    runs = [
        page.contest(s, e, crowds=6, draws=3, rng=np.random.default_rng(7))
        for e in (1.0, 1.0, 0.01)
    ]
    assert all((runs[0][name] == runs[1][name]).all() for name in runs[0])
    assert runs[2]["counts"].mean() > runs[0]["counts"].mean() + 0.1
    assert set(page.reports_only(runs[0], s, 1.0)) == {"flipped", "Laplace", "few flipped"}


def test_a_winner_beats_all_others_or_is_not_one() -> None:
    rng = np.random.default_rng(3)
    noise = rng.normal(0, 0.01, 30)
    errors = {"a": 0.1 + noise, "b": 0.2 + rng.normal(0, 0.01, 30), page.FLOOR: 0 * noise}
    won = page.winner(errors)
    assert (won.name, won.second, won.equals) == ("a", "b", ())
    assert abs(won.lead - 0.1) < won.half < 0.02
    near = page.winner(errors | {"c": 0.1001 + rng.normal(0, 0.01, 30)})
    assert near.equals in (("c",), ("a",))
    alone = page.winner({"a": noise})
    assert (alone.name, alone.second, alone.lead, alone.equals) == ("a", "", 0.0, ())


def test_intervals_of_all_pairs_are_right_in_95_contests_of_100() -> None:
    """Of three equal rankers two are told apart in at most 5 of 100; by narrower ones, more."""
    rng, told, plain = np.random.default_rng(4), 0, 0
    for _ in range(2000):
        errors = {name: rng.normal(size=20) for name in "abc"}
        wide = page.reach(errors)
        for count, factor in ((0, wide), (1, wide / 1.5)):
            apart = any(
                abs((errors[x] - errors[y]).mean()) > factor * (errors[x] - errors[y]).std(ddof=1)
                for x, y in combinations("abc", 2)
            )
            told, plain = told + (apart and not count), plain + (apart and count)
    assert told <= 0.05 * 2000 + 4 * np.sqrt(2000 * 0.05 * 0.95) < plain


def test_the_chart_marks_what_is_undecided_and_ones_own_cell() -> None:
    sure = page.Winner("counts", 0.1, "MLE", 0.1, 0.01, ())
    unsure = replace(sure, equals=("MLE",))
    _, ax = plt.subplots()
    page.draw_decisions(ax, {(3, 1.0): sure, (5, 1.0): unsure}, (5, 1.0))
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["counts\n10 %", "counts ?\n10 %"]
    assert [patch.get_hatch() for patch in ax.patches] == [None, "//", None]
    assert set(page.HUES) >= {
        name for s in SITUATIONS for epsilon in (0.05, 10.0) for name in page.field(s, epsilon)
    }
    plt.close()


def test_around_has_a_cell_for_every_size_and_level() -> None:
    s = page.Situation("comparisons", "comparison", 4, 50, 2, 0.7)
    rng = np.random.default_rng(5)
    cells = page.around(s, 2.0, "n_items", crowds=2, draws=1, rng=rng)
    assert set(cells) == set(product((3, 4, 5, 8, 11), (0.1, 0.5, 1.0, 2.0, 4.0)))


# ------------------------------------------------------------------ three items


def in_full(small: page.Small, epsilon: float) -> float:
    """The optimum with a variable for every data set and outcome, and every true order."""
    size = len(small.rows)
    at = np.arange(size * 6).reshape(size, 6)
    costs = np.zeros((6, size * 6))
    number = {tuple(row): k for k, row in enumerate(small.rows.tolist())}
    for h, places in enumerate(page.PLACES):
        law = np.zeros(size)
        for k, row in enumerate(small.rows):
            # the chance of the data under the order h is that of the renamed data
            law[k] = small.law[number[tuple(row[small.before[h]])]]
        for o, other in enumerate(page.PLACES):
            pairs = combinations(range(3), 2)
            wrong = [(places[i] < places[j]) != (other[i] < other[j]) for i, j in pairs]
            costs[h, at[:, o]] = law * np.mean(wrong)
    near = np.argwhere(np.triu(np.abs(small.rows[:, None] - small.rows).sum(axis=-1) == 2))
    pairs = np.concatenate([at[near][..., o] for o in range(6)])
    totals = sparse.csr_array((np.ones(size * 6), (np.repeat(np.arange(size), 6), at.ravel())))
    return best_private_rule(costs, totals, pairs, epsilon).lower


@pytest.mark.parametrize("small", [page.crowd_of_rankings(2, 0.4), page.three_games(0.9)])
def test_the_optimum_by_symmetry_is_the_optimum_in_full(small: page.Small) -> None:
    best = small.optimum(0.8)
    assert best.lower == pytest.approx(in_full(small, 0.8), abs=1e-9)
    assert 0 <= best.risk - best.lower < 1e-8 and best.loss < 0.8
    assert best.lower > in_full(small, 0.9) + 1e-4  # the control


def test_laws_of_small_settings() -> None:
    crowd, games = page.crowd_of_rankings(2, 0.4), page.three_games(0.9)
    for small in (crowd, games):
        assert small.law.sum() == pytest.approx(1)
        assert np.sort(small.before, axis=1).tolist() == [list(range(6))] * 6
    mean = np.tensordot(crowd.law, crowd.rows, 1) / 2
    assert mean == pytest.approx(mallows_pmf(3, 0.4))
    rho = btl_probabilities(-0.9 * np.arange(3))
    first = np.tensordot(games.law, games.tables, 1)
    assert first[np.triu_indices(3, 1)] == pytest.approx(rho[np.triu_indices(3, 1)])
    assert len(crowd.rows) == 21 and len(games.rows) == 8


def test_the_risk_is_that_of_simulated_crowds() -> None:
    small, unit = page.crowd_of_rankings(3, 0.5), WholeRanking(3, users=3)
    ranker, rng = NoisyPairs.private(2.0, unit), np.random.default_rng(6)
    drawn = rng.choice(len(small.rows), 4000, p=small.law)
    errors = [page.wrong_share(ranker.sample(small.tables[k], rng=rng)) for k in drawn]
    exact = small.risk(ranker.pmf)
    assert abs(np.mean(errors) - exact) < 5 * np.std(errors) / np.sqrt(4000)
    assert abs(np.mean(errors) - small.risk(replace(ranker, scale=1.0).pmf)) > 0.05


def test_flipped_reports_lose_their_level() -> None:
    tables = page.three_games(1.0).tables
    flips = [(a, b) for a, b in combinations(range(8), 2) if bin(a ^ b).count("1") == 1]
    laws = [page.flipped_reports(0.7, table) for table in tables]
    assert check_mechanism(laws.__getitem__, flips).loss == pytest.approx(0.7)
    # Without noise the ranking is that of the wins, in a circle any.
    for table in tables:
        law = page.flipped_ranking(50.0, table)
        wins = table.sum(axis=1)
        if sorted(wins) == [0, 1, 2]:
            assert law[(page.PLACES == 2 - wins).all(axis=1).argmax()] == pytest.approx(1)
        else:
            assert law == pytest.approx(np.full(6, 1 / 6))


def test_draws_by_agreeing_games_lose_between_once_and_twice_their_level() -> None:
    tables = page.three_games(1.0).tables
    flips = [(a, b) for a, b in combinations(range(8), 2) if bin(a ^ b).count("1") == 1]
    laws = [page.drawn_ranking(0.7, table) for table in tables]
    assert 0.7 < check_mechanism(laws.__getitem__, flips).loss <= 1.4
    chain = np.triu(np.ones((3, 3), dtype=int), 1)  # the first of all_rankings agrees with it
    law = page.drawn_ranking(0.7, chain)
    assert law[0] / law[-1] == pytest.approx(np.exp(2.1))


# ------------------------------------------------------------------ printed calibrations


def test_printed_noise_against_what_suffices() -> None:
    rows = {row.name: row for row in page.printed_noise(6, 4, 50, 1.0)}
    assert rows["noisy counts, a person"].ratios == (2.0, 2.0)
    assert rows["noisy counts, a person"].suffices == pytest.approx(2)
    assert rows["DP-KwikSort"].suffices == pytest.approx(6 / log(6))
    assert rows["hypercube"].ratios[1] == pytest.approx(1)  # 15 pairs, no ties
    for row in rows.values():
        enough = replace(row.ranker, scale=row.ranker.scale * row.suffices)
        assert enough.loss()[1] == pytest.approx(row.promised, rel=1e-9), row.name


def test_closed_halves_of_even_dimension_cannot_keep_a_small_promise() -> None:
    rows = {row.name: row for row in page.printed_noise(5, 4, 50, 0.6)}
    assert rows["hypercube"].suffices == inf
    assert rows["noisy counts, a comparison"].suffices == pytest.approx(1)
    for scale in (1.0, 1e3, 1e6):
        assert replace(rows["hypercube"].ranker, scale=scale).loss()[0] > log(2)
    assert isinstance(rows["noisy counts, a person"].ranker, NoisyCounts)


def test_ties_of_flipped_answers_are_ties_of_whole_numbers() -> None:
    ranker = page.CountedAnswers.private(0.1, Edge(5, exchange=False))
    reports = np.random.default_rng(3).integers(0, 9, (400, 5, 5)) * (1 - np.eye(5, dtype=int))
    scores, unbiased = ranker.scores(reports), page.FlippedAnswers.scores(ranker, reports)
    np.testing.assert_allclose(scores / scores.std(), unbiased / unbiased.std(), atol=1e-12)
    equal = scores[..., :, None] == scores[..., None, :]
    assert equal.sum() > 5 * len(scores)  # some more than each with itself
    by_rounding = unbiased[..., :, None] == unbiased[..., None, :]
    assert (equal | ~by_rounding).all() and (equal & ~by_rounding).any()  # the control
