"""Gain of an encoder without labels: AP of `blend` alone, with an encoder, and of the usual alternatives.

    python benchmarks/encoder_weight.py --encoder FOLDER [--corpora cacm,cisi] [--also random,lsi,half,averages,rotated]
    python benchmarks/encoder_weight.py --stored --without-queries
    python benchmarks/encoder_weight.py --encoder FOLDER --keep DIR        # then: python benchmarks/encoder_rule.py DIR

For each collection: BM25 on stems, the encoder alone, reciprocal rank fusion (k = 60) of the two, `blend`, `blend` with
the encoder at its measured weight, the weight, and the difference of the last system from each other one, with p of a
paired t-test. ± is the half-width of the 95% t interval over queries. `--also` adds vectors that must not harm: random
ones, LSI of the same words or of half of them, averages of random word vectors, the encoder with its query vectors
rotated. With `--without-queries` the weight is measured on vectors of the documents alone, as for vectors given as
arrays. With `--stored`, vectors of documents and
queries by all-MiniLM-L6-v2 are read from TACIT_DATA/vectors, so that only the probes are encoded. `--keep` writes the
inputs of the weight rule, and AP at several weights, to a file for each row of the table.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from tacit.experiments.collections.question_task import QuestionTask, read_questions
from tacit.metrics import compare
from tacit.metrics.significance import t_interval
from tacit.retrieve import BlendRanker, Bm25Ranker
from tacit.retrieve.vectors import join_vectors
from tacit.search.encoders import Encoder, as_encoder
from tacit.search.rows import TextRows
from tacit.search.vector_cache import VectorCache
from tacit.search.vectors import WordVectors, encode_documents, make_probes

CORPORA = ("cacm", "cisi", "cranfield", "cystic_fibrosis", "scifact", "cosqa_code", "stackfaq", "traceability")
SYSTEMS = ("bm25", "encoder", "rrf", "blend", "blend+encoder")
RRF_K = 60
WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 11.0)  # at which `--keep` measures AP
WORD = re.compile(r"\w+")


class Lsi:
    """Vectors of the same words: truncated SVD of logarithmic tf-idf."""

    def __init__(self, texts: list[str], dim: int = 200, *, half: bool = False) -> None:
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        own: dict[str, Any] = {"tokenizer": half_of_words, "token_pattern": None} if half else {}
        self.words = TfidfVectorizer(sublinear_tf=True, **own)
        rows = self.words.fit_transform(texts)
        self.svd = TruncatedSVD(min(dim, min(rows.shape) - 1), random_state=0).fit(rows)

    def encode(self, texts: list[str]) -> np.ndarray:
        return self.svd.transform(self.words.transform(texts))


def half_of_words(text: str) -> list[str]:
    return [word for word in WORD.findall(text.lower()) if zlib.crc32(word.encode()) % 2]


class Averages:
    """Averages of random word vectors: words, with noise."""

    def __init__(self) -> None:
        self.known: dict[str, np.ndarray] = {}

    def of_word(self, word: str) -> np.ndarray:
        if word not in self.known:
            self.known[word] = np.random.default_rng(zlib.crc32(word.encode())).normal(size=384)
        return self.known[word]

    def encode(self, texts: list[str]) -> np.ndarray:
        read = (WORD.findall(text.lower()) for text in texts)
        return np.stack([sum(map(self.of_word, words), np.zeros(384)) for words in read])


class Random:
    """Random vectors without information."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def encode(self, texts: list[str]) -> np.ndarray:
        return self.rng.normal(size=(len(texts), 384))


class Rotated:
    """An encoder whose query vectors are in another space than the document vectors."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.turn = np.linalg.qr(np.random.default_rng(0).normal(size=(encoder.info.dim,) * 2))[0]

    def encode_document(self, texts: list[str]) -> np.ndarray:
        return self.encoder.encode(texts, "document")

    def encode_query(self, texts: list[str]) -> np.ndarray:
        return self.encoder.encode(texts, "query") @ self.turn


def stored_vectors(data: Path, task: QuestionTask) -> tuple[np.ndarray, np.ndarray] | None:
    path = data / "vectors" / f"{task.documents.name}.npz"
    if not path.exists():
        return None
    packed = np.load(path, allow_pickle=False)
    found = []
    for ids, key, names in ((task.documents.ids, "docs", "doc_ids"), (task.queries.ids, "queries", "query_ids")):
        place = {str(name): row for row, name in enumerate(packed[names])}
        found.append(packed[key][[place[name] for name in ids]].astype(np.float32))
    return found[0], found[1]


class Fixed:
    """Known scores with the interface of a ranker."""

    def __init__(self, scores: np.ndarray) -> None:
        self.known = scores

    def scores(self, rows: Any, exclude: Any = None) -> np.ndarray:
        return self.known[np.asarray(rows).ravel()]


def places(scores: np.ndarray, allowed: np.ndarray | None) -> np.ndarray:
    kept = scores if allowed is None else np.where(allowed, scores, -np.inf)
    order = np.argsort(-kept, axis=1, kind="stable")
    found = np.empty_like(order)
    np.put_along_axis(found, order, np.arange(order.shape[1])[None], axis=1)
    return found + 1


def half_width(values: np.ndarray) -> float:
    low, high = t_interval(values)
    return (high - low) / 2


def measure(
    task: QuestionTask,
    encoder: Encoder | None,
    stored: tuple[np.ndarray, np.ndarray] | None,
    given: dict[str, Any],
    keep: Path | None = None,
) -> tuple[dict[str, np.ndarray], float]:
    rows = TextRows(task.documents, task.words, task.language)
    ranker = BlendRanker()
    read = rows.read(ranker)
    texts = list(task.queries.full_texts())
    vectors = given or (
        {"vectors": stored[0]} if stored else encode_documents(encoder, list(task.documents.full_texts()))
    )
    asked = stored[1] if stored else VectorCache(encoder).look_up(texts, "query").astype(np.float32)
    words = WordVectors(list(task.documents.full_texts()))
    probes = None if given else make_probes(encoder, task.documents, read, words)
    references = words.encode(list(task.documents.full_texts()))
    blend = BlendRanker().fit(None, read.items, **read.further(), **vectors, probes=probes, references=references)
    queries, everything = read.queries(texts), np.arange(len(texts))
    joined = join_vectors(queries, asked)
    words = Bm25Ranker().fit(None, read.items)
    member: Any = blend.member("vectors")
    alone = Fixed(np.concatenate([member.scores(blend.query_block(joined[[row]], None)) for row in everything]))
    by_words = words.scores(queries)
    allowed = task._candidates(everything)
    fused = Fixed(1 / (RRF_K + places(by_words, allowed)) + 1 / (RRF_K + places(alone.known, allowed)))
    row_numbers = everything[:, None]
    systems = {"bm25": (words, queries), "encoder": (alone, row_numbers), "rrf": (fused, row_numbers)}
    systems |= {"blend": (blend, queries), "blend+encoder": (blend, joined)}
    values = {name: task.measure(*system, everything)["AP"] for name, system in systems.items()}
    if keep:
        kept = values | {"at_weights": at_weights(task, blend, joined), "weights": np.array(WEIGHTS)}
        evidence = member.evidence
        for kind, found in zip(("items", "probes"), evidence, strict=True):
            kept |= {f"{kind}_{name}": value for name, value in found._asdict().items()} if found else {}
        keep.parent.mkdir(parents=True, exist_ok=True)
        np.savez(keep, **kept)
    return values, blend.weights_["vectors"]


def at_weights(task: QuestionTask, blend: BlendRanker, joined: Any) -> np.ndarray:
    """Return AP of each query at each of `WEIGHTS`; scores are linear in the weight of a member."""
    everything, own = np.arange(joined.shape[0]), blend.weights_["vectors"]
    found = []
    for weight in (0.0, 1.0):
        blend.weights_["vectors"] = weight
        found.append(blend.scores(joined).astype(np.float64))
    blend.weights_["vectors"] = own
    at = (Fixed(found[0] + weight * (found[1] - found[0])) for weight in WEIGHTS)
    return np.stack([task.measure(ranker, everything[:, None], everything)["AP"] for ranker in at])


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", help="not needed with --stored and --without-queries")
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--also", default="")
    parser.add_argument("--stored", action="store_true", help="vectors of all-MiniLM-L6-v2 from TACIT_DATA/vectors")
    parser.add_argument("--without-queries", action="store_true", help="the rule for vectors without an encoder")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write what encoder_rule.py reads to DIR")
    args = parser.parse_args(argv)
    if not args.encoder and not (args.stored and args.without_queries):
        parser.error("want --encoder, or --stored and --without-queries")
    data = Path(os.environ["TACIT_DATA"])
    encoder = as_encoder(args.encoder) if args.encoder else None
    header = ["collection", "vectors", *SYSTEMS, "weight", *(f"less {name}" for name in SYSTEMS[:-1])]
    print(f"| {' | '.join(header)} |\n|" + " --- |" * len(header))
    for corpus in args.corpora.split(","):
        task = read_questions(data, corpus)
        texts = list(task.documents.full_texts())
        others = {"random": Random, "averages": Averages, "rotated": lambda: Rotated(encoder)}
        others |= {"lsi": lambda texts=texts: Lsi(texts), "half": lambda texts=texts: Lsi(texts, half=True)}
        tried = {"": encoder} | {name: Encoder(others[name]()) for name in args.also.split(",") if name}
        for name, model in tried.items():
            start = time.perf_counter()
            stored = stored_vectors(data, task) if args.stored and name in ("", "rotated") else None
            if stored and name:
                stored = stored[0], stored[1] @ model.model.turn
            given = {}
            if args.without_queries:
                given = {"vectors": stored[0]} if stored else encode_documents(model, texts)
            label = name or (Path(args.encoder).name if args.encoder else "stored")
            kind = "arrays" if args.without_queries else "probes"
            keep = args.keep / f"{corpus},{label},{kind}.npz" if args.keep else None
            values, weight = measure(task, model, stored, given, keep)
            cells = " | ".join(f"{found.mean():.3f} ± {half_width(found):.3f}" for found in values.values())
            tests = [compare(values[other], values[SYSTEMS[-1]]) for other in SYSTEMS[:-1]]
            gains = " | ".join(f"{test.difference:+.3f}, p {test.t:.2g}" for test in tests)
            sys.stderr.write(f"{corpus} {name}: {time.perf_counter() - start:.0f} s\n")
            print(f"| {corpus} | {name or 'encoder'} | {cells} | {weight:.2f} | {gains} |")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
