"""What a family of models is: an entry that says which modules a model consists of, by its settings.

A family's file has a function for each architecture, from the settings in config.json to a tree of definitions. The
names in the tree are those of the weights in the files, so these fit without a table of names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kshell.errors import CallError, QError
from kshell.kapi.base.args import named_values
from kshell.kapi.base.convert import kname
from kshell.values.base.build import floats, longs, symdict
from kshell.values.base.core import (
    NIL,
    NULL_J,
    Dict,
    List,
    Value,
    is_list,
    seq_items,
    sym_vec,
    text_of,
)
from kshell.values.base.narrow import is_text
from kshell.values.base.symbols import Sym, sym

MOST_LAYERS = 10_000


class Node(NamedTuple):
    """The definition of a module: its type, its name, its options and its children."""

    kind: str
    name: str
    options: dict[str, Any]
    children: tuple[Node, ...] = ()


def node(kind: str, name: str = "", *children: Node, **options: Any) -> Node:
    """A definition; options that are None are left out."""
    given = {key: value for key, value in options.items() if value is not None}
    return Node(kind, name, given, children)


def _q(x: Any) -> Value:
    """The q value of an option."""
    if isinstance(x, str):
        return sym(x)
    if isinstance(x, dict):
        return symdict(list(x), [_q(value) for value in x.values()])
    if isinstance(x, tuple | list):
        if x and isinstance(x[0], float):
            return floats(list(x))
        return sym_vec(list(x)) if x and isinstance(x[0], str) else longs(list(x))
    value: Value = x
    return value


def pairs(n: Node, depth: int = 0) -> list[Value]:
    """The definitions of a tree as q's (depth;definition) pairs."""
    parts: list[Value] = [sym(n.kind)]
    if n.name:
        parts.append(sym(n.name))
    if n.options:
        parts.append(_q(n.options))
    found: list[Value] = [List([depth, List(parts)])]
    for child in n.children:
        found += pairs(child, depth + 1)
    return found


def plain(x: Value, where: str) -> Any:
    """The setting that a q value stands for: a null is none, whole floats are also sizes, as JSON's numbers are."""
    if x.__class__ is Sym or is_text(x):
        return x.s if x.__class__ is Sym else text_of(x)
    if x.__class__ is Dict:
        return {name: plain(value, where) for name, value in named_values(x).items()}
    if is_list(x):
        return [plain(item, where) for item in seq_items(x)]
    if x is NIL or x is NULL_J or (x.__class__ is float and x != x):
        return None
    if x.__class__ in (bool, int, float):
        return x
    raise CallError("hub", at=where, expecting="a setting", given=kname(x))


class Settings:
    """The settings of a model, from its config.json; a missing or wrong one is an error that names it."""

    def __init__(self, found: Mapping[str, Any], where: str) -> None:
        self.found, self.where = found, where

    def get(self, name: str, default: Any = None) -> Any:
        """A setting; the default if it is missing or null."""
        value = self.found.get(name)
        return default if value is None else value

    def _checked(self, name: str, default: Any, kinds: tuple[type, ...], words: str) -> Any:
        value = self.get(name, default)
        if value is None:
            raise QError(f"hub: {self.where} has no {name}")
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise QError(f"hub: {name} of {self.where} is {value!r}, expecting {words}")
        return value

    def size(self, name: str, default: int | None = None) -> int:
        """A positive whole number."""
        value: int = self._checked(name, default, (int, float), "a positive whole number")
        if value != int(value):
            raise QError(
                f"hub: {name} of {self.where} is {value}, expecting a positive whole number"
            )
        value = int(value)
        if value < 1:
            raise QError(f"hub: {name} of {self.where} is {value}, expecting a positive number")
        return value

    def layers(self, name: str) -> range:
        """The numbers of the layers."""
        count = self.size(name)
        if count > MOST_LAYERS:
            raise QError(f"hub: {name} of {self.where} is {count}, above {MOST_LAYERS}")
        return range(count)

    def number(self, name: str, default: float | None = None) -> float:
        """A number."""
        return float(self._checked(name, default, (int, float), "a number"))

    def numbers(self, name: str) -> list[float]:
        """A list of numbers."""
        found: list[Any] = self._checked(name, None, (list,), "a list of numbers")
        if not found or any(x.__class__ not in (int, float) for x in found):
            raise QError(f"hub: {name} of {self.where} is {found!r}, expecting a list of numbers")
        return [float(x) for x in found]

    def flag(self, name: str, default: bool = False) -> bool:
        """A flag."""
        value: bool = self._checked(name, default, (bool,), "true or false")
        return value

    def function(self, name: str, default: str) -> str:
        """The activation function, by its name here."""
        value = self._checked(name, default, (str,), "the name of a function")
        found = FUNCTIONS.get(value)
        if found is None:
            known = " ".join(FUNCTIONS)
            raise QError(f"hub: {name} of {self.where} is {value}, the functions known are {known}")
        return found

    def refuse(self, **usual: Any) -> None:
        """These settings must have their usual values: no module here does the other."""
        for name, value in usual.items():
            if self.get(name, value) != value:
                raise QError(
                    f"hub: {name} of {self.where} is {self.found[name]}, only {value} is known"
                )


FUNCTIONS = {  # names in config.json -> those of module types here
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu",
    "gelu_new": "gelutanh",
    "gelu_pytorch_tanh": "gelutanh",
    "gelu_fast": "gelutanh",
    "relu": "relu",
    "sigmoid": "sigmoid",
    "tanh": "tanh",
}


def activation(name: str) -> Node:
    """The module of an activation function."""
    return node("gelu", approximate="tanh") if name == "gelutanh" else node(name)


def dropouts(p: float, name: str) -> tuple[Node, ...]:
    """A dropout, if its probability is not zero."""
    return (node("drop", name, p=p),) if p else ()


def rotary(c: Settings, headdim: int) -> dict[str, Any]:
    """The options of rotary positions, in the settings of this and of earlier versions of transformers."""
    found = c.get("rope_parameters") or c.get("rope_scaling") or {}
    if not isinstance(found, dict):
        raise QError(f"hub: the rotary positions of {c.where} are {found!r}, expecting settings")
    part = Settings(found, c.where)
    kind = part.get("rope_type") or part.get("type") or "default"
    base = part.number("rope_theta", c.number("rope_theta", 10000.0))
    share = part.number("partial_rotary_factor", c.number("partial_rotary_factor", 1.0))
    options: dict[str, Any] = {"base": base}
    if share != 1:
        options["dim"] = int(headdim * share)
    if kind == "default":
        return options
    scaled = _SCALED.get(kind)
    if scaled is None:
        raise QError(
            f"hub: rotary positions of type {kind} are not known, only default {' '.join(_SCALED)}"
        )
    return options | {"scaling": kind} | scaled(c, part)


def _factor(c: Settings, part: Settings) -> dict[str, Any]:
    return {"factor": part.number("factor")}


def _original(c: Settings, part: Settings) -> int:
    """The number of places that a model was first trained with."""
    own = "original_max_position_embeddings"
    return part.size(own, c.size(own, c.size("max_position_embeddings", 8192)))


def _stretched(c: Settings, part: Settings) -> dict[str, Any]:
    """The original length, by how much the places exceed it, and the strength of scores."""
    length = _original(c, part)
    usual = c.size("max_position_embeddings", length) / length
    found: dict[str, Any] = {"length": length, "factor": part.number("factor", usual)}
    if part.get("attention_factor") is not None:
        found["attention"] = part.number("attention_factor")
    return found


def _llama3(c: Settings, part: Settings) -> dict[str, Any]:
    low, high = part.number("low_freq_factor"), part.number("high_freq_factor")
    return {"length": _original(c, part), "low": low, "high": high} | _factor(c, part)


def _yarn(c: Settings, part: Settings) -> dict[str, Any]:
    part.refuse(truncate=True)
    low, high = part.number("beta_slow", 1.0), part.number("beta_fast", 32.0)
    found = _stretched(c, part) | {"low": low, "high": high}
    one, other = part.get("mscale"), part.get("mscale_all_dim")
    if "attention" not in found and one and other and found["factor"] > 1:
        log = 0.1 * math.log(found["factor"])
        one, other = part.number("mscale"), part.number("mscale_all_dim")
        found["attention"] = (one * log + 1) / (other * log + 1)
    return found


def _dynamic(c: Settings, part: Settings) -> dict[str, Any]:
    return {"length": c.size("max_position_embeddings", 8192)} | _factor(c, part)


def _longrope(c: Settings, part: Settings) -> dict[str, Any]:
    short, long = part.numbers("short_factor"), part.numbers("long_factor")
    return _stretched(c, part) | {"short": short, "long": long}


_SCALED = {  # types of scaled rotary positions -> their options, of the model's settings and their own
    "linear": _factor,
    "llama3": _llama3,
    "yarn": _yarn,
    "dynamic": _dynamic,
    "longrope": _longrope,
}


@dataclass(frozen=True)
class Plan:
    """A model to be made: its definition, weights that are others' too, patterns of tensors in files that are computed
    here or belong to parts that are not made, and of names in files with those that they stand for."""

    root: Node
    tied: dict[str, str] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    renamed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Family:
    """A family: what stands before the names of its models without a head, and a function for each architecture, the
    first if none is named."""

    name: str
    base: str
    architectures: dict[str, Callable[[Settings], Plan]]
    doc: str = ""


FAMILIES: dict[str, Family] = {}


def family(name: str, base: str, doc: str, **architectures: Callable[[Settings], Plan]) -> Family:
    """Register a family by its model_type in config.json."""
    found = FAMILIES[name] = Family(name, base, architectures, doc)
    return found
