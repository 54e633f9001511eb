"""A Japanese question answered with English pages, as a user meets it on the command line."""

import json

import pytest

from tacit.search import Searcher

pytest.importorskip("sudachipy")

TOPICS = {
    "array": ("An array holds elements one after another.", "配列には要素が順に入っています。"),
    "image": ("An image is drawn on the canvas.", "画像をキャンバスに描きます。"),
    "event": ("An event listener waits for a click.", "イベントリスナーはクリックを待ちます。"),
}
COPIES = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("across")
    rows = [(f"{name}{copy}", *texts) for name, texts in TOPICS.items() for copy in range(COPIES)]
    english = [{"id": name, "text": text} for name, text, _ in rows]
    japanese = [{"id": f"ja:{name}", "text": text} for name, _, text in rows]
    for file, lines in (("en.jsonl", english), ("ja.jsonl", japanese)):
        (place / file).write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    (place / "mates.tsv").write_text("".join(f"ja:{name}\t{name}\n" for name, _, _ in rows))
    links = [f"{a}\t{b}\n" for a, *_ in rows for b, *_ in rows if a != b and a[:-1] == b[:-1]]
    (place / "links.tsv").write_text("".join(links))
    return place


@pytest.fixture(autouse=True)
def at_home(monkeypatch, folder):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TACIT_CACHE", str(folder / "cache"))


ACROSS = ("fit", "en.jsonl", "--query-corpus", "ja.jsonl", "--pairs", "mates.tsv", "--query-language", "ja")


@pytest.mark.parametrize(
    ("more", "method"),
    [
        ((), "ssi-cross+cl-lsi"),
        (("--links", "links.tsv"), "ssi-cross-multitask+cl-lsi"),
        (("--method", "ssi-cross"), "ssi-cross"),
        (("--method", "cl-lsi"), "cl-lsi"),
        (("--method", "htr-cross"), "htr-cross"),
    ],
)
def test_a_japanese_question_finds_english_pages(tacit, more, method):
    code, _, err = tacit(*ACROSS, "--language", "en", "--dim", 8, *more, "-o", "model")
    assert code == 0
    assert f"{method} fitted on 18 documents" in err
    found = json.loads(tacit("search", "model", "画像を描く", "--explain", "--json", "-k", 3)[1])
    assert [hit["id"][:-1] for hit in found["hits"]] == ["image"] * 3
    if method == "ssi-cross":  # CL-LSI knows no pairs of words, and HTR says what it learned of the page itself
        reason = max(found["hits"][0]["reasons"], key=lambda reason: reason["value"])
        assert reason["kind"] == "pair"
        assert reason["query_word"] in {"画像", "描く", "キャンバス"}
        assert reason["document_word"] in {"image", "drawn", "canvas", "on", "is", "the"}
        assert found["hits"][0]["matches"]


def test_a_model_knows_the_language_of_each_side(tacit):
    found = [*ACROSS[:-1], "auto", "--method", "cl-lsi", "--dim", 3]
    assert "fitted on 18 documents and 18 pairs, language en, query language ja" in tacit(*found, "-o", "both")[2]
    searcher = Searcher.load("both")
    assert (searcher.vectorizer_.language, searcher.query_vectorizer_.language) == ("en", "ja")
    assert searcher.is_across
    tacit("fit", "ja.jsonl", "--language", "ja", "--method", "tfidf", "-o", "one")
    searcher = Searcher.load("one")
    assert (searcher.vectorizer_.language, searcher.is_across) == ("ja", False)
    assert searcher.search("クリック")[0].id.startswith("ja:event")
    assert searcher.search("クリック")[0].snippet.matches


def test_many_questions_make_a_run(tacit, folder):
    (folder / "q.tsv").write_text("1\t配列の要素\n2\tクリック\n", "utf-8")
    tacit(*ACROSS, "--method", "cl-lsi", "--dim", 3, "-o", "both")
    assert tacit("search", "both", "--queries", "q.tsv", "--run", "all.run", "-k", 2)[0] == 0
    assert [line.split()[2][:-1] for line in (folder / "all.run").read_text().splitlines()] == ["array"] * 2 + [
        "event"
    ] * 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--query-corpus", "ja.jsonl"), "--query-corpus needs --pairs"),
        (("--query-language", "ja"), "--query-language needs --query-corpus"),
        (("--query-corpus", "ja.jsonl", "--pairs", "mates.tsv", "--method", "bm25"), "want one of cl-lsi"),
        (("--query-corpus", "ja.jsonl", "--pairs", "mates.tsv", "--clicks", "c"), "exclude each other"),
        (("--pairs", "mates.tsv"), "needs --queries or --query-corpus"),
        (("--method", "ssi-cross"), "ssi-cross needs the texts of the queries"),
    ],
)
def test_wrong_use_gets_one_line(tacit, words, message):
    code, out, err = tacit("fit", "en.jsonl", *words, "-o", "none")
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_multitask_without_links_is_refused(tacit):
    code, _, err = tacit(*ACROSS, "--method", "ssi-cross-multitask", "-o", "none")
    assert code == 2
    assert "learns from links between the documents" in err
