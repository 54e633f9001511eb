"""What people have in memory, at every door, and what they may get wrong there."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tacit
from tacit.core import Collection, DataError, Judgments, Run, TacitError, UsageError
from tacit.data import as_clicks, as_collection, as_judgments, as_run, read_click_log, read_clicks, read_qrels
from tacit.data.inputs import as_training_data
from tacit.search import Searcher

ROWS = [
    {"sku": 1, "name": "Cats", "description": "they purr", "price": 3.5, "tags": ["soft", "small"]},
    {"sku": 2, "name": "Dogs", "description": "they bark", "price": None, "tags": []},
    {"sku": 3, "name": "Cows", "description": "they moo", "price": 900.0, "tags": None},
]
FORMS = {
    "list of dicts": lambda: ROWS,
    "pandas": lambda: pd.DataFrame(ROWS),
    "polars": lambda: pl.DataFrame(ROWS),
    "pyarrow": lambda: pa.Table.from_pylist(ROWS),
    "columns": lambda: {name: [row[name] for row in ROWS] for name in ROWS[0]},
}


@pytest.mark.parametrize("form", FORMS)
def test_tables(form):
    docs = as_collection(FORMS[form]())
    assert [tuple(document) for document in docs] == [
        ("1", "Cats", "they purr"),
        ("2", "Dogs", "they bark"),
        ("3", "Cows", "they moo"),
    ]
    assert docs.extras == {"price": [3.5, None, 900.0], "tags": [["soft", "small"], [], None]}
    assert Searcher("tfidf").fit(FORMS[form]()).search("bark")[0].id == "2"


def test_texts():
    assert [*as_collection(["x", "y"])] == [*as_collection(pd.Series(["x", "y"]))] == [("0", "", "x"), ("1", "", "y")]
    assert [*as_collection(np.array(["x", "y"]))] == [*as_collection(pl.Series(["x", "y"]))]
    assert [*as_collection({7: "x"})] == [("7", "", "x")]
    assert [*as_collection({"a": {"title": "T", "text": "x"}})] == [("a", "T", "x")]
    docs = Collection(["a"], [""], ["x"])
    assert as_collection(docs) is docs
    assert as_collection(Collection(["a"], [""], ["x"], {"n": [2]})).extras["n"].kind == "number"
    assert [*as_collection([*docs])] == [*docs]


def test_files(tmp_path):
    path = tmp_path / "docs.csv"
    path.write_text("id,text\na,x\n")
    assert [*as_collection(path)] == [*as_collection(str(path))] == [("a", "", "x")]
    assert [*as_collection(path, "queries")] == [("a", "", "x")]


def test_a_filtered_frame_keeps_its_labels_and_its_rows():
    frame = pd.DataFrame({"text": ["x", "y", "z"], "year": [1, 2, 3]})
    kept = frame[frame.year > 1]
    docs = as_collection(kept)
    assert [tuple(document) for document in docs] == [("1", "", "y"), ("2", "", "z")]
    plain = Collection(kept.index, [""] * 2, kept.text, {"year": kept.year})
    assert [tuple(document) for document in plain] == [("1", "", "y"), ("2", "", "z")]
    assert plain.extras == {"year": [2, 3]}
    assert plain[0] == ("1", "", "y")


def test_missing_cells_of_a_frame():
    frame = pd.DataFrame({"id": ["a", "b"], "text": ["x", None], "when": pd.to_datetime(["2024-01-02", None])})
    docs = as_collection(frame)
    assert docs.texts == ["x", ""]
    assert docs.extras["when"].kind == "date"
    assert [*docs.extras["when"]] == ["2024-01-02T00:00:00", None]
    assert [*as_collection(frame.convert_dtypes()).extras["when"]] == ["2024-01-02T00:00:00", None]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "documents are of type int, want a Collection, a path, a frame"),
        (None, "documents are of type NoneType"),
        (b"x", "documents are of type bytes"),
        ([1, 2], "documents: row 0 is of type int, want a dict or a text"),
        ([{"text": "x"}, "y"], "documents: row 1 is of type str, want a dict"),
        (["x", None], "documents: row 1 is of type NoneType, want a text, as in row 0"),
        ([], "there are no documents"),
        ({}, "there are no documents"),
        (pd.DataFrame(), "there are no documents"),
        ([{"id": 1.5, "text": "x"}], "documents:0: id is 1.5, want a string or a whole number"),
        ([{"id": "a", "text": 3}], "documents:0: text is a number, want a string"),
        ([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}], "id 'a' is already in line 0"),
        ([{"id": "a", "text": "\ud800"}], r"the character U\+D800"),
        ("no-such-file.csv", r"no-such-file\.csv: no such file"),
    ],
)
def test_mistakes(data, message):
    with pytest.raises(TacitError, match=message) as raised:
        Searcher("tfidf").fit(data)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((["a"], [""], [None]), "texts: row 0 is None, want text"),
        ((["a"], [float("nan")], ["x"]), "titles: row 0 is nan, want text"),
        (([1.5], [""], ["x"]), "ids: row 0 is 1.5, want text or a whole number"),
        (([True], [""], ["x"]), "ids: row 0 is True"),
        (("ab", ["", ""], ["x", "y"]), "a column of a collection is of type str, want a list"),
        ((["a"], 3, ["x"]), "a column of a collection is of type int"),
    ],
)
def test_mistakes_in_columns(columns, message):
    with pytest.raises(TacitError, match=message):
        Collection(*columns)


def test_whole_numbers_are_ids_and_can_be_saved(tmp_path):
    searcher = Searcher("tfidf").fit(Collection([1, np.int64(2)], ["", ""], ["cats purr", "dogs bark"]))
    searcher.save(tmp_path / "m")
    assert Searcher.load(tmp_path / "m").search("bark")[0].id == "2"


def test_slices_are_collections():
    docs = as_collection(ROWS)
    assert [*docs[:2]] == [docs[0], docs[1]]
    assert docs[1:].extras["price"] == [None, 900.0]
    assert docs[:2].extras["tags"] == [["soft", "small"], []]
    assert len(repr(docs)) < 200
    assert "<table>" in docs._repr_html_()
    assert "&lt;b&gt;" in as_collection(["<b>"])._repr_html_()


JUDGED = {"q1": {"a": 2.0, "b": 0.0}, "q2": {"a": 1.0}}
TRIPLES = [("q1", "a", 2), ("q1", "b", 0), ("q2", "a", 1)]
TABLE = [{"query-id": q, "corpus-id": d, "score": g} for q, d, g in TRIPLES]


@pytest.mark.parametrize("data", [JUDGED, TRIPLES, TABLE, pd.DataFrame(TABLE), pl.DataFrame(TABLE)], ids=type)
def test_judgments_and_runs(data):
    assert as_judgments(data).to_dict() == as_run(data).to_dict() == JUDGED
    assert tacit.evaluate(data, data, "nDCG@10").means() == {"nDCG@10": 1.0}


def test_unjudged_stays_unjudged():
    assert as_judgments({"q": {"a": -1, "b": 0}, "r": {}}).to_dict() == {"q": {"b": 0.0}, "r": {}}
    assert as_judgments(pd.DataFrame({"query": ["q"], "doc_id": ["a"], "rel": [float("nan")]})).to_dict() == {"q": {}}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "qrels: found int, want {query: {document: grade}}"),
        ({"q": 3}, "qrels: query 'q' has a int, want {query: {document: number}}"),
        ({"q": {"a": "x"}}, "qrels: the grade of query 'q' and document 'a' is 'x', want a number"),
        ([{"query": "q", "doc": "a"}], "qrels: no column is a grade, want"),
        ([("q", "a", 1), ("q", "a", 2)], "qrels: query 'q' has document 'a' twice"),
        ([{"query": "q", "doc": None, "grade": 1}], "qrels: a row has no document"),
    ],
)
def test_mistakes_in_judgments(data, message):
    with pytest.raises(TacitError, match=message):
        as_judgments(data)
    with pytest.raises(TacitError):
        tacit.evaluate(data, {"q": {"a": 1}}, "AP")


def test_mistakes_in_runs():
    with pytest.raises(UsageError, match="run: found float, want"):
        tacit.evaluate(JUDGED, 2.0, "AP")
    with pytest.raises(TacitError, match="score contains a value that is not finite"):
        tacit.evaluate(JUDGED, {"q1": {"a": float("inf")}}, "AP")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("qrels.csv", "query_id;doc_id;relevance\nq1;a;2\nq1;b;0\nq2;a;1\nq2;c;-1\n"),
        ("qrels.csv", 'query,document,grade\n"q1",a,2\nq1,b,0\nq2,a,1\n'),
        ("qrels.tsv", "query_id\tdoc_id\trel\nq1\ta\t2\nq1\tb\t0\nq2\ta\t1\n"),
        ("qrels.jsonl", "".join(f'{{"query-id": "{q}", "corpus-id": "{d}", "score": {g}}}\n' for q, d, g in TRIPLES)),
        ("qrels.json", "[" + ",".join(f'{{"qid": "{q}", "docid": "{d}", "rel": {g}}}' for q, d, g in TRIPLES) + "]"),
    ],
)
def test_files_of_judgments(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content)
    assert read_qrels(path).to_dict() == JUDGED
    assert as_judgments(path).to_dict() == JUDGED


def test_parquet_of_judgments_and_what_is_no_judgment(tmp_path):
    path = tmp_path / "test-00000-of-00001.parquet"
    pd.DataFrame(TABLE).to_parquet(path)
    assert read_qrels(path).to_dict() == JUDGED
    pd.DataFrame({"a": [1]}).to_parquet(path)
    with pytest.raises(DataError, match=r"no column is a query \(columns: a\), want query, document and grade"):
        read_qrels(path)
    (tmp_path / "qrels.txt").write_bytes(b"%PDF-1.4 x")
    with pytest.raises(DataError, match="this is a PDF"):
        read_qrels(tmp_path / "qrels.txt")


def test_clicks(tmp_path):
    docs = Collection(["a", "b"], ["", ""], ["cats purr", "dogs bark"])
    log = tmp_path / "log.tsv"
    log.write_text("purr\ta\t3\nbark\tb\n")
    queries, links = read_clicks(log, docs)
    for data in (log, read_click_log(log), (queries, links)):
        found = as_clicks(data, docs)
        assert found[0].texts == queries.texts
        assert found[1].weights.tolist() == [3.0, 1.0]
        assert Searcher("blend").fit(docs, clicks=data).n_pairs_ == 2
    frame = pd.DataFrame({"query": ["purr", "bark", "bark"], "doc_id": ["a", "b", "a"], "clicks": [3, 1, 0]})
    for rows in (frame, pl.from_pandas(frame), frame.to_dict("records")):
        assert as_clicks(rows, docs)[1].weights.tolist() == [3.0, 1.0]
    with pytest.raises(UsageError, match="clicks are of type int, want"):
        Searcher("blend").fit(docs, clicks=3)


def test_tables_of_shown_documents(tmp_path):
    rows = [("s1", "purr", "b", 2, 1), ("s1", "purr", "a", 1, 0), ("s2", "purr", "a", 1, 1), ("s2", "bark", "b", 1, 0)]
    frame = pd.DataFrame(rows, columns=["session_id", "query", "document", "position", "clicked"])
    frame.to_csv(tmp_path / "log.tsv", sep="\t", index=False)
    log = read_click_log(tmp_path / "log.tsv")
    assert log.ordered
    assert [(session.query, session.shown, [*session.clicked]) for session in log.sessions] == [
        ("purr", ("a", "b"), ["b"]),
        ("purr", ("a",), ["a"]),
        ("bark", ("b",), []),
    ]
    frame.drop(columns="session_id").astype({"clicked": bool}).to_csv(tmp_path / "log.csv", index=False)
    log = read_click_log(tmp_path / "log.csv")
    assert not log.ordered
    assert [(session.query, session.shown) for session in log.sessions] == [("purr", ("b",)), ("purr", ("a",))]


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("clicked", "maybe", "log.csv:2: clicked is 'maybe', want 1 or 0"),
        ("position", "first", "log.csv:2: position is 'first', want a number"),
        ("query", "", "log.csv:2: the query is empty"),
    ],
)
def test_wrong_tables_of_shown_documents(tmp_path, column, value, message):
    row = {"session": "s", "query": "purr", "document": "a", "position": "1", "clicked": "1"} | {column: value}
    pd.DataFrame([row]).to_csv(tmp_path / "log.csv", index=False)
    with pytest.raises(DataError, match=message):
        read_click_log(tmp_path / "log.csv")


def test_ids_of_queries_in_a_frame_are_not_replaced_by_its_index():
    frame = pd.DataFrame({"query_id": ["q7", "q9"], "text": ["red shoes", "hat"]})
    assert as_collection(frame, "queries").ids == ["q7", "q9"]
    assert as_collection(frame[frame.text == "hat"], "queries").ids == ["q9"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("log.csv", "search_term,product_id,clicks\npurr,a,3\nbark,b,\n"),
        ("log.json", '[{"query": "purr", "document": "a", "count": 3}, {"query": "bark", "document": "b"}]'),
        ("log.jsonl", '{"query": "purr", "document": "a", "count": 3}\n{"query": "bark", "document": "b"}\n'),
    ],
)
def test_files_of_clicks(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content)
    log = read_click_log(path)
    assert not log.ordered
    assert [(session.query, session.shown, session.times) for session in log.sessions] == [
        ("purr", ("a",), 3.0),
        ("bark", ("b",), 1.0),
    ]


def test_sessions_of_an_array_and_of_parquet(tmp_path):
    rows = [{"query": "q", "shown": ["a", "b"], "clicked": ["b"]}]
    (tmp_path / "log.json").write_text('[{"query": "q", "shown": ["a", "b"], "clicked": ["b"]}]')
    pd.DataFrame(rows).to_parquet(tmp_path / "log.parquet")
    for name in ("log.json", "log.parquet"):
        [session] = read_click_log(tmp_path / name).sessions
        assert (session.shown, session.clicked) == (("a", "b"), {"b"})


def test_types_pass_through():
    judgments, run = Judgments.from_dict(JUDGED), Run.from_dict(JUDGED)
    assert as_judgments(judgments) is judgments
    assert as_run(run) is run


@pytest.mark.parametrize("score", [None, float("nan")])
def test_a_run_with_a_missing_score_is_refused(score):
    message = "run: the score of query 'q' and document 'b' is missing (NaN or null), want a number"
    for data in (
        {"q": {"a": 0.5, "b": score}},
        pd.DataFrame({"query": "q", "document": ["a", "b"], "score": [1, score]}),
    ):
        with pytest.raises(UsageError, match=re.escape(message)):
            as_run(data)
    assert as_run({"q": {}}).to_dict() == {"q": {}}


def test_judgments_by_text_need_no_queries(tmp_path):
    docs = {"a": "red shoes", "b": "blue boots", "c": "green hats"}
    judged = [
        {"query": "soft red", "document": "a", "grade": 1},
        {"query": "boots", "document": "b", "grade": 2},
        {"query": "boots", "document": "c", "grade": 0},
    ]
    (tmp_path / "judged.csv").write_text("query,document,grade\nsoft red,a,1\nboots,b,2\nboots,c,0\n", "utf-8")
    for qrels in (judged, tmp_path / "judged.csv", {"soft red": {"a": 1}, "boots": {"b": 2, "c": 0}}):
        documents, queries, judgments, _ = as_training_data(docs, None, qrels, None)
        assert (documents.ids, queries.ids, queries.texts) == (["a", "b", "c"], queries.texts, ["soft red", "boots"])
        assert judgments.to_dict() == {"soft red": {"a": 1.0}, "boots": {"b": 2.0, "c": 0.0}}
    assert as_training_data(docs, None, {"q1": {"a": 1}}, None)[1] is None


def test_a_run_is_a_short_table_in_a_notebook():
    run = as_run({f"q{n}": {"<b>": 0.5, "d": 0.25} for n in range(1000)})
    assert len(run._repr_html_()) < 2_000
    assert "&lt;b&gt;" in run._repr_html_()


def test_whole_numbers_with_a_point_are_ids_too():
    frame = pd.DataFrame({"sku": [1, 2, None], "name": ["hat", "shoe", "x"]})[:2]  # floats, because of the missing one
    assert as_collection(frame).ids == as_collection(frame.set_index("sku")).ids == ["1", "2"]
    judged = pd.DataFrame({"query": [7.0], "document": [2.0], "grade": [1]})
    assert as_judgments(judged).to_dict() == as_judgments({7.0: {2.0: 1}}).to_dict() == {"7": {"2": 1.0}}
    with pytest.raises(TacitError, match=r"sku is 1\.5, want a string or a whole number"):
        as_collection([{"sku": 1.5, "name": "hat"}])
