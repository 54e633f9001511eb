"""Two stages in one ranker: lists that do not leak, a second stage that must gain, explanations, stored models."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.app.main import main
from tacit.core import Collection, Links, TacitError, UsageError
from tacit.retrieve import BlendRanker, Bm25Ranker
from tacit.retrieve.blend.member import Limits
from tacit.search import Searcher, TwoStageRanker
from tacit.search.text_lists import make_text_lists
from tacit.search.two_stage import N_FOLDS

N_DOCS, N_QUERIES, N_WORDS = 150, 40, 60


def make_world(random_labels=False):
    """Documents of ten topics; relevant are those of the topic whose title has the topic's mark, word 50."""
    rng = np.random.default_rng(3)
    topic = np.arange(N_DOCS) % 10
    items, titles = np.zeros((N_DOCS, N_WORDS), np.float32), np.zeros((N_DOCS, N_WORDS), np.float32)
    for row in range(N_DOCS):
        items[row] += np.bincount(rng.integers(0, 5, 8) + 5 * topic[row], minlength=N_WORDS)
        items[row] += np.bincount(rng.integers(51, N_WORDS, 6), minlength=N_WORDS)
        titles[row, 5 * topic[row] + 2] = row % 3 == 0
    items += titles
    queries = np.zeros((N_QUERIES, N_WORDS), np.float32)
    for row in range(N_QUERIES):
        queries[row, 5 * (row % 10) + 2 + np.arange(2)] = 1
    relevant = (topic[None, :] == (np.arange(N_QUERIES) % 10)[:, None]) & (np.arange(N_DOCS) % 3 == 0)[None, :]
    if random_labels:
        relevant = rng.permuted(relevant, axis=1)
    pairs = Links(*np.nonzero(relevant), N_QUERIES, N_DOCS)
    return {
        "queries": sp.csr_array(queries),
        "items": sp.csr_array(items),
        "titles": sp.csr_array(titles),
        "pairs": pairs,
    }


@pytest.fixture(scope="module")
def world():
    return make_world()


@pytest.fixture(scope="module")
def fitted(world):
    ranker = TwoStageRanker(Bm25Ranker(), depth=30)
    return ranker.fit(world["queries"], world["items"], world["pairs"], titles=world["titles"])


def test_a_second_stage_that_gains_is_kept_and_ranks_better(world, fitted):
    assert fitted.share_ > 0
    relevant = world["pairs"].to_csr().toarray() > 0
    best = [ranker.rank(world["queries"], 5).items for ranker in (fitted, fitted.first_)]
    found = [np.take_along_axis(relevant, part, axis=1).mean() for part in best]
    assert found[0] > found[1] + 0.05


def test_labels_at_random_leave_the_first_stage_alone():
    world = make_world(random_labels=True)
    ranker = TwoStageRanker(Bm25Ranker(), depth=30)
    ranker.fit(world["queries"], world["items"], world["pairs"], titles=world["titles"])
    assert ranker.share_ == 0
    assert ranker.list_ranker_ is None
    assert np.array_equal(ranker.scores(world["queries"]), ranker.first_.scores(world["queries"]))


def test_few_queries_have_no_second_stage(world):
    kept = world["pairs"].take(world["pairs"].sources < 9)
    assert TwoStageRanker(Bm25Ranker()).fit(world["queries"], world["items"], kept).list_ranker_ is None


def test_no_list_comes_from_a_first_stage_that_knows_its_query(world, monkeypatch):
    fitted_on, listed = list[set[int]](), list[set[int]]()
    real = TwoStageRanker._fit_first

    def spy(self, data, kept):
        fitted_on.append(set(kept.tolist()))
        return real(self, data, kept)

    def keep(self, folds, relevant):
        listed.extend({part.query for part in fold} for fold in folds)
        return 0.0

    monkeypatch.setattr(TwoStageRanker, "_fit_first", spy)
    monkeypatch.setattr(TwoStageRanker, "_choose_share", keep)
    TwoStageRanker(Bm25Ranker(), depth=20).fit(world["queries"], world["items"], world["pairs"])
    assert len(listed) == N_FOLDS
    assert fitted_on[0] == set.union(*listed) == set(range(N_QUERIES))
    for known, test in zip(fitted_on[1:], listed, strict=True):
        assert not known & test


def test_items_of_the_list_stay_above_all_others(world, fitted):
    first, second = (ranker.rank(world["queries"], 30).items for ranker in (fitted.first_, fitted))
    assert [set(row) for row in first] == [set(row) for row in second]
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("k", [1, 29, 30, 31, 60, N_DOCS])
def test_the_best_items_are_those_of_all_scores(world, fitted, k):
    queries = sp.csr_array(sp.vstack([world["queries"], sp.csr_array((1, N_WORDS))]))  # the last one has no word
    found, scores = fitted.rank(queries, k), fitted.scores(queries)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    assert np.array_equal(found.items, order)
    assert np.array_equal(found.scores, np.take_along_axis(scores, order, axis=1))


def test_ranking_scores_each_query_once_by_the_first_stage(world, fitted, monkeypatch):
    scored, real = list[int](), Bm25Ranker.score_rows

    def spy(self, rows, skip=None):
        scored.append(rows.shape[0])
        return real(self, rows, skip)

    monkeypatch.setattr(Bm25Ranker, "score_rows", spy)
    for ask in (fitted.rank, fitted.scores):
        scored.clear()
        ask(world["queries"])
        assert sum(scored) == N_QUERIES


def test_the_best_items_of_a_blend_are_found_without_scoring_all(world, monkeypatch):
    monkeypatch.setattr(TwoStageRanker, "_choose_share", lambda *_: 1.0)
    ranker = TwoStageRanker(BlendRanker(dim=8, residual=False), depth=30)
    ranker.fit(world["queries"], world["items"], world["pairs"], titles=world["titles"])
    scores = ranker.scores(world["queries"])
    ranker.first_.limits = Limits(per_result=0)
    monkeypatch.setattr(BlendRanker, "score_rows", None)
    found = ranker.rank(world["queries"], 10)
    assert np.array_equal(found.items, np.argsort(-scores, axis=1, kind="stable")[:, :10])
    assert np.array_equal(found.scores, np.take_along_axis(scores, found.items, axis=1))


def test_explanations_add_up_and_name_the_second_stage(world, fitted):
    query = world["queries"][[3]]
    scores = fitted.scores(query)[0].astype(np.float64)
    a, b = np.argsort(-scores)[[0, 40]]
    one, two = fitted.explain(query, a), fitted.explain(query, a, b)
    assert one.total == pytest.approx(scores[a], abs=1e-5)
    assert two.total == pytest.approx(scores[a] - scores[b], abs=1e-5)
    assert [term.kind for term in one.terms if term.member == "standing"] == ["stage"]


def test_scores_do_not_depend_on_the_batch(world, fitted):
    together = fitted.scores(world["queries"])
    assert np.array_equal(together[[7]], fitted.scores(world["queries"][[7]]))


@pytest.fixture(scope="module")
def files(world, tmp_path_factory):
    """The same world as files; words are w0 to w59."""
    folder = tmp_path_factory.mktemp("two")

    def text(row):
        return " ".join(f"w{word}x" for word, count in enumerate(row) for _ in range(int(count)))

    body = (world["items"] - world["titles"]).toarray()
    docs = [
        {"id": f"d{n}", "title": text(t), "text": text(b)}
        for n, (t, b) in enumerate(zip(world["titles"].toarray(), body, strict=True))
    ]
    queries = [{"id": f"q{n}", "text": text(row)} for n, row in enumerate(world["queries"].toarray())]
    for name, rows in (("docs", docs), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pairs = zip(world["pairs"].sources.tolist(), world["pairs"].targets.tolist(), strict=True)
    (folder / "qrels.txt").write_text("".join(f"q{q} 0 d{d} 1\n" for q, d in pairs))
    return folder


def test_the_command_line_fits_saves_searches_and_adds(files, tmp_path, capsys):
    model = tmp_path / "m"
    given = ["--queries", f"{files}/queries.jsonl", "--qrels", f"{files}/qrels.txt"]
    fit = [
        "fit",
        f"{files}/docs.jsonl",
        *given,
        "--rerank",
        "standing",
        "--dim",
        "4",
        "--set",
        "strength=10",
        "--set",
        "residual=false",
        "-o",
        str(model),
    ]
    assert main(fit) == 0
    assert main(["search", str(model), "w2x w3x", "--explain", "-k", "3"]) == 0
    searcher = Searcher.load(model)
    assert searcher.rerank == "standing"
    assert isinstance(searcher.ranker_, TwoStageRanker)
    if searcher.ranker_.share_:
        assert "(standing)" in capsys.readouterr().out
    searcher.add(Collection(["new"], ["zebra"], ["zebra w2x"]))
    assert searcher.search("zebra")[0].id == "new"
    assert searcher.remove(["new"]).search("w2x w3x")[0].id != "new"


def test_a_model_gives_no_feature_for_the_queries_it_learned_from(files, tmp_path, capsys):
    model, given = tmp_path / "m", ["--queries", f"{files}/queries.jsonl", "--qrels", f"{files}/qrels.txt"]
    assert main(["fit", f"{files}/docs.jsonl", *given, "--dim", "4", "--set", "residual=false", "-o", str(model)]) == 0
    features = ["features", f"{files}/docs.jsonl", *given, "--model", str(model), "-o", str(tmp_path / "lists.txt")]
    assert main(features) == 1
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert "learned from 40 of 40 queries, the first is 'q0'" in message
    searcher = Searcher.load(model)
    others = Collection(["n"], [""], ["w2x w7x"])
    assert len(make_text_lists(searcher.documents_, others, models=[searcher]).lists) == 1
    assert searcher.learned_from(Collection(["x"], [""], ["  W2X w3x "])) == ["x"]
    untrained = Searcher(dim=4).fit(searcher.documents_)
    assert untrained.learned_from(others) == []


def test_mistakes_are_one_line(world):
    with pytest.raises(UsageError, match="second stage reads counts of words"):
        Searcher("tfidf", rerank="standing")
    with pytest.raises(UsageError, match="method is 'stnding'"):
        Searcher(rerank="stnding")
    with pytest.raises(UsageError, match="learns from"):
        Searcher(rerank="standing").fit(Collection(["a"], [""], ["word"]))
    with pytest.raises(TacitError, match="depth is 1"):
        TwoStageRanker(depth=1).fit(world["queries"], world["items"], world["pairs"])


def test_judged_zeros_are_grades(world):
    zeros = Links(np.arange(N_QUERIES), (np.arange(N_QUERIES) % 10) + 10, N_QUERIES, N_DOCS)
    kept = ~np.isin(zeros.sources * N_DOCS + zeros.targets, world["pairs"].sources * N_DOCS + world["pairs"].targets)
    ranker = TwoStageRanker(Bm25Ranker(), depth=30)
    ranker.fit(world["queries"], world["items"], world["pairs"], titles=world["titles"], zeros=zeros.take(kept))
    assert ranker.n_items_ == N_DOCS


def test_a_first_stage_that_reads_no_titles_gets_what_the_second_reads():
    words = ["alpha", "beta", "gamma", "delta"]
    docs = Collection(
        [f"d{n}" for n in range(12)], [words[n % 4] for n in range(12)], [words[n % 3] for n in range(12)]
    )
    queries = Collection([f"q{n}" for n in range(4)], [""] * 4, words)
    searcher = Searcher("bm25", rerank="standing", language="en")
    searcher.fit(docs, queries=queries, qrels={f"q{n}": {f"d{n}": 1} for n in range(4)})
    assert searcher.ranker_.titles_.nnz == 12
    searcher.add(Collection(["new"], ["alpha"], ["omega"]))
    assert searcher.ranker_.titles_.nnz == 13
