"""The protocol of experiments on LETOR sets: the five given folds, reduced labels, values per query.

A system is trained on a fold's training lists, makes choices on its validation lists and is measured on its test lists.
Every query is in the test lists of one fold, so all folds together give one value for each query.

A text collection has the same form: lists are BM25's best 200 documents of each query, with features from text. In
these collections every document was judged, so a document without a judgment is irrelevant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tacit.core import Lists, TacitError, check_choice, check_number
from tacit.data import read_collection, read_folds, read_letor, read_qrels, read_queries
from tacit.data.letor.folds import Fold
from tacit.features.query_document import MEASURES as COLUMNS
from tacit.metrics import evaluate_rows
from tacit.rerank.learning_curve import cut_labels as cut_labels  # part of the protocol
from tacit.rerank.list_columns import minmax_lists
from tacit.search.text_lists import FIELDS, FieldIndex

LETOR_SETS = ("OHSUMED-letor2", "OHSUMED-letor3-QueryLevelNorm", "MQ2008")

# Names in reports, and their measures.
MEASURES = {
    "MAP": "AP",
    "nDCG-letor@1": "nDCG-letor@1",
    "nDCG-letor@3": "nDCG-letor@3",
    "nDCG-letor@5": "nDCG-letor@5",
    "nDCG-letor@10": "nDCG-letor@10",
    "nDCG-letor@14": "nDCG-letor@14",
    "nDCG@10": "nDCG@10",
}
TEXT_CORPORA = ("cranfield", "cacm", "cisi")
N_CANDIDATES, N_FOLDS = 200, 5
BM25 = [f"{field}.{measure}" for field in FIELDS for measure in COLUMNS].index("both.bm25")


@dataclass(frozen=True)
class FoldLists:
    """The three parts of one fold."""

    name: str
    train: Lists
    vali: Lists
    test: Lists


@dataclass(frozen=True)
class LetorCorpus:
    """A LETOR set with its folds."""

    name: str
    lists: Lists
    folds: Mapping[str, Fold]

    def fold(self, name: str) -> FoldLists:
        """Return the lists of one fold."""
        parts = self.folds[name]
        return FoldLists(name, *(self.lists.take_queries(ids) for ids in parts))

    def __iter__(self) -> Iterator[FoldLists]:
        return (self.fold(name) for name in self.folds)

    @property
    def summary(self) -> str:
        """Return sizes in one line, with the number of queries without a relevant document."""
        relevant = np.maximum.reduceat(np.nan_to_num(self.lists.y), self.lists.starts[:-1])
        return (
            f"{self.name}: {len(self.lists)} queries, {len(self.lists.y)} rows, {self.lists.X.shape[1]} features, "
            f"{len(self.folds)} folds; queries without a relevant document, counted as 0: {int((relevant < 1).sum())}"
        )


def read_letor_corpus(data: Path, name: str) -> LetorCorpus:
    """Read a LETOR set and its folds below the folder of real collections."""
    folder = data / "letor" / check_choice("corpus", name, LETOR_SETS)
    if not folder.is_dir():
        raise TacitError(f"{folder} is not a folder, want the LETOR set {name} there")
    lists = shuffled_rows(read_letor(folder / f"{name}.txt.gz"))
    return LetorCorpus(name, lists, read_folds(folder / "folds.json"))


def shuffled_rows(lists: Lists) -> Lists:
    """Return the same lists with the rows of each in a fixed random order.

    Ties are ranked by row, and some files list relevant rows first (LETOR 3's OHSUMED), so a ranker with constant
    scores would be rewarded.
    """
    rng = np.random.default_rng(0)
    order = np.lexsort((rng.random(len(lists.y)), lists.qid))
    return Lists(
        X=lists.X[order],
        y=lists.y[order],
        starts=lists.starts,
        query_ids=lists.query_ids,
        doc_ids=[lists.doc_ids[row] for row in order],
        comments=[lists.comments[row] for row in order] if lists.comments else (),
    )


def first_queries(lists: Lists, share: float) -> Lists:
    """Return the first lists, a share of them, at least one (TRANS, figure 5)."""
    check_number("share", share, low=0, high=1, open_low=True)
    return lists.take(np.arange(max(1, round(share * len(lists)))))


def measure_lists(lists: Lists, scores: np.ndarray, measures: Mapping[str, str] = MEASURES) -> dict[str, np.ndarray]:
    """Return values of each measure, one per list in the order of the lists."""
    found = evaluate_rows(lists.y, scores, lists.qid, list(measures.values())).values
    return {name: found[measure] for name, measure in zip(measures, found, strict=True)}


def measure_folds(
    folds: Sequence[FoldLists], score_fold: Callable[[FoldLists], np.ndarray], measures: Mapping[str, str] = MEASURES
) -> dict[str, np.ndarray]:
    """Return values over the test lists of all folds, concatenated; `score_fold` scores a fold's test rows."""
    per_fold = [measure_lists(fold.test, score_fold(fold), measures) for fold in folds]
    return {name: np.concatenate([values[name] for values in per_fold]) for name in measures}


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
    X, numbers = np.concatenate([item.X for item in items]), np.repeat(np.arange(len(items)), np.diff(starts))
    grades = np.concatenate([item.grades for item in items])
    lists = Lists(minmax_lists(X, numbers), grades, starts, ids, [""] * len(X))
    parts = [[ids[n] for n in sorted(part)] for part in np.array_split(rng.permutation(len(ids)), N_FOLDS)]
    folds = {}
    for number in range(N_FOLDS):
        test, vali, *train = parts[number:] + parts[:number]
        folds[f"Fold{number + 1}"] = Fold(sorted((name for part in train for name in part), key=int), vali, test)
    return TextCorpus(name, lists, folds, tuple(item.content for item in items))
