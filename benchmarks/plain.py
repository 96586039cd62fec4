"""Peers of `dpbook rank` for large files: what one would write with an engine and OpenDP alone.

``python -m benchmarks.plain ENGINE LIMIT FILE`` prints the items in order, the winner first.
"""

from __future__ import annotations

import sys


def polars(path: str, limit: int) -> list[tuple[str, int]]:
    """Wins minus losses of each item, of so many answers of each person, drawn at random."""
    import polars as pl

    drawn = pl.int_range(pl.len()).shuffle().over("person") < limit
    kept = pl.scan_csv(path).filter(drawn).select("winner", "loser").collect()
    counts = [
        kept.group_by(item=name).agg(net=sign * pl.len().cast(int))
        for name, sign in (("winner", 1), ("loser", -1))
    ]
    return pl.concat(counts).group_by("item").sum().rows()


def duckdb(path: str, limit: int) -> list[tuple[str, int]]:
    """The same in SQL."""
    import duckdb

    return duckdb.execute(
        f"""WITH kept AS (SELECT winner, loser FROM (
            SELECT winner, loser, row_number() OVER (PARTITION BY person ORDER BY key) AS k
            FROM (SELECT *, random() AS key FROM read_csv('{path}'))) WHERE k <= {limit}),
        counts AS (SELECT winner AS item, count(*) AS net FROM kept GROUP BY winner
            UNION ALL SELECT loser, -count(*) FROM kept GROUP BY loser)
        SELECT item, sum(net)::BIGINT FROM counts GROUP BY item"""
    ).fetchall()


def main(engine: str, limit: int, path: str) -> None:
    """Rank with exact noise for epsilon = 1 and a person."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    net = {"polars": polars, "duckdb": duckdb}[engine](path, limit)
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    noisy = dp.m.make_laplace(*space, scale=4.0 * limit)([number for _, number in net])
    print(*(item for _, (item, _) in sorted(zip(noisy, net, strict=True), reverse=True)))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
