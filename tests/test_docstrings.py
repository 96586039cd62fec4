"""What the docstrings of the samplers promise, in the same words everywhere."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import FunctionType

import numpy as np
import pytest

from dpbook import mechanisms, rankers

IDEALISED = "Idealised sampler (floating point): for study, unsafe for a release."
EXACT = (
    "Exact sampler (integer arithmetic): no floating-point leak, but for study too, "
    "since a seeded generator can be repeated."
)


def functions_with_a_generator() -> Iterator[tuple[str, FunctionType]]:
    """Every public function, or method of a public class, of the two packages that takes `rng`."""
    for package in (mechanisms, rankers):
        found = pkgutil.walk_packages(package.__path__, package.__name__ + ".")
        modules = [package, *(importlib.import_module(info.name) for info in found)]
        for module in modules:
            for name in getattr(module, "__all__", ()):
                thing = getattr(module, name)
                parts = vars(thing) if inspect.isclass(thing) else {"": thing}
                for part, function in parts.items():
                    # A leading underscore marks what nobody calls by itself.
                    if inspect.isfunction(function) and not part.startswith("_"):
                        if "rng" in inspect.signature(function).parameters:
                            yield f"{name}.{part}".rstrip("."), function


SAMPLERS = dict(functions_with_a_generator())


@pytest.mark.parametrize("name", SAMPLERS)
def test_every_sampler_says_of_which_kind_it_is(name: str) -> None:
    words = " ".join((SAMPLERS[name].__doc__ or "").split())
    assert IDEALISED in words or EXACT in words


def test_samplers_of_every_module_were_found() -> None:
    assert {"laplace_noise", "permute_and_flip", "private_kemeny", "ldp_kwiksort"} <= set(SAMPLERS)
    assert {"NoisyCounts.noise", "adaptive_answers", "capped_kwiksort"} <= set(SAMPLERS)


class NoFloats(np.random.Generator):
    """A generator that gives nothing but whole numbers."""

    def __getattribute__(self, name: str) -> object:
        if not name.startswith("_") and name not in ("integers", "bit_generator", "spawn"):
            raise AssertionError(f"rng.{name} was called by a sampler that is said to be exact")
        return super().__getattribute__(name)


def test_samplers_that_are_said_to_be_exact_draw_no_float() -> None:
    exact = {name for name in SAMPLERS if EXACT in " ".join(str(SAMPLERS[name].__doc__).split())}
    assert exact == {"discrete_laplace_noise", "noisy_counts"}
    rng = NoFloats(np.random.PCG64(1))
    assert mechanisms.discrete_laplace_noise(2.5, 100, rng=rng).dtype == np.int64
    counts = rankers.noisy_counts(
        [[0, 2], [1, 0]], epsilon=1, privacy="edge", noise="discrete_laplace", rng=rng
    )
    assert counts.dtype == np.int64
    with pytest.raises(AssertionError, match=r"rng\.laplace was called"):
        rankers.noisy_counts([[0, 2], [1, 0]], epsilon=1, privacy="edge", rng=rng)
