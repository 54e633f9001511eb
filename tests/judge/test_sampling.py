"""The design for measuring: known probabilities, growing samples, and intervals that cover on a real collection."""

from collections import Counter

import numpy as np
import pytest

from tacit.core import Judgments, Run, TacitError
from tacit.data import read_collection, read_qrels, read_queries
from tacit.judge.sampling import draw_sample
from tacit.metrics import estimate, evaluate


def make_run(n_queries=6, n_docs=40):
    return Run.from_dict({f"q{q}": {f"d{d}": float(-d) for d in range(n_docs)} for q in range(n_queries)})


def test_probabilities_are_how_often_pairs_are_drawn():
    run, counts, stated = make_run(2, 14), Counter(), {}
    for seed in range(1500):
        for draw in draw_sample(run, 12, depth=14, seed=seed):
            counts[draw[:3]] += 1
            stated[draw[:3]] = draw.probability
    assert len(stated) == 28
    for pair, probability in stated.items():
        assert counts[pair] / 1500 == pytest.approx(probability, abs=4.5 * np.sqrt(0.25 / 1500))


def test_the_sample_has_the_size_asked_for_and_prefers_the_top():
    sample = draw_sample(make_run(), 40)
    assert len(sample) == 40
    assert sum(draw.rank <= 10 for draw in sample) == 30
    assert len({(draw.query, draw.document) for draw in sample}) == 40
    by_rank = {draw.rank: draw.probability for draw in sample}
    assert by_rank[min(by_rank)] > by_rank[max(by_rank)]


def test_a_larger_sample_contains_the_smaller_one():
    run = make_run()
    small, large = ({draw[:3] for draw in draw_sample(run, n)} for n in (20, 60))
    assert small < large


def test_judged_pairs_stay_in_the_sample_and_n_counts_the_others():
    run = make_run()
    first = draw_sample(run, 20)
    judged = {(draw.query, draw.document) for draw in first}
    second = draw_sample(run, 20, judged=judged)
    assert second == draw_sample(run, 40)
    assert len([draw for draw in second if (draw.query, draw.document) not in judged]) == 20


def test_everything_is_drawn_with_certainty_if_there_is_no_more():
    sample = draw_sample(make_run(2, 7), 1000)
    assert len(sample) == 14
    assert {draw.probability for draw in sample} == {1.0}


def test_only_the_top_is_drawn_if_all_of_the_share_is_its():
    assert max(draw.rank for draw in draw_sample(make_run(), 30, top_share=1)) <= 10
    assert min(draw.rank for draw in draw_sample(make_run(), 30, top_share=0)) > 10


@pytest.mark.parametrize("wrong", [{"n": 0}, {"depth": 0}, {"k": 0}, {"top_share": 2}])
def test_mistakes(wrong):
    with pytest.raises(TacitError, match=next(iter(wrong))):
        draw_sample(make_run(), **{"n": 5, **wrong})


def test_an_empty_run_is_refused():
    with pytest.raises(TacitError, match="the run has no documents"):
        draw_sample(Run.from_dict({"q": {}}), 5)


def test_intervals_cover_on_cranfield(data_folder):
    from tacit.search import Searcher

    folder = data_folder / "text" / "cranfield"
    truth = read_qrels(folder / "qrels.txt").to_dict()
    queries = read_queries(folder / "queries.jsonl")
    run = Searcher("bm25").fit(read_collection(folder / "docs.jsonl.gz")).run(queries.take(range(60)), 30)
    full = {q: {d: truth[q].get(d, 0.0) for d in docs} for q, docs in run.to_dict().items()}
    expected = evaluate(Judgments.from_dict(full), run, ["P@10", "DCG@10"]).means()
    hits = []
    for seed in range(150):
        found = estimate(judge(draw_sample(run, 80, depth=30, seed=seed), full), run, list(expected))
        hits.append([found[m].low <= expected[m] <= found[m].high for m in expected])
    assert (np.mean(hits, axis=0) >= 0.9).all()  # 0.95 less 2.8 standard errors


def judge(sample, grades):
    names, docs = (list(dict.fromkeys(column)) for column in list(zip(*sample, strict=True))[:2])
    return Judgments(
        names,
        docs,
        np.array([names.index(draw.query) for draw in sample]),
        np.array([docs.index(draw.document) for draw in sample]),
        np.array([grades[draw.query][draw.document] for draw in sample]),
        np.array([draw.probability for draw in sample]),
    )
