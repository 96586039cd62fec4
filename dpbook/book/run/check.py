"""Check one page by all that is asked of it: its rules, and its claims at several settings."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dpbook.book.files import claim_folder
from dpbook.book.ledger.claims import load_ledger
from dpbook.book.pages import Page, find_page, load_profile, validate
from dpbook.book.rules import RULES
from dpbook.book.run import numbers
from dpbook.book.run.collect import bare, ledger_problems, records_in
from dpbook.book.run.keys import page_keys
from dpbook.book.run.runner import Job, Outcome, run_pages


def check_page(root: Path, name: str, *, workers: int, timeout: float) -> int:
    """Print one list of what is wrong with a page: file, where, rule or claim, remedy."""
    page = find_page(root, name)
    told = [*_broken_rules(page)]
    with tempfile.TemporaryDirectory(dir=claim_folder(root / "_build")) as folder:
        jobs = []
        for number, (words, given) in enumerate(settings(root, page)):
            parameters = validate(page, given)
            (key,) = page_keys(page, [parameters], root)
            target = Path(folder, f"{number}.ipynb")
            jobs.append(Job(page, parameters, key, target, words=f"{page.name} {words}"))
        outcomes = run_pages(jobs, root=root, workers=workers, timeout=timeout)
        for outcome in outcomes:
            told += _contradictions(root, outcome)
        own = jobs[0].target
        if own.is_file():
            kept, units = numbers.kept(root, page.name), numbers.units_of(root, page.name)
            moved = numbers.moved(kept, numbers.found_on(own), units)
            accept = f"if it is right: make book; dpbook numbers --accept {page.name}"
            told += [f"{line} ({accept})" for line in moved]
    file = f"notebooks/{page.name}.ipynb"
    print(*(f"{file}: {line}" for line in told), sep="\n", file=sys.stderr)
    print(f"{file}: {len(told)} things to mend, in {len(jobs)} runs")
    return int(bool(told))


def settings(root: Path, page: Page) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The page's own values, those of a smoke run, and on top of these each end of a parameter.

    The upper end of a size, a whole number that a profile changes, can take hours and is left out.
    """
    yield "at its own values", {}
    smoke = load_profile(root, "smoke").get(page.name, {})
    yield "at smoke", smoke
    for name, parameter in page.parameters.items():
        ends = parameter.ends
        if name in smoke and isinstance(parameter.default, int):
            ends = ends[:1]
        for end in ends:
            if end != smoke.get(name, parameter.default):
                yield f"at smoke, {name} = {end}", {**smoke, name: end}


def _broken_rules(page: Page) -> Iterator[str]:
    for rule in RULES:
        for words in rule(page.name, page.notebook):
            yield f"{words} (rule {rule.__name__})"


def _contradictions(root: Path, outcome: Outcome) -> Iterator[str]:
    """What went wrong in a run, and which claims came out otherwise than recorded."""
    page = outcome.job.page.name
    where = outcome.job.words.removeprefix(f"{page} ")
    if outcome.error:
        yield f"{where}: {outcome.error}"
        return
    ledger = load_ledger(root / "book" / "claims.yml")
    records = [*records_in(outcome.job.target)]
    for record in records:
        record["notebook"] = page
    yield from (f"{where}: {line}" for line in ledger_problems(ledger, records, [page]))
    yield from (f"{where}: {line}" for line in decided_by_rounding(records))
    yield from (f"{where}: {line}" for line in bare(outcome.job.target))


def decided_by_rounding(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Parts that another processor could decide otherwise: one line each."""
    for record in records:
        for entry in record["measured"]:
            for part in entry["parts"]:
                if part.get("by_rounding"):
                    of = entry["name"] or entry["subject"]
                    remedy = "state a slack, or compare whole numbers or fractions"
                    yield f"{record['id']}, {of}: {part['what']!r} hangs on a rounding: {remedy}"
