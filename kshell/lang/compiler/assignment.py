"""Assignments: to a name, in a namespace or a function, at indexes, and by pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kshell import registry
from kshell.errors import QError, Source
from kshell.lang.compiler.expr import RESERVED, E
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

        def emit(self, line: str) -> None: ...
        def mark(self, node: Any) -> str: ...
        def simple(self, e: E) -> E: ...
        def const(self, x: Value) -> E: ...
        def error(self, text: str, node: Any) -> QError: ...
        def local(self, name: str) -> str: ...
        def is_word(self, name: str) -> bool: ...
        def expr(self, node: Any) -> E: ...
        def eval_many(self, nodes: list[Any]) -> list[E]: ...
        def variable(self, node: Any) -> E: ...
        def lambda_value(self, node: Any, name: str = "") -> Lambda: ...
        def verb_name(self, entry: registry.Entry, n: int) -> str: ...
        def assign_pattern(self, node: Any, target: Any, value: E) -> E: ...

    def _Assign(self, node: Any) -> E:
        t = node.target
        if isinstance(t, N.Name):
            return self.assign_name(node, t.name)
        if (
            isinstance(t, N.Apply)
            and isinstance(t.f, N.Name)
            and not (t.f.name == "flip" and self.is_word("flip"))
        ):
            return self.assign_indexed(node)
        if isinstance(t, N.Elided) or not (node.op is None or node.op == "::"):
            raise self.error("assign", node)
        return self.assign_pattern(node, t, self.simple(self.expr(node.value)))

    def check_target(self, node: Any, name: str) -> None:
        if registry.find("verb", name) is not None and name not in self.locals:
            raise QError("assign", node.at - self.base, self.source, word_hint(name))

    def is_local(self, name: str) -> bool:
        return self.params is not None and name in self.locals

    def assign_name(self, node: Any, name: str) -> E:
        self.check_target(node, name)
        if node.op is None or node.op == "::":
            if isinstance(node.value, N.Lambda):
                e = self.const(self.lambda_value(node.value, name))
            else:
                e = self.expr(node.value)
        elif not self.is_local(name):
            return self.op_global(node, name)
        elif isinstance(node.op, N.Verb) and node.op.glyph == ",":
            old, v = self.eval_many([node.target, node.value])
            e = E(f"_append({self.mark(node)}{old.s},{v.s})", None, impure=True)
        else:
            e = self.expr(
                N.Apply(node.op, [node.target, node.value], node.start, node.end, node.at)
            )
        return self.put(name, e, node)

    def op_global(self, node: Any, name: str) -> E:
        """`g+:v` for a global, which need not exist."""
        entry = registry.find(
            "verb", node.op.glyph if isinstance(node.op, N.Verb) else node.op.name
        )
        if entry is None or 2 not in entry.fns:
            raise self.error("assign", node)
        v = self.expr(node.value)
        fn = "_append" if entry.name == "," else self.verb_name(entry, 2)
        self.stores = True
        # not stored in a temporary: a second owner would prevent the next append from working in place
        return E(f"_opg({self.mark(node)}{name!r},{self.ctx!r},{fn},{v.s})", None, impure=True)

    def put(self, name: str, e: E, node: Any, at: str = "()") -> E:
        """Assign to a variable; the expression is then the variable (a local) or the value (a global). `at` is Python
        text for the tuple of indexes, for an indexed assignment."""
        if self.is_local(name):
            self.emit(f"{self.local(name)}={e.s}")
            self.kinds[name] = e.kind
            self.assigned.append(name)
            return E(self.local(name), e.kind, atomic=True, deps=frozenset((name,)))
        self.read_globals[name] = None
        self.stores = True
        if "." in name or name in RESERVED:
            return E(f"_set({self.mark(node)}{name!r},{self.ctx!r},{e.s})", e.kind, impure=True)
        if self.names.checked:
            self.emit(f"_put({self.mark(node)}{name!r},{self.ctx!r},{e.s},{at})")
        else:
            self.global_stores.add(name)
            self.emit(f"{name}={e.s}")
        self.assigned.append(name)
        return e if e.stable else E(name, e.kind, atomic=True, glob=True)

    def assign_indexed(self, node: Any) -> E:
        """`x[i;j]:v`, `x[i]+:v`."""
        t = node.target
        name = t.f.name
        self.check_target(node, name)
        values = self.eval_many([*t.args, node.value])
        *path, v = values
        v = self.simple(v)
        old = self.variable(t.f)
        where = _path_text(t.args, path)
        if self.names.checked and not self.is_local(name):
            self.emit(f"_allow({self.mark(node)}{name!r},{self.ctx!r})")
        if node.op is None or node.op == "::":
            text = f"_asg({self.mark(node)}{old.s},{where},{v.s})"
            out = v
        else:
            f = self.expr(node.op)
            text = f"_amd({self.mark(node)}{old.s},{where},{f.s},{v.s})"
            out = E("_nil", None, atomic=True, stable=True)
        new = self.put(name, E(text, None, impure=True), node, where if t.args else "()")
        if not new.atomic:
            self.emit(new.s)
            new = self.variable(t.f)
        if path and node.op is not None and node.op != "::":
            items = ",".join(p.s for p in path)
            return E(f"_amended({self.mark(node)}{new.s},{items})", None, impure=True, idle=True)
        return out


def _path_text(args: list[Any], values: list[E]) -> str:
    """Python text for the index tuple of an indexed assignment, with nulls for elided indexes."""
    places = [
        "_nil" if isinstance(arg, N.Elided) else value.s
        for arg, value in zip(args, values, strict=True)
    ]
    return f"({','.join(places)},)" if args else "(_nil,)"
