"""The workspace of the service: the live model, further versions, the judgments, and changes of documents.

Versions are in a folder next to the model (`my.model.versions`). Its file `active` names the live version, so that a
restart serves the same one. A version is changed by replacing it: a search in progress keeps the old one. If another
process (`tacit add`) has changed the folder, a change is applied to the current contents of the folder.

Documents belong to the workspace: a change is written to a log (`document_log`), and every version gets the missing
changes when it is loaded or made live. One process holds the workspace; a second one serves it read-only, and follows
the changes of the first.
"""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from tacit.app.web.document_log import NAME as LOG
from tacit.app.web.document_log import DocumentLog, Entry, apply_changes, entries
from tacit.app.web.training.verdicts import read_verdict
from tacit.core import Collection, StoreError, TacitError
from tacit.data import staged
from tacit.judge import JudgmentStore
from tacit.search import Searcher
from tacit.search.query.suggestions import Completions
from tacit.store import changing_model
from tacit.store.files import locked
from tacit.store.folder import MODEL_FILE

ACTIVE = "active"
GUIDELINES = "guidelines.txt"
FIRST = "1"
MAX_LOADED = 2  # versions in memory: the live one, and one to compare with
SECONDS_BEHIND = 1.0  # interval at which a read-only service looks for changes
_NAME = re.compile(r"[1-9][0-9]{0,8}")


class ReadOnlyError(TacitError):
    """A change that a read-only service refuses."""


class UnconfirmedError(TacitError):
    """A switch to a version without a verdict."""


class UnknownQueryError(TacitError):
    """An unknown query id."""


class UnknownVersionError(TacitError):
    """A version that does not exist."""


class UnknownDocumentError(TacitError):
    """An unknown document id."""


@dataclass(frozen=True, eq=False)
class Version:
    """A loaded model: its number in the order of training, the stamp of its file, its position in the log."""

    name: str
    searcher: Searcher
    stamp: tuple[int, int] | None
    position: int = 0

    def check_documents(self, ids: Iterable[str]) -> None:
        """Raise for an id of no document of this version."""
        unknown = next((name for name in ids if name not in self.searcher.documents_.row_of), None)
        if unknown is not None:
            raise UnknownDocumentError(f"no document has the id {unknown!r}, want a document of the model")


class Changed(NamedTuple):
    """Numbers of documents added and replaced by a change, and in total after it."""

    added: int
    replaced: int
    documents: int


class Workspace:
    """Models, judgments and changes of documents of one service.

    Parameters
    ----------
    model : Path or None
        Folder of the first model; None if it exists in memory only.
    searcher : Searcher
        That model. Its `encode`, if any, encodes queries and new documents of all versions.
    store : JudgmentStore
        The judgment store.
    read_only : bool, default=False
        Refuse all changes.
    about : str, default=""
        What is served, for people who open the page.

    Attributes
    ----------
    read_only : str
        Reason why changes are refused; empty if they are not.
    """

    def __init__(
        self, model: Path | None, searcher: Searcher, store: JudgmentStore, *, read_only: bool = False, about: str = ""
    ) -> None:
        self.model, self.store = model and model.resolve(), store  # one workspace, regardless of links
        self.about = about
        self._changing, self._encode = threading.RLock(), searcher.encode
        self._guidelines = ""
        self._held, self._looked = ExitStack(), time.monotonic()
        self._asked: tuple[int, Completions] | None = None
        self.read_only = "it was started with --read-only" if read_only else self._hold()
        folder = self.folder
        self.log = None if folder is None else DocumentLog(folder / LOG)
        first = Version(FIRST, searcher, self._stamp(FIRST), self._read_position(FIRST))
        self._loaded = {FIRST: first}
        self._active = self._read_active()
        if self._active == FIRST:
            self._loaded[FIRST] = self._caught_up(first)
        else:
            self._loaded[self._active] = self._load(self._active)

    def close(self) -> None:
        """Release the workspace for another process."""
        self._held.close()
        if self.folder is not None and not self.read_only:
            with suppress(OSError):  # the lock is in use
                self.folder.rmdir()

    def check_writable(self) -> None:
        """Raise if changes are refused."""
        if self.read_only:
            raise ReadOnlyError(f"this service is read-only: {self.read_only}")

    def _hold(self) -> str:
        """Lock the workspace for this process; return the reason if that fails."""
        if self.folder is None:
            return ""
        try:
            self._held.enter_context(locked(self.folder, wait=0))
        except StoreError:
            return "another process serves this model"
        except OSError as error:
            return f"{self.folder} cannot be written ({error.strerror})"
        return ""

    @property
    def active(self) -> Version:
        """The live version."""
        if self.read_only and self.model is not None and time.monotonic() - self._looked > SECONDS_BEHIND:
            self._looked = time.monotonic()
            threading.Thread(target=self._look_for_changes, daemon=True).start()
        return self._loaded[self._active]

    def _look_for_changes(self) -> None:
        """Follow the changes of the process that holds the workspace."""
        if self._changing.acquire(blocking=False):
            try:
                with suppress(TacitError, OSError):  # an incomplete change: it will be complete at the next look
                    name = self._read_active()
                    self._loaded[name] = self._current(name)
                    self._active = name
            finally:
                self._changing.release()

    @property
    def versions(self) -> list[str]:
        """Names of all complete versions, oldest first."""
        found = [name for name in self._numbers() if (self.path(name) / MODEL_FILE).exists()]
        return sorted({FIRST, *found}, key=int)

    def saved(self, name: str) -> str | None:
        """When a version was saved, in UTC; None for a model that has no folder."""
        if self.model is None:
            return None
        with suppress(OSError):
            seconds = (self.path(name) / MODEL_FILE).stat().st_mtime
            return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
        return None

    def _numbers(self, ending: str = "") -> list[str]:
        """Return the numbers that are names of files in the folder of the versions."""
        folder = self.folder
        try:
            names = [] if folder is None else [path.name for path in folder.iterdir()]
        except OSError:
            names = []
        bare = [name.removesuffix(ending) for name in names if name.endswith(ending)]
        return [name for name in bare if _NAME.fullmatch(name)]

    @property
    def folder(self) -> Path | None:
        """Folder of the versions and the log of documents."""
        return None if self.model is None else self.model.with_name(self.model.name + ".versions")

    def check_version(self, name: str) -> None:
        """Raise if there is no version with that name."""
        if name not in self.versions:
            raise UnknownVersionError(f"there is no version {name!r}, want one of {', '.join(self.versions)}")

    def find(self, name: str | None = None) -> Version:
        """Return the version with that name, or the live one, with all documents of the workspace."""
        if name is None:
            return self.active
        if name not in self._loaded and name not in self.versions:
            raise TacitError(f"there is no version {name!r}, want one of {', '.join(self.versions)}")
        version = self._loaded.get(name) or self._load(name)
        with self._changing:
            version = self._loaded[name] = self._caught_up(version)
            for other in [other for other in self._loaded if other not in (self._active, name)][
                : len(self._loaded) - MAX_LOADED
            ]:
                if other != FIRST or self.model is not None:
                    del self._loaded[other]
        return version

    def new_version(self) -> tuple[str, Path]:
        """Reserve name and folder for a model to be trained; no other process gets the same."""
        if self.folder is None:
            raise TacitError("the served model has no folder for versions: give a MODEL")
        self.check_writable()
        self.folder.mkdir(exist_ok=True)
        number = max(int(name) for name in [FIRST, *self._numbers(), *self._numbers(".reserved")]) + 1
        while True:
            try:
                os.close(os.open(self._beside(str(number), "reserved"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            except FileExistsError:
                number += 1
                continue
            return str(number), self.folder / str(number)

    def give_up(self, name: str) -> None:
        """Release the name of a version that was not trained."""
        if name not in self.versions:
            for what in ("position", "reserved"):
                with suppress(OSError):
                    self._beside(name, what).unlink()

    def discard(self, name: str) -> None:
        """Remove a version whose training was cancelled."""
        with suppress(OSError):
            shutil.rmtree(self.path(name))
        self.give_up(name)

    def prepare_training(self, name: str) -> Path:
        """Return the folder of the live version, with all documents, for the training of a new one."""
        with self._changing:
            version = self._current(self._active)
            if version.position != self._read_position(version.name):
                version = self._save(version)
            self._loaded[version.name] = version
            self._write(self._beside(name, "position"), str(self._read_position(version.name)))
        return self.path(version.name)

    def switch(self, name: str, *, confirmed: bool = True) -> None:
        """Make another version live, from the next request on; one without a verdict needs confirmation."""
        self.check_writable()
        if not confirmed and name in self.versions and not (name == FIRST or self.verdict(name)):
            reason = f"version {name} has not been compared with version {self._active} yet"
            raise UnconfirmedError(f'{reason}; send "confirm": true to make it live anyway')
        version = self.find(name)
        with self._changing:
            self._loaded[name] = self._caught_up(version)
            self._write_active(name)
            self._active = name

    def suggest(self, prefix: str, k: int) -> list[str]:
        """Return judged queries and titles of documents that complete a partial query."""
        n_queries = self.store.n_queries()
        if self._asked is None or self._asked[0] != n_queries:
            self._asked = n_queries, Completions((), self.store.queries().texts)
        found = [*self._asked[1].find(prefix, k), *self.active.searcher.suggest(prefix, k)]
        return list(dict.fromkeys(found))[:k]

    def add(self, documents: Collection, *, upsert: bool = False) -> Changed:
        """Add documents to the workspace; with `upsert`, documents with known ids are replaced."""
        return self._change(entries(documents), upsert=upsert)

    def remove(self, document: str) -> int:
        """Remove a document from the workspace; return the number of documents left."""
        return self._change([], [document]).documents

    def _change(self, put: Sequence[Entry], removed: Sequence[str] = (), *, upsert: bool = False) -> Changed:
        self.check_writable()
        with self._changing, nullcontext() if self.model is None else changing_model(self.path(self._active)):
            version = self._current(self._active)
            held = version.searcher.documents_.row_of
            known = [document.id for document in put if document.id in held]
            if known and not upsert:
                raise TacitError(f"the model already has a document with the id {known[0]!r}, want new ids")
            version.check_documents(removed)
            if not (put or removed):
                raise TacitError("there are no documents to add")
            changes: dict[str, Entry | None] = {document.id: document for document in put}
            searcher = apply_changes(copy.copy(version.searcher), changes | dict.fromkeys(removed))
            position = 0 if self.log is None else self.log.append(put, removed)
            version = replace(version, searcher=searcher, position=position)
            self._loaded[version.name] = version if self.model is None else self._save(version)
        return Changed(len(put) - len(known), len(known), len(searcher.documents_))

    def _save(self, version: Version) -> Version:
        """Write a version to its folder. If that fails nothing is lost, because its documents are in the log."""
        try:
            version.searcher.save(self.path(version.name))
            version = replace(version, stamp=self._stamp(version.name))
            self._write(self._beside(version.name, "position"), str(version.position))
        except (OSError, TacitError) as error:
            sys.stderr.write(f"version {version.name} could not be saved; its documents are in the log: {error}\n")
        return version

    def _current(self, name: str) -> Version:
        """Return a version in the current state of its folder and the log."""
        version = self._loaded.get(name)
        return self._caught_up(version) if version and version.stamp == self._stamp(name) else self._load(name)

    def _caught_up(self, version: Version) -> Version:
        """Return a version with the missing changes of documents applied."""
        if self.log is None or self.log.size() == version.position:
            return version
        changes = self.log.since(version.position)
        searcher = apply_changes(copy.copy(version.searcher), changes.documents)
        return replace(version, searcher=searcher, position=changes.end)

    def _load(self, name: str) -> Version:
        stamp, position = self._stamp(name), self._read_position(name)  # replacements meanwhile are read again later
        return self._caught_up(Version(name, Searcher.load(self.path(name), encode=self._encode), stamp, position))

    def _stamp(self, name: str) -> tuple[int, int] | None:
        """Return the identity of a model file, which changes when it is replaced; None if there is no file."""
        try:
            found = os.stat(self.path(name) / MODEL_FILE) if self.model is not None else None
        except FileNotFoundError:
            return None
        return found and (found.st_ino, found.st_mtime_ns)

    def path(self, name: str) -> Path:
        """Return folder of a version."""
        assert self.model is not None
        assert self.folder is not None
        return self.model if name == FIRST else self.folder / name

    def _beside(self, name: str, what: str) -> Path:
        """Return the path of a file about a version, next to its folder."""
        assert self.folder is not None
        return self.folder / f"{name}.{what}"

    def _read_active(self) -> str:
        name = FIRST if self.folder is None else _read(self.folder / ACTIVE).strip() or FIRST
        if name in self.versions:
            return name
        sys.stderr.write(f"{self.folder}/{ACTIVE}: does not name a version, so version {FIRST} is live\n")
        return FIRST

    def _read_position(self, name: str) -> int:
        text = "" if self.model is None else _read(self._beside(name, "position")).strip()
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0

    def _write_active(self, name: str) -> None:
        if self.folder is not None:
            self._write(self.folder / ACTIVE, name + "\n")

    def _write(self, path: Path, text: str) -> None:
        """Replace a small file atomically."""
        path.parent.mkdir(exist_ok=True)
        with staged(path) as unfinished:
            Path(unfinished).write_text(text, "utf-8")

    @property
    def guidelines(self) -> str:
        """Return the guidelines for judges."""
        return self._guidelines if self.folder is None else _read(self.folder / GUIDELINES)

    def change_guidelines(self, text: str) -> None:
        """Store other guidelines for judges."""
        self.check_writable()
        self._guidelines = text
        if self.folder is not None:
            self._write(self.folder / GUIDELINES, text)

    def keep_verdict(self, name: str, verdict: dict[str, Any]) -> None:
        """Store the verdict of the comparison next to the version."""
        self._write(self._beside(name, "verdict.json"), json.dumps(verdict))

    def verdict(self, name: str) -> dict[str, Any] | None:
        """Return the verdict stored when the version was trained; None if there is none or the file is damaged."""
        text = "" if self.model is None else _read(self._beside(name, "verdict.json"))
        found = read_verdict(text.encode()) if text else None
        return found if found is not None and found["version"] == name else None

    def verdicts(self) -> dict[str, dict[str, Any]]:
        """Return the verdicts of all versions that have one."""
        found = {name: self.verdict(name) for name in self.versions}
        return {name: verdict for name, verdict in found.items() if verdict is not None}


def _read(path: Path) -> str:
    """Return the text of a small file; empty if it is missing or unreadable."""
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
