"""Own environments: `nox` tests the science in several.

A Python that is not on this machine is skipped, and nox says so; `--python 3.13` names one.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import nox

nox.options.sessions = ["science"]
nox.options.default_venv_backend = "venv"
ROOT = Path(__file__).parent
#: Fast tests of what leans on numpy and scipy: samplers, laws, rankers, aggregation, tables.
TESTS = "aggregation conformance estimators knorm laws mechanisms tables units".split()


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
