"""The engine for large files: rows as read plainly, parts that add up, a worker that dies."""

from __future__ import annotations

import gzip
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpbook.rank import Answers, rank_privately, read_answers, reading, shards
from dpbook.rank.layout import Options
from dpbook.rank.reading import answers_of

duckdb = pytest.importorskip("duckdb")
ITEMS = ["tea", "café", "mate, iced", "O'Neill"]
MESSY = r"""date;Who;winner;loser
1;ann;tea;café|1;ann;café;tea|2;bob;cafe\u0301; tea |2;bob;mate, iced;tea|3;;tea;café
3; bob\u3000;O'Neill;tea|3; ;tea;café
3;bob;tea;café;|3;bob;tea;café;;;|3|;bob;tea;café|4;eve;tea;|4;eve;tea|4;eve;tea;water|4;eve;tie;tea
4;eve;tea;tea |;;;||5;Zoe\u0308;O'Neill;tea|5;Zo\u00eb;tea;O'Neill|6;dan;tea;café;mate
6;dan;tea;café|7;\tann;TEA;café|7;fay;first;tea|8;\x1cfay\x1f;tea;café|8;x\x00y;tea;café"""
TIES = r"""person,left,right,winner
ann,tea,café,tea|ann,tea,café,Draw|bob,tea,café, second|bob,café,tea,links
bob,tea,café,GLEICHMÄSSIG|eve,tea,café,LINKS
eve,tea,café,water|eve,tea,tea,tie|eve,tea,café,|dan,tea,water,tie|dan,cafe\u0301,tea,cafe\u0301
,tea,café,tea|fay,tea,café,First|gus,tea,café,left|gus,tea,café,first"""
PEOPLE, LIMIT = 2000, 2


def rows_in(text: str, end: str = "\n") -> bytes:
    """Escapes are meant as in Python."""
    text = (
        text.replace("é", r"\u00e9").replace("Ä", r"\u00c4").replace("|", "\n").replace("\n", end)
    )
    return text.encode("ascii").decode("unicode-escape").encode()


def both(path: Path, **how: object) -> None:
    """The engine and the plain reader say the same of a file, in every statistic."""
    engine, plain = shards.open_shards([str(path)], Options(**how)), read_answers(path, **how)
    for name in ("items", "kind", "listed", "repeats", "halves", "read"):
        assert getattr(engine, name) == getattr(plain, name)
    for statistic, limit in (("net", None), ("pairs", None), ("pairs", 10**6)):
        wanted = plain.exact(statistic, limit)
        assert wanted.any() and np.array_equal(engine.exact(statistic, limit), wanted)
    if plain.person is not None:
        answers = plain.answers_of_each().size * (1 + plain.halves)
        assert engine.exact("pairs", 1).sum() == answers


@pytest.mark.parametrize(("end", "parts"), [("\n", 1), ("\n", 20), ("\r\n", 3)])
def test_both_readers_read_the_same_rows(tmp_path, monkeypatch, end: str, parts: int) -> None:
    path = tmp_path / "it's [1]*.csv"
    monkeypatch.setattr(shards, "PART", 1000 // parts)
    path.write_bytes(b"\xef\xbb\xbf" + rows_in(MESSY, end))
    how = {"columns": {"person": "Who"}, "repeats": "keep"}
    both(path, items=ITEMS, **how)
    both(path, items_from_data=True, **how)
    path.write_bytes(gzip.compress(path.read_bytes()))
    both(path, items=ITEMS, **how)
    path.write_bytes(rows_in(TIES))
    how["columns"] = {"first": "left", "second": "right"}
    both(path, items=ITEMS, ties=["Links", "gleichmäßig"], **how)
    path.write_bytes(rows_in("loser,winner|tea,café|café,tea|tea,tea|tea,café|"))
    both(path, items=ITEMS)
    rows = "(VALUES (1, 'a', 'b'), (1, 'b', 'a'), (2, 'b', NULL), (3, 'b', 'a'))"
    named = f"SELECT * FROM {rows} AS t(person, winner, loser)"
    duckdb.execute(f"COPY ({named}) TO '{tmp_path / 't.parquet'}'")
    both(tmp_path / "t.parquet", items=["b", "a"], repeats="keep")


@pytest.mark.parametrize("row", [
    'bob,"tea",mate', f"bob,tea,{'x' * 2**21}", 'bob,te"a,tea', 'bob,"tea,mate', "bob,tea,mate\r",
    b"bob,tea,mat\xe9", "te\ra,tea,mate", 0, "sep=;", "", "person,ranking", "winner,loser,count",
])  # fmt: skip
def test_what_is_no_row_of_its_own_is_left_to_the_other_reader(tmp_path, monkeypatch, row) -> None:
    path, rows = tmp_path / "answers.csv", b"person,winner,loser\nann,tea,mate\n"
    bad = row if isinstance(row, bytes) else str(row).encode()
    path.write_bytes(rows + bad + b"\n" if b"bob" in bad or b"\r" in bad else bad + b"\n" + rows)
    monkeypatch.setattr(reading, "LARGE", 0)
    how = {"items": ["tea", "mate"]}
    found = []
    monkeypatch.setattr(reading, "read_answers", lambda paths, **how: found.append(paths))
    assert answers_of(path, **how) is None and len(found) == 1
    with pytest.raises(ValueError, match=r"allowed|codec"):
        shards.open_shards([str(path)], Options(**how))
    path.write_bytes(rows)
    assert type(answers_of(path, **how)) is shards.Shards
    assert answers_of(path, **how, encoding="cp1252") is None


def right(found: np.ndarray) -> None:
    """Of everybody's four pairs two count, equally often, and one answer of the repeated pair."""
    pairs, sd = (found + found.T)[4, :4], np.sqrt(PEOPLE / 4)
    assert pairs.sum() == found.sum() == LIMIT * PEOPLE
    assert np.abs(pairs - PEOPLE / 2).max() < 6 * sd and abs(found[4, 0] - PEOPLE / 4) < 6 * sd


@pytest.fixture
def files(tmp_path) -> list[str]:
    """Everybody answers four pairs, one in each file, and the first one in the last file again."""
    names = [str(tmp_path / f"{k}.parquet") for k in range(4)]
    for k, name in enumerate(names):
        rows = f"SELECT 'p' || range AS person, 'i{k}' AS winner, 'i4' AS loser FROM range({PEOPLE}"
        again = f") UNION ALL SELECT 'p' || range, 'i4', 'i0' FROM range({PEOPLE}" * (k == 3)
        duckdb.execute(f"COPY ({rows}{again})) TO '{name}'")
    return names


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cluster", [False, True])
def test_everybody_keeps_the_limit_also_if_a_worker_dies(files, monkeypatch, cluster) -> None:
    """Two workers, one of which is killed when it has read the first file."""
    distributed, killed = pytest.importorskip("distributed"), []
    monkeypatch.setattr(shards, "PART", 2**12)

    class Kill(distributed.SchedulerPlugin):
        def transition(self, key, start, finish, *args, worker="", **how):
            if not killed and finish == "memory" and "file-" in key:
                killed.append(worker)
                os.kill(pids[worker], signal.SIGKILL)

    if not cluster:
        check(shards.open_shards(files, Options(items_from_data=True)))
        return
    how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**how) as workers:
        found = shards.open_shards(
            files, Options(items_from_data=True), scheduler=workers.scheduler_address
        )
        with found.client as client:
            pids = client.run(os.getpid)
            workers.scheduler.add_plugin(Kill())
            check(found)
            counts = [f"{name}.csv" for name in files]
            for k, name in enumerate(counts):
                Path(name).write_text(f"winner,loser,count\ni0,i1,{k + 1}\n")
            how = {"items": ["i0", "i1"], "scheduler": workers.scheduler_address}
            assert answers_of(counts, **how).data.tolist() == [[0, 10], [0, 0]]
    assert len(killed) == 1


def check(found: shards.Shards) -> None:
    assert found.reader.parts > 8 and found.items == ("i0", "i1", "i2", "i3", "i4")
    tables = [found.exact("pairs", LIMIT) for _ in range(2)]
    right(tables[0])
    assert (tables[0] != tables[1]).any()  # drawn anew
    assert found.exact("net").tolist() == [0, *3 * [PEOPLE], -3 * PEOPLE]


CELLS = st.sampled_from(
    "tea|mate|café|cafe\u0301|Tea|tie|first|b|NA|'| tea|tea\xa0|te\u200ba|\ufefftea|x\0|%|NULL|\\|"
    "tea|mate|tea|mate|tea\u200b|\t||\u2028tea|mate\x1f".split("|")
)
ROWS = st.lists(st.lists(CELLS, min_size=4, max_size=5).map(",".join), min_size=1, max_size=30)


def by_person(answers) -> list[list[tuple[int, ...]]]:
    """What each person answered, in any order."""
    tied = np.zeros(answers.person.size) if answers.tied is None else answers.tied
    rows = np.column_stack([*answers.data, tied])
    return sorted(sorted(map(tuple, rows[answers.person == who])) for who in {*answers.person})


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=ROWS, ties=st.booleans())
def test_hostile_rows_mean_the_same_to_both_readers(tmp_path, rows, ties: bool) -> None:
    """People, pairs and winners, row by row, whatever stands in the cells."""
    path, names = tmp_path / "rows.csv", "first,second" if ties else "winner,loser"
    first = "a,tea,mate,tea,x" if ties else "a,tea,mate,x,x"
    path.write_text("\n".join([f"person,{names},{'winner' if ties else 'b'},c", first, *rows]))
    how = {"items": ["tea", "café", "mate"], "missing": ["NA"], "labels": {"b": "mate"}}
    how |= {"columns": {"person": "person"}, "ties": ["NULL"], "repeats": "keep"}
    engine, plain = shards.open_shards([str(path)], Options(**how)), read_answers(path, **how)
    assert engine.reader.parts == 1
    assert by_person(engine.reader.answers([engine.part(0)])) == by_person(plain)
    assert np.array_equal(engine.exact("pairs"), plain.exact("pairs"))


def test_who_is_there_or_not_has_no_hash(tmp_path, monkeypatch) -> None:
    """Two people may share one: the other reader, and no cluster, where that would tell."""
    path = tmp_path / "answers.csv"
    path.write_text("person,winner,loser\n" + "p0,tea,mate\n" * 9)
    monkeypatch.setattr(reading, "LARGE", 0)
    how = {"items": ["tea", "mate"]}
    assert type(answers_of(path, **how)) is shards.Shards
    assert type(answers_of(path, relation="add_remove", **how)) is Answers
    found = shards.open_shards([str(path)], Options(**how))
    with pytest.raises(ValueError, match="people who are known by a hash: allowed is 'replace'"):
        rank_privately(found, epsilon=1, protect="comparison", relation="add_remove")
