"""The command line: what it refuses, what it prints, and the status it ends with."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from dpbook.book.cli import find_root, main
from dpbook.book.files import write_whole
from dpbook.book.pages import PageError
from dpbook.book.run import build, render
from dpbook.book.run.runner import Job, Outcome

LEDGER = """\
- {id: A-1, paper: P, where: here, kind: definition, says: first thing, notebook: 01-one,
   rests_on: [], status: checked, verdict: definition, tier: exact}
- {id: B-2, paper: Q, where: there, kind: privacy, says: second thing, notebook: 02-two,
   rests_on: [], status: pending}
"""


@pytest.fixture
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail the test if a page is executed."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a page was executed")

    monkeypatch.setattr(build, "run_pages", refuse)


@pytest.mark.usefixtures("nothing_runs")
@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("build -p epsilon 11", "page 01-one: epsilon = 11 is outside the allowed values"),
        ("build -p n_items 4.5", "page 01-one: n_items = 4.5 has the wrong type, float"),
        ("build -p epsilom 1", "no parameter 'epsilom' on any page; there are epsilon, n_items"),
        ("build --only 02* -p x 1", "no parameter 'x' on 02-two; there are epsilon, n_items"),
        ("build --only 09*", "no page matches 09*; the pages are 01-one, 02-two"),
        ("build --profile big", "no profile 'big'; notebooks/profiles.yml has default, smoke"),
        (
            "run 09-nine",
            "'09-nine' fits no page, did you mean '01-one'?; the pages are 01-one, 02-two",
        ),
        ("run 9", "'9' fits no page; the pages are 01-one, 02-two"),
        ("run o", "'o' fits several pages; the pages are 01-one, 02-two"),
        ("build -p epsilon nan", "epsilon = nan is outside the allowed values"),
        ("build -p epsilon -inf", "epsilon = -inf is outside the allowed values"),
        ("build -p epsilon inf", "epsilon = inf is outside the allowed values"),
        ("run 01-one -p epsilon 0", "page 01-one: epsilon = 0 is outside"),
        ("run 01-one -p eps 1", "page 01-one: no parameter 'eps', did you mean 'epsilon'?"),
        ("list 09*", "no page matches 09*; the pages are 01-one, 02-two"),
        ("claims --paper Z", "no claim with paper 'Z'; there are P, Q"),
        ("claims --notebook 9", "'9' fits no page; the pages are 01-one, 02-two"),
        ("slides --output x/decks.html", "decks.html: the decks go to a folder"),
    ],
)
def test_refused_before_anything_runs(
    tiny_book: Path, capsys: pytest.CaptureFixture[str], command: str, complaint: str
) -> None:
    (tiny_book / "book/claims.yml").write_text(LEDGER)
    assert main(command.split(), tiny_book) == 2
    assert complaint in capsys.readouterr().err
    assert not (tiny_book / "_build").exists()


@pytest.mark.usefixtures("nothing_runs")
@pytest.mark.parametrize(
    ("profiles", "complaint"),
    [
        ("smoke: {01-one: {n_items: 9}}", "page 01-one: n_items = 9 is outside"),
        ("smoke: {01-one: {items: 3}}", "page 01-one: no parameter 'items'"),
        ("smoke: [1]", "profile 'smoke': give each page a mapping"),
        ("smoke: {01-one: [1]}", "profile 'smoke': give each page a mapping"),
        ("smoke: {05-five: {n_items: 3}}", "names a page that does not exist: 05-five"),
    ],
)
def test_a_profile_is_held_to_the_same_rules(
    tiny_book: Path, capsys: pytest.CaptureFixture[str], profiles: str, complaint: str
) -> None:
    (tiny_book / "notebooks/profiles.yml").write_text(profiles)
    assert main(["build", "--profile", "smoke"], tiny_book) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("jobs", ["0", "-1", "two", "1.5"])
def test_jobs_is_a_whole_number(
    tiny_book: Path, capsys: pytest.CaptureFixture[str], jobs: str
) -> None:
    with pytest.raises(SystemExit):
        main(["build", "--jobs", jobs], tiny_book)
    assert "--jobs" in capsys.readouterr().err


def test_overrides_reach_the_selected_pages_only(tiny_book: Path) -> None:
    jobs = build.plan(
        tiny_book,
        tiny_book / "_build",
        profile="smoke",
        overrides=[("epsilon", "0.5")],
        only=["01*"],
    )
    assert {job.page.name: job.parameters for job in jobs} == {
        "01-one": {"epsilon": 0.5, "n_items": 3},
        "02-two": {"epsilon": 1.0, "n_items": 4},
    }
    assert [job.overrides for job in jobs] == [{"epsilon": 0.5, "n_items": 3}, {}]


def test_the_command_line_wins_over_the_profile(tiny_book: Path) -> None:
    jobs = build.plan(
        tiny_book, tiny_book / "_build", profile="smoke", overrides=[("n_items", "6")]
    )
    assert [job.parameters["n_items"] for job in jobs] == [6, 6]


def test_list(tiny_book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"], tiny_book) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("01-one: One (")
    assert lines[1].split() == ["parameter", "default", "unit", "allowed", "meaning"]
    assert lines[2].split() == ["epsilon", "1.0", "nats", "(0,", "10]", "privacy", "parameter"]
    assert main(["list", "02*"], tiny_book) == 0
    assert capsys.readouterr().out.startswith("02-two: Two")


def test_claims(tiny_book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tiny_book / "book/claims.yml").write_text(LEDGER)
    assert main(["claims"], tiny_book) == 0
    shown = capsys.readouterr().out
    assert "A-1" in shown and "B-2" in shown and "pending" in shown
    assert main(["claims", "--paper", "Q"], tiny_book) == 0
    shown = capsys.readouterr().out
    assert "A-1" not in shown and "B-2" in shown
    assert main(["claims", "--notebook", "2"], tiny_book) == 0
    assert capsys.readouterr().out == shown
    (tiny_book / "book/claims.yml").write_text("- {id: A-1}")
    assert main(["claims"], tiny_book) == 2
    assert "A-1: needs paper" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["01-one", "1", "01", "one", "01-one.ipynb", "notebooks/01-one.ipynb"]
)
@pytest.mark.parametrize("problems", [[], ["A-1 (01-one): holds is False"]])
def test_run_writes_the_page_beside_its_notebook(
    tiny_book: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    problems: list[str],
) -> None:
    def pretend(jobs: list[Job], *, root: Path, workers: int, timeout: float) -> list[Outcome]:
        write_whole(jobs[0].target, str(jobs[0].parameters))
        return [Outcome(jobs[0], 1.0)]

    def render(root: Path, out: Path, page: str) -> bool:
        write_whole(out / f"html/notebooks/{page}.html", "<html>")
        return True

    monkeypatch.setattr(build, "run_pages", pretend)
    monkeypatch.setattr(build, "render_page", render)
    monkeypatch.setattr(build, "collect", lambda out, root, pages: problems)
    status = main(["run", name, "-p", "epsilon", "0.25"], tiny_book)
    told = capsys.readouterr()
    assert status == (1 if problems else 0)
    assert ("A-1" in told.err) is bool(problems)
    page = tiny_book / "_build/run/01-one/epsilon=0.25/html/notebooks/01-one.html"
    notebook = page.with_suffix(".ipynb")
    assert notebook.read_text() == "{'epsilon': 0.25, 'n_items': 4}"
    assert page.is_file()
    assert f"notebook: {notebook}\npage:     {page}\n" in told.out


def test_a_page_that_cannot_be_rendered_is_told_and_keeps_the_old_one(
    tiny_book: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tiny_book / "elsewhere"
    write_whole(out / "html/notebooks/01-one.html", "old")
    failed = subprocess.CompletedProcess([], 1, stdout="no such theme\n")
    monkeypatch.setattr(render, "run_python", lambda *args, **options: failed)
    assert not render.render_page(tiny_book, out, "01-one")
    told = capsys.readouterr().err
    assert "no such theme" in told and "the page could not be rendered" in told
    assert (out / "html/notebooks/01-one.html").read_text() == "old"
    assert not list(out.glob("staging*"))
    assert (tiny_book / "_build/.dpbook").is_file(), "what it kept there is a build's"


def test_each_set_of_parameters_has_a_folder_of_its_own() -> None:
    assert build.folder_name({}) == "published"
    assert build.folder_name({"n": 4, "epsilon": 0.25}) == "epsilon=0.25,n=4"
    odd = [build.folder_name({"edition": text}) for text in ("../up", "a b")]
    assert len(set(odd)) == 2 and all(name.isalnum() for name in odd)


def test_rendering_that_fails_keeps_the_old_book(
    tiny_book: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tiny_book / "_build"
    write_whole(out / "html/index.html", "old")
    failed = subprocess.CompletedProcess(
        [], 1, stdout="fine\n\x1b[91mbook/a.md:3: WARNING: no such label\x1b[0m\n"
    )

    def half_written(call: str, words: list[str], **_: object) -> object:
        write_whole(Path(words[-1]) / "_build/html/index.html", "half of it")
        return failed

    monkeypatch.setattr(render, "run_python", half_written)
    monkeypatch.setattr(render, "stage", lambda *_: [])
    assert not render.render(tiny_book, out)
    told = capsys.readouterr().err
    assert "book/a.md:3: WARNING: no such label\n" in told and "fine" not in told
    assert (out / "html/index.html").read_text() == "old"
    assert not list(out.glob("staging*"))


def test_a_parameter_needs_a_command_that_takes_it(
    tiny_book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["list", "-p", "epsilon", "1"], tiny_book)
    assert "unrecognized arguments: -p" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    ['{"cells": [1]}', '{"cells": [{"cell_type": "code", "metadata": {}}]}', "[]", "{", ""],
)
def test_a_broken_notebook_is_one_sentence(
    tiny_book: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    (tiny_book / "notebooks/01-one.ipynb").write_text(content)
    assert main(["list"], tiny_book) == 2
    assert "page 01-one: not a readable notebook" in capsys.readouterr().err


def test_a_full_disk_is_one_sentence(
    tiny_book: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*args: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "x.html")

    monkeypatch.setattr(build, "run_pages", full)
    assert main(["build"], tiny_book) == 1
    told = capsys.readouterr().err
    assert told.startswith(
        "dpbook: No space left on device: x.html; the previous book is as before"
    )
    assert "make room" in told and told.count("\n") == 1


def test_the_root_is_found_from_below(tiny_book: Path) -> None:
    assert find_root(tiny_book / "notebooks") == tiny_book


def test_no_book_is_said_plainly(tiny_book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (tiny_book / "notebooks").glob("*.ipynb"):
        path.unlink()
    assert main(["build"], tiny_book) == 2
    assert "there are no pages" in capsys.readouterr().err


def test_the_module_is_a_command(tiny_book: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dpbook", "build", "--help"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    for option in ("--profile", "-p NAME VALUE", "--only", "--jobs", "--output"):
        assert option in done.stdout


@pytest.mark.parametrize("command", ["build", "run 1", "lock", "slides", "serve", "live"])
def test_a_folder_without_a_name_is_refused(tiny_book: Path, command: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*command.split(), "--output", ""], tiny_book)
    assert stop.value.code == 2


def test_a_server_that_is_ended_has_nothing_to_say(tiny_book: Path) -> None:
    (tiny_book / "_build/html").mkdir(parents=True)
    (tiny_book / "_build/html/index.html").write_text("x")
    code = "import sys, pathlib; from dpbook.book.cli import main; "
    code += "sys.exit(main(['serve'], pathlib.Path(sys.argv[1])))"
    command, pipe = [sys.executable, "-c", code, str(tiny_book)], subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert "127.0.0.1" in process.stdout.readline()
        process.terminate()
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "", "")


def test_find_root_has_a_last_resort_or_says_so(tmp_path: Path) -> None:
    try:
        root = find_root(tmp_path)
    except PageError as error:
        assert str(tmp_path) in str(error)
    else:
        assert root == Path(build.__file__).parents[3]
