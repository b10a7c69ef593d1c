"""The built-in names in k, the language in which kdb+ defines q: primitives by number, or composed of others.

`type`, `value`, the console's output and kdb+'s binary format are all derived from these tables; a name in none of them
is, to q, a function.
"""

from __future__ import annotations

from kshell import registry
from kshell.registry import Entry
from kshell.values.base.functions import ITERATORS, Derived, Prim

# operators, type 102, by number
OPERATORS = (":", "+", "-", "*", "%", "&", "|", "^", "=", "<", ">", "$", ",", "#", "_", "~", "!", "?", "@", ".",
             "0:", "1:", "2:", "in", "within", "like", "bin", "ss", "insert", "wsum", "wavg", "div", "xexp", "setenv",
             "binr", "cov", "cor")  # fmt: skip
# unary primitives, type 101, by number; the first ones are the unary forms of the operators
UNARY = ("::", "flip", "neg", "first", "reciprocal", "where", "reverse", "null", "group", "iasc", "idesc", "string",
         "enlist", "count", "floor", "not", "key", "distinct", "type", "value", "read0", "read1", "2::", "avg", "last",
         "sum", "prd", "min", "max", "exit", "getenv", "abs", "sqrt", "log", "exp", "sin", "asin", "cos", "acos",
         "tan", "atan", "enlist", "var", "dev", "hopen")  # fmt: skip
_SAME = {"get": "value", "and": "&", "or": "|", "mmu": "$"}
# keywords that are an operator with an iterator
DERIVED = {
    "raze": (",", "/"), "sums": ("+", "\\"), "prds": ("*", "\\"), "maxs": ("|", "\\"), "mins": ("&", "\\"),
    "fills": ("^", "\\"), "deltas": ("-", "':"), "ratios": ("%", "':"), "prev": (":", "':"),
}  # fmt: skip
# names that are an operator, or one with an iterator, composed with a unary primitive
COMPOSED = {
    "<=": ("not", ">", ""),
    ">=": ("not", "<", ""),
    "<>": ("not", "=", ""),
    "differ": ("not", "~", "':"),
}
# how the console shows names defined in k
K_TEXT = {
    **{n: f"{op}:" for n, op in zip(UNARY[1:], OPERATORS[1:20], strict=False) if n != "enlist"},
    "hopen": "<:", "hclose": ">:", "hdel": "~:", "ltime": "%:", "get": ".:", "and": "&", "or": "|", "mmu": "$",
    **{key: f + glyph for key, (f, glyph) in DERIVED.items()},
    **{key: f"~{f}{glyph}" for key, (_, f, glyph) in COMPOSED.items()},
}  # fmt: skip


def spelled(name: str) -> Derived | None:
    """The operator with iterator that a keyword stands for: `+\\` for sums."""
    operator, glyph = DERIVED.get(name, ("", ""))
    entry = registry.find("verb", operator) if operator else None
    return None if entry is None else Derived(glyph, Prim(entry.name, entry.fns, entry, 102))


def in_k(name: str) -> str:
    """The k text for a built-in name; kdb+ has one primitive under several names."""
    return K_TEXT.get(name, name)


def number(name: str) -> int | None:
    """kdb+'s number for a primitive; None if it is not one."""
    name = _SAME.get(name, name)
    return (
        OPERATORS.index(name) if name in OPERATORS else UNARY.index(name) if name in UNARY else None
    )


def type_of_entry(entry: Entry) -> int:
    """The type of the function with a registered name."""
    name = _SAME.get(entry.name, entry.name)
    if name in OPERATORS:
        return 102
    if name in DERIVED:
        return ITERATORS[DERIVED[name][1]]
    if name in COMPOSED:
        return 105
    if name in UNARY or K_TEXT.get(name, "")[-1:] == ":":
        return 101
    return entry.qtype if name[-1:].isalnum() else 102
