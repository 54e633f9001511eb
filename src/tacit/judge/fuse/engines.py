"""Search engines: what each can express, the body or snippet for it, and its documented formula.

Each engine has two independent descriptions of its formula. `make_space` uses our normalisations and is used for the
search. `evaluate` reads the exported body and computes scores from raw results, document by document, with the formula
in the engine's documentation. `front.export` checks a body with `evaluate` on the user's own results.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tacit.core import UsageError, check_choice
from tacit.judge.fuse.fusion import Fusion
from tacit.judge.fuse.learning import COARSE, EQUAL_ONLY, LATTICE, Option, Space
from tacit.judge.fuse.legs import Legs
from tacit.judge.fuse.normalizations import Family, leg_scales

Hits = Sequence[tuple[str, float]]  # of one leg for one query: (document, score), best first
Results = Sequence[Hits]  # of all legs for one query
LOWEST = 0.001  # OpenSearch's scaled score instead of 0
NORMALIZERS = {"minmax": "minmax", "l2": "l2_norm"}  # of Elasticsearch
QDRANT_K, WEAVIATE_ALPHA = 2, 0.75  # the engines' defaults
LANCEDB_EQUAL = (0.0, 1.0)  # values of text scores and of 1 - distance if all are equal
VESPA_CONSTANT = re.compile(r"reciprocal_rank\(\w+, ([0-9.]+)\)")
VESPA_TERM = re.compile(r"(?P<weight>[0-9.e-]+) \* (?P<term>.+)")


class Engine(ABC):
    """A search engine: `name` is its name for `--to`, and `note` says what users must edit or know."""

    name: ClassVar[str]
    note: ClassVar[str]

    @abstractmethod
    def make_space(self, legs: Legs) -> Space:
        """Return the space of fusions that the engine can express."""

    @abstractmethod
    def export(self, fusion: Fusion, depth: int) -> Any:
        """Return the body (JSON) or snippet (text) to paste; `depth` is the number of results per run."""

    @abstractmethod
    def evaluate(self, body: Any, results: Results) -> dict[str, float]:
        """Return the score of each document by the documented formula, given a body and one query's results."""

    def cannot_express(self, fusion: Fusion) -> UsageError:
        """Return the error for a fusion that the engine has no formula for."""
        return UsageError(f"{self.name} cannot express {fusion.title}")

    def check_two_legs(self, legs: Legs, what: str) -> None:
        """Raise unless there are two legs."""
        if len(legs.names) != 2:
            raise UsageError(f"{self.name} cannot express a fusion of {len(legs.names)} runs, want two: {what}")


def space_of(
    legs: Legs,
    engine: str | None,
    options: Sequence[Option],
    weights: Sequence[float] | None = None,
    total: float = 1.0,
) -> Space:
    """Return a space whose default has the first option's family, and equal weights unless others are given."""
    n = len(legs.names)
    shares = [total / n] * n if weights is None else list(weights)
    default = Fusion(legs.names, tuple(round(share, 6) for share in shares), options[0].family, engine)
    return Space(default, options, total)


def has_negative(legs: Legs) -> bool:
    """Return whether a leg has negative scores, so a missing result without contribution would beat a returned one."""
    return bool((legs.scores < 0).any())


def rrf(rank_constant: float, points: int) -> Option:
    """Return the option of reciprocal rank fusion with a constant, and a number of lattice points."""
    return Option(Family("rrf", rank_constant), points)


def reciprocal_ranks(results: Results, weights: Sequence[float], constant: float) -> dict[str, float]:
    """Return the sum over lists of w / (k + rank), rank from 1; the formula that most engines document."""
    found = dict[str, float]()
    for weight, hits in zip(weights, results, strict=True):
        for rank, (document, _) in enumerate(hits, 1):
            found[document] = found.get(document, 0.0) + weight / (constant + rank)
    return found


def weighted_sum(results: Results, weights: Sequence[float]) -> dict[str, float]:
    """Return the sum over lists of w times the raw score; a list without the document adds nothing."""
    found = dict[str, float]()
    for weight, hits in zip(weights, results, strict=True):
        for document, score in hits:
            found[document] = found.get(document, 0.0) + weight * score
    return found


def min_max(hits: Hits, equal: float = 1.0) -> Hits:
    """Scale the scores of one list to 0 to 1; all to the same value if they are equal."""
    values = [score for _, score in hits]
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(document, (score - low) / (high - low) if high > low else equal) for document, score in hits]


def l2(hits: Hits) -> Hits:
    """Divide the scores of one list by the root of the sum of their squares."""
    length = math.sqrt(sum(score * score for _, score in hits))
    return [(document, score / length if length else 0.0) for document, score in hits]


def rounded(weights: Sequence[float], digits: int = 6) -> list[float]:
    """Round weights as they are written."""
    return [round(float(weight), digits) for weight in weights]


def vespa_term(term: str, features: dict[str, float], order: list[str]) -> dict[str, float]:
    """Return values of one function of a Vespa expression over all hits; `order` has the matching hits, best first."""
    if "reciprocal_rank" in term:
        match = VESPA_CONSTANT.search(term)
        assert match is not None
        constant = float(match[1])
        return {document: 1 / (constant + rank) for rank, document in enumerate(order, 1) if features[document] > 0}
    if "normalize_linear" in term:
        return dict(min_max(list(features.items()), equal=0.0))
    return features


class OpenSearch(Engine):
    """OpenSearch: the normalization processor and the score ranker processor of hybrid queries.

    normalization-processor   min_max: (s - min) / (max - min), 0.001 instead of 0, and 1 where all are equal;
                              l2: s / sqrt(sum of s^2); arithmetic_mean: sum of w x / sum of w, where a clause that did
                              not return the document counts as 0
    score-ranker-processor    rrf: sum of w / (rank_constant + rank)

    z_score is left out: the engine replaces values at or below the mean by 0.001, and a score equal to the mean by the
    largest raw score, so its order cannot be computed from the formula alone. The queries of the hybrid clause must be
    in the order of the runs.
    """

    name = "opensearch"
    note = (
        "PUT it to /_search/pipeline/NAME and search with ?search_pipeline=NAME. Put the queries of the hybrid clause "
        "in the order of the runs. Weights of rrf need OpenSearch 3."
    )

    def make_space(self, legs: Legs) -> Space:
        """Return the space; the default is min_max with equal weights."""
        options = [Option(Family("minmax", floor=LOWEST), LATTICE), rrf(60, COARSE)]
        return space_of(legs, self.name, options if has_negative(legs) else [*options, Option(Family("l2"))])

    def export(self, fusion: Fusion, depth: int) -> dict[str, Any]:
        """Return the search pipeline: the body of PUT /_search/pipeline/NAME."""
        kind, weights = fusion.family.normalization, rounded(fusion.weights)
        if kind == "rrf":
            combination = {"technique": "rrf", "rank_constant": int(fusion.family.rank_constant)}
            processor: dict[str, Any] = {
                "score-ranker-processor": {"combination": combination | {"parameters": {"weights": weights}}}
            }
        elif kind in ("minmax", "l2"):
            processor = {
                "normalization-processor": {
                    "normalization": {"technique": "min_max" if kind == "minmax" else "l2"},
                    "combination": {"technique": "arithmetic_mean", "parameters": {"weights": weights}},
                }
            }
        else:
            raise self.cannot_express(fusion)
        return {"description": f"hybrid of {', '.join(fusion.names)}", "phase_results_processors": [processor]}

    def evaluate(self, body: Mapping[str, Any], results: Results) -> dict[str, float]:
        """Compute scores by the documented formulas."""
        ((name, processor),) = body["phase_results_processors"][0].items()
        weights = processor["combination"]["parameters"]["weights"]
        if name == "score-ranker-processor":
            return reciprocal_ranks(results, weights, processor["combination"]["rank_constant"])
        if processor["normalization"]["technique"] == "min_max":
            scaled: Results = [[(document, value or LOWEST) for document, value in min_max(hits)] for hits in results]
        else:
            scaled = [l2(hits) for hits in results]
        return weighted_sum(scaled, [weight / sum(weights) for weight in weights])


class Elasticsearch(Engine):
    """Elasticsearch: the `linear` and `rrf` retrievers.

    linear   sum of weight times normalised score; minmax: (s - min) / (max - min), 1 where all scores are equal;
             l2_norm: s / sqrt(sum of s^2); a retriever that did not return the document adds nothing
    rrf      sum of weight / (rank_constant + rank)

    The body has a placeholder query for each run. rank_window_size is the depth of the runs, because the engine's
    default of 10 would fuse fewer results than were measured.
    """

    name = "elasticsearch"
    note = (
        "Replace each placeholder query by the run's own retriever. rank_window_size is the depth of your runs. "
        "Weights of rrf need version 9.2."
    )

    def make_space(self, legs: Legs) -> Space:
        """Return the space; the default is rrf with a constant of 60 and equal weights."""
        options = [rrf(60, LATTICE), rrf(10, COARSE), Option(Family("minmax"))]
        return space_of(legs, self.name, options if has_negative(legs) else [*options, Option(Family("l2"))])

    def export(self, fusion: Fusion, depth: int) -> dict[str, Any]:
        """Return the retriever of a search request."""
        kind = fusion.family.normalization
        if kind != "rrf" and kind not in NORMALIZERS:
            raise self.cannot_express(fusion)
        normalizer = {} if kind == "rrf" else {"normalizer": NORMALIZERS[kind]}
        retrievers = [
            {"retriever": {"standard": {"query": {"match": {name: "QUERY"}}}}, "weight": weight, **normalizer}
            for name, weight in zip(fusion.names, rounded(fusion.weights), strict=True)
        ]
        constant = {"rank_constant": int(fusion.family.rank_constant)} if kind == "rrf" else {}
        fused = {"retrievers": retrievers, **constant, "rank_window_size": depth}
        return {"retriever": {"rrf" if kind == "rrf" else "linear": fused}}

    def evaluate(self, body: Mapping[str, Any], results: Results) -> dict[str, float]:
        """Compute scores by the documented formulas."""
        ((name, retriever),) = body["retriever"].items()
        weights = [part["weight"] for part in retriever["retrievers"]]
        if name == "rrf":
            return reciprocal_ranks(results, weights, retriever["rank_constant"])
        scales = [min_max if part["normalizer"] == "minmax" else l2 for part in retriever["retrievers"]]
        return weighted_sum([scale(hits) for scale, hits in zip(scales, results, strict=True)], weights)


class Qdrant(Engine):
    """Qdrant: weighted reciprocal rank fusion and formula queries.

    rrf      sum over prefetches of 1 / (k + (position + 1) / weight - 1), position from 0. With a weight of 1 this is
             1 / (k + position): k is counted from 0. Weights are absolute: doubling all weights changes the order
    formula  sum of weight times $score[i]; `defaults` gives the score of a prefetch that did not return the point
    """

    name = "qdrant"
    note = (
        "Replace QUERY and `using` of each prefetch by the run's own search; `limit` is the depth of your runs. "
        "Weights need version 1.17."
    )

    def make_space(self, legs: Legs) -> Space:
        """Return the space; the default is rrf with k = 2 and weights of 1, and k = 61 is the usual constant of 60."""
        options = [Option(Family("rrf-rank", QDRANT_K), LATTICE), *(Option(Family("rrf-rank", k)) for k in (10, 61))]
        scaled = [] if has_negative(legs) else [Option(Family("scaled", scales=leg_scales(legs)), COARSE)]
        return space_of(legs, self.name, [*options, *scaled], total=float(len(legs.names)))

    def export(self, fusion: Fusion, depth: int) -> dict[str, Any]:
        """Return the body of POST /collections/NAME/points/query, with a placeholder prefetch for each run."""
        prefetch = [{"query": "QUERY", "using": name, "limit": depth} for name in fusion.names]
        if fusion.family.normalization == "rrf-rank":
            rrf = {"k": int(fusion.family.rank_constant), "weights": rounded(fusion.weights)}
            return {"prefetch": prefetch, "query": {"rrf": rrf}}
        if fusion.family.normalization != "scaled":
            raise self.cannot_express(fusion)
        weights = [weight / scale for weight, scale in zip(fusion.weights, fusion.family.scales, strict=True)]
        terms = [{"mult": [round(weight, 9), f"$score[{leg}]"]} for leg, weight in enumerate(weights)]
        defaults = {f"$score[{leg}]": 0.0 for leg in range(len(weights))}
        return {"prefetch": prefetch, "query": {"formula": {"sum": terms}, "defaults": defaults}}

    def evaluate(self, body: Mapping[str, Any], results: Results) -> dict[str, float]:
        """Compute scores by the documented formulas."""
        query = body["query"]
        if "formula" in query:
            return weighted_sum(results, [term["mult"][0] for term in query["formula"]["sum"]])
        found = dict[str, float]()
        for weight, hits in zip(query["rrf"]["weights"], results, strict=True):
            for position, (document, _) in enumerate(hits):
                part = 1 / ((position + 1) / weight + query["rrf"]["k"] - 1) if weight > 0 else 0.0
                found[document] = found.get(document, 0.0) + part
        return found


class Weaviate(Engine):
    """Weaviate: `alpha` of hybrid search with relativeScoreFusion.

    score = alpha v + (1 - alpha) b,   v and b: vector and keyword scores, each (s - min) / (max - min), 1 where equal;
    a search that did not return the object adds nothing

    The first run is the keyword search, the second the vector search. Weaviate's default is alpha = .75.
    """

    name = "weaviate"
    note = "The first run is the keyword search, the second the vector search."

    def make_space(self, legs: Legs) -> Space:
        """Return the space; the default is alpha = .75."""
        self.check_two_legs(legs, "the keyword run, then the vector run")
        return space_of(legs, self.name, [Option(Family("minmax"), LATTICE)], [1 - WEAVIATE_ALPHA, WEAVIATE_ALPHA])

    def export(self, fusion: Fusion, depth: int) -> dict[str, Any]:
        """Return the arguments of the hybrid query."""
        if fusion.family.normalization != "minmax" or len(fusion.names) != 2:
            raise self.cannot_express(fusion)
        alpha = round(fusion.weights[1] / sum(fusion.weights), 6)
        return {"hybrid": {"query": "QUERY", "alpha": alpha, "fusionType": "relativeScoreFusion"}}

    def evaluate(self, body: Mapping[str, Any], results: Results) -> dict[str, float]:
        """Compute scores by the documented formula."""
        alpha = body["hybrid"]["alpha"]
        return weighted_sum([min_max(hits) for hits in results], [1 - alpha, alpha])


class Vespa(Engine):
    """Vespa: a rank profile whose global phase fuses rank features.

    linear   sum of weight times feature                         scaled: a weighted sum of raw scores
    minmax   sum of weight times normalize_linear(feature)       (s - min) / (max - min) over all hits, 0 where equal
    rrf      sum of weight times reciprocal_rank(feature, k)     1 / (k + rank); 0 for a hit that the leg did not match

    A feature is 0 for a hit that its operator did not match (bm25 without a matching word, rawScore of a nearest
    neighbour operator that did not return the hit), and normalize_linear includes these zeros. So scores must not be
    negative. The snippet has one function for each run; replace its expression by the run's feature.
    """

    name = "vespa"
    note = (
        "Use the rank feature of each run in its function: bm25(FIELD) of a text search, itemRawScore(LABEL) of a "
        "nearest neighbour search. A feature must be 0 for hits that the search did not match."
    )

    def make_space(self, legs: Legs) -> Space:
        """Return the space; the default is rrf with a constant of 60 and equal weights."""
        options = [rrf(60, LATTICE), rrf(10, COARSE)]
        if has_negative(legs):
            raise UsageError(f"{self.name} scores results without a match as 0, but a run has scores below 0")
        scaled = Family("scaled", scales=leg_scales(legs))
        return space_of(legs, self.name, [*options, Option(Family("minmax-zero")), Option(scaled)])

    def export(self, fusion: Fusion, depth: int) -> str:
        """Return the rank profile."""
        kind = fusion.family.normalization
        features = [f"leg_{number}" for number in range(1, len(fusion.names) + 1)]
        constant = f"{fusion.family.rank_constant:g}"
        forms = {
            "rrf": "if ({0} > 0, reciprocal_rank({0}, " + constant + "), 0)",
            "minmax-zero": "normalize_linear({0})",
            "scaled": "{0}",
        }
        if kind not in forms:
            raise self.cannot_express(fusion)
        scales = fusion.family.scales or (1.0,) * len(features)
        terms = [
            f"{weight / scale:.9g} * {forms[kind].format(feature)}"
            for weight, scale, feature in zip(fusion.weights, scales, features, strict=True)
        ]
        functions = "\n".join(
            f"    function {feature}() {{\n        expression: FEATURE  # the score of {name}\n    }}"
            for feature, name in zip(features, fusion.names, strict=True)
        )
        expression = "\n            + ".join(terms)
        return (
            f"rank-profile fused {{\n{functions}\n    global-phase {{\n        rerank-count: 1000\n"
            f"        expression {{\n            {expression}\n        }}\n    }}\n}}\n"
        )

    def evaluate(self, body: str, results: Results) -> dict[str, float]:
        """Compute scores by the documented functions, read from the expression of the snippet."""
        expression = body.split("expression {", 1)[1].split("}", 1)[0]
        documents = list(dict.fromkeys(document for hits in results for document, _ in hits))
        found = dict.fromkeys(documents, 0.0)
        for part, hits in zip(expression.split("\n            + "), results, strict=True):
            match = VESPA_TERM.search(part)
            assert match is not None
            features, order = dict.fromkeys(documents, 0.0) | dict(hits), [document for document, _ in hits]
            for document, value in vespa_term(match["term"].strip(), features, order).items():
                found[document] += float(match["weight"]) * value
        return found


class Milvus(Engine):
    """Milvus: rankers of hybrid search.

    RRFRanker(k)         sum of 1 / (k + rank); it has no weights
    WeightedRanker(...)  sum of weight times score, weights from 0 to 1; with norm_score=False raw scores. A search that
                         did not return the entity adds nothing

    Metrics must be ones where higher is better: IP, COSINE, BM25.
    """

    name = "milvus"
    note = (
        "Pass it as `ranker` of hybrid_search, with one AnnSearchRequest for each run, in the same order. "
        "Use metrics where higher is better (IP, COSINE, BM25)."
    )

    def make_space(self, legs: Legs) -> Space:
        """Return the space; the default is RRFRanker(60)."""
        options = [rrf(60, EQUAL_ONLY), rrf(10, EQUAL_ONLY), rrf(100, EQUAL_ONLY)]
        weighted = [] if has_negative(legs) else [Option(Family("scaled", scales=leg_scales(legs)), LATTICE)]
        return space_of(legs, self.name, [*options, *weighted])

    def export(self, fusion: Fusion, depth: int) -> dict[str, Any]:
        """Return the rerank function of hybrid search: {"strategy", "params"}, and the same as Python code."""
        if fusion.family.normalization == "rrf" and len(set(fusion.weights)) == 1:
            constant = int(fusion.family.rank_constant)
            return {"strategy": "rrf", "params": {"k": constant}, "python": f"RRFRanker({constant})"}
        if fusion.family.normalization != "scaled":
            raise self.cannot_express(fusion)
        raw = [weight / scale for weight, scale in zip(fusion.weights, fusion.family.scales, strict=True)]
        weights = rounded([weight / max(raw) for weight in raw], 9)  # from 0 to 1
        shown = ", ".join(f"{weight:g}" if weight in (0, 1) else repr(weight) for weight in weights)
        params = {"weights": weights, "norm_score": False}
        return {"strategy": "weighted", "params": params, "python": f"WeightedRanker({shown}, norm_score=False)"}

    def evaluate(self, body: Mapping[str, Any], results: Results) -> dict[str, float]:
        """Compute scores by the documented formulas."""
        if body["strategy"] == "rrf":
            return reciprocal_ranks(results, [1.0] * len(results), body["params"]["k"])
        return weighted_sum(results, body["params"]["weights"])


class LanceDB(Engine):
    """LanceDB: rerankers of hybrid search, of one full-text and one vector search.

    RRFReranker(K)                        sum of 1 / (K + rank); it has no weights
    LinearCombinationReranker(weight)     weight (1 - distance) + (1 - weight) text score. Hybrid search first scales
                                          distances and text scores to (s - min) / (max - min), 0 where all are equal;
                                          a search that did not return the row adds nothing (fill = 1)

    The first run is the full-text search. The second is the vector search, with scores that fall as the distance rises.
    """

    name = "lancedb"
    note = (
        "Pass it to .rerank() of a hybrid search. The first run is the full-text search, the second the vector search."
    )

    def make_space(self, legs: Legs) -> Space:
        """Return the space; the default is RRFReranker(60)."""
        self.check_two_legs(legs, "the full-text run, then the vector run")
        options = [rrf(60, EQUAL_ONLY), rrf(10, EQUAL_ONLY), rrf(100, EQUAL_ONLY)]
        return space_of(legs, self.name, [*options, Option(Family("minmax", equal=LANCEDB_EQUAL), LATTICE)])

    def export(self, fusion: Fusion, depth: int) -> dict[str, Any]:
        """Return the reranker, its arguments, and the same as Python code."""
        if fusion.family.normalization == "rrf" and len(set(fusion.weights)) == 1:
            constant = int(fusion.family.rank_constant)
            return {"reranker": "RRFReranker", "arguments": {"K": constant}, "python": f"RRFReranker(K={constant})"}
        if fusion.family != Family("minmax", equal=LANCEDB_EQUAL) or len(fusion.names) != 2:
            raise self.cannot_express(fusion)
        weight = round(fusion.weights[1] / sum(fusion.weights), 9)
        return {
            "reranker": "LinearCombinationReranker",
            "arguments": {"weight": weight, "fill": 1.0},
            "python": f"LinearCombinationReranker(weight={weight!r}, fill=1.0)",
        }

    def evaluate(self, body: Mapping[str, Any], results: Results) -> dict[str, float]:
        """Compute scores by the documented formulas."""
        if body["reranker"] == "RRFReranker":
            return reciprocal_ranks(results, [1.0, 1.0], body["arguments"]["K"])
        weight, (text, vector) = body["arguments"]["weight"], results
        distances = min_max([(name, -score) for name, score in vector], equal=0.0)
        near = [(document, 1 - distance) for document, distance in distances]
        return weighted_sum([min_max(text, equal=0.0), near], [1 - weight, weight])


ENGINES: dict[str, Engine] = {
    engine.name: engine
    for engine in (OpenSearch(), Elasticsearch(), Qdrant(), Weaviate(), Vespa(), Milvus(), LanceDB())
}


def engine_of(name: str) -> Engine:
    """Return the engine with that name; raise an error that lists the names."""
    return ENGINES[check_choice("engine", name, ENGINES)]
