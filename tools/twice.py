"""Two builds in surroundings that must not matter: the same bytes? ``python tools/twice.py``

The sources are copied into two folders, and each copy builds itself; every file of the HTML, every
executed notebook and claims.json are then compared.  With ``--only`` each of these pages is run
and rendered alone (``dpbook run``), which is quicker.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from dpbook.book.about import commit
from dpbook.book.output import claim_folder, write_whole
from dpbook.book.pages import outputs
from dpbook.book.run.build import plan
from dpbook.book.run.runner import Job

ROOT = Path(__file__).resolve().parents[1]
#: What differs between the two builds. To kernels the build itself gives one thread and hash
#: seed 0, so there a change of these must have no effect; all the rest of a build sees them.
VARIED = {
    "folder": ("one", "an other ü"),
    "pages at once": ("1", "2"),
    "umask": ("022", "077"),
    "PYTHONHASHSEED": ("1", "4711"),
    "OMP_NUM_THREADS": ("1", "2"),
    "OPENBLAS_NUM_THREADS": ("1", "2"),
    "MKL_NUM_THREADS": ("1", "2"),
    "LC_ALL": ("C", "C.UTF-8"),
    "TZ": ("UTC", "Pacific/Kiritimati"),
}
COMPARED = ("html/*", "executed/*", "claims.json")
#: Files that may differ, as a glob, and why.
EXCEPTIONS: dict[str, str] = {}
_NOT_COPIED = shutil.ignore_patterns("_build", ".*", "__pycache__", "*.egg-info", "build", "dist")


def compare(one: Path, two: Path, exceptions: dict[str, str] | None = None) -> dict[str, Any]:
    """How many files of two builds are the same; the others, each with its first such line."""
    allowed = EXCEPTIONS if exceptions is None else exceptions
    names = sorted({*_files(one), *_files(two)})
    differing, excused = {}, {}
    for name in names:
        first, second = one / name, two / name
        if not (first.is_file() and second.is_file()):
            differing[name] = f"only in {'the first' if first.is_file() else 'the second'}"
        elif words := first_difference(first.read_bytes(), second.read_bytes()):
            reason = next((why for glob, why in allowed.items() if fnmatch(name, glob)), None)
            (excused if reason else differing)[name] = reason or words
    same = len(names) - len(differing) - len(excused)
    return {"files": len(names), "identical": same, "different": differing, "exceptions": excused}


def first_difference(one: bytes, two: bytes) -> str:
    """The first line that differs, both ways, from a little before the place; empty if none.

    Of what is no text only the place.
    """
    if one == two:
        return ""
    if b"\0" in one or b"\0" in two:
        least = min(len(one), len(two))
        place = next((i for i in range(least) if one[i] != two[i]), least)
        return f"byte {place} of {len(one)} and {len(two)}"
    lines, others = one.split(b"\n"), two.split(b"\n")
    pairs = enumerate(zip(lines, others, strict=False), start=1)
    shorter = min(len(lines), len(others))
    number, (a, b) = next(((n, p) for n, p in pairs if p[0] != p[1]), (shorter, (b"", b"")))
    at = max(0, next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0) - 30)
    shown = (repr(text[at : at + 90].decode("utf-8", "replace")) for text in (a, b))
    return f"line {number}: {' / '.join(shown)}" if a != b else f"one ends after line {number}"


def _files(build: Path) -> list[str]:
    found = (path.relative_to(build).as_posix() for path in build.rglob("*") if path.is_file())
    return [name for name in found if any(fnmatch(name, f"*{glob}") for glob in COMPARED)]


def make(copy: Path, which: int, commands: Sequence[Sequence[str]]) -> Path:
    """Run these commands of ``dpbook`` in a copy of the sources; where it writes to."""
    surroundings = {name: pair[which] for name, pair in VARIED.items() if name.isupper()}
    for command in commands:
        print(f"{copy.name}: dpbook {' '.join(command)}", flush=True)
        done = subprocess.run(
            [sys.executable, "-m", "dpbook", *command],
            cwd=copy,
            env=os.environ | surroundings | {"PYTHONPATH": str(copy)},
            umask=int(VARIED["umask"][which], 8),
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"this failed in {copy}, so nothing is compared")
    return copy / "_build"


def another_seed(job: Job, build: Path) -> int:
    """The control: how many outputs of a page differ when nothing but its seed does."""
    copies = [p for p in build.rglob(f"{job.page.name}.ipynb") if "executed" in p.parts]
    words = _run(job, {"seed": job.parameters["seed"] + 1}, "_build/control")
    subprocess.run([sys.executable, "-m", "dpbook", *words], cwd=build.parent, check=True)
    copies += (build / "control" / "executed").rglob("*.ipynb")
    one, two = ([data for _, data in outputs(json.loads(p.read_bytes()))] for p in copies)
    return sum(a != b for a, b in zip(one, two, strict=False))


def _run(job: Job, more: dict[str, Any], out: str) -> list[str]:
    """The words of ``dpbook run`` for a page at the parameters of a job."""
    given = job.overrides | more
    words = [word for name, value in given.items() for word in ("-p", name, str(value))]
    return ["run", job.page.name, *words, "--output", out]


def main() -> int:
    """Build twice, compare, and write what came out; the exit status."""
    parser = argparse.ArgumentParser(description="Do two builds give the same bytes?")
    parser.add_argument("--profile", default="smoke", help="parameters (default: %(default)s)")
    parser.add_argument("--only", action="append", default=[], metavar="GLOB", help="these pages")
    given = parser.parse_args()
    place = claim_folder(ROOT / "_build") / "twice"
    shutil.rmtree(place, ignore_errors=True)
    jobs = plan(ROOT, place, profile=given.profile)
    chosen = [j for j in jobs if any(fnmatch(j.page.name, glob) for glob in given.only or ["*"])]
    copies, builds = [place / name for name in VARIED["folder"]], []
    for copy in copies:  # both before the first build, so that an edit meanwhile is in neither
        shutil.copytree(ROOT, copy, ignore=_NOT_COPIED)
    for which, copy in enumerate(copies):
        commands = [_run(job, {}, f"_build/{job.page.name}") for job in chosen]
        if not given.only:
            commands = [["build", "--profile", given.profile, "--jobs"]]
            commands[0].append(VARIED["pages at once"][which])
        builds.append(make(copy, which, commands))
    about: dict[str, Any] = {"commit": commit(ROOT), "profile": given.profile}
    about["pages"] = [job.page.name for job in chosen]
    about |= {"each page alone": bool(given.only), "varied": VARIED} | compare(*builds)
    job = next(job for job in chosen if "seed" in job.parameters)
    differing = another_seed(job, builds[0])
    about["control"] = {"page": job.page.name, "outputs that another seed changes": differing}
    for name, words in about["different"].items():
        print(f"  {name}: {words}")
    print(f"{about['identical']} of {about['files']} files are the same bytes, ", end="")
    print(f"{len(about['exceptions'])} exceptions; another seed changes {differing} outputs")
    text = json.dumps(about, indent=1, ensure_ascii=False) + "\n"
    write_whole(ROOT / "_build" / "twice.json", text)
    if not given.only:
        write_whole(ROOT / "book" / "trust" / "twice.json", text)
    held = not about["different"] and differing
    if held:
        shutil.rmtree(place)
    return int(not held)


if __name__ == "__main__":
    sys.exit(main())
