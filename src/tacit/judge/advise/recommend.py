"""`advise`: candidates that suit the data, within a budget of time, and the advice about them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from tacit.core import Collection, Judgments, Links, Lists, TacitError, UsageError, check_number
from tacit.features import find_language, has_stemmer
from tacit.judge.advise.advice import JUDGED, Advice, make_advice
from tacit.judge.advise.collections import CollectionCandidate, CollectionTask
from tacit.judge.advise.lists import ColumnCandidate, ListCandidate, ListTask
from tacit.judge.advise.verdict import judged_only
from tacit.metrics import parse_measure
from tacit.search import Searcher

BASELINE, BLEND, LEARNED = "bm25", "blend", "blend+labels"
LIST_METHODS = ("standing", "linear", "rankboost")
N_FOLDS = 5
MINUTES = 15.0

Progress = Callable[[str], None]


def advise(
    data: Collection | Lists,
    queries: Collection | None = None,
    qrels: Judgments | None = None,
    *,
    links: Links | None = None,
    measure: str = "nDCG@10",
    minutes: float = MINUTES,
    language: str = "en",
    groups: Sequence[object] | None = None,
    sequential: bool = False,
    column: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = lambda message: None,
) -> Advice:
    """Which system to use, and whether the judgments help, proved by nested cross-validation over queries.

    Parameters
    ----------
    data : Collection or Lists
        Documents to search, or judged feature lists.
    queries : Collection or None, default=None
        Texts of queries, with a collection.
    qrels : Judgments or None, default=None
        Their judgments.
    links : Links or None, default=None
        Links between documents, which further candidates learn from.
    measure : str, default="nDCG@10"
        What is claimed and chosen by.
    minutes : float, default=15
        Budget of time. What does not fit into it is left out, and the advice says so.
    language : str, default="en"
        Language of documents and queries; "auto" finds it in the documents.
    groups : sequence or None, default=None
        Group of each query, such as its topic; queries of one group stay in one fold.
    sequential : bool, default=False
        Claims stay valid if one asks again after every few judgments.
    column : int or None, default=None
        Number from 0 of the feature that is the baseline of feature lists; None: the best on training lists.
    seed : int, default=0
        Random seed of folds and of systems.
    threads : int or None, default=None
        Threads; None: all cores. The advice is the same for any number.
    progress : callable
        Told what is done.

    Returns
    -------
    Advice
    """
    check_number("minutes", minutes, low=0, open_low=True)
    measures = list(dict.fromkeys([str(parse_measure(measure)), "nDCG@10", "AP", judged_only(measure), JUDGED]))
    clock = Clock(minutes, progress)
    if isinstance(data, Lists):
        return _advise_lists(
            ListTask.of(data, measures, threads=threads, seed=seed), measure, column, sequential, clock
        )
    if queries is None or qrels is None:
        raise UsageError("a collection needs queries and qrels: texts of queries, and which documents they want")
    options = {"links": links, "language": find_language(data, language), "threads": threads, "seed": seed}
    task = CollectionTask.of(data, queries, qrels, measures, **options)
    kept = None if groups is None else [groups[queries.row_of[query]] for query in task.queries.ids]
    return _advise_collection(task, measure, kept, sequential, clock)


class Clock:
    """Time left of the budget, told along with the progress."""

    def __init__(self, minutes: float, progress: Progress) -> None:
        self.end, self._progress = time.monotonic() + 60 * minutes, progress

    @property
    def left(self) -> float:
        """Seconds left."""
        return self.end - time.monotonic()

    def tell(self, message: str) -> None:
        """Pass a message on."""
        self._progress(message)


def _advise_collection(
    task: CollectionTask, measure: str, groups: Sequence[object] | None, sequential: bool, clock: Clock
) -> Advice:
    label_free = CollectionCandidate(BLEND, task, BLEND)
    learned = CollectionCandidate(LEARNED, task, BLEND, learns=True, like=label_free)
    candidates = [CollectionCandidate(BASELINE, task, BASELINE), label_free, learned]
    if task.links is not None:
        candidates.append(CollectionCandidate("htr-residual+links", task, "htr-residual", links=task.links))
    return make_advice(
        candidates,
        label_free=label_free,
        learned=learned,
        n_queries=len(task.queries),
        measure=str(parse_measure(measure)),
        has_zeros=task.has_zeros,
        sequential=sequential,
        progress=clock.tell,
        seconds_left=lambda: clock.left,
        n_folds=_n_folds(len(task.queries)),
        seed=task.seed,
        groups=groups,
    )


def _advise_lists(task: ListTask, measure: str, column: int | None, sequential: bool, clock: Clock) -> Advice:
    if column is not None:
        check_number("column", column, low=0, high=task.lists.X.shape[1] - 1, whole=True)
    baseline = ColumnCandidate(task, str(parse_measure(measure)), column)
    rankers = [ListCandidate(name, task) for name in LIST_METHODS]
    return make_advice(
        [baseline, *rankers],
        label_free=baseline,
        learned=rankers[0],
        n_queries=len(task.lists),
        measure=str(parse_measure(measure)),
        has_zeros=True,
        sequential=sequential,
        progress=clock.tell,
        seconds_left=lambda: clock.left,
        n_folds=_n_folds(len(task.lists)),
        seed=task.seed,
    )


def _n_folds(n_queries: int) -> int:
    return min(N_FOLDS, n_queries)


def fit_recommended(
    advice: Advice,
    documents: Collection,
    queries: Collection,
    qrels: Judgments,
    *,
    links: Links | None = None,
    language: str = "en",
    **params: Any,
) -> Searcher:
    """The recommended system, fitted on everything."""
    method = {LEARNED: BLEND}.get(advice.system, advice.system.removesuffix("+links"))
    language = find_language(documents, language)
    searcher = Searcher(method, stem=has_stemmer(language), language=language, **params)
    if advice.system == LEARNED:
        return searcher.fit(documents, queries=queries, qrels=qrels)
    if advice.system.endswith("+links"):
        if links is None:
            raise TacitError(f"{advice.system} learns from links, and none are given")
        return searcher.fit(documents, links=links)
    return searcher.fit(documents)
