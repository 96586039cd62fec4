"""Page 02: words for win counts, sensitivities by search, brute-force profiles, last bits,
a drawing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.spatial.distance import cdist

from dpbook.book.figures import COLORS
from dpbook.estimators import ranks_from_scores
from dpbook.mechanisms import discrete_laplace_pmf, laplace_logpdf
from dpbook.models import all_rankings
from dpbook.privacy import Edge, MechanismReport, Person, clopper_pearson, privacy_loss

Array = NDArray[np.float64]
METRICS: dict[str, Any] = {"l1": "cityblock", "l2": "euclidean", "linf": "chebyshev"}


# ------------------------------------------------------------------ words


def arrow(pair: Iterable[Any]) -> str:
    """A pair of win-count vectors as text."""
    return " → ".join(" ".join(str(int(c)) for c in counts) for counts in pair).replace(
        " ", "\N{NO-BREAK SPACE}"
    )


def yes(fact: bool | None) -> str:
    """A verdict in a table."""
    return "yes" if fact else "no"


def becomes(said: Sequence[Sequence[str]], person: int, new: Sequence[str]) -> list[Sequence[str]]:
    """The table with the answers of one person replaced; an arrow marks each change."""
    both = zip(said[person], new, strict=True)
    marked = [old if old == other else f"{old}\n→ {other}" for old, other in both]
    return [*said[:person], marked, *said[person + 1 :]]


def verdict(found: MechanismReport, digits: int = 4) -> dict[str, str]:
    """What the checker found, for a row of a table."""
    return {
        "exact loss (nats)": f"{found.loss:.{digits}f}",
        "δ(ε)": f"{found.delta:.{digits}f}",
        "worst pair of win counts": arrow(found.pair),
        "outcome": ", ".join(map(str, found.outcome)),  # type: ignore[call-overload]
        "private": yes(found.private),
    }


# ------------------------------------------------------------------ sensitivities


def searched(design: str, n: int, per_user: int | None = None) -> dict[str, float]:
    """Sensitivities of the win counts by search over all pairs, in every norm."""
    if design == "edge":
        before, after = Edge(n, exchange=n <= 4).neighbours().swapaxes(0, 1)
        first, second = after - before, np.zeros((1, n), dtype=np.int64)
    else:
        second = Person(n, per_user, design).contributions()
        first = np.unique(-np.sort(-second, axis=1), axis=0)  # renaming sorts one of the two
    return {norm: float(cdist(first, second, metric).max()) for norm, metric in METRICS.items()}


# ------------------------------------------------------------------ clipped counts


def clipped_pmf(count: int, scale: float, top: int) -> Array:
    """Exact law of a count plus discrete Laplace noise, clipped to 0..top."""
    tails = np.exp(-np.array([count, top - count]) / scale) / (1 + np.exp(-1 / scale))
    middle = discrete_laplace_pmf(np.arange(1, top) - count, scale)
    return np.concatenate([tails[:1], middle, tails[1:]])


def joint(laws: Sequence[Array]) -> dict[tuple[int, ...], float]:
    """Law of independent counts: outcome -> probability."""
    outcomes = product(range(len(laws[0])), repeat=len(laws))
    return dict(zip(outcomes, reduce(np.multiply.outer, laws).ravel(), strict=True))


# ------------------------------------------------------------------ the loss of a noisy vector


def integral(function: Callable[[float], float], corners: Array, far: float) -> float:
    """Integral over the line, in pieces between the corners of the function."""
    inner = np.unique(np.round(corners, 9))  # no piece as narrow as a rounding error
    cuts = [inner[0] - far, *inner, inner[-1] + far]
    return float(sum(quad(function, low, high, epsabs=1e-12)[0] for low, high in pairwise(cuts)))


def integrated_profile(shift: tuple[int, int], scale: float, eps: float) -> float:
    """Integral of (p - e^eps q)_+ over the plane, p and q two Laplace laws that differ by shift."""
    a, c = shift

    def density(x: float) -> float:
        return float(np.exp(-abs(x) / scale) / (2 * scale))

    def over_y(x: float) -> float:
        stretched = np.exp(eps) * density(x - a)
        meet = (c - eps * scale + abs(x - a) - abs(x)) / 2  # where the integrand reaches zero

        def excess(y: float) -> float:
            return max(density(x) * density(y) - stretched * density(y - c), 0.0)

        return integral(excess, np.clip([0, meet, c], 0, c), 40 * scale)

    meets = (a + c - eps * scale) / 2, (a - c - eps * scale) / 2
    return integral(over_y, np.clip([0, *meets, a], 0, a), 40 * scale)


def exact_losses(
    law: Callable[[tuple[int, ...], float], Mapping[Any, float]], n_items: int, scale: float
) -> tuple[Array, float, float, float]:
    """A shift, the scale, and the losses of discrete and Laplace noise over it.

    The one by enumeration of the law, the other at every corner of the plane.
    """
    x, y = (n_items - 1, 0, 0), (0, 1, 1)
    discrete = privacy_loss(*(list(law(c, scale).values()) for c in (x, y)))
    outcomes = np.array(list(product(np.arange(-1.0, n_items + 0.5, 0.5), repeat=3)))
    logs = [laplace_logpdf(outcomes - c, scale).sum(axis=1) for c in (x, y)]
    return np.subtract(x, y), scale, discrete, float(np.abs(logs[0] - logs[1]).max())


# ------------------------------------------------------------------ samples


def frequencies(scores: Array, published: int = 0) -> NDArray[np.int64]:
    """How often each ranking came out, and last how often something else did."""
    rankings = {tuple(r): at for at, r in enumerate(all_rankings(scores.shape[1]).tolist())}
    found, times = np.unique(ranks_from_scores(scores), axis=0, return_counts=True)
    tally = np.zeros(len(rankings) + 1, dtype=np.int64)
    tally[[rankings[tuple(r)] for r in found.tolist()]] = times
    tally[-1] = published
    return tally


def finer(outputs: NDArray[Any]) -> NDArray[np.bool_]:
    """Which numbers have a bit below 2**-53? Scaling by a power of two is exact."""
    return np.asarray(np.ldexp(outputs, 53) % 1 != 0)


def share_of_finer(outputs: NDArray[Any]) -> tuple[float, float, float]:
    """Share of outputs with finer bits, and its interval."""
    hits = finer(outputs).sum()
    low, high = clopper_pearson(hits, len(outputs), confidence=0.999)
    return hits / len(outputs), float(low), float(high)


def share_by_size(outputs: NDArray[Any], sizes: NDArray[np.int64]) -> Array:
    """The same for the outputs from 2**-(j + 1) up to 2**-j, where there are at least ten."""
    shares = np.full((len(sizes), 3), np.nan)
    for j in sizes:
        inside = outputs[np.frexp(np.abs(outputs))[1] == -j]
        if len(inside) >= 10:
            shares[j] = share_of_finer(inside)
    return shares


# ------------------------------------------------------------------ a drawing


def draw_flip_and_exchange(ax: Any) -> None:
    """Draw four items and three comparisons, then one of them flipped, then one exchanged."""
    corners = {"a": (0.35, 1.85), "b": (1.65, 1.85), "c": (0.35, 0.55), "d": (1.65, 0.55)}
    common = [("a", "c"), ("b", "d")]
    changed, grey = COLORS["vermillion"], "#555555"
    cases = [
        ("the data", [("a", "b", grey, "-|>")]),
        ("a flip", [("b", "a", changed, "-|>")]),
        ("an exchange", [("a", "b", changed, "-"), ("c", "d", changed, "-|>")]),
    ]
    for at, (title, moved) in enumerate(cases):
        shift = np.array([2.5 * at, 0.0])
        ax.text(shift[0] + 1.0, 2.6, title, ha="center")
        arrows = [(i, j, grey, "-|>") for i, j in common] + moved
        for i, j, color, style in arrows:
            look = {"arrowstyle": style, "color": color, "shrinkA": 13, "shrinkB": 13}
            look["lw"] = 1.6 if color == grey else 2.6
            look["linestyle"] = ":" if style == "-" else "-"
            start, end = (shift + corners[name] for name in (i, j))
            ax.annotate("", end, start, arrowprops=look)
        for name, spot in corners.items():
            ax.text(*(shift + spot), name, ha="center", va="center", weight="bold")
