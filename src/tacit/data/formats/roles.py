"""Columns of a table with id, title and text, or query, document and grade: named by the user, or guessed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from tacit.core import DataError
from tacit.data.formats.source import ReadOptions

# In order of preference; case, hyphens and spaces are ignored.
_IDS = ("docid", "doc_id", "document_id", "docno", "doc", "corpus_id", "passage_id", "pid", "sku", "asin",
        "product_id", "item_id",
        "article_id", "page_id", "uid", "uuid", "guid", "key", "identifier", "path", "url")  # fmt: skip
_TITLES = ("title", "name", "headline", "heading", "subject", "product_name", "product_title", "label", "display_name")
_TEXTS = ("text", "body", "content", "contents", "description", "product_description", "abstract", "passage",
          "segment", "document", "summary", "article", "message", "comment", "review", "answer", "details", "html",
          "markdown", "page_content")  # fmt: skip
_QUERY_IDS = ("query_id", "qid", "queryid", "topic_id", "question_id", "number", "num")
_QUERY_TEXTS = ("text", "query", "query_text", "question", "q", "search_term", "search_query", "keywords", "topic",
                "title", "utterance", "prompt")  # fmt: skip
JUDGMENT_NAMES = {
    "query": ("query_id", "qid", "queryid", "query", "query_text", "topic", "topic_id", "question", "q", "search_term"),
    "document": ("document", "corpus_id", "doc_id", "docid", "docno", "document_id", "doc", "passage_id", "pid",
                 "product_id", "item_id", "item", "sku", "asin", "id", "url"),
    "grade": ("grade", "score", "relevance", "rel", "label", "rating", "gain", "judgment", "judgement"),
}  # fmt: skip
CLICK_NAMES = {
    "query": ("query", "query_text", "q", "search_term", "search_query", "query_id", "qid"),
    "document": JUDGMENT_NAMES["document"],
    "count": ("count", "clicks", "n_clicks", "n", "times", "weight"),
    "clicked": ("clicked", "click", "is_click", "is_clicked"),
    "session": ("session", "session_id", "search_id", "impression_id"),
    "position": ("position", "rank", "pos"),
}
_KNOWN = {
    *("id", "_id", *_IDS, *_TITLES, *_TEXTS, *_QUERY_IDS, *_QUERY_TEXTS),
    *(name for names in (JUDGMENT_NAMES, CLICK_NAMES) for wanted in names.values() for name in wanted),
}


class Roles(NamedTuple):
    """Columns by role: id (the first that a row has), title, and text (joined)."""

    id: tuple[str, ...]
    title: str
    text: tuple[str, ...]

    @property
    def used(self) -> set[str]:
        """Return all columns that have a role."""
        return {*self.id, self.title, *self.text} - {""}

    @property
    def is_standard(self) -> bool:
        """Return whether all columns have standard names."""
        return (
            bool(self.id) and set(self.id) <= {"id", "_id"} and self.title in ("", "title") and self.text == ("text",)
        )

    def __str__(self) -> str:
        named = {"text": ", ".join(self.text), "title": self.title, "id": self.id[0] if self.id else ""}
        return "; ".join(f"{role}: {name}" for role, name in named.items() if name)


def normal_name(name: str) -> str:
    """Return a column name without case, hyphens and spaces.

    >>> normal_name(" Doc-ID ")
    'doc_id'
    """
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def is_known(name: str) -> bool:
    """Return whether a column can be recognized by this name."""
    return normal_name(name) in _KNOWN


def first_of(names: Sequence[str], columns: Collection[str], taken: Collection[str] = ()) -> str:
    """Return the first column with one of the names, in order of the names, or an empty string."""
    known = {normal_name(column): column for column in reversed([*columns]) if column not in taken}
    return next((known[name] for name in names if name in known), "")


def _first_inner(names: Sequence[str], columns: Sequence[str], taken: Collection[str]) -> str:
    """Return the first field of a nested object with one of the names, such as `details.description`."""
    inner = {column.rpartition(".")[2]: column for column in reversed(columns) if "." in column and column not in taken}
    found = first_of(names, inner)
    return inner[found] if found else ""


def find_roles(
    columns: Sequence[str], texts: Collection[str], options: ReadOptions, place: str, *, queries: bool
) -> Roles:
    """Return columns by role.

    Parameters
    ----------
    columns : sequence of str
        All columns.
    texts : collection of str
        Columns that contain text.
    options : ReadOptions
        Columns named by the user.
    place : str
        Name of the file for messages.
    queries : bool
        Whether the rows are queries, which need a text and have no title.
    """
    unknown = next((name for name in options.named if name not in columns), None)
    if unknown is not None:
        raise DataError(f"no column {unknown!r} (columns: {listed(columns)})", path=place)
    ids = (options.id,) if options.id else tuple(name for name in ("id", "_id") if name in columns)
    text: tuple[str, ...] = options.text
    title = "" if queries else options.title
    taken = {*ids, *text, title, *options.named}
    if not text:
        names = _QUERY_TEXTS if queries else _TEXTS
        found = first_of(names, columns, taken) or _first_inner(names, columns, taken)
        text = (found,) if found else ()
    if not title and not queries:
        title = first_of(_TITLES, columns, {*taken, *text})
    if not ids:
        found = first_of(("id", "_id", *(_QUERY_IDS if queries else _IDS)), columns, {*text, title})
        ids = (found,) if found else ()
    if not text and not title:
        text = _only_text(columns, [name for name in texts if name not in ids], place, queries)
    return Roles(ids, title, text)


def _only_text(columns: Sequence[str], texts: Sequence[str], place: str, queries: bool) -> tuple[str, ...]:
    """Return the text column if no name identifies it: the only column with texts, or `text` if there is none."""
    if len(texts) < 2:
        return (texts[0] if texts else "text",)
    what = "the text of the queries" if queries else "title or text"
    option = "rename one to text" if queries else f"use --text {texts[0]}"
    raise DataError(f"no column looks like {what} (columns: {listed(columns)}); {option}", path=place)


def find_columns(
    columns: Sequence[str], names: Mapping[str, Sequence[str]], optional: Collection[str] = ()
) -> dict[str, str]:
    """Return columns by role; a missing role is an empty string if optional, else raises KeyError."""
    found = dict[str, str]()
    for role, wanted in names.items():
        found[role] = first_of(wanted, columns, [*found.values()])
        if not found[role] and role not in optional:
            raise KeyError(role)
    return found


def listed(columns: Sequence[str]) -> str:
    """Return names of columns in one line, at most twenty."""
    names = [" ".join(name.split()) for name in columns[:20]]
    return ", ".join(names)[:500] + (", …" if len(columns) > 20 else "") if columns else "none"
