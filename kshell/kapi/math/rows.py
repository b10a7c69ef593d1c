"""Math functions as rows: how one line of a table becomes a k-api function. The tables are in pointwise.py, compare.py,
reduce.py, fft.py, linalg.py, misc.py, sampling.py and indexing.py.

A row declares the torch function, its number of inputs, its options in order with their types, and an example. All rows
follow one convention: q arrays in, q array out; if any input is a tensor, the result is a tensor handle. Any option can
be omitted, because types tell them apart; a null long counts as omitted. The last argument may hold name-value pairs. A
tensor (or vector) after them receives the result; `[]` in its place writes the result to the first input.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kshell import torch_versions
from kshell.errors import CallError, QError
from kshell.kapi.base import guard
from kshell.kapi.base.args import (
    data_items,
    is_empty,
    items,
    longs_of,
)
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import as_tensor, is_array, list_q, to_q, to_tensor, undefined
from kshell.kapi.base.handles import KHandle, TensorHandle, VectorHandle, vector_handle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.math.row_options import MathOption, dims, match, option_words
from kshell.values.base import types as T
from kshell.values.base.core import NIL, List, Value, Vec, is_atom, is_list

if TYPE_CHECKING:
    from torch import Tensor

EFFECT = "none"  # default for the functions here

ANY = -1  # any number of inputs


class Row(NamedTuple):
    """One math function.

    `target` is the dotted name of the torch function, or a Python function; `options` is a string of `name:type` words,
    with `*` after the type if required, and `name/argument:type` if torch uses another name; `example` is
    `expression|output` (`\\n` in the output for more lines); `outputs` is the number of results, 0 for a q boolean.
    `inplace` is the name of the in-place tensor method, or a function.

    `inputs` may be ANY: each argument is an input, or each tensor of a vector. `more` is the number of further arrays
    that may follow the inputs. `lead` are options that come after the first input. `spread` is the position where a
    vector or list of two may stand for two inputs. With `wrap` the result is always a handle. `out` is "copy" if
    torch's function has no output argument. With `last`, an output without `dim` receives the result along the last
    dimension. `writes` are the positions of inputs that the function may change: tensors are changed in place, arrays
    are copied. `numbers` are the positions where a plain number stays a number for torch, so that 2.5 turns integers
    into the default type rather than doubles.

    `half` is set if the call can fail with its output partly written: a check that rejects such inputs first, called as
    half(name, *inputs, outs=.., **options), or APART if only the computation can tell. All other functions fail before
    they write.
    """

    name: str
    target: str | Callable[..., Any]
    doc: str
    example: str
    inputs: int = 1
    options: str = ""
    outputs: int = 1
    inplace: str | Callable[..., Any] = ""
    out: bool | str = True
    forms: tuple[str, ...] = ()
    more: int = 0
    lead: str = ""
    spread: int | None = None
    wrap: bool = False
    last: bool = False
    since: str = "ktorch"
    half: Callable[..., None] | None = None
    writes: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()
    first_torch: str = ""  # the first version of torch that has it, as in the registry
    first_gradient: str = ""  # the first that has its gradient


def APART(name: str, *inputs: Any, **options: Any) -> None:
    """For a row: failures cannot be predicted, so a large result is computed separately from its output."""


def inputs(given: Sequence[Value], numbers: Sequence[int] = ()) -> tuple[list[Any], bool]:
    """The tensors for some inputs, with arrays on the device of the first tensor handle; and whether there was a
    handle.

    To torch, a plain number next to an array or tensor is a 0-dimensional tensor: 2.5 turns integers into doubles, but
    single precision stays single. At the positions `numbers` it is a number: 2.5 turns integers into the default type.
    """
    example = None
    for x in given:
        if x.__class__ is TensorHandle:
            example = as_tensor(x)
            break
    tensors = [x if x.__class__ in _PLAIN else as_tensor(x, example) for x in given]
    for tensor in tensors:
        if tensor is None:
            raise undefined()
    base = _base([tensor for tensor in tensors if tensor.__class__ not in _PLAIN])
    for index, tensor in enumerate(tensors):
        if tensor.__class__ in _PLAIN:
            standard = _OWN[tensor.__class__]()
            dtype = standard if base is None else torch.result_type(base, tensor)
            if (
                base is not None
                and index not in numbers
                and dtype.is_floating_point
                and not base.dtype.is_floating_point
            ):
                dtype = standard
            tensors[index] = torch.scalar_tensor(
                tensor, dtype=dtype, device=None if example is None else example.device
            )
    return tensors, example is not None


def _base(tensors: Sequence[Any]) -> Any:
    """The tensor whose type plain numbers follow: the first, or one with the common type."""
    if len(tensors) < 2:
        return tensors[0] if tensors else None
    dtype = functools.reduce(torch.promote_types, [tensor.dtype for tensor in tensors])
    return next((tensor for tensor in tensors if tensor.dtype == dtype), tensors[0])


# classes of plain numbers, and the matching tensor types
_OWN: dict[type, Callable[[], Any]] = {
    int: lambda: torch.int64,
    float: lambda: torch.float64,
    bool: lambda: torch.bool,
}
_PLAIN = frozenset(_OWN)


def arguments(name: str, n: int, x: Value) -> list[Value]:
    """The arguments of a function with n inputs; a single input may be a whole array, including `()`."""
    if n == 1 and x.__class__ is List and not x.items:
        return [x]
    args = data_items(x) if n == 1 else items(x)
    if len(args) < n:
        raise QError(f"{name}: expecting {n} input(s), given {len(args)}")
    return args


def resolved(target: str | Callable[..., Any]) -> Callable[..., Any]:
    """The torch function with a dotted name below torch."""
    if not isinstance(target, str):
        return target
    fn: Any = torch
    for attribute in target.split(".")[1:]:
        fn = getattr(fn, attribute)
    return fn


def along_last(name: str) -> Callable[..., Any]:
    """A torch function along a dimension, by default the last."""

    def run(x: Tensor, dim: int = -1, **options: Any) -> Any:
        return getattr(torch, name)(x, dim, **options)

    return run


def wrapped(r: Any, wrap: bool) -> Value:
    """The result of a call: handles if any input was one, else q values; several results as a vector or a list."""
    if r.__class__ is torch.Tensor:
        return TensorHandle(r) if wrap else to_q(r, copy=False)
    if isinstance(r, bool):
        return r
    if isinstance(r, tuple | list):
        return vector_handle(r) if wrap else list_q(r)
    return TensorHandle(r) if wrap else to_q(r, copy=False)


def write(
    fn: Callable[..., Any],
    tensors: Sequence[Any],
    options: dict[str, Any],
    out: KHandle,
    row: Row | None = None,
) -> None:
    """Run fn and write its result to a tensor handle, or several results to the first tensors of a vector; `row`
    declares whether it can fail midway. An undefined tensor simply becomes the result. A failed call leaves everything
    unchanged."""
    target = out.get()
    if out.__class__ is VectorHandle:
        results = list(fn(*tensors, **options))
        target[: len(results)] = results
        return
    if target is None:
        out.obj = fn(*tensors, **options)
        return
    half, copy, apart = (
        (row.half, row.out == "copy", False) if row is not None else (None, False, False)
    )
    if row is not None and half is not None and not copy and guard.large((target,)):
        half(row.name, *tensors, **options, outs=(target,))
        half, apart = None, half is APART
    if copy or apart:
        result = fn(*tensors, **options)
        if apart and row is not None:
            guard.fits(row.name, [result.dtype], (target,))
        with guard.kept((target,), sizes=True), torch.no_grad():
            target.resize_(result.shape).copy_(result)
    else:
        with guard.kept((target,), sizes=half is None):
            fn(*tensors, **options, out=target)


def _output(row: Row, rest: list[Value]) -> Any:
    """Take the output from the end of the arguments: a handle, or `[]` for in place; None if there is none."""
    if not rest:
        return None
    last = rest[-1]
    kind = VectorHandle if row.outputs > 1 else TensorHandle
    if last.__class__ is kind:
        if not row.out:
            raise CallError(row.name, f"cannot write into an output {last.kind}", says=(last.kind,))
        return rest.pop()
    if is_empty(last):
        if not row.inplace:
            if last is not NIL and any(
                option.read in (dims, longs_of) for option in option_words(row.options)
            ):
                return None
            raise CallError(row.name, "not available in place")
        rest.pop()
        return NIL
    if last.__class__ in (TensorHandle, VectorHandle):
        raise QError(f"{row.name}: output must be a {kind.kind}, given {last.kind}")
    return None


def _is_data(x: Value) -> bool:
    """Is x an array or a tensor rather than a single number?"""
    return x.__class__ is TensorHandle or (not is_atom(x) and not is_empty(x) and is_array(x))


def _two(x: Value) -> list[Any] | None:
    """The two parts of a vector or of a list that is not an array: a matrix and its pivots."""
    if x.__class__ is VectorHandle:
        pair = list(x.get())
    elif x.__class__ is List and not is_array(x):
        pair = x.items
    else:
        return None
    return (
        [TensorHandle(item) if isinstance(item, torch.Tensor) else item for item in pair]
        if len(pair) == 2
        else None
    )


def _given(row: Row, x: Value, required: bool) -> list[Value]:
    """The arguments of a call; one input may be a whole array, and if the row allows it, two may come as one."""
    if row.spread is not None:
        spread: list[Value] = list(items(x)) if x.__class__ is not VectorHandle else [x]
        if row.spread < len(spread):
            spread[row.spread : row.spread + 1] = _two(spread[row.spread]) or [spread[row.spread]]
        if len(spread) >= row.inputs:
            return spread
        raise QError(f"{row.name}: expecting {row.inputs} input(s), given {len(spread)}")
    if row.more:
        args: list[Value] = items(x) if isinstance(x, List) or row.inputs > 1 else [x]
        return args if len(args) >= row.inputs else arguments(row.name, row.inputs, x)
    # a whole array would lack the required options
    if required and row.inputs == 1 and isinstance(x, List):
        return items(x) or arguments(row.name, 1, x)
    if (
        required
        and row.inputs == 1
        and x.__class__ is Vec
        and x.t == T.J
        and len(x) == 1 + _needed(row)
    ):
        return items(x)  # as long as the input plus the required options: `mvlgamma 5 2`
    return arguments(row.name, row.inputs, x)


def _needed(row: Row) -> int:
    """The number of required options."""
    return sum(option.required for option in (*option_words(row.lead), *option_words(row.options)))


def _all_inputs(name: str, x: Value) -> tuple[list[Any], bool]:
    """The tensors for a function with any number of inputs: those of a vector, or one per argument."""
    args = items(x)
    if len(args) == 1 and args[0].__class__ is VectorHandle:
        return list(args[0].get()), True
    if not args:
        raise CallError(name, "expecting tensors or arrays")
    return inputs(args)


class _Words(NamedTuple):
    """The options of a row, and whether one of them is required."""

    options: tuple[MathOption, ...]
    lead: tuple[MathOption, ...]
    required: bool


def function(row: Row) -> Callable[[Value], Value]:
    """The k-api function for a row."""
    options, lead = option_words(row.options), option_words(row.lead)
    number, required = row.inputs, any(option.required for option in (*lead, *options))
    words = _Words(options, lead, required)
    plain_second = 1 in row.numbers and row.half is None
    cache: list[Callable[..., Any]] = []

    def run(x: Value) -> Value:
        fn = cache[0] if cache else _resolve(row, cache)
        if number == 1 and x.__class__ is TensorHandle and not required:
            return wrapped(fn(as_tensor(x)), True)
        if number == 2 and x.__class__ is List and len(x.items) == 2:
            first, second = x.items
            if (
                first.__class__ is TensorHandle
                and second.__class__ is TensorHandle
                and not required
            ):
                return wrapped(fn(as_tensor(first), as_tensor(second)), True)
            if plain_second and first.__class__ is TensorHandle and second.__class__ in _PLAIN:
                return TensorHandle(fn(as_tensor(first), second))
        if number == ANY:
            tensors, wrap = _all_inputs(row.name, x)
            return wrapped(fn(*tensors), wrap)
        args = list(_given(row, x, required))
        if number == 1 and len(args) > 1 and not (options or lead):
            if all(is_list(arg) and len(arg) for arg in args):
                to_tensor(x)  # lists that are not an array: it says why
        return _called(row, words, fn, args)

    return run


def _called(row: Row, words: _Words, fn: Callable[..., Any], args: list[Value]) -> Value:
    """The result of a row's function for inputs, options and an output."""
    before: dict[str, Any] = {}
    if words.lead:
        stop = 1 + len(words.lead)
        before = match(row.name, words.lead, args[1:stop])
        args[1:stop] = []
        arguments(row.name, row.inputs, List(args))
    count = _count_inputs(row, args) if row.more else row.inputs
    tensors, wrap = inputs(args[:count], row.numbers)
    wrap = wrap or row.wrap
    for index in row.writes:
        tensors[index] = (
            tensors[index] if args[index].__class__ is TensorHandle else tensors[index].clone()
        )
    remaining = args[count:]
    if not remaining:
        if words.required:
            match(row.name, words.options, ())
        return wrapped(fn(*tensors, **before), wrap)
    output = _output(row, remaining)
    values = match(row.name, words.options, remaining) | before
    if output is None:
        return wrapped(fn(*tensors, **values), wrap)
    if output is NIL:
        return _in_place(row, args[0], tensors, values)
    if row.last:
        values.setdefault("dim", -1)
    write(fn, tensors, values, output, row)
    return NIL


def _count_inputs(row: Row, args: list[Value]) -> int:
    """The number of arguments that are inputs, for a row with a variable number; removes empty ones."""
    least, most = row.inputs, row.inputs + row.more
    count = least
    while count < min(most, len(args)) and _is_data(args[count]):
        count += 1
    for _ in range(most - count):
        if count < len(args) and is_empty(args[count]) and not (row.inplace or row.out):
            del args[count]  # the optional argument is omitted
    return count


def _resolve(row: Row, cache: list[Callable[..., Any]]) -> Callable[..., Any]:
    cache.append(guard.guarded(row.name, resolved(row.target), row.half))
    return cache[0]


def _in_place(row: Row, x: Value, tensors: Sequence[Any], options: dict[str, Any]) -> Value:
    """Write the result to the first input: a tensor is changed in place; for an array, a changed copy is returned."""
    target = tensors[0] if x.__class__ is TensorHandle else to_tensor(x)
    method = _method(row.inplace) if isinstance(row.inplace, str) else row.inplace
    change = functools.partial(guard.guarded(row.name, method, row.half), target)
    if row.half is None or x.__class__ is not TensorHandle:
        change(*tensors[1:], **options)
    elif guard.large((target,)):
        row.half(row.name, *tensors, **options, outs=(target,))
        change(*tensors[1:], **options)
    else:
        with guard.kept((target,)):
            change(*tensors[1:], **options)
    return NIL if x.__class__ is TensorHandle else to_q(target, copy=False)


def _method(name: str) -> Callable[..., Any]:
    """The method of tensors with a name."""
    return torch_versions.mended(f"Tensor.{name}", getattr(torch.Tensor, name))


def forms(row: Row) -> tuple[str, ...]:
    """The forms of a row's function, for its help."""
    if row.forms:
        return row.forms
    if row.inputs == ANY:
        return (f"{row.name}(x;y;..)", f"{row.name} vector")
    inputs_given = ["x", "y", "z"][: row.inputs]
    inputs_given[1:1] = [option.name for option in option_words(row.lead)]
    names = [*inputs_given, *(option.name for option in option_words(row.options))]
    full = f"{row.name}({';'.join(names)})" if len(names) > 1 else f"{row.name} {names[0]}"
    variants = []
    if row.out and row.outputs:
        variants.append(f"{row.name}({';'.join([*names, 'output'])})")
    if row.inplace:
        variants.append(f"{row.name}({';'.join([*inputs_given, '[]'])})")
    return (full, *variants)


def register(rows: Sequence[Row], topic: str) -> None:
    """Make every row of a family a k-api function."""
    for row in rows:
        run = function(row)
        expression, _, output = row.example.partition("|")
        shown = output.replace("\\n", "\n")
        first = row.first_gradient
        gradient = f" Its gradient needs torch {first} or later." if first else ""
        run.__doc__ = f"{row.doc}{gradient}\n\nq){expression}\n{shown}\n"
        target = row.target if isinstance(row.target, str) else ""
        api(
            row.name,
            *forms(row),
            topic=topic,
            target=target,
            since=row.since,
            first_torch=row.first_torch,
            record=row,
        )(run)
