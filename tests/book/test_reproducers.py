"""The reproducers of the errata page: how they run, what is reported, when they run again."""

import json

import pytest

from dpbook.book import reproducers
from dpbook.book.reproducers import CACHE, Result, cached, is_python, results, run


def test_each_snippet_has_its_own_names_and_a_failure_does_not_stop_the_others(tmp_path):
    found = run(
        {
            "first": "x = 1\nprint(x, __name__)",
            "raises": "print('so far')\nprint(x)",
            "warns": "import warnings\n\nwarnings.warn('careful')",
            "quits": "raise SystemExit(3)",
            "broken": "def",
            "silent": "y = 2",
            "address": "print(object())",
            "last": "print('π', {'b', 'a'} and 2)",
        },
        tmp_path,
    )
    assert found.pop("first") == Result("1 __main__\n")
    assert found.pop("last") == Result("π 2\n")
    assert found.pop("raises").output == "so far\n"
    errors = {name: result.error for name, result in found.items()}
    assert errors.pop("broken").startswith("SyntaxError: ")
    assert errors == {
        "warns": "line 3: UserWarning: careful",
        "quits": "line 1: SystemExit: 3",
        "silent": "prints nothing",
        "address": "prints an address, which differs from run to run",
    }


def test_the_line_of_an_error_is_told(tmp_path):
    (result,) = run({"A": "print(1)\n1 / 0"}, tmp_path).values()
    assert result.error == "line 2: ZeroDivisionError: division by zero"


def test_the_surroundings_are_fixed(tmp_path):
    (tmp_path / "beside.py").write_text("VALUE = 7")
    names = "'OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'PYTHONHASHSEED'"
    code = f"import os, beside\nprint(beside.VALUE, *(os.environ[n] for n in ({names})))"
    assert run({"A": code}, tmp_path)["A"] == Result("7 1 1 0\n")


@pytest.mark.parametrize(
    ("code", "timeout", "error"),
    [
        ("import os; os._exit(9)", 60, "ended with status 9"),
        ("while True: pass", 1, "no result after 1 s"),
    ],
)
def test_a_process_that_ends_or_hangs_fails_every_snippet(tmp_path, code, timeout, error):
    found = run({"A": "print(1)", "B": code}, tmp_path, timeout=timeout)
    assert error in found["A"].error and error in found["B"].error


def test_without_snippets_nothing_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(reproducers, "run_python", None)
    assert run({}, tmp_path) == {}


def test_only_what_changed_runs_again(tiny_book, monkeypatch):
    runs = []
    (tiny_book / "dpbook/data/table.py").touch()

    def stub(snippets, root):
        runs.append(root)
        return {
            n: Result(c[-2] + "\n", "fails" if "/ 0" in c else None) for n, c in snippets.items()
        }

    monkeypatch.setattr(reproducers, "run", stub)
    out = tiny_book / "_build"
    snippets = {"A": "import dpbook.data.table; print(1)", "B": "import dpbook.ranking; print(2)"}

    def ran(snippets):
        runs.clear()
        results(snippets, tiny_book, out)
        return len(runs)

    assert cached(snippets, tiny_book, out) is None
    assert ran(snippets) == 1
    first = (out / CACHE).read_bytes()
    assert ran(snippets) == 0
    assert cached(snippets, tiny_book, out) == {"A": Result("1\n"), "B": Result("2\n")}
    for change in ("dpbook/ranking.py", "dpbook/data/table.csv"):
        path = tiny_book / change
        old = path.read_text()
        path.write_text(old + "# 3\n")
        assert (ran(snippets), ran(snippets)) == (1, 0), change
        path.write_text(old)
    (tiny_book / "dpbook/book/cli.py").write_text("# the machinery is not an input")
    assert ran(snippets) == 1
    assert (out / CACHE).read_bytes() == first, "two runs give the same file"
    assert ran(snippets | {"B": "print(3)"}) == 1
    (out / CACHE).write_text("torn")
    assert ran(snippets) == 1

    for _ in range(2):  # a failure is not kept
        assert ran({"A": "print(1 / 0)"}) == 1
    assert json.loads((out / CACHE).read_text())["results"].keys() == snippets.keys()


def test_what_is_python():
    assert is_python("print(1)\nx = 2")
    assert not is_python("dpbook run 03-noisy-counts")
