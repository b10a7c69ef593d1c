"""Operators on atoms, inlined: native Python for longs and floats, the verb's function for everything else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kshell import registry
from kshell.lang.compiler.expr import E
from kshell.parse import tree as N
from kshell.values.base.types import LONG_MAX as M

ARITH = {"+": "+", "-": "-", "*": "*"}
COMPARE = {"<": "<", ">": ">", "<=": "<=", ">=": ">=", "=": "==", "<>": "!="}


class Emitter(Protocol):
    """What inlining needs of the compiler."""

    inlines: bool

    def temp(self) -> str: ...
    def mark(self, node: N.Node) -> str: ...
    def simple(self, e: E) -> E: ...
    def expr(self, node: N.Node) -> E: ...
    def eval_many(self, nodes: Sequence[N.Node]) -> list[E]: ...
    def verb_name(self, entry: registry.Entry, n: int) -> str: ...


def dyad(c: Emitter, node: N.Node, name: str, x: E, y: E) -> E | None:
    """`x name y` as inline code, or None if this operator has none or the known types exclude it."""
    if x.held or y.held:
        return None  # a vector, a symbol, a null: never a plain number
    if name in ARITH:
        return arith(c, node, name, x, y)
    if name == "%":
        return E(call(c, node, name, x, y), "n", impure=True)
    if name in COMPARE:
        tests, fallback, kind = compare(c, node, name, x, y)
        if fallback is None:
            return E(
                f"({tests[1]})",
                "b",
                impure=x.impure or y.impure,
                glob=x.glob or y.glob,
                deps=x.deps | y.deps,
            )
        return E(f"({tests[1]} if {tests[0]} else {fallback})", kind, impure=True)
    return None


def both(x: E, y: E) -> tuple[set[str | None], bool]:
    return {x.kind, y.kind}, x.kind == y.kind == "j"


def call(c: Emitter, node: N.Node, name: str, x: E, y: E) -> str:
    entry = registry.find("verb", name)
    assert entry is not None
    return f"{c.verb_name(entry, 2)}({c.mark(node)}{x.s},{y.s})"


def int_test(x: E, y: E) -> str:
    """The test that two operands are Python ints, '' if that is known."""
    return " and ".join(
        f"_type({fromkey}) is _int"
        for fromkey in dict.fromkeys(operand.s for operand in (x, y) if not operand.exact)
    )


def arith(c: Emitter, node: N.Node, name: str, x: E, y: E) -> E | None:
    kinds, longs = both(x, y)
    if kinds == {"f"}:
        x, y = c.simple(x), c.simple(y)
        return E(f"({x.s}{name}{y.s})", "f", deps=x.deps | y.deps, glob=x.glob or y.glob)
    if kinds - {"j", None}:
        if kinds in ({"f", None}, {"f", "n"}):
            x, y = c.simple(x), c.simple(y)
            untested = y if x.kind == "f" else x
            return E(
                f"({x.s}{name}{y.s} if _type({untested.s}) is _float else {call(c, node, name, x, y)})",
                untested.kind,
                impure=True,
            )
        return E(call(c, node, name, x, y), "n", impure=True) if "n" in kinds else None
    if not (longs or c.inlines):
        return None
    x, y = c.simple(x), c.simple(y)
    temporary = c.temp()
    check = in_range(temporary, name, x, y)
    if longs:
        return E(
            f"({temporary} if {check} else _wrap({temporary}))",
            "j",
            deps=x.deps | y.deps,
            glob=x.glob or y.glob,
        )
    return E(
        f"({temporary} if {int_test(x, y)} and {check} else {call(c, node, name, x, y)})",
        None,
        impure=True,
    )


def in_range(t: str, name: str, x: E, y: E) -> str:
    """The test that a native result, assigned to t, is an ordinary long; with a constant operand it can only overflow
    on one side."""
    assignment = f"({t}:={x.s}{name}{y.s})"
    const = y if y.exact else x if x.exact and name == "+" else None
    if const is not None and name in "+-" and const.s.strip("()-").isdigit():
        upwards = (const.s[0] != "(") == (name == "+")
        return f"{assignment}<{M}" if upwards else f"{assignment}>-{M}"
    return f"-{M}<{assignment}<{M}"


def compare(
    c: Emitter, node: N.Node, name: str, x: E, y: E
) -> tuple[tuple[str, str], str | None, str | None]:
    """((test, native comparison), the call otherwise or None if never, the type of the whole)."""
    x, y = c.simple(x), c.simple(y)
    native = f"{x.s}{COMPARE[name]}{y.s}"
    if x.kind == y.kind == "j":
        return ("", native), None, "b"
    if {x.kind, y.kind} <= {"j", None}:
        return (int_test(x, y), native), call(c, node, name, x, y), None
    return ("False", "False"), call(c, node, name, x, y), None


def condition(c: Emitter, node: N.Node) -> str:
    """A Python expression that is true if the node's value meets a condition."""
    if (
        isinstance(node, N.Apply)
        and len(node.args) == 2
        and isinstance(node.f, N.Verb)
        and node.f.glyph in COMPARE
    ):
        x, y = c.eval_many(node.args)
        if x.kind in ("j", None) and y.kind in ("j", None) and not x.held and not y.held:
            tests, fallback, _ = compare(c, node, node.f.glyph, x, y)
            if fallback is None:
                return tests[1]
            return f"({tests[1]} if {tests[0]} else _true({fallback}))"
        return f"_true({call(c, node, node.f.glyph, x, y)})"
    expression = c.expr(node)
    if expression.kind in ("b", "j") and (expression.kind == "b" or expression.exact):
        return expression.s
    return f"_true({c.mark(node)}{expression.s})"


def monad(c: Emitter, node: N.Node, name: str, x: E) -> E | None:
    """`name x` as inline code if the type is known."""
    if name == "neg" and x.kind == "f":
        return E(f"(-{x.s})", "f", impure=x.impure, glob=x.glob, deps=x.deps)
    if name == "not" and x.kind == "b":
        return E(f"(not {x.s})", "b", impure=x.impure, glob=x.glob, deps=x.deps)
    return None
