"""The science under other Pythons, with the oldest and the newest dependencies that are allowed.

    python tools/matrix.py [--python 3.13] [--dependencies lowest]

Each cell is an environment of its own in ``_build/matrix`` and runs `TESTS`.  The lowest versions
are the lower ends of the ranges in pyproject.toml; where they cannot be installed ready-made for a
Python, the oldest that can.  A Python that is not on this machine is said to be missing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from dpbook.book.about import commit
from dpbook.book.ledger.words import aligned
from dpbook.book.output import claim_folder, write_whole

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
KINDS = ("lowest", "latest")
#: Fast tests of what leans on numpy and scipy: samplers, laws, rankers, aggregation, tables.
TESTS = (
    "aggregation",
    "estimators",
    "hypercube",
    "mechanisms",
    "ranker_counts",
    "selection",
    "tables",
    "units",
)
_TOOLS = ("pytest", "hypothesis")  # of the extra dev: all that the tests need
_LOWER = re.compile(r"([A-Za-z0-9._-]+)>=([^,]+)")


def requirements(project: dict[str, Any]) -> dict[str, str]:
    """The ranges of what a cell installs, by name, as in pyproject.toml."""
    ranges = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    found = {match[1]: text for text in ranges if (match := _LOWER.match(text))}
    science = [_LOWER.match(text)[1] for text in project["dependencies"]]  # type: ignore[index]
    return {name: found[name] for name in (*science, *_TOOLS)}


def interpreter(version: str) -> str | None:
    """A Python of this version: on the path, or where pyenv or uv keep theirs."""
    home = Path.home()
    kept = [home / ".pyenv" / "versions", home / ".local" / "share" / "uv" / "python"]
    there = [str(p) for folder in kept for p in folder.glob(f"*{version}.*/bin/python{version}")]
    for command in (shutil.which(f"python{version}"), *there):
        asked = [
            command or "false",
            "-c",
            "import sys, venv; print('%d.%d' % sys.version_info[:2])",
        ]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return command
    return None


def available(said: str) -> list[str]:
    """The versions that pip lists when none of them fits, the oldest first."""
    found = re.search(r"\(from versions: ([^)]*)\)", said)
    listed = found[1].split(", ") if found else []
    return [version for version in listed if re.fullmatch(r"[\d.]+", version)]


def lower_ends(pip: list[str], ranges: dict[str, str]) -> list[str]:
    """``name==version`` for each range: its lower end, or the oldest above it that is to be had."""
    pinned = []
    for name, text in ranges.items():
        low = _LOWER.match(text)[2]  # type: ignore[index]
        asked = [*pip, "--dry-run", "--no-deps", f"{name}=={low}"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        above = [v for v in available(done.stderr) if _numbers(v) >= _numbers(low)]
        pinned.append(f"{name}=={above[0] if done.returncode and above else low}")
    return pinned


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def cell(version: str, kind: str) -> dict[str, Any]:
    """Make one environment and run the tests in it."""
    about: dict[str, Any] = {"python": version, "dependencies": kind}
    if (base := interpreter(version)) is None:
        return about | {"outcome": "not run", "why": f"no Python {version} on this machine"}
    place = ROOT / "_build" / "matrix" / f"{version}-{kind}"
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run([base, "-m", "venv", str(place)], check=True)
    python = str(place / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--only-binary", ":all:"]
    ranges = requirements(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"])
    wanted = lower_ends(pip, ranges) if kind == "lowest" else [*ranges.values()]
    how = ["--upgrade"] if kind == "latest" else []
    done = subprocess.run([*pip, *how, *wanted], capture_output=True, text=True, check=False)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["pip failed"])[-1]
        return about | {"outcome": "not run", "why": why}
    code = "import json, platform, importlib.metadata as m, sys; print(json.dumps("
    code += "{'python': platform.python_version()} | {n: m.version(n) for n in sys.argv[1:]}))"
    told = subprocess.run([python, "-c", code, *ranges], capture_output=True, text=True, check=True)
    about |= json.loads(told.stdout) | run_tests(python, place / "result.xml")
    shutil.rmtree(place)
    return about


def run_tests(python: str, result: Path) -> dict[str, Any]:
    """How the tests went, and the first lines of what failed."""
    files = [f"tests/test_{name}.py" for name in TESTS]
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={result}"]
    surroundings = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, *files], cwd=ROOT, env=surroundings, capture_output=True, text=True, check=False
    )
    if not result.is_file():
        why = (done.stderr or done.stdout).strip().splitlines()[-1:]
        return {"outcome": "failed", "why": " ".join(why)}
    suite = next(ElementTree.parse(result).iter("testsuite"))
    count = {key: int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")}
    bad = [
        one for one in suite.iter("testcase") if {part.tag for part in one} & {"failure", "error"}
    ]
    found = {"outcome": "passed" if done.returncode == 0 else "failed"} | count
    return found | ({"why": ", ".join(str(one.get("name")) for one in bad[:5])} if bad else {})


def text(cells: list[dict[str, Any]]) -> str:
    """What came out, as it is stored."""
    found = {"commit": commit(ROOT), "tests": TESTS, "cells": cells}
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    """Run the cells, print a table, and write what came out; the exit status."""
    parser = argparse.ArgumentParser(description="The science under other Pythons and versions.")
    parser.add_argument("--python", action="append", choices=PYTHONS, help="default: all")
    parser.add_argument("--dependencies", action="append", choices=KINDS, help="default: both")
    given = parser.parse_args()
    claim_folder(ROOT / "_build")  # so that a later build of the book may use it
    cells = []
    for version in given.python or PYTHONS:
        for kind in given.dependencies or KINDS:
            print(f"Python {version}, {kind} dependencies ...", flush=True)
            cells.append(cell(version, kind))
            write_whole(ROOT / "_build" / "matrix.json", text(cells))
    heads = ("python", "dependencies", "numpy", "scipy", "tests", "skipped", "outcome", "why")
    rows = [heads, *(tuple(str(one.get(head, "")) for head in heads) for one in cells)]
    print(*aligned(rows), sep="\n")
    if len(cells) == len(PYTHONS) * len(KINDS):
        write_whole(ROOT / "book" / "trust" / "matrix.json", text(cells))
    return int(any(one["outcome"] == "failed" for one in cells))


if __name__ == "__main__":
    sys.exit(main())
