"""What files of each kind may have in them: types, orders of bytes, headers, members; and what is refused."""

from __future__ import annotations

import io
import json
import random
import re
import struct
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open

from kshell.checkpoints.base.stored import WIDTHS, Bytes, File, Pieced, Strided
from kshell.checkpoints.files import pt_writing, weights_writing
from kshell.checkpoints.files.safetensors import DTYPES
from kshell.checkpoints.pickles.editing import encoded, tensor
from kshell.checkpoints.trees.opening import opened, tensors_of
from kshell.errors import QError
from kshell.kapi.checkpoint.stored_tensors import tensor_of
from kshell.session import Session
from tests.checkpoints.kinds import KINDS, Small, numbers, write_dcp, zipped
from tests.checkpoints.making import Made, save

ITEMS = {name: 2 * width if name == "F4" else width for name, width in ((name, WIDTHS[dtype]) for name, dtype in DTYPES.items())}


def header(entries: dict[str, Any], data: bytes, pad: str = "") -> bytes:
    text = (pad + json.dumps(entries)).encode()
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize("dtype", DTYPES)
def test_types_of_safetensors(dtype: str, tmp_path: Path) -> None:
    """Bytes of every type are read, and written again so that its own library reads the same."""
    width = WIDTHS[DTYPES[dtype]]
    shape = [3, 4] if dtype == "F4" else [3, 2]  # two of the first are a byte
    data = bytes(i % 2 if dtype == "BOOL" else (i * 37) % 256 for i in range(6 * width))
    (tmp_path / "a").write_bytes(header({"t": {"dtype": dtype, "shape": shape, "data_offsets": [0, len(data)]}}, data))
    found = opened(str(tmp_path / "a"))
    stored = found.value["t"]
    assert (stored.dtype, stored.shape) == (DTYPES[dtype], (3, 2)) and stored.read() == data
    got = tensor_of(stored)
    assert got.dtype == getattr(torch, stored.dtype) and got.contiguous().view(torch.uint8).numpy().tobytes() == data
    weights_writing.write_file(str(tmp_path / "b.safetensors"), {"t": stored})
    with safe_open(tmp_path / "b.safetensors", "pt") as f:
        back = f.get_tensor("t")
    assert back.dtype == got.dtype and back.shape == got.shape and back.view(torch.uint8).numpy().tobytes() == data


@pytest.mark.parametrize("dtype", ["F6_E2M3", "F6_E3M2"])
def test_types_that_torch_has_not(dtype: str, tmp_path: Path) -> None:
    """Their bytes are shown, and written as they were."""
    data = bytes(range(6))
    (tmp_path / "a").write_bytes(header({"t": {"dtype": dtype, "shape": [2, 4], "data_offsets": [0, 6]}}, data))
    stored = opened(str(tmp_path / "a")).value["t"]
    assert stored.scheme == dtype and stored.read() == data
    weights_writing.write_file(str(tmp_path / "b"), {"t": stored})
    text = (tmp_path / "b").read_bytes()
    entry = json.loads(text[8:8 + int.from_bytes(text[:8], "little")])["t"]
    assert (entry["dtype"], entry["shape"]) == (dtype, [2, 4]) and text.endswith(data)


def test_odd_headers(tmp_path: Path) -> None:
    """Data at odd places, blanks before the text, tensors without items, in any order."""
    entries = {"b": {"dtype": "F64", "shape": [1], "data_offsets": [3, 11]}, "a": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]},
               "none": {"dtype": "F32", "shape": [0, 5], "data_offsets": [3, 3]}, "one": {"dtype": "I16", "shape": [], "data_offsets": [11, 13]}}
    data = b"abc" + struct.pack("<d", 2.5) + struct.pack("<h", -7)
    for pad in ("", " ", "  \n\t"):
        (tmp_path / "a").write_bytes(header(entries, data, pad))
        found = {name: tensor_of(t) for name, t in opened(str(tmp_path / "a")).value.items()}
        assert found["b"].tolist() == [2.5] and found["a"].tolist() == list(b"abc")
        assert found["none"].shape == (0, 5) and found["one"].item() == -7


def test_more_dimensions_than_torch_has(tmp_path: Path) -> None:
    """The product of so many sizes would take minutes."""
    many = (1 << 62,) * 100_000
    (tmp_path / "a").write_bytes(header({"t": {"dtype": "U8", "shape": many, "data_offsets": [0, 0]}}, b""))
    with pytest.raises(QError, match="t has 100000 dimensions"):
        opened(str(tmp_path / "a"))
    rebuilt = ("torch._utils._rebuild_tensor_v2", (torch.zeros(1).untyped_storage(), 0, many, many, False, {}))
    sizes = ("torch._utils._rebuild_meta_tensor_no_storage", (torch.float32, many, many, False))
    for name, arguments in (rebuilt, sizes):
        save(Made(name, arguments, call=True), tmp_path / "a")
        try:
            tensors_of(opened(str(tmp_path / "a")).value)
        except QError as e:
            assert re.search("dimensions|memory", e.text)
    write_dcp(tmp_path, {"t": (many[:5000], [((0,), numbers(2))])}, {})
    with pytest.raises(QError, match="damaged"):
        opened(str(tmp_path))


# ------------------------------------------------------------------ .pt


def test_a_whole_tensor_a_list_and_a_number(tmp_path: Path) -> None:
    for value in (numbers(3), [numbers(2), {"a": numbers(1)}], 5, None, {}, (), torch.Size((2,)), torch.float32):
        torch.save(value, tmp_path / "a")
        tensors_of(opened(str(tmp_path / "a")).value)


def test_tensors_of_all_layouts(tmp_path: Path) -> None:
    dense = torch.tensor([[0.0, 1], [2, 0], [0, 3], [4, 5]])
    whole = numbers(6, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given: dict[str, Any] = {
            "coo": dense.to_sparse(), "csr": dense.to_sparse_csr(), "csc": dense.to_sparse_csc(), "bsr": dense.to_sparse_bsr((2, 1)),
            "bsc": dense.to_sparse_bsc((2, 1)), "loose": torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (3,)),
            "nested": torch.nested.nested_tensor([numbers(2, 3), numbers(1, 3)]), "expanded": numbers(3, 1).expand(3, 5),
            "conjugate": torch.randn(3, dtype=torch.complex64).conj(), "negative": torch.randn(3, dtype=torch.complex64).conj().imag,
            "turned": whole.t(), "steps": whole[::2, 1::2], "channels": numbers(2, 3, 4, 4).to(memory_format=torch.channels_last),
            "meta": torch.empty(3, 4, device="meta"), "quantized": torch.quantize_per_tensor(numbers(4), 0.5, 3, torch.qint8),
            "by channel": torch.quantize_per_channel(numbers(3, 4), torch.tensor([0.1, 0.2, 0.3]), torch.tensor([1, 2, 3]), 0, torch.quint8),
            "parameter": torch.nn.Parameter(numbers(2)), "asks": numbers(2).requires_grad_(), "half": numbers(3, dtype=torch.float8_e4m3fn),
            "odd": torch.arange(3).to(torch.uint16), "halves": torch.randn(2, dtype=torch.complex32),
        }
    torch.save(given, tmp_path / "a")
    with_meanings = opened(str(tmp_path / "a")).value
    m, graph = with_meanings
    for name, part in m.of(graph).items():
        got, wanted = tensor_of(m.of(part)), given[name]
        assert (got.dtype, got.layout, got.requires_grad, got.is_quantized) == (
            wanted.dtype, wanted.layout, wanted.requires_grad, wanted.is_quantized), name
        assert got.shape == wanted.shape if name != "nested" else got.is_nested
        if name == "meta":
            assert got.is_meta
        elif wanted.is_nested:
            assert all(map(torch.equal, got.unbind(), wanted.unbind()))
        elif wanted.is_quantized:
            assert torch.equal(got.dequantize(), wanted.dequantize()) and got.qscheme() == wanted.qscheme()
        elif wanted.layout is not torch.strided:
            assert torch.equal(got.to_dense(), wanted.to_dense()) and (name != "loose" or not got.is_coalesced())
        else:
            a, b = got.detach().resolve_conj().resolve_neg().contiguous(), wanted.detach().resolve_conj().resolve_neg().contiguous()
            assert torch.equal(a.view(torch.uint8), b.view(torch.uint8)), name
            assert got.stride() == wanted.stride() and type(got) is type(wanted), name


@settings(max_examples=60)
@given(st.data())
def test_views_of_any_strides(data: st.DataObject) -> None:
    """Whole and in parts, they are what torch makes of them; those out of bounds are refused."""
    shape = data.draw(st.lists(st.integers(0, 4), max_size=4))
    stride = data.draw(st.lists(st.integers(0, 7), min_size=len(shape), max_size=len(shape)))
    start = data.draw(st.integers(0, 9))
    memory = torch.arange(60, dtype=torch.int16)
    kept = Bytes(memory.numpy().tobytes())
    try:
        wanted = torch.as_strided(memory, shape, stride, start).contiguous().numpy().tobytes()
    except RuntimeError:
        with pytest.raises(ValueError, match="out of bounds"):
            Strided("int16", shape, kept, stride, start)
        return
    stored = Strided("int16", shape, kept, stride, start)
    assert stored.read() == wanted
    assert b"".join(map(bytes, stored.pieces(data.draw(st.integers(1, 30))))) == wanted
    if len(wanted):
        a, b = sorted(2 * data.draw(st.integers(0, len(wanted) // 2)) for _ in range(2))
        out = bytearray(b - a)
        stored.into(memoryview(out), a)
        assert out == wanted[a:b]


@settings(max_examples=60)
@given(st.data())
def test_tensors_of_parts(data: st.DataObject) -> None:
    """Parts that cover all of a tensor, whatever way it is cut, once or twice; read whole and in pieces."""
    shape = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    whole = torch.arange(torch.Size(shape).numel(), dtype=torch.int32).reshape(shape)
    boxes = [([0] * len(shape), shape)]
    for _ in range(data.draw(st.integers(0, 5))):
        (offsets, sizes), axis = boxes.pop(data.draw(st.integers(0, len(boxes) - 1))), data.draw(st.integers(0, len(shape) - 1))
        cut = data.draw(st.integers(0, sizes[axis]))
        for first, count in ((0, cut), (cut, sizes[axis] - cut)):
            boxes.append(([*offsets[:axis], offsets[axis] + first, *offsets[axis + 1:]], [*sizes[:axis], count, *sizes[axis + 1:]]))
    boxes += data.draw(st.lists(st.sampled_from(boxes), max_size=2))

    def part(offsets: list[int], sizes: list[int]) -> Any:
        where = tuple(slice(o, o + n) for o, n in zip(offsets, sizes, strict=True))
        return offsets, Strided("int32", sizes, Bytes(whole[where].contiguous().numpy().tobytes()))

    parts = [part(*box) for box in boxes]
    stored = Pieced("int32", shape, parts, "a part is missing")
    assert stored.read() == whole.numpy().tobytes()
    assert b"".join(map(bytes, stored.pieces(data.draw(st.integers(4, 40))))) == whole.numpy().tobytes()
    left_out = data.draw(st.integers(0, len(parts) - 1))
    rest = parts[:left_out] + parts[left_out + 1:]
    seen = torch.zeros(shape, dtype=torch.bool)
    for offsets, piece in rest:
        seen[tuple(slice(o, o + n) for o, n in zip(offsets, piece.shape, strict=True))] = True
    if seen.all():
        assert Pieced("int32", shape, rest).read() == whole.numpy().tobytes()
    else:
        with pytest.raises(QError, match="a part is missing"):
            Pieced("int32", shape, rest).read()


def test_what_is_written_is_a_zip_of_torch(tmp_path: Path) -> None:
    """Members at multiples of 64 bytes with right checksums, which Python's zipfile and torch read; the same bytes each time."""
    out = []
    for _ in range(2):
        f = io.BytesIO()
        stored = {"w": Strided("float32", (3, 2), Bytes(numbers(3, 2).numpy().tobytes())), "n": 5}
        pt_writing.write(f, {name: tensor(x) if isinstance(x, Strided) else encoded(x) for name, x in stored.items()}, [], 2, "a")
        out.append(f.getvalue())
    assert out[0] == out[1]
    (tmp_path / "a.pt").write_bytes(out[0])
    with zipfile.ZipFile(tmp_path / "a.pt") as z:
        assert z.testzip() is None
        for info in z.infolist():
            name, extra = struct.unpack_from("<HH", out[0], info.header_offset + 26)
            assert (info.header_offset + 30 + name + extra) % 64 == 0
    back = torch.load(tmp_path / "a.pt", weights_only=True, mmap=True)
    assert torch.equal(back["w"], numbers(3, 2)) and back["n"] == 5


def test_bytes_behind_a_zip(tmp_path: Path) -> None:
    """Those that torch.load accepts, also as a comment; what is written has none. More, or less, is damage."""
    path, session = tmp_path / "a.pt", Session()
    torch.save({"w": numbers(30_000), "n": 5}, path)
    data = path.read_bytes()
    for after in (b"\0", b"a line\n", bytes(1000), data[:1000], b"PK\5\6", random.Random(3).randbytes(69_562)):
        for whole in (data + after, data[:-2] + struct.pack("<H", min(len(after), 65_535)) + after):
            path.write_bytes(whole)
            for is_mapped in (False, True):
                assert torch.load(path, weights_only=True, mmap=is_mapped)["n"] == 5
            session.run(f'd:ckpt`$":{path}"; d[`n]:6; ckpt(`$":{path}.b";d)')
            back = torch.load(f"{path}.b", weights_only=True)
            assert torch.equal(back["w"], numbers(30_000)) and back["n"] == 6
            assert zipfile.ZipFile(f"{path}.b").testzip() is None
    for whole in (data + bytes(70_000), data + b"PK\5\6" + bytes(18), data[:-1], data[:-2] + data[-1:]):
        path.write_bytes(whole)
        with pytest.raises(RuntimeError):
            torch.load(path)
        with pytest.raises(QError, match=r"a\.pt is (damaged|not a checkpoint)"):
            opened(str(path))


@pytest.mark.slow
def test_an_exported_program(tmp_path: Path) -> None:
    """A .pt2 of this torch: names of parameters, buffers and constants."""
    program = torch.export.export(Small(), (torch.ones(1, 2),))
    torch.export.save(program, tmp_path / "a.pt2")
    found = tensors_of(opened(str(tmp_path / "a.pt2")).value)
    for name, t in {**program.state_dict, **program.constants}.items():
        assert torch.equal(tensor_of(found[name]), t.detach()), name


def test_zips_of_other_programs(tmp_path: Path) -> None:
    for members, why in [({"a.txt": b"x"}, "not a checkpoint"), ({"word/document.xml": b"x"}, "not a checkpoint"),
                         ({"a/data.pkl": b"N.", "b/data.pkl": b"N."}, "not a checkpoint"), ({"x/y/data.pkl": b"N."}, "not a checkpoint")]:
        zipped(tmp_path / "a.pt", members)
        with pytest.raises(QError, match=why):
            opened(str(tmp_path / "a.pt"))
    zipped(tmp_path / "a.pt", {})
    with pytest.raises(QError, match=r"a\.pt is (not a checkpoint|damaged)"):
        opened(str(tmp_path / "a.pt"))


def test_arrays_of_all_orders(tmp_path: Path) -> None:
    whole = np.arange(24).reshape(2, 3, 4)
    for code in ("?", "<i2", ">i2", ">f4", "<f8", ">c16", "u1", "<f2"):
        for x in (whole.astype(code), np.asfortranarray(whole.astype(code)), whole.astype(code)[0, 0, 0], whole[:0].astype(code)):
            np.save(tmp_path / "a.npy", x)
            got = tensor_of(opened(str(tmp_path / "a.npy")).value).numpy()
            assert np.array_equal(got, x) and got.dtype == x.dtype.newbyteorder("=")


def test_an_open_file_is_given_back(tmp_path: Path) -> None:
    """What is read of a file holds it open; nothing else does."""
    import gc
    import os

    path, _ = KINDS["dcp"](tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    found = {name: tensor_of(t) for name, t in tensors_of(opened(str(path)).value).items()}
    del found
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_files_are_read_at_their_places(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(range(100)))
    file = File(str(tmp_path / "a")).part(10, 50)
    assert file.read(5, 3) == bytes((15, 16, 17)) and file.stream.read() == bytes(range(10, 60))
    for start, size, why in ((0, 101, "cut off"), (101, -1, "cut off"), (90, 20, "cut off")):
        with pytest.raises(ValueError, match=why):
            File(str(tmp_path / "a")).part(start, size)
    with pytest.raises(QError, match="is cut off"):
        File(str(tmp_path / "a")).read(95, 10)
    for path in (tmp_path, "/dev/null"):
        with pytest.raises((ValueError, OSError)):
            File(str(path))
