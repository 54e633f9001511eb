"""Contents of a folder: a BEIR folder, a dataset of Hugging Face, tables in parts, or text files.

corpus.jsonl or docs.jsonl            BEIR and ours; with queries.jsonl
corpus.parquet, corpus.csv, …         the same in another format
corpus/, queries/                     tables in parts, as in `datasets` and the Hub
data/corpus-00000-of-00002.parquet    the same in one folder
*.parquet, *.csv, …                   one table in parts, if the folder has no other files
*.txt, *.md, *.html                   one document each
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tacit.core import DataError, check_path, checked
from tacit.data.compression import COMPRESSIONS
from tacit.data.files import FilePath, split_suffix
from tacit.data.formats.registry import SUFFIXES

_DESCRIPTIONS = {"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json", "metadata.json"}


@checked
def find_file(path: FilePath, names: tuple[str, ...]) -> FilePath:
    """Return the file itself, or the only file of a folder with one of these names, plain or compressed."""
    if check_path(path) == "-" or not os.path.isdir(path):
        return path
    found = _named(Path(path), names)
    if not found:
        raise DataError(f"folder has no {' or '.join(names)}, plain or compressed", path=path)
    return found[0]


def find_tables(path: FilePath, names: tuple[str, ...]) -> list[FilePath]:
    """Return the files of a folder with its documents (or queries), in order; empty if it has no table.

    Parameters
    ----------
    path : path
        A file, which is returned itself, or a folder.
    names : tuple of str
        Names of JSON lines files, such as `corpus.jsonl`; the part before the suffix also names other formats.
    """
    if check_path(path) == "-" or not os.path.isdir(path):
        return [path]
    folder, stems = Path(path), [name.partition(".")[0] for name in names]
    if found := _named(folder, names):
        return [found[0]]
    others = [f"{stem}{suffix}" for stem in stems for suffix in SUFFIXES if f"{stem}{suffix}" not in names]
    if found := _named(folder, others):
        return [found[0]]
    for stem in stems:
        parts = _parts(sorted((folder / stem).rglob("*")))
        parts = parts or _parts(sorted([*folder.glob(f"{stem}-*"), *folder.glob(f"data/{stem}-*")]))
        if parts:
            return [*parts]
    return []


def only_tables(path: FilePath) -> list[FilePath]:
    """Return the tables of a folder without known names, as parts of one table."""
    folder = Path(path)
    return [*(_parts(sorted(folder.glob("*"))) or _parts(sorted(folder.glob("data/*"))))]


def _named(folder: Path, names: Sequence[str]) -> list[str]:
    found = [path for name in names for end in ("", *COMPRESSIONS) if (path := folder / (name + end)).is_file()]
    if len(found) > 1:
        both = " and ".join(path.name for path in found[:2])
        raise DataError(f"folder contains {both}; give the path of one file", path=folder)
    return [os.fspath(path) for path in found]


def _parts(files: Sequence[Path]) -> list[Path]:
    """Return the tables among the files with the most common format; raise if there are several formats."""
    tables = [
        file
        for file in files
        if split_suffix(file)[0] in SUFFIXES and file.is_file() and file.name not in _DESCRIPTIONS
    ]
    suffixes = [split_suffix(file)[0] for file in tables]
    if len(set(suffixes)) > 1:
        folder, kinds = tables[0].parent, ", ".join(sorted(set(suffixes)))
        raise DataError(f"folder holds tables in several formats ({kinds}); give the path of one file", path=folder)
    return tables
