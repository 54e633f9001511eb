"""Training speed of the learned embeddings on MDN's links, n = 100, in one run and one table.

    python benchmarks/embedding.py --data FOLDER     (FOLDER defaults to $TACIT_DATA)

1. Read-modify-write bandwidth of the machine: rows of 100 floats of a table of the same size, in random order, one
   table per thread.
2. Our SGD on given triples: triples per second, and bytes of table rows read and written per second, compared with 1.
   Every triple updates its rows, which is the most expensive case.
3. Our SGD on pairs with mined negatives: queries per second, with gamma = 0 and with gamma = 1 as in `htr-residual`.
4. Time to reach the validation MAP that lightfm-next (WARP, the same words as features) reaches in its epochs.

Runs with one and two threads alternate, and the best of several rounds counts, to reduce the effect of other load.
"""

import argparse
import itertools
import os
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numba import njit

from tacit.core import map_blocks
from tacit.experiments.collections.link_task import LinkSplit, read_linked_corpus, split_links
from tacit.retrieve import EmbeddingRanker
from tacit.retrieve.margin.base import LARGEST_TRIPLE_BLOCK
from tacit.retrieve.margin.embedding_sgd import EmbeddingSettings, EmbeddingTrainer, Tables, TrainingRows
from tacit.retrieve.validation import HeldOut, held_out_queries, measure

DIM = 100
MACHINE, TRIPLES, TOUCHED = "machine: GB/s read and written", "given triples a second", "  GB/s of table rows"
GAMMAS = {"queries a second, gamma = 0": 0.0, "queries a second, gamma = 1": 1.0}
Curve = list[tuple[float, float]]


@njit(nogil=True, fastmath=True)
def change_rows(table: np.ndarray, order: np.ndarray) -> None:
    for row in order:
        for k in range(table.shape[1]):
            table[row, k] += np.float32(1e-6)


def bandwidth(n_rows: int, threads: int) -> float:
    """Return bytes read and written per second when every thread changes random rows of its own table.

    Each table is as large as one of ours, because half a table would fit in a thread's caches, which is not the case in
    training: documents contain words of the whole dictionary.
    """
    rng = np.random.default_rng(0)
    tables = [np.zeros((n_rows, DIM), np.float32) for _ in range(threads)]
    orders = [rng.integers(0, n_rows, 400_000) for _ in tables]
    change_rows(tables[0], orders[0][:10])
    start = time.perf_counter()
    map_blocks(lambda t: change_rows(tables[t], orders[t]), list(range(threads)), threads)
    return threads * 400_000 * DIM * 4 * 2 / (time.perf_counter() - start)


def fresh_tables(rows: sp.csr_array) -> Tables:
    rng = np.random.default_rng(0)
    first, second = (rng.normal(0, 0.02, (rows.shape[1], DIM)).astype(np.float32) for _ in range(2))
    items = np.zeros((rows.shape[0], DIM), np.float32)
    return Tables(first, second, items, np.ones(rows.shape[1], np.float32))


def triple_speed(rows: sp.csr_array, pairs: np.ndarray, threads: int) -> tuple[float, float]:
    """Return triples per second, and bytes of table rows per second, on triples that all violate the margin."""
    rng = np.random.default_rng(0)
    triples = np.column_stack([pairs, rng.integers(0, rows.shape[0], len(pairs))])[:20_000]
    settings = EmbeddingSettings(block=LARGEST_TRIPLE_BLOCK, margin=1e9)
    words = np.diff(rows.indptr)[triples].sum()
    data = TrainingRows(rows, rows, rows, rows, queries_are_items=True)
    with EmbeddingTrainer(fresh_tables(rows), data, settings, threads).running() as trainer:
        weights = np.ones(len(triples), np.float32)
        trainer.epoch_on_triples(triples[:500], weights, rng, (1e-6, 1e-6))
        start = time.perf_counter()
        trainer.epoch_on_triples(triples, weights, rng, (1e-6, 1e-6))
        seconds = time.perf_counter() - start
    touched = words * DIM * 4 * 3  # read to project, read and written to change
    return len(triples) / seconds, touched / seconds


def pair_speed(rows: sp.csr_array, pairs: sp.csr_array, gamma: float, threads: int) -> float:
    """Return queries per second, with mined negatives."""
    rng = np.random.default_rng(0)
    data = TrainingRows(rows, rows, rows, rows, queries_are_items=True)
    with EmbeddingTrainer(fresh_tables(rows), data, EmbeddingSettings(gamma=gamma), threads).running() as trainer:
        trainer.epoch_on_pairs(pairs[:200], rng, (0.1, 0.1))
        start = time.perf_counter()
        trainer.epoch_on_pairs(pairs, rng, (0.1, 0.1))
        seconds = time.perf_counter() - start
    return np.count_nonzero(np.diff(pairs.indptr)) / seconds


def speeds(rows: sp.csr_array, split: LinkSplit, rounds: int) -> dict[str, list[float]]:
    """Return the best of some rounds for each measure, for one thread and for two."""
    pairs = np.column_stack([split.train.sources, split.train.targets])
    linked = split.train.to_csr()
    found: dict[str, list[float]] = {name: [0.0, 0.0] for name in (MACHINE, TRIPLES, TOUCHED, *GAMMAS)}
    for _, threads in itertools.product(range(rounds), (1, 2)):
        triples, touched = triple_speed(rows, pairs, threads)
        now = {MACHINE: bandwidth(rows.shape[1], threads) / 1e9, TRIPLES: triples, TOUCHED: touched / 1e9}
        now |= {name: pair_speed(rows, linked, gamma, threads) for name, gamma in GAMMAS.items()}
        for name, value in now.items():
            found[name][threads - 1] = max(found[name][threads - 1], value)
    return found


def lightfm_curve(rows: sp.csr_array, split: LinkSplit, held: HeldOut, epochs: int, threads: int) -> Curve:
    """Return (seconds so far, validation MAP) after each epoch of lightfm's WARP."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from lightfm import LightFM
    model = LightFM(no_components=DIM, loss="warp", random_state=0)
    features = _with_int32(rows)
    train = split.train
    shape = (train.n_sources, train.n_targets)
    pairs = sp.coo_matrix((train.weights, (train.sources.astype(np.int32), train.targets.astype(np.int32))), shape)
    curve, spent = [], 0.0
    for _ in range(epochs):
        start = time.perf_counter()
        model.fit_partial(pairs, user_features=features, item_features=features, epochs=1, num_threads=threads)
        spent += time.perf_counter() - start
        bias, vectors = model.get_item_representations(features)

        def scores(queries: sp.csr_array, vectors: np.ndarray = vectors, bias: np.ndarray = bias) -> np.ndarray:
            _, mapped = model.get_user_representations(_with_int32(queries))
            return mapped @ vectors.T + bias

        curve.append((spent, float(measure(scores, held)["AP"].mean())))
        print(f"  lightfm-next epoch {len(curve)}: {spent:7.1f} s, MAP {curve[-1][1]:.4f}", flush=True)
    return curve


def _with_int32(rows: sp.csr_array) -> sp.csr_matrix:
    """Return 32-bit indices, because lightfm's loops accept no others."""
    parts = rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return sp.csr_matrix(parts, shape=rows.shape)


class Timed(EmbeddingRanker):
    """Records the training seconds at the end of each epoch, without validation."""

    def _keep(self, tables: Tables, data: TrainingRows) -> None:
        self.ends_ = [*getattr(self, "ends_", []), time.perf_counter()]
        super()._keep(tables, data)


def our_curve(rows: sp.csr_array, split: LinkSplit, threads: int) -> Curve:
    """Return the same for `htr-residual`; validation between epochs is counted against it."""
    ranker = Timed(DIM, items="residual", gamma=1.0, n_epochs=8, threads=threads)
    start = time.perf_counter()
    ranker.fit(rows, rows, split.train, split.validation)
    curve = [(end - start, epoch["MAP"]) for end, epoch in zip(ranker.ends_, ranker.epochs_, strict=False)]
    for number, (seconds, value) in enumerate(curve, 1):
        print(f"  htr-residual epoch {number}: {seconds:7.1f} s, MAP {value:.4f}", flush=True)
    return curve


def table(found: dict[str, list[float]]) -> None:
    print(f"{'':34}{'1 thread':>10}{'2 threads':>11}{'ratio':>8}")
    share = [ours / machine for ours, machine in zip(found[TOUCHED], found[MACHINE], strict=True)]
    for name, (one, two) in found.items():
        digits = 1 if "GB/s" in name else 0
        print(f"{name:34}{one:>10,.{digits}f}{two:>11,.{digits}f}{two / one:>8.2f}")
        if name == TOUCHED:
            print(f"{'  share of the bandwidth':34}{share[0]:>10.2f}{share[1]:>11.2f}")


def time_to_equal(theirs: Curve, ours: Curve) -> str:
    seconds, target = max(theirs, key=lambda point: point[1])
    reached = next((spent for spent, value in ours if value >= target), None)
    if reached is None:
        return f"htr-residual never reaches lightfm-next's MAP of {target:.4f}"
    name = f"s to validation MAP {target:.4f}"
    return f"{name:34}{'lightfm-next':>13}{'htr-residual':>14}{'ratio':>8}\n{'':34}{seconds:>13.1f}{reached:>14.1f}" + (
        f"{seconds / reached:>8.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=os.environ.get("TACIT_DATA"))
    parser.add_argument("--epochs", type=int, default=5, help="epochs of lightfm-next")
    parser.add_argument("--rounds", type=int, default=3, help="of which the best counts")
    args = parser.parse_args()
    corpus = read_linked_corpus(Path(args.data) / "linked" / "mdn_ja_en")
    rows = corpus.features["tfidf"]
    split = split_links(corpus.links, "queries", 0)
    words = rows.nnz / rows.shape[0]
    print(f"{corpus.summary}; {words:.0f} words a document, {len(split.train):,} training links")
    print(f"load before the run: {os.getloadavg()[0]:.1f}", flush=True)
    found = speeds(rows, split, args.rounds)
    held = held_out_queries(rows, split.validation, split.train, queries_are_items=True)
    theirs, ours = lightfm_curve(rows, split, held, args.epochs, 2), our_curve(rows, split, 2)
    table(found)
    print(time_to_equal(theirs, ours))


if __name__ == "__main__":
    main()
