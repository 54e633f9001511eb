"""Characters and pairs: every place agrees with the text, and other text is cut as by UnicodeWords."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.features.text.words import CharacterPairs, Span, UnicodeWords, fold

PAIRS = CharacterPairs()


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("日本", ["日", "日本", "本"]),
        ("水", ["水"]),
        ("かな", ["かな"]),
        ("か", ["か"]),
        ("กำลัง", ["กํา", "าลั", "ลัง"]),  # NFKC takes am apart; a mark stays with its letter
        ("x東京2020年", ["x", "東", "東京", "京", "2020", "年"]),
        ("ភាសា", ["ភាសា"]),
        ("Grüße, Welt", ["grüße", "welt"]),
        ("한국어 문서", ["한국어", "문서"]),  # Korean has spaces
    ],
)
def test_terms(text, terms):
    assert PAIRS.words(text) == terms


def test_places_of_pairs_overlap():
    spans = PAIRS.spans("用Ｐython搜索")
    assert spans == [Span(0, 1, "用"), Span(1, 7, "python"), Span(7, 8, "搜"), Span(7, 9, "搜索"), Span(8, 9, "索")]


TEXTS = st.text(st.sampled_from("aB1 -.é日本ก็ำลัかﾃﾞ\u0301\u3099한ភាﬁ"), max_size=30)


@given(TEXTS)
@settings(max_examples=200, deadline=None)
def test_places_give_the_same_terms_as_the_stream(text):
    spans = PAIRS.spans(text)
    assert [span.token for span in spans] == PAIRS.words(text)
    assert all(fold(text[start:end]).find(token) >= 0 for start, end, token in spans)


@given(st.text(st.sampled_from("aB1 -.éß한ﬁאλς\u0301"), max_size=30))
@settings(max_examples=100, deadline=None)
def test_scripts_with_spaces_are_cut_as_by_unicode_words(text):
    assert PAIRS.words(text) == UnicodeWords().words(text)
    assert PAIRS.spans(text) == UnicodeWords().spans(text)
