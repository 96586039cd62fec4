"""The command ``dpbook rank``: your own data, ranked privately. It needs no book."""

from __future__ import annotations

import argparse
import csv
import io
import os
import sys
import tomllib
from collections.abc import Sequence
from importlib.resources import files as resources
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from dpbook.rank.facts import facts
from dpbook.rank.names import BadFile, plain
from dpbook.rank.promise import Promise
from dpbook.rank.rank import AfterTheDraw, rank_privately
from dpbook.rank.reading import look
from dpbook.rank.release import out_files
from dpbook.rank.statement import TOGETHER

_READING = (
    "items_from_data layout unranked repeats encoding separator header_lines line_breaks ties "
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
        if given.plan:
            _plan(given)
        elif given.check:
            _check(given)
        else:
            _rank(given)
        sys.stdout.flush()
        return 0
    except BrokenPipeError:  # who read our output has gone, as in `dpbook rank ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # as a shell counts it
    except (ValueError, OSError, ImportError, MemoryError, AfterTheDraw) as error:
        words = str(error)
        if isinstance(error, BadFile):
            words = f"for your eyes only: {words}"
        if isinstance(error, ModuleNotFoundError):
            words = f"{error.name} is missing: pip install '.[release]' in the sources"
        print(f"dpbook: {plain(words)}", file=sys.stderr)
        refused = (ValueError, FileNotFoundError, IsADirectoryError)
        return 2 if isinstance(error, refused) else 1


def _parser() -> argparse.ArgumentParser:
    usage, about, examples = _text("help.txt").split("\n---\n")
    parser = argparse.ArgumentParser(
        "dpbook rank",
        usage=usage,
        description=about,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name, read in {"int": int, "only": _only, "separator": _separator}.items():
        parser.register("type", name, read)
    parser.add_argument("files", nargs="*", metavar="FILE", help="the answers; none with --plan")
    for title, options in tomllib.loads(_text("options.toml")).items():
        group = parser.add_argument_group(title)
        for name, how in options.items():
            group.add_argument(name, **how)
    return parser


def _text(name: str) -> str:
    return resources("dpbook.rank").joinpath(name).read_text(encoding="utf-8")


def _only(text: str) -> int:
    return int(text.removeprefix("top:").replace("first", "1"))


def _separator(text: str) -> str:
    return text.replace("tab", "\t")


def _some(given: argparse.Namespace, names: str) -> dict[str, Any]:
    return {name: getattr(given, name) for name in names.split()}


def _rank(given: argparse.Namespace) -> None:
    """Release; what cannot be written is shown, since it has been spent."""
    targets = _targets(given)
    options = _some(given, f"{_PROMISED} people sampler budget ledger scheduler")
    release = rank_privately(given.files, **options, **_how(given))
    lost = None
    try:
        release.write(given.out, force=given.force, report=given.report)
    except Exception as error:  # whatever it is: what was drawn is shown
        lost = error
    print(release, "", *release.short, sep="\n")
    if release.spent:
        print(f"By {given.ledger}: {release.spent}.")
    if lost:
        print(f"\nThe files could not be written. This is what they would hold:\n{release.json()}")
        raise lost
    written = ", ".join(map(str, targets))
    print(f"Written: {written or 'nothing; --out and --report write the whole statement'}.")


def _check(given: argparse.Namespace) -> None:
    """What the keeper of the data wants to know before a release, and nobody else may."""
    _targets(given)
    found = look(given.files, **_how(given))
    asked = _some(given, _PROMISED) | {"epsilon": given.epsilon or "1"}
    promise = Promise.about(found.answers, **asked)
    noise = promise.noise(given.sampler)
    if given.people:
        promise.sample_width(given.people, 1 - TOGETHER)
    print("For your eyes only: nothing here is private, and you may not choose a limit by it.")
    print(*map(plain, facts(found, given.max_answers)), sep="\n")
    print(f"The noise for epsilon = {promise.epsilon}, which is public: {noise.words}.")
    if (promise.statistic, promise.only) == ("net", None):
        print(f"It moves leads by up to {noise.width(1 - TOGETHER)}, with probability {TOGETHER}.")
    print("This can be ranked.")


def _plan(given: argparse.Namespace) -> None:
    """What the noise would do, from public facts alone."""
    from dpbook.rank.plan import planned

    items = _items(given)
    if given.files or not items or not given.people:
        raise ValueError("--plan: allowed is no FILE, but --people, and --items, as names or as 10")
    n = len(items)
    if n == 1 and items[0].isdecimal():
        n = int(items[0])
    asked = _some(given, f"{_PROMISED} repeats")
    promise = Promise.of(kind=given.plan, n_items=n, **asked)
    print(planned(promise, given.people, rng=np.random.default_rng(0)))


def _targets(given: argparse.Namespace) -> list[Path]:
    """Where to write, tried by writing; nothing is written over another thing of the command."""
    targets = out_files(given.out, force=given.force, report=given.report)
    named = [*given.files, *targets, given.ledger, given.items_file]
    paths = [os.path.realpath(name) for name in named if name]
    if len(set(paths)) < len(paths):
        allowed = "allowed are different ones for FILE, --out, --report, --ledger, --items-file"
        raise ValueError(f"a name is given twice: {allowed}")
    return targets


def _how(given: argparse.Namespace) -> dict[str, Any]:
    """How the files are read."""
    return _some(given, _READING) | {
        "items": _items(given),
        "columns": _pairs(given.columns),
        "labels": _pairs(given.labels),
    }


def _pairs(given: list[str]) -> dict[str, str]:
    """What stands on both sides of each sign of equality."""
    found = {}
    for part in chain.from_iterable(csv.reader(given, skipinitialspace=True)):
        role, _, name = map(str.strip, part.partition("="))
        if not role or not name:
            raise ValueError(f"{part!r:.60}: allowed is as winner=Gewinner or A1=tea")
        found[role] = name
    return found


def _items(given: argparse.Namespace) -> list[str] | None:
    names = next(csv.reader([given.items or ""], skipinitialspace=True), [])
    if given.items_file:
        try:
            text = Path(given.items_file).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError(f"{given.items_file}: allowed is UTF-8") from None
        names += filter(str.strip, text.splitlines())
    return names or None
