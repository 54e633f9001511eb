"""What the tests of model folders share: a small model with every dtype, and what "the same model" means."""

import numpy as np
import pytest

from tacit.store import Stored


@pytest.fixture
def model():
    """A model with nested parameters, a bool, text, a scalar and an empty array."""
    arrays = {
        "ranker/item_vectors": np.arange(6, dtype=np.float32).reshape(2, 3) / 7,
        "ranker/scale": np.array(0.1),
        "seen": np.array([True, False, True]),
        "text": np.frombuffer("tacit 日本".encode(), np.uint8),
        "none": np.empty((0, 4), np.int64),
    }
    return Stored(
        "LsiRanker", {"dim": 3, "rate": 0.1, "words": ["a", "é"], "deep": {"none": None, "yes": True}}, arrays
    )


@pytest.fixture(scope="session")
def assert_same():
    """Compare two models to the last bit, dtypes included."""

    def compare(found, wanted):
        assert found.kind == wanted.kind
        assert found.params == wanted.params
        assert set(found.arrays) == set(wanted.arrays)
        for name, array in wanted.arrays.items():
            assert found.arrays[name].dtype == array.dtype.newbyteorder("="), name
            assert found.arrays[name].shape == array.shape, name
            # Bytes, because NaN differs from itself and -0.0 equals 0.0.
            assert found.arrays[name].tobytes() == array.astype(found.arrays[name].dtype).tobytes(), name

    return compare
