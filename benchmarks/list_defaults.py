"""Which ranker of lists leads across LETOR sets, with few labels and with all.

    python benchmarks/list_defaults.py [--data FOLDER] [--sets WTR …] [--methods standing linear …] [--seeds N]

Five folds; the rankers use the validation lists with the same share of labels. `column` is the best single feature,
rising or falling, on the labelled training rows. nDCG@10 on all test lists with all their labels, the mean over seeds
for each query; p of a randomization test over queries against the first method, uncorrected. `missing` removes 35% of
the feature values at random, with all labels. `A+B` is three quarters of A and one quarter of B, each standardized
within the list.
"""

import argparse
import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from tacit.core import Lists
from tacit.data import read_folds, read_letor
from tacit.metrics import compare, evaluate_rows
from tacit.rerank.learning_curve import cut_labels, cut_queries
from tacit.rerank.ranking_lists import RankingTask, fit_lists

SETS = ("OHSUMED-letor2", "OHSUMED-letor3-QueryLevelNorm", "MQ2008", "WTR")
CUTS = {
    "5% of rows": (cut_labels, 0.05),
    "10% of queries": (cut_queries, 0.1),
    "all": (cut_labels, 1.0),
    "missing": (cut_labels, 1.0),
}
MIXED = 0.25  # share of the second method of a mixture


def values_of(lists: Lists, scores: np.ndarray) -> np.ndarray:
    """Return nDCG@10 of every list."""
    return evaluate_rows(lists.y, scores, lists.qid, "nDCG@10").values["nDCG@10"]


def column_scores(train: Lists, test: Lists) -> np.ndarray:
    """Return scores by the feature that is best on the judged training rows."""
    signed = np.hstack([np.nan_to_num(train.X), -np.nan_to_num(train.X)])
    best = int(np.argmax([np.nanmean(values_of(train, column)) for column in signed.T]))
    return np.nan_to_num(test.X)[:, best % test.X.shape[1]] * (1 if best < test.X.shape[1] else -1)


def measure(lists: Lists, folds: dict, method: str, cut: str, seed: int) -> np.ndarray:
    """Return values of the test queries of all folds."""
    shorten, share = CUTS[cut]
    if cut == "missing":
        gone = np.random.default_rng(seed).random(lists.X.shape) < 0.35
        lists = replace(lists, X=np.where(gone, np.nan, lists.X))
    values = []
    for fold in folds.values():
        train, vali = (shorten(lists.take_queries(part), share, seed) for part in (fold.train, fold.vali))
        test = lists.take_queries(fold.test)
        values.append(values_of(test, scores_of(method, train, vali, test, seed)))
    return np.concatenate(values)


def scores_of(method: str, train: Lists, vali: Lists, test: Lists, seed: int) -> np.ndarray:
    """Return scores of the test rows by a method, or by a mixture of two."""
    if method == "column":
        return column_scores(train, test)
    if "+" in method:
        both = [scores_of(part, train, vali, test, seed) for part in method.split("+")]
        main, other = (standardized(scores, test.starts) for scores in both)
        return (1 - MIXED) * main + MIXED * other
    return fit_lists(RankingTask(method, seed=seed), train, vali).predict(test)


def standardized(scores: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return scores with mean 0 and standard deviation 1 in each list."""
    parts = [scores[start:stop] - scores[start:stop].mean() for start, stop in pairwise(starts)]
    return np.concatenate([part / (part.std() or 1) for part in parts])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("TACIT_DATA"), type=Path)
    parser.add_argument("--sets", nargs="*", default=["OHSUMED-letor2"], help=f"of {', '.join(SETS)}")
    parser.add_argument("--methods", nargs="*", default=["standing", "linear", "rankboost", "column"])
    parser.add_argument("--cuts", nargs="*", default=[*CUTS])
    parser.add_argument("--seeds", type=int, default=1)
    args = parser.parse_args()
    print(f"{'set':30} {'labels':16}" + "".join(f"{method:>17}" for method in args.methods))
    for name in args.sets:
        folder = args.data / "letor" / name
        lists, folds = read_letor(folder / f"{name}.txt.gz"), read_folds(folder / "folds.json")
        for cut in args.cuts:
            found = {
                method: np.mean([measure(lists, folds, method, cut, seed) for seed in range(args.seeds)], axis=0)
                for method in args.methods
            }
            first = found[args.methods[0]]
            row = "".join(f"{v.mean():>8.4f} p {compare(first, v).randomization:<6.2g}" for v in found.values())
            print(f"{name:30} {cut:16}{row}", flush=True)


if __name__ == "__main__":
    main()
