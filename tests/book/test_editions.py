"""The student's edition has no solution anywhere: pages, sources, search, downloads, live cells."""

import importlib
import json
import re
import zipfile
from dataclasses import replace

import pytest

from dpbook.book.live import bundle as live
from dpbook.book.pages import PageError, find_pages
from dpbook.book.run import editions, render
from dpbook.book.sphinx.downloads import with_advice
from tests.book.browsing import ROOT
from tests.book.test_sphinx import project  # noqa: F401  (a fixture)

check_editions = importlib.import_module("check_editions")
PAGES = find_pages(ROOT)


def md(text):
    return {"cell_type": "markdown", "metadata": {}, "source": text}


CODE = {"cell_type": "code", "metadata": {}, "source": "x = 1"}


def sources(cells):
    return [
        "".join(cell["source"])
        for cell in editions.notebook_of({"cells": cells}, "student")["cells"]
    ]


def test_what_stands_between_the_marks_is_left_out():
    start, end = "````{solution-start} ex\n:class: dropdown\n````", "````{solution-end}\n````"
    gone = [md(f"before\n\n{start}\n\nsecret"), CODE, md("secret"), md(f"secret\n{end}\n\nafter")]
    assert sources([CODE, *gone, CODE]) == ["x = 1", "before", "after", "x = 1"]
    assert sources([md(start), CODE, md(end), md("next")]) == ["next"]
    both = f"a\n{start}\nsecret\n{end}\nb\n{start}\nsecret\n{end}\nc"
    assert sources([md(both)]) == ["a\nb\nc"]
    assert editions.notebook_of({"cells": gone}, "teacher")["cells"] == gone


@pytest.mark.parametrize(
    "text", ["```{solution-start} ex\n```\nsecret", "```{solution} ex\ns\n```"]
)
def test_a_solution_that_cannot_be_left_out_is_refused(text):
    with pytest.raises(PageError, match="solution"):
        sources([md(text)])


HINT = "Consider a ranking that only one participant holds."
END = "```{solution-end}\n```\n"


def leaking(page, how):
    """A page with a leak, and what it gives away."""
    told = "h = 6 / (6 + 4 * np.expm1(epsilon))"
    notebook = json.loads(json.dumps(page.notebook))
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        answer = re.search(r"^```\{answer\} random-person\n.*?^```\n", text, re.M | re.S)
        if how == "hint":
            assert HINT not in text or cell["cell_type"] == "markdown"
            text = text.replace(HINT, f"{HINT[:-1]}: `{told}`.")
        elif answer and how == "answer":  # below the end of its solution
            text = text.replace(answer[0], "") + "\n\n" + answer[0]
        elif answer:
            told = "That the same person is asked twice makes no difference to this."
            text += f"\n\n{told}"
        cell["source"] = text.splitlines(keepends=True)
    assert notebook != page.notebook
    return replace(page, notebook=notebook), told


@pytest.mark.parametrize("how", ["hint", "answer", "words"])
def test_what_leaks_is_secret_by_the_source_and_is_found(tmp_path, how):
    """A hint that prints the answer; an answer, and words, below the end of the solution."""
    page, told = leaking(next(page for page in PAGES if page.name.startswith("24-")), how)
    wanted, short = check_editions.secrets([page]), check_editions.answers([page])
    assert told in [*wanted, *short]
    shown = "\n".join("".join(cell["source"]) for cell in page.notebook["cells"])
    if how == "answer":
        with pytest.raises(PageError, match="outside of its solution"):
            editions.page_of(page, "student")
    else:
        kept = editions.page_of(page, "student").notebook["cells"]
        shown = "\n".join("".join(cell["source"]) for cell in kept)
    (tmp_path / "a.json").write_text(json.dumps(shown), encoding="utf-8")
    (tmp_path / "b.html").write_text(f"<p>{shown}</p>".replace("= 6", "=<b> 6</b>"), "utf-8")
    assert told in check_editions.leaks(tmp_path, wanted, short)


def test_no_page_says_outside_of_a_solution_what_is_in_one(tmp_path):
    for page in PAGES:
        shown = editions.page_of(page, "student").notebook
        (tmp_path / f"{page.name}.ipynb").write_text(json.dumps(shown), encoding="utf-8")
    wanted, short = check_editions.secrets(PAGES), check_editions.answers(PAGES)
    assert len(wanted) > 400 and len(short) > 40
    assert check_editions.leaks(tmp_path, wanted, short) == {}


def test_the_table_of_contents_of_students_lacks_the_pages_of_teachers():
    toc = {"root": "a", "parts": [{"chapters": [{"file": "book/teaching"}, {"file": "b"}]}]}
    assert editions.toc_of(toc, "student") == {
        "root": "a",
        "parts": [{"chapters": [{"file": "b"}]}],
    }
    assert editions.toc_of(toc, "teacher") == toc


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_neither_download_nor_live_cells_of_students_hold_a_solution(page):
    held = {}
    for edition in editions.EDITIONS:
        shown = editions.page_of(page, edition)
        held[edition] = json.dumps(with_advice(shown.notebook), ensure_ascii=False)
        held[edition] += json.dumps(live.bundle(shown, ROOT), ensure_ascii=False)
    kept, secrets = editions.page_of(page, "student").code_cells, check_editions.secrets([page])
    solved = [cell for cell in page.code_cells if cell not in kept]
    assert not [cell for cell in solved if re.search(r"^ *check\(", cell, re.MULTILINE)]
    assert len(secrets) > 3
    for line in secrets:
        quoted = json.dumps(line, ensure_ascii=False)[1:-1]
        assert quoted not in held["student"]
        assert quoted in held["teacher"]


SECRET = "The sum is two since counting on from one gives it"


def with_secrets(path):
    """Put an exercise with hint, check and solution, and a page for teachers, into a project."""
    text = (
        "```{exercise} Adding\n:label: ex-add\n:level: apply\n:minutes: 5\n\n"
        "How much is it?\n```\n\n"
        "```{hint}\n:class: dropdown\n\nCount on from the first.\n```\n\n"
        "```{try} adding\n:solved: True if x == 2 else 'not that'\nx = 0  # change me\n```\n\n"
        f"````{{solution-start}} ex-add\n:class: dropdown\n````\n\n{SECRET}."
    )
    code = "number_that_is_asked_for = sum([1, 1])\nnumber_that_is_asked_for"
    shown = {"output_type": "execute_result", "execution_count": 1, "metadata": {}}
    shown["data"] = {"text/plain": "the_output_of_the_hidden_cell_of_the_solution"}
    answer = (
        "```{answer} adding\n:wrong: x = 3\nx = 2  # since_one_and_one_are_two_and_no_more\n```"
    )
    made = {"execution_count": None, "outputs": []}
    cells = [md(text), {"cell_type": "code", "metadata": {}, "source": code} | made]
    cells += [md(f"{answer}\n\n````{{solution-end}}\n````\n\nAfterwards.")]
    cells = [cell | {"id": f"secret-{number}"} for number, cell in enumerate(cells)]
    for folder in ("notebooks", "_build/executed/notebooks"):
        page = path / folder / "01-one.ipynb"
        notebook = json.loads(page.read_text(encoding="utf-8"))
        notebook["cells"] += cells
        page.write_text(json.dumps(notebook), encoding="utf-8")
        cells[1] = cells[1] | {"outputs": [shown]}
    (path / "book/teaching.md").write_text("# For the teacher\n\nTell nobody what the answer is.\n")
    toc = (path / "_toc.yml").read_text(encoding="utf-8")
    (path / "_toc.yml").write_text(toc.replace("chapters:\n", "chapters:\n- file: book/teaching\n"))
    told = [SECRET, *code.splitlines()[:1], "the_output_of_the_hidden_cell_of_the_solution"]
    return [*told, "since_one_and_one_are_two_and_no_more", "Tell nobody what the answer is."]


def test_what_is_built_for_students_holds_no_solution(project):  # noqa: F811
    told, out = with_secrets(project), project / "_build"
    for edition in editions.EDITIONS:
        assert render.render(project, out, edition), (out / "html.log").read_text()
    # The control: all of it is found in the teacher's edition, by the same search.
    assert {*check_editions.leaks(out / "html", told)} == {*told}
    assert check_editions.leaks(out / "student" / "html", told) == {}
    page = (out / "student/html/notebooks/01-one.html").read_text(encoding="utf-8")
    assert "edition student." in page
    for kept in ("Apply, 5 minutes.", "Count on from", "Not answered yet.", "Afterwards."):
        assert kept in page
    assert "Afterwards" in (out / "student/html/_sources/notebooks/01-one.ipynb").read_text()
    assert not [*(out / "student").rglob("teaching*")]
    texts = [path.read_text(encoding="utf-8") for path in (out / "html").rglob("*.html")]
    wholes = [text for text in texts if "<head>" in text]
    assert len(wholes) > 3 and all("wasm-unsafe-eval' 'sha256-" in text for text in wholes)


def test_the_search_for_solutions_looks_into_archives_and_through_markup(tmp_path):
    needle = "for one in some_list: total += one * 2"
    marked = "<span>for</span> one <b>in</b> some_list:<br>total += one&nbsp;* 2"
    for name, content in (("a.html", marked), ("b.json", json.dumps(f"x\n{needle}"))):
        (tmp_path / name).write_text(content, encoding="utf-8")
        assert check_editions.leaks(tmp_path, [needle, "nothing of the kind"]) == {needle: name}
        (tmp_path / name).unlink()
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        archive.writestr("inside.py", needle)
    assert check_editions.leaks(tmp_path, [needle]) == {needle: "c.zip/inside.py"}
