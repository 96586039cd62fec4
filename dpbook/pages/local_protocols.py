"""What page 29 needs: caps, refusals, hard data, and what is enumerated for three items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product
from math import comb, exp, expm1, log, tanh
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import logsumexp

from dpbook import _validation as check
from dpbook.book import figures
from dpbook.book.ledger.findings import Finding
from dpbook.estimators import comparisons_pmf, kendall_distance
from dpbook.mechanisms.hypercube import sign_vectors
from dpbook.privacy import ExactLaw, Polynomial, WholeRanking
from dpbook.rankers import AnswersOnDemand, Hypercube, OneQuestion, PairResponses
from dpbook.rankers.on_demand import GroupAnswers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Ranking = tuple[int, ...]

THREE = tuple(permutations(range(3)))


def fact(what: str, truth: object) -> Finding:
    """A part of a test that is so or not so, when there is no number to show."""
    part = {"what": what, "passes": bool(truth), "sign": "", "value": None, "limit": None}
    return Finding((part,))


def coth(x: float) -> float:
    """Hyperbolic cotangent."""
    return 1 / tanh(x)


def spread(channel: Array) -> float:
    """Worst loss between any two rows: one output, two inputs."""
    return float(np.log(channel.max(axis=0) / channel.min(axis=0)).max())


def ranking_signs(n: int) -> Ints:
    """The sign vectors that rankings can have, in the order of all rankings."""
    places, (i, j) = np.array(list(permutations(range(n)))), np.triu_indices(n, 1)
    return np.where(places[:, i] < places[:, j], 1, -1)


def hypercube_law(signs: Sequence[int], steps: int | Fraction = 1, ties: str = "split") -> ExactLaw:
    """The hypercube's corners for every epsilon; tied ones half in each half, or closed: in both.

    With e^(epsilon / steps) in the place of e^epsilon.
    """
    corners = list(product((-1, 1), repeat=len(signs)))
    dots = [sum(a * b for a, b in zip(z, signs, strict=True)) for z in corners]
    right, whole = Polynomial((0,) * Fraction(steps).denominator + (1,)), Polynomial((1,))
    tied = right + whole
    if ties == "split":
        right, whole = right + right, whole + whole
    weights = [right if dot > 0 else tied if dot == 0 else whole for dot in dots]
    return ExactLaw(dict(zip(corners, weights, strict=True)), Fraction(steps).numerator)


@cache
def _caps(d: int) -> tuple[Array, Array]:
    """For every cap worth trying: C(d-1, k-1) / 2^d, and its share of the corners."""
    k = np.arange((d + 1) // 2, d + 1)
    return stats.binom.pmf(k - 1, d - 1, 0.5) / 2, stats.binom.sf(k - 1, d, 0.5)


def cap_gains(d: int, level: float) -> Array:
    """Mean of z_j v_j for the caps k = (d + 1) // 2, ..., d."""
    middle, size = _caps(d)
    return np.asarray(expm1(level) * middle / (1 + expm1(level) * size))


def cap_law(signs: ArrayLike, level: float, k: int) -> Array:
    """Law of the corner if those that agree in at least k places have weight e^level, others 1."""
    v = np.asarray(signs, dtype=int)
    agree = (v.size + sign_vectors(v.size) @ v) // 2
    weight = np.where(agree >= k, exp(level), 1.0)
    return np.asarray(weight / weight.sum())


def quantile_cap(n: int) -> int:
    """Comparisons that KwikSort stays within, with probability 1 - n^-4."""
    return int((np.cumsum(comparisons_pmf(n)) < 1 - n**-4.0).sum())


def mean_cap(n: int) -> dict[str, int]:
    """Comparisons that KwikSort makes on average, and a tenth more groups."""
    cap = round(float(comparisons_pmf(n) @ np.arange(comb(n, 2) + 1)))
    return {"cap": cap, "groups": cap + cap // 10 + 1}


def one_pair(n: int, level: float) -> PairResponses:
    """One random pair from each person."""
    return PairResponses.private(level, WholeRanking(n), solver="kemeny")


def split(n: int, level: float) -> PairResponses:
    """All pairs from each person, each at an equal share of the budget."""
    pairs = comb(n, 2)
    return replace(one_pair(n, level), queries=pairs, scale=pairs / level)


def hypercube(n: int, level: float) -> Hypercube:
    """All pairs from each person in one report."""
    return Hypercube.private(level, WholeRanking(n), solver="kemeny")


def answers_on_demand(n: int, level: float) -> AnswersOnDemand:
    """Algorithm 2, mended: all of the budget for the answers."""
    return AnswersOnDemand.private(level, WholeRanking(n), cap=quantile_cap(n), fallback=False)


def on_demand(n: int, level: float) -> AnswersOnDemand:
    """Algorithm 3, mended: half of the budget for the answers, half for the fallback."""
    return AnswersOnDemand.private(level, WholeRanking(n), cap=quantile_cap(n))


def one_question(n: int, level: float) -> OneQuestion:
    """One question to each person, as many groups as KwikSort needs on average and a tenth more."""
    return OneQuestion.private(level, WholeRanking(n), **mean_cap(n))


def safe_cap(n: int) -> int:
    """Comparisons reached with probability 1 / n at most, by quicksort's moments."""
    law, s = comparisons_pmf(n), np.geomspace(0.001, 2, 60)[:, None]
    with np.errstate(divide="ignore"):
        moments = logsumexp(np.log(law) + s * np.arange(law.size), axis=1)
    return min(comb(n, 2), int(np.ceil(((moments + log(n)) / s[:, 0]).min())) - 1)


def crossing(level: float, room: bool) -> int | None:
    """Least n where an answer on demand beats one pair; room for twice the mean load, or none."""
    harmonic = 1.0
    for n in range(2, 5000):
        harmonic += 1 / n
        load = (2 * (n + 1) * harmonic - 4 * n) / n
        limit = max(1, int(2 * load)) if room else max(1, -int(-load // 1))
        if n > 2 and n * coth(level / (2 * limit)) ** 2 < comb(n, 2) * coth(level / 2) ** 2:
            return n
    return None


def hard_data(n: int, people: int, margin: float) -> Ints:
    """A share 1/2 + margin hold one ranking, the others its reverse."""
    first = np.arange(people) < round(people * (0.5 + margin))
    return np.where(first[:, None], np.arange(n), np.arange(n)[::-1])


def entry_variance(
    ranker: PairResponses | Hypercube | OneQuestion | AnswersOnDemand,
    users: int,
    fraction: float = 0.5,
) -> float:
    """Variance of the estimated share of people who place i before j, where ``fraction`` do.

    With one round of reports, ``(d^2 K / N - 1) / (4 m)`` for K of N pairs at random and a gain d.
    Those of a group are drawn too: with c = coth(epsilon / 2) and s people for each question,
    ``(c^2 - 1 + 4 w (1 - w) (m - s) / (m - 1)) / (4 s)``.
    """
    m, share = check.integer("users", users, 1), check.probability("fraction", fraction)
    if isinstance(ranker, AnswersOnDemand):
        return _on_demand_variance(ranker, m, share)
    if isinstance(ranker, OneQuestion):
        size = ranker.size(m)
        sampled = 4 * share * (1 - share) * (m - size) / max(m - 1, 1)
        return (coth(ranker.level / 2) ** 2 - 1 + sampled) / (4 * size)
    if isinstance(ranker, PairResponses) and ranker.design != "random":
        raise ValueError(f"design = {ranker.design!r}: allowed is 'random'")
    return (ranker.gain**2 * ranker.answers / ranker.pairs - 1) / (4 * m)


def _on_demand_variance(ranker: AnswersOnDemand, m: int, share: float) -> float:
    """The noise of the reports, and a group drawn at random."""
    n, law = ranker.unit.n_items, np.array([1 - share, share])
    slots = m + (-m) % n
    mean, square = law @ ranker.means, law @ ranker.means**2
    # Places of a group are drawn without replacement, some of them empty.
    spread = m * square / slots - (m * mean / slots) ** 2
    groups = spread * slots**2 * (n - 1) / (slots - 1) / n**2
    half = 0.5 if ranker.calibration == "tight" else 1.0  # 1/2 plus half the mean report
    return float((half * n / m) ** 2 * (m * (ranker.gain**2 - square) / n + groups))


def refusal_probability(queries: int, groups: int, limit: int | None = None) -> float:
    """Exact probability that some group is asked more than ``limit`` times.

    Parameters
    ----------
    queries : int
        Number q of queries, each sent to a random group.
    groups : int
        Number of groups, that of the items n.
    limit : int, optional
        Largest number of queries that a group answers; floor(2 q / n) when left out.

    Notes
    -----
    The loads of q balls in n boxes are independent Poisson variables given their sum; the groups
    are added one at a time. All terms are positive, so that small results are exact too.
    """
    q, n = check.integer("queries", queries, 1), check.integer("groups", groups, 1)
    top = 2 * q // n if limit is None else limit
    if top >= q:
        return 0.0
    load = stats.poisson.pmf(np.arange(q + 1), q / n)
    within = np.where(np.arange(q + 1) <= top, load, 0.0)
    fine, over = np.zeros(q + 1), np.zeros(q + 1)
    fine[0] = 1.0
    for _ in range(n):
        over = np.convolve(over, load)[: q + 1] + np.convolve(fine, load - within)[: q + 1]
        fine = np.convolve(fine, within)[: q + 1]
    return float(over[q] / (over[q] + fine[q]))


def first_refused(crowd: GroupAnswers, pairs: ArrayLike, counter: str = "query") -> int | None:
    """Index of the first refused one of the ordered pairs (j, i), asked as listed; or None.

    The counter of a group goes up by one per query, as AGKM's text says, or by one for each of its
    people (``"user"``), as Algorithm 2 prints.
    """
    asked = np.asarray(pairs, dtype=int).reshape(-1, 2)
    group = crowd.groups[asked[:, 0], asked[:, 1]]
    before = np.tril(group[:, None] == group).sum(axis=1)
    over = np.flatnonzero(before * (1 if counter == "query" else crowd.group_size) > crowd.limit)
    return int(over[0]) if over.size else None


def refusal_bound(queries: int, groups: int) -> float:
    """The bound ``exp(-0.1 q / n)`` that Lemma 10 prints for q > 10 n ln n."""
    return float(np.exp(-0.1 * queries / groups))


def _runs_of_four(
    crowd: Sequence[Ranking], level: float, twice: bool
) -> Iterator[tuple[float, Ranking]]:
    """One question each, groups of one: chance of a run, and where the three items go."""
    honest = 1 / (1 + exp(-level))
    for order, pivot in product(permutations(range(4)), range(3)):
        i, j = (item for item in range(3) if item != pivot)
        third = order[0] if twice else order[2]
        asked = ((order[0], i, pivot), (order[1], j, pivot), (third, i, j))
        for said in (*product((True, False), repeat=3), (True, False), (False, True)):
            if len(said) == 3 and said[0] != said[1]:
                continue  # two answers have placed the pair i, j as well
            chance = 1 / 72
            for (person, a, b), yes in zip(asked, said, strict=False):
                right = yes == (crowd[person][a] < crowd[person][b])
                chance *= honest if right else 1 - honest
            ranked = [i, j] if said[2 * len(said) - 4] else [j, i]
            ranked.insert(2 * said[0] if len(said) == 3 else 1, pivot)
            yield chance, (ranked.index(0), ranked.index(1), ranked.index(2))


def transcript_loss(level: float, twice: bool) -> float:
    """Worst loss of a run if one of four different rankings becomes any other."""
    crowd = [THREE[k] for k in (0, 3, 5, 1)]
    others = [[*crowd[:u], x, *crowd[u + 1 :]] for u in range(4) for x in THREE]
    laws = [[chance for chance, _ in _runs_of_four(c, level, twice)] for c in (crowd, *others)]
    return float(np.abs(np.log(np.array(laws[1:]) / laws[0])).max())


def score_and_bound(crowd: Sequence[Ranking], level: float) -> tuple[float, float, float]:
    """Expected score of one question each; sum of minima; sum of E max_t E(eta | R_t)."""
    places, gap, minima, regret = np.array(crowd), tanh(level / 2), 0.0, 0.0
    cost = {x: kendall_distance(places, np.array(x)).sum() / 4 for x in THREE}
    score = sum(chance * cost[went] for chance, went in _runs_of_four(crowd, level, False))
    orders = np.array(list(permutations(range(4))))
    for i, j in combinations(range(3), 2):
        yes = places[:, i] < places[:, j]
        left = yes[orders].cumsum(axis=1) / [1, 2, 3, 4]  # shares among the last 1, 2, 3, 4 people
        wrong = np.abs((yes.mean() > 0.5) - (1 + gap * (2 * left - 1)) / 2)
        minima += min(yes.mean(), 1 - yes.mean())
        regret += abs(yes.mean() - 0.5) * wrong.max(axis=1).mean()
    return float(score), minima, regret


def drawn_variance(groups: int, level: float, yes: int = 4, people: int = 6) -> float:
    """Variance of a group's answer, by drawing every group, report by report."""
    size, honest, moments = people // groups, 1 / (1 + exp(-level)), np.zeros(2)
    for group in combinations(np.arange(people) < yes, size):
        for said in product((True, False), repeat=size):
            value = 0.5 + coth(level / 2) * (np.mean(said) - 0.5)
            chance = np.where(np.equal(said, group), honest, 1 - honest).prod()
            moments += chance * np.array([value, value**2]) / comb(people, size)
    return float(moments[1] - moments[0] ** 2)


def exact_excess(table: Ints, people: Sequence[int], level: float) -> float:
    """Expected excess score of the best row, if everybody reports one sign of their row at random.

    The sum of all reports is a point of a lattice, and its law a few convolutions. Ties go to the
    worst row. ``people`` are indices of rows of signs.
    """
    m, d, honest = len(people), table.shape[1], 1 / (1 + exp(-level))
    law = np.zeros((2 * m + 1,) * d)
    law[(m,) * d] = 1.0
    for signs in table[people]:
        steps = [(p, s, honest if s == signs[p] else 1 - honest) for p in range(d) for s in (-1, 1)]
        law = sum(chance / d * np.roll(law, s, axis=p) for p, s, chance in steps)
    reports = np.moveaxis(np.indices(law.shape, dtype=np.int8) - m, 0, -1)
    fit = reports @ table.T  # the larger, the smaller the score
    excess = -0.5 * table @ table[people].mean(axis=0)
    chosen = np.where(fit == fit.max(axis=-1, keepdims=True), excess - excess.min(), 0.0)
    return float((law * chosen.max(axis=-1)).sum())


def footrule_response(data: Ints, level: float, rng: np.random.Generator) -> Array:
    """Reports of one random threshold from each person, summed: shape (n, n - 1)."""
    people, n = data.shape
    item, place = rng.integers(n, size=people), rng.integers(n - 1, size=people)
    yes = data[np.arange(people), item] <= place
    signs = np.where(yes ^ (rng.random(people) < 1 / (1 + exp(level))), 1, -1)
    entry = (item * (n - 1) + place).astype(np.intp)
    reached = np.bincount(entry, signs, minlength=n * (n - 1))
    return reached.reshape(n, n - 1).astype(float)


def draw_cube(ax: Axes, signs: Sequence[int]) -> None:
    """The corners of a cube; filled are those in the half of the person's own corner."""
    shift = np.array([[2.1, 0.0], [0.95, 0.75], [0.0, 1.9]])  # where the three axes go on paper
    corners = sign_vectors(3)
    at = {tuple(z.tolist()): (0.9, 0.45) + (z + 1) / 2 @ shift for z in corners}
    for z, w in combinations(at, 2):
        if sum(a != b for a, b in zip(z, w, strict=True)) == 1:
            ax.plot(*zip(at[z], at[w], strict=True), "-", color="#999999", zorder=1)
    blue, red = figures.ROLES["right"], figures.ROLES["printed"]
    for z, (x, y) in at.items():
        likely = np.dot(z, signs) > 0
        own = z == tuple(signs)
        ax.plot(x, y, "o" if likely else "s", ms=16 if own else 11, color=blue if likely else red)
        if not likely:
            ax.plot(x, y, "s", ms=7, color="white")
        name = "".join("+" if sign > 0 else "−" for sign in z)
        blank = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"}
        ax.text(x + 0.22, y + 0.2, f"{name}, the own" if own else name, bbox=blank, va="center")
    ax.plot(4.75, 1.7, "o", ms=11, color=blue)
    ax.text(4.95, 1.7, "own half: together\ne^ε / (1 + e^ε)", va="center")
    ax.plot(4.75, 0.8, "s", ms=11, color=red)
    ax.plot(4.75, 0.8, "s", ms=7, color="white")
    ax.text(4.95, 0.8, "other half: together\n1 / (1 + e^ε)", va="center")


def draw_protocols(ax: Axes) -> None:
    """Who is asked what, and what is sent: one line for each protocol."""
    lines = (
        ("split", "all pairs", "a sign for each,\nat ε/N"),
        ("hypercube", "all pairs", "one corner of\nthe cube, at ε"),
        ("one pair", "a random pair", "one sign, at ε"),
        ("on demand", "up to 2q/n pairs\nthat sorting needs", "a sign each time,\nat a share of ε"),
        ("one question", "what sorting\nneeds, once", "one sign, at ε"),
    )
    ends: dict[str, Any] = {"va": "center", "ha": "center"}
    ax.text(0.1, 5.75, "protocol")
    ax.text(3.25, 5.75, "asked about", ha="center")
    ax.text(5.95, 5.75, "sends", ha="center")
    for row, (name, asked, sent) in enumerate(lines):
        y = 5.1 - 1.1 * row
        ax.text(0.1, y, name, va="center", weight="bold")
        ax.text(
            3.25, y, asked, bbox={"boxstyle": "round", "fc": "#e8f1f8", "ec": "#0072B2"}, **ends
        )
        ax.text(5.95, y, sent, bbox={"boxstyle": "round", "fc": "white", "ec": "#555555"}, **ends)
        ax.annotate("", (4.95, y), (4.3, y), arrowprops={"arrowstyle": "->", "lw": 1.5})
