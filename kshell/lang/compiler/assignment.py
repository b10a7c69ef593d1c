"""Assignments: to a name, in a namespace or a function, at indexes, and by pattern."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kshell import registry
from kshell.errors import QError, Source
from kshell.lang.compiler.expr import E, is_plain
from kshell.parse import tree as N
from kshell.values.base.core import Value
from kshell.values.base.describe import word_hint
from kshell.values.base.functions import Lambda
from kshell.values.change.names import Names


class AssignmentMixin:
    """The part of the compiler that emits assignments."""

    if TYPE_CHECKING:
        names: Names
        ctx: str
        base: int
        source: Source
        params: tuple[str, ...] | None
        locals: set[str]
        kinds: dict[str, str | None]
        assigned: list[str]
        global_stores: set[str]
        read_globals: dict[str, None]
        stores: bool
        asks: bool

        def emit(self, line: str) -> None: ...
        def mark(self, node: N.Node) -> str: ...
        def simple(self, e: E) -> E: ...
        def const(self, x: Value) -> E: ...
        def error(self, text: str, node: N.Node) -> QError: ...
        def local(self, name: str) -> str: ...
        def is_word(self, name: str) -> bool: ...
        def expr(self, node: N.Node) -> E: ...
        def eval_many(self, nodes: Sequence[N.Node]) -> list[E]: ...
        def variable(self, node: N.Name) -> E: ...
        def lambda_value(self, node: N.Lambda, name: str = "") -> Lambda: ...
        def verb_name(self, entry: registry.Entry, n: int) -> str: ...
        def assign_pattern(self, node: N.Node, target: N.Node, value: E) -> E: ...

    def _Assign(self, node: N.Assign) -> E:
        target = node.target
        if isinstance(target, N.Name):
            return self.assign_name(node, target.name)
        if (
            isinstance(target, N.Apply)
            and isinstance(target.f, N.Name)
            and not (target.f.name == "flip" and self.is_word("flip"))
        ):
            return self.assign_indexed(node, target, target.f)
        if isinstance(target, N.Elided) or not (node.op is None or node.op == "::"):
            raise self.error("assign", node)
        return self.assign_pattern(node, target, self.simple(self.expr(node.value)))

    def check_target(self, node: N.Node, name: str) -> None:
        if registry.find("verb", name) is not None and name not in self.locals:
            raise QError("assign", node.at - self.base, self.source, word_hint(name))

    def is_local(self, name: str) -> bool:
        return self.params is not None and name in self.locals

    def assign_name(self, node: N.Assign, name: str) -> E:
        self.check_target(node, name)
        if not isinstance(node.op, N.Verb):
            if isinstance(node.value, N.Lambda):
                expression = self.const(self.lambda_value(node.value, name))
            else:
                expression = self.expr(node.value)
        elif not self.is_local(name):
            return self.op_global(node, name, node.op.glyph)
        elif node.op.glyph == ",":
            variable, value = self.eval_many([node.target, node.value])
            expression = E(f"_append({self.mark(node)}{variable.s},{value.s})", None, impure=True)
        else:
            expression = self.expr(
                N.Apply(node.op, [node.target, node.value], node.start, node.end, node.at)
            )
        return self.put(name, expression, node)

    def op_global(self, node: N.Assign, name: str, glyph: str) -> E:
        """`g+:v` for a global, which need not exist."""
        entry = registry.find("verb", glyph)
        if entry is None or 2 not in entry.fns:
            raise self.error("assign", node)
        value = self.expr(node.value)
        function = "_append" if entry.name == "," else self.verb_name(entry, 2)
        self.stores = True
        # not stored in a temporary: a second owner would prevent the next append from working in place
        return E(
            f"_opg({self.mark(node)}{name!r},{self.ctx!r},{function},{value.s})", None, impure=True
        )

    def put(self, name: str, e: E, node: N.Node, at: str = "()") -> E:
        """Assign to a variable; the expression is then the variable (a local) or the value (a global). `at` is Python
        text for the tuple of indexes, for an indexed assignment."""
        if self.is_local(name):
            self.emit(f"{self.local(name)}={e.s}")
            self.kinds[name] = e.kind
            self.assigned.append(name)
            return E(self.local(name), e.kind, atomic=True, deps=frozenset((name,)))
        self.read_globals[name] = None
        self.stores = True
        if not is_plain(name):
            return E(f"_set({self.mark(node)}{name!r},{self.ctx!r},{e.s})", e.kind, impure=True)
        if self.asks:
            self.emit(f"_put({self.mark(node)}{name!r},{self.ctx!r},{e.s},{at})")
        else:
            self.global_stores.add(name)
            self.emit(f"{name}={e.s}")
        self.assigned.append(name)
        return e if e.stable else E(name, e.kind, atomic=True, glob=True)

    def assign_indexed(self, node: N.Assign, t: N.Apply, variable: N.Name) -> E:
        """`x[i;j]:v`, `x[i]+:v`."""
        name = variable.name
        self.check_target(node, name)
        values = self.eval_many([*t.args, node.value])
        *indexes, value = values
        value = self.simple(value)
        old = self.variable(variable)
        path_text = _path_text(t.args, indexes)
        if self.asks and not self.is_local(name):
            self.emit(f"_allow({self.mark(node)}{name!r},{self.ctx!r})")
        if not isinstance(node.op, N.Verb):
            text = f"_asg({self.mark(node)}{old.s},{path_text},{value.s})"
            result = value
        else:
            operator = self.expr(node.op)
            text = f"_amd({self.mark(node)}{old.s},{path_text},{operator.s},{value.s})"
            result = E("_nil", None, atomic=True, stable=True)
        assigned = self.put(name, E(text, None, impure=True), node, path_text if t.args else "()")
        if not assigned.atomic:
            self.emit(assigned.s)
            assigned = self.variable(variable)
        if indexes and isinstance(node.op, N.Verb):
            index_texts = ",".join(index.s for index in indexes)
            return E(
                f"_amended({self.mark(node)}{assigned.s},{index_texts})",
                None,
                impure=True,
                idle=True,
            )
        return result


def _path_text(args: Sequence[N.Node], values: list[E]) -> str:
    """Python text for the index tuple of an indexed assignment, with nulls for elided indexes."""
    places = [
        "_nil" if isinstance(argument, N.Elided) else value.s
        for argument, value in zip(args, values, strict=True)
    ]
    return f"({','.join(places)},)" if args else "(_nil,)"
