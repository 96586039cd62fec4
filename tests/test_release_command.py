"""The command ``dpbook rank``, outside of any book: what it prints, writes and spends."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from errno import ENOSPC, EPERM
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from time import monotonic

import numpy as np
import pytest

from dpbook import __version__ as VERSION
from dpbook.rank import Answers, Promise, Release, command, rank_privately, release
from dpbook.rank import ledger as ledgers
from dpbook.rank.command import main
from dpbook.rank.ledger import Ledger, charge, exactly, fingerprint, fraction_of, settle
from dpbook.rank.noise import Noise
from dpbook.rank.report import page

Capture, Patch = pytest.CaptureFixture[str], pytest.MonkeyPatch
ROOT = Path(__file__).resolve().parents[1]
DATA = Answers("counts", ("a", "b"), np.array([[0, 9], [1, 0]]))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: Patch) -> Path:
    """A folder with answers, far from any book."""
    rows = [f"secret{k},tea,mate\n" for k in range(37)] + ["secret1,mate,coffee\n"]
    (tmp_path / "answers.csv").write_text("person,winner,loser\n" + "".join(rows))
    (tmp_path / "counts.csv").write_text("winner,loser,count\na,b,70\nb,a,30\n")
    (tmp_path / "orders.csv").write_text("person,ranking\np,a > b > c\nq,b > a > c\n")
    with open(tmp_path / "zeros", "wb") as file:  # of /dev/zero there would be no end
        file.truncate(2**24 + 1)
    monkeypatch.chdir(tmp_path)
    return tmp_path


ITEMS = "answers.csv --items tea,mate,coffee"
PERSON = f"{ITEMS} --protect person --epsilon 1 --max-answers 20"
COUNTS = "counts.csv --items a,b --protect comparison --epsilon 1"
ORDERS = "orders.csv --items a,b,c --epsilon 1"


def test_a_release(here: Path, capsys: Capture) -> None:
    assert main(f"{PERSON} --out ranking.csv --ledger spent.jsonl --people 50".split()) == 0
    shown = capsys.readouterr()
    assert not shown.err
    head, *rows = shown.out.split("\n\n")[0].splitlines()
    names = ["rank", "item", "net wins with noise", "rank without noise", "rank in all people"]
    assert [name.strip() for name in head.split("  ") if name] == names
    ends = {head.index(name) + len(name) for name in names[2:]}
    assert all(row[end - 1].isdigit() for row in rows for end in ends)  # aligned at the right
    lines = shown.out.split("\n\n")[1].splitlines()
    starts = "Protected: ", "Not protected: ", "By spent.jsonl: ", "Written: ranking.csv, ranking.p"
    assert all(map(str.startswith, lines, starts)) and len(lines) == 4
    with open("ranking.csv", newline="") as file:
        table = list(csv.reader(file))
    told = json.loads((here / "ranking.privacy.json").read_text())
    assert table[0][:3] == names[:3] and table[0][-1] == "worst rank in all people"
    assert [row[1] for row in table[1:]] == [row["item"] for row in told["ranking"]]
    assert [int(row[2]) for row in table[1:]] == sorted(told["released"], reverse=True)
    facts = {"epsilon": "1", "delta": "0", "relation": "replace", "protect": "person", "people": 50}
    facts |= {"max_answers": 20, "repeats": "one", "vouched": False, "items_from_data": False}
    assert told | facts | {"statistic": "net", "sampler": "book", "version": VERSION} == told
    # One of three items wins at most 2 comparisons against the others, in one answer to each pair;
    # and what a person answered is taken away and replaced.
    assert told["scale"] == {"root": "4", "zonotope": "2"}[told["noise"]] and told["width"] > 0
    spent = [json.loads(line) for line in (here / "spent.jsonl").read_text().splitlines()]
    assert told["id"] == spent[0]["id"] and told["statement"].count("Not protected") == 1


def test_success_says_nothing_of_the_data(here: Path, capsys: Capture) -> None:
    """No person, and no number that the file determines: 37, 38, 36 lines, people, wins."""
    (here / "answers.csv").write_text((here / "answers.csv").read_text() + "secret5,tea,secret\n")
    assert main([*PERSON.split(), "--max-answers", "1", "--out", "out.csv"]) == 0
    shown = capsys.readouterr()
    private = json.loads((here / "out.privacy.json").read_text())
    assert "secret" not in shown.out + (here / "out.csv").read_text() + json.dumps(private)
    text = private["statement"] + shown.out.split("\n\n")[1]
    assert not {"36", "37", "38"} & set(text.replace(",", " ").replace(". ", " ").split())
    assert not shown.err


def test_items_from_the_data_are_said_to_be_unprotected(here: Path, capsys: Capture) -> None:
    """One answer of one person puts a name on the list, whatever epsilon is: nobody may miss it."""
    given = "answers.csv --protect person --epsilon 0.01 --max-answers 1"
    assert main(given.split()) == 2
    assert "--items, --items-file, or --items-from-data, which publishes" in capsys.readouterr().err
    assert main(f"{given} --items-from-data --out out.csv --report out.html".split()) == 0
    told = json.loads((here / "out.privacy.json").read_text())
    assert told["items_from_data"] is True
    for text in (capsys.readouterr().out, told["statement"], (here / "out.html").read_text()):
        assert "the list of items" in text.split("rotect", 1)[1]
    assert "--items-from-data" in (here / "out.html").read_text()


def test_one_row_can_neither_stop_nor_steer_a_release(here: Path, capsys: Capture) -> None:
    rows = "secret1,tea,mate\nsecret2,tie,mate\nsecret3,,mate\nsecret4,tea,cocoa\nsecret5,tea,tea\n"
    (here / "answers.csv").write_text((here / "answers.csv").read_text() + rows)
    assert main(PERSON.split()) == 0
    assert main([*PERSON.split(), "--check"]) == 0
    shown = capsys.readouterr().out
    assert "1 x a blank (answers.csv, line 42" in shown and "line 43: 'cocoa'" in shown
    for more in ([], ["--check"]):
        assert main([*PERSON.split(), "--bad", "refuse", *more]) == 2
        error = capsys.readouterr().err
        assert error.startswith("dpbook: for your eyes only: ") and "line 42" in error


def test_the_check_is_for_the_keeper(here: Path, capsys: Capture) -> None:
    (here / "answers.csv").write_text((here / "answers.csv").read_text() + "s,Tea,mate\n")
    check = "--protect person --max-answers 1 --check"
    assert main(f"answers.csv --items-from-data {check}".split()) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("For your eyes only") and "noise" not in shown
    assert "comparisons: 39 answers on 4 items\n38 people, 1 to 2 answers each\n" in shown
    assert "1 people gave more than 1: 1 answers would be left out\n" in shown
    assert "case or blanks: 'tea' and 'Tea'" in shown
    assert "how many people name each: Tea 1, coffee 1, mate 38, tea 37\n" in shown
    assert "Named by fewer than 10 people: Tea 1, coffee 1\n" in shown
    assert shown.endswith("This can be ranked with an --epsilon.\n")
    assert main([*COUNTS.split(), "--check"]) == 0
    shown = capsys.readouterr().out
    assert "counts: 100 answers on 2 items\n" in shown and "answers name each: a 100, b" in shown
    assert "of scale 2.\nIt moves leads by up to " in shown and "can be ranked.\n" in shown
    assert "best beats worst" not in shown
    assert main([*PERSON.split(), "--people", "38", "--check"]) == 0  # if that is public
    assert "best beats worst" in capsys.readouterr().out


RANGE = "allowed is a number from 1e-6 to 50"
REFUSED = {
    "none.csv --items a,b --protect person --epsilon 1 --max-answers 2": "none.csv: No such file",
    ". --items a,b --protect comparison --epsilon 1": ".: Is a directory",
    f"{ITEMS} --protect person --epsilon 1": "--max-answers is missing: allowed is a whole",
    f"{ITEMS} --protect comparison --epsilon 0": f"--epsilon = '0': {RANGE}",
    f"{ITEMS} --protect comparison --epsilon inf": f"--epsilon = 'inf': {RANGE}",
    f"{ITEMS} --protect comparison --epsilon 1e99999999": f"--epsilon = '1e99999999': {RANGE}",
    f"{ITEMS} --protect comparison --epsilon 1e-99999999": f"--epsilon = '1e-99999999': {RANGE}",
    f"{PERSON} --delta 1e-99999999": "--delta = '1e-99999999': allowed is 0, or",
    f"{ITEMS} --protect comparison --epsilon 1 --max-answers 3": "--max-answers = 3 with --protect",
    f"{ORDERS} --protect comparison": "'comparison' with rankings: allowed is 'person'",
    f"{COUNTS} --protect person --max-answers 3": "is 'comparison', or --vouch",
    f"{COUNTS} --only top:2": "--only = 2: allowed is an integer from 1 to 1",
    "counts.csv --protect comparison --epsilon 1": "items: allowed is --items, --items-file, or",
    "counts.csv --items a --protect comparison --epsilon 1": "items has 1 names: allowed are 2",
    "counts.csv --items a,b --items-file c --protect comparison --epsilon 1": "are both given",
    "counts.csv --items-file zeros --protect comparison --epsilon 1": "zeros: longer than allowed",
    f"{COUNTS} --out answers.csv": "answers.csv exists: allowed is a new file",
    f"{COUNTS} --report answers.csv": "answers.csv exists: allowed is a new file",
    f"{COUNTS} --out no/x.csv": "no is no folder: allowed is one",
    f"{COUNTS} --out spent.jsonl": "spent.jsonl is named twice: allowed are different names",
    f"{COUNTS} --out x.csv --report x.privacy.json": "x.privacy.json is named twice",
    f"{COUNTS} --out counts.csv --force": "counts.csv is named twice",
    f"counts.csv {COUNTS}": "counts.csv is named twice",
    f"{COUNTS} --budget 1/2": "--budget = 0.5, of which 0 is spent, and this release takes 1",
    f"{COUNTS} --budget 1e99999999": "--budget = 1e99999999: allowed is a number above 0",
    f"{COUNTS} --columns winner": "--columns 'winner': allowed is as winner=Gewinner",
}


@pytest.mark.parametrize("given", REFUSED)
@pytest.mark.parametrize("more", ["", "--check"])
def test_refused_in_one_sentence(here: Path, capsys: Capture, given: str, more: str) -> None:
    """And the check refuses what a release would refuse, at once."""
    before, start = sorted(os.listdir(here)), monotonic()
    assert main([*given.split(), *more.split(), "--ledger", "spent.jsonl"]) == 2
    shown = capsys.readouterr()
    assert not shown.out and REFUSED[given] in shown.err
    assert shown.err.startswith("dpbook: ") and shown.err.count("\n") == 1
    kept = [name for name in sorted(os.listdir(here)) if name != "spent.jsonl"]
    assert kept == before and monotonic() - start < 5  # nothing is released, written or charged
    assert not (here / "spent.jsonl").exists() or not (here / "spent.jsonl").read_text()


NO_PLAN = {
    "counts.csv --protect person --max-answers 2": "--plan: allowed is no FILE, but --people",
    "--protect person": "--max-answers is missing: allowed is a whole number",
    "--plan rankings --protect comparison": "'comparison' with rankings: allowed is 'person'",
    "--plan counts --protect person --max-answers 2": "is 'comparison', or --vouch",
    "--protect person --max-answers 2 --only top:3": "--only = 3: allowed is an integer",
}


@pytest.mark.parametrize("given", NO_PLAN)
def test_no_plan_for_what_a_release_refuses(here: Path, capsys: Capture, given: str) -> None:
    assert main(f"--items 3 --people 9 --epsilon 1 --plan comparisons {given}".split()) == 2
    shown = capsys.readouterr()
    assert NO_PLAN[given] in shown.err and not shown.out


def test_somebodys_word_is_on_record(here: Path) -> None:
    """Comparisons without persons, as well as counts."""
    (here / "answers.csv").write_text("winner,loser\ntea,mate\n")
    for k, given in enumerate((PERSON, f"{COUNTS} --protect person --max-answers 3")):
        assert main(f"{given} --vouch --out {k}.csv --report {k}.html".split()) == 0
        told = json.loads((here / f"{k}.privacy.json").read_text())
        assert told["vouched"] is True and "--vouch" in (here / f"{k}.html").read_text()


def test_an_epsilon_or_a_ledger_may_be_missing(here: Path, capsys: Capture) -> None:
    assert main([*ITEMS.split(), "--protect", "comparison"]) == 2
    assert "--epsilon is missing: allowed is a number" in capsys.readouterr().err
    assert main([*COUNTS.split(), "--budget", "3"]) == 2
    assert "--budget = 3: allowed is with --ledger" in capsys.readouterr().err


def test_rows_that_are_quoted_are_for_the_keeper(here: Path, capsys: Capture) -> None:
    """What goes to a mailbox or a log says so, and gives a terminal no orders."""
    (here / "answers.csv").write_text('person,winner,loser\nsecret,"tea\x1b[2J,mate\n')
    assert main(PERSON.split()) == 2
    error = capsys.readouterr().err
    assert error.startswith("dpbook: for your eyes only: answers.csv") and "\x1b" not in error
    assert main([*PERSON.split(), "--items", "tea,\x1b]0;x\x07"]) == 2
    error = capsys.readouterr().err
    assert "eyes" not in error and "\x1b" not in error


def test_items_from_a_file_and_names_with_commas(here: Path, capsys: Capture) -> None:
    (here / "items.txt").write_bytes("\ufefftea\r\nmate\r\n\r\ncoffee\r\nwater\r\n".encode())
    given = "answers.csv --protect comparison --epsilon 1 --items-file items.txt --out r.csv"
    assert main(given.split()) == 0
    assert json.loads((here / "r.privacy.json").read_text())["items"][3] == "water"
    (here / "items.txt").write_bytes(b"t\xe9\n")
    assert main(given.replace("r.csv", "s.csv").split()) == 2
    assert "items.txt: byte 2 is not UTF-8" in capsys.readouterr().err
    (here / "counts.csv").write_text('Sieger;Verlierer;n;x\n"a, b";c;70;1\n')
    given = "counts.csv --protect comparison --epsilon 1 --columns"
    columns = "winner=Sieger,loser=Verlierer,count=n"
    assert main([*given.split(), columns, "--items", '"a, b",c']) == 0
    assert "a, b" in capsys.readouterr().out


ALONE = """
import sys
tools = "yaml papermill jinja2 nbformat sphinx matplotlib opendp duckdb dask pandas"
sys.modules |= dict.fromkeys(tools.split())
from dpbook.__main__ import main
sys.exit(main())
"""


def run(here: Path, code: str, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more}
    given = [sys.executable, "-c", code, *words]
    return subprocess.run(given, cwd=here, env=environment, capture_output=True, text=True)


def test_it_needs_neither_a_book_nor_its_tools(here: Path) -> None:
    """As installed with ``pip install .``: everything of the extra `book` is refused."""
    done = run(here, ALONE, "rank", *PERSON.split(), "--report", "r.html")
    assert done.returncode == 0, done.stderr
    assert "Not protected" in done.stdout


RUN = "import sys; from dpbook.rank.command import main; sys.exit(main(sys.argv[1:]))"


def test_a_release_is_not_lost_for_a_letter(here: Path) -> None:
    """A terminal, or a pipe, that has no sign for a name."""
    (here / "counts.csv").write_text("winner,loser,count\nb,李雷,70\n", encoding="utf-8")
    words = f"{COUNTS} --ledger spent.jsonl --items b,李雷".split()
    done = run(here, RUN, *words, PYTHONIOENCODING="ascii", PYTHONUTF8="1")
    assert (done.returncode, done.stderr) == (0, "") and "??" in done.stdout


@pytest.mark.parametrize("items", [2, 4000])
def test_a_reader_who_goes_away_is_no_failure(here: Path, items: int) -> None:
    """As for `| head`: output that fits into a buffer, and more than that."""
    rows = "".join(f"a{k},b,1\n" for k in range(items - 1))
    (here / "many.csv").write_text("winner,loser,count\n" + rows)
    words = "many.csv --items-from-data --protect comparison --epsilon 1 --ledger spent.jsonl"
    words = [sys.executable, "-c", RUN, *words.split(), "--out", "out.csv"]
    how = {"env": {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""}}
    with subprocess.Popen(words, stdout=-1, stderr=-1, **how) as child:
        child.stdout.close()
        said = child.stderr.read()
    assert (said, child.returncode) == (b"", 141)
    # it is spent all the same, and written
    assert (here / "spent.jsonl").read_text().count("data_sha256") == 1
    assert len((here / "out.csv").read_text().splitlines()) == items + 1


def full(*_: object, **__: object) -> None:
    raise OSError(ENOSPC, "No space left on device")


def test_what_cannot_be_written_is_shown(here: Path, capsys: Capture, monkeypatch: Patch) -> None:
    """A disk that is full when the epsilon has been spent."""
    monkeypatch.setattr(Path, "write_text", full)
    assert main([*COUNTS.split(), "--out", "out.csv", "--ledger", "spent.jsonl"]) == 1
    shown = capsys.readouterr()
    assert shown.err == "dpbook: [Errno 28] No space left on device\n"
    told = json.loads(shown.out[shown.out.index("{") :])
    assert f"   1  {told['ranking'][0]['item']}  " in shown.out and told["released"]
    assert not {"out.csv", "out.privacy.json"} & set(os.listdir(here))


@pytest.mark.parametrize("option", ["--out", "--report"])
def test_a_place_is_tried_before_anything_is_spent(
    here: Path, capsys: Capture, monkeypatch: Patch, option: str
) -> None:
    monkeypatch.setattr(Path, "write_bytes", full)
    assert main([*COUNTS.split(), option, "out.csv", "--ledger", "spent.jsonl"]) == 2
    words = ". takes no file (No space left on device): allowed is a folder that does"
    assert capsys.readouterr().err == f"dpbook: {words}\n"
    assert not (here / "spent.jsonl").exists() and not list(here.glob(".*"))


def test_a_disk_without_hard_links(here: Path, monkeypatch: Patch) -> None:
    def link(part: Path, target: Path) -> None:
        raise OSError(EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    assert main([*COUNTS.split(), "--out", "out.csv"]) == 0
    assert (here / "out.csv").read_text().startswith("rank,item") and not list(here.glob(".*"))
    parts, taken = here / "part", here / "counts.csv"
    parts.write_text("other")
    with pytest.raises(FileExistsError):
        release._link(parts, taken)
    assert taken.read_text().startswith("winner")


def test_the_encoding_is_heeded(here: Path) -> None:
    """At epsilon 50 noise is below 20."""
    rows = "person,winner,loser\n" + "".join(f"{k},maté,tea\n" for k in range(900))
    (here / "latin.csv").write_bytes(rows.encode("cp1252"))
    given = "latin.csv --items maté,tea --protect person --max-answers 1 --epsilon 50 --out out.csv"
    assert main([*given.split(), "--encoding", "cp1252"]) == 0
    assert json.loads((here / "out.privacy.json").read_text())["released"][0] > 880


def test_an_engine_reads_what_it_can(here: Path, capsys: Capture) -> None:
    """Parquet is read by an engine, where it is installed; at epsilon 50 noise is below 20."""
    duckdb = pytest.importorskip("duckdb")
    rows = "SELECT k // 2 AS person, 'tea' AS winner, 'mate' AS loser FROM range(900) r(k)"
    duckdb.sql(f"COPY ({rows}) TO 'answers.parquet'")
    given = "answers.parquet --items tea,mate --protect person --max-answers 1 --epsilon 50"
    assert main([*given.split(), "--out", "out.csv", "--repeats", "keep"]) == 0
    told = json.loads((here / "out.privacy.json").read_text())
    assert abs(told["released"][0] - 450) < 20
    assert main([*given.split(), "--repeats", "keep", "--bad", "refuse"]) == 0  # row by row


@pytest.mark.parametrize("name", ["out.csv", "out.privacy.json"])
def test_a_file_that_comes_meanwhile_is_kept(here: Path, monkeypatch: Patch, name: str) -> None:
    """Between the look and the writing somebody else has written."""
    found, look = rank_privately(DATA, epsilon=1, protect="comparison"), release.out_files

    def looked(*given: Path, **how: object) -> object:
        targets = look(*given, **how)
        (here / name).write_text("another's")
        return targets

    with monkeypatch.context() as replaced, pytest.raises(FileExistsError):
        replaced.setattr(release, "out_files", looked)
        found.write(here / "out.csv")
    assert (here / name).read_text() == "another's" and not list(here.glob(".*"))
    found.write(here / "out.csv", force=True)
    assert (here / "out.csv").read_text() == found.csv()
    rng = np.random.default_rng(1)
    shown = rank_privately(DATA, epsilon=1, protect="comparison", rng=rng)
    with pytest.raises(ValueError, match="sampler = 'repeatable': allowed are 'book', 'opendp'"):
        shown.write(here / "other.csv")
    assert not (here / "other.csv").exists()


def test_a_bar_for_those_who_wait(here: Path, capsys: Capture, monkeypatch: Patch) -> None:
    assert command._progress() is None  # nobody sees it
    times = iter([0.0, 1.0, 2.5, 2.6, 3.0])
    monkeypatch.setattr(command, "monotonic", lambda: next(times))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    show = command._progress()
    assert show is not None
    for share in (0.2, 0.5, 0.501, 1.0):
        show(share)
    said = capsys.readouterr().err
    assert said.count("\r") == 2 and "50 %" in said and said.endswith("100 %\n")


def named(*names: str, people: int | None = None) -> Release:
    """A release with such items, whose noise leaves some ranks open."""
    answers = Answers("rankings", names, np.tile(np.arange(len(names)), (100, 1)), np.arange(100))
    return rank_privately(answers, epsilon=10, protect="person", people=people)


def test_names_are_neither_formulas_nor_orders() -> None:
    """Spreadsheets compute cells that begin so; a browser, or a terminal, obeys others."""
    names = ("=1+2", "+1", "-1", "@x", "a=b", "<script>x</script>", "b&")
    found = named(*names)
    cells = {row[1] for row in csv.reader(found.csv().splitlines()[1:])}
    assert cells == {"'=1+2", "'+1", "'-1", "'@x", "a=b", "<script>x</script>", "b&"}
    numbers = [row[2] for row in csv.reader(found.csv().splitlines()[1:])]
    assert sum(map(int, numbers)) == sum(found.released.tolist()) and min(numbers)[0] == "-"
    html = page(found)
    assert "<script" not in html and "&lt;script&gt;" in html and "b&amp;" in html
    assert release.plain("a\x1b[2J\u202e\x9b") == "a\ufffd[2J\ufffd\ufffd"


def test_a_report_for_everybody(tmp_path: Path) -> None:
    """In light and dark, on a phone too, without another host or a script, and with axe at zero."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    browsing = pytest.importorskip("tests.book.browsing")
    if browsing.BROWSER is None:
        pytest.skip("no Chromium")
    found = named("tea", "a" * 60, *(f"item {k}" for k in range(28)), people=100)
    found.write(None, report=tmp_path / "r.html")
    with browsing.chromium.chromium(browsing.BROWSER) as browser:
        for width, scheme in ((390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")):
            seen = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
            watch = browsing.go(seen, f"file://{tmp_path}/r.html")
            assert seen.evaluate("document.documentElement.scrollWidth") == width
            assert axe.run(seen).response["violations"] == [] and watch.problems == []
            box = "[...document.querySelectorAll('.{}')].map(e => e.getBoundingClientRect().width)"
            bars, whole = (np.array(seen.evaluate(box.format(of))) for of in ("noise", "bar"))
            spans = [row.worst - row.best + 1 for row in found.ranking]
            assert len(set(spans)) > 1 and np.allclose(30 * bars / whole, spans, rtol=0.05)
            assert seen.locator("script").count() == 0 and seen.locator(".all").count() == 30
            dark = seen.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (dark == "rgb(255, 255, 255)") == (scheme == "light")
    for words in (found.statement, "--protect person --epsilon 10 --max-answers 1", "--items 30"):
        assert words in (tmp_path / "r.html").read_text()


def test_every_example_of_the_help_runs(here: Path, capsys: Capture) -> None:
    """With files as it describes them, each with the line that it shows."""
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    (here / "items.txt").write_text("tea\ncoffee\nmate\nmaté\n", encoding="utf-8")
    (here / "survey.csv").write_text("person,winner,loser\nann,tea,coffee\n")
    form = "E-Mail;Links;Rechts;Besser;x\nann;tea;maté;Unentschieden;\nbob;maté;tea;maté;\n"
    (here / "forms.csv").write_bytes(form.encode("cp1252"))
    wide = "ResponseId,Date,Rank these [coffee],Rank these [tea],Rank these [mate]\n1,2,3,1,2\n"
    (here / "form.csv").write_text(wide)
    (here / "rankings.csv").write_text("person,ranking\nann,tea > coffee = mate\n")
    (here / "counts.csv").write_text("winner,loser,count\ntea,coffee,37\n")
    lines = said.split("examples:")[1].replace("\\\n", " ").splitlines()
    examples = [line.split()[2:] for line in lines if "dpbook rank" in line]
    assert len(examples) == 8
    for words in examples:
        assert main(words) == 0, words
    assert main([*next(words for words in examples if "forms.csv" in words), "--check"]) == 0
    told = capsys.readouterr().out
    assert "best beats worst" in told and "comparisons: 2 answers on 4 items" in told
    # each layout that the help shows is read
    layouts = re.findall(r"^  ((?:person|winner),\S+) +(\S.*?)  ", said, re.MULTILINE)
    assert len(layouts) == 6
    for head, row in layouts:
        Path("one.csv").write_text(f"{head}\n{row}\n")
        protect = "comparison" if "count" in head else "person --max-answers 1"
        given = f"one.csv --items tea,coffee,mate --epsilon 1 --protect {protect} --check"
        assert main(given.split()) == 0
        assert "These rows would be left out" not in capsys.readouterr().out


# The ledger


@pytest.mark.parametrize("device", ["/dev/null", "."])
def test_a_ledger_is_a_file(here: Path, capsys: Capture, device: str) -> None:
    """A device may have no end, as /dev/full; nothing is drawn."""
    assert main([*COUNTS.split(), "--ledger", device]) == 2
    words = f"{device} is no file: allowed is a ledger that this command wrote"
    assert capsys.readouterr().err == f"dpbook: {words}\n"


def promised(protect: str, epsilon: object, **more: object) -> Promise:
    """Rankings of three items, or comparisons."""
    limit = 5 if protect == "person" else None
    return Promise("comparisons", 3, protect, epsilon, max_answers=limit, **more)  # type: ignore


def test_the_ledger_adds_up_exactly(tmp_path: Path) -> None:
    """A release for persons protects comparisons too; each answer adds to what a person loses."""
    path = tmp_path / "spent.jsonl"
    for _ in range(10):
        found = rank_privately(DATA, epsilon="0.1", protect="comparison", ledger=path).spent
    assert (found.comparison.count, found.comparison.epsilon, found.person.count) == (10, 1, 0)
    spent = charge(path, promised("person", "1/3"))
    assert (spent.person.count, spent.person.epsilon) == (1, Fraction(1, 3))
    assert (spent.comparison.count, spent.comparison.epsilon) == (11, Fraction(4, 3))
    said = "1/3, in 1 release to protect a person; 4/3, in 11 releases to protect one comparison"
    assert f"{said}; a person lost up to 1 more for each answer" in str(spent)
    spent = charge(path, promised("person", "1.0000004"))
    assert spent.person.epsilon == Fraction("1.0000004") + Fraction(1, 3)


def test_what_is_there_or_not_counts_twice(tmp_path: Path) -> None:
    """To replace is to take away and to add: 2 epsilon, and delta + e^epsilon delta."""
    path, how = tmp_path / "spent.jsonl", {"relation": "add_remove", "delta": "1e-6"}
    spent = charge(path, promised("person", 2, **how))
    assert spent.person.epsilon == spent.comparison.epsilon == 4
    assert float(spent.person.delta) == pytest.approx(1e-6 * (1 + np.exp(2)))
    assert spent.person.delta > Fraction(1e-6 * (1 + np.exp(2)))
    assert str(spent).endswith(": 4 and delta 8.5e-06 at most, in 1 release to protect a person")


def test_numbers_are_said_exactly() -> None:
    said = {"3": "3", "1/3": "1/3", "1.0000004": "1.0000004", "0.05": "0.05", "20": "20", "0": "0"}
    assert {text: exactly(Fraction(text)) for text in said} == said
    for text in ("1e100", "0e-99999999", "1e99999999", "9" * 81, "1e1_000", "nan", "x"):
        with pytest.raises(ValueError):
            fraction_of(text)
    assert fraction_of("25e-2") == Fraction(1, 4)


def test_a_release_can_be_traced(here: Path) -> None:
    """Of which data, of what, by which version; and the digest of what came of it."""
    assert main(f"{COUNTS} --ledger spent.jsonl --out out.csv --only first".split()) == 0
    lines = [json.loads(line) for line in (here / "spent.jsonl").read_text().splitlines()]
    data, output = (
        sha256(Path(name).read_bytes()).hexdigest() for name in ("counts.csv", "out.csv")
    )
    assert lines[0]["data_sha256"] == data
    told = {"protect": "comparison", "relation": "replace", "epsilon": "1", "delta": "0"}
    told |= {"statistic": "net", "only": 1, "max_answers": None, "items": 2, "version": VERSION}
    assert lines[0] | told == lines[0]
    assert lines[1:] == [{"id": lines[0]["id"], "output_sha256": output}]
    os.mkfifo(here / "pipe")
    assert fingerprint(["counts.csv"]) == data and fingerprint(["counts.csv", "pipe"]) is None


def test_a_budget_refuses_and_stays(tmp_path: Path, monkeypatch: Patch) -> None:
    """And nothing is drawn: of four releases of 1, three fit into 3."""
    path, drawn = tmp_path / "spent.jsonl", []
    draw = Noise.draw
    monkeypatch.setattr(Noise, "draw", lambda self, rng: drawn.append(1) or draw(self, rng))
    how = {"epsilon": 1, "protect": "comparison", "ledger": path}
    assert rank_privately(DATA, **how, budget="3").spent.budget == 3
    for other in ("4", 2, "1/3", "none"):
        with pytest.raises(ValueError, match=rf"budget = {other}: allowed is (3, as th|a num)"):
            rank_privately(DATA, **how, budget=other)
    rank_privately(DATA, **how)
    rank_privately(DATA, **how, budget=3)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"budget = 3, of which 3 is spent, and this release"):
        rank_privately(DATA, **how)
    assert drawn == [1, 1, 1] and path.read_bytes() == before
    with pytest.raises(ValueError, match=r"takes 0.001: allowed is up to 0"):
        charge(path, promised("person", "0.001"))  # it protects comparisons as well


def test_four_processes_share_a_budget(here: Path) -> None:
    words = [sys.executable, "-c", RUN, *COUNTS.split(), *"--ledger s --budget 3".split()]
    how = {"stdout": -1, "stderr": -1, "text": True, "env": {**os.environ, "PYTHONPATH": str(ROOT)}}
    four = [subprocess.Popen(words, cwd=here, **how) for _ in range(4)]
    said = [(*one.communicate(), one.returncode) for one in four]
    (refused,) = [one for one in said if one[2]]
    assert refused[0] == "" and refused[2] == 2 and "budget = 3, of which 3 is spent" in refused[1]
    text = (here / "s").read_text()
    assert text.count("data_sha256") == text.count("output_sha256") == 3


HUGE = '{"protect": "person", "epsilon": "9e9999999"}'
NEGATIVE = '{"protect": "person", "epsilon": "-1"}'
OTHERS = '{"id": "1", "output_sha256": "2"}'
DELTA = '{"protect": "person", "epsilon": "1", "delta": "1e-99999999"}'
BUDGET = '{"protect": "person", "epsilon": "1", "budget": "4"}'


@pytest.mark.parametrize(
    "line", ["{}", HUGE, "nonsense", NEGATIVE, "3", "[]", OTHERS, DELTA, BUDGET, "[" * 10**5]
)
def test_a_damaged_ledger_is_refused_and_nothing_is_released(tmp_path: Path, line: str) -> None:
    path = tmp_path / "spent.jsonl"
    charge(path, promised("person", 1), budget=5)
    path.write_text(path.read_text() + line)
    before, start = path.read_bytes(), monotonic()
    with pytest.raises(ValueError, match=r"spent.jsonl, line 2: .* is no release"):
        rank_privately(DATA, epsilon=1, protect="comparison", ledger=path)
    assert path.read_bytes() == before and monotonic() - start < 5


def test_a_last_line_without_its_end_is_mended(tmp_path: Path) -> None:
    """As editors leave it; lines of earlier versions count as they were."""
    path = tmp_path / "spent.jsonl"
    path.write_text('{"when": "2026", "protect": "person", "epsilon": "1/2"}')
    spent = charge(Ledger(path, "sha"), promised("person", 1))
    settle(path, spent, "output")
    assert spent.person.epsilon == Fraction(3, 2) and path.read_text().count("\n") == 3
    path.write_text(path.read_text().rstrip("\n"))
    assert charge(path, promised("person", 1)).person.epsilon == Fraction(5, 2)


CHARGE = """
import sys
from dpbook.rank import Promise
from dpbook.rank.ledger import charge
print("here", flush=True)
spent = charge(sys.argv[1], Promise("rankings", 3, "person", "1/3"))
print(spent.person.count, spent.person.epsilon)
"""


def test_a_second_process_waits_for_the_first(tmp_path: Path, monkeypatch: Patch) -> None:
    """While one adds up, nobody else may even read; and the sums of both are right."""
    fcntl = pytest.importorskip("fcntl")
    path, add_up, others = tmp_path / "spent.jsonl", ledgers._sums, []

    def sums(name: str, text: str) -> object:
        words = [sys.executable, "-c", CHARGE, str(path)]
        others.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
        assert others[0].stdout.readline() == "here\n"
        with open(path, "rb") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return add_up(name, text)

    monkeypatch.setattr(ledgers, "_sums", sums)
    assert charge(path, promised("person", "1/5")).person.epsilon == Fraction(1, 5)
    assert others[0].communicate()[0] == "2 8/15\n"


def test_an_epsilon_is_written_down_before_its_noise_is_drawn(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    def fails(self: Noise, rng: object) -> int:
        raise MemoryError

    monkeypatch.setattr(Noise, "draw", fails)
    path = tmp_path / "spent.jsonl"
    with pytest.raises(MemoryError):
        rank_privately(DATA, epsilon=1, protect="comparison", ledger=path)
    assert "output" not in path.read_text()
    assert charge(path, promised("comparison", 1)).comparison.epsilon == 2
