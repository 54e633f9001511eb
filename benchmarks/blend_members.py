"""Gain without labels of members of `blend` that need no encoder, including candidates that were rejected.

    python benchmarks/blend_members.py [--corpora cacm,cisi] [--tried]     (data: $TACIT_DATA)

A row for each system, a column for each collection of the experiment `questions`: AP of `blend` without the members
`content` and `spelling`, and the gain of each system over it; * if p < .05 (paired t-test). The last column is the
mean. With `--tried`, also rejected candidates, added to the default with the weight in brackets:

    char4    BM25 on postings of runs of four characters of all words as written, including unknown words
    pairs    BM25 on ordered pairs of content words, one or two apart
    smooth   mean BM25 score of the ten nearest documents by cosine of BM25 rows, weighted by cosine; times n / (n + 12)
    split    BM25 with the parts of camelCase identifiers as words, in addition to the full ones
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import cut
from tacit.experiments.collections.question_task import QuestionTask, read_questions
from tacit.metrics import compare
from tacit.retrieve import BlendRanker, Bm25Ranker
from tacit.retrieve.blend.member import deviations, length_trust, scores_near

CORPORA = (
    "cacm", "cisi", "cranfield", "cystic_fibrosis", "scifact", "chorus_products", "cosqa_code", "traceability",
    "stackfaq",
)  # fmt: skip
SYSTEMS = {"content": (0.5, 0.0), "spelling": (0.0, 0.5), "content and spelling": (0.5, 0.5), "spelling 1": (0.5, 1.0)}
TRIED = {"char4": 0.5, "pairs": 0.4, "smooth": 1.0, "split": 0.5}
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
Terms = Callable[[str], Iterable[str]]


class WithMore:
    """A fitted blend and further scores on the common scale."""

    def __init__(self, blend: BlendRanker, more: np.ndarray, texts: sp.csr_array) -> None:
        self.blend, self.more, self.rows = blend, more, texts

    def scores(self, rows: Any, exclude: Any = None) -> np.ndarray:
        numbers = np.asarray(rows).ravel()
        return self.blend.scores(self.rows[numbers], exclude=exclude) + self.more[numbers]


def runs(word: str) -> list[str]:
    return [word] if len(word) < 4 else [word[start : start + 4] for start in range(len(word) - 3)]


def counted(texts: Iterable[str], terms: Terms, columns: dict[str, int], *, grow: bool) -> sp.csr_array:
    rows, found, n_rows = [], [], 0
    for text in texts:
        for term in terms(text):
            column = columns.setdefault(term, len(columns)) if grow else columns.get(term, -1)
            if column >= 0:
                rows.append(n_rows)
                found.append(column)
        n_rows += 1
    return sp.csr_array((np.ones(len(rows), np.float32), (rows, found)), shape=(n_rows, len(columns)))


def bm25_of(task: QuestionTask, terms: Terms) -> np.ndarray:
    """Return BM25 scores with other terms, titles counted three times."""
    columns: dict[str, int] = {}
    items = counted(task.documents.full_texts(), terms, columns, grow=True)
    titles = counted(task.documents.titles, terms, columns, grow=False)
    queries = counted(task.queries.full_texts(), terms, columns, grow=False)
    return Bm25Ranker().fit(None, sp.csr_array(items + 2 * titles)).scores(queries)


def smoothed(blend: BlendRanker, scores: np.ndarray, n_nearest: int = 10) -> np.ndarray:
    rows = blend.bm25.weights_
    rows = sp.csr_array(sp.diags_array(1 / np.maximum(sp.linalg.norm(rows, axis=1), 1e-9)) @ rows)
    found = np.empty_like(scores)
    for block in cut(rows.shape[0], 500):
        near = (rows[block] @ rows.T).toarray()
        near[np.arange(len(near)), np.arange(block.start, block.start + len(near))] = 0
        best = np.argpartition(-near, n_nearest, axis=1)[:, :n_nearest]
        cosines = np.take_along_axis(near, best, axis=1)
        shares = cosines / np.maximum(cosines.sum(axis=1, keepdims=True), 1e-9)
        found[:, block] = np.einsum("qdn,dn->qd", scores[:, best], shares)
    return found


def further_scores(task: QuestionTask, blend: BlendRanker, queries: sp.csr_array, name: str) -> np.ndarray:
    """Return scores of a rejected member, on the common scale."""
    vectorizer = task.read(blend, stem=True).vectorizer
    tokenizer, empty = vectorizer.tokenizer_, {vectorizer.vocabulary_[at] for at in vectorizer.function_columns()}

    def in_pairs(text: str) -> list[str]:
        words = [term for term in tokenizer(text) if term not in empty]
        return [f"{a} {b}" for at, a in enumerate(words) for b in words[at + 1 : at + 3]]

    def with_parts(text: str) -> list[str]:
        parts = [
            part for word in re.findall(r"\w+", text) for part in PART.findall(word) if part.lower() != word.lower()
        ]
        return [*tokenizer(text), *tokenizer(" ".join(parts))]

    if name == "smooth":
        found = smoothed(blend, blend.bm25.scores(queries))
    else:
        terms = {
            "char4": lambda text: (run for word in tokenizer.words(text) for run in runs(word)),
            "pairs": in_pairs, "split": with_parts,
        }[name]  # fmt: skip
        found = bm25_of(task, terms)
    exclude = task._candidates(np.arange(len(task.queries)))
    block = blend.query_block(queries, None if exclude is None else sp.csr_array(~exclude))
    trust = length_trust(block.n_words, 12.0) if name == "smooth" else 1.0
    factor = TRIED[name] * trust / deviations(scores_near(found, block.candidates), block.candidates >= 0)
    return (factor[:, None] * found).astype(np.float32)


def measure(task: QuestionTask, tried: Sequence[str]) -> dict[str, np.ndarray]:
    """Return AP by system and query."""
    read = task.read(BlendRanker(), stem=True)
    queries, everything, values = read.queries(task.queries.full_texts()), np.arange(len(task.queries)), {}
    base = BlendRanker(content=0, spelling=0).fit(None, read.items, **read.further())
    values["without"] = task.measure(base, queries, everything)["AP"]
    blend = base
    for name, (content, spelling) in SYSTEMS.items():
        ranker = BlendRanker(content=content, spelling=spelling)
        ranker.fit(None, read.items, **read.further(), members=base)
        values[name] = task.measure(ranker, queries, everything)["AP"]
        blend = ranker if name == "content and spelling" else blend
    for name in tried:
        more = WithMore(blend, further_scores(task, blend, queries, name), queries)
        values[f"and {name} [{TRIED[name]}]"] = task.measure(more, everything[:, None], everything)["AP"]
    return values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--tried", action="store_true")
    args = parser.parse_args()
    names, found = args.corpora.split(","), {}
    for name in names:
        found[name] = measure(read_questions(Path(os.environ["TACIT_DATA"]), name), [*TRIED] if args.tried else [])
        sys.stderr.write(f"{name} done\n")
    print("| system | " + " | ".join(names) + " | mean |\n|" + " --- |" * (len(names) + 2))
    for system in found[names[0]]:
        cells, gains = [], []
        for name in names:
            values, base = found[name][system], found[name]["without"]
            gains.append(values.mean() - (0 if system == "without" else base.mean()))
            sure = system != "without" and compare(base, values).t < 0.05
            cells.append(f"{gains[-1]:.4f}" if system == "without" else f"{gains[-1]:+.4f}{'*' if sure else ''}")
        mean = np.mean(gains)
        print(f"| {system} | {' | '.join(cells)} | {mean:{'' if system == 'without' else '+'}.4f} |")


if __name__ == "__main__":
    main()
