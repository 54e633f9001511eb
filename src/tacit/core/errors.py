"""Exceptions that tacit raises for mistakes in data, parameters or use.

Every message is one line that names the place (file and line, query, parameter), what was found and what is
expected. The command line prints it unchanged.
"""

from __future__ import annotations

MOST_IN_MESSAGE = 2000  # characters; a value in a file may be as long as a line
END_OF_MESSAGE = 500  # of these, where what is expected is named


class TacitError(ValueError):
    """A mistake that the caller can correct. The message names the place and what is expected."""

    def __init__(self, message: str = "") -> None:
        message = " ".join(str(message).splitlines())
        if len(message) > MOST_IN_MESSAGE:
            message = f"{message[: MOST_IN_MESSAGE - END_OF_MESSAGE]} … {message[-END_OF_MESSAGE:]}"
        super().__init__(message)


class DataError(TacitError):
    """Input that does not have the expected format.

    >>> str(DataError("grade is 'x', want a whole number", path="qrels.txt", line=7))
    "qrels.txt:7: grade is 'x', want a whole number"
    """

    def __init__(self, problem: str, *, path: object = None, line: int | None = None) -> None:
        self.problem, self.path, self.line = problem, path, line
        place = "" if path is None else f"{path}:" if line is None else f"{path}:{line}:"
        super().__init__(f"{place} {problem}" if place else problem)


class UsageError(TacitError):
    """A call that is wrong for any data: an unknown name, or two options that exclude each other."""


class MissingExtraError(TacitError, ImportError):
    """An optional library is required but not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs the package {package}: pip install 'tacit-rank[{extra}]'")


class TimeIsOver(TacitError):
    """Work exceeded its time limit (`time_limit`)."""


class NotFittedError(TacitError):
    """An estimator was used before `fit`."""


class DivergedError(TacitError):
    """Values became infinite or NaN during training."""


class StoreError(TacitError):
    """A model folder is damaged, was not written by tacit, or has an unsupported version."""


def plural(n: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun in the singular or plural. Pass `nouns` for an irregular plural.

    >>> plural(1, "query"), plural(1234, "query"), plural(0, "row")
    ('1 query', '1,234 queries', '0 rows')
    """
    many = nouns or (f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s")
    return f"{n:,} {noun if n == 1 else many}"
