"""A folder of texts: each `.txt`, `.md`, `.rst` or `.html` file below it is a document.

The id is the path below the folder, and the title the first heading: a `#` or underlined line of Markdown or `title` in
its front matter, `h1` or `title` in HTML. Plain text has no title. Hidden files and folders are skipped. A page of HTML
that is not UTF-8 is read in the encoding that it declares.
"""

from __future__ import annotations

import codecs
import os
import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from tacit.core import DataError, plural
from tacit.data.columns import logger
from tacit.data.files import max_line_bytes, not_utf8, too_long
from tacit.data.formats.source import ReadOptions, Record, Table, open_source

SUFFIXES = {".txt": "text", ".text": "text", ".md": "markdown", ".markdown": "markdown", ".rst": "markdown"}
SUFFIXES |= {".html": "html", ".htm": "html", ".xhtml": "html"}
_ABOUT = {"readme", "license", "licence"}
_CHARSET = re.compile(rb"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]+)", re.IGNORECASE)
_FRONT = re.compile(r"---[ \t]*\n(.*?)\n(---|\.\.\.)[ \t]*(\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:[ \t]*(.+)$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}[ \t]+(.*?)[ \t#]*$")
_UNDERLINE = re.compile(r"(={3,}|-{3,}|~{3,})[ \t]*")
_UNSHOWN = {"script", "style", "template", "noscript", "head", "svg"}
_BLOCKS = {
    *("p", "div", "br", "li", "ul", "ol", "tr", "td", "th", "table", "section", "article", "header", "footer", "pre"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "dt", "dd", "blockquote", "figure", "figcaption", "main", "nav", "aside"),
}


def find_texts(folder: Path) -> list[Path]:
    """Return text files below a folder, in order of their paths; report the types of other files.

    A README or licence beside other files only describes them.
    """
    found, others = list[Path](), Counter[str]()
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            suffix = os.path.splitext(name)[1].lower()
            if suffix in SUFFIXES and not name.startswith("."):
                found.append(Path(root, name))
            elif not name.startswith("."):
                others[suffix or "without a suffix"] += 1
    if others and all(path.stem.lower() in _ABOUT for path in found):
        return []
    if found and others:
        kinds = ", ".join(f"{suffix} {n}" for suffix, n in others.most_common(5))
        logger.warning("%s: left out: %s (%s)", folder, plural(sum(others.values()), "other file"), kinds)
    return sorted(found, key=lambda path: path.relative_to(folder).as_posix())


def read_texts(folder: Path, files: list[Path], options: ReadOptions) -> Table:
    """Read the documents of text files."""
    return Table(_records(folder, files, options), os.fspath(folder), standard=True)


def _records(folder: Path, files: list[Path], options: ReadOptions) -> Iterator[Record]:
    for number, path in enumerate(files, start=1):
        kind = SUFFIXES[path.suffix.lower()]
        title, text = split_title(_content(path, options, kind), kind)
        yield Record(number, {"id": path.relative_to(folder).as_posix(), "title": title, "text": text})


def _content(path: Path, options: ReadOptions, kind: str) -> str:
    pieces, size = list[bytes](), 0
    for chunk in open_source(path, options).chunks:
        pieces.append(chunk)
        size += len(chunk)
        if size > max_line_bytes():
            raise too_long(path, 1, "a document")
    content = b"".join(pieces)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if kind == "html" and (encoding := _declared_encoding(content)):
            return content.decode(encoding, "replace").replace("\0", "\ufffd")
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(not_utf8(error), path=path, line=line) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError("the text contains the character U+0000, want text", path=path, line=line)
    return text


def _declared_encoding(page: bytes) -> str:
    """Return the encoding that a page declares in its first bytes, or an empty string; Latin-1 as browsers read it.

    >>> _declared_encoding(b'<meta charset="iso-8859-1">'), _declared_encoding(b"<meta charset=no-such>")
    ('cp1252', '')
    """
    named = _CHARSET.search(page[:1024])
    try:
        name = codecs.lookup(named[1].decode("ascii")).name if named else ""
    except LookupError:
        return ""
    return "cp1252" if name in ("iso8859-1", "ascii") else name


def split_title(content: str, kind: str) -> tuple[str, str]:
    """Return title and text of a document.

    >>> split_title("# Cats\\n\\nThey *purr*.\\n", "markdown"), split_title("<h1>Cats</h1><p>purr", "html")
    (('Cats', 'They *purr*.'), ('Cats', 'purr'))
    """
    if kind == "html":
        page = _Page()
        page.feed(content)
        page.close()
        return page.title(), page.text()
    content = content.replace("\r\n", "\n")
    return _markdown(content) if kind == "markdown" else ("", content.strip())


def _markdown(content: str) -> tuple[str, str]:
    title, front = "", _FRONT.match(content)
    if front:
        content = content[front.end() :]
        named = _FRONT_TITLE.search(front[1])
        title = named[1].strip().strip("\"'") if named else ""
    if title:
        return title, content.strip()
    lines = content.split("\n")
    for row, line in enumerate(lines):
        heading = _HEADING.match(line)
        underlined = row + 1 < len(lines) and line.strip() and _UNDERLINE.fullmatch(lines[row + 1])
        if heading or underlined:
            title = heading[1] if heading else line.strip()
            return title, "\n".join(lines[:row] + lines[row + (1 if heading else 2) :]).strip()
    return "", content.strip()


class _Page(HTMLParser):
    """Visible text of a page, its first `h1` and its `title`."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._pieces, self._of_title, self._of_h1 = list[str](), list[str](), list[str]()
        self._hidden: list[str] = []
        self._in_title = self._in_h1 = self._h1_done = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Handle the start of an element."""
        if tag == "body":
            self._hidden.clear()
        if tag in _UNSHOWN:
            self._hidden.append(tag)
        self._in_title = self._in_title or (tag == "title" and not self._of_title)
        self._in_h1 = self._in_h1 or (tag == "h1" and not self._h1_done)
        if tag in _BLOCKS:
            self._pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        """Handle the end of an element."""
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        if tag == "title":
            self._in_title = False
        if tag == "h1" and self._in_h1:
            self._in_h1, self._h1_done = False, True
        if tag in _BLOCKS:
            self._pieces.append("\n")

    def handle_data(self, data: str) -> None:
        """Keep visible text."""
        if self._in_title:
            self._of_title.append(data)
        elif not self._hidden:
            (self._of_h1 if self._in_h1 else self._pieces).append(data)

    def title(self) -> str:
        """Return the first heading, else the title of the page."""
        return " ".join("".join(self._of_h1).split()) or " ".join("".join(self._of_title).split())

    def text(self) -> str:
        """Return the text without the first heading, one block per line."""
        lines = (" ".join(line.split()) for line in "".join(self._pieces).split("\n"))
        return "\n".join(line for line in lines if line).replace("\0", "")
