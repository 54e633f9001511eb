"""Files in unsupported formats: identified by their first bytes, with advice."""

from __future__ import annotations

# First bytes of unsupported formats, and the advice for each.
_FOREIGN = {
    b"PK\x03\x04": "a zip archive or an Excel workbook: unpack it, or save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word file: save it as CSV",
    b"%PDF": "a PDF: extract its text first",
    b"\x93NUMPY": "an array of NumPy (.npy): use --vectors for vectors",
    b"\x89HDF": "an HDF5 file: export it as parquet or CSV",
    b"ORC": "an ORC file: export it as parquet",
    b"Obj\x01": "an Avro file: export it as parquet or JSON lines",
    b"7z\xbc\xaf": "a 7z archive: unpack it",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"\x7fELF": "a program",
    b"{\\rtf": "an RTF file: save it as plain text",
    b"\x80\x04\x95": "a Python pickle, which is never opened: save the data as JSON lines or parquet",
    b"\x80\x05\x95": "a Python pickle, which is never opened: save the data as JSON lines or parquet",
}
_TAR = b"ustar"


def describe_foreign(start: bytes) -> str:
    """Return what a file with these first bytes is, if its format is not supported, or an empty string.

    >>> describe_foreign(b"%PDF-1.7"), describe_foreign(b"id,text")
    ('a PDF: extract its text first', '')
    """
    if start[257:262] == _TAR:
        return "a tar archive: unpack it and give the folder"
    found = next((what for first, what in _FOREIGN.items() if start.startswith(first)), "")
    if found or b"\0" not in start:
        return found
    zeros = (start[:400][0::2].count(0), start[:400][1::2].count(0))
    if max(zeros) > len(start[:400]) // 4:
        return f"text in UTF-16 without a byte order mark: --encoding utf-16-{'le' if zeros[1] > zeros[0] else 'be'}"
    return ""


def html_start(start: bytes) -> bool:
    """Return whether a file begins like an HTML page."""
    head = start.removeprefix(b"\xef\xbb\xbf").lstrip()[:14].lower()
    return head.startswith((b"<!doctype html", b"<html"))
