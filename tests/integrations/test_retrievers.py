"""Retrievers of LangChain, LlamaIndex and Haystack: the documents of `Searcher.search`, whole and with metadata."""

import asyncio

import pytest

from tacit.core import Collection, TacitError
from tacit.search import Searcher

TEXTS = ["cats purr at night", "cats and ships", "old ships sail", "a cat on a ship", "dogs bark at cats"]
FIELDS = {"kind": ["pet", "both", "ship", "both", "pet"], "year": [1, 2, 3, 4, 5]}
QUERY, CONDITION = "cats on ships", "year > 1 and kind in (both, pet)"


@pytest.fixture(scope="module")
def searcher():
    return Searcher("bm25", stem=True).fit(Collection(list("abcde"), list("ABCDE"), TEXTS, FIELDS))


@pytest.fixture
def expected(searcher):
    """What every retriever returns: id, text, metadata and score."""

    def rows(k, filter=None):
        return [
            (hit.id, TEXTS["abcde".index(hit.id)], {"id": hit.id, "score": hit.score, "title": hit.title} | hit.fields)
            for hit in searcher.search(QUERY, k, filter=filter)
        ]

    return rows


def test_langchain(need, searcher, expected):
    need("langchain_core")
    from langchain_core.runnables import RunnableLambda

    from tacit.integrations.langchain import TacitRetriever

    def rows(documents):
        return [(document.id, document.page_content, document.metadata) for document in documents]

    retriever = TacitRetriever(searcher=searcher, k=3)
    assert rows(retriever.invoke(QUERY)) == expected(3)
    assert rows(retriever.invoke(QUERY, k=1, filter=CONDITION)) == expected(1, CONDITION)
    filtered = TacitRetriever(searcher=searcher, filter=CONDITION)
    assert rows(filtered.invoke(QUERY)) == expected(10, CONDITION) != expected(10)
    assert rows(asyncio.run(filtered.ainvoke(QUERY))) == expected(10, CONDITION)
    chain = retriever | RunnableLambda(lambda documents: [document.id for document in documents])
    assert chain.batch([QUERY, "dogs"]) == [[name for name, *_ in expected(3)], ["e"]]
    with pytest.raises(TacitError, match="'colour', want one of"):
        retriever.invoke(QUERY, filter="colour = red")
    with pytest.raises(ValueError, match="is not fitted yet"):  # pydantic's
        TacitRetriever(searcher=Searcher())


def test_llama_index(need, searcher, expected):
    need("llama_index.core")
    from llama_index.core.schema import MetadataMode

    from tacit.integrations.llama_index import TacitRetriever

    def rows(nodes):
        assert [node.score for node in nodes] == [node.metadata["score"] for node in nodes]
        return [(node.node_id, node.node.get_content(), node.metadata) for node in nodes]

    retriever = TacitRetriever(searcher, k=3)
    assert rows(retriever.retrieve(QUERY)) == expected(3)
    filtered = TacitRetriever(searcher, filter=CONDITION)
    assert rows(filtered.retrieve(QUERY)) == expected(10, CONDITION) != expected(10)
    assert rows(asyncio.run(filtered.aretrieve(QUERY))) == expected(10, CONDITION)
    prompt = retriever.retrieve("dogs")[0].node.get_content(MetadataMode.LLM)
    assert "title: E" in prompt
    assert "score" not in prompt
    with pytest.raises(TacitError, match="k is 0"):
        TacitRetriever(searcher, k=0)
    with pytest.raises(TacitError, match="is not fitted yet"):
        TacitRetriever(Searcher())


def test_haystack(need, searcher, expected, tmp_path, monkeypatch):
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    need("haystack")
    from haystack import Pipeline

    from tacit.integrations.haystack import TacitRetriever

    def rows(result):
        documents = result["documents"]
        assert [document.score for document in documents] == [document.meta["score"] for document in documents]
        return [(document.id, document.content, document.meta) for document in documents]

    assert rows(TacitRetriever(searcher, top_k=3).run(QUERY)) == expected(3)
    searcher.save(tmp_path / "my.model")
    pipeline = Pipeline()
    pipeline.add_component("retriever", TacitRetriever(tmp_path / "my.model", filter=CONDITION))
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["tacit.integrations.haystack"])
    for one in (pipeline, again):
        found = one.run({"retriever": {"query": QUERY}})["retriever"]
        assert rows(found) == expected(10, CONDITION) != expected(10)
    found = again.run({"retriever": {"query": QUERY, "top_k": 1, "filter": "year = 1"}})["retriever"]
    assert rows(found) == expected(1, "year = 1")
    with pytest.raises(TacitError, match="cannot be written"):
        TacitRetriever(searcher).to_dict()
    with pytest.raises(TacitError, match="top_k is 0"):
        TacitRetriever(searcher, top_k=0)
    with pytest.raises(TacitError, match="is not fitted yet"):
        TacitRetriever(Searcher())
