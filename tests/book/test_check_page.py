"""One command says all that is wrong with a page: where, which rule or claim, what to do."""

import json

from dpbook.book import at_most
from dpbook.book.cli import main
from dpbook.book.pages import find_page
from dpbook.book.run.check import decided_by_rounding, settings


def test_a_page_is_run_at_its_own_values_at_smoke_and_at_the_ends(tiny_book):
    page = find_page(tiny_book, "1")
    given = [values for _, values in settings(tiny_book, page)]
    smoke = {"n_items": 3}
    assert given[:2] == [{}, smoke]
    assert smoke | {"epsilon": 10.0} in given
    assert not any(values.get("n_items") == 7 for values in given), "no upper end of a size"


def test_what_is_wrong_is_told_in_one_list(tiny_book, capsys):
    path = tiny_book / "notebooks/01-one.ipynb"
    page = json.loads(path.read_text())
    page["cells"][2]["source"] = "assert epsilon < 5, 'too large'"
    path.write_text(json.dumps(page))
    assert main(["check", "1"], tiny_book) == 1
    told = capsys.readouterr().err
    assert "notebooks/01-one.ipynb: at smoke, epsilon = 10.0: cell 2" in told
    assert "AssertionError: too large" in told
    assert "must end with 'Rerun this page'" in told and "(rule rerun)" in told
    assert "at its own values: cell" not in told


def test_a_part_that_hangs_on_a_rounding_is_told():
    def told(value, **how):
        entry = {
            "name": "",
            "subject": "printed",
            "parts": at_most("loss / ε", value, 1, **how).parts,
        }
        return [*decided_by_rounding([{"id": "A-1", "measured": [entry]}])]

    assert len(told(1 - 1e-16)) == 1 and "state a slack" in told(1 - 1e-16)[0]
    assert told(1) == told(1.0) == told(1 - 1e-16, slack=1e-12) == told(0.9) == []
