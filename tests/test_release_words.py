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

import numpy as np
import pytest

from dpbook.rank import Answers, Promise, Release, rank_privately
from dpbook.rank.command import main
from dpbook.rank.noise import Noise
from dpbook.rank.plan import Plan, planned
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
    [({}, "protects all answers of any one person,"), (SINGLE, "protects any one comparison, but")],
    [
        ({}, "in the answers of one person, which may become any others about these items, fewer"),
        (SINGLE, "in one comparison, which may become any other about these items, or none"),
        (ONCE, "by one person, whose answers are in one of them and not in the other"),
        (SINGLE | ONCE, "by one comparison, which is in one of them and not in the other"),
    ],
    [({}, "answers of one person, which"), (RANKS, "rankings of one person, which")],
    [({}, "At most 2 answers of"), (RANKS, "At most 2 rankings of")],
    [({}, "2 answers of each person count,"), ({"max_answers": 1}, "answer of each person counts")],
    [({}, "drawn at random"), ({"has_persons": False, "vouched": True}, "nobody checked this")],
    [({}, "about one pair, one. A person"), ({"repeats": "keep"}, "others answered. A person")],
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
        ({}, "narrowest that we have for this promise; the order"),
        ({"delta": "1e-6"}, "this promise, even if a delta were lost, as was allowed; the order"),
        (WIDE | {"delta": "1e-6"}, "for this promise, with delta; the order"),
    ],
    [({}, "(pure, delta = 0)"), (WIDE | {"delta": "1e-6"}, "(delta = 1e-06)")],
    [({}, "adds its epsilon to"), (WIDE | {"delta": "1e-6"}, "adds its epsilon and delta to")],
    [({}, "no result is more"), (WIDE | {"delta": "1e-6"}, "no set of results has a probability")],
    [({}, "epsilon, of the limit and of the"), (SINGLE, "choice of epsilon and of the items")],
    [({}, "given beforehand."), ({"listed": False}, "a single answer is enough to put a name on")],
    [({}, "protected: what all"), ({"listed": False}, "protected: the list of items, which was")],
    [({}, "who guesses at a change"), (ONCE, "who guesses whether they were there")],
    [({"people": 300}, "That 300 people were"), ({"people": 31}, "That 31 people were")],
]  # fmt: skip


def statement(case: dict[str, Any]) -> str:
    how = {"listed": True, "sampler": "book", "people": None} | case
    given = [how.pop(name) for name in ("listed", "sampler", "people")]
    promise = Promise(**USUAL | how)
    text, short = statement_of(promise, promise.noise(), *given)
    return f"{text} {' '.join(short)}"


@pytest.mark.parametrize("cases", SAID)
def test_a_statement_says_what_belongs_to_its_case(cases: list[tuple[dict[str, Any], str]]) -> None:
    texts = [statement(case) for case, _ in cases]
    for number, (_, words) in enumerate(cases):
        assert [words in text for text in texts] == [k == number for k in range(len(cases))]


def test_what_is_not_the_case_is_not_said() -> None:
    start = "A DEMONSTRATION, NOT A RELEASE. Protected: "
    only = [(ONCE, "twice epsilon"), ({"people": 9}, "random sample")]
    for case, words in [*only, ({"sampler": "repeatable"}, start)]:
        assert words in statement(case) and words not in statement({})


# Tables, files and the page


def rows(*open_: int | None) -> Release:
    """A release of seven items, with two rows whose fields all differ."""
    table = np.triu(np.ones((7, 7), dtype=np.int64), 1)
    found = rank_privately(Answers("counts", tuple("abcdefg"), table), epsilon=1, **SINGLE)
    first = Placed(3, "tea", 11, 0.125, *open_)
    return replace(found, ranking=(first, replace(first, item="mate")))


NAMES = {"place": "rank", "item": "item", "noisy": "net wins with noise"}
NAMES |= {"reversal_probability": "chance of reversal by noise", "best": "best rank without noise"}
NAMES |= {"worst": "worst rank without noise", "likely_best": "best rank in all people"}
NAMES |= {"likely_worst": "worst rank in all people"}


def test_each_value_stands_under_its_name() -> None:
    found = rows(2, 4, 1, 6)
    (row, other) = csv.DictReader(found.csv().splitlines())
    assert row == {name: str(getattr(found.ranking[0], field)) for field, name in NAMES.items()}
    assert other == row | {"item": "mate"}
    head, shown, _ = found.table()
    wanted = {"rank": "3", "item": "tea", "net wins with noise": "11"}
    wanted |= {"rank without noise": "2 to 4", "rank in all people": "1 to 6"}
    assert dict(zip(head, shown, strict=True)) == wanted
    stated = json.loads(found.json())
    assert stated["ranking"][0] == vars(found.ranking[0]) and stated["people"] is None
    for field in ("kind", "protect", "relation", "max_answers", "repeats", "statistic", "only"):
        assert stated[field] == getattr(found.promise, field)
    assert stated["width"] == found.noise.width(0.05) and stated["items"] == list("abcdefg")
    alone = rows(4, 4, None, None)
    assert alone.table()[1][3:] == ("4",) and "all people" not in alone.csv()


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
        for drawn in ("id", "ranking", "released"):
            del fact[drawn]
    assert facts[0] == facts[1]
    capsys.readouterr()
    if "pairs" not in words:  # for which there is no plan
        assert main(plan.replace("--people N", "--people 7").split()) == 0
        heading = f"{len(facts[0]['items'])} items, {facts[0]['people'] or 7} people, "
        assert capsys.readouterr().out.startswith(heading)


# A plan


def test_a_plan_shows_each_number_in_its_place() -> None:
    columns = ("first place", "top 3", "order", "wrong pairs", "places open by noise")
    values = np.array([[0.125, 1], [0.25, 0.9], [0.5, 0.8], [0.0312, 0.01], [2.25, 12]])
    plan = Plan("heading", (0.5, 2.0), columns, values, values / 10, "note")
    heading, blank, *table, empty, note = str(plan).splitlines()
    assert (heading, blank, empty, note) == ("heading", "", "", "note")
    cells = [re.split(r"  +", line.strip()) for line in table]
    assert cells[0] == ["best beats worst", *columns]
    assert cells[1] == ["62 times in 100", "12.5 %", "25 %", "50 %", "3.12 %", "2.2"]
    assert cells[2] == ["88 times in 100", "100 %", "90 %", "80 %", "1 %", "12.0"]


@pytest.mark.parametrize(("case", "asked", "said", "columns"), [
    ({"n_items": 5, "max_answers": 3}, 50, "random pairs from each: 3", 6),
    ({"n_items": 3, "max_answers": 9}, None, "random pairs from each: 3", 6),
    ({"n_items": 3} | SINGLE, None, "random pairs from each: 1", 5),
    ({"n_items": 3} | ONCE, 1, "random pairs from each: 1", 5),
    (RANKS | {"max_answers": 7}, 5, "rankings from each: 5", 6),
    ({"only": 2}, 2, "random pairs from each: 2", 1),
])  # fmt: skip
def test_a_plan_says_what_it_simulated(case: Any, asked: Any, said: str, columns: int) -> None:
    promise, rng = Promise(**USUAL | case), np.random.default_rng(3)
    plan = planned(promise, 1200, answers=asked, replicates=64, rng=rng)
    noise = promise.noise()
    start = f"{promise.n_items} items, 1,200 people, {said}.\nNoise: {noise.words}"
    alone = promise.only is not None
    width = f"; no difference moves by more than {0 if alone else noise.width(0.05):,} net wins"
    assert plan.heading.startswith(start) and (width in plan.heading) == (not alone)
    assert plan.note.startswith("64 simulated data sets; standard errors are at most 6.2 perc")
    top = min(3, promise.n_items - 1)
    names = ("first place", f"top {top}", "order", "wrong pairs", "places open by noise")
    names = ("top 2",) if alone else (*names, "and by sample")[:columns]
    assert plan.columns == names and plan.values.shape == plan.errors.shape == (columns, 4)
    if not alone:  # what is right or wrong has the variance of a coin
        mean = plan.values[:3]
        assert plan.errors[:3] == pytest.approx(np.sqrt(mean * (1 - mean) / 63))
        worst = 100 * plan.errors[3].max() * np.sqrt(63 / 64)
        assert f", of wrong pairs {worst:.2g}" in plan.note


# Ranks and keys of a demonstration


def test_a_range_ends_where_the_width_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three items a lead apart, without noise: a lead of the width leaves both ranks open."""
    monkeypatch.setattr(Noise, "draw", lambda noise, rng: np.zeros(noise.n, dtype=np.int64))
    promise = Promise(**USUAL | {"n_items": 3, "max_answers": 1})
    noise = promise.noise()
    width = noise.width(0.025) + promise.sample_width(50, 0.025)
    for lead, ends in ((width, [(1, 2), (1, 3), (2, 3)]), (width + 1, [(1, 1), (2, 2), (3, 3)])):
        pairs = np.repeat([[0, 1], [1, 2]], lead, axis=0).T
        votes = Answers("comparisons", tuple("abc"), pairs, np.arange(2 * lead))
        ranked = rank_privately(
            votes, epsilon=1, protect="person", max_answers=1, people=50
        ).ranking
        assert [(row.likely_best, row.likely_worst) for row in ranked] == ends


def test_a_demonstration_keeps_answers_by_keys_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as those of a release: of two equal keys the earlier answer would be kept."""
    asked: list[Any] = []
    exact = Answers.exact
    monkeypatch.setattr(Answers, "exact", lambda *how: asked.append(how[1:]) or exact(*how))
    votes = Answers("comparisons", ("a", "b"), np.tile([[0], [1]], 2000), np.arange(2000) // 9)
    how = {"protect": "person", "max_answers": 3, "rng": np.random.default_rng(1)}
    rank_privately(votes, epsilon=1, **how)
    ((statistic, limit, keys),) = [how for how in asked if len(how) == 3]
    assert (statistic, limit, keys.dtype, np.unique(keys).size) == ("net", 3, np.uint64, 2000)
    # the largest of 2000 keys of 64 bits is below half of the range once in 2^2000
    assert log(keys.max(), 2) > 63
