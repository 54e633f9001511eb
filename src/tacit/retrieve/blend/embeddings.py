"""Members by learned vectors: `latent`, from the items alone, and `residual`, from pairs.

`latent` has the learned concepts of `htr-reconstruction`, without its tf-idf part, on logarithmic tf-idf.

`residual` is `htr-residual`, with a gate that lowers its weight for untrained queries. It ranks items that occur in
training pairs ("named" items) above other items, whatever the query. The gate decides from its scores whether that is
justified. Among the first items by BM25,

    lead = max(0, score of the best named item) - max(0, score of the best other item)

P(named | lead) is the probability that the query is about named items. It is a logistic function, fitted to queries of
both kinds that were not in training; both kinds have equal total weight. If every candidate is named there is no lead,
and P is 1. Such queries are left out of the fit, but reduce the weight of the others of their kind. The weight of the
member is multiplied by P. It is also multiplied by a factor that grows with the length of the query relative to the
median length of the training queries, so a member trained on pages has little weight for short queries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy
import scipy.sparse as sp
from numpy.typing import ArrayLike

from tacit.core import Links, TacitError
from tacit.features.text.weighting import weigh
from tacit.retrieve.blend.member import ItemRows, QueryBlock, RankerMember, length_trust
from tacit.retrieve.latent.reconstruction import LearnedConcepts
from tacit.retrieve.margin.embedding import EmbeddingRanker
from tacit.retrieve.training_data import TrainingData
from tacit.retrieve.vectors import split_vectors

if TYPE_CHECKING:
    from tacit.retrieve.blend.ranker import BlendRanker

MIN_PAIRS = 200  # minimum number of pairs to train `residual`
TRIED, LARGEST_OF_LINKS = (2.0, 4.0, 8.0, 16.0), 32.0  # weights
RIDGE = 0.01  # regularizes the slope, for leads of standard deviation 1, if the two kinds do not overlap
STEEPEST = 10.0  # maximum log odds of a lead of 0


class LatentMember(RankerMember):
    """Cosine similarity of concept vectors learned from the items alone."""

    name: ClassVar[str] = "latent"
    heading: ClassVar[str] = "Meaning"
    is_column: ClassVar[bool] = True
    is_reused: ClassVar[bool] = True
    ranker_class: ClassVar = LearnedConcepts
    by_vectors: ClassVar[bool] = True
    ranker_: LearnedConcepts

    @classmethod
    def fitted(cls, blend: BlendRanker, items: ItemRows, data: TrainingData) -> Self | None:
        """Learn concepts of the items; None if their weight is 0 and labels cannot change it."""
        rows = items.weighed("log")
        if not rows.nnz or not (blend.latent or data.has_pairs):
            return None
        made = cls(blend.half_length)
        made.ranker_ = LearnedConcepts(blend.dim, seed=blend.seed).fit(None, rows, checkpoint=data.part("latent"))
        return made

    def prior(self, blend: BlendRanker, data: TrainingData) -> float:
        """Return the weight given as a parameter."""
        return blend.latent

    def rows(self, block: QueryBlock) -> sp.csr_array:
        """Return logarithmic tf-idf rows."""
        return block.weighed("log")

    def add(self, items: ItemRows) -> None:
        """Append new items."""
        self.ranker_.add_items(items.weighed("log"))


class ResidualMember(RankerMember):
    """Supervised semantic indexing (SSI) with a residual vector for each item, trained on pairs.

    Attributes
    ----------
    ranker_ : EmbeddingRanker
        The trained ranker.
    median_length_ : float
        Query length, in words, at which the weight is halved: the median of the training queries.
    named_ : ndarray of shape (n_items,), float32, or None
        1 for items that occur in training pairs; None without `gate_`.
    gate_ : ndarray of shape (2,), float32, or None
        Slope and log odds at 0 of P(named | lead); None means no gate.
    """

    _fitted: ClassVar = RankerMember._fitted | {"median_length_": "+", "named_": "?items", "gate_": "?gate"}
    name: ClassVar[str] = "residual"
    heading: ClassVar[str] = "Learned from judgments"
    is_column: ClassVar[bool] = True
    trains_on_pairs: ClassVar[bool] = True
    ranker_class: ClassVar = EmbeddingRanker
    by_vectors: ClassVar[bool] = True
    ranker_: EmbeddingRanker
    median_length_: float
    named_: np.ndarray | None
    gate_: np.ndarray | None = None

    @classmethod
    def is_trained(cls, blend: BlendRanker, data: TrainingData) -> bool:
        """Return the parameter `residual`; None means for links between items, and for enough pairs."""
        if blend.residual is not None:
            return blend.residual
        return data.queries_are_items or len(data.pairs) >= MIN_PAIRS

    @classmethod
    def trained(
        cls, blend: BlendRanker, items: ItemRows, data: TrainingData, pairs: Links, validation: Links | None, part: str
    ) -> Self:
        """Train `htr-residual` on some pairs."""
        words, _ = split_vectors(sp.csr_array(data.queries), blend.n_features_)
        made = cls()
        ranker = EmbeddingRanker(blend.dim, items="residual", gamma=1.0, seed=blend.seed, threads=blend.threads)
        how: dict[str, Any] = {"queries_are_items": data.queries_are_items, "checkpoint": data.part(part)}
        made.ranker_ = ranker.fit(weigh(words, items.idf, "raw"), items.weighed("raw"), pairs, validation, **how)
        made.named_ = np.zeros(items.counts.shape[0], np.float32)
        made.named_[pairs.targets] = 1
        lengths = np.diff(words[np.unique(pairs.sources)].indptr)
        made.median_length_ = max(1.0, float(np.median(lengths)))
        return made

    def tried_weights(self, data: TrainingData) -> Sequence[float]:
        """Return weights to try: without labels its weight is 0, and links train it best."""
        return (*TRIED, LARGEST_OF_LINKS) if data.queries_are_items else TRIED

    def rows(self, block: QueryBlock) -> sp.csr_array:
        """Return tf-idf rows."""
        return weigh(block.typed, block.idf, "raw")  # as in training

    def trust(self, block: QueryBlock, at_candidates: np.ndarray) -> Any:
        """Return the share by the length of the query, multiplied by P(named | lead)."""
        shares = length_trust(block.n_words, self.median_length_)
        return shares if self.gate_ is None else shares * self.share(self.leads(at_candidates, block.candidates))

    def leads(self, at_candidates: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Return how far the best named candidate scores above the best other candidate, for each query."""
        assert self.named_ is not None
        return leads(at_candidates, self.named_[candidates] > 0, candidates >= 0)

    def calibrate(self, known: np.ndarray, unseen: np.ndarray) -> None:
        """Fit the gate; without queries about other items there is none."""
        if len(unseen):
            self.gate_ = fit_gate(known, unseen)
        else:
            self.named_ = None

    def share(self, leads: np.ndarray) -> Any:
        """Return P(named | lead)."""
        return super().share(leads) if self.gate_ is None else probability(leads, self.gate_)

    def add(self, items: ItemRows) -> None:
        """Append new items, which occur in no pair."""
        self.ranker_.add_items(items.weighed("raw"))
        if self.named_ is not None:
            self.named_ = np.append(self.named_, np.zeros(items.counts.shape[0], np.float32))

    def check(self, n_features: int, n_items: int) -> None:
        """Raise unless the ranker matches, and the gate is complete or absent."""
        super().check(n_features, n_items)
        if self.gate_ is None and self.named_ is None:
            return
        if self.gate_ is None or self.named_ is None:
            raise TacitError("the gate of member residual is incomplete, want gate_ and named_")
        if self.gate_.shape != (2,) or len(self.named_) != n_items:
            found = f"{self.gate_.shape} and {self.named_.shape}"
            raise TacitError(f"gate_ and named_ have the shapes {found}, want (2,) and ({n_items},)")


def leads(scores: np.ndarray, named: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the lead of each query, float64; infinity if every candidate is named.

    Parameters
    ----------
    scores : ndarray of shape (n_queries, n_candidates)
        Scores of the member.
    named : ndarray of the same shape, bool
        Whether the candidate occurs in training pairs.
    known : ndarray of the same shape, bool
        Whether there is a candidate.

    Examples
    --------
    >>> scores, known = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, -0.1]]), np.ones((2, 3), bool)
    >>> leads(scores, np.array([[True, False, False], [True, False, True]]), known).round(2).tolist()
    [0.5, -0.1]
    """
    scores = np.maximum(scores.astype(np.float64), 0)
    best = [np.where(kind, scores, 0).max(axis=1, initial=0) for kind in (known & named, known & ~named)]
    return np.where((known & ~named).any(axis=1), best[0] - best[1], math.inf)


def fit_gate(named: ArrayLike, unseen: ArrayLike) -> np.ndarray:
    """Fit slope and log odds at 0 of P(named | lead), float32, to the leads of queries of the two kinds.

    >>> gate = fit_gate([0.9, 0.8, 0.7, 0.2], [0.1, -0.1, 0.0, 0.3])
    >>> probability(np.array([-0.2, 0.2, 1.0, np.inf]), gate).round(1).tolist()
    [0.0, 0.3, 1.0, 1.0]
    """
    from scipy.optimize import minimize

    sides = [(1.0, np.asarray(named, np.float64)), (-1.0, np.asarray(unseen, np.float64))]
    parts = [(sign, leads[np.isfinite(leads)], len(leads)) for sign, leads in sides]
    unit = float(np.concatenate([leads for _, leads, _ in parts]).std()) if any(len(part[1]) for part in parts) else 1.0
    unit = unit or 1.0

    def loss(gate: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = RIDGE * gate[0] ** 2, np.array([2 * RIDGE * gate[0], 0.0])
        for sign, leads, n_all in parts:
            odds = sign * (gate[0] * leads / unit + gate[1])
            value += float(np.logaddexp(0, -odds).sum()) / max(1, n_all)
            wrong = -sign * scipy.special.expit(-odds) / max(1, n_all)
            slope += (wrong * leads).sum() / unit, wrong.sum()
        return value, slope

    bounds = [(0, None), (-STEEPEST, STEEPEST)]
    found = minimize(loss, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.array([found.x[0] / unit, found.x[1]], np.float32)


def probability(leads: np.ndarray, gate: np.ndarray) -> np.ndarray:
    """Return P(named | lead), float64; 1 for an infinite lead."""
    certain = np.isinf(leads)
    odds = np.float64(gate[0]) * np.where(certain, 0, leads) + np.float64(gate[1])
    return np.where(certain, 1.0, scipy.special.expit(odds))
