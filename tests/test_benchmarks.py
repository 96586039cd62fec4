"""The benchmark harness: its own arithmetic and its judgements; no times are measured here."""

import dataclasses
import json
import tomllib
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

from benchmarks import aggregation, fit, harness, run, scale

ROOT = Path(__file__).resolve().parents[1]
TASK = harness.Task("case", "peer", {}, None, target=20.0, tolerance=1e-8, repeats=(1, 1))
SECONDS = ((1.0, 30.0), (2.0, 20.0), (4.0, 80.0))  # ratios 30, 10, 20


def judge(errors=(0.0, 0.0), **changes):
    ours = [{"seconds": ours, "peak_mb": 50.0, "cpu_s": 1.5} for ours, _ in SECONDS]
    theirs = [{"seconds": peer} for _, peer in SECONDS]
    return harness.judge(dataclasses.replace(TASK, **changes), ours, theirs, [(0, 0), errors])


@pytest.mark.parametrize(
    ("errors", "changes", "passed"),
    [
        ((1e-8, 1e-8), {}, True),
        ((0.0, 0.0), {"target": 20.001}, False),
        ((0.0, 2e-8), {}, False),
        ((np.nan, 0.0), {}, False),
        ((0.0, np.nan), {}, False),
        ((0.0, 0.0), {"limit_mb": 50.0}, True),
        ((0.0, 0.0), {"limit_mb": 49.0}, False),
    ],
)
def test_a_case_passes_when_ratio_accuracy_and_memory_all_do(errors, changes, passed):
    assert judge(errors, **changes)["passed"] is passed


def test_the_ratio_is_the_median_over_the_rounds_and_a_line_says_what_was_measured():
    assert [judge()[key] for key in ("ours_s", "peer_s", "ratio")] == [2.0, 30.0, 20.0]
    text = harness.line(judge((1e-9, 2e-10)))
    words = "pass  case |ours  2000.0|peer  30000.0|ratio   20.0 (target 20)|1e-09, 2e-10"
    assert all(one in text for one in words.split("|"))
    assert "memory" not in text and "processor" not in text
    assert harness.line(judge(target=99.0)).startswith("MISS")
    assert "memory 50 MB (at most 49)" in harness.line(judge(limit_mb=49.0))
    assert harness.line(judge(repeats=(0, 0))).endswith("; processor time 1.50 s")


@pytest.mark.parametrize("number", [1, 3])
def test_a_process_takes_turns_with_the_peer_or_meets_a_limit(monkeypatch, number):
    commands, peer = [], aggregation.TASKS[number].peer
    results = {"ours": np.array([[5.0, 5.0]]), "corankco": np.array([[5.0, 6.0]])}

    def process(command):
        commands.append(command[5])
        seconds = 0.25 if command[5] == "ours" else 30.0
        return {"seconds": seconds, "peak_mb": 1.0, "cpu_s": 0.1}, results[command[5]]

    monkeypatch.setattr(harness, "run", process)
    task = dataclasses.replace(aggregation.TASKS[number], rounds=2)
    row = harness.measure(task, "aggregation", number)
    assert commands == [who for who in ("ours", peer) if who in results] * 2
    assert row["ratio"] == (4.0 if number == 3 else 120.0)
    assert (row["passed"], row["accuracy_peer"]) == (number == 3, float(number == 1))


def test_a_task_in_a_process_of_its_own_counts_each_entry(tmp_path, monkeypatch, capsys):
    task = dataclasses.replace(fit.TASKS[0], data=partial(fit.draw, "counts", 40, 5))
    monkeypatch.setattr(fit, "TASKS", [task])
    (tmp_path / "data").write_bytes(harness.pickle.dumps(task.data()))
    harness.main("fit", "0", "ours", "2", str(tmp_path))
    process, theta = json.loads(capsys.readouterr().out), np.load(tmp_path / "result.npy")
    assert theta.shape == (5, 40) and 0 < process["seconds"] < 1 and process["peak_mb"] > 10
    one, other = task.errors(task.data(), theta, theta * np.nan)
    assert one <= fit.ACCURACY and not other <= fit.ACCURACY


def test_only_the_named_rows_are_measured_anew(monkeypatch, tmp_path):
    output = tmp_path / "bench.json"
    tasks = [task for module in run.MODULES.values() for task in module.TASKS]
    names = [(task.name, task.peer) for task in tasks]
    assert len(set(names)) == len(names)
    old = [{**judge(), "case": name, "peer": peer} for name, peer in names]
    output.write_text(json.dumps(old), encoding="utf-8")
    monkeypatch.setattr(run, "machine", lambda: "")
    monkeypatch.setattr(run, "measure", lambda *_: judge(target=99.0, name="new"))
    monkeypatch.setattr("sys.argv", ["run", "--output", str(output), "--only", "n = 7"])
    assert run.main() == 1  # the new row missed its target
    rows = [row["case"] for row in json.loads(output.read_text(encoding="utf-8"))]
    assert {name for name, _ in names} - {*rows} == {"optimal mechanism, n = 7, k = 3"}


def test_work_on_all_cores_is_compared_by_processor_time_and_the_memory_of_the_peer():
    ours = {"seconds": 1.0, "cpu_s": 6.0, "peak_mb": 400.0}
    task = dataclasses.replace(TASK, by="cpu_s", target=5 / 6, share=0.5)
    for seconds, peak, passed in ((5.0, 800.0, True), (4.9, 800.0, False), (5.0, 799.0, False)):
        peer = {"seconds": 9.0, "cpu_s": seconds, "peak_mb": peak}
        row = harness.judge(task, [ours], [peer], [(0.0, 0.0)])
        assert row["passed"] is passed and row["ratio"] == seconds / 6


@pytest.mark.parametrize("who", ["ours", "plain", "polars", "duckdb"])
def test_every_program_ranks_the_file(who, monkeypatch):
    pytest.importorskip("duckdb" if who == "plain" else {"ours": "duckdb"}.get(who, who))
    monkeypatch.setattr(scale, "LINES", 400_000)
    scale.lines.cache_clear()
    order = scale.ranked_file(who, scale.lines())()
    assert scale.wrong(None, order, None)[0] < 0.4


def test_the_residual_of_two_items_vanishes_at_the_known_fit():
    data = fit.Data(2, np.zeros(4, int), np.ones(4, int), np.array([[True, True, True, False]]))
    theta = np.array([[np.log(3) / 2, -np.log(3) / 2]])
    assert fit.residual(data, theta, 0.0) < 1e-15
    assert fit.residual(data, np.zeros((1, 2)), 0.0) == 1.0  # two expected wins, three seen
    assert fit.residual(data, theta, 2.0) == pytest.approx(np.log(3))


@pytest.mark.parametrize("name", aggregation.SOLUTIONS)
def test_a_solution_of_table_3_ranks_the_items_of_its_column(name):
    task = next(t for t in aggregation.TASKS if t.name == f"Table 3: {name} 793 x 4")
    assert task.errors(task.data(), task.sides["ours"](task.data())(), None) == (0.0, 0.0)
    assert task.errors(task.data(), np.arange(5), None)[0] == np.inf


def test_the_pinned_peers_lie_in_the_ranges_of_the_extra():
    lines = (ROOT / "benchmarks" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(row.split("==") for row in lines if "==" in row)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ranges = [Requirement(row) for row in project["optional-dependencies"]["bench"]]
    assert {r.name for r in ranges} == {*run.PEERS, *run.ENGINES}
    assert all(pins[r.name] in r.specifier for r in ranges)


@pytest.mark.parametrize("task", scale.TASKS[3:8], ids=lambda task: task.name)
def test_large_sizes_work_when_they_are_small(task, monkeypatch):
    monkeypatch.setattr(scale, "VOTES", 20_000)
    assert task.errors(None, task.sides["ours"](None)(), None)[0] < 0.5
