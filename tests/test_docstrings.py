"""What docstrings promise of samplers, in the same words everywhere; their examples run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import FunctionType

import numpy as np
import pytest

import dpbook
from dpbook import mechanisms, rankers
from dpbook.privacy import Edge, WholeRanking
from tests.oracles import NoFloats

IDEALISED = "Idealised sampler (floating point): for study, unsafe for a release."
EXACT = (
    "Exact sampler (integer arithmetic): no floating-point leak, but for study too, "
    "since a seeded generator can be repeated."
)


def functions_with_a_generator() -> Iterator[tuple[str, FunctionType | type]]:
    """Every public function, or method of a public class, of the two packages that takes `rng`."""
    for package in (mechanisms, rankers):
        found = pkgutil.walk_packages(package.__path__, package.__name__ + ".")
        modules = [package, *(importlib.import_module(info.name) for info in found)]
        for module in modules:
            for name in getattr(module, "__all__", ()):
                thing = getattr(module, name)
                if inspect.isabstract(thing):
                    continue
                parts = vars(thing) if inspect.isclass(thing) else {"": thing}
                for part, function in parts.items():
                    # A leading underscore marks what nobody calls by itself.
                    if inspect.isfunction(function) and not part.startswith("_"):
                        if "rng" in inspect.signature(function).parameters:
                            # A frozen ranker says it once, for all its methods.
                            yield f"{name}.{part}".rstrip("."), thing if part else function


SAMPLERS = dict(functions_with_a_generator())


@pytest.mark.parametrize("name", SAMPLERS)
def test_every_sampler_says_of_which_kind_it_is(name: str) -> None:
    owner, _, method = name.partition(".")  # of a class: it, or the method
    told = [SAMPLERS[name].__doc__, getattr(rankers, owner).__doc__ if method else ""]
    words = " ".join(" ".join(doc or "" for doc in told).split())
    assert IDEALISED in words or EXACT in words


def test_samplers_that_are_said_to_be_exact_draw_no_float() -> None:
    found = "randomized_response ExponentialRanking.publish PairResponses.lots NoisyPairs.rank"
    assert {*found.split(), "AnswersOnDemand.answers"} <= set(SAMPLERS)
    exact = {name for name in SAMPLERS if EXACT in " ".join(str(SAMPLERS[name].__doc__).split())}
    made = rankers.DiscreteCounts, rankers.KNormCounts, rankers.CubePairs
    assert exact == {f"{c.__name__}.{call}" for c in made for call in ("publish", "rank")}
    rng = NoFloats(np.random.PCG64(1))
    for kind in made:
        ranker = kind.private(1, WholeRanking(3))
        assert ranker.publish(3 * np.tri(3, k=-1), rng=rng).dtype == np.int64
    with pytest.raises(AssertionError, match=r"rng\.laplace was called"):
        rankers.NoisyCounts.private(1, Edge(2)).noise(rng=rng)


# What a reader who brings own data or an own mechanism meets first.
FIRST = """data.Comparisons data.Rankings data.load_table models.all_rankings
estimators.kemeny_fit estimators.pairwise_counts estimators.ridge_mle estimators.win_counts
privacy.Edge privacy.Person privacy.WholeRanking privacy.check_mechanism privacy.ranking_pmf
rankers.CappedKwikSort rankers.ExponentialRanking rankers.NoisyCounts rankers.NoisyPairs
rankers.PairResponses rankers.PerturbedMle rankers.PrivateFootrule rank.rank_privately
simulation.expected_wrong_pairs"""
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


@pytest.mark.parametrize("place", FIRST.split())
def test_what_a_reader_meets_first_has_an_example(place: str) -> None:
    part, name = place.split(".")
    value = getattr(importlib.import_module(f"dpbook.{part}"), name)
    assert ">>> " in (value.__doc__ or "")
