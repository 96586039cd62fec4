"""The folder of a build: never somebody else's, never two builds', and clean after a kill."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpbook.book.cli import main
from dpbook.book.files import MARKER, claim_folder, sole_build, write_whole
from dpbook.book.run import build

ROOT = Path(__file__).resolve().parents[2]


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def unused(monkeypatch):
    monkeypatch.setattr(build, "run_pages", lambda *a, **o: pytest.fail("a page was executed"))


def test_what_is_not_ours_is_never_deleted(tiny_book, unused, capsys):
    theirs = tiny_book / "theirs"
    for name in ("html/important.txt", "html.old/o.txt", "staging/s.txt", "executed/a.ipynb"):
        write_whole(theirs / name, "mine")
    before = tree(tiny_book)
    assert main(["build", "--output", str(theirs)], tiny_book) == 2
    told = f"{theirs} holds files that no build of this book made (executed, html, html.old, ...)"
    assert told in capsys.readouterr().err
    assert tree(tiny_book) == before


def test_new_empty_and_own_folders_are_taken(tmp_path):
    (tmp_path / "empty").mkdir()
    for name in ("new", "deep/er", "empty"):
        out = claim_folder(tmp_path / name)
        (out / "html").mkdir()
        assert (out / MARKER).is_file() and claim_folder(out) == out  # ours, however full
    with sole_build(tmp_path, tmp_path / "_build" / "smoke"):
        pass
    with sole_build(tmp_path, tmp_path / "_build"):  # the folder above stays usable
        pass


def test_a_place_that_cannot_be_written_is_one_sentence(tiny_book, unused, capsys):
    (tiny_book / "file").write_text("x")
    cases = {
        str(tiny_book / "file"): "file cannot be written to: File exists",
        str(tiny_book / "file" / "below"): "cannot be written to: Not a directory",
        "/proc/dpbook": "cannot be written to",
    }
    for output, complaint in cases.items():
        assert main(["build", "--output", output], tiny_book) == 2
        told = capsys.readouterr().err
        assert complaint in told and told.count("\n") == 1
    assert (tiny_book / "file").read_text() == "x"


def test_one_build_at_a_time(tiny_book, capsys):
    out = claim_folder(tiny_book / "_build")
    with open(out / ".lock", "w") as other:
        other.write("4711\n")
        other.flush()
        fcntl.flock(other, fcntl.LOCK_EX)
        assert main(["build"], tiny_book) == 2
        told = capsys.readouterr().err
        assert f"another build is at work in {out} (process 4711)" in told
        assert told.count("\n") == 1
    with sole_build(tiny_book, out):  # free again
        assert (out / ".lock").read_text() == f"{os.getpid()}\n"


def test_what_a_killed_build_left_is_removed(tmp_path):
    out = claim_folder(tmp_path / "out")
    (out / "staging-killed" / "deep").mkdir(parents=True)
    with sole_build(tmp_path, out):
        assert not list(out.glob("staging-*"))


# --- children and signals -------------------------------------------------------------------------

# A parent that runs a child which would sleep for a long time, and says the child's number.
PARENT = """
import sys
from dpbook.book.run.render import run_python
run_python("sleeper:main", [], environment={"PYTHONPATH": sys.argv[1]})
"""
SLEEPER = """
import os, pathlib, time
def main():
    here = pathlib.Path(__file__).parent
    (here / "new").write_text(str(os.getpid()))
    (here / "new").rename(here / "pid")
    time.sleep(600)
"""


def wait_until(condition, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def ended(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    # without a parent that waits for it, it stays as a zombie: that has ended, too
    status = Path(f"/proc/{pid}/stat")
    return status.is_file() and status.read_text().rsplit(")", 1)[1].split()[0] == "Z"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_ends_with_its_parent(tmp_path, number):
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    paths = os.pathsep.join([str(tmp_path), str(ROOT)])
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, paths], env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    try:
        assert wait_until((tmp_path / "pid").is_file)
        child = int((tmp_path / "pid").read_text())
        assert not ended(child)
    finally:
        parent.send_signal(number)
        parent.wait(timeout=60)
    assert wait_until(lambda: ended(child), 10)


def test_sigterm_is_cleaned_up_like_ctrl_c(tiny_book, sleeping_build):
    process, kernel = sleeping_build
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM, out
    assert "terminated" in out and "Traceback" not in out
    assert wait_until(lambda: ended(kernel), 10)
    assert not list((tiny_book / "_build").rglob("*.ipynb"))
    with sole_build(tiny_book, tiny_book / "_build"):  # free again
        pass


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("while True: pass", "the page took longer than 3 s"),
        ("import os; os._exit(3)", "DeadKernelError: Kernel died"),
    ],
)
def test_a_page_that_hangs_or_dies_is_told_with_its_cell(
    tiny_book, page_writer, capsys, code, told
):
    for path in (tiny_book / "notebooks").glob("*.ipynb"):
        path.unlink()
    page_writer(tiny_book / "notebooks" / "01-one.ipynb", "x = 1", code)
    assert main(["build", "--timeout", "3", "-p", "n_items", "3"], tiny_book) == 1
    error = capsys.readouterr().err
    assert f"cell 3 (counted from 0) of 01-one.ipynb:\n{told}" in error
