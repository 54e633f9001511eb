"""Normalisations against loops over dictionaries, and what happens to missing documents."""

import math

import numpy as np
import pytest

from tacit.core import Run, TacitError
from tacit.judge.fuse import MISSING, Family, Fusion, Legs


def slow(family, per_leg, first, leg, document, weight, doc_ids):
    """Contribution of one leg to one document; `per_leg` and `first`: {document: score} of this and the first leg."""
    name, values = family.normalization, list(per_leg.values())
    score = per_leg.get(document)
    order = sorted(per_leg, key=lambda d: (-per_leg[d], doc_ids.index(d)))
    if name.startswith("rrf"):
        if score is None:
            return 0.0
        rank = order.index(document) + 1
        if name == "rrf":
            return weight / (family.rank_constant + rank)
        return 1 / (family.rank_constant + rank / weight - 1) if weight else 0.0
    if name == "scaled":
        return 0.0 if score is None else weight * score / family.scales[leg]
    if name == "l2":
        return 0.0 if score is None else weight * score / math.sqrt(sum(v * v for v in values))
    if name in ("minmax", "log-odds"):
        x = 0.0
        if score is not None:
            x = (score - min(values)) / (max(values) - min(values)) if max(values) > min(values) else 1.0
        if name == "minmax":
            return weight * (family.floor if score is not None and x == 0 else x)
        p = 0.01 + 0.98 * x
        return weight * math.log(p / (1 - p))
    if name == "zscore":
        if not values:
            return 0.0
        mean = sum(values) / len(values)
        sd = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))
        return 0.0 if sd == 0 else weight * ((min(values) if score is None else score) - mean) / sd
    assert name == "deviation"
    if score is None:
        return 0.0
    shared = [v for d, v in per_leg.items() if d in first]

    def sd(part):
        return math.sqrt(sum((v - sum(part) / len(part)) ** 2 for v in part) / len(part)) if part else 0.0

    spread = sd(shared) if len(shared) >= 3 and sd(shared) > 1e-12 else sd(values)
    return weight * (score - min(values)) / spread if spread > 1e-12 else 0.0


FAMILIES = [
    Family("minmax"), Family("minmax", floor=0.001), Family("zscore"), Family("l2"), Family("rrf"), Family("rrf", 7),
    Family("rrf-rank", 2), Family("log-odds"), Family("deviation"), Family("scaled", scales=(3.0, 40.0)),
]  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("seed", [0, 1])
def test_contributions_are_those_of_the_formulas(family, seed, random_legs):
    nested = random_legs(seed)
    runs = [Run.from_dict(scores) for scores in nested.values()]
    legs = Legs.from_runs(dict(zip(nested, runs, strict=True)))
    weights = np.array([0.3, 0.7])
    found = family.contributions(legs, weights)
    for row in range(len(legs.doc)):
        query, document = legs.query_ids[legs.query[row]], legs.doc_ids[legs.doc[row]]
        per_leg = [scores.get(query, {}) for scores in nested.values()]
        wanted = [
            slow(family, scores, per_leg[0], leg, document, weights[leg], runs[leg].doc_ids)
            for leg, scores in enumerate(per_leg)
        ]
        assert found[row] == pytest.approx(wanted, abs=1e-9), (query, document)


def test_minmax_zero_sees_missing_documents_as_zeros():
    runs = {"a": Run.from_dict({"q": {"x": 4.0, "y": 2.0}}), "b": Run.from_dict({"q": {"z": 1.0}})}
    found = Family("minmax-zero").normalize(Legs.from_runs(runs))
    assert found.tolist() == [[1.0, 0.0], [0.5, 0.0], [0.0, 1.0]]


def test_a_missing_document_is_never_better_than_a_returned_one(random_legs):
    legs = Legs.from_runs({name: Run.from_dict(scores) for name, scores in random_legs(3).items()})
    for family in FAMILIES:
        if not family.is_linear:
            continue
        columns = family.normalize(legs)
        for query in range(len(legs)):
            rows = slice(legs.starts[query], legs.starts[query + 1])
            for leg in range(2):
                returned = ~np.isnan(legs.scores[rows, leg])
                if returned.any() and not returned.all():
                    assert columns[rows, leg][~returned].max() <= columns[rows, leg][returned].min() + 1e-12


def test_every_normalization_says_what_it_does_with_missing_documents():
    for family in FAMILIES:
        assert family.normalization in MISSING
    assert Fusion(("a", "b"), (1.0, 1.0), Family("rrf")).to_json()["missing"] == MISSING["rrf"]
    with pytest.raises(TacitError, match="normalization"):
        Family("softmax")


def test_order_follows_rank_where_scores_tie():
    doc_ids, rank = ["a", "b", "c"], np.array([3, 1, 2])
    tied = Run(["q"], doc_ids, np.zeros(3, int), np.arange(3), np.ones(3), "t", rank)
    legs = Legs.from_runs({"tied": tied, "other": Run.from_dict({"q": {"a": 1.0}})})
    assert {legs.doc_ids[d]: r for d, r in zip(legs.doc, legs.ranks[:, 0], strict=True)} == {"b": 1, "c": 2, "a": 3}


def test_equal_scores_get_the_value_that_the_engine_gives_them():
    runs = {"a": Run.from_dict({"q": {"x": 4.0}}), "b": Run.from_dict({"q": {"x": 1.0, "y": 1.0}})}
    found = Family("minmax", equal=(0.0, 0.5)).normalize(Legs.from_runs(runs))
    assert found.tolist() == [[0.0, 0.5], [0.0, 0.5]]
    assert Family("minmax").normalize(Legs.from_runs(runs)).tolist() == [[1.0, 1.0], [0.0, 1.0]]
