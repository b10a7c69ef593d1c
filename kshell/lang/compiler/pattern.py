"""Pattern assignment: the emitted code takes the value apart, checks it, and only then assigns the names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kshell import registry
from kshell.errors import QError
from kshell.lang.compiler import tree_queries
from kshell.lang.compiler.code_objects import Block
from kshell.lang.compiler.expr import E
from kshell.parse import tree as N
from kshell.values.base.core import Value
from kshell.values.base.symbols import sym

# assignments to make once everything has matched: target nodes with their values
Pending = list[tuple[N.Node, E]]


class PatternMixin:
    """The part of the compiler that emits patterns."""

    if TYPE_CHECKING:
        block: Block
        kinds: dict[str, str | None]
        base: int

        def emit(self, line: str) -> None: ...
        def expr(self, node: N.Node) -> E: ...
        def store(self, text: str) -> str: ...
        def simple(self, e: E) -> E: ...
        def const(self, x: Value) -> E: ...
        def temp(self) -> str: ...
        def eval_many(self, nodes: Sequence[N.Node]) -> list[E]: ...
        def put(self, name: str, e: E, node: N.Node) -> E: ...
        def discard(self, e: E) -> None: ...
        def put_value(self, e: E, target: str | None) -> None: ...
        def sub(self, run: Callable[[], object]) -> tuple[Block, dict[str, str | None]]: ...
        def check_target(self, node: N.Node, name: str) -> None: ...
        def assign_indexed(self, node: N.Assign, t: N.Apply, variable: N.Name) -> E: ...
        def error(self, text: str, node: N.Node) -> QError: ...

    # ------------------------------------------------------------ assignment
    def assign_pattern(self, node: N.Node, target: N.Node, value: E) -> E:
        """`pattern:value`; the result is the value as changed by filter functions."""
        value = self.part(value.s) if not value.stable else value
        pending: Pending = []
        result = self.fit(target, value, node.at, pending)
        self.bind(pending, node)
        return result

    def bind(self, pending: Pending, node: N.Node) -> None:
        for target, expression in pending:
            if isinstance(target, N.Name):
                self.discard(self.put(target.name, expression, node))
            elif isinstance(target, N.Apply) and isinstance(target.f, N.Name):
                at = N.Assign(
                    target, None, ready(expression, target), node.start, node.end, node.at
                )
                self.assign_indexed(at, target, target.f)

    def part(self, text: str) -> E:
        return E(self.store(text), None, atomic=True, stable=True)

    def ask(self, name: str, at: int, *args: str) -> str:
        """The text of a helper call whose failure points at an offset in the q text."""
        return f"{name}(#{at - self.base}\n{','.join(args)})"

    # ------------------------------------------------------------ patterns
    def fit(self, t: N.Node, v: E, at: int, pending: Pending) -> E:
        """Emit the match of v with pattern t; an error points at `at`. The result is v, with the changes made by
        filters."""
        kind = type(t).__name__
        method = getattr(self, "fit_" + kind, None)
        if method is None:
            raise self.error("assign", t)
        result: E = method(t, v, at, pending)
        return result

    def fit_Elided(self, t: N.Elided, v: E, at: int, pending: Pending) -> E:
        return v

    def fit_Name(self, t: N.Name, v: E, at: int, pending: Pending) -> E:
        self.check_target(t, t.name)
        pending.append((t, v))
        return v

    def fit_Lit(self, t: N.Lit, v: E, at: int, pending: Pending) -> E:
        self.emit(self.ask("_same", at, v.s, self.expr(t).s))
        return v

    def fit_ListOf(self, t: N.ListOf, v: E, at: int, pending: Pending) -> E:
        items = self.store(self.ask("_items", t.at, v.s, str(len(t.items))))
        texts = self.fit_all(
            t.items, [f"{items}[{index}]" for index in range(len(t.items))], pending
        )
        return v if texts is None else self.part(f"_list({','.join(texts)})")

    def fit_all(
        self, nodes: Sequence[N.Node], parts: list[str], pending: Pending
    ) -> list[str] | None:
        """Match several parts; their new texts if a filter changed one, else None."""
        texts, changed = [], False
        for node, text in zip(nodes, parts, strict=True):
            if isinstance(node, N.Elided):
                if "#" in text:  # a helper that checks that the part exists
                    self.emit(text)
                texts.append(text)
                continue
            value = self.part(text)
            fitted = self.fit(node, value, node.at, pending)
            changed = changed or fitted is not value
            texts.append(fitted.s)
        return texts if changed else None

    def fit_Return(self, t: N.Return, v: E, at: int, pending: Pending) -> E:
        return self.checked(None, t, v, pending)

    def fit_Assign(self, t: N.Assign, v: E, at: int, pending: Pending) -> E:
        if t.op is not None:
            raise self.error("assign", t)
        return self.checked(t.target, t, v, pending)

    def checked(self, inner: N.Node | None, t: N.Assign | N.Return, v: E, pending: Pending) -> E:
        """`p:`x`, a type check, or `p:f`, a filter function whose result is matched with p."""
        if isinstance(t.value, N.Lit) and t.value.t == "s" and isinstance(t.value.data, str):
            self.emit(self.ask("_of_type", t.at, v.s, repr(t.value.data)))
        else:
            v = self.part(self.ask("_ap1", t.at, self.expr(t.value).s, v.s))
        return v if inner is None else self.fit(inner, v, inner.at, pending)

    def fit_Apply(self, t: N.Apply, v: E, at: int, pending: Pending) -> E:
        function, arguments = t.f, t.args
        if isinstance(function, N.Verb) and function.glyph == "!" and len(arguments) == 2:
            return self.fit_keys(t, v, pending)
        if isinstance(function, N.Name) and function.name == "flip" and len(arguments) == 1:
            columns = self.part(self.ask("_columns", t.at, v.s))
            expression = self.fit(arguments[0], columns, arguments[0].at, pending)
            flip = registry.find("verb", "flip")
            assert flip is not None
            return (
                v
                if expression is columns
                else self.part(f"_ap1({self.expr(function).s},{expression.s})")
            )
        if isinstance(function, N.Name) and registry.find("verb", function.name) is None:
            indexes = [
                argument if isinstance(argument, N.Elided) else ready(expression, argument)
                for argument, expression in zip(
                    arguments, map(self.simple, self.eval_many(arguments)), strict=True
                )
            ]
            pending.append((N.Apply(function, indexes, t.start, t.end, t.at), v))
            return v
        raise self.error("assign", t)

    def fit_keys(self, t: N.Apply, v: E, pending: Pending) -> E:
        """`k!p`: with constant keys, the items under them, else one pattern for the keys and one for the values."""
        keys, values = t.args
        if any(
            isinstance(n, (N.Name, N.Elided, N.Assign, N.Return)) for n in tree_queries.walk([keys])
        ):
            halves = self.store(self.ask("_parts", t.at, v.s))
            texts = self.fit_all([keys, values], [f"{halves}[0]", f"{halves}[1]"], pending)
            return v if texts is None else self.part(f"_dict({','.join(texts)})")
        key_list = self.part(self.expr(keys).s)
        if not isinstance(values, N.ListOf):
            selected = self.part(self.ask("_at_keys", values.at, v.s, key_list.s))
            fitted = self.fit(values, selected, values.at, pending)
            return (
                v
                if fitted is selected
                else self.part(
                    f"_with({v.s},_items({key_list.s},_len({key_list.s})),_items({fitted.s},_len({key_list.s})))"
                )
            )
        n = len(values.items)
        key_items = self.store(self.ask("_items", values.at, key_list.s, str(n)))
        parts = [
            self.ask("_at_key", pattern.at, v.s, f"{key_items}[{index}]")
            for index, pattern in enumerate(values.items)
        ]
        texts = self.fit_all(values.items, parts, pending)
        return v if texts is None else self.part(f"_with({v.s},{key_items},[{','.join(texts)}])")

    def fit_DictOf(self, t: N.DictOf, v: E, at: int, pending: Pending) -> E:
        return self.fit_named(t.items, v, "_at_key", pending)

    def fit_TableOf(self, t: N.TableOf, v: E, at: int, pending: Pending) -> E:
        if not t.keys:
            return self.fit_named(t.cols, v, "_column", pending)
        tables = self.store(self.ask("_tables", t.at, v.s))
        keys, values = self.part(f"{tables}[0]"), self.part(f"{tables}[1]")
        fitted_keys = self.fit_named(t.keys, keys, "_column", pending)
        fitted_values = self.fit_named(t.cols, values, "_column", pending)
        return (
            v
            if fitted_keys is keys and fitted_values is values
            else self.part(f"_dict({fitted_keys.s},{fitted_values.s})")
        )

    def fit_named(self, pairs: list[N.Column], v: E, helper: str, pending: Pending) -> E:
        """The items of a dictionary, or the columns of a table, by name."""
        names = tree_queries.column_names([(name, _named(pattern)) for name, pattern in pairs])
        keys = [self.const(sym(name)).s for name in names]
        arguments = keys if helper == "_at_key" else [repr(name) for name in names]
        nodes = [pattern for _, pattern in pairs]
        parts = [
            self.ask(helper, node.at - isinstance(node, N.Elided), v.s, argument)
            for node, argument in zip(nodes, arguments, strict=True)
        ]
        texts = self.fit_all(nodes, parts, pending)
        return (
            v
            if texts is None
            else self.part(f"_with({v.s},[{','.join(keys)}],[{','.join(texts)}])")
        )

    # ------------------------------------------------------------ `:[v;p;r;...;d]`
    def pattern_cond(self, node: N.Apply) -> E:
        """The result for the first pattern that the value matches, else the last one."""
        arguments = node.args
        value = self.part(self.expr(arguments[0]).s)
        target = self.temp()
        self.pattern_branches(arguments[1:], value, target)
        return E(target, None, atomic=True, stable=True)

    def pattern_branches(self, rest: list[N.Node], v: E, target: str) -> None:
        if len(rest) < 2:
            self.put_value(self.expr(rest[0]) if rest else E("_nil", None), target)
            return
        pattern, result = rest[0], rest[1]
        pending: Pending = []
        match_block, _ = self.sub(lambda: self.fit(pattern, v, pattern.at, pending))
        matched = self.temp()

        def then() -> None:
            self.bind(pending, pattern)
            self.put_value(self.expr(result), target)

        consequent, match_kinds = self.sub(then)
        otherwise, other_kinds = self.sub(lambda: self.pattern_branches(rest[2:], v, target))
        self.block += [
            "try:",
            [*match_block, f"{matched}=True"],
            "except _NoMatch:",
            [f"{matched}=False"],
            f"if {matched}:",
            consequent,
            "else:",
            otherwise,
        ]
        self.kinds = {
            key: kind for key, kind in match_kinds.items() if other_kinds.get(key) == kind
        }


def ready(e: E, node: N.Node) -> N.Node:
    """A node for an expression that has already been emitted."""
    return Ready(e, node)


class Ready(N.Node):
    """Used instead of a node: an expression that has already been emitted."""

    __slots__ = ("e",)

    def __init__(self, e: E, node: N.Node) -> None:
        super().__init__(node.start, node.end, node.at)
        self.e = e


def _named(node: N.Node) -> N.Node:
    """The part of a pattern with the column's name."""
    while isinstance(node, N.Assign):
        node = node.target
    return node
