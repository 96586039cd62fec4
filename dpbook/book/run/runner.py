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
import subprocess
import sys
import textwrap
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakSet

import nbformat
import papermill
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from nbclient.exceptions import CellTimeoutError
from papermill.exceptions import PapermillExecutionError

from dpbook.book.files import MARKER, write_whole
from dpbook.book.pages import Page, outputs
from dpbook.book.run.keys import environment
from dpbook.book.run.surroundings import COMMAND, kernels_at_once, variables

TRACEBACK_LINES = 12
# What goes wrong in a kernel comes back as an exception, and is told once, there.
logging.getLogger("papermill").setLevel(logging.CRITICAL)


@dataclass(frozen=True)
class Job:
    """One page to execute; what `complaint` says of its copy keeps it from being written."""

    page: Page
    parameters: dict[str, Any]
    key: str
    target: Path
    complaint: Callable[[Mapping[str, Any]], str | None] = lambda notebook: None
    words: str = ""  # what progress calls it, if not by its page

    @property
    def overrides(self) -> dict[str, Any]:
        """The parameters that differ from the defaults; only these are injected."""
        known = self.page.parameters
        return {n: v for n, v in self.parameters.items() if v != known[n].coerce(known[n].default)}


@dataclass(frozen=True)
class Outcome:
    """How a page went: its job, seconds, and the error in words if it failed."""

    job: Job
    seconds: float
    error: str | None = None


class _Zygote:
    """The program `zygote`, which forks kernels; it ends with this process."""

    def __init__(self, surroundings: Mapping[str, Any]) -> None:
        program = Path(__file__).with_name("zygote.py")
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **surroundings,
        )
        self._one_at_a_time = threading.Lock()

    def kernel(self, arguments: Sequence[str]) -> int:
        """The number of the process of a new kernel."""
        asked, told = self._process.stdin, self._process.stdout
        assert asked and told
        with self._one_at_a_time:
            asked.write(json.dumps(arguments) + "\n")
            asked.flush()
            return int(told.readline())

    def end(self) -> None:
        """End it, and with it what it forked."""
        self._process.communicate()


class _Kernel:
    """A process that another one forked, as Jupyter asks for it: a part of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        """None while it lives."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    def wait(self) -> int:
        """Until it has ended."""
        while self.poll() is None:
            time.sleep(0.01)
        return 0

    def send_signal(self, number: int) -> None:
        """To it alone."""
        os.kill(self.pid, number)


class _Forked(LocalProvisioner):
    """Kernels of the zygote."""

    zygote: ClassVar[_Zygote | None] = None

    async def launch_kernel(self, cmd: list[str], **_: Any) -> Any:
        assert self.zygote
        arguments = cmd[len(COMMAND) - 2 :]  # what follows the name of the module
        kernel: Any = _Kernel(self.zygote.kernel(arguments))
        self.process = kernel
        self.pid = self.pgid = kernel.pid
        return self.connection_info


class _Manager(AsyncKernelManager):
    """Starts kernels in fixed surroundings, and can end all that are alive."""

    # papermill(cwd=...) would change the directory of all threads
    surroundings: ClassVar[dict[str, Any]] = {}
    started: ClassVar[WeakSet[AsyncKernelManager]] = WeakSet()

    async def _async_start_kernel(self, **options: Any) -> None:
        self.started.add(self)
        if _Forked.zygote:
            self.kernel_id = str(uuid.uuid4())
            names = {"kernel_id": self.kernel_id, "kernel_spec": self.kernel_spec}
            self.provisioner = _Forked(**names, parent=self)
        await super()._async_start_kernel(**options, **self.surroundings)

    start_kernel = _async_start_kernel

    @property
    def kernel_spec(self) -> KernelSpec:
        """This Python, whatever kernels the caller has installed."""
        return KernelSpec(argv=COMMAND)

    @classmethod
    def end_all(cls) -> None:
        """End every kernel at once."""
        for manager in list(cls.started):
            process = getattr(manager.provisioner, "process", None)
            if process is not None and process.poll() is None:
                # it leads its own session, so its group holds its children and nothing of ours
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)


def execute(job: Job, timeout: float, stopped: threading.Event, here: dict[str, str]) -> Outcome:
    """Execute one page; write the executed copy if, and only if, every cell ran."""
    start = time.perf_counter()
    numbers = {cell.get("id"): number for number, cell in enumerate(job.page.notebook["cells"])}
    place = ""

    def begin(cell: nbformat.NotebookNode, cell_index: int) -> None:
        nonlocal place
        if stopped.is_set():  # while the kernel was starting
            raise InterruptedError
        number = numbers.get(cell.id, cell_index)
        place = f"cell {number} (counted from 0) of {job.page.name}.ipynb:\n"

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
            on_cell_start=begin,
            kernel_manager_class=_Manager,
        )
        _tidy(notebook)
        error = job.complaint(notebook)
    except PapermillExecutionError as failure:
        # The source of the cell, the end of the trace, and the error, its last line.
        trace = plain("\n".join(failure.traceback)).strip().splitlines()
        above = ["  | " + line for line in trace[-TRACEBACK_LINES:-1]]
        lines = [textwrap.indent(failure.source, "    "), *above]
        error = place + "\n".join([*lines, f"{failure.ename}: {failure.evalue}"])
    except CellTimeoutError:
        error = f"{place}the page took longer than {timeout:g} s, the most that --timeout allows"
    except Exception as failure:
        error = place + plain(f"{type(failure).__name__}: {failure}").strip()
    seconds = time.perf_counter() - start
    if not error:
        if warning := _warning(notebook):
            print(f"  {job.page.name}: {warning}", flush=True)
        # a page that warned runs again: on another day the machine may have no reason to
        key = None if warning else job.key
        stamp = {"key": key, "parameters": job.parameters, "environment": here}
        notebook.metadata["dpbook"] = stamp
        write_whole(job.target, nbformat.writes(notebook))
    return Outcome(job, seconds, error)


def _warning(notebook: nbformat.NotebookNode) -> str | None:
    """The first line that a page wrote on its standard error, and where."""
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", ()):
            if output.get("name") == "stderr":
                said = plain(output["text"]).strip()
                return f"standard error of cell {number} (counted from 0): {said}".split("\n")[0]
    return None


def _tidy(notebook: nbformat.NotebookNode) -> None:
    """Drop times, paths, random ids and addresses: the same run gives the same file."""
    notebook.metadata.pop("papermill", None)
    for _, data in outputs(notebook):
        if "text/plain" in data:  # for example the repr of a table's styler
            data["text/plain"] = re.sub(r" at 0x[0-9a-f]+", "", data["text/plain"])
    for cell in notebook.cells:
        if "outputs" in cell:
            cell.outputs = joined(cell.outputs)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.id = "injected-parameters"
        empty = () if cell.metadata.get("tags") else ("tags",)  # papermill adds the empty list
        for entry in ("papermill", "execution", *empty):
            cell.metadata.pop(entry, None)


def joined(pieces: list[Any]) -> list[Any]:
    """Outputs with what is printed in one piece: where a kernel cuts it is a matter of time."""
    whole: list[Any] = []
    for one in pieces:
        if whole and one["output_type"] == "stream" and whole[-1].get("name") == one["name"]:
            whole[-1]["text"] += one["text"]
        else:
            whole.append(one)
    return whole


def plain(text: str) -> str:
    """The text without colours and other terminal codes."""
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)


def python_path(root: Path) -> str:
    """``PYTHONPATH`` with this book before all else."""
    return os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])


def progress_line(number: int, count: int, words: str, error: str | None, seconds: float) -> str:
    """How one of several pages went."""
    how = f"{'FAILED' if error else 'ok':>6} {seconds:7.1f} s"
    return f"  [{number}/{count}] {words:<36} {how}"


def _own_folder(target: Path) -> Path:
    """Where kernels keep what is theirs: in the outermost folder of builds around a copy."""
    marked = [folder for folder in target.parents if (folder / MARKER).is_file()]
    return [target.parent, *marked][-1] / ".kernels"


def run_pages(
    jobs: Sequence[Job],
    *,
    root: Path,
    workers: int,
    timeout: float,
    done: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """Execute pages in `workers` threads; one that fails does not keep the others from running."""
    if not jobs:
        return []
    env = variables(_own_folder(jobs[0].target)) | {"PYTHONPATH": python_path(root)}
    _Manager.surroundings = {"cwd": str(root / "notebooks"), "env": env}
    here = environment(root)
    if len(jobs) > workers and sys.platform == "linux":  # elsewhere a fork is not safe
        _Forked.zygote = _Zygote(_Manager.surroundings)
    stopped, outcomes = threading.Event(), []
    with ThreadPoolExecutor(kernels_at_once(workers)) as pool:
        futures = [pool.submit(execute, job, timeout, stopped, here) for job in jobs]
        try:
            for number, future in enumerate(as_completed(futures), start=1):
                outcomes.append(outcome := future.result())
                words = outcome.job.words or outcome.job.page.name
                how = outcome.error, outcome.seconds
                print(progress_line(number, len(jobs), words, *how), flush=True)
                done(outcome)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            stopped.set()
            _Manager.end_all()  # the threads notice within a second and end
            raise
        finally:
            if _Forked.zygote:
                _Forked.zygote.end()
                _Forked.zygote = None
    return sorted(outcomes, key=lambda outcome: outcome.job.page.name)
