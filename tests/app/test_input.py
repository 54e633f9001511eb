"""From a user's file to a filtered search, and from a spreadsheet of judgments to a store and a model."""

import json
import sqlite3

import pytest

from tacit.app.main import main
from tacit.search import Searcher

COLORS = ("red", "blue", "green")
WORDS = ("running shoe", "winter coat", "summer hat", "leather bag")


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A CSV file as a shop would export it, in the current folder."""
    monkeypatch.chdir(tmp_path)
    lines = ["sku;name;description;bullets;price;stock;color"]
    for n in range(24):
        color, words = COLORS[n % 3], WORDS[n % 4]
        lines.append(f'p{n:02d};"{color} {words}";"a {words}; ""good"" one {n}";light;{n}.5;{n % 2 == 0};{color}')
    (tmp_path / "shop.csv").write_text("\ufeff" + "\r\n".join(lines), encoding="utf-8")
    return tmp_path


def run(capsys, *words, code=0):
    assert main(list(words)) == code
    return capsys.readouterr()


def search(capsys, *words):
    return json.loads(run(capsys, "search", "m", *words, "--json").out)


def test_a_csv_file_is_fitted_and_searched_with_filters(shop, capsys, caplog):
    run(capsys, "fit", "shop.csv", "-o", "m", "--method", "bm25")
    assert "shop.csv: text: description; title: name; id: sku" in caplog.text
    found = search(capsys, "red shoe", "--filter", "color = red and price < 13", "-k", "30")
    assert {hit["fields"]["color"] for hit in found["hits"]} == {"red"}
    assert {hit["id"] for hit in found["hits"]} == {"p00", "p03", "p06", "p09", "p12"}
    assert "light" in {hit["fields"]["bullets"] for hit in found["hits"]}
    sorted_ = search(capsys, "shoe", "--sort=-price", "--offset", "1", "-k", "2", "--facet", "color")
    assert [hit["id"] for hit in sorted_["hits"]] == ["p16", "p12"]
    assert [hit["rank"] for hit in sorted_["hits"]] == [2, 3]
    assert sorted_["total"] == 6
    assert sorted_["facets"]["color"] == [{"value": c, "count": 2} for c in ("blue", "green", "red")]
    grouped = search(capsys, "shoe", "--group", "color")
    assert sorted(hit["fields"]["color"] for hit in grouped["hits"]) == ["blue", "green", "red"]
    shown = run(capsys, "search", "m", "shoe", "--no-snippets", "--facet", "color").out
    assert "price: 0.5" in shown
    assert "color: blue (2), green (2), red (2)" in shown
    for words, message in (
        (["--filter", "colour = red"], "did you mean 'color'"),
        (["--filter", "price <"], "filter ends after 'price <', want a value"),
        (["--facet", "weight"], "facet is 'weight', want one of"),
    ):
        error = run(capsys, "search", "m", "shoe", *words, code=2).err
        assert message in error
        assert error.count("\n") == 1


def test_named_columns_encodings_and_tables(shop, capsys, caplog):
    content = (shop / "shop.csv").read_text(encoding="utf-8-sig").replace("coat", "Mäntel")
    (shop / "latin.csv").write_bytes(content.encode("latin-1"))
    error = run(capsys, "fit", "latin.csv", "-o", "m", code=1).err
    assert "latin.csv:3: this text is not UTF-8 but probably latin-1" in error
    named = ["--encoding", "latin-1", "--title", "sku", "--id", "sku", "--text", "name,bullets"]
    run(capsys, "fit", "latin.csv", "-o", "m", "--method", "tfidf", *named)
    documents = Searcher.load("m").documents_
    assert documents[1].text == "blue winter Mäntel\nlight"
    assert list(documents.extras) == ["description", "price", "stock", "color"]
    assert (
        "no column 'nope' (columns: sku, name" in run(capsys, "fit", "shop.csv", "-o", "m", "--id", "nope", code=1).err
    )
    with sqlite3.connect("shop.db") as database:
        database.execute("CREATE TABLE items (id INTEGER, title TEXT, body TEXT)")
        database.execute("CREATE TABLE other (x INTEGER)")
        database.executemany("INSERT INTO items VALUES (?, ?, ?)", [(n, f"t{n}", f"word{n} more") for n in range(5)])
    database.close()
    assert "choose one with --table" in run(capsys, "fit", "shop.db", "-o", "m", code=1).err
    run(capsys, "fit", "shop.db", "--table", "items", "-o", "m", "--method", "tfidf")
    assert search(capsys, "word3")["hits"][0]["id"] == "3"


def test_fields_of_added_documents(shop, capsys):
    run(capsys, "fit", "shop.csv", "-o", "m", "--method", "bm25")
    (shop / "new.csv").write_text("code,name,description,price\nn1,red shoe,new,1\n")
    run(capsys, "add", "m", "new.csv", "--id", "code")
    assert [hit["id"] for hit in search(capsys, "shoe", "--filter", "price = 1")["hits"]] == ["n1"]


def test_a_spreadsheet_with_the_texts_of_queries_goes_through_the_store(shop, capsys):
    rows = [
        ("red running shoe", "p00", 2),
        ("red running shoe", "p01", 0),
        ("hat", "p02", 1),
        ("winter coat", "p01", 1),
    ]
    (shop / "judged.csv").write_text("query;product_id;relevance\n" + "".join(f"{q};{d};{g}\n" for q, d, g in rows))
    out = run(capsys, "judgments", "import", "s", "judged.csv", "--judge", "ann")
    assert "4 judgments read, 4 new" in out.err
    assert "4 judgments read, 0 new" in run(capsys, "judgments", "import", "s", "judged.csv", "--judge", "ann").err
    run(capsys, "judgments", "export", "s", "-o", "qrels.txt", "--queries", "queries.jsonl")
    written = [json.loads(line) for line in (shop / "queries.jsonl").read_text().splitlines()]
    texts = {query["id"]: query["text"] for query in written}
    exported = [line.split() for line in (shop / "qrels.txt").read_text().splitlines()]
    assert sorted((texts[q], d, int(g)) for q, _, d, g in exported) == sorted(rows)
    run(capsys, "judgments", "export", "s", "--to", "csv", "-o", "all.csv")
    run(capsys, "judgments", "import", "s2", "all.csv")
    again = run(capsys, "judgments", "export", "s2").out.splitlines()
    assert sorted(map(str.split, again)) == sorted(exported)


def test_fit_reads_stores_and_spreadsheets(shop, capsys):
    rows = [(f"{COLORS[n % 3]} {WORDS[n % 4]}", f"p{n:02d}", 1) for n in range(12)]
    (shop / "judged.csv").write_text("query,document,grade\n" + "".join(f"{q},{d},{g}\n" for q, d, g in rows))
    run(capsys, "judgments", "import", "s", "judged.csv")
    queries = [{"id": f"q{n}", "text": text} for n, text in enumerate(dict.fromkeys(row[0] for row in rows))]
    (shop / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in queries))
    found = {}
    for name, words in {
        "file": ["--qrels", "judged.csv"],
        "store": ["--qrels", "s"],
        "file and queries": ["--qrels", "judged.csv", "--queries", "queries.jsonl"],
        "store and queries": ["--qrels", "s", "--queries", "queries.jsonl"],
    }.items():
        run(capsys, "fit", "shop.csv", "-o", "m", "--method", "ssi-uv", "--dim", "4", *words)
        searcher = Searcher.load("m")
        found[name] = (searcher.n_pairs_, tuple(searcher.trained_on_))
    assert len(set(found.values())) == 1, found
    assert found["file"][0] == 12
    (shop / "qrels.txt").write_text("q0 0 p00 1\n")
    assert "--qrels needs --queries" in run(capsys, "fit", "shop.csv", "-o", "m", "--qrels", "qrels.txt", code=2).err


def test_clicks_of_a_csv_file(shop, capsys):
    (shop / "clicks.csv").write_text("search_term,product_id,clicks\nred shoe,p00,5\nwinter coat,p01,2\n")
    run(capsys, "fit", "shop.csv", "--clicks", "clicks.csv", "-o", "m")
    assert Searcher.load("m").n_pairs_ == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "k1=" + "[" * 100_000], "the value of k1 is nested too deep"),
        (["--seed", str(10**30)], "whole number"),
        (["--encoding", "rot13"], "encoding is 'rot13', want the name of one"),
        (["--judge", "ann"], "--judge and --merge choose among the judges of --qrels"),
    ],
)
def test_wrong_use(shop, capsys, words, message):
    assert message in run(capsys, "fit", "shop.csv", "-o", "m", *words, code=2).err
