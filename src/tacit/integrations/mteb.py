"""A searcher as a model of MTEB's `SearchProtocol`. Extra `mteb` (needs torch).

mteb.evaluate(MtebSearch(Searcher("blend")), mteb.get_task("SciFact"))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacit import __version__
from tacit.core import Collection, MissingExtraError, NotFittedError
from tacit.search import Searcher

# Required by MTEB, but not applicable to a searcher.
UNKNOWN = (
    "release_date", "languages", "n_parameters", "memory_usage_mb", "embed_dim", "license", "open_weights",
    "public_training_code", "public_training_data", "similarity_fn_name", "training_datasets",
)  # fmt: skip


class MtebSearch:
    """Fits a searcher on the corpus of a task, without labels, and searches it.

    Parameters
    ----------
    searcher : Searcher
        Unfitted searcher of a method that needs no labels, such as `blend` or `bm25`. A fitted one is used unchanged
        for a corpus with the same ids.
    """

    def __init__(self, searcher: Searcher) -> None:
        self.searcher = searcher

    def index(self, corpus: Any, **options: Any) -> None:
        """Fit on a corpus: a dataset with the columns `id`, `text` and, if available, `title`."""
        ids = [str(row["id"]) for row in corpus]
        if list(getattr(self.searcher, "documents_", Collection([], [], [])).ids) == ids:
            return
        titles = [str(row.get("title") or "") for row in corpus]
        documents = Collection(ids, titles, [str(row["text"]) for row in corpus])
        self.searcher = self.searcher.clone().fit(documents, encode=self.searcher.encode)

    def search(
        self, queries: Any, *, top_k: int, top_ranked: Mapping[str, Sequence[str]] | None = None, **options: Any
    ) -> dict[str, dict[str, float]]:
        """Return scores of the best documents of each query, or of the documents in `top_ranked` (reranking tasks)."""
        if not hasattr(self.searcher, "documents_"):
            raise NotFittedError("MtebSearch is not fitted yet: call index first")
        found = Collection([str(row["id"]) for row in queries], [""] * len(queries), [row["text"] for row in queries])
        if top_ranked is None:
            return self.searcher.run(found, top_k).to_dict()
        return {query_id: self._scores(text, top_ranked.get(query_id, ())) for query_id, _, text in found}

    def _scores(self, text: str, candidates: Sequence[str]) -> dict[str, float]:
        row_of = self.searcher.documents_.row_of
        rows = np.array([row_of[candidate] for candidate in candidates], np.int64)
        scores = self.searcher.ranker_.scores(self.searcher.query_rows([text]))[0][rows]
        return dict(zip(candidates, scores.tolist(), strict=True))

    @property
    def mteb_model_meta(self) -> Any:
        """Return name, version and kind of the model."""
        try:
            from mteb.models.model_meta import ModelMeta
        except ImportError:
            raise MissingExtraError("MtebSearch", "mteb", "mteb") from None
        return ModelMeta(
            loader=None,
            name=f"tacit/{self.searcher.method}",
            revision=__version__,
            max_tokens=None,
            framework=[],
            use_instructions=False,
            model_type=["sparse"],
            **dict.fromkeys(UNKNOWN),
        )
