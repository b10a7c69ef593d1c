"""The memory that values need once they are read back, approximately."""

from __future__ import annotations

import re

from kshell.values.base import types as T
from kshell.values.base.core import HOLE, Dict, EnumAtom, List, Nd, Table, Value, Vec
from kshell.values.base.functions import Comp, Derived, Lambda, Prim, Proj
from kshell.values.base.symbols import Sym

# approximate bytes of memory per value
ATOM, VEC, LIST, SYM = 72, 220, 150, 180
_TOKEN = re.compile(r"\w+|[^\w\s]")


def function_cost(text: str) -> int:
    """The approximate memory of a lambda: its code, and the saved parts."""
    return 4000 + 300 * len(_TOKEN.findall(text))


def cost(x: Value) -> int:
    """The approximate memory that a value needs when read back; at least what a Reader counts for it."""
    if x.__class__ is Nd:
        return LIST + x.a.nbytes + (VEC + 16) * len(x)
    if isinstance(x, List) and x.flat is not None:
        return LIST + x.flat.a.nbytes + (VEC + 16) * len(x)
    if x.__class__ is Vec:
        return VEC + (SYM * len(x) if x.t == T.S else x.a.nbytes)
    if isinstance(x, List):
        return LIST + 16 * len(x) + sum(map(cost, x.items))
    if x.__class__ is Dict:
        return LIST + cost(x.k) + cost(x.v)
    if x.__class__ is Table:
        return 2 * LIST + VEC + SYM * len(x.names) + sum(map(cost, x.cols))
    if isinstance(x, Lambda):
        return function_cost(x.text) + VEC + len(x.text)
    if isinstance(x, Prim):  # possibly a function that calls it
        return function_cost(x.name + "[x;y;z]") + VEC
    if isinstance(x, Proj):
        return (
            LIST
            + cost(x.f)
            + sum(ATOM if argument is HOLE else cost(argument) for argument in x.args)
        )
    if isinstance(x, Comp):
        return LIST + sum(map(cost, x.fs))
    if isinstance(x, Derived):
        return LIST + cost(x.f)
    return SYM if x.__class__ in (Sym, EnumAtom) else ATOM
