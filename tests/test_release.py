"""What goes with a release: the version in one place, the citation, files of the package."""

import re
import tomllib
from pathlib import Path

import tacit
from tacit.app.main import main

ROOT = Path(__file__).parents[1]


def test_the_version_is_the_same_everywhere(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tacit {tacit.__version__}\n"
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == tacit.__version__
    assert f"\n## {tacit.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_citation_has_the_five_papers():
    _, *papers = re.split(r"^  - type:", (ROOT / "CITATION.cff").read_text("utf-8"), flags=re.MULTILINE)
    assert [re.search(r'notes: "(\w+):', paper)[1] for paper in papers] == ["HTR", "SSI", "TRANS", "PREF", "AUC"]
    for paper in papers:
        assert re.search(r"^    title: .+", paper, re.MULTILINE)
        assert re.search(r"^    year: 20\d\d$", paper, re.MULTILINE)
        assert len(re.findall(r"- \{family-names: [\w ]+, given-names: [\w -]+\}", paper)) >= 2


def test_every_file_of_the_package_is_packed():
    """Stubs, the page and the marker of types are data of the package, which a wheel has only if they are named."""
    data = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-data"]
    patterns = [f"**/{pattern}" for pattern in data["*"]] + data["tacit"]
    source = ROOT / "src" / "tacit"
    packed = {file for pattern in patterns for file in source.glob(pattern)}
    files = {file for file in source.rglob("*") if file.is_file() and "__pycache__" not in file.parts}
    assert {file for file in files if file.suffix != ".py"} <= packed
