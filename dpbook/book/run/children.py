"""Run a program that must not outlive us.

Its standard input is a pipe that nobody writes to and that closes however this process ends.
"""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path


def run_python(
    call: str, arguments: Sequence[str], *, environment: Mapping[str, str], cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Call ``"module:function"`` with `arguments` in ``sys.argv``, in a Python of its own."""
    with subprocess.Popen(
        [sys.executable, "-m", "dpbook.book.run.children", call, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | environment,
        cwd=cwd,
    ) as child:
        assert child.stdout is not None
        printed = child.stdout.read()
        return subprocess.CompletedProcess(child.args, child.wait(), printed)


def _end_with_the_parent() -> None:
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    del sys.argv[0]
    pkgutil.resolve_name(sys.argv[0])()
