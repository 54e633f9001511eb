"""Per-list transduction: for each list to rank, use its documents to train a ranker for it, then rank it.

The meta-algorithm of Duh and Kirchhoff (2011). For a list u (its features, never its labels):

    discover  finds directions of u; components of all rows along them become features  (feature generation, FG)
    adapt     weighs training pairs, rows or lists by their similarity to u             (importance weighting, IW)
    base      is trained on the changed training lists, and scores u

With both, the weights are computed on the discovered features. Unjudged training rows are in no pair. Lists are
independent: they run in parallel through joblib (choose its backend with `joblib.parallel_config`), and are
bit-identical for any number of workers. If every stage of the base is a ranker (rounds of boosting, penalties from
strong to weak), a ranker is trained for each validation list too, and the number of stages that is best over all of
them is used.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone

from tacit.core import (
    TacitError,
    UsageError,
    check_choice,
    check_number,
    check_numbers,
    count_threads,
    one_blas_thread,
    plural,
    track,
)
from tacit.features.kernel_pca import PRINTED_KERNELS, KernelPca
from tacit.metrics import evaluate_rows, is_loss, parse_measure
from tacit.rerank.base import ListRanker
from tacit.rerank.boosting.rankboost import AdaCostRanker, RankBoostRanker
from tacit.rerank.list_columns import check_list_scale, scale_within_lists
from tacit.rerank.rows import Rows, group_rows
from tacit.rerank.transduction.importance import Adaptation, KliepAdaptation, convert_weights
from tacit.rerank.transduction.learners import Learner, make_learner, staged_scores
from tacit.rerank.transduction.precomputed import Bank, BasisBank, WeightingBank

MODES = ("train", "precomputed")

# Rounds of the default base: for a single list more rounds do not help, and users wait for the result.
N_ROUNDS = 150

MOST_ROUNDS = 10_000  # per list, because users wait for the result

# Maximum number of validation lists for the choice between several transformers.
N_CHOICE = 10


class ListResult(NamedTuple):
    """Scores of one list, by stage on request, and the number of components that the list was too short for."""

    scores: np.ndarray
    n_cut: int


class TransductiveRanker(ListRanker):
    """Trains a ranker for every list.

    Parameters
    ----------
    base : estimator, default=None
        Estimator to train; None is RankBoost, or AdaCost if there are weights.
    discover : transformer, sequence of transformers, "kernel-pca" or "kernel-pca-printed", default=None
        Finds features in the list, by `fit(X)` and `transform(X)`. Of several, the best on validation lists is used, or
        without these the first. "kernel-pca-printed" are kernels of raw features with several degrees, widths,
        diffusion times and numbers of components to choose from.
    adapt : KliepAdaptation, "kliep" or "kliep-printed", default=None
        Weights training pairs by their similarity to the list; "kliep-printed" uses the most likely bandwidth.
    mode : {"train", "precomputed"}, default="train"
        Train for each list, or mix rankers trained in `fit`.
    n_rounds : int, default=150
        Maximum number of rounds of the default base.
    average : bool, default=False
        Score by the mean over all numbers of rounds, without a choice.
    measure : str, default="AP"
        Measure on validation lists for the choice of the number of rounds.
    n_validation : int, default=None
        Number of validation lists to use, evenly spread; None uses all.
    n_precomputed : int, default=16
        Number of rankers in mode "precomputed".
    seed : int, default=0
        Random seed.
    threads : int, default=None
        Number of lists ranked in parallel; None uses all cores. The scores are the same for any number.
    scale : {"zscore", "minmax"} or None, default=None
        Scale features within each list first, by the list's own statistics.

    Attributes
    ----------
    n_rounds_ : int or None
        Number of rounds; None is all.
    choice_ : int
        Number, from 0, of the transformer in use.
    bank_ : BasisBank or WeightingBank
        The rankers of mode "precomputed".
    train_X_, train_grades_, train_starts_, train_pairs_, train_pair_weights_ : ndarray
        The training rows, in mode "train".

    Examples
    --------
    >>> from tacit.features.kernel_pca import Kernel, KernelPca
    >>> X, y, qid = np.array([[0, 1], [1, 0], [2, 2], [0, 2], [3, 1.0]]), [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> ranker = TransductiveRanker(discover=KernelPca((Kernel("linear", 1),)), threads=1).fit(X, y, qid)
    >>> np.argsort(ranker.predict(X[:3], [7, 7, 7])).tolist()
    [0, 1, 2]
    """

    _fitted: ClassVar[dict[str, str]] = {
        "n_rounds_": "?",
        "choice_": "",
        "bank_": "?estimator",
        "train_X_": "?rows features",
        "train_grades_": "?rows",
        "train_starts_": "?bounds",
        "train_pairs_": "?pairs ends",
        "train_pair_weights_": "?pairs",
    }

    _scores_by_list: ClassVar[bool] = True

    def __init__(
        self,
        base: Any = None,
        discover: Any = None,
        adapt: Adaptation | str | None = None,
        mode: str = "train",
        n_rounds: int = N_ROUNDS,
        average: bool = False,
        measure: str = "AP",
        n_validation: int | None = None,
        n_precomputed: int = 16,
        seed: int = 0,
        threads: int | None = None,
        scale: str | None = None,
    ) -> None:
        self.base, self.discover, self.adapt, self.mode, self.n_rounds = base, discover, adapt, mode, n_rounds
        self.average, self.measure, self.n_validation = average, measure, n_validation
        self.n_precomputed, self.seed, self.threads, self.scale = n_precomputed, seed, threads, scale

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        self._check_params()
        rows.check_has_pairs()
        with one_blas_thread():
            self._learner = make_learner(self._base(), rows)
        if self.adapt is not None and self._learner.level is None:
            raise UsageError(f"base is {type(self._base()).__name__}, which takes no weights; want adapt=None with it")
        self.bank_: Bank | None = None
        self.choice_ = 0
        if self.mode == "precomputed":
            self.bank_ = self._make_bank().fit(self._learner, rows)
        self._keep_rows(rows if self.bank_ is None else None)
        self.n_rounds_: int | None = None
        self.validation_scores_: np.ndarray | None = None
        if validation is not None and self._learner.staged:
            if self.bank_ is None and len(self._transformers()) > 1:
                self.choice_ = self._best_transformer(validation)
            self._look_at(validation)

    def _read_table(self, table: np.ndarray, lists: np.ndarray) -> np.ndarray:
        check_list_scale(self.scale)
        return scale_within_lists(super()._read_table(table, lists), lists, self.scale)

    def _predict(self, X: np.ndarray, qid: np.ndarray) -> np.ndarray:
        grouped = Rows.unjudged(X, qid)
        results = list(self._results([grouped.X[span] for span in grouped.spans], all_stages=False))
        warn_of_cut([result.n_cut for result in results])
        return grouped.in_input_order(np.concatenate([result.scores[0] for result in results]))

    def _best_transformer(self, validation: Rows) -> int:
        """Return the number of the transformer whose best stage is best over some validation lists."""
        spans = spread_spans(validation, min(self.n_validation or N_CHOICE, N_CHOICE))
        lists, grades = [validation.X[span] for span in spans], [validation.y[span] for span in spans]
        values = []
        for number in range(len(self._transformers())):
            self.choice_ = number
            staged = [result.scores for result in self._results(lists, all_stages=True)]
            values.append(stage_means(staged, grades, self.measure)[best_stage(staged, grades, self.measure) - 1])
        return int(np.argmin(values) if is_loss(self.measure) else np.argmax(values))

    def _look_at(self, validation: Rows) -> None:
        """Train for validation lists too: choose the number of rounds, and return the scores."""
        spans = spread_spans(validation, self.n_validation or validation.n_lists)
        staged = [result.scores for result in self._results([validation.X[span] for span in spans], all_stages=True)]
        if not self.average:
            grades = [validation.y[span] for span in spans]
            self.n_rounds_ = best_stage(staged, grades, self.measure)
        self.validation_scores_ = np.full(len(validation.y), np.nan)
        for span, table in zip(spans, staged, strict=True):
            self.validation_scores_[span] = self._final(table[: self.n_rounds_])

    def _final(self, staged: np.ndarray) -> np.ndarray:
        return staged.mean(axis=0) if self.average else staged[-1]

    def _results(self, lists: Sequence[np.ndarray], all_stages: bool) -> Iterator[ListResult]:
        """Return results of the lists in their order, computed in parallel."""
        from joblib import Parallel, delayed
        from joblib.parallel import get_active_backend

        lazy = get_active_backend(prefer="threads")[0].supports_return_generator
        jobs = Parallel(n_jobs=count_threads(self.threads), prefer="threads", return_as="generator" if lazy else "list")
        n_stages = None if all_stages else self.n_rounds_
        tasks = (delayed(_rank_list)(self, X, n_stages, all_stages, os.getpid()) for X in lists)
        with one_blas_thread():
            if self.bank_ is None:
                _ = self._learner  # prepared once, before threads use it
            yield from track(jobs(tasks), "lists", total=len(lists))

    def train_for(self, X: np.ndarray, n_rounds: int | None = None) -> tuple[Any, np.ndarray, Any]:
        """Return the ranker of one list: the fitted base, the list's features, and the fitted `discover`."""
        learner, discover, adapt = self._learner, self._discover(), self._adapt()
        rows = learner.rows
        found, extra, target = None, None, X
        if discover is not None:
            found = clone(discover, safe=False).fit(X)
            extra, target = found.transform(rows.X), found.transform(X)
        weights = None
        if adapt is not None:
            weights = adapt.weights(rows, rows.X if extra is None else extra, target)
            weights = convert_weights(weights, adapt.level, str(learner.level), rows)
        fitted = learner.learn(extra, weights, n_rounds)
        return fitted, X if extra is None else np.hstack([X, target]), found

    @cached_property
    def _learner(self) -> Learner:
        """Return the base with the training rows; made again for a loaded ranker."""
        with one_blas_thread():
            return make_learner(self._base(), self._kept_rows())

    def _make_bank(self) -> Bank:
        params: dict[str, Any] = {"n_rankers": self.n_precomputed, "threads": self.threads, "seed": self.seed}
        return WeightingBank(**params) if self.discover is None else BasisBank(self._discover(), **params)

    def _keep_rows(self, rows: Rows | None) -> None:
        """Store the training rows as plain arrays, which a model folder supports: grade -1 is unjudged."""
        self.train_X_ = self.train_grades_ = self.train_starts_ = self.train_pairs_ = self.train_pair_weights_ = None
        if rows is not None:
            self.train_X_, self.train_grades_ = rows.X, np.where(np.isnan(rows.y), -1.0, rows.y)
            self.train_starts_ = rows.starts
            self.train_pairs_ = np.column_stack([rows.given.better, rows.given.worse])
            self.train_pair_weights_ = rows.given.weight

    def _kept_rows(self) -> Rows:
        X: Any = self.train_X_
        y: Any = self.train_grades_
        starts = self.train_starts_
        if starts is None or starts[0] != 0 or starts[-1] != len(X) or (np.diff(starts) < 1).any():
            raise TacitError("the training rows of the model are incomplete, want consecutive lists")
        qid = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return group_rows(X, y, qid, self.train_pairs_, self.train_pair_weights_)

    def _check_loaded(self) -> None:
        self._check_params()
        check_numbers(self, "n_rounds_", optional=True, low=1, whole=True)
        check_number("choice_", self.choice_, low=0, high=len(self._transformers()) - 1, whole=True)
        if self.mode == "train":
            self._kept_rows().check_has_pairs()
        elif not isinstance(self.bank_, Bank) or self.bank_.n_features_in_ != self.n_features_in_:
            raise TacitError("the bank of rankers is missing or was made for other features")

    def _discover(self) -> Any:
        return self._transformers()[self.choice_]

    def _transformers(self) -> Sequence[Any]:
        if self.discover == "kernel-pca-printed":
            return [KernelPca(kernels, scale=False, center=False) for kernels in PRINTED_KERNELS]
        if isinstance(self.discover, str):
            return [KernelPca()]
        return self.discover if isinstance(self.discover, list | tuple) else [self.discover]

    def _adapt(self) -> Any:
        if isinstance(self.adapt, str):
            return KliepAdaptation(cautious=self.adapt == "kliep", seed=self.seed)
        return self.adapt

    def _base(self) -> Any:
        if self.base is not None:
            return self.base
        return (RankBoostRanker if self.adapt is None else AdaCostRanker)(n_rounds=self.n_rounds)

    def _check_params(self) -> None:
        if self.discover is None and self.adapt is None:
            raise UsageError("discover and adapt are both None, want at least one; without both, use the base itself")
        check_choice("mode", self.mode, MODES)
        check_list_scale(self.scale)
        if isinstance(self.base, RankBoostRanker) and self.base.scale is not None:
            raise UsageError(f"base has scale={self.base.scale!r}, want scale of the {type(self).__name__} itself set")
        for name, known in (("discover", "kernel-pca"), ("adapt", "kliep")):
            if isinstance(getattr(self, name), str):
                check_choice(name, getattr(self, name), (known, f"{known}-printed"))
        for name, wanted in (("discover", "transform"), ("adapt", "weights"), ("base", "fit")):
            for value in self._transformers() if name == "discover" else [getattr(self, name)]:
                named = isinstance(value, str) and name != "base"
                if value is not None and not named and not hasattr(value, wanted):
                    raise UsageError(f"{name} is a {type(value).__name__}, want an object with {wanted!r}")
        if self.mode == "precomputed" and self.discover is not None and self.adapt is not None:
            raise UsageError(
                "mode is 'precomputed' with discover and adapt, want one of them, because each has its own bank"
            )
        check_numbers(self, "n_rounds", "n_precomputed", low=1, high=MOST_ROUNDS, whole=True)
        check_numbers(self, "n_validation", optional=True, low=1, whole=True)
        parse_measure(self.measure)


def warn_of_cut(n_cut: Sequence[int]) -> None:
    """Warn once about all lists that are too short for the requested components."""
    n_lists = sum(n > 0 for n in n_cut)
    if n_lists:
        problem = f"too few documents for the requested components in {n_lists} of {plural(len(n_cut), 'list')}"
        warnings.warn(f"{problem}; the others are 0", stacklevel=4)


def _rank_list(
    ranker: TransductiveRanker, X: np.ndarray, n_rounds: int | None, all_stages: bool, parent: int
) -> ListResult:
    """Train for one list and score it; a list of one document needs no training."""
    if len(X) < 2:
        return ListResult(np.zeros((1, len(X))), 0)
    if os.getpid() != parent:  # a worker process has its own BLAS
        with one_blas_thread():
            return _rank_list(ranker, X, n_rounds, all_stages, os.getpid())
    # The same list in another order of rows must give the same bits, even if pairs are drawn.
    order = np.lexsort(X.T[::-1])
    if ranker.bank_ is not None:
        staged, n_cut = ranker.bank_.scores(X[order])[:n_rounds], 0
    else:
        fitted, features, found = ranker.train_for(X[order], n_rounds)
        staged, n_cut = staged_scores(fitted, features)[:n_rounds], int(getattr(found, "n_cut_", 0))
    scores = np.empty_like(staged)
    scores[:, order] = staged
    return ListResult(scores if all_stages else ranker._final(scores)[None], n_cut)


def spread_spans(rows: Rows, n_lists: int) -> list[slice]:
    """Return rows of this many lists, evenly spaced among all."""
    last = rows.n_lists - 1
    return [rows.spans[n] for n in np.unique(np.linspace(0, last, min(n_lists, last + 1)).round().astype(np.int64))]


def best_stage(staged: Sequence[np.ndarray], grades: Sequence[np.ndarray], measure: str) -> int:
    """Return the smallest number of stages with the best mean over lists."""
    means = stage_means(staged, grades, measure)
    return 1 + int(np.argmin(means) if is_loss(measure) else np.argmax(means))


def stage_means(staged: Sequence[np.ndarray], grades: Sequence[np.ndarray], measure: str) -> np.ndarray:
    """Return the mean of the measure over lists after each stage; a list that ended early keeps its last value."""
    n_stages = max(len(table) for table in staged)
    total = np.zeros(n_stages)
    for table, y in zip(staged, grades, strict=True):
        values = _stage_values(y, table, measure)
        total += values[np.minimum(np.arange(n_stages), len(values) - 1)]
    return total / len(staged)


def _stage_values(y: np.ndarray, staged: np.ndarray, measure: str) -> np.ndarray:
    """Return the measure of one list after each stage."""
    n_stages, n_rows = staged.shape
    if np.isnan(y).all():
        return np.zeros(n_stages)
    stages = np.repeat(np.arange(n_stages), n_rows)
    values = evaluate_rows(np.tile(y, n_stages), staged.ravel(), stages, measure).values
    return next(iter(values.values()))
