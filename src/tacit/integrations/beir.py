"""A searcher as BEIR's `BaseSearch`. Extra `beir` (needs torch). `tacit beir FOLDER` needs no extra.

retriever = BeirSearch(Searcher("blend"), queries=train_queries, qrels=train_qrels)
results = EvaluateRetrieval(retriever).retrieve(corpus, queries)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from tacit.core import Collection, Judgments, MissingExtraError, TacitError
from tacit.search import Searcher

try:
    from beir.retrieval.search import BaseSearch
except ImportError:
    raise MissingExtraError("BeirSearch", "beir", "beir") from None


class BeirSearch(BaseSearch):
    """Fits a searcher on the corpus of each call, and searches it.

    Parameters
    ----------
    searcher : Searcher
        Unfitted or fitted. A fitted one is used unchanged for a corpus with the same ids, and refitted for any other.
    queries : mapping of str to str, default=None
        Training queries, as returned by BEIR's loader.
    qrels : mapping of str to mapping, default=None
        Judgments of the training queries, as returned by BEIR's loader; documents not in it are unjudged.
    """

    def __init__(
        self,
        searcher: Searcher,
        queries: Mapping[str, str] | None = None,
        qrels: Mapping[str, Mapping[str, int]] | None = None,
    ) -> None:
        self.searcher, self.queries, self.qrels = searcher, queries, qrels

    def search(
        self, corpus: Mapping[str, Mapping[str, str]], queries: Mapping[str, str], top_k: int, *args: Any, **kwargs: Any
    ) -> dict[str, dict[str, float]]:
        """Return scores of the best documents of each query; a document with the query's id is not returned."""
        if list(getattr(self.searcher, "documents_", Collection([], [], [])).ids) != list(corpus):
            self._fit(corpus)
        return self.searcher.run(make_queries(queries), top_k, exclude_self=True).to_dict()

    def encode(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise, because a searcher has no vectors in files."""
        raise TacitError("BeirSearch has no vectors to write, want `search`")

    def search_from_files(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise, because a searcher has no vectors in files."""
        raise TacitError("BeirSearch reads no vectors, want `search`")

    def _fit(self, corpus: Mapping[str, Mapping[str, str]]) -> None:
        given: dict[str, Any] = {}
        if self.queries is not None and self.qrels is not None:
            judged = {query: self.queries[query] for query in self.qrels}
            given = {"queries": make_queries(judged), "qrels": Judgments.from_dict(self.qrels)}
        titles = [str(document.get("title") or "") for document in corpus.values()]
        documents = Collection(list(corpus), titles, [str(document["text"]) for document in corpus.values()])
        self.searcher = self.searcher.clone().fit(documents, encode=self.searcher.encode, **given)


def make_queries(queries: Mapping[str, str]) -> Collection:
    """Return queries from a mapping of ids to texts."""
    return Collection(list(queries), [""] * len(queries), list(queries.values()))
