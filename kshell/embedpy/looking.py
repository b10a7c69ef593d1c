"""The names of `.p` that look at Python objects, make those of Python's own types, and tell what kind a value is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from kshell import registry
from kshell.embedpy.applying import call, guarded
from kshell.embedpy.names import object_of
from kshell.lang.names.define import name
from kshell.values.base.build import string
from kshell.values.base.core import NIL, Value
from kshell.values.base.functions import Foreign, PyCall
from kshell.values.session.context import running


@name(".p.repr", effect="changes")
def representation(x: Value) -> Value:
    """Python's `repr` of an object, or of what a q value converts to.

    q).p.repr .p.eval"{'a':1}"
    "{'a': 1}"
    """
    return string(guarded("repr", lambda: repr(object_of(x))))


@name(".p.print", effect="changes")
def print_(x: Value) -> Value:
    """Write what Python's `print` does.

    q).p.print 1 2 3
    [1 2 3]
    """
    running().write(guarded("print", lambda: str(object_of(x))) + "\n")
    return NIL


@name(".p.helpstr", effect="changes")
def help_text(x: Value) -> Value:
    """The documentation of a Python object, as a string.

    q).p.helpstr .p.eval"len"
    "Return the number of items in a container."
    """
    found = inspect.getdoc(x.obj) if isinstance(x, Foreign) else None
    return string(found or "no help available")


@name(".p.help", effect="changes")
def help_(x: Value) -> Value:
    """Write Python's help on an object.

    q)first"\\n"vs .p.helpstr .p.import`math
    "This module provides access to the mathematical functions"
    """
    import pydoc

    text = guarded("help", lambda: pydoc.plain(pydoc.render_doc(object_of(x))))
    running().write(text if isinstance(x, Foreign) else "no help available\n")
    return NIL


# ------------------------------------------------------------------ Python's own types


def _builtin(word: str, f: Callable[..., Any], doc: str) -> None:
    def make(*args: Value) -> Value:
        return PyCall(call(f, args))

    make.__doc__ = doc
    name(f".p.{word}", arity=-1, effect="changes")(make)


_builtin(
    "list",
    list,
    """Python's `list` of an iterable, wrapped.

    q).p.list[.p.eval"range(3)"]`
    0 1 2
    """,
)
_builtin(
    "tuple",
    tuple,
    """Python's `tuple` of an iterable, wrapped.

    q).p.repr .p.tuple .p.eval"[1,2]"
    "(1, 2)"
    """,
)
_builtin(
    "dict",
    dict,
    """Python's `dict`, wrapped.

    q).p.dict[`a pykw 1]`
    a| 1
    """,
)
_builtin(
    "isinstance",
    isinstance,
    """Is a Python object of a class?

    q).p.isinstance[.p.eval"3";.p.eval"int"]`
    1b
    """,
)
_builtin(
    "key",
    lambda x: list(x.keys()),
    """The keys of a Python mapping, wrapped.

    q).p.key[.p.eval"{'a':1}"]`
    ,"a"
    """,
)
_builtin(
    "value",
    lambda x: list(x.values()),
    """The values of a Python mapping, wrapped.

    q).p.value[.p.eval"{'a':1}"]`
    ,1
    """,
)


# ------------------------------------------------------------------ tests of values


@name(".p.isp")
def is_bare(x: Value) -> Value:
    """Is it a bare Python object?

    q).p.isp .p.pyeval"1"
    1b
    """
    return x.__class__ is Foreign


@name(".p.i.isf")
def is_foreign(x: Value) -> Value:
    """Is it a bare Python object?

    q).p.i.isf each(.p.pyeval"1";1)
    10b
    """
    return x.__class__ is Foreign


@name(".p.i.isw")
def is_wrapped(x: Value) -> Value:
    """Is it a wrapped Python object?

    q).p.i.isw .p.eval"1"
    1b
    """
    return x.__class__ is PyCall and not x.how


@name(".p.i.isc")
def is_declared(x: Any) -> Value:
    """Is it a declared function?

    q).p.i.isc .p.eval["len";<]
    1b
    """
    return isinstance(x, PyCall) and bool(x.how)


@registry.verb("print", effect="none")
def print_root(x: Value) -> Value:
    """Write what Python's `print` does with a value, also a Python object.

    q)print`a`b
    ['a', 'b']
    """
    return print_(x)
