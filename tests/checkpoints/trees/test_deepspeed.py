"""Folders that DeepSpeed itself has written, with two processes: equal to what it held, bit by bit; and it goes on from what
kshell writes."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from kshell.checkpoints.trees.opening import opened, tensors_of
from kshell.kapi.checkpoint.stored_tensors import tensor_of
from kshell.session import Session
from tests.checkpoints.processes import run

pytestmark = [pytest.mark.extra, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
PROGRAM = Path(__file__).parent / "zeros.py"
CASES = ("z1_bf16", "z1_fp32", "z2_bf16", "z3_bf16", "z3_fp32_20")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("deepspeed", reason="deepspeed is not installed")
    path = tmp_path_factory.mktemp("zeros")
    run(PROGRAM, str(path), *CASES)
    return path


def universal(out: Path, case: str) -> Path:
    """The folder of a case in the form for other numbers of processes."""
    made = out / f"{case}.universal"
    if not made.exists():
        subprocess.run([sys.executable, "-m", "deepspeed.checkpoint.ds_to_universal", "--input_folder", str(out / case / "global_step3"), "--output_folder",
                        str(made), "--inject_missing_state", "--num_extract_workers", "1", "--num_merge_workers", "1"], check=True, capture_output=True)
    return made


def check(path: Path, held: dict[str, Any]) -> dict[str, Any]:
    """A folder has what a program held: weights, moments, rates. Gives what it has."""
    found = opened(str(path))
    assert found.kind == "deepspeed"
    full, optimizer = tensors_of(found.value["full"]), found.value["optimizer"]
    assert {*full} == {*held["full"]}
    for name, wanted in held["full"].items():
        got = tensor_of(full[name])
        assert got.dtype == wanted.dtype and got.shape == wanted.shape and torch.equal(got, wanted), name
    assert [group["lr"] for group in optimizer["param_groups"]] == held["lr"]
    assert [group["weight_decay"] for group in optimizer["param_groups"]] == [0.1, 0.0]
    assert [name for group in optimizer["param_groups"] for name in group["params"]] == list(optimizer["state"])
    assert {*optimizer["state"]} == {*held["exp_avg"]}
    for name, state in optimizer["state"].items():
        assert {*state} == {"step", "exp_avg", "exp_avg_sq"} and tensor_of(state["step"]) == 3
        for key in ("exp_avg", "exp_avg_sq"):
            assert torch.equal(tensor_of(state[key]), held[key][name]), (name, key)
    tree: dict[str, Any] = found.value
    return tree


@pytest.mark.parametrize("case", CASES)
def test_a_folder_has_what_deepspeed_held(case: str, out: Path) -> None:
    tree = check(out / case, torch.load(out / f"{case}.truth"))
    assert tree["epoch"] == 3 and tree["note"] == "a text" and tree["global_steps"] == 3
    joined = torch.load(out / f"{case}.joined")
    full = tensors_of(tree["full"])
    assert {*full} - {*joined} == ({"fix.weight"} if case[1] == "1" else set()) and {*joined} <= {*full}  # which it loses in stage 1
    for name, wanted in joined.items():
        assert torch.equal(tensor_of(full[name]).to(wanted.dtype), wanted), name


@pytest.mark.parametrize("case", ["z1_fp32", "z2_bf16", "z3_bf16"])
def test_a_universal_folder(case: str, out: Path) -> None:
    check(universal(out, case), torch.load(out / f"{case}.truth"))


def test_deepspeed_goes_on(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From files that were read and written, to the same bits; from another rate elsewhere."""
    monkeypatch.chdir(out)
    session = Session(out=io.StringIO(), err=io.StringIO())
    names = []
    for case, groups in (("z2_bf16", "base_optimizer_state"), ("z3_bf16", "optimizer_state_dict")):
        for kind in ("same", "edited"):
            names.append(name := f"{case}-{kind}")
            shutil.copytree(case, name)
            for file in Path(name, "global_step3").iterdir():
                session.run(f'p:`$":{file}"; d:ckpt p')
                if kind == "edited" and "optim_states" in file.name:
                    session.run(f"g:d[`optimizer_state_dict;`{groups};`param_groups]; d[`optimizer_state_dict;`{groups};`param_groups]:update lr:.5 from g")
                session.run("ckpt(p;d)")
    run(PROGRAM, str(out), "+z2_bf16", "+z3_bf16", *(f"+{name}" for name in names))
    for name in names:
        wanted, got = torch.load(f"{name.split('-')[0]}.after"), torch.load(f"{name}.after")
        equal = [torch.equal(t, got[key][k]) for key in ("full", "exp_avg", "exp_avg_sq") for k, t in wanted[key].items()]
        assert all(equal) == name.endswith("same"), name
        assert got["lr"] == ([0.5, 0.5] if name.endswith("edited") else wanted["lr"])
