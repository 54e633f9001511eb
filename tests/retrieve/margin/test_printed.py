"""The recipe of the papers: dense oracles of one triple a step, written from the printed updates."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links, UsageError
from tacit.retrieve import EmbeddingRanker, FullPairRanker, HashedPairRanker, get_method
from tacit.retrieve.margin import base
from tacit.retrieve.margin.block_sgd import draw_triples
from tacit.retrieve.margin.embedding_sgd import EmbeddingSettings, EmbeddingTrainer, Tables, TrainingRows
from tacit.retrieve.margin.wordpair_sgd import PRIME, PairSettings, Segments, WordPairTrainer
from tacit.store import pack_estimator, unpack_estimator

N_QUERIES, N_ITEMS, N_WORDS, DIM, RATE = 6, 9, 7, 4, 0.05
TRIPLES = np.array([[0, 1, 2], [1, 0, 3], [0, 4, 6], [5, 8, 1], [2, 2, 0], [0, 1, 2]])
WEIGHTS = np.array([1, 0.5, 1, 2, 1, 1], np.float32)


class Paper:
    """The models and updates as printed, dense and float64: U and V are N x D there, W is N x D in HTR."""

    def __init__(self, seed=3):
        rng = np.random.default_rng(seed)
        self.x, self.y = (
            (rng.random((n, N_WORDS)) * (rng.random((n, N_WORDS)) < 0.6)).astype(np.float32).astype(np.float64)
            for n in (N_QUERIES, N_ITEMS)
        )
        self.U, self.V = (rng.normal(size=(DIM, N_WORDS)).astype(np.float32).astype(np.float64) for _ in range(2))
        self.v = rng.normal(size=(N_ITEMS, DIM)).astype(np.float32).astype(np.float64)
        self.n_steps = 0

    def ssi(self, q, p, n, weight):
        """SSI, section 2.3.2: W = U'V + I."""
        x, d = self.x[q], self.y[p] - self.y[n]
        if 1 - x @ (self.U.T @ self.V + np.eye(N_WORDS)) @ d > 0:
            u, v = np.outer(self.V @ d, x), np.outer(self.U @ x, d)
            self.U, self.V = self.U + RATE * weight * u, self.V + RATE * weight * v
            self.n_steps += 1

    def tied(self, q, p, n, weight):
        """SSI with W = U'U + I: the gradient by U has both terms."""
        x, d = self.x[q], self.y[p] - self.y[n]
        if 1 - x @ (self.U.T @ self.U + np.eye(N_WORDS)) @ d > 0:
            self.U = self.U + RATE * weight * (np.outer(self.U @ d, x) + np.outer(self.U @ x, d))
            self.n_steps += 1

    def htr(self, q, p, n, weight, gamma=0.7):
        """HTR, section 2.3, with the half of the first update that the print leaves out; W is U here."""
        W, x, d, v = self.U, self.x[q], self.y[p] - self.y[n], self.v.copy()
        change = np.zeros_like(W)
        if 1 - d @ W.T @ W @ x > 0:
            change += gamma * (np.outer(W @ x, d) + np.outer(W @ d, x))
        if 1 - v[p] @ W @ x + v[n] @ W @ x > 0:
            change += np.outer(v[p] - v[n], x)
            self.v[n] -= RATE * weight * (W @ x)
            self.v[p] += RATE * weight * (W @ x)
            self.n_steps += 1
        self.U = W + RATE * weight * change


def trained(paper, items, gamma=0.0, **settings):
    """The tables after one epoch of given triples, in their order."""
    u, v, free = (table.astype(np.float32) for table in (paper.U.T.copy(), paper.V.T.copy(), paper.v))
    none = np.empty((0, DIM), np.float32)
    tables = Tables(
        u,
        {"mapped": v, "tied": u, "free": none}[items],
        free if items == "free" else none,
        np.ones(N_WORDS, np.float32),
    )
    rows = [sp.csr_array(rows.astype(np.float32)) for rows in (paper.x, paper.y)]
    how = EmbeddingSettings(
        **{"block": 1, "n_drawn": 1, "margin": 1.0, "uniform": True} | settings,
        gamma=gamma,
        use_diagonal=items != "free",
    )
    trainer = EmbeddingTrainer(tables, TrainingRows(*rows, *rows, queries_are_items=False), how, threads=1)
    with trainer.running():
        loss = trainer._visit(TRIPLES, WEIGHTS, np.random.default_rng(0), (RATE, RATE))
    return trainer.tables, loss


@pytest.mark.parametrize(("items", "step"), [("mapped", "ssi"), ("tied", "tied"), ("free", "htr")])
def test_steps_are_those_of_the_paper(items, step):
    paper = Paper()
    tables, _ = trained(paper, items, gamma=0.7 if items == "free" else 0.0)
    for triple, weight in zip(TRIPLES, WEIGHTS, strict=True):
        getattr(paper, step)(*triple, float(weight))
    assert 0 < paper.n_steps < len(TRIPLES)  # some triples keep the margin
    np.testing.assert_allclose(tables.queries, paper.U.T, atol=1e-5)
    if items == "mapped":
        np.testing.assert_allclose(tables.mapped, paper.V.T, atol=1e-5)
    if items == "free":
        np.testing.assert_allclose(tables.items, paper.v, atol=1e-5)


@pytest.mark.parametrize("items", ["mapped", "tied", "free"])
def test_the_compiled_loop_and_blocks_of_one_agree(items):
    """With dropout the blocks do the work; of a share of almost 0 nothing is dropped."""
    gamma = 0.7 if items == "free" else 0.0
    (fast, loss), (slow, expected) = (trained(Paper(), items, gamma, dropout=share) for share in (0.0, 1e-30))
    assert loss == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(fast.queries, slow.queries, atol=1e-6)


@pytest.mark.parametrize("form", ["full", "hashed", "crowded"])
def test_pairs_of_words_step_as_printed(form):
    """W += rate (q d+' - q d-') if 1 - q'Wd+ + q'Wd- > 0; hashed pairs share a weight. `crowded` has 5 for 7 words."""
    paper, rng = Paper(), np.random.default_rng(5)
    n_buckets = {"full": N_WORDS**2, "hashed": 23, "crowded": 5}[form]
    stride = N_WORDS if form == "full" else PRIME
    first = rng.normal(0, 0.5, n_buckets).astype(np.float32)
    weights = Segments.full(first.reshape(N_WORDS, -1)) if form == "full" else Segments.hashed(first.copy())
    numbers, alpha = first.astype(np.float64), 0.8
    how = PairSettings(block=1, n_drawn=1, margin=1.0, uniform=True, learn_alpha=True)
    rows = [sp.csr_array(rows.astype(np.float32)) for rows in (paper.x, paper.y)]
    trainer = WordPairTrainer(lambda: weights, alpha, *rows, False, how, 1)
    trainer._visit(TRIPLES, WEIGHTS, rng, (RATE, RATE))
    place = (np.arange(N_WORDS)[:, None] * stride + np.arange(N_WORDS)) % n_buckets
    for (q, p, n), weight in zip(TRIPLES, WEIGHTS.astype(float), strict=True):
        x, d = paper.x[q], paper.y[p] - paper.y[n]
        if 1 - x @ numbers[place] @ d - alpha * (x @ d) > 0:
            np.add.at(numbers, place, RATE * weight * np.outer(x, d))
            alpha += RATE * weight * (x @ d)
    np.testing.assert_allclose(trainer.weights.numbers, numbers, atol=1e-5)
    assert trainer.alpha == pytest.approx(alpha, abs=1e-5)


def test_triples_are_pairs_and_items_that_are_no_pairs():
    rng = np.random.default_rng(0)
    pairs = sp.csr_array((rng.random((20, 20)) < 0.3) * rng.random((20, 20)).astype(np.float32))
    triples, weights = draw_triples(pairs, True, rng)
    dense = pairs.toarray()
    assert len(triples) == pairs.nnz
    assert np.array_equal(weights, dense[triples[:, 0], triples[:, 1]])
    assert weights.all()
    assert not dense[triples[:, 0], triples[:, 2]].any()
    assert (triples[:, 0] != triples[:, 2]).all()


def world(n_topics=6, n_docs=60, seed=0):
    """Documents whose words name a topic; they link to those of the next topic, so the words differ."""
    rng = np.random.default_rng(seed)
    topic = np.arange(n_docs) % n_topics
    words = np.zeros((n_docs, 4 * n_topics), np.float32)
    for doc in range(n_docs):
        words[doc, 4 * topic[doc] + rng.permutation(4)[:3]] = 3**-0.5
    sources, targets = np.nonzero((topic[:, None] + 1) % n_topics == topic[None, :])
    kept = rng.random(len(sources)) < 0.5
    return sp.csr_array(words), Links(sources[kept], targets[kept], n_docs, n_docs), topic


@pytest.mark.parametrize("name", ["ssi-uv", "ssi-uu", "htr", "htr-identity", "ssi-full", "hash-1m"])
@pytest.mark.parametrize("start", ["normal", "scaled"])
def test_the_recipe_learns_and_is_stored(name, start):
    rows, links, topic = world()
    method = get_method(name)
    given = {"start": start, "dim": 8} if issubclass(method.estimator, EmbeddingRanker) else {}
    ranker = method.make(recipe="printed", rate=0.02 if given else 0.5, n_epochs=25, **given)
    ranker.fit(rows, rows, links, queries_are_items=True)
    assert (ranker.margin_, ranker.epochs_[0]["rate"]) == (1.0, ranker.epochs_[-1]["rate"])
    if name != "ssi-uu":  # symmetric: it cannot tell the topic before from the topic after
        best = ranker.rank(rows[:6], k=5).items
        assert (
            topic[best] == (topic[:6, None] + 1) % 6
        ).mean() > 0.5  # chance 1 in 6; gamma holds HTR to a symmetric score
    again = unpack_estimator(*pack_estimator(ranker), lambda _: method.estimator)
    assert again.recipe == "printed"
    assert np.array_equal(again.scores(rows), ranker.scores(rows))


def test_the_recipe_is_short_for_its_parameters():
    rows, links, _ = world()
    short = EmbeddingRanker(8, recipe="printed", n_epochs=None, max_epochs=3, rate=0.02)
    spelled = EmbeddingRanker(
        8, negatives="uniform", margin=1.0, average=0, dropout=0, decay=0, start="normal", max_epochs=3, rate=0.02
    )
    tables = [ranker.fit(rows, rows, links).query_table_ for ranker in (short, spelled)]
    assert np.array_equal(*tables)
    assert np.std(tables[0]) == pytest.approx(1, abs=0.2)
    scaled = short.clone().set_params(start="scaled").fit(rows, rows, links)
    assert np.std(scaled.query_table_) == pytest.approx(8**-0.5, rel=0.3)


@pytest.mark.parametrize(
    ("kind", "params", "named"),
    [
        (EmbeddingRanker, {"margin": 0.5}, "margin is 0.5 with recipe='printed', want 1.0"),
        (EmbeddingRanker, {"decay": 0.5}, "decay"),
        (FullPairRanker, {"average": 0.5}, "average"),
        (HashedPairRanker, {"dropout": 0.5}, "dropout"),
        (EmbeddingRanker, {"recipe": "as-printed"}, "recipe"),
        (EmbeddingRanker, {"negatives": "hard"}, "negatives"),
        (EmbeddingRanker, {"start": "big", "recipe": "mined"}, "start"),
    ],
)
def test_what_contradicts_the_recipe_is_refused(kind, params, named):
    rows, links, _ = world()
    with pytest.raises(UsageError, match=named):
        kind(**{"recipe": "printed"} | params).fit(rows, rows, links)


def test_tuning_chooses_the_rate_alone():
    rows, links, _ = world()
    ranker = EmbeddingRanker(8, recipe="printed", tune=True, max_epochs=2).fit(rows, rows, links)
    assert ranker.margin_ == 1.0
    assert min(abs(ranker.rate_ - 0.1 * factor) for factor in base.PRINTED_FACTORS) < 1e-9


def test_a_rate_that_had_to_be_halved_is_not_chosen():
    class Halving(EmbeddingRanker):
        """Better at higher rates, but diverges once above 0.2."""

        def _train(self, data, rows, task, schedule):
            self.rate_ = schedule.rate if schedule.rate < 0.2 else schedule.rate / 2
            self.epochs_ = [{"MAP": schedule.rate}]

    ranker = Halving(recipe="printed")
    ranker.margin_ = 1.0
    assert ranker._tune(None, None, SimpleNamespace(target="MAP")) == (0.1, 1.0)


def test_unweighted_ranks_change_the_mined_negatives():
    rows, links, _ = world()
    tables = [
        EmbeddingRanker(8, n_epochs=2, weigh_ranks=weighed).fit(rows, rows, links).query_table_
        for weighed in (True, False)
    ]
    assert not np.array_equal(*tables)
