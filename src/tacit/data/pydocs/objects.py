"""The documented public objects of Python packages, each once, found by imports only.

A name is public if no part of it begins with an underscore, and its module lists it in `__all__` or defines it. Objects
are modules, classes, functions, ufuncs, documented instances and the members of classes. No code of them is called:
members are read from the class, never from an instance, and module attributes from the module's dictionary, so no
property and no module `__getattr__` runs.

The same docstring under several names (aliases, inherited methods) is one object, with its shortest name.
"""

from __future__ import annotations

import importlib
import pkgutil
import types
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tacit.core import UsageError

# Tests, build scripts and vendored packages: public by name only.
_SKIPPED_PARTS = frozenset({"tests", "conftest", "setup", "externals", "distutils"})

# Deprecated names of other modules, tools, and modules whose import changes others or needs an optional package.
_SKIPPED_MODULES = {
    *("numpy.core", "numpy.f2py", "numpy.lib.user_array", "numpy.ma.testutils", "numpy.testing.print_coercion_tables"),
    *("numpy.typing.mypy_plugin", "scipy.special.cython_special", "sklearn.experimental"),
    "sklearn.utils.estimator_checks",
}

# Exists only after `sklearn.experimental` was imported, and the corpus must not depend on earlier imports.
_SKIPPED_NAMES = {
    *("sklearn.impute.IterativeImputer", "sklearn.model_selection.HalvingGridSearchCV"),
    "sklearn.model_selection.HalvingRandomSearchCV",
}

_C_ATTRIBUTES = (types.GetSetDescriptorType, types.MemberDescriptorType)
_GENERATED_DOC = "Alias for field number"  # of every field of every named tuple


class PublicObjects(NamedTuple):
    """Docstrings by chosen name, and all public names of each, the chosen one first."""

    docs: dict[str, str]
    names: dict[str, list[str]]


class _Finding(NamedTuple):
    """One public name of a documented object; an object gets the name of its smallest finding."""

    is_member: bool
    is_foreign: bool
    is_inherited: bool
    n_parts: int
    is_renamed: bool
    n_letters: int
    name: str
    doc: str


def find_objects(packages: Sequence[str]) -> PublicObjects:
    """Import the packages with their public modules and collect their documented objects.

    >>> found = find_objects(["json"])
    >>> found.names["json.JSONDecodeError"]
    ['json.JSONDecodeError', 'json.decoder.JSONDecodeError']
    """
    with warnings.catch_warnings():
        # Importing deprecated modules raises warnings that do not concern the caller.
        warnings.simplefilter("ignore")
        modules = dict(found for name in packages for found in _public_modules(name, _import_package(name)))
        findings = sorted(_find_in_modules(modules))
    by_doc: dict[str, list[str]] = {}
    for finding in findings:
        by_doc.setdefault(finding.doc, []).append(finding.name)
    docs = {names[0]: doc for doc, names in by_doc.items()}
    return PublicObjects(docs, {names[0]: names for names in by_doc.values()})


def _import_package(name: str) -> types.ModuleType:
    try:
        return importlib.import_module(name)
    except (ImportError, TypeError, ValueError) as error:  # the last two for names such as '' and '.x'
        raise UsageError(f"package {name!r} cannot be imported ({error}); want the name of an installed one") from error


def _public_modules(name: str, module: types.ModuleType) -> Iterator[tuple[str, types.ModuleType]]:
    """Return the module and the modules in its folder, by import name."""
    yield name, module
    for info in pkgutil.iter_modules(vars(module).get("__path__", ())):
        inner = f"{name}.{info.name}"
        if info.name.startswith("_") or info.name in _SKIPPED_PARTS or inner in _SKIPPED_MODULES:
            continue
        try:
            inner_module = importlib.import_module(inner)
        except (Exception, SystemExit):  # a module of another platform, or one that needs a missing package
            continue
        if _is_module(inner_module):  # some packages replace a module by another object
            yield from _public_modules(inner, inner_module)


def _find_in_modules(modules: dict[str, types.ModuleType]) -> Iterator[_Finding]:
    roots = frozenset(map(_root, modules))
    offered = {name: _offered(name, module) for name, module in modules.items()}
    public_types = {id(value) for values in offered.values() for value in values.values() if _is_class(value)}
    for name, module in modules.items():
        yield from _find_in_module(name, module, roots, public_types)
    for name, module in _renamed_modules(modules).items():
        for finding in _find_in_module(name, module, roots, public_types):
            yield finding._replace(is_renamed=True)


def _find_in_module(
    module_name: str, module: types.ModuleType, roots: frozenset[str], public_types: set[int]
) -> Iterator[_Finding]:
    if doc := own_doc(module):
        yield _finding(module_name, doc, module)
    for name, value in _offered(module_name, module).items():
        kind = type(value)
        doc = own_doc(value)
        if not doc and id(kind) not in public_types and _root(kind.__module__) in roots:
            doc = own_doc(kind)  # like numpy.r_, the only instance of a private class
        if doc:
            yield _finding(name, doc, value)
        if _is_class(value):
            yield from _find_members(name, value, roots)


def _find_members(class_name: str, cls: type, roots: frozenset[str]) -> Iterator[_Finding]:
    """Return documented members; an override without documentation gets the docstring of the overridden member."""
    seen = set()
    for base in cls.__mro__:
        if _root(base.__module__) not in roots:
            continue
        for name, member in vars(base).items():
            if name.startswith("_") or name in seen or _is_class(member):
                continue
            value = member.__func__ if type(member) in (staticmethod, classmethod) else member
            doc = own_doc(value)
            if doc and not doc.startswith(_GENERATED_DOC):
                seen.add(name)
                yield _finding(f"{class_name}.{name}", doc, value, owner=base, is_inherited=base is not cls)


def _finding(name: str, doc: str, value: Any, *, owner: type | None = None, is_inherited: bool = False) -> _Finding:
    home = _own(value, "__name__") if _is_module(value) else _home(owner or value)
    is_foreign = bool(home) and _root(home) != _root(name)
    is_renamed = _own(value, "__name__").rpartition(".")[2] not in ("", name.rpartition(".")[2])
    return _Finding(owner is not None, is_foreign, is_inherited, name.count("."), is_renamed, len(name), name, doc)


def own_doc(value: Any) -> str:
    """Return the docstring of an object itself, not of its type, or nothing, without running its Python code.

    >>> own_doc(len)
    'Return the number of items in a container.'
    >>> own_doc(3), own_doc(property(lambda self: 1 / 0, doc="Never."))
    ('', 'Never.')
    """
    doc = _own(value, "__doc__")
    return "" if doc.isspace() else doc


def _own(value: Any, label: str) -> str:
    """Return a string attribute from places without Python code: a class, a C slot, an instance's dictionary."""
    if _is_class(value) or isinstance(type(value).__dict__.get(label), _C_ATTRIBUTES):
        found = getattr(value, label, "")
    else:
        try:
            found = object.__getattribute__(value, "__dict__").get(label)
        except AttributeError:
            return ""
    return found if type(found) is str else ""


def _offered(module_name: str, module: types.ModuleType) -> dict[str, Any]:
    """Return the public values of a module by full name; its modules are found as files instead."""
    listed = _listed(module)
    found = {}
    for short, value in vars(module).items():
        name = f"{module_name}.{short}"
        if short.startswith("_") or _is_module(value) or name in _SKIPPED_NAMES:
            continue
        if short in listed if listed is not None else f"{_home(value)}.".startswith(f"{module.__name__}."):
            found[name] = value
    return found


def _renamed_modules(modules: dict[str, types.ModuleType]) -> dict[str, types.ModuleType]:
    """Return modules that a package lists under a name that differs from the file's, such as numpy.emath."""
    files = {id(module) for module in modules.values()}
    found: dict[str, types.ModuleType] = {}
    for name, module in modules.items():
        listed = _listed(module) or frozenset()
        inner = {f"{name}.{short}": value for short, value in vars(module).items() if short in listed}
        found |= {full: value for full, value in inner.items() if id(value) in files and full not in modules}
    return found


def _listed(module: types.ModuleType) -> frozenset[str] | None:
    listed = vars(module).get("__all__")
    return frozenset(listed) if isinstance(listed, list | tuple | set) else None


def _home(value: Any) -> str:
    """Return the module that defined a value; empty if unknown, as for ufuncs."""
    of_type = type(value).__dict__.get("__module__")
    return _own(value, "__module__") or (of_type if type(of_type) is str else "")


def _root(name: str) -> str:
    return name.partition(".")[0]


def _is_class(value: Any) -> bool:
    return issubclass(type(value), type)


def _is_module(value: Any) -> bool:
    return issubclass(type(value), types.ModuleType)
