"""The command ``dpbook rank``, outside of any book: what it prints, writes and spends."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from errno import ENOSPC
from fractions import Fraction
from hashlib import sha256
from html import unescape
from itertools import product
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from dpbook import __version__ as VERSION
from dpbook.estimators import ridge_mle
from dpbook.rank import Answers, Promise, Release, names, rank_privately, release
from dpbook.rank.command import main
from dpbook.rank.ledger import _sums, charge, fingerprint
from dpbook.rank.report import page

Capture, Patch, Call = pytest.CaptureFixture[str], pytest.MonkeyPatch, Callable[..., Any]
ROOT = Path(__file__).resolve().parents[1]
DATA = Answers("counts", ("a", "b"), np.array([[0, 9], [1, 0]]))


@pytest.fixture
def rank(tmp_path: Path, monkeypatch: Patch, capsys: Capture) -> Call:
    """The command, in a folder with answers, far from any book; what it says."""
    rows = [f"secret{k},tea,mate\n" for k in range(37)] + ["secret1,mate,coffee\n"]
    (tmp_path / "answers.csv").write_text("person,winner,loser\n" + "".join(rows))
    (tmp_path / "counts.csv").write_text("winner,loser,count\na,b,70\nb,a,30\n")
    monkeypatch.chdir(tmp_path)

    def call(words: str, status: int = 0) -> Any:
        assert main(words.split()) == status
        return capsys.readouterr()

    return call


def text_of(name: str, more: str = "") -> str:
    """A file, to which something is added."""
    with open(name, "a") as file:
        file.write(more)
    return Path(name).read_text()


def told() -> dict[str, Any]:
    return json.loads(Path("out.privacy.json").read_text())


ITEMS = "answers.csv --items tea,mate,coffee"
PERSON = f"{ITEMS} --protect person --epsilon 1 --max-answers 20"
COUNTS = "counts.csv --items a,b --protect comparison --epsilon 1"
PLAN = "--items 3 --people 9 --epsilon 1 --plan"


def test_a_release(rank: Call) -> None:
    """What is shown and written; nothing of it names a person or tells what the file determines."""
    text_of("answers.csv", "secret5,tea,secret\n")
    shown = rank(f"{PERSON} --out out.csv --ledger spent.jsonl --people 50")
    stated, table = told(), list(csv.reader(text_of("out.csv").splitlines()))
    assert not shown.err and "secret" not in shown.out + text_of("out.csv") + json.dumps(stated)
    text = (stated["statement"] + shown.out.split("\n\n")[1]).replace(",", " ").replace(". ", " ")
    assert not {"36", "37", "38", "39"} & set(text.split())  # lines, people, wins
    head = shown.out.split("\n")[0]
    *names, item = [name.strip() for name in head.split("  ") if name]
    assert table[0] == [item, *names] and names[-1] == "possible rank in all people (95%)"
    lines = shown.out.split("\n\n")[1].splitlines()
    starts = "Protected: ", "Not protected: ", "By spent.jsonl: ", "Written: out.csv, out.privacy"
    assert all(map(str.startswith, lines, starts)) and len(lines) == 4
    assert [row[0] for row in table[1:]] == [row["item"] for row in stated["ranking"]]
    assert [int(row[2]) for row in table[1:]] == sorted(stated["released"], reverse=True)
    facts = {"epsilon": "1", "delta": "0", "relation": "replace", "protect": "person", "people": 50}
    facts |= {"max_answers": 20, "repeats": "one", "vouched": False, "items_from_data": False}
    assert stated | facts | {"statistic": "net", "sampler": "book", "version": VERSION} == stated
    # One of three items wins at most 2 comparisons against the others, in one answer to each pair;
    # and what a person answered is taken away and replaced.
    assert stated["scale"] == {"root": "4", "zonotope": "2"}[stated["noise"]]
    assert stated["statement"].count("Not protected") == 1
    assert f"epsilon = None: {RANGE}" in rank(f"{ITEMS} --protect comparison", 2).err
    assert stated["id"] == json.loads(text_of("spent.jsonl").splitlines()[0])["id"]


def test_items_from_the_data_are_said_to_be_unprotected(rank: Call) -> None:
    """One answer of one person puts a name on the list, whatever epsilon is: nobody may miss it."""
    given = "answers.csv --protect person --epsilon 0.01 --max-answers 1"
    assert "allowed is items (--items, --items-file), or items_from_data" in rank(given, 2).err
    shown = rank(f"{given} --items-from-data --out out.csv --report out.html").out
    assert told()["items_from_data"] is True and "--items-from-data" in text_of("out.html")
    assert told()["statement"] in unescape(text_of("out.html"))
    for text in (shown, told()["statement"], text_of("out.html")):
        assert "the list of items" in text.split("rotect", 1)[1]


def test_one_row_can_neither_stop_nor_steer_a_release(rank: Call) -> None:
    rows = "secret1,tea,mate\nsecret2,tie,mate\nsecret3,,mate\nsecret4,tea,cocoa\nsecret5,tea,tea\n"
    text_of("answers.csv", rows)
    rank(PERSON)
    shown = rank(f"{PERSON} --check").out
    assert "1 x a blank (answers.csv, line 42" in shown and "line 43: 'cocoa'" in shown
    Path("answers.csv").write_text('person,winner,loser\nsecret,"tea\x1b[2J,mate\n')
    error = rank(PERSON, 2).err + rank(f"{PERSON} --items tea,\x1b]0;x\x07", 2).err
    assert error.count("dpbook: ") == 2 and error.count("eyes") == 1  # where rows are quoted
    assert "\x1b" not in error  # a terminal gets no orders


def test_the_check_is_for_the_keeper(rank: Call) -> None:
    text_of("answers.csv", "s,Tea,mate\n")
    shown = rank("answers.csv --items-from-data --protect person --max-answers 1 --check").out
    facts = """For your eyes only: nothing here is private, and you may not choose a limit by it.
Line 1 is read so: column 'winner' names the winner and 'loser' the loser: 'A' and 'B' say that \
'A' is better; 'person' says who answered.
comparisons: 39 answers on 4 items
38 people, 1 to 2 answers each
1 people gave more than 1: 1 answers would be left out
These differ only in case or blanks: 'Tea' and 'tea'
How many people name each item, the rarest first: Tea 1, coffee 1, tea 37, mate 38
The noise for epsilon = 1, which is public: K-norm noise in the shape of single comparisons, of \
scale 2.
"""
    assert shown.startswith(facts)
    shown = rank(f"{COUNTS} --check").out
    assert (
        "counts: 100 answers on 2 items\n" in shown
        and "answers name each item, the rarest first: a 100, b" in shown
    )
    assert "of scale 2.\nIt moves leads by up to " in shown and "can be ranked.\n" in shown


RANGE = "allowed is a number from 1e-6 to 50"
REFUSED = {
    "none.csv --items a,b --protect person --epsilon 1 --max-answers 2": "No such file or dir",
    ". --items a,b --protect comparison --epsilon 1": "Is a directory: '.'",
    f"{ITEMS} --protect person --epsilon 1": "max_answers is missing: allowed is a whole",
    f"{ITEMS} --protect comparison --epsilon 0": f"epsilon = '0': {RANGE}",
    f"{COUNTS} --protect person --max-answers 3": "is 'comparison', or vouched=True (--vouch)",
    "counts.csv --protect comparison --epsilon 1": "items: allowed is items (--items, ",
    "counts.csv --items-file none --protect comparison --epsilon 1": "No such file or directory",
    f"{COUNTS} --out answers.csv": "answers.csv exists: allowed is a new file, or ",
    f"{COUNTS} --out no/x.csv": "no takes no file (No such file or directory): allowed is",
    f"{COUNTS} --out spent.jsonl": "a name is given twice: allowed are different ones for FILE",
    f"{COUNTS} --out counts.csv --force": "a name is given twice",
    f"counts.csv {COUNTS}": "a name is given twice",
    f"{COUNTS} --columns winner": "'winner': allowed is as winner=Gewinner",
    f"{PLAN} comparisons counts.csv --protect person": "--plan: allowed is no FILE, but --people",
    f"{PLAN} rankings --protect comparison": "'comparison' with rankings: allowed is 'person'",
    f"{PLAN} counts --protect person --max-answers 2": "is 'comparison', or vouched=True (--vouch)",
    f"{PLAN} comparisons --protect comparison --only top:3": "only = 3: allowed is an integer",
}


@pytest.mark.parametrize("given", REFUSED)
@pytest.mark.parametrize("more", ["", "--check"])
def test_refused_in_one_sentence(rank: Call, given: str, more: str) -> None:
    """And the check, and the plan, refuse what a release would refuse, at once."""
    before, start = sorted(os.listdir()), monotonic()
    shown = rank(f"--ledger spent.jsonl {given} {more}", 2)
    assert not shown.out and REFUSED[given] in shown.err
    assert shown.err.startswith("dpbook: ") and shown.err.count("\n") == 1
    kept = [name for name in sorted(os.listdir()) if name != "spent.jsonl"]
    assert kept == before and monotonic() - start < 5  # nothing is released, written or charged
    assert not text_of("spent.jsonl")


def test_items_from_a_file_and_names_with_commas(rank: Call) -> None:
    Path("items.txt").write_bytes("\ufefftea\r\nmate\r\n\r\ncoffee\r\nwater\r\n".encode())
    given = "answers.csv --protect comparison --epsilon 1 --items-file items.txt --out"
    rank(f"{given} out.csv")
    assert told()["items"] == ["tea", "mate", "coffee", "water"]
    Path("items.txt").write_bytes(b"t\xe9\n")
    assert "items.txt: allowed is UTF-8" in rank(f"{given} other.csv", 2).err
    Path("counts.csv").write_text('winner,loser,count\n"a, b",c,70\n')
    assert main([*COUNTS.split(), "--items", '"a, b",c', "--out", "out.csv", "--force"]) == 0
    assert told()["items"] == ["a, b", "c"]


ALONE = """
import sys
tools = "yaml papermill jinja2 nbformat sphinx matplotlib opendp duckdb dask pandas"
sys.modules |= dict.fromkeys(tools.split())
from dpbook.__main__ import main
sys.exit(main())
"""


def child(words: str, **more: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more}
    given = [sys.executable, "-c", ALONE, "rank", *words.split()]
    return subprocess.Popen(given, stdout=-1, stderr=-1, env=environment)


def test_it_needs_neither_a_book_nor_its_tools(rank: Call) -> None:
    """As after ``pip install .``; and a terminal that has no sign for a name loses no release."""
    Path("counts.csv").write_text("winner,loser,count\nb,李雷,70\n", encoding="utf-8")
    words = f"{COUNTS} --ledger spent.jsonl --items b,李雷 --report r.html"
    process = child(words, PYTHONIOENCODING="ascii", PYTHONUTF8="1")
    said, error = process.communicate()
    assert (process.returncode, error) == (0, b"") and b"??" in said and b"Not protected" in said


@pytest.mark.parametrize("items", [2, 500])
def test_a_reader_who_goes_away_is_no_failure(rank: Call, items: int) -> None:
    """As for `| head`: output that fits into a buffer, and more than that."""
    rows = "".join(f"a{k},b,1\n" for k in range(items - 1))
    Path("many.csv").write_text("winner,loser,count\n" + rows)
    words = "many.csv --items-from-data --protect comparison --epsilon 1 --ledger spent.jsonl"
    with child(f"{words} --out out.csv", PYTHONUNBUFFERED="") as process:
        process.stdout.close()
        said = process.stderr.read()
    assert (said, process.returncode) == (b"", 141)
    # it is spent all the same, and written
    assert text_of("spent.jsonl").count("data_sha256") == 1
    assert len(text_of("out.csv").splitlines()) == items + 1


def full(*_: object, **__: object) -> None:
    raise OSError(ENOSPC, "No space left on device")


def test_what_cannot_be_written_is_shown(rank: Call, monkeypatch: Patch) -> None:
    """A disk that is full when the epsilon has been spent; and one that is full before."""
    monkeypatch.setattr(release, "open", full, raising=False)
    shown = rank(f"{COUNTS} --out out.csv --ledger spent.jsonl", 1)
    assert shown.err == "dpbook: [Errno 28] No space left on device\n"
    stated = json.loads(shown.out[shown.out.index("{") :])
    assert "net wins with noise" in shown.out and stated["released"]
    monkeypatch.setattr(release, "TemporaryFile", full)
    words = ". takes no file (No space left on device): allowed is a folder that does"
    for option in ("--out", "--report"):
        shown = rank(f"{COUNTS} {option} out.csv --ledger other.jsonl", 2)
        assert (shown.out, shown.err) == ("", f"dpbook: {words}\n")
    assert set(os.listdir()) == {"answers.csv", "counts.csv", "spent.jsonl"}  # no more


@pytest.mark.parametrize("name", ["out.csv", "out.privacy.json"])
def test_a_file_that_comes_meanwhile_is_kept(tmp_path: Path, monkeypatch: Patch, name: str) -> None:
    """Between the look and the writing somebody else has written."""
    found, path = rank_privately(DATA, epsilon=1, protect="comparison"), tmp_path / "out.csv"
    targets = path, tmp_path / "out.privacy.json"
    monkeypatch.setattr(release, "out_files", lambda *_, **__: targets)
    (tmp_path / name).write_text("another's")
    with pytest.raises(FileExistsError):
        found.write(path)
    assert (tmp_path / name).read_text() == "another's" and not list(tmp_path.glob(".*"))
    found.write(path, force=True)
    assert path.read_text() == found.csv() and len(list(tmp_path.iterdir())) == 2


def named(*names: str) -> Release:
    """A release of such items, with ranks that it leaves open."""
    n = len(names)
    data = Answers("counts", names, np.tri(n, k=-1, dtype=np.int64).T)
    found = rank_privately(data, epsilon=10, protect="comparison")
    open_ = {"likely_best": 1, "likely_worst": n}
    rows = [replace(r, best=(r.place + 1) // 2, worst=r.place, **open_) for r in found.ranking]
    return replace(found, ranking=tuple(rows))


def test_names_are_neither_formulas_nor_orders() -> None:
    """Spreadsheets compute cells that begin so; a browser, or a terminal, obeys others."""
    found = named("=1+2", "+1", "-1", "@x", "a=b", "<script>x</script>", "b&")
    rows = list(csv.reader(found.csv().splitlines()[1:]))
    wanted = {"'=1+2", "'+1", "'-1", "'@x", "a=b", "<script>x</script>", "b&"}
    assert {row[0] for row in rows} == wanted and rows[-1][2][0] == "-"
    assert [int(row[2]) for row in rows] == sorted(found.released.tolist(), reverse=True)
    html = page(found)
    assert "<script" not in html and "&lt;script&gt;" in html and "b&amp;" in html
    assert names.plain("a\x1b[2J\u202e\x9b") == "a\ufffd[2J\ufffd\ufffd"


def test_a_report_for_everybody(tmp_path: Path) -> None:
    """In light and dark, on a phone too, without another host or a script, and with axe at zero."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    browsing = pytest.importorskip("tests.book.browsing")
    if browsing.BROWSER is None:
        pytest.skip("no Chromium")
    found = named("tea", "a" * 60, *(f"item {k}" for k in range(10)))
    found.write(None, report=tmp_path / "r.html")
    with browsing.chromium.chromium(browsing.BROWSER) as browser:
        watch = browsing.go(seen := browser.new_page(), f"file://{tmp_path}/r.html")
        for width, scheme in ((390, "dark"), (1280, "light")):
            seen.set_viewport_size({"width": width, "height": 800})
            seen.emulate_media(color_scheme=scheme)
            assert seen.evaluate("document.documentElement.scrollWidth") == width
            assert axe.run(seen).response["violations"] == [] and watch.problems == []
            box = "[...document.querySelectorAll('.{}')].map(e => e.getBoundingClientRect().width)"
            bars, whole = (np.array(seen.evaluate(box.format(of))) for of in ("noise", "bar"))
            spans = [row.worst - row.best + 1 for row in found.ranking]
            assert len(set(spans)) > 1 and np.allclose(12 * bars / whole, spans, rtol=0.05)
            assert seen.locator(".all").count() == 12
            page_ = seen.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (page_ == "rgb(255, 255, 255)") == (scheme == "light")


EXPORTS = {
    "google": "Timestamp,Email Address,Rank these [tea],Rank these [coffee],Why?\n"
    '1/3,a@x,2nd choice,1st choice,"well,\nso"\n2/3,b@x,2nd choice,1st choice,\n',
    "qualtrics": "StartDate,ResponseId,Q1_1,Q1_2\nStart,Response,Rank - tea,Rank - coffee\n"
    '"{""ImportId"":1}",x,y,"z\n"\n1,R_1,2,1\n2,R_2,-99,1\n',
    "surveymonkey": "Respondent ID,Rank the drinks,\n,tea,coffee\n11,2,1\n12,N/A,1\n",
    "microsoft": "ID,Email,Rank the drinks\n1,a@x,coffee;tea;\n2,b@x,coffee;tea;\n",
    "limesurvey": '"id","submitdate","Q1[1]","Q1[2]"\n"1","x","A2","A1"\n"2","x","A2",""\n',
    "battles": "model_a,model_b,winner,judge\nm1,m2,model_b,j1\nm1,m2,tie (bothbad),j2\n",
}


def test_every_example_of_the_help_runs(rank: Call, capsys: Capture) -> None:
    """With files as it describes them, each with the line that it shows."""
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    Path("items.txt").write_text("tea\ncoffee\nmate\nmaté\n", encoding="utf-8")
    Path("survey.csv").write_text("person,winner,loser\nann,tea,coffee\n")
    form = "E-Mail;Links;Rechts;Besser;x\nann;tea;maté;Unentschieden;\nbob;maté;tea;maté;\n"
    Path("forms.csv").write_bytes(form.encode("cp1252"))
    Path("rankings.csv").write_text("person,ranking\nann,tea > coffee = mate\n")
    for name, content in EXPORTS.items():
        Path(f"{name}.csv").write_text(content)
    Path("models.txt").write_text("m1\nm2\n")
    lines = said.split("examples:")[1].replace("\\\n", " ").splitlines()
    examples = [line.split("rank ", 1)[1] for line in lines if "dpbook rank" in line]
    assert len(examples) == 4 + len(EXPORTS)
    for words in examples:
        assert main(shlex.split(words)) == 0
    for name in EXPORTS:  # as many people, or answers, as the file has, and the right winner
        (words,) = (words for words in examples if f"{name}.csv" in words)
        assert name in said and main([*shlex.split(words), "--check"]) == 0
        shown = capsys.readouterr().out
        assert "\n2 people, 1 to 1 " in shown, shown
        given = shlex.split(words.replace("--epsilon 1", "--epsilon 50"))
        assert main([*given, "--only", "first"]) == 0
        first = capsys.readouterr().out.split("\n")[1].split()[1]
        assert first == {"battles": "m2"}.get(name, "coffee")
    shown = rank(next(words for words in examples if "forms.csv" in words) + " --check").out
    assert "comparisons: 2 answers on 4 items" in shown
    # each layout that the help shows is read
    layouts = re.findall(r"^  ((?:person|winner),\S+) +(\S.*?)  ", said, re.MULTILINE)
    layouts.append(("person,Rank these [coffee],Rank these [tea],Rank these [mate]", "1,3,1,2"))
    assert len(layouts) == 7
    for head, row in layouts:
        Path("one.csv").write_text(f"{head}\n{row}\n")
        protect = "comparison" if "count" in head else "person --max-answers 1"
        given = f"one.csv --items tea,coffee,mate --epsilon 1 --protect {protect} --check"
        assert "This would be left out" not in rank(given).out


# The ledger


def promised(protect: str, epsilon: object, **more: object) -> Promise:
    """Rankings of three items, or comparisons."""
    limit = 5 if protect == "person" else None
    return Promise.of("comparisons", 3, protect, epsilon, max_answers=limit, **more)  # type: ignore


def test_the_ledger_adds_up_exactly(tmp_path: Path) -> None:
    """A release for persons protects comparisons too; each answer adds to what a person loses."""
    path = tmp_path / "spent.jsonl"
    for _ in range(10):
        found = rank_privately(DATA, epsilon="0.1", protect="comparison", ledger=path).spent
    assert (found.comparison.epsilon, found.person.epsilon) == (1, 0)
    spent = charge(path, promised("person", "1/3"))
    assert (spent.person.epsilon, spent.comparison.epsilon) == (Fraction(1, 3), Fraction(4, 3))
    said = "to protect a person; 4/3 (and delta 0) to protect one comparison; a person"
    assert f"{said} lost up to 1 more for each answer" in str(spent)


def test_what_is_there_or_not_counts_twice(tmp_path: Path) -> None:
    """To replace is to take away and to add: 2 epsilon, and delta + e^epsilon delta."""
    path, how = tmp_path / "spent.jsonl", {"relation": "add_remove", "delta": "1e-6"}
    spent = charge(path, promised("person", 2, **how))
    assert spent.person.epsilon == spent.comparison.epsilon == 4
    assert float(spent.person.delta) == pytest.approx(1e-6 * (1 + np.exp(2)))
    assert spent.person.delta > Fraction(1e-6 * (1 + np.exp(2)))
    assert ": 4 (and delta 8.5e-06) to protect a person" in str(spent)


def test_no_number_takes_for_ever() -> None:
    for text in ("1e100", "0e-99999999", "1e99999999", "9" * 81, "1e1_000", "nan", "x"):
        with pytest.raises(ValueError):
            names.fraction_of(text)
    assert names.fraction_of("25e-2") == Fraction(1, 4)


def test_a_release_can_be_traced(rank: Call) -> None:
    """Of which data, of what, by which version; and the digest of what came of it."""
    rank(f"{COUNTS} --ledger spent.jsonl --out out.csv --only first")
    first = json.loads(text_of("spent.jsonl"))
    data, output = (sha256(Path(n).read_bytes()).hexdigest() for n in ("counts.csv", "out.csv"))
    facts = {"protect": "comparison", "relation": "replace", "epsilon": "1", "delta": "0"}
    facts |= {"statistic": "net", "only": 1, "max_answers": None, "version": VERSION}
    assert first | facts | {"data_sha256": data} == first
    assert told() | {"id": first["id"], "output_sha256": output} == told()
    os.mkfifo("pipe")
    assert fingerprint(["counts.csv"]) == data and fingerprint(["counts.csv", "pipe"]) is None


def test_a_budget_refuses_and_stays(tmp_path: Path) -> None:
    """And nothing is charged: of four releases of 1, three fit into 3."""
    path = tmp_path / "spent.jsonl"
    how = {"epsilon": 1, "protect": "comparison", "ledger": path}
    assert rank_privately(DATA, **how, budget="3").spent.budget == 3
    for other in ("4", 2, "1/3", "none"):
        with pytest.raises(ValueError, match=rf"budget = '?{other}'?: allowed is (3, as th|a num)"):
            rank_privately(DATA, **how, budget=other)
    rank_privately(DATA, **how)
    rank_privately(DATA, **how, budget=3)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"budget = 3, of which 3 is spent, and this release"):
        rank_privately(DATA, **how)
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match=r"takes 1/1000: allowed is up to 0"):
        charge(path, promised("person", "0.001"))  # it protects comparisons as well


ONE = '{"protect": "person", "epsilon": '
DAMAGED = ["{}", "nonsense", "3", "[]", "[" * 10**5]
DAMAGED += [ONE + '"9e9999999"}', ONE + '"-1"}', ONE + '"1", "delta": "1e-99999999"}']
DAMAGED += [ONE + '"1", "relation": "x"}']


@pytest.mark.parametrize("line", DAMAGED)
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
    lines = ['{"id": "1", "output_sha256": "2"}', '{"protect": "person", "epsilon": "1/2"}']
    path.write_text("\n".join(lines))
    spent = charge(path, promised("person", 1), data="sha")
    assert spent.person.epsilon == Fraction(3, 2) and path.read_text().count("\n") == 3
    path.write_text(path.read_text().rstrip("\n"))
    assert charge(path, promised("person", 1)).person.epsilon == Fraction(5, 2)


def test_a_second_one_waits_for_the_first(tmp_path: Path, monkeypatch: Patch) -> None:
    """While one adds up, nobody else may even read; and the sums of both are right."""
    fcntl = pytest.importorskip("fcntl")
    path = tmp_path / "spent.jsonl"
    second = Thread(target=charge, args=(path, promised("person", "1/3")))

    def sums(name: str, text: str) -> object:
        if second.ident is None:
            second.start()
            with open(path, "rb") as file, pytest.raises(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return _sums(name, text)

    monkeypatch.setattr("dpbook.rank.ledger._sums", sums)
    assert charge(path, promised("person", "1/5")).person.epsilon == Fraction(1, 5)
    second.join()
    assert charge(path, promised("person", 1)).person.epsilon == Fraction(23, 15)


def test_what_was_decided_is_on_record(rank: Call) -> None:
    """What one comparison counts for, and names with signs of their own; for the keeper alone."""
    Path("c.csv").write_text("A,B\n1,2\n")
    given = """c.csv --items "1",2 --columns winner=A,loser=B --protect comparison --epsilon 1"""
    rank(f"{given} --ledger l.jsonl --out out.csv")
    assert told()["repeats"] == "keep" and Path("l.jsonl").stat().st_mode & 0o077 == 0


def test_a_table_goes_in_and_out(rank: Call) -> None:
    """Of three entrances one is a data frame, and all take what the command takes."""
    pandas = pytest.importorskip("pandas")
    how = {"items": ["tea", "mate"], "columns": {"person": "Who"}, "labels": {"A1": "tea"}}
    how |= {"epsilon": 50, "protect": "person", "max_answers": 1}
    frame = pandas.DataFrame({"Who": ["a", "b"], "winner": ["A1", "tea"], "loser": ["mate"] * 2})
    frame.to_csv("frame.csv")
    for source in (frame, "frame.csv", Path("frame.csv"), ["frame.csv"]):
        release = rank_privately(source, **how)
        assert release.to_frame()["item"].tolist() == ["tea", "mate"]
        assert (
            "labels" in str(release.read.typed) and "'Who' says who answered" in release.statement
        )
    with pytest.raises(ValueError, match="items is given with answers that were read: allowed is"):
        rank_privately(DATA, epsilon=1, protect="comparison", items=["a", "b"])


@pytest.mark.parametrize("n", [10**7, 10**10, 10**15])
def test_many_answers_are_fitted(rank: Call, n: int) -> None:
    """Rounding of sums of so many once failed after the charge."""
    table = np.array([[0, 3, 1], [1, 0, 2], [1, 0, 0]])
    names = ["tea", "coffee", "mate"]
    rows = product(range(3), repeat=2)
    text = "".join(f"{names[i]},{names[j]},{n * table[i, j]}\n" for i, j in rows if i != j)
    Path("counts.csv").write_text(f"winner,loser,count\n{text}")
    given = "counts.csv --items tea,coffee,mate --protect comparison --epsilon 1 --release pairs"
    rank(f"{given} --out out.csv --ledger spent.jsonl --force")
    strength = {row["item"]: row["noisy"] for row in told()["ranking"]}
    solved = ridge_mle(table, gamma=0).theta  # of the shares; noise and ridge are below 1e-6 of n
    assert [strength[name] for name in names] == pytest.approx(solved, abs=1e-5)


def test_what_was_drawn_is_shown_whatever_happens(rank: Call, monkeypatch: Patch) -> None:
    for error in (RuntimeError("no fit"), KeyboardInterrupt()):
        monkeypatch.setattr("dpbook.rank.rank.ranked", Mock(side_effect=error))
        shown = rank(f"{COUNTS} --ledger spent.jsonl", 1).err
        assert "after the noise was drawn" in shown and "] of {0: 'a', 1: 'b'}, with K" in shown
    assert text_of("spent.jsonl").count("data_sha256") == 2


def test_the_query_of_the_readme_limits_everybody(rank: Call) -> None:
    """Who counts with an engine of their own: three answers of each person, in a file of counts."""
    duckdb = pytest.importorskip("duckdb")
    query = (ROOT / "README.md").read_text().split("```sql\n")[1].split("```")[0]
    rows = [f"p{k // 5},{'tea,mate' if k % 2 else 'mate,tea'}\n" for k in range(50)]
    Path("answers.csv").write_text("person,winner,loser\n" + "".join(rows))
    base = duckdb.connect()
    base.execute("CREATE TABLE answers AS FROM read_csv('answers.csv')")
    base.execute(f"COPY ({query}) TO 'own.csv'")
    given = "own.csv --items tea,mate --protect person --max-answers 3 --vouch --epsilon 1"
    assert "counts: 30 answers on 2 items" in rank(f"{given} --check").out
    rank(given)
