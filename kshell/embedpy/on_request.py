"""Conversions of `.p` that are asked for by name, settings of `.p`, and Python files and items."""

from __future__ import annotations

import builtins
import contextlib
import sys
from typing import Any

import numpy as np

import kshell
from kshell import python
from kshell.embedpy import applying, code, into_q, scripts
from kshell.embedpy.applying import guarded
from kshell.embedpy.names import object_of
from kshell.embedpy.out_of_q import to_python
from kshell.errors import QError
from kshell.lang.names.define import constant, name
from kshell.lang.verbs import text
from kshell.values.base import core, symbols
from kshell.values.base import types as T
from kshell.values.base.build import string
from kshell.values.base.core import NIL, Atom, Dict, List, Table, Value, Vec, text_of
from kshell.values.base.functions import Foreign, Function, Handle, PyCall
from kshell.values.base.narrow import list_value
from kshell.values.engine.apply import apply
from kshell.values.items.pick import unenum
from kshell.values.session.context import running
from kshell.values.session.restrict import allow_python, expanded

constant(
    ".p.version",
    symbols.sym(kshell.__version__),
    "The version of kshell, whose functions `.p` are.",
    "q)type .p.version\n-11h",
)
constant(".p.numpy", True, "Is numpy there? It is.", "q).p.numpy\n1b")


# ------------------------------------------------------------------ q values as other Python values


@name(".p.topy", effect="changes")
def as_python(x: Value) -> Value:
    """A q value as Python's own classes: lists, numbers, text, dates and times.

    q).p.repr .p.topy 2026.01.02 0Nd
    "[datetime.date(2026, 1, 2), None]"
    """
    return PyCall(guarded("topy", _plain, x))


def _session_value(x: Value) -> Any:
    """The Python value of a q value as a Session gives it."""
    return python.outof.from_q(x)


def _plain(x: Any) -> Any:
    if x.__class__ is Vec and x.t == T.C:
        return to_python(x)
    if x.__class__ is Atom and x.t == T.C:
        return to_python(x)
    return _own(_session_value(x))


def _own(x: Any) -> Any:
    """A Python value without numpy's classes."""
    if isinstance(x, dict):
        return {key: _own(value) for key, value in x.items()}
    if isinstance(x, np.ma.MaskedArray):
        return x.tolist()
    if isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "mM":
        items = x if x.dtype.str[3:] != "[ns]" else x.astype(x.dtype.kind + "8[us]")
        return items.tolist()
    if isinstance(x, np.ndarray | np.generic):
        return x.tolist()
    if isinstance(x, bytes):
        return x.decode("utf-8")
    return [_own(item) for item in x] if isinstance(x, list) else x


@name(".p.tonp", effect="changes")
def as_array(x: Value) -> Value:
    """A q value as an array of numpy: of several dimensions for a regular nested list, with numpy's own dates and
    times; a table as one with names.

    q).p.tonp[(1 2;3 4)][`:shape;`]
    2 2
    """
    return PyCall(guarded("tonp", _array, x))


def _array(x: Value) -> Any:
    made = _session_value(x)
    if isinstance(made, dict):
        columns = [np.asarray(column) for column in made.values()]
        return np.rec.fromarrays(columns, names=",".join(made))  # type: ignore[call-overload]
    return np.asarray(made)


@name(".p.topt", effect="changes")
def as_tensor(x: Value) -> Value:
    """A q value as a tensor of PyTorch; the object of a handle as it is.

    q).p.topt[1 2e][`:dtype;`]
    `float
    """
    if isinstance(x, Foreign | Handle):
        return PyCall(object_of(x))
    tensor = running().names.load_builtins()["tensor"]
    return PyCall(to_python(apply(tensor, [x])))


# ------------------------------------------------------------------ Python values as other q values


@name(".p.toq", effect="changes")
def to_q(x: Value) -> Value:
    """A Python value as a q value, as a Session takes it: also dates, UUIDs, data frames, sets; text as symbols.

    q).p.toq .p.eval"__import__('datetime').date(2026,1,2)"
    2026.01.02
    """
    return guarded("toq", lambda: python.into.to_q(object_of(x)))


@name(".p.toq0", ".p.toq0[x;1b]", arity=-1, effect="changes")
def to_q_text(x: Value, *rest: Value) -> Value:
    """The same, with text as strings at any depth if there is a second argument, 1b; keys of dictionaries are symbols
    still.

    q).p.toq0[.p.eval"'ab'";1b]
    "ab"
    q).p.toq0[.p.eval"{'a':['one','two']}";1b]
    a| "one" "two"
    """
    if len(rest) > 1:
        raise QError("rank")
    if rest and rest[0].__class__ is not bool:
        raise QError("type")
    found = to_q(x)
    return _with_strings(found) if rest and rest[0] else found


def _with_strings(x: Value) -> Value:
    """A value with its symbols as strings, but those that are keys or names of columns."""
    x = unenum(x)
    if getattr(x, "t", 0) == T.S:
        return text.string(x)
    if x.__class__ is List:
        return List([_with_strings(item) for item in x.items])
    if x.__class__ is Table:
        return Table(x.names, [list_value(_with_strings(column)) for column in x.cols])
    if x.__class__ is Dict:
        keys = x.k if not x.keyed else list_value(_with_strings(x.k))
        return Dict(keys, list_value(_with_strings(x.v)))
    return x


@name(".p.each", effect="changes")
def each(x: Value, y: Value) -> Value:
    """The results of a q function for each item of any Python iterable, which is not made a list; :: if all are ::.

    q).p.each[neg;.p.eval"range(3)"]
    0 -1 -2
    """
    results: list[Value] = []
    iterator = guarded("call", lambda: iter(object_of(y)))
    while True:
        found = guarded("call", lambda: next(iterator, _END))
        if found is _END:
            break
        results.append(apply(x, [into_q.to_q(found)]))
    is_kept = not results or any(result is not NIL for result in results)
    return core.COLLAPSE.fn(results) if is_kept else NIL


_END = object()


# ------------------------------------------------------------------ files, errors, settings


@name(".p.loadPy", effect="changes")
def load(x: Value) -> Value:
    """Run a Python file in `__main__`, whatever its name ends in.

    q)`:f.txt 0:enlist"n=5";
    q).p.loadPy"f.txt"
    q).p.qeval"n"
    5
    """
    scripts.run(expanded(text_of(x).removeprefix(":")))
    return NIL


@name(".p.traceback", effect="changes")
def traceback(x: Value) -> Value:
    """Python's whole report of the last error in Python code, as a string.

    q)@[.p.eval;"1/0";{x}];
    q)last"\\n"vs -1_ .p.traceback[]
    "ZeroDivisionError: division by zero"
    """
    return string("".join(applying.TRACEBACK))


@name(".p.console", effect="changes")
def console(x: Value) -> Value:
    """Python's prompt on the variables of `__main__`; Ctrl-D or `quit()` comes back.

    q)10h=type @[{if[not x;'"no terminal"];.p.console[]};0b;{x}]
    1b
    """
    import code as prompt

    allow_python(".p.console")
    if not sys.stdin.isatty():
        raise QError("console: there is no terminal")

    def leave() -> None:
        raise SystemExit

    # Python's own would close standard input
    own = {word: getattr(builtins, word, leave) for word in ("quit", "exit")}
    try:
        vars(builtins).update(dict.fromkeys(own, leave))
        with contextlib.suppress(SystemExit):
            prompt.interact("", local=code.main_module().__dict__, exitmsg="")
    finally:
        vars(builtins).update(own)
    return NIL


@name(".p.setconv", effect="changes")
def set_conversion(x: Value) -> Value:
    """Set the function that is called with each bare object which has no q value; :: is none.

    q).p.setconv .p.repr
    q).p.qeval"(1,int)"
    1
    "<class 'int'>"
    q).p.setconv(::)
    """
    if not isinstance(x, Function) and x is not NIL:
        raise QError("type")
    if x is NIL:
        into_q.CONVERSION.pop(running(), None)
    else:
        into_q.CONVERSION[running()] = x
    return NIL


@name(".p.getconv", effect="changes")
def conversion(x: Value) -> Value:
    """The function that was set by `.p.setconv`.

    q).p.getconv[]
    """
    return into_q.CONVERSION.get(running(), NIL)


@name(".p.setpyerr", effect="changes")
def set_traceback(x: Value) -> Value:
    """With 1, the text of an error in Python code is Python's whole report.

    q).p.setpyerr 1
    q).p.getpyerr[]
    1
    q).p.setpyerr 0
    """
    change = applying.WHOLE.add if core.raw(x) else applying.WHOLE.discard
    change(running())
    return NIL


@name(".p.getpyerr", effect="changes")
def is_traceback(x: Value) -> Value:
    """Is the text of an error in Python code the whole report?

    q).p.getpyerr[]
    0
    """
    return int(running() in applying.WHOLE)
