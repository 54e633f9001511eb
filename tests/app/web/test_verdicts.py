"""Verdicts name versions, tell identical ones, and turn round when another version is live."""

import numpy as np
import pytest

from tacit.app.web.training.verdicts import (
    MEASURE,
    MEASURES,
    against_live,
    board_report,
    fingerprint_of,
    make_verdict,
    report,
    scoreboard,
    scores_of,
)

N = 30
QUERIES = {f"q{n}": f"text {n}" for n in range(N)}


def values(mean, seed=0):
    rng = np.random.default_rng(seed)
    return {measure: np.clip(mean + 0.05 * rng.standard_normal(N), 0, 1) for measure in MEASURES}


def verdict(version, against, before, after, *, identical=False, fingerprint="f"):
    queries = dict(list(QUERIES.items())[: len(before[MEASURE])])
    shared = {"fingerprint": fingerprint, "has_zeros": False, "identical": identical}
    return make_verdict(version, against, queries, before, after, **shared) | {"curve": []}


@pytest.mark.parametrize(
    ("after", "status", "advice"),
    [
        (values(0.7), "better", "Make version 2 live."),
        (values(0.2), "worse", "Keep version 1."),
        (values(0.5, seed=1), "no difference shown", "Keep version 1."),
    ],
)
def test_a_verdict_names_both_versions_and_says_what_to_do(after, status, advice):
    found = verdict("2", "1", values(0.5), after)
    assert found["status"] == status
    assert advice in found["text"]
    assert "version 1" in found["text"]
    assert "version that answers" not in found["text"]
    differences = after[MEASURE] - values(0.5)[MEASURE]
    assert found["gain"] == pytest.approx(differences.mean())
    assert (found["wins"], found["losses"]) == ((differences > 0).sum(), (differences < 0).sum())


def test_a_version_with_the_same_results_has_changed_nothing():
    found = verdict("3", "1", values(0.5), values(0.5), identical=True)
    assert found["status"] == "identical"
    assert found["text"].startswith("Training changed nothing: version 3 returns the same results as version 1")
    assert found["gain"] == 0


def test_few_queries_prove_nothing():
    few = [{measure: array[:8] for measure, array in values(mean).items()} for mean in (0.2, 0.9)]
    found = verdict("2", "1", *few)
    assert found["status"] == "unproven"
    assert "Too few judged queries (8; at least 10 needed)" in found["text"]


def test_after_a_switch_the_scoreboard_compares_with_the_live_version():
    verdicts = {"2": verdict("2", "1", values(0.5), values(0.2))}
    before = {row["version"]: row for row in scoreboard(["1", "2"], "1", verdicts)}
    assert (before["1"]["status"], before["2"]["status"]) == ("live", "worse")
    after = {row["version"]: row for row in scoreboard(["1", "2"], "2", verdicts)}
    assert (after["1"]["status"], after["2"]["status"]) == ("better", "live")
    assert "Version 1 is better than version 2" in after["1"]["comparison"]["text"]
    assert after["2"]["measures"][MEASURE]["mean"] == pytest.approx(0.2, abs=0.03)


def test_versions_are_compared_only_on_the_same_judgments():
    verdicts = {
        "2": verdict("2", "1", values(0.5), values(0.6)),
        "3": verdict("3", "1", values(0.5), values(0.7), fingerprint="more"),
    }
    assert against_live("3", "2", verdicts) is None
    assert {row["version"]: row["status"] for row in scoreboard(["1", "2", "3"], "2", verdicts)}["3"] == "unproven"
    verdicts["3"] = verdict("3", "1", values(0.5), values(0.7))
    found = against_live("3", "2", verdicts)
    assert found["status"] == "better"
    assert [row["after"] - row["before"] for row in found["by_query"]] == sorted(
        row["after"] - row["before"] for row in found["by_query"]
    )


def test_scores_by_query_and_the_report():
    found = verdict("2", "1", values(0.5), values(0.7))
    scores = scores_of({"2": found})["q3"]
    assert [entry["version"] for entry in scores] == ["1", "2"]
    assert scores[1]["value"] == pytest.approx(values(0.7)[MEASURE][3], abs=1e-6)
    assert "Version 2 against version 1" in report(found)


def test_the_report_of_all_versions_has_a_row_for_each_and_corrected_p_values():
    verdicts = {
        "2": verdict("2", "1", values(0.5), values(0.6)),
        "3": verdict("3", "1", values(0.5), values(0.7)) | {"curve": []},
    }
    page = board_report(["1", "2", "3"], "1", verdicts)
    assert "All versions against version 1" in page
    assert [name in page for name in ("version 1 (live)", "version 2", "version 3")] == [True] * 3
    smallest = min(against_live(name, "1", verdicts)["p"] for name in ("2", "3"))
    assert f"<td>{2 * smallest:.2g}</td>" in page
    assert "nDCG@10 by query: version 3 against version 1" in page
    assert page.count("<td>+0.200</td>") >= 12  # one for each query
    assert board_report(["1"], "1", {}) is None


def test_a_verdict_by_the_grades_of_a_program_says_so():
    found = verdict("2", "1", values(0.5), values(0.7)) | {"used": {"program": "sample"}}
    assert "by the program 'sample'" in against_live("2", "1", {"2": found})["text"]


def test_other_judgments_have_another_fingerprint():
    assert fingerprint_of({"q": {"a": 1}}) != fingerprint_of({"q": {"a": 2}})
