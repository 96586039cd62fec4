"""The benchmark harness: its own arithmetic and its judgements; no times are measured here."""

import dataclasses
import json
import tomllib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from packaging.requirements import Requirement

from benchmarks import aggregation, cases, optimum, ours_aggregation, peer_loop, run, scale
from benchmarks.table import compare, line
from dpbook.models import all_rankings, mallows_expected_distance, mallows_pmf
from dpbook.rankers import PairResponses

ROOT = Path(__file__).resolve().parents[1]
SECONDS = ([1.0, 2.0, 4.0], [30.0, 20.0, 80.0])  # ratios 30, 10, 20
FAIR = {"target": 20.0, "tolerance": 1e-8, "peak_mb": 50.0}


def judge(accuracy=(0.0, 0.0), **changes):
    return compare("case", "peer", SECONDS, accuracy, **{**FAIR, **changes})


def test_the_ratio_is_the_median_over_the_rounds_and_not_the_ratio_of_the_medians():
    result = judge()
    assert (result["ours_s"], result["peer_s"], result["ratio"]) == (2.0, 30.0, 20.0)


@pytest.mark.parametrize(
    ("accuracy", "changes", "passed"),
    [
        ((1e-8, 1e-8), {}, True),
        ((0.0, 0.0), {"target": 20.001}, False),
        ((2e-8, 0.0), {}, False),
        ((0.0, 2e-8), {}, False),
        ((np.nan, 0.0), {}, False),
        ((0.0, np.nan), {}, False),
        ((0.0, 0.0), {"peak_mb_limit": 50.0}, True),
        ((0.0, 0.0), {"peak_mb_limit": 49.0}, False),
    ],
)
def test_a_case_passes_when_ratio_accuracy_and_memory_all_do(accuracy, changes, passed):
    assert judge(accuracy, **changes)["passed"] is passed


def test_rounds_of_different_number_are_refused():
    with pytest.raises(ValueError, match="zip"):
        compare("case", "peer", ([1.0], [1.0, 2.0]), (0.0, 0.0), **FAIR)


def test_a_line_says_what_was_measured():
    text = line(judge((1e-9, 2e-10)))
    assert text.startswith("pass  case ")
    for words in ("ours  2000.0", "peer  30000.0", "ratio   20.0 (target 20)", "1e-09, 2e-10"):
        assert words in text
    assert "memory" not in text and "processor" not in text
    assert line(judge(target=99.0)).startswith("MISS")
    assert line(judge(peak_mb_limit=49.0)).endswith("peak memory 50 MB (at most 49)")


# --- paired comparisons ---------------------------------------------------------------------


def test_the_residual_of_two_items_vanishes_at_the_known_fit():
    data = cases.Data(2, np.zeros(4, int), np.ones(4, int), np.array([[True, True, True, False]]))
    theta = np.array([[np.log(3) / 2, -np.log(3) / 2]])
    assert cases.residual(data, theta, 0.0) < 1e-15
    assert cases.residual(data, np.zeros((1, 2)), 0.0) == 1.0  # two expected wins, three seen
    assert cases.residual(data, theta, 2.0) == pytest.approx(np.log(3))
    assert np.isnan(cases.residual(data, theta * np.nan, 0.0))


def test_a_case_alternates_and_takes_the_worst_fit(monkeypatch):
    case = dataclasses.replace(cases.CASES[0], n_items=2, target=10.0)
    data = cases.Data(2, np.zeros(4, int), np.ones(4, int), np.array([[True, True, True, False]]))
    good = np.array([[np.log(3) / 2, -np.log(3) / 2]])
    calls = []

    def work(position, who, repeats):
        calls.append(who)
        theta = good * np.nan if (who, len(calls)) == bad else good
        return {"seconds": 1.0 if who == "ours" else 12.0, "peak_mb": float(len(calls))}, theta

    monkeypatch.setattr(run, "draw", lambda case: data)
    monkeypatch.setattr(run, "work", work)
    bad = None
    result = run.measure(0, case, 3)
    assert calls == ["ours", "evalica"] * 3
    assert (result["ratio"], result["passed"], result["peak_mb"]) == (12.0, True, 5.0)
    calls.clear()
    bad = ("evalica", 2)
    assert run.measure(0, case, 3)["passed"] is False


def test_the_optimum_is_judged_by_gap_value_and_time(monkeypatch):
    value = {"ours": 0.5, "peer": 0.5}

    def work(program, who):
        seconds = 2.0 if who == "ours" else 300.0
        return {"seconds": seconds, "cpu": 1.5, "value": value[who], "gap": 1e-12, "peak_mb": 1.0}

    monkeypatch.setattr(optimum, "work", work)
    against, limited = optimum.PROGRAMS[:2]
    assert optimum.measure(against)["ratio"] == 150.0
    assert optimum.measure(against)["passed"] is True
    assert optimum.measure(limited)["ratio"] == limited.limit_s / 2
    assert line(optimum.measure(limited)).endswith("; processor time 1.50 s")
    value["peer"] = 0.5 + 1e-6
    assert optimum.measure(against)["passed"] is False


def test_only_the_named_rows_are_measured_anew(monkeypatch, tmp_path, capsys):
    output = tmp_path / "bench.json"
    names = [(name, peer) for name, peer, _ in run.jobs(1)]
    old = [{**judge(), "case": name, "peer": peer, "passed": True} for name, peer in names]
    output.write_text(json.dumps(old), encoding="utf-8")
    monkeypatch.setattr(run, "machine", lambda: "")
    monkeypatch.setattr(
        optimum, "measure", lambda program: {**judge(target=99.0), "case": program.name}
    )
    monkeypatch.setattr("sys.argv", ["run", "--output", str(output), "--only", "n = 7"])
    assert run.main() == 1  # the new row missed its target
    rows = json.loads(output.read_text(encoding="utf-8"))
    assert [row["case"] for row in rows] == [name for name, _ in names]
    assert [row["case"] for row in rows if not row["passed"]] == ["optimal mechanism, n = 7, k = 3"]
    assert "MISS" in capsys.readouterr().out
    assert len(set(names)) == len(names)


# --- whole rankings -------------------------------------------------------------------------


def task(kind, peer):
    return next(t for t in aggregation.TASKS if (t.kind, t.peer) == (kind, peer))


@pytest.mark.parametrize("phi", [0.3, 0.9, 1.0])
def test_the_moments_of_the_distance_agree_with_the_enumerated_law(phi):
    rankings, law = all_rankings(6), mallows_pmf(6, phi)
    i, j = np.triu_indices(6, 1)
    distance = (rankings[:, i] > rankings[:, j]).sum(axis=1)
    mean, variance = aggregation.distance_moments(6, phi)
    assert mean == pytest.approx(law @ distance)
    assert mean == pytest.approx(mallows_expected_distance(6, phi))
    assert variance == pytest.approx(law @ distance**2 - (law @ distance) ** 2)


@pytest.mark.parametrize("kind", ["sample", "kemeny"])
def test_the_harness_draws_rankings_around_the_identity(kind):
    data = aggregation.draw(kind)
    profiles, users, items = data.shape
    assert (profiles, users, items) == ((1, 5000, 45) if kind == "sample" else (4, 100, 20))
    assert (np.sort(data, axis=2) == np.arange(items)).all()
    if kind == "sample":  # its own sample meets what it asks of others
        assert aggregation.error(kind, data[0]) <= aggregation.tolerance(kind) < 0.02


def test_a_wrong_sample_is_seen():
    rankings = aggregation.draw("sample")[0]
    assert aggregation.error("sample", np.zeros_like(rankings)) == np.inf
    for wrong in (np.tile(np.arange(45), (5000, 1)), 44 - rankings):
        assert aggregation.error("sample", wrong) > aggregation.tolerance("sample")


def test_the_other_results_must_be_exact():
    assert [aggregation.tolerance(k) for k in ("count", "kemeny", "bound", "local")] == [0.0] * 4
    assert aggregation.error("bound", np.array([[7.0, 7.0], [9.0, 8.0]])) == 1.0
    assert aggregation.error("local", np.random.default_rng(0).permutation(45)) == 0.0
    assert aggregation.error("local", np.zeros(45, int)) == np.inf


def test_a_count_that_differs_by_one_fails(monkeypatch):
    counts = {"ours": np.eye(3), "Python loop": np.eye(3)}

    def work(task, who, repeats, data):
        return {"seconds": 1.0 if who == "ours" else 300.0, "peak_mb": 1.0}, counts[who]

    monkeypatch.setattr(aggregation, "work", work)
    monkeypatch.setattr(aggregation, "draw", lambda kind: np.zeros((1, 1, 3), int))
    assert aggregation.measure(task("count", "Python loop"))["passed"] is True
    counts["ours"] = 2 * np.eye(3)
    result = aggregation.measure(task("count", "Python loop"))
    assert (result["passed"], result["accuracy_peer"]) == (False, 1.0)


def test_a_limit_in_seconds_stands_for_the_peer(monkeypatch):
    def work(task, who, repeats, data):
        assert who == "ours"
        return {"seconds": 0.25, "peak_mb": 1.0}, np.array([[5.0, 5.0 - gap]])

    monkeypatch.setattr(aggregation, "work", work)
    monkeypatch.setattr(aggregation, "draw", lambda kind: np.zeros((1, 1, 3), int))
    gap = 0.0
    result = aggregation.measure(task("bound", aggregation.LIMIT))
    assert (result["ratio"], result["peer_s"], result["passed"]) == (4.0, 1.0, True)
    gap = 1.0  # a bound below the cost is no certificate
    assert aggregation.measure(task("bound", aggregation.LIMIT))["passed"] is False


@pytest.mark.parametrize("solution", aggregation.SOLUTIONS)
def test_a_solution_of_table_3_ranks_the_items_of_its_column(solution):
    kind = f"{solution} 793 x 4"
    assert kind in {t.kind for t in aggregation.TASKS}
    data = aggregation.draw(kind)
    assert data.shape == (1, 793, 4)
    assert aggregation.error(kind, ours_aggregation.prepare(kind, data)()) == 0.0
    assert aggregation.error(kind, np.arange(5)) == np.inf
    assert aggregation.tolerance(kind) == 0.0


def test_the_two_local_solutions_differ_in_the_randomiser(monkeypatch):
    asked = []
    monkeypatch.setattr(PairResponses, "sample", lambda self, *a, **k: asked.append(self.mechanism))
    data = np.tile(np.arange(4), (1, 3, 1))
    for solution in aggregation.SOLUTIONS:
        ours_aggregation.prepare(f"{solution} 3 x 4", data)()
    assert asked == ["response", "laplace"]


def test_our_counts_are_those_of_the_plain_loop():
    data = aggregation.draw("kemeny")[:1]
    ours = ours_aggregation.prepare("count", data)()
    assert np.array_equal(ours, peer_loop.prepare("count", data)())


def test_every_peer_has_a_module():
    folder = Path(aggregation.__file__).parent
    peers = {t.peer for t in aggregation.TASKS} - {aggregation.LIMIT}
    assert peers <= set(aggregation.MODULES)
    assert all((folder / f"{name}.py").is_file() for name in aggregation.MODULES.values())


def test_the_pinned_peers_lie_in_the_ranges_of_the_extra():
    lines = (ROOT / "benchmarks" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(row.split("==") for row in lines if "==" in row)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ranges = [Requirement(row) for row in project["optional-dependencies"]["bench"]]
    assert {r.name for r in ranges} == set(run.PACKAGES) - {"numpy", "scipy"}
    assert all(pins[r.name] in r.specifier for r in ranges)


def test_a_large_size_measures_itself_and_misses_a_limit(monkeypatch):
    size = scale.Size("small", lambda rng: lambda: np.array([0, 1, 3, 2]), 4, 5.0)
    found = scale.once(size)
    assert found["error"] == 1 / 6 and found["peak_mb"] > 10 and found["seconds"] < 1
    asked = []

    def run(command, **_):
        asked.append(command)
        return SimpleNamespace(stdout=json.dumps(found), returncode=0)

    monkeypatch.setattr(scale.subprocess, "run", run)
    assert scale.measure(replace(size, tolerance=0.2))["passed"]
    row = scale.measure(size)
    assert not row["passed"] and row["size"] and row["peer"] == aggregation.LIMIT
    for tight in ({"limit_s": 1e-12}, {"limit_mb": 1.0}):
        assert not scale.measure(replace(size, tolerance=0.2, **tight))["passed"]
    assert asked[0][-1] == "small"
    names = [size.name for size in scale.sizes()]
    assert len(set(names)) == len(names) and names[-1] == scale.FILE.name
    monkeypatch.setattr(scale.subprocess, "run", lambda *a, **o: SimpleNamespace(returncode=2))
    assert scale.FILE.name not in [size.name for size in scale.sizes()], "there is no command yet"


@pytest.mark.parametrize("size", scale.SIZES, ids=lambda size: size.name)
def test_large_sizes_work_when_they_are_small(size, monkeypatch):
    monkeypatch.setattr(scale, "VOTES", 20_000)
    monkeypatch.setattr(scale, "PEOPLE", 20_000)
    monkeypatch.setattr(scale.votes, "__defaults__", (20_000,))
    order = size.work(np.random.default_rng(1))()
    assert np.array_equal(np.sort(order), np.arange(size.truth))
