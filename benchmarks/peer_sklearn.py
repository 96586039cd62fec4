"""scikit-learn: logistic regression on differences of items, Newton-CG, sparse design matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from benchmarks.cases import ACCURACY, Array, Case, Data


def prepare(case: Case, data: Data) -> tuple[Callable[[], Array], int]:
    """Return a fit from a ready design matrix."""
    count = data.first.size
    design = sparse.csr_matrix(
        (
            np.tile([1.0, -1.0], count),
            np.stack([data.first, data.second], axis=1).ravel().astype(np.int32),
            np.arange(0, 2 * count + 1, 2, dtype=np.int32),
        ),
        shape=(count, data.n_items),
    )
    model = LogisticRegression(
        C=1 / case.gamma if case.gamma > 0 else np.inf,
        fit_intercept=False,
        solver="newton-cg",
        # Its gradient is divided by the number of comparisons.
        tol=0.9 * ACCURACY / count,
        max_iter=1000,
    )
    return lambda: model.fit(design, data.won[0]).coef_, 1
