"""Calls of a Python function by the name of a global that holds one while the code is compiled.

The function itself is called with numbers, which are the same in q and Python, and a number that it returns is the
result; all else is left to what applies any value (`_ap1`, `_ap`) and to the conversion of results (`_result`). The
name may have another value when the code runs: then it is applied as any value is. Keyword arguments, as in
``f[1;`a pykw 2]``, are Python's own.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kshell import registry
from kshell.lang.compiler.expr import APPLY_HELPERS, E
from kshell.parse import tree as N
from kshell.values.base.functions import PyFunction

if TYPE_CHECKING:
    from kshell.lang.compiler.compile import Compiler

_MOST = 3  # arguments
_FEW = 0x3FFF_FFFF  # the results that are tested the quickest: Python compares numbers of 30 bits at once


def is_python(c: Compiler, f: E, n: int) -> bool:
    """Is it a global with a Python function, to be called with n arguments?"""
    return (
        f.glob
        and c.inlines
        and not c.columns  # a phrase of a query is one expression
        and n <= _MOST
        and c.space.get(f.s).__class__ is PyFunction
    )


def keywords(c: Compiler, node: N.Apply) -> list[N.Apply]:
    """The last arguments of a call that are written as `pykw` of a name that Python allows, each another one, and a
    value."""
    found: list[N.Apply] = []
    names = set()
    for argument in reversed(node.args):
        if not (
            isinstance(argument, N.Apply)
            and isinstance(argument.f, N.Name)
            and argument.f.name == "pykw"
            and len(argument.args) == 2
        ):
            break
        name, value = argument.args
        if not (isinstance(name, N.Lit) and name.t == "s" and _is_name(name.data)):
            break
        if isinstance(value, N.Elided) or name.data in names:
            return []
        names.add(name.data)
        found.append(argument)
    return found[::-1] if found and c.is_word("pykw") and isinstance(node.f, N.Name) else []


def _is_name(x: object) -> bool:
    """May Python code name an argument so?"""
    return (
        isinstance(x, str)
        and x.isascii()
        and x.isidentifier()
        and not keyword.iskeyword(x)
        and not x.startswith("__")
    )


def words(c: Compiler, named: Sequence[N.Apply], values: Sequence[E]) -> list[E]:
    """The q values of keyword arguments, of their values."""
    entry = registry.find("verb", "pykw")
    assert entry is not None
    return [
        c.direct(word, entry, [c.expr(word.args[0]), value])
        for word, value in zip(named, values, strict=True)
    ]


def call(c: Compiler, node: N.Node, f: E, values: list[E], named: Sequence[N.Apply] = ()) -> E:
    """The result of the call, in a temporary. The last arguments may be named."""
    function = c.store(f.s)
    values = [c.simple(value) for value in values]
    texts = [value.s for value in values]
    plain = texts[: len(texts) - len(named)]
    given = ",".join([*plain, *[word.s for word in words(c, named, values[len(plain) :])]])
    for word, written in zip(named, texts[len(plain) :], strict=True):
        name = word.args[0]
        assert isinstance(name, N.Lit)
        plain.append(f"{name.data}={written}")
    text = ",".join(plain)
    direct, result, box = c.temp(), c.temp(), c.temp()
    tests = [f"{direct} is None"]
    for value in values:
        if not (value.exact or value.kind in ("f", "b")):
            tests.append(f"_type({value.s}) is not _int and _type({value.s}) is not _float")
    helper = APPLY_HELPERS.get(len(values), "_ap")
    convert = f"{result}=_result({c.mark(node)}{function},{box},{','.join(texts)})"
    c.block += [
        "try:", [f"{direct}={function}.direct"],
        "except _unknown:", [f"{direct}=None"],
        f"if {' or '.join(tests)}:", [f"{result}={helper}({c.mark(node)}{function},{given})"],
        "else:", [
            "try:", [f"{result}={direct}({c.mark(node)}{text})"],
            f"except _raises as {box}:", [f"{result}=_raised({function},{box})"],
            f"if (_type({result}) is not _int or {result}>{_FEW} or {result}<-{_FEW})"
            f" and _type({result}) is not _float and _type({result}) is not _bool:",
            [f"{result},{box}=None,[{result}]", convert],
        ],
    ]  # fmt: skip
    return E(result, None, atomic=True, stable=True)
