"""Each of a lambda that is one condition, `{$[x>0;x+1;x-1]}`, on a vector: its parts on the items that they are for."""

from __future__ import annotations

from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.lang.scan import atomic_expr
from kshell.parse import tree as N
from kshell.values import types as T
from kshell.values.context import running
from kshell.values.core import Value, Vec, atom_t, raw
from kshell.values.functions import Lambda

_FEW = 64  # items, of which fewer are taken one by one
_KEPT = 1024  # lambdas whose parts are kept

Part = Any  # the Python function of a part
_PARTS: dict[int, tuple[Any, Any, list[Part] | None]] = {}


def each(f: Value, x: Value) -> Value | None:
    """`f each x`, or None if f is no such lambda, or its parts do not give one vector."""
    if not isinstance(f, Lambda) or f.rank != 1 or f.tree is None or x.__class__ is not Vec or len(x.a) < _FEW \
            or x.t in (T.S, T.G, T.ENUM):
        return None
    names = running().names
    found = _PARTS.get(id(f.tree))
    if found is None or found[0] is not f.tree or found[1] is not names:
        if len(_PARTS) > _KEPT:
            _PARTS.clear()
        found = _PARTS[id(f.tree)] = (f.tree, names, _parts(f, names))
    if found[2] is None:
        return None
    try:
        return _run(found[2], x)
    except QError:
        return None  # the items one by one find it again, in their order


def _parts(f: Lambda, names: Any) -> list[Part] | None:
    """The condition's parts as functions of the lambda's parameter, if all are made of atomic verbs."""
    from kshell.lang.compile import compile_lambda

    body, params = f.tree.body, f.params or ("x",)
    if len(body) != 1 or not isinstance(body[0], N.Cond) or not len(body[0].args) % 2:
        return None
    args = body[0].args
    for k, part in enumerate(args):
        plain = (k % 2 == 1 or k == len(args) - 1) and (
            (isinstance(part, N.Name) and part.name in params)
            or (isinstance(part, N.Lit) and part.t in "bhijef" and not isinstance(part.data, list)))
        if not plain and not atomic_expr(part, params):
            return None
    nodes = [N.Lambda(list(params), [part], f.tree.text, f.tree.start, f.tree.end) for part in args]
    return [compile_lambda(node, f.source, names, f.ctx).fn for node in nodes]


def _run(parts: list[Part], x: Vec) -> Value | None:
    """The results for the items of x, as a vector; None if they are of several types."""
    at = np.arange(len(x.a))
    done: list[tuple[np.ndarray, Value]] = []
    rest = x
    for k in range(0, len(parts) - 1, 2):
        test = parts[k](rest)
        if test.__class__ is not Vec or test.t != T.B:
            return None
        yes, no = np.flatnonzero(test.a), np.flatnonzero(~test.a)
        if len(yes):
            done.append((at[yes], parts[k + 1](Vec(x.t, rest.a[yes]))))
        rest, at = Vec(x.t, rest.a[no]), at[no]
        if not len(no):
            break
    else:
        done.append((at, parts[-1](rest)))
    t = _type(done[0][1])
    if not t or t in (T.G, T.ENUM) or any(_type(r) != t for _, r in done):
        return None
    out = np.empty(len(x.a), T.DTYPE[t])
    for place, r in done:
        out[place] = r.a if r.__class__ is Vec else raw(r)
    return Vec(t, out)


def _type(x: Value) -> int:
    return x.t if x.__class__ is Vec else atom_t(x)  # type: ignore[no-any-return]
