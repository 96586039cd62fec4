"""Chromium for the tools: Playwright drives the one that is installed; there is no other host."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request, WebSocket

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ("--disable-quic", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1")


def installed() -> str | None:
    """The path of Chromium, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def missing(undone: str) -> int:
    """Say that Chromium is missing; the exit status, a failure where a machine looks."""
    in_ci = os.environ.get("CI", "").lower() in ("1", "true", "yes")
    print("Chromium is not installed: apt-get install chromium", file=sys.stderr)
    print("failed" if in_ci else f"skipped: {undone}", file=sys.stderr)
    return 1 if in_ci else 0


@contextmanager
def chromium(binary: str) -> Iterator[Browser]:
    """A browser; each of its pages has a profile of its own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=binary, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Watch:
    """Listens to a page and keeps what must not happen."""

    def __init__(self, page: Page, origin: str) -> None:
        self.problems: list[str] = []
        say = self.problems.append
        local = (origin + "/", "data:", "blob:" + origin, "about:")

        def ask(one: Request | WebSocket) -> None:
            if not one.url.startswith(local):
                say(f"asks another host: {one.url}")

        page.on("request", ask)
        page.on("websocket", ask)
        page.on("response", lambda r: r.status < 400 or say(f"{r.url} answers {r.status}"))
        page.on("pageerror", lambda error: say(f"script error: {error.name}: {error.message}"))
        bad = ("error", "assert")
        page.on("console", lambda line: line.type in bad and say(f"console error: {line.text}"))
