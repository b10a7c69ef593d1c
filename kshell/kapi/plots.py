"""`plot`: curves of numbers, drawn in the console or into a picture."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.kapi.args import items, names_of
from kshell.kapi.call import api
from kshell.kapi.convert import kname, list_q, to_q
from kshell.kapi.curves import curve, has_unicode
from kshell.kapi.handles import DictHandle, TensorHandle, VectorHandle
from kshell.kapi.snapshots import path_of
from kshell.store import atomic
from kshell.values import types as T
from kshell.values.context import running
from kshell.values.core import NIL, Dict, List, Nd, Sym, Table, Value, Vec, seq_items

Series = tuple[str, np.ndarray]
_NUMBERS = (T.B, T.X, T.H, T.I, T.J, T.E, T.F)
_FORMATS = ("png", "svg", "pdf")
_LOW, _HIGH = 7, 15  # lines of a curve
_MOST = 32  # curves


def _numbers(x: Value) -> np.ndarray | None:
    """A vector of numbers as floats, nulls as NaN; None for anything else."""
    if isinstance(x, TensorHandle):
        x = to_q(x.get())
    if x.__class__ is not Vec or x.t not in _NUMBERS:
        return None
    y = x.a.astype(float)
    if x.t in (T.H, T.I, T.J):
        y[x.a == T.NULL[x.t]] = np.nan
        y[np.abs(y) == float(T.TYPE[x.t].inf)] = np.nan
    return y


def _named(names: list[str], cols: list[Value]) -> list[Series] | None:
    found = [(name, y) for name, col in zip(names, cols, strict=True) if (y := _numbers(col)) is not None]
    return found or None


def _series(x: Value) -> list[Series] | None:
    """The curves of a value: a vector, a list of them, or the numeric columns of a table or dictionary."""
    if isinstance(x, DictHandle):
        return _named(list(x.get()), [to_q(t) for t in x.get().values()])
    if isinstance(x, VectorHandle):
        x = list_q(x.get())
    elif isinstance(x, TensorHandle):
        x = to_q(x.get())
    if x.__class__ is Dict and x.v.__class__ is Table:
        x = x.v
    if x.__class__ is Table:
        return _named(list(x.names), list(x.cols))
    if x.__class__ is Dict:
        names = names_of(x.k)
        return None if names is None else _named(names, seq_items(x.v))
    y = _numbers(x)
    if y is not None:
        return [("", y)]
    if x.__class__ in (List, Nd) and len(x):
        found = [_numbers(i) for i in seq_items(x)]
        if all(i is not None for i in found):
            return [(str(n) * (len(found) > 1), i) for n, i in enumerate(found) if i is not None]
    return None


@api("plot", "plot y", "plot(`:file.png;y)", since="kshell", effect="none")
def plot(x: Value) -> Value:
    """Draw numbers over their places: of a vector or tensor a curve, of a list of them, a dictionary or a table one for
    each, with its name. What is null or infinite is a gap.

    The console gets braille, or plain characters on a terminal that has none; with a file a picture is written, .png,
    .svg or .pdf, by matplotlib (`pip install kshell[plot]`), and the result is the file.

    q)plot 3 1 2
     3┤⠙⠦⣄
      │  ⠈⠙⠦⣄
      │     ⠈⠙⠦⣄
      │        ⠈⠙⠦⣄
      │           ⠈⠙⠦⣄
      │              ⠈⠙⠦⣄
     2┤                 ⠈⠙⠦⣄                                                    ⢀⣀⡤⠤
      │                    ⠈⠙⠦⣄                                           ⢀⣀⡤⠴⠒⠋⠉
      │                       ⠈⠙⠦⣄                                  ⢀⣀⡤⠴⠒⠋⠉
      │                          ⠈⠙⠦⣄                         ⢀⣀⡤⠴⠒⠋⠉
      │                             ⠈⠙⠦⣄                ⢀⣀⡤⠴⠒⠋⠉
      │                                ⠈⠙⠦⣄       ⢀⣀⡤⠴⠒⠋⠉
     1┤                                   ⠈⠙⠦⣄⡤⠴⠒⠋⠉
       0                                                                           2
    """
    file = x.items[0] if x.__class__ is List and len(x) == 2 and x.items[0].__class__ is Sym else None
    given = x if file is None else items(x)[1]
    found = _series(given)
    if not found:
        raise QError(f"plot: expected numbers, given {kname(given)}")
    if not all(len(y) for _, y in found):
        raise QError("plot: there is nothing to plot")
    if len(found) > _MOST:
        raise QError(f"plot: up to {_MOST} curves, given {len(found)}")
    if file is not None:
        _picture(path_of(file, "plot"), found)
        return file
    session: Any = running()
    rows, columns = session.settings.c
    unicode = has_unicode(session.output)
    height = min(max(rows // (len(found) + 1), _LOW), _HIGH) | 1  # odd, so that one line is the middle
    for name, y in found:
        if name:
            session.write(name + "\n")
        session.write("".join(line + "\n" for line in curve(y, columns, height, unicode)))
    return NIL


def _picture(path: str, found: list[Series]) -> None:
    kind = path.rsplit(".", 1)[-1].lower()
    if kind not in _FORMATS:
        raise QError(f"plot: a file ends in .{', .'.join(_FORMATS)}, given {path}")
    problem = False
    try:
        from matplotlib.figure import Figure
    except ImportError:
        problem = True
    if problem:
        raise QError("plot: a picture needs matplotlib: pip install kshell[plot]")
    figure = Figure(figsize=(8, 2.5 * len(found) + 1), layout="constrained")
    axes = figure.subplots(len(found), squeeze=False)[:, 0]
    for axis, (name, y) in zip(axes, found, strict=True):
        axis.plot(y)
        axis.set_title(name)
        axis.grid(alpha=0.3)
    out = io.BytesIO()
    figure.savefig(out, format=kind)
    atomic.write_bytes(path, out.getvalue())
