"""A searcher as a model folder, and back."""

from __future__ import annotations

from pathlib import Path

from tacit.core import Collection, StoreError
from tacit.features import TextVectorizer
from tacit.retrieve import get_system, ranker_from_state, ranker_state
from tacit.search.searcher import Searcher
from tacit.store import (
    Stored,
    blame,
    load_model,
    pack_strings,
    save_model,
    take_array,
    unpack_strings,
    with_prefix,
    without_prefix,
)

KIND = "Searcher"


def save_searcher(searcher: Searcher, path: str | Path) -> None:
    """Write the searcher with its documents; a folder that holds another model is replaced whole."""
    documents, vectorizer = searcher.documents, searcher.vectorizer
    header, arrays = ranker_state(searcher.ranker)
    params = {
        "method": searcher.method,
        "name": documents.name,
        "vectorizer": vectorizer.params(),
        "n_docs": vectorizer.n_docs_,
        "ranker": header,
    }
    packed = with_prefix("ranker", arrays) | {"words/idf": vectorizer.idf_}
    packed |= pack_strings("words/names", vectorizer.vocabulary_)
    for column in ("ids", "titles", "texts"):
        packed |= pack_strings(f"documents/{column}", getattr(documents, column))
    save_model(path, Stored(KIND, params, packed))


def load_searcher(path: str | Path) -> Searcher:
    """Read what `save_searcher` wrote; anything else is refused with a reason."""
    stored = load_model(path, kinds={KIND})
    with blame(path):
        return _build(stored)


def _build(stored: Stored) -> Searcher:
    params, arrays = stored.params, stored.arrays
    vocabulary = unpack_strings("words/names", arrays)
    idf = take_array(arrays, "words/idf", dtype="float32", shape=(len(vocabulary),))
    vectorizer = TextVectorizer.from_parts(params["vectorizer"], vocabulary, idf, params["n_docs"])
    ids, titles, texts = (unpack_strings(f"documents/{column}", arrays) for column in ("ids", "titles", "texts"))
    documents = Collection(ids, titles, texts, name=params["name"])
    ranker = ranker_from_state(params["ranker"], without_prefix("ranker", arrays))
    get_system(params["method"])
    if ranker.n_features_ != len(vocabulary) or ranker.n_items_ != len(documents):
        raise StoreError(
            f"the ranker is for {ranker.n_features_} words and {ranker.n_items_} documents, "
            f"the folder holds {len(vocabulary)} and {len(documents)}"
        )
    return Searcher(documents, vectorizer, ranker, params["method"])
