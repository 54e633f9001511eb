"""`advise`: candidates for the data, within a time budget, and the resulting advice."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from tacit.core import Collection, Judgments, Links, Lists, TacitError, UsageError, check_number
from tacit.data import ClickLog, as_click_log, as_collection, as_judgments
from tacit.features import find_language, has_stemmer
from tacit.judge.advise.advice import Advice, Roles, make_advice
from tacit.judge.advise.assisted import assisted_candidate
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
from tacit.judge.advise.collections import CollectionCandidate, CollectionTask, EncoderCandidate
from tacit.judge.advise.lists import ColumnCandidate, ListCandidate, ListTask
from tacit.judge.advise.procedure import Candidate
from tacit.judge.advise.verdict import JUDGED, ClaimRule, judged_only
from tacit.metrics import is_loss, parse_measure
from tacit.rerank.ranking_lists import has_few_zeros
from tacit.search import Searcher
from tacit.search.encoders import as_encoder

BASELINE, BLEND, LEARNED, CLICKED = "bm25", "blend", "blend+labels", "blend+clicks"
ASSISTED = "blend+labels+program"
WEIGHTED = "blend+weights"  # learned weights of members that do not learn from judgments
ENCODED, ENCODER, FUSED = "blend+encoder", "encoder", "rrf"
ALONE = 1000.0  # weight of vectors that is so high that words only break ties
NO_MODEL = {SHOWN: "the shown order", FUSED: "reciprocal rank fusion"}
LIST_METHODS = ("standing", "linear", "rankboost")
TREES = "lightgbm-pointwise"  # for lists with zeros, if LightGBM is installed
N_FOLDS = 5
MINUTES = 15.0

Progress = Callable[[str], None]


def advise(
    data: Collection | Lists | Any,
    queries: Collection | Any = None,
    qrels: Judgments | Any = None,
    *,
    links: Links | None = None,
    clicks: ClickLog | Any = None,
    program: Judgments | Any = None,
    measure: str = "nDCG@10",
    minutes: float = MINUTES,
    language: str = "auto",
    groups: Sequence[object] | None = None,
    sequential: bool = False,
    encoder: Any = None,
    column: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = lambda message: None,
) -> Advice:
    """Recommend a system, and test whether the judgments help, by nested cross-validation over queries.

    Parameters
    ----------
    data : Collection, Lists, frame, list, dict or path
        Documents to search in a form that `Searcher.fit` takes, or judged feature lists.
    queries : Collection, frame, list, dict, path or None, default=None
        Texts of queries, with a collection.
    qrels : Judgments, dict of dicts, frame, path or None, default=None
        Judgments of these queries. With clicks only, pass None; `queries` is then needed only if the log names queries
        by id.
    links : Links or None, default=None
        Links between documents, used to train further candidates.
    clicks : ClickLog, path, frame, list of dict or None, default=None
        Clicks, in a form that `read_click_log` reads or returns. With judgments, they are training data, and their gain
        is measured on judged queries. Without judgments, clicks on held-out queries are the measure (see
        `judge.advise.clicks`).
    program : Judgments, dict of dicts, frame, path or None, default=None
        A program's grades, in addition to people's `qrels`. They are used as far as people confirm them, and their gain
        is measured by people's grades.
    measure : str, default="nDCG@10"
        Measure for claims and for the choice of a system.
    minutes : float, default=15
        Time budget. The baseline and the label-free blend are always measured. Other systems are left out if their fits
        would take longer than the time left, and the advice names them.
    language : str, default="auto"
        Language of documents and queries; "auto" detects it from the documents.
    groups : sequence or None, default=None
        Group of each query, such as its topic; queries of one group stay in one fold.
    sequential : bool, default=False
        Keep claims valid if `advise` is run again after every few judgments.
    encoder : str, object or None, default=None
        Pretrained text encoder, as `Searcher` takes it. `blend` is compared with and without it, with the encoder
        alone, and with reciprocal rank fusion of BM25 and the encoder.
    column : int or None, default=None
        Number of the feature, from 0, that is the baseline of feature lists; None: the best on training lists.
    seed : int, default=0
        Random seed of folds and of systems.
    threads : int or None, default=None
        Threads; None: all cores. The advice is the same for any number.
    progress : callable
        Called with a message for each step.

    Returns
    -------
    Advice
    """
    check_number("minutes", minutes, low=0, open_low=True)
    request = Request(_check_measure(measure), sequential, time.monotonic() + 60 * minutes, progress)
    options: dict[str, Any] = {"threads": threads, "seed": seed}
    if isinstance(data, Lists):
        lists = ListTask.of(data, request.measures, **options)
        if encoder is not None:
            raise UsageError("encoder is given with feature lists, want documents with texts")
        return _advise_lists(lists, column, request)
    data, queries, qrels = _as_core(data, queries, qrels)
    log = None if clicks is None else with_texts(as_click_log(clicks), queries)
    options |= {"links": links, "language": find_language(data, language)}
    options |= {"encoder": None if encoder is None else as_encoder(encoder)}
    if encoder is not None and program is not None:
        raise UsageError("a program's grades and an encoder are not compared together, want one of them")
    if qrels is None and program is not None:
        raise UsageError("a program's grades need qrels of people, which calibrate them")
    if qrels is None and log is not None:
        if groups is not None:
            raise UsageError("groups apply to judged queries, and clicks have no groups")
        return _advise_by_clicks(data, log, request, options)
    if queries is None or qrels is None:
        raise UsageError("a collection needs queries and qrels, texts of queries and judgments of documents, or clicks")
    task = CollectionTask.of(data, queries, qrels, request.measures, **options)
    kept = None if groups is None else [groups[queries.row_of[query]] for query in task.queries.ids]
    grades = None if program is None else as_judgments(program)
    return _advise_collection(task, request, kept, log, (queries, grades))


def _as_core(data: Any, queries: Any, qrels: Any) -> tuple[Collection, Collection | None, Judgments | None]:
    """Return documents, queries and judgments in any form, as core types."""
    asked = None if queries is None else as_collection(queries, "queries")
    return as_collection(data), asked, None if qrels is None else as_judgments(qrels)


def _check_measure(measure: str) -> str:
    """Return the name of a measure that is at most 1 and better if larger; raise for others."""
    found = parse_measure(measure)
    if is_loss(str(found)) or found.name in ("DCG", "Judged"):
        raise UsageError(
            f"measure is {measure}, want one that is at most 1 and better if larger, such as nDCG@10 or AP"
        )
    return str(found)


class Request(NamedTuple):
    """What is asked for: the measure of all claims, whether they stay valid at every look, the end of the time."""

    measure: str
    sequential: bool
    end: float
    progress: Progress

    @property
    def measures(self) -> list[str]:
        """All measures of a task."""
        return list(dict.fromkeys([self.measure, "nDCG@10", "AP", judged_only(self.measure), JUDGED]))

    def rule(self, has_zeros: bool, **more: Any) -> ClaimRule:
        """Return when a gain may be claimed."""
        return ClaimRule(self.measure, has_zeros, sequential=self.sequential, **more)

    def options(self, n_queries: int, seed: int) -> dict[str, Any]:
        """Return the arguments of `make_advice` that apply to all kinds of data."""
        return {
            "n_queries": n_queries,
            "n_folds": min(N_FOLDS, n_queries),
            "seed": seed,
            "progress": self.progress,
            "seconds_left": lambda: self.end - time.monotonic(),
        }


def _advise_collection(
    task: CollectionTask,
    request: Request,
    groups: Sequence[object] | None,
    log: ClickLog | None,
    graded: tuple[Collection, Judgments | None],
) -> Advice:
    first = _without_labels(task)
    how: dict[str, Any] = {"like": first.blend, "encoded": task.encoder is not None}
    learned = CollectionCandidate(_named(LEARNED, task), task, BLEND, learns=True, **how)
    clicked = None if log is None else ClickCandidate(_named(CLICKED, task), task, BLEND, log=log, **how)
    queries, program = graded
    assisted = None if program is None else assisted_candidate(ASSISTED, learned, queries, program)
    simpler = replace(learned, name=_named(WEIGHTED, task), params={"residual": False})
    candidates = [*first.candidates, *(found for found in (learned, clicked, assisted) if found is not None)]
    return make_advice(
        candidates + _further(task),
        Roles(first.blend, learned, clicked, assisted, simpler, first.compared),
        request.rule(task.has_zeros),
        groups=groups,
        **request.options(len(task.queries), task.seed),
    )


def _advise_by_clicks(documents: Collection, log: ClickLog, request: Request, options: dict[str, Any]) -> Advice:
    measure = request.measure
    if parse_measure(measure).name != "nDCG":
        raise UsageError(f"measure is {measure}, want nDCG for clicks, whose numbers are grades")
    task = ClickTask.of_log(documents, log, [measure], **options)
    first = _without_labels(task)
    how: dict[str, Any] = {"like": first.blend, "encoded": task.encoder is not None}
    learned = ClickCandidate(_named(CLICKED, task), task, BLEND, log=log, **how)
    candidates = [*first.candidates, learned]
    if log.ordered:
        candidates.insert(0, ShownCandidate(task, log))
        rule = request.rule(has_zeros=False, corrected=CORRECTED.format(measure))
    else:
        rule = request.rule(has_zeros=False, withheld=UNKNOWN_ORDER)
    return make_advice(
        candidates + _further(task),
        Roles(first.blend, learned, encoded=first.compared),
        rule,
        evidence="queries with clicks",
        note=ORDERED_NOTE if log.ordered else COUNTED_NOTE,
        **request.options(len(task.queries), task.seed),
    )


class LabelFree(NamedTuple):
    """Candidates that learn nothing, the one expected to be best, and the comparisons for an encoder."""

    candidates: list[Candidate]
    blend: CollectionCandidate
    compared: list[Candidate]


def _without_labels(task: CollectionTask) -> LabelFree:
    """Return BM25 and the blend; with an encoder also the blend with it, the encoder alone, and rank fusion."""
    words, blend = CollectionCandidate(BASELINE, task, BASELINE), CollectionCandidate(BLEND, task, BLEND)
    if task.encoder is None:
        return LabelFree([words, blend], blend, [])
    both = CollectionCandidate(ENCODED, task, BLEND, like=blend, encoded=True)
    fused = EncoderCandidate(FUSED, both, words)
    return LabelFree([words, blend, both, EncoderCandidate(ENCODER, both), fused], both, [blend, fused])


def _named(system: str, task: CollectionTask) -> str:
    """Return the name of a blend, which shows whether it has an encoder."""
    return system if task.encoder is None else system.replace(BLEND, ENCODED, 1)


def _further(task: CollectionTask) -> list[Candidate]:
    """Return candidates other than those named in the verdict."""
    if task.links is None:
        return []
    return [CollectionCandidate("htr-residual+links", task, "htr-residual", links=task.links)]


def _advise_lists(task: ListTask, column: int | None, request: Request) -> Advice:
    if column is not None:
        check_number("column", column, low=0, high=task.lists.X.shape[1] - 1, whole=True)
    baseline = ColumnCandidate(task, request.measure, column)
    trees = [TREES] if find_spec("lightgbm") is not None and not has_few_zeros(task.lists) else []
    rankers = [ListCandidate(name, task) for name in (*LIST_METHODS, *trees)]
    return make_advice(
        [baseline, *rankers],
        Roles(baseline, rankers[0]),
        request.rule(has_zeros=True),
        **request.options(len(task.lists), task.seed),
    )


def fit_recommended(
    advice: Advice,
    documents: Collection,
    queries: Collection | None = None,
    qrels: Judgments | None = None,
    *,
    links: Links | None = None,
    clicks: ClickLog | None = None,
    program: Judgments | None = None,
    language: str = "auto",
    encoder: Any = None,
    **params: Any,
) -> Searcher:
    """Fit the recommended system on all data; the arguments are the same as for `advise`."""
    documents, queries, qrels = _as_core(documents, queries, qrels)
    language = find_language(documents, language)
    searcher = _unfitted(advice.system, encoder, stem=has_stemmer(language), language=language, **params)
    if advice.system == ASSISTED and program is not None and queries is not None and qrels is not None:
        task = CollectionTask.of(documents, queries, qrels, [advice.measure])
        like = CollectionCandidate(LEARNED, task, BLEND, learns=True)
        both = assisted_candidate(ASSISTED, like, queries, as_judgments(program))
        return searcher.fit(documents, **both.sources(np.arange(len(task.queries)), set()))
    labels = {"queries": queries, "qrels": qrels}
    sources: dict[str, dict[str, Any]] = {"labels": labels, "weights": labels}
    if clicks is not None:
        sources["clicks"] = {"clicks": with_texts(clicks, queries).pairs(documents, skip_unknown=True)}
    if links is not None:
        sources["links"] = {"links": links}
    source = next((part for part in advice.system.split("+")[1:] if part != ENCODER), None)
    if source is not None and source not in sources:
        raise TacitError(f"{advice.system} learns from {source}, and none are given")
    return searcher.fit(documents, **sources.get(source or "", {}))


def _unfitted(system: str, encoder: Any, **params: Any) -> Searcher:
    """Return the searcher of a recommended system: its name is a method and what it learns from, joined by +."""
    if system in NO_MODEL:
        raise TacitError(f"the advice is {NO_MODEL[system]}, which is not a model: nothing to fit")
    method, *parts = (ENCODED if system == ENCODER else system).split("+")
    if "weights" in parts:
        params["residual"] = False
    if system == ENCODER:
        params["vectors"] = ALONE
    if ENCODER in parts:
        if encoder is None:
            raise TacitError(f"{system} needs an encoder, and none is given")
        params["encoder"] = encoder
    return Searcher(method, **params)
