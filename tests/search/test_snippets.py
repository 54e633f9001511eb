"""The passage shows the wanted words, and its spans are exactly where they stand."""

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.features import tokenizer_for
from tacit.features.text.words import Span
from tacit.search.snippets import MAX_CHARACTERS, _best_window, make_snippet

TOKENIZER = tokenizer_for("en")


def test_takes_the_passage_with_the_most_different_words():
    text = "cat " * 80 + "the cat chased the dog there " + "bird " * 80
    snippet = make_snippet(text, {"cat", "dog"}, TOKENIZER)
    assert "*dog*" in snippet.marked()
    assert "*cat*" in snippet.marked()


def test_is_one_line_and_starts_at_the_beginning_where_nothing_matches():
    snippet = make_snippet("first line\nsecond\tline", {"absent"}, TOKENIZER)
    assert snippet.marked() == "first line second line"


def test_pairs_of_characters_are_marked_as_one_passage():
    snippet = make_snippet("。" * 300 + "用搜索引擎找文件" + "。" * 300, {"搜索", "索引", "文件"}, tokenizer_for("zh"))
    assert "用*搜索引*擎找*文件*。" in snippet.marked()
    assert len(snippet.text) >= 160


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


@given(
    gaps=st.lists(st.tuples(st.integers(1, 30), st.integers(1, 12), st.sampled_from("abc")), min_size=1, max_size=25),
    width=st.integers(5, 60),
)
@settings(max_examples=100, deadline=None)
def test_the_best_window_is_that_of_an_exhaustive_search(gaps, width):
    hits, at = [], 0
    for gap, length, token in gaps:
        hits.append(Span(at + gap, at + gap + length, token))
        at += gap + length
    runs = [
        [hit for hit in hits[first:] if hit.end - hits[first].start <= width] or [hits[first]]
        for first in range(len(hits))
    ]
    best = max(runs, key=lambda run: (len({hit.token for hit in run}), len(run), -run[0].start))
    assert _best_window(hits, width) == (best[0].start, best[-1].end)


def test_a_long_document_of_one_word_takes_linear_time():
    start = time.process_time()
    snippet = make_snippet("cat " * MAX_CHARACTERS, {"cat"}, TOKENIZER)
    assert len(snippet.matches) == 40
    assert time.process_time() - start < 1  # 0.03 s; the square of 6,000 matches took 3 s
