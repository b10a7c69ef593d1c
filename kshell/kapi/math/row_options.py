"""Options of math functions: how rows declare them, and how arguments after the inputs are matched to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kshell.errors import CallError, QError
from kshell.kapi.base.args import (
    flag_of,
    long_of,
    longs_of,
    looks_paired,
    name_of,
    names_of,
    number_of,
    pairs,
)
from kshell.kapi.base.convert import dtype_named, kname
from kshell.kapi.base.device_options import tensor_options
from kshell.values.base.core import NULL_J, List, Value


class MathOption(NamedTuple):
    """One option: its q name, torch's argument, its reader (None for a wrong type), a description of its type."""

    name: str
    argument: str
    read: Callable[[Value], Any]
    words: str
    required: bool

    def named(self, x: Value) -> Any:
        """The value given by a name-value pair."""
        return number_of(x) if self.read is _float else self.read(x)


def dims(x: Value) -> Any:
    """Dimensions or sizes; `()` (none) omits them."""
    return longs_of(x)


def _float(x: Value) -> float | None:
    number = number_of(x)
    return float(number) if number is not None and long_of(x) is None else None


def _dtype(x: Value) -> Any:
    name = name_of(x)
    return dtype_named(name) if name else name


def _number(x: Value) -> Any:
    return number_of(x)


def _scalar(x: Value) -> Any:
    return x if x.__class__ is bool else number_of(x)


def _pad(x: Value) -> Any:
    """Sizes, or the word for a padding mode; a null symbol or long omits them."""
    return word if (word := name_of(x)) in ("same", "valid", "") else dims(x)


def _tensor_options(x: Value) -> Any:
    return tensor_options(x, "options") if names_of(x) and not isinstance(x, List) else None


# option types: reader (None if x has another type) and description in messages
TYPES: dict[str, tuple[Callable[[Value], Any], str]] = {
    "long": (long_of, "long scalar"),
    "dim": (long_of, "long scalar"),
    "dims": (dims, "long scalar or list"),
    "axes": (longs_of, "long scalar or list"),
    "number": (_number, "number"),
    "scalar": (_scalar, "number or boolean"),
    "tolerance": (number_of, "number"),
    "float": (_float, "double scalar"),
    "flag": (flag_of, "boolean"),
    "dtype": (_dtype, "data type"),
    "symbol": (name_of, "symbol"),
    "options": (_tensor_options, "tensor options"),
    "pad": (_pad, "long scalar or list, `same or `valid"),
}


def option_words(text: str) -> tuple[MathOption, ...]:
    options = []
    for word in text.split():
        name, _, kind = word.partition(":")
        name, _, argument = name.partition("/")
        read, words = TYPES[kind.rstrip("*")]
        options.append(MathOption(name, argument or name, read, words, kind.endswith("*")))
    return tuple(options)


def null_bound(x: Value) -> bool:
    """Is x a null number, meaning no bound?"""
    return (
        x is NULL_J
        or (isinstance(x, float) and x != x)
        or (getattr(x, "v", 0.0) != getattr(x, "v", 0.0))
    )


def _left_out(x: Value, option: MathOption) -> bool:
    """Null means an omitted option, except where it is a number to compute with; so does `()` for dimensions."""
    if option.read in (dims, _pad) and longs_of(x) == []:
        return True
    return option.read not in (_number, _scalar) and (null_bound(x) or name_of(x) == "")


def match(name: str, options: Sequence[MathOption], given: Sequence[Value]) -> dict[str, Any]:
    """Match the arguments after the inputs to options: each goes to the next option of its type."""
    values: dict[str, Any] = {}
    position = 0
    paired = (
        bool(given)
        and looks_paired(given[-1])
        and not any(option.read(given[-1]) is not None for option in options)
    )
    for x in given[:-1] if paired else given:
        start = position
        while position < len(options):
            option = options[position]
            position += 1
            value = option.read(x)
            if value is not None:
                if not _left_out(x, option):
                    values[option.argument] = value
                break
            if option.required:
                raise CallError(name, at=option.name, expected=option.words, given=kname(x))
        else:
            if name_of(x) and any(option.read is _dtype for option in options[start:]):
                raise CallError(name, f"unrecognized data type: {name_of(x)}", says=(name_of(x),))
            expected = ", ".join(f"{option.name} ({option.words})" for option in options[start:])
            raise QError(
                f"{name}: unexpected {kname(x)}" + (f", expecting {expected}" if expected else "")
            )
    if paired:
        _named(name, options, given[-1], values)
    for option in options:
        if option.required and option.argument not in values:
            raise CallError(name, f"{option.name} not given")
    return values


def _named(name: str, options: Sequence[MathOption], x: Value, out: dict[str, Any]) -> None:
    """Add options given as name-value pairs to those found so far."""
    known = {option.name: option for option in options}
    for key, value in pairs(x):
        option = known.get(key)
        if option is None:
            expected = ", ".join(known)
            raise QError(
                f"{name} option: {key} not recognized, "
                + (f"expecting {expected}" if expected else "there is none")
            )
        parsed = option.named(value)
        if parsed is None:
            raise CallError(name, at=key, expected=option.words, given=kname(value))
        if not _left_out(value, option):
            out[option.argument] = parsed
