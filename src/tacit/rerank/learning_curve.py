"""How few labels are enough? A measure against the share of labels kept, method by method.

For every share and seed the labels of the training lists are reduced (by documents within each list, or by whole
queries), and validation labels likewise; test lists keep all labels. Values are per query, averaged over seeds;
intervals are bootstrap percentiles over queries. Samples without a pair to learn from have no point, and are counted.

Rows are kept when labels are removed; removed labels become unjudged. The labels kept in a list depend on the seed and
the query id, not on other lists, and a larger share keeps every label that a smaller share keeps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.core import Lists, TacitError, check_choice, check_number, plural, track
from tacit.data.letor.folds import Fold
from tacit.metrics import Evaluation, evaluate_rows, parse_measure
from tacit.rerank.ranking_lists import RankingTask, fit_lists, has_few_zeros
from tacit.rerank.registry import get_method

BY = ("documents", "queries")
SHARES = (0.05, 0.1, 0.2, 0.5, 1.0)
MEASURE = "nDCG-letor@10"


@dataclass(frozen=True)
class CurvePoint:
    """A method at a number of labels: mean over test queries, its 95% interval, and the value of each query.

    n_queries, n_documents: labelled queries and documents in training, on average over seeds and folds; n_failed:
    samples without a pair to learn from (their queries are left out of this point).
    """

    method: str
    share: float
    n_queries: float
    n_documents: float
    mean: float
    low: float
    high: float
    values: Mapping[str, float]
    n_failed: int = 0


@dataclass(frozen=True)
class LabelledPart:
    """Lists for training, for validation (or None) and for the test."""

    train: Lists
    vali: Lists | None
    test: Lists


def fold_parts(lists: Lists, folds: Mapping[str, Fold]) -> list[LabelledPart]:
    """Yield the parts of given folds."""
    take = lists.take_queries
    return [LabelledPart(take(f.train), take(f.vali) if f.vali else None, take(f.test)) for f in folds.values()]


def draw_folds(lists: Lists, n_folds: int = 5, seed: int = 0) -> dict[str, Fold]:
    """Draw folds of queries at random: one part test, the next validation, the rest training.

    >>> lists = Lists(np.zeros((6, 1)), np.zeros(6), np.arange(7), list("abcdef"), [""] * 6)
    >>> {name: len(fold.train) for name, fold in draw_folds(lists, 3).items()}
    {'Fold1': 2, 'Fold2': 2, 'Fold3': 2}
    """
    check_number("n_folds", n_folds, low=3, whole=True)
    if len(lists) < n_folds:
        raise TacitError(f"found {plural(len(lists), 'query')}, want at least {n_folds}: one for each fold")
    names = np.array(lists.query_ids, object)[np.random.default_rng(seed).permutation(len(lists))]
    cuts = [part.tolist() for part in np.array_split(names, n_folds)]
    folds = {}
    for number in range(n_folds):
        test, vali = cuts[number], cuts[(number + 1) % n_folds]
        rest = [cuts[other] for other in range(n_folds) if other not in (number, (number + 1) % n_folds)]
        folds[f"Fold{number + 1}"] = Fold([query for part in rest for query in part], vali, test)
    return folds


def learning_curve(
    parts: Sequence[LabelledPart],
    methods: Sequence[str],
    *,
    by: str = "documents",
    shares: Sequence[float] = SHARES,
    measure: str = MEASURE,
    n_seeds: int = 3,
    seed: int = 0,
    threads: int | None = None,
    params: Mapping[str, Any] | None = None,
) -> list[CurvePoint]:
    """Return points of every method, by increasing shares; all methods get the same samples of labels.

    `params` are set for every method that has these parameters.
    """
    check_choice("by", by, BY)
    check_number("n_seeds", n_seeds, low=1, whole=True)
    measure = str(parse_measure(measure))
    given = _params_by_method(methods, params or {})
    tasks = [RankingTask(method, seed=seed, threads=threads, params=given[method]) for method in methods]
    for task in tasks:
        task.make()  # report a wrong name before the work starts
    wanted = [(task, share) for task in tasks for share in sorted(set(shares))]
    warnings = iter([True])  # one message about judgments of relevant rows only, not one per sample
    return [
        _point(task, share, list(_cuts(parts, by, share, n_seeds, seed)), measure, warnings)
        for task, share in track(wanted, "learning curve", len(wanted))
    ]


def _params_by_method(methods: Sequence[str], params: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the parameters of each method; raise if no method has one of them."""
    known = {name: {parameter.name for parameter in get_method(name).parameters()} for name in methods}
    unused = next((name for name in params if not any(name in names for names in known.values())), None)
    if unused is not None:
        get_method(methods[0]).make(**{unused: params[unused]})
    return {method: {name: params[name] for name in params if name in names} for method, names in known.items()}


def _cuts(parts: Sequence[LabelledPart], by: str, share: float, n_seeds: int, seed: int) -> Iterator[LabelledPart]:
    cut = cut_labels if by == "documents" else cut_queries
    for number in range(seed, seed + (n_seeds if share < 1 else 1)):  # a share of 1 is the same for any seed
        for part in parts:
            vali = None if part.vali is None else cut(part.vali, share, number)
            yield LabelledPart(cut(part.train, share, number), vali, part.test)


def _point(
    task: RankingTask, share: float, cuts: Sequence[LabelledPart], measure: str, warnings: Iterator[bool]
) -> CurvePoint:
    found: dict[str, list[float]] = {}
    n_failed = 0
    for part in cuts:
        try:
            warn = has_few_zeros(part.train) and next(warnings, False)
            ranker = fit_lists(task, part.train, part.vali, warn=warn)
        except TacitError:
            if not _teaches_nothing(part.train):
                raise
            n_failed += 1
            continue
        scores = ranker.predict(part.test.X, part.test.qid)
        values = evaluate_rows(part.test.y, scores, part.test.qid, measure).values[measure]
        for query_id, value in zip(part.test.query_ids, values.tolist(), strict=True):
            found.setdefault(query_id, []).append(value)
    if not found:
        raise TacitError(
            f"a share of {share:g} of the labels leaves no list with two different grades; want a larger one"
        )
    labelled = [np.isfinite(part.train.y) for part in cuts]
    n_queries = [len(np.unique(part.train.qid[kept])) for part, kept in zip(cuts, labelled, strict=True)]
    n_documents = [kept.sum() for kept in labelled]
    return _summarise(
        found, measure, task.method, share, float(np.mean(n_queries)), float(np.mean(n_documents)), n_failed
    )


def column_point(parts: Sequence[LabelledPart], column: int, name: str, measure: str = MEASURE) -> CurvePoint:
    """Rank by one feature, larger first, missing values as 0: a baseline without labels. `column` counts from 0."""
    measure = str(parse_measure(measure))
    found: dict[str, list[float]] = {}
    for part in parts:
        scores = np.nan_to_num(part.test.X[:, column])
        values = evaluate_rows(part.test.y, scores, part.test.qid, measure).values[measure]
        found |= {query_id: [value] for query_id, value in zip(part.test.query_ids, values.tolist(), strict=True)}
    return _summarise(found, measure, name, 0.0, 0.0, 0.0, 0)


def _summarise(
    found: Mapping[str, Sequence[float]],
    measure: str,
    method: str,
    share: float,
    n_queries: float,
    n_documents: float,
    n_failed: int,
) -> CurvePoint:
    means = {query_id: float(np.mean(numbers)) for query_id, numbers in found.items()}
    evaluation = Evaluation(list(means), {measure: np.array(list(means.values()))})
    ends = evaluation.intervals()[measure]
    return CurvePoint(
        method, share, n_queries, n_documents, evaluation.means()[measure], *ends, values=means, n_failed=n_failed
    )


def _teaches_nothing(lists: Lists) -> bool:
    """Return whether no list has two different grades."""
    from tacit.rerank.ranking_lists import count_idle_lists

    return count_idle_lists(lists) == len(lists)


def with_labels(lists: Lists) -> Lists:
    """Return only the lists that have a judged row, because others can be neither reduced nor measured."""
    kept = [number for number in range(len(lists)) if np.isfinite(lists.y[lists.rows(number)]).any()]
    if not kept:
        raise TacitError(f"no list (of {len(lists)}) has a judged row, want some to learn from and to measure on")
    return replace(lists) if len(kept) == len(lists) else lists.take(kept)


def cut_labels(lists: Lists, share: float, seed: int, ranks: np.ndarray | None = None) -> Lists:
    """Keep max(2, round(share * n)) of the n labels of each list; the others become unjudged.

    Parameters
    ----------
    lists : Lists
        Labelled lists.
    share : float
        Share of labels to keep, above 0 and at most 1.
    seed : int
        Random seed.
    ranks : ndarray of shape (n_rows,), default=None
        Keep the labels of the rows with the highest values; None draws labels at random.

    Returns
    -------
    Lists

    Examples
    --------
    >>> lists = Lists(np.zeros((5, 1)), np.ones(5), np.array([0, 5]), ["7"], [""] * 5)
    >>> int(np.isfinite(cut_labels(lists, 0.6, seed=0).y).sum()), int(np.isfinite(cut_labels(lists, 0.01, 0).y).sum())
    (3, 2)
    """
    check_number("share", share, low=0, high=1, open_low=True)
    y = np.full(len(lists.y), np.nan)
    for number, query_id in enumerate(lists.query_ids):
        rows = np.arange(lists.starts[number], lists.starts[number + 1])
        keys = -ranks[rows] if ranks is not None else _stream(seed, query_id).random(len(rows))
        judged = np.isfinite(lists.y[rows])
        rows, keys = rows[judged], keys[judged]
        kept = rows[np.argsort(keys, kind="stable")[: max(2, round(share * len(rows)))]]
        y[kept] = lists.y[kept]
    return replace(lists, y=y)


def cut_queries(lists: Lists, share: float, seed: int) -> Lists:
    """Keep all labels of max(1, round(share * n)) lists, drawn at random.

    Parameters
    ----------
    lists : Lists
        Labelled lists.
    share : float
        Share of lists to keep labelled, above 0 and at most 1.
    seed : int
        Random seed.

    Returns
    -------
    Lists

    Examples
    --------
    >>> lists = Lists(np.zeros((4, 1)), np.ones(4), np.array([0, 1, 2, 3, 4]), list("abcd"), [""] * 4)
    >>> int(np.isfinite(cut_queries(lists, 0.5, seed=0).y).sum())
    2
    """
    check_number("share", share, low=0, high=1, open_low=True)
    keys = [float(_stream(seed, query_id).random()) for query_id in lists.query_ids]
    kept = np.argsort(keys, kind="stable")[: max(1, round(share * len(lists)))]
    labelled = np.isin(lists.qid, kept)
    return replace(lists, y=np.where(labelled, lists.y, np.nan))


def _stream(seed: int, query_id: str) -> np.random.Generator:
    return np.random.default_rng([seed, *query_id.encode(errors="surrogatepass")])
