"""Aggregates of rankings and ratings: what may be told about many people, and nobody in particular.

`RankingTable`
    how many people gave each ranking.
`PreferenceTable`
    how many people rank one item before another, pair by pair.
`OutcomeTable`
    what people's ratings say about each pair of items, unrated items and equal ratings included.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpbook import _validation as check
from dpbook.data import _checks
from dpbook.data._checks import IntArray, Item
from dpbook.data.rankings import Rankings

__all__ = ["OutcomeTable", "PreferenceTable", "RankingTable"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RankingTable:
    """Counts of complete rankings.

    Parameters
    ----------
    items : tuple of str or int, length n
        Names of the items.
    orders : ndarray of int, shape (k, n)
        The different orders: entry [r, p] is the item at place p, the most preferred first.
    counts : ndarray of int, shape (k,)
        Number of users with each order, at least 1.
    source, licence : str
        Where the counts come from, and under what terms.
    truth : ndarray of int, shape (n,), optional
        The order that is right, where there is one.
    title : str
        Name of the file at the source.

    Raises
    ------
    ValueError
        If an order is not a permutation or comes twice, a count is below 1, or the lengths differ.
    """

    items: tuple[Item, ...]
    orders: IntArray
    counts: IntArray
    source: str
    licence: str
    truth: IntArray | None = None
    title: str = ""

    def __post_init__(self) -> None:
        orders = Rankings.from_orders(self.orders, self.items).orders
        orders.setflags(write=False)
        counts = _checks.integers("counts", self.counts)
        if len(counts) != len(orders):
            raise ValueError(f"counts has {len(counts)} entries: allowed is {len(orders)}")
        if counts.min() < 1:
            k = int(np.argmin(counts))
            raise ValueError(f"counts[{k}] = {counts[k]}: allowed is 1 or more")
        if len(np.unique(orders, axis=0)) != len(orders):
            raise ValueError("orders holds an order twice: allowed is each order once")
        object.__setattr__(self, "items", _checks.item_names(self.items))
        object.__setattr__(self, "orders", orders)
        object.__setattr__(self, "counts", counts)
        if self.truth is not None:
            truth = _checks.positions("truth", self.truth, self.n_items)
            if sorted(truth.tolist()) != list(range(self.n_items)):
                raise ValueError(
                    f"truth = {truth.tolist()}: allowed is a permutation of 0..{self.n_items - 1}"
                )
            object.__setattr__(self, "truth", truth)

    @property
    def n_items(self) -> int:
        """Number of items n."""
        return len(self.items)

    @property
    def users(self) -> int:
        """Number of rankings counted."""
        return int(self.counts.sum())

    def rankings(self) -> Rankings:
        """Return one row for one user, the rows with the same order side by side."""
        return Rankings.from_orders(np.repeat(self.orders, self.counts, axis=0), self.items)

    def pairwise_counts(self) -> IntArray:
        """Return, shape (n, n), the number of users who place item i before item j."""
        places = np.argsort(self.orders, axis=1)
        before = places[:, :, None] < places[:, None, :]
        return np.einsum("k,kij->ij", self.counts, before.astype(np.int64))


@dataclass(frozen=True, eq=False)
class PreferenceTable:
    """Pairwise counts of complete rankings.

    Parameters
    ----------
    items : tuple of str or int, length n
        Names of the items.
    counts : ndarray of int, shape (n, n)
        Entry [i, j]: users who place item i before item j.  Off the diagonal
        counts + counts.T = users.
    users : int
        Number of users.
    source, licence : str
        Where the counts come from, and under what terms.
    english : tuple of str
        The items in English, or nothing.

    Raises
    ------
    ValueError
        If `counts` is not a square table of counts that fits `items` and adds up to `users`.
    """

    items: tuple[Item, ...]
    counts: IntArray
    users: int
    source: str
    licence: str
    english: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check.integer("users", self.users, 1)
        object.__setattr__(self, "items", _checks.item_names(self.items))
        counts = _square("counts", self.counts, len(self.items))
        _adds_up("counts", counts + counts.T, self.users)
        object.__setattr__(self, "counts", counts)
        if self.english and len(self.english) != len(self.items):
            raise ValueError(
                f"english has {len(self.english)} entries: allowed is {len(self.items)}"
            )

    @property
    def n_items(self) -> int:
        """Number of items n."""
        return len(self.items)


@dataclass(frozen=True, eq=False)
class OutcomeTable:
    """What ratings say about each pair of items, counted over users.

    Parameters
    ----------
    items : tuple of str or int, length n
        Names of the items.
    higher : ndarray of int, shape (n, n)
        Entry [i, j]: users who rated both items, and i higher.
    equal : ndarray of int, shape (n, n), symmetric
        Users who gave both items the same rating.
    only : ndarray of int, shape (n, n)
        Entry [i, j]: users who rated i and not j.
    neither : ndarray of int, shape (n, n), symmetric
        Users who rated neither, those who rated no item at all included.
    users : int
        Number of users.  Off the diagonal the outcomes of a pair add up to it.
    raters : int
        Users who rated at least one item.
    source, licence : str
        Where the counts come from, and under what terms.
    movies : ndarray of int, shape (n,)
        Numbers of the items at the source.
    products : ndarray of int, shape (n, n), symmetric, optional
        Entry [i, j]: sum over users of the product of the surpluses of i and j.  A user's surplus
        of an item is the number of items put after it less those put before it, the unrated last.

    Raises
    ------
    ValueError
        If a table is not a square table of counts, is not symmetric where it must be, or the
        counts contradict each other.
    """

    items: tuple[Item, ...]
    higher: IntArray
    equal: IntArray
    only: IntArray
    neither: IntArray
    users: int
    raters: int
    source: str
    licence: str
    movies: IntArray
    products: IntArray | None = None

    def __post_init__(self) -> None:
        check.integer("users", self.users, 1)
        check.integer("raters", self.raters, 1, self.users)
        object.__setattr__(self, "items", _checks.item_names(self.items))
        for name in ("higher", "equal", "only", "neither"):
            table = _square(name, getattr(self, name), self.n_items)
            if name in ("equal", "neither") and not np.array_equal(table, table.T):
                raise ValueError(f"{name} is not symmetric: allowed is {name} = {name}.T")
            object.__setattr__(self, name, table)
        _adds_up(
            "higher + equal + only + neither",
            self.decided() + self.decided().T + self.undecided(),
            self.users,
        )
        rated = self._rated()
        off = ~np.eye(self.n_items, dtype=bool)
        if (rated != rated.max(axis=1, keepdims=True))[off].any():
            raise ValueError("higher, equal and only count one item's ratings in different ways")
        at_least = self.users - int(self.neither[off].min())
        if self.raters < at_least:
            raise ValueError(f"raters = {self.raters}: allowed is at least {at_least}")
        movies = _checks.integers("movies", self.movies)
        if len(np.unique(movies)) != self.n_items or len(movies) != self.n_items:
            raise ValueError(f"movies has {len(movies)} entries: allowed is one for each item")
        object.__setattr__(self, "movies", movies)
        if self.products is not None:
            products = _checks.integers("products", self.products, 2)
            if products.shape != self.higher.shape:
                raise ValueError(
                    f"products of shape {products.shape}: allowed is {self.higher.shape}"
                )
            # Every user's surpluses add up to zero.
            if not np.array_equal(products, products.T) or products.sum(axis=0).any():
                raise ValueError("products: allowed is a symmetric table whose rows add up to 0")
            object.__setattr__(self, "products", products)

    @property
    def n_items(self) -> int:
        """Number of items n."""
        return len(self.items)

    def decided(self) -> IntArray:
        """Return, shape (n, n), the users who prefer i to j when the unrated come last.

        Entry [i, j] counts those who rated i higher, or rated i and not j.
        """
        return self.higher + self.only

    def undecided(self) -> IntArray:
        """Return, shape (n, n), symmetric, the users for whom a fair coin decides the pair.

        They gave both items the same rating, or rated neither.  After the coins, the number of
        users with i before j is ``decided()[i, j]`` plus a binomial variable of
        ``undecided()[i, j]`` trials with probability 1/2.
        """
        return self.equal + self.neither

    def expected(self) -> FloatArray:
        """Return, shape (n, n), the expected number of users with i before j after the coins."""
        return self.decided() + self.undecided() / 2

    def probabilities(self) -> FloatArray:
        """Return, shape (n, n), the chance that a random user puts i before j; diagonal 1/2."""
        return self.expected() / self.users + np.eye(self.n_items) / 2

    def score_covariance(self) -> FloatArray:
        """Return, shape (n, n), the covariance over users of the items' scores.

        A user's score of an item is half its surplus: its wins beyond one half of the comparisons,
        with a tie as half a win.  Coins add their own variance to it.

        Raises
        ------
        ValueError
            If the table holds no products.
        """
        if self.products is None:
            raise ValueError("products = None: allowed is the table of products of surpluses")
        decided = self.decided()
        mean = (decided.sum(axis=1) - decided.sum(axis=0)) / self.users
        covariance: FloatArray = (self.products / self.users - np.outer(mean, mean)) / 4
        return covariance

    def ratings(self) -> IntArray:
        """Return, shape (n,), the number of ratings of each item."""
        rated: IntArray = self._rated().max(axis=1)
        return rated

    def _rated(self) -> IntArray:
        return self.higher + self.higher.T + self.equal + self.only


def _square(name: str, values: npt.ArrayLike, n_items: int) -> IntArray:
    table = _checks.counts(name, values)
    if len(table) != n_items:
        raise ValueError(f"{name} has {len(table)} rows: allowed is {n_items}, one for each item")
    return table


def _adds_up(name: str, total: IntArray, users: int) -> None:
    off = total[~np.eye(len(total), dtype=bool)]
    if (off != users).any():
        bad = int(off[off != users][0])
        raise ValueError(f"{name} holds {bad} outcomes of a pair: allowed is users = {users}")
