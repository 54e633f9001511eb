"""Imports between packages: each one is allowed by the design, and every package is known."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import tacit

SOURCE = Path(tacit.__file__).parent

BELOW = {
    "core": (),
    "kernels": (),
    "data": ("core",),
    "store": ("core",),
    "features": ("core", "kernels"),
    "metrics": ("core", "kernels", "data"),
    "retrieve": ("core", "kernels", "data", "store", "features", "metrics"),
    "rerank": ("core", "kernels", "data", "store", "features", "metrics", "retrieve"),
}
# Sub-packages, and which others each may import beside the modules at the top of its package.
# Modules at the top that may import sub-packages (registries and the like) are named in ABOVE.
FAMILIES = {
    "retrieve": {
        "lexical": (),
        "latent": (),
        "margin": ("lexical", "latent"),
        "graph": (),
        "blend": ("lexical", "latent", "margin"),
    },
    "rerank": {
        "gradient": (),
        "propagation": ("gradient",),
        "linear": ("gradient", "propagation"),
        "boosting": ("gradient",),
        "transduction": ("boosting", "linear"),
    },
    "data": {"letor": (), "pydocs": (), "wiki": (), "formats": ()},
    "features": {"text": ()},
}
ABOVE = {
    "retrieve": {"registry", "state", "__init__"},
    "rerank": {"registry", "state", "ranking_lists", "learning_curve", "__init__"},
    "data": {"__init__", "collections", "trec", "clicks", "training_pairs", "inputs"},
    "features": {"__init__", "cfh", "query_document"},
}
BELOW["search"] = (*BELOW["rerank"], "rerank")
BELOW["distributed"] = (*BELOW["retrieve"], "retrieve")
BELOW["judge"] = (*BELOW["search"], "search")
BELOW["experiments"] = (*BELOW["judge"], "judge")
BELOW["integrations"] = (*BELOW["search"], "search")
BELOW["app"] = (*BELOW["experiments"], "experiments", "integrations", "distributed")


@cache
def imported_modules(file):
    """Modules of ours that a file imports, nested imports included."""
    found = []
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative imports hide which package they reach"
            names = [f"tacit.{alias.name}" for alias in node.names] if node.module == "tacit" else [node.module]
        found += [name for name in names if name.startswith("tacit.")]
    return found


FILES = sorted([*SOURCE.glob("*/**/*.py"), *SOURCE.glob("*/**/*.pyi")])


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_packages_import_only_those_below_them(file):
    package = file.relative_to(SOURCE).parts[0]
    assert package in BELOW, f"{package} is not in the table of packages"
    allowed = {package, "__version__", "numba_cache", *BELOW[package]}
    assert {name.split(".")[1] for name in imported_modules(file)} <= allowed


@pytest.mark.parametrize("file", [f for f in FILES if f.relative_to(SOURCE).parts[0] in FAMILIES], ids=str)
def test_families_import_only_those_below_them(file):
    package, *rest = file.relative_to(SOURCE).with_suffix("").parts
    families = FAMILIES[package]
    known = set(families) if len(rest) == 1 else {rest[0], *families[rest[0]]}
    if len(rest) == 1 and rest[0] in ABOVE[package]:
        return
    found = {name.split(".")[2] for name in imported_modules(file) if name.startswith(f"tacit.{package}.")}
    reached = found & set(families)
    if len(rest) == 1:
        assert not reached, f"{file} stands below the families of {package} and imports {reached}"
    assert reached <= known
    assert len(rest) == 1 or not found & (ABOVE[package] - {"__init__"}), f"{file} imports what stands above it"


def test_only_retrieve_knows_the_inside_of_the_blend():
    others = [file for file in FILES if file.relative_to(SOURCE).parts[0] != "retrieve"]
    inside = [(str(file), name) for file in others for name in imported_modules(file) if "retrieve.blend" in name]
    assert not inside, "want the public names of tacit.retrieve"


def test_no_folder_holds_too_many_files():
    for folder in {file.parent for file in FILES}:
        assert len([*folder.glob("*.py")]) <= 18, f"{folder} holds too many files, group them in sub-packages"


def test_every_package_has_a_docstring():
    for folder in {file.relative_to(SOURCE).parts[0] for file in FILES}:
        assert ast.get_docstring(ast.parse((SOURCE / folder / "__init__.py").read_text("utf-8")))


@pytest.mark.parametrize("package", sorted({file.relative_to(SOURCE).parts[0] for file in FILES}))
def test_importing_a_package_prints_and_starts_nothing(package):
    code = (
        f"import threading, tacit.{package}, sys; assert threading.active_count() == 1;"
        "assert 'sklearn' not in sys.modules and 'scipy.stats' not in sys.modules and 'rich' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
