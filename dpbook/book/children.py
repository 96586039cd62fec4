"""Run a program that must not outlive us.

Its standard input is a pipe that nobody writes to and that closes however this process ends.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def run_python(
    call: str, arguments: Sequence[str], *, environment: Mapping[str, str], cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Call ``"module:function"`` with `arguments` in ``sys.argv``, in a Python of its own."""
    command = [sys.executable, "-m", "dpbook.book.children", call, *arguments]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    pipes |= {"stderr": subprocess.STDOUT, "text": True}
    env = {**os.environ, **environment}
    with subprocess.Popen(command, env=env, cwd=cwd, **pipes) as child:
        assert child.stdout is not None
        printed = child.stdout.read()
        return subprocess.CompletedProcess(command, child.wait(), printed)


def _wait_for_the_end() -> None:
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_wait_for_the_end, daemon=True).start()
    del sys.argv[0]
    module, _, function = sys.argv[0].partition(":")
    getattr(importlib.import_module(module), function)()
