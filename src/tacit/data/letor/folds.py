"""Folds of queries for cross-validation, as in the LETOR sets.

The file is JSON: {"Fold1": {"train": [query id, ...], "vali": [...], "test": [...]}, ...}.
"""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any, NamedTuple

from tacit.core import DataError, checked
from tacit.data.files import FilePath, display_name, read_lines
from tacit.data.jsonlines import RepeatedKeyError, unique_keys


class Fold(NamedTuple):
    """Query ids for training, validation and test; no query is in two of them."""

    train: list[str]
    vali: list[str]
    test: list[str]


@checked
def read_folds(path: FilePath) -> dict[str, Fold]:
    """Read the folds by name; raise if a query is in two parts of one fold.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "folds.json")
    ...     _ = path.write_text('{"Fold1": {"train": ["1", "2"], "vali": ["3"], "test": ["4"]}}')
    ...     read_folds(path)
    {'Fold1': Fold(train=['1', '2'], vali=['3'], test=['4'])}
    """
    place = display_name(path)
    text = "\n".join(line for _, line in read_lines(path))
    try:
        folds = json.loads(text, object_pairs_hook=unique_keys)
    except RepeatedKeyError as error:
        raise DataError(f"the name {error} occurs twice in one object, want it once", path=place) from None
    except json.JSONDecodeError as error:
        raise DataError(f"is not JSON: {error.msg}", path=place, line=error.lineno) from None
    except (ValueError, RecursionError):  # a number with thousands of digits, or thousands of nested brackets
        raise DataError("is not JSON of a sensible size", path=place) from None
    if not isinstance(folds, dict) or not folds:
        raise DataError("has no folds, want an object of folds by name", path=place)
    return {name: _fold(name, parts, place) for name, parts in folds.items()}


def _fold(name: str, parts: Any, place: str) -> Fold:
    if not isinstance(parts, dict) or set(parts) != set(Fold._fields):
        found = ", ".join(map(repr, parts)) if isinstance(parts, dict) and parts else "none of them"
        raise DataError(f"fold {name!r} has {found}, want 'train', 'vali' and 'test'", path=place)
    fold = Fold(*(_query_ids(name, part, parts[part], place) for part in Fold._fields))
    for (part, ids), (other, other_ids) in combinations(fold._asdict().items(), 2):
        shared = sorted(set(ids) & set(other_ids))
        if shared:
            problem = f"query {shared[0]!r} is in both {part} and {other} of fold {name!r}"
            more = f" ({len(shared)} queries are)" if len(shared) > 1 else ""
            raise DataError(f"{problem}{more}, want each query in one part", path=place)
    return fold


def _query_ids(name: str, part: str, values: Any, place: str) -> list[str]:
    where = f"{part} of fold {name!r}"
    if not isinstance(values, list):
        raise DataError(f"{where} is not a list, want a list of query ids", path=place)
    for value in values:
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise DataError(f"{where} contains a {type(value).__name__}, want query ids as text", path=place)
    ids = [str(value) for value in values]
    if not ids and part != "vali":  # some sets have no validation part
        raise DataError(f"{where} is empty, want query ids", path=place)
    if len(set(ids)) != len(ids):
        twice = next(query_id for query_id in ids if ids.count(query_id) > 1)
        raise DataError(f"{where} has query {twice!r} twice, want it once", path=place)
    return ids
