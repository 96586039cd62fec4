"""What reruns a page in the browser: its files, its panel, and what it says when it cannot."""

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
import zipimport

import pytest
from markupsafe import escape

from dpbook.book.files import serve
from dpbook.book.ledger.claims import load_ledger
from dpbook.book.live import bundle as live
from dpbook.book.pages import PageError, find_page, find_pages, load_profile, read_page
from dpbook.book.run import editions
from dpbook.book.run.keys import html_key
from dpbook.book.sphinx import panel
from tests.book.browsing import ROOT, go, needs_browser
from tests.book.conftest import PARAMETERS

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
    folder = html / "live"
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
    told = json.loads((folder / "build.json").read_text())
    about = {key: told[key] for key in ("build", "pyodide", "bytes")}
    assert about["bytes"]["numpy"] == len(content)
    packed = folder / "runtime" / "dpbook.zip"
    assert told["integrity"]["runtime/dpbook.zip"] == live.digest(packed.read_bytes())
    manifest = (html / "_static" / "live-manifest.js").read_text()
    assert manifest == f"window.dpbookLive = {json.dumps(about)};\n"
    pages = sorted(path.stem for path in (folder / "pages").iterdir())
    assert pages == [page.name for page in find_pages(built)]
    live.add_runtime(built, built / "_build")
    assert json.loads((folder / "build.json").read_text()) == told, "the same files, the same id"


def test_without_a_python_of_the_version_of_the_runtime_the_sources_stay(
    runtime, built, monkeypatch, capsys
):
    monkeypatch.setitem(live.PINS, "python", "2.0")
    live.add_runtime(built, built / "_build")
    wheel = built / "_build" / "html" / "live" / "runtime" / "numpy-1-py3.whl"
    assert zipfile.ZipFile(wheel).namelist() == ["numpy/__init__.py"]
    assert "a browser compiles the libraries at every start" in capsys.readouterr().out


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
        bundled = editions.place(out, edition) / "html" / "live" / "pages" / "01-one.json"
        told[edition] = json.loads(bundled.read_text(encoding="utf-8"))["cells"]
    assert told["teacher"] == [*told["student"], "secret = 1"]
    with pytest.raises(PageError, match="allowed is teacher or student"):
        live.add_runtime(built, out, "pupil")


def test_of_a_repository_only_what_is_tracked_is_packed(runtime, built):
    for words in (["init"], ["add", "dpbook"]):
        subprocess.run(["git", "-C", str(built), *words], check=True, capture_output=True)
    (built / "dpbook" / "draft.py").write_text("secret = 1")
    (built / "_build" / "html.key").write_text(html_key(built, built / "_build"))
    live.add_runtime(built, built / "_build")
    packed = built / "_build" / "html" / "live" / "runtime" / "dpbook.zip"
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


# --- the panel ---


def test_every_parameter_of_every_page_has_a_labelled_input_with_its_range():
    for page in find_pages(ROOT):
        html = panel.panel_html(page, load_profile(ROOT, "smoke").get(page.name, {}))
        for name, parameter in page.parameters.items():
            assert f'<label for="live-{name}">{name}</label>' in html
            assert f'aria-describedby="live-{name}-hint"' in html
            assert escape(parameter.allowed) in html


PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>x</title>
<script src="../_static/live-manifest.js"></script>
<script src="../_static/slider.js"></script><script src="../_static/live.js"></script>
<script src="../_static/access.js"></script><script>window.theme = "runs"</script></head>
<body><button onclick="window.print()">Print</button><article>
<script>window.text = "runs"</script>{panel}
<div class="cell tag_parameters"><div class="cell_input">epsilon = 1.0</div></div>
<div class="cell"><div class="cell_output"><pre>old</pre>
<img alt="a curve" src="data:,">
<div class="claim-card"><strong><a href="ledger.html">A-1</a></strong></div></div></div>
<p>It is <span class="pasted-text" data-glue="0">1.00</span>.</p>
{editor}</article></body></html>"""
MORE = """
grid = [1.0, 2.0]  # levels | nats | each in (0, 10]
exact = True  # with proofs | - | {True, False}
names = ["a"]  # items | - | each in {"a", "b"}
"""
WORKER = """
let spoiled = false;
const answer = text => postMessage({kind: "text", outputs: [{text}]});
onmessage = ({data}) => {
  spoiled ||= data.code !== undefined;
  if (data.where) fetch(data.where, {mode: "no-cors"}).then(() => answer("reached"), () => {
    new Worker(import.meta.url, {type: "module"}).onerror = () => answer("refused");
    setTimeout(() => answer("a worker of its own is made"), 2000);
  });
  else if (data.code?.startsWith("<")) postMessage({kind: "text", outputs: [{html: data.code}]});
  else if (data.given?.n_items === 7) postMessage({kind: "broken", why: "another build"});
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
      outputs: [{text: "new <b>"}, {svg: "<svg xmlns='http://www.w3.org/2000/svg'/>"},
        {html: "<div class='claim-card new'><strong>A-1</strong></div>"}]});
    postMessage({kind: "done", glued: [spoiled ? "spoiled" : JSON.stringify(data.given.epsilon)]});
  }
};
"""


@pytest.fixture
def site(tiny_book, tmp_path, page_writer):
    """One page with a panel and an editor, and a worker that answers at once."""
    path = tiny_book / "notebooks" / "01-one.ipynb"
    page = read_page(page_writer(path, "print(epsilon)", parameters=PARAMETERS + MORE))
    folder = tmp_path / "site"
    for name in ("_static", "live", "notebooks"):
        (folder / name).mkdir(parents=True)
    for name in ("live.js", "slider.js", "access.js"):
        shutil.copy(STATIC / name, folder / "_static")
    about = {"build": "1", "bytes": {"numpy": 2_500_000, "scipy": 9_000_000}}
    manifest = f"window.dpbookLive = {json.dumps(about)};"
    (folder / "_static" / "live-manifest.js").write_text(manifest)
    (folder / "live" / "worker.mjs").write_text(WORKER)
    html = panel.panel_html(page, {"epsilon": 0.25})
    editor = panel.try_html("own", ["x = 1"], "x == 2")
    text = PAGE.format(panel=html, editor=editor)
    (folder / "notebooks" / "01.html").write_text(panel.guarded(text))
    (folder / "notebooks" / "open.html").write_text(text)  # the control: no policy
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
        assert "loads 12 MB from this site" in text(browser, ".live-size")
        click(browser, RUN)
        until(browser, STATUS, "Done in")
        assert text(browser, ".live-mark") == "your run: epsilon = 0.5"
        assert text(browser, ".cell_output pre") == "new <b>", "shown as text"
        assert text(browser, "[data-glue]") == "0.5"
        assert text(browser, ".claim-card.new strong a[href='ledger.html']") == "A-1"
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
        bare = browser.context.browser.new_page()
        bare.add_init_script("delete window.WebAssembly")
        go(bare, address)
        assert "This browser has no WebAssembly" in text(bare, ".live-size")
        (site / "_static" / "live-manifest.js").write_bytes(
            (STATIC / "live-manifest.js").read_bytes()
        )
        browser.context.new_cdp_session(browser).send(
            "Network.clearBrowserCache"
        )  # of the manifest with the runtime
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
        browser.add_init_script(blocked)
        go(browser, address)
        click(browser, ".try [data-do=check]")
        until(browser, ".try-said", "Not yet")


# --- what may run, and what may not ---

TELL = "new Promise(d => dpbookRun.send({}, m => d(m.outputs?.[0].text ?? m.why)))"


@needs_browser
def test_the_policy_holds_in_the_page_and_in_its_worker(site, browser, tmp_path):
    with serve(site) as origin, serve(tmp_path) as other:
        ask = TELL.format(json.dumps({"where": other, "code": "x", "page": "01-one"}))
        seen = (
            "document.body.insertAdjacentHTML('beforeend', `<img src='data:,' onerror='own = 1'>`),"
            "new Promise(d => setTimeout(() => d([theme, window.text, window.own]), 300))"
        )
        from_here = f"fetch('{other}', {{mode: 'no-cors'}}).then(() => 'reached', () => 'refused')"
        go(browser, f"{origin}/notebooks/01.html")
        assert browser.evaluate(seen) == ["runs", None, None]
        assert browser.evaluate(from_here) == "refused"
        assert browser.evaluate(ask) == "refused", "in the worker, and in a worker of its own"
        base = "document.head.insertAdjacentHTML('afterbegin', '<base href=/x/>'), document.baseURI"
        assert browser.evaluate(base).endswith("/notebooks/01.html")
        call = "window.print = () => { window.own = 'printed'; }, "
        call += "document.querySelector('button').click(), window.own"
        assert browser.evaluate(call) == "printed", "the button of the theme still works"
        go(browser, f"{origin}/notebooks/open.html")
        assert browser.evaluate(seen) == ["runs", "runs", 1], "without a policy all of it runs"
        assert browser.evaluate(from_here) == "reached"


def test_what_the_policy_would_silence_is_told_by_name():
    with pytest.raises(ValueError, match=r'onload="x\(\)" cannot run'):
        panel.guarded('<html><head></head><body onload="x()"></body></html>')
    redirect = "<html><head><script>go()</script></head></html>"
    assert redirect.partition("<head>")[2] in panel.guarded(redirect)
    policy = panel.guarded(redirect).partition('content="')[2].partition('"')[0]
    words = policy.replace(";", "").split()
    assert not {"file:", "*", "http:", "https:", "'unsafe-eval'"} & {*words}
    assert words.count("'unsafe-inline'") == 1 and "style-src 'self' 'unsafe-inline'" in policy


def write_in_editor(browser, words):
    browser.evaluate(f"document.querySelector('textarea').value = {words!r}; 0")
    click(browser, ".try [data-do=check]")


@needs_browser
def test_html_of_the_readers_text_stands_in_a_frame_without_scripts(site, browser):
    text_of = '<p style="height: 333px">x</p><img src="data:," onerror="top.own = 1">'
    text_of += "<script>top.own = 1</script>"
    with serve(site) as origin:
        go(browser, f"{origin}/notebooks/open.html")  # without the policy: the frame alone
        write_in_editor(browser, text_of)
        look = "(() => { const f = document.querySelector('.try-said iframe'), h = f?.offsetHeight;"
        look += "return h > 330 && h < 450 && [f.sandbox.value, window.own ?? 0]; })()"
        wait = f"new Promise(d => {{ let n = 0; const l = () => {look} || n++ > 60 ? d({look})"
        wait += " : setTimeout(l, 50); setTimeout(l, 200); })"
        assert browser.evaluate(wait) == ["allow-same-origin", 0]


@needs_browser
def test_a_page_runs_where_no_text_of_the_reader_has_run(site, browser):
    with serve(site) as origin:
        go(browser, f"{origin}/notebooks/01.html#epsilon=2")
        write_in_editor(browser, "x = 3")
        until(browser, ".try-said", "Not yet")
        click(browser, RUN)
        until(browser, STATUS, "Done in")
        assert text(browser, "[data-glue]") == "2"
        browser.evaluate("document.querySelector('[name=epsilon]').value = '3'; 0")
        click(browser, RUN)
        until(browser, ".live-clock", "a long one")
        write_in_editor(browser, "x = 4")
        until(browser, STATUS, "Another run on this page took its place.")
        until(browser, ".try-said", "Not yet")


@needs_browser
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        *((name, "", f"{name} is empty") for name in ("epsilon", "n_items", "grid", "exact")),
        ("grid", "[1.0,]", "grid = [1.0,] is not of the type list of float"),
        ("grid", "[1.0, much]", "grid = [1.0, much] is not of the type list of float"),
        ("exact", "treu", "exact = treu is not of the type bool"),
        ("names", "[1]", "names = [1] is not of the type list of str"),
        ("names", "a", "names = a is not of the type list of str"),
    ],
)
def test_a_field_that_is_empty_or_of_another_type_is_refused(site, browser, name, value, words):
    with serve(site) as origin:
        go(browser, f"{origin}/notebooks/01.html")
        browser.evaluate(f"document.querySelector('[name={name}]').value = {value!r}; 0")
        click(browser, RUN)
        until(browser, STATUS, f"A value cannot be read: {words}. Nothing was run.")


@needs_browser
def test_fields_give_values_of_their_types(site, browser):
    with serve(site) as origin:
        go(browser, f"{origin}/notebooks/01.html#grid=0.5,1&exact=false&names=[%22b%22]&n_items=5")
        click(browser, RUN)
        until(
            browser, STATUS, "-p n_items '5' -p grid '[0.5,1]' -p exact 'false' -p names '[\"b\"]'"
        )


PYODIDE = """
export const loadPyodide = async ({packages}) => ({
  loadedPackages: Object.fromEntries(packages.filter(name => name !== "broken").map(n => [n, 1])),
  globals: {set() {}}, FS: {mkdirTree() {}}, unpackArchive() {}, runPython() {},
  runPythonAsync: async () => {},
});
"""


@needs_browser
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ({}, None),
        ({"build.json": '{"build": "2", "integrity": {}}'}, "another build"),
        ({"runtime/dpbook.zip": "other"}, "runtime/dpbook.zip cannot be had, or is not the file"),
        ({"pages/01-one.json": "{}"}, "pages/01-one.json cannot be had, or is not the file"),
        ({"package": "broken"}, "broken is not the file that belongs to this book"),
    ],
)
def test_the_worker_refuses_another_build_and_files_that_are_not_the_pinned(
    site, browser, damage, words
):
    folder, package = site / "live", damage.pop("package", "numpy")
    (folder / "runtime").mkdir()
    (folder / "pages").mkdir()
    shutil.copy(live.OURS / "worker.mjs", folder)
    (folder / "runtime" / "pyodide.mjs").write_text(PYODIDE)
    names = ("runtime/dpbook.zip", "pages/01-one.json")
    for name in names:
        (folder / name).write_text("[]")
    known = {name: live.digest((folder / name).read_bytes()) for name in names}
    (folder / "build.json").write_text(
        json.dumps({"build": "1", "packages": [package], "integrity": known})
    )
    for name, content in damage.items():
        (folder / name).write_text(content)
    asked = {"page": "01-one", "given": {}, "long": []}
    ends = "m => ['end', 'broken'].includes(m.kind) && d(m.why ?? null)"
    with serve(site) as origin:
        go(browser, f"{origin}/notebooks/01.html")
        found = browser.evaluate(f"new Promise(d => dpbookRun.send({json.dumps(asked)}, {ends}))")
    assert found is words or words in found
