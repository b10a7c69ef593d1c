"""Module specifications: trees, (depth;value) pairs, definition and state tables and dictionaries.

A tree is a list whose first item defines a module and whose other items are the trees of its children; pairs give each
definition with its depth; a table has a row a module. All three become pushes on a stack of open containers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from kshell import registry
from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base.convert import dtype_name, kname, to_tensor
from kshell.kapi.base.handles import ModuleHandle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.module.builders import build, entry_of
from kshell.kapi.module.describe import is_container, label, mark_replaced, name_of_module, set_name, type_name, type_of
from kshell.kapi.module.hints import head_type, layers_hint, name_hint
from kshell.kapi.module.options import live_values
from kshell.registry import REQUIRED, Entry, Option
from kshell.values.base import types as T
from kshell.values.base.build import enlist
from kshell.values.base.core import Dict, List, Sym, Table, Value, Vec, is_list, seq_items, sym, sym_vec

ALONE = "kshell_alone"  # the mark of a module that was made by itself and not put into another yet

# ------------------------------------------------------------------ one definition


class Spec(NamedTuple):
    """One module's definition: type, name, arguments; parms and buffers if it came from a state."""

    kind: str
    name: str
    args: Sequence[Value]
    before: int = 1
    parms: Value = None
    buffers: Value = None


def spec_of(x: Value) -> Spec:
    """The definition in a symbol, a symbol list or a list: `type`, optional name, arguments."""
    if x.__class__ is Sym:
        return Spec(x.s, "", ())
    if x.__class__ is Vec and x.t == T.S:
        if not len(x):
            raise CallError("module", "empty symbol list", expected=UNSAID)
    elif x.__class__ is List:
        if not x.items:
            raise CallError("module", "empty list", expected=UNSAID)
        if x.items[0].__class__ is not Sym:
            raise QError(f"module: no symbol found, given {kname(x)}")
    else:
        raise CallError("module", f"unrecognized arg(s), {kname(x)}", given=SAID, expected=UNSAID)
    items = x.items
    if len(items) > 1 and items[1].__class__ is Sym:
        return Spec(items[0].s, items[1].s, items[2:], 2)
    return Spec(items[0].s, "", items[1:])


def create(x: Value) -> Any:
    """The torch module of one definition: what spec_of takes, or a dictionary with `module and `options."""
    spec = spec_row(x, 0) if x.__class__ is Dict else spec_of(x)
    return _create(spec)


def _create(spec: Spec) -> Any:
    entry = entry_of(spec.kind)
    if spec.name and not spec.args and "alone" in entry.extra:
        raise QError(f"{entry.name}: {entry.extra['alone'].format(spec.name)}")
    if spec.name and not spec.args and spec.before == 2 and entry.options and _is_option(spec.name, entry.options[0]):
        spec = spec._replace(name="", args=(sym(spec.name),), before=1)  # (`gelu;`tanh): the option, not a name
    try:
        m = build(entry, spec.args, spec.before)
    except QError as e:
        named = spec.name if spec.before == 2 else ""
        e.hint = name_hint(entry, named, spec.args) or e.hint or layers_hint(entry, spec.args)
        raise
    set_name(m, spec.name)
    if spec.parms is not None or spec.buffers is not None:
        put_state(m, spec)
    return m


def _is_option(name: str, o: Option) -> bool:
    """Is the symbol that stands alone behind a type the value of its first option, and not the name of the module?"""
    return name in o.choices or (o.type == "symbol" and o.default is REQUIRED)


# ------------------------------------------------------------------ parameters and buffers from a state


def put_state(m: Any, spec: Spec, where: str = "") -> None:
    """Set a module's own parameters and buffers from the dictionaries of a state."""
    if spec.kind == "parmdict":
        for k, t in _tensors(spec.parms).items():
            m[k] = torch.nn.Parameter(t, requires_grad=t.is_floating_point())
        return
    name = where or spec.kind
    parms, buffers = _tensors(spec.parms), _tensors(spec.buffers)
    floats = [t for t in (*parms.values(), *buffers.values()) if _is_float(t)]
    if floats and all(t.dtype == torch.float64 for t in floats):
        m.double()  # the state of a double module, not of a float one with doubles in it
    with torch.no_grad():
        for kind, saved, own in (("parameter", spec.parms, m.named_parameters(recurse=False)),
                                 ("buffer", spec.buffers, m.named_buffers(recurse=False))):
            if saved is not None:
                own = {k: t for k, t in own if k not in _shared(saved)}
                _copy_in(spec.kind, name, kind, parms if kind == "parameter" else buffers, own)
    for k, t in parms.items():  # of a callback, or put into a module by `parm` and `buffer`
        if k not in m._parameters:
            m.register_parameter(k, torch.nn.Parameter(t, requires_grad=_is_float(t)))
    for k, t in buffers.items():
        if k not in m._buffers:
            m.register_buffer(k, t)


def _is_float(t: Any) -> bool:
    return bool(t.is_floating_point())


def _tensors(x: Value) -> dict[str, Any]:
    if x is None or not len(x):
        return {}
    return {k.s: to_tensor(v) for k, v in zip(seq_items(x.k), seq_items(x.v), strict=True) if v.__class__ is not Sym}


def _shared(x: Value) -> dict[str, str]:
    """The parameters of a state that are parameters of other modules too, and the names under which those came."""
    if x is None or not len(x):
        return {}
    return {k.s: v.s for k, v in zip(seq_items(x.k), seq_items(x.v), strict=True) if v.__class__ is Sym}


def _paths(rows: Sequence[tuple[int, Spec]]) -> Iterator[tuple[str, Spec]]:
    """The definitions of a state with their dotted names in the first of them."""
    first = rows[0][0] if rows else 0
    path: list[str] = []
    for depth, spec in rows:
        path[max(depth - first - 1, 0):] = [spec.name] if depth > first else []
        yield ".".join(path), spec


def share(base: Any, rows: Sequence[tuple[int, Spec]]) -> None:
    """Let the modules of a state share the parameters that they shared."""
    modules = dict(base.named_modules(remove_duplicate=False))
    for path, spec in _paths(rows):
        for key, name in _shared(spec.parms).items():
            owner, _, last = name.rpartition(".")
            parameter = modules[owner]._parameters.get(last) if owner in modules else None
            if parameter is None:
                raise QError(f"{spec.kind}: no parameter `{name} to share as {key}")
            modules[path].register_parameter(key, parameter)


def state_dict(x: Value) -> dict[str, Any]:
    """The parameters and buffers of a state by dotted name."""
    tensors: dict[str, Any] = {}
    for path, spec in _paths(_rows(x, 0)):
        for key, t in (_tensors(spec.parms) | _tensors(spec.buffers)).items():
            tensors[f"{path}.{key}" if path else key] = t
        for key, name in _shared(spec.parms).items():
            tensors[f"{path}.{key}" if path else key] = tensors.get(name)
    return tensors


def _copy_in(kind: str, name: str, what: str, given: dict[str, Any], own: dict[str, Any]) -> None:
    for key, p in own.items():
        t = given.get(key)
        if t is None:
            raise QError(f"{kind}: unable to find  {what}: {key}")
        if p.dtype != t.dtype and not (p.dtype.itemsize < 4 and p.is_floating_point() and t.is_floating_point()):
            raise QError(f"{name}: type mismatch, {key} is {dtype_name(p.dtype)}, input is {dtype_name(t.dtype)}")
        if p.shape != t.shape:
            raise QError(f"{name}: size mismatch, {key} is {list(p.shape)}, input is {list(t.shape)}")
        p.copy_(t)


# ------------------------------------------------------------------ the stack of open containers


class Stack:
    """Builds a network by pushes: each definition at its depth goes into the container that is open there.

    `root` extends a module in place; it is as it was if a later push fails.
    """

    def __init__(self, root: Any = None) -> None:
        self.open: list[Any] = []
        self.undone: list[Callable[[], Any]] = []  # removes the additions to the root
        self.extends = root is not None
        self.made: list[Any] = []  # a module that made children itself, and those down to that of the last row
        m = root
        while m is not None and is_container(m):
            self.open.append(m)
            m = last_child(m)
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
        """Make the module of a definition and put it at a depth."""
        entry = entry_of(spec.kind)
        self.to_depth(spec.kind, depth)
        if "container" in entry.extra and spec.kind != "callback" and spec.buffers is not None and len(spec.buffers):
            raise CallError(spec.kind, "no buffers expected")
        m = _create(spec)
        self.put(m, entry, True)
        return m

    def put(self, m: Any, entry: Entry | None, new: bool) -> None:
        """Add a module, made just now or not, to the innermost open container; a container is open from then on."""
        if self.open:
            parent = self.open[-1]
            if not self.extends:
                add_child(parent, m, new)
            elif hasattr(parent, "kshell_add") or "replaces" in _fields(parent):
                before = dict(parent._modules)
                add_child(parent, m, new)
                self.undone.append(partial(_put_back, parent._modules, before))
            else:
                self.undone.append(partial(parent._modules.pop, add_child(parent, m, new)))
        if not self.open or (entry is not None and "container" in entry.extra):
            self.open.append(m)

    def push_row(self, depth: int, spec: Spec) -> None:
        """As push; but a row below a module that makes its own children sets the state of one of those."""
        parent = self._maker()
        if parent is not None and depth > (len(self.open) if is_container(self.open[-1]) else 0):
            level = depth - (len(self.open) if is_container(self.open[-1]) else 0)
            self.made = self.made[:level] or [parent]
            if level > len(self.made):
                raise QError(f"{spec.kind}: depth {depth} above max depth of {depth - level + len(self.made)}")
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
        """Take out what was added, put back what was replaced."""
        for undo in reversed(self.undone):
            undo()


def last_child(m: Any) -> Any:
    """The last child of a module; None without any."""
    return next((k for k in reversed(m._modules.values()) if k is not None), None)


def _put_back(children: dict[str, Any], before: dict[str, Any]) -> None:
    children.clear()
    children.update(before)


def _fields(m: Any) -> dict[str, Any]:
    entry = type_of(m)
    return {} if entry is None else entry.extra


def put_implicit(owner: Any, spec: Spec) -> Any:
    """Set the state of a child that a module made itself, and give the child. Where a row has another one, that was
    put in its place: it is made, and put there again."""
    if not spec.name:
        raise QError(f"attempting to find {spec.kind} layer in {label(owner)}, but no name given")
    child = owner._modules.get(spec.name)
    if child is not None and _is_of(child, spec):
        put_state(child, spec, spec.name)
        return child
    if spec.name not in owner._modules and not is_container(owner):
        raise QError(f"unable to find {spec.kind}({spec.name}) in parent {label(owner)}")
    new = _create(spec)
    if spec.name not in owner._modules:
        add_child(owner, new, True)
        return new
    owner._modules[spec.name] = new
    if not is_container(owner):
        mark_replaced(owner, spec.name)
    return new


def _is_of(m: Any, spec: Spec) -> bool:
    """Is a module that is there such as a row says? The options are compared by making the module of the row."""
    entry = registry.find("module", spec.kind)
    if entry is None or "class" in entry.extra or is_container(m):
        return type_name(m) == spec.kind  # a class of the user's may be made with what only its parent knows
    return type_name(m) == spec.kind and same_options(m, build(entry, spec.args, 0))


def same_options(a: Any, b: Any) -> bool:
    """Do two modules have the same type and options?"""
    entry, two = type_of(a), type_of(b)
    if entry is None or entry is not two:
        return False
    x, y = live_values(entry, a), live_values(entry, b)
    return all(_plain(x[k]) == _plain(y[k]) for k in x)


def _plain(v: Any) -> Any:
    v = v(True) if callable(v) else v
    return tuple(v) if isinstance(v, list | tuple) else str(v) if isinstance(v, Dict) else v


def _grown(adder: Any, child: Any) -> str:
    name = name_of_module(child)
    if "." in name:
        raise QError(f"module: child name `{name} must not contain a dot")
    try:
        return str(adder(name, child))
    except ValueError as e:
        error = QError(str(e))
    raise error


def add_child(parent: Any, child: Any, new: bool) -> str:
    """Put a module, made just now or not, into a container under its own name or the next number; gives the name."""
    adder = getattr(parent, "kshell_add", None)  # classes of kshell.nn with rules of their own
    if adder is not None:
        _check_apart(parent, child, new)
        return _grown(adder, child)
    mine, entry = type_of(child), type_of(parent)
    if entry is None or "container" not in entry.extra or entry.name == "parmdict":
        raise QError(f"unable to add a {label(child)} module as a child of a {label(parent)} module")
    if entry.extra.get("children") != "any" and mine is not None:
        if mine.name == "sequential":
            raise CallError("sequential", "unable to create type-erased module, forward method uses template; "
                            "a sequence inside of another is `seqnest")
        if mine.extra.get("result", "tensor") == "":
            raise CallError(mine.name, "unable to create type-erased module, no forward method defined")
    name = "" if "numbered" in entry.extra else name_of_module(child)
    name = name or str(len(parent._modules))
    if "." in name:
        raise QError(f"{entry.name}: child name `{name} must not contain a dot")
    if name in parent._modules and "replaces" not in entry.extra:
        raise QError(f"{entry.name}: a module named `{name} is already defined")
    _check_apart(parent, child, new)
    parent._modules[name] = child
    return name


def _check_apart(parent: Any, child: Any, new: bool) -> None:
    """Is a module neither inside the other already? One that was made by itself is in none."""
    alone = child.__dict__.pop(ALONE, False)
    if not new and (any(m is parent for m in child.modules()) or (
            not alone and any(m is child for m in parent.modules()))):
        raise QError(f"{type_name(parent)}: the module is part of it already")


# ------------------------------------------------------------------ specifications


def pairs_of(x: Value) -> list[tuple[int, Value]] | None:
    """The (depth, definition) pairs of a list of two-item lists, or of one pair; None if x is neither."""
    if x.__class__ is not List or not x.items:
        return None
    single = _pair(x)
    if single is not None:
        return [single]
    pairs = [pair for i in x.items if (pair := _pair(i)) is not None]
    return pairs if len(pairs) == len(x.items) else None


def _pair(x: Value) -> tuple[int, Value] | None:
    if x.__class__ is List and len(x.items) == 2 and x.items[0].__class__ is int:
        return x.items[0], x.items[1]
    return None


def is_state(x: Value) -> bool:
    """Is x a state or definition: a table or dictionary with a module column?"""
    if x.__class__ is Table:
        return "module" in x.names
    return x.__class__ is Dict and x.k.__class__ is Vec and x.k.t == T.S and any(k.s == "module" for k in x.k.items)


def spec_row(d: Dict, at: int) -> Spec:
    """The definition in one row of a state."""
    row = {k.s: v for k, v in zip(seq_items(d.k), seq_items(d.v), strict=True)}
    if "module" not in row:
        raise QError("module: a dictionary with `module and `options expected, given other keys")
    kind, name, options = row["module"], row.get("name"), row.get("options")
    if kind.__class__ is not Sym:
        raise CallError("module", expected="symbol for module type", given=kname(kind))
    args = [] if options is None or not len(options) else [options]
    return Spec(kind.s, name.s if name.__class__ is Sym else "", args, 0,
                row.get("parms"), row.get("buffers"))


def _rows(x: Value, first: int) -> list[tuple[int, Spec]]:
    """The definitions of a state with their depths; where none are given, that of the first, and 1."""
    rows = []
    for k, d in enumerate([x] if x.__class__ is Dict else x.items):
        depth = next((v for n, v in zip(seq_items(d.k), seq_items(d.v), strict=True) if n.s == "depth"),
                     1 if k else first)
        if depth.__class__ is not int:
            raise CallError("module", expected="long depth", given=kname(depth))
        rows.append((depth, spec_row(d, k)))
    return rows


def _head(x: Value) -> Value:
    """The root of a tree: the first item of a list; a symbol or symbol list is a root by itself."""
    return x if x.__class__ is not List or not x.items else x.items[0]


def is_single(x: Value) -> bool:
    """Is a list one definition, not a tree: does it start with a type that has no children?"""
    if x.__class__ is not List or len(x.items) < 2 or x.items[0].__class__ is not Sym:
        return False
    entry = registry.find("module", x.items[0].s)
    return entry is not None and "container" not in entry.extra


def _push(x: Value, depth: int, q: Stack) -> None:
    """Put the module of a definition at a depth, or a module that is there already, and maybe in others too."""
    if isinstance(x, ModuleHandle):
        m = x.get()
        q.to_depth(type_name(m), depth)
        q.put(m, type_of(m), False)
    else:
        q.push(depth, spec_of(x))


def _push_tree(x: Value, depth: int, q: Stack) -> None:
    if is_single(x):
        _push(x, depth, q)
        return
    head = _head(x)
    if isinstance(head, ModuleHandle) and x.__class__ is List and len(x.items) > 1:
        raise QError(f"{type_name(head.get())}: a module that is there already takes no layers in a specification; "
                     "module(ptr;spec) adds one")
    _push(head, depth, q)
    if x.__class__ is List:
        for child in x.items[1:]:
            _push_tree(child, depth + 1, q)


def define(x: Value, root: Any = None, depth: int | None = None) -> Any:
    """The module of a specification; with `root` that module extended in place, by a definition or a tree at a depth
    if one is given."""
    q = Stack(root)
    at = depth or len(q.open)
    try:
        if depth is not None:
            if x.__class__ is List and x.items and (x.items[0].__class__ is not Sym or _is_tree(x)):
                _push_tree(x, at, q)
            else:
                _push(x, at, q)
        elif is_state(x):
            base = None
            rows = _rows(x, at)
            for d, spec in rows:
                q.push_row(d, spec)
                base = q.open[-1] if base is None else base
            if any(_shared(spec.parms) for _, spec in rows):
                share(base, rows)
        else:
            pairs = pairs_of(x)
            if pairs is None:
                _push_tree(x, at, q)
            else:
                for d, v in pairs:
                    _push(v, d, q)
    except BaseException:
        if root is not None:
            q.undo()
        raise
    return q.root


def extend(root: Any, m: Any, depth: int | None = None) -> None:
    """Add a module that exists to the innermost open container of another, or at a depth."""
    q = Stack(root)
    if depth:
        q.to_depth(type_name(m), depth)
    q.put(m, type_of(m), False)


# ------------------------------------------------------------------ trees and pairs as q values


def seq_of(x: Value) -> Value:
    """All items but the first enlisted: `(`a;`b)` to `(`a;,`b)`. A container with its layers stays as it is, and one
    that stands in a list with layers is given the same form."""
    if x.__class__ is Sym:
        return x
    if (x.__class__ is Vec and x.t == T.S) or isinstance(x, List):
        items = x.items
        if not items:
            raise CallError("seq", "empty list", expected=UNSAID) if isinstance(x, List) else \
                QError("seq: expecting at least one module symbol, given  empty list")
        return List([items[0], *(_enlist(i) for i in items[1:])])
    raise CallError("seq", expecting=f"module symbol{'s' * (x.__class__ is Vec)}", given=kname(x))


def _enlist(x: Value) -> Value:
    if x.__class__ is Sym:
        return sym_vec([x.s])
    if isinstance(x, ModuleHandle):
        return List([x])
    if x.__class__ is not Vec and not isinstance(x, List):
        raise QError(f"seq: scalar expected to be a symbol, given a {kname(x)}")
    if _is_tree(x):
        return x
    return seq_of(x) if _defines_layers(x) else List([x])


def _defines_layers(x: Value) -> bool:
    """Is x the definition of a container in a list of its own, and then its layers, not enlisted yet?"""
    if x.__class__ is not List or len(x.items) < 2:
        return False
    entry = head_type(x.items[0])
    return entry is not None and "container" in entry.extra


def _is_tree(x: Value) -> bool:
    """Is x a container with its layers, as seq makes one, and not a type with its options?"""
    if x.__class__ is not List or len(x.items) < 2:
        return False
    head = x.items[0]
    names = seq_items(head) if is_list(head) else [head]
    entry = registry.find("module", names[0].s) if names and names[0].__class__ is Sym else None
    return entry is not None and "container" in entry.extra and all(_is_tree(i) or _is_layer(i) for i in x.items[1:])


def _is_layer(x: Value) -> bool:
    """Is x a symbol or a list, enlisted?"""
    if not is_list(x) or len(x) != 1:
        return False
    if x.__class__ is List:
        return is_list(x.items[0]) or isinstance(x.items[0], ModuleHandle)
    return x.__class__ is Vec and x.t == T.S


def pairs_from_tree(x: Value, depth: int = 0) -> list[Value]:
    """The (depth;value) pairs of a tree, depth first."""
    tree = x.__class__ is List and len(x.items) > 0
    head = x.items[0] if tree else x
    if head.__class__ is Vec and head.t == T.S and len(head) == 1:
        head = head.items[0]
    pairs: list[Value] = [List([depth, head])]
    for child in x.items[1:] if tree else ():
        pairs += pairs_from_tree(child, depth + 1)
    return pairs


def tree_from_pairs(x: Value) -> Value:
    """The tree of (depth;value) pairs."""
    pairs = pairs_of(x)
    if pairs is None:
        raise CallError("tree", expecting="depth,value pairs", given=kname(x))
    value, at = _subtree(pairs, 0, pairs[0][0])
    if at < len(pairs):
        raise QError(f"tree: pair[{at}] has depth {pairs[at][0]}, expecting a depth above {pairs[0][0]}")
    return value


def _subtree(found: list[tuple[int, Value]], at: int, depth: int) -> tuple[Value, int]:
    head, at = found[at][1], at + 1
    children = []
    while at < len(found) and found[at][0] > depth:
        if found[at][0] > depth + 1:
            raise QError(f"tree: pair[{at}] has depth {found[at][0]}, above max depth of {depth + 1}")
        child, at = _subtree(found, at, depth + 1)
        children.append(child)
    return (List([head, *children]) if children else enlist(head)), at
