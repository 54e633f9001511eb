"""A program's grades of list rows are used where they gain, and only there."""

import numpy as np
import pytest

from tacit.core import Judgments, Lists, TacitError
from tacit.judge.program.lists import fit_assisted
from tacit.rerank.ranking_lists import RankingTask, fit_lists


def make_world(seed, right, n_lists=80, n_judged=20, n_rows=12, n_features=40):
    """Relevance follows many features, each weakly; people judged all rows of a few lists, the program all rows."""
    rng = np.random.default_rng(seed)
    n = n_lists * n_rows
    X = rng.normal(size=(n, n_features))
    truth = (X @ rng.normal(size=n_features) / np.sqrt(n_features) + 0.3 * rng.normal(size=n) > 0.7).astype(float)
    program = np.where(rng.random(n) < right, truth, 1 - truth)
    y = np.where(np.arange(n) < n_judged * n_rows, truth, np.nan)
    queries, documents = [f"q{i}" for i in range(n_lists)], [f"d{i}" for i in range(n)]
    judged = Lists(X, y, np.arange(0, n + 1, n_rows), queries, documents)
    grades = {query: {} for query in queries}
    for row in range(n):
        grades[queries[row // n_rows]][documents[row]] = program[row]
    return judged, Judgments.from_dict(grades)


def test_a_good_program_is_used_and_changes_the_ranker():
    lists, program = make_world(0, 0.97, n_lists=200, n_judged=16)
    ranker, verdict = fit_assisted(RankingTask("standing"), lists, program)
    assert verdict.used
    assert verdict.gain.interval[0] > 0
    assert "are used; nDCG-judged@10 +" in str(verdict)
    assert not np.allclose(ranker.coef_, fit_lists(RankingTask("standing"), lists).coef_)


@pytest.mark.parametrize("right", [0.5, 0.2])
def test_a_random_or_contrary_program_is_not_used(right):
    lists, program = make_world(1, right)
    ranker, verdict = fit_assisted(RankingTask("standing"), lists, program)
    assert not verdict.used
    np.testing.assert_array_equal(ranker.coef_, fit_lists(RankingTask("standing"), lists).coef_)
    assert "not used" in str(verdict)


def test_few_human_lists_and_foreign_grades():
    lists, program = make_world(0, 0.99, n_judged=5)
    _, verdict = fit_assisted(RankingTask("standing"), lists, program)
    assert not verdict.used
    assert "people graded 5 lists with different grades, want at least 10" in str(verdict)
    with pytest.raises(TacitError, match="is about a row of the lists"):
        fit_assisted(RankingTask("standing"), lists, Judgments.from_dict({"z": {"z": 1}}))
