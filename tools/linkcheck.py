"""Check the links of a built book, without a network: ``python tools/linkcheck.py DIR``.

An internal link must lead to a file, and its fragment to an element.  A page may link to another
host, but may load nothing from one: no script, style, image, frame or font.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

# Attributes by which a browser fetches something as soon as it opens the page.
_LOADING = {"src", "srcset", "poster", "data", "xlink:href"}
_LOADING_TAGS = {"audio", "embed", "iframe", "image", "img", "input", "object", "script", "source"}
_LOADING_TAGS |= {"track", "use", "video"}
# Relations of <link> that only describe the page.
_PASSIVE_RELATIONS = {"author", "canonical", "help", "index", "license", "next", "prev", "search"}
_CSS_URL = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")


class Page(NamedTuple):
    """What one HTML file holds: its ids, its links, and what it loads."""

    ids: Counter[str]
    links: list[str]
    loads: list[str]


class Result(NamedTuple):
    """The outcome of a check: one line per problem, and what was counted."""

    problems: list[str]
    pages: int
    links: int
    external: list[str]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page(Counter(), [], [])
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value}
        if "id" in given:
            self.page.ids[given["id"]] += 1
        elif tag == "a" and "name" in given:
            self.page.ids[given["name"]] += 1
        self._in_style = tag == "style"
        if "style" in given:
            self.page.loads.extend(css_urls(given["style"]))
        if tag in _LOADING_TAGS:
            for name in _LOADING & set(given):
                self.page.loads.extend(_sources(name, given[name]))
        elif tag == "link":
            if not _PASSIVE_RELATIONS & set(given.get("rel", "").lower().split()):
                self.page.loads.append(given.get("href", ""))
        elif "href" in given and tag != "base":
            self.page.links.append(given["href"])

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.page.loads.extend(css_urls(data))


def read_page(text: str) -> Page:
    """Read the ids, links and loads of one HTML page."""
    reader = _Reader()
    reader.feed(text)
    return reader.page


def css_urls(text: str) -> list[str]:
    """Every address that a style sheet fetches."""
    return [first or second for first, second in _CSS_URL.findall(text)]


def check_tree(root: str | Path) -> Result:
    """Check every page and style sheet under a folder.

    Parameters
    ----------
    root : str or Path
        The built book.

    Returns
    -------
    Result
    """
    root = Path(root).resolve()
    pages = {path: read_page(path.read_text(encoding="utf-8")) for path in _html_files(root)}
    problems: list[str] = []
    external: set[str] = set()
    for path, page in pages.items():
        where = path.relative_to(root).as_posix()
        for address in page.loads:
            if _is_external(address):
                problems.append(f"{where}: loads {address} from another host")
            else:
                problems += _broken(root, pages, path, address)
        for address in page.links:
            if _is_external(address):
                external.add(address)
            else:
                problems += _broken(root, pages, path, address)
    for path in sorted(root.rglob("*.css")):
        for address in filter(_is_external, css_urls(path.read_text(encoding="utf-8"))):
            problems.append(f"{path.relative_to(root)}: loads {address} from another host")
    count = sum(len(page.links) + len(page.loads) for page in pages.values())
    return Result(sorted(set(problems)), len(pages), count, sorted(external))


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the folder named on the command line; the exit status is 1 if anything is wrong."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if len(given) != 1 or not Path(given[0]).is_dir():
        print("usage: python tools/linkcheck.py DIR   (DIR: the built HTML)", file=sys.stderr)
        return 2
    result = check_tree(given[0])
    for problem in result.problems:
        print(problem)
    print(
        f"{result.pages} pages, {result.links} links, {len(result.external)} to other hosts, "
        f"{len(result.problems)} problems"
    )
    if result.pages == 0:
        print(f"no HTML page under {given[0]}", file=sys.stderr)
    return 1 if result.problems or result.pages == 0 else 0


def _html_files(root: Path) -> Iterator[Path]:
    """The pages of the book; the HTML files under ``_static`` are fragments of the theme."""
    for path in sorted(root.rglob("*.html")):
        if "_static" not in path.relative_to(root).parts:
            yield path


def _sources(name: str, value: str) -> list[str]:
    """The addresses in one attribute; ``srcset`` holds several, each with a size."""
    if name != "srcset":
        return [value]
    return [part.split()[0] for part in value.split(",") if part.strip()]


def _is_external(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme not in ("", "data", "javascript", "blob", "about")


def _broken(root: Path, pages: dict[Path, Page], path: Path, address: str) -> list[str]:
    """What is wrong with one internal address on one page."""
    where = path.relative_to(root).as_posix()
    parts = urlsplit(address)
    if parts.scheme or not (parts.path or parts.fragment):
        return []
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if parts.path.startswith("/") or not target.is_relative_to(root):
        return [f"{where}: {address} leads out of the book"]
    if not target.is_file():
        return [f"{where}: {address} leads to a file that does not exist"]
    if not parts.fragment or target not in pages:
        return []
    count = pages[target].ids[unquote(parts.fragment)]
    if count == 0:
        return [f"{where}: {address} leads to an anchor that does not exist"]
    if count > 1:
        return [f"{where}: {address} leads to an id that occurs {count} times"]
    return []


if __name__ == "__main__":
    raise SystemExit(main())
