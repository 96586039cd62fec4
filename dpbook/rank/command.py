"""The command ``dpbook rank``: your own data, ranked privately. It needs no book."""

from __future__ import annotations

import argparse
import csv
import io
import os
import re
import sys
from collections.abc import Sequence
from glob import glob
from importlib.resources import files as resources
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from dpbook.rank.facts import facts
from dpbook.rank.ledger import charge
from dpbook.rank.names import BadFile, plain
from dpbook.rank.noise import Noise
from dpbook.rank.promise import Promise, exact_epsilon
from dpbook.rank.rank import AfterTheDraw, rank_privately
from dpbook.rank.reading import look
from dpbook.rank.release import out_files
from dpbook.rank.statement import TOGETHER

MOST_PLANNED = 100  # items of a plan beside a check
MOST_BYTES = 2**24  # of a list of items
_READING = (
    "items_from_data layout unranked bad repeats encoding separator header_lines line_breaks ties "
    "missing between"
)
_PROMISED = "epsilon delta protect relation max_answers statistic only vouched"


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
    except AfterTheDraw as error:
        status, words = 1, str(error)
    except BrokenPipeError:  # who read our output has gone, as in `dpbook rank ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # as a shell counts it
    except OSError as error:
        words = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        status = 2 if isinstance(error, FileNotFoundError | IsADirectoryError) else 1
    print(f"dpbook: {plain(words)}", file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    usage, about, examples = _text("help.txt").split("\n---\n")
    parser = argparse.ArgumentParser(
        "dpbook rank",
        usage=usage,
        description=about,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="the answers; none with --plan")
    for block in _text("options.txt").split("\n\n")[1:]:
        title, *lines = block.splitlines()
        group = parser.add_argument_group(title)
        for line in lines:
            names, form, without, words = line.split(" | ", 3)
            name, *called = names.split()
            _add(group, name, dest=called, form=form, without=without, words=words)
    kinds = ("comparisons", "rankings", "counts")
    words = "what the noise will do, without data: --items 10 is enough, and --people"
    group.add_argument("--plan", nargs="?", choices=kinds, const=kinds[0], help=words)
    return parser


def _add(group: Any, name: str, *, dest: list[str], form: str, without: str, words: str) -> None:
    """One option of ``options.txt``."""
    how: dict[str, Any] = {"help": words}
    if dest:
        how["dest"] = dest[0]
    if form == "-":
        group.add_argument(name, action="store_true", **how)
        return
    how["metavar"] = form.strip("+")
    how["type"] = {"N": _whole, "K": _only, "SIGN": _separator}.get(form, str)
    if form.endswith("+"):
        how |= {"action": "append", "default": []}
    elif "," in form and "." not in form:
        how |= {"choices": form.split(","), "metavar": None}
    if without == "!":
        how["required"] = True
    elif without != "-":
        how["default"] = without
    group.add_argument(name, **how)


def _text(name: str) -> str:
    return resources("dpbook.rank").joinpath(name).read_text(encoding="utf-8")


def _separator(text: str) -> str:
    return "\t" if text in ("tab", "\\t") else text


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
    options = _some(given, f"{_PROMISED} people sampler budget ledger scheduler")
    release = rank_privately(files, **options, **_how(given))
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
    files = _files(given)
    found = look(files, **_how(given))
    answers = found.answers
    promise = _promise(
        given,
        kind=answers.kind,
        n_items=len(answers.items),
        halves=answers.halves,
        has_persons=answers.has_persons,
    )
    noise = promise.noise(given.sampler)
    if given.people:
        promise.sample_width(given.people, 1 - TOGETHER)
    _targets(given, files)
    if given.ledger:
        charge(given.ledger, promise, budget=given.budget, dry=True)
    if given.bad == "refuse" and found.found.number:
        raise BadFile(f"--bad refuse:\n{found.found}")
    print("For your eyes only: nothing here is private, and you may not choose a limit by it.")
    print(*map(plain, facts(found, given.max_answers)), sep="\n")
    if given.epsilon:
        _print_noise(given, promise, noise)
    print(f"This can be ranked{'' if given.epsilon else ' with an --epsilon'}.")


def _print_noise(given: argparse.Namespace, promise: Promise, noise: Noise) -> None:
    print(f"The noise for epsilon = {promise.epsilon}, which is public: {noise.words}.")
    if promise.statistic == "pairs" or promise.only is not None:
        return
    print(f"It moves leads by up to {noise.width(1 - TOGETHER)}, with probability {TOGETHER}.")
    if given.people and promise.n_items <= MOST_PLANNED:
        from dpbook.rank.plan import planned

        print("", planned(promise, given.people, rng=np.random.default_rng(0)), "", sep="\n")


def _promise(given: argparse.Namespace, **about: Any) -> Promise:
    """What is asked for, for such data; without an epsilon, for 1."""
    asked = _some(given, f"{_PROMISED} repeats") | about
    asked["epsilon"] = given.epsilon or "1"
    return Promise.of(**asked)


def _plan(given: argparse.Namespace) -> None:
    """What the noise would do, from public facts alone."""
    from dpbook.rank.plan import choices_of_epsilon, planned

    if given.files or not (given.items or given.items_file):
        raise ValueError("--plan: allowed is no FILE, but --people, and --items, as names or as 10")
    items = given.items or ""
    n = int(items[:6]) if items.isdecimal() else len(_items(given) or ())
    about = {"kind": given.plan, "n_items": n, "has_persons": given.plan != "counts"}
    promise = _promise(given, **about)
    rng = np.random.default_rng(0)
    if given.epsilon is None or given.people is None:
        print(choices_of_epsilon(promise, rng=rng))
        return
    print(planned(promise, given.people, rng=rng))


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
    return _some(given, _READING) | {
        "items": _items(given),
        "columns": _pairs("--columns", given.columns, "winner=Gewinner,person=E-Mail"),
        "labels": _pairs("--labels", given.labels, "A1=tea,A2=mate"),
    }


def _pairs(option: str, given: list[str], example: str) -> dict[str, str]:
    """What stands on both sides of each sign of equality."""
    found = {}
    for part in chain.from_iterable(csv.reader(given, skipinitialspace=True)):
        role, _, name = map(str.strip, part.partition("="))
        if not role or not name:
            raise ValueError(f"{option} {part!r:.60}: allowed is as {example}")
        found[role] = name
    return found


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


def _in_words(message: str) -> str:
    """A message of the package in the words of the command."""
    message = re.sub(r"\S+ \((--[^)]+)\)", r"\1", message)  # as in: vouched=True (--vouch)
    message = message.replace("max_answers", "--max-answers").replace("statistic", "--release")
    names = "epsilon|delta|protect|relation|sampler|only|people|budget|encoding|unranked|repeats"
    names += "|separator|between"
    return re.sub(rf"\b({names})(?= = )", r"--\1", message.replace("add_remove", "add-remove"))
