"""A program beside people, and pairs that people should judge to know it better."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from tacit.core import Judgments, Run, TacitError
from tacit.judge.program.comparison import compare_judges
from tacit.judge.sampling import draw_calibration


@pytest.fixture
def judges():
    rng = np.random.default_rng(0)
    people = {f"q{q}": {f"d{d}": int(rng.integers(4)) for d in range(20)} for q in range(6)}
    program = {
        q: {d: int(np.clip(g + rng.integers(-1, 3), 0, 3)) for d, g in row.items() if d != "d0"} | {"extra": 1}
        for q, row in people.items()
    }
    return people, program


def test_figures_agree_with_scikit_learn_and_slow_sums(judges):
    people, program = judges
    ranks = {(q, f"d{d}"): d for q in people for d in range(1, 20)}
    run = Run.from_dict({q: {f"d{d}": -float(d) for d in range(20)} for q in people}, "x")
    found = compare_judges(
        "gpt", Judgments.from_dict(program), "ann", Judgments.from_dict(people), ranks=ranks, runs={"x": run}
    )
    both = [(program[q][d], people[q][d], q, d) for q in people for d in people[q] if d in program[q]]
    a, b = [row[0] for row in both], [row[1] for row in both]
    assert (found.n_both, found.n_people, found.n_program) == (114, 120, 120)
    assert found.kappa == pytest.approx(cohen_kappa_score(a, b))
    assert found.quadratic == pytest.approx(cohen_kappa_score(a, b, weights="quadratic"))
    assert found.confusion == confusion_matrix(a, b).tolist()
    assert found.bias.mean == pytest.approx(np.subtract(a, b).mean())
    by_query = {bias.group: bias.mean for bias in found.by_query}
    assert by_query["q2"] == pytest.approx(np.mean([x - y for x, y, q, _ in both if q == "q2"]))
    assert [abs(bias.mean) for bias in found.by_query] == sorted((abs(m) for m in by_query.values()), reverse=True)
    assert [bias.group for bias in found.by_rank] == ["1-3", "4-10", "11-30"]
    low = [x - y for x, y, _, d in both if int(d[1:]) <= 3]
    assert (found.by_rank[0].n_pairs, found.by_rank[0].mean) == (len(low), pytest.approx(np.mean(low)))
    top = [x - y for x, y, _, d in both if int(d[1:]) < 10]
    assert found.by_system[0].mean == pytest.approx(np.mean(top))
    assert found.to_json()["share_of_people"] == 114 / 120


def test_pairs_without_a_recorded_rank_have_the_best_rank_of_the_runs(judges):
    people, program = (Judgments.from_dict(grades) for grades in judges)
    down = Run.from_dict({q: {f"d{d}": -float(d) for d in range(20)} for q in people.query_ids}, "x")
    up = Run.from_dict({q: {f"d{d}": float(d) for d in range(20)} for q in people.query_ids}, "y")
    runs = {"x": down, "y": up}
    found = compare_judges("gpt", program, "ann", people, ranks={("q0", "d10"): 1}, runs=runs)
    # d1 to d2 and d17 to d19 are among the first three of a run, and d10 of one query by its record.
    assert [(bias.group, bias.n_pairs) for bias in found.by_rank] == [("1-3", 6 * 5 + 1), ("4-10", 6 * 14 - 1)]


def test_nothing_in_common_is_an_error():
    one, other = Judgments.from_dict({"q": {"a": 1}}), Judgments.from_dict({"q": {"b": 1}})
    with pytest.raises(TacitError, match="judged no pair in common"):
        compare_judges("gpt", one, "ann", other)


def test_calibration_is_even_over_grades_nested_and_skips_judged_pairs():
    program = Judgments.from_dict({f"q{q}": {f"d{d}": 3 if d == 0 else d % 2 for d in range(40)} for q in range(5)})
    small, large = draw_calibration(program, 9, seed=1), draw_calibration(program, 15, seed=1)
    assert {(s.query, s.document) for s in small} <= {(s.query, s.document) for s in large}
    counts = {}
    for s in large:
        counts[s.why] = counts.get(s.why, 0) + 1
    assert counts == {"grade 0": 5, "grade 1": 5, "grade 3": 5}
    grade_of = program.to_dict()
    sizes = {0: 95, 1: 100, 3: 5}
    for s in large:
        assert s.probability == 5 / sizes[grade_of[s.query][s.document]]
    judged = {(s.query, s.document) for s in small}
    more = draw_calibration(program, 6, judged=judged, seed=1)
    assert len([s for s in more if (s.query, s.document) not in judged]) == 6
    assert {(s.query, s.document) for s in more} > judged
