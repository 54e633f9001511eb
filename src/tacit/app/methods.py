"""`tacit methods`: list the methods, or the parameters of one method

Methods for collections are used by `tacit fit`, methods for feature lists by `tacit rank`.
"""

from __future__ import annotations

import argparse
import json
from itertools import groupby
from typing import TYPE_CHECKING, Any, TextIO

from tacit.app.options import add_shared, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tacit.core import Method

EXAMPLES = """examples:
  tacit methods
  tacit methods htr-residual"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit methods`."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="method whose parameters are listed")
    add_shared(parser, "--json")


def run(args: argparse.Namespace, out: TextIO) -> int:
    """List methods by family, or parameters of one method."""
    from tacit.core import check_choice
    from tacit.rerank import METHODS as LISTS
    from tacit.retrieve import METHODS as COLLECTIONS

    groups = {"collections": COLLECTIONS, "lists": LISTS}
    if args.name is None:
        if args.json:
            out.write(json.dumps({kind: [*map(_as_json, table.values())] for kind, table in groups.items()}) + "\n")
        else:
            _show_all(groups, out)
        return 0
    check_choice("method", args.name, [*COLLECTIONS, *LISTS])
    kind = "collections" if args.name in COLLECTIONS else "lists"
    method = groups[kind][args.name]
    if args.json:
        parameters = [parameter._asdict() for parameter in method.parameters()]
        out.write(json.dumps({"kind": kind, **_as_json(method), "parameters": parameters}, default=repr) + "\n")
    else:
        _show_one(kind, method, out)
    return 0


def _as_json(method: Method) -> dict[str, Any]:
    return {"name": method.name, "family": method.family, "summary": method.summary}


def _show_all(groups: Mapping[str, Mapping[str, Method]], out: TextIO) -> None:
    titles = {
        "collections": "Methods for collections (tacit fit --method NAME, default blend):",
        "lists": "Methods for feature lists (tacit rank --method NAME, default standing):",
    }
    width = max(len(name) for table in groups.values() for name in table)
    for kind, table in groups.items():
        out.write(f"{titles[kind]}\n")
        families = list(dict.fromkeys(method.family for method in table.values()))
        in_order = sorted(table.values(), key=lambda method: families.index(method.family))
        for family, members in groupby(in_order, key=lambda method: method.family):
            out.write(f"\n  {family}\n")
            out.writelines(f"    {method.name:<{width}}  {method.summary}\n" for method in members)
        out.write("\n")
    out.write("tacit methods NAME lists the parameters of a method.\n")


def _show_one(kind: str, method: Method, out: TextIO) -> None:
    out.write(f"{method.name}: {method.summary}\n{method.family}, for {kind}; class {method.home.split(':')[1]}\n\n")
    parameters = [[p.name, _shown(p.default), p.meaning] for p in method.parameters()]
    if parameters:
        print_table(["parameter", "default", "meaning"], parameters, out, left=3)
    else:
        out.write("no parameters\n")


def _shown(value: Any) -> str:
    """Return a default in the form that `--set` reads."""
    try:
        return json.dumps(value) if not isinstance(value, str) else value
    except TypeError:
        return repr(value)
