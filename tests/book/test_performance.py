"""The performance page's table."""

from dpbook.book.performance import HEAD, bench_rows

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
    (row,) = bench_rows([ROW])
    assert dict(zip(HEAD, row, strict=True)) == {
        "case": "n = 300",
        "peer": "evalica",
        "ours (ms)": "0.57",
        "peer (ms)": "11.4",
        "ratio": "20.0",
        "target": "15",
        "residual": "1e-09",
        "target met": "yes",
    }


def test_a_missed_target_says_so():
    assert bench_rows([{**ROW, "passed": False}])[0][-1] == "no"
