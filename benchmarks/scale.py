"""Cost of a step as the collection grows: 10 thousand, 100 thousand and a million synthetic items, n = 100.

    python benchmarks/scale.py [--items 1000000]

Half-transductive ranking holds one vector per item; here they are memory-mapped, as they would be for a collection
larger than memory. A block of 64 queries touches the table of words and the items of its pool only, so its time
should not grow with the collection. Peak memory is that of the whole process, features included.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tacit.retrieve.margin.embedding_sgd import EmbeddingSettings, EmbeddingTrainer, Tables, TrainingRows

DIM, N_WORDS, WORDS_PER_ITEM, N_QUERIES = 100, 30_000, 20, 12_800


def random_rows(n_rows: int, rng: np.random.Generator) -> sp.csr_array:
    """Rows of Zipf-like words with unit length."""
    words = (N_WORDS * rng.random((n_rows, WORDS_PER_ITEM)) ** 3).astype(np.int32)
    words.sort(axis=1)
    data = np.full(words.size, WORDS_PER_ITEM**-0.5, np.float32)
    return sp.csr_array((data, words.ravel(), np.arange(0, words.size + 1, WORDS_PER_ITEM)), shape=(n_rows, N_WORDS))


def measure(n_items: int, folder: Path) -> None:
    rng = np.random.default_rng(0)
    items, queries = random_rows(n_items, rng), random_rows(N_QUERIES, rng)
    targets = rng.integers(0, n_items, N_QUERIES * 5)
    pairs = sp.csr_array(
        (np.ones(len(targets), np.float32), (np.repeat(np.arange(N_QUERIES), 5), targets)), shape=(N_QUERIES, n_items)
    )
    vectors = np.memmap(folder / f"{n_items}.f32", np.float32, "w+", shape=(n_items, DIM))
    words = [rng.normal(0, 0.02, (N_WORDS, DIM)).astype(np.float32) for _ in range(2)]
    tables = Tables(words[0], words[1], vectors, np.ones(N_WORDS, np.float32))
    data = TrainingRows(queries, items, queries, items, queries_are_items=False)
    with EmbeddingTrainer(tables, data, EmbeddingSettings()).running() as trainer:
        trainer.epoch_on_pairs(pairs[:640], rng, (0.2, 0.2))
        start = time.perf_counter()
        trainer.epoch_on_pairs(pairs, rng, (0.2, 0.2))
        per_block = (time.perf_counter() - start) / (N_QUERIES / 64)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{n_items:>10,}{1000 * per_block:>14.2f}{peak:>14,.0f}{vectors.nbytes / 2**20:>14,.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=1_000_000, help="the largest collection")
    args = parser.parse_args()
    print(f"{'items':>10}{'ms a block':>14}{'peak MiB':>14}{'vectors MiB':>14}")
    with tempfile.TemporaryDirectory() as folder:
        for n_items in sorted({10_000, 100_000, args.items}):
            measure(n_items, Path(folder))


if __name__ == "__main__":
    main()
