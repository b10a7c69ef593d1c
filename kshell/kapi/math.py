"""Math functions as rows: how one line of a table becomes a k-api function. The families' tables are in pointwise.py,
compare.py, reduce.py.

A row says which torch function it is, how many inputs it takes, its options in order with their types, and an example.
The convention is the same for all: q arrays in, q array out; with any tensor among the inputs, a tensor handle out. Of
the options each may be left out, since their types tell them apart. A tensor (or vector) after them takes the result;
`[]` there writes the result into the first input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kshell.errors import QError
from kshell.kapi.args import data_items, flag_of, is_empty, items, long_of, longs_of, name_of, number_of
from kshell.kapi.call import api, torch
from kshell.kapi.convert import as_tensor, dtype_named, kname, list_q, to_q, to_tensor
from kshell.kapi.handles import TensorHandle, VectorHandle, vector_handle
from kshell.values.core import NIL, NULL_J, List, Value


class Row(NamedTuple):
    """One math function.

    `target` is the dotted name of the torch function, or a Python function; `options` is `name:type` words, a `*`
    after the type if it must be given; `example` is `expression|output` (`\\n` in the output for more lines);
    `outputs` counts the results, 0 for a q boolean. `inplace` is the name of the tensor method that works in place.
    """

    name: str
    target: str | Callable[..., Any]
    doc: str
    example: str
    inputs: int = 1
    options: str = ""
    outputs: int = 1
    inplace: str = ""
    out: bool = True
    forms: tuple[str, ...] = ()


class _Option(NamedTuple):
    name: str
    read: Callable[[Value], Any]
    words: str
    required: bool


def _dims(x: Value) -> Any:
    n = longs_of(x)
    return n or None


def _float(x: Value) -> float | None:
    n = number_of(x)
    return float(n) if n is not None and long_of(x) is None else None


def _dtype(x: Value) -> Any:
    name = name_of(x)
    return None if name is None else dtype_named(name)


def _number(x: Value) -> Any:
    return number_of(x)


# the types of options: how each is read (None if x is not one) and what messages call it
_TYPES: dict[str, tuple[Callable[[Value], Any], str]] = {
    "long": (long_of, "long scalar"), "dim": (long_of, "long scalar"), "dims": (_dims, "long scalar or list"),
    "number": (_number, "number"), "float": (_float, "double scalar"), "flag": (flag_of, "boolean"),
    "dtype": (_dtype, "data type"), "symbol": (name_of, "symbol"),
}


def _options(text: str) -> tuple[_Option, ...]:
    out = []
    for word in text.split():
        name, _, kind = word.partition(":")
        read, words = _TYPES[kind.rstrip("*")]
        out.append(_Option(name, read, words, kind.endswith("*")))
    return tuple(out)


def match(name: str, options: Sequence[_Option], given: Sequence[Value]) -> dict[str, Any]:
    """The options that the arguments after the inputs give: each goes to the next option of its type."""
    out: dict[str, Any] = {}
    at = 0
    for x in given:
        start = at
        while at < len(options):
            option = options[at]
            value = option.read(x)
            at += 1
            if value is not None:
                out[option.name] = value
                break
            if option.required:
                raise QError(f"{name} {option.name}: expected {option.words}, given {kname(x)}")
        else:
            rest = ", ".join(f"{o.name} ({o.words})" for o in options[start:])
            raise QError(f"{name}: unexpected {kname(x)}" + (f", expecting {rest}" if rest else ""))
    for option in options:
        if option.required and option.name not in out:
            raise QError(f"{name}: {option.name} not given")
    return out


def inputs(given: Sequence[Value]) -> tuple[list[Any], bool]:
    """The tensors of some inputs, arrays on the device of the first tensor handle; and was there a handle?

    A plain number beside an array or tensor does not change its type more than torch's own numbers do: 2.5 makes
    longs floating, but single precision stays single.
    """
    like = None
    for x in given:
        if x.__class__ is TensorHandle:
            like = as_tensor(x)
            break
    tensors = [x if x.__class__ in _PLAIN else as_tensor(x, like) for x in given]
    base = next((t for t in tensors if t.__class__ not in _PLAIN), None)
    for i, t in enumerate(tensors):
        if t.__class__ in _PLAIN:
            kind = _OWN[t.__class__]() if base is None else torch.result_type(base, t)
            tensors[i] = torch.scalar_tensor(t, dtype=kind, device=None if like is None else like.device)
    return tensors, like is not None


# the classes of plain numbers, and the tensor types of their own
_OWN: dict[type, Callable[[], Any]] = {int: lambda: torch.int64, float: lambda: torch.float64,
                                       bool: lambda: torch.bool}
_PLAIN = frozenset(_OWN)


def arguments(name: str, n: int, x: Value) -> list[Value]:
    """The arguments of a function of n inputs; one input may be a whole array."""
    given = data_items(x) if n == 1 else items(x)
    if len(given) < n:
        raise QError(f"{name}: expecting {n} input(s), given {len(given)}")
    return given


def resolved(target: str | Callable[..., Any]) -> Callable[..., Any]:
    """The torch function of a dotted name below torch."""
    if not isinstance(target, str):
        return target
    found: Any = torch
    for part in target.split(".")[1:]:
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def wrapped(r: Any, wrap: bool) -> Value:
    """What a call gives back: handles if any input was one, else q values; several results as a vector or a list."""
    if r.__class__ is torch.Tensor:
        return TensorHandle(r) if wrap else to_q(r, copy=False)
    if isinstance(r, bool):
        return r
    if isinstance(r, tuple | list):
        return vector_handle(r) if wrap else list_q(r)
    return TensorHandle(r) if wrap else to_q(r, copy=False)


def write(fn: Callable[..., Any], tensors: Sequence[Any], options: dict[str, Any], out: Any) -> None:
    """Run fn with its result going into a tensor or vector handle. Empty or undefined ones simply take the result."""
    if out.__class__ is VectorHandle:
        into = out.get()
        if not into:
            into.extend(fn(*tensors, **options))
            return
        fn(*tensors, **options, out=tuple(into))
        return
    if out.get() is None:
        out.obj = fn(*tensors, **options)
    else:
        fn(*tensors, **options, out=out.obj)


def _output(row: Row, rest: list[Value]) -> Any:
    """Take the output from the end of the arguments: a handle, or `[]` for in place; None if there is none."""
    if not rest:
        return None
    last = rest[-1]
    kind = VectorHandle if row.outputs > 1 else TensorHandle
    if last.__class__ is kind:
        if not row.out:
            raise QError(f"{row.name}: cannot write into an output {last.kind}")
        return rest.pop()
    if is_empty(last):
        if not row.inplace:
            raise QError(f"{row.name}: not available in place")
        rest.pop()
        return NIL
    if last.__class__ in (TensorHandle, VectorHandle):
        raise QError(f"{row.name}: output must be a {kind.kind}, given {last.kind}")
    return None


def function(row: Row) -> Callable[[Value], Value]:
    """The k-api function of a row."""
    options = _options(row.options)
    name, n = row.name, row.inputs
    required = any(o.required for o in options)
    cache: list[Callable[..., Any]] = []

    def run(x: Value) -> Value:
        fn = cache[0] if cache else _resolve(row, cache)
        if n == 1 and x.__class__ is TensorHandle and not required:
            return wrapped(fn(as_tensor(x)), True)
        if n == 2 and x.__class__ is List and len(x.items) == 2:
            a, b = x.items
            if a.__class__ is TensorHandle and b.__class__ is TensorHandle and not required:
                return wrapped(fn(as_tensor(a), as_tensor(b)), True)
        given = arguments(name, n, x)
        tensors, wrap = inputs(given[:n])
        rest = list(given[n:])
        if not rest:
            if required:
                match(name, options, ())
            return wrapped(fn(*tensors), wrap)
        out = _output(row, rest)
        found = match(name, options, rest)
        if out is None:
            return wrapped(fn(*tensors, **found), wrap)
        if out is NIL:
            return _in_place(row, given[0], tensors, found)
        write(fn, tensors, found, out)
        return NIL

    return run


def _resolve(row: Row, cache: list[Callable[..., Any]]) -> Callable[..., Any]:
    cache.append(resolved(row.target))
    return cache[0]


def _in_place(row: Row, x: Value, tensors: Sequence[Any], options: dict[str, Any]) -> Value:
    """The result written into the first input: a tensor is changed, of an array a changed copy is given."""
    if x.__class__ is TensorHandle:
        getattr(tensors[0], row.inplace)(*tensors[1:], **options)
        return NIL
    own = to_tensor(x)
    getattr(own, row.inplace)(*tensors[1:], **options)
    return to_q(own, copy=False)


def forms(row: Row) -> tuple[str, ...]:
    """The ways to call a row's function, for its help."""
    if row.forms:
        return row.forms
    names = ["x", "y", "z"][:row.inputs] + [w.partition(":")[0] for w in row.options.split()]
    full = f"{row.name}({';'.join(names)})" if len(names) > 1 else f"{row.name} x"
    more = []
    if row.out and row.outputs:
        more.append(f"{row.name}({';'.join([*names, 'output'])})")
    if row.inplace:
        more.append(f"{row.name}({';'.join([*names[:row.inputs], '[]'])})")
    return (full, *more)


def register(rows: Sequence[Row], topic: str) -> None:
    """Make every row of a family a k-api function."""
    for row in rows:
        run = function(row)
        expression, _, output = row.example.partition("|")
        shown = output.replace("\\n", "\n")
        run.__doc__ = f"{row.doc}\n\nq){expression}\n{shown}\n"
        target = row.target if isinstance(row.target, str) else ""
        api(row.name, *forms(row), topic=topic, target=target)(run)


def null_bound(x: Value) -> bool:
    """Is x a null number: no bound?"""
    return x is NULL_J or (isinstance(x, float) and x != x) or (getattr(x, "v", 0.0) != getattr(x, "v", 0.0))


