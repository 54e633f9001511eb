"""Model folders: `model.json` and `arrays.safetensors`, data without code, written atomically.

A model is a `Stored`: the name of its class, parameters as JSON, and named arrays. `save_model` replaces a folder so
that a kill at any moment leaves the old model or the new one; `load_model` checks everything before it returns. Values
that are not plain arrays (texts, sparse matrices, nested models) are packed by `pack_strings`, `pack_csr` and
`with_prefix`.
"""

from tacit.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(globals())  # the names are in __init__.pyi
