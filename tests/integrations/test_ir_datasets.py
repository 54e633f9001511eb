"""ir_datasets and ir-measures: the same judgments and runs come back, and their measures are ours."""

from dataclasses import replace

import pytest

from tacit.core import Judgments, Run, TacitError
from tacit.integrations import ir_datasets as ours
from tacit.integrations import ir_measures as measures
from tacit.metrics import evaluate
from tacit.search import Searcher


@pytest.fixture(scope="module")
def run(world):
    """A run without equal scores, which trec_eval orders by document id, from the last."""
    documents, queries, _ = world
    found = Searcher("bm25").fit(documents).run(queries)
    return replace(found, score=found.score - 1e-4 * found.doc)


def test_qrels_and_runs_come_back_from_ir_measures(need, world, run):
    need("ir_measures")
    judgments = world[2]
    assert measures.from_qrels(measures.to_qrels(judgments)).to_dict() == judgments.to_dict()
    assert measures.from_scored_docs(measures.to_scored_docs(run)).to_dict() == run.to_dict()


def test_ir_measures_finds_the_same_values(need, world, run):
    library, judgments = need("ir_measures"), world[2]
    theirs = library.calc_aggregate(
        [library.nDCG @ 10, library.AP], measures.to_qrels(judgments), measures.to_scored_docs(run)
    )
    means = evaluate(judgments, run, ["nDCG@10", "AP"]).means()
    assert {str(name): value for name, value in theirs.items()} == pytest.approx(means)


def test_negative_relevance_is_unjudged_and_its_query_stays(need):
    library = need("ir_measures")
    found = measures.from_qrels([library.Qrel("q", "a", -1), library.Qrel("r", "b", 0), library.Qrel("r", "c", 2)])
    assert found.to_dict() == {"q": {}, "r": {"b": 0.0, "c": 2.0}}


def test_what_ir_measures_cannot_hold_is_refused(need):
    library = need("ir_measures")
    with pytest.raises(TacitError, match=r"grade 0.5 of query 'q' and document 'a'"):
        measures.to_qrels(Judgments.from_dict({"q": {"a": 0.5}}))
    with pytest.raises(TacitError, match="'a' twice"):
        measures.from_scored_docs([library.ScoredDoc("q", "a", 1.0), library.ScoredDoc("q", "a", 2.0)])


def test_a_dataset_made_of_ours_reads_back(need, world, run):
    need("ir_datasets")
    documents, queries, judgments = world
    dataset = ours.make_dataset(documents, queries, judgments, run)
    assert list(ours.read_collection(dataset)) == list(documents)
    assert list(ours.read_queries(dataset)) == list(queries)
    assert ours.read_qrels(dataset).to_dict() == judgments.to_dict()
    assert ours.read_run(dataset).to_dict() == run.to_dict()
    assert dataset.docs_store().get("d3").text == documents[3].text
    assert dataset.queries_dict()["q2"].text == queries[2].text
    assert dataset.qrels_dict() == judgments.to_dict()


def test_files_that_ir_datasets_reads(need, world, tmp_path):
    library = need("ir_datasets")
    documents, _, judgments = world
    docs, qrels = tmp_path / "docs.tsv", tmp_path / "qrels"
    docs.write_text("".join(f"{document.id}\t{document.text}\n" for document in documents))
    qrels.write_text("".join(f"{e.query_id} 0 {e.doc_id} {e.relevance}\n" for e in measures.to_qrels(judgments)))
    dataset = library.create_dataset(docs_tsv=str(docs), qrels_trec=str(qrels))
    found = ours.read_collection(dataset)
    assert (found.ids, list(found.texts)) == (tuple(documents.ids), list(documents.texts))
    assert ours.read_qrels(dataset).to_dict() == judgments.to_dict()
    with pytest.raises(TacitError, match="has no scoreddocs"):
        ours.read_run(dataset)
    with pytest.raises(TacitError, match="knows no dataset 'nothing-of-this-name'"):
        ours.read_qrels("nothing-of-this-name")


def test_a_run_without_documents_has_no_scores(need):
    need("ir_measures")
    assert measures.to_scored_docs(Run.from_dict({"q": {}})) == []
