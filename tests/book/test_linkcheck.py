"""The link check: what is fine passes, and each kind of broken link is one line."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("linkcheck", ROOT / "tools" / "linkcheck.py")
linkcheck = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(linkcheck)

GOOD = """<html><head><link rel="stylesheet" href="_static/a.css?digest=1">
<link rel="canonical" href="https://example.org/a.html"><script src="_static/a.js"></script></head>
<body><h1 id="top">T</h1><a name="old"></a><img src="data:image/png;base64,AA==" alt="">
<a href="#top">x</a> <a href="sub/b.html#b%20c">x</a> <a href="#">x</a> <a href="sub/">x</a>
<a href="https://example.org/">x</a> <a href="mailto:a@example.org">x</a>
<a href="#old">x</a> <p id="twice"></p><p id="twice"></p></body></html>"""


@pytest.fixture
def book(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "_static").mkdir()
    (tmp_path / "a.html").write_text(GOOD)
    (tmp_path / "sub" / "b.html").write_text('<p id="b c"></p><a href="../a.html#top">x</a>')
    (tmp_path / "sub" / "index.html").write_text("<p></p>")
    (tmp_path / "_static" / "a.css").write_text("p { background: url(a.png) }")
    (tmp_path / "_static" / "a.js").write_text("")
    (tmp_path / "_static" / "macros.html").write_text('<script src="https://example.org/x.js">')
    return tmp_path


def test_a_good_book(book, capsys):
    result = linkcheck.check_tree(book)
    assert result.problems == []
    assert result.pages == 3
    assert result.external == ["https://example.org/", "mailto:a@example.org"]
    assert linkcheck.main([str(book)]) == 0
    assert "3 pages" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("html", "problem"),
    [
        ('<a href="none.html">', "c.html: none.html leads to a file that does not exist"),
        ('<img src="none.png">', "c.html: none.png leads to a file that does not exist"),
        ('<a href="a.html#none">', "c.html: a.html#none leads to an anchor that does not exist"),
        ('<a href="#none">', "c.html: #none leads to an anchor that does not exist"),
        ('<a href="a.html#twice">', "c.html: a.html#twice leads to an id that occurs 2 times"),
        ('<a href="/a.html">', "c.html: /a.html leads out of the book"),
        ('<a href="../x.html">', "c.html: ../x.html leads out of the book"),
        ('<script src="https://e.org/x.js">', "c.html: loads https://e.org/x.js from another host"),
        ('<script src="//e.org/x.js">', "c.html: loads //e.org/x.js from another host"),
        ('<link rel="stylesheet" href="http://e.org/x.css">', "loads http://e.org/x.css from"),
        ('<link rel="preconnect" href="https://e.org">', "loads https://e.org from another host"),
        ('<img src="https://e.org/x.png">', "loads https://e.org/x.png from another host"),
        ('<img srcset="a.css 1x, https://e.org/x.png 2x">', "loads https://e.org/x.png from"),
        ('<iframe src="https://e.org/">', "loads https://e.org/ from another host"),
        ("<style>@import 'https://e.org/f.css';</style>", "loads https://e.org/f.css from"),
        ('<p style="background:url(https://e.org/p.png)">', "loads https://e.org/p.png from"),
    ],
)
def test_every_kind_of_broken_link(book, capsys, html, problem):
    (book / "c.html").write_text(html)
    assert any(problem in line for line in linkcheck.check_tree(book).problems)
    assert linkcheck.main([str(book)]) == 1
    assert problem in capsys.readouterr().out


def test_style_sheets_load_nothing_from_elsewhere(book):
    (book / "_static" / "b.css").write_text('@font-face { src: url("https://e.org/f.woff2") }')
    (problem,) = linkcheck.check_tree(book).problems
    assert problem == "_static/b.css: loads https://e.org/f.woff2 from another host"
    assert linkcheck.css_urls("a{b:url( 'x.png' )}") == ["x.png"]


def test_an_empty_folder_is_not_a_good_book(tmp_path, capsys):
    assert linkcheck.main([str(tmp_path)]) == 1
    assert linkcheck.main([str(tmp_path / "none")]) == 2
    assert linkcheck.main([]) == 2
    assert "no HTML page" in capsys.readouterr().err
