"""Comparisons, rankings and ratings: data types, published tables, the loader of full data sets.

`survey_table`, `ranking_table` and `preference_table` give the small aggregate tables that come
with the book.  `load_comparisons`, `load_rankings` and `load_ratings` give the answers person by
person, which do not: they take them from a local folder, from the cache, or from the official
source, and check their SHA-256.  `reference_table` holds published simulation results.
"""

from dpbook.data.aggregates import OutcomeTable, PreferenceTable, RankingTable
from dpbook.data.answers import SurveyAnswers
from dpbook.data.loader import (
    DatasetError,
    has_dataset,
    load_comparisons,
    load_rankings,
    load_ratings,
)
from dpbook.data.rankings import Rankings, rankings_from_ratings
from dpbook.data.ratings import RatingTable
from dpbook.data.reference import reference_table
from dpbook.data.surveys import SURVEY_NAMES, survey_table
from dpbook.data.tables import (
    PREFERENCE_NAMES,
    RANKING_NAMES,
    preference_table,
    ranking_table,
)
from dpbook.data.types import Comparisons, PairTable

__all__ = [
    "PREFERENCE_NAMES",
    "RANKING_NAMES",
    "SURVEY_NAMES",
    "Comparisons",
    "DatasetError",
    "OutcomeTable",
    "PairTable",
    "PreferenceTable",
    "RankingTable",
    "Rankings",
    "RatingTable",
    "SurveyAnswers",
    "has_dataset",
    "load_comparisons",
    "load_rankings",
    "load_ratings",
    "preference_table",
    "ranking_table",
    "rankings_from_ratings",
    "reference_table",
    "survey_table",
]
