"""What derives the laws refuses what is not what the claim says; what Rocq refuses is not true.

Each forgery differs from a right certificate in one thing, which no other check sees.
"""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys

import pytest

from dpbook.book.ledger.claims import load_ledger
from tests.book.browsing import ROOT
from tests.test_verifier import FORGERIES, altered

TOOL = ROOT / "tools" / "derive_laws.py"
derive = importlib.import_module("derive_laws")
KNOWN = dict(derive.claims())


def right(claim, listed=()):
    """A certificate; all pairs are called sharp."""
    (mechanism, relation, size, power), _ = KNOWN[claim]
    wanted = {
        two: p for two, p in derive.RELATIONS[relation](power, **size).items() if len({*two}) > 1
    }
    every = sorted({x for x, _ in wanted})
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


ONE, GROUP, USER = right("XSC-RR"), right("BOOK-GROUP"), right("XSC-USER")
BIT = right("BOOK-LAPLACE-BIT")
BIT |= {"bounds": [[-1, 2], [0, 1], [0, 0, 1]], "order": [[1, 0], [0, 2]]}
NEAR = [o for o in derive.near((1, 1, 1)) if max(abs(x - 1) for x in o) < 4]
SHEETS = right("BOOK-KNORM", [*NEAR, ()])
CASES = [
    (words, what, forged)
    for words, group in FORGERIES["derived"].items()
    for what, forged in group.items()
]


@pytest.mark.parametrize(("words", "what", "forged"), CASES)
def test_one_check_sees_what_is_forged(words, what, forged, monkeypatch):
    one = {"ONE": ONE, "GROUP": GROUP, "USER": USER, "BIT": BIT}[forged["of"]]
    forged = altered(one, {path: to for path, to in forged.items() if path != "of"})
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
    written(tmp_path, altered(ONE, {"laws.0.0": [2]}))
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
    assert not accepted(ONE | {"laws": [[[1], [0, 0, 0, 1]], [[0, 0, 0, 1], [1]]]})
    assert not accepted(altered(BIT, {"pairs.0.3": 0})), "it is sharp"
    assert not accepted(ONE | {"laws": [[[-1], [0, -1]], [[0, -1], [-1]]]}), "below 0"
    assert not accepted(BIT | {"order": [[0, 1], [0, 2]]}), "the other way round"
