"""What is trained on and what is held out; measures by sorting; mistakes in pairs and triples."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links, TacitError
from tacit.retrieve.margin.embedding import EmbeddingRanker
from tacit.retrieve.margin.tasks import PairTask, TripleTask, make_task
from tacit.retrieve.training_data import TrainingData

N = 12
ROWS = np.random.default_rng(0).random((N, 5)).astype(np.float32)


class Given:
    """Scores of a table, row by row of the queries that it was made for."""

    def __init__(self, queries, scores):
        self.of = {row.tobytes(): score for row, score in zip(np.asarray(queries), scores, strict=True)}

    def score_rows(self, rows):
        dense = rows.toarray() if sp.issparse(rows) else rows
        return np.array([self.of[row.tobytes()] for row in dense])


def means(values):
    return {name: float(found.mean()) for name, found in values.items()}


def links(*pairs, n=N, weights=()):
    sources, targets = zip(*pairs, strict=True)
    return Links(np.array(sources), np.array(targets), n, n, np.array(weights, np.float32))


def ring():
    return links(*[(i, (i + 1) % N) for i in range(N)], *[(i, (i + 2) % N) for i in range(N)])


def task_on(pairs, validation=None, queries_are_items=True, seed=0, queries=ROWS, items=ROWS):
    return make_task(TrainingData(queries, items, pairs, validation, queries_are_items), seed)


def test_pairs_are_split_by_query_and_nothing_is_lost():
    task = task_on(ring())
    assert isinstance(task, PairTask)
    trained = task.pairs.toarray() > 0
    held = np.flatnonzero(~trained.any(axis=1))
    assert len(held) == 1
    assert task.n_visits == N - 1
    assert np.array_equal(task.held.queries, ROWS[held])
    both = trained.copy()
    both[held] |= task.held.relevant.toarray() > 0
    assert np.array_equal(both, ring().to_csr().toarray() > 0)
    assert task.held.excluded.indices.tolist() == held.tolist()  # no candidate for itself


def test_another_seed_holds_out_another_query():
    held = {task_on(ring(), seed=seed).held.queries.tobytes() for seed in range(6)}
    assert len(held) > 1
    assert task_on(ring(), seed=3).held.queries.tobytes() == task_on(ring(), seed=3).held.queries.tobytes()


def test_given_validation_leaves_all_pairs_for_training():
    validation = links((0, 5), (3, 7), (3, 8))
    task = task_on(ring(), validation)
    assert task.n_visits == N
    assert np.array_equal(task.held.queries, ROWS[[0, 3]])
    assert task.held.relevant.toarray().nonzero()[1].tolist() == [5, 7, 8]
    assert task.held.excluded.toarray().nonzero()[1].tolist() == [0, 1, 2, 3, 4, 5]  # itself and what is known


def test_links_to_oneself_teach_nothing_where_items_are_the_queries():
    selves = links(*[(i, i) for i in range(N)])
    together = Links(*[np.concatenate(p) for p in zip(_ends(ring()), _ends(selves), strict=True)], N, N)
    assert np.array_equal(task_on(together).pairs.toarray(), task_on(ring()).pairs.toarray())
    assert task_on(together, links((0, 5)), queries_are_items=False).pairs.toarray().trace() == N
    for validation in (None, links((0, 5))):
        with pytest.raises(TacitError):
            task_on(selves, validation)


def _ends(pairs):
    return pairs.sources, pairs.targets


def test_validation_links_to_oneself_are_passed_over():
    task = task_on(ring(), links((0, 5), (0, 0), (4, 4)))
    scores = np.zeros((N, N))
    scores[:, 5] = 1
    assert means(task.values(Given(ROWS, scores))) == {"MAP": 1.0, "rank_loss": 0.0}


def test_repeated_pairs_add_up_and_weights_are_kept():
    pairs = links((0, 1), (0, 1), (0, 2), (1, 3), weights=(1, 2, 0.5, 4))
    found = task_on(pairs, links((5, 6))).pairs
    assert found[[0]].toarray()[0, :3].tolist() == [0, 3, 0.5]
    assert found[[1]].toarray()[0, 3] == 4


def test_pairs_are_measured_over_all_candidates():
    """Query 0: known 1 and 2 and itself are out; 5 stands second and 7 fourth of the nine others."""
    task = task_on(ring(), links((0, 5), (0, 7)))
    scores = np.zeros((N, N))
    scores[0, [0, 1, 2, 4, 5, 6, 7]] = [9, 9, 9, 8, 7, 6, 5]
    found = means(task.values(Given(ROWS, scores)))
    assert found == pytest.approx({"MAP": (1 / 2 + 2 / 4) / 2, "rank_loss": 3 / 14})
    assert task.target == "MAP"


def test_measures_are_means_over_queries():
    task = task_on(ring(), links((0, 5), (1, 6)))
    scores = np.zeros((N, N))
    scores[0, 5] = scores[1, 7] = 2
    scores[1, 6] = 1
    found = means(task.values(Given(ROWS, scores)))
    assert found == pytest.approx({"MAP": (1 + 1 / 2) / 2, "rank_loss": 1 / 8 / 2})


def triples_of(n=40, seed=0):
    rng = np.random.default_rng(seed)
    items = np.array([rng.permutation(N)[:2] for _ in range(n)])
    return np.column_stack([rng.integers(0, N, n), items])


def test_triples_are_split_and_nothing_is_lost():
    triples = triples_of()
    task = task_on(triples)
    assert isinstance(task, TripleTask)
    assert (len(task.triples), len(task.held), task.n_visits) == (38, 2, 38)
    together = np.concatenate([task.triples, task.held])
    assert sorted(map(tuple, together.tolist())) == sorted(map(tuple, triples.tolist()))
    two = task_on(triples[:2])
    assert (len(two.triples), len(two.held)) == (1, 1)


def test_triples_are_measured_by_order_with_ties_half():
    scores = np.zeros((N, N))
    scores[2, [3, 4]] = 1, 2
    held = np.array([(2, 4, 3), (2, 3, 4), (2, 3, 5), (2, 0, 1)] * 40)
    task = TripleTask(held, held, ROWS)
    assert means(task.values(Given(ROWS, scores))) == {"accuracy": (1 + 0 + 1 + 0.5) / 4}


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int64])
def test_triples_of_any_whole_numbers_train(dtype):
    ranker = EmbeddingRanker(3, n_epochs=1).fit(ROWS, ROWS, triples_of().astype(dtype))
    assert np.isfinite(ranker.scores(ROWS)).all()


@pytest.mark.parametrize(
    ("triples", "message"),
    [
        (np.array([[0, 1, N], [0, 1, 2]]), f"row {N} of items, want 0 to {N - 1}"),
        (np.array([[N, 1, 2], [0, 1, 2]]), f"row {N} of queries, want 0 to {N - 1}"),
        (np.array([[0, 1, -1], [0, 1, 2]]), "row -1 of items"),
        (np.array([[-3, 1, 0], [0, 1, 2]]), "row -3 of queries"),
        (np.array([[0, 1, 1], [0, 1, 2]]), "same item as better and worse"),
        (np.array([[0.0, 1, 2], [0, 1, 2]]), "triples are float64"),
        (np.array([[0, 1], [0, 1]]), "of shape \\(2, 2\\)"),
        (np.array([[0, 1, 2]]), "2 or more rows"),
        (np.empty((0, 3), np.int64), "2 or more rows"),
        (np.array([0, 1, 2]), "of shape \\(3,\\)"),
    ],
)
def test_refuses_triples_that_cannot_be(triples, message):
    with pytest.raises(TacitError, match=message):
        task_on(triples)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (None, "no positive pair"),
        (Links([], [], N, N), "no positive pair"),
        (links((0, 1)), "queries with pairs: 1, want at least 2"),
        (links((0, 1), (1, 2), n=N + 1), f"pairs join {N + 1} queries to {N + 1} items"),
        (links((0, 1), (1, 2), n=N - 1), f"pairs join {N - 1} queries"),
        ([(0, 1), (1, 2)], "pairs"),
        (sp.csr_array(np.eye(N)), "pairs"),
    ],
)
def test_refuses_pairs_that_cannot_be(pairs, message):
    with pytest.raises(TacitError, match=message):
        EmbeddingRanker(3, n_epochs=1).fit(ROWS, ROWS, pairs)


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        (Links([], [], N, N), "validation"),
        (links((0, 5), (N, 1), n=N + 1), f"{N + 1}"),
        (links((0, 5), n=N - 1), f"{N - 1}"),
        (links((0, 1), (0, 5)), "item 1"),
    ],
    ids=["empty", "more rows than there are", "fewer rows than there are", "a pair of training"],
)
def test_refuses_validation_that_cannot_be(validation, message):
    with pytest.raises(TacitError, match=message):
        EmbeddingRanker(3, n_epochs=1).fit(ROWS, ROWS, ring(), validation)


def test_refuses_row_numbers_out_of_range():
    for sources, targets in (([0, N], [1, 2]), ([0, 1], [1, N]), ([0, -1], [1, 2])):
        with pytest.raises(TacitError, match="want 0 to 11"):
            Links(sources, targets, N, N)
