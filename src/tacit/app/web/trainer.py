"""Training in a process of its own, with low priority and one thread, so that searches stay fast.

The process (`train_job`) writes one JSON object a line: what it does, and in the end its verdict. One training runs at
a time; whoever follows is told of every change.
"""

from __future__ import annotations

import json
import sys
import threading
from subprocess import PIPE, Popen
from tempfile import TemporaryFile
from typing import Any

from tacit.app.web.workspace import Workspace
from tacit.core import TacitError
from tacit.search import Searcher

LEARNS = "blend"  # what is trained where the version that answers cannot learn
IDLE: dict[str, Any] = {"state": "idle", "message": "", "version": None, "verdict": None}
ONE_THREAD = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Trainer:
    """Runs trainings of a workspace, one at a time."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._changed = threading.Condition()
        self._state, self._turn = dict(IDLE), 0

    @property
    def state(self) -> dict[str, Any]:
        """What the training is doing, or how the last one ended."""
        with self._changed:
            return dict(self._state)

    def start(self, method: str | None, judge: str | None, params: dict[str, Any]) -> dict[str, Any]:
        """Begin a training on the current judgments; by default of the method that answers, if it learns."""
        running = self.workspace.active.searcher
        method = method or (running.method if running.ranker_.learns_from_pairs else LEARNS)
        Searcher(method, **params)  # a wrong name is reported here
        with self._changed:
            if self._state["state"] == "running":
                raise TacitError("a training is running already, want one at a time; wait for its end")
            name, folder = self.workspace.new_version()
            job = {
                "model": str(self.workspace.path(self.workspace.active.name)),
                "store": str(self.workspace.store.path),
                "out": str(folder),
                "method": method,
                "judge": judge,
                "params": params,
            }
            self._set(state="running", message="starting", version=name, verdict=None)
        threading.Thread(target=self._follow, args=(job, name), daemon=True).start()
        return self.state

    def wait_for_change(self, seen: int, seconds: float) -> tuple[int, dict[str, Any]]:
        """The state and its number, when it is another one than `seen` or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._turn != seen, seconds)
            return self._turn, dict(self._state)

    def _set(self, **changes: Any) -> None:
        with self._changed:
            self._state |= changes
            self._turn += 1
            self._changed.notify_all()

    def _follow(self, job: dict[str, Any], name: str) -> None:
        """Run the process and pass on what it says."""
        import os

        command = [sys.executable, "-m", "tacit.app.web.train_job"]
        verdict, problem = None, ""
        # Errors go to a file: nobody reads them while the process runs, and a full pipe would stop it.
        with (
            TemporaryFile("w+", encoding="utf-8") as told,
            Popen(command, text=True, env=os.environ | ONE_THREAD, stdin=PIPE, stdout=PIPE, stderr=told) as process,
        ):
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                said = json.loads(line)
                verdict, problem = said.get("verdict", verdict), said.get("problem", problem)
                if "message" in said:
                    self._set(message=said["message"])
            code = process.wait()
            told.seek(0)
            errors = told.read().strip().splitlines()
        if code == 0 and verdict is not None:
            self.workspace.keep_verdict(name, verdict)
            self._set(state="done", message=f"Version {name} is trained.", verdict=verdict)
        else:
            last = errors[-1][:500] if code and errors else "the training ended without a word"
            self._set(state="failed", message=problem or last)
