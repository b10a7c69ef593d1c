"""File paths from file symbols."""

from __future__ import annotations

from kshell.errors import CallError
from kshell.kapi.base.convert import kname
from kshell.values.base.core import Value, Vec, text_of
from kshell.values.base.symbols import Sym
from kshell.values.session.restrict import expanded


def _text(x: Value) -> str:
    return x.s if x.__class__ is Sym else text_of(x) if x.__class__ is Vec and x.t == 10 else ""


def is_path(x: Value) -> bool:
    """Is this a file symbol, or a string that begins with a colon?"""
    text = _text(x)
    return len(text) > 1 and text[0] == ":"


def path_of(x: Value, call: str) -> str:
    """The path for a file symbol, or for a string that begins with a colon."""
    text = _text(x)
    if not is_path(x):
        raise CallError(call, expected="a file symbol", given=kname(x))
    return expanded(text[1:])
