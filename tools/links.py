"""Check that links lead somewhere: ``python tools/links.py DIR``, the built HTML.

Every file that a page names is there, and every anchor stands once on its page.  Links to other
hosts are not followed.
"""

from __future__ import annotations

import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit


class Page(HTMLParser):
    """The ids of a page, how often each, and what it links to or loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: Counter[str | None] = Counter()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids[values.get("id", values.get("name") if tag == "a" else None)] += 1
        self.links += [str(values[name]) for name in ("href", "src") if values.get(name)]


def broken(folder: Path) -> list[str]:
    """Links to a file that is not there, or to an anchor that its page has not, or twice."""
    root = folder.resolve()
    found = (path for path in sorted(root.rglob("*.html")) if "_static" not in path.parts)
    pages = {path: Page(path) for path in found}
    problems = [] if pages else [f"no page in {folder}"]
    for path, page in pages.items():
        for link in page.links:
            address, anchor = map(unquote, urldefrag(link))
            if (parts := urlsplit(address)).scheme or parts.netloc:
                continue
            there = (path.parent / parts.path).resolve() if parts.path else path
            there = there / "index.html" if there.is_dir() else there
            where = f"{path.relative_to(root)}: {link}"
            if not there.is_file():
                problems.append(f"{where}: no such file")
            elif anchor and there in pages and (count := pages[there].ids[anchor]) != 1:
                problems.append(f"{where}: {count} such ids")
    return problems


if __name__ == "__main__":
    problems = broken(Path(sys.argv[1]))
    print("\n".join([*problems, f"{len(problems)} links lead nowhere"]))
    raise SystemExit(bool(problems))
