"""Check certificates again: `verify_certificate.py _build/claims.json _build/certificates`.

Polynomials: laws (for each outcome one in t = e^(epsilon/power), the coefficient of 1 first), pairs
of laws and, for each pair and outcome, D(1 + s) for D = t^power q Z_p - p Z_q, with the totals Z.
It must come out as listed and have no negative coefficient, nor one on a piece between its cuts.
Balls: steps, rounded outward, end in centre +- radius (of a root: f(low) f(high), and below 0).
"""

import hashlib
import json
import sys
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise, product
from math import comb
from pathlib import Path


def shifted(a, by):  # f(x + by)
    return [sum(comb(k, j) * a[k] * by ** (k - j) for k in range(j, len(a))) for j in range(len(a))]


def polynomials(_, laws, power, pairs, which, differences, cuts):
    if any(c < 0 for law in laws for p in law for c in shifted(p, 1)) or not pairs:
        yield "a weight may be negative, or nothing is compared"
    points = range(power + 2 * max(len(p) for law in [*laws, differences] for p in law))
    *laws, moved = [
        [[sum(c * x**k for k, c in enumerate(p)) for x in points] for p in law]
        for law in [*laws, [shifted(d, -1) for d in differences]]
    ]
    totals = [[*map(sum, zip(*law, strict=True))] for law in laws]
    for (x, y), row in zip(pairs, which, strict=True):
        for p, q, at in zip(laws[x], laws[y], row, strict=True):
            sides = zip(points, q, totals[x], p, totals[y], moved[at], strict=True)
            if any(t**power * a * b - c * d != e for t, a, b, c, d, e in sides):
                yield f"difference {at} comes out otherwise"
    for at, d in enumerate(differences):
        ends = [Fraction(0), *map(Fraction, cuts.get(str(at), []))]
        pieces = [shifted(d, ends[-1])]
        for low, high in pairwise(ends):
            scaled = [c * (high - low) ** k for k, c in enumerate(shifted(d, low))]
            pieces.append(shifted(scaled[::-1], 1))
        if ends != sorted({*ends}) or any(c < 0 for piece in pieces for c in piece):
            yield f"difference {at} may be negative"


def balls(report, numbers):
    for name, one in numbers.items():
        middle, radius = Decimal(one["centre"]), Decimal(one["radius"])
        low, high, context, found = middle - radius, middle + radius, Context(one["precision"]), []
        for step, *places in one["steps"]:
            at_ends = {"low": low, "high": high} if one["root"] else {}
            sides = [found[at] for at in places]
            if step in ("add", "subtract", "multiply", "divide", "exp", "ln"):
                assert step != "divide" or sides[1][0] > 0 or sides[1][1] < 0
                ends = [getattr(context, step)(*corner) for corner in product(*sides)]
                found.append([context.next_minus(min(ends)), context.next_plus(max(ends))])
            else:
                found.append([at_ends.get(step) or Decimal(step)] * 2)
        right = found[-1][1] < 0 if one["root"] else low <= found[-1][0] <= found[-1][1] <= high
        if not (right and low <= Decimal(report[name]) <= high and radius <= abs(middle) / 10**9):
            yield f"{name}: the ball is wrong or too wide, or the number is not in it"


records = {one["id"]: one for one in json.loads(Path(sys.argv[1]).read_text())}
named, bad = {name for name, one in records.items() if "certificate" in one}, []
for name in sorted({*named, *(path.stem for path in Path(sys.argv[2]).glob("*.json"))}):
    path, record = Path(sys.argv[2], f"{name}.json"), records.get(name, {})
    one = json.loads(path.read_text()) if path.is_file() else {}
    plain = json.dumps(one, sort_keys=True, separators=(",", ":")).encode()
    if record.get("certificate") != hashlib.sha256(plain).hexdigest():
        found = ["not the certificate that the record names"]
    elif one.pop("claim") != name:
        found = ["another claim"]
    else:
        found = (balls if one.pop("kind") == "balls" else polynomials)(record.get("report"), **one)
    bad += [f"{name}: {words}" for words in found]
print("\n".join(bad) or f"{len(named)} certificates checked again")
sys.exit(bool(bad) or not named)
