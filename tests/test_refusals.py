"""Every place of the science that refuses an argument is reached by one call, and names it.

A line of `REFUSED` is a call and what its error must say, with what is `MADE` for it.
`tests/test_bad_inputs.py` has what once hung, or returned a wrong answer.
"""

from __future__ import annotations

import importlib
import re

import pytest

WINGS = """rank data estimators estimators.kwiksort lower_bounds mechanisms mechanisms.hypercube
mechanisms.noise models optimum privacy privacy.exact rankers simulation simulation.compare
simulation.replicates pages.individual_experiments pages.packings_and_fano
"""
REFUSED = """
load_table("turkdots", part=1.5)  # part = 1.5: allowed is an integer from 1 to 4
load_table("cems", part=2)  # part = 2: allowed is an integer from 1 to 1
load_table("elections")  # name = 'elections': allowed is one of 'cems'
load_dataset("cems", path=5)  # path must be a folder's name
load_dataset("sushi", part=2)  # part = 2: allowed is an integer from 1 to 1
replace(TABLE, counts=TABLE.counts + np.eye(4, dtype=int))  # counts has a non-zero diagonal
replace(TABLE, counts=TABLE.counts[:, :3])  # counts of shape (4, 3)
replace(TABLE, counts=-TABLE.counts)  # counts holds -53
replace(TABLE, ties=np.triu(TABLE.ties))  # not symmetric
replace(TABLE, ties=TABLE.ties[:3, :3])  # ties has 3 rows: allowed is 4
replace(TABLE, items=("a", "b"))  # counts has 4 rows: allowed is 2
replace(TABLE, users=87)  # users = 87: allowed is at least 88
replace(TABLE, users=0)  # users = 0
Comparisons.from_win_matrix([[0, 1, 2], [1, 0, 2]])  # wins of shape (2, 3)
Comparisons.from_win_matrix([[0, 1], [-1, 0]])  # wins holds -1
Comparisons.from_win_matrix([[0, 1], [1, 5]])  # wins has a non-zero diagonal
Comparisons.from_win_matrix([[0, 1], [1, 0]], ["a", "b", "c"])  # items has 3 entries; wins has 2
Comparisons(3, [], [])  # winner of shape (0,)
Comparisons(3, [0, 3], [1, 1])  # winner[1] = 3: allowed is 0..2
Comparisons(3, [0, 1], [1, -1])  # loser[1] = -1: allowed is 0..2
Comparisons(3, [0, 1], [1, 1])  # loser[1] = 1 equals winner
Comparisons(3, [0, 1], [1])  # loser has 1 entries: allowed is 2
Comparisons(3, [0, 1], [1, 2], [0, -4])  # user[1] = -4: allowed is 0 or more
Comparisons(3, [0.0, 1.0], [1, 2])  # winner of type float64: allowed are integers
Comparisons("xy", [0], [1])  # items = 'xy': allowed is
Comparisons(["x", "x"], [0], [1])  # items contains 'x' more than once
Comparisons(["x"], [0], [0])  # items = ('x',): allowed is at least 2
Comparisons([0.5, 1.5], [0], [1])  # items contains 0.5: allowed is strings or integ
Rankings(3, [[0, 1]])  # positions of shape (1, 2)
Rankings(3, [[0, 0, 1]])  # positions[0] = [0, 0, 1]: allowed is a permut
Rankings(3, np.empty((0, 3), dtype=int))  # at least one user
debiased_mle([1.0, 2.0], gamma=1.0)  # outcomes of shape (2,)
debiased_mle(np.eye(2), gamma=1.0)  # outcomes has a non-zero diagonal
debiased_mle([[0, 1.0], [-2.0, 0]], gamma=1.0)  # outcomes of a pair add up to less than 0
debiased_mle(np.zeros((3, 3)), gamma=1.0)  # outcomes hold no answer
debiased_mle(WINS, gamma=-1)  # gamma = -1
flipped_mle(WINS, [1.0, 2.0])  # reports of shape (3, 3) with epsilon of shape (2,): allowed are
local_search_ranking(WINS, [0, 0, 1])  # start = [0, 0, 1]: allowed is a permutation
kemeny_fit(WINS, time_limit=0)  # time_limit = 0
comparisons_pmf(0)  # n_items = 0
comparisons_pmf_tournament(np.eye(2))  # wins is no tournament
kwiksort_pmf(np.full((9, 9), 0.5))  # preference of shape (9, 9)
kwiksort_pmf([[0, 1.2], [-0.2, 0]])  # preference leaves [0, 1]
kwiksort_pmf(np.full((3, 3), 0.4))  # preference + preference.T differs from 1
kwiksort_cost_pmf([[0.5, 0.7], [0.7, 0.5]])  # preference + preference.T differs from 1
kwiksort_rankings(np.zeros((2, 3)), rng=RNG)  # counts of shape (2, 3)
kwiksort_rankings(np.zeros((3, 3)), 0, rng=RNG)  # size = 0
kwiksort_rankings(np.zeros((3, 3)), rng=None)  # rng = None
ranks_from_scores([1.0, np.nan])  # scores holds nan
top_k_mask([1.0, 2.0], 2)  # k = 2: allowed is an integer from 1 to 1
borda_ranking([1.0, 2.0])  # counts of shape (2,)
footrule_ranking(np.zeros(3))  # reached of shape (3,)
footrule_ranking(np.zeros((3, 3)))  # reached of shape (3, 3)
footrule_ranking(np.full((3, 2), np.nan))  # reached holds nan
pairwise_counts([[0, 1], [1, 2]])  # positions[1] = [1, 2]: allowed is a permutation
pairwise_counts([[0, 1]], weights=[1, 2])  # weights of shape (2,)
pairwise_counts([[0, 1]], weights=[-1])  # weights holds -1
pairwise_counts([[0, 257]])  # positions[0]
kendall_distance([0, 2], [0, 1])  # a = [0, 2]: allowed is a permutation
kendall_distance([0, 1], [0, 1, 2])  # b ranks 3 items: allowed are the 2 of a
kemeny_score([0, 1], np.eye(3))  # fractions of shape (3, 3)
ridge_mle(WINS, gamma=-1)  # gamma = -1
ridge_mle(WINS, gamma=0, linear=[1.0, 0, 0])  # linear does not sum to zero
ridge_mle(WINS, gamma=0, linear=[900.0, -900, 0])  # linear is too large
ridge_mle(WINS, gamma=1, linear=[1.0, 0])  # linear of shape (2,)
ridge_mle(WINS, gamma=1, tol=0)  # tol = 0
ridge_mle(np.eye(3), gamma=1)  # data has a non-zero diagonal
ridge_mle([[0, -1], [1, 0]], gamma=1)  # data holds -1
ridge_mle_complete([1.0, 1.0, 2.0], gamma=1)  # wins of shape (3,)
ridge_mle_complete([1.0] * 3, per_pair=0, gamma=0)  # per_pair = 0
ridge_mle_complete([2.0, 1.0, 0.0], gamma=0)  # gamma = 0 with wins that split
ridge_mle_complete([5, 2, 2, 2, 2, 2.0], gamma=0)  # gamma = 0 with wins that split
gilbert_varshamov(5, 6, 2)  # weight = 6
fano_error(1, 0.1)  # hypotheses = 1
fano_error(3, -1)  # kl = -1
edge_kl(np.eye(2), np.eye(3))  # other of shape (3, 3)
product_pmf(np.full(22, 0.5))  # probabilities has 22 entries
product_pmf([1.5])  # probabilities = [1.5]
product_log_ratio([0.5], [0.5, 0.5], 1)  # q has 2 entries
product_log_ratio([1.5], [0.5], 1)  # p = [1.5]
product_log_ratio([[0.5]], [[0.5]], 1)  # p = [[0.5]]
best_private_rule([[-1.0, 1.0]], ONES, PAIRS, 1)  # costs up to
best_private_rule([[0.0, 1e30]], ONES, PAIRS, 1)  # costs up to
best_private_rule([[0.0, 1]], ONES / 2, PAIRS, 1)  # totals: allowed are whole numbers
best_private_rule([[0.0, 1]], ONES, PAIRS, 701)  # epsilon = 701
best_private_rule([[0.0, 1]], ONES, PAIRS, 0.0)  # epsilon
best_private_rule([[0.0, 1]], ONES[:, [0, 0, 1]], PAIRS, 1)  # totals of shape (1, 3)
gaussian_profile(1, 1, [-0.1])  # epsilons holds -0.1
gaussian_scale(0, 1, 0.1)  # sensitivity = 0
gaussian_scale(1, 1, 1)  # delta = 1
gaussian_scale(1, 0, 0.1)  # epsilon = 0
hypercube_scale(3, 1.0, "open")  # ties = 'open'
hypercube_response_pmf(np.ones(17), 1.0)  # dimension = 17
sign_vectors(21)  # dimension = 21
hypercube_response([1.5, 0], 1.0, rng=RNG)  # values of shape (2,)
discrete_laplace_pmf([0], 0)  # scale = 0
laplace_logpdf([0.0], -1)  # scale = -1
discrete_laplace_noise(np.nan, 2, rng=RNG)  # scale = nan
discrete_laplace_noise(1.0, 2, rng=0)  # rng = 0
discrete_laplace_noise(2.0**-62, 3, rng=RNG)  # 2**53
discrete_laplace_noise(Fraction(1, 2**62), 3, rng=RNG)  # 2**53
discrete_laplace_noise(Fraction(2**53, 3), 3, rng=RNG)  # 2**53
randomized_response([0, 1], 1.0, rng=None)  # rng = None
randomized_response([2], 1.0, rng=RNG)  # bits hold
randomized_response([0, 1, 1], [1.0, 2], rng=RNG)  # epsilon of shape (2,)
randomized_response_pmf([1.0, np.nan])  # epsilon holds nan
randomized_response_pmf(0)  # epsilon = 0
debiased_response([0.5], 1.0)  # reports hold
debiased_response([0, 1, 1], [1.0, 2.0])  # epsilon of shape (2,)
debiased_variance(1.1, 1.0)  # p leaves [0, 1]
debiased_variance([0.1, 0.2, 0.3], [1.0, 2.0])  # epsilon of shape (2,)
exponential_pmf([[1.0, 2.0]], 1, 1)  # utilities of shape
exponential_pmf([1.0, np.nan], 1, 1)  # utilities holds nan
exponential_pmf([1.0, 2.0], 0, 1)  # sensitivity = 0
btl_probabilities([0.0, np.nan])  # theta holds nan
btl_probabilities([0.0, 1.0], link="loglog")  # link = 'loglog'
two_level_probabilities(4, 4, 0.1)  # k = 4
two_level_probabilities(4, [1, 1], 0.1)  # k = [1, 1]
two_level_probabilities(4, [0, 4], 0.1)  # k = [0, 4]
two_level_probabilities(4, [0, 1, 2, 3], 0.1)  # k = [0, 1, 2, 3]
two_level_probabilities(4, 2, 0.6)  # gap = 0.6
average_win_probabilities(np.full((3, 3), 0.4))  # rho + rho.T differs
edge_wins(HALVES, p=0, rng=RNG)  # p = 0
edge_wins(HALVES, rng=np.random)  # rng = <module
individual_wins(HALVES, users=0, per_user=1, rng=RNG)  # users = 0
all_rankings(9)  # n_items = 9
all_rankings(True)  # n_items = True
mallows_rankings(0, 3, phi=0.5, rng=RNG)  # users = 0
mallows_rankings(2, 1, phi=0.5, rng=RNG)  # n_items = 1
mallows_rankings(2, 3, phi=1.1, rng=RNG)  # phi = 1.1
mallows_rankings(2, 3, phi=0.5, rng=7)  # rng = 7
mallows_pmf(9, 0.5)  # n_items = 9
mallows_pair_probabilities(3, -0.1)  # phi = -0.1
mallows_expected_distance(3, 2)  # phi = 2
optimal_mechanism(np.full((8, 8), 0.5), 2, epsilon=1)  # rho has n = 8
optimal_mechanism(np.full((3, 3), 0.6), 1, epsilon=1)  # rho: allowed are probabilities
optimal_mechanism(HALVES, 3, epsilon=1)  # k = 3
optimal_mechanism(HALVES, 1, epsilon=0)  # epsilon = 0
optimal_mechanism(HALVES, 1, epsilon=11)  # epsilon = 11
optimal_mechanism(HALVES, 1, epsilon=1, loss="l2")  # loss = 'l2'
optimal_ranking(3, 11, epsilon=1)  # users = 11
unreduced_risk(np.full((6, 6), 0.5), 3, epsilon=1)  # privacy rows; allowed
relabel([0, 0, 1])  # pi
relabel([0.0, 1.5])  # pi holds 1.5: allowed are whole
person_epsilon(0, 2)  # epsilon_each = 0
person_epsilon(1.0, 1.5)  # count = 1.5
composed_response_delta([0.1, 0.2], 2, 1.0)  # epsilon_each = [0.1, 0.2]
composed_response_delta(1.0, 0, 1.0)  # count = 0
composed_response_delta(1.0, 2, -0.1)  # epsilon_total holds -0.1
composed_response_epsilon(np.inf, 2, 0.1)  # epsilon_each = inf
composed_response_epsilon(1.0, True, 0.1)  # count = True
composed_response_epsilon(1.0, 2, 1.0)  # delta = 1.0
clopper_pearson(np.nan, 5)  # successes holds nan
clopper_pearson(5, 4)  # successes, trials: allowed is
clopper_pearson(0, 0)  # successes, trials: allowed is
clopper_pearson(1, 4, confidence=1.0)  # confidence = 1.0
audit_sampler([0.5, 5], [0.5, 0.5])  # outcome_counts holds 0.5
audit_sampler([1, 2], [0.5, 0.3, 0.2])  # outcome_counts, pmf
audit_sampler([0, 0], [0.5, 0.5])  # outcome_counts, pmf
audit_sampler([50, 50], [0.45, 0.45])  # pmf sums to 0.9
audit_sampler([5, 5], [np.nan, 0.5])  # pmf
audit_sampler([1, 2], [0.5, 0.5], confidence=0.0)  # confidence = 0.0
sets_of(1, 1)  # n_items = 1
sets_of(4, 4)  # k = 4
top_k_pmf([1, 2, 3], 3, scale=1.0)  # k = 3
top_k_pmf(range(60), 30, scale=1.0)  # k = 30 of 60 items: allowed are at most
top_k_pmf([1, np.nan], 1, scale=1.0)  # scores holds nan
top_k_pmf([1, 2], 1, scale=0.0)  # scale = 0.0
top_k_pmf([1, 2], 1, scale=1.0, noise="gauss")  # noise = 'gauss'
top_k_pmf([1, 2.6], 1, scale=1.0, noise="discrete_laplace")  # scores hold a fraction
top_k_pmf([1, 0], 1, scale=1e6, noise="discrete_laplace")  # scale = 1000000.0: allowed is at most
ranking_pmf(range(8), scale=1.0)  # scores of shape (8,)
ranking_pmf([1, 2], scale=-1.0)  # scale = -1.0
privacy_loss([0.5, 0.5], [1.0])  # p and q
privacy_loss([], [])  # p and q
privacy_loss([1.5, -0.5], [0.5, 0.5])  # p holds
privacy_loss([0.5, 0.5], [np.nan, 0.5])  # q 
privacy_loss([0.5, 0.5], [0.5, 0.6])  # q sums
hockey_stick([1.0], [1.0], -0.1)  # epsilons holds -0.1
laplace_profile([1, 1, 1], 1.0, 1.0)  # shift has 3 entries
laplace_profile([np.nan], 1.0, 1.0)  # shift holds nan
laplace_profile([1], 0.0, 1.0)  # scale = 0.0
laplace_profile([1], 1.0, [0.5, -1])  # epsilons holds -1
discrete_laplace_profile([0.5], 1.0, 1.0)  # shift holds a fraction
discrete_laplace_profile([1], -1.0, 1.0)  # scale = -1.0
discrete_laplace_profile([1], 1.0, np.nan)  # epsilons holds nan
check_mechanism(lambda x: [1.0], [])  # pairs is empty
check_mechanism(lambda x: [1.0], [(0, 1)], epsilon=-1)  # epsilons holds -1
check_mechanism(lambda x: {x: 0.9}, [(0, 1)])  # p sums
check_mechanism(lambda x: [{0: 1.0}, [1.0]][x], [(0, 1)])  # mechanism
check_mechanism(lambda x: [0.5, 0.5], [(0, 1)], epsilon=1.0, delta=-0.5)  # delta
check_mechanism(lambda x: [0.5, 0.5], [(0, 1)], epsilon=1.0, delta=np.nan)  # delta
check_mechanism(lambda x: [0.5, 0.5], [(0, 1)], epsilon=1.0, delta=1.0)  # delta
check_mechanism(lambda x: [1.0], [(0, 1)], epsilon="some")  # epsilons = 'some'
certify_mechanism(COINS.__getitem__, [(0, 1)])  # steps = [1, 2]
certify_mechanism([].__getitem__, [])  # pairs is empty
joint_distribution(COINS)  # one value for all
exponential_mechanism_distribution({0: 1, 1: 0}, -2)  # positive whole numbers and fractions
discrete_laplace_distribution(5, 0, 4)  # value = 5
Polynomial((0.5,))  # whole numbers
edge_datasets(8)  # n_items = 8
edge_datasets(6, complete=False)  # n_items = 6
edge_neighbours([[1, 1, 1]])  # dataset
edge_neighbours([1, 2, 1])  # dataset
edge_neighbours([0.5, 1, 1])  # dataset
edge_neighbours([1, 1, 1], kind="swap")  # kind = 'swap'
outcome_counts([1, 1], 3)  # datasets of shape (2,)
sensitivity([])  # pairs is empty
sensitivity([((0,), (1,))], norm="l3")  # norm = 'l3'
sensitivity([(0, 1)], statistic=lambda x: [np.nan * x])  # statistic
record_play(len, [2], [1], declared=-1.0)  # declared = -1.0
record_play(len, [2], [1], scale=0.0)  # scale = 0.0
record_play(len, [2], [1], seed=1.5)  # seed = 1.5
record_play(lambda c, rng: "A, B", [2], [1])  # the release of mechanism
Edge(1)  # n_items = 1
Edge(3, exchange=1)  # exchange = 1
Edge(6).neighbours()  # n_items = 6
Edge(8, exchange=False).neighbours()  # n_items = 8
Edge(3).l1("margins")  # statistic = 'margins'
Person(1, 1)  # n_items = 1
Person(3)  # per_user = None
Person(3, 2, "ranking")  # per_user = 2 with design
Person(3, design="free")  # design = 'free'
Person(3, 2, vouched="yes")  # vouched = 'yes'
Person(3, 2, users=0)  # users = 0
Person(3, 2).neighbours()  # users = None
Person(3, 2, users=2).neighbours("ranks")  # statistic = 'ranks'
Person(40, design="each_pair_once").contributions()  # n_items = 40
Person(15, design="ranking").contributions()  # n_items = 15
Person(7, design="each_pair_or_skip").contributions()  # n_items = 7
Person(5, 10**6).contributions()  # per_user = 1000000 with n_items = 5
Person(3, design="each_pair_once", users=1000).neighbours()  # users = 1000
WholeRanking(3, 0)  # users = 0
WholeRanking(3, relation="swap")  # relation = 'swap'
WholeRanking(3).l1("wins")  # statistic = 'wins'
next(WholeRanking(3).neighbours())  # users = None
next(WholeRanking(3, 2).neighbours("ranks"))  # statistic = 'ranks'
release(protect="nobody")  # protect = 'nobody': allowed is one of 'person'
release(statistic="mean")  # statistic = 'mean': allowed is one of 'net'
release(sampler="numpy")  # sampler = 'numpy': allowed is one of 'book'
release(max_answers=None)  # max_answers is missing: allowed is a whole num
release(max_answers=0)  # max_answers = 0: allowed is an integer from 1
release(protect="comparison")  # max_answers = 3 with protect = 'comparison'
release(sampler="opendp", rng=RNG)  # rng is given with sampler = 'opendp'
release(relation="exchange")  # relation = 'exchange': allowed is one of 'replace'
release(delta=1)  # delta = 1: allowed is 0, or
release(only=2)  # only = 2: allowed is an integer from 1 to 1
release(people=0)  # people = 0: allowed is an integer >= 1
release(items=["a", "b"])  # items is given with answers that were read
NoisyCounts.private(0, Edge(3))  # epsilon = 0
NoisyCounts.private(10**400, Edge(3))  # epsilon = 10
NoisyCounts.printed(1, WholeRanking(3))  # unit = WholeRanking
COUNTS.release(WINS, np.zeros(4))  # noise of shape (4,): allowed is (..., 3)
COUNTS.perturb([1, 2], np.zeros(3))  # counts of shape (2,)
COUNTS.logpdf([np.nan, 0, 0], [0, 0, 0])  # released holds nan
WHOLE.logpdf([0.5, 1, 0], [0, 1, 0])  # released holds a fraction
COUNTS.release([["0", "a"], ["b", "0"]], np.zeros(3))  # data =
FlippedAnswers.private(1.0, FLIP).pmf(WINS)  # no exact distribution
FlippedAnswers.private(1.0, Edge(3))  # unit = Edge
LaplaceAnswers.private(1.0, Person(3, 2))  # unit = Person
FlippedAnswers.private([[1.0]], FLIP)  # epsilon of shape (1, 1)
FlippedAnswers.private([1.0, 0.0], FLIP)  # epsilon holds 0
FlippedAnswers.private(1.0, FLIP, reading="best")  # reading = 'best'
FLIPPED.debias(WINS - 2)  # reports holds -
FLIPPED.publish(WINS + np.eye(3), rng=RNG)  # data has a non-zero diagonal
FlippedAnswers.private([1.0, 2.0], FLIP).publish(WINS, rng=RNG)  # data of shape
FLIPPED.simulate(np.full((3, 3), 1.5), 3, rng=RNG)  # probability: allowed are probabilities
FLIPPED.simulate(HALVES, 2.5, rng=RNG)  # users holds 2.5
FLIPPED.simulate(HALVES, -1, rng=RNG)  # users = -1
FlippedAnswers.private(1.0, Person(3, design="ranking")).publish(WINS, rng=RNG)  # vouch
PrivateFootrule.private(0.0, WholeRanking(3))  # epsilon = 0.0
PrivateFootrule.private(1.0, WholeRanking(3), delta=1.0)  # delta = 1.0
FOOTRULE.sample([[0, 0, 2]], rng=RNG)  # permutation of 0..2
FOOTRULE.sample([[0, 1]], rng=RNG)  # data of shape (1, 2): allowed is (users, 3)
FOOTRULE.sample([[0, 1, 2]], 2**27, rng=RNG)  # size = 134217728 asks for too much
PrivateFootrule.private(1, WholeRanking(3, users=3)).sample([[0, 1, 2]], rng=RNG)  # (3, 3)
PairResponses.private(0, WholeRanking(3))  # epsilon = 0
PairResponses.private(1, WholeRanking(3), queries=4)  # queries = 4
PairResponses.private(1, WholeRanking(3), mechanism="gauss")  # mechanism = 'gauss'
PairResponses.private(1, WholeRanking(3), design="latin")  # design = 'latin'
PairResponses.private(1, WholeRanking(3), solver="copeland")  # solver = 'copeland'
PairResponses.private(1, WholeRanking(3, relation="add_remove"))  # unit = WholeRanking
ONE_PAIR.publish([[0, 1]], rng=RNG)  # positions of shape (1, 2)
ONE_PAIR.lots(3, rng=5)  # rng = 5
Hypercube(WholeRanking(3), 1.0, ties="open")  # ties = 'open'
PerturbedMle.private(0.0, Edge(4))  # epsilon = 0.0
PerturbedMle.private(1.0, Edge(4), gamma=-1.0)  # gamma = -1.0
PerturbedMle.private(1.0, Edge(4), gamma=0.29)  # gamma = 0.29: allowed is more
PerturbedMle.private(1.0, SKIP, gamma=1.0)  # gamma = 1.0: allowed is at least 9
PerturbedMle.private(1.0, WholeRanking(4, relation="add_remove"))  # allowed are Edge, Person
PerturbedMle.printed(1.0, Edge(4), gamma=0.9)  # gamma = 0.9: allowed is at least
PerturbedMle(Edge(3), 1.0, 0.0)  # gamma = 0
MLE.at_loss(1.0, of="ranking")  # of = 'ranking'
MLE.logpdf([0.0, np.nan, 0.0], WINS)  # theta holds nan
MLE.logpdf([0.0, 1.0], WINS)  # theta of shape
MLE.logpdf([0.0, 1.0, 2.0], -WINS)  # data holds -
MLE.logpdf([0.0, 1.0, 2.0], WINS + np.eye(3))  # data has a non-zero diagonal
MLE.release(WINS / 3, np.zeros(3))  # data holds 0.
MLE.release(WINS, np.zeros(4))  # noise of shape
MLE.release(WINS, [0, 0, np.inf])  # noise holds inf
MLE.perturb([1, 1, 2], np.zeros(3))  # wins of shape
PerturbedMle(Person(3, 1), 1.0, 1.0).release(LABELLED, np.zeros(3))  # a person in data has 2 compar
PerturbedMle(Person(3, 1), 1.0, 1.0).release(WINS, np.zeros(3))  # does not say who gave which
OneQuestion.private(1.0, WholeRanking(3), groups=0)  # groups = 0
OneQuestion.private(1.0, WholeRanking(3), groups=4, cap=5)  # cap = 5
OneQuestion.private(0, WholeRanking(3), groups=4)  # epsilon = 0
OneQuestion.private(1, WholeRanking(3), groups=6).publish([[0, 1, 2]] * 5, rng=RNG)  # groups = 6
AnswersOnDemand.private(1.0, WholeRanking(5), cap=2)  # cap = 2: allowed is an integer >= 3
AnswersOnDemand(WholeRanking(5), 1.0, cap=3, calibration="loose")  # calibration = 'loose'
AnswersOnDemand.private(1, WholeRanking(3), cap=3).publish([[0, 0, 1]], rng=RNG)  # positions[0]
NoisyPairs.private(1.0, NINE, "borda")  # solver = 'borda'
NoisyPairs.private(1.0, NINE, delta=1.0)  # delta = 1.0
NoisyPairs.printed(1.0, WholeRanking(3))  # users = None with clip
NoisyPairs.private(1.0, NINE, delta=0.1).at_loss(1.0)  # gaussian=True
NoisyPairs.private(1.0, NINE).pmf(np.zeros((4, 4)))  # data has 4 items
NoisyPairs.private(1.0, WholeRanking(3, users=8)).pmf(CYCLE)  # data holds 9 to 9 answers
NoisyPairs.private(1.0, WholeRanking(4), "kemeny").pmf(np.ones((4, 4)) - np.eye(4))  # exactly 3
NoisyPairs.private(1.0, WholeRanking(3), "kemeny").loss("ranking")  # users = None
CappedKwikSort.private(1.0, NINE, 1)  # cap = 1
CappedKwikSort.private(1.0, NINE, 2, share=0.0)  # share = 0
CappedKwikSort.private(1.0, WholeRanking(3), 2)  # users = None
CappedKwikSort.private(1.0, NINE, 2).sample(CYCLE / 9, rng=RNG)  # data holds 0.
ExponentialRanking.private(1.0, NINE).pmf(-CYCLE)  # data holds -
ExponentialRanking.private(1.0, WholeRanking(17)).sample(1 - np.eye(17), rng=RNG)  # n_items = 17
ExponentialRanking.private(1.0, WholeRanking(8)).pmf(1 - np.eye(8))  # n_items = 8
ExponentialRanking.private(1.0, WholeRanking(4, users=30)).loss()  # users =
ExponentialRanking.private(1.0, WholeRanking(3, users=25)).loss()  # users =
ExponentialRanking.private(1.0, WholeRanking(3, 2, "add_remove")).loss()  # users =
compare_rankers(PLACE, 1.0, datasets=0, draws=1, rng=RNG)  # datasets = 0
compare_rankers(PLACE, 1.0, datasets=1, draws=0, rng=RNG)  # draws = 0
Situation("pairs", "person", 4, 9, 6, 0.7)  # data = 'pairs'
Situation("surveys", "nobody", 4, 9, 6, 0.7)  # protect = 'nobody'
Situation("surveys", "person", 2, 9, 6, 0.7)  # n_items = 2
Situation("surveys", "person", 4, 0, 6, 0.7)  # people = 0
Situation("surveys", "person", 4, 9, 2.5, 0.7)  # per_user = 2.5
Situation("surveys", "person", 4, 9, 6, 0.5)  # agree = 0.5
Situation("surveys", "person", 4, 9, 6, 1.0)  # agree = 1.0
pair_errors(ONE_PAIR, 1.2, 5)  # agree = 1.2
pair_errors(ONE_PAIR, 0.7, 0)  # users = 0
expected_wrong_pairs(ONE_PAIR, np.full((4, 4), 0.5), 5)  # preference of shape
planted_strengths(3, rng=RNG)  # n_items = 3
next(simulated_tables(LINE, [], 5, rng=RNG))  # users
next(simulated_tables(LINE, [10, 10], 5, rng=RNG))  # users
rankers_at(VOUCHED, [0.0], "printed")  # epsilon
rankers_at(VOUCHED, [1.0], "tight")  # kind
paired_errors(0 * LINE + 2, TABLES, rankers_at(VOUCHED, [1.0], "printed"), rng=RNG)  # truth
critical_gaps(4, 2, scale=1.0, size=2, rng=RNG, p=1.0, comparisons=5)  # exactly one
critical_gaps(4, 2, scale=1.0, size=2, rng=RNG)  # exactly one
critical_gaps(4, 2, scale=1.0, size=2, rng=RNG, p=1.5)  # p = 1.5
critical_gaps(4, 2, scale=-1.0, size=2, rng=RNG, p=1.0)  # scale
critical_gaps(4, 4, scale=1.0, size=2, rng=RNG, p=1.0)  # k = 4
critical_gaps(4, 2, scale=1.0, size=0, rng=RNG, p=1.0)  # size
pair_order_error(-0.1, FLIPPED_TWO, users=3)  # gap = -0.1
pair_order_error(0.1, FLIPPED_TWO, users=2.5)  # users holds 2.5
privacy_schedule("flat", 10, [10])  # kind = 'flat'
privacy_schedule("faster", 10, [0])  # users = [0]
response_errors(np.zeros((3, 4)), FLIPPED_FOUR, users=9, gamma=1, replicates=2, rng=RNG)  # theta
response_errors(np.arange(4.0), FLIPPED_FOUR, users=9, gamma=-1, replicates=2, rng=RNG)  # gamma = -
ranking_errors([1.0, 2.0, 3.0], [1.0, 2.0], 1)  # truth of shape
trend([1, 2, 3], np.zeros((2, 5)))  # curve
trend([1, 2], np.zeros((2, 5)), confidence=1.0)  # confidence = 1.0
log_relative_error([1, 2], [1, 2], "l1")  # norm = 'l1'
log_relative_error([1, 2], [1, 2, 3], "l2")  # truth of shape (3,)
log_relative_error([1, 2], [0, 0], "l2")  # truth is zero
quantile_interval([1, np.nan], 0.5)  # values holds nan
quantile_interval([1], 1)  # q = 1
top_k_error([4, 3, 2, 1], [True, True], 2)  # truth_mask
top_k_error([4, 3, 2, 1], [True] * 3 + [False], 2)  # truth_mask
"""


MADE = """
import numpy as np
from dataclasses import replace
from fractions import Fraction
from scipy import sparse

def release(**changed):
    votes = Answers("comparisons", ("a", "b"), np.array([[0], [1]]), np.array([1]))
    return rank_privately(votes, **{"epsilon": 1, "protect": "person", "max_answers": 3} | changed)

FLIP = Edge(3, exchange=False)
RNG = np.random.default_rng(0)
WINS = np.array([[0, 2, 1], [1, 0, 2], [0, 1, 0]])
CYCLE = np.array([[0, 7, 3], [2, 0, 6], [6, 3, 0]])
HALVES = np.full((3, 3), 0.5)
ONES = sparse.csr_array(np.ones((1, 2)))
PAIRS = np.array([[0, 1]])
LINE = np.arange(8.0)[None]
TABLES = [np.ones((1, 8, 8)) - np.eye(8)]
TABLE = load_table("immigration")
coin = exponential_mechanism_distribution
COINS = [coin({0: 1, 1: 0}), coin({0: 0, 1: 1}, 2)]
VOUCHED = Person(8, 5, vouched=True)
NINE = WholeRanking(3, users=9)
SKIP = Person(4, design="each_pair_or_skip")
LABELLED = Comparisons(3, winner=[0, 1, 0], loser=[1, 2, 2], user=[0, 0, 1])
COUNTS = NoisyCounts.private(1.0, Edge(3))
WHOLE = DiscreteCounts.private(1.0, Edge(3))
FLIPPED = FlippedAnswers.private(1.0, FLIP)
FLIPPED_TWO = FlippedAnswers.private(1.0, Edge(2, exchange=False))
FLIPPED_FOUR = FlippedAnswers.private(1.0, Edge(4, exchange=False))
FOOTRULE = PrivateFootrule.private(1.0, WholeRanking(3))
ONE_PAIR = PairResponses.private(1.0, WholeRanking(3))
MLE = PerturbedMle(Edge(3), 1.0, 1.0)
PLACE = Situation("surveys", "person", 4, 9, 6, 0.7)
"""
NAMES: dict[str, object] = {}
for wing in WINGS.split():
    NAMES |= vars(importlib.import_module(f"dpbook.{wing}"))
exec(MADE, NAMES)


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_an_argument_is_refused_by_name(line):
    call, words = line.split("  # ")
    with pytest.raises((ValueError, NotImplementedError), match=re.escape(words)):
        eval(call, NAMES)
