"""Words that are added to queries, and completions of what is typed."""

import numpy as np
import pytest

from tacit.app.main import main
from tacit.core import Collection, DataError
from tacit.search import Searcher, load
from tacit.search.query.suggestions import Completions
from tacit.search.query.synonyms import read_synonyms

DOCS = Collection(
    ["a", "b", "c", "d"],
    ["Searching", "Red shoes", "Herr Müller", "Matrix"],
    [
        "how to search, and find searched things",
        "shoes for running, not sneakers",
        "Müller trinkt im Café",
        "computing the pseudo inverse of a matrix by computers",
    ],
)


@pytest.fixture(scope="module", params=["bm25", "blend", "tfidf"])
def searcher(request):
    return Searcher(request.param, language="en").fit(DOCS)


def test_a_typo_is_corrected_offered_and_explained(searcher):
    hits = searcher.search("serching the matrx")
    assert hits.suggestion == "searching the matrix"
    assert {str(word) for word in hits.added} == {"serching -> searching", "matrx -> matrix"}
    assert {hit.id for hit in hits} >= {"a", "d"}
    json = hits.to_json()
    assert json["did_you_mean"] == "searching the matrix"
    assert {"typed": "matrx", "used": "matrix", "kind": "spelling", "weight": 0.5} in json["added"]
    reasons = searcher.explain("matrx", "d")
    assert reasons[0].query_word == "matrx -> matrix"
    assert sum(reason.value for reason in reasons) == pytest.approx(searcher.search("matrx")[0].score, rel=1e-4)
    assert "did you mean: searching the matrix" in repr(hits)


def test_a_corrected_word_counts_less_than_a_typed_one():
    searcher = Searcher("bm25", language="en").fit(DOCS)
    assert searcher.search("matrx")[0].score == pytest.approx(searcher.search("matrix")[0].score / 2)


def test_known_words_are_searched_as_they_are(searcher):
    for query in ("matrix of shoes", "find the inverse", "Müller"):
        hits = searcher.search(query)
        assert (hits.suggestion, hits.added) == (None, ())
        plain = searcher.rank(Collection(["q"], [""], [query]), 4)
        assert [hit.id for hit in hits] == [DOCS.ids[row] for row in plain.items[0][: len(hits)]]
        np.testing.assert_array_equal([hit.score for hit in hits], plain.scores[0][: len(hits)])


def test_the_suggestion_keeps_the_syntax(searcher):
    hits = searcher.search('"pseudo invers" matrx -sparse')
    assert hits.suggestion.endswith("matrix -sparse")


def test_accents_fold(searcher):
    assert searcher.search("muller")[0].id == "c"
    hits = searcher.search("cafe")
    assert hits[0].id == "c"
    assert hits.added[0].kind == "accents"
    reverse = Searcher("bm25", language="en").fit(Collection(["x"], [""], ["Muller and cafe"]))
    assert reverse.search("Müller")[0].id == "x"


SHOP = [
    {"id": "phones", "name": "Headphones WH-1000XM4", "brand": "Sony", "price": 278},
    {"id": "weight", "name": "Dumbbell 16 kg", "brand": "Wüst & Co", "price": 40},
    {"id": "bottle", "name": "Bottle 750ml", "brand": "Nike", "price": 12},
    {"id": "baby", "name": "Baby bottle 250 ml", "brand": "Avent", "price": 8},
    {"id": "bike", "name": "Bike helmet", "brand": "Trek", "price": 50, "tags": ["city tour", "red"]},
    {"id": "shoe", "name": "Running shoe", "brand": "Nike", "price": 89},
    {"id": "paste", "name": "Tooth paste", "brand": "Oral", "price": 2},
]


@pytest.fixture(scope="module", params=["bm25", "blend"])
def shop(request):
    return Searcher(request.param, language="en").fit(SHOP)


@pytest.mark.parametrize(
    ("query", "first", "added", "suggestion"),
    [
        ("head phones", "phones", "head phones -> headphones", None),
        ("wh1000xm4", "phones", "wh1000xm4 -> wh 1000xm4", "wh 1000xm4"),
        ("16kg", "weight", "16kg -> 16 kg", "16 kg"),
        ("750 ml", "bottle", "750 ml -> 750ml", None),
        ("toothpaste", "paste", "toothpaste -> tooth paste", "tooth paste"),
    ],
)
def test_spaces_and_hyphens_do_not_hide_a_product(shop, query, first, added, suggestion):
    hits = shop.search(query)
    assert hits[0].id == first
    assert ({str(word) for word in hits.added}, hits.suggestion) == ({added}, suggestion)
    reasons = shop.explain(query, first)
    assert sum(reason.value for reason in reasons) == pytest.approx(hits[0].score, rel=1e-4)


def test_short_or_unknown_parts_are_not_split(shop):
    for query in ("bikeling", "16x", "x7", "helmetx9"):
        assert all(word.kind != "spacing" for word in shop.search(query).added), query


def test_a_word_that_only_fields_have_finds_the_documents_with_it(shop):
    for query in ("nike", "NIKE", "brand:nike"):
        assert {hit.id for hit in shop.search(query)} == {"bottle", "shoe"}, query
    hits = shop.search("nike shoe")
    assert hits[0].id == "shoe"
    assert [str(word) for word in hits.added] == ["nike -> brand:nike"]  # no typo of bike
    assert hits.suggestion is None
    assert [hit.id for hit in shop.search("wust")] == ["weight"]  # accents fold
    assert [hit.id for hit in shop.search("red", filter="price < 60")] == ["bike"]
    assert not shop.search("red", filter="price > 60")
    assert shop.explain("nike shoe", "shoe")[0].query_word == "shoe"
    assert not any(word.kind == "field" for word in shop.search("which running shoe does nike make").added)
    one = Searcher("bm25", language="en").fit(SHOP).remove(["bottle", "shoe"])
    assert not one.search("nike").added or one.search("nike").added[0].kind == "spelling"


def test_prefixes_are_searched(searcher):
    hits = searcher.search("computi*")
    assert hits[0].id == "d"
    assert searcher.search("zzz*") == []


def test_titles_are_marked():
    hit = Searcher("blend", language="en").fit(DOCS).search("red shoe")[0]
    assert [hit.title[start:end] for start, end in hit.title_matches] == ["Red", "shoes"]
    assert hit.to_json()["title_matches"] == [[0, 3], [4, 9]]


def test_synonyms_are_applied_saved_and_loaded(tmp_path):
    lines = ["# shop", "sneakers, trainers, gym shoes", "", "array => matrix", "foo\\, bar => shoes"]
    (tmp_path / "synonyms.txt").write_text("\n".join(lines), "utf-8")
    for given in (tmp_path / "synonyms.txt", lines):
        searcher = Searcher("bm25", language="en", synonyms=given).fit(DOCS)
        hits = searcher.search("trainers")
        assert hits[0].id == "b"
        assert [str(word) for word in hits.added] == [
            "trainers -> sneakers", "trainers -> gym shoes"]  # fmt: skip
        assert searcher.search("array")[0].score == searcher.search("matrix")[0].score
        assert searcher.search("gym shoes").added[0].used == "sneakers"
        assert searcher.search("array").suggestion is None
        assert searcher.search("foo, bar")[0].id == "b"
    searcher.save(tmp_path / "m")
    (tmp_path / "synonyms.txt").unlink()
    again = load(tmp_path / "m")
    assert again.search("trainers") == hits
    assert again.synonyms == ["sneakers, trainers, gym shoes", "array => matrix", "foo\\, bar => shoes"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a, b\nalone\n", r"s.txt:2: found 'alone', want at least two words"),
        ("a, , b\n", r"s.txt:1: found nothing in a place of 'a, , b'"),
        ("a => b => c\n", r"s.txt:1: found => 2 times"),
        ("a =>\n", r"s.txt:1: found nothing"),
    ],
)
def test_wrong_synonyms_name_file_and_line(tmp_path, text, problem, capsys):
    path = tmp_path / "s.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match=problem):
        read_synonyms(path)
    (tmp_path / "d.jsonl").write_text('{"id": "a", "text": "b"}\n', "utf-8")
    assert main(["fit", str(tmp_path / "d.jsonl"), "--synonyms", str(path), "-o", str(tmp_path / "m")]) != 0
    assert "s.txt:" in capsys.readouterr().err


def test_fit_with_synonyms_and_search_on_the_command_line(tmp_path, capsys):
    (tmp_path / "s.txt").write_text("trainers, shoes\n", "utf-8")
    (tmp_path / "d.jsonl").write_text('{"id": "a", "title": "Red shoes", "text": "soft"}\n' * 1, "utf-8")
    model = str(tmp_path / "m")
    assert main(["fit", str(tmp_path / "d.jsonl"), "--synonyms", str(tmp_path / "s.txt"), "-o", model]) == 0
    capsys.readouterr()
    assert main(["search", model, "trainers sopft"]) == 0
    out = capsys.readouterr().out
    assert "did you mean: trainers soft" in out
    assert "searched as well: trainers -> shoes (synonym), sopft -> soft" in out
    assert "Red shoes" in out


def test_completions_are_those_of_brute_force():
    rng = np.random.default_rng(1)
    words = ["Red", "réd", "shoe", "Shoes", "shiny", "boot", "re"]
    titles = [" ".join(rng.choice(words, rng.integers(1, 6))) for _ in range(300)]
    queries = [" ".join(rng.choice(words, 2)) for _ in range(10)]
    found = Completions(titles, queries)

    def plain(text):
        return text.lower().replace("é", "e")

    def slow(prefix, k):
        best = []
        seen = list(dict.fromkeys([*queries, *titles]))
        for row, text in enumerate(seen):
            starts = [" ".join(plain(text).split()[at:]) for at in range(min(4, len(text.split())))]
            at = next((at for at, start in enumerate(starts) if start.startswith(prefix)), None)
            if at is not None:
                best.append((text not in queries, at > 0, len(text), row, text))
        return [text for *_, text in sorted(best)[:k]]

    for prefix in ("r", "re", "red s", "sh", "boot", "x", "shoes re"):
        for k in (1, 5, 50):
            assert found.find(prefix, k) == slow(prefix, k), (prefix, k)
    assert found.find("  ") == []


def test_suggest_follows_the_documents():
    searcher = Searcher("bm25").fit(DOCS)
    assert searcher.suggest("mull") == ["Herr Müller"]
    searcher.add(Collection(["e"], ["Mulligan"], ["again"]))
    assert searcher.suggest("mull") == ["Mulligan", "Herr Müller"]


@pytest.mark.parametrize(("language", "word"), [("en", "tell"), ("de", "bitte")])
def test_words_without_content_are_no_typos(language, word):
    texts = {"en": ["a tall cell", "the bell"], "de": ["in der Mitte", "zur Hütte"]}[language]
    searcher = Searcher("bm25", language=language).fit(texts)
    assert searcher.search(word).added == ()
