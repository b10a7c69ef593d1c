"""Values as text: string, show, and the one-line form from -3!."""

from __future__ import annotations

import numpy as np

from kshell.lang.console.format import atom_string, integer_flat, text_matrix, vec_texts
from kshell.lang.console.one_line import s1, s1_line
from kshell.lang.console.show import lines_of
from kshell.registry import internal, verb
from kshell.values.base import types as T
from kshell.values.base.build import collapse
from kshell.values.base.build import string as q_string
from kshell.values.base.core import NIL, Dict, List, Nd, Table, Value, Vec
from kshell.values.base.functions import Handle
from kshell.values.base.narrow import list_value
from kshell.values.base.symbols import sym_at
from kshell.values.items.rows import Rows, rows_of, string_list, strings_of
from kshell.values.session.context import running


def strings(texts: list[str]) -> Value:
    """A list of strings cut out of one buffer."""
    joined = "".join(texts)
    if not joined.isascii():
        return strings_of([text.encode("utf-8", "surrogateescape") for text in texts])
    return string_list(
        np.frombuffer(joined.encode(), np.uint8), np.fromiter(map(len, texts), np.int64, len(texts))
    )


def _names(codes: np.ndarray) -> Value:
    """The names of symbols, given as codes."""
    is_used = np.zeros(int(codes.max()) + 1, np.bool_)
    is_used[codes] = True
    positions = np.flatnonzero(is_used)
    rows = rows_of(
        [sym_at(position).s.encode("utf-8", "surrogateescape") for position in positions.tolist()]
    )
    row_numbers = np.empty(len(is_used), np.int64)
    row_numbers[positions] = np.arange(len(positions))
    row_indices = row_numbers[codes]
    return Rows(rows.raw, rows.starts[row_indices], rows.sizes[row_indices]).strings()


@verb("string")
def string(x: Value) -> Value:
    """Each atom of x as a string.

    q)string 2 30
    ,"2"
    "30"
    q)string `ibm
    "ibm"
    """
    if x.__class__ is Vec:
        if x.t == T.S and len(x.a):
            return _names(x.a)
        flat = integer_flat(x.t, x.a)
        if flat is not None:
            return string_list(*flat)
        matrix = text_matrix(x.t, x.a)
        return (
            Nd(T.C, matrix) if matrix is not None else strings(vec_texts(x, running().settings.P))
        )
    if x.__class__ is List or x.__class__ is Nd:
        return collapse([string(item) for item in x.items])
    if x.__class__ is Dict:
        return Dict(x.k, list_value(string(x.v)))
    if x.__class__ is Table:
        return Table(x.names, [list_value(string(column)) for column in x.cols])
    text = atom_string(x, running().settings.P)
    if text is not None:
        return q_string(text)
    result = q_string(s1(x, running().settings))
    return List([result]) if isinstance(x, Handle) else result


@verb("show")
def show(x: Value) -> Value:
    """Print x in console format.

    q)show `a`b!1 2
    a| 1
    b| 2
    """
    session = running()
    lines = lines_of(x, session.settings)
    if lines:
        session.write("\n".join(lines) + "\n")
    return NIL


@internal(-3, topic="text")
def one_line(x: Value) -> Value:
    """x as text on one line, as q source where possible: `-3!x` and `.Q.s1 x`.

    q)-3!(1;`a;"text")
    "(1;`a;\\"text\\")"
    """
    return q_string(s1(x, running().settings))


def plain(x: Value) -> Value:
    """x as console text, with a line break after each line: `.Q.s x`."""
    return q_string("".join(line + "\n" for line in lines_of(x, running().settings)))


@internal(T.NULL[T.J], "0N!x", "text")
def write_line(x: Value) -> Value:
    """Print x on one line, cut to the console's width, and return x: `0N!x`.

    q)2*0N!3+4
    7
    14
    """
    session = running()
    session.write(s1_line(x, session.settings) + "\n")
    return x
