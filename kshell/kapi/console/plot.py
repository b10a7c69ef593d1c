"""`plot`: curves of numbers, drawn in the console or as an image."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kshell.errors import CallError, QError
from kshell.kapi.base.args import flag_of, names_of, pairs, unknown
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import kname, list_q, to_q
from kshell.kapi.base.handles import DictHandle, TensorHandle, VectorHandle
from kshell.kapi.base.paths import path_of
from kshell.kapi.console.curves import Line, has_unicode, line, panel
from kshell.store import atomic
from kshell.values.base import types as T
from kshell.values.base.core import (
    NIL,
    Dict,
    List,
    Nd,
    Table,
    Value,
    Vec,
    atom,
    is_list,
    seq_items,
    text_of,
)
from kshell.values.base.narrow import is_text
from kshell.values.base.symbols import Sym
from kshell.values.session.context import running

if TYPE_CHECKING:
    from kshell.values.session.context import Running

Series = tuple[str, np.ndarray]
_NUMBERS = (T.B, T.X, T.H, T.I, T.J, T.E, T.F)
_FORMATS = ("png", "svg", "pdf")
_LOW, _HIGH = 7, 15  # height of a plot in lines
_MOST = 32  # maximum number of curves


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
    curves = [
        (name, y) for name, col in zip(names, cols, strict=True) if (y := _numbers(col)) is not None
    ]
    return curves or None


def _series(x: Value) -> list[Series] | None:
    """The curves in a value: a vector, a list of vectors, or the numeric columns of a table or dictionary."""
    if isinstance(x, DictHandle):
        return _named(list(x.get()), [to_q(value) for value in x.get().values()])
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
        columns = [_numbers(i) for i in seq_items(x)]
        if all(i is not None for i in columns):
            return [
                (str(n) * (len(columns) > 1), i) for n, i in enumerate(columns) if i is not None
            ]
    return None


class How(NamedTuple):
    """How to draw curves: the x values or their column, in one panel or several, the scales, and a title."""

    x: Value = NIL
    together: bool = False
    logx: bool = False
    logy: bool = False
    title: str = ""


def _how(given: Sequence[Value]) -> How:
    """The options of a call."""
    values: dict[str, Any] = {}
    names = names_of(given[0]) if len(given) == 2 and given[0].__class__ is Vec else None
    try:
        options = (
            pairs(given[0] if len(given) == 1 else List(list(given)))
            if names is None
            else list(
                zip(
                    names,
                    seq_items(given[1]) if is_list(given[1]) else [given[1]] * len(names),
                    strict=True,
                )
            )
        )
    except ValueError:
        raise QError(
            f"plot: {len(names or ())} names of options, given {kname(given[1])}"
        ) from None
    except QError as exc:
        raise QError(f"plot: {exc.text}") from None
    for name, v in options:
        if name not in How._fields:
            raise unknown("unrecognized option: ", name, How._fields, call="plot")
        if name in ("together", "logx", "logy") and flag_of(v) is None:
            raise QError(f"plot: {name}: expected a boolean")
        if name == "title" and v.__class__ is not Sym and not is_text(v):
            raise QError("plot: title: expected a symbol or text")
        values[name] = text_of(v) if name == "title" else v
    return How(**values)


def _call(x: Value) -> tuple[Value | None, Value, How]:
    """The file, the value and the options of a call."""
    args = list(x.items) if x.__class__ is List else []
    file = args.pop(0) if len(args) > 1 and args[0].__class__ is Sym else None
    if len(args) > 1 and (args[1].__class__ in (Dict, Sym) or names_of(args[1])):
        return file, args[0], _how(args[1:])
    return (file, args[0], How()) if file is not None and len(args) == 1 else (None, x, How())


def _over(x: Value, how: How) -> np.ndarray | None:
    """The x values as floats: numbers, or temporals as their underlying numbers; None for anything else."""
    if x.__class__ is not Vec or x.t not in T.TEMPORAL:
        return _numbers(x)
    if how.logx:
        raise QError(f"plot: logx: expected numbers, given {kname(x)}")
    known = _known(x)
    places = np.full(len(x), np.nan)
    places[known] = x.a[known] - _first(x)
    return places


def _known(x: Vec) -> np.ndarray:
    """Which times are neither null nor infinite?"""
    if x.t == T.Z:
        return np.isfinite(x.a)
    return (x.a != T.NULL[x.t]) & (np.abs(x.a) != T.TYPE[x.t].inf)


def _first(x: Vec) -> Any:
    """The time that x values are counted from: floats cannot hold all digits of nanoseconds since 2000."""
    known = x.a[_known(x)]
    return known.min() if x.t == T.P and len(known) else x.a.dtype.type(0)


def _column(given: Value, name: str) -> Value:
    """The table column or dictionary item with a name; None without a name."""
    if given.__class__ is Dict and given.v.__class__ is Table:
        return (
            _column(given.k, name)
            if given.k.__class__ is Table and name in given.k.names
            else _column(given.v, name)
        )
    if isinstance(given, DictHandle):
        return to_q(given.get()[name]) if name in given.get() else NIL
    if given.__class__ is Table:
        return given.cols[given.names.index(name)] if name in given.names else NIL
    if given.__class__ is not Dict or name not in (names := names_of(given.k) or ()):
        return NIL
    return seq_items(given.v)[names.index(name)]


def _lines(given: Value, how: How) -> list[Line]:
    """The curves of a value, over the x values given by the options."""
    curves = _series(given)
    if not curves:
        raise CallError("plot", expected="numbers", given=kname(given))
    over: np.ndarray | None = None
    if how.x.__class__ is Sym:
        over = _over(_column(given, how.x.s), how) if how.x.s else None
        if over is None:
            raise unknown(
                "x: no numbers or times named `",
                how.x.s,
                [name for name, _ in curves if name],
                call="plot",
            )
        curves = [(name, y) for name, y in curves if name != how.x.s]
    elif how.x is not NIL:
        over = _over(how.x, how)
        if over is None:
            raise QError(
                f"plot: x: expected the name of a column, numbers or times, given {kname(how.x)}"
            )
    if not curves or not all(len(y) for _, y in curves):
        raise CallError("plot", "there is nothing to plot")
    if len(curves) > _MOST:
        raise QError(f"plot: up to {_MOST} curves, given {len(curves)}")
    for name, y in curves:
        if over is not None and len(y) != len(over):
            raise QError(f"plot: x has {len(over)} values, {name or 'the curve'} {len(y)}")
    lines = [line(name, y, over) for name, y in curves]
    _check_scales(lines, how)
    return lines


def _check_scales(lines: list[Line], how: How) -> None:
    """Does each panel have values to show on a logarithmic scale?"""
    for name, log, places in (
        ("logx", how.logx, [curve.x for curve in lines]),
        ("logy", how.logy, [curve.y for curve in lines]),
    ):
        shown = [bool((place > 0).any()) for place in places]
        if log and not (any(shown) if how.together else all(shown)):
            which = lines[shown.index(False)].name if name == "logy" and not how.together else ""
            raise QError(
                f"plot: {name}: {f'`{which} has no value' if which else 'no value is'} above zero"
            )


class Times(NamedTuple):
    """The type of x values that are times, and the time at x=0."""

    t: int
    first: Any


def _times(given: Value, how: How) -> Times | None:
    """The type and first time of the x values; None if they are numbers."""
    x = _column(given, how.x.s) if how.x.__class__ is Sym else how.x
    return Times(x.t, _first(x)) if x.__class__ is Vec and x.t in T.TEMPORAL else None


_NANOS = 10  # characters of the fraction of a second in a nanosecond time


def _teller(
    times: Times | None, lines: list[Line], session: Running
) -> Callable[[float], str] | None:
    """A function that formats an x value as a time, in whole seconds if the range exceeds a minute; None if x is not
    temporal."""
    if times is None:
        return None
    t, first = times
    places = np.concatenate([line.x for line in lines])
    whole = t in (T.P, T.N) and len(places) > 0 and np.ptp(places) > 60e9

    def told(v: float) -> str:
        text = str(session.show(atom(t, float(v) if t == T.Z else int(first) + round(v)))).strip()
        return text[:-_NANOS] if whole else text

    return told


@api(
    "plot",
    "plot y",
    "plot(y;options)",
    "plot(`:file.png;y[;options])",
    since="kshell",
    effect="none",
)
def plot(x: Value) -> Value:
    """Plot numbers: one curve for a vector or tensor, one per item of a list, dictionary or table.

    Curves of a dictionary or table are named. Null and infinite values are gaps. The console shows braille, or plain
    characters on terminals without it; a notebook shows an image if matplotlib is installed. With a file, an image is
    written (.png, .svg or .pdf) by matplotlib (`pip install kshell[plot]`), and the result is the file.

    Options: x is the name of a column, or numbers or times, to plot over; together (1b) draws all curves in one panel;
    logx and logy set logarithmic scales, which omit values not above zero; title is a line above the plot.

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
    file, value, how = _call(x)
    lines = _lines(value, how)
    if file is not None:
        _to_file(path_of(file, "plot"), lines, how, value)
        return file
    session: Any = running()
    times = _times(value, how)
    text = _text(lines, how, session, _teller(times, lines, session))
    data = None if session.picture is None else _picture("png", lines, how, times)
    if data is None:
        session.write(text)
    else:
        session.picture(data, text)
    return NIL


def _to_file(path: str, lines: list[Line], how: How, value: Value) -> None:
    """Plot a value's curves to an image file; the file name's ending selects the format."""
    kind = path.rsplit(".", 1)[-1].lower()
    if kind not in _FORMATS:
        raise QError(f"plot: a file ends in .{', .'.join(_FORMATS)}, given {path}")
    data = _picture(kind, lines, how, _times(value, how))
    if data is None:
        raise CallError("plot", "a picture needs matplotlib: pip install kshell[plot]")
    atomic.write_bytes(path, data)


def _text(lines: list[Line], how: How, session: Any, told: Callable[[float], str] | None) -> str:
    """The curves as console text; `told` formats an x value."""
    rows, columns = session.settings.c
    unicode = has_unicode(session.output)
    panels = [lines] if how.together else [[line] for line in lines]
    # odd, so that there is a middle line
    height = min(max(rows // (len(panels) + 1), _LOW), _HIGH) | 1
    text = [how.title] * bool(how.title)
    for part in panels:
        text += [part[0].name] * bool(part[0].name and len(part) == 1)
        text += panel(part, columns, height, unicode, how.logx, how.logy, told)
    return "".join(row + "\n" for row in text)


# for types that are points in time: numpy's unit, and the number of these units in one of q's
_DATES: dict[int, tuple[Any, int]] = {
    T.P: ("ns", 1),
    T.D: ("ns", 86_400_000_000_000),
    T.Z: ("ns", 86_400_000_000_000),
    T.M: ("M", 1),
}


def _as_dates(x: np.ndarray, times: Times) -> np.ndarray:
    """x values that are points in time, as numpy datetimes."""
    unit, each = _DATES[times.t]
    return np.datetime64("2000-01-01", unit) + (
        np.rint(x * each).astype(np.int64) + int(times.first) * each
    ).astype(f"timedelta64[{unit}]")


def _picture(kind: str, lines: list[Line], how: How, times: Times | None) -> bytes | None:
    """The curves as an image file of some format; None without matplotlib. `times` describes the x values, if they are
    times."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return None
    dates = times if times is not None and times.t in _DATES else None
    told = _teller(times, lines, running()) if dates is None else None
    panels = [lines] if how.together else [[line] for line in lines]
    figure = Figure(figsize=(8, 2.5 * len(panels) + 1), layout="constrained")
    for axis, part in zip(figure.subplots(len(panels), squeeze=False)[:, 0], panels, strict=True):
        for c in part:
            axis.plot(c.x if dates is None else _as_dates(c.x, dates), c.y, label=c.name)
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
        if told is not None:
            axis.xaxis.set_major_formatter(lambda v, place: told(v))
        axis.grid(alpha=0.3)
    if how.title:
        figure.suptitle(how.title)
    file = io.BytesIO()
    figure.savefig(file, format=kind)
    return file.getvalue()
