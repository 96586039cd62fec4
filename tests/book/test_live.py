"""What reruns a page in the browser: its files, and what it says when they cannot be had."""

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
import zipimport

import pytest

from dpbook.book.files import serve
from dpbook.book.ledger.claims import load_ledger
from dpbook.book.live import bundle as live
from dpbook.book.pages import PageError, find_page, find_pages
from dpbook.book.run import editions
from dpbook.book.run.keys import html_key
from tests.book.browsing import ROOT


@pytest.fixture
def runtime(tmp_path, monkeypatch):
    """A runtime of tiny files, with pins that fit it."""
    folder = tmp_path / "pyodide"
    folder.mkdir()
    lock = {"info": {"version": "0"}, "packages": {}}
    for name in ("numpy", "scipy"):
        path = folder / f"{name}-1-py3.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr(f"{name}/__init__.py", "x = 1\n")
            wheel.writestr(f"{name}/tests/test_x.py", "assert x\n" * 500)
            wheel.writestr(f"{name}/x.pyi", "x: int\n")
        lock["packages"][name] = {"file_name": path.name, "sha256": "", "depends": ["other"]}
    (folder / "pyodide-lock.json").write_text(json.dumps(lock))
    for name in live.CORE:
        (folder / name).write_text(name)
    with zipfile.ZipFile(folder / "python_stdlib.zip", "w") as library:
        library.writestr("enum.py", "'words'\nassert 0\ny = 2\n")
    pins = {
        "files": {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()},
        "packages": ["numpy", "scipy"],
        "pyodide": "0",
        "python": "{}.{}".format(*sys.version_info),
        "release": "http://127.0.0.1:9/",  # nobody is there
        "carrier": "nothing==0",
        "folder": "x",
    }
    monkeypatch.setattr(live, "PINS", pins)
    monkeypatch.setenv("DPBOOK_PYODIDE", str(folder))
    return folder


@pytest.fixture
def built(tiny_book):
    """A book that looks built."""
    html = tiny_book / "_build" / "html"
    (html / "_static").mkdir(parents=True)
    (html / "index.html").write_text("the book")
    (tiny_book / "_build" / ".dpbook").write_text("ours")
    (tiny_book / "_build" / "html.key").write_text(html_key(tiny_book, tiny_book / "_build"))
    return tiny_book


def test_the_runtime_is_trimmed_locked_and_announced(runtime, built):
    html = built / "_build" / "html"
    live.add_runtime(built, built / "_build")
    told = json.loads((html / "_static" / "live.json").read_text())
    folder = html / "live" / told["build"]
    assert [*(html / "live").iterdir()] == [folder]
    assert not [*folder.rglob("*.mjs")], "which some hosts do not know"
    kept = zipfile.ZipFile(folder / "runtime" / "numpy-1-py3.whl").namelist()
    assert kept == ["numpy/__init__.pyc"]
    library = str(folder / "runtime" / "python_stdlib.zip")
    code, names = zipimport.zipimporter(library).get_code("enum"), {}
    exec(code, names)
    assert names["y"] == 2 and "words" not in code.co_consts, "compiled as with -OO"
    ours = zipfile.ZipFile(folder / "runtime" / "dpbook.zip").namelist()
    assert "dpbook/ranking.pyc" in ours and "dpbook/ranking.py" not in ours
    lock = json.loads((folder / "runtime" / "pyodide-lock.json").read_text())["packages"]["numpy"]
    content = (folder / "runtime" / "numpy-1-py3.whl").read_bytes()
    assert lock["sha256"] == hashlib.sha256(content).hexdigest()
    assert lock["depends"] == [], "what is not served cannot be waited for"
    loaded = [path.stat().st_size for path in (folder / "runtime").iterdir()]
    assert told["bytes"] == sum(loaded) > len(content)
    packed = folder / "runtime" / "dpbook.zip"
    assert told["integrity"]["runtime/dpbook.zip"] == live.digest(packed.read_bytes())
    pages = sorted(path.stem for path in (folder / "pages").iterdir())
    assert pages == [page.name for page in find_pages(built)]
    live.add_runtime(built, built / "_build")
    again = json.loads((html / "_static" / "live.json").read_text())
    assert again == told, "the same files, the same id"
    (built / "dpbook" / "sure.py").write_text("assert 0")
    (built / "_build" / "html.key").write_text(html_key(built, built / "_build"))
    live.add_runtime(built, built / "_build")
    newer = json.loads((html / "_static" / "live.json").read_text())
    assert newer["build"] != told["build"], "others are at another address"
    (packed,) = (html / "live").rglob("dpbook.zip")
    with pytest.raises(AssertionError):
        exec(zipimport.zipimporter(f"{packed}/dpbook").get_code("sure"), {})


def test_without_a_python_of_the_version_of_the_runtime_the_sources_stay(
    runtime, built, monkeypatch, capsys
):
    monkeypatch.setitem(live.PINS, "python", "2.0")
    live.add_runtime(built, built / "_build")
    (wheel,) = (built / "_build" / "html" / "live").rglob("numpy-1-py3.whl")
    assert zipfile.ZipFile(wheel).namelist() == ["numpy/__init__.py"]
    assert "which python2.0 here would save" in capsys.readouterr().out


def test_what_runs_in_the_browser_of_a_student_holds_no_solution(runtime, built):
    path = built / "notebooks" / "01-one.ipynb"
    page = json.loads(path.read_text(encoding="utf-8"))
    secret = {"cell_type": "code", "id": "s", "metadata": {}, "source": "secret = 1"}
    secret |= {"execution_count": None, "outputs": []}
    marks = ["````{solution-start} ex\n````", "````{solution-end}\n````"]
    start, end = (
        {"cell_type": "markdown", "id": m[6:14], "metadata": {}, "source": m} for m in marks
    )
    page["cells"] += [start, secret, end]
    path.write_text(json.dumps(page), encoding="utf-8")
    out = built / "_build"
    shutil.copytree(out / "html", out / "student" / "html")
    told = {}
    for edition in ("teacher", "student"):
        with pytest.raises(PageError, match="is older than its sources: `make book` first"):
            live.add_runtime(built, out, edition)
        (editions.place(out, edition) / "html.key").write_text(html_key(built, out, edition))
        live.add_runtime(built, out, edition)
        (bundled,) = (editions.place(out, edition) / "html" / "live").rglob("01-one.json")
        told[edition] = json.loads(bundled.read_text(encoding="utf-8"))["cells"]
    assert told["teacher"] == [*told["student"], "secret = 1"]


def test_of_a_repository_only_what_is_tracked_is_packed(runtime, built):
    for words in (["init"], ["add", "dpbook"]):
        subprocess.run(["git", "-C", str(built), *words], check=True, capture_output=True)
    (built / "dpbook" / "draft.py").write_text("secret = 1")
    (built / "_build" / "html.key").write_text(html_key(built, built / "_build"))
    live.add_runtime(built, built / "_build")
    (packed,) = (built / "_build" / "html" / "live").rglob("dpbook.zip")
    names = zipfile.ZipFile(packed).namelist()
    assert "dpbook/ranking.pyc" in names and "dpbook/draft.pyc" not in names
    (built / ".git" / "HEAD").unlink()
    with pytest.raises(PageError, match="git does not say which files"):
        live.add_runtime(built, built / "_build")


def test_the_runtime_is_fetched_as_a_wheel_or_not_at_all(built, monkeypatch):
    monkeypatch.delenv("DPBOOK_PYODIDE", raising=False)
    asked = []

    def pip(words, *, capture_output=False, **_):
        asked.extend(words)
        said = "ERROR: there is no wheel" if capture_output else None
        return subprocess.CompletedProcess(words, 1, "", said)

    monkeypatch.setattr(live.subprocess, "run", pip)
    with pytest.raises(PageError, match=r"the runtime cannot be fetched .*there is no wheel"):
        live.source(built)
    assert asked[asked.index("--only-binary") + 1] == ":all:"


def test_the_release_comes_first_and_a_file_of_it_that_differs_is_not_taken(
    runtime, built, monkeypatch
):
    monkeypatch.delenv("DPBOOK_PYODIDE")
    with serve(runtime) as origin:
        monkeypatch.setitem(live.PINS, "release", f"{origin}/")
        folder = live.source(built / "one")
        assert {path.name for path in folder.iterdir()} == live.PINS["files"].keys()
        (runtime / "pyodide.mjs").write_text("something else")
        monkeypatch.setitem(live.PINS, "carrier", "no such name")
        with pytest.raises(PageError, match=r"pyodide\.mjs.* does not match .*DPBOOK_PYODIDE"):
            live.source(built / "two")
    assert live.source(built / "one") == folder, "kept, and asked for no more"


def test_a_wrong_file_is_refused_by_name_and_nothing_is_written(runtime, built):
    (runtime / "pyodide.asm.wasm").write_text("something else")
    with pytest.raises(PageError, match=r"pyodide\.asm\.wasm is not the file of Pyodide 0"):
        live.add_runtime(built, built / "_build")
    assert not (built / "_build" / "html" / "live").exists()
    (runtime / "pyodide.asm.wasm").unlink()
    with pytest.raises(PageError, match=r"the runtime lacks pyodide\.asm\.wasm"):
        live.add_runtime(built, built / "_build")


def test_a_folder_that_is_not_there_and_a_book_that_is_not_built(runtime, tiny_book, monkeypatch):
    with pytest.raises(PageError, match="run `make book` first"):
        live.add_runtime(tiny_book, tiny_book / "_build")
    monkeypatch.setenv("DPBOOK_PYODIDE", "nowhere")
    with pytest.raises(PageError, match="DPBOOK_PYODIDE is 'nowhere'; it must be a folder"):
        live.source(tiny_book)


def test_the_pins_are_those_of_the_lock_and_cover_what_is_served():
    pins = json.loads((live.OURS / "pins.json").read_text())
    assert set(live.CORE) | {"pyodide-lock.json"} <= pins["files"].keys()
    assert len(pins["files"]) == len(pins["packages"]) + 5
    assert all(len(digest) == 64 for digest in pins["files"].values())
    assert "pandas" not in pins["packages"] and "ipython" not in pins["packages"]


def test_a_page_takes_its_cells_its_claims_and_the_numbers_of_its_sentences():
    page = find_page(ROOT, "01")
    packed = live.bundle(page, ROOT)
    assert packed["cells"][packed["parameters"]].startswith("epsilon = 1.0")
    assert {entry["notebook"] for entry in packed["ledger"]} == {page.name}


def test_the_browser_knows_of_a_claim_all_but_what_is_only_shown(tmp_path):
    whole, shown = load_ledger(ROOT / "book" / "claims.yml"), set()
    for page in find_pages(ROOT):
        path = tmp_path / f"{page.name}.json"
        path.write_text(json.dumps(live.bundle(page, ROOT)["ledger"]))
        for name, claim in load_ledger(path).items():
            there = vars(whole[name])
            shown |= {key for key, value in vars(claim).items() if value != there[key]}
    left_out = {"reproducer", "withdrawn", "printed", "quote", "wrong", "repair", "rests_on"}
    assert shown <= left_out
