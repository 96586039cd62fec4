"""Links to files and to anchors, by `tools/links.py`."""

import subprocess
import sys

import pytest

from tests.book.browsing import ROOT

GOOD = """<h1 id="top">T</h1><a name="old"></a><img src="data:image/png;base64,AA==" alt="">
<a href="#top">x</a> <a href="sub/b.html#b%20c">x</a> <a href="#">x</a> <a href="sub/b.html">x</a>
<a href="https://example.org/#x">x</a> <a href="#old">x</a> <p id="twice"></p><p id="twice"></p>
<a href="mailto:a@b.org">x</a> <a href="c.html?paper=P#end">x</a>"""


def status(folder):
    command = [sys.executable, ROOT / "tools" / "links.py", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("html", "problem"),
    [
        ("", ""),
        ('<a href="index.html#none">', "c.html: index.html#none: 0 such ids"),
        ('<a href="#none">', "c.html: #none: 0 such ids"),
        ('<a href="index.html#twice">', "c.html: index.html#twice: 2 such ids"),
        ('<a href="none.html#x">', "c.html: none.html#x: no such file"),
        ('<img src="none.png">', "c.html: none.png: no such file"),
        ('<link rel="stylesheet" href="none.css">', "c.html: none.css: no such file"),
    ],
)
def test_each_kind_of_broken_link_is_found(tmp_path, html, problem):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.html").write_text('<p id="b c"></p><a href="../index.html#top">x</a>')
    (tmp_path / "index.html").write_text(f'{GOOD}<a href="c.html">x</a>')
    (tmp_path / "c.html").write_text(f'<p id="end"></p>{html}')
    code, lines = status(tmp_path)
    assert code == bool(problem) and problem in lines


def test_an_empty_folder_is_not_a_good_book(tmp_path):
    assert status(tmp_path)[0] == 1
