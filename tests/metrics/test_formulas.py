"""Runs against judgments: ir-measures and scikit-learn are the oracles, nDCG-letor is worked by hand."""

import math

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from tacit.core import Judgments, Run
from tacit.metrics import evaluate

N_QUERIES = 25
DOCS = [f"d{number:02d}" for number in range(30)]
SEEDS = st.integers(0, 2**32 - 1)

# Ours to theirs. trec_eval computes the first group, other code of ir-measures the second: they break ties differently.
TREC_EVAL = {
    "AP": "AP",
    "AP@1": "AP@1",
    "AP@7": "AP@7",
    "nDCG": "nDCG",
    "nDCG@1": "nDCG@1",
    "nDCG@5": "nDCG@5",
    "P@1": "P@1",
    "P@8": "P@8",
    "P@100": "P@100",
    "R@4": "R@4",
    "R@100": "R@100",
    "RR": "RR",
    "AP-judged": "AP(judged_only=True)",
    "AP-judged@5": "AP(judged_only=True)@5",
    "nDCG-judged": "nDCG(judged_only=True)",
    "nDCG-judged@5": "nDCG(judged_only=True)@5",
    "P-judged@5": "P(judged_only=True)@5",
    "R-judged@5": "R(judged_only=True)@5",
    "RR-judged": "RR(judged_only=True)",
    "AP(rel=2)": "AP(rel=2)",
    "AP(rel=3)@6": "AP(rel=3)@6",
    "P(rel=2)@5": "P(rel=2)@5",
    "R(rel=2)@5": "R(rel=2)@5",
    "RR(rel=2)": "RR(rel=2)",
    "AP-judged(rel=2)": "AP(rel=2,judged_only=True)",
}
OTHERS = {
    "RR@1": "RR@1",
    "RR@4": "RR@4",
    "RR(rel=2)@4": "RR(rel=2)@4",
    "Judged@1": "Judged@1",
    "Judged@6": "Judged@6",
    "Judged@99": "Judged@99",
}


def random_world(seed):
    """Judgments and a run as dicts: graded, with ties, missing queries, unjudged documents, grades below 0."""
    rng = np.random.default_rng(seed)
    lowest = rng.choice([-1, 0])
    judgments, run = {}, {}
    for query in range(N_QUERIES):
        judged = rng.choice(DOCS, rng.integers(1, len(DOCS)), replace=False)
        grades = rng.integers(lowest, rng.integers(1, 5), len(judged))  # some queries get no relevant document
        grades[0] = max(grades[0], 0)  # trec_eval may hang on a query with nothing but grades below 0
        ranked = rng.choice(DOCS, rng.integers(1, len(DOCS)), replace=False)
        scores = rng.integers(-5, rng.choice([-4, 0, 10]), len(ranked)) / 8  # exact in float32, often equal
        if rng.random() < 0.85:
            judgments[f"q{query}"] = dict(zip(judged.tolist(), grades.tolist(), strict=True))
        if rng.random() < 0.85:
            run[f"q{query}"] = dict(zip(ranked.tolist(), scores.tolist(), strict=True))
    judgments.setdefault("q0", {"d00": 1})
    return judgments, run


def as_run(scores, doc_ids):
    """A run whose ties go by the given order of the documents."""
    row = {doc_id: number for number, doc_id in enumerate(doc_ids)}
    entries = [(q, row[doc], score) for q, docs in enumerate(scores.values()) for doc, score in docs.items()]
    query, doc, score = (
        (np.array(column) for column in zip(*entries, strict=True)) if entries else (np.empty(0, int),) * 3
    )
    return Run(list(scores), doc_ids, query, doc, score.astype(float))


def check_against_ir_measures(judgments, run, names, doc_ids):
    measures = {ours: ir_measures.parse_measure(theirs) for ours, theirs in names.items()}
    wanted = {(m.measure, m.query_id): m.value for m in ir_measures.iter_calc(list(measures.values()), judgments, run)}
    result = evaluate(Judgments.from_dict(judgments), as_run(run, doc_ids), names)
    for ours, theirs in measures.items():
        expected = [wanted[theirs, query_id] for query_id in result.query_ids]
        # Both are float64; sums of at most 30 terms are taken in another order.
        np.testing.assert_allclose(result.values[ours], expected, rtol=0, atol=1e-12, err_msg=ours)
    means = ir_measures.calc_aggregate(list(measures.values()), judgments, run)
    for ours, theirs in measures.items():
        assert result.means()[ours] == pytest.approx(means[theirs], abs=1e-12)


@given(seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_agrees_with_trec_eval_where_ties_go_to_the_last_id(seed):
    judgments, run = random_world(seed)
    check_against_ir_measures(judgments, run, TREC_EVAL, DOCS[::-1])


@given(seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_agrees_with_the_other_code_of_ir_measures_where_ties_go_to_the_first_id(seed):
    judgments, run = random_world(seed)
    # Its Judged@k counts a grade below 0 as judged, which trec_eval and we do not.
    judgments = {query: {doc: max(grade, 0) for doc, grade in docs.items()} for query, docs in judgments.items()}
    check_against_ir_measures(judgments, run, OTHERS, DOCS)


def test_ties_of_other_tools_are_as_the_documentation_says():
    judgments = {"q": {"a": 1, "b": 0}}

    def theirs(name, scores):
        measure = ir_measures.parse_measure(name)
        return ir_measures.calc_aggregate([measure], judgments, {"q": scores})[measure]

    assert theirs("RR", {"a": 1.0, "b": 1.0}) == 0.5  # the id that is last in text order stands first
    assert theirs("RR", {"a": 1.0 + 1e-9, "b": 1.0}) == 0.5  # a tie in float32
    assert theirs("RR@5", {"a": 1.0, "b": 1.0}) == 1
    assert theirs("RR@5", {"a": 1.0, "b": 1.0 + 1e-9}) == 0.5
    ours = evaluate(Judgments.from_dict(judgments), Run.from_dict({"q": {"a": 1.0, "b": 1.0}}), "RR")
    assert ours.means() == {"RR": 1.0}  # "a" comes first in the run


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_auc_is_that_of_scikit_learn_over_the_judged_documents(seed):
    judgments, run = random_world(seed)
    result = evaluate(Judgments.from_dict(judgments), Run.from_dict(run), ["AUC", "AUC(rel=2)", "rank_loss"])
    for level, name in ((1, "AUC"), (2, "AUC(rel=2)")):
        for query_id, value in zip(result.query_ids, result.values[name], strict=True):
            judged = {doc: grade for doc, grade in judgments[query_id].items() if grade >= 0}
            relevant = [grade >= level for grade in judged.values()]
            if query_id not in run:
                expected = 0
            elif len(set(relevant)) < 2:
                expected = 0.5
            else:
                expected = roc_auc_score(relevant, [run[query_id].get(doc, -1e9) for doc in judged])
            assert value == pytest.approx(expected, abs=1e-12)
    np.testing.assert_array_equal(result.values["rank_loss"], 1 - result.values["AUC"])


def test_ndcg_letor_by_hand():
    judgments = Judgments.from_dict({"q": {"a": 2, "b": 0, "c": 1, "e": 1}})
    run = Run.from_dict({"q": {"b": 4.0, "c": 3.0, "u": 2.0, "a": 1.0}})
    # Gains 0, 1, 0 (unjudged), 3; discounts 1, 1, log2(3), log2(4) = 2:  0 + 1 + 0 + 3/2 = 5/2.
    # Best order: gains 3, 1, 1, 0: 3/1 + 1/1 + 1/log2(3) + 0.
    best = 3 + 1 + 1 / math.log2(3)
    measured = evaluate(
        judgments, run, ["nDCG-letor", "nDCG-letor@2", "nDCG-letor@1", "nDCG-letor@4", "nDCG-letor-judged@3"]
    )
    assert measured.means() == pytest.approx(
        {
            "nDCG-letor": 2.5 / best,
            "nDCG-letor@2": 1 / 4,
            "nDCG-letor@1": 0,
            "nDCG-letor@4": 2.5 / best,
            "nDCG-letor-judged@3": (0 + 1 + 3 / math.log2(3)) / best,  # without "u", "a" moves up to position 3
        },
        abs=1e-15,
    )


def test_ndcg_with_exponential_gain():
    judgments = Judgments.from_dict({"q": {"a": 2, "b": 0, "c": 1}})
    run = Run.from_dict({"q": {"b": 4.0, "c": 3.0, "u": 2.0, "a": 1.0}})
    best = 3 + 1 / math.log2(3)  # gains 3, 1, 0; discounts 1, log2(3), log2(4), log2(5)
    assert evaluate(judgments, run, ["nDCG-exp", "nDCG-exp@2", "nDCG-exp-judged"]).means() == pytest.approx(
        {
            "nDCG-exp": (1 / math.log2(3) + 3 / math.log2(5)) / best,
            "nDCG-exp@2": (1 / math.log2(3)) / best,
            "nDCG-exp-judged": (1 / math.log2(3) + 3 / 2) / best,
        },
        abs=1e-15,
    )


def test_reciprocal_rank_among_the_judged_with_a_cutoff():  # ir-measures has no RR that is both
    judgments = Judgments.from_dict({"q": {"a": 0, "b": 0, "c": 1}})
    run = Run.from_dict({"q": {"u": 5.0, "a": 4.0, "v": 3.0, "b": 2.0, "c": 1.0}})
    measured = evaluate(judgments, run, ["RR", "RR@3", "RR-judged@3", "RR-judged@2"])
    assert measured.means() == {"RR": 1 / 5, "RR@3": 0, "RR-judged@3": 1 / 3, "RR-judged@2": 0}


def test_positions_one_and_two_weigh_the_same_in_ndcg_letor_only():
    judgments = Judgments.from_dict({"q": {"a": 1, "b": 0}})
    run = Run.from_dict({"q": {"b": 2.0, "a": 1.0}})
    assert evaluate(judgments, run, ["nDCG-letor", "nDCG"]).means() == {
        "nDCG-letor": 1.0,
        "nDCG": pytest.approx(1 / math.log2(3)),
    }


def slow_ndcg_letor(ranked_grades, judged_grades, k):
    def dcg(grades):
        return sum(
            (2**grade - 1) / (1 if position == 1 else math.log2(position))
            for position, grade in enumerate(grades[:k], start=1)
        )

    best = dcg(sorted(judged_grades, reverse=True))
    return dcg(ranked_grades) / best if best else 0.0


@given(seed=SEEDS, k=st.integers(1, 40))
@settings(max_examples=25, deadline=None)
def test_ndcg_letor_agrees_with_a_plain_loop(seed, k):
    judgments, run = random_world(seed)
    result = evaluate(Judgments.from_dict(judgments), as_run(run, DOCS), f"nDCG-letor@{k}")
    for query_id, value in zip(result.query_ids, result.values[f"nDCG-letor@{k}"], strict=True):
        judged = {doc: max(grade, 0) for doc, grade in judgments[query_id].items()}
        scores = run.get(query_id, {})
        ranked = sorted(scores, key=lambda doc: (-scores[doc], doc))
        expected = slow_ndcg_letor([judged.get(doc, 0) for doc in ranked], list(judged.values()), k)
        assert value == pytest.approx(expected, abs=1e-12)


ALL = [*TREC_EVAL, *OTHERS, "AUC", "rank_loss", "nDCG-letor", "nDCG-letor@3", "nDCG-letor-judged@3", "RR-judged@3"]


@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_neither_the_order_of_the_columns_nor_a_rising_map_of_the_scores_changes_anything(seed):
    grades, scores = random_world(seed)
    rng = np.random.default_rng(seed)
    judgments, run = Judgments.from_dict(grades), as_run(scores, DOCS)
    expected = evaluate(judgments, run, ALL)
    j, r = rng.permutation(len(judgments)), rng.permutation(len(run))
    shuffled = Judgments(
        judgments.query_ids, judgments.doc_ids, judgments.query[j], judgments.doc[j], judgments.grade[j]
    )
    mapped = Run(run.query_ids, run.doc_ids, run.query[r], run.doc[r], np.exp(run.score[r]) + 3)
    measured = evaluate(shuffled, mapped, ALL)
    for name in ALL:
        np.testing.assert_allclose(measured.values[name], expected.values[name], rtol=0, atol=1e-14, err_msg=name)
        assert ((measured.values[name] >= 0) & (measured.values[name] <= 1)).all()


@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_ranking_by_the_grades_themselves_is_perfect(seed):
    grades, _ = random_world(seed)
    result = evaluate(Judgments.from_dict(grades), Run.from_dict(grades), ["AP", "nDCG", "nDCG-letor@5", "RR", "AUC"])
    has_relevant = np.array([max(docs.values()) >= 1 for docs in grades.values()])
    for name in ("AP", "nDCG", "nDCG-letor@5", "RR"):
        np.testing.assert_array_equal(result.values[name], has_relevant.astype(float))
    assert result.n_without_relevant == (~has_relevant).sum()
    assert set(result.values["AUC"]) <= {1.0, 0.5}


def test_fractional_grades_are_gains_and_can_be_cut_at_a_level():
    judgments = Judgments.from_dict({"q": {"a": 0.25, "b": 0.5, "c": 0.0}})
    run = Run.from_dict({"q": {"c": 3.0, "b": 2.0, "a": 1.0}})
    best = 0.5 + 0.25 / math.log2(3)
    measured = evaluate(judgments, run, ["nDCG", "AP(rel=0.5)", "AP"]).means()
    assert measured == pytest.approx({"nDCG": (0.5 / math.log2(3) + 0.25 / 2) / best, "AP(rel=0.5)": 0.5, "AP": 0})


def test_real_judgments_and_a_random_run_agree_with_ir_measures(data_folder):
    grades: dict[str, dict[str, int]] = {}
    for line in (data_folder / "text" / "cacm" / "qrels.txt").read_text().splitlines():
        query_id, _, doc_id, grade = line.split()
        grades.setdefault(query_id, {})[doc_id] = int(grade)
    rng = np.random.default_rng(0)
    doc_ids = sorted({doc for docs in grades.values() for doc in docs} | {f"u{n}" for n in range(200)}, reverse=True)
    scores = {q: dict(zip(doc_ids, (rng.integers(0, 400, len(doc_ids)) / 16).tolist(), strict=True)) for q in grades}
    check_against_ir_measures(grades, scores, TREC_EVAL, doc_ids)
