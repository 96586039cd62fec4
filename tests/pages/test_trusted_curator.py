"""Pages 24 and 25: rankers at equal true loss."""

from __future__ import annotations

import numpy as np
import pytest

from dpbook.pages.trusted_curator import errors_at_loss
from dpbook.privacy import Edge
from dpbook.rankers import NoisyCounts, PerturbedMle


def test_every_ranker_is_brought_to_the_loss_whatever_its_epsilon() -> None:
    """Two items, one comparison: the loser is ranked first with the chance of a Laplace lead."""
    table, unit, losses = np.array([[0, 1], [0, 0]]), Edge(2), [0.5, 3.0]
    field = {str(e): NoisyCounts.private(e, unit) for e in (0.2, 5.0)}
    field["MLE"] = PerturbedMle.private(1.0, unit)
    seen: dict[str, list[np.ndarray]] = {name: [] for name in field}
    for seed in range(2):
        rng = np.random.default_rng(seed)
        found = errors_at_loss(
            field, dict.fromkeys(field, table), losses, lambda p: p[:, 0], size=4000, rng=rng
        )
        for name, errors in found.items():
            assert errors.shape == (2, 4000)
            seen[name].append(errors.mean(axis=1))
    for at, loss in enumerate(losses):
        chance = NoisyCounts.private(loss, unit).pmf(table)[1]
        for name in ("0.2", "5.0"):
            share = np.mean(seen[name], axis=0)[at]
            assert share == pytest.approx(chance, abs=5 * 0.5 / np.sqrt(8000))
    assert seen["MLE"][0][0] > seen["MLE"][0][1]  # more loss, fewer errors
