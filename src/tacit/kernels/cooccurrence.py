"""Co-occurrence of words: for each term, the words with the highest DICE coefficient.

    DICE(i, j) = 2 * cooccur(i, j) / (occur(i) + occur(j))

cooccur(i, j) is the number of documents that contain both. occur is the number of documents with the word, or its
number of occurrences. A term is a word or a 2-gram; its postings are its documents, and each document lists its words.
For each term, the words of its documents are counted in one array, and only the entries used are read and reset. The
work is proportional to the length of those documents, not to the number of words.
"""

import numpy as np

from tacit.kernels.loops import njit


@njit(cache=True, nogil=True)
def most_correlated(post_indptr, post_docs, doc_indptr, doc_words, occur, term_occur, start, stop, best, dice):
    """Fill best and dice (n_terms, k) for the terms from start to stop: higher DICE first, then smaller word.

    occur (n_words) and term_occur (n_terms) count documents or occurrences. If fewer than k words share a document with
    the term, best is padded with -1 and dice with 0.
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
            if value >= values[-1]:  # few pass; calling the function for all would cost more than the counting
                keep_best(value, word, mine, values)


@njit(cache=True, nogil=True)
def keep_best(value, word, best, values):
    """Insert a word into a short sorted list if it is good enough; the last one drops out."""
    at = len(best)
    while at > 0 and (best[at - 1] < 0 or values[at - 1] < value or (values[at - 1] == value and best[at - 1] > word)):
        at -= 1
    for later in range(len(best) - 1, at, -1):
        best[later], values[later] = best[later - 1], values[later - 1]
    if at < len(best):
        best[at], values[at] = word, value
