"""Locked numbers: what may move, what may not, and what is said."""

import json

import pytest

from dpbook.book.ledger import lock
from dpbook.book.pages import PageError

HERE = {"seed": 1}


def record(report, parameters=HERE, **fields):
    base = {"id": "A", "notebook": "01-one", "report": report, "parameters": parameters}
    return base | fields


def row(mean, sd=0.01, runs=10, p=0.5, noise="fresh"):
    extra = {"sd": 1.0, "replicates": 5}
    return {"mean": mean, "sd_between": sd, "runs": runs, "p": p, "noise": noise} | extra


@pytest.fixture
def root(tmp_path):
    (tmp_path / "book").mkdir()
    return tmp_path


def written(root, *records):
    return lock.renew(root, records, {"01-one": HERE}, write=True)


@pytest.mark.parametrize(
    ("locked", "found", "problem"),
    [
        (1.3068528194, 1.3068528194, None),
        (1.3068528194, 1.3068548, None),  # half a unit in the sixth digit is 5e-6
        (1.3068528194, 1.306858, "x is 1.306858, but 1.3068528194 is locked, tolerance 5e-06"),
        (1.3068528194, 1.01 * 1.3068528194, "is locked"),
        (1.3068528194, 1.306847, "x is 1.306847, but 1.3068528194 is locked"),
        (3, 2, "x is 2, but 3 is locked, tolerance 0"),
        (1234567.0, 1234571.0, None),
        (1234567.0, 1234573.0, "tolerance 5"),
        (2, 2, None),
        (2, 3, "x is 3, but 2 is locked, tolerance 0"),
        (0.0, 1e-300, "tolerance 0"),
        ([1, 2.5], [1, 2.5], None),
        ([1, 2.5], [1, 2.6], "x[1] is 2.6, but 2.5 is locked"),
        ([{"n": 3, "loss": 0.5, "name": "a"}], [{"n": 3, "loss": 0.6, "name": "a"}], "x[0].loss"),
    ],
)
def test_a_number_stays_as_it_is_to_a_reader(root, locked, found, problem):
    written(root, record({"x": locked}))
    problems = lock.problems(root, [record({"x": found})], complete=True)
    assert len(problems) == (problem is not None)
    assert problem is None or problem in problems[0]


def test_simulated_means_are_compared_exactly_at_the_parameters_of_the_lock(root):
    written(root, record({"t": [row(0.5), row(0.7, p=0.9)]}))
    assert lock.problems(root, [record({"t": [row(0.5), row(0.7, p=0.9)]})], True) == []
    (problem,) = lock.problems(root, [record({"t": [row(0.5), row(0.70001, p=0.9)]})], True)
    assert "t[noise=fresh, p=0.9] is 0.70001, but 0.7 is locked" in problem


def test_simulated_means_are_compared_by_their_errors_elsewhere(root):
    written(root, record({"t": [row(0.5), row(0.7, p=0.9)]}))

    def problems(*rows):
        return lock.problems(root, [record({"t": list(rows)}, parameters={"seed": 2})], True)

    # The error of the difference is 0.01 * sqrt(2 / 10), and t with 9 degrees of freedom exceeds
    # 27.7 with probability 1e-9 / 4 on each side: what differs by more than 0.124 is seen.
    assert problems(row(0.5 + 0.12), row(0.7, p=0.9)) == []
    (problem,) = problems(row(0.5 + 0.13), row(0.7, p=0.9))
    assert "t[noise=fresh, p=0.5] is 0.63, but 0.5 is locked, tolerance 0.12" in problem
    # another row of the table is missing, one is new
    found = problems(row(0.5), row(0.7, p=0.8))
    assert any("p=0.8] is not in book/reports.lock" in line for line in found)
    assert any("p=0.9] is in book/reports.lock, but nothing reports it" in line for line in found)


def test_missing_and_left_over_numbers(root):
    (problem,) = lock.problems(root, [record({"x": 1.0})], True)
    assert problem == "book/reports.lock is missing or not readable: `dpbook lock` writes it"
    assert lock.problems(root, [record({})], True) == []
    written(root, record({"x": 1.0}), record({"y": 1.0}, id="B"))
    (problem,) = lock.problems(root, [record({"x": 1.0})], complete=True)
    assert problem == "B: y is in book/reports.lock, but nothing reports it"
    assert lock.problems(root, [record({"x": 1.0})], complete=False) == []
    whole = '{"X": {"parameters": {}, "numbers": {"a": {}}}}'
    for torn in ("torn", "[1, 2]", '{"X": {}}', '{"X": {"parameters": {}, "numbers": 1}}', whole):
        (root / lock.FILE).write_text(torn)
        assert "not readable" in lock.problems(root, [record({"x": 1.0})], True)[0]
        assert lock.renew(root, [record({"x": 1.0})], {"01-one": HERE}, write=False)


def test_renewing_shows_the_changes(root):
    assert written(root, record({"x": 1.0, "y": 2})) == ["A: x: - -> 1.0", "A: y: - -> 2"]
    before = (root / lock.FILE).read_text()
    assert json.loads(before)["A"]["numbers"]["y"] == {"value": 2, "tolerance": 0}
    shown = lock.renew(root, [record({"x": 1.5})], {"01-one": HERE}, write=False)
    assert shown == ["A: x: 1.0 -> 1.5", "A: y: 2 -> -"]
    assert (root / lock.FILE).read_text() == before
    assert written(root, record({"x": 1.5})) == shown
    assert written(root, record({"x": 1.5})) == []
    with pytest.raises(PageError, match="01-one ran at other parameters than its defaults"):
        lock.renew(root, [record({"x": 1.5}, parameters={"seed": 2})], {"01-one": HERE}, write=True)
