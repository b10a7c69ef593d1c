"""Bytes of each type as numbers, against torch's own conversions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kshell.checkpoints.base.stored import WIDTHS
from kshell.checkpoints.quantized import numbers

EIGHTS = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]
BYTES = np.arange(256, dtype=np.uint8)
SHORTS = np.arange(65536, dtype=np.uint32).astype(np.uint16)


def same(got: np.ndarray, wanted: np.ndarray) -> bool:
    """Equal bits, where they are numbers; NaN at the same places."""
    none = np.isnan(wanted)
    bits = f"u{wanted.itemsize}"
    return (got.dtype == wanted.dtype and np.array_equal(np.isnan(got), none)
            and np.array_equal(got[~none].view(bits), wanted[~none].view(bits)))


@pytest.mark.parametrize("dtype", EIGHTS)
def test_all_of_float8(dtype: str) -> None:
    wanted = torch.from_numpy(BYTES).view(getattr(torch, dtype)).float().numpy()
    assert same(numbers.numbers(BYTES.tobytes(), dtype), wanted)
    wide = numbers.floats(BYTES, dtype, wide=True)
    assert wide.dtype == np.float64 and same(wide.astype(np.float32), wanted)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_all_of_the_halves(dtype: str) -> None:
    wanted = torch.from_numpy(SHORTS.view(np.int16)).view(getattr(torch, dtype)).float().numpy()
    got = numbers.floats(SHORTS.tobytes(), dtype)
    assert same(got, wanted)
    back = numbers.bytes_of(got, dtype).view(np.uint16)
    is_none = np.isnan(wanted)
    assert np.array_equal(back[~is_none], SHORTS[~is_none])
    assert np.isnan(numbers.floats(back[is_none], dtype)).all()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_floats_are_rounded_as_torch_rounds_them(dtype: str) -> None:
    """Random bits, and numbers halfway between two of bfloat16 and of float16, with neighbours."""
    bits = np.random.default_rng(3).integers(0, 1 << 32, 100_000, np.uint64).astype(np.uint32)
    upper = SHORTS.astype(np.uint32) << 16
    near = np.concatenate([bits, *(upper + low for low in (0, 0x7FFF, 0x8000, 0x8001, 0x0FFF, 0x1000, 0x1001, 0x3000))])
    given = near.astype(np.uint32).view(np.float32)
    wanted = torch.from_numpy(given).to(getattr(torch, dtype))
    got = torch.from_numpy(np.ascontiguousarray(numbers.bytes_of(given, dtype)).view(f"i{WIDTHS[dtype]}"))
    is_none = torch.isnan(wanted)
    assert torch.equal(torch.isnan(got.view(wanted.dtype)), is_none)
    assert torch.equal(got[~is_none], wanted.view(got.dtype)[~is_none])


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
                                   "float32", "float64"])
def test_types_that_numpy_has(dtype: str) -> None:
    data = np.random.default_rng(5).integers(0, 2 if dtype == "bool" else 256, 800).astype(np.uint8)
    found = torch.from_numpy(data).view(getattr(torch, dtype))
    got = numbers.numbers(data, dtype)
    assert got.dtype == found.numpy().dtype and got.tobytes() == found.numpy().tobytes()
    assert same(numbers.floats(data, dtype), found.float().numpy())
    assert np.array_equal(numbers.floats(data, dtype, wide=True), found.double().numpy(), equal_nan=True)


def test_complex_numbers() -> None:
    pair = np.array([1.5, -2], np.float16)
    assert numbers.numbers(pair, "complex32").tolist() == [1.5 - 2j]
    assert numbers.numbers(pair.astype(np.float64), "complex128").tolist() == [1.5 - 2j]
    with pytest.raises(ValueError, match="complex64 is complex"):
        numbers.floats(pair.astype(np.float32), "complex64")


def test_several_numbers_in_a_byte() -> None:
    assert numbers.numbers(b"\x21\xf9", "float4_e2m1fn_x2").tolist() == [0.5, 1.0, -0.5, -6.0]
    assert numbers.numbers(b"\x21\xf9", "quint4x2").tolist() == [1, 2, 9, 15]
    assert numbers.numbers(b"\x1b", "quint2x4").tolist() == [3, 2, 1, 0]
    every = numbers.numbers(BYTES, "float4_e2m1fn_x2")
    assert set(np.abs(every).tolist()) == {0, 0.5, 1, 1.5, 2, 3, 4, 6} and every.size == 512


def test_other_bytes_of_booleans_are_true() -> None:
    assert numbers.numbers(b"\0\1\2\xff", "bool").tolist() == [False, True, True, True]


@pytest.mark.parametrize("dtype", ["bits8", "bits16", "bits1x8"])
def test_bits_are_no_numbers(dtype: str) -> None:
    with pytest.raises(ValueError, match=f"{dtype} stands for no numbers"):
        numbers.numbers(b"\0\0", dtype)


def test_each_type_is_known() -> None:
    for dtype in WIDTHS:
        if not dtype.startswith("bits"):
            assert numbers.numbers(bytes(16), dtype).size >= 1
    with pytest.raises(ValueError, match="float5 is no type that is known"):
        numbers.numbers(b"", "float5")
