"""Sweeps: grids that are refused, tasks that are kept, and the same records wherever they ran.

What can be tested without a kernel is: `played` stands in for the runner.
"""

import csv
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dpbook.book.cli import main
from dpbook.book.files import write_whole
from dpbook.book.ledger.check import RECORD_MIME
from dpbook.book.pages import PageError
from dpbook.book.run import sweep as sweeping
from dpbook.book.run.runner import Outcome
from dpbook.book.run.sweep import plan

ROOT = Path(__file__).resolve().parents[2]
LEDGER = """
- {id: A, paper: XSC, where: here, kind: dataset, says: s, notebook: 01-one, status: checked,
   rests_on: [], verdict: definition, evidence: exact, report: [loss]}
"""
RECORD = {
    **{"id": "A", "verdict": "definition", "evidence": "exact", "applies": True, "why": None},
    **{"repaired": None, "control": None, "notebook": None, "parameters": None},
    "measured": [{"subject": "printed", "name": "", "passes": True, "parts": []}],
}
#: A page whose claim fails from epsilon = 5 on.
CODE = f"""
from IPython.display import display
record = {RECORD!r} | {{"holds": epsilon < 5, "report": {{"loss": epsilon / 3}}}}
display({{{RECORD_MIME!r}: record, "text/plain": "card"}}, raw=True)
"""
GRID = "profile: smoke\npages:\n  1: {epsilon: [0.5, 1.0, 2], n_items: [3, 4]}\n"


@pytest.fixture
def book(tiny_book, page_writer):
    """The tiny book with a claim on its first page, and a grid of six settings."""
    (tiny_book / "book" / "claims.yml").write_text(LEDGER)
    (tiny_book / "grid.yml").write_text(GRID)
    page_writer(tiny_book / "notebooks" / "01-one.ipynb", CODE, title="One")
    return tiny_book


@pytest.fixture
def played(monkeypatch):
    """In place of kernels: ``ran`` lists the settings, ``errors`` gives the errors to come."""
    told: dict[str, Any] = {"ran": [], "errors": {}}

    def run_pages(jobs, *, done, **_):
        for job in jobs:
            epsilon = job.parameters["epsilon"]
            told["ran"].append((epsilon, job.parameters["n_items"]))
            errors = told["errors"].get(epsilon, [])
            if errors and (error := errors.pop(0)):
                done(Outcome(job, 1.0, error))
                continue
            record = RECORD | {"holds": epsilon < 5, "report": {"loss": epsilon / 3}}
            data = {RECORD_MIME: record}
            cells = [{"outputs": [{"data": data}]}]
            stamp = {"dpbook": {"parameters": job.parameters}}
            write_whole(job.target, json.dumps({"cells": cells, "metadata": stamp}))
            done(Outcome(job, 1.0))

    monkeypatch.setattr(sweeping, "run_pages", run_pages)
    return told


def swept(book, out="out", *more):
    return main(["sweep", str(book / "grid.yml"), "--output", str(book / out), *more], book)


def tables(book, out="out"):
    return (book / out / "claims.json").read_text(), (book / out / "claims.csv").read_text()


BAD = {
    **dict.fromkeys(
        ("- 1", "pages: [1]", "pages: {}", "profil: x"), "allowed are `pages`, a mapping"
    ),
    "pages: {1: {}}\nprofil: x": "allowed are `pages`",
    "[": "cannot be read",
    "pages: {three: {}}": "'three' fits no page; the pages are 01-one, 02-two",
    "pages: {1: 5}": "01-one: 5; allowed: parameters with lists of values, or a list of",
    "pages: {1: []}": "01-one: []; allowed",
    "pages: {1: {epsilon: 5}}": "01-one: epsilon = 5 is not a list of values",
    "pages: {1: {epsilon: []}}": "01-one: epsilon = [] is not a list of values",
    "pages: {1: {}}\nprofile: none": "no profile 'none'; notebooks/profiles.yml has default, smoke",
    "pages: {1: {epsilon: [0.5, 11]}}": "page 01-one: epsilon = 11 is outside the allowed values",
    "pages: {1: {epsilom: [1]}}": "page 01-one: no parameter 'epsilom'; there are epsilon, n_items",
    "pages: {2: [{}, {n_items: few}]}": "page 02-two: n_items = 'few' has the wrong type",
}


@pytest.mark.parametrize("grid", BAD)
def test_a_bad_grid_is_refused_before_anything_runs(book, played, capsys, grid):
    (book / "grid.yml").write_text(grid)
    assert swept(book) == 2
    said = capsys.readouterr().err
    assert BAD[grid] in said and said.count("\n") == 1
    assert played["ran"] == [] and not (book / "out").exists()
    with pytest.raises(PageError, match="cannot be read"):
        plan(book, book / "nowhere.yml")


def test_settings_are_products_or_listed_and_each_runs_once(book):
    tasks = plan(book, book / "grid.yml")
    assert [tuple(t.given.values()) for t in tasks] == [
        *((0.5, 3), (0.5, 4), (1.0, 3)),
        *((1.0, 4), (2, 3), (2, 4)),
    ]
    assert tasks[-1].parameters == {"epsilon": 2.0, "n_items": 4}
    grid = "profile: smoke\npages:\n  one: [{epsilon: 2}, {n_items: 3, epsilon: 2.0}, {}]\n  2:\n"
    (book / "grid.yml").write_text(grid)
    tasks = plan(book, book / "grid.yml")
    assert [t.words for t in tasks] == ["01-one epsilon=2", "01-one", "02-two"]
    assert [t.parameters["n_items"] for t in tasks] == [3, 3, 4], "the profile, then the default"


def test_what_ran_is_kept_and_not_run_again(book, played, capsys):
    assert swept(book) == 0
    assert len(played["ran"]) == 6 and "6 tasks: 6 to run, 0 done" in capsys.readouterr().out
    first = tables(book)
    files = sorted((book / "out" / "tasks").iterdir())
    files[0].write_text("torn")
    files[1].unlink()
    assert swept(book) == 0
    assert len(played["ran"]) == 8 and tables(book) == first
    page = book / "notebooks" / "01-one.ipynb"
    page.write_text(page.read_text().replace("epsilon / 3", "epsilon / 3.0"))
    assert swept(book) == 0 and len(played["ran"]) == 14, "another page, other tasks"
    rows = list(csv.DictReader(first[1].splitlines()))
    assert len(rows) == len(json.loads(first[0])) == 6
    assert json.loads(rows[0]["setting"]) == {"epsilon": 0.5, "n_items": 3}
    assert rows[0]["claim"] == "A" and json.loads(rows[0]["report"]) == {"loss": 0.5 / 3}
    assert {row["problems"] for row in rows} == {""}


def test_contradictions_and_failing_pages_are_told_and_the_rest_goes_on(
    book, played, monkeypatch, capsys
):
    (book / "grid.yml").write_text("pages: {1: {epsilon: [0.5, 6, 7]}}")
    played["errors"] = {7.0: ["cell 2: ValueError: no"]}
    assert swept(book) == 1
    said = capsys.readouterr().err
    assert "01-one epsilon=6: A (01-one): holds is False, but the verdict definition" in said
    assert "01-one epsilon=7 did not run: cell 2: ValueError: no" in said
    assert len(json.loads(tables(book)[0])) == 2
    assert swept(book) == 1, "what is kept still contradicts; what failed runs again, and passes"
    assert len(played["ran"]) == 4 and len(json.loads(tables(book)[0])) == 3
    monkeypatch.setattr(sweeping, "records_in", lambda path: iter(()))
    assert swept(book, "other") == 1
    assert "A (01-one): is checked but has no record" in capsys.readouterr().err


CLUSTER = """
import pathlib, sys
from distributed import Client, LocalCluster
from dpbook.book.run.sweep import sweep

if __name__ == "__main__":
    root = pathlib.Path(sys.argv[1])
    local = {"host": "127.0.0.1", "dashboard_address": None, "processes": True}
    with LocalCluster(n_workers=1, threads_per_worker=1, **local) as cluster:
        how = {"jobs": 1, "timeout": 200, "scheduler": cluster.scheduler_address}
        status = sweep(root, root / "grid.yml", root / "there", **how)
    sys.exit(status)
"""


def test_one_machine_and_a_cluster_find_the_same(book, monkeypatch, capsys):
    (book / "grid.yml").write_text("pages: {1: {epsilon: [0.5, 1]}}")
    assert swept(book, "one", "--jobs", "2") == 0
    assert len(json.loads(tables(book, "one")[0])) == 2
    if importlib.util.find_spec("distributed") is None:
        pytest.skip("the rest needs Dask: pip install '.[scale]' in the sources")
    script = book / "notebooks" / "cluster.py"  # not beside the tiny dpbook
    script.write_text(CLUSTER)
    how = {"env": os.environ | {"PYTHONPATH": str(ROOT)}, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, str(script), str(book)], **how)
    assert done.returncode == 0, done.stdout + done.stderr
    assert tables(book, "there") == tables(book, "one")
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert swept(book, "out", "--scheduler", "tcp://127.0.0.1:1") == 2
    advice = "--scheduler needs Dask: pip install '.[scale]' in the sources"
    assert advice in capsys.readouterr().err
