"""value, get and set: names, files, text and parse trees."""

from __future__ import annotations

from kshell.errors import QError
from kshell.registry import verb
from kshell.values import types as T
from kshell.values.apply import apply
from kshell.values.build import string, sym_vec, vec
from kshell.values.cast import unenum
from kshell.values.context import running
from kshell.values.core import (
    HOLE,
    NIL,
    Atom,
    Dict,
    EnumAtom,
    List,
    Sym,
    Value,
    Vec,
    atom_t,
    is_list,
    seq_items,
    text_of,
)
from kshell.values.functions import Comp, Derived, Iter, Lambda, ListProj, Prim, Proj, View

# q's numbers of the operators, which `value` gives
_OPERATORS = (":", "+", "-", "*", "%", "&", "|", "^", "=", "<", ">", "$", ",", "#", "_", "~", "!", "?", "@", ".",
              "0:", "1:", "2:", "in", "within", "like", "bin", "ss", "insert", "wsum", "wavg", "div", "xexp", "setenv",
              "binr", "cov", "cor")


@verb("value")
def value(x: Value) -> Value:
    """What x stands for: of a name, text, parse tree; a dictionary's values.

    q)value "2+3"
    5
    q)value `a`b!1 2
    1 2
    q)value (+;1;2)
    3
    """
    c = x.__class__
    if c is Dict:
        return x.v
    if c is Atom and x.t == T.C:
        return running().evaluate(text_of(x))
    if c is Sym:
        return read_file(x) if x.s.startswith(":") else running().names.get(x.s)
    if c is Vec:
        if x.t == T.C:
            return running().evaluate(text_of(x))
        if x.t == T.ENUM:
            return unenum(x)
        if x.t != T.S:
            raise QError("type")
    if c is EnumAtom:
        return unenum(x)
    if is_list(x):
        return _call(seq_items(x))
    return _structure(x)


@verb("get")
def get(x: Value) -> Value:
    """The value of a global variable or a data file; the same as value.

    q)`a set 42;
    q)get `a
    42
    """
    return value(x)


def _call(items: list[Value]) -> Value:
    """A parse tree: its first item, evaluated if it is text or a name, applied to the others."""
    if not items:
        return List([])
    f = items[0]
    if f.__class__ is Sym or (f.__class__ is Vec and f.t == T.C) or atom_t(f) == T.C:
        f = value(f)
    return apply(f, items[1:]) if len(items) > 1 else f


def read_file(x: Sym) -> Value:
    """The value in a data file."""
    from kshell.lang.verbs import disk

    return disk.read_path(x)


def _structure(x: Value) -> Value:
    """What a function is made of."""
    if isinstance(x, Lambda):
        head = [vec(T.X, []), sym_vec(x.params), sym_vec(x.locals),
                sym_vec([x.ctx.lstrip("."), *x.globals])]
        source = x.source
        tail = [vec(T.J, []), string(source.name), string(source.file), source.line - 1, string(x.text)]
        return List([*head, *x.consts, *tail])
    if isinstance(x, (Proj, ListProj)):
        args = list(x.args)
        while args and args[-1] is HOLE:
            args.pop()
        return List([*([x.f] if isinstance(x, Proj) else []), *(NIL if a is HOLE else a for a in args)])
    if isinstance(x, Comp):
        return List(list(x.fs))
    if isinstance(x, Derived):
        return x.f
    if isinstance(x, Prim):
        return _OPERATORS.index(x.name) if x.name in _OPERATORS else len(_OPERATORS)
    if isinstance(x, View):
        from kshell.lang.views import parts

        return parts(x)
    if isinstance(x, Iter):
        return ("'", "/", "\\", "':", "/:", "\\:").index(x.glyph)
    if x is NIL:
        return 0
    raise QError("type")


@verb("set")
def set_(x: Value, y: Value) -> Value:
    """Assign y to the global variable x, or write it to the file x.

    q)`a set 1 2 3
    `a
    q)a
    1 2 3
    """
    if is_list(x) or (x.__class__ is Sym and x.s.startswith(":")):
        from kshell.lang.verbs import disk

        return disk.write_path(x, y)
    if x.__class__ is not Sym or not x.s:
        raise QError("type")
    running().names.set(x.s, y)
    return x


