"""What can go wrong in a build: the previous book stays, the next build works, one sentence says
what to do.  ``book/trust/faults.json`` lists every fault."""

import errno
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from dpbook.book.cli import main
from dpbook.book.files import OLD, claim_folder, sole_build, write_whole
from dpbook.book.run import build, render
from tests.book.conftest import elsewhere
from tests.book.test_output import ended, tree, wait_until

# In place of Sphinx: a page that shows what was executed, unless a file says what goes wrong.
PRESS = """
import os, pathlib, time
def main(words):
    source, out = map(pathlib.Path, words[6:8])
    out.mkdir(parents=True)
    (out / "half.html").write_text("half")
    fault = pathlib.Path("fault")
    if fault.is_file() and fault.read_text() == "sleep":
        pathlib.Path("new").write_text(str(os.getpid()))
        pathlib.Path("new").rename("pid")
        time.sleep(600)
    if fault.is_file() and fault.read_text() == "full":
        open("/dev/full", "w").write("x" * 10**6)
    (out / "half.html").unlink()
    print("rendered")
    (out / "index.html").write_text((source / "notebooks" / "01-one.ipynb").read_text())
    return 0
"""
SETTINGS = """
def get_final_config(**_):
    return {}, None
"""


@pytest.fixture
def press(tiny_book, stub_kernels):
    """A book of one page that builds quickly, and has been built once; its HTML."""
    shutil.rmtree(tiny_book / "dpbook")  # the real package is the one that runs
    (tiny_book / "notebooks" / "02-two.ipynb").unlink()
    stubs = {"jupyter_book/config": SETTINGS, "sphinx/cmd/build": PRESS}
    stubs |= dict.fromkeys(["jupyter_book/__init__", "sphinx/__init__", "sphinx/cmd/__init__"], "")
    for name, text in stubs.items():
        write_whole(tiny_book / f"{name}.py", text)
    assert main(["build"], tiny_book) == 0
    return tiny_book / "_build" / "html"


def edit(root):
    """Something that all HTML depends on."""
    config = root / "_config.yml"
    config.write_text(config.read_text() + "# another line\n")


def test_kill_9_in_execution(tiny_book, sleeping_build, page_writer, monkeypatch):
    out = tiny_book / "_build"
    write_whole(out / "html" / "index.html", "previous")
    process, kernel = sleeping_build
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert wait_until(lambda: ended(kernel), 30), "a kernel must not outlive its build"
    assert (out / "html" / "index.html").read_text() == "previous"
    assert not list(out.rglob("*.ipynb"))

    page_writer(tiny_book / "notebooks" / "01-one.ipynb", "x = 1 + 1")
    monkeypatch.setattr(build, "render", lambda *args: True)
    assert main(["build"], tiny_book) == 0


def test_kill_9_in_rendering(tiny_book, press):
    before = tree(press)
    edit(tiny_book)
    (tiny_book / "fault").write_text("sleep")
    process = elsewhere(tiny_book, "build")
    assert wait_until((tiny_book / "pid").is_file), process.communicate()[0]
    child = int((tiny_book / "pid").read_text())
    process.kill()
    process.communicate(timeout=60)
    assert wait_until(lambda: ended(child), 10), "what renders must not outlive its build"
    assert tree(press) == before

    (tiny_book / "fault").unlink()
    assert main(["build"], tiny_book) == 0
    assert tree(press) == before, "the same page, rendered anew"
    assert not list((tiny_book / "_build").glob("staging-*"))


def test_kill_9_between_two_renamings(tmp_path):
    out = claim_folder(tmp_path / "out")
    write_whole(out / OLD / "index.html", "previous")
    with sole_build(tmp_path, out):
        assert (out / "html" / "index.html").read_text() == "previous"
    write_whole(out / OLD / "index.html", "older")
    with sole_build(tmp_path, out):  # a complete book is never replaced by an older one
        assert (out / "html" / "index.html").read_text() == "previous"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("when", ["executing", "rendering", "writing the log"])
def test_a_full_disk(tiny_book, press, page_writer, capsys, when):
    before = tree(press)
    edit(tiny_book)
    full = None
    if when == "executing":
        page_writer(tiny_book / "notebooks" / "01-one.ipynb", "2 + 2")
        full = tiny_book / "_build" / "executed" / "notebooks" / f".01-one.ipynb.{os.getpid()}.tmp"
    elif when == "writing the log":
        full = tiny_book / "_build" / f".html.log.{os.getpid()}.tmp"
    else:
        (tiny_book / "fault").write_text("full")
    if full:
        full.symlink_to("/dev/full")  # where `write_whole` writes first
    assert main(["build"], tiny_book) == 1
    told = capsys.readouterr().err
    assert "No space left on device" in told and "previous book is" in told
    assert tree(press) == before
    if full:
        assert "make room" in told and "Traceback" not in told and not full.exists()

    (tiny_book / "fault").unlink(missing_ok=True)
    assert main(["build"], tiny_book) == 0
    assert "half.html" not in tree(press)


def test_a_folder_that_may_not_be_changed_keeps_the_book(tiny_book, press, monkeypatch, capsys):
    before = tree(press)
    edit(tiny_book)
    rename = Path.rename

    def refuse(self, target):
        if self.name == "html" and "staging-" in str(self.parent):
            raise OSError(errno.EROFS, "Read-only file system", str(target))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    assert main(["build"], tiny_book) == 1
    told = capsys.readouterr().err
    assert f"Read-only file system: {press}" in told and "allow writing there" in told
    assert tree(press) == before
    monkeypatch.undo()
    assert main(["build"], tiny_book) == 0


BROKEN = {
    "notebook: nested too deeply": ("notebooks/01-one.ipynb", b"[" * 100_000, "page 01-one"),
    "notebook: no UTF-8": ("notebooks/01-one.ipynb", b"\xff\xfe", "page 01-one"),
    "notebook: half a file": ("notebooks/01-one.ipynb", b'{"cells": [', "page 01-one"),
    "notebook: no cells": ("notebooks/01-one.ipynb", b'{"cells": [1]}', "page 01-one: not a read"),
    "notebook: no fields": (
        *("notebooks/01-one.ipynb", b'{"cells": [{"cell_type": "code", "metadata": {}}]}'),
        "page 01-one: not a readable notebook",
    ),
    "ledger: no YAML": ("book/claims.yml", b"- {id: A", "claims.yml is not valid YAML"),
    "ledger: no UTF-8": ("book/claims.yml", b"\xff", "claims.yml is not valid UTF-8"),
    "ledger: no list": ("book/claims.yml", b"5", "claims.yml must be a list"),
    "ledger: missing": ("book/claims.yml", None, "claims.yml"),
    "ledger: code": ("book/claims.yml", b'- !!python/object/apply:os.mkdir ["x"]', "needs an id"),
    "profile: no YAML": ("notebooks/profiles.yml", b"smoke: {", "profiles.yml cannot be read"),
    "profile: no UTF-8": ("notebooks/profiles.yml", b"\xff", "profiles.yml cannot be read"),
    "profile: a list": ("notebooks/profiles.yml", b"[1]", "profiles.yml must map"),
    "profile: missing": ("notebooks/profiles.yml", None, "profiles.yml cannot be read"),
    "module: no Python": ("dpbook/ranking.py", b"def f(:", "ranking.py is not valid Python"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_file_is_named_before_anything_runs(
    fault, tiny_book, page_writer, monkeypatch, capsys
):
    page_writer(tiny_book / "notebooks" / "01-one.ipynb", "import dpbook.ranking")
    monkeypatch.setattr(build, "run_pages", lambda *args, **options: [])
    monkeypatch.setattr(build, "render", lambda *args: True)
    write_whole(tiny_book / "_build" / ".dpbook", "")
    write_whole(tiny_book / "_build" / "html" / "index.html", "previous")
    name, content, words = BROKEN[fault]
    good = (tiny_book / name).read_bytes()
    (tiny_book / name).unlink()
    if content is not None:
        (tiny_book / name).write_bytes(content)
    before = tree(tiny_book)
    assert main(["build"], tiny_book) == 2
    told = capsys.readouterr().err
    assert told.startswith("dpbook: ") and words in told and "Traceback" not in told
    assert tree(tiny_book) == before

    (tiny_book / name).write_bytes(good)
    assert main(["build"], tiny_book) == 0


def test_a_cell_that_is_no_python_is_named(tiny_book, page_writer, capsys):
    page_writer(tiny_book / "notebooks" / "01-one.ipynb", "%matplotlib inline\nx = = 1")
    assert main(["build"], tiny_book) == 2
    told = capsys.readouterr().err
    assert told.startswith("dpbook: page 01-one: a cell is not valid Python")
    assert "line 2: 'x = = 1'" in told


def test_a_killed_kernel_is_told_with_its_cell(tiny_book, page_writer, capsys):
    (tiny_book / "notebooks" / "02-two.ipynb").unlink()
    page_writer(tiny_book / "notebooks" / "01-one.ipynb", "import os; os.kill(os.getpid(), 9)")
    assert main(["build"], tiny_book) == 1
    told = capsys.readouterr().err
    assert "cell 2 (counted from 0) of 01-one.ipynb:\nDeadKernelError" in told
    assert "run this page again: dpbook run 01-one" in told


def test_what_renders_and_fails_says_where_all_of_it_stands(tiny_book, press, monkeypatch, capsys):
    failed = subprocess.CompletedProcess([], 1, stdout="book/a.md:3: WARNING: stderr was found\n")
    monkeypatch.setattr(render, "run_python", lambda *args, **options: failed)
    edit(tiny_book)
    assert main(["build"], tiny_book) == 1
    told = capsys.readouterr().err
    assert "stderr was found" in told and "html.log" in told
    assert "the previous book is as it was" in told and (press / "index.html").is_file()
