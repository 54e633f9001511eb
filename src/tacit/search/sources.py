"""Training sources of a searcher: one of several, converted to pairs of a query and a relevant document."""

from __future__ import annotations

import hashlib
import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import Collection, Judgments, Links, ProgramLinks, TacitError, UsageError, plural, shown
from tacit.retrieve import CollectionRanker
from tacit.search.two_stage import TwoStageRanker


class Sources(NamedTuple):
    """Pairs to learn from.

    Attributes
    ----------
    pairs : Links or None
        Rows of queries and rows of documents; None: the ranker learns from documents alone.
    queries : Collection or None
        Texts of the queries; None: the documents themselves are the queries.
    links : Links or None
        Links between documents, in addition to `pairs`, if the ranker can use them.
    zeros : Links or None
        Documents judged not relevant, if the ranker can use them.
    program : ProgramLinks or None
        Documents graded by a program.
    """

    pairs: Links | None = None
    queries: Collection | None = None
    links: Links | None = None
    zeros: Links | None = None
    program: ProgramLinks | None = None

    @property
    def beside_pairs(self) -> dict[str, Links]:
        """The sources in addition to pairs, as arguments of the ranker's `fit`."""
        given = {"links": self.links, "zeros": self.zeros, "program": self.program}
        return {name: source for name, source in given.items() if source is not None}


def choose_sources(
    method: str,
    ranker: CollectionRanker,
    documents: Collection,
    *,
    links: Links | None,
    queries: Collection | None,
    qrels: Judgments | None,
    pairs: Links | None,
    clicks: tuple[Collection, Links] | None,
    zeros: Links | None = None,
    program: ProgramLinks | None = None,
) -> Sources:
    """Check the given sources against the ranker's abilities, and convert them to pairs."""
    sources = {"links": links, "qrels": qrels, "pairs": pairs, "clicks": clicks}
    given = [name for name, source in sources.items() if source is not None]
    _check_sources(method, ranker, given, queries is not None)
    if program is not None:
        _check_program(method, ranker, given)
    if given and not ranker.learns_from_pairs:
        warnings.warn(f"{method} does not learn from {' or '.join(given)}: not used", stacklevel=3)
        return Sources()
    if zeros is not None and (pairs is None or "zeros" not in ranker.reads):
        zeros = None
    if clicks is not None:
        queries, pairs = clicks
    elif qrels is not None and queries is not None:
        from tacit.data import judged_pairs

        pairs = judged_pairs(qrels, queries, documents)
        zeros = judged_pairs(qrels, queries, documents, relevant=False) if "zeros" in ranker.reads else None
    elif pairs is None:
        pairs, links = links, None
    n_queries = len(documents if queries is None else queries)
    for name, source in {"pairs": pairs, "zeros": zeros, "a program's grades": program}.items():
        _check_sizes(name, source, n_queries, len(documents))
    _check_sizes("links", links, len(documents), len(documents))
    if links is not None and not ranker.needs_links:
        warnings.warn(f"{method} does not learn from links in addition to pairs: not used", stacklevel=3)
        links = None
    return Sources(pairs, queries, links, zeros, program)


def _check_sources(method: str, ranker: CollectionRanker, given: list[str], has_queries: bool) -> None:
    relevant = [name for name in given if not (name == "links" and ranker.two_dictionaries)]
    if len(relevant) > 1:
        raise UsageError(f"{relevant[0]} and {relevant[1]} exclude each other, want one of them")
    if has_queries != bool({"qrels", "pairs"} & set(given)):
        raise UsageError("queries and qrels, or queries and pairs, go together: give both")
    if ranker.two_dictionaries and not relevant:
        raise UsageError(f"{method} needs the texts of the queries, and pairs of them and documents: there are none")
    if ranker.needs_links and "links" not in given:
        raise UsageError(f"{method} learns from links between the documents as well, and there are none")
    if ranker.needs_pairs and not given:
        method = "a second stage" if isinstance(ranker, TwoStageRanker) else method
        raise UsageError(f"{method} learns from links, from queries with qrels or pairs, or from clicks: give one")


def _check_program(method: str, ranker: CollectionRanker, given: list[str]) -> None:
    """Raise unless the ranker supports a program's grades and there are human judgments to calibrate them."""
    if "program" not in ranker.reads:
        raise UsageError(f"{method} does not learn from a program's grades, want blend with one stage")
    if not {"qrels", "pairs", "clicks"} & set(given):
        raise UsageError("a program's grades need queries that people judged")


def _check_sizes(name: str, given: Links | None, n_sources: int, n_targets: int) -> None:
    if given is not None and not isinstance(given, Links):
        raise UsageError(f"{name} are {shown(given)}, want Links")
    if given is not None and (given.n_sources, given.n_targets) != (n_sources, n_targets):
        raise UsageError(
            f"{name} are for {plural(given.n_sources, 'query')} and {plural(given.n_targets, 'document')}, "
            f"want {n_sources} and {n_targets}"
        )


def check_words(queries: Collection, counts: sp.csr_array, pairs: Links) -> None:
    """Raise if no query of the pairs has a word of the documents; warn about queries that have no such word."""
    asked = np.unique(pairs.sources)
    unknown = asked[np.diff(counts.indptr)[asked] == 0]
    if len(asked) and len(unknown) == len(asked):
        text = queries.full_text(int(unknown[0]))
        raise TacitError(f"no training query has a word of the documents, want texts: the first is {text[:60]!r}")
    if len(unknown):
        found = f"{len(unknown)} of {len(asked)}, such as {queries.full_text(int(unknown[0]))[:60]!r}"
        warnings.warn(f"training queries without a word of the documents, which teach nothing: {found}", stacklevel=3)


def hash_query(text: str) -> str:
    """Return a short hash of a query, equal for texts that differ only in spaces and case."""
    return hashlib.sha256(" ".join(text.casefold().split()).encode(errors="surrogatepass")).hexdigest()[:16]


def trained_queries(queries: Collection | None, pairs: Links) -> list[str]:
    """Return hashes of the queries of pairs; none if the documents themselves are the queries."""
    return [] if queries is None else sorted({hash_query(queries.full_text(row)) for row in np.unique(pairs.sources)})
