"""A private ranking of real answers: exact noise, and places with what they leave open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from numbers import Rational
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbook._typing import Array, Ints
from dpbook.rank.answers import Answers
from dpbook.rank.ledger import Ledger, charge, fingerprint, settle
from dpbook.rank.noise import Noise, SystemBits
from dpbook.rank.promise import Promise
from dpbook.rank.reading import answers_of, names_of
from dpbook.rank.release import TOGETHER, Placed, Release
from dpbook.rank.statement import statement_of

REDRAWS, MOST_REDRAWN = 200, 2_000_000  # of a table of pairs, and of their entries


def rank_privately(
    source: Any,
    *,
    epsilon: str | float | Rational,
    protect: str,
    max_answers: int | None = None,
    relation: str = "replace",
    delta: str | float | Rational = 0,
    statistic: str = "net",
    only: int | None = None,
    items: Sequence[str] | None = None,
    items_from_data: bool = False,
    vouched: bool = False,
    people: int | None = None,
    sampler: str = "book",
    ledger: str | PathLike[str] | None = None,
    budget: str | float | Rational | None = None,
    rng: np.random.Generator | None = None,
) -> Release:
    """Rank the items by answers under differential privacy, fit for a release.

    Parameters
    ----------
    source : path, Answers
        Or what has the ``kind``, ``items``, ``listed``, ``person``, ``repeats``, ``halves`` and
        ``exact`` of `Answers`. Of a path `read_answers` takes ``items`` and ``items_from_data``.
    statistic : {"net", "pairs"}
        Wins minus losses; or the table of pairs, to which strengths are fitted, with more noise,
        for data that ask about some items far more often. This and the rest as of `Promise`.
    people : int, optional
        How many were asked, if that is public: gives places in all whom they are a sample of.
    sampler : {"book", "opendp"}
        Who draws the noise, either from the randomness of the operating system.
    ledger, budget
        A file to which the release is added before its noise is drawn, and what it may not pass.
    rng : numpy.random.Generator, optional
        Another source, to repeat a demonstration. What it gives cannot be written as a release.

    Examples
    --------
    >>> votes = Answers("counts", ("coffee", "tea"), np.array([[0, 900], [100, 0]]))
    >>> release = rank_privately(votes, epsilon="1/2", protect="comparison")
    >>> release.noise.scale, release.ranking[0].item  # the other order has a chance of e^-400
    (Fraction(4, 1), 'coffee')
    """
    if rng is not None and sampler != "book":
        raise ValueError(f"rng is given with sampler = {sampler!r}: allowed is 'book'")
    answers: Any = source
    if isinstance(source, str | PathLike | list):
        if ledger is not None:
            ledger = Ledger(ledger, fingerprint(names_of(source)))
        answers = answers_of(source, relation, items=items, items_from_data=items_from_data)
    elif items is not None or items_from_data:
        raise ValueError("items is given with answers that have items: allowed is a path with it")
    if relation != "replace" and getattr(answers, "hashed", False):
        given = "relation = 'add_remove' with people who are known by a hash"
        raise ValueError(f"{given}: allowed is 'replace'")
    how: Any = epsilon, delta, relation, max_answers, answers.repeats, answers.halves
    how += statistic, only, answers.person is not None, vouched
    how += (getattr(answers, "unranked", "below"),)
    asked = Promise(answers.kind, len(answers.items), protect, *how)
    noise = asked.noise(sampler)
    promise = asked if noise.delta else replace(asked, delta=Fraction(0))  # what is not used
    sample = None if people is None else promise.sample_width(people, (1 - TOGETHER) / 2)
    if budget is not None and ledger is None:
        raise ValueError(f"budget = {budget!r:.60}: allowed is with a ledger, which adds up")
    # An epsilon that is not written down is not spent.
    spent = None if ledger is None else charge(ledger, promise, answers.items, budget)
    drawn = _drawn(answers, promise, noise, rng)
    ranking = _ranked(answers.items, drawn, promise, noise, sample)
    who, numbers = sampler if rng is None else "repeatable", drawn if only is None else None
    said = statement_of(asked, noise, answers.listed, who, people)
    facts = answers.items, answers.listed, numbers, promise, noise, who, people
    release = Release(ranking, *facts, *said, spent)
    if ledger is not None and spent is not None:
        settle(ledger, spent, release.csv())
    return release


def _drawn(answers: Any, promise: Promise, noise: Noise, rng: np.random.Generator | None) -> Ints:
    """The exact numbers with noise, or the chosen items; whatever fails says nothing about them."""
    failed: Exception = ValueError(
        "the release failed after its noise was asked for, and nothing came of it; why is not "
        "said, since it may tell of the answers: look at the data with --check"
    )
    try:
        how: list[Any] = [promise.statistic, promise.max_answers]
        if rng is not None and isinstance(answers, Answers) and answers.person is not None:
            how.append(np.frombuffer(rng.bytes(8 * answers.person.size), dtype=np.uint64))
        numbers, bits = np.array(answers.exact(*how)), SystemBits() if rng is None else rng
        if promise.only is not None:
            return noise.choose(numbers, promise.only, bits)
        moving = ... if numbers.ndim == 1 else ~np.eye(len(numbers), dtype=bool)
        numbers[moving] += noise.draw(bits)
        return numbers
    except MemoryError:
        failed = MemoryError("the answers do not fit into memory")
    except Exception:
        pass
    raise failed  # here, so that it carries no other


def _ranked(
    items: tuple[str, ...], released: Ints, promise: Promise, noise: Noise, sample: int | None
) -> tuple[Placed, ...]:
    """Places, with what noise and sample leave open; from public numbers only."""
    if promise.only is not None:
        place = 1 if promise.only == 1 else None  # a set has no order
        return tuple(Placed(place, items[k]) for k in released.tolist())
    n, net = len(items), promise.statistic == "net"
    scores: NDArray[Any] = released if net else fitted_strengths(released)
    order = np.lexsort((np.arange(n), -scores))
    open_: list[list[int | None]] = [[None] * n] * 4
    if not net:
        swaps = _redrawn(released, noise, order)
    else:
        swaps = [noise.reversal(lead) for lead in (-np.diff(scores[order])).tolist()]
        open_[:2] = _places(scores, noise.width(1 - TOGETHER))
    if sample is not None:
        open_[2:] = _places(scores, noise.width((1 - TOGETHER) / 2) + sample)
    return tuple(
        Placed(k + 1, items[i], scores[i].item(), swap, *(places[i] for places in open_))
        for k, (i, swap) in enumerate(zip(order.tolist(), [*swaps, None], strict=True))
    )


def _places(scores: Ints, width: int) -> list[list[int | None]]:
    """Best and worst places: whoever leads by more than the width is ahead in truth as well."""
    rising, n = np.sort(scores), scores.size
    ahead = n - np.searchsorted(rising, scores + width, side="right")
    behind = np.searchsorted(rising, scores - width, side="left")
    return [(1 + ahead).tolist(), (n - behind).tolist()]


def fitted_strengths(tables: Ints) -> Array:
    """Strengths fitted to noisy tables (..., n, n), whose negative entries count as none."""
    from dpbook.estimators import ridge_mle

    return np.asarray(ridge_mle(np.maximum(tables, 0), gamma=1.0).theta)


def _redrawn(table: Ints, noise: Noise, order: NDArray[np.intp]) -> Sequence[float | None]:
    """How often neighbours change places when noise is added again to what is public, never 0."""
    n = len(table)
    if REDRAWS * n * n > MOST_REDRAWN:
        return [None] * (n - 1)
    again, rng = np.tile(table, (REDRAWS, 1, 1)), np.random.default_rng(0)  # no secret
    again[:, ~np.eye(n, dtype=bool)] += noise.simulate(REDRAWS, rng)
    strengths = fitted_strengths(again)[:, order]
    seen = (strengths[:, :-1] < strengths[:, 1:]).sum(axis=0)
    return list((np.maximum(seen, 1) / REDRAWS).tolist())
