"""Everything that one `fit` learns from, as a single value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, Links, ProgramLinks
from tacit.retrieve.checkpoint import Checkpoint, Stage

Monitor = Callable[[Any], Mapping[str, float]]  # a ranker in training to further measures of it


FEWEST_PROBES = 20  # with fewer, the items themselves are the queries


class FitOptions(TypedDict, total=False):
    """Options that `fit` of every ranker accepts in addition to its data; see `CollectionRanker.fit`."""

    queries_are_items: bool | None
    checkpoint: Checkpoint | str | Path | None


class Probes(NamedTuple):
    """Queries that were made from some items, to check vectors without labels.

    Attributes
    ----------
    rows : ndarray of shape (n_probes,), int64
        The items.
    queries : csr_array of shape (n_probes, n_features + dim_of_vectors)
        A title or sentence of each, with its vector (`join_vectors`).
    counts : csr_array of shape (n_probes, n_features)
        Counts of the words of the items without that title or sentence.
    titles : csr_array of the same shape or None
        Counts of the words of their titles alone.
    vectors : ndarray of shape (n_probes, dim_of_vectors), float32
        Vectors of the items without that title or sentence.
    of_title : ndarray of shape (n_probes,), bool
        Whether the query is a title.
    references : sequence of tuple of two ndarray, default=()
        Vectors of queries and of altered items by each of the models of `TrainingData.references`.
    """

    rows: np.ndarray
    queries: sp.csr_array
    counts: sp.csr_array
    titles: sp.csr_array | None
    vectors: np.ndarray
    of_title: np.ndarray
    references: Sequence[tuple[np.ndarray, np.ndarray]] = ()


class Terms(NamedTuple):
    """The meaning of the columns of word counts.

    Attributes
    ----------
    words : sequence of str
        The word of each column.
    functional : ndarray of int64
        Columns of words that carry no content, rising.
    """

    words: Sequence[str]
    functional: np.ndarray


# Fields that do not affect the result, so a checkpoint ignores them.
NOT_DESCRIBED = (
    "queries", "checkpoint", "members", "monitor", "probes", "references", "queries_are_items", "terms",
    "title_keys", "validation",
)  # fmt: skip


@dataclass(frozen=True)
class TrainingData:
    """Checked input of `CollectionRanker.fit`; `_fit` reads it. Fields that a ranker does not know are None.

    Parameters
    ----------
    queries : array or sparse matrix of shape (n_queries, n_features)
        Query rows.
    items : array or sparse matrix of shape (n_items, n_item_features)
        Item rows.
    pairs : Links, ndarray of shape (n_triples, 3), or None
        Relevant items of queries, or (query, better item, worse item) triples.
    validation : Links or None
        Pairs for validation.
    queries_are_items : bool
        Whether query row i and item row i are one document.
    zeros : Links or None
        Items that were judged not relevant.
    program : ProgramLinks or None
        Items that only a program graded; the ones graded relevant are also in `pairs`.
    titles : csr_array of shape (n_items, n_features) or None
        Counts of the words of the titles alone.
    title_keys : ndarray of shape (n_items,), int64, or None
        Hash of each title as text (`blend.titles`).
    terms : Terms or None
        Words of the columns.
    vectors : ndarray of shape (n_items, dim_of_vectors) or None
        Vectors of the items by another model.
    passages : ndarray of shape (n_items + 1,), int64, or None
        Where the vectors of each item begin, if items have several; None means one for each.
    probes : Probes or None
        Queries that were made from some items.
    references : sequence of ndarray of shape (n_items, dim), default=()
        Vectors of the items that their own words give (LSI), with which given vectors are compared.
    members : CollectionRanker or None
        A fitted blend whose members can be reused.
    links, query_links : Links or None
        Links between items, and between queries.
    same_words : csr_array of shape (n_query_words, n_item_words) or None
        Which words of queries and items are the same string.
    occurrences : ndarray of shape (n_features,) or None
        How often the term of each column occurs in the items.
    monitor : callable or None
        Further measures of the ranker after each epoch.
    checkpoint : Checkpoint or None
        Checkpoint that stores the state of training.
    """

    queries: Features
    items: Features
    pairs: Any = None
    validation: Links | None = None
    queries_are_items: bool = False
    zeros: Links | None = None
    program: ProgramLinks | None = None
    titles: sp.csr_array | None = None
    title_keys: np.ndarray | None = None
    terms: Terms | None = None
    vectors: np.ndarray | None = None
    passages: np.ndarray | None = None
    probes: Probes | None = None
    references: Sequence[np.ndarray] = ()
    members: Any = None
    links: Links | None = None
    query_links: Links | None = None
    same_words: sp.csr_array | None = None
    occurrences: np.ndarray | None = None
    monitor: Monitor | None = None
    checkpoint: Checkpoint | None = None

    @property
    def has_pairs(self) -> bool:
        """Whether there is anything relevant to learn from."""
        return self.pairs is not None and len(self.pairs) > 0

    def described(self) -> dict[str, Any]:
        """The data by name, for a checkpoint that must recognise its training."""
        shared = self.queries is self.items
        found = {name: value for name, value in vars(self).items() if name not in NOT_DESCRIBED}
        also = {"validation_pairs": self.validation, "settings": self.queries_are_items}
        return {"queries": None if shared else self.queries} | found | also

    def stage(self) -> Stage | None:
        """Return the stage that stores the next epochs."""
        return None if self.checkpoint is None else self.checkpoint.stage()

    def part(self, name: str) -> Checkpoint | None:
        """Return the checkpoint of an inner model."""
        return None if self.checkpoint is None else self.checkpoint.part(name)

    def for_part(self, name: str) -> dict[str, Any]:
        """Return the arguments of `fit` for an inner model, which learns from the same pairs."""
        return {
            "pairs": self.pairs,
            "validation": self.validation,
            "queries_are_items": self.queries_are_items,
            "checkpoint": self.part(name),
        }
