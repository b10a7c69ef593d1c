"""Text: like, ss, ssr, upper, lower, trim, md5."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.build import collapse, longs, vec
from kshell.values.base.core import Atom, Dict, EnumAtom, List, Nd, Table, Value, Vec, atom_t
from kshell.values.base.narrow import list_value, vec_value
from kshell.values.base.symbols import Sym, sym, sym_at
from kshell.values.engine.apply import apply1, is_function
from kshell.values.engine.cast import is_null
from kshell.values.items.pick import unenum
from kshell.values.items.rows import string_list, string_rows, strings_of

# ------------------------------------------------------------------ patterns


@lru_cache(512)
def pattern(text: bytes, stars: bool = True) -> re.Pattern[bytes]:
    """The regular expression for a q pattern: ? for any character, * for any text, [..] and [^..] for sets."""
    pieces: list[bytes] = []
    index, count = 0, len(text)
    while index < count:
        char = text[index : index + 1]
        index += 1
        if char == b"?":
            pieces.append(b".")
        elif char == b"*" and stars:
            pieces.append(b".*")
        elif char == b"[":
            closing = text.find(b"]", index + (2 if text[index : index + 2] == b"^]" else 1))
            if closing < 0:
                raise QError("length")
            pieces.append(_set(text[index:closing]))
            index = closing + 1
        else:
            pieces.append(re.escape(char))
    return re.compile(b"".join(pieces), re.DOTALL)


def _set(body: bytes) -> bytes:
    """The inside of [..]: a-z ranges, ^ first for negation; no other character is special."""
    negative = len(body) > 1 and body[:1] == b"^"
    body = body[1:] if negative else body
    escaped, index = b"", 0
    while index < len(body):
        if (
            index + 2 < len(body)
            and body[index + 1 : index + 2] == b"-"
            and body[index] <= body[index + 2]
        ):
            escaped += (
                re.escape(body[index : index + 1]) + b"-" + re.escape(body[index + 2 : index + 3])
            )
            index += 3
        else:
            escaped += re.escape(body[index : index + 1])
            index += 1
    return (b"[^" if negative else b"[") + escaped + b"]"


def bytes_of(x: Value) -> bytes:
    """The bytes of a string, char or symbol; 'type for anything else."""
    if x.__class__ is Vec and x.t == T.C:
        return x.a.tobytes()
    if x.__class__ is Sym:
        return x.s.encode("utf-8", "surrogateescape")
    if x.__class__ is Atom and x.t == T.C:
        return bytes((x.v,))
    if isinstance(x, List) and not len(x):
        return b""
    raise QError("type")


def of_symbols(codes: np.ndarray, fn: Callable[[Sym], Any], dtype: type[np.generic]) -> np.ndarray:
    """fn of each symbol, given as codes; computed once per distinct symbol."""
    if not codes.size:
        return np.empty(codes.shape, dtype)
    table = np.zeros(int(codes.max()) + 1, np.bool_)
    table[codes] = True
    distinct = np.flatnonzero(table)
    values = np.empty(len(table), dtype)
    values[distinct] = [fn(sym_at(code)) for code in distinct.tolist()]
    return values[codes]


def chars(data: bytes) -> Vec:
    """The string of some bytes."""
    return Vec(T.C, np.frombuffer(data, np.uint8))


@verb("like")
def like(x: Value, y: Value) -> Value:
    """Whether text x matches pattern y, with ? * [a-z] [^a-z].

    q)`quick`brown like "*[ck]"
    10b
    q)"hello" like "h?llo"
    1b
    """
    text = bytes_of(y)
    if _STARS.search(_SETS.sub(b"?", text)):
        raise QError("nyi")
    result = _like_literal(x, text)
    return _like(x, matcher(text)) if result is None else result


def _like_literal(x: Value, text: bytes) -> Vec | None:
    """`like` for a list of strings held as one array and a pattern without ? or sets: compares the characters of all
    strings at once. None for anything else."""
    inner = text.strip(b"*")
    flat = x.flat if x.__class__ is List else None
    if (
        flat is None
        or flat.t != T.C
        or not 0 < len(inner) <= _SHORT
        or re.search(rb"[*?\[]", inner)
    ):
        return None
    before, after = text.startswith(b"*"), text.endswith(b"*")
    characters, ends, sizes, length = (
        flat.a[: int(flat.ends[-1])],
        flat.ends,
        flat.sizes,
        len(inner),
    )
    if before and after:
        hits = np.ones(max(len(characters) - length + 1, 0), np.bool_)
        for offset, char in enumerate(inner):
            hits &= characters[offset : len(hits) + offset] == char
        positions = np.flatnonzero(hits)
        row_numbers = np.searchsorted(ends, positions, "right")
        matches = np.zeros(len(ends), np.bool_)
        matches[row_numbers[positions + length <= ends[row_numbers]]] = True
        return Vec(T.B, matches)
    matches = sizes >= length if before or after else sizes == length
    candidates = np.flatnonzero(matches)
    starts = ends[candidates] - length if before else ends[candidates] - sizes[candidates]
    for offset, char in enumerate(inner):
        matches[candidates] &= characters[starts + offset] == char
    return Vec(T.B, matches)


_SHORT = 16  # up to this pattern length, comparing arrays is faster


def matcher(text: bytes) -> Callable[[bytes], Any]:
    """The test whether a string matches a pattern; it returns true, or a match."""
    inner = text.strip(b"*")
    if not inner or re.search(rb"[*?\[]", inner):
        return pattern(text).fullmatch
    before, after = text.startswith(b"*"), text.endswith(b"*")
    if before and after:
        return lambda s: inner in s
    if before:
        return lambda s: s.endswith(inner)
    return (lambda s: s.startswith(inner)) if after else (lambda s: s == inner)


_SETS = re.compile(rb"\[\^?.[^]]*\]", re.DOTALL)
# more than q supports: one star, or a second one at the end
_STARS = re.compile(rb"\*\*|\*.*\*.", re.DOTALL)


def _like(x: Value, test: Callable[[bytes], Any]) -> Value:
    if x.__class__ is Vec and x.t in (T.S, T.ENUM):
        named = vec_value(unenum(x))
        return Vec(T.B, of_symbols(named.a, lambda s: bool(test(bytes_of(s))), np.bool_))
    if x.__class__ is EnumAtom:
        return _like(unenum(x), test)
    if x.__class__ is Dict:
        return Dict(x.k, list_value(_like(x.v, test)))
    if isinstance(x, List) and len(x):
        rows = string_rows(x)
        if rows is not None:
            return Vec(T.B, np.fromiter(map(test, rows.items()), np.bool_, len(x)))
        if any(
            item.__class__ is Sym or (item.__class__ is Vec and item.t != T.C) for item in x.items
        ):
            raise QError("type")  # only strings are tested one by one
        return collapse([_like(item, test) for item in x.items])
    if isinstance(x, List):
        return Vec(T.B, np.zeros(0, np.bool_))
    return bool(test(bytes_of(x)))


@verb("ss")
def ss(x: Value, y: Value) -> Value:
    """The positions of pattern y (with ? and [..]) in string x.

    q)"toronto ontario" ss "ont"
    3 8
    """
    return longs([match.start() for match in search_pattern(x, y).finditer(bytes_of(x))])


def search_pattern(x: Value, y: Value) -> re.Pattern[bytes]:
    """The pattern y of a search in x."""
    text = bytes_of(y)
    if not text or b"*" in re.sub(rb"\[\^?.[^]]*\]", b"", text):
        raise QError("length")
    if x.__class__ is Sym:
        raise QError("type")
    return pattern(text, False)


@verb("ssr", "ssr[x;pattern;by]")
def ssr(x: Value, y: Value, z: Value) -> Value:
    """String x with each match of pattern y replaced by z; a function z is applied to the match.

    q)ssr["toronto ontario";"ont";"x"]
    "torxo xario"
    q)ssr["toronto ontario";"t?r";upper]
    "TORonto onTARio"
    """
    if x.__class__ is Atom:
        raise QError("type")
    return chars(replacer(x, y, z)[0](bytes_of(x)))


def replacer(x: Value, y: Value, z: Value) -> tuple[Callable[[bytes], bytes], bytes]:
    """The function that replaces pattern y by z in strings like x; if one plain text replaces another, also the
    characters of both."""
    searcher = search_pattern(x, y)
    if is_function(z):
        return lambda data: searcher.sub(lambda m: bytes_of(apply1(z, chars(m.group()))), data), b""
    replacement = bytes_of(z)
    text = bytes_of(y)
    if is_plain(text):
        return lambda data: data.replace(text, replacement), text + replacement
    return lambda data: searcher.sub(lambda _: replacement, data), b""


def is_plain(pattern: bytes) -> bool:
    """Does a pattern of `ss` stand for itself, without wildcards?"""
    return b"?" not in pattern and b"[" not in pattern


# ------------------------------------------------------------------ case


@verb("lower")
def lower(x: Value) -> Value:
    """Strings and symbols (or lists of them) in lower case; only A to Z change.

    q)lower "Q Language"
    "q language"
    """
    return _recase(x, bytes.lower)


@verb("upper")
def upper(x: Value) -> Value:
    """Strings and symbols (or lists of them) in upper case; only a to z change.

    q)upper `ibm`msft
    `IBM`MSFT
    """
    return _recase(x, bytes.upper)


def _recase(x: Value, fn: Callable[[bytes], bytes]) -> Value:
    if x.__class__ is Vec or x.__class__ is Nd:
        if x.t == T.C:
            array = np.frombuffer(fn(x.a.tobytes()), np.uint8).reshape(x.a.shape)
            return Vec(T.C, array) if x.__class__ is Vec else Nd(T.C, array)
        if x.t == T.ENUM:
            return _recase(unenum(x), fn)
        if x.t == T.S:
            codes = of_symbols(x.a, lambda s: _recase_symbol(s, fn).v, np.int32)
            return Vec(T.S, codes) if x.__class__ is Vec else Nd(T.S, codes)
        raise QError("type")
    if x.__class__ is Sym:
        return _recase_symbol(x, fn)
    if x.__class__ is Atom and x.t == T.C:
        return Atom(T.C, fn(bytes((x.v,)))[0])
    if x.__class__ is List:
        rows = string_rows(x)
        if rows is not None:
            return string_list(np.frombuffer(fn(rows.raw), np.uint8), rows.sizes)
        return collapse([_recase(item, fn) for item in x.items])
    if x.__class__ is Dict:
        return Dict(x.k, list_value(_recase(x.v, fn)))
    if x.__class__ is Table:
        return Table(x.names, [list_value(_recase(column, fn)) for column in x.cols])
    raise QError("type")


def _recase_symbol(x: Sym, fn: Callable[[bytes], bytes]) -> Sym:
    return sym(fn(x.s.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape"))


# ------------------------------------------------------------------ trim


@verb("trim")
def trim(x: Value) -> Value:
    """x without leading and trailing blanks (or nulls of its type).

    q)trim "  ab c "
    "ab c"
    """
    return _trim(x, True, True)


@verb("ltrim")
def ltrim(x: Value) -> Value:
    """x without leading blanks (or nulls of its type).

    q)ltrim "  ab c "
    "ab c "
    """
    return _trim(x, True, False)


@verb("rtrim")
def rtrim(x: Value) -> Value:
    """x without trailing blanks (or nulls of its type).

    q)rtrim "  ab c "
    "  ab c"
    """
    return _trim(x, False, True)


def _trim(x: Value, left: bool, right: bool) -> Value:
    if x.__class__ is Vec:
        present = np.flatnonzero(~is_null(x.a, x.t))
        begin = int(present[0]) if left and len(present) else len(x.a) if left else 0
        stop = int(present[-1]) + 1 if right and len(present) else 0 if right else len(x.a)
        return Vec(x.t, x.a[begin : max(begin, stop)], "", x.dom)
    if isinstance(x, List):
        rows = string_rows(x)
        if rows is None:
            return collapse([_trim(item, left, right) for item in x.items])
        if rows.stripped() is rows:
            return x
        items = rows.items()
        return strings_of(
            [item.strip(b" ") for item in items]
            if left and right
            else [item.lstrip(b" ") for item in items]
            if left
            else [item.rstrip(b" ") for item in items]
        )
    if x.__class__ is Dict:
        return Dict(x.k, list_value(_trim(x.v, left, right)))
    if x.__class__ is Table:
        return Table(x.names, [list_value(_trim(column, left, right)) for column in x.cols])
    if atom_t(x):
        return x
    raise QError("type")


@verb("md5")
def md5(x: Value) -> Value:
    """The MD5 hash of a string, 16 bytes.

    q)md5 "abc"
    0x900150983cd24fb0d6963f7d28e17f72
    """
    import hashlib

    if x.__class__ is Sym:
        raise QError("type")
    return vec(T.X, list(hashlib.md5(bytes_of(x), usedforsecurity=False).digest()))
