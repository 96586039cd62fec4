"""A time limit for each test: an endless loop ends as a failure that names its test.

The limit is `time_limit` in pyproject.toml; ``-o time_limit=0`` takes it away, for a debugger. An
alarm raises in the main thread, so that the run goes on with the next test. What an alarm does not
reach is left to pytest's `faulthandler_timeout`, which prints the stacks and with them the name of
the test: a system without alarms (Windows), and a loop inside a compiled function. That timeout is
longer on purpose, since printing the stack of a thread that is just being unwound can crash.
"""

from __future__ import annotations

import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import full_data  # noqa: F401 (before any test: it takes DPBOOK_DATA away)
import pytest


class TimeLimitExceeded(BaseException):
    """No `Exception`, so that neither the code under test nor hypothesis goes on after it."""


# Once more, should the first alarm fall where Python ignores exceptions, as in a finaliser.
AGAIN = 5.0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        "time_limit", "seconds for each of set-up, call and clean-up; 0: no limit", default="0"
    )


@contextmanager
def limit(item: pytest.Item, phase: str) -> Iterator[None]:
    """Fail after the time limit; set-up, call and clean-up have one limit each."""
    seconds = float(item.config.getini("time_limit"))
    if not seconds or not hasattr(signal, "setitimer"):
        yield
        return

    def expire(*_: object) -> None:
        raise TimeLimitExceeded(f"{item.nodeid}: {phase} took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    with limit(item, "set-up"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    with limit(item, "the test"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    with limit(item, "clean-up"):
        return (yield)
