"""Damaged, truncated and hostile folders: StoreError in one line and nothing else, or the very same model."""

import hashlib
import json
import os
import shutil
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import StoreError
from tacit.store import Stored, header, load_model, save_model
from tacit.store.files import shown
from tacit.store.stored import digest_json

FILES = ["model.json", "arrays.safetensors"]


def refused(folder, match=None, **options):
    """Load must refuse, in one line that begins with the path."""
    with pytest.raises(StoreError, match=match) as caught:
        load_model(folder, **options)
    message = str(caught.value)
    assert message.startswith(str(folder))
    assert "\n" not in message
    assert len(message) < len(str(folder)) + 400
    return message


def check_damaged(folder, wanted, assert_same):
    for mmap in (False, True):
        try:
            loaded = load_model(folder, mmap=mmap)
        except StoreError:
            continue
        assert_same(loaded, wanted)


@pytest.fixture
def folder(tmp_path, model):
    save_model(tmp_path / "m", model)
    return tmp_path / "m"


@pytest.mark.parametrize("file", FILES)
def test_every_byte_flipped(folder, file, model, assert_same):
    path = folder / file
    whole = path.read_bytes()
    n_harmless = 0
    for place in range(len(whole)):
        mask = 0x20 if place % 3 else 0x01
        path.write_bytes(whole[:place] + bytes([whole[place] ^ mask]) + whole[place + 1 :])
        try:
            assert_same(load_model(folder), model)
            n_harmless += 1
        except StoreError:
            pass
    # Only spaces may change unseen, and an escape such as é that is spelled with a capital letter.
    assert n_harmless <= 2 + 4 * whole.count(b"\\u")


@pytest.mark.parametrize("file", FILES)
def test_cut_at_many_lengths(folder, file):
    whole = (folder / file).read_bytes()
    for length in (*range(0, len(whole), 7), *range(len(whole) - 40, len(whole))):
        (folder / file).write_bytes(whole[:length])
        refused(folder)


@pytest.fixture(scope="module")
def saved_bytes():
    with tempfile.TemporaryDirectory() as folder:
        model = Stored("R", {"a": [1, 2.5, "x"]}, {"f": np.arange(5.0), "b": np.array([True]), "e": np.empty((0, 2))})
        save_model(folder, model)
        yield model, {file: (Path(folder) / file).read_bytes() for file in FILES}


@given(file=st.sampled_from(FILES), data=st.data())
@settings(max_examples=200, deadline=None)
def test_any_bytes_replaced_by_any_others(saved_bytes, assert_same, file, data):
    model, contents = saved_bytes
    whole = contents[file]
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(len(whole), start + 20)))
    piece = data.draw(
        st.binary(max_size=20) | st.sampled_from([b"[" * 3000, b"9" * 5000, b'"', b"NaN", b"1e999", b"\0"])
    )
    with tempfile.TemporaryDirectory() as folder:
        for name in FILES:
            (Path(folder) / name).write_bytes(contents[name])
        (Path(folder) / file).write_bytes(whole[:start] + piece + whole[end:])
        check_damaged(folder, model, assert_same)


@given(st.binary(max_size=200), st.binary(max_size=200))
@settings(max_examples=60, deadline=None)
def test_any_bytes_at_all_are_refused(first, second):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "model.json").write_bytes(first)
        (Path(folder) / "arrays.safetensors").write_bytes(second)
        refused(folder)


def test_files_of_two_models_do_not_mix(folder, tmp_path, model):
    save_model(tmp_path / "n", Stored("R", {}, {"x": np.ones(3)}))
    shutil.copy(tmp_path / "n" / "arrays.safetensors", folder)
    refused(folder, "arrays of another model")


# --- forged folders: every checksum is right, and the content is not ---


def forge(folder, table=None, raw=None, data=b"", tensors=None, **changes):
    """Write a folder whose checksums agree with whatever it claims."""
    folder.mkdir(exist_ok=True)
    fields = {
        "format": "tacit-model",
        "format_version": 3,
        "tacit_version": "0.1.0",
        "class": "R",
        "parameters": {},
        "byte_order": "little",
        "arrays": table or {},
        "arrays_id": digest_json(table or {}),
        **changes,
    }
    fields = {key: value for key, value in fields.items() if value is not ...}
    fields.setdefault("sha256", digest_json(fields))
    (folder / "model.json").write_text(json.dumps(fields))
    header = (
        raw or json.dumps({"__metadata__": {"tacit_arrays_id": fields.get("arrays_id")}, **(tensors or {})}).encode()
    )
    header += b" " * (-len(header) % 8)
    (folder / "arrays.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + data)
    return folder


def entry(dtype="float64", shape=(2,), data=b"", sha256=None):
    return {"dtype": dtype, "shape": list(shape), "sha256": sha256 or hashlib.sha256(data).hexdigest()}


def tensor(dtype="F64", shape=(2,), offsets=(0, 16)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def test_the_forger_makes_good_folders_too(tmp_path):
    data = np.array([1.0, 2.0]).tobytes()
    folder = forge(tmp_path / "m", {"x": entry(data=data)}, data=data, tensors={"x": tensor()})
    assert load_model(folder).arrays["x"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("mmap", [False, True])
def test_a_claim_of_a_million_million_numbers_allocates_nothing(tmp_path, mmap):
    n = 10**12
    folder = forge(tmp_path / "m", {"x": entry(shape=(n,))}, tensors={"x": tensor(shape=(n,), offsets=(0, 8 * n))})
    tracemalloc.start()
    try:
        refused(folder, "bytes, want 8000000000", mmap=mmap)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "shape",
    [(-1,), (True,), (2.0,), ("2",), (None,), (10**4000,), (2**40, 2**40), (0, 2**70), (1,) * 40, ((2,),), [[[]]]],
)
def test_shapes_that_no_array_has(tmp_path, shape):
    tensors = {"x": tensor(shape=shape, offsets=(0, 0))}
    refused(forge(tmp_path / "m", {"x": entry(shape=shape)}, tensors=tensors), "array 'x': shape")


def test_wide_empty_arrays_are_arrays(tmp_path):
    shape = (0, 2**40)
    folder = forge(tmp_path / "m", {"x": entry(shape=shape)}, tensors={"x": tensor(shape=shape, offsets=(0, 0))})
    for mmap in (False, True):
        assert load_model(folder, mmap=mmap).arrays["x"].shape == shape


@pytest.mark.parametrize(
    "wrong",
    [
        entry(dtype="object"),
        entry(dtype="complex64"),
        entry(dtype="<f8"),
        entry(dtype=["float64"]),
        entry(sha256="0" * 63),
        entry(sha256="G" * 64),
        {**entry(), "extra": 1},
        {"dtype": "float64"},
        [],
        None,
    ],
)
def test_entries_that_are_none(tmp_path, wrong):
    refused(forge(tmp_path / "m", {"x": wrong}), "array 'x': ")


@pytest.mark.parametrize(
    "name", ["../x", "/etc/passwd", "a//b", "", ".x", "x/..", "a\nb", "a\0b", "x" * 300, "é", "\ud800"]
)
def test_array_names_that_are_none(tmp_path, name):
    refused(
        forge(tmp_path / "m", {name: entry(shape=(0,))}, tensors={name: tensor(shape=(0,), offsets=(0, 0))}), "name"
    )


@pytest.mark.parametrize(
    ("tensors", "match"),
    [
        ({}, "array 'x' is missing"),
        ({"x": tensor(), "y": tensor()}, "array 'y' is not in model.json"),
        ({"x": tensor(dtype="I64")}, "not laid out"),
        ({"x": tensor(shape=(1, 2))}, "not laid out"),
        ({"x": tensor(offsets=(0, 8))}, "not laid out"),
        ({"x": tensor(offsets=(16, 0))}, "not laid out"),
        ({"x": tensor(offsets=(-16, 0))}, "overlaps"),
        ({"x": tensor(offsets=(8, 24))}, "gap"),
        ({"x": tensor(offsets=(10**30, 10**30 + 16))}, "gap"),
        ({"x": tensor(offsets=(0.0, 16.0))}, "not laid out"),
        ({"x": tensor(offsets=(False, 16))}, "not laid out"),
        ({"x": tensor(offsets=())}, "not laid out"),
        ({"x": {**tensor(), "more": 1}}, "not laid out"),
        ({"x": None}, "not laid out"),
        ({"x": []}, "not laid out"),
    ],
)
def test_layouts_that_model_json_does_not_promise(tmp_path, tensors, match):
    refused(forge(tmp_path / "m", {"x": entry(data=bytes(16))}, data=bytes(16), tensors=tensors), match)


def test_arrays_that_overlap(tmp_path):
    table = {"x": entry(data=bytes(16)), "y": entry(data=bytes(16))}
    tensors = {"x": tensor(), "y": tensor(offsets=(8, 24))}
    refused(forge(tmp_path / "m", table, data=bytes(24), tensors=tensors), "array 'y' overlaps")
    refused(forge(tmp_path / "m", table, data=bytes(16), tensors={"x": tensor(), "y": tensor()}), "overlaps")


def test_numbers_that_are_not_aligned(tmp_path):
    table = {"b": entry("uint8", (1,), bytes(1)), "x": entry(data=bytes(16))}
    tensors = {"b": tensor("U8", (1,), (0, 1)), "x": tensor(offsets=(1, 17))}
    refused(forge(tmp_path / "m", table, data=bytes(17), tensors=tensors), "array 'x' overlaps .* or is not aligned")


@pytest.mark.parametrize("mmap", [False, True])
def test_bools_that_are_neither(tmp_path, mmap):
    folder = forge(
        tmp_path / "m", {"b": entry("bool", (2,), b"\1\2")}, data=b"\1\2", tensors={"b": tensor("BOOL", (2,), (0, 2))}
    )
    refused(folder, "array 'b' contains values other than true and false", mmap=mmap, verify=False)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"format": "other"}, "is not a tacit model: format is 'other'"),
        ({"format": ...}, "is not a tacit model: format is None"),
        ({"format": [[[1]]]}, "is not a tacit model"),
        ({"format_version": 4, "tacit_version": "9.1"}, r"format version 4, .* reads up to 3: it needs tacit '9\.1'"),
        ({"format_version": 10**4000}, "reads up to 3"),
        ({"format_version": 2}, "has format version 2, this tacit reads 3: fit it again"),
        ({"format_version": 0}, "format_version is 0"),
        ({"format_version": True}, "format_version is True"),
        ({"format_version": "1"}, "format_version is '1'"),
        ({"format_version": ...}, "format_version is None"),
        ({"class": ...}, "the key 'class' is missing"),
        ({"extra": 1}, "the key 'extra' is unknown"),
        ({"class": "os.system"}, "class, parameters or byte_order"),
        ({"class": None}, "class, parameters or byte_order"),
        ({"parameters": []}, "class, parameters or byte_order"),
        ({"byte_order": "big"}, "class, parameters or byte_order"),
        ({"arrays": []}, "arrays is"),
        ({"arrays_id": "x"}, "arrays_id does not belong"),
        ({"sha256": "0" * 64}, "is damaged"),
        ({"sha256": None}, "is damaged"),
        ({"sha256": [[]]}, "is damaged"),
    ],
)
def test_headers_that_are_not_ours(tmp_path, changes, match):
    refused(forge(tmp_path / "m", **changes), match)


def test_a_newer_format_may_have_other_keys(tmp_path):
    folder = forge(tmp_path / "m", format_version=7, tacit_version="3.0", arrays=..., sha256="later", more={})
    refused(folder, "it needs tacit '3.0'")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b'\xef\xbb\xbf{"format": "tacit-model"}',
        '{"format": "tacit-model"}'.encode("utf-16"),
        b'{"format": "tacit-model", "format": "tacit-model"}',
        b'{"format": "tacit-model", "x": NaN}',
        b'{"format": "tacit-model", "x": -Infinity}',
        b'{"format": "tacit-model", "x": 1e999}',
        b'{"format": "tacit-model", "format_version": 1%s}' % (b"0" * 5000),
        b'{"format": "tacit-model", "x": "\xff"}',
        b"[" * 10**6,
        b'{"a":' * 10**5,
        b'{"format": ' + b"[" * 10**6,
    ],
)
def test_json_that_is_none(folder, text):
    (folder / "model.json").write_bytes(text)
    refused(folder, "model.json: is (not valid JSON|not a tacit model)")
    with pytest.raises(StoreError, match="nothing was saved over it"):
        save_model(folder, Stored("R", {}, {}))
    assert (folder / "model.json").read_bytes() == text


@pytest.mark.parametrize("key", ["format", "parameters", "arrays", "class", "format_version", "tacit_version"])
def test_nesting_at_the_edge_of_pythons_stack(tmp_path, key):
    fields = json.loads((forge(tmp_path / "m") / "model.json").read_text())
    rest = json.dumps({name: value for name, value in fields.items() if name != key})
    for depth in (10, 300, 600, *range(850, 1010, 5), 5000):
        (tmp_path / "m" / "model.json").write_text(f'{{"{key}": {"[" * depth}{"]" * depth}, {rest[1:]}')
        refused(tmp_path / "m")


def test_values_too_deep_to_write_or_show():
    value = []
    for _ in range(10**5):
        value = [value]
    assert shown(value) == "a deeply nested list"
    with pytest.raises(StoreError, match="m: is nested too deeply"):
        header._digest("m", value)


@pytest.mark.parametrize(
    "raw",
    [
        b"[]      ",
        b"not json",
        b"[" * 10**6,
        b'{"x": ' + b"[" * 10**5,
        b'{"a": 1, "a": 1}',
        b'{"__metadata__": []}',
        b"{}",
    ],
)
def test_array_headers_that_are_none(tmp_path, raw):
    refused(forge(tmp_path / "m", raw=raw), "arrays.safetensors: ")


@pytest.mark.parametrize("length", [0, 1, 2**20, 2**62, 2**64 - 1])
def test_array_headers_of_false_length(folder, length):
    file = folder / "arrays.safetensors"
    file.write_bytes(length.to_bytes(8, "little") + file.read_bytes()[8:])
    refused(folder, f"a header of {length} bytes")


def test_a_model_json_beyond_the_limit_is_not_read(folder):
    os.truncate(folder / "model.json", 2**40)
    refused(folder, "has 1099511627776 bytes, want at most")


def test_an_array_beyond_all_memory_is_refused(folder, monkeypatch):
    def fail(*args):
        raise MemoryError

    monkeypatch.setattr(np, "empty", fail)
    refused(folder, "array 'ranker/item_vectors' needs 24 bytes of memory")
