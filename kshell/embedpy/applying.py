"""Applying Python objects in q: what the first argument of a wrapped object says, the arguments of a call, and the
errors of Python code."""

from __future__ import annotations

import operator
import traceback
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakSet

import numpy as np

from kshell.embedpy.callables import RaisedInPython
from kshell.embedpy.into_q import to_q
from kshell.embedpy.out_of_q import QUICK, to_python
from kshell.embedpy.tracebacks import python_frames
from kshell.errors import QError, QExit, as_qerror, first_line, message_of
from kshell.values.base import types as T
from kshell.values.base.core import HOLE, NIL, Dict, List, Value, Vec, seq_items, sym_names
from kshell.values.base.from_numpy import taken
from kshell.values.base.functions import (
    APPLY,
    FAILED,
    Door,
    Foreign,
    Prim,
    Proj,
    PyCall,
    PyFunction,
)
from kshell.values.base.symbols import Sym
from kshell.values.session.context import perhaps
from kshell.values.session.restrict import PYTHON_WATCHED, allow_python

# exceptions whose class the function that failed implies already, by its name
_IMPLIED: dict[str, tuple[type[BaseException], ...]] = {
    "getattr": (AttributeError,),
    "import": (ImportError,),
    "e": (SyntaxError,),
    "eval": (SyntaxError,),
}
_PASSING = (MemoryError, RecursionError, SystemError)


def _no_call(*args: Value) -> Value:
    raise QError("rank", hint="it is an argument of a Python function")


# functions of which `pykw`, `pyarglist` and `pykwargs` make projections: arguments of a call that are not positional
KEYWORD, ARGUMENTS, KEYWORDS = (
    Prim(name, {3: _no_call}) for name in ("pykw", "pyarglist", "pykwargs")
)
_WORDS_OF_CALLS = {id(word) for word in (KEYWORD, ARGUMENTS, KEYWORDS)}


def word(of: Prim, args: tuple[Value, ...], missing: int) -> Proj:
    """An argument that `pykw`, `pyarglist` or `pykwargs` makes. It has no holes, which are not looked for."""
    made = Proj.__new__(Proj)
    made.f, made.args, made.holes, made.rank = of, args, 0, missing
    return made


@FAILED.set
def failed(where: str, e: BaseException) -> QError:
    """The q error for an exception that Python code let go on: embedPy's text, with the exception's class where the
    name of the function does not imply it."""
    if isinstance(e, QError):
        error = QError(e.text, hint=e.hint) if isinstance(e, RaisedInPython) else e
        error.frames = [*e.frames]
    elif isinstance(e, _PASSING):
        error = as_qerror(e)
    elif isinstance(e, SystemExit):
        if isinstance(e, QExit):
            raise e
        error = QError(f"{where}: SystemExit: {e.code}")
    else:
        implied = (*_IMPLIED.get(where, ()), UnicodeError)
        kind = "" if isinstance(e, implied) else f"{type(e).__name__}: "
        error = QError(first_line(f"{where}: {kind}{message_of(e)}").rstrip(":"))
    error.frames += python_frames(e.__traceback__)
    TRACEBACK[:] = traceback.format_exception(e)
    if WHOLE and perhaps() in WHOLE:
        error.text = "".join(TRACEBACK).rstrip()
        error.args = (error.text,)
    return error


TRACEBACK: list[str] = []  # the lines of Python's report of the last error
WHOLE: WeakSet[Any] = WeakSet()  # the sessions in which it is the error's text


def guarded(where: str, work: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """The result of Python code; a q error for its exceptions. An interrupt, and the end of the program by q, go on."""
    allow_python(f".p.{where}")
    problem: QError
    try:
        return work(*args, **named)
    except Exception as e:
        problem = failed(where, e)
    except SystemExit as e:
        problem = failed(where, e)
    raise problem


# ------------------------------------------------------------------ calls


_SAME = frozenset((int, float, bool))  # classes of atoms that Python has
_FEW = 0x3FFF_FFFF  # Python compares numbers of at most 30 bits quickest
DOOR = Door(to_python, to_q, QUICK)


def call(
    obj: Any,
    args: Sequence[Value],
    convert: Callable[[Value], Any] = to_python,
    where: str = "call",
) -> Any:
    """The Python result of a call with q arguments. A single :: is none."""
    if PYTHON_WATCHED:
        allow_python(".p.call")
    try:
        for argument in args:
            if argument.__class__ is Proj and id(argument.f) in _WORDS_OF_CALLS:
                positional, named = _arguments(args, convert)
                return obj(*positional, **named)
        if args[0] is NIL and len(args) == 1:
            return obj()
        return obj(*[x if x.__class__ in _SAME else convert(x) for x in args])
    except Exception as e:
        problem = failed(where, e)
    except SystemExit as e:
        problem = failed(where, e)
    raise problem


def _call1(f: PyFunction, x: Any) -> Value:
    """`f x`, quick if x goes to Python by its class alone."""
    convert = None
    if type(x) not in _SAME and (convert := f.door.quick.get(type(x))) is None:
        return (
            _worded(f, (x,))
            if type(x) is Proj and id(x.f) in _WORDS_OF_CALLS
            else _any_call(f, (x,))
        )
    if PYTHON_WATCHED:
        allow_python(".p.call")
    try:
        found = f.obj(x) if convert is None else f.obj(convert(x))
    except Exception as e:
        problem = failed(f.where, e)
    except SystemExit as e:
        problem = failed(f.where, e)
    else:
        kind = type(found)
        if (kind is int and -_FEW <= found <= _FEW) or kind is float or kind is bool:
            return found
        if kind is not np.ndarray:
            return f.door.to_q(found)
        box = [found]
        del found
        return taken(box, f.door.to_q)
    raise problem


def _call2(f: PyFunction, x: Any, y: Any) -> Value:
    """`f[x;y]` and ``f[x;`name pykw y]``, quick in the same way."""
    by_name = type(y) is Proj and y.f is KEYWORD
    value = y.args[1] if by_name else y
    if type(x) not in _SAME or type(value) not in _SAME:
        return (
            _worded(f, (x, y))
            if type(y) is Proj and id(y.f) in _WORDS_OF_CALLS
            else _any_call(f, (x, y))
        )
    if PYTHON_WATCHED:
        allow_python(".p.call")
    try:
        found = f.obj(x, **{y.args[0].s: value}) if by_name else f.obj(x, y)
    except Exception as e:
        problem = failed(f.where, e)
    except SystemExit as e:
        problem = failed(f.where, e)
    else:
        kind = type(found)
        if (kind is int and -_FEW <= found <= _FEW) or kind is float or kind is bool:
            return found
        if kind is not np.ndarray:
            return f.door.to_q(found)
        box = [found]
        del found
        return taken(box, f.door.to_q)
    raise problem


def _worded(f: PyFunction, args: tuple[Value, ...]) -> Value:
    """A call whose last argument is one of the words."""
    if args[0] is HOLE:
        return _any_call(f, args)
    return taken([call(f.obj, args, f.door.to_python, f.where)], f.door.to_q)


def _any_call(f: PyCall, args: tuple[Value, ...]) -> Value:
    """A call with arguments of any kind: also left out, by name, none at all."""
    return APPLY.fn(f, args)


PyFunction.call1, PyFunction.call2 = _call1, _call2


def _wrapped1(f: PyCall, x: Any) -> Value:
    """`w x` of a wrapped object, or of a function with wrapped or bare results; quick for an attribute's name or a
    number."""
    cls = type(x)
    if cls is Sym and not f.how and x.s[:1] == ":":
        return PyCall(attribute(f.obj, x.s[1:]))
    if cls not in _SAME:
        return _any_call(f, (x,))
    if PYTHON_WATCHED:
        allow_python(".p.call")
    try:
        found = f.obj(x)
    except Exception as e:
        problem = failed("call", e)
    except SystemExit as e:
        problem = failed("call", e)
    else:
        return Foreign(found) if f.how == ">" else PyCall(found)
    raise problem


PyCall.call1 = _wrapped1


def _arguments(
    args: Sequence[Any], convert: Callable[[Value], Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The positional and keyword arguments of a call, as Python's values."""
    positional: list[Any] = []
    more: list[Any] | None = None
    named: dict[str, Any] = {}
    count = 0  # of names
    last: Prim | None = None  # the last of pykw and pykwargs
    for argument in args:
        kind = (
            argument.f if argument.__class__ is Proj and id(argument.f) in _WORDS_OF_CALLS else None
        )
        if last is KEYWORDS:
            raise QError("only one pykwargs allowed" if kind is last else "pykwargs last")
        if kind is KEYWORD:
            name, value = argument.args
            named[name.s] = value if value.__class__ in _SAME else convert(value)
            count += 1
            last = kind
        elif kind is KEYWORDS:
            names, values = _pairs(argument.args[0], convert)
            named.update(zip(names, values, strict=True))
            count += len(names)
            last = kind
        elif last is not None:
            raise QError("keywords last")
        elif kind is ARGUMENTS:
            if more is not None:
                raise QError("only one pyargs allowed")
            more = _converted(argument.args[0], convert)
        else:
            positional.append(argument if argument.__class__ in _SAME else convert(argument))
    if len(named) < count:
        raise QError("dupnames")
    return positional if more is None else positional + more, named


# types of vectors whose items are Python's own numbers; a null is its bit pattern, as by itself
_NUMBERS = frozenset((T.B, T.J, T.F))


def _converted(x: Any, convert: Callable[[Value], Any]) -> list[Any]:
    """The items of a list, or a single value, as Python's values."""
    if x.__class__ is Vec and x.t in _NUMBERS:
        found: list[Any] = x.a.tolist()
        return found
    items = seq_items(x) if _is_list(x) else [x]
    return [item if item.__class__ in _SAME else convert(item) for item in items]


def _is_list(x: Value) -> bool:
    return isinstance(x, (Vec, List))


def _pairs(x: Any, convert: Callable[[Value], Any]) -> tuple[list[str], list[Any]]:
    """The names and values of a dictionary with symbols as keys."""
    if x.__class__ is not Dict:
        raise QError("type")
    keys: Any = x.k
    if keys.__class__ is Vec and keys.t == T.S:
        names = sym_names(keys)
    elif all(key.__class__ is Sym for key in keys.items):
        names = [key.s for key in keys.items]
    else:
        raise QError("type")
    return names, _converted(x.v, convert)


# ------------------------------------------------------------------ wrapped objects


def run(f: PyCall, args: Sequence[Value]) -> Value:
    """A Python object applied to arguments. Of a declared function all are arguments; what the first says to a wrapped
    object is in the table below."""
    if isinstance(f, PyFunction):
        return taken([call(f.obj, args, f.door.to_python, f.where)], f.door.to_q)
    if f.how:
        found = call(f.obj, args)
        return Foreign(found) if f.how == ">" else PyCall(found)
    first: Any = args[0]
    if first.__class__ is Sym:
        name = first.s
        if not name:
            return to_q(f.obj)
        if name == ".":
            return Foreign(f.obj)
        if name[0] == ":":
            return _then(PyCall(attribute(f.obj, name[1:])), args[1:])
    elif first.__class__ is Prim and first.entry is not None:
        word = _WORDS.get(first.name)
        if word is not None:
            return word(f, args[1:])
        if getattr(first.entry, "infix", False):
            raise QError("NYI")
    return PyCall(call(f.obj, args))


def of_q(obj: Any) -> PyFunction:
    """A function of `.p` whose results are q values."""
    return PyFunction(obj, DOOR)


PyCall.call = run  # type: ignore[method-assign, assignment]


def _then(w: PyCall, rest: Sequence[Value]) -> Value:
    """What further arguments say to a result."""
    return run(w, rest) if rest else w


def attribute(obj: Any, path: str) -> Any:
    """An attribute of an object; after dots, of that."""
    if PYTHON_WATCHED:
        allow_python(".p.getattr")
    try:
        for name in path.split("."):
            obj = getattr(obj, name)
        return obj
    except Exception as e:
        problem = failed("getattr", e)
    except SystemExit as e:
        problem = failed("getattr", e)
    raise problem


def put_attribute(obj: Any, path: str, value: Value) -> Value:
    """Give an attribute a value."""
    *above, name = path.split(".")
    target = attribute(obj, ".".join(above)) if above else obj
    guarded("setattr", lambda: setattr(target, name, to_python(value)))
    return NIL


def declared(obj: Any, how: str) -> PyCall:
    """A function whose results are q values (`<`), bare (`>`) or wrapped (`*`)."""
    return of_q(obj) if how == "<" else PyCall(obj, how)


def _declare(how: str) -> Callable[[PyCall, Sequence[Value]], Value]:
    def made(f: PyCall, rest: Sequence[Value]) -> Value:
        return _then(declared(f.obj, how), rest)

    return made


def _item(f: PyCall, rest: Sequence[Any]) -> Value:
    if not rest:
        raise QError("rank")
    found = guarded("call", lambda: operator.getitem(f.obj, to_python(rest[0])))
    return _then(PyCall(found), rest[1:])


def _put_item(f: PyCall, rest: Sequence[Any]) -> Value:
    if len(rest) != 2:
        raise QError("rank")
    key, value = rest
    if _is_list(value) and len(value) == 1:
        value = seq_items(value)[0]  # embedPy's programs enlist it, since it joins the two
    guarded("call", lambda: operator.setitem(f.obj, to_python(key), to_python(value)))
    return NIL


def _put(f: PyCall, rest: Sequence[Any]) -> Value:
    if len(rest) != 2 or rest[0].__class__ is not Sym:
        raise QError("type" if len(rest) == 2 else "rank")
    return put_attribute(f.obj, rest[0].s.removeprefix(":"), rest[1])


_WORDS: dict[str, Callable[[PyCall, Sequence[Value]], Value]] = {
    "*": _declare("*"),
    "<": _declare("<"),
    ">": _declare(">"),
    "@": _item,
    "=": _put_item,
    ":": _put,
}
