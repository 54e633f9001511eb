"""Scores of rows of features by a ranker of lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from fastapi import FastAPI

from tacit.app.web.bodies import RankBody
from tacit.app.web.counters import Counters
from tacit.core import TacitError


def add(app: FastAPI, ranker: Any, counters: Counters) -> None:
    """Add the routes."""

    @app.post("/rank", summary="Scores of rows of features, which are one list")
    @counters.count("/rank")
    def rank(body: RankBody) -> Any:
        if ranker is None:
            raise TacitError("the service has no ranker of lists, want one: tacit serve --ranker MODEL")
        if body.documents is not None and len(body.documents) != len(body.features):
            raise TacitError(f"ids in documents: {len(body.documents)}, rows: {len(body.features)}; want one for each")
        widths = {len(row) for row in body.features}
        if len(widths) != 1:
            raise TacitError(
                f"rows of features have {min(widths)} to {max(widths)} numbers, want the same number in each"
            )
        table = np.array([[np.nan if v is None else v for v in row] for row in body.features], np.float64)
        scores = ranker.predict(table, np.zeros(len(table), np.int64))
        names = body.documents or [str(row) for row in range(len(table))]
        order = np.argsort(-scores, kind="stable")
        return {"ranking": [{"rank": r + 1, "id": names[i], "score": float(scores[i])} for r, i in enumerate(order)]}
