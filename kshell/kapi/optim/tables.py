"""Parameters, gradients and optimizer states as tables for queries; editing parameters through such a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kshell import optim
from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base.args import flag_of, items, names_of, unknown
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import dtype_name, kname
from kshell.kapi.base.device_options import device_of
from kshell.kapi.base.handles import (
    DictHandle,
    KHandle,
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
    ListValue,
    Sym,
    Table,
    Value,
    Vec,
    seq_items,
    sym_vec,
)

if TYPE_CHECKING:
    from torch import Tensor

TENSORS_IN = Hook()  # the tensors in any value, by dotted name: kapi/checkpoint/state_dicts.py

_TENSORS = (Dict, DictHandle, VectorHandle)  # containers of tensors that need not be parameters


def _object(x: Value, call: str) -> tuple[Dict | KHandle, Sequence[Value]]:
    """The module, model, optimizer or dictionary of tensors of a call, and the arguments after it."""
    arguments = items(x)
    subject = handle(arguments[0]) if arguments else None
    first = arguments[0] if arguments else NIL
    if isinstance(first, _TENSORS):
        return first, arguments[1:]
    if not isinstance(subject, ModuleHandle | ModelHandle | OptimizerHandle):
        raise CallError(
            call,
            expecting="module, model or optimizer",
            given=kname(arguments[0] if arguments else x),
        )
    return subject, arguments[1:]


def _rows(h: Dict | KHandle) -> list[Row]:
    """The parameters of a module, model or optimizer, without duplicates; the tensors of a dictionary."""
    if isinstance(h, _TENSORS):
        return [Row(name, "", tensor) for name, tensor in TENSORS_IN.fn(h)]
    if isinstance(h, OptimizerHandle):
        return parameters_of(h.obj)
    rows: dict[int, Row] = {}
    for param, module_type, name in named_parameters(module_of(h)):
        rows.setdefault(id(param), Row(name, module_type, param))
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
        for number, group in enumerate(optimizer.groups):
            values = group_values(optimizer.entry, group)
            for param in group["params"]:
                places.setdefault(id(param), (number, values))
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
        return list(
            {option.name: option for option in options if option.name not in _SHOWN}.values()
        )
    searched = [optimizer.entry for optimizer in optimizers] or entries("optimizer")
    by_name = {
        option.name: option
        for entry in reversed(list(searched))
        for option in (*how_of(entry), *options_of(entry))
    }
    for name in names:
        if name not in by_name and name not in _SHOWN:
            suffix = (
                f" of {', '.join(dict.fromkeys(optimizer.entry.name for optimizer in optimizers))}"
                if optimizers
                else ""
            )
            raise unknown(f"no option{suffix} named `", name, by_name, call="parmtable")
    return [by_name[name] for name in dict.fromkeys(names) if name not in _SHOWN]


def _about(tensors: Sequence[Any]) -> list[ListValue]:
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
    subject, arguments = _object(x, "parmtable")
    if len(arguments) > 1:
        raise QError(f"parmtable: expecting 1-2 args, given {len(arguments) + 1}")
    rows = _rows(subject)
    optimizers = _optimizers(subject, rows)
    options = _asked(arguments[0], optimizers) if arguments else []
    if options is None:
        if isinstance(subject, _TENSORS):
            raise CallError(
                "parmtable",
                expecting="the module, model or optimizer to edit",
                given=kname(subject),
            )
        _edit(subject, rows, optimizers, _table(arguments[0]))
        return NIL
    tensors, places = [row.p for row in rows], _places(optimizers)
    placements = [places.get(id(tensor), (NULL_J.v, {})) for tensor in tensors]
    before = _SHOWN.index("lr") + 1
    return table(
        (*_SHOWN[:before], *(option.name for option in options), *_SHOWN[before:]),
        [
            sym_vec([row.name for row in rows]),
            sym_vec([row.module for row in rows]),
            *_about(tensors),
            bools([tensor.requires_grad for tensor in tensors]),
            longs([number for number, _ in placements]),
            floats([float(values.get("lr", math.nan)) for _, values in placements]),
            *(
                collapse([option_q(p, values.get(p.name)) for _, values in placements])
                for p in options
            ),
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
    subject, arguments = _object(x, "gradtable")
    if arguments:
        raise QError(f"gradtable: expecting one arg, given {len(arguments) + 1}")
    rows = [row for row in _rows(subject) if row.p.grad is not None]
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
    subject, arguments = _object(x, "statetable")
    if arguments:
        raise QError(f"statetable: expecting one arg, given {len(arguments) + 1}")
    if not isinstance(subject, OptimizerHandle | ModelHandle):
        raise CallError("statetable", expecting="optimizer or model", given=kname(subject))
    optimizer = optimizer_of(subject)
    buffers = [
        (row.group, row.name, key, tensor)
        for row in parameters_of(optimizer)
        for key, tensor in _buffers(optimizer, row.p)
    ]
    groups, names, keys, tensors = zip(*buffers, strict=True) if buffers else [()] * 4
    return table(
        ("parmgroup", "name", "buffer", *_ABOUT, *NAMES),
        [longs(groups), sym_vec(names), sym_vec(keys), *_about(tensors), *columns(tensors)],
    )


def _buffers(o: Opt, p: Tensor) -> Iterator[tuple[str, Any]]:
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
    tables: tuple[Table, ...] = ()
    if x.__class__ is Dict and x.keyed:
        tables = x.tables
    elif x.__class__ is Table:
        tables = (x,)
    else:
        raise QError(
            "parmtable: expecting a table, names of options or a flag, given "
            + ("dictionary" if x.__class__ is Dict else kname(x))
        )
    return {
        name: column
        for table in tables
        for name, column in zip(table.names, table.cols, strict=True)
    }


def _chosen(rows: Sequence[Row], column: Value | None) -> list[Row]:
    """The parameters named in the column of names."""
    found = [] if column is None else seq_items(column)
    names = [symbol.s for symbol in found if symbol.__class__ is Sym]
    if column is None or len(names) < len(found):
        raise CallError(
            "parmtable", "expecting a table with the names of parameters in a column `name"
        )
    by_name = {row.name: row for row in rows}
    chosen: dict[str, Row] = {}
    for name in names:
        if name not in by_name:
            raise QError(f"parmtable: no parameter `{name}")
        if name in chosen:
            raise CallError("parmtable", f"parameter `{name} is repeated", says=(f"`{name}",))
        chosen[name] = by_name[name]
    return list(chosen.values())


def _flags(chosen: Sequence[Row], column: Value | None) -> list[bool]:
    """The flags in the column gradflag; without it, the parameters' current flags."""
    if column is None:
        return [row.p.requires_grad for row in chosen]
    if column.__class__ is not Vec or column.t != T.B:
        raise QError(f"parmtable: gradflag: expected boolean list, given {kname(column)}")
    flags: list[bool] = column.a.tolist()
    for row, flag in zip(chosen, flags, strict=True):
        if flag and not (row.p.is_floating_point() or row.p.is_complex()):
            raise CallError(
                "parmtable",
                f"parameter `{row.name} of type {dtype_name(row.p.dtype)} cannot have a gradient",
                says=(f"`{row.name}",),
            )
        if flag != row.p.requires_grad and not row.p.is_leaf:
            raise CallError(
                "parmtable", f"parameter `{row.name} is not a leaf tensor", says=(f"`{row.name}",)
            )
    return flags


def _edit(
    h: KHandle, rows: Sequence[Row], optimizers: Sequence[Opt], given: dict[str, Value]
) -> None:
    chosen = _chosen(rows, given.get("name"))
    flags = _flags(chosen, given.get("gradflag"))
    if len(optimizers) > 1:
        raise CallError(
            "parmtable",
            f"the parameters are in {len(optimizers)} optimizers, edit them through one of these",
        )
    optimizer = optimizers[0] if optimizers else None
    settable = (
        {}
        if optimizer is None
        else {option.name for option in (*options_of(optimizer.entry), *how_of(optimizer.entry))}
    )
    for name in given:
        if name not in _SHOWN and name not in settable:
            raise unknown(
                "column ",
                name,
                [*_SHOWN, *settable],
                " is neither a column of parmtable nor "
                + (
                    "an option, as there is no optimizer"
                    if optimizer is None
                    else f"an option of {optimizer.entry.name}"
                ),
                call="parmtable",
                given=UNSAID,
            )
    groups: list[Group] = []
    if optimizer is None:
        _check_without(given)
    elif "parmgroup" in given or any(name in given for name in settable):
        groups = _planned(optimizer, chosen, given, [name for name in given if name in settable])
        present = {id(param) for param in optimizer.parameters()}
        added = [param for group in groups for param in group.params if id(param) not in present]
        check_new(optimizer, added)
        container = plan(optimizer, Selection(added, module_of(h))) if added else None
        check_movable(optimizer, groups, "parmtable")
        with edited(optimizer, "parmtable"):
            commit(optimizer, groups)
        if container is not None:
            container.commit(optimizer)
    for row, flag in zip(chosen, flags, strict=True):
        row.p.requires_grad_(flag)


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
    current = {
        id(param): index for index, group in enumerate(o.groups) for param in group["params"]
    }
    wanted: dict[int, tuple[int, Values]] = {}
    numbers = (
        seq_items(given["parmgroup"])
        if "parmgroup" in given
        else [current.get(id(row.p), NULL_J) for row in chosen]
    )
    values = [seq_items(given[name]) for name in options]
    for position, (row, number) in enumerate(zip(chosen, numbers, strict=True)):
        if number is NULL_J:
            wanted[id(row.p)] = (-1, {})
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
        settings = parse(
            o.entry,
            [],
            [
                (name, column[position])
                for name, column in zip(options, values, strict=True)
                if not _is_null(column[position])
            ],
        )
        wanted[id(row.p)] = (number, bases[number] | settings)
    members: list[list[tuple[Any, Values]]] = [[] for _ in bases]
    for index, group in enumerate(o.groups):
        for param in group["params"]:
            if wanted.get(id(param), (index, bases[index]))[0] == index:
                members[index].append((param, wanted.get(id(param), (index, bases[index]))[1]))
    for row in chosen:
        number, settings = wanted[id(row.p)]
        if number >= 0 and current.get(id(row.p)) != number:
            members[number].append((row.p, settings))
    return _split(o, bases, members)


def _split(
    o: Opt, bases: Sequence[Values], members: Sequence[list[tuple[Any, Values]]]
) -> list[Group]:
    """Groups of parameters with equal options: within each current group, the parameters with its options keep its
    position, or, if none has them, those that come first; the others come after all groups."""
    count = len(bases) - 1
    placed: list[Group] = []
    appended: list[Group] = []
    for index, base in enumerate(bases):
        groups: dict[Any, Group] = {}
        for param, values in members[index]:
            key = _key(values)
            if key not in groups:
                groups[key] = Group(values, [], index if index < count else None)
            groups[key].params.append(param)
        variants = list(groups.values())
        if len(variants) > 1 and o.record.parts is not None:
            raise CallError(
                "parmtable", f"parameters in a group of {o.entry.name} have the same options"
            )
        successor = next(
            (variant for variant in variants if variant.values == base),
            variants[0] if variants else Group(base, []),
        )
        if index < count:
            placed.append(successor)
        elif variants:
            appended.insert(0, successor)
        appended += [variant for variant in variants if variant is not successor]
    limit = o.record.groups
    if limit is not None and count + len(appended) > limit:
        raise CallError(
            "parmtable",
            f"{o.entry.name} optimizer has a single parameter group",
            says=(o.entry.name, "optimizer"),
        )
    for name in o.record.same:
        distinct = {group.values[name] for group in (*placed, *appended) if group.params}
        if len(distinct) > 1:
            raise CallError(
                "parmtable", f"{o.entry.name} has one {name} for all groups", says=(o.entry.name,)
            )
        for group in (*placed, *appended) if distinct else ():
            group.values[name] = next(iter(distinct))
    for group in (*placed, *appended):
        complete(o.entry, group.values)
        build(o.entry, group.values)
    return placed + appended


def _key(values: Values) -> Any:
    """A key that is equal for equal option values."""
    return tuple(
        (name, tuple(value) if isinstance(value, list) else value)
        for name, value in sorted(values.items())
    )
