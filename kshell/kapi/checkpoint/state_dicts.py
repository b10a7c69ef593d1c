"""q values as what a checkpoint holds: the inverse of tree_values.py.

Arrays of reals become tensors, other arrays lists; lists in parameter groups become tuples, as in torch. A module, an
optimizer or another object stands for its state_dict.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kshell.errors import CallError, QError
from kshell.kapi.base.convert import kname, to_tensor, whole
from kshell.kapi.base.handles import (
    DictHandle,
    KHandle,
    LossHandle,
    ModelHandle,
    ModuleHandle,
    OptimizerHandle,
    SchedulerHandle,
    TensorHandle,
    VectorHandle,
    behaves,
    behaviour,
    handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.plain_values import FromQ, within
from kshell.kapi.optim.optimizer import Opt
from kshell.kapi.optim.parameters import parameters_of
from kshell.values.base import types as T
from kshell.values.base.core import (
    NULL_J,
    Atom,
    Dict,
    List,
    Nd,
    Table,
    Value,
    Vec,
    seq_items,
    text_of,
)


def is_optimizer(v: dict[Any, Any]) -> bool:
    """Is a dictionary the state_dict of an optimizer?"""
    return (
        isinstance(v.get("state"), dict)
        and isinstance(v.get("param_groups"), list)
        and all(isinstance(key, str) for key in v)
    )


class FromValue(FromQ):
    """Arrays of reals become tensors, other arrays lists; bytes and strings their Python types."""

    def value(self, x: Value, where: str = "") -> Any:
        subject = handle(x)
        return super().value(x, where) if subject is None else of_handle(subject, where)

    def atom(self, x: Value, where: str) -> Any:
        if x is NULL_J:
            return None
        if x.__class__ is bool or x.__class__ is int or x.__class__ is float:
            return x
        if x.__class__ is Atom and x.t in (T.H, T.I):
            return x.v
        if x.__class__ is Atom and x.t == T.C:
            return text_of(Vec(T.C, np.frombuffer(bytes([x.v]), np.uint8)))
        if x.__class__ is Atom and x.t == T.E:
            return to_tensor(x)
        raise not_held(x, where)

    def array(self, x: Value, where: str) -> Any:
        if x.__class__ not in (Vec, Nd):
            if isinstance(x, List):
                return super().array(x, where)
            raise not_held(x, where)
        if x.t == T.E:
            return to_tensor(x)
        if x.t == T.C and x.__class__ is Vec:
            return text_of(x)
        if x.t == T.X and x.__class__ is Vec:
            return x.a.tobytes()
        if x.t == T.S:
            return self.items(x.items, where)
        if x.t in (T.B, T.H, T.I, T.J, T.F):
            return x.a.tolist()
        raise not_held(x, where)

    def keys(self, x: Dict, where: str) -> list[Any]:
        """The keys of a dictionary. QError if one is there twice, or a checkpoint cannot hold it."""
        keys = x.k
        if keys.__class__ is Table:
            if len(keys.cols) != 1:
                raise CallError(
                    "ckpt",
                    f"{where or 'it'} is a table with {len(keys.cols)} keys, one is expected",
                )
            keys = keys.cols[0]
        plain_keys = [_key(self.value(item), where) for item in seq_items(keys)]
        if len(set(map(repr, plain_keys))) != len(plain_keys):
            raise CallError("ckpt", f"{where or 'it'} has a key twice")
        return plain_keys

    def dictionary(self, x: Dict, where: str) -> dict[Any, Any]:
        plain_keys = self.keys(x, where)
        values = x.v.items if x.v.__class__ is Table else seq_items(x.v)
        result = {
            key: self.value(value, within(where, key))
            for key, value in zip(plain_keys, values, strict=True)
        }
        if is_optimizer(result):
            for group in result["param_groups"]:
                if not isinstance(group, dict):
                    raise QError(f"ckpt: {within(where, 'param_groups')} is not a table of groups")
                group.update(
                    {
                        key: tuple(value)
                        for key, value in group.items()
                        if isinstance(value, list) and key not in ("params", NAMES)
                    }
                )
        return result


def _key(x: Any, where: str) -> Any:
    """A key of a dictionary of Python, in which a list is none, a tuple is."""
    if x.__class__ in (list, tuple):
        return tuple(_key(part, where) for part in x)
    if x.__class__ in (dict, np.ndarray):
        kind = "a dictionary" if x.__class__ is dict else "an array"
        raise QError(f"ckpt: {where or 'it'} has {kind} as a key, which a checkpoint cannot hold")
    return x


def not_held(x: Value, where: str) -> QError:
    """The error for a value that no checkpoint can hold."""
    return QError(f"ckpt: {where or 'it'} is a {kname(x)}, which a checkpoint cannot hold")


def from_q(x: Value) -> Any:
    """The Python value of a q value that a checkpoint can hold."""
    return FromValue().value(x)


def of_handle(h: Any, where: str) -> Any:
    """The state of a handle's object, for a checkpoint. QError if a checkpoint cannot hold this kind."""
    h.get()
    if behaves("checkpoint", h) is None:
        raise QError(f"ckpt: {where or 'it'} is a {h.kind}, which a checkpoint cannot hold")
    return _whole(h.checkpoint())


@behaviour("checkpoint", TensorHandle)
def _of_tensor(h: TensorHandle) -> Any:
    t = h.obj
    return t if t is None or t.is_leaf else t.detach()


@behaviour("checkpoint", ModuleHandle, LossHandle)
def _of_module(h: KHandle) -> Any:
    return h.obj.state_dict()


behaviour("checkpoint", DictHandle)(lambda h: dict(h.obj))
behaviour("checkpoint", VectorHandle)(lambda h: list(h.obj))
behaviour("checkpoint", OptimizerHandle)(lambda h: _optimizer_state(h.obj))
behaviour("checkpoint", SchedulerHandle)(lambda h: h.obj.torch.state_dict())


@behaviour("checkpoint", ModelHandle)
def _of_model(h: ModelHandle) -> Any:
    m = h.obj
    return {
        "module": m.module.state_dict(),
        "loss": m.loss.state_dict(),
        "optimizer": _optimizer_state(m.optimizer),
    }


NAMES = "param_names"  # torch's own word


def _optimizer_state(o: Opt) -> dict[str, Any]:
    """The state_dict of an optimizer. Unless its parameters are one group in the order of the module, groups also have
    parameter names, as in torch's named groups."""
    state: dict[str, Any] = o.torch.state_dict()
    if o.container is None or any(NAMES in group for group in state["param_groups"]):
        return state
    names = iter([row.name for row in parameters_of(o)])
    if len(o.groups) > 1 or [*map(id, o.parameters())] != [*map(id, o.container.parameters())]:
        state["param_groups"] = [
            {**group, NAMES: [next(names) for _ in group["params"]]}
            for group in state["param_groups"]
        ]
    return state


def named_state(h: KHandle) -> dict[str, Any] | None:
    """The state of an optimizer, or of a model, in which parameters have their names; None for others."""
    if isinstance(h, ModelHandle):
        model = h.get()
        plain = _of_model(h)
        return {**plain, "optimizer": _named(model.optimizer)}
    return _named(h.get()) if isinstance(h, OptimizerHandle) else None


def _named(o: Opt) -> dict[str, Any]:
    state = o.torch.state_dict()
    names = [row.name for row in parameters_of(o)]
    groups = [
        {key: value for key, value in group.items() if key != NAMES}
        | {"params": [names[number] for number in group["params"]]}
        for group in state["param_groups"]
    ]
    return {
        **state,
        "state": {names[number]: buffers for number, buffers in state["state"].items()},
        "param_groups": groups,
    }


def _whole(v: object) -> Any:
    """A value with every sharded tensor gathered; the value itself if there is none."""
    if isinstance(v, torch.Tensor):
        return whole(v)
    if isinstance(v, dict | list):
        entries = [_whole(item) for item in (v.values() if isinstance(v, dict) else v)]
        if any(
            entry is not value
            for entry, value in zip(entries, v.values() if isinstance(v, dict) else v, strict=True)
        ):
            return dict(zip(v, entries, strict=True)) if isinstance(v, dict) else entries
    return v
