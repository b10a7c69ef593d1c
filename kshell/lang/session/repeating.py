"""Repeated evaluation of q text, for timing."""

from __future__ import annotations

from collections.abc import Callable

from kshell.errors import Source, first_line
from kshell.lang.compiler.built_ins import is_infix
from kshell.lang.compiler.code_objects import frames
from kshell.lang.compiler.compile import compile_statement
from kshell.lang.session.views import statement as view_statement
from kshell.parse import parse_text
from kshell.parse import tree as N
from kshell.values.base.core import Value
from kshell.values.session.context import running
from kshell.values.session.interrupts import carried_out, said


def repeat(text: str, n: int) -> None:
    """Run q text n times, compiled once. An interrupt reports how many runs were completed."""
    session = running()
    source = Source(text)
    nodes = parse_text(text, is_infix, source)
    statements = [node for node in nodes if isinstance(node, N.Statement)]
    if len(statements) < len(nodes):
        for _ in range(n):
            session.evaluate(text)
        return
    compiled = [_compiled(node.expr, source) for node in statements]
    _done = 0
    try:
        for _done in range(n):
            for function in compiled:
                function()
    except KeyboardInterrupt as stop:
        if times := _done + (not frames(stop.__traceback__)):
            said(stop, carried_out(first_line(text, 60)) + f" {times:,} times" * (n > 1))
        raise


def _compiled(expr: N.Node, source: Source) -> Callable[[], Value]:
    names = running().names
    if isinstance(expr, N.View):
        return view_statement(expr, source, names)
    return compile_statement(expr, source, names)
