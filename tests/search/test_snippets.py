"""The passage shows the wanted words, and its spans are exactly where they stand."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.features import tokenizer_for
from tacit.search.snippets import make_snippet

TOKENIZER = tokenizer_for("en")


def test_takes_the_passage_with_the_most_different_words():
    text = "cat " * 80 + "the cat chased the dog there " + "bird " * 80
    snippet = make_snippet(text, {"cat", "dog"}, TOKENIZER)
    assert "*dog*" in snippet.marked()
    assert "*cat*" in snippet.marked()


def test_is_one_line_and_starts_at_the_beginning_where_nothing_matches():
    snippet = make_snippet("first line\nsecond\tline", {"absent"}, TOKENIZER)
    assert snippet.marked() == "first line second line"


def test_a_text_of_no_words_is_shown_as_it_is():
    assert make_snippet("", {"a"}, TOKENIZER).text == ""


@given(
    words=st.lists(st.sampled_from(["cat", "Dog", "naïve", "ﬁsh", "\n", "東京", "-", "ｘ"]), max_size=60),
    wanted=st.sets(st.sampled_from(["cat", "dog", "fish", "x", "東京"])),
    width=st.integers(5, 80),
)
@settings(max_examples=80, deadline=None)
def test_matches_are_wanted_words(words, wanted, width):
    snippet = make_snippet(" ".join(words), wanted, TOKENIZER, width)
    for start, end in snippet.matches:
        assert TOKENIZER(snippet.text[start:end]) == [next(iter({*TOKENIZER(snippet.text[start:end])} & wanted))]
    assert "\n" not in snippet.text
