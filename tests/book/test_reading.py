"""How long a page takes: counted by hand on a small page, and without what a reader may skip."""

import copy
import dataclasses
import json
import math
import re
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpbook.book.files import ABOUT
from dpbook.book.ledger.claims import FIVE, PAPERS, SINCE, Claim, load_ledger
from dpbook.book.pages import ParameterError, refuse_out_of_range
from dpbook.book.reading import SECONDS, WORDS_PER_MINUTE, counts, details, minutes
from dpbook.book.sphinx import downloads, front, nodes


def cell(kind, source, tags=()):
    return {"cell_type": kind, "source": source, "metadata": {"tags": list(tags)}}


PAGE = {
    "cells": [
        cell("markdown", "# One two\n\nThree $x$ four\n\n$$ y = z $$\n"),
        cell("code", "a = 1  # m | - | [0, 1]", ["parameters"]),
        cell("code", "b = 2\n\nc = 3"),
        cell("code", "d = 4", ["hide-input"]),
        cell("code", "fig\nplt.show()"),
        cell("code", "table(rows, 'x')\n", ["hide-input"]),
        cell("markdown", "```{exercise} Skip these words\nall of them\n```\n"),
        cell("markdown", "```{try} own\n:solved: x\nx = 1\n```\n"),
        cell("markdown", "```{solution-start} x\n```\n\nhidden words"),
        cell("code", "e = 5"),
        cell("markdown", "```{solution-end}\n```\n\nfive"),
    ]
}


def test_what_a_reader_sees_is_counted():
    found = counts(PAGE)
    assert found == {
        **{"words": 5, "lines": 4, "figures": 1, "tables": 1, "displays": 1, "inlines": 1},
    }
    seconds = sum(found[what] * each for what, each in SECONDS.items())
    assert abs(minutes(PAGE) - (found["words"] / WORDS_PER_MINUTE + seconds / 60)) <= 0.5


@pytest.mark.parametrize("number", [2, 4])
def test_folded_code_takes_no_time(number):
    folded = copy.deepcopy(PAGE)
    folded["cells"][number]["metadata"]["tags"] = ["hide-input"]
    assert counts(folded) == counts(PAGE) | {"lines": 2}


def test_details_are_what_a_reader_may_skip():
    texts = ("# A\n\n## Details\n\nb", "x = 1", "c\n\n```{remember}\n```\n", "y = 2", "## Details")
    kinds = ("markdown", "code", "markdown", "code", "markdown")
    page = {"cells": [cell(*both) for both in zip(kinds, texts, strict=True)]}
    kept = [one["source"] for one in details(page)["cells"]]
    assert kept == ["## Details\n\nb", "x = 1", "c\n\n", "## Details"]


CLAIM = Claim(
    "P-1", "P", "Thm 3.3, proof B.4", "utility", "s", "01-one", "checked", "holds", "exact"
)


def test_a_place_in_a_paper_is_written_out():
    assert nodes.place(CLAIM) == "P, Theorem 3.3"
    ours = Claim("BOOK-X", "BOOK", "this book", "utility", "s", "01-one", "pending")
    assert nodes.place(ours) == "BOOK-X"


def test_the_finding_counts_every_distinct_statement_once():
    claims = [c for c in load_ledger("book/claims.yml").values() if c.paper in FIVE]
    told = front.finding(claims)
    numbers = [int(word) for word in re.findall(r"\d+", told)]
    total, hold, rates, _, definitions, empty, mistakes, broken, badges, *worse = numbers
    worse.insert(0, broken)
    assert total == sum(c.same_as is None for c in claims)
    assert mistakes == sum(worse[:3])
    assert badges == sum(c.breaks_privacy for c in claims if c.same_as is None) >= broken
    assert total == hold + rates + definitions + empty + mistakes + sum(worse[3:])
    assert front.finding(claims[1:]) != told
    again = dataclasses.replace(claims[0], same_as=claims[1].id)
    assert front.finding([*claims, again]) == told, "a repeat counts once"


def test_the_finding_counts_the_five_papers_and_tells_of_others_apart():
    def claim(name, paper, **fields):
        given = {"verdict": "holds", "evidence": "exact", "status": "checked"} | fields
        return Claim(name, paper, "Thm 1", "utility", "s", "01-one", **given)

    pending = {"verdict": None, "evidence": None, "status": "pending"}
    claims = {c.id: c for c in (claim("A", "XSC"), claim("B", "BOOK"))}
    assert claims["A"].group == "XSC" and claims["B"].group == "BOOK"
    alone = front.summary_html(claims, "ledger.html", "next.html")
    assert "Of 1 distinct statements" in alone and "front-since" not in alone
    claims |= {c.id: c for c in (claim("C", "New24"), claim("D", "Other25", **pending))}
    assert claims["C"].group == claims["D"].group == SINCE
    both = front.summary_html(claims, "ledger.html", "next.html")
    assert "Of 1 distinct statements" in both
    assert "ledger also lists 2 statements of newer papers: holds (1); pending (1)." in both
    assert "ledger.html?paper=Since%20the%20five%20papers" in both and 'href="next.html"' in both
    assert "next.html" not in alone
    for paper in ("New24", "Other25", "BOOK"):
        assert f'<th scope="row">{paper}' not in both, "bars are for the five"


def test_the_papers_are_counted_alike():
    other = re.compile(r"(?:two|three|four|six)\s+papers")
    for place in ("README.md", "CITATION.cff", "_config.yml", "book/index.md"):
        found = other.findall(Path(place).read_text(encoding="utf-8"))
        assert not found, f"{place} speaks of {found}: say {PAPERS!r}"
    assert other.search("of four\npapers")


def test_the_readme_opens_with_the_same_finding():
    claims = [c for c in load_ledger("book/claims.yml").values() if c.paper in FIVE]
    words = Path("README.md").read_text(encoding="utf-8")
    assert front.finding(claims) in words
    assert front.finding(claims[1:]) not in words


def test_values_outside_their_range_are_refused_under_plain_papermill():
    names = {"In": ["x = 1.0  # m | - | [0, 2]", "import math"], "x": 1.5}
    refuse_out_of_range(names)
    with pytest.raises(ParameterError, match=r"x = 3.0 is outside the allowed values; .*\[0, 2\]"):
        refuse_out_of_range(names | {"x": 3.0})
    refuse_out_of_range({"x": math.inf})  # no history, nothing to compare with


def test_downloads_hold_the_pages_with_advice_and_the_ledger(tmp_path):
    source, out = tmp_path / "source", tmp_path / "html"
    for folder in (source / "notebooks", source / "book", out / "_sources/notebooks"):
        folder.mkdir(parents=True)
    (source / "notebooks/01-one.ipynb").write_text(json.dumps(PAGE))
    (out / "_sources/notebooks/01-one.ipynb").write_text(json.dumps(PAGE))
    (source / "book/claims.yml").write_text("[]  # ours")
    (source / "dpbook").mkdir()
    for name in ("pyproject.toml", "dpbook/__init__.py", "notes.txt"):
        (source / name).touch()
    (source / "_build/certificates").mkdir(parents=True)
    (source / "_build" / ABOUT).touch()  # a build of the whole book
    there = ("tools/verify_certificate.py", "proofs/A.v", "_build/proofs/B.v", "_build/claims.json")
    for name in (*there, "proofs/A.vo", "_build/certificates/C.json"):
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(name)
    builder = SimpleNamespace(format="html")
    app = SimpleNamespace(builder=builder, outdir=str(out), srcdir=str(source))
    downloads.serve(app, None)
    with zipfile.ZipFile(out / "downloads/notebooks.zip") as zipped:
        names = ["notebooks/01-one.ipynb", "book/claims.yml", "pyproject.toml"]
        assert zipped.namelist() == [*names, "dpbook/__init__.py"]
        assert zipped.read("book/claims.yml") == b"[]  # ours"
        first = json.loads(zipped.read("notebooks/01-one.ipynb"))["cells"]
    assert "pip install" in first[0]["source"][0]
    as_committed = [one for one in PAGE["cells"] if "{try}" not in one["source"]]
    assert [one for one in first[1:] if one in as_committed] == as_committed
    (check,) = [one for one in first if "exercise-check" in one["metadata"].get("tags", ())]
    assert check["cell_type"] == "code" and check["source"].startswith("x = 1\n")
    assert check["source"].endswith("\ngrade(x)")
    wanted = {Path(name).name: name for name in there}
    wanted["certificates/C.json"] = "_build/certificates/C.json"
    with zipfile.ZipFile(out / "downloads/proofs.zip") as zipped:
        assert {name: zipped.read(name).decode() for name in zipped.namelist()} == wanted
    for name, content in wanted.items():
        assert (out / "downloads/proofs" / name).read_text() == content
    again = (out / "downloads/notebooks.zip").read_bytes()
    downloads.serve(app, None)
    assert (out / "downloads/notebooks.zip").read_bytes() == again  # no dates inside
    (source / "_build" / ABOUT).unlink()
    (out / "downloads/notebooks.zip").unlink()
    downloads.serve(app, None)
    assert not (out / "downloads/notebooks.zip").exists()


def test_a_downloaded_page_has_only_what_jupyterlab_knows():
    text = (
        "```{claim} P-1\n:title: Theorem 2\n\nIt holds.\n```\n```{claim} P-2\nx\n```\n"
        "```{page-opens}\n* a\n```\n```{try} own\n:solved: True\nx = 1\n```\n"
        "See {page}`04-noisy-counts`, {claim-ref}`this one <P-1>` and {badge}`P-2`."
    )
    assert downloads.readable(text) == (
        "```{admonition} Theorem 2 (P-1)\n\nIt holds.\n```\n```{admonition} P-2\nx\n```\n"
        "```{admonition} On this page\n* a\n```\n```python\nx = 1\n```\n"
        "See 04-noisy-counts, this one and P-2."
    )
