"""Page 01: the answers of four people, guesses before and after, random mechanisms, drawings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from matplotlib.patches import FancyBboxPatch
from numpy.typing import ArrayLike, NDArray

from dpbook.book import figures
from dpbook.privacy import privacy_loss

Array = NDArray[np.float64]

PEOPLE = ["Ana", "Ben", "Cho", "Dev"]
DRINKS = ["tea", "coffee", "juice"]
PAIRS = list(combinations(range(3), 2))
#: One row for each person, one column for each pair: +1 if the first drink of the pair won.
ANSWERS = np.array([[1, 1, 1], [-1, 1, 1], [1, -1, 1], [1, -1, -1]])
QUESTIONS = [f"{DRINKS[i]} or {DRINKS[j]}" for i, j in PAIRS]


def preferred(answers: NDArray[Any]) -> list[list[str]]:
    """The drink that each answer names."""
    return [
        [DRINKS[PAIRS[q][0 if a > 0 else 1]] for q, a in enumerate(row)] for row in answers.tolist()
    ]


def wins_text(counts: Sequence[Any]) -> str:
    """Win counts as text that no line break tears apart."""
    return "\N{NO-BREAK SPACE}".join(str(int(count)) for count in counts)


def order_of(counts: NDArray[Any]) -> NDArray[np.int64]:
    """Drinks by their wins, most first, ties in the order of the names; row by row."""
    return np.argsort(-counts, axis=-1, kind="stable")


# ------------------------------------------------------------------ guesses


def posterior(prior: ArrayLike, ratio: ArrayLike) -> Array:
    """Probability of the one world after an outcome that is `ratio` times as likely in it."""
    odds = np.asarray(prior, dtype=float) * ratio
    return np.asarray(odds / (odds + 1 - np.asarray(prior, dtype=float)))


def best_guess(channel: Array) -> float:
    """Chance to name the row of a channel, all rows being equally likely, after its outcome."""
    return float(channel.max(axis=0).sum() / len(channel))


# ------------------------------------------------------------------ random mechanisms


def largest_loss(laws: Array, pairs: Sequence[tuple[int, int]] | None = None) -> float:
    """Largest loss over pairs of rows, by default over all."""
    listed = combinations(range(len(laws)), 2) if pairs is None else pairs
    return max(privacy_loss(laws[x], laws[y]) for x, y in listed)


def random_laws(rng: np.random.Generator, worlds: int, outcomes: int) -> Array:
    """Independent laws, one for each world, with every outcome possible."""
    return rng.dirichlet(np.ones(outcomes), size=worlds)


def one_after_another(first: Array, second: Array) -> Array:
    """Joint law of two outcomes; `second` has an axis for the first outcome: [s, world, t]."""
    joint = first[:, :, None] * np.swapaxes(second, 0, 1)
    return joint.reshape(len(first), -1)


# ------------------------------------------------------------------ drawings

GREY = "#555555"


def _box(ax: Any, x: float, y: float, text: str, color: str, width: float = 1.3) -> None:
    """Draw a rounded box around its middle, in inches."""
    style = "round,pad=0,rounding_size=0.08"
    place = (x - width / 2, y - 0.27)
    ax.add_patch(FancyBboxPatch(place, width, 0.54, boxstyle=style, fc="white", ec=color, lw=1.8))
    ax.text(x, y, text, ha="center", va="center")


def _arrow(ax: Any, start: tuple[float, float], end: tuple[float, float], **look: Any) -> None:
    given = {"arrowstyle": "-|>", "color": GREY, "lw": 1.6, "shrinkA": 0, "shrinkB": 0} | look
    ax.annotate("", end, start, arrowprops=given)


def draw_subtraction(ax: Any, wins: NDArray[Any], victim: int, fitting: Sequence[str]) -> None:
    """Draw the published counts, less those of the people one knows, and what is left."""
    known = [u for u in range(len(wins)) if u != victim]
    total = wins.sum(axis=0)
    left = total - wins[known].sum(axis=0)
    rows = [("published", total, "")]
    rows += [(f"known: {PEOPLE[u]}", wins[u], "−") for u in known]
    rows += [(f"left: {PEOPLE[victim]}", left, "=")]
    columns, top = np.array([3.1, 4.5, 5.9]), 0.52 * len(rows) + 0.75
    for x, name in zip(columns, DRINKS, strict=True):
        ax.text(x, top, name, ha="center", color=GREY)
    for at, (name, counts, sign) in enumerate(rows):
        y = top - 0.52 * (at + 1)
        last = at == len(rows) - 1
        weight = "bold" if last or at == 0 else "normal"
        color = figures.ROLES["printed"] if last else "black"
        ax.text(0.1, y, name, color=figures.ink(color), weight=weight)
        for x, count in zip(columns, counts, strict=True):
            ax.text(x, y, f"{sign} {count}".strip(), ha="right", color=color, weight=weight)
        if last:
            ax.plot([0.1, 6.9], [y + 0.36] * 2, color=GREY, lw=1.5)
    words = "so the answers were: " + " or ".join(fitting)
    ax.text(0.1, 0.25, words, color=figures.ink(figures.ROLES["printed"]))


def draw_coin(ax: Any, truth: float, lie: float) -> None:
    """Draw randomised response as a tree: a coin decides whether the report is the answer."""
    answers, y = ("tea", "coffee"), (2.25, 0.6)
    ax.text(0.85, 2.85, "answer", ha="center", color=GREY)
    ax.text(6.15, 2.85, "report", ha="center", color=GREY)
    for at, name in enumerate(answers):
        _box(ax, 0.85, y[at], name, figures.ROLES["right"])
        _box(ax, 6.15, y[at], name, figures.MECHANISMS["response"])
        _arrow(ax, (1.55, y[at]), (5.45, y[at]), lw=5 * truth)
        _arrow(ax, (1.55, y[at]), (5.45, y[1 - at]), lw=5 * lie, linestyle="--")
        shift = 0.2 if at == 0 else -0.2
        ax.text(3.5, y[at] + shift, f"truth {truth:.2f}", ha="center", va="center")
    words = {"ha": "center", "va": "center", "backgroundcolor": "white"}
    ax.text(3.5, sum(y) / 2, f"lie {lie:.2f}", **words)


def draw_basics(ax: Any) -> None:
    """Draw post-processing, composition and group privacy, one above the other."""
    data, release = figures.ROLES["right"], figures.MECHANISMS["response"]
    # post-processing
    ax.text(0.05, 6.35, "Post-processing", weight="bold")
    for x, words, color in ((0.75, "data", data), (3.4, "release", release), (6.2, "list", GREY)):
        _box(ax, x, 5.5, words, color)
    _arrow(ax, (1.4, 5.5), (2.75, 5.5))
    ax.text(2.07, 5.62, "ε", ha="center")
    _arrow(ax, (4.05, 5.5), (5.55, 5.5))
    ax.text(4.8, 5.62, "anything", ha="center")
    ax.text(6.85, 4.95, "still ε", ha="right")
    # composition
    ax.text(0.05, 4.35, "Composition", weight="bold")
    _box(ax, 0.75, 3.2, "data", data)
    _box(ax, 3.4, 3.7, "release 1", release)
    _box(ax, 3.4, 2.7, "release 2", release)
    _arrow(ax, (1.4, 3.3), (2.75, 3.65))
    _arrow(ax, (1.4, 3.1), (2.75, 2.75))
    _arrow(ax, (3.4, 3.43), (3.4, 2.97), linestyle="--")
    ax.text(2.05, 3.72, "$ε_1$", ha="center")
    ax.text(2.05, 2.5, "$ε_2$", ha="center")
    ax.text(4.3, 3.2, "both seen:", va="bottom")
    ax.text(4.3, 3.15, "$ε_1 + ε_2$", va="top")
    # group privacy
    ax.text(0.05, 1.85, "Group privacy", weight="bold")
    spots = np.linspace(0.75, 6.2, 4)
    for at, x in enumerate(spots):
        _box(ax, x, 1.05, f"world {at}", data, width=1.15)
    for x, y in pairwise(spots):
        _arrow(ax, (x + 0.6, 1.05), (y - 0.6, 1.05), arrowstyle="<|-|>")
        ax.text((x + y) / 2, 1.2, "ε", ha="center")
    _arrow(ax, (spots[0], 0.5), (spots[-1], 0.5), arrowstyle="<|-|>")
    far = len(spots) - 1
    ax.text(spots.mean(), 0.12, f"{far} people changed: {far} ε", ha="center")
