"""The compiler's unit of work: a Python expression with what is known of its value and of its effects."""

from __future__ import annotations

from types import SimpleNamespace

_NONE: frozenset[str] = frozenset()


class E:
    """A Python expression `s`.

    kind: 'j' a long (perhaps 0N or 0W), 'f' a float, 'b' a boolean atom, 'n' a float or many, as a quotient is, None
    unknown. exact: a long that is a Python int for certain. atomic: may be written twice at no cost. stable: its value
    cannot change any more. impure: has effects, or depends on those of others. glob: reads a global. deps: the locals
    that it reads.
    """

    __slots__ = ("atomic", "deps", "exact", "glob", "impure", "kind", "s", "stable")

    def __init__(self, s: str, kind: str | None, atomic: bool = False, stable: bool = False, impure: bool = False,
                 glob: bool = False, deps: frozenset[str] = _NONE, exact: bool = False) -> None:
        self.s, self.kind, self.atomic, self.stable = s, kind, atomic, stable
        self.impure, self.glob, self.deps, self.exact = impure, glob, deps, exact

    @property
    def held(self) -> bool:
        """Is this a constant that Python cannot write: anything but a plain number?"""
        return self.s[:1] == "'"


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

ops = SimpleNamespace(K_UNARY=K_UNARY, ITERATE=ITERATE)
