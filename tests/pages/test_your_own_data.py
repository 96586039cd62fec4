"""Page 35: the law of a whole release, errors of a limit, and the made-up file."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpbook.mechanisms import discrete_laplace_pmf
from dpbook.pages import your_own_data as page
from dpbook.privacy import check_mechanism
from dpbook.rank import rank_privately, read_answers
from dpbook.rank.noise import exact_noise, turned


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


def test_every_bad_file_is_refused(tmp_path: Path) -> None:
    rows = page.refusals(tmp_path)
    assert [row["wrong"] for row in rows] == list(page.BAD_FILES)
    assert all(row["message"].startswith("bad.csv, line ") for row in rows)


@pytest.mark.parametrize("statistic", page.STATISTICS)
def test_the_loss_of_a_release(statistic: str) -> None:
    for epsilon in (0.3, 2.0):
        assert page.release_loss(statistic, epsilon) == pytest.approx(epsilon, rel=1e-10)
        assert page.release_loss(statistic, epsilon, factor=0.5) == pytest.approx(2 * epsilon)
        assert page.release_loss(statistic, epsilon, kept=False) > 1.4 * epsilon


def test_the_loss_by_the_checker_over_long_lists_of_outcomes() -> None:
    """Two items and one answer each, noisy net wins up to 40: no tail is put into one cell."""
    epsilon, scale = 1.0, 4.0
    values = {(): 0, ((0, 1),): 1, ((1, 0),): -1}
    at = np.arange(-300, 301)

    def law(bundle: tuple[tuple[int, int], ...]) -> dict[tuple[int, int], float]:
        mine = values[bundle] + np.array([1, -1])  # beside another one, who has 1 or -1
        one = [np.array(discrete_laplace_pmf(at - x, scale)) for x in mine]
        two = [np.array(discrete_laplace_pmf(at + x, scale)) for x in mine]
        near = slice(280, 321)
        joint = sum(np.outer(a[near], b[near]) for a, b in zip(one, two, strict=True)) / 2
        cells = {(i, j): float(joint[i, j]) for i in range(41) for j in range(41)}
        return cells | {(-1, -1): 1 - float(joint.sum())}

    pairs = [(x, y) for x in values for y in values if x != y]
    assert check_mechanism(law, pairs).loss == pytest.approx(epsilon, rel=1e-9)
    small = page.release_loss("net", epsilon, n_items=2, limit=1, most=1)
    assert small == pytest.approx(epsilon, rel=1e-10)


def test_one_count_is_the_law_with_both_tails() -> None:
    law, wide = page.one_count(-2, 3, 1.7), np.arange(-200, 201)
    assert law.sum(axis=1) == pytest.approx(np.ones(6), abs=1e-12)
    for row, count in zip(law, range(-2, 4), strict=True):
        full = discrete_laplace_pmf(wide - count, 1.7)
        assert row[0] == pytest.approx(full[wide <= -2].sum(), rel=1e-10)
        assert row[1] == pytest.approx(full[wide == -1][0], rel=1e-12)
        assert row[-1] == pytest.approx(full[wide >= 3].sum(), rel=1e-10)


def test_kept_answers_are_drawn_evenly() -> None:
    found = dict(page.kept_law(((0, 1), (0, 1), (1, 0)), 2, 2, "net"))
    assert found == {(2, -2): 1 / 3, (0, 0): 2 / 3}
    assert dict(page.kept_law(((0, 1), (0, 1), (1, 0)), 2, None, "wins")) == {(2, 1): 1.0}


def test_a_lead_by_noise_is_summed_directly() -> None:
    for lead, scale in ((0, Fraction(1, 2)), (7, Fraction(5)), (90, Fraction(20))):
        assert page.lead_by_noise(lead, scale) == pytest.approx(turned(lead, scale), rel=1e-9)
    assert page.covered(3, Fraction(2), 500) == pytest.approx(1, abs=1e-12)
    assert page.covered(3, Fraction(2), -1) == 0


def test_errors_of_a_limit_against_draws(tmp_path: Path) -> None:
    """Bias and draw of the kept, simulated with `keep`; six standard errors of 2,000 draws."""
    answers = read_answers(page.write_answers(tmp_path / "a.csv", "comparisons", 50, 3))
    (exact,) = page.limit_errors(answers, np.array([6]), 1.0)
    rng, n, runs = np.random.default_rng(4), len(answers.items), 2000
    one, other = np.triu_indices(n, 1)

    def leads(data: np.ndarray) -> np.ndarray:
        net = np.bincount(data[0], minlength=n) - np.bincount(data[1], minlength=n)
        return (net[one] - net[other]) / data.shape[1]

    full, size = leads(answers.data), answers.person.size
    drawn = np.array(
        [
            leads(answers.keep(6, rng.integers(0, 2**63, size=size).astype(np.uint64)).data)
            for _ in range(runs)
        ]
    )
    bias, spread = drawn.mean(axis=0) - full, drawn.var(axis=0)
    error = 6 * drawn.std(axis=0) / np.sqrt(runs)
    assert abs(100 * np.sqrt((bias**2).mean()) - exact["bias"]) <= 100 * error.max()
    # of a variance, relative: sqrt(2 / runs) for each pair, and never more for their mean
    found = 100 * np.sqrt(spread.mean())
    assert found == pytest.approx(exact["draw of the kept"], rel=6 * np.sqrt(2 / runs))
    last = list(page.limit_errors(answers, np.array([15, 20]), 1.0))
    assert last[0]["bias"] == last[0]["draw of the kept"] == 0
    assert last[1]["noise"] > last[0]["noise"] == last[0]["all"]
    with pytest.raises(ValueError, match="do not say who gave which"):
        counts = read_answers(page.write_answers(tmp_path / "c.csv", "counts", 50, 3))
        list(page.limit_errors(counts, np.array([6]), 1.0))


def test_noise_of_an_experiment_and_the_newcomer() -> None:
    noise = page.redrawn_noise(2.0, (100_000,), np.random.default_rng(1))
    assert np.abs(noise).mean() == pytest.approx(
        (np.abs(np.arange(-200, 201)) * discrete_laplace_pmf(np.arange(-200, 201), 2.0)).sum(),
        rel=0.02,  # six standard errors
    )
    rows = list(page.newcomer([50.0], 1, 50, np.random.default_rng(2)))
    assert rows == [{"epsilon": 50.0, "net": 0.0, "pairs": 100.0}]


def test_floats_tell_counts_apart_and_whole_numbers_do_not() -> None:
    one, other = page.float_outputs(10, 2.0, 10), page.float_outputs(11, 2.0, 10)
    assert len(one) == len(other) == 2**11 and not one & other
    assert page.float_outputs(10, 2.0, 10) == one  # the control


def test_coins_are_followed_exactly() -> None:
    """A fair coin, tossed until heads: chances 1/2 and 1/4 after two tosses, a quarter open."""

    def tosses(scale: Fraction, below: Callable[[int], int]) -> int:
        count = 1
        while below(2) == 0:
            count += 1
        return count

    found, lost = page.coin_tree(tosses, Fraction(1), Fraction(1, 3))
    assert found == {1: Fraction(1, 2), 2: Fraction(1, 4)} and lost == Fraction(1, 4)


def test_the_broken_samplers_differ_from_the_one_in_use_by_their_fault_only() -> None:
    def coins(seed: int) -> Callable[[int], int]:
        return page.repeatable(seed)

    for seed in range(300):
        whole = exact_noise(Fraction(5, 2), coins(seed))
        assert page.broken_noise()(Fraction(5, 2), coins(seed)) == whole
    kept = page.coin_tree(page.broken_noise(zero_twice=True), Fraction(2), Fraction(1, 500))
    assert kept[0][0] > 0.3 > discrete_laplace_pmf(0, 2)
