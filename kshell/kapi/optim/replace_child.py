"""`child`: a part of a module, which can be replaced in place; optimizers follow."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from kshell.errors import CallError, QError
from kshell.kapi.base.args import items
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handles import KHandle, ModuleHandle, handle, lend, module_handle
from kshell.kapi.base.live_optimizers import live_optimizers
from kshell.kapi.module.api import device_of_module, module_behind
from kshell.kapi.module.describe import mark_replaced, set_name, type_of
from kshell.kapi.module.options import module_record
from kshell.kapi.module.parts import child_of
from kshell.kapi.module.spec import define
from kshell.kapi.module.stack import ALONE, add_child
from kshell.kapi.optim.groups import Group, commit
from kshell.kapi.optim.optimizer import Opt, group_values
from kshell.kapi.optim.parameters import check_new
from kshell.values.base.core import NIL, Special, Value
from kshell.values.base.symbols import Sym, sym
from kshell.values.session.context import running

if TYPE_CHECKING:
    from torch.nn import Module


@api(
    "child",
    "child(m;name)",
    "child(m;index)",
    "child(m;name;spec)",
    "child(m;name;module)",
    held=True,
    target="torch.nn.Module.get_submodule",
    effect="reads2",
)
def child(x: Value) -> Value:
    """One child module, by dotted name or index; with a specification or a module, replace it in place.

    The replacement takes the old child's position and name, in a module of any class: as a layer in a container, or as
    an attribute, as setattr(m, "fc", layer) does in torch. If the old child is also elsewhere, it stays there.
    Optimizers that have its parameters get the new ones, matched by name in the old ones' groups; the state of the old
    parameters is dropped.

    q)objtype child(module seq(`sequential;(`linear;`fc;2;1);`relu);`fc)
    `linear

    q)m:module seq(`sequential;(`linear;`body;2;4);`relu;(`linear;`head;4;1))
    q)o:opt(`adamw;m;.1)
    q)child(m;`head;(`linear;4;3))
    q)select parmgroup,name,size from parmtable o
    parmgroup name        size
    --------------------------
    0         body.weight 4 2
    0         body.bias   ,4
    0         head.weight 3 4
    0         head.bias   ,3
    """
    arguments = items(x)
    if not 2 <= len(arguments) <= 3:
        raise QError(
            f"child: expects 2 args, (module/model/optimizer; name/index), {len(arguments)} arg(s) given"
        )
    if arguments[1].__class__ not in (int, Special, Sym):
        raise QError(f"child: expects 2nd arg of name or index, given {kname(arguments[1])}")
    module = module_behind(arguments[0], "child")
    if len(arguments) == 2:
        return module_handle(child_of(module, arguments[1], "child"))
    if arguments[1].__class__ is not Sym:
        raise QError(f"child: a child is replaced by its name, given {kname(arguments[1])}")
    owner = handle(arguments[0])
    if owner is not None:
        _replace(owner, module, arguments[1].s, arguments[2])
    return NIL


def _replace(h: KHandle, m: Module, name: str, x: Value) -> None:
    """Replace the child with a dotted name in m, which has a handle, by a module or a specification, like torch's
    setattr: in this place only. On an error, nothing changes."""
    replaced = child_of(m, sym(name), "child")
    if isinstance(x, ModuleHandle):
        replacement = x.get()
        if any(submodule is m for submodule in replacement.modules()) or any(
            submodule is replacement for submodule in m.modules()
        ):
            raise CallError("child", "the module is part of it already", says=("module",))
    else:
        replacement = define(x).to(device_of_module(m)).train(replaced.training)
    put_child(m, name, replacement)
    lend([x], h, True)


def put_child(m: Module, name: str, new: Any) -> None:
    """Put a module in the place of the child with a dotted name; optimizers follow. On an error, nothing changes."""
    path, _, child_name = name.rpartition(".")
    replaced = child_of(m, sym(name), "child")
    parent = child_of(m, sym(path), "child") if path else m
    install = _placing(parent, child_name, new)
    place = _Place(parent, child_name, new)
    changes = list(_changes(m, replaced, place))
    for change in changes:
        check_new(change.o, change.added)
    if not changes:
        _say_if_unknown(name, place)
    for change in changes:
        commit(change.o, change.groups)
    set_name(new, child_name)
    new.__dict__.pop(ALONE, None)
    install()


def _placing(parent: Module, key: str, new: Module) -> Callable[[], None]:
    """A function that puts a module in place of the child `key`. A container must accept it as a child; in any other
    class, the attribute is set."""
    entry = type_of(parent)
    if entry is None or not module_record(entry).container:
        return lambda: _set_attribute(parent, key, new)
    children = _with(parent, key, new)

    def put() -> None:
        parent._modules.clear()
        parent._modules.update(children)

    return put


def _set_attribute(parent: Module, key: str, new: Module) -> None:
    setattr(parent, key, new)
    mark_replaced(parent, key)


def _with(parent: Module, key: str, new: Module) -> dict[str, Any]:
    """The children of a container with another one in place of `key`, if accepted."""
    trial: Any = copy.copy(parent)
    trial.__dict__["_modules"] = {}
    if not hasattr(trial, "kshell_add"):
        add_child(trial, new, True)
        return {name: new if name == key else child for name, child in parent._modules.items()}
    problem = ""
    try:
        for name, child in parent._modules.items():
            trial.kshell_add(name, new if name == key else child)
    except ValueError as e:
        problem = str(e)
    if problem:
        raise QError(problem)
    return dict(trial._modules)


class _Place(NamedTuple):
    """The position of a child, and its replacement."""

    parent: Any
    key: str
    new: Any

    def modules(self, root: Module) -> Iterator[Any]:
        """The modules inside another one, with the replacement in place."""
        seen, waiting = set(), [root]
        while waiting:
            module = waiting.pop()
            if id(module) not in seen:
                seen.add(id(module))
                yield module
                children = (
                    {**module._modules, self.key: self.new}
                    if module is self.parent
                    else module._modules
                )
                waiting += [child for child in children.values() if child is not None]


class Change(NamedTuple):
    """A change of an optimizer: its new groups, and the parameters new to it."""

    o: Opt
    groups: list[Group]
    added: list[Any]


def _changes(m: Module, old: Module, place: _Place) -> Iterator[Change]:
    """The optimizers that have parameters of the old child, and their groups afterwards: new parameters with the same
    names replace the old ones, others go to the last group that had one, and old ones without a successor are removed.
    Parameters still used elsewhere, in m or in the module that the optimizer was made for, stay."""
    incoming = dict(place.new.named_parameters())
    for optimizer in live_optimizers():
        roots = [m] if optimizer.container is None else [m, optimizer.container]
        staying = {
            id(param)
            for root in roots
            for submodule in place.modules(root)
            for param in submodule._parameters.values()
        }
        former_names = {id(param): name for name, param in old.named_parameters()}
        names = {key: param for key, param in former_names.items() if key not in staying}
        present = {id(param) for param in optimizer.parameters()}
        last_group = max(
            (
                number
                for number, group in enumerate(optimizer.groups)
                if any(id(param) in former_names for param in group["params"])
            ),
            default=None,
        )
        if last_group is None:
            continue
        added = {key: param for key, param in incoming.items() if id(param) not in present}
        remaining = dict(added)
        groups = []
        for group in optimizer.groups:
            replaced = [
                remaining.pop(names[id(param)], None) if id(param) in names else param
                for param in group["params"]
            ]
            groups.append(
                Group(
                    group_values(optimizer.entry, group),
                    [param for param in replaced if param is not None],
                )
            )
        groups[last_group].params.extend(remaining.values())
        yield Change(optimizer, groups, list(added.values()))


def _say_if_unknown(name: str, place: _Place) -> None:
    """Print a note if the module has an optimizer that does not have the new child's parameters."""
    incoming = {id(param) for param in place.new.parameters() if param.requires_grad}
    for optimizer in live_optimizers():
        if (
            optimizer.container is not None
            and any(submodule is place.parent for submodule in optimizer.container.modules())
            and not incoming <= {id(param) for param in optimizer.parameters()}
        ):
            running().warn(
                f"child: the optimizer has no parameters of `{name}; add them with opt(o;group;m)\n"
            )
            return
