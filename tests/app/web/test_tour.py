"""The tour: a model that can be changed, with sample queries and judgments from links of the documentation."""

from tacit.app.web import tour
from tacit.app.web.tour import (
    FEWEST_LINKS,
    ITSELF,
    KIND,
    LONGEST,
    N_JUDGED,
    SEE_ALSO,
    TO_JUDGE,
    open_tour,
    sample_grades,
)
from tacit.core import Collection, Links
from tacit.data import read_pydocs
from tacit.judge import JudgmentStore


def test_the_tour_is_made_once_and_can_be_written(tmp_path, monkeypatch, capsys):
    names = [f"f{n}" for n in range(6)]
    documents = Collection(names, [f"{name}: Inverse number {name}." for name in names], ["matrix"] * 6)
    links = Links([0, 0, 0, 1, 1, 2], [3, 4, 5, 4, 5, 5], 6, 6)
    calls = []
    monkeypatch.setattr(tour, "read_pydocs", lambda: (calls.append(1), (documents, links))[1])
    model, store, searcher = open_tour(tmp_path / "tour")
    assert model.is_dir()
    assert searcher.method == "bm25"
    with JudgmentStore(store) as judgments:
        assert [query for query in judgments.queries().texts if query in TO_JUDGE] == list(TO_JUDGE)
        found = {record.document: record.grade for record in judgments.current()}
        assert found == {"f0": ITSELF, "f3": SEE_ALSO, "f4": SEE_ALSO, "f5": SEE_ALSO}  # the others have fewer links
        assert {record.text for record in judgments.current()} == {"Inverse number f0"}
        assert [(judge.name, judge.kind) for judge in judgments.judges()] == [("see-also", "program")]
        judgments.record("one more", names[0], 1, "ann")
    open_tour(tmp_path / "tour")
    assert calls == [1]
    assert "delete that folder to start over" in capsys.readouterr().err


def test_samples_are_links_of_the_installed_libraries():
    documents, links = read_pydocs()
    grades = sample_grades(documents, links)
    assert len(grades) == N_JUDGED
    assert KIND == "program"  # nobody graded these pairs
    for query, of_query in grades.items():
        assert len(query) <= LONGEST
        (itself,) = [name for name, grade in of_query.items() if grade == ITSELF]
        row = documents.row_of[itself]
        assert documents.titles[row].startswith(f"{itself}: {query}")
        linked = {documents.ids[target] for target in links.targets[links.sources == row].tolist()}
        assert len(linked) >= FEWEST_LINKS
        assert set(of_query) == linked | {itself}
        assert "See Also" not in documents.texts[row]
