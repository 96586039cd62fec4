"""Render one page with Sphinx, in a process of its own: ``one_page ROOT OUT CACHE PAGE``.

The other pages are read once and kept in the cache, for titles and numbers; only what has changed
is read again, and only this page is written.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Read what is new, write the page; exit with the status of Sphinx."""
    from jupyter_book.config import get_final_config
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    root, out, cache, page = (Path(word) for word in sys.argv[1:])
    given: dict[str, Any] = {"latex_individualpages": False}
    settings, _ = get_final_config(user_yaml=root / "_config.yml", cli_config=given, sourcedir=root)
    for name in ("latex_doc_overrides", "latex_individualpages"):
        settings.pop(name, None)
    with patch_docutils(), docutils_namespace():
        app = Sphinx(
            str(root), None, str(out), str(cache), "html", confoverrides=settings, status=None
        )
        # The text of the page comes from its executed copy, which Sphinx does not look at.
        app.connect("env-get-outdated", lambda *_: [str(page.with_suffix(""))])
        app.build(force_all=False, filenames=[str(root / page)])
    sys.exit(app.statuscode)
