"""Legs from files, tables and data frames."""

import gzip

import numpy as np
import pytest

from tacit.core import DataError, Run, UsageError
from tacit.judge.fuse import read_legs
from tacit.judge.fuse.sources import as_runs

CSV = "query,document,bm25,dense\nq,a,3.5,\nq,b,1,0.5\nq,c,,0.75\n"
WANTED = {"bm25": {"q": {"a": 3.5, "b": 1.0}}, "dense": {"q": {"b": 0.5, "c": 0.75}}}


def nested(runs):
    return {name: run.to_dict() for name, run in runs.items()}


def test_tables_of_every_form_give_the_same_legs(tmp_path):
    (tmp_path / "t.csv").write_text(CSV)
    (tmp_path / "t.tsv").write_text(CSV.replace(",", "\t"))
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    for name in ("t.csv", "t.tsv", "t.csv.gz"):
        assert nested(read_legs([str(tmp_path / name)])) == WANTED
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pd.DataFrame(
        {"qid": ["q"] * 3, "docno": list("abc"), "bm25": [3.5, 1, np.nan], "dense": [np.nan, 0.5, 0.75]}
    )
    assert nested(as_runs(frame)) == WANTED
    assert nested(as_runs(pl.from_pandas(frame))) == WANTED
    assert nested(as_runs({column: frame[column].tolist() for column in frame})) == WANTED
    assert nested(as_runs(WANTED)) == WANTED
    pytest.importorskip("pyarrow")
    frame.to_parquet(tmp_path / "t.parquet")
    assert nested(as_runs(tmp_path / "t.parquet")) == WANTED


def test_runs_are_named_by_the_stems_of_their_files(tmp_path):
    line = "q Q0 a 1 2.5 tag\n"
    (tmp_path / "bm25.run").write_text(line)
    (tmp_path / "dense.run.gz").write_bytes(gzip.compress(line.encode()))
    assert list(read_legs([str(tmp_path / "bm25.run"), str(tmp_path / "dense.run.gz")])) == ["bm25", "dense"]
    runs = [Run.from_dict({"q": {"a": 1.0}}, name) for name in "xy"]
    assert list(as_runs(runs)) == ["x", "y"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("query,bm25,dense\n", "has no column 'document'"),
        ("query,document,bm25\nq,a,1\n", "1 run, want 2 or more"),
        ("query,document,a,a\n", "is in the header twice"),
        ("query,document,a,b\nq,x,1\n", "t.csv:2: 3 columns, want 4"),
        ("query,document,a,b\nq,x,one,2\n", "row 1: a is 'one'"),
        ("query,document,a,b\nq,x,inf,2\n", "row 1: a is 'inf'"),
        ("query,document,a,b\nq,x,1,2\nq,x,1,2\n", "row 2: query 'q' has document 'x' twice"),
        ("query,document,a,b\nq,x,1,\n", "column 'b' has no score"),
    ],
)
def test_wrong_tables_are_one_line(text, message, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises((DataError, UsageError), match=message):
        read_legs([str(tmp_path / "t.csv")])


def test_a_table_stands_alone(tmp_path):
    with pytest.raises(UsageError, match="is a table; give it alone"):
        read_legs([str(tmp_path / "t.csv"), "my.run"])
