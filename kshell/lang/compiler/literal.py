"""The value of a literal node."""

from __future__ import annotations

import numpy as np

from kshell.parse import tree as N
from kshell.values.base import types as T
from kshell.values.base.build import string
from kshell.values.base.core import Value, Vec, atom, char, sym_vec
from kshell.values.base.symbols import sym


def value_of(node: N.Lit) -> Value:
    """The atom or vector for a Lit node."""
    qtype, data = node.t, node.data
    if qtype == "s":
        return sym(data) if isinstance(data, str) else sym_vec(data)
    if qtype == "c":
        return char(data) if isinstance(data, str) else string(data)
    row = T.BY_CHAR[qtype]
    if isinstance(data, list):
        if qtype == "g":
            return Vec(T.G, np.frombuffer(b"".join(data), "V16"))
        return Vec(row.num, np.array(data, row.dtype))
    if qtype == "e":
        data = float(np.float32(data))
    return atom(row.num, data)
