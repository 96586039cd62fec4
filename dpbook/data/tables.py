"""The published tables that come with the package, quoted as facts.

* CEMS universities.  303 students of the Vienna University of Economics compared six partner
  universities, 15 pairs each.  R. Dittrich, R. Hatzinger and W. Katzenbeisser, "Modelling the
  effect of subject-specific covariates in paired comparison studies with an application to
  university rankings", Applied Statistics 47 (1998) 511-525, and the corrigendum, Applied
  Statistics 50 (2001) 247-249.  The answers to Barcelona : Stockholm were reversed in the data
  analysed in 1998; the corrigendum puts them right.  Both editions circulate.
* Immigration.  98 students compared four statements about foreigners, 6 pairs each.  D. Weber and
  R. Hatzinger, "A novel approach for modelling paired comparisons data with non-ignorable missing
  values on students' attitudes towards foreigners", Data Analysis Bulletin 12 (2011) 11-22.
* SUSHI.  5000 people put ten kinds of sushi in order.  The terms of the data forbid handing on the
  rankings, so only pairwise counts are here.  T. Kamishima, "Nantonac collaborative filtering:
  recommendation based on order responses", KDD (2003) 583-588.  The items are ebi, anago, maguro,
  ika, uni, ikura, tamago, toro, tekka maki and kappa maki, in English and in the order of the
  original source: the names in PrefLib's copy are off by one.
* MovieLens.  Ratings of the 40 most rated films in the file called latest-small: 100,836 ratings
  by 610 users of 9,742 films.  This is not MovieLens 100K, which has 100,000 ratings by 943 users.
  F. M. Harper and J. A. Konstan, "The MovieLens datasets: history and context", ACM Transactions
  on Interactive Intelligent Systems 5 (2015) 19:1-19:19.  The tables are a transformation of the
  data and stand under GroupLens' terms, not under the licence of this package.
* Turk.  Workers of a crowdsourcing platform put four pictures in order: by their number of dots
  ("turkdots"), or sliding puzzles by the number of moves to their solution ("turkpuzzle").  Four
  files each, of different difficulty.  There is a right order.  A. Mao, A. D. Procaccia and
  Y. Chen, "Better human computation through principled voting", AAAI (2013).
* CCW25.  Means over replicates of the edge-private Experiments 1 and 4 of Cai, Chakraborty and
  Wang (2025), as released by the authors in their public repository abhinavc3/DP-Ranking.
"""

from __future__ import annotations

import csv
from importlib import resources
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbook import _validation as check
from dpbook.data.types import PairTable, Rankings

_CEMS = (
    "Dittrich, Hatzinger and Katzenbeisser, Applied Statistics 47 (1998) 511-525; "
    "corrigendum, Applied Statistics 50 (2001) 247-249"
)
_GPL = "counted from a package under GPL (>= 2)"


Pairs = dict[tuple[str, str], tuple[int, ...]]  # i before j, j before i, ties


class _About(NamedTuple):
    """People in a table, where it comes from, its terms; the table of which it changes pairs."""

    users: int
    source: str
    licence: str
    changes: str = ""


_PAIRS = {
    "cems": _About(
        303, f"{_CEMS}. Corrected edition, counted from the R package BradleyTerry2 1.1.3", _GPL
    ),
    "cems_1998": _About(
        303,
        f"{_CEMS}. Edition of 1998, counted from the R package prefmod 0.8-36",
        _GPL,
        changes="cems",
    ),
    "immigration": _About(
        98,
        "Weber and Hatzinger, Data Analysis Bulletin 12 (2011) 11-22. "
        "Counted from the R package prefmod 0.8-36",
        _GPL,
    ),
    "sushi": _About(
        5000,
        "Kamishima, SUSHI preference data sets (sushi3-2016), item set A; "
        "Kamishima, KDD (2003) 583-588",
        "pairwise counts only; the data: for research; the rankings must not be redistributed "
        "without permission",
    ),
}
_MOVIELENS = _About(
    610,
    "GroupLens, MovieLens latest-small of September 2018 (100,836 ratings, 610 users, 9,742 "
    "films; not MovieLens 100K); Harper and Konstan, ACM TiiS 5 (2015) 19:1-19:19",
    "GroupLens' terms: redistribution, also of transformations, under these same conditions; "
    "no commercial or revenue-bearing use without permission of GroupLens; the use is to be "
    "acknowledged by citing Harper and Konstan (2015); no endorsement may be stated or "
    "implied; no warranty",
)
_TURK = (
    "Mao, Procaccia and Chen, Better human computation through principled voting, AAAI (2013); "
    "PrefLib data sets 00024 (dots) and 00025 (puzzle)",
    "PrefLib asks for a reference to its site and for the citation; no other terms stated",
)
TURK_NAMES = ("turkdots", "turkpuzzle")
_NAMES = (*_PAIRS, "movielens_top40", *TURK_NAMES)


def load_table(name: str, *, part: int = 1) -> PairTable:
    """Return a published table of pair counts.

    Parameters
    ----------
    name : str
        - ``"cems"``, ``"cems_1998"``: six universities; the corrected edition, and the one
          analysed in 1998, in which the answers to Barcelona : Stockholm are reversed.
        - ``"immigration"``: four statements about foreigners.
        - ``"sushi"``: ten kinds of sushi, in the order of the source's numbers 0 to 9.
        - ``"movielens_top40"``: forty films. A person prefers the film with the higher rating,
          and any rated film to one without a rating; `ties` are equal ratings, or none for both.
        - ``"turkdots"``, ``"turkpuzzle"``: four pictures, named by their numbers of dots or moves,
          in the right order. One worker may have given several rankings.
    part : int
        Which of the four files of ``"turkdots"`` and ``"turkpuzzle"``: 795, 794, 800, 794 and
        793, 795, 795, 797 rankings. Part 1 has the sizes of the data of YLL.

    Returns
    -------
    PairTable
        Its `source` has the citation, its `licence` the terms.

    Examples
    --------
    >>> sushi = load_table("sushi")
    >>> sushi.users, sushi.items[int(sushi.counts.sum(axis=1).argmax())]
    (5000, 'fatty tuna')
    """
    check.choice("name", name, _NAMES)
    check.integer("part", part, 1, 4 if name in TURK_NAMES else 1)
    if name in TURK_NAMES:
        rankings = turk_rankings(name, part)
        places = rankings.positions
        before = (places[:, :, None] < places[:, None, :]).sum(axis=0)
        return PairTable(rankings.items, before, len(places), None, *_TURK)
    if name == "movielens_top40":
        titles = film_titles()
        pairs: Pairs = {
            (titles[int(row["first"])], titles[int(row["second"])]): (
                int(row["first_higher"]) + int(row["only_first"]),
                int(row["second_higher"]) + int(row["only_second"]),
                int(row["equal"]) + int(row["neither"]),
            )
            for row in rows_of("movielens_top40_pairs.csv")
        }
        return _pair_table(pairs, _MOVIELENS)
    about = _PAIRS[name]
    rows = rows_of("pair_tables.csv")
    pairs = {
        (row["first"], row["second"]): tuple(
            int(row[count]) for count in ("first_before", "second_before", "ties")
        )
        for wanted in (about.changes, name)
        for row in rows
        if row["table"] == wanted
    }
    return _pair_table(pairs, about)


def _pair_table(pairs: Pairs, about: _About) -> PairTable:
    """Build a table from i before j, j before i, and ties, the pairs in lexicographic order."""
    items = tuple(dict.fromkeys(item for pair in pairs for item in pair))
    place = {item: k for k, item in enumerate(items)}
    counts, ties = np.zeros((2, len(items), len(items)), dtype=np.int64)
    for (first, second), (ahead, behind, tied) in pairs.items():
        i, j = place[first], place[second]
        counts[i, j], counts[j, i], ties[i, j], ties[j, i] = ahead, behind, tied, tied
    return PairTable(items, counts, about.users, ties, about.source, about.licence)


def turk_rankings(name: str, part: int) -> Rankings:
    """Return one row for each ranking of a Turk file, rows with the same order side by side."""
    rows = [
        row
        for row in rows_of("turk_rankings.csv")
        if row["name"] == name and int(row["part"]) == part
    ]
    values = np.array([[int(row[f"pos{k}"]) for k in range(1, 5)] for row in rows])
    items = np.unique(values)
    orders = np.searchsorted(items, values)
    times = [int(row["count"]) for row in rows]
    return Rankings.from_orders(np.repeat(orders, times, axis=0), items.tolist())


def film_titles() -> dict[int, str]:
    """Titles of the forty films by their numbers at MovieLens, the most rated first."""
    return {int(row["movieId"]): row["title"] for row in rows_of("movielens_top40_films.csv")}


_REFERENCE = {
    "experiment": np.int64,
    "metric": "U24",
    "n": np.int64,
    "p": np.float64,
    "epsilon": np.float64,
    "mean": np.float64,
    "sd": np.float64,
    "replicates": np.int64,
}


def reference_table() -> NDArray[np.void]:
    """Published means of the edge-private Experiments 1 and 4 of CCW25.

    Returns
    -------
    structured array, shape (rows,)
        Fields ``experiment`` (1 or 4), ``metric``, ``n`` (items), ``p`` (probability that a pair
        is compared), ``epsilon`` (nats; inf for the run without privacy), ``mean`` and ``sd``
        over ``replicates``. The metrics are ``log_relative_l2`` and ``log_relative_linf``
        (natural logarithms of relative errors), ``topk_error_mle``, ``topk_error_counts`` and
        ``topk_error_one_shot`` (shares of the true top-k set that are missed, with k = n / 4
        rounded). Experiment 4 lists n = 350 twice for some epsilon: once along n, once along
        epsilon.

    Notes
    -----
    Source: the authors' public code release, repository abhinavc3/DP-Ranking, for CCW25.
    """
    rows = [tuple(row[name] for name in _REFERENCE) for row in rows_of("ccw25_reference.csv")]
    return np.array(rows, dtype=list(_REFERENCE.items()))


def rows_of(file: str) -> list[dict[str, str]]:
    """Rows of a CSV file that the package carries."""
    source = resources.files("dpbook.data").joinpath(file)
    return list(csv.DictReader(source.read_text(encoding="utf-8").splitlines()))
