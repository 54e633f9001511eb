"""Word-by-word translation of queries by a dictionary: a matrix from the words of one language to the other's.

Row w of the matrix T divides a count of 1 evenly among the glosses of word w, and the share of a gloss evenly among its
words. A query is translated by x_E = x_F T, weighted by the items' idf like other counts. Long glosses are explanations
rather than translations, and are left out if there is a short one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from tacit.features import tokenizer_for

LONGEST_GLOSS = 3  # words


def translation_matrix(
    query_words: Sequence[str], item_words: Sequence[str], glosses: Mapping[str, Sequence[str]], language: str = "en"
) -> sp.csr_array:
    """Return float32 (n_query_words, n_item_words); a word that is not in the dictionary has an empty row.

    >>> dictionary = {"配列": ["array", "line of troops"]}
    >>> translation_matrix(["配列", "値"], ["array", "line", "troops"], dictionary).toarray().tolist()
    [[0.5, 0.25, 0.25], [0.0, 0.0, 0.0]]
    """
    column_of = {word: column for column, word in enumerate(item_words)}
    tokenizer = tokenizer_for(language, stop_words="en" if language == "en" else None)
    rows, columns, shares = [], [], []
    for row, word in enumerate(query_words):
        meanings = _short(list(filter(None, map(tokenizer, glosses.get(word, ())))))
        for meaning in meanings:
            known = [column_of[term] for term in meaning if term in column_of]
            rows += [row] * len(known)
            columns += known
            shares += [1 / (len(meanings) * len(meaning))] * len(known)
    shape = (len(query_words), len(item_words))
    return sp.csr_array((np.array(shares, np.float32), (rows, columns)), shape=shape)


def _short(meanings: list[list[str]]) -> list[list[str]]:
    return [meaning for meaning in meanings if len(meaning) <= LONGEST_GLOSS] or meanings
