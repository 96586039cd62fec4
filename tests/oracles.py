"""Independent references that several test files share: enumeration in plain Python."""

from __future__ import annotations

import itertools
import math

import numpy as np


def lead_by_enumeration(right: list[float], rate: float) -> tuple[float, float]:
    """P(lead < 0), P(lead = 0): person k is asked with probability rate, and right[k] is right."""
    wrong = tie = 0.0
    for steps in itertools.product((1, -1, 0), repeat=len(right)):
        chance = 1.0
        for step, p in zip(steps, right, strict=True):
            chance *= {1: rate * p, -1: rate * (1 - p), 0: 1 - rate}[step]
        wrong += chance * (sum(steps) < 0)
        tie += chance * (sum(steps) == 0)
    return wrong, tie


def worst_loss(laws: list[np.ndarray]) -> float:
    """Largest log-ratio of one outcome's probabilities under two of the laws."""
    table = np.array(laws)
    return float(np.log(table.max(axis=0) / table.min(axis=0)).max())


def one_question_runs(
    crowd: list[tuple[int, ...]], epsilon: float, cap: int
) -> dict[tuple, tuple[float, tuple[int, ...]]]:
    """Every run of one question each on three items, groups of one: chance, and positions.

    What all people say is the key. Three groups, so that whoever comes fourth is left over; with a
    cap of 2 the third and the fourth person answer the pair that two answers have left open, and a
    coin decides a tie.
    """
    honest, runs = 1 / (1 + math.exp(-epsilon)), {}
    orders = list(itertools.permutations(range(len(crowd))))
    for order, pivot in itertools.product(orders, range(3)):
        one, two = (i for i in range(3) if i != pivot)
        last = order[2:] if cap == 2 else order[2:3]
        questions = [(order[0], one, pivot), (order[1], two, pivot)]
        questions += [(person, one, two) for person in last]
        for bits in itertools.product((True, False), repeat=len(questions)):
            asked = questions if bits[0] == bits[1] else questions[:2]
            if len(asked) == 2 and any(bits[2:]):
                continue  # nobody was asked for these
            says = [
                honest if bit == (crowd[k][i] < crowd[k][j]) else 1 - honest
                for (k, i, j), bit in zip(asked, bits, strict=False)
            ]
            votes = sum(2 * bit - 1 for bit in bits[2:])
            for coin in (1, -1) if len(asked) > 2 and votes == 0 else (0,):
                ahead = [] if len(asked) == 2 else [one, two] if votes + coin > 0 else [two, one]
                left = [i for i, bit in zip((one, two), bits, strict=False) if bit]
                right = [i for i in (one, two) if i not in left]
                ranked = (ahead or left) if left else []
                ranked = [*ranked, pivot, *((ahead or right) if right else [])]
                chance = math.prod(says) / len(orders) / 3 * (0.5 if coin else 1)
                key = (order, pivot, bits[: len(asked)], coin)
                runs[key] = (chance, tuple(np.argsort(ranked).tolist()))
    return runs
