"""Tensor attributes: size, stride, types, flags, `info`, `detail`, `options`; one table row each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from kshell.entry_kinds import KINDS, types
from kshell.errors import UNSAID, QError
from kshell.kapi.base.args import is_empty, items, name_of, names_of, need, unknown
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import dtype_name, dtype_named, ktype_of, to_q
from kshell.kapi.base.device_options import (
    SYMBOLS,
    is_pinned,
    layout_name,
    memory_format,
    memory_name,
    options_dict,
)
from kshell.kapi.base.handles import DictHandle, TensorHandle, VectorHandle, ask, behaves
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.tensor.handle_api import bytes_of, elements_of, need_handle
from kshell.kapi.tensor.reference_counts import address, references, storage_ptr, storage_references
from kshell.values.base import types as T
from kshell.values.base.build import collapse, empty, longs, symdict
from kshell.values.base.core import (
    NIL,
    NULL_J,
    Dict,
    List,
    ListValue,
    Table,
    Value,
    atom_t,
    char,
    long,
    sym_vec,
)
from kshell.values.base.symbols import sym
from kshell.values.session.restrict import refuse

if TYPE_CHECKING:
    from torch import Tensor

EFFECT = "none"  # default for the functions here


class Attribute(NamedTuple):
    """One attribute of a tensor: how to read it, its value for the undefined tensor, its description, an example."""

    fn: Callable[[Any], Value]
    undefined: Value
    doc: str
    example: str


def _strided(t: Tensor) -> bool:
    return t.layout is torch.strided


def _gradfn(t: Tensor) -> Value:
    grad_fn = t.grad_fn
    return sym("" if grad_fn is None else grad_fn.name())


def _memory(t: Tensor) -> Value:
    return sym(memory_name(t))


ATTRIBUTES: dict[str, Attribute] = {
    "size": Attribute(
        lambda t: longs(list(t.shape)),
        longs([]),
        "The size of each dimension.",
        "q)size tensor 2 3#til 6\n2 3",
    ),
    "stride": Attribute(
        lambda t: longs(list(t.stride())) if _strided(t) else List([]),
        List([]),
        "The distance between neighbours in each dimension, in elements.",
        "q)stride transpose tensor 3 4#5\n1 4",
    ),
    "dim": Attribute(
        lambda t: t.dim(), 0, "The number of dimensions.", "q)dim tensor 2 3#til 6\n2"
    ),
    "densedim": Attribute(
        lambda t: t.dense_dim() if not _strided(t) else t.dim(),
        0,
        "The number of dense dimensions.",
        "q)densedim tensor 2 3#til 6\n2",
    ),
    "sparsedim": Attribute(
        lambda t: t.sparse_dim() if not _strided(t) else 0,
        0,
        "The number of sparse dimensions.",
        "q)sparsedim tensor(0 3 0;`sparse)\n1",
    ),
    "nnz": Attribute(
        lambda t: t._nnz() if not _strided(t) else int(t.count_nonzero()),
        0,
        "The number of stored values of a sparse tensor; for a dense one, of non-zero elements.",
        "q)nnz tensor(0 3 0;`sparse)\n1",
    ),
    "numel": Attribute(
        lambda t: t.numel() if _strided(t) else t._values().numel(),
        0,
        "The number of elements; for a sparse tensor, of its values.",
        "q)numel tensor 2 3#til 6\n6",
    ),
    "itemsize": Attribute(
        lambda t: t.element_size(),
        0,
        "The size of one element in bytes.",
        "q)itemsize tensor 1 2e\n4",
    ),
    "elements": Attribute(
        lambda t: elements_of(t),
        0,
        "The number of elements in the storage.",
        "q)elements narrow(tensor til 10;0;5;5)\n10",
    ),
    "bytes": Attribute(
        lambda t: bytes_of(t), 0, "The size of the storage in bytes.", "q)bytes tensor 1 2 3\n24"
    ),
    "offset": Attribute(
        lambda t: t.storage_offset() if _strided(t) else NULL_J,
        0,
        "The offset of a tensor in its storage, in elements; null for a sparse one.",
        "q)offset narrow(tensor til 10;0;5;5)\n5",
    ),
    "gradfn": Attribute(
        _gradfn,
        sym(""),
        "The backward function of the operation that made a tensor.",
        "q)gradfn mul(x;x:tensor(1 2e;`grad))\n`MulBackward0",
    ),
    "gradient": Attribute(
        lambda t: sym("grad" if t.requires_grad else "nograd"),
        sym(""),
        "Whether a gradient is computed: grad or nograd.",
        "q)gradient tensor(1 2e;`grad)\n`grad",
    ),
    "layout": Attribute(
        lambda t: sym(layout_name(t)),
        sym(""),
        "The layout: strided or sparse.",
        "q)layout tensor 1 2\n`strided",
    ),
    "memory": Attribute(_memory, sym(""), "The memory format.", "q)memory tensor 1 2\n`contiguous"),
    "defined": Attribute(
        lambda t: True,
        False,
        "Whether a tensor is defined, with a type and device.",
        "q)defined each(tensor 1;tensor[])\n10b",
    ),
    "coalesced": Attribute(
        lambda t: _strided(t) or t.is_coalesced(),
        True,
        "Whether a sparse tensor is coalesced, with every index at most once.",
        "q)coalesced tensor 1 2\n1b",
    ),
    "leaf": Attribute(
        lambda t: t.is_leaf,
        True,
        "Whether a tensor is a leaf of the autograd graph.",
        "q)leaf mul(x;x:tensor(1 2e;`grad))\n0b",
    ),
    "pinned": Attribute(
        is_pinned, False, "Whether the memory is page-locked.", "q)pinned tensor 1 2\n0b"
    ),
    "sparseflag": Attribute(
        lambda t: not _strided(t),
        False,
        "Whether a tensor is sparse.",
        "q)sparseflag tensor(0 1;`sparse)\n1b",
    ),
    "ktype": Attribute(
        lambda t: char(T.TYPE[ktype_of(t.dtype)].char),
        char(" "),
        "The character of the q type that represents a tensor.",
        'q)ktype tensor 1 2e\n"e"',
    ),
}


def attribute(name: str, row: Attribute, x: Value) -> Value:
    """An attribute of a tensor, or of each tensor of a vector or dictionary; other classes respond through a
    behaviour."""
    if x.__class__ is not TensorHandle:
        x = need_handle(x, name)
    if x.__class__ is TensorHandle:
        tensor = x.get()
        return row.undefined if tensor is None else row.fn(tensor)
    if x.__class__ is VectorHandle:
        return _column(row, x.obj)
    if x.__class__ is DictHandle:
        return Dict(sym_vec(x.obj), _column(row, x.obj.values()))
    return ask(name, x)


def _column(row: Attribute, tensors: Collection[Any]) -> ListValue:
    """An attribute of several tensors; if there are none, an empty list of its type."""
    ktype = atom_t(row.undefined)
    if not tensors and ktype:
        return empty(ktype)
    return collapse([row.undefined if tensor is None else row.fn(tensor) for tensor in tensors])


def _register(name: str, row: Attribute) -> None:
    def run(x: Value) -> Value:
        return attribute(name, row, x)

    run.__doc__ = (
        f"{row.doc}\n\nFor a vector or dictionary, returns one value per tensor.\n\n{row.example}\n"
    )
    api(name, f"{name} ptr")(run)


for _name, _row in ATTRIBUTES.items():
    _register(_name, _row)


@api("tensorcount", "tensorcount ptr")
def tensorcount(x: Value) -> Value:
    """The number of tensors in an object.

    q)tensorcount vector(1 2 3;001b)
    2
    """
    handle = need_handle(x, "tensorcount")
    if behaves("tensorcount", handle) is not None:
        return ask("tensorcount", handle)
    return sum(1 for _ in handle.tensors())


@api("contiguous", "contiguous ptr", "contiguous(ptr;format)")
def contiguous(x: Value) -> Value:
    """Whether a tensor is contiguous in memory, in the given memory format.

    q)contiguous each(a;transpose a:tensor 2 3#til 6)
    10b
    """
    args = items(x)
    if not args:
        raise QError(
            "contiguous: need allocated torch object, e.g. tensor, module, given null/unary primitive"
        )
    name = "contiguous"
    if len(args) == 2:
        name = need(name_of(args[1]), "contiguous", "symbol for memory format", args[1])
        if name not in SYMBOLS["memory"]:
            raise unknown(
                "unrecognized memory format: ",
                name,
                SYMBOLS["memory"],
                call="contiguous",
                expected=UNSAID,
                given=UNSAID,
            )
    memory = memory_format("contiguous" if name == "preserve" else name)
    entry = Attribute(
        lambda t: bool(_strided(t) and t.is_contiguous(memory_format=memory)), False, "", ""
    )
    return attribute("contiguous", entry, args[0])


@api(
    "dtype", "dtype()", "dtype symbol", "dtype ptr", target="torch.set_default_dtype", effect="own"
)
def dtype(x: Value) -> Value:
    """The data type of a tensor; without an argument, the default type; a symbol sets the default.

    q)dtype tensor 1 2 3
    `long

    q)dtype()
    `float
    """
    if is_empty(x):
        return sym(dtype_name(torch.get_default_dtype()))
    name = name_of(x)
    if name is not None:
        default = dtype_named(name)
        if default is None:
            raise QError(f"dtype: unrecognized data type `{name}")
        refuse("dtype")
        torch.set_default_dtype(default)
        return NIL
    return attribute("dtype", Attribute(lambda t: sym(dtype_name(t.dtype)), sym(""), "", ""), x)


# ------------------------------------------------------------------ all at once


@api("options", "options()", "options ptr", "options`name")
def options(x: Value) -> Value:
    """The options of a tensor: device, data type, layout, gradient, pinned memory, memory format.

    Without an argument, the defaults. For a vector, a table; for a dictionary, a keyed table. For a module, loss or
    optimizer, or the name of one, its options.

    q)options tensor 1 2 3
    device  | cpu
    dtype   | long
    layout  | strided
    gradient| nograd
    pin     | unpinned
    memory  | contiguous
    """
    name = name_of(x)
    if is_empty(x) or name == "":
        return options_dict(torch.empty(0))
    if name is not None:
        for kind in KINDS.values():
            values = kind.values(name)
            if values is not None:
                return values
        raise unknown(
            "unrecognized name `",
            name,
            (entry.name for kind in types() for entry in kind.entries()),
            call="options",
            given=UNSAID,
        )
    handle = need_handle(x, "options")
    if handle.__class__ is TensorHandle:
        return options_dict(handle.obj)
    if handle.__class__ is VectorHandle:
        return _options_table(handle.obj)
    if handle.__class__ is DictHandle:
        return Dict(sym_vec(handle.obj), _options_table(handle.obj.values()))
    return ask("options", handle)


def _options_table(tensors: Iterable[Any]) -> Table:
    """The options of some tensors, one row per tensor."""
    rows = [names_of(options_dict(tensor).v) or [] for tensor in tensors]
    names = names_of(options_dict(None).k) or []
    return Table(
        names,
        [sym_vec(column) for column in zip(*rows, strict=True)]
        if rows
        else [sym_vec([]) for _ in names],
    )


_INFO = ("leaf", "gradfn", "dim", "sparsedim", "size", "stride", "numel", "itemsize")


def _info(t: Tensor | None) -> tuple[list[str], list[Value]]:
    options = options_dict(t)
    names = names_of(options.k) or []
    values: list[Value] = list(options.v.items)
    for name in _INFO:
        entry = ATTRIBUTES[name]
        names.append(name)
        values.append(entry.undefined if t is None else entry.fn(t))
    for name, value in (
        ("contiguous", False if t is None else bool(_strided(t) and t.is_contiguous())),
        ("coalesced", ATTRIBUTES["coalesced"].fn(t) if t is not None else False),
        ("offset", 0 if t is None else ATTRIBUTES["offset"].fn(t)),
        ("ptr", long(0 if t is None else address(t))),
        ("ref", 0 if t is None else references(t)),
    ):
        names.append(name)
        values.append(value)
    return names, values


def _storage(t: Tensor | None) -> Value:
    """A tensor's storage: elements, bytes per element, references, address, data."""
    if t is None:
        return NIL
    storage = t.untyped_storage()
    data = torch.empty(0, dtype=t.dtype, device=t.device).set_(storage)
    return symdict(
        ["size", "itemsize", "ref", "ptr", "data"],
        [
            storage.nbytes() // t.element_size(),
            t.element_size(),
            storage_references(t),
            long(storage_ptr(t)),
            to_q(data),
        ],
    )


def _detail(t: Tensor | None) -> Value:
    names, values = _info(t)
    return symdict([*names, "storage"], [*values, _storage(t)])


@api("info", "info ptr")
def info(x: Value) -> Value:
    """All attributes of a tensor as a dictionary.

    q)`dtype`size`leaf#info tensor 2 3#til 6
    dtype| `long
    size | 2 3
    leaf | 1b
    """
    return _describe("info", x, lambda t: symdict(*_info(t)))


@api("detail", "detail ptr")
def detail(x: Value) -> Value:
    """All attributes of a tensor and its storage as a dictionary; for a sparse tensor, those of its indices and values.

    q)detail[tensor 2 3#til 6][`storage]`data
    0 1 2 3 4 5
    """
    return _describe(
        "detail",
        x,
        lambda t: (
            Dict(
                sym_vec(["indices", "values"]),
                collapse([_detail(t._indices()), _detail(t._values())]),
            )
            if t is not None and not _strided(t)
            else _detail(t)
        ),
    )


def _describe(name: str, x: Value, fn: Callable[[Any], Value]) -> Value:
    handle = need_handle(x, name)
    if handle.__class__ is TensorHandle:
        return fn(handle.obj)
    if handle.__class__ is VectorHandle:
        return collapse([fn(tensor) for tensor in handle.obj])
    if handle.__class__ is DictHandle:
        return Dict(sym_vec(handle.obj), List([fn(tensor) for tensor in handle.obj.values()]))
    return ask(name, handle)
