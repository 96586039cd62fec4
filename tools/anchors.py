"""Check that links to anchors lead to one: ``python tools/anchors.py DIR``, the built HTML.

linkchecker follows the links to files.  Its own check of anchors reads a page again for each link
to it, which takes longer than the book takes to be built; here each page is read once.
"""

from __future__ import annotations

import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag


class Page(HTMLParser):
    """The ids of a page, how often each, and its links to anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: Counter[str | None] = Counter()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids[values.get("id", values.get("name") if tag == "a" else None)] += 1
        if "#" in (values.get("href") or ""):
            self.links.append(str(values["href"]))


def loose(folder: Path) -> list[str]:
    """Links to an anchor that its page does not have, or more than once."""
    pages = {path: Page(path) for path in sorted(folder.resolve().rglob("*.html"))}
    problems = [] if pages else [f"no page in {folder}"]
    for path, page in pages.items():
        for link in page.links:
            address, anchor = map(unquote, urldefrag(link))
            there = pages.get((path.parent / address).resolve() if address else path)
            if anchor and there and (count := there.ids[anchor]) != 1:
                problems.append(f"{path.relative_to(folder.resolve())}: {link}: {count} such ids")
    return problems


if __name__ == "__main__":
    problems = loose(Path(sys.argv[1]))
    print("\n".join([*problems, f"{len(problems)} links lead to no anchor"]))
    raise SystemExit(bool(problems))
