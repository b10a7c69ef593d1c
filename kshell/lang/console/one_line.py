"""Any value on one line, as q source where possible: `.Q.s1` and `-3!`.

Everything here takes a limit: text beyond it need not be created, because the console cuts it off.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kshell.lang.console.format import (
    atom_text,
    enum_values,
    marked,
    null_word,
    quoted,
    raw_texts,
    vec_texts,
)
from kshell.values.base import types as T
from kshell.values.base.core import HOLE, NIL, Dict, List, Nd, Table, Value, Vec, atom_t, raw
from kshell.values.base.functions import (
    Comp,
    Derived,
    Foreign,
    Handle,
    Iter,
    Lambda,
    ListProj,
    Prim,
    Proj,
    PyCall,
    PyFunction,
)
from kshell.values.base.primitives import in_k
from kshell.values.items.pick import is_link

NO_LIMIT = 1 << 62
_NAMES = (T.S, T.ENUM)


class _Writer:
    """Writes values at a given precision. `room` is the number of characters still wanted."""

    __slots__ = ("digits",)

    def __init__(self, digits: int) -> None:
        self.digits = digits

    def value(self, x: Value, room: int) -> str:
        """The text of x, or at least its first `room` characters."""
        qtype = atom_t(x)
        if qtype:
            return self.enum(x) if qtype == T.ENUM else atom_text(qtype, raw(x), self.digits)
        method = _BY_CLASS.get(x.__class__)
        if method is not None:
            return method(self, x, room)
        if isinstance(x, Lambda):
            return x.text
        if isinstance(x, Handle):
            return "," + x.show()
        text = getattr(x, "text", None)
        return text if isinstance(text, str) else getattr(x, "name", "") or repr(x)

    # ---------------------------------------------------------------- lists
    def enum(self, x: Any) -> str:
        if is_link(x.dom):
            return f"`{x.dom}!{x.v}"
        items = enum_values(_enum_vec(x))
        if items is not None and items.t not in _NAMES:  # a table's key can have any type
            return f"`{x.dom}${self.value(items.item(0), 0)}"
        (name,) = vec_texts(_enum_vec(x), self.digits)
        return f"`{x.dom}$`{name}"

    def vec(self, v: Vec, room: int) -> str:
        attribute = f"`{v.attr}#" if v.attr else ""
        if v.t == T.ENUM:
            return attribute + self.enum_vec(v, room)
        if v.t == T.C:
            body = v.a[: max(room, 0) + 1].tobytes()
            return f"{attribute}{',' if len(v.a) == 1 else ''}{quoted(body)}"
        count = len(v.a)
        if not count:
            return f"{attribute}`{T.TYPE[v.t].name}$()"
        needed = min(count, max(room, 0) + 2)  # each item takes at least one character
        texts = raw_texts(v.t, v.a[:needed], self.digits, null_word(v.t))
        return f"{attribute}{',' if count == 1 else ''}{marked(v.t, texts)}"

    def enum_vec(self, v: Vec, room: int) -> str:
        if not len(v.a):
            return f"`{v.dom}{'!`long' if is_link(v.dom) else ''}$()"
        needed = min(len(v.a), max(room, 0) + 2)
        if is_link(v.dom):
            return f"`{v.dom}!{',' if len(v.a) == 1 else ''}{' '.join(map(str, v.a[:needed].tolist()))}"
        leading = Vec(T.ENUM, v.a[:needed], "", v.dom)
        items = enum_values(leading)
        if items is not None and items.t not in _NAMES:
            return f"`{v.dom}${self.vec(Vec(items.t, items.a), room)}"
        names = vec_texts(leading, self.digits)
        return f"`{v.dom}${',' if len(v.a) == 1 else ''}`{'`'.join(names)}"

    def list_(self, x: List, room: int) -> str:
        count = len(x)
        if count == 1:
            return "," + self.value(x.item(0), room)
        texts: list[str] = []
        length = 0
        for index in range(count):
            texts.append(self.value(x.item(index), room - length))
            length += len(texts[-1]) + 1
            if length > room:
                break
        return f"({';'.join(texts)})"

    # ---------------------------------------------------------------- dictionaries and tables
    def dict_(self, d: Dict, room: int) -> str:
        keys = Vec(d.k.t, d.k.a, "", d.k.dom) if d.attr and d.k.__class__ is Vec else d.k
        keys_text = self.value(keys, room)
        attribute = f"`{d.attr}#" if d.attr else ""
        if d.keyed:
            return f"({attribute}{keys_text})!{self.value(d.v, room - len(keys_text))}"
        return f"{attribute}{keys_text if _bare(keys) else f'({keys_text})'}!{self.value(d.v, room - len(keys_text))}"

    def table(self, t: Table, room: int) -> str:
        names = "`" + "`".join(t.names) if t.names else "`symbol$()"
        origin = "" if t.cols.__class__ is list else getattr(t.cols, "origin", "")
        if origin:  # a table on disk: its location, not its content
            shown = t.cols.shown()  # type: ignore[attr-defined]
            names = "`" + "`".join(shown)
            return f"+{names if len(shown) > 1 else f'(,{names})'}!`{origin}"
        prefix = f"+{names}!" if len(t.names) > 1 else f"+({',' if t.names else ''}{names})!"
        return prefix + self.list_(List(list(t.cols)), room - len(prefix))

    # ---------------------------------------------------------------- functions
    def prim(self, f: Prim, room: int) -> str:
        return in_k(f.name)

    def args(self, args: tuple[Value, ...], room: int) -> str:
        return ";".join("" if argument is HOLE else self.value(argument, room) for argument in args)

    def proj(self, f: Proj, room: int) -> str:
        arguments = f.args
        # `2+`, like most projections of primitives, is written without the last hole
        if f.f.__class__ is Prim:
            while len(arguments) > 1 and arguments[-1] is HOLE:
                arguments = arguments[:-1]
        return f"{self.value(f.f, room)}[{self.args(arguments, room)}]"

    def list_proj(self, f: ListProj, room: int) -> str:
        return f"enlist[{self.args(f.args, room)}]"

    def comp(self, f: Comp, room: int) -> str:
        joined = ""
        for function in f.fs:
            text = self.value(function, room)
            gap = " " if joined and joined[-1].isalnum() and text[0].isalnum() else ""
            joined += gap + text
        return joined

    def derived(self, f: Derived, room: int) -> str:
        return self.value(f.f, room) + f.glyph


def _bare(k: Value) -> bool:
    """Can keys precede `!` without parentheses: is it a list written without a prefix, or in its own parentheses?"""
    if isinstance(k, List):
        return len(k) != 1
    if k.__class__ is not Vec or k.attr or k.t == T.ENUM:
        return False
    return len(k) > 1 or (k.t == T.C and not len(k))


def _enum_vec(x: Any) -> Vec:
    return Vec(T.ENUM, np.array([x.v], np.int64), "", x.dom)


# as embedPy's functions are in q
_PY_CALLS = {
    "": "{[f;x]embedPy[f;x]}[foreign]enlist",
    "*": "{[f;x]embedPy[f;x]}[foreign]enlist",
    "<": "{[f;x]qcallable[f;x]}[foreign]enlist",
    ">": "{[f;x]pycallable[f;x]}[foreign]enlist",
}
_BY_CLASS: dict[type, Any] = {
    Vec: _Writer.vec,
    List: lambda w, x, room: w.list_(x, room) if x.items else "()",
    Nd: lambda w, x, room: w.list_(x, room) if len(x) else "()",
    Dict: _Writer.dict_,
    Table: _Writer.table,
    Prim: _Writer.prim,
    Proj: _Writer.proj,
    ListProj: _Writer.list_proj,
    Comp: _Writer.comp,
    Derived: _Writer.derived,
    Iter: lambda w, x, room: x.glyph,
    Foreign: lambda w, x, room: "foreign",
    PyCall: lambda w, x, room: _PY_CALLS[x.how],
    PyFunction: lambda w, x, room: _PY_CALLS[x.how],
    NIL.__class__: lambda w, x, room: "::",
    HOLE.__class__: lambda w, x, room: "",
}


def s1_text(x: Value, digits: int = 7, limit: int = 0) -> str:
    """One line of text for x with `digits` significant digits. With a limit, text beyond it may be missing."""
    room = limit or NO_LIMIT
    return _Writer(digits).value(x, room)


def s1(x: Value, settings: Any) -> str:
    """The full one-line form of x, as in `.Q.s1`."""
    return s1_text(x, settings.P)


def cut(line: str, width: int) -> str:
    """A line cut to the console's width: `..` marks the cut."""
    if len(line) < width and (line.isascii() or len(_bytes(line)) < width):
        return line
    visible = _bytes(line)[: width - 3]
    return visible.decode("utf-8", "surrogateescape") + ".."


def _bytes(line: str) -> bytes:
    return line.encode("utf-8", "surrogateescape")


def s1_line(x: Value, settings: Any) -> str:
    """The one-line form of x cut to the console's width, as in `0N!x`."""
    width = settings.c[1]
    return cut(s1_text(x, settings.P, width), width)
