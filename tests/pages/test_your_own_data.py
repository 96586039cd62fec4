"""Page 35: the distribution of a whole release, and the made-up file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpbook.mechanisms import discrete_laplace_pmf
from dpbook.pages import your_own_data as page
from dpbook.privacy import check_mechanism
from dpbook.rank import rank_privately, read_answers


@pytest.mark.parametrize("kind", ["comparisons", "rankings", "counts"])
def test_the_file_can_be_read_and_ranked(tmp_path: Path, kind: str) -> None:
    answers = read_answers(page.write_answers(tmp_path / "a.csv", kind, 50, 1))
    assert answers.kind == kind and set(answers.items) == set(page.ITEMS)
    if kind == "comparisons":
        assert set(answers.answers_of_each().tolist()) == {4, 15}


def test_a_page_is_repeatable_down_to_the_limit(tmp_path: Path) -> None:
    path = page.write_answers(tmp_path / "a.csv", "comparisons", 60, 1)
    arguments = {"epsilon": 1, "protect": "person", "max_answers": 3}
    first, again, other = (
        rank_privately(path, **arguments, below=page.repeatable(seed)) for seed in (5, 5, 6)
    )
    assert first.csv() == again.csv() != other.csv()


def test_the_loss_by_the_checker_over_long_lists_of_outcomes() -> None:
    """Two items and one answer each, noisy net wins up to 40: no tail is put into one cell."""
    epsilon, scale = 1.0, 4.0
    values = {(): 0, ((0, 1),): 1, ((1, 0),): -1}
    at = np.arange(-300, 301)

    def distribution(contribution: tuple[tuple[int, int], ...]) -> dict[tuple[int, int], float]:
        net = values[contribution] + np.array([1, -1])  # beside another one, who has 1 or -1
        one = [np.array(discrete_laplace_pmf(at - x, scale)) for x in net]
        two = [np.array(discrete_laplace_pmf(at + x, scale)) for x in net]
        near = slice(280, 321)
        joint = sum(np.outer(a[near], b[near]) for a, b in zip(one, two, strict=True)) / 2
        cells = {(i, j): float(joint[i, j]) for i in range(41) for j in range(41)}
        return cells | {(-1, -1): 1 - float(joint.sum())}

    pairs = [(x, y) for x in values for y in values if x != y]
    assert check_mechanism(distribution, pairs).loss == pytest.approx(epsilon, rel=1e-9)
    small = page.release_loss("net", epsilon, n_items=2, limit=1, most=1)
    assert small == pytest.approx(epsilon, rel=1e-10)


def test_one_count_is_the_law_with_both_tails() -> None:
    distribution, wide = page.one_count(-2, 3, 1.7), np.arange(-200, 201)
    for row, count in zip(distribution, range(-2, 4), strict=True):
        full = discrete_laplace_pmf(wide - count, 1.7)
        assert row[0] == pytest.approx(full[wide <= -2].sum(), rel=1e-10)
        assert row[1] == pytest.approx(full[wide == -1][0], rel=1e-12)
        assert row[-1] == pytest.approx(full[wide >= 3].sum(), rel=1e-10)


def test_kept_answers_are_drawn_evenly() -> None:
    distribution = dict(page.kept_distribution(((0, 1), (0, 1), (1, 0)), 2, 2, "net"))
    assert distribution == {(2, -2): 1 / 3, (0, 0): 2 / 3}
    assert dict(page.kept_distribution(((0, 1), (0, 1), (1, 0)), 2, None, "wins")) == {(2, 1): 1.0}
