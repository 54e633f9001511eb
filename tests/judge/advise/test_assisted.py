"""What a program's grades are worth, and that a candidate never learns from those of queries it is measured on."""

import numpy as np
import pytest

from tacit.core import Collection, Judgments, ProgramLinks, TacitError, UsageError
from tacit.judge.advise.assisted import PRIOR, assisted_candidate, program_links, worth_of
from tacit.judge.advise.collections import CollectionCandidate, CollectionTask
from tacit.judge.program.collections import fit_assisted
from tacit.search import Searcher

N_TOPICS, N_DOCS = 6, 6


def collection():
    """Documents of six topics; the word that asks for a topic is in documents of all, so that only pairs join them."""
    rng = np.random.default_rng(0)
    texts = [f"d{t} d{t} ask{n} " + " ".join(f"w{w}" for w in rng.integers(0, 40, 6)) for t in range(N_TOPICS)
             for n in range(N_DOCS)]  # fmt: skip
    ids = [f"{t}-{n}" for t in range(N_TOPICS) for n in range(N_DOCS)]
    return Collection(ids, [""] * len(ids), texts)


def asked(n):
    rng = np.random.default_rng(1)
    texts = [f"ask{number % N_TOPICS} w{rng.integers(40)} w{rng.integers(40)}" for number in range(n)]
    return Collection([f"q{number}" for number in range(n)], [""] * n, texts)


def graded(documents, numbers, flip=0.0):
    """Grade 1 for documents of the topic of the query, else 0; `flip` of the grades are drawn at random."""
    rng = np.random.default_rng(2)
    grades = {}
    for number in numbers:
        right = {doc: int(doc.startswith(f"{number % N_TOPICS}-")) for doc in documents.ids}
        grades[f"q{number}"] = {d: int(rng.integers(2)) if rng.random() < flip else g for d, g in right.items()}
    return Judgments.from_dict(grades)


def test_expected_grade_and_trust_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    pairs = [(f"q{q}", f"d{d}") for q in range(5) for d in range(20)]
    people = {pair: int(rng.integers(0, 3)) for pair in pairs[:70]}
    program = {pair: int(min(people.get(pair, 0) + rng.integers(0, 2), 3)) for pair in pairs[20:]}

    def judgments(grades):
        nested = {}
        for (query, doc), grade in grades.items():
            nested.setdefault(query, {})[doc] = grade
        return Judgments.from_dict(nested)

    both = [(people[pair], program[pair]) for pair in pairs if pair in people and pair in program]
    mean, n, k = np.mean([h for h, _ in both]), len(both), len({g for _, g in both})
    worth, left = worth_of(judgments(people), judgments(program)), 0
    assert worth.n_pairs == n
    for found in worth.grades:
        mine = [h for h, g in both if g == found.grade]
        expected = (sum(mine) + PRIOR * mean) / (len(mine) + PRIOR)
        left += sum((h - expected) ** 2 for h in mine)
        assert found.n_pairs == len(mine)
        assert found.expected == pytest.approx(expected)
    explained = 1 - (n - 1) / (n - k) * left / sum((h - mean) ** 2 for h, _ in both)
    assert worth.trust == pytest.approx(explained * n / (n + PRIOR))
    assert 0.2 < worth.trust < 0.9


def test_a_program_that_guesses_is_hardly_trusted_and_one_that_knows_is():
    documents = collection()
    people = graded(documents, range(12))
    assert worth_of(people, graded(documents, range(30))).trust > 0.8
    assert worth_of(people, graded(documents, range(30), flip=1.0)).trust < 0.05
    assert worth_of(people, graded(documents, range(20, 30))).trust == 0  # no pair in common
    assert worth_of(Judgments.from_dict({"q0": {"0-1": 1, "0-2": 1}}), people).trust == 0  # people agree on all


def test_links_are_what_people_did_not_judge():
    documents, queries = collection(), asked(8)
    people, program = graded(documents, range(4)), graded(documents, range(12))
    links = program_links(people, program, worth_of(people, program), queries, documents)
    assert set(links.sources.tolist()) == {4, 5, 6, 7}  # 0 to 3 are people's, 8 to 11 have no text
    assert len(links) == 4 * len(documents)
    relevant = links.relevant()
    assert all(documents.ids[doc].startswith(f"{q % N_TOPICS}-") for q, doc in zip(
        relevant.sources.tolist(), relevant.targets.tolist(), strict=True))  # fmt: skip
    assert len(relevant) == 4 * N_DOCS


def test_queries_that_are_measured_teach_nothing():
    documents, queries = collection(), asked(20)
    people, program = graded(documents, range(8)), graded(documents, range(20))
    task = CollectionTask.of(documents, queries, people, ["nDCG@10"])
    like = CollectionCandidate("people", task, "blend", learns=True)
    both = assisted_candidate("both", like, queries, program)
    sources = both.sources(np.arange(5), {"q5", "q6", "q7"})
    assert set(sources["pairs"].sources.tolist()) == set(range(5))
    assert {sources["queries"].ids[row] for row in sources["program"].sources} == {f"q{n}" for n in range(8, 20)}
    with pytest.raises(TacitError, match="no pair in common"):
        assisted_candidate("both", like, queries, graded(documents, range(9, 20)))


def test_a_program_that_knows_more_is_used_and_one_that_guesses_is_not(monkeypatch):
    monkeypatch.setattr("tacit.judge.program.collections.N_FOLDS", 2)  # each fold trains vectors several times
    documents, queries = collection(), asked(60)
    people = graded(documents, range(18))
    searcher, verdict = fit_assisted(
        Searcher("blend", dim=10), documents, queries, people, graded(documents, range(60))
    )
    assert verdict.used
    assert "used; nDCG@10 +" in str(verdict)
    alone = Searcher("blend", dim=10).fit(documents, queries=queries, qrels=people)
    first = [[hit.id for hit in found.search("ask3 w1", k=N_DOCS)] for found in (searcher, alone)]
    n_right = [sum(doc.startswith("3-") for doc in found) for found in first]
    assert n_right[0] > n_right[1]
    guesses = graded(documents, range(40), flip=1.0)
    _, verdict = fit_assisted(Searcher("blend", dim=10, residual=False), documents, queries, people, guesses)
    assert not verdict.used
    assert "the program's grades are not used" in str(verdict)


def test_few_judged_queries_use_no_program_and_say_so():
    documents, queries = collection(), asked(20)
    people = graded(documents, range(4))
    searcher, verdict = fit_assisted(Searcher("blend", dim=5), documents, queries, people, graded(documents, range(20)))
    assert str(verdict).endswith("not used: people judged 4 queries with a relevant document, want at least 10")
    same = Searcher("blend", dim=5).fit(documents, queries=queries, qrels=people)
    assert searcher.ranker_.weights_ == same.ranker_.weights_


def test_other_methods_do_not_take_a_programs_grades():
    documents, queries = collection(), asked(4)
    links = ProgramLinks([0], [0], 4, len(documents), trust=np.ones(1))
    given = {"queries": queries, "qrels": graded(documents, range(3)), "program": links}
    with pytest.raises(UsageError, match="qe does not learn from a program's grades"):
        Searcher("qe").fit(documents, **given)
    with pytest.raises(TacitError, match="from 0 to 1"):
        ProgramLinks([0], [0], 4, 4, trust=np.array([1.5]))
