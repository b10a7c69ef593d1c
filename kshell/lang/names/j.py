"""The .j namespace: JSON."""

from __future__ import annotations

from kshell.errors import QError
from kshell.lang.console.json import Writer, read
from kshell.lang.names.define import name
from kshell.values.base.build import string
from kshell.values.base.core import Dict, Value, seq_items, text_of
from kshell.values.base.symbols import sym
from kshell.values.items.index import index1
from kshell.values.session.context import running


@name(".j.j")
def to_json(x: Value) -> Value:
    """x as JSON text.

    q).j.j `a`b!(1 2;"xy")
    "{\\"a\\":[1,2],\\"b\\":\\"xy\\"}"
    """
    return string(Writer(running().settings.P).write(x))


@name(".j.jd")
def to_json_with(x: Value) -> Value:
    """`.j.jd(x;d)`: x as JSON text; with d`null0w, infinities become null.

    q).j.jd(1 0w;enlist[`null0w]!enlist 1b)
    "[1,null]"
    """
    arguments = seq_items(x)
    if len(arguments) != 2 or arguments[1].__class__ is not Dict:
        raise QError("type")
    flag = index1(arguments[1], sym("null0w")) if len(arguments[1]) else False
    return string(Writer(running().settings.P, flag is True).write(arguments[0]))


@name(".j.k")
def from_json(x: Value) -> Value:
    """Parse JSON text: numbers become floats, objects dictionaries with symbol keys.

    q).j.k "{\\"a\\":[1,2],\\"b\\":\\"xyz\\"}"
    a| 1 2f
    b| "xyz"
    """
    return read(text_of(x))
