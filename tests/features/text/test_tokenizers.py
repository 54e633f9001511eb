"""Tokenizers by language: known stems, refusals in one line, and copies that say the same."""

import copy
import json

import pytest
import Stemmer

from tacit.core import TacitError, UsageError
from tacit.features import tokenizer_for, tokenizer_from_spec
from tacit.features.text.tokenizers import SEGMENTERS, SNOWBALL, WITHOUT_SPACES, language_code
from tacit.features.text.words import Span, UnicodeWords


def test_english_without_options_keeps_every_word():
    assert tokenizer_for()("The C of it_all, 2 times") == ["the", "c", "of", "it", "all", "2", "times"]


@pytest.mark.parametrize(
    ("language", "text", "stems"),
    [
        ("en", "Ranking ranked ranks", ["rank", "rank", "rank"]),
        ("de", "Häuser Hauses", ["haus", "haus"]),
        ("french", "continuellement continu", ["continuel", "continu"]),
        ("ru", "книги книга", ["книг", "книг"]),
    ],
)
def test_snowball_stems(language, text, stems):
    assert tokenizer_for(language, stem=True)(text) == stems


def test_every_language_of_the_table_has_a_stemmer():
    here = set(Stemmer.algorithms())
    for code, name in SNOWBALL.items():
        if name in here:
            assert tokenizer_for(code, stem=True).language == code


@pytest.mark.parametrize(
    ("name", "code"),
    [("EN", "en"), ("en-GB", "en"), ("pt_BR", "pt"), ("Hungarian", "hu"), ("nb", "no"), ("any", "any")],
)
def test_names_of_languages(name, code):
    assert language_code(name) == code


@pytest.mark.parametrize("language", [*WITHOUT_SPACES, "Thai", "zh-TW", "any"])
def test_languages_without_spaces_are_cut_into_characters(language):
    assert tokenizer_for(language)("搜索 for ไทย!") == ["搜", "搜索", "索", "for", "ไท", "ทย"]


def test_a_segmenter_may_be_added_to_the_table(monkeypatch):
    class Letters(UnicodeWords):
        def words(self, text):
            return [char for char in text if char.isalnum()]

    monkeypatch.setitem(SEGMENTERS, "vi", Letters)
    assert tokenizer_for("vi")("東京!") == ["東", "京"]


@pytest.mark.parametrize("language", ["englsh", "", None, 3])
def test_an_unknown_language_is_refused(language):
    with pytest.raises(UsageError, match="want (one of any, ar, ca|a text)"):
        tokenizer_for(language)


def test_stemming_needs_a_language():
    with pytest.raises(UsageError, match="'any' has no Snowball stemmer"):
        tokenizer_for("any", stem=True)


def test_an_old_library_without_the_stemmer_is_named(monkeypatch):
    monkeypatch.setitem(SNOWBALL, "en", "klingon")
    with pytest.raises(UsageError, match="no stemmer for klingon"):
        tokenizer_for("en", stem=True)


def test_stop_words_are_folded_cut_and_dropped_before_stemming():
    tokenizer = tokenizer_for("en", stem=True, stop_words=["Don't", "ＲＡＮＫＳ"])
    assert tokenizer("Don't say it ranks: ranking") == ["say", "it", "rank"]
    assert tokenizer.term("ranks") is None
    assert tokenizer.term("ranking") == "rank"


def test_spans_carry_stems_and_skip_stop_words():
    tokenizer = tokenizer_for("en", stem=True, stop_words="en")
    assert tokenizer.spans("The ﬁnest cats") == [Span(4, 9, "finest"), Span(10, 14, "cat")]
    assert tokenizer.find(["The ﬁnest Cats, cats"], {"cat", "the"}) == [[Span(10, 14, "cat"), Span(16, 20, "cat")]]


@pytest.mark.parametrize("stop_words", [None, "en", ["the", "Öl"]])
@pytest.mark.parametrize("stem", [False, True])
def test_a_spec_through_json_and_a_copy_make_the_same_tokenizer(stem, stop_words):
    tokenizer = tokenizer_for("en", stem=stem, stop_words=stop_words)
    text = "The Öl of the cats that were ranked twice"
    for again in (tokenizer_from_spec(json.loads(json.dumps(tokenizer.spec()))), copy.deepcopy(tokenizer)):
        assert again.spec() == tokenizer.spec()
        assert again(text) == tokenizer(text)
        assert again.spans(text) == tokenizer.spans(text)


@pytest.mark.parametrize("spec", [{}, {"stem": True}, {"language": "en", "lemmas": True}])
def test_a_strange_spec_is_refused(spec):
    with pytest.raises(TacitError, match="want language, stem and stop_words"):
        tokenizer_from_spec(spec)
