"""Training on a Ray cluster against one machine: seconds and bytes for each block, memory of each process.

    python benchmarks/ray_scale.py --items 100000 --partitions 3

Items have random words and links; the models of both trainings are compared bit by bit.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import Links
from tacit.distributed import ray_cluster
from tacit.distributed.owners import Owners
from tacit.distributed.training import PartedTrainer
from tacit.retrieve import EmbeddingRanker
from tacit.retrieve.margin.block_sgd import BlockTrainer


def make_world(n_items: int, n_words: int, per_item: int, n_links: int, seed: int) -> tuple[sp.csr_array, Links]:
    """Rows with Zipf-distributed words, and random links."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, n_words + 1)
    words = rng.choice(n_words, (n_items, per_item), p=weights / weights.sum()).astype(np.int32)
    places = (np.repeat(np.arange(n_items), per_item), words.ravel())
    rows = sp.csr_array((np.ones(words.size, np.float32), places), shape=(n_items, n_words))
    rows.sum_duplicates()
    rows.data /= np.repeat(np.sqrt(np.add.reduceat(rows.data**2, rows.indptr[:-1])), np.diff(rows.indptr))
    return rows, Links(rng.integers(0, n_items, n_links), rng.integers(0, n_items, n_links), n_items, n_items)


class Counted:
    """Counts blocks, and the bytes that travel to and from the owners."""

    def __init__(self) -> None:
        self.n_blocks = self.n_bytes = 0
        self.seconds = 0.0
        self.memory = list[int]()
        self._wrap()

    def _wrap(self) -> None:
        train, words, vectors, put = (
            BlockTrainer._train_block, Owners.take_words, Owners.take_vectors, Owners.put,
        )  # fmt: skip

        def train_block(trainer: Any, work: Any, size: int) -> float:
            start = time.perf_counter()
            loss = train(trainer, work, size)
            self.n_blocks, self.seconds = self.n_blocks + 1, self.seconds + time.perf_counter() - start
            return loss

        def take_words(owners: Any, items: np.ndarray) -> Any:
            wait = words(owners, items)

            def joined() -> Any:
                found = wait()
                self.n_bytes += items.nbytes + sum(part.nbytes for part in found)
                return found

            return joined

        def take_vectors(owners: Any, name: str, items: np.ndarray) -> np.ndarray:
            found = vectors(owners, name, items)
            self.n_bytes += items.nbytes + found.nbytes
            return found

        def put_vectors(owners: Any, name: str, items: np.ndarray, changed: np.ndarray) -> None:
            self.n_bytes += items.nbytes + changed.nbytes
            put(owners, name, items, changed)

        close = PartedTrainer.close

        def close_trainer(trainer: Any) -> None:
            import ray

            self.memory = [ray.get(actor.__ray_call__.remote(_peak)) for actor in trainer._owners._actors]
            close(trainer)

        BlockTrainer._train_block = train_block  # type: ignore[method-assign]
        Owners.take_words, Owners.take_vectors, Owners.put = take_words, take_vectors, put_vectors  # type: ignore[method-assign]
        PartedTrainer.close = close_trainer  # type: ignore[method-assign]

    def report(self, name: str) -> None:
        """Print one row of the table."""
        n_blocks = max(1, self.n_blocks)
        owners = "/".join(f"{peak / 2**10:.0f}" for peak in self.memory) or "-"
        print(
            f"| {name} | {n_blocks} | {1000 * self.seconds / n_blocks:.1f} | {self.n_bytes / n_blocks / 2**10:.0f} "
            f"| {_peak(None) / 2**10:.0f} | {owners} |",
            flush=True,
        )
        self.n_blocks, self.n_bytes, self.seconds, self.memory = 0, 0, 0.0, []


def _peak(_: Any) -> int:
    """Largest memory of this process in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("items", 100_000), ("words", 30_000), ("per-item", 120), ("links", 200_000), ("dim", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--partitions", type=int, default=3)
    parser.add_argument("--ray", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rows, links = make_world(args.items, args.words, args.per_item, args.links, args.seed)
    ranker = EmbeddingRanker(args.dim, items="residual", gamma=1.0, n_epochs=1, partitions=args.partitions, threads=1)
    counted = Counted()
    print("| training | blocks | ms/block | KiB/block | peak MiB, training process | peak MiB, owners |")
    print("|---|---|---|---|---|---|")
    with ray_cluster(args.ray):
        parted = ranker.fit(rows, rows, links).item_vectors_.copy()
        counted.report(f"Ray, {args.partitions} owners")
    alone = ranker.fit(rows, rows, links).item_vectors_
    counted.report("one machine")
    print("same bits" if parted.tobytes() == alone.tobytes() else "THE BITS DIFFER")


if __name__ == "__main__":
    main()
