"""Symbols, which are interned: one object for each name."""

from __future__ import annotations

import threading
from typing import final

import numpy as np

from kshell.values.base import types as T


@final
class Sym:
    """A symbol atom. Interned: one object per name, so `is` compares; `v` is its code in symbol vectors."""

    __slots__ = ("s", "v")
    t = T.S
    s: str
    v: int

    def __repr__(self) -> str:
        return "`" + self.s


POOL: dict[str, Sym] = {}  # by name
SYMBOLS: list[Sym] = []  # by code
_GATE = threading.RLock()


def sym(s: str) -> Sym:
    """The symbol with a name."""
    symbol = POOL.get(s)
    return _new_sym(s) if symbol is None else symbol


def _new_sym(s: str) -> Sym:
    with _GATE:  # peach threads may intern the same name
        symbol = POOL.get(s)
        if symbol is None:
            symbol = Sym.__new__(Sym)
            symbol.s, symbol.v = s, len(SYMBOLS)
            SYMBOLS.append(symbol)
            POOL[s] = symbol
        return symbol


def sym_codes(names: list[str]) -> np.ndarray:
    """The codes of the symbols with some names."""
    symbols = list(map(POOL.get, names))
    if None in symbols:
        symbols = [sym(names[k]) if symbol is None else symbol for k, symbol in enumerate(symbols)]
    return np.array([symbol.v for symbol in symbols if symbol is not None], np.int32)


def sym_at(code: int) -> Sym:
    """The symbol with a code, as stored in symbol vectors."""
    return SYMBOLS[code]


EMPTY_SYM = sym("")
