"""Queries and judgments from pasted text: what is read, what is new, what is left out."""

import pytest

from tacit.app.web.imports import read_text


def rows(text):
    return [tuple(value for value in row[1:] if value not in ("", None)) for row in read_text(text).rows]


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        ("a: b\nc, d\n", "one query on each line", [("a: b",), ("c, d",)]),
        ("query,topic\na: b,t\n", "CSV with a header", [("a: b", "t")]),
        ("\ufeffid;text\nq1;one, two\n", "CSV with a header", [("q1", "one, two")]),
        ('query,document,grade\n"a ""b"", c",d1,2\n', "CSV with a header", [('a "b", c', "d1", 2.0)]),
        ("query-id\tcorpus-id\tscore\nq1\td1\t1\n", "TSV with a header", [("q1", "d1", 1.0)]),
        ("q1\tone: two\n", "id and text", [("q1", "one: two")]),
        ("q1 0 d1 2\nq1 0 d2 -1\n", "TREC qrels", [("q1", "d1", 2.0), ("q1", "d2", 0.0)]),
        ('{"_id": 7, "text": "one"}\n', "jsonl", [("7", "one")]),
        ('{"text": "one", "topic": "t"}\n', "jsonl", [("one", "t")]),
    ],
)
def test_forms(text, form, expected):
    assert read_text(text).form == form
    assert rows(text) == expected


def test_lines_that_cannot_be_read_are_reported_and_left_out():
    found = read_text("query,document,grade\na,d1,2\nb,d1\nc,d1,high\n,d1,1\n")
    assert len(found.rows) == 1
    assert found.problems == [
        "line 3: 2 columns, want 3",
        "line 4: the grade is 'high', want a number",
        "line 5: no query",
    ]


LONG = 200_000  # longer than a cell of Python's csv module may be


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"text": ' + "[" * 100_000, "JSON with too long a number or too deep a nesting"),
        ('{"a":' * 100_000, "JSON with too long a number or too deep a nesting"),
        ('{"text": "a", "text": "b"}', "the key 'text' occurs twice in one object, want it once"),
        ('{"text": "\\ud800"}', "the text of a query contains U+D800, half of a character"),
        ('{"id": "\\ud800"}', "id contains U+D800, half of a character"),
        ('{"text": "a", "topic": "\\udfff"}', "the topic of a query contains U+DFFF, half of a character"),
        ('{"text": "a", "document": "\\ud800"}', "document contains U+D800, half of a character"),
        ('{"text": "a", "document": "d", "grade": 1e999}', "the grade is inf, want 0 to 1000"),
        ('{"text": "a", "document": "d", "judge": "%s"}' % ("j" * 101), "judge of 101 characters, want at most 100"),
        ("q1 0 d1 " + "9" * 400, "the grade is inf, want 0 to 1000"),
        ("x" * LONG, f"text of {LONG} characters, want at most 20000"),
        ("query\n" + "x" * LONG, "a cell of more than 131072 characters"),
        ('query,topic\n"' + "x" * LONG + '",t', "a cell of more than 131072 characters"),
        ("x" * 1001 + "\ttext", "id of 1001 characters, want at most 1000"),
    ],
)
def test_hostile_lines_are_reported_and_left_out(client, line, problem):
    number = line.count("\n") + 1
    for preview in (True, False):
        found = post(client, line, preview=preview)
        assert found["problems"] == [f"line {number}: {problem}"]
        assert found["rows"] == []


def test_too_many_lines_are_refused_before_they_are_read(client):
    answer = client.post("/import", json={"text": "a\n" * 4_000_000, "preview": True})
    assert "the text has more than 100,000 lines, want at most that many" in answer.json()["error"]


def post(client, text, **more):
    answer = client.post("/import", json={"text": text, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_preview_stores_nothing_and_a_second_import_adds_nothing(client, store):
    text = "query,document,grade,judge\nonion soup,soup-0,2,ann\nonion soup,soup-1,0,ann\nkitten,nowhere,1,ann\n"
    assert post(client, text, preview=True)["queries"] == {"new": 2, "known": 0, "repeated": 0}
    assert len(store.queries()) == 0
    found = post(client, text)
    assert found["judgments"] == {"new": 2, "known": 0, "unknown_documents": 1}
    assert [(record.text, record.document, record.grade, record.judge) for record in store.current()] == [
        ("onion soup", "soup-0", 2.0, "ann"),
        ("onion soup", "soup-1", 0.0, "ann"),
    ]
    again = post(client, text)
    assert again["queries"] == {"new": 0, "known": 2, "repeated": 0}
    assert again["judgments"]["new"] == 0
    assert len(store) == 2


def test_a_duplicate_does_not_reject_a_paste(client, store):
    found = post(client, "onion soup\nkitten\nonion soup", topic="food")
    assert found["queries"] == {"new": 2, "known": 0, "repeated": 1}
    assert store.queries().extras["topic"] == ["food", "food"]
    assert post(client, "id,text\nx,one\n")["queries"]["new"] == 1
    assert post(client, "id,text\nx,two\n")["problems"] == ["line 2: query 'x' already has another text"]


def test_queries_are_changed_and_deleted_unless_they_are_judged(client, store):
    post(client, "id,text\nx,one\ny,two\n")
    assert client.patch("/queries/x", json={"text": "one more", "topic": "t"}).status_code == 200
    assert client.delete("/queries/y").json() == {"deleted": "y"}
    assert client.delete("/queries/y").status_code == 404
    assert [(q["id"], q["text"], q["topic"]) for q in client.get("/queries").json()["queries"]] == [
        ("x", "one more", "t")
    ]
    store.record("x", "soup-0", 1, "ann")
    assert "never deleted" in client.delete("/queries/x").json()["error"]
    assert "about its text" in client.patch("/queries/x", json={"text": "other"}).json()["error"]
    assert client.patch("/queries/x", json={"topic": ""}).status_code == 200
    assert client.get("/queries").json()["queries"][0]["topic"] is None
