"""Time of `htr-reconstruction`: compared with one truncated SVD of scikit-learn, and by the number of items.

    python benchmarks/reconstruction.py --data FOLDER     (FOLDER defaults to $TACIT_DATA)

All 9,603 training stories of Reuters-21578, 30,000 words, 100 dimensions, one process, without compilation. CPU
seconds, which other load affects less. The complete fit is timed: its own decomposition and all epochs with validation;
there is no weight to choose, because there are no labels.
"""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD

from tacit.core import one_blas_thread
from tacit.data import read_collection
from tacit.features import TextVectorizer
from tacit.retrieve import ReconstructionRanker
from tacit.retrieve.latent.reconstruction import ReconstructionSettings, ReconstructionTrainer

DIM = 100


def read_train(data: Path) -> sp.csr_array:
    documents = read_collection(data / "text" / "reuters21578", extras=("modapte",))
    train = [row for row, part in enumerate(documents.extras["modapte"]) if part == "train"]
    return TextVectorizer(words=30_000).fit_transform(documents.full_text(row) for row in train)


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def microseconds_a_step(rows: sp.csr_array, n_copies: int) -> float:
    """Return microseconds per step in an epoch over this many copies of the same documents."""
    many = sp.csr_array(sp.vstack([rows] * n_copies))
    concepts = np.random.default_rng(0).normal(0, 0.1, (rows.shape[1], DIM)).astype(np.float32)
    trainer = ReconstructionTrainer(many, concepts, ReconstructionSettings())
    return 1e6 * seconds(lambda: trainer.epoch(np.random.default_rng(0), (0.1, 0.05))) / many.shape[0]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=os.environ.get("TACIT_DATA"))
    rows = read_train(Path(parser.parse_args().data))
    print(
        f"{rows.shape[0]:,} stories, {rows.shape[1]:,} words, {rows.nnz / rows.shape[0]:.0f} words a story, {DIM} dims"
    )
    ReconstructionRanker(4, n_epochs=1).fit(None, rows[:50])  # compiles
    with one_blas_thread():
        svd = min(seconds(lambda: TruncatedSVD(DIM, random_state=0).fit_transform(rows)) for _ in range(3))
        ranker = ReconstructionRanker(DIM)
        ours = seconds(lambda: ranker.fit(None, rows))
    print(f"scikit-learn TruncatedSVD   {svd:6.2f} s")
    print(
        f"htr-reconstruction, whole   {ours:6.2f} s, {len(ranker.epochs_)} epochs; ratio {ours / svd:.1f} (at most 10)"
    )
    for epoch in ranker.epochs_:
        print(
            f"  epoch {epoch['epoch']:>2}: reconstruction {epoch['reconstruction']:.4f}, margin loss "
            f"{epoch['margin']:.4f}, halves found {epoch['found']:.3f}"
        )
    print("microseconds a step, by the number of items:")
    for n_copies in (1, 4, 16):
        print(f"  {n_copies * 2000:>6,} {microseconds_a_step(rows[:2000], n_copies):7.1f}")


if __name__ == "__main__":
    main()
