"""Library functions: `2:`. A library consists of the registered functions that name it."""

from __future__ import annotations

import os

from kshell import registry
from kshell.errors import QError
from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.core import Dict, List, Value, Vec, atom_t, raw, seq_items, sym_vec, text_of
from kshell.values.base.functions import Prim
from kshell.values.base.symbols import Sym
from kshell.values.session.context import running
from kshell.values.session.restrict import check_read

_LOADER = "fns"  # the function that returns all others


@verb("2:", "library 2:(name;rank)", infix=True, effect="opens")
def dynamic_load(x: Value, y: Value) -> Value:
    """Load a library function: x names the library, y the function and its number of arguments.

    The function fns of `ktorch returns a dictionary of all k-api functions by name, to be assigned where a program
    wants them.

    q)f:`ktorch 2:`tensor,1
    q)f f 1 2 3
    1 2 3
    q).nn:(`ktorch 2:`fns,1)[]
    q).nn.tensor .nn.tensor 4 5
    4 5
    """
    if x.__class__ is not Sym:
        raise QError("type")
    name, rank = _wanted(y)
    path = text_of(x).removeprefix(":")
    known = _functions(os.path.basename(path).removesuffix(".so"))
    if not known:
        check_read(path)
        if os.path.exists(path) or os.path.exists(path + ".so"):
            raise QError("nyi")  # a C library for kdb+
        raise QError(
            f"{path.removesuffix('.so')}.so: cannot open shared object file: No such file or directory"
        )
    if name == _LOADER:
        return Prim(_LOADER, {1: lambda _: Dict(sym_vec(known), List(list(known.values())))}, t=112)
    if name not in known:
        raise QError(name)
    if rank not in known[name].fns:
        raise QError("rank")
    return known[name]


def _wanted(y: Value) -> tuple[str, int]:
    """A function's name and number of arguments, from such a pair."""
    pair = seq_items(y) if y.__class__ in (List, Vec) else []
    if len(pair) != 2:
        raise QError("type" if not pair else "length")
    if pair[0].__class__ is not Sym or atom_t(pair[1]) not in (T.H, T.I, T.J):
        raise QError("type")
    rank: int = raw(pair[1])
    if not 1 <= rank <= 8:
        raise QError("rank")
    return text_of(pair[0]), rank


def _functions(library: str) -> dict[str, Prim]:
    """The functions of a library, by name."""
    built_in = running().names.load_builtins()
    return {
        entry.name: built_in[entry.name]
        for entry in registry.entries("api")
        if entry.since == library
    }
