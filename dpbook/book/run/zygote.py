"""Kernels that have imported what pages import: each is a fork of one process, this program.

It is started in the surroundings of a kernel, imports, and then reads the arguments of kernels, a
line of JSON each, and answers with the number of the process.  When its standard input ends, it
ends, and its kernels with it.  Nothing else of the book is imported here.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys

#: What takes most of a second to import, and what most pages need.
IMPORTED = (
    "ipykernel.ipkernel",
    "matplotlib.backends.backend_svg",
    "matplotlib.pyplot",
    "matplotlib_inline.backend_inline",
    "jsonschema",
    "myst_nb",
    "pandas",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.signal",
    "scipy.stats",
    "seaborn",
    "yaml",
)


def main() -> None:
    """Import, and fork a kernel for each line."""
    for name in IMPORTED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for kernels that have ended
    for line in sys.stdin:
        kernel = os.fork()
        if kernel == 0:
            become_kernel(json.loads(line))
        print(kernel, flush=True)


def become_kernel(arguments: list[str]) -> None:
    """Run a kernel in a session of its own; it ends when the process that forked it does."""
    from ipykernel.kernelapp import IPKernelApp

    parent = os.getppid()
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDWR)
    for channel in (0, 1, 2):
        os.dup2(nothing, channel)
    try:
        IPKernelApp.launch_instance([*arguments, f"--IPKernelApp.parent_handle={parent}"])
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
