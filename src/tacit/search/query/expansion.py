"""Words that are added to a query: corrected typos, words with other accents or spaces, words with a prefix, synonyms.

A typed word that some document contains is searched unchanged, with its full weight. Added words have half the weight.
Some kinds have full weight: words that differ from an unknown word only by accents, words written with or without a
space ("head phones", "16kg"), and words that replace another by a synonym rule (`=>`). An unknown word of a short query
that is in a value of a keyword field, such as a brand, restricts the documents to those with such a value. So the
scores of a query without unknown words, asterisks and synonyms do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.features import TextVectorizer
from tacit.features.text.function_words import function_words
from tacit.features.text.lexicon import LAST_ALPHABET, Lexicon
from tacit.search.query.language import ParsedQuery, Restriction
from tacit.search.query.synonyms import Rule

ADDED_WEIGHT = 0.5
MAX_WITH_PREFIX = 20  # words, the most frequent
MAX_WORDS = 32  # of a query whose typos are corrected; longer ones are documents
MAX_WITH_VALUES = 4  # words of a query that is also compared with fields; longer ones are questions
LEAST_PART = 4  # letters of each half of a word that is split between letters
MOST_LETTERS = 64  # of a word that is split


class Added(NamedTuple):
    """A word that is searched with or instead of a typed one.

    The kind is "spelling", "accents", "spacing", "prefix", "synonym" or "field", a value of a field without a column.
    """

    typed: str
    used: str
    kind: str
    column: int
    weight: float

    def __str__(self) -> str:
        return f"{self.typed} -> {self.used}"


@dataclass(frozen=True)
class AskedQuery:
    """A query as it is searched.

    Attributes
    ----------
    text : str
        Plain text, for ranking.
    restrictions : tuple of Restriction
        Words and phrases that documents must or must not contain.
    added : tuple of Added
        Additional words to search for.
    replaced : frozenset of int
        Columns of typed words that are not searched.
    suggestion : str or None
        The query with corrected words.
    """

    text: str
    restrictions: tuple[Restriction, ...] = ()
    added: tuple[Added, ...] = ()
    replaced: frozenset[int] = frozenset()
    suggestion: str | None = None

    @property
    def must_contain(self) -> bool:
        """Whether there is a restriction that documents must contain something."""
        return any(not restriction.is_excluded for restriction in self.restrictions)


class Expansion:
    """Expands queries.

    Parameters
    ----------
    vectorizer : TextVectorizer
        Reads queries.
    rules : sequence of Rule, default=()
        Synonyms.
    """

    def __init__(self, vectorizer: TextVectorizer, rules: Sequence[Rule] = ()) -> None:
        self.vectorizer, self.rules = vectorizer, rules

    def ask(self, typed: str, parsed: ParsedQuery, value_with: Callable[[str], Restriction | None]) -> AskedQuery:
        """Return the expanded query; `value_with` returns the restriction to documents with a word in a field."""
        tokenizer, columns = self.vectorizer.tokenizer_, self.vectorizer.column_of
        words = tokenizer.words(parsed.text)
        if len(words) > MAX_WORDS:
            return AskedQuery(parsed.text, parsed.restrictions)
        terms = [tokenizer.term(word) for word in words]
        added, replaced, covered = self._synonyms(words, terms)
        prefixes = {word for prefix in parsed.prefixes for word in tokenizer.words(prefix)}
        added += self._with_prefixes(prefixes, columns)
        unknown = {
            word: term
            for place, (word, term) in enumerate(zip(words, terms, strict=True))
            if term is not None
            and term not in columns
            and place not in covered
            and word not in prefixes
            and word not in self.without_content
        }
        unknown = {word: term for word, term in unknown.items() if not self.lexicon.knows_term(term)}
        if not unknown:
            return AskedQuery(parsed.text, parsed.restrictions, tuple(added), frozenset(replaced))
        added += self._joined(words, unknown)
        few = unknown if len(words) <= MAX_WITH_VALUES else ()
        restrictions = {word: found for word in few if (found := value_with(word)) is not None}
        added += [Added(word, f"{found.field}:{found.text}", "field", -1, 1.0) for word, found in restrictions.items()]
        corrected = self._corrected([word for word in unknown if word not in restrictions])
        suggestion = _replace(typed, corrected, tokenizer.segmenter.spans) if corrected else None
        wanted = (*parsed.restrictions, *restrictions.values())
        return AskedQuery(parsed.text, wanted, tuple(added + corrected), frozenset(replaced), suggestion)

    @cached_property
    def without_content(self) -> frozenset[str]:
        """Return the words without content, such as "please", which are no typos where no document has them."""
        return function_words(self.vectorizer.language)

    @cached_property
    def lexicon(self) -> Lexicon:
        """Return the words as written."""
        return Lexicon.of(self.vectorizer)

    def _corrected(self, unknown: Iterable[str]) -> list[Added]:
        found = list[Added]()
        for word in unknown:
            near = self.lexicon.nearest(word)
            if near is not None:
                kind, weight = ("spelling", ADDED_WEIGHT) if near.distance else ("accents", 1.0)
                used, column = self.lexicon.words[near.number], int(self.lexicon.columns[near.number])
                found.append(Added(word, used, kind, column, weight))
            elif parts := self._parts(word):
                weight = ADDED_WEIGHT if word.isalpha() else 1.0
                used = " ".join(parts)
                found += [Added(word, used, "spacing", self._column(part), weight) for part in parts]
        return found

    def _joined(self, words: Sequence[str], unknown: dict[str, str]) -> list[Added]:
        """Return words that documents write without the space of the query; their parts are not unknown any more."""
        found = list[Added]()
        for pair in pairwise(words):
            joined, column = "".join(pair), self._column("".join(pair))
            if column >= 0 and not unknown.keys().isdisjoint(pair) and max(joined) < LAST_ALPHABET:
                found.append(Added(" ".join(pair), joined, "spacing", column, 1.0))
        for word in {word for added in found for word in added.typed.split()}:
            unknown.pop(word, None)
        return found

    def _parts(self, word: str) -> tuple[str, str] | None:
        """Return two known words that make up a word: between a letter and a digit, or long enough."""
        if not 2 < len(word) <= MOST_LETTERS or max(word) >= LAST_ALPHABET:
            return None
        least = LEAST_PART if word.isalpha() else 1
        found = list[tuple[float, int]]()
        for at in range(least, len(word) - least + 1):
            columns = [self._column(part) for part in (word[:at], word[at:])]
            if min(columns) >= 0 and (word.isalpha() or word[at - 1].isdigit() != word[at].isdigit()):
                found.append((max(float(self.vectorizer.idf_[column]) for column in columns), at))
        at = min(found)[1] if found else 0  # the split whose rarer part is most frequent
        return (word[:at], word[at:]) if found else None

    def _column(self, word: str) -> int:
        """Return the column of a word, -1 if it has none."""
        return self.vectorizer.column_of.get(self.vectorizer.tokenizer_.term(word) or "", -1)

    def _with_prefixes(self, prefixes: set[str], columns: Mapping[str, int]) -> list[Added]:
        found = list[Added]()
        for prefix in sorted(prefixes):
            own = columns.get(self.vectorizer.tokenizer_.term(prefix) or "", -1)
            by_column: dict[int, str] = {}
            for number in self.lexicon.starting_with(prefix, MAX_WITH_PREFIX):
                by_column.setdefault(int(self.lexicon.columns[number]), self.lexicon.words[number])
            by_column.pop(own, None)
            found += [Added(f"{prefix}*", word, "prefix", at, ADDED_WEIGHT) for at, word in by_column.items()]
        return found

    @cached_property
    def _rules_by_term(self) -> dict[str, list[tuple[tuple[str, ...], Rule]]]:
        """Return the rules by the first term of their left side, longest first."""
        found: dict[str, list[tuple[tuple[str, ...], Rule]]] = {}
        for rule in self.rules:
            for phrase in rule.given:
                terms = tuple(self.vectorizer.tokenizer_(phrase))
                if terms:
                    found.setdefault(terms[0], []).append((terms, rule))
        for rules in found.values():
            rules.sort(key=lambda rule: -len(rule[0]))
        return found

    def _synonyms(self, words: Sequence[str], terms: Sequence[str | None]) -> tuple[list[Added], set[int], set[int]]:
        """Return the words that rules add, the columns that they replace, and the places of the matched words."""
        added, replaced, covered = list[Added](), set[int](), set[int]()
        for first, term in enumerate(terms if self.rules else ()):
            for phrase, rule in self._rules_by_term.get(term or "", ()):
                if tuple(terms[first : first + len(phrase)]) == phrase:
                    typed = " ".join(words[first : first + len(phrase)])
                    covered |= set(range(first, first + len(phrase)))
                    new = list(self._meant(typed, phrase, rule))
                    added += new
                    if rule.replaces:
                        own = {self.vectorizer.column_of.get(word, -1) for word in phrase}
                        replaced |= own - {word.column for word in new}
                    break
        return added, replaced - {-1}, covered

    def _meant(self, typed: str, phrase: tuple[str, ...], rule: Rule) -> Iterator[Added]:
        for meant in rule.meant:
            terms = tuple(self.vectorizer.tokenizer_(meant))
            for term in () if terms == phrase else terms:
                column = self.vectorizer.column_of.get(term)
                if column is not None:
                    yield Added(typed, meant, "synonym", column, 1.0 if rule.replaces else ADDED_WEIGHT)

    def rows(self, asked: Sequence[AskedQuery]) -> sp.csr_array:
        """Return word counts of queries, including the added words."""
        counts = self.vectorizer.counts([query.text for query in asked])
        if not any(query.added or query.replaced for query in asked):
            return counts
        table = sp.lil_array(counts)
        for row, query in enumerate(asked):
            for column in query.replaced:
                table[row, column] = 0
            for word in (word for word in query.added if word.column >= 0):
                table[row, word.column] = max(table[row, word.column], np.float32(word.weight))
        rows = sp.csr_array(table, dtype=np.float32)
        rows.eliminate_zeros()
        return rows


def _replace(typed: str, corrected: Sequence[Added], spans: Callable[[str], Sequence[tuple[int, int, str]]]) -> str:
    """Return the typed query with corrected words."""
    used, pieces, done = {word.typed: word.used for word in corrected}, list[str](), 0
    for start, end, word in spans(typed):
        if word in used and start >= done:
            pieces += [typed[done:start], used[word]]
            done = end
    return "".join([*pieces, typed[done:]])
