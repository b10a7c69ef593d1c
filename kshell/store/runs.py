"""Many short things of kdb+'s binary form at once: symbols, and lists of vectors of one type such as strings.

Each has a form of its own in the bytes: a symbol ends in a zero byte, a vector has a head of six bytes. Both are found
and made for a whole list here, without a call for each item.
"""

from __future__ import annotations

import math
import struct
import threading
from collections.abc import Sequence

import numpy as np

from kshell.values.base import types as T
from kshell.values.base.core import Flat, List, Value, Vec
from kshell.values.base.symbols import EMPTY_SYM, SYMBOLS, sym_codes

HEAD = 6  # bytes: type, attribute, count
FEW = 16  # items of a list that are not worth it
MANY_HEADS = 2000  # vectors whose heads are worth a search of the bytes
WINDOW = 1 << 22  # bytes that are searched at a time
_count = struct.Struct("<i").unpack_from
_ENCODED: list[bytes] = []  # of each symbol, by code
WORD = 8  # bytes of symbols that are handled as numbers
MANY = 4096  # symbols for which that is worth it when they are written
MANY_READ = 10_000  # and when they are read
_BITS = 18  # of the hash table's size
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(WORD + 1)], np.uint64)


class _Padded:
    """The bytes of every symbol with the zero at its end, padded to a number of eight bytes, and how many they are; 0
    if they do not fit."""

    def __init__(self) -> None:
        self.words, self.sizes = np.zeros(1024, np.uint64), np.zeros(1024, np.uint8)
        self.known = 0
        self.lock = threading.Lock()

    def extend(self) -> None:
        """Take up the symbols that are new since the last time."""
        if self.known < len(SYMBOLS):
            with self.lock:
                self._extend(self.known)

    def _extend(self, known: int) -> None:
        """Take up the symbols from a code on. Other threads read meanwhile, up to those that are known: what they
        read stays as it is, also in the longer arrays."""
        added = SYMBOLS[known:]
        end = known + len(added)
        if end > len(self.words):
            more = max(end, 2 * len(self.words)) - len(self.words)
            self.words = np.concatenate([self.words, np.zeros(more, np.uint64)])
            self.sizes = np.concatenate([self.sizes, np.zeros(more, np.uint8)])
        texts = [symbol.s.encode("utf-8", "surrogateescape") + b"\0" for symbol in added]
        fitting = [text if len(text) <= WORD else b"" for text in texts]
        padded = b"".join([text.ljust(WORD, b"\0") for text in fitting])
        self.words[known:end] = np.frombuffer(padded, "<u8")
        self.sizes[known:end] = list(map(len, fitting))
        self.known = end


_PADDED = _Padded()


def _short_symbol_bytes(codes: np.ndarray) -> bytes | None:
    """Symbols as bytes, if all of them are short; else None."""
    _PADDED.extend()
    sizes = _PADDED.sizes[codes]
    least, most = int(sizes.min()), int(sizes.max())
    if not least:
        return None
    padded = _PADDED.words[codes].view(np.uint8).reshape(-1, WORD)[:, :most]
    if least == most:
        return padded.tobytes()
    return padded[np.arange(most, dtype=np.uint8) < sizes[:, None]].tobytes()


def symbol_bytes(codes: np.ndarray) -> bytes:
    """Symbols one after the other, each with a zero byte at its end."""
    if len(codes) >= MANY:
        encoded = _short_symbol_bytes(codes)
        if encoded is not None:
            return encoded
    if len(_ENCODED) < len(SYMBOLS):
        with _PADDED.lock:
            added = [symbol.s for symbol in SYMBOLS[len(_ENCODED) :]]
            _ENCODED.extend([text.encode("utf-8", "surrogateescape") + b"\0" for text in added])
    return b"".join(map(_ENCODED.__getitem__, codes.tolist()))


def _short_symbols(raw: bytes | bytearray, at: int, ends: np.ndarray) -> np.ndarray | None:
    """The codes of symbols that end before these places, counted from `at`, if all are short and many come more than
    once; else None."""
    sizes = np.diff(ends, prepend=-1) - 1
    if int(sizes.max()) > WORD:
        return None
    text = np.zeros(int(ends[-1]) + 1 + WORD, np.uint8)
    text[:-WORD] = np.frombuffer(raw, np.uint8, len(text) - WORD, at)
    words = np.ndarray(len(text) - WORD + 1, "<u8", text.data, strides=(1,))  # one at each byte
    keys = words[ends - sizes] & _MASKS[sizes]
    return _codes_of(keys) if _repeat(keys) else None


def _repeat(keys: np.ndarray) -> bool:
    """Are fewer than a quarter of the words different? Judged by a sample."""
    sample = keys[:: max(8, len(keys) >> 13)]
    distinct = len(keys) / 4
    return len(np.unique(sample)) < distinct * -math.expm1(-len(sample) / distinct)


def _codes_of(keys: np.ndarray) -> np.ndarray:
    """The codes of symbols whose bytes are these words. Those among the first and some of the others are found by a
    hash table, which is all where a few symbols are repeated."""
    sample = np.unique(np.concatenate([keys[:MANY], keys[:: 1 + len(keys) // MANY]]))
    words, codes = np.zeros(1 << _BITS, "<u8"), np.full(1 << _BITS, EMPTY_SYM.v, np.int32)
    places = _hashed(sample)
    words[places], codes[places] = sample, _named(sample)
    places = _hashed(keys)
    found = codes[places]
    missing = np.flatnonzero(words[places] != keys)
    if len(missing):
        rest, inverse = np.unique(keys[missing], return_inverse=True)
        found[missing] = _named(rest)[inverse]
    return found


def _hashed(keys: np.ndarray) -> np.ndarray:
    """A place in the hash table for each word."""
    return ((keys * _MULTIPLIER) >> np.uint64(64 - _BITS)).astype(np.intp)


def _named(keys: np.ndarray) -> np.ndarray:
    """The codes of the symbols whose bytes are these words, none of which comes twice."""
    data = keys.tobytes()
    texts = [data[place : place + WORD].rstrip(b"\0") for place in range(0, len(data), WORD)]
    return sym_codes([text.decode("utf-8", "surrogateescape") for text in texts])


def symbols_at(raw: bytes | bytearray, at: int, n: int) -> tuple[np.ndarray, int] | None:
    """The codes of n symbols that stand from a place on, and where they end; None if they are not all there."""
    window = 16 * n
    while True:
        zeros = np.flatnonzero(np.frombuffer(raw, np.uint8, min(window, len(raw) - at), at) == 0)
        if len(zeros) >= n:
            break
        if window >= len(raw) - at:
            return None
        window *= 4
    end = at + int(zeros[n - 1]) + 1 if n else at
    if n >= MANY_READ:
        codes = _short_symbols(raw, at, zeros[:n])
        if codes is not None:
            return codes, end
    names = raw[at : max(end - 1, at)].decode("utf-8", "surrogateescape").split("\0") if n else []
    return sym_codes(names), end


_LOOK = 400  # items that tell whether a list holds few vectors again and again


def flattened(x: List) -> Flat | None:
    """The items of a list one after the other, if they are vectors without attributes, all of one type whose items have
    one width; else None."""
    flat = x.flat
    if flat is not None:
        return flat if flat.t in T.DTYPE and flat.t not in (T.S, T.ENUM) else None
    items = x.items
    first = items[0] if len(items) >= FEW else None
    if first.__class__ is not Vec or first.t in (T.S, T.ENUM):
        return None
    qtype = first.t
    shared = _of_few(items, qtype)
    if shared is not None:
        return shared
    arrays = [
        item.a for item in items if item.__class__ is Vec and item.t == qtype and not item.attr
    ]
    if len(arrays) < len(items):
        return None
    return Flat(qtype, np.concatenate(arrays), np.cumsum([len(array) for array in arrays]))


def _of_few(items: Sequence[Value], qtype: int) -> Flat | None:
    """As `flattened`, for a list that holds few vectors again and again; else None."""
    known = {id(item): item for item in items[:_LOOK]}
    arrays = {
        key: item.a
        for key, item in known.items()
        if item.__class__ is Vec and item.t == qtype and not item.attr
    }
    if len(arrays) < len(known) or len(known) > _LOOK // 8:
        return None
    order = np.array(sorted(known), np.uint64)
    ids = np.fromiter(map(id, items), np.uint64, len(items))
    which = np.minimum(order.searchsorted(ids), len(order) - 1)
    if (order[which] != ids).any():
        return None
    few = [arrays[key] for key in order.tolist()]
    sizes = np.array(list(map(len, few)))
    if sizes[0] and (sizes == sizes[0]).all():
        ends = np.arange(1, len(items) + 1) * sizes[0]
        return Flat(qtype, np.stack(few)[which].reshape(-1), ends)
    starts, counts = (np.cumsum(sizes) - sizes)[which], sizes[which]
    ends = np.cumsum(counts)
    places = np.repeat(starts - ends + counts, counts)
    places += np.arange(len(places))
    return Flat(qtype, np.concatenate(few).take(places), ends)


def _even(flat: Flat, size: int) -> bytes:
    """As `vectors_bytes`, for vectors of one size."""
    body = np.ascontiguousarray(flat.a[: flat.ends[-1]]).view(np.uint8).reshape(len(flat), -1)
    encoded = np.empty((len(flat), HEAD + body.shape[1]), np.uint8)
    encoded[:, :HEAD] = np.frombuffer(struct.pack("<bBi", flat.t, 0, size), np.uint8)
    encoded[:, HEAD:] = body
    return encoded.tobytes()


def vectors_bytes(flat: Flat) -> bytes:
    """The bytes of the vectors, each with its head."""
    sizes = flat.sizes
    if len(flat) and sizes[0] and (sizes == sizes[0]).all():
        return _even(flat, int(sizes[0]))
    heads = np.empty((len(flat), HEAD), np.uint8)
    heads[:, 0], heads[:, 1] = flat.t, 0
    heads[:, 2:] = sizes.astype("<i4").view(np.uint8).reshape(-1, 4)
    return with_heads(flat, heads)[1].tobytes()


def with_heads(flat: Flat, heads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each head stands, and the bytes of the vectors, each behind its head: a row of `heads`."""
    width, size = T.TYPE[flat.t].size, heads.shape[1]
    starts = size * np.arange(len(flat)) + flat.starts * width
    encoded = np.empty(size * len(flat) + int(flat.ends[-1]) * width, np.uint8)
    is_body = np.ones(len(encoded), bool)
    for place in range(size):
        is_body[starts + place] = False
        encoded[starts + place] = heads[:, place]
    encoded[is_body] = np.ascontiguousarray(flat.a[: flat.ends[-1]]).view(np.uint8)
    return starts, encoded


def without_heads(data: np.ndarray, starts: np.ndarray, size: int, qtype: int) -> Flat:
    """The vectors of a type whose heads, of one size, stand at these places: the rest of the bytes is their items."""
    sizes = np.diff(starts, append=len(data)) - size
    is_body = np.ones(len(data), bool)
    for place in range(size):
        is_body[starts + place] = False
    items = data[is_body].view(T.DTYPE[qtype])
    return Flat(qtype, items, np.cumsum(sizes) // T.TYPE[qtype].size)


def vectors_at(raw: bytes | bytearray, at: int, n: int) -> tuple[Flat, int] | None:
    """n vectors of one type, without attributes, that stand from a place on, and where they end; None if what stands
    there is something else."""
    kind = raw[at] if at + HEAD <= len(raw) else 0
    if n < FEW or kind not in T.DTYPE or kind in (T.S, T.ENUM):
        return None
    heads = (_many_heads if n >= MANY_HEADS else _few_heads)(raw, at, n, kind)
    if heads is None:
        return None
    starts, end = heads
    return without_heads(np.frombuffer(raw, np.uint8, end - at, at), starts - at, HEAD, kind), end


Heads = tuple[np.ndarray, int]  # where the heads of vectors stand, and the end of the last vector


def _few_heads(raw: bytes | bytearray, at: int, n: int, kind: int) -> Heads | None:
    """The heads of n vectors of a kind that stand from a place on; None if there are others."""
    width, end, limit = T.TYPE[kind].size, at, len(raw) - HEAD
    starts = []
    for _ in range(n):
        if end > limit or raw[end] != kind or raw[end + 1]:
            return None
        (count,) = _count(raw, end + 2)
        if count < 0:
            return None
        starts.append(end)
        end += HEAD + count * width
    return (np.array(starts), end) if end <= len(raw) else None


def _many_heads(raw: bytes | bytearray, at: int, n: int, kind: int) -> Heads | None:
    """As `_few_heads`. In one window of the bytes after the other, whatever looks like a head is found at once; the
    heads are those that the vectors lead to, from the first one on."""
    width, end, left = T.TYPE[kind].size, at, n
    parts = []
    while left:
        size = min(WINDOW, 32 * n, len(raw) - end)
        if size < HEAD:
            return None
        window = np.frombuffer(raw, np.uint8, size, end)
        looks = np.flatnonzero((window[: 1 - HEAD] == kind) & (window[1 : 2 - HEAD] == 0))
        if not len(looks) or looks[0]:
            return None
        counts = np.ndarray(size - HEAD + 1, "<i4", raw, end + 2, (1,))[looks].astype(np.int64)
        following = looks + HEAD + counts * width
        if (following[:-1] == looks[1:]).all():
            chain = np.arange(min(left, len(looks)))
        else:
            chain = _chained(looks, following, left)
        if (counts[chain] < 0).any():
            return None
        parts.append(looks[chain] + end)
        left -= len(chain)
        end += int(following[chain[-1]])
    return (np.concatenate(parts), end) if end <= len(raw) else None


def _chained(looks: np.ndarray, following: np.ndarray, most: int) -> np.ndarray:
    """The numbers of the places, ascending, that are led to from the first one, each by what follows the one before."""
    number = looks.searchsorted(following)
    known = np.append(looks, -1)[number] == following
    leads = np.where(known, number, -1).tolist()
    chain: list[int] = []
    place = 0
    while place >= 0 and len(chain) < most:
        chain.append(place)
        place = leads[place]
    return np.array(chain)
