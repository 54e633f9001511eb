"""Judgments (qrels) and runs in the formats of TREC, BEIR and LETOR.

    qrels   query 0 document grade [probability]   columns separated by spaces
    BEIR    query-id corpus-id score          columns separated by tabs, with a header of these names
    LETOR   grade qid:query 1:value ... #docid = document
    run     query Q0 document rank score tag  columns separated by spaces

The first line determines which of the three formats a file of judgments has. Other tables (CSV, JSON, parquet, …) with
columns of queries, documents and grades, guessed by name, are read too. A negative grade means unjudged: the pair is
left out, its query stays. The probability is the probability that the pair was chosen to be judged. A run is ordered by
its scores; the rank column orders ties.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from tacit.core import Collection, DataError, Judgments, Run, TacitError, check_choice, check_kind, checked, plural
from tacit.data.columns import (
    check_ids,
    first_repeat,
    id_problem,
    id_text,
    logger,
    parse_number,
    refuse_repeats,
    split_tabs,
    used_ids,
)
from tacit.data.files import FilePath, display_name, open_output, read_lines
from tacit.data.formats.registry import is_table, table_of
from tacit.data.formats.roles import JUDGMENT_NAMES, find_columns, listed
from tacit.data.formats.source import ReadOptions, Table, open_source

BEIR_HEADER = ["query-id", "corpus-id", "score"]
MAX_RANK = 2**62
QRELS_LINES = {"qrels": "{0} 0 {1} {2}", "beir": "{0}\t{1}\t{2}", "letor": "{2} qid:{0} #docid = {1}"}


def read_qrels(path: FilePath, *, encoding: str | None = None, table: str | None = None) -> Judgments:
    """Read judgments from a file; pairs with a negative grade are unjudged and left out.

    Parameters
    ----------
    path : path
        TREC, BEIR or LETOR file, or a table in a format that `read_collection` reads, with columns such as `query`,
        `document` and `grade`, and `probability` if the pairs were sampled; `-` is standard input.
    encoding, table : str or None, default=None
        As for `read_collection`.

    Returns
    -------
    Judgments

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "qrels.txt")
    ...     _ = path.write_text("q1 0 a 2\\nq1 0 b -1\\nq2 0 a 0\\n")
    ...     read_qrels(path).to_dict()
    {'q1': {'a': 2.0}, 'q2': {'a': 0.0}}
    """
    for label, value in (("encoding", encoding), ("table", table)):
        check_kind(label, value, str | None, "a name")
    source = open_source(path, ReadOptions(encoding=encoding or "", table=table or ""))
    if is_table(source, JUDGMENT_NAMES) and not _is_beir(source.start):
        return _gather(_table_entries(table_of(source)), source.place)
    lines = read_lines(path, source.chunks)
    opening = _opening(lines)
    first = opening[-1][1].split() if opening else []
    if len(first) > 1 and first[1].startswith("qid:"):
        return _letor_judgments(path)
    place = display_name(path)
    if first == BEIR_HEADER:
        return _gather(_beir_entries(lines, place), place)
    return _gather(_trec_entries(chain(opening, lines), place), place)


def write_qrels(judgments: Judgments, path: FilePath, *, form: str = "qrels") -> None:
    """Write judgments; queries without judgments cannot be written, and their number is logged.

    Parameters
    ----------
    judgments : Judgments
        Judgments to write.
    path : path
        File to write; `-` is standard output.
    form : {"qrels", "beir", "letor"}, default="qrels"
        TREC (with the probability as a fifth column if it is known), BEIR, or LETOR rows without features.

    Examples
    --------
    >>> write_qrels(Judgments.from_dict({"q1": {"a": 2, "b": 0.5}}), "-", form="letor")
    2 qid:q1 #docid = a
    0.5 qid:q1 #docid = b
    """
    check_kind("judgments", judgments, Judgments, "Judgments")
    _check_writable(judgments)
    line = QRELS_LINES[check_choice("form", form, QRELS_LINES)]
    if form == "letor" and (marked := [name for name in judgments.query_ids if "#" in name]):
        raise TacitError(f"query id {marked[0]!r} contains '#', which begins a comment in LETOR files")
    lost = len(judgments.query_ids) - len(used_ids(judgments.query_ids, judgments.query))
    if lost:
        logger.warning("%s: queries without judgments, not written: %d", path, lost)
    order = np.argsort(judgments.query, kind="stable")  # LETOR requires the rows of a query to be consecutive
    chances = np.full(len(order), np.nan) if judgments.probability is None else judgments.probability
    columns = (judgments.query, judgments.doc, judgments.grade, chances)
    with open_output(path) as out:
        out.write("\t".join(BEIR_HEADER) + "\n" if form == "beir" else "")
        for q, d, grade, chance in zip(*(column[order].tolist() for column in columns), strict=True):
            written = int(grade) if grade == int(grade) else grade
            ending = f" {chance!r}" if chance == chance and form == "qrels" else ""
            out.write(line.format(judgments.query_ids[q], judgments.doc_ids[d], written) + ending + "\n")


@checked
def check_known(
    judgments: Judgments,
    queries: Collection,
    docs: Collection,
    *,
    skip_unknown: bool = False,
    path: object = None,
    texts: Collection | None = None,
) -> Judgments:
    """Return the judgments if all their ids are in the collections.

    Parameters
    ----------
    judgments : Judgments
        Judgments to check.
    queries : Collection
        Queries.
    docs : Collection
        Documents.
    skip_unknown : bool, default=False
        Skip judgments with an unknown id and log their number, instead of raising an error.
    path : path, default=None
        Source of the judgments, for messages.
    texts : Collection or None, default=None
        Queries of the judgments with their texts; a query with the same text in `queries` gets the id there.

    Returns
    -------
    Judgments
    """
    judgments = judgments if texts is None else _named_by_text(judgments, queries, texts)
    query_known = np.array([query_id in queries.row_of for query_id in judgments.query_ids], bool)
    doc_known = np.array([doc_id in docs.row_of for doc_id in judgments.doc_ids], bool)
    known = query_known[judgments.query] & doc_known[judgments.doc]
    if query_known.all() and known.all():
        return judgments
    found = _unknown_in_words(judgments, query_known, doc_known, known)
    if not skip_unknown or not known.any():
        raise DataError(f"{found}; skip_unknown (--skip-unknown) leaves them out, if any remain", path=path)
    logger.warning("%s: left out: %s", path or "judgments", found)
    return judgments.select(query_known, known)


def _named_by_text(judgments: Judgments, queries: Collection, texts: Collection) -> Judgments:
    """Return the judgments with ids of `queries` for unknown queries with the same text."""
    id_of = {_normal(text): name for name, text in zip(reversed(queries.ids), reversed([*queries.texts]), strict=True)}
    text_of = {name: _normal(text) for name, _, text in texts}
    names = [name if name in queries.row_of else id_of.get(text_of.get(name, ""), name) for name in judgments.query_ids]
    if len(set(names)) != len(names):
        return judgments
    return replace(judgments, query_ids=names)


def _normal(text: str) -> str:
    return " ".join(text.split())


def read_run(path: FilePath) -> Run:
    """Read a run; the tag of the first line is its name.

    Parameters
    ----------
    path : path
        Plain or compressed file; `-` is standard input.

    Returns
    -------
    Run
    """
    place, name = display_name(path), ""
    query_rows, doc_rows = dict[str, int](), dict[str, int]()
    query, doc, score, ranks, lines = array("q"), array("q"), array("d"), array("q"), array("q")
    for number, line in read_lines(path):
        try:
            query_id, _, doc_id, text_rank, text, tag = line.split()
            value, rank = float(text), int(text_rank)
        except ValueError:
            if not line or line.isspace():
                continue
            raise _run_error(line.split(), place, number) from None
        if not -math.inf < value < math.inf or not -MAX_RANK <= rank <= MAX_RANK:
            raise _run_error(line.split(), place, number)
        name = name or tag
        query.append(query_rows.setdefault(query_id, len(query_rows)))
        doc.append(doc_rows.setdefault(doc_id, len(doc_rows)))
        score.append(value)
        ranks.append(rank)
        lines.append(number)
    if not lines:
        raise DataError("has no lines, want query Q0 document rank score tag", path=place)
    columns = np.array(query, np.int64), np.array(doc, np.int64)
    refuse_repeats(place, lines, "this pair of query and document", *columns)
    return Run(list(query_rows), list(doc_rows), *columns, np.array(score, np.float64), name, np.array(ranks, np.int64))


def write_run(run: Run, path: FilePath) -> None:
    """Write a run, each query's documents best first, ranks from 1, scores in full precision.

    Parameters
    ----------
    run : Run
        Run to write.
    path : path
        File to write; `-` is standard output.

    Examples
    --------
    >>> write_run(Run.from_dict({"q": {"a": 0.25, "b": 1.5}}), "-")
    q Q0 b 1 1.5 tacit
    q Q0 a 2 0.25 tacit
    """
    check_kind("run", run, Run, "a Run")
    _check_writable(run)
    check_ids("name of the run", [run.name], words=True)
    scores = np.asarray(run.score, np.float64)
    order = np.lexsort((run.doc if run.rank is None else run.rank, -scores, run.query))
    with open_output(path) as out:
        current, rank = -1, 0
        for q, d, score in zip(*(column[order].tolist() for column in (run.query, run.doc, scores)), strict=True):
            current, rank = q, rank + 1 if q == current else 1
            out.write(f"{run.query_ids[q]} Q0 {run.doc_ids[d]} {rank} {score!r} {run.name}\n")


@checked
def check_run_ids(query_ids: Sequence[str], doc_ids: Sequence[str]) -> None:
    """Raise if an id cannot be written to a run, such as one with a space; checked before a long ranking."""
    check_ids("query id", query_ids, words=True)
    check_ids("document id", doc_ids, words=True)


def _check_writable(table: Judgments | Run) -> None:
    """Refuse values that `read_qrels` and `read_run` would refuse."""
    check_run_ids(used_ids(table.query_ids, table.query), used_ids(table.doc_ids, table.doc))
    _refuse_repeats(table)


def _refuse_repeats(table: Judgments | Run) -> None:
    repeat = first_repeat(table.query, table.doc)
    if repeat is not None:
        query_id, doc_id = table.query_ids[table.query[repeat[1]]], table.doc_ids[table.doc[repeat[1]]]
        raise TacitError(f"query {query_id!r} has document {doc_id!r} twice, want it once")


def _is_beir(start: bytes) -> bool:
    return start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith("\t".join(BEIR_HEADER).encode())


def _table_entries(table: Table) -> Iterator[tuple[int, str, str, str, str]]:
    """Return rows of a table of judgments; a row without a grade is unjudged, like a negative one."""
    records = iter(table.records)
    first = next(records, None)
    if first is None:
        return
    columns = table.columns or tuple(first.fields)
    try:
        names = find_columns(columns, JUDGMENT_NAMES)
    except KeyError as missing:
        found = f"no column is a {missing.args[0]} (columns: {listed(columns)})"
        raise DataError(f"{found}, want query, document and grade", path=table.place) from None
    if set(names.values()) != set(names):
        logger.warning("%s: %s", table.place, "; ".join(f"{role}: {name}" for role, name in names.items()))
    sampled = next((name for name in columns if name.lower() == "probability"), "")
    for line, fields, _ in chain([first], records):
        cells = (names["query"], names["document"], names["grade"], sampled)
        query, doc, grade, chance = (_text(fields.get(name)) for name in cells)
        if table.written == "decimal comma":
            grade = grade.replace(",", ".")
        if problem := id_problem(query) or id_problem(doc):
            raise DataError(f"id {problem}", path=table.place, line=line)
        yield line, query, doc, grade or "-1", chance


def _text(value: object) -> str:
    return "" if value is None else id_text(value)


def _opening(lines: Iterator[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return the lines up to the first that shows the format; LETOR files may begin with blank and comment lines."""
    opening = []
    for number, line in lines:
        opening.append((number, line))
        if line.strip() and not line.startswith("#"):
            break
    return opening


def _letor_judgments(path: FilePath) -> Judgments:
    from tacit.data.letor.files import read_letor  # compiled code, needed for this format only

    place = display_name(path)
    if place == "<stdin>":  # its first lines are already read
        raise DataError("LETOR lists as judgments cannot come from standard input, want a file", path=place)
    try:
        judgments = read_letor(path).to_judgments()
        _refuse_repeats(judgments)
        return judgments
    except DataError:
        raise
    except TacitError as error:
        raise DataError(str(error), path=place) from None


def _trec_entries(lines: Iterable[tuple[int, str]], place: str) -> Iterator[tuple[int, str, str, str, str]]:
    """Yield (line number, query id, document id, grade, probability or empty)."""
    for number, line in lines:
        fields = line.split()
        if len(fields) in (4, 5):
            yield number, fields[0], fields[2], fields[3], fields[4] if len(fields) == 5 else ""
        elif fields:
            raise _width_error(fields, "query 0 document grade [probability]", place, number)


def _beir_entries(lines: Iterable[tuple[int, str]], place: str) -> Iterator[tuple[int, str, str, str, str]]:
    for number, line in lines:
        if line and not line.isspace():
            query_id, doc_id, grade = split_tabs(line, "query-id<TAB>corpus-id<TAB>score", (3,), place, number)
            problem = id_problem(query_id) or id_problem(doc_id)
            if problem:
                raise DataError(f"id {problem}", path=place, line=number)
            yield number, query_id, doc_id, grade, ""


def _gather(entries: Iterable[tuple[int, str, str, str, str]], place: str) -> Judgments:
    query_rows, doc_rows = dict[str, int](), dict[str, int]()
    query, doc, grade, chance, lines = array("q"), array("q"), array("d"), array("d"), array("q")
    for number, query_id, doc_id, text, chosen in entries:
        value, probability = parse_number(text), parse_number(chosen)
        if math.isnan(value):
            raise DataError(f"grade is {text!r}, want a finite number", path=place, line=number)
        if chosen and not 0 < probability <= 1:
            wanted = "want a number above 0 and at most 1"
            raise DataError(f"probability is {chosen!r}, {wanted}", path=place, line=number)
        query.append(query_rows.setdefault(query_id, len(query_rows)))
        doc.append(doc_rows.setdefault(doc_id, len(doc_rows)))
        grade.append(value)
        chance.append(probability)
        lines.append(number)
    if not lines:
        raise DataError("has no judgments, want lines of query 0 document grade", path=place)
    columns = np.array(query, np.int64), np.array(doc, np.int64)
    refuse_repeats(place, lines, "this pair of query and document", *columns)
    chances = np.array(chance, np.float64) if any(value == value for value in chance) else None
    everything = Judgments(list(query_rows), list(doc_rows), *columns, np.array(grade, np.float64), chances)
    judged = everything.grade >= 0
    if not judged.all():
        found = f"judgments with a grade below 0: {np.count_nonzero(~judged)} of {len(judged)}"
        logger.warning("%s: %s: unjudged, left out", place, found)
    return everything.select(np.ones(len(query_rows), bool), judged)


def _unknown_in_words(judgments: Judgments, query_known: np.ndarray, doc_known: np.ndarray, known: np.ndarray) -> str:
    if not query_known.all():
        example = f"query {judgments.query_ids[int(np.argmin(query_known))]!r}"
    else:
        example = f"document {judgments.doc_ids[judgments.doc[int(np.argmin(known))]]!r}"
    n_queries, n_docs = int((~query_known).sum()), int((~doc_known[np.unique(judgments.doc)]).sum())
    return (
        f"unknown ids in {np.count_nonzero(~known)} of {plural(len(known), 'judgment')} "
        f"({plural(n_queries, 'query')}, {plural(n_docs, 'document')}), the first is {example}"
    )


def _width_error(fields: list[str], wanted: str, place: str, number: int) -> DataError:
    return DataError(f"{plural(len(fields), 'column')}, want {wanted}", path=place, line=number)


def _run_error(fields: list[str], place: str, number: int) -> DataError:
    """Return the error for an invalid line of a run."""
    if len(fields) != 6:
        return _width_error(fields, "query Q0 document rank score tag", place, number)
    try:
        if abs(int(fields[3])) > MAX_RANK:
            raise ValueError
    except ValueError:
        return DataError(f"rank is {fields[3]!r}, want a whole number", path=place, line=number)
    return DataError(f"score is {fields[4]!r}, want a finite number", path=place, line=number)
