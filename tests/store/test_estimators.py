"""Estimators as headers and arrays: names that changed are read by their old names."""

import numpy as np
import pytest

from tacit.core import Estimator, StoreError
from tacit.store import pack_estimator, unpack_estimator


class Old(Estimator):
    _fitted = {"places_": "places", "name_": "text"}  # noqa: RUF012

    def __init__(self, n_places: int = 2) -> None:
        self.n_places = n_places


class New(Estimator):
    _fitted = {"buckets_": "buckets", "name_": "text"}  # noqa: RUF012
    _renamed = {"n_places": "n_buckets", "places_": "buckets_"}  # noqa: RUF012

    def __init__(self, n_buckets: int = 2) -> None:
        self.n_buckets = n_buckets


def old():
    made = Old(n_places=3)
    made.places_, made.name_ = np.arange(3, dtype=np.float32), "x"
    return pack_estimator(made)


def test_renamed_parameters_and_attributes_are_read():
    header, arrays = old()
    new = unpack_estimator(header, arrays, lambda name: New)
    assert (new.n_buckets, new.buckets_.tolist(), new.name_) == (3, [0.0, 1.0, 2.0], "x")


@pytest.mark.parametrize("table", ["params", "texts"])
def test_a_header_without_a_table_is_refused(table):
    header, arrays = old()
    del header[table]
    with pytest.raises(StoreError, match=f"{table} is None, want a table"):
        unpack_estimator(header, arrays, lambda name: New)
