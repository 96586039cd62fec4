"""Whatever the HTML or a page is made from is part of its key, and so is where it was made."""

import ast
import platform
import sys
from importlib.metadata import packages_distributions

import pytest
from packaging.utils import canonicalize_name

from dpbook.book.files import write_whole
from dpbook.book.pages import find_page, find_pages
from dpbook.book.run import keys
from tests.book.browsing import ROOT

SOURCES = (
    *("pyproject.toml", "README.md", "LICENSE", "LICENSES/text", "CITATION.cff", "_config.yml"),
    *("_toc.yml", "requirements.txt", "requirements.lock", "book/part.md"),
    *("book/trust/x.json", "notebooks/profiles.yml", "notebooks/03-new.ipynb", "dpbook/x.mplstyle"),
    *("dpbook/book/live/runtime/worker.js", "dpbook/data/table.csv", "dpbook/py.typed"),
    *("_build/live.json", "out/claims.json", "out/certificates/A.json"),
    *("out/executed/notebooks/01-one.ipynb", "out/executed/errata.ipynb"),
)
OTHERS = ("Makefile", "notebooks/.ipynb_checkpoints/x.ipynb", "dpbook/__pycache__/x.pyc")
OTHERS += ("out/html/index.html", "out/seconds.json")


def changed(root, name, edition="teacher"):
    """Whether another content of a file gives another key of the HTML."""
    found = []
    for content in ("one", "other"):
        write_whole(root / name, content)
        found.append(keys.html_key(root, root / "out", edition))
    return found[0] != found[1]


def test_what_the_html_is_made_from_is_its_key(tiny_book):
    for edition in ("teacher", "student"):
        assert not [name for name in SOURCES if not changed(tiny_book, name, edition)]
    assert not [name for name in OTHERS if changed(tiny_book, name)], "caches, and itself"
    found = {keys.html_key(tiny_book, tiny_book / "out", name) for name in ("teacher", "student")}
    assert len(found) == 2


def install(folder, name, version):
    write_whole(
        folder / f"{name}-{version}.dist-info" / "METADATA", f"Name: {name}\nVersion: {version}\n"
    )


@pytest.mark.parametrize(("name", "matters"), [("Some_Maths", True), ("some-toy", False)])
def test_another_installed_version_of_what_is_pinned_makes_another_key(
    tiny_book, tmp_path, monkeypatch, name, matters
):
    (tiny_book / "requirements.txt").write_text("some-maths==1.0\nnot-there==2 ; extra\n")
    page, found = find_page(tiny_book, "01"), []
    for version in ("1.0", "1.1"):
        install(tmp_path / version, name, version)
        monkeypatch.syspath_prepend(str(tmp_path / version))  # the same pins
        here = keys.environment(tiny_book)
        assert here.get("some-maths") == (version if matters else None)
        assert here["python"] == f"CPython {platform.python_version()}"
        key = keys.page_keys(page, [{}], tiny_book)
        found.append((key, keys.html_key(tiny_book, tiny_book / "out")))
    assert [a != b for a, b in zip(*found, strict=True)] == [matters] * 2


def test_all_that_pages_reach_is_pinned_and_so_part_of_their_keys():
    sources = [cell for page in find_pages(ROOT) for cell in page.code_cells]
    reached = [path.read_text(encoding="utf-8") for path in keys.reached(sources, ROOT)]
    cells = "\n".join(
        line for cell in sources for line in cell.splitlines() if line[:1] not in "%!"
    )
    names = set()
    for node in (n for text in (cells, *reached) for n in ast.walk(ast.parse(text))):
        if isinstance(node, ast.Import):
            names |= {one.name.partition(".")[0] for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module).partition(".")[0])
    held, here = packages_distributions(), keys.environment(ROOT)
    ours = {"dpbook", "opendp", "duckdb", "distributed"}  # and extras that no page asks for
    foreign = names - sys.stdlib_module_names - ours
    assert {"numpy", "scipy", "matplotlib", "IPython"} <= foreign
    assert not {
        name for name in foreign for one in held[name] if canonicalize_name(one) not in here
    }
