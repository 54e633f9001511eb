"""`blend`: BM25, learned concepts and pseudo relevance feedback, combined into one score.

    score(q, i) = sum over members m of  w_m t_m(q) s_m(q, i) / sigma_m(q)

s_m is the score of member m. sigma_m(q) is its standard deviation over the first items of the query by BM25. w_m is its
weight, and t_m(q) is the share of the weight that applies to this query. For `latent` and `feedback`, t is n / (n +
half_length), where n is the number of different known words of the query. Their share grows with the length of the
query, because one or two words are too little evidence to infer related words.

    bm25       BM25                                                        words.py
    content    BM25 of the content words of the query                      words.py
    spelling   BM25 of words with a similar spelling                       words.py
    latent     learned concepts on logarithmic tf-idf                      embeddings.py
    feedback   BM25 of words from the first results                        words.py
    title      BM25 of titles alone; with labels only                      titles.py
    residual   `htr-residual`, trained on pairs; with labels only          embeddings.py
    similar    documents judged relevant for similar queries               past_queries.py
    vectors    cosine of vectors of another model, where they are given    vectors.py
    exact      titles equal or nearly equal to the query                   titles.py
    clicks     clicks on results of the same query, where there is a log   past_queries.py

Without labels, the parameters `content`, `spelling`, `latent` and `feedback` are the weights of these members. The
weight of `bm25` is 1 minus the weight of `content`. The weight of given vectors is measured (`vector_weight`).
The members `content` and `spelling` need the names of the words. With pairs, the weights are learned (`learning`), with
the weights without labels as the prior; the weight of `exact` is not learned. `pruning` finds the best items without
scoring all of them by all members.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import scipy.sparse as sp

from tacit.core import ClickedLinks, Features, TacitError, check_features, check_kind, check_numbers, join_links
from tacit.core.estimator import copy_estimator
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.blend.embeddings import LatentMember, ResidualMember
from tacit.retrieve.blend.learning import Learner, single, some_queries
from tacit.retrieve.blend.member import ItemRows, Limits, Member, QueryBlock, ScoredMember, names_of, scores_near
from tacit.retrieve.blend.past_queries import ClicksMember, SimilarMember
from tacit.retrieve.blend.pruning import prepare, rank_among, rank_row
from tacit.retrieve.blend.titles import KEY_COLUMNS, ExactTitleMember, TitleMember, join_keys, split_keys
from tacit.retrieve.blend.vectors import VectorsMember
from tacit.retrieve.blend.words import (
    Bm25Member,
    ContentMember,
    FeedbackMember,
    SpellingMember,
    content_words,
    count_less,
)
from tacit.retrieve.explanation import Term
from tacit.retrieve.factors import ItemFactors, best_items, scores_at, widened
from tacit.retrieve.lexical.bm25 import Bm25Ranker
from tacit.retrieve.training_data import ITEM_INPUTS, TrainingData, check_inputs
from tacit.retrieve.vectors import check_vectors, join_vectors, split_vectors

AnyMember = TypeVar("AnyMember", bound=Member)

# All members, in the order in which their scores are summed. BM25 selects the candidates of the others.
MEMBERS: tuple[type[Member], ...] = (
    Bm25Member,
    ContentMember,
    SpellingMember,
    LatentMember,
    FeedbackMember,
    TitleMember,
    ResidualMember,
    SimilarMember,
    VectorsMember,
    ExactTitleMember,
    ClicksMember,
)


class BlendRanker(CollectionRanker):
    """Weighted sum of BM25, learned concepts and pseudo relevance feedback; the weights are learned from pairs.

    Rows are word counts, preferably of stems.

    Parameters
    ----------
    dim : int, default=100
        Number of dimensions of the latent vectors.
    latent : float, default=4.0
        Weight of the learned concepts for long queries, without labels. BM25 has weight 1.
    feedback : float, default=3.0
        Weight of pseudo relevance feedback for long queries, without labels.
    half_length : float, default=12.0
        Query length, in words, at which `latent` and `feedback` have half of their weights.
    content : float, default=0.5
        Share of the BM25 weight that uses content words only, from 0 to 1, without labels.
    spelling : float, default=0.5
        Weight of words spelt like the words of the query, without labels.
    n_feedback : int, default=20
        Number of first results whose words expand the query.
    n_expansion : int, default=100
        Number of words added by feedback, and of words added by spelling.
    title_weight : int, default=3
        Number of times each title word is counted, if there are titles.
    exact : float, default=2.0
        Weight of a title equal to the query; 0 disables it. The unit is the best BM25 score of the query
        (`blend.titles`).
    vectors : float or None, default=None
        Weight of given vectors without labels; None means measured (`blend.vector_weight`), at most 8.
    n_candidates : int or None, default=None
        Number of first items by BM25 that `rank` chooses from; None means all items. With 100, ranking takes about half
        the time and misses about 2 of 100 results in the top 10. The minimum is 100 and twice the number of results.
    strength : float or None, default=None
        Strength of the prior when weights are learned, in queries; None means chosen by cross-validation.
    residual : bool or None, default=None
        Whether to train the member `residual` on pairs. None means yes for links between items and for at least 200
        pairs.
    similar : bool, default=False
        Whether to use judgments of similar queries (`blend.similar`). It needs at least ten judged queries. Try it if
        many queries have the same relevant documents.
    seed : int, default=0
        Random seed.
    threads : int or None, default=None
        Number of threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    members_ : list of Member
        The fitted members, `bm25` first.
    weights_ : dict of str to float
        Weight of each member by its name.
    short_weights_ : dict of str to float, or None
        Weights without labels, if `weights_` were learned from links. A query of n words uses a mixture of both, by n /
        `full_length_`. None means `weights_` for all queries.
    full_length_ : float or None
        Query length, in words, from which `weights_` apply unmixed; None without `short_weights_`.
    strength_ : float or None
        Strength of the prior used to learn the weights; None if the weights are the prior itself.
    idf_ : ndarray of shape (n_features,), float32
        Inverse document frequencies of tf-idf.
    content_ : ndarray of shape (n_features,), float32, or None
        0 for function words, which count less in queries, else 1; None means that there are no function words.

    Examples
    --------
    >>> counts = sp.csr_array(np.array([[2, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 2]], np.float32))
    >>> BlendRanker(dim=2).fit(None, counts).rank(counts[[0]], k=3).items
    array([[0, 1, 2]])
    """

    _fitted: ClassVar = {
        "members_": "estimators",
        "weights_": "numbers",
        "short_weights_": "?numbers",
        "full_length_": "?+",
        "strength_": "?+",
        "idf_": "features",
        "content_": "?features",
    }
    members_: list[Member]
    weights_: dict[str, float]
    short_weights_: dict[str, float] | None
    full_length_: float | None
    strength_: float | None
    idf_: np.ndarray
    content_: np.ndarray | None
    _counted: ClassVar = (*CollectionRanker._counted, "full_length_")
    features = "counts"
    answers_above: ClassVar[float | None] = 0.0  # negative scores come only from dissimilar concepts
    prefers_stems: ClassVar[bool] = True
    reads = ITEM_INPUTS | {"zeros", "program", "probes", "references", "members"}
    trains_in_epochs: ClassVar[bool] = True
    trains_on_cluster: ClassVar[bool] = True
    limits: Limits = Limits()

    def __init__(
        self,
        dim: int = 100,
        *,
        latent: float = 4.0,
        feedback: float = 3.0,
        half_length: float = 12.0,
        content: float = 0.5,
        spelling: float = 0.5,
        n_feedback: int = 20,
        n_expansion: int = 100,
        title_weight: int = 3,
        exact: float = 2.0,
        vectors: float | None = None,
        n_candidates: int | None = None,
        strength: float | None = None,
        residual: bool | None = None,
        similar: bool = False,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.dim, self.latent, self.feedback, self.half_length = dim, latent, feedback, half_length
        self.content, self.spelling = content, spelling
        self.n_feedback, self.n_expansion, self.title_weight = n_feedback, n_expansion, title_weight
        self.exact, self.vectors, self.n_candidates = exact, vectors, n_candidates
        self.strength, self.residual, self.similar = strength, residual, similar
        self.seed, self.threads = seed, threads

    def _prepared(self, data: TrainingData) -> TrainingData:
        self._check_params()
        check_kind("members", data.members, BlendRanker | None, "a fitted BlendRanker or None")
        pairs, program, zeros = data.pairs, data.program, data.zeros
        if isinstance(pairs, ClickedLinks):
            zeros = pairs.others_shown()
        if program is not None and pairs is not None:
            program = some_queries(program, pairs, self.seed)
            pairs = join_links(pairs, program.relevant())
        vectors = _unit_vectors(data.vectors, data.passages, data.items.shape[0])
        return replace(data, pairs=pairs, zeros=zeros, program=program, vectors=vectors)

    def _check_params(self) -> None:
        check_numbers(self, "latent", "feedback", "half_length", "spelling", "exact", low=0)
        check_numbers(self, "content", low=0, high=1)
        check_numbers(self, "dim", "n_feedback", "n_expansion", "title_weight", low=1, whole=True)
        check_numbers(self, "vectors", optional=True, low=0)
        check_numbers(self, "n_candidates", optional=True, low=1, whole=True)
        check_numbers(self, "strength", optional=True, low=0, open_low=True)

    def _fit(self, data: TrainingData) -> None:
        self.n_features_ = int(data.items.shape[1])
        data = replace(data, queries=self._query_rows(data))
        counts = self.with_titles(data.items, data.titles)
        items = ItemRows(counts, plain_idf(counts), **data.item_inputs)
        self.idf_, self.content_ = items.idf, None if items.terms is None else content_words(items.terms)
        self.members_, self.strength_, self.short_weights_, self.full_length_ = [], None, None, None
        for kind in MEMBERS:
            member = self._taken_over(kind, data) or kind.fitted(self, items, data)
            if member is not None:
                self.put(member)
        self.weights_ = {member.name: single(member.prior(self, data)) for member in self.members_}
        if data.has_pairs:
            Learner(self, items, data).learn()
        self.members_ = [member for member in self.members_ if member.is_kept or self._has_weight(member.name)]
        self.weights_ = {name: self.weights_[name] for name in names_of(self.members_)}
        for kind in MEMBERS:
            member = kind.fitted_last(self, data)
            if member is not None:
                self.put(member)
                self.weights_[member.name] = 1.0

    def _taken_over(self, kind: type[Member], data: TrainingData) -> Member | None:
        """Return the member of another blend, if it is slow to fit and does not learn from pairs."""
        known = data.members.of_kind(kind) if data.members is not None and kind.is_reused else None
        return None if known is None else copy_estimator(known)

    def _query_rows(self, data: TrainingData) -> sp.csr_array:
        """Return query rows, followed by vectors if there are any; items used as queries have their own vectors."""
        rows = sp.csr_array(data.queries)
        if data.vectors is None or rows.shape[1] != self.n_features_:
            width = self.n_features_ + (0 if data.vectors is None else data.vectors.shape[1])
            return sp.csr_array(check_features("queries", rows, n_columns=width))
        return join_vectors(rows, data.first_vectors) if data.queries_are_items else rows

    def with_titles(self, items: Features, titles: sp.csr_array | None) -> sp.csr_array:
        """Return counts in which title words count `title_weight` times."""
        counts = sp.csr_array(items)
        if titles is None or self.title_weight == 1:
            return counts
        return sp.csr_array(counts + (self.title_weight - 1) * titles).astype(np.float32)

    @staticmethod
    def member_kinds() -> tuple[type[Member], ...]:
        """Return the classes of all members, which a model folder may name."""
        return MEMBERS

    def member(self, name: str) -> Member | None:
        """Return the member of that name, or None."""
        return next((member for member in self.members_ if member.name == name), None)

    def of_kind(self, kind: type[AnyMember]) -> AnyMember | None:
        """Return the member of that class, or None."""
        return next((member for member in self.members_ if isinstance(member, kind)), None)

    def items_with_word(self, column: int) -> np.ndarray | None:
        """Return the rows of the items that contain a word, from BM25."""
        return self.bm25.items_with_word(column)

    def items_with_content(self, row: sp.csr_array) -> np.ndarray | None:
        """Return the rows of the items that contain a content word of one query; None if it has no known word."""
        words = row.indices[row.indices < self.n_features_]
        content = words if self.content_ is None else words[self.content_[words] > 0]
        found = [self.items_with_word(word) for word in (content if len(content) else words).tolist()]
        known = [items for items in found if items is not None]
        return np.unique(np.concatenate(known)) if known else None

    def put(self, member: Member) -> None:
        """Add a member or replace the one of the same name, in the order of `MEMBERS`."""
        others = [other for other in self.members_ if other.name != member.name]
        order = [kind.name for kind in MEMBERS]
        self.members_ = sorted([*others, member], key=lambda member: order.index(member.name))
        self._forget_factors()

    @property
    def bm25(self) -> Bm25Ranker:
        """The ranker of the member `bm25`; its first items are the candidates of all members."""
        first = self.members_[0]
        assert isinstance(first, Bm25Member)
        return first.ranker_

    @property
    def vectors_dim(self) -> int:
        """Number of dimensions of the vectors of the items; 0 if there are none."""
        member = self.of_kind(VectorsMember)
        return member.dim if member else 0

    @property
    def uses_vectors(self) -> bool:
        """Whether the member `vectors` has a weight above 0."""
        return self._has_weight(VectorsMember.name)

    def only(self, name: str) -> Self:
        """Return the same blend with one member alone, such as the vectors of an encoder."""
        found = copy(self)
        found.weights_ = {other: float(other == name) for other in self.weights_}
        found.short_weights_ = found.full_length_ = None
        return found

    def given_vectors(self) -> dict[str, Any]:
        """Return the vectors of the items as arguments of `fit` (`vectors`, `passages`); empty if there are none."""
        member = self.of_kind(VectorsMember)
        return {"vectors": member.vectors_.astype(np.float32), "passages": member.passages_} if member else {}

    @property
    def has_learned(self) -> bool:
        """Whether pairs changed the weights."""
        return self.strength_ is not None or any(member.trains_on_pairs for member in self.members_)

    @property
    def n_clicked_queries(self) -> int:
        """Number of queries whose results clicks change."""
        member = self.of_kind(ClicksMember)
        return member.n_queries if member else 0

    def _has_weight(self, name: str) -> bool:
        return any(weights.get(name) for weights in (self.weights_, self.short_weights_ or {}))

    def _weight(self, name: str, n_words: Any) -> Any:
        """Return the weight of a member for these query lengths, float32; one number if it is the same for all."""
        full = np.float32(self.weights_[name])
        if self.short_weights_ is None or self.full_length_ is None:
            return full
        share = np.minimum(n_words / self.full_length_, 1).astype(np.float32)
        return (1 - share) * np.float32(self.short_weights_.get(name, 0.0)) + share * full

    def _check_queries(self, queries: Features) -> Features:
        """Check rows of word counts, optionally followed by vectors (`join_vectors`) and keys (`mark_titles`)."""
        found, width = np.shape(queries)[1:], self.n_features_ + self.vectors_dim
        joined = next((known for known in (width, width + KEY_COLUMNS) if found == (known,)), self.n_features_)
        return check_features("queries", queries, n_columns=joined)

    def mark_titles(self, rows: sp.csr_array, texts: Sequence[str]) -> sp.csr_array:
        """Return query rows followed by the keys of typed titles (`blend.titles`); as they are if no text is one."""
        titles = self.of_kind(ExactTitleMember)
        keys = None if titles is None else titles.known_keys(texts)
        if keys is None or not keys.any():
            return rows
        return join_keys(widened(rows, self.n_features_ + self.vectors_dim), keys)

    def query_block(self, rows: sp.csr_array, skip: sp.csr_array | None, n_first: int = 0) -> QueryBlock:
        """Return some queries with their first items by BM25, at least as many as the members need."""
        keys = None
        if rows.shape[1] == self.n_features_ + self.vectors_dim + KEY_COLUMNS:
            rows, keys = split_keys(rows)
        typed, vectors = split_vectors(rows, self.n_features_)
        words = count_less(typed, self.content_, self.bm25.idf_)
        all_scores = self.bm25.score_rows(words)
        n_best = max(self.limits.candidates, n_first, *(member.n_first for member in self.members_))
        items, scores = best_items(all_scores, skip, n_best)
        n_candidates = self.limits.candidates
        return QueryBlock(words, vectors, self.idf_, self.bm25, all_scores, items, scores, typed, n_candidates, keys)

    def _used(self, block: QueryBlock) -> list[Member]:
        """Return the members that have a weight and can score the queries."""
        return [member for member in self.members_ if self._has_weight(member.name) and member.answers(block)]

    def score_rows(self, rows: Features, skip: sp.csr_array | None = None) -> np.ndarray:
        """Return `scores`, the sum of the scores of all members with a weight."""
        block = self.query_block(sp.csr_array(rows), skip)
        total: np.ndarray | None = None
        for member in self._used(block):
            scores = member.scores(block)
            factors = member.factors(block, scores_near(scores, block.candidates))
            scores *= (self._weight(member.name, block.n_words) * factors)[:, None]  # these arrays are not shared
            total = scores if total is None else np.add(total, scores, out=total)
        assert total is not None  # a blend without any weight is rejected
        return total

    def score_query(
        self, query: QueryBlock, items: np.ndarray | None = None, members: Sequence[Member] | None = None
    ) -> list[ScoredMember]:
        """Score one query at the first items by BM25 (item 0 for -1) and at other items, by all members with a weight.

        `members` are the members to score by instead.
        """
        at = np.maximum(query.items[0], 0)
        at = at if items is None else np.concatenate([at, items])
        found, n_near = list[ScoredMember](), query.candidates.shape[1]
        for member in self._used(query) if members is None else members:
            pairs = member.pairs(query)
            scores = scores_at(pairs, at)
            factor, weight = member.factors(query, scores[None, :n_near])[0], self._weight(member.name, query.words.nnz)
            found.append(ScoredMember(member, pairs, scores, factor, weight))
        return found

    def _rank_rows(self, rows: Features, skip: sp.csr_array, items: np.ndarray, scores: np.ndarray) -> None:
        """Fill items and scores (n_rows, k) with the best items of each query."""
        if self._scores_all(items.shape[1]):
            super()._rank_rows(rows, skip, items, scores)
            return
        asked = rows if sp.issparse(rows) else sp.csr_array(rows)
        for row in range(rows.shape[0]):
            rank_row(self, _one_row(asked, row), _one_row(skip, row), items[row], scores[row])

    def member_scores_at(self, row: sp.csr_array, items: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Return scores of some items for one query by the members among `names`, in the common unit, float32."""
        query = self.query_block(sp.csr_array(row), None)
        wanted = [member for member in self.members_ if member.name in names and member.answers(query)]
        return {
            scored.member.name: scored.factor * scored.scores[query.items.shape[1] :]
            for scored in self.score_query(query, items, wanted)
        }

    def _scores_all(self, k: int) -> bool:
        """Return whether `rank` scores all items, because they are few for k results."""
        few = self.n_items_ < self.limits.per_result * max(10, k)
        return few and self.n_candidates is None and not self.graphs

    def prepare(self, query: Features) -> None:
        """Compute what queries such as this one need and `rank` otherwise computes when one first needs it."""
        if not self._scores_all(1):
            prepare(self, sp.csr_array(self._check_queries(query)))

    def rank_among(self, row: Features, items: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the k best of some items as `rank` ranks them; None if it selects candidates or works in parts."""
        if self.graphs or self.n_candidates is not None or self.rank_in_parts is not None:
            return None
        return rank_among(self, sp.csr_array(self._check_queries(row)), items, k)

    def scores_at(self, row: sp.csr_array, items: np.ndarray) -> np.ndarray:
        """Return the scores of some items for one query, float64."""
        query, total = self.query_block(row, None), np.zeros(len(items))
        for scored in self.score_query(query, items):
            total += float(scored.weight) * (scored.factor * scored.scores[query.items.shape[1] :])
        return total

    def rankers_by_vectors(self) -> list[CollectionRanker]:
        """Return the members that score by one vector for each item and have a weight."""
        found = [member.vector_ranker for member in self.members_ if self._has_weight(member.name)]
        return [ranker for ranker in found if ranker is not None]

    def _make_item_factors(self) -> Sequence[ItemFactors]:
        return self.bm25.item_factors

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        raise AssertionError("scores of a blend are no sum of fixed factors")

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        """Return the terms of each member, with its name; the terms of `feedback` are words of the first results."""
        block, terms = self.query_block(sp.csr_array(query), None), list[Term]()
        for scored in self.score_query(block):
            scale, member = float(scored.weight) * float(scored.factor), scored.member
            terms += [
                term._replace(value=scale * term.value, member=member.name, heading=member.heading or member.name)
                for term in member.terms(block, a, b)
            ]
        return terms

    def check_new_items(self) -> None:
        """Accept all items, because any item can be added."""

    def add_items(self, items: Features, **given: Any) -> Self:
        """Make new items rankable; see `CollectionRanker.add_items`, and `CollectionRanker.fit` for other inputs.

        `terms` are the words of all columns: the words given to `fit`, then the new ones. Items without a vector get
        the score of an average item by `vectors`.
        """
        new = check_inputs(items, given, ITEM_INPUTS)
        if new.get("vectors") is not None and not self.vectors_dim:
            raise TacitError("the ranker has no vectors, want it fitted with vectors of all items")
        new["vectors"] = _unit_vectors(new.get("vectors"), new.get("passages"), items.shape[0], self.vectors_dim)
        rows = self._checked_new(items)
        if self.content_ is not None and new.get("terms") is not None:
            self.content_ = content_words(new["terms"])
        counts = self.with_titles(rows, new["titles"])
        seen = widened(self.bm25.idf_, len(self.idf_)) > 0
        n_items = self.n_items_ + self.n_removed_ + counts.shape[0]
        self.idf_ = np.where(seen, self.idf_, plain_idf(counts, n_items))
        for member in self.members_:
            member.add(ItemRows(counts, self.idf_, **new))
        return self._added(rows.shape[0])

    def _grow(self, width: int) -> None:
        self.idf_ = widened(self.idf_, width)
        self.content_ = None if self.content_ is None else widened(self.content_, width, 1.0)
        super()._grow(width)

    def _check_loaded(self) -> None:
        self._check_members()
        for member in self.members_:
            member.check(self.n_features_, self.bm25.n_items_)
        self._check_weights()
        self._check_params()
        if self.content_ is not None and not np.isin(self.content_, (0, 1)).all():
            raise TacitError("content_ holds other numbers than 0 and 1")

    def _check_members(self) -> None:
        """Raise unless all members are of type Member, unique, in order, and include BM25."""
        order = list(MEMBERS)
        found = [type(member) for member in self.members_]
        places = [order.index(kind) for kind in found if kind in order]
        if len(places) != len(found) or places != sorted(set(places)) or not found or found[0] is not Bm25Member:
            wanted = ", ".join(kind.__name__ for kind in MEMBERS)
            raise TacitError(f"members are {[kind.__name__ for kind in found]}, want some of {wanted}, in this order")

    def _check_weights(self) -> None:
        """Raise unless weights are at least 0, name existing members, and are not all 0 for members by words."""
        if (self.short_weights_ is None) != (self.full_length_ is None):
            raise TacitError("there is one of short_weights_ and full_length_, want both or none")
        names = names_of(self.members_)
        for weights in (self.weights_, self.short_weights_):
            if weights is None:
                continue
            missing = [name for name, weight in weights.items() if weight and name not in names]
            if missing:
                raise TacitError(f"member {missing[0]} has a weight, but is not in the model")
            by_words = [weights.get(member.name, 0.0) for member in self.members_ if member.for_any_query]
            if min(weights.values(), default=0) < 0 or not any(by_words):
                raise TacitError(f"weights are {weights}, want numbers >= 0, by words not all of them 0")
        if any(name not in self.weights_ for name in names):
            raise TacitError(f"weights are given for {', '.join(self.weights_)}, want them for {', '.join(names)}")


def _unit_vectors(
    vectors: np.ndarray | None, passages: np.ndarray | None, n_items: int, dim: int | None = None
) -> np.ndarray | None:
    """Return vectors of length 1, one for each item or passage."""
    n_vectors = n_items if passages is None else int(passages[-1])
    return None if vectors is None else check_vectors("vectors", vectors, n_vectors, dim)


def plain_idf(counts: sp.csr_array, n_items: int | None = None) -> np.ndarray:
    """Return ln(n / df) of each word, float32; 0 for a word that no row contains."""
    frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
    n_rows = counts.shape[0] if n_items is None else n_items
    return np.where(frequencies > 0, np.log(n_rows / np.maximum(frequencies, 1)), 0.0).astype(np.float32)


def _one_row(matrix: sp.csr_array, row: int) -> sp.csr_array:
    """Return one row as a matrix."""
    return matrix if matrix.shape[0] == 1 else matrix[[row]]
