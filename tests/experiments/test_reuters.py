"""Jaccard and precision by sets, one small world measured by hand, and the real split."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import DataError, UsageError
from tacit.experiments.collections.reuters import (
    ALONE,
    RANKS,
    TopicTask,
    draw_precision,
    jaccard,
    make_ranker,
    precision_at,
    read_reuters,
    run,
)
from tacit.experiments.request import Request
from tacit.retrieve import CosineRanker


@given(st.lists(st.sets(st.integers(0, 4)), min_size=2, max_size=6))
@settings(max_examples=30, deadline=None)
def test_jaccard_is_that_of_sets(sets):
    rows = sp.csr_array(np.array([[place in topics for place in range(5)] for topics in sets], np.float32))
    found = jaccard(rows[:1], rows)[0]
    assert found.tolist() == [len(sets[0] & other) / max(1, len(sets[0] | other)) for other in sets]


def test_precision_counts_from_the_top():
    scores, relevant = np.array([[1.0, 4.0, 3.0, 2.0]]), np.array([[True, True, False, True]])
    assert precision_at(scores, relevant, (1, 2, 4)).tolist() == [[1.0, 0.5, 0.75]]


def world():
    items = sp.csr_array(np.eye(3, dtype=np.float32))
    queries = np.array([[0.9, 0.5, 0.1], [0.1, 0.5, 0.9]], np.float32)
    item_topics = sp.csr_array(np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32))
    query_topics = sp.csr_array(np.array([[0, 1, 0], [0, 0, 1]], np.float32))
    return TopicTask(items, sp.csr_array(queries), item_topics, query_topics)


def test_measures_by_hand():
    values, curve = world().measure(CosineRanker().fit(None, world().items))
    # Query 0: similarities 0, 1/2, 1 in the order of its answers; query 1 has nothing relevant and counts 0.
    assert values["MAP"].tolist() == pytest.approx([(1 / 2 + 2 / 3) / 2, 0])
    assert values["P@10"].tolist() == pytest.approx([0.2, 0])
    gained, ideal = 0.5 / np.log2(3) + 1 / np.log2(4), 1 + 0.5 / np.log2(3)
    assert values["nDCG@10"].tolist() == pytest.approx([gained / ideal, 0])
    assert curve[:2] == pytest.approx([0, 0.25])


def test_the_learned_part_alone_has_a_name():
    assert make_ranker(ALONE, 7, 1).alpha == 1.0
    with pytest.raises(UsageError, match="htr-reconstruktion"):
        run(Request(systems=("htr-reconstruktion",)))


def test_draws_figure_1(tmp_path):
    pytest.importorskip("matplotlib")
    draw_precision({"tfidf": np.linspace(1, 0.5, len(RANKS))}, tmp_path / "precision.png")
    assert (tmp_path / "precision.png").read_bytes()[:4] == b"\x89PNG"


def test_stories_without_topics_are_told(tmp_path):
    folder = tmp_path / "text" / "reuters21578"
    folder.mkdir(parents=True)
    story = '{"id": "1", "title": "a", "text": "b", "topics": [], "modapte": "train"}\n'
    (folder / "docs.jsonl").write_text(story, "utf-8")
    with pytest.raises(DataError, match="0 training and 0 test stories have topics"):
        read_reuters(tmp_path)


def test_the_real_split(data_folder):
    task = read_reuters(data_folder)
    assert (task.items.shape[0], task.queries.shape[0]) == (7775, 3019)
    some = task.first_queries(40, seed=0)
    values, curve = some.measure(CosineRanker().fit(None, some.items))
    assert len(values["MAP"]) == 40
    assert curve[3] == pytest.approx(values["P@10"].mean())
