"""torch's own distributed training around a module: DistributedDataParallel and FSDP2, put on the module in place.

The module stays the object that it is, with its names and its type: what is different is what a call of it does.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from kshell.nn.seq import chain
from kshell.parallel import collect, group


def forward_of(m: nn.Module) -> Callable[..., Any]:
    """A module's own forward calculation; a sequential's first child gets all inputs."""
    if type(m).forward is nn.Sequential.forward:
        return partial(chain, m)  # type: ignore[arg-type]
    return partial(type(m).forward, m)


class _Inner(nn.Module):
    """What DistributedDataParallel wraps: the module's parameters, and its forward calculation without its hooks."""

    def __init__(self, m: nn.Module) -> None:
        super().__init__()
        self.m = m

    def forward(self, *inputs: Any, **options: Any) -> Any:
        return forward_of(self.m)(*inputs, **options)


class Route:
    """Stands in the place of a module's `forward`, for torch.nn.parallel.DistributedDataParallel (Li et al. 2020, arXiv
    2006.15704). With options a calculation with gradients goes through
    DistributedDataParallel, which is made when it is first needed and again when parameters or the group are others;
    without, and in a copy of the module, it is the module's own."""

    def __init__(self, m: nn.Module, options: dict[str, Any] | None = None) -> None:
        self._m = weakref.ref(m)
        self.options = options
        self._key: tuple[Any, ...] = ()
        self._ddp: Any = None

    @property
    def __wrapped__(self) -> Callable[..., Any]:  # whose signature is that of the module
        m = self._m()
        assert m is not None
        return partial(type(m).forward, m)

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        m = self._m()
        assert m is not None
        if self.options is None or not group.joined() or not torch.is_grad_enabled():
            return forward_of(m)(*inputs, **options)
        self.ready(m)
        return self._ddp(*inputs, **options)

    def __deepcopy__(self, memo: dict[int, Any]) -> Route:
        return Route(memo.get(id(self._m()), self._m()))  # type: ignore[arg-type]

    def ready(self, m: nn.Module) -> None:
        """Have a DistributedDataParallel for the parameters as they are. ValueError, the same on every process, for
        modules that differ, or have nothing to train."""
        params = list(m.parameters())
        key = (group.generation(), *((id(p), p.dtype, p.device, p.requires_grad) for p in params))
        if key == self._key:
            return
        self._ddp, self._key = None, ()
        assert self.options is not None
        trained = (("parameters", f"parameter {i}: {'trained' if p.requires_grad else 'frozen'}")
                   for i, p in enumerate(params))
        collect.alike("ddp", [*params, *m.buffers()], *trained, *((k, str(v)) for k, v in self.options.items()))
        if not any(p.requires_grad for p in params):
            raise ValueError("no parameter requires a gradient")
        self._ddp = DistributedDataParallel(_Inner(m), **self.options)
        self._key = key


def route_of(m: nn.Module) -> Route | None:
    """What stands in the place of a module's forward, if something does."""
    found = m.__dict__.get("forward")
    return found if isinstance(found, Route) else None


def average(m: nn.Module, options: dict[str, Any]) -> None:
    """Let backward leave the mean of all processes' gradients in the parameters, by DistributedDataParallel with these
    options. All begin with the values of process 0. ValueError, the same on all, for modules that differ or have
    nothing to train."""
    made = Route(m, options)
    if group.joined():
        made.ready(m)
    m.__dict__["forward"] = made


def alone(m: nn.Module) -> None:
    """Take `average` away."""
    m.__dict__.pop("forward", None)


# ------------------------------------------------------------------ sharded


def is_sharded(x: Any) -> bool:
    """Is a tensor in parts on several processes, or has a module a parameter that is?"""
    if isinstance(x, nn.Module):
        return any(hasattr(p, "full_tensor") for p in x.parameters())
    return hasattr(x, "full_tensor")


def part_like(t: Tensor, p: Any) -> Tensor:
    """This process's part of a whole tensor, sharded as p is; t itself if p is not sharded or has another size."""
    if not hasattr(p, "full_tensor") or hasattr(t, "full_tensor") or t.shape != p.shape:
        return t
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(t.detach(), p.device_mesh, p.placements, src_data_rank=None)


_MESHES: dict[tuple[int, str], Any] = {}


def mesh_of(device: str) -> Any:
    """The mesh of all processes."""
    from torch.distributed.device_mesh import DeviceMesh

    key = (group.generation(), device)
    if key not in _MESHES:
        _MESHES.clear()
        _MESHES[key] = DeviceMesh.from_group(dist.group.WORLD, device)  # type: ignore[arg-type]
    return _MESHES[key]


def layers(m: nn.Module) -> Iterator[nn.Module]:
    """The parts of a module that are sharded each by itself: the layers in its sequences and lists that have
    parameters, and share none with others."""
    users: dict[int, int] = {}
    found = []
    for parent in m.modules():
        if isinstance(parent, nn.Sequential | nn.ModuleList):
            found += [k for k in parent.children() if not isinstance(k, nn.Sequential | nn.ModuleList | nn.ModuleDict)]
    inside = {id(part) for k in found for part in list(k.modules())[1:]}
    outer = [k for k in dict.fromkeys(found) if id(k) not in inside]
    for k in outer:
        for p in k.parameters():
            users[id(p)] = users.get(id(p), 0) + 1
    held = {id(p) for part in m.modules() if not any(part is i for k in outer for i in k.modules())
            for p in part.parameters(recurse=False)}
    for k in outer:
        params = list(k.parameters())
        if params and k is not m and all(users[id(p)] == 1 and id(p) not in held for p in params):
            yield k


def check_shards(m: nn.Module) -> None:
    """ValueError, the same on every process, if a module cannot be sharded."""
    from torch.distributed.fsdp import FSDPModule

    params = list(m.parameters())
    if not params:
        raise ValueError("there are no parameters")
    if any(isinstance(k, FSDPModule) for k in m.modules()):
        raise ValueError("parameters are sharded already")
    if any(route_of(k) is not None for k in m.modules()):
        raise ValueError("gradients are averaged already")
    kinds = {p.dtype for p in params}
    if len(kinds) > 1:
        raise ValueError("parameters of several data types: "
                         + ", ".join(sorted(str(k).removeprefix("torch.") for k in kinds)))
    if not params[0].is_floating_point() or any(p.layout is not torch.strided for p in params):
        raise ValueError("parameters must be dense, of a floating-point type")


def shard(m: nn.Module) -> dict[int, Any]:
    """Keep a part of each parameter on each process, by torch's FSDP2 (torch.distributed.fsdp.fully_shard; Zhao et al.
    2023, arXiv 2304.11277). ValueError, the same on all, for modules that differ or that `check_shards` refuses. Whole
    layers are there only while they are calculated, and backward leaves this process's part of the mean gradient. All
    begin with the values of process 0. By the ids of the parameters before, the new ones are the result; nothing is
    done without other processes."""
    from torch.distributed.fsdp import fully_shard

    before = list(m.parameters())
    if not group.joined():
        return {}
    check_shards(m)
    collect.alike("fsdp", [*before, *m.buffers()])
    for t in (*before, *m.buffers()):
        collect.broadcast_(t, 0)
    names = {k: p for k, p in m.named_parameters(remove_duplicate=False)}
    mesh = mesh_of(before[0].device.type)
    for part in layers(m):
        fully_shard(part, mesh=mesh, reshard_after_forward=True)
    fully_shard(m, mesh=mesh, reshard_after_forward=True)
    if isinstance(m, nn.Sequential):
        m.__dict__["forward"] = Route(m)
    made = group.generation()

    def alive(*_: Any) -> None:
        if group.generation() != made:
            raise RuntimeError("the processes have lost touch since fsdp; load a checkpoint into another module")

    m.register_forward_pre_hook(alive, prepend=True)
    after = dict(m.named_parameters(remove_duplicate=False))
    return {id(p): after[k] for k, p in names.items()}


def exchange(optimizer: Any, new: dict[int, Any], held: Sequence[nn.Module]) -> None:
    """Give an optimizer the parameters that stand for those it had, and their parts of its state."""
    for g in optimizer.param_groups:
        for i, p in enumerate(g["params"]):
            made = new.get(id(p))
            if made is not None:
                g["params"][i] = made
                state = optimizer.state.pop(p, None)
                if state:
                    optimizer.state[made] = {k: part_like(v, made) if isinstance(v, Tensor) else v
                                             for k, v in state.items()}
    for m in held:
        for k, p in m._parameters.items():
            if id(p) in new:
                m._parameters[k] = new[id(p)]
