"""Export a ranker to OpenSearch, Vespa and XGBoost, and show the error for a ranker that cannot be exported.

python examples/export_to_engines.py FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from tacit import RankBoostRanker, StandingRanker, TacitError
from tacit.integrations.exportable import nearest
from tacit.integrations.opensearch import engine_files, model_body
from tacit.integrations.xgboost import dump_json, make_trees, model_json

COLUMNS = ["body.bm25", "title.bm25"]


def main(folder: Path) -> None:
    """Fit two rankers and export the one that scores each row independently of its list."""
    rng = np.random.default_rng(0)
    X, qid = rng.gamma(2.0, size=(200, 2)), np.repeat(np.arange(10), 20)
    y = (X[:, 0] + 2 * X[:, 1] > 6).astype(int)
    ranker = RankBoostRanker(n_rounds=20).fit(X, y, qid)
    trees = make_trees(ranker)
    files = engine_files(ranker, COLUMNS, "shop") | {
        "xgboost.json": model_json(trees, COLUMNS),
        "vespa.json": dump_json(trees, COLUMNS),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), "utf-8")
    print(f"{len(trees)} trees: {', '.join(sorted(files))}")
    by_list = StandingRanker().fit(X, y, qid)
    try:
        model_body(by_list, COLUMNS, "shop")
    except TacitError as reason:
        print(f"{reason}; nearest: {nearest(by_list).options}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "exported"))
