"""`tensor`: make a tensor from a q value or by a creation mode, or read one back."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base import guard
from kshell.kapi.base.args import (
    flag_of,
    is_empty,
    items,
    long_of,
    longs_of,
    name_of,
    names_of,
    number_of,
    size_text,
    unknown,
)
from kshell.kapi.base.call import api, reserve
from kshell.kapi.base.convert import (
    as_tensor,
    as_tensors,
    default_dtype,
    dtype_name,
    kname,
    to_q,
    to_tensor,
)
from kshell.kapi.base.device_options import TensorOptions, convert_to, memory_format, tensor_options
from kshell.kapi.base.handles import (
    DictHandle,
    KHandle,
    TensorHandle,
    VectorHandle,
    table,
    tensor_handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.values.base.build import collapse, symdict
from kshell.values.base.core import NIL, List, Value, Vec, seq_items
from kshell.values.base.symbols import Sym

if TYPE_CHECKING:
    from torch import Tensor
    from torch import dtype as DType


@api(
    "tensor",
    "tensor(value[;options])",
    "tensor(value;output)",
    "tensor(mode;..[;options])",
    "tensor ptr",
    "tensor(ptr;[dim;]index)",
    "tensor(vector;i)",
    "tensor(dict;key)",
    effect="none",
)
def tensor(x: Value) -> Value:
    """Make a tensor from a q value or by a creation mode, or read one back as a q value.

    Modes: arange complex empty eye full linspace logspace ones rand randint randn randperm range sparse zeros. Options
    are symbols in any order: device, data type, strided sparse, grad nograd, pinned, memory format.

    q)t:tensor(2 3#til 6;`double)
    q)tensor t
    0 1 2
    3 4 5

    q)tensor(t;-1;0)
    0 3f

    q)tensor tensor(`arange;0;10;3)
    0 3 6 9
    """
    if x.__class__ is TensorHandle:
        return to_q(x.get())
    if isinstance(x, KHandle):
        return _shared(x, [])
    if is_empty(x) or x.__class__ is not List:
        words = names_of(x) if x.__class__ is not List else None
        if words and words[0] in MODES:  # a mode without its arguments
            return _create(words[0], seq_items(x)[1:] if x.__class__ is Vec else [])
        return tensor_handle(to_tensor(x))
    return _of_arguments(x)


def _of_arguments(x: List) -> Value:
    """`tensor` with more than one argument, or with a list that is an array."""
    args = items(x)
    first = args[0]
    if first.__class__ is TensorHandle:
        return _read(first.get(), args[1:])
    if isinstance(first, KHandle):
        return _shared(first, args[1:])
    if first.__class__ is Sym:
        return _create(first.s, args[1:])
    if len(args) == 2:
        if args[1].__class__ is TensorHandle:
            _assign(args[1], to_tensor(first, own=False))
            return NIL
        if names_of(args[1]):
            shared, options = to_tensor(first, own=False), tensor_options(args[1], "tensor")
            return tensor_handle(None if shared is None else _finish(shared, options, copy=True))
    return tensor_handle(to_tensor(x))


def _finish(t: Tensor, o: TensorOptions, copy: bool = False) -> Any:
    """Apply options to a new tensor, or to a copy; it requires no gradient unless that is requested, or a part of it
    does."""
    if o.grad is None and not t.requires_grad:
        o.grad = False
    return convert_to(t, o, copy)


def _assign(out: TensorHandle, t: Tensor | None) -> None:
    """Write values to an output tensor; its size changes, its type, device and identity do not."""
    current = out.get()
    if current is None or t is None:
        out.obj = t
        return
    with torch.no_grad():
        if current.layout is not torch.strided:
            out.obj = t.to(device=current.device, dtype=current.dtype).to_sparse()
            return
        if current.shape != t.shape:
            with guard.kept((current,), sizes=True):
                current.resize_(t.shape)
        current.copy_(t)


# ------------------------------------------------------------------ reading


def _read(t: Tensor | None, rest: Sequence[Value]) -> Value:
    """tensor(t;index), (t;dim;index), preceded by a flag for complex tensors."""
    flag = None
    if rest and rest[0].__class__ is bool:
        flag, rest = flag_of(rest[0]), rest[1:]
        if t is not None and not t.is_complex():
            raise CallError("tensor", "the flag is only for complex tensors")
    if not rest:
        return to_q(t, complexfirst=flag)
    if len(rest) > 2:
        raise QError(
            f"tensor: expecting up to {4 if flag is not None else 3} args, given {len(rest) + 1}"
        )
    if t is None:
        raise CallError("tensor", "cannot index an undefined tensor", says=("tensor",))
    dim = long_of(rest[0]) if len(rest) == 2 else 0
    positions = longs_of(rest[-1])
    if positions is None and len(rest) == 1 and names_of(rest[0]):
        tensor_options(rest[0], "tensor")  # meant as tensor options: report a wrong name
        raise QError(
            "tensor: expected long index, given a tensor's options; to(t;options) converts a tensor"
        )
    if dim is None or positions is None:
        raise CallError(
            "tensor", expected="long index", given=kname(rest[0] if dim is None else rest[-1])
        )
    t = t.detach()
    if long_of(rest[-1]) is not None:
        return to_q(t.select(dim, positions[0]), complexfirst=flag)
    indices = torch.tensor(positions, dtype=torch.int64)
    # checked before torch is called: a GPU could not recover
    guard.indices()("tensor", t, indices, dim=dim)
    return to_q(t.index_select(dim, indices.to(t.device)), complexfirst=flag)


def _shared(h: KHandle, rest: Sequence[Value]) -> Value:
    """New handles for the tensors of a vector or dictionary, all or those for some indices or keys."""
    if len(rest) > 1:
        raise QError(f"tensor: expecting up to 2 args for {h.kind}, given {len(rest) + 1}")
    if h.__class__ is VectorHandle:
        tensors = h.get()
        if not rest:
            return collapse([tensor_handle(tensor) for tensor in tensors])
        positions = longs_of(rest[0])
        if positions is None:
            raise CallError("tensor", expected="long index for vector", given=kname(rest[0]))
        for position in positions:
            if not 0 <= position < len(tensors):
                # show nulls as such, not as their number
                raise CallError(
                    "tensor",
                    f"vector[{position}] out of bounds, index must be less than {len(tensors)}",
                    given=UNSAID if position < 0 else SAID,
                )
        handles = [tensor_handle(tensors[position]) for position in positions]
        return handles[0] if long_of(rest[0]) is not None else List(list(handles))
    if h.__class__ is DictHandle:
        named = h.get()
        if not rest:
            return symdict(list(named), [tensor_handle(tensor) for tensor in named.values()])
        names = names_of(rest[0])
        if names is None:
            raise CallError("tensor", expected="symbol key(s) for dictionary", given=kname(rest[0]))
        for name in names:
            if name not in named:
                raise QError(f"tensor: no dictionary key `{name}")
        named_handles = [tensor_handle(named[name]) for name in names]
        return named_handles[0] if name_of(rest[0]) is not None else List(list(named_handles))
    raise QError(f"tensor: not implemented for {h.plural}")


# ------------------------------------------------------------------ creation modes


class _Call:
    """The arguments of a creation call: positional items, options or output, and an example tensor's size and
    options."""

    __slots__ = ("args", "example", "mode", "options", "out")

    def __init__(self, mode: str, given: Sequence[Value]) -> None:
        self.mode = mode
        self.options = TensorOptions()
        self.out: TensorHandle | None = None
        self.args = list(given)
        self.example: Any = None
        if self.args and self.args[0].__class__ is TensorHandle and mode in _SIZED:
            self.example = as_tensor(self.args.pop(0))
        if not self.args:
            return
        last = self.args[-1]
        if (
            last.__class__ is TensorHandle
            and mode != "sparse"
            and (mode != "complex" or self._output(last))
        ):
            self.args.pop()
            self.out = last
            if last.get() is not None:
                self.options.device, self.options.dtype = last.obj.device, last.obj.dtype
        elif names_of(last) and last.__class__ in (Sym, Vec):
            self.options = tensor_options(self.args.pop(), "tensor")

    def _output(self, last: TensorHandle) -> bool:
        """Is the last tensor of a complex call its output: a complex tensor after the parts?"""
        return len(self.args) > 1 and last.get() is not None and last.obj.is_complex()

    def dtype(self, default: DType | None = None) -> Any:
        """The requested data type, the example's, or else the default (the default float type)."""
        if self.options.dtype is not None:
            return self.options.dtype
        return default or (self.example.dtype if self.example is not None else default_dtype())

    def device(self) -> Any:
        return self.options.device or (
            self.example.device if self.example is not None else torch.device("cpu")
        )

    def size(self, x: Value | None) -> list[int]:
        """The size given by x."""
        sizes = longs_of(x) if x is not None else None
        if sizes is None:
            raise QError(
                f"tensor: {self.mode} expects a size, given {kname(x) if x is not None else 'none'}"
            )
        if any(size < 0 for size in sizes):
            raise QError(f"tensor: {self.mode} size {size_text(sizes)} has a negative dimension")
        reserve(sizes, 8)
        return sizes

    def number(self, i: int, word: str) -> int | float:
        """Positional argument i as a number."""
        number = number_of(self.args[i]) if i < len(self.args) else None
        if number is None:
            raise QError(
                f"tensor: {self.mode} expects a number for {word}, given "
                + (kname(self.args[i]) if i < len(self.args) else "none")
            )
        return number

    def long(self, i: int, word: str) -> int:
        number = long_of(self.args[i]) if i < len(self.args) else None
        if number is None:
            raise QError(
                f"tensor: {self.mode} expects a long for {word}, given "
                + (kname(self.args[i]) if i < len(self.args) else "none")
            )
        return number

    def only(self, n: int) -> None:
        """At most n positional arguments."""
        if len(self.args) > n:
            raise QError(
                f"tensor: {self.mode} expects up to {n} args before options, {len(self.args)} given"
            )

    def keywords(self, default: DType | None = None) -> dict[str, Any]:
        return {"dtype": self.dtype(default), "device": self.device()}

    def like(self, *args: Any, default: DType | None = None) -> Any:
        """A tensor of this mode with the example's properties, including memory order and layout."""
        reserve(self.example.shape, 8)
        return getattr(torch, self.mode + "_like")(self.example, *args, **self.keywords(default))


def _sized(c: _Call) -> Any:
    """zeros, ones, empty, rand, randn."""
    c.only(0 if c.example is not None else 1)
    drawn = c.mode in ("rand", "randn")
    asked = c.options.dtype
    if drawn and asked is not None and not (asked.is_floating_point or asked.is_complex):
        raise QError(f"tensor: {c.mode} not implemented for {dtype_name(asked)} tensors")
    if c.example is None:
        return getattr(torch, c.mode)(c.size(c.args[0] if c.args else None), **c.keywords())
    whole = not (c.example.is_floating_point() or c.example.is_complex())
    return c.like(default=default_dtype() if drawn and whole else None)


def _full(c: _Call) -> Any:
    """full: without an option, the data type is the fill value's."""
    position = 0 if c.example is not None else 1
    c.only(position + 1)
    size = c.size(c.args[0] if c.args else None) if position else []
    fill = to_tensor(c.args[position]) if len(c.args) > position else None
    if fill is None or fill.dim():
        raise CallError("tensor", "full expects a scalar fill value")
    return (
        torch.full(size, fill.item(), **c.keywords(fill.dtype))
        if position
        else c.like(fill.item(), default=fill.dtype)
    )


def _randint(c: _Call) -> Any:
    """randint: (high;size), (low;high;size), or an example tensor and (high), (low;high)."""
    bounds = len(c.args) - (c.example is None)
    c.only(3 if c.example is None else 2)
    if bounds < 1:
        raise CallError("tensor", "randint expects high and size, or low, high and size")
    low, high = (0, c.long(0, "high")) if bounds == 1 else (c.long(0, "low"), c.long(1, "high"))
    if c.example is not None:
        return c.like(low, high)
    return torch.randint(low, high, c.size(c.args[bounds]), **c.keywords(torch.int64))


def _randperm(c: _Call) -> Any:
    c.only(1)
    count = c.long(0, "n")
    c.size(count)
    return torch.randperm(count, **c.keywords(torch.int64))


def _arange(c: _Call) -> Any:
    """arange, range: (end), (start;end), (start;end;step)."""
    c.only(3)
    words = ("end",) if len(c.args) < 2 else ("start", "end", "step")
    numbers = [c.number(index, words[index]) for index in range(max(len(c.args), 1))]
    start, end, step = (
        (0, numbers[0], 1)
        if len(numbers) == 1
        else (numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else 1)
    )
    if step and (end - start) / step > 0:
        c.size(int(min((end - start) / step, 1 << 62)))
    if c.mode == "range":
        if len(numbers) == 1 and c.out is None:
            raise CallError("tensor", "range expects start and end")
        count = int((end - start) / step) + 1 if step else 0
        if count < 1:
            raise CallError("tensor", "range has no values between its bounds")
        points = torch.arange(count, dtype=torch.float64, device=c.device()) * step + start
        return points.to(c.dtype())
    whole = all(isinstance(number, int) for number in numbers)
    return torch.arange(start, end, step, **c.keywords(torch.int64 if whole else None))


def _spaced(c: _Call) -> Any:
    """linspace, logspace: (start;end[;steps[;base]])."""
    c.only(4 if c.mode == "logspace" else 3)
    start, end = c.number(0, "start"), c.number(1, "end")
    steps = c.long(2, "steps") if len(c.args) > 2 else 100
    c.size(steps)
    if c.mode == "linspace":
        return torch.linspace(start, end, steps, **c.keywords())
    base = float(c.number(3, "base")) if len(c.args) > 3 else 10.0
    return torch.logspace(start, end, steps, base, **c.keywords())


def _eye(c: _Call) -> Any:
    c.only(2)
    rows = c.long(0, "rows")
    columns = c.long(1, "columns") if len(c.args) > 1 else rows
    c.size(rows), c.size(columns)
    reserve((rows, columns), 8)
    return torch.eye(rows, columns, **c.keywords())


def _complex(c: _Call) -> Any:
    """complex: (real;imaginary), or one array (array[;flag]) with both along its first (1b) or last (0b) dimension."""
    c.only(2)
    if not c.args:
        raise CallError("tensor", "complex expects real and imaginary parts", says=("complex",))
    flag = c.args[1] if len(c.args) == 2 and c.args[1].__class__ is bool else None
    tensors = as_tensors(c.args if flag is None else c.args[:1])[0]
    dtype = _part_type(c.options.dtype, tensors)
    first, *second = (tensor.to(dtype) for tensor in tensors)
    if second:
        return torch.complex(
            *(tensor.contiguous() for tensor in torch.broadcast_tensors(first, second[0]))
        )
    return _complex_of(
        first, bool(table().state.get("complexfirst", True)) if flag is None else flag
    )


def _part_type(asked: DType | None, parts: Sequence[Any]) -> Any:
    """The data type of a complex tensor's parts: from the requested type, else the parts' own float type."""
    if asked is not None:
        if not asked.is_complex:
            raise QError(f"tensor: complex expects a complex data type, given `{dtype_name(asked)}")
        return asked.to_real()
    dtypes = [
        tensor.dtype
        for tensor in parts
        if tensor.dtype in (torch.float16, torch.float32, torch.float64)
    ]
    return functools.reduce(torch.promote_types, dtypes) if dtypes else default_dtype()


def _complex_of(t: Tensor, front: bool) -> Any:
    """A complex tensor from an array with the real and imaginary parts along its first or last dimension."""
    dim = 0 if front else -1
    if not t.dim() or t.shape[dim] != 2:
        raise QError(
            f"complex: single input array must have a {'first' if front else 'last'} dimension of size 2 "
            f"(real{';' if front else ',' + chr(39)}imaginary), given size of {size_text(t.shape)}"
        )
    real, imaginary = t.unbind(dim)
    return torch.complex(real.contiguous(), imaginary.contiguous())


def _sparse(c: _Call) -> Any:
    """sparse: (size), (indices;values[;size])."""
    c.only(3)
    if len(c.args) == 1:
        return torch.sparse_coo_tensor(c.size(c.args[0]), **c.keywords())
    if len(c.args) < 2:
        raise CallError("tensor", "sparse expects indices and values")
    (indices, values), _ = as_tensors(c.args[:2])
    if indices.dim() == 1:
        indices = indices.unsqueeze(0)
    size = (c.size(c.args[2]),) if len(c.args) == 3 else ()
    values = values.to(c.options.dtype) if c.options.dtype is not None else values.clone()
    return torch.sparse_coo_tensor(indices.clone(), values, *size)


_SIZED = {"zeros", "ones", "empty", "rand", "randn", "full", "randint"}
MODES: dict[str, Callable[[_Call], Any]] = {
    "arange": _arange,
    "complex": _complex,
    "empty": _sized,
    "eye": _eye,
    "full": _full,
    "linspace": _spaced,
    "logspace": _spaced,
    "ones": _sized,
    "rand": _sized,
    "randint": _randint,
    "randn": _sized,
    "randperm": _randperm,
    "range": _arange,
    "sparse": _sparse,
    "zeros": _sized,
}


def _create(mode: str, given: Sequence[Value]) -> Value:
    """Make a tensor by a creation mode, as a new handle or written to an output tensor."""
    creator = MODES.get(mode)
    if creator is None:
        raise unknown("unrecognized tensor creation mode: ", mode, MODES)
    call = _Call(mode, given)
    tensor = creator(call)
    if call.out is not None:
        _assign(call.out, tensor)
        return NIL
    options = call.options
    if mode == "sparse" and options.layout is None:
        options.layout = "sparse"
    if options.memory is not None and options.memory != "preserve" and tensor.dim() in (4, 5):
        tensor = tensor.contiguous(memory_format=memory_format(options.memory))
    return tensor_handle(_finish(tensor, options))
