"""Compile q trees to Python functions.

A q lambda becomes a Python function whose locals are fast locals and whose globals are its namespace; a top-level
statement becomes one without parameters. q evaluates from right to left and Python from left to right, so operands with
side effects are evaluated into temporaries in q's order; operands without side effects stay inline.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from kshell import registry
from kshell.errors import QError, Source
from kshell.lang.compiler import joined_lines, tree_queries
from kshell.lang.compiler.application import ApplicationMixin
from kshell.lang.compiler.assignment import AssignmentMixin
from kshell.lang.compiler.built_ins import prim
from kshell.lang.compiler.code_objects import Block, Consts, build
from kshell.lang.compiler.control import ControlMixin
from kshell.lang.compiler.expr import K_UNARY, RESERVED, E, Loose, is_plain
from kshell.lang.compiler.literal import value_of
from kshell.lang.compiler.pattern import PatternMixin, Ready
from kshell.lang.compiler.template import TemplateMixin
from kshell.parse import tree as N
from kshell.values.base.core import NIL, Value
from kshell.values.base.functions import LAMBDA, Derived, Iter, Lambda
from kshell.values.change.names import PERMANENT, Names

MAX_PARAMS = 8


class Compiler(ApplicationMixin, AssignmentMixin, ControlMixin, PatternMixin, TemplateMixin):
    """Compiles one function. `params` None means a top-level statement, whose assignments are global."""

    def __init__(
        self,
        names: Names,
        ctx: str,
        source: Source,
        params: tuple[str, ...] | None,
        base: int = 0,
        own: str = "",
    ) -> None:
        self.own = own  # the name to which the lambda is assigned
        self.recursive = False  # does it use that name, or .z.s?
        self.names, self.ctx, self.source, self.params, self.base = names, ctx, source, params, base
        self.space = names.space(ctx)
        self.consts = Consts()
        self.block: Block = []
        self.locals: set[str] = set(params or ())
        self.kinds: dict[str, str | None] = {}
        self.global_stores: set[str] = set()
        self.read_globals: dict[str, None] = {}
        self.const_values: dict[int, Any] = {}  # by offset: the node of a literal, or a lambda
        self.stores = False  # does it assign a global variable?
        # does it ask before, and say so? Names come and go in the permanent namespaces only where `names` sees it
        self.asks = names.checked or ctx in PERMANENT
        self.temps = 0
        self.assigned: list[str] = []  # log of assignments to locals, for the order of evaluation
        self.inlines = True  # is native code emitted in addition to verb calls?
        self.columns = 0  # nesting depth of qSQL phrases at this point

    # ------------------------------------------------------------ small tools
    def temp(self) -> str:
        self.temps += 1
        return f"_t{self.temps}"

    def emit(self, line: str) -> None:
        self.block.append(line)

    def mark(self, node: N.Node) -> str:
        """The end of a Python line whose failure points at a node in the q text."""
        return f"#{node.at - self.base}\n"

    def store(self, text: str) -> str:
        """Assign an expression to a new temporary."""
        temporary = self.temp()
        self.emit(f"{temporary}={text}")
        return temporary

    def simple(self, e: E) -> E:
        """e as text that may be written twice: a name, temporary or number."""
        return e if e.atomic else E(self.store(e.s), e.kind, atomic=True, stable=True)

    def const(self, x: Value) -> E:
        return E(self.consts.add(x), None, atomic=True, stable=True)

    def error(self, text: str, node: N.Node) -> QError:
        return QError(text, node.at - self.base, self.source)

    def local(self, name: str) -> str:
        """The Python name of a local."""
        return f"_l_{name}" if name in RESERVED else name

    # ------------------------------------------------------------ order of evaluation
    def eval_many(self, nodes: Sequence[N.Node]) -> list[E]:
        """Evaluate nodes from right to left; each becomes an expression that can be used in any order."""
        expressions: list[Any] = [None] * len(nodes)
        loose: Loose | None = None
        for index in range(len(nodes) - 1, -1, -1):
            block_size, log_size = len(self.block), len(self.assigned)
            expression = self.expr(nodes[index])
            effects = len(self.block) > block_size or expression.impure
            if loose is not None and (effects or expression.glob or len(self.assigned) > log_size):
                assignments: Block = []
                for position in loose.touched(effects, self.assigned[log_size:], expression.glob):
                    pending = expressions[position]
                    temporary = self.temp()
                    assignments.append(f"{temporary}={pending.s}")
                    expressions[position] = E(temporary, pending.kind, atomic=True, stable=True)
                self.block[block_size:block_size] = assignments
            expressions[index] = expression
            if index and not expression.stable:
                loose = loose or Loose()
                loose.add(index, expression)
        return expressions

    # ------------------------------------------------------------ expressions
    def expr(self, node: N.Node) -> E:
        """The Python expression for a node; statements it requires are added to the block."""
        if node.__class__ is N.Apply and (spine := self.spine(node)):
            return self.long_row(spine)
        expression: E = getattr(self, "_" + type(node).__name__)(node)
        # Python's parser stops at 200 nested brackets
        return (
            E(self.store(expression.s), expression.kind, atomic=True, stable=True)
            if len(expression.s) > 300 and not expression.atomic
            else expression
        )

    def _Ready(self, node: Ready) -> E:
        return node.e

    def _Lit(self, node: N.Lit) -> E:
        self.const_values[node.start] = node
        if node.t == "j" and node.data.__class__ is int and abs(node.data) < (1 << 63) - 1:
            return E(
                repr(node.data) if node.data >= 0 else f"({node.data})",
                "j",
                atomic=True,
                stable=True,
                exact=True,
            )
        if node.t == "f" and node.data.__class__ is float and abs(node.data) < 1e300:
            return E(
                repr(node.data) if node.data >= 0 else f"({node.data!r})",
                "f",
                atomic=True,
                stable=True,
            )
        if node.t == "b" and node.data.__class__ in (bool, int):
            return E("True" if node.data else "False", "b", atomic=True, stable=True)
        return self.const(value_of(node))

    def _Elided(self, node: N.Elided) -> E:
        return E("_nil", None, atomic=True, stable=True)

    def _Name(self, node: N.Name) -> E:
        name = node.name
        if self.columns and not self.is_word(name):
            variable = self.variable(node)
            plain = variable.glob and variable.s == name and self.params is not None
            text = f"_here({name!r},{self.ctx!r})" if plain else variable.s
            return E(
                f"(_c[{name!r}] if {name!r} in _c else {self.mark(node)}{text})",
                None,
                glob=True,
                impure=True,
            )
        return self.variable(node)

    def is_word(self, name: str) -> bool:
        """Is this a language keyword here, not hidden by a local?"""
        return name not in self.locals and registry.find("verb", name) is not None

    def variable(self, node: N.Name) -> E:
        name = node.name
        if name in self.locals:
            return E(self.local(name), self.kinds.get(name), atomic=True, deps=frozenset((name,)))
        entry = registry.find("verb", name)
        if entry is not None:
            return self.const(prim(entry))
        keywords = self.names.spaces.get(".q", {})
        if name in keywords and name[0] != "_":
            # a keyword means what it meant when the code was read
            return self.const(keywords[name])
        if name == ".z.s":
            if self.params is None:
                return self.const(NIL)
            self.recursive = True
            return E("_self", None, atomic=True, stable=True)
        if "." in name:
            return self.dotted(node)
        self.read_globals[name] = None
        if name in self.names.views and self.ctx == "." and self.names.view(name) is not None:
            return E(f"_view({self.mark(node)}{name!r})", None, glob=True, impure=True)
        if not is_plain(name):
            return E(f"_get({name!r},{self.ctx!r})", None, glob=True, impure=True)
        if name != self.own and name not in self.space and name not in self.names.builtins:
            is_builtin = name in self.names.load_builtins()
            # if both names are undefined, q reports the right one
            return E(name, None, atomic=True, glob=True, impure=not is_builtin)
        return E(name, None, atomic=True, glob=True)

    def dotted(self, node: N.Name) -> E:
        name = node.name
        self.read_globals[name] = None
        variable = name.split(".")[0]
        if variable and variable in self.locals:
            text = self.local(variable)
            for field in name.split(".")[1:]:
                text = f"_dot({text},{field!r})"
            full, ctx = repr(name), repr(self.ctx)  # q refers to the global with the full name
            return E(
                f"(_get({full},{ctx}) if _known({full},{ctx}) else {self.mark(node)}{text})",
                None,
                deps=frozenset((variable,)),
                glob=True,
                impure=True,
            )
        if name[0] == ".":
            space, member = self.names.split(name)
            entry = registry.find("name", name)
            if (
                entry is not None
                and 0 not in entry.fns
                and member not in self.names.spaces.get(space, ())
            ):
                return self.const(prim(entry))
            if member and space != ".":
                space_text = (
                    self.consts.add(self.names.space(space)) if space in self.names.spaces else "{}"
                )
                return E(f"_ns({self.mark(node)}{space_text},{member!r},{name!r})", None, glob=True)
        return E(f"_get({self.mark(node)}{name!r},{self.ctx!r})", None, glob=True)

    def _Verb(self, node: N.Verb) -> E:
        if node.glyph == "::":
            return self.const(NIL)
        entry = registry.find("verb", node.glyph)
        if entry is None and node.glyph.endswith(":") and len(node.glyph) > 1:
            entry = registry.find("verb", K_UNARY.get(node.glyph, "")) or registry.find(
                "verb", node.glyph[:-1]
            )
        if entry is None:
            raise self.error("nyi", node)
        return self.const(prim(entry))

    def _Iterator(self, node: N.Iterator) -> E:
        if node.f is None:
            return self.const(Iter(node.glyph))
        f = self.expr(node.f)
        if isinstance(node.f, N.Verb) or (isinstance(node.f, N.Name) and self.is_word(node.f.name)):
            return self.const(Derived(node.glyph, self.consts.values[-1]))
        return E(f"_derive({node.glyph!r},{f.s})", None, impure=f.impure, glob=f.glob, deps=f.deps)

    def _ListOf(self, node: N.ListOf) -> E:
        if not node.items:
            return E("_empty", None, atomic=True, stable=True)
        holes = [isinstance(item, N.Elided) for item in node.items]
        expressions = [
            E("_hole", None, atomic=True, stable=True) if hole else None for hole in holes
        ]
        remaining = iter(
            self.eval_many([item for item, hole in zip(node.items, holes, strict=True) if not hole])
        )
        text = ",".join((expression or next(remaining)).s for expression in expressions)
        return E(f"_list({text})", None, impure=True)

    def _TableOf(self, node: N.TableOf) -> E:
        return self.columns_literal(node, "_table", node.keys, node.cols)

    def _DictOf(self, node: N.DictOf) -> E:
        return self.columns_literal(node, "_dictlit", None, node.items)

    def columns_literal(
        self, node: N.Node, helper: str, keys: list[N.Column] | None, cols: list[N.Column]
    ) -> E:
        """A table or dictionary literal: given or inferred names, with their values."""
        columns = [*(keys or ()), *cols]
        values = self.eval_many([column for _, column in columns])
        names = tree_queries.column_names(columns)
        pairs = [f"({column!r},{value.s})" for column, value in zip(names, values, strict=True)]
        count = len(keys or ())
        keys_text = "None" if keys is None else f"[{','.join(pairs[:count])}]"
        columns_text = f"[{','.join(pairs[count:])}]"
        return E(
            f"{helper}({self.mark(node)}{keys_text},{columns_text})"
            if helper == "_table"
            else f"{helper}({columns_text})",
            None,
            impure=True,
        )

    def _Lambda(self, node: N.Lambda) -> E:
        return self.const(self.lambda_value(node))

    def lambda_value(self, node: N.Lambda, name: str = "") -> Lambda:
        """The lambda for a node, which may be assigned to a name; a nested lambda is named after the outer one."""
        text = node.text
        if self.params is not None:
            shown = self.source.name + "@" if self.source.name else ""
        else:
            shown = f"{self.ctx}.{name}" if name and name[0] != "." and self.ctx != "." else name
        source = Source(text, self.source.file, self.source.line, shown)
        source.line += (
            self.source.text.count("\n", 0, max(node.start - self.base, 0))
            if self.source.file
            else 0
        )
        compiled = self.const_values[node.start] = compile_lambda(
            node, source, self.names, self.ctx, name
        )
        return compiled

    def _Compose(self, node: N.Compose) -> E:
        functions = self.eval_many(node.fs)
        return E(f"_compose({','.join(function.s for function in functions)})", None, impure=True)

    def _Block(self, node: N.Block) -> E:
        expression = E("_nil", None, atomic=True, stable=True)
        for statement in node.items:
            self.discard(expression)
            expression = self.expr(statement)
        return expression

    def discard(self, e: E) -> None:
        """Run an expression for its side effects."""
        if not e.idle and (not e.atomic or e.glob):
            self.emit(e.s)

    def _Signal(self, node: N.Signal) -> E:
        expression = self.expr(node.value)
        return E(f"_signal({self.mark(node)}{expression.s})", None, impure=True)

    def _Return(self, node: N.Return) -> E:
        expression = self.expr(node.value)
        self.emit(f"return {expression.s}")
        return E("_nil", None, atomic=True, stable=True)


def _head(c: Compiler, unset: set[str]) -> list[str]:
    """The first lines of a function: declare globals, initialize unset variables to empty."""
    stores = sorted(c.global_stores)
    lines = ["global " + ",".join(stores)] if stores else []
    return lines + [f"{c.local(name)}=_empty" for name in sorted(unset)]


def compile_lambda(
    node: N.Lambda, source: Source, names: Names, ctx: str, name: str = ""
) -> Lambda:
    """The Lambda for a lambda node."""
    params = tree_queries.params_of(node)
    if len(params) > MAX_PARAMS:
        raise QError("params", 0, source)
    local_names = tree_queries.locals_of(node.body, params)
    compiler = Compiler(names, ctx, source, params, node.start, name)
    compiler.locals |= local_names
    joined_lines.warn(node, source)
    scope = tree_queries.late_local(node.body, local_names)
    if scope is not None:
        raise compiler.error(scope.name, scope)
    body = compiler.function_body(node, name)
    param_names = params or ("_x",)
    text = ",".join(compiler.local(param) for param in param_names)
    lines = _head(compiler, local_names - set(params) - tree_queries.set_first(node.body))
    if compiler.recursive:
        text += ",_self=None,_fn=None"
    function = build("_f", text, lines + body, compiler.consts, source, compiler.space)
    shown = "locked" if source.file.endswith(".q_") else node.text
    compiled = LAMBDA.get(len(param_names), Lambda)(function, shown, params, source, ctx)
    compiled.locals = tuple(sorted(local_names - set(params)))
    compiled.globals = tuple(compiler.read_globals)
    compiled.consts = tuple(compiler.const_values.values())
    compiled.tree, compiled.own, compiled.stores = node, name, compiler.stores
    names.lambdas.add(compiled)
    source.function = ref(compiled)
    if compiler.recursive:
        function.__defaults__ = (compiled, function)
    return compiled


def compile_again(f: Lambda, names: Names) -> None:
    """Recompile a lambda in place, after something its code depends on has changed."""
    f.fn.__code__ = compile_lambda(f.tree, f.source, names, f.ctx, f.own).fn.__code__
    f.source.function = ref(f)


def check_stores(names: Names) -> None:
    """From now on, make compiled code check before it assigns a global, and report the assignment."""
    if not names.checked:
        names.checked = True
        for function in list(names.lambdas):
            if function.stores:
                compile_again(function, names)


def compile_statement(node: N.Node, source: Source, names: Names) -> Callable[[], Value]:
    """The Python function for one top-level expression; call it for the value."""
    compiler = Compiler(names, names.current, source, None)
    compiler.function_body_top(node)
    lines: Block = []
    if compiler.global_stores:
        lines.append("global " + ",".join(sorted(compiler.global_stores)))
    return build("_s", "", lines + compiler.block, compiler.consts, source, compiler.space)
