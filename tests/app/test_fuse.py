"""`tacit fuse`: from files to a fusion, its proof, its export, and fused runs."""

import json

import numpy as np
import pytest

from tacit.app.main import main
from tacit.core import Judgments, Run
from tacit.data import read_run, write_qrels, write_run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A good and a poor run of 24 judged queries."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    qrels = {f"q{q}": {f"d{d}": int(rng.random() < 0.2) for d in range(30)} for q in range(24)}
    for name, strength in (("good", 2.5), ("poor", 0.3)):
        nested = {q: {d: strength * g + rng.normal() + 5 for d, g in grades.items()} for q, grades in qrels.items()}
        write_run(
            Run.from_dict({q: {d: float(s) for d, s in found.items()} for q, found in nested.items()}), f"{name}.run"
        )
    write_qrels(Judgments.from_dict(qrels), "qrels.txt")
    return tmp_path


def test_fuse_writes_what_apply_reads(folder, capsys):
    call = ["fuse", "qrels.txt", "good.run", "poor.run", "-o", "fused.json", "--report", "f.html", "--json"]
    assert main(call) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"helps", "gain", "interval", "p", "queries", "default", "fusion", "rows"} <= set(found)
    assert found["helps"] is True
    assert found["queries"] == 24
    assert set(found["default"]) >= {"name", "metrics"}
    assert list(found["fusion"]["weights"]) == ["good", "poor"]
    assert found["fusion"]["weights"]["good"] > found["fusion"]["weights"]["poor"]
    assert [row["system"] for row in found["rows"]] == ["default", "fused", "good", "poor"]
    assert json.loads((folder / "fused.json").read_text()) == found
    assert "<table>" in (folder / "f.html").read_text()
    assert main(["fuse", "--apply", "fused.json", "poor.run", "good.run", "-o", "fused.run"]) == 0
    assert main(["evaluate", "qrels.txt", "fused.run", "--compare", "good.run", "-m", "nDCG@10", "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)
    assert measured["measures"]["nDCG@10"] > found["default"]["metrics"]["nDCG@10"]
    assert main(["fuse", "--apply", "fused.json", "poor.run", "good.run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == (folder / "fused.run").read_text().splitlines()
    assert len(lines) == len(read_run("fused.run"))


def test_explanations_sum_to_the_score(folder, capsys):
    main(["fuse", "qrels.txt", "good.run", "poor.run", "-o", "fused.json"])
    capsys.readouterr()
    assert main(["fuse", "--apply", "fused.json", "good.run", "poor.run", "--explain", "q3", "--json"]) == 0
    for hit in json.loads(capsys.readouterr().out)["results"]:
        assert sum(leg["contribution"] for leg in hit["legs"].values()) == pytest.approx(hit["score"])
    assert main(["fuse", "--apply", "fused.json", "good.run", "poor.run", "--explain", "q3"]) == 0
    assert "rank 1" in capsys.readouterr().out


@pytest.mark.parametrize("engine", ["opensearch", "elasticsearch", "qdrant", "weaviate", "vespa", "milvus", "lancedb"])
def test_exports_are_printed(engine, folder, capsys):
    assert main(["fuse", "qrels.txt", "good.run", "poor.run", "--to", engine]) == 0
    out, err = capsys.readouterr()
    assert err.startswith(f"{engine}: ")
    assert "rank-profile" in out if engine == "vespa" else json.loads(out[out.index("\n{") :])


def test_a_table_and_a_store_work_too(folder, capsys):
    good, poor = (read_run(f"{name}.run").to_dict() for name in ("good", "poor"))
    rows = [f"{q},{d},{s},{poor[q].get(d, '')}" for q, found in good.items() for d, s in found.items()]
    (folder / "t.csv").write_text("\n".join(["query,document,good,poor", *rows]) + "\n")
    assert main(["fuse", "qrels.txt", "t.csv", "--json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert main(["fuse", "qrels.txt", "good.run", "poor.run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fusion"] == table["fusion"]
    assert main(["judgments", "import", "my.judgments", "qrels.txt", "--judge", "ann"]) == 0
    capsys.readouterr()
    assert main(["fuse", "my.judgments", "good.run", "poor.run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fusion"] == table["fusion"]


def test_without_judgments_the_default_is_printed(folder, capsys):
    assert main(["fuse", "--label-free", "good.run", "poor.run", "-o", "f.json"]) == 0
    out = capsys.readouterr().out
    assert "Keep the default" in out
    assert "Shared among the first ten results: good, poor " in out
    found = json.loads((folder / "f.json").read_text())
    assert found["fusion"]["weights"] == {"good": 0.5, "poor": 0.5}
    good, poor = (read_run(f"{name}.run").to_dict() for name in ("good", "poor"))
    shared = [len(set(list(good[q])[:10]) & set(list(poor[q])[:10])) / 10 for q in good]
    assert found["agreement"] == {"good, poor": pytest.approx(np.mean(shared), abs=1e-4)}


def test_a_model_is_a_leg(folder, capsys):
    docs = "".join(json.dumps({"id": f"d{d}", "text": f"word{d} common"}) + "\n" for d in range(30))
    (folder / "docs.jsonl").write_text(docs)
    (folder / "queries.tsv").write_text("".join(f"q{q}\tword{q} common\n" for q in range(24)))
    assert main(["fit", "docs.jsonl", "-o", "my.model", "--method", "bm25"]) == 0
    capsys.readouterr()
    call = ["fuse", "qrels.txt", "good.run", "--model", "my.model", "--queries", "queries.tsv", "--json"]
    assert main(call) == 0
    assert list(json.loads(capsys.readouterr().out)["fusion"]["weights"]) == ["good", "my"]


@pytest.mark.parametrize(
    ("call", "code", "message"),
    [
        ("qrels.txt good.run", 2, "1 run, want 2 or more"),
        ("qrels.txt", 2, "want QRELS and runs"),
        ("qrels.txt good.run good.run", 2, "two runs have the name 'good'"),
        ("qrels.txt good.run sub/good.run", 2, "two runs have the name 'good'"),
        ("other.txt good.run poor.run", 1, "none of the 1 judged queries is in the runs"),
        ("qrels.txt good.run apart.run", 1, "has no query in common"),
        ("qrels.txt good.run foreign.run", 1, "has no document in common"),
        ("qrels.txt good.run nan.run", 1, "nan.run:1: score is 'nan'"),
        ("qrels.txt good.run absent.run", 1, "absent.run"),
        ("qrels.txt good.run poor.run --to solr", 2, "invalid choice"),
        ("qrels.txt good.run poor.run third.run --to weaviate", 2, "weaviate cannot express a fusion of 3 runs"),
        ("qrels.txt good.run poor.run --measure AUC", 1, "cannot be chosen by AUC"),
        ("--apply qrels.txt good.run poor.run", 1, "qrels.txt"),
        ("--apply absent.json good.run poor.run", 1, "tacit: absent.json: no such file"),
        ("--apply f.json good.run poor.run", 2, "the fusion is of a, b; got good, poor"),
        ("qrels.txt good.run poor.run --explain q1", 2, "--explain needs --apply"),
        ("qrels.txt good.run --model m", 2, "--model and --queries must be given together"),
        ("qrels.txt good.run poor.run -o absent/f.json", 1, "there is no folder"),
    ],
)
def test_mistakes_are_one_line(call, code, message, folder, capsys):
    (folder / "sub").mkdir()
    (folder / "sub" / "good.run").write_text("q0 Q0 d1 1 1.0 x\n")
    (folder / "other.txt").write_text("other 0 d1 1\n")
    (folder / "apart.run").write_text("other Q0 d1 1 1.0 x\n")
    (folder / "foreign.run").write_text("q0 Q0 zz 1 1.0 x\n")
    (folder / "nan.run").write_text("q0 Q0 d1 1 nan x\n")
    (folder / "third.run").write_text("q0 Q0 d1 1 1.0 x\n")
    (folder / "f.json").write_text('{"normalization": "rrf", "weights": {"a": 1, "b": 1}}')
    assert main(["fuse", *call.split()]) == code
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
