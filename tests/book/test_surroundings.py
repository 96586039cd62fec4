"""The smoke book as other processors compute it, by `tools/surroundings.py`."""

import importlib
import os
import shutil
import subprocess
import sys
from datetime import date

import pytest

from tests.book.browsing import ROOT

surroundings = importlib.import_module("surroundings")

needs_gcc = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("gcc") is None, reason="needs Linux and gcc"
)
ASKED = "import math; print([math.exp(x / 7).hex() for x in range(70)])"


def results(extra):
    command = [sys.executable, "-c", ASKED]
    done = subprocess.run(command, env=os.environ | extra, capture_output=True, check=True)
    return done.stdout.decode().split(", ")


@needs_gcc
def test_the_other_library_moves_some_results_and_repeats(tmp_path):
    shimmed = surroundings.environment("S2", tmp_path)
    here, there = results({}), results(shimmed)
    moved = sum(a != b for a, b in zip(here, there, strict=True))
    assert 20 < moved < 50 and there[0] == here[0]  # half of 70; exp(0) is 1 everywhere
    assert there == results(shimmed) and here == results({})


@pytest.fixture
def builds(monkeypatch):
    """Which builds were made, with what set; and what is compared."""
    made = []
    monkeypatch.setattr(surroundings, "build", lambda out, extra: made.append((out, extra)))
    return made


def compares(monkeypatch, told):
    asked = []

    def compared(old, new, root):
        asked.append((old.name, new.name, root))
        return told

    monkeypatch.setattr(surroundings.numbers, "compared", compared, raising=False)
    return asked


@needs_gcc
def test_each_foreign_build_is_compared_with_that_of_this_machine(
    builds, monkeypatch, tmp_path, capsys
):
    asked = compares(monkeypatch, [])
    assert surroundings.main(["--output", str(tmp_path)]) == 0
    assert asked == [("S0", "S1", ROOT), ("S0", "S2", ROOT)]
    assert [out.name for out, _ in builds] == ["S0", "S1", "S2"]
    assert builds[0][1] == {} and "AVX512_SPR" in builds[1][1]["NPY_DISABLE_CPU_FEATURES"]
    assert "LD_PRELOAD" in builds[2][1]
    assert "S0 and S2: 0 differ" in capsys.readouterr().out


def test_what_moved_is_told_and_fails(builds, monkeypatch, tmp_path, capsys):
    asked = compares(monkeypatch, ["page 04: a: 1.0 -> 2.0"])
    base = tmp_path / "smoke"
    words = ["--output", str(tmp_path), "--only", "S1", "--base", str(base)]
    assert surroundings.main(words) == 1
    assert asked == [("smoke", "S1", ROOT)] and [out.name for out, _ in builds] == ["S1"]
    assert "page 04: a: 1.0 -> 2.0\nS0 and S1: 1 differ" in capsys.readouterr().out


def test_without_a_compiler_a_sentence_says_so(builds, monkeypatch, tmp_path, capsys):
    asked = compares(monkeypatch, [])
    monkeypatch.setattr(surroundings.shutil, "which", lambda name: None)
    assert surroundings.main(["--output", str(tmp_path), "--only", "S2"]) == 0
    assert not asked and "S2 is skipped: it needs Linux and gcc" in capsys.readouterr().out


def test_the_days_take_turns():
    days = [surroundings.of_today(date(2026, 3, day)) for day in (1, 2, 3)]
    assert days[0] == days[2] != days[1]
    assert {*days} == {*surroundings.FOREIGN}
