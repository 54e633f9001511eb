"""JSON bodies, parsed and checked in a thread, so that a large one does not block other requests.

The values of a body are counted before it is parsed. Parsing rejects invalid Unicode (lone surrogates) and invalid
numbers, and checks stop at the first error of a list. Unknown parameters are rejected too. Errors of parameters and
bodies are described in one line: place, value found, value expected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine, Mapping
from email.message import Message
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic_core import from_json
from starlette.concurrency import run_in_threadpool

from tacit.app.web.interface.bodies import TAGS

MAX_VALUES = 1_000_000  # of one body, including names of objects
SHOWN = 60  # characters of a wrong value
AT_ONCE = 16 << 10  # bytes: for fewer, a thread would take longer than parsing
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)  # always matches, so its time is linear


class JsonRoute(APIRoute):
    """A route whose body is parsed by `read_body` before FastAPI sees it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that handles a request."""
        handle, field = super().get_route_handler(), self.body_field
        known = [parameter.alias for parameter in self.dependant.query_params]

        def read(data: bytes) -> Any:
            value, errors = field.validate(read_body(data), {}, loc=("body",)) if field else (None, None)
            if errors:
                raise RequestValidationError(errors)
            return value

        async def answer(request: Request) -> Response:
            _check_parameters(request, known)
            data = await request.body() if field is not None else b""
            if data and _is_json(request):
                request._json = read(data) if len(data) <= AT_ONCE else await run_in_threadpool(read, data)
            return await handle(request)

        return answer


def read_body(data: bytes, most: int = MAX_VALUES) -> Any:
    """Parse JSON; raise a request error if it is invalid or has too many values.

    >>> read_body(b'{"a": [1, 2]}')
    {'a': [1, 2]}
    >>> read_body(b"[1, 2, 3]", most=2)
    Traceback (most recent call last):
    fastapi.exceptions.RequestValidationError: [{'type': 'too_many', ...
    """
    if _has_more_values(data, most):
        raise _wrong("too_many", f"the body has more than {most:,} values, want at most that many; send it in parts")
    try:
        return from_json(data, allow_inf_nan=False)
    except ValueError as error:
        raise _wrong("no_json", f"the body is not JSON: {error}") from None


def _check_parameters(request: Request, known: list[str]) -> None:
    """Raise for an unknown parameter, because ignoring it would give unexpected results."""
    for name in request.query_params:
        if name not in known:
            raise RequestValidationError(
                [{"type": "unknown_parameter", "loc": ("query", name), "msg": ", ".join(known), "input": None}]
            )


def _has_more_values(data: bytes, most: int) -> bool:
    """Return whether a text has more values, estimated by its commas and colons outside of strings, plus one."""
    n = data.count(b",") + data.count(b":")
    if n < most:
        return False
    for n_strings, found in enumerate(_STRING.finditer(data)):  # lets other threads run between strings
        n -= data.count(b",", *found.span()) + data.count(b":", *found.span())
        if n < most or n_strings > 2 * most:
            break
    return n >= most


def _wrong(kind: str, problem: str) -> RequestValidationError:
    return RequestValidationError([{"type": kind, "loc": ("body",), "msg": problem, "input": None}])


def _is_json(request: Request) -> bool:
    message = Message()
    message["content-type"] = request.headers.get("content-type", "")
    kind, subtype = message.get_content_type().split("/", 1)
    return kind == "application" and (subtype == "json" or subtype.endswith("+json"))


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
