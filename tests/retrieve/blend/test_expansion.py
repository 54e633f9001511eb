"""The members `content` and `spelling`: BM25 by other words of a query, against slow oracles."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Collection, TacitError
from tacit.features.text.lexicon import spelling_rows
from tacit.retrieve import BlendRanker
from tacit.retrieve.blend.member import Limits, names_of
from tacit.retrieve.training_data import Terms
from tacit.search import Searcher

N_DOCS, N_WORDS, N_QUERIES, N_EXPANSION = 300, 60, 15, 7
FUNCTIONAL = np.array([0, 1, 7])


@pytest.fixture(scope="module")
def world():
    """Documents of words that share beginnings and ends; some words are in no document, one in all."""
    rng = np.random.default_rng(1)
    parts = ["retri", "graph", "vector", "sea", "trans", "o"], ["", "s", "ing", "eval", "ation", "form", "ine", "x"]
    words = list(dict.fromkeys("".join(pair) for pair in itertools.product(*parts)))
    words += [f"{first}{second}" for first, second in itertools.product(["meta", "infra"], words[:20])]
    words = words[:N_WORDS]
    items = rng.poisson(0.15, (N_DOCS, N_WORDS)).astype(np.float32)
    items[:, 3], items[:, 4], items[:, 50:52] = 1, 0, 0
    queries = rng.poisson(0.1, (N_QUERIES, N_WORDS)).astype(np.float32)
    queries[0], queries[1], queries[2] = 0, np.arange(N_WORDS) == 1, np.arange(N_WORDS) == 50
    return {
        "items": sp.csr_array(items), "queries": sp.csr_array(queries), "terms": Terms(words, FUNCTIONAL),
    }  # fmt: skip


@pytest.fixture(scope="module")
def blend(world):
    made = BlendRanker(dim=5, n_expansion=N_EXPANSION).fit(None, world["items"], terms=world["terms"])
    assert names_of(made.members_) == ["bm25", "content", "spelling", "latent", "feedback"]
    return made


def runs_of(word):
    return [word] if len(word) < 4 else [word[start : start + 4] for start in range(len(word) - 3)]


def slow_spelling(blend, words, counts):
    """Weights of the words that are spelt most alike, times BM25 without its idf, by dense loops over strings."""
    idf = blend.bm25.idf_.astype(np.float64)
    runs = sorted({run for word in words for run in runs_of(word)})
    table = np.array([[runs_of(word).count(run) for run in runs] for word in words], float)
    has = np.where(idf > 0, np.minimum(np.exp(-idf), 1 - 1e-6), 0.0)
    share = np.array([1 - np.prod(1 - has[table[:, run] > 0]) for run in range(len(runs))])
    weight = np.where(share > 0, -np.log(np.maximum(share, 1e-300)), 0.0)
    asked = (counts @ table * weight) @ table.T * (idf > 0)
    asked[np.argsort(-asked, kind="stable")[blend.n_expansion :]] = 0
    return blend.bm25.weights_.toarray().astype(np.float64) @ (asked / np.where(idf > 0, idf, 1))


def test_spelling_is_bm25_of_words_with_common_runs_of_characters(blend, world):
    block = blend.query_block(world["queries"], None)
    found = blend.member("spelling").scores(block)
    for row in range(2, N_QUERIES):
        wanted = slow_spelling(blend, world["terms"].words, world["queries"].toarray()[row])
        np.testing.assert_allclose(found[row], wanted, rtol=2e-5, atol=1e-5)
    assert (found[0] == 0).all()
    assert found[2].any()  # its only word is in no item, others are spelt like it


def test_content_is_bm25_without_the_other_words(blend, world):
    block = blend.query_block(world["queries"], None)
    kept = world["queries"].toarray()
    kept[:, FUNCTIONAL] = 0
    np.testing.assert_array_equal(blend.member("content").scores(block), blend.bm25.scores(sp.csr_array(kept)))


def test_half_of_the_weight_of_bm25_is_on_content(blend, world):
    assert blend.weights_ == {"bm25": 0.5, "content": 0.5, "spelling": 0.5, "latent": 4.0, "feedback": 3.0}
    plain = BlendRanker(dim=5).fit(None, world["items"])
    assert plain.weights_ == {"bm25": 1.0, "latent": 4.0, "feedback": 3.0}
    none = BlendRanker(dim=5, content=0.0, spelling=0.0).fit(None, world["items"], terms=world["terms"])
    assert none.weights_ == plain.weights_
    np.testing.assert_array_equal(none.scores(world["queries"]), plain.scores(world["queries"]))


def test_ranking_by_bounds_has_the_bits_of_all_scores(blend, world, monkeypatch):
    monkeypatch.setattr(blend, "limits", Limits(candidates=20, per_result=0))
    ranking, scores = blend.rank(world["queries"], k=5), blend.scores(world["queries"])
    for row in range(1, N_QUERIES):
        known = ranking.items[row] >= 0
        best = np.lexsort((np.arange(N_DOCS), -scores[row]))[: known.sum()]
        if row != 2:  # a query without BM25 candidates has no result
            np.testing.assert_array_equal(ranking.items[row][known], best)
            np.testing.assert_array_equal(ranking.scores[row][known], scores[row][best])


def test_terms_sum_to_the_score(blend, world):
    members = set()
    for row in range(3, 8):
        terms = blend.explain(world["queries"][[row]], 4).terms
        members |= {term.member for term in terms}
        assert sum(term.value for term in terms) == pytest.approx(blend.scores(world["queries"][[row]])[0, 4], rel=1e-5)
    assert members == set(blend.weights_)


def test_scores_do_not_depend_on_the_other_queries_or_threads(blend, world):
    whole = blend.scores(world["queries"])
    alone = np.concatenate([blend.scores(world["queries"][[row]]) for row in range(N_QUERIES)])
    np.testing.assert_array_equal(whole, alone)
    one, four = (blend.rank(world["queries"], k=5, threads=threads) for threads in (1, 4))
    np.testing.assert_array_equal(one.scores, four.scores)


@pytest.mark.slow
def test_new_words_are_spelt_too(world):
    some = BlendRanker(dim=5).fit(None, world["items"], terms=world["terms"])
    words = [*world["terms"].words, "sea", "retrieved"]
    new = sp.csr_array(np.eye(1, len(words), len(words) - 1, dtype=np.float32))
    some.add_items(new, terms=Terms(words, np.array([0, 1, 7, len(words) - 2])))
    spelt, content = some.member("spelling").spelled_, some.member("content").content_
    np.testing.assert_array_equal(spelt.toarray(), spelling_rows(words).toarray())
    assert content[-2:].tolist() == [0, 1]
    asked = np.zeros((1, len(words)), np.float32)
    asked[0, words.index("retrieval")] = 1
    assert some.member("spelling").scores(some.query_block(sp.csr_array(asked), None))[0, -1] > 0
    some.add_items(sp.csr_array((1, len(words) + 1), dtype=np.float32))  # words without names
    assert some.scores(sp.csr_array((1, len(words) + 1), dtype=np.float32)).shape == (1, N_DOCS + 2)
    assert some.member("content").content_[-1] == 1


def test_terms_of_another_width_are_refused(world):
    with pytest.raises(TacitError, match="terms hold 2 words, want one for each of 60 columns"):
        BlendRanker().fit(None, world["items"], terms=Terms(["a", "b"], FUNCTIONAL))


def test_a_searcher_gives_the_words_and_keeps_them_in_its_folder(tmp_path):
    texts = ["how the graph is transformed", "a transformation of vectors", "what retrieval is", "graphs and seas"]
    documents = Collection(list("abcd"), [""] * 4, texts)
    searcher = Searcher("blend", language="en", dim=2).fit(documents)
    assert {"content", "spelling"} <= set(searcher.ranker_.weights_)
    searcher.add(Collection(["e"], [""], ["transformers"]))
    searcher.save(tmp_path / "model")
    again = Searcher.load(tmp_path / "model")
    for query in ("what is a transformer", "vectors and graphs"):
        assert [(hit.id, hit.score) for hit in again.search(query)] == [
            (hit.id, hit.score) for hit in searcher.search(query)
        ]


def test_short_words_have_no_spelling():
    texts = Collection(list("abc"), [""] * 3, ["搜索引擎", "引擎", "搜索"])
    assert "spelling" not in Searcher("blend", language="zh", dim=2).fit(texts).ranker_.weights_
