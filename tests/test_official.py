"""Converters of the official files to the canonical CSV."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from dpbook.data import _official

SMALL_CSV = """respondent,item_a,item_b,outcome
1,x,y,a
1,x,z,b
1,y,z,tie
2,x,y,b
2,x,z,missing
2,y,z,a
"""
SMALL_R = """CEMS <-
list(preferences = structure(list(student = c(1, 1,
1, 2, 2, 2), school1 = structure(c(1L, 1L, 2L, 1L, 1L, 2L), {levels} = c("x", "y",
"z"), class = "factor"), school2 = structure(c(2L, 3L, 3L, 2L, 3L, 3L), {levels} = c("x",
"y", "z"), class = "factor"), win1 = c(1, 0, 0, 0, NA, 1), win2 = c(0, 1, 0, 1, NA, 0),
    tied = c(0, 0, 1, 0, NA, 0), win1.adj = c(1, 0, 0.5, 0, NA, 1)), class = "data.frame"),
students = structure(list(SEX = structure(c(1L, 2L), {levels} = c("f", "m"), class = "factor"))))
"""


@pytest.mark.parametrize("levels", [".Label", "levels"])
def test_bradleyterry2_source_is_converted(levels: str) -> None:
    assert _official.from_bradleyterry2(SMALL_R.format(levels=levels).encode()) == SMALL_CSV


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("win2 =", "won2 =", "no column `win2`"),
        ("preferences", "choices", "no data frame"),
        ("student = c(1, 1,", "student = c(1,", "argument 2 is longer"),
        ("tied = c(0, 0, 1", "tied = c(1, 0, 1", "expected one 1 and two 0"),
    ],
)
def test_other_layouts_are_refused(old: str, new: str, message: str) -> None:
    text = SMALL_R.format(levels="levels").replace(old, new)
    with pytest.raises(ValueError, match=message):
        _official.from_bradleyterry2(text.encode())


def rdata_file(path: Path, name: str, columns: dict[str, list[float]]) -> bytes:
    rdata = pytest.importorskip("rdata", reason="the optional package rdata is not installed")
    pandas = pytest.importorskip("pandas")
    rdata.write_rda(path, {name: pandas.DataFrame(columns)}, compression="gzip")
    return path.read_bytes()


def test_prefmod_file_is_converted(tmp_path: Path) -> None:
    nan = float("nan")
    columns = {"V12": [0.0, 2.0], "V13": [2.0, nan], "V23": [1.0, 0.0], "SEX": [1.0, 2.0]}
    raw = rdata_file(tmp_path / "small.RData", "small", columns)
    codes = {0: "a", 1: "tie", 2: "b"}
    text = _official.from_prefmod(raw, name="small", items=("x", "y", "z"), codes=codes)
    assert text == SMALL_CSV
    with pytest.raises(_official.ConversionError, match="no data frame `other`"):
        _official.from_prefmod(raw, name="other", items=("x", "y", "z"), codes=codes)
    with pytest.raises(_official.ConversionError, match="expected one of"):
        _official.from_prefmod(raw, name="small", items=("x", "y", "z"), codes={0: "a", 1: "b"})


def zipped(files: dict[str, str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return stream.getvalue()


def test_sushi_archive_is_converted() -> None:
    order = "sushi3-2016/sushi3a.5000.10.order"
    raw = zipped({"sushi3-2016/README-en.txt": "-", order: "3 1\n0 3 2 0 1\n0 3 0 1 2 \n"})
    assert _official.from_sushi(raw) == "respondent,pos1,pos2,pos3\n1,2,0,1\n2,0,1,2\n"
    with pytest.raises(_official.ConversionError, match="not an order of 3 items"):
        _official.from_sushi(zipped({order: "3 1\n0 3 2 0 0\n"}))
    with pytest.raises(_official.ConversionError, match=r"no file sushi3a\.5000\.10\.order"):
        _official.from_sushi(zipped({"README": "-"}))


RATINGS = """userId,movieId,rating,timestamp
1,10,4.0,964982703
1,2,0.5,964981247
2,2,3.0,964982224
2,30,5.0,964982225
3,10,5.0,964983815
3,7,5.0,964983816
4,7,1.0,964983817
"""


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_movielens_archive_is_converted(ends: str) -> None:
    raw = zipped({"ml-latest-small/ratings.csv": RATINGS.replace("\n", ends)})
    # Films 2, 7, 10 have two ratings each: equal counts go by number.
    kept = "userId,movieId,rating\n1,2,0.5\n2,2,3.0\n3,7,5.0\n4,7,1.0\n"
    assert _official.from_movielens(raw, films=2) == kept


LLMFAO = """id,prompt,model_x,model_y,worker,winner,left,right
0,8,97,98,58,tie,x,y
0,8,97,98,14,right,x,y
1,9,97,99,14,left,x,z
"""


def test_language_models_are_converted() -> None:
    assert _official.from_llmfao(LLMFAO.encode()) == (
        "respondent,prompt,item_a,item_b,outcome\n58,8,x,y,tie\n14,8,x,y,b\n14,9,x,z,a\n"
    )
    with pytest.raises(KeyError, match="draw"):
        _official.from_llmfao(LLMFAO.replace("tie,x", "draw,x").encode())
