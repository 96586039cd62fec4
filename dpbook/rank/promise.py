"""What a release promises, before any look at data: who is protected, by how much, by which noise.

Whatever people answer adds up to 0 in wins minus losses, so that noise whose sum is 0 hides every
change: other answers, fewer, none, a person more. Its size is the `root_level`, 1 for a comparison,
or the `zonotope_level`, at most 1 for an answer to every pair, be it given, tied or left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, comb, log, sqrt
from typing import Any, NoReturn

from dpbook import _validation as check
from dpbook.mechanisms.noise import discrete_gaussian_variance
from dpbook.rank.answers import MOST_PAIR_ITEMS, Answers
from dpbook.rank.names import MOST_ITEMS, fraction_of
from dpbook.rank.noise import Noise, opendp_scale, rounded_up

MOST_SCALE = 2**40  # of noise, so that nothing overflows
MOST_SETS = 10**6
MOST_KNORM_ITEMS = 200


@dataclass(frozen=True, kw_only=True)
class Promise:
    """Who is protected against what; whatever cannot be released is refused.

    Attributes
    ----------
    kind, n_items, repeats, halves, unranked
        As of `Answers`.
    protect : {"person", "comparison"}
        Everything that one person answered, or one comparison of any two items.
    epsilon, delta : Fraction
        From 1e-6 to 50, and from 0 to 1e-2, which may be lost if noise is narrower for it.
    relation : {"replace", "add_remove"}
        What is protected may become anything else, less or nothing; or it is there or not.
    max_answers : int, optional
        How many answers (for rankings: rankings) of each person count.
    statistic, only : {"net", "pairs"}, int
        What is released; or nothing but the best so many items.
    has_persons, vouched : bool
        The data say who gave which answer; or the caller vouches that nobody gave more.
    """

    kind: str
    n_items: int
    protect: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    relation: str = "replace"
    max_answers: int | None = None
    repeats: str = "one"
    halves: bool = False
    statistic: str = "net"
    only: int | None = None
    has_persons: bool = True
    vouched: bool = False
    unranked: str = "below"

    @classmethod
    def of(
        cls,
        kind: str,
        n_items: int,
        protect: str,
        epsilon: object,
        *,
        delta: object = 0,
        has_persons: bool = True,
        **how: Any,
    ) -> Promise:
        """The promise for numbers as they are typed: of rankings, one counts by default.

        A text such as "0.1" or "1/3" is taken exactly, and a float as the decimal it prints as.
        Where persons are not known, nobody can see that a pair was answered twice.
        """
        known = has_persons and kind != "counts"
        if protect == "comparison" or not known:
            how["repeats"] = "keep"
        if kind == "rankings" and how.get("max_answers") is None:
            how["max_answers"] = 1
        return cls(
            kind=kind,
            n_items=n_items,
            protect=protect,
            has_persons=known,
            epsilon=exact("epsilon", epsilon, "1e-6", "50", "a number from 1e-6 to 50, as 1/2"),
            delta=exact("delta", delta, "0", "1e-2", "0, or up to 1e-2"),
            **how,
        )

    @classmethod
    def about(cls, answers: Answers, **asked: Any) -> Promise:
        """The promise for such answers, whatever they are."""
        return cls.of(
            kind=answers.kind,
            n_items=len(answers.items),
            repeats=answers.repeats,
            halves=answers.halves,
            has_persons=answers.person is not None,
            unranked=answers.unranked,
            **asked,
        )

    def __post_init__(self) -> None:
        check.choice("kind", self.kind, ("comparisons", "rankings", "counts"))
        check.choice("repeats", self.repeats, ("one", "keep"))
        check.choice("protect", self.protect, ("person", "comparison"))
        check.choice("relation", self.relation, ("replace", "add_remove"))
        check.choice("statistic", self.statistic, ("net", "pairs"))
        most = MOST_PAIR_ITEMS if self.statistic == "pairs" else MOST_ITEMS
        check.integer(f"items for {self.statistic!r}", self.n_items, 2, most)
        if self.protect == "comparison":
            self._check_comparison()
        else:
            self._check_person()
        if self.only is not None:
            self._check_only(self.only)
        if self.l1 / self.epsilon > MOST_SCALE:
            given = f"max_answers = {self.max_answers} with epsilon = {self.epsilon}"
            _refuse(given, "noise of a scale of at most 2**40")

    def _check_comparison(self) -> None:
        if self.kind == "rankings":
            _refuse("protect = 'comparison' with rankings", "'person'")
        if self.max_answers is not None:
            _refuse(f"max_answers = {self.max_answers} with protect = 'comparison'", "None")

    def _check_person(self) -> None:
        """Refuse what bounds nobody's answers."""
        if not self.has_persons and not self.vouched:
            given = "protect = 'person', but nobody can bound what one person adds, since the data "
            allowed = "'comparison', or vouched=True (--vouch) if nobody gave more than max_answers"
            _refuse(f"{given}do not say who gave which answer", allowed)
        if self.max_answers is None:
            allowed = "a whole number from 1, of the answers of a person that count, fixed before"
            _refuse("max_answers is missing", f"{allowed} looking at the data")
        check.integer("max_answers", self.max_answers, 1, 10**9)

    def _check_only(self, only: int) -> None:
        """Refuse a choice that permute-and-flip cannot make."""
        check.integer("only", only, 1, self.n_items - 1)
        if self.statistic == "pairs" or self.delta:
            given = f"only = {only} with statistic = {self.statistic!r}, delta = {self.delta}"
            _refuse(given, "'net' and 0")
        if comb(self.n_items, only) > MOST_SETS:
            _refuse(f"only = {only} of {self.n_items} items", f"at most {MOST_SETS} sets of them")

    @property
    def changes(self) -> int:
        """How many contributions differ between neighbours: 2 if one takes another's place."""
        return 2 if self.relation == "replace" else 1

    @property
    def _change(self) -> tuple[int, int]:
        """In so many sets of at most so many answers to different pairs neighbours differ."""
        limit = self.max_answers or 1
        if self.kind == "rankings":
            return self.changes * limit, comb(self.n_items, 2)
        return (self.changes, limit) if self.repeats == "one" else (self.changes * limit, 1)

    @property
    def root_bound(self) -> int:
        """Largest `root_level` of a change: k items win at most k (n - k) from the others."""
        sets, answers = self._change
        return sets * min(answers, self.n_items**2 // 4)

    @property
    def zonotope_bound(self) -> int:
        """Largest `zonotope_level` of a change: k items win at most m of m comparisons."""
        sets, answers = self._change
        return min(sets, ceil(Fraction(sets * answers, self.n_items - 1)))

    def swing(self, a: int) -> int:
        """How far a change moves the net wins of a items against those of a others, at most.

        An answer about one of each moves them by 2, an answer about one and another item by 1.
        """
        sets, answers = self._change
        across = min(answers, a * a)
        others = min(answers, a * (2 * self.n_items - 3 * a))
        return sets * (across + others)

    @property
    def l1(self) -> int:
        """How far the numbers released move in l1; wins of pairs perhaps in halves."""
        if self.statistic == "net":
            return 2 * self.root_bound
        sets, answers = self._change
        return sets * min(answers, comb(self.n_items, 2)) * (1 + self.halves)

    @property
    def l2_squared(self) -> int:
        """How far they move in l2, squared.

        The sum of squares of net wins x is that of x_i - x_j over all answers "i before j"; among
        answers to every pair it is largest for a ranking.
        """
        sets, answers = self._change
        n = self.n_items
        if self.statistic == "pairs":  # one person's sets move no entry by more than their number
            return self.l1 * sets // self.changes * (1 + self.halves)
        return sets**2 * min(answers * self.swing(1) // sets, n * (n**2 - 1) // 3)

    def noise(self, sampler: str = "book") -> Noise:
        """The narrowest noise that keeps the promise; only public things decide."""
        check.choice("sampler", sampler, ("book", "opendp"))
        n = self.n_items
        if self.only is not None:
            if sampler == "opendp":
                _refuse("sampler = 'opendp' with only", "'book'")
            swing = self.swing(min(self.only, n - self.only))
            return Noise("flip", n, rounded_up(swing / self.epsilon))
        count = n
        bounds = {"laplace": self.l1}
        if self.statistic == "pairs":
            count = n * (n - 1)
        elif n <= MOST_KNORM_ITEMS:
            bounds = {"root": self.root_bound}
            # of 3 items the same body; and there is no sampler for weaker noise
            if n > 3 and 8 * self.zonotope_bound >= self.epsilon:
                bounds["zonotope"] = self.zonotope_bound
        if sampler == "opendp":
            return Noise("laplace", count, opendp_scale(self.l1, self.epsilon), sampler="opendp")
        kinds = [
            Noise(kind, count, rounded_up(bound / self.epsilon)) for kind, bound in bounds.items()
        ]
        if self.delta:
            variance = discrete_gaussian_variance(self.l2_squared, float(self.epsilon), self.delta)
            if variance < 2**52:
                kinds.append(Noise("gaussian", count, variance, float(self.delta)))
        return min(kinds, key=lambda noise: noise.deviation)

    def sample_width(self, people: int, miss: float) -> int:
        """How far sums over so many people, drawn at random, lie from what is expected.

        For the differences of any two items, all at once, with probability 1 - miss: Hoeffding's
        bound for independent numbers, each within a range as wide as `swing` (1).
        """
        check.integer("people", people, 1)
        given = self.protect, self.relation, self.statistic, self.only
        if given != ("person", "replace", "net", None):
            _refuse(f"people = {people}", "with person, replace, net, and without only")
        pairs = self.n_items * (self.n_items - 1)
        far = sqrt(2 * people * log(pairs / miss))
        return ceil(self.swing(1) / 2 * far)


def exact(name: str, value: object, low: str, high: str, allowed: str) -> Fraction:
    """A number from low to high, taken exactly as it prints."""
    try:
        number = fraction_of(str(value))
        if Fraction(low) <= number <= Fraction(high):
            return number
    except (ValueError, ArithmeticError):
        pass  # refused as what is out of range
    _refuse(f"{name} = {value!r:.60}", allowed)


def _refuse(given: str, allowed: str) -> NoReturn:
    raise ValueError(f"{given}: allowed is {allowed}")
