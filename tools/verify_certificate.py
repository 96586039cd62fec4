"""Check the book's certificates again, with integers alone; nothing of the book is imported.

    python tools/verify_certificate.py _build/claims.json _build/certificates

A certificate lists laws (for each outcome a polynomial in t = e^(epsilon/power), the coefficient of
1 first), pairs of laws and, for each pair and outcome, D(1 + s) for D = t^power q Z_p - p Z_q, with
the totals Z.  It must come out as listed and be nowhere negative for s >= 0: no coefficient is, or
none is on the pieces between the listed cuts.
"""

import hashlib
import json
import sys
from fractions import Fraction
from functools import reduce
from itertools import pairwise, zip_longest
from pathlib import Path


def plus(a, b):
    return [x + y for x, y in zip_longest(a, b, fillvalue=0)]


def times(a, b):
    return reduce(plus, ([0] * k + [x * y for y in b] for k, x in enumerate(a)), [])


def shifted(a, by):  # f(x + by), by Horner's rule
    return reduce(lambda f, c: plus([c], plus([by * x for x in f], [0, *f])), reversed(a), [])


def nowhere_negative(a, cuts):
    ends = [Fraction(0), *map(Fraction, cuts)]
    rising = all(low < high for low, high in pairwise(ends))
    pieces = [shifted(a, ends[-1])]
    for low, high in pairwise(ends):
        scaled = [c * (high - low) ** k for k, c in enumerate(shifted(a, low))]
        pieces.append(shifted(scaled[::-1], 1))
    return rising and all(c >= 0 for piece in pieces for c in piece)


def problem(certificate, memory):
    laws, power = certificate["laws"], certificate["power"]
    if any(c < 0 for law in laws for p in law for c in shifted(p, 1)) or not certificate["pairs"]:
        return "a weight may be negative, or nothing is compared"
    totals = [reduce(plus, law, []) for law in laws]
    for (x, y), which in zip(certificate["pairs"], certificate["which"], strict=True):
        for p, q, at in zip(laws[x], laws[y], which, strict=True):
            key = str((p, q, totals[x], totals[y], at))
            if key not in memory:
                less = times(p, [-c for c in totals[y]])
                moved = shifted(plus([0] * power + times(q, totals[x]), less), 1)
                listed = certificate["differences"][at]
                memory[key] = not any(plus(moved, [-c for c in listed]))
            if not memory[key]:
                return f"difference {at} comes out otherwise"
    for at, moved in enumerate(certificate["differences"]):
        if not nowhere_negative(moved, certificate["cuts"].get(str(at), [])):
            return f"difference {at} may be negative"
    return None


def main(records, folder):
    named = {r["id"]: r.get("certificate") for r in json.loads(records.read_text())}
    named, bad = {name: digest for name, digest in named.items() if digest}, []
    for name in sorted({*named, *(path.stem for path in folder.glob("*.json"))}):
        path = folder / f"{name}.json"
        certificate = json.loads(path.read_text()) if path.is_file() else {}
        plain = json.dumps(certificate, sort_keys=True, separators=(",", ":"))
        if named.get(name) != hashlib.sha256(plain.encode()).hexdigest():
            bad.append(f"{name}: not the certificate that the record names")
        elif certificate["claim"] != name or (wrong := problem(certificate, {})):
            bad.append(f"{name}: {wrong if certificate['claim'] == name else 'another claim'}")
    print("\n".join(bad) or f"{len(named)} certificates checked again")
    return bool(bad) or not named


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
