"""The one family of exceptions that tacit raises for mistakes in data, parameters or use.

Every message names the place (file and line, query, parameter), what was found and what is wanted,
in one line, because the command line prints it as it is.
"""

from __future__ import annotations


class TacitError(ValueError):
    """A mistake that the caller can correct; the message names the place and what is wanted."""


class DataError(TacitError):
    """Input that cannot be read as what it claims to be.

    >>> str(DataError("grade is 'x', want a whole number", path="qrels.txt", line=7))
    "qrels.txt:7: grade is 'x', want a whole number"
    """

    def __init__(self, problem: str, *, path: object = None, line: int | None = None) -> None:
        self.problem, self.path, self.line = problem, path, line
        place = "" if path is None else f"{path}:" if line is None else f"{path}:{line}:"
        super().__init__(f"{place} {problem}" if place else problem)


class UsageError(TacitError):
    """A call that can never work, whatever the data: an unknown name, two options that exclude each other."""


class MissingExtraError(TacitError, ImportError):
    """An optional library is needed and not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs the package {package}: pip install 'tacit-rank[{extra}]'")


class TimeIsOver(TacitError):
    """Work that takes longer than the time for it (`time_limit`)."""


class NotFittedError(TacitError):
    """An estimator was asked for results before `fit`."""


class DivergedError(TacitError):
    """Numbers stopped being finite while training."""


class StoreError(TacitError):
    """A model folder that is damaged, foreign, or of another version."""


def plural(n: int, noun: str, nouns: str = "") -> str:
    """A number with its noun, in the singular or the plural; `nouns` is needed where the plural is irregular.

    >>> plural(1, "query"), plural(1234, "query"), plural(0, "row")
    ('1 query', '1,234 queries', '0 rows')
    """
    many = nouns or (f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s")
    return f"{n:,} {noun if n == 1 else many}"
