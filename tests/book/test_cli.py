"""The command line: what it refuses, what it prints, and the status it ends with."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dpbook import __version__
from dpbook.book.cli import find_root, main
from dpbook.book.files import claim_folder, write_whole
from dpbook.book.run import build, render
from dpbook.book.run.runner import Outcome
from tests.book.conftest import elsewhere

ROOT = Path(__file__).resolve().parents[2]
LEDGER = """\
- {id: A-1, paper: P, where: here, kind: definition, says: first thing, notebook: 01-one,
   rests_on: [], status: checked, verdict: definition, evidence: exact,
   formal: {theorem: T.a, scope: all, says: So, without: [time]}}
- {id: B-2, paper: Q, where: there, kind: privacy, says: second thing, notebook: 02-two,
   rests_on: [], status: pending}
"""


FIT = "fits no page; the pages are 01-one, 02-two"
OUTSIDE = "is outside the allowed values"


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("build -p epsilon 11", f"page 01-one: epsilon = 11 {OUTSIDE}"),
        ("build -p n_items 4.5", "page 01-one: n_items = 4.5 has the wrong type, float"),
        ("build -p epsilom 1", "no parameter 'epsilom' on any page; there are epsilon, n_items"),
        ("build --only 02* -p x 1", "page 02-two: no parameter 'x'; there are epsilon, n_items"),
        ("build --only 09*", "no page matches 09*; the pages are 01-one, 02-two"),
        ("build --profile big", "no profile 'big'; notebooks/profiles.yml has default, smoke"),
        ("build --profile high", f"page 01-one: n_items = 9 {OUTSIDE}"),
        ("build --profile odd", "page 01-one: no parameter 'items'"),
        ("build --profile list", "profile 'list': give each page a mapping"),
        ("build --profile deep", "profile 'deep': give each page a mapping"),
        ("build --profile far", "names a page that does not exist: 05-five"),
        ("run 09-nine", f"'09-nine' {FIT}"),
        ("run 9", f"'9' {FIT}"),
        ("run o", "'o' fits several pages; the pages are 01-one, 02-two"),
        *((f"build -p epsilon {x}", f"epsilon = {x} {OUTSIDE}") for x in ("nan", "inf")),
        ("run 01-one -p epsilon ''", "epsilon = '' has the wrong type, str"),
        ("run 01-one -p epsilon 0", "page 01-one: epsilon = 0 is outside"),
        ("run 01-one -p eps 1", "page 01-one: no parameter 'eps'; there are epsilon, n_items"),
        ("list 09*", "no page matches 09*; the pages are 01-one, 02-two"),
        ("claims --paper Z", "no claim with paper 'Z'; there are P, Q"),
        ("claims --notebook 9", f"'9' {FIT}"),
    ],
)
def test_refused_before_anything_runs(tiny_book, monkeypatch, capsys, command, complaint):
    monkeypatch.setattr(build, "run_pages", lambda *a, **o: pytest.fail("a page was executed"))
    (tiny_book / "book/claims.yml").write_text(LEDGER)
    with open(tiny_book / "notebooks/profiles.yml", "a") as profiles:
        profiles.write("high: {01-one: {n_items: 9}}\nodd: {01-one: {items: 3}}\nlist: [1]\n")
        profiles.write("deep: {01-one: [1]}\nfar: {05-five: {n_items: 3}}\n")
    assert main(shlex.split(command), tiny_book) == 2
    assert complaint in capsys.readouterr().err
    assert not (tiny_book / "_build").exists()


@pytest.mark.parametrize(
    "words",
    [
        *(f"build --jobs {jobs}" for jobs in ("0", "-1", "two", "1.5")),
        *(f"{one} --output=" for one in ("build", "run 1", "numbers", "serve", "live")),
        *("list -p epsilon 1", "build --edition pupil", "live --edition pupil"),
    ],
)
def test_what_no_command_takes_is_refused(tiny_book, capsys, words):
    with pytest.raises(SystemExit) as stop:
        main(words.split(), tiny_book)
    assert stop.value.code == 2 and "usage: dpbook" in capsys.readouterr().err


def test_the_command_line_wins_over_the_profile(tiny_book):
    def planned(*overrides):
        jobs = build.plan(tiny_book, tiny_book, profile="smoke", overrides=overrides)
        return [(job.parameters, job.overrides) for job in jobs]

    one, two = planned(("epsilon", "0.5"))
    assert one == ({"epsilon": 0.5, "n_items": 3}, {"epsilon": 0.5, "n_items": 3})
    assert two == ({"epsilon": 0.5, "n_items": 4}, {"epsilon": 0.5})
    assert [given["n_items"] for given, _ in planned(("n_items", "6"))] == [6, 6]


def test_only_some_pages_are_run_and_rendered(tiny_book, monkeypatch):
    ran = []

    def run_page(root, name, overrides, **_):
        ran.append((name, overrides))
        return 0

    monkeypatch.setattr(build, "run_page", run_page)
    assert main(["build", "--only", "02*", "-p", "epsilon", "2"], tiny_book) == 0
    assert ran == [("02-two", [["epsilon", "2"]])]


def test_list(tiny_book, capsys):
    assert main(["list"], tiny_book) == 0
    first, heads, epsilon, *_ = capsys.readouterr().out.splitlines()
    assert first == "01-one: One"
    assert heads.split() == ["parameter", "default", "unit", "allowed", "meaning"]
    assert epsilon.split() == ["epsilon", "1.0", "nats", "(0,", "10]", "privacy", "parameter"]
    assert main(["list", "02*"], tiny_book) == 0
    assert capsys.readouterr().out.startswith("02-two: Two")


def test_claims(tiny_book, capsys):
    def shown(*words):
        assert main(["claims", *words], tiny_book) == 0
        return capsys.readouterr().out

    (tiny_book / "book/claims.yml").write_text(LEDGER)
    assert all(word in shown() for word in ("A-1", "B-2", "pending"))
    part = shown("--paper", "Q")
    assert "A-1" not in part and "B-2" in part and shown("--notebook", "2") == part
    assert shown("--evidence", "formal") == shown("--evidence", "exact") == shown("--paper", "P")
    (tiny_book / "book/claims.yml").write_text("- {id: A-1}")
    assert main(["claims"], tiny_book) == 2
    assert "A-1: needs paper" in capsys.readouterr().err


def test_a_server_that_is_ended_has_nothing_to_say(tiny_book):
    (tiny_book / "_build/html").mkdir(parents=True)
    (tiny_book / "_build/html/index.html").write_text("x")
    with elsewhere(tiny_book, "serve") as process:
        assert process.stdout is not None
        assert "127.0.0.1" in process.stdout.readline()
        process.terminate()
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")


@pytest.mark.parametrize("name", ["01-one", "1", "01", "one", "notebooks/01-one.ipynb"])
@pytest.mark.parametrize("problems", [[], ["A-1 (01-one): holds is False"]])
def test_run_writes_the_page_beside_its_notebook(tiny_book, monkeypatch, capsys, name, problems):
    def pretend(jobs, **_):
        write_whole(jobs[0].target, str(jobs[0].parameters))
        return [Outcome(jobs[0], 1.0)]

    def render(root, out, page):
        write_whole(out / f"html/notebooks/{page}.html", "<html>")
        return True

    monkeypatch.setattr(build, "run_pages", pretend)
    monkeypatch.setattr(build, "render_page", render)
    monkeypatch.setattr(build, "collect", lambda out, root, pages: problems)
    assert main(["run", name, "-p", "epsilon", "0.25"], tiny_book) == len(problems)
    told = capsys.readouterr()
    assert ("A-1" in told.err) is bool(problems)
    page = tiny_book / "_build/run/01-one/epsilon=0.25/html/notebooks/01-one.html"
    notebook = page.with_suffix(".ipynb")
    assert notebook.read_text() == "{'epsilon': 0.25, 'n_items': 4}" and page.is_file()
    assert f"notebook: {notebook}\npage:     {page}\n" in told.out


def test_run_takes_several_pages_and_checks_all_values_before_the_first(
    tiny_book, stub_kernels, page_writer, capsys
):
    command = ["run", "1", "2", "--no-html", "--output", str(tiny_book / "mine"), "-p"]
    assert main([*command, "n_items", "6"], tiny_book) == 0
    assert stub_kernels == ["01-one", "02-two"]
    assert len([*tiny_book.glob("mine/0?-*/executed/notebooks/*.ipynb")]) == 2
    page_writer(tiny_book / "notebooks/02-two.ipynb", parameters="n = 3  # n | - | [2, 9]")
    assert main([*command, "n_items", "6"], tiny_book) == 2
    assert "page 02-two: no parameter 'n_items'; there are n" in capsys.readouterr().err
    assert len(stub_kernels) == 2, "none ran"
    with pytest.raises(SystemExit):
        main(["sweep", "--help"])
    assert "pages: {4: {epsilon: [0.5, 1]" in " ".join(capsys.readouterr().out.split())


def test_each_set_of_parameters_has_a_folder_of_its_own():
    assert build.folder_name({}) == "published"
    assert build.folder_name({"n": 4, "epsilon": 0.25}) == "epsilon=0.25,n=4"
    assert build.folder_name({"edition": "../a b"}) == "edition=..%2Fa%20b"
    many = [build.folder_name({"g": [0.1] * 200 + [last]}) for last in (1, 2)]
    assert many[0] != many[1] and all(len(name) <= 200 for name in many)


@pytest.mark.parametrize("git", ["is missing", "refuses"])
def test_why_the_commit_is_not_known_is_told(tiny_book, monkeypatch, capsys, git):
    write_whole(tiny_book / "_build/html/index.html", "x")
    write_whole(tiny_book / ".git/HEAD", "no repository")
    if git == "is missing":
        monkeypatch.setenv("PATH", str(tiny_book))
    assert main(["live"], tiny_book) == 2
    assert "git cannot read the repository" in capsys.readouterr().out
    shutil.rmtree(tiny_book / ".git")
    assert main(["live"], tiny_book) == 2
    assert "git cannot read" not in capsys.readouterr().out


def test_rendering_that_fails_keeps_the_old_book(tiny_book, monkeypatch, capsys):
    out = claim_folder(tiny_book / "_build")
    for page in ("index", "notebooks/01-one"):
        write_whole(out / f"html/{page}.html", "old")
    lines = "fine\n\x1b[91mbook/a.md:3: WARNING: no such label\x1b[0m\n"

    def half_written(call, words, **_):
        write_whole(Path(words[1]) / "index.html", "half of it")
        return subprocess.CompletedProcess([], 1, stdout=lines)

    monkeypatch.setattr(render, "run_python", half_written)
    monkeypatch.setattr(render, "stage", lambda *_: [])
    assert not render.render(tiny_book, out)
    told = capsys.readouterr().err
    assert "book/a.md:3: WARNING: no such label\n" in told and "fine" not in told
    assert not render.render_page(tiny_book, out, "01-one")
    told = capsys.readouterr().err
    assert "no such label" in told and "the HTML could not be rendered" in told
    assert {path.read_text() for path in (out / "html").rglob("*.html")} == {"old"}
    assert not list(out.glob("staging*"))


def test_the_root_is_found_or_it_is_said_that_there_is_none(tiny_book, tmp_path_factory, capsys):
    assert find_root(tiny_book / "notebooks") == tiny_book
    assert find_root(tmp_path_factory.mktemp("x")) == Path(build.__file__).parents[3]
    for path in (tiny_book / "notebooks").glob("*.ipynb"):
        path.unlink()
    assert main(["build"], tiny_book) == 2
    assert "there are no pages" in capsys.readouterr().err


#: As after ``pip install .``: nothing can be imported but NumPy and SciPy.
PLAIN = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if path is None and name not in {*sys.stdlib_module_names, "dpbook", "numpy", "scipy"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from dpbook.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("words", ["", "--help", "-h", "--version", "list", "build --help"])
def test_the_plain_package_says_what_it_can_do(words):
    command = [sys.executable, "-c", PLAIN, *words.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    asked = words in ("", "--help", "-h", "--version")
    assert done.returncode == (0 if asked else 1)
    told = done.stdout if asked else done.stderr
    assert "pip install '.[book]' in the sources" in told and "Traceback" not in done.stderr
    assert not asked or (__version__ in told and "dpbook rank --help" in told)


def test_no_advice_names_the_project_on_an_index_that_does_not_hold_it():
    advice = "pip install " + "dpbook"
    named = re.compile(rf"{advice}|{'dpbook'}\[[a-z,]+\]")
    assert named.search(f"{advice}[book]")
    for path in [*ROOT.glob("dpbook/**/*.py"), *ROOT.glob("book/**/*.md"), *ROOT.glob("*.md")]:
        found = named.search(path.read_text(encoding="utf-8"))
        assert not found, f"{path}: {found}; say `pip install '.[...]' in the sources`"


@pytest.mark.parametrize("command", ["list", "claims", "errata"])
def test_a_terminal_that_is_not_utf_8_shows_the_rest(command):
    env = os.environ | {"PYTHONIOENCODING": "latin-1", "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "dpbook", command]
    done = subprocess.run(words, capture_output=True, check=False, cwd=ROOT, env=env)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\u" in done.stdout, "it has signs that latin-1 does not have"


def test_without_words_it_says_what_there_is(capsys):
    with pytest.raises(SystemExit) as stop:
        main([])
    assert not stop.value.code and "dpbook rank --help" in capsys.readouterr().out


def test_the_module_is_a_command():
    command = [sys.executable, "-m", "dpbook"]
    how = {"capture_output": True, "text": True, "check": True, "cwd": ROOT}
    shown = subprocess.run([*command, "build", "--help"], **how).stdout
    for option in ("--profile", "-p NAME VALUE", "--only", "--jobs", "--output"):
        assert option in shown
    assert "rank your own data privately" in subprocess.run([*command, "--help"], **how).stdout
