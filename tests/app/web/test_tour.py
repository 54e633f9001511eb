"""The tour: a model that can be changed, with sample queries and judgments of documents that exist."""

from tacit.app.web import tour
from tacit.app.web.tour import SAMPLES, open_tour
from tacit.core import Collection
from tacit.judge import JudgmentStore


def test_the_tour_is_made_once_and_can_be_written(tmp_path, monkeypatch, capsys):
    known = sorted({document for grades in SAMPLES.values() for document in grades})
    documents = Collection(known, known, [name.replace(".", " ") for name in known])
    calls = []
    monkeypatch.setattr(tour, "read_pydocs", lambda: (calls.append(1), (documents, None))[1])
    model, store, searcher = open_tour(tmp_path / "tour")
    assert model.is_dir()
    assert searcher.method == "bm25"
    with JudgmentStore(store) as judgments:
        assert len(judgments.queries()) == 20
        grades = {record.grade for record in judgments.current()}
        assert [(judge.name, judge.kind) for judge in judgments.judges()] == [("sample", "program")]
        judgments.record("one more", known[0], 1, "ann")
    assert grades == {0, 1, 2, 3}
    open_tour(tmp_path / "tour")
    assert calls == [1]
    assert "delete that folder to start over" in capsys.readouterr().err


def test_most_samples_are_in_the_installed_libraries():
    from tacit.data import read_pydocs

    held = read_pydocs()[0].row_of
    judged = [document for grades in SAMPLES.values() for document in grades]
    assert sum(document in held for document in judged) > 0.9 * len(judged)
    assert sum(bool(grades) for grades in SAMPLES.values()) >= 12
