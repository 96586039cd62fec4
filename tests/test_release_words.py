"""What a release writes, value by value: each word of it for its own case and for no other."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from html import unescape
from math import log
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from dpbook.rank import Answers, Promise, Release, rank_privately
from dpbook.rank.answers import Read
from dpbook.rank.command import main
from dpbook.rank.release import Placed
from dpbook.rank.report import page
from dpbook.rank.statement import statement_of

USUAL = {"kind": "comparisons", "n_items": 4, "protect": "person", "epsilon": 1, "max_answers": 2}
SINGLE = {"protect": "comparison", "max_answers": None}
ONCE = {"relation": "add_remove"}
RANKS = {"kind": "rankings"}
WIDE = {"n_items": 30, "max_answers": 300}
#: Of each line: cases, and what the statement of that case says and those of the others do not.
SAID: list[list[tuple[dict[str, Any], str]]] = [
    [({}, "to hide all answers of any one person."), (SINGLE, "to hide any one comparison, but")],
    [
        ({}, "in the answers of one person, which may become any others about these items, fewer"),
        (SINGLE, "in one comparison, which may become any other about these items, or none"),
        (ONCE, "by one person, whose answers are in one of them and not in the other"),
        (SINGLE | ONCE, "by one comparison, which is in one of them and not in the other"),
    ],
    [({}, "answers of one person, which"), (RANKS, "rankings of one person, which")],
    [({}, "Of the answers of each"), (RANKS, "Of the rankings of each person no more than 2")],
    [({}, "drawn at random"), ({"has_persons": False, "vouched": True}, "nobody checked this")],
    [({}, "one pair, one counts. A person"), ({"repeats": "keep"}, "others answered. A person")],
    [(RANKS, "are below those it holds"), (RANKS | {"unranked": "unknown"}, "are not compared")],
    [({}, "by the operating system, w"), ({"sampler": "repeatable"}, "a repeatable source, w")],
    [
        ({}, "(whole numbers drawn from the randomness of the operating system), the narrowest"),
        ({"sampler": "opendp"}, "(drawn by OpenDP), which fits a sensitivity of 8;"),
        ({"sampler": "repeatable"}, "(drawn from a repeatable source: A DEMONSTRATION, NOT A"),
    ],
    [({}, "(net wins: wins minus"), ({"statistic": "pairs"}, "(how often each item won against")],
    [
        ({}, "The published numbers"),
        ({"only": 1}, "published but the best item by net wins"),
        ({"only": 2}, "published but the set of the best 2 items by net wins"),
    ],
    [
        ({}, "contain K-norm noise in the shape of single comparisons, of scale 4 (whole numb"),
        (WIDE | {"delta": "1e-6"}, "contain independent discrete Gaussian noise of variance"),
    ],
    [({}, "(pure, delta = 0)"), (WIDE | {"delta": "1e-6"}, "(delta = 1e-06)")],
    [({}, "adds its epsilon to"), (WIDE | {"delta": "1e-6"}, "adds its epsilon and delta to")],
    [({}, "no result is more"), (WIDE | {"delta": "1e-6"}, "no set of results has a probability")],
    # e / (1 + e) = 0.73106; no number is rounded before it is used, none down
    [
        ({"epsilon": e}, f"right at most {percent} instead of 50 times in 100")
        for e, percent in (("1", 73.11), ("1.27", 78.08), ("0.3", 57.45), ("1/3", 58.26))
    ],
    [({}, "73.11 times in 100."), (WIDE | {"delta": "1e-2"}, "at most 73.38 instead")],
    [({}, "= 1 (pure"), ({"epsilon": "1/3"}, "= 1/3 (pure, delta = 0): if two data")],
    [({"read": Read()}, "were given as arrays."), ({"read": Read("R", ("--x",))}, "read: R, --x.")],
    [(ONCE, "up to twice epsilon is lost"), ({}, "fewer or none, no result is more")],
    [({"people": 9}, "random sample"), ({"sampler": "repeatable"}, "NOT A RELEASE. Protected: ")],
    [({}, "given beforehand."), ({"listed": False}, "a single answer is enough to put a name on")],
    [({}, "protected: what all"), ({"listed": False}, "protected: the list of items, which was")],
    [({}, "who guesses at a change"), (ONCE, "who guesses whether they were there")],
    [({"people": 300}, "That 300 people were"), ({"people": 31}, "That 31 people were")],
]  # fmt: skip


def statement(case: dict[str, Any]) -> str:
    how = USUAL | {"listed": True, "sampler": "book", "people": None, "read": Read()} | case
    about = {name: how.pop(name) for name in ("listed", "sampler", "people", "read")}
    promise = Promise.of(**how)
    return " ".join(statement_of(Mock(promise=promise, noise=promise.noise(), **about)))


@pytest.mark.parametrize("cases", SAID)
def test_a_statement_says_what_belongs_to_its_case(cases: list[tuple[dict[str, Any], str]]) -> None:
    texts = [statement(case) for case, _ in cases]
    for number, (_, words) in enumerate(cases):
        assert [words in text for text in texts] == [k == number for k in range(len(cases))]


# Tables, files and the page


def rows(*open_: int | None) -> Release:
    """A release of seven items, with two rows whose fields all differ."""
    table = np.triu(np.ones((7, 7), dtype=np.int64), 1)
    found = rank_privately(Answers("counts", tuple("abcdefg"), table), epsilon=1, **SINGLE)
    first = Placed(3, "tea", 11, *open_)
    return replace(found, ranking=(first, replace(first, item="mate")))


def test_each_value_stands_under_its_name() -> None:
    found = rows(2, 4, 1, 6)
    (row, other) = csv.DictReader(found.csv().splitlines())
    wanted = {"rank": "3", "item": "tea", "net wins with noise": "11"}
    wanted |= {"possible rank (95%)": "2 to 4", "possible rank in all people (95%)": "1 to 6"}
    assert row == wanted and other == row | {"item": "mate"}
    *numbers, item = re.split("  +", str(found).splitlines()[1].strip())
    assert [item, *numbers] == list(found.table()[1]) == list(row.values())
    pairs = replace(found, ranking=(Placed(3, "tea", log(10), elo=400.2),))
    assert pairs.table() == [
        ["item", "rank", "strength", "on the Elo scale"],
        ["tea", "3", "2.303", "+400"],
    ]
    stated = json.loads(found.json())
    assert stated["ranking"][0] == vars(found.ranking[0]) and stated["people"] is None
    for field in ("kind", "protect", "relation", "max_answers", "repeats", "statistic", "only"):
        assert stated[field] == getattr(found.promise, field)
    assert stated["items"] == list("abcdefg")
    alone = rows(4, 4, None, None)
    assert alone.table()[1][3:] == ["4 to 4"] and "all people" not in alone.csv()


@pytest.mark.parametrize("open_", [(2, 4, 1, 6), (2, 4, None, None), (None,) * 4], ids=str)
def test_the_page_speaks_of_the_bars_that_it_draws(open_: tuple[int | None, ...]) -> None:
    html = page(rows(*open_))
    spans = {"all": open_[2:], "noise": open_[:2], "mark": (3, 3)}
    drawn = re.findall(r'<i class="(\w+)" style="left:([\d.]+)%;width:([\d.]+)%">', html)[:3]
    ranks = {name: (float(left) * 0.07 + 1, float(wide) * 0.07) for name, left, wide in drawn}
    wanted = {n: (a, b - a + 1) for n, (a, b) in spans.items() if a and b and open_[0]}
    assert ranks.keys() == wanted.keys()
    assert all(ranks[name] == pytest.approx(wanted[name], abs=1e-3) for name in wanted)
    for name, words in {"noise": "The bar shows", "all": "The pale bar shows"}.items():
        assert (words in html) == (name in wanted)
    assert (">The best first.<" in html) == (not wanted)


ASKED = "".join(f"p{k},{w},{b}\n" for k in range(9) for w, b in ("ab", "bc", "ac", "ab"))
FILES = {"a.csv": f"person,winner,loser\n{ASKED}", "r.csv": "person,a,b,c\np,1,2,3\nq,2,,1\n"}
FILES |= {"c.csv": "winner,loser,count\na,b,70\nb,c,30\n", "v.csv": "winner,loser\na,b\nb,c\n"}
MANY = ",".join(["a", "b", "c", *(f"i{k}" for k in range(27))])
PERSON = "--items a,b,c --protect person --max-answers"
#: What a release may be; the report of each names the command that makes it again.
RELEASED = [
    f"a.csv {PERSON} 2 --epsilon 1/3 --people 40",
    f"a.csv {PERSON} 2 --epsilon 2 --repeats keep --relation add-remove",
    f"a.csv {PERSON} 2 --epsilon 2 --release pairs",
    f"a.csv --items {MANY} --protect person --max-answers 300 --epsilon 1 --delta 1e-6",
    f"a.csv {PERSON} 1 --epsilon 1 --sampler opendp",
    "a.csv --items-from-data --protect comparison --epsilon 1",
    f"v.csv {PERSON} 2 --epsilon 1 --vouch",
    f"r.csv {PERSON} 1 --epsilon 1 --unranked unknown --only top:2",
    f"r.csv {PERSON} 3 --epsilon 1 --people 7",
    "c.csv --items a,b,c --protect comparison --epsilon 1 --only first",
    f"c.csv {PERSON} 3 --epsilon 1 --vouch",
]


@pytest.mark.parametrize("words", RELEASED)
def test_the_commands_of_a_report_make_the_same_release(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if "opendp" in words:
        pytest.importorskip("opendp")
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    assert main([*words.split(), "--out", "one.csv", "--report", "r.html"]) == 0
    publish, plan = map(
        unescape, re.findall("<pre>dpbook rank (.*?)</pre>", Path("r.html").read_text())
    )
    Path("ITEMS").write_text((MANY if MANY in words else "a,b,c").replace(",", "\n"))
    again = publish.replace("FILE", words.split()[0], 1)
    assert main([*again.split(), "--out", "two.csv"]) == 0
    facts = [json.loads(Path(f"{name}.privacy.json").read_text()) for name in ("one", "two")]
    for fact in facts:
        for drawn in ("output_sha256", "ranking", "released"):
            del fact[drawn]
    assert facts[0] == facts[1]
    capsys.readouterr()
    if "pairs" not in words:  # for which there is no plan
        assert main(plan.replace("--people N", "--people 7").split()) == 0
        heading = f"{len(facts[0]['items'])} items, {facts[0]['people'] or 7} people. "
        assert capsys.readouterr().out.startswith(heading)
