"""The parts of one service, which routes receive as their parameter `service`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, cast

from fastapi import Depends, Request

from tacit.app.web.batches import Batches
from tacit.app.web.counters import Counters
from tacit.app.web.offers import Offers, Tickets
from tacit.app.web.training.measuring import Measuring
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
    measuring: Measuring
    counters: Counters
    ranker: Any = None

    @classmethod
    def of(cls, workspace: Workspace, searches: Batches, ranker: Any = None) -> Parts:
        """Make all parts of a service for a workspace."""
        tickets = Tickets.beside(workspace.store.path, read_only=bool(workspace.read_only))
        offers, trainer = Offers(workspace, tickets), Trainer(workspace)
        return cls(workspace, searches, tickets, offers, trainer, Measuring(), Counters(), ranker)

    @property
    def store(self) -> JudgmentStore:
        """The judgment store."""
        return self.workspace.store


async def _of_request(request: Request) -> Parts:  # a plain function would use a thread for each request
    return cast("Parts", request.app.state.parts)


Service = Annotated[Parts, Depends(_of_request)]
