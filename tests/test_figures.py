"""The pictures of result pages show the numbers that their pages print."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
DOCS = Path(__file__).parent.parent / "docs"
spec = importlib.util.spec_from_file_location("docs_figures", DOCS / "figures.py")
figures = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = figures  # dataclasses look their module up
spec.loader.exec_module(figures)

PAGE = """
| set | n | 95% interval | n |
|---|---:|---|---|
| a | +.035 | .1, -.014 to +.057 | 7 |
| | **61%** | +.1 to +.2 | 8 |

```text
 documents      read, s
    10,000         1.42
 1,000,000       107.58
```
"""


@pytest.mark.parametrize("picture", figures.FIGURES, ids=lambda picture: picture.file)
def test_a_picture_has_the_numbers_of_its_page(picture):
    assert picture.stored() == picture.numbers()


@pytest.mark.parametrize("picture", figures.FIGURES, ids=lambda picture: picture.file)
def test_a_picture_is_shown_on_its_pages(picture):
    for name in (picture.page, *picture.shown_on):
        page = (DOCS / name).resolve()
        links = re.findall(r"(?:\]\(|src=\")([^)\"]+\.png)", page.read_text("utf-8"))
        assert (DOCS / picture.file).resolve() in {(page.parent / link).resolve() for link in links}, name


def test_tables_are_read_by_their_columns():
    rows = figures.table(PAGE, "set", "n")
    assert [row["set"] for row in rows] == ["a", "a"]
    assert [figures.number(row["n"]) for row in rows] == [0.035, 61]
    assert figures.interval(rows[0]["95% interval"]) == [-0.014, 0.057]
    with pytest.raises(SystemExit, match="no table with the columns missing"):
        figures.table(PAGE, "missing")


def test_printed_tables_are_read_up_to_the_end_of_their_block():
    rows = figures.printed(PAGE, "documents      read, s")
    assert [[figures.number(cell) for cell in row] for row in rows] == [[10_000, 1.42], [1_000_000, 107.58]]


def test_another_number_on_the_page_makes_a_picture_outdated(monkeypatch, tmp_path):
    picture = figures.Picture(
        "drawn.png", "page.md", lambda page: {"n": float(page)}, lambda _: figures.new_figure(1, 1)[0]
    )
    monkeypatch.setattr(figures, "DOCS", tmp_path)
    monkeypatch.setattr(figures, "FIGURES", [picture])
    (tmp_path / "page.md").write_text("1")
    assert figures.main(["--check"]) == 1  # not drawn yet
    assert figures.main([]) == 0
    assert figures.main(["--check"]) == 0
    (tmp_path / "page.md").write_text("2")
    assert figures.main(["--check"]) == 1
