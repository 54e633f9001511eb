"""Values that are not plain arrays as named arrays, and back: nested models, strings, texts of documents, sparse rows.

Arrays of a nested model have its name as prefix ("ranker/items"). Everything is checked on reading, because compiled
loops trust every number.

Strings are two arrays: `bytes` (UTF-8 end to end) and `offsets`, where string i is `bytes[offsets[i]:offsets[i + 1]]`;
strings are decoded on access. Texts of documents are compressed blocks (`core.texts`).

A sparse matrix is four arrays: `data`, `indices`, `indptr` (the CSR format) and `shape`. Row i has the columns
`indices[indptr[i]:indptr[i + 1]]`, ascending, with the values at the same positions in `data`. A large matrix is also
stored by columns (the same arrays of its transpose, below "by_column"), because a search reads postings of words, and
sorting the entries would take seconds at every start.
"""

from __future__ import annotations

import codecs
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import StoreError, TacitError
from tacit.core.texts import LazyTexts, TextBlocks, TextWriter
from tacit.store.stored import DTYPES

SPARSE_DTYPES = tuple(name for name in DTYPES if name != "float16")  # scipy has no sparse arrays of 16 bits
BLOCK = 1 << 20  # numbers checked together
BY_COLUMN_FROM = 10_000_000  # minimum number of entries
_CHUNK = 2**20  # bytes decoded together


def with_prefix(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays of a nested model with a prefix.

    >>> with_prefix("ranker", {"items": np.zeros(1)})
    {'ranker/items': array([0.])}
    """
    return {f"{prefix}/{name}": array for name, array in arrays.items()}


def without_prefix(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays below a prefix, with their names in the nested model; all others are left out.

    >>> without_prefix("ranker", {"ranker/items": np.zeros(1), "ids": np.ones(1)})
    {'items': array([0.])}
    """
    start = f"{prefix}/"
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def take_array(
    arrays: Mapping[str, np.ndarray],
    name: str,
    *,
    dtype: str | Collection[str],
    shape: tuple[int | None, ...],
    finite: bool = True,
) -> np.ndarray:
    """Return the array with that name if compiled code can rely on it; None in shape means any length.

    >>> take_array({"w": np.zeros((3, 2))}, "w", dtype="float64", shape=(None, 4))
    Traceback (most recent call last):
    tacit.core.errors.StoreError: array 'w' is float64 of shape (3, 2), want float64 of shape (any, 4)
    """
    if name not in arrays:
        raise StoreError(f"array {name!r} is missing")
    array = arrays[name]
    dtypes = [dtype] if isinstance(dtype, str) else list(dtype)
    fits = len(shape) == array.ndim and all(want in (None, got) for want, got in zip(shape, array.shape, strict=True))
    if array.dtype.name not in dtypes or not fits:
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise StoreError(
            f"array {name!r} is {array.dtype.name} of shape {array.shape}, "
            f"want {' or '.join(dtypes)} of shape ({wanted}{',' if len(shape) == 1 else ''})"
        )
    if finite and not is_finite(array):
        raise StoreError(f"array {name!r} contains NaN or infinity")
    return array


def is_finite(array: np.ndarray) -> bool:
    """Return whether all numbers are finite, using the memory of a block."""
    if array.dtype.kind != "f":
        return True
    flat = array.reshape(-1)
    return all(bool(np.isfinite(flat[first : first + BLOCK]).all()) for first in range(0, len(flat), BLOCK))


class StringTable(LazyTexts):
    """A sequence of strings that decodes each one on access.

    bytes: uint8; offsets: int64 (n_strings + 1). Equal to any sequence of the same strings.

    >>> table = unpack_strings("ids", pack_strings("ids", ["a", "", "日本"]))
    >>> table[-1], len(table), list(table[:2]), table == ["a", "", "日本"]
    ('日本', 3, ['a', ''], True)
    """

    def __init__(self, data: np.ndarray, offsets: np.ndarray) -> None:
        self.bytes, self.offsets = data, offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def _text(self, row: int) -> str:
        return str(self.bytes[self.offsets[row] : self.offsets[row + 1]].data, "utf-8")

    def __iter__(self) -> Iterator[str]:
        data, start = self.bytes.data, 0
        for end in map(int, self.offsets[1:]):
            yield str(data[start:end], "utf-8")
            start = end

    def __repr__(self) -> str:
        return f"StringTable({len(self)} strings, {self.bytes.size} bytes)"


def pack_strings(prefix: str, strings: Iterable[str]) -> dict[str, np.ndarray]:
    """Return arrays `prefix/bytes` (uint8) and `prefix/offsets` (int64).

    >>> sorted(pack_strings("ids", ["a", "bc"])), pack_strings("ids", ["a", "bc"])["ids/offsets"].tolist()
    (['ids/bytes', 'ids/offsets'], [0, 1, 3])
    """
    encoded = [_encode(prefix, number, text) for number, text in enumerate(strings)]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(part) for part in encoded], out=offsets[1:])
    data = np.frombuffer(b"".join(encoded), np.uint8)
    return with_prefix(prefix, {"bytes": data, "offsets": offsets})


def unpack_strings(prefix: str, arrays: Mapping[str, np.ndarray], *, length: int | None = None) -> StringTable:
    """Return the strings below a prefix; raise StoreError unless all can be decoded (and there are `length`)."""
    data = take_array(arrays, f"{prefix}/bytes", dtype="uint8", shape=(None,))
    n_offsets = None if length is None else length + 1
    offsets = take_array(arrays, f"{prefix}/offsets", dtype="int64", shape=(n_offsets,))
    # Neighbours are compared and not subtracted, because a difference can overflow.
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(data) or (offsets[1:] < offsets[:-1]).any():
        raise StoreError(f"array '{prefix}/offsets' does not rise from 0 to the {len(data)} bytes of its strings")
    fault = _utf8_fault(data, offsets)
    if fault:
        raise StoreError(f"array '{prefix}/bytes' is not UTF-8: {fault}")
    return StringTable(data, offsets)


def _encode(prefix: str, number: int, text: object) -> bytes:
    if not isinstance(text, str):
        raise TacitError(f"{prefix}: string {number} is of type {type(text).__name__}, want str")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise TacitError(f"{prefix}: string {number} cannot be written as UTF-8: {error.reason}") from error


def _utf8_fault(data: np.ndarray, offsets: np.ndarray) -> str | None:
    """Check that the bytes are valid as a whole and split only at characters: then every string is valid."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(data), _CHUNK):
            decoder.decode(data[start : start + _CHUNK].data)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        return error.reason
    cuts = data[offsets[offsets < len(data)]]
    return "a string begins within a character" if ((cuts & 0xC0) == 0x80).any() else None


def pack_texts(prefix: str, texts: Sequence[str]) -> dict[str, np.ndarray]:
    """Return arrays `prefix/blocks`, `prefix/starts`, `prefix/rows` and `prefix/ends`.

    >>> sorted(pack_texts("texts", ["they purr"]))
    ['texts/blocks', 'texts/ends', 'texts/rows', 'texts/starts']
    """
    if not isinstance(texts, TextBlocks):
        writer = TextWriter(memory=0)
        writer.extend(texts)
        texts = writer.finish()
    assert isinstance(texts, TextBlocks)
    parts = {"blocks": texts.blocks, "starts": texts.starts, "rows": texts.rows, "ends": texts.ends}
    return with_prefix(prefix, parts)


def unpack_texts(prefix: str, arrays: Mapping[str, np.ndarray]) -> TextBlocks:
    """Return the texts below a prefix; each block is checked when it is read."""
    blocks = take_array(arrays, f"{prefix}/blocks", dtype="uint8", shape=(None,))
    starts = take_array(arrays, f"{prefix}/starts", dtype="int64", shape=(None,))
    rows = take_array(arrays, f"{prefix}/rows", dtype="int64", shape=(len(starts),))
    ends = take_array(arrays, f"{prefix}/ends", dtype="int64", shape=(None,))
    for name, limits, total in (("starts", starts, len(blocks)), ("rows", rows, len(ends))):
        if not len(limits) or limits[0] != 0 or limits[-1] != total or (limits[1:] <= limits[:-1]).any():
            raise StoreError(f"array '{prefix}/{name}' does not rise from 0 to {total}")
    return TextBlocks(blocks, starts, rows, ends)


class StoredRows(sp.csr_array):  # type: ignore[misc]
    """A sparse matrix from a model. If its columns are stored too, `tocsc` returns them without sorting."""

    by_column: sp.csc_array | None = None

    def tocsc(self, copy: bool = False) -> sp.csc_array:
        """Return the matrix by columns."""
        return super().tocsc(copy) if copy or self.by_column is None else self.by_column


def pack_csr(prefix: str, matrix: Any, by_column_from: int = BY_COLUMN_FROM) -> dict[str, np.ndarray]:
    """Return arrays of a sparse matrix of any format; rows are sorted and duplicate entries summed.

    A matrix of `by_column_from` entries or more is also stored by columns.

    >>> arrays = pack_csr("tfidf", sp.csr_array(np.eye(2)))
    >>> sorted(arrays), unpack_csr("tfidf", arrays).toarray().tolist()
    (['tfidf/data', 'tfidf/indices', 'tfidf/indptr', 'tfidf/shape'], [[1.0, 0.0], [0.0, 1.0]])
    """
    if not sp.issparse(matrix) or matrix.ndim != 2:
        raise TacitError(f"{prefix} is of type {type(matrix).__name__}, want a sparse matrix with two dimensions")
    rows = sp.csr_array(matrix)
    if not rows.has_canonical_format:
        rows = rows.copy()  # the constructor above shares the caller's arrays
        rows.sum_duplicates()
    parts = _plain_parts(rows) | {"shape": np.array(rows.shape, np.int64)}
    fault = _csr_fault(*parts.values())
    if fault:
        raise TacitError(f"{prefix}: {fault}")
    if rows.nnz >= by_column_from:
        known = isinstance(matrix, StoredRows) and matrix.by_column is not None
        parts |= with_prefix("by_column", _plain_parts((matrix if known else rows).tocsc()))
    return with_prefix(prefix, parts)


def _plain_parts(matrix: Any) -> dict[str, np.ndarray]:
    """Return the three arrays of a CSR or CSC matrix, with indices of one type."""
    index_type = np.result_type(matrix.indices, matrix.indptr)
    indices, indptr = (part.astype(index_type, copy=False) for part in (matrix.indices, matrix.indptr))
    return {"data": matrix.data, "indices": indices, "indptr": indptr}


def unpack_csr(
    prefix: str,
    arrays: Mapping[str, np.ndarray],
    *,
    shape: tuple[int | None, int | None] = (None, None),
    dtype: Collection[str] = SPARSE_DTYPES,
) -> sp.csr_array:
    """Return the sparse matrix below a prefix, without copying; raise StoreError unless it is valid."""
    size = take_array(arrays, f"{prefix}/shape", dtype="int64", shape=(2,))
    parts = _take_parts(prefix, arrays, size, dtype)
    n_rows, n_columns = size.tolist()
    if shape[0] not in (None, n_rows) or shape[1] not in (None, n_columns):
        wanted = " x ".join("any" if length is None else str(length) for length in shape)
        raise StoreError(f"array '{prefix}' is {n_rows} x {n_columns}, want {wanted}")
    matrix = _filled(StoredRows, (n_rows, n_columns), parts)
    if f"{prefix}/by_column/data" in arrays:
        turned = _take_parts(f"{prefix}/by_column", arrays, size[::-1], dtype)
        if len(turned[0]) != len(parts[0]) or turned[0].dtype != parts[0].dtype:
            raise StoreError(f"array '{prefix}' has different entries by columns and by rows")
        matrix.by_column = _filled(sp.csc_array, (n_rows, n_columns), turned)
    return matrix


def _take_parts(
    prefix: str, arrays: Mapping[str, np.ndarray], shape: np.ndarray, dtype: Collection[str]
) -> tuple[np.ndarray, ...]:
    """Return checked values, columns and row limits."""
    data = take_array(arrays, f"{prefix}/data", dtype=dtype, shape=(None,), finite=False)
    indices = take_array(arrays, f"{prefix}/indices", dtype=("int32", "int64"), shape=(None,))
    indptr = take_array(arrays, f"{prefix}/indptr", dtype=indices.dtype.name, shape=(None,))
    fault = _csr_fault(data, indices, indptr, shape)
    if fault:
        raise StoreError(f"array '{prefix}': {fault}")
    return data, indices, indptr


def _filled(kind: Any, shape: tuple[int, int], parts: tuple[np.ndarray, ...]) -> Any:
    """Make a matrix of these arrays by setting them, because the constructor copies small parts of a mapped file."""
    matrix = kind(shape, dtype=parts[0].dtype)
    matrix.data, matrix.indices, matrix.indptr = parts
    matrix.has_canonical_format = True  # already checked; otherwise every user would check again
    return matrix


def _csr_fault(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: np.ndarray) -> str | None:
    """Return the problem of a matrix, or None. Neighbours are compared, never subtracted, to avoid overflow."""
    n_rows, n_columns = shape.tolist()
    if n_rows < 0 or not 0 <= n_columns <= np.iinfo(indices.dtype).max:
        return f"a shape of {n_rows} x {n_columns} is impossible"
    if len(data) != len(indices):
        return f"{len(data)} values for {len(indices)} columns"
    if len(indptr) != n_rows + 1:
        return f"{len(indptr)} row limits, want {n_rows + 1}"
    if indptr[0] != 0 or indptr[-1] != len(indices) or (indptr[1:] < indptr[:-1]).any():
        return f"row limits do not rise from 0 to {len(indices)}"
    for first in range(0, len(indices), BLOCK):
        block = indices[first : first + BLOCK]
        if block.min() < 0 or block.max() >= n_columns:
            return f"columns from {block.min()} to {block.max()}, want 0 to {n_columns - 1}"
    if not _rise_within_rows(indices, indptr):
        return "columns do not rise within a row"
    return None if is_finite(data) else "it contains NaN or infinity"


def _rise_within_rows(indices: np.ndarray, indptr: np.ndarray) -> bool:
    """Return whether columns ascend, except from the end of one row to the start of the next."""
    for first in range(0, len(indices) - 1, BLOCK):
        block = indices[first : first + BLOCK + 1]
        rises = block[1:] > block[:-1]
        if rises.all():
            continue
        low, high = np.searchsorted(indptr, (first + 1, first + len(block)))
        rises[indptr[low:high] - first - 1] = True
        if not rises.all():
            return False
    return True
