"""What a person may answer: rankers refuse data that break the design their noise is made for."""

import inspect
import itertools

import numpy as np
import pytest

from dpbook.data import Comparisons
from dpbook.estimators import win_counts
from dpbook.privacy import bundle_contributions, count_sensitivity
from dpbook.rankers import (
    count_noise_scale,
    noisy_counts,
    noisy_counts_logpdf,
)

RELEASES = (noisy_counts,)
PLANS = (count_noise_scale,)


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


def test_a_skipped_pair_would_lose_a_quarter_more_than_promised():
    """The exact loss of the released vector is the supremum of the log-ratio of two densities."""
    scale = count_noise_scale(3, epsilon=1.0, privacy="individual", design="each_pair_once")
    x, y = win_counts(PART), win_counts(OPPOSITE)
    far = np.where(x > y, 100, -100)
    densities = [noisy_counts_logpdf(far, counts, scale=scale) for counts in (x, y)]
    assert densities[0] - densities[1] == pytest.approx(1.25, rel=1e-12)
    assert np.abs(x - y).sum() == 5 == scale * 1.25
    # The ratio of the two sensitivities grows from there.
    for n, ratio in ((3, 5 / 4), (5, 16 / 12), (10, 70 / 50), (40, 1180 / 800)):
        once, skip = (
            count_sensitivity(n, privacy="individual", design=design)
            for design in ("each_pair_once", "each_pair_or_skip")
        )
        assert skip / once == ratio


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


def test_a_ranking_needs_all_pairs_and_no_circle():
    with pytest.raises(ValueError, match=r"answered 2 of 3 pairs: .*'each_pair_or_skip'"):
        noisy_counts(PART, **person("ranking"))
    with pytest.raises(ValueError, match=r"person 0 .*circle: .*'each_pair_once'"):
        noisy_counts(together(sheet((0, 1), (0, 2), (1, 2), user=1), CIRCLE), **person("ranking"))
    assert noisy_counts(FULL, **person("ranking")).shape == (3,)
    assert noisy_counts(CIRCLE, **person("each_pair_once")).shape == (3,)


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


def test_the_word_of_the_caller_overrides_no_label():
    with pytest.raises(ValueError, match="of 3 pairs"):
        noisy_counts(PART, **person("each_pair_once"), trust_design=True)


# ------------------------------------------------------------------ the notion of privacy


@pytest.mark.parametrize("function", [*RELEASES, *PLANS, count_sensitivity])
def test_privacy_has_no_default(function):
    assert inspect.signature(function).parameters["privacy"].default is inspect.Parameter.empty


@pytest.mark.parametrize(
    "options", [{"design": "each_pair_once"}, {"per_user": 5}, {"design": "x"}]
)
def test_edge_privacy_knows_no_persons(options):
    named = rf"^{next(iter(options))} = .* with privacy = 'edge': allowed is None"
    calls = [lambda: count_sensitivity(3, privacy="edge", **options)]
    calls += [lambda f=f: f(3, epsilon=1.0, privacy="edge", **options) for f in PLANS]
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


# ------------------------------------------------------------------ a tie is half a win


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize(
    "design", [{"per_user": 2}, {"design": "each_pair_once"}, {"design": "each_pair_or_skip"}]
)
def test_half_wins_move_the_counts_no_further(n, design):
    unit = np.eye(n)
    pairs = list(itertools.combinations(range(n), 2))
    answers = [[unit[i], unit[j], (unit[i] + unit[j]) / 2] for i, j in pairs]
    if "per_user" in design:
        answers = [[a for three in answers for a in three]] * 2
    elif design["design"] == "each_pair_or_skip":
        answers = [[*three, np.zeros(n)] for three in answers]
    total = np.zeros((1, n))
    for options in answers:
        total = np.unique((total[:, None] + np.array(options)).reshape(-1, n), axis=0)
    assert len(total) > len(bundle_contributions(n, **design))
    farthest = max(np.abs(total - a).sum(axis=1).max() for a in total)
    assert farthest == count_sensitivity(n, privacy="individual", **design)


def test_halves_are_kept_and_other_fractions_refused():
    halves = [[0, 1.5, 2], [0.5, 0, 0], [3, 0, 0]]
    assert win_counts(halves).tolist() == [3.5, 0.5, 3]
    assert win_counts(np.array(halves).astype(int)).dtype.kind == "i"
    released = noisy_counts(halves, epsilon=1e12, privacy="edge", rng=rng())
    np.testing.assert_allclose(released, [3.5, 0.5, 3], atol=1e-9)
    for bad in (0.9, 0.25, 1e300):
        for call in (win_counts, lambda w: noisy_counts(w, epsilon=1, privacy="edge", rng=rng())):
            with pytest.raises(ValueError, match=r"data holds (0\.9|0\.25|1e\+300)"):
                call([[0, bad], [1, 0]])
    with pytest.raises(ValueError, match=r"data holds 1\.5.*whole numbers"):
        noisy_counts(halves, epsilon=1, privacy="edge", noise="discrete_laplace", rng=rng())
