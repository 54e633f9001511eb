"""Links and pairs between two tiny collections, mistakes with their lines, and round trips."""

import logging
import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import Collection, DataError, Links, TacitError
from tacit.data import read_links, read_pairs, write_links
from tacit.data.columns import first_repeat


def collection(*ids):
    return Collection(ids, [""] * len(ids), [""] * len(ids))


DOCS, QUERIES = collection("a", "b", "New York"), collection("q1", "q2")


@pytest.fixture
def stored(tmp_path):
    def store(text):
        (tmp_path / "links.tsv").write_text(text, encoding="utf-8")
        return tmp_path / "links.tsv"

    return store


def triples(links):
    return list(zip(links.sources.tolist(), links.targets.tolist(), links.weights.tolist(), strict=True))


def test_links_within_a_collection(stored):
    links = read_links(stored("a\tb\nb\tNew York\t2.5\r\n\nb\ta\n"), DOCS)
    assert triples(links) == [(0, 1, 1.0), (1, 2, 2.5), (1, 0, 1.0)]
    assert (links.n_sources, links.n_targets) == (3, 3)


def test_links_of_a_document_to_itself_are_counted_and_left_out(stored, caplog):
    path = stored("a\tb\na\ta\nb\tb\t2\n")
    assert triples(read_links(path, DOCS)) == [(0, 1, 1.0)]
    assert caplog.messages == [f"{path}: left out: links from a document to itself: 2 of 3"]
    assert triples(read_links(path, DOCS, collection("a", "b"))) == [(0, 1, 1.0), (0, 0, 1.0), (1, 1, 2.0)]
    with pytest.raises(DataError, match=r"every link \(1\) is from a document to itself"):
        read_links(stored("a\ta\n"), DOCS)


@pytest.mark.parametrize("header", ["source\ttarget", "Query-ID\tcorpus-id\tscore"])
def test_a_header_is_left_out_and_named(stored, caplog, header):
    path = stored(f"{header}\na\tb\n")
    assert triples(read_links(path, DOCS)) == [(0, 1, 1.0)]
    assert caplog.messages == [f"{path}:1: left out: the line is a header ({', '.join(header.split())})"]


def test_documents_may_be_called_like_columns(stored, caplog):
    assert triples(read_links(stored("source\ttarget\n"), collection("source", "target"))) == [(0, 1, 1.0)]
    assert not caplog.messages
    with pytest.raises(DataError, match="unknown id"):
        read_links(stored("a\tb\nsource\ttarget\n"), DOCS)


def test_pairs_and_links_between_two_collections(stored):
    path = stored("q2\ta\nq1\ta\t3e-1\n")
    for links in (read_pairs(path, QUERIES, DOCS), read_links(path, QUERIES, DOCS)):
        assert triples(links) == [(1, 0, 1.0), (0, 0, np.float32(0.3))]
        assert (links.n_sources, links.n_targets) == (2, 3)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", r"links\.tsv: has no lines, want source<TAB>target"),
        ("a b\n", ":1: 1 column between tabs, want source<TAB>target"),
        ("a\tb\t1\t2\n", ":1: 4 columns"),
        ("a\tb\n\nb\ta\na\tb\t3\n", ":4: this pair of source and target is already in line 1"),
        ("a\tb\tx\n", ":1: weight is 'x', want a positive finite number"),
        ("a\tb\t0\n", ":1: weight is '0'"),
        ("a\tb\t-1\n", ":1: weight is '-1'"),
        ("a\tb\tnan\n", ":1: weight is 'nan'"),
        ("a\tb\tinf\n", ":1: weight is 'inf'"),
        ("a\tb\t1e39\n", ":1: weight is '1e39'"),  # infinite as float32
        ("a\tb\t1e-60\n", ":1: weight is '1e-60'"),  # zero as float32
        ("a\tb\t\n", ":1: weight is ''"),
    ],
)
def test_mistakes(stored, lines, message):
    with pytest.raises(DataError, match=message):
        read_links(stored(lines), DOCS)


def test_unknown_ids_are_an_error_or_left_out_aloud(stored, caplog):
    path = stored("a\tb\nb\tzz\nyy\ta\nyy\tzz\n")
    wanted = r"links\.tsv:2: unknown ids in 3 of 4 lines, the first is target 'zz'; .*--skip-unknown"
    with pytest.raises(DataError, match=wanted):
        read_links(path, DOCS)
    with caplog.at_level(logging.WARNING, "tacit"):
        assert triples(read_links(path, DOCS, skip_unknown=True)) == [(0, 1, 1.0)]
    assert "left out: unknown ids in 3 of 4 lines, the first is target 'zz' in line 2" in caplog.text
    with pytest.raises(DataError, match=r":1: unknown ids in 4 of 4 lines, the first is query 'a'; so nothing is left"):
        read_pairs(path, QUERIES, DOCS, skip_unknown=True)


def test_known_ids_are_silent(stored, caplog):
    read_links(stored("a\tb\n"), DOCS, skip_unknown=True)
    assert not caplog.records


names = st.text(string.ascii_letters + "é日", min_size=1)
weights = st.floats(2.0**-149, np.finfo(np.float32).max.item(), width=32)


@given(
    ids=st.lists(names, min_size=1, max_size=8, unique=True),
    data=st.data(),
    suffix=st.sampled_from(["", ".gz", ".xz", ".bz2", ".zst"]),
)
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_read_again(tmp_path_factory, ids, data, suffix):
    docs, rows = collection(*ids), st.integers(0, len(ids) - 1)
    pairs = data.draw(st.lists(st.tuples(rows, rows), min_size=1, unique=True))
    weight = data.draw(st.just([1.0] * len(pairs)) | st.lists(weights, min_size=len(pairs), max_size=len(pairs)))
    links = Links(*np.array(pairs).T, len(ids), len(ids), np.array(weight, np.float32))
    path = tmp_path_factory.mktemp("links") / f"links.tsv{suffix}"
    write_links(links, path, docs)
    assert triples(read_links(path, docs, collection(*ids))) == triples(links)


def test_the_weight_column_is_written_when_it_says_something(tmp_path):
    write_links(Links([0, 1], [1, 0], 2, 3), tmp_path / "a.tsv", QUERIES, DOCS)
    assert (tmp_path / "a.tsv").read_text() == "q1\tb\nq2\ta\n"
    write_links(Links([0, 1], [1, 0], 2, 3, [0.1, 2]), tmp_path / "a.tsv", QUERIES, DOCS)
    assert (tmp_path / "a.tsv").read_text() == "q1\tb\t0.1\nq2\ta\t2.0\n"


def test_links_of_other_collections_or_with_impossible_ids_are_not_written(tmp_path):
    with pytest.raises(TacitError, match="links join 2 to 3 rows, the collections have 3 and 3"):
        write_links(Links([0], [0], 2, 3), tmp_path / "a.tsv", DOCS)
    with pytest.raises(TacitError, match=r"target id is 'a\\tb'"):
        write_links(Links([0], [1], 2, 2), tmp_path / "a.tsv", QUERIES, collection("x", "a\tb"))
    assert not list(tmp_path.iterdir())


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12))
@settings(max_examples=100, deadline=None)
def test_the_first_repeat_is_the_one_a_reader_would_meet(pairs):
    wanted, seen = None, {}
    for entry, pair in enumerate(pairs):
        if pair in seen and wanted is None:
            wanted = seen[pair], entry
        seen.setdefault(pair, entry)
    assert first_repeat(*np.array(pairs, np.int64).reshape(-1, 2).T) == wanted
