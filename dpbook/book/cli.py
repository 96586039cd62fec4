"""The command ``dpbook``: build the book, run and check pages, list claims, keep numbers."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dpbook import __version__
from dpbook.book.files import directory, outcome, serve
from dpbook.book.ledger.claims import LedgerError, load_ledger
from dpbook.book.ledger.words import aligned, ledger_text
from dpbook.book.pages import PageError, ParameterError, find_page, find_pages, select, validate
from dpbook.book.run import compare
from dpbook.book.run.editions import ALL, EDITIONS, place

_FILTERS = ("paper", "status", "verdict", "evidence", "notebook")
_ABOUT = "Private Ranking, Checked: build the book, run one page, list pages and claims."
_EXAMPLES = """examples:
  dpbook list                                 the pages and their parameters
  dpbook run 4 -p epsilon 0.25                one page at your own value, as HTML
  dpbook run noisy-counts --output mine       the same page into a folder of your own
  dpbook check 4                              all that is asked of a page, in one list
  dpbook build --profile paper                the whole book at the papers' own sizes
  dpbook sweep grid.yml --jobs 4              pages over a grid of parameters
  dpbook claims --verdict false-repaired      a part of the ledger
  dpbook compare theirs/claims.json           how the claims differ from another build
  dpbook rank answers.csv --protect person --epsilon 1 --max-answers 20
                                              rank your own data: dpbook rank --help"""
_STOPPED = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


def main(argv: Sequence[str] | None = None, root: Path | None = None) -> int:
    """Run one command; return its exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as it is for errors: some have no ε
    words = sys.argv[1:] if argv is None else argv
    arguments = _parser().parse_args(words or ["--help"])
    signal.signal(signal.SIGTERM, _terminate)
    try:
        return int(arguments.command(arguments, (root or find_root()).resolve()))
    except (ParameterError, PageError, LedgerError) as error:
        print(f"dpbook: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        number = stop.args[0] if stop.args else signal.SIGINT
        words = "finished pages are kept, and the rest is unchanged"
        print(f"\ndpbook: {_STOPPED[number]}; {words}", file=sys.stderr)
        return 128 + number
    except BrokenPipeError:  # the reader of our output has gone, as in `dpbook list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:  # a full disk, a folder that has lost its permissions
        what = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
        advice = "make room or allow writing there, or name another folder with --output"
        print(f"dpbook: {what}; the previous book is unchanged; {advice}", file=sys.stderr)
        return 1


def _terminate(number: int, frame: object) -> None:
    """Clean up on SIGTERM as on Ctrl-C."""
    raise KeyboardInterrupt(number)


def find_root(start: Path | None = None) -> Path:
    """The root of the book: here, above here, or where the package lies; else a `PageError`."""
    begin = (start or Path.cwd()).resolve()
    for folder in (begin, *begin.parents, Path(__file__).resolve().parents[2]):
        if (folder / "_config.yml").is_file() and (folder / "notebooks").is_dir():
            return folder
    raise PageError(f"no book in {begin} or above it: no folder with _config.yml and notebooks/")


def _parser() -> argparse.ArgumentParser:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("dpbook", None, _ABOUT, _EXAMPLES, formatter_class=plain)
    parser.add_argument("--version", action="version", version=f"dpbook {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    shared: dict[str, dict[str, Any]] = {
        "--timeout": {"type": _positive, "default": 3600, "metavar": "SECONDS"},
        "--jobs": {"type": _positive, "default": cores, "metavar": "N"},
        "--profile": {"default": "default", "metavar": "P"},
        "--edition": {"default": EDITIONS[0], "choices": EDITIONS},
        "--output": {"type": directory, "metavar": "DIR"},
        "-p": {"nargs": 2, "action": "append", "metavar": ("NAME", "VALUE"), "default": []},
    }
    shared["--timeout"]["help"] = "seconds that a page may take (default: %(default)s)"
    shared["--jobs"]["help"] = "pages executed at once on this machine (default: %(default)s)"
    shared["--profile"]["help"] = "parameters from notebooks/profiles.yml (default: %(default)s)"
    shared["--edition"]["help"] = "teacher (solutions folded) or student (none), in its own folder"
    shared["--output"]["help"] = "a folder that is new, empty or holds a build (default: in _build)"
    shared["-p"] |= {"dest": "overrides", "help": "set a parameter; may be repeated"}

    def command(run: Callable[..., int], *names: str) -> Callable[..., Any]:
        added = commands.add_parser(run.__name__.strip("_"), help=run.__doc__)
        added.set_defaults(command=run)
        for name in names:
            words = [name, "--parameter"] if name == "-p" else [name]
            added.add_argument(*words, **shared[name])
        return added.add_argument

    common = ("-p", "--timeout", "--profile", "--output")
    add = command(_build, *common, "--jobs")
    every = shared["--edition"] | {"choices": (*EDITIONS, ALL)}
    every["help"] = every["help"].replace("own folder", "own folder; or all, at once")
    add("--edition", **every)
    words = "run and render these pages alone, and nothing else"
    add("--only", action="append", default=[], metavar="GLOB", help=words)
    add("--no-html", action="store_false", dest="shown", help="run the pages, check their claims")
    add = command(_run, *common)
    add("pages", nargs="+", metavar="PAGE", help="04-noisy-counts, 4, 04, or a part of a name")
    add("--no-html", action="store_false", dest="shown", help="run the page without rendering it")
    add = command(_check, "--jobs", "--timeout")
    add("notebook", metavar="PAGE", help="a page, named as for run")
    add = command(_claims)
    for field in _FILTERS:
        add(f"--{field}", metavar=field[0].upper(), help="only these; an unknown word lists all")
    add = command(_sweep, "--jobs", "--timeout", "--output")
    words = "pages and lists of values, as pages: {4: {epsilon: [0.5, 1], n_items: [4]}}"
    add("grid", type=Path, metavar="GRID.yml", help=words)
    words = "run on this Dask cluster; its machines need the book in the same folder"
    add("--scheduler", metavar="tcp://HOST:PORT", help=words)
    command(_live, "--output", "--edition")
    command(_serve, "--output", "--edition")
    command(_list)("only", nargs="*", metavar="GLOB", help="pages to list (default: all)")
    # for the list of commands: `dpbook.__main__` takes it out before, as it needs no book
    commands.add_parser("rank", help="rank your own data privately")
    add = command(_compare)
    add("other", type=Path, metavar="OTHER", help="a claims.json of another build")
    words = "compare with this one (default: _build/claims.json of the book)"
    add("here", type=Path, nargs="?", metavar="claims.json", help=words)
    command(_errata)
    add = command(_numbers, "--output")
    words = "keep what this page found, and no other; may be repeated"
    add("--accept", action="append", metavar="PAGE", help=words)
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _out(given: argparse.Namespace, root: Path, *default: str) -> Path:
    return Path(given.output or root.joinpath("_build", *default)).resolve()


# What executes pages imports papermill, which takes a second.


def _build(given: argparse.Namespace, root: Path) -> int:
    """bring the whole book up to date"""
    from dpbook.book.run import build

    if given.only:
        pages = [page.name for page in select(find_pages(root), given.only)]
        return _run(argparse.Namespace(**vars(given) | {"pages": pages}), root)
    out = _out(given, root)
    jobs = build.plan(root, out, profile=given.profile, overrides=given.overrides)
    profile = given.profile + ", with parameters of the reader" * bool(given.overrides)
    how = {"workers": given.jobs, "timeout": given.timeout, "edition": given.edition}
    how["shown"] = given.shown
    return build.build_book(root, out, jobs, profile=profile, **how)


def _run(given: argparse.Namespace, root: Path) -> int:
    """run a page or several at your own values, as HTML"""
    from dpbook.book.run.build import run_page

    how = {"timeout": given.timeout, "profile": given.profile, "shown": given.shown}
    pages = [find_page(root, name) for name in given.pages]
    status = 0
    for page in pages:  # all values before any page runs
        known = page.parameters
        validate(page, {n: known[n].parse(x) if n in known else x for n, x in given.overrides})
    for page in pages:
        out = given.output and given.output.resolve()
        there = out / page.name if out and pages[1:] else out
        status |= run_page(root, page.name, given.overrides, out=there, **how)
    return status


def _sweep(given: argparse.Namespace, root: Path) -> int:
    """run pages over a grid of parameters"""
    from dpbook.book.run.sweep import sweep

    how = {"jobs": given.jobs, "timeout": given.timeout, "scheduler": given.scheduler}
    return sweep(root, given.grid, _out(given, root, "sweep", given.grid.stem), **how)


def _live(given: argparse.Namespace, root: Path) -> int:
    """add to the built book what reruns its pages in the browser"""
    from dpbook.book.live.bundle import add_runtime

    return add_runtime(root, _out(given, root), given.edition)


def _serve(given: argparse.Namespace, root: Path) -> int:
    """serve the built book on this computer"""
    html = place(_out(given, root), given.edition) / "html"
    if not (html / "index.html").is_file():
        raise PageError(f"no book at {html}; run `make book` first")
    with contextlib.suppress(KeyboardInterrupt), serve(html) as address:
        print(f"{address}  (Ctrl-C or SIGTERM ends)", flush=True)
        signal.pause()
    return 0


def _list(given: argparse.Namespace, root: Path) -> int:
    """list the pages and their parameters"""
    for page in select(find_pages(root), given.only):
        print(f"{page.name}: {page.title}")
        rows = [("parameter", "default", "unit", "allowed", "meaning")]
        for p in page.parameters.values():
            rows.append((p.name, repr(p.default), p.unit, p.allowed, p.meaning))
        print(*(f"    {line}\n" for line in aligned(rows)), sep="")
    return 0


def _check(given: argparse.Namespace, root: Path) -> int:
    """check a page: its rules, and its claims at several settings"""
    from dpbook.book.run.check import check_page

    return check_page(root, given.notebook, workers=given.jobs, timeout=given.timeout)


def _claims(given: argparse.Namespace, root: Path) -> int:
    """list the claims with their verdicts"""
    ledger = load_ledger(root / "book" / "claims.yml")
    for field in _FILTERS:
        if (wanted := getattr(given, field)) is not None:
            own = {
                key: claim.levels if field == "evidence" else (getattr(claim, field),)
                for key, claim in ledger.items()
            }
            known = sorted({str(word) for words in own.values() for word in words} - {"None"})
            if field == "notebook" and wanted not in known:
                wanted = find_page(root, wanted).name
            if wanted not in known:
                raise PageError(f"no claim with {field} {wanted!r}; there are {', '.join(known)}")
            ledger = {key: c for key, c in ledger.items() if wanted in own[key]}
    width = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 10_000
    last = root / "_build" / "claims.json"
    print(ledger_text(ledger, compare.load(last) if last.is_file() else [], width))
    return 0


def _numbers(given: argparse.Namespace, root: Path) -> int:
    """compare a build with the numbers that are kept, or keep those of a page"""
    from dpbook.book.run import numbers

    out = _out(given, root)
    if outcome(out)[0] != numbers.PROFILE:
        raise PageError(f"{out} holds no whole build at the pages' own values: `make book` first")
    if given.accept:
        moved = [line for page in given.accept for line in numbers.accept(root, out, page)]
        print(*moved, f"{len(moved)} lines changed in {numbers.FOLDER}", sep="\n")
        return 0
    moved = numbers.not_as_kept(root, out)
    print(*moved, sep="\n")
    print(f"{len(moved)} numbers are not as kept in {numbers.FOLDER}", end="")
    print("; if a page's are right: dpbook numbers --accept PAGE" * bool(moved))
    return int(bool(moved))


def _compare(given: argparse.Namespace, root: Path) -> int:
    """compare the claims of two builds"""
    here = given.here or root / "_build" / "claims.json"
    before, after = (compare.claimed(compare.load(side)) for side in (given.other, here))
    changes = compare.changes(before, after)
    print(*changes, compare.summary(before, after, changes), sep="\n")
    return int(bool(changes))


def _errata(given: argparse.Namespace, root: Path) -> int:
    """list the errata"""
    ledger = load_ledger(root / "book" / "claims.yml")
    print(*(f"{c.id}: {c.heading}" for c in ledger.values() if c.is_erratum), sep="\n")
    return 0
