"""A child of a module replaced in place; optimizers that have its parameters get those of the new one."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

from kshell.errors import QError
from kshell.kapi.handles import ModuleHandle
from kshell.kapi.moduleapi import device_of_module
from kshell.kapi.moduledef import label, set_name, type_of
from kshell.kapi.moduleparts import child_of
from kshell.kapi.moduletree import add_child, define
from kshell.kapi.optapi import live_optimizers
from kshell.kapi.optim import Opt, group_values
from kshell.kapi.optparms import check_new
from kshell.kapi.parmtables import Group, commit
from kshell.values.core import Value, sym


def replace_child(m: Any, name: str, x: Value) -> None:
    """Replace the child of a dotted name by a module or by one of a specification. With an error nothing changes."""
    path, _, key = name.rpartition(".")
    old = child_of(m, sym(name), "child")
    parent = child_of(m, sym(path), "child") if path else m
    if isinstance(x, ModuleHandle):
        new = x.get()
        if any(k is m for k in new.modules()) or any(k is new for k in m.modules()):
            raise QError("child: the module is part of it already")
    else:
        new = define(x).to(device_of_module(m)).train(old.training)
    children = _with(parent, key, new)
    changes = list(_changes(m, old, new))
    for c in changes:
        check_new(c.o, c.added)
    for c in changes:
        commit(c.o, c.groups, c.added)
    set_name(new, key)
    parent._modules.clear()
    parent._modules.update(children)
    if isinstance(x, ModuleHandle):
        x.give_up()


def _with(parent: Any, key: str, new: Any) -> dict[str, Any]:
    """The children of a container with another one in the place of `key`, if it takes that one."""
    entry = type_of(parent)
    if entry is None or "container" not in entry.extra:
        raise QError(f"child: `{key} is a part of a {label(parent)} module, which cannot be replaced")
    trial = copy.copy(parent)
    trial.__dict__["_modules"] = {}
    if not hasattr(trial, "kshell_add"):
        add_child(trial, new, True)
        return {k: new if k == key else child for k, child in parent._modules.items()}
    problem = ""
    try:
        for k, child in parent._modules.items():
            trial.kshell_add(k, new if k == key else child)
    except ValueError as e:
        problem = str(e)
    if problem:
        raise QError(problem)
    return dict(trial._modules)


class Change(NamedTuple):
    """What becomes of an optimizer: its groups, and the parameters that are new to it."""

    o: Opt
    groups: list[Group]
    added: list[Any]


def _changes(m: Any, old: Any, new: Any) -> Iterator[Change]:
    """The optimizers that have parameters of the old child, and their groups afterwards: those of the same names take
    the places of the old ones, others follow in the last group that had one, and what has no successor goes."""
    inside = set(old.modules())
    used = {id(p) for k in m.modules() if k not in inside for p in k._parameters.values()}
    coming = dict(new.named_parameters())
    staying = used | {id(p) for p in coming.values()}
    names = {id(p): n for n, p in old.named_parameters() if id(p) not in staying}
    for o in {id(o): o for o in live_optimizers()}.values():
        has = {id(p) for p in o.parameters()}
        last = max((i for i, g in enumerate(o.groups) if any(id(p) in names for p in g["params"])), default=None)
        if last is None:
            continue
        added = {n: p for n, p in coming.items() if id(p) not in has}
        rest = dict(added)
        groups = []
        for g in o.groups:
            found = [rest.pop(names[id(p)], None) if id(p) in names else p for p in g["params"]]
            groups.append(Group(group_values(o.entry, g), [p for p in found if p is not None]))
        groups[last].params.extend(rest.values())
        yield Change(o, groups, list(added.values()))
