"""Compression: kdb+'s method for messages (`-18!`), and data files compressed in blocks with zlib.

A compressed file consists of the word kxzipped, the blocks, and a trailer with the length of each block.
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

import numpy as np

from kshell.errors import QError
from kshell.store import lanes

_HEAD = struct.Struct("<BBBBi")  # byte order, message type, compressed, unused, total length
MAGIC = b"kxzipped"
# version, algorithm, level, unused, uncompressed size, compressed size, block size
_TAIL = struct.Struct("<iBBHqqq")
NONE, GZIP = 0, 2
METHODS = {1: "q IPC", 3: "snappy", 4: "lz4hc", 5: "zstd", 16: "AES encryption"}


# ------------------------------------------------------------------ messages


def compress(message: bytes) -> bytes:
    """A message with a compressed body: repeated byte pairs become references. If the result is not below half the
    size, the message is returned unchanged. Up to _LARGE bytes become the same bytes as kdb+ makes of them."""
    length = len(message)
    wide = length >> 32
    packed = bytearray(message[:8]) + struct.pack("<Q" if wide else "<I", length)
    limit = length // 2 - 17
    if length > _LARGE:
        body = lanes.packed(np.frombuffer(message, np.uint8, offset=8), limit - len(packed))
        if body is None:
            return message
        packed += body
    elif not _add_packed(packed, message, limit):
        return message
    packed[2], packed[3] = 2 if wide else 1, len(packed) >> 32
    packed[4:8] = struct.pack("<I", len(packed) & 0xFFFFFFFF)
    return bytes(packed)


_BITS = (1, 2, 4, 8, 16, 32, 64, 128)  # the steps that one byte tells of
_LARGE = 1 << 19  # bytes of a message: more are compressed in lanes
_NEAR = 8  # bytes that are compared one by one: most runs are short
_MOST = 121  # bytes that one byte of a compressed message may become


def plain_size(message: bytes | bytearray) -> int:
    """The size of a compressed message once it is decompressed, as it says itself; -1 if it says none, or one that its
    bytes cannot become."""
    wide = message[2] == 2
    start = 16 if wide else 12
    if len(message) < start:
        return -1
    form = ("<" if message[0] else ">") + ("Q" if wide else "I")
    (size,) = struct.unpack_from(form, message, 8)
    return int(size) if 8 < size <= 8 + _MOST * (len(message) - start) else -1


def _add_packed(out: bytearray, message: bytes, limit: int) -> bool:
    """Append the compressed body of a message; false as soon as it exceeds the limit."""
    position, end = 8, len(message)
    last_seen = [0] * 256  # where a pair with this hash was last seen
    later: tuple[int, int] | None = None
    while position < end:
        flags, count = 0, len(out)
        if count > limit:
            return False
        out.append(0)
        for bit in _BITS:
            if position >= end:
                break
            pair_hash = message[position] ^ message[position + 1] if position + 1 < end else 0
            earlier = last_seen[pair_hash]
            fresh = position > end - 3 or earlier == 0 or message[position] != message[earlier]
            if later is not None:
                last_seen[later[0]] = later[1]
                later = None
            if fresh:
                later = (pair_hash, position)
                out.append(message[position])
                position += 1
            else:
                last_seen[pair_hash] = position
                flags |= bit
                more = _alike(message, earlier + 2, position + 2, min(end - position - 2, 255))
                position += 2 + more
                out += bytes((pair_hash, more))
        out[count] = flags
    return True


def _alike(message: bytes, x: int, y: int, most: int) -> int:
    """How many bytes from two places on are alike, at most `most`."""
    near = min(most, _NEAR)
    for count in range(near):
        if message[x + count] != message[y + count]:
            return count
    for count in (min(16, most), most):
        first, second = message[x : x + count], message[y : y + count]
        if first != second:
            differ = int.from_bytes(first, "little") ^ int.from_bytes(second, "little")
            return ((differ & -differ).bit_length() - 1) >> 3
    return most


def decompress(message: bytes) -> bytes:
    """A compressed message, decompressed; 'badmsg if it is invalid."""
    try:
        return _decompress(message)
    except (IndexError, struct.error):
        pass
    raise QError("badmsg")


def _plain_header(message: bytes, size: int) -> bytearray:
    """The header of a message once it is decompressed; an IndexError if its size is none."""
    if size < 0:
        raise IndexError
    low = struct.pack("<I" if message[0] else ">I", size & 0xFFFFFFFF)
    return bytearray(message[:2]) + bytes((0, size >> 32)) + low


def _decompress(message: bytes) -> bytes:
    size = plain_size(message)
    result = _plain_header(message, size)
    put = result.append
    position = 16 if message[2] == 2 else 12
    last_seen = [0] * 256  # where a pair with this hash was last entered
    end = 8  # of the result
    last = -1  # the byte before it, if the pair that begins there is still to be entered
    while end < size:
        flags = message[position]
        position += 1
        for bit in _BITS:
            if flags & bit:
                pair_hash = message[position]
                source = last_seen[pair_hash]
                if not source:  # no such pair was entered
                    raise IndexError
                if last >= 0:
                    last_seen[last ^ result[source]] = end - 1
                    last = -1
                last_seen[pair_hash] = end
                count = message[position + 1] + 2
                position += 2
                between = end - source
                if between >= count:
                    result += result[source : source + count]
                else:  # it repeats what it appends
                    result += (result[source:] * (count // between + 1))[:count]
                end += count
            else:
                byte = message[position]
                position += 1
                put(byte)
                if last >= 0:
                    last_seen[last ^ byte] = end - 1
                last = byte
                end += 1
            if end >= size:
                break
    if end != size:
        raise IndexError
    return bytes(result)


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
    (count,) = struct.unpack_from("<q", data, len(data) - 8)
    offset = len(data) - 8 - 8 * count - _TAIL.size
    if count < 0 or offset < len(MAGIC):
        raise QError("corrupt")
    _, algorithm, level, _, size, packed, block = _TAIL.unpack_from(data, offset)
    pairs = struct.unpack_from(f"<{2 * count}i", data, offset + _TAIL.size)
    return Tail(
        algorithm, level, size, packed, block, list(zip(pairs[::2], pairs[1::2], strict=True))
    )


def unpack(data: bytes) -> bytes:
    """The data of a compressed file."""
    tail = tail_of(data)
    offset, blocks = len(MAGIC), []
    problem = ""
    for length, algorithm in tail.blocks:
        block = data[offset : offset + length]
        offset += length
        if algorithm == GZIP:
            try:
                block = zlib.decompress(block)
            except zlib.error as error:
                problem = "wsfull" if str(error).startswith("Error -4") else "corrupt"
        elif algorithm != NONE:
            problem = f"compression {algorithm} ({METHODS.get(algorithm, 'unknown')})"
        if problem:
            raise QError(problem)
        blocks.append(block)
    result = b"".join(blocks)
    if len(result) < tail.size:
        raise QError("corrupt")
    return result[: tail.size]


def pack(data: bytes, logical: int, level: int) -> bytes:
    """A file's data compressed with zlib in blocks of 2^logical bytes."""
    block = 1 << logical
    parts, sizes = [], []
    for offset in range(0, len(data), block):
        plain = data[offset : offset + block]
        packed_block = zlib.compress(plain, level)
        kind = GZIP if len(packed_block) < len(plain) else NONE
        parts.append(packed_block if kind else plain)
        sizes += [len(parts[-1]), kind]
    packed = sum(map(len, parts))
    tail = _TAIL.pack(3, GZIP, level, 0, len(data), packed, block)
    return b"".join(
        [MAGIC, *parts, tail, struct.pack(f"<{len(sizes)}i", *sizes), struct.pack("<q", len(parts))]
    )
