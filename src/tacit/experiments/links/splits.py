"""Splits of linked documents into training, validation and test, by the protocol that all systems share.

`queries`: 30% of the documents are unseen queries; none of their out-links is in training.
`links`: 30% of the links, drawn at random, are test links.
`documents`: 30% of the documents are test documents; no link of one is in training, and test queries and their
candidates are test documents only.
5% of training (by queries, or by links) is validation. The seed determines the split.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from tacit.core import Links, TacitError, check_choice

SPLITS = ("queries", "links", "documents")
TEST_SHARE, VALIDATION_SHARE = 0.3, 0.05


@dataclass(frozen=True)
class LinkSplit:
    """Training, validation and test links, disjoint. `candidates`: rows of the candidates; None: all documents."""

    name: str
    train: Links
    validation: Links
    test: Links
    candidates: np.ndarray | None = None

    def __post_init__(self) -> None:
        seen = [_codes(part) for part in (self.train, self.validation, self.test)]
        if len(np.unique(np.concatenate(seen))) != sum(map(len, seen)):
            raise TacitError("a link is in two parts of the split; want disjoint parts")

    def thinned(self, share: float, seed: int) -> LinkSplit:
        """Return the same test links with a share of the training and validation links, drawn by the seed."""
        if share == 1:
            return self
        rng = np.random.default_rng([seed, 2])
        fewer = [part.take(_some_of(np.arange(len(part)), share, rng)) for part in (self.train, self.validation)]
        return replace(self, train=fewer[0], validation=fewer[1])

    def test_queries(self, n_most: int, seed: int) -> np.ndarray:
        """Return rows of the test queries: documents with test links, at most n_most, drawn by the seed."""
        rows = np.unique(self.test.sources)
        if len(rows) <= n_most:
            return rows
        return np.sort(np.random.default_rng([seed, 1]).choice(rows, n_most, replace=False))

    def relevant(self, rows: np.ndarray) -> sp.csr_array:
        """Return test links of some documents, (n_rows, n_candidates) bool."""
        return self._among_candidates(self.test.to_csr()[rows] > 0)

    def excluded(self, rows: np.ndarray) -> sp.csr_array:
        """Return documents that are not candidates for these rows: the document itself and its known links."""
        return self._among_candidates(self.known(rows))

    def known(self, rows: np.ndarray) -> sp.csr_array:
        """Return the same among all documents, (n_rows, n_documents) bool."""
        known = self.train.to_csr()[rows] + self.validation.to_csr()[rows]
        selves = sp.csr_array((np.ones(len(rows)), (np.arange(len(rows)), rows)), shape=known.shape)
        return sp.csr_array(known + selves) > 0

    def _among_candidates(self, matrix: sp.csr_array) -> sp.csr_array:
        return matrix if self.candidates is None else sp.csr_array(matrix[:, self.candidates])


def split_links(links: Links, split: str, seed: int) -> LinkSplit:
    """Split the links by one of the protocols."""
    check_choice("split", split, SPLITS)
    links = links.take(links.sources != links.targets)
    rng = np.random.default_rng(seed)
    if split == "links":
        is_test = _some_of(np.arange(len(links)), TEST_SHARE, rng)
        rest = links.take(~is_test)
        is_held = _some_of(np.arange(len(rest)), VALIDATION_SHARE, rng)
        return LinkSplit(split, rest.take(~is_held), rest.take(is_held), links.take(is_test))
    test_documents = _some_of(np.arange(links.n_sources), TEST_SHARE, rng)
    from_test, to_test = test_documents[links.sources], test_documents[links.targets]
    if split == "queries":
        train, validation = _hold_out_queries(links.take(~from_test), rng)
        return LinkSplit(split, train, validation, links.take(from_test))
    train, validation = _hold_out_queries(links.take(~from_test & ~to_test), rng)
    return LinkSplit(split, train, validation, links.take(from_test & to_test), np.flatnonzero(test_documents))


def _hold_out_queries(links: Links, rng: np.random.Generator) -> tuple[Links, Links]:
    askers = np.unique(links.sources)
    held = np.zeros(links.n_sources, bool)
    held[askers] = _some_of(askers, VALIDATION_SHARE, rng)
    is_held = held[links.sources]
    return links.take(~is_held), links.take(is_held)


def _some_of(population: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return a mask of a share of the population, at least one element."""
    picked = np.zeros(len(population), bool)
    picked[rng.choice(len(population), max(1, round(share * len(population))), replace=False)] = True
    return picked


def _codes(links: Links) -> np.ndarray:
    return links.sources * links.n_targets + links.targets
