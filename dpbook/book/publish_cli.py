"""The commands of ``dpbook`` for whoever checks, cites or gives out the book."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpbook.book.ledger.claims import load_ledger
from dpbook.book.output import directory
from dpbook.book.pages import PageError, find_page, find_pages
from dpbook.book.run import compare


def add_commands(command: Callable[[Callable[..., int]], Callable[..., Any]]) -> None:
    """Give the parser of ``dpbook`` these commands."""
    add = command(_compare)
    add("other", type=Path, metavar="OTHER", help="a claims.json of elsewhere, or a version")
    words = "what to compare it with (default: _build/claims.json of the book)"
    add("here", type=Path, nargs="?", metavar="claims.json", help=words)
    words = "the output directory of a build (default: _build in the book)"
    command(_certificate)("--output", type=directory, metavar="DIR", help=words)
    add = command(_slides)
    add("notebook", nargs="*", metavar="PAGE", help="pages, named as for run (default: all)")
    words = "where the decks go (default: _build/slides in the book)"
    add("--output", type=directory, metavar="DIR", help=words)
    add = command(_errata)
    add(
        "--since", metavar="VERSION", help="what has moved since this version, a tag, was given out"
    )


def _compare(given: argparse.Namespace, root: Path) -> int:
    """what moved between two builds or versions, claim by claim"""
    sides = (given.other, given.here or _claims(root))
    before, after = (_state(root, side) for side in sides)
    found = compare.changes(before, after)
    print(*found, compare.summary(before, after, found), sep="\n")
    return int(bool(found))


def _state(root: Path, side: Path) -> dict[str, compare.Claimed]:
    """A ``claims.json``, or the tag of a version."""
    if side.suffix != ".json" and not side.exists():
        return compare.version(root, str(side))
    return compare.claimed(compare.load(side))


def _certificate(given: argparse.Namespace, root: Path) -> int:
    """certify the built book: what ran, where, and how every claim came out"""
    from dpbook.book.run import certificate

    out = given.output.resolve() if given.output else root / "_build"
    path, made = certificate.write(root, out)
    shown = {key: value for key, value in made.items() if not isinstance(value, dict | list)}
    shown = made["book"] | made["machine"] | shown
    told = [f"{name}: {value}" for name, value in shown.items()]
    told += [f"claims: {len(made['claims'])}, contradictions: {len(made['contradictions'])}"]
    print(*made["contradictions"], *told, f"the certificate: {path}", sep="\n")
    return int(bool(made["contradictions"]))


def _slides(given: argparse.Namespace, root: Path) -> int:
    """write decks of slides, each one file, from pages of the built book"""
    from dpbook.book.sphinx.slides import write_slides

    pages = [find_page(root, name) for name in given.notebook] or find_pages(root)
    decks = (given.output or root / "_build" / "slides").resolve()
    if decks.suffix == ".html":
        raise PageError(f"--output {decks.name}: the decks go to a folder, one file for each page")
    for page in pages:
        path = decks / f"{page.name}.html"
        count = write_slides(root / "_build" / "html", page.name, path)
        print(f"{path}: {count} slides")
    return 0


def _errata(given: argparse.Namespace, root: Path) -> int:
    """what this book says of the papers' claims, and what of it moved since a version"""
    if given.since is None:
        ledger = load_ledger(root / "book" / "claims.yml")
        print(*(f"{c.id}: {c.heading}" for c in ledger.values() if c.is_erratum), sep="\n")
        return 0
    before, after = compare.version(root, given.since), _state(root, _claims(root))
    found = compare.changes(before, after)
    print(*found, compare.summary(before, after, found), sep="\n")
    return 0


def _claims(root: Path) -> Path:
    """What the last build of the book found."""
    path = root / "_build" / "claims.json"
    if not path.is_file():
        raise PageError(f"{path} is missing: `make book` writes it")
    return path
