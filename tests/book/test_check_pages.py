"""`tools/check_pages.py` finds what it is there to find (needs Chromium)."""

import base64

import pytest

from dpbook.book.pages import PageError
from tests.book.browsing import BROWSER, check_pages, needs_browser

OPAQUE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4//8/AAX+Av4N70a4AAAAAElFTkSuQmCC"
)
CLEAR = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
)
PAGE = (
    '<html lang="en"><head><title>T</title></head>'
    "<body><main><h1>T</h1><article>{}</article></main></body></html>"
)


def write_book(folder, **bodies):
    """A book of the given pages, with two pictures."""
    folder.mkdir(exist_ok=True)
    for name, data in (("opaque.png", OPAQUE), ("clear.png", CLEAR)):
        (folder / name).write_bytes(base64.b64decode(data))
    for name, body in bodies.items():
        (folder / f"{name}.html").write_text(PAGE.format(body), encoding="utf-8")
    return folder


TABLE = (
    "<table><caption>C</caption>"
    '<thead><tr><th scope="col">A</th><th scope="col">B</th></tr></thead>'
    '<tbody><tr><th scope="row">a</th><td>1</td></tr></tbody></table>'
)
FORMULA = (
    '<mjx-container><mjx-assistive-mml style="position: absolute; clip: rect(1px, 1px, 1px, 1px);'
    ' width: 1px; height: 1px; overflow: hidden">x</mjx-assistive-mml></mjx-container>'
)
BAD = {
    "formula": ('<span class="math">\\(x\\)</span>', "1 of 1 formulas are not rendered"),
    "merror": (
        '<span class="math"><mjx-container><mjx-merror>no</mjx-merror></mjx-container></span>',
        "1 formulas have an error",
    ),
    "host": ('<script src="https://example.org/a.js"></script>', "asks another host: https://exa"),
    "late": (
        "<script>fetch('http://example.org/').catch(() => 0)</script>",
        "asks another host: http://example.org/",
    ),
    "gone": ('<link rel="stylesheet" href="gone.css">', "gone.css answers 404"),
    "throws": ("<script>nothing.at.all</script>", "script error: ReferenceError"),
    "says": ("<script>console.error('oh', 3)</script>", "console error: oh 3"),
    "picture": ('<img src="gone.png" alt="A dot.">', "figure gone.png is not loaded"),
    "alt": ('<img src="opaque.png">', "figure opaque.png has no alternative text"),
    "hash": (
        f'<img src="opaque.png" alt="_images/{"0123456789abcdef" * 4}.png">',
        "figure opaque.png has a file name for alternative text",
    ),
    "clear": ('<img src="clear.png" alt="A dot.">', "figure clear.png shows the page through"),
    "dark": (
        "<style>img {background: #fff} [data-theme=dark] img {background: #0000}</style>"
        '<img src="clear.png" alt="A dot.">',
        "figure clear.png shows the page through",
    ),
    "grey": (
        "<style>[data-theme=dark] img {filter: brightness(.8)}</style>"
        '<img src="opaque.png" alt="A dot.">',
        "figure opaque.png is filtered: brightness(0.8)",
    ),
    "wide": (
        '<table><tr><td style="min-width: 1400px">Far</td></tr></table>',
        "px wide in a window of 1280 px, first: <table> Far",
    ),
    "pale": (
        '<p style="color: #aaa">Pale</p>',
        "axe: color-contrast (light, 1280 px): 1, first: p",
    ),
    "night": (
        "<style>[data-theme=dark] p {background: #222; color: #444}</style><p>Dim</p>",
        "axe: color-contrast (dark, 1280 px): 1, first: p",
    ),
    "token": (
        "<style>[data-theme=dark] .k {background: #222; color: #444}</style>"
        '<pre><span class="k">if</span> <span class="n">x</span> <span class="k">or</span></pre>',
        "axe: color-contrast (dark, 1280 px): 1, first: .k",
    ),
    "second": (
        '<pre><span class="k">if</span> <span class="k" style="color: #aaa">or</span></pre>',
        "axe: color-contrast (light, 1280 px): 1, first: span",
    ),
    "named": (
        '<button aria-label="Toggle">Show the code</button>',
        "axe: label-content-name-mismatch (light, 390 px): 1",
    ),
    "stop": (
        '<span class="math"><mjx-container tabindex="0">x</mjx-container></span>',
        "1 formulas are stops of the Tab key",
    ),
    "caption": (
        TABLE.replace("<caption>C</caption>", ""),
        "1 tables have no caption, first: <table>",
    ),
    "empty": (TABLE.replace(">B<", "><"), "axe: empty-table-header (light, 1280 px): 1"),
    "rows": (TABLE.replace('th scope="row"', "td"), "1 tables have no row headers"),
    "sideways": (
        f'<div class="highlight"><pre style="overflow: auto" tabindex="0">{"x" * 400}</pre></div>',
        "1 blocks of code scroll sideways, first: <pre> xxx",
    ),
    "folded": (
        '<details><summary>Code</summary><div class="highlight">'
        f'<pre style="overflow: auto" tabindex="0">{"x" * 400}</pre></div></details>',
        "1 blocks of code scroll sideways",
    ),
    "focus": (
        '<style>.dull:focus {outline: none}</style><button class="dull">Press</button>',
        "1 controls show no focus, first: <button> Press",
    ),
    "phone": ('<p style="min-width: 500px">Long</p>', "px wide in a window of 390 px, first: <p>"),
}


@needs_browser
def test_every_fault_is_found_and_nothing_else(tmp_path, capsys):
    good = (
        '<p>Fine</p><img src="opaque.png" alt="A dot.">'
        '<img src="clear.png" alt="A dot." style="background: #fff">'
        '<span class="math"><mjx-container>x</mjx-container></span>'
        "<div style='overflow-x: auto' tabindex='0'><p style='width: 3000px'>Wide</p></div>"
        "<details><summary>Fold</summary><div class='highlight'><pre>short</pre></div></details>"
        f"<button>Press</button>{TABLE}{TABLE.replace('>B<', f'>{FORMULA}<')}"
        "<div style='height: 30000px'></div>"
    )
    bodies = {name: body for name, (body, _) in BAD.items()}
    html = write_book(tmp_path / "html", a_good=good, **bodies)
    (html / "index.html").write_text('<meta http-equiv="Refresh" content="0; url=a_good.html">')
    total = check_pages.check_book(BROWSER, html, tmp_path / "screens")
    lines = {}
    for line in capsys.readouterr().out.splitlines():
        if ".html " in line:
            name = line.split(".html")[0].strip()
        lines.setdefault(name, []).append(line)
    assert "ok" in lines["a_good"][0] and "index" not in lines
    for name, (_, problem) in BAD.items():
        assert "FAILED" in lines[name][0]
        assert any(problem in line for line in lines[name][1:]), lines[name]
    assert total >= len(BAD)
    pages = [*BAD, "a_good"]
    screens = {path.name for path in (tmp_path / "screens").glob("*.png")}
    assert screens == {f"{page}-{theme}.png" for page in pages for theme in ("light", "dark")}


def test_pictures_of_others_are_not_deleted(tmp_path):
    html = write_book(tmp_path / "html", index="<p>Fine</p>")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "holiday.png").touch()
    with pytest.raises(PageError, match="holds files that no build of this book made"):
        check_pages.check_book("chromium", html, tmp_path / "theirs")
    assert (tmp_path / "theirs" / "holiday.png").is_file()
