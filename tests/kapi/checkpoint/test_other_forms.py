"""Checkpoints in forms other than that in which torch.save writes them today."""

from __future__ import annotations

import json
import os
import random
import re
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from kshell.errors import QError
from kshell.kapi.checkpoint.trees import tensors_in
from kshell.session import Session
from tests.support.damage import damaged, memory, peak_from_here, reading

pytestmark = pytest.mark.filterwarnings("ignore")
TYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8,
         torch.bool, torch.complex64, torch.complex128]


def state() -> dict[str, Any]:
    """Tensors of all types, of shared memory, out of order, empty; and plain values."""
    torch.manual_seed(1)
    whole = torch.randn(4, 6)
    made = {f"t{i}": torch.randn(3, 5).mul(9).to(t) for i, t in enumerate(TYPES)}
    return {**made, "whole": whole, "row": whole[1], "turned": whole.t(), "none": torch.empty(0, 3), "one": torch.tensor(2.5),
            "epoch": 7, "name": "a text", "rate": 0.1, "flag": True, "nothing": None, "list": [1, 2.5, "x"]}


def same(session: Session, path: str, expected: dict[str, Any]) -> None:
    session.run(f"d:ckpt`:{path}")
    found = dict(tensors_in(session["d"]))
    wanted = {k: v for k, v in expected.items() if isinstance(v, torch.Tensor)}
    assert list(found) == list(wanted)
    for name, t in wanted.items():
        assert found[name].dtype == t.dtype and torch.equal(found[name], t), name
    if "epoch" in expected:
        assert session.run("(7;`$\"a text\";.1;1b;::;(1;2.5;`x))~d`epoch`name`rate`flag`nothing`list") is True


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])  # in others torch writes no ids of memory
def test_the_form_before_1_6(session: Session, protocol: int) -> None:
    torch.save(state(), "old.pt", _use_new_zipfile_serialization=False, pickle_protocol=protocol)
    same(session, "old.pt", state())
    assert session.run("d[`whole;1;0]:9e;9=first tensor d`row") is True  # a row is the same memory


def test_the_form_before_1_6_with_many_values(session: Session) -> None:
    """Pickles that are longer than what is read of them at first."""
    many = {f"layer{i}.weight": torch.full((2,), float(i)) for i in range(4000)}
    torch.save(many, "old.pt", _use_new_zipfile_serialization=False)
    same(session, "old.pt", many)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("part", range(40))
def test_the_form_before_1_6_cut_off_or_longer(session: Session, part: int) -> None:
    torch.save({"a": torch.arange(10.0), "b": [1, "x", 2.5]}, "old.pt", _use_new_zipfile_serialization=False)
    data = Path("old.pt").read_bytes()
    for wrong in (data[: 20 + part * (len(data) - 21) // 39], data + b"x" * (part + 1)):
        Path("bad.pt").write_bytes(wrong)
        with pytest.raises(QError, match=r"bad\.pt is (damaged|refused|not a checkpoint)"):
            session.run("ckpt`:bad.pt")


def test_a_form_before_1_6_that_holds_more_than_values(session: Session) -> None:
    torch.save({"net": torch.nn.Linear(2, 1)}, "old.pt", _use_new_zipfile_serialization=False)
    assert session.run("n:(ckpt`:old.pt)`net;objtype n").s == "torch.nn.modules.linear.Linear"
    assert session.run("(`weight`bias~2#key n;2=n`in_features)").a.all()
    session.run("n[`bias]:n[`bias]+1;ckpt(`:new.pt;(enlist`net)!enlist n)")  # as a zip, which has no source texts
    old, new = (torch.load(name, weights_only=False)["net"] for name in ("old.pt", "new.pt"))
    assert torch.equal(new.weight, old.weight) and torch.equal(new.bias, old.bias + 1) and new.in_features == 2


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.by = torch.nn.Linear(3, 2), torch.tensor([2.0, 3.0])
        self.sizes, self.note = [1, 2], "a text"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) * self.by + torch.ones(2) * self.sizes[1]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_program_is_written_with_its_code(session: Session) -> None:
    x, net = torch.randn(4, 3), Scaled()
    torch.jit.script(net).save("program.pt")
    session.run("p:ckpt`:program.pt;ckpt(`:same.pt;p)")
    assert torch.equal(torch.jit.load("same.pt")(x), net(x))
    session.run("i:p`inner;i[`weight]:2*i`weight;ckpt(`:twice.pt;p)")
    found = torch.jit.load("twice.pt")
    with torch.no_grad():
        net.inner.weight.mul_(2)
        assert torch.equal(found(x), net(x))
    assert found.note == "a text" and found.sizes == [1, 2]
    assert session.run("(ckpt`:twice.pt)`note").s == "a text"


def repacked(old: str, new: str, method: int = zipfile.ZIP_STORED, **members: bytes) -> None:
    """Another zip with the members of one, some of them changed."""
    with zipfile.ZipFile(old) as source, zipfile.ZipFile(new, "w", method) as target:
        for name in source.namelist():
            short = name.partition("/")[2]
            target.writestr(name, members.get(short, source.read(name)))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_zip_that_somebody_compressed(session: Session, protocol: int) -> None:
    torch.save(state(), "a.pt", pickle_protocol=protocol)
    repacked("a.pt", "b.pt", zipfile.ZIP_DEFLATED)
    same(session, "b.pt", state())
    good, refused = Path("b.pt").read_bytes(), 0
    for at in range(len(good) // 4, len(good) // 2, 61):
        Path("c.pt").write_bytes(good[:at] + bytes((good[at] ^ 0xFF,)) + good[at + 1:])
        try:
            session.run("c:" + reading(Path("c.pt")))
        except QError as e:
            assert re.search(r"c\.pt(:| is (damaged|refused|not a checkpoint))", e.text)
            refused += 1
        else:  # in what nobody reads, as the head of a member
            assert session.run("(ckpttable c)~ckpttable d")
    assert refused > 5


def test_a_compressed_zip_that_is_a_bomb(session: Session) -> None:
    torch.save({"a": torch.zeros(200_000_000, dtype=torch.uint8)}, "a.pt")
    repacked("a.pt", "b.pt", zipfile.ZIP_DEFLATED)
    os.unlink("a.pt")
    with pytest.raises(QError, match=r"b\.pt is refused: reading it would take more memory"):
        session.run("ckpt`:b.pt")


def test_numbers_of_another_kind_of_machine(session: Session) -> None:
    torch.save(state(), "a.pt")
    plain = torch.load("a.pt", weights_only=True)
    widths = {}
    for t in plain.values():
        if isinstance(t, torch.Tensor):
            width = t.dtype.itemsize // (2 if t.dtype.is_complex else 1)
            widths[bytes(t.untyped_storage())] = width
    with zipfile.ZipFile("a.pt") as archive:
        members = {n.partition("/")[2]: archive.read(n) for n in archive.namelist()}
    turned = {"byteorder": b"big"}
    for name, data in members.items():
        if name.startswith("data/") and data:
            turned[name] = np.frombuffer(data, f"u{widths[data]}").byteswap().tobytes()
    repacked("a.pt", "b.pt", **turned)
    same(session, "b.pt", state())


def test_a_zip_without_checksums(session: Session) -> None:
    before = torch.serialization.get_crc32_options()
    torch.serialization.set_crc32_options(False)
    try:
        torch.save(state(), "a.pt")
    finally:
        torch.serialization.set_crc32_options(before)
    with zipfile.ZipFile("a.pt") as archive:
        assert not any(info.CRC for info in archive.infolist() if "/data/" in info.filename)
    same(session, "a.pt", state())


def test_values_of_all_protocols(session: Session) -> None:
    """Texts, numbers, lists, dictionaries and sets as each protocol writes them."""
    value = {"text": "a\nb\\'\u20ac", "bytes": b"ab", "whole": [0, -5, 1 << 40, True, False], "real": [0.5, -1e300],
             "set": {3, 1, 2}, "frozen": frozenset({5, 4}), "pair": (1, "x"), "deep": [{"k": [None]}]}
    for protocol in range(6):
        given = {k: v for k, v in value.items() if protocol > 2 or k != "bytes"}
        given = given if protocol > 1 else {k: v for k, v in given.items() if k not in ("set", "frozen")}
        torch.save(given, "a.pt", pickle_protocol=protocol)
        session.run("d:ckpt`:a.pt")
        assert session.run("(0 -5 1099511627776;.5 -1e300;1;`x)~(3#d`whole;d`real;d[`pair]0;d[`pair]1)") is True, protocol
        assert session.run("(10b;`$\"a\\nb\\\\'\\342\\202\\254\")~(-2#d`whole;d`text)") is True, protocol
        if protocol > 1:
            assert session.run("(1 2 3;4 5)~(d`set;d`frozen)") is True, protocol


def test_arrays_of_numpy(session: Session) -> None:
    arrays = {"f": np.arange(12, dtype="<f4").reshape(3, 4), "g": np.arange(6, dtype=">f8").reshape(2, 3), "i": np.array(5, "<i2"),
              "b": np.array([True, False]), "c": np.array([1 + 2j], "<c8"), "z": np.zeros((0, 3), "<u4"),
              "t": np.asfortranarray(np.arange(24.0).reshape(2, 3, 4))}
    for name, a in arrays.items():
        np.save(f"{name}.npy", a)
        found = session.run(f"ckpt`:{name}.npy").obj
        assert found.dtype == torch.from_numpy(a.astype(a.dtype.newbyteorder("="))).dtype
        assert found.shape == a.shape and np.array_equal(found.numpy(), a)
    expected = {k: torch.from_numpy(a.astype(a.dtype.newbyteorder("="))) for k, a in arrays.items()}
    np.savez("a.npz", **arrays)  # type: ignore[arg-type]
    np.savez_compressed("b.npz", **arrays)  # type: ignore[arg-type]
    for path in ("a.npz", "b.npz"):
        same(session, path, expected)
    np.save("o.npy", np.array([{}], object), allow_pickle=True)
    np.save("u.npy", np.array(["text"]))
    assert session.run("(ckpt`:u.npy)~enlist`text") is True
    assert session.run("count ckpt`:o.npy") == 1
    data = Path("f.npy").read_bytes()
    for n in range(10, len(data)):
        Path("cut.npy").write_bytes(data[:n])
        with pytest.raises(QError, match=r"cut\.npy is damaged"):
            session.run("ckpt`:cut.npy")


def test_types_and_descriptions_of_safetensors(session: Session) -> None:
    four = torch.arange(8, dtype=torch.uint8).reshape(2, 4).view(torch.float4_e2m1fn_x2)
    save_file({"four": four, "one": torch.ones(3)}, "a.safetensors")
    os.rename("a.safetensors", "a.bin")  # the content tells
    session.run("ckpt(`:b.safetensors;ckpt`:a.bin)")
    back = load_file("b.safetensors")
    assert back["four"].shape == (2, 4) and torch.equal(back["four"].view(torch.uint8), four.view(torch.uint8))
    text = json.dumps({"__metadata__": None, "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], "more": "of a newer version"}}).encode()
    Path("c.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + struct.pack("<2f", 1, 2))
    assert session.run("(tensor(ckpt`:c.safetensors)`a)~1 2e")


def test_a_folder_of_bin_files(session: Session) -> None:
    os.mkdir("old")
    torch.save({"a": torch.ones(3), "b": torch.zeros(2)}, "old/pytorch_model-00001-of-00002.bin")
    torch.save({"c": torch.arange(3)}, "old/pytorch_model-00002-of-00002.bin")
    files = {"a": 1, "b": 1, "c": 2}
    index = {"metadata": {}, "weight_map": {k: f"pytorch_model-0000{n}-of-00002.bin" for k, n in files.items()}}
    Path("old/pytorch_model.bin.index.json").write_text(json.dumps(index))
    same(session, "old", {"a": torch.ones(3), "b": torch.zeros(2), "c": torch.arange(3)})
    index["weight_map"]["d"] = "pytorch_model-00002-of-00002.bin"
    Path("old/pytorch_model.bin.index.json").write_text(json.dumps(index))
    with pytest.raises(QError, match="has no d"):
        session.run("ckpt`:old")
    index["weight_map"]["d"] = "../a.bin"
    Path("old/pytorch_model.bin.index.json").write_text(json.dumps(index))
    with pytest.raises(QError, match="outside the folder"):
        session.run("ckpt`:old")


def written(kind: str) -> bytes:
    """A file of a kind that is to be damaged."""
    if kind == "before 1.6":
        torch.save(state(), "good", _use_new_zipfile_serialization=False)
    elif kind == "compressed":
        torch.save(state(), "a.pt")
        repacked("a.pt", "good", zipfile.ZIP_DEFLATED)
    elif kind == "npy":
        np.save("a.npy", np.arange(30.0).reshape(5, 6))
        os.rename("a.npy", "good")
    else:
        np.savez_compressed("a.npz", a=np.arange(30.0), b=np.ones((3, 4), "<i4"))
        os.rename("a.npz", "good")
    return Path("good").read_bytes()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["before 1.6", "compressed", "npy", "npz"])
@pytest.mark.parametrize("times", [60, pytest.param(3000, marks=pytest.mark.slow)])
def test_damaged_files(session: Session, kind: str, times: int) -> None:
    """They are errors that name the file, or, without a checksum, other numbers; nothing else, and nothing is run."""
    good, draw, refused = written(kind), random.Random(times), 0
    start = peak_from_here()
    for _ in range(times):
        Path("bad").write_bytes(damaged(good, draw))
        try:
            session.run("got:" + reading(Path("bad")))
        except QError as e:
            refused += 1
            assert "bad" in e.text and "\n" not in e.text and len(e.text) < 256, e.text
        session.run("got:0")
    assert refused > times // 8
    assert len(session.handles) == 0
    assert memory("VmHWM") - start < 200 << 20
