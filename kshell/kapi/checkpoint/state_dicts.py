"""Python values of a checkpoint as q values, and back.

None is ::, a string a symbol, a tensor a tensor handle, a list or tuple a list, a dictionary a dictionary. In an
optimizer's state_dict, the state is a keyed table with one row per parameter, and the groups are a table. In the other
direction, arrays of reals become tensors, other arrays lists; lists in parameter groups become tuples, as in torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

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
    tensor_handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.plain_values import FromQ, ToQ, within
from kshell.kapi.optim.optimizer import Opt
from kshell.kapi.optim.parameters import parameters_of
from kshell.kapi.optim.tables import TENSORS_IN
from kshell.optim.leaves import leaves_of
from kshell.values.base import types as T
from kshell.values.base.build import collapse, longs, symdict
from kshell.values.base.core import (
    NULL_J,
    Atom,
    Dict,
    List,
    Nd,
    Table,
    Value,
    Vec,
    long,
    seq_items,
    sym,
    text_of,
)

if TYPE_CHECKING:
    from torch import Tensor

MOST = 5_000_000  # maximum number of values in a checkpoint
MAX_DEPTH = 100
_AGAIN = 100_000  # values that may occur a second time
# approximate bytes of a q value besides its items, by Python type; 300 for others
_COSTS = {int: 16, float: 16, bool: 8, type(None): 8, str: 130, dict: 800}


class _Reader(ToQ):
    """Tensors become handles, lists of dictionaries with equal keys tables, other Python and torch types symbols.
    `room`: the maximum number of values. Objects that a file stores once and refers to repeatedly count every time;
    `need` is called with the approximate bytes of memory for them."""

    def __init__(self, room: int, need: Callable[[int], None]) -> None:
        self.room, self.need = room, need
        self.depth = 0

    def value(self, v: object, key: str = "") -> Value:
        self.room -= 1
        if self.room < 0 or self.depth > MAX_DEPTH:
            raise QError("limit")
        self.need(_COSTS.get(v.__class__, 300))
        return super().value(v, key)

    def inside(self, values: Iterable[Any], depth: int = 1) -> list[Value]:
        """The values in a value."""
        self.depth += depth
        items = [self.value(value) for value in values]
        self.depth -= depth
        return items

    def integer(self, v: int) -> Value:
        return long(v) if -(1 << 63) < v < 1 << 63 else sym(str(v))

    def tensor(self, t: Tensor, key: str) -> Value:
        return tensor_handle(t)

    def sequence(self, v: list[Any] | tuple[Any, ...]) -> Value:
        if (
            v
            and all(isinstance(row, dict) and row.keys() == v[0].keys() and row for row in v)
            and all(isinstance(name, str) for name in v[0])
        ):
            return self._table(v, list(v[0]))
        return collapse(self.inside(v))

    def _table(self, rows: Sequence[dict[str, Any]], names: list[str]) -> Table:
        return Table(
            names, [collapse(self.inside((row[name] for row in rows), 2)) for name in names]
        )

    def dictionary(self, v: dict[Any, Any]) -> Value:
        if not is_optimizer(v):
            return self._dict(v)
        values = [
            self._states(item) if key == "state" else self.inside([item])[0]
            for key, item in v.items()
        ]
        return symdict(list(v), values)

    def _dict(self, v: dict[Any, Any]) -> Value:
        self.need(_COSTS[str] * len(v))
        values = self.inside(v.values())
        if all(isinstance(key, str) for key in v):
            return symdict(list(v), values)
        return Dict(collapse(self.inside(v)), collapse(values))

    def _states(self, state: dict[Any, Any]) -> Value:
        """The state of an optimizer: a keyed table, if all parameters have the same buffers."""
        rows = list(state.values())
        names = list(rows[0]) if rows and isinstance(rows[0], dict) else []
        if (
            names
            and all(isinstance(row, dict) and list(row) == names for row in rows)
            and all(number.__class__ is int for number in state)
            and all(isinstance(name, str) for name in names)
        ):
            return Dict(Table(["parm"], [longs(list(state))]), self._table(rows, names))
        self.depth += 1
        table = self._dict(state)
        self.depth -= 1
        return table

    def other(self, v: object, key: str) -> Value:
        if isinstance(v, bytes | bytearray):
            return Vec(T.X, _bytes(v))
        if isinstance(v, set):
            return self.value(sorted(v, key=str))
        if isinstance(v, complex | torch.device | torch.dtype | torch.layout):
            return sym(str(v))
        raise CallError(
            "ckpt", f"it holds a {type(v).__name__.strip('_').lower()}, which has no q value"
        )


def _bytes(v: bytes | bytearray) -> Any:
    import numpy as np

    return np.frombuffer(bytes(v), np.uint8)


def is_optimizer(v: dict[Any, Any]) -> bool:
    """Is a dictionary the state_dict of an optimizer?"""
    return (
        isinstance(v.get("state"), dict)
        and isinstance(v.get("param_groups"), list)
        and all(isinstance(key, str) for key in v)
    )


def to_q_value(v: object, made: int = MOST, need: Callable[[int], None] = lambda n: None) -> Value:
    """The q value of a checkpoint from which `made` values were created; 'limit if there are more values than q could
    show, or many times more than were created. `need` is called with the approximate bytes of memory required, and may
    raise an error."""
    return _Reader(min(MOST, made + _AGAIN), need).value(v)


# ------------------------------------------------------------------ back


class _Writer(FromQ):
    """Arrays of reals become tensors, other arrays lists; bytes and strings their Python types."""

    def value(self, x: Value, where: str = "") -> Any:
        subject = handle(x)
        return super().value(x, where) if subject is None else _of_handle(subject, where)

    def atom(self, x: Value, where: str) -> Any:
        if x is NULL_J:
            return None
        if x.__class__ is bool or x.__class__ is int or x.__class__ is float:
            return x
        if x.__class__ is Atom and x.t in (T.H, T.I):
            return x.v
        if x.__class__ is Atom and x.t == T.C:
            return text_of(Vec(T.C, _bytes(bytes([x.v]))))
        if x.__class__ is Atom and x.t == T.E:
            return to_tensor(x)
        raise _not_held(x, where)

    def array(self, x: Value, where: str) -> Any:
        if x.__class__ not in (Vec, Nd):
            if isinstance(x, List):
                return super().array(x, where)
            raise _not_held(x, where)
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
        raise _not_held(x, where)

    def dictionary(self, x: Dict, where: str) -> dict[Any, Any]:
        keys = x.k
        if keys.__class__ is Table:
            if len(keys.cols) != 1:
                raise CallError(
                    "ckpt",
                    f"{where or 'it'} is a table with {len(keys.cols)} keys, one is expected",
                )
            keys = keys.cols[0]
        plain_keys = [self.value(item) for item in seq_items(keys)]
        if len(set(map(repr, plain_keys))) != len(plain_keys):
            raise CallError("ckpt", f"{where or 'it'} has a key twice")
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


def _not_held(x: Value, where: str) -> QError:
    return QError(f"ckpt: {where or 'it'} is a {kname(x)}, which a checkpoint cannot hold")


def from_q(x: Value) -> Any:
    """The Python value of a q value that a checkpoint can hold."""
    return _Writer().value(x)


@TENSORS_IN.set
def tensors_in(x: Value) -> list[tuple[str, Any]]:
    """The tensors in a value that a checkpoint can hold, under dotted names for their location."""
    leaves = [(reduce(within, path, ""), value) for path, value in leaves_of(from_q(x))]
    return [(name, value) for name, value in leaves if isinstance(value, torch.Tensor)]


def _of_handle(h: Any, where: str) -> Any:
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
