"""Folders with something missing, of another size or elsewhere: errors that name it."""

from __future__ import annotations

import json
import os
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from kshell.checkpoints.trees.leaves import fields_of
from kshell.checkpoints.trees.opening import opened, tensors_of
from kshell.errors import QError
from kshell.kapi.checkpoint.stored_tensors import tensor_of
from tests.checkpoints.kinds import KINDS, numbers, write_dcp, zero
from tests.checkpoints.making import Made, save, saved, sharded_tensor


def all_of(path: Path) -> None:
    """Open a checkpoint and read each of its tensors."""
    for tensor in tensors_of(opened(str(path)).value).values():
        tensor_of(tensor)


def fails(path: Path, *why: str) -> None:
    """Reading it is an error that says so."""
    with pytest.raises(QError) as e:
        all_of(path)
    assert "\n" not in e.value.text
    for text in why:
        assert re.search(text, e.value.text), e.value.text


@pytest.mark.parametrize(("name", "file", "why"), [
    ("sharded", "model-00002-of-00002.safetensors", ["model-00002-of-00002.safetensors"]),
    ("sharded_bin", "pytorch_model-00001-of-00002.bin", ["pytorch_model-00001-of-00002.bin"]),
    ("hf_shards", "shard-00001-model-00001-of-00001.safetensors", []),
    ("dcp", "__1_0.distcp", ["__1_0.distcp"]),
    ("dtensors", "rank1.pt", ["a part of w is missing"]),
    ("sharded_tensors", "rank0.pt", []),
    ("zero1", "global_step3/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt", ["2 processes have written this checkpoint, 1 are there"]),
    ("zero3", "global_step3/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt", ["2 processes have written this checkpoint, 1 are there"]),
])
def test_a_file_is_missing(name: str, file: str, why: list[str], tmp_path: Path) -> None:
    path, _ = KINDS[name](tmp_path)
    os.unlink(path / file)
    if why:
        fails(path, *why)
    else:  # what is left is one file of weights
        assert list(tensors_of(opened(str(path)).value)) == ["w"]


def test_a_file_of_shards_is_missing(tmp_path: Path) -> None:
    whole = numbers(6, 2)
    for i in range(3):
        info = {"DCP_SHARDING_INFO": json.dumps({"w": {"saved_offsets": [2 * i, 0]}})}
        save_file({"w": whole[2 * i:2 * i + 2].clone()}, tmp_path / f"shard-0000{i}-model-00001-of-00001.safetensors", info)
    all_of(tmp_path)
    os.unlink(tmp_path / "shard-00001-model-00001-of-00001.safetensors")
    fails(tmp_path, "a part of w is missing")


@pytest.mark.parametrize("place", ["../__0_0.distcp", "/etc/passwd", "..", ".", "a/b", "", "a\0b"])
def test_paths_in_metadata_that_leave_the_folder(place: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write_dcp(tmp_path / "in", {"w": ((2,), [((0,), numbers(2))])}, {}, relative_path=place)
    for name in ("__0_0.distcp", "a"):
        (tmp_path / name).write_bytes((tmp_path / "in" / "__0_0.distcp").read_bytes())
    fails(tmp_path / "in", "outside the folder|damaged|refused|No such|no file|not a file|is a directory|unable to")


@pytest.mark.parametrize("place", ["../a.safetensors", "/a.safetensors", "b/../../a.safetensors", "a.bin", "", 5, None])
def test_paths_in_an_index_that_leave_the_folder(place: Any, tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.mkdir()
    for folder in (tmp_path, path):
        save_file({"w": torch.ones(2)}, folder / "a.safetensors")
    (path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"w": place}}))
    fails(path, "w is in a file outside the folder")


def test_a_link_of_a_folder_that_leaves_it(tmp_path: Path) -> None:
    """The file `latest` of DeepSpeed names a folder in its own."""
    for i, text in enumerate(("..", "/tmp", "a/b", "", "no")):
        path = tmp_path / f"z{i}"
        path.mkdir()
        (path / "latest").write_text(text)
        fails(path, "latest names no folder in it")


def test_parts_of_other_sizes(tmp_path: Path) -> None:
    path, _ = KINDS["dtensors"](tmp_path)
    tensors = tensors_of(opened(str(path)).value)
    assert "rank0.pt.w" in tensors and tensors["rank0.pt.w"].shape == (2, 2)
    other = tmp_path / "other"
    other.mkdir()
    w = numbers(5, 3)
    wrong: list[tuple[tuple[int, ...], Any]] = [
        ((4, 3), [((0, 0), w)]), ((5, 3), [((1, 0), w)]), ((5, 3), [((0, 1), w)]), ((5,), [((0, 0), w)]), ((5, 3), [((-1, 0), w)]),
    ]
    for shape, parts in wrong:
        write_dcp(other, {"w": (shape, parts)}, {})
        fails(other, "damaged")
    write_dcp(other, {"w": ((6, 3), [((0, 0), w)])}, {})
    fails(other, "a part of w is missing")
    write_dcp(other, {"w": ((5, 3), [((0, 0), w[:3]), ((2, 0), w[2:])])}, {})  # they may be there twice
    assert torch.equal(tensor_of(tensors_of(opened(str(other)).value)["w"]), w)
    write_dcp(other, {"w": ((5, 3), [((0, 0), w[:3]), ((2, 0), w[2:4])])}, {})
    fails(other, "a part of w is missing")


def test_parts_of_tensors_of_other_sizes(tmp_path: Path) -> None:
    """In the files of several processes, each of which says how large the whole is."""
    for rank, whole in enumerate(((5, 3), (6, 3))):
        save({"w": sharded_tensor(numbers(2, 3), whole, (2 * rank, 0))}, tmp_path / f"rank{rank}.pt")
    fails(tmp_path, re.escape(str(tmp_path)), "w has parts of tensors of different sizes")


def test_metadata_of_other_forms(tmp_path: Path) -> None:
    """A place that is not there, an extension, a length beyond the end, and no metadata at all."""
    w = {"w": ((2,), [((0,), numbers(2))])}
    write_dcp(tmp_path, w, {}, transform_descriptors=["zstd"])  # type: ignore[arg-type]
    fails(tmp_path, "w is compressed by an extension")
    for place in ({"offset": 1 << 40}, {"length": 1 << 40}, {"offset": -5}, {"length": 7}, {"offset": "0"}, {"offset": 3}):
        write_dcp(tmp_path, w, {}, **place)  # type: ignore[arg-type]
        fails(tmp_path, "damaged")
    for data in (b"", b"\x80\x02}.", pickle.dumps({"a": 1}, 4), b"\x80\x04N.", pickle.dumps([1], 0)):
        (tmp_path / ".metadata").write_bytes(data)
        fails(tmp_path, "damaged|unknown form")


def test_zero_files_that_do_not_fit(tmp_path: Path) -> None:
    """Groups that are too short; what is of another version is shown by file."""
    path, _ = zero(tmp_path, 1)
    file = path / "global_step3" / "mp_rank_00_model_states.pt"
    model = torch.load(file, weights_only=True)
    model["param_shapes"][1]["c"] = torch.Size((50,))
    torch.save(model, file)
    fails(path, "a parameter is longer than its group")
    del model["param_shapes"]
    torch.save(model, file)
    assert not any(name.startswith("full") for name in tensors_of(opened(str(path)).value))
    os.rename(file, file.parent / "mp_rank_01_model_states.pt")  # tensor parallel: only the model can join them
    torch.save(model, file)
    assert not any(name.startswith("full") for name in tensors_of(opened(str(path)).value))


def test_folders_without_a_checkpoint(tmp_path: Path) -> None:
    fails(tmp_path, "has no checkpoint in it")
    (tmp_path / "a.txt").write_text("x")
    fails(tmp_path, "has no checkpoint in it")
    (tmp_path / "b.pt").mkdir()
    fails(tmp_path, "has no checkpoint in it")
    os.mkfifo(tmp_path / "c.pt")
    fails(tmp_path, "has no checkpoint in it")
    fails(tmp_path / "c.pt", "no file|not a file")
    fails(tmp_path / "none.pt", "none.pt")


def test_an_object_in_the_place_of_metadata(tmp_path: Path) -> None:
    (tmp_path / ".metadata").write_bytes(saved({"w": Made("torch.distributed.checkpoint.metadata.Metadata", (), {})}))
    fails(tmp_path, "damaged|unknown form")


def test_keys_that_python_has_not(tmp_path: Path) -> None:
    """An object that was filled with a list as a key shows what it can."""
    (tmp_path / "a.pkl").write_bytes(b"\x80\x02ca_program\nThing\n)R(]K\1X\1\0\0\0aK\2u.")
    tree = opened(str(tmp_path / "a.pkl")).value
    assert fields_of(tree.meanings, tree.graph) == {"a list": 1, "a": 2}
    assert tensors_of(tree) == {}
