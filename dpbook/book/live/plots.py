"""In place of seaborn where it is not, in a browser: the functions that pages draw with."""

from typing import Any

import numpy as np

_DASHES = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (3, 1.25, 1.5, 1.25)), (0, (5, 1, 1, 1)))


def heatmap(data: Any, *, ax: Any, annot: Any, fmt: str, cbar: bool, **look: Any) -> None:
    """Coloured cells with their values; never with a bar of colours."""
    columns, rows = look.pop("xticklabels"), look.pop("yticklabels")
    cells = np.ma.masked_array(data, look.pop("mask", False))
    values = cells if annot is True else annot
    mesh = ax.pcolormesh(cells, **look)
    for i, j in np.argwhere(~np.ma.getmaskarray(cells)):
        light = mesh.to_rgba(cells[i, j])[:3] ** np.array(2.2) @ [0.2126, 0.7152, 0.0722]
        middle = {"color": "0.15" if light > 0.408 else "w", "ha": "center", "va": "center"}
        ax.text(j + 0.5, i + 0.5, format(values[i, j], fmt), **middle)
    ax.set_xticks(np.arange(len(columns)) + 0.5, columns)
    ax.set_yticks(np.arange(len(rows)) + 0.5, rows)
    ax.spines[:].set_visible(False)
    ax.invert_yaxis()


def ecdfplot(x: Any, *, ax: Any, **look: Any) -> None:
    """The share of values below each, or above."""
    ax.ecdf(x, **look)


def lineplot(*, x: Any, y: Any, hue: Any, ax: Any, errorbar: Any, **look: Any) -> None:
    """A line of means for each name in `hue`, with so many standard errors as bars."""
    colors = look.get("palette", [f"C{k}" for k in range(len(_DASHES))])
    looks = zip(dict.fromkeys(hue), colors, look["markers"], _DASHES, strict=False)
    for name, color, mark, dash in looks:
        runs = [y[(hue == name) & (x == at)] for at in np.unique(x)]
        half = [errorbar[1] * v.std(ddof=1) / np.sqrt(v.size) for v in runs]
        line = {"color": color, "marker": mark, "ls": dash, "ms": look["markersize"], "mec": "w"}
        ax.errorbar(np.unique(x), [v.mean() for v in runs], half, label=name, **line)
    ax.legend()
