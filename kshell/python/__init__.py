"""kshell for Python programs: a session with Python values, data frames, the prompt inside a program.

Its modules are imported on first use: most q programs need none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kshell.lazy_package import lazy_package

if TYPE_CHECKING:
    from kshell.python import (
        arrow,
        arrowout,
        display,
        figures,
        frames,
        interchange,
        into,
        noted,
        objects,
        outof,
        session,
        taking,
        torch_side,
    )
else:
    __getattr__ = lazy_package(__name__)
