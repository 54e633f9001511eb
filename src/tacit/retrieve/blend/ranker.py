"""`blend`: BM25, learned concepts and pseudo relevance feedback as one score.

    score(q, i) = sum over members m of  w_m h_m(q) s_m(q, i) / sigma_m(q)

sigma_m(q) is the standard deviation of member m over the query's candidates, its first items by BM25: members with
different units can be added, and nothing depends on other queries. h is 1 for BM25 and titles and n / (n + half_length)
for `latent` and `feedback`, n being the number of different known words of the query. What these two add to BM25 grows
with the length of the query: one or two words say too little to guess what else belongs to them.

Without labels the weights of bm25, latent and feedback are 1, `latent` and `feedback`; the other members have none.
With pairs they are learned (see `training`), with these as the prior. `residual` is trained where the pairs are links
between items, or many; half_length is for it the median length of the queries that it learned from, so that what was
learned from whole pages has little weight for short questions.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, Links, TacitError, check_features, check_number
from tacit.features.text.weighting import weigh
from tacit.retrieve.blend.members import MEMBERS
from tacit.retrieve.blend.scoring import BlendScores
from tacit.retrieve.blend.training import N_FOLDS, TrainingQuery, learn_weights, training_queries
from tacit.retrieve.checkpoint import Checkpoint
from tacit.retrieve.factors import widened
from tacit.retrieve.latent.reconstruction import LearnedConcepts
from tacit.retrieve.lexical.bm25 import Bm25Ranker
from tacit.retrieve.margin.embedding import EmbeddingRanker
from tacit.retrieve.validation import held_out_queries, hold_out

MIN_PAIRS = 200  # pairs that train `residual`
MAX_CROSS_FITTED = 500  # queries up to which weights are learned from all of them, each scored by a member without it
HELD_SHARE = 0.1  # share of more queries, or of links, that weights are learned from and that `residual` does not see
TITLE_B = 0.5  # titles differ little in length


class BlendRanker(BlendScores):
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
        Number of words of a query for which these two weights count half.
    n_feedback : int, default=20
        Best items that give words to the query.
    n_expansion : int, default=100
        Number of words that they give.
    title_weight : int, default=3
        How often a word of a title is counted, where titles are given.
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
    weights_ : ndarray of shape (5,), float32
        Weights of bm25, latent, feedback, title and residual.
    residual_length_ : float
        Number of words of a query for which the weight of `residual` counts half.
    strength_ : float or None
        Strength of the prior that the weights were learned with; None if they are those without labels.
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
        "weights_": "members",
        "residual_length_": "+",
        "strength_": "?+",
        "idf_": "features",
    }
    _counted: ClassVar = (*BlendScores._counted, "residual_length_")
    features = "counts"
    answers_above: ClassVar[float | None] = 0.0  # below it speak only concepts that point away from the query
    prefers_stems: ClassVar[bool] = True
    reads_titles: ClassVar[bool] = True
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
        strength: float | None = None,
        residual: bool | None = None,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.dim, self.latent, self.feedback, self.half_length = dim, latent, feedback, half_length
        self.n_feedback, self.n_expansion, self.title_weight = n_feedback, n_expansion, title_weight
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
        members: Self | None = None,
    ) -> Self:
        """Learn from counts of the items' words and, for the weights, from (query, relevant item) pairs.

        Parameters
        ----------
        queries : csr_array of shape (n_queries, n_features) or None
            Counts of the words of the queries of `pairs`.
        items : csr_array of shape (n_items, n_features)
            Counts of the words of the items, their titles included.
        pairs : Links or None, default=None
            Relevant items of queries, weighted by grade or confidence. Items that are not named count as probably
            worse.
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
        members : BlendRanker or None, default=None
            A blend fitted with the same parameters on the same items: its members that learn from no pair are taken
            over, so that only the weights are learned. The result is the same as without.
        """
        self._check_params()
        self._titles, self._zeros, self._members = self._check_titles(titles, items), zeros, members
        try:
            how: dict[str, Any] = {"queries_are_items": queries_are_items, "checkpoint": checkpoint}
            return super().fit(queries, items, pairs, validation, **how)
        finally:
            del self._titles, self._zeros, self._members

    def _further_data(self) -> dict[str, Any]:
        return {"titles": self._titles, "judged_zeros": self._zeros}

    def _check_params(self) -> None:
        for name in ("latent", "feedback", "half_length"):
            check_number(name, getattr(self, name), low=0)
        for name in ("dim", "n_feedback", "n_expansion", "title_weight"):
            check_number(name, getattr(self, name), low=1, whole=True)
        if self.strength is not None:
            check_number("strength", self.strength, low=0, open_low=True)

    def _check_titles(self, titles: Features | None, items: Features) -> sp.csr_array | None:
        if titles is None:
            return None
        rows = sp.csr_array(check_features("titles", titles))
        if rows.shape != items.shape:
            raise TacitError(f"titles have shape {rows.shape}, want that of the items, {items.shape}")
        return rows if rows.nnz else None

    def _fit(self, queries: Features, items: Features, pairs: Links | None, validation: Links | None) -> None:
        counts, asking = self._with_titles(items, self._titles), sp.csr_array(queries)
        learns = pairs is not None and len(pairs) > 0
        self.bm25_ = Bm25Ranker().fit(None, counts)
        self.idf_ = _plain_idf(counts)
        self.latent_ = self.title_ = self.residual_ = None
        self.strength_: float | None = None
        rows = weigh(counts, self.idf_, "log")
        if rows.nnz and (self.latent or learns):
            known = None if self._members is None else self._members.latent_
            concepts = LearnedConcepts(self.dim, seed=self.seed)
            self.latent_ = known or concepts.fit(None, rows, checkpoint=self._part("latent"))
        if learns and self._titles is not None:
            self.title_ = Bm25Ranker(b=TITLE_B).fit(None, self._titles)
        prior = [1.0, self.latent if self.latent_ is not None else 0.0, self.feedback, 0.0, 0.0]
        self.weights_ = np.array(prior, np.float32)
        self.residual_length_ = 1.0
        if pairs is not None and learns:
            self._learn(asking, counts, pairs, validation)
        for name in ("latent", "title", "residual"):
            if not self.weights_[MEMBERS.index(name)]:
                setattr(self, f"{name}_", None)

    def _with_titles(self, items: Features, titles: sp.csr_array | None) -> sp.csr_array:
        """Counts with the words of titles counted `title_weight` times."""
        counts = sp.csr_array(items)
        if titles is None or self.title_weight == 1:
            return counts
        return sp.csr_array(counts + (self.title_weight - 1) * titles).astype(np.float32)

    def _learn(self, queries: sp.csr_array, counts: sp.csr_array, pairs: Links, validation: Links | None) -> None:
        """Train the member `residual` where there are pairs enough, then the weights."""
        n_queries = len(np.unique(pairs.sources))
        wanted = self._queries_are_items or len(pairs) >= MIN_PAIRS if self.residual is None else self.residual
        if not wanted or (validation is None and n_queries < 2):
            examples = self._examples(queries, pairs, None)
        elif validation is None and N_FOLDS <= n_queries <= MAX_CROSS_FITTED and not self._queries_are_items:
            examples = self._cross_fitted(queries, counts, pairs)
        else:
            known, chosen = hold_out(pairs, HELD_SHARE, self.seed) if validation is None else (pairs, validation)
            self._fit_residual(queries, counts, known, chosen)
            examples = self._examples(queries, chosen, known)
        present = [MEMBERS.index(name) for name in MEMBERS if self._has(name)]
        learned, strength = learn_weights(examples, self.weights_[present].astype(np.float64), self.strength)
        self.strength_ = None if math.isinf(strength) else strength
        self.weights_[present] = learned

    def _cross_fitted(self, queries: sp.csr_array, counts: sp.csr_array, pairs: Links) -> list[TrainingQuery]:
        """Examples of all queries, each scored by a member that was trained without it; then train on all pairs."""
        sources = np.unique(pairs.sources)
        folds = np.random.default_rng(self.seed).permutation(len(sources)) % N_FOLDS
        fold_of = folds[np.searchsorted(sources, pairs.sources)]
        examples = list[TrainingQuery]()
        for fold in range(N_FOLDS):
            known = pairs.take(fold_of != fold)
            self._fit_residual(queries, counts, known, None, f"residual-{fold}")
            examples += self._examples(queries, pairs.take(fold_of == fold), known)
        self._fit_residual(queries, counts, pairs, None)
        return examples

    def _examples(self, queries: sp.csr_array, pairs: Links, known: Links | None) -> list[TrainingQuery]:
        """Candidates of the queries of some pairs, scored by the members as they are now."""
        same = self._queries_are_items
        held = held_out_queries(queries, pairs, known, queries_are_items=same, seed=self.seed, zeros=self._zeros)
        names = [name for name in MEMBERS if self._has(name)]
        prior = self.weights_[[MEMBERS.index(name) for name in names]]
        found = list[TrainingQuery]()
        for block in held.blocks():
            members = list(self._member_scores(sp.csr_array(block.queries), block.excluded, names))
            found += training_queries(members, prior, block)
        return found

    def _fit_residual(
        self,
        queries: sp.csr_array,
        counts: sp.csr_array,
        pairs: Links,
        validation: Links | None,
        part: str = "residual",
    ) -> None:
        asking, rows = weigh(queries, self.idf_), weigh(counts, self.idf_)
        member = EmbeddingRanker(self.dim, items="residual", gamma=1.0, seed=self.seed, threads=self.threads)
        how: dict[str, Any] = {"queries_are_items": self._queries_are_items, "checkpoint": self._part(part)}
        self.residual_ = member.fit(asking, rows, pairs, validation, **how)
        lengths = np.diff(queries[np.unique(pairs.sources)].indptr)
        self.residual_length_ = max(1.0, float(np.median(lengths)))

    def check_new_items(self) -> None:
        """Any item can be added."""

    def add_items(self, items: Features, *, titles: Features | None = None) -> Self:
        """Make new items rankable; see `CollectionRanker.add_items`.

        Parameters
        ----------
        items : csr_array of shape (n_new_items, n_item_features)
            Counts of the words of the new items, their titles included.
        titles : csr_array of the same shape or None, default=None
            Counts of the words of the titles alone.
        """
        self._titles = self._check_titles(titles, items)
        try:
            return super().add_items(items)
        finally:
            del self._titles

    def _grow(self, width: int) -> None:
        self.idf_ = widened(self.idf_, width)
        super()._grow(width)

    def _add_items(self, items: Features) -> None:
        counts = self._with_titles(items, self._titles)
        seen = widened(self.bm25_.idf_, len(self.idf_)) > 0
        self.idf_ = np.where(seen, self.idf_, _plain_idf(counts, self.n_items_ + self.n_removed_ + counts.shape[0]))
        self.bm25_.add_items(counts)
        if self.latent_ is not None:
            self.latent_.add_items(weigh(counts, self.idf_, "log"))
        if self.residual_ is not None:
            self.residual_.add_items(weigh(counts, self.idf_))
        if self.title_ is not None:
            self.title_.add_items(
                sp.csr_array(counts.shape, dtype=np.float32) if self._titles is None else self._titles
            )

    def _check_loaded(self) -> None:
        kinds = {"bm25": Bm25Ranker, "latent": LearnedConcepts, "title": Bm25Ranker, "residual": EmbeddingRanker}
        for name, kind in kinds.items():
            member = getattr(self, f"{name}_")
            if member is None and name != "bm25":
                continue
            if not isinstance(member, kind):
                raise TacitError(f"member {name} is a {type(member).__name__}, want a {kind.__name__}")
            if (member.n_features_, member.n_items_) != (self.n_features_, self.bm25_.n_items_):
                raise TacitError(
                    f"member {name} is for {member.n_features_} words and {member.n_items_} items, "
                    f"want {self.n_features_} and {self.bm25_.n_items_}"
                )
        if self.weights_.shape != (len(MEMBERS),) or not (self.weights_ >= 0).all() or not self.weights_.any():
            raise TacitError(
                f"weights are {self.weights_.tolist()}, want {len(MEMBERS)} numbers >= 0, not all of them 0"
            )
        missing = [name for name in self._used if not self._has(name)]
        if missing:
            raise TacitError(f"member {missing[0]} has a weight, but is not in the model")
        self._check_params()


def _plain_idf(counts: sp.csr_array, n_items: int | None = None) -> np.ndarray:
    """ln(n / df) of each word, float32; 0 for a word that no row has."""
    frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
    n_rows = counts.shape[0] if n_items is None else n_items
    return np.where(frequencies > 0, np.log(n_rows / np.maximum(frequencies, 1)), 0.0).astype(np.float32)
