"""`check` and `collect`: what each accepts, and one line for everything it refuses."""

import json

import numpy as np
import pytest

from dpbook.book import at_least, at_most, proved
from dpbook.book.ledger import check as claims
from dpbook.book.ledger.check import ClaimError, check
from dpbook.book.ledger.claims import find_ledger, load_ledger
from dpbook.book.run.collect import collect
from tests.book.entries import ERRATUM, LEDGER, entry, write_ledger

PAGE_OF = {item["id"]: item.get("notebook", "01-one") for item in LEDGER}
# What each check must say for the book to be right; every test below breaks one of these.
# The test of all of them: a noise scale of at least 1, and of at most 8.
GOOD = {
    "HOLDS": {"printed": 2.0, "report": {"loss": 0.5, "table": [{"a": 1}]}},
    "LOOSE": {"printed": 4.0},
    "REPAIRED": {"printed": 0.5, "repaired": 1.0},
    "REFUTED": {"printed": 0.5, "control": {"a sound scale": 2.0}},
    "PROOF": {"printed": 1.0, "evidence": "proof"},
    "EMPTY": {"printed": 1.0},
    "SHAPE": {"printed": 1.0, "evidence": "statistical"},
    "DEF": {"printed": 1.0, "control": None},
}
ONE = {"printed": 1.0}
ON_THE_FIRST_PAGE = ("HOLDS", "LOOSE", "REPAIRED", "PROOF", "EMPTY")
ONLY_ONE_PART = [
    {"subject": subject, "name": name, "passes": value >= 1, "parts": [
        {"what": "scale", "passes": value >= 1, "sign": "≥", "value": value, "limit": 1},
        {"what": "scale again", "passes": True, "sign": "≤", "value": value, "limit": 8},
    ]}
    for subject, name, value in (("printed", "", 2), ("control", "a quarter of the noise", 0.25))
]  # fmt: skip
CONTROLS = {"a quarter of the noise": 0.25, "noise without bound": 16.0}
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
    given = {"evidence": "exact", "control": CONTROLS, **GOOD[name], **fields}
    if name == "REFUTED" and test is None:  # its control must pass all that the test looks at
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
    record = record_of(shown, "HOLDS", control={"a quarter of the noise": 0.25})
    assert outcome(record) == (True, None, True)
    kept = ("slack", "entries", "stated")
    for one in record["measured"]:
        one["parts"] = [{k: v for k, v in p.items() if k not in kept} for p in one["parts"]]
    assert record["measured"] == ONLY_ONE_PART
    problems = claims.record_problems(record, own("HOLDS"))
    assert problems == ["no control fails the part 'scale again' of the test"]
    # a printed statement that fails shows as well as a control that a part can fail
    control = {"noise without bound": 16.0}
    assert (
        claims.record_problems(record_of(shown, "REPAIRED", control=control), own("REPAIRED")) == []
    )


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


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"test": lambda x: at_least(f"scale {x}", x, 1)}, "the test measures different things"),
        ({"applies": False}, "applies=False needs why="),
        ({"report": {"loss": np.nan}}, "report needs finite numbers"),
        ({"report": {"loss": 1, "table": [{"a": np.array([np.inf])}]}}, "report needs finite"),
        ({"report": {"loss": 1j}}, "report needs finite numbers"),
    ],
)
def test_what_a_check_refuses(project, shown, fields, message):
    with pytest.raises(ClaimError, match=f"HOLDS: {message}"):
        run("HOLDS", **fields)
    assert shown == []


def test_a_record_keeps_plain_numbers_and_the_ends_of_what_was_tried(project, shown):
    row = {"n": np.int64(3), "x": np.array([1.0, 2.0]), "name": "inf", "none": None}
    report = {"loss": np.float64(0.1) + 0.2, "table": [row]}
    tried = {"n": np.array([[12, 3], [5, 7]]), "ε": 0.5, "T": [np.inf], "link": ["b", "a", "b"]}
    record = record_of(shown, "HOLDS", applies=np.bool_(True), report=report, tried=tried)
    plain = {"n": 3, "x": [1.0, 2.0], "name": "inf", "none": None}
    assert record["report"] == {"loss": 0.1 + 0.2, "table": [plain]} and record["applies"] is True
    assert type(record["report"]["table"][0]["n"]) is int
    kept = {"n": [3, 12], "ε": [0.5, 0.5], "T": ["inf", "inf"], "link": ["b", "a"]}
    assert record["tried"] == kept


def test_a_page_quotes_the_verdict_of_the_ledger(project, shown):
    with pytest.raises(ClaimError, match="NONE: is not in"):
        check("NONE", enough, printed=1.0, evidence="exact", control=CONTROLS)
    assert shown == []
    assert claims.verdict_of("HOLDS") == "holds (exact)"
    with pytest.raises(ClaimError, match="NONE: is not in"):
        claims.verdict_of("NONE")


def test_a_contradiction_is_shown_and_does_not_raise(project, shown):
    run("HOLDS", printed=0.5)
    message = "holds is False, but the verdict holds needs True"
    for form in ("text/plain", "text/html"):
        assert f"Not as recorded in the ledger: {message}" in shown[0][form]


def test_outside_its_hypotheses_a_claim_is_neither_true_nor_false(project, shown):
    report = GOOD["HOLDS"]["report"]
    run("HOLDS", applies=np.bool_(False), why="needs epsilon < 1", printed=None, control=None)
    record = shown[0][claims.RECORD_MIME]
    assert (record["applies"], record["holds"], record["why"]) == (False, None, "needs epsilon < 1")
    assert record["report"] == report
    assert "Not tested at these parameters: needs epsilon &lt; 1." in shown[0]["text/html"]
    assert "recorded as holds" in shown[0]["text/html"]
    assert "claim-holds" not in shown[0]["text/html"]


# --- collect --------------------------------------------------------------------------------------


def test_good_records_give_no_problem_and_the_whole_file(project, records):
    path = project / "_build" / "claims.json"
    assert problems_of(project, reversed(records.values())) == []
    text = path.read_bytes()
    assert problems_of(project, records.values()) == [] and path.read_bytes() == text
    collected = json.loads(text)
    assert [record["id"] for record in collected] == sorted(GOOD)
    for record in collected:
        assert tuple(record)[: len(claims.RECORD_FIELDS)] == claims.RECORD_FIELDS
        assert record["parameters"] == {"seed": 1}
    assert collected[0]["notebook"] == "02-two"  # DEF


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
        ("HOLDS", {"evidence": "statistical"}, "evidence is statistical, the ledger says exact"),
        ("HOLDS", {"control": False}, "the control was not caught"),
        ("DEF", {"control": False}, "the control was not caught"),
        (
            "HOLDS",
            {"measured": ONLY_ONE_PART},
            "no control fails the part 'scale again' of the test",
        ),
        ("REFUTED", {"control": None}, "has no control"),
        ("HOLDS", {"report": {"loss": 0.5}}, "does not report table"),
        ("DEF", {"report": {"x": 1.0}}, "reports x, which the ledger does not name"),
        ("HOLDS", {"applies": False, "report": {"loss": 0.5}}, "does not report table"),
        ("HOLDS", {"measured": []}, "keeps nothing that its test measured"),
        ("HOLDS", {"id": "NONE"}, "is not in the ledger"),
        ("HOLDS", {"id": "LATER"}, "is pending in the ledger but has a record"),
        ("LOOSE", {"id": "SAME"}, "is decided by LOOSE, so it cannot have a record"),
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


class Report:
    """What a proof for every epsilon hands over."""

    def __init__(self, scale):
        self.violations = 0 if scale >= 1 else 7
        self.certificate = {"kind": "laws", "pairs": [[0, 1, 0, 1]]} if scale >= 1 else None


def for_all(scale):
    return proved("cases", Report(scale), mechanism="a coin", relation="its side", n=scale)


def test_a_proof_for_every_epsilon_leaves_its_certificate(project, shown):
    proof = {"evidence": "all-epsilon", "scope": "n = 3"}
    mended = entry("MENDED", verdict="false-repaired", **proof, **ERRATUM)
    write_ledger(project, [entry("ALL", **proof), mended])
    check("ALL", for_all, printed=2, control={"half": 0.5}, evidence="all-epsilon")
    check("MENDED", for_all, printed=0.5, repaired=4, control={"half": 0.5}, evidence="all-epsilon")
    records = [bundle[claims.RECORD_MIME] for bundle in shown]
    kept = [bundle[claims.CERTIFICATE_MIME] for bundle in shown]
    about = {"kind": "laws", "pairs": [[0, 1, 0, 1]], "mechanism": "a coin", "relation": "its side"}
    assert kept == [
        {"claim": "ALL", **about, "size": {"n": 2}},
        {"claim": "MENDED", **about, "size": {"n": 4}},
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


@pytest.mark.parametrize(("evidence", "test"), [("all-epsilon", enough), ("exact", for_all)])
def test_the_tier_and_the_certificate_belong_together(project, shown, evidence, test):
    with pytest.raises(ClaimError, match="only the level all-epsilon has a certificate"):
        check("HOLDS", test, printed=2, control={"half": 0.5}, evidence=evidence, report={})


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
    control = {"half the noise": 0.5, "far too much": 9.0}
    options = {"printed": 2.0, "control": control, "evidence": "exact", "report": numbers}
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
    write_ledger(project, [entry("ALL", evidence="all-epsilon", scope="n = 3"), *LEDGER])
    with pytest.raises(ClaimError, match="has a certificate already"):
        control = {"half": 0.5}
        balls = {"loss": Near("0.500")}
        check("ALL", for_all, printed=2, control=control, evidence="all-epsilon", balls=balls)
    record = {"report": {"table": [{"a": 1}]}, "bounds": {"table": ["0", "1"]}}
    record |= {"evidence": "exact", "applies": False}
    problems = claims.record_problems(record, load_ledger(find_ledger())["HOLDS"])
    assert any(words.startswith("table is [{'a': 1}], not from 0 to 1") for words in problems)


def test_one_test_has_one_certificate():
    with pytest.raises(ValueError, match="two certificates"):
        for_all(1) & proved("other cases", Report(1), mechanism="a coin", relation="its side")
