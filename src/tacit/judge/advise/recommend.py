"""`advise`: candidates that suit the data, within a budget of time, and the advice about them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tacit.core import Collection, Judgments, Links, Lists, TacitError, UsageError, check_number
from tacit.data import ClickLog
from tacit.features import find_language, has_stemmer
from tacit.judge.advise.advice import JUDGED, Advice, make_advice
from tacit.judge.advise.clicks import (
    CORRECTED,
    COUNTED_NOTE,
    ORDERED_NOTE,
    SHOWN,
    UNKNOWN_ORDER,
    ClickCandidate,
    ClickTask,
    ShownCandidate,
    with_texts,
)
from tacit.judge.advise.collections import CollectionCandidate, CollectionTask
from tacit.judge.advise.lists import ColumnCandidate, ListCandidate, ListTask
from tacit.judge.advise.procedure import Candidate
from tacit.judge.advise.verdict import judged_only
from tacit.metrics import is_loss, parse_measure
from tacit.search import Searcher

BASELINE, BLEND, LEARNED, CLICKED = "bm25", "blend", "blend+labels", "blend+clicks"
WEIGHTED = "blend+weights"  # learned weights of members that learn nothing
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
    clicks: ClickLog | None = None,
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
        Their judgments. With clicks alone there are none, and `queries` is needed only where the log names queries by
        id.
    links : Links or None, default=None
        Links between documents, which further candidates learn from.
    clicks : ClickLog or None, default=None
        Clicks, as `read_click_log` returns them. With judgments, they are learned from and what they add is measured
        on judged queries; without, clicks on held-out queries are the measure (see `judge.advise.clicks`).
    measure : str, default="nDCG@10"
        What is claimed and chosen by.
    minutes : float, default=15
        Budget of time. The baseline and the label-free blend are always measured. A further system is left out if
        its fits would take longer than the time left, and the advice says so.
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
    measure = _check_measure(measure)
    clock = Clock(minutes, progress)
    options: dict[str, Any] = {"threads": threads, "seed": seed}
    if isinstance(data, Lists):
        lists = ListTask.of(data, _measures(measure), **options)
        return _advise_lists(lists, measure, column, sequential, clock)
    options |= {"links": links, "language": find_language(data, language)}
    log = None if clicks is None else with_texts(clicks, queries)
    if qrels is None and log is not None:
        if groups is not None:
            raise UsageError("groups are of judged queries, and clicks have none")
        return _advise_by_clicks(data, log, measure, sequential, clock, options)
    if queries is None or qrels is None:
        raise UsageError("a collection needs queries and qrels, texts of queries and judgments of documents, or clicks")
    task = CollectionTask.of(data, queries, qrels, _measures(measure), **options)
    kept = None if groups is None else [groups[queries.row_of[query]] for query in task.queries.ids]
    return _advise_collection(task, measure, kept, log, sequential, clock)


def _check_measure(measure: str) -> str:
    """The name of a measure of which more is better and 1 the most."""
    found = parse_measure(measure)
    if is_loss(str(found)) or found.name in ("DCG", "Judged"):
        raise UsageError(
            f"measure is {measure}, want one that is at most 1 and better if larger, such as nDCG@10 or AP"
        )
    return str(found)


def _measures(measure: str) -> list[str]:
    return list(dict.fromkeys([measure, "nDCG@10", "AP", judged_only(measure), JUDGED]))


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
    task: CollectionTask,
    measure: str,
    groups: Sequence[object] | None,
    log: ClickLog | None,
    sequential: bool,
    clock: Clock,
) -> Advice:
    label_free = CollectionCandidate(BLEND, task, BLEND)
    learned = CollectionCandidate(LEARNED, task, BLEND, learns=True, like=label_free)
    clicked = None if log is None else ClickCandidate(CLICKED, task, BLEND, like=label_free, log=log)
    candidates: list[Candidate] = [CollectionCandidate(BASELINE, task, BASELINE), label_free, learned]
    candidates += [] if clicked is None else [clicked]
    return make_advice(
        candidates + _further(task),
        label_free=label_free,
        learned=learned,
        clicked=clicked,
        simpler=replace(learned, name=WEIGHTED, params={"residual": False}),
        has_zeros=task.has_zeros,
        groups=groups,
        **_options(len(task.queries), task.seed, measure, sequential, clock),
    )


def _advise_by_clicks(
    documents: Collection, log: ClickLog, measure: str, sequential: bool, clock: Clock, options: dict[str, Any]
) -> Advice:
    if parse_measure(measure).name != "nDCG":
        raise UsageError(f"measure is {measure}, want nDCG for clicks, whose numbers are grades")
    task = ClickTask.of_log(documents, log, [measure], **options)
    label_free = CollectionCandidate(BLEND, task, BLEND)
    learned = ClickCandidate(CLICKED, task, BLEND, like=label_free, log=log)
    candidates: list[Candidate] = [CollectionCandidate(BASELINE, task, BASELINE), label_free, learned]
    if log.ordered:
        candidates.insert(0, ShownCandidate(task, log))
    return make_advice(
        candidates + _further(task),
        label_free=label_free,
        learned=learned,
        has_zeros=False,
        corrected=CORRECTED.format(measure) if log.ordered else None,
        withheld="" if log.ordered else UNKNOWN_ORDER,
        evidence="queries with clicks",
        note=ORDERED_NOTE if log.ordered else COUNTED_NOTE,
        **_options(len(task.queries), task.seed, measure, sequential, clock),
    )


def _further(task: CollectionTask) -> list[Candidate]:
    """Candidates beside those that the verdict speaks of."""
    if task.links is None:
        return []
    return [CollectionCandidate("htr-residual+links", task, "htr-residual", links=task.links)]


def _advise_lists(task: ListTask, measure: str, column: int | None, sequential: bool, clock: Clock) -> Advice:
    if column is not None:
        check_number("column", column, low=0, high=task.lists.X.shape[1] - 1, whole=True)
    baseline = ColumnCandidate(task, measure, column)
    rankers = [ListCandidate(name, task) for name in LIST_METHODS]
    return make_advice(
        [baseline, *rankers],
        label_free=baseline,
        learned=rankers[0],
        has_zeros=True,
        **_options(len(task.lists), task.seed, measure, sequential, clock),
    )


def _options(n_queries: int, seed: int, measure: str, sequential: bool, clock: Clock) -> dict[str, Any]:
    """Arguments of `make_advice` that every kind of data has."""
    return {
        "n_queries": n_queries,
        "n_folds": min(N_FOLDS, n_queries),
        "seed": seed,
        "measure": measure,
        "sequential": sequential,
        "progress": clock.tell,
        "seconds_left": lambda: clock.left,
    }


def fit_recommended(
    advice: Advice,
    documents: Collection,
    queries: Collection | None = None,
    qrels: Judgments | None = None,
    *,
    links: Links | None = None,
    clicks: ClickLog | None = None,
    language: str = "en",
    **params: Any,
) -> Searcher:
    """The recommended system, fitted on everything; the arguments are those that `advise` had."""
    if advice.system == SHOWN:
        raise TacitError("the shown order is recommended, which no model computes: there is nothing to fit")
    method = advice.system.partition("+")[0]
    language = find_language(documents, language)
    params |= {"residual": False} if advice.system == WEIGHTED else {}
    searcher = Searcher(method, stem=has_stemmer(language), language=language, **params)
    if advice.system in (LEARNED, WEIGHTED):
        return searcher.fit(documents, queries=queries, qrels=qrels)
    if advice.system == CLICKED and clicks is not None:
        return searcher.fit(documents, clicks=with_texts(clicks, queries).pairs(documents, skip_unknown=True))
    if advice.system.endswith("+links") and links is not None:
        return searcher.fit(documents, links=links)
    if "+" in advice.system:
        raise TacitError(f"{advice.system} learns from {advice.system.partition('+')[2]}, and none are given")
    return searcher.fit(documents)
