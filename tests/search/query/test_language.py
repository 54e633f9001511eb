"""The syntax of queries: what counts as syntax, and that everything else stays as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.search.query.language import MAX_CHARACTERS, ParsedQuery, Restriction, parse_query


def parse(text):
    return parse_query(text, lambda name, value: name in ("title", "brand"))


@pytest.mark.parametrize(
    "text",
    [
        "plain words", "e-mail", "C++ -O2", "rm -rf /tmp", "ls -l", "git --help", "-1", "a - b", 'a 5" disk',
        'say "hello', "http://example.org/x", "std::sort", "note:this", "a*b", "c*", "**", "what?", '""', '"', "-", ":",
        "*", "brand:",
        "AND OR NOT (x) +y ~z", "-\u202eab", "title: matrix", "x-\"y\"z",
    ],
)  # fmt: skip
def test_plain_text_stays_as_it_is(text):
    assert parse(text) == ParsedQuery(text)


@pytest.mark.parametrize(
    ("text", "ranked", "restrictions", "prefixes"),
    [
        ('"red shoes"', "red shoes", [Restriction("red shoes")], []),
        ('find "red shoes", now', "find red shoes now", [Restriction("red shoes")], []),
        ("“red shoes” x", "red shoes x", [Restriction("red shoes")], []),
        ("shoes -red", "shoes", [Restriction("red", is_excluded=True)], []),
        ("shoes -red*", "shoes", [Restriction("red", is_excluded=True, is_prefix=True)], []),
        ('shoes -"O2"', "shoes", [Restriction("O2", is_excluded=True)], []),
        ("鞋 -红", "鞋", [Restriction("红", is_excluded=True)], []),
        ("title:red shoes", "red shoes", [Restriction("red", "title")], []),
        ('brand:"big co" shoes', "shoes", [Restriction("big co", "brand")], []),
        ("-brand:acme shoes", "shoes", [Restriction("acme", "brand", True)], []),
        ("brand:ac*", "", [Restriction("ac", "brand", is_prefix=True)], []),
        ("run* fast", "run fast", [], ["run"]),
        ('"a" "b"', "a b", [Restriction("a"), Restriction("b")], []),
    ],
)
def test_syntax(text, ranked, restrictions, prefixes):
    assert parse(text) == ParsedQuery(ranked, tuple(restrictions), tuple(prefixes))


def test_documents_are_plain():
    assert parse('"red shoes" -blue\nsecond line').restrictions == ()
    long = '"red shoes" -blue ' + "x" * MAX_CHARACTERS
    assert parse(long) == ParsedQuery(long)


@given(st.text('ab -":*title\n“', max_size=30))
def test_no_text_is_an_error(text):
    found = parse(text)
    assert isinstance(found.text, str)
    assert all(restriction.text.strip() for restriction in found.restrictions)
