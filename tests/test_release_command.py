"""The command ``dpbook rank``, outside of any book, and the ledger of what is spent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpbook.rank import Answers, rank, rank_privately
from dpbook.rank import ledger as ledgers
from dpbook.rank.command import main
from dpbook.rank.ledger import charge

Capture, Patch = pytest.CaptureFixture[str], pytest.MonkeyPatch
ROOT = Path(__file__).resolve().parents[1]
DATA = Answers("counts", ("a", "b"), True, np.array([[0, 9], [1, 0]]), None)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: Patch) -> Path:
    """A folder with answers, far from any book."""
    rows = [f"secret{k},tea,mate\n" for k in range(37)] + ["secret1,mate,coffee\n"]
    (tmp_path / "answers.csv").write_text("person,winner,loser\n" + "".join(rows))
    (tmp_path / "counts.csv").write_text("winner,loser,count\na,b,70\nb,a,30\n")
    with open(tmp_path / "zeros", "wb") as file:  # of /dev/zero there would be no end
        file.truncate(2**24 + 1)
    monkeypatch.chdir(tmp_path)
    return tmp_path


PERSON = "answers.csv --protect person --epsilon 1 --max-answers 20"


def test_a_release(here: Path, capsys: Capture) -> None:
    assert main(f"{PERSON} --out ranking.csv --ledger spent.jsonl".split()) == 0
    shown = capsys.readouterr()
    spent = "epsilon spent on these data, by spent.jsonl: 1 to protect a person, in 1 release"
    for words in ("Not protected", "written: ranking.csv, ranking.privacy.json", spent):
        assert words in shown.out
    assert not shown.err
    told = json.loads((here / "ranking.privacy.json").read_text())
    assert told["l1_sensitivity"] == 80 and told["sampler"] == "book"
    assert main(f"{PERSON} --ledger spent.jsonl".split()) == 0
    assert "2 to protect a person, in 2 releases" in capsys.readouterr().out


def test_success_says_nothing_of_the_data(here: Path, capsys: Capture) -> None:
    """No person, and no number that the file determines: 37, 38, 36 lines, people, wins."""
    assert main([*PERSON.split(), "--max-answers", "1", "--out", "out.csv"]) == 0
    shown = capsys.readouterr().out
    private = json.loads((here / "out.privacy.json").read_text())
    public = shown.replace(str(private["noisy"][2]), "")
    assert "secret" not in shown + (here / "out.csv").read_text() + json.dumps(private)
    text = private["statement"] + public.split("This ranking")[1]
    assert not {"36", "37", "38"} & set(text.replace(",", " ").split())


def test_the_check_is_for_the_keeper(here: Path, capsys: Capture) -> None:
    assert main("answers.csv --protect person --max-answers 1 --check".split()) == 0
    shown = capsys.readouterr().out
    people = "37 people, 1 to 2 answers each", "1 people above 1: 1 would be left"
    assert all(words in shown for words in ("For your eyes only", "38 answers on 3 items", *people))
    assert main("counts.csv --protect comparison --check".split()) == 0
    assert "counts: 100 answers on 2 items" in capsys.readouterr().out


REFUSED = {
    "none.csv --protect person --epsilon 1 --max-answers 2": "none.csv: No such file",
    ". --protect comparison --epsilon 1": ".: Is a directory",
    "answers.csv --protect person --epsilon 1": "--max-answers is missing: allowed is a whole",
    "answers.csv --protect person --max-answers 1": "--epsilon is missing: allowed is a number",
    "answers.csv --protect comparison --epsilon 0": "--epsilon = '0': allowed is a number",
    "answers.csv --protect comparison --epsilon 9e999999999": "--epsilon = '9e999999999': allowed",
    "answers.csv --protect comparison --epsilon 1e-999999999": "--epsilon = '1e-999999999': allow",
    "answers.csv --protect comparison --epsilon inf": "--epsilon = 'inf': allowed is a number",
    "answers.csv --protect comparison --epsilon 1 --max-answers 3": "--max-answers = 3 with prot",
    "answers.csv --protect comparison --epsilon 1 --items tea": "items has 1 names: allowed are 2",
    "answers.csv --protect comparison --epsilon 1 --items tea,mate": "loser = 'coffee' is not in",
    "answers.csv --protect comparison --epsilon 1 --items a,b --items-file c": "are both given",
    "counts.csv --protect comparison --epsilon 1 --items-file zeros": "zeros: longer than allowed",
    "counts.csv --protect person --epsilon 1 --max-answers 3": "is 'comparison', or --vouch",
    "counts.csv --protect comparison --epsilon 1 --out answers.csv": "answers.csv exists: allowed",
    "counts.csv --protect comparison --epsilon 1 --out no/x.csv": "no is no folder: allowed is one",
}


@pytest.mark.parametrize("command", REFUSED)
def test_refused_in_one_sentence(here: Path, capsys: Capture, command: str) -> None:
    before = sorted(os.listdir(here))
    assert main([*command.split(), "--ledger", "spent.jsonl"]) == 2
    shown = capsys.readouterr()
    assert not shown.out and REFUSED[command] in shown.err
    assert shown.err.startswith("dpbook: ") and shown.err.count("\n") == 1
    assert sorted(os.listdir(here)) == before  # nothing is released, written or charged


def test_items_from_a_file(here: Path, capsys: Capture) -> None:
    (here / "items.txt").write_bytes("\ufefftea\r\nmate\r\n\r\ncoffee\r\nwater\r\n".encode())
    command = "answers.csv --protect comparison --epsilon 1 --items-file items.txt"
    assert main(command.split()) == 0
    assert "ranking of 4 items" in capsys.readouterr().out
    (here / "items.txt").write_bytes(b"t\xe9\n")
    assert main(command.split()) == 2
    assert "items.txt: byte 2 is not UTF-8" in capsys.readouterr().err


ALONE = """
import sys
tools = "yaml papermill jinja2 nbformat sphinx jsonschema matplotlib scipy opendp".split()
class No:
    def find_spec(self, name, *rest):
        if name.split(".")[0] in tools:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, No())
from dpbook.__main__ import main
sys.exit(main())
"""


def test_it_needs_neither_a_book_nor_its_tools(here: Path) -> None:
    """As installed with ``pip install .``: everything of the extra `book` is refused."""
    command = [sys.executable, "-c", ALONE, "rank", *PERSON.split()]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Not protected" in done.stdout


@pytest.mark.parametrize("device", ["/dev/null", "."])
def test_a_ledger_is_a_file(here: Path, capsys: Capture, device: str) -> None:
    """A device may have no end, as /dev/full; nothing is drawn."""
    command = f"counts.csv --protect comparison --epsilon 1 --ledger {device}"
    assert main(command.split()) == 2
    words = f"{device} is no file: allowed is a ledger that this command wrote"
    assert capsys.readouterr().err == f"dpbook: {words}\n"


@pytest.mark.parametrize("items", [2, 4000])
def test_a_reader_who_goes_away_is_no_failure(here: Path, items: int) -> None:
    """As for `| head`: output that fits into a buffer, and more than that."""
    rows = "".join(f"a{k},b,1\n" for k in range(items - 1))
    (here / "many.csv").write_text("winner,loser,count\n" + rows)
    command = "import sys; from dpbook.rank.command import main; sys.exit(main(sys.argv[1:]))"
    words = "many.csv --protect comparison --epsilon 1 --ledger spent.jsonl".split()
    with subprocess.Popen(
        [sys.executable, "-c", command, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""},
    ) as child:
        assert child.stdout is not None and child.stderr is not None
        child.stdout.close()
        said = child.stderr.read()
    assert (said, child.returncode) == (b"", 141)
    assert (here / "spent.jsonl").read_text().count("\n") == 1  # it is spent all the same


def test_the_ledger_adds_up_exactly(tmp_path: Path) -> None:
    path = tmp_path / "spent.jsonl"
    for _ in range(10):
        release = rank_privately(DATA, epsilon="0.1", protect="comparison", ledger=path)
    assert release.spent == {"comparison": (10, Fraction(1))}
    spent = charge(path, "person", Fraction(1, 3))
    assert spent == {"comparison": (10, Fraction(1)), "person": (1, Fraction(1, 3))}
    assert len(path.read_text().splitlines()) == 11


HUGE = '{"protect": "a", "epsilon": "9e9999999"}'
NEGATIVE = '{"protect": "person", "epsilon": "-1"}'


@pytest.mark.parametrize("line", ["{}", HUGE, "nonsense", NEGATIVE, "3"])
def test_a_damaged_ledger_is_refused_and_nothing_is_released(tmp_path: Path, line: str) -> None:
    path = tmp_path / "spent.jsonl"
    charge(path, "person", Fraction(1))
    path.write_text(path.read_text() + line + "\n")
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"spent.jsonl, line 2: .* is no release"):
        rank_privately(DATA, epsilon=1, protect="comparison", ledger=path)
    assert path.read_bytes() == before


CHARGE = """
import sys
from fractions import Fraction
from dpbook.rank.ledger import charge
print("here", flush=True)
print(charge(sys.argv[1], "person", Fraction(1, 3)))
"""


def test_a_second_process_waits_for_the_first(tmp_path: Path, monkeypatch: Patch) -> None:
    """While one adds up, nobody else may even read; and the sums of both are right."""
    fcntl = pytest.importorskip("fcntl")
    path, add_up, others = tmp_path / "spent.jsonl", ledgers._sums, []

    def sums(name: str, text: str) -> object:
        words = [sys.executable, "-c", CHARGE, str(path)]
        others.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
        assert others[0].stdout.readline() == "here\n"
        with open(path, "rb") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return add_up(name, text)

    monkeypatch.setattr(ledgers, "_sums", sums)
    assert charge(path, "person", Fraction(1, 5)) == {"person": (1, Fraction(1, 5))}
    assert others[0].communicate()[0] == "{'person': (2, Fraction(8, 15))}\n"


def test_an_epsilon_is_written_down_before_its_noise_is_drawn(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    def fails(scale: Fraction, below: object) -> int:
        raise MemoryError

    monkeypatch.setattr(rank, "exact_noise", fails)
    path = tmp_path / "spent.jsonl"
    with pytest.raises(MemoryError):
        rank_privately(DATA, epsilon=1, protect="comparison", ledger=path)
    assert charge(path, "comparison", Fraction(1)) == {"comparison": (2, Fraction(2))}
