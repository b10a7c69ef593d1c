"""Options of modules and losses: q values in, torch arguments out, and back from a live object to the q dictionary.

A module's options are read back from the torch object itself, so a module that plain Python made shows them too.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

from kshell import registry
from kshell.errors import CallError, QError
from kshell.kapi.base.args import flag_of, is_empty, long_of, number_of, number_word, pairs_hint, spellings, unknown
from kshell.kapi.base.convert import as_tensor, is_array, kname
from kshell.kapi.base.handles import KHandle, TensorHandle
from kshell.kapi.base.plain_values import option_q
from kshell.registry import REQUIRED, Entry, Option
from kshell.values.base import types as T
from kshell.values.base.build import symdict
from kshell.values.base.core import NULL_J, Dict, List, Sym, Value, Vec

Pairs = Sequence[tuple[str, Value]]

# ------------------------------------------------------------------ reading one option


def _long(x: Value) -> Any:
    n = long_of(x)
    return None if n is None else math.nan if n == NULL_J.v else n


def _double(x: Value) -> Any:
    return math.nan if x is NULL_J else number_of(x)


def _longs(x: Value) -> Any:
    n = long_of(x)
    if n is not None:
        return (n,)
    if x.__class__ is Vec and x.t in (T.H, T.I, T.J):
        return tuple(x.a.tolist())
    return () if x.__class__ is List and not x.items else None


def _doubles(x: Value) -> Any:
    n = number_of(x)
    if n is not None:
        return (float(n),)
    return tuple(map(float, x.a.tolist())) if x.__class__ is Vec and x.t in T.NUMERIC - {T.B, T.X} else None


def _tensor(x: Value) -> Any:
    if x.__class__ is TensorHandle:
        return as_tensor(x)
    return as_tensor(x).clone() if is_array(x) else None


def _pad(x: Value) -> Any:
    return x.s if x.__class__ is Sym else _longs(x)


# the type words of Option: how a q value is read (None: of the wrong type), and what messages call it
_READ: dict[str, tuple[Callable[[Value], Any], str]] = {
    "long": (_long, "long scalar"),
    "double": (_double, "double"),
    "boolean": (flag_of, "boolean scalar"),
    "symbol": (lambda x: x.s if x.__class__ is Sym else None, "symbol"),
    "size": (_longs, "long(s)"),
    "longs": (_longs, "long(s)"),
    "pad": (_pad, "long(s) or symbol"),
    "doubles": (_doubles, "double(s)"),
    "tensor": (_tensor, "array or tensor"),
    "any": (lambda x: x, "value"),
}


def expand(name: str, option: Option, value: tuple[Any, ...], dims: int) -> Any:
    """A size of `dims` dimensions: one number stands for all of them."""
    if len(value) == dims:
        return value if dims > 1 else value[0]
    if len(value) == 1:
        return value * dims
    raise CallError(name, at=option.name, expected=f"scalar or {dims}-element input",
                    given=f"{len(value)}-element list")


def read(name: str, option: Option, x: Value, dims: int = 1, named: bool = False) -> Any:
    """The Python value of one option; None where q gives a null, `::` or `()` and the option may be absent."""
    if is_empty(x) and option.type != "any":
        if option.default is None or option.type == "tensor":
            return None
    reader, words = _READ[option.type]
    value = reader(x)
    if value is None:
        raise CallError(name, at=option.name, expected=words, given=kname(x), hint="" if named else pairs_hint(x))
    if value.__class__ is float and value != value:
        if option.type == "long" and option.default is not None:
            raise CallError(name, at=option.name, expected=words, given="null")
        return None if option.default is None or option.type == "long" or option.choices == ("null",) else value
    if option.type in ("size", "pad") and value.__class__ is tuple:
        value = expand(name, option, value, dims)
        if option.choices == ("null",):  # a null keeps the input's size
            value = tuple(None if v == NULL_J.v else v for v in (value if dims > 1 else (value,)))
            if all(v is None for v in value):
                raise CallError(name, "no output size given")
            value = value if dims > 1 else value[0]
    elif option.type == "double":
        value = float(value)
    if option.choices and option.choices != ("null",) and value.__class__ is str and value not in option.choices:
        raise QError(f"{name} {option.name}:{value} is not one of {','.join(option.choices)}")
    return value


# ------------------------------------------------------------------ an entry's options


def class_of(entry: Entry) -> Any:
    """The torch class of a module type or loss."""
    return entry.extra.get("class") or entry.resolve()


_TYPES = {bool: "boolean", int: "long", float: "double", str: "symbol", tuple: "longs"}
_WORDS = {"bool": "boolean", "int": "long", "float": "double", "str": "symbol"}


def signature_options(cls: type) -> tuple[Option, ...]:
    """The options in the signature of a class, by the types of its defaults and annotations."""
    options = []
    for name, p in list(inspect.signature(cls).parameters.items()):
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        annotation = p.annotation if isinstance(p.annotation, str) else getattr(p.annotation, "__name__", "")
        kind = _TYPES.get(type(p.default)) or _WORDS.get(annotation.split(" ")[0])
        kind = kind or ("longs" if annotation.startswith("tuple") else "any")
        options.append(Option(name, kind, REQUIRED if p.default is p.empty else p.default))
    return tuple(options)


def with_defaults(cls: type, options: Sequence[Option]) -> tuple[Option, ...]:
    """Options of a class, those without a default with that of the class; such as the class must have are required."""
    known = inspect.signature(cls).parameters
    completed = []
    for o in options:
        p = known.get(torch_name(o))
        if o.default is None and p is not None:
            plain = p.default is None or type(p.default) in _TYPES
            o = o._replace(default=REQUIRED if p.default is p.empty else p.default if plain else None)
        completed.append(o)
    return tuple(completed)


_NAMES: dict[str, tuple[int, set[str]]] = {}


def known_names(kind: str) -> set[str]:
    """Every option name that some entry of the kind has."""
    held = _NAMES.get(kind)
    if held is None or held[0] != registry.version():
        names = {o.name for e in registry.entries(kind) for o in e.options}
        held = _NAMES[kind] = (registry.version(), names)
    return held[1]


def places(entry: Entry, positional: Sequence[Value]) -> list[Option]:
    """The options in the order in which positional values fill them. An entry may choose by the values (`place`); with
    `shortflag`, a boolean in the last place is the flag, whatever was left out before it: `leakyrelu;1b`."""
    place = entry.extra.get("place")
    if place is not None:
        by_name = {o.name: o for o in entry.options}
        return [by_name[k] for k in place(positional)]
    options = list(entry.options)
    count = len(positional)
    if "shortflag" in entry.extra and 0 < count < len(options) and flag_of(positional[-1]) is not None:
        return [*options[:count - 1], options[-1]]
    return options


def parse(entry: Entry, positional: Sequence[Value], named: Pairs = (), before: int = 1) -> dict[str, Any]:
    """The options given, {name: Python value}. `before` counts the arguments in front (type, name)."""
    name, dims, widths = entry.name, entry.extra.get("dims", 1), entry.extra.get("widths", {})
    slots = places(entry, positional)
    if len(positional) > len(slots):
        if not slots:
            raise QError(f"{name}: no arguments expected, given {len(positional)}")
        raise QError(f"{name}: expecting up to {before + len(slots)} positional args, "
                     f"{before + len(positional)} given")
    values = {o.name: read(name, o, x, widths.get(o.name, dims)) for o, x in zip(slots, positional, strict=False)}
    options = {o.name: o for o in entry.options}
    for key, x in named:
        option = options.get(key)
        if option is None:
            if key not in known_names(entry.kind):
                raise unknown_option(entry, key)
            raise QError(f"{name} option: {key} not recognized")
        values[key] = read(name, option, x, widths.get(key, dims), True)
    return values


def unknown_option(entry: Entry, key: str) -> QError:
    """The error for a name that is no option of any entry of the kind."""
    words = spellings(entry.options)
    if entry.kind == "loss":
        return unknown("unrecognized loss setting: ", key, words, stand=words)
    return unknown("unrecognized option `", key, words, stand=words, call=entry.name)


def check(entry: Entry, given: dict[str, Any]) -> None:
    """Are the required options there, and in range?"""
    need = entry.extra.get("need", {})
    for o in entry.options:
        value = given.get(o.name)
        if value is None and o.default is REQUIRED and "empty" in entry.extra:
            value = given[o.name] = ()
        if o.default is REQUIRED and (value is None or (value == () and "empty" not in entry.extra)):
            raise CallError(entry.name, need.get(o.name) or f"no {o.name} given")
        if (o.low is None and o.high is None) or value is None:
            continue
        for v in value if value.__class__ is tuple else (value,):
            if o.low is not None and v < o.low:
                text = need.get(o.name, "")
                if text.startswith("positive"):
                    raise CallError(entry.name, text)
                raise QError(f"{entry.name}: {o.name} is {number_word(v)}, below {o.low:g}")
            if o.high is not None and v > o.high:
                raise QError(f"{entry.name}: {o.name} is {number_word(v)}, above {o.high:g}")


def torch_args(entry: Entry, given: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments of the torch class: what was given under torch's names, and defaults that differ; of a
    class that is not torch's all defaults."""
    own = entry.extra.get("own", {})
    if "class" in entry.extra:
        given = {o.name: o.default for o in entry.options if o.default not in (None, REQUIRED)} | given
    kwargs = {torch_name(o): given[o.name] for o in entry.options if o.name in given and o.torch != "-"}
    for key, value in own.items():
        kwargs.setdefault(key, value)
    return kwargs


def torch_name(o: Option) -> str:
    return o.torch or o.name


# ------------------------------------------------------------------ back to q


def default_of(entry: Entry, option: Option, values: dict[str, Any]) -> Any:
    """The default of an option, which may be the value of another one (a pool's stride is its size)."""
    other = entry.extra.get("like", {}).get(option.name)
    return values.get(other) if other else option.default


def _differs(a: Any, b: Any) -> bool:
    if a.__class__ is Dict and b is None:
        return bool(len(a))
    if hasattr(a, "shape") or hasattr(b, "shape"):
        return a is not b
    if a.__class__ is tuple or b.__class__ is tuple:
        values = set(a if isinstance(a, tuple) else (a,)) | set(b if isinstance(b, tuple) else (b,))
        return len(values) != 1 and a != b
    return bool(a != b)


def as_dict(entry: Entry, values: dict[str, Any], every: bool = True) -> Dict:
    """The q dictionary of option values {name: Python value}; without `every` only those that are no defaults. A value
    of type any may be a function of `every`."""
    names, items = [], []
    dims, widths, always = entry.extra.get("dims", 1), entry.extra.get("widths", {}), entry.extra.get("always", ())
    for o in entry.options:
        if o.name not in values:
            continue
        value = values[o.name]
        if o.type == "any" and callable(value):
            value = value(every)
        if every or o.default is REQUIRED or o.name in always or _differs(value, default_of(entry, o, values)):
            names.append(o.name)
            items.append(option_q(o, value, widths.get(o.name, dims)))
    return symdict(names, items) if names else symdict([], [])


_GIVEN = "kshell_options"
_NONE: Any = object()  # an option that cannot be known
# what the attribute of an option's name is, if it is the option: one that is called `type` may be a method of the class
_FITS: dict[str, tuple[type, ...]] = {
    "long": (int,), "double": (int, float), "boolean": (bool,), "symbol": (str,), "pad": (int, str, tuple, list),
    **dict.fromkeys(("size", "longs", "doubles"), (int, float, tuple, list))}


def remember(entry: Entry, m: Any, given: dict[str, Any]) -> None:
    """Keep the options with which a module of a class of the user's was made, and what the attributes of their names
    were then: an option need not be an attribute, or not as it was given."""
    if "class" in entry.extra:
        m.__dict__[_GIVEN] = {o.name: (given[o.name], _attribute(m, o)) for o in entry.options
                              if o.name in given and not isinstance(given[o.name], KHandle)}


def _attribute(m: Any, o: Option) -> Any:
    """The attribute of an option's name, if it can be the option's value."""
    value = getattr(m, torch_name(o), _NONE)
    if o.type == "boolean" and (value is None or hasattr(value, "requires_grad")):
        return value is not None  # bias: a parameter, or None where there is none
    if value is None:
        return None if o.default is None else _NONE
    fits = isinstance(value, _FITS[o.type]) if o.type in _FITS else not callable(value)
    return value if fits and (o.type == "boolean" or not isinstance(value, bool)) else _NONE


def _own_values(entry: Entry, m: Any) -> dict[str, Any]:
    """The options of a module of a class of the user's: those with which it was made, unless the attribute has changed
    since; of one that Python made the attributes, else the defaults. What cannot be known is left out."""
    saved = m.__dict__.get(_GIVEN, {})
    values = {}
    for o in entry.options:
        now = _attribute(m, o)
        before, then = saved.get(o.name, (_NONE, _NONE))
        if before is not _NONE and (now is _NONE or not _differs(now, then)):
            now = before
        if now is _NONE:
            now = o.default
        if now is not REQUIRED:
            values[o.name] = now
    return values


def live_values(entry: Entry, m: Any) -> dict[str, Any]:
    """The option values of a live torch object, read from its attributes."""
    if "class" in entry.extra:
        return _own_values(entry, m)
    readers = entry.extra.get("read", {})
    out = {}
    for o in entry.options:
        if o.name in readers:
            out[o.name] = readers[o.name](m)
            continue
        if o.torch == "-":
            continue
        value = getattr(m, torch_name(o))
        if o.type == "boolean" and value.__class__ is not bool and (value is not None or o.default is not None):
            value = value is not None and value is not False  # bias: a parameter, or None where there is none
        out[o.name] = out[entry.extra["like"][o.name]] if value is None and o.name in entry.extra.get("like", ()) \
            else value
    hide = entry.extra.get("hide")
    return hide(out) if hide else out


def options_dict(entry: Entry) -> Dict:
    """The q dictionary of an entry's options with their defaults. Required ones of ktorch's types have the example
    values that ktorch shows, others the symbol `required."""
    example: dict[str, Any] = dict(entry.extra.get("example", {}))
    values: dict[str, Any] = {}
    for o in entry.options:
        if o.default is REQUIRED and entry.since != "ktorch":
            values[o.name] = "required"
        elif o.name in example:
            values[o.name] = example[o.name]
        elif o.default is not REQUIRED:
            values[o.name] = o.default
    for key, other in entry.extra.get("like", {}).items():
        if key not in example:
            values[key] = values.get(other)
    hide = entry.extra.get("hide")
    return as_dict(entry, hide(values) if hide else values)
