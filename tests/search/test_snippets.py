"""The passage shows the wanted words, and its spans are exactly where they stand."""

import re
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.features import tokenizer_for
from tacit.features.text.words import Span
from tacit.search.snippets import MAX_CHARACTERS, _best_window, make_snippets

TOKENIZER = tokenizer_for("en")


def make_snippet(text, wanted, tokenizer, width=160):
    (found,) = make_snippets([text], wanted, tokenizer, width)
    return found


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


def snippet_of_all_spans(text, wanted, tokenizer, width):
    """The obvious form: all terms of the text, all windows, the best of them."""
    hits = [span for span in tokenizer.spans(text[:MAX_CHARACTERS]) if span.token in wanted]
    if not hits:
        return re.sub(r"\s", " ", text[:width].rsplit(" ", 1)[0] if len(text) > width else text), ()
    runs = [
        [hit for hit in hits[first:] if hit.end - hits[first].start <= width] or [hits[first]]
        for first in range(len(hits))
    ]
    best = max(runs, key=lambda run: (len({hit.token for hit in run}), len(run), -run[0].start))
    start, stop = best[0].start, best[-1].end
    left = max(0, start - (width - (stop - start)) // 3)
    left = 0 if left == 0 else text.find(" ", left, start) + 1 or left
    right = min(len(text), max(left + width, stop))
    if right < len(text):
        space = text.rfind(" ", stop, right)
        right = space if space >= 0 else right
    kept = [hit for hit in hits if left <= hit.start and hit.end <= right]
    marked = [any(hit.start <= place < hit.end for hit in kept) for place in range(left, right)]
    return re.sub(r"\s", " ", text[left:right]), marked


@pytest.mark.parametrize(
    ("language", "stem"), [("en", True), ("de", True), ("ru", True), ("zh", False), ("any", False)]
)
def test_random_texts_have_the_snippets_of_all_spans(language, stem):
    rng, tokenizer = np.random.default_rng(1), tokenizer_for(language, stem=stem)
    words = re.split(
        " ", "The cats' CAT skies dying Häuser Haus Straße кошки Кошка, 用搜索引擎找文件。 ﬁsh x_1 naïve\n“sky”"
    )
    terms = sorted({term for word in words for term in tokenizer(word)})
    texts = [" ".join(rng.choice(words, rng.integers(0, 80))) for _ in range(40)]
    for width in (20, 160):
        wanted = set(rng.choice(terms, 4).tolist())
        for text, found in zip(texts, make_snippets(texts, wanted, tokenizer, width), strict=True):
            expected, marked = snippet_of_all_spans(text, wanted, tokenizer, width)
            assert found.text == expected
            places = range(len(found.text)) if marked else ()
            assert [any(start <= place < end for start, end in found.matches) for place in places] == list(marked)


def test_a_long_document_of_one_word_takes_linear_time():
    start = time.process_time()
    snippet = make_snippet("cat " * MAX_CHARACTERS, {"cat"}, TOKENIZER)
    assert len(snippet.matches) == 40
    assert time.process_time() - start < 1  # 0.03 s; the square of 6,000 matches took 3 s
