"""Page 35: the distribution of a whole release, and the made-up file."""

from __future__ import annotations

from itertools import product
from math import exp, inf
from pathlib import Path

import numpy as np
import pytest

from dpbook.mechanisms import discrete_laplace_pmf
from dpbook.mechanisms.knorm import root_level, zonotope_level
from dpbook.pages import your_own_data as page
from dpbook.privacy import check_mechanism
from dpbook.rank import rank_privately, read_answers


@pytest.mark.parametrize("kind", ["comparisons", "rankings", "counts"])
def test_the_file_can_be_read_and_ranked(tmp_path: Path, kind: str) -> None:
    path = page.write_answers(tmp_path / "a.csv", kind, 50, 1)
    answers = read_answers(path, items=page.ITEMS)
    assert answers.kind == kind and answers.exact("net").any()
    if kind == "comparisons":
        assert set(answers.answers_of_each().tolist()) == {4, 15}


def test_a_page_is_repeatable_down_to_the_limit(tmp_path: Path) -> None:
    path = page.write_answers(tmp_path / "a.csv", "comparisons", 60, 1)
    how = {"items": page.ITEMS, "epsilon": 1, "protect": "person", "max_answers": 3}
    first, again, other = (
        rank_privately(path, **how, rng=np.random.default_rng(seed)) for seed in (5, 5, 6)
    )
    assert first.csv() == again.csv() != other.csv()


def test_the_loss_by_the_checker_over_long_lists_of_outcomes() -> None:
    """One answer each of three items; of sum-zero vectors the largest entry is the root level."""
    answers = [(), *((i, j) for i in range(3) for j in range(3) if i != j)]
    far = [(a, b, -a - b) for a, b in product(range(-60, 61), repeat=2)]
    unit = np.eye(3, dtype=int)

    def distribution(one: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        own = unit[one[0]] - unit[one[1]] if one else 0 * unit[0]
        chances = dict.fromkeys(far, 0.0)
        for winner, loser in ((0, 1), (2, 0), (0, 2)):  # one of them is kept of another person
            away = np.array(far) - own - unit[winner] + unit[loser]
            for z, level in zip(far, np.abs(away).max(axis=1).tolist(), strict=True):
                chances[z] += exp(-level / 2) / 3
        total = 1 + 6 * exp(0.5) / (exp(0.5) - 1) ** 2  # 6 k vectors have the level k
        inside = {z: chances[z] / total for z in far if max(map(abs, z)) < 12}
        return inside | {(): 1 - sum(inside.values())}

    pairs = [(x, y) for x in answers for y in answers if x != y]
    assert check_mechanism(distribution, pairs).loss == pytest.approx(1, rel=1e-9)
    assert page.release_loss("net", 1, limit=1) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize("repeats", ["one", "keep"])
@pytest.mark.parametrize("statistic", ["net", "pairs"])
def test_a_release_loses_what_is_promised(statistic: str, repeats: str, relation: str) -> None:
    how = {"relation": relation, "repeats": repeats}
    for limit in (1, 2, 3):
        assert page.release_loss(statistic, 2, limit, **how) == pytest.approx(2, rel=1e-12)
    assert page.release_loss(statistic, 2, 2, 0.95, **how) == pytest.approx(2 / 0.95, rel=1e-12)


def test_the_noise_of_net_wins_rules_out_wins() -> None:
    """Who answers less changes the sum of the wins, which noise of sum 0 does not touch."""
    assert page.release_loss("wins", 1, limit=1) == inf
    assert page.release_loss("wins", 1, limit=1, relation="add_remove") == inf


@pytest.mark.parametrize("level", [root_level, zonotope_level])
def test_far_vectors_say_nothing_new(level) -> None:
    for seed in range(5):
        values = np.random.default_rng(seed).integers(-2, 3, size=(4, 3))
        values[:, 2] = -values[:, :2].sum(axis=1)
        near = page.lattice(values)
        far = np.array([(a, b, -a - b) for a, b in product(range(-25, 26), repeat=2)])
        ratios = [
            set(map(tuple, np.diff(level(z[:, None] - values), axis=1).tolist()))
            for z in (near, far[root_level(far) <= 25])
        ]
        assert ratios[0] == ratios[1]


def test_one_count_is_the_law_with_both_tails() -> None:
    distribution, wide = page.one_count(-2, 3, 1.7), np.arange(-200, 201)
    for row, count in zip(distribution, range(-2, 4), strict=True):
        full = discrete_laplace_pmf(wide - count, 1.7)
        assert row[0] == pytest.approx(full[wide <= -2].sum(), rel=1e-10)
        assert row[1] == pytest.approx(full[wide == -1][0], rel=1e-12)
        assert row[-1] == pytest.approx(full[wide >= 3].sum(), rel=1e-10)


def test_kept_answers_are_drawn_evenly() -> None:
    same = ((0, 1), (0, 1), (1, 0))
    kept = page.kept_distribution(same, "net", 2, "keep")
    assert kept == {(2, -2, 0): pytest.approx(1 / 3), (0, 0, 0): pytest.approx(2 / 3)}
    kept = page.kept_distribution(same, "net", 2, "one")  # one of the pair counts
    assert kept == {(1, -1, 0): pytest.approx(2 / 3), (-1, 1, 0): pytest.approx(1 / 3)}
    assert page.kept_distribution(same, "wins", None, "keep") == {(2, 1, 0): 1.0}
