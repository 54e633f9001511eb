"""Words of Japanese text, which has no spaces between words, by Sudachi and its core dictionary.

A text is folded as in `words`. Words without Japanese characters (Latin, digits, Greek) are split by `UnicodeWords`, so
that `Array` is `array` here as in English text. Each run of kana and kanji between them is split by Sudachi in
**mode A**, its shortest units (選挙 管理 委員 会, not 選挙管理委員会), so a query matches a page that uses its words
in another compound. A word becomes its **normalized form**: the dictionary form of verbs and adjectives in one
spelling (取り, とった -> 取る; サーバ -> サーバー).

**Parts of speech.** Particles (助詞), auxiliaries (助動詞), signs (記号, 補助記号) and spaces (空白) are dropped;
they are function words without topical content. All else stays: nouns, verbs, adjectives, adverbs, pronouns,
prefixes, suffixes, interjections.

Many texts are split by processes (`joined_many`): threads were slower than a single thread, because half of the work
holds the interpreter's lock. A run from an earlier text is not split again. Results for large collections are cached in
the user's cache folder.

**Cache.** One file per chunk of texts: a SHA-256 of the rest, then the words of each text, compressed. Its name is a
hash of the texts, the splitting method and the versions of Sudachi, so a file is never out of date. If a file is
missing or damaged, the chunk is split again. If the folder is not writable, nothing is cached.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from tacit.core import MissingExtraError, cache_folder, count_threads
from tacit.core.threads import gather
from tacit.features.text.words import Segmenter, Span, fold, place_words, word_matches

MODE = "A"
DROPPED_PARTS = ("助詞", "助動詞", "記号", "補助記号", "空白")
_JAPANESE = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana and signs of repetition
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # kanji
)
_RUNS = re.compile(f"[{_JAPANESE}]+|[^{_JAPANESE}]+")
CHUNK_CHARACTERS = 1 << 18  # characters of texts that are split and cached together
_LONGEST_RUN = 4000  # characters; Sudachi accepts at most 49,149 bytes
_MOST_REMEMBERED = 1_000_000  # runs; at most a few hundred megabytes
FEWEST_KEPT = 1 << 15  # characters; splitting a query or a page is faster than finding a file
_FORMAT = 1
_END_OF_TEXT = b"\xff"  # never occurs in UTF-8


class JapaneseWords(Segmenter):
    """Splits text into folded words and normalized Japanese words.

    >>> JapaneseWords().words("Array の要素を取り除いた。")
    ['array', '要素', '取る', '除く']
    """

    def __init__(self) -> None:
        _dictionary()  # missing packages are reported here, not in a thread
        self._own, self._seen = threading.local(), dict[str, tuple[str, ...]]()

    def words(self, text: str) -> list[str]:
        """Return all words in order."""
        return [word for match in word_matches(fold(text)) for word in self._words_of(match[0])]

    def spans(self, text: str) -> list[Span]:
        """Return the same words with their positions in the original text.

        >>> JapaneseWords().spans("ﾃﾞｰﾀを読んだ")
        [Span(start=0, end=4, token='データ'), Span(start=5, end=7, token='読む')]
        """
        return place_words(text, self._places)

    def joined_many(self, texts: Iterable[str], threads: int | None = None) -> Iterator[bytes]:
        """Yield `joined` of every text, by as many processes as threads, or from the cache."""
        folder, key = cache_folder(), f"{MODE} {' '.join(DROPPED_PARTS)} {_versions()}"
        n_workers, chunks = count_threads(threads), gather(texts, len, CHUNK_CHARACTERS)
        # A few chunks at a time: enough to keep the workers busy, so that a collection need not fit in memory.
        while some := list(islice(chunks, 4 * n_workers)):
            kept = [read_chunk(folder, key, chunk) for chunk in some]
            fresh = iter(self._cut_chunks([some[place] for place, one in enumerate(kept) if one is None], n_workers))
            for chunk, one in zip(some, kept, strict=True):
                if one is None:
                    one = next(fresh)
                    write_chunk(folder, key, chunk, one)
                yield from one

    def _cut_chunks(self, chunks: list[list[str]], n_workers: int) -> list[list[bytes]]:
        if min(n_workers, len(chunks)) < 2:
            return [[self.joined(text) for text in chunk] for chunk in chunks]
        from joblib import Parallel, delayed

        return Parallel(n_jobs=n_workers)(delayed(cut_chunk)(chunk) for chunk in chunks)

    def _words_of(self, word: str) -> Iterable[str]:
        if word.isascii():
            return (word,)
        return [part for run in _RUNS.finditer(word) for part in self._words_of_run(run[0])]

    def _words_of_run(self, run: str) -> tuple[str, ...]:
        if not _is_japanese(run):
            return (run,)
        found = self._seen.get(run)
        if found is None:
            found = tuple(word for _, _, word in self._cut(run))
            if len(self._seen) < _MOST_REMEMBERED:
                self._seen[run] = found
        return found

    def _places(self, folded: str) -> Iterator[tuple[int, int, str]]:
        """Yield (start, end, word) within folded text."""
        for match in word_matches(folded):
            for run in _RUNS.finditer(match[0]):
                start = match.start() + run.start()
                if _is_japanese(run[0]):
                    yield from ((start + first, start + end, word) for first, end, word in self._cut(run[0]))
                else:
                    yield start, start + len(run[0]), run[0]

    def _cut(self, run: str) -> Iterator[tuple[int, int, str]]:
        """Return Sudachi's words of one run, without function words."""
        tokenizer, is_dropped = self._tools()
        for first in range(0, len(run), _LONGEST_RUN):
            for part in tokenizer.tokenize(run[first : first + _LONGEST_RUN]):
                if not is_dropped(part) and (word := _one_word(part.normalized_form())):
                    yield first + part.begin(), first + part.end(), word

    def _tools(self) -> tuple[Any, Any]:
        """Return Sudachi's tokenizer of this thread, and a test for dropped parts of speech."""
        if not hasattr(self._own, "tools"):
            dictionary = _dictionary()
            is_dropped = dictionary.pos_matcher([(part,) for part in DROPPED_PARTS])
            self._own.tools = dictionary.tokenizer(mode=MODE), is_dropped
        return self._own.tools


def cut_chunk(texts: list[str]) -> list[bytes]:
    """Return words of some texts, in a worker that keeps its segmenter for the next ones."""
    return [_segmenter_of_worker().joined(text) for text in texts]


@lru_cache(maxsize=1)
def _segmenter_of_worker() -> JapaneseWords:
    return JapaneseWords()


@lru_cache(maxsize=1 << 17)
def _one_word(form: str) -> str:
    """Return a form of Sudachi's dictionary, folded and without spaces."""
    return "".join(fold(form).split())


def _is_japanese(run: str) -> bool:
    return re.match(f"[{_JAPANESE}]", run) is not None


@lru_cache(maxsize=1)
def _dictionary() -> Any:
    """Return Sudachi with its core dictionary, loaded once."""
    if find_spec("sudachipy") is None or find_spec("sudachidict_core") is None:
        raise MissingExtraError("Japanese text", "sudachipy (with sudachidict-core)", "ja")
    from sudachipy import Dictionary

    return Dictionary(dict="core")


def _versions() -> str:
    from importlib.metadata import version  # late import: it takes longer than a short command

    return f"sudachipy {version('sudachipy')} sudachidict-core {version('sudachidict-core')}"


def read_chunk(folder: Path | None, key: str, texts: Sequence[str]) -> list[bytes] | None:
    """Return the cached words of these texts, or None."""
    if folder is None or not _is_worth_it(texts):
        return None
    try:
        stored = _file_of(folder, key, texts).read_bytes()
        checksum, packed = stored[:32], stored[32:]
        if hashlib.sha256(packed).digest() != checksum:
            return None
        found = zlib.decompress(packed).split(_END_OF_TEXT)[:-1]
    except (OSError, zlib.error):
        return None
    return found if len(found) == len(texts) else None


def write_chunk(folder: Path | None, key: str, texts: Sequence[str], words: Sequence[bytes]) -> None:
    """Cache the words of these texts, if possible."""
    if folder is None or not _is_worth_it(texts):
        return
    path = _file_of(folder, key, texts)
    draft = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.tmp")
    packed = zlib.compress(b"".join(one + _END_OF_TEXT for one in words), 1)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(hashlib.sha256(packed).digest() + packed)
        os.replace(draft, path)
    with suppress(OSError):
        draft.unlink(missing_ok=True)


def _is_worth_it(texts: Sequence[str]) -> bool:
    return sum(map(len, texts)) >= FEWEST_KEPT


def _file_of(folder: Path, key: str, texts: Sequence[str]) -> Path:
    digest = hashlib.sha256(f"{_FORMAT} {key}".encode())
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d " % len(encoded))
        digest.update(encoded)
    return folder / "japanese" / f"{digest.hexdigest()}.words"
