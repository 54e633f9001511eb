"""Versions of the model."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from tacit.app.web.bodies import SwitchBody
from tacit.app.web.counters import Counters
from tacit.app.web.workspace import Workspace


def add(app: FastAPI, workspace: Workspace, counters: Counters) -> None:
    """Add the routes."""

    @app.get("/versions", summary="Versions of the model, and which one answers")
    @counters.count("/versions")
    def versions() -> Any:
        found = [{"version": name, "verdict": workspace.verdict(name)} for name in workspace.versions]
        return {"active": workspace.active.name, "versions": found}

    @app.post("/versions", summary="Let another version answer")
    @counters.count("/versions")
    def switch(body: SwitchBody) -> Any:
        workspace.switch(body.version)
        return {"active": workspace.active.name}
