"""A backend of matplotlib for a console without windows: `plt.show()` shows the open figures where the session can show
pictures, and else writes each to a file and names it.

matplotlib imports this module by the name in MPLBACKEND, and takes `FigureCanvas` and `show` from it.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvas
from matplotlib.backends.backend_agg import FigureManagerBase as FigureManager

from kshell.values.session.context import perhaps

__all__ = ["FigureCanvas", "FigureManager", "show"]


def show(*args: Any, **kwargs: Any) -> None:
    """Show the open figures, or write them to files and say which, and close them."""
    from matplotlib import pyplot

    session: Any = perhaps()
    for number in pyplot.get_fignums():
        data = io.BytesIO()
        pyplot.figure(number).savefig(data, format="png")
        pyplot.close(number)
        if session is not None and session.picture is not None:
            session.picture(data.getvalue(), f"figure {number}")
            continue
        write = sys.stdout.write if session is None else session.write
        write(f"figure {number}: {_written(number, data.getvalue())}\n")


def _written(number: int, data: bytes) -> str:
    """The path of a new file with some data."""
    handle, path = tempfile.mkstemp(prefix=f"figure{number}-", suffix=".png")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    return path
