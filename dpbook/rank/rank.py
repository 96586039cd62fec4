"""A private ranking of real answers: contributions bounded, exact noise, places."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from numbers import Rational
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.privacy.units import Edge, Person, Unit
from dpbook.rank.answers import Answers
from dpbook.rank.ledger import charge, fraction_of
from dpbook.rank.noise import (
    Below,
    exact_noise,
    opendp_noisy,
    reach,
    redrawn_noise,
    reversal_probability,
    system_bits,
)
from dpbook.rank.reading import read_answers
from dpbook.rank.release import STATISTICS, Placed, Release, statement_of

EPSILONS = Fraction(1, 10**6), Fraction(50)
TOGETHER = 0.95  # that the noise leaves all places within those given
MOST_PAIR_ITEMS = 1000
_RIDGE, _REDRAWS, _MOST_REDRAWN = 1.0, 200, 2_000_000


def rank_privately(
    source: str | PathLike[str] | Answers,
    *,
    epsilon: str | float | Rational,
    protect: str,
    max_answers: int | None = None,
    items: Sequence[str] | None = None,
    statistic: str | None = None,
    vouched: bool = False,
    repeats: str = "refuse",
    sampler: str = "book",
    ledger: str | PathLike[str] | None = None,
    below: Below | None = None,
) -> Release:
    """Rank the items of a file of answers under differential privacy, fit for a release.

    Parameters
    ----------
    source : path, or Answers
        A CSV file, see `read_answers`.
    epsilon : str, Fraction or number
        From 1e-6 to 50; a text such as "0.1" or "1/3" is taken exactly, a float never above what
        it prints as.
    protect : {"person", "comparison"}
        Everything that one person answered, or one comparison of any two items.
    max_answers : int
        With persons: so many answers of each (whole rankings for rankings) are kept, drawn at
        random. Fix it before looking at the data. For rankings it is 1 when left out.
    items, repeats
        As for `read_answers`.
    statistic : {"net", "wins", "pairs"}, optional
        What is released with noise. By default wins minus losses of comparisons and counts, wins
        of rankings. "pairs" takes more noise, and fits strengths to the noisy table: for data in
        which some items are compared far more often than others. "wins" of comparisons is only
        fair where all items are compared equally often.
    vouched : bool
        For counts, and ``protect="person"``: the caller vouches that nobody gave more answers.
    sampler : {"book", "opendp"}
        Who draws the noise, either from the bits of the operating system.
    ledger : path, optional
        A file to which the release is added before its noise is drawn; see `Release.spent`.
    below : callable, optional
        Another source of bits, ``below(k)`` in 0..k-1, to repeat a demonstration. What it gives
        cannot be written as a release.

    Examples
    --------
    >>> votes = Answers("counts", ("coffee", "tea"), True, np.array([[0, 900], [100, 0]]), None)
    >>> release = rank_privately(votes, epsilon="1/2", protect="comparison")
    >>> release.scale, release.ranking[0].item  # the other order has a chance of e^-100
    (Fraction(8, 1), 'coffee')
    """
    eps = exact_epsilon(epsilon)
    check.choice("protect", protect, ("person", "comparison"))
    check.choice("sampler", sampler, ("book", "opendp"))
    if statistic is not None:
        check.choice("statistic", statistic, tuple(STATISTICS))
    if max_answers is not None:
        max_answers = check.integer("max_answers", max_answers, 1, 10**9)
    if below is not None and sampler != "book":
        raise ValueError("below is given with sampler = 'opendp': allowed is 'book'")
    answers = source if isinstance(source, Answers) else None
    if answers is None:
        answers = read_answers(source, items=items, repeats=repeats)  # type: ignore[arg-type]
    max_answers = _agreed(answers, protect, max_answers, vouched)
    statistic = statistic or ("wins" if answers.kind == "rankings" else "net")
    n = len(answers.items)
    l1 = sensitivity_of(answers.kind, n, protect, max_answers, statistic)
    if protect == "person" and answers.person is not None:
        size = answers.person.size
        keys = None if below is None else np.array([below(2**64) for _ in range(size)], np.uint64)
        answers = answers.keep(max_answers or 1, keys)
    exact = statistic_of(answers, statistic)
    moving = ~np.eye(n, dtype=bool) if statistic == "pairs" else np.ones(n, dtype=bool)
    values = exact[moving].tolist()
    scale = l1 / eps
    # An epsilon that is not written down is not spent.
    spent = {} if ledger is None else charge(ledger, protect, eps)
    if sampler == "opendp":
        noisy, scale = opendp_noisy(values, l1, eps)
    else:
        bits = below or system_bits()
        noisy = [value + exact_noise(scale, bits) for value in values]
    released = np.zeros(exact.shape, dtype=np.int64)
    released[moving] = noisy
    who = sampler if below is None else "repeatable"
    spoken = statement_of(answers, protect, max_answers, statistic, eps, scale, l1, who, vouched)
    return Release(
        ranking=_ranked(answers.items, released, scale, statistic),
        items=answers.items,
        released=released,
        statistic=statistic,
        kind=answers.kind,
        protect=protect,
        max_answers=max_answers,
        epsilon=eps,
        scale=scale,
        l1=l1,
        sampler=who,
        statement=spoken,
        spent=spent,
    )


def exact_epsilon(value: str | float | Rational) -> Fraction:
    """The privacy parameter as a fraction, never above what was given."""
    allowed = "a number from 1e-6 to 50, as 0.5 or 1/2"
    try:
        if isinstance(value, bool) or not isinstance(value, str | float | Rational):
            raise ValueError
        exact = fraction_of(value) if isinstance(value, str) else Fraction(value)
        if isinstance(value, float):  # it prints as the decimal that was meant, or as it is
            exact = min(exact, Fraction(repr(float(value))))
    except (ValueError, ArithmeticError):
        raise ValueError(f"epsilon = {value!r:.60}: allowed is {allowed}") from None
    if not EPSILONS[0] <= exact <= EPSILONS[1]:
        raise ValueError(f"epsilon = {value!r:.60}: allowed is {allowed}")
    return exact


def unit_of(kind: str, n_items: int, protect: str, max_answers: int | None) -> Unit:
    """Who is protected, in the terms of the book; for rankings, by one ranking."""
    if protect == "comparison":
        return Edge(n_items)
    if kind == "rankings":
        return Person(n_items, design="ranking")
    return Person(n_items, per_user=max_answers, vouched=kind == "counts")


def sensitivity_of(
    kind: str, n_items: int, protect: str, max_answers: int | None, statistic: str
) -> int:
    """How far, in l1, the released numbers move between neighbours, by the units of the book.

    An answer replaced by another moves two wins; in wins minus losses it moves twice as much; in
    the table of pairs it leaves one entry and enters another.
    """
    moved = int(unit_of(kind, n_items, protect, max_answers).l1("counts"))
    if kind == "rankings":
        if statistic != "wins":
            raise ValueError(f"statistic = {statistic!r} with rankings: allowed is 'wins'")
        return moved * (max_answers or 1)
    if statistic == "pairs":
        check.integer("number of items, with statistic = 'pairs'", n_items, 2, MOST_PAIR_ITEMS)
    return moved * (2 if statistic == "net" else 1)


def statistic_of(answers: Answers, statistic: str) -> Ints:
    """The exact numbers, before noise: shape (n,), or (n, n) for pairs."""
    n = len(answers.items)
    if answers.kind == "rankings":
        wins = np.zeros(n, dtype=np.int64)
        for place, column in enumerate(answers.data.T):
            wins += (n - 1 - place) * np.bincount(column.astype(np.intp), minlength=n)
        return wins
    if answers.kind == "counts":
        table = answers.data.astype(np.int64)
        won, lost = table.sum(axis=1), table.sum(axis=0)
    else:
        first, second = answers.data.astype(np.intp)  # bincount wants no other kind, anywhere
        won, lost = (np.bincount(row, minlength=n).astype(np.int64) for row in (first, second))
    if statistic == "pairs":
        if answers.kind == "counts":
            return table
        return np.bincount(first * n + second, minlength=n * n).reshape(n, n).astype(np.int64)
    return won if statistic == "wins" else won - lost


def _agreed(answers: Answers, protect: str, limit: int | None, vouched: bool) -> int | None:
    """The limit of answers for one person, or a refusal."""
    if protect == "comparison":
        if answers.kind == "rankings":
            raise ValueError("protect = 'comparison' with rankings: allowed is 'person'")
        if limit is not None:
            raise ValueError(f"max_answers = {limit} with protect = 'comparison': allowed is None")
        return None
    if answers.person is None and not vouched:
        raise ValueError(
            "protect = 'person', but the data do not say who gave which answer, so that nobody "
            "can bound what one person adds: allowed is 'comparison', or vouched=True (--vouch) "
            "if you vouch that nobody gave more than max_answers"
        )
    if limit is None and answers.kind != "rankings":
        raise ValueError(
            "max_answers is missing: allowed is a whole number from 1, how many answers of each "
            "person may count, fixed before looking at the data"
        )
    return limit or 1


def _ranked(
    items: tuple[str, ...], released: Ints, scale: Fraction, statistic: str
) -> tuple[Placed, ...]:
    """Places, with what the noise leaves open; from public numbers only."""
    n = len(items)
    if statistic == "pairs":
        scores: NDArray[Any] = fitted_strengths(released)
        order = np.lexsort((np.arange(n), -scores))
        swaps = _redrawn(released, float(scale), order)
        low = high = [None] * n
    else:
        scores = released
        order = np.lexsort((np.arange(n), -scores))
        margins = (scores[order[:-1]] - scores[order[1:]]).tolist()
        swaps = [reversal_probability(margin, scale) for margin in margins]
        width = 2 * reach(n, scale, 1 - TOGETHER)
        # Whoever leads by more than the width is ahead in the order without noise as well.
        rising = np.sort(scores)
        ahead = n - np.searchsorted(rising, scores + width, side="right")
        behind = np.searchsorted(rising, scores - width, side="left")
        low, high = (1 + ahead).tolist(), (n - behind).tolist()
    return tuple(
        Placed(k + 1, items[i], scores[i].item(), probability, low[i], high[i])
        for k, (i, probability) in enumerate(zip(order.tolist(), [*swaps, None], strict=True))
    )


def fitted_strengths(tables: Ints) -> Array:
    """Strengths fitted to noisy tables (..., n, n), whose negative entries count as none."""
    from dpbook.estimators import ridge_mle

    return np.asarray(ridge_mle(np.maximum(tables, 0), gamma=_RIDGE).theta)


def _redrawn(table: Ints, scale: float, order: NDArray[np.intp]) -> Sequence[float | None]:
    """How often neighbours change places when noise is added once more to what is public."""
    n = len(table)
    if _REDRAWS * n * n > _MOST_REDRAWN:
        return [None] * (n - 1)
    rng = np.random.default_rng(0)  # nothing private is drawn here
    noise = redrawn_noise(scale, (_REDRAWS, n, n), rng)
    noise[:, np.arange(n), np.arange(n)] = 0
    strengths = fitted_strengths(table + noise)[:, order]
    return list((strengths[:, :-1] < strengths[:, 1:]).mean(axis=0).tolist())
