"""Run a program that must not outlive us.

The child holds one end of a pipe and ends when the other end closes, which happens when this
process ends, however it ends: a signal that cannot be caught closes its files too.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

_LIFELINE = "DPBOOK_LIFELINE"


def run_python(
    call: str,
    arguments: Sequence[str] = (),
    *,
    environment: Mapping[str, str],
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """Call a function of a module in a Python of its own, which ends with this process.

    Parameters
    ----------
    call : str
        ``"module:function"``; the function takes nothing and finds `arguments` in ``sys.argv``.
    environment : mapping
        Added to the environment of this process.
    options
        Of `subprocess.run`, such as ``cwd=``, ``input=`` or ``timeout=``.
    """
    reading, writing = os.pipe()
    try:
        return subprocess.run(
            [sys.executable, "-m", "dpbook.book.children", call, *arguments],
            env={**os.environ, **environment, _LIFELINE: str(reading)},
            pass_fds=[reading],
            text=True,
            check=False,
            **options,
        )
    finally:
        os.close(reading)
        os.close(writing)


def _hold_lifeline() -> None:
    """End this process as soon as the parent has gone."""
    end = int(os.environ.pop(_LIFELINE))

    def wait() -> None:
        os.read(end, 1)  # returns when every writing end is closed
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


if __name__ == "__main__":
    _hold_lifeline()
    del sys.argv[0]
    module, _, function = sys.argv[0].partition(":")
    getattr(importlib.import_module(module), function)()
