"""Write the parts of the docs that the program prints: `make docs`.

docs/command-line.md has the help texts, and docs/demo.md the start of the output of `tacit demo`. The README has the
output of three commands on a collection of TACIT_DATA (unchanged where that is not set). docs/index.md shares the
marked parts of the README. `--print` prints the page of the command line and writes nothing.
"""

import os
import re
import shlex
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from shutil import copyfile
from subprocess import PIPE, STDOUT
from tempfile import TemporaryDirectory
from textwrap import fill

DATA = os.environ.pop("TACIT_DATA", None)  # its value would appear in the help as a default
os.environ["COLUMNS"] = "100"

from tacit.app.main import build_parser
from tacit.core import Collection
from tacit.data import read_collection, write_collection

ROOT = Path(__file__).parent.parent
COLLECTION = "cystic_fibrosis"
THREE_COMMANDS = (
    "fit docs.jsonl -o my.model",
    'search my.model "is the salt in sweat a reliable test?" -k 2',
    "advise docs.jsonl --queries queries.jsonl --qrels qrels.txt",
)
WIDTH = 120
SHARED = re.compile("<!-- shared -->.*?<!-- /shared -->", re.DOTALL)


def command_line_page() -> str:
    """The help of the program, then of every command."""
    parser = build_parser()
    parts = ["# The command line", "", "Written by `make docs` from the help texts.", ""]
    for helped in with_commands(parser):
        parts += [f"## {helped.prog}", "", "```text", helped.format_help().rstrip(), "```", ""]
    return "\n".join(parts).rstrip() + "\n"


def with_commands(parser: ArgumentParser) -> Iterator[ArgumentParser]:
    """The parser, then those of its commands and of theirs."""
    yield parser
    if parser._subparsers is not None:
        for command in parser._subparsers._group_actions[0].choices.values():
            yield from with_commands(command)


def write_transcripts(*pages: Path) -> None:
    """Write new transcripts of the demo and of three commands between their marks on these pages."""
    texts = {"demo": f"$ tacit demo\n{shorten(_output('demo'))}"}
    if DATA:
        texts["commands"] = transcript(Path(DATA) / "text" / COLLECTION)
    for page in pages:
        written = page.read_text("utf-8")
        for name, text in texts.items():
            written = _between(written, name, text)
        page.write_text(written, "utf-8")


def share(readme: Path, home: Path) -> None:
    """Copy the shared parts of the README, with links relative to docs/, to the home page of the site."""
    parts = iter(SHARED.findall(readme.read_text("utf-8")))
    written = SHARED.sub(lambda _: next(parts).replace("(docs/", "(").replace('"docs/', '"'), home.read_text("utf-8"))
    home.write_text(written, "utf-8")


def transcript(collection: Path) -> str:
    """The three commands and what they print, in a folder with the texts, queries and judgments of the collection."""
    parts = []
    with TemporaryDirectory() as folder:
        documents = read_collection(collection / "docs.jsonl.gz")
        texts = Collection(documents.ids, documents.titles, documents.texts)  # other fields only make the lines longer
        write_collection(texts, Path(folder, "docs.jsonl"))
        for name in ("queries.jsonl", "qrels.txt"):
            copyfile(collection / name, Path(folder, name))
        for command in THREE_COMMANDS:
            lines = _output(*shlex.split(command), folder=folder).splitlines()
            parts.append("\n".join([f"$ tacit {command}", *map(fitted, lines)]))
    return "\n\n".join(parts)


def fitted(line: str) -> str:
    """The line within WIDTH characters: snippets, which are indented, are cut; other lines are wrapped."""
    if len(line) <= WIDTH:
        return line
    return line[: WIDTH - 1] + "…" if line.startswith(" ") else fill(line, WIDTH)


def _output(*words: str, folder: str | None = None) -> str:
    command = [sys.executable, "-m", "tacit", *words]
    done = subprocess.run(command, stdout=PIPE, stderr=STDOUT, text=True, check=True, cwd=folder)
    return done.stdout.strip("\n")


def _between(page: str, name: str, text: str) -> str:
    """The page with another text between the marks of this name."""
    block = f"<!-- {name} -->\n```text\n{text}\n```\n<!-- /{name} -->"
    return re.sub(rf"<!-- {name} -->.*<!-- /{name} -->", lambda _: block, page, flags=re.DOTALL)


def shorten(transcript: str) -> str:
    """The tables, and the results of the first query."""
    first, *others = re.split(r"\n\n(?=  \S)", transcript)
    return f"{first}\n\n{others[0]}\n  ..."


if __name__ == "__main__":
    if "--print" in sys.argv[1:]:
        sys.stdout.write(command_line_page())
    else:
        (ROOT / "docs" / "command-line.md").write_text(command_line_page(), "utf-8")
        write_transcripts(ROOT / "README.md", ROOT / "docs" / "demo.md")
        share(ROOT / "README.md", ROOT / "docs" / "index.md")
