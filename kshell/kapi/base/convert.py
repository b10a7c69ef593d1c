"""q values to tensors and back: types, shapes, the default data type.

A tensor made for the user owns its memory, because q values are immutable and tensors are not. An argument of a single
call is only read, so it shares the array's memory; likewise the q value of a tensor that nobody else can see.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kshell import parallel
from kshell.errors import SAID, UNSAID, CallError
from kshell.kapi.base.handles import KHandle, TensorHandle, table
from kshell.kapi.base.lazy_torch import torch
from kshell.values.base import types as T
from kshell.values.base.build import as_nd, collapse, regular, symdict
from kshell.values.base.core import NIL, Dict, List, Nd, Value, Vec, atom, atom_t, is_atom, raw
from kshell.values.base.functions import Derived, Foreign, Prim

if TYPE_CHECKING:
    from torch import Tensor
    from torch import dtype as DType

# fmt: off  # a table
# data types: the symbol, torch's attribute, the q type that represents it
_DTYPES = (
    ("bool", "bool", T.B),
    ("byte", "uint8", T.X),
    ("char", "int8", T.C),
    ("short", "int16", T.H),
    ("int", "int32", T.I),
    ("long", "int64", T.J),
    ("half", "float16", T.E),
    ("float", "float32", T.E),
    ("double", "float64", T.F),
    ("chalf", "complex32", T.E),
    ("cfloat", "complex64", T.E),
    ("cdouble", "complex128", T.F),
    ("bfloat16", "bfloat16", T.E),
    ("float8e4m3", "float8_e4m3fn", T.E),
    ("float8e5m2", "float8_e5m2", T.E),
    ("float8e4m3fnuz", "float8_e4m3fnuz", T.E),
    ("float8e5m2fnuz", "float8_e5m2fnuz", T.E),
    ("float8e8m0", "float8_e8m0fnu", T.E),
    ("ushort", "uint16", T.I),
    ("uint", "uint32", T.J),
    ("ulong", "uint64", T.J),
)
# fmt: on
DTYPE_NAMES = tuple(row[0] for row in _DTYPES)
_TORCHS = {attribute: name for name, attribute, _ in _DTYPES if attribute not in DTYPE_NAMES}
_FROM_Q = {
    T.E: "float",
    T.F: "double",
    T.J: "long",
    T.I: "int",
    T.H: "short",
    T.B: "bool",
    T.X: "byte",
    T.C: "char",
}
# numpy's view of a q vector where they differ: q chars are bytes, torch's char is signed
_VIEW = {T.C: np.dtype("i1")}


class _Tables(NamedTuple):
    named: dict[str, Any]  # symbol -> torch.dtype
    name: dict[Any, str]  # torch.dtype -> symbol
    ktype: dict[Any, int]  # torch.dtype -> q type
    via: dict[Any, Any]  # torch.dtype -> a dtype that numpy supports
    complex: frozenset[Any]
    direct: dict[Any, int]  # torch.dtype -> q type, where numpy's array can be used as the q vector


_TABLES: list[_Tables] = []


def tables() -> _Tables:
    """The tables of data types (created on first use, because they need torch)."""
    if not _TABLES:
        named = {n: getattr(torch, a) for n, a, _ in _DTYPES}
        via = {
            value: torch.float32
            for value in named.values()
            if value.is_floating_point and value.itemsize < 4
        }
        via |= {
            named["ushort"]: torch.int32,
            named["uint"]: torch.int64,
            named["ulong"]: torch.int64,
            named["chalf"]: torch.complex64,
        }
        _TABLES.append(
            _Tables(
                named,
                {value: key for key, value in named.items()},
                {named[n]: t for n, _, t in _DTYPES},
                via,
                frozenset(named[n] for n in ("chalf", "cfloat", "cdouble")),
                {named[value]: key for key, value in _FROM_Q.items() if key not in _VIEW},
            )
        )
    return _TABLES[0]


def dtype_name(d: DType) -> str:
    """The symbol for a torch dtype."""
    return tables().name.get(d) or str(d).removeprefix("torch.")


def dtype_symbol(name: str) -> str:
    """The symbol of a data type from the symbol or torch's name (`uint16 is `ushort); empty if unknown."""
    return name if name in DTYPE_NAMES else _TORCHS.get(name, "")


def dtype_named(name: str) -> Any:
    """The torch dtype for a symbol, or None."""
    known = dtype_symbol(name)
    return tables().named[known] if known else None


def dtype_of_q(t: int) -> Any:
    """The torch dtype for a q type number, or None."""
    name = _FROM_Q.get(t)
    return tables().named[name] if name else None


def ktype_of(d: DType) -> int:
    """The q type number for values of a torch dtype."""
    return tables().ktype.get(d, T.E)


def default_dtype() -> Any:
    """The default float data type (set by `dtype`double`)."""
    return torch.get_default_dtype()


# ------------------------------------------------------------------ words for messages

_COMPOUND = {
    "Table": "table",
    "Dict": "kdictionary",
    "_Nil": "null/unary primitive",
    "Lambda": "lambda",
    "Proj": "projection",
    "ListProj": "projection",
    "Comp": "composition",
    "Iter": "adverb",
}
# type names in messages; the others are q's own
_WORD = {T.F: "double", T.ENUM: "enumeration"}


def _word(t: int) -> str:
    return _WORD.get(t) or T.TYPE[t].name


def kname(x: Value) -> str:
    """The type of x in messages: `long scalar`, `symbol list`, `general list`, `tensor`, ..."""
    qtype = atom_t(x)
    if qtype:
        return f"{_word(qtype)} scalar"
    if x.__class__ is Vec:
        return f"{_word(x.t)} list"
    if isinstance(x, List):
        return "general list"
    if isinstance(x, KHandle):
        return x.kind
    if x.__class__.__name__.startswith("Lambda"):
        return "lambda"
    if isinstance(x, Derived):
        return "f" + x.glyph
    if x.__class__ is Foreign:
        return f"foreign {type(x.obj).__name__}"
    if x.__class__ is Prim:
        return "operator" if getattr(x.entry, "infix", False) else "null/unary primitive"
    return _COMPOUND.get(x.__class__.__name__, "value")


# ------------------------------------------------------------------ q to torch


def is_array(x: Value) -> bool:
    """Can x become a tensor: an atom, vector or rectangular nested list of a type that torch has (including `()`)?"""
    if x.__class__ is Vec or x.__class__ is Nd:
        return x.t in _FROM_Q
    if x.__class__ is int or x.__class__ is float or x.__class__ is bool:
        return True
    if x.__class__ is List:
        if not x.items:
            return True
        nd = as_nd(x) if isinstance(x.items[0], Vec | List) else None
        return nd is not None and nd.t in _FROM_Q
    return atom_t(x) in _FROM_Q


def _hollow(x: Value) -> tuple[int, ...] | None:
    """The shape of an array without elements, whose lists end in `()`; None for others."""
    if x.__class__ is not List:
        return None
    if not x.items:
        return (0,)
    inner = _hollow(x.items[0])
    return (
        (len(x.items), *inner)
        if inner is not None and all(_hollow(i) == inner for i in x.items[1:])
        else None
    )


def _no_tensor(reason: str, given: str | None = UNSAID, *says: object) -> CallError:
    """The error for a value that cannot become a tensor, as documented for ktorch's `tensor`; other calls add their own
    name."""
    return CallError(UNSAID, reason, given=given, says=says, home="tensor")


def undefined() -> CallError:
    """The error for a call given the undefined tensor."""
    return _no_tensor("undefined tensor", UNSAID, "tensor")


def _refuse(x: Value) -> CallError:
    """The error for a value that is not an array: what is wrong at the first bad position."""
    return _wrong(x, 0, [], []) or _no_tensor(f"no torch type found for k: {kname(x)}", SAID)


def _wrong(x: Value, depth: int, shape: list[int], base: list[Value]) -> CallError | None:
    """The error for x at a depth of a nested list, or None: its length or type differs from those of the earlier parts,
    whose lengths are in `shape`, and whose innermost list is in `base` once there has been one."""
    if not isinstance(x, Vec | List):
        if depth and (is_atom(x) or isinstance(x, KHandle) or x is NIL):
            return _no_tensor(
                f"unable to map mixed array to tensor: {kname(x)} encountered at depth {depth}",
                SAID,
            )
        return _no_tensor(f"no torch type found for k: {kname(x)}", SAID)
    inner = x.__class__ is Vec or not len(x)
    if not base:
        shape.append(len(x))
        if inner:
            base.append(x)
            if x.__class__ is Vec and x.t not in _FROM_Q:
                return _no_tensor(f"no torch type found for k: {kname(x)}", SAID)
    elif len(x) != shape[depth]:
        return _no_tensor(
            f"dimension mismatch at depth {depth}, {shape[depth]} vs {len(x)}",
            UNSAID,
            depth,
            shape[depth],
            len(x),
        )
    else:
        want = kname(base[0]) if depth == len(shape) - 1 else "general list"
        if kname(x) != want:
            return _no_tensor(
                f"type mismatch at depth {depth}, {want} vs {kname(x)}", UNSAID, depth
            )
    for item in () if inner else x.items:
        found = _wrong(item, depth + 1, shape, base)
        if found is not None:
            return found
    return None


def array_of(x: Value) -> tuple[int, np.ndarray]:
    """The q type and numpy array of a vector or rectangular nested list; otherwise an error."""
    if x.__class__ is Vec or x.__class__ is Nd:
        qtype, array = x.t, x.a
    else:
        nd = as_nd(x) if x.__class__ is List else None
        if nd is None:
            raise _refuse(x)
        qtype, array = nd.t, nd.a
    if qtype not in _FROM_Q:
        raise _no_tensor(f"no torch type found for k: {_word(qtype)} list", SAID)
    return qtype, array.view(_VIEW[qtype]) if qtype in _VIEW else array


def to_tensor(x: Value, own: bool = True) -> Any:
    """The tensor for a q value: 0-dimensional for an atom, empty with the default type for `()`, None (undefined) for
    `::`.

    With `own`, it has its own memory; without, it may share the q array's memory and must not be written.
    """
    if x.__class__ is Vec or x.__class__ is Nd:
        _, a = array_of(x)
        if not a.flags.c_contiguous:
            a = np.ascontiguousarray(a)
        t = torch.from_numpy(a)
        # numpy's memory cannot be resized, as output tensors must be, so `own` means memory from torch
        return t.clone() if own else t
    if x.__class__ is float or x.__class__ is int or x.__class__ is bool:
        return torch.scalar_tensor(
            x,
            dtype=torch.float64
            if x.__class__ is float
            else torch.int64
            if x.__class__ is int
            else torch.bool,
        )
    if x is NIL:
        return None
    if x.__class__ is List:
        hollow = _hollow(x)
        if hollow is not None:
            return torch.empty(hollow, dtype=default_dtype())
        t = torch.from_numpy(array_of(x)[1])
        return t.clone() if own else t
    t = atom_t(x)
    if not t or t not in _FROM_Q:
        raise _refuse(x)
    v = raw(x)
    return torch.scalar_tensor(v - 256 if t == T.C and v > 127 else v, dtype=dtype_of_q(t))


def as_tensor(x: Value, like: Tensor | None = None) -> Any:
    """The tensor for an argument, read-only: a handle's tensor, or one that shares an array's memory; moved to the
    device of `like`, if given."""
    if x.__class__ is TensorHandle:
        t = x.get()
        if t is None:
            raise undefined()
        return t
    t = to_tensor(x, own=False)
    return t if like is None or t is None or like.device.type == "cpu" else t.to(like.device)


def own_tensor(x: Value) -> Any:
    """The tensor of a handle itself; a new one for a q value. None for an undefined tensor or `::`."""
    return x.get() if x.__class__ is TensorHandle else to_tensor(x)


def as_tensors(values: Sequence[Value]) -> tuple[list[Any], bool]:
    """The tensors for some arguments, read-only, with arrays on the device of the first tensor handle; and whether
    there was a handle."""
    like = next((as_tensor(value) for value in values if value.__class__ is TensorHandle), None)
    return [as_tensor(value, like) for value in values], like is not None


# ------------------------------------------------------------------ torch to q


def to_q(t: Tensor | None, copy: bool = True, complexfirst: bool | None = None) -> Value:
    """The q value of a tensor: 0 dimensions give an atom, 1 a vector, more a nested list; complex gives
    (real;imaginary).

    Without `copy`, the value may share the tensor's memory: only for tensors that nobody else can see.
    """
    if t is None:
        return NIL
    if t.requires_grad:
        t = t.detach()
    if t.__class__ is not _TENSOR[0]:
        t = _ordinary(t)
    tab = _TABLES[0] if _TABLES else tables()
    dtype = t.dtype
    quick = tab.direct.get(dtype)
    if (
        quick is not None
        and t.is_cpu
        and t.dim()
        and t.layout is torch.strided
        and t.is_contiguous()
        and not t.is_neg()
    ):
        return _dense(quick, (t.clone() if copy else t).numpy())
    kt = tab.ktype.get(dtype, T.E)
    if not t.dim() and dtype not in tab.complex:
        v = t.item()
        return atom(kt, v % 256 if kt == T.C else v)
    if dtype in tab.via:
        t, copy = t.to(tab.via[dtype]), False
    if t.layout is not torch.strided:
        t, copy = t.to_dense(), False
    if t.device.type != "cpu":
        t, copy = t.cpu(), False
    if t.is_complex():
        t, copy = _split(t.resolve_conj(), complexfirst), False
    if copy or t.is_neg() or not t.is_contiguous():
        # a tensor that numpy has seen cannot be resized
        t = t.resolve_neg().clone(memory_format=torch.contiguous_format)
    a = t.numpy()
    want = T.DTYPE[kt]
    if a.dtype != want:
        a = a.view(want) if kt in _VIEW else a.astype(want)
    return _dense(kt, a)


def put(t: Tensor, x: Tensor) -> None:
    """Copy values into a tensor, without gradients; for a sharded tensor, into its shard."""
    if hasattr(t, "full_tensor"):
        x = parallel.around.part_like(x, t)
    with torch.no_grad():
        t.copy_(x)


_TENSOR: list[Any] = [None]  # torch's class for ordinary tensors


def _ordinary(t: Tensor) -> Any:
    _TENSOR[0] = torch.Tensor
    return whole(t)


def whole(t: Tensor) -> Any:
    """The full tensor of a sharded one, a collective call; other tensors are returned unchanged."""
    sharded: Any = t
    return sharded.detach().full_tensor() if hasattr(t, "full_tensor") else t


def _dense(kt: int, a: np.ndarray) -> Value:
    """The value for an array: an atom, vector or nested list, `()` if there are no rows."""
    if a.ndim == 1:
        return Vec(kt, a)
    return List([]) if a.ndim and not len(a) else regular(kt, a)


def _split(t: Tensor, complexfirst: bool | None) -> Any:
    """A complex tensor as a real one: (real;imaginary) along a new first or last dimension."""
    if complexfirst is None:
        complexfirst = bool(table().state.get("complexfirst", True))
    both = torch.view_as_real(t)
    return both.movedim(-1, 0).contiguous() if complexfirst else both.contiguous()


def list_q(tensors: Iterable[Tensor | None]) -> Value:
    """The q list for some tensors: simple if all are 0-dimensional of one type, else general."""
    return collapse([to_q(tensor) for tensor in tensors])


def dict_q(tensors: dict[str, Any]) -> Dict:
    """The q dictionary for named tensors."""
    return symdict(list(tensors), [to_q(value) for value in tensors.values()])


def result(t: Tensor, wrap: bool) -> Value:
    """The result of a call, a tensor that nobody else can see: a handle if any argument was one (`wrap`), else a q
    value."""
    return TensorHandle(t) if wrap else to_q(t, copy=False)
