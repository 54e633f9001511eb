"""`tacit mcp` in a process of its own, called over stdio by the client of the official package."""

import asyncio
import json
import signal
import subprocess
import sys

import pytest

from tacit.app.main import main
from tacit.core import Collection
from tacit.judge import JudgmentStore
from tacit.search import Searcher

pytestmark = pytest.mark.usefixtures("library")


@pytest.fixture(scope="module")
def library(need):
    return need("mcp")


@pytest.fixture
def model(tmp_path):
    texts = ["cats purr", "cats and ships", "old ships sail"]
    searcher = Searcher("bm25").fit(Collection(list("abc"), list("ABC"), texts, {"year": [1, 2, 3]}))
    searcher.save(tmp_path / "my.model")
    return tmp_path / "my.model"


def session(script, *words):
    """Run a script of calls against `tacit mcp` with these words after it."""
    from mcp import Client, StdioServerParameters

    async def connected():
        async with Client(StdioServerParameters(command=sys.executable, args=["-m", "tacit", "mcp", *words])) as client:
            return await script(client)

    return asyncio.run(connected())


def test_a_session_of_an_assistant(model, tmp_path):
    store = tmp_path / "my.judgments"
    with JudgmentStore(store) as open_store:
        open_store.record("cats", "a", 2, "ann")
        open_store.record("cats", "c", 0, "ann")

    async def script(client):
        calls = [
            ("search", {"query": "cats", "filter": "year < 2", "facet": ["year"]}),
            ("explain", {"query": "cats", "document": "a", "other": "b"}),
            ("judge", {"query": "cats", "document": "b", "grade": 1}),
            ("evaluate", {}),
        ]
        return client.instructions, [(await client.call_tool(*call)) for call in calls]

    about, answers = session(script, str(model), "--judgments", str(store), "--judge", "helper")
    assert about == "Search in 3 documents of my.model. Fields for filters and facets: year."
    assert not any(answer.is_error for answer in answers)
    found, why, stored, measured = (answer.structured_content for answer in answers)
    ours = Searcher.load(model)
    assert [(hit["id"], hit["fields"]) for hit in found["hits"]] == [("a", {"year": 1})]
    assert found["facets"] == {"year": [{"value": 1, "count": 1}]}
    assert why["total"] == pytest.approx(sum(reason.value for reason in ours.explain("cats", "a", "b")))
    assert (stored["judge"], stored["kind"], stored["grade"]) == ("helper", "program", 1)
    assert measured["measures"]["nDCG@10"]["mean"] == 1
    assert measured["judges"] == ["ann"]
    with JudgmentStore(store, read_only=True) as open_store:
        assert [(j.judge, j.kind, j.grade) for j in open_store.current("helper")] == [("helper", "program", 1.0)]


def test_tools_are_described(model, tmp_path):
    async def tools(client):
        return {tool.name: tool for tool in (await client.list_tools()).tools}

    found = session(tools, str(model), "--judgments", str(tmp_path / "new.judgments"))
    assert set(found) == {"search", "explain", "judge", "evaluate"}
    for name, tool in found.items():
        assert tool.description.endswith(".")
        assert "Parameters" not in tool.description
        assert all(schema["description"] for schema in tool.input_schema["properties"].values()), name
        assert tool.output_schema["type"] == "object"
        assert tool.annotations.read_only_hint == (name != "judge")
    properties = found["search"].input_schema["properties"]
    assert {name: properties[name].get("type") for name in ("query", "k", "offset")} == {
        "query": "string", "k": "integer", "offset": "integer",
    }  # fmt: skip
    assert found["judge"].input_schema["required"] == ["query", "document", "grade"]


def test_mistakes_are_tool_errors_of_one_line(model):
    wrong = [
        ("search", {"query": "cats", "k": "two"}, "k is 'two', want a valid integer"),
        ("search", {"query": "cats", "k": 0}, "k is 0, want a whole number >= 1 and <= 100"),
        ("search", {}, "query is missing, want a value"),
        ("search", {"query": "cats", "filters": "year < 2"}, "search has no argument 'filters'; want one of query, k"),
        ("search", {"query": "cats", "filter": "colour = red"}, "field of the filter is 'colour', want one of"),
        ("explain", {"query": "cats", "document": "z"}, "no document has the id 'z', want one that search returns"),
        ("judge", {"query": "cats", "document": "a", "grade": 1}, "Unknown tool: judge"),
    ]

    async def script(client):
        return [await client.call_tool(name, arguments) for name, arguments, _ in wrong]

    for answer, (_, _, problem) in zip(session(script, str(model)), wrong, strict=True):
        assert answer.is_error
        (content,) = answer.content
        assert content.text.startswith(problem)
        assert "\n" not in content.text


def test_an_exception_of_ours_is_not_shown_to_the_client(capsys):
    from mcp import Client

    from tacit.integrations.mcp import make_server

    def broken(word: str) -> str:
        """Fail.

        Parameters
        ----------
        word : str
            Any.
        """
        raise RuntimeError(f"secret {word}")

    async def call():
        async with Client(make_server("test", [broken])) as client:
            return await client.call_tool("broken", {"word": "x"})

    answer = asyncio.run(call())
    assert answer.is_error
    assert [content.text for content in answer.content] == ["Error executing tool broken"]


def test_mistakes_of_the_command_line(model, tmp_path, capsys):
    store = tmp_path / "my.judgments"
    with JudgmentStore(store) as open_store:
        open_store.record("cats", "a", 2, "ann")
    for words, code, problem in (
        (["no.model"], 1, "no.model"),
        ([str(model), "--judge", "x"], 2, "--judge names the judge of --judgments STORE"),
        ([str(model), "--judgments", str(store), "--judge", "ann"], 1, "judge 'ann' is a person"),
    ):
        assert main(["mcp", *words]) == code
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert problem in err


def test_end_of_input_ends_the_command(model):
    done = subprocess.run(
        [sys.executable, "-m", "tacit", "mcp", str(model)], input="", capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_interrupt_ends_the_command_while_input_is_open(model):
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    command = [sys.executable, "-m", "tacit", "mcp", str(model)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, text=True, **pipes) as process:
        call = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        process.stdin.write(json.dumps(call) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "tacit"
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert process.stderr.read() == "tacit: interrupted\n"
