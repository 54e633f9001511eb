"""Write the parts of the docs that the program prints: `make docs`.

docs/command-line.md has the help texts; the README has the start of the output of `tacit demo`.
`--print` prints the page of the command line and writes nothing.
"""

import os
import re
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path

os.environ.pop("TACIT_DATA", None)  # its value would stand in the help as a default
os.environ["COLUMNS"] = "100"

from tacit.app.main import build_parser

ROOT = Path(__file__).parent.parent


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


def with_transcript(readme: str) -> str:
    """The README with a new transcript of the demo between its marks."""
    done = subprocess.run([sys.executable, "-m", "tacit", "demo"], capture_output=True, text=True, check=True)
    block = f"<!-- demo -->\n```text\n$ tacit demo\n{shorten(done.stdout)}\n```\n<!-- /demo -->"
    return re.sub(r"<!-- demo -->.*<!-- /demo -->", lambda _: block, readme, flags=re.DOTALL)


def shorten(transcript: str) -> str:
    """The table, and the answers to the first question."""
    first, *others = re.split(r"\n\n(?=  \S)", transcript)
    return f"{first}\n\n{others[0]}\n  ..."


if __name__ == "__main__":
    if "--print" in sys.argv[1:]:
        sys.stdout.write(command_line_page())
    else:
        (ROOT / "docs" / "command-line.md").write_text(command_line_page(), "utf-8")
        readme = ROOT / "README.md"
        readme.write_text(with_transcript(readme.read_text("utf-8")), "utf-8")
