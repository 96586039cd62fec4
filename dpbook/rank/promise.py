"""What a release promises, before any look at data: who is protected, by how much, and the noise.

Everything that one person answers adds up to 0 in wins minus losses, so that noise whose sum is 0
hides any change of it: other answers, fewer, none, or one person more. How far a change goes is
measured by the `root_level`, of which a comparison has 1, and by the `zonotope_level`, of which an
answer to every pair, given, tied or left out, has at most 1. Both add up: where two answers, or two
people, are exchanged, the bound doubles.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, comb, isqrt, log, sqrt
from numbers import Rational

import numpy as np

from dpbook import _validation as check
from dpbook.rank.answers import MOST_ITEMS, MOST_PAIR_ITEMS, pair_answers
from dpbook.rank.ledger import fraction_of
from dpbook.rank.noise import Noise, opendp_scale, rounded_up

EPSILONS = Fraction(1, 10**6), Fraction(50)
MOST_LIMIT = 10**9
MOST_SCALE = 2**40  # of noise, so that nothing overflows
MOST_SETS = 10**6
MOST_KNORM_ITEMS = 200


@dataclass(frozen=True)
class Promise:
    """Who is protected against what, checked: what cannot be released is refused here.

    Attributes
    ----------
    kind : {"comparisons", "rankings", "counts"}
    n_items : int
    protect : {"person", "comparison"}
        Everything that one person answered, or one comparison of any two items.
    epsilon : str, Fraction or number
        From 1e-6 to 50; a text such as "0.1" or "1/3" is taken exactly, a float never above what
        it prints as.
    delta : str, Fraction or number
        0, or from 1e-30 to 1e-2: how much may be lost to the Gaussian, if it is narrower.
    relation : {"replace", "add_remove"}
        What is protected may become anything else, less or nothing; or is there or not.
    max_answers : int, optional
        How many answers (for rankings: rankings, 1 by default) of each person count.
    repeats : {"one", "keep"}
        Of a person's answers to one pair, one counts, or each.
    halves : bool
        Wins of pairs are counted in half wins.
    statistic : {"net", "pairs"}
    only : int, optional
        Nothing is released but the best k items.
    has_persons : bool
        The data say who gave which answer.
    vouched : bool
        They do not, and the caller vouches that nobody gave more than the limit.
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

    def __post_init__(self) -> None:
        check.choice("kind", self.kind, ("comparisons", "rankings", "counts"))
        check.choice("protect", self.protect, ("person", "comparison"))
        check.choice("relation", self.relation, ("replace", "add_remove"))
        check.choice("repeats", self.repeats, ("one", "keep"))
        check.choice("statistic", self.statistic, ("net", "pairs"))
        most = MOST_PAIR_ITEMS if self.statistic == "pairs" else MOST_ITEMS
        check.integer(f"number of items, with statistic = {self.statistic!r}", self.n_items, 2, most)
        self._set(epsilon=exact_epsilon(self.epsilon), delta=exact_delta(self.delta))
        self._agree_on_people()
        if self.only is not None:
            self._agree_on_only()
        if self.l1 / self.epsilon > MOST_SCALE:
            given = f"max_answers = {self.max_answers} with epsilon = {self.epsilon}"
            raise ValueError(f"{given}: allowed are noises of a scale up to 2**40")

    def _agree_on_people(self) -> None:
        """A limit for each person, or a refusal."""
        limit = self.max_answers
        if limit is not None:
            check.integer("max_answers", limit, 1, MOST_LIMIT)
        if self.protect == "comparison":
            if self.kind == "rankings":
                raise ValueError("protect = 'comparison' with rankings: allowed is 'person'")
            if limit is not None:
                given = f"max_answers = {limit} with protect = 'comparison'"
                raise ValueError(f"{given}: allowed is None")
            self._set(repeats="keep", vouched=False)
            return
        if not self.has_persons and not self.vouched:
            raise ValueError(
                "protect = 'person', but the data do not say who gave which answer, so that nobody "
                "can bound what one person adds: allowed is 'comparison', or vouched=True "
                "(--vouch) if you vouch that nobody gave more than max_answers"
            )
        if limit is None and self.kind != "rankings":
            raise ValueError(
                "max_answers is missing: allowed is a whole number from 1, how many answers of "
                "each person may count, fixed before looking at the data"
            )
        # Nobody can see that a pair was answered twice, if nobody knows by whom.
        repeats = self.repeats if self.has_persons else "keep"
        vouched = self.vouched and not self.has_persons
        self._set(max_answers=limit or 1, repeats=repeats, vouched=vouched)

    def _agree_on_only(self) -> None:
        k = check.integer("only", self.only, 1, self.n_items - 1)
        if self.statistic == "pairs":
            raise ValueError(f"only = {k} with statistic = 'pairs': allowed is 'net'")
        if self.delta:
            raise ValueError(f"delta = {self.delta} with only = {k}: allowed is 0")
        if comb(self.n_items, k) > MOST_SETS:
            given = f"only = {k} of {self.n_items} items has {comb(self.n_items, k)} sets"
            raise ValueError(f"{given}: allowed are {MOST_SETS}")

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def changes(self) -> int:
        """How many contributions differ between neighbours: 2 if one takes another's place."""
        return 2 if self.relation == "replace" else 1

    @property
    def limit(self) -> int:
        """How many answers what is protected has at most."""
        return self.max_answers or 1

    @property
    def pairs(self) -> int:
        """How many pairs they are about, at most."""
        if self.protect == "comparison":
            return 1
        return pair_answers(self.kind, self.n_items, self.limit, self.repeats)

    @property
    def root_bound(self) -> int:
        """Largest `root_level` of a change of wins minus losses.

        If each pair counts once, k items can win at most k (n - k) from the others.
        """
        once = self.n_items**2 // 4
        if self.kind == "rankings":
            return self.changes * self.limit * once
        return self.changes * (min(self.limit, once) if self.repeats == "one" else self.limit)

    @property
    def zonotope_bound(self) -> int:
        """Largest `zonotope_level` of a change.

        Of m comparisons k items win at most m, and the level divides by at least n - 1.
        """
        if self.kind == "rankings":
            return self.changes * self.limit
        level = -(-self.changes * self.limit // (self.n_items - 1))
        return min(level, self.changes) if self.repeats == "one" else level

    @property
    def l1(self) -> int:
        """How far the numbers released move in l1."""
        if self.statistic == "pairs":
            return self.changes * self.pairs * (2 if self.halves else 1)
        return 2 * self.root_bound

    @property
    def l2_squared(self) -> int:
        """How far they move in l2, squared.

        Of wins minus losses x, the sum of squares is the sum of x_i - x_j over all answers "i
        before j"; it is largest, of all answers to every pair, for a ranking.
        """
        n, one = self.n_items, self.repeats == "one" and self.kind != "rankings"
        if self.statistic == "pairs":  # no entry moves by more than the limit, or by 1
            most = 1 if one else self.limit
            return self.changes * self.pairs * most * (4 if self.halves else 1)
        ranking = n * (n * n - 1) // 3
        if self.kind == "rankings":
            return self.changes**2 * self.limit**2 * ranking
        each = min(self.limit * self.swing(1), ranking) if one else 2 * self.limit**2
        return self.changes**2 * each

    def swing(self, a: int) -> int:
        """How far a items can move against a others by the answers of one person, in net wins.

        An answer about one of each moves them by 2, one about another item by 1.
        """
        n = self.n_items
        if self.kind == "rankings":
            return self.limit * 2 * a * (n - a)
        if self.repeats == "keep":
            return 2 * self.limit
        return min(self.limit, a * a) + min(self.limit, a * (2 * n - 3 * a))

    def noise(self, sampler: str = "book") -> Noise:
        """The narrowest noise that keeps the promise; only public things decide."""
        check.choice("sampler", sampler, ("book", "opendp"))
        n = self.n_items
        if self.only is not None:
            if sampler == "opendp":
                raise ValueError("sampler = 'opendp' with only: allowed is 'book'")
            least = min(self.only, n - self.only)
            return Noise("flip", n, rounded_up(self.changes * self.swing(least) / self.epsilon))
        count = n * (n - 1) if self.statistic == "pairs" else n
        if sampler == "opendp":
            scale = opendp_scale(self.l1, self.epsilon)
            return Noise("laplace", count, scale, sampler="opendp")
        pure = [Noise("laplace", count, rounded_up(self.l1 / self.epsilon))]
        if self.statistic == "net" and n <= MOST_KNORM_ITEMS:
            pure = [Noise("root", n, rounded_up(self.root_bound / self.epsilon))]
            scale = rounded_up(self.zonotope_bound / self.epsilon)
            if n > 2 and 8 * scale >= 1:  # its sampler needs noise that is not too weak
                pure.append(Noise("zonotope", n, scale))
        best = min(pure, key=lambda noise: noise.deviation)
        if self.delta:
            variance = gaussian_variance(self.l2_squared, self.epsilon, self.delta)
            gauss = Noise("gaussian", count, variance, float(self.delta))
            if gauss.deviation < best.deviation and variance < 2**51:
                return gauss
        return best

    def sample_width(self, people: int, miss: float) -> int:
        """How far the sum over so many people, drawn at random, leaves its expectation.

        For the differences of any two items, all at once, with probability 1 - miss: Hoeffding's
        bound for sums of independent numbers between -c and c, c = `swing` (1).
        """
        check.integer("people", people, 1)
        check.probability("miss", miss, zero=False, one=False)
        if self.protect == "comparison" or self.relation == "add_remove":
            given = f"people = {people} with protect = {self.protect!r}, {self.relation!r}"
            raise ValueError(f"{given}: allowed is a number of people with 'person', 'replace'")
        n = self.n_items
        return ceil(self.swing(1) * sqrt(2 * people * log(n * (n - 1) / miss)))


def gaussian_variance(l2_squared: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Variance, the square of a fraction, of (epsilon, delta)-private discrete Gaussian noise.

    It is rho-zCDP with rho = l2^2 / (2 variance), where rho-zCDP has, for every a > 1, the delta
    exp((a - 1) (a rho - epsilon)) (1 - 1/a)^a / (a - 1) (Canonne, Kamath, Steinke 2020, Theorem 14
    and Proposition 12). Every a gives a rho that is allowed: the largest of many is taken.
    """
    a = 1 + np.geomspace(1e-4, 1e10, 20_001)
    room = log(delta) + np.log(a - 1) - a * np.log1p(-1 / a)
    rho = float(((float(epsilon) + room / (a - 1)) / a).max()) * (1 - 1e-9)
    deviation = sqrt(l2_squared / (2 * rho))
    unit = 2 ** max(0, 12 - int(deviation).bit_length())
    return Fraction(ceil(deviation * (1 + 1e-12) * unit), unit) ** 2


def exact_epsilon(value: str | float | Rational) -> Fraction:
    """The privacy parameter as a fraction, never above what was given."""
    return _exact("epsilon", value, EPSILONS, "a number from 1e-6 to 50, as 0.5 or 1/2")


def exact_delta(value: str | float | Rational) -> Fraction:
    """The same for delta."""
    if not isinstance(value, str) and value == 0 and not isinstance(value, bool):
        return Fraction(0)
    limits = Fraction(1, 10**30), Fraction(1, 100)
    return _exact("delta", value, limits, "0, or a number from 1e-30 to 1e-2")


def _exact(
    name: str, value: object, limits: tuple[Fraction, Fraction], allowed: str
) -> Fraction:
    try:
        if isinstance(value, bool) or not isinstance(value, str | float | Rational):
            raise ValueError
        exact = fraction_of(value) if isinstance(value, str) else Fraction(value)
        if isinstance(value, float):  # it prints as the decimal that was meant, or as it is
            exact = min(exact, Fraction(repr(float(value))))
        if not limits[0] <= exact <= limits[1]:
            raise ValueError
    except (ValueError, ArithmeticError):
        raise ValueError(f"{name} = {value!r:.60}: allowed is {allowed}") from None
    return exact
