"""Trees of values: the tensors in them under dotted names, and the files of a folder as one tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kshell.checkpoints.base.stored import Composite, Pieced, Stored, Strided
from kshell.checkpoints.pickles.machine import Global, Node
from kshell.checkpoints.pickles.meanings import Branch, Meanings
from kshell.errors import QError

SUFFIXES = (
    ".pt",
    ".pth",
    ".bin",
    ".ckpt",
    ".pkl",
    ".safetensors",
    ".tar",
    ".npz",
    ".npy",
    ".gguf",
    ".pt2",
)
FULL = "full"  # the key of tensors that are put together from the files of several processes
_MOST = 1_000_000  # values that are looked at
_DEEPEST = 500


# ------------------------------------------------------------------ objects of pickles


def fields_of(m: Meanings, node: Node) -> dict[Any, Any]:
    """What an object holds: its state, by attribute; what was put into it or added to it; its arguments if it has no
    state."""
    found: dict[Any, Any] = {}
    for state in _states(m, node):
        parts = m.of(state)
        for part in parts if parts.__class__ is tuple and len(parts) == 2 else (parts,):
            value = m.of(part)
            if isinstance(value, dict):
                found.update(value)
            elif part is not None or parts.__class__ is not tuple:
                found["state"] = part
    for key, value in node.pairs:
        found.setdefault(key if _is_key(key) else f"a {type(key).__name__}", value)
    if node.items:
        found["items"] = node.items
    if node.args.__class__ is not tuple:
        found["args"] = node.args
    elif node.args and not found:
        found["args"] = list(node.args)
    if node.kwargs:
        found["kwargs"] = node.kwargs
    return found


def _is_key(x: Any) -> bool:
    """Can it be a key of a dictionary? Python's class of the object may have taken any."""
    try:
        hash(x)
    except TypeError:
        return False
    return True


def _states(m: Meanings, node: Node) -> list[Any]:
    """The states of an object; that which a tensor of an unknown class was made with."""
    if (made := _made_of_class(node)) is not None:
        return [made[3]]
    if node.name == "torch._C.Generator" and (state := m.of(node.state)).__class__ is tuple:
        return [dict(zip(("seed", "offset", "state"), state, strict=False))]
    return node.states


def _made_of_class(node: Node) -> tuple[Any, ...] | None:
    """What a tensor of an unknown class is made of: a function, the class, arguments and a state. None for others."""
    is_one = node.name in (
        "torch._tensor._rebuild_from_type_v2",
        "torch._tensor._rebuild_from_type",
    )
    args = node.args
    return args if is_one and args.__class__ is tuple and len(args) == 4 else None


def class_of(node: Node) -> str:
    """The name of the class or function of which an object is."""
    made = _made_of_class(node)
    if made is not None:
        return made[1].known if made[1].__class__ is Global else ""
    if node.name == "copyreg._reconstructor" and node.args.__class__ is tuple:
        cls = next(iter(node.args), None)
        return cls.known if cls.__class__ is Global else node.name
    return node.name


def is_module(m: Meanings, node: Node) -> bool:
    """Is an object a module of PyTorch, by what it holds?"""
    state = m.of(node.state)
    return isinstance(state, dict) and {"_parameters", "_buffers", "_modules"} <= {*state}


def module_tensors(
    m: Meanings, node: Node, prefix: str = "", depth: int = 0
) -> Iterator[tuple[str, Stored]]:
    """The state_dict of a module: its parameters, its buffers that are saved, then its children's."""
    if depth > 200:
        raise QError("ckpt: a module is nested too deep")
    state = m.of(node.state)
    left_out = _left_out(m, state)
    for field in ("_parameters", "_buffers"):
        for name, part in _entries(m, state[field]):
            tensor = m.of(part)
            if isinstance(tensor, Stored) and not (field == "_buffers" and name in left_out):
                yield f"{prefix}{name}", tensor
    for name, part in _entries(m, state["_modules"]):
        child = m.of(part)
        if child.__class__ is Node and is_module(m, child):
            yield from module_tensors(m, child, f"{prefix}{name}.", depth + 1)


def _left_out(m: Meanings, state: dict[Any, Any]) -> set[str]:
    """The names of buffers that a module's state_dict has not."""
    names = m.of(state.get("_non_persistent_buffers_set"))
    return set(map(str, names)) if isinstance(names, list | set | tuple) else set()


def _entries(m: Meanings, x: Any) -> list[tuple[Any, Any]]:
    value = m.of(x)
    return list(value.items()) if isinstance(value, dict) else []


# ------------------------------------------------------------------ trees


Settled = Callable[[Meanings, Node], Any]  # what an object is, if it is to be a leaf; else None


def tensors_of(tree: Any, settled: Settled | None = None) -> dict[str, Stored]:
    """The tensors in a tree, under dotted names: also those in modules and other objects."""
    if tree.__class__ is dict and all(map(_PLAIN.__contains__, map(type, tree.values()))):
        return {str(name): tensor for name, tensor in tree.items()}
    return {name: leaf for name, leaf in leaves_of(tree, settled) if isinstance(leaf, Stored)}


_PLAIN = {Strided, Pieced}  # tensors in which there are no others


def leaves_of(
    tree: Any, settled: Settled | None = None, most: int = _MOST
) -> Iterator[tuple[str, Any]]:
    """The values in a tree that hold no others, under dotted names, in order. Objects are looked into once. 'limit if
    there are more than so many, or they are nested too deep."""
    waiting: list[tuple[str, int, Meanings | None, Any]] = [("", 0, None, tree)]
    seen: set[int] = set()
    for _ in range(most):
        if not waiting:
            return
        name, depth, m, x = waiting.pop()
        if isinstance(x, Branch):
            m, x = x
        value = m.of(x) if m is not None else x
        if settled is not None and m is not None and value.__class__ is Node:
            value = settled(m, value) or value
        inner = _inner(m, value, seen)
        if inner is None:
            yield name, value
            if isinstance(value, Stored) and value.scheme.startswith("per_"):  # torch's own
                yield from ((f"{name}.{key}", part) for key, part in value.options.items())
        elif depth > _DEEPEST:
            break
        else:
            waiting += [
                (f"{name}.{key}" if name else str(key), depth + 1, m, part)
                for key, part in reversed(inner)
            ]
    raise QError("limit")


def _inner(m: Meanings | None, value: Any, seen: set[int]) -> list[tuple[Any, Any]] | None:
    """The parts of a value, by key; None if it has none."""
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, list | tuple):
        return list(enumerate(value))
    if isinstance(value, Composite) and value.parts:
        return list(value.parts.items())
    if value.__class__ is not Node or m is None:
        return None
    if id(value) in seen:
        return []
    seen.add(id(value))
    return list(attributes_of(m, value).items())


def attributes_of(m: Meanings, node: Node) -> dict[Any, Any]:
    """What an object shows: its fields. A module shows its parameters, its buffers and its children by their names, as
    its state_dict does, then its other attributes."""
    fields = fields_of(m, node)
    if not is_module(m, node):
        return fields
    inner = ("_parameters", "_buffers", "_modules")
    left_out = _left_out(m, fields)
    found = {
        name: part
        for field in inner
        for name, part in _entries(m, fields[field])
        if part is not None and not (field == "_buffers" and name in left_out)
    }
    return found | {
        key: part for key, part in fields.items() if str(key)[:1] != "_" and key not in found
    }


def by_name(tree: Any) -> dict[str, Any]:
    """The entries of a file that holds tensors by name. QError if it holds something else."""
    m, value = tree if isinstance(tree, Branch) else (None, tree)
    value = m.of(value) if m is not None else value
    if not isinstance(value, dict):
        raise QError("ckpt: a file of weights holds no dictionary")
    return {str(key): part if m is None else _settled(m, part) for key, part in value.items()}


def _settled(m: Meanings, part: Any) -> Any:
    """A part that can be told without the meanings of its file."""
    value = m.of(part)
    return value if isinstance(value, Stored) else Branch(m, part)


# ------------------------------------------------------------------ the files of several processes


_FLAT = "_flat_param"  # of FSDP's own form, in which other tensors are parts too, and do not say of what


def joined(files: dict[str, Any]) -> dict[str, Any]:
    """The files of a folder, by name; before them the tensors that are put together from parts in several files, and
    those that each of these files has whole, as buffers, of which the first one's are taken."""
    by_file = [tensors_of(tree) for tree in files.values()]
    names = [{name for name, tensor in found.items() if _is_part(tensor)} for found in by_file]
    parts: dict[str, list[Stored]] = {}
    for found, parted in zip(by_file, names, strict=True):
        for name, tensor in found.items() if parted else ():
            parts.setdefault(name, []).append(tensor)
    whole: dict[str, Stored] = {}
    for found, parted in zip(by_file, names, strict=True):
        fellows = sum(not parted.isdisjoint(others) for others in names)
        is_flat = any(name.rsplit(".", 1)[-1] == _FLAT for name in parted)
        for name in found if parted else ():
            if name not in whole and all(map(_is_part, parts[name])):
                whole[name] = _whole(name, parts[name])
            elif name not in whole and not is_flat and _is_alike(parts[name], fellows):
                whole[name] = parts[name][0]
    return ({FULL: whole} if whole else {}) | files


def _is_part(tensor: Stored) -> bool:
    return "whole" in tensor.options


def _is_alike(copies: list[Stored], wanted: int) -> bool:
    """Are these as many tensors of one type and size?"""
    kinds = {(copy.dtype, copy.shape) for copy in copies}
    return len(copies) == wanted and len(kinds) == 1


def _whole(name: str, pieces: list[Stored]) -> Stored:
    shape = pieces[0].options["whole"]
    if any(piece.options["whole"] != shape for piece in pieces):
        raise ValueError(f"{name} has parts of tensors of different sizes")
    placed = [(piece.options["offsets"], piece) for piece in pieces if piece.count]
    return Pieced(pieces[0].dtype, shape, placed, f"a part of {name} is missing")


def names_in(tree: Any) -> list[Global]:
    """The names of classes and functions in the pickles of a tree."""
    found: dict[int, Global] = {}
    for branch in branches_of(tree):
        document = branch.meanings.document
        for known in document.machine.globals.values() if document is not None else ():
            found[id(known)] = known
    return list(found.values())


def branches_of(tree: Any) -> Iterator[Branch]:
    """The objects of pickles in a tree of files."""
    if isinstance(tree, Branch):
        yield tree
    elif isinstance(tree, dict):
        for part in tree.values():
            yield from branches_of(part)
