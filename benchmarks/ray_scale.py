"""Training on a Ray cluster and on one machine: time and bytes per block, memory of each process.

    python benchmarks/ray_scale.py --items 100000 --partitions 3

Items have random words and links. Each training runs in a separate process; the models are compared bit by bit. Then
the words of as many texts are counted by tasks and by one process. Needs Linux and the extra `ray`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import Links
from tacit.core.threads import cluster
from tacit.distributed import ray_cluster
from tacit.distributed.owners import Owners
from tacit.distributed.parted_embedding import PartedTrainer
from tacit.features import TextVectorizer
from tacit.features.text.counting import stack_rows
from tacit.retrieve import EmbeddingRanker
from tacit.retrieve.margin.block_sgd import BlockTrainer
from tacit.retrieve.margin.embedding_sgd import EmbeddingTrainer

MIB = 2**20


def draw_words(args: argparse.Namespace) -> np.ndarray:
    """Draw the words of each item with frequencies by Zipf."""
    weights = 1 / np.arange(1, args.words + 1)
    drawn = np.random.default_rng(args.seed).choice(args.words, (args.items, args.per_item), p=weights / weights.sum())
    return drawn.astype(np.int32)


def make_rows(args: argparse.Namespace) -> sp.csr_array:
    """Return rows of unit length, made like those of `tacit fit`: memory-mapped in a cluster."""
    words = draw_words(args)
    places = (np.repeat(np.arange(args.items), args.per_item), words.ravel())
    rows = sp.csr_array((np.ones(words.size, np.float32), places), shape=(args.items, args.words))
    rows.sum_duplicates()
    rows.data /= np.repeat(np.sqrt(np.add.reduceat(rows.data**2, rows.indptr[:-1])), np.diff(rows.indptr))
    return stack_rows([rows], args.words)


class Meter:
    """Counts blocks and validations, their time, and the bytes sent to and from the owners per block."""

    def __init__(self) -> None:
        self.found = dict.fromkeys(("blocks", "wall", "cpu", "bytes", "validations", "validation_wall"), 0.0)
        self.owners, self._inside = list[float](), False
        self._watch_blocks()
        self._watch_owners()

    def _watch_blocks(self) -> None:
        train, measuring = BlockTrainer._train_block, EmbeddingTrainer.measuring
        parted = PartedTrainer.measuring

        def train_block(trainer: Any, work: Any, size: int) -> float:
            wall, cpu, self._inside = time.perf_counter(), time.process_time(), True
            loss = train(trainer, work, size)
            self._inside = False
            self._add(blocks=1, wall=time.perf_counter() - wall, cpu=time.process_time() - cpu)
            return loss

        def timed(make: Callable[..., Callable[[], Any]]) -> Callable[..., Callable[[], Any]]:
            def made(*given: Any) -> Callable[[], Any]:
                measure = make(*given)

                def measured() -> Any:
                    start = time.perf_counter()
                    values = measure()
                    self._add(validations=1, validation_wall=time.perf_counter() - start)
                    return values

                return measured

            return made

        BlockTrainer._train_block = train_block  # type: ignore[method-assign]
        EmbeddingTrainer.measuring = timed(measuring)  # type: ignore[method-assign]
        PartedTrainer.measuring = timed(parted)  # type: ignore[method-assign]

    def _watch_owners(self) -> None:
        words, vectors, put, close = Owners.take_words, Owners.take_vectors, Owners.put, PartedTrainer.close

        def take_words(owners: Any, items: np.ndarray) -> Any:
            wait = words(owners, items)

            def joined() -> Any:
                found = wait()
                self._travelled(items, *found)
                return found

            return joined

        def take_vectors(owners: Any, name: str, items: np.ndarray) -> np.ndarray:
            found = vectors(owners, name, items)
            self._travelled(items, found)
            return found

        def put_vectors(owners: Any, name: str, items: np.ndarray, changed: np.ndarray) -> None:
            self._travelled(items, changed)
            put(owners, name, items, changed)

        def close_trainer(trainer: Any) -> None:
            import ray

            self.owners = [ray.get(owner._actor.__ray_call__.remote(_peak)) for owner in trainer._owners.owners]
            close(trainer)

        Owners.take_words, Owners.take_vectors, Owners.put = take_words, take_vectors, put_vectors  # type: ignore[method-assign]
        PartedTrainer.close = close_trainer  # type: ignore[method-assign]

    def _travelled(self, *arrays: np.ndarray) -> None:
        if self._inside:
            self._add(bytes=sum(array.nbytes for array in arrays))

    def _add(self, **more: float) -> None:
        for name, value in more.items():
            self.found[name] += value


def _peak(_: Any) -> float:
    """Return the maximum memory of this process in MiB, including mapped files."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def watch_memory() -> Callable[[], float]:
    """Start to watch the memory of this process without mapped files; the result returns the maximum in MiB."""
    most = [0.0]

    def watch() -> None:
        while True:
            lines = Path("/proc/self/status").read_text().splitlines()
            found = next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
            most[0] = max(most[0], found / 2**10)
            time.sleep(0.05)

    threading.Thread(target=watch, daemon=True).start()
    return lambda: most[0]


def train(args: argparse.Namespace) -> dict[str, Any]:
    """Run one training; return figures, and a checksum of the model."""
    meter = Meter()
    with ray_cluster(args.ray) if args.part == "ray" else nullcontext():
        rows, rng = make_rows(args), np.random.default_rng([args.seed, 1])
        links = Links(*rng.integers(0, args.items, (2, args.links)), args.items, args.items)
        memory = watch_memory()
        ranker = EmbeddingRanker(
            args.dim, items="residual", gamma=1.0, n_epochs=1, rate=0.01, partitions=args.partitions, threads=1
        )
        ranker.fit(rows, rows, links)
        most = memory()
    model = hashlib.blake2b(ranker.item_vectors_.tobytes() + ranker.query_table_.tobytes()).hexdigest()
    return meter.found | {"anonymous": most, "resident": _peak(None), "owners": meter.owners, "model": model}


def count(args: argparse.Namespace) -> dict[str, Any]:
    """Count the words of texts."""
    words = draw_words(args)
    texts = [" ".join(f"word{word}" for word in row) for row in words]
    n_bytes = [0, 0]
    with ray_cluster(args.ray) if args.part == "count-ray" else nullcontext():
        TextVectorizer().fit_counts(texts[:100])  # loads compiled code, starts a worker
        backend: Any = cluster.get()
        if backend is not None:
            inner = backend.map_tasks

            def measured(work: Any, blocks: Any) -> Iterator[Any]:
                def sent() -> Iterator[Any]:
                    for block in blocks:
                        n_bytes[0] += sum(map(len, block))
                        yield block

                for found in inner(work, sent()):
                    terms, counts = found
                    arrays = (counts.data, counts.indices, counts.indptr)
                    n_bytes[1] += sum(map(len, terms)) + sum(array.nbytes for array in arrays)
                    yield found

            backend.map_tasks = measured
        wall, cpu = time.perf_counter(), time.process_time()
        counts = TextVectorizer().fit_counts(texts)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    model = hashlib.blake2b(counts.data.tobytes() + counts.indices.tobytes()).hexdigest()
    return {"wall": wall, "cpu": cpu, "characters": sum(map(len, texts)), "bytes": n_bytes, "model": model}


def run_part(args: argparse.Namespace, part: str) -> dict[str, Any]:
    """Run a part in a separate process."""
    done = subprocess.run([sys.executable, *sys.argv, "--part", part], stdout=subprocess.PIPE, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def report(args: argparse.Namespace) -> None:
    """Run all parts and print two tables."""
    print(f"{args.items:,} items, {args.partitions} owners")
    head = "training", "blocks", "ms/block", "CPU ms/block", "KiB/block", "validation s", "MiB", "with files", "owners"
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    found = {part: run_part(args, part) for part in ("one", "ray")}
    for part, name in (("one", "one machine"), ("ray", f"Ray, {args.partitions} owners")):
        one = found[part]
        n_blocks, owners = max(1, one["blocks"]), "/".join(f"{peak:.0f}" for peak in one["owners"]) or "-"
        print(
            f"| {name} | {n_blocks:.0f} | {1000 * one['wall'] / n_blocks:.1f} | {1000 * one['cpu'] / n_blocks:.1f} "
            f"| {one['bytes'] / n_blocks / 2**10:.0f} | {one['validation_wall'] / max(1, one['validations']):.1f} "
            f"| {one['anonymous']:.0f} | {one['resident']:.0f} | {owners} |",
            flush=True,
        )
    print("same bits" if found["one"]["model"] == found["ray"]["model"] else "THE BITS DIFFER")
    print("\n| counting words | s | CPU s of the command | MiB of text | MiB sent | MiB returned |\n|" + "---|" * 6)
    counted = {part: run_part(args, part) for part in ("count-one", "count-ray")}
    for name, one in counted.items():
        sent, back = (n_bytes / MIB for n_bytes in one["bytes"])
        figures = f"{one['wall']:.1f} | {one['cpu']:.1f} | {one['characters'] / MIB:.0f} | {sent:.0f} | {back:.0f}"
        print(f"| {name.removeprefix('count-')} | {figures} |")
    print("same bits" if counted["count-one"]["model"] == counted["count-ray"]["model"] else "THE BITS DIFFER")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("items", 100_000), ("words", 30_000), ("per-item", 120), ("links", 200_000), ("dim", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--partitions", type=int, default=3)
    parser.add_argument("--ray", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if find_spec("ray") is None:
        print("needs tacit-rank[ray]: nothing is measured")
    elif args.part is None:
        report(args)
    else:
        print(json.dumps(count(args) if args.part.startswith("count") else train(args)))


if __name__ == "__main__":
    main()
