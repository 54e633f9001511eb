"""Words of many scripts by hand; a regular expression is the oracle for ASCII; spans lead back to the text."""

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tacit.features.text.words import UnicodeWords, _segment_starts, fold

SEGMENTER = UnicodeWords()
# Characters that fold in an unusual way: ligatures, marks, Hangul, half-width kana, sigma, dotted I, joiners.
ODD = "ﬁ½ﷺİẞΣςσＡªℌｶﾞﾊﾟ각\u1100\u1161\u11a8ﾡￂe\u0301\u0331h\u0331H\u00ad\u200d\u200c\ufe0f\u20e3का_¨ΐß'.- 1²٣x中ไท\ud800"
# Long runs of ASCII as well: they go another way through the code than the rest.
PIECES = st.one_of(st.sampled_from([*ODD, "ascii" * 5, "Or not, "]), st.characters(exclude_categories=()))
TEXTS = st.lists(PIECES, max_size=30).map("".join)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \t\n...", []),
        ("C, R and x_1", ["c", "r", "and", "x", "1"]),
        ("np.linalg_norm(A)", ["np", "linalg", "norm", "a"]),
        ("don't l'eau", ["don", "t", "l", "eau"]),
        ("Ｆｕｌｌ ﬁne x²", ["full", "fine", "x2"]),
        ("हिन्दी में தமிழ்", ["हिन्दी", "में", "தமிழ்"]),
        ("soft\u00adhyphen می\u200cخواهم", ["softhyphen", "میخواهم"]),
        ("I ❤\ufe0f 1\ufe0f\u20e3", ["i", "1"]),
        ("ΟΔΟΣ.Α οδος", ["οδοσ", "α", "οδοσ"]),
        ("İstanbul", ["i\u0307stanbul"]),
        ("zero\u200bwidth\u00a0space", ["zero", "width", "space"]),
        ("\u0301 stray", ["stray"]),
        ("H\u0331 \u1e96", ["\u1e96", "\u1e96"]),
        (f"é{'A' * 25}é b é", [f"é{'a' * 25}é", "b", "é"]),
    ],
)
def test_words_by_hand(text, words):
    assert SEGMENTER.words(text) == words


@given(st.text(st.characters(max_codepoint=127)))
@settings(max_examples=100, deadline=None)
def test_ascii_words_are_runs_of_letters_and_digits(text):
    expected = [(match.start(), match.end(), match[0].lower()) for match in re.finditer("[A-Za-z0-9]+", text)]
    assert SEGMENTER.spans(text) == expected
    assert SEGMENTER.words(text) == [word for *_, word in expected]


@given(TEXTS)
@example(f"é{'A' * 25}é b é")  # the second stretch begins before the first one's space
@settings(max_examples=200, deadline=None)
def test_spans_lead_back_to_the_text(text):
    spans = SEGMENTER.spans(text)
    assert [span.token for span in spans] == SEGMENTER.words(text)
    for span in spans:
        assert 0 <= span.start < span.end <= len(text)
        assert span.token in SEGMENTER.words(text[span.start : span.end])
    starts = [span.start for span in spans]
    assert starts == sorted(starts)


@given(TEXTS)
@example("\u1112\u1161\u11ab\u1100\u1173\u11af")  # Hangul letter by letter
@example("Cafe\u00ad\u0301 H\u200d\u0331")  # a mark behind an invisible joiner
@example("ﾊﾟｶﾞ")  # half-width kana, whose voice marks are no marks yet
@settings(max_examples=200, deadline=None)
def test_pieces_fold_to_the_pieces_of_the_folded_text(text):
    bounds = [*_segment_starts(text), len(text)]
    assert "".join(fold(text[a:b]) for a, b in pairwise(bounds)) == fold(text)


@given(TEXTS)
@settings(max_examples=200, deadline=None)
def test_a_word_is_its_own_only_word_and_every_form_gives_it(text):
    words = SEGMENTER.words(text)
    assert SEGMENTER.words(" ".join(words)) == words
    assert SEGMENTER.joined(text).decode("utf-8", "surrogatepass").split() == words
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert SEGMENTER.words(unicodedata.normalize(form, text)) == words


def test_a_span_of_composed_letters_covers_all_their_characters():
    text = "ein Cafe\u0301\u0331 im ﬂur"
    spans = SEGMENTER.spans(text)
    assert [text[span.start : span.end] for span in spans] == ["ein", "Cafe\u0301\u0331", "im", "ﬂur"]
