"""A model as a Haystack component. Extra `haystack`.

    pipeline.add_component("retriever", TacitRetriever("my.model", top_k=5))
    pipeline.run({"retriever": {"query": "red shoes", "filter": "price < 50"}})

A model given by its folder is loaded by `warm_up`, and the pipeline can be written to YAML.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tacit.core import MissingExtraError, TacitError, check_number
from tacit.integrations.retrieved import check_retriever, retrieve
from tacit.search import Searcher

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ImportError:
    raise MissingExtraError("TacitRetriever", "haystack-ai", "haystack") from None


@component
class TacitRetriever:
    """Documents for a query, best first; `meta` has the fields of each, and `id`, `score` and `title`.

    Parameters
    ----------
    model : str, Path or Searcher
        Folder written by `tacit fit`, or a fitted searcher, which cannot be written to YAML.
    top_k : int, default=10
        Number of documents.
    filter : str or None, default=None
        Condition on fields, such as "price < 50".
    """

    def __init__(self, model: str | Path | Searcher, top_k: int = 10, filter: str | None = None) -> None:
        self.model, self.top_k, self.filter = model, int(check_number("top_k", top_k, low=1, whole=True)), filter
        self._searcher: Searcher | None = None
        if isinstance(model, Searcher):
            check_retriever(model, top_k)

    def warm_up(self) -> None:
        """Load the model."""
        if self._searcher is None:
            self._searcher = self.model if isinstance(self.model, Searcher) else Searcher.load(self.model)

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None, filter: str | None = None) -> dict[str, list[Document]]:
        """Search; `top_k` and `filter` override the component's."""
        self.warm_up()
        assert self._searcher is not None
        found = retrieve(self._searcher, query, self.top_k if top_k is None else top_k, filter or self.filter)
        made = [Document(id=one.id, content=one.text, meta=one.metadata, score=one.score) for one in found]
        return {"documents": made}

    def to_dict(self) -> dict[str, Any]:
        """Return the component as a dict that Haystack writes to YAML."""
        if isinstance(self.model, Searcher):
            raise TacitError("a TacitRetriever of a Searcher cannot be written, want one with the model's folder")
        return default_to_dict(self, model=os.fspath(self.model), top_k=self.top_k, filter=self.filter)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TacitRetriever:
        """Return the component from the result of `to_dict`."""
        return default_from_dict(cls, data)
