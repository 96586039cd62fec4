"""The programs that check certificates again refuse forged ones: one for each of their checks.

What a certificate says must be false, or nothing, in just one way; the words tell which check it
was that saw it.  Python, Python without assertions and JavaScript are asked the same, and of the
checks of the first each has a forgery that passes without it.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
import yaml

from dpbook.privacy.exact import Polynomial

VERIFY = Path(__file__).resolve().parents[1] / "tools" / "verify_certificate.py"
PROGRAMS = {
    "python": [sys.executable, "-I", VERIFY],
    "python -O": [sys.executable, "-I", "-O", VERIFY],
    "node": [shutil.which("node"), VERIFY.with_suffix(".mjs")],
}
FORGERIES = yaml.safe_load(Path(__file__).with_name("forgeries.yml").read_text(encoding="utf-8"))
EVIDENCE = {"laws": "all-epsilon", "balls": "exact"}


def altered(one, changes):
    """A copy with other values at places such as `laws.0.1`; what becomes None is left out."""
    copy = json.loads(json.dumps(one))
    for path, to in changes.items():
        *steps, last = (int(step) if step.isdigit() else step for step in path.split("."))
        place = copy
        for step in steps:
            place = place[step]
        if isinstance(place, list):
            place[last : last + 1] = [] if to is None else [to]
        elif to is None:
            del place[last]
        else:
            place[last] = to
    return copy


def case(words, of, record=None, **changes):
    """The words of a refusal, the certificate, and how its record or its file differ."""
    one = FORGERIES["certificates"][of]
    return words, altered(one, changes), {"evidence": EVIDENCE[one["kind"]]} | (record or {})


HUGE, LONG, SHORT = [10**200], [0] * 401 + [1], [0] * 100 + [1]
CASES = {
    what: case(words, **forged)
    for words, group in FORGERIES["refused"].items()
    for what, forged in group.items()
}
# what is too long to be written down
CASES |= {
    "weights of 201 digits": case(
        "a number is none, or huge", "RIGHT", laws=[[[0, *HUGE], HUGE], [HUGE, [0, *HUGE]]]
    ),
    "a degree of 401": case(
        "the power or a degree is huge", "RIGHT", laws=[[LONG, [1]], [[1], LONG]], bounds=[LONG]
    ),
    "more data sets than can be looked at": case(
        "too many labels, or none",
        "RIGHT",
        datasets=[*range(2002)],
        laws=[[[0, 1], [1]], [[1], [0, 1]]] * 1001,
        pairs=[[x, x ^ 1, 0, 1] for x in range(2002)],
    ),
    "steps without end": case(
        "there are too many steps", "ONE", **{"numbers.a.steps": [["1"]] * 2001}
    ),
    "a file too long": case("the certificate is too long", "RIGHT", {"more": " " * 10**6}),
}
ACCEPTED = {name: case("", name) for name in FORGERIES["certificates"]}
ACCEPTED |= {what: case("", **one) for what, one in FORGERIES["accepted"].items()}
SLOW = {"laws": [[SHORT, [1]], [[1], SHORT]], "bounds": [SHORT], "power": 100}
ACCEPTED |= {"a degree that takes long": case("", "RIGHT", **SLOW)}


def ends_of(one):
    centre, radius = Decimal(one["centre"]), Decimal(one["radius"])
    return [f"{centre - radius:f}", f"{centre + radius:f}"]


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
        numbers = content.get("numbers", {})
        record["report"] = {key: float(ball["centre"]) for key, ball in numbers.items()}
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
    parts = re.split(r"(?<!def )\bneed\(", VERIFY.read_text())

    def passes(check, what):
        try:
            mine = [one for one in records if one["id"] == what]
            check(mine, tmp_path / "certificates" / f"{what}.json")
        except Exception:
            return False
        return True

    idle, space = [], {"__name__": "verifier", "ignore": lambda *_: None}
    for k, part in enumerate(parts[1:], 1):
        source = "need(".join(parts[:k]) + "ignore(" + "need(".join(parts[k:])
        exec(source, space)
        # those first that are likely to be for it
        likely = sorted(CASES, key=lambda what, part=part: CASES[what][0][:20] not in part)
        if not any(passes(space["check"], what) for what in likely):
            idle.append(part[:60])
    assert len(parts) > 30 and not idle


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
