"""Page 03: Plackett-Luce against products of choices, allowed lists by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpbook import estimators as est
from dpbook import models
from dpbook.pages.comparisons_and_rankings import (
    RING,
    allowed_lists,
    apart,
    first_places,
    in_order,
    is_circle,
    kwiksort_comparisons,
    pattern_counts,
    plackett_luce_pmf,
    plackett_luce_rankings,
    ring_law,
)
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


def test_allowed_lists_against_scores_by_hand() -> None:
    # Lists 0 = abc, 1 = acb, 2 = bac, ...: two people who agree on all but the last pair.
    lists, others, sets = allowed_lists(3, 2)
    assert others.tolist() == [[k] for k in range(6)]
    abc_acb = {rule: lists[found[1]].tolist() for rule, found in sets.items()}
    assert list(abc_acb.values()) == [[[0, 1, 2], [0, 2, 1]]] * 3
    # abc and cba: everything is tied, so every list is allowed.
    assert all(found[5].all() for found in sets.values())
    top = first_places(lists, sets["Borda"])
    assert top[1].tolist() == [True, False, False] and top[5].all()
    assert apart(sets["Borda"], ~sets["Kemeny"])[5] and not apart(top, top).any()


def test_patterns_of_majorities() -> None:
    assert pattern_counts((1, 0, -1)).tolist() == [[1.5, 3, 1.5], [0, 1.5, 0], [1.5, 3, 1.5]]
    patterns = list(itertools.product((-1, 0, 1), repeat=3))
    for signs in filter(is_circle, patterns):
        counts = pattern_counts(signs)
        assert (np.sign(counts - counts.T).sum(axis=1) == 0).all()
    assert sum(map(is_circle, patterns)) == 2


def test_laws_of_three_items_go_round_the_ring() -> None:
    law = ring_law(models.all_rankings(3), np.arange(6))
    # Positions (1, 2, 0) are the order cab, and so on.
    names = ["".join("abc"[k] for k in order) for order in RING]
    assert dict(zip(names, law, strict=True)) == {
        "abc": 0, "acb": 1, "bac": 2, "cab": 3, "bca": 4, "cba": 5
    }  # fmt: skip
    assert in_order(np.array([1, 2, 0]), "abc", "") == "cab"
    for here, there in itertools.pairwise([*RING, RING[0]]):
        assert sum(a != b for a, b in zip(here, there, strict=True)) == 2


def test_recorded_comparisons() -> None:
    rng = np.random.default_rng(9)
    counts = est.pairwise_counts(np.argsort(np.random.default_rng(9).random((15, 12)), axis=1))
    law = est.comparisons_pmf_tournament(counts > counts.T)
    numbers = []
    for _ in range(3000):
        positions, pairs = kwiksort_comparisons(counts, rng=rng)
        assert sorted(positions) == list(range(12))
        assert len({frozenset(pair) for pair in pairs.tolist()}) == len(pairs)
        ahead = counts[pairs[:, 0], pairs[:, 1]] > counts[pairs[:, 1], pairs[:, 0]]
        assert ((positions[pairs[:, 0]] < positions[pairs[:, 1]]) == ahead).all()
        numbers.append(len(pairs))
    assert audit_sampler(np.bincount(numbers, minlength=law.size), law).passed
    transitive = est.comparisons_pmf(12)
    assert not audit_sampler(np.bincount(numbers, minlength=law.size), transitive).passed
    again = est.kwiksort_rankings(counts, rng=np.random.default_rng(3))
    assert (kwiksort_comparisons(counts, rng=np.random.default_rng(3))[0] == again).all()
