"""A folder of format version 1, written once and kept: every later tacit must read it as it stands.

`python tests/store/test_golden.py` wrote it; it is never to be written again.
"""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tacit.store import Stored, load_model, pack_csr, pack_strings, save_model, unpack_csr, unpack_strings

FOLDER = Path(__file__).parent / "golden_v1"
IDS = ["doc-1", "", "文書"]
MATRIX = sp.csr_array(np.array([[0.0, 1.5, 0.0], [0.0, 0.0, 0.0], [2.0, 0.0, -3.25]], np.float32))


def golden_model():
    params = {
        "dim": 2,
        "rate": 0.1,
        "tiny": 5e-324,
        "big": 2**70,
        "text": 'é\n"日本"',
        "none": None,
        "list": [True, [], {}],
    }
    arrays = {
        **pack_strings("ids", IDS),
        **pack_csr("ranker/tfidf", MATRIX),
        "ranker/vectors": np.array([[0.5, -0.0], [np.nan, np.inf], [1e-45, 3.0]], np.float32),
        "ranker/scale": np.array(1 / 3),
        "flags": np.array([True, False, True]),
        "empty": np.empty((0, 3), np.int32),
        **{
            f"kinds/{name}": np.array([0, 1, 100], name)
            for name in ("int8", "uint16", "int16", "uint32", "uint64", "float16")
        },
    }
    return Stored("GoldenRanker", params, arrays)


def test_the_golden_folder_is_read_as_it_was_written(assert_same):
    assert sorted(path.name for path in FOLDER.iterdir()) == ["arrays.safetensors", "model.json"]
    for mmap in (False, True):
        assert_same(load_model(FOLDER, kinds=["GoldenRanker"], mmap=mmap), golden_model())


def test_its_parts_are_unpacked():
    arrays = load_model(FOLDER).arrays
    assert list(unpack_strings("ids", arrays)) == IDS
    np.testing.assert_array_equal(unpack_csr("ranker/tfidf", arrays).toarray(), MATRIX.toarray())


if __name__ == "__main__":
    save_model(FOLDER, golden_model())
