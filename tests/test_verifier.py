"""The programs that check certificates again refuse forged ones: one for each of their checks.

What a certificate says must be false, or nothing, in just one way; the words tell which check it
was that saw it.  Python, Python without assertions and JavaScript are asked the same, and of the
checks of the first each has a forgery that passes without it.
"""

from __future__ import annotations

import ast
import hashlib
import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from dpbook.privacy.exact import Polynomial, t

VERIFY = Path(__file__).resolve().parents[1] / "tools" / "verify_certificate.py"
PROGRAMS = {
    "python": [sys.executable, "-I", VERIFY],
    "python -O": [sys.executable, "-I", "-O", VERIFY],
    "node": [shutil.which("node"), VERIFY.with_suffix(".mjs")],
}
BOTH = [[0, 1, 0], [1, 0, 0]]


def proof(laws, power=1, pairs=BOTH, bounds=None, **changed):
    """A certificate, right or wrong, that says of its pairs truly whether they are sharp."""
    bounds = bounds or [[*(t**power).coefficients]]
    weights = [[Polynomial(tuple(p)) for p in law] for law in laws]
    totals, none = [sum(law, Polynomial(())) for law in weights], Polynomial(())
    listed = []
    for x, y, at in pairs:
        sides = zip(weights[x], weights[y], strict=False)
        factor = Polynomial(tuple(bounds[at])) * totals[x]
        sharp = any(factor * q == p * totals[y] != none for p, q in sides)
        listed.append([x, y, at, int(sharp)])
    found = {"kind": "laws", "mechanism": "anything", "relation": "anything", "size": {"n": 2}}
    found |= {"power": power, "bounds": bounds, "order": [], "datasets": [*range(len(laws))]}
    found |= {"outcomes": [*range(len(laws[0]))], "laws": laws, "pairs": listed}
    return found | changed


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


RIGHT, WRONG = swapped([0, 1], [1]), swapped([0, 0, 0, 1], [1])  # randomised response
# an answer by Laplace noise cut at one half: 2 t - 1 to 1, which is more than t, less than t^2
BIT = {"power": 2, "bounds": [[-1, 2], [0, 1], [0, 0, 1]], "order": [[1, 0], [0, 2]]}
BIT = swapped([-1, 2], [1], **BIT)
# two answers that have nothing in common, and room to spare
DISJOINT = [
    [[0, 1], [1], [], []],
    [[1], [0, 1], [], []],
    [[], [], [0, 1], [1]],
    [[], [], [1], [0, 1]],
]
DISJOINT = proof(DISJOINT, 2, [*BOTH, [2, 3, 0], [3, 2, 0]])
ONE_WAY = proof([[[], [1]], [[1], [1]]], pairs=[[0, 1, 0]], bounds=[[2]])
# loss beyond epsilon for s = t - 1 in one place: p = t q - g, whose first difference is Z g
FIRST = swapped([2], [1])  # below 1: a loss of log 2
MIDDLE = swapped([6, 9, 6], [20, 0, 1])  # from 1 to 2: g = s (s - 1) (s - 2)
LAST = swapped([3, 0, 1], [4])  # beyond 2: g = s (2 - s)
HUGE, GAP_AT_2 = [0, 10**200], [4, -4, 1]
NEGATIVE = [[6, -7, 2], [100]], [[6, -7, 2], [100, 1]]
AT_LAST = [[0, 0, 1], [0, 1], [1]], [[0, 0, 1], [1], [0, 0, 1]]
TINY = {"laws": [[[1e-200], [1e-197]], [[1e-197], [1e-200]]]}
MANY = proof([[[0, 1], [1]], [[1], [0, 1]]] * 1001, pairs=[[a, a ^ 1, 0] for a in range(2002)])
EMPTY = {"datasets": [], "laws": [], "pairs": [], "bounds": []}
# What is forged, by the words that are to refuse it.
PROOFS = {
    "1e-200 is not a whole number": {"weights that are floats, of products 0": RIGHT | TINY},
    "Infinity is": {"a weight that is infinite": altered(RIGHT, "laws", 0, 1, 0, to=float("inf"))},
    "other keys": {
        "a field more": RIGHT | {"note": []},
        "a field less": {key: RIGHT[key] for key in RIGHT if key != "order"},
    },
    "a name is no name": {
        "a mechanism that is a mark": RIGHT | {"mechanism": "<b>"},
        "a relation without a name": RIGHT | {"relation": ""},
        "a size of nothing": RIGHT | {"size": {"": 2}},
    },
    "a number is none, or huge": {
        "a weight that is a truth value": altered(RIGHT, "laws", 0, 1, 0, to=True),
        "sharp as a truth value": altered(RIGHT, "pairs", 0, 3, to=True),
        "a size in words": altered(RIGHT, "size", "n", to="2"),
        "a label that is nothing": altered(RIGHT, "datasets", 0, to=[None]),
        "weights of 201 digits": swapped(HUGE, HUGE[1:]),
    },
    "the power or a degree is huge": {
        "a degree of 401": swapped([0] * 401 + [1], [1], bounds=[[0] * 401 + [1]]),
        "a power of 401": altered(RIGHT, "power", to=401),
        "power 0": altered(RIGHT, "power", to=0),
    },
    "a polynomial ends in 0": {"a degree that is none": altered(RIGHT, "laws", 0, 1, to=[1, 0])},
    "too many labels, or none": {
        "more data sets than can be looked at": MANY,
        "no data sets": RIGHT | EMPTY,
        "no outcomes": RIGHT | {"outcomes": [], "laws": [[], []]},
    },
    "a label stands twice": {
        "two data sets of one label": RIGHT | {"datasets": [[0, 1], [0, 1]]},
        "two outcomes of one label": RIGHT | {"outcomes": [1, 1]},
    },
    "a law is missing, or one too many": {
        "a law of nothing": RIGHT | {"laws": [*RIGHT["laws"], [[1], [1]]]},
    },
    "a law has other outcomes": {
        "an outcome of all that has no label": RIGHT | {"outcomes": [0]},
        "an outcome that one law alone has": altered(RIGHT, "laws", 1, to=[[1], [0, 1], [1]]),
    },
    "an outcome that no law has": {
        "an outcome of no weight": proof([[[0, 1], [1], []], [[1], [0, 1], []]]),
        "weights 0": proof([[[], []], [[], []]]),
    },
    "a sum of weights may be 0": {
        "no chances at t = 2": proof([[[0, *GAP_AT_2], GAP_AT_2], [GAP_AT_2, [0, *GAP_AT_2]]]),
        "no chances at t = 1": proof([[[0, -1, 1], [-1, 1]], [[-1, 1], [0, -1, 1]]]),
        "weights below 0": swapped([0, -1], [-1]),
    },
    "a pair is compared one way only": {"one way only": ONE_WAY},
    "a pair is listed twice": {"a pair twice": RIGHT | {"pairs": [*RIGHT["pairs"], [0, 1, 0, 1]]}},
    "a data set is not compared, or not there": {
        "the false pairs left out": proof([*RIGHT["laws"], WRONG["laws"][0]]),
        "a law named from the end": RIGHT | {"pairs": [[0, -1, 0, 1], [-1, 0, 0, 1]]},
        "a law that is not there": RIGHT | {"pairs": [[0, 2, 0, 1], [2, 0, 0, 1]]},
        "no pairs": RIGHT | {"pairs": []},
    },
    "a bound is not used, or not there": {
        "a bound for nothing": RIGHT | {"bounds": [[0, 1], [0, 0, 1]]},
        "a bound named from the end": RIGHT | {"pairs": [[0, 1, -1, 1], [1, 0, -1, 1]]},
        "an order of what is not there": RIGHT | {"order": [[0, 1]]},
    },
    "the inequality may fail": {
        "3 epsilon for epsilon": WRONG | {"bounds": [[0, 1]], "power": 1},
        "a bound of 0": swapped([0, 1], [1], bounds=[[]]),
        "a weight below 0 where t is 1.5": swapped([9, -12, 4, 0, 1], [1], 9),
        "a weight below 0 of both": proof(NEGATIVE, 9),
        "a loss too large at the last outcome": proof(AT_LAST),
        "a loss too large at the last pair": proof(
            [*RIGHT["laws"], [[1], [0, 0, 0, 1]]], pairs=[*BOTH, [1, 2, 0], [2, 1, 0]]
        ),
        "a loss that is too large below 1": FIRST,
        "a loss too large from 1 to 2": MIDDLE,
        "a loss too large beyond 2": LAST,
    },
    "a law is compared with its equal": {
        "a law with itself": proof([[[0, 0, 0, 1], [1]]], pairs=[[0, 0, 0]]),
        "a law with another that is the same": proof([[[1], [2]], [[2], [4]]]),
        "the only outcome that is the same": proof([[[1]], [[1]]]),
    },
    "sharp is not what it says": {
        "not sharp, though it is": altered(RIGHT, "pairs", 1, 3, to=0),
        "sharp, though it is not": altered(swapped([0, 1], [1], 2), "pairs", 1, 3, to=1),
        "sharp where neither has a weight": DISJOINT
        | {"pairs": [[*pair[:3], 1] for pair in DISJOINT["pairs"]]},
        "sharper than sharp": altered(RIGHT, "pairs", 0, 3, to=2),
    },
    "the order may fail": {
        "the other way round": BIT | {"order": [[0, 1], [0, 2]]},
        "below itself": RIGHT | {"order": [[0, 0]]},
        "only as far as t = 2": swapped([0, 1], [1], bounds=[[0, 1], [2]], order=[[0, 1]]),
        "not beyond t = 2": swapped([0, 1], [1], bounds=[[0, 1], [4, -3, 1]], order=[[0, 1]]),
    },
    "is no certificate": {
        "a pair without sharp": RIGHT | {"pairs": [[0, 1, 0], [1, 0, 0]]},
        "a size that is a number": RIGHT | {"size": 1},
        "a pair of more": altered(RIGHT, "pairs", 0, to=[0, 1, 0, 1, 5]),
        "an order of more": BIT | {"order": [[0, 1, 2]]},
    },
    "the kind 'anything' does not prove": {"a kind that is none": RIGHT | {"kind": "anything"}},
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
NOT_LAST = ["low"], ["-1"], ["high"], ["multiply", 0, -2]
SUM = *at_both(*ROOT)[:-1], ["add", 3, 7]
NO_CHANGE = "the ball is wrong, or no change of sign is seen"
BALLS = {
    "the ball is no number": {
        "a centre that takes long": alone(["1"], centre="1E+100"),
        "a centre of too many digits": alone(["1"], centre="1." + 20 * "0" + "1"),
    },
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
        "the number as its digits": alone(["1234567"], centre="1234567"),
        "an end where there is none": alone(["low"]),
    },
    "a step is not there": {
        "another product than is looked at": alone(*NOT_LAST, centre="0.7", root=True),
        "a step named by a text": alone(["1"], ["exp", "0"], centre="2.71828182846"),
    },
    "an unknown step": {
        "a step that is not explained": alone(["1"], ["sqrt", 0]),
        "e with an argument too many": alone(["1"], ["exp", 0, 0], centre="2.71828182846"),
    },
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


def other(words, content, **how):
    """A case that differs in its record or its file as well."""
    return words, content, {"evidence": "all-epsilon"} | how


ONE, MORE, WIDE = alone(["1"]), {"a": ends_of(ball()), "b": ["4.9", "5.1"]}, {"a": ["0.3", "1.7"]}
EXACT = {"evidence": "exact"}
CASES = {
    what: (words, forged, {"evidence": evidence})
    for evidence, groups in (("all-epsilon", PROOFS), ("exact", BALLS))
    for words, group in groups.items()
    for what, forged in group.items()
}
OTHER_NUMBERS, DOES_NOT = "the card bounds other numbers", "the kind '{}' does not prove what the e"
CASES |= {
    "no numbers": (OTHER_NUMBERS, {"kind": "balls", "numbers": {}}, EXACT),
    "the card has one more": (OTHER_NUMBERS, ONE, EXACT | {"bounds": MORE}),
    "the card has wider ones": ("a: the card shows other bounds", ONE, EXACT | {"bounds": WIDE}),
    "a truth value": ("a: the number is not in the ball", ONE, EXACT | {"report": {"a": True}}),
    "a field more of a ball": ("other keys", altered(ONE, "numbers", "a", "note", to=1), EXACT),
    "a field more of balls": ("other keys", ONE | {"note": 1}, EXACT),
    "laws with other evidence": (DOES_NOT.format("laws"), RIGHT, EXACT),
    "balls for every epsilon": other(DOES_NOT.format("balls"), ONE),
    "another digest": other("not the certificate that", RIGHT, certificate="0" * 64),
    "the certificate of another claim": other("another claim", RIGHT | {"claim": "XSC-RR"}),
    "a file too long": other("the certificate is too long", RIGHT, more=" " * 10**6),
    "a key twice": other("a key stands twice", RIGHT, twice="laws"),
    "two records": other("is recorded 2 times", RIGHT, records=2),
    "no record": other("is recorded 0 times", RIGHT, records=0),
    "no JSON": other("is no certificate", RIGHT, more="}"),
    "no file": other("is no certificate", RIGHT, more=None),
    "none named": other("is of evidence all-epsilon and has no certificate", RIGHT, named=False),
    "neither": other("is of evidence all-epsilon", RIGHT, named=False, more=None),
}
ACCEPTED = {
    "RIGHT": other("", RIGHT),
    "BIT": other("", BIT),
    "DISJOINT": other("", DISJOINT),
    "LABELS": other("", RIGHT | {"datasets": [[0, [1, -2]], [0, [1], -2]], "outcomes": [[], 0]}),
    "CUTS": other("", swapped([3, 14, 4], [20, 0, 1])),
    "SLOW": other("", swapped([0] * 100 + [1], [1], 100)),
    "THIRD": ("", alone(*THIRD, centre="0.333333333333"), EXACT),
    "ROOT": ("", alone(*at_both(*ROOT), **ROOT_OF_TWO), EXACT | {"report": {"a": 2**0.5}}),
    "OUTSIDE": other("", RIGHT, named=False, more=None, applies=False),
    "PLAIN": ("", RIGHT, EXACT | {"named": False, "more": None}),
}


def written(folder, cases):
    """A file of records, of which there are so many for a claim, and one for its certificate."""
    (folder / "certificates").mkdir(parents=True)
    records = []
    for name, (_, content, how) in cases.items():
        one, how = {"claim": name} | content, {"applies": True, **how}
        times, more = how.pop("records", 1), how.pop("more", "")
        plain = json.dumps(one, sort_keys=True, separators=(",", ":"))
        text = json.dumps(one)
        if key := how.pop("twice", None):
            text = text.replace(f'"{key}": ', f'"{key}": [], "{key}": ', 1)
        record = {"id": name, "certificate": hashlib.sha256(plain.encode()).hexdigest()}
        if numbers := content.get("numbers", {}):
            report = {key: float(ball["centre"]) for key, ball in numbers.items()}
            record["report"] = {key: 1.0 if x in (2, -1) else x for key, x in report.items()}
        record["bounds"] = {key: ends_of(ball) for key, ball in numbers.items()}
        if not how.pop("named", True):
            del record["certificate"]
        records += [record | how] * times
        if more is not None:
            (folder / "certificates" / f"{name}.json").write_text(text + more)
    (folder / "claims.json").write_text(json.dumps(records))


def asked(folder, cases, program="python"):
    """The exit status, and what the program says, by claim."""
    if None in (command := PROGRAMS[program]) or not command[-1].exists():
        pytest.skip(f"{program} is not here")
    written(folder, cases)
    command = [*command, folder / "claims.json", folder / "certificates"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert not run.stderr
    lines = [line.split(": ", 1) for line in run.stdout.splitlines()]
    return run.returncode, dict(line for line in lines if line[1:])


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_forged_certificate_is_refused_by_the_check_that_it_is_made_for(tmp_path, program):
    code, said = asked(tmp_path, CASES, program)
    told = {what: said.get(what, "ACCEPTED") for what in CASES}
    assert code == 1
    assert not {what: told[what] for what, (words, *_) in CASES.items() if words not in told[what]}


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_right_is_accepted(tmp_path, program):
    assert asked(tmp_path, ACCEPTED, program) == (0, {})


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_certificate_at_all_is_no_success(tmp_path, program):
    assert asked(tmp_path, {}, program)[0] == 1


def test_without_any_one_check_a_forged_certificate_passes(tmp_path):
    written(tmp_path, CASES)
    records = json.loads((tmp_path / "claims.json").read_text(), parse_float=Decimal)
    tree = ast.parse(VERIFY.read_text())
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call)]
    needs = [one for one in calls if getattr(one.func, "id", "") == "need"]

    def passes(check, what):
        try:
            mine = [one for one in records if one["id"] == what]
            check(mine, tmp_path / "certificates" / f"{what}.json")
        except Exception:
            return False
        return True

    idle = []
    for one in needs:
        one.func.id, words = "ignore", ast.unparse(one.args[1])
        space = {"__name__": "verifier", "ignore": lambda *_: None}
        exec(compile(tree, "verifier", "exec"), space)
        # those first that are likely to be for it
        likely = sorted(CASES, key=lambda what, words=words: CASES[what][0][:20] not in words)
        if not any(passes(space["check"], what) for what in likely):
            idle.append(words)
        one.func.id = "need"
    assert len(needs) > 30 and not idle


# Each check of a program away in turn: which are those without which nothing forged is accepted?
WITHOUT = """
const {readFileSync} = await import("node:fs");
const parts = text.split(/\\bneed\\(/);
const idle = [];
for (let k = 1; k < parts.length; k++) {
  const source = parts.slice(0, k).join("need(") + "void (" + parts.slice(k).join("need(");
  const program = await import("data:text/javascript," + encodeURIComponent(source));
  const records = program.readRecords(readFileSync("claims.json", "utf8"));
  const passes = async name => program.verify(
    records, name, readFileSync(`certificates/${name}.json`, "utf8")).then(() => true, () => false);
  const likely = ([, words]) => (parts[k].includes(words.slice(0, 20)) ? 0 : 1);
  const names = Object.entries(cases).sort((a, b) => likely(a) - likely(b)).map(([name]) => name);
  let found = false;
  for (const name of names) found ||= await passes(name);
  if (!found) idle.push(parts[k].slice(0, 60));
}
console.log(JSON.stringify([parts.length - 1, idle]));
"""
SIGNS = "console.log(JSON.stringify(given.map(one => program.sign(one.map(BigInt)))));"


def node(folder, script, **given):
    """What a script prints that finds these values under their names."""
    text = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in given.items())
    if (program := shutil.which("node")) is None:
        pytest.skip("node is not here")
    command = [program, "--input-type=module", "-"]
    run = subprocess.run(command, input=text + script, capture_output=True, text=True, cwd=folder)
    assert not run.stderr
    return json.loads(run.stdout)


def test_without_any_one_check_in_javascript_a_forged_certificate_passes(tmp_path):
    there = {what: case for what, case in CASES.items() if case[2].get("more", "") is not None}
    written(tmp_path, there)
    words = {what: case[0] for what, case in there.items()}
    source = VERIFY.with_suffix(".mjs").read_text()
    checks, idle = node(tmp_path, WITHOUT, text=source, cases=words)
    assert checks > 30 and not idle


def test_the_sign_of_a_polynomial_is_that_of_its_roots(tmp_path):
    rng = random.Random(34)
    given, wanted = [], []
    for _ in range(500):
        made, roots = Polynomial((rng.choice([-3, 1, 1, 2]),)), Counter()
        positive = made.coefficients[0] > 0
        for _ in range(rng.randint(0, 5)):
            x, times = Fraction(rng.randint(-3, 9), rng.randint(1, 4)), rng.randint(1, 3)
            for _ in range(times):
                made = made * Polynomial((-x.numerator, x.denominator))
            roots[x] += times
        if rng.random() < 0.5:
            made = made * Polynomial((rng.randint(1, 9), rng.randint(-1, 1), 1))  # has no real root
        beyond = [times for x, times in roots.items() if x > 1]
        negative = not positive or any(times % 2 for times in beyond)
        given.append([str(c) for c in made.coefficients])
        wanted.append(-1 if negative else 0 if beyond else 1)
    script = f"const program = await import({json.dumps(VERIFY.with_suffix('.mjs').as_uri())});"
    assert node(tmp_path, script + SIGNS, given=given) == wanted
    assert {*wanted} == {-1, 0, 1}
