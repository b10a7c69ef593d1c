"""Options of types of Python: the parameters of a class or function, the values that q gives, and the call.

Defaults and annotations say what a parameter takes; any other value is converted as `.p` does. What was given is kept
as q values, since a class need not store it.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kshell.errors import CallError, QError
from kshell.kapi.base.args import (
    doubles_of,
    flag_of,
    is_empty,
    is_pairs,
    long_of,
    longs_of,
    number_of,
    pairs,
    unknown,
)
from kshell.kapi.base.convert import as_tensor, is_array, kname, to_q
from kshell.kapi.base.handles import TensorHandle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.python_types import PyType, made_of, mark
from kshell.registry import REQUIRED, Entry, Option
from kshell.values.base import types as T
from kshell.values.base.build import collapse, symdict
from kshell.values.base.core import (
    NIL,
    NULL_J,
    Atom,
    Dict,
    List,
    Table,
    Value,
    Vec,
    is_list,
    seq_items,
    text_of,
)
from kshell.values.base.functions import FROM_PYTHON, RUN_PYTHON, TO_PYTHON, Function
from kshell.values.base.match import match
from kshell.values.base.symbols import Sym, sym

# ------------------------------------------------------------------ parameters


class Param(NamedTuple):
    """A parameter: what it takes as an option's type, its default as a q value (REQUIRED if there is none, None if q
    has no such value), the class of a sequence, whether an annotation demands the type, and Python's kind of it."""

    name: str
    takes: str
    default: Any
    sequence: type = list
    strict: bool = False
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    said: str = ""  # the default in words, if q has no such value


_WORDS = {"bool": "boolean", "int": "long", "float": "double", "str": "symbol", "Tensor": "tensor"}
_CLASSES = {bool: "boolean", int: "long", float: "double", str: "symbol"}
_SEQUENCE = re.compile(
    r"(?:typing\.|collections\.abc\.)?(tuple|list|sequence|iterable)\[(int|float)\b", re.I
)
_REST = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def parameters(obj: Any, skip: int = 0) -> list[Param]:
    """The parameters of a class or function, without the first ones."""
    try:
        found = list(inspect.signature(obj).parameters.values())[skip:]
    except (TypeError, ValueError):
        found = [inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD)]
    return [_param(p) for p in found]


def _annotated(annotation: Any) -> tuple[str, type]:
    """The type of an option for an annotation, empty if it says none, and the class of a sequence."""
    if annotation is inspect.Parameter.empty:
        return "", list
    text = annotation_text(annotation)
    found = _SEQUENCE.match(text)
    if found:
        sequence = tuple if found[1].lower() == "tuple" else list
        return ("longs" if found[2] == "int" else "doubles"), sequence
    return _WORDS.get(text.rpartition(".")[2], ""), list


def annotated(p: inspect.Parameter) -> str:
    """The type of an option that the annotation of a parameter says; empty if it says none."""
    return _annotated(p.annotation)[0]


def annotation_text(annotation: Any) -> str:
    """The text of an annotation without blanks, and without None where that is the alternative to something else."""
    text = annotation
    if not isinstance(annotation, str):
        text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    text = text.replace(" ", "").removeprefix("typing.")
    return re.sub(r"^Optional\[(.*)\]$", r"\1", text).removesuffix("|None")


def _param(p: inspect.Parameter) -> Param:
    """A parameter of Python's; its annotation counts before its default."""
    takes, sequence = _annotated(p.annotation)
    strict = bool(takes)
    default: Any = REQUIRED
    if p.default is not p.empty:
        takes = takes or _CLASSES.get(type(p.default), "")
        if not takes and isinstance(p.default, tuple | list) and p.default:
            kinds = {type(item) for item in p.default}
            takes = "longs" if kinds == {int} else "doubles" if kinds <= {int, float} else ""
            sequence = type(p.default)
        default = _default(p.default, takes)
    said = getattr(p.default, "__name__", type(p.default).__name__) if default is None else ""
    return Param(p.name, takes or "any", default, sequence, strict, p.kind, said)


def _default(x: Any, takes: str) -> Any:
    """The q value of a default; None if it has none, such as a class."""
    if x is None:
        return NIL
    if isinstance(x, str):
        return sym(x)
    if takes == "double" and isinstance(x, int):
        return float(x)
    if isinstance(x, type) or callable(x) or isinstance(x, torch.Tensor):
        return to_q(x) if isinstance(x, torch.Tensor) else None
    found = FROM_PYTHON.fn(x)
    return None if isinstance(found, Function) else found


def options_of(params: Sequence[Param]) -> tuple[Option, ...]:
    """The options for help and completion."""
    return tuple(
        Option(
            p.name,
            p.takes,
            _python_default(p),
            doc=p.said and f"by default {p.said}",
        )
        for p in params
        if p.kind not in _REST
    )


def _python_default(p: Param) -> Any:
    """A default as options have it: Python values for types that have them, q values for others."""
    if p.default is REQUIRED or p.takes == "any":
        return NIL if p.default is None else p.default
    if p.default is NIL or p.default is None:
        return None
    return _read(p, p.default)


# ------------------------------------------------------------------ reading


def _symbol(x: Any) -> Any:
    is_text = (x.__class__ is Vec or x.__class__ is Atom) and x.t == T.C
    return text_of(x) if is_text or x.__class__ is Sym else None


def _long(x: Value) -> Any:
    return None if x is NULL_J else long_of(x)


def _double(x: Value) -> Any:
    number = math.nan if x is NULL_J else number_of(x)
    return None if number is None else float(number)


def _tensor(x: Value) -> Any:
    if x.__class__ is TensorHandle:
        return as_tensor(x)
    return as_tensor(x).clone() if is_array(x) else None


_READ: dict[str, tuple[Callable[[Any], Any], str]] = {
    "long": (_long, "long scalar"),
    "double": (_double, "long/double scalar"),
    "boolean": (flag_of, "boolean scalar"),
    "symbol": (_symbol, "symbol"),
    "longs": (longs_of, "long(s)"),
    "doubles": (doubles_of, "long/double(s)"),
    "tensor": (_tensor, "array or tensor"),
}


def _read(p: Param, x: Value) -> Any:
    value = _READ[p.takes][0](x)
    return p.sequence(value) if value.__class__ is list else value


def value_of(name: str, p: Param, x: Any) -> Any:
    """The Python value of a parameter for a q value."""
    if p.takes == "any":
        return TO_PYTHON.fn(x)
    if p.default is NIL and (is_empty(x) or x is NULL_J or (x.__class__ is float and x != x)):
        return None
    value = _read(p, x)
    if value is not None:
        return value
    if p.strict:
        given = "null" if x is NULL_J else kname(x)
        raise CallError(name, at=p.name, expected=_READ[p.takes][1], given=given)
    return TO_PYTHON.fn(x)


def _kept(p: Param, x: Any) -> Value:
    """What is kept of a given value."""
    if x.__class__ is TensorHandle:
        return to_q(as_tensor(x))
    return float(x) if p.takes == "double" and x.__class__ is int else x


# ------------------------------------------------------------------ arguments


class _Arguments:
    """The arguments of a call: those that q gave by position and by name."""

    def __init__(
        self, name: str, params: Sequence[Param], args: Sequence[Value], before: int
    ) -> None:
        self.name = name
        self.places = [p for p in params if p.kind not in (*_REST, inspect.Parameter.KEYWORD_ONLY)]
        self.named = {p.name: p for p in params if p.kind not in _REST}
        rest = [p for p in params if p.kind is inspect.Parameter.VAR_POSITIONAL]
        self.rest = rest[0] if rest else None
        self.open = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in params)
        self.given: dict[str, Value] = {}
        self.values: dict[str, Any] = {}
        self._take(args, before)

    def _take(self, args: Sequence[Value], before: int) -> None:
        positional, by_name = self._split(args)
        count = len(self.places)
        if len(positional) > count and self.rest is None:
            if not self.named and not self.open:
                raise QError(f"{self.name}: no arguments expected, given {len(positional)}")
            raise QError(
                f"{self.name}: expecting up to {before + count} positional args, "
                f"{before + len(positional)} given"
            )
        for p, x in zip(self.places, positional, strict=False):
            self._put(p, x)
        if len(positional) > count and self.rest is not None:
            self._put(self.rest, collapse(list(positional[count:])))
        for key, x in by_name:
            rest = self.rest if self.rest is not None and key == self.rest.name else None
            self._put(self.named.get(key) or rest or Param(key, "any", NIL), x)
        for p in self.named.values():
            if p.default is REQUIRED and p.name not in self.given:
                raise CallError(self.name, f"no {p.name} given")

    def _put(self, p: Param, x: Value) -> None:
        self.given[p.name] = _kept(p, x)
        if p is self.rest:
            items = seq_items(x) if is_list(x) else [x]
            self.values[p.name] = [value_of(self.name, p, item) for item in items]
        else:
            self.values[p.name] = value_of(self.name, p, x)

    def _split(self, args: Sequence[Value]) -> tuple[Sequence[Value], list[tuple[str, Value]]]:
        """Positional arguments and pairs, which the last one holds if it has names of parameters."""
        last: Any = args[-1] if args else NIL
        if last.__class__ is Dict and not len(last):
            return args[:-1], []
        if not args or is_empty(last) or not is_pairs(last):
            return args, []
        found = pairs(last)
        wrong = [key for key, _ in found if key not in self.named]
        if self.rest is not None:
            wrong = [key for key in wrong if key != self.rest.name]
        if not wrong or (self.open and all(key.isidentifier() for key in wrong)):
            return args[:-1], found
        at = len(args) - 1
        free = self.rest is not None or (at < len(self.places) and self.places[at].takes == "any")
        if free and len(wrong) == len(found):
            return args, []
        raise unknown("unrecognized option `", wrong[0], self.named, call=self.name)

    def call(self, obj: Any) -> Any:
        """The result of the class or function."""
        only = inspect.Parameter.POSITIONAL_ONLY
        first = [
            p
            for p in self.places
            if p.name in self.values and (p.kind is only or self._rest_given())
        ]
        positional = [self.values[p.name] for p in first]
        if self.rest is not None and self._rest_given():
            positional += self.values[self.rest.name]
        taken = {p.name for p in first} | ({self.rest.name} if self.rest is not None else set())
        named = {key: value for key, value in self.values.items() if key not in taken}
        return RUN_PYTHON.fn(self.name, obj, *positional, **named)

    def _rest_given(self) -> bool:
        return self.rest is not None and self.rest.name in self.values


def made(t: PyType, entry: Entry, args: Sequence[Value], before: int) -> Any:
    """What a type of Python makes of q's arguments, of which `before` came before."""
    return _Arguments(entry.name, parameters(t.obj), args, before).call(t.obj)


def build(t: PyType, entry: Entry, args: Sequence[Value], before: int) -> Any:
    """A module or loss of a type of Python, from q's arguments; it knows how it was made. `before` is 0 for a state,
    which may come from a file: what could call a function in it would run a file's code."""
    if before == 0 and any(map(has_functions, args)):
        raise QError(f"{entry.name}: a function is among the options of a state")
    arguments = _Arguments(entry.name, parameters(t.obj), args, before)
    made = arguments.call(t.obj)
    if not isinstance(made, torch.nn.Module):
        raise QError(f"{entry.name}: made a {type(made).__name__}, not a {entry.kind}")
    mark(made, t, entry.kind, arguments.given)
    return made


# ------------------------------------------------------------------ back to q


def live_options(t: PyType, x: Any, every: bool) -> Dict:
    """The options of an object as a q dictionary: those that it was made with and, with `every`, the defaults of the
    others. Empty if Python made it."""
    made = made_of(x)
    if made is None:
        return symdict([], [])
    shown: dict[str, Value] = {}
    for p in parameters(t.obj):
        if p.name in made.given:
            given = made.given[p.name]
            if every or p.default in (REQUIRED, None) or not match(given, p.default):
                shown[p.name] = given
        elif every and p.default not in (REQUIRED, None) and p.kind not in _REST:
            shown[p.name] = p.default
    known = {p.name for p in parameters(t.obj)}
    shown |= {key: given for key, given in made.given.items() if key not in known}
    return symdict(list(shown), list(shown.values()))


def options_text(x: Any) -> str:
    """The options that an object was made with, as Python writes them; what it says itself comes first."""
    own = x.extra_repr()
    made = made_of(x)
    if own or made is None:
        return str(own)
    return ", ".join(f"{key}={TO_PYTHON.fn(value)!r}" for key, value in made.given.items())


def has_functions(x: Value | None) -> bool:
    """Is there a function in a value, which code that gets it could call?"""
    if isinstance(x, Function):
        return True
    if x.__class__ is Dict:
        return has_functions(x.k) or has_functions(x.v)
    if x.__class__ is Table:
        return any(map(has_functions, x.cols))
    return isinstance(x, List) and any(map(has_functions, x.items))


def inputs_of(obj: Any) -> tuple[int, int]:
    """The numbers of inputs, least and most, that the forward of a class takes."""
    forward = getattr(obj, "forward", None) if isinstance(obj, type) else None
    if forward is None or forward is torch.nn.Module.forward:
        return 1, 9
    found = parameters(forward, 1)
    if any(p.kind in _REST for p in found):
        return 1, 9
    places = [p for p in found if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    least = sum(1 for p in places if p.default is REQUIRED)
    return max(least, 1), max(len(places), 1)
