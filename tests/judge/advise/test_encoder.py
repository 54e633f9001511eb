"""Advice about an encoder, in a world where queries and documents share few words."""

import numpy as np
import pytest

from tacit.core import Collection, Judgments, Lists, TacitError, UsageError
from tacit.judge.advise import advise, fit_recommended
from tacit.judge.advise.collections import CollectionCandidate, CollectionTask, EncoderCandidate
from tacit.retrieve.rank_fusion import reciprocal_rank_fusion
from tacit.search.encoders import Encoder

MEANING = {"cat": 0, "feline": 0, "soup": 1, "broth": 1, "matrix": 2, "array": 2, "ship": 3, "vessel": 3}
KNOWN, ASKED = ("cat", "soup", "matrix", "ship"), ("feline", "broth", "array", "vessel")
FILLING = "the page says some more about this and that in words which mean little"


class Synonyms:
    """Words of one meaning have one vector; other words say little."""

    def encode(self, texts):
        rows = np.full((len(texts), 5), 0.01)
        for row, text in enumerate(texts):
            for word in text.split():
                rows[row, MEANING.get(word, 4)] += 1.0 if word in MEANING else 0.02
        return rows


@pytest.fixture(scope="module")
def world():
    """The odd documents of a meaning use the word that queries do not."""
    rng, n_docs, n_queries = np.random.default_rng(0), 48, 16
    words = [(KNOWN if n % 2 else ASKED)[n // 2 % 4] for n in range(n_docs)]
    filling = [" ".join(rng.permutation(FILLING.split())) for _ in words]
    texts = [f"{word} {rest} . {word} {' '.join(rest.split()[:4])}" for word, rest in zip(words, filling, strict=True)]
    documents = Collection([f"d{n}" for n in range(n_docs)], [f"about {word} things" for word in words], texts)
    asked = [ASKED[n % 4] for n in range(n_queries)]
    queries = Collection([f"q{n}" for n in range(n_queries)], [""] * n_queries, [f"{word} words" for word in asked])
    same = {
        f"q{q}": {f"d{d}": 1 for d in range(n_docs) if MEANING[words[d]] == MEANING[asked[q]]} for q in range(n_queries)
    }
    return documents, queries, Judgments.from_dict(same)


@pytest.fixture(scope="module")
def task(world):
    return CollectionTask.of(*world, ["AP", "Judged@10"], threads=1, encoder=Encoder(Synonyms()))


@pytest.fixture(scope="module")
def encoded(task):
    return CollectionCandidate("blend+encoder", task, "blend", encoded=True, params={"vectors": 4.0})


def test_advice_compares_with_and_without_the_encoder_and_with_rank_fusion(world):
    found = advise(*world, measure="AP", encoder=Synonyms(), threads=1)
    systems = [row["system"] for row in found.rows]
    assert systems == ["bm25", "blend", "blend+encoder", "encoder", "rrf", "blend+encoder+labels"]
    told = found.to_json()["encoder"]
    means = {row["system"]: row["metrics"]["AP"] for row in found.rows}
    assert told["blend"]["gain"] == pytest.approx(means["blend+encoder"] - means["blend"])
    assert told["rrf"]["gain"] == pytest.approx(means["blend+encoder"] - means["rrf"])
    assert means["encoder"] > means["bm25"] + 0.2
    assert "encoder" in found.text
    assert "reciprocal rank fusion" in found.text
    assert set(found.curve[0]) == {"queries", "mean", "interval"}


def test_the_encoder_alone_and_rank_fusion_equal_their_formulas(world, task, encoded):
    documents, queries, judgments = world
    words, rows = CollectionCandidate("bm25", task, "bm25"), np.arange(len(queries))
    model, searcher = Synonyms(), words.fitted_once()
    by_words = searcher.ranker_.scores(searcher.features(list(queries.full_texts())))
    unit = [found / np.linalg.norm(found, axis=1, keepdims=True) for found in (
        model.encode(list(queries.full_texts())), model.encode(list(documents.full_texts())),
    )]  # fmt: skip
    cosines = (unit[0] @ unit[1].T).round(3)  # what float16 keeps
    ranks = [(-np.asarray(scores, np.float64)).argsort(axis=1, kind="stable").argsort(axis=1) + 1 for scores in (
        cosines, by_words,
    )]  # fmt: skip
    assert EncoderCandidate("encoder", encoded).values(rows[:0], rows)["AP"].mean() == pytest.approx(
        np.mean([_precision(-ranks[0][row], judgments, queries.ids[row], documents.ids) for row in rows]), abs=0.02
    )
    fused = reciprocal_rank_fusion([cosines, by_words])
    assert fused == pytest.approx(1 / (60 + ranks[0]) + 1 / (60 + ranks[1]))
    assert EncoderCandidate("rrf", encoded, words).values(rows[:0], rows)["AP"].shape == (len(rows),)


def _precision(scores, judgments, query, ids):
    relevant = judgments.to_dict()[query]
    hits = [ids[row] in relevant for row in np.argsort(-scores, kind="stable")]
    return np.mean([sum(hits[: place + 1]) / (place + 1) for place, hit in enumerate(hits) if hit])


def test_taking_members_over_changes_nothing_with_an_encoder(task):
    base = CollectionCandidate("blend+encoder", task, "blend", encoded=True)
    train, test = np.arange(0, 10), np.arange(10, 16)
    alone, shared = (
        CollectionCandidate("learned", task, "blend", learns=True, encoded=True, like=like).fitted(train)
        for like in (None, base)
    )
    assert shared.ranker_.weights_ == alone.ranker_.weights_
    assert np.array_equal(task.measure(alone, test)["AP"], task.measure(shared, test)["AP"])


def test_the_recommended_system_has_the_encoder(world):
    found = advise(*world, measure="AP", encoder=Synonyms(), threads=1)
    if found.system == "rrf":
        with pytest.raises(TacitError, match="the advice is reciprocal rank fusion, which is not a model"):
            fit_recommended(found, *world, encoder=Synonyms())
        return
    searcher = fit_recommended(found, *world, encoder=Synonyms())
    assert searcher.ranker_.vectors_dim == 5
    assert searcher.search("vessel")[0].title in ("about ship things", "about vessel things")
    with pytest.raises(TacitError, match="needs an encoder, and none is given"):
        fit_recommended(found, *world)


def test_feature_lists_have_no_encoder():
    lists = Lists(np.eye(4), np.array([1.0, 0, 1, 0]), np.array([0, 2, 4]), ["q0", "q1"], list("abcd"))
    with pytest.raises(UsageError, match="encoder is given with feature lists"):
        advise(lists, encoder=Synonyms())
