"""One look for every figure of the book: white ground, the same bytes each run."""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from IPython import get_ipython
from matplotlib import style
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.transforms import Bbox

from dpbook.book.pages import SERIES_MIME

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.table import Table
    from matplotlib.text import Annotation

#: The eight colours of Okabe and Ito (2002), told apart with every common form of colour blindness;
#: in the order in which lines take them. Yellow comes last: on white it is for areas only.
COLORS = {
    **{"blue": "#0072B2", "vermillion": "#D55E00", "green": "#009E73", "purple": "#CC79A7"},
    **{"orange": "#E69F00", "sky": "#56B4E9", "black": "#000000", "yellow": "#F0E442"},
}

#: Markers in the same order, for figures in which colour alone would have to tell series apart.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

#: What was printed, what is right, and what protects nobody, in every figure.
ROLES = {"printed": COLORS["vermillion"], "right": COLORS["blue"], "non-private": "#555555"}

_MECHANISMS = {
    **{"counts": "blue", "mle": "purple", "one-shot": "green", "laplace": "orange"},
    **{"response": "green", "debiased": "sky", "kwiksort": "sky", "kemeny": "black"},
    **{"borda": "blue", "footrule": "purple", "exponential": "orange", "hypercube": "vermillion"},
    "on-demand": "purple",
}
#: One colour for each mechanism, in every figure.
MECHANISMS = {name: COLORS[color] for name, color in _MECHANISMS.items()}

#: Of a series a build keeps at most so many numbers.
POINTS = 12

#: Lines are told apart without colour, too.
DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1)), (0, (8, 3)), "-.")


def epsilon_color(epsilon: float) -> str:
    """The colour of a level of epsilon, 0.05 to 10: dark is little privacy, none is black."""
    if not np.isfinite(epsilon):
        return COLORS["black"]
    low, high = np.log([0.05, 10.0])
    share = np.clip((np.log(epsilon) - low) / (high - low), 0, 1)
    return str(mpl.colors.to_hex(mpl.colormaps["viridis_r"](0.15 + 0.8 * share)))


def ink(color: str) -> str:
    """A colour for text on white: the same hue, dark enough for a contrast of 4.5 (WCAG 2.2)."""
    rgb = np.array(mpl.colors.to_rgb(color))
    while True:
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        if linear @ [0.2126, 0.7152, 0.0722] <= 1.05 / 4.5 - 0.05:
            return str(mpl.colors.to_hex(tuple(rgb.tolist())))
        rgb = 0.95 * rgb


def canvas(width: float = 7.0, height: float = 3.0) -> tuple[Figure, Axes]:
    """An empty sheet for a drawing, in inches, with equal units of one inch on both axes."""
    fig, ax = plt.subplots(figsize=(width, height))
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.axis("off")
    return fig, ax


def use_style() -> None:
    """Set the book's style for all figures made afterwards; in a notebook they become SVG."""
    mpl.rcdefaults()
    style.use(Path(__file__).with_name("book.mplstyle"))
    mpl.rcParams["axes.prop_cycle"] = cycler(color=list(COLORS.values())[:7], linestyle=DASHES)
    if (shell := get_ipython()) is not None:
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        set_matplotlib_formats("svg")
        show = shell.display_formatter
        show.formatters["image/svg+xml"].for_type(Figure, vector_graphic)
        show.mimebundle_formatter.for_type(Figure, lambda fig: {SERIES_MIME: series_of(fig)})


def vector_graphic(figure: Figure) -> str:
    """A figure as SVG, in its own size and without a date; it is laid out once."""
    drawn = io.StringIO()
    canvas: Any = FigureCanvasSVG(figure)
    canvas.print_svg(drawn, metadata={"Date": None})
    return drawn.getvalue()


def series_of(figure: Figure) -> dict[str, Any]:
    """What a figure draws, by kind, place and label: at most `POINTS` numbers of each series.

    A series with error bars comes as its ``mean`` and, as ``error``, half of what a bar reaches to
    one side: of a 95 % interval that is about a standard error.
    """
    found: dict[str, Any] = {}
    for number, ax in enumerate(figure.axes):
        drawn = [one for one in ax.containers if isinstance(one, ErrorbarContainer)]
        barred = [one for one in drawn if one.lines[2]]
        seen = {id(part) for one in barred for part in one.get_children()}
        for at, one in enumerate(barred):
            line, _, (segments, *_) = one.lines
            bars = [ends for ends in segments.get_segments() if len(ends)]
            reach = [np.ptp(ends, axis=0).max() / 2 for ends in bars]
            series = {"error": _thinned(np.array(reach) / 2)}
            if line is not None:
                series["mean"] = _thinned(line.get_ydata())
            found[_name("bars", number, at, one)] = series
        kinds: Any = (
            ("line", ax.lines, _coordinates),
            ("area", ax.collections, _areas),
            ("image", ax.images, _cells),
        )
        for kind, artists, numbers in kinds:
            rest = [artist for artist in artists if id(artist) not in seen]
            for at, artist in enumerate(rest):
                name = _name(kind, number, at, artist)
                for axis, values in numbers(artist).items():
                    thinned = _thinned(values)
                    if axis != " x" or thinned not in found.values():  # most lines share it
                        found[name + axis] = thinned
        boxes = [one.get_bbox().extents for one in ax.patches if isinstance(one, Rectangle)]
        if boxes:
            found[f"boxes {number}"] = _thinned(boxes)
    return found


def _name(kind: str, axes: int, at: int, artist: Any) -> str:
    """What an artist is, in which axes and at which place, and its label if it has one."""
    label = str(artist.get_label())
    return f"{kind} {axes}.{at}" + (f" {label}" if not label.startswith("_") else "")


def _coordinates(line: Line2D) -> dict[str, Any]:
    return {" x": line.get_xdata(orig=False), " y": line.get_ydata(orig=False)}


def _areas(drawn: Any) -> dict[str, Any]:
    """The numbers behind points, an area or a coloured table."""
    if drawn.get_array() is not None:
        return {"": drawn.get_array()}
    if np.size(drawn.get_offsets()) > 2:
        return {"": drawn.get_offsets()}
    return {"": np.concatenate([path.vertices for path in drawn.get_paths()] or [np.empty(0)])}


def _cells(image: Any) -> dict[str, Any]:
    return {"": image.get_array()}


def _thinned(values: Any) -> list[Any]:
    """Some of the numbers, equally spaced in their order, both ends among them."""
    flat: Any = np.ravel(np.ma.filled(np.ma.asarray(values, dtype=float), np.nan))
    places = np.linspace(0, max(flat.size - 1, 0), min(flat.size, POINTS)).astype(int)
    return [one if np.isfinite(one) else str(one) for one in flat[places].tolist()]


def label_line(ax: Axes, line: Line2D, text: str, dx: float = 6.0, dy: float = 0.0) -> Annotation:
    """Write the name of a line `dx`, `dy` points from its last finite point, not in a legend."""
    points = np.asarray(line.get_xydata(), dtype=float)
    finite = points[np.isfinite(points).all(axis=1)]
    if len(finite) == 0:
        raise ValueError(f"line has no finite point to label with {text!r}")
    x, y = finite[np.argmax(finite[:, 0])]
    look: dict[str, Any] = {"textcoords": "offset points", "va": "center", "annotation_clip": False}
    look["color"] = ink(str(line.get_color()))
    return ax.annotate(text, (float(x), float(y)), xytext=(dx, dy), **look)


def draw_table(
    ax: Axes,
    cells: Sequence[Sequence[str]],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    filled: Collection[tuple[int, int]] = (),
    color: str = COLORS["orange"],
) -> Table:
    """Fill empty axes with a small table; cells in `filled`, from (0, 0), have a pale `color`."""
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
