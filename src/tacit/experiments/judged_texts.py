"""Lists of text collections: BM25's best 200 documents of each query, with features from text and their words.

In these collections every document was judged, so a document without a judgment is irrelevant.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tacit.core import Lists, check_choice
from tacit.data import read_collection, read_qrels, read_queries
from tacit.data.letor.folds import Fold
from tacit.experiments.letor_task import LetorCorpus
from tacit.features.query_document import MEASURES as COLUMNS
from tacit.search.text_lists import FIELDS, FieldIndex

TEXT_CORPORA = ("cranfield", "cacm", "cisi")
N_CANDIDATES, N_FOLDS = 200, 5
BM25 = [f"{field}.{measure}" for field in FIELDS for measure in COLUMNS].index("both.bm25")


@dataclass(frozen=True)
class JudgedList:
    """Candidates of a query, BM25's best first.

    X: (n, 33) features from text; bm25: (n,); grades: (n,); content: CSR (n, n_words), tf-idf, rows of length 1.
    """

    X: np.ndarray
    bm25: np.ndarray
    grades: np.ndarray
    content: sp.csr_array

    def known(self, m: int) -> np.ndarray:
        """Return the grades of the first m, NaN for the rest."""
        return np.where(np.arange(len(self.grades)) < m, self.grades, np.nan)

    def remains(self, m: int) -> bool:
        """Return whether there is a relevant document below the first m."""
        return bool((self.grades[m:] >= 1).any())

    def take(self, rows: np.ndarray) -> JudgedList:
        """Return some of the candidates."""
        return JudgedList(self.X[rows], self.bm25[rows], self.grades[rows], self.content[rows])


def read_judged_lists(data: Path, corpus: str) -> list[JudgedList]:
    """Read the lists of all queries that have a relevant document among their candidates."""
    folder = data / "text" / check_choice("corpus", corpus, TEXT_CORPORA)
    documents, queries = read_collection(folder / "docs.jsonl.gz"), read_queries(folder / "queries.jsonl")
    relevant = read_qrels(folder / "qrels.txt").to_dict()
    index = FieldIndex(documents, language="en")
    words = index.vectorizer.tfidf(index.features.fields["both"].counts)
    counts = index.vectorizer.counts(queries.full_texts())
    lists = []
    for number, rows in enumerate(index.candidates(counts, N_CANDIDATES)):
        known = relevant.get(queries.ids[number], {})
        grades = np.array([known.get(documents.ids[row], 0.0) for row in rows.tolist()])
        if (grades >= 1).any():
            X = index.features.of(counts[[number]], rows)
            lists.append(JudgedList(X, X[:, BM25], grades, words[rows]))
    return lists


@dataclass(frozen=True)
class TextCorpus(LetorCorpus):
    """Lists of a text collection in the form of a LETOR set; `content`: tf-idf rows of each list's documents."""

    content: tuple[sp.csr_array, ...] = ()

    def similarities(self, lists: Lists) -> sp.csr_array:
        """Return cosines of the texts of rows of one list, CSR (n_rows, n_rows)."""
        blocks = [self.content[int(query_id)] for query_id in lists.query_ids]
        return sp.csr_array(sp.block_diag([block @ block.T for block in blocks], format="csr"))


def read_text_corpus(data: Path, name: str) -> TextCorpus:
    """Read a text collection with five folds of its queries: three parts for training, one validation, one test.

    As in LETOR's QueryLevelNorm, features are scaled to 0 to 1 within each list. Rows are in a fixed random order, so
    that ties are not in the order of BM25.
    """
    rng = np.random.default_rng(0)
    items = [item.take(rng.permutation(len(item.grades))) for item in read_judged_lists(data, name)]
    ids = [str(number) for number in range(len(items))]
    starts = np.concatenate([[0], np.cumsum([len(item.grades) for item in items])])
    X = np.concatenate([scale_to_range(item.X) for item in items])
    lists = Lists(X, np.concatenate([item.grades for item in items]), starts, ids, [""] * len(X))
    parts = [[ids[n] for n in sorted(part)] for part in np.array_split(rng.permutation(len(ids)), N_FOLDS)]
    folds = {}
    for number in range(N_FOLDS):
        test, vali, *train = parts[number:] + parts[:number]
        folds[f"Fold{number + 1}"] = Fold(sorted((name for part in train for name in part), key=int), vali, test)
    return TextCorpus(name, lists, folds, tuple(item.content for item in items))


def scale_to_range(X: np.ndarray) -> np.ndarray:
    """Scale each column to 0 to 1; constant columns are 0.

    >>> scale_to_range(np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]])).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.5, 0.0]]
    """
    low, width = X.min(axis=0), np.ptp(X, axis=0)
    return (X - low) / np.where(width > 0, width, 1.0)
