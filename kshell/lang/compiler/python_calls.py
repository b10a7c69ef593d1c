"""Calls of a Python function by the name of a global that holds one while the code is compiled.

The function itself is called with numbers, which are the same in q and Python, and a number that it returns is the
result; all else is left to what applies any value (`_ap1`, `_ap`) and to the conversion of results (`_result`). The
name may have another value when the code runs: then it is applied as any value is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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


def call(c: Compiler, node: N.Node, f: E, values: list[E]) -> E:
    """The result of the call, in a temporary."""
    function = c.store(f.s)
    values = [c.simple(value) for value in values]
    text = ",".join(value.s for value in values)
    direct, result, box = c.temp(), c.temp(), c.temp()
    tests = [f"{direct} is None"]
    for value in values:
        if not (value.exact or value.kind in ("f", "b")):
            tests.append(f"_type({value.s}) is not _int and _type({value.s}) is not _float")
    helper = APPLY_HELPERS.get(len(values), "_ap")
    convert = f"{result}=_result({c.mark(node)}{function},{box},{text})"
    c.block += [
        "try:", [f"{direct}={function}.direct"],
        "except _unknown:", [f"{direct}=None"],
        f"if {' or '.join(tests)}:", [f"{result}={helper}({c.mark(node)}{function},{text})"],
        "else:", [
            "try:", [f"{result}={direct}({c.mark(node)}{text})"],
            f"except _raises as {box}:", [f"{result}=_raised({function},{box})"],
            f"if (_type({result}) is not _int or {result}>{_FEW} or {result}<-{_FEW})"
            f" and _type({result}) is not _float and _type({result}) is not _bool:",
            [f"{result},{box}=None,[{result}]", convert],
        ],
    ]  # fmt: skip
    return E(result, None, atomic=True, stable=True)
