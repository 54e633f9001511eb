"""`blend`: BM25, learned concepts and pseudo relevance feedback as one score.

    score(q, i) = sum over members m of  w_m h_m(q) s_m(q, i) / sigma_m(q)

sigma_m(q) is the standard deviation of member m over the query's candidates, its first items by BM25: members with
different units can be added, and nothing depends on other queries. h is 1 for BM25 and titles and n / (n + half_length)
for `latent`, `feedback` and `vectors`, n being the number of different known words of the query. What these add to BM25
grows with the length of the query: one or two words say too little to guess what else belongs to them.

Without labels the weights of bm25, latent and feedback are 1, `latent` and `feedback`; given vectors earn theirs by a
check of their own (see `vectors`); the other members have none. Without a vector a query is scored by the others.
With pairs they are learned (see `training`), with these as the prior. `residual` is trained where the pairs are links
between items, or many; half_length is for it the median length of the queries that it learned from, so that what was
learned from whole pages has little weight for short questions. Learned from judged queries, it also counts less for a
query that is probably about items that no judgment names (see `gate`). Weights learned from links are those of whole
items; a query of fewer words has weights between these and those without labels. Clicks also move the answers of the
queries that they were made for (see `asked`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import ClickedLinks, Features, Links, Shown, check_features, check_numbers
from tacit.features.text.weighting import weigh
from tacit.retrieve.blend.asked import learn_known
from tacit.retrieve.blend.items import BlendItems, plain_idf
from tacit.retrieve.blend.learning import BlendLearning
from tacit.retrieve.blend.loading import check_clicks, check_gate, check_members, check_weights
from tacit.retrieve.blend.members import MEMBERS
from tacit.retrieve.blend.vectors import (
    centred,
    check_vectors,
    earned_weight,
    join_vectors,
    mean_vector,
    shared_neighbours,
    spread_rows,
)
from tacit.retrieve.checkpoint import Checkpoint
from tacit.retrieve.latent.reconstruction import LearnedConcepts
from tacit.retrieve.lexical.bm25 import Bm25Ranker
from tacit.retrieve.lexical.cosine import CosineRanker

TITLE_B = 0.5  # titles differ little in length


class BlendRanker(BlendItems, BlendLearning):
    """Sum of BM25, learned concepts and pseudo relevance feedback; pairs learn the weights.

    Rows are counts of words, best of stems.

    Parameters
    ----------
    dim : int, default=100
        Width of the latent vectors.
    latent : float, default=4.0
        Weight of the learned concepts without labels, for long queries; BM25 has weight 1.
    feedback : float, default=3.0
        Weight of pseudo relevance feedback without labels, for long queries.
    half_length : float, default=12.0
        Number of words of a query for which these weights, and that of given vectors, count half.
    n_feedback : int, default=20
        Best items that give words to the query.
    n_expansion : int, default=100
        Number of words that they give.
    title_weight : int, default=3
        How often a word of a title is counted, where titles are given.
    vectors : float or None, default=None
        Weight of given vectors without labels, for long queries; None means at most 1, by their agreement with words.
    n_candidates : int or None, default=None
        Number of first items by BM25 that `rank` chooses from; None means all items. From 100 it takes about half the
        time and loses about 2 of 100 answers among the 10 best. At least 100 and twice as many as answers are taken.
    strength : float or None, default=None
        Strength of the prior in learning weights, in queries; None means chosen by cross-validation.
    residual : bool or None, default=None
        Whether pairs also train the member `residual`; None means so for links between items and from 200 pairs on.
    seed : int, default=0
        Random seed.
    threads : int or None, default=None
        Number of threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    bm25_ : Bm25Ranker
        The member `bm25`, whose weights also give the words of `feedback`.
    latent_ : LearnedConcepts or None
        The member `latent`; None if it has no weight.
    title_ : Bm25Ranker or None
        The member `title`; None if it has no weight.
    residual_ : EmbeddingRanker or None
        The member `residual`; None if it has no weight.
    vectors_ : CosineRanker or None
        The member `vectors`; None if no vectors were given. Its items are the vectors of the items less `centre_`.
    centre_ : ndarray of shape (dim_of_vectors,), float32, or None
        Mean of the vectors of the items in `fit`.
    weights_ : ndarray of shape (6,), float32
        Weights of bm25, latent, feedback, title, residual and vectors.
    short_weights_ : ndarray of shape (6,), float32, or None
        Weights without labels, where `weights_` were learned from links: a query of n words has both, mixed by
        n / `full_length_`. None means `weights_` for all queries.
    full_length_ : float or None
        Number of words of a query from which `weights_` are used as they are; None without `short_weights_`.
    residual_length_ : float
        Number of words of a query for which the weight of `residual` counts half.
    named_ : ndarray of shape (n_items,), float32, or None
        1 for items that the pairs of `residual` name; None without `gate_`.
    gate_ : ndarray of shape (2,), float32, or None
        Slope and log odds at 0 by which `residual` counts for a query (see `gate`); None means that it always counts.
    asked_ : csr_array of shape (n_asked, n_features), float32, or None
        Queries whose answers clicks have moved; None without clicks.
    clicked_ : csr_array of shape (n_items, n_asked), float32, or None
        What is added to the scores of their items.
    strength_ : float or None
        Strength of the prior that the weights were learned with; None if they are those of a prior.
    idf_ : ndarray of shape (n_features,), float32
        Inverse document frequencies of tf-idf.

    Examples
    --------
    >>> counts = sp.csr_array(np.array([[2, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 2]], np.float32))
    >>> BlendRanker(dim=2).fit(None, counts).rank(counts[[0]], k=3).items
    array([[0, 1, 2]])
    """

    _fitted: ClassVar = {
        "bm25_": "estimator",
        "latent_": "?estimator",
        "title_": "?estimator",
        "residual_": "?estimator",
        "vectors_": "?estimator",
        "centre_": "?dimensions",
        "weights_": "members",
        "short_weights_": "?members",
        "full_length_": "?+",
        "residual_length_": "+",
        "named_": "?items",
        "gate_": "?gate",
        "asked_": "?asked features",
        "clicked_": "?items asked",
        "strength_": "?+",
        "idf_": "features",
    }
    _counted: ClassVar = (*BlendLearning._counted, "residual_length_", "full_length_")
    features = "counts"
    answers_above: ClassVar[float | None] = 0.0  # below it speak only concepts that point away from the query
    prefers_stems: ClassVar[bool] = True
    reads_titles: ClassVar[bool] = True
    reads_vectors: bool = True
    reads_zeros: ClassVar[bool] = True
    trains_in_epochs: ClassVar[bool] = True
    has_parts: ClassVar[bool] = True

    def __init__(
        self,
        dim: int = 100,
        *,
        latent: float = 4.0,
        feedback: float = 3.0,
        half_length: float = 12.0,
        n_feedback: int = 20,
        n_expansion: int = 100,
        title_weight: int = 3,
        vectors: float | None = None,
        n_candidates: int | None = None,
        strength: float | None = None,
        residual: bool | None = None,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.dim, self.latent, self.feedback, self.half_length = dim, latent, feedback, half_length
        self.n_feedback, self.n_expansion, self.title_weight = n_feedback, n_expansion, title_weight
        self.vectors, self.n_candidates = vectors, n_candidates
        self.strength, self.residual, self.seed, self.threads = strength, residual, seed, threads

    def fit(
        self,
        queries: Features | None,
        items: Features,
        pairs: Links | None = None,
        validation: Links | None = None,
        *,
        queries_are_items: bool | None = None,
        checkpoint: Checkpoint | str | Path | None = None,
        titles: Features | None = None,
        zeros: Links | None = None,
        vectors: np.ndarray | None = None,
        probes: tuple[np.ndarray, sp.csr_array] | None = None,
        members: Self | None = None,
    ) -> Self:
        """Learn from counts of the items' words and, for the weights, from (query, relevant item) pairs.

        Parameters
        ----------
        queries : csr_array of shape (n_queries, n_features) or None
            Counts of the words of the queries of `pairs`; with `vectors`, vectors of the queries may stand beside them
            (`join_vectors`).
        items : csr_array of shape (n_items, n_features)
            Counts of the words of the items, their titles included.
        pairs : Links or None, default=None
            Relevant items of queries, weighted by grade or confidence. Items that are not named count as probably
            worse; with `ClickedLinks`, only those that were shown.
        validation : Links or None, default=None
            Pairs to learn the weights from, where `pairs` train the member `residual`.
        queries_are_items : bool or None, default=None
            See `CollectionRanker.fit`.
        checkpoint : str, Path, Checkpoint or None, default=None
            Folder for the state of the members in training; see `CollectionRanker.fit`.
        titles : csr_array of shape (n_items, n_features) or None, default=None
            Counts of the words of the titles alone.
        zeros : Links or None, default=None
            Items that were judged not relevant, by the same queries as `pairs`.
        vectors : ndarray of shape (n_items, dim_of_vectors) or None, default=None
            Vectors of the items by another model; rows of zeros are items without one.
        probes : tuple of (ndarray, csr_array) or None, default=None
            Short queries made from some items, such as their titles: rows of these items, and query rows with vectors.
            The weight of `vectors` is earned on them; None means that the items themselves are the queries.
        members : BlendRanker or None, default=None
            A blend fitted with the same parameters on the same items: its members that learn from no pair are taken
            over, so that only the weights are learned. The result is the same as without.
        """
        self._check_params()
        if isinstance(pairs, ClickedLinks):
            zeros = pairs.others_shown()
        self._titles, self._zeros, self._members = self._check_titles(titles, items), zeros, members
        self._unit = None if vectors is None else check_vectors("vectors", vectors, items.shape[0])
        self._probes = probes
        try:
            how: dict[str, Any] = {"queries_are_items": queries_are_items, "checkpoint": checkpoint}
            return super().fit(queries, items, pairs, validation, **how)
        finally:
            del self._titles, self._zeros, self._members, self._unit, self._probes
            self._excess = None

    def _further_data(self) -> dict[str, Any]:
        given = {} if self._unit is None else {"vectors": self._unit}
        return {"titles": self._titles, "judged_zeros": self._zeros, **given}

    def _check_params(self) -> None:
        check_numbers(self, "latent", "feedback", "half_length", low=0)
        check_numbers(self, "dim", "n_feedback", "n_expansion", "title_weight", low=1, whole=True)
        check_numbers(self, "vectors", optional=True, low=0)
        check_numbers(self, "n_candidates", optional=True, low=1, whole=True)
        check_numbers(self, "strength", optional=True, low=0, open_low=True)

    def _fit(self, queries: Features, items: Features, pairs: Links | None, validation: Links | None) -> None:
        counts, asking = self._with_titles(items, self._titles), self._asking(queries, items)
        learns = pairs is not None and len(pairs) > 0
        self.bm25_ = Bm25Ranker().fit(None, counts)
        self.idf_ = plain_idf(counts)
        self.latent_ = self.title_ = self.residual_ = self.named_ = self.gate_ = None
        self.strength_ = self.short_weights_ = self.full_length_ = self.asked_ = self.clicked_ = None
        rows = weigh(counts, self.idf_, "log")
        if rows.nnz and (self.latent or learns):
            known = None if self._members is None else self._members.latent_
            concepts = LearnedConcepts(self.dim, seed=self.seed)
            self.latent_ = known or concepts.fit(None, rows, checkpoint=self._part("latent"))
        if learns and self._titles is not None:
            self.title_ = Bm25Ranker(b=TITLE_B).fit(None, self._titles)
        self._keep_vectors()
        self.residual_length_ = 1.0
        prior = [1.0, self.latent if self.latent_ is not None else 0.0, self.feedback, 0.0, 0.0]
        self.weights_ = np.array([*prior, self._vectors_weight(sp.csr_array(items))], np.float32)
        if pairs is not None and learns:
            self._learn(asking, counts, pairs, validation)
        for name in ("latent", "title", "residual"):
            if name not in self._used:
                setattr(self, f"{name}_", None)
        if self.residual_ is None or self.gate_ is None:
            self.named_ = self.gate_ = None
        if isinstance(pairs, ClickedLinks):
            self._keep_clicks(asking, pairs.shown)

    def _keep_clicks(self, queries: sp.csr_array, shown: Shown) -> None:
        found = learn_known(self, queries, shown)
        if found.gains.nnz:
            self.asked_, self.clicked_ = found
        self._forget_factors()

    def _asking(self, queries: Features, items: Features) -> sp.csr_array:
        """Query rows, with vectors beside the words where there are some; items that ask have theirs."""
        rows, self.n_features_ = sp.csr_array(queries), int(items.shape[1])
        if self._unit is None or rows.shape[1] != self.n_features_:
            width = self.n_features_ + (0 if self._unit is None else self._unit.shape[1])
            return sp.csr_array(check_features("queries", rows, n_columns=width))
        return join_vectors(rows, self._unit) if self._queries_are_items else rows

    def _keep_vectors(self) -> None:
        self.vectors_ = self.centre_ = None
        if self._unit is not None:
            self.centre_ = mean_vector(self._unit)
            self.vectors_ = CosineRanker().fit(None, centred(self._unit, self.centre_))

    def _vectors_weight(self, items: sp.csr_array) -> float:
        """The weight of `vectors` without labels: as given, or as earned by agreement with words."""
        if self._unit is None:
            return 0.0
        if self.vectors is not None:
            return self.vectors
        chosen, n_items = spread_rows(items.shape[0]), items.shape[0]
        own, rows = self._probes or (chosen, join_vectors(items[chosen], self._unit[chosen]))
        skip = sp.csr_array((np.ones(len(own), bool), (np.arange(len(own)), own)), shape=(len(own), n_items))
        names, found = [name for name in ("bm25", "latent", "vectors") if self._has(name)], list[np.ndarray]()
        for block in self._blocks(rows):
            scores = [member.scores for member in self._member_scores(rows[block], skip[block], names)]
            found.append(shared_neighbours(scores[0], scores[1:], skip[block]))
        return earned_weight(np.concatenate(found), n_items)

    def given_vectors(self) -> np.ndarray | None:
        """Vectors of the items, of length 1, or 0 where an item has none; None if the ranker has no vectors."""
        if self.vectors_ is None or self.centre_ is None:
            return None
        return centred(self.vectors_.items_, -self.centre_)

    @property
    def has_learned(self) -> bool:
        """Whether pairs changed the weights."""
        return self.strength_ is not None or self.residual_ is not None

    def _check_loaded(self) -> None:
        if self.weights_.shape == (len(MEMBERS) - 1,):  # folders from before there was `vectors`
            self.weights_ = np.append(self.weights_, np.float32(0))
        check_members(self, None if self.centre_ is None else len(self.centre_))
        check_gate(self)
        check_weights(self)
        check_clicks(self)
        self._check_params()
