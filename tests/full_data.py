"""The full data sets, for the tests that recount them: in the folder named by ``DPBOOK_DATA``.

Only these tests look there; what else runs finds the variable unset, as a reader does.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Workers of pytest-xdist start after this: they find the folder under another name.
_NAMED = os.environ.pop("DPBOOK_DATA", "") or os.environ.get("DPBOOK_TEST_DATA", "")
os.environ["DPBOOK_TEST_DATA"] = _NAMED
FULL_DATA = Path(_NAMED or os.devnull)
needs_full_data = pytest.mark.skipif(not _NAMED, reason="DPBOOK_DATA names no folder of full data")
