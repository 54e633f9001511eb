"""The experiment across languages: no Latin word in Japanese queries, no leak from test mates, honest measures."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Collection, Links, UsageError
from tacit.data import read_collection, read_links, read_pairs
from tacit.experiments.collections import crosslang
from tacit.experiments.collections.crosslang_systems import (
    CL_LSI_DIMS,
    Setting,
    SystemBench,
    make_part,
    needs_dictionary,
)
from tacit.experiments.collections.crosslang_task import CrossCorpus, CrossTask, align, count_japanese, split_mates
from tacit.experiments.collections.link_task import count_words
from tacit.experiments.request import Request
from tacit.retrieve import METHODS, ClLsiRanker

pytest.importorskip("sudachipy")

TOPICS = ["配列 要素 番号", "画像 描く 色", "事件 待つ 押す", "関数 呼ぶ 返す", "文字 読む 書く"]
ENGLISH = ["array element index", "image draw colour", "event wait press", "function call return", "text read write"]
N = 60


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def corpus():
    """Sixty English pages of five topics that link within their topic; the first fifty have Japanese mates."""
    rng = np.random.default_rng(0)
    topics = np.arange(N) % len(TOPICS)

    def text(words, row):
        return " ".join(rng.permutation([*words[topics[row]].split() * 3, *words[rng.integers(5)].split()]))

    ids = [f"e{row}" for row in range(N)]
    english = Collection(ids, ids, [text(ENGLISH, row) for row in range(N)], name="small")
    japanese = Collection(
        [f"j{row}" for row in range(50)], [""] * 50, [text(TOPICS, row) + " Array.from" for row in range(50)]
    )
    pairs = np.array([(a, b) for a in range(N) for b in range(N) if a != b and topics[a] == topics[b]])
    some = pairs[rng.random(len(pairs)) < 0.5]
    links = Links(some[:, 0], some[:, 1], N, N)
    mates = Links(np.arange(50), np.arange(50), 50, N)
    own = pairs[(pairs[:, 0] < 50) & (rng.random(len(pairs)) < 0.3)]
    return align(count_words(english, links), japanese, mates, Links(own[:, 0], own[:, 1], 50, N), 1000)


def assert_nothing_leaks(corpus, seed):
    split = split_mates(corpus, seed)
    test, held = split.test_mates.sources, split.validation_mates.sources
    hidden = np.concatenate([test, held])
    assert np.isin(split.query_links.targets, corpus.mates).all()
    for task in (split.pairs, split.links, split.query_links, split.train_mates):
        assert len(task)
        assert not np.isin(task.sources, hidden).any()
    assert not np.isin(split.validation.sources, test).any()
    assert set(np.unique(split.test.sources)) <= set(test.tolist())
    assert len(np.intersect1d(test, held)) == 0
    assert np.array_equal(np.sort(np.concatenate([hidden, split.train_mates.sources])), corpus.mates)
    assert len(test) == round(0.3 * len(corpus.mates))
    return split


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_out_link_of_a_test_mate_is_in_any_training_task(corpus, seed):
    assert_nothing_leaks(corpus, seed)


def test_links_of_the_japanese_pages_join_training_for_training_mates_alone(corpus):
    split = assert_nothing_leaks(corpus, 0)
    codes = {tuple(pair) for pair in zip(split.pairs.sources.tolist(), split.pairs.targets.tolist(), strict=True)}
    own = zip(corpus.own_links.sources.tolist(), corpus.own_links.targets.tolist(), strict=True)
    train = set(split.train_mates.sources.tolist())
    assert all((pair in codes) == (pair[0] in train) for pair in own)


def test_no_leak_on_the_real_pages_either(data_folder):
    folder = data_folder / "linked" / "mdn_ja_en"
    english, japanese = (read_collection(folder / f"docs{kind}.jsonl.gz") for kind in ("", ".ja"))
    links, mates = read_links(folder / "links.tsv.gz", english), read_pairs(folder / "mates.tsv.gz", japanese, english)
    own = read_pairs(folder / "links.ja.tsv.gz", japanese, english)
    mate_of = np.full(len(japanese), -1)
    mate_of[mates.sources] = mates.targets
    n = len(english)
    nothing = sp.csr_array((n, 1), dtype=np.float32)
    own_links = Links(mate_of[own.sources], own.targets, n, n)
    linked = count_words(english.take(range(1)), links)  # the split reads links alone
    split = assert_nothing_leaks(
        CrossCorpus(linked, linked.vectorizer, nothing, nothing, np.sort(mates.targets), own_links), 0
    )
    assert len(split.test_mates) == 3044


def test_no_latin_letter_is_left_in_japanese_queries(corpus):
    words = corpus.japanese.vocabulary_
    assert words
    assert not [word for word in words if re.search("[A-Za-z]", word)]
    assert "アレイ" not in words  # what Sudachi would make of Array
    assert not corpus.queries[50:].nnz


def test_no_latin_letter_is_left_on_the_real_pages(data_folder):
    pages = read_collection(data_folder / "linked" / "mdn_ja_en" / "docs.ja.jsonl.gz").take(range(0, 10_000, 100))
    vectorizer, counts = count_japanese(pages, 30_000)
    assert len(vectorizer.vocabulary_) == counts.shape[1] > 500
    assert not [word for word in vectorizer.vocabulary_ if re.search("[A-Za-z]", word)]
    # Nothing else of the page counts: the same pages without any Latin letter give the same rows.
    plain = [re.sub(r"[A-Za-zＡ-Ｚａ-ｚ][A-Za-z0-9]*", " ", text) for text in pages.full_texts()]
    kanji = [column for column, word in enumerate(vectorizer.vocabulary_) if not any(map(str.isdigit, word))]
    assert (vectorizer.counts(plain)[:, kanji] != counts[:, kanji]).nnz == 0


def test_cl_lsi_sees_training_mates_alone(corpus, monkeypatch):
    split, seen = split_mates(corpus, 0), []
    fit = ClLsiRanker._fit

    def spy(self, data):
        seen.append(data.pairs)
        fit(self, data)

    monkeypatch.setattr(ClLsiRanker, "_fit", spy)
    SystemBench(corpus, split, None, 0).fitted("cl-lsi", Setting())
    assert len(seen) == len(CL_LSI_DIMS)
    for pairs in seen:
        assert np.array_equal(pairs.sources, pairs.targets)
        assert np.array_equal(pairs.sources, split.train_mates.sources)


def test_the_mate_is_no_candidate_unless_it_is_sought(corpus):
    split = split_mates(corpus, 0)

    def own_mate_first(rows):
        return np.eye(N, dtype=np.float32)[rows]

    links = CrossTask.of(split.test, True, 100, 0)
    assert links.held_out().excluded.sum(axis=1).tolist() == [1] * len(links.rows)
    assert 0.4 < links.measure(own_mate_first)["rank_loss"].mean() <= 0.5
    mates = CrossTask.of(split.test_mates, False, 100, 0).measure(own_mate_first)
    assert mates["MRR"].tolist() == [1.0] * len(split.test_mates)
    assert mates["rank_loss"].max() == 0


ACROSS = sorted(name for name, method in METHODS.items() if method.estimator.two_dictionaries)


OTHERS = ["tfidf-dict", "ssi-dict", "ssi-cross+tfidf-dict", "lsi-mate+tfidf-mate", "ssi-cross-multitask-ja"]


@pytest.mark.parametrize("name", [*ACROSS, *OTHERS])
def test_every_system_beats_chance_on_a_small_world(corpus, name):
    glosses = np.zeros((len(corpus.japanese.vocabulary_), len(corpus.english.vectorizer.vocabulary_)), np.float32)
    for japanese, english in zip(" ".join(TOPICS).split(), " ".join(ENGLISH).split(), strict=True):
        if japanese in corpus.japanese.vocabulary_:
            row = corpus.japanese.vocabulary_.index(japanese)
            glosses[row, corpus.english.vectorizer.vocabulary_.index(english)] = 1
    bench = SystemBench(corpus, split_mates(corpus, 0), sp.csr_array(glosses), 0, threads=1)
    fitted = bench.fitted(name, Setting(dim=8, n_epochs=20))
    found = CrossTask.of(bench.split.test, True, 100, 0).measure(fitted.score)
    assert found["rank_loss"].mean() < 0.25
    assert bench.fitted(name, Setting(dim=8, n_epochs=20)) is fitted
    if name == "ssi-cross":
        assert {"train_rank_loss", "test_rank_loss"} <= set(fitted.epochs[0])


def test_cl_lsi_is_fitted_once_for_itself_and_for_its_mixtures(corpus):
    bench = SystemBench(corpus, split_mates(corpus, 0), None, 0, threads=1)
    alone = bench.fitted("cl-lsi", Setting(concepts=4))
    bench.fitted("ssi-cross+cl-lsi", Setting(dim=8, n_epochs=2, concepts=4))
    assert bench.fitted("cl-lsi", Setting(dim=8, concepts=4)) is alone


def test_a_share_of_the_pairs_is_drawn_by_the_seed(corpus):
    split = split_mates(corpus, 0)
    few = split.thinned(0.5, 0)
    assert len(few) == round(0.5 * len(split.pairs))
    assert np.array_equal(few.targets, split.thinned(0.5, 0).targets)
    assert len(split.thinned(0.0001, 0)) == 20


def test_the_plan_names_shares_dimensions_and_mates():
    cells = crosslang._plan(Request())
    keys = {(cell.system, cell.setting.task, cell.setting.share, cell.setting.dim) for cell in cells}
    assert len(keys) == len(cells)
    for system in ("ssi-cross", "ssi-cross-multitask"):
        assert {share for name, _, share, dim in keys if name == system and dim == 100} == {0.01, 0.04, 0.1, 0.4, 1.0}
    assert {dim for name, _, _, dim in keys if name == "ssi-cross"} == {50, 100}
    assert {name for name, task, *_ in keys if task == "mates"} == {"cl-lsi", "ssi-cross", "ssi-cross+cl-lsi"}
    assert len(crosslang._plan(Request(quick=True))) < 8
    assert len(crosslang._plan(Request(full=True))) > 2 * len(cells)


def test_names_of_systems():
    assert make_part("ssi-dict", 7).dim == make_part("htr-cross", 7).dim == 7
    assert needs_dictionary("ssi-cross+tfidf-dict")
    assert not needs_dictionary("ssi-cross")
    with pytest.raises(UsageError, match="system is 'bm25'"):
        make_part("bm25")
