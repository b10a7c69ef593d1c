"""Helpers for compiled q code: the functions behind names with a leading underscore in emitted Python."""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount
from typing import Any

from kshell.errors import QError
from kshell.lang.each import maps
from kshell.lang.qsql import functional
from kshell.lang.qsql.select import Phrase
from kshell.lang.tables import tables, unpack
from kshell.lang.tables.condition import times, truth
from kshell.lang.verbs.cast import part
from kshell.values.base import types as T
from kshell.values.base.build import collapse, symdict
from kshell.values.base.core import HOLE, NIL, Dict, List, Nd, Table, Value, Vec, atom_t, long
from kshell.values.base.functions import (
    Comp,
    Derived,
    Lambda1,
    Lambda2,
    Lambda3,
    ListProj,
    Prim,
    python_raised,
    python_result,
)
from kshell.values.base.symbols import Sym
from kshell.values.change.amend import amend, assign_at, assign_in_place
from kshell.values.change.grow import (
    ALONE,
    amend_owned,
    append_owned,
    lone_array,
    lone_items,
    put_owned,
)
from kshell.values.change.join import append
from kshell.values.change.names import PART, dotted
from kshell.values.engine.apply import apply, apply1, apply2
from kshell.values.session.context import running
from kshell.values.session.interrupts import ASSIGNED, PENDING, brief, edit, let_through

PART.set(part)


def wrap(n: Any) -> Value:
    """Convert the result of native arithmetic on longs that overflowed (or was not a plain int)."""
    return long(n) if n.__class__ is int else n


def make_list(*items: Value) -> Value:
    """`(a;b;...)`; if items are missing, a projection of the list."""
    if HOLE in items:
        return ListProj(items)
    return collapse(list(items))


def apply_n(f: Value, *args: Value) -> Value:
    return apply(f, args)


def compose(*fs: Value) -> Value:
    return Comp(tuple(fs))


def get_global(name: str, ctx: str) -> Value:
    return running().names.get(name, ctx)


def known_global(name: str, ctx: str) -> bool:
    """Is there a global with a dotted name whose first part is also a local?"""
    try:
        return running().names.find(name, ctx) is not None
    except QError:
        return False


def view_value(name: str) -> Value:
    return running().names.read(name)


def phrase_global(name: str, ctx: str) -> Value:
    """A global named in a template phrase inside a lambda: looked up in the current namespace, whatever the lambda's
    own, and else in the lambda's."""
    names = running().names
    global_value = names.find(name) if names.current != ctx else None
    return names.get(name, ctx) if global_value is None else global_value


@brief
def set_global(name: str, ctx: str, x: Value) -> Value:
    running().names.set(name, x, ctx)
    return let_through(ASSIGNED, x) if PENDING else x


@brief
def put_global(name: str, ctx: str, x: Value, at: tuple[Value, ...]) -> None:
    """Assign a global when assignments are checked: it may be forbidden, or has to be reported."""
    names = running().names
    names.allow(ctx, name)
    names.put(ctx, name, x)
    if ctx == "." and names.hook is not None:
        names.hook(name, at)
    if PENDING:
        let_through(ASSIGNED)


def allow_global(name: str, ctx: str) -> None:
    """'noupdate if globals may not be assigned now."""
    names = running().names
    names.allow(*names.split(name, ctx))


def ns_get(space: dict[str, Any], last: str, full: str) -> Value:
    """A qualified global `.a.b`: from its namespace, or from wherever else the name is defined."""
    member = space.get(last)
    return member if member is not None else running().names.get(full)


@brief
def op_global(name: str, ctx: str, fn: Callable[[Value, Value], Value], y: Value) -> Value:
    """`name fn:y` for a global; if it does not exist, it starts at zero, or empty."""
    names = running().names
    names.allow(*names.split(name, ctx))
    value = names.find(name, ctx)
    if value is None:
        value = List([]) if fn is append_local else 0
    if fn is not append_local:
        value = fn(value, y)
    elif getrefcount(value) <= ALONE:
        value = append_owned(value, y)
    else:
        value = append(value, y)
    names.set(name, value, ctx)
    return let_through(ASSIGNED, value) if PENDING else value


@brief
def append_local(x: Value, y: Value) -> Value:
    """`x,:y`: returns the new x. A vector, general list or table grows in place if nothing else can see it."""
    if getrefcount(x) <= ALONE:
        appended = append_owned(x, y)
        return let_through(ASSIGNED if appended is x else "", appended) if PENDING else appended
    appended = append(x, y)
    return let_through("", appended) if PENDING else appended


@brief
def assign_local(x: Value, path: tuple[Value, ...], y: Value) -> Value:
    """`x[path]:y`: returns the new x. Its array is written in place if nothing else can see it."""
    if getrefcount(x) <= ALONE:
        if x.__class__ is Vec or x.__class__ is Nd:
            alone = lone_array(x)
        elif x.__class__ is Dict or x.__class__ is Table:
            if put_owned(x, path, y):
                return let_through(ASSIGNED, x) if PENDING else x
            alone = False
        else:
            alone = x.__class__ is List and len(path) == 1 and lone_items(x)
        if alone:
            assigned = assign_in_place(x, path, y)
            return let_through(ASSIGNED if assigned is x else "", assigned) if PENDING else assigned
    return assign_at(x, path, y)


@brief
def amend_local(x: Value, path: tuple[Value, ...], f: Value, y: Value) -> Value:
    """`x[path]f:y`: returns the new x, written in place if it is one item of a vector that nothing else can see."""
    if x.__class__ is Vec and len(path) == 1 and getrefcount(x) <= ALONE and lone_array(x):
        index = path[0]
        if (
            index.__class__ is int
            and 0 <= index < len(x.a)
            and f.__class__ is Prim
            and 2 in f.fns
            and f.name != ":"
        ):
            amended = f.fns[2](x.item(index), y)
            if atom_t(amended) == x.t:
                amended = assign_in_place(x, path, amended)
                return (
                    let_through(ASSIGNED if amended is x else "", amended) if PENDING else amended
                )
    elif (
        x.__class__ is Dict
        and len(path) == 1
        and getrefcount(x) <= ALONE
        and f.__class__ is Prim
        and 2 in f.fns
        and f.name != ":"
        and amend_owned(x, path[0], f, y)
    ):
        return let_through(ASSIGNED, x) if PENDING else x
    return amend(x, path, f, y)


@edit("the assignment")
def amended(f: Value, *args: Value) -> Value:
    """The value of an amendment: the items just changed."""
    return apply(f, args)


def signal(x: Value) -> None:
    """`'x`: signal an error whose text is a string or symbol."""
    if x.__class__ is Sym:
        raise QError(x.s)
    if x.__class__ is Vec and x.t == T.C:
        raise QError(x.a.tobytes().decode("utf-8", "replace"))
    if x.__class__ is Prim:
        raise QError(x.name)
    raise QError("stype")  # a char too


def fail(text: str) -> None:
    raise QError(text)


def k_unary(glyph: str, x: Value) -> Value:
    """A glyph with one argument on its right: q does not have this form."""
    raise QError(glyph)


def dot(x: Value, name: str) -> Value:
    """`x.name` for a local: an item of a dictionary or table, or part of a temporal value."""
    return dotted(x, name)


def table_literal(keys: list[tuple[str, Value]] | None, cols: list[tuple[str, Value]]) -> Value:
    return tables.make_table(keys, cols)


def dict_literal(items: list[tuple[str, Value]]) -> Value:
    """`([a:1;b:2])`."""
    return symdict([name for name, _ in items], [value for _, value in items])


def safe() -> None:
    """A point where a loop that does nothing else can be interrupted."""


# the builtins of every namespace, under names that cannot be written in q
HELPERS: dict[str, Any] = {
    "_int": int,
    "_float": float,
    "_bool": bool,
    "_type": type,
    "_range": range,
    "_iter": iter,
    "_nil": NIL,
    "_hole": HOLE,
    "_L1": Lambda1,
    "_L2": Lambda2,
    "_L3": Lambda3,
    "_true": truth,
    "_times": times,
    "_wrap": wrap,
    "_list": make_list,
    "_ap1": apply1,
    "_ap2": apply2,
    "_ap": apply_n,
    "_unknown": AttributeError,
    "_raises": (Exception, SystemExit),
    "_raised": python_raised,
    "_result": python_result,
    "_compose": compose,
    "_get": get_global,
    "_here": phrase_global,
    "_known": known_global,
    "_set": set_global,
    "_put": put_global,
    "_allow": allow_global,
    "_view": view_value,
    "_ns": ns_get,
    "_opg": op_global,
    "_asg": assign_local,
    "_amd": amend_local,
    "_amended": amended,
    "_signal": signal,
    "_fail": fail,
    "_unary": k_unary,
    "_derive": Derived,
    "_append": append_local,
    "_safe": safe,
    "_dot": dot,
    "_table": table_literal,
    "_dictlit": dict_literal,
    "_empty": List([]),
    "_Phrase": Phrase,
    "_select": functional.select,
    "_len": len,
    **maps.CALLS,
    **unpack.CALLS,
}
