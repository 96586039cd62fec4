"""Own environments: `nox` tests the science in several, `nox -s twice` builds the book twice.

A Python that is not on this machine is skipped, and nox says so; `--python 3.13` names one.
"""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
from pathlib import Path

import nox

nox.options.sessions = ["science"]
nox.options.default_venv_backend = "venv"
ROOT = Path(__file__).parent
#: Fast tests of what leans on numpy and scipy: samplers, laws, rankers, aggregation, tables.
TESTS = "aggregation estimators hypercube mechanisms ranker_counts selection tables units".split()
#: Two surroundings that must not matter: folder, pages at once, hash seed, threads, words, clock.
TWICE = {
    "one": ("1", {"PYTHONHASHSEED": "1", "OMP_NUM_THREADS": "1", "LC_ALL": "C", "TZ": "UTC"}),
    "an other ü": ("2", {"PYTHONHASHSEED": "4711", "OMP_NUM_THREADS": "2", "LC_ALL": "C.UTF-8"}),
}


@nox.session(python=["3.11", "3.12", "3.13"])
@nox.parametrize("dependencies", ["lowest", "latest"])
def science(session: nox.Session, dependencies: str) -> None:
    """Tests with the oldest and the newest numpy, scipy, pytest that pyproject.toml allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tools = ("pytest>", "pytest-timeout>", "hypothesis>")
    wanted = [x for x in project["optional-dependencies"]["dev"] if x.startswith(tools)]
    resolution = "lowest-direct" if dependencies == "lowest" else "highest"
    session.install("uv")
    how = ["--only-binary", ":all:", "--resolution", resolution, "--python", "python"]
    session.run("uv", "pip", "install", *how, *project["dependencies"], *wanted)
    session.run("python", "-m", "pip", "list")
    files = [f"tests/test_{name}.py" for name in TESTS]
    session.run("python", "-m", "pytest", "-q", *files, env={"PYTHONPATH": str(ROOT)})


@nox.session(python=False)
def twice(session: nox.Session) -> None:
    """Two builds of the book from copies of its sources: the same bytes?"""
    place = ROOT / ".nox" / "copies"
    shutil.rmtree(place, ignore_errors=True)
    leave = shutil.ignore_patterns("_build", ".*", "__pycache__", "*.egg-info", "build", "dist")
    for name in TWICE:  # both before the first build, so that an edit meanwhile is in neither
        shutil.copytree(ROOT, place / name, ignore=leave)
    for name, (jobs, env) in TWICE.items():
        with session.chdir(place / name):
            words = ["build", "--profile", "smoke", "--jobs", jobs, *session.posargs]
            session.run(
                sys.executable, "-m", "dpbook", *words, env=env | {"PYTHONPATH": os.getcwd()}
            )
    for what in ("html", "executed", "claims.json"):
        session.run("diff", "-r", *(str(place / name / "_build" / what) for name in TWICE))
