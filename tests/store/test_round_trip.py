"""What is saved is what is loaded, to the last bit; what cannot be kept is refused with its name."""

import enum
import os
import stat
import tempfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import load_file

from tacit.core import StoreError, TacitError
from tacit.store import Stored, arrays, load_model, save_model
from tacit.store.stored import DTYPES

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**1000), 2**1000)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
NAMES = st.from_regex(r"[A-Za-z0-9_]{1,8}(/[A-Za-z0-9_][A-Za-z0-9_.-]{0,8}){0,2}", fullmatch=True)
ARRAYS = st.one_of(
    hnp.arrays(np.dtype(name).newbyteorder(order), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    for name in DTYPES
    for order in "<>"
)


def exact_types(value):
    """The value with every type spelled out: 1, 1.0 and True are equal in Python and not in JSON."""
    if isinstance(value, dict):
        return [(key, exact_types(entry)) for key, entry in value.items()]
    if isinstance(value, list):
        return [exact_types(entry) for entry in value]
    return type(value), repr(value)


@given(params=st.dictionaries(TEXT, JSON, max_size=4), arrays=st.dictionaries(NAMES, ARRAYS, max_size=4))
@settings(max_examples=60, deadline=None)
def test_loads_what_was_saved(params, arrays, assert_same):
    model = Stored("Ranker", params, arrays)
    with tempfile.TemporaryDirectory() as folder:
        save_model(folder, model)
        for mmap in (False, True):
            loaded = load_model(folder, mmap=mmap)
            assert_same(loaded, model)
            assert exact_types(loaded.params) == exact_types(params)


def test_any_memory_layout_is_kept_by_value(tmp_path, assert_same):
    table = np.arange(24, dtype=np.float64).reshape(4, 6)
    arrays = {
        "transposed": table.T,
        "strided": table[::2, ::-3],
        "fortran": np.asfortranarray(table),
        "big_endian": table.astype(">f8"),
        "scalar": np.array(5, np.int32),
        "broadcast": np.broadcast_to(np.float32(2), (3, 2)),
    }
    save_model(tmp_path / "m", Stored("Ranker", {}, arrays))
    for mmap in (False, True):
        loaded = load_model(tmp_path / "m", mmap=mmap)
        assert_same(loaded, Stored("Ranker", {}, {name: np.array(array, order="C") for name, array in arrays.items()}))
        assert all(array.flags.c_contiguous and array.flags.aligned for array in loaded.arrays.values())


def test_the_safetensors_library_reads_the_same_arrays(tmp_path, model):
    save_model(tmp_path / "m", model)
    for name, array in load_file(tmp_path / "m" / "arrays.safetensors").items():
        np.testing.assert_array_equal(array, model.arrays[name], strict=True)


def test_the_folder_holds_two_files_with_the_same_bytes_every_time(tmp_path, model):
    for name in ("one", "two"):
        save_model(tmp_path / name, model)
        assert sorted(os.listdir(tmp_path / name)) == ["arrays.safetensors", "model.json"]
    for file in ("arrays.safetensors", "model.json"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_what_is_written_to_arrays_does_not_reach_the_file(tmp_path, model, assert_same):
    save_model(tmp_path / "m", model)
    copied, mapped = load_model(tmp_path / "m"), load_model(tmp_path / "m", mmap=True)
    copied.arrays["ranker/item_vectors"][0, 0] = 9
    mapped.arrays["ranker/item_vectors"][0, 0] = 9
    assert type(mapped.arrays["ranker/item_vectors"]) is np.ndarray
    assert_same(load_model(tmp_path / "m"), model)


def test_a_mapped_model_can_be_saved_over_itself(tmp_path, model, assert_same):
    save_model(tmp_path / "m", model)
    mapped = load_model(tmp_path / "m", mmap=True)
    save_model(tmp_path / "m", Stored("Other", {}, mapped.arrays))
    assert_same(load_model(tmp_path / "m"), Stored("Other", {}, model.arrays))
    assert_same(mapped, model)  # still the old file behind it


def test_an_unverified_map_skips_only_the_checksums_of_large_arrays(tmp_path, monkeypatch):
    save_model(tmp_path / "m", Stored("Ranker", {}, {"x": np.zeros(4)}))
    file = tmp_path / "m" / "arrays.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"\x01")
    with pytest.raises(StoreError, match="checksum of array .* does not match"):
        load_model(tmp_path / "m", mmap=True, verify=False)
    monkeypatch.setattr(arrays, "SMALL_BYTES", 0)
    assert load_model(tmp_path / "m", mmap=True, verify=False).arrays["x"][-1] != 0
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(TacitError, match="bytes, want"):
        load_model(tmp_path / "m", mmap=True, verify=False)


def test_numpy_numbers_become_json_numbers(tmp_path):
    save_model(tmp_path / "m", Stored("R", {"a": np.int64(3), "b": np.float32(0.1), "c": np.bool_(True)}, {}))
    assert load_model(tmp_path / "m").params == {"a": 3, "b": float(np.float32(0.1)), "c": True}


class Colour(enum.Enum):
    RED = 1


def nested(levels):
    value = 0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (float("nan"), "params.a is nan"),
        ([1, float("inf")], r"params.a\[1\] is inf"),
        ({"b": (1, 2)}, "params.a.b is of type tuple"),
        ({1: 2}, "params.a has the key 1"),
        (Colour.RED, "type Colour"),
        (np.zeros(2), "type ndarray"),
        (b"x", "type bytes"),
        (1 << 5000, "5001 bits"),
        ("\ud83d\ude00", "UTF-8"),
        ({"\ud83d": 1}, "UTF-8"),
        (np.datetime64("2020-01-01"), "type date"),
        (nested(60), "nested deeper"),
    ],
)
def test_parameters_that_json_cannot_keep_are_named(tmp_path, value, named):
    with pytest.raises(TacitError, match=named) as caught:
        save_model(tmp_path / "m", Stored("R", {"a": value}, {}))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "m").exists()


def test_parameters_that_hold_themselves_are_refused(tmp_path):
    params = {}
    params["self"] = params
    with pytest.raises(TacitError, match="nested deeper"):
        save_model(tmp_path / "m", Stored("R", params, {}))


@pytest.mark.parametrize(
    ("name", "array", "named"),
    [
        ("x", np.array(["a"]), "dtype str"),
        ("x", np.array([{}], object), "dtype object"),
        ("x", np.zeros(2, np.complex128), "dtype complex128"),
        ("x", np.zeros(2, np.longdouble), "dtype"),
        ("x", np.zeros(2, [("a", "f4")]), "dtype void"),
        ("x", np.ma.masked_array([1, 2], [True, False]), "MaskedArray"),
        ("x", [1, 2], "type list"),
        *[(bad, np.zeros(2), "array name") for bad in ("", "../x", "/x", "x/", "a//b", ".x", "a b", "é", "x\n")],
        *[(bad, np.zeros(2), "array name") for bad in ("__metadata__", "x" * 201, 3)],
    ],
)
def test_arrays_that_cannot_be_kept_are_named(tmp_path, name, array, named):
    with pytest.raises(TacitError, match=named):
        save_model(tmp_path / "m", Stored("R", {}, {name: array}))


@pytest.mark.parametrize("kind", ["", "a.b", "1a", "x" * 101, None, "a\n"])
def test_a_class_name_is_a_name(tmp_path, kind):
    with pytest.raises(TacitError, match="kind is"):
        save_model(tmp_path / "m", Stored(kind, {}, {}))


def test_parameters_must_be_a_table_of_moderate_size(tmp_path):
    with pytest.raises(TacitError, match="params is of type list"):
        save_model(tmp_path / "m", Stored("R", [], {}))
    with pytest.raises(TacitError, match="bytes, want at most"):
        save_model(tmp_path / "m", Stored("R", {"a": "x" * 2**24}, {}))


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX systems")
def test_both_files_have_the_usual_permissions_or_those_of_the_replaced_model(tmp_path, model):
    def modes():
        return {stat.S_IMODE((tmp_path / "m" / name).stat().st_mode) for name in ("model.json", "arrays.safetensors")}

    (tmp_path / "usual").touch()
    save_model(tmp_path / "m", model)
    assert modes() == {stat.S_IMODE((tmp_path / "usual").stat().st_mode)}
    os.chmod(tmp_path / "m" / "model.json", 0o640)
    save_model(tmp_path / "m", model)
    assert modes() == {0o640}
