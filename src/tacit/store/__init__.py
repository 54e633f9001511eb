"""Model folders: `model.json` and `arrays.safetensors`, data and no code, written whole or not at all.

A model is a `Stored`: the name of its class, parameters that JSON can hold, and named arrays. `save_model`
replaces a folder so that a kill at any moment leaves the old model or the new one; `load_model` checks
everything before it hands anything on. What is no plain array (texts, sparse matrices, models inside
models) goes through `pack_strings`, `pack_csr` and `with_prefix`.
"""

from tacit.store.estimators import check_storable, pack_estimator, unpack_estimator
from tacit.store.files import blame
from tacit.store.load import load_model
from tacit.store.parts import take_array, with_prefix, without_prefix
from tacit.store.save import check_destination, save_model
from tacit.store.sparse import pack_csr, unpack_csr
from tacit.store.stored import Stored
from tacit.store.strings import StringTable, pack_strings, unpack_strings

__all__ = [
    "Stored",
    "StringTable",
    "blame",
    "check_destination",
    "check_storable",
    "load_model",
    "pack_csr",
    "pack_estimator",
    "pack_strings",
    "save_model",
    "take_array",
    "unpack_csr",
    "unpack_estimator",
    "unpack_strings",
    "with_prefix",
    "without_prefix",
]
