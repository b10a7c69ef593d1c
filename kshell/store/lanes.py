"""kdb+'s compression of large messages, with numpy: a thousand segments of the message advance together, by one
token in each step.

A reference names the last place where a pair of bytes with some hash began. What is known of that within a segment
holds whatever came before the segment, so the segments do not depend on each other; each only begins without
anything to refer to. That makes the result somewhat longer than what kdb+ makes of the same message, and any receiver
reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Places = NDArray[np.intp]

_LANES = 1024  # segments that advance together
_SHORTEST, _LONGEST = 2048, 4096  # bytes of a segment; the last one may be shorter
_ROUND = 1 << 24  # bytes whose segments are worked on with arrays that several times as large
_STEPS = 16  # after which other segments replace those that are done
_CHUNK = 1 << 20  # bytes of a message that are written at a time
# what is given up: that many bytes for one, at the beginning of the segments, and once several of each lane are done
_AT_FIRST, _LATER = 0.75, 0.54
# repeats are compared by words of eight bytes: two by themselves after the pair, then 6, then 23 at once
_NEAR, _FAR = np.arange(18, 66, 8), np.arange(66, 250, 8)
_MOST = 250  # bytes of a reference
_PAIR_HASH = np.bitwise_xor.outer(np.arange(256), np.arange(256)).reshape(-1)


def packed(body: Bytes, limit: int) -> bytes | None:
    """The compressed form of what follows a message's header; None if it has more than `limit` bytes, or will."""
    size = len(body)
    length = min(max(size // _LANES, _SHORTEST), _LONGEST)
    count = -(-size // length)
    rows = np.zeros((count, length), np.uint8)
    rows.reshape(-1)[:size] = body
    tokens = np.zeros((count, length), np.uint8)
    # each round takes segments from everywhere, so that the first shows whether the others are worth it
    rounds = -(-size // _ROUND)
    for start in range(rounds):
        has_last = (count - 1) % rounds == start
        found = _tokens(rows[start::rounds], size - (count - 1) * length if has_last else length)
        if found is None:
            return None
        tokens[start::rounds] = found
    return _written(tokens.reshape(-1)[:size], body, limit)


def _tokens(rows: Bytes, last: int) -> Bytes | None:
    """The tokens of segments, of which the last one has `last` bytes: where one begins stands how many bytes it is for,
    1 for a byte as it is, elsewhere 0. None if they are not much smaller than the segments."""
    count, length = rows.shape
    stride = length + _STEPS  # a lane that is done may go on for some steps
    data = np.zeros(count * stride + _MOST + 16, np.uint8)
    data[: count * stride].reshape(count, stride)[:, :length] = rows
    data[-1] = 1
    words = np.ndarray((len(data) - 7,), "<u8", data.data, strides=(1,))
    pairs = np.ndarray((len(data) - 1,), np.uint16, data.data, strides=(1,)).copy()
    result = np.zeros(len(data), np.uint8)
    ends = np.arange(count) * stride + length
    ends[-1] += last - length
    # where a pair began last, by lane and hash; at first at one that has another hash
    nowhere = np.full(256, len(pairs) - 2, np.intp)
    nowhere[0] = len(pairs) - 1

    lanes = min(_LANES, count)
    # from everywhere at first, so that what is given up early is like the rest
    turns = -(-count // lanes)
    order = np.concatenate([np.arange(turn, count, turns) for turn in range(turns)])
    seen = np.tile(nowhere, lanes)
    base: Places = np.arange(lanes) * 256
    place: Places = order[:lanes] * stride
    end = ends[order[:lanes]]
    # a pair is entered once the token after it is known to begin, as its second byte is read only then
    late, late_place = base, seen[base]
    begun, went, size = lanes, 0, 0
    while len(place):
        taken = np.empty(len(place), np.uint8)
        went -= int(place.sum())
        for _ in range(_STEPS):
            pair = pairs[place]
            slot = base + _PAIR_HASH[pair]
            earlier = seen[slot]
            hit = np.flatnonzero(pairs[earlier] == pair)
            seen[late] = late_place
            at = place[hit]
            alike = _alike(words, at, earlier[hit])
            np.minimum(alike, end[hit] - at, out=alike)
            np.maximum(alike, 1, out=alike)
            seen[slot[hit]] = at
            taken.fill(1)
            taken[hit] = alike
            result[place] = taken
            late, late_place = slot, place
            place = place + taken
            size += len(hit)
        size += len(place) * (_STEPS + _STEPS // 8)
        went += int(place.sum())
        most = _AT_FIRST if went < 2 * lanes * length else _LATER
        if went > lanes * length // 4 and size > went * most:
            return None
        done = np.flatnonzero(place >= end)
        new = min(len(done), count - begun)
        if new:
            lane, segment = done[:new], order[begun : begun + new]
            place[lane], end[lane] = segment * stride, ends[segment]
            seen.reshape(lanes, 256)[base[lane] >> 8] = nowhere
            late[lane], late_place[lane] = base[lane], nowhere[0]
            begun += new
        if len(done) - new > len(place) // 10:
            going = np.flatnonzero(place < end)
            place, end, base = place[going], end[going], base[going]
            late, late_place = late[going], late_place[going]
        else:
            np.minimum(place, end, out=place)
    return result[: count * stride].reshape(count, stride)[:, :length]


def _alike(words: NDArray[np.uint64], here: Places, there: Places) -> Places:
    """How many bytes from two places on are alike, at most _MOST, for places where two are."""
    alike = _low(words[here + 2] ^ words[there + 2])
    alike += 2
    on = np.flatnonzero(alike == 10)
    if len(on):
        here, there = here[on], there[on]
        more = _low(words[here + 10] ^ words[there + 10])
        alike[on] += more
        for columns in (_NEAR, _FAR):
            go_on = np.flatnonzero(more == (8 if columns is _NEAR else 8 * len(_NEAR)))
            if not len(go_on):
                break
            on, here, there = on[go_on], here[go_on], there[go_on]
            more = _wide(words, here, there, columns)
            alike[on] += more
    return alike


def _wide(words: NDArray[np.uint64], here: Places, there: Places, columns: Places) -> Places:
    """How many bytes of several words are alike, before the first that is not."""
    differ = words[here[:, None] + columns]
    differ ^= words[there[:, None] + columns]
    column = (differ != 0).argmax(1)
    word = differ[np.arange(len(here)), column]
    return np.where(word == 0, 8 * len(columns), 8 * column + _low(word))


def _low(x: NDArray[np.uint64]) -> Places:
    """How many of a word's low bytes are zero, of eight."""
    return (_ones(~x & (x - 1)) >> 3).astype(np.intp)


def _ones_of_a_power(x: NDArray[np.uint64]) -> NDArray[np.int32]:
    """How many bits are set in numbers that are a power of two less one."""
    return np.frexp(x.astype(np.float64) + 1)[1] - 1


_ones = getattr(np, "bitwise_count", _ones_of_a_power)  # numpy 1.26 has none


# ------------------------------------------------------------------ tokens to bytes


def _written(tokens: Bytes, body: Bytes, limit: int) -> bytes | None:
    """Tokens as bytes: a byte whose bits tell of eight tokens, then these; None if they have more than `limit`."""
    parts: list[bytes] = []
    size = 0
    left = np.zeros((3, 0), np.uint8)
    for start in range(0, len(body), _CHUNK):
        place = np.flatnonzero(tokens[start : start + _CHUNK])
        place += start
        count = tokens[place]
        hit = count > 1
        first = body[place]
        first[hit] ^= body[place[hit] + 1]
        some = np.concatenate([left, np.stack([hit.view(np.uint8), first, count - 2])], axis=1)
        whole = some.shape[1] if start + _CHUNK >= len(body) else some.shape[1] // 8 * 8
        left = some[:, whole:]
        parts.append(_grouped(*some[:, :whole]))
        size += len(parts[-1])
        if size > limit:
            return None
    return b"".join(parts)


def _grouped(hit: Bytes, first: Bytes, more: Bytes) -> bytes:
    count = len(hit)
    groups = -(-count // 8)
    spread = np.zeros((3, 8 * groups), np.uint8)
    spread[:, :count] = hit, first, more
    hits, firsts, mores = spread.reshape(3, groups, 8)
    out = np.empty((groups, 17), np.uint8)
    out[:, 0] = np.packbits(hits, axis=1, bitorder="little")[:, 0]
    out[:, 1::2], out[:, 2::2] = firsts, mores
    kept = np.empty((groups, 17), bool)
    kept[:, 0] = True
    kept[:, 1::2] = (np.arange(8 * groups) < count).reshape(groups, 8)
    kept[:, 2::2] = hits
    return out[kept].tobytes()
