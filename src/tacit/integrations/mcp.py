"""Functions as tools of a Model Context Protocol server, for assistants. Extra `mcp`.

    make_server("tacit", [tools.search, tools.explain]).run("stdio")

The description of a tool is its function's docstring up to the section Parameters, whose entries describe its
arguments; annotations define the schemas. `tacit mcp MODEL` serves a model this way.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Annotated, Any, get_type_hints

from tacit import __version__
from tacit.core import MissingExtraError, TacitError
from tacit.core.methods import parameter_docs

try:
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
    from mcp.types import ToolAnnotations
    from pydantic import Field, ValidationError
except ImportError:
    raise MissingExtraError("tacit mcp", "mcp", "mcp") from None


def make_server(
    name: str, functions: Sequence[Callable[..., Any]], *, instructions: str = "", changing: Sequence[str] = ()
) -> MCPServer:
    """Return a server with one tool for each function.

    Parameters
    ----------
    name : str
        Name of the server.
    functions : sequence of callable
        Annotated functions with numpydoc docstrings. A `TacitError` becomes a tool error of one line; any other
        exception is a bug, and its traceback goes to stderr.
    instructions : str, default=""
        Purpose of the server; clients show it to their model.
    changing : sequence of str, default=()
        Names of the functions that store data; the others are announced as read-only.
    """
    server = OneLineServer(name, version=__version__, instructions=instructions, log_level="WARNING")
    for function in functions:
        stores = function.__name__ in changing
        hints = ToolAnnotations(read_only_hint=not stores, destructive_hint=False, open_world_hint=False)
        server.add_tool(_described(function), description=_summary(function), annotations=hints)
    return server


class OneLineServer(MCPServer):
    """A server with one-line errors for invalid calls: the value found and the value expected."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool by name."""
        try:
            await self._check_names(name, arguments)
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(error, UnexpectedToolError) and not isinstance(cause, TacitError):
                raise
            line = _mistake(cause) if isinstance(cause, ValidationError) else str(cause or error)
            raise ToolError(" ".join(line.split())) from None

    async def _check_names(self, name: str, arguments: dict[str, Any]) -> None:
        """Raise for an unknown argument, because an ignored misspelt filter would filter nothing."""
        known = next(
            (list(tool.input_schema["properties"]) for tool in await self.list_tools() if tool.name == name), None
        )
        unknown = [argument for argument in arguments if known is not None and argument not in known]
        if unknown:
            wanted = f"want one of {', '.join(known)}" if known else "it has no parameters"
            raise ToolError(f"{name} has no argument {unknown[0]!r}; {wanted}")


def _described(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with resolved types for the server, each parameter with its description."""
    docs, types = parameter_docs(function), get_type_hints(function)
    signature = inspect.signature(function)
    parameters = [
        parameter.replace(annotation=Annotated[types[name], Field(description=docs.get(name))])
        for name, parameter in signature.parameters.items()
    ]

    @wraps(function)
    def tool(**arguments: Any) -> Any:
        return function(**arguments)

    described: Any = tool
    described.__signature__ = signature.replace(parameters=parameters, return_annotation=types["return"])
    return tool


def _summary(function: Callable[..., Any]) -> str:
    """Return the docstring up to its sections, in one paragraph."""
    return " ".join(inspect.cleandoc(function.__doc__ or "").split("\nParameters\n")[0].split())


def _mistake(error: ValidationError) -> str:
    """Return the first error in the arguments of a call."""
    first = error.errors()[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else str(part) for part in first["loc"][:1])
    if first["type"] == "missing":
        return f"{place} is missing, want a value"
    wanted = first["msg"].removeprefix("Input should be ").split(", unable")[0]
    return f"{place} is {str(first['input'])[:60]!r}, want {wanted}"
