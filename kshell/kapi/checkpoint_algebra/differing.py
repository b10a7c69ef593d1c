"""Comparing checkpoints with each other and with modules."""

from __future__ import annotations

from kshell.errors import CallError
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import dtype_name, kname
from kshell.kapi.checkpoint_algebra import comparing
from kshell.kapi.checkpoint_algebra.naming import fitting
from kshell.kapi.checkpoint_algebra.sources import Source, arguments, source_of
from kshell.values.base.build import bools, floats, longs, symdict, table
from kshell.values.base.core import Dict, List, Value, sym_vec
from kshell.values.session.interrupts import PENDING, give_up


@api("ckptdiff", "ckptdiff(a;b)", since="kshell", effect="none")
def ckptdiff(x: Value) -> Value:
    """Compare two checkpoints: a table with one row for each tensor of either.

    `side` says whether both have it, or only the first or second. `same` is true if type, size and bytes are the same.
    maxabs is the largest absolute difference, rel the norm of a-b divided by that of a, cosine the cosine of the angle
    between them, changed the share of items whose values differ. They are computed in double precision, a piece of a
    tensor at a time, and null where they are not defined: if the sizes differ or a norm is 0.

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
            rows.append(_difference(a, b, name))
        else:
            rows.append(comparing.OTHER_SIZE)
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


def _difference(a: Source, b: Source, name: str) -> comparing.Difference:
    if a.shape(name) != b.shape(name):
        return comparing.OTHER_SIZE
    pairs = zip(a.pieces(name), b.pieces(name), strict=True)
    return comparing.compared(a.dtype(name) == b.dtype(name), pairs)


def _sizes(source: Source) -> dict[str, tuple[int, ...]]:
    return {name: source.shape(name) for name in source.names()}


@api("ckptfit", "ckptfit(m;d)", since="kshell", effect="none")
def ckptfit(x: Value) -> Value:
    """How a checkpoint fits a module, or another checkpoint: a dry run of `putstate`.

    The result is a dictionary: the names that are `missing` in d; those that are `unexpected`; a table of those with
    another `size` or type, wanted and given; and `rename`, the renaming for `ckptrename` by which most tensors fit. It
    is found by removing and adding the prefixes of wrappers (module., _orig_mod., base_model.model. and so on), then by
    the size and the longest common end of the name.

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
