"""Rankers across languages: a world of two languages with one right answer, tables against plain formulas."""

import json
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links, TacitError, UsageError
from tacit.retrieve import METHODS, ClLsiRanker, CrossRanker, get_method
from tacit.retrieve.margin.cross import AlternatingTasks, SecondTask, only_rows
from tacit.retrieve.margin.embedding_sgd import EmbeddingSettings, EmbeddingTrainer, Tables, TrainingRows
from tacit.retrieve.margin.tasks import PairTask
from tacit.search.models import find_class
from tacit.store import pack_estimator, unpack_estimator

N_TOPICS, COPIES = 6, 8


def world(seed=0, n_pairs=None):
    """Documents of six topics in two languages; a query wants the documents of its topic, but not its own mate."""
    rng = np.random.default_rng(seed)
    topics = np.repeat(np.arange(N_TOPICS), COPIES)
    n = len(topics)

    def rows(n_words):
        found = rng.random((n, n_words)) * 0.2
        found[np.arange(n), topics] += 1
        found[np.arange(n), N_TOPICS + topics] += 0.5
        return sp.csr_array((found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32))

    queries, items = rows(15), rows(18)
    pairs = [(a, b) for a in range(n) for b in range(n) if topics[a] == topics[b] and a != b]
    pairs = np.array(pairs)[np.sort(rng.permutation(len(pairs))[:n_pairs])]
    return queries, items, Links(pairs[:, 0], pairs[:, 1], n, n), topics


KINDS = (CrossRanker, ClLsiRanker)  # their mixtures are tested in `blend`


@pytest.fixture(
    scope="module", params=sorted(name for name, method in METHODS.items() if issubclass(method.estimator, KINDS))
)
def fitted(request):
    queries, items, pairs, topics = world()
    ranker = get_method(request.param).make(dim=8)
    if isinstance(ranker, CrossRanker):
        ranker.fit(queries, items, pairs, queries_are_items=True, links=pairs)
    else:
        mates = np.arange(len(topics))
        ranker.fit(queries, items, Links(mates, mates, len(mates), len(mates)), queries_are_items=True)
    return ranker, queries, items, topics


def test_an_unseen_query_finds_its_topic_in_the_other_language(fitted):
    ranker, _, _, topics = fitted
    fresh, _, _, _ = world(seed=1)
    found = ranker.rank(fresh, k=COPIES).items
    assert (topics[found] == topics[:, None]).mean() > 0.85  # by chance 0.17


def test_saving_and_loading_changes_no_bit(fitted):
    ranker, queries, _, _ = fitted
    header, arrays = pack_estimator(ranker)
    again = unpack_estimator(json.loads(json.dumps(header)), arrays, find_class)
    assert np.array_equal(again.scores(queries), ranker.scores(queries))


def test_a_new_item_scores_as_the_words_say(fitted):
    ranker, queries, items, _ = fitted
    again = unpack_estimator(*pack_estimator(ranker), find_class).add_items(items[[3]])
    vectors = again.embed_queries(queries) @ again.embed_items(items[[3]]).T
    np.testing.assert_allclose(again.scores(queries)[:, -1:], vectors, atol=1e-5)


def test_new_items_may_have_new_words_and_queries_stay_as_they_are(fitted):
    ranker, queries, items, _ = fitted
    again = unpack_estimator(*pack_estimator(ranker), find_class)
    wider = sp.csr_array(sp.hstack([items[[3, 4]], sp.csr_array(np.ones((2, 5), np.float32))], format="csr"))
    plain = unpack_estimator(*pack_estimator(ranker), find_class).add_items(items[[3, 4]])
    assert np.array_equal(again.add_items(wider).scores(queries), plain.scores(queries))  # new words have no vectors
    assert again.n_features_ == queries.shape[1]
    loaded = unpack_estimator(*pack_estimator(again), find_class)
    assert np.array_equal(loaded.remove_items([0]).scores(queries), plain.scores(queries)[:, 1:])


def test_explanations_add_up_across_the_languages(fitted):
    ranker, queries, _, _ = fitted
    scores = ranker.scores(queries[[5]])[0]
    assert ranker.explain(queries[[5]], 2).total == pytest.approx(scores[2], abs=1e-5)
    assert ranker.explain(queries[[5]], 2, 30).total == pytest.approx(scores[2] - scores[30], abs=1e-5)
    assert not any(term.kind == "word" for term in ranker.explain(queries[[5]], 2).terms)


def test_scores_are_the_formula():
    queries, items, pairs, _ = world()
    ranker = CrossRanker(4, n_epochs=3).fit(queries, items, pairs, queries_are_items=True)
    product = (queries @ ranker.query_table_) @ (items @ ranker.item_table_).T
    np.testing.assert_allclose(ranker.scores(queries), product, atol=1e-6)


@pytest.mark.parametrize("share", ["none", "both", "target"])
def test_same_seed_same_bits_for_any_number_of_threads(share):
    queries, items, pairs, _ = world()
    tables = [
        CrossRanker(4, share=share, n_epochs=2, threads=threads).fit(
            queries, items, pairs, queries_are_items=True, links=pairs
        )
        for threads in (1, 3)
    ]
    assert np.array_equal(tables[0].query_table_, tables[1].query_table_)
    assert np.array_equal(tables[0].item_table_, tables[1].item_table_)


@pytest.mark.parametrize("share", ["both", "target"])
def test_links_between_items_help_where_pairs_are_few(share):
    queries, items, _, topics = world()
    _, _, few, _ = world(n_pairs=12)
    _, _, links, _ = world()
    right = topics[:, None] == topics[None, :]

    def gap(ranker):
        scores = ranker.scores(world(seed=2)[0])
        return scores[right].mean() - scores[~right].mean()

    alone = CrossRanker(8, n_epochs=6).fit(queries, items, few, queries_are_items=True)
    both = CrossRanker(8, share=share, n_epochs=6).fit(queries, items, few, queries_are_items=True, links=links)
    assert gap(both) > gap(alone)


def test_links_between_queries_teach_the_words_of_queries():
    queries, items, links, _ = world()
    _, _, few, _ = world(n_pairs=6)
    fits = [
        CrossRanker(8, share="both", n_epochs=4).fit(
            queries, items, few, queries_are_items=True, links=links, query_links=more
        )
        for more in (None, links)
    ]
    sizes = [np.linalg.norm(ranker.query_table_) for ranker in fits]
    assert sizes[1] > 1.5 * sizes[0]  # six pairs alone teach little
    wrong = Links(np.array([0]), np.array([1]), 3, 3)
    with pytest.raises(UsageError, match="share='none' learns from no links"):
        CrossRanker(4).fit(queries, items, few, queries_are_items=True, query_links=links)
    with pytest.raises(UsageError, match="query_links join 3 to 3 rows"):
        CrossRanker(4, share="both").fit(queries, items, few, links=links, query_links=wrong)


def test_what_is_watched_stands_beside_the_epochs_and_decides_nothing():
    queries, items, pairs, _ = world()
    plain = CrossRanker(4, n_epochs=3).fit(queries, items, pairs, queries_are_items=True)
    watched = CrossRanker(4, n_epochs=3).fit(
        queries,
        items,
        pairs,
        queries_are_items=True,
        monitor=lambda ranker: {"first": float(ranker.scores(queries[[0]])[0, 0])},
    )
    assert np.array_equal(plain.item_table_, watched.item_table_)
    assert [set(epoch) - set(plain.epochs_[0]) for epoch in watched.epochs_] == [{"first"}] * 3


def test_mates_alone_shape_the_concepts():
    queries, items, _, _ = world()
    few = np.arange(10)
    mates = Links(few, few, queries.shape[0], items.shape[0])
    first = ClLsiRanker(4).fit(queries, items, mates)
    changed = queries.toarray()
    changed[10:] = changed[10:][::-1]
    again = ClLsiRanker(4).fit(sp.csr_array(changed), items, mates)
    assert np.array_equal(first.query_concepts_, again.query_concepts_)


def test_cl_lsi_is_the_svd_of_joined_rows():
    queries, items, _, _ = world()
    rows = np.arange(queries.shape[0])
    ranker = ClLsiRanker(5).fit(queries, items, Links(rows, rows, len(rows), len(rows)))
    joined = np.hstack([queries.toarray(), items.toarray()])
    _, _, directions = np.linalg.svd(joined, full_matrices=False)
    mine = np.vstack([ranker.query_concepts_, ranker.item_concepts_])
    np.testing.assert_allclose(np.abs(mine.T @ directions[:5].T), np.eye(5), atol=1e-3)


def test_refusals_name_what_is_wanted():
    queries, items, pairs, _ = world()
    with pytest.raises(UsageError, match="links between the items"):
        CrossRanker(4, share="both").fit(queries, items, pairs, queries_are_items=True)
    with pytest.raises(UsageError, match="links join 3 to 3 rows, want 48"):
        CrossRanker(4, share="both").fit(queries, items, pairs, links=Links(np.array([0]), np.array([1]), 3, 3))
    with pytest.raises(TacitError, match="items is 'tied'"):
        CrossRanker(4, items="tied").fit(queries, items, pairs)
    with pytest.raises(TacitError, match="no pair of mates"):
        ClLsiRanker(4).fit(queries, items)
    with pytest.raises(TacitError, match="want 18 as in fit"):
        ClLsiRanker(2).fit(queries, items, pairs).add_items(queries)


def test_only_methods_with_two_tasks_need_links():
    needing = [name for name, method in METHODS.items() if method.make().needs_links]
    assert sorted(needing) == ["ssi-cross-multitask", "ssi-cross-multitask+cl-lsi", "ssi-cross-multitask-target"]


def test_only_rows_keeps_whole_rows():
    rng = np.random.default_rng(0)
    matrix = sp.csr_array(rng.integers(0, 2, (9, 5)))
    kept = np.array([7, 0, 4])
    expected = matrix.toarray()
    expected[np.setdiff1d(np.arange(9), kept)] = 0
    assert np.array_equal(only_rows(matrix, kept).toarray(), expected)


@pytest.mark.parametrize(("n_queries", "n_rounds"), [(96, 16), (10, 2), (3, 1)])
def test_tasks_alternate_in_rounds(n_queries, n_rounds):
    """Multi-tasking as documented: a part of the first task, then a part of the second, at most 16 times."""
    visits = []

    def epoch_on_pairs(pairs, rng, rates):
        rows = np.flatnonzero(np.diff(pairs.indptr))
        visits.append((1, rows.tolist(), rates))
        return float(rows.mean())  # stands for the mean loss of these queries

    trainer = SimpleNamespace(settings=SimpleNamespace(block=5), log=None, epoch_on_pairs=epoch_on_pairs)
    second = SimpleNamespace(
        pairs=sp.csr_array(np.ones((40, 2))),
        trainer=SimpleNamespace(log=None, running=nullcontext),
        visit=lambda rows, rng, rates: visits.append((2, rows.tolist(), rates)),
    )
    tasks = AlternatingTasks(PairTask(sp.csr_array(np.ones((n_queries, 2))), None), [second], share=0.5)
    loss = tasks.epoch(trainer, np.random.default_rng(0), (0.4, 0.2))
    assert [task for task, *_ in visits] == [1, 2] * n_rounds
    first, other = ([row for task, rows, _ in visits if task == wanted for row in rows] for wanted in (1, 2))
    assert sorted(first) == list(range(n_queries))
    assert len(set(other)) == len(other) == 20
    assert loss == pytest.approx(np.mean(range(n_queries)))
    edges = np.linspace(0.4, 0.2, n_rounds + 1)
    expected = np.repeat(np.transpose([edges[:-1], edges[1:]]), 2, axis=0)
    np.testing.assert_allclose([rates for *_, rates in visits], expected)


@pytest.mark.parametrize(("share", "of_queries"), [("both", False), ("target", False), ("both", True)])
def test_a_step_of_a_further_task_goes_down_the_loss_of_its_links(share, of_queries):
    """Central differences of the margin loss, for each table that the task learns, against what it changed."""
    rng, rate, margin = np.random.default_rng(3), 0.01, 0.5
    settings = EmbeddingSettings(block=64, margin=margin, use_diagonal=False)
    names = ["queries"] if of_queries else ["mapped"] if share == "both" else ["second", "mapped"]

    def sparse(n_rows, n_words):
        return sp.csr_array(rng.normal(size=(n_rows, n_words)).astype(np.float32))

    queries, items = sparse(5, 8), sparse(9, 6)
    tables = Tables(
        *(rng.normal(0, 0.5, (n_words, 4)).astype(np.float32) for n_words in (8, 6)),
        np.empty((0, 4), np.float32),
        np.ones(6, np.float32),
    )
    first = EmbeddingTrainer(tables, TrainingRows(queries, items, queries, items, queries_are_items=False), settings, 1)
    rows = queries if of_queries else items
    n_rows = rows.shape[0]
    task = SecondTask(share, rows, sp.csr_array(np.eye(n_rows)), first, rng, scale=0.5, of_queries=of_queries)
    before = {name: first.state.live[name].astype(np.float64) for name in names}
    n_triples = task.trainer.settings.block  # one step
    triples = np.array([rng.permutation(n_rows)[:3] for _ in range(n_triples)])
    weights = rng.random(n_triples).astype(np.float32) + 0.5

    def loss(found):
        asked, given = (rows.toarray().astype(np.float64) @ found[name] for name in (names[0], names[-1]))
        scores = asked @ given.T
        gaps = scores[triples[:, 0], triples[:, 1]] - scores[triples[:, 0], triples[:, 2]]
        return float(weights @ np.maximum(0, margin - gaps))

    with first.running(), task.trainer.running():
        task.trainer.epoch_on_triples(triples, weights, rng, (rate, 0.0))
    for name in names:
        step = (first.state.live[name] - before[name]) / rate
        assert step.any()
        for entry in np.ndindex(step.shape):
            slopes = []
            for h in (1e-6, -1e-6):
                moved = {key: table.copy() for key, table in before.items()}
                moved[name][entry] += h
                slopes.append(loss(moved))
            assert step[entry] == pytest.approx((slopes[1] - slopes[0]) / 2e-6, abs=1e-3), (name, entry)
