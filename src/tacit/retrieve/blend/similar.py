"""Member `similar`: documents judged relevant for similar queries.

    s(q, i) = sum over judged queries p of  cos(q, p)^2 r(p, i),      scaled so that the best item has 1
    r(p, i) = grade of i for p / (largest grade of p  *  sqrt(number of relevant items of p))

cos(q, p) is the cosine similarity of logarithmic tf-idf rows. The square reduces the effect of queries that share only
one frequent word. The root keeps queries with many relevant items from dominating. Unlike other members' scores, these
are not divided by their standard deviation: few items have a score above 0, so a single judgment could otherwise decide
the ranking.

Its weight without labels is 0. With labels it must improve the result in cross-validation, where no query is scored by
its own judgments (`examples`). It must not lower the results of queries about items without judgments.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import ClickedLinks, Links, TacitError
from tacit.features.text.weighting import weigh
from tacit.retrieve.blend.member import ItemRows, Member, QueryBlock, count_less
from tacit.retrieve.explanation import Term
from tacit.retrieve.factors import FactorPair, FewFactors, append_rows, scores_at, widened
from tacit.retrieve.training_data import TrainingData
from tacit.retrieve.vectors import split_vectors

if TYPE_CHECKING:
    from tacit.retrieve.blend.ranker import BlendRanker


TRIED = (1.0, 2.0, 4.0, 8.0)  # weights
MIN_QUERIES = 10  # minimum number of judged queries; fewer cannot show a gain


class SimilarMember(Member):
    """Judgments of similar queries.

    Attributes
    ----------
    judged_queries_ : csr_array of shape (n_judged_queries, n_features), float32
        Tf-idf of the queries, rows of length 1.
    judgments_ : csr_array of shape (n_items, n_judged_queries), float32
        r(p, i) of the items judged relevant.
    """

    _fitted: ClassVar = {"judged_queries_": "judged_queries words", "judgments_": "items judged_queries"}
    name: ClassVar[str] = "similar"
    trains_on_pairs: ClassVar[bool] = True
    for_any_query: ClassVar[bool] = False
    judged_queries_: sp.csr_array
    judgments_: sp.csr_array

    @classmethod
    def fitted(cls, blend: BlendRanker, items: ItemRows, data: TrainingData) -> Self | None:
        """Store the judged queries if there are at least ten; None for links and for clicks (see `clicks`)."""
        if not data.has_pairs or data.queries_are_items or isinstance(data.pairs, ClickedLinks) or not blend.similar:
            return None
        words, _ = split_vectors(sp.csr_array(data.queries), blend.n_features_)
        made, rows = cls(), np.unique(data.pairs.sources)
        if len(rows) < MIN_QUERIES:
            return None
        judged = count_less(words[rows], blend.content_, blend.bm25.idf_)
        made.judged_queries_ = weigh(judged, items.idf, "log")
        made.judgments_ = sp.csr_array(judged_shares(data.pairs)[rows].T)
        return made

    def tried_weights(self, data: TrainingData) -> Sequence[float]:
        """Return weights to try: it has none without labels."""
        return TRIED

    def on(self, pairs: Links, known: Links) -> Self:
        """Return a copy that uses only the judgments of `known`, a subset of the `pairs` that it was fitted on."""
        made = copy(self)
        made.judgments_ = sp.csr_array(judged_shares(known)[np.unique(pairs.sources)].T)
        made._forget()
        return made

    def answers(self, block: QueryBlock) -> bool:
        """Return whether one of the queries shares a word with a judged query."""
        return any(len(self._few(block, row).items) for row in range(len(block.items)))

    def scores(self, block: QueryBlock) -> np.ndarray:
        """Return the scores of all items, float32 (n_queries, n_items)."""
        scores = np.zeros((len(block.items), self.judgments_.shape[0]), np.float32)
        for row, out in enumerate(scores):
            few = self._few(block, row)
            out[few.items] = few.scores
        return scores

    def pairs(self, query: QueryBlock) -> list[FactorPair]:
        """Return the scores of a few items."""
        return [(self._few(query, 0), None)]

    def items_of(self, query: QueryBlock) -> np.ndarray:
        """Return the items judged relevant for a similar query."""
        return self._few(query, 0).items

    def factors(self, block: QueryBlock, at_candidates: np.ndarray) -> np.ndarray:
        """Return ones, because scores are at most 1 for any candidates."""
        return np.ones(len(block.items), np.float32)

    def terms(self, query: QueryBlock, a: int, b: int | None) -> list[Term]:
        """Return one term if judgments of similar queries change the difference."""
        found = scores_at(self.pairs(query), np.array([a] if b is None else [a, b])).tolist()
        change = sum(sign * score for sign, score in zip((1.0, -1.0), found, strict=False))
        return [Term("similar", -1, -1, change)] if change else []

    def add(self, items: ItemRows) -> None:
        """Append new items, which have no judgments."""
        none = sp.csr_array((items.counts.shape[0], self.judgments_.shape[1]), dtype=np.float32)
        self.judgments_ = append_rows(self.judgments_, none)
        self.judged_queries_ = widened(self.judged_queries_, items.counts.shape[1])
        self._forget()

    def check(self, n_features: int, n_items: int) -> None:
        """Raise unless queries and judgments match the blend and have values that `fit` can produce."""
        queries, judgments = self.judged_queries_, self.judgments_
        found = judgments.shape[0], queries.shape[1]
        if found != (n_items, n_features) or not (sp.issparse(queries) and sp.issparse(judgments)):
            raise TacitError(
                f"judged queries are for {found[0]} items and {found[1]} words, want {n_items} and {n_features}, sparse"
            )
        values = np.concatenate([queries.data, judgments.data])
        if values.min(initial=0) < 0 or values.max(initial=0) > 1 + 1e-5:
            raise TacitError("judged queries hold weights outside 0 to 1")

    def _few(self, block: QueryBlock, row: int) -> FewFactors:
        """Return the items judged relevant for queries similar to one query, ascending, and their scores."""
        asked = weigh(block.words[[row]], block.idf, "log")
        found = sp.csr_array((asked @ self._queries_by_word).power(2) @ self._judgments_by_query)
        found.sort_indices()
        best = found.data.max(initial=0)
        scores = found.data / best if best > 0 else found.data[:0]
        return FewFactors(found.indices[: len(scores)].astype(np.int64), scores, self.judgments_.shape[0])

    @cached_property
    def _queries_by_word(self) -> sp.csr_array:
        return sp.csr_array(self.judged_queries_.T)

    @cached_property
    def _judgments_by_query(self) -> sp.csr_array:
        return sp.csr_array(self.judgments_.T)

    def _forget(self) -> None:
        for name in ("_queries_by_word", "_judgments_by_query"):
            self.__dict__.pop(name, None)

    def with_items(self, rows: np.ndarray) -> Self:
        """Return a copy that has some of the items."""
        made = super().with_items(rows)
        made._forget()
        return made


def judged_shares(pairs: Links) -> sp.csr_array:
    """Return r(p, i) of each pair, queries by items, float32.

    >>> judged_shares(Links([0, 0, 1], [2, 0, 1], 2, 3, [3.0, 1.5, 2.0])).toarray().round(3)
    array([[0.354, 0.   , 0.707],
           [0.   , 1.   , 0.   ]], dtype=float32)
    """
    found = pairs.to_csr().astype(np.float64)
    rows = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
    largest, relevant = np.zeros(found.shape[0]), np.bincount(rows, found.data > 0, minlength=found.shape[0])
    np.maximum.at(largest, rows, found.data)
    data = found.data / (np.maximum(largest, 1e-300) * np.sqrt(np.maximum(relevant, 1)))[rows]
    return sp.csr_array((data.astype(np.float32), found.indices, found.indptr), shape=found.shape)
