"""Judgments of similar queries, against loops over queries and documents."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links, StoreError
from tacit.retrieve import BlendRanker
from tacit.retrieve.blend.learning import Learner
from tacit.retrieve.blend.member import Limits
from tacit.search.models import load, save
from tacit.store import Stored, load_model, pack_csr, save_model

N_DOCS, N_WORDS, N_TOPICS, N_QUERIES = 240, 80, 8, 48


@pytest.fixture(scope="module")
def world():
    """Topics of ten words; what is relevant for a topic is ten of its thirty documents, which no word tells apart."""
    rng = np.random.default_rng(5)
    items = rng.poisson(0.05, (N_DOCS, N_WORDS)).astype(np.float32)
    queries, pairs = np.zeros((N_QUERIES, N_WORDS), np.float32), []
    for document in range(N_DOCS):
        items[document, 10 * (document % N_TOPICS) + rng.choice(10, 5, replace=False)] += 1
    for query in range(N_QUERIES):
        topic = query % N_TOPICS
        queries[query, 10 * topic + rng.choice(10, 4, replace=False)] = 1
        relevant = topic + N_TOPICS * rng.choice(10, 5, replace=False)
        pairs += [(query, document, 1.0 + rank % 3) for rank, document in enumerate(relevant)]
    sources, targets, weights = map(np.array, zip(*pairs, strict=True))
    return sp.csr_array(items), sp.csr_array(queries), Links(sources, targets, N_QUERIES, N_DOCS, weights)


PARAMS = {"dim": 6, "n_expansion": 6, "residual": False, "similar": True}


@pytest.fixture(scope="module")
def ranker(world):
    items, queries, pairs = world
    return BlendRanker(**PARAMS).fit(queries, items, pairs.take(pairs.sources < 40))


def slow_scores(idf, queries, asked, pairs):
    """Scores of all documents for one query, one judged query and one document at a time."""

    def weights(row):
        found = {w: (1 + math.log(n)) * float(idf[w]) for w, n in enumerate(row.tolist()) if n}
        length = math.sqrt(sum(value**2 for value in found.values())) or 1.0
        return {w: value / length for w, value in found.items()}

    mine, scores = weights(asked), np.zeros(pairs.n_targets)
    for query in np.unique(pairs.sources).tolist():
        other = weights(queries[query])
        cosine = sum(value * other.get(w, 0.0) for w, value in mine.items())
        judged = pairs.take(pairs.sources == query)
        for document, grade in zip(judged.targets.tolist(), judged.weights.tolist(), strict=True):
            scores[document] += cosine**2 * grade / judged.weights.max() / math.sqrt(len(judged))
    return scores / scores.max() if scores.max() > 0 else scores


def test_scores_are_those_of_loops(world, ranker):
    _, queries, pairs = world
    known = pairs.take(pairs.sources < 40)
    member, block = ranker.member("similar"), ranker.query_block(queries[40:], None)
    found = member.scores(block)
    for row in range(8):
        wanted = slow_scores(ranker.idf_, queries.toarray(), queries.toarray()[40 + row], known)
        np.testing.assert_allclose(found[row], wanted, rtol=1e-5, atol=1e-6)


def test_judgments_of_other_queries_help_where_words_cannot_tell(world, ranker):
    items, queries, pairs = world
    plain = BlendRanker(dim=6, n_expansion=6).fit(None, items)
    relevant = pairs.to_csr().toarray()[40:] > 0
    found, before = (relevant[np.arange(8)[:, None], one.rank(queries[40:], 5).items].mean() for one in (ranker, plain))
    assert ranker.weights_["similar"] > 0
    assert ranker.has_learned
    assert found > before + 0.1


def test_random_judgments_and_few_queries_leave_it_out(world):
    items, queries, pairs = world
    rng = np.random.default_rng(0)
    noise = Links(pairs.sources, rng.integers(0, N_DOCS, len(pairs)), N_QUERIES, N_DOCS)
    for given in (noise, pairs.take(pairs.sources < 9)):
        ranker = BlendRanker(**PARAMS).fit(queries, items, given)
        assert ranker.member("similar") is None


def test_no_query_is_scored_by_its_own_judgments(world, monkeypatch):
    """Cross-fitted and unseen examples: the judgments in use never name the query, nor, if unseen, its documents."""
    items, queries, pairs = world
    seen, scored = [], Learner._scored

    def record(learner, held, known):
        seen.append((held, known, learner.blend.member("similar").judgments_))
        return scored(learner, held, known)

    monkeypatch.setattr(Learner, "_scored", record)
    BlendRanker(**PARAMS).fit(queries, items, pairs)
    assert len(seen) == 3 + 5  # unseen folds, then folds of queries
    for held, known, judgments in seen:
        assert judgments[:, np.unique(held.sources)].nnz == 0
        assert judgments.nnz == len(known)
    for held, _, judgments in seen[:3]:
        assert judgments[np.unique(held.targets)].nnz == 0


def test_ranking_by_bounds_and_by_blocks_has_the_bits_of_all_scores(world, ranker, monkeypatch):
    _, queries, _ = world
    scores = ranker.scores(queries)
    alone = np.concatenate([ranker.scores(queries[[row]]) for row in range(N_QUERIES)])
    assert np.array_equal(scores, alone)
    monkeypatch.setattr(ranker, "limits", Limits(per_result=1))
    found = ranker.rank(queries, 7)
    for row in range(N_QUERIES):
        order = np.lexsort((np.arange(N_DOCS), -scores[row]))[:7]
        assert np.array_equal(found.items[row], order)
        assert np.array_equal(found.scores[row], scores[row, order])


def test_terms_sum_to_the_score(world, ranker):
    _, queries, _ = world
    scores = ranker.scores(queries[[45]])[0]
    a, b = np.argsort(-scores)[[0, 30]].tolist()
    whole, apart = ranker.explain(queries[[45]], a), ranker.explain(queries[[45]], a, b)
    assert whole.total == pytest.approx(float(scores[a]), rel=1e-5)
    assert apart.total == pytest.approx(float(scores[a] - scores[b]), rel=1e-5)
    assert sum(term.kind == "similar" for term in whole.terms) == 1


def test_items_come_and_go_and_models_keep_their_bits(world, ranker, tmp_path):
    items, queries, _ = world
    save(ranker, tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.scores(queries), ranker.scores(queries))
    again.add_items(items[:3])
    again.remove_items([0, 5])
    judgments = again.member("similar").judgments_
    assert judgments.shape[0] == again.n_items_ == N_DOCS + 1
    kept = np.delete(ranker.member("similar").judgments_.toarray(), [0, 5], axis=0)
    assert np.array_equal(judgments.toarray()[:-3], kept)
    assert judgments[-3:].nnz == 0
    save(again, tmp_path / "changed")
    assert np.array_equal(load(tmp_path / "changed").scores(queries), again.scores(queries))


@pytest.mark.parametrize("value", [-1.0, 7.0, math.nan])
@pytest.mark.parametrize("part", ["judged_queries_", "judgments_"])
def test_a_model_with_strange_values_is_refused(ranker, tmp_path, part, value):
    save(ranker, tmp_path / "model")
    stored = load_model(tmp_path / "model")
    (name,) = [name for name in stored.arrays if f"/{part}/" in name and name.endswith("data")]
    changed = stored.arrays | {name: np.full_like(stored.arrays[name], value)}
    save_model(tmp_path / "changed", Stored(stored.kind, stored.params, changed))
    with pytest.raises(StoreError) as refused:
        load(tmp_path / "changed", BlendRanker)
    assert "\n" not in str(refused.value)


def test_a_model_of_another_size_is_refused(ranker, tmp_path):
    save(ranker, tmp_path / "model")
    stored = load_model(tmp_path / "model")
    place = next(name for name in stored.arrays if "/judgments_/" in name).split("/judgments_/")[0]
    arrays = {name: array for name, array in stored.arrays.items() if not name.startswith(f"{place}/judgments_/")}
    other = pack_csr(f"{place}/judgments_", sp.csr_array((N_DOCS - 1, 40), dtype=np.float32))
    save_model(tmp_path / "changed", Stored(stored.kind, stored.params, arrays | other))
    with pytest.raises(StoreError, match="judged queries are for|judgments_|items"):
        load(tmp_path / "changed", BlendRanker)
