"""Whatever takes a stack treats each row as if it stood alone; what takes none refuses it.

Every public function of the science with arrays for arguments joins with a line of `CASES`. The
rows differ in size and in what they say, so that nothing can be taken from a neighbour unseen, and
leave nothing to chance. There are as many as items: an axis that is mistaken for another fits.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import astuple, is_dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import dpbook.pages
from dpbook import estimators as e
from dpbook import lower_bounds as b
from dpbook import mechanisms as m
from dpbook import models as o
from dpbook import optimum
from dpbook import privacy as p
from dpbook import rankers as r
from dpbook import simulation as s
from dpbook.pages import (
    debiased_estimation,
    edge_experiments,
    flipped_neighbours,
    how_much_epsilon,
    score_attack,
)
from dpbook.pages import lower_bounds_by_reduction as reduction
from dpbook.privacy import Edge, Person, WholeRanking
from dpbook.rank import places


class Rows(tuple[Any, ...]):
    """The values of an argument, one for each row of a stack."""


def rows(*values: Any) -> Rows:
    return Rows(np.array(value) for value in values)


def drawn(function: Callable[..., Any], **fixed: Any) -> Callable[..., Any]:
    """With a new generator in every call."""
    return lambda *given: function(*given, rng=np.random.default_rng(0), **fixed)


def fitted(fit: Callable[..., Any]) -> Callable[..., Any]:
    return lambda table, linear: fit(table, gamma=0.7, linear=linear)


# Tables of wins without ties or circles, of few people and of many.
WINS = rows(
    [[0, 3, 4], [1, 0, 2], [2, 5, 0]],
    [[0, 100, 900], [1100, 0, 700], [200, 500, 0]],
    [[0, 7, 2], [5, 0, 3], [8, 6, 0]],
)
PEOPLE = (1, 90), (70, 1), (3, 3)
GROUPS = Rows(np.multiply.outer(k, table) for k, table in zip(PEOPLE, WINS, strict=True))
LEADS = Rows(table - table.T for table in WINS)
FIRST = Rows(margin > 0 for margin in LEADS)
SHARES = Rows(np.where(t - t.T, t / (t + t.T + np.eye(3)), 0.5) for t in WINS)
CROWD = Rows(2 * first + first.T for first in FIRST)  # of three people who agree by majority
AGREE = Rows(k * first + first.T for k, first in zip((1, 8, 500), FIRST, strict=True))
COUNTS = rows([2, 0, 1], [0, 2, 1], [1, 1, 1])
SCORES = rows([3.0, 1, 2], [1e3, 2e3, 500], [0.01, 0.03, 0.02])
NOISE = rows([0.3, -0.4, 0.1], [30.0, 20, -50], [-0.02, 0.01, 0.01])
WHOLE = rows([1, -4, 0], [100, -70, 20], [0, 0, 1])
UPPER = rows([0, 1], [1, 2], [3, 0])
SHIFTS = rows([1, -4, 0], [0, 0, 9], [3, 0, 3])
PLACES = rows([0, 2, 1], [1, 0, 2], [2, 1, 0])
RANKINGS = rows([[0, 2, 1]] * 3, [[1, 0, 2], [0, 1, 2], [1, 0, 2]], [[2, 1, 0]] * 3)
MANY_REACHED = [[10, 500], [600, 900], [300, 650]]
REACHED = rows([[3, 4], [1, 2], [0, 2]], MANY_REACHED, [[0, 1], [1, 4], [3, 3]])
LAWS = rows([0.5, 0.25, 0.25], [0.9, 0.1, 0.0], [0.2, 0.2, 0.6])
OTHER = rows([0.25, 0.25, 0.5], [0.1, 0.9, 0.0], [0.4, 0.2, 0.4])
LEVELS, CHANCES = rows(0.1, 1.0, 12.0), rows(0.5, 0.01, 0.9)
SIGNS = rows([1, -1, 1], [-1, -1, 1], [1, 1, 1])
MASKS = rows([True, False, True], [False, True, True], [True, True, False])
CERTAIN = Rows(first.astype(float) for first in FIRST)

ANY, ANSWER, VOUCHED = WholeRanking(3), Edge(3, exchange=False), Person(3, per_user=9, vouched=True)
SOME = WholeRanking(3, users=3)
NOISY, MLE = r.NoisyCounts(VOUCHED, 2.0), r.PerturbedMle(VOUCHED, 2.0, 1.5)
DISCRETE, TOP = r.DiscreteCounts(VOUCHED, 2.0), r.TopSet(VOUCHED, 2.0)
SHAPED, MARGINS = r.KNormCounts(VOUCHED, 2.0), r.CubePairs(SOME, 2.0)
PAIRS, KEMENY = r.NoisyPairs(ANY, 2.0), r.NoisyPairs(SOME, 2.0, "kemeny")
LOCAL, SMALL = r.PairResponses(ANY, 2.0), r.ExponentialRanking(ANY, 2.0)
DEMAND, ORDER = r.OneQuestion(ANY, 1e-2, 3, 3), r.RandomOrder(ANY, 2.0)
HOW = "classic", "debiased", "weighted"
GROUPED = [r.FlippedAnswers.private([0.5, 2.0], ANSWER, reading=how) for how in HOW]
WEIGHED = GROUPED[2]
ADDED, TRUE = r.LaplaceAnswers.private([0.5, 2.0], ANSWER), r.FlippedAnswers(ANSWER, 0.0)

LOTS = LOCAL.lots(3, rng=np.random.default_rng(0))
CAPPED, CUBE = r.CappedKwikSort(SOME, 2.0, 2), r.Hypercube(ANY, 2.0, "kemeny")
FOOTRULE, SPECTRAL = r.PrivateFootrule(ANY, 2.0), edge_experiments.OneShotSpectral(ANSWER, 2.0)

# Function, arguments, and the places of those of which a stack is refused.
Case = tuple[Callable[..., Any], tuple[Any, ...], tuple[int, ...]]


def one(function: Callable[..., Any], *arguments: Any, alone: tuple[int, ...] = ()) -> Case:
    return function, arguments, alone


def none(function: Callable[..., Any], *arguments: Any) -> Case:
    return function, arguments, tuple(range(len(arguments)))


CASES: dict[str, list[Case]] = {
    "borda_ranking": [one(e.borda_ranking, WINS)],
    "comparisons_pmf_tournament": [none(e.comparisons_pmf_tournament, FIRST)],
    "copeland_ranking": [one(e.copeland_ranking, WINS)],
    "footrule_ranking": [one(e.footrule_ranking, REACHED)],
    "kemeny_fit": [none(e.kemeny_fit, WINS)],
    "kemeny_score": [one(e.kemeny_score, PLACES, SHARES)],
    "kendall_distance": [one(e.kendall_distance, PLACES, Rows(PLACES[::-1]))],
    "kwiksort_pmf": [one(e.kwiksort_pmf, SHARES)],
    "kwiksort_rankings": [one(drawn(e.kwiksort_rankings, size=k), WINS) for k in (None, 40)],
    "local_search_ranking": [none(e.local_search_ranking, WINS, PLACES)],
    "pairwise_counts": [none(e.pairwise_counts, RANKINGS)],
    "ranks_from_scores": [one(e.ranks_from_scores, SCORES)],
    "ridge_mle": [one(fitted(e.ridge_mle), WINS, NOISE), one(partial(e.ridge_mle, gamma=0), WINS)],
    "ridge_mle_complete": [one(fitted(e.ridge_mle_complete), COUNTS, NOISE)],
    "top_k_mask": [one(e.top_k_mask, SCORES, 2)],
    "win_counts": [one(e.win_counts, WINS)],
    "debiased_response": [one(m.debiased_response, rows(0, 1, 1), LEVELS)],
    "debiased_variance": [one(m.debiased_variance, CHANCES, LEVELS)],
    "discrete_laplace_pmf": [one(m.discrete_laplace_pmf, WHOLE, 2.0)],
    "exponential_pmf": [none(m.exponential_pmf, SCORES, 1.0, 1.0)],
    "permute_and_flip_pmf": [none(m.permute_and_flip_pmf, SCORES, 1.0, 1.0)],
    "gaussian_profile": [one(m.gaussian_profile, 1.0, 2.0, LEVELS)],
    "laplace_logpdf": [one(m.laplace_logpdf, SCORES, 2.0)],
    "randomized_response": [one(drawn(m.randomized_response), MASKS, 90.0)],
    "randomized_response_pmf": [one(m.randomized_response_pmf, LEVELS)],
    "average_win_probabilities": [one(o.average_win_probabilities, SHARES)],
    "btl_probabilities": [one(o.btl_probabilities, NOISE)],
    "edge_wins": [none(drawn(o.edge_wins), SHARES)],
    "individual_wins": [none(drawn(o.individual_wins, users=5, per_user=2), SHARES)],
    "two_level_probabilities": [none(o.two_level_probabilities, 4, UPPER, 0.2)],
    "Edge.check": [one(ANSWER.check, WINS)],
    "Person.check": [one(Person(3, design="ranking", vouched=True).check, AGREE)],
    "WholeRanking.check": [one(SOME.check, CROWD)],
    "audit_sampler": [none(p.audit_sampler, PLACES, LAWS)],
    "clopper_pearson": [one(p.clopper_pearson, rows(1, 0, 7), rows(9, 90, 7))],
    "composed_response_delta": [one(p.composed_response_delta, 0.5, 4, LEVELS)],
    "discrete_laplace_profile": [one(p.discrete_laplace_profile, WHOLE, 2.0, LEVELS, alone=(0,))],
    "edge_neighbours": [none(p.edge_neighbours, SIGNS)],
    "hockey_stick": [one(p.hockey_stick, LAWS, OTHER, LEVELS, alone=(0, 1))],
    "laplace_profile": [one(p.laplace_profile, SHIFTS, 2.0, LEVELS, alone=(0,))],
    "outcome_counts": [one(p.outcome_counts, SIGNS, 3)],
    "privacy_loss": [none(p.privacy_loss, LAWS, OTHER)],
    "ranking_pmf": [none(partial(p.ranking_pmf, scale=2.0), COUNTS)],
    "top_k_pmf": [none(partial(p.top_k_pmf, scale=2.0), COUNTS, 1)],
    "AnswersOnDemand.answers": [none(drawn(r.AnswersOnDemand(ANY, 0.5, 3).answers), RANKINGS)],
    "LocalRanker.publish": [none(drawn(LOCAL.publish), RANKINGS)],
    "PairResponses.reports": [none(lambda d: LOCAL.reports(d, LOTS), RANKINGS)],
    "LocalPairs.fractions": [one(LOCAL.fractions, WINS)],
    "LocalPairs.rank": [one(drawn(ranker.rank), WINS) for ranker in (LOCAL, CUBE)],
    "_TwoParts.fractions": [one(ORDER.fractions, Rows(np.stack([t, t.T]) for t in WINS))],
    "PairOrParity.message_pmf": [none(r.PairOrParity(ANY, 2.0).message_pmf, PLACES)],
    "RandomOrder.message_pmf": [none(ORDER.message_pmf, PLACES)],
    "Hypercube.message_pmf": [none(r.Hypercube(ANY, 2.0).message_pmf, PLACES)],
    "PairResponses.message_pmf": [none(LOCAL.message_pmf, PLACES)],
    "_OnDemand.rank": [one(drawn(DEMAND.rank), PLACES)],
    "Ranker.rank": [one(drawn(MLE.rank), SCORES)],
    "CappedKwikSort.pmf": [none(CAPPED.pmf, CROWD), one(replace(CAPPED, cap=3).pmf, CROWD)],
    "CappedKwikSort.release": [one(CAPPED.release, CROWD, NOISE)],
    "CappedKwikSort.runs": [none(drawn(r.CappedKwikSort(SOME, 1e-9, 3).runs), CROWD)],
    "CappedKwikSort.sample": [none(drawn(r.CappedKwikSort(SOME, 1e-9, 3).sample), CROWD)],
    "ExponentialRanking.expected_cost": [none(SMALL.expected_cost, AGREE)],
    "ExponentialRanking.pmf": [none(SMALL.pmf, AGREE)],
    "ExponentialRanking.rank": [one(drawn(SMALL.rank), PLACES)],
    "ExponentialRanking.publish": [none(drawn(SMALL.publish), AGREE)],
    "FlippedAnswers.debias": [one(k.debias, GROUPS) for k in GROUPED],
    "FlippedAnswers.slopes": [one(k.slopes, rows(*PEOPLE)) for k in GROUPED],
    "LaplaceAnswers.debias": [one(ADDED.debias, GROUPS)],
    "_Answers.publish": [one(drawn(TRUE.publish), WINS)],
    "_Answers.rank": [one(drawn(k.rank), GROUPS) for k in GROUPED],
    "FlippedAnswers.scores": [one(k.scores, GROUPS) for k in GROUPED],
    "_Answers.scores": [one(ADDED.scores, GROUPS)],
    "_Answers.simulate": [one(drawn(TRUE.simulate), CERTAIN, np.array([2, 9, 5]))],
    "StandardNoise.publish": [none(drawn(k.publish), AGREE) for k in (NOISY, MLE, PAIRS)],
    "DiscreteCounts.publish": [none(drawn(DISCRETE.publish), AGREE)],
    "DiscreteCounts.logpdf": [one(DISCRETE.logpdf, WHOLE, COUNTS)],
    "DiscreteCounts.rank": [one(drawn(DISCRETE.rank), PLACES)],
    "KNormCounts.publish": [none(drawn(SHAPED.publish), AGREE)],
    "KNormCounts.gauge": [one(SHAPED.gauge, WHOLE)],
    "CubePairs.publish": [none(drawn(MARGINS.publish), CROWD)],
    "CubePairs.pmf": [none(MARGINS.pmf, CROWD)],
    "Ranker.sample": [none(drawn(k.sample), AGREE) for k in (NOISY, MLE, PAIRS)],
    "NoisyCounts.logpdf": [one(NOISY.logpdf, SCORES, COUNTS)],
    "NoisyCounts.perturb": [one(NOISY.perturb, COUNTS, NOISE)],
    "CountRanker.pmf": [none(k.pmf, WINS) for k in (NOISY, DISCRETE)],
    "NoisyCounts.release": [one(NOISY.release, WINS, NOISE)],
    "NoisyPairs.cost_pmf": [one(PAIRS.cost_pmf, AGREE)],
    "NoisyPairs.pmf": [one(PAIRS.pmf, AGREE), none(KEMENY.pmf, CROWD)],
    "NoisyPairs.rank": [one(drawn(PAIRS.rank), LEADS), one(drawn(KEMENY.rank), LEADS)],
    "NoisyPairs.release": [one(PAIRS.release, AGREE, NOISE)],
    "PerturbedMle.logpdf": [one(MLE.logpdf, SCORES, WINS)],
    "PerturbedMle.perturb": [one(r.PerturbedMle(ANSWER, 2.0, 1.5).perturb, COUNTS, NOISE)],
    "PerturbedMle.release": [one(MLE.release, WINS, NOISE)],
    "TopSet.publish": [none(drawn(TOP.publish), AGREE)],
    "TopSet.set_pmf": [none(TOP.set_pmf, COUNTS)],
    "PrivateFootrule.rank": [one(drawn(FOOTRULE.rank), REACHED)],
    "PrivateFootrule.release": [one(FOOTRULE.release, RANKINGS, REACHED, alone=(0,))],
    "debiased_mle": [one(partial(r.debiased_mle, gamma=g), WINS) for g in (0, 0.7)],
    "flipped_mle": [one(partial(r.flipped_mle, tol=t), WINS, 1.0) for t in (1e-6, 1e-9)],
    "edge_win_counts": [none(drawn(s.edge_win_counts, size=2), SCORES)],
    "log_relative_error": [one(s.log_relative_error, SCORES, NOISE, k) for k in ("l2", "linf")],
    "pair_order_error": [none(lambda u: s.pair_order_error(0.3, WEIGHED, users=u), rows(*PEOPLE))],
    "quantile_interval": [none(s.quantile_interval, SCORES, 0.5)],
    "ranking_errors": [one(s.ranking_errors, SCORES, PLACES, 1)],
    "top_k_error": [one(s.top_k_error, SCORES, MASKS, 2, alone=(1,))],
    "trend": [none(s.trend, rows([1, 2, 3], [1, 4, 9], [2, 3, 4]), LEADS)],
    "edge_kl": [none(b.edge_kl, SHARES, Rows(SHARES[::-1]))],
    "product_pmf": [none(b.product_pmf, LAWS)],
    "relabel": [none(optimum.relabel, PLACES)],
    "tournament_distribution": [none(optimum.tournament_distribution, SHARES)],
    "expected_wrong_pairs": [none(lambda q: s.expected_wrong_pairs(LOCAL, q, 9), SHARES)],
    "pair_errors": [one(lambda q: s.pair_errors(LOCAL, q, 9), CHANCES)],
    # below, what belongs to pages and says that it takes (..., n)
    "laplacian": [one(debiased_estimation.laplacian, SHARES)],
    "report_probability": [one(lambda g: flipped_neighbours.report_probability(g, 1), SCORES)],
    "OneShotSpectral.release": [one(SPECTRAL.release, FIRST, NOISE, alone=(0,))],
    "goals_met": [one(lambda x: np.moveaxis(how_much_epsilon.goals_met(x, 1), 0, -1), PLACES)],
    "signs_to_ranking": [one(reduction.signs_to_ranking, SIGNS, 2)],
    "ranking_to_signs": [one(reduction.ranking_to_signs, PLACES, 1)],
    "data_probabilities": [one(score_attack.data_probabilities, FIRST, NOISE[0])],
    "pair_scores": [one(score_attack.pair_scores, WINS, NOISE[0])],
    "fitted_strengths": [one(places.fitted_strengths, WINS)],
}
# Not a matter of rows: the abstract; lists of pairs; one value chosen from all settings; programs.
APART = """Ranker.pmf Ranker.publish StandardNoise.release sensitivity check_mechanism
certify_mechanism privacy_schedule response_errors best_private_rule winner simultaneous_width
equivariant_rule optimal_mechanism unreduced_risk
estimates_at strength_errors net_wins""".split()


def listed() -> Iterator[str]:
    """The public functions and methods that take an array, or data; of pages, (..., n)."""
    wings = "estimators mechanisms models privacy rankers simulation lower_bounds optimum"
    pages = [f"pages.{page.name}" for page in pkgutil.iter_modules(dpbook.pages.__path__)]
    for name in (*wings.split(), "rank.places", *pages):
        module = importlib.import_module(f"dpbook.{name}")
        own = [v for v in vars(module).values() if getattr(v, "__module__", "") == module.__name__]
        shown = getattr(module, "__all__", None)
        for public in own if shown is None else [getattr(module, k) for k in shown]:
            members = inspect.getmembers(public) if inspect.isclass(public) else [("", public)]
            for k, v in members:
                if inspect.isfunction(v) and k[:1] != "_" and takes_arrays(v, told="." in name):
                    yield v.__qualname__


def takes_arrays(function: Callable[..., Any], *, told: bool) -> bool:
    given = inspect.signature(function).parameters.values()
    names, kinds = ("data", "released", "noise", "pairs"), ("Array", "Ints")
    arrays = any(x.name in names or any(k in str(x.annotation) for k in kinds) for x in given)
    return arrays and (not told or "(..." in (function.__doc__ or ""))


def test_every_function_of_arrays_is_here() -> None:
    assert set(listed()) == {*CASES, *APART}


def leaves(value: Any) -> list[np.ndarray]:
    """The arrays of a result; of a fit the estimate, since its steps are those of the slowest."""
    if hasattr(value, "theta"):
        return [value.theta]
    if value is None:
        return []
    parts = astuple(value) if is_dataclass(value) else value
    parts = parts if isinstance(parts, tuple) else [parts]
    return [np.asarray(part, dtype=float) for part in parts]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("depth", [1, 2])
def test_a_stack_is_its_rows(name: str, depth: int) -> None:
    for function, arguments, alone in CASES[name]:
        ranks = [k for k, argument in enumerate(arguments) if isinstance(argument, Rows)]
        for chosen in product((True, False), repeat=len(ranks)):
            stacked = {k for k, here in zip(ranks, chosen, strict=True) if here}
            if not stacked:
                continue

            def given(row: int, stacked: set[int] = stacked, own: Any = arguments) -> list[Any]:
                """The arguments, of those that are stacked this row."""
                at = [row if k in stacked else 0 for k in range(len(own))]
                return [a[k] if isinstance(a, Rows) else a for k, a in zip(at, own, strict=True)]

            whole = given(0)
            for k in stacked:
                pile = np.stack(arguments[k])
                whole[k] = pile if depth == 1 else pile[:, None]
            rows_alone = [leaves(function(*given(row))) for row in range(3)]
            if stacked & set(alone):
                with pytest.raises(ValueError):
                    function(*whole)
                continue
            for part, *expected in zip(leaves(function(*whole)), *rows_alone, strict=True):
                found = part if depth == 1 else part[:, 0]
                assert np.allclose(found, expected, rtol=1e-7, atol=1e-7), (name, stacked)


@pytest.mark.parametrize("ranker", [NOISY, MLE, PAIRS])
def test_no_two_tables_of_a_stack_share_their_noise(ranker: r.Ranker) -> None:
    rng, same = np.random.default_rng(0), np.stack([AGREE[0]] * 3)
    first, second, _ = ranker.publish(same, 3, rng=rng)
    assert not np.isclose(first, second).all()
