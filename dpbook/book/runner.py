"""Execute pages with papermill, several at once.

Kernels run in threads of one process: jupyter_client hands out ports per process, so several
processes race for the same ones.  A page is written in one step when all of it has run.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import papermill
from jupyter_client.manager import AsyncKernelManager
from nbclient.exceptions import CellTimeoutError
from papermill.exceptions import PapermillExecutionError
from tqdm import tqdm

from dpbook.book.keys import stamp_of
from dpbook.book.output import write_whole
from dpbook.book.pages import Page, outputs

PAGE_TIMEOUT = 3600.0  # seconds for all cells of a page; a hanging one must not hang a build
TRACEBACK_LINES = 12
# What goes wrong in a kernel comes back as an exception, and is told once, there.
logging.getLogger("papermill").setLevel(logging.CRITICAL)
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")

# Kernels x BLAS threads must not exceed the cores; a fixed hash seed keeps set order, and with it
# everything printed, the same from run to run.
FIXED_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}


@dataclass(frozen=True)
class Job:
    """One page to execute; what `complaint` says of its copy keeps it from being written."""

    page: Page
    parameters: dict[str, Any]
    key: str
    target: Path
    complaint: Callable[[Mapping[str, Any]], str | None] = lambda notebook: None

    @property
    def overrides(self) -> dict[str, Any]:
        """The parameters that differ from the defaults; only these are injected."""
        known = self.page.parameters
        return {n: v for n, v in self.parameters.items() if v != known[n].coerce(known[n].default)}

    @property
    def stale(self) -> bool:
        """Whether there is no executed copy of what the page is now."""
        return bool(stamp_of(self.target).get("key") != self.key)


@dataclass(frozen=True)
class Outcome:
    """How a page went: its job, its time in seconds, and the error in words if it failed."""

    job: Job
    seconds: float
    error: str | None = None


class Interrupted(Exception):
    """A page was stopped because the whole run was."""


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class _Kernels:
    """The kernels now alive, so that an interrupted run can end exactly those."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._managers: list[AsyncKernelManager] = []
        self._stopped = threading.Event()

    def manager_class(self) -> type[AsyncKernelManager]:
        """A kernel manager that signs in here when it starts a kernel."""
        registry = self

        class Manager(AsyncKernelManager):
            async def _async_start_kernel(self, **options: Any) -> None:
                with registry._lock:
                    if registry._stopped.is_set():
                        raise Interrupted
                    registry._managers.append(self)
                await super()._async_start_kernel(**options)
                if registry._stopped.is_set():
                    _kill(self)

            start_kernel = _async_start_kernel

        return Manager

    def stop(self) -> None:
        """End every kernel at once, and let no other start."""
        with self._lock:
            self._stopped.set()
            managers = list(self._managers)
        for manager in managers:
            _kill(manager)


def _kill(manager: AsyncKernelManager) -> None:
    process = getattr(manager.provisioner, "process", None)
    if process is not None and process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            # a kernel leads its own session, so its group holds its children and nothing of ours
            os.killpg(process.pid, signal.SIGKILL)


def execute(job: Job, kernels: _Kernels, on_cell: Callable[[], Any], timeout: float) -> Outcome:
    """Execute one page; write the executed copy if, and only if, every cell ran."""
    start = time.perf_counter()
    begun: list[int] = []

    def done(error: str | None = None) -> Outcome:
        return Outcome(job, time.perf_counter() - start, error)

    try:
        notebook = papermill.execute_notebook(
            nbformat.reads(json.dumps(job.page.notebook), as_version=4),
            None,
            parameters=job.overrides,
            kernel_name="python3",
            language="python",
            progress_bar=False,
            start_timeout=120,
            extra_arguments=["--log-level=50"],
            record_timing=False,
            timeout_func=lambda cell: max(1.0, timeout - (time.perf_counter() - start)),
            on_cell_start=lambda cell, cell_index: begun.append(cell_index),
            on_cell_executed=lambda **_: on_cell(),
            kernel_manager_class=kernels.manager_class(),
        )
    except PapermillExecutionError as error:
        return done(_describe(job, error))
    except CellTimeoutError:
        return done(f"{_place(job, begun[-1])}:\nthe page took longer than {timeout:g} s")
    except Exception as error:
        message = plain(f"{type(error).__name__}: {error}").strip()
        return done(f"{_place(job, begun[-1])}:\n{message}" if begun else message)
    _tidy(notebook)
    if complaint := job.complaint(notebook):
        return done(complaint)
    outcome = done()
    stamp = {"key": job.key, "parameters": job.parameters, "seconds": round(outcome.seconds, 3)}
    notebook.metadata["dpbook"] = stamp
    write_whole(job.target, nbformat.writes(notebook))
    return outcome


def _tidy(notebook: nbformat.NotebookNode) -> None:
    """Drop times, paths, random ids and addresses: the same run gives the same file."""
    notebook.metadata.pop("papermill", None)
    for _, data in outputs(notebook):
        if "text/plain" in data:  # for example the repr of a table's styler
            data["text/plain"] = _ADDRESS.sub("", data["text/plain"])
    for cell in notebook.cells:
        for entry in ("papermill", "execution"):
            cell.metadata.pop(entry, None)
        if cell.metadata.get("tags") == []:  # papermill adds the empty list
            del cell.metadata["tags"]
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell["id"] = "injected-parameters"


def _describe(job: Job, error: PapermillExecutionError) -> str:
    """Say which cell failed, and with what."""
    trace = plain("\n".join(error.traceback)).strip().splitlines()
    summary = f"{error.ename}: {error.evalue}".strip().rstrip(":")
    if trace and trace[-1].strip() == summary:
        trace.pop()
    shown = ["..."] * (len(trace) > TRACEBACK_LINES) + trace[-TRACEBACK_LINES:]
    source = ["    " + line for line in error.source.splitlines()]
    lines = [f"{_place(job, error.cell_index)}:", *source, *("  | " + line for line in shown)]
    return "\n".join([*lines, summary])


def _place(job: Job, index: int) -> str:
    """Which cell this is, counted as in the committed notebook."""
    if job.overrides:
        cells = enumerate(job.page.notebook["cells"])
        injected_at = 1 + next(i for i, c in cells if "parameters" in c["metadata"].get("tags", []))
        index -= index >= injected_at
    return f"cell {index} (counted from 0) of {job.page.name}.ipynb"


def plain(text: str) -> str:
    """The text without colours and other terminal codes."""
    return _ANSI.sub("", text)


def python_path(root: Path) -> str:
    """``PYTHONPATH`` with this book before all else."""
    return os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])


@contextlib.contextmanager
def kernel_surroundings(root: Path) -> Iterator[None]:
    """Set environment and directory for all kernels: ``papermill(cwd=...)`` is not thread-safe."""
    changes = FIXED_ENVIRONMENT | {"PYTHONPATH": python_path(root)}
    before = {name: os.environ[name] for name in changes if name in os.environ}
    os.environ.update(changes)
    try:
        with contextlib.chdir(root / "notebooks"):
            yield
    finally:
        for name in changes.keys() - before.keys():
            os.environ.pop(name, None)
        os.environ.update(before)


def run_pages(
    jobs: Sequence[Job], *, root: Path, workers: int, timeout: float = PAGE_TIMEOUT
) -> list[Outcome]:
    """Execute pages in `workers` threads; one that fails does not keep the others from running."""
    if not jobs:
        return []
    kernels, outcomes = _Kernels(), []
    cells = sum(len(job.page.code_cells) + bool(job.overrides) for job in jobs)
    # on a terminal, a bar counts the cells
    look = {"unit": "cell", "leave": False, "dynamic_ncols": True}
    progress = tqdm(total=cells, disable=not sys.stderr.isatty(), **look)
    with progress, kernel_surroundings(root), ThreadPoolExecutor(max(1, workers)) as pool:
        futures = [pool.submit(execute, job, kernels, progress.update, timeout) for job in jobs]
        try:
            for number, future in enumerate(as_completed(futures), start=1):
                outcomes.append(outcome := future.result())
                how = f"{'FAILED' if outcome.error else 'ok':>6} {outcome.seconds:7.1f} s"
                progress.write(f"  [{number}/{len(jobs)}] {outcome.job.page.name:<36} {how}")
                sys.stdout.flush()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            kernels.stop()  # the threads notice within a second and end
            raise
    return sorted(outcomes, key=lambda outcome: outcome.job.page.name)
