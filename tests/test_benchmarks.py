"""The benchmark harness: its own arithmetic and its judgements; no times are measured here."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from benchmarks import aggregation, fit, harness, scale

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


@pytest.mark.parametrize("task", scale.TASKS[3:8], ids=lambda task: task.name)
def test_large_sizes_work_when_they_are_small(task, monkeypatch):
    monkeypatch.setattr(scale, "VOTES", 20_000)
    assert task.errors(None, task.sides["ours"](None)(), None)[0] < 0.5
