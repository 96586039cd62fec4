"""Ranking by noisy win counts.

Noisy counts release the win counts plus independent noise; the top-k set or the ranking is read
off the noisy counts. Every sampler has an exact twin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.data import Comparisons
from dpbook.estimators import win_counts
from dpbook.mechanisms import (
    discrete_laplace_noise,
    discrete_laplace_pmf,
    laplace_logpdf,
    laplace_noise,
)
from dpbook.privacy.laws import NOISES, ranking_law, top_k_law
from dpbook.privacy.loss import check_mechanism
from dpbook.privacy.sensitivity import count_sensitivity
from dpbook.privacy.units import Edge, Person, Unit
from dpbook.rankers.base import Ranker

__all__ = [
    "NoisyCounts",
    "count_noise_scale",
    "noisy_counts",
    "noisy_counts_logpdf",
    "noisy_counts_ranking_pmf",
    "noisy_counts_top_k_pmf",
]

Array = NDArray[np.float64]

CALIBRATIONS = ("tight", "printed")
# Designs in which everybody answers every pair.
COMPLETE = ("each_pair_once", "ranking")


@dataclass(frozen=True)
class NoisyCounts(Ranker):
    """Win counts plus independent noise; the items are ranked by the result.

    Attributes
    ----------
    unit : Edge, Person or WholeRanking
        Who is protected.
    scale : float
        Scale of the noise on each count, in wins.
    discrete : bool
        Discrete Laplace noise, on whole counts; ties are then broken by the order of the items.

    Notes
    -----
    CCW25, Algorithms 2 and 3. **Privacy.** At the scale of `private`, (epsilon, 0)-DP and no less
    for the noisy counts; a ranking or a top-k set read off them loses less on small data (`loss`).
    The sampler is idealised (floating point): for study, unsafe for a release; with discrete noise
    it is exact (integer arithmetic), but for study too, since a seeded generator can be repeated.

    Examples
    --------
    >>> NoisyCounts.private(0.5, Edge(4)).scale, NoisyCounts.private(0.5, Person(4, 3)).scale
    (4.0, 12.0)
    >>> NoisyCounts.printed(0.5, Person(4, 3)).loss()  # twice what is promised
    (1.0, 1.0)
    """

    discrete: bool = False

    @classmethod
    def private(cls, epsilon: float, unit: Unit, *, discrete: bool = False) -> NoisyCounts:
        """The least noise that is epsilon-DP: the l1-sensitivity over epsilon."""
        return cls(unit, unit.l1("counts") / check.epsilon(epsilon), discrete)

    @classmethod
    def printed(cls, epsilon: float, unit: Edge | Person) -> NoisyCounts:
        """As CCW25 prints it: 2 / epsilon (Algorithm 2), L / epsilon (Algorithm 3, too small)."""
        moved = 2 if isinstance(unit, Edge) else unit.comparisons
        return cls(unit, moved / check.epsilon(epsilon))

    def noise(self, size: int | tuple[int, ...] = (), *, rng: np.random.Generator) -> Any:
        """Noise for `release`, shape (*size, n): standard, or at this scale if discrete."""
        if not self.discrete:
            return super().noise(size, rng=rng)
        shape = (*check.shape("size", size), self.unit.n_items)
        return discrete_laplace_noise(self.scale, shape, rng=rng)

    def release(self, data: Comparisons | ArrayLike, noise: ArrayLike) -> NDArray[Any]:
        """Noisy counts, shape (..., n).

        Parameters
        ----------
        data : Comparisons, or array, shape (..., n, n)
            Comparisons, or tables of wins, which may hold halves (ties) unless noise is discrete.
        noise : array, shape (..., n)
            From `noise`.
        """
        table = data
        if not isinstance(data, Comparisons):
            table = check.win_tables("data", data, unit=1 if self.discrete else 0.5)
        self.unit.check(table)
        return self.perturb(win_counts(table), noise)

    def perturb(self, counts: ArrayLike, noise: ArrayLike) -> NDArray[Any]:
        """The release from the win counts alone, shape (..., n)."""
        drawn = np.asarray(noise)
        return np.asarray(counts) + (drawn if self.discrete else self.scale * drawn)

    def pmf(self, data: Comparisons | ArrayLike) -> Array:
        """Exact law of the ranking of up to 7 items, over ``all_rankings(n)``."""
        return self._law(win_counts(data))

    def logpdf(self, released: ArrayLike, counts: ArrayLike) -> Array:
        """Log-density, or log-probability, of noisy counts given the counts; shape (...)."""
        x = check.finite_array("released", released) - check.finite_array("counts", counts)
        if not self.discrete:
            return np.asarray(laplace_logpdf(x, self.scale).sum(axis=-1))
        if not np.array_equal(x, np.rint(x)):
            raise ValueError("released holds a fraction: allowed are integers with discrete noise")
        return np.asarray(np.log(discrete_laplace_pmf(x, self.scale)).sum(axis=-1))

    def _law(self, counts: ArrayLike) -> Array:
        noise = "discrete_laplace" if self.discrete else "laplace"
        return ranking_law(counts, scale=self.scale, noise=noise)

    def _release_loss(self) -> tuple[float, float]:
        exact = self.unit.l1("counts") / self.scale
        return exact, exact

    def _ranking_loss(self) -> tuple[float, float]:
        exact = check_mechanism(self._law, self.unit.neighbours("counts")).loss
        return exact, exact


def count_noise_scale(
    n_items: int,
    *,
    epsilon: float,
    privacy: str,
    design: str | None = None,
    per_user: int | None = None,
    calibration: str = "tight",
) -> float:
    """Scale of the noise that noisy counts add to each win count.

    Parameters
    ----------
    n_items : int
        Number of items n.
    epsilon : float
        Privacy parameter in nats, above 0.
    privacy : {"edge", "individual"}
        One comparison protected, or everything one person says.
    design : {"with_replacement", "each_pair_once", "each_pair_or_skip", "ranking"}, optional
        What a person answers (see `dpbook.privacy.bundle_contributions`), for individual privacy
        only; ``"with_replacement"`` when left out.
    per_user : int, optional
        Comparisons L of one person, for ``"with_replacement"`` only.
    calibration : {"tight", "printed"}
        The l1-sensitivity over epsilon, or what CCW25 prints: 2 / epsilon for edge privacy,
        L / epsilon for individual privacy (L = n (n - 1) / 2 when each pair is answered).

    Returns
    -------
    float
        In wins.

    Notes
    -----
    **Privacy.** ``"tight"`` gives (epsilon, 0)-DP and no smaller epsilon for the noisy counts.
    ``"printed"`` is the same for edge privacy (CCW25 Algorithm 2, tight). For individual privacy
    (CCW25 Algorithm 3) it is wrong: the counts are then private at ``count_sensitivity / L`` times
    epsilon, which is 2 epsilon for L comparisons with replacement.
    """
    epsilon = check.epsilon(epsilon)
    check.choice("calibration", calibration, CALIBRATIONS)
    total = count_sensitivity(n_items, privacy=privacy, design=design, per_user=per_user)
    if calibration == "tight" or privacy == "edge":
        return total / epsilon
    return (n_items * (n_items - 1) // 2 if per_user is None else per_user) / epsilon


def noisy_counts(
    data: Comparisons | ArrayLike,
    *,
    epsilon: float,
    privacy: str,
    design: str | None = None,
    per_user: int | None = None,
    trust_design: bool = False,
    calibration: str = "tight",
    noise: str = "laplace",
    rng: np.random.Generator,
) -> NDArray[np.generic]:
    """Win counts plus independent noise: rank the items by the result.

    Parameters
    ----------
    data : Comparisons, or array, shape (..., n, n)
        Comparisons, or win matrices (one per replicate). Wins are whole numbers; with Laplace
        noise a tie may count half a win for each side.
    epsilon, privacy, design, per_user, calibration
        As for `count_noise_scale`.
    trust_design : bool
        For individual privacy and data that do not say who gave which answer (win matrices,
        comparisons without users): the caller vouches that everybody keeps to the design. Without
        that word such data are refused.
    noise : {"laplace", "discrete_laplace"}
        Law of the noise. Discrete noise can tie; break ties at random, independently of the data
        (``ranks_from_scores(..., rng=rng)``).
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array, shape (..., n)
        Floats for Laplace noise, integers for discrete noise.

    Raises
    ------
    ValueError
        For arguments out of range, and for individual privacy if a person in ``data`` answered
        more or fewer pairs than the design allows, or if that cannot be seen and nobody vouches.

    Notes
    -----
    CCW25, Algorithms 2 and 3.

    **Privacy.** (epsilon, 0)-DP with ``calibration="tight"``: for edge privacy under flips and
    exchanges of one comparison, for individual privacy under replacement of one person's whole
    bundle by any other that the design allows; ties that count half a win for each side included
    (`dpbook.privacy.count_sensitivity`). With ``trust_design`` all this holds only as far as the
    caller's word does: a person beyond the design loses more than epsilon. The released counts
    attain epsilon exactly; a top-k set or ranking read off them loses less on small data.
    ``"printed"`` as in `count_noise_scale`.
    Idealised sampler (floating point): for study, unsafe for a release.
    With ``noise="discrete_laplace"`` instead:
    Exact sampler (integer arithmetic): no floating-point leak, but for study too, since a seeded
    generator can be repeated.
    """
    whole = check.choice("noise", noise, NOISES) == "discrete_laplace"
    unit = 1 if whole else 0.5
    table = data if isinstance(data, Comparisons) else check.win_tables("data", data, unit=unit)
    b = count_noise_scale(
        table.n_items if isinstance(table, Comparisons) else table.shape[-1],
        epsilon=epsilon,
        privacy=privacy,
        design=design,
        per_user=per_user,
        calibration=calibration,
    )
    check_people(table, privacy, design, per_user, trust_design)
    counts = win_counts(table)
    draw = discrete_laplace_noise if whole else laplace_noise
    return counts + draw(b, counts.shape, rng=rng)


def noisy_counts_logpdf(
    values: ArrayLike, counts: ArrayLike, *, scale: float, noise: str = "laplace"
) -> Array:
    """Log-density (or log-probability) of noisy counts: the exact twin of `noisy_counts`.

    Parameters
    ----------
    values : array, shape (..., n)
        Released noisy counts.
    counts : array of int, shape (..., n)
        True win counts.
    scale : float
        Scale of the noise, from `count_noise_scale`.
    noise : {"laplace", "discrete_laplace"}
        Law of the noise.

    Returns
    -------
    array, shape (...)
    """
    x = check.finite_array("values", values) - check.finite_array("counts", counts)
    if check.choice("noise", noise, NOISES) == "laplace":
        return np.asarray(laplace_logpdf(x, scale).sum(axis=-1))
    if not np.array_equal(x, np.rint(x)):
        raise ValueError("values hold a fraction: allowed are integers with discrete noise")
    return np.asarray(np.log(discrete_laplace_pmf(x, scale)).sum(axis=-1))


def noisy_counts_top_k_pmf(
    counts: ArrayLike, k: int, *, scale: float, noise: str = "laplace"
) -> Array:
    """Exact law of the top-k set of noisy counts; `dpbook.privacy.top_k_law` with its arguments.

    Parameters
    ----------
    counts : array of int, shape (n,)
        True win counts.
    k : int
        Size of the set.
    scale : float
        Scale of the noise, from `count_noise_scale`.
    noise : {"laplace", "discrete_laplace"}
        Law of the noise.

    Returns
    -------
    array, shape (C(n, k),)
        In the order of `dpbook.privacy.sets_of`.
    """
    return top_k_law(counts, k, scale=scale, noise=noise)


def noisy_counts_ranking_pmf(counts: ArrayLike, *, scale: float, noise: str = "laplace") -> Array:
    """Exact law of the ranking of noisy counts; `dpbook.privacy.ranking_law` with its arguments.

    Parameters
    ----------
    counts : array of int, shape (n,)
        True win counts, n at most 7.
    scale : float
        Scale of the noise, from `count_noise_scale`.
    noise : {"laplace", "discrete_laplace"}
        Law of the noise.

    Returns
    -------
    array, shape (n!,)
        In the order of `dpbook.models.all_rankings`.
    """
    return ranking_law(counts, scale=scale, noise=noise)


def check_people(
    data: Comparisons | ArrayLike,
    privacy: str,
    design: str | None,
    per_user: int | None,
    trusted: bool,
) -> None:
    """Refuse data in which somebody said other things than the calibration assumes.

    ``data`` are comparisons or checked win tables; the other arguments have been checked.
    """
    if not isinstance(trusted, bool | np.bool_):
        raise ValueError(f"trust_design = {trusted!r}: allowed is True or False")
    if privacy == "edge":
        if trusted:
            raise ValueError(
                "trust_design = True with privacy = 'edge': allowed is False, since no person's "
                "answers are protected together"
            )
        return
    if isinstance(data, Comparisons) and data.user is not None:
        check_bundles(data, design or "with_replacement", per_user)
        return
    if not trusted:
        raise ValueError(
            "data does not say who gave which answer, so that nobody can check that each person "
            "keeps to the design: allowed for individual privacy are labelled comparisons "
            "(Comparisons with user=...), or trust_design=True if you vouch for every person"
        )
    if design in COMPLETE:
        wins = data.win_matrix() if isinstance(data, Comparisons) else np.asarray(data)
        answers = (wins + np.swapaxes(wins, -1, -2))[..., ~np.eye(wins.shape[-1], dtype=bool)]
        uneven = (answers != answers[..., :1]).any(axis=-1)
        if uneven.any():
            row = answers[uneven][0]
            raise ValueError(
                f"design = {design!r}: data holds {row.min():g} answers to one pair and "
                f"{row.max():g} to another, so that somebody skipped a pair: allowed is the same "
                "number for all pairs, or design='each_pair_or_skip'"
            )


def check_bundles(data: Comparisons, design: str, per_user: int | None) -> None:
    """Refuse labelled comparisons in which a person said more, or less, than is assumed."""
    if data.user is None:
        raise ValueError("data.user = None: allowed are labelled comparisons")
    people, index = np.unique(data.user, return_inverse=True)
    index = index.ravel()
    answered = np.bincount(index)
    if design == "with_replacement":
        limit = check.integer("per_user", per_user, 1)
        if answered.max() > limit:
            raise ValueError(
                f"per_user = {limit}: a person in data has {answered.max()} comparisons: allowed "
                f"is per_user of at least that, which adds noise"
            )
        return
    low, high = np.minimum(data.winner, data.loser), np.maximum(data.winner, data.loser)
    if len(np.unique(np.stack([index, low, high], axis=1), axis=0)) < len(data):
        raise ValueError(
            f"design = {design!r}: a person in data compares one pair twice: allowed is each pair "
            "at most once, or design='with_replacement' with per_user"
        )
    pairs = data.n_items * (data.n_items - 1) // 2
    if design in COMPLETE and answered.min() < pairs:
        who = int(answered.argmin())
        raise ValueError(
            f"design = {design!r}: person {people[who]} in data answered {answered[who]} of "
            f"{pairs} pairs: allowed is every pair once, or design='each_pair_or_skip'"
        )
    if design == "ranking":
        # Answers to all pairs are a ranking if and only if no two items won equally often.
        wins = np.zeros((people.size, data.n_items), dtype=np.int64)
        np.add.at(wins, (index, data.winner), 1)
        circles = (np.sort(wins, axis=1) != np.arange(data.n_items)).any(axis=1)
        if circles.any():
            raise ValueError(
                f"design = 'ranking': the answers of person {people[circles.argmax()]} in data "
                "go round in a circle: allowed are rankings, or design='each_pair_once'"
            )
