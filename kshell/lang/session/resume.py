"""Continue after an error: build the rest of a failed function, with a value in place of the failed expression.

A Python function that failed has ended, but its traceback tells which expression of the emitted text failed, and its
frame still holds all variables and temporaries. The compiler puts everything with side effects into temporaries, in q's
order, so whatever was on Python's stack when an expression failed can be recomputed. The rest of the function can
therefore be built from the syntax tree of the emitted text: the failed statement with the value in place, and
everything after it; for a loop, the rest of the current iteration and then the others. All of this costs nothing until
it is used.
"""

from __future__ import annotations

import ast
import copy
import inspect
import re
from collections.abc import Callable, Iterator
from itertools import chain
from opcode import opname
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any

from kshell import registry
from kshell.errors import Source
from kshell.lang.compiler import stepwise
from kshell.lang.compiler.code_objects import FILE, CodeInfo, Consts
from kshell.lang.each import accumulators, maps
from kshell.values.base.core import Value

Step = Callable[[Value], Value]
# for Python functions between q functions: compute their result from their variables and the value that the failed
# call should have returned; None: that value
CONTINUED: dict[CodeType, Callable[[dict[str, Any], Value], Value] | None] = {}
_VERB = re.compile(r"_v\d((?:[0-9a-f]{2})+)")  # Compiler.verb_name
# Python functions whose loops continue like those of q code
_LOOPS = {
    value.__code__
    for of in (accumulators, maps)
    for value in vars(of).values()
    if isinstance(value, FunctionType)
    and value is not maps.each_parallel
    and value.__module__ in (accumulators.__name__, maps.__name__, stepwise.__name__)
}
_CALLS = ("CALL", "CALL_FUNCTION_EX", "CALL_KW")
_MADE = "_r"  # prefix of names that occur only in the rest of a function


def _of_python(code: CodeType) -> CodeInfo:
    """A function from Python source, in the form of compiled q code."""
    tree = ast.parse(inspect.getsource(code)).body[0]
    ast.increment_lineno(tree, code.co_firstlineno - 1)
    info = CodeInfo(Source(""), [0] * (code.co_firstlineno + len(code.co_code)), "", Consts())
    info.tree = tree
    return info


class Stuck:
    """A point where evaluation cannot continue: a Python function that had more to do than the failed call, or (q) a
    phrase of a query."""

    def __init__(self, q: bool) -> None:
        self.q = q


class Rest:
    """The rest of a failed q function."""

    __slots__ = ("code", "info", "last", "locals", "ran", "space")

    def __init__(self, ran: FrameType, last: int) -> None:
        self.ran: FrameType | None = ran
        self.code, self.space, self.last = ran.f_code, ran.f_globals, last
        self.locals = dict(ran.f_locals)
        info = ran.f_code.co_consts[-1]
        self.info: CodeInfo = info if info.__class__ is CodeInfo else _of_python(ran.f_code)

    def failed(self) -> tuple[ast.FunctionDef, ast.expr] | None:
        """The tree of the function, and the failed expression in it; None if it cannot be found, or is in a loop over
        something that no variable holds."""
        original: Any = (
            self.info.tree if self.info.tree is not None else ast.parse(self.info.text).body[0]
        )
        tree: ast.FunctionDef = copy.deepcopy(original)
        span = list(self.code.co_positions())[self.last // 2]
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.expr)
                and (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == span
            ):
                return (tree, node) if all(map(_goes_on, _loops_around(tree, node))) else None
        return None

    def __call__(self, value: Value) -> Value:
        failure = self.failed()
        assert failure is not None
        tree, node = failure
        turn = self.info.turn
        value_name = f"{_MADE}{turn}"
        statements, offsets = _Left(tree, node, value_name, self.info).body()
        variables = {**self.locals, value_name: value, _MADE + "chain": chain}
        tree.args = ast.arguments([], [ast.arg(name) for name in variables], None, [], [], None, [])
        tree.body = statements
        tree.returns = None  # Python 3.14 compiles annotations to a function of their own
        info = CodeInfo(
            self.info.source,
            _numbered(ast.fix_missing_locations(tree), offsets),
            "",
            self.info.consts,
        )
        info.tree, info.turn = tree, turn + 1
        module = compile(ast.Module([tree], []), FILE, "exec", dont_inherit=True, optimize=1)
        code = next(const for const in module.co_consts if const.__class__ is CodeType)
        return FunctionType(info.consts.swap(code, info), self.space, tree.name)(
            *variables.values()
        )


class _Left:
    """Builds the body of the rest of a function: the statements from the failed one on."""

    def __init__(self, tree: ast.FunctionDef, node: ast.expr, given: str, info: CodeInfo) -> None:
        self.tree, self.node, self.given, self.lines, self.offsets = (
            tree,
            node,
            given,
            len(info.offsets),
            info.offsets,
        )
        self.flags: list[str] = []  # one per loop: is this the iteration that failed?

    def body(self) -> tuple[list[ast.stmt], list[int]]:
        """The statements, and the q offset of each line."""
        above: dict[ast.AST, ast.AST] = {
            node: parent for parent in ast.walk(self.tree) for node in ast.iter_child_nodes(parent)
        }
        way: list[ast.AST] = [self.node]
        while way[-1] is not self.tree:
            way.append(above[way[-1]])
        heads = [statement for statement in self.tree.body if isinstance(statement, ast.Global)]
        remaining = self.after(self.tree.body, way[-2::-1])
        # an undefined name: the text may refer to it more than once
        if isinstance(self.node, ast.Name):
            outermost = next(
                expression
                for expression, container in zip(way, way[1:], strict=False)
                if not isinstance(container, ast.expr)
            )
            failed: list[ast.expr] = [
                expression
                for expression in ast.walk(outermost)
                if isinstance(expression, ast.Name) and expression.id == self.node.id
            ]
        else:
            failed = [self.node]
        for expression in failed:
            _replace(
                above[expression],
                expression,
                ast.copy_location(self.instead(expression), expression),
            )
        return [*heads, *(_assign(flag, True) for flag in self.flags), *remaining], self.offsets

    def instead(self, node: ast.expr) -> ast.expr:
        """The replacement for a failed expression: the value. For `g+:x` of a global, the value is then assigned; an
        indexed assignment is dropped, and the variable stays unchanged."""
        function = (
            node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        )
        if isinstance(node, ast.Call) and function in ("_asg", "_amd"):
            return node.args[0]
        if isinstance(node, ast.Call) and function == "_opg":
            return ast.Call(_load("_set"), [*node.args[:2], _load(self.given)], [])
        return _load(self.given)

    def after(self, body: list[ast.stmt], way: list[ast.AST]) -> list[ast.stmt]:
        """The statements still to run, given the first one on the path to the failure."""
        index = next(i for i, statement in enumerate(body) if statement is way[0])
        return [*self.within(body[index], way[1:]), *body[index + 1 :]]

    def within(self, s: ast.stmt, way: list[ast.AST]) -> list[ast.stmt]:
        if isinstance(s, ast.If):
            for block in (s.body, s.orelse):
                if any(statement is way[0] for statement in block):
                    return self.after(block, way)
        elif isinstance(s, ast.While) or (isinstance(s, ast.For) and way[0] is not s.iter):
            return [self.loop(s, way)]
        return [s]

    def loop(self, s: ast.While | ast.For, way: list[ast.AST]) -> ast.stmt:
        """The loop, with the failed iteration first."""
        flag = f"{self.given}_{len(self.flags)}"
        self.flags.append(flag)
        if isinstance(s, ast.While) and way[0] is s.test:
            s.test, s.body = (
                ast.IfExp(_load(flag), s.test, self.again(s.test)),
                [_assign(flag, False), *s.body],
            )
            return s
        others = self.again(ast.Module(s.body, [])).body
        s.body = [ast.If(_load(flag), [_assign(flag, False), *self.after(s.body, way)], others)]
        if isinstance(s, ast.While):
            s.test = ast.BoolOp(ast.Or(), [_load(flag), _Turned().visit(s.test)])
        # a loop that was continued before has one more iteration
        elif not isinstance(s.iter, ast.Call):
            one_turn = ast.Tuple([ast.Constant(None)], ast.Load())
            s.iter = ast.Call(_load(_MADE + "chain"), [one_turn, s.iter], [])
        return s

    def again(self, x: Any) -> Any:
        """A second copy on its own lines, so that an error can be attributed to one of them."""
        duplicate = _Turned().visit(copy.deepcopy(x))
        for node in ast.walk(duplicate):
            if isinstance(node, (ast.stmt, ast.expr)):
                node.lineno, node.end_lineno = (
                    node.lineno + len(self.offsets),
                    (node.end_lineno or node.lineno) + len(self.offsets),
                )
        self.offsets = self.offsets + self.offsets[: self.lines]
        return duplicate


class _Turned(ast.NodeTransformer):
    """Removes the code for the first iteration of a loop."""

    def visit_If(self, s: ast.If) -> Any:
        self.generic_visit(s)
        return s.orelse if self.over(s.test) else s

    def visit_IfExp(self, e: ast.IfExp) -> Any:
        self.generic_visit(e)
        return e.orelse if self.over(e.test) else e

    def visit_BoolOp(self, e: ast.BoolOp) -> Any:
        self.generic_visit(e)
        return e.values[1] if self.over(e.values[0]) else e

    @staticmethod
    def over(test: ast.expr) -> bool:
        return (
            isinstance(test, ast.Name)
            and test.id.startswith(_MADE)
            and "_" in test.id[len(_MADE) :]
        )


def _numbered(tree: ast.FunctionDef, offsets: list[int]) -> list[int]:
    """Give a tree the smallest line numbers that preserve its order; returns the q offset of each."""
    nodes: list[Any] = [element for element in ast.walk(tree) if hasattr(element, "lineno")]
    numbers = sorted({node.lineno for node in nodes} | {node.end_lineno for node in nodes})
    renumbered = {line: index + 1 for index, line in enumerate(numbers)}
    for element in nodes:
        element.lineno, element.end_lineno = (
            renumbered[element.lineno],
            renumbered[element.end_lineno],
        )
    return [0, *(offsets[line] for line in numbers)]


def _loops_around(tree: ast.AST, node: ast.AST) -> Iterator[ast.For]:
    """The for loops whose body contains a node."""
    for loop in ast.walk(tree):
        if isinstance(loop, ast.For) and any(
            inner_node is node for statement in loop.body for inner_node in ast.walk(statement)
        ):
            yield loop


def _goes_on(s: ast.For) -> bool:
    """Does a variable hold what a loop iterates over?"""
    function = s.iter.func if isinstance(s.iter, ast.Call) else s.iter
    return isinstance(function, ast.Name) and (function is s.iter or function.id.startswith(_MADE))


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _assign(name: str, x: bool) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], ast.Constant(x), lineno=1, col_offset=0)


def _replace(parent: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for field, child in ast.iter_fields(parent):
        if child is old:
            setattr(parent, field, new)
        elif isinstance(child, list):
            child[:] = [new if item is old else item for item in child]


def way(tb: TracebackType | None) -> Iterator[Rest | Step | Stuck]:
    """The path of an error through its frames, outermost first: each q function, and each Python function between them
    that does more with a result than return it."""
    while tb is not None:
        frame, code = tb.tb_frame, tb.tb_frame.f_code
        if code.co_filename == FILE:
            yield Stuck(True) if code.co_name.startswith("_p") else Rest(frame, tb.tb_lasti)
        elif code in CONTINUED:
            go_on = CONTINUED[code]
            if go_on is not None:
                yield _bound(go_on, dict(frame.f_locals))
        elif not gives_on(code, tb.tb_lasti):
            yield Rest(frame, tb.tb_lasti) if code in _LOOPS else Stuck(False)
        tb = tb.tb_next


def _bound(go_on: Callable[[dict[str, Any], Value], Value], variables: dict[str, Any]) -> Step:
    return lambda value: go_on(variables, value)


def verb_called(name: str) -> registry.Entry | None:
    """The verb whose function compiled code calls by this name."""
    match = _VERB.fullmatch(name)
    return registry.find("verb", bytes.fromhex(match[1]).decode()) if match else None


def gives_on(code: CodeType, at: int) -> bool:
    """Is the call at this point of a function one whose result the function returns unchanged?"""
    operations = [opname[operation] for operation in code.co_code[::2]]
    at //= 2
    # while a Python function runs, its caller is just after the call
    while operations[at] == "CACHE":
        at -= 1
    return (
        operations[at] in _CALLS
        and next((operation for operation in operations[at + 1 :] if operation != "CACHE"), "")
        == "RETURN_VALUE"
    )
