"""The ledger, `check` and `collect`: what each accepts, and one line for everything it refuses."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from dpbook.book import at_least, at_most, proved
from dpbook.book.ledger import check as claims
from dpbook.book.ledger.check import ClaimError, check
from dpbook.book.ledger.claims import FIVE, SINCE, LedgerError, entries_of, find_ledger, load_ledger
from dpbook.book.ledger.words import ledger_text
from dpbook.book.run.collect import collect

ROOT = Path(__file__).resolve().parents[2]

ERRATUM = {"heading": "h", "printed": "p", "wrong": "w", "repair": "r", "reproducer": "print(1)"}
ERRATUM |= {"failed": "statement", "severity": "constant", "quote": "q", "reconsider": "c"}
GONE = {"date": "2026-01-02", "said": "s", "reason": "r"}


def entry(name, **fields):
    base = {"id": name, "paper": "P", "where": "Thm 1", "kind": "privacy", "says": "It is private"}
    base |= {"notebook": "01-one", "status": "checked", "verdict": "holds", "tier": "exact"}
    # beyond: nothing was tried, or nothing of its own
    own = fields.get("verdict") not in ("definition", ...)
    base |= {"rests_on": [], "beyond": "Nothing." if own else ...}
    return {key: value for key, value in (base | fields).items() if value is not ...}


def same(name, other, **fields):
    gone = dict.fromkeys(("notebook", "status", "verdict", "tier", "rests_on"), ...)
    return entry(name, same_as=other, **(gone | fields))


def erratum(verdict, **fields):
    return entry("X", verdict=verdict, **(ERRATUM | fields))


LEDGER = [
    entry("HOLDS", report=["loss", "table"]),
    entry("LOOSE", verdict="holds-loosely", **ERRATUM),
    entry("REPAIRED", verdict="false-repaired", **ERRATUM),
    entry("REFUTED", verdict="refuted", notebook="02-two", **ERRATUM),
    entry("PROOF", verdict="proof-repaired", tier="proof", **ERRATUM),
    entry("EMPTY", verdict="empty", **(ERRATUM | {"severity": "privacy"})),
    entry("SHAPE", verdict="shape-only", tier="statistical", notebook="02-two", remark="slopes"),
    same("SAME", "LOOSE"),
    entry("DEF", kind="dataset", verdict="definition", notebook="02-two"),
    entry("LATER", status="pending", verdict=..., tier=..., notebook="03-three"),
]
PAGE_OF = {item["id"]: item.get("notebook", "01-one") for item in LEDGER}
# What each check must say for the book to be right; every test below breaks one of these.
# The test of all of them: a noise scale of at least 1, and of at most 8.
GOOD = {
    "HOLDS": {"printed": 2.0, "report": {"loss": 0.5, "table": [{"a": 1}]}},
    "LOOSE": {"printed": 4.0},
    "REPAIRED": {"printed": 0.5, "repaired": 1.0},
    "REFUTED": {"printed": 0.5, "twin": {"a sound scale": 2.0}},
    "PROOF": {"printed": 1.0, "tier": "proof"},
    "EMPTY": {"printed": 1.0},
    "SHAPE": {"printed": 1.0, "tier": "statistical"},
    "DEF": {"printed": 1.0, "twin": None},
}
ONE = {"printed": 1.0}
ON_THE_FIRST_PAGE = ("HOLDS", "LOOSE", "REPAIRED", "PROOF", "EMPTY")
ONLY_ONE_PART = [
    {"subject": subject, "name": name, "passes": value >= 1, "parts": [
        {"what": "scale", "passes": value >= 1, "sign": "≥", "value": value, "limit": 1},
        {"what": "scale again", "passes": True, "sign": "≤", "value": value, "limit": 8},
    ]}
    for subject, name, value in (("printed", "", 2), ("twin", "a quarter of the noise", 0.25))
]  # fmt: skip
TWINS = {"a quarter of the noise": 0.25, "noise without bound": 16.0}
OUTCOME = dict.fromkeys(GOOD, (True, None, True))
OUTCOME |= {"REPAIRED": (False, True, True), "REFUTED": (False, None, True)}
OUTCOME |= {"DEF": (True, None, None)}


def enough(scale):
    return at_least("scale", scale, 1) & at_most("scale again", scale, 8)


def outcome(record):
    return tuple(record[field] for field in ("holds", "repaired", "control"))


@pytest.fixture
def project(tmp_path, monkeypatch, page_writer):
    """A folder with a ledger and two pages, which is also the working directory."""
    (tmp_path / "book").mkdir()
    (tmp_path / "notebooks").mkdir()
    for page in ("01-one", "02-two"):
        page_writer(tmp_path / "notebooks" / f"{page}.ipynb", parameters="n = 3  # n | - | [2, 9]")
    (tmp_path / "notebooks" / "profiles.yml").write_text("smoke: {02-two: {n: 2}}\n")
    write_ledger(tmp_path, LEDGER)
    monkeypatch.chdir(tmp_path / "notebooks")
    return tmp_path


def write_ledger(root, entries):
    (root / "book" / "claims.yml").write_text(yaml.safe_dump(entries), encoding="utf-8")


@pytest.fixture
def shown(monkeypatch):
    """The bundles that `check` displays."""
    bundles = []

    def display(bundle, raw):
        card = claims.card_of(bundle[claims.RECORD_MIME])
        bundles.append(bundle | {"text/html": card})

    monkeypatch.setattr(claims, "display", display)
    return bundles


def run(name, test=None, **fields):
    given = {"tier": "exact", "twin": TWINS, "vary": False, **GOOD[name], **fields}
    if name == "REFUTED" and test is None:  # its twin must pass all that the test looks at
        test = lambda scale: at_least("scale", scale, 1)  # noqa: E731
    check(name, test or enough, **given)


def own(name):
    """The entry of a claim in the ledger of the working directory."""
    return load_ledger(find_ledger())[name]


def record_of(shown, name, **fields):
    run(name, **fields)
    return shown.pop()[claims.RECORD_MIME]


def write_page(root, page, records, parameters=None, bundles=()):
    cells = [{"cell_type": "markdown", "source": "# T", "metadata": {}}]
    for bundle in (*({claims.RECORD_MIME: record} for record in records), *bundles):
        stream = {"output_type": "stream", "name": "stdout", "text": "x"}
        output = {"output_type": "display_data", "data": bundle}
        cells.append({"cell_type": "code", "outputs": [stream, output], "metadata": {}})
    metadata = {"dpbook": {"parameters": parameters or {}}}
    path = root / "_build" / "executed" / "notebooks" / f"{page}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"cells": cells, "metadata": metadata}))


@pytest.fixture
def records(project, shown):
    """The good records, by id."""
    return {name: record_of(shown, name) for name in GOOD}


def problems_of(root, records, pages=None):
    records = [*records]
    for page in ("01-one", "02-two"):
        here = [record for record in records if PAGE_OF.get(record["id"], "01-one") == page]
        write_page(root, page, here, {"seed": 1})
    out = root / "_build"
    return collect(out, root, pages)


def test_a_test_that_is_too_weak_betrays_itself(project, shown):
    record = record_of(shown, "HOLDS", test=lambda scale: at_least("scale", scale, 0.1))
    assert outcome(record) == (True, None, False)
    assert "control was not caught" in claims.record_problems(record, own("HOLDS"))[0]


def test_a_part_that_nothing_has_failed_is_named(project, shown):
    record = record_of(shown, "HOLDS", twin={"a quarter of the noise": 0.25})
    assert outcome(record) == (True, None, True)
    kept = {field: None for field in ("slack", "entries", "level")}
    for entry in record["measured"]:
        entry["parts"] = [{k: v for k, v in p.items() if k not in kept} for p in entry["parts"]]
    assert record["measured"] == ONLY_ONE_PART
    problems = claims.record_problems(record, own("HOLDS"))
    assert problems == ["no twin fails the part 'scale again' of the test"]
    # a printed statement that fails shows as well as a twin that a part can fail
    twin = {"noise without bound": 16.0}
    assert claims.record_problems(record_of(shown, "REPAIRED", twin=twin), own("REPAIRED")) == []


def test_the_card_says_what_was_broken_and_by_how_much_it_was_caught(project, shown):
    run("HOLDS")
    text = shown[0]["text/plain"]
    assert "As stated: scale 2 ≥ 1; scale again 2 ≤ 8." in text
    assert "Twin (a quarter of the noise): scale 0.25 < 1: caught." in text
    assert "Twin (noise without bound): scale again 16 > 8: caught." in text
    listed = "<li>Twin (a quarter of the noise): scale 0.25 &lt; 1: caught.</li>"
    assert listed in shown[0]["text/html"]


# --- the ledger -----------------------------------------------------------------------------------


def test_the_ledger_is_read_in_order(project):
    ledger = load_ledger(project / "book" / "claims.yml")
    assert list(ledger) == [item["id"] for item in LEDGER]
    assert ledger["HOLDS"].report == ["loss", "table"]
    assert ledger["LATER"].state == "pending" and not ledger["LATER"].checked
    errata = [c.id for c in ledger.values() if c.is_erratum]
    assert errata == ["LOOSE", "REPAIRED", "REFUTED", "PROOF", "EMPTY"]
    assert [c.id for c in ledger.values() if c.breaks_privacy] == ["EMPTY"]
    assert [c.id for c in ledger.values() if not c.expects_holds] == ["REPAIRED", "REFUTED"]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (entry("X", colour="red"), "unknown field 'colour'"),
        (entry("X", says=...), "needs says, a text"),
        (entry("X", where=["a"]), "where is ['a'], must be a text"),
        (entry("X", where=" "), "where is ' ', must be a text"),
        (entry("X", notebook=...), "needs notebook, a text"),
        (entry("X", notebook=[]), "notebook is [], must be a text"),
        (entry("X", kind="theorem"), "kind is 'theorem', must be one of definition"),
        (entry("X", status="done"), "status is 'done', must be one of checked, pending"),
        (entry("X", verdict="true"), "verdict is 'true', must be one of holds"),
        (entry("X", verdict=...), "needs verdict, one of holds"),
        (entry("X", verdict=None), "verdict is 'null', must be one of holds"),
        (entry("X", tier="sure"), "tier is 'sure', must be one of all-epsilon"),
        (entry("X", status="pending"), "verdict is 'holds', must be absent: the entry"),
        (entry("X", report="loss"), "report is 'loss', must be a list of names"),
        (entry("X", report=["a", "a"]), "report is ['a', 'a'], must be a list of names, each once"),
        (entry("X", verdict="refuted"), "needs severity, one of privacy, conclusion"),
        (erratum("empty", repair=" "), "repair is ' ', must be a text"),
        (erratum("empty", reproducer="dpbook run 01-one"), "must be a text in Python"),
        (erratum("proof-repaired", failed="luck"), "failed is 'luck', must be one of statement,"),
        (erratum("refuted", severity=None), "severity is 'null', must be one of privacy, conclu"),
        (erratum("shape-only"), "must be absent: such a verdict leaves no erratum"),
        (entry("X", remark={}), "remark is {}, must be a text"),
        (entry("X", beyond=...), "needs beyond, a text"),
        (entry("X", rebuilt="yes"), "rebuilt is 'yes', must be true, or absent"),
        (entry("X", status="not-judged", verdict=..., tier=...), "needs remark, a text"),
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
        (entry("X", withdrawn=[GONE | {"said": " "}]), "withdrawn[0].said is ' ', must be a text"),
        (entry("X", says="![x](//h/y.png)"), "says is '![x](//h/y.png)', must be a text without"),
        (entry("X", where="$\\href{javascript:1}{x}$"), "must be a text without"),
        (entry("X", says="{{ title }}"), "says is '{{ title }}', must be a text without"),
        (entry("HOLDS"), "HOLDS: the id occurs twice"),
        ({"paper": "P"}, "needs an id"),
        ("text", "needs an id"),
    ],
)
def test_every_broken_rule_of_the_ledger_is_one_line(project, broken, message):
    write_ledger(project, [*LEDGER, broken, entry("Y", tier="none")])
    with pytest.raises(LedgerError) as caught:
        load_ledger(project / "book" / "claims.yml")
    lines = str(caught.value).splitlines()
    name = broken.get("id", "entry") if isinstance(broken, dict) else "entry"
    assert any(message in line and line.startswith(name) for line in lines)
    assert any(line.startswith("Y: tier is 'none'") for line in lines)  # the others go on
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
    for field in ("notebook", "status", "verdict", "tier"):
        assert getattr(one, field) == getattr(other, field)
    assert not one.is_erratum and one.heading is None


def test_only_a_pending_claim_may_have_no_page(project):
    fields = {"status": "pending", "verdict": ..., "tier": ..., "notebook": ...}
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


def test_dates_are_read_as_texts(project):
    with open(project / "book" / "claims.yml", "a") as file:
        file.write(
            "- {id: X, paper: P, where: w, kind: model, says: s, notebook: n, rests_on: [],\n"
        )
        file.write("  status: pending, withdrawn: [{date: 2026-01-02, said: a, reason: b}]}\n")
    withdrawn = load_ledger(project / "book" / "claims.yml")["X"].withdrawn
    assert withdrawn == [{"date": "2026-01-02", "said": "a", "reason": "b"}]


def test_finding_the_ledger(project, tmp_path, monkeypatch):
    assert find_ledger() == project / "book" / "claims.yml"
    deep = project / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert find_ledger() == project / "book" / "claims.yml"
    with pytest.raises(LedgerError, match="no ledger at"):
        load_ledger(tmp_path / "nowhere.yml")


# --- check ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GOOD)
def test_a_good_check_makes_a_record_and_a_card(project, shown, name):
    run(name)
    (bundle,) = shown
    record = bundle[claims.RECORD_MIME]
    assert tuple(record)[: len(claims.RECORD_FIELDS)] == claims.RECORD_FIELDS
    assert outcome(record) == OUTCOME[name] and record["applies"] is True
    assert f'id="claim-{name}"' in bundle["text/html"]
    assert "Not as recorded" not in bundle["text/plain"]
    json.dumps(record, allow_nan=False)


def test_numpy_values_become_plain(project, shown):
    row = {"n": np.int64(3), "x": np.array([1.0, 2.0]), "name": "inf", "none": None}
    report = {"loss": np.float64(0.1) + 0.2, "table": [row]}
    record = record_of(shown, "HOLDS", applies=np.bool_(True), report=report)
    assert record["applies"] is True
    assert record["report"]["loss"] == 0.1 + 0.2 and type(record["report"]["loss"]) is float
    assert record["report"]["table"] == [{"n": 3, "x": [1.0, 2.0], "name": "inf", "none": None}]
    assert type(record["report"]["table"][0]["n"]) is int


def of(loss, cell=1):
    return {"report": {"loss": loss, "table": [{"a": cell}]}}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"twin": {" ": 0.25}}, "every twin needs words"),
        ({"printed": None}, "needs printed="),
        ({"test": "loss"}, "needs a test, a function of one subject; got 'loss'"),
        ({"test": lambda scale: scale > 1}, "the test must return a finding .* got True"),
        ({"test": lambda scale: None}, "the test must return a finding .* got None"),
        ({"test": lambda x: at_least(f"scale {x}", x, 1)}, "the test measures different things"),
        (
            {"test": lambda x: at_least("scale", x * np.nan, 1)},
            "the test of printed failed: scale: needs numbers without NaN",
        ),
        ({"applies": None}, "applies must be True or False"),
        ({"applies": False}, "applies=False needs why="),
        ({"applies": False, "why": " "}, "applies=False needs why="),
        (of(np.nan), "loss must be a finite number .* got nan"),
        (of(1, np.inf), r"table\['a'\] must be a finite number .* got inf"),
        (of(True), "loss must be a finite number"),
        (of("1"), "loss must be a finite number"),
        (of(1j), "loss must be a finite number"),
    ],
)
def test_what_a_check_refuses(project, shown, fields, message):
    with pytest.raises(ClaimError, match=f"HOLDS: {message}"):
        run("HOLDS", **fields)
    assert shown == []


def test_a_record_keeps_the_ends_of_what_was_tried(project, shown):
    tried = {"n": np.array([[12, 3], [5, 7]]), "ε": 0.5, "T": [np.inf], "link": ["b", "a", "b"]}
    kept = {"n": [3, 12], "ε": [0.5, 0.5], "T": ["inf", "inf"], "link": ["b", "a"]}
    assert record_of(shown, "HOLDS", tried=tried)["tried"] == kept
    for wrong in ([], [np.nan], [True], [1j], None):
        with pytest.raises(ClaimError, match=r"HOLDS: tried\['n'\] needs numbers or words"):
            run("HOLDS", tried={"n": wrong})


def test_a_page_quotes_the_verdict_of_the_ledger(project, shown):
    with pytest.raises(ClaimError, match="NONE: is not in"):
        check("NONE", enough, printed=1.0, tier="exact", twin=TWINS)
    assert shown == []
    assert claims.verdict_of("HOLDS") == "holds (exact)"
    with pytest.raises(ClaimError, match="NONE: is not in"):
        claims.verdict_of("NONE")
    entries = [{"id": "HOLDS", "notebook": "01-one"}, {"id": "X-1", "notebook": "02-two"}, "no"]
    found = entries_of("02-two", "t(verdict_of('HOLDS'))", entries)
    assert [one["id"] for one in found] == ["HOLDS", "X-1"]
    assert not entries_of("03-three", "HOLDS", entries)


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("HOLDS", {"tier": "certified"}, "tier is certified, the ledger says exact"),
        ("HOLDS", {"twin": {}}, "has no control"),
        ("HOLDS", {"applies": False, "why": "w", "report": {}}, "does not report loss; does not"),
        ("LATER", {}, "is pending in the ledger but has a record"),
        ("SAME", {}, "is decided by LOOSE, so it cannot have a record"),
        ("HOLDS", {"printed": 0.5}, "holds is False, but the verdict holds needs True"),
    ],
)
def test_a_contradiction_is_shown_and_does_not_raise(project, shown, name, fields, message):
    check(name, enough, **{"tier": "exact", "twin": TWINS, **GOOD.get(name, ONE), **fields})
    for form in ("text/plain", "text/html"):
        assert f"Not as recorded in the ledger: {message}" in shown[0][form]


def test_outside_its_hypotheses_a_claim_is_neither_true_nor_false(project, shown):
    report = GOOD["HOLDS"]["report"]
    run("HOLDS", applies=np.bool_(False), why="needs epsilon < 1", printed=None, twin=None)
    record = shown[0][claims.RECORD_MIME]
    assert (record["applies"], record["holds"], record["why"]) == (False, None, "needs epsilon < 1")
    assert record["report"] == report
    assert "Not tested at these parameters: needs epsilon &lt; 1." in shown[0]["text/html"]
    assert "recorded as holds" in shown[0]["text/html"]
    assert "claim-holds" not in shown[0]["text/html"]
    # where it applies, the reason is not recorded
    assert record_of(shown, "HOLDS", applies=True, why="needs epsilon < 1")["why"] is None


# --- collect --------------------------------------------------------------------------------------


def test_good_records_give_no_problem_and_the_whole_file(project, records):
    assert problems_of(project, records.values()) == []
    collected = json.loads((project / "_build" / "claims.json").read_text())
    assert [record["id"] for record in collected] == sorted(GOOD)
    for record in collected:
        assert tuple(record)[: len(claims.RECORD_FIELDS)] == claims.RECORD_FIELDS
        assert record["parameters"] == {"seed": 1}
    assert collected[0]["notebook"] == "02-two"  # DEF


def test_the_file_is_the_same_bytes_in_any_order(project, records):
    records["HOLDS"]["report"]["loss"] = 0.1 + 0.2
    problems_of(project, records.values())
    first = (project / "_build" / "claims.json").read_bytes()
    problems_of(project, reversed(records.values()))
    assert (project / "_build" / "claims.json").read_bytes() == first
    assert b"0.30000000000000004" in first


@pytest.mark.parametrize(
    ("name", "change", "line"),
    [
        ("HOLDS", {"holds": False}, "holds is False, but the verdict holds needs True"),
        ("HOLDS", {"holds": None}, "holds is None, but the verdict holds needs True"),
        ("LOOSE", {"holds": False}, "holds is False, but the verdict holds-loosely needs True"),
        ("SHAPE", {"holds": False}, "holds is False, but the verdict shape-only needs True"),
        ("DEF", {"holds": False}, "holds is False, but the verdict definition needs True"),
        ("REFUTED", {"holds": True}, "holds is True, but the verdict refuted needs False"),
        ("REPAIRED", {"holds": True}, "holds is True, but the verdict false-repaired needs False"),
        ("REPAIRED", {"repaired": False}, "the repaired statement fails"),
        ("REPAIRED", {"repaired": None}, "the repaired statement was not tested"),
        ("REFUTED", {"repaired": False}, "the repaired statement fails"),
        ("HOLDS", {"tier": "statistical"}, "tier is statistical, the ledger says exact"),
        ("HOLDS", {"control": False}, "the control was not caught"),
        ("DEF", {"control": False}, "the control was not caught"),
        ("HOLDS", {"measured": ONLY_ONE_PART}, "no twin fails the part 'scale again' of the test"),
        ("REFUTED", {"control": None}, "has no control"),
        ("HOLDS", {"report": {"loss": 0.5}}, "does not report table"),
        ("DEF", {"report": {"x": 1.0}}, "reports x, which the ledger does not name"),
        ("HOLDS", {"applies": False, "report": {"loss": 0.5}}, "does not report table"),
        ("HOLDS", {"measured": []}, "keeps nothing that its test measured"),
        ("HOLDS", {"id": "NONE"}, "is not in the ledger"),
        ("HOLDS", {"id": "LATER"}, "is pending in the ledger but has a record"),
    ],
)
def test_every_contradiction_is_one_line(project, records, name, change, line):
    changed = records[name] | change
    page = PAGE_OF[name]
    for where in ("01-one", "02-two"):
        here = {key: record for key, record in records.items() if PAGE_OF[key] == where}
        write_page(project, where, (here | ({name: changed} if page == where else {})).values())
    problems = collect(project / "_build", project)
    mine = [problem for problem in problems if line in problem]
    assert len(mine) == 1, problems
    assert mine[0].startswith(f"{changed['id']} ({page}): ")
    if "id" not in change:
        assert problems == mine, "nothing else is wrong"


def test_missing_repeated_and_misplaced_records(project, records):
    without = [record for name, record in records.items() if name != "SHAPE"]
    assert problems_of(project, without) == ["SHAPE (02-two): is checked but has no record"]

    assert problems_of(project, [*records.values(), records["SHAPE"]]) == [
        "SHAPE (02-two, 02-two): is checked 2 times"
    ]

    told = [
        "SHAPE (01-one): the ledger says it is checked on 02-two",
        "SHAPE (01-one, 02-two): is checked 2 times",
    ]
    for some, wrong in ((without, told[:1]), (records.values(), told)):
        problems_of(project, some)
        write_page(project, "01-one", [records[n] for n in (*ON_THE_FIRST_PAGE, "SHAPE")])
        assert collect(project / "_build", project) == wrong


def test_a_claim_that_another_decides_has_no_record(project, records):
    bare = records["LOOSE"] | {"id": "SAME", "verdict": "holds-loosely"}
    assert problems_of(project, [*records.values(), bare]) == [
        "SAME (01-one): is decided by LOOSE, so it cannot have a record"
    ]


def test_a_page_that_never_ran_and_a_page_that_is_gone(project, records):
    problems_of(project, records.values())
    (project / "_build" / "executed" / "notebooks" / "02-two.ipynb").unlink()
    write_page(project, "99-gone", [records["HOLDS"]])  # no such page in notebooks/
    assert collect(project / "_build", project) == [
        f"{name} (02-two): is checked but has no record" for name in ("DEF", "REFUTED", "SHAPE")
    ]


def test_only_the_named_pages_are_held_to_account(project, records):
    bad = [record | {"control": False} for record in records.values() if record["id"] != "SHAPE"]
    assert len(problems_of(project, bad)) == len(GOOD)
    problems = collect(project / "_build", project, pages=["01-one"])
    assert [p.split()[0] for p in problems] == sorted(ON_THE_FIRST_PAGE)
    assert collect(project / "_build", project, pages=[]) == []
    problems = collect(project / "_build", project, pages=["02-two"])
    assert "SHAPE (02-two): is checked but has no record" in problems


def test_outside_its_hypotheses_nothing_is_contradicted(project, records):
    outside = {"applies": False, "holds": None, "control": None, "repaired": None, "why": "w"}
    outside["measured"] = []
    assert problems_of(project, [record | outside for record in records.values()]) == []


def test_only_a_readers_parameters_may_switch_a_claim_off(project, records):
    outside = {"applies": False, "holds": None, "control": None, "repaired": None, "why": "n > 3"}
    records["DEF"] |= outside | {"measured": []}

    def problems(parameters):
        for page in ("01-one", "02-two"):
            here = [record for name, record in records.items() if PAGE_OF[name] == page]
            write_page(project, page, here, parameters)
        return collect(project / "_build", project)

    complaint = "DEF (02-two): is not tested at the page's own parameters (n > 3)"
    assert problems({"n": 3}) == [complaint]
    assert problems({"n": 2}) == [complaint]  # a profile is the book's own word, too
    assert problems({"n": 4}) == []


def test_the_verdict_of_the_file_is_that_of_the_ledger_now(project, records):
    write_ledger(project, [LEDGER[0] | {"verdict": "holds-loosely", **ERRATUM}, *LEDGER[1:]])
    assert problems_of(project, records.values()) == []
    collected = json.loads((project / "_build" / "claims.json").read_text())
    assert {r["id"]: r["verdict"] for r in collected}["HOLDS"] == "holds-loosely"


# --- the book's own ledger ------------------------------------------------------------------------


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


class Report:
    """What a proof for every epsilon hands over."""

    def __init__(self, scale):
        self.violations = 0 if scale >= 1 else 7
        self.certificate = {"kind": "polynomials", "scale": scale} if scale >= 1 else None


def for_all(scale):
    return proved("cases", Report(scale))


def test_a_proof_for_every_epsilon_leaves_its_certificate(project, shown):
    proof = {"tier": "all-epsilon", "scope": "n = 3"}
    mended = entry("MENDED", verdict="false-repaired", **proof, **ERRATUM)
    write_ledger(project, [entry("ALL", **proof), mended])
    check("ALL", for_all, printed=2, twin={"half": 0.5}, tier="all-epsilon")
    check("MENDED", for_all, printed=0.5, repaired=4, twin={"half": 0.5}, tier="all-epsilon")
    records = [bundle[claims.RECORD_MIME] for bundle in shown]
    kept = [bundle[claims.CERTIFICATE_MIME] for bundle in shown]
    assert kept == [
        {"claim": "ALL", "kind": "polynomials", "scale": 2},
        {"claim": "MENDED", "kind": "polynomials", "scale": 4},
    ]
    assert [r["certificate"] for r in records] == [claims.digest(one) for one in kept]
    assert "proved for every ε" in shown[0]["text/html"]
    write_page(project, "01-one", [], bundles=shown)
    folder = project / "_build" / "certificates"
    folder.mkdir()
    (folder / "GONE.json").write_text("{}")
    collect(project / "_build", project, ["01-one"])
    assert sorted(path.name for path in folder.iterdir()) == ["ALL.json", "MENDED.json"]
    assert json.loads((folder / "ALL.json").read_text()) == kept[0]
    found = json.loads((project / "_build" / "claims.json").read_text())
    assert [r["certificate"] for r in found] == [r["certificate"] for r in records]


@pytest.mark.parametrize(("tier", "test"), [("all-epsilon", enough), ("exact", for_all)])
def test_the_tier_and_the_certificate_belong_together(project, shown, tier, test):
    with pytest.raises(ClaimError, match="only the tier all-epsilon has a certificate"):
        check("HOLDS", test, printed=2, twin={"half": 0.5}, tier=tier, report={})


class Near:
    """What a number with proved bounds hands over."""

    def __init__(self, centre):
        self.centre = centre

    def certificate(self):
        return {"centre": self.centre, "radius": "5E-4", "precision": 40, "steps": [[self.centre]]}


@pytest.mark.parametrize(("centre", "right"), [("0.500", True), ("0.501", False), ("0.499", False)])
def test_a_number_has_to_lie_in_its_ball(project, shown, centre, right):
    """One unit in the last digit of the ball, and its claim is contradicted."""
    numbers = {"loss": 0.5, "table": [{"a": 1}]}
    twin = {"half the noise": 0.5, "far too much": 9.0}
    options = {"printed": 2.0, "twin": twin, "tier": "exact", "report": numbers}
    check("HOLDS", enough, **options, balls={"loss": Near(centre)})
    (bundle,) = shown
    record, certificate = bundle[claims.RECORD_MIME], bundle[claims.CERTIFICATE_MIME]
    low, high = record["bounds"]["loss"]
    assert (float(low) + float(high)) / 2 == pytest.approx(float(centre))
    outside = f"not from {low} to {high}"
    assert record["certificate"] == claims.digest(certificate)
    assert certificate["kind"] == "balls" and [*certificate["numbers"]] == ["loss"]
    problems = claims.record_problems(record, load_ledger(find_ledger())["HOLDS"])
    assert problems == ([] if right else [f"loss is 0.5, {outside}"])
    assert f"from {low} to {high}" in bundle["text/html"]
    write_page(project, "01-one", [], bundles=shown)
    words = collect(project / "_build", project, ["01-one"])
    assert any(outside in word for word in words) is not right
    (found,) = json.loads((project / "_build" / "claims.json").read_text())
    assert found["bounds"] == record["bounds"]
    assert (project / "_build" / "certificates" / "HOLDS.json").is_file()


def test_balls_need_a_number_and_the_only_certificate(project, shown):
    write_ledger(project, [entry("ALL", tier="all-epsilon", scope="n = 3"), *LEDGER])
    with pytest.raises(ClaimError, match="has a certificate already"):
        twin = {"half": 0.5}
        balls = {"loss": Near("0.500")}
        check("ALL", for_all, printed=2, twin=twin, tier="all-epsilon", balls=balls)
    record = {"report": {"table": [{"a": 1}]}, "bounds": {"table": ["0", "1"]}}
    record |= {"tier": "exact", "applies": False}
    problems = claims.record_problems(record, load_ledger(find_ledger())["HOLDS"])
    assert any(words.startswith("table is [{'a': 1}], not from 0 to 1") for words in problems)


def test_one_test_has_one_certificate():
    with pytest.raises(ValueError, match="two certificates"):
        for_all(1) & proved("other cases", Report(1))
