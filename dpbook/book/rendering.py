"""Render the HTML of the book with Jupyter Book, and put it in place whole."""

from __future__ import annotations

import posixpath
import re
import shutil
import sys
from pathlib import Path

from dpbook.book.children import run_python
from dpbook.book.output import staging_folder, write_whole
from dpbook.book.pages import Page, PageError
from dpbook.book.runner import plain, python_path

_HTML_LOG = "html.log"
_LOCAL_LINK = re.compile(
    r"\b(href|src|data-content_root)="
    r'"(?![#/]|[a-zA-Z][a-zA-Z0-9+.-]*:)([^"]+)"'  # neither an anchor nor an absolute address
)


def render(root: Path, out: Path, *, strict: bool) -> bool:
    """Render ``<out>/executed`` in place of ``<out>/html``; False, no change, if it fails."""
    environment = {"DPBOOK_OUT": str(out), "PYTHONPATH": python_path(root)}
    if not strict:
        environment["DPBOOK_PARTIAL"] = "1"  # pages that have not run may be shown as they are
    with staging_folder(out) as staging:
        arguments = ["build", str(root), "--all", "-q", "--path-output", str(staging)]
        arguments += ["-n", "-W", "--keep-going"] if strict else []
        main = "jupyter_book.cli.main:main"
        done = run_python(main, arguments, environment=environment, cwd=root)
        log = plain(done.stdout)
        write_whole(out / _HTML_LOG, log)
        built = staging / "_build" / "html"
        if done.returncode != 0 or not (built / "index.html").is_file():
            print(_warnings(log), file=sys.stderr)
            print(f"the HTML could not be rendered; all output: {out / _HTML_LOG}", file=sys.stderr)
            return False
        _swap_in(built, out / "html")
        return True


def _warnings(log: str) -> str:
    telling = [line for line in log.splitlines() if re.search(r"WARNING|ERROR|CRITICAL", line)]
    return "\n".join(telling or log.strip().splitlines()[-20:])


def _swap_in(new: Path, place: Path) -> None:
    old = place.with_name(place.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    try:
        new.rename(place)
    except OSError:
        if old.exists():
            old.rename(place)
        raise
    shutil.rmtree(old, ignore_errors=True)


def page_beside_notebook(out: Path, page: Page) -> Path:
    """Copy the page's HTML next to its notebook, with its links leading into ``html/``."""
    rendered = out / "html" / "notebooks" / f"{page.name}.html"
    if not rendered.is_file():
        raise PageError(f"page {page.name} has no HTML, because _toc.yml does not name it")
    source = rendered.read_text(encoding="utf-8")

    def lead_inside(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("html/notebooks", match[2]))
        return f'{match[1]}="{target}{"/" if match[2].endswith("/") else ""}"'

    beside = out / f"{page.name}.html"
    write_whole(beside, _LOCAL_LINK.sub(lead_inside, source))
    return beside
