"""Derive what certificates of kind "laws" list from their words: `derive_laws.py certificates`.

By the table of FORMAT.md a claim has a mechanism, relation, size, power of t and loss.  From these
come all ordered pairs of data sets, their bounds, and each law.  Verifiers see that inequalities
hold; this program, which imports nothing of the book, sees that they are those of the claim.
"""

import json
import re
import sys
from collections import Counter
from functools import cache
from itertools import chain, combinations, permutations, product
from itertools import combinations_with_replacement as multisets
from math import comb, prod
from operator import add, mul, sub
from pathlib import Path

HERE = Path(__file__).resolve().parent
FORMAT = [HERE / "FORMAT.md", HERE.parent / "proofs" / "FORMAT.md"]


class Polynomial(dict):
    """In t and 1/t: of each power the coefficient, if that is not 0."""

    def __mul__(self, other):
        return total({i + j: c * d for i, c in self.items()} for j, d in other.items())


def total(polynomials):
    found = Counter()
    for each in polynomials:
        for k, c in each.items():
            found[k] += c
    return Polynomial({k: c for k, c in found.items() if c})


def t(power, times=1):
    return Polynomial({power: times})


def same(law, other):
    """Whether two laws, as weights of outcomes, give every outcome the same chance for every t."""
    one, two, none = total(law.values()), total(other.values()), Polynomial()
    return all(law.get(o, none) * two == other.get(o, none) * one for o in {*law, *other})


def need(holds, words):
    if not holds:
        raise ValueError(words)


# ------------------------------------------------------------------ data sets


def answers(ranking, asked=None):
    """Of each pair of items: 1 if the first one has the smaller place, else 0."""
    asked = asked or combinations(range(len(ranking)), 2)
    return tuple(int(ranking[i] < ranking[j]) for i, j in asked)


def away(a, b):
    return tuple(map(sub, a, b))


def distance(a, b):
    return sum(map(abs, away(a, b)))


def kendall(a, b):
    return distance(answers(a), answers(b))


def sheets(n, *other):
    """The winners of all pairs of items; or what else there may be for a pair."""
    return product(*((*pair, *other) for pair in combinations(range(n), 2)))


def wins(n, lists):
    return [tuple(winners.count(item) for item in range(n)) for winners in lists]


def one_changed(x, y):
    """Whether two collections have all but one of each in common."""
    return sum((Counter(x) - Counter(y)).values()) == sum((Counter(y) - Counter(x)).values()) == 1


# ------------------------------------------------------------------ mechanisms: weights of outcomes
# from a data set, the size, all data sets and the listed outcomes


def coins(right):
    """Reports of bits, each right with odds t : 1."""
    every = product((0, 1), repeat=len(right))
    return {r: t(len(right) - distance(r, right)) for r in every}


def two_responses(data, *_):
    odds, more, adaptive, bit = data
    both, asked = product((0, 1), repeat=2), [r == bit if adaptive else bit for r in (0, 1)]
    return {(r, s): t(odds * (r == bit) + more * (s == asked[r])) for r, s in both}


def random_pairs(data, size, *_):
    drawn = combinations(combinations(range(len(data)), 2), size["L"])
    return {(q, r): w for q in drawn for r, w in coins(answers(data, q)).items()}


def pair_or_parity(data, *_):
    v01, v02, v12 = (2 * bit - 1 for bit in answers(data))
    right = [*((bit, 3) for bit in answers(data)), (v01 + v12 - v02 == 1, 1)]
    return {(q, r): t(r == bit, often) for q, (bit, often) in enumerate(right) for r in (0, 1)}


def order_of_items(data, size, *_):
    every, orders = combinations(range(size["n"]), size["k"]), [*permutations(range(size["k"]))]
    drawn = {items: [data[item] for item in items] for items in every}
    right = {items: tuple(map(sorted(places).index, places)) for items, places in drawn.items()}
    return {(items, r): t(r == right[items]) for items in right for r in orders}


def hypercube(data, *_):
    """A corner on the side of the answers with odds t : 1; half of a tied one is on each side."""
    signs = [2 * bit - 1 for bit in answers(data)]
    sides = {z: sum(map(mul, z, signs)) for z in product((-1, 1), repeat=len(signs))}
    return {z: total([t(side >= 0), t(side > 0)]) for z, side in sides.items()}


def noisy(counts, _, every, *__):
    """Noise z has weight t^-|z|; what is cut off at an end comes to 1/(1 - 1/t) times the end."""
    high = max(map(max, every))
    inner = {o: sum(0 < x < high for x in o) for o in product(range(high + 1), repeat=len(counts))}
    return {o: prod([GAP] * k, start=t(-distance(o, counts))) for o, k in inner.items()}


def net_wins(file):
    return [tuple((k == won) - (k == lost) for k in range(3)) for won, lost in file] or [(0, 0, 0)]


def near(centre=(0, 0, 0)):
    """Whole vectors about a centre and with its sum."""
    moves = product(range(-12, 13), repeat=2)
    return tuple(tuple(map(add, centre, (x, y, -x - y))) for x, y in moves)


@cache
def losses(level, centres, vectors):
    """All ways in which levels around centres differ at vectors; far away they repeat."""
    levels = ([level(away(o, c)) for c in centres] for o in vectors)
    return {tuple(k - at[0] for k in at) for at in levels}


def leveled(level, centres_of, data, every, listed):
    """Weight t^-level around a centre, each as likely; () is every vector that is not listed."""
    centres, vectors = centres_of(data), tuple(filter(None, listed))
    every = tuple(sorted({c for x in every for c in centres_of(x)}))
    lost = losses(level, every, near(every[0]))
    need(losses(level, every, vectors) == lost, "an outcome is missing")
    law = {o: GAP * GAP * total(t(-level(away(o, c))) for c in centres) for o in vectors}
    # level 0 has one vector; from the second on each has as many more as the one before (Ehrhart)
    one, two = (sum(level(o) == k for o in near()) for k in (1, 2))
    whole = total([GAP * GAP, t(-1, one) * GAP, t(-2, two - one)])
    return law | {(): total([t(0, len(centres)) * whole, t(0, -1) * total(law.values())])}


GAP, CUT = Polynomial({0: 1, -1: -1}), Polynomial({1: 2, 0: -1})  # 1 - 1/t and 2t - 1
MECHANISMS = {
    "randomized response": lambda data, *_: coins(data),
    "randomized response on all pairs": lambda data, *_: coins(answers(data)),
    "two randomized responses": two_responses,
    "random pairs, randomized response": random_pairs,
    "pair or parity": pair_or_parity,
    "order of k random items": order_of_items,
    "hypercube, ties split": hypercube,
    "exponential mechanism, Kendall distance": lambda data, size, *_: {
        r: t(-sum(kendall(r, vote) for vote in data)) for r in permutations(range(size["n"]))
    },
    "discrete Laplace noise": noisy,
    "discrete Laplace noise, by design": lambda data, _, every, __: noisy(
        data[2], _, [counts for *_, counts in every]
    ),
    "Laplace noise on a bit, cut at one half": lambda data, *_: {
        (r,): CUT if (r,) == data else t(0) for r in (0, 1)
    },
    "zonotope level noise": lambda data, _, *more: leveled(  # three items
        lambda v: (max(max(v), -min(v)) + 1) // 2, lambda sheet: [sheet], data, *more
    ),
    "one answer kept, root level noise": lambda data, _, *more: leveled(
        lambda v: sum(x for x in v if x > 0), net_wins, data, *more
    ),
}

# ------------------------------------------------------------------ relations: from the power of t
# that is e^epsilon and the size, the bound of each ordered pair of data sets


def pairs(data, bound, related=lambda *two: True):
    """All ordered pairs that are related; the bound is a power of t, or a function of the two."""
    every = [two for two in permutations(data, 2) if related(*two)]
    return {two: t(bound(*two) if callable(bound) else bound) for two in every}


def edges(e, n):
    """One comparison becomes another: of the same pair, or of one that was not compared."""
    data = [[(at, won) for at, won in enumerate(s) if won is not None] for s in sheets(n, None)]
    changed = [two for two in permutations(data, 2) if one_changed(*two)]
    return {tuple(wins(n, [[won for _, won in x] for x in two])): t(e) for two in changed}


def designs(_, n, L):
    """0: some comparisons of any pairs; 1: every pair once; 2: every pair once or not at all."""
    every = comb(n, 2)
    cases = [(0, k, product(range(n), repeat=k), 2 * k) for k in range(1, L + 1)]
    cases += [(1, every, sheets(n), n**2 // 2), (2, every, sheets(n, None), every + n**2 // 4)]
    data = [([(kind, k, x) for x in wins(n, some)], bound) for kind, k, some, bound in cases]
    return {two: t(bound) for some, bound in data for two in permutations(some, 2)}


def files(e, n, L, answers):
    kept = [multisets(permutations(range(n), 2), k) for k in range(answers + 1)]
    return pairs(chain(*kept), e)


RELATIONS = {
    "any answers": lambda e, L: pairs(product((0, 1), repeat=L), L * e),
    "any answers, by distance": lambda _, k: pairs(product((0, 1), repeat=k), distance),
    "one comparison of a ranking": lambda e, n: pairs(
        permutations(range(n)), e, lambda x, y: kendall(x, y) == 1
    ),
    "rankings": lambda e, n, **_: pairs(permutations(range(n)), e),
    "rankings, by distance": lambda _, n: pairs(permutations(range(n)), kendall),
    "one ranking of m": lambda e, n, m: pairs(multisets(permutations(range(n)), m), e, one_changed),
    "the answer": lambda _, levels: pairs(
        product(*[range(1, levels + 1)] * 2, (0, 1), (0, 1)),
        lambda x, y: x[0] + x[1],
        lambda x, y: x[:3] == y[:3],
    ),
    "one bit": lambda _, L: dict.fromkeys(permutations([(0,), (1,)]), CUT),
    "vectors, by l1 distance": lambda _, d, high: pairs(
        product(range(high + 1), repeat=d), distance
    ),
    "edge neighbours": edges,
    "one person": lambda e, n, L, m: pairs(wins(n, product(range(n), repeat=L)), e),
    "one person, by design": designs,
    "one sheet": lambda e, n: pairs(wins(n, sheets(n)), e),
    "one file": files,
}
ORDERS = {"one bit": [[[0, 1], [-1, 2]], [[-1, 2], [0, 0, 1]]]}  # t < 2t - 1 < t^2

# ------------------------------------------------------------------ certificates


def claims():
    """Mechanism, relation, size, power and loss of each claim."""
    (text, *_) = (path.read_text(encoding="utf-8") for path in FORMAT if path.exists())
    for claim, row in re.findall(r"^\| ([A-Z][A-Z0-9-]+) \| (.*) \|$", text, re.M):
        mechanism, relation, size, power, loss, _ = row.split(" | ")
        size = {name: int(number) for name, number in re.findall(r"(\w+) = (\d+)", size)}
        yield claim, ([mechanism, relation, size, int(power)], loss)


def label(found):
    return tuple(map(label, found)) if isinstance(found, list) else found


def read(coefficients):
    return total(t(k, c) for k, c in enumerate(coefficients))


def check(one, known):
    need(one["claim"] in known, "not a claim of the table")
    named, loss = known[one["claim"]]
    told = [one[key] for key in ("mechanism", "relation", "size", "power")]
    need(told == named, f"the claim has {named}")
    mechanism, relation, size, power = named
    wanted = RELATIONS[relation](power, **size)
    every, outcomes = {x for x, _ in wanted}, [*map(label, one["outcomes"])]
    laws = {x: MECHANISMS[mechanism](x, size, every, outcomes) for x in every}
    wanted = {(x, y): bound for (x, y), bound in wanted.items() if not same(laws[x], laws[y])}
    names, bounds = [*map(label, one["datasets"])], one["bounds"]
    for x, law in zip(names, one["laws"], strict=True):
        weights = dict(zip(outcomes, map(read, law), strict=True))
        need(same(laws[x], weights), f"the law of {x} is another")
    listed = {(names[x], names[y]): read(bounds[b]) for x, y, b, _ in one["pairs"]}
    need(listed == wanted, "other pairs or bounds than those of the relation")
    order = [[bounds[low], bounds[high]] for low, high in one["order"]]
    need(order == ORDERS.get(relation, []), "another order than the one that is promised")
    sharp = [b for *_, b, exactly in one["pairs"] if exactly]
    need(loss != "exactly" or len(sharp) == len(listed), "a loss is not exactly its bound")
    attained = {*sharp} == {b for *_, b, _ in one["pairs"]}
    need(loss == "at most" or attained, "a bound is not attained")


def main(folder):
    texts = [path.read_text(encoding="utf-8") for path in sorted(Path(folder).glob("*.json"))]
    laws, bad = [one for one in map(json.loads, texts) if one["kind"] == "laws"], []
    for one in laws:
        try:
            check(one, dict(claims()))
        except ValueError as words:
            bad.append(f"{one['claim']}: {words}")
        except Exception as error:
            bad.append(f"{one['claim']}: is no certificate ({error!r})")
    print("\n".join(bad) or f"{len(laws)} certificates derived again")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
