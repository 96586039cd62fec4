"""Bring the book up to date: execute what changed, check the claims, render the HTML.

Everything of one build lies under one output directory::

    executed/notebooks/NN-topic.ipynb   executed copies, each with the key it was made from
    claims.json                         what the pages found
    html/                               the book, replaced only by a complete new one
    .dpbook, .lock                      the folder is ours; one build at a time
"""

from __future__ import annotations

import fnmatch
import os
import shlex
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpbook.book import reproducers
from dpbook.book.claims import collect
from dpbook.book.keys import html_key, page_key, stamp_of
from dpbook.book.output import claim_folder, sole_build
from dpbook.book.pages import (
    Page,
    PageError,
    ParameterError,
    find_pages,
    load_profile,
    validate,
)
from dpbook.book.rendering import page_beside_notebook, render
from dpbook.book.runner import PAGE_TIMEOUT, Job, Outcome, run_pages, write_whole

_HTML_KEY = "html.key"


# --- which pages, with which parameters -----------------------------------------------------------


def plan(
    root: Path,
    out: Path,
    *,
    profile: str = "default",
    overrides: Sequence[tuple[str, str]] = (),
    only: Sequence[str] = (),
) -> list[Job]:
    """One job per page of the book, with every parameter checked.

    Parameters
    ----------
    root, out : Path
    profile : str
        Its values come first, `overrides` on top of them.
    overrides : sequence of (name, text)
        Go to the pages that `only` selects and that have the parameter.
    only : sequence of str
        Globs on page names; empty selects every page.

    Raises
    ------
    ParameterError, PageError
        Before anything runs.
    """
    pages = find_pages(root)
    if not pages:
        raise PageError("there are no pages: notebooks/ holds no notebook")
    by_profile = load_profile(root, profile)
    strangers = sorted(set(by_profile) - {page.name for page in pages})
    if strangers:
        raise PageError(f"profile {profile!r} names a page that does not exist: {strangers[0]}")
    selected = select(pages, only)
    given = {page.name: dict(by_profile.get(page.name, {})) for page in pages}
    for name, text in overrides:
        takers = [page for page in selected if name in page.parameters]
        if not takers:
            where = ", ".join(page.name for page in selected) if only else "any page"
            known = sorted({known for page in selected for known in page.parameters})
            raise ParameterError(
                f"no parameter {name!r} on {where}; there are {', '.join(known) or 'none'}"
            )
        for page in takers:
            given[page.name][name] = page.parameters[name].parse(text)
    return _jobs(pages, given, root, out)


def _jobs(
    pages: Sequence[Page], given: Mapping[str, Mapping[str, Any]], root: Path, out: Path
) -> list[Job]:
    jobs = []
    for page in pages:
        parameters = validate(page, given[page.name])
        key = page_key(page, parameters, root)
        target = out / "executed" / "notebooks" / page.path.name
        jobs.append(Job(page, parameters, key, target))
    return jobs


def select(pages: Sequence[Page], only: Sequence[str]) -> list[Page]:
    """The pages that match a glob in `only`, all when it is empty; a glob must match something."""
    for glob in only:
        if not any(fnmatch.fnmatch(page.name, glob) for page in pages):
            names = ", ".join(page.name for page in pages)
            raise PageError(f"--only {glob!r} matches no page; the pages are {names}")
    return [p for p in pages if not only or any(fnmatch.fnmatch(p.name, glob) for glob in only)]


# --- the book -------------------------------------------------------------------------------------


def build_book(
    root: Path, out: Path, jobs: Sequence[Job], *, workers: int, timeout: float = PAGE_TIMEOUT
) -> int:
    """Execute the stale pages, check the claims, render; return the exit status.

    Raises
    ------
    PageError
        Before anything is written, if `out` is not a folder for builds, or is in use by one.
    """
    with sole_build(_own_folder(root, out)):
        return _build_book(root, out, jobs, workers, timeout)


def _own_folder(root: Path, out: Path) -> Path:
    """`out` as a folder for builds; whoever makes it inside the book's own marks that, too."""
    if (root / "_build") in out.parents:
        claim_folder(root / "_build")
    return claim_folder(out)


def _build_book(root: Path, out: Path, jobs: Sequence[Job], workers: int, timeout: float) -> int:
    stale = [job for job in jobs if stamp_of(job.target).get("key") != job.key]
    # The longest first, so that no core waits at the end for one page; new pages before all.
    stale.sort(key=lambda job: -stamp_of(job.target).get("seconds", float("inf")))
    _remove_strays(jobs)
    print(f"{len(jobs)} pages: {len(stale)} to execute, {len(jobs) - len(stale)} up to date")
    start = time.perf_counter()
    outcomes = run_pages(stale, root=root, workers=workers, timeout=timeout)
    failed = [outcome for outcome in outcomes if outcome.error]
    if stale:
        print(f"executed in {time.perf_counter() - start:.1f} s")
    if failed:
        for outcome in failed:
            print("\n" + failure_text(outcome), file=sys.stderr)
        names = ", ".join(outcome.job.page.name for outcome in failed)
        print(f"\nfailed: {names}\n{_kept(out)}", file=sys.stderr)
        return 1
    if problems := collect(out, root):
        print("\nClaims that disagree with the ledger:", file=sys.stderr)
        print(*(f"  {line}" for line in problems), sep="\n", file=sys.stderr)
        print(_kept(out), file=sys.stderr)
        return 1
    return _bring_html_up_to_date(root, out)


def _remove_strays(jobs: Sequence[Job]) -> None:
    """Executed copies of pages that are no longer in the book must not speak for it."""
    targets = {job.target for job in jobs}
    for folder in {target.parent for target in targets}:
        for path in folder.glob("*.ipynb"):
            if path not in targets:
                path.unlink()


def _kept(out: Path) -> str:
    index = out / "html" / "index.html"
    return f"The previous book is unchanged: {index}" if index.is_file() else "No book was built."


def failure_text(outcome: Outcome) -> str:
    """What went wrong on a page, and the command that runs just this page again."""
    job = outcome.job
    return "\n".join(
        [
            f"FAILED {job.page.name}, after {outcome.seconds:.1f} s, at {outcome.error}",
            "run this page again: " + rerun_command(job),
        ]
    )


def rerun_command(job: Job) -> str:
    """The ``dpbook run`` command line for one page at the parameters of a job."""
    if shutil.which("dpbook"):
        words = ["dpbook", "run", job.page.name]
    else:
        words = [os.path.relpath(sys.executable), "-m", "dpbook", "run", job.page.name]
    for name, value in job.overrides.items():
        plain = str(value)
        reads_back = job.page.parameters[name].parse(plain) == value
        words += ["-p", name, plain if reads_back else repr(value)]
    return shlex.join(words)


def _bring_html_up_to_date(root: Path, out: Path) -> int:
    key_file, index = out / _HTML_KEY, out / "html" / "index.html"
    key = html_key(root, out)
    if index.is_file() and key_file.is_file() and key_file.read_text() == key:
        print(f"HTML is up to date\nThe book: {index}")
        return 0
    start = time.perf_counter()
    print("rendering the HTML ...", flush=True)
    key_file.unlink(missing_ok=True)
    if not render(root, out, strict=True):
        print(_kept(out), file=sys.stderr)
        return 1
    write_whole(key_file, key)
    print(f"rendered in {time.perf_counter() - start:.1f} s\nThe book: {index}")
    return 0


# --- does it still say the same? ------------------------------------------------------------------


def golden(
    root: Path, profiles: Sequence[str], only: Sequence[str], *, write: bool, workers: int
) -> int:
    """Run the pages, compare what they find with the stored copy; return the exit status.

    Parameters
    ----------
    root : Path
    profiles : sequence of str
        Parameter sets, each with a stored copy of its own.
    only : sequence of str
        Globs on page names; empty selects every page, and the reproducers of the errata.
    write : bool
        Store what was found, for these pages.
    workers : int
        Pages executed at once.
    """
    from dpbook.book import golden as kept
    from dpbook.book.ledger import load_ledger

    status = 0
    pages = {page.name for page in select(find_pages(root), only)}
    for profile in profiles:
        out = root / "_build" / "golden" / profile
        jobs = [job for job in plan(root, out, profile=profile) if job.page.name in pages]
        with sole_build(_own_folder(root, out)):
            stale = [job for job in jobs if stamp_of(job.target).get("key") != job.key]
            outcomes = run_pages(stale, root=root, workers=workers)
            failed = [outcome for outcome in outcomes if outcome.error]
            for outcome in failed:
                print("\n" + failure_text(outcome), file=sys.stderr)
            found = kept.gathered(out, pages)
            if not only:
                ledger = load_ledger(root / "book" / "claims.yml").values()
                codes = {c.id: c.reproducer or "" for c in ledger if c.is_erratum}
                snippets = {k: code for k, code in codes.items() if reproducers.is_python(code)}
                results = reproducers.results(snippets, root, out)
                found |= kept.printed({k: r.error or r.output for k, r in results.items()})
        path = root / kept.FOLDER / f"{profile}.tsv"
        before = kept.load(path)
        mine = {n: v for n, v in before.items() if not only or n.split(" ", 1)[0] in pages}
        told = kept.differences(mine, found)
        for name, words in told.items():
            print(f"  {name}: {words}")
        rounding = sum(words == "rounding only" for words in told.values())
        moved = len(told) - rounding
        print(f"{profile}: {len(found)} lines, {moved} moved, {rounding} by rounding only")
        if write and not failed:
            write_whole(path, kept.text({n: v for n, v in before.items() if n not in mine} | found))
        status |= bool(failed) or (moved > 0 and not write)
    return int(status)


# --- one page -------------------------------------------------------------------------------------


def run_page(
    root: Path,
    name: str,
    overrides: Sequence[tuple[str, str]],
    *,
    timeout: float = PAGE_TIMEOUT,
) -> int:
    """Execute one page at the reader's parameters, and render it; return the exit status.

    The result lies in ``_build/run/<page>/``: the executed notebook, its HTML beside it, and in
    ``html/`` the book around it.  The book in ``_build/html`` is not touched.
    """
    page = find_page(root, name)
    given = {}
    for key, text in overrides:
        parameter = page.parameters.get(key)
        given[key] = parameter.parse(text) if parameter else text
    out = root / "_build" / "run" / page.name
    (job,) = _jobs([page], {page.name: given}, root, out)
    with sole_build(_own_folder(root, out)):
        return _run_page(root, out, job, timeout)


def _run_page(root: Path, out: Path, job: Job, timeout: float) -> int:
    page = job.page
    shutil.rmtree(out / "executed", ignore_errors=True)
    (outcome,) = run_pages([job], root=root, workers=1, timeout=timeout)
    if outcome.error:
        print("\n" + failure_text(outcome), file=sys.stderr)
        return 1
    for other in (root / "_build" / "executed" / "notebooks").glob("*.ipynb"):
        if other.name != job.target.name:  # the pages that this one links to
            shutil.copy2(other, job.target.parent)
    if (kept := root / "_build" / reproducers.CACHE).is_file():
        shutil.copy2(kept, out)
    problems = collect(out, root, pages=[page.name])
    for problem in problems:
        print(f"  claim not as recorded: {problem}", file=sys.stderr)
    print(f"notebook: {shutil.copy2(job.target, out / page.path.name)}")
    rendered = render(root, out, strict=False)
    shutil.rmtree(out / "executed")
    if not rendered:
        return 1
    print(f"page:     {page_beside_notebook(out, page)}")
    if problems:
        print("The page is written, but its claims did not come out as recorded.", file=sys.stderr)
    return 1 if problems else 0


def find_page(root: Path, name: str) -> Page:
    """The page with this name: ``03-noisy-counts``, a path to it, or a beginning such as ``03``."""
    pages = find_pages(root)
    stem = Path(name).name.removesuffix(".ipynb")
    for page in pages:
        if page.name == stem:
            return page
    begins = [page for page in pages if stem and page.name.startswith(stem)]
    if len(begins) == 1:
        return begins[0]
    which = begins or pages
    problem = f"{name!r} begins several pages" if begins else f"no page {name!r}"
    raise PageError(f"{problem}; the pages are {', '.join(page.name for page in which)}")
