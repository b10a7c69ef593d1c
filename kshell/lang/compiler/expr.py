"""The compiler's unit of work: a Python expression with what is known of its value and of its effects."""

from __future__ import annotations

import keyword

RESERVED = frozenset(keyword.kwlist) | {
    "__debug__"
}  # q names that Python does not take as they are
_NONE: frozenset[str] = frozenset()


class E:
    """A Python expression `s`.

    kind: 'j' a long (perhaps 0N or 0W), 'f' a float, 'b' a boolean atom, 'n' a float or many, as a quotient is, None
    unknown. exact: a long that is a Python int for certain. atomic: may be written twice at no cost. stable: its value
    cannot change any more. impure: has effects, or depends on those of others. glob: reads a global. deps: the locals
    that it reads. idle: need not be evaluated if nobody takes its value.
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
        """Is this a constant that Python cannot write: anything but a plain number?"""
        return self.s[:1] == "'"


class Loose:
    """Which expressions of a list are not evaluated yet, by what could change them: each is looked at once more only
    when it has to be."""

    __slots__ = ("globals", "impure", "readers")

    def __init__(self) -> None:
        self.impure: set[int] = set()
        self.globals: set[int] = set()
        self.readers: dict[str, set[int]] = {}

    def add(self, i: int, e: E) -> None:
        """Expression i, whose value can still change."""
        if e.impure:
            self.impure.add(i)
        if e.glob:
            self.globals.add(i)
        for name in e.deps:
            self.readers.setdefault(name, set()).add(i)

    def touched(self, effects: bool, assigned: list[str], glob: bool) -> list[int]:
        """Those that must be evaluated before an expression that has effects, assigns locals or reads a global; the
        last first. They are not loose any more."""
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


# the unary form of each glyph in k, by the name of q's keyword for it
K_UNARY = {
    "+:": "flip", "-:": "neg", "*:": "first", "%:": "reciprocal", "&:": "where", "|:": "reverse", "^:": "null",
    "=:": "group", "<:": "iasc", ">:": "idesc", "~:": "not", ",:": "enlist", "#:": "count", "_:": "floor",
    "$:": "string", "?:": "distinct", "@:": "type", ".:": "value", "!:": "key", "-": "neg", "::": "::",
}  # fmt: skip

# the helper that runs an iterator with so many arguments after the function
ITERATE = {
    ("'", 1): "_each1", ("'", 2): "_each2", ("/", 1): "_over1", ("/", 2): "_over2", ("\\", 1): "_scan1",
    ("\\", 2): "_scan2", ("':", 1): "_prior1", ("':", 2): "_prior2", ("/:", 2): "_right", ("\\:", 2): "_left",
}  # fmt: skip
