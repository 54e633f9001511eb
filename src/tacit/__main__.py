"""`python -m tacit` and the installed command `tacit`: open streams, one line for an interrupt, an exit code."""

import gc
import os
import sys
from typing import NoReturn

OBJECTS = 50_000  # new objects before garbage is collected; imports make so many that Python's 700 costs .1 s


def console() -> NoReturn:
    """Run the command line; nothing is imported before interrupts are handled."""
    gc.set_threshold(OBJECTS)
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
