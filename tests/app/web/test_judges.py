"""Judges over HTTP: people and programs apart, agreement with people, and disagreements that a person decides."""

import pytest

PAIR = {"query": "kitten", "document": "cats-0"}


@pytest.fixture
def judged(client, store):
    """A program and two people on three documents."""
    for document, program, ann in (("cats-0", 0, 2), ("cats-1", 2, 2), ("soup-0", 1, 0)):
        store.record("kitten", document, program, "overlap", kind="program")
        client.post("/judgments", json={"query": "kitten", "document": document, "grade": ann, "judge": "ann"})
    client.post("/judgments", json=PAIR | {"grade": 1, "judge": "bob"})
    return client


def agreement(client, **params):
    return client.get("/agreement", params=params).json()


def test_judges_have_their_kind_and_agreement_with_people(judged):
    found = {judge["name"]: judge for judge in agreement(judged)["judges"]}
    assert {name: judge["kind"] for name, judge in found.items()} == {
        "ann": "person", "bob": "person", "overlap": "program",
    }  # fmt: skip
    assert found["ann"]["people"]["both"] == found["bob"]["people"]["both"] == 1
    program = found["overlap"]["people"]
    assert (program["both"], program["same"]) == (3, pytest.approx(1 / 3))
    assert -1 <= program["kappa"] < 1


def test_a_decision_is_the_judgment_of_a_person_and_settles_a_pair(judged, store):
    before = agreement(judged)
    assert (before["unsettled"], before["settled"]) == (2, 0)
    entry = next(entry for entry in before["disagreements"] if entry["document"] == "cats-0")
    assert {(g["judge"], g["kind"], g["grade"]) for g in entry["grades"]} == {
        ("ann", "person", 2), ("bob", "person", 1), ("overlap", "program", 0),
    }  # fmt: skip
    assert entry["title"] == "Cats-0"
    assert entry["text"] == "kitten"
    assert judged.post("/judgments", json=PAIR | {"grade": 0, "judge": "ann", "decision": True}).status_code == 200
    after = agreement(judged)
    assert (after["unsettled"], after["settled"]) == (1, 1)
    assert [entry["document"] for entry in after["disagreements"]] == ["soup-0"]
    assert after["judges"] == before["judges"]  # made in sight of other grades: it says nothing of agreement
    assert after["pairs"] == before["pairs"]
    grades = {record.judge: record.grade for record in store.current() if record.document == "cats-0"}
    assert grades == {"ann": 0, "bob": 1, "overlap": 0}
    judged.post("/judgments", json=PAIR | {"grade": 3, "judge": "bob"})  # whoever judges later opens it again
    assert agreement(judged)["unsettled"] == 2


def test_programs_that_disagree_among_themselves_are_not_for_people_to_settle(client, store):
    store.record("kitten", "cats-0", 0, "one", kind="program")
    store.record("kitten", "cats-0", 3, "two", kind="program")
    found = agreement(client)
    assert found["unsettled"] == 0
    assert [judge["people"] for judge in found["judges"]] == [None, None]
    assert len(found["pairs"]) == 1


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/judgments", PAIR | {"grade": 1, "judge": "overlap"}),
        ("POST", "/judgments/withdraw", PAIR | {"judge": "overlap"}),
        ("GET", "/next?judge=overlap", None),
        ("POST", "/judgments", PAIR | {"grade": 1, "judge": "ann", "kind": "program"}),
    ],
)
def test_nobody_judges_in_the_name_of_the_other_kind(judged, store, method, path, body):
    before = len(store)
    answer = judged.request(method, path, json=body)
    assert answer.status_code == 400
    assert "in this store, want another name for a" in answer.json()["error"]
    assert len(store) == before


def test_a_program_says_that_it_is_one_and_cannot_decide(judged, store):
    grade = PAIR | {"grade": 1, "judge": "overlap", "kind": "program"}
    assert judged.post("/judgments", json=grade).status_code == 200
    refused = judged.post("/judgments", json=grade | {"decision": True})
    assert refused.status_code == 422
    assert "want one of a person" in refused.json()["error"]
    assert judged.post("/judgments/withdraw", json=PAIR | {"judge": "overlap", "kind": "program"}).status_code == 200


def test_grades_of_a_program_are_imported_as_such(judged, store):
    text = "query,document,grade,judge\nkitten,cats-2,1,other\nkitten,cats-3,1,ann\n"
    found = judged.post("/import", json={"text": text, "kind": "program"}).json()
    assert found["judgments"]["new"] == 1
    assert found["problems"] == ["line 3: judge 'ann' is a person, want the name of a program"]
    assert {judge.name: judge.kind for judge in store.judges()}["other"] == "program"


def test_newest_judgments_come_first(judged):
    found = judged.get("/judgments", params={"newest": True, "limit": 1}).json()
    assert [record["judge"] for record in found["judgments"]] == ["bob"]


def test_a_training_on_a_program_alone_names_it(client, store):
    store.record("kitten", "cats-0", 1, "sample", kind="program")
    refused = client.post("/train", json={})
    assert refused.status_code == 400
    assert "no person has judged" in refused.json()["error"]
    assert "'sample' (program)" in refused.json()["error"]
    assert "want a judge with judgments" in client.post("/train", json={"judge": "nobody"}).json()["error"]
    assert "both 'sample'" in client.post("/train", json={"judge": "sample", "assist": "sample"}).json()["error"]
