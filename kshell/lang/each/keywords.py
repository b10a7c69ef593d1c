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
    """Apply a function to each item, as each does; `\\s n` lets n threads compute the items.

    A function that threads compute cannot assign global variables: 'noupdate. Of items that fail, the error is that of
    the first.

    q){x*x}peach 1 2 3
    1 4 9
    """
    return maps.each_parallel(f, x)


@verb("over")
def over(f: Value, x: Value) -> Value:
    """Fold a list with a function of two arguments, or repeat one of one argument until it converges.

    q)(+)over 1 2 3
    6
    """
    return maps.over1(f, x)


@verb("scan")
def scan(f: Value, x: Value) -> Value:
    """The steps of over.

    q)(+)scan 1 2 3
    1 3 6
    """
    return maps.scan1(f, x)


@verb("prior")
def prior(f: Value, x: Value) -> Value:
    """Apply a function of two arguments between each item and the one before it.

    q)(-)prior 1 4 9
    1 3 5
    """
    return maps.prior1(f, x)
