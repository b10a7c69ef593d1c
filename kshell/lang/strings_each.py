"""Verbs on each of a list of strings, for all of them at once: what `each`, each-left and each-right give, sooner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kshell.lang.verbs import cast, strings
from kshell.values import types as T
from kshell.values.build import longs
from kshell.values.core import HOLE, List, Nd, Value, Vec, atom_t
from kshell.values.functions import Prim, Proj
from kshell.values.rows import Rows, string_rows, strings_of

_FEW = 8  # strings; for less it is not worth looking

Work = Callable[..., Value]


def _ends(rows: Rows, last: bool) -> Value | None:
    """The first or last characters; None if a string is empty."""
    if not rows.sizes.all():
        return None
    return Vec(T.C, rows.data[rows.starts + rows.sizes - 1 if last else rows.starts])


_EACH: dict[str, Callable[[Value, Rows], Value | None]] = {
    "count": lambda x, rows: longs(rows.sizes),
    "first": lambda x, rows: _ends(rows, False),
    "last": lambda x, rows: _ends(rows, True),
    "reverse": lambda x, rows: strings_of([s[::-1] for s in rows.items()]),
}
# verbs that go down to strings by themselves
_DEEP: dict[str, Work] = {"lower": strings.lower, "upper": strings.upper, "trim": strings.trim, "ltrim": strings.ltrim,
                          "rtrim": strings.rtrim}


def each(f: Value, x: Value) -> Value | None:
    """`f each x`, or None if there is no quicker way."""
    c = f.__class__
    if c is Prim:
        if f.name in _DEEP and _many(x):
            return _DEEP[f.name](x)
        work = _EACH.get(f.name)
        if work is None or not _many(x):
            return None
        flat = x.flat if x.__class__ is List else None
        if flat is not None and f.name == "count":
            return longs(flat.sizes)
        rows = string_rows(x)
        return None if rows is None else work(x, rows)
    if c is not Proj or f.f.__class__ is not Prim or f.args.count(HOLE) != 1:
        return None
    if f.f.name == "ssr" and f.args[0] is HOLE and _many(x):
        rows = string_rows(x)
        if rows is None:
            return None
        return strings_of(list(map(strings.replacer(Vec(T.C, np.empty(0, np.uint8)), *f.args[1:]), rows.items())))
    if len(f.args) != 2:
        return None
    return right(f.f, f.args[0], x) if f.args[1] is HOLE else left(f.f, x, f.args[1])


def _many(x: Value) -> bool:
    return (x.__class__ is List or x.__class__ is Nd) and len(x) > _FEW


def _is_text(x: Value) -> bool:
    return (x.__class__ is Vec and x.t == T.C) or atom_t(x) == T.C


def left(f: Value, x: Value, y: Value) -> Value | None:
    """`x f\\: y` for strings x, or None."""
    if f.__class__ is not Prim or not _many(x):
        return None
    if f.name == "like" and _is_text(y):
        return strings.like(x, y) if string_rows(x) is not None else None
    return _joined(x, b"", strings.bytes_of(y)) if f.name == "," and _is_text(y) else None


def right(f: Value, x: Value, y: Value) -> Value | None:
    """`x f/: y` for strings y, or None."""
    if f.__class__ is not Prim or not _many(y):
        return None
    if f.name == "," and _is_text(x):
        return _joined(y, strings.bytes_of(x), b"")
    if f.name == "$" and atom_t(x) in (T.C, T.S, T.J, T.I) and string_rows(y) is not None:
        return cast.dollar(x, y)
    if f.name == "sv" and _is_text(x):
        return _sv(strings.bytes_of(x), y)
    return None


def _joined(x: Value, before: bytes, after: bytes) -> Value | None:
    rows = string_rows(x)
    if rows is None:
        return None
    return strings_of([s + after for s in rows.items()] if after else [before + s for s in rows.items()])


def _sv(mark: bytes, y: Value) -> Value | None:
    """Lists of strings joined by a mark."""
    out: list[Any] = []
    for part in y.items:
        items = part.items if isinstance(part, List) else None
        if items is None or any(i.__class__ is not Vec or i.t != T.C for i in items):
            return None
        out.append(mark.join([i.a.tobytes() for i in items]))
    return strings_of(out)


def pairs(f: Value, x: Value, y: Value) -> Value | None:
    """`x f' y` for strings x and y, or None."""
    if f.__class__ is not Prim or f.name != "," or not _many(x) or not _many(y):
        return None
    a, b = string_rows(x), string_rows(y)
    if a is None or b is None:
        return None
    return strings_of([s + t for s, t in zip(a.items(), b.items(), strict=True)])
