"""Experiment `semi-auc`: one relevant document and a few others known, on CACM (Truong, Amini and Gallinari, table 1).

The paper's 12 queries. Relevant documents that share no word with the query are left out; half of the data, drawn at
random, is test. Of the other half one relevant document and a tenth of the others are labelled, the rest is
unlabelled. AUC and average precision on the test half, five random splits.

The paper does not say how documents are represented; here by latent semantic indexing of all abstracts, without
labels. The vectors and the L2 term were chosen on queries of CACM that are not among the twelve. `auc-semi-wide` has n
= 50 unlabelled documents instead of the paper's 10, chosen on the same other queries.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import Collection, track
from tacit.data import read_collection, read_lines, read_qrels, read_queries
from tacit.experiments.report import Report, Row, Section
from tacit.experiments.request import Request, with_params
from tacit.features import TextVectorizer
from tacit.metrics import compare, evaluate_rows
from tacit.rerank.base import ListRanker
from tacit.rerank.linear.auc import AucRanker, SemiAucRanker
from tacit.retrieve import LsiRanker

DIM, L2, N_SPLITS = 100, 1.0, 5
RANKERS: dict[str, Callable[[], ListRanker]] = {
    "auc-logistic": partial(AucRanker, l2=L2, scale=False),
    "auc-semi": partial(SemiAucRanker, l2=L2, scale=False),
    "auc-semi-wide": partial(SemiAucRanker, l2=L2, scale=False, n_top=50),
}
MEASURES = ("AUC", "AP")


class Paper(NamedTuple):
    """The paper's results for a query, in percent: supervised and semi-supervised."""

    auc: tuple[float, float]
    ap: tuple[float, float]


PAPER = {
    "7": Paper((81.4, 90.8), (21.6, 18.9)),
    "10": Paper((80.2, 87.9), (20.1, 23.8)),
    "11": Paper((98.0, 97.9), (31.5, 25.0)),
    "14": Paper((90.8, 93.0), (32.6, 28.8)),
    "17": Paper((95.6, 90.3), (35.0, 27.4)),
    "25": Paper((83.2, 91.2), (29.4, 12.3)),
    "27": Paper((89.7, 95.8), (42.9, 44.4)),
    "29": Paper((91.4, 91.7), (11.3, 11.6)),
    "42": Paper((72.1, 89.6), (31.6, 36.9)),
    "43": Paper((98.9, 98.4), (49.0, 38.9)),
    "58": Paper((86.2, 87.3), (20.2, 25.6)),
    "60": Paper((98.8, 97.7), (57.1, 43.5)),
}


@dataclass(frozen=True)
class Abstracts:
    """CACM as vectors: documents, words and judgments."""

    documents: Collection
    queries: Collection
    relevant: dict[str, dict[str, float]]
    vectorizer: TextVectorizer
    counts: sp.csr_array

    @classmethod
    def read(cls, folder: Path) -> Abstracts:
        """Read the collection; its own stop list is used."""
        documents = read_collection(folder / "docs.jsonl.gz", name="cacm")
        stop_words = [line.strip() for _, line in read_lines(folder / "common_words.txt") if line.strip()]
        vectorizer = TextVectorizer(words=None, stop_words=stop_words, min_df=2, tf="log", stem=True)
        counts = vectorizer.fit_counts(documents.full_texts())
        qrels = read_qrels(folder / "qrels.txt").to_dict()
        return cls(documents, read_queries(folder / "queries.jsonl"), qrels, vectorizer, counts)

    @cached_property
    def vectors(self) -> np.ndarray:
        """Rows of unit length, float64 (n_documents, DIM)."""
        items = self.vectorizer.tfidf(self.counts)
        vectors = LsiRanker(DIM).fit(None, items).embed_items(items).astype(np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.where(lengths > 0, lengths, 1)

    def task(self, query_id: str) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the documents used for a query, and their labels (1 or 0)."""
        row = self.queries.row_of[query_id]
        words = self.vectorizer.counts([self.queries.full_text(row)])
        shares = (self.counts @ words.T).toarray().ravel() > 0
        relevant = np.zeros(len(self.documents), bool)
        relevant[[self.documents.row_of[name] for name, grade in self.relevant[query_id].items() if grade >= 1]] = True
        kept = np.flatnonzero(~relevant | shares)
        return kept, relevant[kept].astype(np.float64)


@dataclass(frozen=True)
class Split:
    """Rows of a query's documents: the training half with its grades (NaN: unlabelled), and the test half."""

    train: np.ndarray
    grades: np.ndarray
    test: np.ndarray


def draw_split(truth: np.ndarray, rng: np.random.Generator) -> Split:
    """Half is test; of the rest one positive and a tenth of the negatives keep their labels.

    >>> split = draw_split(np.repeat([1.0, 0.0], [8, 92]), np.random.default_rng(0))
    >>> len(split.train), len(split.test), int((split.grades == 1).sum()), int((split.grades == 0).sum())
    (50, 50, 1, 4)
    """
    while True:  # until both halves have a positive
        order = rng.permutation(len(truth))
        test, train = np.split(order, [len(truth) // 2])
        positives, negatives = (np.flatnonzero(truth[train] == grade) for grade in (1, 0))
        if len(positives) and truth[test].any():
            break
    grades = np.full(len(train), np.nan)
    grades[rng.choice(positives)] = 1
    grades[rng.choice(negatives, max(1, round(len(negatives) / 10)), replace=False)] = 0
    return Split(train, grades, test)


def run(request: Request) -> Report:
    """Measure the models; `quick` takes three queries and two splits."""
    request.corpus_of(("cacm",))
    systems = request.systems_of(tuple(RANKERS), RANKERS)
    request.check_params({name: RANKERS[name]() for name in systems})
    corpus = Abstracts.read(request.data_folder / "text" / "cacm")
    queries = list(PAPER)[:3] if request.quick else list(PAPER)
    n_splits = 2 if request.quick else 3 * N_SPLITS if request.full else N_SPLITS
    rows = [
        row
        for query_id in track(queries, "semi-auc on cacm", len(queries))
        for row in _measure(corpus, query_id, systems, n_splits, request)
    ]
    notes = [
        f"cacm: {len(corpus.documents):,} documents as {DIM} dimensions of LSI; {n_splits} random splits of each query",
        f"L2 term {L2:g} / 2 |beta|^2 in all models; lambda 1, n 10 (wide: 50), 5 neighbours; the paper has n 10",
    ]
    return Report("semi-auc", "cacm", request.seed, rows, notes, [_against_the_paper(rows), _means(rows)])


def _measure(corpus: Abstracts, query_id: str, systems: tuple[str, ...], n_splits: int, request: Request) -> list[Row]:
    """One row for each system, on the same splits."""
    kept, truth = corpus.task(query_id)
    vectors = corpus.vectors[kept]
    splits = [draw_split(truth, np.random.default_rng([request.seed, int(query_id), n])) for n in range(n_splits)]
    rows = []
    for system in systems:
        start = time.perf_counter()
        values: dict[str, list[float]] = {measure: [] for measure in MEASURES}
        for split in splits:
            ranker = with_params(RANKERS[system](), request.params)
            scores = ranker.fit(vectors[split.train], split.grades).predict(vectors[split.test])
            found = evaluate_rows(truth[split.test], scores, None, MEASURES).means()
            for measure in MEASURES:
                values[measure].append(found[measure])
        arrays = {measure: np.array(numbers) for measure, numbers in values.items()}
        rows.append(Row(system, arrays, time.perf_counter() - start, {"query": query_id}))
    return rows


def _against_the_paper(rows: list[Row]) -> Section:
    table = []
    for row in rows:
        paper = _paper_of(row)
        ours = [f"{100 * row.metrics[measure]:.1f}" for measure in MEASURES]
        table.append([row.setting["query"], row.system, ours[0], _percent(paper, 0), ours[1], _percent(paper, 1)])
    header = ["query", "system", "AUC %", "paper's AUC %", "AP %", "paper's AP %"]
    return Section("Compared with the paper, in percent", header, table)


def _paper_of(row: Row) -> tuple[float, float] | None:
    """The paper's AUC and average precision for the same query and model; it has no wide form."""
    figures, names = PAPER[row.setting["query"]], list(RANKERS)[:2]
    if row.system not in names:
        return None
    which = names.index(row.system)
    return figures.auc[which], figures.ap[which]


def _percent(paper: tuple[float, float] | None, which: int) -> str:
    return "" if paper is None else f"{paper[which]:.1f}"


def _means(rows: list[Row]) -> Section:
    """Means over the queries; each model against the first one by a paired test over queries."""
    table = []
    systems = list(dict.fromkeys(row.system for row in rows))
    for which, measure in enumerate(MEASURES):
        first = np.array([row.metrics[measure] for row in rows if row.system == systems[0]])
        for system in systems:
            chosen = [row for row in rows if row.system == system]
            means = np.array([row.metrics[measure] for row in chosen])
            paper = [found[which] for found in map(_paper_of, chosen) if found is not None]
            against = ["", ""]
            if system != systems[0]:
                against = [f"{int(np.sum(means > first))} of {len(means)}", f"{compare(first, means).t:.2g}"]
            mean = f"{np.mean(paper):.1f}" if paper else ""
            table.append([measure, system, f"{100 * means.mean():.1f}", *against, mean])
    header = ["measure", "system", "mean %", f"better than {systems[0]}", "p (paired t)", "paper's mean %"]
    return Section("Means over the queries, in percent", header, table)
