"""Files of dense vectors, one for each document or query: npy, npz, safetensors, parquet.

A file without ids has its rows in the order of the documents. With ids, rows may be in any order:

npy           one array; no ids
npz           one array of two dimensions, and ids as an array of one dimension
safetensors   one tensor of two dimensions, and ids as a JSON list under "ids" in the metadata
parquet       a column of lists of numbers, and ids in a column `id` or `_id`

Only plain numbers are read: an array of Python objects is refused.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from tacit.core import Collection, DataError, MissingExtraError, checked
from tacit.data.columns import logger
from tacit.data.files import FilePath, split_suffix

ID_COLUMNS = ("id", "_id")
VECTOR_COLUMNS = ("vector", "vectors", "embedding", "embeddings")
NO_NUMBERS = "it is truncated, contains Python objects or is not a file of this kind, want plain numbers"


class VectorFile(NamedTuple):
    """Vectors of a file, and their ids if it has any."""

    vectors: np.ndarray
    ids: list[str] | None


@checked
def read_vectors(
    path: FilePath, texts: Collection | None = None, *, skip_unknown: bool = False, partial: bool = False
) -> np.ndarray:
    """Read vectors in the order of documents or queries.

    Parameters
    ----------
    path : path
        npy, npz, safetensors or parquet file; see the module docstring for its form.
    texts : Collection or None, default=None
        Texts of the vectors; None returns the rows of the file unchanged.
    skip_unknown : bool, default=False
        Skip vectors with an id that is not in `texts` and log their number, instead of raising an error.
    partial : bool, default=False
        Permit texts without a vector in a file with ids; their rows hold 0. At least one must have a vector.

    Returns
    -------
    ndarray of shape (n_texts, dim), float32
    """
    read = _READERS.get(split_suffix(path)[0] if split_suffix(path)[1] == "" else "")
    if read is None:
        raise DataError(f"does not have a suffix of vector files, want one of {', '.join(_READERS)}", path=path)
    if not Path(path).is_file():
        raise DataError("there is no such file", path=path)
    try:
        found = read(path)
    except _DAMAGE as error:
        raise DataError(f"cannot be read: {' '.join(str(error).split())}", path=path) from None
    vectors = _check(found, path)
    if texts is None:
        return vectors
    return _in_order(found._replace(vectors=vectors), texts, path, skip_unknown, partial)


def _check(found: VectorFile, path: FilePath) -> np.ndarray:
    """Return the vectors as float32; raise unless they are finite numbers with unique ids."""
    given = found.vectors
    if given.ndim != 2 or given.dtype.kind not in "fiu" or not given.shape[1]:
        raise DataError(f"has {given.dtype} of shape {given.shape}, want numbers of shape (rows, dim)", path=path)
    with np.errstate(over="ignore"):
        vectors = np.ascontiguousarray(given, np.float32)
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        name = f"row {bad[0]}" if found.ids is None else f"the vector of {found.ids[bad[0]]!r}"
        raise DataError(f"{name} contains NaN or infinity (counted as float32), want finite numbers", path=path)
    if found.ids is None:
        return vectors
    if len(found.ids) != len(vectors):
        raise DataError(f"vectors: {len(vectors)}, ids: {len(found.ids)}; want the same number", path=path)
    if len(set(found.ids)) < len(found.ids):
        twice = next(name for name, n_times in Counter(found.ids).items() if n_times > 1)
        raise DataError(f"id {twice!r} occurs more than once, want unique ids", path=path)
    return vectors


def _in_order(found: VectorFile, texts: Collection, path: FilePath, skip_unknown: bool, partial: bool) -> np.ndarray:
    """Return one row for each text."""
    vectors, ids = found
    if ids is None:
        if len(vectors) != len(texts):
            raise DataError(f"no ids; vectors: {len(vectors)}, want {len(texts)}, one for each text", path=path)
        return vectors
    row_of = {name: row for row, name in enumerate(ids)}
    unknown = [name for name in ids if name not in texts.row_of]
    missing = [name for name in texts.ids if name not in row_of]
    if len(missing) == len(texts) or (missing and not partial):
        raise DataError(
            f"has no vector of {len(missing)} of {len(texts)} texts, the first is {missing[0]!r}", path=path
        )
    if unknown and not skip_unknown:
        raise DataError(
            f"{len(unknown)} of {len(ids)} ids are unknown, the first is {unknown[0]!r}, want ids of the texts",
            path=path,
        )
    if unknown:
        logger.warning("%s: left out: vectors of unknown ids: %d", path, len(unknown))
    made = np.zeros((len(texts), vectors.shape[1]), np.float32)
    rows = np.array([row_of.get(name, -1) for name in texts.ids], np.int64)
    made[rows >= 0] = vectors[rows[rows >= 0]]
    return made


def _read_npy(path: FilePath) -> VectorFile:
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError:
        raise OSError(NO_NUMBERS) from None
    if not isinstance(found, np.ndarray):
        raise OSError("it is not an npy file")
    return VectorFile(found, None)


def _read_npz(path: FilePath) -> VectorFile:
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
            arrays = {name: array for name, array in arrays.items() if isinstance(array, np.ndarray)}
    except (ValueError, AttributeError, TypeError):  # a plain npy file is not a context manager and has no names
        raise OSError(NO_NUMBERS) from None
    vectors = _only([array for array in arrays.values() if array.ndim == 2], "arrays of two dimensions", path)
    ids = [array for array in arrays.values() if array.ndim == 1 and array.dtype.kind in "USiu"]
    return VectorFile(vectors, _texts(_only(ids, "arrays of ids", path).tolist()) if ids else None)


def _read_safetensors(path: FilePath) -> VectorFile:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no dictionary
            ids = json.loads((file.metadata() or {}).get("ids", "null"))
    except (SafetensorError, TypeError, ValueError) as error:  # numpy has no bfloat16: a TypeError
        raise OSError(str(error)) from None
    vectors = _only([tensor for tensor in tensors.values() if tensor.ndim == 2], "tensors of two dimensions", path)
    if ids is not None and not isinstance(ids, list):
        raise DataError('"ids" of the metadata is not a JSON list', path=path)
    return VectorFile(vectors, None if ids is None else _texts(ids))


def _read_parquet(path: FilePath) -> VectorFile:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError(f"{path}: a parquet file", "pyarrow", "parquet") from None
    try:
        schema = pq.read_schema(path)
        lists = [
            field.name
            for field in schema
            if (pa.types.is_list(field.type) or pa.types.is_large_list(field.type))
            or pa.types.is_fixed_size_list(field.type)
        ]
        name = _only([name for name in lists if name in VECTOR_COLUMNS] or lists, "columns of lists of numbers", path)
        columns = [name, *[column for column in ID_COLUMNS if column in schema.names][:1]]
        table = pq.read_table(path, columns=columns)
    except pa.ArrowException as error:
        raise OSError(str(error)) from None
    ids = None if len(columns) == 1 else _texts(table[columns[1]].to_pylist())
    return VectorFile(_from_lists(table[name].combine_chunks(), path), ids)


def _from_lists(column: Any, path: FilePath) -> np.ndarray:
    """Return lists of one length as rows."""
    lengths = np.unique(column.value_lengths().fill_null(-1).to_numpy(zero_copy_only=False))
    if column.null_count or len(lengths) > 1:
        found = "rows without a vector" if column.null_count else f"vectors of {lengths[0]} to {lengths[-1]} numbers"
        raise DataError(f"has {found}, want vectors of one length", path=path)
    values = column.flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(column), int(lengths[0]) if len(lengths) else 0)


def _only(found: Sequence[Any], what: str, path: FilePath) -> Any:
    if len(found) != 1:
        raise DataError(f"has {len(found)} {what}, want 1", path=path)
    return found[0]


def _texts(ids: Sequence[Any]) -> list[str]:
    return [name.decode() if isinstance(name, bytes) else str(name) for name in ids]


# Exceptions of the libraries for damaged files, including a size that exceeds memory.
_DAMAGE = (
    *(OSError, BadZipFile, EOFError, KeyError, MemoryError, RuntimeError, UnicodeDecodeError, zlib.error, TokenError),
    TypeError,  # a shape that is not of integers
    AttributeError,  # a number type that numpy does not have
    SystemError,  # characters beyond Unicode
)
_READERS: dict[str, Callable[[FilePath], VectorFile]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".safetensors": _read_safetensors,
    ".parquet": _read_parquet,
}
