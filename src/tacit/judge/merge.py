"""From the records of a store to one grade for each pair: one judge's, or a stated merge of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median, multimode

import numpy as np

from tacit.core import DataError, Judgments, Lists, TacitError, UsageError, check_choice
from tacit.data import read_qrels
from tacit.judge.records import Judgment
from tacit.judge.store import JudgmentStore

MERGES: dict[str, Callable[[list[float]], float]] = {
    "last": lambda grades: grades[-1],
    "mean": fmean,
    "median": median,
    "majority": lambda grades: min(multimode(grades)),
    "lowest": min,
    "highest": max,
}


def choose_judges(store: JudgmentStore, judges: Sequence[str] = (), merge: str | None = None) -> list[str]:
    """Names of the judges whose judgments are wanted.

    Parameters
    ----------
    store : JudgmentStore
        The store.
    judges : sequence of str, default=()
        The judges wanted. Without any: every judge that is a person; without a person, the only program.
    merge : str or None, default=None
        How several judges are merged; a name of `MERGES`. Needed for several judges.
    """
    known = {judge.name: judge for judge in store.judges() if judge.n_judgments}
    listed = ", ".join(f"{judge.name!r} ({judge.kind}, {judge.n_judgments})" for judge in known.values())
    if not known:
        raise UsageError(f"{store.path}: holds no judgments")
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


def merged_judgments(store: JudgmentStore, judges: Sequence[str] = (), merge: str | None = None) -> Judgments:
    """The current judgments of one judge, or of several merged, with their probabilities.

    Pairs that could not be judged are left out, their queries stay. Programs are merged only if they are named.
    See `choose_judges` for the parameters; `majority` takes the lower grade of a tie, `last` the newest judgment.
    """
    chosen = set(choose_judges(store, judges, merge))
    grades: dict[tuple[str, str], list[float]] = {}
    chance: dict[tuple[str, str], float] = {}
    queries: dict[str, int] = {}
    for record in sorted(store.current(), key=_time):
        if record.judge in chosen:
            queries.setdefault(record.query, len(queries))
            if record.grade is not None:
                pair = record.query, record.document
                grades.setdefault(pair, []).append(record.grade)
                chance[pair] = np.nan if record.probability is None else record.probability
    join = MERGES[merge or "last"]
    docs = {document: row for row, document in enumerate(dict.fromkeys(document for _, document in grades))}
    probability = np.array([chance[pair] for pair in grades], np.float64)
    return Judgments(
        list(queries),
        list(docs),
        np.array([queries[query] for query, _ in grades], np.int64),
        np.array([docs[document] for _, document in grades], np.int64),
        np.array([join(given) for given in grades.values()], np.float64),
        probability if not np.isnan(probability).all() else None,
    )


def read_judgments(path: str | Path, judges: Sequence[str] = (), merge: str | None = None) -> Judgments:
    """Judgments of a store, of a TREC, BEIR or LETOR file, or of a folder with one; judges and merge are for stores."""
    if is_store(path):
        with JudgmentStore(path, read_only=True) as store:
            return merged_judgments(store, judges, merge)
    if judges or merge:
        raise UsageError(f"{path}: is no judgment store, so there are no judges to choose or merge")
    return read_qrels(find_qrels(path))


def find_qrels(path: str | Path) -> str | Path:
    """The judgments of a folder: `qrels/test.tsv` as in BEIR, the only file of `qrels/`, or `qrels.txt`; or a file."""
    folder = Path(path)
    if not folder.is_dir():
        return path
    files = sorted(file for file in (folder / "qrels").glob("*") if file.is_file())
    named = [file for file in files if file.name.startswith("test.")] or files
    named = [*named, *sorted(folder.glob("qrels.*"))] if len(named) != 1 else named
    if len(named) == 1:
        return named[0]
    found = ", ".join(str(file.relative_to(folder)) for file in named) or "neither"
    raise DataError(f"the folder has {found}, want qrels/test.tsv, one file in qrels/, or one qrels.txt", path=folder)


def graded_lists(lists: Lists, judgments: Judgments) -> Lists:
    """The lists with the grades of the judgments; all other rows are unjudged.

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


def is_store(path: str | Path) -> bool:
    """Whether the file is an SQLite file, by its first bytes."""
    try:
        with open(path, "rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except (OSError, ValueError):
        return False  # the reader of the file says what is wrong with it


def _time(record: Judgment) -> str:
    return record.time
