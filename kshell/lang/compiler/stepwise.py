"""Each, evaluated so that the debugger can continue after a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kshell.errors import QError
from kshell.values.base.core import Value
from kshell.values.engine.apply import apply

# can the debugger continue here? If so, items are evaluated one by one in a loop that stores its results
DEBUGGED = [False]


def one_by_one(fn: Callable[..., Value], rows: Iterable[Sequence[Value]]) -> list[Value]:
    """fn of each row of arguments."""
    results: list[Value] = []
    remaining = iter(rows)
    for arguments in remaining:
        results.append(fn(*arguments))
    return results


def applied(f: Value, args: Sequence[Value]) -> Value | None:
    """A lambda of atomic verbs on whole lists; None if that fails, so that the error comes from the item that caused
    it."""
    try:
        return apply(f, args)
    except QError as e:
        if e.text == "stop":
            raise
        return None
