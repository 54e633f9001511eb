"""A session with the typed client that openapi-python-client generates: search, judge, train, compare, make live.

`test_client.py` checks the types of this file, and runs it against a service with documents of two topics.
"""

import os
import sys
import time
from typing import TypeVar

from tacit_client import AuthenticatedClient
from tacit_client.api.judging import add_judgments, add_queries, list_judgments, next_pair
from tacit_client.api.search import explain, search
from tacit_client.api.state import health
from tacit_client.api.training import list_versions, make_live, measure_version, start_training, training_state
from tacit_client.models import (
    JudgmentBody,
    JudgmentRecorded,
    Problem,
    QueryBody,
    SwitchBody,
    TrainBody,
    TrainBodyParams,
    TrainingState,
)

T = TypeVar("T")
TOPICS = ("cat", "ship")
N_QUERIES = 6
N_JUDGED = 24


def good(answer: T | Problem | None) -> T:
    """The answer, unless it is a mistake."""
    assert answer is not None, "no answer that the description knows"
    assert not isinstance(answer, Problem), answer.error
    return answer


def judge(client: AuthenticatedClient) -> int:
    """Grade the pairs that the service offers: 1 if the document is about the topic of the query."""
    for number in range(N_JUDGED):
        pair = good(next_pair.sync(client=client, judge="ann"))
        if pair.finished or not pair.query or not pair.document:
            return number
        topic = pair.query.text.split()[0][:-1]
        grade = float(pair.document.id.startswith(topic))
        body = JudgmentBody(pair.query.id, pair.document.id, grade, "ann", ticket=pair.ticket)
        recorded = good(add_judgments.sync(client=client, body=body))
        assert isinstance(recorded, JudgmentRecorded)
        assert recorded.grade == grade
    return N_JUDGED


def train(client: AuthenticatedClient) -> TrainingState:
    """Train a version and wait for its end."""
    params = TrainBodyParams.from_dict({"dim": 2})
    state = good(start_training.sync(client=client, body=TrainBody(method="lsi+tfidf", params=params)))
    while state.state.value == "running":
        time.sleep(0.2)
        state = good(training_state.sync(client=client))
    return state


def main(address: str, token: str) -> None:
    """One session; every step is checked."""
    client = AuthenticatedClient(base_url=address, token=token, raise_on_unexpected_status=True)
    assert good(health.sync(client=client)).documents > 0
    found = good(search.sync(client=client, q="cat1 cat2", k=3, filter_="year > 0"))
    assert len(found.hits) == 3
    why = good(explain.sync(client=client, q="cat1 cat2", id=found.hits[0].id))
    assert abs(why.total - found.hits[0].score) < 1e-3
    mistake = search.sync(client=client, q="cat1", filter_="colour = red")
    assert isinstance(mistake, Problem)
    assert "colour" in mistake.error

    queries = [QueryBody(f"{topic}{n} {topic}{n + 1}") for n in range(N_QUERIES // 2) for topic in TOPICS]
    assert good(add_queries.sync(client=client, body=queries)).added == N_QUERIES
    n_judged = judge(client)
    assert n_judged > 0
    judged = good(list_judgments.sync(client=client, limit=5))
    assert judged.total == n_judged
    assert {row.kind.value for row in judged.judgments} == {"person"}

    measured = good(measure_version.sync("1", client=client))
    assert (measured.queries, measured.reason) == (N_QUERIES, None)
    assert 0 <= measured.measures["nDCG@10"].mean <= 1

    state = train(client)
    assert state.state.value == "done", state.message
    assert state.version == "2"
    assert state.verdict is not None
    assert state.verdict.against == "1"
    versions = good(list_versions.sync(client=client))
    assert (versions.active, [row.version for row in versions.versions]) == ("1", ["1", "2"])
    assert good(make_live.sync(client=client, body=SwitchBody("2"))).active == "2"
    assert good(search.sync(client=client, q="ship1")).model == "2"
    wrong = make_live.sync(client=client, body=SwitchBody("9"))
    assert isinstance(wrong, Problem)


if __name__ == "__main__":
    main(sys.argv[1], os.environ["TACIT_TOKEN"])
