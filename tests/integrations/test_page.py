"""Every section of docs/integrations.md is run with its library; the first line of a section names it."""

import doctest
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "integrations.md"
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL))


@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")  # PyTerrier's
@pytest.mark.parametrize("title", SECTIONS)
def test_section_runs(title, need, tmp_path, monkeypatch):
    text = SECTIONS[title]
    for library in re.findall(r"^<!-- needs (.*) -->", text)[0].split():
        need(library)
    monkeypatch.chdir(tmp_path)
    example = doctest.DocTestParser().get_doctest(text, {}, title, str(PAGE), 0)
    assert example.examples
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert runner.run(example).failed == 0
