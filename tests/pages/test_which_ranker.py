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
from dpbook.privacy import WholeRanking, check_mechanism
from dpbook.rankers import NoisyCounts, NoisyPairs
from dpbook.simulation import Situation, Winner
from dpbook.simulation.contest import wrong_share


def test_the_chart_marks_what_is_undecided_and_ones_own_cell() -> None:
    sure = Winner("counts", 0.1, "MLE", 0.1, 0.01, ())
    unsure = replace(sure, equals=("MLE",))
    _, ax = plt.subplots()
    page.draw_decisions(ax, {(3, 1.0): sure, (5, 1.0): unsure}, (5, 1.0))
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["counts\n10 %", "counts ?\n10 %"]
    assert [patch.get_hatch() for patch in ax.patches] == [None, "//", None]
    plt.close()


def test_around_has_a_cell_for_every_size_and_level() -> None:
    s = Situation("comparisons", "comparison", 4, 50, 2, 0.7)
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
    errors = [wrong_share(ranker.sample(small.tables[k], rng=rng)) for k in drawn]
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
