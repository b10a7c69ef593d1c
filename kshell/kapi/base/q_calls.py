"""Calling q functions from the k-api."""

from __future__ import annotations

from collections.abc import Sequence

from kshell.errors import QError, as_qerror
from kshell.values.base.core import Value, text_of
from kshell.values.base.narrow import is_text
from kshell.values.engine.apply import apply
from kshell.values.session.context import running
from kshell.values.session.interrupts import stoppable


def applied(f: Value, args: Sequence[Value]) -> Value:
    """Apply f to q values; foreign exceptions become q errors, as everywhere in q."""
    error: QError
    try:
        if is_text(f):
            f = stoppable(running().evaluate, text_of(f))
        return stoppable(apply, f, args)
    except QError:
        raise
    except Exception as exc:
        error = as_qerror(exc).with_traceback(exc.__traceback__)  # the traceback has the q frames
    raise error
