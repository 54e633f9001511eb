"""What every ranker of collections must do, whatever its method; a new method is tested by registering."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links, NotFittedError, TacitError
from tacit.retrieve import METHODS

N_DOCS, N_WORDS, N_TOPICS = 60, 40, 4


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
    return method.offer(dim=8, grams_from=N_WORDS if method.make().features == "words+grams" else None)


@pytest.fixture(scope="module")
def fitted(world, rows, method):
    return make(method).fit(rows, rows, world["links"])


def test_answers_are_of_the_query_topic(fitted, rows, world):
    best = fitted.rank(rows, k=5).items
    assert np.mean(world["topic"][best] == world["topic"][:, None]) > 0.8  # a quarter would be chance


def test_rank_is_the_order_of_the_scores(fitted, rows):
    scores = np.concatenate([block for _, block in fitted.score_blocks(rows)])
    ranking = fitted.rank(rows, k=7)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :7]
    assert np.array_equal(ranking.items, expected)
    assert np.array_equal(ranking.scores, np.take_along_axis(scores, expected, axis=1))


def test_a_query_alone_gets_the_same_bits(fitted, rows):
    together = fitted.scores(rows)
    assert all(np.array_equal(fitted.scores(rows[[q]])[0], together[q]) for q in range(0, N_DOCS, 7))


def test_the_number_of_threads_changes_no_bit(fitted, rows, monkeypatch):
    monkeypatch.setattr("tacit.retrieve.base.BLOCK_BYTES", 4 * N_DOCS * 5)
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
    scores = fitted.scores(empty)
    assert np.isfinite(scores).all()


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
