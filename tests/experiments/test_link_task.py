"""Of several dimensions the one with the best validation MAP is fitted, by the same candidates as in training."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links, UsageError
from tacit.experiments.collections.link_task import LinkTask, split_links
from tacit.experiments.collections.links import LSI_DIMS, plan_links, run
from tacit.experiments.request import Request
from tacit.retrieve import get_method


def test_the_dimension_is_chosen_on_validation_links():
    rng = np.random.default_rng(0)
    topic = np.arange(120) % 6
    words = (rng.random((120, 60)) < np.where(topic[:, None] == np.arange(60) // 10, 0.5, 0.02)).astype(np.float32)
    words[:, 0] += 0.1  # no empty row
    rows = sp.csr_array(words / np.linalg.norm(words, axis=1, keepdims=True))
    sources, targets = np.nonzero((topic[:, None] == topic) & (rng.random((120, 120)) < 0.5))
    parts = split_links(Links(sources, targets, 120, 120), "queries", 0)
    features = {"tfidf": rows, "pairs": rows}
    task = LinkTask(features, features, parts, parts.test_queries(50, 0), 1)
    chosen = task.fit(get_method("lsi"), [1, 6], 0)
    assert chosen.dim == 6
    alone = {dim: task._validation_value(task.fit(get_method("lsi"), dim, 0)) for dim in (1, 6)}
    assert alone[6] > alone[1]


def test_a_full_run_chooses_the_dimension_of_lsi():
    found = plan_links(Request(full=True), ["lsi", "ssi-uu"])
    assert {tuple(cell["dim"]) for cell in found if cell["system"] == "lsi"} == {LSI_DIMS}
    assert {cell["dim"] for cell in found if cell["system"] == "ssi-uu"} == {100, 200, 500}


@pytest.fixture
def corpus(tmp_path):
    rng = np.random.default_rng(0)
    words = [[f"w{i % 4}{rng.integers(5)}" for _ in range(12)] for i in range(60)]
    lines = [json.dumps({"id": str(i), "title": f"d{i}", "text": " ".join(row)}) for i, row in enumerate(words)]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    (tmp_path / "links.tsv").write_text("".join(f"{i}\t{(i + 4 * j) % 60}\n" for i in range(60) for j in (1, 2, 3)))
    return str(tmp_path)


def test_a_dimension_and_a_seed_that_the_user_sets_are_those_of_the_ranker(corpus):
    request = Request(corpus=corpus, systems=("tfidf", "lsi"), quick=True, threads=1, params={"dim": 1, "seed": 3})
    small, large = run(request), run(replace(request, params={"dim": 8}))
    assert [(row.setting.get("dim"), row.setting["seed"]) for row in small.rows] == [(None, 3), (1, 3)]
    assert [(row.setting.get("dim"), row.setting["seed"]) for row in large.rows] == [(None, 0), (8, 0)]
    assert not np.array_equal(small.rows[1].values["MAP"], large.rows[1].values["MAP"])


def test_a_wrong_value_is_an_error_and_not_a_note(corpus):
    request = Request(corpus=corpus, systems=("tfidf", "ssi-uv"), quick=True, threads=1)
    for wrong in ({"dim": "abc"}, {"dim": 5.5}, {"seed": "x"}):
        with pytest.raises(UsageError, match="want a whole number"):
            run(replace(request, params=wrong))


def test_a_system_that_cannot_add_items_is_told_once(corpus):
    request = Request(corpus=corpus, systems=("tfidf", "htr"), quick=True, threads=1, split="documents")
    report = run(replace(request, quick=False, full=True))  # three seeds
    assert {row.system for row in report.rows} == {"tfidf"}
    assert sum(note.startswith("htr cannot run on the split documents") for note in report.notes) == 1
    with pytest.raises(UsageError, match="htr cannot run on the split documents"):
        run(replace(request, systems=("htr",)))
