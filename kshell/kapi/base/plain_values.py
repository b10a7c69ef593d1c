"""Plain Python values (None, numbers, strings, tensors, lists, tuples and dictionaries of these) to q values and to
snapshot records, and back; q values of options.

`ToQ` and `FromQ` convert between plain and q values. Subclasses differ by use: optimizer states show tensors as arrays
and read arrays as tensors; scheduler states are only numbers, with arrays as lists; checkpoints
(kapi/checkpoint/state_dicts.py) have tensor handles.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kshell.errors import CallError, QError
from kshell.kapi.base.args import number_of
from kshell.kapi.base.convert import dtype_name, dtype_named, is_array, to_q, to_tensor
from kshell.kapi.base.lazy_torch import torch
from kshell.optim.leaves import mapped
from kshell.registry import REQUIRED, Option
from kshell.values.base import types as T
from kshell.values.base.build import collapse, floats, longs, symdict
from kshell.values.base.core import (
    NIL,
    NULL_J,
    Atom,
    Dict,
    List,
    Special,
    Table,
    Value,
    is_atom,
    long,
    seq_items,
    text_of,
)
from kshell.values.base.narrow import is_text
from kshell.values.base.symbols import Sym, sym

if TYPE_CHECKING:
    from torch import Tensor

# ------------------------------------------------------------------ to q


class ToQ:
    """Convert a plain value to q: None is ::, a string a symbol, a list or tuple a list, a dictionary a dictionary.
    Subclasses define the conversion of tensors and anything else; `key` is the value's key in its dictionary."""

    def value(self, v: object, key: str = "") -> Value:
        if v is None:
            return NIL
        if isinstance(v, bool | float):
            return v
        if isinstance(v, int):
            return self.integer(v)
        if isinstance(v, str):
            return sym(v)
        if isinstance(v, torch.Tensor):
            return self.tensor(v, key)
        if isinstance(v, dict):
            return self.dictionary(v)
        if isinstance(v, list | tuple):
            return self.sequence(v)
        return self.other(v, key)

    def integer(self, v: int) -> Value:
        return long(v)

    def tensor(self, t: Tensor, key: str) -> Value:
        return to_q(t)

    def sequence(self, v: list[Any] | tuple[Any, ...]) -> Value:
        return collapse([self.value(i) for i in v])

    def dictionary(self, v: dict[Any, Any]) -> Value:
        return symdict(list(map(str, v)), [self.value(i, str(key)) for key, i in v.items()])

    def other(self, v: object, key: str) -> Value:
        raise CallError(
            "state", f"unable to show buffer {key} of type {type(v).__name__}", says=(key,)
        )


class StateToQ(ToQ):
    """Optimizer states: tensors become arrays, but a step count becomes a long even if torch holds it in a tensor."""

    def tensor(self, t: Tensor, key: str) -> Value:
        if key == "step" and t.numel() == 1 and t.item() == int(t.item()):
            return long(int(t.item()))
        return to_q(t)


class SchedulerToQ(ToQ):
    """Scheduler states: arrays and tensors become numbers in double precision. Lists other than of floats are general,
    so lists of dictionaries are not tables, also in files. Functions and objects of the program's own classes become
    ::."""

    def tensor(self, t: Tensor, key: str) -> Value:
        return self.value(t.tolist())

    def sequence(self, v: Sequence[Any]) -> Value:
        return (
            floats(v)
            if v and all(isinstance(i, float) for i in v)
            else List([self.value(i) for i in v])
        )

    def dictionary(self, v: dict[Any, Any]) -> Value:
        if isinstance(v, Counter):  # milestones of multistep
            return Dict(longs(list(v)), longs(list(v.values())))
        return super().dictionary(v)

    def other(self, v: Any, key: str) -> Value:
        if hasattr(v, "tolist"):
            return self.value(v.tolist())
        return self.sequence(list(v)) if isinstance(v, set | frozenset | deque) else NIL


# ------------------------------------------------------------------ from q


def within(where: str, key: object) -> str:
    """The dotted name of a key inside something."""
    return f"{where}.{key}" if where else str(key)


class FromQ:
    """Convert a q value to a plain value; `where` identifies it in errors. Subclasses define the conversion of arrays
    and atoms."""

    def value(self, x: Value, where: str = "") -> Any:
        if x is NIL:
            return None
        if x.__class__ is Dict:
            return self.dictionary(x, where)
        if x.__class__ is Sym:
            return x.s
        if x.__class__ is Table:
            return self.items(x.items, where)
        return self.atom(x, where) if is_atom(x) else self.array(x, where)

    def items(self, found: Iterable[Value], where: str) -> list[Any]:
        """A list of converted values."""
        return [self.value(x, within(where, n)) for n, x in enumerate(found)]

    def dictionary(self, x: Dict, where: str) -> dict[Any, Any]:
        keys = [self.value(item) for item in seq_items(x.k)]
        return {
            key: self.value(item, within(where, key))
            for key, item in zip(keys, seq_items(x.v), strict=True)
        }

    def atom(self, x: Value, where: str) -> Any:
        number = number_of(x)
        return x if number is None else number

    def array(self, x: Value, where: str) -> Any:
        return self.items(seq_items(x), where)


class SchedulerFromQ(FromQ):
    """Scheduler states: arrays become lists, strings stay text."""

    def atom(self, x: Value, where: str) -> Any:
        return text_of(x) if is_text(x) else super().atom(x, where)

    def array(self, x: Value, where: str) -> Any:
        return text_of(x) if is_text(x) else super().array(x, where)


class StateFromQ(FromQ):
    """Optimizer states: an array becomes a tensor, so a list of tensors of equal size may arrive as one tensor with the
    same items. (`fitted` in kshell/optim/state_tree.py converts buffers to the types that the optimizer uses.)"""

    def atom(self, x: Value, where: str) -> Any:
        return (
            x.v
            if x.__class__ is Special
            else to_tensor(x)
            if x.__class__ is Atom and x.t == T.E
            else x
        )

    def array(self, x: Value, where: str) -> Any:
        return to_tensor(x) if is_array(x) else super().array(x, where)


# ------------------------------------------------------------------ records of a snapshot


def to_record(v: object, tensor: Callable[[Any], Any], size: Callable[[int], None]) -> Any:
    """A plain value as JSON. `tensor` returns the number of a tensor's record; `size` is called with the length of each
    list and dictionary."""
    if v is None or v.__class__ in (bool, int, str):
        return v
    if isinstance(v, float):
        return ["f", float(v).hex()]
    if isinstance(v, torch.Tensor):
        return ["T", tensor(v)]
    if isinstance(v, tuple | list):
        size(2 * len(v))
        return ["(" if isinstance(v, tuple) else "[", [to_record(i, tensor, size) for i in v]]
    if isinstance(v, dict):
        size(2 * len(v))
        return [
            "{",
            [[to_record(key, tensor, size), to_record(i, tensor, size)] for key, i in v.items()],
        ]
    if isinstance(v, torch.dtype):
        return ["dtype", dtype_name(v)]
    raise QError(f"a {type(v).__name__} cannot be saved")


def from_record(v: Any, tensor: Callable[[Any], Any], size: Callable[[int], None]) -> Any:
    """The plain value from JSON made by `to_record`."""
    if not isinstance(v, list):
        return v
    tag, x = v
    if tag == "f":
        return float.fromhex(x)
    if tag == "T":
        return tensor(x)
    if tag == "dtype":
        return dtype_named(x)
    if tag not in ("(", "[", "{"):
        raise ValueError(f"a value {tag}")
    size(2 * len(x))
    if tag == "{":
        return {from_record(k, tensor, size): from_record(i, tensor, size) for k, i in x}
    found = [from_record(i, tensor, size) for i in x]
    return tuple(found) if tag == "(" else found


# ------------------------------------------------------------------ records of several processes

_PLAIN = (bool, int, float, str)
_TENSOR = "/tensor"  # the key for the name of a tensor


def to_json(v: object, name: str, tensor: Callable[[str, Any], None], call: str) -> Any:
    """A plain value as JSON, with each tensor replaced by its dotted name within the value of this name. `tensor` is
    called with the name and the tensor; for values that are not plain, the error begins with `call`."""

    def leaf(path: Sequence[Any], v: object) -> Any:
        if isinstance(v, torch.Tensor):
            at = "/".join([name, *map(str, path)])
            tensor(at, v)
            return named(at)
        if v is None or v.__class__ in _PLAIN:
            return v
        raise QError(f"{call} has {path[0]}, which is not a tensor or a number")

    return mapped(leaf, v)


def named(tensor: str) -> dict[str, str]:
    """The JSON for a tensor with a name."""
    return {_TENSOR: tensor}


def from_json(v: object, tensor: Callable[[str], Any]) -> Any:
    """The plain value from JSON made by `to_json`; `tensor` returns the tensor with a name."""
    if isinstance(v, list):
        return [from_json(i, tensor) for i in v]
    if not isinstance(v, dict):
        return v
    return (
        tensor(v[_TENSOR])
        if v.keys() == {_TENSOR}
        else {key: from_json(i, tensor) for key, i in v.items()}
    )


# ------------------------------------------------------------------ options

# the q value of an absent option; modules use another one for types without null
_NULLS: dict[str, Callable[[], Value]] = {
    "long": lambda: NULL_J,
    "double": lambda: math.nan,
    "symbol": lambda: sym(""),
}
_EMPTY: dict[str, Callable[[], Value]] = {
    "any": lambda: symdict([], []),
    **dict.fromkeys(("boolean", "size", "longs", "pad", "doubles"), lambda: List([])),
}


def options_q(options: Sequence[Option], values: Mapping[str, Any] | None = None) -> Dict:
    """The q values of options by name, {name: Python value}; without values, the defaults."""
    return symdict(
        [option.name for option in options],
        [
            option_q(option, option.default if values is None else values[option.name])
            for option in options
        ],
    )


def option_q(option: Option, value: Any, dims: int | None = None) -> Value:
    """The q value of an option of an optimizer, scheduler or rule; an absent long, double or symbol is the null of its
    type, any other ::. With `dims`, of a module with that many dimensions: equal sizes in all dimensions become one
    number, and an absent option without null is empty."""
    kind = option.type
    if value is None or value is REQUIRED:
        return (_NULLS if dims is None else _EMPTY | _NULLS).get(kind, lambda: NIL)()
    if value.__class__ is str or kind == "symbol":
        return sym(str(value))
    if kind == "boolean":
        return bool(value)
    if kind == "long":
        return long(int(value))
    if kind == "double":
        return float(value)
    if kind == "tensor":
        return to_q(value) if value.__class__ is not tuple else _numbers_q(kind, value)
    return _sizes_q(option, value, dims) if kind in ("size", "pad", "longs", "doubles") else value


def _sizes_q(option: Option, value: Any, dims: int | None) -> Value:
    kind, several = option.type, isinstance(value, tuple | list | np.ndarray)
    many = tuple(value) if several else (value,) * (dims or 1)
    many = tuple(NULL_J.v if v is None else v for v in many)
    one = (
        not several
        if dims is None
        else len(set(many)) == 1
        and (kind in ("size", "pad") or (option.default is None and len(many) == dims))
    )
    if one:
        return (
            float(many[0])
            if kind == "doubles" or isinstance(many[0], float)
            else long(int(many[0]))
        )
    return _numbers_q(kind, many)


def _numbers_q(kind: str, many: tuple[Any, ...]) -> Value:
    return (
        floats(many) if kind == "doubles" or (many and isinstance(many[0], float)) else longs(many)
    )
