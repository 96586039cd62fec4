"""Bring the book up to date: execute what changed, check the claims, render the HTML.

Everything of one build lies under one output directory::

    executed/notebooks/NN-topic.ipynb   executed copies, each with the key it was made from
    executed/errata.ipynb               the same for the reproducers of the errata
    claims.json                         what the pages found
    about.json                          at which profile
    seconds.json                        what no two builds share: how long each page took
    html/                               the book, replaced only by a complete new one
    .dpbook, .lock                      the folder is ours; one build at a time
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dpbook.book.files import note, read_json, sole_build, write_whole
from dpbook.book.ledger.claims import load_ledger
from dpbook.book.pages import (
    Page,
    PageError,
    ParameterError,
    find_page,
    find_pages,
    load_profile,
    validate,
)
from dpbook.book.run import errata, numbers
from dpbook.book.run.collect import collect
from dpbook.book.run.editions import ALL, EDITIONS, place
from dpbook.book.run.keys import (
    html_key,
    page_keys,
    stamp_of,
    stored_key,
)
from dpbook.book.run.render import complaints, render, render_page
from dpbook.book.run.runner import Job, Outcome, run_pages

TIMES = "seconds.json"


def plan(
    root: Path,
    out: Path,
    *,
    profile: str = "default",
    overrides: Sequence[tuple[str, str]] = (),
) -> list[Job]:
    """One job per page, every parameter checked first: the profile's values, `overrides` on top.

    The latter go to all pages that have the parameter.
    """
    pages = find_pages(root)
    if not pages:
        raise PageError("there are no pages: notebooks/ holds no notebook")
    given: dict[str, dict[str, Any]] = {page.name: {} for page in pages}
    given |= load_profile(root, profile)
    if strangers := sorted(given.keys() - {page.name for page in pages}):
        raise PageError(f"profile {profile!r} names a page that does not exist: {strangers[0]}")
    for name, text in overrides:
        takers = [page for page in pages if name in page.parameters]
        if not takers:
            known = ", ".join(sorted({known for page in pages for known in page.parameters}))
            raise ParameterError(f"no parameter {name!r} on any page; there are {known}")
        for page in takers:
            given[page.name][name] = page.parameters[name].parse(text)
    return [_job(page, given[page.name], root, out) for page in pages]


def _job(page: Page, given: Mapping[str, Any], root: Path, out: Path) -> Job:
    parameters = validate(page, given)
    try:
        (key,) = page_keys(page, [parameters], root)
    except PageError as error:
        raise PageError(f"page {page.name}: {error}") from None
    return Job(page, parameters, key, out / "executed" / "notebooks" / f"{page.name}.ipynb")


def build_book(
    root: Path,
    out: Path,
    jobs: Sequence[Job],
    *,
    workers: int,
    timeout: float,
    profile: str = "default",
    edition: str = EDITIONS[0],
    shown: bool = True,
) -> int:
    """Execute the stale pages, check the claims, render an edition or all; return the status.

    Only a page that did not run keeps the HTML as it was.  What contradicts the ledger is marked
    in the book, and the status is 1; numbers that moved are told, and have no other consequence.
    """
    editions: tuple[str, ...] = EDITIONS if edition == ALL else (edition,)
    if not shown:
        editions = ()
    codes = errata.snippets(load_ledger(root / "book" / "claims.yml").values())
    jobs = [*jobs, *([errata.job(codes, root, out)] if codes else [])]
    with sole_build(root, out):
        if execute_stale(jobs, root, out, workers, timeout):
            index = out / "html" / "index.html"
            before = f"The previous book is unchanged: {index}"
            print(before if index.is_file() else "No book was built.", file=sys.stderr)
            return 1
        problems = collect(out, root)
        note(out, profile, "failed" if problems else "passed")
        clean = [_bring_html_up_to_date(root, out, edition, workers) for edition in editions]
        _list("Claims that disagree with the ledger, and are marked in the book", problems)
        if profile == numbers.PROFILE:
            _tell_moved(root, out)
        return int(bool(problems) or not all(clean))


def _tell_moved(root: Path, out: Path) -> None:
    """Write what moved to a file beside the book, and say in one line how much."""
    moved = numbers.not_as_kept(root, out)
    path = out / "moved.txt"
    write_whole(path, "".join(f"{line}\n" for line in moved))
    if moved:
        print(f"{len(moved)} numbers are not as those kept, by more than a reader sees: {path}")


def _list(words: str, lines: Sequence[str]) -> None:
    if lines:
        print(f"\n{words}:", *(f"  {line}" for line in lines), sep="\n", file=sys.stderr)


def execute_stale(
    jobs: Sequence[Job], root: Path, out: Path, workers: int, timeout: float
) -> list[Outcome]:
    """Execute what is stale; those that failed."""
    stale = [job for job in jobs if stamp_of(job.target).get("key") != job.key]
    # The longest first, so that no core waits at the end for one page; new pages before all.
    took = read_json(out / TIMES) or {}
    stale.sort(key=lambda job: -float(took.get(job.page.name, "inf")))
    print(f"{len(jobs)} pages: {len(stale)} to execute, {len(jobs) - len(stale)} up to date")
    outcomes = run_pages(stale, root=root, workers=workers, timeout=timeout)
    if stale:
        took |= {one.job.page.name: round(one.seconds, 3) for one in outcomes if not one.error}
        write_whole(out / TIMES, json.dumps(took, indent=1, sort_keys=True))
    failed = [outcome for outcome in outcomes if outcome.error]
    for outcome in failed:
        _tell(outcome)
    _list("failed", [one.job.page.name for one in failed])
    return failed


def _tell(outcome: Outcome) -> None:
    """Say what went wrong on a page, and the command that runs just this page again."""
    job = outcome.job
    text = f"\nFAILED {job.page.name}, after {outcome.seconds:.1f} s, at {outcome.error}"
    print(text, file=sys.stderr)
    if job.page.name != errata.NAME:
        print(f"run this page again: {rerun_command(job)}", file=sys.stderr)


def rerun_command(job: Job) -> str:
    """The ``dpbook run`` command line for one page at the parameters of a job."""
    given = (word for name, value in job.overrides.items() for word in ("-p", name, str(value)))
    return shlex.join(["dpbook", "run", job.page.name, *given])


def _bring_html_up_to_date(root: Path, out: Path, edition: str, workers: int) -> bool:
    """Render an edition if anything changed; whether there was nothing to complain of."""
    here = place(out, edition)
    index, key = here / "html" / "index.html", html_key(root, out, edition)
    if index.is_file() and stored_key(here) == key:
        clean = not complaints(here)
    else:
        print("rendering the HTML ...", flush=True)
        (here / "html.key").unlink(missing_ok=True)
        start = time.perf_counter()
        clean = render(root, out, edition, workers)
        took = read_json(out / TIMES) or {}
        took |= {f"HTML, {edition}": round(time.perf_counter() - start, 3)}
        write_whole(out / TIMES, json.dumps(took, indent=1, sort_keys=True))
        write_whole(here / "html.key", key)
    if index.is_file():
        print(f"The book: {index}")
    return clean


def run_page(
    root: Path,
    name: str,
    overrides: Sequence[tuple[str, str]],
    *,
    timeout: float,
    out: Path | None = None,
    profile: str = "default",
    shown: bool = True,
) -> int:
    """Execute one page and render it alone, by default in ``_build/run/<page>/<parameters>/``."""
    page = find_page(root, name)
    known = page.parameters
    given = load_profile(root, profile).get(page.name, {})
    given |= {key: known[key].parse(text) if key in known else text for key, text in overrides}
    out = out or root / "_build" / "run" / page.name / folder_name(given)
    job = _job(page, given, root, out)
    with sole_build(root, out):
        if stamp_of(job.target).get("key") != job.key:
            shutil.rmtree(out / "executed", ignore_errors=True)
            (outcome,) = run_pages([job], root=root, workers=1, timeout=timeout)
            if outcome.error:
                _tell(outcome)
                return 1
        problems = collect(out, root, pages=[page.name])
        clean = True
        if shown:
            clean = render_page(root, out, page.name)
            html = out / "html" / "notebooks" / f"{page.name}.html"
            if html.is_file():
                copy = shutil.copy2(job.target, html.parent)
                print(f"notebook: {copy}\npage:     {html}")
        _list("Claims that did not come out as recorded", problems)
        return int(bool(problems) or not clean)


def folder_name(given: Mapping[str, Any]) -> str:
    """A folder for each set of parameters: ``epsilon=0.25,n_items=6``, or ``published``."""
    told = ",".join(f"{key}={value}" for key, value in sorted(given.items())) or "published"
    name = quote(told, safe=",=+")
    return name if len(name) <= 200 else f"{name[:180]}-{sha256(name.encode()).hexdigest()[:16]}"
