"""Pages and short texts: what a target is made of, statistics of each side, what scoring costs."""

import numpy as np
import pytest

from tacit.core import Collection, Links, UsageError
from tacit.experiments.collections import content
from tacit.experiments.collections.content import content_texts, cost_section, first_sentence, short_texts
from tacit.experiments.collections.link_task import count_words
from tacit.experiments.request import Request


@pytest.fixture
def corpus():
    titles = [f"Page {number}" for number in range(6)]
    texts = [f"Word{number} is the subject. Body{number} says more of word{number}, and so on." for number in range(6)]
    ids = [f"p{number}" for number in range(6)]
    return count_words(Collection(ids, titles, texts), Links(np.array([0]), np.array([1]), 6, 6))


def test_a_target_is_title_and_first_sentence():
    page = Collection(["a", "b"], ["Array", ""], ["Holds elements\nin a row. More.", "x " * 100])
    assert short_texts(page) == ["Array\nHolds elements in a row.", "\n" + " ".join(["x"] * 24)]
    assert first_sentence("") == ""
    assert first_sentence("See v1.2 of it") == "See v1.2 of it"


def test_each_side_has_its_own_statistics(corpus):
    texts = content_texts(corpus, 1000)
    column = corpus.vectorizer.vocabulary_.index("page")
    assert not texts.bodies[:, [column]].nnz  # only titles have it
    body = corpus.vectorizer.vocabulary_.index("body0")
    assert texts.bodies[[0], [body]].sum() > 0
    assert not texts.targets[:, [body]].nnz  # it stands in the second sentence
    assert texts.bodies.shape == texts.targets.shape == (6, len(corpus.vectorizer.vocabulary_))
    lengths = np.sqrt(texts.targets.multiply(texts.targets).sum(axis=1))
    np.testing.assert_allclose(lengths, 1, atol=1e-5)


def test_the_plan_has_every_dictionary():
    cells = content.plan_content(Request())
    assert {(cell["system"], cell["words"]) for cell in cells} == {
        (system, words) for system in content.SYSTEMS for words in (10_000, 20_000, 30_000)
    }
    assert {cell["words"] for cell in content.plan_content(Request(quick=True))} == {10_000}


def test_printed_rows_join_the_plan():
    found = [
        (cell["system"], cell.get("recipe")) for cell in content.plan_content(Request(quick=True, as_printed=True))
    ]
    assert found.count(("ssi-uv", "printed")) == 2  # both starts
    assert ("hash-1m", "printed") in found
    assert ("tfidf", None) in found


def test_all_words_are_refused(tmp_path):
    with pytest.raises(UsageError, match="leave out --words"):
        content.run(Request(data=tmp_path, words=None))


def test_the_cost_table_names_three_ways(corpus):
    texts = content_texts(corpus, 1000)
    section = cost_section(texts.bodies, texts.targets, 4, 0, n_targets=50, n_places=1000, n_queries=3)
    assert [row[0].split(",")[0] for row in section.rows] == ["ssi-uv", "hash-10m", "tfidf"]
    assert section.rows[0][3] == "1"
    assert "50 targets" in section.title
