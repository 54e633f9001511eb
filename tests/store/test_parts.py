"""Prefixes nest and undo each other; one array is taken only if it is what was asked for."""

import numpy as np
import pytest

from tacit.core import StoreError, TacitError
from tacit.store import blame, load_model, take_array, with_prefix, without_prefix


def test_prefixes_nest_and_come_off_again():
    inner = {"items": np.zeros(1), "deep/er": np.ones(2)}
    outer = {**with_prefix("a", with_prefix("b", inner)), "ab": np.zeros(1), "a": np.zeros(1)}
    assert set(outer) == {"a/b/items", "a/b/deep/er", "ab", "a"}
    found = without_prefix("b", without_prefix("a", outer))
    assert set(found) == set(inner)
    assert all(found[name] is inner[name] for name in inner)
    assert set(without_prefix("a/b", outer)) == set(inner)


ARRAYS = {"w": np.zeros((3, 2), np.float32), "n": np.array([1, np.nan]), "s": np.array(1), "e": np.empty((0, 2))}


def test_a_fitting_array_is_handed_on_as_it_is():
    assert take_array(ARRAYS, "w", dtype="float32", shape=(3, 2)) is ARRAYS["w"]
    assert take_array(ARRAYS, "w", dtype=("float64", "float32"), shape=(None, None)) is ARRAYS["w"]
    assert take_array(ARRAYS, "s", dtype="int64", shape=()) is ARRAYS["s"]
    assert take_array(ARRAYS, "e", dtype="float64", shape=(0, None)) is ARRAYS["e"]
    assert take_array(ARRAYS, "n", dtype="float64", shape=(2,), finite=False) is ARRAYS["n"]


@pytest.mark.parametrize(
    ("name", "dtype", "shape", "match"),
    [
        ("x", "float32", (), "array 'x' is missing"),
        ("w", "float64", (3, 2), r"'w' is float32 of shape \(3, 2\), want float64 of shape \(3, 2\)"),
        ("w", "float32", (3,), r"want float32 of shape \(3,\)"),
        ("w", "float32", (2, None), r"want float32 of shape \(2, any\)"),
        ("w", ("float64", "int8"), (3, 2), "want float64 or int8"),
        ("s", "int64", (1,), r"is int64 of shape \(\)"),
        ("n", "float64", (2,), "'n' contains NaN or infinity"),
    ],
)
def test_other_arrays_are_refused(name, dtype, shape, match):
    with pytest.raises(StoreError, match=match):
        take_array(ARRAYS, name, dtype=dtype, shape=shape)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (StoreError("array 'x' is missing"), "m: array 'x' is missing"),
        (TacitError("dim is 0"), "m: dim is 0"),
        (KeyError("dim"), "m: its parameters do not fit this version of tacit: KeyError('dim')"),
        (TypeError("no dim"), "m: its parameters do not fit this version of tacit: TypeError('no dim')"),
    ],
)
def test_the_folder_is_named_in_what_goes_wrong_with_it(error, message):
    with pytest.raises(StoreError) as caught, blame("m"):
        raise error
    assert str(caught.value) == message


def test_the_folder_is_named_once_and_other_errors_pass():
    with pytest.raises(StoreError, match=r"^no/m: there is no such"), blame("no/m"):
        load_model("no/m")
    with pytest.raises(ZeroDivisionError), blame("m"):
        1 / 0  # noqa: B018
