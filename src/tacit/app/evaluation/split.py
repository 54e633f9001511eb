"""`tacit split`: split data by query into training and test sets

INPUT is a file of queries or a BEIR folder (with --qrels), a file of links (split by their sources), or feature lists
(LETOR). Queries of one group are never in both parts.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tacit.app.options import add_shared, read_groups, whole_number
from tacit.core import TacitError, UsageError, plural

if TYPE_CHECKING:
    import numpy as np

    from tacit.core import Collection

EXAMPLES = """examples:
  tacit split queries.jsonl --qrels qrels.txt --out parts --test 0.3
  tacit split queries.jsonl --qrels qrels.txt --group topic --out parts
  tacit split lists.txt.gz --folds 5 --out parts
  tacit split links.tsv --out parts"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit split`."""
    parser.add_argument("input", help="queries (with --qrels), links, or feature lists (LETOR)")
    parser.add_argument("--out", required=True, metavar="DIR", help="new or empty folder for the parts")
    parser.add_argument("--qrels", metavar="F", help="judgments of the queries: TREC or BEIR format")
    parser.add_argument("--test", type=float, default=0.2, metavar="SHARE", help="share of test queries (default 0.2)")
    parser.add_argument("--folds", type=whole_number(2), metavar="N", help="lists: write folds.json with N folds")
    parser.add_argument("--group", metavar="FIELD", help="field of the queries with their group, kept in one part")
    add_shared(parser, "--seed")


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Read, split, write."""
    folder = _new_folder(args)
    counts = _kind(args)(args, folder)
    for name, n_queries in counts.items():
        sys.stderr.write(f"{folder / name}: {plural(n_queries, 'query')}\n")
    return 0


def _new_folder(args: argparse.Namespace) -> Path:
    from tacit.core import check_number

    check_number("--test", args.test, low=0, high=1, open_low=True)
    folder = Path(args.out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"--out {args.out} exists and is not empty, want a new folder")
    return folder


def _kind(args: argparse.Namespace) -> Callable[[argparse.Namespace, Path], dict[str, int]]:
    """Return the function that splits the input, by its kind."""
    from tacit.data import find_file, read_lines

    if os.path.isdir(args.input):
        args.input = find_file(args.input, ("queries.jsonl",))
    first = next((line for _, line in read_lines(args.input) if line.strip()), "")
    if " qid:" in first:
        if args.qrels or args.group:
            raise UsageError("feature lists contain grades and groups: leave --qrels and --group out")
        return _split_lists
    if args.folds:
        raise UsageError("--folds is for feature lists")
    if args.qrels:
        return _split_queries
    if first.count("\t") in (1, 2) and not args.group:
        return _split_links
    raise UsageError(f"{args.input}: want feature lists, links (source<TAB>target), or queries with --qrels")


def _is_test(names: Sequence[str], args: argparse.Namespace, groups: Sequence[object] | None = None) -> np.ndarray:
    """Choose the names of the test set: groups in random order, until the share is reached."""
    import numpy as np

    keys = [str(key) for key in (names if groups is None else groups)]
    sizes = Counter(sorted(keys))
    distinct, chosen, n_chosen = list(sizes), set[str](), 0
    for number in np.random.default_rng(args.seed).permutation(len(distinct)).tolist():
        if n_chosen >= args.test * len(keys) - 0.5:
            break
        chosen.add(distinct[number])
        n_chosen += sizes[distinct[number]]
    is_test = np.array([key in chosen for key in keys])
    if is_test.all() or not is_test.any():
        empty = "training" if is_test.all() else "test"
        raise TacitError(f"--test {args.test:g} of {plural(len(keys), 'query')} leaves the {empty} part empty")
    return is_test


def _split_queries(args: argparse.Namespace, folder: Path) -> dict[str, int]:
    from tacit.core import Judgments
    from tacit.data import read_qrels, read_queries, write_qrels

    queries, qrels = read_queries(args.input, extras=[args.group] if args.group else []), read_qrels(args.qrels)
    is_test = _is_test(queries.ids, args, read_groups(queries, args.group))
    grades, counts = qrels.to_dict(), {}
    folder.mkdir(parents=True, exist_ok=True)
    for part, mask in (("train", ~is_test), ("test", is_test)):
        kept = queries.take(mask.nonzero()[0])
        _write_queries(args.input, kept, folder / f"{part}.queries.jsonl")
        judged = {query: grades[query] for query in kept.ids if query in grades}
        write_qrels(Judgments.from_dict(judged), folder / f"{part}.qrels.txt")
        counts[f"{part}.queries.jsonl"] = len(kept)
    return counts


def _write_queries(source: str, kept: Collection, path: Path) -> None:
    """Write some queries with all their fields."""
    from tacit.data import read_lines, write_collection, write_text

    lines = [line.strip() for _, line in read_lines(source) if line.strip()]
    if not lines[0].startswith("{"):
        write_collection(kept, path)
        return
    read = ((line, json.loads(line)) for line in lines)
    write_text(path, "".join(f"{line}\n" for line, q in read if str(q.get("id", q.get("_id"))) in kept.row_of))


def _split_links(args: argparse.Namespace, folder: Path) -> dict[str, int]:
    from tacit.data import read_lines, write_text

    lines = [line.rstrip("\n") for _, line in read_lines(args.input) if line.strip()]
    sources = [line.split("\t", 1)[0] for line in lines]
    names = list(dict.fromkeys(sources))
    test = {name for name, chosen in zip(names, _is_test(names, args), strict=True) if chosen}
    folder.mkdir(parents=True, exist_ok=True)
    for part, wanted in (("train", False), ("test", True)):
        kept = [f"{line}\n" for line, source in zip(lines, sources, strict=True) if (source in test) == wanted]
        write_text(folder / f"{part}.links.tsv", "".join(kept))
    return {"train.links.tsv": len(names) - len(test), "test.links.tsv": len(test)}


def _split_lists(args: argparse.Namespace, folder: Path) -> dict[str, int]:
    from tacit.data import read_letor, write_letor, write_text

    lists = read_letor(args.input)
    folder.mkdir(parents=True, exist_ok=True)
    if args.folds:
        folds = _folds(lists.query_ids, args)
        write_text(folder / "folds.json", json.dumps(folds, indent=1) + "\n")
        return {"folds.json": len(lists)}
    is_test = _is_test(lists.query_ids, args)
    for part, mask in (("train", ~is_test), ("test", is_test)):
        write_letor(lists.take(mask.nonzero()[0]), folder / f"{part}.txt")
    return {"train.txt": int((~is_test).sum()), "test.txt": int(is_test.sum())}


def _folds(names: Sequence[str], args: argparse.Namespace) -> dict[str, Any]:
    """Make folds: each part is the test part once, and the next part is its validation part."""
    from tacit.judge.advise.procedure import make_folds

    n_folds = args.folds
    fold_of = make_folds(len(names), n_folds, args.seed)
    parts = [[name for name, fold in zip(names, fold_of, strict=True) if fold == number] for number in range(n_folds)]
    folds = {}
    for number in range(n_folds):
        vali = (number + 1) % n_folds
        train = [name for other in range(n_folds) if other not in (number, vali) for name in parts[other]]
        folds[f"Fold{number + 1}"] = {"train": train, "vali": parts[vali], "test": parts[number]}
    return folds
