"""The reproducers of the errata: how they run, what is reported, when they run again."""

import json

import pytest

from dpbook.book.cli import main
from dpbook.book.ledger.claims import load_ledger
from dpbook.book.run import errata
from dpbook.book.run.runner import run_pages
from tests.book.browsing import ROOT

LEDGER = """\
- {id: A-1, paper: P, where: here, kind: privacy, says: s, notebook: 01-one, status: checked,
   rests_on: [], verdict: refuted, evidence: exact,
   heading: h, failed: proof, severity: proof, quote: q, printed: p, wrong: w,
   repair: r, reconsider: c, beyond: b, reproducer: "CODE"}
"""


def run(codes, root, timeout=60):
    """The outcome of the errata's page, and what each snippet printed if all can be shown."""
    (root / "notebooks").mkdir(exist_ok=True)
    job = errata.job(codes, root, root / "_build")
    (outcome,) = run_pages([job], root=root, workers=1, timeout=timeout)
    assert job.target.is_file() is (outcome.error is None)
    if outcome.error:
        return outcome.error, {}
    found = errata.results(json.loads(job.target.read_text()))
    return None, {name: result["output"] for name, result in found.items()}


def test_each_snippet_has_its_own_names_and_fixed_surroundings(tmp_path):
    (tmp_path / "beside.py").write_text("VALUE = 7")
    names = "'OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'PYTHONHASHSEED'"
    error, printed = run(
        {
            "first": "x = 1\nprint(x, __name__)",
            "P-2.1": "print('x' in globals(), 'π', {'b', 'a'} and 2)",
            "third": f"import os, beside\nprint(beside.VALUE, *(os.environ[n] for n in ({names})))",
        },
        tmp_path,
    )
    assert error is None
    assert printed == {"first": "1 __main__\n", "P-2.1": "False π 2\n", "third": "7 1 1 0\n"}


def test_all_that_cannot_be_shown_is_told_at_once(tmp_path):
    error, _ = run(
        {
            "first": "print(1)",
            "raises": "print('so far')\ndef f():\n    return x\nf()",
            "warns": "import warnings\n\nwarnings.warn('careful')",
            "quits": "raise SystemExit(3)",
            "refuted": "print(3)\nassert 3 < 2",
            "silent": "y = 2",
            "address": "print(object())",
            "last": "print(2)",
        },
        tmp_path,
    )
    told = {
        "raises": "line 3: NameError: name 'x' is not defined",
        "warns": "line 3: UserWarning: careful",
        "quits": "line 1: SystemExit: 3",
        "refuted": "line 2: AssertionError: ",
        "silent": "prints nothing",
        "address": "prints an address, which differs from run to run",
    }
    assert error.splitlines() == [f"the reproducer of {n} fails: {why}" for n, why in told.items()]


def unproved(codes):
    """Which snippets end with something else than an assertion."""
    last = {name: code.splitlines()[-1].split() for name, code in codes.items()}
    return [name for name, words in last.items() if words[0] != "assert"]


def test_each_reproducer_asserts_what_its_erratum_says():
    assert unproved({"A": "print(1)", "B": "for x in (1,):\n    assert x"}) == ["A"]
    codes = errata.snippets(load_ledger(ROOT / "book" / "claims.yml").values())
    found = unproved(codes)
    assert codes and not found, f"book/claims.yml: end the reproducer of {found} with an assert"


@pytest.mark.parametrize(
    ("code", "timeout", "told"),
    [
        ("import os; os._exit(9)", 60, "DeadKernelError"),
        ("while True: pass", 2, "took longer than 2 s"),
    ],
)
def test_a_process_that_ends_or_hangs_fails_the_page(tmp_path, code, timeout, told):
    error, _ = run({"A": "print(1)", "B": code}, tmp_path, timeout)
    assert "cell 2" in error and told in error


def test_the_build_runs_them_again_when_they_or_their_imports_change(tiny_book):
    def key(codes):
        return errata.job(codes, tiny_book, tiny_book / "_build").key

    codes = {"A": "import dpbook.ranking\nprint(1)"}
    first = key(codes)
    assert key(codes) == first
    assert key({"A": "import dpbook.ranking\nprint(2)"}) != first
    assert key({"B": codes["A"]}) != first
    (tiny_book / "dpbook/book/cli.py").write_text("# the machinery is not an input")
    assert key(codes) == first
    (tiny_book / "dpbook/ranking.py").write_text("NOISE = 2\n")
    assert key(codes) != first


def test_a_failing_reproducer_fails_the_build_and_is_not_kept(tiny_book, capsys):
    for path in (tiny_book / "notebooks").glob("*.ipynb"):
        if path.stem != "01-one":
            path.unlink()
    (tiny_book / "book/claims.yml").write_text(LEDGER.replace("CODE", "print(1 / 0)"))
    assert main(["build"], tiny_book) == 1
    told = capsys.readouterr().err
    assert "the reproducer of A-1 fails: line 1: ZeroDivisionError: division by zero" in told
    assert "No book was built." in told and "run this page again" not in told
    assert not errata.executed_copy(tiny_book / "_build").exists()
