"""The table of DICE neighbours has words that correlated feature hashing hashes."""

import numpy as np

from tacit.core import Collection, Links
from tacit.experiments.collections import links
from tacit.experiments.collections.link_task import count_words


def test_words_with_vectors_of_their_own_are_no_rows():
    rng = np.random.default_rng(0)
    places = np.minimum(rng.zipf(1.5, (60, 30)) - 1, 99)
    texts = [" ".join(f"word{place:02d}" for place in row) for row in places]
    documents = Collection([str(row) for row in range(60)], [""] * 60, texts)
    corpus = count_words(documents, Links([0], [1], 60, 60))
    words, grams = links.dice_sections(corpus, n_frequent=20, small_grams=0)
    vocabulary = corpus.vectorizer.vocabulary_
    assert len(words.rows) == len(grams.rows) == 10
    assert all(vocabulary.index(word) >= 20 for word, *_ in words.rows)
    assert all(
        vocabulary.index(word) < 20 for _, *both in words.rows for best in both for word in best.split(", ") if best
    )


def test_sentences_join_other_words_than_documents():
    """`rare` is in documents with `near` and `far`, but in sentences with `near` only."""
    texts = ["rare near near. far far far."] * 3 + ["far. far. far."] * 3 + ["near. near."] * 2
    documents = Collection([str(row) for row in range(8)], [""] * 8, texts)
    words, _ = links.dice_sections(count_words(documents, Links([0], [1], 8, 8)), n_frequent=2, small_grams=0)
    assert words.header[1:] == ["best words by documents", "best words by sentences"]
    assert words.rows == [["rare", "near, far", "near"]]
