"""Judgments and runs in each form; `ir_measures` reads the same files as a second opinion."""

import io
import logging
import sys

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import Collection, DataError, Judgments, Lists, Run, TacitError
from tacit.data import check_known, read_qrels, read_run, write_qrels, write_run


@pytest.fixture
def stored(tmp_path):
    def store(text, name="file.txt"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return store


def collection(*ids):
    return Collection(ids, [""] * len(ids), [""] * len(ids))


class TestReadQrels:
    def test_trec(self, stored):
        judgments = read_qrels(stored("q1 0 a 2\n\nq1\t0  b\t0\nq2 Q0 a 1.5\n"))
        assert judgments.to_dict() == {"q1": {"a": 2.0, "b": 0.0}, "q2": {"a": 1.5}}

    def test_beir_with_blanks_in_ids(self, stored):
        judgments = read_qrels(stored("query-id\tcorpus-id\tscore\nq 1\tNew York\t1\nq2\tb\t0\n"))
        assert judgments.to_dict() == {"q 1": {"New York": 1.0}, "q2": {"b": 0.0}}

    def test_negative_grades_are_no_judgments_but_keep_their_query(self, stored):
        judgments = read_qrels(stored("q0 0 z -1\nq1 0 a -2\nq1 0 b 1\nq2 0 a 0\n"))
        assert judgments.query_ids == ["q0", "q1", "q2"]
        assert judgments.doc_ids == ["a", "b"]
        assert judgments.to_dict() == {"q0": {}, "q1": {"b": 1.0}, "q2": {"a": 0.0}}

    def test_letor(self, stored):
        path = stored("# a comment\n2 qid:7 1:0.5 #docid = a\n0 qid:7 1:0.1\n1 qid:x 1:3 #docid = a\n")
        assert read_qrels(path).to_dict() == {"7": {"a": 2.0, "7-2": 0.0}, "x": {"a": 1.0}}

    def test_letor_from_standard_input_is_refused(self, monkeypatch):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"2 qid:7 1:0.5\n")))
        with pytest.raises(DataError, match=r"<stdin>: LETOR lists .* want a file"):
            read_qrels("-")

    @pytest.mark.parametrize(
        ("lines", "message"),
        [
            ("", r"file\.txt: has no judgments"),
            ("query-id\tcorpus-id\tscore\n", r"file\.txt: has no judgments"),
            ("q 0 a\n", ":1: 3 columns, want query 0 document grade"),
            ("q 0 a 1\nq 0 b 1 x\n", ":2: probability is 'x', want a number above 0 and at most 1"),
            ("q 0 a 1 0\n", ":1: probability is '0', want"),
            ("q 0 a 1 1.5\n", ":1: probability is '1.5', want"),
            ("q 0 a 1 nan\n", ":1: probability is 'nan', want"),
            ("q 0 a 1 1 1\n", ":1: 6 columns, want"),
            ("q 0 a x\n", ":1: grade is 'x', want a finite number"),
            ("q 0 a nan\n", ":1: grade is 'nan'"),
            ("q 0 a inf\n", ":1: grade is 'inf'"),
            ("q 0 a 1\n\nr 0 a 1\nq 0 a 1\n", ":4: this pair of query and document is already in line 1"),
            ("q 0 a -1\nq 0 a 1\n", ":2: this pair"),
            (
                "query-id\tcorpus-id\tscore\nq a 1\n",
                ":2: 1 column between tabs, want query-id<TAB>corpus-id<TAB>score",
            ),
            ("query-id\tcorpus-id\tscore\n\ta\t1\n", ":2: id is empty"),
            ("1 qid:7 1:0 #docid = a\n1 qid:7 1:0 #docid = a\n", r"file\.txt: query '7' has document 'a' twice"),
        ],
    )
    def test_mistakes(self, stored, lines, message):
        with pytest.raises(DataError, match=message):
            read_qrels(stored(lines))


def test_judgments_from_lists_leave_out_what_is_unjudged():
    y = np.array([np.nan, 1.0, -1.0, 0.0])
    lists = Lists(np.zeros((4, 1)), y, np.array([0, 2, 3, 4]), ["q", "r", "s"], ["a", "b", "c", ""])
    assert lists.to_judgments().to_dict() == {"q": {"b": 1.0}, "r": {}, "s": {"s-1": 0.0}}


class TestReadRun:
    def test_the_rank_column_does_not_count(self, stored):
        run = read_run(stored("q1 Q0 b 1 0.5 sys\nq1\tQ0\ta\t7\t2e3 other\n\nq2 Q0 b 1 -1 sys\n"))
        assert run.to_dict() == {"q1": {"b": 0.5, "a": 2000.0}, "q2": {"b": -1.0}}
        assert run.name == "sys"
        assert run.doc_ids == ["b", "a"]

    @pytest.mark.parametrize(
        ("lines", "message"),
        [
            ("", r"file\.txt: has no lines, want query Q0 document rank score tag"),
            ("q Q0 a 1 0.5\n", ":1: 5 columns, want query Q0 document rank score tag"),
            ("q Q0 a x 0.5 s\n", ":1: rank is 'x', want a whole number"),
            ("q Q0 a 1.5 0.5 s\n", ":1: rank is '1.5'"),
            ("q Q0 a 1 x s\n", ":1: score is 'x', want a finite number"),
            ("q Q0 a 1 nan s\n", ":1: score is 'nan'"),
            ("q Q0 a 1 -inf s\n", ":1: score is '-inf'"),
            ("q Q0 a 1 3 s\nq Q0 b 2 2 s\nq Q0 a 3 1 s\n", ":3: this pair of query and document is already in line 1"),
        ],
    )
    def test_mistakes(self, stored, lines, message):
        with pytest.raises(DataError, match=message):
            read_run(stored(lines))


class TestWriteRun:
    def test_best_first_and_ties_by_row(self, tmp_path):
        query, doc, score = np.array([1, 0, 0, 0]), np.array([0, 2, 1, 0]), np.array([0.1, 1.0, 1.0, 3.0])
        write_run(Run(["q", "r"], ["a", "b", "c"], query, doc, score, "sys"), tmp_path / "r")
        assert (tmp_path / "r").read_text().splitlines() == [
            "q Q0 a 1 3.0 sys",
            "q Q0 b 2 1.0 sys",
            "q Q0 c 3 1.0 sys",
            "r Q0 a 1 0.1 sys",
        ]

    @pytest.mark.parametrize(
        ("scores", "name", "message"),
        [
            ({"q x": {"a": 1.0}}, "s", "query id is 'q x', want no spaces"),
            ({"q": {"New York": 1.0}}, "s", "document id is 'New York', want no spaces: TREC"),
            ({"q": {"a\u3000b": 1.0}}, "s", "document id"),
            ({"": {"a": 1.0}}, "s", "query id is empty"),
            ({"q": {"a": 1.0}}, "my run", "name of the run is 'my run'"),
            ({"q": {"a": 1.0}}, "", "name of the run is empty"),
        ],
    )
    def test_what_the_form_cannot_carry(self, tmp_path, scores, name, message):
        with pytest.raises(TacitError, match=message):
            write_run(Run.from_dict(scores, name), tmp_path / "r")
        assert not list(tmp_path.iterdir())

    def test_a_document_twice(self, tmp_path):
        run = Run(["q"], ["a"], np.array([0, 0]), np.array([0, 0]), np.array([1.0, 2.0]))
        with pytest.raises(TacitError, match="query 'q' has document 'a' twice"):
            write_run(run, tmp_path / "r")


words = st.text("abcé日_-", min_size=1, max_size=4)
suffixes = st.sampled_from(["", ".gz", ".xz", ".bz2", ".zst"])


def tables(numbers):
    return st.dictionaries(words, st.dictionaries(words, numbers, min_size=1, max_size=6), min_size=1, max_size=5)


@given(scores=tables(st.floats(allow_nan=False, allow_infinity=False)), suffix=suffixes)
@settings(max_examples=60, deadline=None)
def test_a_run_that_is_written_is_read_again_and_has_the_order_of_its_scores(tmp_path_factory, scores, suffix):
    path = tmp_path_factory.mktemp("run") / f"run.txt{suffix}"
    write_run(Run.from_dict(scores, "sys"), path)
    again = read_run(path)
    assert again.to_dict() == scores
    assert again.query_ids == list(scores)
    for found in again.to_dict().values():
        assert list(found.values()) == sorted(found.values(), reverse=True)


@given(grades=tables(st.integers(0, 4) | st.floats(0, 1e300)), suffix=suffixes)
@settings(max_examples=60, deadline=None)
def test_judgments_that_are_written_are_read_again(tmp_path_factory, grades, suffix):
    path = tmp_path_factory.mktemp("qrels") / f"qrels.txt{suffix}"
    write_qrels(Judgments.from_dict(grades), path)
    assert read_qrels(path).to_dict() == grades


def test_others_read_what_we_write(tmp_path):
    write_qrels(Judgments.from_dict({"q": {"a": 2, "b": 0}}), tmp_path / "qrels")
    write_run(Run.from_dict({"q": {"b": 0.1, "a": 0.1 + 2**-56}}), tmp_path / "run")
    assert [tuple(entry)[:3] for entry in ir_measures.read_trec_qrels(str(tmp_path / "qrels"))] == [
        ("q", "a", 2),
        ("q", "b", 0),
    ]
    entries = [tuple(entry)[:3] for entry in ir_measures.read_trec_run(str(tmp_path / "run"))]
    assert entries == [("q", "a", 0.1 + 2**-56), ("q", "b", 0.1)]


def test_queries_that_qrels_cannot_carry_are_counted_aloud(tmp_path, caplog):
    with caplog.at_level(logging.WARNING, "tacit"):
        write_qrels(Judgments.from_dict({"q": {"a": 1}, "r": {}}), tmp_path / "qrels")
    assert "queries without judgments, not written: 1" in caplog.text


class TestCheckKnown:
    judgments = Judgments.from_dict({"q": {"a": 1, "x": 2}, "r": {"a": 0}, "s": {"x": 1}, "t": {}})

    def test_nothing_changes_when_all_are_known(self):
        assert check_known(self.judgments, collection("t", "s", "r", "q"), collection("x", "a")) is self.judgments

    def test_unknown_ids_are_an_error(self):
        wanted = r"q\.txt: unknown ids in 2 of 4 judgments \(0 queries, 1 document\), the first is document 'x'; .*--s"
        with pytest.raises(DataError, match=wanted):
            check_known(self.judgments, collection("q", "r", "s", "t"), collection("a"), path="q.txt")
        wanted = r"unknown ids in 2 of 4 judgments \(2 queries, 1 document\), the first is query 's'"
        with pytest.raises(DataError, match=wanted):
            check_known(self.judgments, collection("q", "r"), collection("a"))
        with pytest.raises(DataError, match="4 of 4 judgments"):
            check_known(self.judgments, collection("q", "r"), collection("b"), skip_unknown=True)

    def test_unknown_ids_are_left_out_aloud(self, caplog):
        with caplog.at_level(logging.WARNING, "tacit"):
            kept = check_known(self.judgments, collection("q", "r", "s"), collection("a"), skip_unknown=True)
        assert kept.to_dict() == {"q": {"a": 1.0}, "r": {"a": 0.0}, "s": {}}
        assert kept.doc_ids == ["a"]
        assert "left out: unknown ids in 2 of 4 judgments" in caplog.text

    def test_queries_are_renumbered(self):
        kept = check_known(self.judgments, collection("r", "s"), collection("a", "x"), skip_unknown=True)
        assert kept.to_dict() == {"r": {"a": 0.0}, "s": {"x": 1.0}}


class TestProbabilities:
    def test_a_fifth_column_is_the_probability(self, stored, tmp_path):
        judgments = read_qrels(stored("q1 0 a 2 0.25\nq1 0 b 0\nq2 0 a -1 0.5\nq2 0 c 1 1\n"))
        np.testing.assert_array_equal(judgments.probability, [0.25, np.nan, 1])
        write_qrels(judgments, tmp_path / "again.txt")
        assert (tmp_path / "again.txt").read_text() == "q1 0 a 2 0.25\nq1 0 b 0\nq2 0 c 1 1.0\n"

    def test_without_a_fifth_column_there_are_none(self, stored):
        assert read_qrels(stored("q1 0 a 2\n")).probability is None

    def test_they_stay_with_their_pairs(self, stored):
        judgments = read_qrels(stored("q1 0 a 2 0.25\nq2 0 b 0 0.5\nq1 0 c 0 0.75\n"))
        kept = check_known(judgments, collection("q1"), collection("c", "b"), skip_unknown=True)
        assert (kept.to_dict(), kept.probability.tolist()) == ({"q1": {"c": 0.0}}, [0.75])

    @pytest.mark.parametrize("wrong", [[0.0], [1.5], [-1.0], [0.5, 0.5]])
    def test_wrong_ones_are_refused(self, wrong):
        with pytest.raises(TacitError, match="probability must have one entry per pair"):
            Judgments(["q"], ["a"], np.array([0]), np.array([0]), np.array([1.0]), np.array(wrong))


@pytest.mark.parametrize("form", ["qrels", "beir", "letor"])
def test_every_form_of_judgments_is_read_again(tmp_path, form):
    query = np.array([0, 1, 0])
    judgments = Judgments(["q1", "q2"], ["a", "b"], query, np.array([0, 0, 1]), np.array([2.0, 0.5, 0]))
    write_qrels(judgments, tmp_path / "file", form=form)
    assert read_qrels(tmp_path / "file").to_dict() == judgments.to_dict()


def test_a_query_id_that_letor_cannot_carry(tmp_path):
    with pytest.raises(TacitError, match="query id 'a#b' contains '#'"):
        write_qrels(Judgments.from_dict({"a#b": {"a": 1}}), tmp_path / "file", form="letor")


def test_negative_grades_are_left_out_and_counted(tmp_path, caplog):
    (tmp_path / "qrels.txt").write_text("q 0 a 1\nq 0 b -1\nq 0 c -2\n")
    assert len(read_qrels(tmp_path / "qrels.txt")) == 1
    assert "judgments with a grade below 0: 2 of 3: unjudged, left out" in caplog.text


def test_a_table_of_judgments_keeps_its_probabilities(tmp_path):
    """What `tacit label` writes, filled in: the sample must not be read as if it were everything."""
    path = tmp_path / "judged.csv"
    path.write_text("query,document,grade,Probability\nq,a,1,0.25\nq,b,0,\nq,c,,0.5\n", "utf-8")
    found = read_qrels(path)
    assert found.to_dict() == {"q": {"a": 1.0, "b": 0.0}}
    assert found.probability[0] == 0.25
    assert np.isnan(found.probability[1])
    path.write_text("query,document,grade,probability\nq,a,1,1.5\n", "utf-8")
    with pytest.raises(DataError, match="probability is '1.5', want a number above 0 and at most 1"):
        read_qrels(path)


def test_grades_with_a_decimal_comma(tmp_path):
    (tmp_path / "judged.csv").write_text("query;document;grade\nred hat;a;1,5\nred hat;b;0\n")
    assert read_qrels(tmp_path / "judged.csv").to_dict() == {"red hat": {"a": 1.5, "b": 0.0}}
