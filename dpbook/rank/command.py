"""The command ``dpbook rank``: your own data, ranked privately. It needs no book."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from dpbook.rank.promise import exact_epsilon
from dpbook.rank.rank import rank_privately
from dpbook.rank.reading import MOST_BYTES, Answers, BadFile, read_answers
from dpbook.rank.release import STATISTICS, out_files

_ABOUT = """Rank items by the answers of real people under differential privacy.

The first line of FILE names the columns:
  person,winner,loser     comparisons (single comparisons can be protected without person)
  person,ranking          whole rankings, as: ann,tea > coffee > water
  person,1,2,3            whole rankings, the first place first
  winner,loser,count      counts, one line for each winner and loser"""
_EXAMPLES = """examples:
  dpbook rank answers.csv --protect person --max-answers 20 --check
                              say what the file holds, for your eyes only; release nothing
  dpbook rank answers.csv --protect person --epsilon 1 --max-answers 20 --out ranking.csv
  dpbook rank counts.csv --protect comparison --epsilon 1/2 --ledger spent.jsonl"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    given = _parser().parse_args(argv)
    try:
        status = _rank(given)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("\ndpbook: interrupted", file=sys.stderr)
        return 130
    except ValueError as error:
        print(f"dpbook: {_in_words(str(error))}", file=sys.stderr)
        return 2
    except MemoryError:
        print("dpbook: the answers do not fit into memory", file=sys.stderr)
        return 1
    except BrokenPipeError:  # who read our output has gone, as in `dpbook rank ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # as a shell counts it
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        print(f"dpbook: {what}", file=sys.stderr)
        return 2 if isinstance(error, FileNotFoundError | IsADirectoryError) else 1


def _parser() -> argparse.ArgumentParser:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("dpbook rank", None, _ABOUT, _EXAMPLES, formatter_class=plain)
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="CSV in UTF-8")
    words = "who is protected: all answers of a person, or any one comparison"
    add("--protect", required=True, choices=("person", "comparison"), help=words)
    words = "the privacy parameter, from 1e-6 to 50, as 0.5 or 1/2; smaller is more private"
    add("--epsilon", metavar="E", help=words)
    words = "how many answers of each person count; fix it before you look at the data"
    add("--max-answers", type=_positive, metavar="L", help=words)
    add("--items", metavar="A,B,C", help="all items; otherwise they are taken from the file")
    add("--items-file", type=Path, metavar="FILE", help="the same, one item on each line")
    words = "; ".join(f"{key}: {what}" for key, what in STATISTICS.items())
    add("--release", choices=tuple(STATISTICS), help=f"what is released with noise ({words})")
    add("--out", type=Path, metavar="CSV", help="write the ranking here, and a statement beside it")
    add("--force", action="store_true", help="let --out replace files")
    words = "add up the releases of the same data; keep one private file for each data set"
    add("--ledger", type=Path, metavar="FILE", help=words)
    words = "for counts: you vouch that nobody gave more than L answers"
    add("--vouch", action="store_true", help=words)
    words = "if a person answers a pair twice, refuse the file or keep both (default: refuse)"
    add("--repeats", choices=("refuse", "keep"), default="refuse", help=words)
    words = "who draws the noise (default: book; opendp needs the extra `release`)"
    add("--sampler", choices=("book", "opendp"), default="book", help=words)
    words = "say what the file holds, for your eyes only, and release nothing"
    add("--check", action="store_true", help=words)
    return parser


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 10**9")
    return int(text)


def _rank(given: argparse.Namespace) -> int:
    items = _items(given)
    if given.check:
        print(_checked(read_answers(given.file, items=items, repeats=given.repeats), given))
        return 0
    if given.epsilon is None:
        raise ValueError("--epsilon is missing: allowed is a number from 1e-6 to 50, or --check")
    epsilon = exact_epsilon(given.epsilon)
    if given.out:
        out_files(given.out, force=given.force)
    release = rank_privately(
        read_answers(given.file, items=items, repeats=given.repeats),
        epsilon=epsilon,
        protect=given.protect,
        max_answers=given.max_answers,
        statistic=given.release,
        vouched=given.vouch,
        sampler=given.sampler,
        ledger=given.ledger,
    )
    written = release.write(given.out, force=given.force) if given.out else ()
    print(release, release.statement, sep="\n\n")
    if release.spent:
        sums = (
            f"{float(e):g} to protect a {who}, in {k} release{'s' * (k > 1)}"
            for who, (k, e) in release.spent.items()
        )
        print(f"\nepsilon spent on these data, by {given.ledger}: {', '.join(sums)}")
    if written:
        print(f"\nwritten: {', '.join(map(str, written))}")
    return 0


def _items(given: argparse.Namespace) -> list[str] | None:
    if given.items is not None and given.items_file is not None:
        raise ValueError("--items and --items-file are both given: allowed is one of them")
    if given.items is not None:
        return list(given.items.split(","))
    if given.items_file is None:
        return None
    with open(given.items_file, "rb") as file:
        raw = file.read(MOST_BYTES + 1)  # a device may have no end
    if len(raw) > MOST_BYTES:
        raise BadFile(f"{given.items_file}: longer than allowed, {MOST_BYTES} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFile(f"{given.items_file}: byte {error.start + 1} is not UTF-8") from None
    return [line for line in text.splitlines() if line.strip()]


def _checked(answers: Answers, given: argparse.Namespace) -> str:
    """What the keeper of the data wants to know before a release, and nobody else may."""
    n = answers.data.shape[1 if answers.kind == "comparisons" else 0]
    number = int(answers.data.sum()) if answers.kind == "counts" else n
    what = "rankings" if answers.kind == "rankings" else "answers"
    lines = [
        "For your eyes only: nothing here is private, and you may not choose a limit by it.",
        f"{answers.kind}: {number} {what} on {len(answers.items)} items",
    ]
    if answers.person is not None:
        each = answers.answers_of_each()
        lines.append(f"{each.size} people, {each.min()} to {each.max()} {what} each")
        if given.max_answers:
            above = each[each > given.max_answers]
            lost = int((above - given.max_answers).sum())
            lines.append(f"{above.size} people above {given.max_answers}: {lost} would be left out")
    lines.append("The file can be ranked.")
    return "\n".join(lines)


def _in_words(message: str) -> str:
    """A message of the package in the words of the command."""
    for name, option in {
        "max_answers": "--max-answers",
        "vouched=True (--vouch)": "--vouch",
        "statistic": "--release",
        "--force (force=True)": "--force",
        "--repeats keep (repeats='keep')": "--repeats keep",
    }.items():
        message = message.replace(name, option)
    for name in ("epsilon", "protect", "sampler"):
        if message.startswith(f"{name} "):
            return f"--{message}"
    return message
