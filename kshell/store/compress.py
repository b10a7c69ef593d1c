"""Compression: kdb+'s method for messages (`-18!`), and data files compressed in blocks with zlib.

A compressed file consists of the word kxzipped, the blocks, and a trailer with the length of each block.
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

from kshell.errors import QError

_HEAD = struct.Struct("<BBBBi")  # byte order, message type, compressed, unused, total length
MAGIC = b"kxzipped"
_TAIL = struct.Struct(
    "<iBBHqqq"
)  # version, algorithm, level, unused, uncompressed size, compressed size, block size
NONE, GZIP = 0, 2
METHODS = {1: "q IPC", 3: "snappy", 4: "lz4hc", 5: "zstd", 16: "AES encryption"}


# ------------------------------------------------------------------ messages


def compress(message: bytes) -> bytes:
    """A message with a compressed body: repeated byte pairs become references. If the result is not below half the
    size, the message is returned unchanged."""
    end = len(message)
    out = bytearray(message[:8]) + struct.pack("<i", end)
    if not _add_packed(out, message, end // 2 - 17):
        return message
    out[2] = 1
    out[4:8] = struct.pack("<i", len(out))
    return bytes(out)


def _add_packed(out: bytearray, message: bytes, limit: int) -> bool:
    """Append the compressed body of a message; false as soon as it exceeds the limit."""
    s, end = 8, len(message)
    last = [0] * 256  # where a pair with this hash was last seen
    later: tuple[int, int] | None = None
    while s < end:
        flags, count = 0, len(out)
        if count > limit:
            return False
        out.append(0)
        for bit in (1, 2, 4, 8, 16, 32, 64, 128):
            if s >= end:
                break
            h = message[s] ^ message[s + 1] if s + 1 < end else 0
            p = last[h]
            fresh = s > end - 3 or p == 0 or message[s] != message[p]
            if later is not None:
                last[later[0]] = later[1]
                later = None
            if fresh:
                later = (h, s)
                out.append(message[s])
                s += 1
            else:
                last[h] = s
                flags |= bit
                p, s = p + 2, s + 2
                start, stop = s, min(s + 255, end)
                while s < stop and message[p] == message[s]:
                    p, s = p + 1, s + 1
                out += bytes((h, s - start))
        out[count] = flags
    return True


def decompress(message: bytes) -> bytes:
    """A compressed message, decompressed; 'badmsg if it is invalid."""
    try:
        return _decompress(message)
    except (IndexError, struct.error):
        pass
    raise QError("badmsg")


def _decompress(message: bytes) -> bytes:
    (size,) = struct.unpack_from("<i", message, 8)
    out = bytearray(message[:2] + b"\0" + message[3:4] + struct.pack("<i", size))
    last = [0] * 256
    d, p = 12, 8
    while len(out) < size:
        flags = message[d]
        d += 1
        for bit in range(8):
            if len(out) >= size:
                break
            if flags >> bit & 1:
                r, n = last[message[d]], message[d + 1]
                d += 2
                for k in range(n + 2):
                    out.append(out[r + k])
                ready = len(out) - n - 1
            else:
                n = 0
                out.append(message[d])
                d += 1
                ready = len(out) - 1
            while p < ready:
                last[out[p] ^ out[p + 1]] = p
                p += 1
            if flags >> bit & 1:
                p = len(out)
    if len(out) != size:
        raise IndexError
    return bytes(out)


# ------------------------------------------------------------------ files


class Tail(NamedTuple):
    """The trailer of a compressed file."""

    algorithm: int
    level: int
    size: int  # of all data
    packed: int
    block: int
    blocks: list[tuple[int, int]]  # length and algorithm of each block


def tail_of(data: bytes | memoryview) -> Tail:
    """The trailer of a compressed file; 'corrupt if there is none."""
    if len(data) < len(MAGIC) + _TAIL.size + 8:
        raise QError("corrupt")
    (n,) = struct.unpack_from("<q", data, len(data) - 8)
    at = len(data) - 8 - 8 * n - _TAIL.size
    if n < 0 or at < len(MAGIC):
        raise QError("corrupt")
    _, algorithm, level, _, size, packed, block = _TAIL.unpack_from(data, at)
    pairs = struct.unpack_from(f"<{2 * n}i", data, at + _TAIL.size)
    return Tail(
        algorithm, level, size, packed, block, list(zip(pairs[::2], pairs[1::2], strict=True))
    )


def unpack(data: bytes) -> bytes:
    """The data of a compressed file."""
    tail = tail_of(data)
    at, out = len(MAGIC), []
    problem = ""
    for length, algorithm in tail.blocks:
        part = data[at : at + length]
        at += length
        if algorithm == GZIP:
            try:
                part = zlib.decompress(part)
            except zlib.error as e:
                problem = "wsfull" if str(e).startswith("Error -4") else "corrupt"
        elif algorithm != NONE:
            problem = f"compression {algorithm} ({METHODS.get(algorithm, 'unknown')})"
        if problem:
            raise QError(problem)
        out.append(part)
    done = b"".join(out)
    if len(done) < tail.size:
        raise QError("corrupt")
    return done[: tail.size]


def pack(data: bytes, logical: int, level: int) -> bytes:
    """A file's data compressed with zlib in blocks of 2^logical bytes."""
    block = 1 << logical
    parts, sizes = [], []
    for at in range(0, len(data), block):
        raw = data[at : at + block]
        part = zlib.compress(raw, level)
        kind = GZIP if len(part) < len(raw) else NONE
        parts.append(part if kind else raw)
        sizes += [len(parts[-1]), kind]
    packed = sum(map(len, parts))
    tail = _TAIL.pack(3, GZIP, level, 0, len(data), packed, block)
    return b"".join(
        [MAGIC, *parts, tail, struct.pack(f"<{len(sizes)}i", *sizes), struct.pack("<q", len(parts))]
    )
