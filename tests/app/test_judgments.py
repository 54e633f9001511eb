"""`tacit judgments` as a user meets it."""

import io
import json
import sys

import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ann.txt").write_text("q1 0 a 2 0.5\nq1 0 b 0 0.25\nq2 0 a 1\n")
    (tmp_path / "bob.tsv").write_text("query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\t0\n")
    (tmp_path / "queries.tsv").write_text("q1\tbig cats\nq2\tsmall cats\n")
    return tmp_path


@pytest.fixture
def store(folder, tacit):
    assert tacit("judgments", "import", "s.db", "ann.txt", "--judge", "ann", "--queries", "queries.tsv")[0] == 0
    assert tacit("judgments", "import", "s.db", "bob.tsv", "--judge", "bob")[0] == 0
    return "s.db"


def test_import_says_what_was_new(folder, tacit):
    for expected in ("3 judgments read, 3 new", "3 judgments read, 0 new"):
        code, out, err = tacit("judgments", "import", "s.db", "ann.txt")
        assert (code, out) == (0, "")
        assert expected in err


def test_one_judge_comes_back_as_it_was_imported(store, tacit, folder):
    assert tacit("judgments", "export", store, "--judge", "ann")[1].split() == (folder / "ann.txt").read_text().split()
    out = tacit("judgments", "export", store, "--judge", "bob", "--to", "beir")[1]
    assert out.split() == (folder / "bob.tsv").read_text().split()
    out = tacit("judgments", "export", store, "--judge", "bob", "--to", "letor")[1]
    assert out == "1 qid:q1 #docid = a\n0 qid:q1 #docid = b\n"


def test_several_judges_need_a_judge_or_a_merge(store, tacit):
    code, out, err = tacit("judgments", "export", store)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "'ann' (person, 3), 'bob' (person, 2)" in err
    code, out, _ = tacit("judgments", "export", store, "--merge", "mean")
    assert out == "q1 0 a 1.5 0.5\nq1 0 b 0 0.25\nq2 0 a 1\n"


def test_programs_are_left_out_of_a_merge_aloud(store, tacit, folder):
    (folder / "llm.txt").write_text("q1 0 a 9\n")
    tacit("judgments", "import", store, "llm.txt", "--judge", "llm", "--program")
    _, out, err = tacit("judgments", "export", store, "--merge", "highest")
    assert "q1 0 a 2 0.5" in out
    assert "left out: llm" in err
    assert "q1 0 a 9 0.5" in tacit("judgments", "export", store, "--merge", "highest", "--judge=llm", "--judge=ann")[1]


def test_evaluate_takes_the_only_person_and_names_the_program(store, tacit, folder):
    (folder / "my.run").write_text("q1 Q0 a 1 2 x\nq1 Q0 b 2 1 x\nq2 Q0 a 1 1 x\n")
    (folder / "llm.txt").write_text("q1 0 b 9\n")
    tacit("judgments", "import", "c.db", "bob.tsv")
    tacit("judgments", "import", "c.db", "llm.txt", "--judge", "llm", "--program")
    code, out, err = tacit("evaluate", "c.db", "my.run", "-m", "AP", "--json")
    assert (code, json.loads(out)["measures"], "left out: llm" in err) == (0, {"AP": 1.0}, True)


def test_csv_keeps_everything(store, tacit, folder):
    assert tacit("judgments", "export", store, "--to", "csv", "-o", "all.csv", "--queries", "q.jsonl")[0] == 0
    assert json.loads((folder / "q.jsonl").read_text().splitlines()[0]) == {"id": "q1", "text": "big cats"}
    assert tacit("judgments", "import", "t.db", "all.csv")[0] == 0
    assert tacit("judgments", "export", "t.db", "--to", "csv")[1] == (folder / "all.csv").read_text()


@pytest.mark.parametrize("name", ["ann.txt", "all.csv"])
def test_standard_input_is_read(store, tacit, folder, monkeypatch, name):
    tacit("judgments", "export", store, "--to", "csv", "-o", "all.csv")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((folder / name).read_bytes())))
    code, _, err = tacit("judgments", "import", "u.db", "-")
    assert code == 0
    assert err == f"-: {3 if name == 'ann.txt' else 5} judgments read, {3 if name == 'ann.txt' else 5} new\n"


def test_show_counts_and_measures_agreement(store, tacit):
    found = json.loads(tacit("judgments", "show", store, "--json")[1])
    assert (found["records"], found["pairs"], found["queries"], found["with_probability"]) == (5, 3, 2, 2)
    assert found["judges"][0]["grades"] == {"0": 1, "1": 1, "2": 1}
    assert found["agreement"][0]["same"] == 0.5
    assert found["disagreements"][0]["grades"] == {"ann": 2, "bob": 1}
    out = tacit("judgments", "show", store)[1]
    assert "3 pairs of 2 queries judged, 5 records" in out
    assert "1 of 1 disagreement, " in out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["show", "missing.db"], 1, "missing.db: no such judgment store"),
        (["show", "ann.txt"], 1, "ann.txt: is not a judgment store"),
        (["import", "x.db", "missing.txt"], 1, "missing.txt: no such file"),
        (["import", "x.db", "queries.tsv"], 1, "queries.tsv:1:"),
        (["import", "x.db", "ann.txt", "--judge", " "], 1, "judge is ' '"),
        (["export", "s.db", "--to", "csv", "--merge", "mean"], 2, "leave --merge out"),
        (["export", "s.db", "--judge", "eve"], 2, "has no judge 'eve'"),
        ([], 2, "ACTION"),
    ],
)
def test_mistakes_are_one_line(store, tacit, words, code, message):
    found, out, err = tacit("judgments", *words)
    assert (found, out) == (code, "")
    assert err.count("\n") == 1
    assert message in err


@pytest.fixture
def sampled(folder, tacit):
    """Two queries with ten documents each; every second document is judged, with probability a half."""
    lines, judged = [], []
    for query in ("q1", "q2", "q3"):
        for rank in range(1, 13):
            lines.append(f"{query} Q0 d{rank} {rank} {-rank} bm25\n")
            if (rank + int(query[1])) % 2:
                judged.append(f"{query} 0 d{rank} {int(rank < 6)} 0.5\n")
    (folder / "my.run").write_text("".join(lines))
    (folder / "sample.txt").write_text("".join(judged))
    return folder


def test_evaluate_estimates_from_qrels_with_a_fifth_column_and_from_a_store(sampled, tacit):
    tacit("judgments", "import", "s.db", "sample.txt", "--judge", "ann")
    code, out, err = tacit("evaluate", "sample.txt", "my.run", "-m", "P@10", "--json")
    found = json.loads(out)
    assert (code, err, found["sampled"], found["queries"]) == (0, "", True, 3)
    low, high = found["intervals"]["P@10"]
    assert low < 0.5 < high
    assert json.loads(tacit("evaluate", "s.db", "my.run", "-m", "P@10", "--json")[1]) == found
    out = tacit("evaluate", "s.db", "my.run")[1]
    assert "estimates for 3 queries from sampled judgments" in out
    assert [line.split()[1] for line in out.splitlines()[1:3]] == ["P@10", "DCG@10"]
    assert "AP with 6.0 judgments per query are biased" in tacit("evaluate", "s.db", "my.run", "-m", "AP")[2]


def test_evaluate_says_what_it_does_not_see(sampled, tacit):
    (sampled / "other.run").write_text(
        "".join(f"q1 Q0 {d} 1 {-n} x\n" for n, d in enumerate(["d1", "d2", *"abcdefgh"]))
    )
    with (sampled / "sample.txt").open("a") as file:
        file.write("q1 0 zzz 1\n")
    code, _, err = tacit("evaluate", "sample.txt", "other.run")
    assert code == 0
    assert "of its first 10 documents are in the sampled pool" in err
    assert "judgments without a probability, not used: 1" in err


def test_evaluate_takes_a_store_without_probabilities(store, tacit, folder):
    (folder / "my.run").write_text("q1 Q0 a 1 2 x\nq1 Q0 b 2 1 x\nq2 Q0 a 1 1 x\n")
    tacit("judgments", "import", "b.db", "bob.tsv")
    assert json.loads(tacit("evaluate", "b.db", "my.run", "-m", "AP", "--json")[1])["measures"] == {"AP": 1.0}
    code, _, err = tacit("evaluate", store, "my.run")
    assert (code, err.count("\n")) == (2, 1)
    assert "several judges" in err
    assert tacit("evaluate", "bob.tsv", "my.run", "--judge", "bob")[0] == 2


@pytest.fixture
def model(folder, tacit):
    words = ["alpha", "beta", "gamma", "delta", "epsilon"]
    docs = [{"id": f"d{n}", "text": " ".join(words[(n + step) % 5] for step in range(3))} for n in range(20)]
    (folder / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    (folder / "asked.tsv").write_text('q1\talpha beta\nq2\tdelta, "gamma"\n')
    assert tacit("fit", "docs.jsonl", "-o", "model", "--method", "bm25")[0] == 0
    return folder


def test_label_judge_import_and_evaluate(model, tacit):
    words = ["label", "model", "--queries", "asked.tsv", "--for", "measuring", "-n", "8", "--judgments", "s.db"]
    code, _, err = tacit(*words, "-o", "next.csv")
    assert (code, err) == (0, "8 pairs of 2 queries to judge\n")
    text = (model / "next.csv").read_text()
    assert text.startswith("query,text,document,grade,rank,model,probability,display\n")
    assert "0 new" in tacit("judgments", "import", "s.db", "next.csv", "--judge", "ann")[2], "nothing is graded yet"
    (model / "next.csv").write_text(text.replace(",?,", ",1,"))
    assert "8 judgments read, 8 new" in tacit("judgments", "import", "s.db", "next.csv", "--judge", "ann")[2]
    tacit("search", "model", "--queries", "asked.tsv", "--run", "my.run", "-k", "50")
    found = json.loads(tacit("evaluate", "s.db", "my.run", "-m", "P@5", "--json")[1])
    assert found["sampled"]
    assert found["measures"]["P@5"] == pytest.approx(1)
    again = tacit(*words, "--json")[1]
    done = {line.split(",")[0] + " " + line.split(",")[-6] for line in text.splitlines()[1:]}
    assert not {f"{pair['query']} {pair['document']}" for pair in json.loads(again)["pairs"]} & done


def test_label_for_training(model, tacit):
    found = json.loads(tacit("label", "model", "--queries", "asked.tsv", "-n", "6", "--json")[1])
    assert found["for"] == "training"
    assert found["model"].startswith("model@")
    assert len(found["pairs"]) == 6
    assert {pair["why"] for pair in found["pairs"]} <= {"strata", "random"}


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (
            ["model", "--queries", "asked.tsv", "--for", "measuring", "--strategy", "gain"],
            2,
            "--strategy is for training",
        ),
        (["model", "--queries", "asked.tsv", "--strategy", "gain"], 1, "needs features of the pairs"),
        (["model", "--queries", "missing.tsv"], 1, "missing.tsv: no such file"),
        (["missing", "--queries", "asked.tsv"], 1, "missing"),
        (["model", "--queries", "asked.tsv", "-n", "0"], 2, "want a whole number >= 1"),
        (["model", "--queries", "asked.tsv", "--judgments", "docs.jsonl"], 1, "docs.jsonl: is not a judgment store"),
        (["model"], 2, "--queries"),
    ],
)
def test_mistakes_of_label_are_one_line(model, tacit, words, code, message):
    found, out, err = tacit("label", *words)
    assert (found, out) == (code, "")
    assert err.count("\n") == 1
    assert message in err


def test_a_list_ranker_learns_from_what_label_chose(folder, tacit):
    rows = [f"-1 qid:q{q} 1:{d * (q + 2) % 7} 2:{d} #docid = d{d}" for q in range(4) for d in range(8)]
    (folder / "lists.txt").write_text("\n".join(rows) + "\n")
    graded = [row.replace("-1 ", f"{int(' 2:7 ' in row)} ", 1) for row in rows]
    (folder / "first.txt").write_text("\n".join(graded[:8]) + "\n")
    assert tacit("rank", "first.txt", "lists.txt", "--method", "standing", "--save", "ranker", "-o", "my.run")[0] == 0
    words = ["label", "ranker", "--queries", "lists.txt", "-n", "12", "--judgments", "s.db", "-o", "next.csv"]
    assert tacit(*words)[0] == 0
    filled = (folder / "next.csv").read_text().replace(",?,", ",1,")
    (folder / "next.csv").write_text(filled)
    tacit("judgments", "import", "s.db", "next.csv")
    code, out, _ = tacit("judgments", "export", "s.db", "--to", "letor", "--lists", "lists.txt")
    assert code == 0
    assert sorted(line[:2] for line in out.splitlines()) == ["-1"] * 20 + ["1 "] * 12
    (folder / "other.txt").write_text("-1 qid:x 1:1 2:1 #docid = y\n")
    code, _, err = tacit("judgments", "export", "s.db", "--to", "letor", "--lists", "other.txt")
    assert (code, err) == (1, "tacit: no judgment (of 12) is about a row of the lists\n")
    assert tacit("judgments", "export", "s.db", "--lists", "lists.txt")[0] == 2


def test_features_count_the_judgments_that_are_in_no_list(tmp_path, monkeypatch, tacit):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs.jsonl").write_text("".join(f'{{"id": "d{n}", "text": "cat {n}"}}\n' for n in range(4)))
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "text": "cat"}\n')
    (tmp_path / "qrels.txt").write_text("".join(f"q 0 d{n} 1\n" for n in range(4)))
    code, _, err = tacit(
        "features", "docs.jsonl", "--queries", "queries.jsonl", "--qrels", "qrels.txt", "-k", 3, "-o", "lists.txt"
    )
    assert code == 0
    assert "1 of 4 judgments are of documents not among the first 3 of their query: in no list" in err


def test_a_program_is_compared_with_people_and_calibrated(tmp_path, monkeypatch, tacit):
    monkeypatch.chdir(tmp_path)
    lines = [f"q{q} 0 d{d} {(q + d) % 4}\n" for q in range(3) for d in range(8)]
    (tmp_path / "ann.txt").write_text("".join(lines[:12]))
    (tmp_path / "gpt.txt").write_text("".join(line[:-2] + str(min(int(line[-2]) + 1, 3)) + "\n" for line in lines))
    assert tacit("judgments", "import", "s", "ann.txt", "--judge", "ann")[0] == 0
    assert tacit("judgments", "import", "s", "gpt.txt", "--judge", "gpt", "--program")[0] == 0
    code, out, _ = tacit("judgments", "show", "s", "--judge", "gpt", "--against", "ann", "--json")
    found = json.loads(out)
    assert (code, found["n_both"], found["share_of_program"]) == (0, 12, 0.5)
    assert found["confusion"] == [[3, 0, 0, 0], [0, 3, 0, 0], [0, 0, 3, 3]]
    assert found["bias"]["mean"] == 0.75
    code, out, _ = tacit("judgments", "show", "s", "--judge", "gpt")
    assert (code, "gpt against ann: 12 pairs judged by both (100.0% of ann's, 50.0% of its own)" in out) == (0, True)
    code, _, err = tacit("judgments", "show", "s", "--judge", "gpt", "--against", "zoe")
    assert (code, "has no judge 'zoe', only ann, gpt" in err) == (2, True)
    code, _, err = tacit("judgments", "show", "s", "--against", "ann")
    assert (code, "name it (--judge)" in err) == (2, True)

    code, out, err = tacit("label", "--for", "calibrating", "--judgments", "s", "-n", "6", "--json")
    found = json.loads(out)
    assert (code, found["program"], len(found["pairs"])) == (0, "gpt", 6)
    assert all(pair["probability"] is None for pair in found["pairs"])  # no sample for measuring
    code, out, _ = tacit("label", "--for", "calibrating", "--judgments", "s", "-n", "6")
    rows = out.splitlines()
    assert (code, len(rows), rows[0].split(",")[:4]) == (0, 7, ["query", "text", "document", "grade"])
    code, _, err = tacit("label", "--for", "calibrating", "--judgments", "s", "--program", "x")
    assert (code, "want one of: gpt" in err) == (2, True)
    code, _, err = tacit("label", "--queries", "x")
    assert (code, "want a MODEL, or --runs with two or more runs" in err) == (2, True)
