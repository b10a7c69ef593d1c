"""Values as text: string, show, and the one-line form of -3!."""

from __future__ import annotations

import gc
from itertools import accumulate

import numpy as np

from kshell import registry
from kshell.lang.format import atom_string, vec_texts
from kshell.lang.s1 import s1, s1_line
from kshell.lang.show import lines_of
from kshell.registry import verb
from kshell.values import types as T
from kshell.values.build import collapse
from kshell.values.build import string as q_string
from kshell.values.context import running
from kshell.values.core import NIL, Dict, List, Nd, Table, Value, Vec
from kshell.values.functions import Handle


def strings(texts: list[str]) -> List:
    """A list of strings, cut out of one buffer."""
    joined = "".join(texts)
    if not joined.isascii():
        return List([q_string(s) for s in texts])
    a = np.frombuffer(joined.encode(), np.uint8)
    ends = list(accumulate(map(len, texts)))
    collecting = gc.isenabled()
    gc.disable()  # many objects and no garbage: the collector would take longer than the work
    try:
        return List([Vec(T.C, a[i:j]) for i, j in zip([0, *ends], ends, strict=False)])
    finally:
        if collecting:
            gc.enable()


@verb("string")
def string(x: Value) -> Value:
    """Each atom of x as a string.

    q)string 2 30
    ,"2"
    "30"
    q)string `ibm
    "ibm"
    """
    c = x.__class__
    if c is Vec:
        return strings(vec_texts(x, running().settings.P))
    if c is List or c is Nd:
        return collapse([string(v) for v in x.items])
    if c is Dict:
        return Dict(x.k, string(x.v))
    if c is Table:
        return Table(x.names, [string(v) for v in x.cols])
    text = atom_string(x, running().settings.P)
    if text is not None:
        return q_string(text)
    found = q_string(s1(x, running().settings))
    return List([found]) if isinstance(x, Handle) else found


@verb("show")
def show(x: Value) -> Value:
    """Print x as the console does.

    q)show `a`b!1 2
    a| 1
    b| 2
    """
    session = running()
    lines = lines_of(x, session.settings)
    if lines:
        session.write("\n".join(lines) + "\n")
    return NIL


def one_line(x: Value) -> Value:
    """x as text on one line, in q where x can be written in q: `-3!x` and `.Q.s1 x`."""
    return q_string(s1(x, running().settings))


def plain(x: Value) -> Value:
    """x as the console's text, each line with its end: `.Q.s x`."""
    return q_string("".join(line + "\n" for line in lines_of(x, running().settings)))


def write_line(x: Value) -> Value:
    """Print x on one line, cut to the console's width, and return it: `0N!x`."""
    session = running()
    session.write(s1_line(x, session.settings) + "\n")
    return x


registry.add(registry.Entry("-3", "internal", {1: one_line}, ("-3!x",), one_line.__doc__ or "", topic="text"))
registry.add(registry.Entry(str(T.NULL[T.J]), "internal", {1: write_line}, ("0N!x",), write_line.__doc__ or "",
                            topic="text"))
