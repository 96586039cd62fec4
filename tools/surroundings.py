"""Is the book the same on every processor? The smoke book in three surroundings, compared.

``python tools/surroundings.py``: S0 is this machine as it is. S1 has the kernels of an old
processor for linear algebra, NumPy and the mathematical library, and another language and clock.
S2 has other kernels for linear algebra, and a mathematical library whose results differ in their
last digit (`ulp.c`), as those of other systems and of a browser do. Claims, reported numbers and
numbers of sentences have to agree within their tolerances.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

from dpbook.book.run import numbers

ROOT = Path(__file__).parents[1]
#: NumPy's own exp and log for AVX-512 would not ask the mathematical library.
WIDE = "X86_V4 AVX512_ICL AVX512_SPR"
SURROUNDINGS = {
    "S0": {},
    "S1": {
        "OPENBLAS_CORETYPE": "Prescott",
        "NPY_DISABLE_CPU_FEATURES": f"X86_V3 {WIDE}",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F",
        "LC_ALL": "C",
        "TZ": "Asia/Kathmandu",
    },
    "S2": {"OPENBLAS_CORETYPE": "Sandybridge", "NPY_DISABLE_CPU_FEATURES": WIDE},
}
FOREIGN = ("S1", "S2")


def shim(folder: Path) -> Path | None:
    """The library of `ulp.c`; none, and a sentence, where it cannot be made or loaded."""
    if sys.platform != "linux" or shutil.which("gcc") is None:
        print("S2 is skipped: it needs Linux and gcc (apt-get install gcc).")
        return None
    library, source = folder / "ulp.so", ROOT / "tools" / "ulp.c"
    folder.mkdir(parents=True, exist_ok=True)
    how = ["-O2", "-shared", "-fPIC", "-fno-builtin"]
    subprocess.run(["gcc", *how, "-o", library, source, "-ldl", "-lm"], check=True)
    return library


def environment(name: str, folder: Path) -> dict[str, str] | None:
    """What a surrounding sets; none if it cannot be had here."""
    wanted = dict(SURROUNDINGS[name])
    if name == "S2":
        library = shim(folder)
        if library is None:
            return None
        wanted["LD_PRELOAD"] = str(library)
    return wanted


def build(out: Path, extra: dict[str, str]) -> None:
    """The smoke book, in its folder."""
    command = [sys.executable, "-m", "dpbook", "build", "--no-html"]
    command += ["--profile", "smoke", "--output", str(out)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | extra, check=False)
    if done.returncode:
        raise SystemExit(f"{out.name}: the smoke book was not built, or contradicts a claim: above")


def of_today(day: date) -> str:
    """One of the foreign surroundings, in turn."""
    return FOREIGN[day.timetuple().tm_yday % len(FOREIGN)]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=FOREIGN, help="one foreign surrounding")
    parser.add_argument("--rotate", action="store_true", help="the one of this day")
    parser.add_argument("--base", type=Path, help="a smoke build of this machine, for S0")
    parser.add_argument("--output", type=Path, default=ROOT / "_build" / "surroundings")
    asked = parser.parse_args(arguments)
    names = [asked.only] if asked.only else list(FOREIGN)
    if asked.rotate:
        names = [of_today(date.today())]
    out = asked.output.resolve()
    base = asked.base.resolve() if asked.base else out / "S0"
    if asked.base is None:
        build(base, {})
    differ = 0
    for name in names:
        extra = environment(name, out)
        if extra is None:
            continue
        build(out / name, extra)
        moved = numbers.compared(base, out / name, ROOT)
        differ += len(moved)
        print("\n".join([*moved, f"S0 and {name}: {len(moved)} differ"]))
    return int(differ > 0)


if __name__ == "__main__":
    raise SystemExit(main())
