"""What every ranker of collections must do, whatever its method; a new method is tested by registering."""

import copy
import json

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links, NotFittedError, TacitError
from tacit.retrieve import METHODS, BlendRanker, QueryExpansionRanker
from tacit.search.models import find_class
from tacit.store import pack_estimator, unpack_estimator

N_DOCS, N_WORDS, N_TOPICS = 60, 40, 4
# Methods whose score has no term of shared words.
WITHOUT_WORDS = {"lsi", "ssi-uv-noi", "perceptron", "ssi-full-zerodiag", "hash-1m", "hash-3m", "hash-6m", "hash-10m"}


@pytest.fixture(scope="module")
def world():
    """Documents of four topics with words of their own, and some shared; links within a topic."""
    rng = np.random.default_rng(3)
    topic = np.arange(N_DOCS) % N_TOPICS
    counts = rng.poisson(0.3, (N_DOCS, N_WORDS)).astype(np.float32)
    per_topic = N_WORDS // N_TOPICS
    for t in range(N_TOPICS):
        rows = topic == t
        counts[rows, t * per_topic : (t + 1) * per_topic] += rng.poisson(1.5, (rows.sum(), per_topic))
    counts = sp.csr_array(counts)
    tfidf = sp.csr_array(counts.multiply(1 / np.sqrt(counts.multiply(counts).sum(axis=1))[:, None]), dtype=np.float32)
    sources = np.repeat(np.arange(N_DOCS), 4)
    targets = (sources + N_TOPICS * rng.integers(1, 12, len(sources))) % N_DOCS
    pairs = np.unique(np.stack([sources, targets], axis=1)[sources != targets], axis=0)
    both = sp.csr_array(sp.hstack([tfidf, tfidf[:, :10]]), dtype=np.float32)
    return {
        "counts": counts,
        "tfidf": tfidf,
        "words+grams": both,
        "links": Links(*pairs.T, N_DOCS, N_DOCS),
        "topic": topic,
    }


# Rankers for two dictionaries have a world of their own (tests/retrieve/margin/test_cross.py).
NAMES = sorted(name for name, method in METHODS.items() if not method.estimator.two_dictionaries)


@pytest.fixture(scope="module", params=NAMES)
def method(request):
    return METHODS[request.param]


@pytest.fixture(scope="module")
def rows(world, method):
    return world[method.make().features]


def make(method):
    return method.offer(dim=8, first_gram=N_WORDS if method.make().features == "words+grams" else None)


@pytest.fixture(scope="module")
def fitted(world, rows, method):
    return make(method).fit(rows, rows, world["links"])


def test_answers_are_of_the_query_topic(fitted, rows, world):
    best = fitted.rank(rows, k=5).items
    assert np.mean(world["topic"][best] == world["topic"][:, None]) > 0.8  # a quarter would be chance


def test_rank_is_the_order_of_the_scores(fitted, rows):
    scores = fitted.scores(rows)
    ranking = fitted.rank(rows, k=7)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :7]
    assert np.array_equal(ranking.items, expected)
    assert np.array_equal(ranking.scores, np.take_along_axis(scores, expected, axis=1))


def test_a_query_alone_gets_the_same_bits(fitted, rows):
    together = fitted.scores(rows)
    assert all(np.array_equal(fitted.scores(rows[[q]])[0], together[q]) for q in range(0, N_DOCS, 7))


def test_the_number_of_threads_changes_no_bit(fitted, rows, monkeypatch):
    monkeypatch.setattr(fitted, "block_bytes", 4 * N_DOCS * 5)
    one, four = (fitted.rank(rows, k=N_DOCS, threads=threads) for threads in (1, 4))
    assert np.array_equal(one.items, four.items)
    assert np.array_equal(one.scores, four.scores)


def test_the_same_seed_gives_the_same_bits(fitted, rows, world, method):
    again = make(method).fit(rows, rows, world["links"])
    assert np.array_equal(again.scores(rows), fitted.scores(rows))


def test_excluded_items_are_no_candidates(fitted, rows):
    exclude = sp.csr_array(np.eye(N_DOCS, dtype=bool))
    ranking = fitted.rank(rows, k=N_DOCS, exclude=exclude)
    assert not (ranking.items == np.arange(N_DOCS)[:, None]).any()
    assert (ranking.items[:, -1] == -1).all()
    assert (ranking.items[:, :-1] >= 0).all()


def test_works_without_pairs_or_says_that_it_needs_them(rows, method):
    if method.estimator.needs_pairs:
        with pytest.raises(TacitError, match="no positive pair"):
            make(method).fit(None, rows)
        return
    assert len(make(method).fit(None, rows).rank(rows[[0]], k=3)) == 1


def test_an_empty_query_scores_zero_everywhere(fitted, rows):
    empty = sp.csr_array((1, rows.shape[1]), dtype=np.float32)
    assert not fitted.scores(empty).any()
    assert fitted.explain(empty, 3, 4).terms == []


N_NEW = 4


def new_items(rows):
    """Copies of the first items that also have two words which no item had at fit."""
    added = np.zeros((N_NEW, 2), np.float32)
    added[[0, 1, 1], [0, 0, 1]] = 1
    return sp.csr_array(sp.hstack([rows[:N_NEW], sp.csr_array(added)], format="csr"))


def widened(rows, n_columns=2):
    return sp.csr_array(sp.hstack([rows, sp.csr_array((rows.shape[0], n_columns), dtype=np.float32)], format="csr"))


@pytest.fixture
def again(fitted, rows, world, method):
    """A ranker that a test may change."""
    return copy.deepcopy(fitted)


def steady(ranker):
    """The ranker, or the member of a blend whose scores do not depend on the query's first answers."""
    return ranker.bm25 if isinstance(ranker, BlendRanker) else ranker


def test_new_items_are_ranked_and_old_scores_keep_their_bits(again, rows):
    try:
        again.check_new_items()
    except TacitError:
        assert again.items == "free"
        with pytest.raises(TacitError, match="a new item has no vector"):
            again.add_items(rows[:2])
        return
    before = steady(again).scores(rows)
    again.add_items(rows[:2]).add_items(rows[2:3])
    after = steady(again).scores(rows)
    if isinstance(again, QueryExpansionRanker):  # new items expand queries
        items = sp.csr_array(sp.vstack([rows, rows[:3]], format="csr"))
        before = QueryExpansionRanker(again.beta_, again.n_expand_).fit(None, items).scores(rows)[:, :N_DOCS]
    assert np.array_equal(after[:, :N_DOCS], before)
    assert (again.n_added_, again.n_removed_, again.n_items_) == (3, 0, N_DOCS + 3)
    score = again.scores(rows[[5]])[0, N_DOCS + 1]
    assert again.explain(rows[[5]], N_DOCS + 1).total == pytest.approx(score, abs=1e-4)
    if again.by_words and not isinstance(again, QueryExpansionRanker):
        assert np.array_equal(after[:, N_DOCS:], before[:, :3])


def test_items_are_removed_and_others_keep_their_bits(again, rows):
    before = steady(again).scores(rows)
    again.remove_items([3, 0, 3])
    kept = np.setdiff1d(np.arange(N_DOCS), [0, 3])
    if isinstance(again, QueryExpansionRanker):  # an item that is gone expands no query
        before[:, kept] = QueryExpansionRanker(again.beta_, again.n_expand_).fit(None, rows[kept]).scores(rows)
    assert np.array_equal(steady(again).scores(rows), before[:, kept])
    assert (again.n_added_, again.n_removed_, again.n_items_) == (0, 2, N_DOCS - 2)
    scores = again.scores(rows[[5]])[0]
    assert again.explain(rows[[5]], 0, 7).total == pytest.approx(scores[0] - scores[7], abs=1e-4)
    for wrong, message in (([N_DOCS], "no item 60"), ([-1], "no item -1"), (np.arange(N_DOCS - 2), "at least one")):
        with pytest.raises(TacitError, match=message):
            again.remove_items(wrong)


def test_words_that_fit_has_not_seen_become_searchable(again, rows, method):
    if getattr(again, "items", None) == "free" or again.features == "words+grams":
        with pytest.raises(TacitError):
            again.add_items(new_items(rows))
        return
    before = steady(again).scores(rows)
    again.add_items(new_items(rows))
    if not isinstance(again, QueryExpansionRanker):  # new items expand queries
        assert np.array_equal(steady(again).scores(widened(rows))[:, :N_DOCS], before)
    word = sp.csr_array(np.eye(1, rows.shape[1] + 2, rows.shape[1] + 1, dtype=np.float32))
    scores = again.scores(word)[0]
    if method.name in WITHOUT_WORDS:
        assert not scores.any()
    else:
        assert scores[N_DOCS + 1] > 0
        assert isinstance(again, QueryExpansionRanker | BlendRanker) or not np.delete(scores, N_DOCS + 1).any()
        assert again.explain(word, N_DOCS + 1).total == pytest.approx(scores[N_DOCS + 1], abs=1e-5)
    with pytest.raises(TacitError, match=f"want {rows.shape[1] + 2}"):
        again.add_items(rows[:1])


def test_a_ranker_that_has_grown_is_saved_and_loaded(again, rows):
    if getattr(again, "items", None) == "free" or again.features == "words+grams":
        return
    again.add_items(new_items(rows)).remove_items([1])
    header, arrays = pack_estimator(again)
    loaded = unpack_estimator(json.loads(json.dumps(header)), arrays, find_class)
    assert (loaded.n_added_, loaded.n_removed_) == (N_NEW, 1)
    assert np.array_equal(loaded.scores(widened(rows)), again.scores(widened(rows)))
    loaded.add_items(widened(new_items(rows), 1))
    assert loaded.n_added_ == 2 * N_NEW


def test_explanations_add_up_to_the_scores(fitted, rows):
    scores = fitted.scores(rows[[5]])[0]
    assert fitted.explain(rows[[5]], 9).total == pytest.approx(scores[9], abs=1e-4)
    assert fitted.explain(rows[[5]], 9, 12).total == pytest.approx(scores[9] - scores[12], abs=1e-4)


def test_asking_too_early_is_told(method, rows):
    with pytest.raises(NotFittedError, match="call fit first"):
        make(method).rank(rows)


@pytest.mark.parametrize("k", [0, -1, 2.5])
def test_refuses_a_wrong_k(fitted, rows, k):
    with pytest.raises(TacitError, match="k is"):
        fitted.rank(rows, k=k)


def test_refuses_features_of_another_width_and_numbers_that_are_none(fitted, rows):
    with pytest.raises(TacitError, match=f"queries has 3 features, want {rows.shape[1]}"):
        fitted.rank(np.ones((1, 3)))
    bad = np.ones((2, rows.shape[1]))
    bad[1, 4] = np.nan
    with pytest.raises(TacitError, match="NaN or infinity in row 1"):
        fitted.rank(bad)
