"""Compile the loops of fitting and searching in advance.

numba compiles loops on their first call and caches them on disk (`numba_cache`). So this module fits, saves, opens and
searches a searcher on random texts, without labels and with judged queries, in a temporary folder.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from tacit.core import Collection, Links, TacitError
from tacit.search.searcher import Searcher

N_DOCUMENTS = 3_100  # from 3,000 on, ten results are found without scoring all documents by all members
N_FEW, N_QUERIES, N_WORDS = 300, 12, 400


def warm() -> None:
    """Compile the loops of `bm25` and `blend`, or load them if they are compiled."""
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{word}" for word in row) for row in rng.zipf(1.5, (N_DOCUMENTS, 8)).clip(1, N_WORDS).tolist()]
    names = [str(row) for row in range(N_DOCUMENTS)]
    documents = Collection(names, [text[:5] for text in texts], texts)
    with tempfile.TemporaryDirectory() as folder:
        for method in ("bm25", "blend"):
            Searcher(method, language="en").fit(documents).save(Path(folder) / method)
            warm_searcher(Searcher.load(Path(folder) / method))
    queries = Collection(names[:N_QUERIES], [""] * N_QUERIES, texts[:N_QUERIES])
    pairs = Links(np.arange(N_QUERIES), np.arange(N_QUERIES), N_QUERIES, N_FEW)
    warm_searcher(Searcher("blend", language="en").fit(documents[:N_FEW], queries=queries, pairs=pairs))


def warm_searcher(searcher: Searcher) -> None:
    """Search a fitted model by words of its first document, so that the next search need not wait."""
    words = searcher.documents_.full_text(0)[:200].strip() if len(searcher.documents_) else ""
    for query in filter(None, (words.partition(" ")[0], words)):
        with suppress(TacitError):  # the user's next search reports it
            searcher.search(query)
            searcher.ranker_.prepare(searcher.query_rows([query]))
