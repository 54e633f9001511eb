"""The score written out in dense NumPy is the oracle; in a world of rare words only hashing finds the answers."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Collection, Links, StoreError, TacitError, UsageError
from tacit.features import WordGramVectorizer
from tacit.features.cfh import correlated_words, hash_map
from tacit.retrieve import METHODS, CfhRanker, EmbeddingRanker, get_method
from tacit.retrieve.margin.cfh import WEIGHTS
from tacit.retrieve.margin.tasks import make_task
from tacit.retrieve.training_data import TrainingData
from tacit.search import Searcher
from tacit.search.models import find_class
from tacit.store import pack_estimator, unpack_estimator

N_DOCS, N_TOPICS, N_FREQUENT = 60, 6, 12


def unit_rows(matrix):
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return sp.csr_array((matrix / np.where(lengths > 0, lengths, 1)).astype(np.float32))


@pytest.fixture(scope="module")
def world():
    """Six topics; links join documents of a topic.

    Of the 12 frequent words only one in four documents has its topic's two; all others hold a single frequent
    word of no meaning and rare words, each of two documents of a topic: one that shows its topic, one that hides it.
    """
    rng = np.random.default_rng(0)
    topic = np.arange(N_DOCS) % N_TOPICS
    counts = np.zeros((N_DOCS, N_FREQUENT + 1 + 2 * N_DOCS), np.float32)
    counts[:, N_FREQUENT] = 0.3
    for t in range(N_TOPICS):
        docs = rng.permutation(np.flatnonzero(topic == t))
        shows, hides = docs[:3], docs[3:]
        counts[shows, 2 * t] = counts[shows, 2 * t + 1] = 1
        for number, doc in enumerate(hides):
            for copy in range(2):
                rare = N_FREQUENT + 1 + 2 * doc + copy
                counts[[doc, shows[(number + copy) % 3]], rare] = 1
    order = np.argsort(-(counts > 0).sum(axis=0), kind="stable")
    pairs = [(a, b) for a in range(N_DOCS) for b in rng.choice(np.flatnonzero(topic == topic[a]), 4) if a != b]
    links = Links(*np.unique(pairs, axis=0).T, N_DOCS, N_DOCS)
    return {"rows": unit_rows(counts[:, order]), "links": links, "topic": topic, "n": N_FREQUENT + 1}


@pytest.fixture(scope="module")
def fitted(world):
    return CfhRanker(8, n_words=world["n"], k=2).fit(world["rows"], world["rows"], world["links"])


def precision(ranker, world):
    """Share of the nine other documents of a topic among the first nine."""
    best = ranker.rank(world["rows"], 9, exclude=sp.csr_array(np.eye(N_DOCS, dtype=bool))).items
    return np.mean(world["topic"][best] == world["topic"][:, None])


def hashed(rows, ranker):
    return unit_rows(rows.toarray() @ ranker.map_.toarray()).toarray().astype(np.float64)


def dense_scores(ranker, queries, items):
    vectors, n = ranker.vectors_, len(ranker.vectors_.query_table_)
    single = queries.shape[1] if ranker.first_gram is None else ranker.first_gram
    x, y = queries.toarray().astype(np.float64), items.toarray().astype(np.float64)
    scores = x[:, :single] @ y[:, :single].T + (x[:, :n] @ vectors.query_table_) @ (y[:, :n] @ vectors.item_table_).T
    tables = ranker.hashed_.query_table_, ranker.hashed_.item_table_
    low = (hashed(queries, ranker) @ tables[0]) @ (hashed(items, ranker) @ tables[1]).T
    return scores + ranker.mu_ * low


def test_scores_are_those_of_the_formula(fitted, world):
    rows = world["rows"]
    assert fitted.mu_ > 0
    np.testing.assert_allclose(fitted.scores(rows), dense_scores(fitted, rows, rows), atol=1e-5)


def test_rare_words_find_what_frequent_words_cannot(fitted, world):
    frequent_alone = EmbeddingRanker(8, n_words=world["n"]).fit(world["rows"], world["rows"], world["links"])
    assert precision(fitted, world) > 0.9 > precision(frequent_alone, world) + 0.1


def test_the_map_holds_the_other_words_only(fitted, world):
    best = correlated_words(world["rows"], world["n"], 2).words
    table = fitted.map_.toarray()
    assert not table[: world["n"]].any()
    for word in range(world["n"], len(table)):
        assert set(np.flatnonzero(table[word])) == set(best[word][best[word] >= 0])
        assert np.all(table[word][table[word] > 0] == 0.5)


def test_a_mixture_of_nothing_is_the_model_of_frequent_words(world):
    rows, links = world["rows"], world["links"]
    none = CfhRanker(8, n_words=world["n"], mu=0.0).fit(rows, rows, links)
    alone = EmbeddingRanker(8, n_words=world["n"]).fit(rows, rows, links)
    np.testing.assert_allclose(none.scores(rows), alone.scores(rows), atol=1e-6)


def test_the_weight_is_the_best_on_validation(fitted, world):
    rows, links = world["rows"], world["links"]
    task = make_task(TrainingData(rows, rows, links, queries_are_items=True), 0)
    again = CfhRanker(8, n_words=world["n"], k=2, mu=1.0).fit(rows, rows, links)
    values = []
    for again.mu_ in WEIGHTS:
        values.append(task.values(again)["MAP"].mean())
    assert fitted.mu_ == WEIGHTS[int(np.argmax(values))]


def test_where_every_word_has_a_vector_nothing_is_hashed(world):
    rows, links = world["rows"], world["links"]
    ranker = CfhRanker(4, n_words=5000, n_epochs=2).fit(rows, rows, links)
    assert (ranker.map_.nnz, ranker.mu_, ranker.hashed_) == (0, 0.0, None)
    all_words = EmbeddingRanker(4, n_epochs=2).fit(rows, rows, links)
    np.testing.assert_allclose(ranker.scores(rows), all_words.scores(rows), atol=1e-6)
    assert ranker.explain(rows[[1]], 2).total == pytest.approx(ranker.scores(rows[[1]])[0, 2], abs=1e-5)


@pytest.mark.parametrize("other", [None, 7])
def test_explanations_add_up_and_name_the_words_of_the_texts(fitted, world, other):
    rows = world["rows"]
    scores = dense_scores(fitted, rows[[5]], rows)[0]
    explained = fitted.explain(rows[[5]], 11, other)
    assert explained.total == pytest.approx(scores[11] - (0 if other is None else scores[other]), abs=1e-5)
    items = rows[[11]] if other is None else rows[[11, other]]
    assert {term.query_word for term in explained.terms} <= set(rows[[5]].indices)
    assert {term.item_word for term in explained.terms} <= set(items.indices)
    assert any(term.kind == "pair" and term.item_word >= world["n"] for term in explained.terms)


def test_vectors_of_both_sides_give_the_score_without_shared_words(fitted, world):
    rows = world["rows"]
    products = fitted.embed_queries(rows) @ fitted.embed_items(rows).T
    shared = (rows @ rows.T).toarray()
    np.testing.assert_allclose(products + shared, fitted.scores(rows), atol=1e-5)


def test_new_items_are_scored_like_old_ones(world):
    rows, links = world["rows"], world["links"]
    ranker = CfhRanker(8, n_words=world["n"], n_epochs=3).fit(rows, rows, links)
    before = ranker.scores(rows)
    ranker.add_items(rows[[3, 8]])
    after = ranker.scores(rows)
    assert np.array_equal(after[:, :N_DOCS], before)
    assert np.array_equal(after[:, N_DOCS:], before[:, [3, 8]])
    assert ranker.explain(rows[[0]], N_DOCS).total == pytest.approx(after[0, N_DOCS], abs=1e-5)
    with pytest.raises(TacitError, match="features"):
        ranker.add_items(np.ones((1, 3)))


def test_the_number_of_threads_changes_no_bit(world):
    rows, links = world["rows"], world["links"]
    one, three = (CfhRanker(4, n_words=9, n_epochs=2, threads=n).fit(rows, rows, links) for n in (1, 3))
    assert np.array_equal(one.scores(rows), three.scores(rows))


def test_given_triples_teach_both_models(world):
    rows, topic = world["rows"], world["topic"]
    rng = np.random.default_rng(4)
    triples = np.array([t for t in rng.integers(0, N_DOCS, (4000, 3)) if topic[t[0]] == topic[t[1]] != topic[t[2]]])
    triples = triples[triples[:, 0] != triples[:, 1]]
    ranker = CfhRanker(8, n_words=world["n"], k=2).fit(rows, rows, triples)
    assert precision(ranker, world) > 0.9


def test_saving_and_loading_changes_no_bit(fitted, world):
    header, arrays = pack_estimator(fitted)
    again = unpack_estimator(header, arrays, find_class)
    assert np.array_equal(again.scores(world["rows"]), fitted.scores(world["rows"]))
    assert again.chosen() == fitted.chosen() == {"mu": fitted.mu_}


@pytest.mark.parametrize("name", ["vectors_/item_vectors_", "hashed_/item_table_", "vectors_/query_table_"])
def test_a_model_whose_arrays_do_not_fit_is_refused(fitted, name):
    header, arrays = pack_estimator(fitted)
    with pytest.raises((StoreError, TacitError)):
        unpack_estimator(header, arrays | {name: arrays[name][:, :-1]}, find_class)


def gram_world():
    """Each topic is an order of two words that all topics share: only 2-grams tell topics apart."""
    rng = np.random.default_rng(1)
    orders = [("ab", "cd"), ("ba", "dc"), ("ac", "bd")]
    topic = np.arange(45) % 3
    texts = []
    for t in topic:
        parts = [" ".join(rng.permutation(orders[t])[0]) for _ in range(6)]
        texts.append(" . ".join(parts).replace(".", rng.choice(["x", "y", "z"])))
    pairs = [(a, b) for a in range(45) for b in rng.choice(np.flatnonzero(topic == topic[a]), 3) if a != b]
    return texts, Links(*np.unique(pairs, axis=0).T, 45, 45), topic


@pytest.mark.parametrize("name", ["cfh-2gram", "cfh-1+2gram"])
def test_2_grams_are_hashed_from_texts_to_scores(name):
    texts, links, _ = gram_world()
    vectorizer = WordGramVectorizer(grams=30)
    rows = vectorizer.fit_transform(texts)
    start = vectorizer.grams_from_
    ranker = get_method(name).make(dim=6, first_gram=start)
    ranker.n_words, ranker.k, ranker.n_epochs = 4, 2, 6
    ranker.fit(rows, rows, links)
    table = ranker.map_.toarray()
    assert table[start:].any(axis=1).all()
    assert not table[:4].any()
    assert table[4:start].any() == (name == "cfh-1+2gram")
    ranker.mu_ = 0.7  # whatever was chosen: the hashed part must count below
    np.testing.assert_allclose(ranker.scores(rows), dense_scores(ranker, rows, rows), atol=1e-5)
    assert ranker.explain(rows[[2]], 5, 9).total == pytest.approx(
        float(np.subtract(*dense_scores(ranker, rows[[2]], rows[[5, 9]])[0])), abs=1e-5
    )
    header, arrays = pack_estimator(ranker)
    assert np.array_equal(unpack_estimator(header, arrays, find_class).scores(rows), ranker.scores(rows))


def test_registered_systems():
    assert get_method("ssi-uv-n").offer(dim=7, seed=1).n_words == 5000
    assert get_method("cfh-1gram").offer(dim=None, seed=1).get_params(deep=False)["dim"] == 100
    assert get_method("ssi-d").offer(dim=50).dim == 0  # that it has no vectors is the method
    assert {name for name, method in METHODS.items() if method.make().features == "words+grams"} == {
        "cfh-2gram",
        "cfh-1+2gram",
    }
    with pytest.raises(UsageError, match="cfh-2gram"):
        get_method("cfh-2grams")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"hashed": "letters"}, "hashed is 'letters'"),
        ({"hashed": "grams"}, "hashed is 'grams' without first_gram"),
        ({"hashed": "grams", "first_gram": 9999}, "first_gram is 9999"),
        ({"n_words": 0}, "n_words is 0"),
        ({"n_frequent": 0}, "n_frequent is 0"),
        ({"k": 0}, "k is 0"),
        ({"dim": 0}, "dim is 0"),
        ({"mu": -1}, "mu is -1"),
        ({"rate": 0}, "rate is 0"),
    ],
)
def test_refuses_settings_that_mean_nothing(how, message, world):
    with pytest.raises(TacitError, match=message):
        CfhRanker(**how).fit(world["rows"], world["rows"], world["links"])


def test_refuses_two_dictionaries_and_negative_features(world):
    rows, links = world["rows"], world["links"]
    with pytest.raises(TacitError, match="one dictionary"):
        CfhRanker().fit(rows[:, :5], rows, links)
    with pytest.raises(TacitError, match="none below 0"):
        CfhRanker(4, n_words=5, n_epochs=1).fit(-rows, -rows, links)


def test_occurrences_of_terms_reach_the_map_and_are_asked_for(world):
    rows, links = world["rows"], world["links"]
    ranker = CfhRanker(4, n_words=world["n"], k=2, n_epochs=1, occur="occurrences")
    numbers = np.random.default_rng(1).integers(1, 50, rows.shape[1])
    found = ranker.fit(rows, rows, links, occurrences=numbers).map_
    best = correlated_words(rows, world["n"], 2, first=world["n"], occurrences=(numbers, numbers)).words
    assert np.array_equal(found.toarray(), hash_map(best, world["n"]).toarray())
    by_documents = correlated_words(rows, world["n"], 2, first=world["n"]).words
    assert not np.array_equal(best, by_documents)
    with pytest.raises(UsageError, match="occurrences given to fit: none, want one number for each of"):
        ranker.clone().fit(rows, rows, links)


def test_a_searcher_counts_the_occurrences():
    texts = ["red red red fox", "red dog", "blue fox fox", "blue dog wolf"] * 3
    documents = Collection([str(row) for row in range(12)], [""] * 12, texts)
    links = Links(np.arange(11), np.arange(1, 12), 12, 12)
    searcher = Searcher("cfh-1gram", occur="occurrences", n_words=2, dim=2, n_epochs=1).fit(documents, links=links)
    assert searcher.ranker_.occur == "occurrences"
