"""A tiny book in a temporary folder, for the tests of the machinery."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dpbook.book.files import write_whole
from dpbook.book.run import build
from dpbook.book.run.runner import Job, Outcome
from tests.book.browsing import BROWSER, ROOT, chromium

PARAMETERS = """\
epsilon = 1.0  # privacy parameter | nats | (0, 10]
n_items = 4  # number of items | items | [3, 7]
"""


def write_page(path: Path, *code: str, parameters: str = PARAMETERS, title: str = "A page") -> Path:
    """Write a notebook: a title, the parameters cell, and one cell for each of `code`."""
    cells: list[dict[str, object]] = [
        {"cell_type": "markdown", "id": "title", "metadata": {}, "source": f"# {title}\n\nText."}
    ]
    for number, source in enumerate([parameters, *code]):
        cells.append(
            {
                "cell_type": "code",
                "id": f"cell-{number}",
                "metadata": {"tags": ["parameters"]} if number == 0 else {},
                "source": source,
                "execution_count": None,
                "outputs": [],
            }
        )
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path


@pytest.fixture
def page_writer() -> Callable[..., Path]:
    """`write_page`, for tests that make their own pages."""
    return write_page


@pytest.fixture
def stub_kernels(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace the execution by writing the stamp; gives the list of pages executed."""
    executed: list[str] = []

    def pretend(jobs: list[Job], *, root: Path, workers: int, timeout: float) -> list[Outcome]:
        for job in jobs:
            executed.append(job.page.name)
            stamp = {"key": job.key, "parameters": job.parameters}
            notebook = copy.deepcopy(job.page.notebook)
            notebook["metadata"]["dpbook"] = stamp
            write_whole(job.target, json.dumps(notebook))
        return [Outcome(job, 1.0) for job in jobs]

    monkeypatch.setattr(build, "run_pages", pretend)
    return executed


def elsewhere(root: Path, command: str) -> subprocess.Popen[str]:
    """A command of ``dpbook`` on a book, in a process of its own."""
    code = "import sys, pathlib; from dpbook.book.cli import main; "
    code += "sys.exit(main([sys.argv[2]], pathlib.Path(sys.argv[1])))"
    return subprocess.Popen(
        [sys.executable, "-c", code, str(root), command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        # a background shell may have told its children to ignore Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


@pytest.fixture
def sleeping_build(tiny_book: Path) -> tuple[subprocess.Popen[str], int]:
    """A ``dpbook build`` of the tiny book in a process of its own, and its kernel, now asleep."""
    started = tiny_book / "started"
    # the hard case: a kernel that does not listen to Ctrl-C
    note = "import os, time, pathlib, signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    note += f"pathlib.Path({str(started)!r}).write_text(str(os.getpid()))"
    for path in (tiny_book / "notebooks").glob("*.ipynb"):
        path.unlink()
    write_page(tiny_book / "notebooks" / "01-one.ipynb", note, "time.sleep(600)")
    process = elsewhere(tiny_book, "build")
    deadline = time.monotonic() + 60
    while not (started.is_file() and started.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return process, int(started.read_text())


@pytest.fixture
def tiny_book(tmp_path: Path) -> Path:
    """Root of a book with two pages, a package of one module and one table, and no claims."""
    files = {
        "_config.yml": "title: tiny\n",
        "_toc.yml": "format: jb-book\nroot: book/index\n",
        "requirements.txt": "",
        "book/claims.yml": "[]\n",
        "notebooks/profiles.yml": "default: {}\nsmoke:\n  01-one: {n_items: 3}\n",
        "dpbook/__init__.py": "",
        "dpbook/ranking.py": "NOISE = 1\n",
        "dpbook/book/cli.py": "",
        "dpbook/data/table.csv": "1,2\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    write_page(tmp_path / "notebooks" / "01-one.ipynb", "print(epsilon)", title="One")
    two = tmp_path / "notebooks" / "02-two.ipynb"
    write_page(two, "x = 1", "y = x / (n_items - 5)", title="Two")
    return tmp_path


@pytest.fixture
def browser() -> Iterator[Any]:
    """A page in Chromium, with a profile of its own."""
    with chromium.chromium(BROWSER) as opened:
        yield opened.new_page()
