"""Executing pages, and executing only those that need it.

Starting a kernel costs a second, so what can be tested without one is: `stub_kernels` stands in.
"""

import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import papermill
import pytest

from dpbook.book.cli import main
from dpbook.book.files import write_whole
from dpbook.book.ledger.check import RECORD_MIME
from dpbook.book.pages import find_pages, outputs
from dpbook.book.run import build, runner, surroundings
from dpbook.book.run.editions import place
from dpbook.book.run.keys import environment, page_keys, stamp_of
from dpbook.book.run.runner import Job

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def rendered(monkeypatch):
    """Replace the rendering of the HTML; gives the list of output folders rendered."""
    calls: list[Path] = []

    def render(root, out, edition, workers):
        calls.append(place(out, edition))
        write_whole(calls[-1] / "html" / "index.html", f"build {len(calls)}")
        return True

    monkeypatch.setattr(build, "render", render)
    return calls


def test_the_html_is_rendered_for_each_edition_and_when_pages_leave(
    tiny_book, stub_kernels, rendered, monkeypatch, capsys
):
    assert executed_by(tiny_book, stub_kernels, "--profile", "smoke")
    for edition in ("student", "teacher", "student"):
        words = ["--profile", "smoke", "--edition", edition]
        assert not executed_by(tiny_book, stub_kernels, *words)
    out = tiny_book / "_build"
    assert rendered == [out, out / "student"]  # each once
    assert (out / "html/index.html").read_text() == "build 1"
    (tiny_book / "notebooks/02-two.ipynb").unlink()
    assert main(["build"], tiny_book) == 0 and len(rendered) == 3
    monkeypatch.setattr(build, "collect", lambda out, root: ["A-1 (01-one): no record"])
    assert main(["build", "-p", "epsilon", "2"], tiny_book) == 1
    assert "A-1 (01-one): no record" in capsys.readouterr().err
    assert (out / "html/index.html").read_text() == "build 4", "a contradiction is shown"


def test_one_build_renders_all_editions(tiny_book, stub_kernels, rendered):
    assert main(["build", "--edition", "all"], tiny_book) == 0
    assert sorted(rendered) == [tiny_book / "_build", tiny_book / "_build" / "student"]


def executed_by(root, executed, *arguments):
    """Names of the pages that one successful ``dpbook build`` executes."""
    executed.clear()
    assert main(["build", *arguments], root) == 0
    return sorted(executed)


def test_only_what_changed_is_executed_again(tiny_book, stub_kernels, rendered):
    def pages(*arguments):
        return executed_by(tiny_book, stub_kernels, *arguments)

    both = ["01-one", "02-two"]
    assert pages() == both
    assert pages() == []
    assert len(rendered) == 1, "nothing changed, so the HTML is not rendered again"

    assert pages("--profile", "smoke") == ["01-one"]
    assert pages() == ["01-one"]
    assert pages("-p", "epsilon", "2") == both
    assert pages("-p", "epsilon", "2.0") == []
    assert pages() == both

    path = tiny_book / "requirements.txt"
    path.write_text(path.read_text() + "# 3\n")
    assert pages() == both

    notebook = tiny_book / "notebooks/02-two.ipynb"
    notebook.write_text(notebook.read_text().replace("x = 1", "x = 2"))
    assert pages() == ["02-two"]
    shown = len(rendered)
    notebook.write_text(notebook.read_text().replace("# Two", "# Three"))
    assert pages() == [] and len(rendered) == shown + 1, "a sentence is rendered, and runs nothing"
    (tiny_book / "_build/executed/notebooks/01-one.ipynb").write_text("torn")
    assert pages() == ["01-one"]


def test_a_page_depends_on_the_modules_that_its_imports_reach(
    tiny_book, stub_kernels, rendered, page_writer
):
    files = {
        "__init__.py": '"""Doc."""\nfrom dpbook.rankers.counts import add\n__all__ = ["add"]\n',
        "counts.py": "from dpbook import ranking\ndef add(): ...\n",
        "other.py": "def other():\n    import dpbook.data.table\n",
    }
    for name, text in files.items():
        write_whole(tiny_book / "dpbook/rankers" / name, text)
    write_whole(tiny_book / "dpbook/data/table.py", "")
    write_whole(tiny_book / "dpbook/pages/one.py", "from dpbook.rankers import add\n")
    page_writer(tiny_book / "notebooks/01-one.ipynb", "%matplotlib inline\nimport dpbook.pages.one")
    page_writer(tiny_book / "notebooks/02-two.ipynb", "from dpbook.rankers.other import other")

    def after(change):
        path = tiny_book / change
        text = path.read_text() if path.is_file() else ""
        path.write_text(text + "\n# another\n")
        return executed_by(tiny_book, stub_kernels)

    assert after("requirements.txt") == ["01-one", "02-two"]
    assert after("dpbook/pages/one.py") == ["01-one"]
    assert after("dpbook/rankers/counts.py") == ["01-one"], "through the package"
    assert after("dpbook/ranking.py") == ["01-one"], "through the module"
    assert after("dpbook/rankers/__init__.py") == [], "it only imports"
    assert after("dpbook/rankers/other.py") == ["02-two"]
    assert after("dpbook/data/table.csv") == ["02-two"], "imported inside a function"
    assert after("dpbook/data/more.csv") == ["02-two"]
    assert after("dpbook/book/cli.py") == [], "the machinery is not an input"
    (tiny_book / "dpbook/rankers/__init__.py").write_text(files["__init__.py"] + "add = 5\n")
    assert executed_by(tiny_book, stub_kernels) == ["01-one"], "now it holds more than imports"


def test_what_the_ledger_asks_of_a_page_is_part_of_its_key(tiny_book):
    page, other = find_pages(tiny_book)

    def keys():
        return tuple(page_keys(p, [{}], tiny_book) for p in (page, other))  # type: ignore[return-value]

    ledger = tiny_book / "book" / "claims.yml"
    ledger.write_text("- {id: A, notebook: 01-one, verdict: holds, says: x}")
    before = keys()
    ledger.write_text("- {id: A, notebook: 01-one, verdict: holds, says: in other words}")
    assert keys() == before
    ledger.write_text("- {id: A, notebook: 01-one, verdict: refuted, says: x}")
    assert keys()[0] != before[0]
    assert keys()[1] == before[1]


def test_a_failing_page_is_explained_and_nothing_else_is_lost(
    tiny_book, monkeypatch, rendered, capsys
):
    """With real kernels: the second page divides by zero when there are five items."""
    monkeypatch.chdir(tiny_book)
    (tiny_book / "requirements.txt").write_text("numpy==0\n")
    assert main(["build"], tiny_book) == 0
    folder = tiny_book / "_build/executed/notebooks"
    ran = stamp_of(folder / "01-one.ipynb")
    assert ran["environment"] == environment(tiny_book), "it says where it ran"
    before = (folder / "02-two.ipynb").read_text()
    capsys.readouterr()

    assert main(["build", "-p", "n_items", "5"], tiny_book) == 1

    told = capsys.readouterr()
    assert "02-two" in told.out and "FAILED" in told.out
    for part in (
        "FAILED 02-two",
        "cell 3 (counted from 0) of 02-two.ipynb",
        "    y = x / (n_items - 5)",
        "ZeroDivisionError: division by zero",
        "run 02-two -p n_items 5",
        "The previous book is unchanged",
    ):
        assert part in told.err
    assert "\x1b" not in told.err
    assert (folder / "02-two.ipynb").read_text() == before
    other = json.loads((folder / "01-one.ipynb").read_text())
    assert other["metadata"]["dpbook"]["parameters"] == {"epsilon": 1.0, "n_items": 5}
    assert [path.name for path in sorted(folder.iterdir())] == ["01-one.ipynb", "02-two.ipynb"]
    assert (tiny_book / "_build/html/index.html").read_text() == "build 1"
    assert len(rendered) == 1
    assert Path.cwd() == tiny_book
    assert "papermill" not in json.dumps(other), "times and paths would differ from run to run"


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """Settings of a caller, each of which changed what a page shows or whether it runs."""
    theirs = tmp_path / "theirs"
    files = {
        "matplotlibrc": "lines.linewidth: 9\n",
        "startup.py": "raise SystemExit('theirs')\n",
        "profile_default/startup/00-theirs.py": "print = repr\n",
        "profile_default/ipython_kernel_config.py": (
            "c.InteractiveShell.ast_node_interactivity = 'all'\n"
        ),
        "kernels/python3/kernel.json": json.dumps({"argv": ["false"], "display_name": "theirs"}),
    }
    for name, text in files.items():
        write_whole(theirs / name, text)
    folders = dict.fromkeys(("MATPLOTLIBRC", "MPLCONFIGDIR", "IPYTHONDIR", "JUPYTER_PATH"), theirs)
    words = {"MPLBACKEND": "agg", "PYTHONOPTIMIZE": "1", "PYTHONWARNINGS": "error"}
    more = {"HOME": "/proc/nowhere", "PYTHONSTARTUP": theirs / "startup.py", "LANG": "de_DE"}
    for name, text in (folders | words | more).items():
        monkeypatch.setenv(name, str(text))


FIGURE = "import matplotlib.pyplot as plt\n\nplt.plot([1, 2])\nplt.show()"


def test_the_surroundings_of_the_caller_reach_no_page(
    tiny_book, page_writer, rendered, request, capsys
):
    """With real kernels: a page that passes, and one whose assert must fail, for everybody."""
    out, folder = tiny_book / "_build", tiny_book / "_build/executed/notebooks"
    page_writer(tiny_book / "notebooks/01-one.ipynb", FIGURE)
    page_writer(tiny_book / "notebooks/02-two.ipynb", "assert 1 == 2")
    assert main(["build"], tiny_book) == 1
    before = (folder / "01-one.ipynb").read_text()
    assert "image/png" in before and [*out.glob(".kernels/fontlist*")]

    request.getfixturevalue("hostile")
    subprocess.run([sys.executable, "-c", "assert 1 == 2"], check=True)  # they do reach others
    (folder / "01-one.ipynb").unlink()
    assert main(["build"], tiny_book) == 1
    assert (folder / "01-one.ipynb").read_text() == before
    assert capsys.readouterr().err.count("\nAssertionError: ") == 2


def test_what_a_page_writes_on_standard_error_is_told_and_not_kept(
    tiny_book, page_writer, rendered, capsys
):
    words = "import sys\n\nprint('caching fonts\\nat length', file=sys.stderr)"
    page_writer(tiny_book / "notebooks/02-two.ipynb", words)
    for pages in (2, 1):  # the page that warned runs again
        assert main(["build"], tiny_book) == 0
        told = capsys.readouterr().out
        assert f"2 pages: {pages} to execute" in told
        assert "standard error of cell 2 (counted from 0): caching fonts\n" in told
    assert stamp_of(tiny_book / "_build/executed/notebooks/01-one.ipynb")["key"]


@pytest.mark.parametrize(
    ("files", "wanted", "pages"),
    [(128, 8, 3), (256, 8, 8), (256, 16, 8), (10, 1, 1), (resource.RLIM_INFINITY, 64, 64)],
)
def test_no_more_kernels_than_open_files_allow(monkeypatch, capsys, files, wanted, pages):
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (files, files))
    assert surroundings.kernels_at_once(wanted) == pages
    told = capsys.readouterr().out
    assert (f"{files} files may be open" in told) is (pages < wanted)


def test_a_notebook_that_is_handed_out_runs_with_the_package_alone(tmp_path, monkeypatch):
    """Page 1 without the book: every check shows what it measured, and says what is missing."""
    package = tmp_path / "package"
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "dpbook", package / "dpbook", ignore=leave)
    shutil.copy(ROOT / "notebooks/01-first-attack.ipynb", tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(package))
    monkeypatch.chdir(tmp_path)
    how = {"kernel_name": "python3", "cwd": str(tmp_path), "parameters": {"cases": 30}}
    notebook = papermill.execute_notebook("01-first-attack.ipynb", "out.ipynb", **how)
    cards = [data["text/plain"] for _, data in outputs(notebook) if RECORD_MIME in data]
    assert cards and all("no ledger here: verdict not compared" in card for card in cards)
    assert any("As stated: " in card and "caught." in card for card in cards)


def test_an_interrupted_build_ends_its_kernels_and_leaves_no_partial_file(
    tiny_book, sleeping_build
):
    process, kernel = sleeping_build
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130, out
    assert "interrupted" in out
    assert not [noise for noise in ("Traceback", "Task was destroyed") if noise in out], out
    with pytest.raises(ProcessLookupError):
        os.kill(kernel, 0)
    assert not list((tiny_book / "_build").rglob("*.ipynb"))


def test_the_rerun_command_reads_back(tmp_path, page_writer):
    parameters = 'edition = "a b"  # m|-|{"a b", "[x]"}\nlevels = [1.0]  # m|-|each in (0, 9)'
    page_writer(tmp_path / "notebooks" / "01-one.ipynb", parameters=parameters)
    (page,) = find_pages(tmp_path)
    job = Job(page, {"edition": "[x]", "levels": [0.5, 2.0]}, "", tmp_path / "x")
    command = build.rerun_command(job)
    assert command == "dpbook run 01-one -p edition '[x]' -p levels '[0.5, 2.0]'"
    words = shlex.split(command)
    for name, text in (words[4:6], words[7:9]):
        assert page.parameters[name].parse(text) == job.parameters[name]
    unchanged = Job(page, {"edition": "a b", "levels": [1.0]}, "", tmp_path / "x")
    assert build.rerun_command(unchanged) == "dpbook run 01-one"


def test_what_is_printed_is_one_piece_wherever_the_kernel_cut_it():
    def printed(text, name="stdout"):
        return {"output_type": "stream", "name": name, "text": text}

    picture = {"output_type": "display_data", "data": {}, "metadata": {}}
    cut = [printed("a\n"), printed("b\n"), picture, printed("c"), printed("d", "stderr")]
    whole = [printed("a\nb\n"), picture, printed("c"), printed("d", "stderr")]
    assert runner.joined(cut) == runner.joined(whole) == whole
