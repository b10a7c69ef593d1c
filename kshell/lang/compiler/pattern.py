"""Pattern assignment: the emitted code takes the value apart, checks it, and only then assigns the names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kshell import registry
from kshell.errors import QError
from kshell.lang.compiler import tree_queries
from kshell.lang.compiler.code_objects import Block
from kshell.lang.compiler.expr import E
from kshell.parse import tree as N
from kshell.values.base.core import Value, sym

Pending = list[
    tuple[Any, E]
]  # assignments to make once everything has matched: target nodes with their values


class PatternMixin:
    """The part of the compiler that emits patterns."""

    if TYPE_CHECKING:
        block: Block
        kinds: dict[str, str | None]
        base: int

        def emit(self, line: str) -> None: ...
        def expr(self, node: Any) -> E: ...
        def store(self, text: str) -> str: ...
        def simple(self, e: E) -> E: ...
        def const(self, x: Value) -> E: ...
        def temp(self) -> str: ...
        def eval_many(self, nodes: list[Any]) -> list[E]: ...
        def put(self, name: str, e: E, node: Any) -> E: ...
        def discard(self, e: E) -> None: ...
        def put_value(self, e: E, target: str | None) -> None: ...
        def sub(self, run: Any) -> Any: ...
        def check_target(self, node: Any, name: str) -> None: ...
        def assign_indexed(self, node: Any) -> E: ...
        def error(self, text: str, node: Any) -> QError: ...

    # ------------------------------------------------------------ assignment
    def assign_pattern(self, node: Any, target: Any, value: E) -> E:
        """`pattern:value`; the result is the value as changed by filter functions."""
        value = self.part(value.s) if not value.stable else value
        pending: Pending = []
        out = self.fit(target, value, node.at, pending)
        self.bind(pending, node)
        return out

    def bind(self, pending: Pending, node: Any) -> None:
        for target, e in pending:
            if isinstance(target, N.Name):
                self.discard(self.put(target.name, e, node))
            else:
                self.assign_indexed(
                    N.Assign(target, None, ready(e, target), node.start, node.end, node.at)
                )

    def part(self, text: str) -> E:
        return E(self.store(text), None, atomic=True, stable=True)

    def ask(self, name: str, at: int, *args: str) -> str:
        """The text of a helper call whose failure points at an offset in the q text."""
        return f"{name}(#{at - self.base}\n{','.join(args)})"

    # ------------------------------------------------------------ patterns
    def fit(self, t: Any, v: E, at: int, pending: Pending) -> E:
        """Emit the match of v with pattern t; an error points at `at`. The result is v, with the changes made by
        filters."""
        kind = type(t).__name__
        made = getattr(self, "fit_" + kind, None)
        if made is None:
            raise self.error("assign", t)
        found: E = made(t, v, at, pending)
        return found

    def fit_Elided(self, t: Any, v: E, at: int, pending: Pending) -> E:
        return v

    def fit_Name(self, t: Any, v: E, at: int, pending: Pending) -> E:
        self.check_target(t, t.name)
        pending.append((t, v))
        return v

    def fit_Lit(self, t: Any, v: E, at: int, pending: Pending) -> E:
        self.emit(self.ask("_same", at, v.s, self.expr(t).s))
        return v

    def fit_ListOf(self, t: Any, v: E, at: int, pending: Pending) -> E:
        items = self.store(self.ask("_items", t.at, v.s, str(len(t.items))))
        new = self.fit_all(t.items, [f"{items}[{i}]" for i in range(len(t.items))], pending)
        return v if new is None else self.part(f"_list({','.join(new)})")

    def fit_all(self, nodes: list[Any], parts: list[str], pending: Pending) -> list[str] | None:
        """Match several parts; their new texts if a filter changed one, else None."""
        out, changed = [], False
        for node, text in zip(nodes, parts, strict=True):
            if isinstance(node, N.Elided):
                if "#" in text:  # a helper that checks that the part exists
                    self.emit(text)
                out.append(text)
                continue
            v = self.part(text)
            e = self.fit(node, v, node.at, pending)
            changed = changed or e is not v
            out.append(e.s)
        return out if changed else None

    def fit_Return(self, t: Any, v: E, at: int, pending: Pending) -> E:
        return self.checked(None, t, v, pending)

    def fit_Assign(self, t: Any, v: E, at: int, pending: Pending) -> E:
        if t.op is not None:
            raise self.error("assign", t)
        return self.checked(t.target, t, v, pending)

    def checked(self, inner: Any, t: Any, v: E, pending: Pending) -> E:
        """`p:`x`, a type check, or `p:f`, a filter function whose result is matched with p."""
        if isinstance(t.value, N.Lit) and t.value.t == "s" and isinstance(t.value.data, str):
            self.emit(self.ask("_of_type", t.at, v.s, repr(t.value.data)))
        else:
            v = self.part(self.ask("_ap1", t.at, self.expr(t.value).s, v.s))
        return v if inner is None else self.fit(inner, v, inner.at, pending)

    def fit_Apply(self, t: Any, v: E, at: int, pending: Pending) -> E:
        f, args = t.f, t.args
        if isinstance(f, N.Verb) and f.glyph == "!" and len(args) == 2:
            return self.fit_keys(t, v, pending)
        if isinstance(f, N.Name) and f.name == "flip" and len(args) == 1:
            d = self.part(self.ask("_columns", t.at, v.s))
            e = self.fit(args[0], d, args[0].at, pending)
            flip = registry.find("verb", "flip")
            assert flip is not None
            return v if e is d else self.part(f"_ap1({self.expr(f).s},{e.s})")
        if isinstance(f, N.Name) and registry.find("verb", f.name) is None:
            at_ = [
                arg if isinstance(arg, N.Elided) else ready(e, arg)
                for arg, e in zip(args, map(self.simple, self.eval_many(args)), strict=True)
            ]
            pending.append((N.Apply(f, at_, t.start, t.end, t.at), v))
            return v
        raise self.error("assign", t)

    def fit_keys(self, t: Any, v: E, pending: Pending) -> E:
        """`k!p`: with constant keys, the items under them, else one pattern for the keys and one for the values."""
        keys, values = t.args
        if any(
            isinstance(n, (N.Name, N.Elided, N.Assign, N.Return)) for n in tree_queries.walk([keys])
        ):
            both = self.store(self.ask("_parts", t.at, v.s))
            new = self.fit_all([keys, values], [f"{both}[0]", f"{both}[1]"], pending)
            return v if new is None else self.part(f"_dict({','.join(new)})")
        k = self.part(self.expr(keys).s)
        if not isinstance(values, N.ListOf):
            found = self.part(self.ask("_at_keys", values.at, v.s, k.s))
            e = self.fit(values, found, values.at, pending)
            return (
                v
                if e is found
                else self.part(f"_with({v.s},_items({k.s},_len({k.s})),_items({e.s},_len({k.s})))")
            )
        n = len(values.items)
        items = self.store(self.ask("_items", values.at, k.s, str(n)))
        parts = [
            self.ask("_at_key", item.at, v.s, f"{items}[{i}]")
            for i, item in enumerate(values.items)
        ]
        new = self.fit_all(values.items, parts, pending)
        return v if new is None else self.part(f"_with({v.s},{items},[{','.join(new)}])")

    def fit_DictOf(self, t: Any, v: E, at: int, pending: Pending) -> E:
        return self.fit_named(t.items, v, "_at_key", pending)

    def fit_TableOf(self, t: Any, v: E, at: int, pending: Pending) -> E:
        if not t.keys:
            return self.fit_named(t.cols, v, "_column", pending)
        both = self.store(self.ask("_tables", t.at, v.s))
        k, d = self.part(f"{both}[0]"), self.part(f"{both}[1]")
        k2 = self.fit_named(t.keys, k, "_column", pending)
        d2 = self.fit_named(t.cols, d, "_column", pending)
        return v if k2 is k and d2 is d else self.part(f"_dict({k2.s},{d2.s})")

    def fit_named(
        self, pairs: list[tuple[str | None, Any]], v: E, helper: str, pending: Pending
    ) -> E:
        """The items of a dictionary, or the columns of a table, by name."""
        names = tree_queries.column_names([(n, _named(p)) for n, p in pairs])
        keys = [self.const(sym(name)).s for name in names]
        what = keys if helper == "_at_key" else [repr(name) for name in names]
        nodes = [p for _, p in pairs]
        parts = [
            self.ask(helper, node.at - isinstance(node, N.Elided), v.s, k)
            for node, k in zip(nodes, what, strict=True)
        ]
        new = self.fit_all(nodes, parts, pending)
        return v if new is None else self.part(f"_with({v.s},[{','.join(keys)}],[{','.join(new)}])")

    # ------------------------------------------------------------ `:[v;p;r;...;d]`
    def pattern_cond(self, node: Any) -> E:
        """The result for the first pattern that the value matches, else the last one."""
        args = node.args
        v = self.part(self.expr(args[0]).s)
        t = self.temp()
        self.pattern_branches(args[1:], v, t)
        return E(t, None, atomic=True, stable=True)

    def pattern_branches(self, rest: list[Any], v: E, target: str) -> None:
        if len(rest) < 2:
            self.put_value(self.expr(rest[0]) if rest else E("_nil", None), target)
            return
        p, result = rest[0], rest[1]
        pending: Pending = []
        fit, _ = self.sub(lambda: self.fit(p, v, p.at, pending))
        ok = self.temp()

        def then() -> None:
            self.bind(pending, p)
            self.put_value(self.expr(result), target)

        yes, k1 = self.sub(then)
        no, k2 = self.sub(lambda: self.pattern_branches(rest[2:], v, target))
        self.block += [
            "try:",
            [*fit, f"{ok}=True"],
            "except _NoMatch:",
            [f"{ok}=False"],
            f"if {ok}:",
            yes,
            "else:",
            no,
        ]
        self.kinds = {key: kind for key, kind in k1.items() if k2.get(key) == kind}


def ready(e: E, node: Any) -> Any:
    """A node for an expression that has already been emitted."""
    return Ready(e, node)


class Ready(N.Node):
    """Used instead of a node: an expression that has already been emitted."""

    __slots__ = ("e",)

    def __init__(self, e: E, node: Any) -> None:
        super().__init__(node.start, node.end, node.at)
        self.e = e


def _named(node: Any) -> Any:
    """The part of a pattern with the column's name."""
    while isinstance(node, N.Assign):
        node = node.target
    return node
