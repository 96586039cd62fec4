"""What stands on a page and needs nothing else of it, for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PAGES = Path(__file__).resolve().parents[1] / "notebooks"


def made_by(page: str, cell: str, **given: Any) -> dict[str, Any]:
    """The names that one cell of a page makes, from those that it is given."""
    cells = json.loads((PAGES / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]
    (source,) = ("".join(one["source"]) for one in cells if one["id"] == cell)
    exec(compile(source, f"{page}: {cell}", "exec"), given)
    return given
