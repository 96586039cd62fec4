"""The table of the performance page, from what ``make bench`` measured on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

#: Where ``make bench`` writes, relative to the root of the book.
RESULTS = Path("_build", "bench.json")

HEAD = ("case", "peer", "ours (ms)", "peer (ms)", "ratio", "target", "residual", "met")


def bench_rows(results: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Rows of text, one per case, in the order of `HEAD`.

    Parameters
    ----------
    results : list of dict
        The content of ``bench.json``: case, peer, ours_s, peer_s, ratio, accuracy, target, passed.

    Returns
    -------
    list of tuple of str
    """
    return [
        (
            row["case"],
            row["peer"],
            _plain(1e3 * row["ours_s"]),
            _plain(1e3 * row["peer_s"]),
            _plain(row["ratio"]),
            f"{row['target']:g}",
            f"{row['accuracy']:.0e}" if row["accuracy"] else "0",
            "yes" if row["passed"] else "no",
        )
        for row in results
    ]


def _plain(number: float) -> str:
    """Three digits; from 1000 on, whole and in groups, since an exponent is hard to compare."""
    return f"{number:.3g}" if number < 999.5 else f"{number:,.0f}".replace(",", "\u202f")


class BenchDirective(SphinxDirective):
    """``{bench-table}``: the measured ratios, or how to measure them."""

    def run(self) -> list[nodes.Node]:
        """Make the table; without results, one sentence."""
        path = Path(self.env.srcdir, RESULTS)
        self.env.note_dependency(str(path))
        if not path.is_file():
            text = "This copy of the book was built before make bench ran, so there is no table."
            return [nodes.paragraph(text=text)]
        rows = [_row(cells) for cells in bench_rows(json.loads(path.read_text(encoding="utf-8")))]
        columns = [nodes.colspec(colwidth=1) for _ in HEAD]
        header = nodes.thead("", _row(HEAD))
        group = nodes.tgroup("", *columns, header, nodes.tbody("", *rows), cols=len(HEAD))
        return [nodes.table("", group, classes=["colwidths-auto"])]


def _row(cells: tuple[str, ...]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph(text=text)) for text in cells))
