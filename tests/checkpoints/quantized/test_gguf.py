"""GGUF files: what they hold, how much of them is read, and what is refused."""

from __future__ import annotations

import random
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kshell.checkpoints.base.stored import WIDTHS, File, Stored
from kshell.checkpoints.quantized import gguf, quants
from kshell.errors import QError
from kshell.store.archive import Room, TooMuch
from tests.checkpoints.quantized import gguf_files as files
from tests.support.damage import damaged

FIELDS: dict[str, files.Field] = {
    "general.architecture": (8, "llama"), "general.alignment": (4, 32), "u8": (0, 200), "i8": (1, -3), "u16": (2, 65535),
    "i16": (3, -300), "i32": (5, -70000), "f32": (6, 1.5), "yes": (7, True), "u64": (10, 1 << 63), "i64": (11, -(1 << 40)),
    "f64": (12, 0.1), "empty": (9, (8, [])), "tokens": (9, (8, ["<s>", "a", "é😀"])), "scores": (9, (6, [0.5, -1.0])),
    "types": (9, (5, [1, -2])), "flags": (9, (7, [True, False])), "bytes": (9, (0, [0, 255])),
    "nested": (9, (9, [(9, [(5, [1, 2]), (8, ["x"])]), (12, [0.25])])),
}
NESTED = [[[1, 2], ["x"]], [0.25]]
NUMBER = {name: number for number, (name, _) in quants.QUANTISED.items()}
NAMES = {number: dtype for number, (_, dtype) in gguf.PLAIN.items()}


def content(number: int, shape: tuple[int, ...], seed: int = 0) -> bytes:
    """Random bytes of a tensor of a type."""
    found = np.random.default_rng(seed + number)
    if number in NAMES:
        return found.bytes(WIDTHS[NAMES[number]] * int(np.prod(shape)))
    kind = quants.QUANTISED[number][1]
    blocks = found.integers(0, 256, (int(np.prod(shape)) // kind.size, kind.length), np.uint8)
    for at, length in kind.fields:
        blocks[:, at + length - 1] &= 0x3F
    return blocks.tobytes()


def all_types() -> dict[str, files.Tensor]:
    """A tensor of each type."""
    found = {name: (number, (3, 4), content(number, (3, 4))) for number, (name, _) in gguf.PLAIN.items()}
    for name, number in NUMBER.items():
        shape = (2, 1, 2 * quants.KINDS[name].size)
        found[name] = (number, shape, content(number, shape))
    return found


class Recorded(File):
    """A file that knows what was read of it."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.reads: list[tuple[int, int]] = []

    def into(self, out: memoryview, offset: int) -> None:
        """As of all files."""
        self.reads.append((offset, len(out)))
        super().into(out, offset)


@pytest.fixture
def opened(tmp_path: Path) -> Callable[[bytes], tuple[dict[str, Stored], dict[str, Any], Recorded]]:
    """A function that writes bytes into a file and reads its head."""
    def opened(data: bytes) -> tuple[dict[str, Stored], dict[str, Any], Recorded]:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.gguf"
        path.write_bytes(data)
        file = Recorded(str(path))
        return *gguf.read(file, Room(file.size)), file
    return opened


def test_fields_of_each_type(opened: Any) -> None:
    tensors, fields, _ = opened(files.whole({}, FIELDS))
    assert tensors == {}
    wanted = {key: value[1] if kind == 9 else value for key, (kind, value) in FIELDS.items()} | {"nested": NESTED}
    assert fields == wanted and list(fields) == list(wanted)
    assert fields["yes"] is True and fields["flags"] == [True, False] and fields["scores"][0].__class__ is float


def test_tensors_of_each_type(opened: Any) -> None:
    given = all_types()
    tensors, _, _ = opened(files.whole(given, FIELDS))
    assert list(tensors) == list(given)
    for name, (number, shape, data) in given.items():
        found = tensors[name]
        assert found.shape == shape
        if number in NAMES:
            assert found.dtype == NAMES[number] and not found.scheme and found.read() == data
            continue
        assert found.dtype == "float32" and found.scheme == name
        assert found.packed.read() == data and found.packed.shape == (2, 1, len(data) // 2)
        if quants.KINDS[name].compute:
            assert found.read() == quants.dequantised(name, data).tobytes()
        else:
            with pytest.raises(QError, match=rf"^ckpt: \S+\.gguf: {name} is of type {name}, whose numbers kshell does not compute$"):
                found.read()


@pytest.mark.parametrize("align", [8, 64])
def test_version_2_and_alignments(opened: Any, align: int) -> None:
    given = {"a": (0, (5,), content(0, (5,))), "b": (24, (3,), b"abc"), "s": (28, (), struct.pack("<d", 2.5))}
    tensors, _, _ = opened(files.whole(given, {"general.alignment": (4, align)}, version=2, align=align))
    assert [t.read() for t in tensors.values()] == [data for _, _, data in given.values()]
    assert tensors["s"].shape == ()


def test_the_other_byte_order(opened: Any) -> None:
    """Numbers, and the fields of several bytes of blocks, are turned around; bytes are not."""
    given, turned = all_types(), {}
    for name, (number, shape, data) in given.items():
        if number in NAMES:
            width = len(data) // 12
            turned[name] = (number, shape, np.frombuffer(data, f"u{width}").byteswap().tobytes())
        else:
            blocks = np.frombuffer(data, np.uint8).reshape(-1, quants.KINDS[name].length).copy()
            for at, length in quants.KINDS[name].fields:
                blocks[:, at:at + length] = blocks[:, at:at + length][:, ::-1].copy()
            turned[name] = (number, shape, blocks.tobytes())
    little, fields, _ = opened(files.whole(given, FIELDS))
    big, same, _ = opened(files.whole(turned, FIELDS, order=">"))
    assert same == fields
    for name, number in [(name, number) for name, (number, _, _) in given.items()]:
        if number in NAMES or quants.KINDS[name].compute:
            assert big[name].read() == little[name].read(), name


@pytest.mark.parametrize("name", ["Q4_0", "Q6_K", "MXFP4"])
def test_any_part_is_read(opened: Any, name: str) -> None:
    """Any run of numbers, from blocks that are cut on both sides; only those blocks are read."""
    size, length = quants.KINDS[name][:2]
    shape = (3, 4 * size)
    tensors, _, file = opened(files.whole({"w": (NUMBER[name], shape, content(NUMBER[name], shape))}, {}))
    found, whole = tensors["w"], tensors["w"].read()
    rng = random.Random(6)
    for _ in range(100):
        start, end = sorted(rng.randrange(12 * size + 1) for _ in "ab")
        out = bytearray(4 * (end - start))
        file.reads.clear()
        found.into(memoryview(out), 4 * start)
        assert out == whole[4 * start:4 * end]
        wanted = -(-end // size) - start // size if end > start else 0
        assert sum(n for _, n in file.reads) == wanted * length


def test_large_tensors_are_computed_in_pieces(opened: Any) -> None:
    shape = (40, 1 << 15)
    tensors, _, _ = opened(files.whole({"w": (8, shape, content(8, shape))}, {}))
    found = tensors["w"]
    joined = b"".join(bytes(piece) for piece in found.pieces(1 << 20))
    tracemalloc.start()
    whole = sum(int(np.frombuffer(piece, np.float32)[0] != 7) for piece in found.pieces(1 << 20))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert joined == found.read() and whole == 5 and peak < 6 << 20


def test_opening_reads_the_head_only(opened: Any) -> None:
    shape = (64, 1 << 16)
    _, _, file = opened(files.whole({"w": (24, shape, bytes(1 << 22))}, FIELDS))
    assert sum(n for _, n in file.reads) <= 1 << 18


def test_heads_longer_than_a_window(opened: Any) -> None:
    """Texts and arrays that are longer than what is read at a time, or lie across its end."""
    rng = random.Random(2)
    tokens = ["é" * rng.randrange(60) for _ in range(20_000)]
    fields = {"long": (8, "x" * (1 << 19)), "tokens": (9, (8, tokens)), "scores": (9, (6, [float(i) for i in range(100_000)])),
              "last": (8, "end")}
    _, found, _ = opened(files.whole({}, fields))
    assert found["long"] == fields["long"][1] and found["tokens"] == tokens
    assert found["scores"] == fields["scores"][1][1] and found["last"] == "end"


def test_tokens_that_are_no_text(opened: Any) -> None:
    _, fields, _ = opened(files.whole({}, {"tokens": (9, (8, [b"\xff\xfea", "b"]))}))
    assert fields == {"tokens": ["\\xff\\xfea", "b"]}


def test_types_that_are_not_known(opened: Any) -> None:
    tensors, _, _ = opened(files.whole({"a": (99, (1 << 40, 3), b""), "b": (0, (2,), bytes(8))}, {}))
    assert tensors["a"].scheme == "type 99" and tensors["a"].shape == (1 << 40, 3) and tensors["a"].packed is None
    with pytest.raises(QError, match=r"ckpt: \S+\.gguf: a is of type 99, whose numbers kshell does not compute"):
        tensors["a"].into(memoryview(bytearray(4)))
    assert tensors["b"].read() == bytearray(8)


def placed(*rows: bytes, data: int = 64, fields: tuple[bytes, ...] = ()) -> bytes:
    """A file with descriptions as they are given."""
    start = files.head(rows, fields)
    return start + bytes(-len(start) % 32 + data)


def deep(n: int) -> bytes:
    """Arrays within one another, the innermost without items."""
    return files.text("k") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * (n - 1) + struct.pack("<IQ", 0, 0)


WRONG = {
    "it is no GGUF file": b"GGUF\3\0\0\0",
    "version 1 of GGUF is not known": b"GGUF" + struct.pack("<IQQ", 1, 0, 0),
    "version 4 of GGUF is not known": b"GGUF" + struct.pack(">IQQ", 4, 0, 0),
    "it declares 1152921504606846976 tensors, and is too short": b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 0),
    "it declares 1152921504606846976 fields, and is too short": b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60) + bytes(99),
    "field number 0: it is cut off": files.head([], [struct.pack("<Q", 1 << 60) + bytes(9)]),
    "field k: it is cut off": files.head([], [files.text("k") + struct.pack("<IQ", 8, 1 << 60)]),
    "field k: its type 13 is not known": files.head([], [files.text("k") + struct.pack("<IQ", 13, 0)]),
    "field a: its type 77 is not known": files.head([], [files.text("a") + struct.pack("<IIQ", 9, 77, 0)]),
    "field t: it is cut off": files.head([], [files.text("t") + struct.pack("<IIQ", 9, 8, 1 << 60)]),
    "field n: it is cut off": files.head([], [files.text("n") + struct.pack("<IIQ", 9, 5, 1 << 60)]),
    "field m: it is cut off": files.head([], [files.text("m") + struct.pack("<IIQ", 9, 9, 1 << 60)]),
    "field k: its arrays are more than 4 deep": files.head([], [deep(5)]),
    "field twice: it is there twice": files.head([], [files.entry("twice", 0, 1)] * 2),
    "field general.alignment: it is no power of two": placed(fields=(files.entry("general.alignment", 4, 24),)),
    "field general.alignment: it is no power": placed(fields=(files.entry("general.alignment", 4, 0),)),
    "field general.alignment: it is no": placed(fields=(files.entry("general.alignment", 8, "x"),)),
    "tensor number 1: it is cut off": placed(files.described("a", 0, (1,), 0), struct.pack("<Q", 1 << 62) + bytes(20)),
    "tensor w: it is cut off": files.head([files.text("w") + struct.pack("<IQ", 4, 1) + bytes(8)], []),
    "tensor w: it has 5 dimensions": placed(files.described("w", 0, (1,) * 5, 0)),
    "tensor w: it has a wrong shape, 3 0": placed(files.described("w", 0, (3, 0), 0)),
    "tensor w: it has a wrong shape": placed(files.described("w", 99, (1 << 40, 1 << 40), 0)),
    "tensor w is there twice": placed(*[files.described("w", 0, (1,), 32 * i) for i in range(2)]),
    "tensor w: its offset 4 is no multiple of 32": placed(files.described("w", 0, (1,), 4)),
    "tensor v overlaps w": placed(files.described("w", 0, (9,), 0), files.described("v", 0, (1,), 32)),
    "tensor w overlaps u": placed(files.described("w", 99, (9,), 32), files.described("u", 0, (9,), 0)),
    "tensor w is out of bounds": placed(files.described("w", 0, (17,), 0)),
    "tensor x is out of bounds": placed(files.described("x", 0, (1,), 1 << 60)),
    "tensor y is out of bounds": placed(files.described("y", 0, (1 << 60,), 0)),
    "tensor z is out of bounds": placed(files.described("z", 99, (1,), 1 << 60)),
    "tensor q: its rows are no multiple of 32, as those of Q4_0 are": placed(files.described("q", 2, (2, 48), 0)),
    "tensor s: its rows are no multiple of 256, as those of Q4_K are": placed(files.described("s", 12, (), 0)),
    r"tensor a\?b: it has 9 dimensions": placed(files.described("a\nb", 0, (1,) * 9, 0)),
}


@pytest.mark.parametrize("reason", WRONG)
def test_what_is_wrong_is_said(opened: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{reason}"):
        opened(WRONG[reason])


def test_four_arrays_deep(opened: Any) -> None:
    assert opened(files.head([], [deep(4)]))[1] == {"k": [[[[]]]]}


@pytest.mark.parametrize(("kind", "count", "item"), [(8, 100_000, bytes(8)), (5, 400_000, b"\1\1\1\1"), (6, 200_000, bytes(4)),
                                                     (9, 100_000, bytes(12))])
def test_arrays_are_counted_before_they_are_made(tmp_path: Path, kind: int, count: int, item: bytes) -> None:
    """Many empty texts, numbers, empty arrays."""
    path = tmp_path / "a.gguf"
    path.write_bytes(files.head([], [files.text("k") + struct.pack("<IIQ", 9, kind, count) + item * count]))
    file, room = File(str(path)), Room(0)
    tracemalloc.start()
    room.left = 4 << 20
    with pytest.raises(TooMuch):
        gguf.read(file, room)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


def test_a_file_that_changes(opened: Any, tmp_path: Path) -> None:
    tensors, _, _ = opened(files.whole({"w": (2, (32,), bytes(18))}, {}))
    (tmp_path / "0.gguf").write_bytes(b"GGUF")
    with pytest.raises(QError, match="has changed since it was opened"):
        tensors["w"].read()


SAMPLE = files.whole(all_types(), FIELDS)
START = SAMPLE.index(all_types()["F32"][2])


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 40), head_only=st.booleans())
def test_damaged_files(tmp_path: Path, seed: int, head_only: bool) -> None:
    """Damage is said, or what is read are the numbers that the bytes stand for; and never more memory than the
    budget."""
    rng = random.Random(seed)
    data = damaged(SAMPLE[:START], rng) + SAMPLE[START:] if head_only else damaged(SAMPLE, rng)
    path = tmp_path / "d.gguf"
    path.write_bytes(data)
    file, room = File(str(path)), Room(len(data))
    budget = room.left
    tracemalloc.start()
    try:
        tensors, _ = gguf.read(file, room)
        for found in tensors.values():
            if found.count < 1 << 20:
                assert len(found.read()) == found.nbytes
    except (ValueError, QError) as error:
        assert str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < budget


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(START, len(SAMPLE) - 1), bit=st.integers(0, 7))
def test_a_flip_in_a_tensor_is_in_no_other(tmp_path: Path, at: int, bit: int) -> None:
    data = bytearray(SAMPLE)
    data[at] ^= 1 << bit
    results = []
    for name, content_of in (("a", SAMPLE), ("b", bytes(data))):
        path = tmp_path / f"{name}.gguf"
        path.write_bytes(content_of)
        tensors, fields = gguf.read(File(str(path)), Room(len(data)))
        results.append(({n: t.packed.read() if t.scheme else t.read() for n, t in tensors.items()}, fields))
    (before, fields), (after, same) = results
    assert fields == same and list(before) == list(after)
    assert sum(before[n] != after[n] for n in before) <= 1


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, len(SAMPLE) - 1))
def test_files_that_are_cut_off(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "c.gguf"
    path.write_bytes(SAMPLE[:cut])
    with pytest.raises(ValueError, match=r"cut off|out of bounds|no GGUF file|too short"):
        gguf.read(File(str(path)), Room(cut))


@pytest.mark.extra
def test_files_that_gguf_writes(opened: Any, tmp_path: Path) -> None:
    package = pytest.importorskip("gguf", reason="gguf is not installed")
    w = package.GGUFWriter(tmp_path / "w.gguf", "llama")
    w.add_array("tokenizer.ggml.tokens", ["a", "é"])
    w.add_float32("scale", 0.5)
    values = np.random.default_rng(1).normal(size=(4, 64)).astype(np.float32)
    wanted = {}
    for name in ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "MXFP4"):
        kind = getattr(package.GGMLQuantizationType, name)
        packed = package.quantize(values, kind)
        w.add_tensor(name, packed, raw_dtype=kind)
        wanted[name] = package.dequantize(packed, kind).tobytes()
    w.add_tensor("plain", values)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    tensors, fields, _ = opened((tmp_path / "w.gguf").read_bytes())
    assert fields["tokenizer.ggml.tokens"] == ["a", "é"] and fields["scale"] == 0.5
    assert {n: bytes(t.read()) for n, t in tensors.items()} == wanted | {"plain": values.tobytes()}
    assert {t.shape for t in tensors.values()} == {(4, 64)}


@pytest.mark.extra
def test_files_as_gguf_reads_them(tmp_path: Path) -> None:
    package = pytest.importorskip("gguf", reason="gguf is not installed")
    path = tmp_path / "a.gguf"
    path.write_bytes(SAMPLE)
    tensors, _ = gguf.read(File(str(path)), Room(len(SAMPLE)))
    for found in package.GGUFReader(path).tensors:
        if found.name in quants.KINDS and quants.KINDS[found.name].compute:
            wanted = package.dequantize(found.data, found.tensor_type)
            assert tensors[found.name].read() == wanted.tobytes(), found.name
