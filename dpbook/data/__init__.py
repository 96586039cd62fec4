"""Comparisons, rankings and pair counts: three types, the published tables, the full data sets.

`load_table` gives the small aggregate tables that come with the package, `reference_table`
published results of simulations.  `load_dataset` gives the answers person by person, which do not:
it takes them from a local folder, the cache, or the official source, and checks their SHA-256.
"""

from dpbook.data.loader import DatasetError, has_dataset, load_dataset
from dpbook.data.tables import load_table, reference_table
from dpbook.data.types import Comparisons, PairTable, Rankings

__all__ = [
    "Comparisons",
    "DatasetError",
    "PairTable",
    "Rankings",
    "has_dataset",
    "load_dataset",
    "load_table",
    "reference_table",
]
