"""Clicks move the answers of queries that were asked before, and nothing else."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import ClickedLinks, Links, Shown, StoreError
from tacit.retrieve import BlendRanker
from tacit.retrieve.blend.member import Limits
from tacit.retrieve.blend.past_queries import keys_of
from tacit.search.models import load, save
from tacit.store import Stored, load_model, pack_csr, save_model

N_DOCS, N_WORDS, SLOPE, STRENGTH = 400, 60, 1.2, 2.0


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(3)
    items = (rng.poisson(0.25, (N_DOCS, N_WORDS))).astype(np.float32)
    items[np.arange(N_DOCS), np.arange(N_DOCS) % N_WORDS] += 1
    queries = np.zeros((12, N_WORDS), np.float32)
    for row in range(12):
        queries[row, rng.choice(N_WORDS, 4, replace=False)] = 1
    return sp.csr_array(items), sp.csr_array(queries)


@pytest.fixture(scope="module")
def plain(texts):
    return BlendRanker(dim=6).fit(None, texts[0])


def clicks_on(plain, texts, clicks=40.0, n_shown=8):
    """For six queries the answers of ranks 3, 6, 9, … were shown; the third of them got the clicks."""
    best = plain.rank(texts[1][:6], 3 * n_shown).items[:, 2::3]
    queries, items = np.repeat(np.arange(6), n_shown), best.ravel()
    ranks = np.tile(np.arange(1, n_shown + 1), 6)
    clicked = np.where(ranks == 3, clicks, 0.0)
    shown = Shown(queries, items, clicked, 0.4 * clicks / ranks, -SLOPE / 2 * np.log(ranks), SLOPE, STRENGTH)
    return ClickedLinks(np.arange(6), best[:, 2], 12, N_DOCS, shown=shown)


@pytest.fixture(scope="module")
def clicked(plain, texts):
    return BlendRanker(dim=6).fit(texts[1], texts[0], clicks_on(plain, texts))


def slow_gains(scores, shown, query):
    """Gains of one query, item by item, from the scores of all items without clicks."""
    order = sorted(range(len(scores)), key=lambda item: (-scores[item], item))
    gains = np.zeros(len(scores))

    def score_at(rank):
        if rank < 1:
            fall = (scores[order[0]] - scores[order[9]]) / np.log(10)
            return scores[order[0]] - np.log(rank) * fall
        low = min(int(rank), 100)
        high = min(low + 1, 100)
        part = 0.0 if high == low else np.log(rank / low) / np.log(high / low)
        return (1 - part) * scores[order[low - 1]] + part * scores[order[high - 1]]

    for number in np.flatnonzero(shown.queries == query):
        item = shown.items[number]
        rank = min(order.index(item) + 1, 100)
        relevance = rank ** (-shown.slope / 2)
        expected = shown.expected[number] * relevance / np.exp(shown.log_prior[number])
        change = (shown.clicks[number] + shown.strength) / (expected + shown.strength)
        new_rank = (relevance * change) ** (-2 / shown.slope)
        if order.index(item) < 100 or change > 1:
            gains[item] = score_at(new_rank) - scores[item]
    return gains


def test_items_move_to_the_rank_of_their_posterior_relevance(plain, clicked, texts):
    assert clicked.weights_ == plain.weights_ | {"clicks": 1.0}
    assert clicked.n_clicked_queries == 6
    shown = clicks_on(plain, texts).shown
    before, after = plain.scores(texts[1]), clicked.scores(texts[1])
    for query in range(6):
        wanted = before[query] + slow_gains(before[query].astype(np.float64), shown, query)
        np.testing.assert_allclose(after[query], wanted, rtol=2e-5, atol=2e-5)
    best = clicked.rank(texts[1][:6], 1).items[:, 0]
    assert np.array_equal(best, clicks_on(plain, texts).targets)  # 40 clicks where 5 are expected
    assert np.array_equal(after[6:], before[6:])  # queries that nobody asked keep their bits


def test_items_below_the_depth_can_only_rise(plain, texts):
    last = plain.rank(texts[1][:1], N_DOCS).items[0, 150:152]
    shown = Shown(np.zeros(2, int), last, np.array([50.0, 0.0]), np.full(2, 9.0), np.zeros(2), SLOPE, STRENGTH)
    links = ClickedLinks(np.zeros(1, int), last[:1], 12, N_DOCS, shown=shown)
    ranker = BlendRanker(dim=6).fit(texts[1], texts[0], links)
    before, after = plain.scores(texts[1][:1])[0], ranker.scores(texts[1][:1])[0]
    np.testing.assert_allclose(after, before + slow_gains(before.astype(np.float64), shown, 0), rtol=2e-5, atol=2e-5)
    assert ranker.rank(texts[1][:1], 1).items[0, 0] == last[0]
    assert after[last[1]] == before[last[1]]


def test_a_result_that_nobody_clicked_is_still_found():
    """Of five items two have the word; the first was shown often without a click; the others have score 0."""
    items = sp.csr_array(np.array([[3, 0, 0], [1, 0, 0], [0, 1, 0], [0, 2, 1], [0, 1, 3]], np.float32))
    query = sp.csr_array(np.array([[1, 0, 0]], np.float32))
    plain = BlendRanker(dim=2).fit(None, items)
    first = int(plain.rank(query, 1).items[0, 0])
    shown = Shown(np.zeros(1, int), np.array([first]), np.zeros(1), np.full(1, 1e4), np.zeros(1), SLOPE, STRENGTH)
    links = ClickedLinks(np.zeros(1, int), np.array([1 - first]), 1, 5, shown=shown)
    before, after = (ranker.scores(query)[0] for ranker in (plain, BlendRanker(dim=2).fit(query, items, links)))
    assert before.min() <= 0 < before[first]
    assert 0 < after[first] < before[first]


def test_few_clicks_change_the_order_little_and_none_change_nothing(plain, texts):
    few = BlendRanker(dim=6).fit(texts[1], texts[0], clicks_on(plain, texts, clicks=0.1))
    places = [ranker.rank(texts[1][:6], 40).items for ranker in (plain, few)]
    moved = [
        abs(old.tolist().index(item) - new)
        for old, row in zip(*places, strict=True)
        for new, item in enumerate(row[:30])
    ]
    assert max(moved) <= 2
    none = Shown(*(np.empty(0, kind) for kind in (int, int, float, float, float)), SLOPE, STRENGTH)
    links = ClickedLinks(np.arange(6), clicks_on(plain, texts).targets, 12, N_DOCS, shown=none)
    ranker = BlendRanker(dim=6).fit(texts[1], texts[0], links)
    assert ranker.member("clicks") is None
    assert ranker.n_clicked_queries == 0
    assert "clicks" not in ranker.weights_


def test_queries_of_the_same_words_are_one(plain, texts):
    links = clicks_on(plain, texts)
    once, shown = BlendRanker(dim=6).fit(texts[1], texts[0], links), links.shown
    half = {"clicks": shown.clicks / 2, "expected": shown.expected / 2}
    twice = Shown(
        *(np.concatenate([getattr(shown, name)] * 2) for name in ("queries", "items")),
        *(np.concatenate([half[name]] * 2) for name in ("clicks", "expected")),
        np.concatenate([shown.log_prior] * 2), SLOPE, STRENGTH,
    )  # fmt: skip
    twice.queries[len(shown) :] += 12  # the same rows again, of other ids
    rows = sp.csr_array(sp.vstack([texts[1], texts[1]]))
    links = ClickedLinks(links.sources, links.targets, 24, N_DOCS, shown=twice)
    joined = BlendRanker(dim=6).fit(rows, texts[0], links)
    np.testing.assert_allclose(joined.scores(texts[1]), once.scores(texts[1]), rtol=1e-5, atol=1e-5)
    unsorted = sp.csr_array((np.ones(4, np.float32), texts[1][[0]].indices[::-1].copy(), [0, 4]), shape=(1, N_WORDS))
    assert np.array_equal(once.rank(unsorted, 5).items, once.rank(texts[1][:1], 5).items)
    assert keys_of(sp.csr_array((1, N_WORDS), dtype=np.float32)) == [b""]


@pytest.mark.parametrize("n_candidates", [None, 100])
def test_the_best_items_without_scoring_all(plain, clicked, texts, monkeypatch, n_candidates):
    wanted = clicked.rank(texts[1], 7)
    pruned = clicked.clone().set_params(n_candidates=n_candidates)
    vars(pruned).update({**vars(clicked), "n_candidates": n_candidates, "limits": Limits(per_result=1)})
    skip = sp.csr_array((np.ones(6, bool), (np.arange(6), clicks_on(plain, texts).targets)), shape=(12, N_DOCS))
    found = pruned.rank(texts[1], 7)
    if n_candidates is None:
        assert np.array_equal(found.items, wanted.items)
        assert np.array_equal(found.scores, wanted.scores)
    else:
        assert np.array_equal(found.items[:6, 0], wanted.items[:6, 0])
    without = pruned.rank(texts[1], 7, exclude=skip).items
    assert not (without[:6] == clicks_on(plain, texts).targets[:, None]).any()


def test_an_item_beyond_the_first_by_bm25_is_found_among_candidates(plain, texts, monkeypatch):
    last = int(plain.bm25.rank(texts[1][:1], N_DOCS).items[0, -1])
    shown = Shown(*np.array([[0], [last]]), *np.array([[90.0], [9.0], [0.0]]), SLOPE, STRENGTH)
    links = ClickedLinks(np.zeros(1, int), np.array([last]), 12, N_DOCS, shown=shown)
    ranker = BlendRanker(dim=6, n_candidates=100).fit(texts[1], texts[0], links)
    ranker.limits = Limits(per_result=1)
    assert ranker.rank(texts[1][:1], 3).items[0, 0] == last


def test_explanations_have_a_term_of_clicks(clicked, texts):
    scores = clicked.scores(texts[1][:1])[0].astype(np.float64)
    best = int(np.argmax(scores))
    alone, other = clicked.explain(texts[1][:1], best), clicked.explain(texts[1][:1], best, 7)
    assert alone.total == pytest.approx(scores[best], abs=1e-5)
    assert other.total == pytest.approx(scores[best] - scores[7], abs=1e-5)
    assert [term.value > 0 for term in alone.terms if term.kind == "clicks"] == [True]
    assert not any(term.kind == "clicks" for term in clicked.explain(texts[1][[8]], best).terms)


def test_items_come_and_go(clicked, texts, tmp_path):
    save(clicked, tmp_path / "model")
    changed = load(tmp_path / "model", BlendRanker)
    assert np.array_equal(changed.scores(texts[1]), clicked.scores(texts[1]))
    best = clicked.rank(texts[1][:6], 2).items
    wide = sp.csr_array((texts[0].data, texts[0].indices, texts[0].indptr), shape=(N_DOCS, N_WORDS + 3))
    changed.add_items(wide[:2])
    rows = sp.csr_array((texts[1].data, texts[1].indices, texts[1].indptr), shape=(12, N_WORDS + 3))
    assert np.array_equal(changed.rank(rows[:6], 1).items[:, 0], best[:, 0])
    save(changed, tmp_path / "wider")
    assert np.array_equal(load(tmp_path / "wider", BlendRanker).scores(rows), changed.scores(rows))
    changed.remove_items([int(best[0, 0])])
    assert changed.n_items_ == N_DOCS + 1
    kept = best[1:, 0] - (best[1:, 0] > best[0, 0])
    assert np.array_equal(changed.rank(rows[1:6], 1).items[:, 0], kept)


@pytest.mark.parametrize("part", ["clicked_queries_", "gains_"])
def test_a_model_with_half_of_it_or_of_another_size_is_refused(clicked, tmp_path, part):
    save(clicked, tmp_path / "model")
    stored, name = load_model(tmp_path / "model"), f"members_/{len(clicked.members_) - 1}/{part}"
    arrays = {other: array for other, array in stored.arrays.items() if not other.startswith(f"{name}/")}
    save_model(tmp_path / "half", Stored(stored.kind, stored.params, arrays))
    with pytest.raises(StoreError, match=part):
        load(tmp_path / "half", BlendRanker)
    for shape in ((5, 5), (5, 6), (6, 5)):  # six queries have clicks
        save_model(
            tmp_path / "other",
            Stored(stored.kind, stored.params, arrays | pack_csr(name, sp.csr_array(shape, dtype=np.float32))),
        )
        with pytest.raises(StoreError, match="clicked_queries_|gains_|clicks are for") as refused:
            load(tmp_path / "other", BlendRanker)
        assert "\n" not in str(refused.value)
    dense = np.zeros((6, N_WORDS) if part == "clicked_queries_" else (N_DOCS, 6), np.float32)
    save_model(tmp_path / "dense", Stored(stored.kind, stored.params, arrays | {name: dense}))
    with pytest.raises(StoreError, match="clicks are for .* sparse"):
        load(tmp_path / "dense", BlendRanker)


def test_weights_are_learned_from_what_was_shown_alone(texts, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "tacit.retrieve.blend.learning.learn_weights",
        lambda queries, prior, *rest: seen.extend(queries) or (prior, np.inf),
    )
    plain = BlendRanker(dim=6).fit(None, texts[0])
    links = clicks_on(plain, texts)
    BlendRanker(dim=6).fit(texts[1], texts[0], links)
    assert [len(query.relevance) for query in seen] == [8] * 6
    assert all(np.count_nonzero(query.relevance > 0) == 1 and not np.isnan(query.relevance).any() for query in seen)
    seen.clear()
    BlendRanker(dim=6).fit(texts[1], texts[0], Links(links.sources, links.targets, 12, N_DOCS))
    assert all(np.isnan(query.relevance).any() for query in seen)


def test_parts_of_clicked_links_keep_what_was_shown(plain, texts):
    links = clicks_on(plain, texts)
    part = links.take(links.sources < 2)
    assert isinstance(part, ClickedLinks)
    assert (len(part), len(part.shown)) == (2, 16)
    others = links.others_shown()
    assert len(others) == 6 * 7
    assert not set(zip(others.sources.tolist(), others.targets.tolist(), strict=True)) & set(
        zip(links.sources.tolist(), links.targets.tolist(), strict=True)
    )


def test_excess_of_clicks_has_no_part_of_the_rank():
    rng = np.random.default_rng(4)
    ranks = np.tile(np.arange(1, 9), 50)
    expected = 6.0 / ranks
    shown = Shown(
        np.repeat(np.arange(50), 8), rng.integers(0, 90, 400), rng.poisson(1.7 * expected).astype(float), expected,
        -SLOPE / 2 * np.log(ranks), SLOPE, STRENGTH,
    )  # fmt: skip
    excess = shown.excess()
    means = [excess[ranks == rank].mean() for rank in range(1, 9)]
    np.testing.assert_allclose(means, 0, atol=1e-12)
    slow = [(c - e) / (e + STRENGTH) for c, e in zip(shown.clicks, shown.expected, strict=True)]
    slow = np.array(slow) - np.array(
        [np.mean([s for s, r in zip(slow, ranks, strict=True) if r == rank]) for rank in ranks]
    )
    np.testing.assert_allclose(excess, slow)
