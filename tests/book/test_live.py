"""What reruns a page in the browser: its files, its panel, and what it says when it cannot."""

import hashlib
import importlib.util
import json
import shutil
import sys
import zipfile
import zipimport

import pytest

from dpbook.book import editions, live, panel
from dpbook.book.pages import PageError, find_page, find_pages, load_profile
from dpbook.book.serving import serve
from tests.book.browsing import ROOT, go, needs_browser

STATIC = ROOT / "book" / "_static"


# --- the files ---


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
    for name in live._CORE:
        (folder / name).write_text(name)
    with zipfile.ZipFile(folder / "python_stdlib.zip", "w") as library:
        library.writestr("enum.py", "'words'\nassert 0\ny = 2\n")
    pins = {
        "files": {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()},
        "packages": ["numpy", "scipy"],
        "pyodide": "0",
        "python": "{}.{}".format(*sys.version_info),
        "magic": importlib.util.MAGIC_NUMBER.hex(),
        "carrier": "nothing==0",
        "folder": "x",
    }
    monkeypatch.setattr(live, "_PINS", pins)
    monkeypatch.setenv("DPBOOK_PYODIDE", str(folder))
    return folder


@pytest.fixture
def built(tiny_book):
    """A book that looks built."""
    html = tiny_book / "_build" / "html"
    (html / "_static").mkdir(parents=True)
    (html / "index.html").write_text("the book")
    (tiny_book / "_build" / ".dpbook").write_text("ours")
    return tiny_book


def test_the_runtime_is_trimmed_locked_and_announced(runtime, built):
    html = built / "_build" / "html"
    live.add_runtime(built, built / "_build")
    folder = html / "live"
    kept = zipfile.ZipFile(folder / "runtime" / "numpy-1-py3.whl").namelist()
    assert kept == ["numpy/__init__.pyc"]
    library = str(folder / "runtime" / "python_stdlib.zip")
    code, names = zipimport.zipimporter(library).get_code("enum"), {}
    exec(code, names)
    assert names["y"] == 2 and "words" not in code.co_consts, "compiled as with -OO"
    ours = zipfile.ZipFile(folder / "runtime" / "dpbook.zip").namelist()
    assert sum(name.endswith(".py") for name in ours) == sum(n.endswith(".pyc") for n in ours) > 0
    lock = json.loads((folder / "runtime" / "pyodide-lock.json").read_text())["packages"]["numpy"]
    content = (folder / "runtime" / "numpy-1-py3.whl").read_bytes()
    assert lock["sha256"] == hashlib.sha256(content).hexdigest()
    assert lock["depends"] == [], "what is not served cannot be waited for"
    about = json.loads((folder / "build.json").read_text())
    assert about["bytes"]["numpy"] == len(content)
    manifest = (html / "_static" / "live-manifest.js").read_text()
    assert manifest == f"window.dpbookLive = {json.dumps(about)};\n"
    pages = sorted(path.stem for path in (folder / "pages").iterdir())
    assert pages == [page.name for page in find_pages(built)]
    live.add_runtime(built, built / "_build")
    assert json.loads((folder / "build.json").read_text()) == about, "the same files, the same id"


def test_without_a_python_of_the_version_of_the_runtime_the_sources_stay(
    runtime, built, monkeypatch, capsys
):
    monkeypatch.setitem(live._PINS, "magic", "00000000")
    live.add_runtime(built, built / "_build")
    wheel = built / "_build" / "html" / "live" / "runtime" / "numpy-1-py3.whl"
    assert zipfile.ZipFile(wheel).namelist() == ["numpy/__init__.py"]
    assert "a browser compiles the libraries itself" in capsys.readouterr().out


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
        live.add_runtime(built, out, edition)
        bundled = editions.place(out, edition) / "html" / "live" / "pages" / "01-one.json"
        told[edition] = json.loads(bundled.read_text(encoding="utf-8"))["cells"]
    assert told["teacher"] == [*told["student"], "secret = 1"]
    with pytest.raises(PageError, match="allowed is teacher or student"):
        live.add_runtime(built, out, "pupil")


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
        live._source(tiny_book)


def test_the_pins_are_those_of_the_lock_and_cover_what_is_served():
    pins = json.loads((ROOT / "dpbook" / "book" / "runtime" / "pins.json").read_text())
    assert set(live._CORE) | {"pyodide-lock.json"} <= pins["files"].keys()
    assert len(pins["files"]) == len(pins["packages"]) + 5
    assert all(len(digest) == 64 for digest in pins["files"].values())
    assert "pandas" not in pins["packages"] and "ipython" not in pins["packages"]


def test_a_page_takes_its_cells_its_claims_and_the_numbers_of_its_sentences():
    page = find_page(ROOT, "01")
    packed = live.bundle(page, ROOT)
    assert packed["cells"][packed["parameters"]].startswith("epsilon = 1.0")
    assert {entry["notebook"] for entry in packed["ledger"]} == {page.name}
    assert "scipy" not in live.packages(page, ROOT), "this page needs NumPy only"
    assert "scipy" in live.packages(find_page(ROOT, "04"), ROOT)


# --- the panel ---


def test_every_parameter_of_every_page_has_a_labelled_input_with_its_range():
    for page in find_pages(ROOT):
        html = panel.panel_html(page, load_profile(ROOT, "smoke").get(page.name, {}), ["numpy"])
        for name, parameter in page.parameters.items():
            assert f'<label for="live-{name}">{name}</label>' in html
            assert f'aria-describedby="live-{name}-hint"' in html
            assert panel.escape(parameter.allowed) in html


PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>x</title>
<script src="../_static/live-manifest.js"></script>
<script src="../_static/slider.js"></script><script src="../_static/live.js"></script></head>
<body><article>{panel}
<div class="cell tag_parameters"><div class="cell_input">epsilon = 1.0</div></div>
<div class="cell"><div class="cell_output"><pre>old</pre>
<img alt="a curve" src="data:,"></div></div>
<p>It is <span class="pasted-text" data-glue="0">1.00</span>.</p>
{editor}</article></body></html>"""
WORKER = """
onmessage = ({data}) => {
  if (data.given?.n_items === 7) postMessage({kind: "broken", why: "another build"});
  else if (data.given?.n_items === 6) throw new Error("lost");
  else if (data.given?.n_items === 5)
    postMessage({kind: "failed", cell: 1, why: "ValueError: no (cell 2, line 1: x)"});
  else if (data.code !== undefined)
    postMessage({kind: "text", outputs: [{text: data.code}], solved: "larger"});
  else if (data.given?.epsilon === 3) postMessage({kind: "begin", cell: 1, words: "a long one"});
  else {
    postMessage({kind: "begin", cell: 0, words: "epsilon"});
    postMessage({kind: "cell", cell: 0, outputs: [], seconds: 1});
    postMessage({kind: "cell", cell: 1, seconds: 1,
      outputs: [{text: "new <b>"}, {svg: "<svg xmlns='http://www.w3.org/2000/svg'/>"}]});
    postMessage({kind: "done", glued: [String(data.given.epsilon)]});
  }
};
"""


@pytest.fixture
def site(tiny_book, tmp_path):
    """One page with a panel and an editor, and a worker that answers at once."""
    page = find_pages(tiny_book)[0]
    page.notebook["cells"] = page.notebook["cells"][:3]  # parameters, and one more
    folder = tmp_path / "site"
    for name in ("_static", "live", "notebooks"):
        (folder / name).mkdir(parents=True)
    for name in ("live.js", "slider.js"):
        shutil.copy(STATIC / name, folder / "_static")
    about = {"build": "1", "bytes": {"numpy": 2_500_000, "scipy": 9_000_000}}
    manifest = f"window.dpbookLive = {json.dumps(about)};"
    (folder / "_static" / "live-manifest.js").write_text(manifest)
    (folder / "live" / "worker.mjs").write_text(WORKER)
    html = panel.panel_html(page, {"epsilon": 0.25}, ["numpy"])
    editor = panel.try_html("own", ["x = 1"], "x == 2")
    text = PAGE.format(panel=html, editor=editor)
    (folder / "notebooks" / "01.html").write_text(text)
    return folder


def text(browser, selector):
    return browser.evaluate(f"document.querySelector({selector!r}).textContent.trim()")


def click(browser, selector):
    browser.evaluate(f"document.querySelector({selector!r}).click(); 0")


def until(browser, selector, words):
    """Wait until an element says something that holds these words."""
    found = f"document.querySelector({selector!r}).textContent.includes({words!r})"
    script = (
        "new Promise((yes, no) => { let n = 0; const look = () => "
        f"{found} ? yes(true) : ++n > 100 ? yes(false) : setTimeout(look, 50); look(); }})"
    )
    assert browser.evaluate(script), text(browser, selector)


RUN, STATUS = ".live [type=submit]", ".live-status"


@needs_browser
def test_a_run_changes_the_page_and_restore_brings_it_back(site, browser):
    with serve(site) as origin:
        watch = go(browser, f"{origin}/notebooks/01.html#epsilon=0.5", origin)
        assert browser.evaluate("document.querySelector('.live').open"), "the address asks for it"
        assert "at most 3 MB from this site" in text(browser, ".live-size")
        click(browser, RUN)
        until(browser, STATUS, "Done in")
        assert text(browser, ".live-mark") == "your run: epsilon = 0.5"
        assert text(browser, ".cell_output pre") == "new <b>", "shown as text"
        assert text(browser, "[data-glue]") == "0.5"
        look = "document.querySelector('.cell_output img')"
        assert browser.evaluate(f"{look}.src").startswith("data:image/svg")
        assert browser.evaluate(f"{look}.alt") == "a curve"
        click(browser, "[data-do=restore]")
        assert text(browser, ".cell_output pre") == "old"
        assert text(browser, "[data-glue]") == "1.00"
        click(browser, "[data-set=quick]")
        assert browser.evaluate("document.querySelector('[name=epsilon]').value") == "0.25"
        click(browser, "[data-set=published]")
        assert browser.evaluate("document.querySelector('[name=epsilon]').value") == "1.0"
        assert watch.problems == []


@needs_browser
@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("n_items=5", "Cell 2 failed: ValueError: no (cell 2, line 1: x)."),
        ("n_items=6", "The worker was lost"),
        ("n_items=7", "The book was published anew while this page was open"),
    ],
)
def test_a_failure_is_a_sentence_and_leaves_the_page(site, browser, value, words):
    with serve(site) as origin:
        go(browser, f"{origin}/notebooks/01.html#{value}")
        click(browser, RUN)
        until(browser, STATUS, words)
        told = text(browser, STATUS)
        assert "The published page is unchanged" in told
        number = value.partition("=")[2]
        assert f"To run it by hand: dpbook run 01-one -p n_items '{number}'" in told
        assert text(browser, ".cell_output pre") == "old"


@needs_browser
def test_a_run_can_be_stopped_and_begun_again(site, browser):
    with serve(site) as origin:
        go(browser, f"{origin}/notebooks/01.html#epsilon=3")
        click(browser, RUN)
        until(browser, ".live-clock", "cell 2 of 2: a long one")
        click(browser, "[data-do=stop]")
        until(browser, STATUS, "Stopped; the page is as it was.")
        browser.evaluate("document.querySelector('[name=epsilon]').value = '2'; 0")
        click(browser, RUN)
        until(browser, STATUS, "Done in")


@needs_browser
def test_no_runtime_no_webassembly_no_worker_file_and_a_file_say_so(site, browser):
    with serve(site) as origin:
        address = f"{origin}/notebooks/01.html"
        (site / "live" / "worker.mjs").unlink()
        go(browser, f"{address}#epsilon=2")
        click(browser, RUN)
        until(browser, STATUS, "The worker was lost")
        script = "delete window.WebAssembly"
        added = browser.send("Page.addScriptToEvaluateOnNewDocument", source=script)
        go(browser, address)
        assert "This browser has no WebAssembly" in text(browser, ".live-size")
        browser.send("Page.removeScriptToEvaluateOnNewDocument", identifier=added["identifier"])
        (site / "_static" / "live-manifest.js").write_bytes(
            (STATIC / "live-manifest.js").read_bytes()
        )
        browser.send("Network.clearBrowserCache")  # of the manifest with the runtime
        go(browser, f"{address}?again")
        assert "built without the runtime; make live adds it" in text(browser, ".live-size")
    go(browser, (site / "notebooks" / "01.html").as_uri())
    assert "opened as a file" in text(browser, ".live-size")
    assert browser.evaluate(f"document.querySelector({RUN!r}).disabled")


@needs_browser
def test_an_editor_runs_keeps_and_gives_back_its_template_even_without_storage(site, browser):
    with serve(site) as origin:
        address = f"{origin}/notebooks/01.html"
        go(browser, address)
        browser.evaluate(
            "(() => { const area = document.querySelector('textarea'); area.value = 'x = 3';"
            " area.dispatchEvent(new Event('input')); })()"
        )
        click(browser, ".try [data-do=check]")
        until(browser, ".try-said", "Not yet: larger.")
        assert text(browser, ".try-said pre") == "x = 3"
        go(browser, address)
        value = "document.querySelector('textarea').value"
        assert browser.evaluate(value) == "x = 3", "kept in the browser"
        click(browser, ".try [data-do=template]")
        assert browser.evaluate(value).strip() == "x = 1"
        blocked = "Object.defineProperty(window, 'localStorage', {get() { throw new Error(); }})"
        browser.send("Page.addScriptToEvaluateOnNewDocument", source=blocked)
        go(browser, address)
        click(browser, ".try [data-do=check]")
        until(browser, ".try-said", "Not yet")
