"""Train a new version, follow the training by server-sent events, and switch between versions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import HTMLResponse, Response, StreamingResponse

from tacit.app.web.interface import answers, bodies
from tacit.app.web.interface.answers import returns
from tacit.app.web.parts import Service
from tacit.app.web.reading import JsonRoute
from tacit.app.web.training.trainer import Trainer
from tacit.app.web.training.verdicts import against_live, board_report, report, scoreboard
from tacit.app.web.workspace import FIRST, UnknownVersionError

SECONDS_BETWEEN = 15.0  # maximum time between messages, so that a lost connection is noticed

EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "States as events."}
}
PAGE: dict[int | str, dict[str, Any]] = {200: {"description": "An HTML page."}}
DEFAULTS = bodies.TrainBody()
VersionName = Annotated[str, Path(max_length=20, description="name of the version", examples=["2"])]
Against = Annotated[str | None, Query(max_length=20, description="the version to compare with; default: the live one")]

router = APIRouter(route_class=JsonRoute, tags=["training"])


@router.post(
    "/train",
    summary="Train a new version on the current judgments",
    status_code=202,
    responses=returns(answers.TrainingState, 202),
)
def start_training(service: Service, body: bodies.TrainBody = DEFAULTS) -> Any:
    """Only one training runs at a time."""
    return service.trainer.start(body.method, body.judge, body.params, body.assist)


@router.get(
    "/train", summary="State of the current training, or of the last one", responses=returns(answers.TrainingState)
)
def training_state(service: Service) -> Any:
    """The state, a message, the version and its verdict."""
    return service.trainer.state


@router.get(
    "/train/events",
    summary="State of the training as server-sent events until it ends",
    response_class=StreamingResponse,
    responses=EVENTS,
)
async def training_events(service: Service) -> Any:
    """A stream uses no thread while it waits."""
    return StreamingResponse(_events(service.trainer), media_type="text/event-stream")


@router.delete("/train", summary="Cancel the current training", responses=returns(answers.TrainingState))
def cancel_training(service: Service) -> Any:
    """Nothing of it is kept."""
    return service.trainer.cancel()


@router.get(
    "/versions", summary="Versions of the model, compared with the live one", responses=returns(answers.VersionsAnswer)
)
def list_versions(service: Service) -> Any:
    """With the verdict of each training, if there is one."""
    workspace = service.workspace
    live, verdicts = workspace.active.name, workspace.verdicts()
    training = service.trainer.state
    found = scoreboard(workspace.versions, live, verdicts)
    for row in found:
        verdict = verdicts.get(row["version"])
        row["verdict"] = verdict and {key: value for key, value in verdict.items() if key != "by_query"}
        row["saved"] = workspace.saved(row["version"])
        row["label"] = _label(row["version"], verdict, training)
        if row["comparison"]:
            del row["comparison"]["by_query"]
    return {"active": live, "versions": found}


@router.get(
    "/versions/{version}", summary="Compare two versions query by query", responses=returns(answers.VersionComparison)
)
def compare_versions(service: Service, version: VersionName, against: Against = None) -> Any:
    """Uses the last judgments that both were measured on; `against` is the live version by default."""
    workspace = service.workspace
    other = against or workspace.active.name
    for name in (version, other):
        workspace.check_version(name)
    found = None if version == other else against_live(version, other, workspace.verdicts())
    return {"version": version, "against": other, "comparison": found}


@router.get(
    "/versions/{version}/measures",
    summary="Measure a version on the current judgments",
    responses=returns(answers.MeasuredNow),
)
async def measure_version(service: Service, version: VersionName) -> Any:
    """Without a training. A version that has learned from labels is not measured this way; `reason` says so."""
    service.workspace.check_version(version)
    return await service.measuring.of(service.workspace, version)


@router.get(
    "/versions/{version}/report",
    summary="Verdict on a version as an HTML page",
    response_class=HTMLResponse,
    responses=PAGE,
)
def version_report(service: Service, version: VersionName) -> Response:
    """The same report as `tacit advise`, for the comparison after the training."""
    verdict = service.workspace.verdict(version) if version in service.workspace.versions else None
    if verdict is None:
        raise UnknownVersionError(f"version {version!r} has no verdict, want a version trained here")
    return _html(report(verdict))


@router.get(
    "/report",
    summary="All versions compared with the live one, as an HTML page",
    response_class=HTMLResponse,
    responses=PAGE,
)
def scoreboard_report(service: Service) -> Response:
    """The same report as `tacit advise`, for the scoreboard."""
    workspace = service.workspace
    found = board_report(workspace.versions, workspace.active.name, workspace.verdicts())
    if found is None:
        raise UnknownVersionError("no version was compared with the live one; train one first")
    return _html(found)


@router.post("/versions", summary="Make a version live", responses=returns(answers.Switched))
def make_live(service: Service, body: bodies.SwitchBody) -> Any:
    """It is used from the next request on; a version without a verdict needs `confirm`."""
    service.workspace.switch(body.version, confirmed=body.confirm)
    return {"active": service.workspace.active.name}


def _html(page: str) -> Response:
    return HTMLResponse(page, headers={"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"})


def _label(version: str, verdict: dict[str, Any] | None, training: dict[str, Any]) -> str:
    if verdict is not None:
        program = verdict.get("used", {}).get("program")
        judged = f"queries judged by the program {program}" if program else "judged queries"
        return f"{verdict.get('method', '')}, trained on {verdict['queries']} {judged}".lstrip(", ")
    if version == FIRST:
        return "Starting model"
    if training["version"] == version and training["state"] == "running":
        return "Being compared"
    return "Not compared"


async def _events(trainer: Trainer) -> AsyncIterator[str]:
    async for state in trainer.follow(SECONDS_BETWEEN):
        yield f"data: {json.dumps(state)}\n\n"
