"""Speed of semi-supervised training: ratios, slopes, and a whole fit on MQ2008.

    python benchmarks/semi.py --data FOLDER     (FOLDER defaults to $TACIT_DATA)

Epochs and fits of copies are measured in CPU time on one thread, the whole fits in wall time.

1. One SSLambdaRank epoch and one LambdaRank epoch (10% of MQ2008's labels, fold 1); target: ratio at most 2.
2. Slope of log time over log size for 1, 2, 4, 8 copies of the lists, and of the rows of each list at fixed K and a
   fixed number of judged rows: 1 is linear. Neighbours are found once, before the epochs, and are not in the time; the
   time to find them in one long list is on separate lines.
3. Fitting `sslambdarank` and `standing` on MQ2008 with their complete budgets of choices; target: under a minute;
   `standing` also on the copies.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np

from tacit.core import one_blas_thread
from tacit.experiments.lists.letor_task import cut_labels, read_letor_corpus
from tacit.rerank import get_method
from tacit.rerank.gradient import neighbours
from tacit.rerank.gradient.losses import NeighbourRegularizer, SwapLoss
from tacit.rerank.gradient.neighbours import find_neighbours
from tacit.rerank.gradient.ranker import center_and_spread
from tacit.rerank.gradient.scorer_training import GradientTerm, make_scorer, total_loss
from tacit.rerank.rows import Rows

K, COPIES = 5, (1, 2, 4, 8)
LONG = (4_000, 8_000, 15_211)  # rows of one list; MQ2008 has 15,211


def copy_lists(rows: Rows, times: int) -> Rows:
    """Return the same lists several times."""
    lengths = np.tile(np.diff(rows.starts), times)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return Rows(np.tile(rows.X, (times, 1)), np.tile(rows.y, times), starts, np.arange(starts[-1]))


def copy_rows(rows: Rows, times: int) -> Rows:
    """Return each row several times in its list, with small changes; the copies are unjudged."""
    rng = np.random.default_rng(0)
    number = np.repeat(np.arange(len(rows.y)), times)
    order = np.lexsort((np.arange(len(number)) % times, rows.list_of[number]))
    number, first = number[order], (np.arange(len(number)) % times == 0)[order]
    X = rows.X[number] + rng.normal(0, 0.01, (len(number), rows.X.shape[1])) * ~first[:, None]
    return Rows(X, np.where(first, rows.y[number], np.nan), rows.starts * times, np.arange(len(number)))


def sources(rows: Rows) -> tuple[list[GradientTerm], list[GradientTerm]]:
    """Return the terms of LambdaRank, and those of SSLambdaRank."""
    loss = SwapLoss(rows, "nDCG-letor")
    near = find_neighbours(rows.starts, K, vectors=rows.X)
    return [loss], [loss, NeighbourRegularizer(near, rows.starts, 1.0, discounts=loss.discounts)]


def epoch_seconds(rows: Rows, parts: list[GradientTerm], repeats: int = 15) -> float:
    """Return CPU time of the fastest of several epochs, all on one thread, because the machine may have other work."""
    scorer = make_scorer(rows.X.shape[1], 3)
    theta, times = scorer.start(np.random.default_rng(0)), []
    for _ in range(repeats):
        begin = time.process_time()
        total_loss(scorer, theta, rows.X, parts, 0.1)
        times.append(time.process_time() - begin)
    return min(times)


def fit_seconds(rows: Rows) -> float:
    """Return CPU time of the faster of two fits of `standing`."""
    times = []
    for _ in range(2):
        begin = time.process_time()
        get_method("standing").make().fit(rows.X, rows.y, rows.list_of)
        times.append(time.process_time() - begin)
    return min(times)


def neighbour_seconds(X: np.ndarray) -> tuple[float, float, float]:
    """Return CPU time of the K nearest neighbours in one list, by all pairs and by trees; the share of pairs found."""
    pairs, times = [], []
    for most in (len(X), 0):
        begin = time.process_time()
        found = neighbours.find_neighbours(np.array([0, len(X)]), K, vectors=X, most_exact=most)
        times.append(time.process_time() - begin)
        pairs.append(found.left * len(X) + found.right)
    return times[0], times[1], float(np.isin(pairs[0], pairs[1]).mean())


def slope(seconds: list[float]) -> float:
    return float(np.polyfit(np.log(COPIES), np.log(seconds), 1)[0])


def standardized(X: np.ndarray) -> np.ndarray:
    center, spread = center_and_spread(X)
    return (X - center) / spread


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("TACIT_DATA"), type=Path)
    fold = read_letor_corpus(parser.parse_args().data, "MQ2008").fold("Fold1")
    train, vali = (cut_labels(lists, 0.1, seed=0) for lists in (fold.train, fold.vali))
    rows = Rows.of(train)
    with one_blas_thread():
        plain, semi = sources(rows)
        epoch_seconds(rows, semi, 2)  # compiles
        base, both = epoch_seconds(rows, plain), epoch_seconds(rows, semi)
        print(f"epoch: LambdaRank {1e3 * base:.2f} ms, SSLambdaRank {1e3 * both:.2f} ms")
        print(f"ratio {both / base:.2f} (want <= 2)")
        for name, copy in (("lists", copy_lists), ("rows of each list", copy_rows)):
            larger = [copy(rows, times) for times in COPIES]
            seconds = [epoch_seconds(one, sources(one)[1]) for one in larger]
            shown = ", ".join(f"{1e3 * value:.2f}" for value in seconds)
            print(f"{name} x {COPIES}: {shown} ms, slope {slope(seconds):.2f} (1 is linear)")
            seconds = [fit_seconds(one) for one in larger]
            shown = ", ".join(f"{value:.2f}" for value in seconds)
            print(f"standing, {name} x {COPIES}: {shown} s, slope {slope(seconds):.2f}")
        points = standardized(read_letor_corpus(parser.parse_args().data, "MQ2008").lists.X)
        for n_rows in LONG:
            exact, trees, found = neighbour_seconds(points[:n_rows])
            shown = f"all pairs {exact:.2f} s, trees {trees:.2f} s, {found:.1%} of the pairs found"
            print(f"neighbours in one list of {n_rows:,} rows: {shown}")
    for name in ("sslambdarank", "standing"):
        begin = time.perf_counter()
        get_method(name).make().fit(train.X, train.y, train.qid, validation=vali)
        print(f"{name} on MQ2008, all its choices: {time.perf_counter() - begin:.1f} s (want < 60)")


if __name__ == "__main__":
    main()
