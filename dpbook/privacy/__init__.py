"""Who is protected, exact output distributions, privacy losses, accounting and audits.

Mechanisms enter this package only as functions or as finite distributions handed to it.
"""

from dpbook.privacy.accounting import (
    composed_response_delta,
    composed_response_epsilon,
    person_epsilon,
)
from dpbook.privacy.audit import audit_sampler, clopper_pearson
from dpbook.privacy.distributions import ranking_pmf, sets_of, top_k_pmf
from dpbook.privacy.exact import (
    ExactDistribution,
    Polynomial,
    as_fraction,
    certify_mechanism,
    exponential_mechanism_distribution,
    joint_distribution,
    noisy_counts_distribution,
    randomized_response_distribution,
)
from dpbook.privacy.loss import (
    check_mechanism,
    discrete_laplace_profile,
    hockey_stick,
    laplace_profile,
    privacy_loss,
)
from dpbook.privacy.neighbours import edge_datasets, edge_neighbours, outcome_counts, sensitivity
from dpbook.privacy.own import check_ranker
from dpbook.privacy.record import record_play
from dpbook.privacy.units import Edge, Person, WholeRanking

__all__ = [
    "Edge",
    "ExactDistribution",
    "Person",
    "Polynomial",
    "WholeRanking",
    "as_fraction",
    "audit_sampler",
    "certify_mechanism",
    "check_mechanism",
    "check_ranker",
    "clopper_pearson",
    "composed_response_delta",
    "composed_response_epsilon",
    "discrete_laplace_profile",
    "edge_datasets",
    "edge_neighbours",
    "exponential_mechanism_distribution",
    "hockey_stick",
    "joint_distribution",
    "laplace_profile",
    "noisy_counts_distribution",
    "outcome_counts",
    "person_epsilon",
    "privacy_loss",
    "randomized_response_distribution",
    "ranking_pmf",
    "record_play",
    "sensitivity",
    "sets_of",
    "top_k_pmf",
]
