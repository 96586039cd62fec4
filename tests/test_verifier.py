"""The program that checks certificates again refuses forged ones: one for each of its checks.

What a certificate says must be false, or nothing, in just one way; the words tell which check it
was that saw it.  All are asked in one run, and in another under ``python -O``.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from dpbook.privacy.exact import Polynomial, t

VERIFY = Path(__file__).resolve().parents[1] / "tools" / "verify_certificate.py"
BOTH = [[0, 1], [1, 0]]


def named(certificate):
    text = json.dumps(certificate, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def proof(laws, power=1, pairs=BOTH, cuts=None, **changed):
    """A certificate with the differences that come out, right or wrong."""
    weights = [[Polynomial(tuple(p)) for p in law] for law in laws]
    totals = [sum(law, Polynomial(())) for law in weights]
    differences, which = [], []
    for x, y in pairs:
        which.append([])
        for p, q in zip(weights[x], weights[y], strict=True):
            moved = [*(t**power * q * totals[x] - p * totals[y]).shifted().coefficients]
            if moved not in differences:
                differences.append(moved)
            which[-1].append(differences.index(moved))
    found = {"kind": "polynomials", "power": power, "laws": laws, "pairs": pairs, "which": which}
    return found | {"differences": differences, "cuts": cuts or {}} | changed


def swapped(p, q, power=1, **changed):
    """Two outcomes whose weights change places."""
    return proof([[p, q], [q, p]], power, **changed)


def altered(certificate, *path, to):
    copy = json.loads(json.dumps(certificate))
    place = copy
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return copy


def beside(certificate, *roots):
    """The last difference changed by a polynomial that is 0 wherever t is one of the roots."""
    more = Polynomial((1,))
    for x in roots:
        more = more * (t - Polynomial((x,)))
    wrong = Polynomial(tuple(certificate["differences"][-1])) + more.shifted()
    return altered(certificate, "differences", -1, to=[*wrong.coefficients])


RIGHT = swapped([0, 1], [1])  # randomised response at epsilon
THREE = proof(
    [[[0, 0, 1], [0, 1], [1]], [[0, 1], [0, 0, 1], [1]], [[0, 1], [1], [0, 0, 1]]],
    2,
    [[0, 1], [1, 0], [1, 2], [2, 1]],
)
# loss beyond epsilon for s = t - 1 in one place: p = t q - g, whose first difference is Z g
FIRST = swapped([2], [1])  # below 1: a loss of log 2
MIDDLE = swapped([6, 9, 6], [20, 0, 1])  # from 1 to 2: g = s (s - 1) (s - 2)
LAST = swapped([3, 0, 1], [4])  # beyond 2: g = s (2 - s)
HUGE, TWICE_FLOAT = [0, 10**200], proof([[[1], [1]], [[2], [2]]])
NEGATIVE = [[6, -7, 2], [100]], [[6, -7, 2], [100, 1]]
ONE_ALONE = {"laws": [[[1]], [[1], [-1, 1]]], "differences": [[], [0, 2, 1]], "which": [[0], [1]]}
AT_LAST = [[0, 0, 1], [0, 1], [1]], [[0, 0, 1], [1], [0, 0, 1]]
TINY = {"laws": [[[1e-200], [1e-197]], [[1e-197], [1e-200]]]}
# What is forged, by the words that are to refuse it.
PROOFS = {
    "1e-200 is not a whole number": {
        "weights that are floats, whose products are 0": TWICE_FLOAT | TINY,
    },
    "Infinity is": {"a weight that is infinite": altered(RIGHT, "laws", 0, 1, 0, to=float("inf"))},
    "a number is none": {
        "a weight that is a truth value": altered(RIGHT, "laws", 0, 1, 0, to=True)
    },
    "a number is none, or huge": {"weights of 201 digits": swapped(HUGE, HUGE[1:])},
    "the power or a degree is huge": {
        "a degree of 401": swapped([0] * 401 + [1], [1], 398),
        "a power that takes long": altered(RIGHT, "power", to=4000),
    },
    "may be negative": {
        "a weight below 0 where t is 1.5": swapped([9, -12, 4, 0, 1], [1], 9),
        "a weight below 0 of both": proof(NEGATIVE, 9),
        "a loss too large at the last outcome": proof(AT_LAST),
    },
    "one way only": {"one way only": proof([[[1], [1]], [[0, 1], [1]]], pairs=[[0, 1]])},
    "a pair is listed twice": {"a pair twice": swapped([0, 1], [1], pairs=[*BOTH, [0, 1]])},
    "a law is not compared, or not there": {
        "the false pairs left out": proof([*RIGHT["laws"], [[0, 0, 0, 1], [1]]]),
        "a law named from the end": RIGHT | {"pairs": [[0, -1], [-1, 0]]},
        "no pairs": RIGHT | {"pairs": [], "which": []},
    },
    "a law is compared with itself": {
        "a law with itself": proof([[[0, 0, 0, 1], [1]]], pairs=[[0, 0]]),
        "a law with another that is the same": proof([[[1], [2]], [[2], [4]]]),
        "the only outcome that is the same": proof([[[1]], [[1]]]),
        "weights 0": proof([[[], []], [[], []]]),
        "power 0": proof([[[1], [1]], [[1], [1]]], 0),
    },
    "a difference is not used, or not there": {
        "a difference that nothing has": RIGHT | {"differences": [*RIGHT["differences"], [5]]},
    },
    "difference 0 may be negative": {
        "3 epsilon for epsilon": swapped([0, 0, 0, 1], [1]),
        "a loss that is too large below 1": FIRST,
        "the same, with a cut at 1": FIRST | {"cuts": {"0": ["1"]}},
        "a loss too large from 1 to 2": MIDDLE | {"cuts": {"0": ["1", "2"]}},
        "a loss too large beyond 2": LAST | {"cuts": {"0": ["2"]}},
    },
    "otherwise": {
        "another difference of the last outcome": altered(THREE, "which", 0, -1, to=0),
        "another difference of the last pair": altered(THREE, "which", -1, 0, to=2),
    },
    "difference 1 comes out otherwise": {
        "right at t = 0 alone": beside(RIGHT, 0),
        "right at t = 0, ..., 3": beside(RIGHT, 0, 1, 2, 3),
        "right beyond t = 0": beside(RIGHT, *range(1, 5)),
    },
    "is no certificate": {
        "no outcomes": RIGHT | {"laws": [[], []], "which": [[], []], "differences": []},
        "an outcome without its difference": altered(RIGHT, "which", 0, to=[0]),
        "a pair without its outcomes": RIGHT | {"which": RIGHT["which"][:1]},
        "an outcome that one law alone has": RIGHT | ONE_ALONE,
    },
    "a cut is no positive number": {
        "a cut that takes long": RIGHT | {"cuts": {"0": ["1e5"]}},
        "too many cuts": RIGHT | {"cuts": {"0": ["1"] * 401}},
    },
    "is no certificate (TypeError": {"a field more": RIGHT | {"note": []}},
    "the kind 'anything' does not prove": {
        "a kind that there is not": RIGHT | {"kind": "anything"}
    },
    "the kind 'balls' does not prove": {
        "balls for every epsilon": {"kind": "balls", "numbers": {}}
    },
}


def ball(*steps, centre="1", radius="1E-12", root=False, precision=40):
    return {
        **{"centre": centre, "radius": radius, "precision": precision, "root": root},
        "steps": [*map(list, steps)],
    }


def alone(*steps, **how):
    """A certificate of one number."""
    return {"kind": "balls", "numbers": {"a": ball(*steps, **how)}}


def ends_of(one):
    centre, radius = Decimal(one["centre"]), Decimal(one["radius"])
    return [f"{centre - radius:f}", f"{centre + radius:f}"]


def at_both(*steps):
    """The product of a function's values at the ends; a step counts its places from itself."""
    found = []
    for end in ("low", "high"):
        begin = len(found)
        for name, *places in [[end], *steps]:
            found.append([name, *(begin + at for at in places)])
    return [*found, ["multiply", len(steps), 2 * len(steps) + 1]]


THIRD, ROOT = [["1"], ["3"], ["divide", 0, 1]], [["2"], ["multiply", 0, 0], ["subtract", 2, 1]]
ROOT_OF_TWO = {"centre": "1.41421356237", "radius": "5E-12", "root": True}
# balls that end where the quotient, rounded to 20 digits, does: 1/3 lies above, 2/3 below
UPPER = {"centre": "0.33333333333323333333", "radius": "1E-13", "precision": 20}
LOWER = {"centre": "0.66666666666676666667", "radius": "1E-13", "precision": 20}
GAP = ["1"], ["subtract", 0, 1], ["divide", 1, 2]  # 1 / (x - 1)
NOTHING = [["1"], ["exp", 0], ["subtract", 1, 1], ["divide", 0, 2], ["0"], ["multiply", 3, 4]]
APART = ["low"], ["high"], ["subtract", 0, 1], ["subtract", 1, 0], ["multiply", 2, 3]
OTHER_END = ["low"], ["0"], ["high"], ["subtract", 1, 2], ["multiply", 0, 3]
SUM = *at_both(*ROOT)[:-1], ["add", 3, 7]
NO_CHANGE = "the ball is wrong, or no change of sign is seen"
BALLS = {
    "the ball is no number": {"a centre that takes long": alone(["1"], centre="1E+100")},
    "the precision is out of bounds": {"digits without end": alone(["1"], precision=10**4)},
    "there are too many steps": {"steps without end": alone(*[["1"]] * 2001)},
    "the ball is too wide": {"a ball that says little": alone(["1"], radius="0.1")},
    "the number is not in the ball": {
        "a radius below 0": alone(["1"], radius="-1E-12"),
        "another number, above": alone(["2"], centre="2"),
        "another number, below": alone(["0"], centre="-1"),
    },
    "the ball is wrong": {
        "one third, whose end is rounded down": alone(*THIRD, **UPPER),
        "two thirds, whose end is rounded up": alone(["2"], *THIRD[1:], **LOWER),
    },
    "a constant is not a small whole number": {
        "the number as a constant": alone(["1.0"]),
        "the number as its digits": alone(["1234567"]),
        "an end where there is none": alone(["low"]),
    },
    "an unknown step": {"a step that is not explained": alone(["1"], ["sqrt", 0])},
    "is no certificate": {"the logarithm of less than 0": alone(["-1"], ["ln", 0])},
    "no f(low) f(high)": {
        "a root of anything": alone(["-1"], root=True),
        "a product of other things": alone(["-1"], ["1"], ["multiply", 0, 1], root=True),
        "ends that are told apart, whatever they are": alone(*APART, root=True),
        "a sum in the place of a product": alone(*SUM, **ROOT_OF_TWO),
    },
    "the two ends are of different functions": {
        "another function at the other end": alone(*OTHER_END, root=True),
    },
    NO_CHANGE: {"no change of sign": alone(*at_both(*ROOT), root=True)},
    "a divisor may be 0": {
        "one and nothing over e - e": alone(*NOTHING, ["add", 0, 5]),
        "a gap, where the sign changes": alone(*at_both(*GAP), root=True),
    },
}


MORE, WIDE = {"a": ends_of(ball()), "b": ["4.9", "5.1"]}, {"a": ["0.3", "1.7"]}
OTHER_NUMBERS = "the card bounds other numbers"
OTHER_BOUNDS = "a: the card shows other bounds"
OUTSIDE = "a: the number is not in the ball"
NO_PROOF = "the kind 'polynomials' does not prove what the evidence exact says"
OF_ANOTHER = RIGHT | {"claim": "XSC-RR"}
CASES = {
    what: (evidence, forged, {}, words)
    for evidence, groups in (("all-epsilon", PROOFS), ("exact", BALLS))
    for words, group in groups.items()
    for what, forged in group.items()
}
CASES |= {
    "no numbers": ("exact", {"kind": "balls", "numbers": {}}, {}, "the card bounds other numbers"),
    "the card has one more": ("exact", alone(["1"]), {"bounds": MORE}, OTHER_NUMBERS),
    "the card has wider ones": ("exact", alone(["1"]), {"bounds": WIDE}, OTHER_BOUNDS),
    "a number that is a truth value": ("exact", alone(["1"]), {"report": {"a": True}}, OUTSIDE),
    "a proof for every epsilon with other evidence": ("exact", RIGHT, {}, NO_PROOF),
    "another digest": ("all-epsilon", RIGHT, {"certificate": "0" * 64}, "not the certificate that"),
    "the certificate of another claim": ("all-epsilon", OF_ANOTHER, {}, "another claim"),
}
GOOD = {
    "RIGHT": ("all-epsilon", RIGHT, {}),
    "THREE": ("all-epsilon", THREE, {}),
    "CUTS": ("all-epsilon", swapped([3, 14, 4], [20, 0, 1], cuts={"0": ["1"], "1": ["1/2"]}), {}),
    "SLOW": ("all-epsilon", swapped([0] * 100 + [1], [1], 100), {}),
    "THIRD": ("exact", alone(*THIRD, centre="0.333333333333"), {}),
    "ROOT": ("exact", alone(*at_both(*ROOT), **ROOT_OF_TWO), {"report": {"a": 2**0.5}}),
}


def asked(folder, cases, records=(), texts=None, options=()):
    """The exit status, and what the program says, by claim."""
    (folder / "certificates").mkdir(parents=True)
    records = [*records]
    for name, (evidence, content, changed) in cases.items():
        one = {"claim": name} | content
        (folder / "certificates" / f"{name}.json").write_text(json.dumps(one))
        record = {"id": name, "evidence": evidence, "applies": True, "certificate": named(one)}
        if numbers := content.get("numbers", {}):
            report = {key: float(ball["centre"]) for key, ball in numbers.items()}
            report = {key: 1.0 if x in (2, -1) else x for key, x in report.items()}
            record["report"] = report
        record["bounds"] = {key: ends_of(ball) for key, ball in numbers.items()}
        records.append(record | changed)
    for name, text in (texts or {}).items():
        (folder / "certificates" / name).write_text(text)
    (folder / "claims.json").write_text(json.dumps(records))
    command = [sys.executable, "-I", *options, VERIFY, folder / "claims.json"]
    run = subprocess.run([*command, folder / "certificates"], capture_output=True, text=True)
    assert not run.stderr
    lines = [line.split(": ", 1) for line in run.stdout.splitlines()]
    return run.returncode, dict(line for line in lines if line[1:])


@pytest.mark.parametrize("options", [(), ("-O",)])
def test_every_forged_certificate_is_refused_by_the_check_that_it_is_made_for(tmp_path, options):
    code, said = asked(tmp_path, {what: case[:3] for what, case in CASES.items()}, options=options)
    assert code == 1
    wrong = {
        what: said.get(what, "ACCEPTED")
        for what, (*_, words) in CASES.items()
        if words not in said.get(what, "")
    }
    assert not wrong


def test_what_is_right_is_accepted(tmp_path):
    assert asked(tmp_path, GOOD) == (0, {})


@pytest.mark.parametrize("options", [(), ("-O",)])
def test_records_and_files_that_do_not_belong_together_are_refused(tmp_path, options):
    one = {"claim": "A"} | RIGHT
    text = json.dumps(one)
    record = {"evidence": "all-epsilon", "applies": True, "certificate": named(one)}
    twice = text.replace('"laws": ', '"laws": [[[0, 0, 0, 1], [1]], [[1], [0, 0, 0, 1]]], "laws": ')
    texts = {f"{name}.json": text.replace('"A"', f'"{name}"') for name in ("ALONE", "LONG", "TWO")}
    texts |= {"A.json": twice, "LONG.json": texts["LONG.json"] + " " * 10**6}
    records = [
        record | {"id": "A"},
        *(record | {"id": "TWO", "certificate": c} for c in (named(one | {"claim": "TWO"}), "1")),
        record | {"id": "LONG", "certificate": named(one | {"claim": "LONG"})},
        record | {"id": "GONE"},
        {"id": "NONE", "evidence": "all-epsilon", "applies": True},
        {"id": "OUTSIDE", "evidence": "all-epsilon", "applies": False},
        {"id": "PLAIN", "evidence": "exact", "applies": True},
    ]
    code, said = asked(tmp_path, {}, records, texts, options)
    expected = {
        "A": "a key stands twice",
        "ALONE": "is recorded 0 times",
        "GONE": "is no certificate (FileNotFoundError",
        "LONG": "the certificate is too long",
        "NONE": "is of evidence all-epsilon and has no certificate",
        "TWO": "is recorded 2 times",
    }
    assert code == 1 and said.keys() == expected.keys()
    assert all(said[name].startswith(words) for name, words in expected.items())


def test_no_certificate_at_all_is_no_success(tmp_path):
    assert asked(tmp_path, {})[0] == 1
