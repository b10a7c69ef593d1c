"""Quantised blocks of GGUF files: number by number after the description of the format, and against the gguf package."""

from __future__ import annotations

import numpy as np
import pytest

from kshell.checkpoints.quantized import quants

COMPUTED = [name for name, kind in quants.KINDS.items() if kind.compute]
LISTED = [name for name, kind in quants.KINDS.items() if not kind.compute]
F = np.float32


def half(b: bytes, at: int) -> np.float32:
    return F(np.frombuffer(b[at:at + 2], "<f2")[0])


def signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def simple(name: str, b: bytes, i: int) -> np.float32:
    """Number i of a block of 32 with halves of bytes."""
    has_low, is_wide = name[-1] == "1", name[1] == "5"
    at = 4 if has_low else 2
    byte = b[at + (4 if is_wide else 0) + i % 16]
    n = byte // 16 if i >= 16 else byte % 16
    if is_wide:
        n += 16 * (int.from_bytes(b[at:at + 4], "little") >> i & 1)
    return half(b, 0) * F(n) + half(b, 2) if has_low else half(b, 0) * F(n - (16 if is_wide else 8))


def two_bits(b: bytes, at: int, i: int) -> int:
    """Two bits of number i of 256: lanes of 32 numbers share 32 bytes, four lanes a side."""
    return b[at + 32 * (i // 128) + i % 32] >> 2 * (i % 128 // 32) & 3


def q2_k(b: bytes, i: int) -> np.float32:
    s = b[i // 16]
    return half(b, 80) * F(s & 15) * F(two_bits(b, 16, i)) - half(b, 82) * F(s >> 4)


def q3_k(b: bytes, i: int) -> np.float32:
    g = i // 16
    low = b[96 + g % 8] >> (4 if g >= 8 else 0) & 15
    high = b[104 + g % 4] >> 2 * (g // 4) & 3
    n = two_bits(b, 32, i) - (0 if b[i % 32] >> i // 32 & 1 else 4)
    return half(b, 108) * F(low + 16 * high - 32) * F(n)


def affine(b: bytes, i: int, n: int) -> np.float32:
    g, s = i // 32, b[4:16]
    if g < 4:
        scale, low = s[g] % 64, s[g + 4] % 64
    else:
        scale, low = s[g + 4] % 16 + s[g - 4] // 64 * 16, s[g + 4] // 16 + s[g] // 64 * 16
    return half(b, 0) * F(scale) * F(n) - half(b, 2) * F(low)


def nibble(b: bytes, at: int, i: int) -> int:
    byte = b[at + 32 * (i // 64) + i % 32]
    return byte // 16 if i // 32 % 2 else byte % 16


def q6_k(b: bytes, i: int) -> np.float32:
    byte = b[64 * (i // 128) + i % 64]
    low = byte // 16 if i % 128 >= 64 else byte % 16
    return half(b, 208) * F(signed(b[192 + i // 16])) * F(low + 16 * two_bits(b, 128, i) - 32)


def tq1_0(b: bytes, i: int) -> np.float32:
    """Digits to base 3: five of each of 32 bytes, of each of 16, four of each of 4, the same digit of all together."""
    at, width, i = (0, 32, i) if i < 160 else (32, 16, i - 160) if i < 240 else (48, 4, i - 240)
    digit, byte = divmod(i, width)
    return half(b, 52) * F((b[at + byte] * 3 ** digit % 256) * 3 // 256 - 1)


def mxfp4(b: bytes, i: int) -> np.float32:
    byte = b[1 + i % 16]
    n = byte // 16 if i >= 16 else byte % 16
    size = [0, 0.5, 1, 1.5, 2, 3, 4, 6][n % 8]
    return F((-size if n > 8 else size) * 2.0 ** (b[0] - 127))


def nvfp4(b: bytes, i: int) -> np.float32:
    byte = b[4 + i // 16 * 8 + i % 8]
    n = byte // 16 if i % 16 >= 8 else byte % 16
    size = [0, 0.5, 1, 1.5, 2, 3, 4, 6][n % 8]
    power, part = b[i // 16] % 128 // 8, b[i // 16] % 8
    scale = (1 + part / 8) * 2.0 ** (power - 7) if power else part / 8 * 2.0 ** -6
    return F((-size if n > 8 else size) * (0 if b[i // 16] == 127 else scale))


IQ4 = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]


def iq4_xs(b: bytes, i: int) -> np.float32:
    g = i // 32
    byte = b[8 + 16 * g + i % 16]
    low = b[4 + g // 2] // 16 if g % 2 else b[4 + g // 2] % 16
    high = int.from_bytes(b[2:4], "little") >> 2 * g & 3
    return half(b, 0) * F(low + 16 * high - 32) * F(IQ4[byte // 16 if i % 32 >= 16 else byte % 16])


GOLDEN = {
    **{name: lambda b, i, name=name: simple(name, b, i) for name in ("Q4_0", "Q4_1", "Q5_0", "Q5_1")},
    "Q8_0": lambda b, i: half(b, 0) * F(signed(b[2 + i])),
    "Q2_K": q2_k,
    "Q3_K": q3_k,
    "Q4_K": lambda b, i: affine(b, i, nibble(b, 16, i)),
    "Q5_K": lambda b, i: affine(b, i, nibble(b, 48, i) + 16 * (b[16 + i % 32] >> i // 32 & 1)),
    "Q6_K": q6_k,
    "TQ1_0": tq1_0,
    "TQ2_0": lambda b, i: half(b, 64) * F(two_bits(b, 0, i) - 1),
    "MXFP4": mxfp4,
    "NVFP4": nvfp4,
    "IQ4_NL": lambda b, i: half(b, 0) * F(IQ4[b[2 + i % 16] // 16 if i >= 16 else b[2 + i % 16] % 16]),
    "IQ4_XS": iq4_xs,
}


def blocks(name: str, count: int, seed: int) -> np.ndarray:
    """Random blocks; their halves are any of float16 that are numbers."""
    kind = quants.KINDS[name]
    found = np.random.default_rng(seed).integers(0, 256, (count, kind.length), np.uint8)
    for at, length in kind.fields:
        if length == 2:
            found[:, at + 1] &= 0xBF  # no exponent of all ones
    return found


@pytest.mark.parametrize("name", COMPUTED)
def test_each_number_of_a_block(name: str) -> None:
    given = blocks(name, 6, 1)
    with np.errstate(over="ignore"):
        wanted = [GOLDEN[name](bytes(b), i) for b in given for i in range(quants.KINDS[name].size)]
    got = quants.dequantised(name, given.tobytes())
    assert got.dtype == np.float32 and np.array_equal(got.view(np.uint32), np.array(wanted, F).view(np.uint32))


@pytest.mark.extra
@pytest.mark.parametrize("name", COMPUTED)
def test_blocks_as_gguf_has_them(name: str) -> None:
    gguf = pytest.importorskip("gguf", reason="gguf is not installed")
    kind = getattr(gguf.GGMLQuantizationType, name)
    given = blocks(name, 3000, 2)
    wanted = gguf.dequantize(given.reshape(-1), kind).reshape(-1)
    got = quants.dequantised(name, given)
    assert np.array_equal(got.view(np.uint32), wanted.view(np.uint32))


@pytest.mark.extra
@pytest.mark.parametrize("name", sorted(quants.KINDS))
def test_sizes_as_gguf_has_them(name: str) -> None:
    gguf = pytest.importorskip("gguf", reason="gguf is not installed")
    number = getattr(gguf.GGMLQuantizationType, name)
    assert quants.QUANTISED[number][0] == name
    assert gguf.GGML_QUANT_SIZES[number] == quants.KINDS[name][:2]


@pytest.mark.parametrize("name", COMPUTED)
def test_the_other_byte_order(name: str) -> None:
    given = blocks(name, 5, 3)
    turned = given.copy()
    for at, length in quants.KINDS[name].fields:
        turned[:, at:at + length] = given[:, at:at + length][:, ::-1]
    assert np.array_equal(quants.dequantised(name, turned, foreign=True), quants.dequantised(name, given))
    assert (name in ("MXFP4", "NVFP4")) == np.array_equal(turned, given)


@pytest.mark.parametrize("name", ["Q4_0", "Q2_K", "TQ1_0"])
def test_halves_that_are_no_numbers(name: str) -> None:
    """No warning and no error: they are what they are."""
    given = blocks(name, 1, 4)
    for at, _ in quants.KINDS[name].fields:
        given[:, at:at + 2] = [0, 0x7C]  # infinity
    assert not np.isfinite(quants.dequantised(name, given)).all()


@pytest.mark.parametrize("name", LISTED)
def test_kinds_that_are_listed_only(name: str) -> None:
    with pytest.raises(ValueError, match=f"blocks of {name} are not computed here"):
        quants.dequantised(name, bytes(quants.KINDS[name].length))
