"""What a kernel is started in: the same for everybody, whoever builds the book, and where."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

#: The command of a kernel; a name of one would be looked up in the folders of the caller.
COMMAND = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]

#: What every kernel has, and a page depends on, without the paths of a machine.
#: Kernels x BLAS threads must not exceed the cores; a fixed hash seed keeps set order, and with it
#: everything printed, the same from run to run.
_ONE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONUTF8")
FIXED = dict.fromkeys(_ONE, "1") | {
    "PYTHONHASHSEED": "0",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
}
# A list of what comes in, and not of what stays out: nobody knows all that a tool listens to.
# What the system needs; the way to the network; and on purpose what `make surroundings` sets.
_PASSED = re.compile(
    r"PATH|HOME|TMPDIR|CI|DPBOOK_\w+|XDG_\w+|LD_\w+|DYLD_\w+"
    r"|\w+_(PROXY|proxy)|SSL_CERT_\w+|REQUESTS_CA_BUNDLE"
    r"|OPENBLAS_CORETYPE|NPY_\w+|GLIBC_TUNABLES"
)


def variables(own: Path) -> dict[str, str]:
    """The environment of a kernel whose settings and caches lie in a folder of `own`.

    Matplotlib lists the fonts there before any page runs, which it may tell on standard error.
    """
    passed = {name: text for name, text in os.environ.items() if _PASSED.fullmatch(name)}
    found = passed | FIXED | {"MPLCONFIGDIR": str(own), "IPYTHONDIR": str(own)}
    if not any(own.glob("fontlist-*.json")):
        fonts = [sys.executable, "-m", "matplotlib.font_manager"]
        subprocess.run(fonts, env=found, capture_output=True)
    return found


def kernels_at_once(wanted: int) -> int:
    """As many as wanted, or as may be without too many open files, which is then said."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(1, (files - 20) // 28)  # of this process; of a kernel, its sockets above all
    if files == resource.RLIM_INFINITY or wanted <= most:
        return wanted
    print(f"{files} files may be open (`ulimit -n`): {most} pages at once, not {wanted}")
    return most
