"""Models and feature sets for the learning-to-rank plugins of OpenSearch and Elasticsearch, which share formats.

    PUT  INDEX                                    index.json        fields that the features need (text columns only)
    PUT  _ltr
    POST _ltr/_featureset/NAME                    featureset.json   one query for each column (text columns only)
    POST _ltr/_featureset/NAME/_createmodel       model.json        the ranker

A model names its features; a feature set defines how the engine computes them, as the score of a query. An engine can
compute these columns of `tacit features`, for the fields body, title and both (`all` in the index):

    bm25            match query; k1 and b of the index are set to tacit's values
    tf              match_explorer, sum_raw_tf: a word that the query repeats counts once
    log_bm25, normalized_tf     expressions of these and of the number of words (token_count)

The engine has its own analyzer and rounds lengths of fields to one byte, so values are similar, not identical.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from tacit.core import TacitError
from tacit.features.bm25 import K1, B
from tacit.integrations.exportable import Linear, has_trees, to_linear, why_not
from tacit.integrations.xgboost import dump_json, make_trees
from tacit.rerank import ListRanker

FIELDS = {"body": "text", "title": "title", "both": "all"}  # our fields, and the fields of the index
MEASURES = ("bm25", "log_bm25", "tf", "normalized_tf")


def feature_name(column: str) -> str:
    """Return the name of a column in the engine, whose expressions require names without dots.

    >>> feature_name("body.bm25")
    'body_bm25'
    """
    return column.replace(".", "_")


def can_compute(column: str) -> bool:
    """Return whether the engine can compute a column of `tacit features`."""
    field, _, measure = column.partition(".")
    return field in FIELDS and measure in MEASURES


def engine_model(ranker: ListRanker) -> str:
    """Return the model type for a ranker; raise for one that cannot be exported."""
    if has_trees(ranker):
        return "model/xgboost+json"
    if to_linear(ranker) is None:
        raise TacitError(why_not(ranker))
    return "model/linear"


def model_body(ranker: ListRanker, columns: Sequence[str], name: str) -> dict[str, Any]:
    """Return the body of `_createmodel`.

    Parameters
    ----------
    ranker : ListRanker
        Fitted ranker of trees, or a linear one that scores each row separately.
    columns : sequence of str
        Names of the features, one for each column of the ranker's lists.
    name : str
        Name of the model in the engine.
    """
    kind, names = engine_model(ranker), list(map(feature_name, columns))
    if kind == "model/linear":
        return {"model": {"name": name, "model": linear_model(to_linear(ranker), names)}}
    definition = {"objective": "rank:pairwise", "splits": dump_json(make_trees(ranker, zero_if_missing=True), names)}
    return {"model": {"name": name, "model": {"type": kind, "definition": json.dumps(definition)}}}


def linear_model(linear: Linear | None, names: Sequence[str]) -> dict[str, Any]:
    """Return a linear model in the plugins' format, with a normalizer for each feature with a mean or a deviation."""
    assert linear is not None
    used = [
        (name, weight, mean, deviation)
        for name, weight, mean, deviation in zip(names, *(part.tolist() for part in linear), strict=True)
        if weight
    ]
    model: dict[str, Any] = {"type": "model/linear"}
    scaled = {
        name: {"standard": {"mean": mean, "standard_deviation": deviation}}
        for name, _, mean, deviation in used
        if (mean, deviation) != (0.0, 1.0)
    }
    if scaled:
        model["feature_normalizers"] = scaled
    return model | {"definition": json.dumps({name: weight for name, weight, *_ in used})}


def feature_set_body(columns: Sequence[str]) -> dict[str, Any]:
    """Return the body of a feature set for columns of `tacit features --engine`; raise for other columns."""
    unknown = [column for column in columns if not can_compute(column)]
    if unknown:
        wanted = f"columns of {', '.join(MEASURES)} over {', '.join(FIELDS)} (tacit features --engine)"
        raise TacitError(f"{len(unknown)} of {len(columns)} columns, the first is {unknown[0]!r}; want {wanted}")
    fields = [field for field in FIELDS if any(column.startswith(f"{field}.") for column in columns)]
    return {"featureset": {"features": [feature for field in fields for feature in _field_features(field)]}}


def index_body() -> dict[str, Any]:
    """Return settings and mappings of an index with the fields for the features of `feature_set_body`."""
    text = {"type": "text", "similarity": "tacit"}
    length = {"length": {"type": "token_count", "analyzer": "standard"}}
    fields = {name: {**text, "copy_to": "all", "fields": length} for name in ("title", "text")}
    return {
        "settings": {"index": {"similarity": {"tacit": {"type": "BM25", "k1": K1, "b": B}}}},
        "mappings": {"properties": {**fields, "all": {**text, "fields": length}}},
    }


def engine_files(ranker: ListRanker, columns: Sequence[str], name: str) -> dict[str, dict[str, Any]]:
    """Return contents of the JSON files of an export by file name; index and feature set only for text columns."""
    files = {"model.json": model_body(ranker, columns, name)}
    if all(map(can_compute, columns)):
        files |= {"index.json": index_body(), "featureset.json": feature_set_body(columns)}
    return files


def _field_features(field: str) -> list[dict[str, Any]]:
    """Return the features of one field; expressions come after the features they use."""
    match = {"match": {FIELDS[field]: "{{keywords}}"}}
    length = {"field": f"{FIELDS[field]}.length", "missing": 0}
    count = {"functions": [{"field_value_factor": length}], "query": {"match_all": {}}, "boost_mode": "replace"}
    bm25, tf, words = f"{field}_bm25", f"{field}_tf", f"{field}_words"
    return [
        _query(bm25, match),
        _query(tf, {"match_explorer": {"type": "sum_raw_tf", "query": match}}),
        _query(words, {"function_score": count}, params=()),
        _expression(f"{field}_log_bm25", f"ln(1 + {bm25})"),
        _expression(f"{field}_normalized_tf", f"{tf} / max({words}, 1)"),
    ]


def _query(name: str, template: dict[str, Any], params: Iterable[str] = ("keywords",)) -> dict[str, Any]:
    return {"name": name, "params": list(params), "template_language": "mustache", "template": template}


def _expression(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "params": [], "template_language": "derived_expression", "template": text}
