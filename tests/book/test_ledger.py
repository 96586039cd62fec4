"""The ledger: what is read, and one line for everything that is refused."""

import re
from pathlib import Path

import pytest
import yaml

from dpbook.book.ledger.claims import FIVE, SINCE, LedgerError, entries_of, find_ledger, load_ledger
from dpbook.book.ledger.words import ledger_text
from dpbook.book.run.collect import collect
from tests.book.entries import FORMAL, GONE, LEDGER, entry, erratum, same, write_ledger

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a ledger, which is also the working directory."""
    (tmp_path / "book").mkdir()
    write_ledger(tmp_path, LEDGER)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_ledger_is_read_in_order(project):
    ledger = load_ledger(project / "book" / "claims.yml")
    assert list(ledger) == [item["id"] for item in LEDGER]
    assert ledger["HOLDS"].report == ["loss", "table"]
    assert ledger["HOLDS"].withdrawn == [GONE]  # a date is a text
    assert ledger["LATER"].state == "pending" and not ledger["LATER"].checked
    errata = [c.id for c in ledger.values() if c.is_erratum]
    assert errata == ["LOOSE", "REPAIRED", "REFUTED", "PROOF", "EMPTY"]
    assert [c.id for c in ledger.values() if c.breaks_privacy] == ["EMPTY"]
    assert [c.id for c in ledger.values() if not c.expects_holds] == ["REPAIRED", "REFUTED"]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (entry("X", colour="red"), "unknown field 'colour'"),
        (entry("X", where=" "), "where is ' ', must be a text"),
        (entry("X", notebook=...), "needs notebook, a text"),
        (entry("X", status="done"), "status is 'done', must be one of checked, pending"),
        (entry("X", verdict="true"), "verdict is 'true', must be one of holds"),
        (entry("X", verdict=...), "needs verdict, one of holds"),
        (entry("X", status="pending"), "verdict is 'holds', must be absent: the entry"),
        (entry("X", report=["a", "a"]), "report is ['a', 'a'], must be a list of names, each once"),
        (entry("X", verdict="refuted"), "needs severity, one of privacy, conclusion"),
        (erratum("empty", repair=" "), "repair is ' ', must be a text"),
        (erratum("empty", reproducer="dpbook run 01-one"), "must be a text in Python"),
        (erratum("proof-repaired", failed="luck"), "failed is 'luck', must be one of statement,"),
        (entry("X", verdict="conjecture", paper="XSC"), "paper is 'XSC', must be one of BOOK"),
        (erratum("shape-only"), "must be absent: such a verdict leaves no erratum"),
        (entry("X", beyond=...), "needs beyond, a text"),
        (entry("X", formal="Toy.small"), "must be a mapping of theorem, scope, says, without"),
        (entry("X", formal=FORMAL | {"theorem": "small"}), "must be a file of proofs/ and its"),
        (entry("X", formal=FORMAL | {"without": []}), "must be a list of what the theorem leaves"),
        (same("X", "LOOSE", formal=FORMAL), "must be absent: the entry has no check and no err"),
        (entry("X", rebuilt="yes"), "rebuilt is 'yes', must be true, or absent"),
        (entry("X", status="not-judged", verdict=..., evidence=...), "needs remark, a text"),
        (erratum("empty", quote=" "), "quote is ' ', must be"),
        (erratum("slip"), "severity is 'constant', must be one of wording"),
        (erratum("refuted", severity="wording"), "must be one of privacy, conclusion, proof, cons"),
        (erratum("refuted", consequence_of="NO"), "consequence_of is 'NO', must be another claim"),
        (same("X", "NONE"), "same_as is 'NONE', must be a claim with its own check"),
        (same("X", "X"), "same_as is 'X', must be a claim with its own check"),
        (same("X", "SAME"), "same_as is 'SAME', must be a claim with its own check"),
        (same("X", "LOOSE", verdict="holds"), "must be absent: the entry has no check and no err"),
        (same("X", "LOOSE", wrong="w"), "wrong is 'w', must be absent: the entry has no check and"),
        (entry("X", withdrawn="all"), "withdrawn is 'all', must be a list of date, said,"),
        (entry("X", withdrawn=["all"]), "withdrawn[0] is 'all', must be a mapping of date,"),
        (entry("X", withdrawn=[{"date": "2026-01-02"}]), "withdrawn[0]: needs said, a text"),
        (entry("X", withdrawn=[GONE | {"date": "today"}]), "[0].date is 'today', must be year-m"),
        (entry("X", says="![x](//h/y.png)"), "says is '![x](//h/y.png)', must be a text without"),
        (entry("X", where="$\\href{javascript:1}{x}$"), "must be a text without"),
        (entry("X", says="{{ title }}"), "says is '{{ title }}', must be a text without"),
        (entry("HOLDS"), "HOLDS: the id occurs twice"),
        ({"paper": "P"}, "needs an id"),
        ("text", "needs an id"),
    ],
)
def test_every_broken_rule_of_the_ledger_is_one_line(project, broken, message):
    write_ledger(project, [*LEDGER, broken, entry("Y", evidence="none")])
    with pytest.raises(LedgerError) as caught:
        load_ledger(project / "book" / "claims.yml")
    lines = str(caught.value).splitlines()
    name = broken.get("id", "entry") if isinstance(broken, dict) else "entry"
    assert any(message in line and line.startswith(name) for line in lines)
    assert any(line.startswith("Y: evidence is 'none'") for line in lines)  # the others go on
    with pytest.raises(LedgerError):
        collect(project / "_build", project)


def test_a_ledger_that_is_no_list_is_refused(tmp_path):
    for text in ("a: 1", "[", ""):
        (tmp_path / "claims.yml").write_text(text)
        with pytest.raises(LedgerError, match=r"claims\.yml"):
            load_ledger(tmp_path / "claims.yml")


def test_what_another_claim_decides_is_taken_from_there(project):
    ledger = load_ledger(project / "book" / "claims.yml")
    one, other = ledger["SAME"], ledger["LOOSE"]
    for field in ("notebook", "status", "verdict", "evidence"):
        assert getattr(one, field) == getattr(other, field)
    assert not one.is_erratum and one.heading is None


def test_only_a_pending_claim_may_have_no_page(project):
    fields = {"status": "pending", "verdict": ..., "evidence": ..., "notebook": ...}
    write_ledger(project, [*LEDGER, entry("X", paper="New24", **fields)])
    claim = load_ledger(project / "book" / "claims.yml")["X"]
    assert claim.notebook is None and claim.group == SINCE and not claim.checked
    assert ledger_text({"X": claim}).startswith("X  pending    It is private")


def test_the_ledger_is_parsed_again_only_when_it_has_changed(project, monkeypatch):
    path = project / "book" / "claims.yml"
    first = load_ledger(path)
    monkeypatch.setattr(yaml, "load", lambda *a, **o: pytest.fail("parsed again"))
    assert load_ledger(path) == first
    monkeypatch.undo()
    write_ledger(project, LEDGER[1:])
    assert list(load_ledger(path)) == list(first)[1:]


def test_the_entries_of_a_page_are_those_that_it_checks_or_asks_for():
    entries = [{"id": "HOLDS", "notebook": "01-one"}, {"id": "X-1", "notebook": "02-two"}, "no"]
    found = entries_of("02-two", "t(verdict_of('HOLDS'))", entries)
    assert [one["id"] for one in found] == ["HOLDS", "X-1"]
    assert not entries_of("03-three", "HOLDS", entries)


def test_finding_the_ledger(project, tmp_path, monkeypatch):
    assert find_ledger() == project / "book" / "claims.yml"
    deep = project / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert find_ledger() == project / "book" / "claims.yml"
    with pytest.raises(LedgerError, match="no ledger at"):
        load_ledger(tmp_path / "nowhere.yml")


def test_the_ledger_of_the_book_is_valid():
    ledger = load_ledger(ROOT / "book" / "claims.yml")
    cited = re.findall(r"^@\w+\{(\w+),$", (ROOT / "book" / "references.bib").read_text(), re.M)
    assert ledger and {*FIVE} <= {*cited}
    for claim in ledger.values():
        page = ROOT / "notebooks" / f"{claim.notebook}.ipynb"
        assert not claim.checked or page.is_file(), f"{claim.id}: no page {claim.notebook}"
        assert claim.paper in ("BOOK", *cited), f"{claim.id}: no {claim.paper} in references.bib"
        code = claim.reproducer or ""
        assert max(map(len, code.splitlines()), default=0) <= 90, f"{claim.id}: wide reproducer"
        assert claim.heading is None or claim.heading[-1] != ".", f"{claim.id}: a heading, no text"
        assert "TO BE" not in (claim.heading or ""), f"{claim.id}: its heading is not written"
