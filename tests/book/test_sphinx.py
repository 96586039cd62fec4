"""The Sphinx extension, on a book of two tiny notebooks."""

import io
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from sphinx.util.inventory import InventoryFile

from dpbook.book.files import ABOUT, note, write_whole
from dpbook.book.ledger.check import RECORD_MIME
from dpbook.book.ledger.claims import FIVE
from dpbook.book.run import errata, render
from dpbook.book.run.collect import collect
from dpbook.book.sphinx.claims import PAGES
from tests.book.injection import MARK, MARKDOWN, TEXT, active

ROOT = Path(__file__).resolve().parents[2]

LEDGER = yaml.safe_load(r"""
- {id: P-GOOD, paper: XSC, where: Thm 1, kind: privacy, rests_on: [P-BAD], notebook: 01-one,
   says: "A * B_1 < $x_1$ for `a_b`", status: checked, verdict: holds, evidence: exact,
   report: [loss], beyond: Nothing.}
- {id: P-BAD, paper: AGKM, where: Thm 2, kind: utility, rests_on: [], notebook: 02-two,
   says: Too good, status: checked, verdict: refuted, evidence: exact, report: [], beyond: Nothing.,
   heading: The value $1$ is 2, failed: statement, severity: privacy, quote: always * one,
   withdrawn: [{date: "2026-01-02", said: It is 3., reason: A slip of ours.}],
   reconsider: Another $x$., printed: It is 1., wrong: It is not 1., repair: It is $2$.,
   reproducer: print(6 * 7)}
- {id: Q-LATER, paper: Q, where: Thm 3, kind: utility, rests_on: [P-GOOD], says: Later,
   notebook: 03-three, status: pending}
- {id: R-OPEN, paper: R, where: Abstract, kind: utility, rests_on: [], says: Nobody looked,
   status: pending}
- {id: P-LOST, paper: AGKM, where: Lemma 9, kind: utility, rests_on: [], says: Something small,
   status: not-judged, remark: Its formula is lost.}
""")
# An erratum of another paper, less grave.
LEDGER.append(LEDGER[1] | {"id": "R-BAD", "paper": "R", "severity": "constant"})
MAPS = {"xsc": "XSC", "agkm": "AGKM", "since": "Since the five papers"}
INDEX = """# Index

{cite:p}`knuth1997`

```{bibliography}
```

```{eval-rst}
.. autofunction:: dpbook.book.ledger.check.check
.. autoclass:: dpbook.book.ledger.claims.Claim
   :members:
.. autofunction:: dpbook.book.figures.label_line
```
"""
# One white pixel: enough of a figure for the structure of the page.
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4//8/AAX+Av4N70a4AAAAAElFTkSuQmCC"
)


def record(claim, holds, report=None):
    part = {"what": "loss", "passes": holds, "sign": "≤", "value": 2.0 - holds, "limit": 1.0}
    control = part | {"passes": not holds, "value": 1.0 + holds}
    made = {key: claim[key] for key in ("id", "verdict", "evidence")} | {"report": report or {}}
    made |= dict.fromkeys(("repaired", "why", "notebook", "parameters"))
    measured = [
        {"subject": "printed", "name": "", "passes": holds, "parts": [part]},
        {"subject": "control", "name": "half the noise", "passes": not holds, "parts": [control]},
    ]
    return made | {"holds": holds, "applies": True, "control": True, "measured": measured}


def cell(kind, source, outputs=(), **metadata):
    made = {"cell_type": kind, "id": f"c{abs(hash(source)) % 10**8}", "metadata": metadata}
    made["source"] = source
    if kind == "code":
        made |= {"execution_count": None, "outputs": list(outputs)}
    return made


def display(data):
    return {"output_type": "display_data", "metadata": {}, "data": data}


def notebook(*cells):
    kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": list(cells), "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def one(executed):
    card = {
        "text/html": "<b>old card</b>",
        "text/plain": "old card",
        RECORD_MIME: record(LEDGER[0], True, {"loss": 1.25}),
    }
    figure = {"figure": {"name": "fig-a", "caption": "A $x$."}, "image": {"alt": "A white dot."}}
    return notebook(
        cell("markdown", "# One\n\n{badge}`P-GOOD` says $x$; see {numref}`fig-a`."),
        cell("code", "a = 1  # one | - | [0, 9]", tags=["parameters"]),
        cell("code", "check()", [display(card)] if executed else []),
        cell("code", "plot()", [display({"image/png": PIXEL})] if executed else [], mystnb=figure),
        cell(
            "markdown",
            "```{prf:theorem} T\n:label: thm-t\n\nTrue:\n\n$$\nx = 1\n$$ (eq-t)\n```\n\n"
            "```{exercise} E\n:label: ex-e\n\nWhy?\n```\n\n"
            "```{solution-start} ex-e\n:label: sol-e\n:class: dropdown\n```",
        ),
        cell("code", "1 + 1"),
        cell("markdown", "```{solution-end}\n```"),
    )


def two(executed):
    cards = [
        display({"text/html": "<b>old card</b>", RECORD_MIME: record(claim, False)})
        for claim in (LEDGER[1], LEDGER[-1])
    ]
    return notebook(
        cell(
            "markdown",
            "# Two\n\n[One](01-one.ipynb), {prf:ref}`thm-t`, {badge}`Q-LATER`, "
            "{claim-ref}`P-GOOD`.",
        ),
        cell("code", "b = 1  # one | - | [0, 9]", tags=["parameters"]),
        cell("code", "check()", cards if executed else []),
    )


def write_json(path, value):
    write_whole(path, json.dumps(value))


def book_in(root):
    """A book with the real configuration and two executed pages."""
    (root / "book").mkdir(parents=True)
    names = ["_config.yml", "CITATION.cff"]
    for name in names + [
        f"book/{name}" for name in ("_static", "ledger.md", "errata.md", "errata")
    ]:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, root / name)
    keys = ("knuth1997", *FIVE)
    book = "@book{{{}, author={{Knuth, D}}, title={{T}}, year={{1997}}, publisher={{P}}}}\n"
    chapters = ["notebooks/01-one", "notebooks/02-two", "book/ledger", "book/errata"]
    chapters += [f"book/errata/{name}" for name in sorted({*PAGES.values()})]
    chapters += ["book/bibliography", "book/map", *(f"book/map/{name}" for name in MAPS)]
    chapters += ["book/how-to-read"]
    toc = {"format": "jb-book", "root": "book/index", "chapters": [{"file": f} for f in chapters]}
    for name, text in {
        "_toc.yml": yaml.safe_dump(toc),
        "notebooks/profiles.yml": "smoke: {}\n",
        "book/claims.yml": yaml.safe_dump(LEDGER),
        "book/references.bib": "".join(map(book.format, keys)),
        "book/index.md": INDEX,
        "book/bibliography.md": "# The texts\n",
        "book/how-to-read.md": "(sec-verdicts)=\n# How\n\n(sec-evidence)=\n## Evidence\n",
        "book/map.md": "# The map\n\n```{claims-upstream}\n```\n",
        **{f"book/map/{n}.md": f"# Map\n\n```{{claims-map}} {g}\n```\n" for n, g in MAPS.items()},
    }.items():
        write_whole(root / name, text)
    for name, make in (("01-one", one), ("02-two", two)):
        write_json(root / "notebooks" / f"{name}.ipynb", make(False))
        write_json(root / "_build" / "executed" / "notebooks" / f"{name}.ipynb", make(True))
    shown = {"code": "print(6 * 7)", "output": "42\n", "error": None}
    shown = [display({errata.MIME: shown | {"name": name}}) for name in ("P-BAD", "R-BAD")]
    ran = notebook(cell("code", "show(...)", shown))
    write_json(errata.executed_copy(root / "_build"), ran)
    assert collect(root / "_build", root) == []
    note(root / "_build", "default", "passed")
    return root


def build(root, out=None):
    """Stage and render with warnings as errors; give the exit status and the log."""
    out = out or root / "_build"
    done = render.render(root, out)
    return int(not done), (out / "html.log").read_text(encoding="utf-8")


@pytest.fixture
def project(tmp_path):
    """A book of one's own."""
    return book_in(tmp_path / "project")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A book that has been rendered, to be read."""
    root = book_in(tmp_path_factory.mktemp("built") / "project")
    status, log = build(root)
    assert status == 0 and "WARNING" not in log, log
    return root


def page(root, name):
    return (root / "_build" / "html" / f"{name}.html").read_text(encoding="utf-8")


def test_the_book_builds_without_a_warning_and_shows_the_claims(built):
    first = page(built, "notebooks/01-one")
    assert 'id="claim-P-GOOD"' in first
    assert "old card" not in first  # drawn anew, with the link to the ledger
    assert "../book/ledger.html#ledger-P-GOOD" in first
    assert re.search(r'class="claim-badge claim-holds[^"]*"[^>]*>P-GOOD ✓ holds \(exact\)<', first)
    assert 'alt="A white dot."' in first
    assert "Fig. 1" in first

    two = page(built, "notebooks/02-two")
    assert "box-P-GOOD" not in two and two.count("ledger.html#ledger-P-GOOD") > 1, "it has no box"
    ledger = page(built, "book/ledger")
    assert ledger.count('id="ledger-') == 6
    assert "../notebooks/01-one.html#claim-P-GOOD" in ledger
    assert 'A * B<sub>1</sub> &lt; <span class="math' in ledger  # text is text, math is math
    data = json.loads(re.search(r'"application/ld\+json">(.+?)</script>', first)[1])["@graph"]
    assert [one["@type"] for one in data[:2]] == ["ScholarlyArticle", "ClaimReview"]
    assert data[1]["url"].endswith("#claim-P-GOOD") and "holds" in str(data[1]["reviewRating"])
    assert '<meta name="citation_author" content="' in first
    row = ledger[ledger.index('id="ledger-Q-LATER"') :]
    row = row[: row.index("</tr>")]
    assert "pending" in row and "href" not in row[row.rindex("<td") :]
    assert "planned: 03-three" in row and "no page yet" in ledger
    assert 'href="#ledger-P-GOOD"' in row and 'href="map/since.html#map-Q-LATER"' in row
    assert "through P-GOOD it rests on P-BAD, which is refuted" in row
    assert "this claim is not checked" in row
    assert ledger.count('data-paper="Since the five papers"') == 3, "one choice of the filter"
    assert ">Since the five papers<" in ledger[: ledger.index("claims-ledger")], "one row of counts"

    assert '<th scope="row" class="stub">' in ledger and "<caption" in ledger
    assert 'data-verdict="refuted"' in ledger and 'data-severity="privacy"' in ledger
    assert '"inTabOrder": false' in first
    html = built / "_build" / "html"
    assert (html / ".nojekyll").is_file()
    assert not [n for n in ("genindex", "py-modindex", "prf-prf") if (html / f"{n}.html").exists()]
    index = (html / "searchindex.js").read_text(encoding="utf-8")
    found = json.loads(index[index.index("{") : index.rindex("}") + 1])
    page_one = found["docnames"].index("notebooks/01-one")
    names = {row[4]: row for row in found["objects"][""]}
    assert names["P-GOOD: XSC, Theorem 1"][0] == page_one, "a claim leads the search to its check"
    stream = io.BytesIO((html / "objects.inv").read_bytes())
    inventory = InventoryFile.load(stream, "", posixpath.join)
    assert inventory["claim:statement"]["P-GOOD"][2] == "notebooks/01-one.html#claim-P-GOOD"
    assert inventory["claim:statement"]["Q-LATER"][2] == "book/ledger.html#ledger-Q-LATER"

    for text in ('href="../book/ledger.html#ledger-P-BAD"', "map/xsc.html#map-P-GOOD", "its own"):
        assert text in first[first.index('id="claim-P-GOOD"') :], "the card says what it rests on"
    chart, top = page(built, "book/map/xsc"), page(built, "book/map")
    assert chart.count("<svg role=") == 1 and 'id="map-P-GOOD"' in chart
    assert chart.count('href="since.html#map-Q-LATER"') > 1 and "agkm.html#map-P-BAD" in chart
    assert "Its printed support fails: it rests on P-BAD, which is refuted" in chart
    assert "<caption>What the claims rest on" in chart and 'href="map/agkm.html"' in top

    errata = page(built, "book/errata")
    assert "data-claim" not in errata and "P-GOOD" not in errata and "Q-LATER" not in errata
    assert errata.index("errata/agkm.html#erratum-P-BAD") < errata.index("since.html#erratum-R-BAD")
    own = errata[errata.index("claims-withdrawn") :]
    assert all(text in own for text in ("2026-01-02", "It is 3.", "A slip of ours.", "P-BAD"))
    assert "This copy names no address" in errata and "Object to this verdict" not in errata
    errata, since = page(built, "book/errata/agkm"), page(built, "book/errata/since")
    assert 'id="erratum-P-BAD"' in errata and "erratum-R-BAD" not in errata
    assert 'id="erratum-R-BAD"' in since and "erratum-P-BAD" not in since
    assert "A privacy guarantee is broken (1)" in errata and "What failed: the statement" in errata
    assert "A constant changes (1)" in since
    assert "(1)" not in page(built, "book/errata/yll")
    assert "is 2<" in errata, "the heading is a sentence"
    for text in ("“always  one”", "What would change our mind.", "Not judged (1)", "is lost."):
        assert text in errata
    assert "claim-privacy" in page(built, "book/ledger")
    for text in ("It is 1.", "It is not 1.", "Correction.", "../notebooks/02-two.html#claim-P-BAD"):
        assert text in errata
    after = errata[errata.index("It prints") :]
    assert re.search(r"<pre>(<span></span>)?42\n</pre>", after), "the output of the reproducer"

    for name in ("notebooks/01-one", "notebooks/02-two", "book/ledger"):
        scripts = re.findall(r"<script>(.+?)</script>", page(built, name), re.DOTALL)
        assert len(scripts) == len(set(scripts)), "an inline script is repeated"
        assert page(built, name).count("_static/ledger.js") == 1
    check = [sys.executable, str(ROOT / "tools" / "links.py"), built / "_build" / "html"]
    assert subprocess.run(check, check=False).returncode == 0


def crafted(entry):
    """An entry of the ledger all of whose sentences would act on a page."""
    fields = {"says", "where", "remark", "heading", "printed", "wrong", "repair"}
    changed = {key: MARKDOWN for key in fields & entry.keys()}
    if "withdrawn" in entry:
        changed["withdrawn"] = [entry["withdrawn"][0] | {"said": MARKDOWN, "reason": MARKDOWN}]
        changed["reproducer"] = f"print({TEXT!r})"
    return entry | changed | {"remark": MARKDOWN}


def test_a_crafted_ledger_puts_no_script_into_a_page(project, tmp_path):
    claims = [crafted(entry) for entry in LEDGER]
    ledger = project / "book" / "claims.yml"
    ledger.write_text(yaml.safe_dump(claims), encoding="utf-8")
    shown = {"name": "P-BAD", "code": claims[1]["reproducer"], "output": TEXT, "error": None}
    ran = notebook(cell("code", "show(...)", [display({errata.MIME: shown})]))
    write_json(errata.executed_copy(project / "_build"), ran)
    executed = project / "_build" / "executed" / "notebooks" / "01-one.ipynb"
    page_one = executed.read_text().replace("half the noise", json.dumps(TEXT)[1:-1])
    executed.write_text(page_one.replace("A white dot.", json.dumps(TEXT)[1:-1]))
    for path in (executed, project / "notebooks" / "01-one.ipynb"):
        path.write_text(path.read_text().replace("# One", f"# One {{claim-ref}}`P-GOOD` {MARK}"))
    # roles and substitutions in it may be warnings, which would stop `make book`
    source = project / "_build" / "source"
    assert render.stage(project, [project / "_build"], source, "teacher") == []
    script = Path(sys.executable).with_name("jupyter-book")
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [script, "build", source, "--all", "-n", "--path-output", project]
    subprocess.run(command, env=env, cwd=project, capture_output=True, check=True)
    for name in ("notebooks/01-one", "notebooks/02-two", "book/ledger", "book/errata"):
        html = page(project, name)
        assert MARK in html and active(html) == [], name
    assert active(page(project, "book/map/xsc")) == []
    assert active(page(project, "book/ledger").replace("&lt;", "<").replace("&gt;", ">"))


def test_an_address_gives_sitemap_and_links_and_without_one_there_are_none(
    built, project, tmp_path
):
    """And another output directory is used, in which an injected cell is no staleness."""
    base, repository = "https://books.example/ranking", "https://github.com/someone/ranking"

    def found(folder):
        html = (folder / "notebooks/01-one.html").read_text(encoding="utf-8")
        return {
            "sitemap": (folder / "sitemap.xml").is_file(),
            "canonical": f'rel="canonical" href="{base}/notebooks/01-one.html"' in html,
            "preview": f'"og:image" content="{base}/_static/page.png"' in html,
            "repository": repository in html,
            "edit": f"{repository}/edit/" in html,
            "issues": f"{repository}/issues" in html,
            "address in the entry": f"url = {{{base}/notebooks/01-one.html}}" in html,
        }

    assert not any(found(built / "_build" / "html").values())
    html = page(built, "notebooks/01-one")
    assert "Version " in html and "@incollection{private-ranking-checked-01-one," in html
    assert '<meta name="description" content="' in html and "favicon.svg" in html
    config, out = project / "_config.yml", tmp_path / "elsewhere"
    text = config.read_text().replace('baseurl: ""', f"baseurl: {base}/")
    config.write_text(text.replace('url: ""', f"url: {repository}", 1))
    (project / "_build").rename(out)
    executed = out / "executed" / "notebooks" / "02-two.ipynb"
    changed = json.loads(executed.read_text())
    changed["cells"].insert(2, cell("code", "b = 7", tags=["injected-parameters"]))
    write_json(executed, changed)
    status, log = build(project, out)
    assert status == 0, log
    assert all(found(out / "html").values()), found(out / "html")
    sitemap = (out / "html/sitemap.xml").read_text()
    listed = re.findall(r"<loc>(.*?)</loc>", sitemap)
    assert f"{base}/notebooks/02-two.html" in listed and len(listed) == len(set(listed))
    for address in listed:
        assert (out / "html" / address.removeprefix(f"{base}/")).is_file(), address
    assert 'id="claim-P-GOOD"' in (out / "html/notebooks/01-one.html").read_text()
    assert "tag_injected-parameters" in (out / "html/notebooks/02-two.html").read_text()


def test_plain_sphinx_builds_the_same_book_and_one_page_of_it(built):
    """The settings of Jupyter Book are all that is needed of it."""
    source = built / "_build" / "source"
    assert render.stage(built, [built / "_build"], source, "teacher") == []
    script = Path(sys.executable).with_name("jupyter-book")
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([script, "config", "sphinx", source], check=True, env=env, capture_output=True)
    command = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "-b", "html", source]
    command.append(built / "_build" / "plain")
    subprocess.run(command, check=True, env=env, cwd=built)
    for name in ("notebooks/01-one", "book/ledger", "book/map/xsc"):
        plain = (built / "_build" / "plain" / f"{name}.html").read_text(encoding="utf-8")
        articles = [
            re.search(r"<article.*?</article>", html, re.DOTALL)[0]
            for html in (plain, page(built, name))
        ]
        assert articles[0] == articles[1] and "P-GOOD" in articles[0]
    (built / "_build" / ".dpbook").touch()
    assert render.render_page(built, built / "_build", "01-one")
    assert 'id="claim-P-GOOD"' in page(built, "notebooks/01-one")


def test_what_has_not_run_fails_the_build_unless_it_is_partial(project):
    for name in ("claims.json", "executed/errata.ipynb"):
        (project / "_build" / name).unlink()
    status, log = build(project)
    assert status != 0
    assert "no claims.json: execute the book first" in log
    assert "the reproducer of P-BAD has not been executed in this form" in log
    (project / "_build" / ABOUT).unlink()  # not a build of the whole book
    status, log = build(project)
    assert status == 0, log
    assert "not run in this build" in page(project, "book/ledger")
    (project / "_build" / "executed/notebooks/01-one.ipynb").unlink()
    status, log = build(project)
    assert status != 0 and "01-one.ipynb: ERROR: has not been executed" in log


def test_a_stale_copy_a_bad_badge_and_stderr_fail_the_build(project):
    source = project / "notebooks" / "02-two.ipynb"
    good = source.read_text()
    source.write_text(good.replace("b = 1", "b = 2"))
    executed = project / "_build" / "executed" / "notebooks" / "01-one.ipynb"
    changed = json.loads(executed.read_text())
    changed["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stderr", "text": "Oh"}]
    write_json(executed, changed)
    errata = project / "book" / "errata.md"
    errata.write_text(errata.read_text() + "\n{badge}`P-NONE`\n")
    ledger = project / "book" / "claims.yml"
    ledger.write_text(ledger.read_text().replace("print(6 * 7)", "print(6 / 0)"))
    status, log = build(project)
    assert status != 0 and "02-two.ipynb: ERROR: was edited after it was executed" in log
    source.write_text(good)
    status, log = build(project)
    assert status != 0
    assert f"{project}/notebooks/01-one.ipynb" in log, "where somebody can mend it"
    assert "stderr was found" in log
    assert "claim:badge reference target not found: P-NONE" in log
    assert "the reproducer of P-BAD has not been executed in this form" in log
