"""The numbers that bytes of each of torch's types stand for, as numpy has them, and floats made bytes again.

numpy lacks bfloat16 and the kinds of float8: those become float32, which holds each of them. Bytes are in this
machine's order, as `Stored.into` gives them.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from kshell.checkpoints.base.stored import WIDTHS

BUFFER = bytes | bytearray | memoryview | np.ndarray
# fmt: off  # a table
# numpy's type of those that it has, by torch's name
_SAME = {
    "bool": "?",
    "uint8": "u1",
    "int8": "i1",
    "int16": "i2",
    "uint16": "u2",
    "int32": "i4",
    "uint32": "u4",
    "int64": "i8",
    "uint64": "u8",
    "float16": "f2",
    "float32": "f4",
    "float64": "f8",
    "complex64": "c8",
    "complex128": "c16",
    "qint8": "i1",
    "quint8": "u1",
    "qint32": "i4",
}
# small floats: bits of the exponent, of the fraction, bias, and what stands for no number:
# "ieee" the highest exponent, "all" all bits but the sign, "zero" negative zero
_SMALL = {
    "float8_e4m3fn": (4, 3, 7, "all"),
    "float8_e5m2": (5, 2, 15, "ieee"),
    "float8_e4m3fnuz": (4, 3, 8, "zero"),
    "float8_e5m2fnuz": (5, 2, 16, "zero"),
}
# fmt: on
_NIBBLES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


@cache
def table(dtype: str) -> np.ndarray:
    """The 256 numbers of a type of float8, in float32."""
    codes = np.arange(256)
    if dtype == "float8_e8m0fnu":
        numbers = np.ldexp(np.float32(1), np.minimum(codes, 254) - 127)
        numbers[255] = np.nan
    else:
        numbers = _small(codes, *_SMALL[dtype])
    numbers.flags.writeable = False
    return numbers


def _small(codes: np.ndarray, wide: int, fraction: int, bias: int, rule: str) -> np.ndarray:
    """Numbers of a sign, an exponent and a fraction in 8 bits."""
    exponent = codes >> fraction & (1 << wide) - 1
    part = codes & (1 << fraction) - 1
    is_normal = exponent > 0
    whole = np.where(is_normal, part + (1 << fraction), part).astype(np.float32)
    numbers = np.ldexp(whole, np.where(is_normal, exponent, 1) - bias - fraction)
    numbers = np.where(codes > 127, -numbers, numbers).astype(np.float32)
    if rule == "ieee":
        top = exponent == (1 << wide) - 1
        numbers[top & (part == 0)] *= np.inf
        numbers[top & (part > 0)] = np.nan
    elif rule == "all":
        numbers[codes & 127 == 127] = np.nan
    else:
        numbers[128] = np.nan
    return numbers


def numbers(data: BUFFER, dtype: str) -> np.ndarray:
    """The numbers of items of a type, one after the other, each exactly: bfloat16 and float8 as float32, complex32 as
    complex64, quantised ones as the integers they hold (without scale), others as numpy has them. The low bits of a
    byte that holds several are the first of them. ValueError for types of bits that stand for no numbers."""
    if dtype in _SAME:
        found = np.frombuffer(data, _SAME[dtype] if dtype != "bool" else "u1")
        return found != 0 if dtype == "bool" else found
    if dtype == "bfloat16":
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32)
    if dtype == "complex32":
        return np.frombuffer(data, np.float16).astype(np.float32).view(np.complex64)
    codes = np.frombuffer(data, np.uint8)
    if dtype.startswith("float8"):
        return table(dtype)[codes]
    if dtype == "float4_e2m1fn_x2":
        return _NIBBLES[_split(codes, 4)]
    if dtype in ("quint4x2", "quint2x4"):
        return _split(codes, 4 if dtype == "quint4x2" else 2)
    if dtype in WIDTHS:
        raise ValueError(f"{dtype} stands for no numbers")
    raise ValueError(f"{dtype} is no type that is known")


def _split(codes: np.ndarray, bits: int) -> np.ndarray:
    """The small numbers in bytes, from the low bits on."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return ((codes[:, None] >> shifts) & np.uint8((1 << bits) - 1)).reshape(-1)


def floats(data: BUFFER, dtype: str, wide: bool = False) -> np.ndarray:
    """The same as float32, rounded to nearest, or as float64 if `wide`. ValueError for complex numbers."""
    found = numbers(data, dtype)
    if found.dtype.kind == "c":
        raise ValueError(f"{dtype} is complex")
    with np.errstate(over="ignore", invalid="ignore"):
        return found.astype(np.float64 if wide else np.float32, copy=False)


def bytes_of(found: np.ndarray, dtype: str) -> np.ndarray:
    """Floats as items of bfloat16, float16, float32 or float64, rounded to nearest, ties to even; what is no number
    stays none. For bfloat16 they are rounded to float32 before. The items are of numpy's type, or uint16."""
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype != "bfloat16":
            return found.astype(
                {"float16": "f2", "float32": "f4", "float64": "f8"}[dtype], copy=False
            )
        found = np.ascontiguousarray(found, np.float32)
    bits = found.view(np.uint32)
    rounded = (bits + (np.uint32(0x7FFF) + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    rounded[np.isnan(found)] = 0x7FC0
    return rounded
