"""What routes work with: the parts of one service, which a route names as its parameter `service`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, cast

from fastapi import Depends, FastAPI, Request

from tacit.app.web.batches import Batches
from tacit.app.web.counters import Counters
from tacit.app.web.offers import Offers
from tacit.app.web.tickets import Tickets
from tacit.app.web.training.trainer import Trainer
from tacit.app.web.workspace import Workspace
from tacit.judge import JudgmentStore


@dataclass(frozen=True)
class Parts:
    """The parts of one service; `ranker` scores the lists of `POST /rank`, if there is one."""

    workspace: Workspace
    searches: Batches
    tickets: Tickets
    offers: Offers
    trainer: Trainer
    counters: Counters
    ranker: Any = None

    @classmethod
    def of(cls, workspace: Workspace, searches: Batches, ranker: Any = None) -> Parts:
        """All parts of a service over a workspace."""
        tickets = Tickets.beside(workspace.store.path, read_only=bool(workspace.read_only))
        return cls(workspace, searches, tickets, Offers(workspace, tickets), Trainer(workspace), Counters(), ranker)

    @property
    def store(self) -> JudgmentStore:
        """Where judgments go."""
        return self.workspace.store

    def give_to(self, app: FastAPI) -> None:
        """Let the routes of an application work with these parts."""
        app.state.parts = self


async def _of_request(request: Request) -> Parts:  # a plain function would cost a thread for each request
    return cast("Parts", request.app.state.parts)


Service = Annotated[Parts, Depends(_of_request)]
