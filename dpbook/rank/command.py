"""The command ``dpbook rank``: your own data, ranked privately. It needs no book."""

from __future__ import annotations

import argparse
import csv
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from glob import glob
from pathlib import Path
from time import monotonic
from typing import Any

from dpbook.rank.answers import Answers
from dpbook.rank.ledger import Ledger, budget_of, fingerprint
from dpbook.rank.promise import Promise
from dpbook.rank.rank import exact_epsilon, rank_privately
from dpbook.rank.reading import MOST_BYTES, BadFile, Look, look, read_answers
from dpbook.rank.release import STATISTICS, out_files, plain

_ABOUT = """Rank items by the answers of real people, and publish the ranking under differential
privacy: noise hides what any one person answered, and you choose how well.

Decide before you look at the data: the items, --max-answers and --epsilon.

FILE has one line for each answer. Its first line names the columns and so says what it holds
(commas, semicolons or tabs; CSV, CSV packed as .gz, or Parquet with the extra `release`):
  person,winner,loser          one comparison on each line
  person,first,second,winner   the same, where winner may also be a tie
  person,ranking               a ranking of all items or some: ann,tea > coffee = mate > water
  person,1,2,3                 the same, best item first; what is left out ranks below
  person,tea,coffee,mate       a column for each item, which holds its rank (a form's export)
  winner,loser,count           how often each item won; only comparisons, no persons
Several files count as one; - is standard input. Rows that cannot be used are left out."""
_EXAMPLES = """examples:
  what the noise would do, before there are data: 10 items, 300 people, 5 answers each
    dpbook rank --plan --items 10 --people 300 --max-answers 5 --protect person --epsilon 1
  what a file holds and what would be left out, for your eyes only; this releases nothing
    dpbook rank survey.csv --items tea,coffee,mate --protect person --max-answers 3 --check
  a survey of comparisons: ranking.csv, its statement ranking.privacy.json, and a web page
    dpbook rank survey.csv --items tea,coffee,mate --protect person --max-answers 3 --epsilon 1 \\
        --out ranking.csv --report ranking.html --ledger spent.jsonl --budget 3
  an export with other names of columns, ties, and semicolons
    dpbook rank forms.csv --columns person=E-Mail,first=Links,second=Rechts,winner=Besser \\
        --tie Unentschieden --encoding cp1252 --items-file items.txt --protect person \\
        --max-answers 3 --epsilon 1
  rankings, one of each person (--max-answers is 1 unless you say more)
    dpbook rank rankings.csv --items tea,coffee,mate --protect person --epsilon 1
  the best three items only, with less noise
    dpbook rank survey.csv --items-file items.txt --protect person --max-answers 3 --epsilon 1 \\
        --only top:3
  counts: nobody knows who answered what, so that single comparisons are protected
    dpbook rank counts.csv --items tea,coffee,mate --protect comparison --epsilon 1/2"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    given = _parser().parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a release is not lost for a letter
    try:
        status = _plan(given) if given.plan else _check(given) if given.check else _rank(given)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("\ndpbook: interrupted", file=sys.stderr)
        return 130
    except ValueError as error:
        private = "for your eyes only: " if isinstance(error, BadFile) else ""
        print(f"dpbook: {private}{plain(_in_words(str(error)))}", file=sys.stderr)
        return 2
    except MemoryError:
        print("dpbook: the answers do not fit into memory", file=sys.stderr)
        return 1
    except BrokenPipeError:  # who read our output has gone, as in `dpbook rank ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # as a shell counts it
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        print(f"dpbook: {plain(what)}", file=sys.stderr)
        return 2 if isinstance(error, FileNotFoundError | IsADirectoryError) else 1


def _parser() -> argparse.ArgumentParser:
    plain_text = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "dpbook rank", None, _ABOUT, _EXAMPLES, formatter_class=plain_text
    )

    def group(title: str) -> Callable[..., argparse.Action]:
        return parser.add_argument_group(title).add_argument

    parser.add_argument("files", nargs="*", metavar="FILE", help="the answers; none for --plan")
    add = group("what is promised")
    words = "who is protected: all answers of a person, or any one comparison"
    add("--protect", required=True, choices=("person", "comparison"), help=words)
    words = "the privacy parameter, from 1e-6 to 50, as 0.5 or 1/2; smaller is more private"
    add("--epsilon", metavar="E", help=words)
    words = "how many answers of each person count (whole rankings for rankings), at random"
    add("--max-answers", type=_whole, metavar="L", help=words)
    words = "allow another chance of so much, as 1e-6, if it makes the noise smaller (default: 0)"
    add("--delta", metavar="D", default="0", help=words)
    words = "another's data have other answers of a person in the place of theirs, or none or more "
    words += "(add-remove; half the noise, and half the protection)"
    add("--relation", choices=("replace", "add-remove"), default="replace", help=words)
    words = "FILE has no persons, but you vouch that nobody gave more than L answers"
    add("--vouch", action="store_true", help=words)
    add = group("the items: public, so one of these is needed")
    words = "all of them (quote a name that holds a comma: '\"tea, green\",mate')"
    add("--items", metavar="A,B,C", help=words)
    add("--items-file", type=Path, metavar="FILE", help="the same, one item on each line")
    words = "take them from FILE: then their list is NOT protected, and one person can add a name"
    add("--items-from-data", action="store_true", help=words)
    add = group("how FILE is read")
    words = "names of columns in FILE, as winner=Gewinner,person=E-Mail, or tea='Question 3 [Tea]'"
    add("--columns", metavar="A=B,...", action="append", default=[], help=words)
    words = "a word for a tie in FILE; may be given again (English ones are known)"
    add("--tie", metavar="WORD", action="append", default=[], help=words)
    words = "items that a ranking leaves out are below the others, or nothing is known of them"
    add("--unranked", choices=("below", "unknown"), default="below", help=words)
    words = "leave out rows that cannot be used, or refuse the whole file (default: drop)"
    add("--bad", choices=("drop", "refuse"), default="drop", help=words)
    words = "if a person answers a pair again, one answer counts, at random, or each (default: one)"
    add("--repeats", choices=("one", "keep"), default="one", help=words)
    add("--encoding", default="utf-8", metavar="NAME", help="such as cp1252 (default: utf-8)")
    words = "count on a Dask cluster, each worker a part of the people"
    add("--scheduler", metavar="ADDRESS", help=words)
    add = group("what is released")
    words = "; ".join(f"{key}: {what}" for key, what in STATISTICS.items())
    add("--release", choices=tuple(STATISTICS), default="net", help=f"{words} (default: net)")
    words = "only the best item, or the set of the best three; no numbers, and less noise"
    add("--only", type=_only, metavar="first|top:3", help=words)
    words = "how many people answered, if this is public: ranks for all people, too"
    add("--people", type=_whole, metavar="N", help=words)
    words = "who draws the noise (default: book; opendp needs the extra `release`)"
    add("--sampler", choices=("book", "opendp"), default="book", help=words)
    words = "write the ranking here, and the statement beside it as .privacy.json"
    add("--out", type=Path, metavar="CSV", help=words)
    add("--report", type=Path, metavar="HTML", help="write a page to show and to print")
    add("--force", action="store_true", help="let --out and --report replace files")
    words = "add up the releases of the same data; keep one private file for each data set"
    add("--ledger", type=Path, metavar="FILE", help=words)
    words = "refuse releases that would take the sum of epsilons in the ledger above this; it is "
    words += "kept in the ledger (an add-remove release counts twice)"
    add("--budget", metavar="E", help=words)
    add = group("instead of a release")
    words = "say what FILE holds and what would be left out, for your eyes only"
    add("--check", action="store_true", help=words)
    words = "say what the noise would do, without data; give --items 10 for ten items"
    kinds = ("comparisons", "rankings", "counts")
    add("--plan", nargs="?", choices=kinds, const=kinds[0], help=words)
    add("--plot", type=Path, metavar="FILE", help="with --plan: a picture, as plan.png")
    return parser


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:11]) <= 10**9:
        raise argparse.ArgumentTypeError(f"{text!r:.60} is not a whole number from 1 to 10**9")
    return int(text)


def _only(text: str) -> int:
    return 1 if text == "first" else _whole(text.removeprefix("top:"))


def _promise(given: argparse.Namespace, n_items: int, **facts: Any) -> Promise:
    """What the options promise for such data; refused if it cannot be released."""
    if given.epsilon is None:
        raise ValueError("--epsilon is missing: allowed is a number from 1e-6 to 50")
    return Promise(
        n_items=n_items,
        protect=given.protect,
        epsilon=exact_epsilon(given.epsilon),
        delta=given.delta,
        relation=given.relation.replace("-", "_"),
        max_answers=given.max_answers,
        repeats=given.repeats,
        statistic=given.release,
        only=given.only,
        vouched=given.vouch,
        **facts,
    )


def _rank(given: argparse.Namespace) -> int:
    files, items = _files(given.files), _items(given)
    promise_less = exact_epsilon(given.epsilon) if given.epsilon else _promise(given, 2)
    _apart(given, files)
    ledger = given.ledger and Ledger(given.ledger, None if "-" in files else fingerprint(files))
    release = rank_privately(
        _source(given, files, items),
        epsilon=promise_less,
        protect=given.protect,
        max_answers=given.max_answers,
        relation=given.relation.replace("-", "_"),
        delta=given.delta,
        statistic=given.release,
        only=given.only,
        vouched=given.vouch,
        people=given.people,
        sampler=given.sampler,
        ledger=ledger,
        budget=given.budget,
    )
    failed: Exception | None = None
    written: tuple[Path, ...] = ()
    try:
        written = release.write(given.out, force=given.force, report=given.report)
    except (OSError, ValueError) as error:
        failed = error
    print(release, *release.short, sep="\n")
