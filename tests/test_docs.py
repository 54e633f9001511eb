"""What the docs say is run: examples in Markdown, the help texts, the names of commands and systems."""

import ast
import builtins
import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tacit import rerank, retrieve
from tacit.app.main import COMMANDS, build_parser
from tacit.data.formats.registry import FORMATS
from tacit.features.bm25 import VARIANTS
from tacit.metrics import KINDS
from tacit.retrieve import Bm25Ranker

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md")),
        *(ROOT / "docs").rglob("*.md"),
    ]
)


# Each section of the page on integrations needs a library of its own: tests/integrations runs it.
PAGES_RUN = [page for page in PAGES if page.name != "integrations.md"]


@pytest.mark.parametrize("page", PAGES_RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, _ = doctest.testfile(str(page), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_the_tutorial_uses_no_name_that_only_its_comments_define():
    """Comments start the service for the tests; readers start it themselves and do not see them."""
    printed = re.sub(r"<!--.*?-->", "", (ROOT / "docs" / "tutorial.md").read_text("utf-8"), flags=re.DOTALL)
    source = "".join(example.source for example in doctest.DocTestParser().get_examples(printed))
    names = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)]
    defined = {name.id for name in names if isinstance(name.ctx, ast.Store)} | set(dir(builtins))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            defined |= {alias.asname or alias.name for alias in node.names}
        if isinstance(node, ast.FunctionDef):
            defined |= {node.name, *(arg.arg for arg in ast.walk(node) if isinstance(arg, ast.arg))}
    assert {name.id for name in names} - defined == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_within_the_project_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_readme_starts_with_the_two_commands():
    top = (ROOT / "README.md").read_text("utf-8")[:900]
    assert "make demo" in top
    assert "make test" in top


def test_the_home_page_shares_the_marked_parts_of_the_readme():
    readme, home = (
        re.findall("<!-- shared -->.*?<!-- /shared -->", (ROOT / page).read_text("utf-8"), re.DOTALL)
        for page in ("README.md", "docs/index.md")
    )
    assert len(home) == 3
    assert [part.replace("(docs/", "(").replace('"docs/', '"') for part in readme] == home


def test_every_system_and_command_is_documented():
    commands, methods = (ROOT.joinpath(page).read_text("utf-8") for page in ("docs/commands.md", "docs/methods.md"))
    names = [*retrieve.METHODS, *rerank.METHODS]
    assert [name for name in names if f"`{name}`" not in methods] == []
    assert [name for name in COMMANDS if f"tacit {name}" not in commands] == []


def test_every_measure_variant_and_format_is_documented():
    """What a registry has that its page lacks: nothing."""
    pages = {name: (ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in ("measures", "methods")}
    formats = (ROOT / "docs" / "guides" / "files-and-fields.md").read_text("utf-8").lower()
    assert [name for name in KINDS if not re.search(f"`{name}[`@]", pages["measures"])] == []
    assert [name for name in VARIANTS if f"`{name}`" not in pages["methods"]] == []
    assert [name for name in VARIANTS if f'"{name}"' not in Bm25Ranker.__doc__] == []
    assert [form.name for form in FORMATS if form.name.lower() not in formats] == []


def test_the_page_of_the_command_line_is_what_help_prints():
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--print"], capture_output=True, text=True, check=True
    )
    # Word by word: Python versions lay the same help out with other spaces.
    assert (ROOT / "docs" / "command-line.md").read_text("utf-8").split() == done.stdout.split()


def test_every_option_has_a_help_text():
    commands = build_parser()._subparsers._group_actions[0].choices
    for name, parser in commands.items():
        for action in parser._actions:
            assert action.help, f"tacit {name} {action.dest}"


def test_the_site_has_every_page():
    named = set(re.findall(r": ([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE))
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert named <= pages
    assert {page for page in pages - named if not page.startswith("results/")} == set()
