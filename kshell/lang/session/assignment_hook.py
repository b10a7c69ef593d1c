"""The assignment callback `.z.vs`, called after a variable in the root namespace is set."""

from __future__ import annotations

from collections.abc import Sequence

from kshell.lang.compiler.compile import check_stores
from kshell.values.base.build import collapse
from kshell.values.base.core import List, Value
from kshell.values.base.symbols import sym
from kshell.values.change.names import Names
from kshell.values.engine.apply import apply


def connect(names: Names) -> None:
    """Activate assignments to `.z.vs` in these namespaces."""
    busy = False

    def tell(name: str, at: Sequence[Value]) -> None:
        nonlocal busy
        handler = names.find(".z.vs")
        if handler is None or busy:  # its own assignments do not trigger it
            return
        busy = True
        try:
            apply(handler, (sym(name), collapse(list(at)) if at else List([])))
        finally:
            busy = False

    def assigned(handler: Value | None) -> None:
        names.hook = None if handler is None else tell
        if handler is not None:
            check_stores(names)

    names.listeners[".z.vs"] = assigned
