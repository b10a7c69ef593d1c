"""Vectorized verbs for lists of strings: the text part of verb_at_once.py."""

from __future__ import annotations

import numpy as np

from kshell.lang.each.verb_at_once import one, prim, two
from kshell.lang.tables.flat_items import Part, part, places
from kshell.lang.verbs import strings
from kshell.store.fields import no_collection
from kshell.values.base import types as T
from kshell.values.base.core import Flat, List, Value, Vec, atom_t, flat_list
from kshell.values.items.rows import Rows, string_list, strings_of


def _deep(name: str) -> None:
    """A verb that recurses to strings itself."""

    @one(name)
    def run(p: Part) -> Value | None:
        fn = prim(name, 1)
        return None if p.m == -1 or p.t != T.C or fn is None else fn(p.value())


for _name in ("trim", "ltrim", "rtrim", "lower", "upper"):
    _deep(_name)


@two("like")
def _like(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    fn, p = prim("like", 2), part(x) if mx else None
    if (
        my
        or fn is None
        or p is None
        or not (p.t == T.S if p.m == -1 else p.t == T.C)
        or not _is_text(y)
    ):
        return None
    return fn(p.value(), y)


def _is_text(x: Value) -> bool:
    return (x.__class__ is Vec and x.t == T.C) or atom_t(x) == T.C


@two("vs")
def _vs(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    """Split strings at a character: lists whose strings are not created until needed."""
    p = part(y) if my and not mx and atom_t(x) == T.C else None
    if p is None or p.t != T.C or p.m == -1:
        return None
    hit = p.a == x.v
    positions, ends = np.flatnonzero(hit), p.starts + p.sizes
    before = np.searchsorted(
        positions, ends
    )  # the number of separators up to the end of each string
    last = before + np.arange(n)
    inner = np.empty(
        len(positions) + n, np.int64
    )  # where each piece ends among the other characters
    some = np.ones(len(inner), np.bool_)
    some[last] = False
    inner[some] = positions - np.arange(len(positions))
    inner[last] = ends = ends - before
    a, starts = p.a[~hit], np.concatenate([[0], ends[:-1]])
    inner -= np.repeat(starts, np.diff(last, prepend=-1))
    first = np.concatenate([[0], last[:-1] + 1])
    spans = zip(starts.tolist(), ends.tolist(), first.tolist(), (last + 1).tolist(), strict=True)
    with no_collection():
        return List([flat_list(T.C, a[i:j], inner[k:m]) for i, j, k, m in spans])


def _joined(mark: bytes, flats: list[Flat]) -> Value:
    """Join each row of strings with a separator."""
    parts = [flat.ends for flat in flats]
    sizes, counts = np.concatenate(parts), np.array(list(map(len, parts)))
    last = np.cumsum(counts) - 1
    lengths = sizes[last]
    sizes = np.diff(sizes, prepend=0)
    sizes[last[:-1] + 1] += lengths[:-1]  # offsets restart in each row
    marks = np.arange(len(sizes)) - np.repeat(
        np.arange(len(flats)), counts
    )  # the number of characters before each string
    ends = np.cumsum(sizes) + marks * len(mark)
    out = np.empty(int(ends[-1]), np.uint8)
    out[places(ends - sizes, sizes)] = np.concatenate(
        [flat.a[:length] for flat, length in zip(flats, lengths.tolist(), strict=True)]
    )
    inner = np.delete(ends, last)
    for k, c in enumerate(mark):
        out[inner + k] = c
    return string_list(out, np.diff(ends[last], prepend=0))


@two("sv")
def _sv(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    """Join lists of strings with a separator."""
    if mx or not _is_text(x) or y.__class__ is not List:
        return None
    out: list[bytes] = []
    mark = strings.bytes_of(x)
    flats = [i.flat if i.__class__ is List else None for i in y.items]
    if all(flat is not None and flat.t == T.C for flat in flats):
        return _joined(mark, flats)  # type: ignore[arg-type]
    for item in y.items:
        words = item.items if isinstance(item, List) else None
        if words is None or any(i.__class__ is not Vec or i.t != T.C for i in words):
            return None
        out.append(mark.join([i.a.tobytes() for i in words]))
    return strings_of(out)


def replaced(x: Value, old: Value, new: Value) -> Value | None:
    """`ssr[;old;new] each x`; text without wildcards is replaced in all strings at once, with a separator after
    each."""
    p = part(x)
    if p is None or p.t != T.C or p.m == -1:
        return None
    work, plain = strings.replacer(Vec(T.C, np.empty(0, np.uint8)), old, new)
    raw = p.a.tobytes()
    mark = (
        next((mark for mark in _MARKS if mark not in raw and mark not in plain), None)
        if plain
        else None
    )
    if mark is None:
        return strings_of(list(map(work, Rows(raw, p.starts, p.sizes, p.a).items())))
    done = np.frombuffer(work(np.insert(p.a, p.starts + p.sizes, mark).tobytes()), np.uint8)
    here = done == mark
    ends = np.flatnonzero(here) - np.arange(p.n)
    return string_list(done[~here], np.diff(ends, prepend=0))


_MARKS = b"\n\0\1\2\xff"
