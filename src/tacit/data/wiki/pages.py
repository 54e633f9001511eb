"""Pages of a MediaWiki XML dump, one at a time, in the memory of one page.

The format is the export format of MediaWiki (Special:Export, Wikimedia dumps): `mediawiki` contains `siteinfo` and
many `page`, each with `title`, `ns`, `id`, `redirect` and one or more `revision`, of which the last counts. expat reads
UTF-8, UTF-16 and declared encodings. A document type is refused: dumps have no document type, and it could declare
entities.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from xml.parsers import expat

from tacit.core import DataError, TacitError
from tacit.data.compression import DamagedError
from tacit.data.files import max_line_bytes, too_long
from tacit.data.wiki.titles import Site

# Possessive: whitespace is matched in one way only, so that a text of whitespace takes linear time.
_REDIRECT = re.compile(r"\s*+#redirect\s*+:?\s*+\[\[([^\[\]{}|\n]+)", re.IGNORECASE)
_MAX_DEPTH = 100
# Elements whose text is read: their name and the name of the enclosing element.
_FIELDS = {("title", "page"), ("ns", "page"), ("id", "page"), ("text", "revision"), ("model", "revision")}


class Page(NamedTuple):
    """A page of the dump; missing fields are None, `line` is its first line."""

    line: int
    id: str | None
    title: str | None
    namespace: str | None
    model: str | None
    text: str | None
    redirect: str | None


class DumpPages:
    """Reads the pages of a dump.

    Parameters
    ----------
    chunks : iterable of bytes
        Plain bytes of the dump.
    place : str
        Name of the file for messages.

    Attributes
    ----------
    site : Site
        Namespaces of the wiki, as far as they have been read.
    """

    def __init__(self, chunks: Iterable[bytes], place: str) -> None:
        self._chunks, self._place = chunks, place
        self._namespaces: dict[str, int] = {}
        self._first_letter, self.site = True, Site()
        self._path: list[str] = []
        self._pieces: list[str] = []
        self._page: dict[str, Any] = {}
        self._done: list[Page] = []
        self._n_pages = self._n_fed = self._n_characters = 0

    def __iter__(self) -> Iterator[Page]:
        parser = self._parser = expat.ParserCreate()
        parser.buffer_text, parser.buffer_size = True, 1 << 20
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        try:
            for chunk in self._chunks:
                self._n_fed += len(chunk)
                parser.Parse(chunk, False)
                self._check_length()
                yield from self._take()
            parser.Parse(b"", True)
            yield from self._take()
        except expat.ExpatError as error:
            raise self._problem(self._explain(error), error.lineno) from None
        except TacitError:
            raise
        except (LookupError, ValueError) as error:  # raised by the codec named in the XML declaration
            raise self._problem(f"the XML declaration names an encoding that cannot be read: {error}") from None
        except DamagedError as damage:
            raise self._problem(f"{damage} after this line, {self._read_so_far()}", parser.CurrentLineNumber) from None
        finally:
            parser.StartElementHandler = parser.EndElementHandler = parser.CharacterDataHandler = None

    def _take(self) -> list[Page]:
        done, self._done = self._done, []
        return done

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._path and name != "mediawiki":
            raise self._problem(f"not a MediaWiki dump: its root is <{name[:40]}>, want <mediawiki>")
        parent = self._path[-1] if self._path else ""
        if len(self._path) >= _MAX_DEPTH:
            raise self._problem(f"elements are nested more than {_MAX_DEPTH} deep, want a MediaWiki dump")
        if name == "page" and "page" in self._path:
            raise self._problem("a <page> is inside another <page>, want them in sequence")
        self._path.append(name)
        if name == "page":
            self._page = {"line": self._parser.CurrentLineNumber}
        elif name == "redirect" and parent == "page":
            self._page["redirect"] = attributes.get("title")
        elif name == "namespace":
            self._page["key"] = attributes.get("key", "")
        if (name, parent) in _FIELDS or name in ("namespace", "case"):
            self._pieces, self._n_characters = [], 0
            self._parser.CharacterDataHandler = self._add_text

    def _add_text(self, text: str) -> None:
        self._pieces.append(text)
        self._n_characters += len(text)
        if self._n_characters > max_line_bytes():
            raise self._too_long()

    def _check_length(self) -> None:
        """Raise if expat has buffered too much while it waits for the end of a tag or comment."""
        if self._n_fed - self._parser.CurrentByteIndex > max_line_bytes() + (1 << 22):
            raise self._too_long()

    def _too_long(self) -> DataError:
        return too_long(self._place, self._parser.CurrentLineNumber, "a page or tag")

    def _end(self, name: str) -> None:
        self._path.pop()
        parent = self._path[-1] if self._path else ""
        text, self._pieces = "".join(self._pieces), []
        if (name, parent) in _FIELDS:
            self._page[name] = text or None
        elif name == "namespace" and re.fullmatch("-?[0-9]{1,9}", self._page.get("key", "")):
            self._namespaces[text] = int(self._page["key"])
        elif name == "case":
            self._first_letter = text != "case-sensitive"
        elif name == "siteinfo":
            self.site = Site(self._namespaces, self._first_letter)
        elif name == "page":
            self._finish_page()
        self._parser.CharacterDataHandler = None

    def _finish_page(self) -> None:
        fields, text = self._page, self._page.get("text")
        redirect = fields.get("redirect")
        if redirect is None and text and (match := _REDIRECT.match(text)):
            redirect = match[1]
        id_, title, namespace, model = (fields.get(name) for name in ("id", "title", "ns", "model"))
        self._done.append(Page(fields["line"], id_, title, namespace, model, text, redirect))
        self._n_pages += 1
        self._page = {}

    def _refuse_doctype(self, *declaration: object) -> None:
        raise self._problem("not a MediaWiki dump: it declares a document type, which dumps do not have")

    def _explain(self, error: expat.ExpatError) -> str:
        if not self._path and not self._n_pages:
            return f"not XML: {expat.ErrorString(error.code)}, want a MediaWiki dump"
        if error.code == expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS] or self._is_at_end(error):
            return f"the dump is truncated, {self._read_so_far()}"
        return f"not XML: {expat.ErrorString(error.code)} in column {error.offset + 1}, {self._read_so_far()}"

    def _is_at_end(self, error: expat.ExpatError) -> bool:
        return error.code in {
            expat.errors.codes[kind]
            for kind in (
                expat.errors.XML_ERROR_UNCLOSED_TOKEN,
                expat.errors.XML_ERROR_PARTIAL_CHAR,
                expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
            )
        }

    def _read_so_far(self) -> str:
        where = f"within the page {self._page['title']!r}, " if self._page.get("title") else ""
        return f"{where}{self._n_pages:,} complete pages were read"

    def _problem(self, problem: str, line: int | None = None) -> DataError:
        return DataError(problem, path=self._place, line=line or self._parser.CurrentLineNumber)
