"""The first place, or the k items that won most as a set: what was asked for, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook._typing import Array
from dpbook.mechanisms.noise import exponential_pmf, permute_and_flip_pmf
from dpbook.models.rankings import all_rankings
from dpbook.privacy.distributions import MAX_ITEMS_RANKING, sets_of
from dpbook.privacy.loss import check_mechanism
from dpbook.privacy.units import Unit
from dpbook.rankers.base import Size
from dpbook.rankers.counts import CountRanker, Data, DiscreteCounts


@dataclass(frozen=True)
class TopSet(CountRanker):
    """One set of k items, of at most 5000 sets, drawn by their wins; for k = 1 the first place.

    The ``mechanism``, ``"permute_and_flip"`` or ``"exponential"``, takes the set with the most wins
    plus exponential, or Gumbel, noise of the scale.

    Notes
    -----
    **Privacy.** At the scale of `private`, (epsilon, 0)-DP: sets move apart by at most twice the
    unit's `half_range`. No smaller scale will do for many people; few, ``users``, lose less.
    Idealised sampler (floating point): for study, unsafe for a release.

    >>> from dpbook.privacy import Edge
    >>> TopSet.private(1.0, Edge(3)).set_pmf([4, 2, 0]).round(3)
    array([0.765, 0.176, 0.059])
    """

    k: int = 1
    mechanism: str = "permute_and_flip"
    step = 0.5
    rank = DiscreteCounts.rank  # the set before the others, at random within both

    def __post_init__(self) -> None:
        super().__post_init__()
        self.unit.half_range(self.k)
        check.choice("mechanism", self.mechanism, ("permute_and_flip", "exponential"))

    @classmethod
    def private(
        cls, epsilon: float, unit: Unit, k: int = 1, mechanism: str = "permute_and_flip"
    ) -> Self:
        """The least scale that is epsilon-DP for any number of people: the range over epsilon."""
        return cls(unit, 2 * unit.half_range(k) / check.epsilon(epsilon), k, mechanism)

    def publish(self, data: Data, size: Size = (), *, rng: np.random.Generator) -> NDArray[Any]:
        """Which items are in the set, booleans, (size..., n); of a stack of tables as its shape."""
        counts, sides = self._counts(data), self._sides(data, size)
        sets, rng = sets_of(self.unit.n_items, self.k), check.generator(rng)
        draw = rng.exponential if self.mechanism == "permute_and_flip" else rng.gumbel
        noise = draw(scale=self.scale, size=(*sides, len(sets)))
        best = sets[(counts[..., sets].sum(axis=-1) + noise).argmax(axis=-1)]
        return (best[..., None] == np.arange(self.unit.n_items)).any(axis=-2)

    def set_pmf(self, counts: ArrayLike) -> Array:
        """Exact distribution over `sets_of`, given win counts (n,); the caller checks the data."""
        wins = check.item_vector("counts", counts)[sets_of(self.unit.n_items, self.k)].sum(axis=1)
        pmf = exponential_pmf if self.mechanism == "exponential" else permute_and_flip_pmf
        return pmf(wins, 1.0, 2 / check.noise_scale(self.scale))

    def _pmf(self, counts: ArrayLike) -> Array:
        n = check.integer("n_items", self.unit.n_items, 2, MAX_ITEMS_RANKING)
        first = np.sort(np.argsort(all_rankings(n), axis=1)[:, : self.k], axis=1)
        same = (first[:, None] == sets_of(n, self.k)).all(axis=-1)
        return np.asarray(same @ (self.set_pmf(counts) / same.sum(axis=0)))

    def _release_loss(self) -> tuple[float, float]:
        if self.unit.users is None:
            most = 2 * self.unit.half_range(self.k)  # what many people or answers come near
            return (most / self.scale if self.scale else float("inf"),) * 2
        return (check_mechanism(self.set_pmf, self.unit.neighbours("counts")).loss,) * 2
