"""Learned word tables as a StaticEmbedding folder, and vectors of texts from a SentenceTransformer.

`export_static_embedding` writes a folder that sentence-transformers (extra `sentence-transformers`, needs torch) and
model2vec (extra `model2vec`, needs no torch) load. Both average the rows of a text's words:

    v = mean over words of row(w),   row(w) = idf(w) table(w),

which is our ranker's vector up to its length, because tf-idf rows are count(w) idf(w), divided by their length. So
cosines are equal. Rankers with one table for queries and documents become one StaticEmbedding, rankers with two a
`Router` with the routes `query` and `document`.

Not exported: terms of a ranker in addition to the product of the vectors (weights of shared words, mixtures), learned
vectors of single documents, and stems of word forms in no document.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tacit.core import Collection, MissingExtraError, UsageError, check_choice
from tacit.data import staged
from tacit.features import TextVectorizer, WordGramVectorizer
from tacit.features.text.tokenizers import WITHOUT_SPACES
from tacit.retrieve import CollectionRanker, EmbeddingRanker, HtrPairsRanker, LsiRanker, LsiTfidfRanker
from tacit.retrieve.latent.lsi import ClLsiRanker
from tacit.search import Searcher
from tacit.search.encoders import encode_texts

UNKNOWN = "[UNK]"
STATIC, ROUTER = (f"sentence_transformers.models.{name}" for name in ("StaticEmbedding", "Router"))
# Characters that our tokenizer removes before it splits text into words; see `features.text.words`.
INVISIBLE = "[\u00ad\u180b-\u180f\u200c\u200d\u2060\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]"
WORD = r"[\p{L}\p{N}][\p{L}\p{N}\p{Mn}\p{Mc}]*"


class WordTables(NamedTuple):
    """Tables of query words and document words, (n_words, dim) each, and the omitted parts of the ranker."""

    query: np.ndarray
    document: np.ndarray
    left_out: list[str]


def export_static_embedding(searcher: Searcher, folder: str | Path) -> list[str]:
    """Write the word tables of a searcher as a StaticEmbedding folder.

    Parameters
    ----------
    searcher : Searcher
        Fitted searcher of a method with word tables: the `ssi-uu`, `ssi-uv` and `htr-residual` families, `htr+pairs`,
        `lsi`, `cl-lsi` and other cross-language methods, `htr-reconstruction`.
    folder : str or Path
        New folder.

    Returns
    -------
    list of str
        Parts of the searcher's score that are not in the folder.
    """
    tables = word_tables(searcher.ranker_)
    queries = searcher.vectorizer_ if searcher.query_vectorizer_ is None else searcher.query_vectorizer_
    left_out = list(tables.left_out)
    if queries.stem or searcher.vectorizer_.stem:
        left_out.append("stems of word forms that no document has")
    one = queries is searcher.vectorizer_ and tables.query is tables.document
    parts = {"query": (queries, tables.query), "document": (searcher.vectorizer_, tables.document)}
    with staged(folder, folder=True) as stage:
        place = Path(stage)
        if one:
            _write_part(place / "0_StaticEmbedding", *parts["document"], searcher.documents_)
            _write_json(place / "modules.json", [{"idx": 0, "name": "0", "path": "0_StaticEmbedding", "type": STATIC}])
        else:
            _write_router(place, parts, searcher.documents_)
        _write_config(place)
    return left_out


def word_tables(ranker: CollectionRanker) -> WordTables:
    """Return the word tables of a fitted ranker; raise for a ranker without them."""
    if isinstance(ranker, HtrPairsRanker):
        tables = word_tables(ranker.vectors_)
        return tables._replace(left_out=[*tables.left_out, "hashed pairs of words"])
    if isinstance(ranker, ClLsiRanker):
        return WordTables(ranker.query_concepts_, ranker.item_concepts_, [])
    if isinstance(ranker, LsiRanker):
        mixed = ["the share of tf-idf in the score"] if isinstance(ranker, LsiTfidfRanker) else []
        return WordTables(ranker.concepts_, ranker.concepts_, mixed)
    if isinstance(ranker, EmbeddingRanker) and ranker.items != "free" and ranker.dim:
        left_out = [] if ranker.identity == "none" else ["the weight of words that query and document share"]
        left_out += ["what documents learned in addition to their words"] if ranker.items == "residual" else []
        document = ranker.query_table_ if ranker.items == "tied" else ranker.item_table_
        return WordTables(ranker.query_table_, document, left_out)
    wanted = "want lsi, ssi-uu, ssi-uv, htr-residual, htr+pairs, htr-reconstruction or a cross-language method"
    raise UsageError(f"a {type(ranker).__name__} of this kind has no vectors of words to export; {wanted}")


def encode(model: Any, texts: Collection | Iterable[str], kind: str = "document", **options: Any) -> np.ndarray:
    """Return vectors of texts by a SentenceTransformer or a model2vec StaticModel.

    Parameters
    ----------
    model : SentenceTransformer, StaticModel or str
        The model, or the folder or name of a SentenceTransformer.
    texts : Collection or iterable of str
        Texts; for a collection, titles and texts.
    kind : {"document", "query"}, default="document"
        Kind of the texts, for models that distinguish them.
    **options
        Passed on to the model's `encode`, such as `batch_size`.

    Returns
    -------
    ndarray of shape (n_texts, dim), float32
    """
    check_choice("kind", kind, ("document", "query"))
    if isinstance(model, str | Path):
        model = _library().SentenceTransformer(str(model))
    given = texts.full_texts() if isinstance(texts, Collection) else texts
    return encode_texts(model, given, kind, **options)


def _write_router(place: Path, parts: dict[str, tuple[TextVectorizer, np.ndarray]], documents: Collection) -> None:
    names = {route: f"{route}_0_StaticEmbedding" for route in parts}
    for route, (vectorizer, table) in parts.items():
        _write_part(place / names[route], vectorizer, table, documents)
        _write_config(place / names[route])  # so that model2vec loads each route separately
    config = {
        "types": dict.fromkeys(names.values(), STATIC),
        "structure": {route: [name] for route, name in names.items()},
        "parameters": {"default_route": "document", "allow_empty_key": True},
    }
    _write_json(place / "router_config.json", config)
    _write_json(place / "modules.json", [{"idx": 0, "name": "0", "path": "", "type": ROUTER}])


def _write_part(place: Path, vectorizer: TextVectorizer, table: np.ndarray, documents: Collection) -> None:
    """Write one table with its tokenizer."""
    from safetensors.numpy import save_file

    _check_vectorizer(vectorizer)
    rows = np.zeros((len(vectorizer.vocabulary_), table.shape[1]), np.float32)
    rows[: len(table)] = table * vectorizer.idf_[: len(table), None]
    words = _word_rows(vectorizer, documents)
    unknown = np.zeros((1, rows.shape[1]), np.float32)
    place.mkdir()
    embedding = np.concatenate([unknown, rows[list(words.values())]])
    save_file({"embedding.weight": np.ascontiguousarray(embedding)}, place / "model.safetensors")
    vocabulary = {UNKNOWN: 0} | {word: number for number, word in enumerate(words, start=1)}
    _write_json(place / "tokenizer.json", _tokenizer_json(vocabulary))


def _check_vectorizer(vectorizer: TextVectorizer) -> None:
    kind = type(vectorizer)
    if issubclass(kind, WordGramVectorizer) or tuple(vectorizer.ngrams) != (1, 1) or vectorizer.tf != "raw":
        raise UsageError("a StaticEmbedding averages words: want a model of single words and raw counts")
    if vectorizer.tokenizer_.language in ("ja", *WITHOUT_SPACES):
        raise UsageError("a StaticEmbedding splits texts at spaces: want a language that puts spaces between words")


def _word_rows(vectorizer: TextVectorizer, documents: Collection) -> dict[str, int]:
    """Return the row of the table by word form: the words themselves, or all forms in the documents if stemmed."""
    row_of = {word: row for row, word in enumerate(vectorizer.vocabulary_)}
    if not vectorizer.stem:
        return row_of
    tokenizer = vectorizer.tokenizer_
    forms = sorted({word for text in documents.full_texts() for word in tokenizer.words(text)} | set(row_of))
    terms = {form: tokenizer.term(form) for form in forms}
    return {form: row_of[term] for form, term in terms.items() if term in row_of}


def _tokenizer_json(vocabulary: dict[str, int]) -> dict[str, Any]:
    """Return our tokenizer in the format of the library `tokenizers`: folding and words of `features.text.words`."""
    replace = {"type": "Replace", "pattern": {"Regex": INVISIBLE}, "content": ""}
    sigma = {"type": "Replace", "pattern": {"String": "ς"}, "content": "σ"}
    folding = [replace, {"type": "NFKC"}, {"type": "Lowercase"}, {"type": "NFKC"}, sigma]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": folding},
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": WORD}, "behavior": "Removed", "invert": True},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": UNKNOWN},
    }


def _write_config(place: Path) -> None:
    config = {"prompts": {"query": "", "document": ""}, "default_prompt_name": None, "similarity_fn_name": "cosine",
              "model_type": "SentenceTransformer", "max_length": None}  # fmt: skip
    _write_json(place / "config_sentence_transformers.json", config)


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False) + "\n", "utf-8")


def _library() -> Any:
    try:
        import sentence_transformers
    except ImportError:
        raise MissingExtraError("vectors of texts", "sentence-transformers", "sentence-transformers") from None
    return sentence_transformers
