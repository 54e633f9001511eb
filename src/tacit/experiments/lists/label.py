"""Experiment `label`: which documents to judge first, simulated on fully judged collections.

A strategy of `tacit.judge.choose_pairs` chooses pairs from a fold's training lists, their labels are revealed, the
ranker `standing` is trained on them without validation lists, and nDCG@10 is measured on the fold's test lists. Values
are averaged over seeds, query by query. Until two labels of one list differ there is nothing to learn from, and lists
keep their original order: BM25's for texts, the mean quantile of features for LETOR lists.

Labels needed: the number of labels at which a strategy's curve reaches the value of random labelling with n labels, as
a share of n, by linear interpolation in the logarithm of n, for n from 60 on. The table has the median over all n.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import Lists, TacitError, track
from tacit.data import read_collection, read_folds, read_letor, read_qrels, read_queries
from tacit.experiments.cells import CellCache
from tacit.experiments.figures import Draw, new_figure, save
from tacit.experiments.lists.letor_task import LETOR_SETS, shuffled_rows
from tacit.experiments.report import Report, Row, Section
from tacit.experiments.request import Request
from tacit.judge import Pool, choose_pairs
from tacit.judge.choose import STRATEGIES
from tacit.judge.pool import list_quantiles
from tacit.metrics import compare, evaluate_rows
from tacit.rerank import StandingRanker
from tacit.search.text_lists import make_text_lists

LISTS = (*LETOR_SETS, "WTR")
TEXTS = ("cacm", "cranfield", "cisi")
BUDGETS = (15, 30, 60, 120, 240, 480)
N_TOO_SMALL = 2  # smallest budgets, not compared: a strategy might need fewer labels than the smallest
N_FOLDS, N_CANDIDATES = 5, 100
METRIC = "nDCG@10"


class CachedStanding(StandingRanker):
    """`standing` that computes the columns of the same rows once, because only labels differ between fits."""

    def __init__(self, cache: dict[Any, np.ndarray] | None = None) -> None:
        super().__init__()
        self.cache = {} if cache is None else cache

    def _columns(self, X: np.ndarray, lists: np.ndarray, view: str) -> np.ndarray:
        key = view, hashlib.blake2b(np.ascontiguousarray(X).tobytes()).digest()
        if key not in self.cache:
            self.cache[key] = super()._columns(X, lists, view)
        return self.cache[key]


@dataclass(frozen=True)
class Part:
    """Training and test lists of a fold, the initial scores of their rows, and cached columns."""

    train: Lists
    test: Lists
    pool: Pool
    test_scores: np.ndarray
    cache: dict[Any, np.ndarray] = field(default_factory=dict)


def run(request: Request) -> Report:
    """Measure the strategies on one collection; `quick`: one seed and two folds; `full`: 20 seeds."""
    corpus = request.corpus_of((*LISTS, *TEXTS))
    systems = request.systems_of(STRATEGIES[::-1], STRATEGIES)
    request.check_params(dict.fromkeys(systems))
    n_seeds = 1 if request.quick else 20 if request.full else 4
    parts = list(_parts(request.data_folder, corpus))[: 2 if request.quick else None]
    budgets = [n for n in BUDGETS if n <= min(len(part.pool) for part in parts)]
    cells, rows = CellCache(request), []
    for system in systems:
        for seed in track(range(request.seed, request.seed + n_seeds), f"{system} on {corpus}", n_seeds):
            key = {"experiment": "label", "corpus": corpus, "system": system, "seed": seed}
            key |= {"folds": len(parts), "budgets": budgets}
            rows.append(cells.row(key, partial(_measure, parts, system, seed, budgets)))
    merged = [_mean_row(rows, system, n) for system in systems for n in budgets]
    notes = [
        f"{corpus}: {sum(len(part.test) for part in parts)} queries in {len(parts)} folds; {n_seeds} seeds, "
        f"values averaged over them query by query; ranker standing, no validation lists"
    ]
    sections = [_needed(merged, systems, budgets)] if "random" in systems else []
    return Report("label", corpus, request.seed, merged, notes, sections, _figures(corpus, merged))


def _parts(data: Path, corpus: str) -> Iterator[Part]:
    if corpus in TEXTS:
        lists, folds = _text_lists(data / "text" / corpus)
    else:
        folder = data / "letor" / corpus
        lists = shuffled_rows(read_letor(folder / f"{corpus}.txt.gz"))
        folds = [(fold.train, fold.test) for fold in read_folds(folder / "folds.json").values()]
    for train_ids, test_ids in folds:
        train, test = lists.take_queries(train_ids), lists.take_queries(test_ids)
        scores = [_first_scores(part, corpus in TEXTS) for part in (train, test)]
        yield Part(train, test, Pool.from_lists(train, scores[0]), scores[1])


def _text_lists(folder: Path) -> tuple[Lists, list[tuple[list[str], list[str]]]]:
    """Return BM25's best documents of the judged queries as lists, and five folds; unjudged means not relevant."""
    judgments = read_qrels(folder / "qrels.txt")
    queries = read_queries(folder / "queries.jsonl")
    queries = queries.take([row for row, name in enumerate(queries.ids) if name in set(judgments.query_ids)])
    documents = read_collection(folder / "docs.jsonl.gz")
    lists = make_text_lists(
        documents, queries, judgments, k=N_CANDIDATES, complete=True, language="en", stem=True
    ).lists
    order = np.random.default_rng(0).permutation(len(lists))
    folds = [order[number::N_FOLDS] for number in range(N_FOLDS)]
    names = np.array(lists.query_ids, object)
    return lists, [(names[np.setdiff1d(order, fold)].tolist(), names[np.sort(fold)].tolist()) for fold in folds]


def _first_scores(lists: Lists, ranked: bool) -> np.ndarray:
    """Return scores before training: the order of the rows, or the mean quantile of the features."""
    return -np.arange(len(lists.y), dtype=np.float64) if ranked else list_quantiles(lists).mean(axis=1)


def _measure(parts: list[Part], system: str, seed: int, budgets: list[int]) -> Row:
    """Measure one strategy and seed: values of all test queries for each number of labels, concatenated."""
    start, values = time.perf_counter(), []
    for number, part in enumerate(parts):
        chosen = choose_pairs(part.pool, max(budgets), strategy=system, seed=seed * 100 + number)
        names = zip(part.train.qid.tolist(), part.train.document_names(), strict=True)
        row_of = {(part.train.query_ids[q], name): row for row, (q, name) in enumerate(names)}
        rows = [row_of[pair.query, pair.document] for pair in chosen]
        ranker = CachedStanding(part.cache)
        values.append([_value(part, ranker, rows[:n]) for n in budgets])
    per_budget = {str(n): np.concatenate([fold[at] for fold in values]) for at, n in enumerate(budgets)}
    return Row(system, per_budget, time.perf_counter() - start, {"seed": seed})


def _value(part: Part, ranker: StandingRanker, rows: list[int]) -> np.ndarray:
    y = np.full(len(part.train.y), np.nan)
    y[rows] = part.train.y[rows]
    known = replace(part.train, y=y)
    try:
        scores = ranker.fit(known.X, known.y, known.qid).predict(part.test.X, part.test.qid)
    except TacitError:  # no two labels of one list differ
        scores = part.test_scores
    return evaluate_rows(part.test.y, scores, part.test.qid, METRIC).values[METRIC]


def _mean_row(rows: list[Row], system: str, n: int) -> Row:
    """Return the mean over seeds, query by query."""
    mine = [row for row in rows if row.system == system]
    values = np.mean([row.values[str(n)] for row in mine], axis=0)
    return Row(system, {METRIC: values}, sum(row.seconds for row in mine), {"labels": n})


def _needed(rows: list[Row], systems: tuple[str, ...], budgets: list[int]) -> Section:
    """Return the labels that each strategy needs to reach random labelling, and where it is worse."""
    values = {(row.system, row.setting["labels"]): row.values[METRIC] for row in rows}
    curves = {system: [float(values[system, n].mean()) for n in budgets] for system in systems}
    lines = []
    for system in systems:
        if system != "random":
            shares = labels_needed(budgets, curves["random"], curves[system])[N_TOO_SMALL:]
            p = [compare(values["random", n], values[system, n]).t for n in budgets]
            below = [n for n, at in zip(budgets, p, strict=True)
                     if at < 0.05 and values[system, n].mean() < values["random", n].mean()]  # fmt: skip
            shown = ", ".join(f"{share:.0%}" for share in shares)
            lines.append([system, f"{np.median(shares):.0%}", shown, ", ".join(map(str, below)) or "nowhere"])
    title = "Labels needed to reach random labelling"
    return Section(
        title,
        ["strategy", "median", f"for {', '.join(map(str, budgets[N_TOO_SMALL:]))}", "worse than random, p < .05"],
        lines,
    )


def labels_needed(budgets: list[int], random: list[float], curve: list[float]) -> list[float]:
    """Return, for each budget, the share of it at which the curve first reaches the value of random labelling.

    It is at least the smallest budget; if the value is never reached, twice the largest budget.

    >>> [round(share, 3) for share in labels_needed([10, 100], [0.2, 0.3], [0.25, 0.35])]
    [1.0, 0.316]
    """
    found = []
    for n, wanted in zip(budgets, random, strict=True):
        reached = float(budgets[0]) if curve[0] >= wanted else 2.0 * budgets[-1]
        for low, high, before, after in zip(budgets, budgets[1:], curve, curve[1:], strict=False):
            if before < wanted <= after:
                part = (wanted - before) / (after - before)
                reached = min(reached, float(np.exp(np.log(low) + part * np.log(high / low))))
        found.append(reached / n)
    return found


def _figures(corpus: str, rows: list[Row]) -> dict[str, Draw]:
    def draw(path: Path) -> None:
        figure, axes = new_figure(7, 5)
        for system in dict.fromkeys(row.system for row in rows):
            mine = [row for row in rows if row.system == system]
            style = "--" if system == "random" else "-"
            axes.plot([row.setting["labels"] for row in mine], [row.metrics[METRIC] for row in mine], style,
                      label=system, marker="o", markersize=3)  # fmt: skip
        axes.set(xlabel="labels", ylabel=METRIC, xscale="log", title=f"what to judge first, {corpus}")
        axes.legend(fontsize=8)
        save(figure, path)

    return {f"label-{corpus}": draw}
