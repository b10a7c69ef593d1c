"""The verbs @ and . : apply and index, amend a value or a global by name, trap errors. Also `:` as a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kshell.errors import QError, as_qerror
from kshell.lang.verbs import disk
from kshell.registry import verb
from kshell.values.base.build import string
from kshell.values.base.core import NIL, Dict, Table, Value, atom_t, is_list, seq_items
from kshell.values.base.functions import Handle
from kshell.values.base.symbols import Sym
from kshell.values.change.amend import MISSING, amend
from kshell.values.engine.apply import apply, apply1, is_function, named
from kshell.values.session import memory
from kshell.values.session.context import running
from kshell.values.session.interrupts import AMENDED, PENDING, brief, let_through, stoppable


@verb(":", qtype=102)
def right(x: Value, y: Value) -> Value:
    """The right argument: the replacement in `@[x;i;:;y]`.

    q)@[1 2 3;1;:;20]
    1 20 3
    """
    return y


# ------------------------------------------------------------------ apply


@verb("@", "f@x", "@[x;i;f]", "@[x;i;f;y]", "@[f;x;e]", qtype=102, effect="own")
def at(f: Value, x: Value) -> Value:
    """Apply f to x, or index f by x; also amend at an index, and trap errors.

    q)neg@3
    -3
    q)@[10 20 30;0 2;+;1]
    11 20 31
    q)@[{'x};"oops";{"caught ",x}]
    "caught oops"
    """
    return apply1(f, x)


@verb(".", "f . args", ".[x;path;f]", ".[x;path;f;y]", ".[f;args;e]", qtype=102, effect="own")
def dot(f: Value, x: Value) -> Value:
    """Apply f to a list of arguments, or index by a path; also amend at depth, and trap errors.

    q)(+) . 2 3
    5
    q)(1 2;3 4). 1 0
    3
    """
    arguments = _arguments(x)
    if not arguments:
        return named(f) if f.__class__ is Sym else f
    return apply(f, arguments)


def _arguments(x: Value) -> list[Value]:
    """The items of the right argument of `.`; 'type for an atom."""
    if is_list(x) or x.__class__ is Table or (x.__class__ is Dict and not x.keyed):
        return seq_items(x)
    raise QError("type")


# ------------------------------------------------------------------ amend


@verb("@", arity=3)
def at3(x: Value, i: Value, f: Value) -> Value:
    if _traps(x):
        return trap(lambda: apply1(x, i), f)
    return amended(x, (i,), f, MISSING)


@verb("@", arity=4)
def at4(x: Value, i: Value, f: Value, y: Value) -> Value:
    return amended(x, (i,), f, y)


@verb(".", arity=3)
def dot3(x: Value, path: Value, f: Value) -> Value:
    if _traps(x):
        arguments = _arguments(path)
        return trap(lambda: apply(x, arguments) if arguments else x, f)
    return amended(x, _path(path), f, MISSING)


@verb(".", arity=4)
def dot4(x: Value, path: Value, f: Value, y: Value) -> Value:
    return amended(x, _path(path), f, y)


def _path(x: Value) -> list[Value]:
    return seq_items(x) if is_list(x) else [x]


def _traps(x: Value) -> bool:
    """Is the three-argument form a trap (of a function, file or connection) rather than an amend?"""
    return is_function(x) or x is NIL or (bool(atom_t(x)) and x.__class__ is not Sym)


def amended(x: Value, path: Sequence[Value], f: Value, y: Value) -> Value:
    """x amended; if x names a global, the global is amended and the result is the name."""
    if x.__class__ is not Sym:
        return amend(x, path, f, y)
    if x.s.startswith(":"):
        disk.amend_path(x, path, f, y, amend)
        return x
    return _amended(x, path, f, y)


@brief
def _amended(x: Sym, path: Sequence[Value], f: Value, y: Value) -> Value:
    """Amend the global named x."""
    names = running().names
    current = names.find(x.s)
    if current is None:
        if path:
            raise QError(x.s)
        current = NIL
    result = stoppable(amend, current, path, f, y)
    if not isinstance(result, Handle) or result is not current:
        names.set(x.s, result)
    return let_through(AMENDED, x) if PENDING else x


# ------------------------------------------------------------------ trap


def trap(call: Callable[[], Value], e: Value) -> Value:
    """call(); if it fails, e applied to the error's text (or e itself, if it is not a function)."""
    text = ""
    try:
        return call()
    except (Exception, KeyboardInterrupt) as error:
        if error.args == ("again",) and isinstance(error, KeyboardInterrupt):
            raise  # a second Ctrl-C leaves the session
        text = as_qerror(error).text
        error.__traceback__ = None  # its frames hold the arguments and sometimes the error itself
    memory.recover()
    return string(text) if e is NIL else apply1(e, string(text)) if is_function(e) else e
