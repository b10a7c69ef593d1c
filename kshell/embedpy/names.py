"""The names of `.p`, and the words for arguments of Python calls."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

from kshell import registry
from kshell.embedpy import code, definitions
from kshell.embedpy.applying import (
    ARGUMENTS,
    KEYWORD,
    KEYWORDS,
    attribute,
    guarded,
    of_q,
    put_attribute,
    run,
    word,
)
from kshell.embedpy.into_q import to_q
from kshell.embedpy.out_of_q import to_python
from kshell.errors import QError
from kshell.lang.names.define import name
from kshell.lang.names.namespaces import contents
from kshell.values.base import types as T
from kshell.values.base.core import NIL, Value, Vec, seq_items
from kshell.values.base.from_numpy import taken
from kshell.values.base.functions import Foreign, PyCall
from kshell.values.base.symbols import Sym
from kshell.values.engine.apply import apply


@name(".p")
def python() -> Value:
    """What the namespace .p has for Python, by name.

    q)`e in key .p
    1b
    """
    return contents(".p")


# ------------------------------------------------------------------ running text


@name(".p.e", effect="changes")
def execute(x: Any) -> Value:
    """Run Python statements, as a line `p)...` does.

    q).p.e"n=6"
    q).p.qeval"n*7"
    42
    """
    definitions.execute(_text(x))
    return NIL


@name(".p.eval", ".p.eval[text;...]", arity=-1, effect="changes")
def evaluate(x: Any, *rest: Value) -> Value:
    """Evaluate a Python expression; the result is wrapped, and applied to further arguments. With `` ` `` it becomes a
    q value.

    q).p.eval["abs";-3]`
    3
    q).p.eval["[1,2]";`]
    1 2
    """
    return _then(PyCall(_value(x)), rest)


@name(".p.qeval", effect="changes")
def evaluate_to_q(x: Any) -> Value:
    """Evaluate a Python expression; the result is a q value.

    q).p.qeval"2**10"
    1024
    """
    return taken([_value(x)], to_q)


@name(".p.pyeval", effect="changes")
def evaluate_bare(x: Any) -> Value:
    """Evaluate a Python expression; the result is the bare object.

    q).p.pyeval"1"
    foreign
    """
    return Foreign(_value(x))


def _value(x: Any) -> Any:
    return guarded("eval", code.evaluate, _text(x))


def _text(x: Any) -> str:
    """The text of a string, or of a character."""
    if not ((x.__class__ is Vec and x.t == T.C) or getattr(x, "t", 0) == T.C):
        raise QError("type")
    converted = guarded("e", to_python, x)
    return str(converted)


# ------------------------------------------------------------------ modules and variables


@name(".p.import", ".p.import[module;...]", arity=-1, effect="changes")
def import_module(x: Any, *rest: Value) -> Value:
    """Import a Python module; the result is wrapped, and applied to further arguments.

    q).p.import[`math;`:pi;`]
    3.141593
    q)math:.p.import`math
    q)math[`:floor;2.5]`
    2
    """
    return _then(PyCall(_module(x)), rest)


@name(".p.pyimport", effect="changes")
def import_bare(x: Any) -> Value:
    """Import a Python module; the result is the bare object.

    q).p.pyimport`math
    foreign
    """
    return Foreign(_module(x))


def _module(x: Any) -> Any:
    if x.__class__ is not Sym:
        raise QError("type")
    code.main_module()  # whose paths are searched
    return guarded("import", importlib.import_module, x.s)


@name(".p.get", ".p.get[name;...]", arity=-1, effect="changes")
def get(x: Any, *rest: Value) -> Value:
    """A variable of Python's `__main__`, wrapped, and applied to further arguments. An unknown one is an error with its
    name.

    q).p.e"def area(w,h=2): return w*h"
    q)area:.p.get[`area;<]
    q)area[3;`h pykw 4]
    12
    """
    return _then(PyCall(_variable(x)), rest)


@name(".p.pyget", effect="changes")
def get_bare(x: Any) -> Value:
    """A variable of Python's `__main__`: the bare object.

    q).p.e"n=5"
    q).p.py2q .p.pyget`n
    5
    """
    return Foreign(_variable(x))


def _variable(x: Any) -> Any:
    if x.__class__ is not Sym:
        raise QError("type")
    variables = code.main_module().__dict__
    if x.s not in variables:
        raise QError(x.s)
    return variables[x.s]


@name(".p.set", effect="changes")
def put(x: Any, y: Value) -> Value:
    """Assign a variable of Python's `__main__`.

    q).p.set[`v;2 3 4]
    q).p.qeval"sum(v.tolist())"
    9
    """
    if x.__class__ is not Sym:
        raise QError("type")
    code.main_module().__dict__[x.s] = guarded("set", to_python, y)
    return NIL


# ------------------------------------------------------------------ objects


@name(".p.wrap", ".p.wrap[object;...]", arity=-1, effect="changes")
def wrap(x: Value, *rest: Value) -> Value:
    """A bare Python object, or the object of a handle, as a wrapped one, applied to further arguments.

    q).p.wrap[.p.pyeval"5"]`
    5
    """
    return _then(PyCall(object_of(x)), rest)


@name(".p.unwrap")
def unwrap(x: Value) -> Value:
    """The bare object of a wrapped one; any other value as it is.

    q)type .p.unwrap .p.eval"5"
    112h
    """
    return Foreign(x.obj) if isinstance(x, Foreign) else x


@name(".p.py2q", effect="changes")
def to_q_value(x: Value) -> Value:
    """The q value of a Python object; the object itself, bare, if it has none.

    q).p.py2q .p.pyeval"(1,2)"
    1 2
    """
    return to_q(x.obj) if isinstance(x, Foreign) else x


@name(".p.q2py", effect="changes")
def toobject_of(x: Value) -> Value:
    """The Python value of a q value, as a bare object.

    q).p.repr .p.q2py`a`b
    "['a', 'b']"
    """
    return Foreign(guarded("q2py", to_python, x))


@name(".p.getattr", effect="changes")
def get_attribute(x: Value, y: Value) -> Value:
    """An attribute of a Python object, bare.

    q).p.py2q .p.getattr[.p.pyimport`math;`e]
    2.718282
    """
    return Foreign(attribute(object_of(x), _symbol(y)))


@name(".p.setattr", effect="changes")
def set_attribute(x: Value, y: Value, z: Value) -> Value:
    """Give an attribute of a Python object a value.

    q).p.e"class A: pass"
    q)o:.p.eval"A()"
    q).p.setattr[o;`x;5]
    q)o[`:x]`
    5
    """
    return put_attribute(object_of(x), _symbol(y), z)


@name(".p.call", effect="changes")
def call_with(x: Value, y: Value, z: Value) -> Value:
    """Call a Python object with a list of arguments and a dictionary of keyword arguments; the result is bare.

    q).p.py2q .p.call[.p.pyeval"divmod";17 5;()!()]
    3 2
    """
    args = to_python(y) if isinstance(y, Foreign) else [to_python(item) for item in seq_items(y)]
    named = to_python(z)
    if not isinstance(named, dict) or not isinstance(args, (list, tuple)):
        raise QError("type")
    return Foreign(guarded("call", lambda: object_of(x)(*args, **named)))


@name(".p.pyfunc", effect="changes")
def function(x: Value) -> Value:
    """A function that calls a Python object; its results are bare.

    q).p.py2q .p.pyfunc[.p.pyeval"max"][3;8]
    8
    """
    return PyCall(object_of(x), ">")


@name(".p.pycallable", effect="changes")
def bare_function(x: Value) -> Value:
    """The same, of a wrapped object too.

    q).p.pycallable[.p.eval"len"]"four"
    foreign
    """
    return PyCall(object_of(x), ">")


@name(".p.qcallable", effect="changes")
def q_function(x: Value) -> Value:
    """A function that calls a Python object; its results are q values.

    q).p.qcallable[.p.eval"len"]"four"
    4
    """
    return of_q(object_of(x))


@name(".p.callable", effect="changes")
def callable_(x: Value) -> Value:
    """A Python object as a wrapped one: whether it can be called shows when it is.

    q).p.callable[.p.eval"len"]["four"]`
    4
    """
    return PyCall(object_of(x))


def object_of(x: Value) -> Any:
    """The object of a bare or wrapped value, or of a handle; the Python value of others."""
    return x.obj if isinstance(x, Foreign) else to_python(x)


def _symbol(x: Any) -> str:
    if x.__class__ is not Sym:
        raise QError("type")
    return x.s.removeprefix(":")


def _then(w: PyCall, rest: Sequence[Value]) -> Value:
    return run(w, rest) if rest else w


# ------------------------------------------------------------------ closures and generators


@name(".p.closure", effect="changes")
def closure(x: Value, y: Value) -> Value:
    """A Python function with a state: each call evaluates `f[state;argument...]`, which gives (new state;result). The
    second argument is the first state.

    q)c:.p.closure[{[s;x](s+x;s)};10][<]
    q)c 1
    10
    q)c 1
    11
    """
    state = [y]

    def step(*args: Any) -> Any:
        given = [to_q(argument) for argument in args] or [NIL]
        return to_python(_step(x, state, given))

    return PyCall(step)


@name(".p.generator", effect="changes")
def generator(x: Value, y: Value, z: Value) -> Value:
    """A Python generator that evaluates `f[state;i]` for i of 0, 1, 2 and so on, n times, or without end for ::.

    q).p.list[.p.generator[{[s;i](2*s;s)};1;5]]`
    1 2 4 8 16
    """
    state, most = [y], None if z is NIL else to_python(z)

    def items() -> Iterator[Any]:
        i = 0
        while most is None or i < most:
            yield to_python(_step(x, state, [i]))
            i += 1

    return PyCall(items())


def _step(f: Value, state: list[Value], args: list[Value]) -> Value:
    pair = seq_items(apply(f, [state[0], *args]))
    if len(pair) != 2:
        raise QError("length")
    state[0] = pair[0]
    return pair[1]


# ------------------------------------------------------------------ arguments of a call


@registry.verb("pykw", effect="none")
def keyword(x: Any, y: Value) -> Value:
    """A keyword argument of a Python call.

    q)f:.p.eval["lambda a,b=1: a-b";<]
    q)f[5;`b pykw 3]
    2
    """
    if x.__class__ is not Sym:
        raise QError("type")
    return word(KEYWORD, (x, y), 1)


@registry.verb("pyarglist", effect="none")
def argument_list(x: Value) -> Value:
    """A list whose items are positional arguments of a Python call, after all others.

    q)f:.p.eval["lambda a,b: a-b";<]
    q)f[pyarglist 5 3]
    2
    """
    return word(ARGUMENTS, (x,), 2)


@registry.verb("pykwargs", effect="none")
def keywords(x: Value) -> Value:
    """A dictionary of keyword arguments of a Python call.

    q)f:.p.eval["lambda a,b: a-b";<]
    q)f[pykwargs`b`a!3 5]
    2
    """
    return word(KEYWORDS, (x,), 2)
