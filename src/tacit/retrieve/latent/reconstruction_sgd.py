"""Training of `htr-reconstruction`: the tables, their start at LSI's concepts, and epochs of one step per document.

With C the concepts (leading right singular vectors) of the items, V = W' = C and v_i = y_i C: this
minimises the reconstruction error alone. Steps are sequential, so the result does not depend on the number of
threads. The cost of a step depends on its document and on dim, not on the number of items.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tacit.core import one_blas_thread
from tacit.kernels.reconstruction import train_documents, train_triplets
from tacit.retrieve.factors import project
from tacit.retrieve.snapshots import Snapshots

FOLD_FROM = 1e4  # |M| |M^-1|: float32 rows of B carry three good digits in the weakest direction
LARGEST_ENTRY = 1e4  # larger numbers have diverged: rows have unit length


@dataclass(frozen=True)
class ReconstructionSettings:
    """gamma: weight of reconstruction; margin; n_drawn: rivals drawn for a step.

    query_share: fraction of words in the query; both_ways: whether the third term counts; triplets: one step for three
    independent documents, as printed.
    """

    gamma: float = 1.0
    margin: float = 0.1
    n_drawn: int = 1
    query_share: float = 0.5
    both_ways: bool = True
    triplets: bool = False


class ReconstructionTrainer:
    """Visits every document once in an epoch.

    rows: CSR (n_docs, n_words), float32; concepts: float32 (n_words, dim), the first W'; start: the first V and vectors
    of the documents, None for the vectors of the concepts.
    Changed: query_table (W', n_words by dim), vectors (n_docs, dim), basis and factors (V = basis @ M).
    """

    def __init__(
        self,
        rows: sp.csr_array,
        concepts: np.ndarray,
        settings: ReconstructionSettings,
        start: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        self.rows, self.settings = rows, settings
        self.query_table = concepts.copy()
        self.basis, self.vectors = start or (concepts.copy(), np.ascontiguousarray(project(rows, concepts), np.float32))
        self._folded = np.empty_like(self.basis)
        self.losses = dict[str, float]()
        tables = {"query_table": self.query_table, "vectors": self.vectors, "basis": self.basis}
        self.state = Snapshots(tables, largest=LARGEST_ENTRY)

    def _unfold(self) -> None:
        """M = N = I and the Gram matrix of the basis as it is now."""
        dim = self.basis.shape[1]
        with one_blas_thread():
            self._gram = (self.basis.T @ self.basis).astype(np.float64)
        self._mixing, self._inverse = np.eye(dim), np.eye(dim)

    def fold(self) -> None:
        """basis <- basis @ M, so that V stays and M is easy to invert again."""
        with one_blas_thread():
            self.basis[:] = np.matmul(self.basis, self._mixing.astype(np.float32), out=self._folded)
        self._unfold()

    def epoch(self, rng: np.random.Generator, rates: tuple[float, float]) -> float:
        """Train once over all documents, the rate falling from the first to the second; return the mean loss.

        `losses` has its parts afterwards.
        """
        rows, settings, n_docs = self.rows, self.settings, self.rows.shape[0]
        if settings.triplets:
            return self._epoch_of_triplets(rng, rates[0])
        order = rng.permutation(n_docs)
        drawn = rng.integers(0, n_docs - 1, (n_docs, settings.n_drawn))
        drawn += drawn >= order[:, None]  # never the document itself
        asked = leave_out_words(rows, settings.query_share, rng).data
        falling = np.linspace(*rates, n_docs, endpoint=False)
        losses, at = np.zeros(2), 0
        self._unfold()
        while at < n_docs:
            at = train_documents(
                rows.indptr, rows.indices, rows.data, asked, order, drawn, settings.both_ways, at, falling,
                settings.gamma, settings.margin, self.vectors, self.query_table,
                self.basis, self._mixing, self._inverse, self._gram, FOLD_FROM, losses,
            )  # fmt: skip
            self.fold()
        return self._mean_loss(losses)

    def _epoch_of_triplets(self, rng: np.random.Generator, rate: float) -> float:
        """As many steps as documents; i and k are every document once, l is any other than k."""
        rows, settings, n_docs = self.rows, self.settings, self.rows.shape[0]
        first, second, third = rng.permutation(n_docs), rng.permutation(n_docs), rng.integers(0, n_docs - 1, n_docs)
        triplets = np.stack([first, second, third + (third >= second)], axis=1)
        losses, at = np.zeros(2), 0
        self._unfold()
        while at < n_docs:
            at = train_triplets(
                rows.indptr, rows.indices, rows.data, triplets, at, rate, settings.gamma, settings.margin, self.vectors,
                self.query_table, self.basis, self._mixing, self._inverse, self._gram, FOLD_FROM, losses,
            )  # fmt: skip
            self.fold()
        return self._mean_loss(losses)

    def _mean_loss(self, losses: np.ndarray) -> float:
        reconstruction, margin = (losses / self.rows.shape[0]).tolist()
        self.losses = {"reconstruction": reconstruction, "margin": margin}
        return float(self.settings.gamma * reconstruction + margin)


def leave_out_words(rows: sp.csr_array, share: float, rng: np.random.Generator) -> sp.csr_array:
    """Each word of each row kept with this probability, the rest set to 0, rows as long as they were.

    Entries stay stored, so the result has the pattern of `rows`. A row that would lose all words keeps all.

    >>> rows = sp.csr_array(np.array([[3.0, 4.0, 0.0]], np.float32))
    >>> leave_out_words(rows, 0.5, np.random.default_rng(0)).toarray()
    array([[0., 5., 0.]], dtype=float32)
    """
    kept = rng.random(rows.nnz) < share if share < 1 else np.ones(rows.nnz, bool)
    return scaled_part(rows, kept)


def scaled_part(rows: sp.csr_array, kept: np.ndarray) -> sp.csr_array:
    """The kept entries of each row, others 0, at the row's length; a row without any stays whole."""
    row_of = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    squares = rows.data.astype(np.float64) ** 2
    whole = np.bincount(row_of, squares, rows.shape[0])
    part = np.bincount(row_of, squares * kept, rows.shape[0])
    scale = np.sqrt(whole / np.where(part > 0, part, 1))
    data = np.where(part[row_of] > 0, rows.data * kept * scale[row_of], rows.data).astype(np.float32)
    return sp.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)
