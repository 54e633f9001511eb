"""Generated documents with a known rule: a part of what makes an item relevant is not in its words.

An item has a topic and a group, drawn independently. Its words are words of its topic, and common words. A query names
a topic and a group by their words; items of that topic *and* that group are relevant. With `hidden` = 1 no item has
words of its group, so words alone find only the topic; with `hidden` = 0 all items have them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from tacit.core import Links
from tacit.features.text.weighting import inverse_document_frequency, weigh

N_TOPICS, N_GROUPS, N_COMMON = 10, 10, 200
WORDS_OF_EACH, NAMED, COMMON = 20, 6, 6  # words of a topic or group; number of them in a text, and of common ones
LINKS_OF_A_QUERY = 4


@dataclass(frozen=True)
class World:
    """tf-idf rows of queries and items, and links of training, validation and test queries."""

    queries: sp.csr_array
    items: sp.csr_array
    train: Links
    validation: Links
    test: Links


def generate(n_items: int, known: float, hidden: float, seed: int, n_test: int = 300) -> World:
    """Generate a world in which an item has `known` training links on average, and a share `hidden` no group words."""
    rng = np.random.default_rng([seed, n_items])
    topics, groups = (rng.integers(0, n, n_items) for n in (N_TOPICS, N_GROUPS))
    tells = rng.random(n_items) >= hidden
    n_train = max(20, round(known * n_items / LINKS_OF_A_QUERY))
    n_held = max(20, n_train // 10)
    n_queries = n_train + n_held + n_test
    wanted = rng.integers(0, n_items, n_queries)  # each query is about topic and group of an item
    counts = sp.vstack([
        _texts(topics[wanted], groups[wanted], np.ones(n_queries, bool), rng), _texts(topics, groups, tells, rng)
    ])  # fmt: skip
    counts = sp.csr_array(counts)
    frequency = np.maximum(np.bincount(counts.indices, minlength=counts.shape[1]), 1)
    rows = weigh(counts, inverse_document_frequency(frequency, counts.shape[0]))
    kinds = topics * N_GROUPS + groups
    relevant = kinds[wanted][:, None] == kinds[None, :]
    ends = np.cumsum([0, n_train, n_held, n_test])
    train, validation = (_links(relevant, start, stop, rng) for start, stop in pairwise(ends[:3].tolist()))
    sources, targets = np.nonzero(relevant[ends[2] :])
    test = Links(sources + ends[2], targets, n_queries, n_items)
    return World(sp.csr_array(rows[:n_queries]), sp.csr_array(rows[n_queries:]), train, validation, test)


def _texts(topics: np.ndarray, groups: np.ndarray, tells: np.ndarray, rng: np.random.Generator) -> sp.csr_array:
    """Return counts of words: NAMED of the topic, NAMED of the group unless it is hidden, COMMON others."""
    n, n_words = len(topics), (N_TOPICS + N_GROUPS) * WORDS_OF_EACH + N_COMMON

    def some(first: np.ndarray, width: int, n_chosen: int) -> np.ndarray:
        return first[:, None] + np.argsort(rng.random((n, width)), axis=1)[:, :n_chosen]

    named = [some(topics * WORDS_OF_EACH, WORDS_OF_EACH, NAMED)]
    named.append(some((N_TOPICS + groups) * WORDS_OF_EACH, WORDS_OF_EACH, NAMED))
    named.append(some(np.full(n, n_words - N_COMMON), N_COMMON, COMMON))
    rows, columns = np.repeat(np.arange(n), 2 * NAMED + COMMON), np.hstack(named).ravel()
    is_group = (columns >= N_TOPICS * WORDS_OF_EACH) & (columns < n_words - N_COMMON)
    kept = tells[rows] | ~is_group
    ones = np.ones(int(kept.sum()), np.float32)
    return sp.csr_array((ones, (rows[kept], columns[kept])), shape=(n, n_words))


def _links(relevant: np.ndarray, start: int, stop: int, rng: np.random.Generator) -> Links:
    """Return links of some queries: LINKS_OF_A_QUERY of the relevant items, or all."""
    places = np.argsort(np.where(relevant[start:stop], rng.random(relevant[start:stop].shape), 2), axis=1)
    chosen = places[:, :LINKS_OF_A_QUERY]
    rows = np.repeat(np.arange(start, stop), chosen.shape[1])
    kept = relevant[rows, chosen.ravel()]
    return Links(rows[kept], chosen.ravel()[kept], *relevant.shape)
