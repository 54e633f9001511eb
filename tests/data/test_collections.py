"""Small files whose one right reading is known, every mistake with its line, and round trips."""

import io
import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import Collection, DataError, TacitError, UsageError
from tacit.core import texts as core_texts
from tacit.data import open_output, read_collection, read_queries, write_collection
from tacit.search import Searcher


@pytest.fixture
def stored(tmp_path):
    def store(text, name="docs.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        with open_output(path) as out:
            out.write(text)
        return path

    return store


def columns(collection):
    return [tuple(document) for document in collection]


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".bz2", ".zst"])
def test_json_lines(stored, suffix):
    lines = '{"id": "a", "title": "T", "text": "x\\ty"}\n\n{"_id": 7, "text": "z", "more": [1]}\n{"id": "New York"}\n'
    docs = read_collection(stored(lines, f"docs.jsonl{suffix}"), name="small")
    assert columns(docs) == [("a", "T", "x\ty"), ("7", "", "z"), ("New York", "", "")]
    assert docs.name == "small"
    assert docs.extras == {"more": [None, ["1"], None]}
    assert read_collection(stored(lines, f"docs.jsonl{suffix}"), extras=()).extras == {}


def test_extras_keep_their_values_and_none_where_a_row_has_none(stored):
    path = stored('{"id": "a", "topics": ["x"], "date": null}\n{"id": "b", "date": 3}\n')
    docs = read_collection(path, extras=("topics", "date"))
    assert docs.extras == {"topics": [["x"], None], "date": [None, 3]}
    with pytest.raises(DataError, match="none of the 2 documents has a field 'topic'"):
        read_collection(path, extras=["topic"])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a\tx\nb\ty z\n", [("a", "", "x"), ("b", "", "y z")]),
        ("a\tT\tx\n\nb\t\t\n", [("a", "T", "x"), ("b", "", "")]),
        ("id\ttext\ttitle\na\tx\tT\n", [("a", "T", "x")]),
        ('a\t"quoted\n', [("a", "", '"quoted')]),
        ("id\tother\n", [("id", "", "other")]),
    ],
)
def test_tab_separated(stored, text, wanted):
    assert columns(read_collection(stored(text, "docs.tsv"))) == wanted
    assert columns(read_collection(stored(text, "docs.txt"))) == wanted  # by the look of the first line


def test_standard_input_is_told_by_its_first_line(monkeypatch):
    for text in ('\n {"id": "a", "text": "x"}\n', "a\tx\n"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert columns(read_collection("-")) == [("a", "", "x")]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"[1]\n")))
    with pytest.raises(DataError, match="<stdin>:1: a number, want an object"):
        read_collection("-")


def test_folders(stored, tmp_path):
    stored('{"_id": "d", "title": "", "text": "x"}\n', "beir/corpus.jsonl.gz")
    stored('{"_id": "q", "text": "y"}\n', "beir/queries.jsonl")
    stored('{"id": "d", "text": "x"}\n', "ours/docs.jsonl.zst")
    assert (
        columns(read_collection(tmp_path / "beir")) == columns(read_collection(tmp_path / "ours")) == [("d", "", "x")]
    )
    assert columns(read_queries(tmp_path / "beir")) == [("q", "", "y")]
    with pytest.raises(DataError, match=r"folder has no queries\.jsonl"):
        read_queries(tmp_path / "ours")
    stored('{"id": "d", "text": "x"}\n', "ours/docs.jsonl")
    with pytest.raises(DataError, match=r"contains docs\.jsonl and docs\.jsonl\.zst; give the path of one file"):
        read_collection(tmp_path / "ours")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", r"docs\.jsonl: has no documents"),
        ("\n \n", r"docs\.jsonl: has no documents"),
        ('{"id": "a"}\n\n{"id": "a"}', r"docs\.jsonl:3: id 'a' is already in line 1"),
        ('{"id": "1"}\n{"id": 1}', r":2: id '1' is already in line 1"),
        ('{"id": "a"}\n{"id": "b"', r":2: not JSON: Expecting ',' delimiter at column 11"),
        ("a\tb", ":1: not JSON"),
        ("[1]", ":1: a list, want an object"),
        ("null", ":1: null, want an object"),
        ('{"id": "a"}\n{"text": "x"}', ":2: no field id"),
        ('{"id": ""}', ":1: id is empty"),
        ('{"id": null}', ":1: id is null"),
        ('{"id": 1.5}', ":1: id is 1.5, want a string or a whole number"),
        ('{"id": true}', ":1: id is true or false"),
        ('{"id": ["a"]}', ":1: id is a list"),
        ('{"id": "a\\tb"}', r":1: id is 'a\\tb', want no tabs"),
        ('{"id": "a "}', ":1: id is 'a ', want no spaces at its ends"),
        ('{"id": "a", "text": 3}', ":1: text is a number, want a string"),
        ('{"id": "a", "title": {}}', ":1: title is an object, want a string"),
        ('{"id": "a", "text": "\\ud800"}', r":1: a string contains the character U\+D800"),
        ('{"id": "a", "text": "\\u0000"}', r":1: a string contains the character U\+0000"),
        ('{"id": "a", "text": "' + "\0" + '"}', ":1: not JSON"),
        ('{"id": ' + "9" * 5000 + "}", ":1: JSON with too long a number"),
        ("[" * 100_000, ":1: JSON with .* too deep"),
    ],
)
def test_mistakes_in_json_lines(stored, lines, message):
    with pytest.raises(DataError, match=message):
        read_collection(stored(lines))


def test_pairs_of_surrogates_and_escaped_backslashes_are_text(stored):
    docs = read_collection(stored('{"id": "a", "text": "\\ud83d\\ude00 \\\\ud800 \\\\u0000"}'))
    assert docs.texts == ["\U0001f600 \\ud800 \\u0000"]


def test_extras_are_checked_as_deeply_as_they_go(stored):
    path = stored('{"id": "a", "deep": {"x": ["\\udc00"]}}')
    assert len(read_collection(path)) == 1
    with pytest.raises(DataError, match=r"U\+DC00"):
        read_collection(path, extras=["deep"])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("a\tx\nb\tT\ty", ":2: 3 columns between tabs, want 2 as in the first line"),
        ("a\tT\tx\nb\ty", ":2: 2 columns between tabs, want 3"),
        ("a", ":1: 1 column between tabs, want id<TAB>text or id<TAB>title<TAB>text"),
        ("a\tb\tc\td", ":1: 4 columns"),
        ("\tx", ":1: id is empty"),
        ("a\tx\na\ty", ":2: id 'a' is already in line 1"),
        ("a\tx\0", r":1: the line contains the character U\+0000"),
        ("id\ttext\n", "has no documents"),
    ],
)
def test_mistakes_in_tab_separated_text(stored, lines, message):
    with pytest.raises(DataError, match=message):
        read_collection(stored(lines, "docs.tsv"))


def test_extras_need_json_lines(stored):
    with pytest.raises(DataError, match="none of the 1 documents has a field 'topics'"):
        read_collection(stored("a\tx\n", "docs.tsv"), extras=["topics"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "a", "id": "b", "text": "x"}', ":1: the key 'id' occurs twice in one object"),
        ('{"id": "a", "text": "x", "more": [{"k": 1, "k": 1}]}', ":1: the key 'k' occurs twice in one object"),
        ('{"id": "a", "_id": "b", "text": "x"}', ":1: id is 'a' and _id is 'b', want one of them"),
        ('{"id": null, "_id": "b", "text": "x"}', ":1: id is None and _id is 'b'"),
    ],
)
def test_contradictory_objects(stored, line, message):
    with pytest.raises(DataError, match=message):
        read_collection(stored(line + "\n"))


def test_the_same_id_under_both_names(stored):
    assert columns(read_collection(stored('{"id": 7, "_id": "7", "text": "x"}\n'))) == [("7", "", "x")]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("doc_id\ttext", "text: text; id: doc_id"),
        ("id\tbody", "text: body; id: id"),
        ("docid\ttitle\tcontents", "text: contents; title: title; id: docid"),
    ],
)
def test_a_header_of_other_names_is_reported(stored, caplog, header, message):
    path = stored(header + "\n" + header.replace("i", "1") + "\n", "docs.tsv")
    assert len(read_collection(path)) == 1
    assert caplog.messages == [f"{path}: {message}"]
    assert len(read_collection(stored("id\ttext\na\tb\n", "docs.tsv"))) == 1
    assert len(caplog.messages) == 1


def test_queries(stored):
    path = stored('{"id": 1, "title": "T", "text": "x"}\n{"_id": "b", "text": ""}', "queries.jsonl")
    assert columns(read_queries(path)) == [("1", "", "x"), ("b", "", "")]
    assert read_queries(path, extras=["title"]).extras == {"title": ["T", None]}
    assert columns(read_queries(stored("1\tx\n", "queries.tsv"))) == [("1", "", "x")]
    for lines, message in (('{"id": "a"}', "no field text"), ('{"id": "a", "text": null}', "text is null")):
        with pytest.raises(DataError, match=message):
            read_queries(stored(lines))
    with pytest.raises(DataError, match="3 columns between tabs, want id<TAB>text"):
        read_queries(stored("1\tT\tx\n", "queries.tsv"))
    with pytest.raises(DataError, match="has no queries"):
        read_queries(stored(""))


ids = st.text("aZé/日", min_size=1, max_size=6) | st.just("New York")
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
values = st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts | st.lists(texts)


@given(
    rows=st.lists(st.tuples(ids, texts, texts, values), min_size=1, max_size=8, unique_by=lambda row: row[0]),
    suffix=st.sampled_from(["", ".gz", ".xz", ".bz2", ".zst"]),
)
@settings(max_examples=80, deadline=None)
def test_what_is_written_is_read_again(tmp_path_factory, rows, suffix):
    docs = Collection(
        *(list(column) for column in list(zip(*rows, strict=True))[:3]), {"more": [row[3] for row in rows]}
    )
    path = tmp_path_factory.mktemp("docs") / f"docs.jsonl{suffix}"
    write_collection(docs, path)
    assert read_collection(path, extras=["more"]) == docs


def test_written_lines_are_plain_json(tmp_path):
    docs = Collection(["a", "b"], ["Tä", ""], ["x", "y"], {"n": [None, 2], "id": ["no", "no"]})
    write_collection(docs, tmp_path / "docs.jsonl")
    written = [json.loads(line) for line in (tmp_path / "docs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert written == [{"id": "a", "title": "Tä", "text": "x"}, {"id": "b", "text": "y", "n": 2}]


@pytest.mark.parametrize(
    ("docs", "message"),
    [
        (Collection(["a\nb"], [""], [""]), "id is"),
        (Collection(["a"], [""], ["\0"]), r"document 'a' contains the character U\+0000"),
        (Collection(["a"], ["\ud800"], [""]), r"U\+D800"),
        (Collection(["a"], [""], [""], {"n": [float("nan")]}), "document 'a' cannot be written as JSON"),
        (Collection(["a"], [""], [""], {"n": [object()]}), "document 'a' cannot be written as JSON"),
    ],
)
def test_what_could_not_be_read_is_not_written(tmp_path, docs, message):
    with pytest.raises(TacitError, match=message):
        write_collection(docs, tmp_path / "docs.jsonl")
    assert not list(tmp_path.iterdir())


def test_only_json_lines_are_written(tmp_path):
    with pytest.raises(UsageError, match=r"docs\.tsv\.gz: collections are written as JSON lines"):
        write_collection(Collection(["a"], [""], [""]), tmp_path / "docs.tsv.gz")


def test_texts_of_a_large_collection_are_kept_in_a_file_and_give_the_same_model(stored, monkeypatch, tmp_path):
    path = stored("".join(f"{n}\tt{n}\tword{n} and word{n % 7}\n" for n in range(300)), "docs.tsv")
    small = read_collection(path)
    monkeypatch.setattr(core_texts, "MEMORY_CHARACTERS", 100)
    monkeypatch.setattr(core_texts, "BLOCK_BYTES", 500)
    large = read_collection(path)
    assert isinstance(large.texts, core_texts.TextBlocks)
    assert isinstance(small.texts, list)
    assert [*large] == [*small]
    for name, docs in (("small", small), ("large", large)):
        Searcher("bm25").fit(docs).save(tmp_path / name)
    for file in ("model.json", "arrays.safetensors"):
        assert (tmp_path / "small" / file).read_bytes() == (tmp_path / "large" / file).read_bytes()


def test_documents_without_a_text_are_counted_with_the_fields_that_they_have(tmp_path, caplog):
    path = tmp_path / "docs.jsonl"
    path.write_text('{"id": "a", "title": "Cats", "body": "they purr"}\n{"id": "b", "text": "dogs", "n": 3}\n')
    assert [document.text for document in read_collection(path)] == ["", "dogs"]
    assert f"{path}: 1 of 2 documents have no field text; other fields: body" in caplog.text
    caplog.clear()
    path.write_text('{"id": "a", "title": "Cats", "text": null}\n')
    read_collection(path)
    assert caplog.text == ""
