"""Slides: what of a page becomes one, and that the file needs nothing else."""

import base64
import re

import pytest

from dpbook.book.cli import main
from dpbook.book.pages import PageError
from dpbook.book.sphinx.slides import write_slides
from tests.book.browsing import BROWSER, chromium, go, needs_browser

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
PAGE = """<html><body><article>
<h1>4. Counts<a class="headerlink" href="#x">#</a></h1>
<div class="page-opens admonition"><p class="admonition-title">On this page</p>opens</div>
<h2>One section</h2>
<div class="claim-box claim-holds admonition"><p class="admonition-title">P, Thm 1
<a class="claim-badge" href="../book/ledger.html#l">P-1 ✓</a></p><p>first claim {math}</p></div>
<div class="claim-card claim-false-repaired" id="claim-P-2">second <b>card</b></div>
<figure id="fig"><img src="../_images/a.svg" alt="words">
<figcaption>caption one</figcaption></figure>
<div class="proof theorem admonition">our theorem <a href="https://x.org/">out</a></div>
<div class="proof proof admonition">a long proof</div>
<div class="exercise admonition"><p class="admonition-title">Exercise 4.1</p>question
<details class="exercise-hint">the hint</details></div>
<div class="solution dropdown admonition">the answer is 42
<figure><img src="../_images/a.svg" alt=""></figure></div>
<details class="live"><h2>Rerun</h2></details>
<div class="page-remember admonition"><p class="admonition-title">To remember</p>remember</div>
</article></body></html>
"""


@pytest.fixture
def html(tmp_path):
    """A built page with one of everything."""
    for name, text in (
        ("notebooks/04-counts.html", PAGE.replace("{math}", "")),
        ("notebooks/05-math.html", PAGE.replace("{math}", '<span class="math">\\(x\\)</span>')),
        ("notebooks/06-empty.html", "<article><h1>Empty</h1><p>text</p></article>"),
        ("_images/a.svg", SVG),
        ("_static/mathjax/tex-svg.js", "window.formulas = '</script><b>';"),
    ):
        path = tmp_path / "html" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "html"


def deck(html, page="04-counts"):
    target = html.parent / "slides" / f"{page}.html"
    count = write_slides(html, page, target)
    return count, target.read_text(encoding="utf-8")


def test_boxes_figures_and_cards_become_slides_in_their_order(html):
    count, text = deck(html)
    shown = ["On this page", "first claim", "second <b>card", "caption one", "our theorem"]
    shown += ["question", "remember"]
    places = [text.index(words) for words in shown]
    assert places == sorted(places) and count == len(shown) == text.count('<section class="slide')
    for dropped in ("the answer is 42", "the hint", "a long proof", "Rerun", "headerlink"):
        assert dropped in PAGE and dropped not in text
    assert text.count("<header>One section</header>") == count - 1
    assert 'class="slide claim bad"' in text and 'class="slide claim"' in text


def test_a_deck_is_one_file_that_asks_nobody(html):
    _, text = deck(html)
    data = base64.b64encode(SVG.encode()).decode()
    assert text.count(f"data:image/svg+xml;base64,{data}") == 1
    assert re.findall(r'(?:src|href)="(?!data:)([^"]*)"', text) == ["https://x.org/"]
    assert "default-src 'none'" in text and "MathJax" not in text
    # a page with formulas brings their script along, and it cannot end its element early
    _, text = deck(html, "05-math")
    assert r"window.formulas = '<\/script><b>';" in text


def test_what_has_no_slides_is_refused_by_name(html, tiny_book, capsys):
    with pytest.raises(PageError, match="06-empty has no boxes"):
        deck(html, "06-empty")
    with pytest.raises(PageError, match=r"07-none\.html is missing: `make book` writes it"):
        deck(html, "07-none")
    assert main(["slides", "1"], tiny_book) == 2
    assert "01-one.html is missing" in capsys.readouterr().err
    assert main(["slides", "nine"], tiny_book) == 2


@needs_browser
def test_keys_lead_through_the_deck_and_each_slide_is_a_printed_page(html, tmp_path):
    long = PAGE.replace("{math}", "").replace("first claim", "<p>first claim</p>" * 25)
    (html / "notebooks/04-counts.html").write_text(long, encoding="utf-8")
    count, _ = deck(html)
    with chromium.chromium(BROWSER) as opened:
        browser = opened.new_page(viewport={"width": 1000, "height": 600})
        address = f"file://{tmp_path}/slides/04-counts.html"
        watch = go(browser, address)
        browser.wait_for_selector("html[data-ready]", state="attached")
        assert watch.problems == []

        def pressed(key):
            browser.evaluate(f"dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}'}})); 0")
            return browser.evaluate(
                "[...document.querySelectorAll('.slide.on')].map(s => s.id).join()"
            )

        keys = "ArrowRight PageDown ArrowLeft End Home ArrowLeft x".split()
        assert [*map(pressed, keys)] == f"s2 s3 s2 s{count} s1 s1 s1".split()
        # the long slide is set smaller, and nothing of any slide is cut off
        sizes = browser.evaluate("slides.map(s => parseFloat(s.style.fontSize))")
        assert sizes[1] < min(sizes[:1] + sizes[2:])
        cut = "slides.map(s => {s.style.display = 'flex'; const i = s.querySelector('.inner');"
        cut += " return i.scrollHeight > i.clientHeight || i.scrollWidth > i.clientWidth})"
        assert not any(browser.evaluate(cut))
        pages = browser.pdf(prefer_css_page_size=True)
        assert len(re.findall(rb"/Type\s*/Page\b", pages)) == count
