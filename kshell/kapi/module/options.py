"""Options of modules and losses: from q values to torch arguments, and from live objects back to q dictionaries.

A module's options are read back from the torch object, so modules made in plain Python show them too.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kshell import registry
from kshell.entry_kinds import KINDS
from kshell.errors import UNSAID, CallError, QError
from kshell.kapi.base import python_options
from kshell.kapi.base.args import (
    flag_of,
    is_empty,
    long_of,
    named_values,
    number_of,
    number_word,
    pairs_hint,
    spellings,
    unknown,
)
from kshell.kapi.base.convert import as_tensor, is_array, kname
from kshell.kapi.base.handles import KHandle, TensorHandle
from kshell.kapi.base.plain_values import option_q
from kshell.kapi.base.python_types import PyType, factory
from kshell.registry import REQUIRED, Entry, Option
from kshell.values.base import types as T
from kshell.values.base.build import symdict
from kshell.values.base.core import NULL_J, Dict, List, Value, Vec
from kshell.values.base.symbols import Sym

if TYPE_CHECKING:
    from torch.nn import Module

Pairs = Sequence[tuple[str, Value]]
Given = dict[str, Any]  # option values by name

# ------------------------------------------------------------------ what is known of a type beside its options


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeRecord:
    """The fields of a module type or loss entry besides name and options."""

    # the class itself, if registered by decorator; else the entry's target names it
    cls: Any = None
    # the class or function of Python's that is a type without being registered: kapi/base/python_types.py
    python: PyType | None = None
    # option values for help and for the example in the help text
    example: Given = field(default_factory=dict)
    n: tuple[int, int] = (1, 1)  # minimum and maximum number of forward inputs
    result: str = "tensor"  # for several tensors `tuple`, `nested` or `vector`; empty: no forward
    pytorch: str = ""  # torch's name in help, if not the target
    # how options are read
    dims: int | None = None  # number of dimensions of a size; one number stands for all
    # the same for options whose count differs from dims
    widths: dict[str, int] = field(default_factory=dict)
    # the options filled by positional values
    place: Callable[[Sequence[Value]], list[str]] | None = None
    # a boolean in last position is the last option, whatever was omitted before it
    shortflag: bool = False
    # the message if a required option is missing
    need: dict[str, str] = field(default_factory=dict)
    empty: bool = False  # an omitted required list is empty
    own: Given = field(default_factory=dict)  # arguments always passed to the torch class
    # how options are shown
    # the option whose value is this option's default
    like: dict[str, str] = field(default_factory=dict)
    # options read from a live module other than by attribute
    read: dict[str, Callable[[Any], Any]] = field(default_factory=dict)
    always: tuple[str, ...] = ()  # options shown even if they have their defaults
    hide: Callable[[Given], Given] | None = None  # selects the option values to show
    # options of a live object: (object, every, in its state)
    live: Callable[[Any, bool, bool], Dict] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleRecord(TypeRecord):
    """The fields of a module type entry besides name and options."""

    # how a module is made and described
    # parses all arguments, instead of the options
    parse: Callable[[Entry, Sequence[Value]], Given] | None = None
    make: Callable[[Entry, Given], Any] | None = None  # builds the module, instead of the class
    # dotted name of a kshell class that modules of the type may have instead of torch's
    made: str = ""
    alone: str = ""  # the message if a definition has a name but no options; {} is the name
    # how it treats its children
    container: bool = False  # its children are added to it
    whole: bool = False  # a container with its own forward
    children: str = ""  # "any": modules without forward may also be children
    numbered: bool = False  # its children are named by number
    replaces: bool = False  # a child replaces one with the same name
    # its text in `str` and in messages
    label: str = ""  # the name, if not the class name
    suffix: str = ""  # text after the name
    open: str = ""  # text before the children's bracket
    text: Callable[[Any], str] | None = None  # the options of a live module


KINDS["module"].record = ModuleRecord


def type_record(entry: Entry) -> TypeRecord:
    """The record of a module type or loss."""
    record: TypeRecord = entry.record
    return record


def module_record(entry: Entry) -> ModuleRecord:
    """The record of a module type."""
    record: ModuleRecord = entry.record
    return record


# ------------------------------------------------------------------ reading one option


def _long(x: Value) -> Any:
    number = long_of(x)
    return None if number is None else math.nan if number == NULL_J.v else number


def _double(x: Value) -> Any:
    return math.nan if x is NULL_J else number_of(x)


def _longs(x: Value) -> Any:
    number = long_of(x)
    if number is not None:
        return (number,)
    if x.__class__ is Vec and x.t in (T.H, T.I, T.J):
        return tuple(x.a.tolist())
    return () if x.__class__ is List and not x.items else None


def _doubles(x: Value) -> Any:
    number = number_of(x)
    if number is not None:
        return (float(number),)
    return (
        tuple(map(float, x.a.tolist()))
        if x.__class__ is Vec and x.t in T.NUMERIC - {T.B, T.X}
        else None
    )


def _tensor(x: Value) -> Any:
    if x.__class__ is TensorHandle:
        return as_tensor(x)
    return as_tensor(x).clone() if is_array(x) else None


def _pad(x: Value) -> Any:
    return x.s if x.__class__ is Sym else _longs(x)


# option types: reader for a q value (None: wrong type), and description in messages
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
    """A size with `dims` dimensions: one number stands for all."""
    if len(value) == dims:
        return value if dims > 1 else value[0]
    if len(value) == 1:
        return value * dims
    raise CallError(
        name,
        at=option.name,
        expected=f"scalar or {dims}-element input",
        given=f"{len(value)}-element list",
    )


def _with_nulls(name: str, value: Any, dims: int) -> Any:
    """Output sizes, with None for a null, which means the input's size."""
    sizes = tuple(None if size == NULL_J.v else size for size in (value if dims > 1 else (value,)))
    if all(size is None for size in sizes):
        raise CallError(name, "no output size given")
    return sizes if dims > 1 else sizes[0]


def _of_null(name: str, option: Option, value: float, words: str) -> float | None:
    """The value of an option given as a null number: None, or NaN if that is a valid value."""
    if option.type == "long" and option.default is not None:
        raise CallError(name, at=option.name, expected=words, given="null")
    absent = option.default is None or option.type == "long" or option.choices == ("null",)
    return None if absent else value


def read(name: str, option: Option, x: Value, dims: int = 1, named: bool = False) -> Any:
    """The Python value of one option; None if q gives a null, `::` or `()` and the option may be absent."""
    if is_empty(x) and option.type != "any":
        if option.default is None or option.type == "tensor":
            return None
    reader, words = _READ[option.type]
    value = reader(x)
    if value is None:
        raise CallError(
            name,
            at=option.name,
            expected=words,
            given=kname(x),
            hint="" if named else pairs_hint(x),
        )
    if value.__class__ is float and value != value:
        return _of_null(name, option, value, words)
    if option.type in ("size", "pad") and value.__class__ is tuple:
        value = expand(name, option, value, dims)
        if option.choices == ("null",):
            value = _with_nulls(name, value, dims)
    elif option.type == "double":
        value = float(value)
    if (
        option.choices
        and option.choices != ("null",)
        and value.__class__ is str
        and value not in option.choices
    ):
        raise QError(f"{name} {option.name}:{value} is not one of {','.join(option.choices)}")
    return value


# ------------------------------------------------------------------ an entry's options


def class_of(entry: Entry) -> Any:
    """The torch class of a module type or loss."""
    return type_record(entry).cls or entry.resolve()


_TYPES = {bool: "boolean", int: "long", float: "double", str: "symbol", tuple: "longs"}
_WORDS = {"bool": "boolean", "int": "long", "float": "double", "str": "symbol"}


def signature_options(cls: type) -> tuple[Option, ...]:
    """The options in the signature of a class, by the types of its defaults and annotations."""
    options = []
    for name, value in list(inspect.signature(cls).parameters.items()):
        if value.kind in (value.VAR_POSITIONAL, value.VAR_KEYWORD):
            continue
        annotation = (
            value.annotation
            if isinstance(value.annotation, str)
            else getattr(value.annotation, "__name__", "")
        )
        kind = _TYPES.get(type(value.default)) or _WORDS.get(annotation.split(" ")[0])
        kind = kind or ("longs" if annotation.startswith("tuple") else "any")
        options.append(
            Option(name, kind, REQUIRED if value.default is value.empty else value.default)
        )
    return tuple(options)


def with_defaults(cls: type, options: Sequence[Option]) -> tuple[Option, ...]:
    """The options of a class; those without a default take the class's default, or are required if it has none."""
    known = inspect.signature(cls).parameters
    completed = []
    for option in options:
        param = known.get(torch_name(option))
        if option.default is None and param is not None:
            plain = param.default is None or type(param.default) in _TYPES
            option = option._replace(
                default=REQUIRED
                if param.default is param.empty
                else param.default
                if plain
                else None
            )
        completed.append(option)
    return tuple(completed)


_NAMES: dict[str, tuple[int, set[str]]] = {}


def known_names(kind: str) -> set[str]:
    """Every option name used by any entry of the kind."""
    cached = _NAMES.get(kind)
    if cached is None or cached[0] != registry.version():
        names = {option.name for entry in registry.entries(kind) for option in entry.options}
        cached = _NAMES[kind] = (registry.version(), names)
    return cached[1]


def places(entry: Entry, positional: Sequence[Value]) -> list[Option]:
    """The options in the order in which positional values fill them. An entry may choose by the values (`place`); with
    `shortflag`, a boolean in last position is the flag, whatever was omitted before it: `leakyrelu;1b`."""
    record = type_record(entry)
    place = record.place
    if place is not None:
        by_name = {option.name: option for option in entry.options}
        return [by_name[name] for name in place(positional)]
    options = list(entry.options)
    count = len(positional)
    if record.shortflag and 0 < count < len(options) and flag_of(positional[-1]) is not None:
        return [*options[: count - 1], options[-1]]
    return options


def parse(
    entry: Entry, positional: Sequence[Value], named: Pairs = (), before: int = 1
) -> dict[str, Any]:
    """The given options, {name: Python value}. `before` counts the arguments in front (type, name)."""
    name, record = entry.name, type_record(entry)
    dims, widths = record.dims or 1, record.widths
    slots = places(entry, positional)
    if len(positional) > len(slots):
        if not slots:
            raise QError(f"{name}: no arguments expected, given {len(positional)}")
        raise QError(
            f"{name}: expecting up to {before + len(slots)} positional args, "
            f"{before + len(positional)} given"
        )
    values = {
        slot.name: read(name, slot, x, widths.get(slot.name, dims))
        for slot, x in zip(slots, positional, strict=False)
    }
    options = {option.name: option for option in entry.options}
    for key, x in named:
        option = options.get(key)
        if option is None:
            if key not in known_names(entry.kind):
                raise unknown_option(entry, key)
            raise QError(f"{name} option: {key} not recognized")
        values[key] = read(name, option, x, widths.get(key, dims), True)
    return values


def unknown_option(entry: Entry, key: str) -> QError:
    """The error for a name that no entry of the kind has as an option."""
    words = spellings(entry.options)
    if entry.kind == "loss":
        return unknown("unrecognized loss setting: ", key, words, stand=words)
    return unknown("unrecognized option `", key, words, stand=words, call=entry.name, given=UNSAID)


def check(entry: Entry, given: dict[str, Any]) -> None:
    """Check that required options are given and values are in range."""
    record = type_record(entry)
    for option in entry.options:
        value = given.get(option.name)
        if value is None and option.default is REQUIRED and record.empty:
            value = given[option.name] = ()
        if option.default is REQUIRED and (value is None or (value == () and not record.empty)):
            raise CallError(entry.name, record.need.get(option.name) or f"no {option.name} given")
        if (option.low is None and option.high is None) or value is None:
            continue
        for number in value if value.__class__ is tuple else (value,):
            if option.low is not None and number < option.low:
                text = record.need.get(option.name, "")
                if text.startswith("positive"):
                    raise CallError(entry.name, text)
                raise QError(
                    f"{entry.name}: {option.name} is {number_word(number)}, below {option.low:g}"
                )
            if option.high is not None and number > option.high:
                raise QError(
                    f"{entry.name}: {option.name} is {number_word(number)}, above {option.high:g}"
                )


def torch_args(entry: Entry, given: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments for the torch class: given options under torch's names, and defaults that differ; all
    defaults if the class is not torch's."""
    record = type_record(entry)
    if record.cls is not None:
        given = {
            option.name: option.default
            for option in entry.options
            if option.default not in (None, REQUIRED)
        } | given
    kwargs = {
        torch_name(option): given[option.name]
        for option in entry.options
        if option.name in given and option.torch != "-"
    }
    for key, value in record.own.items():
        kwargs.setdefault(key, value)
    return kwargs


def torch_name(o: Option) -> str:
    return o.torch or o.name


# ------------------------------------------------------------------ back to q


def default_of(entry: Entry, option: Option, values: dict[str, Any]) -> Any:
    """The default of an option, which may be another option's value (a pool's stride is its size)."""
    source = type_record(entry).like.get(option.name)
    return values.get(source) if source else option.default


def _differs(a: object, b: object) -> bool:
    if a.__class__ is Dict and b is None:
        return bool(len(a))
    if hasattr(a, "shape") or hasattr(b, "shape"):
        return a is not b
    if a.__class__ is tuple or b.__class__ is tuple:
        values = set(a if isinstance(a, tuple) else (a,)) | set(b if isinstance(b, tuple) else (b,))
        return len(values) != 1 and a != b
    return bool(a != b)


def as_dict(entry: Entry, values: dict[str, Any], every: bool = True) -> Dict:
    """The q dictionary of option values {name: Python value}; without `every`, only those that differ from their
    defaults. A value of type any may be a function of `every`."""
    names, items = [], []
    record = type_record(entry)
    for option in entry.options:
        if option.name not in values:
            continue
        value = values[option.name]
        if option.type == "any" and callable(value):
            value = value(every)
        if (
            every
            or option.default is REQUIRED
            or option.name in record.always
            or _differs(value, default_of(entry, option, values))
        ):
            names.append(option.name)
            items.append(option_q(option, value, record.widths.get(option.name, record.dims or 1)))
    return symdict(names, items) if names else symdict([], [])


_GIVEN = "kshell_options"
_NONE: Any = object()  # an option whose value is unknown
# an attribute with an option's name, if it is the option: `type` may be a method of the class
_FITS: dict[str, tuple[type, ...]] = {
    "long": (int,),
    "double": (int, float),
    "boolean": (bool,),
    "symbol": (str,),
    "pad": (int, str, tuple, list),
    **dict.fromkeys(("size", "longs", "doubles"), (int, float, tuple, list)),
}


@factory("module")
def _of_python(t: PyType) -> tuple[tuple[Option, ...], ModuleRecord]:
    return python_options.options_of(python_options.parameters(t.obj)), ModuleRecord(
        **python_fields(t), text=python_options.options_text, label="" if t.is_class else t.full
    )


def python_fields(t: PyType) -> dict[str, Any]:
    """The fields of the record of a module or loss that is a type of Python."""
    return {
        "cls": t.obj,
        "python": t,
        "n": python_options.inputs_of(t.obj),
        "live": lambda m, every, state: python_options.live_options(t, m, every),
    }


def remember(entry: Entry, m: Module, given: dict[str, Any]) -> None:
    """Record the options with which a module of a user's class was made, and the attributes of their names at that
    time: an option need not be an attribute, or may be stored in another form."""
    if type_record(entry).cls is not None:
        m.__dict__[_GIVEN] = {
            option.name: (given[option.name], _attribute(m, option))
            for option in entry.options
            if option.name in given and not isinstance(given[option.name], KHandle)
        }


def _attribute(m: Module, o: Option) -> Any:
    """The attribute with an option's name, if it can be the option's value."""
    value = getattr(m, torch_name(o), _NONE)
    if o.type == "boolean" and (value is None or hasattr(value, "requires_grad")):
        return value is not None  # bias: a parameter, or None
    if value is None:
        return None if o.default is None else _NONE
    fits = isinstance(value, _FITS[o.type]) if o.type in _FITS else not callable(value)
    return value if fits and (o.type == "boolean" or not isinstance(value, bool)) else _NONE


def _own_values(entry: Entry, m: Module) -> dict[str, Any]:
    """The options of a module of a user's class: those it was made with, unless the attribute has changed since; if
    made in Python, the attributes, else the defaults. Unknown values are left out."""
    saved = m.__dict__.get(_GIVEN, {})
    values = {}
    for option in entry.options:
        current = _attribute(m, option)
        before, initial = saved.get(option.name, (_NONE, _NONE))
        if before is not _NONE and (current is _NONE or not _differs(current, initial)):
            current = before
        if current is _NONE:
            current = option.default
        if current is not REQUIRED:
            values[option.name] = current
    return values


def live_values(entry: Entry, m: Module) -> dict[str, Any]:
    """The option values of a live torch object, read from its attributes."""
    record = type_record(entry)
    if record.python is not None:
        return named_values(python_options.live_options(record.python, m, True))
    if record.cls is not None:
        return _own_values(entry, m)
    readers, like = record.read, record.like
    values = {}
    for option in entry.options:
        if option.name in readers:
            values[option.name] = readers[option.name](m)
            continue
        if option.torch == "-":
            continue
        value = getattr(m, torch_name(option))
        if (
            option.type == "boolean"
            and value.__class__ is not bool
            and (value is not None or option.default is not None)
        ):
            value = value is not None and value is not False  # bias: a parameter, or None
        values[option.name] = (
            values[like[option.name]] if value is None and option.name in like else value
        )
    return record.hide(values) if record.hide else values


def options_dict(entry: Entry) -> Dict:
    """The q dictionary of an entry's options with their defaults. Required options have ktorch's example values for
    ktorch's types, for others the symbol `required."""
    record = type_record(entry)
    example = record.example
    values: dict[str, Any] = {}
    for option in entry.options:
        if option.default is REQUIRED and entry.since != "ktorch":
            values[option.name] = "required"
        elif option.name in example:
            values[option.name] = example[option.name]
        elif option.default is not REQUIRED:
            values[option.name] = option.default
    for key, source in record.like.items():
        if key not in example:
            values[key] = values.get(source)
    return as_dict(entry, record.hide(values) if record.hide else values)
