"""Experiment `semi-auc`: one relevant document and a few others known, on CACM (Truong, Amini and Gallinari, table 1).

The paper's 12 queries. Relevant documents that share no word with the query are left out; half of the data, drawn at
random, is test. In the other half one relevant document and a tenth of the others are labelled, the rest is unlabelled.
AUC and average precision on the test half, five random splits.

All systems minimise sums over pairs, as printed in the paper for step 3, with the same L2 term. The paper does not say
how documents are represented; here by words (tf-idf) and by latent semantic indexing of all abstracts, without labels.
For each of these the L2 term is chosen by the AUC of `auc-logistic`, and then alpha of manifold ranking by the AUC of
`auc-semi`, on queries of CACM other than the twelve.

    auc-logistic       the supervised model, exponential loss (equation 4)
    auc-binomial       the same with the binomial loss (equation 3)
    auc-push           the same with the p-norm push, future work in the paper: the top of the list counts most
    auc-semi           lambda = 1, n = 10, 5 neighbours, as in the paper
    auc-semi-lambda0   auc-semi with lambda = 0, which is auc-logistic
    auc-semi-wide      auc-semi with n = 50
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

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

DIM, N_SPLITS = 100, 5
PRINTED: dict[str, Any] = {"scale": False, "mean": False}
RANKERS: dict[str, Callable[[], ListRanker]] = {
    "auc-logistic": partial(AucRanker, **PRINTED),
    "auc-binomial": partial(AucRanker, loss="binomial", **PRINTED),
    "auc-push": partial(AucRanker, loss="p-norm-push", **PRINTED),
    "auc-semi": partial(SemiAucRanker, **PRINTED),
    "auc-semi-lambda0": partial(SemiAucRanker, lam=0.0, **PRINTED),
    "auc-semi-wide": partial(SemiAucRanker, n_top=50, **PRINTED),
}
IN_PAPER = ("auc-logistic", "auc-semi")
VECTORS = ("words", "lsi")
# Queries for choices: those with the most relevant documents, except the twelve.
HELD_OUT = ("59", "26", "61", "45", "36", "16", "22", "38")
L2_CHOICES, ALPHA_CHOICES = (0.1, 1.0, 10.0, 100.0), (0.99, 0.9, 0.5)
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
        """Read the collection, with its stop list."""
        documents = read_collection(folder / "docs.jsonl.gz", name="cacm")
        stop_words = [line.strip() for _, line in read_lines(folder / "common_words.txt") if line.strip()]
        vectorizer = TextVectorizer(words=None, stop_words=stop_words, min_df=2, tf="log", stem=True)
        counts = vectorizer.fit_counts(documents.full_texts())
        qrels = read_qrels(folder / "qrels.txt").to_dict()
        return cls(documents, read_queries(folder / "queries.jsonl"), qrels, vectorizer, counts)

    @cached_property
    def vectors(self) -> dict[str, np.ndarray]:
        """Return rows of unit length, float64: all words (n_documents, n_words), and LSI (n_documents, DIM)."""
        items = self.vectorizer.tfidf(self.counts)
        vectors = LsiRanker(DIM).fit(None, items).embed_items(items).astype(np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return {"words": items.toarray().astype(np.float64), "lsi": vectors / np.where(lengths > 0, lengths, 1)}

    def task(self, query_id: str) -> tuple[np.ndarray, np.ndarray]:
        """Return rows of the documents used for a query, and their labels (1 or 0)."""
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
    """Draw a split: half is test; in the rest one positive and a tenth of the negatives keep their labels.

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
    chosen = {form: choose_params(corpus, form, HELD_OUT[:2] if request.quick else HELD_OUT) for form in VECTORS}
    cells = [(query_id, form) for form in VECTORS for query_id in queries]
    rows = [
        row
        for query_id, form in track(cells, "semi-auc on cacm", len(cells))
        for row in _measure(corpus, query_id, form, systems, n_splits, chosen[form] | dict(request.params), request)
    ]
    notes = [
        f"cacm: {len(corpus.documents):,} documents as tf-idf of {corpus.counts.shape[1]:,} words and as {DIM} "
        f"dimensions of LSI; {n_splits} random splits of each query",
        "sums over pairs and the same L2 term l2 / 2 |beta|^2 in all models; lambda 1, n 10 (wide: 50), 5 neighbours",
        f"l2 from {L2_CHOICES} and alpha from {ALPHA_CHOICES}, chosen by AUC on other queries: "
        + "; ".join(f"{form} l2 {found['l2']:g}, alpha {found['alpha']:g}" for form, found in chosen.items()),
    ]
    return Report("semi-auc", "cacm", request.seed, rows, notes, [_means(rows), _against_the_paper(rows)])


def choose_params(corpus: Abstracts, form: str, queries: Sequence[str]) -> dict[str, float]:
    """Choose l2 with the best AUC of auc-logistic on one split of each query, then alpha with the best of auc-semi."""
    chosen: dict[str, float] = {}
    for name, values, system in (("l2", L2_CHOICES, "auc-logistic"), ("alpha", ALPHA_CHOICES, "auc-semi")):
        means = []
        for value in values:
            params = chosen | {name: value}
            found = [_values(corpus, q, form, system, _splits(corpus, q, 1, 0), params)["AUC"] for q in queries]
            means.append(float(np.mean(found)))
        chosen[name] = values[int(np.argmax(means))]
    return chosen


def _splits(corpus: Abstracts, query_id: str, n_splits: int, seed: int) -> list[Split]:
    truth = corpus.task(query_id)[1]
    return [draw_split(truth, np.random.default_rng([seed, int(query_id), n])) for n in range(n_splits)]


def _values(
    corpus: Abstracts, query_id: str, form: str, system: str, splits: Sequence[Split], params: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """Return values of each measure, one for each split."""
    kept, truth = corpus.task(query_id)
    vectors = corpus.vectors[form][kept]
    found = []
    for split in splits:
        ranker = with_params(RANKERS[system](), params)
        scores = ranker.fit(vectors[split.train], split.grades).predict(vectors[split.test])
        found.append(evaluate_rows(truth[split.test], scores, None, MEASURES).means())
    return {measure: np.array([values[measure] for values in found]) for measure in MEASURES}


def _measure(
    corpus: Abstracts,
    query_id: str,
    form: str,
    systems: Sequence[str],
    n_splits: int,
    params: Mapping[str, Any],
    request: Request,
) -> list[Row]:
    """Return one row for each system, on the same splits."""
    splits = _splits(corpus, query_id, n_splits, request.seed)
    rows = []
    for system in systems:
        start = time.perf_counter()
        values = _values(corpus, query_id, form, system, splits, params)
        rows.append(Row(system, values, time.perf_counter() - start, {"query": query_id, "vectors": form}))
    return rows


def _against_the_paper(rows: list[Row]) -> Section:
    table = []
    for row in rows:
        paper = _paper_of(row)
        ours = [f"{100 * row.metrics[measure]:.1f}" for measure in MEASURES]
        where = [row.setting["query"], row.setting["vectors"], row.system]
        table.append([*where, ours[0], _percent(paper, 0), ours[1], _percent(paper, 1)])
    header = ["query", "vectors", "system", "AUC %", "paper's AUC %", "AP %", "paper's AP %"]
    return Section("Compared with the paper, in percent", header, table)


def _paper_of(row: Row) -> tuple[float, float] | None:
    """Return the paper's AUC and average precision for the same query and model."""
    if row.system not in IN_PAPER:
        return None
    figures, which = PAPER[row.setting["query"]], IN_PAPER.index(row.system)
    return figures.auc[which], figures.ap[which]


def _percent(paper: tuple[float, float] | None, which: int) -> str:
    return "" if paper is None else f"{paper[which]:.1f}"


def _means(rows: list[Row]) -> Section:
    """Return means over the queries; each model is tested against the first one, paired over queries."""
    table = []
    systems = list(dict.fromkeys(row.system for row in rows))
    for which, measure in enumerate(MEASURES):
        for form in VECTORS:
            of_form = [row for row in rows if row.setting["vectors"] == form]
            first = np.array([row.metrics[measure] for row in of_form if row.system == systems[0]])
            for system in systems:
                chosen = [row for row in of_form if row.system == system]
                means = np.array([row.metrics[measure] for row in chosen])
                paper = [found[which] for found in map(_paper_of, chosen) if found is not None]
                against = ["", ""]
                if system != systems[0]:
                    against = [f"{int(np.sum(means > first))} of {len(means)}", f"{compare(first, means).t:.2g}"]
                mean = f"{np.mean(paper):.1f}" if paper else ""
                table.append([measure, form, system, f"{100 * means.mean():.1f}", *against, mean])
    header = ["measure", "vectors", "system", "mean %", f"better than {systems[0]}", "p (paired t)", "paper's mean %"]
    return Section("Means over the queries, in percent", header, table)
