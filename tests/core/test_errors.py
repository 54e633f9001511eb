"""Numbers in messages agree with their nouns."""

import pytest

from tacit.core import plural


@pytest.mark.parametrize(
    ("n", "nouns", "text"),
    [
        (1, ("query",), "1 query"),
        (0, ("query",), "0 queries"),
        (1234, ("judged query",), "1,234 judged queries"),
        (2, ("row",), "2 rows"),
        (1, ("page of another kind", "pages of other kinds"), "1 page of another kind"),
        (3, ("page of another kind", "pages of other kinds"), "3 pages of other kinds"),
    ],
)
def test_plural(n, nouns, text):
    assert plural(n, *nouns) == text
