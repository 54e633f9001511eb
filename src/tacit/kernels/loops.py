"""`njit` for the loops of this package: numba is imported when a loop is first called, not when its module is imported.

Importing numba takes three times as long as importing NumPy, so a program that calls no loop should not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from threading import RLock
from typing import Any

from tacit.numba_cache import ensure_cache

_lock = RLock()
FAST = {"contract", "reassoc", "arcp", "nsz"}  # for `fastmath`: sums may be reordered; NaN is preserved


class Loop:
    """A function that is compiled when it is first called."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        self._function, self._options = function, options
        self._dispatcher: Any = None
        self._ready: Any = None
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        """Run the compiled loop."""
        return (self._ready or self.compiled)(*args)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of numba's function, such as `signatures`."""
        return getattr(self.compiled, name)

    def __reduce__(self) -> str:
        """Pickle and copy by name, as functions are."""
        return str(self.__qualname__)

    @property
    def compiled(self) -> Any:
        """The function of numba. Loops that it calls are also replaced by theirs, since numba knows no others."""
        with _lock:
            if self._ready is None:
                self._made()
                known = self._function.__globals__
                loops = {name: value for name, value in known.items() if isinstance(value, Loop)}
                known.update({name: loop._made() for name, loop in loops.items()})
                for loop in loops.values():  # from other files, which call further loops
                    if loop._function.__globals__ is not known:
                        loop.compiled  # noqa: B018 - replaces the loops that it calls
                self._ready = self._dispatcher
        return self._ready

    def _made(self) -> Any:
        """Make the function of numba; nothing is compiled yet."""
        if self._dispatcher is None:
            ensure_cache(__file__)
            from numba import njit

            self._dispatcher = njit(**self._options)(self._function)
        return self._dispatcher


def njit(**options: Any) -> Callable[[Any], Any]:
    """Return the decorator that `numba.njit` returns for these options, without importing numba."""
    return lambda function: Loop(function, options)
