"""Restricted searches against brute force: the ranking without restrictions, less what they exclude."""

import re

import numpy as np
import pytest

from tacit.core import Collection
from tacit.features import tokenizer_for
from tacit.search import Searcher
from tacit.search.query.restrictions import Contains

WORDS = ["red", "blue", "shoe", "shoes", "boot", "soft", "hard", "run", "running", "fast", "slow", "acme", "bolt"]
BRANDS = ["Acme Inc", "Bolt & Co", "acme", None]


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(3)
    texts = [", ".join(rng.choice(WORDS, rng.integers(1, 12))) for _ in range(150)]
    titles = [" ".join(rng.choice(WORDS, rng.integers(0, 4))).title() for _ in texts]
    fields = {
        "brand": [BRANDS[n] for n in rng.integers(0, 4, 150)],
        "price": rng.integers(0, 9, 150).tolist(),
        "tags": [rng.choice(["new", "sale", "old stock"], rng.integers(0, 3)).tolist() for _ in texts],
        "note": ["x" * 300 + " " + str(rng.choice(WORDS)) for _ in texts],
    }
    return Collection([f"d{n}" for n in range(150)], titles, texts, fields)


@pytest.fixture(scope="module", params=["bm25", "blend", "lsi", "tfidf"])
def searcher(request, documents):
    return Searcher(request.param, language="en").fit(documents)


def words_of(text):
    return re.findall("[a-z0-9]+", text.lower())


def has(text, phrase):
    found, wanted = words_of(text), words_of(phrase)
    return any(found[at : at + len(wanted)] == wanted for at in range(len(found) - len(wanted) + 1))


def random_query(rng, documents):
    """Words to rank by, further parts of the query, and what each wants of a row."""

    def word():
        return str(rng.choice(WORDS))

    ranked, parts, tests = [word()], [], []
    for _ in range(rng.integers(1, 4)):
        kind, one, two = rng.integers(0, 7), word(), word()
        if kind == 0:
            parts.append(f'"{one} {two}"')
            ranked += [one, two]
            tests.append(lambda r, p=f"{one} {two}": has(documents.texts[r], p) or has(documents.titles[r], p))
        elif kind == 1:
            parts.append(f"-{one}")
            tests.append(lambda r, p=one: not has(documents.texts[r], p) and not has(documents.titles[r], p))
        elif kind == 2:
            parts.append(f"title:{one}")
            ranked.append(one)
            tests.append(lambda r, p=one: has(documents.titles[r], p))
        elif kind == 3:
            parts.append("brand:acme")
            tests.append(lambda r: has(documents.extras["brand"][r] or "", "acme"))
        elif kind == 4:
            parts.append('-tags:"old stock"')
            tests.append(lambda r: "old stock" not in documents.extras["tags"][r])
        elif kind == 5:
            price = int(rng.integers(0, 9))
            parts.append(f"-price:{price}")
            tests.append(lambda r, p=price: documents.extras["price"][r] != p)
        else:
            parts.append(f"-note:{one}")
            tests.append(lambda r, p=one: not has(documents.extras["note"][r], p))
    return ranked, parts, tests


def test_restrictions_only_remove_documents(searcher, documents):
    rng = np.random.default_rng(7)
    n_found = 0
    for _ in range(60):
        ranked, parts, tests = random_query(rng, documents)
        everything = searcher.search(" ".join(ranked), len(documents))
        rows = documents.row_of
        expected = [(hit.id, hit.score) for hit in everything if all(test(rows[hit.id]) for test in tests)]
        query = " ".join([ranked[0], *parts])
        found = searcher.search(query, len(documents))
        assert [hit.id for hit in found] == [name for name, _ in expected], query
        np.testing.assert_allclose([hit.score for hit in found], [score for _, score in expected], rtol=1e-5)
        assert [hit.id for hit in searcher.search(query, 3, offset=1)] == [name for name, _ in expected][1:4]
        counted = searcher.search(query, 2, facets=["brand"], filter="price < 5")
        kept = [name for name, _ in expected if documents.extras["price"][rows[name]] < 5]
        if searcher.method == "blend":  # it also ranks documents without any word, which are not counted
            asked = set(searcher.features([" ".join(ranked)]).indices)
            kept = [name for name in kept if asked & set(searcher.features([documents.full_text(rows[name])]).indices)]
        assert counted.total == len(kept)
        n_found += len(expected)
    assert n_found > 200


def test_a_query_that_only_restricts_lists_what_passes(searcher, documents):
    found = searcher.search("brand:bolt price:3", 150)
    expected = [d for n, d in enumerate(documents.ids)
                if has(documents.extras["brand"][n] or "", "bolt") and documents.extras["price"][n] == 3]  # fmt: skip
    assert [hit.id for hit in found] == expected
    assert {hit.score for hit in found} <= {0.0}
    assert searcher.search("-shoes") == []


def test_many_queries_of_both_kinds_together(searcher):
    queries = ["red shoe", '"red shoe"', "red -blue", "soft boot"]
    assert searcher.search(queries, 5) == [searcher.search(query, 5) for query in queries]


def test_feedback_keeps_restrictions(searcher, documents):
    found = searcher.feedback("shoe -blue", liked=["d1"], k=150)
    assert found
    assert not any(has(documents.full_text(documents.row_of[hit.id]), "blue") for hit in found)


def test_restricted_searches_of_pruned_and_added_documents(documents):
    searcher = Searcher("blend", language="en").fit(documents)
    searcher.add(Collection(["new"], [""], ["red zebra shoe"])).remove(["d3"])
    assert [hit.id for hit in searcher.search('"zebra shoe"')] == ["new"]
    assert "new" not in [hit.id for hit in searcher.search("red shoe -zebra", 200)]


@pytest.mark.parametrize(
    ("language", "text", "phrase", "expected"),
    [
        ("de", "Die STRASSE am Fluß", "am fluß", True),
        ("en", "ﬁne Ｃafés", "fine cafés", True),
        ("zh", "搜索引擎很好", "引擎", True),
        ("zh", "搜索引擎很好", "擎索", False),
        ("en", "running shoes", "running shoe", False),
    ],
)
def test_words_are_folded_and_not_stemmed(language, text, phrase, expected):
    assert Contains(tokenizer_for(language).segmenter, phrase)(text) is expected
