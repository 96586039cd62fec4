"""What derives the laws refuses what is not what the claim says; what Rocq refuses is not true.

Each forgery differs from a right certificate in one thing, which no other check sees.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dpbook.book.ledger.claims import load_ledger

ROOT = Path(__file__).resolve().parents[1]
TOOL = ROOT / "tools" / "derive_laws.py"
SPEC = importlib.util.spec_from_file_location(TOOL.stem, TOOL)
derive = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(derive)
KNOWN = dict(derive.claims())


def right(claim, listed=()):
    """A certificate; all pairs are called sharp."""
    (mechanism, relation, size, power), _ = KNOWN[claim]
    wanted = derive.RELATIONS[relation](power, **size)
    wanted = {(x, y): bound for (x, y), bound in wanted.items() if x != y}
    every = sorted({x for x, _ in wanted})
    laws = [derive.MECHANISMS[mechanism](x, size, every, listed) for x in every]
    low = min(k for law in laws for weight in law.values() for k in weight)
    bounds = [*dict.fromkeys(tuple(plain(bound)) for bound in wanted.values())]
    places = {two: bounds.index(tuple(plain(bound))) for two, bound in wanted.items()}
    return {
        **{"claim": claim, "kind": "laws", "mechanism": mechanism, "relation": relation},
        **{"size": size, "power": power, "bounds": bounds, "order": []},
        **{"datasets": every, "outcomes": [*laws[0]]},
        "laws": [[plain(law[o], low) for o in laws[0]] for law in laws],
        "pairs": [[every.index(x), every.index(y), at, 1] for (x, y), at in places.items()],
    }


def plain(polynomial, low=0):
    return [polynomial.get(k, 0) for k in range(low, max(polynomial) + 1)]


def altered(certificate, *path, to):
    copy = place = json.loads(json.dumps(certificate))
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return copy


ONE, GROUP, USER = right("XSC-RR"), right("BOOK-GROUP"), right("XSC-USER")
BIT = right("BOOK-LAPLACE-BIT")
BIT |= {"bounds": [[-1, 2], [0, 1], [0, 0, 1]], "order": [[1, 0], [0, 2]]}
NEAR = [o for o in derive.plane((1, 1, 1), 3) if abs(o[2] - 1) < 4]
SHEETS = right("BOOK-KNORM", [*NEAR, ()])
FAR = [[0, 5, 0, 1], [5, 0, 0, 1]]
FORGED = {
    "not a claim of the table": {"a claim without a row": ONE | {"claim": "XSC-RT"}},
    "the claim has": {
        "randomised response at 3 epsilon, called 3 epsilon": ONE | {"power": 3},
        "more answers than there are": GROUP | {"size": {"k": 4}},
        "another mechanism": ONE | {"mechanism": "discrete Laplace noise"},
        "other neighbours": ONE | {"relation": "any answers, by distance"},
    },
    "the law of": {
        "one digit": altered(GROUP, "laws", 7, 7, 3, to=2),
        "a data set by another name": altered(ONE, "datasets", to=[[1], [0]]),
        "a report by another name": altered(ONE, "outcomes", to=[[1], [0]]),
        "a report that is not there": altered(ONE, "outcomes", 0, to=[2]),
    },
    "other pairs or bounds": {
        "two pairs left out": GROUP | {"pairs": GROUP["pairs"][:-2]},
        "two pairs of all": GROUP | {"pairs": [[0, 1, 0, 1], [1, 0, 0, 1]]},
        "the bound of pairs farther away": altered(GROUP, "pairs", 0, 2, to=1),
        "rankings that are not near": USER | {"pairs": [*USER["pairs"], *FAR]},
    },
    "another order": {"an order left out": BIT | {"order": []}},
    "is not exactly": {"one pair alone is sharp": altered(BIT, "pairs", 0, 3, to=0)},
    "is not attained": {"no pair is sharp": ONE | {"pairs": [[0, 1, 0, 0], [1, 0, 0, 0]]}},
}
CASES = [(words, what) for words, group in FORGED.items() for what in group]


@pytest.mark.parametrize(("words", "what"), CASES)
def test_one_check_sees_what_is_forged(words, what, monkeypatch):
    forged = json.loads(json.dumps(FORGED[words][what]))
    with pytest.raises(ValueError, match=words):
        derive.check(forged, KNOWN)
    need = derive.need
    monkeypatch.setattr(derive, "need", lambda holds, told: need(holds or words in told, told))
    if words != "not a claim of the table":
        derive.check(forged, KNOWN)


def test_the_outcomes_of_level_noise_are_all_there():
    with pytest.raises(ValueError, match="an outcome is missing"):
        right("BOOK-KNORM", [*[o for o in NEAR if min(o) > -2], ()])


def test_a_certificate_under_another_name_is_refused():
    for one in (ONE, GROUP, USER, BIT, SHEETS):
        for claim in KNOWN.keys() - {one["claim"]}:
            with pytest.raises(ValueError, match="the claim has"):
                derive.check(one | {"claim": claim}, KNOWN)


def test_it_runs_alone(tmp_path):
    for one in (ONE, GROUP, USER, BIT, SHEETS, {"claim": "A", "kind": "balls"}):
        (tmp_path / f"{one['claim']}.json").write_text(json.dumps(one))
    command = [sys.executable, "-I", "-O", str(TOOL), str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.stdout, run.returncode) == ("5 certificates derived again\n", 0)
    (tmp_path / "XSC-RR.json").write_text(json.dumps(altered(ONE, "laws", 0, 0, to=[2])))
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.stdout.startswith("XSC-RR: ") and run.returncode == 1


def test_the_table_has_all_claims():
    ledger = load_ledger(ROOT / "book" / "claims.yml").values()
    ours = [claim for claim in ledger if claim.evidence == "all-epsilon" and not claim.same_as]
    assert {claim.id for claim in ours} == KNOWN.keys()


@pytest.mark.skipif(not shutil.which("coqc"), reason="Rocq is not installed")
def test_the_kernel_refuses_what_is_false(tmp_path):
    def compiled(*certificates):
        folder = tmp_path / "certificates"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for at, one in enumerate(certificates):
            (folder / f"{at}.json").write_text(json.dumps(one))
        export = [sys.executable, "-I", str(TOOL.with_name("export_certificates.py"))]
        subprocess.run([*export, str(folder), str(tmp_path / "Exported.v")], check=True)
        return coqc("Exported.v")

    def coqc(name):
        command = ["coqc", "-Q", ".", "Ranking", name]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    for name in ("Privacy.v", "Certificates.v"):
        shutil.copy(ROOT / "proofs" / name, tmp_path)
        assert coqc(name).returncode == 0
    assert compiled(ONE, GROUP, BIT).returncode == 0
    assert "_exactly" in (tmp_path / "Exported.v").read_text()
    false = {
        "3 epsilon": altered(ONE, "laws", to=[[[1], [0, 0, 0, 1]], [[0, 0, 0, 1], [1]]]),
        "not sharp": altered(BIT, "pairs", 0, 3, to=0),
        "the other way round": BIT | {"order": [[0, 1], [0, 2]]},
        "a weight below 0": altered(ONE, "laws", to=[[[-1], [0, -1]], [[0, -1], [-1]]]),
    }
    for what, one in false.items():
        run = compiled(one)
        assert run.returncode and "check" in run.stderr, what
