"""Comparisons and rankings: the data types, the published surveys, the loader of full data sets.

`survey_table` gives the small aggregate tables that come with the book.  `load_comparisons` gives
the answers person by person, which do not: it takes them from a local folder, from the cache, or
from the official source, and checks their SHA-256.  `reference_table` holds published simulation
results.
"""

from dpbook.data.answers import SurveyAnswers
from dpbook.data.loader import DatasetError, load_comparisons
from dpbook.data.rankings import Rankings, rankings_from_ratings
from dpbook.data.reference import reference_table
from dpbook.data.surveys import SURVEY_NAMES, survey_table
from dpbook.data.types import Comparisons, PairTable

__all__ = [
    "SURVEY_NAMES",
    "Comparisons",
    "DatasetError",
    "PairTable",
    "Rankings",
    "SurveyAnswers",
    "load_comparisons",
    "rankings_from_ratings",
    "reference_table",
    "survey_table",
]
