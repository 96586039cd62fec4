"""The button beside a certificate: what it says of what is right, forged, or changed."""

from __future__ import annotations

import shutil

from dpbook.book.files import serve
from tests.book.browsing import ROOT, check_pages, go, needs_browser
from tests.test_verifier import ACCEPTED, CASES, VERIFY, written

pytestmark = needs_browser
SHOWN = {
    what: case
    for what, case in (ACCEPTED | CASES).items()
    if case[2].get("more", "") is not None and case[2].get("records", 1)
}
FALSE = "3 epsilon for epsilon"
PAGE = f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Page</title>
<link rel="stylesheet" href="../_static/custom.css">
<script src="../_static/certificates.js"></script><main><h1>Page</h1>
<div class="claim-card" data-certificate="RIGHT"><p>Card</p><details></details></div>
<div class="claim-card" data-certificate="THIRD"></div>
<div class="claim-card" data-certificate="{FALSE}"></div>
<div data-certificate="*"></div></main>"""


def pressed(page, name, change=False):
    box = page.locator(f'[data-certificate="{name}"] .check-here')
    box.locator("input").set_checked(change)
    box.locator("button").press("Enter")
    told = box.locator('[role="status"]:not(:empty)').filter(has_not_text="Checking")
    return told.text_content(), box.locator("li").all_text_contents()


def test_the_button_says_what_was_compared_or_why_not(tmp_path, browser):
    for name in ("_static", "book"):
        (tmp_path / name).mkdir()
    for name in ("certificates.js", "custom.css"):
        shutil.copy(ROOT / "book/_static" / name, tmp_path / "_static")
    (tmp_path / "book/page.html").write_text(PAGE)
    written(tmp_path / "downloads/proofs", SHOWN)
    shutil.copy(VERIFY.with_suffix(".mjs"), tmp_path / "downloads/proofs")
    with serve(tmp_path) as origin:
        watch = go(browser, f"{origin}/book/page.html", origin)
        told, _ = pressed(browser, "RIGHT")
        assert "2 data sets in 2 pairs, at 2 outcomes: all 4 inequalities hold" in told
        assert "and 2 of them are equalities" in told
        assert "It computed 1 number again in 3 steps" in pressed(browser, "THIRD")[0]
        told, _ = pressed(browser, FALSE)
        assert told == "Refused: the inequality may fail: pair 0, 1."
        for name in ("RIGHT", "THIRD"):
            told, _ = pressed(browser, name, change=True)
            assert " became " in told and "Refused: not the certificate that" in told
        assert not [*check_pages.axe_lines(browser, {}, "")]

        # all of them, in this browser as in node
        told, lines = pressed(browser, "*")
        found = dict(line.split(": ", 1) for line in lines)
        wanted = {what: case[0] or "Your browser accepted" for what, case in SHOWN.items()}
        assert found.keys() == wanted.keys()
        assert not {what: words for what, words in found.items() if wanted[what] not in words}
        right = [*wanted.values()].count("Your browser accepted")
        assert f"accepted {right} of {len(lines)} certificates" in told
        assert not watch.problems
        go(browser, (tmp_path / "book/page.html").as_uri())
        assert "browsers load no program on a page that was" in pressed(browser, "RIGHT")[0]
