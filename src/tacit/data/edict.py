"""EDICT, the Japanese-English dictionary in Debian's package `edict`, including its computing terms.

A line is `word [reading] /gloss/gloss/.../` in EUC-JP; notes on a gloss are in parentheses. Words are normalised to
NFKC and lower case, without the dot that joins foreign words, as tokenizers do. A reading represents its words if no
word has this spelling.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from tacit.core import DataError, checked

FOLDER = Path("/usr/share/edict")
FILES = ("edict", "compdic")
_LINE = re.compile(r"(?P<word>\S+) (?:\[(?P<reading>[^\]]+)\] )?/(?P<glosses>.*)")
_NOTE = re.compile(r"\([^)]*\)|\{[^}]*\}")


@checked
def has_edict(folder: Path = FOLDER) -> bool:
    """Return whether the dictionary is installed."""
    return (folder / FILES[0]).is_file()


@checked
def read_edict(folder: Path = FOLDER) -> dict[str, list[str]]:
    """Return English glosses by Japanese word, without notes, each gloss once.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     _ = Path(place, "edict").write_text("配列 [はいれつ] /(n) (1) array/(P)/disposition/\\n", "euc_jp")
    ...     read_edict(Path(place))
    {'配列': ['array', 'disposition'], 'はいれつ': ['array', 'disposition']}
    """
    if not has_edict(folder):
        raise DataError(f"no file {FILES[0]}; want the dictionary of Debian's package edict", path=folder)
    glosses: dict[str, list[str]] = {}
    by_reading: dict[str, list[str]] = {}
    for name in FILES:
        if (folder / name).is_file():
            _read(folder / name, glosses, by_reading)
    return glosses | {reading: found for reading, found in by_reading.items() if reading not in glosses}


def _read(path: Path, glosses: dict[str, list[str]], by_reading: dict[str, list[str]]) -> None:
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip() or line.startswith("\u3000"):  # the file's own title is among the words
            continue
        match = _LINE.match(line)
        if match is None:
            raise DataError("is not an entry, want word [reading] /gloss/", path=path, line=number)
        meanings = [meaning for raw in match["glosses"].split("/") if (meaning := _NOTE.sub("", raw).strip())]
        _add(glosses, match["word"], meanings)
        if match["reading"]:
            _add(by_reading, match["reading"], meanings)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("euc_jp").splitlines()
    except UnicodeDecodeError as error:
        raise DataError(f"is not EUC-JP text: {error.reason} at byte {error.start}", path=path) from error
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path=path) from error


def _add(table: dict[str, list[str]], word: str, meanings: list[str]) -> None:
    key = unicodedata.normalize("NFKC", word).lower().replace("・", "")
    known = table.setdefault(key, [])
    known += [meaning for meaning in dict.fromkeys(meanings) if meaning not in known]
