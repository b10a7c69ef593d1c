"""Choosing tensors of a checkpoint by names and patterns of `like`, as q values give them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kshell.errors import UNSAID, CallError
from kshell.kapi.base.convert import kname
from kshell.kapi.checkpoint_algebra.patterns import is_like
from kshell.values.base import types as T
from kshell.values.base.core import List, Value, Vec, atom_t, seq_items, sym_names, text_of
from kshell.values.base.symbols import Sym


def texts_of(x: Value) -> list[str] | None:
    """The texts of a symbol, a string, or a list of such; None for others."""
    if x.__class__ is Sym or (x.__class__ is Vec and x.t == T.C) or atom_t(x) == T.C:
        return [text_of(x)]
    if x.__class__ is Vec and x.t == T.S:
        return sym_names(x)
    if isinstance(x, List):
        texts = [texts_of(item) for item in seq_items(x)]
        if all(text is not None and len(text) == 1 for text in texts):
            return [text[0] for text in texts if text is not None]
    return None


def patterns_of(call: str, x: Value, at: str = "names") -> list[str]:
    """The patterns of `like` in a symbol, a string, or a list of such."""
    patterns = texts_of(x)
    if not patterns:
        raise CallError(call, at=at, expected="names or patterns of like", given=kname(x))
    return patterns


def matching(patterns: Iterable[str], name: str) -> list[str]:
    """The patterns that a name is equal to or matches."""
    return [pattern for pattern in patterns if name == pattern or is_like(pattern, name)]


def nothing_like(call: str, pattern: str, what: str = "no tensor has") -> CallError:
    """The error for a pattern that matches nothing."""
    return CallError(call, f"{what} a name like {pattern}", says=(pattern,), expected=UNSAID)


def chosen(call: str, names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """The names that match one of the patterns; an error if one matches none."""
    by_name = {name: matching(patterns, name) for name in names}
    used = {pattern for found in by_name.values() for pattern in found}
    for pattern in patterns:
        if pattern not in used:
            raise nothing_like(call, pattern)
    return [name for name, found in by_name.items() if found]
