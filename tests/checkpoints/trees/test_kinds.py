"""Each kind of file and folder opens, and its tensors have the right names, types and numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from kshell.checkpoints.base.stored import File
from kshell.checkpoints.trees.opening import opened, tensors_of
from kshell.kapi.checkpoint.stored_tensors import tensor_of
from tests.checkpoints.kinds import KINDS, Tensors, write_dcp
from tests.checkpoints.quantized import gguf_files

KIND_OF = {"objects": "pt", "deflated": "pt", "torchscript": "pt", "exported": "pt", "bare": "pickle", "sharded_bin": "sharded", "hf_shards": "dcp",
           "dtensors": "folder", "sharded_tensors": "folder", "trainer": "folder", "accelerate": "folder", "zero1": "deepspeed", "zero2": "deepspeed",
           "zero3": "deepspeed", "universal": "deepspeed", "dcp_alone": "dcp", "dcp_safetensors": "dcp"}


def check(path: Path, wanted: Tensors) -> None:
    """A checkpoint has these tensors under these names; those of single processes may be there besides."""
    found = tensors_of(opened(str(path)).value)
    if not any(name.startswith("full.") for name in wanted):
        assert {*wanted} == {*found}
    for name, t in wanted.items():
        got = tensor_of(found[name])
        assert got.dtype == t.dtype and got.shape == t.shape and torch.equal(got, t), name


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_opens(name: str, tmp_path: Path) -> None:
    path, wanted = KINDS[name](tmp_path)
    assert opened(str(path)).kind == KIND_OF.get(name, name)
    check(path, wanted)


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_is_told_by_its_content(name: str, tmp_path: Path) -> None:
    """A file may have any name."""
    path, wanted = KINDS[name](tmp_path)
    if path.is_file():
        check(path.rename(tmp_path / "any name"), wanted)


def large(name: str, folder: Path) -> Path:
    """A megabyte in a file or folder of a kind."""
    t = torch.arange(1 << 18, dtype=torch.float32)
    if name in ("pt", "legacy"):
        torch.save({"t": t}, folder / "a", _use_new_zipfile_serialization=name == "pt")
    elif name == "safetensors":
        save_file({"t": t}, folder / "a")
    elif name == "npy":
        np.save(folder / "a.npy", t.numpy())
    elif name == "npz":
        np.savez(folder / "a.npz", t=t.numpy())
    elif name == "gguf":
        (folder / "a").write_bytes(gguf_files.whole({"t": (0, (1 << 18,), t.numpy().tobytes())}, {}))
    else:
        write_dcp(folder, {"t": ((1 << 18,), [((0,), t[:5]), ((5,), t[5:])])}, {})
    return folder if name == "dcp" else next(folder.iterdir())


@pytest.mark.parametrize("name", ["pt", "legacy", "safetensors", "npy", "npz", "gguf", "dcp"])
def test_opening_reads_no_numbers(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touched: list[int] = []
    into, read = File.into, File.read

    def counted(self: File, out: memoryview, offset: int) -> None:
        touched.append(len(out))
        into(self, out, offset)

    def counted_read(self: File, offset: int, length: int) -> bytes:
        touched.append(length)
        return read(self, offset, length)

    monkeypatch.setattr(File, "into", counted)
    monkeypatch.setattr(File, "read", counted_read)
    (tensor,) = tensors_of(opened(str(large(name, tmp_path))).value).values()
    assert sum(touched) <= 1 << 19
    touched.clear()
    whole = np.arange(1 << 18, dtype="f4").tobytes()
    part = bytearray(4096)
    tensor.into(memoryview(part), 1 << 12)
    assert part == whole[1 << 12:1 << 13] and sum(touched) <= 1 << 16  # a part of it is read alone
    assert tensor.read() == whole


def test_a_model_of_several_folders(tmp_path: Path) -> None:
    """As sentence-transformers writes it: modules.json names the folders, of which some have no weights."""
    for name in ("1_Pooling", "2_Dense", "checkpoint-5"):
        (tmp_path / name).mkdir()
    save_file({"a": torch.ones(2)}, tmp_path / "model.safetensors")
    save_file({"linear.weight": torch.ones(3)}, tmp_path / "2_Dense" / "model.safetensors")
    save_file({"a": torch.ones(2)}, tmp_path / "checkpoint-5" / "model.safetensors")
    (tmp_path / "1_Pooling" / "config.json").write_text("{}")
    listed = [{"idx": i, "name": str(i), "path": place, "type": "t"} for i, place in enumerate(("", "1_Pooling", "2_Dense"))]
    (tmp_path / "modules.json").write_text(json.dumps(listed))
    assert [*tensors_of(opened(str(tmp_path)).value)] == ["2_Dense.linear.weight", "model.safetensors.a"]
    for other in ("3", "{}", '[1,{"path":[1]}]'):
        (tmp_path / "modules.json").write_text(other)
        assert [*tensors_of(opened(str(tmp_path)).value)] == ["a"]
