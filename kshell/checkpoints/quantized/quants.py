"""The quantised blocks of GGUF files, made float32.

Each kind is a record of fixed length for 32 or 256 consecutive numbers: scales, and small integers whose bits are
spread over the record. Computed in float32 in the order that ggml's reference has, so that all bits are equal to it. A
half of a block of 256 is called a side here, a quarter of a side a lane: 32 numbers whose bits share 32 bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

_PAIR = np.array([0, 4], np.uint8)  # shifts for two numbers in a byte
_FOUR = np.array([0, 2, 4, 6], np.uint8)  # for four
_EIGHT = np.arange(8, dtype=np.uint8)  # for eight
# what the four bits of MXFP4 stand for, doubled
_MXFP4 = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], np.int8)

# what four bits of the IQ4 kinds stand for
_IQ4 = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.int8)
_SIXTEENTH = np.arange(0, 16, 2, dtype=np.uint16)  # shifts for eight pairs of bits in two bytes


class Kind(NamedTuple):
    """Numbers and bytes of a block; what computes it, None if nothing here does; the fields of several bytes in it,
    (offset, length) each, which another byte order turns around."""

    size: int
    length: int
    compute: Callable[[np.ndarray], np.ndarray] | None = None
    fields: tuple[tuple[int, int], ...] = ()


def _halves(b: np.ndarray, at: int) -> np.ndarray:
    """A float16 of each block, as a column."""
    return np.ascontiguousarray(b[:, at : at + 2]).view("<f2").astype(np.float32)


def _scaled(n: np.ndarray, scale: np.ndarray, low: np.ndarray | None = None) -> np.ndarray:
    """Integers of blocks, with a scale a group of consecutive ones, and a number that is taken off."""
    groups = scale.reshape(len(n), -1, 1)
    out = n.reshape(len(n), groups.shape[1], -1).astype(np.float32)
    out *= groups
    if low is not None:
        out -= low.reshape(groups.shape)
    return out


def _nibbles(b: np.ndarray) -> np.ndarray:
    """The low halves of all bytes, then the high ones."""
    return np.concatenate([b & 15, b >> 4], axis=1)


def _wide_nibbles(b: np.ndarray, at: int) -> np.ndarray:
    """Numbers of 5 bits: the highest bits in 4 bytes, then the others as halves of bytes."""
    bits = np.unpackbits(b[:, at : at + 4], axis=1, bitorder="little")
    return _nibbles(b[:, at + 4 :]) | bits << 4


def _by_lanes(b: np.ndarray, shifts: np.ndarray, mask: int) -> np.ndarray:
    """The bits of each 32 bytes after one another: all with the first shift, then all with the next."""
    found = (b.reshape(len(b), -1, 1, 32) >> shifts[:, None]) & np.uint8(mask)
    return found.reshape(len(b), -1)


def _q4_0(b: np.ndarray) -> np.ndarray:
    return _scaled(_nibbles(b[:, 2:]).astype(np.int8) - 8, _halves(b, 0))


def _q4_1(b: np.ndarray) -> np.ndarray:
    return _scaled(_nibbles(b[:, 4:]), _halves(b, 0), -_halves(b, 2))


def _q5_0(b: np.ndarray) -> np.ndarray:
    return _scaled(_wide_nibbles(b, 2).astype(np.int8) - 16, _halves(b, 0))


def _q5_1(b: np.ndarray) -> np.ndarray:
    return _scaled(_wide_nibbles(b, 4), _halves(b, 0), -_halves(b, 2))


def _q8_0(b: np.ndarray) -> np.ndarray:
    return _scaled(b[:, 2:].view(np.int8), _halves(b, 0))


def _q2_k(b: np.ndarray) -> np.ndarray:
    scales = b[:, :16]
    low = _halves(b, 82) * (scales >> 4)
    return _scaled(_by_lanes(b[:, 16:80], _FOUR, 3), _halves(b, 80) * (scales & 15), low)


def _q3_k(b: np.ndarray) -> np.ndarray:
    high = _by_lanes(b[:, :32], _EIGHT, 1)
    n = (_by_lanes(b[:, 32:96], _FOUR, 3) | high << 2).astype(np.int8) - 4
    packed = b[:, 96:108]
    scales = _nibbles(packed[:, :8]) | _fourths(packed[:, 8:]) << 4
    return _scaled(n, _halves(b, 108) * (scales.astype(np.int8) - 32))


def _fourths(b: np.ndarray) -> np.ndarray:
    """The lowest two bits of all bytes, then the next two, and so on."""
    return ((b[:, None, :] >> _FOUR[:, None]) & np.uint8(3)).reshape(len(b), -1)


def _pairs_of_6(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eight scales and eight offsets of 6 bits each in 12 bytes. The first four of either are the low bits of a byte;
    the others are halves of the last four bytes, with their high bits above the first ones."""
    first, second, rest = s[:, :4], s[:, 4:8], s[:, 8:]
    return (
        np.concatenate([first & 63, rest & 15 | first >> 6 << 4], axis=1),
        np.concatenate([second & 63, rest >> 4 | second >> 6 << 4], axis=1),
    )


def _affine(b: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Integers with the scales and offsets of Q4_K and Q5_K, a pair for each 32."""
    scales, lows = _pairs_of_6(b[:, 4:16])
    return _scaled(n, _halves(b, 0) * scales, _halves(b, 2) * lows)


def _q4_k(b: np.ndarray) -> np.ndarray:
    return _affine(b, _by_lanes(b[:, 16:], _PAIR, 15))


def _q5_k(b: np.ndarray) -> np.ndarray:
    high = _by_lanes(b[:, 16:48], _EIGHT, 1)
    return _affine(b, _by_lanes(b[:, 48:], _PAIR, 15) | high << 4)


def _q6_k(b: np.ndarray) -> np.ndarray:
    low = b[:, :128].reshape(-1, 2, 1, 64) >> _PAIR[:, None] & np.uint8(15)
    high = _by_lanes(b[:, 128:192], _FOUR, 3)
    n = (low.reshape(len(b), 256) | high << 4).astype(np.int8) - 32
    return _scaled(n, _halves(b, 208) * b[:, 192:208].view(np.int8))


def _digits(b: np.ndarray, count: int) -> np.ndarray:
    """The first digits to base 3 of all bytes, then the second ones, and so on. A byte is a fraction of 256: its
    digits are what is above 256 when it is multiplied by 3, and again by 3 what is left."""
    found = []
    for _ in range(count):
        tripled = b.astype(np.uint16) * 3
        found.append((tripled >> 8).astype(np.int8))
        b = (tripled & 255).astype(np.uint8)
    return np.concatenate(found, axis=1)


def _tq1_0(b: np.ndarray) -> np.ndarray:
    parts = [_digits(b[:, :32], 5), _digits(b[:, 32:48], 5), _digits(b[:, 48:52], 4)]
    return _scaled(np.concatenate(parts, axis=1) - 1, _halves(b, 52))


def _tq2_0(b: np.ndarray) -> np.ndarray:
    return _scaled(_by_lanes(b[:, :64], _FOUR, 3).astype(np.int8) - 1, _halves(b, 64))


def _mxfp4(b: np.ndarray) -> np.ndarray:
    scale = np.ldexp(np.float32(1), b[:, :1].astype(np.int32) - 128)
    return _scaled(_MXFP4[_nibbles(b[:, 1:])], scale)


def _nvfp4(b: np.ndarray) -> np.ndarray:
    """Four groups of 16 numbers, each with a scale of four bits of exponent and three of fraction, none of a sign."""
    power, part = (b[:, :4] >> 3 & 15).astype(np.int32), b[:, :4] & 7
    whole = np.where(power > 0, part + 8, part).astype(np.float32)
    scale = np.ldexp(whole, np.maximum(power, 1) - 11)  # half of it, for the table is doubled
    scale[b[:, :4] == 127] = 0
    return _scaled(_MXFP4[_nibbles(b[:, 4:].reshape(-1, 8))].reshape(len(b), 64), scale)


def _iq4_nl(b: np.ndarray) -> np.ndarray:
    return _scaled(_IQ4[_nibbles(b[:, 2:])], _halves(b, 0))


def _iq4_xs(b: np.ndarray) -> np.ndarray:
    low = (b[:, 4:8, None] >> _PAIR & np.uint8(15)).reshape(len(b), 8)
    high = np.ascontiguousarray(b[:, 2:4]).view("<u2") >> _SIXTEENTH & 3
    scales = (low | high << 4).astype(np.int8) - 32
    n = _IQ4[_nibbles(b[:, 8:].reshape(-1, 16))]
    return _scaled(n.reshape(len(b), 256), _halves(b, 0) * scales)


# fmt: off  # a table
# by number in the file: name, and what it is
QUANTISED = {
    2: ("Q4_0", Kind(32, 18, _q4_0, ((0, 2),))),
    3: ("Q4_1", Kind(32, 20, _q4_1, ((0, 2), (2, 2)))),
    6: ("Q5_0", Kind(32, 22, _q5_0, ((0, 2), (2, 4)))),
    7: ("Q5_1", Kind(32, 24, _q5_1, ((0, 2), (2, 2), (4, 4)))),
    8: ("Q8_0", Kind(32, 34, _q8_0, ((0, 2),))),
    9: ("Q8_1", Kind(32, 40)),
    10: ("Q2_K", Kind(256, 84, _q2_k, ((80, 2), (82, 2)))),
    11: ("Q3_K", Kind(256, 110, _q3_k, ((108, 2),))),
    12: ("Q4_K", Kind(256, 144, _q4_k, ((0, 2), (2, 2)))),
    13: ("Q5_K", Kind(256, 176, _q5_k, ((0, 2), (2, 2)))),
    14: ("Q6_K", Kind(256, 210, _q6_k, ((208, 2),))),
    15: ("Q8_K", Kind(256, 292)),
    16: ("IQ2_XXS", Kind(256, 66)),
    17: ("IQ2_XS", Kind(256, 74)),
    18: ("IQ3_XXS", Kind(256, 98)),
    19: ("IQ1_S", Kind(256, 50)),
    20: ("IQ4_NL", Kind(32, 18, _iq4_nl, ((0, 2),))),
    21: ("IQ3_S", Kind(256, 110)),
    22: ("IQ2_S", Kind(256, 82)),
    23: ("IQ4_XS", Kind(256, 136, _iq4_xs, ((0, 2), (2, 2)))),
    29: ("IQ1_M", Kind(256, 56)),
    34: ("TQ1_0", Kind(256, 54, _tq1_0, ((52, 2),))),
    35: ("TQ2_0", Kind(256, 66, _tq2_0, ((64, 2),))),
    39: ("MXFP4", Kind(32, 17, _mxfp4)),
    40: ("NVFP4", Kind(64, 36, _nvfp4)),
    41: ("Q1_0", Kind(128, 18)),
}
# fmt: on
KINDS = dict(QUANTISED.values())


def dequantised(
    name: str, data: bytes | bytearray | np.ndarray, foreign: bool = False
) -> np.ndarray:
    """The numbers of whole blocks of a kind, float32, one after the other. `foreign`: the fields of several bytes in
    them are in the other order than little-endian."""
    kind = KINDS[name]
    if kind.compute is None:
        raise ValueError(f"blocks of {name} are not computed here")
    blocks = np.frombuffer(data, np.uint8).reshape(-1, kind.length)
    if foreign:
        blocks = blocks.copy()
        for at, length in kind.fields:
            blocks[:, at : at + length] = blocks[:, at : at + length][:, ::-1].copy()
    with np.errstate(all="ignore"):
        return kind.compute(blocks).reshape(-1)
