"""What a person may answer: the perturbed estimate refuses data that break its design."""

import inspect
import itertools

import numpy as np
import pytest

from dpbook.data import Comparisons
from dpbook.rankers import mle_calibration, perturbed_mle, perturbed_mle_logpdf

RELEASES = (perturbed_mle,)
PLANS = (mle_calibration,)


def rng():
    return np.random.default_rng(0)


def sheet(*answers, user=0):
    """Comparisons of one person: pairs (winner, loser)."""
    winner, loser = np.array(answers).T
    return Comparisons(3, winner=winner, loser=loser, user=np.full(len(answers), user))


def together(*sheets):
    winner, loser, user = (
        np.concatenate([getattr(s, name) for s in sheets]) for name in ("winner", "loser", "user")
    )
    return Comparisons(3, winner=winner, loser=loser, user=user)


FULL, OPPOSITE = sheet((0, 1), (0, 2), (1, 2)), sheet((2, 1), (2, 0), (1, 0))
PART, CIRCLE = sheet((0, 1), (0, 2)), sheet((0, 1), (1, 2), (2, 0))


def person(design, **options):
    return {"epsilon": 1.0, "privacy": "individual", "design": design, "rng": rng()} | options


# ------------------------------------------------------------------ a design is kept to


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("data", [PART, together(FULL, sheet((1, 2), user=3))])
def test_somebody_who_skips_a_pair_is_refused(release, data):
    with pytest.raises(ValueError, match=r"person \d.* of 3 pairs: .*'each_pair_or_skip'"):
        release(data, **person("each_pair_once"))
    assert release(data, **person("each_pair_or_skip")).shape == (3,)


@pytest.mark.parametrize("release", RELEASES)
def test_complete_sheets_are_accepted(release):
    other = sheet((2, 1), (2, 0), (1, 0), user=7)
    assert release(together(FULL, other), **person("each_pair_once")).shape == (3,)


# ------------------------------------------------------------------ data that show no persons


@pytest.mark.parametrize("release", RELEASES)
def test_without_persons_the_caller_must_vouch(release):
    table = FULL.win_matrix()
    unlabelled = Comparisons(3, winner=FULL.winner, loser=FULL.loser)
    for data, options in itertools.product(
        (table, np.stack([table, table]), unlabelled),
        (person("each_pair_once"), person(None, per_user=3), person("each_pair_or_skip")),
    ):
        with pytest.raises(ValueError, match=r"nobody can check .*trust_design=True"):
            release(data, **options)
        assert release(data, **options, trust_design=True).shape[-1] == 3
    with pytest.raises(ValueError, match="trust_design = 1"):
        release(table, **person("each_pair_once"), trust_design=1)
    with pytest.raises(ValueError, match="trust_design = True with privacy = 'edge'"):
        release(table, epsilon=1.0, privacy="edge", trust_design=True, rng=rng())


@pytest.mark.parametrize("release", RELEASES)
def test_a_table_of_uneven_pairs_is_refused_even_then(release):
    for data in (PART.win_matrix(), Comparisons(3, winner=PART.winner, loser=PART.loser)):
        with pytest.raises(ValueError, match=r"holds 0 answers to one pair and 1 to another"):
            release(data, **person("each_pair_once"), trust_design=True)
        assert release(data, **person("each_pair_or_skip"), trust_design=True).shape == (3,)


# ------------------------------------------------------------------ the notion of privacy


@pytest.mark.parametrize("function", [*RELEASES, *PLANS])
def test_privacy_has_no_default(function):
    assert inspect.signature(function).parameters["privacy"].default is inspect.Parameter.empty


@pytest.mark.parametrize(
    "options", [{"design": "each_pair_once"}, {"per_user": 5}, {"design": "x"}]
)
def test_edge_privacy_knows_no_persons(options):
    named = rf"^{next(iter(options))} = .* with privacy = 'edge': allowed is None"
    calls = [lambda f=f: f(3, epsilon=1.0, privacy="edge", **options) for f in PLANS]
    calls += [
        lambda f=f: f(FULL, epsilon=1.0, privacy="edge", rng=rng(), **options) for f in RELEASES
    ]
    for call in calls:
        with pytest.raises(ValueError, match=named):
            call()


@pytest.mark.parametrize("plan", PLANS)
def test_per_user_belongs_to_one_design(plan):
    with pytest.raises(ValueError, match="per_user = 2 with design = 'each_pair_once'"):
        plan(3, epsilon=1.0, privacy="individual", design="each_pair_once", per_user=2)


def test_a_tie_costs_the_perturbed_estimate_no_more_than_a_win():
    plan = mle_calibration(4, epsilon=1.0, privacy="edge")
    source, worst = rng(), 0.0
    for _ in range(40):
        base = np.triu(source.integers(0, 3, (4, 4)), 1).astype(float)
        theta = source.normal(scale=source.choice([1, 10, 60]), size=(500, 4))
        changed = []
        for i, j in itertools.permutations(range(4), 2):
            changed += [base.copy(), base.copy()]
            changed[-1][i, j] += 1
            changed[-2][[i, j], [j, i]] += 0.5
        logs = [perturbed_mle_logpdf(theta, w, gamma=plan.gamma, scale=plan.scale) for w in changed]
        ties = np.array(logs[::2])
        worst = max(worst, float(np.abs(ties[:, None] - np.array(logs)).max()))
    # Sharp enough to notice noise that is too small by two fifths.
    assert 0.6 < worst <= 1.0


# ------------------------------------------------------------------ very small epsilon


@pytest.mark.parametrize("epsilon", [1e-7, 1e-8, 1e-12, 1e-15])
def test_the_perturbed_estimate_is_found_however_loud_the_noise(epsilon):
    """The noise has last digits beyond the solver's 1e-8; the equation holds up to those."""
    wins = np.array([[0, 5, 6], [2, 0, 4], [1, 3, 0]])
    stack, source = np.broadcast_to(wins, (300, 3, 3)), rng()
    theta = perturbed_mle(stack, epsilon=epsilon, privacy="edge", centre=False, rng=source)
    noise = rng().laplace(scale=4 / epsilon, size=(300, 3))
    np.testing.assert_allclose(theta * (4 / epsilon), -noise, rtol=1e-12, atol=20)
