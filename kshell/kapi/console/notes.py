"""Short descriptions of objects and of the variables that refer to them: notes that the prompt shows next to
handles."""

from __future__ import annotations

from typing import Any

from kshell.errors import QError
from kshell.kapi.base.convert import dtype_name
from kshell.kapi.base.device_options import device_of
from kshell.kapi.base.handles import (
    GONE,
    DictHandle,
    KHandle,
    ModelHandle,
    ModuleHandle,
    OptimizerHandle,
    TensorHandle,
    VectorHandle,
    ask,
    behaves,
    module_of,
)
from kshell.kapi.tensor.handle_api import first_device, tensors_of
from kshell.kapi.tensor.referring_names import referring
from kshell.values.base.core import Dict, List, Table, Value, text_of

MOST = 60  # rows of a list or dictionary that can have notes


def note(x: Value) -> str:
    """A short description of an object: `tensor float 2 3 cpu`, `module sequential 3 layers 1,234 parameters cpu`;
    empty unless x is a handle."""
    if not isinstance(x, KHandle):
        return ""
    if x.obj is GONE:
        return f"freed {x.kind}"
    if x.__class__ is TensorHandle:
        return _tensor(x.obj)
    own = _kind(x)
    words = [x.kind, own if own != x.kind else "", *_counts(x), first_device(x)]
    return " ".join(word for word in words if word)


def _tensor(t: Any) -> str:
    if t is None:
        return "undefined tensor"
    size = " ".join(map(str, t.shape)) or "scalar"
    flags = [w for w, on in (("sparse", t.is_sparse), ("grad", t.requires_grad)) if on]
    return " ".join(["tensor", dtype_name(t.dtype), size, device_of(t), *flags])


def _kind(h: KHandle) -> str:
    """The type of a module, loss, optimizer, scheduler or rule; empty for a model or a collection of tensors."""
    if isinstance(h, VectorHandle | DictHandle | ModelHandle) or behaves("objtype", h) is None:
        return ""
    return text_of(ask("objtype", h))


def _counts(h: KHandle) -> list[str]:
    """The number of tensors, layers, parameters or groups."""
    if isinstance(h, VectorHandle | DictHandle):
        return [
            _many(len(h.obj), "tensor"),
            _many(sum(t.numel() for t in tensors_of(h) if t is not None), "element"),
        ]
    if isinstance(h, ModuleHandle | ModelHandle):
        module = module_of(h)
        layers = sum(1 for _ in module.children())
        return [
            _many(layers, "layer") if layers else "",
            _many(sum(param.numel() for param in module.parameters()), "parameter"),
        ]
    if isinstance(h, OptimizerHandle):
        groups = h.obj.groups
        return [
            _many(len(groups), "group"),
            _many(sum(param.numel() for group in groups for param in group["params"]), "parameter"),
        ]
    return []


def _many(n: int, word: str) -> str:
    return f"{n:,} {word}{'s' * (n != 1)}"


def notes(x: Value) -> list[str]:
    """Notes for the lines that the console shows for a value: for a handle; for each item of a list or dictionary with
    handles; for each row of a table with a handle column, the variables that refer to it. None if there are none."""
    if isinstance(x, KHandle):
        return [note(x)]
    if x.__class__ is Dict and x.k.__class__ is not Table and x.v.__class__ is List:
        return _of_items(x.v.items)
    if x.__class__ is List:
        return _of_items(x.items)
    if (
        x.__class__ is Table
        and x.names[:1] == ["ptr"]
        and "names" not in x.names
        and x.cols[0].__class__ is List
    ):
        names = referring()
        words = [
            " ".join(names.get(item.number, ())) if isinstance(item, KHandle) else ""
            for item in x.cols[0].items[:MOST]
        ]
        return ["", "", *words] if any(words) else []
    return []


def _of_items(items: list[Value]) -> list[str]:
    return (
        [note(i) for i in items[:MOST]] if any(isinstance(i, KHandle) for i in items[:MOST]) else []
    )


def shown(x: Value) -> list[str]:
    """The notes for a value's lines; none if an object cannot be queried."""
    try:
        return notes(x)
    except (
        QError,
        AttributeError,
        TypeError,
        RuntimeError,
    ):  # an object that the host program is changing
        return []
