"""Which words keep company: for each term, the words that share most documents with it, by DICE.

    DICE(i, j) = 2 * cooccur(i, j) / (occur(i) + occur(j))

cooccur(i, j): documents that hold both; occur: documents that hold one, or its occurrences. A term is what is looked up
(a word, or a 2-gram); its documents are its postings. Documents list their words. For one term the documents' words
are counted into an array of all words, and only those met are read back and set to zero again: the work is the length
of those documents, not the number of words.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def most_correlated(post_indptr, post_docs, doc_indptr, doc_words, occur, term_occur, start, stop, best, dice):
    """Fill best and dice (n_terms, k) for the terms from start to stop: higher DICE first, then smaller word.

    occur (n_words) and term_occur (n_terms) count documents or occurrences; best ends in -1 and dice in 0 where fewer
    than k words share a document with the term.
    """
    n_words = len(occur)
    together, met = np.zeros(n_words, np.int32), np.empty(n_words, np.int32)
    for term in range(start, stop):
        n_met = 0
        for p in range(post_indptr[term], post_indptr[term + 1]):
            doc = post_docs[p]
            for word in doc_words[doc_indptr[doc] : doc_indptr[doc + 1]]:
                if together[word] == 0:
                    met[n_met] = word
                    n_met += 1
                together[word] += 1
        mine, values = best[term], dice[term]
        mine[:], values[:] = -1, 0.0
        for word in met[:n_met]:
            value = 2.0 * together[word] / (term_occur[term] + occur[word])
            together[word] = 0
            if value >= values[-1]:  # few pass, and a call for each of the others would cost more than the counting
                keep_best(value, word, mine, values)


@njit(cache=True, nogil=True)
def keep_best(value, word, best, values):
    """Put a word into a short list that is in order, if it belongs there; the last one falls out."""
    at = len(best)
    while at > 0 and (best[at - 1] < 0 or values[at - 1] < value or (values[at - 1] == value and best[at - 1] > word)):
        at -= 1
    for later in range(len(best) - 1, at, -1):
        best[later], values[later] = best[later - 1], values[later - 1]
    if at < len(best):
        best[at], values[at] = word, value
