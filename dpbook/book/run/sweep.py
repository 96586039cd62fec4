"""Run pages over a grid of parameters, here or on a Dask cluster, and gather their claims.

The grid is a file of YAML that names pages, parameters and lists of their values::

    profile: smoke            # may be absent; the values below go on top of it
    pages:
      04-noisy-counts:        # every combination of these values
        epsilon: [0.5, 1.0]
        n_items: [4, 6]
      17:                     # or one setting after the other
        - {epsilon: 0.5}
        - {epsilon: 1.0, people: 100}

One task is one page at one setting, run as by ``dpbook run``.  What its claims recorded becomes a
file named by the page and by its key; such a task does not run again, unless it failed.  At the end
all of them are one table.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dpbook.book.files import read_json, sole_build, write_whole
from dpbook.book.ledger.claims import load_ledger
from dpbook.book.pages import Page, PageError, find_page, load_profile, validate
from dpbook.book.run.collect import ledger_problems, records_in
from dpbook.book.run.keys import page_keys
from dpbook.book.run.runner import Job, Outcome, progress_line, run_pages

# seconds, error (None if there is none), records
Result = dict[str, Any]
_NOTHING: Result = {"seconds": 0.0, "records": []}
_SHOWN = ("verdict", "evidence", "applies", "holds", "repaired", "control")


@dataclass(frozen=True)
class Task:
    """One page at one setting; `given` is what the grid says, `parameters` are all of them."""

    page: Page
    given: dict[str, Any]
    parameters: dict[str, Any]
    key: str

    @property
    def name(self) -> str:
        return f"{self.page.name}-{self.key[:16]}"

    @property
    def words(self) -> str:
        return " ".join([self.page.name, *(f"{key}={value}" for key, value in self.given.items())])

    def job(self, folder: Path) -> Job:
        place = folder / self.name / f"{self.page.name}.ipynb"
        return Job(self.page, self.parameters, self.key, place, words=self.words)


def plan(root: Path, grid: Path) -> list[Task]:
    """The tasks of a grid, each once; a `PageError` before anything runs if one is refused."""
    try:
        asked = yaml.safe_load(grid.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise PageError(f"{grid} cannot be read: {' '.join(str(error).split())}") from None
    wanted = asked.get("pages") if isinstance(asked, dict) else None
    if not isinstance(wanted, dict) or not wanted or asked.keys() - {"pages", "profile"}:
        allowed = "`pages`, a mapping of pages to parameters and their values, and `profile`"
        raise PageError(f"{grid}: allowed are {allowed}")
    profile = load_profile(root, str(asked.get("profile", "default")))
    tasks: dict[str, Task] = {}
    for name, values in wanted.items():
        page = find_page(root, str(name))
        settings = list(_settings(page, values))
        effective = [validate(page, profile.get(page.name, {}) | given) for given in settings]
        keys = page_keys(page, effective, root)
        for given, parameters, key in zip(settings, effective, keys, strict=True):
            tasks.setdefault(key, Task(page, given, parameters, key))
    return list(tasks.values())


def _settings(page: Page, values: Any) -> Iterator[dict[str, Any]]:
    """The settings that an entry of the grid asks for."""
    if isinstance(values, list) and values and all(isinstance(one, dict) for one in values):
        yield from ({str(name): value for name, value in one.items()} for one in values)
    elif values is None or isinstance(values, dict):
        axes = {str(name): axis for name, axis in (values or {}).items()}
        for name, axis in axes.items():
            if not isinstance(axis, list) or not axis:
                raise PageError(f"page {page.name}: {name} = {axis!r} is not a list of values")
        yield from (dict(zip(axes, one, strict=True)) for one in itertools.product(*axes.values()))
    else:
        allowed = "allowed: parameters with lists of values, or a list of settings"
        raise PageError(f"page {page.name}: {values!r}; {allowed}")


def sweep(
    root: Path,
    grid: Path,
    out: Path,
    *,
    jobs: int,
    timeout: float,
    scheduler: str | None = None,
) -> int:
    """Run what is not there yet, write ``claims.json`` and ``claims.csv``; the exit status."""
    tasks = plan(root, grid)
    with sole_build(root, out):
        kept = {task.key: result for task in tasks if (result := kept_result(task, out))}
        results = {key: result for key, result in kept.items() if not result["error"]}
        todo = [task for task in tasks if task.key not in results]
        print(f"{len(tasks)} tasks: {len(todo)} to run, {len(results)} done before")

        def keep(task: Task, result: Result) -> None:
            results[task.key] = result
            about = {"page": task.page.name, "parameters": task.parameters, "key": task.key}
            text = json.dumps(about | result, indent=1, ensure_ascii=False, allow_nan=False)
            write_whole(out / "tasks" / f"{task.name}.json", text + "\n")

        if scheduler:
            for task, result in _run_there(todo, root, timeout, scheduler):
                keep(task, result)
        else:
            by_key, folder = {task.key: task for task in todo}, out / "executed"

            def done(outcome: Outcome) -> None:
                keep(by_key[outcome.job.key], _result(outcome))
                outcome.job.target.unlink(missing_ok=True)

            each = [task.job(folder) for task in todo]
            run_pages(each, root=root, workers=jobs, timeout=timeout, done=done)
            shutil.rmtree(folder, ignore_errors=True)
        return _report(root, out, [(task, results[task.key]) for task in tasks])


def kept_result(task: Task, out: Path) -> Result | None:
    """What is there of a task, a failure too; None if it did not run as it stands now."""
    result = read_json(out / "tasks" / f"{task.name}.json")
    return result if isinstance(result, dict) and result.get("key") == task.key else None


def _run_there(
    tasks: Sequence[Task], root: Path, timeout: float, scheduler: str
) -> Iterator[tuple[Task, Result]]:
    """On a cluster whose machines have this book in the same folder; Dask reruns what was lost."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise PageError("--scheduler needs Dask: pip install '.[scale]' in the sources") from None
    try:
        client = Client(scheduler, timeout=20, set_as_default=False)
    except (OSError, ValueError) as error:
        raise PageError(f"no Dask scheduler at {scheduler!r}: {error}") from None
    with client:
        futures = {}
        for task in tasks:
            name = f"dpbook-{task.name}"
            futures[client.submit(run_one, task, str(root), timeout, key=name, pure=False)] = task
        for number, future in enumerate(as_completed(futures, loop=client.loop), start=1):
            try:
                result = future.result()
            except Exception as error:  # for example a task that was lost with several workers
                result = _NOTHING | {"error": f"{type(error).__name__}: {error}"}
            words, how = futures[future].words, (result["error"], result["seconds"])
            print(progress_line(number, len(tasks), words, *how), flush=True)
            yield futures[future], result


def run_one(task: Task, root: str, timeout: float) -> Result:
    """One task in a worker of a cluster."""
    page = find_page(Path(root), task.page.name)
    if page_keys(page, [task.parameters], Path(root)) != [task.key]:
        return _NOTHING | {"error": f"the book in {root} on this machine is another one"}
    with tempfile.TemporaryDirectory() as folder:
        job = task.job(Path(folder))
        return _result(*run_pages([job], root=Path(root), workers=1, timeout=timeout))


def _result(outcome: Outcome) -> Result:
    records = [] if outcome.error else list(records_in(outcome.job.target))
    return {"seconds": round(outcome.seconds, 3), "error": outcome.error, "records": records}


def _report(root: Path, out: Path, results: Sequence[tuple[Task, Result]]) -> int:
    """Write the table; tell what failed and what contradicts its verdict, if anything."""
    ledger, wrong = load_ledger(root / "book" / "claims.yml"), []
    rows: list[dict[str, Any]] = []
    for task, result in results:
        if result["error"]:
            wrong.append(f"{task.words} did not run: {result['error']}")
            continue
        problems = sorted(ledger_problems(ledger, result["records"], [task.page.name]))
        wrong += [f"{task.words}: {problem}" for problem in problems]
        for record in sorted(result["records"], key=lambda record: record["id"]):
            row = {"claim": record["id"], "page": task.page.name, "setting": task.given}
            row |= {field: record[field] for field in _SHOWN}
            row["problems"] = [line for line in problems if line.startswith(f"{record['id']} ")]
            rows.append(row | {"report": record["report"]})
    write_whole(out / "claims.json", json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    table = io.StringIO(newline="")
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["claim", "page", "setting", *_SHOWN, "problems", "report"])
    for row in rows:
        cells = ["; ".join(v) if isinstance(v, list) else v for v in row.values()]
        writer.writerow(
            [json.dumps(v, ensure_ascii=False) if isinstance(v, dict) else v for v in cells]
        )
    write_whole(out / "claims.csv", table.getvalue())
    print(f"{len(rows)} rows, one for each claim and setting: {out / 'claims.csv'}")
    if wrong:
        print("\nNot as recorded in the ledger, or not run:", file=sys.stderr)
        print(*(f"  {line}" for line in wrong), sep="\n", file=sys.stderr)
    return int(bool(wrong))
