"""Whatever bytes a file holds, a reader answers with its type or with our error, never with another."""

import bz2
import gzip
import lzma

import numpy as np
import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tacit.core import Collection, DataError, Judgments, Links, Run
from tacit.data import (
    ClickLog,
    Preferences,
    read_click_log,
    read_collection,
    read_links,
    read_pairs,
    read_preferences,
    read_qrels,
    read_queries,
    read_run,
    read_triples,
)

DOCS = Collection(["a", "b", "c d"], [""] * 3, [""] * 3)
QUERIES = Collection(["q", "r"], [""] * 2, [""] * 2)

# name -> (how it reads, what it gives, a valid file)
READERS = {
    "docs.jsonl": (
        lambda path: read_collection(path, extras=["e"]),
        Collection,
        '{"id": "a", "title": "T\\u00e9", "text": "x", "e": [1]}\n{"_id": 2, "text": "\\ud83d\\ude00"}\n{"id": "ü"}\n',
    ),
    "docs.tsv": (read_collection, Collection, "a\tT\tx\nb\t\ty é\n\nc\tU\tz\n"),
    "docs": (read_collection, Collection, 'id\ttext\na\tx\n{"id": 1}\ty\n'),
    "all.jsonl": (
        read_collection,
        Collection,
        '{"_id": "a", "body": "x", "n": 1, "t": ["u", 2], "m": {"d": "2024-01-02"}}\n{"_id": "b", "body": null}\n',
    ),
    "docs.csv": (read_collection, Collection, 'sku;name;description;n\n1;"T ""q""";"x\ny";3\n2;U;z;\n'),
    "docs.json": (read_collection, Collection, '[{"id": "a", "text": "x\\u00e9"},\n {"id": 2, "text": "y", "n": [1]}]'),
    "bulk.ndjson": (
        read_collection,
        Collection,
        '{"index": {"_id": "a"}}\n{"text": "x"}\n{"index": {}}\n{"_id": "b", "text": "y"}\n',
    ),
    "queries.csv": (read_queries, Collection, "qid,query\n1,x y\n2,z\n"),
    "qrels.csv": (read_qrels, Judgments, "query,document,grade\nq,a,1\nq,b,-1\n"),
    "qrels.json": (read_qrels, Judgments, '[{"qid": 1, "docid": "a", "rel": 1}]'),
    "log.csv": (read_click_log, ClickLog, "query,doc_id,count\nx,a,2\ny,b,\n"),
    "queries.jsonl": (read_queries, Collection, '{"id": "q", "text": "x y"}\n{"_id": "r", "text": ""}\n'),
    "queries.tsv": (read_queries, Collection, "q\tx\nr\ty\n"),
    "links.tsv": (lambda path: read_links(path, DOCS, skip_unknown=True), Links, "a\tb\nb\tc d\t0.5\nz\ta\t1e3\n"),
    "pairs.tsv": (lambda path: read_pairs(path, QUERIES, DOCS), Links, "q\ta\nr\tb\t2\n"),
    "triples.tsv": (lambda path: read_triples(path, QUERIES, DOCS), np.ndarray, "q\ta\tb\nr\tb\tc d\n"),
    "prefs.tsv": (read_preferences, Preferences, "q\ta\tb\nr\tb\ta\t0.25\n"),
    "qrels.txt": (read_qrels, Judgments, "q 0 a 1\nq 0 b -1\nr 0 a 2\n"),
    "beir.tsv": (read_qrels, Judgments, "query-id\tcorpus-id\tscore\nq\ta b\t1\nr\tb\t0\n"),
    "letor.txt": (
        read_qrels,
        Judgments,
        "2 qid:1 1:0.5 2:1 #docid = a\n0 qid:1 1:0 2:3 #docid = b\n-1 qid:2 1:1 2:2\n",
    ),
    "run.txt": (read_run, Run, "q Q0 a 1 0.75 s\nq Q0 b 2 0.5 s\nr Q0 a 1 3 s\n"),
}
COMPRESS = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".xz": lambda data: lzma.compress(data, preset=0),
    ".bz2": bz2.compress,
    ".zst": lambda data: zstandard.ZstdCompressor().compress(data),
}
every_reader = pytest.mark.parametrize("name", READERS)
every_suffix = pytest.mark.parametrize("suffix", COMPRESS)
# Pieces that lead further into a reader than random bytes would.
PIECES = rb"{ } \" \\ \ud800 \u0000 nan inf -1 1e999 null qid: # 0 _ : id [".split()
PIECES += [b" ", b"\t", b"\n", b"\r\n", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"[" * 2000, b"9" * 5000]
pieces = st.sampled_from(PIECES)
fuzzed = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def give_to_reader(folder, name, suffix, data):
    """Read the bytes under that name; pass if they are read or refused in our own words, in one line."""
    reader, kind, _ = READERS[name]
    path = folder / (name + suffix)
    path.write_bytes(data)
    problem = ""
    try:
        assert isinstance(reader(path), kind)
    except DataError as error:
        problem = str(error)
    assert not problem or problem.startswith(str(path))
    assert "\n" not in problem


@every_suffix
@every_reader
def test_valid_files_are_read(tmp_path, name, suffix):
    reader, kind, text = READERS[name]
    path = tmp_path / (name + suffix)
    path.write_bytes(COMPRESS[suffix](text.encode()))
    assert isinstance(reader(path), kind)


@every_reader
@given(data=st.binary(max_size=200) | st.lists(pieces | st.binary(max_size=6), max_size=20).map(b"".join))
@example(b"")
@example(b"\xef\xbb\xbf")
@example(b"\n" * 50)
@fuzzed
def test_any_bytes(tmp_path, name, data):
    give_to_reader(tmp_path, name, "", data)


@every_reader
@given(data=st.data())
@fuzzed
def test_valid_files_with_pieces_put_in_or_taken_out(tmp_path, name, data):
    text = READERS[name][2].encode()
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        stop = data.draw(st.integers(start, min(start + 3, len(text))))
        text = text[:start] + data.draw(pieces | st.just(b"")) + text[stop:]
    give_to_reader(tmp_path, name, "", text)


@every_suffix
@given(data=st.data(), name=st.sampled_from(list(READERS)))
@fuzzed
def test_damaged_and_truncated_compression(tmp_path, suffix, data, name):
    packed = bytearray(COMPRESS[suffix](READERS[name][2].encode() * data.draw(st.integers(1, 50))))
    for _ in range(data.draw(st.integers(0, 3))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    kept = data.draw(st.just(len(packed)) | st.integers(0, len(packed)))
    give_to_reader(tmp_path, name, suffix, bytes(packed[:kept]) + data.draw(st.binary(max_size=3)))


@pytest.mark.parametrize("suffix", [suffix for suffix in COMPRESS if suffix])
def test_every_truncation_is_noticed(tmp_path, suffix):
    reader, _, text = READERS["run.txt"]
    packed = COMPRESS[suffix](text.encode())
    path = tmp_path / f"run.txt{suffix}"
    for kept in range(len(packed)):
        path.write_bytes(packed[:kept])
        with pytest.raises(DataError, match=r"truncated|damaged"):
            reader(path)
