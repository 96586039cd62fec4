"""Data types, survey tables and the loader of respondent-level data."""

from __future__ import annotations

import hashlib
import os
import pickle
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbook.data import (
    SURVEY_NAMES,
    Comparisons,
    DatasetError,
    PairTable,
    SurveyAnswers,
    _official,
    load_comparisons,
    loader,
    survey_table,
)

ROOT = Path(__file__).resolve().parents[1]
FULL_DATA = Path(os.environ.get("DPBOOK_DATA") or ROOT.parent / "shared" / "data")
needs_full_data = pytest.mark.skipif(
    not (FULL_DATA / "cems.csv").is_file(),
    reason=f"no respondent-level files in {FULL_DATA} (set DPBOOK_DATA to their folder)",
)


# ---------------------------------------------------------------- Comparisons


def test_win_matrix_of_a_small_example() -> None:
    data = Comparisons(["x", "y", "z"], [0, 0, 2, 1], [1, 1, 0, 0], user=[7, 7, 9, 7])
    assert data.win_matrix().tolist() == [[0, 2, 0], [1, 0, 0], [1, 0, 0]]
    assert (data.n_items, len(data), data.n_users) == (3, 4, 2)


def test_without_users_every_comparison_stands_alone() -> None:
    data = Comparisons(2, [0, 1, 0], [1, 0, 1])
    assert data.user is None
    assert data.n_users == 3
    assert data.items == (0, 1)


tables = st.integers(2, 5).flatmap(
    lambda n: st.lists(st.integers(0, 4), min_size=n * n, max_size=n * n).map(
        lambda v: np.array(v).reshape(n, n) * (1 - np.eye(n, dtype=int))
    )
)


@given(tables)
def test_win_matrix_round_trip(wins: np.ndarray) -> None:
    if not wins.any():
        with pytest.raises(ValueError, match="all zero"):
            Comparisons.from_win_matrix(wins)
        return
    data = Comparisons.from_win_matrix(wins)
    assert len(data) == wins.sum()
    assert np.array_equal(data.win_matrix(), wins)
    counted = Counter(zip(data.winner.tolist(), data.loser.tolist(), strict=True))
    assert all(wins[pair] == times for pair, times in counted.items())


def test_arrays_are_read_only_copies() -> None:
    winner = np.array([0, 1])
    data = Comparisons(2, winner, np.array([1, 0]))
    winner[0] = 1
    assert data.winner.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        data.winner[0] = 1
    with pytest.raises(FrozenInstanceError):
        data.user = None  # type: ignore[misc]


def test_equality_looks_at_every_part() -> None:
    data = Comparisons(3, [0, 1], [1, 2], [0, 1])
    assert data == Comparisons(3, [0, 1], [1, 2], [0, 1])
    assert data == pickle.loads(pickle.dumps(data))
    others = [
        Comparisons(4, [0, 1], [1, 2], [0, 1]),
        Comparisons(3, [0, 1], [1, 0], [0, 1]),
        Comparisons(3, [0, 2], [1, 1], [0, 1]),
        Comparisons(3, [0, 1], [1, 2], [0, 0]),
        Comparisons(3, [0, 1], [1, 2]),
    ]
    assert all(data != other for other in others)
    assert replace(data, loser=[1, 0]) == others[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, [], []), r"winner is empty"),
        ((3, [0, 3], [1, 1]), r"winner\[1\] = 3: allowed is 0\.\.2"),
        ((3, [0, 1], [1, -1]), r"loser\[1\] = -1: allowed is 0\.\.2"),
        ((3, [0, 1], [1, 1]), r"loser\[1\] = 1 equals winner"),
        ((3, [0, 1], [1]), r"loser has 1 entries: allowed is 2"),
        ((3, [0, 1], [1, 2], [0]), r"user has 1 entries: allowed is 2"),
        ((3, [0, 1], [1, 2], [0, -4]), r"user\[1\] = -4: allowed is 0 or more"),
        ((3, [0, 1], [1, 2], [0, np.nan]), r"user contains nan: allowed is integers"),
        ((3, [0, np.nan], [1, 2]), r"winner contains nan: allowed is integers"),
        ((3, [0, 1.5], [1, 2]), r"winner contains 1.5: allowed is integers"),
        ((3, [0.0, 1.0], [1, 2]), r"winner has type float64: allowed is integers"),
        ((3, ["a", "b"], [1, 2]), r"winner has type .U1: allowed is integers"),
        ((3, [True, False], [1, 2]), r"winner has type bool: allowed is integers"),
        ((3, [[0], [1]], [1, 2]), r"winner has shape \(2, 1\)"),
        ((3, [[0], [1, 2]], [1, 2]), r"winner = .*: allowed is an array of integers"),
        ((1, [0], [0]), r"items = 1: allowed is at least 2"),
        ((["x"], [0], [0]), r"items = \('x',\): allowed is at least 2"),
        (("xy", [0], [1]), r"items = 'xy': allowed is"),
        ((["x", "x"], [0], [1]), r"items contains 'x' more than once"),
        (([0.5, 1.5], [0], [1]), r"items contains 0.5: allowed is strings or integers"),
    ],
)
def test_bad_comparisons_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Comparisons(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wins", "items", "message"),
    [
        ([[0, 1, 2], [1, 0, 2]], None, r"wins has shape \(2, 3\)"),
        ([[0, 1], [-1, 0]], None, r"wins\[1, 0\] = -1"),
        ([[0, 1], [1, 5]], None, r"wins\[1, 1\] = 5: allowed is 0 on the diagonal"),
        ([[0, 1], [1, 0]], ["a", "b", "c"], r"items has 3 entries; wins has 2 rows"),
    ],
)
def test_bad_win_matrices_are_refused(wins: object, items: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Comparisons.from_win_matrix(wins, items)  # type: ignore[arg-type]


# ---------------------------------------------------------------- survey tables


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # respondents, items, decided, tied, unanswered, all answered, all decided
        ("cems", (303, 6, 3967, 487, 91, 212, 99)),
        ("cems_1998", (303, 6, 3967, 487, 91, 212, 99)),
        ("immigration", (98, 4, 379, 124, 85, 65, 25)),
    ],
)
def test_totals_of_the_surveys(name: str, expected: tuple[int, ...]) -> None:
    table = survey_table(name)
    everything = (table.answered_per_respondent[-1], table.decided_per_respondent[-1])
    found = (table.respondents, table.n_items, table.decided, table.tied, table.unanswered)
    assert found + everything == expected
    assert table.decided + table.tied + table.unanswered == table.asked
    assert table.asked == table.respondents * table.pairs_offered
    # Independent of the properties: every pair was put to every respondent once.
    for i in range(table.n_items):
        for j in range(i):
            outcomes = table.wins[i, j] + table.wins[j, i] + table.ties[i, j] + table.missing[i, j]
            assert outcomes == table.respondents
    assert "GPL" in table.licence
    assert np.array_equal(table.comparisons().win_matrix(), table.wins)
    assert table.half_tied_wins().sum() == table.decided + table.tied


def test_wins_in_questionnaire_order_match_the_published_totals() -> None:
    # Answers for the first and for the second item named in the question, i < j in both surveys.
    for name, first, second in [
        ("cems", 2595, 1372),
        ("cems_1998", 2513, 1454),
        ("immigration", 236, 143),
    ]:
        wins = survey_table(name).wins
        assert (np.triu(wins).sum(), np.tril(wins).sum()) == (first, second)


def test_the_two_cems_editions_differ_in_one_reversed_pair() -> None:
    new, old = survey_table("cems"), survey_table("cems_1998")
    b, s = new.items.index("Barcelona"), new.items.index("Stockholm")
    differing = {tuple(map(int, where)) for where in np.argwhere(new.wins != old.wins)}
    assert differing == {(b, s), (s, b)}
    assert (new.wins[b, s], new.wins[s, b]) == (old.wins[s, b], old.wins[b, s]) == (172, 90)
    assert new.wins[b, s] + new.wins[s, b] == 262
    assert np.array_equal(new.ties, old.ties)
    assert np.array_equal(new.missing, old.missing)


def test_all_missing_cems_answers_are_one_pair() -> None:
    table = survey_table("cems")
    where = [(table.items[i], table.items[j]) for i, j in np.argwhere(np.triu(table.missing))]
    assert where == [("Paris", "Milano")]


def test_unknown_survey_names_are_refused() -> None:
    with pytest.raises(ValueError, match=r"name = 'sushi'.*'cems', 'cems_1998', 'immigration'"):
        survey_table("sushi")


@pytest.mark.parametrize(
    ("field", "change", "message"),
    [
        ("wins", lambda t: t.wins + np.eye(4, dtype=int), "on the diagonal"),
        ("ties", lambda t: np.triu(t.ties), "not symmetric"),
        ("missing", lambda t: t.missing[:3, :3], "missing has 3 rows; items has 4"),
        ("wins", lambda t: t.wins + np.triu(np.ones_like(t.wins), 1), "one pair has 99"),
        ("respondents", lambda t: 97, "respondents = 97"),
        ("decided_per_respondent", lambda t: t.decided_per_respondent[:-1], "allowed is 7"),
        ("decided_per_respondent", lambda t: t.decided_per_respondent[::-1], "the tables say"),
        ("answered_per_respondent", lambda t: t.decided_per_respondent, "the tables say 98 and"),
    ],
)
def test_tables_that_do_not_add_up_are_refused(field: str, change, message: str) -> None:
    table = survey_table("immigration")
    with pytest.raises(ValueError, match=message):
        replace(table, **{field: change(table)})


@needs_full_data
@pytest.mark.parametrize("name", SURVEY_NAMES)
def test_tables_equal_a_recount_of_the_answers(name: str) -> None:
    """Count with plain dictionaries, sharing no code with the package."""
    lines = (FULL_DATA / f"{name}.csv").read_text().splitlines()[1:]
    counts: Counter[tuple[str, str, str]] = Counter()
    decided: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    for line in lines:
        person, a, b, outcome = line.split(",")
        counts[(a, b, outcome)] += 1
        decided[person] += outcome in ("a", "b")
        answered[person] += outcome != "missing"
    table = survey_table(name)
    for i, a in enumerate(table.items):
        for j, b in enumerate(table.items):
            assert table.wins[i, j] == counts[(a, b, "a")] + counts[(b, a, "b")]
            assert table.ties[i, j] == counts[(a, b, "tie")] + counts[(b, a, "tie")]
            assert table.missing[i, j] == counts[(a, b, "missing")] + counts[(b, a, "missing")]
    for histogram, per_person in [
        (table.decided_per_respondent, decided),
        (table.answered_per_respondent, answered),
    ]:
        assert Counter(per_person.values()) == {c: k for c, k in enumerate(histogram) if k}


# ---------------------------------------------------------------- answers, respondent by respondent

SMALL = """respondent,item_a,item_b,outcome
1,x,y,a
1,x,z,b
1,y,z,tie
2,x,y,b
2,x,z,missing
2,y,z,a
3,x,y,tie
3,x,z,tie
3,y,z,tie
"""


def test_small_survey_by_hand() -> None:
    answers = SurveyAnswers.from_csv(SMALL, source="made up", licence="none")
    decided = Comparisons(["x", "y", "z"], [0, 2, 1, 1], [1, 0, 0, 2], user=[0, 0, 1, 1])
    assert answers.comparisons == decided
    assert (answers.respondents, answers.ties, answers.missing) == (3, 4, 1)
    assert answers.comparisons.n_users == 2  # the third respondent decided nothing
    table = answers.table()
    assert isinstance(table, PairTable)
    assert table.wins.tolist() == [[0, 1, 0], [1, 0, 1], [1, 0, 0]]
    assert table.ties.tolist() == [[0, 1, 1], [1, 0, 2], [1, 2, 0]]
    assert table.missing.tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    assert table.decided_per_respondent.tolist() == [1, 0, 2, 0]
    assert table.answered_per_respondent.tolist() == [0, 0, 1, 2]
    assert (table.source, table.licence) == ("made up", "none")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "header = ''"),
        ("a,b\n", "header = 'a,b'"),
        (_official.HEADER + "\n1,x,y,maybe\n", r"line 2 = .*maybe"),
        (_official.HEADER + "\n1,x,y,a\n1,x\n", r"line 3 = "),
        (_official.HEADER + "\n1,x,x,a\n1,x,y,a\n", "equals winner"),
    ],
)
def test_bad_csv_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SurveyAnswers.from_csv(text)


@pytest.mark.parametrize("dropped", [1, 5, 9])
def test_incomplete_designs_have_no_table(dropped: int) -> None:
    lines = SMALL.splitlines()
    repeated = lines[:dropped] + lines[dropped + 1 :] + [lines[-1 if dropped < 9 else 1]]
    for text in (lines[:dropped] + lines[dropped + 1 :], repeated):
        with pytest.raises(ValueError, match="each of the 3 pairs once"):
            SurveyAnswers.from_csv("\n".join(text) + "\n").table()


# ---------------------------------------------------------------- official formats

SMALL_R = """CEMS <-
list(preferences = structure(list(student = c(1, 1,
1, 2, 2, 2), school1 = structure(c(1L, 1L, 2L, 1L, 1L, 2L), {levels} = c("x", "y",
"z"), class = "factor"), school2 = structure(c(2L, 3L, 3L, 2L, 3L, 3L), {levels} = c("x",
"y", "z"), class = "factor"), win1 = c(1, 0, 0, 0, NA, 1), win2 = c(0, 1, 0, 1, NA, 0),
    tied = c(0, 0, 1, 0, NA, 0), win1.adj = c(1, 0, 0.5, 0, NA, 1)), class = "data.frame"),
students = structure(list(SEX = structure(c(1L, 2L), {levels} = c("f", "m"), class = "factor"))))
"""
SMALL_CSV = "\n".join(SMALL.splitlines()[:7]) + "\n"  # the first two respondents
SMALL_SHA256 = hashlib.sha256(SMALL_CSV.encode()).hexdigest()


@pytest.mark.parametrize("levels", [".Label", "levels"])
def test_bradleyterry2_source_is_converted(levels: str) -> None:
    assert _official.from_bradleyterry2(SMALL_R.format(levels=levels).encode()) == SMALL_CSV


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("win2 =", "won2 =", "no column `win2`"),
        ("preferences", "choices", "no data frame"),
        ("student = c(1, 1,", "student = c(1,", "differ in length"),
        ("tied = c(0, 0, 1", "tied = c(1, 0, 1", "expected one 1 and two 0"),
    ],
)
def test_other_layouts_are_refused(old: str, new: str, message: str) -> None:
    text = SMALL_R.format(levels="levels").replace(old, new)
    with pytest.raises(_official.ConversionError, match=message):
        _official.from_bradleyterry2(text.encode())


def _rdata_file(path: Path, name: str, columns: dict[str, list[float]]) -> bytes:
    rdata = pytest.importorskip("rdata", reason="the optional package rdata is not installed")
    pandas = pytest.importorskip("pandas")
    rdata.write_rda(path, {name: pandas.DataFrame(columns)}, compression="gzip")
    return path.read_bytes()


def test_prefmod_file_is_converted(tmp_path: Path) -> None:
    nan = float("nan")
    columns = {"V12": [0.0, 2.0], "V13": [2.0, nan], "V23": [1.0, 0.0], "SEX": [1.0, 2.0]}
    raw = _rdata_file(tmp_path / "small.RData", "small", columns)
    codes = {0: "a", 1: "tie", 2: "b"}
    text = _official.from_prefmod(raw, name="small", items=("x", "y", "z"), codes=codes)
    assert text == SMALL_CSV
    with pytest.raises(_official.ConversionError, match="no data frame `other`"):
        _official.from_prefmod(raw, name="other", items=("x", "y", "z"), codes=codes)
    with pytest.raises(_official.ConversionError, match="expected one of"):
        _official.from_prefmod(raw, name="small", items=("x", "y", "z"), codes={0: "a", 1: "b"})
    with pytest.raises(_official.ConversionError, match=r"not a readable \.RData file"):
        _official.from_prefmod(raw[:40], name="small", items=("x", "y", "z"), codes=codes)


# ---------------------------------------------------------------- the loader


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
        "http://127.0.0.1:9/data/CEMS.R", SMALL_SHA256, _official.from_bradleyterry2, "here", "-"
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
            self.wfile.write(SMALL_R.format(levels="levels").encode())

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
    answers = load_comparisons("small")
    assert answers.comparisons == SurveyAnswers.from_csv(SMALL_CSV).comparisons
    assert answers.source == "here"
    assert [path.name for path in cache.iterdir()] == ["small.csv"]
    assert (cache / "small.csv").read_bytes() == SMALL_CSV.encode()
    load_comparisons("small")
    assert server == ["/data/CEMS.R"]  # the second call read the cache


def test_folder_comes_before_cache_and_network(
    small: loader.Dataset, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.mkdir(parents=True)
    (cache / "small.csv").write_text("not read")
    (tmp_path / "small.csv").write_bytes(SMALL_CSV.encode())
    monkeypatch.setenv("DPBOOK_DATA", str(tmp_path))
    assert load_comparisons("small").respondents == 2


def test_folder_may_hold_the_official_file(
    small: loader.Dataset, cache: Path, tmp_path: Path
) -> None:
    (tmp_path / "CEMS.R").write_text(SMALL_R.format(levels="levels"))
    assert load_comparisons("small", path=tmp_path).respondents == 2


def test_offline_error_says_what_to_do(small: loader.Dataset, cache: Path) -> None:
    with pytest.raises(DatasetError) as caught:
        load_comparisons("small")
    for part in (small.url, "small.csv", "DPBOOK_DATA"):
        assert part in str(caught.value)
    assert not cache.exists()


def test_folder_without_the_file(
    small: loader.Dataset, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = SMALL_R.format(levels="levels").encode()
    with pytest.raises(DatasetError, match=r"neither small\.csv nor CEMS\.R"):
        load_comparisons("small", path=tmp_path, opener=lambda url: raw)
    monkeypatch.setenv("DPBOOK_DATA", str(tmp_path))
    assert load_comparisons("small", opener=lambda url: raw).respondents == 2  # goes on to fetch
    with pytest.raises(DatasetError, match="is not a folder"):
        load_comparisons("small", path=tmp_path / "nowhere")


@pytest.mark.parametrize("path", [5, b"folder", ["folder"]])
def test_a_path_that_is_no_folder_name_is_refused(small: loader.Dataset, path: object) -> None:
    with pytest.raises(ValueError, match=r"path must be a folder.s name .* got"):
        load_comparisons("small", path=path)


def test_digest_mismatch_names_file_expected_and_got(
    small: loader.Dataset, cache: Path, tmp_path: Path
) -> None:
    changed = SMALL_CSV.replace("1,x,y,a", "1,x,y,b").encode()
    (tmp_path / "small.csv").write_bytes(changed)
    with pytest.raises(DatasetError) as caught:
        load_comparisons("small", path=tmp_path)
    for part in (str(tmp_path / "small.csv"), SMALL_SHA256, hashlib.sha256(changed).hexdigest()):
        assert part in str(caught.value)
    cache.mkdir(parents=True)
    (cache / "small.csv").write_bytes(changed)
    with pytest.raises(DatasetError, match="Delete it to fetch it again"):
        load_comparisons("small")


def test_changed_source_is_refused_and_not_cached(small: loader.Dataset, cache: Path) -> None:
    text = SMALL_R.format(levels="levels").replace("win1 = c(1, 0", "win1 = c(0, 0")
    text = text.replace("win2 = c(0, 1", "win2 = c(1, 1")
    with pytest.raises(DatasetError, match=r"SHA-256 of small\.csv converted from http"):
        load_comparisons("small", opener=lambda url: text.encode())
    with pytest.raises(DatasetError, match="does not have the expected layout"):
        load_comparisons("small", opener=lambda url: b"<html>moved</html>")
    assert not cache.exists()


def test_interrupted_write_leaves_nothing(
    small: loader.Dataset, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(loader.os, "replace", interrupted)
    raw = SMALL_R.format(levels="levels").encode()
    with pytest.raises(KeyboardInterrupt):
        load_comparisons("small", opener=lambda url: raw)
    assert list(cache.iterdir()) == []


def test_unwritable_cache_is_named(
    small: loader.Dataset, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.parent.write_text("a file where the folder should be")
    raw = SMALL_R.format(levels="levels").encode()
    with pytest.raises(DatasetError, match="cannot write the cache file"):
        load_comparisons("small", opener=lambda url: raw)


@pytest.mark.parametrize("value", ["relative/cache", ""])
def test_relative_cache_setting_is_ignored(
    small: loader.Dataset, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DPBOOK_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.chdir(tmp_path)
    load_comparisons("small", opener=lambda url: SMALL_R.format(levels="levels").encode())
    assert (tmp_path / ".cache" / "dpbook" / "small.csv").is_file()


def test_missing_optional_package_is_named(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(_official.importlib, "import_module", absent)
    any_file = replace(loader.DATASETS["immigration"], raw_sha256=())
    monkeypatch.setitem(loader.DATASETS, "immigration", any_file)
    with pytest.raises(
        DatasetError, match=r"needs the package rdata: pip install 'dpbook\[data\]'"
    ):
        load_comparisons("immigration", opener=lambda url: b"")


def test_unknown_dataset_lists_the_names(cache: Path) -> None:
    with pytest.raises(ValueError, match=r"name = 'elections'.*'cems', 'cems_1998', 'immigration'"):
        load_comparisons("elections")


def test_every_data_set_is_registered_at_a_pinned_address() -> None:
    kinds = {name: dataset.kind for name, dataset in loader.DATASETS.items()}
    assert {name for name, kind in kinds.items() if kind == "comparisons"} == {
        *SURVEY_NAMES,
        "llmfao",
    }
    # The archives of these two sources have no versions; the digest alone pins them.
    unversioned = {"http://www.kamishima.net/", "https://files.grouplens.org/"}
    for name, dataset in loader.DATASETS.items():
        for url in dataset.urls:
            if name == "sushi" or name.startswith("movielens"):
                assert any(url.startswith(start) for start in unversioned)
                continue
            assert url.startswith("https://raw.githubusercontent.com/")
            assert len(url.split("/")[5]) == 40  # a commit, not a branch
        assert len(dataset.sha256) == 64
        assert dataset.source and dataset.licence


@needs_full_data
@pytest.mark.parametrize("name", SURVEY_NAMES)
def test_full_answers_give_the_committed_table(name: str, cache: Path) -> None:
    answers = load_comparisons(name, path=FULL_DATA)
    found, table = answers.table(), survey_table(name)
    assert found.items == table.items
    for field in ("wins", "ties", "missing", "decided_per_respondent", "answered_per_respondent"):
        assert np.array_equal(getattr(found, field), getattr(table, field)), field
    assert (answers.ties, answers.missing) == (table.tied, table.unanswered)
    assert answers.comparisons.n_users == table.respondents - table.decided_per_respondent[0]


@needs_full_data
@pytest.mark.parametrize("name", SURVEY_NAMES)
def test_full_answers_survive_the_official_format(
    name: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Write the answers in the layout of the official file, and fetch them back."""
    # The layout is the official one, the bytes are not.
    monkeypatch.setitem(loader.DATASETS, name, replace(loader.DATASETS[name], raw_sha256=()))
    lines = (FULL_DATA / f"{name}.csv").read_text().splitlines()[1:]
    rows = [line.split(",") for line in lines]
    raw = _as_bradleyterry2(rows) if name == "cems" else _as_prefmod(rows, name, tmp_path)
    answers = load_comparisons(name, opener=lambda url: raw)
    assert answers.comparisons == load_comparisons(name, path=FULL_DATA).comparisons
    assert (cache / f"{name}.csv").read_bytes() == (FULL_DATA / f"{name}.csv").read_bytes()


def _as_bradleyterry2(rows: list[list[str]]) -> bytes:
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


def _as_prefmod(rows: list[list[str]], name: str, folder: Path) -> bytes:
    first, second = ((0, 2), (1, -1))[name == "immigration"]
    tie = 1 if name == "cems_1998" else 0
    codes = {"a": first, "b": second, "tie": tie, "missing": float("nan")}
    pairs = sum(row[0] == "1" for row in rows)
    columns = {f"V{k + 1}": [float(codes[row[3]]) for row in rows[k::pairs]] for k in range(pairs)}
    frame = "cemspc" if name == "cems_1998" else "immig"
    return _rdata_file(folder / f"{frame}.RData", frame, columns)
