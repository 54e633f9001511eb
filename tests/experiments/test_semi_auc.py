"""The paper's protocol of semi-auc: what is labelled, what is left out, what is printed beside it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import UsageError
from tacit.experiments.lists import semi_auc
from tacit.experiments.lists.semi_auc import PAPER, Abstracts, draw_split
from tacit.experiments.request import Request


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 10), st.integers(40, 200))
def test_a_split_has_one_positive_and_a_tenth_of_the_negatives(seed, n_positive, n_negative):
    truth = np.repeat([1.0, 0.0], [n_positive, n_negative])
    split = draw_split(truth, np.random.default_rng(seed))
    assert sorted([*split.train, *split.test]) == list(range(len(truth)))
    assert abs(len(split.train) - len(split.test)) <= 1
    labelled = np.isfinite(split.grades)
    assert np.array_equal(split.grades[labelled], truth[split.train][labelled])
    assert (split.grades == 1).sum() == 1
    n_train_negatives = (truth[split.train] == 0).sum()
    assert (split.grades == 0).sum() == max(1, round(n_train_negatives / 10))
    assert truth[split.test].any()


def test_the_papers_figures_are_those_of_its_table():
    assert len(PAPER) == 12
    assert np.mean([row.auc for row in PAPER.values()], axis=0).round(1).tolist() == [88.9, 92.6]
    assert [query for query, row in PAPER.items() if row.ap[1] > row.ap[0]] == ["10", "27", "29", "42", "58"]


def test_relevant_documents_without_a_query_word_take_no_part(data_folder):
    corpus = Abstracts.read(data_folder / "text" / "cacm")
    kept, truth = corpus.task("25")
    relevant = len(corpus.relevant["25"])
    assert truth.sum() <= relevant
    assert len(kept) == len(corpus.documents) - (relevant - truth.sum())


def test_a_quick_run_has_a_row_for_each_query_system_and_kind_of_vectors(data_folder, monkeypatch):
    monkeypatch.setattr(semi_auc, "L2_CHOICES", (1.0, 10.0))
    monkeypatch.setattr(semi_auc, "ALPHA_CHOICES", (0.9,))
    monkeypatch.setattr(semi_auc, "HELD_OUT", ("59",))
    monkeypatch.setattr(semi_auc, "PAPER", {query: PAPER[query] for query in ("7", "11")})
    systems = ("auc-logistic", "auc-binomial", "auc-semi-lambda0")
    report = semi_auc.run(Request(data=data_folder, quick=True, systems=systems))
    assert [(row.system, row.setting["query"], row.setting["vectors"]) for row in report.rows] == [
        (system, query, form) for form in ("words", "lsi") for query in ("7", "11") for system in systems
    ]
    for row in report.to_json()["rows"]:
        assert set(row["metrics"]) == {"AUC", "AP"}
        assert 0.5 < row["metrics"]["AUC"] <= 1
    by_name = {(row.system, row.setting["query"], row.setting["vectors"]): row.metrics for row in report.rows}
    for query, form in (("7", "words"), ("11", "lsi")):  # the same loss, the same penalty
        assert by_name["auc-semi-lambda0", query, form] == by_name["auc-logistic", query, form]
    means, beside = report.sections
    assert {tuple(row[:2]) for row in beside.rows} == {(q, form) for q in ("7", "11") for form in ("words", "lsi")}
    assert {row[4] for row in beside.rows if row[0] == "7" and row[2] == "auc-logistic"} == {"81.4"}
    assert {row[4] for row in beside.rows if row[2] == "auc-binomial"} == {""}
    assert [row[4:6] for row in means.rows if row[2] == "auc-semi-lambda0"] == [["0 of 2", "1"]] * 4
    with pytest.raises(UsageError, match="tfidf"):
        semi_auc.run(Request(data=data_folder, systems=("tfidf",)))


def test_no_query_of_the_paper_is_chosen_on():
    assert not set(semi_auc.HELD_OUT) & set(PAPER)
