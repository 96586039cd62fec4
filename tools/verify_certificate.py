"""Check certificates again: `verify_certificate.py _build/claims.json _build/certificates`.

Polynomials: laws (for each outcome one in t = e^(epsilon/power), the coefficient of 1 first), pairs
of laws, both ways, and for each pair and outcome D(1 + s) for D = t^power q Z_p - p Z_q, with the
totals Z.  It must come out as listed, without a negative coefficient on any piece between its cuts.
Balls: steps, rounded outward, end in centre +- radius.  Of a root they end in f(low) f(high) < 0,
where f has a value, without a gap, on all that lies between.
"""

import hashlib
import json
import re
import sys
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from itertools import pairwise, product
from math import comb
from pathlib import Path

FOR_ALL = "all-epsilon"  # the evidence whose claims need a proof for every epsilon
LONGEST, LARGEST, DEEPEST, FILE = 400, 10**200, 2000, 10**6
DIGITS = "[0-9]{1,20}"
WHOLE, CUT = "-?[0-9]{1,6}", rf"{DIGITS}(/{DIGITS})?"
DECIMAL = rf"-?{DIGITS}(\.{DIGITS})?(E[+-]?[0-9]{{1,2}})?"
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


def shifted(a, by):  # f(x + by)
    return [sum(comb(k, j) * a[k] * by ** (k - j) for k in range(j, len(a))) for j in range(len(a))]


def polynomials(record, *, power, laws, pairs, which, differences, cuts):
    every = [*(p for law in laws for p in law), *differences]
    need(max(map(len, every)) <= LONGEST and power <= LONGEST, "the power or a degree is huge")
    numbers = [power, *(n for row in [*pairs, *which, *every] for n in row)]
    need(all(type(n) is int and abs(n) < LARGEST for n in numbers), "a number is none, or huge")
    # where both ways hold, all weights have the sign of their total
    both = {(y, x) for x, y in pairs}
    need(both == {(x, y) for x, y in pairs}, "a pair is compared one way only")
    need(len(both) == len(pairs), "a pair is listed twice")
    need({x for x, _ in both} == {*range(len(laws))}, "a law is not compared, or not there")
    used = {at for row in which for at in row}
    need(used == {*range(len(differences))}, "a difference is not used, or not there")
    points = range(power + 2 * max(map(len, every)))
    *laws, moved = [
        [[sum(c * x**k for k, c in enumerate(p)) for x in points] for p in law]
        for law in [*laws, [shifted(d, -1) for d in differences]]
    ]
    totals = [[*map(sum, zip(*law, strict=True))] for law in laws]
    for (x, y), row in zip(pairs, which, strict=True):
        alike = True
        for p, q, at in zip(laws[x], laws[y], row, strict=True):
            sides = zip(points, q, totals[x], p, totals[y], moved[at], strict=True)
            sides = [(t**power * a * b - c * d == e, a * b == c * d) for t, a, b, c, d, e in sides]
            need(all(right for right, _ in sides), f"difference {at} comes out otherwise")
            alike &= all(same for _, same in sides)
        need(not alike, "a law is compared with itself")
    for at, d in enumerate(differences):
        listed = cuts.get(str(at), [])
        right = len(listed) <= LONGEST and all(re.fullmatch(CUT, cut) for cut in listed)
        need(right, "a cut is no positive number")
        ends = [Fraction(0), *map(Fraction, listed)]
        pieces = [shifted(d, ends[-1])]
        for low, high in pairwise(ends):
            scaled = [c * (high - low) ** k for k, c in enumerate(shifted(d, low))]
            pieces.append(shifted(scaled[::-1], 1))
        need(all(c >= 0 for piece in pieces for c in piece), f"difference {at} may be negative")


def balls(record, *, numbers):
    need(numbers and {*numbers} == {*record["bounds"]}, "the card bounds other numbers")
    for name, one in numbers.items():
        try:
            ball(record["report"][name], [*map(Decimal, record["bounds"][name])], **one)
        except Refused as words:
            raise Refused(f"{name}: {words}") from None


def ball(number, bounds, *, centre, radius, precision, root, steps):
    need(all(re.fullmatch(DECIMAL, text) for text in (centre, radius)), "the ball is no number")
    need(type(precision) is int and 20 <= precision <= 100, "the precision is out of bounds")
    need(len(steps) <= DEEPEST, "there are too many steps")
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
            need(
                step in ends or re.fullmatch(WHOLE, step), "a constant is not a small whole number"
            )
            found.append(ends[step] if step in ends else [Decimal(step)] * 2)
            continue
        need(ARGUMENTS.get(step) == len(sides), "an unknown step")
        need(step != "divide" or sides[1][0] > 0 or sides[1][1] < 0, "a divisor may be 0")
        corners = [getattr(context, step)(*corner) for corner in product(*sides)]
        found.append([context.next_minus(min(corners)), context.next_plus(max(corners))])
    return found


def check(records, path):
    need(len(records) == 1, f"is recorded {len(records)} times")
    (record,) = records
    need("certificate" in record, f"is of evidence {FOR_ALL} and has no certificate")
    need(path.stat().st_size <= FILE, "the certificate is too long")
    read = {"parse_float": no_float, "parse_constant": no_float, "object_pairs_hook": once}
    one = json.loads(path.read_text(encoding="utf-8"), **read)
    plain = json.dumps(one, sort_keys=True, separators=(",", ":")).encode()
    same = record["certificate"] == hashlib.sha256(plain).hexdigest()
    need(same, "not the certificate that the record names")
    need(one.pop("claim") == path.stem, "another claim")
    kind = one.pop("kind")
    needed = "polynomials" if record["evidence"] == FOR_ALL else "balls"
    need(
        kind == needed,
        f"the kind {kind!r} does not prove what the evidence {record['evidence']} says",
    )
    (polynomials if kind == "polynomials" else balls)(record, **one)


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
