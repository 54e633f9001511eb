"""From the records of a store to one grade for each pair: from one judge, or merged from several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median, multimode

import numpy as np

from tacit.core import Collection, DataError, Judgments, Lists, TacitError, UsageError, check_choice, checked
from tacit.data import read_qrels
from tacit.data.inputs import queries_by_text
from tacit.judge.columns import read_columns
from tacit.judge.store import JudgmentStore

MERGES: dict[str, Callable[[list[float]], float]] = {
    "last": lambda grades: grades[-1],
    "mean": fmean,
    "median": median,
    "majority": lambda grades: min(multimode(grades)),
    "lowest": min,
    "highest": max,
}


@checked
def choose_judges(store: JudgmentStore, judges: Sequence[str] = (), merge: str | None = None) -> list[str]:
    """Return the names of the judges to use.

    Parameters
    ----------
    store : JudgmentStore
        The store.
    judges : sequence of str, default=()
        The requested judges. Empty: every judge that is a person, or the only program if there is no person.
    merge : str or None, default=None
        Rule that merges several judges; a name of `MERGES`. Required for several judges.
    """
    known = {judge.name: judge for judge in store.judges() if judge.n_judgments}
    listed = ", ".join(f"{judge.name!r} ({judge.kind}, {judge.n_judgments})" for judge in known.values())
    if not known:
        raise UsageError(f"{store.path}: has no judgments")
    if merge is not None:
        check_choice("merge", merge, MERGES)
    for name in judges:
        if name not in known:
            raise UsageError(f"{store.path}: has no judge {name!r}, only {listed}")
    people = [name for name, judge in known.items() if judge.kind == "person"]
    chosen = list(dict.fromkeys(judges)) or people or ([] if merge else list(known))
    if not chosen:
        raise UsageError(f"{store.path}: no judge is a person, only {listed}; name the judges (--judge) to be merged")
    if len(chosen) > 1 and merge is None:
        raise UsageError(f"{store.path}: has several judges: {listed}; name one (--judge) or a merge (--merge)")
    return chosen


@checked
def merged_judgments(store: JudgmentStore, judges: Sequence[str] = (), merge: str | None = None) -> Judgments:
    """Return the current judgments of one judge, or of several merged, with their probabilities.

    Pairs marked "cannot judge" are left out, their queries are kept. Programs are merged only if they are named.
    See `choose_judges` for the parameters; `majority` takes the lower grade of a tie, `last` the newest judgment.
    """
    found = read_columns(store, choose_judges(store, judges, merge))
    rows = np.argsort(found.time, kind="stable")
    query, query_ids = _renumbered(found.query[rows], found.query_ids)
    graded = ~np.isnan(found.grade[rows])
    rows, query = rows[graded], query[graded]
    pair, first, member = np.unique(found.pair[rows], return_index=True, return_inverse=True)
    order = np.argsort(first)  # pairs in the order of their first judgment
    doc, doc_ids = _renumbered(found.doc[rows][first[order]], found.doc_ids)
    probability = found.probability[rows][first[order]]
    return Judgments(
        query_ids,
        doc_ids,
        query[first[order]],
        doc,
        _merged(found.grade[rows], member, len(pair), MERGES[merge or "last"])[order],
        probability if not np.isnan(probability).all() else None,
    )


def judgments_about(judgments: Judgments, documents: Collection) -> Judgments:
    """Return the judgments of documents in a collection; others were removed after they were judged.

    >>> judged = Judgments.from_dict({"q": {"a": 1, "gone": 2}})
    >>> judgments_about(judged, Collection(["a"], [""], ["x"])).to_dict()
    {'q': {'a': 1.0}}
    """
    held = np.array([doc_id in documents.row_of for doc_id in judgments.doc_ids], bool)
    return judgments.select(np.ones(len(judgments.query_ids), bool), held[judgments.doc])


def _renumbered(numbers: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """Return numbers from 0 in order of first appearance, and the names with these numbers."""
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return np.argsort(order)[inverse], [names[row] for row in numbers[first[order]].tolist()]


def _merged(grade: np.ndarray, member: np.ndarray, n_pairs: int, join: Callable[[list[float]], float]) -> np.ndarray:
    """Return one grade for each pair; the grades of a pair are in the order of their times."""
    if len(grade) == n_pairs:
        found = np.empty(n_pairs)
        found[member] = grade
        return found
    order = np.argsort(member, kind="stable")
    parts = np.split(grade[order], np.flatnonzero(np.diff(member[order])) + 1)
    return np.array([join(part.tolist()) for part in parts], np.float64)


@checked
def read_judgments(
    path: str | Path, judges: Sequence[str] = (), merge: str | None = None, *, encoding: str | None = None
) -> Judgments:
    """Read judgments from a store, a file (as `read_qrels`) or a folder; judges and merge are for stores."""
    if is_store(path):
        with JudgmentStore(path, read_only=True) as store:
            return merged_judgments(store, judges, merge)
    if len(judges) or merge:
        raise UsageError(f"{path}: is not a judgment store, so there are no judges to choose or merge")
    return read_qrels(find_qrels(path), encoding=encoding)


@checked
def read_query_texts(path: str | Path, judgments: Judgments) -> Collection | None:
    """Return queries with texts, from a store or a file that names queries by text; None if there are no texts.

    A file names its queries by text if any of them contains a space.
    """
    if is_store(path):
        with JudgmentStore(path, read_only=True) as store:
            queries = store.queries()
        judged = set(judgments.query_ids)
        kept = [row for row, (name, _, text) in enumerate(queries) if name in judged and text]
        return queries.take(kept) if kept else None
    return queries_by_text(judgments)


def find_qrels(path: str | Path) -> str | Path:
    """Find the judgments of a folder: `qrels/test.tsv` as in BEIR, the only file of `qrels/`, or `qrels.txt`."""
    folder = Path(path)
    if not folder.is_dir():
        return path
    files = sorted(file for file in (folder / "qrels").glob("*") if file.is_file())
    named = [file for file in files if file.name.startswith(("test.", "test-"))] or files
    named = [*named, *sorted(folder.glob("qrels.*"))] if len(named) != 1 else named
    if len(named) == 1:
        return named[0]
    found = ", ".join(str(file.relative_to(folder)) for file in named) or "neither"
    raise DataError(f"the folder has {found}, want qrels/test.tsv, one file in qrels/, or one qrels.txt", path=folder)


@checked
def graded_lists(lists: Lists, judgments: Judgments) -> Lists:
    """Return the lists with the grades of the judgments; all other rows are unjudged.

    >>> lists = Lists(np.zeros((2, 1)), np.zeros(2), np.array([0, 2]), ["q"], ["a", "b"])
    >>> graded_lists(lists, Judgments.from_dict({"q": {"b": 2}})).y.tolist()
    [nan, 2.0]
    """
    grades, query = judgments.to_dict(), lists.qid
    names = enumerate(lists.document_names())
    y = np.array([grades.get(lists.query_ids[query[row]], {}).get(name, np.nan) for row, name in names], np.float64)
    if np.isnan(y).all():
        raise TacitError(f"no judgment (of {len(judgments)}) is about a row of the lists")
    return replace(lists, y=y)


@checked
def is_store(path: str | Path) -> bool:
    """Return whether the file is an SQLite file, by its first bytes."""
    try:
        with open(path, "rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except (OSError, ValueError):
        return False  # the reader of the file reports the problem
