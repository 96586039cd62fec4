"""The matrix of Pythons and dependencies: what a cell installs, and how its tests are read."""

import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("matrix", ROOT / "tools" / "matrix.py")
matrix = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(matrix)

SAID = "ERROR: Could not find x==1.26 (from versions: 2.1.0, 2.2.0rc1, 2.10.0)\nERROR: No matching"


def test_the_ranges_are_those_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = matrix.requirements(project)
    assert list(found) == ["numpy", "scipy", "pytest", "hypothesis"]
    assert [found["numpy"], found["scipy"]] == project["dependencies"]
    lowest = project["requires-python"].removeprefix(">=")
    assert lowest == matrix.PYTHONS[0]


@pytest.mark.parametrize(
    ("low", "said", "pin"),
    [("1.26", "", "1.26"), ("1.26", SAID, "2.1.0"), ("2.2", SAID, "2.10.0"), ("3", SAID, "3")],
)
def test_the_lower_end_or_the_oldest_above_it(monkeypatch, low, said, pin):
    done = subprocess.CompletedProcess([], int(bool(said)), stdout="", stderr=said)
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: done)
    assert matrix.lower_ends(["pip"], {"x": f"x>={low},<4"}) == [f"x=={pin}"]


def test_a_python_that_is_not_here_is_said_to_be_missing():
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert matrix.interpreter(here) is not None
    missing = matrix.cell("3.0", "latest")
    assert missing["outcome"] == "not run" and "no Python 3.0" in missing["why"]


def test_every_file_of_the_subset_is_there():
    assert all((ROOT / "tests" / f"test_{name}.py").is_file() for name in matrix.TESTS)


@pytest.mark.parametrize(("wrong", "outcome"), [(0, "passed"), (1, "failed")])
def test_a_failure_is_counted_and_named(tmp_path, monkeypatch, wrong, outcome):
    (tmp_path / "tests").mkdir()
    code = f"def test_good(): pass\ndef test_other(): assert not {wrong}\n"
    (tmp_path / "tests" / "test_units.py").write_text(code)
    monkeypatch.setattr(matrix, "ROOT", tmp_path)
    monkeypatch.setattr(matrix, "TESTS", ("units",))
    found = matrix.run_tests(sys.executable, tmp_path / "result.xml")
    assert (found["tests"], found["failures"], found["outcome"]) == (2, wrong, outcome)
    assert found.get("why", "") == "test_other" * wrong
