"""Module definitions, and the stack of open containers onto which they are pushed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kshell import registry
from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base.args import length_of, named_values
from kshell.kapi.base.convert import dtype_name, kname, to_tensor
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.module.builders import build, entry_of
from kshell.kapi.module.describe import (
    is_container,
    label,
    mark_replaced,
    name_of_module,
    set_name,
    type_name,
    type_of,
)
from kshell.kapi.module.options import live_values, module_record
from kshell.registry import REQUIRED, Entry, Option
from kshell.values.base import types as T
from kshell.values.base.core import NIL, Dict, List, Value, Vec, is_list
from kshell.values.base.symbols import Sym, sym

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

ALONE = "kshell_alone"  # marks a module that was made separately and is not part of another yet

# ------------------------------------------------------------------ one definition


class Spec(NamedTuple):
    """A module's definition: type, name, arguments; parms and buffers if it came from a state."""

    kind: str
    name: str
    args: Sequence[Value]
    before: int = 1
    parms: Value | None = None
    buffers: Value | None = None


def spec_of(x: Value) -> Spec:
    """The definition in a symbol, symbol list or list: `type`, optional name, arguments."""
    if x.__class__ is Sym:
        return Spec(x.s, "", ())
    if x.__class__ is not List and not (x.__class__ is Vec and x.t == T.S):
        raise CallError("module", f"unrecognized arg(s), {kname(x)}", given=SAID, expected=UNSAID)
    if not len(x):
        empty = "empty symbol list" if x.__class__ is Vec else "empty list"
        raise CallError("module", empty, expected=UNSAID)
    kind, *arguments = x.items
    if kind.__class__ is not Sym:
        raise QError(f"module: no symbol found, given {kname(x)}")
    name = arguments[0] if arguments else NIL
    return (
        Spec(kind.s, name.s, arguments[1:], 2)
        if name.__class__ is Sym
        else Spec(kind.s, "", arguments)
    )


def spec_row(d: Dict, at: int) -> Spec:
    """The definition in one row of a state."""
    row = named_values(d)
    if "module" not in row:
        raise QError("module: a dictionary with `module and `options expected, given other keys")
    kind, name, options = row["module"], row.get("name"), row.get("options")
    if kind.__class__ is not Sym:
        raise CallError("module", expected="symbol for module type", given=kname(kind))
    args = [] if options is None or not length_of(options) else [options]
    return Spec(
        kind.s,
        name.s if name.__class__ is Sym else "",
        args,
        0,
        row.get("parms"),
        row.get("buffers"),
    )


def create(x: Value) -> Any:
    """The torch module for one definition: anything spec_of accepts, or a dictionary with `module and `options."""
    spec = spec_row(x, 0) if x.__class__ is Dict else spec_of(x)
    return _create(spec)


def _create(spec: Spec) -> Any:
    entry = entry_of(spec.kind)
    if spec.name and not spec.args and (message := module_record(entry).alone):
        raise QError(f"{entry.name}: {message.format(spec.name)}")
    if (
        spec.name
        and not spec.args
        and spec.before == 2
        and entry.options
        and _is_option(spec.name, entry.options[0])
    ):
        # (`gelu;`tanh): an option, not a name
        spec = spec._replace(name="", args=(sym(spec.name),), before=1)
    try:
        module = build(entry, spec.args, spec.before)
    except QError as exc:
        named = spec.name if spec.before == 2 else ""
        exc.hint = name_hint(entry, named, spec.args) or exc.hint or layers_hint(entry, spec.args)
        raise
    set_name(module, spec.name)
    if spec.parms is not None or spec.buffers is not None:
        put_state(module, spec)
    return module


def _is_option(name: str, o: Option) -> bool:
    """Is the only symbol after a type the value of its first option rather than the module's name?"""
    return name in o.choices or (o.type == "symbol" and o.default is REQUIRED)


# ------------------------------------------------------------------ hints: what was probably meant


def name_hint(entry: Entry, name: str, args: Sequence[Value]) -> str:
    """A hint if the symbol that was taken as the module's name was meant as an option; else empty."""
    if not name or not entry.options:
        return ""
    if name in {option.name for option in entry.options}:
        return (
            f"`{name} was taken for the module's name: an option by its name is one item with its value, "
            f"(`{entry.name};(`{name};value))"
        )
    first = entry.options[0]
    if first.type == "symbol" and module_record(entry).parse is None and args:
        return (
            f"`{name} was taken for the module's name, which ` before it leaves out: "
            f"(`{entry.name};`;`{name};..)"
        )
    return ""


def layers_hint(entry: Entry, args: Sequence[Value]) -> str:
    """A hint if a container's layers are among its options, or its options next to it; else empty."""
    if not module_record(entry).container or (args and not any(head_type(arg) for arg in args)):
        return ""
    form = f"(`{entry.name};..)" if entry.options else f"`{entry.name}"
    return f"what defines a {entry.name} is one item, its layers are the items after it: seq({form};(`linear;..);..)"


def head_type(x: Value) -> Entry | None:
    """The module type at the start of a list."""
    first = x.items[0] if is_list(x) and len(x) else None
    return registry.find("module", first.s) if isinstance(first, Sym) else None


# ------------------------------------------------------------------ parameters and buffers from a state


def put_state(m: Module, spec: Spec, where: str = "") -> None:
    """Set a module's own parameters and buffers from the dictionaries of a state."""
    if spec.kind == "parmdict":
        holder: Any = m
        for key, tensor in tensors_of(spec.parms).items():
            holder[key] = torch.nn.Parameter(tensor, requires_grad=tensor.is_floating_point())
        return
    name = where or spec.kind
    parms, buffers = tensors_of(spec.parms), tensors_of(spec.buffers)
    floats = [value for value in (*parms.values(), *buffers.values()) if _is_float(value)]
    if floats and all(tensor.dtype == torch.float64 for tensor in floats):
        m.double()  # the state of a double module, rather than of a float one with some doubles
    with torch.no_grad():
        for kind, saved, named in (
            ("parameter", spec.parms, m.named_parameters(recurse=False)),
            ("buffer", spec.buffers, m.named_buffers(recurse=False)),
        ):
            if saved is not None:
                current = {key: tensor for key, tensor in named if key not in shared_of(saved)}
                _copy_in(spec.kind, name, kind, parms if kind == "parameter" else buffers, current)
    for key, tensor in parms.items():  # of a callback, or added by `parm` and `buffer`
        if key not in m._parameters:
            m.register_parameter(key, torch.nn.Parameter(tensor, requires_grad=_is_float(tensor)))
    for key, tensor in buffers.items():
        if key not in m._buffers:
            m.register_buffer(key, tensor)


def _is_float(t: Tensor) -> bool:
    return bool(t.is_floating_point())


def _by_name(x: Value | None) -> dict[str, Value]:
    """The values in a state's dictionary of parameters or buffers, which may be missing."""
    if x is None or not length_of(x):
        return {}
    if x.__class__ is not Dict:
        raise QError("type")
    return named_values(x)


def tensors_of(x: Value | None) -> dict[str, Any]:
    """The tensors of a state's parameters or buffers."""
    return {
        name: to_tensor(value) for name, value in _by_name(x).items() if value.__class__ is not Sym
    }


def shared_of(x: Value | None) -> dict[str, str]:
    """The parameters of a state that other modules share, with the names of their first occurrence."""
    return {name: symbol.s for name, symbol in _by_name(x).items() if symbol.__class__ is Sym}


def _copy_in(kind: str, name: str, what: str, given: dict[str, Any], own: dict[str, Any]) -> None:
    for key, value in own.items():
        tensor = given.get(key)
        if tensor is None:
            raise QError(f"{kind}: unable to find  {what}: {key}")
        if value.dtype != tensor.dtype and not (
            value.dtype.itemsize < 4 and value.is_floating_point() and tensor.is_floating_point()
        ):
            raise QError(
                f"{name}: type mismatch, {key} is {dtype_name(value.dtype)}, input is {dtype_name(tensor.dtype)}"
            )
        if value.shape != tensor.shape:
            raise QError(
                f"{name}: size mismatch, {key} is {list(value.shape)}, input is {list(tensor.shape)}"
            )
        value.copy_(tensor)


# ------------------------------------------------------------------ the stack of open containers


class Stack:
    """Builds a network by pushes: each definition goes into the container that is open at its depth.

    `root` extends a module in place; if a later push fails, it is restored.
    """

    def __init__(self, root: Module | None = None) -> None:
        self.open: list[Any] = []
        self.undone: list[Callable[[], Any]] = []  # undo functions for additions to the root
        self.extends = root is not None
        # a module that made its own children, and the path down to that of the last row
        self.made: list[Any] = []
        module = root
        while module is not None and is_container(module):
            self.open.append(module)
            module = last_child(module)
        if root is not None and not self.open:
            self.open.append(root)

    @property
    def root(self) -> Any:
        if not self.open:
            raise QError("empty module stack -- cannot get originating module")
        return self.open[0]

    def to_depth(self, kind: str, depth: int) -> None:
        """Close the containers below a depth, which must be reachable."""
        count = len(self.open)
        if depth < (1 if count else 0):
            raise QError(f"{kind}: depth {depth} below min depth of {1 if count else 0}")
        if depth > count:
            raise QError(f"{kind}: depth {depth} above max depth of {count}")
        del self.open[depth:]

    def push(self, depth: int, spec: Spec) -> Any:
        """Make the module for a definition and put it at a depth."""
        entry = entry_of(spec.kind)
        self.to_depth(spec.kind, depth)
        no_buffers = module_record(entry).container and spec.kind != "callback"
        if no_buffers and spec.buffers is not None and length_of(spec.buffers):
            raise CallError(spec.kind, "no buffers expected")
        module = _create(spec)
        self.put(module, entry, True)
        return module

    def put(self, m: Module, entry: Entry | None, new: bool) -> None:
        """Add a module, new or existing, to the innermost open container; a container stays open."""
        if self.open:
            parent = self.open[-1]
            if not self.extends:
                add_child(parent, m, new)
            elif hasattr(parent, "kshell_add") or _replaces(parent):
                before = dict(parent._modules)
                add_child(parent, m, new)
                self.undone.append(partial(_put_back, parent._modules, before))
            else:
                self.undone.append(partial(parent._modules.pop, add_child(parent, m, new)))
        if not self.open or (entry is not None and module_record(entry).container):
            self.open.append(m)

    def push_row(self, depth: int, spec: Spec) -> None:
        """Like push, but a row below a module that makes its own children sets the state of one of those."""
        parent = self._maker()
        if parent is not None and depth > (len(self.open) if is_container(self.open[-1]) else 0):
            level = depth - (len(self.open) if is_container(self.open[-1]) else 0)
            self.made = self.made[:level] or [parent]
            if level > len(self.made):
                raise QError(
                    f"{spec.kind}: depth {depth} above max depth of {depth - level + len(self.made)}"
                )
            self.made.append(put_implicit(self.made[-1], spec))
            return
        self.made = []
        self.push(depth, spec)

    def _maker(self) -> Any:
        if not self.open:
            return None
        top = self.open[-1]
        last = last_child(top) if is_container(top) else top
        if last is None or is_container(last) or next(last.children(), None) is None:
            return None
        return last

    def undo(self) -> None:
        """Remove what was added and put back what was replaced."""
        for undo in reversed(self.undone):
            undo()


def last_child(m: Module) -> Any:
    """The last child of a module; None if there are none."""
    return next((value for value in reversed(m._modules.values()) if value is not None), None)


def _put_back(children: dict[str, Any], before: dict[str, Any]) -> None:
    children.clear()
    children.update(before)


def _replaces(m: Module) -> bool:
    """Does an added child replace one with its name?"""
    entry = type_of(m)
    return entry is not None and module_record(entry).replaces


def put_implicit(owner: Module, spec: Spec) -> Any:
    """Set the state of a child that a module made itself, and return the child. If the row describes a different child,
    which replaced it, that one is made and put in its place."""
    if not spec.name:
        raise QError(f"attempting to find {spec.kind} layer in {label(owner)}, but no name given")
    child = owner._modules.get(spec.name)
    if child is not None and _is_of(child, spec):
        put_state(child, spec, spec.name)
        return child
    if spec.name not in owner._modules and not is_container(owner):
        raise QError(f"unable to find {spec.kind}({spec.name}) in parent {label(owner)}")
    created = _create(spec)
    if spec.name not in owner._modules:
        add_child(owner, created, True)
        return created
    owner._modules[spec.name] = created
    if not is_container(owner):
        mark_replaced(owner, spec.name)
    return created


def _is_of(m: Module, spec: Spec) -> bool:
    """Does an existing module match a row? Options are compared by making the row's module."""
    entry = registry.find("module", spec.kind)
    if entry is None or module_record(entry).cls is not None or is_container(m):
        # a user's class may need arguments that only its parent knows
        return type_name(m) == spec.kind
    return type_name(m) == spec.kind and same_options(m, build(entry, spec.args, 0))


def same_options(a: Module, b: Module) -> bool:
    """Do two modules have the same type and options?"""
    entry, second = type_of(a), type_of(b)
    if entry is None or entry is not second:
        return False
    x, y = live_values(entry, a), live_values(entry, b)
    return all(_plain(x[key]) == _plain(y[key]) for key in x)


def _plain(v: object) -> Any:
    v = v(True) if callable(v) else v
    return tuple(v) if isinstance(v, list | tuple) else str(v) if isinstance(v, Dict) else v


def _grown(adder: Callable[[str, Module], object], child: Module) -> str:
    name = name_of_module(child)
    if "." in name:
        raise QError(f"module: child name `{name} must not contain a dot")
    try:
        return str(adder(name, child))
    except ValueError as exc:
        error = QError(str(exc))
    raise error


def add_child(parent: Module, child: Module, new: bool) -> str:
    """Put a module, new or existing, into a container under its name or the next number; returns the name."""
    adder = getattr(parent, "kshell_add", None)  # classes of kshell.nn with their own rules
    if adder is not None:
        _check_apart(parent, child, new)
        return _grown(adder, child)
    child_entry, entry = type_of(child), type_of(parent)
    if entry is None or not (record := module_record(entry)).container or entry.name == "parmdict":
        raise QError(
            f"unable to add a {label(child)} module as a child of a {label(parent)} module"
        )
    if record.children != "any" and child_entry is not None:
        if child_entry.name == "sequential":
            raise CallError(
                "sequential",
                "unable to create type-erased module, forward method uses template; "
                "a sequence inside of another is `seqnest",
            )
        if module_record(child_entry).result == "":
            raise CallError(
                child_entry.name, "unable to create type-erased module, no forward method defined"
            )
    name = "" if record.numbered else name_of_module(child)
    name = name or str(len(parent._modules))
    if "." in name:
        raise QError(f"{entry.name}: child name `{name} must not contain a dot")
    if name in parent._modules and not record.replaces:
        raise QError(f"{entry.name}: a module named `{name} is already defined")
    _check_apart(parent, child, new)
    parent._modules[name] = child
    return name


def _check_apart(parent: Module, child: Module, new: bool) -> None:
    """Is neither module inside the other? A module that was made separately is in none."""
    alone = child.__dict__.pop(ALONE, False)
    if not new and (
        any(submodule is parent for submodule in child.modules())
        or (not alone and any(submodule is child for submodule in parent.modules()))
    ):
        raise QError(f"{type_name(parent)}: the module is part of it already")
