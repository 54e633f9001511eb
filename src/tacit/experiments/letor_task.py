"""The protocol of experiments on LETOR sets: the five given folds, reduced labels, values per query.

A system is trained on a fold's training lists, makes choices on its validation lists and is measured on its test lists.
Every query is in the test lists of one fold, so all folds together give one value for each query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacit.core import Lists, TacitError, check_choice, check_number
from tacit.data import read_folds, read_letor
from tacit.data.letor.folds import Fold
from tacit.metrics import evaluate_rows
from tacit.rerank.label_cuts import cut_labels as cut_labels  # part of the protocol

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
