"""The time limit of conftest.py, tried on endless loops in a process of their own."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

LOOPS = """\
import pytest
from hypothesis import given
from hypothesis.strategies import integers


def test_endless():
    while True:
        pass


def test_endless_whatever_happens():
    while True:
        try:
            1 / 0
        except Exception:
            pass


@given(integers())
def test_endless_example(number):
    while True:
        pass


@pytest.fixture
def stuck():
    while True:
        pass


def test_set_up(stuck):
    pass


@pytest.fixture
def stuck_at_the_end():
    yield
    while True:
        pass


def test_clean_up(stuck_at_the_end):
    pass


def test_after_them():
    pass
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no alarms on this system")
def test_endless_loops_end_as_failures_that_name_their_tests(tmp_path: Path) -> None:
    for name in ("conftest.py", "full_data.py"):
        shutil.copy(Path(__file__).with_name(name), tmp_path)
    (tmp_path / "test_loops.py").write_text(LOOPS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\ntime_limit = 0.4\n")
    began = time.monotonic()
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert time.monotonic() - began < 60
    assert run.returncode == 1, run.stdout + run.stderr
    for outcome, name, phase in (
        ("FAILED", "test_endless", "the test"),
        ("FAILED", "test_endless_whatever_happens", "the test"),
        ("FAILED", "test_endless_example", "the test"),
        ("ERROR", "test_set_up", "set-up"),
        ("ERROR", "test_clean_up", "clean-up"),
    ):
        assert f"\n{outcome} test_loops.py::{name} " in run.stdout
        message = f"TimeLimitExceeded: test_loops.py::{name}: {phase} took longer than 0.4 s"
        assert message in run.stdout
    assert "PASSED test_loops.py::test_after_them" in run.stdout
    assert "3 failed, 2 passed, 2 errors" in run.stdout


def test_the_project_sets_a_limit(request: pytest.FixtureRequest) -> None:
    alarm, stacks = (
        float(request.config.getini(name)) for name in ("time_limit", "faulthandler_timeout")
    )
    assert 0 < alarm < stacks
