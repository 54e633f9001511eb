"""BEIR folders, BEIR's BaseSearch and MTEB's SearchProtocol, on a small world."""

import json

import pytest

from tacit.app.main import main
from tacit.core import Judgments
from tacit.data import write_qrels
from tacit.metrics import evaluate
from tacit.search import Searcher


def split(judgments):
    """Half of the queries to learn from, half to measure on."""
    grades = judgments.to_dict()
    names = list(grades)
    return {name: grades[name] for name in names[:6]}, {name: grades[name] for name in names[6:]}


@pytest.fixture
def folder(world, tmp_path):
    documents, queries, judgments = world
    for name, texts in (("corpus", documents), ("queries", queries)):
        rows = [{"_id": row.id, "title": row.title, "text": row.text} for row in texts]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "qrels").mkdir()
    for name, part in zip(("train", "test"), split(judgments), strict=True):
        write_qrels(Judgments.from_dict(part), tmp_path / "qrels" / f"{name}.tsv", form="beir")
    return tmp_path


def test_command_measures_both_systems(world, folder, capsys, tmp_path):
    documents, queries, judgments = world
    assert (
        main(["beir", str(folder), "--method", "lsi+tfidf", "--set", "dim=4", "--json", "--run", str(tmp_path / "r")])
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert [row["system"] for row in found["rows"]] == ["bm25", "lsi+tfidf"]
    assert (found["queries"], found["training_queries"]) == (6, 6)
    _, test = split(judgments)
    run = Searcher("bm25", language="en", stem=True).fit(documents).run(queries.take(range(6, 12)), exclude_self=True)
    wanted = evaluate(Judgments.from_dict(test), run, ["nDCG@10", "AP", "R@100"]).means()
    assert found["rows"][0]["metrics"] == pytest.approx(wanted)
    assert {test["metric"] for test in found["tests"]} == {"nDCG@10", "AP", "R@100"}


def test_command_prints_a_table(folder, capsys):
    assert main(["beir", str(folder), "--method", "tfidf", "--train", "none", "-m", "RR"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("run ")
    assert "queries of test: 6, to learn from: 0" in out
    assert main(["beir", str(folder), "--method", "bm25"]) == 0
    assert "nDCG@10" in capsys.readouterr().out


def test_mistakes_are_one_line(folder, capsys):
    assert main(["beir", str(folder), "--split", "dev"]) == 1
    assert "there is no qrels/dev.tsv" in capsys.readouterr().err
    assert main(["beir", str(folder), "--split", "train"]) == 2
    (folder / "qrels" / "dev.tsv").write_bytes((folder / "qrels" / "test.tsv").read_bytes())
    assert main(["beir", str(folder), "--train", "dev"]) == 1
    assert "queries in dev and also in test: 6, the first is 'q10'" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # BEIR's loader leaves its files open
def test_beir_evaluates_our_search(need, world, folder):
    need("beir")
    from beir.datasets.data_loader import GenericDataLoader
    from beir.retrieval.evaluation import EvaluateRetrieval

    from tacit.integrations.beir import BeirSearch

    corpus, queries, qrels = GenericDataLoader(str(folder)).load(split="test")
    _, train_queries, train_qrels = GenericDataLoader(str(folder)).load(split="train")
    retriever = BeirSearch(Searcher("lsi+tfidf", dim=4), queries=train_queries, qrels=train_qrels)
    evaluation = EvaluateRetrieval(retriever)
    results = evaluation.retrieve(corpus, queries)
    ndcg, *_ = evaluation.evaluate(qrels, results, [10])
    assert 0 < ndcg["NDCG@10"] <= 1
    assert retriever.searcher.n_pairs_ > 0  # learned from the training judgments
    fitted = retriever.searcher
    retriever.search(corpus, queries, 3)
    assert retriever.searcher is fitted  # the same corpus is not fitted again


def test_mteb_evaluates_our_search(need, world):
    library = need("mteb")
    from datasets import Dataset
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.models.models_protocols import SearchProtocol

    from tacit.integrations.mteb import MtebSearch

    documents, queries, judgments = world
    corpus = Dataset.from_dict({"id": documents.ids, "title": documents.titles, "text": documents.texts})
    relevant = {query: {doc: int(grade) for doc, grade in docs.items()} for query, docs in judgments.to_dict().items()}

    class Small(AbsTaskRetrieval):
        metadata = TaskMetadata(
            name="Small", description="a small world", reference=None, type="Retrieval", category="t2t",
            modalities=["text"], eval_splits=["test"], eval_langs=["eng-Latn"], main_score="ndcg_at_10",
            dataset={"path": "none/none", "revision": "1"}, date=None, domains=None, task_subtypes=None, license=None,
            annotations_creators=None, dialect=None, sample_creation=None, bibtex_citation="",
        )  # fmt: skip

        def load_data(self, **options):
            asked = Dataset.from_dict({"id": queries.ids, "text": queries.texts})
            part = {"corpus": corpus, "queries": asked, "relevant_docs": relevant, "top_ranked": None}
            self.dataset, self.data_loaded = {"default": {"test": part}}, True

    model = MtebSearch(Searcher("bm25"))
    assert isinstance(model, SearchProtocol)
    result = library.evaluate(model, Small(), cache=None, show_progress_bar=False, co2_tracker=False)
    theirs = result.task_results[0].scores["test"][0]["ndcg_at_10"]
    assert theirs == pytest.approx(
        evaluate(judgments, Searcher("bm25").fit(documents).run(queries), ["nDCG@10"]).means()["nDCG@10"], abs=0.02
    )  # ties are broken in another way there
    assert model.mteb_model_meta.name == "tacit/bm25"
    few = model.search([{"id": "q0", "text": queries.texts[0]}], top_k=10, top_ranked={"q0": ["d1", "d5"]})
    assert set(few["q0"]) == {"d1", "d5"}
