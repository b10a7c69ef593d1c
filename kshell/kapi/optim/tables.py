"""Parameters, gradients and optimizer states as tables for queries; editing parameters through such a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from kshell import optim
from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base.args import flag_of, items, names_of, unknown
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import dtype_name, kname
from kshell.kapi.base.device_options import device_of
from kshell.kapi.base.handles import (
    DictHandle,
    ModelHandle,
    ModuleHandle,
    OptimizerHandle,
    VectorHandle,
    handle,
    module_of,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.live_optimizers import optimizer_of, optimizers_with
from kshell.kapi.base.plain_values import option_q
from kshell.kapi.math.statistics import NAMES, columns, norms
from kshell.kapi.module.describe import named_parameters
from kshell.kapi.optim.groups import Group, check_movable, commit, edited
from kshell.kapi.optim.optimizer import (
    Opt,
    Values,
    build,
    complete,
    group_values,
    how_of,
    options_of,
    parse,
)
from kshell.kapi.optim.parameters import Row, Selection, check_new, parameters_of, plan
from kshell.kapi.optim.state import shown_options
from kshell.registry import Hook, Option, entries
from kshell.values.base import types as T
from kshell.values.base.build import bools, collapse, floats, longs, table
from kshell.values.base.core import (
    NIL,
    NULL_J,
    Dict,
    List,
    Sym,
    Table,
    Value,
    Vec,
    seq_items,
    sym_vec,
)

TENSORS_IN = Hook()  # the tensors in any value, by dotted name: kapi/checkpoint/state_dicts.py

_TENSORS = (Dict, DictHandle, VectorHandle)  # containers of tensors that need not be parameters


def _object(x: Value, call: str) -> tuple[Value, Sequence[Value]]:
    """The module, model, optimizer or dictionary of tensors of a call, and the arguments after it."""
    args = items(x)
    h = handle(args[0]) if args else None
    if args and isinstance(args[0], _TENSORS):
        return args[0], args[1:]
    if not isinstance(h, ModuleHandle | ModelHandle | OptimizerHandle):
        raise CallError(
            call, expecting="module, model or optimizer", given=kname(args[0] if args else x)
        )
    return h, args[1:]


def _rows(h: Value) -> list[Row]:
    """The parameters of a module, model or optimizer, without duplicates; the tensors of a dictionary."""
    if isinstance(h, _TENSORS):
        return [Row(name, "", t) for name, t in TENSORS_IN.fn(h)]
    if isinstance(h, OptimizerHandle):
        return parameters_of(h.obj)
    rows: dict[int, Row] = {}
    for p, kind, name in named_parameters(module_of(h)):
        rows.setdefault(id(p), Row(name, kind, p))
    return list(rows.values())


def _optimizers(h: Value, rows: Sequence[Row]) -> list[Opt]:
    """The optimizer of an optimizer or model; for others, the live optimizers that have their parameters."""
    if isinstance(h, OptimizerHandle | ModelHandle):
        return [optimizer_of(h)]
    return optimizers_with(row.p for row in rows)


def _places(optimizers: Sequence[Opt]) -> dict[int, tuple[int, Values]]:
    """By parameter (its id): the number of its group, and the group's options."""
    places: dict[int, tuple[int, Values]] = {}
    for optimizer in optimizers:
        for i, group in enumerate(optimizer.groups):
            values = group_values(optimizer.entry, group)
            for param in group["params"]:
                places.setdefault(id(param), (i, values))
    return places


def _asked(x: Value, optimizers: Sequence[Opt]) -> list[Option] | None:
    """The requested option columns: the named ones, or with 1b all that `opt` shows; None if x requests none. Without
    an optimizer, any optimizer's options are accepted, and are null."""
    flag, names = (
        flag_of(x),
        names_of(x) if x.__class__ is Sym or (x.__class__ is Vec and x.t == T.S) else None,
    )
    if flag is None and names is None:
        return None
    if names is None:
        options = [
            option for optimizer in optimizers for option in shown_options(optimizer) if flag
        ]
        return list({p.name: p for p in options if p.name not in _SHOWN}.values())
    held = [optimizer.entry for optimizer in optimizers] or entries("optimizer")
    known = {p.name: p for e in reversed(list(held)) for p in (*how_of(e), *options_of(e))}
    for name in names:
        if name not in known and name not in _SHOWN:
            of = (
                f" of {', '.join(dict.fromkeys(optimizer.entry.name for optimizer in optimizers))}"
                if optimizers
                else ""
            )
            raise unknown(f"no option{of} named `", name, known, call="parmtable")
    return [known[fromkey] for fromkey in dict.fromkeys(names) if fromkey not in _SHOWN]


def _about(tensors: Sequence[Any]) -> list[Value]:
    """The columns size, elements, dtype and device."""
    return [
        List([longs(list(tensor.shape)) for tensor in tensors]),
        longs([tensor.numel() for tensor in tensors]),
        sym_vec([dtype_name(tensor.dtype) for tensor in tensors]),
        sym_vec([device_of(tensor) for tensor in tensors]),
    ]


_ABOUT = ("size", "elements", "dtype", "device")
_SHOWN = ("name", "module", *_ABOUT, "gradflag", "parmgroup", "lr", *NAMES, "grad")


@api(
    "parmtable",
    "parmtable m",
    "parmtable d",
    "parmtable(m;options)",
    "parmtable(m;flag)",
    "parmtable(m;table)",
    held=True,
    since="kshell",
    effect="reads1",
)
def parmtable(x: Value) -> Value:
    """A table of parameters for queries, one row each; with a table as second argument, edit the parameters.

    The parameters are those of a module, model or optimizer, or the tensors of a dictionary (nested ones under dotted
    names). Besides name, module type, size, type and device, the columns are: gradflag; the group and rate in the
    optimizer; the norm of the gradient (grad); and the values' norm, mean, standard deviation, minimum and maximum (lo,
    hi) and number of non-finite values (bad). Names of optimizer options (momentum, decay) add columns with the values
    for the parameter's group; 1b adds all.

    Editing sets gradflag, parmgroup and the columns named after optimizer options (lr, decay) for the parameters in the
    column name; other columns are ignored, and a null option changes nothing. A parameter moves to the given group; the
    number after the last makes a new group, 0N removes the parameter from the optimizer. If parameters of one group get
    different options, the group is split. On an error, nothing changes.

    q)m:module seq(`sequential;(`linear;`a;2;2);(`linear;`b;2;1))
    q)o:opt(`adamw;m;.1)
    q)select name,size,gradflag,lr from parmtable m where module=`linear,elements>1
    name     size gradflag lr
    --------------------------
    a.weight 2 2  1        0.1
    a.bias   ,2   1        0.1
    b.weight 1 2  1        0.1

    q)parmtable(m;update lr:.01,decay:0. from parmtable[m] where name like "*.bias")
    q)select parmgroup,name,lr from parmtable o
    parmgroup name     lr
    -----------------------
    0         a.weight 0.1
    0         b.weight 0.1
    1         a.bias   0.01
    1         b.bias   0.01
    q)select distinct lr,decay,beta1 from parmtable(o;`decay`beta1)
    lr   decay beta1
    ----------------
    0.1  0.01  0.9
    0.01 0     0.9
    q)select name,norm,bad from parmtable`x`y!(tensor 3 4e;`w`b!(tensor 1 0n;tensor 2 2e))
    name norm     bad
    -----------------
    x    5        0
    y.w           1
    y.b  2.828427 0
    """
    h, rest = _object(x, "parmtable")
    if len(rest) > 1:
        raise QError(f"parmtable: expecting 1-2 args, given {len(rest) + 1}")
    rows = _rows(h)
    optimizers = _optimizers(h, rows)
    options = _asked(rest[0], optimizers) if rest else []
    if options is None and isinstance(h, _TENSORS):
        raise CallError(
            "parmtable", expecting="the module, model or optimizer to edit", given=kname(h)
        )
    if options is None:
        _edit(h, rows, optimizers, _table(rest[0]))
        return NIL
    tensors, places = [row.p for row in rows], _places(optimizers)
    at = [places.get(id(tensor), (NULL_J.v, {})) for tensor in tensors]
    before = _SHOWN.index("lr") + 1
    return table(
        (*_SHOWN[:before], *(option.name for option in options), *_SHOWN[before:]),
        [
            sym_vec([row.name for row in rows]),
            sym_vec([row.module for row in rows]),
            *_about(tensors),
            bools([tensor.requires_grad for tensor in tensors]),
            longs([g for g, _ in at]),
            floats([float(values.get("lr", math.nan)) for _, values in at]),
            *(collapse([option_q(p, values.get(p.name)) for _, values in at]) for p in options),
            *columns(tensors),
            floats(norms([p.grad for p in tensors])),
        ],
    )


@api("gradtable", "gradtable m", "gradtable d", since="kshell", effect="none")
def gradtable(x: Value) -> Value:
    """A table of the gradients of a module, model, optimizer or dictionary of tensors, with one row per gradient.

    The columns are as in parmtable: norm, mean, std, lo, hi, and bad, the number of non-finite values.

    q)m:module seq(`sequential;(`linear;`a;2;1))
    q)backward Sum forward(m;1 2#3 4e)
    q)select name,size,norm,hi from gradtable m
    name     size norm hi
    ---------------------
    a.weight 1 2  5    4
    a.bias   ,1   1    1
    """
    h, rest = _object(x, "gradtable")
    if rest:
        raise QError(f"gradtable: expecting one arg, given {len(rest) + 1}")
    rows = [row for row in _rows(h) if row.p.grad is not None]
    gradients = [row.p.grad for row in rows]
    return table(
        ("name", "module", *_ABOUT, *NAMES),
        [
            sym_vec([row.name for row in rows]),
            sym_vec([row.module for row in rows]),
            *_about(gradients),
            *columns(gradients),
        ],
    )


@api("statetable", "statetable o", "statetable model", since="kshell", effect="none")
def statetable(x: Value) -> Value:
    """A table of an optimizer's state: one row for each buffer of each parameter; empty before the first step.

    The columns are as in parmtable; for a buffer with one value, such as the step count, mean is the value.

    q)t:tensor(3 4e;`grad)
    q)o:opt(`adam;t)
    q)backward(t;3 4e)
    q)step o
    q)select name,buffer,mean,hi from statetable o
    name buffer     mean   hi
    ----------------------------
    0    step       1      1
    0    exp_avg    0.35   0.4
    0    exp_avg_sq 0.0125 0.016
    """
    h, rest = _object(x, "statetable")
    if rest:
        raise QError(f"statetable: expecting one arg, given {len(rest) + 1}")
    if not isinstance(h, OptimizerHandle | ModelHandle):
        raise CallError("statetable", expecting="optimizer or model", given=kname(h))
    optimizer = optimizer_of(h)
    buffers = [
        (row.group, row.name, key, t)
        for row in parameters_of(optimizer)
        for key, t in _buffers(optimizer, row.p)
    ]
    groups, names, keys, tensors = zip(*buffers, strict=True) if buffers else [()] * 4
    return table(
        ("parmgroup", "name", "buffer", *_ABOUT, *NAMES),
        [longs(groups), sym_vec(names), sym_vec(keys), *_about(tensors), *columns(tensors)],
    )


def _buffers(o: Opt, p: Any) -> Iterator[tuple[str, Any]]:
    """The tensors and numbers in an optimizer's state for a parameter, under their documented names; those in a list
    are numbered."""
    for path, value in optim.state_tree.leaves_of(o.state.named(p)):
        if isinstance(value, int | float):
            value = torch.as_tensor(value, dtype=None if isinstance(value, int) else torch.float64)
        if isinstance(value, torch.Tensor):
            yield ".".join(map(str, path)), value


# ------------------------------------------------------------------ edits


def _table(x: Value) -> dict[str, Value]:
    """The columns of a table, keyed or not."""
    parts = [x.k, x.v] if x.__class__ is Dict and x.keyed else [x]
    if any(part.__class__ is not Table for part in parts):
        raise QError(
            "parmtable: expecting a table, names of options or a flag, given "
            + ("dictionary" if x.__class__ is Dict else kname(x))
        )
    return {
        name: column for part in parts for name, column in zip(part.names, part.cols, strict=True)
    }


def _chosen(rows: Sequence[Row], column: Value) -> list[Row]:
    """The parameters named in the column of names."""
    if column is None or (
        len(column) and not all(item.__class__ is Sym for item in seq_items(column))
    ):
        raise CallError(
            "parmtable", "expecting a table with the names of parameters in a column `name"
        )
    by_name = {row.name: row for row in rows}
    chosen: dict[str, Row] = {}
    for item in seq_items(column):
        if item.s not in by_name:
            raise QError(f"parmtable: no parameter `{item.s}")
        if item.s in chosen:
            raise CallError("parmtable", f"parameter `{item.s} is repeated", says=(f"`{item.s}",))
        chosen[item.s] = by_name[item.s]
    return list(chosen.values())


def _flags(chosen: Sequence[Row], column: Value) -> list[bool]:
    """The flags in the column gradflag; without it, the parameters' current flags."""
    if column is None:
        return [r.p.requires_grad for r in chosen]
    if column.__class__ is not Vec or column.t != T.B:
        raise QError(f"parmtable: gradflag: expected boolean list, given {kname(column)}")
    flags: list[bool] = column.a.tolist()
    for r, flag in zip(chosen, flags, strict=True):
        if flag and not (r.p.is_floating_point() or r.p.is_complex()):
            raise CallError(
                "parmtable",
                f"parameter `{r.name} of type {dtype_name(r.p.dtype)} cannot have a gradient",
                says=(f"`{r.name}",),
            )
        if flag != r.p.requires_grad and not r.p.is_leaf:
            raise CallError(
                "parmtable", f"parameter `{r.name} is not a leaf tensor", says=(f"`{r.name}",)
            )
    return flags


def _edit(
    h: Value, rows: Sequence[Row], optimizers: Sequence[Opt], given: dict[str, Value]
) -> None:
    chosen = _chosen(rows, given.get("name"))
    flags = _flags(chosen, given.get("gradflag"))
    if len(optimizers) > 1:
        raise CallError(
            "parmtable",
            f"the parameters are in {len(optimizers)} optimizers, edit them through one of these",
        )
    o = optimizers[0] if optimizers else None
    settable = {} if o is None else {p.name for p in (*options_of(o.entry), *how_of(o.entry))}
    for name in given:
        if name not in _SHOWN and name not in settable:
            raise unknown(
                "column ",
                name,
                [*_SHOWN, *settable],
                " is neither a column of parmtable nor "
                + (
                    "an option, as there is no optimizer"
                    if o is None
                    else f"an option of {o.entry.name}"
                ),
                call="parmtable",
                given=UNSAID,
            )
    groups: list[Group] = []
    if o is None:
        _check_without(given)
    elif "parmgroup" in given or any(n in given for n in settable):
        groups = _planned(o, chosen, given, [n for n in given if n in settable])
        before = {id(param) for param in o.parameters()}
        added = [param for group in groups for param in group.params if id(param) not in before]
        check_new(o, added)
        container = plan(o, Selection(added, module_of(h))) if added else None
        check_movable(o, groups, "parmtable")
        with edited(o, "parmtable"):
            commit(o, groups)
        if container is not None:
            container.commit(o)
    for r, flag in zip(chosen, flags, strict=True):
        r.p.requires_grad_(flag)


def _check_without(given: dict[str, Value]) -> None:
    """Without an optimizer there are no groups and rates to set; nulls, as shown by parmtable, are not edits."""
    for name in ("parmgroup", "lr"):
        if name in given and not all(map(_is_null, seq_items(given[name]))):
            raise CallError(
                "parmtable",
                f"{name} cannot be set, no optimizer has parameters of the module",
                says=(name, "module", "optimizer"),
            )


def _is_null(v: Value) -> bool:
    return (
        v is NULL_J
        or v is NIL
        or (v.__class__ is float and v != v)
        or (v.__class__ is Sym and not v.s)
    )


def _planned(
    o: Opt, chosen: Sequence[Row], given: dict[str, Value], options: Sequence[str]
) -> list[Group]:
    """The groups of an optimizer after an edit; every set of options is validated by torch."""
    count = len(o.groups)
    bases = [group_values(o.entry, group) for group in o.groups] + [
        group_values(o.entry, o.torch.defaults)
    ]
    now = {id(param): i for i, group in enumerate(o.groups) for param in group["params"]}
    wanted: dict[int, tuple[int, Values]] = {}
    numbers = (
        seq_items(given["parmgroup"])
        if "parmgroup" in given
        else [now.get(id(r.p), NULL_J) for r in chosen]
    )
    values = [seq_items(given[name]) for name in options]
    for k, (r, number) in enumerate(zip(chosen, numbers, strict=True)):
        if number is NULL_J:
            wanted[id(r.p)] = (-1, {})
            continue
        if number.__class__ is not int:
            raise QError(f"parmtable: parmgroup: expected long scalar, given {kname(number)}")
        if not 0 <= number <= count:
            raise CallError(
                "parmtable",
                f"group {number} invalid, "
                + (
                    f"cannot be greater than number of groups({count})"
                    if number > 0
                    else "cannot be negative"
                ),
                given=SAID if number > 0 else UNSAID,
                says=(number,),
            )
        new = parse(
            o.entry,
            [],
            [
                (name, column[k])
                for name, column in zip(options, values, strict=True)
                if not _is_null(column[k])
            ],
        )
        wanted[id(r.p)] = (number, bases[number] | new)
    members: list[list[tuple[Any, Values]]] = [[] for _ in bases]
    for i, group in enumerate(o.groups):
        for param in group["params"]:
            if wanted.get(id(param), (i, bases[i]))[0] == i:
                members[i].append((param, wanted.get(id(param), (i, bases[i]))[1]))
    for r in chosen:
        number, new = wanted[id(r.p)]
        if number >= 0 and now.get(id(r.p)) != number:
            members[number].append((r.p, new))
    return _split(o, bases, members)


def _split(
    o: Opt, bases: Sequence[Values], members: Sequence[list[tuple[Any, Values]]]
) -> list[Group]:
    """Groups of parameters with equal options: within each current group, the parameters with its options keep its
    position, or, if none has them, those that come first; the others come after all groups."""
    n = len(bases) - 1
    kept: list[Group] = []
    more: list[Group] = []
    for i, base in enumerate(bases):
        groups: dict[Any, Group] = {}
        for p, values in members[i]:
            key = _key(values)
            if key not in groups:
                groups[key] = Group(values, [], i if i < n else None)
            groups[key].params.append(p)
        kinds = list(groups.values())
        if len(kinds) > 1 and o.record.parts is not None:
            raise CallError(
                "parmtable", f"parameters in a group of {o.entry.name} have the same options"
            )
        first = next(
            (kind for kind in kinds if kind.values == base), kinds[0] if kinds else Group(base, [])
        )
        if i < n:
            kept.append(first)
        elif kinds:
            more.insert(0, first)
        more += [kind for kind in kinds if kind is not first]
    most = o.record.groups
    if most is not None and n + len(more) > most:
        raise CallError(
            "parmtable",
            f"{o.entry.name} optimizer has a single parameter group",
            says=(o.entry.name, "optimizer"),
        )
    for name in o.record.same:
        used = {g.values[name] for g in (*kept, *more) if g.params}
        if len(used) > 1:
            raise CallError(
                "parmtable", f"{o.entry.name} has one {name} for all groups", says=(o.entry.name,)
            )
        for g in (*kept, *more) if used else ():
            g.values[name] = next(iter(used))
    for g in (*kept, *more):
        complete(o.entry, g.values)
        build(o.entry, g.values)
    return kept + more


def _key(values: Values) -> Any:
    """A key that is equal for equal option values."""
    return tuple(
        (key, tuple(value) if isinstance(value, list) else value)
        for key, value in sorted(values.items())
    )
