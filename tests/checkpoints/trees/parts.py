"""Run in two processes or one, with torch alone: writes checkpoints of torch.distributed.checkpoint and files of parts, each
beside what is in it; or goes on from one. The first argument is a folder, the others are cases, or names of checkpoints
in it to go on from, after a +."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.filesystem import FileSystemWriter, SerializationFormat
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, StateDictType, fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

OUT = Path(sys.argv[1])
CASES: dict[str, Callable[[], None]] = {}


def case(fn: Callable[[], None]) -> Callable[[], None]:
    CASES[fn.__name__] = fn
    return fn


def rank() -> int:
    return dist.get_rank()


def whole(tree: Any) -> Any:
    """A tree with the whole tensors of all processes."""
    if isinstance(tree, dict):
        return {key: whole(part) for key, part in tree.items()}
    if isinstance(tree, list | tuple):
        return tree.__class__(map(whole, tree))
    return tree.full_tensor() if isinstance(tree, DTensor) else tree


def tell(name: str, tree: Any) -> None:
    """Write what is in a checkpoint."""
    tree = whole(tree)
    if not rank():
        torch.save(tree, OUT / f"{name}.truth")
    dist.barrier()


def save(name: str, tree: Any, **options: Any) -> None:
    dcp.save(tree, **({"checkpoint_id": OUT / name} | options))
    tell(name, tree)


def save_files(name: str, tree: Any) -> None:
    """A file of torch.save a process."""
    (OUT / name).mkdir(exist_ok=True)
    torch.save(tree, OUT / name / f"rank{rank()}.pt")


def made(wrap: bool = True) -> tuple[nn.Module, torch.optim.Optimizer]:
    """A model with sizes that do not divide, buffers and two groups of parameters."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.Sequential(nn.Linear(7, 3, bias=False), nn.BatchNorm1d(3)), nn.Linear(3, 1))
    net.register_buffer("seen", torch.tensor(5))
    if wrap:
        for module in (net[0], net[2], net):
            fully_shard(module)
    groups = [{"params": [p for p in net.parameters() if p.dim() > 1], "weight_decay": 0.1},
              {"params": [p for p in net.parameters() if p.dim() <= 1], "lr": 0.003}]
    return net, torch.optim.AdamW(groups, lr=0.01)


def train(net: nn.Module, optimizer: torch.optim.Optimizer, first: int = 0) -> None:
    for step in range(first, first + 2):
        torch.manual_seed(100 + step)
        net(torch.randn(6, 5)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def trained(**options: Any) -> dict[str, Any]:
    net, optimizer = made(**options)
    train(net, optimizer)
    model, state = get_state_dict(net, optimizer)
    return {"model": model, "optim": state, "step": 2, "name": "a run", "list": [1, {"a": torch.ones(2)}], "none": None}


# ------------------------------------------------------------------ folders


@case
def fsdp2() -> None:
    state = trained()
    save("fsdp2", state)
    save_files("fsdp2_files", state["model"])
    tell("fsdp2_files", state["model"])
    dcp.async_save(state, checkpoint_id=OUT / "asynchronous").result()
    tell("asynchronous", state)
    save("one_file_a_part", state, storage_writer=FileSystemWriter(OUT / "one_file_a_part", single_file_per_rank=False))
    save("alone", {"model": state["model"], "step": 2}, use_collectives=False)
    save("inner_safetensors", {"model": state["model"], "step": 2, "x": {"y": "z"}},
         storage_writer=FileSystemWriter(OUT / "inner_safetensors", serialization_format=SerializationFormat.SAFETENSORS))


@case
def optimizers() -> None:
    net, optimizer = made()
    train(net, optimizer)
    model, state = get_state_dict(net, optimizer, options=StateDictOptions(flatten_optimizer_state_dict=True))
    save("flat_optimizer", {"model": model, "optim": state})
    save("numbered_optimizer", {"model": net.state_dict(), "optim": optimizer.state_dict()})


@case
def meshes() -> None:
    line, grid = init_device_mesh("cpu", (2,)), init_device_mesh("cpu", (2, 1))
    torch.manual_seed(1)
    placed: list[tuple[Any, torch.Tensor, list[Any]]] = [
        (line, torch.randn(5, 3), [Shard(0)]), (line, torch.randn(3, 5), [Shard(1)]), (line, torch.randn(4), [Replicate()]),
        (line, torch.randn(1, 3), [Shard(0)]), (line, torch.randn(7, 2).bfloat16(), [Shard(0)]), (line, torch.randn(0, 3), [Shard(0)]),
        (grid, torch.randn(5, 3), [Shard(0), Shard(1)]), (grid, torch.randn(3, 5), [Shard(1), Replicate()]),
        (grid, torch.randn(7), [Replicate(), Shard(0)])]
    tensors = {f"t{i}": distribute_tensor(t, mesh, places) for i, (mesh, t, places) in enumerate(placed)}
    save("meshes", tensors)
    save_files("meshes_files", tensors)
    tell("meshes_files", tensors)


@case
def hugging_face() -> None:
    net, _ = made()
    model = get_model_state_dict(net)
    files = {name: 1 + (i > 3) for i, name in enumerate(model)}
    save("hf", model, storage_writer=dcp.HuggingFaceStorageWriter(str(OUT / "hf"), fqn_to_index_mapping=files, save_distributed=True))
    model = {name: t for name, t in model.items() if t.is_floating_point()}  # torch joins no others
    files = {name: files[name] for name in model}
    writer = dcp.HuggingFaceStorageWriter(str(OUT / "hf_joined"), fqn_to_index_mapping=files, save_distributed=True, enable_consolidation=True)
    save("hf_joined", model, storage_writer=writer)


@case
def single() -> None:
    if not rank():
        dcp.save(trained(wrap=False), checkpoint_id=OUT / "single", no_dist=True)
    tell("single", trained(wrap=False))


@case
def fsdp1() -> None:
    for name, uses_original, mesh in (("fsdp1", True, None), ("fsdp1_flat", False, None), ("fsdp1_dtensor", True, init_device_mesh("cpu", (2,)))):
        torch.manual_seed(0)
        inner, _ = made(wrap=False)
        inner[0] = FullyShardedDataParallel(inner[0], use_orig_params=uses_original, device_id=torch.device("cpu"), device_mesh=mesh)
        net = FullyShardedDataParallel(inner, use_orig_params=uses_original, device_id=torch.device("cpu"), device_mesh=mesh)
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
        train(net, optimizer)
        with FullyShardedDataParallel.state_dict_type(net, StateDictType.FULL_STATE_DICT):
            full = {key: t.clone() for key, t in net.state_dict().items()}
        with FullyShardedDataParallel.state_dict_type(net, StateDictType.SHARDED_STATE_DICT):
            model, state = net.state_dict(), FullyShardedDataParallel.optim_state_dict(net, optimizer)
            dcp.save({"model": model, "optim": state}, checkpoint_id=OUT / name)
            save_files(f"{name}_files", {"model": model, "optim": state})
        tell(name, {"model": full})
        tell(f"{name}_files", {"model": full})
        if mesh is None:
            with FullyShardedDataParallel.state_dict_type(net, StateDictType.LOCAL_STATE_DICT):
                save_files(f"{name}_local", net.state_dict())


# ------------------------------------------------------------------ going on


def go_on(name: str) -> None:
    """Load a checkpoint, train on, and tell of the end; also of what was loaded."""
    net, optimizer = made(wrap=dist.get_world_size() > 1)
    model, state = get_state_dict(net, optimizer)
    tree = {"model": model, "optim": state, "step": 0, "name": "", "list": [0, {"a": torch.zeros(2)}]}
    dcp.load(tree, checkpoint_id=OUT / name)
    set_state_dict(net, optimizer, model_state_dict=tree["model"], optim_state_dict=tree["optim"])
    loaded = {key: tree[key] for key in ("step", "name", "list")} | {"lr": [group["lr"] for group in optimizer.param_groups]}
    train(net, optimizer, 2)
    model, state = get_state_dict(net, optimizer)
    tell(f"{name}.{dist.get_world_size()}", {"loaded": loaded, "model": model, "optim": state})


def main() -> None:
    dist.init_process_group("gloo", init_method=os.environ["STORE"], rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))
    for name in sys.argv[2:]:
        go_on(name[1:]) if name[0] == "+" else CASES[name]()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
