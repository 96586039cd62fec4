"""Comparisons, rankings and pair counts: three types, the published tables, the full data sets.

`load_table` gives the small aggregate tables that come with the package, `load_dataset` the answers
person by person, which do not: from a local folder, the cache, or the official source, with their
SHA-256 checked.
"""

from dpbook.data.loader import DatasetError, has_dataset, load_dataset
from dpbook.data.tables import PLAIN_NAMES, load_table
from dpbook.data.types import Comparisons, PairTable, Rankings

__all__ = [
    "PLAIN_NAMES",
    "Comparisons",
    "DatasetError",
    "PairTable",
    "Rankings",
    "has_dataset",
    "load_dataset",
    "load_table",
]
