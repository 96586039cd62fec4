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
PROOFS = {
    "weights that are floats, whose products are 0": (
        proof([[[1], [1]], [[2], [2]]]) | {"laws": [[[1e-200], [1e-197]], [[1e-197], [1e-200]]]},
        "1e-200 is not a whole number",
    ),
    "a weight that is infinite": (altered(RIGHT, "laws", 0, 1, 0, to=float("inf")), "Infinity is"),
    "a weight that is a truth value": (
        altered(RIGHT, "laws", 0, 1, 0, to=True),
        "a number is none",
    ),
    "weights of 201 digits": (swapped([0, 10**200], [10**200]), "a number is none, or huge"),
    "a degree of 401": (swapped([0] * 401 + [1], [1], 398), "the power or a degree is huge"),
    "a power that takes long": (altered(RIGHT, "power", to=4000), "the power or a degree is huge"),
    "a weight below 0 where t is 1.5": (swapped([9, -12, 4, 0, 1], [1], 9), "may be negative"),
    "a weight below 0 of both": (
        proof([[[6, -7, 2], [100]], [[6, -7, 2], [100, 1]]], 9),
        "may be negative",
    ),
    "one way only": (proof([[[1], [1]], [[0, 1], [1]]], pairs=[[0, 1]]), "one way only"),
    "a pair twice": (swapped([0, 1], [1], pairs=[*BOTH, [0, 1]]), "a pair is listed twice"),
    "the false pairs left out": (
        proof([*RIGHT["laws"], [[0, 0, 0, 1], [1]]]),
        "a law is not compared, or not there",
    ),
    "a law named from the end": (
        swapped([0, 1], [1]) | {"pairs": [[0, -1], [-1, 0]]},
        "a law is not compared, or not there",
    ),
    "no pairs": (RIGHT | {"pairs": [], "which": []}, "a law is not compared, or not there"),
    "a law with itself": (proof([[[0, 0, 0, 1], [1]]], pairs=[[0, 0]]), "compared with itself"),
    "a law with another that is the same": (
        proof([[[1], [2]], [[2], [4]]]),
        "a law is compared with itself",
    ),
    "the only outcome that is the same": (proof([[[1]], [[1]]]), "a law is compared with itself"),
    "weights 0": (proof([[[], []], [[], []]]), "a law is compared with itself"),
    "power 0": (proof([[[1], [1]], [[1], [1]]], 0), "a law is compared with itself"),
    "no outcomes": (
        RIGHT | {"laws": [[], []], "which": [[], []], "differences": []},
        "is no certificate",
    ),
    "a difference that nothing has": (
        RIGHT | {"differences": [*RIGHT["differences"], [5]]},
        "a difference is not used, or not there",
    ),
    "3 epsilon for epsilon": (swapped([0, 0, 0, 1], [1]), "difference 0 may be negative"),
    "a loss that is too large below 1": (FIRST, "difference 0 may be negative"),
    "the same, with a cut at 1": (FIRST | {"cuts": {"0": ["1"]}}, "difference 0 may be negative"),
    "a loss too large from 1 to 2": (
        MIDDLE | {"cuts": {"0": ["1", "2"]}},
        "difference 0 may be negative",
    ),
    "a loss too large beyond 2": (LAST | {"cuts": {"0": ["2"]}}, "difference 0 may be negative"),
    "a loss too large at the last outcome": (
        proof([[[0, 0, 1], [0, 1], [1]], [[0, 0, 1], [1], [0, 0, 1]]]),
        "may be negative",
    ),
    "another difference of the last outcome": (altered(THREE, "which", 0, -1, to=0), "otherwise"),
    "another difference of the last pair": (altered(THREE, "which", -1, 0, to=2), "otherwise"),
    "right at t = 0 alone": (beside(RIGHT, 0), "difference 1 comes out otherwise"),
    "right at t = 0, ..., 3": (beside(RIGHT, 0, 1, 2, 3), "difference 1 comes out otherwise"),
    "right beyond t = 0": (beside(RIGHT, *range(1, 5)), "difference 1 comes out otherwise"),
    "an outcome without its difference": (altered(RIGHT, "which", 0, to=[0]), "is no certificate"),
    "a pair without its outcomes": (RIGHT | {"which": RIGHT["which"][:1]}, "is no certificate"),
    "an outcome that one law alone has": (
        RIGHT
        | {"laws": [[[1]], [[1], [-1, 1]]], "differences": [[], [0, 2, 1]], "which": [[0], [1]]},
        "is no certificate",
    ),
    "a cut that takes long": (RIGHT | {"cuts": {"0": ["1e5"]}}, "a cut is no positive number"),
    "too many cuts": (RIGHT | {"cuts": {"0": ["1"] * 401}}, "a cut is no positive number"),
    "a field more": (RIGHT | {"note": []}, "is no certificate (TypeError"),
    "a kind that there is not": (
        RIGHT | {"kind": "anything"},
        "the kind 'anything' does not prove",
    ),
    "balls for every epsilon": (
        {"kind": "balls", "numbers": {}},
        "the kind 'balls' does not prove",
    ),
}


def ball(*steps, centre="1", radius="1E-12", root=False, precision=40):
    return {
        **{"centre": centre, "radius": radius, "precision": precision, "root": root},
        "steps": [*map(list, steps)],
    }


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
NOTHING = [["1"], ["exp", 0], ["subtract", 1, 1], ["divide", 0, 2], ["0"], ["multiply", 3, 4]]
BALLS = {
    "a centre that takes long": (ball(["1"], centre="1E+100"), "the ball is no number"),
    "digits without end": (ball(["1"], precision=10**4), "the precision is out of bounds"),
    "steps without end": (ball(*[["1"]] * 2001), "there are too many steps"),
    "a ball that says little": (ball(["1"], radius="0.1"), "the ball is too wide"),
    "a radius below 0": (ball(["1"], radius="-1E-12"), "the number is not in the ball"),
    "another number, above": (ball(["2"], centre="2"), "the number is not in the ball"),
    "another number, below": (ball(["0"], centre="-1"), "the number is not in the ball"),
    "one third, whose end is rounded down": (ball(*THIRD, **UPPER), "the ball is wrong"),
    "two thirds, whose end is rounded up": (
        ball(["2"], ["3"], ["divide", 0, 1], **LOWER),
        "the ball is wrong",
    ),
    "the number as a constant": (ball(["1.0"]), "a constant is not a small whole number"),
    "the number as its digits": (ball(["1234567"]), "a constant is not a small whole number"),
    "an end where there is none": (ball(["low"]), "a constant is not a small whole number"),
    "a step that is not explained": (ball(["1"], ["sqrt", 0]), "an unknown step"),
    "one and nothing over e - e": (ball(*NOTHING, ["add", 0, 5]), "a divisor may be 0"),
    "the logarithm of less than 0": (ball(["-1"], ["ln", 0]), "is no certificate"),
    "a root of anything": (ball(["-1"], root=True), "no f(low) f(high)"),
    "a product of other things": (
        ball(["-1"], ["1"], ["multiply", 0, 1], root=True),
        "no f(low) f(high)",
    ),
    "ends that are told apart, whatever they are": (
        ball(
            *[["low"], ["high"], ["subtract", 0, 1], ["subtract", 1, 0], ["multiply", 2, 3]],
            root=True,
        ),
        "no f(low) f(high)",
    ),
    "another function at the other end": (
        ball(["low"], ["0"], ["high"], ["subtract", 1, 2], ["multiply", 0, 3], root=True),
        "the two ends are of different functions",
    ),
    "no change of sign": (
        ball(*at_both(*ROOT), root=True),
        "the ball is wrong, or no change of sign is seen",
    ),
    "a gap, where the sign changes": (  # 1 / (x - 1)
        ball(*at_both(["1"], ["subtract", 0, 1], ["divide", 1, 2]), root=True),
        "a divisor may be 0",
    ),
    "a sum in the place of a product": (
        ball(*at_both(*ROOT)[:-1], ["add", 3, 7], **ROOT_OF_TWO),
        "no f(low) f(high)",
    ),
}
CASES = {
    **{what: ("all-epsilon", one, {}, words) for what, (one, words) in PROOFS.items()},
    **{
        what: ("exact", {"kind": "balls", "numbers": {"a": one}}, {}, words)
        for what, (one, words) in BALLS.items()
    },
    "no numbers": ("exact", {"kind": "balls", "numbers": {}}, {}, "the card bounds other numbers"),
    "the card has one more": (
        *("exact", {"kind": "balls", "numbers": {"a": ball(["1"])}}),
        {"bounds": {"a": ends_of(ball()), "b": ["4.9", "5.1"]}},
        "the card bounds other numbers",
    ),
    "the card has wider ones": (
        *("exact", {"kind": "balls", "numbers": {"a": ball(["1"])}}),
        {"bounds": {"a": ["0.3", "1.7"]}},
        "a: the card shows other bounds",
    ),
    "a number that is a truth value": (
        *("exact", {"kind": "balls", "numbers": {"a": ball(["1"])}}, {"report": {"a": True}}),
        "a: the number is not in the ball",
    ),
    "a proof for every epsilon with other evidence": (
        *("exact", RIGHT, {}),
        "the kind 'polynomials' does not prove what the evidence exact says",
    ),
    "another digest": ("all-epsilon", RIGHT, {"certificate": "0" * 64}, "not the certificate that"),
    "the certificate of another claim": (
        *("all-epsilon", RIGHT | {"claim": "XSC-RR"}, {}),
        "another claim",
    ),
}
GOOD = {
    "RIGHT": ("all-epsilon", RIGHT, {}),
    "THREE": ("all-epsilon", THREE, {}),
    "CUTS": ("all-epsilon", swapped([3, 14, 4], [20, 0, 1], cuts={"0": ["1"], "1": ["1/2"]}), {}),
    "SLOW": ("all-epsilon", swapped([0] * 100 + [1], [1], 100), {}),
    "THIRD": (
        "exact",
        {"kind": "balls", "numbers": {"a": ball(*THIRD, centre="0.333333333333")}},
        {},
    ),
    "ROOT": (
        *("exact", {"kind": "balls", "numbers": {"a": ball(*at_both(*ROOT), **ROOT_OF_TWO)}}),
        {"report": {"a": 2**0.5}},
    ),
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
    return run.returncode, dict(
        line.split(": ", 1) for line in run.stdout.splitlines() if ": " in line
    )


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
