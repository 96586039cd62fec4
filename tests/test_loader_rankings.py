"""The loader of rankings and ratings, and the converters of the official files."""

from __future__ import annotations

import csv
import io
import os
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpbook.data import (
    DatasetError,
    _official,
    has_dataset,
    load_comparisons,
    load_rankings,
    load_ratings,
    loader,
    preference_table,
    ranking_table,
)

ROOT = Path(__file__).resolve().parents[1]
FULL_DATA = Path(os.environ.get("DPBOOK_DATA") or ROOT.parent / "shared" / "data")
NAMES = (
    "llmfao",
    "sushi",
    "turkdots",
    "turkpuzzle",
    "movielens_top40",
    "movielens_top40_titles",
)
needs_full_data = pytest.mark.skipif(
    not all((FULL_DATA / f"{name}.csv").is_file() for name in NAMES),
    reason=f"not all of {', '.join(NAMES)} in {FULL_DATA} (set DPBOOK_DATA to their folder)",
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no data folder in the environment."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DPBOOK_DATA", raising=False)
    return tmp_path / "cache" / "dpbook"


def canonical(name: str) -> str:
    return (FULL_DATA / f"{name}.csv").read_text(encoding="utf-8")


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(text.splitlines()))[1:]


def zipped(files: dict[str, str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return stream.getvalue()


# ---------------------------------------------------------------- official layouts, small

SOC = """# FILE NAME: 00024-00000001.soc
# TITLE: all_200x3
# NUMBER ALTERNATIVES: 4
# NUMBER VOTERS: 5
# ALTERNATIVE NAME 1: 200
# ALTERNATIVE NAME 2: 203
# ALTERNATIVE NAME 3: 206
# ALTERNATIVE NAME 4: 209
3: 1,2,4,3
2: 4,1,3,2
"""


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_preflib_files_are_converted(ends: str) -> None:
    second = SOC.replace("00000001", "00000002").replace("x3", "x5")
    raws = [text.replace("\n", ends).encode() for text in (SOC, second)]
    assert _official.from_preflib(*raws) == (
        "file_id,title,multiplicity,pos1,pos2,pos3,pos4\n"
        "00024-00000001,all_200x3,3,200,203,209,206\n"
        "00024-00000001,all_200x3,2,209,200,206,203\n"
        "00024-00000002,all_200x5,3,200,203,209,206\n"
        "00024-00000002,all_200x5,2,209,200,206,203\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("# TITLE", "# NAME", "no line `# TITLE:`"),
        ("VOTERS: 5", "VOTERS: 6", "5 rankings in 00024-00000001; it names 6"),
        ("1,2,4,3", "1,2,4", "is not an order of 4 alternatives"),
        ("1,2,4,3", "1,2,{3,4}", "is not an order of 4 alternatives"),
    ],
)
def test_other_preflib_layouts_are_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(_official.ConversionError, match=message):
        _official.from_preflib(SOC.replace(old, new).encode())


def test_sushi_archive_is_converted() -> None:
    order = "sushi3-2016/sushi3a.5000.10.order"
    raw = zipped({"sushi3-2016/README-en.txt": "-", order: "3 1\n0 3 2 0 1\n0 3 0 1 2 \n"})
    assert _official.from_sushi(raw) == "respondent,pos1,pos2,pos3\n1,2,0,1\n2,0,1,2\n"
    with pytest.raises(_official.ConversionError, match="not an order of 3 items"):
        _official.from_sushi(zipped({order: "3 1\n0 3 2 0 0\n"}))
    with pytest.raises(_official.ConversionError, match=r"no file sushi3a\.5000\.10\.order"):
        _official.from_sushi(zipped({"README": "-"}))
    with pytest.raises(_official.ConversionError, match="not a readable zip archive"):
        _official.from_sushi(b"<html>moved</html>")


RATINGS = """userId,movieId,rating,timestamp
1,10,4.0,964982703
1,2,0.5,964981247
2,2,3.0,964982224
2,30,5.0,964982225
3,10,5.0,964983815
3,7,5.0,964983816
4,7,1.0,964983817
"""
MOVIES = 'movieId,title,genres\n2,"Wolf, The (1990)",Drama\n7,Ape (1991),War\n10,Cat,-\n30,Dog,-\n'


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_movielens_archive_is_converted(ends: str) -> None:
    files = {"ratings.csv": RATINGS, "movies.csv": MOVIES}
    raw = zipped({f"ml-latest-small/{n}": t.replace("\n", ends) for n, t in files.items()})
    # Films 2, 7, 10 have two ratings each: equal counts go by number.
    assert _official.movielens_titles(raw, films=2) == (
        'movieId,n_ratings,title\n2,2,"Wolf, The (1990)"\n7,2,Ape (1991)\n'
    )
    assert _official.from_movielens(raw, films=2) == (
        "userId,movieId,rating\n1,2,0.5\n2,2,3.0\n3,7,5.0\n4,7,1.0\n"
    )
    with pytest.raises(_official.ConversionError, match="no column `userId`"):
        _official.from_movielens(zipped({"ratings.csv": "user,film\n1,2\n"}))


LLMFAO = """id,prompt,model_x,model_y,worker,winner,left,right
0,8,97,98,58,tie,Airo 70B,Weaver
1,8,29,98,90,right,Alpaca (7B),Weaver
2,5,98,5,64,left,Weaver,Hermes
"""


def test_llmfao_file_is_converted() -> None:
    assert _official.from_llmfao(LLMFAO.encode()) == (
        "respondent,prompt,item_a,item_b,outcome\n"
        "58,8,Airo 70B,Weaver,tie\n90,8,Alpaca (7B),Weaver,b\n64,5,Weaver,Hermes,a\n"
    )
    with pytest.raises(_official.ConversionError, match="winner = 'both'"):
        _official.from_llmfao(LLMFAO.replace(",tie,", ",both,").encode())
    with pytest.raises(_official.ConversionError, match="no column `worker`"):
        _official.from_llmfao(LLMFAO.replace("worker", "person").encode())


# ---------------------------------------------------------------- the real data, round trip


def official_files(name: str) -> list[bytes]:
    """Write the canonical CSV of a data set in the layout of its official files."""
    rows = rows_of(canonical(name))
    if name == "llmfao":
        words = {"a": "left", "b": "right", "tie": "tie"}
        lines = [f"0,{p},1,2,{r},{words[o]},{a},{b}" for r, p, a, b, o in rows]
        return ["\n".join([LLMFAO.splitlines()[0], *lines, ""]).encode()]
    if name == "sushi":
        text = "10 1\n" + "".join(f"0 10 {' '.join(row[1:])}\n" for row in rows)
        return [zipped({"sushi3-2016/sushi3a.5000.10.order": text})]
    if name.startswith("turk"):
        return [soc([row for row in rows if row[0].endswith(str(k))]) for k in range(1, 5)]
    ratings = "userId,movieId,rating,timestamp\n" + "".join(
        f"{','.join(row)},964982703\n" for row in rows_of(canonical("movielens_top40"))
    )
    # A film outside the 40, with fewer ratings, must be left out.
    ratings += "".join(f"{user},163,3.5,964982703\n" for user in range(1, 160))
    movies = io.StringIO()
    titles = [[r[0], r[2], "Drama"] for r in rows_of(canonical("movielens_top40_titles"))]
    csv.writer(movies).writerows(
        [["movieId", "title", "genres"], *titles, ["163", "Desperado", ""]]
    )
    folder = "ml-latest-small/"
    return [zipped({folder + "ratings.csv": ratings, folder + "movies.csv": movies.getvalue()})]


def soc(rows: list[list[str]]) -> bytes:
    names = sorted(rows[0][3:], key=int)
    voters = sum(int(row[2]) for row in rows)
    head = [f"# FILE NAME: {rows[0][0]}.soc", f"# TITLE: {rows[0][1]}", "# DESCRIPTION: "]
    head += [f"# NUMBER VOTERS: {voters}"]
    head += [f"# ALTERNATIVE NAME {k}: {name}" for k, name in enumerate(names, start=1)]
    body = [f"{r[2]}: {','.join(str(names.index(v) + 1) for v in r[3:])}" for r in rows]
    return "\n".join([*head, *body, ""]).encode()


@needs_full_data
@pytest.mark.parametrize("name", NAMES)
def test_canonical_files_survive_the_official_layout(
    name: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The layout is the official one, the bytes are not.
    dataset = replace(loader.DATASETS[name], raw_sha256=())
    monkeypatch.setitem(loader.DATASETS, name, dataset)
    raws = dict(zip(dataset.urls, official_files(name), strict=True))
    assert loader.dataset_text(name, opener=raws.__getitem__) == canonical(name)
    assert (cache / f"{name}.csv").read_bytes() == (FULL_DATA / f"{name}.csv").read_bytes()
    assert has_dataset(name) == (name != "movielens_top40")  # which needs its titles too
    # The same official files in a folder, found by their names.
    folder = tmp_path / "official"
    folder.mkdir()
    for file, raw in zip(dataset.files, raws.values(), strict=True):
        (folder / file).write_bytes(raw)
    assert loader.dataset_text(name, path=folder) == canonical(name)
    (folder / dataset.files[-1]).unlink()
    with pytest.raises(DatasetError, match=f"holds neither {name}.csv nor {dataset.files[0]}"):
        loader.dataset_text(name, path=folder)


@needs_full_data
@pytest.mark.parametrize("name", NAMES)
def test_one_changed_character_is_refused(name: str, cache: Path, tmp_path: Path) -> None:
    text = canonical(name)
    (tmp_path / f"{name}.csv").write_text(text[:-2] + "#" + text[-1], encoding="utf-8")
    with pytest.raises(
        DatasetError, match=f"SHA-256 of .*; expected {loader.DATASETS[name].sha256}"
    ):
        loader.dataset_text(name, path=tmp_path)


@needs_full_data
def test_full_rankings(cache: Path) -> None:
    for name in ("turkdots", "turkpuzzle"):
        for part in range(1, 5):
            data = load_rankings(name, part=part, path=FULL_DATA)
            assert data == ranking_table(name, part).rankings()
    assert load_rankings("turkdots", path=FULL_DATA).n_users == 795
    assert load_rankings("turkpuzzle", path=FULL_DATA).n_users == 793
    sushi = load_rankings("sushi", path=FULL_DATA)
    assert (sushi.n_users, sushi.n_items) == (5000, 10)
    assert len({tuple(order) for order in sushi.orders.tolist()}) == 4926
    assert sushi.orders[0].tolist() == [5, 0, 3, 4, 6, 9, 8, 1, 7, 2]
    places, table = sushi.positions, preference_table("sushi")
    assert sushi.items == table.items
    before = (places[:, :, None] < places[:, None, :]).sum(axis=0)
    assert np.array_equal(before, table.counts)


@needs_full_data
def test_full_ratings(cache: Path) -> None:
    data = load_ratings("movielens_top40", path=FULL_DATA)
    assert data.ratings.shape == (580, 40) and data.everyone().shape == (610, 40)
    assert int(np.isfinite(data.ratings).sum()) == 8307
    assert data.users.min() == 1 and data.users.max() <= 610
    assert data.ratings[0, data.movies.tolist().index(1)] == 4.0  # user 1, Toy Story
    found, table = data.outcomes(), preference_table("movielens_top40")
    assert found.items == table.items and found.users == table.users == 610
    assert (found.raters, found.source) == (table.raters, table.source)
    for field in ("higher", "equal", "only", "neither", "movies", "products"):
        assert np.array_equal(getattr(found, field), getattr(table, field)), field


@needs_full_data
def test_full_llmfao(cache: Path) -> None:
    answers = load_comparisons("llmfao", path=FULL_DATA)
    outcomes = Counter(answers.outcome.tolist())
    assert (outcomes[0], outcomes[1], outcomes[2], outcomes[3]) == (2911, 2549, 3471, 0)
    assert (answers.respondents, len(answers.items)) == (124, 59)
    with pytest.raises(ValueError, match="each of the 1711 pairs once"):
        answers.table()


def test_names_of_another_kind_are_refused(cache: Path) -> None:
    with pytest.raises(ValueError, match="name = 'sushi': allowed is one of 'cems'"):
        load_comparisons("sushi")
    with pytest.raises(ValueError, match="name = 'cems': allowed is one of 'sushi', 'turkdots'"):
        load_rankings("cems")
    with pytest.raises(ValueError, match=r"'ml-100k': allowed is one of 'movielens_top40'$"):
        load_ratings("ml-100k")
    with pytest.raises(ValueError, match="part = 2: allowed is an integer from 1 to 1"):
        load_rankings("sushi", part=2)
    with pytest.raises(ValueError, match="part = 5: allowed is an integer from 1 to 4"):
        load_rankings("turkdots", part=5)


def test_has_dataset_looks_at_folder_and_cache_only(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not has_dataset("sushi")
    cache.mkdir(parents=True)
    (cache / "sushi.csv").write_text("-")
    assert has_dataset("sushi") and not has_dataset("turkdots")
    monkeypatch.setenv("DPBOOK_DATA", str(tmp_path))
    for part in range(1, 4):
        (tmp_path / f"00024-0000000{part}.soc").write_text("-")
    assert not has_dataset("turkdots")  # one of four files is missing
    (tmp_path / "00024-00000004.soc").write_text("-")
    assert has_dataset("turkdots")
    (tmp_path / "movielens_top40.csv").write_text("-")
    assert not has_dataset("movielens_top40")  # the titles are missing
    (tmp_path / "movielens_top40_titles.csv").write_text("-")
    assert has_dataset("movielens_top40")
    with pytest.raises(ValueError, match="name = 'elections'"):
        has_dataset("elections")
    monkeypatch.setenv("DPBOOK_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DatasetError, match="is not a folder"):
        has_dataset("sushi")


def test_offline_error_names_every_file(cache: Path) -> None:
    def unreachable(url: str) -> bytes:
        raise OSError("no network")

    with pytest.raises(DatasetError, match="no network") as caught:
        load_rankings("turkpuzzle", opener=unreachable)
    for part in range(1, 5):
        assert f"00025-0000000{part}.soc" in str(caught.value)
    assert "turkpuzzle.csv" in str(caught.value) and "DPBOOK_DATA" in str(caught.value)
    assert not cache.exists()
