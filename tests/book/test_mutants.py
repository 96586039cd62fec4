"""Seeded defects: what is called caught, and what is not."""

import importlib
import json
import subprocess

import pytest
import yaml

from tests.book.browsing import ROOT

mutants = importlib.import_module("mutants")

CODE = "LIMIT = 3\nNAME = 'x'\n"
CHECK = "import code_of\nassert code_of.LIMIT == 3\n"
TEST = "def test_limit():\n    import code_of\n    assert code_of.LIMIT == 3\n"


def entry(name, old, new, by="python check.py", **more):
    words = {"kind": "constant", "why": "it matters"}
    return {"id": name, "file": "code_of.py", "old": old, "new": new, "by": by} | words | more


@pytest.fixture
def project(tmp_path):
    """A project under git with one file of code, one check, and one that fails by itself."""

    def made(entries):
        files = {"code_of.py": CODE, "check.py": CHECK, "broken.py": "raise SystemExit(1)\n"}
        files["tests/test_it.py"] = TEST
        files[mutants.LIST] = yaml.safe_dump(entries)
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
        for words in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "x"]):
            subprocess.run(["git", *words], cwd=tmp_path, check=True)
        return tmp_path

    return made


def test_a_defect_that_nothing_notices_is_called_survived(project):
    root = project(
        [
            entry("A", "LIMIT = 3", "LIMIT = 4"),
            entry("B", "'x'", "'y'"),
            entry("C", "'x'", '"x"', equivalent="quotes"),
            entry("D", "LIMIT = 3", "LIMIT = 2", equivalent="wrong"),
            entry("E", "LIMIT = 3", "LIMIT = 4", "python broken.py"),
            entry("F", "LIMIT = 3", "LIMIT = 4", "tests/test_it.py::test_limit"),
            entry("G", "'x'", "'y'", "tests/test_it.py::test_limit"),
        ]
    )
    told = ["--root", str(root), "--summary", "told.json"]
    assert mutants.main(told) == 1
    found = json.loads((root / "told.json").read_text())
    words = "2 caught, 1 equivalent, 2 survived, 1 not equivalent, 1 nothing to catch with"
    assert found["sentence"] == f"Of 7 seeded defects: {words}."
    assert (root / "code_of.py").read_text() == CODE


def test_what_was_caught_is_run_again_only_if_a_file_changed(project, monkeypatch, capsys):
    root = project([entry("A", "LIMIT = 3", "LIMIT = 4")])
    assert mutants.main(["--root", str(root)]) == 0
    with monkeypatch.context() as patch:
        patch.setattr(mutants.Copy, "run", lambda *_: pytest.fail("run again"))
        assert mutants.main(["--root", str(root)]) == 0
    (root / "check.py").write_text("")
    assert mutants.main(["--root", str(root)]) == 1
    assert capsys.readouterr().out.endswith("1 survived\n")


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([entry("A", "3", "4")] * 2, "twice"),
        ([entry("A", "3", "4", note="")], "allowed are"),
    ],
)
def test_a_list_in_another_form_is_refused(project, entries, words):
    with pytest.raises(ValueError, match=words):
        mutants.load(project(entries))


def test_stale_entries_are_told_at_the_end_and_stop_no_other(project, capsys):
    entries = [
        entry("A", "LIMIT = 5", ""),
        entry("B", "'", '"'),
        entry("C", "LIMIT = 3", "LIMIT = 4"),
        entry("D", "x", "y", file="gone.py"),
    ]
    assert mutants.main(["--root", str(project(entries)), "--summary", "told.json"]) == 1
    told = capsys.readouterr().out
    assert told.endswith("1 caught, 3 stale\n")
    for words in ("A: code_of.py: 'LIMIT = 5' occurs 0", 'B: code_of.py: "\'" occurs 2', "D: gone"):
        assert f"stale: {words}" in told


def test_the_list_of_the_book_fits_its_files():
    listed = mutants.load(ROOT)
    assert not [words for mutant in listed if (words := mutants.stale(ROOT, mutant))]
    assert len(listed) >= 150
