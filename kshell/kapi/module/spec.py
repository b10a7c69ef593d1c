"""Module specifications: trees, (depth;value) pairs, definition and state tables and dictionaries.

A tree is a list whose first item defines a module and whose other items are the trees of its children; pairs give each
definition with its depth; a table has one row per module. All three become pushes on a stack of open containers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kshell import registry
from kshell.errors import UNSAID, CallError, QError
from kshell.kapi.base.args import named_values
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handles import ModuleHandle
from kshell.kapi.module.describe import type_name, type_of
from kshell.kapi.module.options import module_record
from kshell.kapi.module.stack import (
    Spec,
    Stack,
    head_type,
    shared_of,
    spec_of,
    spec_row,
    tensors_of,
)
from kshell.values.base import types as T
from kshell.values.base.build import enlist
from kshell.values.base.core import (
    Dict,
    List,
    Table,
    Value,
    Vec,
    is_list,
    seq_items,
    sym_names,
    sym_vec,
)
from kshell.values.base.symbols import Sym

if TYPE_CHECKING:
    from torch.nn import Module


def _paths(rows: Sequence[tuple[int, Spec]]) -> Iterator[tuple[str, Spec]]:
    """The definitions in a state, each with its dotted name inside the first."""
    first = rows[0][0] if rows else 0
    path: list[str] = []
    for depth, spec in rows:
        path[max(depth - first - 1, 0) :] = [spec.name] if depth > first else []
        yield ".".join(path), spec


def share(base: Module, rows: Sequence[tuple[int, Spec]]) -> None:
    """Restore the parameter sharing recorded in a state."""
    modules = dict(base.named_modules(remove_duplicate=False))
    for path, spec in _paths(rows):
        for key, name in shared_of(spec.parms).items():
            owner, _, last = name.rpartition(".")
            parameter = modules[owner]._parameters.get(last) if owner in modules else None
            if parameter is None:
                raise QError(f"{spec.kind}: no parameter `{name} to share as {key}")
            modules[path].register_parameter(key, parameter)


def state_dict(x: Value) -> dict[str, Any]:
    """The parameters and buffers of a state by dotted name."""
    tensors: dict[str, Any] = {}
    for path, spec in _paths(_rows(x, 0)):
        for key, value in (tensors_of(spec.parms) | tensors_of(spec.buffers)).items():
            tensors[f"{path}.{key}" if path else key] = value
        for key, name in shared_of(spec.parms).items():
            tensors[f"{path}.{key}" if path else key] = tensors.get(name)
    return tensors


# ------------------------------------------------------------------ specifications


def pairs_of(x: Value) -> list[tuple[int, Value]] | None:
    """The (depth, definition) pairs of a list of two-item lists, or of one pair; None if x is neither."""
    if x.__class__ is not List or not x.items:
        return None
    single = _pair(x)
    if single is not None:
        return [single]
    pairs = [pair for item in x.items if (pair := _pair(item)) is not None]
    return pairs if len(pairs) == len(x.items) else None


def _pair(x: Value) -> tuple[int, Value] | None:
    if x.__class__ is List and len(x.items) == 2 and x.items[0].__class__ is int:
        return x.items[0], x.items[1]
    return None


def is_state(x: Value) -> bool:
    """Is x a state or definition: a table or dictionary with a module column?"""
    if x.__class__ is Table:
        return "module" in x.names
    return (
        x.__class__ is Dict and x.k.__class__ is Vec and x.k.t == T.S and "module" in sym_names(x.k)
    )


def _rows(x: Value, first: int) -> list[tuple[int, Spec]]:
    """The definitions in a state with their depths; by default 0 for the first and 1 for the others."""
    rows = []
    for position, item in enumerate([x] if x.__class__ is Dict else seq_items(x)):
        if item.__class__ is not Dict:
            raise QError("type")
        depth = named_values(item).get("depth", 1 if position else first)
        if depth.__class__ is not int:
            raise CallError("module", expected="long depth", given=kname(depth))
        rows.append((depth, spec_row(item, position)))
    return rows


def _head(x: Value) -> Value:
    """The root of a tree: the first item of a list; a symbol or symbol list is its own root."""
    return x if x.__class__ is not List or not x.items else x.items[0]


def is_single(x: Value) -> bool:
    """Is a list a single definition rather than a tree: does it start with a type that has no children?"""
    if x.__class__ is not List or len(x.items) < 2 or x.items[0].__class__ is not Sym:
        return False
    entry = registry.find("module", x.items[0].s)
    return entry is not None and not module_record(entry).container


def _push(x: Value, depth: int, q: Stack) -> None:
    """Put the module for a definition, or an existing module (possibly part of others too), at a depth."""
    if isinstance(x, ModuleHandle):
        module = x.get()
        q.to_depth(type_name(module), depth)
        q.put(module, type_of(module), False)
    else:
        q.push(depth, spec_of(x))


def _push_tree(x: Value, depth: int, q: Stack) -> None:
    if is_single(x):
        _push(x, depth, q)
        return
    first = _head(x)
    if isinstance(first, ModuleHandle) and x.__class__ is List and len(x.items) > 1:
        raise QError(
            f"{type_name(first.get())}: an existing module cannot be given layers in a specification; "
            "add one with module(ptr;spec)"
        )
    _push(first, depth, q)
    if x.__class__ is List:
        for child in x.items[1:]:
            _push_tree(child, depth + 1, q)


def define(x: Value, root: Module | None = None, depth: int | None = None) -> Any:
    """The module for a specification; with `root`, that module extended in place by a definition or a tree, optionally
    at a depth."""
    stack = Stack(root)
    start = depth or len(stack.open)
    try:
        if depth is not None:
            if x.__class__ is List and x.items and (x.items[0].__class__ is not Sym or _is_tree(x)):
                _push_tree(x, start, stack)
            else:
                _push(x, start, stack)
        elif is_state(x):
            base = None
            rows = _rows(x, start)
            for level, spec in rows:
                stack.push_row(level, spec)
                base = stack.open[-1] if base is None else base
            if base is not None and any(shared_of(spec.parms) for _, spec in rows):
                share(base, rows)
        else:
            pairs = pairs_of(x)
            if pairs is None:
                _push_tree(x, start, stack)
            else:
                for level, item in pairs:
                    _push(item, level, stack)
    except BaseException:
        if root is not None:
            stack.undo()
        raise
    return stack.root


def extend(root: Module, m: Module, depth: int | None = None) -> None:
    """Add an existing module to the innermost open container of another, or at a depth."""
    stack = Stack(root)
    if depth:
        stack.to_depth(type_name(m), depth)
    stack.put(m, type_of(m), False)


# ------------------------------------------------------------------ trees and pairs as q values


def seq_of(x: Value) -> Value:
    """All items but the first enlisted: `(`a;`b)` becomes `(`a;,`b)`. A container with its layers is unchanged; one in
    a list with its layers is converted likewise."""
    if x.__class__ is Sym:
        return x
    if (x.__class__ is Vec and x.t == T.S) or isinstance(x, List):
        items = x.items
        if not items:
            raise (
                CallError("seq", "empty list", expected=UNSAID)
                if isinstance(x, List)
                else QError("seq: expecting at least one module symbol, given  empty list")
            )
        return List([items[0], *(_enlist(item) for item in items[1:])])
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
    """Is x a container definition in a list by itself, followed by its layers, not enlisted yet?"""
    if x.__class__ is not List or len(x.items) < 2:
        return False
    entry = head_type(x.items[0])
    return entry is not None and module_record(entry).container


def _is_tree(x: Value) -> bool:
    """Is x a container with its layers, as made by seq, rather than a type with its options?"""
    if x.__class__ is not List or len(x.items) < 2:
        return False
    first = x.items[0]
    names = seq_items(first) if is_list(first) else [first]
    entry = registry.find("module", names[0].s) if names and names[0].__class__ is Sym else None
    return (
        entry is not None
        and module_record(entry).container
        and all(_is_tree(item) or _is_layer(item) for item in x.items[1:])
    )


def _is_layer(x: Value) -> bool:
    """Is x an enlisted symbol or list?"""
    if not is_list(x) or len(x) != 1:
        return False
    if x.__class__ is List:
        return is_list(x.items[0]) or isinstance(x.items[0], ModuleHandle)
    return x.__class__ is Vec and x.t == T.S


def pairs_from_tree(x: Value, depth: int = 0) -> list[Value]:
    """The (depth;value) pairs for a tree, depth first."""
    tree = x.items if x.__class__ is List else []
    first = tree[0] if tree else x
    if first.__class__ is Vec and first.t == T.S and len(first) == 1:
        first = first.items[0]
    pairs: list[Value] = [List([depth, first])]
    for child in tree[1:]:
        pairs += pairs_from_tree(child, depth + 1)
    return pairs


def tree_from_pairs(x: Value) -> Value:
    """The tree for (depth;value) pairs."""
    pairs = pairs_of(x)
    if pairs is None:
        raise CallError("tree", expecting="depth,value pairs", given=kname(x))
    value, position = _subtree(pairs, 0, pairs[0][0])
    if position < len(pairs):
        raise QError(
            f"tree: pair[{position}] has depth {pairs[position][0]}, expecting a depth above {pairs[0][0]}"
        )
    return value


def _subtree(found: list[tuple[int, Value]], at: int, depth: int) -> tuple[Value, int]:
    first, at = found[at][1], at + 1
    children = []
    while at < len(found) and found[at][0] > depth:
        if found[at][0] > depth + 1:
            raise QError(
                f"tree: pair[{at}] has depth {found[at][0]}, above max depth of {depth + 1}"
            )
        child, at = _subtree(found, at, depth + 1)
        children.append(child)
    return (List([first, *children]) if children else enlist(first)), at
