"""Terms found by the compiled pass are those of all spans, one by one, in any language, with stems and stop words."""

import threading

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tacit.features import tokenizer_for
from tacit.features.text.finding import TermFinder

TEXTS = {
    "en": "The skies were dying; he lies, gently, in the SKY. Don't_stop x_1 naïve ﬁsh “Cats” cat's Ｃat\u00adnip",
    "de": "Die Häuser und das Haus: Äpfel, apfel; Straße STRASSE. Größe\nmaß",
    "fr": "L'été des étés, où l’on mangeait ; mangé, mange — É",
    "ru": "Кошки, кошка и собака. Собаки\tлают ёж Ёж",
    "ar": "الكتاب والكتب كتاب كتب, book",
    "el": "ΟΔΟΣ.Α οδος οδοί",
    "hi": "हिन्दी में किताबें किताब",
    "zh": "用搜索引擎找文件，搜索。Python 编程 Ｐython\n文件",
    "th": "ภาษาไทย ไทย a",
    "any": "Ωμέγα über 東京タワー ไทย C++ ½ a\u0301b \u0301c 각\u1100\u1161\u11a8",
}
STEMMED = {"en", "de", "fr", "ru", "ar", "el", "hi"}
ODD = "ﬁ½İẞΣςｶﾞﾊﾟ각\u1100\u1161\u11a8e\u0301\u0331h\u00ad\u200d\ufe0fका_¨ß'.- \n1²x中ไท。、，\ud800\u3099"


def spans_one_by_one(tokenizer, text, wanted):
    """The obvious form: every word of the text, its term, whether it is wanted."""
    found = [(start, end, tokenizer.term(word)) for start, end, word in tokenizer.segmenter.spans(text)]
    return [span for span in found if span[2] in wanted]


def check(tokenizer, text, wanted):
    expected = sorted(spans_one_by_one(tokenizer, text, wanted))
    assert tokenizer.find([text, "", text], wanted) == [expected, [], expected]


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("stop_words", [None, ["the", "die", "и", "文件"]])
def test_random_mixtures_of_a_language_have_the_spans_of_all_words(language, stop_words):
    tokenizer = tokenizer_for(language, stem=language in STEMMED, stop_words=stop_words)
    rng = np.random.default_rng(0)
    words = [*TEXTS[language].split(" "), *TEXTS["en"].split(" "), "ascii" * 6, *ODD]
    terms = sorted({term for word in words for term in tokenizer(word)})
    for _ in range(60):
        text = "".join(word + rng.choice([" ", " ", "\n", "-", ""]) for word in rng.choice(words, rng.integers(0, 60)))
        check(tokenizer, text, set(rng.choice(terms, rng.integers(0, 6)).tolist()))
        check(tokenizer, text, set(terms))


TOKENIZERS = [tokenizer_for("en", stem=True), tokenizer_for("any"), tokenizer_for("de", stem=True, stop_words=["der"])]
PIECES = st.one_of(st.sampled_from([*ODD, "ascii" * 5, "Or not, ", "cats "]), st.characters(exclude_categories=()))


@given(text=st.lists(PIECES, max_size=30).map("".join), tokenizer=st.sampled_from(TOKENIZERS))
@example(f"é{'A' * 25}é b é", TOKENIZERS[0])
@settings(max_examples=200, deadline=None)
def test_any_text_has_the_spans_of_all_words(text, tokenizer):
    check(tokenizer, text, set(tokenizer(text)))
    check(tokenizer, text, set(tokenizer(text)[::2]) | {"cat"})


def test_japanese_words_are_found_between_breaks():
    pytest.importorskip("sudachipy")
    tokenizer = tokenizer_for("ja")
    text = "Array の要素を取り除いた。ﾃﾞｰﾀを読んだ、要素\nサーバを" * 3
    check(tokenizer, text, {"要素", "取る", "データ", "array", "サーバー"})


def test_many_texts_are_read_in_chunks():
    texts = ["A café, cats", "", "cat " * 9, "Ω", "dog", "cats über cat"] * 3
    expected = [spans_one_by_one(TOKENIZERS[0], text, {"cat", "über"}) for text in texts]
    assert TermFinder(TOKENIZERS[0], chunk=25).find(texts, {"cat", "über"}) == expected


def test_words_are_forgotten_when_there_are_too_many():
    finder = TermFinder(tokenizer_for("en"), most_words=20)
    for first in range(0, 200, 10):
        text = " ".join(f"w{word}" for word in range(first, first + 10))
        assert [span.token for span in finder.find([text], {f"w{first}"})[0]] == [f"w{first}"]
        assert len(finder._terms) <= 40


def test_threads_share_a_finder():
    finder, texts = TermFinder(tokenizer_for("en")), [" ".join(f"w{n % 7} x{n}" for n in range(m)) for m in range(200)]
    expected = finder.find(texts, {"w3"})
    shared, found = TermFinder(tokenizer_for("en")), {}

    def work(part):
        found[part] = [shared.find([text], {"w3"})[0] for text in texts]

    threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[part] for part in range(4)] == [expected] * 4
