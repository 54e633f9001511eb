"""`tacit split`: parts share no query and no group, and together are the whole."""

import json

import pytest

from tacit.app.main import main
from tacit.data import read_folds, read_letor, read_qrels, read_queries


@pytest.fixture
def queries(tmp_path):
    rows = [{"id": f"q{n}", "text": f"query {n}", "topic": f"t{n // 3}"} for n in range(30)]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "qrels.txt").write_text("".join(f"q{n} 0 d{n} 1\n" for n in range(30)))
    return tmp_path


def test_queries_and_their_judgments(queries, capsys):
    arguments = [str(queries / "queries.jsonl"), "--qrels", str(queries / "qrels.txt"), "--out", str(queries / "parts")]
    assert main(["split", *arguments, "--test", "0.3", "--seed", "1"]) == 0
    train, test = (read_queries(queries / "parts" / f"{part}.queries.jsonl") for part in ("train", "test"))
    assert (len(train), len(test)) == (21, 9)
    assert not set(train.ids) & set(test.ids)
    assert set(read_qrels(queries / "parts" / "test.qrels.txt").query_ids) == set(test.ids)
    assert main(["split", *arguments]) == 2
    assert "exists and is not empty" in capsys.readouterr().err


def test_groups_stay_together(queries):
    arguments = [str(queries / "queries.jsonl"), "--qrels", str(queries / "qrels.txt"), "--group", "topic"]
    assert main(["split", *arguments, "--out", str(queries / "parts")]) == 0
    paths = [queries / "parts" / f"{part}.queries.jsonl" for part in ("train", "test")]
    train, test = (read_queries(path, extras=["topic"]) for path in paths)
    assert len(test) == 6
    assert not set(train.extras["topic"]) & set(test.extras["topic"])


def test_links_by_their_sources(tmp_path):
    (tmp_path / "links.tsv").write_text("".join(f"s{n % 10}\tt{n}\n" for n in range(40)))
    assert main(["split", str(tmp_path / "links.tsv"), "--out", str(tmp_path / "parts")]) == 0
    train, test = (
        {line.split("\t")[0] for line in (tmp_path / "parts" / f"{part}.links.tsv").read_text().splitlines()}
        for part in ("train", "test")
    )
    assert (len(train), len(test)) == (8, 2)
    assert not train & test


def test_lists_as_two_files_or_as_folds(tmp_path):
    lines = [f"{n % 2} qid:{q} 1:{n} #docid = d{q}-{n}\n" for q in range(10) for n in range(3)]
    (tmp_path / "lists.txt").write_text("".join(lines))
    assert main(["split", str(tmp_path / "lists.txt"), "--out", str(tmp_path / "two")]) == 0
    train, test = (read_letor(tmp_path / "two" / f"{part}.txt") for part in ("train", "test"))
    assert (len(train), len(test)) == (8, 2)
    assert main(["split", str(tmp_path / "lists.txt"), "--out", str(tmp_path / "five"), "--folds", "5"]) == 0
    folds = read_folds(tmp_path / "five" / "folds.json")
    assert len(folds) == 5
    assert sorted(name for fold in folds.values() for name in fold.test) == sorted(str(q) for q in range(10))
    assert all(not set(fold.train) & (set(fold.vali) | set(fold.test)) for fold in folds.values())


def test_what_it_cannot_tell_is_told(tmp_path, capsys):
    (tmp_path / "docs.jsonl").write_text('{"id": "a", "text": "x"}\n')
    assert main(["split", str(tmp_path / "docs.jsonl"), "--out", str(tmp_path / "parts")]) == 2
    assert "want feature lists, links (source<TAB>target), or queries with --qrels" in capsys.readouterr().err
    assert not (tmp_path / "parts").exists()


def test_a_group_that_a_query_lacks_is_told(queries, capsys):
    with (queries / "queries.jsonl").open("a") as file:
        file.write('{"id": "q30", "text": "of no topic"}\n')
    arguments = [str(queries / "queries.jsonl"), "--qrels", str(queries / "qrels.txt"), "--group", "topic"]
    assert main(["split", *arguments, "--out", str(queries / "parts")]) == 2
    assert "query 'q30' has no field 'topic'" in capsys.readouterr().err


def test_an_empty_part_is_refused(queries, capsys):
    arguments = [str(queries / "queries.jsonl"), "--qrels", str(queries / "qrels.txt"), "--out", str(queries / "parts")]
    assert main(["split", *arguments, "--test", "1"]) == 1
    assert "--test 1 of 30 queries leaves the training part empty" in capsys.readouterr().err
    assert not list((queries / "parts").glob("*"))


def test_queries_keep_all_their_fields_and_may_be_in_a_beir_folder(queries):
    assert main(["split", str(queries), "--qrels", str(queries / "qrels.txt"), "--out", str(queries / "parts")]) == 0
    lines = (queries / "queries.jsonl").read_text().splitlines()
    parts = [(queries / "parts" / f"{part}.queries.jsonl").read_text().splitlines() for part in ("train", "test")]
    assert sorted(parts[0] + parts[1]) == sorted(lines)
    assert (len(parts[0]), len(parts[1])) == (24, 6)


def test_queries_between_tabs_become_json_lines(tmp_path):
    (tmp_path / "queries.tsv").write_text("".join(f"q{n}\tquery {n}\n" for n in range(10)))
    (tmp_path / "qrels.txt").write_text("".join(f"q{n} 0 d{n} 1\n" for n in range(10)))
    options = ["--qrels", str(tmp_path / "qrels.txt"), "--out", str(tmp_path / "parts")]
    assert main(["split", str(tmp_path / "queries.tsv"), *options]) == 0
    assert len(read_queries(tmp_path / "parts" / "test.queries.jsonl")) == 2
