"""Effect of another model's vectors on `blend`: their weight without labels, AP with it and with labels.

    python benchmarks/blend_vectors.py [--data FOLDER] [--collections cranfield,cisi] [--label-free]

Vectors: LSI of all words, of half of them, of a tenth of them; random ones; and LSI in which the vector of a query is
mixed with the mean vector of its relevant documents, which represents a strong model (`strong`: it knows the relevant
documents, so its figures only show that a good member is used). `weight` is measured with neighbours of documents,
`weight (q)` with short queries made from titles or first sentences. `learned` is AP by 5-fold cross-validation over
queries with the training queries' vectors, `learned (-)` without vectors; --label-free skips it.
"""

import argparse
import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD

from tacit.core import Collection, Links
from tacit.data import judged_pairs, read_collection, read_qrels, read_queries
from tacit.metrics import full_ranking_measures
from tacit.retrieve import BlendRanker
from tacit.retrieve.vectors import join_vectors
from tacit.search import Searcher
from tacit.search.vectors import short_queries

DIM, N_FOLDS = 128, 5
SHARES = {"lsi": 1.0, "half of the words": 0.5, "a tenth of the words": 0.1, "random": 0.0, "strong": 1.0}


class World:
    """A collection with judged queries, and the blend without vectors."""

    def __init__(self, folder: Path) -> None:
        self.documents, queries = read_collection(folder), read_queries(folder / "queries.jsonl")
        pairs = judged_pairs(read_qrels(folder / "qrels.txt"), queries, self.documents, skip_unknown=True)
        known = np.unique(pairs.sources)
        self.queries: Collection = queries.take(known)
        self.pairs = Links(
            np.searchsorted(known, pairs.sources), pairs.targets, len(known), pairs.n_targets, pairs.weights
        )
        self.relevant = self.pairs.to_csr() > 0
        self.searcher = Searcher().fit(self.documents)
        vectorizer = self.searcher.vectorizer_
        self.items = vectorizer.counts(self.documents.full_texts())
        self.titles = vectorizer.counts(self.documents.titles)
        self.asked = vectorizer.counts(self.queries.full_texts())
        self.own, texts = short_queries(self.documents)
        self.short = vectorizer.counts(texts)

    def vectors(self, kind: str) -> list[np.ndarray]:
        """Return vectors of documents, queries and short queries."""
        rng, parts = np.random.default_rng(0), (self.items, self.asked, self.short)
        if kind == "random":
            return [rng.normal(size=(part.shape[0], DIM)) for part in parts]
        kept = np.flatnonzero(rng.random(self.items.shape[1]) < SHARES[kind])
        rows = [self.searcher.vectorizer_.tfidf(part)[:, kept] for part in parts]
        svd = TruncatedSVD(DIM, random_state=0).fit(rows[0])
        items, queries, short = (unit(svd.transform(part)) for part in rows)
        if kind == "strong":
            queries = unit(0.7 * queries + 0.3 * unit(self.relevant @ items))
        return [items, queries, short]

    def fit(self, vectors: np.ndarray | None, rows: sp.csr_array | None = None, **given: object) -> BlendRanker:
        """Return a blend with shared members; its weights are learned if rows and pairs are given."""
        plain = self.searcher.ranker_
        ranker = plain.clone().set_params(residual=False)
        return ranker.fit(rows, self.items, titles=self.titles, vectors=vectors, members=plain, **given)

    def precision(self, ranker: BlendRanker, rows: sp.csr_array, chosen: np.ndarray) -> np.ndarray:
        """Return AP of some queries."""
        return full_ranking_measures(ranker.scores(rows[chosen]), self.relevant[chosen])["AP"]

    def learned(self, vectors: np.ndarray | None, rows: sp.csr_array) -> float:
        """Return mean AP by cross-validation."""
        folds, found = np.random.default_rng(1).permutation(len(self.queries)) % N_FOLDS, []
        for fold in range(N_FOLDS):
            pairs = self.pairs.take(folds[self.pairs.sources] != fold)
            ranker = self.fit(vectors, rows, pairs=pairs, queries_are_items=False)
            found.append(self.precision(ranker, rows, np.flatnonzero(folds == fold)))
        return float(np.concatenate(found).mean())


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=os.environ.get("TACIT_DATA"))
    parser.add_argument("--collections", default="cranfield,cisi")
    parser.add_argument("--label-free", action="store_true")
    args = parser.parse_args()
    if args.data is None:
        print("set TACIT_DATA to the folder of collections")
        return
    for name in args.collections.split(","):
        world = World(Path(args.data) / "text" / name)
        everyone = np.arange(len(world.queries))
        before = world.precision(world.searcher.ranker_, world.asked, everyone)
        learned = "" if args.label_free else f", learned (-) {world.learned(None, world.asked):.3f}"
        print(f"{name}: AP without vectors {before.mean():.3f}{learned}")
        print(f"{'vectors':22} weight  AP change        weight (q)  AP change        learned")
        for kind in SHARES:
            items, queries, short = world.vectors(kind)
            rows, cells = join_vectors(world.asked, queries), []
            for probes in (None, (world.own, join_vectors(world.short, short))):
                ranker = world.fit(items, probes=probes)
                change = world.precision(ranker, rows, everyone) - before
                error = change.std(ddof=1) / np.sqrt(len(change))
                cells.append(f"{ranker.weights_['vectors']:5.2f}   {change.mean():+.4f} ± {error:.4f}")
            learned = "" if args.label_free else f"  {world.learned(items, rows):.3f}"
            print(f"{kind:22} {cells[0]}     {cells[1]}{learned}", flush=True)


if __name__ == "__main__":
    main()
