"""How claims are shown: every state says in words what it is, and text cannot break the page."""

import json
import re
from pathlib import Path

import pytest

from dpbook.book.ledger import words as report
from dpbook.book.ledger.claims import FAILING_VERDICTS, Claim, LedgerError, _validator, load_ledger
from tests.book.entries import FORMAL
from tests.oracles import luminance

SCHEMA = _validator().schema["properties"]
VERDICTS = SCHEMA["verdict"]["enum"]


def claim(**fields):
    base = {"id": "P-1", "paper": "P", "where": "Thm 1", "kind": "privacy", "status": "checked"}
    base |= {"says": "It is private", "notebook": "01-one", "verdict": "holds", "evidence": "exact"}
    return Claim(**(base | fields))


PENDING = claim(id="P-2", status="pending", verdict=None, evidence=None, notebook="09-later")


def record(**fields):
    base = {"id": "P-1", "applies": True, "why": None, "control": True, "report": {}}
    base |= {"holds": True, "repaired": None, "measured": []}
    return base | fields


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_is_named_in_words(verdict):
    words = report.state_words(claim(verdict=verdict))
    assert words == f"{report.STATES[verdict][1]} (exact)"
    html = report.card_html(record(), claim(verdict=verdict))
    assert words in html and f"claim-{verdict}" in html and 'id="claim-P-1"' in html


def test_a_proof_for_every_epsilon_says_its_sizes(tmp_path):
    """In the badge, and that of a claim which it decides; and only such a proof has sizes."""
    proof = claim(evidence="all-epsilon", scope="n = 3, discrete noise")
    words = "holds (proved for every ε: n = 3, discrete noise)"
    assert report.state_words(proof) == words and report.badge_words(proof).endswith(words)
    assert words in report.card_html(record(), proof)
    entry = {field: getattr(proof, field) for field in ("id", "paper", "where", "kind", "says")}
    other = entry | {"id": "P-2", "same_as": "P-1"}
    entry |= {"notebook": "01-one", "status": "checked", "verdict": "holds", "rests_on": []}
    entry["beyond"] = "Nothing."
    path = tmp_path / "claims.yml"
    path.write_text(json.dumps([entry | {"evidence": "all-epsilon", "scope": "n = 3"}, other]))
    assert [one.scope for one in load_ledger(path).values()] == ["n = 3", "n = 3"]
    for evidence, message in (
        ({"evidence": "all-epsilon"}, "P-1: needs scope"),
        ({"evidence": "exact", "scope": "n = 3"}, "scope is 'n = 3', must be absent"),
    ):
        path.write_text(json.dumps([entry | evidence]))
        with pytest.raises(LedgerError, match=message):
            load_ledger(path)


def test_a_theorem_is_the_strongest_evidence_and_says_its_scope():
    proof = claim(evidence="all-epsilon", scope="n = 3", formal=FORMAL)
    assert report.state_words(proof) == "holds (proved by a kernel: every n)"
    assert report.state_words(proof, sizes=False) == "holds (proved by a kernel)"
    assert proof.levels == ("formal", "all-epsilon") and PENDING.levels == ()


def test_no_two_states_look_alike():
    for shown in zip(*report.STATES.values(), strict=True):
        assert len(set(shown)) == len(report.STATES)
    assert list(report.SEVERITY_HEADINGS) == SCHEMA["severity"]["enum"]


def test_a_broken_privacy_guarantee_is_marked_wherever_the_state_stands():
    broken = claim(verdict="false-repaired", failed="algorithm", severity="privacy")
    assert report.state_words(broken).endswith(report.PRIVACY_MARK)
    html = report.card_html(record(), broken)
    assert report.PRIVACY_MARK in html and "claim-privacy" in html
    assert "What failed: the algorithm (severity: privacy)." in html
    sound = claim(verdict="false-repaired", failed="wording", severity="wording")
    assert report.PRIVACY_MARK not in report.card_html(record(), sound)


@pytest.mark.parametrize("verdict", sorted(set(VERDICTS) - set(FAILING_VERDICTS)))
def test_nothing_that_is_true_is_said_to_fail(verdict):
    text = report.card_text(record(), claim(verdict=verdict))
    assert "fail" not in text and "not pass" not in text


def test_only_what_a_paper_says_is_called_printed():
    mine = claim(rebuilt="true")
    text = report.card_text(record(), mine)
    assert report.state_words(mine) == "holds as rebuilt here (exact)"
    assert "The statement as rebuilt here passes" in text and "printed" not in text
    ours = claim(id="BOOK-1", paper="BOOK")
    assert "The statement passes this test." in report.card_text(record(id="BOOK-1"), ours)
    assert "The published statement passes this test." in report.card_text(record(), claim())


@pytest.mark.parametrize("state", ["holds-loosely", "slip", "undecided", "empty"])
def test_what_is_no_error_is_not_said_to_have_failed(state):
    text = report.failure_words(claim(verdict=state, failed="accounting", severity="wording"))
    assert "failed" not in text and "the accounting" in text


def test_the_settings_of_a_check_stand_on_its_card():
    tried = {"n": [3, 12], "ε": [0.5, 0.5], "link": ["logistic", "normal"]}
    text = report.card_text(record(tried=tried), claim(beyond="Fails from n = 40 on."))
    assert "Tried for n from 3 to 12; ε = 0.5; link: logistic, normal." in text
    assert "Beyond these settings: Fails from n = 40 on." in text


def test_pending_is_pending_whatever_was_run():
    assert report.state_words(PENDING) == "pending"
    assert report.run_words(PENDING, record()) == "pending"
    assert report.run_words(claim(), None) == "not run in this build"
    assert report.run_words(claim(), record(applies=False)).startswith("its conditions are not met")
    assert report.run_words(claim(), record()) == "checked"


def test_a_contradiction_outweighs_everything():
    html = report.card_html(record(), claim(), ["holds is False"])
    assert "claim-contradiction" in html and "claim-holds" not in html
    assert "Not as recorded in the ledger: holds is False." in html
    assert "passes this test" not in html


def test_a_twin_that_was_not_caught_is_called_out():
    part = {"what": "loss", "sign": "≤", "value": 1, "limit": 1, "passes": True}
    entries = [
        {"subject": role, "name": name, "passes": True, "parts": [part]}
        for role, name in (("printed", ""), ("control", "half the noise"))
    ]
    text = report.card_text(record(measured=entries), claim())
    assert "As stated: loss 1 ≤ 1." in text
    assert "Negative control (half the noise): loss 1 ≤ 1: NOT caught." in text


def test_numbers_and_tables_are_shown():
    table = [{"n": 2, "x": 0.25, "eps": "inf"}, {"n": 3, "x": 1e-9, "eps": None}]
    values = {"loss": 1 / 3, "n": 12, "grid": [1, 2.5], "long": list(range(20)), "table": table}
    html = report.card_html(record(report=values), claim(), href="../book/ledger.html#ledger-P-1")
    assert '<th scope="row">3</th>' in html and "<caption>" in html
    for text in ("0.333333", ">12<", "1, 2.5", "20 rows", "table: 2 rows", "1e-09", "inf"):
        assert text in html
    assert '<a href="../book/ledger.html#ledger-P-1">P-1</a>' in html
    assert html.count("<tr>") == 3
    text = report.card_text(record(report=values), claim())
    assert "loss: 0.333333" in text and "table: 2 rows" in text


def test_text_is_escaped():
    html = report.card_html(
        record(applies=False, why="a < b & <script>", report={"<i>": 1, "t": [{"<u>": "<b>"}]}),
        claim(),
        href='"><script>',
    )
    for tag in ("<script>", "<i>", "<u>", "<b>"):
        assert tag not in html
    assert "a &lt; b &amp;" in html


def test_counts_add_up():
    counts = report.state_counts([claim(), claim(verdict="refuted"), claim(), PENDING])
    assert counts["holds"] == 2 and counts["refuted"] == 1 and counts["pending"] == 1
    assert counts["shape-only"] == 0 and sum(counts.values()) == 4


def test_the_ledger_in_a_terminal():
    ledger = {c.id: c for c in (claim(), PENDING, claim(id="P-3", says="x " * 200))}
    text = report.ledger_text(ledger, [record()], width=90)
    lines = text.splitlines()
    assert all(len(line) <= 90 for line in lines)
    assert "holds (exact)" in lines[0]
    assert "pending" in lines[1] and "holds" not in lines[1]
    assert "not run in this build" in lines[2] and "holds (exact)" not in lines[2]
    assert lines[-1] == "3 claims: 2 holds, 1 pending"
    assert report.ledger_text({}).endswith("0 claims: none")


CSS = (Path(__file__).resolve().parents[2] / "book/_static/custom.css").read_text("utf-8")


def test_badges_are_legible_in_light_and_dark():
    colours = re.findall(r"--claim-(\w+)(-ground)?: (#\w{6});", CSS)
    assert len(colours) == 4 * 8  # eight tones, ink and ground, light and dark
    for (tone, _, one), (again, ground, other) in zip(colours[::2], colours[1::2], strict=True):
        assert tone == again and ground
        dark, light = sorted(map(luminance, (one, other)))
        assert (light + 0.05) / (dark + 0.05) > 7, tone


def test_every_state_has_a_colour():
    colours = CSS[: CSS.index("The badge beside a theorem")]
    assert {state for state in report.STATES if f".claim-{state}" in colours} == {*report.STATES}
    plain = re.search(r"([^}]*)\{[^}]*var\(--claim-plain\)", colours)
    named = ("definition", "conjecture", "pending", "not-judged", "undecided")
    assert plain and plain[1].replace(",", " ").split() == [f".claim-{name}" for name in named]
