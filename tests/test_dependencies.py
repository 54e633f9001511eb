"""A plain install brings along every library that the code imports without a guard."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
# Where the name of the distribution is not the name of the module; joblib and threadpoolctl come with scikit-learn.
MODULES = {
    "scikit-learn": ["sklearn", "joblib", "threadpoolctl"],
    "pystemmer": ["Stemmer"],
    "numba": ["numba", "llvmlite"],
}


GUARDED_BY_HAND = {"sudachipy", "ray"}  # a function asks `find_spec` first; `ray_cluster` imports Ray first
# `tacit serve` asks for them before it imports `app.web`.
SERVICE = {"fastapi", "itsdangerous", "prometheus_client", "pydantic", "pydantic_core", "starlette", "uvicorn"}


def core_modules():
    names = [re.match(r"[\w-]+", requirement)[0].lower() for requirement in PROJECT["dependencies"]]
    return {module for name in names for module in MODULES.get(name, [name])}


def unguarded_imports(node):
    """Modules that are imported outside `try` and `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name.split(".")[0] for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and not child.level:
            yield child.module.split(".")[0]
        elif not isinstance(child, ast.Try) and not (
            isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
        ):
            yield from unguarded_imports(child)


@pytest.mark.slow
def test_unguarded_imports_are_core_dependencies():
    permitted = {"tacit", *GUARDED_BY_HAND, *sys.stdlib_module_names, *core_modules()}
    odd = {
        (str(path.relative_to(ROOT)), name)
        for path in (ROOT / "src").rglob("*.py")
        for name in unguarded_imports(ast.parse(path.read_text("utf-8")))
        if name not in permitted and not ("app/web" in path.as_posix() and name in SERVICE)
    }
    assert odd == set()


def test_what_the_first_commands_need_is_no_extra():
    assert any(requirement.lower().startswith("pystemmer") for requirement in PROJECT["dependencies"])
