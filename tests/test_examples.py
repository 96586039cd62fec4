"""The examples in docstrings run, and what a reader meets first has one."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import dpbook

# What a reader who brings own data or an own mechanism meets first.
FIRST = {
    "data": ("Comparisons", "Rankings", "load_table"),
    "models": ("all_rankings",),
    "estimators": ("kemeny_fit", "pairwise_counts", "ridge_mle", "win_counts"),
    "privacy": ("Edge", "Person", "WholeRanking", "check_mechanism", "ranking_pmf"),
    "rankers": (
        "CappedKwikSort",
        "ExponentialRanking",
        "NoisyCounts",
        "NoisyPairs",
        "PairResponses",
        "PerturbedMle",
        "PrivateFootrule",
    ),
    "rank": ("rank_privately",),
    "simulation": ("expected_wrong_pairs",),
}
NAMES = [
    module.name
    for module in pkgutil.walk_packages(dpbook.__path__, "dpbook.")
    if not module.name.startswith(("dpbook.__main__", "dpbook.pages", "dpbook.book"))
]


def examples(name: str) -> list[doctest.DocTest]:
    found = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name))
    return [test for test in found if test.examples]


@pytest.mark.parametrize("name", [name for name in NAMES if examples(name)])
def test_examples_run(name: str) -> None:
    for test in examples(name):
        test.globs["np"] = np
        said: list[str] = []
        result = doctest.DocTestRunner().run(test, out=said.append)
        assert result.failed == 0, "".join(said)


@pytest.mark.parametrize("place", [f"{part}.{name}" for part in FIRST for name in FIRST[part]])
def test_what_a_reader_meets_first_has_an_example(place: str) -> None:
    part, name = place.split(".")
    value = getattr(importlib.import_module(f"dpbook.{part}"), name)
    assert ">>> " in (value.__doc__ or "")
