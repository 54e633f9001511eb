"""`htr-reconstruction`: half-transductive ranking without labels, a nonlinear LSI (Bai et al. 2010, section 2.1).

Every item has a free vector v_i, from which its words can be reconstructed (V v_i ~ y_i), and W maps any query to the
same space; both are learned from the items alone, by SGD on

    gamma |V v_k - y_k|^2 + max(0, margin - v_k.W x_k + v_k.W x_l) + max(0, margin - v_k.W x_k + v_l.W x_k)

The first two terms are the paper's; the third ranks items for a query: the words of k should find k before l. Two more
things are not in the paper. Training starts at LSI's concepts. And x_k is y_k without a part of its words, so W learns
to predict words that a query does not have; with query_share=1 it is y_k.

An item is ranked by the mean of its two unit vectors, v_i / |v_i| and its own image W y_i / |W y_i|: a free vector
alone is noisy, because it has only one step per epoch. As in LSI the score is a cosine; the mixture is alpha * that +
(1 - alpha) * tfidf. A new item has only its image, so old scores do not change.

**Training.** An epoch has one step per document. With C the concepts (leading right singular vectors) of the items, V =
W' = C and v_i = y_i C: this minimises the reconstruction error alone. Steps are sequential, so the result does not
depend on the number of threads. The cost of a step depends on its document and on dim, not on the number of items.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import check_choice, check_number, check_numbers, one_blas_thread
from tacit.kernels.reconstruction import train_documents, train_triplets
from tacit.retrieve.checkpoint import Stage
from tacit.retrieve.epochs import EpochLog, Schedule, WithRecipe, run_epochs
from tacit.retrieve.factors import DenseFactors, factor_scores, project
from tacit.retrieve.latent.lsi import ALPHA_BY, LsiRanker, LsiTfidfRanker, unit_rows
from tacit.retrieve.snapshots import Snapshots, row_blocks
from tacit.retrieve.training_data import TrainingData

STARTS = ("lsi", "normal", "scaled")
HELD_SHARE, MOST_HELD, FEWEST_DOCS = 0.05, 300, 40  # documents held out for validation
FEWEST_EPOCHS, FEWEST_STEPS, MOST_EPOCHS = 8, 60_000, 100  # a small collection is visited more often
FOLD_FROM = 1e4  # |M| |M^-1|: float32 rows of B carry three good digits in the weakest direction
LARGEST_ENTRY = 1e4  # larger numbers have diverged: rows have unit length


class LearnedConcepts(WithRecipe, LsiRanker):
    """HTR by reconstruction, scored by the cosine alone.

    Parameters
    ----------
    dim : int, default=100
        Width of the vectors.
    gamma : float, default=1.0
        Weight of the reconstruction error.
    rate : float, default=0.1
        First learning rate; it falls linearly to 0.
    margin : float, default=0.1
        Margin of the ranking loss.
    query_share : float, default=0.5
        Fraction of a document's words that are used as the query for it.
    n_drawn : int, default=1
        Documents drawn for a step; the best-scored of them is the negative.
    n_epochs : int or None, default=None
        Visits to every document; None means 8, and more for small collections.
    both_ways : bool, default=True
        Whether the third term of the loss counts; False leaves the two terms of the paper.
    start : {"lsi", "normal", "scaled"}, default="lsi"
        First V, W and v: from LSI, normal with standard deviation 1, or normal with variance 1 / dim.
    recipe : {"mined", "printed"}, default="mined"
        "printed" trains as in the paper: start="normal" (or "scaled" if given), both_ways=False, query_share 1,
        n_drawn 1, margin 1, a constant rate, steps on three independent documents, and the score v_i . W x. Rate and
        gamma are 0.01 and 0.001 unless given.
    **lsi
        Parameters of `LsiRanker`: n_iter, seed.

    Attributes
    ----------
    concepts_ : ndarray of shape (n_words, dim), float32
        The map of queries (W, transposed).
    item_vectors_ : ndarray of shape (n_items, dim), float32
        Unit vectors of the items.
    epochs_ : list of dict
        Losses of each epoch, and how well one half of a held-out document finds the other (`found`, the mean
        reciprocal rank); the best epoch is kept. Not stored.
    """

    trains_in_epochs: ClassVar[bool] = True
    _renamed: ClassVar = {"keep": "query_share"}
    _fitted: ClassVar = LsiRanker._fitted | {"best_epoch_": "", "rate_": ""}
    _printed: ClassVar = {
        "start": ("normal", "scaled"),
        "both_ways": (False,),
        "query_share": (1.0,),
        "n_drawn": (1,),
        "margin": (1.0,),
        "rate": (0.01, ...),
        "gamma": (0.001, ...),
    }

    def __init__(
        self,
        dim: int = 100,
        *,
        gamma: float = 1.0,
        rate: float = 0.1,
        margin: float = 0.1,
        query_share: float = 0.5,
        n_drawn: int = 1,
        n_epochs: int | None = None,
        both_ways: bool = True,
        start: str = "lsi",
        recipe: str = "mined",
        **lsi: Any,
    ) -> None:
        super().__init__(dim, **lsi)
        self.gamma, self.rate, self.margin, self.query_share = gamma, rate, margin, query_share
        self.n_drawn, self.n_epochs, self.both_ways = n_drawn, n_epochs, both_ways
        self.start, self.recipe = start, recipe

    def _fit(self, data: TrainingData) -> None:
        super()._fit(data)
        rows = sp.csr_array(data.items)
        self.epochs_, self.best_epoch_, self.rate_ = list[dict[str, float]](), 0, float(self._used("rate"))
        rng = np.random.default_rng(self.seed)
        known, held = _hold_out(rows.shape[0], rng)
        if len(known) < 2 or not self.concepts_.shape[1]:
            return  # nothing to compare with: keep LSI
        if self.recipe == "printed":  # every item has a free vector
            known = np.arange(rows.shape[0])
        trainer = self._trainer(sp.csr_array(rows[known]), rng)
        task = HalvesTask(sp.csr_array(rows[held]), rng, held if self.recipe == "printed" else None)
        self._train(trainer, task, rng, data.stage())
        self.concepts_ = trainer.query_table
        self.item_vectors_ = self.embed_items(data.items)  # held-out documents have only their images
        if self.recipe == "printed":  # one scale for all does not change their order
            lengths = np.linalg.norm(trainer.vectors, axis=1)
            self.item_vectors_[known] = trainer.vectors / np.float32(lengths.mean())
        else:
            self.item_vectors_[known] = unit_rows(self.item_vectors_[known] + unit_rows(trainer.vectors))

    def _trainer(self, rows: sp.csr_array, rng: np.random.Generator) -> ReconstructionTrainer:
        """A trainer at the start: LSI's concepts, or random tables."""
        names = ("gamma", "margin", "n_drawn", "query_share", "both_ways")
        settings = ReconstructionSettings(
            **{name: self._used(name) for name in names}, triplets=self.recipe == "printed"
        )
        if self._used("start") == "lsi":
            return ReconstructionTrainer(rows, self.concepts_, settings)
        scale, dim = 1.0 if self._used("start") == "normal" else self.dim**-0.5, self.dim
        drawn = [
            rng.normal(0, scale, (n, dim)).astype(np.float32) for n in (rows.shape[1], rows.shape[1], rows.shape[0])
        ]
        return ReconstructionTrainer(rows, drawn[0], settings, (drawn[1], drawn[2]))

    def _check_params(self) -> None:
        super()._check_params()
        check_choice("start", self.start, STARTS)
        self._check_recipe()
        check_number("seed", self.seed, low=0, whole=True)
        check_number("gamma", self.gamma, low=0)
        check_number("query_share", self.query_share, low=0, high=1, open_low=True)
        check_number("n_drawn", self.n_drawn, low=1, whole=True)
        check_numbers(self, "rate", "margin", low=0, open_low=True)
        check_numbers(self, "n_epochs", optional=True, low=1, whole=True)

    def _train(
        self, trainer: ReconstructionTrainer, task: HalvesTask, rng: np.random.Generator, stage: Stage | None
    ) -> None:
        n_wanted = round(FEWEST_STEPS / trainer.rows.shape[0])
        n_epochs = self.n_epochs or min(MOST_EPOCHS, max(FEWEST_EPOCHS, n_wanted))

        def measure(number: int) -> dict[str, float]:
            return trainer.losses | task.measure(trainer, number)

        epoch = partial(trainer.epoch, rng)
        self.rate_, self.best_epoch_, self.epochs_ = run_epochs(
            trainer.state,
            epoch,
            measure,
            "found",
            Schedule(self.rate_, n_epochs, constant=self.recipe == "printed"),
            EpochLog(rng, stage),
        )


class ReconstructionRanker(LsiTfidfRanker, LearnedConcepts):
    """HTR by reconstruction, mixed with tf-idf: alpha * cosine + (1 - alpha) * tfidf.

    Parameters
    ----------
    dim : int, default=100
        Width of the vectors.
    alpha : float or None, default=None
        Weight of the cosine, from 0 to 1; None means chosen on pairs, or 0.5 where there are none.
    alpha_by : {"MAP", "training-rank-loss"}, default="MAP"
        As in `LsiTfidfRanker`.
    **training
        Parameters of the training (`LearnedConcepts`) and of `LsiRanker`: n_iter, seed.

    Examples
    --------
    >>> rows = np.kron(np.eye(2), np.ones((3, 2))).astype(np.float32) / np.float32(2**0.5)
    >>> ranker = ReconstructionRanker(dim=2, n_epochs=2).fit(None, rows)
    >>> ranker.rank(np.array([[0, 0, 1, 0]]), k=3).items
    array([[3, 4, 5]])
    """

    _fitted: ClassVar = LearnedConcepts._fitted | LsiTfidfRanker._fitted

    def __init__(
        self, dim: int = 100, *, alpha: float | None = None, alpha_by: str = ALPHA_BY[0], **training: Any
    ) -> None:
        super().__init__(dim, alpha=alpha, alpha_by=alpha_by, **training)


class HalvesTask:
    """Measures epochs without labels: one half of a held-out document's words should find the other half.

    The other half gets the vector of a new item and is ranked among all trained ones. If no document is held out,
    the last epoch counts as the best. With `places`, the documents are trained ones: a half is to find the vector of
    its full document by the product v_i . W x.
    """

    def __init__(self, rows: sp.csr_array, rng: np.random.Generator, places: np.ndarray | None = None) -> None:
        first = rng.random(rows.nnz) < 0.5
        self.asking, self.sought, self.places = scaled_part(rows, first), scaled_part(rows, ~first), places

    def measure(self, trainer: ReconstructionTrainer, number: int) -> dict[str, float]:
        """The mean reciprocal rank of the halves that are sought, after the `number`-th epoch."""
        if not self.asking.shape[0]:
            return {"found": float(number)}
        if self.places is not None:
            scores = factor_scores(DenseFactors(trainer.vectors), project(self.asking, trainer.query_table))
            own = np.take_along_axis(scores, self.places[:, None], axis=1)
            return {"found": float(np.mean(1 / (1 + np.count_nonzero(scores > own, axis=1))))}
        asking, sought = (unit_rows(project(rows, trainer.query_table)) for rows in (self.asking, self.sought))
        own, n_above = np.einsum("ij,ij->i", asking, sought), np.zeros(len(asking), np.int64)
        for part in row_blocks(trainer.vectors):
            n_above += count_above(asking, unit_rows(trainer.vectors[part]), own)
        return {"found": float(np.mean(1 / (1 + n_above)))}


def _hold_out(n_docs: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows for training and rows for validation; a small collection has no rows for validation."""
    n_held = min(MOST_HELD, round(HELD_SHARE * n_docs)) if n_docs >= FEWEST_DOCS else 0
    shuffled = rng.permutation(n_docs)
    return np.sort(shuffled[n_held:]), np.sort(shuffled[:n_held])


def count_above(queries: np.ndarray, items: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Return how many items score above the limit of each query, by the bits of `factor_scores`; unit rows, float32.

    A product of BLAS, which is faster but rounds differently, decides where the difference is larger than rounding.
    """
    rounding = 2 * queries.shape[1] * np.finfo(np.float32).eps
    with one_blas_thread():
        differences = queries @ items.T - limits[:, None]
    found = np.count_nonzero(differences > rounding, axis=1)
    unsure = np.abs(differences) <= rounding
    for row in np.flatnonzero(unsure.any(axis=1)).tolist():
        exact = factor_scores(DenseFactors(items[unsure[row]]), queries[[row]])
        found[row] += np.count_nonzero(exact > limits[row])
    return found


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
