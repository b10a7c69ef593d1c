"""Handle management: free, return, use, addref, obj, class, objtype, mapped, ptr, reference counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from kshell.errors import CallError, QError
from kshell.kapi.base.args import is_empty, name_of
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import dict_q, dtype_name, kname, list_q, to_q, to_tensor
from kshell.kapi.base.device_options import TensorOptions, convert_to, device_of
from kshell.kapi.base.handles import (
    GONE,
    STALE,
    DictHandle,
    KHandle,
    TensorHandle,
    VectorHandle,
    ask,
    behaves,
    behaviour,
    handle,
    lend,
    stale,
    table,
    whole_of,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.tensor.containers import dict_, read_tensors
from kshell.kapi.tensor.referring_names import referring
from kshell.values.base.build import collapse, longs
from kshell.values.base.build import table as make_table
from kshell.values.base.core import NIL, Dict, List, ListValue, Value, is_list, seq_items, sym_vec
from kshell.values.base.symbols import sym

if TYPE_CHECKING:
    from torch import Tensor


def need_handle(x: Value, call: str) -> KHandle:
    """x as a live handle; otherwise an error that says what it is."""
    target = handle(x)
    if target is None and x.__class__ is List and len(x) == 1:
        target = handle(x.items[0])
    if target is None:
        raise QError(f"{call}: need allocated torch object, e.g. tensor, module, given {kname(x)}")
    return target


# ------------------------------------------------------------------ lifetime


@api("free", "free()", "free ptr", "free(p1;p2;..)", "free kdict", held=True, effect="changes")
def free(x: Value) -> Value:
    """Free torch objects: one handle, a list or dictionary of handles, or all if called without arguments.

    q)t:tensor 1 2 3
    q)free t
    q)mapped t
    0b
    """
    if is_empty(x):
        table().free_all()
        return NIL
    if isinstance(x, KHandle):
        handle(x)
        x.free()
        return NIL
    for target in _to_free(x):
        target.free()
    return NIL


def _to_free(x: Value) -> list[KHandle]:
    """The handles in a list or dictionary; if an item is not a handle, nothing is freed."""
    if x.__class__ is Dict:
        labels, container = (
            [
                f"key[`{key.s}]" if hasattr(key, "s") else f"key[{index}]"
                for index, key in enumerate(seq_items(x.k))
            ],
            "dictionary",
        )
        values = seq_items(x.v)
    elif x.__class__ is List:
        values, container = x.items, "list"
        labels = [f"element[{index}]" for index in range(len(values))]
    else:
        raise CallError(
            "free", expecting="pytorch object or list/dictionary of objects", given=kname(x)
        )
    handles: list[KHandle] = []
    for label, value in zip(labels, values, strict=True):
        if not isinstance(value, KHandle):
            raise QError(f"free: expecting pytorch object but {label} is {kname(value)}")
        if value.obj is GONE:
            raise QError(
                f"free: stale pointer, {label} of given {container}", hint=stale(value).hint
            )
        handles.append(value)
    return handles


@api("return", "return ptr", held=True, effect="changes")
def return_(x: Value) -> Value:
    """The q value of a tensor, vector or dictionary, which is then freed.

    q)return tensor 1 2 3
    1 2 3
    """
    handle = need_handle(x, "return")
    value = value_of(handle)
    handle.free("was freed by `return`, which returns its value")
    return value


def value_of(h: KHandle) -> Value:
    """The q value of a tensor, vector or dictionary handle."""
    converter = behaves("to_q", h)
    if converter is None:
        raise QError(f"return: expecting tensor, vector or dictionary, given {h.kind}")
    return converter(h)


behaviour("to_q", TensorHandle)(lambda h: to_q(h.get()))
behaviour("to_q", VectorHandle)(lambda h: list_q(h.get()))
behaviour("to_q", DictHandle)(lambda h: dict_q(h.get()))


@api("use", "use[ptr;ptr]", "use[ptr;value]", arity=2, held=True, effect="changes")
def use(x: Value, y: Value) -> Value:
    """Make a tensor, vector or dictionary handle refer to another object, or to a q value.

    The other handle is stale until the first one is freed.

    q)t:tensor 1 2 3
    q)use[t]tensor(`zeros;2)
    q)tensor t
    0 0e
    """
    target = handle(x)
    if not isinstance(target, TensorHandle | VectorHandle | DictHandle):
        raise QError("use: 1st arg must be tensor, vector or dictionary")
    source = handle(y)
    if source is target:
        return NIL
    if source is not None:
        if isinstance(target, VectorHandle) and isinstance(source, TensorHandle):
            target.obj = [source.get()]
            lend([source], target)
            return NIL
        if not isinstance(source, TensorHandle | VectorHandle | DictHandle):
            raise QError(f"use: unable to re-assign {target.kind} to given {source.kind}")
        if source.__class__ is not target.__class__:
            raise QError(f"use: cannot re-assign {target.kind} to {source.kind}")
        target.obj = source.get()
        lend([source], target)
    elif isinstance(target, TensorHandle):
        target.obj = to_tensor(y)
    elif isinstance(target, VectorHandle):
        values = seq_items(y) if is_list(y) else [y]
        target.obj = read_tensors(values, "use")
        lend(values, target)
    elif (
        y.__class__ is Dict
        or y is NIL
        or (is_list(y) and not (len(y) and isinstance(y.items[0], KHandle)))
    ):
        target.obj = cast("DictHandle", dict_(y)).get()
    else:
        raise QError(f"use: unable to re-assign {target.kind}, given {kname(y)}")
    return NIL


@api("addref", "addref ptr", effect="changes")
def addref(x: Value) -> Value:
    """A second handle for the same tensor, module, loss or optimizer.

    q)b:addref a:tensor 1 2 3
    q)same(a;b)
    1b
    """
    handle = need_handle(x, "addref")
    if not handle.shares:
        raise QError(f"addref not implemented for {handle.kind}")
    return handle.__class__(handle.obj)


@api("mapped", "mapped x", effect="none")
def mapped(x: Value) -> Value:
    """Whether x is a handle with a live object that is not part of another (such as a model's module). Never an error.

    q)mapped each(tensor 1;"text")
    10b
    """
    return isinstance(x, KHandle) and x.obj is not GONE and whole_of(x) is None


# ------------------------------------------------------------------ what there is


@api("obj", "obj[]", "obj`names", effect="none")
def obj(x: Value) -> Value:
    """The live torch objects of the session as a table: handle, class, device, type, size, elements and bytes.

    Handles of parts, such as a model's module, are left out. With `` `names ``, one more column lists the variables in
    all namespaces that refer to each object.

    q)t:tensor 1 2 3
    q)-1#select class,elements,bytes from obj[]
    class  elements bytes
    ---------------------
    tensor 3        24
    q)select class,names from obj`names
    class  names
    ------------
    tensor t
    """
    named = name_of(x) == "names"
    if not (is_empty(x) or named):
        raise QError(f"obj: empty arg expected, given {kname(x)}")
    rows = [(handle, *_row(handle)) for handle in table() if whole_of(handle) is None]
    columns = list(zip(*rows, strict=True)) if rows else [()] * 7
    result = make_table(
        ["ptr", "class", "device", "dtype", "size", "elements", "bytes"],
        [
            List(list(columns[0])),
            sym_vec(columns[1]),
            sym_vec(columns[2]),
            sym_vec(columns[3]),
            collapse(list(columns[4])) if rows else List([]),
            longs(columns[5]),
            longs(columns[6]),
        ],
    )
    if named:
        names = referring()
        result.names.append("names")
        result.cols.append(List([sym_vec(names.get(handle.number, ())) for handle in columns[0]]))
    return result


def _row(h: KHandle) -> tuple[str, str, str, Value, int, int]:
    """Class, device, dtype, size, elements, bytes of a handle's object."""
    if h.__class__ is TensorHandle:
        tensor = h.obj
        if tensor is None:
            return h.kind, "", "", longs([]), 0, 0
        return (
            h.kind,
            device_of(tensor),
            dtype_name(tensor.dtype),
            longs(list(tensor.shape)),
            elements_of(tensor),
            bytes_of(tensor),
        )
    tensors = list(h.tensors())
    if isinstance(h, VectorHandle | DictHandle):
        size: Value = len(tensors)
        elements, size_bytes = sum(map(elements_of, tensors)), sum(map(bytes_of, tensors))
    else:
        size, elements, size_bytes = (_total(name, h) for name in ("size", "elements", "bytes"))
    return h.kind, first_device(h), "", size, elements, size_bytes


def first_device(h: KHandle) -> str:
    """The device of the first tensor of a vector, dictionary, module, loss or model, or of an optimizer's first
    parameter; empty if there is none."""
    return device_of(next(iter(h.placed()), None))


def counted(cls: type[KHandle], counts: Callable[[Any], tuple[int, int, int]]) -> None:
    """Register one function as the source of tensor count, elements and bytes for a class."""
    for index, name in enumerate(("tensorcount", "elements", "bytes")):
        behaviour(name, cls)(lambda h, i=index: counts(h.obj)[i])


class TensorsHandle(KHandle):
    """Base of kinds whose objects have tensors as attributes; the tensor methods are derived from `named`."""

    __slots__ = ()

    def named(self) -> dict[str, Any]:
        """The object's tensors by name; None for a missing one."""
        raise NotImplementedError

    def put(self, name: str, t: Any) -> None:
        """Replace a tensor by another."""
        setattr(self.obj, name, t)

    def tensors(self) -> Iterable[Any]:
        return [tensor for tensor in self.named().values() if tensor is not None]

    def holds(self) -> list[Any]:
        return [self.obj, *self.tensors()]

    def size(self) -> Value:
        return len(self.named())

    def tensorcount(self) -> Value:
        return sum(1 for _ in self.tensors())

    def elements(self) -> Value:
        return sum(map(elements_of, self.tensors()))

    def bytes(self) -> Value:
        return sum(map(bytes_of, self.tensors()))

    def device(self) -> Value:
        """The device of the first one."""
        return sym(first_device(self) or "cpu")

    def inside(self) -> list[tuple[str, str]]:
        return [(name, "tensor") for name in self.named()]

    def to(self, options: TensorOptions, wait: bool) -> None:
        moved = {
            name: convert_to(tensor, options, wait=wait)
            for name, tensor in self.named().items()
            if tensor is not None
        }
        for name, tensor in moved.items():
            self.put(name, tensor)

    def checkpoint(self) -> Any:
        return dict(self.named())


def _total(name: str, h: KHandle) -> Any:
    """An attribute of a module, loss, optimizer or model; 0 if its class has none."""
    counter = behaves(name, h)
    return counter(h) if counter is not None else 0


@behaviour("tensors", TensorHandle)
def _tensor(h: TensorHandle) -> Iterable[Any]:
    return (h.obj,)


@behaviour("tensors", VectorHandle)
def _tensors_of_vector(h: VectorHandle) -> Iterable[Any]:
    return h.obj


@behaviour("tensors", DictHandle)
def _tensors_of_dict(h: DictHandle) -> Iterable[Any]:
    return h.obj.values()


def bytes_of(t: Tensor | None) -> int:
    """The bytes of a tensor's storage."""
    if t is None:
        return 0
    if t.layout is not torch.strided:
        return bytes_of(t._indices()) + bytes_of(t._values())
    return t.untyped_storage().nbytes()


def elements_of(t: Tensor | None) -> int:
    """The number of elements in a tensor's storage; for a sparse tensor, of its values."""
    if t is None:
        return 0
    if t.layout is not torch.strided:
        return elements_of(t._values())
    return t.untyped_storage().nbytes() // t.element_size()


@api("class", "class ptr", effect="none")
def class_(x: Value) -> Value:
    """The class of a torch object: tensor vector dictionary module loss optimizer model.

    For part of another object, such as a model's module, it is the error 'stale pointer, although other functions
    accept such a handle.

    q)class each(tensor 1 2;vector(1 2;3))
    `tensor`vector
    """
    target = handle(x)
    if target is None:
        raise QError(f"class: need allocated torch object, e.g. tensor, module, given {kname(x)}")
    if whole_of(target) is not None:
        raise QError(STALE)
    return sym(target.kind)


@api("objtype", "objtype ptr", effect="none")
def objtype(x: Value) -> Value:
    """The type of a torch object: tensor, parameter or buffer; for a module, loss or optimizer, its type.

    q)objtype tensor 1 2
    `tensor
    """
    handle = need_handle(x, "objtype")
    if isinstance(handle, VectorHandle | DictHandle):
        return sym(getattr(handle.obj, "objtype", "tensor"))  # set by `parms m` and `buffers m`
    if handle.__class__ is TensorHandle:
        if isinstance(handle.obj, torch.nn.Parameter):
            return sym("parameter")
        return sym("buffer" if type(handle.obj).__name__ == "Buffer" else "tensor")
    return ask("objtype", handle)


@api("result", "result ptr", effect="none")
def result(x: Value) -> Value:
    """Not implemented: the name exists in the k-api, but always raises this error.

    q)@[result;tensor 1;{x}]
    "result: not implemented for tensors"
    """
    raise QError(f"result: not implemented for {need_handle(x, 'result').plural}")


@api("resolve", "resolve x", effect="none")
def resolve(x: Value) -> Value:
    """Simplify a q value at every depth: lists of one type become vectors, lists of dictionaries become tables.

    q)resolve 1 2 3
    1 2 3
    """
    if x.__class__ is Dict:
        return Dict(cast("ListValue", resolve(x.k)), cast("ListValue", resolve(x.v)))
    return collapse([resolve(item) for item in x.items]) if x.__class__ is List else x
