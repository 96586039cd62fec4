"""No text from the ledger, a table or the metadata of a page becomes markup; the ledger page and
the errata are looked at in test_sphinx.py, as a whole book."""

import json

import pytest

from dpbook.book import prose
from dpbook.book.ledger import words as report
from dpbook.book.ledger.claims import Claim
from dpbook.book.pages import find_pages
from dpbook.book.sphinx import front, nodes, panel
from tests.book.injection import MARK, MARKDOWN, TEXT, active

CLAIM = Claim(
    id=TEXT,
    paper="CCW25",
    where=TEXT,
    kind="privacy",
    says=TEXT,
    notebook="01-one",
    status="checked",
    verdict="holds",
    evidence="exact",
    report=["a", TEXT],
    labels={"a": TEXT, TEXT: TEXT},
)
PART = {"what": TEXT, "passes": True, "sign": "≤", "value": 1.0, "limit": 2.0}
RECORD = {
    "id": TEXT,
    "holds": True,
    "repaired": None,
    "applies": True,
    "why": None,
    "control": True,
    "report": {"a": [{TEXT: TEXT}], TEXT: TEXT},
    "measured": [
        {"subject": "printed", "name": "", "passes": True, "parts": [PART]},
        {"subject": "control", "name": TEXT, "passes": False, "parts": [PART | {"passes": False}]},
    ],
}
ROWS = [{TEXT: TEXT, "n": 1.0}, {TEXT: TEXT, "n": 2.0}]


PLACES = {
    "card": lambda: report.card_html(RECORD, CLAIM, (), TEXT),
    "card that contradicts": lambda: report.card_html(RECORD, CLAIM, [TEXT]),
    "card outside": lambda: report.card_html(RECORD | {"applies": False, "why": TEXT}, CLAIM),
    "table": lambda: prose.table(ROWS, TEXT, caption=TEXT).html,
    "table with a format": lambda: prose.table(ROWS, "t", {"n": lambda _: TEXT}).html,
    "slider": lambda: prose.slider(ROWS, TEXT, caption=TEXT).html,
    "front page": lambda: front.summary_html({TEXT: CLAIM}, TEXT, TEXT),
    "editor": lambda: panel.try_html(TEXT, [TEXT, "</textarea>" + TEXT], TEXT),
}


@pytest.mark.parametrize("place", PLACES)
def test_text_stays_text(place, monkeypatch):
    html = PLACES[place]()
    assert MARK in html and active(html) == []
    # The control: the same place without escaping is noticed.
    for module in (report, prose):
        monkeypatch.setattr(module, "escape", str)
    monkeypatch.setattr(nodes, "TEMPLATES", nodes.TEMPLATES.overlay(autoescape=False))
    assert active(PLACES[place]())


def test_the_panel_of_parameters(tiny_book, page_writer, monkeypatch):
    names = f'{{"x", {json.dumps(TEXT[1:])}}}'
    parameters = f'epsilon = 1.0  # {TEXT} | {TEXT} | (0, 10]\nedition = "x"  # a | - | {names}\n'
    page_writer(tiny_book / "notebooks" / "01-one.ipynb", parameters=parameters)
    page = find_pages(tiny_book)[0]

    def html():
        return panel.panel_html(page, {"edition": TEXT})

    assert MARK in html() and active(html()) == []
    monkeypatch.setattr(nodes, "TEMPLATES", nodes.TEMPLATES.overlay(autoescape=False))
    assert active(html())


def test_what_acts_is_noticed():
    assert active(TEXT) == ["script", "onerror of img", "b"]
    assert active(f'<a href=" javascript:{MARK}()">x</a>') == ["href of a"]
    assert active(f'<p title="{MARK}">{MARK} &lt;script&gt;</p>') == []
    assert TEXT in MARKDOWN
