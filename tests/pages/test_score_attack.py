"""Lower bounds of page 14 against closed forms and numbers by hand."""

import numpy as np
import pytest

from dpbook.pages.score_attack import l2_risk_bound, sup_norm_risk_bound


def test_bounds_have_their_closed_forms_and_order():
    assert sup_norm_risk_bound(50, epsilon=0.8) == pytest.approx(1 / (1 + 50 * np.tanh(0.2)))
    assert l2_risk_bound(50, epsilon=0.8) == pytest.approx(
        49 / (np.sqrt(10) + 50 * np.tanh(0.2) / np.sqrt(2)) ** 2
    )
    for bound in (sup_norm_risk_bound, l2_risk_bound):
        for p in (0.5, 1.0):
            sharp, printed = (
                bound(200, epsilon=0.1, p=p, delta=1e-4, chain=c) for c in ("sharp", "printed")
            )
            assert sharp > printed > 0
        assert bound(200, epsilon=0.1, p=0.4) > bound(200, epsilon=0.1, p=0.8)
        assert bound(200, epsilon=0.1, delta=1e-3) < bound(200, epsilon=0.1)
        assert bound(200, epsilon=0.1, delta=1.0) == 0


def test_sharp_bounds_with_missing_pairs_by_hand():
    # tanh(epsilon / 4) = 0.1. Three items, p = 1/2: the degree d is Bin(2, 1/2), and E(d - t)^+
    # is 1, 1/4, 0 for t = 0, 1, 2. The best t is 1: (1 - 1.5 * 2 * 0.1 / 4) / (1 + 1.5 * 0.1).
    epsilon = 4 * np.arctanh(0.1)
    sup = sup_norm_risk_bound(3, epsilon=epsilon, p=0.5)
    assert sup == pytest.approx(0.925 / 1.15, rel=1e-12)
    # delta = 0.1 takes 1.5 * 2 * 0.5 * 0.1 / 2 = 0.075 from the room.
    sup = sup_norm_risk_bound(3, epsilon=epsilon, p=0.5, delta=0.1)
    assert sup == pytest.approx(0.85 / 1.15, rel=1e-12)
    # n = 11, p = 1/2: the mean square degree is 25 + 2.5, so Q^2 = 11 * 27.5 = 302.5; without
    # privacy's share sqrt(10 * 10) = 10. At delta = 0.02: 10 - 0.5 * 11 * 10 * 0.01 = 9.45.
    l2 = l2_risk_bound(11, epsilon=epsilon, p=0.5)
    assert l2 == pytest.approx((10 / (10 + 0.1 * 302.5**0.5)) ** 2, rel=1e-12)
    l2 = l2_risk_bound(11, epsilon=epsilon, p=0.5, delta=0.02)
    assert l2 == pytest.approx((9.45 / (10 + 0.1 * 302.5**0.5)) ** 2, rel=1e-12)
