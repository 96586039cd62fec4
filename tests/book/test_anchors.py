"""Links to anchors, by `tools/anchors.py`, and to files, by linkchecker as `make test` calls it."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.book.browsing import ROOT

CHECKER = shutil.which("linkchecker", path=Path(sys.executable).parent)
GOOD = """<h1 id="top">T</h1><a name="old"></a><img src="data:image/png;base64,AA==" alt="">
<a href="#top">x</a> <a href="sub/b.html#b%20c">x</a> <a href="#">x</a> <a href="sub/b.html">x</a>
<a href="https://example.org/#x">x</a> <a href="#old">x</a> <p id="twice"></p><p id="twice"></p>"""


def status(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("html", "anchors", "files"),
    [
        ("", "", ""),
        ('<a href="index.html#none">', "c.html: index.html#none: 0 such ids", ""),
        ('<a href="#none">', "c.html: #none: 0 such ids", ""),
        ('<a href="index.html#twice">', "c.html: index.html#twice: 2 such ids", ""),
        ('<a href="none.html#x">', "", "none.html"),
        ('<img src="none.png">', "", "none.png"),
        ('<link rel="stylesheet" href="none.css">', "", "none.css"),
    ],
)
def test_each_kind_of_broken_link_is_found(html, anchors, files):
    # Not in a folder of pytest's: linkchecker lays down the rights of root, who alone may read it.
    with tempfile.TemporaryDirectory() as made:
        book = Path(made)
        book.chmod(0o755)
        (book / "sub").mkdir()
        (book / "sub" / "b.html").write_text('<p id="b c"></p><a href="../index.html#top">x</a>')
        (book / "index.html").write_text(f'{GOOD}<a href="c.html">x</a>')
        (book / "c.html").write_text(html)
        code, said = status(sys.executable, ROOT / "tools" / "anchors.py", book)
        assert code == bool(anchors) and anchors in said
        if CHECKER:
            code, said = status(CHECKER, "--no-status", "--no-robots", book / "index.html")
            assert code == bool(files) and files in said


def test_an_empty_folder_is_not_a_good_book(tmp_path):
    assert status(sys.executable, ROOT / "tools" / "anchors.py", tmp_path)[0] == 1
