"""Plackett-Luce: the law against products of choices, the sampler against the law."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbook import models
from dpbook.pages.comparisons_and_rankings import plackett_luce_pmf, plackett_luce_rankings
from dpbook.privacy import audit_sampler


def test_the_law_is_the_product_of_choices() -> None:
    theta = np.array([0.4, -1.0, 0.9, 0.0])
    table, law = models.all_rankings(4), plackett_luce_pmf(theta)
    assert law.sum() == pytest.approx(1, abs=1e-14)
    for row, probability in zip(table.tolist(), law, strict=True):
        left, exact = set(range(4)), 1.0
        for item in np.argsort(row):
            exact *= math.exp(theta[item]) / sum(math.exp(theta[i]) for i in left)
            left.remove(int(item))
        assert probability == pytest.approx(exact, rel=1e-13, abs=0)
    first = (table[:, :, None] < table[:, None, :]).astype(float)
    marginals = np.einsum("r,rij->ij", law, first) + np.eye(4) / 2
    assert marginals == pytest.approx(models.btl_probabilities(theta), abs=1e-14)


def test_the_sampler_follows_its_law() -> None:
    theta = [1.0, 0.0, -0.5]
    positions = plackett_luce_rankings(theta, 20_000, rng=np.random.default_rng(4))
    rows = positions.tolist()
    counts = [rows.count(row) for row in models.all_rankings(3).tolist()]
    assert sum(counts) == 20_000 and audit_sampler(counts, plackett_luce_pmf(theta)).passed
    assert not audit_sampler(counts, plackett_luce_pmf([1.0, -0.5, 0.0])).passed


def test_far_apart_strengths() -> None:
    rng = np.random.default_rng(5)
    assert (plackett_luce_rankings([900.0, 0.0, -900.0], 50, rng=rng) == [0, 1, 2]).all()
    assert plackett_luce_pmf([900.0, 0.0, -900.0])[0] == pytest.approx(1)
