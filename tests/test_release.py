"""A release of real answers: its noise, its sensitivity, its loss, what it writes and refuses."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, permutations, product
from pathlib import Path

import numpy as np
import pytest

from dpbook.mechanisms import discrete_laplace_pmf
from dpbook.privacy import audit_sampler, sensitivity
from dpbook.rank import Answers, rank, rank_privately
from dpbook.rank import release as releases
from dpbook.rank.ledger import fraction_of
from dpbook.rank.noise import exact_noise, opendp_noisy, reach, reversal_probability, system_bits
from dpbook.rank.rank import exact_epsilon, sensitivity_of, statistic_of
from tests.oracles import clipped_distribution, clipped_tally

DRAWS, Patch = 20_000, pytest.MonkeyPatch
rank_out_files = releases.out_files


def comparisons(rows: list[tuple[int, int, int]], n: int) -> Answers:
    """Answers (person, winner, loser) on n items."""
    person, winner, loser = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    items = tuple("abcdefg"[:n])
    return Answers("comparisons", items, True, np.array([winner, loser]), person)


def counts(table: object) -> Answers:
    data = np.array(table)
    return Answers("counts", tuple("abcdefg"[: len(data)]), True, data, None)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(20, 3), Fraction(0.7)])
def test_the_noise_follows_its_distribution(scale: Fraction) -> None:
    """At bits of the operating system: a faithful sampler fails once in a million runs."""
    most, below = int(4 * scale) + 1, system_bits()
    drawn = clipped_tally(np.array([exact_noise(scale, below) for _ in range(DRAWS)]), most)
    assert audit_sampler(drawn, clipped_distribution(scale, most), confidence=1 - 1e-6).passed
    wrong = clipped_distribution(scale * Fraction(9, 8), most)  # the control
    assert not audit_sampler(drawn, wrong, confidence=1 - 1e-6).passed


class _More(Exception):
    """A coin that was not given: it has so many sides."""


def _replay(coins: list[int], k: int) -> int:
    if not coins:
        raise _More(k)
    return coins.pop(0)


def test_the_noise_follows_its_law_exactly() -> None:
    """All sequences of coins with exact chances; of the long ones, left out, the sum is known."""
    found, lost = Counter[int](), Fraction()
    todo: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while todo:
        given, probability = todo.pop()
        try:
            value = exact_noise(Fraction(2), partial(_replay, list(given)))
            found[value] += probability  # type: ignore[assignment]
        except _More as more:
            sides = more.args[0]
            if probability < Fraction(1, 3000):
                lost += probability
            else:
                todo += [((*given, coin), probability / sides) for coin in range(sides)]
    assert lost < Fraction(1, 4)
    for value in range(-4, 5):
        exact = float(discrete_laplace_pmf(value, 2.0))
        assert float(found[value]) <= exact <= float(found[value] + lost)
    assert found[1] == found[-1] and found[2] == found[-2]


DRAW = """
import hashlib, os, sys
import numpy as np
asked, given = [], hashlib.shake_128(sys.argv[1].encode()).digest(10**6)
def urandom(size):
    asked.append(size)
    return given[sum(asked[:-1]):sum(asked)]
os.urandom = urandom
from dpbook.rank import Answers, rank_privately
votes, who = np.array([[0, 1, 2] * 30, [1, 2, 0] * 30]), np.arange(90) // 9
people = Answers("comparisons", ("a", "b", "c"), True, votes, who)
asked.clear()
kept = people.keep(2).data.tolist()
print(asked, kept)
asked.clear()
for protect, limit in (("person", 2), ("comparison", None)):
    drawn = rank_privately(people, epsilon="0.01", protect=protect, max_answers=limit)
    print(drawn.released.tolist(), end=" ")
print(asked)
"""


def test_all_that_is_drawn_are_bytes_of_the_operating_system() -> None:
    """The answers kept and the noise hang on `os.urandom` and on nothing else, and ask it for all.

    Eight bytes for each answer of which some are kept; for the noise of a release one block.
    """
    command, how = [sys.executable, "-c", DRAW], {"stdout": -1, "text": True, "check": True}
    runs = [subprocess.run([*command, key], **how) for key in ("one", "one", "two")]
    said = [run.stdout.splitlines() for run in runs]
    assert said[0] == said[1] and said[0][0].startswith("[720] ")
    assert all(line.endswith("] [720, 4096, 4096]") for _, line in said)
    assert said[0][0] != said[2][0] and said[0][1] != said[2][1]


@pytest.mark.parametrize("k", [1, 2, 3, 256, 257, 1000])
def test_bits_of_the_system_are_uniform(k: int) -> None:
    below = system_bits()
    drawn = np.array([below(k) for _ in range(DRAWS)])
    cells = np.bincount(drawn * min(k, 20) // k, minlength=min(k, 20))
    distribution = np.bincount(np.arange(k) * min(k, 20) // k) / k
    assert 0 <= drawn.min() and drawn.max() < k
    assert audit_sampler(cells, distribution, confidence=1 - 1e-6).passed
    assert below(2**200) != below(2**200)


def test_opendp_follows_the_same_distribution(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    noisy, scale = opendp_noisy([0] * DRAWS, 4, Fraction(3, 5))
    assert Fraction(20, 3) <= scale < Fraction(20, 3) * (1 + Fraction(1, 2**50))
    drawn, law = clipped_tally(np.array(noisy), 27), clipped_distribution(scale, 27)
    assert audit_sampler(drawn, law, confidence=1 - 1e-6).passed
    how = {"protect": "comparison", "sampler": "opendp"}
    release = rank_privately(counts([[0, 900], [100, 0]]), epsilon="0.3", **how)
    assert release.sampler == "opendp" and Fraction(40, 3) <= release.scale < Fraction(134, 10)
    release.write(tmp_path / "out.csv")


def test_without_opendp_a_sentence_says_so(monkeypatch: Patch) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(ValueError, match=r"OpenDP is not installed: allowed is 'book', or pip"):
        opendp_noisy([0], 4, Fraction(1))


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(15, 2)])
def test_chances_from_the_law_of_the_noise(scale: Fraction) -> None:
    wide = 400
    one = discrete_laplace_pmf(np.arange(-wide, wide + 1), scale)
    two = np.convolve(one, one)
    for margin in (0, 1, 2, 5, 20):
        expected = two[2 * wide + margin :].sum()
        assert reversal_probability(margin, scale) == pytest.approx(expected, rel=1e-9)
    for n, miss in product((1, 5, 300), (0.05, 1e-6)):
        t = reach(n, scale, miss)
        inside = [one[wide - t + k : wide + t + 1 - k].sum() ** n for k in (0, 1)]
        assert inside[0] >= 1 - miss - 1e-12 and (t == 0 or inside[1] < 1 - miss)


def contributions(n: int, most: int) -> list[list[tuple[int, int]]]:
    """Everything that one person can answer, from nothing to so many comparisons."""
    pairs = list(permutations(range(n), 2))
    return [list(b) for k in range(most + 1) for b in combinations_with_replacement(pairs, k)]


def farthest(values: list[np.ndarray]) -> float:
    return sensitivity((x, y) for x in values for y in values).value


@pytest.mark.parametrize("statistic", ["net", "wins", "pairs"])
@pytest.mark.parametrize(("n", "limit"), [(2, 3), (3, 2), (4, 1)])
def test_sensitivity_of_comparisons_by_brute_force(statistic: str, n: int, limit: int) -> None:
    given = [[(0, *pair) for pair in answers] for answers in contributions(n, limit)]
    found = farthest([statistic_of(comparisons(rows, n), statistic) for rows in given])
    assert found == sensitivity_of("comparisons", n, "person", limit, statistic)
    if limit == 1:
        assert found == sensitivity_of("comparisons", n, "comparison", None, statistic)
        assert found == sensitivity_of("counts", n, "comparison", None, statistic)


@pytest.mark.parametrize(("n", "limit"), [(2, 1), (2, 2), (3, 1), (3, 2), (4, 1)])
def test_sensitivity_of_rankings_by_brute_force(n: int, limit: int) -> None:
    orders, items = list(permutations(range(n))), tuple("abcd"[:n])
    some = [b for k in range(limit + 1) for b in combinations_with_replacement(orders, k)]
    given = [np.array(b, dtype=int).reshape(-1, n) for b in some]
    answers = [Answers("rankings", items, True, b, np.zeros(len(b))) for b in given]
    found = farthest([statistic_of(data, "wins") for data in answers])
    assert found == sensitivity_of("rankings", n, "person", limit, "wins")


def test_statistics_by_hand() -> None:
    data = comparisons([(1, 0, 1), (1, 0, 2), (2, 2, 1)], 3)
    assert statistic_of(data, "wins").tolist() == [2, 0, 1]
    assert statistic_of(data, "net").tolist() == [2, -2, 0]
    assert statistic_of(data, "pairs").tolist() == [[0, 1, 1], [0, 0, 0], [0, 1, 0]]
    table = counts(statistic_of(data, "pairs"))
    for name in ("wins", "net", "pairs"):
        assert np.array_equal(statistic_of(table, name), statistic_of(data, name))
    orders = Answers("rankings", ("a", "b", "c"), True, np.array([[2, 0, 1], [2, 1, 0]]), None)
    assert statistic_of(orders, "wins").tolist() == [1, 1, 4]


def test_each_person_keeps_at_most_the_limit() -> None:
    rng = np.random.default_rng(5)
    person = rng.integers(0, 300, size=4000)
    data = comparisons([(p, 0, 1) for p in person], 2)
    kept = data.keep(7)
    given, left = np.bincount(person), np.bincount(kept.person, minlength=300)
    assert np.array_equal(left, np.minimum(given, 7))
    assert data.keep(10**9).person.size == 4000  # nobody is above this


def test_a_release_counts_no_more_of_a_person_than_its_noise_is_made_for() -> None:
    """At scale 2 / 50 noise is 0 but once in 10^10 draws."""
    many = comparisons([(0, 0, 1)] * 9, 2)
    how = {"epsilon": 50, "protect": "person", "statistic": "wins"}
    assert rank_privately(many, max_answers=1, **how).released.tolist() == [1, 0]


def test_noise_and_kept_answers_are_drawn_anew_each_time() -> None:
    """The same by chance: 1 in 10^12 for the noise on five counts, 2 in 2^100 for the answers."""
    data = comparisons([(0, 0, 1), (0, 1, 0)], 5)
    assert len({tuple(data.keep(1).data.ravel().tolist()) for _ in range(100)}) == 2
    how = {"epsilon": "0.01", "protect": "person", "max_answers": 2}
    one, other = (rank_privately(data, **how).released.tolist() for _ in range(2))
    assert one != other


def test_the_statement_says_how_often_a_guess_is_right() -> None:
    """e / (1 + e) = 0.73106 at epsilon 1; no number is rounded before it is used, none down."""
    for epsilon, percent in {1: "73.11", "1.27": "78.08", "0.3": "57.45", "1/3": "58.26"}.items():
        how = {"epsilon": epsilon, "protect": "person", "max_answers": 1}
        statement = rank_privately(comparisons([(0, 0, 1)], 2), **how).statement
        assert f"right at most {percent} instead of 50 times in 100" in statement
        exact = Fraction(epsilon)
        assert f"epsilon = {exact} (pure" in statement and f"scale {4 / exact} (" in statement


def test_what_a_person_keeps_does_not_hang_on_others() -> None:
    """Every subset of the right size is drawn, equally often, whoever else is there."""
    mine = [(5, k % 3, (k + 1) % 3) for k in range(4)]
    for others in ([], [(p, 0, 1) for p in range(5)] * 3):
        data = comparisons(others + mine, 3)
        start, seen = len(others), np.zeros(16, dtype=int)
        for _ in range(3000):
            order = np.frombuffer(os.urandom(8 * len(data.person)), np.uint64)
            kept = data.keep(2, order)
            # which of the four rows are left, by the ranks of their random numbers
            two = np.argsort(order[start:])[:2]
            left, mine_left = kept.data[:, kept.person == 5], data.data[:, start:][:, two]
            assert sorted(left.T.tolist()) == sorted(mine_left.T.tolist())
            seen[(1 << two).sum()] += 1
        six = seen[seen > 0]
        assert audit_sampler(six, np.full(6, 1 / 6), confidence=1 - 1e-6).passed


@pytest.fixture
def silent(monkeypatch: Patch) -> None:
    """Noise that is always 0: what is computed from the noisy numbers can be followed by hand."""
    monkeypatch.setattr(rank, "exact_noise", lambda scale, below: 0)


def known_below(k: int) -> int:
    """A source of bits that is no secret."""
    return random.randrange(k)


def test_epsilon_is_never_rounded_up() -> None:
    assert exact_epsilon("0.1") == Fraction(1, 10) == exact_epsilon(0.1) < Fraction(0.1)
    assert exact_epsilon(0.3) == Fraction(0.3) < Fraction(3, 10)
    with pytest.raises(ValueError):
        fraction_of("9e9999999")  # at once: it would have ten million digits
    assert exact_epsilon("1/3") == Fraction(1, 3) and exact_epsilon(2) == 2
    for bad in ("0", "51", "nan", "inf", "one", True, None, -1, float("nan"), "1/0", "1e-9"):
        with pytest.raises(ValueError, match=r"epsilon = .*allowed is a number from 1e-6 to 50"):
            exact_epsilon(bad)  # type: ignore[arg-type]


def test_the_scale_is_the_sensitivity_over_epsilon() -> None:
    data = comparisons([(1, 0, 1), (2, 0, 2)], 3)
    release = rank_privately(data, epsilon="0.3", protect="person", max_answers=5)
    assert (release.l1, release.scale) == (20, Fraction(200, 3))
    assert release.released.dtype == np.int64 and release.sampler == "book"
    assert rank_privately(data, epsilon=1, protect="comparison").scale == 4
    rankings = Answers("rankings", ("a", "b", "c"), False, np.array([[0, 1, 2]]), np.array([1]))
    release = rank_privately(rankings, epsilon=2, protect="person")
    assert (release.l1, release.scale, release.max_answers) == (4, 2, 1)


@pytest.mark.usefixtures("silent")
def test_the_ranking_follows_the_noisy_numbers(tmp_path: Path) -> None:
    table = np.zeros((4, 4), dtype=int)
    table[2, 0], table[2, 1], table[1, 3], table[0, 3] = 900, 500, 300, 10
    release = rank_privately(counts(table), epsilon=1, protect="comparison", below=known_below)
    assert [row.item for row in release.ranking] == ["c", "b", "d", "a"]
    assert [row.noisy for row in release.ranking] == [1400, -200, -310, -890]
    assert [row.best for row in release.ranking] == [row.worst for row in release.ranking]
    assert release.ranking[0].reversal_probability == reversal_probability(1600, Fraction(4))
    assert release.sampler == "repeatable" and "A DEMONSTRATION, NOT A RELEASE" in release.statement
    with pytest.raises(ValueError, match="sampler = 'repeatable': allowed are 'book', 'opendp'"):
        release.write(tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())
    how = {"epsilon": 1, "protect": "comparison", "below": known_below}
    close = rank_privately(counts([[0, 9], [8, 0]]), **how)
    assert [(row.best, row.worst) for row in close.ranking] == [(1, 2), (1, 2)]


def test_places_hold_together_as_often_as_promised() -> None:
    """True places lie in all the ranges in at least 95 of 100 releases: never below by chance."""
    table = np.triu(np.full((5, 5), 8), 1) + np.tril(np.full((5, 5), 3), -1)
    truth = {item: k for k, item in enumerate("abcde", 1)}
    good = 0
    for _ in range(400):
        ranking = rank_privately(counts(table), epsilon=1, protect="comparison").ranking
        good += all(row.best <= truth[row.item] <= row.worst for row in ranking)
    assert good >= 355  # a chance of 0.95 gives fewer once in a million


@pytest.mark.usefixtures("silent")
def test_pairs_are_fitted() -> None:
    table = np.array([[0, 30, 900], [10, 0, 5], [300, 2, 0]])
    how = {"epsilon": 8, "protect": "comparison", "below": known_below}
    release = rank_privately(counts(table), statistic="pairs", **how)
    assert [row.item for row in release.ranking] == ["a", "b", "c"]
    assert np.array_equal(release.released, table)
    assert all(0 <= row.reversal_probability <= 0.5 for row in release.ranking[:2])
    assert release.ranking[0].best is None
    # what wins minus defeats get wrong, since b is hardly asked about
    net = rank_privately(counts(table), **how)
    assert net.ranking[1].item == "b" and net.ranking[1].noisy < 0


def test_counts_protect_a_person_only_by_somebodys_word() -> None:
    data = counts([[0, 5], [3, 0]])
    with pytest.raises(ValueError, match="nobody can bound what one person adds"):
        rank_privately(data, epsilon=1, protect="person", max_answers=2)
    release = rank_privately(data, epsilon=1, protect="person", max_answers=2, vouched=True)
    assert release.l1 == 8 and "nobody checked this" in release.statement
    rankings = Answers("rankings", ("a", "b"), True, np.array([[0, 1]]), np.array([1]))
    with pytest.raises(ValueError, match="protect = 'comparison' with rankings"):
        rank_privately(rankings, epsilon=1, protect="comparison")
    with pytest.raises(ValueError, match="statistic = 'net' with rankings: allowed is 'wins'"):
        rank_privately(rankings, epsilon=1, protect="person", statistic="net")


def test_what_is_written(tmp_path: Path) -> None:
    release = rank_privately(counts([[0, 900], [100, 0]]), epsilon="1/2", protect="comparison")
    table, statement = release.write(tmp_path / "out.csv")
    lines = table.read_text().splitlines()
    assert lines[0] == "place,item,noisy_score,reversal_probability,best,worst"
    assert lines[1].startswith("1,a,") and lines[1].endswith(",1,1") and len(lines) == 3
    told = json.loads(statement.read_text())
    assert statement.name == "out.privacy.json"
    assert told["epsilon"] == "1/2" and told["scale"] == "8" and told["l1_sensitivity"] == 4
    assert told["noisy"] == release.released.tolist() and told["statement"] == release.statement
    for part in ("Not protected", "one comparison", "adds its epsilon", "given beforehand"):
        assert part in release.statement
    with pytest.raises(ValueError, match=r"out.csv exists: allowed is a new file"):
        release.write(tmp_path / "out.csv")
    table.unlink()
    with pytest.raises(ValueError, match=r"out.privacy.json exists"):
        release.write(tmp_path / "out.csv")
    release.write(tmp_path / "out.csv", force=True)
    with pytest.raises(ValueError, match="is no folder: allowed is one that exists"):
        release.write(tmp_path / "none" / "out.csv")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.csv", "out.privacy.json"]


@pytest.mark.parametrize("name", ["out.csv", "out.privacy.json"])
def test_a_file_that_comes_meanwhile_is_kept(tmp_path: Path, monkeypatch: Patch, name: str) -> None:
    """Between the look and the writing somebody else has written."""
    release = rank_privately(counts([[0, 9], [1, 0]]), epsilon=1, protect="comparison")

    def looked(path: Path, *, force: bool) -> tuple[Path, Path]:
        pair = rank_out_files(path, force=force)
        (tmp_path / name).write_text("another's")
        return pair

    monkeypatch.setattr(releases, "out_files", looked)
    with pytest.raises(FileExistsError):
        release.write(tmp_path / "out.csv")
    assert (tmp_path / name).read_text() == "another's"
    assert not list(tmp_path.glob(".*"))  # no part is left
