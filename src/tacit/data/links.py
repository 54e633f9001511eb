"""Links between documents and query-document pairs: `source<TAB>target[<TAB>weight]`, one per line.

Ids must exist in the given collections. A repeated pair is an error, because its weight would be ambiguous. Links of a
document to itself and a header line are skipped; both are logged as warnings of the logger `tacit`.
"""

from __future__ import annotations

from array import array

import numpy as np

from tacit.core import Collection, DataError, Links, TacitError, check_kind, checked
from tacit.data.columns import (
    UnknownIds,
    check_ids,
    is_header,
    logger,
    parse_weight,
    refuse_repeats,
    report_header,
    split_tabs,
    used_ids,
)
from tacit.data.files import FilePath, display_name, open_output, read_lines


def read_links(
    path: FilePath, sources: Collection, targets: Collection | None = None, *, skip_unknown: bool = False
) -> Links:
    """Read links between documents; the default weight is 1.

    Parameters
    ----------
    path : path
        TSV file of `source<TAB>target[<TAB>weight]`.
    sources : Collection
        Documents at which links start.
    targets : Collection, default=None
        Documents at which links end; None for the same collection, where links of a document to itself are skipped.
    skip_unknown : bool, default=False
        Skip lines with an id that is not in its collection and log their number, instead of raising an error.

    Returns
    -------
    Links

    Examples
    --------
    >>> import pathlib, tempfile
    >>> docs = Collection(["a", "b"], ["", ""], ["", ""])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "links.tsv")
    ...     _ = path.write_text("a\\tb\\t0.5\\nb\\ta\\n")
    ...     links = read_links(path, docs)
    >>> links.sources, links.targets, links.weights
    (array([0, 1]), array([1, 0]), array([0.5, 1. ], dtype=float32))
    """
    targets = sources if targets is None else targets
    links = _read(path, sources, targets, ("source", "target"), skip_unknown)
    return _without_self_links(links, display_name(path)) if targets is sources else links


def read_pairs(path: FilePath, queries: Collection, docs: Collection, *, skip_unknown: bool = False) -> Links:
    """Read pairs of a query and a relevant document: `query_id<TAB>doc_id[<TAB>weight]`.

    Parameters
    ----------
    path : path
        Plain or compressed file; `-` is standard input.
    queries : Collection
        Queries.
    docs : Collection
        Documents.
    skip_unknown : bool, default=False
        Skip pairs with an unknown id and log their number, instead of raising an error.

    Returns
    -------
    Links
    """
    return _read(path, queries, docs, ("query", "document"), skip_unknown)


@checked
def write_links(links: Links, path: FilePath, sources: Collection, targets: Collection | None = None) -> None:
    """Write links with the ids of the collections; weights are left out if all are 1.

    Parameters
    ----------
    links : Links
        Links to write.
    path : path
        File to write; `-` is standard output.
    sources : Collection
        Documents at which links start.
    targets : Collection, default=None
        Documents at which links end; None for the same collection.
    """
    targets = sources if targets is None else targets
    if (links.n_sources, links.n_targets) != (len(sources), len(targets)):
        raise TacitError(
            f"links join {links.n_sources} to {links.n_targets} rows, "
            f"the collections have {len(sources)} and {len(targets)}; want the same numbers"
        )
    check_ids("source id", used_ids(sources.ids, links.sources))
    check_ids("target id", used_ids(targets.ids, links.targets))
    weighted = bool((links.weights != 1).any())
    with open_output(path) as out:
        for source, target, weight in zip(links.sources.tolist(), links.targets.tolist(), links.weights, strict=True):
            out.write(f"{sources.ids[source]}\t{targets.ids[target]}")
            out.write(f"\t{weight!s}\n" if weighted else "\n")


def _without_self_links(links: Links, place: str) -> Links:
    kept = links.sources != links.targets
    n_left_out = len(links) - np.count_nonzero(kept)
    if n_left_out == len(links):
        raise DataError(f"every link ({len(links)}) is from a document to itself, want two documents", path=place)
    if n_left_out:
        logger.warning("%s: left out: links from a document to itself: %d of %d", place, n_left_out, len(links))
    return links.take(kept) if n_left_out else links


def _read(path: FilePath, left: Collection, right: Collection, names: tuple[str, str], skip_unknown: bool) -> Links:
    for label, known in zip(names, (left, right), strict=True):
        check_kind(label, known, Collection, "a Collection")
    place, unknown = display_name(path), UnknownIds(display_name(path))
    wanted = f"{names[0]}<TAB>{names[1]}, or these and <TAB>weight"
    sources, targets, weights, lines = array("q"), array("q"), array("d"), array("q")
    row_of_left, row_of_right = left.row_of, right.row_of
    for number, line in read_lines(path):
        if not line or line.isspace():
            continue
        fields = split_tabs(line, wanted, (2, 3), place, number)
        if number == 1 and is_header(fields) and not (fields[0] in row_of_left and fields[1] in row_of_right):
            report_header(fields, place, number)
            continue
        weight = parse_weight(fields[2], place, number) if len(fields) == 3 else 1.0
        source, target = row_of_left.get(fields[0], -1), row_of_right.get(fields[1], -1)
        if source < 0 or target < 0:
            bad = 0 if source < 0 else 1
            unknown.add(number, names[bad], fields[bad])
            continue
        sources.append(source)
        targets.append(target)
        weights.append(weight)
        lines.append(number)
    unknown.settle(len(lines), skip=skip_unknown)
    if not lines:
        raise DataError(f"has no lines, want {wanted}", path=place)
    source_rows, target_rows = np.array(sources, np.int64), np.array(targets, np.int64)
    refuse_repeats(place, lines, f"this pair of {names[0]} and {names[1]}", source_rows, target_rows)
    return Links(source_rows, target_rows, len(left), len(right), np.array(weights, np.float32))
