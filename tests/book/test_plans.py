"""Reading plans: every page has its place once, and each session has all that its sheet shows."""

import re
from pathlib import Path

import pytest
import yaml

from dpbook.book.ledger.claims import load_ledger
from dpbook.book.pages import PageError
from dpbook.book.sphinx.plans import FILE, load_plans

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def root(tmp_path):
    """A book of three pages with three plans, as text to be changed."""
    session = {"title": "A", "papers": "none", "know": "k", "bring": "b", "question": "q"}
    session |= {"exercise": "e", "pages": ["01-one"], "more": ["02-two"], "minutes": 60}
    session |= {"skip": "s", "claims": []}
    plans = [{"name": "Long", "about": "a", "sessions": [session]}]
    plans.append({"name": "Short", "about": "a", "sessions": [1]})
    other = session | {"pages": ["01-one"], "more": ["03-three"], "claims": ["C"]}
    plans.append({"name": "Other", "about": "a", "sessions": [other]})
    for name in ("book", "notebooks"):
        (tmp_path / name).mkdir()
    for name in ("01-one", "02-two", "03-three"):
        (tmp_path / "notebooks" / f"{name}.ipynb").touch()
    (tmp_path / FILE).write_text(yaml.safe_dump({"plans": plans}))
    return tmp_path


def test_a_number_means_a_session_of_the_first_plan(root):
    plans = load_plans(root)
    assert plans[1]["sessions"] == plans[0]["sessions"] != plans[2]["sessions"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("- 03-three", "- 04-four", "04-four is no page"),
        ("- 03-three", "- 02-two", "03-three is in no plan"),
        ("    - 02-two\n", "    - 02-two\n    - 01-one\n", "01-one is placed twice"),
        (
            "claims: []\n    exercise: e\n",
            "claims: []\n",
            "Long, session 1: check the field exercise",
        ),
        ("    claims: []\n", "    claims: []\n    clams: []\n", "check the field clams"),
    ],
)
def test_a_plan_that_leaves_something_open_is_refused(root, old, new, problem):
    text = (root / FILE).read_text()
    assert text.count(old) == 1
    (root / FILE).write_text(text.replace(old, new))
    with pytest.raises(PageError, match=problem):
        load_plans(root)


def test_the_plans_of_the_book_place_every_page_and_differ_in_their_questions():
    plans = load_plans(ROOT)
    assert [len(plan["sessions"]) for plan in plans] == [10, 4, 1, 1]
    sessions = [*plans[0]["sessions"], *plans[2]["sessions"], *plans[3]["sessions"]]
    assert {session["minutes"] for session in sessions} <= {60, 90, 120}
    ledger = load_ledger(ROOT / "book" / "claims.yml")
    assert all(0 < len(session["claims"]) <= 3 for session in sessions)
    assert all(ledger[name].checked for session in sessions for name in session["claims"])
    for field in ("title", "question", "exercise", "bring"):
        assert len({session[field] for session in sessions}) == len(sessions)
    placed = {page for session in sessions for page in (*session["pages"], *session["more"])}
    assert len(placed) == len(list((ROOT / "notebooks").glob("*.ipynb")))


def test_the_teachers_page_has_misconceptions_and_an_answer_for_each_session():
    text = (ROOT / "book" / "teaching.md").read_text(encoding="utf-8")
    taught = {}
    for part in text.split("\n## ")[1:]:
        title = re.search(r"\{session\} (.+)", part)[1]
        assert part.splitlines()[0].endswith(f": {title}")
        taught[title] = part
    sessions = [s["title"] for plan in load_plans(ROOT) for s in plan["sessions"]]
    assert taught.keys() == {*sessions}
    for part in taught.values():
        found = re.findall(r"^\*(.+)\*$", part, re.MULTILINE)
        assert found == ["Misconceptions.", "Answer.", "The exercise."]
