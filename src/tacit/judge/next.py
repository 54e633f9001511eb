"""What to judge next, for a model and its queries: to train the model, or to measure it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tacit.core import Collection, Lists, Run, TacitError, check_choice, check_kind
from tacit.judge.choose import RANDOM_SHARE, choose_pairs
from tacit.judge.pool import Pool, Suggestion
from tacit.judge.records import Judgment, utc_now
from tacit.judge.sampling import DEPTH, draw_sample
from tacit.judge.store import JudgmentStore
from tacit.search import Searcher

if TYPE_CHECKING:
    from tacit.rerank import ListRanker

PURPOSES = ("training", "measuring")


def what_to_judge(
    model: Searcher | ListRanker | None,
    queries: Collection | Lists,
    n: int = 20,
    *,
    purpose: str = "training",
    store: JudgmentStore | None = None,
    judge: str | None = None,
    model_name: str | None = None,
    strategy: str | None = None,
    random_share: float = RANDOM_SHARE,
    depth: int = DEPTH,
    seed: int = 0,
    threads: int | None = None,
) -> list[Suggestion]:
    """Choose n query-document pairs to judge.

    Parameters
    ----------
    model : Searcher, ListRanker or None
        The model to train or measure; None for lists without a ranker.
    queries : Collection or Lists
        Queries of a searcher, or feature lists of a ranker; their graded rows count as judged for training.
    n : int, default=20
        Number of pairs; all remaining pairs if there are fewer.
    purpose : {"training", "measuring"}, default="training"
        `training`: pairs that improve the model most. `measuring`: a random sample with known probabilities.
    store : JudgmentStore or None, default=None
        Pairs judged in the store are not suggested. A sample for measuring is recorded in it, with the current
        probabilities of its pairs.
    judge : str or None, default=None
        Only pairs judged by this judge count as judged; None: pairs judged by any person.
    model_name : str or None, default=None
        Version of the model, for the records of a sample.
    strategy : {"gain", "strata", "random"} or None, default=None
        Strategy for training; None: `gain` for lists of fewer than 50 documents, else `strata`.
    random_share : float, default=0.2
        Share of the pairs for training drawn at random; for lists the first 20 pairs are random too.
    depth : int, default=50
        Number of documents of each query in a searcher's pool; lists are used completely for training.
    seed : int, default=0
        Random seed.
    threads : int or None, default=None
        Number of threads; results do not depend on it.

    Examples
    --------
    >>> docs = Collection(["a", "b", "c"], ["Cats", "Dogs", "Cat food"], ["they purr", "they bark", "cats eat it"])
    >>> searcher = Searcher("bm25").fit(docs)
    >>> queries = Collection(["q1", "q2"], ["", ""], ["cats", "dogs bark"])
    >>> [(s.query, s.document) for s in what_to_judge(searcher, queries, 2, purpose="measuring")]
    [('q1', 'a'), ('q1', 'c')]
    """
    check_choice("purpose", purpose, PURPOSES)
    check_kind("store", store, JudgmentStore | None, "a JudgmentStore or None")
    judged = set() if store is None else store.judged(judge)
    if purpose == "training":
        if isinstance(queries, Lists):
            judged |= _graded_rows(queries)
        pool = make_pool(model, queries, depth=depth, threads=threads)
        chosen = choose_pairs(pool, n, judged=judged, strategy=strategy, random_share=random_share, seed=seed)
        if store is not None and isinstance(queries, Collection):
            store.add_queries(_asked(queries, chosen))
        return chosen
    sample = draw_sample(_run(model, queries, depth, threads), n, judged=judged, depth=depth, seed=seed)
    if store is not None:
        if isinstance(queries, Collection):
            store.add_queries(_asked(queries, sample))
        store.record_draw(drawn_records(sample, model_name))
    return [pair for pair in sample if (pair.query, pair.document) not in judged]


def _graded_rows(lists: Lists) -> set[tuple[str, str]]:
    names, query = lists.document_names(), lists.qid
    return {(lists.query_ids[query[row]], names[row]) for row in np.flatnonzero(lists.y >= 0).tolist()}


def make_pool(
    model: Searcher | ListRanker | None, queries: Collection | Lists, *, depth: int = DEPTH, threads: int | None = None
) -> Pool:
    """Return the candidate pairs for training a model: the input of `choose_pairs`.

    A program that calls this often should make the pool once. See `what_to_judge` for the parameters.
    """
    check_kind("queries", queries, Collection | Lists, "a Collection or Lists")
    if isinstance(queries, Lists):
        return Pool.from_lists(queries, None if model is None else _scores(model, queries))
    run = _run(model, queries, depth, threads)
    assert isinstance(model, Searcher)
    asked = queries.take([queries.row_of[name] for name in run.query_ids])
    return Pool.from_run(run, depth, model.features(asked.full_texts()))


def _run(model: object, queries: Collection | Lists, depth: int, threads: int | None) -> Run:
    if isinstance(queries, Lists):
        if model is None:
            raise TacitError("there is no ranker to measure, want a fitted one")
        return queries.to_run(_scores(model, queries), type(model).__name__)
    if not isinstance(model, Searcher):
        raise TacitError(
            f"the model is a {type(model).__name__}, which ranks feature lists; want LETOR lists, not texts"
        )
    return model.run(queries, depth, threads=threads)


def _scores(model: object, lists: Lists) -> np.ndarray:
    if isinstance(model, Searcher):
        raise TacitError("the model is a searcher and needs text queries; want jsonl or TSV, not LETOR lists")
    return np.asarray(model.predict(lists.X, lists.qid), np.float64)  # type: ignore[attr-defined]


def _asked(queries: Collection, chosen: list[Suggestion]) -> Collection:
    return queries.take([queries.row_of[name] for name in dict.fromkeys(pair.query for pair in chosen)])


def drawn_records(sample: list[Suggestion], model_name: str | None) -> list[Judgment]:
    """Return a sample as records without grades, which keep its probabilities in a store."""
    now = utc_now()
    drawn = partial(Judgment, grade=None, judge="", time=now, model=model_name, action="drawn")
    return [drawn(pair.query, pair.document, rank=pair.rank, probability=pair.probability) for pair in sample]
