"""From wikitext to plain text and the titles of its links, in one pass.

Words visible on the page are kept: paragraphs, headings, lists, cells of tables, labels of links, captions of files,
quoted code. Templates with their contents, references, comments, formulas, galleries, categories, links to other
languages, attributes and all markup are dropped. Links count everywhere, including templates and tables, but not in
references, comments and code.

mwparserfromhell takes seven times as long for the same pages; the tests compare with it. Time and memory are linear in
the length of the text for any input: every position is scanned once, except inside nested brackets, whose depth is
limited to `_MAX_DEPTH`.
"""

from __future__ import annotations

import html
import re
from typing import NamedTuple

from tacit.data.wiki.titles import CATEGORY, FILE, Site

_MAX_DEPTH = 100
# Possessive quantifiers, so that an unclosed tag is tried once and not at each of its letters.
_TOKEN = re.compile(
    r"\{\{|\}\}|\[\[|\]\]|\]|\[(?=(?:https?|ftps?|ircs?|news|mailto):|//)|<!--|<(/?)([A-Za-z][A-Za-z0-9]*+)[^<>]*+>"
)
_CLOSER_OF = {"}}": "{{", "]]": "[[", "]": "["}
# MediaWiki does not parse the contents of these.
_SHOWN_AS_IS = {"nowiki", "pre", "source", "syntaxhighlight"}
_DROPPED = {
    *("ref", "math", "chem", "ce", "gallery", "timeline", "score", "graph", "hiero", "imagemap", "inputbox"),
    *("templatedata", "templatestyles", "categorytree", "section", "mapframe", "maplink", "indicator", "style"),
}
_BREAKS = {
    *("br", "p", "div", "hr", "li", "ul", "ol", "dl", "dt", "dd", "table", "tr", "td", "th", "caption", "blockquote"),
    *("center", "poem", "references", "h1", "h2", "h3", "h4", "h5", "h6"),
}
_FILE_OPTION = re.compile(
    r"thumb(nail)?|frame(d|less)?|border|left|right|center|centre|none|upright([ =].*)?|\d*(x\d+)? ?px"
    r"|baseline|sub|super|top|text-top|middle|bottom|text-bottom|(thumb|link|alt|lang|page|class)=.*",
    re.IGNORECASE | re.DOTALL,
)
_NOT_IN_TITLES = re.compile(r"[\n\[\]{}<>|]")
_QUOTES = re.compile("'{2,}")
_SWITCHES = re.compile("__[A-Z]{3,}__")
_EMPTY_BRACKETS = re.compile(r" ?\([\s;,:]*\)")
_BLANK_LINES = re.compile(r"\n{3,}")
_SPACES = re.compile("[ \t\xa0]{2,}|[\t\xa0]")


class PlainPage(NamedTuple):
    """Text of a page, and the titles of linked articles, each once in order of appearance."""

    text: str
    links: list[str]


def plain_page(wikitext: str, site: Site) -> PlainPage:
    """Return text and links of a page.

    >>> plain_page("'''Cats''' are [[Felidae|felines]]{{cn}}.<ref>[[Book]]</ref>", Site())
    PlainPage(text='Cats are felines.', links=['Felidae'])
    """
    scan = _Scan(wikitext, site)
    text = _plain_lines(scan.run())
    if "''" in text:
        text = _QUOTES.sub("", text)
    if "__" in text:
        text = _SWITCHES.sub("", text)
    if "&" in text:
        text = html.unescape(text).replace("\0", "")
    text = _EMPTY_BRACKETS.sub("", _SPACES.sub(" ", text))
    return PlainPage(_BLANK_LINES.sub("\n\n", text).strip(), list(scan.links))


class _Scan:
    """The pass over brackets and tags: `pieces` is the text so far, `stack` the open brackets."""

    def __init__(self, wikitext: str, site: Site) -> None:
        self.wikitext, self.site = wikitext, site
        self.pieces: list[str] = []
        self.stack: list[tuple[str, int]] = []  # bracket, and its first piece
        self.n_open = {"{{": 0, "[[": 0, "[": 0}
        self.links: dict[str, None] = {}
        self.never_closed: set[str] = set()

    def run(self) -> str:
        """Return the text without brackets and tags."""
        text, place = self.wikitext, 0
        while match := _TOKEN.search(text, place):
            if match.start() > place:
                self.pieces.append(text[place : match.start()])
            place = self._step(match)
        return "".join([*self.pieces, text[place:]])

    def _step(self, match: re.Match[str]) -> int:
        """Handle one token; return the position to continue at."""
        token = match[0]
        if token in self.n_open:
            if len(self.stack) < _MAX_DEPTH:
                self.stack.append((token, len(self.pieces)))
                self.n_open[token] += 1
            return match.end()
        if token in _CLOSER_OF:
            return self._close(token, match.start())
        if token == "<!--":
            end = self.wikitext.find("-->", match.end())
            return len(self.wikitext) if end < 0 else end + 3
        return self._tag(match)

    def _close(self, token: str, place: int) -> int:
        if token == "]]" and self.stack and self.stack[-1][0] == "[":
            token = "]"  # of a URL at the end of a label: [[File:a.png|see [http://b c]]]
        opener = _CLOSER_OF[token]
        if not self.n_open[opener] or (token == "]" and self.stack[-1][0] != "["):
            self.pieces.append("" if token == "}}" else token)
            return place + len(token)
        found = ""
        while found != opener:  # unclosed inner brackets are text
            found, first = self.stack.pop()
            self.n_open[found] -= 1
        content = "" if opener == "{{" else "".join(self.pieces[first:])
        del self.pieces[first:]
        if opener != "{{":
            self.pieces.append(self._address(content) if opener == "[" else self._link(content))
        return place + len(token)

    def _address(self, content: str) -> str:
        """Return the label of an external link."""
        return f"[{content}]" if "\n" in content else content.partition(" ")[2]

    def _link(self, content: str) -> str:
        """Return the visible text of a link; note its target if it is an article."""
        target, bar, label = content.partition("|")
        namespace, title = self.site.split(target)
        if namespace == FILE and not target.lstrip().startswith(":"):
            return _caption(label)
        if _NOT_IN_TITLES.search(target):
            return content
        if namespace == CATEGORY and not target.lstrip().startswith(":"):
            return ""
        if not bar and self.site.is_language_link(target):
            return ""
        if namespace == 0 and title:
            self.links[title] = None
        return label if bar else target.strip().removeprefix(":")

    def _tag(self, match: re.Match[str]) -> int:
        closing, name = match[1], match[2].lower()
        if not closing and (name in _DROPPED or name in _SHOWN_AS_IS) and not match[0].endswith("/>"):
            return self._contents(name, match.end())
        if name in _BREAKS:
            self.pieces.append("\n" if name in ("br", "p", "div") else " ")
        return match.end()

    def _contents(self, name: str, place: int) -> int:
        """Skip an element that is not parsed; of one that is never closed, skip only the tag."""
        end = None if name in self.never_closed else re.compile(rf"</{name}\s*>", re.IGNORECASE).search(
            self.wikitext, place
        )  # fmt: skip
        if end is None:
            self.never_closed.add(name)
            return place
        if name in _SHOWN_AS_IS:
            self.pieces.append(self.wikitext[place : end.start()])
        return end.end()


def _caption(label: str) -> str:
    """Return the last part of a file link, unless it is an option."""
    caption = label.rpartition("|")[2].strip()
    return "" if _FILE_OPTION.fullmatch(caption) else f" {caption} "


def _plain_lines(text: str) -> str:
    """Return headings, lists and tables without their markup."""
    lines: list[str] = []
    depth = 0
    for line in text.split("\n"):
        first = line[:1]
        if first.isalnum() or not first:
            lines.append(line)
            continue
        start = line.lstrip(" \t:*#;")
        if start.startswith("{|"):
            depth += 1
        elif depth and start.startswith("|}"):
            depth -= 1
            lines.append(start[2:])
        elif depth and start[:1] in ("|", "!"):
            lines.append(_cells(start))
        elif first == "=":
            lines.append(line.strip("= \t"))
        else:
            lines.append("" if start.startswith("----") else start)
    return "\n".join(lines)


def _cells(line: str) -> str:
    """Return the cells of a table line without their attributes."""
    if line.startswith("|-"):
        return ""
    line = line.removeprefix("|+") if line.startswith("|+") else line[1:].replace("!!", "||")
    return " ".join(cell.partition("|")[2] if "|" in cell else cell for cell in line.split("||"))
