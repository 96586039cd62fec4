"""The engine for large files: rows as read plainly, parts that add up, a worker that dies."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from dpbook.rank import read_answers, shards

duckdb = pytest.importorskip("duckdb")
ITEMS = ["tea", "café", "mate, iced", "O'Neill", 'the "best"']
HEAD = "date;Who;winner;loser"
MESSY = [
    *("1;ann;tea;café", "1;ann;café;tea", "2;bob;cafe\u0301; tea ", '2;"bob";"mate, iced";tea'),
    *('3; bob\u3000;"the ""best""";tea', "3;;tea;café", "3; ;tea;café", "4;eve;tea;", "4;eve;tea"),
    *("4;eve;tea;water", "4;eve;tie;tea", "4;eve;tea;tea ", "5;Zoe\u0308;O'Neill;tea", ";;;", ""),
    *("5;Zo\u00eb;tea;O'Neill", "6;dan;tea;café;mate", '6;"dan\nny";tea;café', "7;\tann;TEA;café"),
    *("7;fay;first;tea", "8;\x1cfay\x1f;tea;café", "8;x\x00y;tea;café"),
]
TIES = [
    *("ann,tea,café,tea", "ann,tea,café,Draw", "bob,tea,café, second", "bob,café,tea,links"),
    *("eve,tea,café,UNENTSCHIEDEN ", "eve,tea,café,water", "eve,tea,tea,tie", "eve,tea,café,"),
    *("dan,tea,water,tie", "dan,cafe\u0301,tea,cafe\u0301", ",tea,café,tea", "fay,tea,café,First"),
]


def both(path: Path, **how: object) -> None:
    """The engine and the plain reader say the same of a file, in every statistic."""
    assert not shards.supported([str(path)], **how) or path.suffix == ".parquet"  # not large
    engine, plain = shards.open_shards([str(path)], **how), read_answers(path, **how)
    for name in ("items", "kind", "listed", "repeats", "halves"):
        assert getattr(engine, name) == getattr(plain, name)
    assert (engine.person is None) == (plain.person is None)
    for statistic in ("net", "pairs"):
        for limit in (None, 10**6):
            wanted = plain.exact(statistic, limit)
            assert wanted.any() and np.array_equal(engine.exact(statistic, limit), wanted)
    sizes = {int(np.abs(engine.exact("pairs", 1)).sum()) for _ in range(4)}
    one = plain.answers_of_each().size * (1 + plain.halves) if plain.person is not None else 0
    assert not one or sizes == {one}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("parts", [1, 5, 40])
def test_both_readers_read_the_same_rows(tmp_path, monkeypatch, end: str, parts: int) -> None:
    path = tmp_path / "it's [1]*.csv"
    monkeypatch.setattr(shards, "PART", 1000 // parts)
    rows = [row for row in MESSY if end == "\n" or "\n" not in row]
    path.write_bytes(("\ufeff" + end.join([HEAD, *rows])).encode())
    how = {"columns": {"person": "Who"}, "repeats": "keep"}
    both(path, items=ITEMS, **how)
    both(path, items_from_data=True, **how)
    path.write_bytes(gzip.compress(path.read_bytes()))
    both(path, items=ITEMS, **how)
    path.write_text("\n".join(["person,left,right,winner", *TIES]), encoding="utf-8")
    sides = {"first": "left", "second": "right"}
    both(path, items=ITEMS, columns=sides, ties=["Unentschieden", "links"], repeats="keep")
    path.write_text("loser,winner\ntea,café\ncafé,tea\ntea,tea\ntea,café\n", encoding="utf-8")
    both(path, items=ITEMS)
