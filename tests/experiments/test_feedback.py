"""The feedback task: only the first m are known, only the rest is measured; marks of one kind teach pairs nothing."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import UsageError
from tacit.experiments.lists.feedback import NOT_LEARNED, SETTINGS, choose_setting, run, score_list
from tacit.experiments.lists.letor_task import BM25, JudgedList, read_judged_lists
from tacit.experiments.request import Request
from tacit.features.query_document import MEASURES
from tacit.rerank import METHODS


def made_up(seed=0, n=40):
    """Candidates of which relevance follows a feature that BM25 knows nothing of, and a word."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 33))
    bm25 = np.sort(rng.random(n))[::-1]
    X[:, 22] = bm25
    grades = (np.arange(n) % 4 == 0).astype(float)
    X[:, 3] += 6 * grades
    words = rng.random((n, 20)) * (rng.random((n, 20)) < 0.3)
    words[:, 0] = grades
    return JudgedList(X, bm25, grades, sp.csr_array(words / np.linalg.norm(words + 1e-9, axis=1, keepdims=True)))


def test_known_are_the_first_and_nothing_else():
    item = made_up()
    assert np.isfinite(item.known(5)).tolist() == [True] * 5 + [False] * 35
    assert item.remains(5)
    assert not item.remains(37)


@pytest.mark.parametrize("system", sorted(set(SETTINGS) - {"bm25", "prf", "prf-neg"}))
def test_systems_learn_from_five_and_score_all(system):
    assert system == "searcher" or system.removesuffix("-content") in METHODS
    item = made_up()
    scores = score_list(system, SETTINGS[system][0], item, 5)
    assert scores.shape == (40,)
    assert np.isfinite(scores).all()
    # Five labels tell these too little, or they follow BM25.
    if system not in ("rankboost-semi", "manifold", "auc-semi", "standing", "bt-printed", "lambdarank-printed",
                      "prf-retrained-neg", "rankboost"):  # fmt: skip
        assert share_right(scores, item, 5) > 0.6


def share_right(scores, item, m):
    """Of pairs of a relevant and another document below the first m; BM25 has half of them right."""
    rest, truth = scores[m:], item.grades[m:] >= 1
    return np.mean(rest[truth][:, None] > rest[~truth])


def test_a_ranker_that_starts_from_bm25_leaves_it_as_far_as_its_spread_allows():
    item = made_up()
    near, far = (score_list("standing", {"start": BM25, "score_spread": spread}, item, 25) for spread in (0.01, 5))
    assert share_right(near, item, 25) == share_right(item.bm25, item, 25)
    assert share_right(far, item, 25) > share_right(item.bm25, item, 25) + 0.1


def test_labels_of_one_kind_teach_pairs_nothing():
    item = made_up()
    assert score_list("linear", {}, item, 1) is None
    assert score_list("bm25", {}, item, 1) is item.bm25


def test_settings_are_chosen_among_those_given():
    assert choose_setting("bm25", [made_up()]) == {}
    assert choose_setting("linear", [made_up(), made_up(1)]) in SETTINGS["linear"]
    assert len({len(settings) for settings in SETTINGS.values()} - {1, 9}) == 1  # one budget for all
    assert {name for name, settings in SETTINGS.items() if len(settings) == 9} == {
        f"{name}-printed{form}" for name in ("ssbt", "sslambdarank") for form in ("", "-content")
    }  # three epochs, as their forms with beta 0 have, and three values of beta


def test_no_system_uses_expected_pairs():
    for system, settings in SETTINGS.items():
        params = {} if system in NOT_LEARNED else METHODS[system.removesuffix("-content")].make().get_params()
        assert all((params | setting).get("expected", 0.0) == 0 for setting in settings), system


def test_a_quick_run_on_cacm(data_folder):
    report = run(Request(data=data_folder, corpus="cacm", quick=True, systems=("bm25", "linear", "searcher")))
    means = {row.system: row.metrics for row in report.rows}
    assert set(means["bm25"]) == {"nDCG@10", "MAP"}
    assert means["searcher"]["nDCG@10"] > means["bm25"]["nDCG@10"]
    assert {row.setting["k"] for row in report.rows} == {5}
    assert len(report.figures) == 1
    with pytest.raises(UsageError, match="nobody"):
        run(Request(data=data_folder, systems=("nobody",)))


def test_lists_are_in_the_order_of_bm25(data_folder):
    item = read_judged_lists(data_folder, "cacm")[0]
    assert item.X.shape == (200, 3 * len(MEASURES))
    assert (np.diff(item.bm25) <= 1e-5).all()  # the ranker keeps float32
