"""Typos, accents and prefixes against brute force over all words."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.features import TextVectorizer
from tacit.features.text.lexicon import LEAST_LETTERS, Lexicon, edit_distance, without_accents


def slow_distance(one, two):
    """The definition by recursion."""
    if not one or not two:
        return len(one) + len(two)
    best = min(
        slow_distance(one[:-1], two) + 1,
        slow_distance(one, two[:-1]) + 1,
        slow_distance(one[:-1], two[:-1]) + (one[-1] != two[-1]),
    )
    if len(one) > 1 and len(two) > 1 and one[-2:] == two[-1] + two[-2]:
        best = min(best, slow_distance(one[:-2], two[:-2]) + 1)
    return best


@given(st.text("abc", max_size=5), st.text("abc", max_size=5), st.integers(1, 3))
def test_edit_distance(one, two, most):
    expected, found = slow_distance(one, two), edit_distance(one, two, most)
    assert found == expected if expected <= most else found > most


def test_the_nearest_word_is_the_best_of_all():
    rng = np.random.default_rng(0)
    words = list(dict.fromkeys("".join(rng.choice(list("abcde"), rng.integers(3, 10))) for _ in range(400)))
    lexicon = Lexicon(words, np.arange(len(words)), lambda term: False)
    n_found = 0
    for _ in range(150):
        typed = "".join(rng.choice(list("abcde"), rng.integers(3, 10)))
        most = sum(len(typed) >= least for least in LEAST_LETTERS)
        near = [(edit_distance(typed, word, 9), word[0] != typed[0], n) for n, word in enumerate(words)]
        best = min(near)
        found = lexicon.nearest(typed)
        assert (found.distance, found.number) == (best[0], best[2]) if best[0] <= most else found is None
        n_found += found is not None
    assert n_found > 50


@pytest.mark.parametrize("typed", ["x100", "abc1", "東京", "ab", "abc"])
def test_numbers_short_words_and_other_scripts_are_not_corrected(typed):
    assert Lexicon(["x101", "abc2", "東教", "abd"], np.arange(4), lambda term: False).nearest(typed) is None


def test_accents_are_folded_both_ways():
    lexicon = Lexicon(["müller", "cafe", "straße"], np.arange(3), lambda term: False)
    for typed, used in {"muller": "müller", "café": "cafe", "strasse": "straße"}.items():
        assert lexicon.nearest(typed) == (lexicon.words.index(used), 0)
    assert without_accents("й") == "и"
    assert without_accents("한국어") == "한국어"


def test_spellings_of_stems_and_rare_words():
    texts = ["searching searched searching search"] * 3 + [f"rare{a}{b}" for a, b in product("abcdef", "xyz")]
    vectorizer = TextVectorizer(words=5, stem=True).fit(texts)
    assert vectorizer.forms_[:3] == ["searching", "searched", "search"]
    assert [vectorizer.vocabulary_[column] for column in vectorizer.form_columns_[:3]] == ["search"] * 3
    lexicon = Lexicon.of(vectorizer)
    stem = vectorizer.tokenizer_.term
    assert all(lexicon.knows_term(stem(f"rare{a}{b}")) for a, b in product("abcdef", "xyz"))
    assert not any(lexicon.knows_term(stem(word)) for word in ("rarest", "serch", "zebra", "rareg"))


def test_spellings_of_added_words():
    vectorizer = TextVectorizer(stem=True).fit(["cats and dogs"])
    vectorizer.add_words(["zebras run", "zebras"])
    lexicon = Lexicon.of(vectorizer)
    found = lexicon.nearest("zebraz")
    assert lexicon.words[found.number] == "zebras"
    assert vectorizer.vocabulary_[lexicon.columns[found.number]] == "zebra"
