"""Tok: parse text to values, as in `"J"$"12"`; single strings one at a time, lists as whole columns."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.lang.verbs import when
from kshell.lang.verbs.tok_columns import FORMS, Form
from kshell.values.base import types as T
from kshell.values.base.build import collapse, empty
from kshell.values.base.core import Atom, Dict, List, ListValue, Nd, Table, Value, Vec, atom
from kshell.values.base.narrow import list_value
from kshell.values.base.symbols import EMPTY_SYM, sym, sym_codes
from kshell.values.engine.dispatch import Array
from kshell.values.items.rows import Rows, rows_of, string_rows

_FEW = 8  # longer lists are parsed as columns
_MANY = 256  # longer lists are checked for repeated strings
_TRUE = np.zeros(256, np.bool_)
_TRUE[list(b"txyTXY1")] = True
_INT = re.compile(rb"[+-]?\d+\Z")
_FLOAT = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z")
_HEX = re.compile(rb"(0x)?[0-9a-fA-F]{1,2}\Z")
_GUID = re.compile(rb"[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}\Z")
_IP = re.compile(rb"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\Z")


def tok_text(y: Vec) -> str:
    """The text of a string without surrounding blanks."""
    return y.a.tobytes().strip(b" ").decode("utf-8", "surrogateescape")


def tok(t: int, y: Value) -> Value:
    """Parse the strings in y as type t; invalid text gives null."""
    if y.__class__ is Vec and y.t == T.C:
        return tok_bytes(t, y.a.tobytes())
    if y.__class__ is Atom and y.t == T.C:
        return tok_bytes(t, bytes([y.v]))
    if y.__class__ is List:
        return _tok_list(t, y)
    if y.__class__ is Nd and y.t == T.C and y.a.ndim == 2:
        return _tok_list(t, y)
    if y.__class__ is Nd:
        return collapse([tok(t, item) for item in y.items])
    if y.__class__ is Dict:
        return Dict(y.k, list_value(tok(t, y.v)))
    if y.__class__ is Table:
        return Table(y.names, [list_value(tok(t, column)) for column in y.cols])
    if t == T.S and (getattr(y, "t", 0) == T.S):
        return y
    raise QError("type")


def _tok_list(t: int, x: List) -> ListValue:
    if not len(x):
        return empty(t)
    rows = string_rows(x)
    return collapse([tok(t, item) for item in x.items]) if rows is None else tok_rows(t, rows)


def tok_bytes(t: int, s: bytes) -> Value:
    """One text parsed as type t: an atom (for "C", the string itself unless it is a single character)."""
    if t == T.C:
        return Atom(T.C, s[0]) if len(s) == 1 else Vec(T.C, np.frombuffer(s, np.uint8))
    parsed = _PARSERS[t](s.strip(b" "))
    return parsed if t == T.S else atom(t, T.NULL[t] if parsed is None else parsed)


def tok_strings(t: int, items: list[bytes]) -> ListValue:
    """A list of texts parsed as type t: a vector."""
    return (
        tok_rows(t, rows_of(items))
        if t != T.C
        else collapse([tok_bytes(t, item) for item in items])
    )


def tok_rows(t: int, rows: Rows) -> ListValue:
    """Parse texts as type t into a vector; for "C", where some may be strings, possibly a list."""
    if t == T.C:
        return collapse([tok_bytes(t, text) for text in rows.items()])
    return tok_vec(t, rows)


def tok_vec(t: int, rows: Rows) -> Vec:
    """Parse texts as a type t other than "C"."""
    if t == T.S:
        return Vec(t, _symbols(rows))
    form = FORMS.get(t) if len(rows) > _FEW else None
    if _padded(rows, form):
        rows = rows.stripped()
    if t == T.B:
        return Vec(t, (rows.sizes == 1) & _TRUE[rows.first()])
    if form is not None:
        values, unparsed = _by_columns(t, rows, form)
    else:
        values, unparsed = _nulls(t, len(rows)), np.flatnonzero(rows.sizes)
    if len(unparsed):
        remaining = rows if len(unparsed) == len(rows) else rows.at(unparsed)
        stripped = remaining.stripped()
        values[unparsed] = (
            _one_by_one(t, remaining) if stripped is remaining else tok_vec(t, stripped).a
        )
    return Vec(t, values)


def _padded(rows: Rows, form: Form | None) -> bool:
    """May texts have surrounding blanks? For types with a fixed form, checking a few is enough: a blank does not fit
    the form."""
    if form is None:
        return bool(len(rows)) and int(rows.sizes.max()) > 1
    sample = map(rows.item, range(0, len(rows), len(rows) // 8))
    return any(text[:1] == b" " or text[-1:] == b" " for text in sample)


def _nulls(t: int, n: int) -> Array:
    return np.zeros(n, T.DTYPE[t]) if t == T.G else np.full(n, T.NULL[t], T.DTYPE[t])


def _by_columns(t: int, rows: Rows, form: Form) -> tuple[Array, Array]:
    """The values of texts in the usual layout, nulls for the others, and the positions of those."""
    fitting = rows.sizes <= form.widest
    whole = bool(fitting.all())
    positions = np.arange(0) if whole else np.flatnonzero(fitting)
    fitting_rows = rows if whole else rows.at(positions)
    matrix = fitting_rows.matrix(form.right) if len(fitting_rows) else None
    if matrix is None:
        return _nulls(t, len(rows)), np.flatnonzero(rows.sizes)
    parsed, valid = form.parse(t, matrix, fitting_rows)
    if whole and valid.all():
        return parsed.astype(T.DTYPE[t], copy=False), positions
    values, parsed_at = _nulls(t, len(rows)), np.flatnonzero(valid)
    values[parsed_at if whole else positions[parsed_at]] = parsed[parsed_at]
    unparsed = ~fitting
    unparsed[fitting] = ~valid & (fitting_rows.sizes > 0)
    return values, np.flatnonzero(unparsed)


def _one_by_one(t: int, rows: Rows) -> Array:
    """The values of non-empty texts; in a long list, each distinct text is parsed once."""
    distinct = rows.ids() if len(rows) > _MANY and _repeats(rows) else None
    parse, null = _PARSERS[t], T.NULL[t]
    parsed = [parse(text) for text in (rows if distinct is None else rows.at(distinct[0])).items()]
    filled = [null if value is None else value for value in parsed]
    values: Array = (
        np.frombuffer(b"".join(filled), T.DTYPE[t]) if t == T.G else np.array(filled, T.DTYPE[t])
    )
    return values if distinct is None else values[distinct[1]]


def _repeats(rows: Rows) -> bool:
    """Are most texts duplicates, judging from a sample of a few hundred?"""
    sample = rows.at(np.arange(0, len(rows), max(len(rows) // _MANY, 1)))
    return len(set(sample.items())) * 4 < len(sample)


class Symbols:
    """Symbols from texts that arrive in parts. Texts of up to 16 characters are cached in hash tables, keyed by their
    characters as integers; the tables are abandoned if most texts are new."""

    def __init__(self) -> None:
        self.tables = _Slots(), _Slots()  # entries that collide in the first are in the second
        self.known = self.left = False
        self.raw = b""

    def of(self, rows: Rows) -> Array:
        """The symbol codes of texts."""
        if rows.raw is not self.raw:
            self.raw = rows.raw
            self.left |= b"\0" in self.raw  # which a shorter text would appear to be padded with
        if not self.known and len(rows) > 2 * _HEAD:
            self.of(rows.at(slice(_HEAD)))  # most of the frequent ones, before all are looked up
        words = None if self.left else rows.words(2)
        if words is None:
            return _symbols(rows)
        hashed = words[0] * _SPREAD
        for word in words[1:]:
            hashed ^= word
            hashed *= _SPREAD
        hashed ^= hashed >> 29
        hashed *= _SPREAD
        slots = hashed >> 48 & _SLOTS - 1, hashed >> 32 & _SLOTS - 1
        codes, missing = self.tables[0].find(slots[0], words)
        remaining = np.flatnonzero(missing)
        if len(remaining):
            codes[remaining], missing = self.tables[1].find(
                slots[1][remaining], [word[remaining] for word in words]
            )
            if missing.any():
                remaining = remaining[missing]
                codes[remaining], count = self._learn(
                    rows.at(remaining),
                    [slot[remaining] for slot in slots],
                    [word[remaining] for word in words],
                )
                self.left = self.known and count * 2 > len(rows)
        self.known = True
        return codes

    def _learn(self, rows: Rows, slots: list[Array], words: list[Array]) -> tuple[Array, int]:
        """Codes of texts; one text per free slot of the first table is added to it. Also returns the number of symbol
        look-ups."""
        codes, remaining, count = np.empty(len(rows), np.int32), np.arange(len(rows)), 0
        for table, slot in zip(self.tables, slots, strict=True):
            candidates = (
                remaining[table.words[0].take(slot[remaining]) == 0]
                if table is self.tables[0]
                else remaining
            )
            count += table.put(
                slot[candidates], [word[candidates] for word in words], rows.at(candidates)
            )
            codes[remaining], missing = table.find(
                slot[remaining], [word[remaining] for word in words]
            )
            remaining = remaining[missing]
        codes[remaining] = _looked_up(rows.at(remaining))
        return codes, count + len(remaining)


class _Slots:
    """Hash table slots: the codes of texts, and the integers that hold their characters; initially those of the empty
    text."""

    def __init__(self) -> None:
        # and those of further characters, once there are any
        self.words = [np.zeros(_SLOTS, np.int64)]
        self.codes = np.full(_SLOTS, EMPTY_SYM.v, np.int32)

    def find(self, slot: Array, words: list[Array]) -> tuple[Array, Array]:
        """The codes of texts, and for which of them the slot holds another text."""
        differs: Array = self.words[0].take(slot) != words[0]
        for index in range(1, max(len(words), len(self.words))):
            stored = self.words[index].take(slot) if index < len(self.words) else 0
            differs |= stored != (words[index] if index < len(words) else 0)
        return self.codes.take(slot), differs

    def put(self, slot: Array, words: list[Array], rows: Rows) -> int:
        """Put texts into slots; of several for one slot, the last. Returns the number of slots used."""
        order = np.arange(len(slot), dtype=np.int32)
        self.codes[slot] = order
        winners = np.flatnonzero(self.codes.take(slot) == order)
        slot = slot[winners]
        self.codes[slot] = _looked_up(rows.at(winners))
        while len(self.words) < len(words):
            self.words.append(np.zeros(_SLOTS, np.int64))
        for index, stored in enumerate(self.words):
            stored[slot] = words[index][winners] if index < len(words) else 0
        return len(winners)


_SLOTS = 1 << 16
_HEAD = 1 << 11  # texts
_SPREAD = np.int64(-7046029254386353131)  # odd, of random bits


def _symbols(rows: Rows) -> Array:
    """Symbol codes of texts; each distinct text is looked up once."""
    distinct = rows.ids() if len(rows) > _FEW else None
    return (
        _looked_up(rows)
        if distinct is None or len(distinct[0]) * 2 > len(rows)
        else _looked_up(rows.at(distinct[0]))[distinct[1]]
    )


def _looked_up(rows: Rows) -> Array:
    """The same, looking up every text."""
    items = rows.stripped().items()
    joined = b"\n".join(items)
    if joined.count(b"\n") == len(items) - 1:  # decoding one joined text is faster than many
        return sym_codes(joined.decode("utf-8", "surrogateescape").split("\n"))
    return sym_codes([item.decode("utf-8", "surrogateescape") for item in items])


# ------------------------------------------------------------------ one text


def _integer(t: int) -> Callable[[bytes], int | None]:
    upper, lower = T.TYPE[t].inf, T.TYPE[t].null

    def parse(s: bytes) -> int | None:
        if _INT.match(s):
            number = int(s)
            return number if lower < number <= upper else None
        if s in (b"0W", b"-0W"):
            return upper if s == b"0W" else -upper
        if t == T.I and (match := _IP.match(s)) is not None:
            number = 0
            for group in match.groups():
                if int(group) > 255:
                    return None
                number = number << 8 | int(group)
            return number - (1 << 32) if number >> 31 else number
        return None

    return parse


def _floating(s: bytes) -> float | None:
    if _FLOAT.match(s):
        return float(s)
    return {b"0w": T.INF, b"-0w": -T.INF, b"0W": T.INF, b"-0W": -T.INF}.get(s)


def _boolean(s: bytes) -> bool:
    return len(s) == 1 and bool(_TRUE[s[0]])


def _byte(s: bytes) -> int | None:
    return int(s[-2:] if s[:2] == b"0x" else s, 16) if _HEX.match(s) and s != b"0x" else None


def _guid(s: bytes) -> bytes | None:
    return bytes.fromhex(s.replace(b"-", b"").decode()) if _GUID.match(s) else None


def _symbol(s: bytes) -> Any:
    return sym(s.decode("utf-8", "surrogateescape"))


# fmt: off  # a table
_PARSERS: dict[int, Callable[[bytes], Any]] = {
    T.B: _boolean,
    T.G: _guid,
    T.X: _byte,
    T.H: _integer(T.H),
    T.I: _integer(T.I),
    T.J: _integer(T.J),
    T.E: _floating,
    T.F: _floating,
    T.S: _symbol,
    T.P: when.timestamp,
    T.M: when.month,
    T.D: when.date,
    T.Z: when.datetime,
    T.N: when.timespan,
    T.U: when.minute,
    T.V: when.second,
    T.T: when.time,
}
# fmt: on


def _bounded(t: int, parse: Callable[[bytes], int | None]) -> Callable[[bytes], int | None]:
    """The parser, with null for values out of range."""
    lowest, highest = T.TYPE[t].null, T.TYPE[t].inf

    def run(s: bytes) -> int | None:
        number = parse(s)
        return number if number is not None and lowest <= number <= highest else None

    return run


for _t in (T.P, T.M, T.D, T.N, T.U, T.V, T.T):
    _PARSERS[_t] = _bounded(_t, _PARSERS[_t])
