"""Models of comparisons and of whole rankings: distributions, exact probabilities, samplers.

A matrix ``rho`` (n, n) of winning probabilities has ``rho[i, j]`` for i before j.  A ranking is an
array of positions, 0 for the first, and a distribution over rankings an array over `all_rankings`.
"""

from dpbook.models.links import LINKS
from dpbook.models.pairs import (
    average_win_probabilities,
    btl_probabilities,
    edge_wins,
    individual_wins,
    two_level_probabilities,
)
from dpbook.models.people import net_wins
from dpbook.models.rankings import (
    all_rankings,
    mallows_expected_distance,
    mallows_pair_probabilities,
    mallows_pmf,
    mallows_rankings,
)

__all__ = [
    "LINKS",
    "all_rankings",
    "average_win_probabilities",
    "btl_probabilities",
    "edge_wins",
    "individual_wins",
    "mallows_expected_distance",
    "mallows_pair_probabilities",
    "mallows_pmf",
    "mallows_rankings",
    "net_wins",
    "two_level_probabilities",
]
