"""`tacit judge`: pairs of a model or of runs, asked of a program."""

import json
import sys

import pytest

from tacit.judge import JudgmentStore

PROGRAM = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "broken" in asked["document"]: print("?", flush=True)
    else: print(json.dumps({"grade": 3 if asked["query"] in asked["document"] else 0}), flush=True)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {"a": "cats purr", "b": "dogs bark", "c": "cats and dogs", "d": "broken cats"}
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in texts.items()))
    (tmp_path / "q.jsonl").write_text('{"id": "q1", "text": "cats"}\n{"id": "q2", "text": "dogs"}\n')
    lines = ["q1 Q0 a 1 3 x", "q1 Q0 b 2 2 x", "q1 Q0 d 3 1 x", "q2 Q0 b 1 3 x", "q2 Q0 c 2 1 x", "q9 Q0 a 1 1 x"]
    (tmp_path / "x.run").write_text("\n".join(lines) + "\n")
    (tmp_path / "judge.py").write_text(PROGRAM)
    return tmp_path


def judge(tacit, *more, source=("--runs", "x.run", "--documents", "docs.jsonl")):
    spec = f"command:{sys.executable} judge.py"
    words = ("judge", "store", *source, "--queries", "q.jsonl", "--with", spec, "--retries", "1", "--pause", "0")
    return tacit(*words, *more)


def test_pairs_of_runs_are_judged_and_failures_counted(folder, tacit):
    code, out, err = judge(tacit, "--json")
    assert code == 0
    found = json.loads(out)
    assert (found["pairs"], found["judged"], found["failed"]) == (5, 4, 1)
    assert found["failures"] == {"malformed": 1}
    assert "5 pairs, 5 calls with " in err
    with JudgmentStore("store", read_only=True) as store:
        grades = {(j.query, j.document): j.grade for j in store.current(found["judge"])}
        assert store.queries().texts[0] == "cats"
    expected = {("q1", "a"): 3, ("q1", "b"): 0, ("q1", "d"): None, ("q2", "b"): 3, ("q2", "c"): 3}
    assert grades == expected
    code, out, err = judge(tacit)
    assert "5 pairs, 0 calls with 0 characters" in err  # what is known costs nothing
    assert (code, "0 calls" in out, "1 pair without a grade: malformed 1" in out) == (0, True, True)
    code, out, _ = tacit("judgments", "export", "store")
    assert (code, len(out.splitlines())) == (0, 4)  # a failure is no grade


def test_n_takes_the_best_ranks_first_and_a_prompt_makes_another_judge(folder, tacit):
    code, out, _ = judge(tacit, "-n", "2", "--json")
    first = json.loads(out)
    assert (code, first["judged"]) == (0, 2)
    (folder / "guide.txt").write_text("only animals")
    code, out, _ = judge(tacit, "-n", "2", "--json", "--prompt", "guide.txt")
    assert json.loads(out)["judge"] != first["judge"]
    with JudgmentStore("store", read_only=True) as store:
        assert {(j.query, j.document) for j in store.current()} == {("q1", "a"), ("q2", "b")}
        assert len(store.judges()) == 2


def test_a_model_has_its_documents(folder, tacit):
    assert tacit("fit", "docs.jsonl", "-o", "m", "--method", "bm25")[0] == 0
    code, out, _ = judge(tacit, "--json", "--depth", "2", source=("--model", "m"))
    assert code == 0
    assert json.loads(out)["pairs"] == 4


def test_mistakes_are_one_line(folder, tacit):
    code, _, err = judge(tacit, source=("--runs", "x.run"))
    assert (code, "give the documents (--documents CORPUS)" in err) == (2, True)
    code, _, err = tacit(
        "judge", "s", "--runs", "x.run", "--documents", "docs.jsonl", "--queries", "q.jsonl", "--with", "gpt"
    )
    assert (code, "want openai:MODEL or command:PROGRAM" in err) == (2, True)
    (folder / "x.run").write_text("q1 Q0 zzz 1 3 x\n")
    code, _, err = judge(tacit)
    assert (code, "document 'zzz' of a run is not in the documents" in err) == (1, True)
    assert not (folder / "s").exists()
