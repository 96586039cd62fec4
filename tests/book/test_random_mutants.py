"""Mutants drawn at random: a weak suite lets some through, a strong one none."""

import importlib.util
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

pytest.importorskip("cosmic_ray", reason="tools/requirements.txt is not installed")

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("mutant_session", ROOT / "tools/mutant_session.py")
session = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(session)
CODE = '''\
"""1 + 1 is not drawn."""

__all__ = ["price"[0:]]
TAX = 3


def price(net: int | None, count: int = 2) -> int:
    """Net + tax."""
    if net < 0:
        raise ValueError("less than " + str(0))
    return net * count + TAX
'''
WEAK = """\
from toy.part.shop import price


def test_price():
    assert price(1, 1)
"""
STRONG = """\
import pytest
from toy.part.shop import price


def test_price():
    assert (price(1), price(2, 3), price(0)) == (5, 9, 3)


def test_less_than_nothing():
    with pytest.raises(ValueError):
        price(-1)
"""


def tried(folder, test):
    """What the tool finds with one test file."""
    files = {"toy/part/shop.py": CODE, "tests/test_shop.py": test, "pyproject.toml": ""}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    words = [sys.executable, str(ROOT / "tools" / "random_mutants.py"), "--root", str(folder)]
    words += ["--package", "toy", "--of", "part", "--sample", "99", "--summary", "told.json"]
    path = os.pathsep.join([str(folder), str(ROOT), *filter(None, [os.getenv("PYTHONPATH")])])
    told = subprocess.run(
        words, cwd=folder, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True
    )
    assert told.returncode in (0, 1), told.stderr
    return told.returncode, json.loads((folder / "told.json").read_text())


def test_a_strong_suite_kills_all_and_a_weak_one_does_not(tmp_path):
    status, strong = tried(tmp_path / "strong", STRONG)
    assert (status, strong["survivors"]) == (0, [])
    status, weak = tried(tmp_path / "weak", WEAK)
    assert status == 1
    # In the number of sites: the default and TAX, which only a new import changes, the 0, <, the
    # condition, * and +; not the annotation, the docstrings, the message and the list of names.
    assert strong["sites"] == weak["sites"] == weak["counts"]["tried"] == 7
    survived = {(row["line"], row["operator"].partition("_")[0]) for row in weak["survivors"]}
    assert {(7, "NumberReplacer"), (4, "NumberReplacer")} <= survived
    assert weak["counts"]["killed"] >= 1  # 1 makes the inverted condition raise


def test_a_mutant_that_looks_odd_to_python_is_tried():
    odd = "odd = 1 is 0"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SyntaxError):
            compile(odd, "odd.py", "exec")
        assert session.compiled(odd, "odd.py")


def test_a_fault_of_the_tool_is_no_noticed_mutant():
    assert session.in_fork(lambda: 1, 60) == 1
    assert session.in_fork(lambda: os._exit(3), 60) is None
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        session.in_fork(lambda: 1 / 0, 60)
