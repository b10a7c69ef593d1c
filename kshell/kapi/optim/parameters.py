"""The parameters of an optimizer: selecting them from tensors, vectors, dictionaries, modules and models; and the
module that contains everything an optimizer was given, and so defines parameter names.

Selecting and planning change nothing; only `Plan.commit` does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

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
    h, rest = handle(x), []
    if h is None and x.__class__ is List:
        h, rest = handle(x.items[0]), x.items[1:]
    if h is None:
        raise QError(
            "opt: expecting module, model or tensors after optimizer & optional group number, "
            f"given {kname(x)}"
        )
    if not isinstance(h, TensorHandle | VectorHandle | DictHandle | ModuleHandle | ModelHandle):
        raise CallError("opt", f"cannot derive parameters from {h.kind}", says=(h.kind,))
    if len(rest) > 1:
        raise QError(
            f"opt: expecting one arg to select parameters from {h.kind} but given {len(rest)} args"
        )
    selector = rest[0] if rest else None
    if isinstance(h, ModuleHandle | ModelHandle):
        return _from_module(module_of(h), selector, o)
    return _from_tensors(h, selector)


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
        at = range(len(tensors)) if selector is None else _indices(tensors, selector)
        named = [(str(i), tensors[i]) for i in at]
    for i, (_, t) in enumerate(named):
        if t is None:
            raise QError(f"opt: parameter[{i}] is undefined")
    holder = torch.nn.ParameterDict()
    for key, t in named:
        _put_tensor(holder, key, t)
    return Selection([t for _, t in named], holder, True, isinstance(h, DictHandle))


def _put_tensor(holder: Any, key: str, t: Any) -> None:
    """Put the tensor itself into a ParameterDict, which would otherwise make a parameter of it."""
    holder._keys[key] = None
    holder._parameters[key] = t


def _indices(v: Sequence[Any], selector: Value) -> list[int]:
    at = longs_of(selector)
    if at is None:
        raise _unrecognized("tensor vector", selector)
    for k, i in enumerate(at):
        if i < 0:
            raise CallError(
                "opt",
                f"vector[{NULL_J if i == NULL_J.v else i}] invalid",
                says=(NULL_J if i == NULL_J.v else i,),
            )
        if i >= len(v):
            raise QError(f"opt: vector[{i}] out of bounds, index must be less than {len(v)}")
        if i in at[:k]:
            raise QError(f"opt: duplicate parameter from vector[{i}]")
    return at


def _keys(d: dict[str, Any], selector: Value) -> list[str]:
    keys = names_of(selector)
    if keys is None:
        raise _unrecognized("tensor dictionary", selector)
    for n, key in enumerate(keys):
        if key not in d:
            raise QError(f"opt: no dictionary parameter named `{key}")
        if key in keys[:n]:
            raise CallError("opt", f"duplicate parameter dict[`{key}]", says=(f"`{key}",))
    return keys


def _from_module(m: Any, selector: Value | None, o: Opt | None) -> Selection:
    if selector is None:
        return Selection(list(m.parameters()), m)
    at = longs_of(selector)
    if at is not None:
        parts = _submodules(m, at, o)
    else:
        names = names_of(selector)
        if names is None:
            raise _unrecognized(f"{type_name(m)} module", selector)
        parts = _named(m, names)
    params: dict[int, Any] = {}
    for place, parameters in parts:
        if any(id(parameter) in params for parameter in parameters):
            raise CallError(
                "opt",
                f"duplicate parameter(s) with module[{place}]",
                given=SAID if place.isdigit() else UNSAID,
                says=(place,),
            )
        params |= {id(parameter): parameter for parameter in parameters}
    return Selection(list(params.values()), m)


def _submodules(m: Any, at: Sequence[int], o: Opt | None) -> Iterator[tuple[str, list[Any]]]:
    """Position and parameters of the submodules with these numbers."""
    layers = _layers(m, o) or list(_parts(m, set()))
    for i in at:
        if i < 0:
            raise CallError(
                "opt",
                f"module[{NULL_J if i == NULL_J.v else i}] invalid",
                says=(NULL_J if i == NULL_J.v else i,),
            )
        if i >= len(layers):
            raise QError(f"opt: module[{i}] out of bounds, {len(layers)} submodule(s)")
        yield str(i), list(layers[i].parameters())


class Layers(NamedTuple):
    """The children of a module, if none has parts and no two are the same, and the dictionaries in which they would
    have parts."""

    module: Any
    children: tuple[Any, ...]
    below: list[Any]


def _layers(m: Any, o: Opt | None) -> Sequence[Any]:
    """The submodules of a plain list of layers, none from another module. They are cached by the optimizer, so that
    adding groups layer by layer only has to compare them."""
    known, now = None if o is None else o.layers, tuple(m._modules.values())
    if known is None or known.module is not m or known.children != now or any(known.below):
        below = [c._modules for c in now if c is not None]
        plain = len(set(map(id, below))) == len(now) and not any(below)
        known = Layers(m, now, below) if plain else None
        if o is not None:
            o.layers = known
    return () if known is None else known.children


def _parts(m: Any, seen: set[int]) -> Iterator[Any]:
    """The submodules of a module in the order of `m.modules()`, without duplicates."""
    children = dict.fromkeys(value for value in m._modules.values() if value is not None)
    if not seen and not any([child._modules for child in children]):
        yield from children  # a plain list of layers
        return
    for part in children:
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            if part._modules:
                yield from _parts(part, seen)


def _named(m: Any, names: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
    """Position and parameters of the submodules and parameters with these names."""
    for name in names:
        above, _, last = name.rpartition(".")
        part = _at(m, above)
        child = None if part is None else part._modules.get(last)
        if child is not None:
            yield f"`{name}", list(child.parameters())
        elif part is not None and part._parameters.get(last) is not None:
            yield f"`{name}", [part._parameters[last]]
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


def _at(m: Any, path: str) -> Any:
    """The submodule at a dotted path; None if there is none."""
    for key in path.split(".") if path else ():
        m = m._modules.get(key)
        if m is None:
            break
    return m


def check_new(o: Opt, params: Sequence[Any]) -> None:
    """Check that the tensors are leaves, in no group yet, distinct, and acceptable to the optimizer."""
    dims = o.record.dims
    if o.placed is None:
        o.placed = {id(param) for group in o.groups for param in group["params"]}
    known = o.crossed or any(id(param) in o.placed for param in params)
    groups = (
        {id(param): i for i, group in enumerate(o.groups) for param in group["params"]}
        if known
        else {}
    )
    if o.crossed:
        o.placed = None
    seen: dict[int, int] = {}
    for i, param in enumerate(params):
        if not param.is_leaf:
            raise QError(f"opt: parameter[{i}] is a not a leaf tensor")
        if id(param) in groups:
            where = owners(o.container).get(id(param))
            note = f" ({where[0]} module parameter `{where[1]})" if where else ""
            raise QError(f"opt: parameter[{i}] already in group {groups[id(param)]}{note}")
        if id(param) in seen:
            raise QError(f"opt: parameter[{i}] is duplicate of parameter[{seen[id(param)]}]")
        if dims is not None and param.dim() != dims:
            raise QError(
                f"opt: {o.entry.name} takes parameters of {dims} dimensions, parameter[{i}] has {param.dim()}"
            )
        if hasattr(param, "full_tensor") and not o.record.sharded:
            raise CallError(
                "opt", f"{o.entry.name} does not take sharded parameters", says=(o.entry.name,)
            )
        seen[id(param)] = i


# ------------------------------------------------------------------ the container


def owners(container: Any) -> dict[int, tuple[str, str]]:
    """By parameter (its id): the type of the owning module and the dotted name in the container."""
    names: dict[int, tuple[str, str]] = {}
    if container is not None:
        for p, kind, name in named_parameters(container):
            names.setdefault(id(p), (kind, name))
    return names


class Row(NamedTuple):
    """A parameter: its name, the type of the owning module, the parameter itself, and its group in an optimizer."""

    name: str
    module: str
    p: Any
    group: int = -1


def parameters_of(o: Opt) -> list[Row]:
    """The parameters of an optimizer; those outside its container are named by number."""
    known = owners(o.container)
    placed = [(g, param) for g, group in enumerate(o.groups) for param in group["params"]]
    placed_names = [(known.get(id(p), ("", str(i))), p, g) for i, (g, p) in enumerate(placed)]
    return [Row(name, kind, p, g) for (kind, name), p, g in placed_names]


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
        for key, m in self.add:
            self.container._modules[key] = m
        for key, t in self.tensors:
            _put_tensor(self.among, key, t)
        if o.contents is not None and o.contents.container is self.container:
            for key, m in self.add:
                o.contents.add(key, m)
            o.contents.ids.update(id(t) for _, t in self.tensors)
        o.container, o.own = self.container, self.own


def plan(o: Opt, chosen: Selection) -> Plan:
    """How an optimizer's container changes for new parameters: a single module is its own container, tensors go into a
    ParameterDict; for several of these, a ModuleDict is made, with names or numbers as keys."""
    now, new = o.container, chosen.holder
    if now is None:
        return Plan(new, chosen.made)
    if now is new or _within(o, new) or _held(o, chosen):
        return Plan(now, o.own)
    among = _made_dict(o) if chosen.made else None
    if among is not None:
        keys = list(new._parameters)
        if not chosen.keyed:
            keys = [str(len(among._parameters) + i) for i in range(len(keys))]
        if not any(key in among._parameters for key in keys):
            return Plan(now, True, (), among, list(zip(keys, chosen.params, strict=True)))
    if not o.own and any(submodule is now for submodule in new.modules()):
        return Plan(new, False)
    if o.own and isinstance(now, torch.nn.ModuleDict):
        return Plan(now, True, [(_key(new, now._modules, chosen.made), new)])
    first = _key(now, [], o.own)
    return Plan(torch.nn.ModuleDict(), True, [(first, now), (_key(new, [first], chosen.made), new)])


def kept(o: Opt) -> Callable[[], None]:
    """A function that restores the current content of an optimizer's container."""
    container, own = o.container, o.own
    parts = (
        []
        if container is None
        else [container]
        if _made_dict(o) is None
        else [container, _made_dict(o)]
    )
    held = [(part, dict(part._modules), dict(part._parameters)) for part in parts]

    def back() -> None:
        o.container, o.own, o.contents = container, own, None
        for m, modules, tensors in held:
            m._modules.clear()
            m._modules.update(modules)
            m._parameters.clear()
            m._parameters.update(tensors)
            if isinstance(m, torch.nn.ParameterDict):
                m._keys = dict.fromkeys(tensors)

    return back


def _made_dict(o: Opt) -> Any:
    """The last ParameterDict made for an optimizer's tensors; None if there is none."""
    parts = (
        {_TENSORS: o.container}.items()
        if not isinstance(o.container, torch.nn.ModuleDict)
        else reversed(o.container._modules.items())
    )
    return next(
        (
            m
            for key, m in parts
            if o.own
            and isinstance(m, torch.nn.ParameterDict)
            and key.startswith(_TENSORS)
            and not name_of_module(m)
        ),
        None,
    )


class Contents:
    """The contents of a container created here, cached so that adding groups need not search it: the ids of its
    children and of tensors in ParameterDicts created here; the children that are the user's modules, and those of them
    that may have parts."""

    def __init__(self, container: Any) -> None:
        self.container, self.ids = container, {id(container)}
        self.modules: list[Any] = []
        self.deep: list[Any] = []
        if isinstance(container, torch.nn.ParameterDict):
            self.ids.update(map(id, container._parameters.values()))
        for key, value in container._modules.items():
            self.add(key, value)

    def add(self, key: str, m: Any) -> None:
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
    left = {id(param) for param in chosen.params} - contents.ids
    if left and not o.own:
        left -= {id(param) for param in o.container.parameters()}
    return not left or not left - {
        id(param) for part in contents.modules for param in part.parameters()
    }


def _within(o: Opt, new: Any) -> bool:
    """Is a module the container, or part of it?"""
    contents = _contents(o)
    return id(new) in contents.ids or any(
        new is submodule for part in contents.deep for submodule in part.modules()
    )


_TENSORS = "parms"


def _key(m: Any, used: Collection[str], made: bool) -> str:
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
        n = 0
        while (key := f"{_TENSORS}{n or ''}") in used:
            n += 1
        return key
    n = len(used)
    while str(n) in used:
        n += 1
    return str(n)


def group_number(x: Value) -> int | None:
    """The group number in an argument, None if it is not one."""
    if x.__class__ is int:
        return x
    return x.v if x.__class__ is Special else None
