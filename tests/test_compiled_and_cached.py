"""The process that compiles the loops and those that find them in the cache learn the same bits.

Loops may reorder sums. Where a helper is not inlined, a compiling process may bind it to another copy of it than a
later one does, and sums run in another order. The second process also has two threads of BLAS where the first has one.
"""

import os
import subprocess
import sys

LEARN = """
import numpy as np
import scipy.sparse as sp
from tacit.core import Links
from tacit.rerank import get_method
from tacit.retrieve import GraphEmbedding, get_method as collection_method

rng = np.random.default_rng(0)
points = rng.normal(size=(120, 20)).astype(np.float32)
for features in ("rbf", "linear"):
    model = GraphEmbedding(37, k=5, features=features, n_centres=50, n_epochs=2).fit(points)
    print(features, model.epochs_, model.item_vectors_.tobytes().hex())
rows = sp.csr_array((rng.random((150, 200)) < 0.1) * rng.random((150, 200))).astype(np.float32)
links = Links(np.arange(149), np.arange(1, 150), 150, 150)
for name in ("ssi-uv-d", "htr-residual", "hash-1m-i", "ssi-sparse-10", "htr-reconstruction"):
    ranker = collection_method(name).offer(dim=37, seed=0).fit(rows, rows, links)
    print(name, ranker.epochs_, ranker.scores(rows).tobytes().hex())
X, qid = rng.normal(size=(120, 6)), np.repeat(np.arange(6), 20)
y = np.where(rng.random(120) < 0.5, np.nan, (X[:, 0] > 0) + (X[:, 1] > 0.5))
for name in ("rankboost", "iw", "fg", "ssbt", "sslambdarank", "auc-semi", "manifold", "rankboost-semi"):
    ranker = get_method(name).offer(seed=0, threads=1).fit(X, y, qid)
    print(name, ranker.predict(X, qid).tobytes().hex())
"""


def test_the_first_process_and_the_second_learn_the_same_bits(tmp_path):
    learn = [sys.executable, "-W", "ignore", "-c", LEARN]
    first, second = (
        subprocess.run(
            learn,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "OPENBLAS_NUM_THREADS": n_threads},
            capture_output=True,
            text=True,
        )
        for n_threads in ("1", "2")
    )
    assert first.returncode == 0, first.stderr
    assert any(tmp_path.rglob("*.nbc"))
    changed = [
        a.split()[0] for a, b in zip(first.stdout.splitlines(), second.stdout.splitlines(), strict=True) if a != b
    ]
    assert changed == []
