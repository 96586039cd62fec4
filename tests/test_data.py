"""Data types, and the loader of full data sets: where it looks, what it checks, what it returns."""

from __future__ import annotations

import gzip
import hashlib
import pickle
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest
import test_official
from full_data import FULL_DATA, needs_full_data
from hypothesis import given
from hypothesis import strategies as st

from dpbook.data import Comparisons, PairTable, Rankings, _official, load_table, loader
from dpbook.data.loader import DatasetError, has_dataset, load_dataset


def test_win_matrix_of_a_small_example() -> None:
    data = Comparisons(["x", "y", "z"], [0, 0, 2, 1], [1, 1, 0, 0], user=[7, 7, 9, 7])
    assert data.win_matrix().tolist() == [[0, 2, 0], [1, 0, 0], [1, 0, 0]]
    assert (data.n_items, len(data)) == (3, 4)


@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_win_matrix_round_trip(n: int, seed: int) -> None:
    wins = np.random.default_rng(seed).integers(0, 5, (n, n)) * (1 - np.eye(n, dtype=int))
    wins[0, 1] += 1
    data = Comparisons.from_win_matrix(wins)
    assert len(data) == wins.sum() and np.array_equal(data.win_matrix(), wins)
    counted = Counter(zip(data.winner.tolist(), data.loser.tolist(), strict=True))
    assert all(wins[pair] == times for pair, times in counted.items())
    with pytest.raises(ValueError, match="wins adds up to 0"):
        Comparisons.from_win_matrix(0 * wins)


def test_arrays_are_read_only_copies() -> None:
    winner = np.array([0, 1])
    data = Comparisons(2, winner, np.array([1, 0]))
    winner[0] = 1
    assert data.winner.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        data.winner[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        Rankings(3, [[0, 1, 2]]).positions[0, 0] = 2
    with pytest.raises(FrozenInstanceError):
        data.user = None  # type: ignore[misc]


def test_equality_looks_at_every_part() -> None:
    data = Comparisons(3, [0, 1], [1, 2], [0, 1])
    assert data == Comparisons(3, [0, 1], [1, 2], [0, 1])
    assert data == pickle.loads(pickle.dumps(data))
    changes = {"items": 4}, {"loser": [1, 0]}, {"winner": [0, 2], "loser": [1, 1]}
    for change in (*changes, {"user": [0, 0]}, {"user": None}):
        parts = {"items": 3, "winner": [0, 1], "loser": [1, 2], "user": [0, 1]} | change
        assert data != Comparisons(**parts)
    assert replace(data, loser=[1, 0]) == Comparisons(3, [0, 1], [1, 0], [0, 1])


def test_positions_and_orders_are_inverse_permutations():
    data = Rankings.from_orders([[2, 0, 1], [0, 1, 2]], items=["a", "b", "c"])
    assert data.positions.tolist() == [[1, 2, 0], [0, 1, 2]]
    assert (data.n_items, len(data)) == (3, 2)
    assert data == Rankings(["a", "b", "c"], data.positions)
    assert data != Rankings(3, data.positions)


def test_a_table_by_hand() -> None:
    ties = [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    table = PairTable(list("abc"), [[0, 3, 1], [1, 0, 2], [2, 2, 0]], 5, ties)
    assert (table.n_items, table.n_pairs, table.users) == (3, 3, 5)
    assert table.missing.tolist() == [[0, 0, 2], [0, 0, 1], [2, 1, 0]]
    assert table.half_tied_counts().tolist() == [[0, 3.5, 1], [1.5, 0, 2], [2, 2, 0]]
    assert not PairTable(2, [[0, 1], [0, 0]], 1).ties.any()
    with pytest.raises(ValueError, match="read-only"):
        table.counts[0, 1] = 0


Server, Patch = tuple[list[str], list[bytes]], pytest.MonkeyPatch
SURVEYS = ("cems", "cems_1998", "immigration")

# Two respondents and a third who decided nothing, as in the file of BradleyTerry2.
SMALL_R = """CEMS <-
list(preferences = structure(list(student = c(1, 1, 1, 2, 2, 2, 3),
school1 = structure(c(1L, 1L, 2L, 1L, 1L, 2L, 1L), levels = c("x", "y", "z"), class = "factor"),
school2 = structure(c(2L, 3L, 3L, 2L, 3L, 3L, 2L), levels = c("x", "y", "z"), class = "factor"),
win1 = c(1, 0, 0, 0, NA, 1, 0), win2 = c(0, 1, 0, 1, NA, 0, 0), tied = c(0, 0, 1, 0, NA, 0, 1)),
class = "data.frame"))
"""
SMALL_CSV = test_official.SMALL_CSV + "3,x,y,tie\n"
DECIDED = Comparisons(["x", "y", "z"], [0, 2, 1, 1], [1, 0, 0, 2], user=[0, 0, 1, 1])


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: Patch) -> Path:
    """An empty cache, and no data folder in the environment."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DPBOOK_DATA", raising=False)
    return tmp_path / "cache" / "dpbook"


@pytest.fixture
def small(monkeypatch: Patch) -> loader.Dataset:
    """A registered survey of two respondents; nothing listens at its address."""
    convert, url = _official.from_bradleyterry2, "http://127.0.0.1:9/data/CEMS.R"
    dataset = loader.Dataset(url, digest(SMALL_CSV), convert, digest(SMALL_R))
    monkeypatch.setitem(loader.DATASETS, "small", dataset)
    return dataset


@pytest.fixture
def server(small: loader.Dataset, cache: Path, monkeypatch: Patch) -> Iterator[Server]:
    """A local stand-in of the official server: the paths asked for, and what it answers."""
    pytest.importorskip("pooch", reason="the optional package pooch is not installed")
    asked, answers = [], [SMALL_R.encode()]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(SMALL_R)))
            self.end_headers()
            self.wfile.write(answers[0])

        def log_message(self, *args: object) -> None:
            pass

    httpd = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, args=(0.02,))
    thread.start()
    url = f"http://127.0.0.1:{httpd.server_port}/data/CEMS.R"
    monkeypatch.setitem(loader.DATASETS, "small", replace(small, url=url))
    yield asked, answers
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def test_a_file_is_fetched_verified_and_cached(server: Server, cache: Path) -> None:
    assert not has_dataset("small")
    assert load_dataset("small") == DECIDED and has_dataset("small")
    assert [path.name for path in cache.iterdir()] == ["CEMS.R"]
    load_dataset("small")
    assert server[0] == ["/data/CEMS.R"]  # the second call read the cache
    (cache / "CEMS.R").write_text("damaged")
    assert load_dataset("small") == DECIDED  # and a file of another digest is fetched again


@pytest.mark.parametrize("sent", [SMALL_R[:99], SMALL_R.replace("win1 = c(1", "win1 = c(0")])
def test_half_an_answer_or_other_bytes_are_refused_and_not_kept(
    server: Server, cache: Path, sent: str
) -> None:
    server[1][0] = sent.encode()
    with pytest.raises(DatasetError, match=r"cannot fetch http.*DPBOOK_DATA"):
        load_dataset("small")
    assert not list(cache.glob("*"))


def test_a_folder_comes_before_cache_and_network(
    server: Server, cache: Path, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("DPBOOK_DATA", str(tmp_path))
    (tmp_path / "CEMS.R").write_text(SMALL_R)
    assert load_dataset("small") == DECIDED and has_dataset("small")
    (tmp_path / "small.csv").write_text(SMALL_CSV)  # before the official file
    (tmp_path / "CEMS.R").write_text("not read")
    assert load_dataset("small") == load_dataset("small", path=tmp_path) == DECIDED
    assert not server[0]
    for name in ("small.csv", "CEMS.R"):
        (tmp_path / name).unlink()
    with pytest.raises(DatasetError, match=r"neither small\.csv nor CEMS\.R"):
        load_dataset("small", path=tmp_path)
    assert load_dataset("small") == DECIDED  # goes on to fetch
    monkeypatch.setenv("DPBOOK_DATA", str(tmp_path / "nowhere"))
    for call in (has_dataset, load_dataset):
        with pytest.raises(DatasetError, match="is not a folder"):
            call("small")


def test_what_cannot_be_fetched_or_read_says_what_to_do(
    small: loader.Dataset, cache: Path, tmp_path: Path, monkeypatch: Patch
) -> None:
    with pytest.raises(DatasetError, match="cannot fetch") as caught:
        load_dataset("small")
    for part in (small.url, "small.csv", "DPBOOK_DATA"):
        assert part in str(caught.value)
    (tmp_path / "small.csv").write_text(SMALL_CSV)

    def absent(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(loader.importlib, "import_module", absent)
    missing = r"pooch is missing: pip install '\.\[data\]' in the sources"
    with pytest.raises(DatasetError, match=missing):
        load_dataset("small")

    def locked(*args: object) -> None:
        raise PermissionError("locked")

    monkeypatch.setattr(Path, "read_bytes", locked)
    with pytest.raises(DatasetError, match=r"cannot read .*small\.csv: locked.*DPBOOK_DATA"):
        load_dataset("small", path=tmp_path)


def test_digest_mismatch_names_file_expected_and_got(small: loader.Dataset, tmp_path: Path) -> None:
    changed = SMALL_CSV.replace("1,x,y,a", "1,x,y,b")
    (tmp_path / "small.csv").write_text(changed)
    with pytest.raises(DatasetError) as caught:
        load_dataset("small", path=tmp_path)
    for part in (str(tmp_path / "small.csv"), digest(SMALL_CSV), digest(changed)):
        assert part in str(caught.value)


def test_nothing_is_parsed_before_the_digest_of_the_official_file(
    small: loader.Dataset, tmp_path: Path, monkeypatch: Patch
) -> None:
    def never(raw: bytes) -> str:
        raise AssertionError("the converter saw bytes of another digest")

    (tmp_path / "CEMS.R").write_text("another file")
    monkeypatch.setitem(loader.DATASETS, "small", replace(small, convert=never))
    with pytest.raises(DatasetError, match=f"is {digest('another file')}; expected"):
        load_dataset("small", path=tmp_path)
    monkeypatch.setitem(loader.DATASETS, "small", replace(small, raw_sha256=""))
    with pytest.raises(DatasetError, match="does not have the expected layout: no data frame"):
        load_dataset("small", path=tmp_path)


# An R promise to call `system`, in R's own ASCII form: R would run it when the value is asked for.
PROMISE = (
    b"RDA2\nA\n2\n262153\n131840\n1026\n1\n262153\n5\nimmig\n5\n252\n6\n1\n262153\n6\nsystem\n"
    b"2\n16\n1\n262153\n8\ntouch\\040x\n254\n254\n"
)


BROKEN = b"RDX3\nX\n" + bytes(60)


@pytest.mark.parametrize("raw", [PROMISE, gzip.compress(PROMISE, mtime=0), b"", BROKEN])
def test_code_in_an_r_file_never_runs(raw: bytes, tmp_path: Path, monkeypatch: Patch) -> None:
    pytest.importorskip("rdata", reason="the optional package rdata is not installed")
    monkeypatch.chdir(tmp_path)
    known = replace(loader.DATASETS["immigration"], raw_sha256="")
    monkeypatch.setitem(loader.DATASETS, "immigration", known)
    (tmp_path / "immig.RData").write_bytes(raw)
    with pytest.raises(DatasetError, match="does not have the expected layout"):
        load_dataset("immigration", path=tmp_path)
    assert not (tmp_path / "x").exists()


def test_every_data_set_is_registered_at_a_pinned_address() -> None:
    # The archives of these two sources have no versions; the digest alone pins them.
    unversioned = {"sushi": "http://www.kamishima.net/"}
    unversioned["movielens_top40"] = "https://files.grouplens.org/"
    for name, dataset in loader.DATASETS.items():
        assert len(dataset.sha256) == 64
        if name in unversioned:
            assert dataset.url.startswith(unversioned[name]) and not dataset.raw_sha256
        else:
            assert dataset.url.startswith("https://raw.githubusercontent.com/")
            assert len(dataset.url.split("/")[5]) == 40  # a commit, not a branch
            assert len(dataset.raw_sha256) == 64 and dataset.raw_sha256 != dataset.sha256


@needs_full_data
@pytest.mark.parametrize("name", [*SURVEYS, "llmfao"])
def test_full_answers_give_the_committed_counts(name: str, cache: Path) -> None:
    answers, table = load_dataset(name, path=FULL_DATA), load_table(name)
    assert answers.items == table.items
    assert np.array_equal(answers.win_matrix(), table.counts)


@needs_full_data
def test_full_rankings(cache: Path) -> None:
    sushi, table = load_dataset("sushi", path=FULL_DATA), load_table("sushi")
    assert sushi.positions.shape == (5000, 10)
    orders = np.argsort(sushi.positions, axis=1)
    assert len({tuple(order) for order in orders.tolist()}) == 4926
    assert orders[0].tolist() == [5, 0, 3, 4, 6, 9, 8, 1, 7, 2]
    before = (sushi.positions[:, :, None] < sushi.positions[:, None, :]).sum(axis=0)
    assert sushi.items == table.items and np.array_equal(before, table.counts)


@needs_full_data
def test_full_ratings(cache: Path) -> None:
    ratings = load_dataset("movielens_top40", path=FULL_DATA)
    assert ratings.shape == (610, 40)
    assert int(np.isfinite(ratings).sum()) == 8307
    assert np.isnan(ratings).all(axis=1).tolist() == [False] * 580 + [True] * 30
    table, values = load_table("movielens_top40"), np.nan_to_num(ratings, nan=-1.0)
    story = next(k for k, title in enumerate(table.items) if title.startswith("Toy Story"))
    assert ratings[0, story] == 4.0  # user 1
    higher = (values[:, :, None] > values[:, None, :]).sum(axis=0)
    assert np.array_equal(higher, table.counts)


@needs_full_data
@pytest.mark.parametrize("name", ["cems_1998", "immigration"])
def test_full_data_survive_the_official_layout(name: str, cache: Path, tmp_path: Path) -> None:
    """Write the data in the layout of the official file, and read them back."""
    text = (FULL_DATA / f"{name}.csv").read_text(encoding="utf-8")
    raw = as_prefmod([line.split(",") for line in text.splitlines()[1:]], name, tmp_path)
    assert loader.DATASETS[name].convert(raw) == text


def as_prefmod(rows: list[list[str]], name: str, folder: Path) -> bytes:
    first, second = ((0, 2), (1, -1))[name == "immigration"]
    tie = 1 if name == "cems_1998" else 0
    codes = {"a": first, "b": second, "tie": tie, "missing": float("nan")}
    pairs = sum(row[0] == "1" for row in rows)
    columns = {f"V{k + 1}": [float(codes[row[3]]) for row in rows[k::pairs]] for k in range(pairs)}
    frame = "cemspc" if name == "cems_1998" else "immig"
    return test_official.rdata_file(folder / "written.RData", frame, columns)
