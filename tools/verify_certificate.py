"""Check certificates again: `verify_certificate.py _build/claims.json _build/certificates`.

`proofs/FORMAT.md` is their grammar.  Laws: for a pair x, y of data sets and an outcome of weights
p, q it must be seen that D = bound q Z_x - p Z_y >= 0 for all t >= 1, with the sums Z.  Balls:
steps, rounded outward, end in centre +- radius.  Of a root they end in f(low) f(high) < 0, where f
has a value, without a gap, on all that lies between.
"""

import hashlib
import json
import re
import sys
from decimal import Context, Decimal, Inexact
from itertools import product, zip_longest
from pathlib import Path

FOR_ALL = "all-epsilon"  # the evidence whose claims need a proof for every epsilon
LAWS = "mechanism relation size power bounds order datasets outcomes laws pairs"
BALL = "centre radius precision root steps"
LONGEST, LARGEST, MANY, FILE, CUTS = 400, 10**200, 2000, 10**6, 30
NAME, WHOLE = "[A-Za-z][A-Za-z0-9, -]{0,79}", "-?[0-9]{1,6}"
DECIMAL = r"-?[0-9]{1,20}(\.[0-9]{1,20})?(E[+-]?[0-9]{1,2})?"
OTHER_END = {"low": "high", "high": "low"}
ARGUMENTS = {"add": 2, "subtract": 2, "multiply": 2, "divide": 2, "exp": 1, "ln": 1}


class Refused(Exception):
    pass


def need(holds, words):  # unlike `assert`, under every option of Python
    if not holds:
        raise Refused(words)


def once(pairs):  # of an object of JSON
    need(len(dict(pairs)) == len(pairs), "a key stands twice")
    return dict(pairs)


def no_float(text):
    raise Refused(f"{text} is not a whole number")


def values(one, keys):
    need({*one} == {*keys.split()}, "other keys")
    return [one[key] for key in keys.split()]


def leaves(x):
    return [leaf for one in x for leaf in leaves(one)] if type(x) is list else [x]


def times(a, b):  # polynomials, the constant first
    found = [0] * (len(a) + len(b))
    for i, c in enumerate(a):
        for j, d in enumerate(b):
            found[i + j] += c * d
    return found


def minus(a, b):
    return [c - d for c, d in zip_longest(a, b, fillvalue=0)]


def shifted(f):  # f(x + 1)
    f = [*f]
    for start in range(len(f)):
        for k in range(len(f) - 2, start - 1, -1):
            f[k] += f[k + 1]
    return f


def sign(f, cuts=CUTS):  # on s >= 0: 2 positive; 1 so but in 0; 0 nowhere negative; -1 not shown
    if min(f) >= 0 or max(f) <= 0 or not cuts:
        return -1 if min(f) < 0 else 2 if f[0] else any(f)
    # beyond 1, and up to 1, where s = 1 / (1 + u)
    both = min(sign(shifted(half), cuts - 1) for half in (f, f[::-1]))
    return min(both, 0) if both < 2 else 2 if f[0] else 1


def laws(record, one):
    mechanism, relation, size, power, bounds, order, *labels, laws, pairs = values(one, LAWS)
    names = mechanism, relation, *size
    need(all(re.fullmatch(NAME, name) for name in names), "a name is no name")
    numbers = [*size.values(), *leaves([power, bounds, order, labels, laws, pairs])]
    whole = all(type(n) is int and abs(n) < LARGEST for n in numbers)
    need(whole, "a number is none, or huge")
    every = [*bounds, *(p for law in laws for p in law)]
    small = 1 <= power <= LONGEST and all(len(p) <= LONGEST + 1 for p in every)
    need(small, "the power or a degree is huge")
    need(all(p[-1:] != [0] for p in every), "a polynomial ends in 0")
    for some in labels:
        need(1 <= len(some) <= MANY, "too many labels, or none")
        need(len({*map(repr, some)}) == len(some), "a label stands twice")
    need(len(laws) == len(labels[0]), "a law is missing, or one too many")
    need({len(labels[1])} == {*map(len, laws)}, "a law has other outcomes")
    need(all(map(any, zip(*laws, strict=False))), "an outcome that no law has")
    sums = [[*map(sum, zip_longest(*law, fillvalue=0))] for law in laws]
    need(all(sign(shifted(z)) == 2 for z in sums), "a sum of weights may be 0")
    both = {(x, y) for x, y, _, _ in pairs}
    need(both == {(y, x) for x, y in both}, "a pair is compared one way only")
    need(len(both) == len(pairs), "a pair is listed twice")
    there, used = {*leaves([*map(list, both)])}, {*leaves(order), *(at for _, _, at, _ in pairs)}
    need(there == {*range(len(labels[0]))}, "a data set is not compared, or not there")
    need(used == {*range(len(bounds))}, "a bound is not used, or not there")
    # where both ways hold, a weight has the sign of its sum: none is negative
    seen = {}
    for x, y, at, sharp in pairs:
        met, differ = 0, False
        for p, q in zip(laws[x], laws[y], strict=False):
            key = at, *map(tuple, (p, sums[x], q, sums[y]))
            if key not in seen:
                here, there = times(p, sums[y]), times(q, sums[x])
                more = minus(times(bounds[at], there), here)
                need(sign(shifted(more)) >= 0, "the inequality may fail")
                seen[key] = any(p) and not any(more), any(minus(here, there))
            met, differ = met or seen[key][0], differ or seen[key][1]
        need(differ, "a law is compared with its equal")
        need(sharp == met, "sharp is not what it says")
    for low, high in order:
        need(sign(shifted(minus(bounds[high], bounds[low]))) >= 1, "the order may fail")


def balls(record, one):
    (numbers,) = values(one, "numbers")
    need(numbers and {*numbers} == {*record["bounds"]}, "the card bounds other numbers")
    for name, steps in numbers.items():
        try:
            ball(record["report"][name], [*map(Decimal, record["bounds"][name])], steps)
        except Refused as words:
            raise Refused(f"{name}: {words}") from None


def ball(number, bounds, one):
    centre, radius, precision, root, steps = values(one, BALL)
    need(all(re.fullmatch(DECIMAL, text) for text in (centre, radius)), "the ball is no number")
    need(type(precision) is int and 20 <= precision <= 100, "the precision is out of bounds")
    need(len(steps) <= MANY, "there are too many steps")
    places = [(at, k) for k, (_, *earlier) in enumerate(steps) for at in earlier]
    need(all(type(at) is int and 0 <= at < k for at, k in places), "a step is not there")
    exact, context = Context(prec=200, traps=[Inexact]), Context(prec=precision)
    middle, half = Decimal(centre), Decimal(radius)
    low, high = exact.subtract(middle, half), exact.add(middle, half)
    need(exact.scaleb(half, 9) <= abs(middle), "the ball is too wide")
    need(bounds == [low, high], "the card shows other bounds")
    need(type(number) in (int, Decimal) and low <= number <= high, "the number is not in the ball")
    if not root:
        (*_, last) = enclosed(steps, {}, context)
        need(low <= last[0] <= last[1] <= high, "the ball is wrong")
        return
    # each step by a number that it shares with its equals, and that of it with its ends exchanged
    same, names, mirrored, ends = {}, [], [], []
    for step, *at in steps:
        for found, told in ((names, step), (mirrored, OTHER_END.get(step, step))):
            found.append(same.setdefault((told, *(found[k] for k in at)), len(same)))
        ends.append({step} & {*OTHER_END} | set().union(*(ends[k] for k in at)))
    last, *at = steps[-1]
    need(last == "multiply" and [ends[k] for k in at] == [{"low"}, {"high"}], "no f(low) f(high)")
    need(mirrored[at[0]] == names[at[1]], "the two ends are of different functions")
    (*_, last) = enclosed(steps, {"low": [low] * 2, "high": [high] * 2}, context)
    need(last[1] < 0, "the ball is wrong, or no change of sign is seen")
    enclosed(steps, {end: [low, high] for end in OTHER_END}, context)


def enclosed(steps, ends, context):
    found = []
    for step, *places in steps:
        sides = [found[at] for at in places]
        if not places:
            known = step in ends or re.fullmatch(WHOLE, step)
            need(known, "a constant is not a small whole number")
            found.append(ends[step] if step in ends else [Decimal(step)] * 2)
            continue
        need(ARGUMENTS.get(step) == len(sides), "an unknown step")
        need(step != "divide" or sides[1][0] > 0 or sides[1][1] < 0, "a divisor may be 0")
        corners = [getattr(context, step)(*corner) for corner in product(*sides)]
        found.append([context.next_minus(min(corners)), context.next_plus(max(corners))])
    return found


def check(records, path):
    need(len(records) == 1, f"is recorded {len(records)} times")
    record = records[-1]
    if "certificate" not in record:
        raise Refused(f"is of evidence {FOR_ALL} and has no certificate")
    need(path.stat().st_size <= FILE, "the certificate is too long")
    read = {"parse_float": no_float, "parse_constant": no_float, "object_pairs_hook": once}
    one = json.loads(path.read_text(encoding="utf-8"), **read)
    plain = json.dumps(one, sort_keys=True, separators=(",", ":")).encode()
    same = record["certificate"] == hashlib.sha256(plain).hexdigest()
    need(same, "not the certificate that the record names")
    need(one.pop("claim") == path.stem, "another claim")
    kind, evidence = one.pop("kind"), record["evidence"]
    proves = kind == ("laws" if evidence == FOR_ALL else "balls")
    need(proves, f"the kind {kind!r} does not prove what the evidence {evidence} says")
    (laws if kind == "laws" else balls)(record, one)


def main(claims, folder):
    records = json.loads(
        Path(claims).read_text(encoding="utf-8"), parse_float=Decimal, object_pairs_hook=once
    )
    names = {path.stem for path in Path(folder).glob("*.json")}
    names |= {
        one["id"]
        for one in records
        if "certificate" in one or (one["evidence"] == FOR_ALL and one["applies"])
    }
    bad = []
    for name in sorted(names):
        try:
            check([one for one in records if one["id"] == name], Path(folder, f"{name}.json"))
        except Refused as words:
            bad.append(f"{name}: {words}")
        except Exception as error:
            bad.append(f"{name}: is no certificate ({error!r})")
    print("\n".join(bad) or f"{len(names)} certificates checked again")
    return bool(bad) or not names


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
