"""From docstrings in numpydoc and reStructuredText to plain words and names of related objects.

The "See Also" section becomes a list of names and is removed from the text, because rankers should find these names.
References, displayed formulas, version notes, prompts and printed results are removed too; the words of roles, code and
headings are kept. The first line is the summary.

Patterns run over whole docstrings, not line by line, because thousands are read while a user waits.
"""

from __future__ import annotations

import functools
import inspect
import keyword
import re
from typing import NamedTuple

# Directives whose bodies do not describe the object, or are formulas, files and layout.
_DROPPED_DIRECTIVES = {
    *("math", "versionadded", "versionchanged", "versionremoved", "deprecated", "legacy", "toctree", "index"),
    *("currentmodule", "module", "moduleauthor", "sectionauthor", "only", "figure", "image", "highlight"),
    *("literalinclude", "automodule", "autoclass", "autoattribute", "automethod", "autofunction"),
}

_UNDERLINE = r"\n *(?:-{3,}|={3,}|~{3,}) *$"
_HEADING = re.compile(rf"^ *\S.*{_UNDERLINE}", re.MULTILINE)
# The start of a block that is not plain words: a section to remove, a directive, a footnote or comment.
_BLOCK = re.compile(
    rf"^( *)(?:(see also:?|references) *{_UNDERLINE}|(see also:?) *$|\.\. ?([\w:-]+):: *(.*)|\.\.(?: .*)?$)",
    re.MULTILINE | re.IGNORECASE,
)
_OPTIONS = re.compile(r"(?:\n *:[\w-]+:.*)*")
_BLANK_LINES = re.compile(r"\n(?: *\n)+")
_BLANK_START = re.compile(r"\s*\n")
_SEE_ALSO = re.compile(r"\s*see also:?\s*", re.IGNORECASE)

# A call with balanced brackets (one level deep) alone on the first lines: the only signature of C functions.
_SIGNATURE = re.compile(r"[\w.]+\((?:[^()]|\([^()]*\))*\)(?: *->[^\n]*)?[ .]*\n\s*")
# scipy appends the same paragraph and table of array libraries to hundreds of functions.
_ARRAY_API_NOTE = re.compile(r"\*\*Array API Standard Support\*\*.*?for more information\.", re.DOTALL)
_ORNAMENT = re.compile(r"^ *[=~^+*#|\"'.:`_-][ =~^+*#|\"'.:`_-]*(?:\n|\Z)", re.MULTILINE)
_PROMPT = re.compile(r" *(?:>>>|\.\.\.)(?: |$)")
_DOCTEST_FLAG = re.compile(r"\s*#\s*doctest:.*")
_ADDRESS = re.compile(r"\s*\bat 0x[0-9a-fA-F]+")

# Patterns that begin with their rarest letter are several times faster than patterns that begin with alternatives.
_ROLE = re.compile(r":([\w:+-]+):`([^`]+)`")
_QUOTED = re.compile(r"``((?:[^`]|`(?!`))+)``|`([^`]+)`_{0,2}")
_TITLE_AND_TARGET = re.compile(r"(.*?)\s*<([^<>]*)>", re.DOTALL)
_FOOTNOTE = re.compile(r"\s?\[[\w.*#+-]+\]_(?!\w)")
_EMPHASIS = re.compile(r"\*(?<![\w*]\*)(\*?)(?=[^\s*])([^*]+)(?<=[^\s*])\*\1(?![\w*])")
_GALLERY = "sphx_glr_auto_examples_"  # precedes the file name of an example in a gallery of plots
_TEX = re.compile(r"[\\{}$^_&]+")

_NAME = re.compile(r"[A-Za-z_][\w.]*(?:\(\))?")
_ENTRY_END = re.compile(r"\s:(?:\s|$)|:(?:\s|$)|\s--?\s")
_BULLET = re.compile(r"\A\s*[-*]\s+")


class ParsedDoc(NamedTuple):
    """Plain text of a docstring and the names in its "See Also" section, in order."""

    text: str
    see_also: list[str]


class _Block(NamedTuple):
    """The text of a block, its "See Also" entries, and where it ends."""

    words: str
    see_also: list[str]
    end: int


def parse_docstring(doc: str) -> ParsedDoc:
    """Split a docstring into plain text and the names in its "See Also" section.

    >>> parse_docstring('''Add *two* numbers.
    ...
    ... See Also
    ... --------
    ... :func:`~math.sub` : the inverse
    ...
    ... Notes
    ... -----
    ... Uses ``fma`` [1]_.''')
    ParsedDoc(text='Add two numbers.\\nNotes\\nUses fma.', see_also=['math.sub'])
    """
    body = _body(doc)
    words, names, at = [], [], 0
    while found := _BLOCK.search(body, at):
        block = _read_block(body, found)
        words += [body[at : found.start()], block.words]
        names += [name for entries in block.see_also for name in _related_names(entries)]
        at = block.end
    return ParsedDoc(_plain_text("".join([*words, body[at:]])), list(dict.fromkeys(names)))


def _body(doc: str) -> str:
    """Return the docstring without signatures, with its indent unless that hides the end of the first block."""
    doc = inspect.cleandoc(doc) if doc.lstrip().startswith("..") else doc.expandtabs().strip()
    while found := _SIGNATURE.match(doc):
        doc = doc[found.end() :]
    return _ARRAY_API_NOTE.sub("", doc) if "**Array API" in doc else doc


def _read_block(doc: str, found: re.Match[str]) -> _Block:
    indent, heading, bare, directive, argument = found.groups()
    start = found.end()
    if heading:
        end = _start_of(_HEADING, doc, start)
        return _Block("", [doc[start:end]] if _SEE_ALSO.fullmatch(heading) else [], end)
    if bare:
        start = _end_of(_BLANK_START, doc, start)
        end = _start_of(_BLANK_LINES, doc, start)
        return _Block("", [doc[start:end]], end)
    end = _end_of(_deeper_than(len(indent)), doc, start)
    if directive is None or directive in _DROPPED_DIRECTIVES:
        return _Block("", [], end)
    if directive == "seealso":
        return _Block("", [argument, doc[start:end]], end)
    if _SEE_ALSO.fullmatch(argument):  # `.. admonition:: See Also`
        return _Block("", [doc[start:end]], end)
    return _Block(argument, [], _end_of(_OPTIONS, doc, start))


def _start_of(pattern: re.Pattern[str], doc: str, at: int) -> int:
    found = pattern.search(doc, at)
    return found.start() if found else len(doc)


def _end_of(pattern: re.Pattern[str], doc: str, at: int) -> int:
    found = pattern.match(doc, at)
    return found.end() if found else at


@functools.cache
def _deeper_than(indent: int) -> re.Pattern[str]:
    """Return the lines of a directive's body: indented deeper than it, including blank lines."""
    return re.compile(rf"(?:\n *(?=\n|\Z)|\n {{{indent + 1},}}\S.*)*")


def _related_names(entries: str) -> list[str]:
    """Return names of a "See Also" block: entries have the least indent, descriptions are deeper."""
    lines = [line for line in entries.split("\n") if line.strip()]
    margin = min((_indent(line) for line in lines), default=0)
    names: list[str] = []
    continues = False
    for line in lines:
        if continues or _indent(line) == margin:
            entry = _BULLET.sub("", line, count=1)
            names += _entry_names(entry)
            continues = entry.rstrip().endswith(",")
    return names


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _entry_names(entry: str) -> list[str]:
    """Return names before the colon of `a, :func:`b` : description`; of a sentence, only the quoted names."""
    entry = _ROLE.sub(r"`\2`", entry)
    quoted = [_quoted_name(found) for found in _QUOTED.finditer(entry)]
    head = _ENTRY_END.split(_QUOTED.sub(_quoted_name, entry).strip(), maxsplit=1)[0]
    names = [name.strip() for name in head.split(",") if name.strip()]
    if not all(_NAME.fullmatch(name) for name in names):
        names = [name for name in quoted if _NAME.fullmatch(name)]
    bare = (name.removesuffix("()").rstrip(".") for name in names)
    return [name for name in bare if not keyword.iskeyword(name)]  # "None : there is nothing similar"


def _quoted_name(found: re.Match[str]) -> str:
    words = found[1] or found[2]
    titled = _TITLE_AND_TARGET.fullmatch(words)
    return (titled[2] if titled else words).strip().lstrip("~!")


def _plain_text(words: str) -> str:
    """Join cleaned paragraphs; the first one, the summary, becomes one line."""
    # Markup may continue on the next line, but never after a blank line.
    paragraphs = [_plain_paragraph(part) for part in _BLANK_LINES.split(_ORNAMENT.sub("", words))]
    filled = [lines for lines in paragraphs if lines]
    if not filled:
        return ""
    return "\n".join([" ".join(filled[0]), *(line for lines in filled[1:] for line in lines)])


def _plain_paragraph(text: str) -> list[str]:
    if ">>>" in text:
        text = _code_only(text)
    if ":`" in text:
        text = _ROLE.sub(_role_words, text)
    if "`" in text:
        text = _QUOTED.sub(_quoted_words, text).replace("`", "")
    if "]_" in text:
        text = _FOOTNOTE.sub("", text)
    if "*" in text:
        text = _EMPHASIS.sub(r"\2", text)
    if "at 0x" in text:
        text = _ADDRESS.sub("", text)
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return [line.replace("::", ":") if line.endswith("::") else line for line in lines if line]


def _code_only(text: str) -> str:
    """Return examples without prompts and their output; words before the first prompt stay."""
    lines, in_example = [], False
    for line in text.split("\n"):
        if found := _PROMPT.match(line):
            in_example = True
            lines.append(_DOCTEST_FLAG.sub("", line[found.end() :]))
        elif not in_example:
            lines.append(line)
    return "\n".join(lines)


def _role_words(found: re.Match[str]) -> str:
    role, words = found.groups()
    if role.startswith("math"):
        return _TEX.sub(" ", words)
    if words.startswith(_GALLERY):
        return words.removeprefix(_GALLERY).removesuffix(".py").replace("_", " ")
    return _title(words)


def _quoted_words(found: re.Match[str]) -> str:
    return found[1] or _title(found[2])


def _title(words: str) -> str:
    """Return the visible part of a link: `text <target>` shows the text, `~a.b` the name."""
    titled = _TITLE_AND_TARGET.fullmatch(words) if "<" in words else None
    return (titled[1] or titled[2] if titled else words).lstrip("~!")
