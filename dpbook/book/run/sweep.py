"""Run pages over a grid of parameters, here or on a Dask cluster, and gather their claims.

One task is one page at one setting, run as by ``dpbook run``.  What its claims recorded becomes a
file named by the page and by a hash of all that the page depends on, its parameters among it; such
a task does not run again, unless it failed.  At the end all of them are one table.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dpbook.book.files import read_json, sole_build, write_whole
from dpbook.book.ledger.claims import load_ledger
from dpbook.book.pages import (
    Page,
    PageError,
    ParameterError,
    find_page,
    find_pages,
    load_profile,
    read_page,
    validate,
)
from dpbook.book.run.collect import ledger_problems, records_in
from dpbook.book.run.keys import page_keys
from dpbook.book.run.runner import Job, Outcome, run_pages

# seconds, those of the longest cell, error (None if there is none), records, what `look` adds
Result = dict[str, Any]
Look = Callable[[Path], dict[str, Any]]
_SHOWN = ("verdict", "tier", "applies", "holds", "repaired", "control")


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


def plan(root: Path, grid: Path) -> list[Task]:
    """The tasks of a grid, each once; a `PageError` has a line for everything that is wrong."""
    try:
        asked = yaml.safe_load(grid.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise PageError(f"{grid} cannot be read: {' '.join(str(error).split())}") from None
    wanted = asked.get("pages") if isinstance(asked, dict) else None
    if not isinstance(wanted, dict) or not wanted:
        raise PageError(f"{grid}: needs `pages`, a mapping of pages to parameters and their values")
    others = sorted(map(str, asked.keys() - {"pages", "profile"}))
    problems = [f"unknown entry {name!r}; allowed are pages and profile" for name in others]
    profile: dict[str, dict[str, Any]] = {}
    try:
        profile = load_profile(root, str(asked.get("profile", "default")))
    except PageError as error:
        problems.append(str(error))
    tasks: dict[str, Task] = {}
    pages: dict[str, Page] = {}
    for name, values in wanted.items():
        try:
            pages = pages or {page.name: page for page in find_pages(root)}
            page = pages.get(name) or find_page(root, str(name))
            settings = list(_settings(page, values, problems))
            if not problems:
                own = profile.get(page.name, {})
                effective = [validate(page, own | given) for given in settings]
                keys = page_keys(page, effective, root)
                for given, parameters, key in zip(settings, effective, keys, strict=True):
                    tasks.setdefault(key, Task(page, given, parameters, key))
        except PageError as error:
            problems.append(str(error))
    if problems:
        raise PageError("\n  ".join([f"{grid}: nothing was run", *problems]))
    return list(tasks.values())


def _settings(page: Page, values: Any, problems: list[str]) -> Iterator[dict[str, Any]]:
    """The settings that an entry of the grid asks for, and into `problems` what is wrong."""
    if isinstance(values, list) and values and all(isinstance(one, dict) for one in values):
        settings = values
    elif values is None or isinstance(values, dict):
        axes: dict[str, list[Any]] = {}
        for name, axis in (values or {}).items():
            if isinstance(axis, list) and axis:
                axes[str(name)] = axis
            else:
                problems.append(f"page {page.name}: {name} = {axis!r} is not a list of values")
        settings = [dict(zip(axes, one, strict=True)) for one in itertools.product(*axes.values())]
    else:
        allowed = "allowed: parameters with lists of values, or a list of settings"
        problems.append(f"page {page.name}: {values!r}; {allowed}")
        return
    for setting in settings:
        for name, value in setting.items():
            try:
                validate(page, {str(name): value})
            except ParameterError as error:
                if str(error) not in problems:
                    problems.append(str(error))
        yield {str(name): value for name, value in setting.items()}


def sweep(
    root: Path,
    grid: Path,
    out: Path,
    *,
    jobs: int,
    timeout: float,
    scheduler: str | None = None,
    look: Look = lambda executed: {},
) -> int:
    """Run what is not there yet, write ``claims.json`` and ``claims.csv``; the exit status.

    What `look` finds in an executed page is kept with its result; it looks on this machine only.
    """
    tasks = plan(root, grid)
    with sole_build(root, out):
        kept = {task.key: found for task in tasks if (found := kept_result(task, out))}
        results = {key: found for key, found in kept.items() if not found["error"]}
        todo = [task for task in tasks if task.key not in results]
        print(f"{len(tasks)} tasks: {len(todo)} to run, {len(results)} done before")

        def keep(task: Task, result: Result) -> None:
            results[task.key] = result
            told = {"page": task.page.name, "parameters": task.parameters, "key": task.key}
            text = json.dumps(told | result, indent=1, ensure_ascii=False, allow_nan=False)
            write_whole(out / "tasks" / f"{task.name}.json", text + "\n")

        if scheduler:
            _run_there(todo, root, timeout, scheduler, keep)
        else:
            _run_here(todo, root, out, jobs, timeout, keep, look)
        return _report(root, out, [(task, results[task.key]) for task in tasks])


def kept_result(task: Task, out: Path) -> Result | None:
    """What is there of a task, a failure too; None if it did not run as it stands now."""
    found = read_json(out / "tasks" / f"{task.name}.json")
    return found if isinstance(found, dict) and found.get("key") == task.key else None


def _run_here(
    tasks: Sequence[Task],
    root: Path,
    out: Path,
    jobs: int,
    timeout: float,
    keep: Callable[[Task, Result], None],
    look: Look,
) -> None:
    """In processes of this machine; a task whose process was killed has one more try."""
    folder, by_key = out / "executed", {task.key: task for task in tasks}
    died: list[Task] = []

    def final(outcome: Outcome) -> None:
        found = {} if outcome.error else look(outcome.job.target)
        keep(by_key[outcome.job.key], _result(outcome) | found)
        shutil.rmtree(outcome.job.target.parent, ignore_errors=True)

    def first(outcome: Outcome) -> None:
        died.append(by_key[outcome.job.key]) if _died(outcome) else final(outcome)

    def run(chosen: Sequence[Task], done: Callable[[Outcome], None]) -> None:
        places = [folder / task.name / f"{task.page.name}.ipynb" for task in chosen]
        pages = [
            Job(task.page, task.parameters, task.key, place, words=task.words)
            for task, place in zip(chosen, places, strict=True)
        ]
        run_pages(pages, root=root, workers=jobs, timeout=timeout, done=done)

    run(tasks, first)
    if died:
        print(f"{len(died)} tasks lost their process and run once more")
        run(died, final)
    shutil.rmtree(folder, ignore_errors=True)


def _run_there(
    tasks: Sequence[Task],
    root: Path,
    timeout: float,
    scheduler: str,
    keep: Callable[[Task, Result], None],
) -> None:
    """On a cluster whose machines have this book in the same folder; Dask reruns what was lost."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise PageError("--scheduler needs Dask: pip install 'dpbook[scale]'") from None
    try:
        client = Client(scheduler, timeout=20, set_as_default=False)
    except (OSError, ValueError) as error:
        raise PageError(f"no Dask scheduler at {scheduler!r}: {error}") from None
    with client:
        futures = {}
        for task in tasks:
            given = (str(root), task.page.name, task.parameters, task.key, timeout)
            name = f"dpbook-{task.name}"
            futures[client.submit(run_one, *given, key=name, pure=False)] = task
        for number, future in enumerate(as_completed(futures, loop=client.loop), start=1):
            try:
                result = future.result()
            except Exception as error:  # for example a task that was lost with several workers
                why = f"{type(error).__name__}: {error}"
                result = {"seconds": 0.0, "error": why, "records": []}
            keep(futures[future], result)
            how = f"{'FAILED' if result['error'] else 'ok':>6} {result['seconds']:7.1f} s"
            print(f"  [{number}/{len(tasks)}] {futures[future].words:<36} {how}", flush=True)


def run_one(
    root: str, name: str, parameters: Mapping[str, Any], key: str, timeout: float
) -> Result:
    """One task in a worker of a cluster."""
    page = read_page(Path(root, "notebooks", f"{name}.ipynb"))
    if page_keys(page, [parameters], Path(root)) != [key]:
        why = f"the book in {root} on this machine is another one than that of the sweep"
        return {"seconds": 0.0, "error": why, "records": []}
    with tempfile.TemporaryDirectory() as folder:
        job = Job(page, dict(parameters), key, Path(folder, f"{name}.ipynb"))
        for _ in range(2):
            (outcome,) = run_pages([job], root=Path(root), workers=1, timeout=timeout)
            if not _died(outcome):
                break
        return _result(outcome)


def _died(outcome: Outcome) -> bool:
    return "Kernel died" in (outcome.error or "")


def _result(outcome: Outcome) -> Result:
    records = [] if outcome.error else list(records_in(outcome.job.target))
    times = {"seconds": round(outcome.seconds, 3), "longest": round(outcome.longest, 3)}
    return times | {"error": outcome.error, "records": records}


def _report(root: Path, out: Path, found: Sequence[tuple[Task, Result]]) -> int:
    """Write the table; tell what failed and what contradicts its verdict, if anything."""
    ledger = load_ledger(root / "book" / "claims.yml")
    rows: list[dict[str, Any]] = []
    wrong: list[str] = []
    for task, result in found:
        if result["error"]:
            wrong.append(f"{task.words} did not run: {result['error']}")
            continue
        problems = sorted(ledger_problems(ledger, result["records"], [task.page.name]))
        wrong += [f"{task.words}: {problem}" for problem in problems]
        for record in sorted(result["records"], key=lambda record: record["id"]):
            mine = [line for line in problems if line.startswith(f"{record['id']} ")]
            about = {"claim": record["id"], "page": task.page.name, "setting": task.given}
            shown = {field: record[field] for field in _SHOWN}
            rows.append({**about, **shown, "problems": mine, "report": record["report"]})
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
