"""The parameters of an optimizer: selecting them from tensors, vectors, dictionaries, modules and models; and the
module that contains everything an optimizer was given, and so defines parameter names.

Selecting and planning change nothing; only `Plan.commit` does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base.args import is_empty, longs_of, names_of, unknown
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handles import (
    DictHandle,
    KHandle,
    ModelHandle,
    ModuleHandle,
    TensorHandle,
    VectorHandle,
    handle,
    module_of,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.module.describe import is_container, name_of_module, named_parameters, type_name
from kshell.kapi.optim.optimizer import Opt
from kshell.values.base.core import NULL_J, List, Special, Value

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module, ParameterDict


class Selection(NamedTuple):
    """Chosen parameters, and their container: a module, or a ParameterDict made for tensors, with their keys or,
    failing that, numbers."""

    params: list[Any]
    holder: Any
    made: bool = False
    keyed: bool = False


# ------------------------------------------------------------------ choosing


def select(x: Value, o: Opt | None = None) -> Selection | None:
    """The parameters in `object` or `(object;selector)`; None for `()` and `::`. They are meant for the optimizer o."""
    if is_empty(x):
        return None
    source, selectors = handle(x), []
    if source is None and x.__class__ is List:
        source, selectors = handle(x.items[0]), x.items[1:]
    if source is None:
        raise QError(
            "opt: expecting module, model or tensors after optimizer & optional group number, "
            f"given {kname(x)}"
        )
    if not isinstance(
        source, TensorHandle | VectorHandle | DictHandle | ModuleHandle | ModelHandle
    ):
        raise CallError("opt", f"cannot derive parameters from {source.kind}", says=(source.kind,))
    if len(selectors) > 1:
        raise QError(
            f"opt: expecting one arg to select parameters from {source.kind} but given {len(selectors)} args"
        )
    selector = selectors[0] if selectors else None
    if isinstance(source, ModuleHandle | ModelHandle):
        return _from_module(module_of(source), selector, o)
    return _from_tensors(source, selector)


def _unrecognized(what: str, selector: Value) -> QError:
    return QError(f"opt: {what} supplied with unrecognized {kname(selector)} selector(s)")


def _from_tensors(h: KHandle, selector: Value | None) -> Selection:
    """Tensors by index or key; they are named by position."""
    if isinstance(h, DictHandle):
        named = (
            list(h.obj.items())
            if selector is None
            else [(key, h.obj[key]) for key in _keys(h.obj, selector)]
        )
    else:
        tensors = h.obj if isinstance(h, VectorHandle) else [h.obj]
        indices = range(len(tensors)) if selector is None else _indices(tensors, selector)
        named = [(str(index), tensors[index]) for index in indices]
    for index, (_, tensor) in enumerate(named):
        if tensor is None:
            raise QError(f"opt: parameter[{index}] is undefined")
    holder = torch.nn.ParameterDict()
    for key, tensor in named:
        _put_tensor(holder, key, tensor)
    return Selection([tensor for _, tensor in named], holder, True, isinstance(h, DictHandle))


def _put_tensor(holder: ParameterDict, key: str, t: Tensor) -> None:
    """Put the tensor itself into a ParameterDict, which would otherwise make a parameter of it."""
    own: dict[str, Any] = holder._parameters
    holder._keys[key], own[key] = None, t


def _indices(v: Sequence[Any], selector: Value) -> list[int]:
    indices = longs_of(selector)
    if indices is None:
        raise _unrecognized("tensor vector", selector)
    for position, index in enumerate(indices):
        if index < 0:
            raise CallError(
                "opt",
                f"vector[{NULL_J if index == NULL_J.v else index}] invalid",
                says=(NULL_J if index == NULL_J.v else index,),
            )
        if index >= len(v):
            raise QError(f"opt: vector[{index}] out of bounds, index must be less than {len(v)}")
        if index in indices[:position]:
            raise QError(f"opt: duplicate parameter from vector[{index}]")
    return indices


def _keys(d: dict[str, Any], selector: Value) -> list[str]:
    keys = names_of(selector)
    if keys is None:
        raise _unrecognized("tensor dictionary", selector)
    for position, key in enumerate(keys):
        if key not in d:
            raise QError(f"opt: no dictionary parameter named `{key}")
        if key in keys[:position]:
            raise CallError("opt", f"duplicate parameter dict[`{key}]", says=(f"`{key}",))
    return keys


def _from_module(m: Module, selector: Value | None, o: Opt | None) -> Selection:
    if selector is None:
        return Selection(list(m.parameters()), m)
    numbers = longs_of(selector)
    if numbers is not None:
        submodules = _submodules(m, numbers, o)
    else:
        names = names_of(selector)
        if names is None:
            raise _unrecognized(f"{type_name(m)} module", selector)
        submodules = _named(m, names)
    params: dict[int, Any] = {}
    for place, parameters in submodules:
        if any(id(parameter) in params for parameter in parameters):
            raise CallError(
                "opt",
                f"duplicate parameter(s) with module[{place}]",
                given=SAID if place.isdigit() else UNSAID,
                says=(place,),
            )
        params |= {id(parameter): parameter for parameter in parameters}
    return Selection(list(params.values()), m)


def _submodules(m: Module, at: Sequence[int], o: Opt | None) -> Iterator[tuple[str, list[Any]]]:
    """Position and parameters of the submodules with these numbers."""
    layers = _layers(m, o) or list(_parts(m, set()))
    for index in at:
        if index < 0:
            raise CallError(
                "opt",
                f"module[{NULL_J if index == NULL_J.v else index}] invalid",
                says=(NULL_J if index == NULL_J.v else index,),
            )
        if index >= len(layers):
            raise QError(f"opt: module[{index}] out of bounds, {len(layers)} submodule(s)")
        yield str(index), list(layers[index].parameters())


class Layers(NamedTuple):
    """The children of a module, if none has parts and no two are the same, and the dictionaries in which they would
    have parts."""

    module: Any
    children: tuple[Any, ...]
    below: list[Any]


def _layers(m: Module, o: Opt | None) -> Sequence[Any]:
    """The submodules of a plain list of layers, none from another module. They are cached by the optimizer, so that
    adding groups layer by layer only has to compare them."""
    cached, children = None if o is None else o.layers, tuple(m._modules.values())
    if cached is None or cached.module is not m or cached.children != children or any(cached.below):
        below = [child._modules for child in children if child is not None]
        plain = len(set(map(id, below))) == len(children) and not any(below)
        cached = Layers(m, children, below) if plain else None
        if o is not None:
            o.layers = cached
    return () if cached is None else cached.children


def _parts(m: Module, seen: set[int]) -> Iterator[Any]:
    """The submodules of a module in the order of `m.modules()`, without duplicates."""
    children = dict.fromkeys(value for value in m._modules.values() if value is not None)
    if not seen and not any([child._modules for child in children]):
        yield from children  # a plain list of layers
        return
    for submodule in children:
        if id(submodule) not in seen:
            seen.add(id(submodule))
            yield submodule
            if submodule._modules:
                yield from _parts(submodule, seen)


def _named(m: Module, names: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
    """Position and parameters of the submodules and parameters with these names."""
    for name in names:
        parent_path, _, child_name = name.rpartition(".")
        parent = _at(m, parent_path)
        child = None if parent is None else parent._modules.get(child_name)
        if child is not None:
            yield f"`{name}", list(child.parameters())
        elif parent is not None and parent._parameters.get(child_name) is not None:
            yield f"`{name}", [parent._parameters[child_name]]
        else:
            raise unknown(
                "no module or parameter named `",
                name,
                [
                    *(name for name, _ in m.named_modules(remove_duplicate=False)),
                    *(name for name, _ in m.named_parameters(remove_duplicate=False)),
                ],
                call="opt",
            )


def _at(m: Module, path: str) -> Module | None:
    """The submodule at a dotted path; None if there is none."""
    found: Module | None = m
    for key in path.split(".") if path else ():
        if found is None:
            break
        found = found._modules.get(key)
    return found


def check_new(o: Opt, params: Sequence[Any]) -> None:
    """Check that the tensors are leaves, in no group yet, distinct, and acceptable to the optimizer."""
    dims = o.record.dims
    if o.placed is None:
        o.placed = {id(param) for group in o.groups for param in group["params"]}
    may_overlap = o.crossed or any(id(param) in o.placed for param in params)
    groups = (
        {id(param): index for index, group in enumerate(o.groups) for param in group["params"]}
        if may_overlap
        else {}
    )
    if o.crossed:
        o.placed = None
    positions: dict[int, int] = {}
    for index, param in enumerate(params):
        if not param.is_leaf:
            raise QError(f"opt: parameter[{index}] is a not a leaf tensor")
        if id(param) in groups:
            owner = owners(o.container).get(id(param))
            note = f" ({owner[0]} module parameter `{owner[1]})" if owner else ""
            raise QError(f"opt: parameter[{index}] already in group {groups[id(param)]}{note}")
        if id(param) in positions:
            raise QError(
                f"opt: parameter[{index}] is duplicate of parameter[{positions[id(param)]}]"
            )
        if dims is not None and param.dim() != dims:
            raise QError(
                f"opt: {o.entry.name} takes parameters of {dims} dimensions, parameter[{index}] has {param.dim()}"
            )
        if hasattr(param, "full_tensor") and not o.record.sharded:
            raise CallError(
                "opt", f"{o.entry.name} does not take sharded parameters", says=(o.entry.name,)
            )
        positions[id(param)] = index


# ------------------------------------------------------------------ the container


def owners(container: Module | None) -> dict[int, tuple[str, str]]:
    """By parameter (its id): the type of the owning module and the dotted name in the container."""
    names: dict[int, tuple[str, str]] = {}
    if container is not None:
        for param, module_type, name in named_parameters(container):
            names.setdefault(id(param), (module_type, name))
    return names


class Row(NamedTuple):
    """A parameter: its name, the type of the owning module, the parameter itself, and its group in an optimizer."""

    name: str
    module: str
    p: Any
    group: int = -1


def parameters_of(o: Opt) -> list[Row]:
    """The parameters of an optimizer; those outside its container are named by number."""
    named = owners(o.container)
    placed = [(number, param) for number, group in enumerate(o.groups) for param in group["params"]]
    placed_names = [
        (named.get(id(param), ("", str(index))), param, number)
        for index, (number, param) in enumerate(placed)
    ]
    return [
        Row(name, module_type, param, number) for (module_type, name), param, number in placed_names
    ]


class Plan(NamedTuple):
    """A planned container: `add` are children to put into it with their keys, `tensors` those to put into the
    ParameterDict `among`."""

    container: Any
    own: bool
    add: Sequence[tuple[str, Any]] = ()
    among: Any = None
    tensors: Sequence[tuple[str, Any]] = ()

    def commit(self, o: Opt) -> None:
        """Make it the optimizer's container."""
        for key, module in self.add:
            self.container._modules[key] = module
        for key, tensor in self.tensors:
            _put_tensor(self.among, key, tensor)
        if o.contents is not None and o.contents.container is self.container:
            for key, module in self.add:
                o.contents.add(key, module)
            o.contents.ids.update(id(tensor) for _, tensor in self.tensors)
        o.container, o.own = self.container, self.own


def plan(o: Opt, chosen: Selection) -> Plan:
    """How an optimizer's container changes for new parameters: a single module is its own container, tensors go into a
    ParameterDict; for several of these, a ModuleDict is made, with names or numbers as keys."""
    container, holder = o.container, chosen.holder
    if container is None:
        return Plan(holder, chosen.made)
    if container is holder or _within(o, holder) or _held(o, chosen):
        return Plan(container, o.own)
    among = _made_dict(o) if chosen.made else None
    if among is not None:
        keys = list(holder._parameters)
        if not chosen.keyed:
            keys = [str(len(among._parameters) + index) for index in range(len(keys))]
        if not any(key in among._parameters for key in keys):
            return Plan(container, True, (), among, list(zip(keys, chosen.params, strict=True)))
    if not o.own and any(submodule is container for submodule in holder.modules()):
        return Plan(holder, False)
    if o.own and isinstance(container, torch.nn.ModuleDict):
        return Plan(container, True, [(_key(holder, container._modules, chosen.made), holder)])
    first_key = _key(container, [], o.own)
    return Plan(
        torch.nn.ModuleDict(),
        True,
        [(first_key, container), (_key(holder, [first_key], chosen.made), holder)],
    )


def kept(o: Opt) -> Callable[[], None]:
    """A function that restores the current content of an optimizer's container."""
    container, owned = o.container, o.own
    containers = (
        []
        if container is None
        else [container]
        if _made_dict(o) is None
        else [container, _made_dict(o)]
    )
    contents = [(module, dict(module._modules), dict(module._parameters)) for module in containers]

    def back() -> None:
        o.container, o.own, o.contents = container, owned, None
        for module, modules, tensors in contents:
            module._modules.clear()
            module._modules.update(modules)
            module._parameters.clear()
            module._parameters.update(tensors)
            if isinstance(module, torch.nn.ParameterDict):
                module._keys = dict.fromkeys(tensors)

    return back


def _made_dict(o: Opt) -> Any:
    """The last ParameterDict made for an optimizer's tensors; None if there is none."""
    children = (
        {_TENSORS: o.container}.items()
        if not isinstance(o.container, torch.nn.ModuleDict)
        else reversed(o.container._modules.items())
    )
    return next(
        (
            child
            for key, child in children
            if o.own
            and isinstance(child, torch.nn.ParameterDict)
            and key.startswith(_TENSORS)
            and not name_of_module(child)
        ),
        None,
    )


class Contents:
    """The contents of a container created here, cached so that adding groups need not search it: the ids of its
    children and of tensors in ParameterDicts created here; the children that are the user's modules, and those of them
    that may have parts."""

    def __init__(self, container: Module) -> None:
        self.container, self.ids = container, {id(container)}
        self.modules: list[Any] = []
        self.deep: list[Any] = []
        if isinstance(container, torch.nn.ParameterDict):
            self.ids.update(map(id, container._parameters.values()))
        for key, child in container._modules.items():
            if child is not None:
                self.add(key, child)

    def add(self, key: str, m: Module) -> None:
        self.ids.add(id(m))
        if isinstance(m, torch.nn.ParameterDict) and key.startswith(_TENSORS):
            self.ids.update(map(id, m._parameters.values()))
            return
        self.modules.append(m)
        if m._modules or is_container(m):
            self.deep.append(m)


def _contents(o: Opt) -> Contents:
    """The contents of an optimizer's container."""
    if not o.own:
        return Contents(o.container)
    if o.contents is None or o.contents.container is not o.container:
        o.contents = Contents(o.container)
    return o.contents


def _held(o: Opt, chosen: Selection) -> bool:
    """Are the chosen tensors already parameters of the container (obtained with `parm`, say)?"""
    if not isinstance(chosen.holder, torch.nn.ParameterDict):
        return False
    contents = _contents(o)
    missing = {id(param) for param in chosen.params} - contents.ids
    if missing and not o.own:
        missing -= {id(param) for param in o.container.parameters()}
    return not missing or not missing - {
        id(param) for module in contents.modules for param in module.parameters()
    }


def _within(o: Opt, new: Module) -> bool:
    """Is a module the container, or part of it?"""
    contents = _contents(o)
    return id(new) in contents.ids or any(
        new is submodule for module in contents.deep for submodule in module.modules()
    )


_TENSORS = "parms"


def _key(m: Module, used: Collection[str], made: bool) -> str:
    """The key for a module in the container: its name, or the next number; `parms`, `parms1`, .. for one created for
    tensors."""
    name = name_of_module(m).replace(".", "_")
    if name:
        if name in used:
            raise QError(
                f"opt: a {type_name(m)} module named `{name} already registered with the optimizer"
            )
        return name
    if made:
        number = 0
        while (key := f"{_TENSORS}{number or ''}") in used:
            number += 1
        return key
    number = len(used)
    while str(number) in used:
        number += 1
    return str(number)


def group_number(x: Value) -> int | None:
    """The group number in an argument, None if it is not one."""
    if x.__class__ is int:
        return x
    return x.v if x.__class__ is Special else None
