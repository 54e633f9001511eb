"""The scripts of the README run as they are printed, on real documents: a part of the installed documentation."""

import re
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit.core import Links
from tacit.data import write_collection, write_letor, write_links
from tacit.search.text_lists import make_text_lists

README = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
SCRIPTS = [code for code in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if ">>>" not in code]
N_DOCUMENTS = 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """docs.jsonl.gz and links.tsv of numpy and scipy's linear algebra, new.jsonl, and three files of lists."""
    place = tmp_path_factory.mktemp("readme")
    documents, links = tacit.read_pydocs()
    rows = np.array([row for row, name in enumerate(documents.ids) if ".linalg." in name][: N_DOCUMENTS + 5])
    chosen, new = documents.take(rows[:-5]), documents.take(rows[-5:])
    place_of = {int(row): place for place, row in enumerate(rows[:-5])}
    pairs = [(place_of[s], place_of[t]) for s, t in zip(links.sources.tolist(), links.targets.tolist(), strict=True)
             if s in place_of and t in place_of]  # fmt: skip
    sources, targets = np.array(pairs).T
    kept = Links(sources, targets, len(chosen), len(chosen))
    write_collection(chosen, place / "docs.jsonl.gz")
    write_links(kept, place / "links.tsv", chosen, chosen)
    write_collection(new, place / "new.jsonl")
    write_lists(place, chosen, kept)
    return place


def write_lists(place, documents, links):
    """Titles are queries; what a document links to is relevant to its title."""
    queries = tacit.Collection(documents.ids, [""] * len(documents), documents.titles)
    linked = links.to_csr().toarray() > 0
    grades = {
        documents.ids[row]: {other: float(linked[row, column]) for column, other in enumerate(documents.ids)}
        for row in np.flatnonzero(linked.any(axis=1))[:60]
    }
    lists = make_text_lists(documents, queries.take([documents.row_of[name] for name in grades]),
                            tacit.Judgments.from_dict(grades), k=20).lists  # fmt: skip
    for number, name in enumerate(("train.txt", "vali.txt", "test.txt")):
        write_letor(lists.take(range(number, len(lists), 3)), place / name)


def test_the_readme_has_the_two_scripts():
    assert len(SCRIPTS) == 2
    assert "tacit.Searcher(" in SCRIPTS[0]
    assert "tacit.StandingRanker(" in SCRIPTS[1]


def test_the_script_of_collections(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    scope = {}
    exec(SCRIPTS[0], scope)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert "pinv" in lines[0] + lines[1]
    assert "Reason(kind='word', query_word='" in lines[0]
    searcher, new = scope["searcher"], tacit.read_collection("new.jsonl")
    assert list(searcher.documents_.ids) == [*tacit.read_collection("docs.jsonl.gz").ids, *new.ids]
    assert (searcher.ranker_.n_added_, searcher.method) == (5, "blend")
    assert searcher.search(new.titles[0])[0].id in new.ids


def test_the_script_of_lists(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    exec(SCRIPTS[1], {"tacit": tacit, "files": ["train.txt", "vali.txt", "test.txt"]})
    table = dict(line.split()[:2] for line in capsys.readouterr().out.splitlines())
    assert float(table["nDCG@10"]) > 0.3
    test = tacit.read_letor("test.txt")
    again = tacit.evaluate(test, tacit.load("my.ranker").rank(test), ["nDCG@10", "AP"])
    assert table["AP"] == f"{again.means()['AP']:.4f}"
