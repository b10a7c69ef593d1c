"""The edits of `parmtable(m;table)`: groups, options and gradient flags of parameters, set by a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base.args import unknown
from kshell.kapi.base.convert import dtype_name, kname
from kshell.kapi.base.handles import KHandle, module_of
from kshell.kapi.math.statistics import NAMES
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
from kshell.kapi.optim.parameters import Row, Selection, check_new, plan
from kshell.values.base import types as T
from kshell.values.base.core import NIL, NULL_J, Dict, Table, Value, Vec, seq_items
from kshell.values.base.symbols import Sym

ABOUT = ("size", "elements", "dtype", "device")
SHOWN = ("name", "module", *ABOUT, "gradflag", "parmgroup", "lr", *NAMES, "grad")


def columns_of(x: Value) -> dict[str, Value]:
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


def edit(
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
        if name not in SHOWN and name not in settable:
            raise unknown(
                "column ",
                name,
                [*SHOWN, *settable],
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
