"""Titles typed as queries, and words without content: member `exact` and `count_less`."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Collection, StoreError
from tacit.retrieve import BlendRanker
from tacit.retrieve.blend.member import Limits
from tacit.retrieve.blend.titles import LEAST_COVERED as LEAST
from tacit.retrieve.blend.titles import rare_words, title_gains, word_values
from tacit.retrieve.blend.words import HALF, count_less
from tacit.retrieve.training_data import Terms
from tacit.search import Searcher
from tacit.search.models import load, save
from tacit.store import Stored, load_model, save_model

N_LONG = 160  # more than the candidates


@pytest.fixture(scope="module")
def encyclopedia():
    """One long page with the title "zebra", which names it twice, among many that repeat it, and pages around it."""
    rng = np.random.default_rng(0)
    filler = [f"word{number}" for number in range(400)]
    texts = [" ".join([*rng.choice(filler, 40), *["zebra"] * 12, "stripes"]) for _ in range(N_LONG)]
    titles = [f"{filler[number]} zebra stripes {filler[-number - 1]}" for number in range(N_LONG)]
    texts, titles = texts + [" ".join(rng.choice(filler, 9)) for _ in range(3 * N_LONG)], titles + [""] * (3 * N_LONG)
    texts += [" ".join([*rng.choice(filler, 300), "zebra"]), "a band called the who", "what is a map? explain please"]
    titles += ["Zebra", "The Who", ""]
    ids = [str(number) for number in range(len(texts))]
    return Collection(ids, titles, texts)


@pytest.fixture(scope="module")
def searcher(encyclopedia):
    return Searcher(dim=5, language="en").fit(encyclopedia)


PAGE = 4 * N_LONG
ZEBRA, WHO = str(PAGE), str(PAGE + 1)


@pytest.mark.parametrize("query", ["zebra", "ZEBRA", "what is a zebra", "please explain to me what zebras are"])
def test_a_title_of_one_word_is_first_among_long_pages_that_repeat_it(searcher, query):
    by_words = searcher.ranker_.bm25.rank(searcher.features(["zebra"]), 100)
    assert PAGE not in by_words.items  # it is no candidate by BM25
    assert searcher.search(query, k=1)[0].id == ZEBRA


@pytest.mark.parametrize("query", ["the who", "The Who?", "who the"])
def test_a_title_of_words_without_content_is_found(searcher, query):
    assert searcher.search(query, k=1)[0].id == WHO


def test_without_the_member_the_page_is_not_found(encyclopedia):
    plain = Searcher(dim=5, language="en", exact=0.0).fit(encyclopedia)
    assert plain.ranker_.member("exact") is None
    assert ZEBRA not in [hit.id for hit in plain.search("zebra", k=50)]


@pytest.mark.parametrize("n_candidates", [None, 100])
def test_a_title_is_reached_by_every_way_of_ranking(searcher, n_candidates, monkeypatch):
    rows = searcher.features(["zebra", "the who", "stripes zebra", "map"])
    scores = searcher.ranker_.scores(rows)
    monkeypatch.setattr(searcher.ranker_, "limits", Limits(per_result=0))
    monkeypatch.setattr(searcher.ranker_, "n_candidates", n_candidates)
    found = searcher.ranker_.rank(rows, 10)
    assert found.items[:2, 0].tolist() == [PAGE, PAGE + 1]
    for row, (items, values) in enumerate(zip(found.items, found.scores, strict=True)):
        assert np.array_equal(values, scores[row, items])
        if n_candidates is None:
            assert items.tolist() == np.lexsort((np.arange(len(scores[row])), -scores[row]))[:10].tolist()
    exclude = sp.csr_array(([True], ([0], [PAGE])), shape=(1, len(searcher.documents_)))
    assert PAGE not in searcher.ranker_.rank(rows[[0]], 10, exclude=exclude).items


def test_a_filter_keeps_the_title_and_its_score(encyclopedia):
    fields = {"kind": ["long"] * PAGE + ["page", "page", "page"]}
    docs = Collection(encyclopedia.ids, encyclopedia.titles, encyclopedia.texts, fields)
    searcher = Searcher(dim=5, language="en").fit(docs)
    everything, some = searcher.search("zebra"), searcher.search("zebra", filter="kind = page")
    assert (some[0].id, some[0].score) == (everything[0].id, everything[0].score)
    assert searcher.search("zebra", filter="kind = long")[0].id == everything[1].id


@pytest.mark.parametrize("query", ["zebra", "the who", "what is a zebra", "stripes of a zebra"])
def test_terms_sum_to_the_score_and_to_differences(searcher, query):
    rows = searcher.features([query])
    scores = searcher.ranker_.scores(rows)[0]
    for a, b in ((PAGE, None), (PAGE, 0), (0, PAGE), (3, None)):
        explanation = searcher.ranker_.explain(rows, a, b)
        assert explanation.total == pytest.approx(scores[a] - (0 if b is None else scores[b]), rel=1e-5, abs=1e-5)
    if query == "zebra":
        reasons = searcher.explain(query, ZEBRA)
        assert (reasons[0].member, reasons[0].query_word) == ("exact", "zebra")


def test_gains_are_those_of_dense_arithmetic():
    rng = np.random.default_rng(2)
    items = rng.poisson(0.5, (60, 30)).astype(np.float32)
    titles = items * (rng.random(items.shape) < 0.15)
    content = rng.random(30) < 0.7
    terms = Terms([f"w{column}" for column in range(30)], np.flatnonzero(~content))
    blend = BlendRanker(dim=3).fit(None, sp.csr_array(items), titles=sp.csr_array(titles), terms=terms)
    queries = np.concatenate([titles[titles.any(axis=1)], rng.poisson(0.2, (20, 30)).astype(np.float32)])
    found = blend.member("exact").scores(blend.query_block(sp.csr_array(queries), None))
    values = np.log1p(len(items) / np.maximum(np.count_nonzero(items + 2 * titles, axis=0), 1))
    values = np.where(content, values, 0.2)
    for row, query in enumerate(queries):
        for item, title in enumerate(titles):
            q, t = (np.where(part > 0, 1 + np.log(np.maximum(part, 1)), 0) * values for part in (query, title))
            lengths = np.linalg.norm(q) * np.linalg.norm(t)
            share = (q @ t / lengths) ** 2 if lengths else 0.0
            assert found[row, item] == pytest.approx(max(0, (share - LEAST) / (1 - LEAST)) ** 2, abs=5e-6)
    assert (found == 1).sum() > 30
    assert ((found > 0) & (found < 0.99)).any()


def test_equal_titles_gain_the_same_and_empty_ones_nothing():
    docs = Collection(["a", "b", "c"], ["Map", "map", ""], ["a drawing", "a map of maps", "map map map"])
    searcher = Searcher(dim=2, language="en").fit(docs)
    gains = searcher.ranker_.member("exact").scores(searcher.ranker_.query_block(searcher.features(["maps"]), None))
    assert gains.tolist() == [[1.0, 1.0, 0.0]]


TWINS = ["C", "C++", "C/C++", "function", "functional", "compiler", "compiler-compiler", "Ununbium"]


@pytest.fixture(scope="module")
def twins():
    """Titles with the same words after stemming and without signs, each on a page that is best for none of them."""
    rng = np.random.default_rng(1)
    filler = [f"word{number}" for number in range(60)]
    texts = [" ".join(rng.choice(filler, 20)) for _ in TWINS]
    texts[2], texts[4], texts[6] = "c c c c", "function functional functions", "compiler compilers compiler"
    others = [" ".join(rng.choice(filler, 20)) for _ in range(100)]
    ids = [str(number) for number in range(len(TWINS) + 100)]
    return Searcher(dim=5, language="en", words=63).fit(Collection(ids, TWINS + [""] * 100, texts + others))


@pytest.mark.parametrize("query", [*TWINS, "c", " FUNCTION ", "c/c++", "“compiler”"])
def test_titles_with_the_same_words_are_told_apart_as_text(twins, query):
    wanted = str([title.lower() for title in TWINS].index(query.strip(" “”").lower()))
    assert twins.search(query, k=1)[0].id == wanted
    run = twins.run(Collection(["q"], [""], [query.strip("“”")]), k=1)
    assert run.to_dict()["q"].keys() == {wanted}


def test_the_text_of_a_title_is_one_term_of_its_score(twins):
    for query in TWINS:
        rows = twins.query_rows([query])
        scores = twins.ranker_.scores(rows)[0]
        own = TWINS.index(query)
        for other in (None, 0 if own else 1, 50):
            explanation = twins.ranker_.explain(rows, own, other)
            wanted = scores[own] - (0 if other is None else scores[other])
            assert explanation.total == pytest.approx(wanted, rel=1e-5, abs=1e-5)
        assert "title" in {reason.kind for reason in twins.explain(query, str(own))}
        items, found = twins.ranker_.rank_among(rows, np.arange(9), 9)
        assert found.tolist() == scores[items].tolist()
    assert twins.vectorizer_.counts(["Ununbium"]).nnz == 0  # found by its text alone


def test_other_texts_than_titles_have_rows_of_words_alone(twins):
    assert twins.query_rows(["C", "c++ function"]).shape[1] == twins.ranker_.n_features_ + 2
    texts = ["c++ function", "functions", "unknown"]
    assert (twins.query_rows(texts) != twins.features(texts)).nnz == 0
    assert twins.run(Collection(["q"], [""], ["unknown"]), k=3).to_dict().get("q", {}) == {}


def test_texts_of_titles_follow_changes_and_are_stored(twins, tmp_path):
    twins.save(tmp_path / "model")
    again = Searcher.load(tmp_path / "model")
    again.add(Collection(["new", "bare"], ["Functionality", ""], ["word1", "word2"])).remove([str(TWINS.index("C++"))])
    assert again.search("functionality", k=1)[0].id == "new"
    assert again.search("function", k=1)[0].id == str(TWINS.index("function"))
    assert again.search("C++", k=1)[0].id != str(TWINS.index("C++"))
    member = again.ranker_.member("exact")
    assert len(member.keys_) == len(again.documents_)
    member.keys_ = None  # as in a model of an earlier version
    again.save(tmp_path / "old")
    old = Searcher.load(tmp_path / "old")
    assert old.query_rows(["function"]).shape[1] == old.ranker_.n_features_
    assert old.search("function", k=3)
    old.add(Collection(["more"], ["Function"], ["word3"]))


def test_titles_of_added_documents_are_found_and_removed_ones_are_gone(encyclopedia, tmp_path):
    searcher = Searcher(dim=5, language="en").fit(encyclopedia)
    new = Collection(["new", "bare"], ["Quagga", ""], ["an extinct animal, " * 9, "quagga " * 20])
    searcher.add(new)
    assert [hit.id for hit in searcher.search("the quagga", k=1)] == ["new"]
    assert searcher.search("zebra", k=1)[0].id == ZEBRA
    searcher.save(tmp_path / "model")
    again = Searcher.load(tmp_path / "model")
    assert [hit.score for hit in again.search("quagga")] == [hit.score for hit in searcher.search("quagga")]
    again.remove([ZEBRA])
    assert searcher.search("zebra", k=1)[0].id == ZEBRA
    assert ZEBRA not in [hit.id for hit in again.search("zebra", k=200)]
    assert again.search("quagga", k=1)[0].id == "new"


def test_a_new_word_without_content_counts_less(encyclopedia):
    searcher = Searcher(dim=5, language="en").fit(encyclopedia)
    searcher.add(Collection(["x", "y"], ["", ""], ["whose okapi", "nothing else"]))
    column = searcher.vectorizer_.vocabulary_.index("whose")
    assert searcher.ranker_.content_[column] == 0
    assert searcher.ranker_.content_[searcher.vectorizer_.vocabulary_.index("okapi")] == 1


def test_question_words_do_not_lead_to_a_page_that_has_them():
    facts = ["okapi lives in the forest", "tapir lives near rivers", "gnu moves in herds", "emu runs in dry plains"]
    texts = [*facts, "please let me explain what to ask and how to do it", *(f"animal number {n}" for n in range(300))]
    docs = Collection([str(number) for number in range(len(texts))], [""] * len(texts), texts)
    searcher = Searcher(dim=2, language="en").fit(docs)
    for number, animal in enumerate(["okapi", "tapir", "gnu", "emu"]):
        for query in (f"explain {animal} to me please", f"what is a {animal} and how do I ask"):
            assert searcher.search(query, k=1)[0].id == str(number)
    assert searcher.search("what please explain", k=1)[0].id == "4"


def test_words_without_content_count_at_most_as_words_of_half_of_the_items():
    queries = sp.csr_array(np.array([[2, 1, 1, 0], [1, 1, 0, 0], [0, 0, 1, 3], [0, 0, 0, 0]], np.float32))
    idf, content = np.array([4 * HALF, HALF / 2, 3.0, 2.0]), np.array([0.0, 0.0, 1.0, 1.0])
    found = count_less(queries, content, idf)
    assert found.toarray().tolist() == [[0.5, 1, 1, 0], [1, 1, 0, 0], [0, 0, 1, 3], [0, 0, 0, 0]]
    assert queries.toarray()[0].tolist() == [2, 1, 1, 0]
    assert count_less(queries, None, idf) is queries
    assert count_less(queries[[1]], content, idf).toarray().tolist() == [[1, 1, 0, 0]]


def test_no_item_that_gains_is_missed_by_leaving_out_frequent_words():
    rng = np.random.default_rng(4)
    for _ in range(200):
        weights = rng.random(5)
        weights /= np.linalg.norm(weights)
        frequencies = rng.integers(1, 9, 5)
        kept = set(rare_words(np.arange(5), weights, frequencies).tolist())
        left = [word for word in range(5) if word not in kept]
        assert np.sum(weights[left] ** 2) < LEAST
        assert kept
        assert all(frequencies[word] >= max(frequencies[list(kept)]) for word in left)


def test_weights_of_words_and_gains_have_their_limits():
    assert word_values(np.zeros(2, np.float32), None) == pytest.approx(np.log(2))
    assert title_gains(np.array([0.0, np.sqrt(LEAST), 1.0, 1.0000001])).tolist() == pytest.approx([0, 0, 1, 1])


CHANGED = [("keys_", -1), ("titles_", 3.0), ("titles_", -1.0), ("values_", -1.0), ("content_", 0.5)]


@pytest.mark.parametrize(("name", "value"), CHANGED)
def test_changed_values_of_a_stored_model_are_refused(searcher, tmp_path, name, value):
    save(searcher.ranker_, tmp_path / "model")
    stored = load_model(tmp_path / "model")
    arrays = dict(stored.arrays)
    changed = min((key for key in arrays if name in key and not key.endswith(("indices", "indptr"))), key=len)
    arrays[changed] = np.full_like(arrays[changed], value)
    save_model(tmp_path / "changed", Stored(stored.kind, stored.params, arrays))
    with pytest.raises(StoreError, match="titles|content"):
        load(tmp_path / "changed")
