"""`tools/pdf.py` prints all of a book, and its comparison notices what is lost (needs Chromium)."""

import importlib
import re

import pytest

from dpbook.book.files import write_whole
from tests.book.browsing import BROWSER, check_pages, chromium, needs_browser

pypdf = pytest.importorskip("pypdf", reason="pypdf is not installed: make pdf")
pdf = importlib.import_module("pdf")

FRONT = """<html lang="en"><head><link rel="stylesheet" href="../_static/book.css"></head><body>
<nav class="bd-docs-nav"><p class="caption">Start</p>
<li class="toctree-l1"><a class="internal" href="../notebooks/01-one.html">1. One</a></li>
<p class="caption">Back</p>
<li class="toctree-l1"><a class="internal" href="../notebooks/02-two.html">2. Two</a></li></nav>
<article class="bd-article"><section id="front"><h1>The front</h1><p>Many people compare.</p>
</section></article></body></html>"""
PAGE = '<html lang="en"><body><article class="bd-article">{}</article></body></html>'
CLAIM = """<div class="claim-box admonition"><p class="admonition-title">
<span class="target" id="box-AB-T1"></span>AB, Theorem 1 <a class="claim-badge" href="#box-AB-T1">
AB-T1 holds</a></p><p>Noise hides one comparison.</p></div>"""
WIDE = "<tr>{}</tr>".format("".join(f"<td>column{i:02}</td>" for i in range(14)))
ONE = f"""<section id="one"><h1>1. One<a class="headerlink" href="#one">#</a></h1>
<p>See <a class="internal" href="02-two.html#there">the other page</a>,
<a href="https://example.org/paper">a paper</a> and <a href="../downloads/x.zip">a file</a>.</p>
{CLAIM}
<div class="cell"><details class="hide"><summary>draws</summary><pre>folded_code = 1</pre></details>
<figure id="fig-dot"><img src="../_images/dot.svg" alt="A dot.">
<figcaption><p><span class="caption-number">Fig. 1.1 </span>A dot as large as a house.</p>
</figcaption></figure></div>
<div class="highlight"><pre>{"long_name + " * 30}</pre></div>
<p>See the <a href="02-two.html">map<span class="visually-hidden"> around AB-T1</span></a>.</p>
<table><tbody><tr><td><code><span class="pre">{"wide_" * 40}</span></code></td></tr></tbody></table>
<table><caption>A wide table</caption><tbody>{WIDE}</tbody></table>
<div class="exercise admonition" id="ex-1"><p class="admonition-title">Exercise 1.1 (The flip)</p>
<p>How many flips are there?</p></div>
<div class="solution admonition" id="sol-1"><p class="admonition-title">Solution to
<a href="#ex-1">Exercise 1.1 (The flip)</a></p><p>As many as comparisons.</p></div></section>"""
TWO = """<section id="two"><h1>2. Two</h1>{}
<h2 id="there">The place that page one means</h2><p>Here it is.</p>
<p>Back to <a href="01-one.html#box-AB-T1">the claim</a>.</p></section>""".format(
    "<p>A paragraph that fills paper.</p>" * 120
)
DOT = """<svg xmlns="http://www.w3.org/2000/svg" width="2000" height="3000">
<circle cx="1000" cy="1500" r="900"/></svg>"""


def write_book(folder, one=ONE, two=TWO):
    """A built book of a front page and two more."""
    for name, text in (
        ("book/index.html", FRONT),
        ("notebooks/01-one.html", PAGE.format(one)),
        ("notebooks/02-two.html", PAGE.format(two)),
        (
            "_static/book.css",
            "h1 {color: #000} .visually-hidden {display: none} .pre {white-space: nowrap}",
        ),
        ("_static/mathjax/tex-chtml.js", ""),
        ("_images/dot.svg", DOT),
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """The book, its PDFs, and how many problems there were."""
    html = write_book(tmp_path_factory.mktemp("built") / "html")
    out = html.parent / "pdf"
    return html, out, pdf.make(BROWSER, html, out, paper="letter", profile="smoke")


def plain(path):
    """The text of a PDF, without spaces."""
    return pdf.squeeze("".join(page.extract_text() for page in pypdf.PdfReader(path).pages))


PATHS = ["book/index.html", "notebooks/01-one.html", "notebooks/02-two.html"]


@needs_browser
def test_all_of_the_book_is_printed_and_its_comparison_agrees(printed):
    _, out, problems = printed
    assert problems == 0
    text = plain(out / pdf.BOOK)
    for words in ("Fig.1.1Adot", "Solutionsoftheexercises", "theprofilesmoke", "column13"):
        assert words in text
    assert "folded_code" not in text
    assert text.index("Howmanyflips") < text.index("Theplacethatpageonemeans")
    assert text.index("Theplacethatpageonemeans") < text.index("Asmanyascomparisons")


@needs_browser
def test_numbers_and_links_of_the_book(printed):
    _, out, _ = printed
    reader = pypdf.PdfReader(out / pdf.BOOK)
    pages = [page.extract_text() for page in reader.pages]
    places = pdf.destinations(reader)
    assert "Here it is" in pages[places["02-two--there"] - 1]
    assert "As many as" in pages[places["01-one--sol-1"] - 1]
    assert re.search(rf"Solution on page\s*{places['01-one--sol-1']}\b", "\n".join(pages))
    (number,) = re.findall(r"2\. Two\s*(\d+)", pages[1])
    assert int(number) == places["02-two"] and "2. Two" in pages[int(number) - 1]
    assert pages[int(number)].split("\n")[1] == str(int(number) + 1)  # the number at the foot
    links = [one.get_object() for page in reader.pages for one in page.get("/Annots") or []]
    assert [a["/A"]["/URI"] for a in links if "/A" in a] == ["https://example.org/paper"]
    wanted = "01-one solutions 02-two--there 01-one--box-AB-T1 01-one--ex-1 01-one--sol-1"
    assert {str(a["/Dest"]).strip("/") for a in links if "/Dest" in a} >= {*wanted.split()}
    assert [round(float(side)) for side in reader.pages[0].mediabox[2:]] == [612, 792]
    assert reader.metadata.title == pdf.TITLE and reader.trailer["/Root"]["/Lang"] == "en"


@needs_browser
def test_the_same_book_gives_the_same_bytes(printed, tmp_path):
    html, out, _ = printed
    assert pdf.make(BROWSER, html, tmp_path, paper="letter", profile="smoke") == 0
    assert (tmp_path / pdf.BOOK).read_bytes() == (out / pdf.BOOK).read_bytes()


@needs_browser
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (CLAIM, CLAIM + CLAIM.replace("AB", "CD"), "CD,Theorem1"),
        ("Fig. 1.1", "Fig. 1.2", "Fig.1.2"),
        ("As many as", "Twice as many as", "Twiceasmany"),
    ],
)
def test_what_the_pdf_lacks_is_noticed(printed, tmp_path, old, new, words):
    _, out, _ = printed
    assert old in ONE
    html = write_book(tmp_path / "html", one=ONE.replace(old, new))
    problems = pdf.compare(html, PATHS, out / pdf.BOOK)
    assert any(f"not in the PDF: {words}" in line for line in problems), problems


@needs_browser
def test_what_leaves_the_paper_or_leads_nowhere_is_noticed(tmp_path, capsys):
    far = '<div style="width: 900px">Far</div><a href="01-one.html#gone">gone</a>'
    html = write_book(tmp_path / "html", two=TWO.replace("</section>", far + "</section>"))
    assert pdf.make(BROWSER, html, tmp_path / "pdf") > 0
    said = capsys.readouterr().out
    assert "outside: <div > Far" in said
    assert "a link leads to #01-one--gone, which is nowhere" in said


@pytest.mark.parametrize("tool", [check_pages, pdf])
@pytest.mark.parametrize(("ci", "status", "word"), [("true", 1, "failed"), ("", 0, "skipped")])
def test_without_a_browser_or_a_book_it_says_how_to_get_one(
    tmp_path, monkeypatch, capsys, tool, ci, status, word
):
    monkeypatch.setattr(chromium.shutil, "which", lambda name: None)
    monkeypatch.setenv("CI", ci)
    assert tool.main(["--html", str(tmp_path)]) == 2
    assert "make book" in capsys.readouterr().err
    for name in ("index.html", "book/index.html"):
        write_whole(tmp_path / name, "x")
    assert tool.main(["--html", str(tmp_path)]) == status
    said = capsys.readouterr().err
    assert "apt-get install chromium" in said and word in said
