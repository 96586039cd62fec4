"""Pages 24 and 25: the loss of DP-KwikSort as described, with proved bounds."""

from __future__ import annotations

from dpbook.privacy.balls import Ball, largest
from dpbook.privacy.balls import exp as exp_of
from dpbook.privacy.balls import log as log_of


def described_balls() -> dict[str, Ball]:
    """Loss over epsilon of DP-KwikSort as described, three items, with proved bounds.

    Leads that all move by a step: twice the step over the scale, where the leads of neighbouring
    items end at a tie or below, and the most that 1 + 2p of the outer pair can grow. Its leads from
    -20 to 20 are tried; further out it grows by less than at the tie.
    """
    scale = 2 * log_of(Ball(3))

    def outer(margin: int) -> Ball:  # 1 + 2p
        tail = exp_of(-abs(margin) / scale)
        return 1 + tail if margin < 0 else 3 - tail

    return {
        f"worst_loss_over_eps_m3_{relation}": 2 * step / scale
        + log_of(largest([outer(at + step) / outer(at) for at in range(-20, 21)]))
        for relation, step in (("replace", 2), ("add_remove", 1))
    }
