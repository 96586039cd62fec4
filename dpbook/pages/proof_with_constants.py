"""Page 38: the lemma that bounds the error of the perturbed MLE, and its constant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root
from scipy.special import expit

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Slopes:
    """Of the score of one comparison: the least slope, the least mean slope that begins at a gap
    of strengths of at most 2, and the largest slope (κ, c and τ of the lemma)."""

    least: float
    mean: float
    most: float

    @classmethod
    def logistic(cls, reach: float) -> Slopes:
        """Those of the logistic link for errors of at most ``reach``."""
        end = 2 + 2 * reach
        mean = (expit(end) - expit(2)) / (2 * reach)
        return cls(float(expit(end) * expit(-end)), float(mean), 0.25)


def continued(gaps: Floats, reach: float) -> Floats:
    """The logistic link; beyond 2 + 2 ``reach`` on either side a line of its slope there."""
    end = 2 + 2 * reach
    near = np.clip(gaps, -end, end)
    line: Floats = expit(near) + expit(end) * expit(-end) * (gaps - near)
    return line


def fit(games: Floats, wins: Floats, gamma: float, noise: Floats, reach: float) -> Floats:
    """The centred minimiser of the perturbed objective with the continued link."""
    end = 2 + 2 * reach

    def score(x: Floats) -> Floats:
        table = games * continued(x[:, None] - x, reach) - wins
        total: Floats = table.sum(axis=1) + gamma * x + noise
        return total

    def slopes(x: Floats) -> Floats:
        gaps = np.clip(x[:, None] - x, -end, end)
        weights = games * expit(gaps) * expit(-gaps)
        return np.diag(weights.sum(axis=1) + gamma) - weights

    found = root(score, np.zeros(len(noise)), jac=slopes, tol=1e-12)
    if np.abs(score(found.x)).max() > 1e-6 * (1 + games.sum() / len(noise)):
        raise RuntimeError("the fit did not converge")
    centred: Floats = found.x - found.x.mean()
    return centred


def largest_error(
    slopes: Slopes,
    *,
    push: float,
    degree: float,
    spread: float,
    norm: float,
    own: float,
    gap: float,
    drift: float,
    part: float = 0.0,
) -> float:
    """The bound E of the lemma, infinite where its proof does not close: (H/c + α + q f) over
    D − β − 2 τ q M, where q = (V + β)/(κ Λ)."""
    moved = (spread + part) / (slopes.least * gap) if gap > 0 else np.inf
    room = degree - part - 2 * slopes.most * moved * norm
    return (push / slopes.mean + drift + moved * own) / room if room > 0 else np.inf


def closing_constant(n: float, sigma: float, slopes: Slopes) -> float:
    """E/R on the good events, for n items and σ = log n/S: it grows with σ and falls with n."""
    many, gap = 1 + np.sqrt(12 * sigma) + 2 * sigma, 1 - np.sqrt(28 * sigma)
    spread = (np.sqrt(6) + np.log(n) ** -0.5) * np.sqrt(many * sigma)
    own = np.sqrt(3.5 / 3 * many)
    away = (np.sqrt(many) + own / np.sqrt(n - 1)) / (slopes.least * gap)
    own_terms = {"push": np.sqrt(many), "own": own, "drift": np.sqrt(12 * sigma * many) * away}
    graph = {"degree": 1 - np.sqrt(12 * sigma), "norm": spread + many / np.sqrt(n - 1), "gap": gap}
    return largest_error(slopes, spread=spread, part=2 * sigma, **own_terms, **graph)
