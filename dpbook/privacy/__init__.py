"""Neighbours, sensitivities, exact output laws, privacy losses and audits.

Mechanisms enter this package only as functions or as finite laws handed to it.
"""

from dpbook.privacy.audit import SamplerAudit, audit_sampler, clopper_pearson
from dpbook.privacy.laws import law_error_bound, ranking_law, rankings_of, sets_of, top_k_law
from dpbook.privacy.loss import (
    MechanismReport,
    check_mechanism,
    discrete_laplace_profile,
    hockey_stick,
    laplace_profile,
    privacy_loss,
)
from dpbook.privacy.neighbours import (
    bundle_contributions,
    count_neighbours_edge,
    count_neighbours_individual,
    edge_datasets,
    edge_neighbours,
    outcome_counts,
)
from dpbook.privacy.sensitivity import Sensitivity, count_sensitivity, sensitivity

__all__ = [
    "MechanismReport",
    "SamplerAudit",
    "Sensitivity",
    "audit_sampler",
    "bundle_contributions",
    "check_mechanism",
    "clopper_pearson",
    "count_neighbours_edge",
    "count_neighbours_individual",
    "count_sensitivity",
    "discrete_laplace_profile",
    "edge_datasets",
    "edge_neighbours",
    "hockey_stick",
    "laplace_profile",
    "law_error_bound",
    "outcome_counts",
    "privacy_loss",
    "ranking_law",
    "rankings_of",
    "sensitivity",
    "sets_of",
    "top_k_law",
]
