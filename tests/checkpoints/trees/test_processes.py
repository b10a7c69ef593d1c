"""Checkpoints that two real processes of torch have written: what is in them, and that they go on from what kshell writes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from kshell.checkpoints.trees.leaves import leaves_of
from kshell.checkpoints.trees.opening import opened, tensors_of
from kshell.kapi.checkpoint.stored_tensors import tensor_of
from kshell.session import Session
from tests.checkpoints.processes import run

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
PROGRAM = Path(__file__).parent / "parts.py"
CASES = ("fsdp2", "optimizers", "meshes", "hugging_face", "single", "fsdp1")
FOLDERS = {"fsdp2": "dcp", "asynchronous": "dcp", "one_file_a_part": "dcp", "alone": "dcp", "inner_safetensors": "dcp", "flat_optimizer": "dcp",
           "numbered_optimizer": "dcp", "meshes": "dcp", "hf": "dcp", "hf_joined": "sharded", "single": "dcp", "fsdp1": "dcp", "fsdp1_flat": "dcp",
           "fsdp1_dtensor": "dcp", "fsdp2_files": "folder", "meshes_files": "folder", "fsdp1_files": "folder", "fsdp1_flat_files": "folder",
           "fsdp1_dtensor_files": "folder"}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("parts")
    run(PROGRAM, str(path), *CASES)
    return path


def flat(x: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a value of Python, by dotted names."""
    if isinstance(x, dict | list | tuple):
        for key, part in x.items() if isinstance(x, dict) else enumerate(x):
            yield from flat(part, f"{name}.{key}" if name else str(key))
    else:
        yield name, x


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Are two tensors equal, bit by bit?"""
    return a.dtype == b.dtype and a.shape == b.shape and a.numpy(force=True).tobytes() == b.numpy(force=True).tobytes() if a.dtype != torch.bfloat16 \
        else same(a.view(torch.int16), b.view(torch.int16))


@pytest.mark.parametrize("name", FOLDERS)
def test_what_processes_have_written_is_whole(name: str, out: Path) -> None:
    found = opened(str(out / name))
    assert found.kind == FOLDERS[name]
    leaves = dict(leaves_of(found.value["full"] if found.kind == "folder" else found.value))
    wanted = dict(flat(torch.load(out / f"{name}.truth", weights_only=False)))
    if not name.startswith("fsdp1"):  # of which the optimizer's state is there besides
        assert {*leaves} == {*wanted}
    for key, value in wanted.items():
        if isinstance(value, torch.Tensor):
            assert same(tensor_of(leaves[key]), value), key
        else:
            assert leaves[key] == value, key


def test_the_table_of_a_folder(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Digests are those of the whole tensors, whatever processes have written them."""
    monkeypatch.chdir(out)
    session = Session(out=io.StringIO(), err=io.StringIO())
    torch.save(torch.load("fsdp2.truth", weights_only=False), "fsdp2.pt")
    session.run("a:ckpttable`:fsdp2; b:ckpttable`:fsdp2.pt; n:`name xasc select name,digest,dtype from b")
    assert session.run("n~`name xasc select name,digest,dtype from a")
    session.run("d:ckpt`:fsdp2")
    assert session.run("d`step") == 2 and session.run("d`name").s == "a run"
    assert session.run("exec lr from d[`optim;`param_groups]").a.tolist() == [0.01, 0.003]


@pytest.mark.parametrize("name", ["fsdp1", "fsdp1_flat"])
def test_a_flat_parameter_is_shown(name: str, out: Path) -> None:
    """Of FSDP's own form the names of parameters are not known: its vectors are joined, and nothing is said to be whole that is a part."""
    found = opened(str(out / f"{name}_local")).value
    full = tensors_of(found["full"])
    assert {*full} == {"_flat_param", "0._flat_param"}
    halves = [tensors_of(found[f"rank{rank}.pt"])["_flat_param"] for rank in range(2)]
    assert same(tensor_of(full["_flat_param"]), torch.cat([tensor_of(half) for half in halves]))


def test_processes_go_on(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From what kshell has read and written, in one process or two, to the same bits; from an edited tensor and rate elsewhere,
    and with these undone to the same bits again."""
    monkeypatch.chdir(out)
    session = Session(out=io.StringIO(), err=io.StringIO())
    session.run("d:ckpt`:fsdp2; ckptdcp(`:again;d)")
    session.run("w:`$\"0.weight\"; was:d[`model;w]; rates:exec lr from d[`optim;`param_groups]")
    session.run("d[`model;w]:2*was; d[`optim;`param_groups]:update lr:.5 from d[`optim;`param_groups]; ckptdcp(`:edited;d)")
    session.run("e:ckpt`:edited; e[`model;w]:was; e[`optim;`param_groups]:update lr:rates from e[`optim;`param_groups]; ckptdcp(`:edited_back;e)")
    session.run("ckptdcp(`:asynchronous;ckpt`:asynchronous)")  # over itself
    names = ["fsdp2", "again", "edited", "edited_back", "asynchronous"]
    for count in (1, 2):
        run(PROGRAM, str(out), *(f"+{name}" for name in names), count=count)
        ends = {name: dict(flat(torch.load(f"{name}.{count}.truth", weights_only=False))) for name in names}
        wanted = ends.pop("fsdp2")
        edited = ends.pop("edited")
        for name, end in ends.items():
            assert {*end} == {*wanted}
            for key, value in wanted.items():
                assert same(end[key], value) if isinstance(value, torch.Tensor) else end[key] == value, (name, key)
        assert [edited[f"loaded.lr.{i}"] for i in range(2)] == [0.5, 0.5] and wanted["loaded.lr.1"] == 0.003
        assert not same(edited["model.0.weight"], wanted["model.0.weight"]) and edited["loaded.name"] == "a run"
