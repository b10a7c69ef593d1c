"""Comparing, renaming, casting and dropping tensors of checkpoints by name."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kshell.errors import UNSAID, CallError
from kshell.kapi.base.args import is_pairs, items, name_of, named_values, names_of
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import dtype_name, dtype_named, kname
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.q_calls import applied
from kshell.kapi.checkpoint_algebra import comparing
from kshell.kapi.checkpoint_algebra.combining import listed
from kshell.kapi.checkpoint_algebra.naming import fitting, named_in, renamed, without
from kshell.kapi.checkpoint_algebra.patterns import is_like
from kshell.kapi.checkpoint_algebra.results import (
    BYTES,
    TO,
    Made,
    Result,
    deliver,
    options_of,
    passed,
)
from kshell.kapi.checkpoint_algebra.sources import Source, arguments, source_of
from kshell.registry import Option
from kshell.values.base import types as T
from kshell.values.base.build import bools, floats, longs, symdict, table
from kshell.values.base.core import (
    Dict,
    List,
    Sym,
    Value,
    Vec,
    atom_t,
    seq_items,
    sym_names,
    sym_vec,
    text_of,
)
from kshell.values.base.functions import Function
from kshell.values.session.context import running
from kshell.values.session.interrupts import PENDING, give_up

if TYPE_CHECKING:
    from torch import dtype as DType


@api("ckptdiff", "ckptdiff(a;b)", since="kshell", effect="none")
def ckptdiff(x: Value) -> Value:
    """What differs between two checkpoints: one row a tensor of either.

    `side` says whether both have it, or only the first or second. `same` is true if type, size and bytes are the same.
    maxabs is the largest absolute difference, rel the norm of the difference over that of a, cosine that of the angle
    between them, changed the share of items with another value. These are null where they are not defined: of sizes
    that differ, of a norm of 0. They are computed in double precision, one tensor at a time.

    q)a:`w`b`c!(tensor 3 4e;tensor 1 2e;tensor 0e)
    q)b:`w`b`d!(tensor 3 0e;tensor 1 2e;tensor 0e)
    q)ckptdiff(a;b)
    name side   dtype size     same maxabs rel cosine changed
    ---------------------------------------------------------
    w    both   float ,2       0    4      0.8 0.6    0.5
    b    both   float ,2       1    0      0   1      0
    c    first  float `long$() 0
    d    second float `long$() 0
    """
    given = arguments(x)
    if len(given) != 2:
        raise CallError("ckptdiff", expecting="two checkpoints", given=kname(x))
    a, b = (source_of(item, "ckptdiff") for item in given)
    in_a, in_b = set(a.names()), set(b.names())
    names = list(dict.fromkeys([*a.names(), *b.names()]))
    rows = []
    for name in names:
        if PENDING:
            give_up()
        if name in in_a and name in in_b:
            rows.append(comparing.difference(a.tensor(name), b.tensor(name)))
        else:
            rows.append(comparing.Difference(False, *[math.nan] * 4))
    owners = [a if name in in_a else b for name in names]
    sides = [
        "both" if name in in_a and name in in_b else "first" if name in in_a else "second"
        for name in names
    ]
    numbers = [floats([row[i] for row in rows]) for i in range(1, 5)]
    return table(
        ["name", "side", "dtype", "size", "same", "maxabs", "rel", "cosine", "changed"],
        [
            sym_vec(names),
            sym_vec(sides),
            sym_vec([dtype_name(o.dtype(name)) for o, name in zip(owners, names, strict=True)]),
            List([longs(list(o.shape(name))) for o, name in zip(owners, names, strict=True)]),
            bools([row.same for row in rows]),
            *numbers,
        ],
    )


# ------------------------------------------------------------------ names

_DRY = Option("dry", "boolean", False, doc="return what would change, and change nothing")
_RENAME = (_DRY, TO, BYTES)


def _texts(x: Value) -> list[str] | None:
    """The texts of a symbol, a string, or a list of such; None for others."""
    if x.__class__ is Sym or (x.__class__ is Vec and x.t == T.C) or atom_t(x) == T.C:
        return [text_of(x)]
    if x.__class__ is Vec and x.t == T.S:
        return sym_names(x)
    if isinstance(x, List):
        texts = [_texts(item) for item in seq_items(x)]
        if all(text is not None and len(text) == 1 for text in texts):
            return [text[0] for text in texts if text is not None]
    return None


def _by_patterns(call: str, names: Sequence[str], old: Value, new: Value) -> dict[str, str]:
    """New names by regular expressions and what they are replaced with, one after the other."""
    patterns, texts = _texts(old), _texts(new)
    for mine, other in ((patterns, texts), (texts, patterns)):
        if mine and other and len(mine) == 1 and len(mine[0]) == len(other) > 1:
            mine[:] = mine[0]  # a list of single characters, which is a string in q
    if patterns is None or texts is None or len(patterns) != len(texts):
        given = f"{kname(old)} and {kname(new)}"
        raise CallError(call, expected="as many patterns as texts for them", given=given)
    result = {}
    for name in names:
        changed = name
        for pattern, text in zip(patterns, texts, strict=True):
            problem = ""
            try:
                changed = re.sub(pattern, text, changed)
            except (re.error, IndexError) as error:
                problem = str(error)
            if problem:
                raise CallError(call, f"the pattern {pattern}: {problem}")
        result[name] = changed
    return result


def _by_dictionary(call: str, names: Sequence[str], given: Dict) -> dict[str, str]:
    new = {key: name_of(value) for key, value in named_values(given).items()}
    if any(value is None for value in new.values()):
        raise CallError(call, "the new names are no symbols", expected=UNSAID)
    unknown = [key for key in new if key not in set(names)]
    if unknown:
        raise CallError(call, f"there is no {listed(unknown)}")
    return {name: new.get(name) or name for name in names}


def _by_function(call: str, names: Sequence[str], f: Value) -> dict[str, str]:
    out = applied(f, [sym_vec(names)])
    new = names_of(out)
    if new is None or len(new) != len(names):
        expected = f"a function that makes {len(names)} names of {len(names)}"
        raise CallError(call, expected=expected, given=f"one that makes a {kname(out)}")
    return dict(zip(names, new, strict=True))


def _new_names(call: str, source: Source, rest: list[Value]) -> tuple[dict[str, str], list[Value]]:
    """The new name of each tensor, and the arguments that are left."""
    names = source.names()
    how = rest[0]
    if how.__class__ is Dict:
        return _by_dictionary(call, names, how), rest[1:]
    if _texts(how) is not None:
        if len(rest) < 2:
            raise CallError(call, expecting="a pattern and a text for it", given=kname(how))
        return _by_patterns(call, names, how, rest[1]), rest[2:]
    if not isinstance(how, Function):
        raise CallError(call, expected="patterns, names or a function", given=kname(how))
    return _by_function(call, names, how), rest[1:]


@api(
    "ckptrename",
    "ckptrename(d;pattern;text)",
    "ckptrename(d;names)",
    "ckptrename(d;function)",
    "ckptrename(d;pattern;text;dry;to;bytes)",
    held=True,
    since="kshell",
    effect="own",
    options=_RENAME,
)
def ckptrename(x: Value) -> Value:
    r"""Rename the tensors of a checkpoint: by a regular expression, a dictionary old!new, or a q function of all names.

    A pattern is one of Python, found anywhere in the name; the text may have its groups, as \1. Of several patterns and
    texts, each goes on with what the one before made. All tensors change their names at once, so two can swap theirs.
    Two tensors with one new name are an error. With the flag dry the result is a table of the names that would change,
    old and new, with clash 1b if another tensor would have the new name.

    In nested dictionaries names are joined by dots. A tensor stays in its dictionary if the new name begins with that
    dictionary's; if only what is before its key changes it goes to another one, as from ema.w to model.w; else to the
    outermost, under its whole name. The result goes to a dictionary, file, folder or module as that of `ckptavg`;
    tensors are not copied for a dictionary.

    q)d:`module.w`module.b!(tensor 1e;tensor 2e)
    q)key ckptrename(d;"^module\\.";"net.")
    `net.w`net.b
    q)key ckptrename(d;`module.w`module.b!`b`w)
    `b`w
    q)ckptrename(d;{last each` vs/:x};1b)
    old      new clash
    ------------------
    module.w w   0
    module.b b   0
    """
    call = "ckptrename"
    given = arguments(x)
    if len(given) < 2:
        raise CallError(call, expecting="a checkpoint, and patterns, names or a function")
    source = source_of(given[0], call)
    new, rest = _new_names(call, source, given[1:])
    options = options_of(call, _RENAME, rest, len(given) - len(rest))
    counts = Counter(new.values())
    changed = {old: name for old, name in new.items() if old != name}
    if options["dry"]:
        clashes = bools([counts[name] > 1 for name in changed.values()])
        columns = [sym_vec(list(changed)), sym_vec(list(changed.values())), clashes]
        return table(["old", "new", "clash"], columns)
    clash = next((name for name in new.values() if counts[name] > 1 or not name), None)
    if clash is not None:
        both = listed([old for old, name in new.items() if name == clash])
        raise CallError(call, f"{both} would be named {clash or 'nothing'}", says=(clash,))
    made = {name: passed(source, old) for old, name in new.items()}
    result = Result(renamed(source.tree(), new), made)
    return deliver(call, result, options["to"], options["bytes"])


def _sizes(source: Source) -> dict[str, tuple[int, ...]]:
    return {name: source.shape(name) for name in source.names()}


@api("ckptfit", "ckptfit(m;d)", since="kshell", effect="none")
def ckptfit(x: Value) -> Value:
    """How a checkpoint fits a module, or another checkpoint: a dry run of `putstate`.

    The result is a dictionary: the names that are `missing` in d; those that are `unexpected`; a table of those with
    another `size` or type, wanted and given; and in `rename` the renaming with which most of it fits, for `ckptrename`.
    That is found by taking off and putting on the prefixes of wrappers (module., _orig_mod., base_model.model. and so
    on), then by the size and the longest common end of the name.

    q)m:module enlist(`linear;2;1)
    q)d:`module.weight`module.bias`step!(tensor 1 2#1e;tensor enlist 1e;tensor 7)
    q)f:ckptfit(m;d)
    q)f`missing`unexpected
    `weight`bias
    `module.weight`module.bias`step
    q)f`rename
    module.weight| weight
    module.bias  | bias
    q)putstate(m;`step _ ckptrename(d;f`rename))
    """
    given = arguments(x)
    if len(given) != 2:
        raise CallError("ckptfit", expecting="a module and a checkpoint", given=kname(x))
    wanted, source = (source_of(item, "ckptfit") for item in given)
    own, other = _sizes(wanted), _sizes(source)
    both = [name for name in own if name in other]
    wrong = [
        name
        for name in both
        if own[name] != other[name] or wanted.dtype(name) != source.dtype(name)
    ]
    sizes = table(
        ["name", "wanted", "given", "dtype", "givendtype"],
        [
            sym_vec(wrong),
            List([longs(list(own[name])) for name in wrong]),
            List([longs(list(other[name])) for name in wrong]),
            sym_vec([dtype_name(wanted.dtype(name)) for name in wrong]),
            sym_vec([dtype_name(source.dtype(name)) for name in wrong]),
        ],
    )
    new = {old: name for old, name in fitting(own, other).items() if old != name}
    return symdict(
        ["missing", "unexpected", "size", "rename"],
        [
            sym_vec([name for name in own if name not in other]),
            sym_vec([name for name in other if name not in own]),
            sizes,
            Dict(sym_vec(list(new)), sym_vec(list(new.values()))),
        ],
    )


# ------------------------------------------------------------------ types and parts

_NAMES = Option("names", "any", None, doc="patterns of like for the names; all if not given")
_LEAST = Option("least", "long", 2, doc="tensors of fewer items stay as they are", low=0)
_CAST = (_NAMES, _LEAST, TO, BYTES)


def patterns_of(call: str, x: Value, at: str = "names") -> list[str]:
    """The patterns of `like` in a symbol, a string, or a list of such."""
    found = _texts(x)
    if not found:
        raise CallError(call, at=at, expected="names or patterns of like", given=kname(x))
    return found


def chosen(call: str, names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """The names that match one of the patterns; an error if one matches none."""
    for pattern in patterns:
        if not any(name == pattern or is_like(pattern, name) for name in names):
            raise CallError(
                call, f"no tensor has a name like {pattern}", says=(pattern,), expected=UNSAID
            )
    return [
        name
        for name in names
        if any(name == pattern or is_like(pattern, name) for pattern in patterns)
    ]


class _Cast:
    """A tensor in another type, whole or some items of it; a message says how many values became infinite or null."""

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
    options=_CAST,
)
def ckptcast(x: Value) -> Value:
    """Convert the floating-point tensors of a checkpoint to another such type, rounded to nearest even.

    With names or patterns (as of `like`) only those; tensors with fewer items than `least` stay, so that norms and step
    counts can be kept: of one item if not given. Integers stay. A message says how many values of a tensor are out of
    the new type's range. The result goes to a dictionary, file, folder or module as that of `ckptavg`.

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
    options = options_of(call, _CAST, _named_patterns(given[2:]), 2)
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
    return deliver(call, Result(source.tree(), made), options["to"], options["bytes"])


def _named_patterns(rest: list[Value]) -> list[Value]:
    """Arguments in which a first list of symbols or strings, which looks like name-value pairs, is one of names."""
    if len(rest) == 1 and rest[0].__class__ is Vec and is_pairs(rest[0]):
        names = sym_names(rest[0])
        if names[0] not in {option.name for option in _CAST}:
            return [symdict(["names"], [rest[0]])]
    return rest


_DROP = (TO, BYTES)


@api(
    "ckptdrop",
    "ckptdrop(d;names)",
    "ckptdrop(d;names;to;bytes)",
    held=True,
    since="kshell",
    effect="own",
    options=_DROP,
)
def ckptdrop(x: Value) -> Value:
    """Leave out parts of a checkpoint: keys of its dictionaries, by names or patterns (as of `like`).

    In nested dictionaries names are joined by dots: `optimizer leaves out the whole optimizer, "*.exp_avg" the averages
    of all parameters. Each pattern must match something. The result goes to a dictionary, file, folder or module as
    that of `ckptavg`; tensors are not copied for a dictionary.

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
    options = options_of(call, _DROP, given[2:], 2)
    source = source_of(given[0], call)
    patterns = patterns_of(call, given[1])
    used: set[str] = set()

    def is_dropped(name: str) -> bool:
        found = [p for p in patterns if name == p or is_like(p, name)]
        used.update(found)
        return bool(found)

    tree = without(source.tree(), is_dropped)
    unused = next((pattern for pattern in patterns if pattern not in used), None)
    if unused is not None:
        raise CallError(call, f"nothing has a name like {unused}", says=(unused,), expected=UNSAID)
    made = {name: passed(source, name) for name in named_in(tree)}
    return deliver(call, Result(tree, made), options["to"], options["bytes"])
