"""The loader of full data sets: where it looks, what it checks, what it returns."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest
from full_data import FULL_DATA, needs_full_data

from dpbook.data import (
    Comparisons,
    DatasetError,
    _official,
    has_dataset,
    load_dataset,
    load_table,
    loader,
)

NAMES = tuple(loader.DATASETS)
SURVEYS = ("cems", "cems_1998", "immigration")

# Two respondents and a third who decided nothing, as in the file of BradleyTerry2.
SMALL_R = """CEMS <-
list(preferences = structure(list(student = c(1, 1, 1, 2, 2, 2, 3),
school1 = structure(c(1L, 1L, 2L, 1L, 1L, 2L, 1L), levels = c("x", "y", "z"), class = "factor"),
school2 = structure(c(2L, 3L, 3L, 2L, 3L, 3L, 2L), levels = c("x", "y", "z"), class = "factor"),
win1 = c(1, 0, 0, 0, NA, 1, 0), win2 = c(0, 1, 0, 1, NA, 0, 0), tied = c(0, 0, 1, 0, NA, 0, 1)),
class = "data.frame"))
"""
SMALL_CSV = """respondent,item_a,item_b,outcome
1,x,y,a
1,x,z,b
1,y,z,tie
2,x,y,b
2,x,z,missing
2,y,z,a
3,x,y,tie
"""
SMALL_SHA256 = hashlib.sha256(SMALL_CSV.encode()).hexdigest()
DECIDED = Comparisons(["x", "y", "z"], [0, 2, 1, 1], [1, 0, 0, 2], user=[0, 0, 1, 1])


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no data folder in the environment."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DPBOOK_DATA", raising=False)
    return tmp_path / "cache" / "dpbook"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> loader.Dataset:
    """A registered survey of two respondents; nothing listens at its address."""
    dataset = loader.Dataset(
        "http://127.0.0.1:9/data/CEMS.R", SMALL_SHA256, _official.from_bradleyterry2
    )
    monkeypatch.setitem(loader.DATASETS, "small", dataset)
    return dataset


@pytest.fixture
def server(small: loader.Dataset, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A local stand-in of the official server; yields the list of requested paths."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(SMALL_R.encode())

        def log_message(self, *args: object) -> None:
            pass

    httpd = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{httpd.server_port}/data/CEMS.R"
    monkeypatch.setitem(loader.DATASETS, "small", replace(small, url=url))
    yield asked
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def test_fetch_converts_verifies_and_caches(server: list[str], cache: Path) -> None:
    pytest.importorskip("pooch", reason="the optional package pooch is not installed")
    assert load_dataset("small") == DECIDED
    assert [path.name for path in cache.iterdir()] == ["small.csv"]
    assert (cache / "small.csv").read_bytes() == SMALL_CSV.encode()
    load_dataset("small")
    assert server == ["/data/CEMS.R"]  # the second call read the cache


def test_folder_comes_before_cache_and_network(
    small: loader.Dataset, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.mkdir(parents=True)
    (cache / "small.csv").write_text("not read")
    (tmp_path / "small.csv").write_bytes(SMALL_CSV.encode())
    monkeypatch.setenv("DPBOOK_DATA", str(tmp_path))
    assert load_dataset("small") == DECIDED


def test_folder_may_hold_the_official_file(
    small: loader.Dataset, cache: Path, tmp_path: Path
) -> None:
    (tmp_path / "CEMS.R").write_text(SMALL_R)
    assert load_dataset("small", path=tmp_path) == DECIDED


def test_offline_error_says_what_to_do(small: loader.Dataset, cache: Path) -> None:
    with pytest.raises(DatasetError) as caught:
        load_dataset("small")
    for part in (small.url, "small.csv", "DPBOOK_DATA"):
        assert part in str(caught.value)
    assert not cache.exists()


def test_folder_without_the_file(
    small: loader.Dataset, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = SMALL_R.encode()
    with pytest.raises(DatasetError, match=r"neither small\.csv nor CEMS\.R"):
        load_dataset("small", path=tmp_path, opener=lambda url: raw)
    monkeypatch.setenv("DPBOOK_DATA", str(tmp_path))
    assert load_dataset("small", opener=lambda url: raw) == DECIDED  # goes on to fetch
    with pytest.raises(DatasetError, match="is not a folder"):
        load_dataset("small", path=tmp_path / "nowhere")


@pytest.mark.parametrize("path", [5, b"folder", ["folder"]])
def test_a_path_that_is_no_folder_name_is_refused(small: loader.Dataset, path: object) -> None:
    with pytest.raises(ValueError, match=r"path must be a folder.s name .* got"):
        load_dataset("small", path=path)


def test_digest_mismatch_names_file_expected_and_got(
    small: loader.Dataset, cache: Path, tmp_path: Path
) -> None:
    changed = SMALL_CSV.replace("1,x,y,a", "1,x,y,b").encode()
    (tmp_path / "small.csv").write_bytes(changed)
    with pytest.raises(DatasetError) as caught:
        load_dataset("small", path=tmp_path)
    for part in (str(tmp_path / "small.csv"), SMALL_SHA256, hashlib.sha256(changed).hexdigest()):
        assert part in str(caught.value)
    cache.mkdir(parents=True)
    (cache / "small.csv").write_bytes(changed)
    with pytest.raises(DatasetError, match="Delete it to fetch it again"):
        load_dataset("small")


def test_changed_source_is_refused_and_not_cached(small: loader.Dataset, cache: Path) -> None:
    text = SMALL_R.replace("win1 = c(1, 0", "win1 = c(0, 0")
    text = text.replace("win2 = c(0, 1", "win2 = c(1, 1")
    with pytest.raises(DatasetError, match=r"SHA-256 of small\.csv converted from http"):
        load_dataset("small", opener=lambda url: text.encode())
    with pytest.raises(DatasetError, match="does not have the expected layout"):
        load_dataset("small", opener=lambda url: b"<html>moved</html>")
    assert not cache.exists()


def test_interrupted_write_leaves_nothing(
    small: loader.Dataset, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(loader.os, "replace", interrupted)
    raw = SMALL_R.encode()
    with pytest.raises(KeyboardInterrupt):
        load_dataset("small", opener=lambda url: raw)
    assert list(cache.iterdir()) == []


def test_unwritable_cache_is_named(
    small: loader.Dataset, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.parent.write_text("a file where the folder should be")
    raw = SMALL_R.encode()
    with pytest.raises(DatasetError, match="cannot write the cache file"):
        load_dataset("small", opener=lambda url: raw)


@pytest.mark.parametrize("value", ["relative/cache", ""])
def test_relative_cache_setting_is_ignored(
    small: loader.Dataset, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DPBOOK_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.chdir(tmp_path)
    load_dataset("small", opener=lambda url: SMALL_R.encode())
    assert (tmp_path / ".cache" / "dpbook" / "small.csv").is_file()


def test_missing_optional_package_is_named(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(_official.importlib, "import_module", absent)
    any_file = replace(loader.DATASETS["immigration"], raw_sha256="")
    monkeypatch.setitem(loader.DATASETS, "immigration", any_file)
    advice = r"pip install 'dpbook\[data\]'"
    with pytest.raises(
        DatasetError, match=f"reading .*immig.RData needs the package rdata: {advice}"
    ):
        load_dataset("immigration", opener=lambda url: b"")
    with pytest.raises(
        DatasetError, match=f"fetching .*immig.RData needs the package pooch: {advice}"
    ):
        load_dataset("immigration")


def test_unknown_dataset_lists_the_names(cache: Path) -> None:
    with pytest.raises(ValueError, match=r"name = 'elections'.*'cems', 'cems_1998', 'immigration'"):
        load_dataset("elections")


def test_every_data_set_is_registered_at_a_pinned_address() -> None:
    # The archives of these two sources have no versions; the digest alone pins them.
    unversioned = {
        "sushi": "http://www.kamishima.net/",
        "movielens_top40": "https://files.grouplens.org/",
    }
    for name, dataset in loader.DATASETS.items():
        assert len(dataset.sha256) == 64
        if name in unversioned:
            assert dataset.url.startswith(unversioned[name]) and not dataset.raw_sha256
        else:
            assert dataset.url.startswith("https://raw.githubusercontent.com/")
            assert len(dataset.url.split("/")[5]) == 40  # a commit, not a branch
            assert len(dataset.raw_sha256) == 64 and dataset.raw_sha256 != dataset.sha256


def test_unknown_parts_are_refused(cache: Path) -> None:
    with pytest.raises(ValueError, match="part = 2: allowed is an integer from 1 to 1"):
        load_dataset("sushi", part=2)
    with pytest.raises(ValueError, match="part = 5: allowed is an integer from 1 to 4"):
        load_dataset("turkdots", part=5)


def test_has_dataset_looks_at_folder_and_cache_only(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert has_dataset("turkdots") and not has_dataset("sushi")
    cache.mkdir(parents=True)
    (cache / "sushi.csv").write_text("-")
    assert has_dataset("sushi") and not has_dataset("cems")
    monkeypatch.setenv("DPBOOK_DATA", str(tmp_path))
    assert not has_dataset("cems")
    (tmp_path / "CEMS.R").write_text("-")
    assert has_dataset("cems")
    with pytest.raises(ValueError, match="name = 'elections'"):
        has_dataset("elections")
    monkeypatch.setenv("DPBOOK_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DatasetError, match="is not a folder"):
        has_dataset("sushi")


# ---------------------------------------------------------------- the real data


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
@pytest.mark.parametrize("name", NAMES)
def test_one_changed_character_is_refused(name: str, cache: Path, tmp_path: Path) -> None:
    text = (FULL_DATA / f"{name}.csv").read_text(encoding="utf-8")
    (tmp_path / f"{name}.csv").write_text(text[:-2] + "#" + text[-1], encoding="utf-8")
    expected = f"SHA-256 of .*; expected {loader.DATASETS[name].sha256}"
    with pytest.raises(DatasetError, match=expected):
        load_dataset(name, path=tmp_path)


@needs_full_data
@pytest.mark.parametrize("name", NAMES)
def test_full_data_survive_the_official_layout(
    name: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Write the data in the layout of the official file, and fetch them back."""
    # The layout is the official one, the bytes are not.
    dataset = replace(loader.DATASETS[name], raw_sha256="")
    monkeypatch.setitem(loader.DATASETS, name, dataset)
    canonical = (FULL_DATA / f"{name}.csv").read_bytes()
    raw = official_file(name, canonical.decode(), tmp_path)
    assert loader.dataset_text(name, opener={dataset.url: raw}.__getitem__) == canonical.decode()
    assert (cache / f"{name}.csv").read_bytes() == canonical and has_dataset(name)
    (tmp_path / dataset.file).write_bytes(raw)
    assert loader.dataset_text(name, path=tmp_path) == canonical.decode()


def official_file(name: str, text: str, folder: Path) -> bytes:
    rows = [line.split(",") for line in text.splitlines()[1:]]
    if name == "cems":
        return as_bradleyterry2(rows)
    if name in SURVEYS:
        return as_prefmod(rows, name, folder)
    if name == "llmfao":
        words = {"a": "left", "b": "right", "tie": "tie"}
        lines = [f"0,{prompt},1,2,{who},{words[o]},{a},{b}" for who, prompt, a, b, o in rows]
        return "\n".join(
            ["id,prompt,model_x,model_y,worker,winner,left,right", *lines, ""]
        ).encode()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        if name == "sushi":
            orders = "10 1\n" + "".join(f"0 10 {' '.join(row[1:])}\n" for row in rows)
            archive.writestr("sushi3-2016/sushi3a.5000.10.order", orders)
        else:
            # A film outside the 40, with fewer ratings, must be left out.
            rows += [[str(user), "163", "3.5"] for user in range(1, 160)]
            lines = "".join(f"{','.join(row)},964982703\n" for row in rows)
            header = "userId,movieId,rating,timestamp\n"
            archive.writestr("ml-latest-small/ratings.csv", header + lines)
    return stream.getvalue()


def as_bradleyterry2(rows: list[list[str]]) -> bytes:
    schools = sorted({row[1] for row in rows} | {row[2] for row in rows})
    labels = ", ".join(f'"{school}"' for school in schools)

    def factor(column: int) -> str:
        codes = ", ".join(f"{schools.index(row[column]) + 1}L" for row in rows)
        return f'structure(c({codes}), .Label = c({labels}), class = "factor")'

    def flag(outcome: str) -> str:
        values = ("NA" if row[3] == "missing" else str(int(row[3] == outcome)) for row in rows)
        return f"c({', '.join(values)})"

    student = f"c({', '.join(row[0] for row in rows)})"
    text = (
        f"CEMS <-\nlist(preferences = structure(list(student = {student}, school1 = {factor(1)}, "
        f"school2 = {factor(2)}, win1 = {flag('a')}, win2 = {flag('b')}, tied = {flag('tie')}), "
        'class = "data.frame"))\n'
    )
    return text.replace(", ", ", \n").encode()


def as_prefmod(rows: list[list[str]], name: str, folder: Path) -> bytes:
    first, second = ((0, 2), (1, -1))[name == "immigration"]
    tie = 1 if name == "cems_1998" else 0
    codes = {"a": first, "b": second, "tie": tie, "missing": float("nan")}
    pairs = sum(row[0] == "1" for row in rows)
    columns = {f"V{k + 1}": [float(codes[row[3]]) for row in rows[k::pairs]] for k in range(pairs)}
    frame = "cemspc" if name == "cems_1998" else "immig"
    rdata = pytest.importorskip("rdata", reason="the optional package rdata is not installed")
    pandas = pytest.importorskip("pandas")
    file = folder / "written.RData"
    rdata.write_rda(file, {frame: pandas.DataFrame(columns)}, compression="gzip")
    return file.read_bytes()
