"""The iterators as keywords: each, peach, over, scan, prior."""

from __future__ import annotations

from kshell.lang.each import maps
from kshell.registry import verb
from kshell.values.base.core import Value


@verb("each")
def each(f: Value, x: Value) -> Value:
    """Apply a function to each item of a list, dictionary or table.

    q)count each (1 2 3;"ab")
    3 2
    """
    return maps.each1(f, x)


@verb("peach")
def peach(f: Value, x: Value) -> Value:
    """Apply a function to each item, like each; with `\\s n`, n threads evaluate the items in parallel.

    In threads, a function cannot assign globals: 'noupdate. If several items fail, the error of the first is raised.

    q){x*x}peach 1 2 3
    1 4 9
    """
    return maps.each_parallel(f, x)


@verb("over")
def over(f: Value, x: Value) -> Value:
    """Fold a list with a binary function, or repeat a unary one until it converges.

    q)(+)over 1 2 3
    6
    """
    return maps.over1(f, x)


@verb("scan")
def scan(f: Value, x: Value) -> Value:
    """Like over, but returns every step.

    q)(+)scan 1 2 3
    1 3 6
    """
    return maps.scan1(f, x)


@verb("prior")
def prior(f: Value, x: Value) -> Value:
    """Apply a binary function to each item and its predecessor.

    q)(-)prior 1 4 9
    1 3 5
    """
    return maps.prior1(f, x)
