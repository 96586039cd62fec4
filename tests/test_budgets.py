"""What the composite rankers hand down to their mechanisms adds up to what they promise.

A spy takes the place of every mechanism and notes the budget, or the scale, that it was given; the
largest moves of what is released are found by enumeration, not by the package's own sensitivities.
Epsilon is at most 1 throughout: where e^epsilon is large, coth(epsilon / 2) is 1 and a budget that
is spent twice leaves no trace in the output.
"""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Callable
from itertools import combinations, permutations, product
from types import SimpleNamespace

import numpy as np
import pytest

from dpbook import rankers
from dpbook.estimators import footrule_ranking, pairwise_counts, ridge_mle
from dpbook.mechanisms import discrete_laplace_noise, laplace_noise, randomized_response_pmf
from dpbook.mechanisms.gaussian import gaussian_noise, gaussian_profile
from dpbook.mechanisms.selection import exponential_pmf, permute_and_flip_pmf
from dpbook.models import mallows_rankings
from dpbook.privacy import Edge, Person
from dpbook.rankers import adaptive_report_pmf, hypercube_response, ldp_pair_counts, report_pmf
from dpbook.rankers.central_rankings._subset_sums import subset_sums
from dpbook.rankers.local_rankings.adaptive_answers import AdaptiveAnswers

USERS, ITEMS, PAIRS = 40, 4, 6
EPSILONS = [0.3, 1.0]
POSITIONS = mallows_rankings(USERS, ITEMS, phi=0.5, rng=np.random.default_rng(1))
COUNTS = pairwise_counts(POSITIONS)
FRACTIONS = COUNTS / USERS

Calls = list[SimpleNamespace]
Watch = Callable[[Callable], Calls]


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Let a function note its arguments and its result, under every name the package has for it."""

    def install(function: Callable) -> Calls:
        calls: Calls = []
        signature = inspect.signature(function)

        def spied(*args: object, **kwargs: object) -> object:
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            result = function(*args, **kwargs)
            calls.append(SimpleNamespace(**given.arguments, result=result))
            return result

        modules = [m for name, m in sys.modules.items() if name.partition(".")[0] == "dpbook"]
        bound = [(m, name) for m in modules for name, value in vars(m).items() if value is function]
        assert bound
        for module, name in bound:
            monkeypatch.setattr(module, name, spied)
        return calls

    return install


def rng() -> np.random.Generator:
    return np.random.default_rng(2)


# ------------------------------------------------------------------ every user on their own

LOCAL: dict[str, Callable[..., object]] = {
    "ldp_pair_counts": lambda t, **a: rankers.ldp_pair_counts(t, **a),
    "ldp_pair_counts, balanced": lambda t, **a: rankers.ldp_pair_counts(
        t, queries=3, design="balanced", **a
    ),
    "ldp_pair_counts, laplace": lambda t, **a: rankers.ldp_pair_counts(
        t, queries=2, mechanism="laplace", **a
    ),
    "ldp_kwiksort": lambda t, **a: rankers.ldp_kwiksort(t, queries=3, **a),
    "ldp_kwiksort, best K": lambda t, **a: rankers.ldp_kwiksort(t, queries=None, **a),
    "one_pair_response": lambda t, **a: rankers.one_pair_response(t, **a),
    "pairs_response": lambda t, **a: rankers.pairs_response(t, queries=4, **a),
    "pairs_response, best K": lambda t, **a: rankers.pairs_response(t, queries=None, **a),
    **{
        f"local_fractions, {p}": lambda t, p=p, **a: rankers.local_fractions(t, p, queries=2, **a)
        for p in ("one_pair", "pairs", "hypercube", "split")
    },
    "adaptive_answers": lambda t, **a: rankers.adaptive_answers(t, cap=5, **a),
    "ldp_adaptive_kwiksort": lambda t, **a: rankers.ldp_adaptive_kwiksort(t, cap=2, **a),
}


class LocalLedger:
    """What one user spends: the sum over all messages that the user sends."""

    def __init__(self, watch: Watch) -> None:
        self.vectors = watch(hypercube_response)
        self.reports = watch(report_pmf)
        self.tables = watch(ldp_pair_counts)
        self.on_demand = watch(adaptive_report_pmf)
        self.answers = watch(rankers.adaptive_answers)

    def parts(self) -> list[float]:
        # Every user sends one sign vector, in one of the calls.
        vectors = [len(c.values) / USERS * c.epsilon for c in self.vectors]
        assert not vectors or sum(len(c.values) for c in self.vectors) == USERS
        tables = [
            c.result.sum() / USERS * r.epsilon
            for c, r in zip(self.tables, self.reports, strict=True)
        ]
        demand = [
            c.result.limit * r.report_epsilon
            for c, r in zip(self.answers, self.on_demand, strict=True)
        ]
        return [x for x in (sum(vectors), sum(tables), sum(demand)) if x]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", LOCAL)
def test_what_a_user_sends_spends_epsilon_in_all(watch: Watch, name: str, epsilon: float) -> None:
    ledger = LocalLedger(watch)
    found = LOCAL[name](POSITIONS, epsilon=epsilon, rng=rng())
    assert sum(ledger.parts()) == pytest.approx(epsilon, rel=1e-12)
    if name == "ldp_adaptive_kwiksort":
        assert found.refused  # so that the fallback has run
        assert ledger.parts() == pytest.approx([epsilon / 2, epsilon / 2], rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_without_a_refusal_half_of_epsilon_is_left(watch: Watch, epsilon: float) -> None:
    ledger = LocalLedger(watch)
    found = rankers.ldp_adaptive_kwiksort(POSITIONS, epsilon=epsilon, cap=12, rng=rng())
    assert not found.refused
    assert ledger.parts() == pytest.approx([epsilon / 2], rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_printed_budgets_of_answers_on_demand(watch: Watch, epsilon: float) -> None:
    ledger = LocalLedger(watch)
    found = rankers.ldp_adaptive_kwiksort(
        POSITIONS, epsilon=epsilon, cap=2, calibration="printed", rng=rng()
    )
    assert found.refused
    # m = 4 items, q = 2 queries: a report is set to 0.5 epsilon 4 / 2 = epsilon.
    assert [c.report_epsilon for c in ledger.on_demand] == pytest.approx([epsilon])
    assert {c.calibration for c in ledger.on_demand} == {"printed"}
    assert [(c.epsilon, c.ties) for c in ledger.vectors] == [(epsilon / 2, "closed")]


def test_no_group_shows_more_answers_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget is that of `limit` answers; only what KwikSort looks at is released."""
    module = sys.modules["dpbook.rankers.local_rankings.adaptive_answers"]
    original = module.adaptive_answers
    shown: list[tuple[AdaptiveAnswers, list[tuple[int, int]]]] = []

    class Guarded:
        def __init__(self, values: np.ndarray, seen: list[tuple[int, int]]) -> None:
            self.values, self.seen = values, seen

        def __getitem__(self, index: tuple) -> np.ndarray:
            rows, columns = np.broadcast_arrays(*index)
            self.seen.extend(zip(rows.tolist(), columns.tolist(), strict=True))
            return self.values[index]

    def guarded(*args: object, **kwargs: object) -> AdaptiveAnswers:
        answers, seen = original(*args, **kwargs), []
        shown.append((answers, seen))
        return AdaptiveAnswers(
            Guarded(answers.values, seen),  # type: ignore[arg-type]
            answers.groups,
            answers.limit,
            answers.group_size,
        )

    monkeypatch.setattr(module, "adaptive_answers", guarded)
    source, refused, full = rng(), 0, 0
    table = mallows_rankings(30, 6, phi=0.5, rng=source)
    for _ in range(60):
        run = rankers.ldp_adaptive_kwiksort(
            table, epsilon=1.0, cap=6, fallback=lambda f: np.arange(6), rng=source
        )
        answers, seen = shown[-1]
        assert len(set(seen)) == len(seen) <= run.asked
        loads = np.bincount([answers.groups[pair] for pair in seen], minlength=6)
        assert answers.limit == 2 and loads.max(initial=0) <= 2
        refused += run.refused
        full += loads.max(initial=0) == 2
    assert refused and full and refused < 60


@pytest.mark.parametrize("cap", [0, 5, 30])
def test_one_question_each_reads_every_user_once(
    watch: Watch, monkeypatch: pytest.MonkeyPatch, cap: int
) -> None:
    """Both sides of a comparison are read, for the users who answer it, and no user twice."""
    module = sys.modules["dpbook.rankers.local_rankings.adaptive_answers"]
    reports, read = watch(report_pmf), np.zeros(USERS, dtype=int)

    class Guarded:
        shape = POSITIONS.shape

        def __getitem__(self, index: tuple) -> np.ndarray:
            np.add.at(read, index[0], 1)
            return POSITIONS[index]

    monkeypatch.setattr(module, "ranking_positions", lambda positions: Guarded())
    for seed in range(20):
        run = rankers.ldp_one_question_kwiksort(
            POSITIONS, epsilon=1.0, groups=30, cap=cap, rng=np.random.default_rng(seed)
        )
        assert set(read) <= {0, 2} and read.sum() == 2 * (USERS if run.refused else run.asked)
        read[:] = 0
    assert [r.epsilon for r in reports] == [1.0] * 20


# ------------------------------------------------------------------ one number for each answer


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_reported_wins_take_epsilon_for_each_answer(watch: Watch, epsilon: float) -> None:
    calls = watch(randomized_response_pmf)
    rankers.reported_wins(COUNTS, epsilon, rng=rng())
    assert [float(c.epsilon) for c in calls] == [epsilon]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_wins_take_epsilon_for_each_answer(epsilon: float) -> None:
    """The noise of a pair is a sum of USERS Laplace variables of scale 1 / epsilon.

    Its 6 * 4000 standardised squares have mean 1 and kurtosis 3 + 3 / USERS: their mean is within
    5.33 sqrt(2.1 / 24000) = 0.05 of it with probability 1 - 1e-7, so that a scale 5 % off shows.
    """
    draws = rankers.laplace_wins(COUNTS, epsilon, size=4000, rng=rng())
    noise = (draws - COUNTS)[:, *np.triu_indices(ITEMS, 1)]
    assert (noise**2).mean() * epsilon**2 / (2 * USERS) == pytest.approx(1, abs=0.05)


# ------------------------------------------------------------------ a trusted curator


def sheets(kind: str) -> np.ndarray:
    """Win counts of every set of answers that one person may give about all pairs of ITEMS."""
    pairs = list(combinations(range(ITEMS), 2))
    if kind == "ranking":
        bits = [[r[i] < r[j] for i, j in pairs] for r in permutations(range(ITEMS))]
        signs = 2 * np.array(bits) - 1
    else:
        signs = np.array(list(product((0, 1, -1)[kind == "each_pair_once" :], repeat=PAIRS)))
    wins = np.zeros((len(signs), ITEMS))
    for e, (i, j) in enumerate(pairs):
        wins[:, i] += signs[:, e] == 1
        wins[:, j] += signs[:, e] == -1
    return wins


def largest_move(vectors: np.ndarray) -> float:
    """Largest l1-distance between two rows."""
    return max(float(np.abs(vectors - row).sum(axis=1).max()) for row in vectors)


def bits_of_rankings() -> np.ndarray:
    """Upper triangle of what one ranking adds to the pairwise counts: one row a ranking."""
    ranks = np.array(list(permutations(range(ITEMS))))
    above = np.triu_indices(ITEMS, 1)
    return (ranks[:, above[0]] < ranks[:, above[1]]).astype(float)


PERSON = {"privacy": "individual", "trust_design": True}
COUNT_MOVES = {  # how far one neighbour moves the win counts
    # one answer turned round: one win less here, one more there
    "edge": ({"privacy": "edge"}, 2.0),
    "3 answers of a person": ({**PERSON, "per_user": 3}, 6.0),
    **{
        kind: ({**PERSON, "design": kind}, largest_move(sheets(kind)))
        for kind in ("each_pair_once", "each_pair_or_skip", "ranking")
    },
}


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("who", COUNT_MOVES)
@pytest.mark.parametrize("noise", [laplace_noise, discrete_laplace_noise])
def test_noisy_counts_spend_epsilon(
    watch: Watch, who: str, noise: Callable, epsilon: float
) -> None:
    options, move = COUNT_MOVES[who]
    kind = noise.__name__.removesuffix("_noise")
    calls = watch(noise)
    released = rankers.noisy_counts(COUNTS, epsilon=epsilon, noise=kind, rng=rng(), **options)
    assert [move / c.scale for c in calls] == pytest.approx([epsilon], rel=1e-12)
    assert np.array_equal(released, COUNTS.sum(axis=1) + calls[0].result)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    ("unit", "answers"), [(Edge(ITEMS), 1), (Person(ITEMS, 3, vouched=True), 3)]
)
def test_perturbed_mle_takes_the_noise_and_the_ridge_that_are_proved(
    watch: Watch, unit: Edge | Person, answers: int, epsilon: float
) -> None:
    """An answer exchanged moves the score by 4 in l1; a ridge as large as the scale hides the
    determinant."""
    fits, ranker = watch(ridge_mle), rankers.PerturbedMle.private(epsilon, unit)
    noise = ranker.noise(rng=rng())
    ranker.release(COUNTS, noise)
    assert [4 * answers / c.gamma for c in fits] == pytest.approx([epsilon], rel=1e-12)
    np.testing.assert_allclose(fits[0].linear, 4 * answers / epsilon * rng().laplace(size=ITEMS))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("ranker", [rankers.noisy_fractions, rankers.private_kemeny])
def test_noise_on_all_fractions_spends_epsilon(
    watch: Watch, ranker: Callable, epsilon: float
) -> None:
    laplace, gaussian = watch(laplace_noise), watch(gaussian_noise)
    ranker(FRACTIONS, USERS, epsilon=epsilon, rng=rng())
    move = largest_move(bits_of_rankings()) / USERS
    assert [move / c.scale for c in laplace] == pytest.approx([epsilon], rel=1e-12)
    assert not gaussian
    ranker(FRACTIONS, USERS, epsilon=epsilon, delta=1e-4, rng=rng())
    euclid = math.sqrt(PAIRS) / USERS  # all bits differ between a ranking and its reverse
    spent = [float(gaussian_profile(euclid, c.scale, epsilon)) for c in gaussian]
    assert spent == pytest.approx([1e-4], rel=1e-9) and len(laplace) == 1


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_noise_on_all_places_spends_epsilon(watch: Watch, epsilon: float) -> None:
    laplace, gaussian = watch(laplace_noise), watch(gaussian_noise)
    solved = watch(footrule_ranking)
    rankers.private_footrule(POSITIONS, epsilon=epsilon, rng=rng())
    # For every item and every place but the last: is it there or before?
    places = np.array(list(permutations(range(ITEMS))))
    zeros_and_ones = (places[:, :, None] <= np.arange(ITEMS - 1)).reshape(len(places), -1)
    move = largest_move(zeros_and_ones.astype(float))
    assert [move / c.scale for c in laplace] == pytest.approx([epsilon], rel=1e-12)
    assert not gaussian
    counts = (POSITIONS[:, :, None] <= np.arange(ITEMS - 1)).sum(axis=0)
    assert np.array_equal(solved[0].reached, counts + laplace[0].result)
    rankers.private_footrule(POSITIONS, epsilon=epsilon, delta=1e-4, rng=rng())
    spent = [float(gaussian_profile(math.sqrt(move), c.scale, epsilon)) for c in gaussian]
    assert spent == pytest.approx([1e-4], rel=1e-9) and len(laplace) == 1
    assert np.array_equal(solved[1].reached, counts + gaussian[0].result)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("share", [0.5, 0.2])
@pytest.mark.parametrize("cap", [4, 5])
def test_answers_and_fallback_of_reduction_two_share_epsilon(
    watch: Watch, cap: int, share: float, epsilon: float
) -> None:
    laplace, gaussian = watch(laplace_noise), watch(gaussian_noise)
    options = {"epsilon": epsilon, "cap": cap, "share": share, "size": 200}
    run = rankers.capped_kwiksort(FRACTIONS, USERS, rng=rng(), **options)
    assert run.fell_back.any() and not run.fell_back.all()
    answers, fallback = laplace
    # An answer moves by 1 / USERS; at most `cap` of them are seen, and all fractions afterwards.
    parts = [cap / USERS / answers.scale, PAIRS / USERS / fallback.scale]
    assert parts == pytest.approx([(1 - share) * epsilon, share * epsilon], rel=1e-12)
    assert sum(parts) == pytest.approx(epsilon, rel=1e-12)
    rankers.capped_kwiksort(FRACTIONS, USERS, delta=1e-4, rng=rng(), **options)
    spent = gaussian_profile(math.sqrt(cap) / USERS, gaussian[0].scale, (1 - share) * epsilon)
    assert float(spent) == pytest.approx(1e-4, rel=1e-9) and len(gaussian) == 1
    assert PAIRS / USERS / laplace[-1].scale == pytest.approx(share * epsilon, rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_cap_that_cannot_be_passed_leaves_epsilon_to_the_answers(
    watch: Watch, epsilon: float
) -> None:
    calls = watch(laplace_noise)
    rankers.capped_kwiksort(FRACTIONS, USERS, epsilon=epsilon, cap=PAIRS, size=50, rng=rng())
    assert [PAIRS / USERS / c.scale for c in calls] == pytest.approx([epsilon], rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_printed_scales_of_reduction_two(watch: Watch, epsilon: float) -> None:
    calls = watch(laplace_noise)
    rankers.capped_kwiksort(
        FRACTIONS, USERS, epsilon=epsilon, cap=4, calibration="printed", size=200, rng=rng()
    )
    # q / (epsilon n) for the answers, and m^2 / (epsilon n) at epsilon / 2 for the fallback.
    expected = [4 / (epsilon * 40), 16 / (epsilon / 2 * 40)]
    assert [c.scale for c in calls] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_noise_on_leads_spends_epsilon(watch: Watch, epsilon: float) -> None:
    calls = watch(laplace_noise)
    rankers.dp_kwiksort(COUNTS, epsilon=epsilon, rng=rng())
    rankers.dp_kwiksort(COUNTS, epsilon=epsilon, relation="add_remove", rng=rng())
    leads = 2 * bits_of_rankings() - 1  # what one ranking adds to the leads
    moves = [largest_move(leads), float(np.abs(leads).sum(axis=1).max())]
    spent = [move / c.scale for move, c in zip(moves, calls, strict=True)]
    assert spent == pytest.approx([epsilon, epsilon], rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_choice_of_a_ranking_spends_epsilon(watch: Watch, epsilon: float) -> None:
    """The cost of every ranking moves by at most D = 6 when one user's ranking is replaced."""
    bits = bits_of_rankings()
    distance = np.abs(bits[:, None] - bits).sum(axis=-1)  # Kendall's, of two rankings
    move = max(float(np.abs(distance - row).max()) for row in distance)
    choices = watch(exponential_pmf), watch(permute_and_flip_pmf)
    sums = watch(subset_sums)
    rankers.exponential_ranking_pmf(COUNTS, epsilon)
    rankers.permute_and_flip_ranking(COUNTS, epsilon, rng=rng())
    rankers.exponential_ranking(COUNTS, epsilon, rng=rng())
    for calls in choices:
        assert [(c.sensitivity, c.epsilon) for c in calls] == [(move, epsilon)]
    assert [c.rate for c in sums] == pytest.approx([epsilon / (2 * move)], rel=1e-12)


# ------------------------------------------------------------------ none is left out


def test_every_ranker_that_draws_is_watched_here() -> None:
    drawing = {
        name
        for name in rankers.__all__
        if callable(getattr(rankers, name))
        and not inspect.isclass(getattr(rankers, name))
        and "rng" in inspect.signature(getattr(rankers, name)).parameters
    }
    elsewhere = {
        "objective_perturbation",  # PerturbedMle, until pages 09 and 10 say so
        "perturbed_mle",
        "hypercube_response",  # a mechanism itself, against its law in test_local_rankings.py
        "printed_response",  # does not look at the data
        "exponential_ranking_chain",  # promises no privacy
    }
    here = set(re.findall(r"rankers\.(\w+)", inspect.getsource(sys.modules[__name__])))
    assert not drawing - here - elsewhere, "a ranker without a test of its budget"
