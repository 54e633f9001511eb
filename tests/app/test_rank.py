"""`tacit rank` and `tacit export` as a user meets them."""

import json

import numpy as np
import pytest

from tacit.data import read_run
from tacit.rerank import read_ranklib

TRAIN = """2 qid:1 1:3 2:0 #docid = a
0 qid:1 1:1 2:1 #docid = b
-1 qid:1 1:2 2:0 #docid = c
1 qid:2 1:5 2:1 #docid = d
0 qid:2 1:2 2:1 #docid = e
1 qid:3 1:1 2:1 #docid = f
"""
TEST = "0 qid:8 1:0 2:1 #docid = x\n1 qid:8 1:9 2:1 #docid = y\n-1 qid:9 1:4 2:0\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.txt").write_text(TRAIN)
    (tmp_path / "test.txt").write_text(TEST)
    return tmp_path


def test_rank_writes_a_run_and_counts_what_teaches_nothing(folder, tacit):
    code, out, err = tacit("rank", "train.txt", "test.txt")
    assert code == 0
    assert [line.split()[:4] for line in out.splitlines()] == [
        ["8", "Q0", "y", "1"],
        ["8", "Q0", "x", "2"],
        ["9", "Q0", "9-1", "1"],
    ]
    assert out.splitlines()[0].endswith(" standing")
    assert "lists without a pair to learn from (two judged rows of different grades): 1 of 3" in err
    assert "standing fitted on 3 lists, 6 rows (5 judged)" in err
    assert "2 lists ranked, 3 lines" in err


def test_positive_judgments_alone_rank_the_unjudged_lower(folder, tacit, caplog):
    rows = [f"{1 if n == 0 else -1} qid:{q} 1:{n} #docid = {q}{n}" for q in (1, 2, 3) for n in range(6)]
    (folder / "positive.txt").write_text("\n".join(rows) + "\n")
    code, out, err = tacit("rank", "positive.txt", "positive.txt")
    assert code == 0
    assert "no pair to learn from" not in err
    assert [line.split()[2] for line in out.splitlines() if line.split()[3] == "1"] == ["10", "20", "30"]
    assert (
        "3 judged rows are all relevant: unjudged rows of their lists are taken as probably worse, weight 0.2"
        in caplog.text
    )
    code, _, err = tacit("rank", "positive.txt", "positive.txt", "--method", "guarded")
    assert (code, err.splitlines()[-1][:44]) == (1, "tacit: GuardedRanker learns from grades, not")


def test_a_prior_at_a_feature_is_set_on_the_command_line(folder, tacit):
    start = ("--set", "start=0", "--set", "start_weight=-5", "--set", "score_spread=0.01")
    code, out, _ = tacit("rank", "train.txt", "test.txt", *start)
    assert code == 0
    assert [line.split()[2] for line in out.splitlines()][:2] == ["x", "y"]  # without a prior y is first
    assert tacit("rank", "train.txt", "test.txt", "--set", "start=9")[0] == 2


def test_a_saved_model_ranks_again_and_is_exported(folder, tacit):
    words = ("--method", "rankboost", "--save", "model", "-o", "first.run")
    assert tacit("rank", "train.txt", "test.txt", *words)[0] == 0
    code, out, _ = tacit("rank", "--model", "model", "test.txt")
    assert (code, out) == (0, (folder / "first.run").read_text())
    assert tacit("export", "model", "--to", "ranklib", "-o", "ranklib.txt")[0] == 0
    ranker = read_ranklib("ranklib.txt", n_features=2)
    scores = ranker.predict([[0, 1], [9, 1], [4, 0]])
    assert scores.tolist() == [read_run("first.run").to_dict()[q][d] for q, d in [("8", "x"), ("8", "y"), ("9", "9-1")]]
    code, _, err = tacit("export", "model", "--to", "npy", "-o", "arrays")
    assert code == 0
    assert "stump_weights" in err
    assert np.load("arrays/stump_features.npy").tolist() == ranker.stump_features_.tolist()
    code, _, err = tacit("export", "model", "--to", "npy", "-o", "arrays")
    assert (code, err) == (2, "tacit: arrays exists, want the name of a new folder\n")
    assert tacit("export", "model", "--to", "npy")[0] == 2


def test_vectors_of_a_searcher_are_exported_with_their_names(folder, tacit):
    docs = [{"id": f"d{i}", "text": text} for i, text in enumerate(["red cat", "red dog", "blue dog", "blue bird"])]
    (folder / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    assert tacit("fit", "docs.jsonl", "--method", "lsi", "--dim", 2, "-o", "lsi.model")[0] == 0
    code, _, err = tacit("export", "lsi.model", "--to", "npy", "-o", "vectors")
    assert code == 0
    assert "item_vectors 4 x 2" in err
    assert np.load("vectors/item_vectors.npy").shape == (4, 2)
    assert (folder / "vectors" / "documents.txt").read_text().split() == ["d0", "d1", "d2", "d3"]
    words = (folder / "vectors" / "words.txt").read_text().split()
    assert len(words) == len(np.load("vectors/concepts.npy"))
    code, _, err = tacit("export", "lsi.model", "--to", "ranklib")
    assert code == 1
    assert err.count("\n") == 1


def test_folds_rank_every_test_list(folder, tacit):
    lines = [line.replace("qid:1", "qid:4").replace("= ", "= 4") for line in TRAIN.splitlines()[:3]]
    (folder / "data.txt").write_text(TRAIN + "\n".join(lines) + "\n")
    fold = {"train": ["1", "2"], "vali": ["3"], "test": ["4"]}
    other = {"train": ["4", "2"], "vali": [], "test": ["1", "3"]}
    (folder / "folds.json").write_text(json.dumps({"one": fold, "two": other}))
    code, out, err = tacit("rank", "data.txt", "--folds", "folds.json", "-o", "all.run")
    assert (code, out) == (0, "")
    assert "standing on 2 folds" in err
    assert {query: len(docs) for query, docs in read_run("all.run").to_dict().items()} == {"4": 3, "1": 3, "3": 1}
    (folder / "folds.json").write_text(json.dumps({"one": fold, "two": fold}))
    code, _, err = tacit("rank", "data.txt", "--folds", "folds.json")
    assert (code, err.splitlines()[-1]) == (
        1,
        "tacit: query '4' is in the test part of 'one' and of 'two', want one",
    )


def test_preferences_join_the_grades(folder, tacit):
    (folder / "unjudged.txt").write_text("-1 qid:1 1:3 #docid = a\n-1 qid:1 1:1 #docid = b\n")
    (folder / "likes.tsv").write_text("1\tb\ta\t2\n")
    (folder / "more.txt").write_text("-1 qid:5 1:0 #docid = low\n-1 qid:5 1:8 #docid = high\n")
    code, out, _ = tacit("rank", "unjudged.txt", "more.txt", "--preferences", "likes.tsv")
    assert code == 0
    assert [line.split()[2] for line in out.splitlines()] == ["low", "high"]
    code, _, err = tacit("rank", "unjudged.txt", "more.txt")
    assert code == 1
    assert "no two rows of one list have different grades" in err.splitlines()[-1]
    (folder / "likes.tsv").write_text("1\tb\tz\n1\tb\ta\n")
    assert tacit("rank", "unjudged.txt", "more.txt", "--preferences", "likes.tsv")[0] == 1
    assert tacit("rank", "unjudged.txt", "more.txt", "--preferences", "likes.tsv", "--skip-unknown")[0] == 0


def test_rows_of_another_width_are_refused_unless_zeros_are_meant(folder, tacit):
    (folder / "narrow.txt").write_text("0 qid:8 1:0 #docid = x\n1 qid:8 1:9 #docid = y\n")
    code, _, err = tacit("rank", "train.txt", "narrow.txt")
    assert code == 1
    assert err.splitlines()[-1].startswith(
        "tacit: the lists to rank have 1 feature, the training lists have 2; where absent features are zeros, say"
    )
    assert "fitted" not in err
    assert tacit("rank", "train.txt", "narrow.txt", "--features", 2)[0] == 0
    code, _, err = tacit("rank", "train.txt", "test.txt", "--vali", "narrow.txt")
    assert "validation lists have 1 feature," in err
    (folder / "wide.txt").write_text("0 qid:8 1:0 3:1 #docid = x\n1 qid:8 1:9 #docid = y\n")
    err = tacit("rank", "train.txt", "wide.txt")[2]  # no number of features makes these narrower
    assert err.splitlines()[-1] == "tacit: the lists to rank have 3 features, the training lists have 2"
    code, _, err = tacit("rank", "train.txt", "test.txt", "--features", 1)
    assert code == 1
    assert "train.txt" in err


def test_queries_in_both_files_are_told(folder, tacit):
    assert "queries in both files: 3" in tacit("rank", "train.txt", "train.txt")[2]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["train.txt"], "got 1 file, want TRAIN and TEST"),
        (["train.txt", "test.txt", "--folds", "f"], "got 2 files, want one file"),
        (["test.txt", "--model", "m", "--vali", "v"], "--model and --vali exclude each other"),
        (["test.txt", "--folds", "f", "--save", "m"], "--folds and --save exclude each other"),
        (["train.txt", "test.txt", "--method", "rankbost"], "did you mean 'rankboost'?"),
        (["train.txt", "test.txt", "--measure", "nope"], "measure is 'nope'"),
        (["train.txt", "test.txt", "--method", "auc-logistic", "--measure", "AP"], "does not use a measure"),
    ],
)
def test_wrong_use_is_one_line(folder, tacit, words, problem):
    code, out, err = tacit("rank", *words)
    assert (code, out) == (2, "")
    assert problem in err
    assert err.count("\n") == 1


@pytest.mark.filterwarnings("default")
def test_a_warning_is_one_line_without_a_place_in_our_code(tacit, tmp_path):
    for name, query in (("train.txt", 1), ("other.txt", 2)):
        rows = f"1 qid:{query} 1:0.5 2:1 # docid = a\n0 qid:{query} 1:0.1 2:0 # docid = b\n"
        (tmp_path / name).write_text(rows)
    code, out, err = tacit("rank", str(tmp_path / "train.txt"), str(tmp_path / "other.txt"), "--method", "fg")
    assert (code, out.count("\n")) == (0, 2)
    told = [line for line in err.splitlines() if "components" in line]
    assert len(told) == 1
    assert told[0].startswith("tacit: warning: too few documents")
