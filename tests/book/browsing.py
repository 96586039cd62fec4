"""Chromium for tests: the browser of `tools/check_pages.py`, and how to open a page in it."""

import importlib.util
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("check_pages", ROOT / "tools" / "check_pages.py")
check_pages = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(check_pages)

BROWSER = next(filter(None, map(shutil.which, check_pages.BROWSERS)), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed")


def go(browser, address, origin=None):
    """Open a page; what the console or the network complains of is in `problems`.

    Requests may go to the origin, by default the folder of the page.
    """
    watch = browser.on_event = check_pages.Watch(origin or address.rsplit("/", 1)[0])
    browser.send("Page.navigate", url="about:blank")  # otherwise another hash loads nothing
    browser.wait_for(lambda: watch.loaded)
    watch.loaded = False
    browser.send("Page.navigate", url=address)
    browser.wait_for(lambda: watch.loaded)
    return watch
