"""The command ``dpbook``: build the book, run one page, list pages and claims, clean up."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from dpbook.book.output import aligned
from dpbook.book.pages import PageError, ParameterError, find_pages, validate

INTERRUPTED = 130
_FILTERS = {"paper": "CCW25", "status": "pending", "verdict": "refuted", "tier": "exact"}
_FILTERS |= {"notebook": "03-noisy-counts"}


def main(argv: Sequence[str] | None = None, root: Path | None = None) -> int:
    """Run one command; return its exit status."""
    overrides, rest = _take_overrides(sys.argv[1:] if argv is None else argv)
    arguments = _parser().parse_args(rest)
    if overrides and not hasattr(arguments, "overrides"):
        _parser().error("-p is for build and run")
    arguments.overrides = overrides
    try:
        with _terminable():
            return int(arguments.command(arguments, (root or find_root()).resolve()))
    except (ParameterError, PageError) as error:
        print(f"dpbook: {error}", file=sys.stderr)
        return 2
    except _Terminated:
        print("\ndpbook: terminated; the previous book is as before", file=sys.stderr)
        return 128 + signal.SIGTERM
    except KeyboardInterrupt:
        words = "interrupted; finished pages are kept, the rest is as before"
        print(f"\ndpbook: {words}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone, as in `dpbook list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:  # a full disk, a folder that has lost its permissions
        what = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
        print(f"dpbook: {what}; the previous book is as before", file=sys.stderr)
        return 1


class _Terminated(BaseException):
    """SIGTERM has arrived."""


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Clean up on SIGTERM as on Ctrl-C."""

    def stop(number: int, frame: object) -> None:
        raise _Terminated

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not the main thread, which alone hears signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _take_overrides(words: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Split ``-p NAME VALUE`` off: argparse would take a value such as ``-inf`` for an option."""
    overrides, rest, left = [], [], list(words)
    while left:
        word = left.pop(0)
        if word in ("-p", "--parameter") and len(left) >= 2:
            overrides.append((left.pop(0), left.pop(0)))
        else:
            rest.append(word)
    return overrides, rest


def find_root(start: Path | None = None) -> Path:
    """The root of the book: here, above here, or where the package lies; else a `PageError`."""
    begin = (start or Path.cwd()).resolve()
    for folder in (begin, *begin.parents, Path(__file__).resolve().parents[2]):
        if (folder / "_config.yml").is_file() and (folder / "notebooks").is_dir():
            return folder
    raise PageError(f"no book in {begin} or above it: no folder with _config.yml and notebooks/")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dpbook", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[..., int], words: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=words)
        made.set_defaults(command=run)
        return made

    build = command("build", _build, "bring the whole book up to date")
    words = "parameters from notebooks/profiles.yml (default: %(default)s)"
    build.add_argument("--profile", default="default", metavar="P", help=words)
    run = command("run", _run, "execute and render one page, beside the book")
    run.add_argument("notebook", metavar="NOTEBOOK", help="a page: 03-noisy-counts, or just 03")
    for takes_parameters in (build, run):
        takes_parameters.add_argument(
            *("-p", "--parameter"),
            dest="overrides",
            nargs=2,
            metavar=("NAME", "VALUE"),
            help="set a parameter; may be repeated",
        )
        words = "what a page may take (default: %(default)s)"
        takes_parameters.add_argument(
            "--timeout", type=_positive, default=3600, metavar="SECONDS", help=words
        )
    words = "where everything goes: a new, an empty or an earlier such folder (default: _build in "
    build.add_argument("--output", type=Path, metavar="DIR", help=words + "the book)")

    pages = command("list", _list, "the pages and their parameters")
    pages.add_argument("only", nargs="*", metavar="GLOB", help="pages to list (default: all)")

    claims = command("claims", _claims, "the ledger of claims")
    for field, example in _FILTERS.items():
        claims.add_argument(f"--{field}", metavar=field[0].upper(), help=f"only these: {example}")

    lock = command("lock", _lock, "show how the recorded numbers changed, and lock the new ones")
    lock.add_argument("--dry-run", action="store_true", help="show the changes only")

    words = "compare all that the pages find with what is stored in book/golden"
    golden = command("golden", _golden, words)
    golden.add_argument("--profile", action="append", choices=("smoke", "default"))
    golden.add_argument("--write", action="store_true", help="store what was found")

    only = "pages that -p is meant for; the others stay at the profile"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    words = "pages executed at once (default: the cores, %(default)s)"
    for takes_many, which in ((build, only), (golden, "these pages")):
        takes_many.add_argument("--only", action="append", default=[], metavar="GLOB", help=which)
        takes_many.add_argument(
            "--jobs", type=_positive, default=cores or 1, metavar="N", help=words
        )
    command("clean", _clean, "delete _build")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


# The heavy imports (papermill) happen in the commands that need them.


def _build(arguments: argparse.Namespace, root: Path) -> int:
    from dpbook.book import build

    given = arguments
    out = given.output.resolve() if given.output else root / "_build"
    which = {"profile": given.profile, "overrides": given.overrides, "only": given.only}
    jobs = build.plan(root, out, **which)
    if given.only and not given.overrides:
        print("note: --only says which pages -p is meant for; every page is brought up to date")
    return build.build_book(root, out, jobs, workers=given.jobs, timeout=given.timeout)


def _run(arguments: argparse.Namespace, root: Path) -> int:
    from dpbook.book.build import run_page

    return run_page(root, arguments.notebook, arguments.overrides, timeout=arguments.timeout)


def _list(arguments: argparse.Namespace, root: Path) -> int:
    import fnmatch

    pages = find_pages(root)
    globs = arguments.only or ["*"]
    shown = [page for page in pages if any(fnmatch.fnmatch(page.name, g) for g in globs)]
    if not shown:
        names = ", ".join(page.name for page in pages) or "(none)"
        raise PageError(f"no page matches {' '.join(globs)}; the pages are {names}")
    for page in shown:
        print(f"{page.name}: {page.title}")
        given = page.parameters.values()
        rows = [(p.name, repr(p.default), p.unit, p.allowed, p.meaning) for p in given]
        heads = [("parameter", "default", "unit", "allowed", "meaning")] if rows else []
        print(*(f"    {line}\n" for line in aligned([*heads, *rows])), sep="")
    return 0


def _claims(arguments: argparse.Namespace, root: Path) -> int:
    from dpbook.book.ledger import LedgerError, load_ledger
    from dpbook.book.report import ledger_text

    try:
        ledger = load_ledger(root / "book" / "claims.yml")
    except LedgerError as error:
        raise PageError(str(error)) from None
    for field in _FILTERS:
        wanted = getattr(arguments, field)
        if wanted is None:
            continue
        known = sorted({str(getattr(claim, field)) for claim in ledger.values()} - {"None"})
        if wanted not in known:
            raise PageError(f"no claim with {field} {wanted!r}; there are {', '.join(known)}")
        ledger = {key: c for key, c in ledger.items() if getattr(c, field) == wanted}
    found = root / "_build" / "claims.json"
    records = json.loads(found.read_text(encoding="utf-8")) if found.is_file() else []
    width = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 10_000
    print(ledger_text(ledger, records, width))
    return 0


def _lock(arguments: argparse.Namespace, root: Path) -> int:
    from dpbook.book import lock

    found = root / "_build" / "claims.json"
    if not found.is_file():
        raise PageError(f"{found} is missing: `make book` writes it")
    records = json.loads(found.read_text(encoding="utf-8"))
    defaults = {page.name: validate(page, {}) for page in find_pages(root)}
    changes = lock.renew(root, records, defaults, write=not arguments.dry_run)
    print(*changes, sep="\n", end="\n" if changes else "")
    print(f"{len(changes)} changes {'found' if arguments.dry_run else f'written to {lock.FILE}'}")
    return 0


def _golden(arguments: argparse.Namespace, root: Path) -> int:
    from dpbook.book.build import golden

    profiles, many = arguments.profile or ["smoke", "default"], arguments.jobs
    return golden(root, profiles, arguments.only, write=arguments.write, workers=many)


def _clean(arguments: argparse.Namespace, root: Path) -> int:
    from dpbook.book.output import delete_folder

    deleted = delete_folder(root / "_build")
    print(f"deleted {root / '_build'}" if deleted else f"there is no {root / '_build'}")
    return 0
