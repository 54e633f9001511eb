"""`cl-lsi`: cross-language latent semantic indexing (Dumais et al. 1997).

A query and an item that say the same in two languages are joined into one row over both dictionaries;
[X_F X_E] ~ Z [C_F C_E]' by a truncated singular value decomposition of the joined rows. A query becomes
x C_F, an item y C_E, and the score is the cosine of two such vectors.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, TacitError
from tacit.retrieve.factors import project
from tacit.retrieve.latent.lsi import LsiRanker, find_concepts, unit_rows
from tacit.retrieve.training_data import TrainingData


class ClLsiRanker(LsiRanker):
    """Cross-language LSI: cosine in a concept space of two languages.

    The pairs of `fit` join two versions of one document, in the languages of the queries and of the items.

    Parameters
    ----------
    dim : int, default=200
        Number of concepts; fewer independent pairs have fewer.
    n_iter : int, default=4
        Power iterations of the randomized singular value decomposition.
    seed : int, default=0
        Random seed.

    Attributes
    ----------
    query_concepts_ : ndarray of shape (n_query_words, dim), float32
        Concepts over the words of queries.
    item_concepts_ : ndarray of shape (n_item_words, dim), float32
        Concepts over the words of items.
    item_vectors_ : ndarray of shape (n_items, dim), float32
        Unit vectors of the items.

    Examples
    --------
    >>> from tacit.core import Links
    >>> rows = np.eye(2, dtype=np.float32)
    >>> mates = Links(np.array([0, 1]), np.array([1, 0]), 2, 2)
    >>> ClLsiRanker(dim=2).fit(rows, rows.copy(), mates).rank(rows, k=1).items.ravel()
    array([1, 0])
    """

    _fitted: ClassVar = {
        "query_concepts_": "features dim",
        "item_concepts_": "item_words dim",
        "item_vectors_": "items dim",
    }
    learns_from_pairs: ClassVar[bool] = True
    needs_pairs: ClassVar[bool] = True
    two_dictionaries: ClassVar[bool] = True

    def _fit(self, data: TrainingData) -> None:
        self._check_params()
        queries, items, pairs = data.queries, data.items, data.pairs
        if not data.has_pairs:
            raise TacitError("there is no pair of mates, want documents that say the same in both languages")
        joined = sp.hstack([sp.csr_array(queries)[pairs.sources], sp.csr_array(items)[pairs.targets]], format="csr")
        concepts = find_concepts(joined, self.dim, self.n_iter, self.seed)
        n_query_words = queries.shape[1]
        self.query_concepts_ = np.ascontiguousarray(concepts[:n_query_words])
        self.item_concepts_ = np.ascontiguousarray(concepts[n_query_words:])
        self.item_vectors_ = self.embed_items(items)

    def embed_items(self, items: Features) -> np.ndarray:
        """Unit vectors of item rows; an empty row stays zero."""
        return unit_rows(project(items[:, : len(self.item_concepts_)], self.item_concepts_))

    @property
    def _n_item_features(self) -> int:
        return len(self.item_concepts_)

    @property
    def _query_concepts(self) -> np.ndarray:
        return self.query_concepts_
