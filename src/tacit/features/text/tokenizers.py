"""Tokenizers by language: from text to the terms that a vectorizer counts.

A tokenizer works in two steps. A segmenter splits the text into words (`words.UnicodeWords` for languages that separate
words by spaces, `japanese.JapaneseWords` for Japanese, `words.CharacterPairs` for Chinese, Thai and others, and for
texts of any language). Then each word becomes a term: stop words (the English list of scikit-learn, a file, or given
words) are dropped and, on request, words are stemmed by Snowball. The second step depends on the word only, so readers
of many texts run it once for each distinct word.

A language is given by its ISO 639 code ("en", also "en-GB") or its English name ("english"). To add a language, add its
segmenter to `SEGMENTERS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AnySet
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tacit.core import DataError, TacitError, UsageError, check_choice, check_list, checked, shown
from tacit.features.text.japanese import JapaneseWords
from tacit.features.text.words import CharacterPairs, Segmenter, Span, UnicodeWords

if TYPE_CHECKING:
    from tacit.features.text.finding import TermFinder

# fmt: off
SNOWBALL = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish",
    "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian",
    "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": "polish",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "st": "sesotho", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}
# fmt: on
N_STEMS = 1 << 16  # words whose stems are cached
WITHOUT_SPACES = {"km": "khmer", "lo": "lao", "my": "burmese", "th": "thai", "zh": "chinese"}
_NAMES = {**SNOWBALL, **WITHOUT_SPACES, "ja": "japanese"}
_CODE_OF = {name: code for code, name in _NAMES.items()} | {"nb": "no", "nn": "no"}

SEGMENTERS: dict[str, Callable[[], Segmenter]] = {
    **dict.fromkeys(["any", *WITHOUT_SPACES], CharacterPairs),
    **dict.fromkeys(SNOWBALL, UnicodeWords),
    "ja": JapaneseWords,
}
StopWords: TypeAlias = str | os.PathLike[str] | Iterable[str] | None

_ENGLISH = ("en", "english")


@dataclass(frozen=True, eq=False)
class Tokenizer:
    """Splits a text into terms; made by `tokenizer_for`, described by `spec()`."""

    language: str
    segmenter: Segmenter
    stop_words: frozenset[str] = frozenset()
    stem_word: Callable[[str], str] | None = None

    def __call__(self, text: str) -> list[str]:
        """Return the terms in order."""
        return [term for word in self.words(text) if (term := self.term(word)) is not None]

    def words(self, text: str) -> list[str]:
        """Return the words before stop words and stemming: the input of `term`."""
        return self.segmenter.words(text)

    def term(self, word: str) -> str | None:
        """Return the term of a word, None for a stop word."""
        if word in self.stop_words:
            return None
        return word if self.stem_word is None else self.stem_word(word)

    def spans(self, text: str) -> list[Span]:
        """Return the terms with their positions in the original text.

        >>> tokenizer_for("en", stop_words=["the"]).spans("The Cats")
        [Span(start=4, end=8, token='cats')]
        """
        return [
            Span(start, end, term)
            for start, end, word in self.segmenter.spans(text)
            if (term := self.term(word)) is not None
        ]

    def find(self, texts: Sequence[str], wanted: AnySet[str]) -> list[list[Span]]:
        """Return the `spans` of each text with wanted terms only, in less time.

        >>> tokenizer_for("en").find(["The Cats", "dogs"], {"cats"})
        [[Span(start=4, end=8, token='cats')], []]
        """
        return self._finder.find(texts, wanted)

    @cached_property
    def _finder(self) -> TermFinder:
        from tacit.features.text.finding import TermFinder

        return TermFinder(self)

    def spec(self) -> dict[str, Any]:
        """Return a JSON description from which `tokenizer_from_spec` makes the same tokenizer."""
        stop_words = sorted(self.stop_words) or None
        return {"language": self.language, "stem": self.stem_word is not None, "stop_words": stop_words}

    def __reduce__(self) -> tuple[Any, ...]:
        return tokenizer_from_spec, (self.spec(),)  # a Snowball stemmer cannot be pickled for a worker


@checked
def tokenizer_for(language: str = "en", *, stem: bool = False, stop_words: StopWords = None) -> Tokenizer:
    """Return the tokenizer of a language.

    Parameters
    ----------
    language : str, default="en"
        Code or name of a language of Snowball, "ja" (needs the extra `ja`), "zh", "th", "lo", "km" or "my", or "any"
        for words of every script.
    stem : bool, default=False
        Reduce words to their Snowball stems.
    stop_words : str, path, iterable of str or None, default=None
        Words to drop before stemming: "en" for the built-in English list, a file, or words.

    Returns
    -------
    Tokenizer

    Examples
    --------
    >>> tokenizer_for("en")("Ranking, re-ranked: x_1")
    ['ranking', 're', 'ranked', 'x', '1']
    >>> tokenizer_for("zh")("搜索引擎")
    ['搜', '搜索', '索', '索引', '引', '引擎', '擎']
    """
    code = language_code(language)
    segmenter = SEGMENTERS[code]()
    # A stop word such as "don't" is dropped as the parts that the segmenter makes of it.
    stops = frozenset(part for word in load_stop_words(stop_words) for part in segmenter.words(word))
    return Tokenizer(code, segmenter, stops, _snowball(code) if stem else None)


@checked
def tokenizer_from_spec(spec: Mapping[str, Any]) -> Tokenizer:
    """Return the tokenizer described by `Tokenizer.spec`.

    >>> tokenizer_from_spec({"language": "de", "stem": False, "stop_words": ["und"]})("Öl und Salz")
    ['öl', 'salz']
    """
    unknown = sorted(set(spec) - {"language", "stem", "stop_words"})
    if unknown or "language" not in spec:
        raise UsageError(f"tokenizer has {unknown or 'no language'}, want language, stem and stop_words")
    return tokenizer_for(spec["language"], stem=bool(spec.get("stem")), stop_words=spec.get("stop_words"))


@checked
def language_code(language: str) -> str:
    """Return the code of a language that has a segmenter, given a code, a code with a region, or a name.

    >>> language_code("pt_BR"), language_code("German"), language_code("any")
    ('pt', 'de', 'any')
    """
    name = str(language).lower().replace("_", "-").split("-")[0]
    code = _CODE_OF.get(name, name)
    if code not in SEGMENTERS:
        check_choice("language", language, ["any", *sorted(set(SEGMENTERS) - {"any"})])
    return code


@checked
def has_stemmer(language: str) -> bool:
    """Return whether Snowball has a stemmer for a language.

    >>> has_stemmer("German"), has_stemmer("zh")
    (True, False)
    """
    return language_code(language) in SNOWBALL


def _snowball(code: str) -> Callable[[str], str]:
    if code not in SNOWBALL:
        raise UsageError(f"language {code!r} has no Snowball stemmer, want stem=False or one of {', '.join(SNOWBALL)}")
    from Stemmer import Stemmer

    try:
        stemmer = Stemmer(SNOWBALL[code])
    except KeyError as error:
        raise UsageError(f"the installed PyStemmer has no stemmer for {SNOWBALL[code]}; want a newer one") from error
    return lru_cache(N_STEMS)(stemmer.stemWord)  # several times faster than the stemmer's own cache


def load_stop_words(given: StopWords) -> list[str]:
    """Return the stop words as a list, as written in the source.

    given: None for no stop words, "en" for the built-in English list, a path of a file with words separated by
    whitespace, or the words themselves.

    >>> load_stop_words(["the", "of"]), "the" in load_stop_words("en")
    (['the', 'of'], True)
    """
    if given is None:
        return []
    if isinstance(given, str) and given.lower() in _ENGLISH:
        # Late import: scikit-learn takes longer than a short command.
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return sorted(ENGLISH_STOP_WORDS)
    if isinstance(given, str | os.PathLike):
        return _read_words(Path(given))
    words = check_list("stop_words", given, "words, a file of words or 'en'")
    for word in words:
        if not isinstance(word, str):
            raise TacitError(f"stop_words contains {shown(word)}, want words, a file of words or 'en'")
    return words


def _read_words(path: Path) -> list[str]:
    if not path.is_file():
        raise UsageError(f"stop_words is {str(path)!r}, want 'en', a list of words, or a file that exists")
    try:
        return path.read_text(encoding="utf-8").split()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path=path) from error
    except UnicodeDecodeError as error:
        raise DataError(f"is not UTF-8 text: {error.reason} at byte {error.start}", path=path) from error
