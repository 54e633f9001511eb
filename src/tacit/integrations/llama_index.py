"""A searcher as a LlamaIndex retriever. Extra `llama-index`.

retriever = TacitRetriever(Searcher.load("my.model"), k=5, filter="price < 50")
nodes = retriever.retrieve("red shoes")
"""

from __future__ import annotations

from typing import Any

from tacit.core import MissingExtraError
from tacit.integrations.retrieved import check_retriever, retrieve
from tacit.search import Searcher

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError:
    raise MissingExtraError("TacitRetriever", "llama-index-core", "llama-index") from None

NOT_FOR_MODELS = ["id", "score"]  # metadata that says nothing about the text; excluded from prompts and embeddings


class TacitRetriever(BaseRetriever):
    """Nodes for a query, best first; `metadata` has the fields of each document, and `id`, `score` and `title`.

    Parameters
    ----------
    searcher : Searcher
        Fitted searcher.
    k : int, default=10
        Number of nodes.
    filter : str or None, default=None
        Condition on fields, such as "price < 50".
    **options
        Options of LlamaIndex's `BaseRetriever`.
    """

    def __init__(self, searcher: Searcher, k: int = 10, filter: str | None = None, **options: Any) -> None:
        check_retriever(searcher, k)
        self.searcher, self.k, self.filter = searcher, k, filter
        super().__init__(**options)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = retrieve(self.searcher, query_bundle.query_str, self.k, self.filter)
        hidden = {"excluded_llm_metadata_keys": NOT_FOR_MODELS, "excluded_embed_metadata_keys": NOT_FOR_MODELS}
        return [
            NodeWithScore(node=TextNode(id_=one.id, text=one.text, metadata=one.metadata, **hidden), score=one.score)
            for one in found
        ]
