"""Values as objects of a pickle: new ones, and ones that take the place of others, of the same kind where they can.

What is written over a file goes through here: an object that nobody changed is the file's own, a dictionary with a new
entry is of the class that the old one was, a number of NumPy stays one.
"""

from __future__ import annotations

import copy
import datetime
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from kshell.checkpoints.base.stored import (
    WIDTHS,
    Bytes,
    Composite,
    Flipped,
    Stored,
    Strided,
    Traits,
)
from kshell.checkpoints.pickles.machine import Global, Node
from kshell.checkpoints.pickles.meanings import Branch, Kept, Meanings, Word, content
from kshell.checkpoints.pickles.writing import call, named
from kshell.errors import QError
from kshell.registry import Hook

# fmt: off  # a table
STORAGES = {
    "float32": "Float",
    "float64": "Double",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "bool": "Bool",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
    "qint8": "QInt8",
    "quint8": "QUInt8",
    "qint32": "QInt32",
    "quint4x2": "QUInt4x2",
    "quint2x4": "QUInt2x4",
}
# fmt: on
_PARAMETER = "torch.nn.parameter.Parameter"
_UTILS = "torch._utils."


class Read(dict):
    """A dictionary with the keys of one in a file, of whose class it is."""

    def __init__(self, pairs: Iterable[tuple[Any, Any]], branch: Branch) -> None:
        super().__init__(pairs)
        self.branch = branch


def like(old: dict[Any, Any], pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """A dictionary with these entries, of the class of another."""
    return Read(pairs, old.branch) if old.__class__ is Read else dict(pairs)


class Unheld(Protocol):
    """A value that can be written only where a file has the same. `is_unheld` tells it from others."""

    is_unheld: bool
    problem: QError  # of writing it as a new one

    def shows(self, m: Meanings, old: Any) -> bool:
        """Is it what an object of a pickle shows?"""


# ------------------------------------------------------------------ new objects


def encoded(x: Any) -> Any:
    """The object for a value: a dictionary, list or tuple of values, a number, text, date or time, a tensor, an object
    of a pickle. QError for others."""
    if isinstance(x, Branch):
        return x.graph
    if x.__class__ is Node or x.__class__ is Global:
        return x
    if x.__class__ is Read:
        return merged(x.branch.meanings, x.branch.graph, x)
    if isinstance(x, Stored):
        return x.origin.graph if x.origin is not None else tensor(x)
    if x.__class__ is dict:
        return {encoded(key): encoded(value) for key, value in x.items()}
    if x.__class__ in (list, tuple):
        return x.__class__(map(encoded, x))
    if x is None or x.__class__ in (bool, int, float, str, bytes, complex):
        return x
    maker = _MAKERS.get(x.__class__)
    if hasattr(x, "is_unheld"):
        raise x.problem
    if maker is None:
        raise QError(f"ckpt: a {type(x).__name__} cannot be written")
    return maker(x)


def _datetime(x: datetime.datetime) -> Node:
    data = x.year.to_bytes(2) + bytes((x.month, x.day, x.hour, x.minute, x.second))
    return call("datetime.datetime", data + x.microsecond.to_bytes(3))


_MAKERS: dict[type, Callable[[Any], Any]] = {
    datetime.datetime: _datetime,
    datetime.date: lambda x: call("datetime.date", x.year.to_bytes(2) + bytes((x.month, x.day))),
    np.float32: lambda x: tensor(of_array(np.asarray(x))),
    np.ndarray: lambda x: tensor(of_array(x)),
    datetime.timedelta: lambda x: call("datetime.timedelta", x.days, x.seconds, x.microseconds),
}


def of_array(x: np.ndarray) -> Strided:
    """An array of numbers as a tensor."""
    return Strided(str(x.dtype), x.shape, Bytes(np.ascontiguousarray(x).tobytes()))


def _no_hooks() -> Node:
    return call("collections.OrderedDict")


def tensor(x: Stored) -> Node:
    """The object for a tensor that no file has, or none in this form."""
    traits = x.traits or Traits()
    if isinstance(x, Composite):
        node = _composite(x)
    elif isinstance(x, Flipped):
        node = _strided(x.of, traits.grad, dict.fromkeys(x.marks, True))
    elif x.options and "scheme" in x.options:
        node = _quantized(x, traits.grad)
    else:
        node = _strided(x, traits.grad)
    if traits.cls != _PARAMETER:
        return node
    if not traits.attributes:
        return call(_UTILS + "_rebuild_parameter", node, traits.grad, _no_hooks())
    attributes = {key: encoded(value) for key, value in traits.attributes.items()}
    return call(
        _UTILS + "_rebuild_parameter_with_state", node, traits.grad, _no_hooks(), attributes
    )


def _storage(x: Strided) -> tuple[Node, bool]:
    """The object for the memory of a tensor, and whether it has a class for the type of its items."""
    kind = STORAGES.get(x.dtype)
    if x.memory.length % WIDTHS[x.dtype]:  # it was that of other items
        kind = None
    cls = named(f"torch.{kind}Storage") if kind else named("torch.storage.UntypedStorage")
    count = x.memory.length // (WIDTHS[x.dtype] if kind else 1)
    device = getattr(x.memory, "device", "cpu")
    return Node("object", None, ("storage", cls, x.memory, device, count)), kind is not None


def _strided(x: Stored, grad: bool, marks: dict[str, bool] | None = None) -> Node:
    if not isinstance(x, Strided) or x.foreign:
        x = _contiguous(x)
    storage, is_typed = _storage(x)
    start, shape, stride = x.start, x.shape, x.stride
    more = () if not marks else (marks,)
    if is_typed:
        return call(
            _UTILS + "_rebuild_tensor_v2", storage, start, shape, stride, grad, _no_hooks(), *more
        )
    dtype = named(f"torch.{x.dtype}")
    return call(
        _UTILS + "_rebuild_tensor_v3",
        storage,
        start,
        shape,
        stride,
        grad,
        _no_hooks(),
        dtype,
        *more,
    )


class Content:
    """The numbers of a tensor, as memory of their own."""

    def __init__(self, of: Stored) -> None:
        self.of, self.length = of, of.nbytes

    def into(self, out: memoryview, start: int = 0) -> None:
        """As for all memory."""
        self.of.into(out, start)


def _contiguous(x: Stored) -> Strided:
    """A tensor with memory of its own: the same each time, so that names of one tensor have one memory."""
    known: Strided | None = x.__dict__.get("own_memory")
    if known is None:
        known = x.__dict__["own_memory"] = Strided(x.dtype, x.shape, Content(x))
        known.traits = x.traits
    return known


def _quantized(x: Stored, grad: bool) -> Node:
    if not isinstance(x, Strided):
        raise QError("ckpt: a quantised tensor of this kind cannot be written")
    storage, is_typed = _storage(x)
    if not is_typed:
        raise QError("ckpt: a quantised tensor in memory of other items cannot be written")
    how, scheme = x.options, named(f"torch.{x.options['scheme']}")
    numbers: tuple[Any, ...] = (scheme, how["scale"], how["zero"]) if "scale" in how else (
        scheme, tensor(how["scales"]), tensor(how["zeros"]), how["axis"]
    )  # fmt: skip
    return call(
        _UTILS + "_rebuild_qtensor", storage, x.start, x.shape, x.stride, numbers, grad, _no_hooks()
    )


def _composite(x: Composite) -> Node:
    parts = [tensor(part) for part in x.parts.values()]
    size = call("torch.Size", x.shape)
    if x.kind == "meta":
        dtype = named(f"torch.{x.dtype}")
        grad = bool(x.traits and x.traits.grad)
        return call(
            _UTILS + "_rebuild_meta_tensor_no_storage",
            dtype,
            size,
            tuple(x.options["stride"]),
            grad,
        )
    layout = call("torch.serialization._get_layout", f"torch.{x.kind}")
    if x.kind == "sparse_coo":
        data: tuple[Any, ...] = (*parts, size, bool(x.options.get("coalesced")))
    elif x.kind.startswith("sparse_"):
        data = (*parts, size)
    else:
        raise QError(f"ckpt: a {x.kind} tensor that was changed cannot be written")
    return call(_UTILS + "_rebuild_sparse_tensor", layout, data)


# ------------------------------------------------------------------ in the place of others


def alike(m: Meanings, old: Any, new: Any, depth: int = 0) -> bool:
    """Is a value what an object of a pickle shows?"""
    if isinstance(new, Branch):
        return new.graph is old
    if hasattr(new, "is_unheld"):
        return bool(new.shows(m, old))
    if isinstance(new, Stored):
        return new.origin is not None and new.origin.graph is old
    value = m.of(old)
    if (
        isinstance(value, Stored)
        or value.__class__ is Node
        or value.__class__ is Global
        or depth > 200
    ):
        return False
    if isinstance(value, dict):
        return (
            isinstance(new, dict)
            and len(new) == len(value)
            and all(
                _same(m, k, n) and alike(m, part, new[n], depth + 1)
                for (k, part), n in zip(value.items(), new, strict=True)
            )
        )
    if isinstance(value, list | tuple):
        return (
            isinstance(new, list | tuple)
            and len(new) == len(value)
            and all(alike(m, part, item, depth + 1) for part, item in zip(value, new, strict=True))
        )
    if _same(m, value, new):
        return True
    is_odd = isinstance(value, datetime.time) or getattr(value, "dtype", _PLAIN).kind in "cOVUSmM"
    return is_odd and SHOWN.fn is not None and _equal(SHOWN.fn(m, old), new)


_PLAIN = np.dtype(float)
SHOWN = Hook()  # what q shows for an object of a pickle, as it is written: kapi/checkpoint/trees.py


def _equal(x: Any, y: Any) -> bool:
    """Are two values of a tree equal, whose arrays are NumPy's?"""
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        return x.__class__ is y.__class__ and x.dtype == y.dtype and np.array_equal(x, y)
    if isinstance(x, dict) and isinstance(y, dict):
        return list(x) == list(y) and all(map(_equal, x.values(), y.values()))
    if isinstance(x, list | tuple) and isinstance(y, list | tuple):
        return len(x) == len(y) and all(map(_equal, x, y))
    return x is y or bool(x == y)


def _same(m: Meanings, old: Any, new: Any) -> bool:
    """Are two values without parts the same for q?"""
    if old is new:
        return True
    old = m.of(old)
    if isinstance(old, np.ndarray):
        return _is_equal(old, new)
    if isinstance(old, Kept):
        return isinstance(new, bytes) and new == bytes(content(old))
    if isinstance(old, datetime.datetime) and old.tzinfo is not None:
        return bool(old.astimezone(datetime.UTC).replace(tzinfo=None) == new)
    if isinstance(old, set | frozenset):
        return bool(
            sorted(map(str, old)) == sorted(map(str, new)) if isinstance(new, list) else False
        )
    if isinstance(old, bool | np.bool_) is not isinstance(new, bool | np.bool_):
        return False
    if isinstance(old, bytes | bytearray):
        return isinstance(new, bytes | bytearray) and bytes(old) == bytes(new)
    if isinstance(old, float | np.floating) and old != old:
        return bool(new.__class__ is float and new != new)
    if isinstance(old, int | float | np.generic) and isinstance(new, int | float | np.generic):
        return type(old).__name__.startswith("float") is type(new).__name__.startswith(
            "float"
        ) and bool(old == new)
    if old is None or new is None:
        return old is new
    if isinstance(old, str) or isinstance(new, str):
        return str(old) == str(new)
    return bool(old == new)


def _is_equal(x: np.ndarray, y: Any) -> bool:
    """Does an array have the same items as a list, an array of q's, or what stands for times?"""
    if x.dtype.names:
        return _equal([dict(zip(x.dtype.names, row, strict=True)) for row in x.tolist()], y)
    if not x.size and isinstance(y, np.ndarray | list):
        return not len(y) or x.shape[0] == len(y)
    if x.dtype.kind in "mM" or not isinstance(y, np.ndarray | list):
        return not x.ndim and bool(y == x)
    if x.dtype.kind not in "biufSU":
        return _equal(x.tolist(), y)
    try:
        items = np.asarray(y)
    except ValueError:
        return False
    return x.shape == items.shape and np.array_equal(x, items, equal_nan=x.dtype.kind == "f")


def merged(m: Meanings, old: Any, new: Any) -> Any:
    """The object for a value that takes the place of another object: that object itself if the value is what it shows,
    else one of the same kind, of which the parts that are still the same are its own."""
    if new.__class__ is Read and (new.branch.meanings is not m or new.branch.graph is not old):
        return merged(new.branch.meanings, new.branch.graph, new)
    if alike(m, old, new):
        return old
    value = m.of(old)
    if isinstance(value, dict) and isinstance(new, dict):
        known = {_name(m, key): (key, part) for key, part in value.items()}
        known |= {key: (key, part) for key, part in value.items()}
        pairs = {}
        for key, item in new.items():
            if key in known:
                own_key, part = known[key]
                pairs[own_key] = merged(m, part, item)
            else:
                pairs[encoded(key)] = encoded(item)
        return filled(m, old, pairs)
    if isinstance(value, list | tuple) and isinstance(new, list | tuple) and not _is_made(old):
        parts = [
            merged(m, value[i], item) if i < len(value) else encoded(item)
            for i, item in enumerate(new)
        ]
        return _relisted(old, parts)
    if isinstance(new, Stored) and isinstance(value, Stored) and new.origin is None:
        return _as_before(value, new)
    return _number(m, old, value, new)


def _name(m: Meanings, key: Any) -> Any:
    """A key as q shows it."""
    value = m.of(key)
    try:
        hash(value)
    except TypeError:
        return key
    return value.item() if isinstance(value, np.generic) else value


def _is_made(old: Any) -> bool:
    """Is a list or tuple one that an object shows for something else?"""
    return old.__class__ is Node and old.name != "torch.Size"


def _as_before(old: Stored, new: Stored) -> Any:
    """A tensor in the place of one of a class, with its flag of gradients and its attributes."""
    if old.traits is None or (new.traits is not None and new.traits.cls):
        return tensor(new)
    if not isinstance(new, Strided | Composite):
        new = _contiguous(new)  # the memory is its own, also of copies
    result = copy.copy(new)
    result.traits = Traits(old.traits.cls, old.traits.grad)
    return tensor(result)


def _relisted(old: Any, parts: list[Any]) -> Any:
    """A sequence with these parts, of the class of another."""
    if old.__class__ is Node:
        return Node(old.how, old.callee, (tuple(parts),))
    return tuple(parts) if old.__class__ is tuple else parts


def filled(m: Meanings, old: Any, pairs: Mapping[Any, Any]) -> Any:
    """A dictionary with these entries, of the class of another: what else an object of such a class has stays."""
    if old.__class__ is not Node:
        return dict(pairs)
    state = old.state
    made = Node(old.how, old.callee, old.args, old.kwargs)
    if old.name in ("argparse.Namespace", "types.SimpleNamespace"):
        made.steps = [("state", dict(pairs))]
    elif "omegaconf" in old.name:
        made.steps = [("state", {**m.of(state), "_content": dict(pairs)})]
    else:
        is_given = old.name != "collections.defaultdict"
        made.args = () if is_given else old.args
        made.steps = [("pairs", list(pairs.items()))] if pairs else []
        made.steps += [("state", part) for part in old.states]
    return made


def _number(m: Meanings, old: Any, value: Any, new: Any) -> Any:
    """A number or text in the place of another: of NumPy's type, where that one was."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return _array(m, old, value, new)
    if (
        isinstance(value, np.generic)
        and value.dtype.kind in "biuf"
        and isinstance(new, bool | int | float | np.generic)
    ):
        data = np.asarray(new).astype(value.dtype).tobytes()
        return Node(old.how, old.callee, (old.args[0], data))
    if (
        isinstance(value, str)
        and not isinstance(value, Word)
        and isinstance(new, str)
        and "Path" in getattr(old, "name", "")
    ):
        return Node(old.how, old.callee, (new,))
    if value.__class__ is float and new.__class__ is int:
        return float(new)
    return encoded(new)


def _array(m: Meanings, old: Any, value: np.ndarray, new: Any) -> Any:
    """An array of NumPy in the place of another, of the same type."""
    try:
        items = np.ascontiguousarray(np.asarray(new), value.dtype.newbyteorder("<"))
    except (ValueError, TypeError):
        return encoded(new)
    made = Node(old.how, old.callee, old.args)
    if not old.states:  # in protocol 5
        made.args = (bytearray(items.tobytes()), old.args[1], items.shape, "C")
        return made
    version, _, kind, *_ = m.of(old.state)
    made.steps = [("state", (version, items.shape, kind, False, items.tobytes()))]
    return made


# ------------------------------------------------------------------ attributes of objects


def put_attribute(m: Meanings, node: Node, name: str, new: Any) -> None:
    """Give an attribute of an object a new value, where the object has it; a new attribute if it has none. QError if it
    takes none."""
    for at, (kind, state) in enumerate(node.steps):
        value = m.of(state) if kind == "state" else None
        if value.__class__ is tuple and len(value) == 2:
            for i, part in enumerate(value):
                if isinstance(found := m.of(part), dict) and (name in found or i == 1):
                    parts = list(value)
                    parts[i] = _with(m, part, found, name, new)
                    node.steps[at] = ("state", tuple(parts))
                    return m.forget(node)
        elif isinstance(value, dict):
            node.steps[at] = ("state", _in_state(m, state, value, name, new))
            return m.forget(node)
    raise QError(f"amend: an object of {node.name} has no {name}")


def _in_state(m: Meanings, state: Any, value: dict[Any, Any], name: str, new: Any) -> Any:
    """A state with a new value of an attribute, or of a module's parameter, buffer or child."""
    for field in ("_parameters", "_buffers", "_modules"):
        inner = m.of(value.get(field))
        if name not in value and isinstance(inner, dict) and name in inner:
            return filled(m, state, {**value, field: _with(m, value[field], inner, name, new)})
    return _with(m, state, value, name, new)


def _with(m: Meanings, old: Any, value: dict[Any, Any], name: str, new: Any) -> Any:
    part = merged(m, value[name], new) if name in value else encoded(new)
    return filled(m, old, {**value, name: part})
