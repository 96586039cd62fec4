"""How the house is built: where noise is drawn, what is public; imports: pyproject.toml."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "dpbook"
MODULES = sorted(PACKAGE.rglob("*.py"))
PAGES = sorted((ROOT / "notebooks").glob("*.ipynb"))
DRAWS = {"laplace", "discrete_laplace_noise"}
# Where Laplace or Gaussian noise is drawn that belongs to no ranker, each with its reason.
OTHER_NOISE: dict[str, str] = {
    "26-lower-bounds-by-reduction": "one sign, read from two of many noisy counts",
    "23-kemeny-and-kwiksort": "on the pair probabilities of a model, nobody's data",
    "02-neighbours-and-sensitivity": "an exercise on seeds: noise for one number, no ranker",
    "35-your-own-data": "the noise of the command before, in a table beside that of today",
    "04-noisy-counts": "negative controls as a reader may write them, for the recorder",
    "37-reward-model": "on a sum of answers with features, which no ranker releases",
    "38-where-the-estimate-breaks": "its theorems speak of the noise itself, beside the wins",
    "09-perturbed-mle-proofs": "the linear term of appendix B.2.1, on which the descent runs",
    "17-randomized-response": "noise on single bits, whose variance the page measures",
}


def code_of(page: Path) -> str:
    """The code of a page as one source."""
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")


def draws(source: str) -> list[str]:
    """Calls that draw noise: rng.laplace(...) and discrete_laplace_noise(...)."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            # scipy.stats.laplace(...) is a law, not a draw: it is not called on a generator
            distribution = isinstance(node.func, ast.Name) and name == "laplace"
            if name in DRAWS and not distribution:
                found.append(f"line {node.lineno}: {ast.unparse(node.func)}")
    return found


def test_only_packages_say_what_is_public() -> None:
    for module in MODULES:
        body = ast.parse(module.read_text(encoding="utf-8")).body
        lists = any(
            isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
            for node in body
        )
        single = module.parent == PACKAGE and module.stem in ("lower_bounds", "optimum")
        assert not lists or module.name == "__init__.py" or single, module


@pytest.mark.parametrize(
    "path",
    [p for p in MODULES if p.parent.name not in ("mechanisms", "rankers")] + PAGES,
    ids=lambda path: path.stem,
)
def test_noise_for_a_ranker_is_drawn_by_the_ranker(path: Path) -> None:
    source = code_of(path) if path.suffix == ".ipynb" else path.read_text(encoding="utf-8")
    found = draws(source)
    assert bool(found) == (path.stem in OTHER_NOISE), f"{path.name}: {found}"


def test_a_draw_is_seen() -> None:
    """The control: what the rule above looks for, and what it leaves alone."""
    assert draws("x = rng.laplace(size=3)") and draws("z = discrete_laplace_noise(2, 3, rng=rng)")
    assert draws("np.random.default_rng(1).laplace()")
    assert not draws("from scipy.stats import laplace\nlaw = laplace(0, 2)")
    assert not draws("z = ranker.noise(3, rng=rng)")


@pytest.mark.parametrize("name", ["data", "models", "mechanisms", "privacy"])
def test_the_base_of_the_science_needs_numpy_only(name: str) -> None:
    code = f"import sys, dpbook.{name}; print(sorted(m for m in sys.modules if 'scipy' == m[:5]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_every_public_name_exists_and_is_documented() -> None:
    for folder in sorted(p.parent for p in PACKAGE.glob("*/__init__.py")):
        module = importlib.import_module(f"dpbook.{folder.name}")
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            assert not callable(value) or (value.__doc__ or "").strip(), f"{folder.name}.{name}"


def test_no_file_of_the_package_is_longer_than_a_reader_keeps_in_mind() -> None:
    for module in PACKAGE.rglob("*.py"):
        assert len(module.read_text(encoding="utf-8").splitlines()) <= 450, module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_call_of_check_is_folded(page: Path) -> None:
    for cell in json.loads(page.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code" and re.search(r"(?m)^\s*check\(", "".join(cell["source"])):
            assert "hide-input" in cell["metadata"].get("tags", ()), cell["id"]


def test_nox_names_test_files_that_exist() -> None:
    source = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    named = re.search(r'^TESTS = "(.+)"', source, re.MULTILINE)
    assert named, "noxfile.py: TESTS has to be one text, names with spaces between"

    def missing(names: list[str]) -> list[str]:
        return [name for name in names if not (ROOT / "tests" / f"test_{name}.py").is_file()]

    assert missing(["mechanisms", "nowhere"]) == ["nowhere"]
    lost = missing(named[1].split())
    assert not lost, f"noxfile.py: TESTS names {lost}, of which there is no file: take them out"
