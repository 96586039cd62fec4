"""The performance page's table."""

from dpbook.book.sphinx.claims import bench_row, size_row

ROW = {
    "case": "n = 300",
    "peer": "evalica",
    "ours_s": 0.00057,
    "peer_s": 0.0114,
    "ratio": 19.96,
    "target": 15,
    "accuracy": 1.07e-9,
    "passed": True,
}


def test_a_row_has_a_cell_per_column_and_milliseconds():
    assert bench_row(ROW) == {
        "case": "n = 300",
        "peer": "evalica",
        "ours (ms)": "0.57",
        "peer (ms)": "11.4",
        "ratio": "20",
        "target": "15",
        "residual": "1e-09",
        "met": "yes",
    }


def test_a_large_size_shows_seconds_and_memory_beside_their_limits():
    row = {"case": "1e6 people", "ours_s": 0.3685, "peer_s": 60, "passed": True}
    memory = {"peak_mb": 273.1, "peak_mb_limit": 1000.0}
    assert size_row(row | memory) == {
        "what": "1e6 people",
        "seconds": "0.368",
        "at most": "60",
        "peak memory (MB)": "273",
        "at most (MB)": "1\u202f000",
        "met": "yes",
    }
    assert size_row(row | memory | {"passed": False})["met"] == "no"
