"""`plot`: curves of numbers, drawn in the console or into a picture."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kshell.errors import QError
from kshell.kapi.args import flag_of, names_of, pairs, unknown
from kshell.kapi.call import api
from kshell.kapi.convert import kname, list_q, to_q
from kshell.kapi.curves import Line, has_unicode, line, panel
from kshell.kapi.handles import DictHandle, TensorHandle, VectorHandle
from kshell.kapi.snapshots import path_of
from kshell.store import atomic
from kshell.values import types as T
from kshell.values.context import running
from kshell.values.core import NIL, Dict, List, Nd, Sym, Table, Value, Vec, seq_items, text_of

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


class How(NamedTuple):
    """How curves are drawn: the values or the column that they are over, in one panel or one each, the scales, and a
    title."""

    x: Value = NIL
    together: bool = False
    logx: bool = False
    logy: bool = False
    title: str = ""


def _how(given: Sequence[Value]) -> How:
    """The options of a call."""
    found: dict[str, Any] = {}
    try:
        options = pairs(given[0] if len(given) == 1 else List(list(given)))
    except QError as exc:
        raise QError(f"plot: {exc.text}") from None
    for name, v in options:
        if name not in How._fields:
            raise unknown("plot: unrecognized option: ", name, How._fields)
        if name in ("together", "logx", "logy") and (v := flag_of(v)) is None:
            raise QError(f"plot: {name}: expected a boolean")
        if name == "title":
            v = v.s if v.__class__ is Sym else text_of(v) if v.__class__ is Vec and v.t == T.C else None
            if v is None:
                raise QError("plot: title: expected a symbol or text")
        found[name] = v
    return How(**found)


def _call(x: Value) -> tuple[Value | None, Value, How]:
    """The file, the value to draw and the options of a call."""
    given = list(x.items) if x.__class__ is List else []
    file = given.pop(0) if len(given) > 1 and given[0].__class__ is Sym else None
    if len(given) > 1 and (given[1].__class__ in (Dict, Sym) or names_of(given[1])):
        return file, given[0], _how(given[1:])
    return (file, given[0], How()) if file is not None and len(given) == 1 else (None, x, How())


def _lines(given: Value, how: How) -> list[Line]:
    """The curves of a value, over what the option x says."""
    found = _series(given)
    if not found:
        raise QError(f"plot: expected numbers, given {kname(given)}")
    over: np.ndarray | None = None
    if how.x.__class__ is Sym:
        over = dict(found).get(how.x.s) if how.x.s else None
        if over is None:
            raise unknown("plot: x: no numbers named `", how.x.s, [name for name, _ in found if name])
        found = [(name, y) for name, y in found if name != how.x.s]
    elif how.x is not NIL:
        over = _numbers(how.x)
        if over is None:
            raise QError(f"plot: x: expected the name of a column or numbers, given {kname(how.x)}")
    if not found or not all(len(y) for _, y in found):
        raise QError("plot: there is nothing to plot")
    if len(found) > _MOST:
        raise QError(f"plot: up to {_MOST} curves, given {len(found)}")
    for name, y in found:
        if over is not None and len(y) != len(over):
            raise QError(f"plot: x has {len(over)} values, {name or 'the curve'} {len(y)}")
    return [line(name, y, over) for name, y in found]


@api("plot", "plot y", "plot(y;options)", "plot(`:file.png;y[;options])", since="kshell", effect="none")
def plot(x: Value) -> Value:
    """Draw numbers over their places: of a vector or tensor a curve, of a list of them, a dictionary or a table one for
    each, with its name. What is null or infinite is a gap.

    The console gets braille, or plain characters on a terminal that has none; a notebook gets a picture if matplotlib
    is there; with a file a picture is written, .png, .svg or .pdf, by matplotlib (`pip install kshell[plot]`), and the
    result is the file.

    Options: x is the name of the column, or the numbers, that curves are drawn over; 1b for together draws all in one
    panel; logx and logy are for logarithmic scales, which leave out what is not above zero; title is a line above.

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

    q)plot(([]n:1 10 100 1000;a:1 2 4 8);`x`logx`title!(`n;1b;"growth"))
    growth
    a
       8┤                                                                       ⢀⣠⠔⠋
        │                                                                    ⣀⡤⠞⠉
        │                                                                ⢀⣠⠴⠊⠁
        │                                                             ⢀⡤⠖⠋
        │                                                          ⣀⠴⠚⠉
        │                                                      ⢀⣠⠖⠋⠁
     4.5┤                                                   ⣀⡤⠞⠉
        │                                             ⢀⣀⣠⠤⠖⠊⠁
        │                                       ⣀⣠⠤⠔⠒⠋⠉
        │                                ⣀⣠⠤⠴⠒⠋⠉⠁
        │                         ⣀⣀⡤⠴⠒⠚⠉⠁
        │            ⣀⣀⣀⣠⠤⠤⠤⠒⠒⠒⠋⠉⠉⠁
       1┤⣀⣠⠤⠤⠤⠖⠒⠒⠚⠉⠉⠉⠁
         1                                                                      1000
    """
    file, given, how = _call(x)
    lines = _lines(given, how)
    if file is not None:
        path = path_of(file, "plot")
        kind = path.rsplit(".", 1)[-1].lower()
        if kind not in _FORMATS:
            raise QError(f"plot: a file ends in .{', .'.join(_FORMATS)}, given {path}")
        data = _picture(kind, lines, how)
        if data is None:
            raise QError("plot: a picture needs matplotlib: pip install kshell[plot]")
        atomic.write_bytes(path, data)
        return file
    session: Any = running()
    text = _text(lines, how, session)
    data = None if session.picture is None else _picture("png", lines, how)
    if data is None:
        session.write(text)
    else:
        session.picture(data, text)
    return NIL


def _text(lines: list[Line], how: How, session: Any) -> str:
    """The curves as the console shows them."""
    rows, columns = session.settings.c
    unicode = has_unicode(session.output)
    panels = [lines] if how.together else [[c] for c in lines]
    height = min(max(rows // (len(panels) + 1), _LOW), _HIGH) | 1  # odd, so that one line is the middle
    out = [how.title] * bool(how.title)
    for part in panels:
        out += [part[0].name] * bool(part[0].name and len(part) == 1)
        out += panel(part, columns, height, unicode, how.logx, how.logy)
    return "".join(row + "\n" for row in out)


def _picture(kind: str, lines: list[Line], how: How) -> bytes | None:
    """The curves as a file of a kind, None without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return None
    panels = [lines] if how.together else [[c] for c in lines]
    figure = Figure(figsize=(8, 2.5 * len(panels) + 1), layout="constrained")
    for axis, part in zip(figure.subplots(len(panels), squeeze=False)[:, 0], panels, strict=True):
        for c in part:
            axis.plot(c.x, c.y, label=c.name)
        if len(part) > 1:
            axis.legend()
        else:
            axis.set_title(part[0].name)
        if how.logx:
            axis.set_xscale("log", nonpositive="mask")
        if how.logy:
            axis.set_yscale("log", nonpositive="mask")
        if how.x.__class__ is Sym:
            axis.set_xlabel(how.x.s)
        axis.grid(alpha=0.3)
    if how.title:
        figure.suptitle(how.title)
    out = io.BytesIO()
    figure.savefig(out, format=kind)
    return out.getvalue()
