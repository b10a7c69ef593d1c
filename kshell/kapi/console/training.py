"""What is live in a session, for the page that shows its training: models, parameters, losses, memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from kshell import registry
from kshell.kapi.base.handles import (
    GONE,
    KHandle,
    ModelHandle,
    ModuleHandle,
    OptimizerHandle,
    module_of,
)
from kshell.kapi.base.lazy_torch import loaded, torch
from kshell.kapi.base.recent import RECENT
from kshell.kapi.module.describe import type_name
from kshell.registry import Entry
from kshell.values.session import memory
from kshell.values.session.context import running

if TYPE_CHECKING:
    from torch import Tensor

PARAMETERS = 200  # shown of each model
SENT = 1000  # losses of each curve at once
OWN = ("q", "Q", "h", "j", "o", "z")  # namespaces without objects of users

State = dict[str, Any]


def training(what: str, seen: dict[str, int]) -> State:
    """`watch` and `leave`: somebody begins and ends to watch. `state`: all that is live; `seen` says how many losses of
    each curve were sent, and is brought up to date."""
    if what != "state":
        RECENT.watch(1 if what == "watch" else -1)
        return {}
    state: State = {"memory": _memory(), "models": [], "losses": []}
    if not loaded():
        return state
    named = _named()
    with torch.no_grad():
        state["models"] = [_described(name, h) for name, h in named]
    state["losses"] = _curves(named, seen)
    return state


def _named() -> list[tuple[str, KHandle]]:
    """The models, modules and optimizers that variables hold; modules and optimizers of models only within these."""
    found: dict[int, tuple[str, KHandle]] = {}
    for space, variables in list(running().names.spaces.items()):
        if space.lstrip(".").partition(".")[0] in OWN:
            continue
        prefix = "" if space == "." else space + "."
        for name, x in list(variables.items()):
            if isinstance(x, ModelHandle | ModuleHandle | OptimizerHandle) and x.obj is not GONE:
                found.setdefault(id(x.obj), (prefix + name, x))
    within = {
        id(part)
        for _, h in found.values()
        if isinstance(h, ModelHandle)
        for part in (h.obj.module, h.obj.optimizer)
    }
    return [pair for key, pair in found.items() if key not in within]


def _described(name: str, h: KHandle) -> State:
    """A model, module or optimizer: its type, rates, parameters and their gradients."""
    is_lazy = torch.nn.parameter.is_lazy  # without a size until the first call
    module, o, loss = _parts(h)
    named = list(module.named_parameters()) if module is not None else []
    shown = named[:PARAMETERS]
    rates = {id(p): group.get("lr") for group in _groups(o) for p in group["params"]}
    norms = _norms([p for _, p in shown])
    gradients = iter(_norms([p.grad for _, p in shown if p.grad is not None]))
    described = []
    for (parameter, p), norm in zip(shown, norms, strict=True):
        gradient = next(gradients) if p.grad is not None else None
        rate = _number(rates.get(id(p)))
        size = [] if is_lazy(p) else list(p.shape)
        described.append(
            {"name": parameter, "size": size, "norm": norm, "grad": gradient, "rate": rate}
        )
    return {
        "name": name,
        "kind": h.kind,
        "module": "" if module is None else type_name(module),
        "loss": "" if loss is None else type_name(loss),
        "optimizer": "" if o is None else o.entry.name,
        "rates": [_number(group.get("lr")) for group in _groups(o)],
        "count": sum(p.numel() for _, p in named if not is_lazy(p)),
        "more": len(named) - len(shown),
        "parameters": described,
    }


def _parts(h: KHandle) -> tuple[Any, Any, Any]:
    """Module, optimizer and loss, as far as it has them."""
    if isinstance(h, ModelHandle):
        return h.obj.module, h.obj.optimizer, h.obj.loss
    if isinstance(h, OptimizerHandle):
        return h.obj.container, h.obj, None
    return module_of(h), None, None


def _groups(o: Any) -> list[dict[str, Any]]:
    return [] if o is None else o.torch.param_groups


def _number(x: Any) -> float | None:
    """A number that JSON can hold; None for others."""
    if x is None:
        return None
    value = float(x)
    return value if math.isfinite(value) else None


def _norms(tensors: list[Tensor]) -> list[float | None]:
    """The norm of each tensor, read from the device once for each device; None where there is none."""
    found: list[float | None] = [None] * len(tensors)
    by_device: dict[Any, list[int]] = {}
    for i, t in enumerate(tensors):
        if _has_norm(t):
            by_device.setdefault(t.device, []).append(i)
    for places in by_device.values():
        norms = [torch.linalg.vector_norm(tensors[i].detach()).float() for i in places]
        for i, value in zip(places, torch.stack(norms).tolist(), strict=True):
            found[i] = _number(value)
    return found


def _has_norm(t: Tensor) -> bool:
    """Can its norm be computed, here and by this process alone? Not that of a shard (`fsdp`), of numbers that are
    packed in bytes, or of a parameter that has no size yet."""
    plain = t.__class__ is torch.Tensor or t.__class__ is torch.nn.Parameter
    dense = plain and t.layout is torch.strided and not t.is_nested and t.device.type != "meta"
    numeric = (t.is_floating_point() or t.is_complex()) and t.dtype.itemsize > 1
    return dense and numeric and t.numel() > 0


def _curves(named: list[tuple[str, KHandle]], seen: dict[str, int]) -> list[State]:
    """The losses that came since those that were sent."""
    models: list[tuple[str, Any]] = [
        (name, h.obj) for name, h in named if isinstance(h, ModelHandle)
    ]
    curves = []
    for name, model in [*models, ("backward", None)]:
        curve = RECENT.of(model)
        if curve is None or not curve.count:
            continue
        key = f"{name} {id(curve)}"
        values = curve.after(seen.get(key, 0))[-SENT:]
        seen[key] = curve.count
        curves.append(
            {"name": name, "count": curve.count, "values": [_number(value) for value in values]}
        )
    return curves


def _memory() -> State:
    """Bytes: of the process, of the machine, and of the GPU in use."""
    found: State = {"host": memory.status("VmRSS"), "machine": memory.physical(), "gpu": None}
    if loaded() and torch.cuda.is_initialized():
        device = torch.cuda.current_device()
        total = torch.cuda.get_device_properties(device).total_memory
        found["gpu"] = {
            "name": torch.cuda.get_device_name(device),
            "used": torch.cuda.memory_allocated(device),
            "peak": torch.cuda.max_memory_allocated(device),
            "total": total,
        }
    return found


registry.add(
    Entry(
        "training",
        "handler",
        {2: training},
        doc="What the page of the training shows.",
        topic="measure",
    )
)
