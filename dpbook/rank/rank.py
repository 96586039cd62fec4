"""A private ranking of real answers: contributions bounded, exact noise, an honest statement."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.privacy.units import Edge, Person, Unit
from dpbook.rank.ledger import Totals, charge, fraction_of
from dpbook.rank.noise import (
    Below,
    exact_noise,
    opendp_noisy,
    reach,
    redrawn_noise,
    system_bits,
    turned,
)
from dpbook.rank.reading import Answers, read_answers

STATISTICS = {
    "net": "wins minus defeats of each item",
    "wins": "wins of each item (for rankings: the items that it is put before)",
    "pairs": "how often each item won against each other",
}
EPSILONS = Fraction(1, 10**6), Fraction(50)
TOGETHER = 0.95  # that the noise leaves all places within those given
MOST_PAIR_ITEMS = 1000
_RIDGE, _REDRAWS, _MOST_REDRAWN = 1.0, 200, 2_000_000


@dataclass(frozen=True)
class Placed:
    """One item of a released ranking."""

    place: int  # 1 for the best
    item: str
    noisy: float  # the noisy score; a strength in log-odds for "pairs"
    turned: float | None  # to the next: see `Release`
    best: int | None  # the places between which all items lie together, with chance 0.95
    worst: int | None


@dataclass(frozen=True)
class Release:
    """A private ranking and what may be said about it; everything here may be published.

    Attributes
    ----------
    ranking : tuple of Placed
        The items from the best to the last. ``turned`` is, for scores, the largest chance with
        which noise alone shows at least this lead of one named item over another if the kept
        answers give none, or the other order; for "pairs", how often both change places when noise
        of the same law is added once more. ``best`` and ``worst`` are places in the order of the
        kept answers without noise, for all items together. Neither says what other people would
        have answered.
    released : array of int, shape (n,) or (n, n)
        The noisy numbers themselves, in the order of `items`.
    epsilon, scale : Fraction
        The loss is at most epsilon; the noise has P(x) proportional to exp(-abs(x) / scale).
    l1 : int
        How far the numbers move between neighbours.
    sampler : {"book", "opendp", "repeatable"}
        Only the first two may be written to a file.
    spent : dict
        By the ledger: how many releases protected whom, and the sum of their epsilons.
    """

    ranking: tuple[Placed, ...]
    items: tuple[str, ...]
    released: Ints
    statistic: str
    kind: str
    protect: str
    max_answers: int | None
    epsilon: Fraction
    scale: Fraction
    l1: int
    sampler: str
    statement: str
    spent: Totals

    def __str__(self) -> str:
        head = ("place", "item", "noisy score", "next by noise", "places")
        rows = [head] + [
            (
                str(row.place),
                row.item,
                f"{row.noisy:.3f}" if self.statistic == "pairs" else f"{row.noisy:.0f}",
                "" if row.turned is None else f"{row.turned:.2g}",
                "" if row.best is None else f"{row.best} to {row.worst}",
            )
            for row in self.ranking
        ]
        wide = [max(len(row[k]) for row in rows) for k in range(len(head))]
        lines = (
            "  ".join(
                cell.ljust(w) if k == 1 else cell.rjust(w)
                for k, (cell, w) in enumerate(zip(row, wide, strict=True))
            ).rstrip()
            for row in rows
        )
        return "\n".join(lines)

    def csv(self) -> str:
        """The ranking as a CSV file."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(("place", "item", "noisy_score", "turned_by_noise", "best", "worst"))
        for row in self.ranking:
            cells = (row.place, row.item, row.noisy, row.turned, row.best, row.worst)
            rows.writerow("" if cell is None else cell for cell in cells)
        return text.getvalue()

    def json(self) -> str:
        """The statement and the numbers behind it, for a second file."""
        facts: dict[str, Any] = {
            "statement": self.statement,
            "epsilon": str(self.epsilon),
            "delta": 0,
            "protect": self.protect,
            "max_answers": self.max_answers,
            "released": f"{self.statistic}: {STATISTICS[self.statistic]}",
            "l1_sensitivity": self.l1,
            "noise": "discrete Laplace",
            "scale": str(self.scale),
            "sampler": self.sampler,
            "items": list(self.items),
            "noisy": self.released.tolist(),
        }
        return json.dumps(facts, indent=1, ensure_ascii=False) + "\n"

    def write(self, path: str | PathLike[str], *, force: bool = False) -> tuple[Path, Path]:
        """Write the ranking as CSV and, beside it, the statement; never over another file.

        Refused for noise that can be repeated.
        """
        if self.sampler == "repeatable":
            raise ValueError("sampler = 'repeatable': allowed are 'book', 'opendp' for a release")
        pair = out_files(path, force=force)
        for target, text in zip(pair, (self.csv(), self.json()), strict=True):
            part = target.with_name(f".{target.name}.{os.getpid()}.part")
            try:
                part.write_text(text, encoding="utf-8", newline="")
                if force:
                    os.replace(part, target)
                else:
                    os.link(part, target)  # fails if a file has come there meanwhile
            finally:
                part.unlink(missing_ok=True)
        return pair


def out_files(path: str | PathLike[str], *, force: bool = False) -> tuple[Path, Path]:
    """Where a ranking and its statement go; refused if a file is there."""
    table = Path(path)
    pair = table, table.with_name(f"{table.stem}.privacy.json")
    for target in pair:
        if target.exists() and not force:
            raise ValueError(f"{target} exists: allowed is a new file, or --force (force=True)")
        if not target.parent.is_dir():
            raise ValueError(f"{target.parent} is no folder: allowed is one that exists")
    return pair


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
        What is released with noise. By default wins minus defeats of comparisons and counts, wins
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
    spoken = _statement(answers, protect, max_answers, statistic, eps, scale, l1, who, vouched)
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

    An answer replaced by another moves two wins; in wins minus defeats it moves twice as much; in
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
        leads = (scores[order[:-1]] - scores[order[1:]]).tolist()
        swaps = [turned(lead, scale) for lead in leads]
        width = 2 * reach(n, scale, 1 - TOGETHER)
        # Whoever leads by more than the width is ahead in the order without noise as well.
        rising = np.sort(scores)
        ahead = n - np.searchsorted(rising, scores + width, side="right")
        behind = np.searchsorted(rising, scores - width, side="left")
        low, high = (1 + ahead).tolist(), (n - behind).tolist()
    return tuple(
        Placed(k + 1, items[i], scores[i].item(), chance, low[i], high[i])
        for k, (i, chance) in enumerate(zip(order.tolist(), [*swaps, None], strict=True))
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


def _statement(
    answers: Answers,
    protect: str,
    limit: int | None,
    statistic: str,
    eps: Fraction,
    scale: Fraction,
    l1: int,
    sampler: str,
    vouched: bool,
) -> str:
    """One paragraph: who is protected against what, and what is not."""
    number = float(eps)
    guess = math.ceil(10_000 / (1 + math.exp(-number))) / 100  # "at most": never rounded down
    what = "rankings" if answers.kind == "rankings" else "answers"
    if protect == "person":
        who = "all that one person answered"
        change = f"in the {what} of one person, which may become any others, fewer or none"
        kept = f"At most {limit} {what if limit != 1 else what[:-1]} of each person"
        if answers.person is None:
            kept += " were given: nobody checked this, whoever ran the release vouches for it."
        else:
            by = (
                "from a repeatable source" if sampler == "repeatable" else "by the operating system"
            )
            kept += f", drawn at random {by} whatever others answered, count."
            kept += " A person who appears under two names counts as two."
    else:
        who = "one comparison, not all that a person answered"
        change = "in one comparison, which may become one of any two items, or none"
        kept = "Somebody who gave k answers loses up to k times epsilon as a person."
    drawn = {
        "book": "whole numbers drawn from the randomness of the operating system",
        "opendp": "drawn by OpenDP",
        "repeatable": "drawn from a repeatable source: A DEMONSTRATION, NOT A RELEASE",
    }[sampler]
    listed = "was given beforehand" if answers.listed else "was taken from the data as it is"
    return (
        f"This ranking of {len(answers.items)} items protects {who}, by differential privacy with "
        f"epsilon = {eps} (pure, delta = 0): between two data sets that differ {change}, no result "
        f"is more than e^epsilon times as probable with one as with the other. Somebody who sees "
        f"the result, knows all else, and has to guess which of two such data sets it was, is "
        f"right at most {guess:.6g} instead of 50 times in 100. {kept} Published are numbers ("
        f"{STATISTICS[statistic]}) plus discrete Laplace noise of scale {scale} ({drawn}), which "
        f"answers a sensitivity of {l1}; order and chances are computed from these noisy numbers "
        f"alone. The list of items is public: it {listed}. Not protected: that somebody took part, "
        f"where this is seen elsewhere than in these numbers; that the file could be read; what "
        f"the answers of all together show about people like them; how long the computation took; "
        f"the choice of epsilon, of the limit and of the items if made after a look at the data; "
        f"and the sum: every further release of the same data adds its epsilon to this one. "
        f"The places are those of the people asked: how others would answer is not known."
    )
