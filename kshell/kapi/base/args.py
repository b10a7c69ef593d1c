"""The calling convention of the k-api: one q value in, typed arguments out.

`f(a;b)` passes a list, `f x` one value, `f()` the empty list, `f[]` `::`. After the positional arguments, one final
argument may hold name-value pairs; math functions may have an output tensor or `[]` (in place) at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from typing import Any

from kshell import registry
from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base.convert import is_array, kname
from kshell.kapi.base.handles import GONE, KHandle, stale
from kshell.kapi.base.python_types import type_of_name
from kshell.registry import REQUIRED, Entry, Option
from kshell.values.base import synonyms
from kshell.values.base import types as T
from kshell.values.base.core import (
    NIL,
    NULL_J,
    Atom,
    Dict,
    List,
    Special,
    Value,
    Vec,
    is_atom,
    raw,
    seq_items,
    sym_names,
)
from kshell.values.base.symbols import Sym

# ------------------------------------------------------------------ the list of arguments


def is_empty(x: Value) -> bool:
    """Is x `::` or the empty general list `()`, meaning no argument?"""
    return x is NIL or (x.__class__ is List and not x.items)


def items(x: Value) -> list[Value]:
    """The arguments in x: the items of a list, or x itself for anything else (a handle, atom or dictionary).

    Freed handles among them raise 'stale pointer before anything else is checked. `()` and `::` mean no arguments.
    """
    if x.__class__ is List:
        found = x.items
        for item in found:
            if isinstance(item, KHandle) and item.obj is GONE:
                raise stale(item)
        return found
    if x is NIL:
        return []
    if isinstance(x, KHandle) and x.obj is GONE:
        raise stale(x)
    return seq_items(x) if x.__class__ is Vec or isinstance(x, List) else [x]


def data_items(x: Value) -> list[Value]:
    """The arguments of a function whose first argument is data: a whole array (`f 1 2 3`, `f (1 2;3 4)`) is one
    argument; a list that is not an array, or contains a handle, is an argument list."""
    if is_empty(x) or isinstance(x, KHandle) or (x.__class__ is List and not is_array(x)):
        return items(x)
    return [x]


# ------------------------------------------------------------------ single arguments


def long_of(x: Value) -> int | None:
    """The Python int of a long, int or short atom (nulls as their 64-bit pattern), else None."""
    if x.__class__ is int:
        return x
    if x.__class__ is Special:
        return x.v
    if x.__class__ is Atom and x.t in (T.H, T.I):
        return x.v
    return None


def longs_of(x: Value) -> list[int] | None:
    """The ints of an integer atom or vector, none for `()`; else None."""
    number = long_of(x)
    if number is not None:
        return [number]
    if x.__class__ is Vec and x.t in (T.H, T.I, T.J):
        return x.a.tolist()
    return [] if x.__class__ is List and not x.items else None


def number_of(x: Value) -> int | float | None:
    """The Python number of a numeric (not boolean) atom, else None."""
    if x.__class__ is float or x.__class__ is int:
        return x
    if x.__class__ is Special:
        return x.v
    return x.v if x.__class__ is Atom and x.t in (T.H, T.I, T.E) else None


def doubles_of(x: Value) -> list[float] | None:
    """The numbers of a numeric (not boolean) atom or vector as doubles, nulls as nan; else None."""
    n = _double(x, True)
    if n is not None:
        return [n]
    if x.__class__ is not Vec or x.t not in (T.H, T.I, T.J, T.E, T.F):
        return None
    null = T.NULL[x.t]
    return [math.nan if v == null else float(v) for v in x.a.tolist()]


def flag_of(x: Value) -> bool | None:
    """The Python bool of a boolean atom, else None."""
    return x if x.__class__ is bool else None


def name_of(x: Value) -> str | None:
    """The string of a symbol atom, else None."""
    return x.s if x.__class__ is Sym else None


def names_of(x: Value) -> list[str] | None:
    """The strings of a symbol atom or vector, none for `()`; else None."""
    if x.__class__ is Sym:
        return [x.s]
    if x.__class__ is Vec and x.t == T.S:
        return sym_names(x)
    return [] if x.__class__ is List and not x.items else None


def named_values(d: Dict) -> dict[str, Value]:
    """The values of a dictionary with symbol keys, by name; 'type for other keys."""
    out: dict[str, Value] = {}
    for key, value in zip(seq_items(d.k), seq_items(d.v), strict=True):
        if key.__class__ is not Sym:
            raise QError("type")
        out[key.s] = value
    return out


def length_of(x: Value) -> int:
    """The number of items in a list, table, dictionary or handle; 'type for an atom."""
    if not isinstance(x, Sized):
        raise QError("type")
    return len(x)


def need(found: Any, where: str, expected: str, x: Value) -> Any:
    """`found`, the result of one of the readers above; if it is None, raise `where: expected ..., given ...`."""
    if found is None:
        call, _, at = where.partition(" ")
        raise CallError(call, at=at, expected=expected, given=kname(x))
    return found


_FEW = 12  # names listed in a hint if none is similar


def _near(name: str, names: Mapping[str, str]) -> list[str]:
    """Names (in lower case) that are synonyms of a name, look like it, or else contain it."""
    from difflib import get_close_matches  # takes 4 ms, and only errors need it

    same = synonyms.plain(name)
    near = synonyms.near(name, names) + [same] * (same in names)
    if name:
        alike = get_close_matches(name.lower(), names, 4, 0.7)
        near += [match for match in alike if match not in near]
    if not near and len(name) > 3:
        near = [n for n in names if name.lower() in n][:4]
    return near


def unknown(
    what: str,
    name: str,
    among: Iterable[str],
    after: str = "",
    stand: Mapping[str, str] | None = None,
    call: str = UNSAID,
    given: str | None = SAID,
    expected: str | None = SAID,
) -> CallError:
    """The error for an unknown name in a `call`: `what` (unrecognized optimizer: ), the name, and what comes `after`
    it, followed by known names that are synonyms, look similar, contain the name, or are what these `stand` for. If
    there are none, and only few names exist, the hint lists them all."""
    names = {n.lower(): n if stand is None else stand[n] for n in among}
    near = _near(name, names)
    shown = list(dict.fromkeys("`" + names[n] for n in near))[:4]
    there = list(dict.fromkeys(value for value in names.values() if value))
    # the text is more specific if other words follow
    listed = not near and 0 < len(there) <= _FEW and after in ("", " not found")
    hint = f"there {'is' if len(there) == 1 else 'are'} `{'`'.join(there)}" if listed else ""
    said = "`" + name if what.endswith("`") else name
    return CallError(
        call,
        what + name + after + (f" (near {''.join(shown)})" if near else ""),
        given=given,
        says=(name, said),
        expected=expected,
        hint=hint,
    )


def spellings(options: Iterable[Option]) -> dict[str, str]:
    """Option names, and torch's names without underscores, mapped to the option names here."""
    options = list(options)
    return {option.torch.replace("_", ""): option.name for option in options if option.torch} | {
        option.name: option.name for option in options
    }


def entry_named(kind: str, what: str, name: str) -> Entry:
    """The registered entry of a kind and name; if there is none, raise an error that begins with `what`."""
    found = registry.find(kind, name) or type_of_name(kind, name)
    if found is None:
        called = _called(kind)
        raise unknown(what, name, called, stand=called)
    found.available()
    return found


def _called(kind: str) -> dict[str, str]:
    """The entry names of a kind and their torch class names, with and without the kind, mapped to the entry names
    here."""
    own = {entry.name: entry.name for entry in registry.entries(kind)}
    for entry in registry.entries(kind):
        if entry.target.startswith("torch."):
            word = entry.target.rpartition(".")[2].lower()
            own.setdefault(word, entry.name)
            own.setdefault(word.removesuffix("loss"), entry.name)
    return own


# ------------------------------------------------------------------ name-value pairs


def is_pairs(x: Value) -> bool:
    """Does x hold name-value pairs: a dictionary with symbol keys, an even list of symbols, `()`, an even list that
    starts with a symbol, or a list of two-item lists that start with symbols? A single symbol does not."""
    if x.__class__ is Dict:
        return (x.k.__class__ is Vec and x.k.t == T.S) or not len(x.k)
    if x.__class__ is Vec:
        return x.t == T.S and len(x) % 2 == 0
    if x.__class__ is not List:
        return False
    found = x.items
    if not found:
        return True
    if found[0].__class__ is Sym:
        return len(found) % 2 == 0
    return all(_is_pair(p) for p in found)


def _is_pair(p: Value) -> bool:
    if p.__class__ is Vec:
        return p.t == T.S and len(p) == 2
    return p.__class__ is List and len(p) == 2 and p.items[0].__class__ is Sym


def _text(x: Value) -> str:
    """A symbol list as text for messages; other lists by type."""
    if x.__class__ is Vec:
        return "".join(repr(item) for item in x.items)
    return "(" + ";".join(repr(i) if i.__class__ is Sym else kname(i) for i in seq_items(x)) + ")"


def pairs(x: Value) -> list[tuple[str, Value]]:
    """The name-value pairs in x, in order; errors say what is wrong with it."""
    if x.__class__ is Dict:
        if x.k.__class__ is Vec and x.k.t == T.S:
            return list(zip(sym_names(x.k), seq_items(x.v), strict=True))
        if len(x.k):
            raise QError(
                f"unexpected name,value dictionary with {kname(x.k)} as keys: {_keys_text(x.k)}"
            )
        return []
    if x.__class__ is Vec and x.t == T.S:
        if len(x) % 2:
            raise QError(f"uneven no. of symbols for name,value pairs: {_text(x)}")
        return _by_two(x.items)
    if x.__class__ is List:
        found = x.items
        if not found:
            return []
        if found[0].__class__ is Sym:
            if len(found) % 2:
                raise QError(f"uneven no. of elements for name,value pairs in list: {_text(x)}")
            return _by_two(found)
        return [_pair(k, p) for k, p in enumerate(found)]
    raise QError(f"expected name,value pairs, given {kname(x)}")


def _keys_text(k: Value) -> str:
    if k.__class__ is not Vec and k.__class__ is not List:
        return kname(k)
    return " ".join(
        repr(i) if i.__class__ is Sym else str(raw(i)) if is_atom(i) else kname(i) for i in k.items
    )


def _by_two(found: Sequence[Value]) -> list[tuple[str, Value]]:
    out = []
    for k in range(0, len(found), 2):
        name = found[k]
        if name.__class__ is not Sym:
            raise QError(f"name,value pair[{k // 2}] has no name symbol")
        out.append((name.s, found[k + 1]))
    return out


def _pair(k: int, p: Value) -> tuple[str, Value]:
    if p.__class__ is not Vec and not isinstance(p, List):
        raise QError(f"name,value pair[{k}] has no name symbol")
    if len(p) != 2:
        raise QError(f"name,value pair[{k}] has {len(p)} elements (expected 2)")
    name, value = p.items
    if name.__class__ is not Sym:
        raise QError(f"name,value pair[{k}] has no name symbol")
    return name.s, value


def looks_paired(x: Value) -> bool:
    """Is x meant as pairs, even if malformed? (A list of three symbols in last position is reported as uneven
    pairs.)"""
    if is_pairs(x):
        return True
    if x.__class__ is Dict:
        return True
    if x.__class__ is Vec:
        return x.t == T.S
    if x.__class__ is not List or not x.items:
        return False
    head = x.items[0]
    return head.__class__ is Sym or (
        isinstance(head, List) and len(head) > 0 and head.items[0].__class__ is Sym
    )


def split(given: Sequence[Value], start: int = 0) -> tuple[list[Value], list[tuple[str, Value]]]:
    """The positional arguments from `start` on, and the name-value pairs if the last item holds them."""
    rest = list(given[start:])
    if rest and looks_paired(rest[-1]):
        found = pairs(rest.pop())
        return rest, found
    return rest, []


# ------------------------------------------------------------------ options


def _long(x: Value, named: bool) -> Any:
    n = (
        x
        if x.__class__ is int
        else NULL_J.v
        if x is NULL_J
        else x.v
        if x.__class__ is Special
        else None
    )
    return long_of(x) if n is None and named else n


def _double(x: Value, named: bool) -> Any:
    if x.__class__ is float or x.__class__ is int:
        return float(x)
    if x is NULL_J:
        return math.nan
    if x.__class__ is Atom and x.t in (T.H, T.I, T.E):
        return math.nan if x.v == T.NULL[x.t] else float(x.v)
    return float(x.v) if x.__class__ is Special else None


def _size(x: Value, named: bool) -> Any:
    number = long_of(x)
    if number is not None:
        return number
    if x.__class__ is List and not x.items:
        return ()
    return tuple(x.a.tolist()) if x.__class__ is Vec and x.t in (T.J, T.I, T.H) else None


def _longs(x: Value, named: bool) -> Any:
    number = long_of(x)
    if number is not None:
        return [number]
    return (
        x.a.tolist()
        if x.__class__ is Vec and x.t in (T.J, T.I, T.H)
        else []
        if is_empty(x)
        else None
    )


def _doubles(x: Value, named: bool) -> Any:
    n = _double(x, True)
    return doubles_of(x) if n is None else n


# for each option type: (reader, description if positional, description if named)
_READ: dict[str, tuple[Callable[[Value, bool], Any], str, str]] = {
    "long": (_long, "long scalar", "long scalar"),
    "double": (_double, "long/double scalar", "long/double scalar"),
    "boolean": (lambda x, named: flag_of(x), "boolean", "boolean scalar"),
    "symbol": (lambda x, named: name_of(x), "symbol", "symbol"),
    "size": (_size, "long scalar or list", "long scalar or list"),
    "longs": (_longs, "long(s)", "long(s)"),
    "doubles": (_doubles, "long/double(s)", "long/double(s)"),
    "any": (lambda x, named: x, "", ""),
}


def read_option(name: str, option: Option, x: Value, named: bool = False) -> Any:
    """The Python value of one option: int, float (nan for null), bool, str, int or tuple for a size, or the q value
    itself for `any`. Raises `name option: expected ..., given ...` for a wrong type; also checks choices and range."""
    if x is NIL and option.default is None:
        return None
    read, positional, words = _READ[option.type]
    value = read(x, named)
    if value is None:
        raise CallError(
            name,
            at=option.name,
            expected=words if named else positional,
            given=kname(x),
            hint="" if named else pairs_hint(x),
        )
    if (
        option.choices
        and value not in option.choices
        and not (value == "" and option.default is None)
    ):
        raise CallError(
            name,
            f"unrecognized setting `{value}, expecting one of "
            + "".join("`" + choice for choice in option.choices),
            at=option.name,
            given=SAID,
        )
    _check_range(name, option, value)
    return value


def number_word(v: float) -> str:
    """A number from an option in q notation, for messages."""
    return {NULL_J.v: "0N", 2**63 - 1: "0W", 1 - 2**63: "-0W"}.get(v, f"{v:g}")  # type: ignore[call-overload]


def pairs_hint(x: Value) -> str:
    """A hint if a symbol was given instead of an option's value: it may be the option's name."""
    return (
        f"names and values of options are one argument: (`{x.s};..)" if x.__class__ is Sym else ""
    )


def _check_range(name: str, option: Option, value: Any) -> None:
    if (
        not isinstance(value, int | float)
        or isinstance(value, bool)
        or value == NULL_J.v
        or math.isnan(value)
    ):
        return
    if option.low is not None and value < option.low:
        raise CallError(name, f"{value:g} is below {option.low:g}", at=option.name, given=SAID)
    if option.high is not None and value > option.high:
        raise CallError(name, f"{value:g} is above {option.high:g}", at=option.name, given=SAID)


def parse_options(
    name: str,
    options: Sequence[Option],
    positional: Sequence[Value],
    named: Iterable[tuple[str, Value]] = (),
    *,
    kind: str = "",
    known: Iterable[str] | None = None,
    before: int = 0,
    more: Iterable[Option] = (),
) -> dict[str, Any]:
    """The given options as {option name: Python value}, in the order in which they were read (without defaults).

    `name` is the type (`linear`, `adamw`); `positional` and `named` come from `split`. `before` counts the arguments
    before the options, for the too-many-arguments message; `more` are options that can only be given by name. An
    unknown name raises `unrecognized {kind} setting: foo` if `known` (every option name of the family) is given and
    lacks it, else `{name} option: foo not recognized`; similar option names are appended.
    """
    if len(positional) > len(options):
        raise QError(
            f"{name}: expecting up to {before + len(options)} positional args, "
            f"{before + len(positional)} given"
        )
    out = {
        option.name: read_option(name, option, x)
        for option, x in zip(options, positional, strict=False)
    }
    by_name = {option.name: option for option in (*options, *more)}
    for key, x in named:
        option = by_name.get(key)
        if option is None:
            raise _no_option(name, key, by_name.values(), kind, known)
        out[key] = read_option(name, option, x, True)
    return out


def _no_option(
    name: str, key: str, options: Iterable[Option], kind: str, known: Iterable[str] | None
) -> QError:
    """The error for a key that is not an option name, see `parse_options`."""
    if known is not None and key not in set(known):
        words = spellings(options)
        return unknown(f"unrecognized {kind} setting: ", key, words, stand=words)
    return QError(f"{name} option: {key} not recognized")


def fill_options(name: str, options: Sequence[Option], given: dict[str, Any]) -> dict[str, Any]:
    """All options in order, given or default; a missing required option raises an error."""
    out = {}
    for option in options:
        if option.name in given:
            out[option.name] = given[option.name]
        elif option.default is REQUIRED:
            raise QError(f"{name}: {option.name} not defined")
        else:
            out[option.name] = option.default
    return out


def size_text(n: Iterable[object]) -> str:
    """A shape in torch's notation for messages: [2, 3]."""
    return "[" + ", ".join(map(str, n)) + "]"
