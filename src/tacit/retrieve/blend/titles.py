"""Members by titles: `title`, BM25 of titles alone, and `exact`, for items whose title is the query.

`exact` raises the score of items whose title equals or nearly equals the query.

A user who types the title of a page wants that page first, even if long pages repeat its words many times. Titles and
queries are rows of weights of length 1. The weight of word w is

    v(w) = ln(1 + n / df(w));  0.2 for a function word

n is the number of items and df(w) the number that contain w. The product of title and query is their cosine c. It is 1
for the same words. c^2 is at most the share of the query that the title covers, and at most the share of the title that
the query covers. An item gains

    m(c) = max(0, (c^2 - 0.8) / 0.2)^2

This is 1 for the same words and 0 for a query that shares only a few words with the title. Different titles can have
the same words after stemming and without signs ("C" and "C++", "function" and "functional"). An item whose title is the
typed text gains 0.5 more, also if none of its words is known; case and spaces do not matter. Query rows hold a hash of
the typed text if some item has that title (`mark_titles`).

The unit is the best BM25 score of the query in the unit of `bm25`, but at least 5, because the candidates can have
equal scores. With weight 1, a title with the same words adds as much as the best match by words. Gains do not depend on
the candidates, because a page with a one-word title may not be among them.

Only a few postings are read to find the items that can gain. By the Cauchy-Schwarz inequality, c^2 is at most the share
of the query's squared weights on words of the title. The most frequent words of the query are therefore skipped as long
as their share is less than 0.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import TacitError
from tacit.features.text.weighting import weigh
from tacit.features.text.words import title_keys
from tacit.kernels.scoring import add_sparse_scores_at
from tacit.retrieve.blend.member import FewItemsMember, ItemRows, QueryBlock, RankerMember, deviations
from tacit.retrieve.explanation import Term, difference, word_terms
from tacit.retrieve.factors import FewFactors, SparseFactors, append_rows, make_factors, whole, widened
from tacit.retrieve.lexical.bm25 import Bm25Ranker
from tacit.retrieve.training_data import Terms, TrainingData, check_title_keys

if TYPE_CHECKING:
    from tacit.retrieve.blend.ranker import BlendRanker

TITLE_B = 0.5  # b of BM25: titles differ little in length
LEAST_UNIT = 5.0  # in standard deviations of a member
LEAST_COVERED = 0.8  # minimum of c^2: no gain if a fifth of the title or query differs
EMPTY = 0.2  # v of a function word: enough to distinguish titles of such words
SAME_TEXT = 0.5  # further gain of a title that is the typed text
KEY_COLUMNS = 2  # of a query row: a key has 48 bits, and a float32 holds 24 of them
HALF_KEY = 1 << 24


class TitleMember(RankerMember):
    """BM25 of titles alone; its weight is learned from labels."""

    name: ClassVar[str] = "title"
    heading: ClassVar[str] = "Words of the title"
    ranker_class: ClassVar = Bm25Ranker
    ranker_: Bm25Ranker

    @classmethod
    def fitted(cls, blend: BlendRanker, items: ItemRows, data: TrainingData) -> Self | None:
        """Fit BM25 of titles if there are titles and labels."""
        if items.titles is None or not data.has_pairs:
            return None
        made = cls()
        made.ranker_ = Bm25Ranker(b=TITLE_B).fit(None, items.titles)
        return made

    def rows(self, block: QueryBlock) -> sp.csr_array:
        """Return counts."""
        return block.words

    def add(self, items: ItemRows) -> None:
        """Append new items."""
        none = sp.csr_array(items.counts.shape, dtype=np.float32)
        self.ranker_.add_items(none if items.titles is None else items.titles)


class ExactTitleMember(FewItemsMember):
    """Score gains of items whose title is the query; the weight is a parameter and is not learned.

    Attributes
    ----------
    titles_ : csr_array of shape (n_items, n_features), float32
        Weights of the words of titles, rows of length 1 (0 without a title).
    values_ : ndarray of shape (n_features,), float32
        The weight v of each word.
    keys_ : ndarray of shape (n_items,), int64, or None
        Hash of each title as text, 0 without a title (`title_keys`); None if the texts were not given to `fit`.
    """

    _fitted: ClassVar = {"titles_": "items features", "values_": "features", "keys_": "?items"}
    _array_dtypes: ClassVar = ("float32", "int64")
    name: ClassVar[str] = "exact"
    heading: ClassVar[str] = "The title as a whole"
    kind: ClassVar = "title"
    learns_weight: ClassVar[bool] = False
    titles_: sp.csr_array
    values_: np.ndarray
    keys_: np.ndarray | None = None

    @classmethod
    def fitted(cls, blend: BlendRanker, items: ItemRows, data: TrainingData) -> Self | None:
        """Index the titles; None if there are none, or if the weight is 0."""
        if items.titles is None or not blend.exact:
            return None
        made = cls()
        made.values_ = word_values(items.idf, items.terms)
        made.titles_ = weigh(items.titles, made.values_, "log")
        made.keys_ = items.title_keys
        return made

    def known_keys(self, texts: Sequence[str]) -> np.ndarray:
        """Return the key of each text that is a title, int64; 0 for other texts."""
        if self.keys_ is None:
            return np.zeros(len(texts), np.int64)
        keys = title_keys(texts)
        return np.array([key if len(self._items_of_key(key)) else 0 for key in keys.tolist()], np.int64)

    def prior(self, blend: BlendRanker, data: TrainingData) -> float:
        """Return the weight given as a parameter."""
        return blend.exact

    def few(self, block: QueryBlock, row: int) -> FewFactors:
        """Return the items that gain for one query, ascending, and their gains."""
        by_words, same = self._gains_by_words(self._asked(block, row)), self._same_text(block, row)
        if not len(same):
            return by_words
        items = np.union1d(by_words.items, same)
        gains = np.zeros(len(items), np.float32)
        gains[np.searchsorted(items, by_words.items)] = by_words.scores
        gains[np.searchsorted(items, same)] += np.float32(SAME_TEXT)
        return FewFactors(items, gains, by_words.n_items)

    def factors(self, block: QueryBlock, at_candidates: np.ndarray) -> np.ndarray:
        """Return the best BM25 score of each query in the unit of `bm25`, at least `LEAST_UNIT`."""
        near = block.scores[:, : block.candidates.shape[1]]
        return np.maximum(near[:, 0] / deviations(near, block.has_candidate), LEAST_UNIT).astype(np.float32)

    def terms(self, query: QueryBlock, a: int, b: int | None) -> list[Term]:
        """Split the gain of each item by the words that its title shares with the query; the same text is one term."""
        asked, terms = self._asked(query, 0), list[Term]()
        by_words, same = self._gains_by_words(asked), self._same_text(query, 0)
        gain_of = dict(zip(by_words.items.tolist(), by_words.scores.tolist(), strict=True))
        for item, sign in [(a, 1.0)] if b is None else [(a, 1.0), (b, -1.0)]:
            if item in gain_of:
                shared = word_terms(asked.indices, asked.data.astype(np.float64), difference(self.titles_, item, None))
                scale = sign * gain_of[item] / sum(term.value for term in shared)
                terms += [term._replace(value=scale * term.value) for term in shared]
            if item in same:
                terms.append(Term(self.kind, -1, -1, sign * SAME_TEXT))
        return terms

    def add(self, items: ItemRows) -> None:
        """Append new items, and the weights of their new words."""
        width = items.counts.shape[1]
        known = len(self.values_)
        self.values_ = np.concatenate([self.values_, word_values(items.idf, items.terms)[known:]])
        none = sp.csr_array((items.counts.shape[0], width), dtype=np.float32)
        more = none if items.titles is None else weigh(items.titles, self.values_, "log")
        self.titles_ = append_rows(widened(self.titles_, width), more)
        if self.keys_ is not None:
            new = np.zeros(none.shape[0], np.int64) if items.title_keys is None else items.title_keys
            self.keys_ = np.concatenate([self.keys_, new])
        self._forget()

    def check(self, n_features: int, n_items: int) -> None:
        """Raise unless titles and weights match the blend and have values that `fit` can produce."""
        titles, values = self.titles_, self.values_
        if not sp.issparse(titles) or titles.shape != (n_items, n_features) or values.shape != (n_features,):
            raise TacitError(
                f"titles have shape {titles.shape} and {len(values)} weights, want {(n_items, n_features)}, sparse"
            )
        least = min(values.min(initial=0), titles.data.min(initial=0))
        if least < 0 or titles.data.max(initial=0) > 1 + 1e-5:
            raise TacitError("titles hold weights outside 0 to 1, want rows of length 1")
        check_title_keys(self.keys_, n_items)

    def _asked(self, block: QueryBlock, row: int) -> sp.csr_array:
        """Return the word weights of one query, of length 1."""
        typed = block.typed if block.typed.shape[0] == 1 else block.typed[[row]]
        return weigh(typed, self.values_, "log")

    def _same_text(self, block: QueryBlock, row: int) -> np.ndarray:
        """Return the items whose title is the typed text, ascending."""
        return self._items_of_key(0 if block.keys is None else int(block.keys[row]))

    def _items_of_key(self, key: int) -> np.ndarray:
        if not key or self.keys_ is None:
            return np.empty(0, np.int64)
        order, keys = self._by_key
        return order[slice(*np.searchsorted(keys, [key, key + 1]))]

    @cached_property
    def _by_key(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows in the order of their keys, and the keys in this order."""
        assert self.keys_ is not None
        order = np.argsort(self.keys_, kind="stable")
        return order, self.keys_[order]

    def _gains_by_words(self, asked: sp.csr_array) -> FewFactors:
        """Return the items that gain by their words, ascending, and these gains."""
        postings = self._factors.postings
        frequencies = postings.indptr[asked.indices + 1] - postings.indptr[asked.indices]
        words = rare_words(asked.indices, asked.data, frequencies)
        found = [postings.indices[postings.indptr[word] : postings.indptr[word + 1]] for word in words]
        items = np.unique(np.concatenate(found)) if found else np.empty(0, np.int32)
        cosines, titles = np.zeros(len(items), np.float32), self.titles_
        given = whole(items), whole(asked.indices), asked.data
        add_sparse_scores_at(*given, titles.indptr, titles.indices, titles.data, cosines)
        gains = title_gains(cosines)
        return FewFactors(items[gains > 0].astype(np.int64), gains[gains > 0], titles.shape[0])

    @cached_property
    def _factors(self) -> SparseFactors:
        found = make_factors(self.titles_)
        assert isinstance(found, SparseFactors)
        return found


def join_keys(rows: sp.csr_array, keys: np.ndarray) -> sp.csr_array:
    """Return query rows followed by their keys, in two columns that float32 holds exactly."""
    halves = np.stack([keys // HALF_KEY, keys % HALF_KEY], axis=1).astype(np.float32)
    return sp.csr_array(sp.hstack([rows, sp.csr_array(halves)], format="csr", dtype=np.float32))


def split_keys(rows: sp.csr_array) -> tuple[sp.csr_array, np.ndarray]:
    """Return query rows without their last two columns, and the keys in these, int64.

    >>> rows, keys = split_keys(join_keys(sp.csr_array(np.eye(2, dtype=np.float32)), np.array([(1 << 48) - 1, 0])))
    >>> rows.shape, keys.tolist()
    ((2, 2), [281474976710655, 0])
    """
    halves = rows[:, -KEY_COLUMNS:].toarray().astype(np.int64)
    return sp.csr_array(rows[:, :-KEY_COLUMNS]), halves[:, 0] * HALF_KEY + halves[:, 1]


def word_values(idf: np.ndarray, terms: Terms | None) -> np.ndarray:
    """Return the weight v of each word, float32, from ln(n / df).

    >>> word_values(np.log(np.array([1.0, 3.0, 3.0])), Terms(["a", "zebra", "of"], np.array([2]))).round(3)
    array([0.693, 1.386, 0.2  ], dtype=float32)
    """
    values = np.log1p(np.exp(idf.astype(np.float64))).astype(np.float32)
    if terms is not None:
        values[terms.functional] = EMPTY
    return values


def rare_words(words: np.ndarray, weights: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """Return the words of a query of which a title needs at least one to gain: all but the most frequent.

    `weights` and `frequencies` are those of `words`.

    >>> rare_words(np.array([0, 1, 2]), np.array([0.6, 0.5, 0.62]), np.array([9, 5, 7])).tolist()
    [1]
    """
    order = np.argsort(-frequencies, kind="stable")
    left_out = np.cumsum(weights[order].astype(np.float64) ** 2) < LEAST_COVERED * (1 - 1e-5)  # cosines are rounded
    return words[order[~left_out]]


def title_gains(cosines: np.ndarray) -> np.ndarray:
    """Return m(c), float32.

    >>> title_gains(np.sqrt([1.0, 0.9, 0.7])).round(3)
    array([1.  , 0.25, 0.  ], dtype=float32)
    """
    share = (np.minimum(cosines.astype(np.float64), 1.0) ** 2 - LEAST_COVERED) / (1 - LEAST_COVERED)
    return (np.maximum(share, 0) ** 2).astype(np.float32)
