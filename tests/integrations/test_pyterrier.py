"""PyTerrier pipelines: its own transformer test class, experiments, and unjudged rows that stay unjudged."""

import unittest

import numpy as np
import pytest

from tacit.core import TacitError
from tacit.rerank import RankBoostRanker, StandingRanker
from tacit.search import Searcher

# PyTerrier calls pandas in ways that pandas is about to drop.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")


@pytest.fixture(scope="module")
def pt(need):
    return need("pyterrier")


@pytest.fixture(scope="module")
def frames(pt, world):
    """Topics and qrels of the world as PyTerrier has them."""
    import pandas as pd

    _, queries, judgments = world
    qrels = [(q, d, int(grade)) for q, docs in judgments.to_dict().items() for d, grade in docs.items()]
    return pd.DataFrame({"qid": queries.ids, "query": queries.texts}), pd.DataFrame(
        qrels, columns=["qid", "docno", "label"]
    )


@pytest.fixture(scope="module")
def searcher(world):
    return Searcher("lsi", dim=4).fit(world[0])


@pytest.fixture(scope="module")
def featured(pt, searcher):
    """Results with two features: the score, and the length of the id."""
    from tacit.integrations.pyterrier import Retrieve

    columns = pt.apply.doc_features(lambda row: np.array([row["score"], float(len(row["docno"]))]))
    return Retrieve(searcher, 60) >> columns


def test_their_own_test_class_passes(pt, searcher, monkeypatch):
    from tacit.integrations.pyterrier import Rerank, Retrieve

    monkeypatch.setenv("PT_TEST_TRANSFORMER_REPORTS", "0")
    monkeypatch.setattr(pt.documentation, "_cached_objects_inv", {})  # it would be downloaded
    for make in (lambda: Retrieve(searcher), lambda: Rerank(StandingRanker())):
        case = pt.testing.transformer_test_class(make)
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
        assert result.testsRun == 2
        assert (result.failures, result.errors) == ([], [])


def test_retrieve_gives_the_answers_of_the_searcher(searcher, frames, world):
    from tacit.integrations.pyterrier import Retrieve

    topics, _ = frames
    found = Retrieve(searcher, 5)(topics)
    ours = searcher.run(world[1], 5).to_dict()
    theirs = {qid: dict(zip(rows["docno"], rows["score"], strict=True)) for qid, rows in found.groupby("qid")}
    assert theirs == ours
    assert found.groupby("qid")["rank"].min().eq(0).all()
    cut = (Retrieve(searcher) % 3).compile()
    assert isinstance(cut, Retrieve)
    assert cut.num_results == 3


def test_experiment_runs_a_fitted_pipeline(pt, featured, frames, searcher):
    from tacit.integrations.pyterrier import Rerank, Retrieve

    topics, qrels = frames
    pipeline = featured >> Rerank(StandingRanker())
    pipeline.fit(topics[:6], qrels, topics[6:9], qrels)
    table = pt.Experiment([Retrieve(searcher), pipeline], topics, qrels, ["map"], validate="ignore")
    assert table["map"].between(0, 1).all()


def test_unjudged_rows_stay_unjudged(featured, frames):
    from tacit.integrations.pyterrier import Rerank, make_lists

    topics, qrels = frames
    results = featured(topics)
    lists = make_lists(results.sample(frac=1, random_state=0), qrels)
    judged = set(zip(qrels["qid"], qrels["docno"], strict=True))
    rows = list(zip(np.array(lists.query_ids)[lists.qid], lists.doc_ids, strict=True))
    assert [pair in judged for pair in rows] == (~np.isnan(lists.y)).tolist()
    assert np.isnan(lists.y).any()
    ours = StandingRanker().fit(lists)
    theirs = Rerank(StandingRanker()).fit(results, qrels)
    again = theirs.transform(results)
    np.testing.assert_allclose(again["score"], ours.predict(np.stack(results["features"]), results["qid"]), atol=1e-12)


def test_input_is_checked(pt, searcher, frames, featured):
    from tacit.integrations.pyterrier import Rerank, Retrieve

    topics, qrels = frames
    with pytest.raises(pt.validate.InputValidationError):
        Retrieve(searcher)(topics[["qid"]])
    with pytest.raises(pt.validate.InputValidationError):
        Rerank(RankBoostRanker()).fit(topics, qrels, None, None)
    with pytest.raises(TacitError, match="no results to fit on"):
        Rerank(RankBoostRanker()).fit(featured(topics)[:0], qrels, None, None)
    with pytest.raises(TacitError, match="is not fitted yet"):
        Rerank(RankBoostRanker())(featured(topics))
