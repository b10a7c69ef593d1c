"""Casting and dropping tensors of a checkpoint."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from kshell import registry
from kshell.errors import CallError
from kshell.kapi.base.args import is_pairs, items, name_of
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import dtype_named, kname
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.checkpoint_algebra.choosing import chosen, matching, nothing_like, patterns_of
from kshell.kapi.checkpoint_algebra.naming import named_in, without
from kshell.kapi.checkpoint_algebra.options import BYTES, TO, options_of
from kshell.kapi.checkpoint_algebra.results import Made, Result, deliver, passed
from kshell.kapi.checkpoint_algebra.sources import Source, source_of
from kshell.registry import Option
from kshell.values.base.build import symdict
from kshell.values.base.core import Value, Vec, sym_names
from kshell.values.session.context import running

if TYPE_CHECKING:
    from torch import dtype as DType


class _Cast:
    """A tensor converted to another type, whole or some of its items; a message says how many values became infinite or
    null."""

    def __init__(self, call: str, source: Source, name: str, dtype: DType) -> None:
        self._call, self._source, self._name, self._dtype = call, source, name, dtype
        self._most, self._lost = torch.finfo(dtype).max, 0

    def whole(self) -> Any:
        """All of it."""
        return self._converted(self._source.tensor(self._name), True)

    def part(self, start: int, stop: int) -> Any:
        """Some items."""
        part = self._source.part(self._name, start, stop)
        return self._converted(part, stop == math.prod(self._source.shape(self._name)))

    def _converted(self, values: Any, is_last: bool) -> Any:
        result = values.to(self._dtype)
        wide = values.float() if values.itemsize < 2 else values
        if (
            wide.numel()
            and not max(map(abs, torch.stack(torch.aminmax(wide)).tolist())) <= self._most
        ):
            self._lost += int((~result.isfinite()).sum()) - int((~wide.isfinite()).sum())
        if is_last and self._lost:
            what = "value is" if self._lost == 1 else "values are"
            running().warn(f"{self._call}: {self._lost} {what} out of range in {self._name}\n")
            self._lost = 0
        return result


@api(
    "ckptcast",
    "ckptcast(d;type)",
    "ckptcast(d;type;names;least;to;bytes)",
    held=True,
    since="kshell",
    effect="own",
    options=(
        Option("names", "any", None, doc="patterns of like for the names; all if not given"),
        Option("least", "long", 2, doc="tensors of fewer items stay as they are", low=0),
        TO,
        BYTES,
    ),
)
def ckptcast(x: Value) -> Value:
    """Convert the floating-point tensors of a checkpoint to another floating-point type, rounding to nearest even.

    With `names`, which may be patterns of `like`, only those are converted. Tensors of fewer than `least` items stay as
    they are: single numbers, such as step counts, if not given. So do integers. A message says how many values of a
    tensor are out of the new type's range. The result is a dictionary, or goes to a file, folder or module as in
    `ckptavg`.

    q)d:`a.weight`a.norm`n!(tensor 2 2#1e;tensor 1 1e;tensor 3)
    q)dtype each ckptcast(d;`bfloat16)
    a.weight| bfloat16
    a.norm  | bfloat16
    n       | long
    q)value dtype each ckptcast(d;`half;"*.weight")
    `half`float`long
    q)value dtype each ckptcast(d;`half;(`least;4))
    `half`float`long
    """
    call = "ckptcast"
    given = items(x)
    dtype = dtype_named(name_of(given[1]) or "") if len(given) > 1 else None
    if dtype is None or not dtype.is_floating_point:
        what = kname(x) if len(given) < 2 else name_of(given[1]) or kname(given[1])
        raise CallError(call, expecting="a checkpoint and a floating-point type", given=what)
    options = options_of(call, _named_patterns(given[2:]), 2)
    source = source_of(given[0], call)
    names = source.names()
    if options["names"] is not None:
        names = chosen(call, names, patterns_of(call, options["names"]))
    wanted = set(names)
    made = {}
    for name in source.names():
        made[name] = passed(source, name)
        old = source.dtype(name)
        enough = math.prod(source.shape(name)) >= options["least"]
        if name in wanted and enough and source.is_numeric(name) and old != dtype:
            cast = _Cast(call, source, name, dtype)
            memory = ("cast", source.memory(name))
            made[name] = Made(dtype, source.shape(name), cast.whole, memory, part=cast.part)
    return deliver(call, Result(source.tree(), made), options)


def _named_patterns(rest: list[Value]) -> list[Value]:
    """Arguments in which a first list of symbols or strings, which looks like name-value pairs, is one of names."""
    if len(rest) == 1 and rest[0].__class__ is Vec and is_pairs(rest[0]):
        names = sym_names(rest[0])
        if names[0] not in {option.name for option in registry.known("api", "ckptcast").options}:
            return [symdict(["names"], [rest[0]])]
    return rest


@api(
    "ckptdrop",
    "ckptdrop(d;names)",
    "ckptdrop(d;names;to;bytes)",
    held=True,
    since="kshell",
    effect="own",
    options=(TO, BYTES),
)
def ckptdrop(x: Value) -> Value:
    """Drop parts of a checkpoint: keys of its dictionaries, by names or patterns (as of `like`).

    In nested dictionaries names are joined by dots: `optimizer drops the whole optimizer, "*.exp_avg" the averages of
    all parameters. Each pattern must match something. The result is a dictionary, in which tensors are not copied, or
    goes to a file, folder or module as in `ckptavg`.

    q)d:`model`ema`epoch!(`w`b!(tensor 1e;tensor 2e);`w`b!(tensor 3e;tensor 4e);7)
    q)key ckptdrop(d;`ema)
    `model`epoch
    q)key ckptdrop[(d;("ema";"*.b"))]`model
    ,`w
    """
    call = "ckptdrop"
    given = items(x)
    if len(given) < 2:
        raise CallError(call, expecting="a checkpoint, and names or patterns", given=kname(x))
    options = options_of(call, given[2:], 2)
    source = source_of(given[0], call)
    patterns = patterns_of(call, given[1])
    used: set[str] = set()

    def is_dropped(name: str) -> bool:
        found = matching(patterns, name)
        used.update(found)
        return bool(found)

    tree = without(source.tree(), is_dropped)
    unused = next((pattern for pattern in patterns if pattern not in used), None)
    if unused is not None:
        raise nothing_like(call, unused, "nothing has")
    made = {name: passed(source, name) for name in named_in(tree)}
    return deliver(call, Result(tree, made), options)
