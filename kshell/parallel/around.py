"""torch's distributed training applied to a module in place: DistributedDataParallel and FSDP2.

The module stays the same object, with its names and type; only calling it behaves differently.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from kshell import torch_versions
from kshell.nn.seq import chain
from kshell.parallel import collect, group, meet
from kshell.parallel.calculations import Calculation, Shared, in_backward


def forward_of(m: nn.Module) -> Callable[..., Any]:
    """A module's own forward; a sequential's first child gets all inputs."""
    if type(m).forward is nn.Sequential.forward:
        return partial(chain, m)  # type: ignore[arg-type]
    return partial(type(m).forward, m)


class _Inner(nn.Module):
    """The module that DistributedDataParallel wraps: a module's parameters, and its forward without its hooks."""

    def __init__(self, m: nn.Module) -> None:
        super().__init__()
        self.m = m

    def forward(self, *inputs: Any, **options: Any) -> Any:
        return forward_of(self.m)(*inputs, **options)


class Route:
    """Replaces a module's `forward`; by default, and in a copy of the module, it is the module's own."""

    def __init__(self, m: nn.Module) -> None:
        self._m = weakref.ref(m)

    @property
    def __wrapped__(self) -> Callable[..., Any]:  # for the module's signature
        return partial(type(self.module).forward, self.module)

    @property
    def module(self) -> nn.Module:
        m = self._m()
        assert m is not None
        return m

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        return forward_of(self.module)(*inputs, **options)

    def __deepcopy__(self, memo: dict[int, Any]) -> Route:
        return Route(memo.get(id(self._m()), self._m()))  # type: ignore[arg-type]

    def together(self, grad: bool) -> bool:
        """Is computation here collective, with or without gradients?"""
        return False


class Averaged(Route, Shared):
    """Computes gradients through torch.nn.parallel.DistributedDataParallel (Li et al. 2020, arXiv 2006.15704), which is
    created on first use and recreated when parameters or the group change, or after it was interrupted.

    All processes synchronize when gradients reach the module; before a forward pass only if it may communicate: the
    first ones, with buffers, and after an error."""

    def __init__(
        self, m: nn.Module, options: dict[str, Any], text_of: Callable[[BaseException], str] = str
    ) -> None:
        Route.__init__(self, m)
        Shared.__init__(self, m, text_of)
        self.options = options
        self._key: tuple[Any, ...] = ()
        self._ddp: Any = None
        self._armed = False  # is it waiting for gradients?
        # names of trained parameters, and the graph nodes where their gradients end
        self._reached: list[tuple[str, Any]] = []

    def together(self, grad: bool) -> bool:
        return grad and group.joined()

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        if not torch.is_grad_enabled() or not group.joined() or in_backward():
            return forward_of(self.module)(*inputs, **options)
        m = self.module
        told = self.told("", (*inputs, options), m.training)
        try:
            self._begin(m, told)
            made = Calculation(self, told)
            self._armed = True
            out = self._ddp(*inputs, **options)
            made.watch(out)
            return out
        except Exception as exc:
            raise self.failed(exc) from None

    def _begin(self, m: nn.Module, told: list[tuple[str, str]]) -> None:
        """Ensure that there is a DistributedDataParallel; if one process needs a new one, all create one."""
        stale = self.open or self._now(m) != self._key
        if stale or self.refusals != meet.REFUSALS[0] or not self._settled():
            if any(self.met(told, stale)):
                self._key = ()
                self.ready(m)

    def _settled(self) -> bool:
        """Does a forward pass not communicate?"""
        return not self._ddp.will_sync_module_buffers() and (
            self.options["find_unused_parameters"]
            or getattr(self._ddp, "_has_rebuilt_buckets", False)
        )

    def missing(self) -> str:
        if self.options["find_unused_parameters"]:
            return ""
        try:
            found = next(
                (
                    name
                    for name, node in self._reached
                    if not torch._C._will_engine_execute_node(node)
                ),
                "",
            )
        except RuntimeError:  # torch.autograd.grad reaches no parameter
            return ""
        return (
            found and f"backward: no gradient comes to {found}; ddp has the option unused for that"
        )

    def begin(self, again: bool) -> None:
        if not self._armed:  # DistributedDataParallel would not synchronize a second backward
            if self.options["find_unused_parameters"]:
                raise ValueError(
                    "one backward for each forward, of the last one, by ddp with unused"
                )
            self._ddp.reducer.prepare_for_backward([])
        self._armed, self.open = False, True

    def _now(self, m: nn.Module) -> tuple[Any, ...]:
        return group.generation(), *(
            (id(param), param.dtype, param.device, param.requires_grad) for param in m.parameters()
        )

    def ready(self, m: nn.Module) -> None:
        """Ensure a DistributedDataParallel for the current parameters. ValueError, the same on every process, for
        modules that differ or have nothing to train."""
        key = self._now(m)
        if key == self._key:
            return
        self._ddp, self._key = None, ()
        params = list(m.parameters())
        trained = (
            ("parameters", f"parameter {i}: {'trained' if param.requires_grad else 'frozen'}")
            for i, param in enumerate(params)
        )
        collect.alike(
            "ddp",
            [*params, *m.buffers()],
            *trained,
            *((k, str(value)) for k, value in self.options.items()),
        )
        if not any(param.requires_grad for param in params):
            raise ValueError("no parameter requires a gradient")
        self._ddp = DistributedDataParallel(_Inner(m), **self.options)
        self._key, self.open = key, False
        self._reached = [
            (name, torch.autograd.graph.get_gradient_edge(param).node)
            for name, param in m.named_parameters()
            if param.requires_grad
        ]


def route_of(m: nn.Module) -> Route | None:
    """The route that replaces a module's forward; None if there is none."""
    found = m.__dict__.get("forward")
    return found if isinstance(found, Route) else None


def together(m: nn.Module, grad: bool) -> bool:
    """Is computation with a module collective, with or without gradients?"""
    found = route_of(m)
    return found is not None and found.together(grad)


def average(
    m: nn.Module, options: dict[str, Any], text_of: Callable[[BaseException], str] = str
) -> None:
    """Average gradients over all processes in backward, through DistributedDataParallel with these options; `text_of`
    formats the error of a computation. All processes start with the values of process 0. ValueError, the same on all,
    for modules that differ or have nothing to train."""
    made = Averaged(m, options, text_of)
    if group.joined():
        made.ready(m)
    m.__dict__["forward"] = made


def alone(m: nn.Module) -> None:
    """Undo `average`."""
    m.__dict__.pop("forward", None)


# ------------------------------------------------------------------ sharded


def is_sharded(x: Tensor | nn.Module) -> bool:
    """Is a tensor sharded over processes, or does a module have a parameter that is?"""
    if isinstance(x, nn.Module):
        return any(hasattr(param, "full_tensor") for param in x.parameters())
    return hasattr(x, "full_tensor")


def part_like(t: Tensor, p: Any) -> Tensor:
    """This process's shard of a full tensor, sharded like p; t itself if p is not sharded or has another size."""
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
    """The parts of a module that are sharded separately: the layers in its sequences and lists that have parameters,
    none shared with others."""
    users: dict[int, int] = {}
    found = []
    for parent in m.modules():
        if isinstance(parent, nn.Sequential | nn.ModuleList):
            found += [
                k
                for k in parent.children()
                if not isinstance(k, nn.Sequential | nn.ModuleList | nn.ModuleDict)
            ]
    inside = {id(part) for k in found for part in list(k.modules())[1:]}
    outer = [fromkey for fromkey in dict.fromkeys(found) if id(fromkey) not in inside]
    for k in outer:
        for param in k.parameters():
            users[id(param)] = users.get(id(param), 0) + 1
    held = {
        id(param)
        for part in m.modules()
        if not any(part is i for k in outer for i in k.modules())
        for param in part.parameters(recurse=False)
    }
    for k in outer:
        params = list(k.parameters())
        if (
            params
            and k is not m
            and all(users[id(param)] == 1 and id(param) not in held for param in params)
        ):
            yield k


def check_shards(m: nn.Module) -> None:
    """ValueError, the same on every process, if a module cannot be sharded."""
    from torch.distributed.fsdp import FSDPModule

    params = list(m.parameters())
    if not params:
        raise ValueError("there are no parameters")
    if any(isinstance(submodule, FSDPModule) for submodule in m.modules()):
        raise ValueError("parameters are sharded already")
    if any(route_of(submodule) is not None for submodule in m.modules()):
        raise ValueError("gradients are averaged already")
    kinds = {param.dtype for param in params}
    if len(kinds) > 1:
        raise ValueError(
            "parameters of several data types: "
            + ", ".join(sorted(str(k).removeprefix("torch.") for k in kinds))
        )
    if not params[0].is_floating_point() or any(
        param.layout is not torch.strided for param in params
    ):
        raise ValueError("parameters must be dense, of a floating-point type")


class Sharded(Shared):
    """A module whose parameters are sharded over processes: all its computations are collective, and processes
    synchronize before each, and when gradients reach it."""

    def __init__(self, m: nn.Module, text_of: Callable[[BaseException], str]) -> None:
        super().__init__(m, text_of)
        self._m = weakref.ref(m)
        self.names: dict[nn.Module, str] = {}  # the parts that are sharded separately
        self.order: list[nn.Module] = []  # the order in which they last ran
        self.running: list[list[nn.Module]] = []  # during a forward pass, the parts reached so far
        self.now: Calculation | None = None  # the current forward pass, if it has gradients
        self.generation = group.generation()

    def take(self, part: nn.Module, name: str) -> None:
        """Add a part to those that are sharded."""
        self.names[part] = name
        part.register_forward_pre_hook(self._enter, prepend=True, with_kwargs=True)
        part.__dict__["forward"] = Part(part, self)

    def _enter(self, part: nn.Module, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
        """Before the parameters of a part are gathered."""
        if group.generation() != self.generation:
            raise RuntimeError(
                "the processes have lost touch since fsdp; load a checkpoint into another module"
            )
        if self.running or in_backward():
            if self.running:
                self.running[-1].append(part)
            return
        grad, name = torch.is_grad_enabled(), self.names[part]
        told = self.told(f" {name}" if name else "", (*inputs, options), part.training, grad)
        if grad:
            frozen = [path for path, param in part.named_parameters() if not param.requires_grad]
            told.append(("frozen parameters", " ".join(frozen) or "none"))
        if any(self.met(told, self.open or self.refusals != meet.REFUSALS[0])):
            self.reset()
        self.now = Calculation(self, told) if grad else None

    def reset(self) -> None:
        """Release gathered parameters and the remains of a failed computation."""
        torch_versions.begin_anew(self._m())
        self.open = False

    def run(self, part: Part, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Run a part whose parameters have been gathered."""
        if in_backward():
            return Route.__call__(part, *inputs, **options)
        if self.running:
            return self._watched(Route.__call__(part, *inputs, **options))
        self.running.append([part.module])
        try:
            out = self._watched(Route.__call__(part, *inputs, **options))
            if part.module is self._m():
                self.order = self.running[-1]
            return out
        except Exception as exc:
            raise (exc if meet.lost(str(exc)) else self._left(exc)) from None
        finally:
            self.running.pop()
            self.now = None

    def _watched(self, out: Any) -> Any:
        """The output of a part: processes synchronize before its parameters are gathered for backward."""
        if self.now is not None:
            self.now.watch(out)
        return out

    def _left(self, exc: Exception) -> Exception:
        """The error to raise while the other processes continue; their parameter gathering is joined first."""
        come = self.running[-1]
        order = (
            self.order
            if self.order[: len(come)] == come
            else [*come, *(name for name in self.names if name not in come)]
        )
        for part in order[len(come) :]:
            part.unshard()  # type: ignore[operator]
            part.reshard()  # type: ignore[operator]
        problem = self.failed(exc)
        self.reset()
        return problem


class Part(Route):
    """The forward pass of a part that is sharded separately."""

    def __init__(self, m: nn.Module, of: Sharded) -> None:
        super().__init__(m)
        self.of = of

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        return self.of.run(self, inputs, options)

    def together(self, grad: bool) -> bool:
        return group.joined()


def shard(m: nn.Module, text_of: Callable[[BaseException], str] = str) -> dict[int, Any]:
    """Shard each parameter over the processes with torch's FSDP2 (torch.distributed.fsdp.fully_shard; Zhao et al. 2023,
    arXiv 2304.11277). ValueError, the same on all, for modules that differ or that `check_shards` rejects. Layers are
    gathered only while they are computed, and backward leaves this process's shard of the mean gradient. All processes
    start with the values of process 0; `text_of` formats the error of a computation. Returns the new parameters by the
    ids of the old ones; does nothing with a single process."""
    from torch.distributed.fsdp import fully_shard

    before = list(m.parameters())
    if not group.joined():
        return {}
    check_shards(m)
    collect.alike("fsdp", [*before, *m.buffers()])
    for buffer in (*before, *m.buffers()):
        collect.broadcast_(buffer, 0)
    names = {name: param for name, param in m.named_parameters(remove_duplicate=False)}
    paths = {submodule: path for path, submodule in m.named_modules()}
    mesh = mesh_of(before[0].device.type)
    made, parts = Sharded(m, text_of), list(layers(m))
    for part in (*parts, m):
        fully_shard(part, mesh=mesh, reshard_after_forward=True)
        torch_versions.mean_of(part, mesh.device_type)
    for part in (m, *parts):
        made.take(part, paths[part])
    after = dict(m.named_parameters(remove_duplicate=False))
    return {id(value): after[key] for key, value in names.items()}
