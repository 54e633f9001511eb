"""Model folders: `model.json` and `arrays.safetensors`, data and no code, written whole or not at all.

A model is a `Stored`: the name of its class, parameters that JSON can hold, and named arrays. `save_model`
replaces a folder so that a kill at any moment leaves the old model or the new one; `load_model` checks
everything before it hands anything on. What is no plain array (texts, sparse matrices, models inside
models) goes through `pack_strings`, `pack_csr` and `with_prefix`.
"""

from tacit.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(globals())  # the names stand in __init__.pyi
