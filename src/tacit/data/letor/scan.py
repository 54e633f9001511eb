"""Compiled scanner of LETOR lines: bytes in, rows of numbers and collected names out.

A line is `grade qid:ID index:value ... # comment`. The scanner only reports that a line is invalid and where it begins;
`letor_problem` finds the reason and makes the message.

Numbers are rounded like Python's float(). A decimal m * 10^e with m <= 2^53 and |e| <= 22 is one exact operation away
from the nearest double (Clinger 1990). A longer m is split into two doubles and divided with its remainder; the result
is used if the error of the last step cannot change the rounding. All other numbers (many digits, extreme exponents) are
recorded in `hard` for float().

Names are collected as bytes, each ended by a newline, ready for one decode and one split. Every text ends with a
newline, which stops each loop below, so no loop checks for the end.
"""

# mypy: disallow-untyped-decorators=False
# (numba's decorators have no types)

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tacit.numba_cache import ensure_cache

ensure_cache(__file__)

DONE, BAD_LINE, TOO_NARROW, TOO_SHORT = 0, 1, 2, 3

# Positions in the state that `scan_lines` keeps between calls on the same text.
AT, LINE, ROW, WIDTH, N_HARD, N_LISTS, LAST_QUERY, QUERIES_END, IDS_END, COMMENTS_END = range(10)
N_STATE = 10

EXACT, HARD, BAD = 0, 1, 2
POWERS_OF_TEN = np.array([float(10**k) for k in range(23)])  # all exact in float64
LARGEST_MANTISSA = 10**17  # a mantissa below this can take one more digit without overflowing int64
LARGEST_EXACT = 2**53
SPLITTER = float(2**27 + 1)  # Dekker: splits a double into two halves of 26 bits
NEWLINE, HASH, PLUS, MINUS, POINT, COLON, EQUALS, ZERO, NINE = (ord(c) for c in "\n#+-.:=09")
BLANKS, QID, DOCID, NULL = tuple(b" \t\r"), tuple(b"qid:"), tuple(b"docid"), tuple(b"NULL")

# The helpers are called from compiled code only; without wrappers they compile twice as fast.
helper = njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


@helper
def is_blank(c: Any) -> Any:
    """Return whether a byte is a space, tab or carriage return."""
    return c in BLANKS


@helper
def ends_row(c: Any) -> Any:
    """Return whether a byte is a newline or the # of a comment."""
    return c in (NEWLINE, HASH)


@helper
def ends_field(c: Any) -> Any:
    """Return whether a byte is blank or ends a row."""
    return is_blank(c) or ends_row(c)


@helper
def is_digit(c: Any) -> Any:
    """Return whether a byte is 0 to 9."""
    return ZERO <= c <= NINE


@helper
def skip_blanks(text: Any, at: Any) -> Any:
    """Return the first position from `at` on that is not blank."""
    while is_blank(text[at]):
        at += 1
    return at


@helper
def skip_line(text: Any, at: Any) -> Any:
    """Return the start of the next line."""
    while text[at] != NEWLINE:
        at += 1
    return at + 1


@helper
def long_quotient(mantissa: Any, divisor: Any, cut: Any) -> Any:
    """Return (mantissa / divisor, EXACT), or HARD if two doubles cannot determine the rounding.

    If digits were truncated, the true mantissa is up to 1 larger, and all these values must round alike.
    """
    high = float(mantissa)
    low = float(mantissa - np.int64(high))  # high + low is the mantissa exactly
    q = high / divisor
    t = SPLITTER * q
    q1 = t - (t - q)
    q2 = q - q1
    t = SPLITTER * divisor
    d1 = t - (t - divisor)
    d2 = divisor - d1
    product = q * divisor
    error = ((q1 * d1 - product) + q1 * d2 + q2 * d1) + q2 * d2  # q * divisor is product + error exactly
    correction = (((high - product) - error) + low) / divisor  # two roundings: off by 2^-52 of itself at most
    slack = abs(correction) * 2.0**-51
    above = slack + 1.001 / divisor if cut else slack
    settled = q + (correction - slack) == q + (correction + above)
    return q + correction, EXACT if settled else HARD


@helper
def scale(mantissa: Any, exponent: Any, cut: Any) -> Any:
    """Return (mantissa * 10^exponent, EXACT) rounded once, or HARD; only a mantissa above 2^53 may be truncated."""
    if mantissa == 0 or (exponent == 0 and not cut):
        return float(mantissa), EXACT
    if not -22 <= exponent <= 22:
        return 0.0, HARD
    power = POWERS_OF_TEN[abs(exponent)]
    if mantissa <= LARGEST_EXACT:
        return (mantissa / power if exponent < 0 else mantissa * power), EXACT
    if exponent < 0:
        return long_quotient(mantissa, power, cut)
    return 0.0, HARD


@helper
def read_exponent(text: Any, at: Any) -> Any:
    """Return (exponent, end) of the text after an `e`; end is 0 if no digit follows."""
    negative = text[at] == MINUS
    if negative or text[at] == PLUS:
        at += 1
    exponent = np.int64(0)
    if not is_digit(text[at]):
        return exponent, 0
    while is_digit(text[at]):
        if exponent < 10000:  # larger ones are hard anyway, and must not overflow
            exponent = exponent * 10 + (np.int64(text[at]) - ZERO)
        at += 1
    return (-exponent if negative else exponent), at


@helper
def read_number(text: Any, at: Any) -> Any:
    """Return (value, end, EXACT | HARD | BAD) of the decimal number at this position."""
    negative = text[at] == MINUS
    if negative or text[at] == PLUS:
        at += 1
    mantissa, n_cut = np.int64(0), np.int64(0)
    start, point = at, np.int64(0)
    while True:
        c = np.int64(text[at])
        if is_digit(c):
            if mantissa < LARGEST_MANTISSA:
                mantissa = mantissa * 10 + (c - ZERO)
            else:
                n_cut += 1
        elif c == POINT and point == 0:
            point = at + 1
        else:
            break
        at += 1
    if at - start == (point > 0):  # no digit at all
        return 0.0, at, BAD
    exponent = n_cut - (at - point if point > 0 else 0)
    if text[at] | 32 == 101:  # e or E
        power, at = read_exponent(text, at + 1)
        if at == 0:
            return 0.0, at, BAD
        exponent += power
    value, kind = scale(mantissa, exponent, n_cut > 0)
    return (-value if negative else value), at, kind


@helper
def read_value(text: Any, at: Any) -> Any:
    """Return (value, end, EXACT | HARD | BAD) of a number or NULL."""
    if text[at] != NULL[0]:
        return read_number(text, at)
    for c in NULL:
        if text[at] != c:
            return 0.0, at, BAD
        at += 1
    return np.nan, at, EXACT


@helper
def note_hard(hard: Any, n_hard: Any, row: Any, column: Any, start: Any, stop: Any) -> Any:
    """Leave the number in text[start:stop] to float(); return the count of such numbers."""
    hard[n_hard, 0], hard[n_hard, 1], hard[n_hard, 2], hard[n_hard, 3] = row, column, start, stop
    return n_hard + 1


@helper
def read_features(text: Any, at: Any, most: Any, row: Any, features: Any, hard: Any, n_hard: Any) -> Any:
    """Fill one row; return (end, last index or -1 for a bad field, n_hard).

    Indices beyond the width are read but not stored: the caller widens the table and calls again. Nearly all time is
    spent here, and calls of functions that return pairs would take most of it. So an index, and a number of up to 15
    digits without sign and exponent, are read inline.
    """
    last, width = np.int64(0), features.shape[1]
    while True:
        at = skip_blanks(text, at)
        if ends_row(text[at]):
            return at, last, n_hard
        index = np.int64(0)
        while is_digit(text[at]) and index <= most:  # larger indices are invalid and must not overflow
            index = index * 10 + (np.int64(text[at]) - ZERO)
            at += 1
        if text[at] != COLON or index <= last or index > most:
            return at, np.int64(-1), n_hard
        start, last = at + 1, index
        at, mantissa, n_after_point = start, np.int64(0), np.int64(0)
        while is_digit(text[at]) and mantissa < LARGEST_MANTISSA:
            mantissa = mantissa * 10 + (np.int64(text[at]) - ZERO)
            at += 1
        n_digits = at - start
        if text[at] == POINT:
            at += 1
            point = at
            while is_digit(text[at]) and mantissa < LARGEST_MANTISSA:
                mantissa = mantissa * 10 + (np.int64(text[at]) - ZERO)
                at += 1
            n_after_point = at - point
        if 0 < n_digits + n_after_point <= 15 and ends_field(text[at]):
            value, kind = mantissa / POWERS_OF_TEN[n_after_point], EXACT
        else:
            value, at, kind = read_value(text, start)
            if kind == BAD or not ends_field(text[at]):
                return at, np.int64(-1), n_hard
        if kind == HARD:
            n_hard = note_hard(hard, n_hard, row, index - 1, start, at)
        elif index <= width:
            features[row, index - 1] = value


@helper
def read_query(text: Any, at: Any, queries: Any, end: Any) -> Any:
    """Write the id of a `qid:ID` field and a newline to queries[end:]; return (end of the field, or 0, end)."""
    for c in QID:
        if text[at] != c:
            return 0, end
        at += 1
    start = end
    while not ends_field(text[at]):
        queries[end] = text[at]
        at += 1
        end += 1
    queries[end] = NEWLINE
    return (at if end > start else 0), end + 1


@helper
def begin_list(queries: Any, end: Any, list_places: Any, state: Any) -> Any:
    """Keep the id up to `end` as a new list, unless the previous row has the same id."""
    here, before = state[QUERIES_END], state[LAST_QUERY]
    same = state[N_LISTS] > 0
    while same and queries[here] == queries[before] and queries[here] != NEWLINE:
        here += 1
        before += 1
    if not same or queries[here] != queries[before]:
        list_places[state[N_LISTS], 0], list_places[state[N_LISTS], 1] = state[ROW], state[LINE]
        state[N_LISTS] += 1
        state[LAST_QUERY], state[QUERIES_END] = state[QUERIES_END], end


@helper
def find_doc_id(text: Any, at: Any) -> Any:
    """Return where the document id begins in a comment: after `docid`, `docid =` or `docid=`, else the first word."""
    at = start = skip_blanks(text, at)
    for c in DOCID:
        if text[at] != c:
            return start
        at += 1
    after = skip_blanks(text, at)
    if text[after] == EQUALS:
        return skip_blanks(text, after + 1)
    return after if after > at or text[after] == NEWLINE else start


@helper
def read_comment(text: Any, at: Any, ids: Any, comments: Any, state: Any) -> Any:
    """Collect the document id and the rest of the comment; return the position of the newline."""
    at, end = find_doc_id(text, at), state[IDS_END]
    while not (is_blank(text[at]) or text[at] == NEWLINE):
        ids[end] = text[at]
        at += 1
        end += 1
    ids[end] = NEWLINE
    state[IDS_END] = end + 1
    at, end = skip_blanks(text, at), state[COMMENTS_END]
    start = end
    while text[at] != NEWLINE:
        comments[end] = text[at]
        at += 1
        end += 1
    while end > start and is_blank(comments[end - 1]):
        end -= 1
    comments[end] = NEWLINE
    state[COMMENTS_END] = end + 1
    return at


@njit(cache=True, nogil=True)
def scan_lines(
    text: Any,
    most: Any,
    features: Any,
    grades: Any,
    hard: Any,
    queries: Any,
    list_places: Any,
    ids: Any,
    comments: Any,
    state: Any,
) -> Any:
    """Read lines from state[AT] on until the text ends, a line is invalid, or a table is too small.

    text: uint8, ends with a newline; most: the largest index allowed; features: float64 (n, width), zero
    from state[ROW] on; grades: float64 (n,); hard: int64 (len(text) // 4, 4), each the row, the column
    (-1: the grade), start and stop of a number for float(); list_places: int64 (n lines, 2), first row
    and line of each list; queries, ids, comments: uint8 of len(text). The line that stops the scan
    leaves only its start in state[AT] and, if it is too wide, its last index in state[WIDTH].
    """
    while state[AT] < len(text):
        start = skip_blanks(text, state[AT])
        if ends_row(text[start]):
            state[AT] = skip_line(text, start)
            state[LINE] += 1
            continue
        row, n_hard = state[ROW], state[N_HARD]
        if row == len(features):
            return TOO_SHORT
        grade, stop, kind = read_number(text, start)
        at = skip_blanks(text, stop)
        if kind == BAD or at == stop or (kind == EXACT and grade < 0.0 and grade != -1.0):
            return BAD_LINE
        if kind == HARD:
            n_hard = note_hard(hard, n_hard, row, -1, start, stop)
        grades[row] = np.nan if grade == -1.0 else grade
        at, queries_end = read_query(text, at, queries, state[QUERIES_END])
        if at == 0:
            return BAD_LINE
        at, last, n_hard = read_features(text, at, most, row, features, hard, n_hard)
        if last < 0:
            return BAD_LINE
        state[WIDTH] = max(last, state[WIDTH])
        if last > features.shape[1]:
            return TOO_NARROW
        begin_list(queries, queries_end, list_places, state)
        state[AT] = read_comment(text, at + (text[at] == HASH), ids, comments, state) + 1
        state[LINE] += 1
        state[ROW] += 1
        state[N_HARD] = n_hard
    return DONE
