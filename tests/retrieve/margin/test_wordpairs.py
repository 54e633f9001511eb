"""Explicit features of all word pairs in float64 are the oracle; a world of synonyms has one right answer."""

from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import DivergedError, Links, StoreError, TacitError, UsageError
from tacit.retrieve.margin.wordpair_sgd import PRIME, PairSettings, Pattern, Segments, WordPairTrainer
from tacit.retrieve.margin.wordpairs import FullPairRanker, HashedPairRanker, SparsePairRanker
from tacit.search.models import find_class
from tacit.store import pack_estimator, unpack_estimator

N_WORDS = 6
FORMS = {
    "full": lambda **how: FullPairRanker(**how),
    "perceptron": lambda **how: FullPairRanker(identity="none", **how),
    "zerodiag": lambda **how: FullPairRanker(identity="barred", **how),
    "hashed": lambda **how: HashedPairRanker(50, identity="none", **how),
    "hashed+i": lambda **how: HashedPairRanker(50, **how),
    "sparse": lambda **how: SparsePairRanker(3, **how),
}


def random_rows(rng, n_rows, n_words=N_WORDS, share=0.6):
    values = rng.normal(size=(n_rows, n_words)).astype(np.float32)
    return sp.csr_array(values * (rng.random((n_rows, n_words)) < share))


def pair_map(n_buckets):
    """The explicit projection (n_buckets, all pairs) of a hash kernel: pair (s, t) has a 1 at (sP + t) mod H."""
    s, t = np.divmod(np.arange(N_WORDS * N_WORDS), N_WORDS)
    matrix = np.zeros((n_buckets, N_WORDS * N_WORDS))
    matrix[(s * PRIME + t) % n_buckets, np.arange(N_WORDS * N_WORDS)] = 1
    return matrix


def pattern_map(columns):
    """The explicit projection of a sparse matrix: only the pairs of the pattern have a feature."""
    matrix = np.zeros((columns.size, N_WORDS * N_WORDS))
    matrix[np.arange(columns.size), (np.arange(len(columns))[:, None] * N_WORDS + columns).ravel()] = 1
    return matrix


def stored_weights(rng, form):
    """Random weights in one of the forms, and the projection from all pairs of words to its numbers."""
    if form == "full":
        return Segments.full(rng.normal(size=(N_WORDS, N_WORDS)).astype(np.float32)), np.eye(N_WORDS**2)
    if form in ("hashed", "crowded"):
        n_buckets = 11 if form == "hashed" else N_WORDS - 2
        return Segments.hashed(rng.normal(size=n_buckets).astype(np.float32)), pair_map(n_buckets)
    columns = np.sort(np.argsort(rng.random((N_WORDS, N_WORDS)))[:, :2].astype(np.int32), axis=1)
    return Pattern(columns, rng.normal(size=columns.shape).astype(np.float32)), pattern_map(columns)


def score(numbers, alpha, projection, x, y):
    return numbers @ (projection @ np.outer(x, y).ravel()) + alpha * (x @ y)


class Case:
    """A trainer on random rows, with the features of all that it may meet."""

    def __init__(self, seed, form, threads=1, **settings):
        rng = np.random.default_rng(seed)
        self.queries, self.items = random_rows(rng, 5), random_rows(rng, 7)
        weights, self.projection = stored_weights(rng, form)
        how = PairSettings(block=5, n_drawn=7, learn_alpha=True, **settings)
        self.trainer = WordPairTrainer(lambda: deepcopy(weights), 0.7, self.queries, self.items, False, how, threads)
        self.before, self.rng = weights.numbers.ravel().astype(np.float64), rng
        self.x, self.y = self.queries.toarray().astype(np.float64), self.items.toarray().astype(np.float64)

    def numbers(self):
        return self.trainer.weights.numbers.ravel()


@pytest.mark.parametrize("form", ["full", "hashed", "crowded", "sparse"])
@given(seed=st.integers(0, 2**32 - 1), threads=st.sampled_from([1, 2]))
@settings(max_examples=8, deadline=None)
def test_a_block_moves_the_weights_along_all_its_pulls(form, seed, threads):
    case = Case(seed, form, threads)
    trainer, pool, asked = case.trainer, np.array([6, 0, 3, 2]), np.array([4, 0, 2])
    gradients = case.rng.normal(size=(4, 3)).astype(np.float32)
    scores = np.empty((4, 3))

    def find_gradients(comparison, scale, start, stop):
        scores[:, start:stop] = comparison.scores[:4, start:stop]
        comparison.gradients[:4, start:stop] = gradients[:, start:stop]

    trainer._pool[:4] = pool
    with trainer.running():
        trainer._step(asked, 4, find_gradients, 0.3)
    features = [[case.projection @ np.outer(case.x[q], case.y[i]).ravel() for q in asked] for i in pool]
    expected = [[score(case.before, 0.7, case.projection, case.x[q], case.y[i]) for q in asked] for i in pool]
    np.testing.assert_allclose(scores, expected, atol=1e-4)  # float32 sums of some thirty terms
    np.testing.assert_allclose(
        case.numbers(), case.before + 0.3 * np.einsum("ib,ibh->h", gradients, features), atol=1e-4
    )
    shared = np.einsum("ib,iw,bw->", gradients, case.y[pool], case.x[asked])
    assert trainer.alpha == pytest.approx(0.7 + 0.3 * shared / 3, abs=1e-4)


@pytest.mark.parametrize("form", ["full", "hashed", "sparse"])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=8, deadline=None)
def test_a_block_of_triples_goes_down_the_numerical_gradient(form, seed):
    margin, h = 0.5, 1e-6
    case = Case(seed, form, margin=margin)
    triples = np.array([[0, 1, 2], [1, 0, 3], [2, 4, 6], [4, 5, 1]])

    def loss(numbers, alpha):
        gaps = [score(numbers, alpha, case.projection, case.x[q], case.y[a] - case.y[b]) for q, a, b in triples]
        return np.maximum(0, margin - np.array(gaps)).sum()

    def slope(along):
        up, down = (loss(case.before + sign * h * along[:-1], 0.7 + sign * h * along[-1]) for sign in (1, -1))
        return (up - down) / (2 * h)

    expected = np.array([-slope(axis) for axis in np.eye(len(case.before) + 1)])
    with case.trainer.running():
        found = case.trainer.epoch_on_triples(triples, np.ones(4), np.random.default_rng(0), (1.0, 1.0))
    assert found == pytest.approx(loss(case.before, 0.7) / 4, abs=1e-4)
    np.testing.assert_allclose(case.numbers() - case.before, expected[:-1], atol=1e-4)
    assert case.trainer.alpha - 0.7 == pytest.approx(expected[-1] / 4, abs=1e-4)


def test_thinning_keeps_the_largest_of_each_row():
    matrix = np.random.default_rng(1).normal(size=(40, 30)).astype(np.float32)
    first = Pattern.largest_of(matrix, 12, threads=2)
    second = first.thinned(4)
    for pattern, n_kept in ((first, 12), (second, 4)):
        border = np.sort(np.abs(matrix), axis=1)[:, -n_kept, None]
        assert np.array_equal(pattern.matrix(30).toarray(), np.where(np.abs(matrix) >= border, matrix, 0))
    assert Pattern.largest_of(matrix, 99).columns.shape == (40, 30)


def test_divergence_goes_back_to_the_best_state_or_to_the_first():
    case = Case(0, "hashed")
    trainer, state = case.trainer, case.trainer.state
    first = case.numbers().copy(), trainer.alpha
    state.start_epoch()
    assert not state.copies  # the first state is made anew, not copied
    trainer.weights.numbers[0], trainer._alpha[0] = np.nan, 9.0
    assert not state.is_sound()
    state.go_back()
    assert np.array_equal(case.numbers(), first[0])
    assert trainer.alpha == first[1]
    trainer.weights.numbers[0], trainer._alpha[0] = 5, 2.0
    state.keep_best()
    memory = state.copies["best"]["numbers"]
    trainer.weights.numbers[0], trainer._alpha[0] = -np.inf, 3.0
    assert not state.is_sound()
    state.go_back()
    assert state.is_sound()
    assert (trainer.weights.numbers[0], trainer.alpha) == (5, 2.0)
    trainer.weights.numbers[0] = 6
    state.keep_best()
    assert state.copies["best"]["numbers"] is memory
    trainer.weights.numbers[0] = 7
    state.take_best()
    assert trainer.weights.numbers[0] == 6
    assert not state.copies


@pytest.fixture(scope="module")
def synonyms():
    """Two topics. Queries use words 0-3, items words 4-7; nothing is shared, so only pairs of words can tell."""
    rng = np.random.default_rng(2)
    topic = np.arange(48) % 2
    counts = np.zeros((48, 8), np.float32)
    for row, t in enumerate(topic):
        counts[row, 4 * (row >= 24) + 2 * t + np.arange(2)] = 1 + rng.random(2)
    counts += 0.1 * rng.random(counts.shape) * (rng.random(counts.shape) < 0.2)
    rows = sp.csr_array(counts / np.linalg.norm(counts, axis=1, keepdims=True))
    sources, targets = (part.ravel() for part in np.meshgrid(np.arange(16), np.arange(24, 40)))
    right = topic[sources] == topic[targets]
    return rows, Links(sources[right], targets[right], 48, 48), topic


@pytest.mark.parametrize("form", sorted(FORMS))
def test_learns_that_words_never_shared_mean_the_same(form, synonyms):
    rows, links, topic = synonyms
    ranker = FORMS[form](n_epochs=6).fit(rows, rows, links)
    scores = ranker.scores(rows[16:24])[:, 40:]  # queries and items that no link has shown
    same = topic[16:24, None] == topic[None, 40:]
    assert scores[same].min() > scores[~same].max()


@pytest.mark.parametrize("form", sorted(FORMS))
def test_one_two_and_four_threads_learn_the_same_bits(form, synonyms):
    rows, links, _ = synonyms
    states = [pack_estimator(FORMS[form](n_epochs=3, threads=n).fit(rows, rows, links)) for n in (1, 2, 4)]
    assert all(state[0]["numbers"] == states[0][0]["numbers"] for state in states)
    assert all(np.array_equal(state[1][name], states[0][1][name]) for state in states for name in states[0][1])


@pytest.mark.parametrize("form", sorted(FORMS))
def test_a_stored_ranker_has_the_same_scores_and_takes_new_items(form, synonyms):
    rows, links, _ = synonyms
    ranker = FORMS[form](n_epochs=2).fit(rows, rows, links)
    again, before = unpack_estimator(*pack_estimator(ranker), find_class), ranker.scores(rows)
    assert np.array_equal(again.scores(rows), before)
    again.add_items(rows[[3, 30]])
    after = again.scores(rows)
    assert np.array_equal(after[:, :48], before)
    assert np.array_equal(after[:, 48:], before[:, [3, 30]])


def test_a_barred_diagonal_stays_zero_and_the_rest_learns(synonyms):
    rows, links, _ = synonyms
    ranker = FORMS["zerodiag"](n_epochs=3).fit(rows, rows, links)
    assert (np.diag(ranker.weights_) == 0).all()
    assert (ranker.weights_ != 0).any()


def test_a_sparse_matrix_has_so_many_entries_and_says_how_it_came_there(synonyms):
    rows, links, _ = synonyms
    ranker = SparsePairRanker(3, n_epochs=8).fit(rows, rows, links)
    assert ranker.weights_.shape == (8, 8)
    assert (np.diff(ranker.weights_.indptr) == 3).all()
    assert [epoch["epoch"] for epoch in ranker.epochs_] == list(range(1, 8 + 4 * 2 + 1))  # 1000, 100, 10 and 3
    assert ranker.best_epoch_ > 8 + 3 * 2


def test_the_weights_are_those_of_the_best_epoch(synonyms):
    rows, links, _ = synonyms
    ranker = FullPairRanker(n_epochs=5, rate=0.02).fit(rows, rows, links)
    values = [epoch["MAP"] for epoch in ranker.epochs_]
    assert ranker.best_epoch_ == 1 + int(np.argmax(values))


def test_shared_words_are_told_from_pairs(synonyms):
    rows, links, _ = synonyms
    kinds = {
        form: {term.kind for term in FORMS[form](n_epochs=1).fit(rows, rows, links).explain(rows[[0]], 2).terms}
        for form in FORMS
    }
    assert kinds["full"] == {"word", "pair"}
    assert kinds["perceptron"] == kinds["zerodiag"] == {"pair"}


def test_two_dictionaries_and_given_triples():
    rng = np.random.default_rng(4)
    queries, items = np.eye(4, dtype=np.float32), np.eye(4, 7, dtype=np.float32)
    triples = np.array([(q, q, o) for q in range(4) for o in range(4) if o != q for _ in range(8)])
    for ranker in (FullPairRanker(identity="none"), HashedPairRanker(1000, identity="none")):
        ranker.fit(queries, items, rng.permutation(triples), queries_are_items=False)
        assert np.array_equal(ranker.rank(queries, k=1).items.ravel(), np.arange(4))
        assert ranker.explain(queries[[1]], 1).total == pytest.approx(ranker.scores(queries[[1]])[0, 1], abs=1e-5)


def test_tuning_settles_on_a_rate_and_a_margin(synonyms):
    rows, links, _ = synonyms
    ranker = FullPairRanker(n_epochs=3, tune=True, rate=0.4).fit(rows, rows, links)
    assert ranker.rate_ in (0.2, 0.4, 0.8)
    assert ranker.margin_ in (0.1, 0.2, 0.4)


def test_a_rate_that_cannot_work_is_named(synonyms):
    rows, links, _ = synonyms
    with pytest.raises(DivergedError, match="rate 5e\\+29, after 1e\\+30 had failed too"):
        FullPairRanker(rate=1e30, n_epochs=4).fit(rows, rows, links)


@pytest.mark.parametrize(
    ("ranker", "problem"),
    [
        (FullPairRanker(identity="learned"), "identity is 'learned', want one of start, none, barred"),
        (HashedPairRanker(0), "n_buckets is 0, want a whole number from 1"),
        (SparsePairRanker(0), "n_per_row is 0"),
        (SparsePairRanker(2, identity="barred"), "identity is 'barred'"),
        (FullPairRanker(rate=0), "rate is 0"),
        (HashedPairRanker(margin=-1.0), "margin is -1"),
        (FullPairRanker(n_epochs=0), "n_epochs is 0"),
        (FullPairRanker(seed=-1), "seed is -1"),
    ],
)
def test_refuses_settings_that_make_no_sense(ranker, problem, synonyms):
    rows, links, _ = synonyms
    with pytest.raises((TacitError, UsageError), match=problem):
        ranker.fit(rows, rows, links)


def test_refuses_two_dictionaries_with_an_identity_and_matrices_beyond_memory():
    links = Links(np.array([0, 1]), np.array([1, 2]), 3, 3)
    with pytest.raises(TacitError, match="queries have 4 features and items 3: two dictionaries"):
        FullPairRanker().fit(np.ones((3, 4)), np.ones((3, 3)), links, queries_are_items=False)
    wide = sp.csr_array((3, 60_000), dtype=np.float32)
    with pytest.raises(TacitError, match="a full matrix for 60000 x 60000 words has 3.6e\\+09 entries"):
        FullPairRanker().fit(wide, wide, links)


def restored(ranker, params=None, **arrays):
    """The ranker from its state with some parts exchanged."""
    header, stored = pack_estimator(ranker)
    return unpack_estimator(header | {"params": header["params"] | (params or {})}, stored | arrays, find_class)


def test_refuses_stored_parts_that_do_not_fit(synonyms):
    rows, links, _ = synonyms
    hashed, full, sparse = (FORMS[form](n_epochs=1).fit(rows, rows, links) for form in ("hashed", "full", "sparse"))
    with pytest.raises(StoreError, match="the table has 5 buckets, want 50"):
        restored(hashed, buckets_=hashed.buckets_[:5])
    with pytest.raises(UsageError, match="n_buckets is 0, want a whole number from 1"):
        restored(hashed, {"n_buckets": 0}, buckets_=hashed.buckets_[:0])
    with pytest.raises(StoreError, match="identity is 'barred', want one of learned, none"):
        restored(hashed, {"identity": "barred"})
    with pytest.raises(StoreError, match="the weights are for 8 and 5 words, want 8 and 8"):
        restored(full, weights_=full.weights_[:, :5])
    for ranker, weights in ((full, sparse.weights_), (sparse, full.weights_)):
        ranker.weights_ = weights
        with pytest.raises(StoreError, match="the weights are a"):
            restored(ranker)
    hashed.items_ = hashed.items_.toarray()
    with pytest.raises(StoreError, match="items are a dense matrix"):
        restored(hashed)
