"""The engine for large files: rows as read plainly, parts that add up, a worker that dies."""

from __future__ import annotations

import gzip
import os
import signal
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
@pytest.mark.parametrize("parts", [1, 20])
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


ROWS = b"person,winner,loser\nann,tea,caf\xc3\xa9\n"


@pytest.mark.parametrize(
    "content",
    [
        b"sep=;\n" + ROWS.replace(b",", b";"),
        ROWS + b'bob,"tea"x,caf\xc3\xa9\n',
        ROWS + b'bob,"x,"y,tea\n' + ROWS,
        ROWS + b'bob,te"a,tea\n',
        ROWS + b'bob,"tea,tea\n',
        ROWS + b"bob,tea,caf\xe9\n",
        ROWS + b"bob,tea,caf\xc3\xa9\r\n",
        ROWS.replace(b"\n", b"\r"),
        ROWS.decode().encode("utf-16"),
        b"person,ranking\nann,tea\n",
        b"winner,loser,count\ntea,x,2\n",
        ROWS.replace(b"person", b"who"),
        b"",
    ],
)
def test_what_is_no_row_of_its_own_is_left_to_the_other_reader(
    tmp_path, monkeypatch, content: bytes
) -> None:
    path = tmp_path / "answers.csv"
    path.write_bytes(content)
    monkeypatch.setattr(shards, "LARGE", 0)
    assert shards.supported([str(path)], items=ITEMS) is None
    with pytest.raises(ValueError, match=r"allowed|codec"):
        shards.open_shards([str(path)], items=ITEMS)
    path.write_bytes(ROWS)
    assert shards.supported([str(path)], items=ITEMS)
    for how in ({"encoding": "cp1252"}, {"bad": "refuse"}):
        assert shards.supported([str(path)], items=ITEMS, **how) is None


PEOPLE, LIMIT = 2000, 2


@pytest.fixture
def files(tmp_path) -> list[str]:
    """Everybody answers four pairs, one in each file, and the first one in another file again."""
    names = [str(tmp_path / f"{k}.parquet") for k in range(4)]
    for k, name in enumerate(names):
        rows = [
            f"SELECT 'p' || range AS person, 'i{k}' AS winner, 'i4' AS loser FROM range({PEOPLE})"
        ]
        rows += [f"SELECT 'p' || range, 'i4', 'i0' FROM range({PEOPLE})"] * (k == 3)
        duckdb.execute(f"COPY ({' UNION ALL '.join(rows)}) TO '{name}'")
    return names


def right(found: np.ndarray) -> None:
    """Of everybody's four pairs two are kept, with the same chance, and one of a repeated one."""
    pairs = (found + found.T)[4, :4]
    assert pairs.sum() == found.sum() == LIMIT * PEOPLE and not (found + found.T)[:4, :4].any()
    sd = np.sqrt(PEOPLE / 4)
    assert np.abs(pairs - PEOPLE / 2).max() < 6 * sd
    assert abs(found[4, 0] - PEOPLE / 4) < 6 * sd


def test_everybody_keeps_the_limit_across_files(files, monkeypatch) -> None:
    monkeypatch.setattr(shards, "PART", 2**12)
    items = [f"i{k}" for k in range(5)]
    found = shards.open_shards(files, items=items)
    assert found.parts > shards.MANY  # sorted by person
    kept = [found.exact("pairs", LIMIT) for _ in range(2)]
    assert (kept[0] != kept[1]).any()  # drawn anew
    for table in kept:
        right(table)
    assert found.exact("net").tolist() == [0, 2000, 2000, 2000, -6000]
    one = found.exact("net", 5)
    assert one[1:4].tolist() == [PEOPLE] * 3 and one.sum() == 0


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_dies_changes_nothing(files, monkeypatch) -> None:
    """Two workers, one of which is killed when it has read the first file."""
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(shards, "PART", 2**14)
    killed = []

    class Kill(distributed.SchedulerPlugin):
        def transition(self, key, start, finish, *args, worker="", **how):
            if not killed and finish == "memory" and "_pieces" in key:
                killed.append(worker)
                os.kill(pids[worker], signal.SIGKILL)

    how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**how) as cluster:
        found = shards.open_shards(files, items_from_data=True, scheduler=cluster.scheduler_address)
        with found.client as client:
            pids = client.run(os.getpid)
            cluster.scheduler.add_plugin(Kill())
            table = found.exact("pairs", LIMIT)
            assert len(killed) == 1 and found.items == ("i0", "i1", "i2", "i3", "i4")
            right(table)
            assert found.exact("net").tolist() == [0, 2000, 2000, 2000, -6000]
