"""`tacit export`: write a model in a format that other tools read

Rankers of lists: opensearch and elasticsearch are the files of their learning-to-rank plugins; xgboost-json is a model
that XGBoost loads; vespa is the dump of its trees; linear is weights with normalizers; ranklib is RankLib's text of a
RankBoost model. Models of `tacit fit`: static-embedding is a folder that sentence-transformers and model2vec load. Any
model: npy is a folder with each dense array and the names of its rows.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from tacit.app.options import check_output
from tacit.core import DataError, TacitError, UsageError

if TYPE_CHECKING:
    import numpy as np

    from tacit.rerank import ListRanker

EXAMPLES = """examples:
  tacit export ranker.model --to opensearch --names names.txt -o ltr
  tacit export ranker.model --to xgboost-json -o model.json
  tacit export my.model --to static-embedding -o static
  tacit export my.model --to npy -o vectors"""

FORMS = ("opensearch", "elasticsearch", "xgboost-json", "vespa", "linear", "ranklib", "static-embedding", "npy")
FOLDERS = {"opensearch", "elasticsearch", "static-embedding", "npy"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit export`."""
    parser.add_argument("model", help="folder of a model of `tacit fit` or `tacit rank --save`")
    parser.add_argument("--to", choices=FORMS, required=True, help="format to write")
    parser.add_argument(
        "-o",
        "--output",
        default="-",
        metavar="OUT",
        help=f"file (default stdout); for {', '.join(sorted(FOLDERS))} a new folder",
    )
    parser.add_argument(
        "--names", metavar="F", help="names of the columns, one per line, as written by `tacit features --names`"
    )
    parser.add_argument("--train", metavar="F", help="lists that the ranker learned from, to train an alternative on")
    parser.add_argument(
        "--vali", metavar="F", help="lists to compare a ranker that cannot be exported with the alternative"
    )


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Load, write."""
    if (args.train is None) != (args.vali is None):
        raise UsageError("--train and --vali go together: an alternative is trained on one and measured on the other")
    if args.to in FOLDERS:
        if args.output == "-":
            raise UsageError(f"{args.to} is a folder of files, want its name: -o FOLDER")
        if Path(args.output).exists():
            raise UsageError(f"{args.output} exists, want the name of a new folder")
    else:
        check_output(args.output)
    if args.to == "npy":
        _export_arrays(args)
    elif args.to == "static-embedding":
        _export_static_embedding(args)
    else:
        _export_ranker(args)
    return 0


def _export_arrays(args: argparse.Namespace) -> None:
    arrays, names = read_arrays(args.model)
    write_arrays(args.output, arrays, names)
    shapes = ", ".join(f"{name} {' x '.join(map(str, array.shape))}" for name, array in arrays.items())
    sys.stderr.write(f"{args.output}: {shapes}\n")


def _export_static_embedding(args: argparse.Namespace) -> None:
    from tacit.integrations.sentence_transformers import export_static_embedding
    from tacit.search import Searcher

    left_out = export_static_embedding(Searcher.load(args.model), args.output)
    told = f", without {', '.join(left_out)}" if left_out else ""
    sys.stderr.write(f"{args.output}: vectors of words{told}\n")


def _export_ranker(args: argparse.Namespace) -> None:
    from tacit.data import write_text
    from tacit.rerank import ListRanker, write_ranklib
    from tacit.search import load

    ranker = load(args.model, ListRanker)
    if args.to == "ranklib":
        write_ranklib(ranker, args.output)
        return
    columns = _column_names(args, ranker)
    _check_exportable(args, ranker)
    if args.to in FOLDERS:
        _write_engine(args, ranker, columns)
    else:
        write_text(args.output, json.dumps(_as_json(args.to, ranker, columns)) + "\n")


def _as_json(form: str, ranker: ListRanker, columns: Sequence[str]) -> Any:
    from tacit.integrations.exportable import to_linear
    from tacit.integrations.opensearch import linear_model
    from tacit.integrations.xgboost import dump_json, make_trees, model_json

    if form == "linear":
        return linear_model(to_linear(ranker), columns)
    write = model_json if form == "xgboost-json" else dump_json
    return write(make_trees(ranker, zero_if_missing=form == "vespa"), columns)


def _check_exportable(args: argparse.Namespace, ranker: ListRanker) -> None:
    """Raise, with the nearest alternative, unless the ranker can be written in this form."""
    from tacit.integrations.exportable import has_trees, to_linear

    linear = to_linear(ranker) is not None
    if not linear and not has_trees(ranker):
        _refuse(args, ranker)
    name = type(ranker).__name__
    if args.to == "linear" and not linear:
        raise UsageError(f"{args.model}: {name} is a sum of trees, want --to xgboost-json, vespa or an engine")
    if args.to in ("xgboost-json", "vespa") and linear:
        raise UsageError(f"{args.model}: {name} is linear and has no trees, want --to linear or an engine")


def _refuse(args: argparse.Namespace, ranker: ListRanker) -> NoReturn:
    from tacit.data import read_letor
    from tacit.integrations.exportable import cost, nearest, why_not

    alternative = nearest(ranker)
    found = f"{args.model}: {why_not(ranker)}; the nearest that can be exported is tacit rank {alternative.options}"
    if args.vali is None:
        raise UsageError(f"{found} (--train and --vali measure the cost)")
    width = int(ranker.n_features_in_)
    train, vali = (read_letor(path, n_features=width) for path in (args.train, args.vali))
    ours, theirs = cost(ranker, alternative.ranker, train, vali)
    raise UsageError(f"{found}: nDCG-letor@10 {theirs:.4f} instead of {ours:.4f} on {args.vali}")


def _column_names(args: argparse.Namespace, ranker: ListRanker) -> list[str]:
    """Return the names of the ranker's columns: given, known from a data frame, or f1, f2, ..."""
    from tacit.data import read_lines

    width = int(ranker.n_features_in_)
    if args.names is None:
        return list(getattr(ranker, "feature_names_in_", None) or (f"f{number + 1}" for number in range(width)))
    names = [line.strip() for _, line in read_lines(args.names) if line.strip()]
    if len(names) != width or len(set(names)) != width:
        raise DataError(f"different names: {len(set(names))}, want {width}, one for each column", path=args.names)
    return names


def _write_engine(args: argparse.Namespace, ranker: ListRanker, columns: Sequence[str]) -> None:
    from tacit.data import staged
    from tacit.integrations.opensearch import can_compute, engine_files

    files = engine_files(ranker, columns, Path(args.model).stem)
    with staged(args.output, folder=True) as stage:
        for name, content in files.items():
            Path(stage, name).write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    foreign = [column for column in columns if not can_compute(column)]
    told = f"; no feature set: columns without a query: {len(foreign)}, the first is {foreign[0]}" if foreign else ""
    sys.stderr.write(f"{args.output}: {', '.join(files)}{told}\n")


def read_arrays(model: str | Path) -> tuple[dict[str, np.ndarray], dict[str, Sequence[str]]]:
    """Return the dense arrays of a saved model, and the names of its documents and words, if any."""
    from tacit.search import Searcher, load

    found = load(model)
    names: dict[str, Sequence[str]] = {}
    ranker: Any
    if isinstance(found, Searcher):
        ranker = found.ranker_
        names = {"documents": found.documents_.ids, "words": found.vectorizer_.vocabulary_}
    else:
        ranker = found
    arrays = _dense(ranker)
    if not arrays:
        raise TacitError(
            f"{model}: a {type(ranker).__name__} has no dense arrays; want a model with vectors or weights"
        )
    return arrays, names


def write_arrays(folder: str | Path, arrays: Mapping[str, np.ndarray], names: Mapping[str, Sequence[str]]) -> None:
    """Write NAME.npy for each array and NAME.txt, one name per line; the folder is created atomically."""
    import numpy as np

    from tacit.data import staged
    from tacit.store.files import os_errors

    with os_errors(folder, "cannot be written"), staged(folder, folder=True) as stage:
        for name, array in arrays.items():
            np.save(Path(stage, f"{name}.npy"), array)
        for name, texts in names.items():
            Path(stage, f"{name}.txt").write_text("".join(f"{text}\n" for text in texts), "utf-8")


def _dense(ranker: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """Return the dense arrays of a ranker and, as `name.array`, of its inner estimators."""
    import numpy as np

    from tacit.core import Estimator

    found: dict[str, np.ndarray] = {}
    for name in ranker._fitted:
        value, shown = getattr(ranker, name, None), prefix + name.rstrip("_")
        if isinstance(value, np.ndarray) and value.size:
            found[shown] = value
        elif isinstance(value, Estimator):
            found |= _dense(value, f"{shown}.")
    return found
