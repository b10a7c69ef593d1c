"""Module specifications: trees, (depth;value) pairs, definition and state tables and dictionaries.

A tree is a list whose first item defines a module and whose other items are the trees of its children; pairs give each
definition with its depth; a table has a row a module. All three become pushes on a stack of open containers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kshell import registry
from kshell.errors import QError
from kshell.kapi.call import torch
from kshell.kapi.convert import dtype_name, kname, to_tensor
from kshell.kapi.moduleargs import live_values
from kshell.kapi.moduledef import is_container, label, name_of_module, set_name, type_name, type_of
from kshell.kapi.modulemake import build, entry_of
from kshell.registry import Entry
from kshell.values import types as T
from kshell.values.build import enlist, sym_vec
from kshell.values.core import Dict, List, Sym, Table, Value, Vec, seq_items

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
            raise QError("module: empty symbol list")
    elif x.__class__ is List:
        if not x.items:
            raise QError("module: empty list")
        if x.items[0].__class__ is not Sym:
            raise QError(f"module: no symbol found, given {kname(x)}")
    else:
        raise QError(f"module: unrecognized arg(s), {kname(x)}")
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
    m = build(entry, spec.args, spec.before)
    set_name(m, spec.name)
    if spec.parms is not None or spec.buffers is not None:
        put_state(m, spec)
    return m


# ------------------------------------------------------------------ parameters and buffers from a state


def put_state(m: Any, spec: Spec, where: str = "") -> None:
    """Set a module's own parameters and buffers from the dictionaries of a state."""
    if spec.kind == "parmdict":
        for k, t in _tensors(spec.parms).items():
            m[k] = torch.nn.Parameter(t, requires_grad=t.is_floating_point())
        return
    if spec.kind == "callback":  # what its state has is what it gets
        for k, t in _tensors(spec.parms).items():
            m.register_parameter(k, torch.nn.Parameter(t, requires_grad=t.is_floating_point()))
        for k, t in _tensors(spec.buffers).items():
            m.register_buffer(k, t)
        return
    name = where or spec.kind
    values = [t for x in (spec.parms, spec.buffers) if x is not None for t in _tensors(x).values()]
    if any(map(_is_float, values)) and all(t.dtype == torch.float64 for t in values if _is_float(t)):
        m.double()  # the state of a double module, not of a float one with doubles in it
    with torch.no_grad():
        for kind, given, own in (("parameter", spec.parms, m.named_parameters(recurse=False)),
                                 ("buffer", spec.buffers, m.named_buffers(recurse=False))):
            if given is not None:
                _copy_in(spec.kind, name, kind, _tensors(given), dict(own))


def _is_float(t: Any) -> bool:
    return bool(t.is_floating_point())


def _tensors(x: Value) -> dict[str, Any]:
    if x is None or not len(x):
        return {}
    return {k.s: to_tensor(v) for k, v in zip(seq_items(x.k), seq_items(x.v), strict=True)}


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

    `root` extends a module in place; what was added to it is taken out again if a later push fails.
    """

    def __init__(self, root: Any = None) -> None:
        self.open: list[Any] = []
        self.added: list[tuple[Any, str]] = []
        self.implicit = 0  # how many rows named children that a module made itself
        if root is not None:
            self._enter(root, 0)
            if not self.open:
                self.open.append(root)

    def _enter(self, m: Any, depth: int) -> None:
        del self.open[depth:]
        if is_container(m):
            self.open.append(m)
            for child in m.children():
                self._enter(child, depth + 1)

    @property
    def root(self) -> Any:
        if not self.open:
            raise QError("empty module stack -- cannot get originating module")
        return self.open[0]

    def to_depth(self, kind: str, depth: int) -> None:
        """Close the containers below a depth, which must be reachable."""
        n = len(self.open)
        if depth < (1 if n else 0):
            raise QError(f"{kind}: depth {depth} below min depth of {1 if n else 0}")
        if depth > n:
            raise QError(f"{kind}: depth {depth} above max depth of {n}")
        del self.open[depth:]

    def push(self, depth: int, spec: Spec) -> Any:
        """Make the module of a definition and put it at a depth."""
        entry = entry_of(spec.kind)
        self.to_depth(spec.kind, depth)
        if "container" in entry.extra and spec.kind != "callback" and spec.buffers is not None and len(spec.buffers):
            raise QError(f"{spec.kind}: no buffers expected")
        m = _create(spec)
        self.put(m, entry)
        return m

    def put(self, m: Any, entry: Entry | None) -> None:
        """Add a module to the innermost open container; a container is open from then on."""
        if self.open:
            self.added.append((self.open[-1], add_child(self.open[-1], m)))
        if not self.open or (entry is not None and "container" in entry.extra):
            self.open.append(m)

    def push_row(self, depth: int, spec: Spec) -> None:
        """As push; but a row below a module that makes its own children sets the state of one of those."""
        parent = self._maker()
        if parent is not None and depth > (len(self.open) if is_container(self.open[-1]) else 0):
            find_implicit(parent, self.implicit, spec)
            self.implicit += 1
            return
        self.implicit = 0
        self.push(depth, spec)

    def _maker(self) -> Any:
        if not self.open:
            return None
        top = self.open[-1]
        last = next(reversed(list(top.children())), None) if is_container(top) else top
        if last is None or is_container(last) or next(last.children(), None) is None:
            return None
        return last

    def undo(self) -> None:
        """Take out what was added."""
        for parent, name in reversed(self.added):
            parent._modules.pop(name, None)


def find_implicit(parent: Any, at: int, spec: Spec) -> None:
    """Set the state of the child number `at` that a module made itself, after checking that it is the one meant."""
    if not spec.name:
        raise QError(f"attempting to find {spec.kind} layer in {label(parent)}, but no name given")
    found = list(parent.named_modules())[1:]
    if at >= len(found):
        raise QError(f"unable to find {spec.kind}({spec.name}) in parent {label(parent)}")
    path, m = found[at]
    if not path.endswith(spec.name):
        raise QError(f"child module mismatch: {path} does not end with expected suffix '{spec.name}'")
    if not is_container(m):
        # the options are compared by making the module that the row describes
        other = build(entry_of(spec.kind), spec.args, 0)
        if type_name(m) != spec.kind or not same_options(m, other):
            raise QError(f"child module {path} mismatch with given options")
    put_state(m, spec, path)


def same_options(a: Any, b: Any) -> bool:
    """Do two modules have the same type and options?"""
    one, two = type_of(a), type_of(b)
    if one is None or one is not two:
        return False
    x, y = live_values(one, a), live_values(one, b)
    return all(_plain(x[k]) == _plain(y[k]) for k in x)


def _plain(v: Any) -> Any:
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


def add_child(parent: Any, child: Any) -> str:
    """Put a module into a container under its own name or the next number; gives the name."""
    adder = getattr(parent, "kshell_add", None)  # classes of kshell.nn with rules of their own
    if adder is not None:
        return _grown(adder, child)
    mine, entry = type_of(child), type_of(parent)
    if entry is None or "container" not in entry.extra or entry.name == "parmdict":
        raise QError(f"unable to add a {label(child)} module as a child of a {label(parent)} module")
    if entry.extra.get("children") != "any" and mine is not None:
        if mine.name == "sequential":
            raise QError("sequential: unable to create type-erased module, forward method uses template")
        if mine.extra.get("result", "tensor") == "":
            raise QError(f"{mine.name}: unable to create type-erased module, no forward method defined")
    name = name_of_module(child) or str(len(parent._modules))
    if "." in name:
        raise QError(f"{entry.name}: child name `{name} must not contain a dot")
    if name in parent._modules:
        raise QError(f"{entry.name}: a module named `{name} is already defined")
    if any(child is m for m in parent.modules()) or any(parent is m for m in child.modules()):
        raise QError(f"{entry.name}: the module is part of it already")
    parent._modules[name] = child
    return name


# ------------------------------------------------------------------ specifications


def pairs_of(x: Value) -> list[tuple[int, Value]] | None:
    """The (depth, definition) pairs of a list of two-item lists, or of one pair; None if x is neither."""
    if x.__class__ is not List or not x.items:
        return None
    one = _pair(x)
    if one is not None:
        return [one]
    found = [_pair(i) for i in x.items]
    return None if any(p is None for p in found) else found  # type: ignore[return-value]


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
        raise QError(f"module: expected symbol for module type, given {kname(kind)}")
    args = [] if options is None or not len(options) else [options]
    return Spec(kind.s, name.s if name.__class__ is Sym else "", args, 0,
                row.get("parms"), row.get("buffers"))


def _rows(x: Value) -> list[tuple[int, Spec]]:
    out = []
    for k, d in enumerate([x] if x.__class__ is Dict else x.items):
        depth = next((v for n, v in zip(seq_items(d.k), seq_items(d.v), strict=True) if n.s == "depth"), min(k, 1))
        if depth.__class__ is not int:
            raise QError(f"module: expected long depth, given {kname(depth)}")
        out.append((depth, spec_row(d, k)))
    return out


def _head(x: Value) -> Value:
    """What a tree's root is: the first item of a list; a symbol or symbol list is a root by itself."""
    return x if x.__class__ is not List or not x.items else x.items[0]


def is_single(x: Value) -> bool:
    """Is a list one definition, not a tree: does it start with a type that has no children?"""
    if x.__class__ is not List or len(x.items) < 2 or x.items[0].__class__ is not Sym:
        return False
    entry = registry.find("module", x.items[0].s)
    return entry is not None and "container" not in entry.extra


def _push_tree(x: Value, depth: int, q: Stack) -> None:
    if is_single(x):
        q.push(depth, spec_of(x))
        return
    q.push(depth, spec_of(_head(x)))
    if x.__class__ is List:
        for child in x.items[1:]:
            _push_tree(child, depth + 1, q)


def define(x: Value, root: Any = None, depth: int | None = None) -> Any:
    """The module of a specification; with `root` that module extended in place, at a depth if one is given."""
    q = Stack(root)
    at = depth or len(q.open)
    try:
        if depth is not None:
            q.push(at, spec_of(x))
        elif is_state(x):
            for d, spec in _rows(x):
                q.push_row(d, spec)
        else:
            found = pairs_of(x)
            if found is None:
                _push_tree(x, at, q)
            else:
                for d, v in found:
                    q.push(d, spec_of(v))
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
    q.put(m, type_of(m))


# ------------------------------------------------------------------ trees and pairs as q values


def seq_of(x: Value) -> Value:
    """All items but the first enlisted: `(`a;`b)` to `(`a;,`b)`."""
    if x.__class__ is Sym:
        return x
    if (x.__class__ is Vec and x.t == T.S) or isinstance(x, List):
        found = x.items
        if not found:
            raise QError("seq: empty list" if isinstance(x, List) else
                         "seq: expecting at least one module symbol, given  empty list")
        return List([found[0], *(_enlist(i) for i in found[1:])])
    raise QError(f"seq: expecting module symbol{'s' * (x.__class__ is Vec)}, given {kname(x)}")


def _enlist(x: Value) -> Value:
    if x.__class__ is Sym:
        return sym_vec([x.s])
    if x.__class__ is not Vec and not isinstance(x, List):
        raise QError(f"seq: scalar expected to be a symbol, given a {kname(x)}")
    return List([x])


def pairs_from_tree(x: Value, depth: int = 0) -> list[Value]:
    """The (depth;value) pairs of a tree, depth first."""
    if x.__class__ is List and x.items:
        out = [List([depth, x.items[0]])]
        for child in x.items[1:]:
            out += pairs_from_tree(child, depth + 1)
        return out
    value = x.items[0] if x.__class__ is Vec and x.t == T.S and len(x) == 1 else x
    return [List([depth, value])]


def tree_from_pairs(x: Value) -> Value:
    """The tree of (depth;value) pairs."""
    found = pairs_of(x)
    if found is None:
        raise QError(f"tree: expecting depth,value pairs, given {kname(x)}")
    value, at = _subtree(found, 0, found[0][0])
    if at < len(found):
        raise QError(f"tree: pair[{at}] has depth {found[at][0]}, expecting a depth above {found[0][0]}")
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
