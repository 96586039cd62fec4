"""The command ``dpbook rank``: your own data, ranked privately. It needs no book."""

from __future__ import annotations

import argparse
import csv
import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from glob import glob
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from dpbook.rank.files import BadFile
from dpbook.rank.ledger import Ledger, charge, fingerprint
from dpbook.rank.promise import Promise, exact_epsilon
from dpbook.rank.rank import rank_privately
from dpbook.rank.reading import Look, answers_of, look
from dpbook.rank.release import STATISTICS, TOGETHER, out_files, plain

FEW, MOST_PLANNED = 10, 100  # people who name an item; items of a plan beside a check
MOST_BYTES = 2**24  # of a list of items
_READING = "items_from_data unranked bad repeats encoding ties"
_PROMISED = "epsilon delta protect relation max_answers statistic only vouched"

_USAGE = """dpbook rank FILE... --items A,B,C --protect person --max-answers L --epsilon E [options]
       dpbook rank FILE... --items A,B,C --protect comparison --epsilon E [options]
       the first with --check to look at the data, with --plan and without FILE to plan"""
_ABOUT = """Rank items by the answers of real people, and publish the ranking under differential
privacy: noise hides what any one person answered, and you choose how well.

Before you look at the data, decide on the items, on --max-answers and on --epsilon.

The first line of FILE names its columns, separated by commas, semicolons or tabs:
  person,winner,loser          ann,tea,coffee            ann prefers tea to coffee
  person,first,second,winner   ann,tea,coffee,tie        the winner: one of both, its column, a tie
  person,ranking               ann,tea > coffee = mate   the best first; some may be left out
  person,1,2,3                 ann,tea,coffee,mate       the best first; cells may be empty
  person,tea,coffee,mate       ann,1,3,2                 the rank of each; also "Rank these [tea]"
  winner,loser,count           tea,coffee,37             how often tea won, nobody knows by whom
FILE is CSV, also as .gz, or Parquet (extra `release`); several files count as one; - is standard
input. Rows that cannot be used are left out, one by one: --check tells you which."""
_EXAMPLES = """examples:
  before there are data: what will the noise do to 10 items, 300 people, 5 answers each?
    dpbook rank --plan --items 10 --people 300 --protect person --max-answers 5 --epsilon 1
  release: ranking.csv, the statement ranking.privacy.json, and a page to show
    dpbook rank survey.csv --items tea,coffee,mate --protect person --max-answers 3 --epsilon 1 \\
        --out ranking.csv --report ranking.html --ledger spent.jsonl --budget 3
  an export with names of its own, ties, and letters of Windows
    dpbook rank forms.csv --columns person=E-Mail,first=Links,second=Rechts,winner=Besser \\
        --tie Unentschieden --encoding cp1252 --items-file items.txt \\
        --protect person --max-answers 3 --epsilon 1
  rankings (one of each person counts, unless --max-answers says more); only the best item
    dpbook rank rankings.csv --items tea,coffee,mate --protect person --epsilon 1 --only first"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    given = _parser().parse_args(argv)
    given.relation = given.relation.replace("-", "_")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a release is not lost for a letter
    try:
        (_plan if given.plan else _check if given.check else _rank)(given)
        sys.stdout.flush()
        return 0
    except KeyboardInterrupt:
        status, words = 130, "interrupted"
    except ValueError as error:
        private = "for your eyes only: " if isinstance(error, BadFile) else ""
        status, words = 2, private + _in_words(str(error))
    except ModuleNotFoundError as error:
        status, words = 1, f"{error.name} is missing: pip install '.[release]' in the sources"
    except MemoryError:
        status, words = 1, "the answers do not fit into memory"
    except BrokenPipeError:  # who read our output has gone, as in `dpbook rank ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # as a shell counts it
    except OSError as error:
        words = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        status = 2 if isinstance(error, FileNotFoundError | IsADirectoryError) else 1
    print(f"dpbook: {plain(words)}", file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    raw, said = argparse.RawDescriptionHelpFormatter, (_USAGE, _ABOUT, _EXAMPLES)
    parser = argparse.ArgumentParser("dpbook rank", *said, formatter_class=raw)
    group = parser.add_argument_group
    parser.add_argument("files", nargs="*", metavar="FILE", help="the answers; none with --plan")
    add = group("what is promised").add_argument
    words = "who is protected: all answers of a person whom FILE names, or any one comparison"
    add("--protect", required=True, choices=("person", "comparison"), help=words)
    add("--epsilon", metavar="E", help="from 1e-6 to 50, as 1/2; less is more private, 1 is usual")
    words = "how many answers of each person count, drawn at random"
    add("--max-answers", type=_whole, metavar="L", help=words)
    words = "a person's answers become any others or none; or (add-remove) are there or not: a "
    words += "weaker promise, half the noise"
    add("--relation", choices=("replace", "add-remove"), default="replace", help=words)
    add("--delta", metavar="D", default=0, help="how probably the promise may fail, as 1e-6")
    words = "FILE does not say who answered, but you vouch that nobody gave more than L answers"
    add("--vouch", dest="vouched", action="store_true", help=words)
    add = group("the items, a public list: one of").add_argument
    add("--items", metavar="A,B,C", help="all of them; a name with a comma in quotes: '\"x, y\",z'")
    add("--items-file", metavar="FILE", help="all of them, one on each line")
    words = "those that FILE names: NOT protected, one person can add a name"
    add("--items-from-data", action="store_true", help=words)
    add = group("how FILE is read").add_argument
    words = "what they are called in FILE: winner=Gewinner,person=E-Mail, or an item: tea=Q1_1; "
    words += "others are ignored"
    add("--columns", metavar="A=B,...", action="append", default=[], help=words)
    add("--tie", metavar="WORD", dest="ties", action="append", default=[], help="a tie, in FILE")
    words = "items that a ranking leaves out are below the others (default), or not compared"
    add("--unranked", choices=("below", "unknown"), default="below", help=words)
    words = "rows that cannot be used are left out (default), or the file is refused"
    add("--bad", choices=("drop", "refuse"), default="drop", help=words)
    words = "of a person's answers to the same pair one counts, at random (default), or each"
    add("--repeats", choices=("one", "keep"), default="one", help=words)
    add("--encoding", default="utf-8", metavar="NAME", help="as cp1252 (default: utf-8)")
    add("--scheduler", metavar="ADDRESS", help="of a Dask cluster that reads and counts")
    add = group("what is released").add_argument
    words = "net: wins minus losses; pairs: strengths, if some items are compared far more often"
    add("--release", dest="statistic", choices=tuple(STATISTICS), default="net", help=words)
    add("--only", type=_only, metavar="first|top:3", help="only the best, which takes less noise")
    words = "how many people answered, if that is public: also gives ranks in all people"
    add("--people", type=_whole, metavar="N", help=words)
    words = "who draws the noise (default: book; opendp needs the extra `release`)"
    add("--sampler", choices=("book", "opendp"), default="book", help=words)
    add("--out", metavar="CSV", help="a table for spreadsheets, and the statement beside it")
    add("--report", metavar="HTML", help="a page for it, to show and to print")
    add("--force", action="store_true", help="let --out and --report replace files")
    words = "a private file that adds up what you release of the same data"
    add("--ledger", metavar="FILE", help=words)
    add("--budget", metavar="E", help="what the epsilons in the ledger may add up to for good")
    add = group("instead of a release").add_argument
    add("--check", action="store_true", help="what FILE holds and a release would leave out")
    kinds = ("comparisons", "rankings", "counts")
    words = "what the noise will do, without data: --items 10 is enough, and --people"
    add("--plan", nargs="?", choices=kinds, const=kinds[0], help=words)
    add("--plot", metavar="FILE", help="with --plan: a picture, as plan.png")
    return parser


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:11]) <= 10**9:
        raise argparse.ArgumentTypeError(f"{text!r:.60} is not a whole number from 1 to 10**9")
    return int(text)


def _only(text: str) -> int:
    return 1 if text == "first" else _whole(text.removeprefix("top:"))


def _some(given: argparse.Namespace, names: str) -> dict[str, Any]:
    return {name: getattr(given, name) for name in names.split()}


def _rank(given: argparse.Namespace) -> None:
    """Release; what cannot be written is shown, since it has been spent."""
    files = _files(given)
    exact_epsilon(given.epsilon)
    targets = _targets(given, files)
    ledger = given.ledger and Ledger(given.ledger, fingerprint(files))
    how = _how(given) | {"scheduler": given.scheduler, "progress": _progress()}
    answers = answers_of(files, given.relation, **how)
    options = _some(given, f"{_PROMISED} people sampler budget")
    release = rank_privately(answers, ledger=ledger, **options)
    lost = None
    try:
        release.write(given.out, force=given.force, report=given.report)
    except (OSError, ValueError) as error:
        lost = error
    print(release, "", *release.short, sep="\n")
    if release.spent:
        print(f"By {given.ledger}: {release.spent}.")
    if lost is not None:
        print(f"\nThe files could not be written. This is what they would hold:\n{release.json()}")
        raise lost
    written = ", ".join(map(str, targets))
    print(f"Written: {written}" if written else "--out and --report write the whole statement.")


def _check(given: argparse.Namespace) -> None:
    """What the keeper of the data wants to know before a release, and nobody else may."""
    files, epsilon = _files(given), given.epsilon
    found = look(files, progress=_progress(), **_how(given))
    answers, given.epsilon = found.answers, epsilon or "1"
    facts = _some(given, f"{_PROMISED} repeats") | {"has_persons": answers.person is not None}
    promise = Promise(answers.kind, len(answers.items), halves=answers.halves, **facts)
    noise, miss, scored = promise.noise(given.sampler), 1 - TOGETHER, promise.statistic == "net"
    if given.people:
        promise.sample_width(given.people, miss)
    _targets(given, files)
    if given.ledger:
        charge(given.ledger, promise, budget=given.budget, dry=True)
    if given.bad == "refuse" and found.found.number:
        raise BadFile(f"--bad refuse:\n{found.found}")
    print("For your eyes only: nothing here is private, and you may not choose a limit by it.")
    print(*map(plain, _facts(found, given.max_answers)), sep="\n")
    if epsilon:
        print(f"The noise for epsilon = {promise.epsilon}, which is public: {noise.words}.")
        if scored and promise.only is None:
            print(f"It moves leads by up to {noise.width(miss)}, with probability {TOGETHER}.")
        if scored and given.people and len(answers.items) <= MOST_PLANNED:
            from dpbook.rank.plan import planned

            plan = planned(promise, given.people, rng=np.random.default_rng(0))
            print("", plan, "", sep="\n")
    print(f"This can be ranked{'' if epsilon else ' with an --epsilon'}.")


def _facts(found: Look, limit: int | None) -> Iterator[str]:
    answers, data, named = found.answers, found.answers.data, found.persons
    what = "rankings" if answers.kind == "rankings" else "answers"
    number = data.sum() if answers.kind == "counts" else data.shape[answers.kind == "comparisons"]
    yield f"{answers.kind}: {number} {what} on {len(answers.items)} items"
    if answers.person is not None:
        each = answers.answers_of_each()
        few, many = (each.min(), each.max()) if each.size else (0, 0)
        yield f"{each.size} people, {few} to {many} {what} each"
        if limit:
            more = each[each > limit] - limit
            lost = f"{more.sum()} {what} would be left out"
            yield f"{more.size} people gave more than {limit}: {lost}"
    if found.found.number:
        yield from ("This would be left out:", *str(found.found).splitlines())
    unlisted = [f"{name!r} {count}" for name, count in found.found.unlisted.most_common(20)]
    yield from [f"Not on the list of items: {', '.join(unlisted)}"] if unlisted else []
    yield from (f"These differ only in case or blanks: {names}" for names in found.alike)
    who = "people" if named is not None else "answers"
    if named is None and answers.kind == "counts":
        named = data.sum(axis=0) + data.sum(axis=1)
    elif named is None:
        named = np.bincount(data.ravel(), minlength=len(answers.items))
    each_named = list(zip(answers.items, named.tolist(), strict=True))
    every, rare = (
        ", ".join(f"{item} {count}" for item, count in each_named if count < most)
        for most in (np.inf, FEW)
    )
    yield f"The items, and how many {who} name each: {every}"
    yield f"Named by fewer than {FEW} {who}: {rare or 'none'}"


def _plan(given: argparse.Namespace) -> None:
    """What the noise would do, from public facts alone."""
    from dpbook.rank.plan import planned

    if given.files or given.people is None or not (given.items or given.items_file):
        raise ValueError("--plan: allowed is no FILE, but --people, and --items, as names or as 10")
    items = given.items or ""
    n = int(items[:6]) if items.isdecimal() else len(_items(given) or ())
    facts = _some(given, f"{_PROMISED} repeats") | {"has_persons": given.plan != "counts"}
    promise = Promise(given.plan, n, **facts)
    print(plan := planned(promise, given.people, rng=np.random.default_rng(0)))
    if given.plot:
        plan.plot(given.plot)


def _files(given: argparse.Namespace) -> list[str]:
    """The files by name; a pattern in quotes stands for all that fit it."""
    if not given.files:
        raise ValueError("FILE is missing: allowed is one file or more, or - for standard input")
    known = ("-", *filter(os.path.exists, given.files))
    return [f for name in given.files for f in (name not in known and sorted(glob(name))) or [name]]


def _targets(given: argparse.Namespace, files: list[str]) -> tuple[Path, ...]:
    """Where to write, tried by writing; nothing is written over another thing of the command."""
    if given.budget is not None and given.ledger is None:
        raise ValueError(f"--budget = {given.budget}: allowed is with --ledger, which adds up")
    targets = out_files(given.out, force=given.force, report=given.report)
    named = [os.path.realpath(p) for p in (*files, *targets, given.ledger, given.items_file) if p]
    if twice := [name for name in named if named.count(name) > 1]:
        allowed = "allowed are different names for FILE, --out, --report and --ledger"
        raise ValueError(f"{os.path.basename(twice[0])} is named twice: {allowed}")
    return targets


def _how(given: argparse.Namespace) -> dict[str, Any]:
    """How the files are read."""
    columns = {}
    for part in chain.from_iterable(csv.reader(given.columns, skipinitialspace=True)):
        role, _, name = map(str.strip, part.partition("="))
        if not role or not name:
            raise ValueError(f"--columns {part!r:.60}: allowed is as winner=Gewinner,person=E-Mail")
        columns[role] = name
    return _some(given, _READING) | {"items": _items(given), "columns": columns}


def _items(given: argparse.Namespace) -> list[str] | None:
    if given.items is not None and given.items_file is not None:
        raise ValueError("--items and --items-file are both given: allowed is one of them")
    if given.items is not None:
        return next(csv.reader([given.items], skipinitialspace=True), [])
    if given.items_file is None:
        return None
    with open(given.items_file, "rb") as file:
        raw = file.read(MOST_BYTES + 1)  # a device may have no end
    text = raw.decode("utf-8-sig", "replace")
    if len(raw) > MOST_BYTES or "\ufffd" in text:
        raise BadFile(f"{given.items_file}: allowed is UTF-8, and up to {MOST_BYTES} bytes")
    return [line for line in text.splitlines() if line.strip()]


def _progress() -> Callable[[float], None] | None:
    """A bar for people, from the third second on."""
    began = monotonic()

    def show(share: float) -> None:
        if monotonic() - began > 2:
            bar, end = f"[{'#' * int(25 * share):25}]", "\n" if share == 1 else ""
            print(f"\rreading {bar} {share:.0%}", end=end, file=sys.stderr, flush=True)

    return show if sys.stderr.isatty() else None


def _in_words(message: str) -> str:
    """A message of the package in the words of the command."""
    message = re.sub(r"\S+ \((--[^)]+)\)", r"\1", message)  # as in: vouched=True (--vouch)
    message = message.replace("max_answers", "--max-answers").replace("statistic", "--release")
    names = "epsilon|delta|protect|relation|sampler|only|people|budget|encoding|unranked|repeats"
    return re.sub(rf"\b({names})(?= = )", r"--\1", message.replace("add_remove", "add-remove"))
