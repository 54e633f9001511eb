"""Golden scores: what every registered method gives on small parts of real collections, as hashes and a few values.

    python tests/golden_scores.py --write FILE    record them
    python tests/golden_scores.py --check FILE    compare; exit 1 and a line for each difference

A change that is to keep every bit is checked by recording before it and comparing after it, on one machine: another
kind of processor may order sums otherwise. Collections come from TACIT_DATA.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import ClickedLinks, Collection, Judgments, Links, Shown
from tacit.data import read_collection, read_letor, read_qrels, read_queries
from tacit.rerank import METHODS as LIST_METHODS
from tacit.retrieve import METHODS
from tacit.search import Searcher

SIZES = {"cacm": 3204, "cystic_fibrosis": 300}  # all of CACM, so that `blend` prunes; few pairs, so that it ends soon
N_PAIRS = {"cacm": 190, "cystic_fibrosis": 400}  # below and above what trains `residual`
N_SMALL = 300  # documents for methods other than the fast ones
FAST = ("blend", "bm25", "tfidf", "lsi", "qe")
BUDGET = {"n_epochs": 2, "dim": 10, "seed": 3, "threads": 2}


class Corpus:
    """A part of a collection with its queries, judgments, links, clicks and vectors."""

    def __init__(self, data: Path, name: str, n_docs: int) -> None:
        folder = data / "text" / name
        self.documents = read_collection(folder).take(np.arange(n_docs))
        self.queries = read_queries(folder)
        known = read_qrels(folder / "qrels.txt").to_dict()
        rows = self.documents.row_of
        kept = {
            q: {d: g for d, g in found.items() if d in rows} for q, found in known.items() if q in self.queries.row_of
        }
        self.qrels = _some({q: found for q, found in kept.items() if any(g > 0 for g in found.values())}, N_PAIRS[name])
        rng = np.random.default_rng(0)
        sources, targets = rng.integers(0, n_docs, (2, 3 * n_docs))
        self.links = Links(sources[sources != targets], targets[sources != targets], n_docs, n_docs)
        packed = np.load(data / "vectors" / f"{name}.npz", allow_pickle=False)
        place = {str(doc): row for row, doc in enumerate(packed["doc_ids"])}
        self.vectors = packed["docs"][[place[doc] for doc in self.documents.ids]].astype(np.float32)
        place = {str(query): row for row, query in enumerate(packed["query_ids"])}
        zero = np.zeros(packed["queries"].shape[1], np.float32)
        self.query_vectors = np.stack(
            [packed["queries"][place[q]].astype(np.float32) if q in place else zero for q in self.queries.ids]
        )

    def clicks(self) -> tuple[Collection, ClickedLinks]:
        """Clicks of a made-up user on ten shown documents of each query: the relevant ones, and some others."""
        rng, grades = np.random.default_rng(1), self.qrels.to_dict()
        queries, items, clicks = [], [], []
        for query in self.qrels.query_ids:
            row = self.queries.row_of[query]
            shown = [self.documents.row_of[doc] for doc, grade in grades[query].items() if grade > 0][:4]
            shown = list(dict.fromkeys([*shown, *rng.integers(0, len(self.documents), 6).tolist()]))
            queries += [row] * len(shown)
            items += shown
            clicks += [float(rng.poisson(6 if place < 4 else 1)) for place in range(len(shown))]
        ranks = np.concatenate([np.arange(1, 1 + queries.count(row)) for row in dict.fromkeys(queries)])
        columns = np.array(queries), np.array(items), np.array(clicks), 5 / np.sqrt(ranks), -0.5 * np.log(ranks)
        shown = Shown(*columns, slope=1.0, strength=2.0)
        clicked = columns[2] > 0
        sizes = len(self.queries), len(self.documents)
        weights = columns[2][clicked].astype(np.float32)
        return self.queries, ClickedLinks(columns[0][clicked], columns[1][clicked], *sizes, weights, shown=shown)

    def first(self, n_docs: int) -> Corpus:
        """The same with fewer documents."""
        made = object.__new__(Corpus)
        vars(made).update(vars(self))
        made.documents = self.documents.take(np.arange(n_docs))
        made.links = self.links.take((self.links.sources < n_docs) & (self.links.targets < n_docs))
        made.links = Links(made.links.sources, made.links.targets, n_docs, n_docs)
        rows = made.documents.row_of
        kept = {q: {d: g for d, g in found.items() if d in rows} for q, found in self.qrels.to_dict().items()}
        made.qrels = Judgments.from_dict({q: found for q, found in kept.items() if any(g > 0 for g in found.values())})
        made.vectors = self.vectors[:n_docs]
        return made


def _some(grades: dict[str, dict[str, float]], n_pairs: int) -> Judgments:
    """The first judged queries, with at most so many pairs."""
    kept, n_kept = {}, 0
    for query, found in grades.items():
        n_kept += len(found)
        if n_kept <= n_pairs:
            kept[query] = found
    return Judgments.from_dict(kept)


def digest(*arrays: np.ndarray) -> dict[str, Any]:
    """A hash of the bits of some arrays, and values of the first."""
    joined = hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in arrays)).hexdigest()[:20]
    first = np.asarray(arrays[0], np.float64).ravel()
    return {"hash": joined, "values": [round(float(value), 6) for value in first[:: max(1, len(first) // 4)][:4]]}


def ranked(searcher: Searcher, corpus: Corpus, vectors: np.ndarray | None = None) -> dict[str, Any]:
    """The ten best documents of all queries, one hundred, and scores of all documents for some."""
    found = [searcher.rank(corpus.queries, k, vectors=vectors) for k in (10, 100)]
    texts = list(corpus.queries.full_texts())[:5]
    rows = searcher.query_rows(texts, None if vectors is None else vectors[:5])
    scores = searcher.ranker_.scores(rows)
    terms = searcher.ranker_.explain(rows[[0]], 1, 2).total
    return digest(found[0].scores, found[0].items, found[1].scores, found[1].items, scores, np.array([terms]))


def sources_of(corpus: Corpus) -> dict[str, dict[str, Any]]:
    """What a searcher can be fitted on, by name."""
    judged = {"queries": corpus.queries, "qrels": corpus.qrels}
    vectors = {"vectors": corpus.vectors}
    return {
        "plain": {},
        "qrels": judged,
        "links": {"links": corpus.links},
        "clicks": {"clicks": corpus.clicks()},
        "vectors": vectors,
        "vectors+qrels": judged | vectors | {"query_vectors": corpus.query_vectors},
        "vectors+links": {"links": corpus.links} | vectors,
    }


def blends(name: str, corpus: Corpus) -> dict[str, Any]:
    """`blend` with every source, with other parameters, added and removed documents, and two stages."""
    found, how = {}, {"seed": 3, "threads": 2, "dim": 20}
    everything = sources_of(corpus)
    for source, given in everything.items():
        if "links" in given and len(corpus.documents) > N_SMALL:
            continue
        sys.stderr.write(f"{name} blend {source}\n")
        searcher = Searcher("blend", **how).fit(corpus.documents, **given)
        found[f"{name}/blend/{source}"] = ranked(searcher, corpus)
        if "vectors" in given:
            found[f"{name}/blend/{source}/asked"] = ranked(searcher, corpus, corpus.query_vectors)
        more = Collection(
            ["new1", "new2"], ["A new title", ""], ["zebra algorithm for sorting", "lung zebra infection"]
        )
        changed = searcher.add(more).remove(list(corpus.documents.ids[:7]))
        found[f"{name}/blend/{source}/changed"] = ranked(changed, corpus)
    judged = everything["qrels"]
    for label, params in {
        "residual": {"residual": True},
        "no residual": {"residual": False},
        "strength": {"strength": 3.0},
        "candidates": {"n_candidates": 150},
        "no latent": {"latent": 0.0},
        "titles": {"title_weight": 1},
    }.items():
        if label == "residual" and len(corpus.documents) > N_SMALL:
            continue
        searcher = Searcher("blend", **how | params).fit(corpus.documents, **judged)
        found[f"{name}/blend/{label}"] = ranked(searcher, corpus)
    for source in ("qrels", "vectors+qrels"):
        searcher = Searcher("blend", rerank="standing", **how).fit(corpus.documents, **everything[source])
        found[f"{name}/blend/two stages/{source}"] = ranked(searcher, corpus)
    return found


def collection_methods(name: str, corpus: Corpus) -> dict[str, Any]:
    """Every other ranker of collections, by each source that it takes."""
    found = {}
    for method in METHODS:
        sys.stderr.write(f"{name} {method}\n")
        part = corpus if method in FAST else corpus.first(N_SMALL)
        unfitted = METHODS[method].make()
        if method == "blend":
            continue
        params = {key: value for key, value in BUDGET.items() if key in unfitted._get_param_names()}
        params = {key: value for key, value in params.items() if key not in METHODS[method].params}
        if unfitted.two_dictionaries:
            pairs = Links(np.arange(len(part.documents)), np.arange(len(part.documents)), *[len(part.documents)] * 2)
            given = {"across": {"queries": part.documents, "pairs": pairs}}
            if unfitted.needs_links:
                given["across"]["links"] = part.links
        else:
            given = {key: value for key, value in sources_of(part).items() if key in ("plain", "qrels", "links")}
            if unfitted.needs_pairs:
                del given["plain"]
            if not unfitted.learns_from_pairs:
                given = {"plain": {}}
        for source, sources in given.items():
            searcher = Searcher(method, words=1000, **params).fit(part.documents, **sources)
            found[f"{name}/{method}/{source}"] = ranked(searcher, part)
    return found


def list_methods(data: Path) -> dict[str, Any]:
    """Every ranker of lists on a few lists of OHSUMED."""
    lists = read_letor(data / "letor" / "OHSUMED-letor3-QueryLevelNorm" / "OHSUMED-letor3-QueryLevelNorm.txt.gz")
    end = int(lists.starts[8])
    X, y, qid = lists.X[:end], lists.y[:end].copy(), np.repeat(np.arange(8), np.diff(lists.starts[:9]))
    y[::3] = np.nan
    train = qid < 6
    found = {}
    budget = {"n_rounds": 5, "n_epochs": 3, "n_trees": 3, "seed": 3, "threads": 2}
    for method in LIST_METHODS:
        rows = np.ones(end, bool) if method == "manifold" else train  # it scores only rows of `fit`
        ranker = LIST_METHODS[method].offer(**budget).fit(X[rows], y[rows], qid[rows])
        found[f"lists/{method}"] = digest(ranker.predict(X[~train], qid[~train]))
    return found


def golden(data: Path) -> dict[str, Any]:
    """All of it."""
    found: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, n_docs in SIZES.items():
            corpus = Corpus(data, name, n_docs)
            for part in (blends, collection_methods):
                found |= part(name, corpus)
        found |= list_methods(data)
    return found


def main(argv: list[str] | None = None) -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", metavar="FILE")
    parser.add_argument("--check", metavar="FILE")
    parser.add_argument("--data", default=os.environ.get("TACIT_DATA"))
    args = parser.parse_args(argv)
    found = golden(Path(args.data))
    if args.write:
        Path(args.write).write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        return 0
    wanted = json.loads(Path(args.check).read_text())
    bad = [key for key in sorted(wanted | found) if wanted.get(key) != found.get(key)]
    for key in bad:
        sys.stdout.write(f"{key}: {found.get(key)}, want {wanted.get(key)}\n")
    sys.stdout.write(f"{len(wanted) - len(bad)} of {len(wanted)} are the same\n")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
