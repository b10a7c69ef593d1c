"""Repeated evaluation of q text, for timing."""

from __future__ import annotations

from typing import Any

from kshell.errors import Source, first_line
from kshell.lang.compiler.code_objects import frames
from kshell.lang.compiler.compile import compile_statement, is_infix
from kshell.lang.session.views import statement as view_statement
from kshell.parse import parse
from kshell.parse import tree as N
from kshell.values.session.context import running
from kshell.values.session.interrupts import carried_out, said


def repeat(text: str, n: int) -> None:
    """Run q text n times, compiled once. An interrupt reports how many runs were completed."""
    session = running()
    source = Source(text)
    nodes = parse(text, is_infix, source)
    if not all(isinstance(node, N.Statement) for node in nodes):
        for _ in range(n):
            session.evaluate(text)
        return
    work = [_compiled(node.expr, source) for node in nodes]
    _done = 0
    try:
        for _done in range(n):
            for fn in work:
                fn()
    except KeyboardInterrupt as stop:
        if times := _done + (not frames(stop.__traceback__)):
            said(stop, carried_out(first_line(text, 60)) + f" {times:,} times" * (n > 1))
        raise


def _compiled(expr: Any, source: Source) -> Any:
    names = running().names
    return (view_statement if expr.__class__ is N.View else compile_statement)(expr, source, names)
