"""The compiler's unit of work: a Python expression with what is known about its value and side effects."""

from __future__ import annotations

import keyword
import re

RESERVED = frozenset(keyword.kwlist) | {"__debug__"}  # q names that are reserved in Python
_NONE: frozenset[str] = frozenset()
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def is_plain(name: str) -> bool:
    """Can a q name be used as a Python name? A parse tree may have any symbol as a name: one that is no identifier
    would be Python code, and one with a leading underscore one of the compiler's helpers."""
    return _NAME.fullmatch(name) is not None and name not in RESERVED


class E:
    """A Python expression `s`.

    kind: 'j' a long (possibly 0N or 0W), 'f' a float, 'b' a boolean atom, 'n' a float or several, such as a quotient,
    None unknown. exact: a long that is certainly a Python int. atomic: can be written twice at no cost. stable: its
    value can no longer change. impure: has side effects, or depends on those of others. glob: reads a global. deps: the
    locals that it reads. idle: need not be evaluated if its value is unused.
    """

    __slots__ = ("atomic", "deps", "exact", "glob", "idle", "impure", "kind", "s", "stable")

    def __init__(
        self,
        s: str,
        kind: str | None,
        atomic: bool = False,
        stable: bool = False,
        impure: bool = False,
        glob: bool = False,
        deps: frozenset[str] = _NONE,
        exact: bool = False,
        idle: bool = False,
    ) -> None:
        self.s, self.kind, self.atomic, self.stable = s, kind, atomic, stable
        self.impure, self.glob, self.deps, self.exact, self.idle = impure, glob, deps, exact, idle

    @property
    def held(self) -> bool:
        """Is this a constant without a Python literal: anything but a plain number?"""
        return self.s[:1] == "'"


class Loose:
    """Which expressions in a list are not evaluated yet, indexed by what could change them, so that each is only
    examined when necessary."""

    __slots__ = ("globals", "impure", "readers")

    def __init__(self) -> None:
        self.impure: set[int] = set()
        self.globals: set[int] = set()
        self.readers: dict[str, set[int]] = {}

    def add(self, i: int, e: E) -> None:
        """Add expression i, whose value can still change."""
        if e.impure:
            self.impure.add(i)
        if e.glob:
            self.globals.add(i)
        for name in e.deps:
            self.readers.setdefault(name, set()).add(i)

    def touched(self, effects: bool, assigned: list[str], glob: bool) -> list[int]:
        """The expressions that must be evaluated before one that has side effects, assigns locals or reads a global,
        last one first. They are then no longer loose."""
        affected = self.impure | self.globals if effects else set(self.impure) if glob else set()
        for name in assigned:
            affected |= self.readers.pop(name, set())
        if not affected:
            return []
        self.impure -= affected
        self.globals -= affected
        for readers in self.readers.values():
            readers -= affected
        return sorted(affected, reverse=True)


# the helpers that apply any value to one argument and to two; `_ap` takes any number
APPLY_HELPERS = {1: "_ap1", 2: "_ap2"}
# each glyph's unary form in k, as the q keyword for it
K_UNARY = {
    "+:": "flip", "-:": "neg", "*:": "first", "%:": "reciprocal", "&:": "where", "|:": "reverse", "^:": "null",
    "=:": "group", "<:": "iasc", ">:": "idesc", "~:": "not", ",:": "enlist", "#:": "count", "_:": "floor",
    "$:": "string", "?:": "distinct", "@:": "type", ".:": "value", "!:": "key", "-": "neg", "::": "::",
}  # fmt: skip

# the helper that runs an iterator, by number of arguments after the function
ITERATE = {
    ("'", 1): "_each1", ("'", 2): "_each2", ("/", 1): "_over1", ("/", 2): "_over2", ("\\", 1): "_scan1",
    ("\\", 2): "_scan2", ("':", 1): "_prior1", ("':", 2): "_prior2", ("/:", 2): "_right", ("\\:", 2): "_left",
}  # fmt: skip
