"""Folders that Lightning and accelerate have written in two processes, each of which has a part of the model."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import torch

from kshell.checkpoints.trees.opening import opened, tensors_of
from kshell.kapi.checkpoint.stored_tensors import tensor_of
from kshell.session import Session
from tests.checkpoints.processes import run

pytestmark = [pytest.mark.extra, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
PROGRAM = Path(__file__).parent / "trainers.py"


def has(found: Any, wanted: dict[str, torch.Tensor]) -> None:
    tensors = tensors_of(found)
    for name, t in wanted.items():
        assert torch.equal(tensor_of(tensors[name]), t), name


def test_lightning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on from what was read and written to the same bits, from another rate elsewhere."""
    pytest.importorskip("lightning")
    monkeypatch.chdir(tmp_path)
    run(PROGRAM, str(tmp_path), "run")
    model, optimizer = torch.load("run.truth")
    found = opened("run.ckpt").value
    assert list(found) == ["state_dict", "optimizer_0", "meta.pt"]
    has(found["state_dict"], {f"net.{name.removeprefix('net.')}": t for name, t in model.items()})
    has(found["optimizer_0"]["state"], {f"{name}.{key}": t for name, row in optimizer["state"].items() for key, t in row.items()})
    session = Session(out=io.StringIO(), err=io.StringIO())
    session.run("d:ckpt`:run.ckpt; ckptdcp(`:again.ckpt;d)")
    assert session.run("d[`meta.pt;`global_step]") == 4
    assert torch.load("run.ckpt/meta.pt", weights_only=False) == torch.load("again.ckpt/meta.pt", weights_only=False)
    session.run("d[`optimizer_0;`param_groups]:update lr:.5 from d[`optimizer_0;`param_groups]; ckptdcp(`:edited.ckpt;d)")
    run(PROGRAM, str(tmp_path), "+run", "+again", "+edited")
    ends = [torch.load(f"{name}.after") for name in ("run", "again", "edited")]
    weights = [torch.cat([t.double().reshape(-1) for t in end[0].values()]) for end in ends]
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])
    moments = [torch.cat([t.double().reshape(-1) for row in end[1]["state"].values() for t in row.values()]) for end in ends]
    assert torch.equal(moments[0], moments[1])


def test_accelerate(tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    run(PROGRAM, str(tmp_path), "accelerate")
    model = torch.load(tmp_path / "model.truth")
    folders, files = opened(str(tmp_path / "folders")).value, opened(str(tmp_path / "files")).value
    assert {*folders} == {"pytorch_model_fsdp_0", "optimizer_0", "random_states_0.pkl", "random_states_1.pkl"}
    has(folders["pytorch_model_fsdp_0"]["model"], model)
    has(files["full"], model)
    state = tensors_of(folders["optimizer_0"]["optimizer"])
    assert len(state) == 3 * 6
    has(files["full"], {name: tensor_of(t) for name, t in state.items()})
