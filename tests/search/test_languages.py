"""A searcher that finds the language of its documents, and keeps it."""

import argparse
import inspect

import numpy as np
import pytest

from tacit.app.options import add_shared
from tacit.core import Collection, Links, UsageError
from tacit.judge.advise.recommend import advise, fit_recommended
from tacit.search import Searcher
from tacit.search.text_lists import FieldIndex, make_text_lists

GERMAN = Collection(
    ["a", "b"],
    ["Hauskauf", "Gartenarbeit"],
    ["Wer alte Häuser kauft, sollte das Dach genau prüfen.", "Im Frühling werden die Bäume und Hecken geschnitten."],
)
CHINESE = Collection(["a", "b"], ["", ""], ["搜索引擎可以快速找到网页。", "春天的时候，树木需要修剪。"])


def test_the_language_found_decides_stems_and_is_saved(tmp_path):
    searcher = Searcher(language="auto", dim=2).fit(GERMAN)
    assert (searcher.vectorizer_.language, searcher.vectorizer_.stem) == ("de", True)
    searcher.save(tmp_path / "model")
    again = Searcher.load(tmp_path / "model")
    assert (again.language, again.vectorizer_.language) == ("auto", "de")
    assert again.search("geschnittener Baum")[0].id == "b"
    again.add(Collection(["c"], [""], ["Züge fahren pünktlich."]))
    assert again.search("Zug")[0].id == "c"


@pytest.mark.parametrize("language", ["auto", "zh", "any"])
def test_chinese_is_searched_by_characters(language):
    searcher = Searcher(language=language, dim=2).fit(CHINESE)
    assert searcher.vectorizer_.language == {"auto": "zh"}.get(language, language)
    hit = searcher.search("搜索网页")[0]
    assert hit.id == "a"
    assert "*搜索*引擎" in hit.snippet.marked()
    assert "*网页*" in hit.snippet.marked()
    assert searcher.search("树")[0].id == "b"


def test_another_language_of_queries_needs_a_method_with_two_vocabularies():
    with pytest.raises(UsageError, match="blend has one vocabulary, and query_language is 'de'"):
        Searcher(query_language="de")
    Searcher(language="de", query_language="de")


def test_names_are_found_across_languages():
    cities = [
        "Denver",
        "Lisbon",
        "Oslo",
        "Quito",
        "Riga",
        "Turin",
        "Vienna",
        "Zagreb",
        "Accra",
        "Hanoi",
        "Lima",
        "Sofia",
    ]
    documents = Collection(
        cities, [""] * 12, [f"The museum of {city} opened in {1900 + row}." for row, city in enumerate(cities)]
    )
    texts = Collection(cities[:10], [""] * 10, [f"Das Museum von {city} wurde eröffnet." for city in cities[:10]])
    pairs = Links(np.arange(10), np.arange(10), 10, 12)
    searcher = Searcher("ssi-cross+cl-lsi", query_language="de", dim=4).fit(documents, queries=texts, pairs=pairs)
    assert (searcher.vectorizer_.stem, searcher.query_vectorizer_.stem) == (True, True)
    assert searcher.search("Riga")[0].id == "Riga"
    assert ("word", "riga", "riga") in [reason[:3] for reason in searcher.explain("Riga", "Riga")]


def test_german_texts_read_as_english_miss_the_plural():
    assert not Searcher("bm25", stem=True, language="en").fit(GERMAN).search("Baum")
    assert Searcher("bm25", stem=True, language="auto").fit(GERMAN).search("Baum")


@pytest.mark.parametrize("function", [Searcher.__init__, FieldIndex.__init__, make_text_lists, advise, fit_recommended])
def test_python_and_the_shell_have_the_same_default(function):
    parser = argparse.ArgumentParser()
    add_shared(parser, "--language")
    assert inspect.signature(function).parameters["language"].default == parser.get_default("language") == "auto"


def test_features_of_german_texts_are_not_those_of_english_ones():
    index = FieldIndex(GERMAN, stem=True)
    assert index.vectorizer.language == "de"
    assert [rows.tolist() for rows in index.candidates(index.vectorizer.counts(["geschnittener Baum"]), k=2)] == [[1]]
