"""Oracles of the baselines: dense NumPy, the libraries called directly, and settings with one right answer."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links, TacitError
from tacit.metrics import full_ranking_measures
from tacit.retrieve import Bm25Ranker, CosineRanker, LsiRanker, LsiTfidfRanker, QueryExpansionRanker
from tacit.retrieve.factors import Words, make_factors
from tacit.retrieve.lexical import bm25
from tacit.retrieve.validation import choose_mixture, held_out_queries, hold_out


def random_unit_rows(rng, n_rows=30, n_words=20):
    rows = rng.random((n_rows, n_words)) * (rng.random((n_rows, n_words)) < 0.4)
    rows[:, 0] += 0.01
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_cosine_is_the_product_for_sparse_and_dense_rows():
    rows = random_unit_rows(np.random.default_rng(0))
    expected = rows.astype(np.float64) @ rows.T
    for form in (rows, sp.csr_array(rows)):
        np.testing.assert_allclose(CosineRanker().fit(None, form).scores(form), expected, atol=1e-6)


def test_expansion_adds_beta_times_the_mean_of_the_best():
    rng = np.random.default_rng(1)
    items, queries = random_unit_rows(rng), random_unit_rows(rng, 4)
    ranker = QueryExpansionRanker(beta=0.7, n_expand=3).fit(None, sp.csr_array(items))
    for query, scores in zip(queries, ranker.scores(sp.csr_array(queries)), strict=True):
        best = np.argsort(-(items @ query), kind="stable")[:3]
        np.testing.assert_allclose(scores, items @ (query + 0.7 * items[best].mean(axis=0)), atol=1e-5)


def test_expansion_does_not_look_at_what_is_no_candidate():
    """The document that a query was taken from would give its links away."""
    items = sp.csr_array(np.array([[0.6, 0.8, 0], [0.6, 0, 0.8], [0, 1, 0]], np.float32))
    query, own = sp.csr_array(np.array([[1, 0, 0]], np.float32)), sp.csr_array(np.array([[True, False, False]]))
    ranker = QueryExpansionRanker(beta=1, n_expand=1).fit(None, items)
    assert ranker.scores(query)[0, 2] == pytest.approx(0.8)
    assert ranker.scores(query, exclude=own)[0, 2] == 0
    assert ranker.rank(query, k=2, exclude=own).items.tolist() == [[1, 2]]


def test_expansion_chooses_the_setting_with_the_best_precision_on_training_pairs(monkeypatch):
    rng = np.random.default_rng(2)
    rows = sp.csr_array(random_unit_rows(rng))
    pairs = Links(np.arange(30), (np.arange(30) + 7) % 30, 30, 30)
    chosen = QueryExpansionRanker().fit(rows, rows, pairs)
    held = held_out_queries(rows, pairs, None, queries_are_items=True)

    def precision(beta, size):
        scores = QueryExpansionRanker(beta, size).fit(None, rows).scores(held.queries, exclude=held.excluded)
        return full_ranking_measures(scores, held.relevant, held.excluded)["AP"].mean()

    grid = {
        (beta, size): precision(beta, size) for beta in (0.05, 0.1, 0.2, 0.4, 0.8, 1.6) for size in (1, 2, 5, 10, 20)
    }
    assert precision(chosen.beta_, chosen.n_expand_) == pytest.approx(max(grid.values()), abs=1e-9)


def test_lsi_is_the_cosine_after_an_exact_svd():
    rows = random_unit_rows(np.random.default_rng(4))
    _, _, right = np.linalg.svd(rows, full_matrices=False)
    vectors = rows @ right[:6].T
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ranker = LsiRanker(6, n_iter=20).fit(None, sp.csr_array(rows))
    np.testing.assert_allclose(ranker.scores(sp.csr_array(rows)), vectors @ vectors.T, atol=1e-3)


def test_lsi_with_more_concepts_than_rank_keeps_the_real_ones():
    rows = np.repeat(np.eye(3, 5, dtype=np.float32), 4, axis=0)
    ranker = LsiRanker(200).fit(None, rows)
    assert ranker.concepts_.shape == (5, 3)
    assert set(ranker.rank(rows[:1], k=4).items[0]) == {0, 1, 2, 3}


def test_the_mixture_is_what_its_name_says():
    rows = sp.csr_array(random_unit_rows(np.random.default_rng(5)))
    mixed = LsiTfidfRanker(5, alpha=0.3).fit(None, rows)
    expected = 0.3 * LsiRanker(5).fit(None, rows).scores(rows) + 0.7 * CosineRanker().fit(None, rows).scores(rows)
    np.testing.assert_allclose(mixed.scores(rows), expected, atol=1e-6)


def test_the_mixture_is_chosen_on_validation_and_not_on_training_pairs():
    """Training pairs want concepts, validation pairs want words: alpha must follow validation."""
    rng = np.random.default_rng(6)
    rows = sp.csr_array(random_unit_rows(rng, 60, 30))
    cosine, lsi = (ranker.fit(None, rows).scores(rows) for ranker in (CosineRanker(), LsiRanker(3)))
    for scores in (cosine, lsi):
        np.fill_diagonal(scores, -1)
    by_words = Links(np.arange(60), cosine.argmax(axis=1), 60, 60)
    by_concepts = Links(np.arange(60), lsi.argmax(axis=1), 60, 60)
    assert LsiTfidfRanker(3).fit(rows, rows, by_concepts, by_words).alpha_ < 0.3
    assert LsiTfidfRanker(3).fit(rows, rows, by_words, by_concepts).alpha_ > 0.7
    # As in the paper on SSI, the rank loss of training pairs decides.
    assert LsiTfidfRanker(3, alpha_by="training-rank-loss").fit(rows, rows, by_words, by_concepts).alpha_ == 0
    assert LsiTfidfRanker(3, alpha_by="training-rank-loss").fit(rows, rows, by_concepts, by_words).alpha_ > 0.7


def test_bm25_gives_the_scores_of_bm25s_itself():
    import bm25s

    rng = np.random.default_rng(7)
    counts = rng.poisson(0.5, (25, 12))
    texts = [[f"w{word}" for word in range(12) for _ in range(row[word])] for row in counts]
    direct = bm25s.BM25(k1=1.2, b=0.6)
    direct.index(texts, show_progress=False)
    query = [f"w{word}" for word in (3, 5, 5, 9)]
    row = np.bincount([3, 5, 5, 9], minlength=12)[None].astype(np.float32)
    ours = Bm25Ranker(k1=1.2, b=0.6).fit(None, sp.csr_array(counts)).scores(row)[0]
    np.testing.assert_allclose(ours, direct.get_scores(query), rtol=1e-5)


def test_bm25_gives_the_weights_of_bm25s_to_the_last_bit(monkeypatch):
    import bm25s

    monkeypatch.setattr(bm25, "_BLOCK_ROWS", 7)
    rng = np.random.default_rng(8)
    counts = rng.poisson(0.3, (50, 30)) * rng.integers(1, 30, (50, 30))
    texts = [np.repeat(np.arange(30), row).tolist() for row in counts]
    index = bm25s.BM25(k1=1.3, b=0.7).build_index_from_ids(list(range(30)), texts, show_progress=False)
    wanted = sp.csc_array((index["data"], index["indices"], index["indptr"]), shape=counts.shape)
    ours = Bm25Ranker(k1=1.3, b=0.7).fit(None, sp.csr_array(counts)).weights_
    assert np.array_equal(ours.toarray(), wanted.toarray())
    assert (ours.dtype, ours.indices.dtype) == (np.float32, np.int32)


def test_bm25_weighs_new_items_as_bm25s_does_with_the_numbers_of_fit():
    """A copy of the fitted collection has the same idf and mean length, so bm25s weighs its items alike."""
    rng = np.random.default_rng(4)
    counts = sp.csr_array(rng.poisson(0.5, (40, 25)).astype(np.float32))
    fitted = Bm25Ranker(k1=1.2, b=0.6).fit(None, counts)
    grown = Bm25Ranker(k1=1.2, b=0.6).fit(None, counts).add_items(counts[7:20])
    assert np.array_equal(grown.weights_[:40].toarray(), fitted.weights_.toarray())
    assert np.array_equal(grown.weights_[40:].toarray(), fitted.weights_[7:20].toarray())
    assert grown.mean_length_ == pytest.approx(counts.sum() / 40)


def test_bm25_gives_a_new_word_the_idf_of_its_first_items():
    rng = np.random.default_rng(5)
    counts = rng.poisson(0.5, (20, 6)).astype(np.float32)
    counts[:, 5] = 0  # in the vocabulary, but in no item
    new = np.array([[1, 0, 0, 0, 0, 2, 3], [0, 1, 0, 0, 0, 0, 1]], np.float32)
    ranker = Bm25Ranker().fit(None, sp.csr_array(counts)).add_items(sp.csr_array(new))
    for column, df in ((5, 1), (6, 2)):
        idf = np.log(1 + (22 - df + 0.5) / (df + 0.5))
        length = 1.5 * (0.25 + 0.75 * new.sum(axis=1) / counts.sum(axis=1).mean())
        expected = idf * new[:, column] / (new[:, column] + length)
        np.testing.assert_allclose(ranker.weights_[20:, [column]].toarray()[:, 0], expected, rtol=1e-6)
    weights = ranker.weights_.toarray()
    more = np.tile(new[:1], (5, 1))
    ranker.add_items(sp.csr_array(more))  # the idf stays
    assert np.array_equal(ranker.weights_.toarray()[:22], weights)
    assert np.array_equal(ranker.weights_[22:].toarray(), weights[[20] * 5])
    with pytest.raises(TacitError, match="whole numbers"):
        ranker.add_items(sp.csr_array(more / 2))
    assert (ranker.n_items_, ranker.n_added_, ranker.n_features_) == (27, 7, 7)


def test_dense_rows_do_not_grow():
    rows = random_unit_rows(np.random.default_rng(0))
    with pytest.raises(TacitError, match="new items have 21 features, want 20"):
        CosineRanker().fit(None, rows).add_items(np.ones((1, 21)))


@pytest.mark.parametrize("counts", [[[0.5, 1]], [[-1, 1]]])
def test_bm25_refuses_what_are_no_counts(counts):
    with pytest.raises(TacitError, match="word counts"):
        Bm25Ranker().fit(None, np.array(counts))


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (LsiRanker(0), "dim is 0"),
        (LsiTfidfRanker(2, alpha=1.5), "alpha is 1.5"),
        (LsiTfidfRanker(2, alpha_by="AP"), "alpha_by is 'AP'"),
        (QueryExpansionRanker(beta=-1), "beta is -1"),
        (QueryExpansionRanker(n_expand=0), "n_expand is 0"),
        (Bm25Ranker(b=2), "b is 2"),
    ],
)
def test_refuses_parameters_out_of_range(ranker, message):
    with pytest.raises(TacitError, match=message):
        ranker.fit(None, np.ones((4, 3)))


def test_held_out_queries_leave_out_themselves_and_what_is_known():
    rows = np.eye(4, dtype=np.float32)
    held = held_out_queries(rows, Links([2], [0], 4, 4), Links([2, 1], [3, 0], 4, 4), queries_are_items=True)
    assert held.relevant.toarray().tolist() == [[True, False, False, False]]
    assert held.excluded.toarray().tolist() == [[False, False, True, True]]


def test_hold_out_splits_by_query():
    pairs = Links(np.repeat(np.arange(40), 3), np.tile([1, 2, 3], 40), 40, 5)
    train, validation = hold_out(pairs, 0.1, seed=5)
    assert len(train) + len(validation) == len(pairs)
    assert not set(train.sources) & set(validation.sources)
    assert len(set(validation.sources)) == 4


def test_choose_mixture_takes_the_first_of_equals():
    rows = np.eye(3, dtype=np.float32)
    held = held_out_queries(rows, Links([0], [1], 3, 3), None, queries_are_items=True)
    scores = {"main": np.array([[0, 1, 0]], np.float32), "other": np.array([[0, 0, 1]], np.float32)}
    chosen = choose_mixture(lambda _: scores["main"], lambda _: scores["other"], held, [0.1, 0.5, 2.0])
    assert chosen == 0.1
    # The relevant item 1 has rank 1 by the main scores and rank 2 by the others: the least loss is at the least weight.
    by_loss = choose_mixture(lambda _: scores["other"], lambda _: scores["main"], held, [0.1, 0.5, 2.0], "rank_loss")
    assert by_loss == 2.0


@pytest.mark.parametrize("row_entry", [0.0, np.inf])
def test_scores_of_some_items_have_the_same_bits_by_postings_and_by_rows(monkeypatch, row_entry):
    monkeypatch.setattr("tacit.retrieve.factors.ROW_ENTRY", row_entry)
    rng = np.random.default_rng(5)
    items = sp.csr_array(random_unit_rows(rng, 200, 40))
    factors, items_at = make_factors(items), np.sort(rng.choice(200, 30, replace=False))
    for query in random_unit_rows(rng, 20, 40):
        row = sp.csr_array(query[None])
        every, some = np.zeros((1, 200), np.float32), np.zeros(30, np.float32)
        factors.add_scores(row, every)
        factors.add_scores_at(Words(row.indices, row.data), items_at, some)
        assert np.array_equal(some, every[0, items_at])
