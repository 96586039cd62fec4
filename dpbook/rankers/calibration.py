"""Names that pages 09, 10 and 15 still use; `PerturbedMle` says the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.data import Comparisons
from dpbook.privacy.units import Edge, Person
from dpbook.rankers.mle import PerturbedMle

Array = NDArray[np.float64]


def mle_calibration(
    n_items: int, *, epsilon: float, privacy: str, design: str, gamma: float | None = None
) -> PerturbedMle:
    """`PerturbedMle.private` for one person who answers each pair once, or may skip pairs."""
    check.choice("privacy", privacy, ("individual",))
    return PerturbedMle.private(epsilon, Person(n_items, design=design), gamma)


def perturbed_mle(
    data: Any, *, epsilon: float, privacy: str, calibration: str, rng: np.random.Generator
) -> Array:
    """One centred release for each table, one comparison protected.

    Idealised sampler (floating point): for study, unsafe for a release.
    """
    check.choice("privacy", privacy, ("edge",))
    table = np.asarray(data)
    unit = Edge(table.shape[-1], exchange=calibration != "flips-only")
    kind = PerturbedMle.printed if calibration == "printed" else PerturbedMle.private
    ranker = kind(epsilon, unit)
    return ranker.release(table, ranker.noise(table.shape[:-2], rng=rng), centre=True)


def objective_perturbation(
    data: Comparisons | ArrayLike,
    *,
    gamma: float,
    scale: float,
    size: int,
    rng: np.random.Generator,
) -> Array:
    """Raw releases of one data set, shape (size, n).

    Idealised sampler (floating point): for study, unsafe for a release.
    """
    table = data.win_matrix() if isinstance(data, Comparisons) else np.asarray(data)
    ranker = PerturbedMle(Edge(table.shape[-1]), scale, gamma)
    return ranker.release(table, ranker.noise(size, rng=rng))


def perturbed_mle_logpdf(
    theta: ArrayLike, data: Comparisons | ArrayLike, *, gamma: float, scale: float
) -> Array:
    """`PerturbedMle.logpdf`."""
    return PerturbedMle(Edge(np.shape(theta)[-1]), scale, gamma).logpdf(theta, data)
