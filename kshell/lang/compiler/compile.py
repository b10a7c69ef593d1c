"""Compile q trees to Python functions.

A q lambda becomes a Python function whose locals are fast locals and whose globals are its namespace; a top-level
statement becomes one without parameters. q evaluates from right to left and Python from left to right, so operands with
side effects are evaluated into temporaries in q's order; operands without side effects stay inline.
"""

from __future__ import annotations

from typing import Any

from kshell import registry
from kshell.errors import QError, Source
from kshell.lang.compiler import inline, joined_lines, tree_queries
from kshell.lang.compiler.assignment import AssignmentMixin
from kshell.lang.compiler.code_objects import Block, Consts, build
from kshell.lang.compiler.control import ControlMixin
from kshell.lang.compiler.expr import ITERATE, K_UNARY, RESERVED, E, Loose
from kshell.lang.compiler.literal import value_of
from kshell.lang.compiler.pattern import PatternMixin, Ready
from kshell.lang.compiler.template import TemplateMixin
from kshell.parse import tree as N
from kshell.values.base.core import NIL, Value, sym
from kshell.values.base.functions import LAMBDA, Derived, Function, Iter, Lambda, Prim
from kshell.values.base.primitives import type_of_entry
from kshell.values.change.names import Names
from kshell.values.session.context import running

MAX_PARAMS = 8
_PRIMS: dict[int, Prim] = {}


def prim(entry: registry.Entry) -> Prim:
    """The value of a registered verb, iterator keyword or api function: one Prim per entry."""
    found = _PRIMS.get(id(entry))
    if found is None or found.entry is not entry:
        found = _PRIMS[id(entry)] = Prim(entry.name, entry.fns, entry, type_of_entry(entry))
    return found


def known(name: str) -> Value:
    """The value of a built-in name; a symbol for any other name."""
    entry = registry.find("verb", name)
    return prim(entry) if entry is not None else sym(name)


def is_infix(name: str) -> bool:
    """Can this name be used infix?"""
    entry = registry.find("verb", name)
    if entry is not None:
        return entry.infix
    f = running().names.spaces.get(".q", {}).get(name)  # a keyword defined by the user
    return isinstance(f, Function) and f.rank == 2


class Compiler(AssignmentMixin, ControlMixin, PatternMixin, TemplateMixin):
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

    def mark(self, node: Any) -> str:
        """The end of a Python line whose failure points at a node in the q text."""
        return f"#{node.at - self.base}\n"

    def store(self, text: str) -> str:
        """Assign an expression to a new temporary."""
        t = self.temp()
        self.emit(f"{t}={text}")
        return t

    def simple(self, e: E) -> E:
        """e as text that may be written twice: a name, temporary or number."""
        return e if e.atomic else E(self.store(e.s), e.kind, atomic=True, stable=True)

    def const(self, x: Value) -> E:
        return E(self.consts.add(x), None, atomic=True, stable=True)

    def error(self, text: str, node: Any) -> QError:
        return QError(text, node.at - self.base, self.source)

    def local(self, name: str) -> str:
        """The Python name of a local."""
        return f"_l_{name}" if name in RESERVED else name

    # ------------------------------------------------------------ order of evaluation
    def eval_many(self, nodes: list[Any]) -> list[E]:
        """Evaluate nodes from right to left; each becomes an expression that can be used in any order."""
        out: list[Any] = [None] * len(nodes)
        loose: Loose | None = None
        for i in range(len(nodes) - 1, -1, -1):
            mark, log = len(self.block), len(self.assigned)
            e = self.expr(nodes[i])
            effects = len(self.block) > mark or e.impure
            if loose is not None and (effects or e.glob or len(self.assigned) > log):
                late: Block = []
                for j in loose.touched(effects, self.assigned[log:], e.glob):
                    p = out[j]
                    t = self.temp()
                    late.append(f"{t}={p.s}")
                    out[j] = E(t, p.kind, atomic=True, stable=True)
                self.block[mark:mark] = late
            out[i] = e
            if i and not e.stable:
                loose = loose or Loose()
                loose.add(i, e)
        return out

    # ------------------------------------------------------------ expressions
    def expr(self, node: Any) -> E:
        """The Python expression for a node; statements it requires are added to the block."""
        if node.__class__ is N.Apply and (spine := self.spine(node)):
            return self.long_row(spine)
        e: E = getattr(self, "_" + type(node).__name__)(node)
        # Python's parser stops at 200 nested brackets
        return (
            E(self.store(e.s), e.kind, atomic=True, stable=True)
            if len(e.s) > 300 and not e.atomic
            else e
        )

    def spine(self, node: Any) -> list[Any]:
        """The applications in a long row `f g h ...`, outermost first; empty if it is short."""
        out = []
        while node.__class__ is N.Apply and node.args:
            out.append(node)
            node = node.args[-1]
        return out if len(out) > 40 else []

    def long_row(self, spine: list[Any]) -> E:
        """A long row without recursion: from its right end, each result is passed to the next application."""
        e = self.expr(spine[-1].args[-1])
        last = ""
        for n in reversed(spine):
            done = Ready(e, n.args[-1])
            e = self.expr(N.Apply(n.f, [*n.args[:-1], done], n.start, n.end, n.at))
            if e.s.startswith("_t") and e.atomic and e.s != last:
                if last:  # release used-up values before the row ends
                    self.emit(f"{last}=None")
                last = e.s
        return e

    def _Ready(self, node: Any) -> E:
        return node.e

    def _Lit(self, node: Any) -> E:
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

    def _Elided(self, node: Any) -> E:
        return E("_nil", None, atomic=True, stable=True)

    def _Name(self, node: Any) -> E:
        name = node.name
        if self.columns and not self.is_word(name):
            other = self.variable(node)
            plain = other.glob and other.s == name and self.params is not None
            text = f"_here({name!r},{self.ctx!r})" if plain else other.s
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

    def variable(self, node: Any) -> E:
        name = node.name
        if name in self.locals:
            return E(self.local(name), self.kinds.get(name), atomic=True, deps=frozenset((name,)))
        entry = registry.find("verb", name)
        if entry is not None:
            return self.const(prim(entry))
        own = self.names.spaces.get(".q", {})
        if name in own and name[0] != "_":
            return self.const(own[name])  # a keyword means what it meant when the code was read
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
        if name in RESERVED:
            return E(f"_get({name!r},{self.ctx!r})", None, glob=True, impure=True)
        if name != self.own and name not in self.space and name not in self.names.builtins:
            known = name in self.names.load_builtins()
            # if both names are undefined, q reports the right one
            return E(name, None, atomic=True, glob=True, impure=not known)
        return E(name, None, atomic=True, glob=True)

    def dotted(self, node: Any) -> E:
        name = node.name
        self.read_globals[name] = None
        head = name.split(".")[0]
        if head and head in self.locals:
            text = self.local(head)
            for part in name.split(".")[1:]:
                text = f"_dot({text},{part!r})"
            full, ctx = repr(name), repr(self.ctx)  # q refers to the global with the full name
            return E(
                f"(_get({full},{ctx}) if _known({full},{ctx}) else {self.mark(node)}{text})",
                None,
                deps=frozenset((head,)),
                glob=True,
                impure=True,
            )
        if name[0] == ".":
            space, last = self.names.split(name)
            entry = registry.find("name", name)
            if (
                entry is not None
                and 0 not in entry.fns
                and last not in self.names.spaces.get(space, ())
            ):
                return self.const(prim(entry))
            if last and space != ".":
                d = self.consts.add(self.names.space(space)) if space in self.names.spaces else "{}"
                return E(f"_ns({self.mark(node)}{d},{last!r},{name!r})", None, glob=True)
        return E(f"_get({self.mark(node)}{name!r},{self.ctx!r})", None, glob=True)

    def _Verb(self, node: Any) -> E:
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

    def _Iterator(self, node: Any) -> E:
        if node.f is None:
            return self.const(Iter(node.glyph))
        f = self.expr(node.f)
        if isinstance(node.f, N.Verb) or (isinstance(node.f, N.Name) and self.is_word(node.f.name)):
            return self.const(Derived(node.glyph, self.consts.values[-1]))
        return E(f"_derive({node.glyph!r},{f.s})", None, impure=f.impure, glob=f.glob, deps=f.deps)

    def _ListOf(self, node: Any) -> E:
        if not node.items:
            return E("_empty", None, atomic=True, stable=True)
        holes = [isinstance(item, N.Elided) for item in node.items]
        args = [E("_hole", None, atomic=True, stable=True) if hole else None for hole in holes]
        given = iter(
            self.eval_many([item for item, hole in zip(node.items, holes, strict=True) if not hole])
        )
        text = ",".join((arg or next(given)).s for arg in args)
        return E(f"_list({text})", None, impure=True)

    def _TableOf(self, node: Any) -> E:
        return self.columns_literal(node, "_table", node.keys, node.cols)

    def _DictOf(self, node: Any) -> E:
        return self.columns_literal(node, "_dictlit", None, node.items)

    def columns_literal(self, node: Any, helper: str, keys: Any, cols: Any) -> E:
        """A table or dictionary literal: given or inferred names, with their values."""
        both = [*(keys or ()), *cols]
        values = self.eval_many([n for _, n in both])
        names = tree_queries.column_names(both)
        pairs = [f"({n!r},{value.s})" for n, value in zip(names, values, strict=True)]
        count = len(keys or ())
        left = "None" if keys is None else f"[{','.join(pairs[:count])}]"
        args = f"[{','.join(pairs[count:])}]"
        return E(
            f"{helper}({self.mark(node)}{left},{args})"
            if helper == "_table"
            else f"{helper}({args})",
            None,
            impure=True,
        )

    def _Lambda(self, node: Any) -> E:
        return self.const(self.lambda_value(node))

    def lambda_value(self, node: Any, name: str = "") -> Lambda:
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
        made = self.const_values[node.start] = compile_lambda(
            node, source, self.names, self.ctx, name
        )
        return made

    def _Compose(self, node: Any) -> E:
        fs = self.eval_many(node.fs)
        return E(f"_compose({','.join(f.s for f in fs)})", None, impure=True)

    def _Block(self, node: Any) -> E:
        e = E("_nil", None, atomic=True, stable=True)
        for item in node.items:
            self.discard(e)
            e = self.expr(item)
        return e

    def discard(self, e: E) -> None:
        """Run an expression for its side effects."""
        if not e.idle and (not e.atomic or e.glob):
            self.emit(e.s)

    def _Signal(self, node: Any) -> E:
        e = self.expr(node.value)
        return E(f"_signal({self.mark(node)}{e.s})", None, impure=True)

    def _Return(self, node: Any) -> E:
        e = self.expr(node.value)
        self.emit(f"return {e.s}")
        return E("_nil", None, atomic=True, stable=True)

    # ------------------------------------------------------------ application
    def _Apply(self, node: Any) -> E:
        f, args = node.f, node.args
        if any(isinstance(arg, N.Elided) for arg in args):
            return self.projection(node)
        if isinstance(f, N.Verb):
            return self.verb_call(node, f.glyph, registry.find("verb", f.glyph))
        if isinstance(f, N.Name) and self.is_word(f.name):
            return self.verb_call(node, f.name, registry.find("verb", f.name))
        if isinstance(f, N.Iterator) and f.f is not None:
            return self.derived_call(node)
        callee, *values = self.eval_many([f, *args] if args else [f])
        return self.call(node, callee, values)

    def projection(self, node: Any) -> E:
        """Application with omitted arguments."""
        args: list[Any] = node.args
        given = [arg for arg in args if not isinstance(arg, N.Elided)]
        values = iter(self.eval_many([node.f, *given]))
        callee = next(values)
        text = ",".join("_hole" if isinstance(arg, N.Elided) else next(values).s for arg in args)
        if args and all(isinstance(arg, N.Elided) for arg in args) and len(args) == 1:
            return self.call(node, callee, [])
        return E(f"_ap({self.mark(node)}{callee.s},{text})", None, impure=True)

    def verb_call(self, node: Any, name: str, entry: registry.Entry | None) -> E:
        """A built-in with arguments: its function is called by name, or inlined for atoms."""
        args = node.args
        if name == "::" and len(args) == 1:
            return self.expr(args[0])
        if name == ":" and len(args) > 2:
            return self.pattern_cond(node)
        if entry is None:
            if len(args) == 1 and isinstance(node.f, N.Verb):
                e = self.expr(args[0])
                return self.k_unary(node, registry.find("verb", K_UNARY.get(name, "")), e)
            raise self.error("nyi", node)
        values = self.eval_many(args)
        if len(args) == 2:
            quick = inline.dyad(self, node, name, *values)
            if quick is not None:
                return quick
        elif len(args) == 1:
            quick = inline.monad(self, node, name, values[0])
            if quick is not None:
                return quick
            if (
                isinstance(node.f, N.Verb)
                and 1 not in entry.fns
                and (after := self.text_after(node.f)) != "["
            ):
                known = registry.find("verb", K_UNARY.get(name + ":", ""))
                # `(#)x` is k's unary form, `#x` an error
                allowed = name == "-" or after == ")"
                return self.k_unary(node, known if allowed else None, values[0])
        return self.direct(node, entry, values)

    def k_unary(self, node: Any, known: registry.Entry | None, e: E) -> E:
        """A glyph on one argument that has no unary form in q: k's verb for it, or else an error at run time."""
        if known is not None:
            return self.direct(node, known, [e])
        return E(f"_unary({self.mark(node)}{node.f.glyph!r},{e.s})", None, impure=True)

    def text_after(self, node: Any) -> str:
        """The character after a node in the source text."""
        at = node.end - self.base
        return self.source.text[at : at + 1]

    def direct(self, node: Any, entry: registry.Entry, values: list[E]) -> E:
        count = len(values) or 1
        if count not in entry.fns and -1 not in entry.fns:
            f = self.const(prim(entry))
            return self.call(node, f, values)
        texts = [value.s for value in values] or ["_nil"]
        return E(
            f"{self.verb_name(entry, count)}({self.mark(node)}{','.join(texts)})", None, impure=True
        )

    def verb_name(self, entry: registry.Entry, n: int) -> str:
        """A Python name, among the builtins of all namespaces, for the function of a verb with n arguments."""
        fn = entry.fns.get(n) or entry.fns[-1]
        name = f"_v{n}{entry.name.encode().hex()}"  # the same in every process: texts are cached with their code
        if self.names.builtins.setdefault(name, fn) is not fn:
            name = f"_v{id(fn):x}"  # the name belonged to another entry
            self.names.builtins.setdefault(name, fn)
        return name

    def derived_call(self, node: Any) -> E:
        """`f/ x`, `x f' y` and the like: the iterator's function is called with f and the arguments."""
        it = node.f
        helper = ITERATE.get((it.glyph, len(node.args)))
        f, *values = self.eval_many([it.f, *node.args] if node.args else [it.f])
        if helper is None:
            d = E(f"_derive({it.glyph!r},{f.s})", None, impure=f.impure, glob=f.glob, deps=f.deps)
            return self.call(node, d, values)
        return E(
            f"{helper}({self.mark(node)}{f.s},{','.join(value.s for value in values)})",
            None,
            impure=True,
        )

    def call(self, node: Any, f: E, values: list[E]) -> E:
        """A value known only at run time, applied to arguments: lambdas of that rank are called directly."""
        n = len(values)
        if n == 0:
            values = [E("_nil", None, atomic=True, stable=True)]
            n = 1
        if (f.s == "_self" or (f.glob and f.s == self.own)) and n == max(len(self.params or ()), 1):
            return self.call_self(node, f, values)
        if n > 3 or f.stable:
            helper = "_ap1" if n == 1 else "_ap"
            return E(
                f"{helper}({self.mark(node)}{f.s},{','.join(value.s for value in values)})",
                None,
                impure=True,
            )
        f, *values = [self.simple(value) for value in (f, *values)]
        text = ",".join(value.s for value in values)
        helper = "_ap1" if n == 1 else "_ap"
        return E(
            f"({f.s}.fn({self.mark(node)}{text}) if _type({f.s}) is _L{n} else {helper}({self.mark(node)}{f.s},"
            f"{text}))",
            None,
            impure=True,
        )

    def call_self(self, node: Any, f: E, values: list[E]) -> E:
        """A recursive call of a lambda: its own Python function, if the name still refers to it."""
        self.recursive = True
        helper = "_ap1" if len(values) == 1 else "_ap"
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


def _head(c: Compiler, unset: set[str]) -> list[str]:
    """The first lines of a function: declare globals, initialize unset variables to empty."""
    stores = sorted(c.global_stores)
    head = ["global " + ",".join(stores)] if stores else []
    return head + [f"{c.local(name)}=_empty" for name in sorted(unset)]


def compile_lambda(node: Any, source: Source, names: Names, ctx: str, name: str = "") -> Lambda:
    """The Lambda for a lambda node."""
    params = tree_queries.params_of(node)
    if len(params) > MAX_PARAMS:
        raise QError("params", 0, source)
    local = tree_queries.locals_of(node.body, params)
    c = Compiler(names, ctx, source, params, node.start, name)
    c.locals |= local
    joined_lines.warn(node, source)
    scope = tree_queries.late_local(node.body, local)
    if scope is not None:
        raise c.error(scope.name, scope)
    body = c.function_body(node, name)
    given = params or ("_x",)
    text = ",".join(c.local(p) for p in given)
    head = _head(c, local - set(params) - tree_queries.set_first(node.body))
    if c.recursive:
        text += ",_self=None,_fn=None"
    fn = build("_f", text, head + body, c.consts, source, c.space)
    shown = "locked" if source.file.endswith(".q_") else node.text
    made = LAMBDA.get(len(given), Lambda)(fn, shown, params, source, ctx)
    made.locals = tuple(sorted(local - set(params)))
    made.globals = tuple(c.read_globals)
    made.consts = tuple(c.const_values.values())
    made.tree, made.own, made.stores = node, name, c.stores
    names.lambdas.add(made)
    if c.recursive:
        fn.__defaults__ = (made, fn)
    return made


def compile_again(f: Lambda, names: Names) -> None:
    """Recompile a lambda in place, after something its code depends on has changed."""
    f.fn.__code__ = compile_lambda(f.tree, f.source, names, f.ctx, f.own).fn.__code__


def check_stores(names: Names) -> None:
    """From now on, make compiled code check before it assigns a global, and report the assignment."""
    if not names.checked:
        names.checked = True
        for f in list(names.lambdas):
            if f.stores:
                compile_again(f, names)


def compile_statement(node: Any, source: Source, names: Names) -> Any:
    """The Python function for one top-level expression; call it for the value."""
    c = Compiler(names, names.current, source, None)
    c.function_body_top(node)
    head: Block = []
    if c.global_stores:
        head.append("global " + ",".join(sorted(c.global_stores)))
    return build("_s", "", head + c.block, c.consts, source, c.space)
