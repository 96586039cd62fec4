"""How strong a test is, what numbers are typed into texts, and what the build says of either."""

import json

import numpy as np
import pytest
import yaml

from dpbook.book import at_least, at_most, equal
from dpbook.book.ledger import strength
from dpbook.book.ledger.claims import Claim
from dpbook.book.ledger.findings import Finding
from dpbook.book.ledger.texts import LIST, unbound_numbers

CLAIM = Claim("A", "P", "here", "bound", "x", "01-one", "checked", "holds", "exact")
SIZES = np.arange(2, 6)


def bound(statement):
    """Whether a bound c · n holds for the values n, and is below 1.05 n."""
    values = np.array([statement(int(n)) for n in SIZES])
    return at_least("bound", values, SIZES) & at_most("sharp", values, 1.05 * SIZES)


def linear(n):
    return 1.0 * n


def test_every_near_statement_is_noticed_by_a_sharp_test():
    found = strength.score(bound, linear, bound(linear).parts)
    # four changes, and the signs of two parts, of which one holds both ways
    assert found == {"mutants": 6, "less": 0, "attained": 1, "spared": []}


def test_what_a_weak_test_passes_is_named_and_what_says_less_is_told_apart():
    weak = lambda f: at_least("total", sum(f(int(n)) for n in SIZES), 1)  # noqa: E731
    found = strength.score(weak, linear, weak(linear).parts)
    assert found["spared"] == ["a tenth more", "a tenth less", "power 3/2", "one more"]
    one = at_most("one", 0.5, 1)
    assert len(strength.score(lambda _: one, 2.0, one.parts)["spared"]) == 3
    below = lambda limit: at_most("value", 3.0, limit)  # noqa: E731
    found = strength.score(below, 3.1, below(3.1).parts)
    assert found == {"mutants": 4, "less": 2, "attained": 0, "spared": []}


def test_a_change_is_implied_by_all_parts_or_not_at_all():
    test = lambda limit: at_most("value", 3.0, limit) & at_least("size", limit, 1)  # noqa: E731
    found = strength.score(test, 3.1, test(3.1).parts)
    assert found["less"] == 0 and found["spared"] == ["a tenth more", "power 3/2"]


def test_only_the_places_that_state_something_are_changed():
    found = strength.mutants((2.0, np.ones(3), [5.0], "x", True))
    assert {name[0] for name, _ in found} == {"0", "1"}
    assert next(n for n, _ in strength.mutants({"a": 1, "b": 2}, ("b",))) == "b: a tenth more"
    assert [*strength.mutants(1.0, False)] == []
    assert dict(strength.mutants((2.0, 5)))["0: a tenth less"] == (1.8, 5)


def test_a_score_draws_nothing_and_a_statement_of_another_form_does_not_count():
    rng = np.random.default_rng(1)
    test = lambda f: at_most("draw", f(2) * rng.random(), 4)  # noqa: E731
    parts = at_most("draw", 2, 4).parts
    found = strength.score(test, lambda n: n + 0.0, parts)
    assert rng.random() == np.random.default_rng(1).random() and found["mutants"] == 5
    broken = lambda x: {}["no such thing"]  # noqa: E731
    assert strength.score(broken, 1.0, [])["mutants"] == 0


def record(printed: Finding, control: Finding, **fields):
    entries = [("printed", printed), ("control", control)]
    measured = [{"subject": s, "parts": [*f.parts], "passes": f.passes} for s, f in entries]
    return {"measured": measured, "holds": True, "repaired": None, **fields}


@pytest.mark.parametrize(("value", "told"), [(110.0, True), (30.0, False), (np.inf, True)])
def test_a_control_is_near(value, told):
    found = record(at_most("loss", 2.5, 3, slack=0.5), at_most("loss", value, 3, slack=0.5))
    problems = [*strength.problems(found, CLAIM)]
    assert [*map(bool, problems)] == [True] * told
    assert not told or "no control is near in the part 'loss'" in problems[0]
    distance = {110.0: "107 (2.1e+02 × the slack)", 30.0: "27 (54 × the slack)"}
    assert strength.table(found)[0][4] == distance.get(value, "inf (inf × the slack)")
    assert strength.table(found)[0][:4] == ["loss", "1", "0.5", "–"]


def test_what_passes_needs_a_reason():
    score = {"mutants": 5, "less": 1, "attained": 1, "spared": ["one more"]}
    found = record(at_most("loss", 2.5, 3), at_most("loss", 4, 3), score=score)
    assert next(strength.problems(found, CLAIM)).endswith("does not say why: one more")
    assert [*strength.problems(found, Claim(**{**vars(CLAIM), "spares": "Because."}))] == []
    said = "notices 2 of 5 changes; says less: 1; is attained: 1; passes: 1"
    assert (strength.words(found), strength.words({})) == (said, "")


def test_nothing_is_compared_with_itself():
    distribution = np.ones(3) / 3
    with pytest.raises(ValueError, match="distribution: is compared with itself"):
        equal("distribution", distribution, distribution)


@pytest.fixture
def book(tmp_path):
    """A page with typed numbers, and a row of the ledger."""
    text = (
        "# One\n\nWith 30 items, 1,200 answers, 0.7 of Theorem 3.1 and 45 % ($n = 12$, $x^{34}$)."
    )
    figure = {"figure": {"caption": "All 17."}, "image": {"alt": "From 18 on."}}
    cells = [
        {"cell_type": "markdown", "source": text, "metadata": {}},
        {"cell_type": "code", "source": "n = 30\nx = 1_200 * 0.45", "metadata": {"mystnb": figure}},
    ]
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "book").mkdir()
    (tmp_path / "notebooks/01-one.ipynb").write_text(json.dumps({"cells": cells}))
    row = {"id": "A", "says": "At most 5 n", "wrong": "5 n, 1.33 and 8", "labels": {"x": "of 77"}}
    (tmp_path / "book/claims.yml").write_text(yaml.safe_dump([row]))
    return tmp_path


RECORD = {"id": "A", "report": {"x": 4 / 3}, "measured": [], "parameters": {"size": 77}}
FREE = [("01-one", number) for number in ("0.7", "12", "17", "18", "34")] + [("A", "8")]


def test_typed_numbers_are_bound_or_listed(book):
    told = unbound_numbers(book, [RECORD])
    assert [(line.split(":")[0], line.split()[4]) for line in told] == FREE
    path = book / LIST
    path.write_text("".join(f"{name}\t{number}\tof the paper\n" for name, number in FREE))
    assert unbound_numbers(book, [RECORD]) == []
    path.write_text(path.read_text() + "01-one\t30\tidle\n")
    told = unbound_numbers(book, [RECORD])
    assert told == ["01-one: book/typed.tsv lists 30, which needs no reason"]
    assert unbound_numbers(book, [RECORD], ["02-two"]) == []


def test_a_reason_is_not_empty(book):
    (book / LIST).write_text("".join(f"{name}\t{number}\t \n" for name, number in FREE))
    assert len(unbound_numbers(book, [RECORD])) == len(FREE)
