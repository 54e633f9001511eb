"""`python -m tacit` and the installed command `tacit`: open streams, one line for an interrupt, an exit code."""

import gc
import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from typing import Any, NoReturn

OBJECTS = 50_000  # new objects before garbage is collected; imports make so many that Python's 700 costs .1 s
UNUSED = frozenset(  # scipy.sparse imports every public module of NumPy, which takes as long as NumPy itself
    f"numpy.{name}" for name in ("char", "core", "ctypeslib", "f2py", "rec", "strings", "testing")
)


class Deferred(MetaPathFinder):
    """Finds the modules in UNUSED; they are executed when an attribute of theirs is first used."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec of a module with a lazy loader; None for all other modules."""
        spec = PathFinder.find_spec(fullname, path, target) if fullname in UNUSED else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def console() -> NoReturn:
    """Run the command line; nothing is imported before interrupts are handled."""
    gc.set_threshold(OBJECTS)
    sys.meta_path.insert(0, Deferred())
    try:
        _fill_closed_streams()
        from tacit.app.main import main

        code = main()
    except KeyboardInterrupt:
        sys.stderr.write("tacit: interrupted\n")
        code = 130
    gc.freeze()  # at exit, Python looks for garbage in all that is left: a quarter of the time of `tacit search`
    sys.exit(code)


def _fill_closed_streams() -> None:
    """Take the numbers of closed standard streams, which the next opened file would get otherwise.

    Reading finds nothing, writing to standard output is an error, messages to standard error are dropped.
    """
    for number, name, flags in ((0, "stdin", os.O_RDONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            stream = os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False)
            setattr(sys, name, stream)


if __name__ == "__main__":
    console()
