"""value, get and set: names, files, text and parse trees."""

from __future__ import annotations

from collections.abc import Sequence

from kshell.errors import QError
from kshell.lang.compiler.built_ins import known
from kshell.lang.compiler.literal import value_of
from kshell.lang.session.views import parts
from kshell.lang.verbs import disk
from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.build import string, vec
from kshell.values.base.core import (
    HOLE,
    NIL,
    Atom,
    Dict,
    EnumAtom,
    List,
    Value,
    Vec,
    atom_t,
    is_list,
    seq_items,
    sym_vec,
    text_of,
)
from kshell.values.base.functions import Comp, Derived, Iter, Lambda, ListProj, Prim, Proj, View
from kshell.values.base.match import match
from kshell.values.base.primitives import COMPOSED, DERIVED, K_TEXT, OPERATORS, number
from kshell.values.base.symbols import Sym
from kshell.values.engine.apply import apply
from kshell.values.items.pick import unenum
from kshell.values.session.context import running
from kshell.values.session.interrupts import edit
from kshell.values.session.restrict import refuse


@verb("value", handle=True, effect="own")
def value(x: Value) -> Value:
    """The value of x: of a name, text or parse tree; for a dictionary, its values.

    q)value "2+3"
    5
    q)value `a`b!1 2
    1 2
    q)value (+;1;2)
    3
    """
    if x.__class__ is Dict:
        return x.v
    if x.__class__ is Atom and x.t == T.C:
        return running().evaluate(text_of(x))
    if x.__class__ is Sym:
        return read_file(x) if x.s.startswith(":") else running().names.get(x.s)
    if x.__class__ is Vec:
        if x.t == T.C:
            return running().evaluate(text_of(x))
        if x.t == T.ENUM:
            return unenum(x)
        if x.t != T.S:
            raise QError("type")
    if x.__class__ is EnumAtom:
        return unenum(x)
    if is_list(x):
        return _call(seq_items(x))
    return _structure(x)


@verb("get", effect="own")
def get(x: Value) -> Value:
    """The value of a global variable or a data file; same as value.

    q)`a set 42;
    q)get `a
    42
    """
    return value(x)


def _call(items: list[Value]) -> Value:
    """Evaluate a parse tree: its first item, evaluated if it is text or a name, applied to the others."""
    if not items:
        return List([])
    function = items[0]
    arguments: Sequence[Value] = items[1:]
    if function.__class__ is Sym and function.s.startswith(":") and arguments:
        function, arguments = disk.entry(function, arguments)
    if (
        function.__class__ is Sym
        or (function.__class__ is Vec and function.t == T.C)
        or atom_t(function) == T.C
    ):
        function = value(function)
    return apply(function, arguments) if arguments else function


def read_file(x: Sym) -> Value:
    """The value in a data file."""
    return disk.read_path(x)


def _structure(x: Value) -> Value:
    """The parts of a function, as returned by `value`."""
    if isinstance(x, Lambda):
        return _of_lambda(x)
    if isinstance(x, (Proj, ListProj)):
        return _of_projection(x)
    if isinstance(x, Comp):
        return List(list(x.fs))
    if isinstance(x, Derived):
        return x.f
    if isinstance(x, Prim):
        return _primitive(x)
    if isinstance(x, View):
        return parts(x)
    if isinstance(x, Iter):
        return ("'", "/", "\\", "':", "/:", "\\:").index(x.glyph)
    if x is NIL:
        return 0
    raise QError("type")


def _of_lambda(x: Lambda) -> Value:
    """Parameters, locals, globals, constants, names and text of a lambda."""
    source = x.source
    name = source.name if source.name[:1] == "." else ".." + source.name
    leading = [
        vec(T.X, []),
        sym_vec(x.params or ("",)),
        sym_vec(x.locals),
        sym_vec([x.ctx.lstrip("."), *x.globals]),
    ]
    trailing = [
        vec(T.J, []),
        string(name) if source.name else List([]),
        string(source.file),
        source.line if source.file else -1,
        string(x.text),
    ]
    return List([*leading, *_constants(x), *trailing])


def _of_projection(x: Proj | ListProj) -> Value:
    """The function of a projection of a function, and its arguments up to the last one given."""
    arguments = list(x.args)
    while arguments and arguments[-1] is HOLE:
        arguments.pop()
    leading = [x.f] if isinstance(x, Proj) else []
    return List(leading + [NIL if argument is HOLE else argument for argument in arguments])


def _primitive(x: Prim) -> Value:
    """`value` of a built-in: its number, or its definition in k."""
    name = x.name
    if name in DERIVED:
        return known(DERIVED[name][0])
    if name in COMPOSED:
        outer, inner, glyph = COMPOSED[name]
        return List([known(outer), Derived(glyph, known(inner)) if glyph else known(inner)])
    primitive_number = number(name)
    glyph = K_TEXT.get(name, "")[:-1]
    if primitive_number is None and glyph in OPERATORS and K_TEXT[name][-1] == ":":
        return OPERATORS.index(glyph)  # kdb+ uses one primitive under several names
    return _library(x) if primitive_number is None else primitive_number


def _library(x: Prim) -> Value:
    """`value` of a function without q text: a list as for a lambda, with its parameters and name, and the name in place
    of the text."""
    most = max(1, *x.fns)
    full_name = _full_name(x)
    return List(
        [
            vec(T.X, []),
            sym_vec("xyzabcde"[:most]),
            sym_vec([]),
            sym_vec([full_name.split(".")[1]]),
            vec(T.J, []),
            string(full_name),
            string(""),
            -1,
            string(x.name),
        ]
    )


def _full_name(x: Prim) -> str:
    """The name of a function with its namespace: `.q` for a keyword, the root for the k-api's."""
    if x.name[:1] == ".":
        return x.name
    return (".q." if x.entry is not None and x.entry.kind == "verb" else "..") + x.name


def _constants(f: Lambda) -> list[Value]:
    """The distinct constants of a lambda."""
    constants: list[Value] = []
    for const in f.consts:
        constant = const if isinstance(const, Lambda) else value_of(const)
        if not any(match(constant, earlier) for earlier in constants):
            constants.append(constant)
    return constants


@verb("set", effect="own")
@edit("set")
def set_(x: Value, y: Value) -> Value:
    """Assign y to the global variable x, or write it to the file x.

    q)`a set 1 2 3
    `a
    q)a
    1 2 3
    """
    if is_list(x) or (x.__class__ is Sym and x.s.startswith(":")):
        refuse("set")
        return disk.write_path(x, y)
    if x.__class__ is not Sym or not x.s:
        raise QError("type")
    running().names.set(x.s, y)
    return x
