"""What OpenDP, diffprivlib and dp-accounting promise, account and draw: `make libraries`.

Writes ``dpbook/data/libraries.json``, which page 42 judges by enumeration; nothing is judged here.
Rows of versions that are not installed are kept, so that an older version can be run beside it.
"""

from __future__ import annotations

import json
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import permutations
from pathlib import Path
from typing import Any

RECORD = Path(__file__).resolve().parents[1] / "dpbook" / "data" / "libraries.json"
DRAWS = 50_000  # fixed before the record was drawn, with the error 1e-9 of the page's test
SEED = 42
WINS = [2, 1, 0]  # three items that met once
EACH = math.log(3)  # an answer that is kept with probability 3/4
ORDERS = ["".join(order) for order in permutations("abc")]
Row = dict[str, Any]


def promise(call: str, law: str, epsilon: float, delta: float = 0.0, **how: Any) -> Row:
    """A release of this law is said to be (epsilon, delta)-private."""
    return {"kind": "promise", "call": call, "law": law, "says": [epsilon, delta], **how}


def draws(call: str, law: str, draw: Callable[[], Any], values: Any, **how: Any) -> Row:
    """How often each value was drawn: from -values to values with all beyond, if it is a number."""
    if isinstance(values, int):
        ends, one = values, draw
        values, draw = list(range(-ends, ends + 1)), lambda: min(max(int(one()), -ends), ends)
    seen = Counter(draw() for _ in range(DRAWS))
    says = [seen[v] for v in values]
    return {"kind": "draws", "call": call, "law": law, "says": says, "values": values, **how}


def opendp() -> Iterator[Row]:
    """Selection, noise and answers of OpenDP, which cannot be seeded."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    make, ints = dp.m, dp.vector_domain(dp.atom_domain(T=int))
    scores, grow = dp.linf_distance(T=int), dp.linf_distance(T=int, monotonic=True)
    pure, zcdp = dp.max_divergence(), dp.zero_concentrated_divergence()

    first = make.make_noisy_max(ints, scores, pure, scale=1.0)
    call = "make_noisy_max(max_divergence, scale=1)"
    yield promise(call, "flip", first.map(1), scale=1, unit="answer")
    yield draws(call, "flip", lambda: first(WINS), [0, 1, 2], scale=1)
    grown = make.make_noisy_max(ints, grow, pure, scale=2.0)
    call = "make_noisy_max(monotonic=True, scale=2)"
    yield promise(call, "flip", grown.map(2), scale=2, unit="ranking")
    concentrated = make.make_noisy_max(ints, scores, zcdp, scale=1.0)
    call = "make_noisy_max(zero_concentrated_divergence, scale=1)"
    yield {"kind": "rho", "call": call, "law": "weights", "says": concentrated.map(1), "scale": 1}
    yield draws(call, "weights", lambda: concentrated(WINS), [0, 1, 2], scale=1)
    pair = make.make_noisy_top_k(ints, scores, pure, 2, 1.0)
    call = "make_noisy_top_k(max_divergence, k=2, scale=1)"
    yield promise(call, "top2", pair.map(1), scale=1, unit="answer")
    twos = list(permutations(range(3), 2))
    yield draws(call, "top2", lambda: tuple(pair(WINS)), twos, scale=1)
    call = 'make_report_noisy_max_gumbel(scale=0, optimize="max")'
    with warnings.catch_warnings(action="ignore"):
        best = make.make_report_noisy_max_gumbel(ints, scores, scale=0.0, optimize="max")
    yield {"kind": "first", "call": call, "law": "largest", "says": best(WINS)}

    counts = make.make_laplace(ints, dp.l1_distance(T=int), scale=2.0)
    call = "make_laplace(vector of int, scale=2)"
    yield promise(call, "laplace", counts.map(2), scale=2, shift=[1, -1])
    yield draws(call, "laplace", lambda: counts([0])[0], 8, scale=2)
    normal = make.make_gaussian(ints, dp.l2_distance(T=float), scale=2.0)
    curve = dp.c.make_zCDP_to_approxDP(normal).map(math.sqrt(2))
    call = "make_gaussian(vector of int, scale=2), make_zCDP_to_approxDP"
    yield promise(call, "gauss", curve.epsilon(1e-5), 1e-5, sd=2, shift=[1, -1])
    yield draws(call, "gauss", lambda: normal([0])[0], 6, sd=2)
    coin = make.make_randomized_response_bool(0.75)
    yield promise("make_randomized_response_bool(3/4)", "answer", coin.map(1), each=EACH, count=1)
    order = make.make_randomized_response(ORDERS, 0.5)
    call = "make_randomized_response(six orders, 1/2)"
    yield promise(call, "order", order.map(1), keep=0.5)
    yield draws(call, "order", lambda: order("abc"), ORDERS, keep=0.5)


def diffprivlib() -> Iterator[Row]:
    """Selection, noise, answers and the accountant of diffprivlib."""
    import diffprivlib.mechanisms as m
    from diffprivlib import BudgetAccountant

    chosen = {"sensitivity": 1, "utility": WINS, "random_state": SEED}
    for name, law in (("Exponential", "weights"), ("PermuteAndFlip", "flip")):
        mechanism = getattr(m, name)(epsilon=2.0, **chosen)
        call = f"{name}(epsilon=2, sensitivity=1)"
        yield promise(call, law, mechanism.epsilon, scale=1, unit="answer")
        yield draws(call, law, mechanism.randomise, [0, 1, 2], scale=1)
    noise = m.Geometric(epsilon=1.0, sensitivity=2, random_state=SEED)
    call = "Geometric(epsilon=1, sensitivity=2)"
    yield promise(call, "laplace", noise.epsilon, scale=2, shift=[2])
    yield draws(call, "laplace", lambda: noise.randomise(0), 8, scale=2)
    bell = m.GaussianDiscrete(epsilon=1.0, delta=1e-5, random_state=SEED)
    call = "GaussianDiscrete(epsilon=1, delta=1e-5)"
    yield promise(call, "gauss", 1.0, 1e-5, sd=bell._scale, shift=[1])
    yield draws(call, "gauss", lambda: bell.randomise(0), 11, sd=bell._scale)
    for epsilon, delta in ((1.0, 1e-5), (20.0, 1e-9)):
        sd = math.sqrt(m.GaussianAnalytic(epsilon=epsilon, delta=delta, sensitivity=1).variance(0))
        call = f"GaussianAnalytic(epsilon={epsilon:g}, delta={delta:g})"
        yield promise(call, "normal", epsilon, delta, sd=sd)
    answer = m.Binary(epsilon=EACH, value0="0", value1="1", random_state=SEED)
    call = "Binary(epsilon=log 3)"
    yield draws(call, "answer", lambda: answer.randomise("0"), ["0", "1"], each=EACH)
    apart = [(a, b, _wrong(a, b)) for i, a in enumerate(ORDERS) for b in ORDERS[i:]]
    near = m.ExponentialCategorical(epsilon=3.0, utility_list=apart, random_state=SEED)
    call = "ExponentialCategorical(epsilon=3, wrong pairs)"
    yield promise(call, "mallows", near.epsilon, rate=1)
    yield draws(call, "mallows", lambda: near.randomise("abc"), ORDERS, rate=1)
    spent = BudgetAccountant(spent_budget=[(0.1, 0.0)] * 20).total(slack=1e-5)
    call = "BudgetAccountant, 20 spends of 0.1, slack=1e-5"
    yield promise(call, "answer", *spent, each=0.1, count=20)
    for delta in (0.0, 0.1):
        clipped = m.LaplaceTruncated(epsilon=1.0, delta=delta, sensitivity=1, lower=0, upper=3)
        call = f"LaplaceTruncated(epsilon=1, delta={delta:g}, lower=0, upper=3).bias(0)"
        how = {"says": clipped.bias(0), "scale": 1 / (1 - math.log1p(-delta))}  # as randomise has
        yield {"kind": "bias", "call": call, "law": "clipped"} | how


def _wrong(a: str, b: str) -> int:
    pairs = ("ab", "ac", "bc")
    return sum((a.index(x) < a.index(y)) != (b.index(x) < b.index(y)) for x, y in pairs)


def dp_accounting() -> Iterator[Row]:
    """Loss distributions and accountants of dp-accounting."""
    import dp_accounting as da
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting.rdp import RdpAccountant

    noise, ends = 2 / (1 + math.exp(EACH)), (False, True)  # said to be below, and above
    answer, steps = {"noise_parameter": noise, "num_buckets": 2}, {"parameter": 0.5}
    for name, law, given, each, counts in (
        ("from_randomized_response", "answer", answer, EACH, (1, 5, 20)),
        ("from_discrete_laplace_mechanism", "laplace", steps, 0.5, (1, 2)),
        ("from_laplace_mechanism", "continuous", {"parameter": 2.0}, 0.5, (1,)),
    ):
        make = getattr(pld, name)
        for count in counts:
            both = [make(**given, pessimistic_estimate=up).self_compose(count) for up in ends]
            at = [part * each * count for part in (0.0, 0.5, 0.9)]
            says = [[float(end.get_delta_for_epsilon(e)) for end in both] for e in at]
            how = {"at": at, "each": each, "count": count, "scale": 2, "shift": [1] * count}
            yield {"kind": "bracket", "call": f"{name}, {count}", "law": law, "says": says} | how
    one = da.NeighboringRelation.REPLACE_ONE
    for accountant in (RdpAccountant, PLDAccountant):
        for count in (1, 20):
            event = da.SelfComposedDpEvent(da.dp_event.RandomizedResponseDpEvent(noise, 2), count)
            total = accountant(neighboring_relation=one).compose(event).get_epsilon(1e-5)
            call = f"{accountant.__name__}, {count} RandomizedResponseDpEvent"
            yield promise(call, "answer", float(total), 1e-5, each=EACH, count=count)
    event = da.SelfComposedDpEvent(da.dp_event.DiscreteLaplaceDpEvent(0.5, 2), 2)
    total = PLDAccountant().compose(event).get_epsilon(1e-5)
    call = "PLDAccountant, 2 DiscreteLaplaceDpEvent"
    yield promise(call, "laplace", float(total), 1e-5, scale=2, shift=[2, 2])


LIBRARIES = {"opendp": opendp, "diffprivlib": diffprivlib, "dp-accounting": dp_accounting}


def rows() -> Iterator[Row]:
    """What the libraries that are installed say now."""
    for name, of in LIBRARIES.items():
        try:
            known = {"library": name, "version": version(name)}
            import_module(name.replace("-", "_"))
        except PackageNotFoundError:
            continue
        yield from (known | row for row in of())


def main() -> None:
    """Replace the rows of what is installed in the record."""
    new = json.loads(json.dumps([row | {"date": str(date.today())} for row in rows()]))
    done = {(row["library"], row["version"]) for row in new}
    old = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else []
    kept = [row for row in old if (row["library"], row["version"]) not in done]
    text = ",\n".join(json.dumps(row) for row in [*new, *kept])
    RECORD.write_text(f"[\n{text}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
