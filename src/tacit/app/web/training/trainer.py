"""Training in a separate process, with low priority and one thread, so that searches stay fast.

The process (`train_job`) writes one JSON object per line: its stages, the finished fits, its verdict, and finally the
learning curve. A version is kept once it has its verdict. Only one training runs at a time, and it can be cancelled;
followers receive every change.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from subprocess import PIPE, Popen
from tempfile import TemporaryFile
from typing import Any

from tacit.app.web.workspace import Workspace
from tacit.core import TacitError
from tacit.search import Searcher
from tacit.search.warming import warm_searcher

LEARNS = "blend"  # method to train if the live version cannot learn
IDLE: dict[str, Any] = {
    "state": "idle", "message": "", "version": None, "verdict": None, "used": None, "stages": [], "done": 0,
    "total": 0
}  # fmt: skip
ONE_THREAD = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def _check_params(params: dict[str, Any]) -> None:
    """Raise for parameters that clients may not set: they would make the service read files or load programs."""
    own = next((name for name in params if name in ("self", "method")), None)
    if own is not None:
        raise TacitError(f"params has {own!r}, want parameters of the method; `tacit methods NAME` lists them")
    if "encoder" in params:
        raise TacitError("params has 'encoder', want none: a new version keeps the encoder of the live one")
    if isinstance(params.get("synonyms"), str):
        raise TacitError("params has a file name as synonyms, want a list of lines")


class Trainer:
    """Runs trainings of a workspace, one at a time."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._lock = threading.RLock()
        self._state = dict(IDLE)
        self._process: Popen[str] | None = None
        self._started = self._ended = self._last_fit = 0.0
        self._fits: list[tuple[str, float]] = []  # stages and seconds of the finished fits
        self._followers: set[Callable[[], None]] = set()

    @property
    def state(self) -> dict[str, Any]:
        """Return the state of the current or last training, with the seconds since its start and until its end."""
        with self._lock:
            state = dict(self._state)
            running = state["state"] in ("running", "cancelling")
            now = time.monotonic() if running else self._ended
            state["elapsed"] = round(now - self._started, 1)
            state["seconds_left"] = None
            if running and self._fits and state["done"] < state["total"]:
                seconds = self._seconds_of_a_fit(state["message"])
                left = (state["total"] - state["done"]) * seconds
                state["seconds_left"] = round(left - min(now - self._last_fit, seconds))
            return state

    def _seconds_of_a_fit(self, stage: str) -> float:
        """Return seconds of the last fit of this stage, or the mean if that is longer: later fits may use more queries.

        Before the first fit of a stage, return the longest of the others.
        """
        of_stage = [seconds for of, seconds in self._fits if of == stage]
        if not of_stage:
            return max(seconds for _, seconds in self._fits)
        return max(of_stage[-1], sum(of_stage) / len(of_stage))

    def start(
        self, method: str | None, judge: str | None, params: dict[str, Any], assist: str | None = None
    ) -> dict[str, Any]:
        """Start a training on the current judgments; the default method is the live one's, if it learns."""
        running = self.workspace.active.searcher
        method = method or (running.method if running.ranker_.learns_from_pairs else LEARNS)
        _check_params(params)
        searcher = Searcher(method, **params)  # reports a wrong name here
        if assist is not None:
            self._check_assist(searcher, assist)
        self._check_judge(judge, assist)
        self.workspace.check_writable()
        with self._lock:
            if self._state["state"] in ("running", "cancelling"):
                raise TacitError("another training run is in progress; wait until it ends")
            name, folder = self.workspace.new_version()
            try:
                model = self.workspace.prepare_training(name)
            except BaseException:
                self.workspace.give_up(name)
                raise
            job = {
                "model": str(model),
                "store": str(self.workspace.store.path),
                "out": str(folder),
                "version": name,
                "against": self.workspace.active.name,
                "method": method,
                "judge": judge,
                "assist": assist,
                "params": params,
            }
            self._started = self._last_fit = time.monotonic()
            self._fits = []
            self._set(**IDLE | {"state": "running", "message": "Starting", "version": name})
        threading.Thread(target=self._follow, args=(job, name), daemon=True).start()
        return self.state

    def cancel(self) -> dict[str, Any]:
        """Cancel the current training; nothing of it is kept, unless it already has its verdict."""
        with self._lock:
            if self._state["state"] != "running":
                raise TacitError("no training run is in progress, so there is nothing to cancel")
            self._set(message="Cancelling", state="cancelling")
            if self._process is not None:
                self._process.kill()
        return self.state

    def _check_judge(self, judge: str | None, assist: str | None) -> None:
        """Raise for an unknown judge, or if only programs have judged and none of them is named."""
        kinds = self.workspace.store.kinds()
        listed = ", ".join(f"{name!r} ({kind})" for name, kind in kinds.items())
        if judge is not None and judge not in kinds:
            raise TacitError(f"judge is {judge!r}, want a judge with judgments: {listed or 'there is none'}")
        if judge is not None and judge == assist:
            raise TacitError(f"judge and assist are both {judge!r}, want another judge to compare the program with")
        if judge is None and set(kinds.values()) == {"program"}:
            raise TacitError(f"no person has judged; to learn from a program alone, name it as judge: {listed}")

    def _check_assist(self, searcher: Searcher, assist: str) -> None:
        """Raise unless a program with that name has judged, and the method learns from its grades."""
        programs = [judge.name for judge in self.workspace.store.judges() if judge.kind == "program"]
        if assist not in programs:
            raise TacitError(f"assist is {assist!r}, want a program judge: {', '.join(programs) or 'there is none'}")
        if "program" not in searcher.unfitted().reads:
            raise TacitError(f"{searcher.method} does not learn from a program's grades, assist is for blend")

    async def follow(self, seconds: float) -> AsyncIterator[dict[str, Any]]:
        """Yield the state at every change, and periodically, until the training ends."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the event loop has ended, together with the follower
                loop.call_soon_threadsafe(changed.set)

        self._followers.add(wake)
        try:
            while True:
                changed.clear()
                state = self.state
                yield state
                if state["state"] not in ("running", "cancelling"):
                    return
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await changed.wait()
        finally:
            self._followers.discard(wake)

    def _set(self, **changes: Any) -> None:
        with self._lock:
            self._state |= changes
        for wake in list(self._followers):
            wake()

    def _follow(self, job: dict[str, Any], name: str) -> None:
        """Run the process to its end, and always report how it ended."""
        try:
            problem = self._run(job)
        except Exception as error:  # a full disk, or no process can be started: followers must be informed
            problem = f"the training failed: {error}"
        with self._lock:
            self._ended, self._process = time.monotonic(), None
            cancelled, verdict = self._state["state"] == "cancelling", self._state["verdict"]
        if verdict is not None:
            curve = f" Its learning curve was not measured{'' if cancelled else f': {problem}'}." if problem else ""
            self._set(state="done", message=f"Version {name} is trained.{curve}")
        elif cancelled:
            self.workspace.discard(name)
            self._set(state="cancelled", message="Training was cancelled. Nothing was changed.", version=None)
        else:
            self.workspace.give_up(name)
            self._set(state="failed", message=problem)

    def _note(self, said: dict[str, Any], kept: dict[str, Any]) -> None:
        """Update the state from a message of the process; `kept` is the verdict so far, which is stored."""
        news: dict[str, Any] = {name: said[name] for name in ("used", "stages", "done", "total") if name in said}
        if "stage" in said:
            news["message"] = said["stage"]
        if "done" in said:
            with self._lock:
                now = time.monotonic()
                if said["done"] > self._state["done"]:
                    self._fits.append((said["stage"], now - self._last_fit))
                self._last_fit = now
        if "verdict" in said or "curve" in said:
            kept |= said.get("verdict", {}) | ({"curve": said["curve"]} if "curve" in said else {})
            with self._lock:
                if self._state["state"] == "running":
                    self.workspace.keep_verdict(kept["version"], kept)
                    news["verdict"] = {key: value for key, value in kept.items() if key != "by_query"}
            if "verdict" in said:  # users will search the new version next
                threading.Thread(target=self._warm, args=(kept["version"],), daemon=True).start()
        if news:
            self._set(**news)

    def _warm(self, name: str) -> None:
        """Load a version and search it once, so that users do not wait for compilation; errors appear on use."""
        with suppress(TacitError, OSError):
            warm_searcher(self.workspace.find(name).searcher)

    def _run(self, job: dict[str, Any]) -> str:
        """Return the error, or an empty string; process all messages of the process."""
        command = [sys.executable, "-m", "tacit.app.web.training.train_job"]
        verdict: dict[str, Any] = {}
        problem = ""
        # Errors go to a file, because no one reads them while the process runs, and a full pipe would stop it.
        with (
            TemporaryFile("w+", encoding="utf-8", errors="replace") as told,
            Popen(command, text=True, env=os.environ | ONE_THREAD, stdin=PIPE, stdout=PIPE, stderr=told) as process,
        ):
            assert process.stdin is not None
            assert process.stdout is not None
            with self._lock:
                self._process = process
                if self._state["state"] == "cancelling":
                    process.kill()
            with suppress(BrokenPipeError):  # it was cancelled
                process.stdin.write(json.dumps(job) + "\n")
                process.stdin.flush()
            for line in process.stdout:
                said = json.loads(line)
                problem = said.get("problem", problem)
                self._note(said, verdict)
            code = process.wait()
            told.seek(0)
            errors = told.read().strip().splitlines()
        if code == 0 and verdict:
            return ""
        return problem or (errors[-1][:500] if code and errors else "the training ended without a message")
