"""What reruns a page in the browser: its panel, its editors, and what may run there."""

import functools
import http.server
import json
import re
import shutil
import threading
from contextlib import contextmanager
from typing import ClassVar

import pytest
from markupsafe import escape

from dpbook.book.files import serve
from dpbook.book.live import bundle as live
from dpbook.book.pages import find_pages, load_profile, read_page
from dpbook.book.sphinx import panel
from tests.book.browsing import ROOT, go, needs_browser
from tests.book.conftest import PARAMETERS

STATIC = ROOT / "book" / "_static"


def test_every_parameter_of_every_page_has_a_labelled_input_with_its_range():
    for page in find_pages(ROOT):
        html = panel.panel_html(page, load_profile(ROOT, "smoke").get(page.name, {}))
        for name, parameter in page.parameters.items():
            assert f'<label for="live-{name}">{escape(parameter.meaning)}' in html
            assert f'aria-describedby="live-{name}-hint"' in html
            if parameter.allowed.startswith("{"):
                words = re.findall(r"[\w.-]+", parameter.allowed)
                options = "|".join(f"<option(?: selected)?>{word}</option>" for word in words)
                assert len(re.findall(options, html)) >= len(words) > 1
            else:
                ends = parameter.allowed.removeprefix("each in ").strip("([])").split(", ")
                assert all(escape(end) in html for end in ends)


PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>x</title>
<link rel="icon" href="data:,">
<script src="../_static/slider.js"></script><script src="../_static/live.js"></script>
<script src="../_static/access.js"></script><script>window.theme = "runs"</script></head>
<body><button onclick="window.print()">Print</button><article>
<script>window.text = "runs"</script>{panel}
<div class="cell tag_parameters tag_code-0"><pre>epsilon = 1.0  # privacy</pre></div>
<div class="cell tag_code-1"><div class="cell_output"><pre>old</pre>
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
    postMessage({kind: "cell", cell: 0, outputs: [], seconds: 1, moved: true});
    postMessage({kind: "cell", cell: 1, seconds: 1, moved: true,
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
    for name in ("_static", "live/1", "notebooks"):
        (folder / name).mkdir(parents=True)
    for name in ("live.js", "slider.js", "access.js"):
        shutil.copy(STATIC / name, folder / "_static")
    about = {"build": "1", "bytes": 11_500_000}
    (folder / "_static" / "live.json").write_text(json.dumps(about))
    (folder / "live" / "1" / "worker.js").write_text(WORKER)
    html = panel.panel_html(page, {"epsilon": 0.25})
    editor = panel.try_html("own", ["x = 1"], "x == 2")
    text = PAGE.format(panel=html, editor=editor)
    (folder / "notebooks" / "01.html").write_text(panel.guarded(text))
    (folder / "notebooks" / "open.html").write_text(text)  # the control: no policy
    return folder


class Host(http.server.SimpleHTTPRequestHandler):
    """Knows few types, lets nobody guess, and has all kept for a year that is not asked anew."""

    policy = ""
    extensions_map: ClassVar = {"": "x/y", ".html": "text/html", ".js": "text/javascript"}
    asked: ClassVar = []

    def send_head(self):
        del self.headers["If-Modified-Since"]  # whose second is too long for a test
        self.asked.append(self.path.rpartition("/")[2])
        return super().send_head()

    def end_headers(self):
        if "Cache-Control" not in self.headers:
            self.send_header("Cache-Control", "public, max-age=31536000, immutable")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Content-Security-Policy", self.policy)
        super().end_headers()

    def log_message(self, *_):
        pass


@contextmanager
def hosted(folder, host):
    """Serve a folder as a host does; gives the address."""
    handler = functools.partial(host, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def visit(page, address, origin=None):
    """Open a page, and wait until it knows whether it can run."""
    watch = go(page, address, origin)
    page.wait_for_function("document.querySelector('.live-size').textContent")
    return watch


@pytest.fixture
def opened(site, browser):
    """How to open the page of the site, at some values, and its browser."""
    with hosted(site, Host) as origin:
        page = f"{origin}/notebooks"
        yield lambda at="", name="01": visit(browser, f"{page}/{name}.html{at}", origin)


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
VALUE = "document.querySelector({!r}).value"


def fill(browser, selector, words, then):
    """Write into a field, tell the page's script, and press a button."""
    field = f"document.querySelector({selector!r})"
    browser.evaluate(f"{field}.value = {words!r}; {field}.dispatchEvent(new Event('input')); 0")
    click(browser, then)


@needs_browser
def test_a_run_changes_the_page_and_restore_brings_it_back(opened, browser):
    watch = opened("#epsilon=0.5")
    assert browser.evaluate("document.querySelector('.live').open"), "the address asks for it"
    assert "loads 12 MB from this site" in text(browser, ".live-size")
    click(browser, RUN)
    until(browser, STATUS, "Done in")
    assert text(browser, ".live-mark") == "your run: epsilon = 0.5"
    assert text(browser, ".tag_parameters pre") == "epsilon = 0.5  # privacy"
    assert "1 outputs and 1 numbers in sentences changed: A-1." in text(browser, STATUS)
    assert text(browser, ".cell_output pre") == "new <b>", "shown as text"
    assert text(browser, "[data-glue]") == "0.5"
    assert text(browser, ".claim-card.new strong a[href='ledger.html']") == "A-1"
    look = "document.querySelector('.cell_output img')"
    assert browser.evaluate(f"{look}.src").startswith("data:image/svg")
    assert browser.evaluate(f"{look}.alt") == "a curve"
    click(browser, "[data-do=restore]")
    assert text(browser, ".cell_output pre") == "old"
    assert text(browser, "[data-glue]") == "1.00"
    for values, epsilon in (("quick", "0.25"), ("published", "1.0")):
        click(browser, f"[data-set={values}]")
        assert browser.evaluate(VALUE.format("[name=epsilon]")) == epsilon
    assert watch.problems == []


@needs_browser
@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("n_items=5", "Cell 2 failed: ValueError: no (cell 2, line 1: x)."),
        ("n_items=6", "The runtime could not be used (Uncaught Error: lost)."),
        ("n_items=7", "The book was updated while this page was open"),
    ],
)
def test_a_failure_is_a_sentence_and_leaves_the_page(opened, browser, value, words):
    opened(f"#{value}")
    click(browser, RUN)
    until(browser, STATUS, words)
    told = text(browser, STATUS)
    assert "The published page is unchanged" in told
    assert f"To run it by hand: dpbook run 01-one -p n_items '{value[-1]}'" in told
    assert text(browser, ".cell_output pre") == "old"


@needs_browser
def test_a_run_can_be_stopped_and_begun_again(opened, browser):
    opened("#epsilon=3")
    click(browser, RUN)
    until(browser, ".live-clock", "cell 2 of 2: a long one")
    click(browser, "[data-do=stop]")
    until(browser, STATUS, "Stopped. The page is unchanged.")
    fill(browser, "[name=epsilon]", "2", RUN)
    until(browser, STATUS, "Done in")


@needs_browser
def test_no_runtime_no_webassembly_no_worker_file_and_a_file_say_so(site, opened, browser):
    (site / "live" / "1" / "worker.js").unlink()
    opened("#epsilon=2")
    click(browser, RUN)
    until(browser, STATUS, "(this server sends worker.js as text/html;charset=utf-8, 404)")
    bare = browser.context.browser.new_page()
    bare.add_init_script("delete window.WebAssembly")
    visit(bare, browser.url.partition("#")[0])
    assert "This browser has no WebAssembly" in text(bare, ".live-size")
    shutil.copy(STATIC / "live.json", site / "_static")
    opened()
    assert "built without the runtime; make live adds it" in text(browser, ".live-size")
    (site / "_static" / "live.json").unlink()
    opened()
    assert "This server does not send live.json." in text(browser, ".live-size")
    visit(browser, (site / "notebooks" / "01.html").as_uri())
    assert "opened as a file" in text(browser, ".live-size")
    assert browser.evaluate(f"document.querySelector({RUN!r}).disabled")


@needs_browser
def test_a_new_version_runs_after_a_reload_though_all_is_kept_for_a_year(site, opened, browser):
    def run_again():
        opened("#epsilon=2")
        browser.reload()
        browser.wait_for_selector(f"{RUN}:enabled")
        click(browser, RUN)

    Host.asked.clear()
    for _ in range(2):
        run_again()
        until(browser, ".cell_output pre", "new <b>")
    assert Host.asked.count("worker.js") == 1, "the control: the browser keeps what it may"
    opened("#epsilon=2")
    (site / "live" / "1").rename(site / "live" / "2")
    (site / "live" / "2" / "worker.js").write_text(WORKER.replace("<b>", "yet"))
    (site / "_static" / "live.json").write_text(json.dumps({"build": "2", "bytes": 0}))
    run_again()
    until(browser, ".cell_output pre", "new yet")


@needs_browser
def test_a_host_that_forbids_workers_or_does_not_know_their_type_is_told_of(site, browser):
    class Strict(Host):
        policy = "script-src 'self'"

    class Plain(Host):
        def guess_type(self, path):
            return "x/y" if path.endswith("worker.js") else super().guess_type(path)

    causes = {
        Strict: "(this server's policy forbids workers: script-src 'self')",
        Plain: "(this server sends worker.js as x/y, 200)",
    }
    for host, words in causes.items():
        with hosted(site, host) as origin:
            visit(browser, f"{origin}/notebooks/open.html")
            click(browser, RUN)
            until(browser, STATUS, words)


CHECK = ".try [data-do=check]"


@needs_browser
def test_an_editor_runs_keeps_and_gives_back_its_template_even_without_storage(opened, browser):
    opened()
    fill(browser, "textarea", "x = 3", CHECK)
    until(browser, ".try-said", "Not yet: larger.")
    assert text(browser, ".try-said pre") == "x = 3"
    opened()
    assert browser.evaluate(VALUE.format("textarea")) == "x = 3", "kept in the browser"
    click(browser, ".try [data-do=template]")
    assert browser.evaluate(VALUE.format("textarea")).strip() == "x = 1"
    blocked = "Object.defineProperty(window, 'localStorage', {get() { throw new Error(); }})"
    browser.add_init_script(blocked)
    opened()
    click(browser, CHECK)
    until(browser, ".try-said", "Not yet")


TELL = "new Promise(d => dpbookRun.send({}, m => d(m.outputs?.[0].text ?? m.why)))"


@needs_browser
def test_the_policy_holds_in_the_page_and_in_its_worker(opened, browser, tmp_path):
    with serve(tmp_path) as other:
        ask = TELL.format(json.dumps({"where": other, "code": "x", "page": "01-one"}))
        seen = (
            "document.body.insertAdjacentHTML('beforeend', `<img src='data:,' onerror='own = 1'>`),"
            "new Promise(d => setTimeout(() => d([theme, window.text, window.own]), 300))"
        )
        from_here = f"fetch('{other}', {{mode: 'no-cors'}}).then(() => 'reached', () => 'refused')"
        opened()
        assert browser.evaluate(seen) == ["runs", None, None]
        assert browser.evaluate(from_here) == "refused"
        assert browser.evaluate(ask) == "refused", "in the worker, and in a worker of its own"
        base = "document.head.insertAdjacentHTML('afterbegin', '<base href=/x/>'), document.baseURI"
        assert browser.evaluate(base).endswith("/notebooks/01.html")
        call = "window.print = () => { window.own = 'printed'; }, "
        call += "document.querySelector('button').click(), window.own"
        assert browser.evaluate(call) == "printed", "the button of the theme still works"
        opened(name="open")
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


@needs_browser
def test_html_of_the_readers_text_stands_in_a_frame_without_scripts(opened, browser):
    text_of = '<p style="height: 333px">x</p><img src="data:," onerror="top.own = 1">'
    text_of += "<script>top.own = 1</script>"
    opened(name="open")  # without the policy: the frame alone
    fill(browser, "textarea", text_of, CHECK)
    look = "(() => { const f = document.querySelector('.try-said iframe'), h = f?.offsetHeight;"
    look += "return h > 330 && h < 450 && [f.sandbox.value, window.own ?? 0]; })()"
    wait = f"new Promise(d => {{ let n = 0; const l = () => {look} || n++ > 60 ? d({look})"
    wait += " : setTimeout(l, 50); setTimeout(l, 200); })"
    assert browser.evaluate(wait) == ["allow-same-origin", 0]


@needs_browser
def test_a_page_runs_where_no_text_of_the_reader_has_run(opened, browser):
    opened("#epsilon=2")
    fill(browser, "textarea", "x = 3", CHECK)
    until(browser, ".try-said", "Not yet")
    click(browser, RUN)
    until(browser, STATUS, "Done in")
    assert text(browser, "[data-glue]") == "2"
    fill(browser, "[name=epsilon]", "3", RUN)
    until(browser, ".live-clock", "a long one")
    fill(browser, "textarea", "x = 4", CHECK)
    until(browser, STATUS, "Another run on this page replaced this one.")
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
def test_a_field_that_is_empty_or_of_another_type_is_refused(opened, browser, name, value, words):
    opened()
    fill(browser, f"[name={name}]", value, RUN)
    until(browser, STATUS, f"A value cannot be read: {words}. Nothing was run.")


@needs_browser
def test_fields_give_values_of_their_types(opened, browser):
    opened("#grid=0.5,1&exact=false&names=[%22b%22]&n_items=5")
    click(browser, RUN)
    until(browser, STATUS, "-p n_items '5' -p grid '[0.5,1]' -p exact 'false' -p names '[\"b\"]'")


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
        ({"version": "2"}, "another build"),
        ({"runtime/dpbook.zip": "other"}, "runtime/dpbook.zip cannot be had, or is not the file"),
        ({"pages/01-one.json": "{}"}, "pages/01-one.json cannot be had, or is not the file"),
        ({"package": "broken"}, "broken is not the file that belongs to this book"),
    ],
)
def test_the_worker_refuses_another_build_and_files_that_are_not_the_pinned(
    site, opened, browser, damage, words
):
    folder, damage = site / "live" / "1", dict(damage)
    package, version = damage.pop("package", "numpy"), damage.pop("version", "1")
    (folder / "runtime").mkdir()
    (folder / "pages").mkdir()
    shutil.copy(live.OURS / "worker.js", folder)
    (folder / "runtime" / "pyodide.js").write_text(PYODIDE)
    names = ("runtime/dpbook.zip", "pages/01-one.json")
    for name in names:
        (folder / name).write_text(json.dumps({"version": version}))
    known = {name: live.digest((folder / name).read_bytes()) for name in names}
    about = {"build": "1", "bytes": 0, "packages": [package], "integrity": known}
    (site / "_static" / "live.json").write_text(json.dumps(about))
    for name, content in damage.items():
        (folder / name).write_text(content)
    asked = {"page": "01-one", "version": "1", "given": {}, "long": []}
    ends = "m => ['end', 'broken'].includes(m.kind) && d(m.why ?? null)"
    opened()
    found = browser.evaluate(f"new Promise(d => dpbookRun.send({json.dumps(asked)}, {ends}))")
    assert found is words or words in found
