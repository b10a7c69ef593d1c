"""Vectorized verbs for lists of strings: the text part of verb_at_once.py."""

from __future__ import annotations

from itertools import chain

import numpy as np

from kshell.lang.each.verb_at_once import one, prim, two
from kshell.lang.tables.flat_items import Part, part, places, rows
from kshell.lang.verbs import strings
from kshell.store.fields import no_collection
from kshell.values.base import types as T
from kshell.values.base.core import Flat, List, Value, Vec, atom_t, flat_list, raw
from kshell.values.items.rows import Rows, string_list, strings_of


def _deep(name: str) -> None:
    """A verb that recurses to strings itself."""

    @one(name)
    def run(p: Part) -> Value | None:
        function = prim(name, 1)
        return None if p.m == -1 or p.t != T.C or function is None else function(p.value())


for _name in ("trim", "ltrim", "rtrim", "lower", "upper"):
    _deep(_name)


@two("like")
def _like(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    function, layout = prim("like", 2), part(x) if mx else None
    if (
        my
        or function is None
        or layout is None
        or not (layout.t == T.S if layout.m == -1 else layout.t == T.C)
        or not _is_text(y)
    ):
        return None
    return function(layout.value(), y)


def _is_text(x: Value) -> bool:
    return (x.__class__ is Vec and x.t == T.C) or atom_t(x) == T.C


@two("vs")
def _vs(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    """Split strings at a character: lists whose strings are not created until needed."""
    layout = part(y) if my and not mx and atom_t(x) == T.C else None
    if layout is None or layout.t != T.C or layout.m == -1:
        return None
    is_mark = layout.a == raw(x)
    positions, ends = np.flatnonzero(is_mark), layout.starts + layout.sizes
    # the number of separators up to the end of each string
    before = np.searchsorted(positions, ends)
    final = before + np.arange(n)
    # where each piece ends among the other characters
    piece_ends = np.empty(len(positions) + n, np.int64)
    is_inner = np.ones(len(piece_ends), np.bool_)
    is_inner[final] = False
    piece_ends[is_inner] = positions - np.arange(len(positions))
    piece_ends[final] = ends = ends - before
    characters, starts = layout.a[~is_mark], np.concatenate([[0], ends[:-1]])
    piece_ends -= np.repeat(starts, np.diff(final, prepend=-1))
    leading = np.concatenate([[0], final[:-1] + 1])
    spans = zip(starts.tolist(), ends.tolist(), leading.tolist(), (final + 1).tolist(), strict=True)
    with no_collection():
        return List(
            [
                flat_list(T.C, characters[start:end], piece_ends[from_piece:to_piece])
                for start, end, from_piece, to_piece in spans
            ]
        )


def _joined(mark: bytes, flats: list[Flat]) -> Value:
    """Join each row of strings with a separator."""
    row_ends = [flat.ends for flat in flats]
    sizes, counts = np.concatenate(row_ends), np.array(list(map(len, row_ends)))
    final = np.cumsum(counts) - 1
    lengths = sizes[final]
    sizes = np.diff(sizes, prepend=0)
    sizes[final[:-1] + 1] += lengths[:-1]  # offsets restart in each row
    # the number of characters before each string
    marks = np.arange(len(sizes)) - np.repeat(np.arange(len(flats)), counts)
    ends = np.cumsum(sizes) + marks * len(mark)
    characters = np.empty(int(ends[-1]), np.uint8)
    characters[places(ends - sizes, sizes)] = np.concatenate(
        [flat.a[:length] for flat, length in zip(flats, lengths.tolist(), strict=True)]
    )
    mark_starts = np.delete(ends, final)
    for offset, character in enumerate(mark):
        characters[mark_starts + offset] = character
    return string_list(characters, np.diff(ends[final], prepend=0))


@two("sv")
def _sv(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    """Join lists of strings with a separator."""
    if mx or not _is_text(x) or y.__class__ is not List:
        return None
    texts: list[bytes] = []
    mark = strings.bytes_of(x)
    lists = [item.flat for item in y.items if item.__class__ is List]
    flats = [flat for flat in lists if flat is not None and flat.t == T.C]
    if len(flats) == len(y):
        return _joined(mark, flats)
    for item in y.items:
        if not isinstance(item, List):
            return None
        words = [item.a.tobytes() for item in item.items if item.__class__ is Vec and item.t == T.C]
        if len(words) < len(item):
            return None
        texts.append(mark.join(words))
    return strings_of(texts)


@two("ss")
def _ss(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    """Where a pattern is in each string."""
    layout = part(x) if mx and not my and _is_text(y) else None
    if layout is None or layout.t != T.C or layout.m == -1:
        return None
    search, text = strings.search_pattern(_NO_TEXT, y), layout.a.tobytes()
    pattern = strings.bytes_of(y)
    mark = _mark_for(text + pattern) if strings.is_plain(pattern) else None
    if mark is None:
        each = Rows(text, layout.starts, layout.sizes, layout.a).items()
        found = [[match.start() for match in search.finditer(item)] for item in each]
        counts = np.fromiter(map(len, found), np.int64, n)
        positions = np.fromiter(chain.from_iterable(found), np.int64, int(counts.sum()))
    else:
        matches = search.finditer(_marked(layout, mark).tobytes())
        positions = np.fromiter([match.start() for match in matches], np.int64)
        # a string and its mark end before the next one starts
        following = layout.starts + layout.sizes + np.arange(1, n + 1)
        item = following.searchsorted(positions, "right")
        counts = np.bincount(item, minlength=n)
        positions -= (layout.starts + np.arange(n))[item]
    return rows(T.J, positions, n, None, np.cumsum(counts))


_NO_TEXT = Vec(T.C, np.empty(0, np.uint8))


def replaced(x: Value, old: Value, new: Value) -> Value | None:
    """`ssr[;old;new] each x`; text without wildcards is replaced in all strings at once, with a separator after
    each."""
    layout = part(x)
    if layout is None or layout.t != T.C or layout.m == -1:
        return None
    replace, plain = strings.replacer(_NO_TEXT, old, new)
    text = layout.a.tobytes()
    mark = _mark_for(text + plain) if plain else None
    if mark is None:
        return strings_of(
            list(map(replace, Rows(text, layout.starts, layout.sizes, layout.a).items()))
        )
    characters = np.frombuffer(replace(_marked(layout, mark).tobytes()), np.uint8)
    is_mark = characters == mark
    ends = np.flatnonzero(is_mark) - np.arange(layout.n)
    return string_list(characters[~is_mark], np.diff(ends, prepend=0))


_MARKS = b"\n\0\1\2\xff"


def _mark_for(text: bytes) -> int | None:
    """A byte that a text does not have, to be put between strings; None if it has all of them."""
    return next((mark for mark in _MARKS if mark not in text), None)


def _marked(layout: Part, mark: int) -> np.ndarray:
    """The characters of strings with a mark after each string."""
    return np.insert(layout.a, layout.starts + layout.sizes, mark)
