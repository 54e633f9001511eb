"""Train a new version, and follow the training by server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from tacit.app.web.bodies import TrainBody
from tacit.app.web.counters import Counters
from tacit.app.web.trainer import Trainer
from tacit.app.web.workspace import Workspace

SECONDS_BETWEEN = 15.0  # a message at least so often, so that a lost connection is noticed


def add(app: FastAPI, workspace: Workspace, counters: Counters) -> None:
    """Add the routes."""
    trainer = Trainer(workspace)

    @app.post("/train", summary="Train a new version on the current judgments", status_code=202)
    @counters.count("/train")
    def train(body: TrainBody | None = None) -> Any:
        body = body or TrainBody()
        return trainer.start(body.method, body.judge, body.params)

    @app.get("/train", summary="What the training is doing, or how the last one ended")
    @counters.count("/train")
    def training() -> Any:
        return trainer.state

    @app.get("/train/events", summary="The same, as server-sent events until the training ends")
    def events() -> Any:
        return StreamingResponse(_events(trainer), media_type="text/event-stream")


def _events(trainer: Trainer) -> Iterator[str]:
    turn = -1
    while True:
        turn, state = trainer.wait_for_change(turn, SECONDS_BETWEEN)
        yield f"data: {json.dumps(state)}\n\n"
        if state["state"] != "running":
            return
