"""A judge must not grade itself."""

import pytest

from tacit.core import Judgments, Run, UsageError
from tacit.judge import check_independent

PROGRAM = Judgments.from_dict({f"q{i}": {"a": 0, "b": 1, "c": 2} for i in range(12)})


def run_named(tag, order="acb"):
    return Run.from_dict({q: {d: -float(at) for at, d in enumerate(order)} for q in PROGRAM.query_ids}, tag)


@pytest.mark.parametrize("name", ["gpt-4o", "GPT-4O", "bm25+gpt-4o", "rerank_gpt-4o_v2", "runs/gpt-4o.run.gz"])
def test_names_that_contain_the_judge_are_refused(name):
    for runs in ({name: run_named("x")}, {"x": run_named(name)}):
        with pytest.raises(UsageError, match="must not grade itself"):
            check_independent("openai:gpt-4o@0123abcd", PROGRAM, runs)


@pytest.mark.parametrize("name", ["gpt-4", "bm25", "p_gpt-4omni", "p_bm25"])
def test_other_names_pass(name):
    check_independent("openai:gpt-4o@0123abcd", PROGRAM, {name: run_named(name)})


def test_short_names_are_only_refused_when_equal():
    check_independent("p", PROGRAM, {"p_bm25": run_named("p_bm25")})
    with pytest.raises(UsageError, match="must not grade itself"):
        check_independent("p", PROGRAM, {"P.run": run_named("tag")})


def test_an_order_by_the_judges_grades_is_refused():
    with pytest.raises(UsageError, match="ranks every query by the grades of judge 'j'"):
        check_independent("j", PROGRAM, {"anything": run_named("x", "cba")})


def test_an_order_whose_first_ten_follow_the_judges_grades_is_refused():
    grades = {f"q{q}": {f"d{d}": (d * 7 + q) % 4 for d in range(14)} for q in range(12)}
    program = Judgments.from_dict(grades)
    first = {q: sorted(list(row)[:10], key=row.__getitem__, reverse=True) for q, row in grades.items()}
    orders = {q: [*first[q], *(f"d{d}" for d in range(10, 14))] for q in grades}  # the rest is not ranked again
    run = Run.from_dict({q: {d: -float(at) for at, d in enumerate(order)} for q, order in orders.items()}, "x")
    with pytest.raises(UsageError, match="must not grade itself"):
        check_independent("j", program, {"anything": run})
    orders["q0"][0], orders["q0"][9] = orders["q0"][9], orders["q0"][0]
    other = Run.from_dict({q: {d: -float(at) for at, d in enumerate(order)} for q, order in orders.items()}, "x")
    check_independent("j", program, {"anything": other})
