"""Items of a blend: their counts with titles, and items that are added after `fit`."""

from __future__ import annotations

from typing import Self

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, TacitError, check_features
from tacit.features.text.weighting import weigh
from tacit.retrieve.blend.scoring import BlendScores
from tacit.retrieve.blend.vectors import centred, check_vectors
from tacit.retrieve.factors import append_rows, widened


class BlendItems(BlendScores):
    """The part of `BlendRanker` that reads items and takes new ones."""

    title_weight: int
    centre_: np.ndarray | None
    _titles: sp.csr_array | None  # during `fit` and `add_items`
    _unit: np.ndarray | None

    def _check_titles(self, titles: Features | None, items: Features) -> sp.csr_array | None:
        if titles is None:
            return None
        rows = sp.csr_array(check_features("titles", titles))
        if rows.shape != items.shape:
            raise TacitError(f"titles have shape {rows.shape}, want that of the items, {items.shape}")
        return rows if rows.nnz else None

    def _with_titles(self, items: Features, titles: sp.csr_array | None) -> sp.csr_array:
        """Counts with the words of titles counted `title_weight` times."""
        counts = sp.csr_array(items)
        if titles is None or self.title_weight == 1:
            return counts
        return sp.csr_array(counts + (self.title_weight - 1) * titles).astype(np.float32)

    def check_new_items(self) -> None:
        """Any item can be added."""

    def add_items(self, items: Features, *, titles: Features | None = None, vectors: np.ndarray | None = None) -> Self:
        """Make new items rankable; see `CollectionRanker.add_items`.

        Parameters
        ----------
        items : csr_array of shape (n_new_items, n_item_features)
            Counts of the words of the new items, their titles included.
        titles : csr_array of the same shape or None, default=None
            Counts of the words of the titles alone.
        vectors : ndarray of shape (n_new_items, dim_of_vectors) or None, default=None
            Vectors of the new items; without them the items score as an average item does by `vectors`.
        """
        self._titles, self._unit = self._check_titles(titles, items), None
        if vectors is not None:
            if not self.vectors_dim:
                raise TacitError("the ranker has no vectors, want it fitted with those of all items")
            self._unit = check_vectors("vectors", vectors, items.shape[0], self.vectors_dim)
        try:
            return super().add_items(items)
        finally:
            del self._titles, self._unit

    def _grow(self, width: int) -> None:
        self.idf_ = widened(self.idf_, width)
        if self.asked_ is not None:
            self.asked_ = widened(self.asked_, width)
        super()._grow(width)

    def _add_items(self, items: Features) -> None:
        counts = self._with_titles(items, self._titles)
        seen = widened(self.bm25_.idf_, len(self.idf_)) > 0
        self.idf_ = np.where(seen, self.idf_, plain_idf(counts, self.n_items_ + self.n_removed_ + counts.shape[0]))
        self.bm25_.add_items(counts)
        if self.latent_ is not None:
            self.latent_.add_items(weigh(counts, self.idf_, "log"))
        if self.residual_ is not None:
            self.residual_.add_items(weigh(counts, self.idf_))
        if self.named_ is not None:
            self.named_ = np.append(self.named_, np.zeros(counts.shape[0], np.float32))
        if self.clicked_ is not None:
            shape = (counts.shape[0], self.clicked_.shape[1])
            self.clicked_ = append_rows(self.clicked_, sp.csr_array(shape, dtype=np.float32))
        if self.vectors_ is not None and self.centre_ is not None:
            none = np.zeros((counts.shape[0], len(self.centre_)), np.float32)
            self.vectors_.add_items(none if self._unit is None else centred(self._unit, self.centre_))
        if self.title_ is not None:
            self.title_.add_items(
                sp.csr_array(counts.shape, dtype=np.float32) if self._titles is None else self._titles
            )


def plain_idf(counts: sp.csr_array, n_items: int | None = None) -> np.ndarray:
    """ln(n / df) of each word, float32; 0 for a word that no row has."""
    frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
    n_rows = counts.shape[0] if n_items is None else n_items
    return np.where(frequencies > 0, np.log(n_rows / np.maximum(frequencies, 1)), 0.0).astype(np.float32)
