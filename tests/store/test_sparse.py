"""Packed CSR matrices: the dense matrix is the oracle; what would read out of bounds is refused."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tacit.core import StoreError, TacitError
from tacit.store import Stored, columns, load_model, pack_csr, save_model, unpack_csr

SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=5)


@given(
    hnp.arrays(np.float32, SHAPES, elements=st.sampled_from([0, 0, 0, 1, -2.5])),
    st.sampled_from(["csr", "csc", "coo", "lil"]),
)
@settings(max_examples=100, deadline=None)
def test_a_matrix_of_any_form_comes_back(dense, form):
    arrays = pack_csr("m", sp.csr_array(dense).asformat(form))
    matrix = unpack_csr("m", arrays, shape=dense.shape)
    np.testing.assert_array_equal(matrix.toarray(), dense, strict=True)
    assert matrix.has_canonical_format
    assert matrix.data is arrays["m/data"] or not matrix.nnz or np.shares_memory(matrix.data, arrays["m/data"])


@pytest.mark.parametrize("dtype", ["float64", "int32", "uint8", "bool"])
def test_values_of_other_types_and_stored_zeros_are_kept(dtype):
    matrix = sp.csr_array((np.array([0, 1, 1], dtype), ([0, 0, 1], [2, 1, 0])), shape=(2, 3))
    found = unpack_csr("m", pack_csr("m", matrix))
    assert found.dtype == dtype
    assert found.nnz == 3
    np.testing.assert_array_equal(found.toarray(), matrix.toarray())


def test_unsorted_rows_are_sorted_and_repeats_added_without_touching_the_callers_matrix():
    matrix = sp.csr_array((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    arrays = pack_csr("m", matrix)
    assert arrays["m/indices"].tolist() == [0, 2]
    assert arrays["m/data"].tolist() == [2.0, 5.0]
    assert matrix.indices.tolist() == [2, 0, 2]


def test_wide_matrices_have_wide_columns():
    matrix = sp.csr_array((np.ones(1), (np.zeros(1, np.int64), np.array([2**40]))), shape=(1, 2**41))
    assert unpack_csr("m", pack_csr("m", matrix)).indices.tolist() == [2**40]


def test_a_mapped_matrix_multiplies(tmp_path):
    dense = np.random.default_rng(0).random((6, 4)) * (np.random.default_rng(1).random((6, 4)) < 0.5)
    save_model(tmp_path, Stored("R", {}, pack_csr("m", sp.csr_array(dense))))
    matrix = unpack_csr("m", load_model(tmp_path, mmap=True).arrays)
    np.testing.assert_allclose(matrix @ np.ones(4), dense.sum(axis=1))
    assert not matrix.data.flags.owndata


@pytest.mark.parametrize("block", [1, 2, 3, 5, 1 << 20])
def test_checks_by_blocks_find_what_one_look_finds(monkeypatch, block):
    monkeypatch.setattr(columns, "BLOCK", block)
    rng = np.random.default_rng(0)
    for _ in range(40):
        matrix = sp.random_array((5, 4), density=0.5, rng=rng, format="csr", dtype=np.float64)
        arrays = {name: array.copy() for name, array in pack_csr("m", matrix).items()}
        assert (unpack_csr("m", arrays) != matrix).nnz == 0
        place = rng.integers(len(arrays["m/indices"]))
        arrays["m/indices"][place] = rng.integers(-1, 6)
        row = np.searchsorted(arrays["m/indptr"], place, side="right") - 1
        found = arrays["m/indices"][arrays["m/indptr"][row] : arrays["m/indptr"][row + 1]]
        if (np.diff(found) > 0).all() and found.min() >= 0 and found.max() < 4:
            unpack_csr("m", arrays)
        else:
            with pytest.raises(StoreError, match="columns"):
                unpack_csr("m", arrays)


@pytest.mark.parametrize("bad", [np.eye(2), None, "m", sp.coo_array(np.ones(3))])
def test_what_is_no_sparse_matrix_is_refused(bad):
    with pytest.raises(TacitError, match=r"m is of type .*, want a sparse matrix"):
        pack_csr("m", bad)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused_both_ways(value):
    with pytest.raises(TacitError, match="m: it contains NaN or infinity"):
        pack_csr("m", sp.csr_array(np.array([[value, 1.0]])))
    arrays = pack_csr("m", sp.csr_array(np.array([[2.0, 1.0]])))
    arrays["m/data"][0] = value
    with pytest.raises(StoreError, match="'m': it contains NaN or infinity"):
        unpack_csr("m", arrays)


INT64 = np.iinfo(np.int64)
#        0  1  2
#   row  a  .  b
#   row  .  .  .
#   row  .  c  .
GOOD = {
    "data": np.array([1.0, 2.0, 3.0]),
    "indices": np.array([0, 2, 1]),
    "indptr": np.array([0, 2, 2, 3]),
    "shape": np.array([3, 3]),
}


@pytest.mark.parametrize(
    ("part", "value", "match"),
    [
        ("indptr", [0, 2, 2, 4], "row limits do not rise from 0 to 3"),
        ("indptr", [1, 2, 2, 3], "row limits do not rise"),
        ("indptr", [0, 3, 2, 3], "row limits do not rise"),
        ("indptr", [0, -1, 2, 3], "row limits do not rise"),
        ("indptr", [0, INT64.max, -2, 3], "row limits do not rise"),
        ("indptr", [0, 2, 3], "3 row limits, want 4"),
        ("indptr", [], "0 row limits, want 4"),
        ("indices", [0, 3, 1], "columns from 0 to 3, want 0 to 2"),
        ("indices", [-1, 2, 1], "columns from -1"),
        ("indices", [0, INT64.max, 1], "columns from 0"),
        ("indices", [2, 0, 1], "columns do not rise within a row"),
        ("indices", [2, 2, 1], "columns do not rise within a row"),
        ("indices", [0, 2], "3 values for 2 columns"),
        ("data", [1.0, 2.0], "2 values for 3 columns"),
        ("shape", [-1, 3], "is impossible"),
        ("shape", [3, -3], "is impossible"),
        ("shape", [3, 0], "want 0 to -1"),
        ("shape", [2, 3], "4 row limits, want 3"),
        ("shape", [INT64.max, 3], "row limits, want 9223372036854775808"),
        ("shape", [3], "'m/shape' is int64 of shape"),
        ("shape", [3.0, 3.0], "'m/shape' is float64"),
        ("indices", [0.0, 2.0, 1.0], "'m/indices' is float64"),
        ("indptr", [[0, 2, 2, 3]], "'m/indptr' is int64 of shape"),
        ("indptr", np.array([0, 2, 2, 3], np.int32), "'m/indptr' is int32 .*, want int64"),
        ("data", [[1.0, 2.0, 3.0]], "'m/data' is float64 of shape"),
    ],
)
def test_matrices_that_would_be_read_out_of_bounds(part, value, match):
    value = np.array(value, np.int64) if np.size(value) == 0 else np.array(value)
    arrays = {f"m/{name}": array for name, array in {**GOOD, part: value}.items()}
    with pytest.raises(StoreError, match=match) as caught:
        unpack_csr("m", arrays)
    assert "'m" in str(caught.value)


def test_narrow_columns_bound_the_width():
    arrays = {f"m/{name}": array for name, array in GOOD.items()}
    arrays["m/indices"], arrays["m/indptr"] = GOOD["indices"].astype(np.int32), GOOD["indptr"].astype(np.int32)
    arrays["m/shape"] = np.array([3, 2**31])
    with pytest.raises(StoreError, match="a shape of 3 x 2147483648 is impossible"):
        unpack_csr("m", arrays)


@pytest.mark.parametrize("part", GOOD)
def test_missing_parts_are_named(part):
    arrays = {f"m/{name}": array for name, array in GOOD.items() if name != part}
    with pytest.raises(StoreError, match=f"array 'm/{part}' is missing"):
        unpack_csr("m", arrays)


@pytest.mark.parametrize("shape", [(2, None), (None, 4), (4, 3)])
def test_the_wanted_shape_is_checked(shape):
    arrays = {f"m/{name}": array for name, array in GOOD.items()}
    assert unpack_csr("m", arrays, shape=(3, None)).shape == (3, 3)
    with pytest.raises(StoreError, match="'m' is 3 x 3, want"):
        unpack_csr("m", arrays, shape=shape)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_what_is_taken_equals_a_plain_loop(data):
    """Small random arrays, mostly wrong: those that pass give the matrix that a careful loop gives."""
    small = st.lists(st.integers(-1, 3), max_size=4)
    indices, indptr = data.draw(small), [0, *data.draw(small)]
    n_rows, n_columns = len(indptr) - 1, data.draw(st.integers(0, 3))
    arrays = {
        "m/data": np.arange(1.0, len(indices) + 1),
        "m/indices": np.array(indices, np.int64),
        "m/indptr": np.array(indptr, np.int64),
        "m/shape": np.array([n_rows, n_columns]),
    }
    rows = [indices[a:b] for a, b in pairwise(indptr)]
    sound = (
        indptr == sorted(indptr)
        and indptr[-1] == len(indices)
        and all(0 <= column < n_columns for column in indices)
        and all(row == sorted(set(row)) for row in rows)
    )
    if not sound:
        with pytest.raises(StoreError):
            unpack_csr("m", arrays)
        return
    dense = np.zeros((n_rows, n_columns))
    for i, row in enumerate(rows):
        for j, column in enumerate(row):
            dense[i, column] = arrays["m/data"][indptr[i] + j]
    np.testing.assert_array_equal(unpack_csr("m", arrays).toarray(), dense)


@pytest.fixture
def matrix():
    return sp.random_array((7, 5), density=0.4, rng=np.random.default_rng(3), format="csr", dtype=np.float32)


def test_a_large_matrix_is_stored_by_columns_too_and_sorted_no_more(matrix, tmp_path):
    save_model(tmp_path, Stored("R", {}, pack_csr("m", matrix, by_column_from=1)))
    found = unpack_csr("m", load_model(tmp_path, mmap=True).arrays)
    assert not found.tocsc().data.flags.owndata
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found.tocsc(), part), getattr(matrix.tocsc(), part), strict=True)
    again = pack_csr("m", found, by_column_from=1)
    assert np.shares_memory(again["m/by_column/data"], found.tocsc().data)
    for changed, oracle in ((found[[4, 1]], matrix[[4, 1]]), (2 * found, 2 * matrix), (found.copy(), matrix)):
        np.testing.assert_array_equal(changed.tocsc().toarray(), oracle.toarray())
    assert unpack_csr("m", pack_csr("m", matrix, by_column_from=matrix.nnz + 1)).by_column is None


@pytest.mark.parametrize(
    ("part", "change", "match"),
    [
        ("indices", lambda a: np.where(a == a.max(), 7, a).astype(a.dtype), "'m/by_column': columns from 0 to 7"),
        ("indptr", lambda a: a[::-1].copy(), "'m/by_column': row limits do not rise"),
        ("indptr", lambda a: a[:-1], "'m/by_column': 5 row limits, want 6"),
        ("data", lambda a: np.full_like(a, np.nan), "NaN"),
        ("data", lambda a: a.astype(np.float64), "different entries by columns"),
    ],
)
def test_columns_that_would_be_read_out_of_bounds(matrix, part, change, match):
    arrays = pack_csr("m", matrix, by_column_from=1)
    arrays[f"m/by_column/{part}"] = change(arrays[f"m/by_column/{part}"])
    with pytest.raises(StoreError, match=match):
        unpack_csr("m", arrays)
