"""Models of comparisons and of whole rankings: laws, exact probabilities, samplers.

`dpbook.models.pairs`
    winning probabilities and designs of pairwise comparisons.
`dpbook.models.rankings`
    Mallows and Plackett-Luce models of one ranking for each user.
"""

from dpbook.models.pairs import (
    LINKS,
    Link,
    average_win_probabilities,
    btl_probabilities,
    edge_comparisons,
    edge_wins,
    individual_comparisons,
    individual_wins,
    two_level_probabilities,
    win_difference_pmf,
)
from dpbook.models.rankings import (
    all_rankings,
    mallows_expected_distance,
    mallows_pair_probabilities,
    mallows_pmf,
    mallows_rankings,
    plackett_luce_pmf,
    plackett_luce_rankings,
)

__all__ = [
    "LINKS",
    "Link",
    "all_rankings",
    "average_win_probabilities",
    "btl_probabilities",
    "edge_comparisons",
    "edge_wins",
    "individual_comparisons",
    "individual_wins",
    "mallows_expected_distance",
    "mallows_pair_probabilities",
    "mallows_pmf",
    "mallows_rankings",
    "plackett_luce_pmf",
    "plackett_luce_rankings",
    "two_level_probabilities",
    "win_difference_pmf",
]
