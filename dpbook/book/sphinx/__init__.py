"""What Sphinx shows of the claims: one extension."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sphinx.application import Sphinx

PARTS = (
    *("claims", "domain", "boxes", "exercises", "front", "downloads", "access", "trust"),
    *("publishing", "plans", "maps", "panel"),
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Put all parts in place."""
    for name in (f"{__name__}.{part}" for part in PARTS):
        import_module(name).setup(app)
    return {"version": "2", "parallel_read_safe": True, "parallel_write_safe": True}
