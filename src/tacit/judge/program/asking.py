"""Request many grades from a program judge: in parallel, with retries, without repeating or losing a request.

Every response is on disk before the next one is processed: in a table in the SQLite file of the judgments, which is a
cache and a log of failures. It is append-only. A response has the key of its question (judge with model and prompt,
query and text) and the number of its repetition. A request that fails after all attempts is recorded as a
failure: in the table of responses with its reason, in the store as "cannot judge". It never becomes a grade of 0, and
is always included in the counts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from statistics import median_low
from threading import Event, Thread
from typing import NamedTuple

import numpy as np

from tacit.core import TacitError, check_number, plural, progress_bar
from tacit.judge.columns import read_columns
from tacit.judge.database import connect as open_database
from tacit.judge.database import one_line, transaction
from tacit.judge.program.connections import Connection, Retry
from tacit.judge.program.questions import Answer, AnswerProblem, Prompt, Question
from tacit.judge.records import utc_now
from tacit.judge.store import JudgmentStore

FAILED_IN_A_ROW = 10  # pairs, after which the endpoint is assumed to be out of order
LONGEST_PAUSE = 30.0

TABLE = """CREATE TABLE IF NOT EXISTS answer (
  number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, repetition INTEGER NOT NULL, judge TEXT NOT NULL,
  query TEXT NOT NULL, document TEXT NOT NULL, grade REAL, probabilities TEXT, reason TEXT, failure TEXT,
  time TEXT NOT NULL)"""
INDEX = "CREATE INDEX IF NOT EXISTS answer_key ON answer (key, repetition)"
KNOWN = "SELECT key, repetition, grade, failure FROM answer WHERE judge = ? ORDER BY number"


@dataclass(frozen=True)
class Asking:
    """How to request: attempts per response, first pause between them (doubled each time), parallel requests."""

    repeat: int = 1
    attempts: int = 4
    pause: float = 1.0
    parallel: int = 4
    resume: bool = False

    def __post_init__(self) -> None:
        for name in ("repeat", "attempts", "parallel"):
            check_number(name, getattr(self, name), low=1, high=1000, whole=True)
        check_number("pause", self.pause, low=0)


@dataclass
class Asked:
    """Result of the requests: grades, failures by kind, responses from the cache, calls made."""

    n_graded: int = 0
    n_cached: int = 0
    n_calls: int = 0
    n_retries: int = 0
    failures: Counter[str] = field(default_factory=Counter)

    @property
    def n_failed(self) -> int:
        """Number of pairs without a grade."""
        return sum(self.failures.values())


@dataclass(frozen=True)
class Outcome:
    """One response or failure, and its number of attempts."""

    question: Question
    repetition: int
    answer: Answer | None
    failure: str | None
    n_attempts: int


class Known(NamedTuple):
    """An earlier response: its grade, or the reason why there is none."""

    grade: float | None
    failure: str | None


class AnswerTable:
    """The responses in one store.

    Parameters
    ----------
    path : str or Path
        File of the judgment store, which must exist.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._database = open_database(self.path, create=False)
        with one_line(self.path):
            self._database.execute(TABLE)
            self._database.execute(INDEX)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def known(self, judge: str) -> dict[tuple[str, int], Known]:
        """Return the last response to each question and repetition."""
        with one_line(self.path):
            rows = self._database.execute(KNOWN, (judge,)).fetchall()
        return {(key, repetition): Known(grade, failure) for key, repetition, grade, failure in rows}

    def add(
        self, key: str, repetition: int, judge: str, pair: tuple[str, str], answer: Answer | None, failure: str | None
    ) -> None:
        """Append one response; it is on disk when this returns."""
        found = answer or Answer(0.0)
        chances = json.dumps(found.probabilities) if found.probabilities else None
        values = (key, repetition, judge, *pair, found.grade if answer else None, chances, found.reason, failure)
        with one_line(self.path), transaction(self._database):
            places = ", ".join("?" * (len(values) + 1))
            self._database.execute(f"INSERT INTO answer VALUES (NULL, {places})", (*values, utc_now()))


def ask_all(
    store: JudgmentStore,
    judge: str,
    questions: Sequence[Question],
    prompt: Prompt,
    connect: Callable[[], Connection],
    how: Asking | None = None,
    model: str | None = None,
    announce: Callable[[int, int], object] | None = None,
) -> Asked:
    """Request the grades of all questions and record them under the judge's name, as a program.

    Parameters
    ----------
    store : JudgmentStore
        Store of the grades.
    judge : str
        Name of the judge, which must be unique for its model and prompt.
    questions : sequence of Question
        Pairs to be judged.
    prompt : Prompt
        Instructions.
    connect : callable
        Returns a connection; called once per thread.
    how : Asking or None, default=None
        Attempts, parallel requests and repetitions.
    model : str or None, default=None
        Version of the model that found the documents, for the records.
    announce : callable or None, default=None
        Called before the first question with the number of calls and the number of characters to send. Cached
        responses cost nothing; retries are not included.

    Raises
    ------
    KeyboardInterrupt
        With a message that says how much is done; finished pairs are in the store.
    """
    how = how or Asking()
    worker, table = _Worker(prompt, connect, how), AnswerTable(store.path)
    results = _Results(store, table, judge, prompt, how, model)
    try:
        todo = results.use_cached(questions)
        if announce:
            sizes = [len(prompt.text) + len(prompt.data(question)) for question, _ in todo]
            announce(len(todo), sum(sizes))
        with progress_bar("judging", len(todo)) as advance:
            for outcome in worker.outcomes(todo):
                results.keep(outcome)
                advance(1)
        worker.close(join=True)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"interrupted: {plural(results.done.n_graded, 'pair')} of {len(questions):,} judged and kept; "
            "run the same command again for the rest"
        ) from None
    finally:
        worker.close(join=False)
        table.close()
    return results.done


class _Results:
    """Responses and failures as they arrive; a pair is recorded after its last repetition."""

    def __init__(
        self, store: JudgmentStore, table: AnswerTable, judge: str, prompt: Prompt, how: Asking, model: str | None
    ) -> None:
        self.store, self.table, self.judge, self.prompt, self.how, self.model = store, table, judge, prompt, how, model
        found = read_columns(store, [judge])
        self.known = {(j.query, j.document): j.grade for j in found.take(np.arange(len(found)))}
        self.answers: dict[tuple[str, str], list[Known]] = {}
        self.done, self.n_failed_in_a_row = Asked(), 0

    def use_cached(self, questions: Sequence[Question]) -> list[tuple[Question, int]]:
        """Count cached responses; return the questions without one, each with the number of its repetition."""
        known, todo = self.table.known(self.judge), list[tuple[Question, int]]()
        for question in questions:
            key = self.prompt.key(self.judge, question)
            for repetition in range(self.how.repeat):
                before = known.get((key, repetition))
                if before is None or (before.failure and self.how.resume):
                    todo.append((question, repetition))
                else:
                    self.done.n_cached += 1
                    self._add(question, before)
        return todo

    def keep(self, outcome: Outcome) -> None:
        """Record a response or a failure; raise if so many pairs in a row fail that the rest would fail too."""
        question, answer = outcome.question, outcome.answer
        key, pair = self.prompt.key(self.judge, question), (question.query_id, question.document_id)
        self.table.add(key, outcome.repetition, self.judge, pair, answer, outcome.failure)
        self._add(question, Known(answer.grade if answer else None, outcome.failure))
        self.done.n_calls += outcome.n_attempts
        self.done.n_retries += outcome.n_attempts - 1
        self.n_failed_in_a_row = self.n_failed_in_a_row + 1 if outcome.failure else 0
        if self.n_failed_in_a_row >= FAILED_IN_A_ROW:
            raise TacitError(
                f"{self.n_failed_in_a_row} pairs in a row failed (last: {outcome.failure}); finished pairs are kept, "
                "--resume requests the rest"
            )

    def _add(self, question: Question, answer: Known) -> None:
        pair = question.query_id, question.document_id
        answers = self.answers.setdefault(pair, [])
        answers.append(answer)
        if len(answers) < self.how.repeat:
            return
        grades = [known.grade for known in answers if known.grade is not None]
        grade = median_low(grades) if grades else None
        if grade is None:
            self.done.failures[(answers[-1].failure or "failed").split(":")[0]] += 1
        else:
            self.done.n_graded += 1
        if pair not in self.known or self.known[pair] != grade:
            self.store.record(
                *(*pair, grade, self.judge), kind="program", rank=question.rank, model=self.model, display="program"
            )


class _Worker:
    """Threads that send requests, each with its own connection; they do not keep an interrupted process alive."""

    def __init__(self, prompt: Prompt, connect: Callable[[], Connection], how: Asking) -> None:
        self.prompt, self.connect, self.how = prompt, connect, how
        self.stopped = Event()
        self.waiting: SimpleQueue[tuple[Question, int] | None] = SimpleQueue()
        self.finished: SimpleQueue[Outcome | Exception] = SimpleQueue()
        self.threads: list[Thread] = []

    def outcomes(self, todo: Sequence[tuple[Question, int]]) -> Iterator[Outcome]:
        """Yield responses as they arrive; only a few requests are in progress at a time."""
        entries, n_running = iter(todo), 0
        for _ in range(min(self.how.parallel, len(todo))):
            self.threads.append(Thread(target=self._work, daemon=True))
            self.threads[-1].start()
        while True:
            while n_running < 2 * self.how.parallel and (entry := next(entries, None)) is not None:
                self.waiting.put(entry)
                n_running += 1
            if not n_running:
                return
            found = self.finished.get()
            if isinstance(found, Exception):
                raise found
            yield found
            n_running -= 1

    def close(self, *, join: bool) -> None:
        """Stop sending requests; without `join`, requests in progress are abandoned."""
        self.stopped.set()
        for _ in self.threads:
            self.waiting.put(None)
        for thread in self.threads if join else ():
            thread.join()

    def _work(self) -> None:
        try:
            connection = self.connect()
            try:
                while (entry := self.waiting.get()) is not None and not self.stopped.is_set():
                    self.finished.put(self._ask(connection, *entry))
            finally:
                connection.close()
        except Exception as error:  # raised again in the thread that reads the outcomes
            self.finished.put(error)

    def _ask(self, connection: Connection, question: Question, repetition: int) -> Outcome:
        """Return one response after at most `attempts` tries."""
        failure = "stopped"
        for attempt in range(self.how.attempts):
            if self.stopped.is_set():
                break
            try:
                answer = connection.ask(self.prompt, question)
                return Outcome(question, repetition, answer, None, attempt + 1)
            except (Retry, AnswerProblem) as error:
                failure = f"{error.kind}: {error}"
                pause = min(self.how.pause * 2**attempt, LONGEST_PAUSE)
                if attempt + 1 < self.how.attempts:
                    self.stopped.wait(max(pause, getattr(error, "wait", 0.0)))
        return Outcome(question, repetition, None, failure, self.how.attempts)
