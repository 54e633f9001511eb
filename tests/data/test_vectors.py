"""Files of vectors: every form gives the same rows, and every mistake is one line that names the file."""

import io
import json
import logging
from zipfile import ZipFile

import numpy as np
import pytest
from safetensors.numpy import save_file

from tacit.core import Collection, DataError, MissingExtraError
from tacit.data import read_vectors

VECTORS = np.arange(6.0).reshape(3, 2)
IDS = ["c", "b", "a"]
DOCS = Collection(["a", "b", "c"], [""] * 3, ["x", "y", "z"])


def write(path, vectors=VECTORS, ids=IDS, **options):
    """A file of the form that its suffix names; npy has no ids."""
    if path.suffix == ".npy":
        np.save(path, vectors)
    elif path.suffix == ".npz":
        np.savez(path, vectors=vectors, **({} if ids is None else {"names": np.array(ids)}))
    elif path.suffix == ".safetensors":
        metadata = None if ids is None else {"ids": json.dumps(ids)}
        save_file({"embeddings": np.ascontiguousarray(vectors)}, path, metadata=metadata)
    else:
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        column = options.get("column", "embedding")
        rows = vectors if isinstance(vectors, list | pa.Array) else vectors.tolist()
        pq.write_table(
            pa.table({**({} if ids is None else {"_id": ids}), "text": ["t"] * len(rows), column: rows}), path
        )
    return path


FORMS = [".npy", ".npz", ".safetensors", ".parquet"]


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_those_of_the_ids_or_in_the_order_of_the_texts(form, tmp_path):
    plain = read_vectors(write(tmp_path / f"plain{form}", ids=None), DOCS)
    assert plain.dtype == np.float32
    assert np.array_equal(plain, VECTORS)
    if form != ".npy":
        assert np.array_equal(read_vectors(write(tmp_path / f"named{form}"), DOCS), VECTORS[::-1])
        assert np.array_equal(read_vectors(tmp_path / f"named{form}"), VECTORS)


def test_parquet_of_fixed_lists_and_whole_numbers_as_ids(tmp_path):
    pa = pytest.importorskip("pyarrow")
    lists = pa.FixedSizeListArray.from_arrays(pa.array(VECTORS.ravel()), 2)
    path = write(tmp_path / "v.parquet", vectors=lists, ids=[3, 2, 1], column="any name")
    found = read_vectors(path, Collection(["1", "2", "3"], [""] * 3, ["x", "y", "z"]))
    assert np.array_equal(found, VECTORS[::-1])


@pytest.mark.parametrize("form", [".npz", ".safetensors"])
def test_other_types_of_numbers(form, tmp_path):
    for kind in (np.float16, np.int8, np.float64):
        found = read_vectors(write(tmp_path / f"v{form}", vectors=VECTORS.astype(kind)), DOCS)
        assert np.array_equal(found, VECTORS[::-1])


def test_unknown_and_missing_ids(tmp_path, caplog):
    more = write(tmp_path / "more.npz", vectors=np.ones((4, 2)), ids=["a", "b", "c", "d"])
    with pytest.raises(DataError, match=r"more.npz: 1 of 4 ids are unknown, the first is 'd'"):
        read_vectors(more, DOCS)
    with caplog.at_level(logging.WARNING, "tacit"):
        assert read_vectors(more, DOCS, skip_unknown=True).shape == (3, 2)
    assert "left out: vectors of unknown ids: 1" in caplog.text
    fewer = write(tmp_path / "fewer.npz", vectors=np.ones((1, 2)), ids=["b"])
    with pytest.raises(DataError, match=r"fewer.npz: has no vector of 2 of 3 texts, the first is 'a'"):
        read_vectors(fewer, DOCS)
    assert read_vectors(fewer, DOCS, partial=True).tolist() == [[0, 0], [1, 1], [0, 0]]
    other = write(tmp_path / "other.npz", vectors=np.ones((1, 2)), ids=["q"])
    with pytest.raises(DataError, match=r"other.npz: has no vector of 3 of 3 texts"):
        read_vectors(other, DOCS, partial=True, skip_unknown=True)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("damage", ["cut off", "empty", "text", "missing"])
def test_damaged_files(form, damage, tmp_path):
    path = write(tmp_path / f"v{form}")
    content = {"cut off": path.read_bytes()[:-20], "empty": b"", "text": b"a line of text\n" * 9, "missing": b""}[
        damage
    ]
    path.write_bytes(content)
    if damage == "missing":
        path.unlink()
    with pytest.raises(DataError, match=r"v\.\w+: (cannot be read: \S|there is no such file)") as error:
        read_vectors(path, DOCS)
    assert "\n" not in str(error.value)


def test_a_damaged_header(tmp_path):
    path = write(tmp_path / "v.npy")
    path.write_bytes(path.read_bytes().replace(b"(3, 2)", b"(3, 2 "))
    with pytest.raises(DataError, match="v.npy: cannot be read"):
        read_vectors(path, DOCS)
    path.write_bytes(write(path).read_bytes().replace(b"(3, 2), }            ", b"(3000000000, 200), } "))
    with pytest.raises(DataError, match="v.npy: cannot be read"):
        read_vectors(path, DOCS)


EIGHT_BITS = b'{"v": {"dtype": "F8_E4M3", "shape": [3, 2], "data_offsets": [0, 6]}}'  # numpy has no such numbers


def test_hostile_headers(tmp_path):
    whole = write(tmp_path / "v.npy").read_bytes()
    ids = np.array(["a", "b", "c"])
    files = {
        "v.npy": whole.replace(b"(3, 2), }   ", b"(True, 2), }"),
        "v.npz": zipped({"v.npy": whole, "ids.npy": npy(ids).replace(ids.tobytes(), b"\xff" * 12)}),
        "only.npz": zipped({"note.txt": b"no array"}),
        "v.safetensors": len(EIGHT_BITS).to_bytes(8, "little") + EIGHT_BITS + b"\0" * 6,
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=name) as error:
            read_vectors(tmp_path / name, DOCS)
        assert "\n" not in str(error.value)
    (tmp_path / "note.npz").write_bytes(zipped({"v.npy": whole, "note.txt": b"no array"}))
    assert read_vectors(tmp_path / "note.npz", DOCS).shape == (3, 2)


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def zipped(members):
    out = io.BytesIO()
    with ZipFile(out, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "vectors", "ids", "message"),
    [
        ("v.npy", np.array([[1, "a"]], object), None, "cannot be read: .*objects"),
        ("v.npz", np.array([[1, "a"]], object), None, "cannot be read: .*objects"),
        ("v.npy", np.ones(3), None, r"has float64 of shape \(3,\), want numbers of shape \(rows, dim\)"),
        ("v.npy", np.array([["a"]]), None, "has <U1 of shape"),
        ("v.npy", np.ones((3, 0)), None, r"of shape \(3, 0\)"),
        ("v.npy", np.ones((2, 2)), None, "no ids; vectors: 2, want 3, one for each text"),
        ("v.npy", np.array([[1.0], [np.nan], [1.0]]), None, "row 1 contains NaN or infinity"),
        ("v.npy", np.full((3, 1), 1e300), None, "row 0 contains NaN or infinity"),
        ("v.npz", np.array([[1.0], [np.inf], [1.0]]), IDS, "the vector of 'b' contains NaN or infinity"),
        ("v.npz", np.ones((3, 1)), ["a", "b", "b"], "id 'b' occurs more than once"),
        ("v.npz", np.ones((3, 1)), ["a", "b"], "vectors: 3, ids: 2"),
        ("v.safetensors", np.ones((3, 1)), ["a", "b"], "vectors: 3, ids: 2"),
        ("v.safetensors", np.ones((3, 1)), {"a": 1}, '"ids" of the metadata is not a JSON list'),
        ("v.parquet", ["no", "list", "here"], IDS, "has 0 columns of lists of numbers, want 1"),
        ("v.parquet", [[1.0, 2.0], [1.0], [2.0, 3.0]], IDS, "has vectors of 1 to 2 numbers"),
        ("v.parquet", [[1.0], None, [2.0]], IDS, "has rows without a vector"),
        ("v.parquet", [[1.0], [None], [2.0]], IDS, "the vector of 'b' contains NaN"),
        ("v.parquet", [["x"], ["y"], ["z"]], IDS, "has object of shape"),
    ],
)
def test_wrong_content(name, vectors, ids, message, tmp_path):
    path = write(tmp_path / name, vectors, ids)
    with pytest.raises(DataError, match=f"{name}: .*{message}"):
        read_vectors(path, DOCS)


def test_files_with_more_than_one_array(tmp_path):
    np.savez(tmp_path / "v.npz", a=VECTORS, b=VECTORS)
    save_file({"a": VECTORS, "b": VECTORS}, tmp_path / "v.safetensors")
    for name in ("v.npz", "v.safetensors"):
        with pytest.raises(DataError, match="has 2 .* of two dimensions, want 1"):
            read_vectors(tmp_path / name, DOCS)


def test_other_suffixes(tmp_path):
    for name in ("v.txt", "v.npy.gz", "v"):
        with pytest.raises(DataError, match=r"want one of .npy, .npz, .safetensors, .parquet"):
            read_vectors(tmp_path / name, DOCS)


def test_parquet_without_pyarrow_says_how_to_install_it(tmp_path, monkeypatch):
    path = write(tmp_path / "v.parquet")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tacit-rank\[parquet\]'"):
        read_vectors(path, DOCS)
