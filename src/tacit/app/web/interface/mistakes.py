"""One-line errors for parameters and bodies: place, value found, value expected."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tacit.app.web.interface.bodies import TAGS

SHOWN = 60  # characters of the value found


def describe_mistake(error: Mapping[str, Any]) -> str:
    """Return one validation error of pydantic as a line.

    >>> describe_mistake({"type": "missing", "loc": ("query", "q"), "msg": "Field required", "input": None})
    'q is missing, want a value'
    >>> error = {"type": "x", "loc": ("body", 0, "grade"), "msg": "Input should be a valid number", "input": "two"}
    >>> describe_mistake(error)
    'body[0].grade is "two", want a valid number'
    """
    where, *rest = error["loc"]
    if error["type"] in ("no_json", "too_many"):
        return str(error["msg"])
    place = "" if where in ("query", "path") else str(where)
    place += "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest if part not in TAGS)
    place = place.removeprefix(".")
    if error["type"] == "unknown_parameter":
        wanted = f"want one of {error['msg']}" if error["msg"] else "this route has no parameters"
        return f"unknown parameter {_found(place)}, {wanted}"
    if error["type"] == "missing":
        return f"{place} is missing, want a value"
    if error["type"] == "unknown_name":
        return f"{place} has the unknown name {error['msg']}"
    return f"{place} is {_found(error['input'])}, want {_wanted(error['msg'])}"


def _wanted(message: str) -> str:
    """Return the value that pydantic expects, without its standard phrases."""
    for start in ("Input should be ", "String should have ", "List should have "):
        message = message.removeprefix(start)
    message = message.split(", unable")[0].split(" after validation")[0]
    if message.startswith("a valid dictionary"):
        return "a JSON object"
    return f"a number {message}" if message.startswith(("greater", "less")) else message


def _found(value: Any) -> str:
    if isinstance(value, bytes):
        return "not sent as application/json"
    sizes: dict[type, str] = {str: "a text of {} characters", list: "a list of {}", dict: "an object with {} names"}
    size = sizes[type(value)].format(len(value)) if type(value) in sizes else ""
    if size and len(value) > SHOWN:  # as JSON it would be long and slow
        return size
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN else size or text[:SHOWN] + "…"
