"""`tacit evaluate --assist`: people judged some queries, a program all of them."""

import json

import numpy as np
import pytest

from tacit.data import read_qrels, read_queries, read_run
from tacit.judge import JudgmentStore, import_judgments
from tacit.metrics import evaluate

N_QUERIES, N_HUMAN = 40, 12


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two runs of 40 queries; people judged 12 queries, the program all, mostly as people would."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    grades = rng.integers(0, 4, (N_QUERIES, 12))
    guesses = np.where(rng.random(grades.shape) < 0.85, grades, rng.integers(0, 4, grades.shape))
    for name, table, n in (("human", grades, N_HUMAN), ("gpt-9", guesses, N_QUERIES), ("all", grades, N_QUERIES)):
        lines = [f"q{q} 0 d{d} {table[q, d]}\n" for q in range(n) for d in range(12)]
        (tmp_path / f"{name}.qrels").write_text("".join(lines))
    for name, noise in (("old", 3.0), ("new", 1.0)):
        scores = grades + noise * rng.normal(size=grades.shape)
        lines = [f"q{q} Q0 d{d} 1 {scores[q, d]:.6f} {name}\n" for q in range(N_QUERIES) for d in range(12)]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    with JudgmentStore("store") as store:
        import_judgments(store, "human.qrels", judge="ann")
        import_judgments(store, "gpt-9.qrels", judge="gpt-9", kind="program")
    return tmp_path


def test_store_and_files_give_the_same_estimates(folder, tacit):
    code, out, err = tacit("evaluate", "store", "old.run", "new.run", "--assist", "gpt-9", "-m", "nDCG@5", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    code, out, _ = tacit(
        "evaluate", "human.qrels", "old.run", "new.run", "--assist", "gpt-9.qrels", "-m", "nDCG@5", "--json"
    )
    assert code == 0
    by_files = json.loads(out)
    assert by_files["compare"] == found["compare"]
    assert found["assist"]["judge"] == "gpt-9"
    assert found["assist"]["human_queries"] == N_HUMAN
    (row,) = found["compare"]
    truth = [evaluate(read_qrels("all.qrels"), read_run(f"{name}.run"), "nDCG@5").means() for name in ("old", "new")]
    difference = truth[1]["nDCG@5"] - truth[0]["nDCG@5"]
    low, high = row["interval"]
    assert low < difference < high
    assert low < row["difference"] < high
    people = row["people"]["interval"]
    assert high - low < people[1] - people[0]
    assert found["assist"]["worth"] == pytest.approx(row["worth"])
    assert row["worth"] > 0
    assert found["queries"] == N_QUERIES
    assert found["tests"][0]["better"] == "new.run"


def test_table_says_what_is_estimated_and_what_the_program_was_worth(folder, tacit):
    code, out, err = tacit("evaluate", "store", "old.run", "new.run", "--assist", "gpt-9")
    assert (code, err) == (0, "")
    assert "Differences from old.run" in out
    assert "means over 40 queries, as if people had judged all of them; 144 judgments by people in 12 queries" in out
    assert "gpt-9 was worth about" in out


def test_mistakes_are_one_line(folder, tacit):
    def fails(*args):
        code, out, err = tacit("evaluate", *args)
        assert (code, out) == (2, "")
        return err

    assert "'ann', a person; want a program: gpt-9" in fails("store", "old.run", "--assist", "ann")
    assert "neither a file nor a program of store: gpt-9" in fails("store", "old.run", "--assist", "gpt-4")
    assert "'gpt-9', a program; with --assist it names people" in fails(
        "store", "old.run", "--assist", "gpt-9", "--judge", "gpt-9"
    )
    assert "want a file of grades" in fails("human.qrels", "old.run", "--assist", "gpt-9")
    assert "--bounds and --assist exclude each other" in fails("store", "old.run", "--assist", "gpt-9", "--bounds")
    with JudgmentStore("programs") as store:
        import_judgments(store, "gpt-9.qrels", judge="gpt-9", kind="program")
    assert "no judge is a person" in fails("programs", "old.run", "--assist", "gpt-9")


def test_a_judge_that_is_a_ranked_system_is_refused(folder, tacit):
    grades = read_qrels("gpt-9.qrels").to_dict()
    lines = [f"{q} Q0 {d} 1 {g} mine\n" for q, row in grades.items() for d, g in row.items()]
    (folder / "mine.run").write_text("".join(lines))
    (folder / "bm25+GPT-9.run").write_text((folder / "new.run").read_text())
    for path in ("mine.run", "bm25+GPT-9.run"):
        code, _, err = tacit("evaluate", "store", "old.run", path, "--assist", "gpt-9")
        assert code == 2
        assert "must not grade itself" in err


def test_few_human_queries_leave_the_program_out_and_say_so(folder, tacit):
    lines = (folder / "human.qrels").read_text().splitlines(keepends=True)
    (folder / "few.qrels").write_text("".join(lines[: 3 * 12]))
    code, out, err = tacit("evaluate", "few.qrels", "old.run", "new.run", "--assist", "gpt-9.qrels", "--json")
    assert code == 0
    assert "people judged 3 queries: fewer than 5, so the program is not used" in err
    found = json.loads(out)
    assert found["assist"]["used"] is False
    assert all(row["interval"] == row["people"]["interval"] for row in found["compare"])


def test_people_who_judged_all_queries_leave_nothing_to_estimate(folder, tacit):
    command = ("evaluate", "all.qrels", "old.run", "new.run", "-m", "nDCG@5", "--json")
    code, out, err = tacit(*command, "--assist", "gpt-9.qrels")
    assert (code, "people judged all queries, so nothing is estimated" in err) == (0, True)
    plain, (row,) = json.loads(tacit(*command)[1]), json.loads(out)["compare"]
    exact = plain["compare"][0]["measures"]["nDCG@5"] - plain["measures"]["nDCG@5"]
    assert [row["difference"], *row["interval"]] == pytest.approx([exact] * 3)


def test_queries_of_which_people_saw_single_documents_are_left_out(folder, tacit):
    with (folder / "human.qrels").open("a") as file:
        file.write("q30 0 d1 3\nq31 0 d2 0\n")
    code, out, err = tacit("evaluate", "human.qrels", "old.run", "new.run", "--assist", "gpt-9.qrels", "--json")
    assert code == 0
    assert err == "left out: 2 queries of which people judged less than half of the first 10 documents\n"
    assert json.loads(out)["assist"]["human_queries"] == N_HUMAN


def test_judgments_of_relevant_documents_only_are_whole_queries(folder, tacit):
    lines = (folder / "human.qrels").read_text().splitlines(keepends=True)
    (folder / "relevant.qrels").write_text("".join(line for line in lines if line.split()[3] != "0"))
    command = ("evaluate", "relevant.qrels", "old.run", "new.run", "--assist", "gpt-9.qrels", "-m", "P@5")
    code, out, err = tacit(*command, "--json")
    assert (code, "unjudged documents count as not relevant" in err) == (0, True)
    complete = json.loads(tacit("evaluate", "human.qrels", *command[2:], "--json")[1])
    assert json.loads(out)["compare"][0]["people"] == complete["compare"][0]["people"]


def test_single_judged_documents_only_are_an_error_that_says_what_to_judge(folder, tacit):
    (folder / "single.qrels").write_text("".join(f"q{q} 0 d{q % 12} {q % 4}\n" for q in range(20)))
    code, _, err = tacit("evaluate", "single.qrels", "old.run", "new.run", "--assist", "gpt-9.qrels")
    assert (code, "people judged no query fully, only 20 queries" in err) == (1, True)


def test_sampled_pairs_use_their_probabilities(folder, tacit):
    rng = np.random.default_rng(1)
    lines = [line.strip() for line in (folder / "all.qrels").read_text().splitlines()]
    drawn = rng.choice(len(lines), 160, replace=False)
    (folder / "sample.qrels").write_text("".join(f"{lines[row]} {160 / len(lines)!r}\n" for row in sorted(drawn)))
    code, out, _ = tacit("evaluate", "sample.qrels", "old.run", "new.run", "--assist", "gpt-9.qrels", "--json")
    found = json.loads(out)
    assert (code, found["assist"]["sampled"], found["assist"]["human_judgments"]) == (0, True, 160)
    truth = [
        evaluate(read_qrels("all.qrels"), read_run(f"{name}.run"), "P@10").means()["P@10"] for name in ("old", "new")
    ]
    row = next(row for row in found["compare"] if row["measure"] == "P@10")
    assert row["interval"][0] < truth[1] - truth[0] < row["interval"][1]


def test_rank_says_whether_the_programs_grades_are_used(tmp_path, monkeypatch, tacit):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows, grades = [], []
    for row in range(12 * 6):
        values = rng.normal(size=3)
        query, place = row // 6, row % 6 + 1
        rows.append(f"{int(values[0] > 0)} qid:{query} 1:{values[0]:.3f} 2:{values[1]:.3f} 3:{values[2]:.3f}\n")
        grades.append(f"{query} 0 {query}-{place} {int(rng.random() < 0.5)}\n")
    (tmp_path / "train.txt").write_text("".join(rows))
    (tmp_path / "gpt.qrels").write_text("".join(grades))
    code, out, err = tacit("rank", "train.txt", "train.txt", "--assist", "gpt.qrels")
    assert code == 0
    assert "gpt.qrels: the program's grades are not used" in err
    assert out == tacit("rank", "train.txt", "train.txt")[1]
    code, _, err = tacit("rank", "train.txt", "train.txt", "--assist", "gpt.qrels", "--clicks", "x")
    assert (code, "--clicks and --assist exclude each other" in err) == (2, True)


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """Documents of three topics; people judged 12 queries, the program those and 8 others, as people would."""
    monkeypatch.chdir(tmp_path)
    words = ("cat kitten fur", "sum matrix rank", "soup onion salt")
    documents = [{"id": f"d{n}", "text": f"{words[n % 3]} text{n}"} for n in range(12)]
    queries = [{"id": f"q{n}", "text": f"{words[n % 3].split()[n % 2]} text{n}"} for n in range(20)]
    for name, rows in (("docs", documents), ("queries", queries)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, n_queries in (("people", 12), ("few", 4), ("program", 20)):
        lines = [f"q{q} 0 d{d} {int(q % 3 == d % 3)}\n" for q in range(n_queries) for d in range(12)]
        (tmp_path / f"{name}.qrels").write_text("".join(lines))
    with JudgmentStore("store") as store:
        store.add_queries(read_queries("queries.jsonl"))
        import_judgments(store, "few.qrels", judge="ann")
        import_judgments(store, "program.qrels", judge="gpt-9", kind="program")
    return tmp_path


def test_fit_says_whether_the_programs_grades_are_used(shop, tacit):
    code, _, err = tacit("fit", "docs.jsonl", "--queries", "queries.jsonl", "--qrels", "few.qrels", "--assist",
                         "program.qrels", "--dim", "4", "-o", "m")  # fmt: skip
    assert code == 0
    assert "program.qrels: the program's grades are not used: people judged 4 queries" in err
    code, _, err = tacit("fit", "docs.jsonl", "--qrels", "store", "--assist", "gpt-9", "--dim", "4", "-o", "n")
    assert code == 0
    assert "gpt-9: the program's grades are not used: people judged 4 queries" in err
    code, _, err = tacit("fit", "docs.jsonl", "--queries", "queries.jsonl", "--qrels", "people.qrels", "--assist",
                         "program.qrels", "--dim", "4", "--set", "residual=false", "-o", "m")  # fmt: skip
    assert code == 0
    assert "the program's grades are not used: the difference may be due to chance; nDCG@10 +0.0000" in err


def test_advise_measures_the_program_and_does_not_choose_it_by_chance(shop, tacit):
    code, out, _ = tacit("advise", "docs.jsonl", "--queries", "queries.jsonl", "--qrels", "people.qrels", "--assist",
                         "program.qrels", "--save", "m", "--json")  # fmt: skip
    assert code == 0
    found = json.loads(out)
    assert "blend+labels+program" in {row["system"] for row in found["rows"]}
    assert found["assist"]["help"] is False
    assert found["system"] != "blend+labels+program"
    assert "Whether the program's grades help is unclear" in found["text"]


def test_mistakes_of_learning_with_a_program_are_one_line(shop, tacit):
    given = ("--queries", "queries.jsonl", "--qrels", "few.qrels", "--assist", "program.qrels")

    def fails(*words):
        code, out, err = tacit(*words)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        return err

    fit = ("fit", "docs.jsonl", "-o", "m")
    assert "--assist needs --qrels" in fails(*fit, "--assist", "program.qrels")
    assert "qe does not learn from a program's grades" in fails(*fit, *given, "--method", "qe")
    assert "--assist and --rerank exclude each other" in fails(*fit, *given, "--rerank", "linear")
    assert "want a file of grades" in fails(*fit, *given[:-1], "gpt-9")
    assert "neither a file nor a program of store: gpt-9" in fails(*fit, "--qrels", "store", "--assist", "gpt-8")
    assert "--assist needs a collection" in fails("advise", "lists.txt", "--assist", "gpt-9")
    (shop / "other.qrels").write_text("q15 0 d1 1\n")
    code, _, err = tacit(*fit, *given[:-1], "other.qrels")
    assert code == 1
    assert "graded no pair in common" in err
