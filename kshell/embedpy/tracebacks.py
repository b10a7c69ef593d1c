"""The frames of Python code in the report of an error."""

from __future__ import annotations

import importlib
import linecache
import os
from functools import cache
from itertools import islice
from types import TracebackType

import kshell
from kshell.errors import Frame, Source

_IMPORTING = importlib.__file__
_OWN = os.path.dirname(kshell.__file__) + os.sep
_SHOWN = 2  # frames of installed packages


@cache
def _packages() -> tuple[str, ...]:
    """The folders of Python's own modules and of installed packages."""
    import sysconfig

    return tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "purelib", "platlib")})


def python_frames(tb: TracebackType | None) -> list[Frame]:
    """The frames of the program's Python code in a traceback, innermost first, and the innermost ones of packages."""
    found: list[Frame] = []
    packages = 0
    levels = []
    while tb is not None:
        levels.append(tb)
        tb = tb.tb_next
    for level in reversed(levels):
        file = level.tb_frame.f_code.co_filename
        if file.startswith((_OWN, _IMPORTING, "<frozen", "<q>")):
            continue
        if file.startswith(_packages()):
            packages += 1
            if packages > _SHOWN:
                continue
        found.append(_frame(level))
    return found


def _frame(tb: TracebackType) -> Frame:
    code = tb.tb_frame.f_code
    line = linecache.getline(code.co_filename, tb.tb_lineno).rstrip("\n")
    file = "p)" if code.co_filename.startswith("<p)") else code.co_filename
    function = "" if code.co_name == "<module>" else code.co_name
    source = Source(line or "?", file, tb.tb_lineno, function)
    source.is_python = True
    *_, column, _ = next(islice(code.co_positions(), tb.tb_lasti // 2, None), (0, 0, 0, 0))
    before = line.encode()[: column or 0].decode("utf-8", "replace")
    return Frame(source, len(before))
