"""What the HTML, its scripts and its style offer to a reader who listens, searches, or prints."""

import json
import re
import shutil

import pytest
from docutils import nodes
from docutils.utils import new_document

from dpbook.book.sphinx import nodes as own_nodes
from dpbook.book.sphinx.access import NameTheTables, finish_html, prose
from tests.book.browsing import ROOT, check_pages, go, needs_browser

STATIC = ROOT / "book" / "_static"


def table(columns=2, head=True, **attributes):
    specs = [nodes.colspec(colwidth=1) for _ in range(columns)]
    inside = [*specs, *[nodes.thead()] * head, nodes.tbody()]
    return nodes.table("", nodes.tgroup("", *inside, cols=columns), **attributes)


def finished(*children, title="Two & \\e"):
    """A section as the writer of HTML gets it."""
    document = new_document("page")
    document += nodes.section("", nodes.title(text=title), *children, ids=["a", "proof-content"])
    NameTheTables(document).run()
    return document[0]


def test_a_table_without_a_caption_takes_the_heading_above_it():
    own = table()
    own.insert(0, nodes.title(text="Own"))
    raw = "<table>\n<caption>Its</caption></table><table class='b'></table>"
    ours = own_nodes.table_of(("a", "b"), [], "claims-ledger", "All claims")
    _, first, second, ledger, raw = finished(table(), own, ours, nodes.raw("", raw)).children
    heading = '<caption class="from-heading">Two &amp; \\e</caption>'
    assert first[0].astext().strip() == heading
    assert isinstance(second[0], nodes.title) and len(second) == 2
    assert ledger[0].astext() == "<caption>All claims</caption>" and len(ledger) == 2
    assert raw.astext().count(heading) == 1 and raw.astext().endswith(f"{heading}</table>")


def test_controls_are_named_by_what_is_seen_and_no_id_stands_twice():
    assert finished()["ids"] == ["a"]
    heads = '<th class="head stub"><th class="head"><th class="stub">'
    context = {"body": f'<summary aria-label="Toggle hidden content"></summary>{heads}'}
    finish_html(None, "page", "page.html", context, None)
    assert "aria-label" not in context["body"]
    assert re.findall('scope="(...)" class="(.*?)"', context["body"]) == [
        *(("col", "head stub"), ("col", "head"), ("row", "stub"))
    ]


@pytest.mark.parametrize(
    ("columns", "head", "expected"), [(2, True, 1), (1, True, None), (2, False, None)]
)
def test_the_first_column_names_the_rows(columns, head, expected):
    specs = list(finished(table(columns, head)).findall(nodes.colspec))
    assert [spec.get("stub") for spec in specs] == [expected, None][:columns]


def test_the_search_reads_prose_and_neither_code_nor_formulas():
    title = nodes.title("", "A ", nodes.math(text="x_1"))
    text = nodes.paragraph("", "Prose", nodes.math(text="\\frac12"), nodes.literal(text="check"))
    page = nodes.section("", title, text, nodes.literal_block(text="import os"))
    page += nodes.math_block(text="y")
    assert prose(page).astext().split() == ["A", "x_1", "Prosecheck"]
    assert "import os" in page.astext(), "the page itself keeps them"


def fill(browser, name, value):
    browser.evaluate(
        f"(() => {{ const field = document.querySelector('.claim-filters [name={name}]');"
        f"field.value = {value!r};"
        "field.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )


COUNT = "document.querySelector('.claim-count').textContent"
QUERY = "location.search"
CLAIMS = (
    ("P-1", {"paper": "P", "verdict": "holds", "verdict-words": "holds", "kind": "privacy"}),
    ("P-2", {"paper": "P", "verdict": "refuted", "verdict-words": "refuted", "kind": "utility"}),
    ("Q-1", {"paper": "Q", "verdict": "refuted", "verdict-words": "refuted", "kind": "utility"}),
)


def facts(name, given, prefix):
    data = "".join(f' data-{key}="{value}"' for key, value in given.items())
    return f'<span id="{prefix}{name}" data-claim="{name}"{data}></span>'


def write_pages(folder):
    """A ledger of three rows, and errata of two groups, with the real script and style."""
    for name in ("ledger.js", "access.js", "custom.css"):
        shutil.copy(STATIC / name, folder)
    head = (
        '<html lang="en" data-theme="light"><head><title>T</title><link rel="stylesheet" '
        'href="custom.css"><script src="access.js"></script><script src="ledger.js"></script>'
        "</head>"
    )
    rows = "".join(
        f'<tr><th scope="row">{facts(name, given, "ledger-")}<code>{name}</code></th>'
        f"<td>Says {name}</td></tr>"
        for name, given in CLAIMS
    )
    (folder / "ledger.html").write_text(
        f'{head}<body class="bd-content"><table class="claims-ledger"><thead><tr>'
        f'<th scope="col">Id</th><th scope="col">Claim</th></tr></thead><tbody>{rows}</tbody>'
        "</table>"
    )
    sections = [
        f'<section id="erratum-{name}"><h3>{name}</h3><p>{facts(name, given, "")}Wrong</p>'
        "</section>"
        for name, given in CLAIMS
    ]
    (folder / "errata.html").write_text(
        f"{head}<body><section><h1>Errata</h1><section id='one'><h2>1</h2>{sections[0]}</section>"
        f"<section id='two'><h2>2</h2>{sections[1]}{sections[2]}</section></section>"
        '<nav class="bd-toc"><ul><li id="entry"><a href="#erratum-P-1">P-1</a></li></ul></nav>'
    )


def write_body(folder, body):
    """The pages of `write_pages`, and ``page.html`` with the same head and a body of its own."""
    write_pages(folder)
    head = (folder / "ledger.html").read_text().split("<body")[0]
    (folder / "page.html").write_text(head + body)


@needs_browser
def test_filters_count_what_they_show_and_stand_in_the_address(tmp_path, browser):
    write_pages(tmp_path)
    shown = "[...document.querySelectorAll('tbody tr')].filter(r => r.checkVisibility()).length"
    address = f"file://{tmp_path}/ledger.html"
    assert go(browser, f"{address}?paper=P&verdict=refuted").problems == []
    assert browser.evaluate(COUNT) == "1 of 3 claims" and browser.evaluate(shown) == 1
    browser.evaluate("document.querySelector('.claim-filters button').click()")
    browser.evaluate("new Promise(done => setTimeout(done, 50))")
    assert browser.evaluate(COUNT) == "3 of 3 claims" and browser.evaluate(QUERY) == ""
    fill(browser, "text", "says q")
    assert browser.evaluate(COUNT) == "1 of 3 claims" and browser.evaluate(shown) == 1
    assert browser.evaluate(QUERY) == "?text=says+q"
    fill(browser, "kind", "privacy")
    assert browser.evaluate(COUNT) == "0 of 3 claims"
    go(browser, browser.evaluate("location.href"))
    assert browser.evaluate(COUNT) == "0 of 3 claims", "the address leads to the same selection"
    go(browser, f"{address}?verdict=nonsense")
    assert browser.evaluate(COUNT) == "3 of 3 claims"
    go(browser, f"{address}?paper=Q#ledger-P-1")
    assert browser.evaluate(COUNT) == "3 of 3 claims", "whoever comes for a claim sees it"
    live = "document.querySelector('.claim-count').getAttribute('aria-live')"
    assert browser.evaluate(live) == "polite"
    unnamed = "[...document.querySelectorAll('.claim-filters :is(select, input)')].filter(f => "
    assert browser.evaluate(unnamed + "!f.labels[0]?.textContent.trim()).length") == 0


@needs_browser
def test_filters_of_the_errata_hide_groups_and_entries_of_the_contents(tmp_path, browser):
    write_pages(tmp_path)
    go(browser, f"file://{tmp_path}/errata.html?verdict=refuted")
    hidden = "['one', 'two', 'erratum-P-1', 'entry'].map(i => document.getElementById(i).hidden)"
    assert browser.evaluate(hidden) == [True, False, True, True]
    fill(browser, "verdict", "")
    assert browser.evaluate(hidden) == [False] * 4
    assert browser.evaluate(COUNT) == "3 of 3 claims"


@needs_browser
def test_the_ledger_is_sorted_by_mouse_and_by_keyboard(tmp_path, browser):
    rows = "".join(
        f"<tr><td>{name}</td><td>{verdict}</td></tr>"
        for name, verdict in (("A-10", "refuted"), ("A-9", "holds"), ("B-1", "pending"))
    )
    head = "<thead><tr><th>Id</th><th>Verdict</th></tr></thead>"
    write_body(tmp_path, f'<body><table class="claims-ledger">{head}<tbody>{rows}</tbody></table>')
    order = "[...document.querySelectorAll('tbody tr')].map(row => row.cells[0].textContent).join()"
    state = "[...document.querySelectorAll('th')].map(th => th.getAttribute('aria-sort')).join()"
    watch = go(browser, f"file://{tmp_path}/page.html")
    assert browser.evaluate(order) == "A-10,A-9,B-1"
    browser.click("th:nth-child(2) button")
    assert browser.evaluate(order) == "A-9,B-1,A-10"
    assert browser.evaluate(state) == "none,ascending"
    for expected in ("A-9,A-10,B-1", "B-1,A-10,A-9"):  # numbers count as numbers
        browser.press("th:nth-child(1) button", "Enter")
        assert browser.evaluate(order) == expected
    assert browser.evaluate(state) == "descending,none"
    assert watch.problems == []


@needs_browser
def test_on_a_phone_a_row_is_a_card_that_says_what_its_cells_are(tmp_path, browser):
    write_pages(tmp_path)
    go(browser, f"file://{tmp_path}/ledger.html")
    look = (
        "(() => { const c = document.querySelector('tbody td'); return ["
        "getComputedStyle(c).display, getComputedStyle(c, '::before').content,"
        "c.getAttribute('role')]; })()"
    )
    assert browser.evaluate(look)[0] == "table-cell"
    browser.set_viewport_size({"width": check_pages.PHONE, "height": 800})
    assert browser.evaluate(look) == ["grid", '"Claim"', "cell"]
    assert browser.evaluate(check_pages.TOO_WIDE) is None


@needs_browser
def test_paper_has_no_bars_and_solutions_only_if_wanted(tmp_path, browser):
    write_body(
        tmp_path,
        '<body class="bd-content"><article><ul><li><button class="btn-download-pdf-button">Print'
        "</button></li></ul><details class='hide'><summary>Show</summary>code</details>"
        "<div class='solution'>Solved</div><div class='highlight'><pre>x</pre></div></article>",
    )
    look = (
        "['summary', '.solution', 'pre'].map(s => document.querySelector(s))"
        ".map(e => e.checkVisibility() && getComputedStyle(e).whiteSpace)"
    )
    for query, solution in (("", "normal"), ("?solutions=no", False)):
        go(browser, f"file://{tmp_path}/page.html{query}")
        browser.emulate_media(media="print")
        assert browser.evaluate(look) == [False, solution, "pre-wrap"]
        browser.emulate_media(media="screen")
        assert browser.evaluate("document.querySelector('.solution').checkVisibility()")
    entry = "document.querySelector('.btn-print-without').textContent"
    assert browser.evaluate(entry) == "Print without solutions"


@needs_browser
def test_one_switch_shows_all_folded_code_but_no_solution_and_is_kept(tmp_path, browser):
    cell = "<div class='cell'><details class='hide'><summary>draws</summary>code</details></div>"
    body = "<body class='bd-content'><article><h1>T</h1>{}<details class='hide'><summary>an aside"
    body += "</summary>text</details><div class='solution'>" + cell + "</div></article>"
    write_body(tmp_path, body.format(""))
    address = f"file://{tmp_path}/page.html"
    switch = "document.querySelector('article > h1 + p.code-switch button')"
    assert go(browser, address).problems == []
    assert browser.evaluate(switch) is None, "nothing is folded on this page"
    write_body(tmp_path, body.format(2 * cell))
    look = f"[{switch}.ariaPressed, ...[...document.querySelectorAll('details')].map(d => d.open)]"
    go(browser, address)
    assert browser.evaluate(look) == ["false", False, False, False, False]
    browser.evaluate(f"{switch}.click()")
    assert browser.evaluate(look) == ["true", True, True, False, False]
    go(browser, address)
    assert browser.evaluate(look) == ["true", True, True, False, False], "on the next page, too"
    browser.evaluate(f"{switch}.click()")
    assert browser.evaluate(look) == ["false", False, False, False, False]
    blocked = "Object.defineProperty(window, 'sessionStorage', {get() { throw new Error(); }})"
    browser.add_init_script(blocked)
    assert go(browser, address).problems == []
    browser.evaluate(f"{switch}.click()")
    assert browser.evaluate(look) == ["true", True, True, False, False], "without storage, too"
    assert browser.evaluate(f"{switch}.textContent") == "Show all code", "its name stays"


@needs_browser
def test_boxes_that_scroll_are_reached_by_the_tab_key_and_only_those(tmp_path, browser):
    write_body(
        tmp_path,
        "<body class='bd-content'><div class='book-table' id='wide'>"
        "<p style='width: 3000px'>x</p></div><div class='book-table' id='small'><p>x</p></div>",
    )
    go(browser, f"file://{tmp_path}/page.html")
    browser.evaluate("new Promise(done => setTimeout(done, 600))")
    stops = "['wide', 'small'].map(i => document.getElementById(i).tabIndex)"
    assert browser.evaluate(stops) == [0, -1]
    browser.evaluate("document.querySelector('#wide p').style.width = '10px'")
    browser.set_viewport_size({"width": 700, "height": 700})
    browser.evaluate("new Promise(done => setTimeout(done, 600))")
    assert browser.evaluate(stops) == [-1, -1]


SEARCH = """
var Scorer = {objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}};
class Stemmer { stemWord(word) { return word; } }
const Search = {
  _performSearch: () => [
    ["q", "Other", "", null, 5, "g"], ["p", "Page", "#claim-P-1", null, 100, "f"]],
  performTermsSearch: (terms) => [
    ...(terms.has("own") ? [["d", "Rank your own data", "", null, 1, "f"]] : []),
    ["q", "Other", "", null, 5, "g"]],
  htmlToText: () => "old",
};
"""


@needs_browser
def test_a_hit_names_its_claim_and_its_snippet_is_prose(tmp_path, browser):
    shutil.copy(STATIC / "find.js", tmp_path)
    (tmp_path / "search.html").write_text(
        "<meta charset='utf-8'><script src='find.js'></script><div id='search-results'></div>"
        f"<script>{SEARCH}</script>"
    )
    page = (
        "<main><nav>Contents</nav><article><h1>Title</h1><p>Prose with "
        "<span class='math'>\\\\(x\\\\)</span> in it.</p>"
        "<div class='cell_input'>import numpy</div><div class='highlight'>def f"
        "</div><section id='P-3.3'><p>Of the claim.</p></section></article></main>"
    )
    go(browser, f"file://{tmp_path}/search.html")
    titles = """((...words) => JSON.stringify(Search._performSearch(
        'x', new Set(words), new Set(), new Set(words), new Set()).map(hit => hit[1])))"""
    assert json.loads(browser.evaluate(f"{titles}('x')")) == ["P-1: Page", "Other"]
    found = json.loads(browser.evaluate(f"{titles}('my', 'own', 'rank', 'noise')"))
    assert found == ["P-1: Page", "Other", "Rank your own data"], (
        "the best fit, shown first, is last"
    )
    assert browser.evaluate("Scorer.objNameMatch + Scorer.objPrio[1]") == 5
    text = f'Search.htmlToText("{page}", "{{}}").trim()'
    assert browser.evaluate(text.format("")) == "Prose with … in it. Of the claim."
    assert browser.evaluate(text.format("#P-3.3")) == "Of the claim.", "an id with a point"


@needs_browser
def test_parts_fold_and_a_table_of_links_is_one_stop(tmp_path, browser):
    parts = "".join(
        f'<p class="caption"><span>x</span></p><ul><li class="{now}"><a href="#">x</a></li></ul>'
        for now in ("toctree-l1", "toctree-l1 current")
    )
    rows = "".join(f'<tr><td><a href="#">{n}</a> <a href="#">b{n}</a>' for n in range(5))
    quiz = f"<div class='quiz'>{2 * '<details><summary>p</summary></details>'}</div>"
    write_body(
        tmp_path,
        f'<body><div class="bd-sidebar-primary">{parts}</div><article><table><tbody>{rows}</table>'
        f"{quiz}<table><tr><td><a href='#'>few</a></table>",
    )
    go(browser, f"file://{tmp_path}/page.html")
    browser.evaluate("new Promise(done => setTimeout(done, 600))")
    lists = "[...document.querySelectorAll('.bd-sidebar-primary ul')]"
    assert browser.evaluate(f"String({lists}.map(list => list.hidden))") == "true,false"
    browser.click(".bd-sidebar-primary button")
    assert browser.evaluate(f"String({lists}.map(list => list.hidden))") == "false,false"
    links = "[...document.querySelectorAll('article a, article summary')]"
    assert browser.evaluate(f"{links}.filter(link => !link.tabIndex).length") == 3, "one of each"
    browser.focus("tbody a")
    for key in ("ArrowDown", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
        browser.keyboard.press(key)
    assert browser.evaluate("document.activeElement.textContent") == "1"
