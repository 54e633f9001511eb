"""What is written is read back as the same lists; what could not be read back is not written."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import Lists, TacitError
from tacit.data.letor.files import read_letor, write_letor


def assert_same(lists, wanted):
    np.testing.assert_array_equal(lists.X, wanted.X)
    there = ~np.isnan(wanted.X)
    assert np.array_equal(np.signbit(lists.X[there]), np.signbit(wanted.X[there]))  # -0.0 is not 0.0
    np.testing.assert_array_equal(lists.y, wanted.y)
    np.testing.assert_array_equal(lists.starts, wanted.starts)
    assert list(lists.query_ids) == list(wanted.query_ids)
    assert list(lists.doc_ids) == list(wanted.doc_ids)
    rests = [""] * len(wanted.X)
    assert list(lists.comments or rests) == list(wanted.comments or rests)


@st.composite
def any_lists(draw):
    n_rows, width = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    numbers = st.floats(allow_infinity=False, allow_nan=True)
    X = np.array([[draw(numbers) for _ in range(width)] for _ in range(n_rows)])
    y = np.array([draw(st.one_of(st.just(np.nan), st.floats(0, 1e9))) for _ in range(n_rows)])
    inner = sorted(draw(st.sets(st.integers(1, n_rows), max_size=3)) - {n_rows})
    words = st.text(st.characters(exclude_characters=" \t\r\n#", exclude_categories=["Cs"]), min_size=1, max_size=5)
    query_ids = draw(st.lists(words, min_size=len(inner) + 1, max_size=len(inner) + 1, unique=True))
    rests = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=12)
    doc_ids = [draw(words) for _ in range(n_rows)]
    comments = [draw(rests).strip(" \t\r") for _ in range(n_rows)]
    return Lists(X, y, np.array([0, *inner, n_rows]), query_ids, doc_ids, comments)


@given(lists=any_lists(), suffix=st.sampled_from(["", ".gz", ".zst"]))
@settings(max_examples=30, deadline=None)
def test_written_lists_are_read_back_bit_for_bit(tmp_path_factory, lists, suffix):
    path = tmp_path_factory.getbasetemp() / f"written.txt{suffix}"
    write_letor(lists, path)
    assert_same(read_letor(path), lists)


def test_writes_the_form_that_the_sets_have(tmp_path):
    rows = "2 qid:10 1:0.5 2:NULL 3:0 #docid = GX008 inc = 1 prob = 0.08\n-1 qid:10 1:1e-07 2:-0 3:12 #docid = b\n"
    path = tmp_path / "a.txt"
    path.write_text(rows)
    write_letor(read_letor(path), tmp_path / "b.txt")
    assert (tmp_path / "b.txt").read_text() == rows


def small_lists(**changes):
    parts = {"X": np.ones((2, 2)), "y": np.zeros(2), "starts": np.array([0, 1, 2])}
    return Lists(**{**parts, "query_ids": ["1", "2"], "doc_ids": ["a", "b"], **changes})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"query_ids": ["1", "2 3"]}, "query id '2 3' contains ' '"),
        ({"query_ids": ["1", "#"]}, "query id '#' contains '#'"),
        ({"query_ids": ["1", ""]}, "query id is empty"),
        ({"query_ids": ["1", "1"]}, "same query id"),
        ({"doc_ids": ["a", "b\n"]}, "doc id 'b.n' contains"),
        ({"comments": ["", "x\ny"]}, "comment of row 1 contains a line break"),
        ({"comments": ["x"]}, "number of comments: 1, want 2, one for each row"),
        ({"comments": ["", "x"], "doc_ids": ["a", ""]}, "row 1 has a comment and no doc id"),
        ({"X": np.array([[0, 1], [np.inf, 0]])}, "feature 1 of row 1 is inf"),
        ({"y": np.array([0, -2.0])}, "grade of row 1 is -2"),
        ({"y": np.array([0, np.inf])}, "grade of row 1 is inf"),
        ({"doc_ids": ["a", "\ud800"]}, "half of a character"),
    ],
)
def test_refuses_to_write_what_could_not_be_read_back(tmp_path, changes, problem):
    with pytest.raises(TacitError, match=problem):
        write_letor(small_lists(**changes), tmp_path / "out.txt")
    assert not list(tmp_path.iterdir())


def test_mq2008_keeps_its_comments_and_is_read_back_as_written(data_folder, tmp_path):
    lists = read_letor(data_folder / "letor/MQ2008/MQ2008.txt.gz")
    assert (lists.doc_ids[0], lists.comments[0]) == ("GX008-86-4444840", "inc = 1 prob = 0.086622")
    assert all(rest.startswith("inc = ") for rest in lists.comments)
    write_letor(lists, tmp_path / "again.txt")
    assert_same(read_letor(tmp_path / "again.txt"), lists)
