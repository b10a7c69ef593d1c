"""Join and raze; implemented in values/change/join.py and concat.py."""

from __future__ import annotations

from kshell.registry import verb
from kshell.values.base.core import Value
from kshell.values.change import concat
from kshell.values.change import join as kernel


@verb(",", "x,y", qtype=102)
def join(x: Value, y: Value) -> Value:
    """Join x and y into one list; merge dictionaries, append rows to tables.

    q)1 2,3
    1 2 3
    q)1 2,`a
    1
    2
    `a
    q)(`a`b!1 2),`b`c!3 4
    a| 1
    b| 3
    c| 4
    """
    return kernel.join(x, y)


@verb("raze", handle=True)
def raze(x: Value) -> Value:
    """Join the items of x: one level of nesting less.

    q)raze (1 2;3;4 5)
    1 2 3 4 5
    """
    return concat.raze(x)
