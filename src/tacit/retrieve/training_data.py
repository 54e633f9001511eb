"""Everything that one `fit` learns from, as a single value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, Links, ProgramLinks, TacitError, check_array, check_choice, check_features
from tacit.retrieve.checkpoint import Checkpoint, Stage

Monitor = Callable[[Any], Mapping[str, float]]  # a ranker in training to further measures of it


FEWEST_PROBES = 20  # with fewer, the items themselves are the queries


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


@dataclass(frozen=True, kw_only=True)
class ItemInputs:
    """What `fit` and `add_items` of some rankers accept in addition to rows of items; see `CollectionRanker.fit`."""

    titles: sp.csr_array | None = None
    title_keys: np.ndarray | None = None
    terms: Terms | None = None
    vectors: np.ndarray | None = None
    passages: np.ndarray | None = None


ITEM_INPUTS = frozenset(field.name for field in fields(ItemInputs))

# Fields that do not change what is learned, so that a checkpoint need not know them.
NOT_DESCRIBED = (
    "queries", "checkpoint", "members", "monitor", "probes", "references", "queries_are_items", "terms",
    "title_keys", "validation",
)  # fmt: skip


@dataclass(frozen=True)
class TrainingData(ItemInputs):
    """Checked input of `CollectionRanker.fit`, where its fields are described; `_fit` reads it.

    `pairs` are `Links`, or an array of (query, better item, worse item) triples. `queries_are_items` is not None, and
    `checkpoint` is an open `Checkpoint` or None. A ranker names the fields that it reads, other than those that every
    ranker is given, in its attribute `reads`.
    """

    queries: Features
    items: Features
    pairs: Any = None
    validation: Links | None = None
    queries_are_items: bool = False
    zeros: Links | None = None
    program: ProgramLinks | None = None
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

    @property
    def first_vectors(self) -> np.ndarray:
        """Return one vector for each item: that of its first passage."""
        assert self.vectors is not None
        return self.vectors if self.passages is None else self.vectors[self.passages[:-1]]

    @property
    def item_inputs(self) -> dict[str, Any]:
        """Return the inputs that new items can have too (`ItemInputs`)."""
        return {name: getattr(self, name) for name in ITEM_INPUTS}

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


def check_inputs(items: Features, given: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """Return inputs of `fit` or `add_items`; raise unless a ranker knows their names and they match its items.

    Titles become sparse rows, or None if no item has one. Vectors are checked where they are scaled (`check_vectors`).
    """
    for name in given:
        check_choice("input of the ranker", name, sorted(known))
    n_items, n_words = items.shape
    titles, terms, passages = given.get("titles"), given.get("terms"), given.get("passages")
    if titles is not None:
        titles = sp.csr_array(check_features("titles", titles))
        if titles.shape != items.shape:
            raise TacitError(f"titles have shape {titles.shape}, want the shape of the items, {items.shape}")
    check_title_keys(given.get("title_keys"), n_items)
    if terms is not None and len(terms.words) != n_words:
        raise TacitError(f"terms hold {len(terms.words)} words, want one for each of {n_words} columns")
    if passages is not None:
        borders = check_array("passages", passages)
        if borders.shape != (n_items + 1,) or borders[0] != 0 or not (np.diff(borders) >= 1).all():
            found = f"{len(borders)} borders" if borders.ndim == 1 else f"shape {borders.shape}"
            raise TacitError(f"passages have {found}, want {n_items + 1}, rising from 0")
    return {**given, "titles": titles if titles is not None and titles.nnz else None}


def check_title_keys(keys: np.ndarray | None, n_items: int) -> None:
    """Raise unless there are keys of all items, or none."""
    if keys is None:
        return
    if keys.shape != (n_items,) or keys.dtype != np.int64:
        raise TacitError(f"keys of titles have shape {keys.shape} and type {keys.dtype}, want {n_items} of type int64")
    if len(keys) and not 0 <= keys.min() <= keys.max() < 1 << 48:
        raise TacitError("keys of titles hold other numbers than hashes of 48 bits")
