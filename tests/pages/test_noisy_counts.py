"""Page 04: the law of a difference of wins against all outcomes."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import enumerated_edge_law

from dpbook.pages.noisy_counts import win_difference_pmf

RHO = np.array([[0.5, 0.7, 0.9], [0.3, 0.5, 0.6], [0.1, 0.4, 0.5]])


@pytest.mark.parametrize("p", [1.0, 0.6])
def test_win_difference_pmf_against_enumeration(p: float) -> None:
    pmf = win_difference_pmf(RHO, 0, 2, p=p)
    expected = np.zeros(5)
    for counts, probability in enumerated_edge_law(RHO, p).items():
        expected[counts[0] - counts[2] + 2] += probability
    np.testing.assert_allclose(pmf, expected, rtol=1e-13, atol=1e-16)
