"""`tacit export`: write a model in a form that other tools read

ranklib: the text of a RankBoost model, for learning-to-rank plugins of search engines. npy: a folder with each dense
array of the model (vectors of items, tables of words, weights of features) and the names of its rows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tacit.app.options import check_output

if TYPE_CHECKING:
    import numpy as np

EXAMPLES = """examples:
  tacit export ranker.model --to ranklib -o ranklib.txt
  tacit export my.model --to npy -o vectors"""

FORMS = ("ranklib", "npy")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit export`."""
    parser.add_argument("model", help="folder of a model of `tacit fit` or `tacit rank --save`")
    parser.add_argument("--to", choices=FORMS, required=True, help="ranklib: text; npy: a folder of arrays")
    parser.add_argument(
        "-o", "--output", default="-", metavar="OUT", help="file (default stdout), for npy a new folder"
    )


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Load, write."""
    from tacit.core import UsageError
    from tacit.rerank import ListRanker, write_ranklib
    from tacit.search import load

    if args.to == "ranklib":
        check_output(args.output)
        write_ranklib(load(args.model, ListRanker), args.output)
        return 0
    if args.output == "-":
        raise UsageError("npy is a folder of files, want its name: -o FOLDER")
    arrays, names = read_arrays(args.model)
    write_arrays(args.output, arrays, names)
    shapes = ", ".join(f"{name} {' x '.join(map(str, array.shape))}" for name, array in arrays.items())
    sys.stderr.write(f"{args.output}: {shapes}\n")
    return 0


def read_arrays(model: str | Path) -> tuple[dict[str, np.ndarray], dict[str, Sequence[str]]]:
    """The dense arrays of a saved model, and the names of documents and words where it has any."""
    from tacit.core import TacitError
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
    """Write NAME.npy for each array and NAME.txt, one name a line; the folder appears whole or not at all."""
    import numpy as np

    from tacit.core import UsageError
    from tacit.data import staged

    if Path(folder).exists():
        raise UsageError(f"{folder} exists, want the name of a new folder")
    with staged(folder, folder=True) as stage:
        for name, array in arrays.items():
            np.save(Path(stage, f"{name}.npy"), array)
        for name, texts in names.items():
            Path(stage, f"{name}.txt").write_text("".join(f"{text}\n" for text in texts), "utf-8")


def _dense(ranker: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """Dense arrays of a ranker and, as `name.array`, of the estimators in it."""
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
