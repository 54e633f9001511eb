"""Arrays by name: models inside models by prefix, and one array with its dtype, shape and values checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from tacit.core import StoreError

BLOCK = 1 << 20  # numbers that are checked at once


def with_prefix(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays of an inner model under names of their own.

    >>> with_prefix("ranker", {"items": np.zeros(1)})
    {'ranker/items': array([0.])}
    """
    return {f"{prefix}/{name}": array for name, array in arrays.items()}


def without_prefix(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays below a prefix, as the inner model named them; all others are left out.

    >>> without_prefix("ranker", {"ranker/items": np.zeros(1), "ids": np.ones(1)})
    {'items': array([0.])}
    """
    start = f"{prefix}/"
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def take_array(
    arrays: Mapping[str, np.ndarray],
    name: str,
    *,
    dtype: str | Collection[str],
    shape: tuple[int | None, ...],
    finite: bool = True,
) -> np.ndarray:
    """The array of that name if it is what compiled code may rely on; None in shape stands for any length.

    >>> take_array({"w": np.zeros((3, 2))}, "w", dtype="float64", shape=(None, 4))
    Traceback (most recent call last):
    tacit.core.errors.StoreError: array 'w' is float64 of shape (3, 2), want float64 of shape (any, 4)
    """
    if name not in arrays:
        raise StoreError(f"array {name!r} is missing")
    array = arrays[name]
    dtypes = [dtype] if isinstance(dtype, str) else list(dtype)
    fits = len(shape) == array.ndim and all(want in (None, got) for want, got in zip(shape, array.shape, strict=True))
    if array.dtype.name not in dtypes or not fits:
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise StoreError(
            f"array {name!r} is {array.dtype.name} of shape {array.shape}, "
            f"want {' or '.join(dtypes)} of shape ({wanted}{',' if len(shape) == 1 else ''})"
        )
    if finite and not is_finite(array):
        raise StoreError(f"array {name!r} holds NaN or infinity")
    return array


def is_finite(array: np.ndarray) -> bool:
    """Whether no number is NaN or infinity, in the memory of a block."""
    if array.dtype.kind != "f":
        return True
    flat = array.reshape(-1)
    return all(bool(np.isfinite(flat[first : first + BLOCK]).all()) for first in range(0, len(flat), BLOCK))
