"""Chromium for tests, driven as in `tools/`, and how to open a page in it."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_pages  # noqa: E402, F401
import chromium  # noqa: E402

HAS_PLAYWRIGHT = importlib.util.find_spec("playwright") is not None
BROWSER = chromium.installed() if HAS_PLAYWRIGHT else None
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium, or no Playwright")


def go(page, address, origin=None):
    """Open a page; what the console or the network complains of is in `problems`.

    Requests may go to the origin, by default the folder of the page.
    """
    page.goto("about:blank")  # otherwise another hash loads nothing
    watch = chromium.Watch(page, origin or address.rsplit("/", 1)[0])
    page.goto(address)
    return watch
