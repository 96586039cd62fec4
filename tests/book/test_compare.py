"""What moved between two claims.json, and how a page is cited."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

import dpbook
from dpbook.book.cli import main
from dpbook.book.files import about, commit, note, write_whole
from dpbook.book.pages import PageError
from dpbook.book.run import compare
from dpbook.book.run.keys import html_key
from dpbook.book.sphinx import publishing

ROOT = Path(__file__).resolve().parents[2]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))

PASSES = "as printed it passes, controls caught"


def record(name="A-1", **fields):
    base = {
        "id": name,
        "notebook": "01-one",
        "verdict": "holds",
        "evidence": "exact",
        "holds": True,
    }
    base |= {"repaired": None, "applies": True, "why": None, "parameters": {"seed": 1}}
    part = {"what": "x", "value": 1, "sign": "≤", "limit": 2, "passes": True}
    measured = [{"subject": "printed", "name": "", "passes": True, "parts": [part]}]
    control = [part | {"value": 3, "passes": False}]
    measured.append({"subject": "control", "name": "one more", "passes": False, "parts": control})
    base |= {"report": {"loss": 0.5, "rows": 3}, "control": True, "measured": measured}
    return base | fields


NUMBER, OUTCOME = "A-1: number changed: ", f"A-1: outcome changed: {PASSES} → "


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, []),
        ({"report": {"loss": 0.5000004, "rows": 3}}, []),  # half a unit in the sixth digit
        (
            {"report": {"loss": 0.500001, "rows": 3}},
            [f"{NUMBER}loss: 0.5 -> 0.500001, allowed 5e-07"],
        ),
        ({"report": {"loss": 0.5, "rows": 4}}, [f"{NUMBER}rows: 3 -> 4, allowed 3e-06"]),
        ({"report": {"loss": 0.5}}, [f"{NUMBER}rows: is gone"]),
        ({"report": {"loss": 0.5, "rows": 3, "m": 2}}, [f"{NUMBER}m: is new"]),
        ({"verdict": "empty"}, ["A-1: verdict changed: holds → empty"]),
        (
            {"holds": False, "repaired": True},
            [f"{OUTCOME}as printed it fails, repaired it passes, controls caught"],
        ),
        ({"applies": False}, [f"{OUTCOME}not tested at these parameters"]),
        ({"id": "B-2"}, ["A-1: gone: holds", "B-2: new: holds"]),
    ],
)
def test_what_moved_is_told_by_claim(fields, told):
    sides = [compare.claimed([record(**change)]) for change in ({}, fields)]
    found = compare.changes(*sides)
    assert list(map(str, found)) == told
    assert ("1 of them the same" in compare.summary(*sides, found)) == (not told)


def test_numbers_at_other_parameters_are_not_compared():
    def simulated(mean, seed):
        row = {"p": 0.5, "mean": mean, "sd": 1.0, "sd_between": 0.01, "runs": 10, "replicates": 5}
        return compare.claimed([record(report={"t": [row]}, parameters={"seed": seed})])

    others = ((0.501, 2), (0.501, 1), (0.5001, 1))  # the standard error is 0.003
    moved = [compare.changes(simulated(0.5, 1), simulated(*other)) for other in others]
    assert [bool(one) for one in moved] == [False, True, False]


@pytest.mark.parametrize(
    "text",
    [
        *("", "{}", "[1]", "[]", '[{"id": "A"}]', "[[]]"),
        *(json.dumps([record(**wrong)]) for wrong in ({"report": []}, {"id": []})),
    ],
)
def test_what_is_no_claims_json_is_refused_by_name(tmp_path, text):
    path = tmp_path / "claims.json"
    path.write_text(text)
    with pytest.raises(PageError, match=r"claims\.json: not a"):
        compare.load(path)


@pytest.fixture
def built(tiny_book):
    """The tiny book with one claim, as a build leaves it."""
    claim = {"id": "A-1", "paper": "P", "where": "here", "kind": "model", "says": "One thing"}
    claim |= {"notebook": "01-one", "status": "checked", "verdict": "holds", "evidence": "exact"}
    claim |= {"rests_on": [], "beyond": "Nothing."}
    ledger = json.dumps([claim | {"report": ["loss", "rows"]}])
    (tiny_book / "book/claims.yml").write_text(ledger)
    out = tiny_book / "_build"
    out.mkdir()
    ran = {"key": "k", "parameters": {}, "environment": {"python": "CPython 3.0.1", "numpy": "0.9"}}
    for name in ("01-one", "02-two"):
        text = json.dumps({"cells": [], "metadata": {"dpbook": ran}})
        write_whole(out / "executed" / "notebooks" / f"{name}.ipynb", text)
    write_whole(out / "claims.json", json.dumps([record()]))
    note(out, "smoke", "passed")
    write_whole(out / "html.key", html_key(tiny_book, out))
    return tiny_book


def test_compare_ends_with_one_if_something_moved(built, capsys, tmp_path):
    theirs = tmp_path / "theirs.json"
    for verdict, status in (("holds", 0), ("empty", 1)):
        theirs.write_text(json.dumps([record(verdict=verdict)]))
        assert main(["compare", str(theirs)], built) == status
    assert "A-1: verdict changed: empty → holds" in capsys.readouterr().out
    assert main(["compare", str(tmp_path / "nowhere.json")], built) == 2
    assert "nowhere.json: not a readable claims.json" in capsys.readouterr().err


def test_the_commit_says_whether_files_differ_from_it(tmp_path, monkeypatch):
    monkeypatch.delenv("DPBOOK_COMMIT", raising=False)
    assert commit(tmp_path) is None
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    (tmp_path / "a").write_text("1")
    for words in (["init", "-q"], ["add", "a"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    clean = commit(tmp_path)
    assert clean and re.fullmatch(r"[0-9a-f]{12}", clean)
    (tmp_path / "a").write_text("2")
    assert commit(tmp_path) == f"{clean}+changes"
    monkeypatch.setenv("DPBOOK_COMMIT", "0123abc")
    assert commit(tmp_path) == "0123abc"
    monkeypatch.setenv("DPBOOK_COMMIT", "<script>")
    assert about(tmp_path, tmp_path) == {"version": dpbook.__version__}


def test_an_entry_for_a_page_has_its_version_its_authors_and_its_address_if_there_is_one():
    here = {"version": "1.2", "commit": "abc"}
    named = CITATION | {
        "authors": [{"family-names": "Noether", "given-names": "E."}, {"name": "A & B"}]
    }
    title = "Counts & {noise}: 5 % of #1_2"
    entry = publishing.bibtex(named, title, "notebooks/04-noisy-counts", here, "https://x.org/b/")
    assert entry.startswith("@incollection{private-ranking-checked-04-noisy-counts,")
    for words in (
        r"title = {{Counts \& \{noise\}: 5 \% of \#1\_2}}",
        r"author = {Noether, E. and {A \& B}}",
        "note = {version 1.2, commit abc}",
        "url = {https://x.org/b/notebooks/04-noisy-counts.html}",
    ):
        assert words in entry
    assert entry.count("{") == entry.count("}")
    whole = publishing.bibtex(CITATION, None, "book/index", here, "")
    assert whole.startswith("@book{private-ranking-checked,") and "url" not in whole
    assert "booktitle" not in whole


def test_files_of_the_project_say_the_same_of_it():
    texts = {name: (ROOT / name).read_text("utf-8") for name in ("pyproject.toml", "Dockerfile")}
    project = tomllib.loads(texts["pyproject.toml"])["project"]
    assert CITATION["version"] == dpbook.__version__
    assert CITATION["title"] == yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["title"]
    assert project["license"] in CITATION["license"]
    assert re.findall(r"^RUN (make .*)$", texts["Dockerfile"], re.MULTILINE) == ["make book"]
    assert "COPY --from=build /book/_build/html /" in texts["Dockerfile"]
    assert "_build" in (ROOT / ".dockerignore").read_text()
    # each step of the workflows is a target
    workflow, tests = (
        yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text(encoding="utf-8"))
        for name in ("pages", "tests")
    )
    makefiles = "".join((ROOT / name).read_text("utf-8") for name in ("Makefile", "maintain.mk"))
    targets = set(re.findall(r"^([a-z-]+):", makefiles, re.MULTILINE))
    jobs = [workflow["jobs"]["build"], *tests["jobs"].values()]
    runs = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    steps = [run.split() for run in runs if "apt-get install" not in run]
    assert len(steps) > 6 and {words[0] for words in steps} == {"make"}
    assert {words[1] for words in steps} <= targets and "deploy" not in targets
    assert workflow[True]["push"] == {"tags": ["v*"]}  # YAML 1.1 reads "on" as true
