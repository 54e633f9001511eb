"""A searcher as a LangChain retriever. Extra `langchain`.

retriever = TacitRetriever(searcher=Searcher.load("my.model"), k=5)
documents = retriever.invoke("red shoes", filter="price < 50")
"""

from __future__ import annotations

from typing import Any

from tacit.core import MissingExtraError
from tacit.integrations.retrieved import check_retriever, retrieve
from tacit.search import Searcher

try:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ImportError:
    raise MissingExtraError("TacitRetriever", "langchain-core", "langchain") from None


class TacitRetriever(BaseRetriever):
    """Documents for a query, best first; `metadata` has the fields of each, and `id`, `score` and `title`.

    Parameters
    ----------
    searcher : Searcher
        Fitted searcher.
    k : int, default=10
        Number of documents; `invoke(query, k=…)` overrides it.
    filter : str or None, default=None
        Condition on fields, such as "price < 50"; `invoke(query, filter=…)` overrides it.
    """

    searcher: Searcher
    k: int = 10
    filter: str | None = None

    def model_post_init(self, context: Any, /) -> None:
        """Check the parameters."""
        check_retriever(self.searcher, self.k)

    def _get_relevant_documents(
        self, query: str, *, run_manager: Any = None, k: int | None = None, filter: str | None = None
    ) -> list[Document]:
        found = retrieve(self.searcher, query, self.k if k is None else k, filter or self.filter)
        return [Document(id=one.id, page_content=one.text, metadata=one.metadata) for one in found]
