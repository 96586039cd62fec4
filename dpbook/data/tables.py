"""The published tables that come with the package; `about.json` has their sources and terms."""

from __future__ import annotations

import csv
import json
from importlib import resources

import numpy as np

from dpbook import _validation as check
from dpbook.data.types import Item, PairTable, Rankings

TURK_NAMES = ("turkdots", "turkpuzzle")

#: Plain words for the names of items that are codes.
PLAIN_NAMES: dict[Item, str] = {
    "crimRate": "crime rates",
    "position": "training places",
    "socBurd": "social burden",
}


def load_table(name: str, *, part: int = 1) -> PairTable:
    """Return a published table of pair counts, with its citation and its terms.

    Parameters
    ----------
    name : str
        - ``"cems"``, ``"cems_1998"``: six universities, 15 pairs for each of 303 students; as the
          corrigendum of 2001 puts it right, and the edition analysed in 1998, in which the answers
          to Barcelona : Stockholm are reversed. Both circulate.
        - ``"immigration"``: four statements about foreigners, 6 pairs for each of 98 students.
        - ``"sushi"``: ten kinds, of whole rankings by 5000 people, in the order and with the names
          of the original source, in English; the names in PrefLib's copy are off by one.
        - ``"movielens_top40"``: forty films, by the 610 users of the file called latest-small, not
          MovieLens 100K. A person prefers the film with the higher rating, and any rated film to
          one without a rating; `ties` are equal ratings, or none for both.
        - ``"llmfao"``: 59 language models, whose answers data set workers compare. Counts are
          judgements, not people: one makes 7 to 343, some on the same pair. Most pairs have none.
        - ``"turkdots"``, ``"turkpuzzle"``: four pictures that workers of a platform put in order,
          in the right one, named by their numbers of dots, or of moves to a puzzle's solution. One
          worker may have given several rankings.
    part : int
        Which of the four files of ``"turkdots"`` and ``"turkpuzzle"``: 795, 794, 800, 794 and
        793, 795, 795, 797 rankings. Part 1 has the sizes of the data of YLL.

    Examples
    --------
    >>> sushi = load_table("sushi")
    >>> sushi.users, sushi.items[int(sushi.counts.sum(axis=1).argmax())]
    (5000, 'fatty tuna')
    """
    tables = json.loads(_text("about.json"))
    about = tables[check.choice("name", name, tuple(tables))]
    check.integer("part", part, 1, 4 if name in TURK_NAMES else 1)
    if name in TURK_NAMES:
        rankings = turk_rankings(name, part)
        ranks = rankings.positions
        before = (ranks[:, :, None] < ranks[:, None, :]).sum(axis=0)
        return PairTable(rankings.items, before, len(ranks), **about)
    if name == "movielens_top40":
        titles = film_titles()
        pairs = {
            (titles[int(row["first"])], titles[int(row["second"])]): (
                int(row["first_higher"]) + int(row["only_first"]),
                int(row["second_higher"]) + int(row["only_second"]),
                int(row["equal"]) + int(row["neither"]),
            )
            for row in rows_of("movielens_top40_pairs.csv")
        }
    else:  # an edition that changes a few pairs of another table has those alone
        base, rows = about.pop("changes", name), rows_of("pair_tables.csv")
        pairs = {
            (row["first"], row["second"]): (
                int(row["first_before"]),
                int(row["second_before"]),
                int(row["ties"]),
            )
            for table in (base, name)
            for row in rows
            if row["table"] == table
        }
    items = tuple(dict.fromkeys(item for pair in pairs for item in pair))
    i, j = np.array([[items.index(item) for item in pair] for pair in pairs]).T
    counts, ties = np.zeros((2, len(items), len(items)), dtype=np.int64)
    counts[i, j], counts[j, i], ties[i, j] = np.array(list(pairs.values())).T
    return PairTable(items, counts, ties=ties + ties.T, **about)


def turk_rankings(name: str, part: int) -> Rankings:
    """Return one row for each ranking of a Turk file, rows with the same order side by side."""
    chosen = {"name": name, "part": str(part)}.items()
    rows = [row for row in rows_of("turk_rankings.csv") if chosen <= row.items()]
    values = np.array([[int(row[f"pos{k}"]) for k in range(1, 5)] for row in rows])
    items, orders = np.unique(values, return_inverse=True)
    times = [int(row["count"]) for row in rows]
    orders = np.repeat(orders.reshape(values.shape), times, axis=0)
    return Rankings.from_orders(orders, items.tolist())


def film_titles() -> dict[int, str]:
    """Titles of the forty films by their numbers at MovieLens, the most rated first."""
    return {int(row["movieId"]): row["title"] for row in rows_of("movielens_top40_films.csv")}


def rows_of(file: str) -> list[dict[str, str]]:
    """Rows of a CSV file that the package carries."""
    return list(csv.DictReader(_text(file).splitlines()))


def _text(file: str) -> str:
    return resources.files("dpbook.data").joinpath(file).read_text(encoding="utf-8")
