"""The student's edition has no solution anywhere: pages, sources, search, downloads, live cells."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dpbook.book import editions, live
from dpbook.book.downloads import with_advice
from dpbook.book.pages import PageError, find_pages

ROOT = Path(__file__).parents[2]
PAGES = find_pages(ROOT)


def md(text):
    return {"cell_type": "markdown", "metadata": {}, "source": text}


CODE = {"cell_type": "code", "metadata": {}, "source": "x = 1"}


def sources(cells):
    return [
        "".join(cell["source"])
        for cell in editions.notebook_of({"cells": cells}, "student")["cells"]
    ]


def test_what_stands_between_the_marks_is_left_out():
    start, end = "````{solution-start} ex\n:class: dropdown\n````", "````{solution-end}\n````"
    gone = [md(f"before\n\n{start}\n\nsecret"), CODE, md("secret"), md(f"secret\n{end}\n\nafter")]
    assert sources([CODE, *gone, CODE]) == ["x = 1", "before", "after", "x = 1"]
    assert sources([md(start), CODE, md(end), md("next")]) == ["next"]
    both = f"a\n{start}\nsecret\n{end}\nb\n{start}\nsecret\n{end}\nc"
    assert sources([md(both)]) == ["a\nb\nc"]
    assert editions.notebook_of({"cells": gone}, "teacher")["cells"] == gone


@pytest.mark.parametrize(
    "text", ["```{solution-start} ex\n```\nsecret", "```{solution} ex\ns\n```"]
)
def test_a_solution_that_cannot_be_left_out_is_refused(text):
    with pytest.raises(PageError, match="solution"):
        sources([md(text)])


def test_an_unknown_edition_is_refused_with_those_there_are(monkeypatch, tmp_path):
    monkeypatch.setenv(editions.VARIABLE, "pupil")
    with pytest.raises(PageError, match="'pupil'; allowed is teacher or student"):
        editions.this_edition()
    with pytest.raises(PageError, match="allowed is teacher or student"):
        editions.place(tmp_path, "pupil")


def test_the_table_of_contents_of_students_lacks_the_pages_of_teachers():
    toc = {"root": "a", "parts": [{"chapters": [{"file": "book/teaching"}, {"file": "b"}]}]}
    assert editions.toc_of(toc, "student") == {
        "root": "a",
        "parts": [{"chapters": [{"file": "b"}]}],
    }
    assert editions.toc_of(toc, "teacher") == toc


def solution_lines(page):
    """Lines of the solutions of a page that no other part of the book has, code and text."""
    kept = editions.page_of(page, "student").notebook["cells"]
    public = {line.strip() for cell in kept for line in "".join(cell["source"]).splitlines()}
    lines = [
        line.strip()
        for cell in page.notebook["cells"]
        for line in "".join(cell["source"]).splitlines()
    ]
    told = [line for line in lines if line not in public and len(line) > 30]
    return [line for line in told if not line.startswith((":", "`"))]


def test_every_page_has_solutions_to_leave_out():
    for page in PAGES:
        assert len(solution_lines(page)) > 3, page.name


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_neither_download_nor_live_cells_of_students_hold_a_solution(page):
    held = {}
    for edition in editions.EDITIONS:
        shown = editions.page_of(page, edition)
        held[edition] = json.dumps(with_advice(shown.notebook, "wheel"), ensure_ascii=False)
        held[edition] += json.dumps(live.bundle(shown, ROOT), ensure_ascii=False)
    for line in solution_lines(page):
        quoted = json.dumps(line, ensure_ascii=False)[1:-1]
        assert quoted not in held["student"]
        if "{" not in line:  # roles and directives are put into other words
            assert quoted in held["teacher"]


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_no_claim_is_checked_in_a_solution(page):
    kept = "\n".join(editions.page_of(page, "student").code_cells)
    for cell in page.code_cells:
        assert cell in kept or not re.search(r"^ *check\(", cell, re.MULTILINE)
