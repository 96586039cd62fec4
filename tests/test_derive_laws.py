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
    wanted = {
        two: p for two, p in derive.RELATIONS[relation](power, **size).items() if len({*two}) > 1
    }
    every, bounds = sorted({x for x, _ in wanted}), []
    bounds = [p for at, p in enumerate(wanted.values()) if p not in [*wanted.values()][:at]]
    laws = [derive.MECHANISMS[mechanism](x, size, every, listed) for x in every]
    low = min(k for law in laws for weight in law.values() for k in weight)
    return {
        **{"claim": claim, "kind": "laws", "mechanism": mechanism, "relation": relation},
        **{"size": size, "power": power, "order": [], "bounds": [*map(plain, bounds)]},
        **{"datasets": every, "outcomes": [*laws[0]]},
        "laws": [[plain(law[o], low) for o in laws[0]] for law in laws],
        "pairs": [
            [every.index(x), every.index(y), bounds.index(p), 1] for (x, y), p in wanted.items()
        ],
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
NEAR = [o for o in derive.near((1, 1, 1)) if max(abs(x - 1) for x in o) < 4]
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


def test_the_table_has_all_claims():
    ledger = load_ledger(ROOT / "book" / "claims.yml").values()
    ours = [claim for claim in ledger if claim.evidence == "all-epsilon" and not claim.same_as]
    assert {claim.id for claim in ours} == KNOWN.keys()


def ran(folder, *command):
    command = [str(part) for part in command]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def written(folder, *certificates):
    (folder / "certificates").mkdir(exist_ok=True)
    for at, one in enumerate(certificates):
        (folder / "certificates" / f"{at}.json").write_text(json.dumps(one))
    return "certificates"


def test_it_runs_alone(tmp_path):
    folder = written(tmp_path, {"kind": "balls"}, ONE, GROUP, USER, BIT, SHEETS)
    run = ran(tmp_path, sys.executable, "-I", "-O", TOOL, folder)
    assert (run.stdout, run.returncode) == ("5 certificates derived again\n", 0)
    written(tmp_path, altered(ONE, "laws", 0, 0, to=[2]))
    run = ran(tmp_path, sys.executable, "-I", "-O", TOOL, folder)
    assert (run.stdout, run.returncode) == ("XSC-RR: the law of (0,) is another\n", 1)


@pytest.mark.skipif(not shutil.which("coqc"), reason="Rocq is not installed")
def test_the_kernel_refuses_what_is_false(tmp_path):
    def compiled(*names):
        return [ran(tmp_path, "coqc", "-Q", ".", "Ranking", name).returncode for name in names]

    def accepted(*certificates):
        export = TOOL.with_name("export_certificates.py"), written(tmp_path, *certificates)
        assert ran(tmp_path, sys.executable, "-I", *export, "Exported.v").returncode == 0
        return compiled("Exported.v") == [0]

    for name in ("Privacy.v", "Certificates.v"):
        shutil.copy(ROOT / "proofs" / name, tmp_path)
    assert compiled("Privacy.v", "Certificates.v") == [0, 0]
    assert accepted(BIT) and accepted(ONE)
    assert "_exactly" in (tmp_path / "Exported.v").read_text()
    assert not accepted(altered(ONE, "laws", to=[[[1], [0, 0, 0, 1]], [[0, 0, 0, 1], [1]]]))
    assert not accepted(altered(BIT, "pairs", 0, 3, to=0)), "it is sharp"
    assert not accepted(altered(ONE, "laws", to=[[[-1], [0, -1]], [[0, -1], [-1]]])), "below 0"
    assert not accepted(BIT | {"order": [[0, 1], [0, 2]]}), "the other way round"
