"""Weights that lie in parts, as bitsandbytes, GPTQ, AWQ, torchao and writers of float8 leave them."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.checkpoints.base.stored import Bytes, Stored, Strided
from kshell.checkpoints.quantized import joining, numbers, schemes
from kshell.checkpoints.quantized.on_demand import AT_ONCE, Columns, OnDemand
from kshell.errors import QError

F = np.float32
RNG = np.random.default_rng
DTYPES = {"f4": "float32", "f2": "float16", "u1": "uint8", "i1": "int8", "i4": "int32", "i8": "int64"}


def stored(array: np.ndarray | torch.Tensor, dtype: str = "") -> Strided:
    """A tensor as a file has it."""
    if isinstance(array, torch.Tensor):
        dtype = str(array.dtype).removeprefix("torch.")
        data = array.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        return Strided(dtype, array.shape, Bytes(data))
    array = np.ascontiguousarray(array) if array.ndim else array
    return Strided(dtype or DTYPES[array.dtype.str[1:]], array.shape, Bytes(array.tobytes()))


def described(about: dict[str, Any]) -> Strided:
    return stored(np.frombuffer(json.dumps(about).encode(), np.uint8))


def values(found: Stored) -> np.ndarray:
    """All numbers of a tensor in float32."""
    return numbers.floats(found.read(), found.dtype).reshape(found.shape)


def weight_of(tensors: dict[str, Stored], name: str, metadata: dict[str, str] | None = None,
              config: dict[str, Any] | None = None) -> OnDemand:
    """The weight that all tensors are parts of."""
    found = joining.joined(tensors, metadata or {}, config or {})
    assert list(found) == [name]
    weight = found[name]
    assert isinstance(weight, OnDemand) and weight.parts == tensors
    return weight


def equal(got: np.ndarray, wanted: np.ndarray) -> bool:
    return got.shape == wanted.shape and np.array_equal(got.astype(F).view(np.uint32), wanted.astype(F).view(np.uint32))


# ------------------------------------------------------------------------------------------------- bitsandbytes


NF4 = np.linspace(-1, 1, 16).astype(F)


def four_bits(shape: tuple[int, ...], block: int, seed: int = 0, **more: Any) -> tuple[dict[str, Stored], np.ndarray]:
    """The parts of a weight in 4 bits, and its numbers."""
    count = int(np.prod(shape))
    codes = RNG(seed).integers(0, 16, count + count % 2)
    scales = RNG(seed + 1).uniform(0.1, 2, -(-count // block)).astype(F)
    about = {"quant_type": "nf4", "blocksize": block, "dtype": "bfloat16", "shape": list(shape), **more}
    wanted = np.array([NF4[codes[i]] * scales[i // block] for i in range(count)], F).reshape(shape)
    return {"w": stored((codes[::2] << 4 | codes[1::2]).astype(np.uint8).reshape(-1, 1)), "w.absmax": stored(scales),
            "w.quant_map": stored(NF4), "w.quant_state.bitsandbytes__nf4": described(about)}, wanted


@pytest.mark.parametrize(("shape", "block"), [((4, 64), 64), ((3, 50), 64), ((5, 7), 64), ((2, 3, 4), 2)])
def test_four_bits(shape: tuple[int, ...], block: int) -> None:
    """Rows that are multiples of a block, and others; the last block may be short, and end in half a byte."""
    tensors, wanted = four_bits(shape, block)
    found = weight_of(tensors, "w")
    assert (found.dtype, found.scheme, found.cast_to) == ("float32", "nf4", "bfloat16")
    assert equal(values(found), wanted)


def test_four_bits_in_another_type() -> None:
    """quant_storage: the same bytes under another name of a type."""
    tensors, wanted = four_bits((4, 64), 64)
    data = tensors["w"].read()
    tensors["w"] = Strided("bfloat16", (64, 1), Bytes(bytes(data)))
    found = weight_of(tensors, "w")
    assert equal(values(found), wanted)
    part = bytearray(4 * 3)
    found.into(memoryview(part), 4 * 65)
    assert part == found.read()[4 * 65:4 * 68]


def test_four_bits_with_nested_scales() -> None:
    tensors, _ = four_bits((40, 64), 2, nested_blocksize=256, nested_dtype="float32", nested_offset=0.75)
    codes, table = RNG(3).integers(0, 256, 1280).astype(np.uint8), RNG(4).normal(size=256).astype(F)
    outer = RNG(5).uniform(1, 2, 5).astype(F)
    tensors |= {"w.absmax": stored(codes), "w.nested_absmax": stored(outer), "w.nested_quant_map": stored(table)}
    packed = np.frombuffer(tensors["w"].read(), np.uint8)
    wanted = []
    for i in range(2560):
        scale = table[codes[i // 2]] * outer[i // 2 // 256] + F(0.75)
        wanted.append(NF4[packed[i // 2] >> 4 if i % 2 == 0 else packed[i // 2] & 15] * scale)
    found = weight_of(tensors, "w")
    assert found.scheme == "nf4-nested" and equal(values(found), np.array(wanted, F).reshape(40, 64))


def test_rows_of_eight_bits() -> None:
    q, top = RNG(0).integers(-127, 128, (5, 6)).astype(np.int8), RNG(1).uniform(0.1, 3, 5).astype(F)
    tensors: dict[str, Stored] = {"a.SCB": stored(top), "a.weight": stored(q), "a.weight_format": stored(np.array(0, np.uint8))}
    wanted = np.array([[F(n) * top[i] * F(1 / 127) for n in row] for i, row in enumerate(q)], F)
    found = weight_of(tensors, "a.weight")
    assert (found.dtype, found.scheme) == ("float32", "int8-rows") and equal(values(found), wanted)
    del tensors["a.weight_format"]
    assert equal(values(weight_of(tensors, "a.weight")), wanted)
    tensors["a.weight_format"] = stored(np.array(2, np.uint8))  # tiled for a kernel
    assert joining.joined(tensors, {}, {}) == tensors


# ------------------------------------------------------------------------------------------------- GPTQ, AWQ


def words_down(n: np.ndarray, bits: int) -> np.ndarray:
    """Small integers put one after the other down each column, as one long number cut into words."""
    out = []
    for column in n.T:
        long = sum(int(v) << bits * i for i, v in enumerate(column))
        out.append([long >> 32 * w & 0xFFFFFFFF for w in range(len(column) * bits // 32)])
    return np.array(out, np.uint32).T.view(np.int32)


GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 32, "checkpoint_format": "gptq"}


def gptq(bits: int, is_less: bool = True, inputs: int = 96, outputs: int = 64, group: int = 32
         ) -> tuple[dict[str, Stored], np.ndarray, np.ndarray, np.ndarray]:
    """Parts, and the integers, zeros and scales that they hold."""
    groups = -(-inputs // group)
    q = RNG(bits).integers(0, 1 << bits, (inputs, outputs))
    zeros = RNG(bits + 1).integers(0, 1 << bits, (groups, outputs))
    scales = RNG(bits + 2).uniform(0.01, 1, (groups, outputs)).astype(np.float16)
    kept = (zeros - is_less) % (1 << bits)
    return ({"l.qweight": stored(words_down(q, bits)), "l.qzeros": stored(words_down(kept.T, bits).T),
             "l.scales": stored(scales)}, q, zeros, scales)


def by_groups(q: np.ndarray, zeros: np.ndarray, scales: np.ndarray, of: np.ndarray) -> np.ndarray:
    """(integer - zero) x scale, one at a time, with outputs in rows."""
    return np.array([[F(scales[of[i], o]) * F(q[i, o] - zeros[of[i], o]) for i in range(q.shape[0])]
                     for o in range(q.shape[1])], F)


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("form", ["gptq", "gptq_v2", None])
def test_gptq(bits: int, form: str | None) -> None:
    tensors, q, zeros, scales = gptq(bits, form != "gptq_v2")
    config = {"bits": bits, "group_size": 32, "desc_act": False, "sym": False}
    if form:
        config |= {"checkpoint_format": form, "quant_method": "gptq"}
    found = weight_of(tensors, "l.weight", config=config)
    assert (found.dtype, found.shape, found.scheme) == ("float32", (64, 96), f"gptq{bits}")
    assert equal(values(found), by_groups(q, zeros, scales, np.arange(96) // 32))


def test_gptq_with_groups_out_of_order() -> None:
    tensors, q, zeros, scales = gptq(4)
    of = RNG(9).permutation(np.arange(96) // 32).astype(np.int32)
    tensors["l.g_idx"] = stored(of)
    found = weight_of(tensors, "l.weight", config=GPTQ | {"desc_act": True})
    assert equal(values(found), by_groups(q, zeros, scales, of))
    for wrong in (-1, 3):
        tensors["l.g_idx"] = stored(np.where(np.arange(96) == 50, wrong, of).astype(np.int32))
        found = weight_of(tensors, "l.weight", config=GPTQ)
        with pytest.raises(QError, match=r"^ckpt: l.weight: the group of an input is out of bounds$"):
            found.read()


@pytest.mark.parametrize(("group", "setting"), [(96, -1), (64, 64)])
def test_gptq_with_other_groups(group: int, setting: int) -> None:
    """One group of all, and a last one that is short."""
    tensors, q, zeros, scales = gptq(4, group=group)
    found = weight_of(tensors, "l.weight", config=GPTQ | {"group_size": setting})
    assert equal(values(found), by_groups(q, zeros, scales, np.arange(96) // group))


AWQ = {"quant_method": "awq", "bits": 4, "group_size": 8, "version": "gemm"}


def awq_words(n: np.ndarray) -> np.ndarray:
    """Eight columns a word, those with even numbers first."""
    eights = n.reshape(len(n), -1, 8).astype(np.uint32)
    return sum(eights[:, :, column] << np.uint32(4 * i) for i, column in enumerate([0, 2, 4, 6, 1, 3, 5, 7])).view(np.int32)


@pytest.mark.parametrize("config", [AWQ, {"w_bit": 4, "q_group_size": 8, "zero_point": True, "version": "GEMM"}])
def test_awq(config: dict[str, Any]) -> None:
    q, zeros = RNG(0).integers(0, 16, (24, 40)), RNG(1).integers(0, 16, (3, 40))
    scales = RNG(2).uniform(0.1, 1, (3, 40)).astype(np.float16)
    tensors: dict[str, Stored] = {"l.qweight": stored(awq_words(q)), "l.qzeros": stored(awq_words(zeros)), "l.scales": stored(scales)}
    found = weight_of(tensors, "l.weight", config=config)
    assert (found.dtype, found.shape, found.scheme) == ("float32", (40, 24), "awq4")
    assert equal(values(found), by_groups(q, zeros, scales, np.arange(24) // 8))


# ------------------------------------------------------------------------------------------------- torchao, float8


def flattened(kind: str, parts: dict[str, Stored], dtype: str = "bfloat16", **data: Any
              ) -> tuple[dict[str, Stored], dict[str, str]]:
    """Parts under torchao's names, and its metadata."""
    about = {"_type": kind, "_data": {**data, "dtype": {"_type": "torch.dtype", "_data": dtype}}, "_tensor_data_names": list(parts)}
    return ({f"m.0._weight_{name}": part for name, part in parts.items()},
            {"m.0.weight": json.dumps(about), "tensor_names": '["m.0.weight"]', "format": "pt"})


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("size", [[1, 8], [1, 2], [2, 4], [4, 8]])
def test_torchao_int8(dtype: str, size: list[int]) -> None:
    grid = (4 // size[0], 8 // size[1])
    q, scale = torch.arange(-16, 16, dtype=torch.int8).view(4, 8), torch.rand(grid, generator=torch.manual_seed(1))
    zero = torch.arange(-2, grid[0] * grid[1] - 2, dtype=torch.int8).view(grid)
    spread = [t.repeat_interleave(size[0], 0).repeat_interleave(size[1], 1) for t in (scale, zero)]
    for parts, wanted in (({"qdata": q, "scale": scale}, q.float() * spread[0]),
                          ({"qdata": q, "scale": scale, "zero_point": zero}, (q.float() - spread[1].float()) * spread[0])):
        tensors, metadata = flattened("Int8Tensor", {n: stored(t) for n, t in parts.items()}, dtype, block_size=size)
        found = weight_of(tensors, "m.0.weight", metadata)
        assert (found.dtype, found.shape, found.scheme) == (dtype, (4, 8), "Int8Tensor")
        assert found.read() == stored(wanted.to(getattr(torch, dtype))).read()


@pytest.mark.parametrize("grid", [(1, 1), (6, 1), (3, 2), (6, 4)])
def test_torchao_float8(grid: tuple[int, int]) -> None:
    q = torch.randn(6, 4, generator=torch.manual_seed(2)).to(torch.float8_e4m3fn)
    scale = torch.rand(grid, generator=torch.manual_seed(3))
    tensors, metadata = flattened("Float8Tensor", {"qdata": stored(q), "scale": stored(scale)}, block_size=[1, 4])
    wanted = (q.float() * scale.repeat_interleave(6 // grid[0], 0).repeat_interleave(4 // grid[1], 1)).bfloat16()
    assert weight_of(tensors, "m.0.weight", metadata).read() == stored(wanted).read()


def test_torchao_parts_as_a_pickle_has_them() -> None:
    q, scale = torch.arange(8, dtype=torch.int8).view(2, 4), torch.tensor([[0.5], [2.0]])
    found = joining.torchao("Int8Tensor", "float32", {"qdata": stored(q), "scale": stored(scale)}, (1, 4))
    assert found is not None and equal(values(found), (q * scale).numpy())
    assert joining.torchao("Int4Tensor", "float32", {"qdata": stored(q), "scale": stored(scale)}, (1, 4)) is None


SCALES = {  # shape of the scales: length of a block, and what is shown
    (): ((300, 200), ""), (1,): ((300, 200), ""), (300,): ((1, 200), ""), (300, 1): ((1, 200), ""),
    (3, 2): ((128, 128), "-128x128"), (300, 25): ((1, 8), "-1x8"),
}


@pytest.mark.parametrize("shape", SCALES)
@pytest.mark.parametrize("name", ["scale", "scale_inv"])
def test_float8_with_scales(shape: tuple[int, ...], name: str) -> None:
    blocks, shown = SCALES[shape]
    q = torch.randn(300, 200, generator=torch.manual_seed(4)).to(torch.float8_e4m3fn)
    scale = torch.rand(shape, generator=torch.manual_seed(5)).bfloat16()
    rows, cols = np.arange(300)[:, None] // blocks[0], np.arange(200)[None, :] // blocks[1]
    table = scale.float().numpy().reshape(-(-300 // blocks[0]), -(-200 // blocks[1]))
    found = weight_of({"a.weight": stored(q), f"a.weight_{name}": stored(scale)}, "a.weight")
    assert (found.dtype, found.scheme) == ("float32", "float8_e4m3fn" + shown)
    assert equal(values(found), q.float().numpy() * table[rows, cols])


def test_float8_of_experts_with_exponents_as_scales() -> None:
    """Three dimensions, blocks of a size that the settings have, scales of e8m0."""
    q = torch.randn(2, 12, 10, generator=torch.manual_seed(6)).to(torch.float8_e5m2)
    scale = torch.tensor(np.arange(120, 120 + 2 * 3 * 2, dtype=np.uint8)).view(2, 3, 2).view(torch.float8_e8m0fnu)
    found = weight_of({"e.up": stored(q), "e.up_scale_inv": stored(scale)}, "e.up", config={"weight_block_size": [4, 8]})
    wide = scale.float().repeat_interleave(4, 1).repeat_interleave(8, 2)[:, :, :10]
    assert found.scheme == "float8_e5m2-4x8" and equal(values(found), (q.float() * wide).numpy())


# ------------------------------------------------------------------------------------------------- all of them


def samples() -> dict[str, tuple[dict[str, Stored], dict[str, str], dict[str, Any]]]:
    """Tensors, metadata and settings of a weight of each scheme."""
    nested, _ = four_bits((5, 10), 2, nested_blocksize=4, nested_offset=1)
    nested |= {"w.absmax": stored(np.arange(25, dtype=np.uint8)), "w.nested_quant_map": stored(np.arange(256).astype(F)),
               "w.nested_absmax": stored(np.arange(1, 8).astype(F))}
    q = torch.arange(-16, 16, dtype=torch.int8).view(4, 8)
    int8 = flattened("Int8Tensor", {"qdata": stored(q), "scale": stored(torch.rand(2, 2))}, block_size=[2, 4])
    rows: dict[str, Stored] = {"a.weight": stored(q), "a.SCB": stored(torch.rand(4))}
    eights: dict[str, Stored] = {"a.weight": stored(q.float().to(torch.float8_e5m2)), "a.weight_scale": stored(torch.rand(4, 1))}
    words = {"l.qweight": stored(awq_words(np.arange(64).reshape(4, 16) % 16)), "l.qzeros": stored(awq_words(np.ones((2, 16), int))),
             "l.scales": stored(np.ones((2, 16), np.float16))}
    grouped = gptq(3, inputs=32, outputs=32)[0] | {"l.g_idx": stored(np.zeros(32, np.int32))}
    return {"four": (four_bits((5, 7), 4)[0], {}, {}), "nested": (nested, {}, {}), "rows": (rows, {}, {}),
            "torchao": (*int8, {}), "float8": (eights, {}, {}), "awq": (words, {}, AWQ | {"group_size": 2}),
            "gptq": (grouped, {}, GPTQ | {"bits": 3})}


@pytest.mark.parametrize("name", samples())
def test_any_part_is_computed(name: str) -> None:
    """Any run of numbers, whatever the rows or blocks that they are computed in."""
    (found,) = joining.joined(*samples()[name]).values()
    whole, rng = found.read(), random.Random(1)
    width = len(whole) // found.count
    for _ in range(60):
        start, end = sorted(width * rng.randrange(found.count + 1) for _ in "ab")
        out = bytearray(end - start)
        found.into(memoryview(out), start)
        assert out == whole[start:end]


@pytest.mark.parametrize("name", samples())
def test_nothing_is_computed_at_opening(name: str) -> None:
    """Of the tensors only descriptions are read, and what they were stays reachable among others."""
    tensors, metadata, config = samples()[name]
    read: list[str] = []

    class Watched(Strided):
        def into(self, out: memoryview, start: int = 0) -> None:
            read.append(self.key)
            super().into(out, start)

    watched: dict[str, Stored] = {"before": stored(np.zeros(3, F))}
    for key, part in tensors.items():
        made = Watched(part.dtype, part.shape, part.memory)
        made.key = key
        watched[key] = made
    watched["z.bias"] = stored(np.ones(2, F))
    found = joining.joined(watched, metadata, config)
    assert all("quant_state" in key for key in read)
    first, weight, last = found
    assert (first, last) == ("before", "z.bias") and list(found[weight].parts) and not found[weight].parts.keys() & {first, last}


def test_rows_are_computed_in_pieces() -> None:
    """More numbers than are computed at a time."""
    inputs, outputs = 1024, 2048
    assert inputs * outputs > 2 * AT_ONCE
    q = RNG(0).integers(0, 256, (inputs // 4, outputs, 4)).astype(np.uint8)
    zeros = RNG(1).integers(0, 256, (8, outputs)).astype(np.uint8)
    scales = RNG(2).uniform(0.1, 1, (8, outputs)).astype(np.float16)
    tensors = {"qweight": stored(q.view(np.int32)[:, :, 0]), "qzeros": stored(zeros.view(np.int32)), "scales": stored(scales)}
    found = weight_of(tensors, "weight", config={"bits": 8, "group_size": 128, "checkpoint_format": "gptq_v2"})
    whole = q.transpose(0, 2, 1).reshape(inputs, outputs).astype(F) - zeros.astype(F).repeat(128, 0)
    assert equal(values(found), (whole * scales.astype(F).repeat(128, 0)).T)


def test_columns_are_read_in_few_passes() -> None:
    """Words of a thousand outputs, read in order a few outputs at a time; a single one leaves nothing in memory."""
    read = 0

    class Counted(Strided):
        def into(self, out: memoryview, start: int = 0) -> None:
            nonlocal read
            read += len(out)
            super().into(out, start)

    words = RNG(0).integers(0, 1 << 31, (4096, 1000)).astype(np.int32)
    part = Counted("int32", words.shape, Bytes(words.tobytes()))
    columns = Columns(part)
    assert np.array_equal(columns(7, 9), words[:, 7:9]) and np.array_equal(columns(3, 4), words[:, 3:4])
    assert read == 2 * words.nbytes
    for start in range(0, 1000, 3):
        assert np.array_equal(columns(start, min(start + 4, 1000)), words[:, start:start + 4])
    assert read <= 6 * words.nbytes


def changed(name: str, key: str, part: Stored | None) -> bool:
    """Are tensors still joined when one is another, or gone?"""
    tensors, metadata, config = samples()[name]
    if part is None:
        del tensors[key]
    else:
        tensors[key] = part
    found = joining.joined(tensors, metadata, config)
    assert found == tensors or any(isinstance(t, OnDemand) for t in found.values())
    return found != tensors


@pytest.mark.parametrize("name", samples())
def test_a_part_that_is_missing(name: str) -> None:
    needed = [key for key in samples()[name][0] if key != "l.g_idx"]
    assert [key for key in needed if changed(name, key, None)] == []


ABOUT = {"blocksize": 4, "shape": [5, 7], "dtype": "bfloat16"}
ZEROS = np.zeros
UNFIT = [
    ("four", "w", stored(ZEROS(17, np.uint8))), ("four", "w.absmax", stored(ZEROS(8, F))), ("four", "w.quant_map", stored(ZEROS(15, F))),
    ("four", "w.absmax", stored(ZEROS(9, np.int32))), ("four", "w.absmax", stored(ZEROS(9, np.uint8))),
    *[("four", "w.quant_state.bitsandbytes__nf4", part) for part in [
        stored(ZEROS(5, np.uint8)), stored(np.frombuffer(b"[" * 9999, np.uint8)), stored(np.frombuffer(b"[1]", np.uint8)),
        stored(np.frombuffer(b" " * 70_000 + json.dumps(ABOUT).encode(), np.uint8)),
        *[described(ABOUT | wrong) for wrong in (
            {"blocksize": 0}, {"blocksize": 3}, {"blocksize": "4"}, {"blocksize": True}, {"blocksize": 1 << 62}, {"shape": [5, -7]},
            {"shape": 35}, {"shape": [5, 8]}, {"shape": [1 << 40] * 9}, {"shape": []}, {"shape": None})]]],
    *[("nested", "w.quant_state.bitsandbytes__nf4", described({"blocksize": 2, "shape": [5, 10], "nested_blocksize": 4,
       "nested_offset": 1.0} | wrong)) for wrong in ({"nested_blocksize": 3}, {"nested_blocksize": None}, {"nested_offset": "1"},
                                                     {"nested_offset": 10 ** 400}, {"nested_offset": float("nan")})],
    ("nested", "w.nested_absmax", stored(ZEROS(6, F))), ("nested", "w.nested_quant_map", stored(ZEROS(255, F))),
    ("rows", "a.SCB", stored(ZEROS(3, F))), ("rows", "a.SCB", stored(ZEROS(4, np.int32))), ("rows", "a.weight", stored(ZEROS((4, 8), F))),
    ("rows", "a.weight", stored(ZEROS((4, 0), np.int8))), ("torchao", "m.0._weight_scale", stored(ZEROS((2, 3), F))),
    ("torchao", "m.0._weight_qdata", stored(ZEROS((4, 9), np.int8))), ("torchao", "m.0._weight_qdata", stored(ZEROS(32, np.int8))),
    ("float8", "a.weight_scale", stored(ZEROS((3, 1), F))), ("float8", "a.weight_scale", stored(ZEROS((4, 1), np.int32))),
    ("float8", "a.weight_scale", stored(ZEROS((4, 1, 1), F))), ("float8", "a.weight", stored(ZEROS((4, 8), F))),
    ("float8", "a.weight_scale", stored(ZEROS((0, 1), F))),
    *[(name, f"l.{key}", stored(ZEROS(shape, dtype))) for name, key, shape, dtype in (
        ("awq", "qweight", (4, 3), "i4"), ("awq", "qweight", (5, 2), "i4"), ("awq", "qzeros", (2, 3), "i4"), ("awq", "scales", (2, 15), "f2"),
        ("awq", "scales", (3, 16), "f2"), ("awq", "qweight", (4, 2), "f4"), ("awq", "g_idx", (4,), "i4"), ("awq", "qweight", (8,), "i4"),
        ("gptq", "qweight", (2, 32), "i4"), ("gptq", "qweight", (3, 31), "i4"), ("gptq", "qzeros", (2, 3), "i4"), ("gptq", "qzeros", (1, 4), "i4"),
        ("gptq", "scales", (1, 33), "f2"), ("gptq", "g_idx", (33,), "i4"), ("gptq", "g_idx", (32,), "f4"), ("gptq", "scales", (0, 32), "f2"))],
]


@pytest.mark.parametrize("case", range(len(UNFIT)))
def test_parts_that_do_not_fit(case: int) -> None:
    """They stay as they are, and nothing fails."""
    assert not changed(*UNFIT[case])


@pytest.mark.parametrize("config", [{}, {"bits": 3}, {"bits": 3, "group_size": "32"}, {"bits": 3.0, "group_size": 32},
                                    {"bits": [], "group_size": 32}, GPTQ | {"bits": 3, "checkpoint_format": "marlin"},
                                    GPTQ | {"bits": 3, "quant_method": "bitsandbytes"}, GPTQ | {"bits": 5}, GPTQ | {"bits": 4},
                                    GPTQ | {"bits": 3, "is_marlin_format": True}, AWQ, AWQ | {"version": "gemv"},
                                    {"bits": {}, "group_size": None, "quant_method": 3, "version": 7}])
def test_settings_of_other_layouts(config: dict[str, Any]) -> None:
    tensors = samples()["gptq"][0]
    assert joining.joined(tensors, {}, config) == tensors


@pytest.mark.parametrize("text", ["{}", "{", '{"_data": []}', '{"_data": {}, "_tensor_data_names": [[]]}', "[" * 100_000, '{"a": ' * 9999,
                                  '{"_type": [], "_data": {"dtype": {"_data": []}, "block_size": [[]]}, "_tensor_data_names": ["qdata", "scale"]}',
                                  '{"_type": "Int4Tensor", "_data": {"dtype": {"_data": "bfloat16"}, "block_size": [2, 4]},'
                                  ' "_tensor_data_names": ["qdata", "scale"]}'])
def test_metadata_that_describe_nothing(text: str) -> None:
    tensors, _, _ = samples()["torchao"]
    assert joining.joined(tensors, {"m.0.weight": text, "plain": text}, {}) == tensors


def test_a_name_that_is_taken() -> None:
    """A tensor that is no part of the weight but has its name is not replaced."""
    tensors, metadata, config = samples()["gptq"]
    tensors = {**tensors, "l.weight": stored(np.zeros(2, F))}
    assert joining.joined(tensors, metadata, config) == tensors


@settings(max_examples=200, deadline=None)
@given(name=st.sampled_from(sorted(samples())), seed=st.integers(0, 1 << 40))
def test_damaged_parts(name: str, seed: int) -> None:
    """Parts of other shapes and types, and other bytes: an error, or as many numbers as the shape says."""
    tensors, metadata, config = samples()[name]
    rng = random.Random(seed)
    key = rng.choice(sorted(tensors))
    part = tensors[key]
    data = bytearray(part.read())
    for _ in range(rng.randrange(1, 4)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    shape = list(part.shape)
    if shape and rng.random() < 0.3:
        i = rng.randrange(len(shape))
        shape[i] = rng.choice([0, 1, shape[i] - 1, shape[i]])
    tensors[key] = Strided(part.dtype, shape, Bytes(bytes(data)))
    for found in joining.joined(tensors, metadata, config).values():
        try:
            assert len(found.read()) == found.nbytes
        except QError as error:
            assert "out of bounds" in str(error)


# ------------------------------------------------------------------------------------------------- by the packages


@pytest.mark.extra
@pytest.mark.parametrize("kind", ["nf4", "fp4"])
@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_four_bits_as_bitsandbytes_has_them(kind: str, is_nested: bool, dtype: torch.dtype) -> None:
    """Rows of multiples of a block: its own kernel is wrong for others."""
    package = pytest.importorskip("bitsandbytes.functional", reason="bitsandbytes is not installed")
    weight = torch.randn(96, 256, generator=torch.manual_seed(7)).to(dtype)
    packed, state = package.quantize_4bit(weight, blocksize=64, quant_type=kind, compress_statistics=is_nested)
    tensors = {"w": stored(packed)} | {f"w.{key}": stored(part) for key, part in state.as_dict(packed=True).items()}
    found = weight_of(tensors, "w")
    assert found.scheme == kind + "-nested" * is_nested and found.cast_to == str(dtype).removeprefix("torch.")
    wanted = package.dequantize_4bit(packed, state)
    assert torch.equal(torch.from_numpy(values(found)).to(dtype), wanted)


@pytest.mark.extra
def test_eight_bits_as_bitsandbytes_has_them() -> None:
    package = pytest.importorskip("bitsandbytes.functional", reason="bitsandbytes is not installed")
    q, top = torch.randint(-127, 128, (40, 50), dtype=torch.int8), torch.rand(40) + 0.1
    found = weight_of({"a.weight": stored(q), "a.SCB": stored(top)}, "a.weight")
    assert torch.equal(torch.from_numpy(values(found)), package.int8_vectorwise_dequant(q, top))


@pytest.mark.extra
@pytest.mark.parametrize("kind", ["int8", "float8"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_weights_as_torchao_has_them(kind: str, dtype: torch.dtype) -> None:
    package = pytest.importorskip("torchao.quantization", reason="torchao is not installed")
    flat = pytest.importorskip("torchao.prototype.safetensors.safetensors_support")
    weight = torch.randn(32, 64, generator=torch.manual_seed(8)).to(dtype)
    if kind == "int8":
        tensor = package.Int8Tensor.from_hp(weight, package.PerRow())
    else:
        tensor = package.Float8Tensor.from_hp(weight, granularity=package.PerRow())
    parts, metadata = flat.flatten_tensor_state_dict({"0.weight": tensor})
    found = weight_of({key: stored(part) for key, part in parts.items()}, "0.weight", metadata)
    wanted = tensor.dequantize()
    assert found.scheme == type(tensor).__name__ and found.dtype == str(wanted.dtype).removeprefix("torch.")
    assert found.read() == stored(wanted).read()


def test_bits_across_words() -> None:
    """Three words hold 32 integers of 3 bits."""
    n = np.arange(64).reshape(64, 1) * 5 % 8
    words = words_down(n, 3)
    assert words.shape == (6, 1) and np.array_equal(schemes.run_of_bits(words, 3, 0, 64), n)
    assert np.array_equal(schemes.run_of_bits(words[1:], 3, 1, 5), n[11:16])
