"""Theorems of the ledger: each is on record, and one that says less than it seems is refused."""

import importlib
import json
import shutil
from html import escape
from types import SimpleNamespace

import pytest

from dpbook.book.ledger.claims import load_ledger
from dpbook.book.run.keys import digest
from dpbook.book.sphinx import nodes
from tests.book.browsing import ROOT
from tests.book.entries import FORMAL, entry, write_ledger
from tests.test_verifier import FORGERIES

proofs = importlib.import_module("proofs")
TOY = """(* Not Admitted: a Parameter of a comment. *)
Require Eqdep.
Section All.
Variable m : nat.
Definition small_says (c : nat) : Prop := forall n, n <= m -> n <= c.
End All.
Theorem small : small_says 1 1.
Proof. repeat intro; assumption. Qed.
Theorem small_control : forall c, c < 1 -> ~ small_says 1 c.
Proof.
  intros c L H. assert (K : 1 <= c) by (apply H; (discriminate || auto)).
  destruct c; [inversion K | red in L; repeat apply le_S_n in L; inversion L].
Qed.
"""


def test_every_theorem_of_the_ledger_is_on_record():
    record = json.loads((ROOT / proofs.RECORD).read_text(encoding="utf-8"))
    assert record["digest"] == digest(ROOT, (ROOT / "proofs").glob("*.v")), "make proofs"
    ledger = load_ledger(ROOT / "book" / "claims.yml").values()
    assert {*record["theorems"]} == {claim.formal["theorem"] for claim in ledger if claim.formal}


def test_without_rocq_a_sentence_says_how_to_get_it(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(shutil, "which", lambda program: None)
    assert proofs.main(tmp_path) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "apt-get install coq" in said


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """A folder with one theorem, on record."""
    if not shutil.which("coqc") and not shutil.which("rocq"):
        pytest.skip("no Rocq")
    root = tmp_path_factory.mktemp("toy")
    for name in ("proofs", "book"):
        (root / name).mkdir()
    (root / "proofs" / "Toy.v").write_text(TOY)
    write_ledger(root, [entry("SMALL", formal=FORMAL)])
    assert proofs.main(root, update=True) == 0
    return root


def test_what_is_on_record_is_what_a_reader_sees(toy, capsys):
    assert proofs.main(toy) == 0
    assert "1 theorems in 1 files" in capsys.readouterr().out
    record = json.loads((toy / proofs.RECORD).read_text())
    shown = ["Toy.small : Toy.small_says 1 1", "Toy.small_control : forall c : nat, "]
    shown[1] += "(c < 1)%nat -> ~ Toy.small_says 1 c"
    said = {"shown": shown, "uses": ["Toy.small_says"], "axioms": []}
    assert record["theorems"] == {"Toy.small": said}
    assert "forall n : nat, (n <= m)%nat -> (n <= c)%nat" in record["definitions"]["Toy.small_says"]
    assert {path.name for path in (toy / "proofs").iterdir()} == {"Toy.v"}
    env = SimpleNamespace(srcdir=toy, docname="notebooks/01-one", note_dependency=print)
    html = nodes.theorem(env, load_ledger(toy / "book" / "claims.yml")["SMALL"])
    assert escape("\n".join([*shown, "", record["definitions"]["Toy.small_says"]])) in html
    for words in ("It is small.", '"../downloads/proofs/Toy.v"', "not in it: time.", "no axiom"):
        assert words in html


@pytest.mark.parametrize(("before", "after", "words"), FORGERIES["theorems"])
def test_a_theorem_that_says_less_is_refused(toy, capsys, before, after, words):
    assert before in TOY
    (toy / "proofs" / "Toy.v").write_text(TOY.replace(before, after, 1))
    assert proofs.main(toy) == 1
    assert words in " ".join(capsys.readouterr().err.split())
