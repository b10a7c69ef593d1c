"""JSON: q values to text and back, for `.j.j` and `.j.k`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.lang.console.format import atom_string, enum_values, raw_text, raw_texts
from kshell.lang.console.one_line import s1_text
from kshell.values.base import types as T
from kshell.values.base.build import collapse, floats, string
from kshell.values.base.core import (
    NIL,
    Dict,
    EnumAtom,
    List,
    ListValue,
    Nd,
    Table,
    Value,
    Vec,
    atom_t,
    raw,
    sym_vec,
)
from kshell.values.items.rows import strings_of


class Writer:
    """Writes values as JSON, floats with `digits` significant digits; with `null_inf`, infinities become null."""

    def __init__(self, digits: int, null_inf: bool = False) -> None:
        self.digits, self.null_inf = digits, null_inf

    def write(self, x: Value) -> str:
        """The JSON text of any value."""
        if x.__class__ is Vec:
            return self.vec(x)
        if x.__class__ is List or x.__class__ is Nd:
            return f"[{','.join(map(self.write, x.items))}]"
        if x.__class__ is Table:
            return self.table(x)
        if x.__class__ is Dict:
            return self.dict(x)
        if x is NIL:
            return "null"
        qtype = atom_t(x)
        if not qtype:
            return quote(s1_text(x, self.digits))
        if x.__class__ is EnumAtom:
            index = np.array([x.v], np.int64)
            items = enum_values(Vec(T.ENUM, index, "", x.dom)) or Vec(T.J, index)
            return self.words(items.t, items.a)[0]
        one = np.frombuffer(raw(x), "V16") if qtype == T.G else np.array([raw(x)], T.DTYPE[qtype])
        return self.words(qtype, one)[0]

    def vec(self, v: Vec) -> str:
        if v.t == T.C:
            return quote(v.a.tobytes().decode("utf-8", "surrogateescape"))
        if v.t == T.ENUM:
            return self.write(enum_values(v) or Vec(T.J, v.a))
        return f"[{','.join(self.words(v.t, v.a))}]"

    def words(self, t: int, a: np.ndarray) -> list[str]:
        """The JSON of each item of an array of type t."""
        if t == T.B:
            return ["true" if flag else "false" for flag in a.tolist()]
        if t in (T.H, T.I, T.J, T.X):
            return [
                str(number) if number != T.NULL[t] or t == T.X else "null" for number in a.tolist()
            ]
        if t in (T.E, T.F):
            return [self.number(t, number) for number in a.tolist()]
        texts = raw_texts(t, a, self.digits)
        if t in (T.P, T.D, T.M, T.Z):
            texts = [text.replace(".", "-", 1 if t == T.M else 2) for text in texts]
        return [quote(text) for text in texts]

    def number(self, t: int, v: float) -> str:
        if v != v:
            return "null"
        if v in (T.INF, -T.INF):
            return "null" if self.null_inf else "inf" if v > 0 else "-inf"
        return raw_text(t, v, self.digits)

    def table(self, t: Table) -> str:
        names = [quote(name) for name in t.names]
        columns = [self.items(column) for column in t.cols]
        rows = zip(*columns, strict=True)
        return "[" + ",".join(self.object(names, row) for row in rows) + "]"

    def items(self, x: ListValue) -> list[str]:
        """The JSON of each item of a list."""
        if x.__class__ is Vec and x.t not in (T.C, T.ENUM):
            return self.words(x.t, x.a)
        return [self.write(item) for item in x.items]

    def dict(self, d: Dict) -> str:
        if d.keyed:
            k, v = d.tables
            return self.table(Table(k.names + v.names, k.cols + v.cols))
        keys = [key_text(item, self.digits) for item in d.k.items]
        return self.object([quote(key) for key in keys], self.items(d.v))

    @staticmethod
    def object(keys: list[str], values: Iterable[str]) -> str:
        return (
            "{" + ",".join(f"{key}:{value}" for key, value in zip(keys, values, strict=True)) + "}"
        )


def key_text(k: Value, digits: int) -> str:
    """A dictionary's key as the name of a JSON member."""
    if k.__class__ is Vec and k.t == T.C:
        return k.a.tobytes().decode("utf-8", "surrogateescape")
    text = atom_string(k, digits) if atom_t(k) else None
    return s1_text(k, digits) if text is None else text


_QUOTE = {i: f"\\u{i:04x}" for i in range(32)} | {
    10: "\\n",
    13: "\\r",
    9: "\\t",
    34: '\\"',
    92: "\\\\",
}


def quote(s: str) -> str:
    """A JSON string."""
    return f'"{s.translate(_QUOTE)}"'


# ------------------------------------------------------------------ reading


# a string, to be left unchanged, or a word that .j.j writes for a number that JSON does not have
_WORDS = re.compile(r'"(?:[^"\\]|\\.)*"|\b(?:inf|nan)\b')
_NUMBERS = {"inf": "Infinity", "nan": "NaN"}


def _word(found: re.Match[str]) -> str:
    return _NUMBERS.get(found[0], found[0])


def read(text: str) -> Value:
    """The q value of JSON text: numbers become floats, strings strings, objects dictionaries with symbol keys."""
    parsed: Any = None
    problem = ""
    try:
        parsed = json.loads(
            _WORDS.sub(_word, text) if "inf" in text or "nan" in text else text, parse_int=float
        )
    except ValueError as e:
        problem = str(e).split(":")[0]
    if problem:
        raise QError(f"json: {problem.lower()}")
    return from_json(parsed)


def from_json(x: Any) -> Value:
    """The q value of decoded JSON."""
    return _value(x, {})


def _value(x: Any, known: dict[tuple[str, ...], Vec]) -> Value:
    """The same; objects with equal names share one vector of names."""
    kind = x.__class__
    if kind is str:
        return string(x)
    if kind is float or kind is bool:
        return x
    if kind is dict:
        names = tuple(x)
        keys = known.get(names)
        if keys is None:
            keys = known[names] = sym_vec(names)
        return Dict(keys, collapse([_value(value, known) for value in x.values()]))
    if kind is list:
        return _list(x, known)
    return T.NAN if x is None else x


def _list(x: list[Any], known: dict[tuple[str, ...], Vec]) -> ListValue:
    if x and all(v.__class__ is float for v in x):
        return floats(x)
    if x and all(v.__class__ is str for v in x):
        return strings_of([v.encode("utf-8", "surrogateescape") for v in x])
    if x and x[0].__class__ is dict and x[0]:
        names = tuple(x[0])
        if all(v.__class__ is dict and tuple(v) == names for v in x):
            return Table(list(names), [_list([v[name] for v in x], known) for name in names])
    return collapse([_value(v, known) for v in x])
