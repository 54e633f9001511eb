"""Base of the members of a blend, and the query data that members share.

A member scores items by a sum of products (`retrieve.factors`). To add a member to the blend, write a subclass of
`Member` in its own file and add it to `MEMBERS` (`ranker.py`).

Members have different units. The score of a member is divided by its standard deviation over the candidates of the
query, which are its first items by BM25. Scores of members can then be added, and no score depends on other queries.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, Links, TacitError, check_numbers
from tacit.features.text.weighting import weigh
from tacit.kernels.scoring import spread_of_rows
from tacit.retrieve.base import CollectionRanker, HoldsItems
from tacit.retrieve.explanation import Term, TermKind
from tacit.retrieve.factors import FactorPair, FewFactors, KnownScores, scores_at
from tacit.retrieve.lexical.bm25 import Bm25Ranker
from tacit.retrieve.training_data import ItemInputs, TrainingData

if TYPE_CHECKING:
    from tacit.retrieve.blend.ranker import BlendRanker

LARGEST_FACTOR = 1e30  # relative to the scores of a query, within float32
TIED = 1e-5  # a standard deviation below this fraction of the largest score is rounding error


class Limits(NamedTuple):
    """Numbers of items that `rank` and the scale of members depend on.

    Attributes
    ----------
    candidates : int, default=100
        First items by BM25 used to scale each member; the only limit that changes scores.
    per_result : int, default=300
        Minimum number of items per result, for at least ten results; below it, scoring all items is as fast as pruning.
    compared : float, default=0.05
        Up to this share of items that may be among the best, vectors are compared directly; above it, sketches exclude
        items first.
    very_many : int, default=200000
        Above this number of such items, a graph is faster than a sketch.
    one_in : int, default=400
        If only some items are ranked, fewer than one in this number, they are scored without bounds.
    """

    candidates: int = 100
    per_result: int = 300
    compared: float = 0.05
    very_many: int = 200_000
    one_in: int = 400


@dataclass(frozen=True)
class ItemRows(ItemInputs):
    """Rows of items in the form members use, in `fit` and for new items.

    Parameters
    ----------
    counts : csr_array of shape (n_items, n_features), float32
        Counts of words, with words of titles counted several times.
    idf : ndarray of shape (n_features,), float32
        Inverse document frequencies of tf-idf.
    **inputs
        Further inputs of the items, checked (`ItemInputs`). Vectors have length 1, or 0 where an item has none.
    """

    counts: sp.csr_array
    idf: np.ndarray

    def weighed(self, tf: str) -> sp.csr_array:
        """Return tf-idf rows; `tf` is "log" or "raw"."""
        return weigh(self.counts, self.idf, tf)


@dataclass(frozen=True)
class QueryBlock:
    """One or more queries, and their first items by BM25.

    Parameters
    ----------
    words : csr_array of shape (n_queries, n_features)
        Counts of words, with reduced counts for function words (`words.count_less`).
    vectors : ndarray of shape (n_queries, dim_of_vectors) or None
        Vectors of length 1, if the queries have vectors.
    idf : ndarray of shape (n_features,), float32
        Inverse document frequencies of tf-idf.
    bm25 : Bm25Ranker
        BM25 of the items.
    all_scores : ndarray of shape (n_queries, n_items), float32
        BM25 scores of all items.
    items : ndarray of shape (n_queries, n_first), int
        The first items by BM25, best first; -1 where there are no more.
    scores : ndarray of shape (n_queries, n_first), float32
        Their BM25 scores.
    typed : csr_array of shape (n_queries, n_features)
        Counts of all words, not reduced.
    n_candidates : int
        Number of first items used to scale each member.
    keys : ndarray of shape (n_queries,), int64, or None, default=None
        Hash of the typed text if it is the title of an item, else 0 (`blend.titles`).
    """

    words: sp.csr_array
    vectors: np.ndarray | None
    idf: np.ndarray
    bm25: Bm25Ranker
    all_scores: np.ndarray
    items: np.ndarray
    scores: np.ndarray
    typed: sp.csr_array
    n_candidates: int
    keys: np.ndarray | None = None

    @cached_property
    def n_words(self) -> np.ndarray:
        """Number of different known words of each query, float64."""
        return np.diff(self.words.indptr).astype(np.float64)

    @property
    def candidates(self) -> np.ndarray:
        """Return the items used to scale each member, (n_queries, n_candidates); -1 for padding."""
        return self.items[:, : self.n_candidates]

    @cached_property
    def known_scores(self) -> KnownScores:
        """The BM25 scores of all items for a single query, as factors."""
        return KnownScores(self.all_scores[0])

    @cached_property
    def has_candidate(self) -> np.ndarray:
        """Whether a place of `candidates` has an item, bool (n_queries, n_candidates)."""
        return self.candidates >= 0

    def weighed(self, tf: str) -> sp.csr_array:
        """Return tf-idf rows of the queries; `tf` is "log" or "raw"."""
        return weigh(self.words, self.idf, tf)


class Member(HoldsItems):
    """Base of the members of a blend.

    Subclasses implement `pairs`, `scores`, `terms`, `add`, and one way to be made: `fitted` from items, `trained` on
    pairs, or `fitted_last` from the finished blend. The other methods have defaults. The attributes named in `_fitted`
    are stored with the model.
    """

    name: ClassVar[str]
    heading: ClassVar[str] = ""  # of its terms in explanations; its name if it is empty
    trains_on_pairs: ClassVar[bool] = False  # learns from labels, so training queries are scored by `on`
    needs_vectors: ClassVar[bool] = False  # does not score queries without a vector
    for_any_query: ClassVar[bool] = True  # scores every query that has a known word
    is_reused: ClassVar[bool] = False  # can be reused by a blend with the same parameters, fitted on the same items
    learns_weight: ClassVar[bool] = True  # labels change its weight
    is_kept: ClassVar[bool] = False  # stays in the model when its weight is 0
    is_column: ClassVar[bool] = False  # its scores are a feature of second stages; changes what stored ones read
    n_first: int = 0  # number of first items by BM25 that it needs
    half_length: float = 0.0  # query length, in words, at which its weight is halved

    @classmethod
    def fitted(cls, blend: BlendRanker, items: ItemRows, data: TrainingData) -> Self | None:
        """Create the member from the parameters of a blend and from items; None if it has no data to score with."""
        return None

    def prior(self, blend: BlendRanker, data: TrainingData) -> float:
        """Return the weight without labels; all other members are already fitted."""
        return 0.0

    @classmethod
    def is_trained(cls, blend: BlendRanker, data: TrainingData) -> bool:
        """Return whether pairs train the member (`trained`); if not, it is made by `fitted` or `fitted_last`."""
        return False

    @classmethod
    def trained(
        cls, blend: BlendRanker, items: ItemRows, data: TrainingData, pairs: Links, validation: Links | None, part: str
    ) -> Self:
        """Return the member, trained on some pairs; `part` names its part of the checkpoint.

        `learning` calls it once for each fold of the pairs, and once for the member that stays.
        """
        # Not abstract, because most members are not trained on pairs: a subclass whose `is_trained` returns True
        # overrides this method too, and for all others it is never called.
        raise NotImplementedError(f"{cls.__name__}.is_trained returns True, so it needs a method `trained`")

    @classmethod
    def fitted_last(cls, blend: BlendRanker, data: TrainingData) -> Self | None:
        """Create the member from a blend of all others, whose weights are final; its own weight is 1."""
        return None

    def tried_weights(self, data: TrainingData) -> Sequence[float]:
        """Return weights to try in addition to the prior when weights are learned; an empty list by default."""
        return ()

    def on(self, pairs: Links, known: Links) -> Self:
        """Return the member as it would be with only `known`, a subset of the `pairs` that it was fitted on."""
        return self

    def answers(self, block: QueryBlock) -> bool:
        """Return whether it can score these queries."""
        return block.vectors is not None or not self.needs_vectors

    def leads(self, at_candidates: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Return the number that `share` depends on, for each query, from its scores of the candidates."""
        return np.full(len(candidates), math.inf)

    def calibrate(self, known: np.ndarray, unseen: np.ndarray) -> None:
        """Fit `share` to the leads of queries about items of training pairs (`known`) and of queries about others."""

    def share(self, leads: np.ndarray) -> Any:
        """Return the share of its weight that applies to queries with these leads; 1 by default."""
        return np.ones(len(leads))

    @abstractmethod
    def scores(self, block: QueryBlock) -> np.ndarray:
        """Return the scores of all items, float32 (n_queries, n_items), as a new array."""

    @abstractmethod
    def pairs(self, query: QueryBlock) -> list[FactorPair]:
        """Return the factors whose products are the scores of one query."""

    def items_of(self, query: QueryBlock) -> np.ndarray:
        """Return the items that are candidates for one query regardless of BM25; none by default."""
        return np.empty(0, np.int64)

    def bounding_pairs(self, query: QueryBlock, pairs: list[FactorPair]) -> list[FactorPair]:
        """Return factors whose products are at least the scores of one query: by default those of the scores."""
        return pairs

    def trust(self, block: QueryBlock, at_candidates: np.ndarray) -> Any:
        """Return the share of its weight that applies to each query, from 0 to 1; its candidate scores are given.

        The default is n / (n + half_length) for a query of n known words.
        """
        return length_trust(block.n_words, self.half_length)

    def factors(self, block: QueryBlock, at_candidates: np.ndarray) -> np.ndarray:
        """Return the factor that converts the scores of each query to the common unit, float32 (n_queries,)."""
        shares = self.trust(block, at_candidates)
        factors = shares / deviations(at_candidates, block.has_candidate)
        return np.minimum(factors, LARGEST_FACTOR).astype(np.float32)  # avoids infinity for scores such as 1e-40

    @abstractmethod
    def terms(self, query: QueryBlock, a: int, b: int | None) -> list[Term]:
        """Return the terms of score(a) - score(b), or of score(a) alone, for one query."""

    @abstractmethod
    def add(self, items: ItemRows) -> None:
        """Append new items."""

    def with_items(self, rows: np.ndarray) -> Self:
        """Return a copy that has some of the items."""
        made = super().with_items(rows)
        made._forget()
        return made

    def _forget(self) -> None:
        """Discard cached properties, because the items have changed."""
        for kind in type(self).__mro__:
            for name in [name for name, value in vars(kind).items() if isinstance(value, cached_property)]:
                self.__dict__.pop(name, None)

    @property
    def vector_ranker(self) -> Any:
        """Return the ranker that scores by one vector per item, for approximate search; None if there is none."""
        return None

    def check(self, n_features: int, n_items: int) -> None:
        """Raise TacitError unless the state, possibly read from a file, matches these numbers of words and items."""


class RankerMember(Member):
    """A member that wraps a ranker; `rows` makes the ranker's query rows."""

    _fitted: ClassVar = {"ranker_": "estimator"}
    ranker_: CollectionRanker
    ranker_class: ClassVar[type[CollectionRanker]]
    by_vectors: ClassVar[bool] = False

    def __init__(self, half_length: float = 0.0) -> None:
        self.half_length = half_length

    @abstractmethod
    def rows(self, block: QueryBlock) -> Features:
        """Return the queries as rows of the ranker."""

    def scores(self, block: QueryBlock) -> np.ndarray:
        """Return the scores of all items, float32 (n_queries, n_items)."""
        return self.ranker_.score_rows(self.rows(block))

    def pairs(self, query: QueryBlock) -> list[FactorPair]:
        """Return the factors whose products are the scores of one query."""
        return self.ranker_.factor_pairs(self.rows(query))

    def terms(self, query: QueryBlock, a: int, b: int | None) -> list[Term]:
        """Return the terms of the ranker."""
        return self.ranker_._terms(self.rows(query), a, b)

    @property
    def vector_ranker(self) -> CollectionRanker | None:
        """Return the ranker if it scores by vectors."""
        return self.ranker_ if self.by_vectors else None

    def check(self, n_features: int, n_items: int) -> None:
        """Raise unless the ranker has the expected class and the same words and items as the others."""
        if not isinstance(self.ranker_, self.ranker_class):
            found, wanted = type(self.ranker_).__name__, self.ranker_class.__name__
            raise TacitError(f"member {self.name} is a {found}, want a {wanted}")
        check_numbers(self, "half_length", low=0)
        self._check_sizes(n_features, n_items)

    def _check_sizes(self, n_features: int, n_items: int) -> None:
        found = self.ranker_.n_features_, self.ranker_.n_items_
        if found != (n_features, n_items):
            raise TacitError(
                f"member {self.name} is for {found[0]} features and {found[1]} items, want {n_features} and {n_items}"
            )


class FewItemsMember(Member):
    """A member that changes the scores of a few items, for the queries that it knows.

    Subclasses implement `few`. The scores are in the unit of the blend, unless
    `factors` is overridden.
    """

    for_any_query: ClassVar[bool] = False
    kind: ClassVar[TermKind] = "item"  # of its terms

    @abstractmethod
    def few(self, block: QueryBlock, row: int) -> FewFactors:
        """Return the items whose scores one query of a block changes, ascending, and the changes."""

    def answers(self, block: QueryBlock) -> bool:
        """Return whether one of the queries changes a score."""
        return any(len(self.few(block, row).items) for row in range(len(block.items)))

    def scores(self, block: QueryBlock) -> np.ndarray:
        """Return the scores of all items, float32 (n_queries, n_items)."""
        scores = np.zeros(block.all_scores.shape, np.float32)
        for row, out in enumerate(scores):
            few = self.few(block, row)
            out[few.items] = few.scores
        return scores

    def pairs(self, query: QueryBlock) -> list[FactorPair]:
        """Return the scores of a few items."""
        return [(self.few(query, 0), None)]

    def items_of(self, query: QueryBlock) -> np.ndarray:
        """Return the items whose scores change for one query."""
        return self.few(query, 0).items

    def factors(self, block: QueryBlock, at_candidates: np.ndarray) -> np.ndarray:
        """Return ones."""
        return np.ones(len(block.items), np.float32)

    def terms(self, query: QueryBlock, a: int, b: int | None) -> list[Term]:
        """Return one term if the difference changes."""
        found = scores_at(self.pairs(query), np.array([a] if b is None else [a, b])).tolist()
        change = sum(sign * score for sign, score in zip((1.0, -1.0), found, strict=False))
        return [Term(self.kind, -1, -1, change)] if change else []


@dataclass(frozen=True)
class ScoredMember:
    """One member's scores for one query.

    Parameters
    ----------
    member : Member
        The member.
    pairs : list of FactorPair
        The factors of its scores.
    scores : ndarray of shape (n_some_items,), float32
        Its scores of some items, in its own unit: the first items by BM25, then others.
    factor : float32
        Factor that converts them to the common unit.
    weight : float32
        Weight of the member for this query.
    """

    member: Member
    pairs: list[FactorPair]
    scores: np.ndarray
    factor: np.float32
    weight: np.float32

    @property
    def scale(self) -> np.float32:
        """What its scores are multiplied by in the score of the blend."""
        return self.weight * self.factor


def length_trust(n_words: np.ndarray, half_length: float) -> Any:
    """Return n / (n + half_length) for queries of n words.

    One or two words are too little evidence to infer related words.

    >>> length_trust(np.array([0.0, 4.0, 12.0]), 12.0).tolist()
    [0.0, 0.25, 0.5]
    """
    return n_words / np.maximum(n_words + half_length, 1e-12)


def deviations(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the standard deviation of the known values of each row, float64; 1 if they are tied.

    >>> known = np.array([[True, True, False], [True, True, True]])
    >>> deviations(np.array([[5.0, 1.0, 9.0], [2.0, 2.0, 2.0]]), known)
    array([2., 1.])
    """
    found = np.empty(len(values))
    spread_of_rows(np.ascontiguousarray(values, np.float64), np.ascontiguousarray(known), TIED, found)
    return found


def scores_near(scores: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Return the candidates' scores for each query, (n_queries, n_candidates); padding has the score of item 0."""
    return np.take_along_axis(scores, np.maximum(candidates, 0), axis=1)


def names_of(members: Sequence[Member]) -> list[str]:
    """Return the names of members, in order."""
    return [member.name for member in members]
