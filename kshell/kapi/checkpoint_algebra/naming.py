"""Names of tensors: prefixes that programs add, the renaming that fits a model, and trees with other names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from kshell.checkpoints.pickles.editing import like
from kshell.kapi.checkpoint_algebra.problems import problem
from kshell.kapi.checkpoint_algebra.sources import Named

# what wrappers put before the names of a module's tensors, or in them
PREFIXES = (
    "module.",
    "_orig_mod.",
    "_fsdp_wrapped_module.",
    "_forward_module.",
    "_checkpoint_wrapped_module.",
    "base_model.model.",
    "model.",
    "state_dict.",
    "transformer.",
)
_INSIDE = ("_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")
_DEEPEST = 3  # prefixes before a name

Sizes = Mapping[str, Sequence[int]]


def plain(name: str) -> str:
    """A name without what wrappers of its parts put inside."""
    for part in _INSIDE:
        name = name.replace("." + part, ".").removeprefix(part)
    return name


def _starts(names: Collection[str]) -> list[tuple[str, int]]:
    """Prefixes that names have, each with the least number of names that must fit by it: well-known ones, also several
    after one another, and the first parts of names, which must be right for more than one."""
    found = {""}
    level = {""}
    for _ in range(_DEEPEST):
        level = {
            start + prefix
            for start, prefix in product(level, PREFIXES)
            if any(name.startswith(start + prefix) for name in names)
        }
        found |= level
    firsts = {name.partition(".")[0] + "." for name in names if "." in name} - found
    least = min(2, len(names))
    starts = [(start, 1) for start in found] + [(start, least) for start in firsts]
    return sorted(starts, key=lambda start: (len(start[0]), start))


def fitting(wanted: Sizes, given: Sizes) -> dict[str, str]:
    """The renaming of the given tensors that fits the wanted ones best: given name -> wanted name.

    First prefixes are taken off and put on, so that as many as possible have a wanted name and its size; then each
    wanted tensor without one gets that which has its size and the longest common end of the name, counted in parts, if
    there is just one. Names that fit as they are are in it too.
    """
    best: dict[str, str] = {}
    for (take_off, m), (put_on, n) in product(_starts(given), _starts(wanted)):
        if take_off and take_off == put_on:
            continue
        found = dict(_moved(wanted, given, take_off, put_on))
        if len(found) > len(best) and len(found) >= max(m, n):
            best = found
    best |= _by_ends(
        {name: size for name, size in wanted.items() if name not in set(best.values())},
        {name: size for name, size in given.items() if name not in best},
    )
    return best


def _moved(wanted: Sizes, given: Sizes, take_off: str, put_on: str) -> Iterator[tuple[str, str]]:
    """The given names that fit a wanted one of the same size, with one prefix in place of another."""
    seen = set()
    for name, size in given.items():
        if name.startswith(take_off):
            new = put_on + plain(name.removeprefix(take_off))
            if new in wanted and new not in seen and tuple(wanted[new]) == tuple(size):
                seen.add(new)
                yield name, new


def _common(a: str, b: str) -> int:
    """The number of parts at the end of two names that are the same."""
    count = 0
    for x, y in zip(reversed(a.split(".")), reversed(b.split(".")), strict=False):
        if x != y:
            break
        count += 1
    return count


def _by_ends(wanted: Sizes, given: Sizes) -> dict[str, str]:
    """Given names for wanted ones, by size and the end of the name; only where both choose each other, alone."""
    by_size: dict[tuple[int, ...], list[str]] = {}
    for name, size in given.items():
        by_size.setdefault(tuple(size), []).append(name)
    chosen: dict[str, str] = {}
    for name, size in wanted.items():
        ends = Counter({other: _common(name, other) for other in by_size.get(tuple(size), ())})
        top = ends.most_common(2)
        if top and top[0][1] and (len(top) == 1 or top[1][1] < top[0][1]):
            chosen[name] = top[0][0]
    used = Counter(chosen.values())
    return {other: name for name, other in chosen.items() if used[other] == 1}


# ------------------------------------------------------------------ trees


def renamed(tree: Any, new: Mapping[str, str]) -> Any:
    """A tree with other names for tensors; the `Named` in it have the new names.

    A tensor stays in the dictionary in which it is if its new name begins with that dictionary's. Else, if the new name
    ends in the tensor's key there, what is before it names another dictionary, which is made if there is none; if not,
    the tensor goes to the outermost dictionary, under its whole name. Dictionaries that become empty are left out. An
    error of the call if there is no outermost dictionary.
    """
    moved: list[tuple[str, str]] = []
    tree = _renamed(tree, new, "", moved)
    for key, name in moved:
        if not isinstance(tree, dict):
            raise problem(f"{name} has no dictionary to which it could go")
        if name.endswith(f".{key}"):
            _place(tree, name.removesuffix(f".{key}"), key, Named(name))
        else:
            _add(tree, name, Named(name))
    return tree


def _add(tree: dict[Any, Any], key: Any, value: Any) -> None:
    if key in tree:
        raise problem(f"there is something with the name {key} already")
    tree[key] = value


def _place(tree: dict[Any, Any], parent: str, key: str, value: Named) -> None:
    """Put a tensor into the dictionary of a name in a tree."""
    for own, inner in tree.items():
        rest = parent.removeprefix(f"{own}")
        if isinstance(inner, dict) and parent.startswith(str(own)) and rest[:1] in ("", "."):
            if rest:
                _place(inner, rest[1:], key, value)
            else:
                _add(inner, key, value)
            return
    _add(tree, parent, {key: value})


def _renamed(tree: Any, new: Mapping[str, str], start: str, moved: list[tuple[str, str]]) -> Any:
    """The tree without the tensors that leave their dictionaries, which are added to `moved` with their keys there."""
    if isinstance(tree, list | tuple):
        items = [_renamed(item, new, f"{start}{i}.", moved) for i, item in enumerate(tree)]
        return type(tree)(items)
    if isinstance(tree, Named):
        return Named(new.get(tree.name, tree.name))
    if not isinstance(tree, dict):
        return tree
    result = like(tree, ())
    for key, value in tree.items():
        if not isinstance(value, Named):
            inner = _renamed(value, new, f"{start}{key}.", moved)
            if inner or not value or not isinstance(inner, dict):
                _add(result, key, inner)
            continue
        name = new.get(value.name, value.name)
        if name == value.name:
            _add(result, key, value)
        elif name.startswith(start):
            _add(result, name.removeprefix(start), Named(name))
        else:
            moved.append((str(key), name))
    return result


def without(tree: Any, is_dropped: Callable[[str], bool], start: str = "") -> Any:
    """A tree without the keys of dictionaries whose names, joined by dots, are dropped. Items of lists stay."""
    if isinstance(tree, dict):
        kept = [
            (key, without(value, is_dropped, f"{start}{key}."))
            for key, value in tree.items()
            if not is_dropped(f"{start}{key}")
        ]
        return like(tree, kept)
    if isinstance(tree, list | tuple):
        return type(tree)(
            [without(item, is_dropped, f"{start}{i}.") for i, item in enumerate(tree)]
        )
    return tree


def named_in(tree: Any) -> Iterator[str]:
    """The names of the tensors in a tree, in order."""
    if isinstance(tree, Named):
        yield tree.name
    elif isinstance(tree, dict | list | tuple):
        for value in tree.values() if isinstance(tree, dict) else tree:
            yield from named_in(value)
