"""Short descriptions of objects and of the variables that refer to them: notes that the prompt shows next to
handles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kshell.errors import QError
from kshell.kapi.base.convert import dtype_name
from kshell.kapi.base.device_options import device_of
from kshell.kapi.base.handle_kind import many
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
    behaviour,
    module_of,
)
from kshell.kapi.tensor.handle_api import first_device
from kshell.kapi.tensor.referring_names import referring
from kshell.values.base.core import Dict, List, Table, Value, text_of

if TYPE_CHECKING:
    pass

MOST = 60  # rows of a list or dictionary that can have notes


def note(x: Value) -> str:
    """A short description of an object: `tensor float 2 3 cpu`, `module sequential 3 layers 1,234 parameters cpu`;
    empty unless x is a handle."""
    if not isinstance(x, KHandle):
        return ""
    if x.obj is GONE:
        return f"freed {x.kind}"
    return x.note()


@behaviour("note", KHandle)
def _note(h: KHandle) -> str:
    """The note for any handle: type (of a module, loss, optimizer, scheduler or rule), counts, device."""
    own = text_of(ask("objtype", h)) if behaves("objtype", h) is not None else ""
    words = [h.kind, own if own != h.kind else "", *h.counts(), first_device(h)]
    return " ".join(word for word in words if word)


@behaviour("note", TensorHandle)
def _tensor(h: TensorHandle) -> str:
    t = h.obj
    if t is None:
        return "undefined tensor"
    size = " ".join(map(str, t.shape)) or "scalar"
    flags = [w for w, on in (("sparse", t.is_sparse), ("grad", t.requires_grad)) if on]
    return " ".join(["tensor", dtype_name(t.dtype), size, device_of(t), *flags])


@behaviour("counts", VectorHandle, DictHandle)
def _in_container(h: KHandle) -> list[str]:
    shown = sum(t.numel() for t in h.tensors() if t is not None)
    return [many(len(h.obj), "tensor"), many(shown, "element")]


@behaviour("counts", ModuleHandle, ModelHandle)
def _in_module(h: KHandle) -> list[str]:
    module = module_of(h)
    layers = sum(1 for _ in module.children())
    return [
        many(layers, "layer") if layers else "",
        many(sum(param.numel() for param in module.parameters()), "parameter"),
    ]


@behaviour("counts", OptimizerHandle)
def _in_optimizer(h: OptimizerHandle) -> list[str]:
    groups = h.obj.groups
    shown = sum(param.numel() for group in groups for param in group["params"])
    return [many(len(groups), "group"), many(shown, "parameter")]


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
    # an object that the host program is changing
    except (
        QError,
        AttributeError,
        TypeError,
        RuntimeError,
    ):
        return []
