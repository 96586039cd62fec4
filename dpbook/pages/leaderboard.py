"""Page 36: leaderboards drawn from a fitted model, votes that overturn them, propose-test-release.

Sources: Dwork and Lei (2009); Huang, Shen, Wei and Broderick (arXiv 2508.11847, abstract); the
least release of Desfontaines, Voss, Gipson and Mandayam (2022) for names of partitions.
"""

from __future__ import annotations

from itertools import product
from math import ceil, exp, expm1, log, log1p

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from dpbook.data.types import PairTable
from dpbook.estimators import ridge_mle

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

# ------------------------------------------------------------------ leaderboards


def drawn(theta: Array, votes: int, size: int, *, rng: np.random.Generator) -> Ints:
    """Win tables, (size, n, n): each vote on a pair drawn at random, Bradley-Terry outcomes."""
    n = len(theta)
    law = expit(theta[:, None] - theta)
    np.fill_diagonal(law, 0)
    flat = rng.multinomial(votes, (law / law.sum()).ravel(), size=size)
    return flat.reshape(size, n, n)


def kept(votes: PairTable, used: int, size: int, *, rng: np.random.Generator) -> Array:
    """Tables of wins, (size, n, n), of so many votes drawn from all; ties are half wins."""
    kinds = np.stack([votes.counts, np.triu(votes.ties)])
    drawn = rng.multivariate_hypergeometric(kinds.ravel(), used, size, method="count")
    decided, level = np.moveaxis(drawn.reshape(size, *kinds.shape), 1, 0)
    return decided + (level + level.swapaxes(1, 2)) / 2


def misordered(found: Array, theta: Array) -> Array:
    """Share of the pairs that scores (..., n) put in another order than the strengths."""
    i, j = np.triu_indices(len(theta), 1)
    wrong = (found[..., i] - found[..., j]) * (theta[i] - theta[j]) <= 0
    return np.asarray(wrong.mean(axis=-1))


def rank_limits(low: Array, high: Array) -> tuple[Ints, Ints]:
    """Best and worst place of each item, from 1, where all scores lie between two limits."""
    best = 1 + (low[None, :] > high[:, None]).sum(axis=1)
    worst = len(low) - (high[None, :] < low[:, None]).sum(axis=1)
    return best, worst


def simultaneous(scale: float, n: int, alpha: float) -> float:
    """What n Laplace variables all stay below, in absolute value, but for a chance of alpha."""
    return -scale * log(-np.expm1(log1p(-alpha) / n))


def sampling_margin(met: Array, alpha: float) -> Array:
    """What no win count of so many votes is off its mean, by Hoeffding, but for alpha."""
    return np.asarray(np.sqrt(met / 2 * log(2 * len(met) / alpha)))


# ------------------------------------------------------------------ votes that overturn


def rate_flips(wins: Array, decided: Ints) -> int:
    """Fewest votes turned round until another item's win rate is as high as the best.

    Each turned vote adds to a lead its own amount, whatever else is turned: the largest are taken.
    A tie, half a win, adds at most half as much as the best of those decided; it is not needed.
    """
    met = (wins + wins.T).sum(axis=1)
    rate = wins.sum(axis=1) / met
    first, least = int(rate.argmax()), int(wins.sum())
    for other in set(range(len(wins))) - {first}:
        gain = np.zeros(wins.shape)
        gain[first] += 1 / met[first]
        gain[:, first] -= 1 / met[first]
        gain[:, other] += 1 / met[other]
        gain[other] -= 1 / met[other]
        turned = np.repeat(gain.ravel(), decided.ravel().astype(np.intp))
        turned = np.cumsum(np.sort(turned[turned > 0])[::-1])
        lead = rate[first] - rate[other]
        least = min(least, int(np.searchsorted(turned, lead * (1 - 1e-12))) + 1)
    return least


def inverse_information(theta: Array, met: Array, gamma: float) -> Array:
    """Inverse Hessian of the ridge likelihood; `met` are the votes on each pair."""
    weight = met * expit(theta[:, None] - theta) * expit(theta - theta[:, None])
    hessian = np.diag(weight.sum(axis=1) + gamma) - weight
    return np.asarray(np.linalg.inv(hessian))


def resistances(theta: Array, met: Array, gamma: float) -> Array:
    """Effective resistance of each pair: variance of the difference of two strengths."""
    inverse = inverse_information(theta, met, gamma)
    own = np.diag(inverse)
    return np.asarray(own[:, None] + own - 2 * inverse)


def least_flips(wins: Array, gamma: float) -> int:
    """Proved: so many votes have to be turned round at least until another model is first."""
    met, theta = wins + wins.T, ridge_mle(wins, gamma=gamma).theta
    apart, first = resistances(theta, met, gamma), int(theta.argmax())
    worst = apart[met > 0].max()
    others = np.arange(len(theta)) != first
    lead, own = (theta[first] - theta)[others], apart[first, others]
    return ceil(float((-np.expm1(-lead * np.sqrt(worst / own))).min() / worst) * (1 - 1e-9))


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


def new_lead(wins: Array, changed: Array, gamma: float) -> float:
    """Lead of the new first over the old one in the changed table, less the solver's error."""
    first = int(ridge_mle(wins, gamma=gamma).theta.argmax())
    fit = ridge_mle(changed, gamma=gamma)
    # No strength is further than sqrt(n) residual / gamma from the minimiser.
    off = 2 * np.sqrt(len(wins)) * float(fit.residual) / gamma
    return float(fit.theta.max() - fit.theta[first] - off)


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
        kept: list[Ints] = []
        while len(kept) < size:
            wins = np.triu(rng.integers(votes // 2, votes + 1, (n, n)), 1)
            wins += np.tril(votes - wins.T, -1)
            theta = np.sort(ridge_mle(wins, gamma=1).theta)
            if theta[-1] - theta[-2] > 0.05:
                kept.append(wins)
        boards += kept
    return boards


# ------------------------------------------------------------------ propose, test, release


def threshold(epsilon: float, delta: float) -> float:
    """Noisy distance that the test asks for."""
    return 1 + log(1 / (2 * delta)) / epsilon


def laplace_tail(x: ArrayLike, scale: float) -> Array:
    """P(W > x), exact also far out."""
    y = np.asarray(x, dtype=float) / scale
    return np.where(y > 0, 0.5 * np.exp(-np.abs(y)), 1 - 0.5 * np.exp(-np.abs(y)))


def most_release(steps: int, epsilon: float, delta: float) -> Array:
    """Chances of a name and of silence, (2, steps), at the distances 0, 1, 2, ...

    No private mechanism that never names a wrong winner names the right one more often.
    """
    named, silent = [0.0], [1.0]
    for _ in range(steps - 1):
        first, second = exp(epsilon) * named[-1] + delta, exp(-epsilon) * (silent[-1] - delta)
        # Of the two, each is kept to its own relative accuracy.
        named.append(min(first, 1 - second, 1.0))
        silent.append(max(1 - first, second, 0.0))
    return np.array([named, silent])


def first_release(distance: ArrayLike, epsilon: float, delta: float) -> Array:
    """The first of the two limits of `most_release`, in closed form."""
    steps = np.asarray(distance, dtype=float)
    return np.asarray(delta * np.expm1(epsilon * steps) / expm1(epsilon))


def tested(steps: int, scale: float, ask: float) -> Array:
    """The same for a noisy distance that must be more than is asked for."""
    distances = np.arange(steps)
    named = laplace_tail(ask - distances, scale)
    silent = laplace_tail(distances - ask, scale)
    return np.where(distances > 0, [named, silent], [[0.0], [1.0]])


def pts_loss(release: Array, epsilon: float) -> float:
    """Least delta at epsilon, from the chances of a name and of silence, (2, distances 0, 1, ...).

    Neighbours name one winner and their distances differ by at most 1; or they name two, and both
    distances are at most 1. Outputs: the winner of one side, that of the other, silence.
    """
    factor, worst = exp(epsilon), 0.0
    for before, after in ((release[:, :-1], release[:, 1:]), (release[:, 1:], release[:, :-1])):
        worst = max(worst, float(np.maximum(before - factor * after, 0).sum(axis=0).max()))
    for (p, silent), (_, other) in product(release[:, :2].T, repeat=2):
        worst = max(worst, float(p + max(silent - factor * other, 0)))
    return worst
