"""Applying functions: built-ins, derived functions, projections, calls of lambdas, and long rows of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kshell import registry
from kshell.errors import QError, Source
from kshell.lang.compiler import inline, python_calls
from kshell.lang.compiler.built_ins import prim
from kshell.lang.compiler.expr import APPLY_HELPERS, ITERATE, K_UNARY, E
from kshell.lang.compiler.pattern import Ready
from kshell.parse import tree as N
from kshell.values.base.core import Value
from kshell.values.change.names import Names


class ApplicationMixin:
    """The part of the compiler that emits applications."""

    if TYPE_CHECKING:
        names: Names
        source: Source
        base: int
        params: tuple[str, ...] | None
        own: str
        recursive: bool
        inlines: bool

        def temp(self) -> str: ...
        def emit(self, line: str) -> None: ...
        def mark(self, node: N.Node) -> str: ...
        def simple(self, e: E) -> E: ...
        def const(self, x: Value) -> E: ...
        def error(self, text: str, node: N.Node) -> QError: ...
        def is_word(self, name: str) -> bool: ...
        def expr(self, node: N.Node) -> E: ...
        def eval_many(self, nodes: Sequence[N.Node]) -> list[E]: ...
        def pattern_cond(self, node: N.Apply) -> E: ...

    def _Apply(self, node: N.Apply) -> E:
        function, arguments = node.f, node.args
        if any(isinstance(argument, N.Elided) for argument in arguments):
            return self.projection(node)
        if isinstance(function, N.Verb):
            return self.verb_call(node, function.glyph, registry.find("verb", function.glyph))
        if isinstance(function, N.Name) and self.is_word(function.name):
            return self.verb_call(node, function.name, registry.find("verb", function.name))
        if isinstance(function, N.Iterator) and function.f is not None:
            return self.derived_call(node, function.glyph, function.f)
        if named := python_calls.keywords(self, node):  # type: ignore[arg-type]
            return self.keyword_call(node, named)
        callee, *values = self.eval_many([function, *arguments] if arguments else [function])
        return self.call(node, callee, values)

    def keyword_call(self, node: N.Apply, named: list[N.Apply]) -> E:
        """A call whose last arguments are keyword arguments: their values are evaluated like the other arguments."""
        plain = node.args[: -len(named)]
        callee, *values = self.eval_many([node.f, *plain, *[word.args[1] for word in named]])
        if python_calls.is_python(self, callee, len(values)):  # type: ignore[arg-type]
            return python_calls.call(self, node, callee, values, named)  # type: ignore[arg-type]
        words = python_calls.words(self, named, values[len(plain) :])  # type: ignore[arg-type]
        return self.call(node, callee, [*values[: len(plain)], *words])

    def projection(self, node: N.Apply) -> E:
        """Application with omitted arguments."""
        args = node.args
        present = [arg for arg in args if not isinstance(arg, N.Elided)]
        values = iter(self.eval_many([node.f, *present]))
        callee = next(values)
        text = ",".join("_hole" if isinstance(arg, N.Elided) else next(values).s for arg in args)
        if args and all(isinstance(arg, N.Elided) for arg in args) and len(args) == 1:
            return self.call(node, callee, [])
        return E(f"_ap({self.mark(node)}{callee.s},{text})", None, impure=True)

    def verb_call(self, node: N.Apply, name: str, entry: registry.Entry | None) -> E:
        """A built-in with arguments: its function is called by name, or inlined for atoms."""
        arguments = node.args
        if name == "::" and len(arguments) == 1:
            return self.expr(arguments[0])
        if name == ":" and len(arguments) > 2:
            return self.pattern_cond(node)
        if entry is None:
            if len(arguments) == 1 and isinstance(node.f, N.Verb):
                expression = self.expr(arguments[0])
                return self.k_unary(
                    node, name, registry.find("verb", K_UNARY.get(name, "")), expression
                )
            raise self.error("nyi", node)
        values = self.eval_many(arguments)
        if len(arguments) == 2:
            quick = inline.dyad(self, node, name, *values)
            if quick is not None:
                return quick
        elif len(arguments) == 1:
            quick = inline.monad(self, node, name, values[0])
            if quick is not None:
                return quick
            if (
                isinstance(node.f, N.Verb)
                and 1 not in entry.fns
                and (after := self.text_after(node.f)) != "["
            ):
                unary = registry.find("verb", K_UNARY.get(name + ":", ""))
                # `(#)x` is k's unary form, `#x` an error
                allowed = name == "-" or after == ")"
                return self.k_unary(node, name, unary if allowed else None, values[0])
        return self.direct(node, entry, values)

    def k_unary(self, node: N.Apply, glyph: str, known: registry.Entry | None, e: E) -> E:
        """A glyph on one argument that has no unary form in q: k's verb for it, or else an error at run time."""
        if known is not None:
            return self.direct(node, known, [e])
        return E(f"_unary({self.mark(node)}{glyph!r},{e.s})", None, impure=True)

    def text_after(self, node: N.Node) -> str:
        """The character after a node in the source text."""
        offset = node.end - self.base
        return self.source.text[offset : offset + 1]

    def direct(self, node: N.Node, entry: registry.Entry, values: list[E]) -> E:
        count = len(values) or 1
        if count not in entry.fns and -1 not in entry.fns:
            function = self.const(prim(entry))
            return self.call(node, function, values)
        texts = [value.s for value in values] or ["_nil"]
        return E(
            f"{self.verb_name(entry, count)}({self.mark(node)}{','.join(texts)})", None, impure=True
        )

    def verb_name(self, entry: registry.Entry, n: int) -> str:
        """A Python name, among the builtins of all namespaces, for the function of a verb with n arguments."""
        function = entry.fns.get(n) or entry.fns[-1]
        name = f"_v{n}{entry.name.encode().hex()}"  # the same in every process: texts are cached with their code
        if self.names.builtins.setdefault(name, function) is not function:
            name = f"_v{id(function):x}"  # the name belonged to another entry
            self.names.builtins.setdefault(name, function)
        return name

    def derived_call(self, node: N.Apply, glyph: str, inner: N.Node) -> E:
        """`f/ x`, `x f' y` and the like: the iterator's function is called with f and the arguments."""
        helper = ITERATE.get((glyph, len(node.args)))
        f, *values = self.eval_many([inner, *node.args])
        if helper is None:
            derived = E(
                f"_derive({glyph!r},{f.s})", None, impure=f.impure, glob=f.glob, deps=f.deps
            )
            return self.call(node, derived, values)
        return E(
            f"{helper}({self.mark(node)}{f.s},{','.join(value.s for value in values)})",
            None,
            impure=True,
        )

    def call(self, node: N.Node, f: E, values: list[E]) -> E:
        """A value known only at run time, applied to arguments: lambdas of that rank are called directly."""
        n = len(values)
        if n == 0:
            values = [E("_nil", None, atomic=True, stable=True)]
            n = 1
        if (f.s == "_self" or (f.glob and f.s == self.own)) and n == max(len(self.params or ()), 1):
            return self.call_self(node, f, values)
        if n > 3 or f.stable:
            helper = APPLY_HELPERS.get(n, "_ap")
            return E(
                f"{helper}({self.mark(node)}{f.s},{','.join(value.s for value in values)})",
                None,
                impure=True,
            )
        if python_calls.is_python(self, f, n):  # type: ignore[arg-type]
            return python_calls.call(self, node, f, values)  # type: ignore[arg-type]
        f, *values = [self.simple(value) for value in (f, *values)]
        text = ",".join(value.s for value in values)
        helper = APPLY_HELPERS.get(n, "_ap")
        return E(
            f"({f.s}.fn({self.mark(node)}{text}) if _type({f.s}) is _L{n} else {helper}({self.mark(node)}{f.s},"
            f"{text}))",
            None,
            impure=True,
        )

    def call_self(self, node: N.Node, f: E, values: list[E]) -> E:
        """A recursive call of a lambda: its own Python function, if the name still refers to it."""
        self.recursive = True
        helper = APPLY_HELPERS.get(len(values), "_ap")
        if f.s == "_self":
            return E(
                f"_fn({self.mark(node)}{','.join(value.s for value in values)})", None, impure=True
            )
        values = [self.simple(value) for value in values]
        text = ",".join(value.s for value in values)
        return E(
            f"(_fn({self.mark(node)}{text}) if {f.s} is _self else {helper}({self.mark(node)}{f.s},{text}))",
            None,
            impure=True,
        )

    def spine(self, node: N.Node) -> list[N.Apply]:
        """The applications in a long row `f g h ...`, outermost first; empty if it is short."""
        applications: list[N.Apply] = []
        while node.__class__ is N.Apply and node.args:
            applications.append(node)
            node = node.args[-1]
        return applications if len(applications) > 40 else []

    def long_row(self, spine: list[N.Apply]) -> E:
        """A long row without recursion: from its right end, each result is passed to the next application."""
        expression = self.expr(spine[-1].args[-1])
        previous = ""
        for node in reversed(spine):
            ready = Ready(expression, node.args[-1])
            expression = self.expr(
                N.Apply(node.f, [*node.args[:-1], ready], node.start, node.end, node.at)
            )
            if expression.s.startswith("_t") and expression.atomic and expression.s != previous:
                if previous:  # release used-up values before the row ends
                    self.emit(f"{previous}=None")
                previous = expression.s
        return expression
