"""Match."""

from __future__ import annotations

from kshell.registry import verb
from kshell.values.base import match as kernel
from kshell.values.base.core import Value


@verb("~", "x~y", qtype=102)
def match(x: Value, y: Value) -> Value:
    """Whether x and y are identical in type, shape and content.

    q)1 2 3~`s#1 2 3
    1b
    q)3~3f
    0b
    """
    return kernel.match(x, y)
