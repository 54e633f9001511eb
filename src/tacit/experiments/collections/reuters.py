"""Experiment `reuters`: semantic search without labels (HTR, figure 1).

Test stories are queries, training stories are ranked. No system uses topics, links or judgments, so mixtures with
tf-idf have their default weight. `htr-reconstruction-alone` is the same model without that mixture (alpha = 1).
`--as-printed` adds `htr-reconstruction-printed`, the learned part alone, trained as printed in the paper.

The stories are split as in ModApte. The similarity of two stories is the Jaccard index of their topic sets; stories
without topics are left out. Topics are used for measuring only; words and idf come from the training stories.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tacit.core import DataError, Features, cut, map_blocks, track
from tacit.data import read_collection
from tacit.experiments.figures import new_figure, save
from tacit.experiments.report import Report, Row, Section
from tacit.experiments.request import Request, with_params
from tacit.features import TextVectorizer
from tacit.metrics import evaluate_rows, full_ranking_measures
from tacit.retrieve import CollectionRanker, ReconstructionRanker, get_method

ALONE, PRINTED = "htr-reconstruction-alone", "htr-reconstruction-printed"
SYSTEMS = ("tfidf", "lsi", "lsi+tfidf", ALONE, "htr-reconstruction")
DIM, FULL_DIMS, QUICK_QUERIES = 100, (50, 100, 200), 300

Curves = Mapping[str, np.ndarray]
RELEVANT_FROM = 0.5  # Jaccard index
RANKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def run(request: Request) -> Report:
    """Fit and measure; `quick` has fewer queries and smaller models, `full` three seeds and dimensions."""
    names = request.systems_of(SYSTEMS, printed=(PRINTED,))
    request.check_params({name: make_ranker(name, None, 0) for name in names})
    task = read_reuters(request.data_folder, request.words, request.threads)
    if request.quick:
        task = task.first_queries(QUICK_QUERIES, request.seed)
    rows, curves = [], dict[str, np.ndarray]()
    for name, dim, seed in track(list(_cells(names, request)), "reuters"):
        row, curve = _measure(task, name, dim, seed, request)
        rows.append(row)
        curves.setdefault(name, curve)
    figures = {"precision": partial(draw_precision, curves)}
    return Report("reuters", "reuters21578", request.seed, rows, _notes(task), [_section(curves)], figures)


def make_ranker(name: str, dim: int | None, seed: int) -> CollectionRanker:
    """Return an unfitted ranker by its name in this experiment."""
    if name == ALONE:
        return ReconstructionRanker(dim or DIM, alpha=1.0, seed=seed)
    if name == PRINTED:
        return ReconstructionRanker(dim or DIM, alpha=1.0, recipe="printed", start="scaled", seed=seed)
    return get_method(name).offer(dim=dim, seed=seed)


def _cells(names: Sequence[str], request: Request) -> Iterator[tuple[str, int | None, int]]:
    """Return system, dimension and seed of each row; the first row of a system is drawn."""
    dims = (DIM, *(dim for dim in FULL_DIMS if dim != DIM)) if request.full else (50,) if request.quick else (DIM,)
    for seed in request.seeds:
        for name in names:
            for dim in dims if name.startswith(("lsi", "htr", "ssi-u")) else (None,):
                yield name, dim, seed


def _measure(task: TopicTask, name: str, dim: int | None, seed: int, request: Request) -> tuple[Row, np.ndarray]:
    start = time.perf_counter()
    ranker = with_params(make_ranker(name, dim, seed), request.params).fit(None, task.items)
    fitted = time.perf_counter() - start
    values, curve = task.measure(ranker)
    setting = {"words": request.words_label, "seed": seed} | ({} if dim is None else {"dim": dim})
    return Row(name, values, fitted, request.shown(setting), ranker.chosen()), curve


def _section(curves: Curves) -> Section:
    rows = [[name, *(f"{value:.3f}" for value in curve)] for name, curve in curves.items()]
    return Section("Precision against rank", ["system", *map(str, RANKS)], rows)


def draw_precision(curves: Curves, path: Path) -> None:
    """Draw figure 1: mean precision against the number of retrieved stories."""
    figure, axes = new_figure(6, 4.5)
    for name, curve in curves.items():
        axes.plot(RANKS, curve, marker="o", markersize=3, label=name)
    axes.set(
        xscale="log", xlabel="stories retrieved", ylabel="precision", title="Reuters-21578, unseen stories as queries"
    )
    axes.legend(frameon=False)
    save(figure, path)


def _notes(task: TopicTask) -> list[str]:
    return [
        task.summary,
        "similarity is the Jaccard index of topic sets: the gain of nDCG@10; a story is relevant from 0.5 on",
        "no labels were used: mixtures have their default weight; seconds are for fitting",
    ]


@dataclass(frozen=True)
class TopicTask:
    """Rows of items and queries, and their topics as 0/1 rows over all topics."""

    items: Features
    queries: Features
    item_topics: sp.csr_array
    query_topics: sp.csr_array
    threads: int | None = None

    @property
    def summary(self) -> str:
        """Return sizes in one line."""
        n_items, n_words = self.items.shape
        return f"{n_items:,} training stories ranked for {self.queries.shape[0]:,} test stories; {n_words:,} words"

    def first_queries(self, n_queries: int, seed: int) -> TopicTask:
        """Return the same for a seeded sample of the queries."""
        n_all = self.queries.shape[0]
        chosen = np.sort(np.random.default_rng(seed).permutation(n_all)[:n_queries])
        return TopicTask(self.items, self.queries[chosen], self.item_topics, self.query_topics[chosen], self.threads)

    def measure(self, ranker: CollectionRanker) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Return MAP, nDCG@10 and P@10 of each query, and mean precision at RANKS."""
        blocks = cut(self.queries.shape[0], 50)
        pieces = map_blocks(lambda block: self._measure_block(ranker, block), blocks, self.threads)
        values = {name: np.concatenate([piece[0][name] for piece in pieces]) for name in pieces[0][0]}
        return values, np.concatenate([piece[1] for piece in pieces]).mean(axis=0)

    def _measure_block(self, ranker: CollectionRanker, block: slice) -> tuple[dict[str, np.ndarray], np.ndarray]:
        scores = ranker.scores(self.queries[block])
        similar = jaccard(self.query_topics[block], self.item_topics)
        relevant = similar >= RELEVANT_FROM
        found = {"MAP": np.zeros(len(scores)), "P@10": np.zeros(len(scores))}
        some = relevant.any(axis=1)  # a query without a relevant story counts 0
        if some.any():
            full = full_ranking_measures(scores[some], sp.csr_array(relevant[some]))
            found["MAP"][some], found["P@10"][some] = full["AP"], full["P@10"]
        number = np.repeat(np.arange(len(scores)), scores.shape[1])
        graded = evaluate_rows(similar.ravel(), scores.ravel(), number, "nDCG@10")
        return {**found, "nDCG@10": graded.values["nDCG@10"]}, precision_at(scores, relevant)


def jaccard(first: sp.csr_array, second: sp.csr_array) -> np.ndarray:
    """Return the Jaccard index of each pair of 0/1 rows: float64 (n_first, n_second).

    >>> jaccard(sp.csr_array([[1, 1, 0]]), sp.csr_array([[1, 0, 0], [0, 1, 1], [1, 1, 0]])).round(2)
    array([[0.5 , 0.33, 1.  ]])
    """
    shared = (first @ second.T).toarray().astype(np.float64)
    sizes = (np.asarray(rows.sum(axis=1), np.float64).ravel() for rows in (first, second))
    every = next(sizes)[:, None] + next(sizes)[None, :] - shared
    return shared / np.maximum(every, 1)


def precision_at(scores: np.ndarray, relevant: np.ndarray, ranks: Sequence[int] = RANKS) -> np.ndarray:
    """Return precision at several ranks, for each query: (n_queries, n_ranks).

    >>> precision_at(np.array([[3.0, 2.0, 1.0]]), np.array([[True, False, True]]), (1, 2))
    array([[1. , 0.5]])
    """
    order = np.argsort(-scores, axis=1, kind="stable")[:, : ranks[-1]]
    so_far = np.cumsum(np.take_along_axis(relevant, order, axis=1), axis=1)
    return so_far[:, np.minimum(ranks, so_far.shape[1]) - 1] / np.asarray(ranks, np.float64)


def read_reuters(data: Path, words: int | None = 30_000, threads: int | None = None) -> TopicTask:
    """Read stories with topics of the ModApte split; words are counted on the training stories."""
    path = data / "text" / "reuters21578"
    documents = read_collection(path, extras=("topics", "modapte"), name="reuters21578")
    topics, parts = documents.extras["topics"], documents.extras["modapte"]
    train, test = (
        [row for row, part in enumerate(parts) if part == name and topics[row]] for name in ("train", "test")
    )
    if not train or not test:
        raise DataError(f"{len(train)} training and {len(test)} test stories have topics, want some of both", path=path)
    vectorizer = TextVectorizer(words=words)
    texts = (documents.full_text(row) for row in track(train, "reading words"))
    items = vectorizer.fit_transform(texts)
    queries = vectorizer.transform(documents.full_text(row) for row in test)
    names = sorted({topic for row in [*train, *test] for topic in topics[row]})
    column = {topic: number for number, topic in enumerate(names)}
    item_topics, query_topics = (_indicators([topics[row] for row in rows], column) for rows in (train, test))
    return TopicTask(items, queries, item_topics, query_topics, threads)


def _indicators(topics: Sequence[Sequence[str]], column: dict[str, int]) -> sp.csr_array:
    """Return 0/1 rows, one column for each topic."""
    sets = [sorted({column[topic] for topic in names}) for names in topics]
    indptr = np.concatenate([[0], np.cumsum([len(chosen) for chosen in sets])])
    indices = np.array([place for chosen in sets for place in chosen], np.int64)
    return sp.csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=(len(sets), len(column)))
