"""Each input format with a real file, made by the library that owns the format where there is one."""

import csv
import gzip
import json
import sqlite3
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest

from tacit.core import DataError, UsageError
from tacit.data import read_collection, read_queries

PRODUCTS = [
    {"sku": "a-1", "name": "Red shoe", "description": 'He said "run",\nand they ran; fast', "price": 49.5,
     "in_stock": True, "added": "2024-05-01", "category": "shoes"},
    {"sku": "a-2", "name": "Blue hat", "description": "Größe M, für Köpfe", "price": 12.0, "in_stock": False,
     "added": "2023-12-31", "category": "hats"},
    {"sku": "007", "name": "Grey coat", "description": "warm", "price": None, "in_stock": True, "added": None,
     "category": "coats"},
]  # fmt: skip


def check(docs, *, ids=("a-1", "a-2", "007")):
    """The three products, however they were stored."""
    assert list(docs.ids) == list(ids)
    assert list(docs.titles) == ["Red shoe", "Blue hat", "Grey coat"]
    assert list(docs.texts) == [product["description"] for product in PRODUCTS]
    kinds = {name: column.kind for name, column in docs.extras.items()}
    assert kinds == {"price": "number", "in_stock": "boolean", "added": "date", "category": "keyword"}
    assert list(docs.extras["price"]) == [49.5, 12.0, None]
    assert list(docs.extras["in_stock"]) == [True, False, True]
    assert list(docs.extras["added"]) == ["2024-05-01", "2023-12-31", None]
    assert list(docs.extras["category"]) == ["shoes", "hats", "coats"]


def write_csv(path, *, delimiter=",", encoding="utf-8", terminator="\r\n"):
    with open(path, "w", encoding=encoding, newline="") as out:
        writer = csv.DictWriter(out, list(PRODUCTS[0]), delimiter=delimiter, lineterminator=terminator)
        writer.writeheader()
        writer.writerows(PRODUCTS)
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_csv(tmp_path, delimiter, encoding, caplog):
    path = write_csv(tmp_path / "products.csv", delimiter=delimiter, encoding=encoding)
    check(read_collection(path))
    assert caplog.messages == [f"{path}: text: description; title: name; id: sku"]


def test_csv_of_a_spreadsheet_names_its_delimiter(tmp_path):
    path = write_csv(tmp_path / "products.csv", delimiter=";")
    path.write_text("sep=;\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    check(read_collection(path))


def test_tsv_by_pandas_with_line_breaks_in_quotes(tmp_path):
    frame = pd.DataFrame(
        {
            "id": ["a", "b", "c"],
            "title": ["one", 'a "quoted"\nsecond line', "three"],
            "text": ["first\nsecond", 'says "no"', "last\n\ncell"],
        }
    )
    frame.to_csv(tmp_path / "docs.tsv", sep="\t", index=False)
    found = read_collection(tmp_path / "docs.tsv")
    assert (found.titles, list(found.texts)) == (list(frame["title"]), list(frame["text"]))
    frame.iloc[:, ::-1].to_csv(tmp_path / "turned.tsv", sep="\t", index=False)
    assert list(read_collection(tmp_path / "turned.tsv").texts) == list(frame["text"])


def test_tsv_with_tabs_in_quotes(tmp_path):
    rows = [
        ("a", 'tab\there, "quoted"', "x"),
        ("b", "two\nlines\tand\ttabs", "y"),
        ("c", '5" disk', "\tz\n"),
        ("d", "", "w"),
    ]
    with (tmp_path / "docs.tsv").open("w", newline="") as file:
        csv.writer(file, "excel-tab").writerows([("id", "title", "text"), *rows])
    found = read_collection(tmp_path / "docs.tsv")
    assert [(document.id, document.title, document.text) for document in found] == rows


def test_quotation_marks_in_a_tsv_that_is_not_quoted_are_text(tmp_path):
    path = tmp_path / "docs.tsv"
    path.write_text('id\ttitle\ttext\na\t"Hi\t"he said\nb\ttwo\t5" disk\nc\tx\t"open\n')
    found = read_collection(path)
    assert found.titles == ['"Hi', "two", "x"]
    assert list(found.texts) == ['"he said', '5" disk', '"open']
    path.write_text('id\ttitle\ttext\na\t"open\nb\ttwo\tthree\n')
    with pytest.raises(DataError, match=r"docs\.tsv:2: a quotation mark opens a cell and is never closed"):
        read_collection(path)


def test_csv_by_pandas_and_compressed(tmp_path):
    pd.DataFrame(PRODUCTS).to_csv(tmp_path / "products.csv.gz", index=False)
    check(read_collection(tmp_path / "products.csv.gz"))


def test_numbers_with_a_decimal_comma_between_semicolons(tmp_path):
    path = tmp_path / "preise.csv"
    path.write_text("id;name;price;size\n1;Shoe;89,50;4,5\n2;Boot;1.299,00;7,M\n3;Lace;;\n", encoding="utf-8-sig")
    found = read_collection(path).extras
    assert list(found["price"]) == [89.5, 1299.0, None]
    assert found["size"].kind == "keyword"
    path.write_text('id,name,price\n1,Shoe,"89,50"\n')  # between commas it may be a thousands separator
    assert read_collection(path).extras["price"].kind == "keyword"


def test_csv_in_latin_1_needs_its_name(tmp_path):
    path = write_csv(tmp_path / "products.csv", encoding="latin-1")
    with pytest.raises(DataError, match=r"products\.csv:4: this text is .* probably latin-1 \(.*ö.*\): --encoding"):
        read_collection(path)
    check(read_collection(path, encoding="latin-1"))
    with pytest.raises(UsageError, match="encoding is 'rot13', want the name of one"):
        read_collection(path, encoding="rot13")
    with pytest.raises(DataError, match=r"products\.csv:1: .* in the encoding utf-16"):
        read_collection(path, encoding="utf-16")


def test_columns_that_are_named(tmp_path, caplog):
    path = tmp_path / "goods.csv"
    path.write_text("sku,alias,name,bullets,price\n1,x,Shoe,runs,3\n2,y,Hat,sits,4\n")
    docs = read_collection(path, id="alias", title="sku", text="name,bullets")
    assert [*docs[0]] == ["x", "1", "Shoe\nruns"]
    assert list(docs.extras) == ["price"]
    with pytest.raises(DataError, match=r"no column 'title' \(columns: sku, alias, name, bullets, price\)"):
        read_collection(path, title="title")


def test_a_table_whose_text_has_no_known_name(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("alpha,beta\na,b b\nlonger title,b\nb,the longest of all the texts\n")
    with pytest.raises(DataError, match=r"like title or text \(columns: alpha, beta\); use --text beta"):
        read_collection(path)
    path.write_text("sku,beta\na,b\n")
    assert [*read_collection(path)[0]] == ["a", "", "b"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,text\na,b,c\n", r":2: 3 columns, want 2 as in the header \(id, text\)"),
        ('id,text\na,"b\n', ":2: is not CSV: unexpected end of data"),
        ("id,id\na,b\n", ":1: the header has the column 'id' twice"),
        ("id,text\n", "has no documents"),
        ("", "has no documents"),
        ('id,text\na,"x\ny"\na,z\n', ":4: id 'a' is already in line 2"),
    ],
)
def test_mistakes_in_csv(tmp_path, content, message):
    path = tmp_path / "docs.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        read_collection(path)


def test_tsv_with_a_header(tmp_path):
    path = tmp_path / "docs.tsv"
    path.write_text('\ufeffsku\tname\tdescription\tprice\n1\tShoe\t"runs\t3.5\n2\tHat\tsits\t\n', encoding="utf-8")
    docs = read_collection(path)
    assert [tuple(document) for document in docs] == [("1", "Shoe", '"runs'), ("2", "Hat", "sits")]
    assert list(docs.extras["price"]) == [3.5, None]
    pd.DataFrame({"id": ["a"], "text": ['say "hi"'], "n": [2]}).to_csv(path, sep="\t", index=False)
    assert [*read_collection(path)[0]] == ["a", "", 'say "hi"']


def test_json_arrays(tmp_path):
    for name, indent in (("docs.json", None), ("docs.json", 2), ("docs", 1)):
        path = tmp_path / name
        path.write_text(json.dumps(PRODUCTS, indent=indent))
        check(read_collection(path))
    (tmp_path / "docs.json").write_text(json.dumps({"total": 3, "data": PRODUCTS}, indent=2))
    check(read_collection(tmp_path / "docs.json"))
    pd.DataFrame(PRODUCTS).to_json(tmp_path / "pandas.json", orient="records")
    check(read_collection(tmp_path / "pandas.json"))
    pd.DataFrame(PRODUCTS)[::-1].to_json(tmp_path / "pandas.json")
    assert read_collection(tmp_path / "pandas.json").ids == ["007", "a-2", "a-1"]
    by_id = {product["sku"]: {name: value for name, value in product.items() if name != "sku"} for product in PRODUCTS}
    for indent in (None, 2):
        (tmp_path / "docs.json").write_text(json.dumps(by_id, indent=indent))
        check(read_collection(tmp_path / "docs.json"))


def test_a_long_array_is_read_element_by_element(tmp_path):
    rows = [{"id": number, "text": "word " * (number % 5000)} for number in range(3000)]
    path = tmp_path / "docs.json"
    path.write_text(json.dumps(rows, indent=1))
    docs = read_collection(path)
    assert docs.ids == [str(number) for number in range(3000)]
    assert docs.texts == [row["text"] for row in rows]
    assert path.stat().st_size > 20_000_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"id": 1, "text": "x"}, 3]', ":1: a number, want an object"),
        ('[{"id": 1, "text": "x"},\n{"id": 2 "text"}]', ":2: not JSON: Expecting ',' delimiter at column 10"),
        ('[{"id": 1, "text": "x"},\n{"id": 2', ":2: not JSON"),
        ('[{"id": 1, "text": "x"}', ":1: not JSON: Expecting value"),
        ("[" * 5000, "too deep a nesting|want an object"),
        ('[{"id": 1, "text": "x", "text": "y"}]', "the key 'text' occurs twice"),
    ],
)
def test_mistakes_in_json_arrays(tmp_path, content, message):
    path = tmp_path / "docs.json"
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        read_collection(path)


def test_json_lines_without_ids_are_numbered_and_that_is_said_once(tmp_path, caplog):
    path = tmp_path / "docs.jsonl"
    path.write_text('{"text": "x"}\n{"text": "y"}\n')
    assert read_collection(path).ids == ["0", "1"]
    assert caplog.messages == [f"{path}: text: text", f"{path}: no column is an id: documents are numbered from 0"]


def test_lines_of_json_with_the_suffix_json(tmp_path):
    path = tmp_path / "docs.json"
    path.write_text("".join(json.dumps(product) + "\n" for product in PRODUCTS))
    check(read_collection(path))
    path.write_text(json.dumps(PRODUCTS[0]) + "\n")
    assert read_collection(path).ids == ["a-1"]


def test_bulk_files_and_hits_of_elasticsearch(tmp_path):
    bodies = [{key: value for key, value in product.items() if key != "sku"} for product in PRODUCTS]
    bulk = tmp_path / "bulk.ndjson"
    actions = [{"index": {"_index": "p", "_id": product["sku"]}} for product in PRODUCTS]
    lines = [json.dumps(line) for pair in zip(actions, bodies, strict=True) for line in pair]
    bulk.write_text("\n".join([*lines, json.dumps({"delete": {"_id": "x"}})]) + "\n")
    check(read_collection(bulk))
    named = zip(PRODUCTS, bodies, strict=True)
    hits = [{"_index": "p", "_id": product["sku"], "_score": 1.0, "_source": body} for product, body in named]
    (tmp_path / "dump.jsonl").write_text("".join(json.dumps(hit) + "\n" for hit in hits))
    check(read_collection(tmp_path / "dump.jsonl"))
    answer = {"took": 3, "hits": {"total": {"value": 3}, "hits": hits}}
    for indent in (None, 2):
        (tmp_path / "answer.json").write_text(json.dumps(answer, indent=indent))
        check(read_collection(tmp_path / "answer.json"))
    bulk.write_text('{"update": {"_id": "a"}}\n{"doc": {"text": "x"}}\n{"text": "y"}\n')
    with pytest.raises(DataError, match=r"bulk\.ndjson:3: is not index, create, update or delete"):
        read_collection(bulk)


def typed():
    return pa.Table.from_pylist(PRODUCTS)


def test_parquet_and_arrow(tmp_path):
    pa.parquet.write_table(typed(), tmp_path / "docs.parquet")
    check(read_collection(tmp_path / "docs.parquet"))
    (tmp_path / "anything").write_bytes((tmp_path / "docs.parquet").read_bytes())
    check(read_collection(tmp_path / "anything"))
    (tmp_path / "docs.parquet.gz").write_bytes(gzip.compress((tmp_path / "docs.parquet").read_bytes()))
    check(read_collection(tmp_path / "docs.parquet.gz"))
    pl.DataFrame(PRODUCTS).write_parquet(tmp_path / "polars.parquet")
    check(read_collection(tmp_path / "polars.parquet"))
    pa.feather.write_feather(typed(), tmp_path / "docs.feather")
    check(read_collection(tmp_path / "docs.feather"))
    with pa.ipc.new_stream(tmp_path / "data.arrow", typed().schema) as out:
        out.write_table(typed())
    check(read_collection(tmp_path / "data.arrow"))


def test_damaged_parquet_is_one_line(tmp_path):
    path = tmp_path / "docs.parquet"
    pa.parquet.write_table(typed(), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"docs\.parquet: the parquet file cannot be read"):
        read_collection(path)
    path.write_text("id,text\n")
    with pytest.raises(DataError, match=r"the suffix is \.parquet, but the content is not parquet"):
        read_collection(path)


def test_without_pyarrow_the_file_is_named(tmp_path, monkeypatch):
    path = tmp_path / "docs.parquet"
    pa.parquet.write_table(typed(), path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"this is a parquet file, and reading it needs the package pyarrow: pip"):
        read_collection(path)


def test_sqlite(tmp_path):
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as database:
        pd.DataFrame(PRODUCTS).astype({"in_stock": object}).to_sql("products", database, index=False)
    database.close()
    docs = read_collection(path)
    assert list(docs.ids) == ["a-1", "a-2", "007"]
    assert list(docs.extras["price"]) == [49.5, 12.0, None]
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE orders (id INTEGER, text TEXT)")
        database.execute("INSERT INTO orders VALUES (7, 'two hats')")
    database.close()
    with pytest.raises(DataError, match=r"SQLite database with the tables orders, products; choose one with --table"):
        read_collection(path)
    assert [*read_collection(path, table="orders")[0]] == ["7", "", "two hats"]
    with pytest.raises(DataError, match=r"has no table 'x', only orders, products"):
        read_collection(path, table="x")
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(DataError, match=r"shop\.db: the SQLite database cannot be read"):
        read_collection(path, table="orders")


def test_a_folder_of_texts(tmp_path, caplog):
    (tmp_path / "guide").mkdir()
    (tmp_path / "guide" / "cats.md").write_text("---\ntags: x\n---\nIntro.\n\n# Cats #\n\nThey *purr*.\n")
    (tmp_path / "guide" / "dogs.md").write_text('---\ntitle: "Dogs"\n---\n# Other\n')
    (tmp_path / "birds.rst").write_text("Birds\n=====\n\nThey sing.\n")
    (tmp_path / "fish.html").write_text(
        "<!doctype html><html><head><title>Site</title><style>p{}</style><body><nav>Home</nav>"
        "<h1>Fish &amp; <i>co</i></h1><p>They swim.<script>var x</script><p>Deep"
    )
    (tmp_path / "page.htm").write_text("<title>Only a title</title><p>text")
    (tmp_path / "plain.txt").write_bytes("Größe".encode("utf-16"))
    (tmp_path / "photo.png").write_bytes(b"\x89PNG")
    (tmp_path / ".hidden.txt").write_text("x")
    docs = read_collection(tmp_path)
    assert [tuple(document) for document in docs] == [
        ("birds.rst", "Birds", "They sing."),
        ("fish.html", "Fish & co", "Home\nThey swim.\nDeep"),
        ("guide/cats.md", "Cats", "Intro.\n\n\nThey *purr*."),
        ("guide/dogs.md", "Dogs", "# Other"),
        ("page.htm", "Only a title", "text"),
        ("plain.txt", "", "Größe"),
    ]
    assert caplog.messages == [f"{tmp_path}: left out: 1 other file (.png 1)"]
    (tmp_path / "plain.txt").write_bytes(b"\xe4")
    with pytest.raises(DataError, match=r"plain\.txt:1: this text is not UTF-8 but probably latin-1 \('ä'\)"):
        read_collection(tmp_path)
    assert read_collection(tmp_path, encoding="latin-1").texts[-1] == "ä"
    (tmp_path / "plain.txt").write_bytes("Größe".encode("utf-16"))  # its mark is surer than the option
    assert read_collection(tmp_path, encoding="latin-1").texts[-1] == "Größe"


def test_folders_of_hugging_face(tmp_path):
    corpus = [{"_id": f"d{n}", "title": f"T{n}", "text": f"text {n}"} for n in range(6)]
    for part in range(2):
        (tmp_path / "corpus").mkdir(exist_ok=True)
        table = pa.Table.from_pylist(corpus[3 * part : 3 * part + 3])
        pa.parquet.write_table(table, tmp_path / "corpus" / f"corpus-0000{part}-of-00002.parquet")
    (tmp_path / "queries").mkdir()
    pa.parquet.write_table(
        pa.Table.from_pylist([{"_id": "q1", "text": "x y"}]), tmp_path / "queries" / "queries-00000-of-00001.parquet"
    )
    assert read_collection(tmp_path).ids == [f"d{n}" for n in range(6)]
    assert [tuple(query) for query in read_queries(tmp_path)] == [("q1", "", "x y")]


def test_a_dataset_saved_to_disk(tmp_path):
    with pa.ipc.new_stream(tmp_path / "data-00000-of-00001.arrow", typed().schema) as out:
        out.write_table(typed())
    (tmp_path / "dataset_info.json").write_text("{}")
    (tmp_path / "state.json").write_text("{}")
    check(read_collection(tmp_path))
    (tmp_path / "more.csv").write_text("id,text\na,b\n")
    with pytest.raises(DataError, match=r"tables in several formats \(\.arrow, \.csv\); give the path of one file"):
        read_collection(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("queries.csv", "query_id,query\nq1,red shoes\n"),
        ("queries.jsonl", '{"qid": "q1", "query": "red shoes"}\n'),
        ("queries.json", '[{"query_id": "q1", "query_text": "red shoes"}]'),
        ("queries.tsv", "q1\tred shoes\n"),
    ],
)
def test_queries(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content)
    assert [tuple(query) for query in read_queries(path)] == [("q1", "", "red shoes")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"%PDF-1.7\n\xa0", "this is a PDF"),
        (b"PK\x03\x04\xa0\xa0", "this is a zip archive or an Excel workbook"),
        (b"\x93NUMPY\x01\0", "this is an array of NumPy"),
        (b"\x80\x04\x95\0", "this is a Python pickle"),
        (
            "id,text\na,b\n".encode("utf-16-le"),
            "this is text in UTF-16 without a byte order mark: --encoding utf-16-le",
        ),
        (b"<!DOCTYPE html><p>x", "this is a page of HTML"),
        (b"just words\n", ":1: neither a JSON object nor id<TAB>text"),
    ],
)
def test_a_file_that_cannot_be_read_says_what_it_is(tmp_path, content, message):
    path = tmp_path / "docs"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_collection(path)


def test_nested_fields_are_named_by_path_and_what_cannot_be_kept_is_reported(tmp_path, caplog):
    path = tmp_path / "docs.jsonl"
    path.write_text(
        '{"id": 1, "text": "x", "meta": {"year": 2001, "by": {"name": "\\ud800"}}, "tags": ["a", 2],'
        ' "parts": [{"p": 1}]}\n'
        '{"id": 2, "text": "y", "meta": {}, "big": 123456789012345678901}\n'
    )
    docs = read_collection(path)
    assert docs.extras == {
        "meta.year": [2001, None],
        "meta.by.name": ["\ufffd", None],
        "tags": [["a", "2"], None],
        "big": [None, "123456789012345678901"],
    }
    assert caplog.messages == [f"{path}: left out: 1 field: parts (a value is of type dict)"]


def test_numbers_of_a_csv_file_that_are_missing_or_have_thousands(tmp_path):
    path = tmp_path / "docs.csv"
    path.write_text(
        "id,text,price,stock,sold,size\n"
        '1,a,"1,299.50",4,2024-05-01,"1,500"\n2,b, 9.00 ,NA,NULL,"2,000"\n3,c,N/A,7,,"900"\n'
    )
    fields = read_collection(path).extras
    assert [list(fields[name]) for name in ("price", "stock", "sold")] == [
        [1299.5, 9.0, None],
        [4, None, 7],
        ["2024-05-01", None, None],
    ]
    assert list(fields["size"]) == ["1,500", "2,000", "900"]  # these commas may be decimal ones
    path.write_text("id,text,country\n1,a,NA\n2,b,DE\n")
    assert list(read_collection(path).extras["country"]) == ["NA", "DE"]


def test_json_with_some_numbers_in_quotes(tmp_path):
    path = tmp_path / "docs.json"
    path.write_text(json.dumps([{"id": n, "text": "a", "price": price} for n, price in enumerate([9, "12.5", "N/A"])]))
    assert read_collection(path).extras["price"][:] == [9.0, 12.5, None]


def test_texts_of_nested_objects_are_found(tmp_path, caplog):
    path = tmp_path / "docs.json"
    path.write_text(json.dumps([{"id": 1, "name": "Hat", "details": {"description": "warm", "price": 3}}]))
    docs = read_collection(path)
    assert (docs[0].text, docs.fields(0)) == ("warm", {"details.price": 3})
    assert caplog.messages == [f"{path}: text: details.description; title: name; id: id"]


def test_nanoseconds_are_dates(tmp_path):
    times = pa.array([1700000000123456789], pa.timestamp("ns"))
    pa.parquet.write_table(pa.table({"id": ["a"], "text": ["x"], "seen": times}), tmp_path / "docs.parquet")
    assert read_collection(tmp_path / "docs.parquet").extras["seen"][:] == ["2023-11-14T22:13:20.123456"]


def test_a_dataset_with_a_readme(tmp_path):
    table = pa.table({"id": ["a"], "text": ["x"]})
    (tmp_path / "README.md").write_text("# A dataset")
    (tmp_path / "data").mkdir()
    pa.parquet.write_table(table, tmp_path / "data" / "train-00000-of-00001.parquet")
    assert read_collection(tmp_path)[0].text == "x"


def test_a_folder_of_splits_names_them(tmp_path):
    for split in ("train", "test"):
        (tmp_path / split).mkdir()
        pa.parquet.write_table(pa.table({"text": ["x"]}), tmp_path / split / "data.parquet")
    with pytest.raises(DataError, match="it has tables in test, train: give the path of one of them"):
        read_collection(tmp_path)
    assert len(read_collection(tmp_path / "train")) == 1


def test_pages_in_the_encoding_that_they_declare(tmp_path):
    page = '<html><head><meta charset="iso-8859-1"><title>Café “1”</title></head><body>crème</body></html>'
    (tmp_path / "a.html").write_bytes(page.encode("cp1252"))
    (tmp_path / "b.html").write_text(page.replace("iso-8859-1", "utf-8"), encoding="utf-8")
    assert [(doc.title, doc.text) for doc in read_collection(tmp_path)] == [("Café “1”", "crème")] * 2
    (tmp_path / "a.html").write_bytes(page.replace("iso-8859-1", "no-such").encode("cp1252"))
    with pytest.raises(DataError, match="not UTF-8 but probably cp1252"):
        read_collection(tmp_path)
