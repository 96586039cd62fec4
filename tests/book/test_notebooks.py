"""Every page has the anatomy that the book promises; every rule is shown to reject a bad page."""

import copy
import json
import re
from pathlib import Path

import pytest

from dpbook.book.ledger.claims import load_ledger
from dpbook.book.rules import (
    RULES,
    badges,
    captions_of_folds,
    exercises,
    figures,
    file_format,
    mathematics,
    metadata,
    no_machine_paths,
    no_outputs,
    opening,
    plain_python,
    probability,
    prose,
    rerun,
    short_cells,
    sources,
    unsourced,
)

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "notebooks").glob("*.ipynb"))

# --- a good page, and for every rule the ways of breaking it --------------------------------------


def build_page(*cells):
    made = []
    for number, (kind, source, given) in enumerate(cells):
        cell = {"cell_type": kind, "id": f"c{number}", "metadata": given, "source": source}
        made.append(cell | ({"outputs": [], "execution_count": None} if kind == "code" else {}))
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return {"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}


def exercise(label, options=":class: dropdown\n"):
    ask = f"```{{exercise}} One\n:label: {label}\n\nWhy?\n```\n\n"
    return ask + f"```{{solution-start}} {label}\n{options}```"


FIGURE = {
    "mystnb": {
        "figure": {"name": "fig-a", "caption": "The loss falls as n grows."},
        "image": {"alt": "A line that falls from one to zero."},
    }
}
GOOD = build_page(
    ("markdown", "# Title\n\nOne sentence. Another one, at $n = 2$.", {}),
    (
        "code",
        "n = 3  # items | items | [2, 7]\nseed = 1  # seed | - | [0, 9]",
        {"tags": ["parameters"]},
    ),
    (
        "markdown",
        "{badge}`A`\n\n```{claim} B\n```\n\n$$\n\\begin{align}x\\end{align}\n$$ (eq-x)",
        {},
    ),
    (
        "code",
        "rng = np.random.default_rng(seed)\ncheck('A', test, printed=x, evidence='exact')\n"
        "check(\n    'B', test, printed=x, evidence='exact')",
        {},
    ),
    ("code", "fig, ax = plt.subplots()\nsns.lineplot(d, seed=0, ax=ax)", FIGURE),
    ("markdown", exercise("ex-a"), {}),
    ("code", "1 + 1", {}),
    ("markdown", "```{solution-end}\n```", {}),
    ("markdown", exercise("ex-b"), {}),
    ("code", "1 + 2", {}),
    ("markdown", "```{solution-end}\n```\n", {}),
    ("markdown", "## Rerun this page\n\n`dpbook run 01-good -p n 4`", {}),
)


def changed(number, **fields):
    page = copy.deepcopy(GOOD)
    page["cells"][number] |= fields
    return page


def edited(number, old, new):
    """The good page with a text replaced in one cell."""
    source = GOOD["cells"][number]["source"]
    assert old in source
    return changed(number, source=source.replace(old, new))


def figure(**parts):
    value = copy.deepcopy(FIGURE["mystnb"])
    for part, fields in parts.items():
        value[part] = {k: v for k, v in (value.get(part, {}) | fields).items() if v is not None}
    return changed(4, metadata={"mystnb": value})


FOLDED = {
    "tags": ["hide-input"],
    "mystnb": {"code_prompt_show": "adds two numbers", "code_prompt_hide": "adds two numbers"},
}
LONG = {"mystnb": {f"code_prompt_{side}": "one " * 9 for side in ("show", "hide")}}


BAD = [
    (no_outputs, changed(3, outputs=[{"output_type": "stream"}]), "cell 3 holds outputs"),
    (no_outputs, changed(3, execution_count=2), "cell 3 holds outputs or a count"),
    (file_format, GOOD | {"nbformat_minor": 4}, "format 4.5"),
    (file_format, GOOD | {"metadata": {}}, "kernelspec"),
    (file_format, changed(3, id="c2"), "an id for each cell"),
    (opening, edited(0, "# Title", "## Title"), "must open with a title"),
    (opening, edited(0, "Another one, at $n = 2$.", ""), "two plain sentences"),
    (opening, changed(1, metadata={}), "first code cell"),
    (opening, changed(3, metadata={"tags": ["parameters"]}), "first code cell"),
    (metadata, changed(3, metadata={"render": {}}), "unknown metadata render"),
    (metadata, changed(3, metadata={"tags": ["hide_input"]}), "unknown metadata tag hide_input"),
    (metadata, changed(4, metadata={"mystnb": {"figures": {}}}), "mystnb.figures"),
    (metadata, figure(figure={"label": "x"}), "figure.label"),
    (metadata, figure(image={"alt_text": "x"}), "image.alt_text"),
    (figures, changed(4, metadata={}), "cell 4: the figure needs a name"),
    (figures, figure(figure={"name": "a"}), "the figure needs a name"),
    (figures, figure(figure={"caption": None}), "the figure needs a caption"),
    (figures, figure(image={"alt": "A plot"}), "alternative text that describes"),
    (figures, figure(image={"alt": "The loss falls as n grows."}), "only repeats the caption"),
    (short_cells, edited(6, "1 + 1", "1\n" * 26), "cell 6 has 26 lines, 25"),
    (short_cells, changed(6, source="1\n" * 46, metadata=FOLDED), "cell 6 has 46 lines, 45"),
    (short_cells, edited(6, "1 + 1", "1 + " * 20 + "1"), "cell 6 has a line beyond 80"),
    (captions_of_folds, changed(6, metadata={"tags": ["hide-input"]}), "without a caption"),
    (captions_of_folds, changed(6, metadata=FOLDED | LONG), "without a caption"),
    (plain_python, edited(6, "1 + 1", "%matplotlib inline"), "cell 6 is not plain Python"),
    (badges, edited(2, "{badge}`A`", ""), "A has no badge"),
    (badges, edited(2, "{claim} B", "{note} B"), "B has no badge"),
    (probability, edited(3, "(seed)", "()"), "default_rng() without a seed"),
    (probability, edited(3, "rng =", "import random\nrng ="), "imports the global random state"),
    (probability, edited(4, "seed=0, ", ""), "sns.lineplot without seed="),
    (probability, edited(4, "seed=0", "errorbar=('ci', 95)"), "sns.lineplot without seed="),
    (probability, edited(6, "1 + 1", "norm.rvs(3)"), "rvs without random_state="),
    (exercises, edited(8, "{exercise} One", "{note} One"), "has 1 exercises"),
    (exercises, edited(8, ":label: ex-b", ""), "every exercise needs a label"),
    (exercises, edited(8, "{solution-start} ex-b", "{solution-start} ex-c"), "needs one solution"),
    (exercises, edited(8, ":class: dropdown\n", ""), "solution of ex-b is not folded"),
    (exercises, edited(10, "{solution-end}", "{note}"), "do not match"),
    (
        exercises,
        GOOD | {"cells": [*GOOD["cells"][:9], *GOOD["cells"][10:]]},
        "the solution of ex-b runs no code",
    ),
    (rerun, edited(11, "dpbook run 01-good", "dpbook run 02-other"), "must end with"),
    (rerun, edited(11, "Rerun", "Read"), "must end with"),
    (mathematics, edited(2, "$$\n", "").copy(), "a bare LaTeX environment"),
    (no_machine_paths, edited(6, "1 + 1", "open('/home/me/x')"), "a path of one machine"),
    (
        sources,
        edited(0, "Another one", "The authors keep it. Another one"),
        "no source: The authors",
    ),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_good_page_keeps_every_rule(rule):
    assert [*rule("01-good", GOOD)] == []


@pytest.mark.parametrize(("rule", "page", "fault"), BAD)
def test_every_rule_rejects_a_bad_page(rule, page, fault):
    faults = [*rule("01-good", page)]
    assert any(fault in found for found in faults), faults


def test_every_rule_has_a_bad_page():
    assert {rule for rule, _, _ in BAD} == set(RULES)
    assert [*file_format("Good Page", GOOD)] == ["must be named NN-topic"]


# --- the pages of the book ------------------------------------------------------------------------


def test_a_source_is_a_place():
    good = "Their code (`Experiment-4.R`, line 12) draws it once. So do the authors in section 4."
    assert unsourced("The authors' code (`Experiment-4.R`, line 12) draws it once. " + good) == []
    assert unsourced("Fine. The authors draw\nit once. Fine.") == ["The authors draw it once."]


@pytest.mark.parametrize("place", ["ledger", "book"])
def test_sentences_about_authors_name_their_source(place):
    if place == "ledger":
        fields = ("says", "remark", "heading", "printed", "wrong", "repair")
        words = {
            claim.id: "\n\n".join(getattr(claim, field) or "" for field in fields)
            for claim in load_ledger(ROOT / "book" / "claims.yml").values()
        }
    else:
        words = {path.name: path.read_text("utf-8") for path in (ROOT / "book").glob("*.md")}
    assert {name: found for name, text in words.items() if (found := unsourced(text))} == {}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_page(rule, path):
    page = json.loads(path.read_text(encoding="utf-8"))
    faults = [*rule(path.stem, page)]
    assert not faults, f"{path.name}: " + "; ".join(faults)


#: What a result beyond the papers may be, and on which verdict and evidence each kind rests. Only
#: where a library shows nothing but draws, a test takes the place of a computation.
KINDS = {
    "Theorem": ({"holds"}, {"proof", "all-epsilon"}),
    "Certified computation": ({"holds"}, {"certified", "exact"}),
    "Test with stated errors": ({"holds"}, {"statistical"}),
    "Conjecture": ({"conjecture"}, {"certified", "exact", "statistical"}),
}


def kinds(page, ledger):
    """One line for every result that does not say its kind, or says one that it is not."""
    for name, title in re.findall(r"\{claim\} (BOOK-[\w-]+)\n(?::title: ([^\n]*))?", page):
        claim, kind = ledger[name], title.partition(":")[0]
        verdicts, levels = KINDS.get(kind, ((), ()))
        if claim.verdict not in verdicts or claim.evidence not in levels:
            yield f"{name}: {kind or 'no kind'}, but {claim.verdict} ({claim.evidence})"


@pytest.mark.parametrize("path", [path for path in PAGES if path.stem > "38"])
def test_every_result_beyond_the_papers_says_its_kind(path):
    words = prose(json.loads(path.read_text(encoding="utf-8")))
    ledger = load_ledger(ROOT / "book" / "claims.yml")
    assert [*kinds(words, ledger)] == []
    assert "{claim} BOOK-" in words and "looked up" in words.lower()


@pytest.mark.parametrize("title", ["", ":title: A result", ":title: Conjecture: a bound"])
def test_a_result_of_another_kind_is_refused(title):
    claim = "{claim} BOOK-KNORM-GAIN\n"  # holds, by a proof
    ledger = load_ledger(ROOT / "book" / "claims.yml")
    assert [*kinds(claim + ":title: Theorem: a bound\n", ledger)] == []
    assert len([*kinds(f"{claim}{title}\n", ledger)]) == 1
