"""Time to score one query against 100,000 targets: low rank, hash kernels and tf-idf.

Low rank multiplies two stored vectors of length N; hash kernels look up each of the |q||d| pairs of words. Counted in
products, low rank is faster by |q||d| / N. In time the difference is larger, because a look-up costs more than a
product: it needs a division for the hash, the bucket is rarely in the processor's cache, and the loop is not
vectorized. Targets are repeated to reach the number; each time is the median over several queries, on one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from tacit.core import Features
from tacit.experiments.report import Section
from tacit.kernels.scoring import score_hashed_pairs
from tacit.retrieve.factors import DenseFactors, SparseFactors
from tacit.retrieve.margin.wordpair_sgd import PRIME


def cost_section(
    bodies: Features,
    targets: Features,
    dim: int,
    seed: int,
    *,
    n_targets: int = 100_000,
    n_places: int = 10_000_000,
    n_queries: int = 9,
) -> Section:
    """Make a table of milliseconds per query; weights are random, because time does not depend on them."""
    rng = np.random.default_rng(seed)
    queries = sp.csr_array(bodies)[rng.choice(bodies.shape[0], n_queries, replace=False)]
    many = sp.csr_array(targets)[np.arange(n_targets) % targets.shape[0]]
    n_pairs = float(np.diff(queries.indptr).mean() * np.diff(many.indptr).mean())
    costs = {
        "ssi-uv, kept vectors": (float(dim), _low_rank(rng, dim, n_queries, n_targets)),
        "hash-10m, pair by pair": (n_pairs, _hashed(rng.random(n_places, np.float32), queries, many)),
        "tfidf, inverted lists": (_n_shared(queries, many), _inverted(queries, many)),
    }
    times = {name: _milliseconds(score, n_queries) for name, (_, score) in costs.items()}
    base = times["ssi-uv, kept vectors"]
    rows = [
        [name, f"{n_products:.3g}", f"{times[name]:.3g}", f"{times[name] / base:.2g}"]
        for name, (n_products, _) in costs.items()
    ]
    ratio = f"|q||d| / N = {n_pairs / dim:.1f}"
    title = f"Cost of scoring one query against {n_targets:,} targets ({ratio})"
    return Section(title, ["system", "products for a target", "milliseconds", "times low rank"], rows)


def _n_shared(queries: sp.csr_array, many: sp.csr_array) -> float:
    """Return the mean number of words that a query and a target share."""
    asked, frequency = queries.indices, np.bincount(many.indices, minlength=many.shape[1])
    return float(frequency[asked].sum() / (queries.shape[0] * many.shape[0]))


Score = Callable[[int], object]


def _low_rank(rng: np.random.Generator, dim: int, n_queries: int, n_targets: int) -> Score:
    part = DenseFactors(rng.random((n_targets, dim), np.float32))
    vectors, out = rng.random((n_queries, dim), np.float32), np.zeros((1, n_targets), np.float32)
    return lambda query: part.add_scores(vectors[query : query + 1], out)


def _hashed(places: np.ndarray, queries: sp.csr_array, many: sp.csr_array) -> Score:
    out, items = np.zeros(many.shape[0], np.float32), (many.indptr, many.indices, many.data)

    def score(query: int) -> None:
        row = slice(queries.indptr[query], queries.indptr[query + 1])
        words = queries.indices[row].astype(np.int64)
        score_hashed_pairs(words, queries.data[row], *items, places, PRIME, out)

    return score


def _inverted(queries: sp.csr_array, many: sp.csr_array) -> Score:
    part, out = SparseFactors(many.tocsc()), np.zeros((1, many.shape[0]), np.float32)
    return lambda query: part.add_scores(queries[[query]], out)


def _milliseconds(score: Score, n_queries: int) -> float:
    """Return the median time over the queries, after one call for compilation."""
    score(0)
    times = []
    for query in range(n_queries):
        start = time.perf_counter()
        score(query)
        times.append(time.perf_counter() - start)
    return 1000 * float(np.median(times))
