"""Lists of words without content, and the columns that they have in a vocabulary."""

import pytest

from tacit.core import UsageError
from tacit.features import TextVectorizer, tokenizer_for
from tacit.features.text.function_words import FUNCTION_WORDS, function_words

CONTENT = {
    "en": "fire system computer mean",
    "de": "zeit haus",
    "fr": "valeur temps",
    "es": "trabajo valor",
    "ja": "検索",
}


@pytest.mark.parametrize("language", sorted(set(FUNCTION_WORDS) - {"ja"}))
def test_every_entry_is_one_word_in_the_form_that_the_tokenizer_makes(language):
    tokenizer = tokenizer_for(language)
    odd = {word for word in FUNCTION_WORDS[language].split() if tokenizer(word) != [word]}
    assert odd == set()


@pytest.mark.parametrize("language", sorted(CONTENT))
def test_words_with_content_are_in_no_list(language):
    assert not function_words(language) & set(CONTENT[language].split())


def test_a_language_without_a_list_has_no_words_and_an_unknown_one_is_refused():
    assert function_words("any") == function_words("zh") == frozenset()
    with pytest.raises(UsageError, match="language"):
        function_words("klingon")


@pytest.mark.parametrize("stem", [False, True])
def test_columns_follow_stems_and_new_words(stem):
    vectorizer = TextVectorizer(stem=stem).fit(["what zebras eat", "zebras please"])
    vectorizer.add_words(["explain explaining lions"])
    found = {vectorizer.vocabulary_[column] for column in vectorizer.function_columns()}
    assert found == {"what", "pleas" if stem else "please", "explain"}
    assert vectorizer.function_columns().tolist() == sorted(vectorizer.function_columns())


def test_no_column_where_the_language_has_no_list():
    assert not len(TextVectorizer(language="any").fit(["what is a zebra"]).function_columns())
