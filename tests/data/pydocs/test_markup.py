"""Docstrings with one right reading, the forms of "See Also" that the libraries use, and hostile mixtures."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.data.pydocs.markup import parse_docstring

NUMPYDOC = r"""
    solve(a, b, /, out=None, *, order='K'[, signature])

    Solve ``a x = b`` for `x`,
    the *unknown* [1]_.

    .. versionadded:: 1.2
       With a body.

    Parameters
    ----------
    a : {array_like, sparse}
        Of full :term:`rank`; see :ref:`the guide <linear>` and :func:`~pkg.linalg.inv`.
    **kwargs : dict
        For :math:`\alpha_{1} + 2`.

    See Also
    --------
    lstsq : where there is no solution
        See :func:`not_a_link`.
    :func:`~pkg.linalg.inv`, det

    Notes
    -----
    It reads::

        x = a**2 * b**2

    .. math::

        \frac{a}{b}

    .. note:: Do not invert.

    References
    ----------
    .. [1] A book.

    Examples
    --------
    Words before.

    >>> solve(1, 2)  # doctest: +SKIP
    <object at 0x7f0011>
    >>> for i in x:
    ...     print(i)
    unwanted
    """


def test_a_whole_numpydoc_docstring():
    text, see_also = parse_docstring(NUMPYDOC)
    assert see_also == ["lstsq", "pkg.linalg.inv", "det"]
    assert text.split("\n") == [
        "Solve a x = b for x, the unknown.",
        "Parameters",
        "a : {array_like, sparse}",
        "Of full rank; see the guide and pkg.linalg.inv.",
        "**kwargs : dict",
        "For alpha 1 + 2.",
        "Notes",
        "It reads:",
        "x = a**2 * b**2",
        "Do not invert.",
        "Examples",
        "Words before.",
        "solve(1, 2)",
        "for i in x:",
        "print(i)",
    ]


@pytest.mark.parametrize(
    ("section", "names"),
    [
        ("a : what it is\nb: no space\nc - a dash\nd -- two", ["a", "b", "c", "d"]),
        ("a, b.c, d_e", ["a", "b.c", "d_e"]),
        ("a, b,\nc", ["a", "b", "c"]),
        ("a, b,\n    c : deeper, but the list goes on", ["a", "b", "c"]),
        ("a\n    b : a description, not an entry", ["a"]),
        (":func:`a`, :py:class:`~m.B` : words", ["a", "m.B"]),
        ("`a` : quoted\n``b``\n`text <m.c>`_ : titled", ["a", "b", "m.c"]),
        (":func:`text <m.c>`", ["m.c"]),
        ("- a : bullet\n* `b`", ["a", "b"]),
        ("a() : call\nb.", ["a", "b"]),
        ("For more see `a` and :func:`b` in the guide.", ["a", "b"]),
        ("There is nothing to see here.", []),
        ("None : nothing is similar", []),
        ("a, a\na : again", ["a"]),
        ("", []),
    ],
)
def test_forms_of_entries(section, names):
    doc = f"Summary.\n\nSee Also\n--------\n{section}\n\nNotes\n-----\nEnd."
    assert parse_docstring(doc) == ("Summary.\nNotes\nEnd.", names)


@pytest.mark.parametrize(
    ("block", "names"),
    [
        ("See also\n========\na\n", ["a"]),
        ("SEE ALSO:\n---------\na\n", ["a"]),
        ("See Also:\n    a : google's form\n    b : too", ["a", "b"]),
        ("See also\n\na", ["a"]),
        (".. seealso:: `a`", ["a"]),
        (".. seealso::\n\n   a\n   b", ["a", "b"]),
        (".. admonition:: See Also\n\n   `a`", ["a"]),
    ],
)
def test_other_ways_to_say_see_also_are_cut_too(block, names):
    assert parse_docstring(f"Summary.\n\n{block}") == ("Summary.", names)


@pytest.mark.parametrize(
    "words",
    ["See also the function f for more.", "to the See Also section below.", "The mean; see also [2] for a proof."],
)
def test_words_in_a_sentence_stay(words):
    assert parse_docstring(f"Summary.\n\n{words}") == (f"Summary.\n{words}", [])


@pytest.mark.parametrize(
    ("doc", "text"),
    [
        ("f(x, /)\n\nSquare.", "Square."),
        ("f(x) -> int\ng(x=(1, 2),\n  y=3)\n\nSquare.", "Square."),
        ("f(x) is the square.\n", "f(x) is the square."),
        ("numpy.f(x)", "numpy.f(x)"),
        (".. deprecated:: 1.0\n    Gone.\n\nSummary.\n    More.", "Summary. More."),
        ("One.\n\n.. _target:\n.. comment\n   more of it\n\nTwo.", "One.\nTwo."),
        ("One.\n\n.. autosummary::\n   :toctree: out/\n\n   f -- words", "One.\nf -- words"),
        ("One.\n\n.. unknown:: kept\n   body", "One.\nkept\nbody"),
        ("=====\nTitle\n=====\n\nA | B\n== ==\n1 | 2", "Title\nA | B\n1 | 2"),
        ("Use ``a`b`` or `c\nd <e>`__ twice.", "Use a`b or c d twice.".replace("`", "")),
        ("Half a `quote.", "Half a quote."),
        ("`first\n\nsecond`", "first\nsecond"),
        (
            "f(*args, **kw) and *a*b and 2 * 3 * 4 and **bold words**.",
            "f(*args, **kw) and *a*b and 2 * 3 * 4 and bold words.",
        ),
        ("Plots :ref:`sphx_glr_auto_examples_svm_plot_iris.py`.", "Plots svm plot iris."),
        ("A <f at 0xDEADbeef> here.", "A <f> here."),
        ("\tTabs\n\tand  spaces ", "Tabs and spaces"),
        ("See Also\n--------\na", ""),
        ("  \n ", ""),
    ],
)
def test_markup_becomes_words(doc, text):
    assert parse_docstring(doc).text == text


def test_the_note_on_array_libraries_is_cut_and_nothing_after_it():
    table = "==== ===\nCPU  GPU\n==== ==="
    note = f"**Array API Standard Support**\n\n`f` has it.\n\n{table}\n\nSee :ref:`x` for more information."
    assert parse_docstring(f"One.\n\n{note}\n\nTwo.").text == "One.\nTwo."


FRAGMENTS = [
    *(
        "word",
        "`code`",
        "``code``",
        ":func:`~a.b`",
        "`",
        "``",
        "*",
        "**",
        "[1]_",
        " at 0x12f",
        "::",
        "(",
        ")",
        "<x>",
        "\\",
    ),
    *("\n", "\n\n", "    ", "\t", ".. math::", ".. [1] ", ".. note:: ", ".. seealso:: ", "\n.. ", ">>> ", "... "),
    *("\nSee Also\n--------\n", "\nReferences\n----------\n", "\nNotes\n-----\n", "\n=====\n", "f(", ", ", " : "),
]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=40))
@settings(max_examples=150, deadline=None)
def test_any_mixture_gives_clean_lines(parts):
    text, see_also = parse_docstring("".join(parts))
    assert "`" not in text
    assert not re.search(r"\bat 0x[0-9a-f]", text)
    for line in text.split("\n"):
        assert line == line.strip()
        assert not re.fullmatch(r"(?i)see also:?|[-=]{3,}", line)
    assert all(re.fullmatch(r"[A-Za-z_][\w.]*", name) for name in see_also)
    assert len(set(see_also)) == len(see_also)
