"""One look for every figure of the book: white ground, the same bytes each run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import cycle, product
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib.transforms import Bbox

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.table import Table
    from matplotlib.text import Annotation
    from numpy.typing import ArrayLike

#: The eight colours of Okabe and Ito (2002), told apart with every common form of colour blindness;
#: in the order in which lines take them. Yellow comes last: on white it is for areas only.
COLORS = {
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "black": "#000000",
    "yellow": "#F0E442",
}

#: Markers in the same order, for figures in which colour alone would have to tell series apart.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#444444",
    "axes.grid": True,
    "axes.labelsize": 11,
    "axes.prop_cycle": cycler(color=list(COLORS.values())[:7]),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "figure.figsize": (7.0, 4.0),
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
    "font.size": 11,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.8,
    "image.cmap": "viridis",
    "legend.frameon": False,
    "legend.fontsize": 10,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "savefig.dpi": 200,
    "svg.hashsalt": "dpbook",  # otherwise the ids in an SVG are random
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    **{f"{part}.facecolor": "white" for part in ("figure", "axes", "savefig")},
    "savefig.transparent": False,
}


def use_style() -> None:
    """Set the book's style for all figures made afterwards; in a notebook they become sharp PNG."""
    mpl.rcdefaults()
    mpl.rcParams.update(_STYLE)
    try:
        from IPython import get_ipython
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:  # outside notebooks neither is needed
        return
    if get_ipython() is not None:
        # No tight bounding box: figures of one size stay one size on the page.
        set_matplotlib_formats("retina", bbox_inches=None)


def label_line(ax: Axes, line: Line2D, text: str, dx: float = 6.0, dy: float = 0.0) -> Annotation:
    """Write the name of a line `dx`, `dy` points from its last finite point, not in a legend."""
    points = np.asarray(line.get_xydata(), dtype=float)
    finite = points[np.isfinite(points).all(axis=1)]
    if len(finite) == 0:
        raise ValueError(f"line has no finite point to label with {text!r}")
    x, y = finite[np.argmax(finite[:, 0])]
    look: dict[str, Any] = {"va": "center", "color": line.get_color(), "annotation_clip": False}
    at = (float(x), float(y))
    return ax.annotate(text, at, xytext=(dx, dy), textcoords="offset points", **look)


def error_against_loss(ax: Axes, losses: Sequence[float], errors: Mapping[str, ArrayLike]) -> None:
    """Draw mean errors of any collection of rankers against their true loss, with 95 % intervals.

    `errors` holds by name an array of shape (losses, runs); each ranker has a colour and a marker.
    """
    for (name, values), color, marker in zip(
        errors.items(), cycle(COLORS.values()), cycle(MARKERS), strict=False
    ):
        runs = np.asarray(values, dtype=float)
        half = 1.96 * runs.std(axis=1) / np.sqrt(max(1, runs.shape[1] - 1))
        mean = runs.mean(axis=1)
        ax.errorbar(losses, mean, half, color=color, marker=marker, capsize=2, lw=1.2, label=name)
    ax.set(xscale="log", xlabel="true loss (nats, log scale)")
    ax.legend()


def draw_table(
    ax: Axes,
    cells: Sequence[Sequence[str]],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    filled: Collection[tuple[int, int]] = (),
    color: str = COLORS["orange"],
) -> Table:
    """Fill empty axes with a small table.

    The cells in `filled`, by row and column from 0, have a pale `color`.
    """
    widths, high, wide = [len(row) for row in cells], len(rows), len(columns)
    if widths != [wide] * high:
        allowed = f"allowed are {high} rows of length {wide}"
        raise ValueError(f"cells has rows of lengths {widths}: {allowed}")
    if outside := sorted(set(filled) - set(product(range(high), range(wide)))):
        allowed = f"allowed are cells of a {high} x {wide} table"
        raise ValueError(f"filled holds {outside}: {allowed}")
    table = ax.table(cells, rowLabels=rows, colLabels=columns, cellLoc="center", bbox=Bbox.unit())
    table.auto_set_font_size(False)
    table.set_fontsize(10)
    for (row, column), cell in table.get_celld().items():
        # matplotlib counts the names of the columns as row 0 and those of the rows as column -1
        cell.set_edgecolor("#999999")
        if row == 0 or column < 0:
            cell.visible_edges = ""
        elif (row - 1, column) in filled:
            cell.set_facecolor(mpl.colors.to_rgba(color, 0.45))
    ax.axis("off")
    return table
