"""Page 36: leaderboards drawn from a fitted model, and searches for votes that overturn them.

Sources: Huang, Shen, Wei and Broderick (arXiv 2508.11847, abstract).
"""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import expit

from dpbook._typing import Array, Ints
from dpbook.estimators import ridge_mle


def inverse_information(theta: Array, met: Array, gamma: float) -> Array:
    """Inverse Hessian of the ridge likelihood; `met` are the votes on each pair."""
    weight = met * expit(theta[:, None] - theta) * expit(theta - theta[:, None])
    hessian = np.diag(weight.sum(axis=1) + gamma) - weight
    return np.asarray(np.linalg.inv(hessian))


def overturn(
    wins: Array, decided: Ints, gamma: float, most: int, *, drop: bool, rivals: int = 3
) -> tuple[int, Array]:
    """Votes turned, or left out, one by one, the most influential first, until another model leads.

    Those `decided` may be changed, once each; the table of wins has half a win for a tie as well.

    Returns how many, and the changed table; ``most + 1`` and the table as it was if that is not
    enough. The strongest `rivals` are tried in turn, and the fewest votes taken; one is given up
    at once if the first order says that twice as many votes would not do.
    """
    theta = ridge_mle(wins, gamma=gamma).theta
    first, *others = np.argsort(-theta)[: rivals + 1].tolist()
    best, changed = most + 1, wins
    for other in others:
        table, left, now = wins.astype(float), decided.copy(), theta
        for k in range(1, best):
            inverse = inverse_information(now, table + table.T, gamma)
            pull = inverse[other] - inverse[first]
            # To first order; a win that is left out counts by what was not expected of it.
            gain = np.where(left > 0, pull - pull[:, None], -np.inf)
            gain = gain * expit(now - now[:, None]) if drop else gain
            if k == 1 and 2 * most * gain.max() < theta[first] - theta[other]:
                break
            a, b = np.unravel_index(int(gain.argmax()), gain.shape)
            left[a, b] -= 1
            table[a, b] -= 1
            table[b, a] += not drop
            now = ridge_mle(table, gamma=gamma).theta
            if now[first] < now.max():
                best, changed = k, table
                break
    return best, changed


def exact_flips(wins: Ints, gamma: float) -> int:
    """Fewest votes turned round until the first is not alone, by all tables with the same pairs."""
    n = len(wins)
    i, j = np.triu_indices(n, 1)
    met, before = (wins + wins.T)[i, j], wins[i, j]
    after = np.array(list(product(*[range(t + 1) for t in met])))
    tables = np.zeros((len(after), n, n))
    tables[:, i, j], tables[:, j, i] = after, met - after
    theta = ridge_mle(tables, gamma=gamma).theta
    first = int(ridge_mle(wins, gamma=gamma).theta.argmax())
    # Equal strengths come out equal up to the solver's tolerance.
    lost = theta[:, first] < np.delete(theta, first, axis=1).max(axis=1) + 1e-6
    return int(np.abs(after - before).sum(axis=1)[lost].min())


def small_boards(size: int, *, rng: np.random.Generator) -> list[Ints]:
    """So many tables of two items, and of three, the first of which leads."""
    boards: list[Ints] = []
    for n, votes in ((2, 30), (3, 7)):
        enough = len(boards) + size
        while len(boards) < enough:
            wins = np.triu(rng.integers(votes // 2, votes + 1, (n, n)), 1)
            wins += np.tril(votes - wins.T, -1)
            theta = np.sort(ridge_mle(wins, gamma=1).theta)
            if theta[-1] - theta[-2] > 0.05:
                boards.append(wins)
    return boards
