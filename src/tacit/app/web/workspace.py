"""What the service works on: the model that answers, the versions beside it, and the judgments.

Versions lie in a folder beside the model (`my.model.versions`). The file `active` there names the one that answers, so
that a restart serves the same. A version is changed by replacing it: a search keeps the one that it began with. If
another process (`tacit add`) has changed the folder since, the change is made to what the folder holds now.
"""

from __future__ import annotations

import copy
import json
import os
import re
import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.core import Collection, TacitError
from tacit.judge import JudgmentStore
from tacit.search import Searcher
from tacit.store import changing_model
from tacit.store.save import MODEL_FILE

ACTIVE = "active"
FIRST = "1"
MAX_LOADED = 2  # versions in memory: the one that answers, and one to compare it with
_NAME = re.compile(r"[1-9][0-9]{0,8}")


@dataclass(frozen=True, eq=False)
class Version:
    """A model that can answer; `name` is its number in the order of training, `stamp` that of its file."""

    name: str
    searcher: Searcher
    stamp: tuple[int, int] | None


class Workspace:
    """Models and judgments of one service.

    Parameters
    ----------
    model : Path or None
        Folder of the first model; None if it exists in memory only.
    searcher : Searcher
        That model. Its `encode`, if it has one, gives queries and new documents of all versions their vectors.
    store : JudgmentStore
        Where judgments go.
    """

    def __init__(self, model: Path | None, searcher: Searcher, store: JudgmentStore) -> None:
        self.model, self.store = model, store
        self._changing, self._encode = threading.Lock(), searcher.encode
        self._loaded = {FIRST: Version(FIRST, searcher, self._stamp(FIRST))}
        self._active = FIRST
        name = self._read_active()
        if name != FIRST:
            self._active = self.find(name).name

    @property
    def active(self) -> Version:
        """The version that answers."""
        return self._loaded[self._active]

    @property
    def versions(self) -> list[str]:
        """Names of all versions, oldest first."""
        folder = self.folder
        found = (
            [path.name for path in folder.iterdir() if _NAME.fullmatch(path.name)] if folder and folder.is_dir() else []
        )
        return sorted({FIRST, *found}, key=int)

    @property
    def folder(self) -> Path | None:
        """Folder of the versions, which exists once there is a second one."""
        return None if self.model is None else self.model.with_name(self.model.name + ".versions")

    def find(self, name: str | None = None) -> Version:
        """The version of that name, else the one that answers."""
        if name is None:
            return self.active
        found = self._loaded.get(name)
        if found is not None:
            return found
        if name not in self.versions:
            raise TacitError(f"there is no version {name!r}, want one of {', '.join(self.versions)}")
        version = self._load(name)
        with self._changing:
            for other in [other for other in self._loaded if other != self._active][
                : len(self._loaded) + 1 - MAX_LOADED
            ]:
                if other != FIRST or self.model is not None:
                    del self._loaded[other]
            self._loaded[name] = version
        return version

    def new_version(self) -> tuple[str, Path]:
        """Name and folder for a model that is about to be trained."""
        if self.folder is None:
            raise TacitError("the served model lies in no folder, so no version can be kept beside it: give a MODEL")
        self.folder.mkdir(exist_ok=True)
        name = str(int(self.versions[-1]) + 1)
        return name, self.folder / name

    def switch(self, name: str) -> None:
        """Let another version answer, from the next request on."""
        version = self.find(name)
        with self._changing:
            self._loaded[name] = version
            self._write_active(name)
            self._active = name

    def add(self, documents: Collection) -> int:
        """Add documents to the version that answers; return the number of documents then."""
        return self._change(lambda searcher: searcher.add(documents))

    def remove(self, document: str) -> int:
        """Remove a document from the version that answers; return the number of documents then."""
        return self._change(lambda searcher: searcher.remove([document]))

    def _change(self, change: Callable[[Searcher], Searcher]) -> int:
        name = self._active
        with self._changing, nullcontext() if self.model is None else changing_model(self.path(name)):
            version = self.active if self.active.stamp == self._stamp(name) else self._load(name)
            searcher = change(copy.copy(version.searcher))
            if self.model is not None:
                searcher.save(self.path(name))
            self._loaded[name] = Version(name, searcher, self._stamp(name))
        return len(searcher.documents_)

    def _load(self, name: str) -> Version:
        stamp = self._stamp(name)  # before the model is read: what is replaced meanwhile is read again later
        return Version(name, Searcher.load(self.path(name), encode=self._encode), stamp)

    def _stamp(self, name: str) -> tuple[int, int] | None:
        """What tells a model file from one that has replaced it; None where there is no file."""
        try:
            found = os.stat(self.path(name) / MODEL_FILE) if self.model is not None else None
        except FileNotFoundError:
            return None
        return found and (found.st_ino, found.st_mtime_ns)

    def path(self, name: str) -> Path:
        """Folder of a version."""
        assert self.model is not None
        assert self.folder is not None
        return self.model if name == FIRST else self.folder / name

    def _read_active(self) -> str:
        path = None if self.folder is None else self.folder / ACTIVE
        if path is None or not path.exists():
            return FIRST
        name = path.read_text("utf-8").strip()
        return name if name in self.versions else FIRST

    def _write_active(self, name: str) -> None:
        if self.folder is None:
            return
        self.folder.mkdir(exist_ok=True)
        unfinished = self.folder / f".{ACTIVE}.tmp"
        with unfinished.open("w", encoding="utf-8") as file:
            file.write(name + "\n")
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self.folder / ACTIVE)

    def keep_verdict(self, name: str, verdict: dict[str, Any]) -> None:
        """Keep what the comparison found beside the version."""
        assert self.folder is not None
        (self.folder / f"{name}.verdict.json").write_text(json.dumps(verdict), "utf-8")

    def verdict(self, name: str) -> dict[str, Any] | None:
        """What the comparison found when the version was trained."""
        path = None if self.folder is None else self.folder / f"{name}.verdict.json"
        return json.loads(path.read_text("utf-8")) if path is not None and path.exists() else None
