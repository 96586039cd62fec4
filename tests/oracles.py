"""Reference implementations that share no code with the package."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
from scipy import stats
from scipy.optimize import minimize
from scipy.special import expit


def chi_square(counts: np.ndarray, law: np.ndarray) -> float:
    """P-value of Pearson's test, outcomes of small expectation pooled into one."""
    expected = law * counts.sum()
    small = expected < 10
    counts, expected = (
        np.append(counts[~small], counts[small].sum()),
        np.append(expected[~small], expected[small].sum()),
    )
    keep = expected > 0
    statistic = ((counts - expected)[keep] ** 2 / expected[keep]).sum()
    return float(stats.chi2.sf(statistic, np.count_nonzero(keep) - 1))


def scipy_minimiser(outcomes: np.ndarray, gamma: float) -> np.ndarray:
    """The objective as printed, over ordered pairs i < j, by a general-purpose optimiser."""
    i, j = np.triu_indices(len(outcomes), 1)
    totals = (outcomes + outcomes.T)[i, j]

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        x = theta[i] - theta[j]
        pull = totals * expit(x) - outcomes[i, j]
        gradient = np.zeros(len(outcomes))
        np.add.at(gradient, i, pull)
        np.subtract.at(gradient, j, pull)
        value = totals @ np.logaddexp(0, x) - outcomes[i, j] @ x + gamma / 2 * theta @ theta
        return float(value), gradient + gamma * theta

    start = np.zeros(len(outcomes))
    options = {"gtol": 1e-10, "ftol": 1e-16, "maxiter": 5000, "maxcor": 40}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    return found.x - found.x.mean()


def brute_order_error(gap: float, epsilons: list[float], power: int) -> float:
    """All 2^L vectors of reports; a report counts with tanh(epsilon / 2) to the power."""
    t = [math.tanh(e / 2) for e in epsilons]
    p = [0.5 + x * (1 / (1 + math.exp(-gap)) - 0.5) for x in t]
    error = 0.0
    for reports in product((0, 1), repeat=len(t)):
        chance = math.prod(q if z else 1 - q for q, z in zip(p, reports, strict=True))
        score = math.fsum((2 * z - 1) * x**power for x, z in zip(t, reports, strict=True))
        error += chance * (0.5 if abs(score) < 1e-12 else float(score < 0))
    return error
