"""Control words and function bodies: Python's own `if`, `while` and `for`.

Types of locals (is it certainly a long?) are inferred as code is emitted. A branch works on a copy, and the copies are
joined; a loop's body is emitted again, assuming less each time, until its assumptions hold at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kshell import registry
from kshell.errors import QError
from kshell.lang.compiler import inline, tree_queries
from kshell.lang.compiler.code_objects import Block
from kshell.lang.compiler.expr import E
from kshell.parse import tree as N

Kinds = dict[str, str | None]
NIL_E = E("_nil", None, atomic=True, stable=True)
MANY = 3000  # statements in a lambda


def join(a: Kinds, b: Kinds) -> Kinds:
    """The types that hold in both branches."""
    return {key: value for key, value in a.items() if b.get(key) == value}


class ControlMixin:
    """The part of the compiler that emits control flow."""

    if TYPE_CHECKING:
        block: Block
        kinds: Kinds
        temps: int
        params: tuple[str, ...] | None
        locals: set[str]
        columns: int
        inlines: bool
        assigned: list[str]

        def emit(self, line: str) -> None: ...
        def expr(self, node: N.Node) -> E: ...
        def discard(self, e: E) -> None: ...
        def temp(self) -> str: ...
        def local(self, name: str) -> str: ...
        def error(self, text: str, node: N.Node) -> QError: ...
        def mark(self, node: N.Node) -> str: ...
        def is_word(self, name: str) -> bool: ...
        def simple(self, e: E) -> E: ...
        def eval_many(self, nodes: Sequence[N.Node]) -> list[E]: ...
        def verb_name(self, entry: registry.Entry, n: int) -> str: ...

    # ------------------------------------------------------------ blocks
    def sub(self, run: Callable[[], object]) -> tuple[Block, Kinds]:
        """The block and types after `run()` emits into a separate block; the current ones are unchanged."""
        block, kinds = self.block, dict(self.kinds)
        self.block = []
        try:
            run()
            return self.block, self.kinds
        finally:
            self.block, self.kinds = block, kinds

    def statement(self, node: N.Node) -> None:
        """A node for its side effects."""
        if isinstance(node, N.Cond):
            self.branches(node.args, None)
        else:
            self.discard(self.expr(node))

    # ------------------------------------------------------------ $[...]
    def _Cond(self, node: N.Cond) -> E:
        if self.columns:  # templates have no control flow
            return E(f"_fail({self.mark(node)}'rank')", None, impure=True)
        target = self.temp()
        self.branches(node.args, target)
        return E(target, None, atomic=True, stable=True)

    def branches(self, args: list[N.Node], target: str | None) -> None:
        """`$[c;a;c;a;...;b]` as a chain of ifs; the value goes to `target`, is returned ('return') or dropped."""
        if len(args) == 1:
            self.leaf(args[0], target)
            return
        levels = []  # for each condition: its block, its test, the block of its value, the types afterwards
        block = self.block
        try:
            while len(args) > 1:
                test, value = inline.condition(self, args[0]), args[1]
                consequent, after = self.sub(partial(self.leaf, value, target))
                levels.append((self.block, test, consequent, after))
                self.block, self.kinds, args = [], dict(self.kinds), args[2:]
            self.leaf(args[0], target) if args else self.put_value(NIL_E, target)
            inner = self.block
        finally:
            self.block = block
        chain: Block = []  # backwards, so that conditions can be put before it
        if inner and inner[0][:3] == "if " and all(o[:4] in ("elif", "else") for o in inner[2::2]):
            chain, inner = inner[::-1], []
        for self.block, test, consequent, after in reversed(levels):
            if chain:
                chain[-1] = "el" + chain[-1]  # a further condition does not nest deeper
            elif inner:
                chain = [inner, "else:"]
            chain += [consequent, f"if {test}:"]
            inner = self.block
            self.kinds = join(after, self.kinds)
            if inner:
                self.block += chain[::-1]
                chain = []
        self.block += chain[::-1]

    def leaf(self, node: N.Node, target: str | None) -> None:
        if target is None:
            self.statement(node)
        elif target == "return":
            self.tail(node)
        else:
            self.put_value(self.expr(node), target)

    def put_value(self, e: E, target: str | None) -> None:
        if target == "return":
            self.emit(f"return {e.s}")
        elif target is not None:
            self.emit(f"{target}={e.s}")
        else:
            self.discard(e)

    # ------------------------------------------------------------ if, while, do
    def _Control(self, node: N.Control) -> E:
        if not node.args:
            raise self.error("parse", node)
        {"if": self.if_, "while": self.while_, "do": self.do_}[node.word](node.args)
        return NIL_E

    def body(self, nodes: Sequence[N.Node]) -> None:
        for node in nodes:
            if not isinstance(node, N.Elided):
                self.statement(node)

    def if_(self, args: list[N.Node]) -> None:
        test = inline.condition(self, args[0])
        consequent, kinds = self.sub(lambda: self.body(args[1:]))
        self.block += [f"if {test}:", consequent]
        self.kinds = join(self.kinds, kinds)

    def while_(self, args: list[N.Node]) -> None:
        def run() -> None:
            test = inline.condition(self, args[0])
            if self.block:
                self.emit(f"if not {test}: break")
                self.body(args[1:])
                self.block[:] = ["while True:", list(self.block)]
            else:
                self.body(args[1:])
                self.block[:] = [f"while {test}:", list(self.block) or ["_safe()"]]

        self.loop(run)

    def do_(self, args: list[N.Node]) -> None:
        count, turns = self.expr(args[0]), self.temp()

        def run() -> None:
            self.body(args[1:])
            self.block[:] = [
                f"{turns}=_iter(_range(_times({self.mark(args[0])}{count.s})))",
                f"for _ in {turns}:",
                list(self.block) or ["_safe()"],
            ]

        self.loop(run)

    def loop(self, run: Callable[[], None]) -> None:
        """Emit a loop so that the types at its start hold again at its end."""
        log_size = len(self.assigned)
        while True:
            temps = self.temps
            block, after = self.sub(run)
            common = join(self.kinds, after)
            if common == self.kinds:
                break
            self.kinds, self.temps = common, temps
            del self.assigned[log_size:]
        self.block += block

    # ------------------------------------------------------------ bodies of functions
    def tail(self, node: N.Node) -> None:
        """The last node of a function: return its value."""
        if isinstance(node, N.Cond):
            self.branches(node.args, "return")
        elif isinstance(node, N.Return):
            self.expr(node)
        else:
            expression = self.expr(node)
            self.emit(f"return {expression.s}")

    def whole(self, nodes: Sequence[N.Node]) -> None:
        """The statements of a lambda. If there are very many, those without a loop get no inlined native code:
        compiling it would cost more than it ever saves."""
        for node in nodes[:-1]:
            self.inlines = len(nodes) < MANY or tree_queries.loops([node])
            if not isinstance(node, N.Elided):
                self.statement(node)
        self.inlines = True
        if not nodes or isinstance(nodes[-1], N.Elided):
            self.emit("return _nil")
        else:
            self.tail(nodes[-1])

    def function_body(self, node: N.Lambda, name: str) -> Block:
        """The block of a lambda, with a second version for long parameters where loops or recursion make it
        worthwhile."""
        params = self.params or ()
        if 1 <= len(params) <= 2 and self.worth(node.body, params, name):
            quick, _ = self.sub(lambda: self.version(node.body, params))
            tests = " and ".join(f"_type({self.local(param)}) is _int" for param in params)
            self.block = [f"if {tests}:", quick]
            self.kinds = {}
            self.whole(node.body)
            return self.block
        self.whole(node.body)
        return self.block

    def version(self, body: list[N.Node], params: tuple[str, ...]) -> None:
        self.kinds = dict.fromkeys(params, "j")
        self.whole(body)

    def worth(self, body: list[N.Node], params: tuple[str, ...], name: str) -> bool:
        """Would a version for long arguments save much: is there a loop, condition or recursion, and arithmetic on
        them?"""
        repeats = (
            tree_queries.loops(body)
            or tree_queries.uses(body, ".z.s")
            or any(isinstance(node, N.Cond) for node in tree_queries.walk(body))
            or (bool(name) and tree_queries.uses(body, name))
        )
        return repeats and any(
            isinstance(node, N.Apply)
            and isinstance(node.f, N.Verb)
            and node.f.glyph in {**inline.ARITH, **inline.COMPARE}
            and any(
                isinstance(argument, N.Name) and argument.name in params for argument in node.args
            )
            for node in tree_queries.walk(body)
        )

    def function_body_top(self, node: N.Node) -> None:
        """A top-level expression; an assignment has no value to show."""
        if isinstance(node, N.Assign):
            self.discard(self.expr(node))
            self.emit("return _nil")
        else:
            self.tail(node)
