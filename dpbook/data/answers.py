"""Answers of a survey, respondent by respondent."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpbook.data import _checks
from dpbook.data._checks import IntArray
from dpbook.data._official import HEADER, OUTCOMES
from dpbook.data.types import Comparisons, PairTable

__all__ = ["SurveyAnswers"]


@dataclass(frozen=True, eq=False)
class SurveyAnswers:
    """All questions of a paired-comparison survey and their outcomes, ties and gaps included.

    Parameters
    ----------
    items : tuple of str, length n
        Names of the items.
    respondent : ndarray of int, shape (N,)
        Who was asked: 0, ..., m - 1, each at least once.
    first, second : ndarray of int, shape (N,)
        Positions of the two items.
    outcome : ndarray of int, shape (N,)
        0: first preferred, 1: second preferred, 2: undecided, 3: no answer.
    source, licence : str
        Where the answers come from, and under what terms.

    Raises
    ------
    ValueError
        If an array is malformed, an entry is out of range, or an item is compared with itself.
    """

    items: tuple[str, ...]
    respondent: IntArray
    first: IntArray
    second: IntArray
    outcome: IntArray
    source: str
    licence: str

    def __post_init__(self) -> None:
        # Every question has the shape of a comparison; let that type do the checking.
        pairs = Comparisons(self.items, self.first, self.second, self.respondent)
        outcome = _checks.integers("outcome", self.outcome)
        _checks.within("outcome", outcome, len(OUTCOMES))
        if outcome.size != len(pairs):
            raise ValueError(f"outcome has {outcome.size} entries: allowed is {len(pairs)}")
        assert pairs.user is not None
        if pairs.n_users != int(pairs.user.max()) + 1:
            raise ValueError("respondent skips a number: allowed is 0..m-1, each at least once")
        object.__setattr__(self, "items", pairs.items)
        object.__setattr__(self, "respondent", pairs.user)
        object.__setattr__(self, "first", pairs.winner)
        object.__setattr__(self, "second", pairs.loser)
        object.__setattr__(self, "outcome", outcome)

    @classmethod
    def from_csv(cls, text: str, *, source: str = "", licence: str = "") -> SurveyAnswers:
        """Read the canonical CSV: respondent, item_a, item_b, outcome.

        Items and respondents are numbered in the order in which they first appear.

        Raises
        ------
        ValueError
            If the header, a line or an outcome is not as it must be; lines count from 1.
        """
        lines = list(csv.reader(text.splitlines()))
        if not lines or ",".join(lines[0]) != HEADER:
            raise ValueError(
                f"header = {','.join(lines[0]) if lines else ''!r}: allowed is {HEADER}"
            )
        for number, line in enumerate(lines[1:], start=2):
            if len(line) != 4 or line[3] not in OUTCOMES:
                raise ValueError(
                    f"line {number} = {line}: allowed is 4 entries, outcome {OUTCOMES}"
                )
        items = tuple(dict.fromkeys(name for line in lines[1:] for name in line[1:3]))
        people = tuple(dict.fromkeys(line[0] for line in lines[1:]))
        return cls(
            items,
            _codes([line[0] for line in lines[1:]], people),
            _codes([line[1] for line in lines[1:]], items),
            _codes([line[2] for line in lines[1:]], items),
            _codes([line[3] for line in lines[1:]], OUTCOMES),
            source,
            licence,
        )

    @property
    def respondents(self) -> int:
        """Number of respondents m, those without any decided answer included."""
        return int(self.respondent.max()) + 1

    @property
    def ties(self) -> int:
        """Number of undecided answers."""
        return int(np.count_nonzero(self.outcome == 2))

    @property
    def missing(self) -> int:
        """Number of questions without an answer."""
        return int(np.count_nonzero(self.outcome == 3))

    @property
    def comparisons(self) -> Comparisons:
        """The decided answers; `user` is the respondent.  Ties and gaps are left out.

        A respondent who decided nothing does not appear in `user`.
        """
        kept = self.outcome <= 1
        swap = self.outcome[kept] == 1
        first, second = self.first[kept], self.second[kept]
        return Comparisons(
            self.items,
            np.where(swap, second, first),
            np.where(swap, first, second),
            self.respondent[kept],
        )

    def table(self) -> PairTable:
        """Aggregate into a `PairTable`.

        Raises
        ------
        ValueError
            If not every respondent was asked about every pair exactly once.
        """
        n = len(self.items)
        low, high = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        question = (self.respondent * n + low) * n + high
        offered = n * (n - 1) // 2
        if np.unique(question).size != question.size or question.size != self.respondents * offered:
            raise ValueError(
                f"{question.size} questions to {self.respondents} respondents: "
                f"allowed is each of the {offered} pairs once to every respondent"
            )
        return PairTable(
            items=self.items,
            wins=self._pair_counts(0) + self._pair_counts(1).T,
            ties=self._pair_counts(2) + self._pair_counts(2).T,
            missing=self._pair_counts(3) + self._pair_counts(3).T,
            respondents=self.respondents,
            decided_per_respondent=self._answers_histogram(self.outcome <= 1, offered),
            answered_per_respondent=self._answers_histogram(self.outcome <= 2, offered),
            source=self.source,
            licence=self.licence,
        )

    def _pair_counts(self, outcome: int) -> IntArray:
        """Count the questions with this outcome; entry [first, second]."""
        n, kept = len(self.items), self.outcome == outcome
        flat = self.first[kept] * n + self.second[kept]
        return np.bincount(flat, minlength=n * n).reshape(n, n)

    def _answers_histogram(self, kept: npt.NDArray[np.bool_], offered: int) -> IntArray:
        """Count respondents by how many of their questions are marked in `kept`."""
        per_person = np.bincount(self.respondent[kept], minlength=self.respondents)
        return np.bincount(per_person, minlength=offered + 1)


def _codes(values: Sequence[str], names: Sequence[str]) -> IntArray:
    position = {name: k for k, name in enumerate(names)}
    return np.array([position[value] for value in values], dtype=np.int64)
