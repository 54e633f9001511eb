"""Per-list transduction: for each list to rank, look at its documents, train a ranker for it, rank it, forget it.

The meta-algorithm of Duh and Kirchhoff (2011). For a list u (its features, never its labels):

    discover  finds directions of u; all rows' components along them join their features     (feature generation, FG)
    adapt     weighs training pairs, rows or lists by how much they look like u               (importance weighting, IW)
    base      is trained on the training lists so changed, and scores u

With both, the weights are computed on the discovered features. Unjudged training rows stand in no pair. Lists are
independent: they run in parallel through joblib (whose backend can be chosen by `joblib.parallel_config`), and have
the same bits for any number of workers. Where every stage of the base is a ranker (rounds of boosting, penalties from
strong to weak), a ranker is trained for each validation list too, and the number of stages that is best over all of
them is kept.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone

from tacit.core import UsageError, check_choice, check_number, count_threads, one_blas_thread, track
from tacit.features.kernel_pca import KernelPca
from tacit.metrics import evaluate_rows, is_loss, parse_measure
from tacit.rerank.base import ListRanker
from tacit.rerank.rows import Rows, group_rows
from tacit.rerank.transduction.importance import Adaptation, KliepAdaptation, convert_weights
from tacit.rerank.transduction.learners import learner_of
from tacit.rerank.transduction.precomputed import Bank, build_bank

MODES = ("train", "precomputed")

# Rounds of the default base: for a single list more of them bring nothing, and someone waits.
N_ROUNDS = 150


class ListResult(NamedTuple):
    """Scores of one list, by stage where asked for, and how many components it was too short for."""

    scores: np.ndarray
    n_cut: int


class TransductiveRanker(ListRanker):
    """A ranker for every list.

    base: estimator to train (default RankBoost; AdaCost where there are weights); discover: transformer with `fit(X)`
    and `transform(X)`, or "kernel-pca"; adapt: such as `KliepAdaptation()`, or "kliep"; mode: "train" for each list, or
    "precomputed", a bank of n_precomputed rankers that are mixed for a list; average: the score of a list is the mean
    over all numbers of rounds, and none is chosen; measure: what validation lists choose the number of rounds by;
    n_validation: how many of them are looked at, evenly spread (None: all); threads: lists at a time.

    Learned: n_rounds_ (None: all), validation_scores_ of the validation rows looked at (NaN of the others).

    >>> from tacit.features.kernel_pca import Kernel, KernelPca
    >>> X, y, qid = np.array([[0, 1], [1, 0], [2, 2], [0, 2], [3, 1.0]]), [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> ranker = TransductiveRanker(discover=KernelPca((Kernel("linear", 1),)), threads=1).fit(X, y, qid)
    >>> np.argsort(ranker.predict(X[:3], [7, 7, 7])).tolist()
    [0, 1, 2]
    """

    _fitted: ClassVar[dict[str, str]] = {"n_rounds_": ""}

    def __init__(
        self,
        base: Any = None,
        discover: Any = None,
        adapt: Adaptation | str | None = None,
        mode: str = "train",
        average: bool = False,
        measure: str = "AP",
        n_validation: int | None = None,
        n_precomputed: int = 16,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.base = base
        self.discover = discover
        self.adapt = adapt
        self.mode = mode
        self.average = average
        self.measure = measure
        self.n_validation = n_validation
        self.n_precomputed = n_precomputed
        self.seed = seed
        self.threads = threads

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        self._check_params()
        rows.check_has_pairs()
        self.learner_ = learner_of(self._base(), rows)
        self.adapt_ = KliepAdaptation(seed=self.seed) if isinstance(self.adapt, str) else self.adapt
        self.discover_ = KernelPca() if isinstance(self.discover, str) else self.discover
        if self.adapt is not None and self.learner_.level is None:
            raise UsageError(f"base is {type(self._base()).__name__}, which takes no weights; want adapt=None with it")
        self.bank_: Bank | None = None
        if self.mode == "precomputed":
            self.bank_ = build_bank(self.learner_, rows, self.discover_, self.n_precomputed, self.threads, self.seed)
        self.n_rounds_: int | None = None
        self.validation_scores_: np.ndarray | None = None
        if validation is not None and self.learner_.staged:
            self._look_at(validation)

    def _predict(self, X: np.ndarray, qid: np.ndarray) -> np.ndarray:
        grouped = group_rows(X, np.full(len(X), np.nan), qid)
        spans = [slice(*ends) for ends in zip(grouped.starts[:-1].tolist(), grouped.starts[1:].tolist(), strict=True)]
        results = list(self._results([grouped.X[span] for span in spans], all_stages=False))
        warn_of_cut([result.n_cut for result in results])
        scores = np.empty(len(X))
        scores[grouped.order] = np.concatenate([result.scores[0] for result in results])
        return scores

    def _look_at(self, validation: Rows) -> None:
        """Train for validation lists too: choose the number of rounds, and keep the scores."""
        n_wanted = min(self.n_validation or validation.n_lists, validation.n_lists)
        numbers = np.unique(np.linspace(0, validation.n_lists - 1, n_wanted).round().astype(np.int64))
        spans = [slice(validation.starts[n], validation.starts[n + 1]) for n in numbers]
        staged = [result.scores for result in self._results([validation.X[span] for span in spans], all_stages=True)]
        if not self.average:
            grades = [validation.y[span] for span in spans]
            self.n_rounds_ = best_stage(staged, grades, self.measure)
        self.validation_scores_ = np.full(len(validation.y), np.nan)
        for span, table in zip(spans, staged, strict=True):
            self.validation_scores_[span] = self._final(table[: self.n_rounds_])

    def _final(self, staged: np.ndarray) -> np.ndarray:
        final: np.ndarray = staged.mean(axis=0) if self.average else staged[-1]
        return final

    def _results(self, lists: Sequence[np.ndarray], all_stages: bool) -> Iterator[ListResult]:
        """Results of the lists in their order, computed in parallel."""
        from joblib import Parallel, delayed
        from joblib.parallel import get_active_backend

        lazy = get_active_backend(prefer="threads")[0].supports_return_generator
        jobs = Parallel(n_jobs=count_threads(self.threads), prefer="threads", return_as="generator" if lazy else "list")
        n_stages = None if all_stages else self.n_rounds_
        tasks = (delayed(_rank_list)(self, X, n_stages, all_stages, os.getpid()) for X in lists)
        with one_blas_thread():
            yield from track(jobs(tasks), "lists", total=len(lists))

    def train_for(self, X: np.ndarray, n_rounds: int | None = None) -> tuple[Any, np.ndarray, Any]:
        """The ranker of one list: the fitted base, the list's features as the base wants them, fitted `discover`."""
        rows = self.learner_.rows
        found, extra, target = None, None, X
        if self.discover_ is not None:
            found = clone(self.discover_, safe=False).fit(X)
            extra, target = found.transform(rows.X), found.transform(X)
        weights = None
        if self.adapt_ is not None:
            weights = self.adapt_.weights(rows, rows.X if extra is None else extra, target)
            weights = convert_weights(weights, self.adapt_.level, str(self.learner_.level), rows)
        fitted = self.learner_.learn(extra, weights, n_rounds)
        return fitted, X if extra is None else np.hstack([X, target]), found

    def _base(self) -> Any:
        if self.base is not None:
            return self.base
        from tacit.rerank.boosting.adacost import AdaCostRanker
        from tacit.rerank.boosting.rankboost import RankBoostRanker

        return (RankBoostRanker if self.adapt is None else AdaCostRanker)(n_rounds=N_ROUNDS)

    def _check_params(self) -> None:
        if self.discover is None and self.adapt is None:
            raise UsageError("discover and adapt are both None, want at least one; without them the base needs no list")
        check_choice("mode", self.mode, MODES)
        for name, known in (("discover", "kernel-pca"), ("adapt", "kliep")):
            if isinstance(getattr(self, name), str):
                check_choice(name, getattr(self, name), (known,))
        if self.mode == "precomputed" and self.discover is not None and self.adapt is not None:
            raise UsageError(
                "mode is 'precomputed' with discover and adapt, want one of them: each has a bank of its own"
            )
        check_number("n_precomputed", self.n_precomputed, low=1, whole=True)
        if self.n_validation is not None:
            check_number("n_validation", self.n_validation, low=1, whole=True)
        parse_measure(self.measure)


def warn_of_cut(n_cut: Sequence[int]) -> None:
    """One warning for all lists that are too short for the components asked for."""
    n_lists = sum(n > 0 for n in n_cut)
    if n_lists:
        problem = f"{n_lists} of {len(n_cut)} lists have too few documents for the components asked for"
        warnings.warn(f"{problem}; the others are 0", stacklevel=4)


def _rank_list(
    ranker: TransductiveRanker, X: np.ndarray, n_rounds: int | None, all_stages: bool, parent: int
) -> ListResult:
    """Train for one list and score it; a list of one document is in order as it is."""
    if len(X) < 2:
        return ListResult(np.zeros((1, len(X))), 0)
    if os.getpid() != parent:  # a worker process has a BLAS of its own
        with one_blas_thread():
            return _rank_list(ranker, X, n_rounds, all_stages, os.getpid())
    # The same list in another order of rows must give the same bits, also where pairs are drawn.
    order = np.lexsort(X.T[::-1])
    if ranker.bank_ is not None:
        staged, n_cut = ranker.bank_.scores(X[order])[:n_rounds], 0
    else:
        fitted, features, found = ranker.train_for(X[order], n_rounds)
        staged, n_cut = ranker.learner_.scores(fitted, features)[:n_rounds], int(getattr(found, "n_cut_", 0))
    scores = np.empty_like(staged)
    scores[:, order] = staged
    return ListResult(scores if all_stages else ranker._final(scores)[None], n_cut)


def best_stage(staged: Sequence[np.ndarray], grades: Sequence[np.ndarray], measure: str) -> int:
    """The smallest number of stages with the best mean over lists; a list that ended early stays as it was."""
    n_stages = max(len(table) for table in staged)
    total = np.zeros(n_stages)
    for table, y in zip(staged, grades, strict=True):
        values = _stage_values(y, table, measure)
        total += values[np.minimum(np.arange(n_stages), len(values) - 1)]
    return 1 + int(np.argmin(total) if is_loss(measure) else np.argmax(total))


def _stage_values(y: np.ndarray, staged: np.ndarray, measure: str) -> np.ndarray:
    """The measure of one list after each stage."""
    n_stages, n_rows = staged.shape
    if np.isnan(y).all():
        return np.zeros(n_stages)
    stages = np.repeat(np.arange(n_stages), n_rows)
    values = evaluate_rows(np.tile(y, n_stages), staged.ravel(), stages, measure).values
    only: np.ndarray = next(iter(values.values()))
    return only
