"""qSQL: select, exec, update and delete, as templates and in functional form.

A template is run by select.py, update.py, or partitioned.py for a partitioned table.
"""

from __future__ import annotations

from kshell.errors import QError
from kshell.lang.qsql import partitioned, update
from kshell.lang.qsql.select import Limit, Named, Phrase, Source, restricted, run_exec, run_select
from kshell.lang.tables.columns import Columns
from kshell.lang.tables.tables import fetch
from kshell.lang.verbs.dicts import UPDATE
from kshell.lang.verbs.search import SELECT
from kshell.parse import tree as N
from kshell.registry import Hook
from kshell.values.base.core import Dict, List, Sym, Table, Value, is_list, seq_items

TREE = Hook()  # compiles a parse tree to a phrase: lang/session/parse_tree.py

# ------------------------------------------------------------------ the templates


def select(
    verb: str,
    table: Value,
    where: list[Phrase],
    by: Named | None,
    cols: Named,
    distinct: bool = False,
    limit: Limit = None,
) -> Value:
    """Run a template: verb is select, exec, update or delete; `by` and `cols` are phrases with their names."""
    if by is not None and verb != "exec":
        taken = {n for n, _ in by}
        clash = next((n for n, _ in cols if n in taken), None)
        if clash is not None and verb == "select":
            raise QError(f"dup names for cols/groups {clash}")
    if verb == "update":
        return update.update(table, where, by, cols)
    if verb == "delete":
        if any(not isinstance(p.node, N.Name) for _, p in cols):
            raise QError("type")
        return update.delete(table, where, [p.node.name for _, p in cols])
    return query(verb == "exec", table, where, by, cols, distinct, limit)


def query(
    is_exec: bool,
    table: Value,
    where: list[Phrase],
    by: Named | None,
    cols: Named,
    distinct: bool,
    limit: Limit,
) -> Value:
    """select or exec."""
    x = fetch(table)
    if x.__class__ is Table and x.cols.__class__ is not list:
        if partitioned.is_partitioned(x):
            return partitioned.query(is_exec, x, where, by, cols, distinct, limit)
    src = Source(x)
    c = restricted(Columns(src.cols, src.n), where)
    if is_exec and by is not None and len(by) == 1 and by[0][0] is None and _is_false(by[0][1]):
        is_exec, by = False, None  # `exec a,b by 0b`: a table
        cols = [(n or "x", p) for n, p in cols]
    if is_exec:
        return run_exec(src, c, by, cols, distinct)
    return run_select(src, c, by, cols, distinct, limit)


def _is_false(p: Phrase) -> bool:
    return isinstance(p.node, N.Lit) and p.node.t == "b" and p.node.data in (False, 0)


# ------------------------------------------------------------------ functional forms


def tree(x: Value) -> Phrase:
    """The phrase for a parse tree."""
    return TREE.fn(x)


def constraints(c: Value) -> list[Phrase]:
    """The where phrases of a functional form: a list of parse trees."""
    return [tree(x) for x in seq_items(c)]


def pairs(d: Dict) -> Named:
    """The named phrases of a functional form: a dictionary of names and parse trees."""
    names = seq_items(d.k)
    if any(name.__class__ is not Sym for name in names):
        raise QError("type")
    return [(name.s, tree(x)) for name, x in zip(names, seq_items(d.v), strict=True)]


def _phrases(x: Value) -> Named:
    """A dictionary of phrases, one phrase without a name, or none."""
    if x.__class__ is Dict:
        return pairs(x)
    if is_list(x) and not len(x):
        return []
    return [(None, tree(x))]


@SELECT.set
def functional_select(
    t: Value, c: Value, b: Value, a: Value, n: Value | None = None, g: Value | None = None
) -> Value:
    """`?[t;c;b;a]`, `?[t;c;b;a;n]`, `?[t;c;b;a;n;g]`: select or exec from parse trees."""
    if g.__class__ is List and len(g) == 1:
        g = g.item(0)
    limit = None if n is None else (n, None, None if g is None else tree(g))
    where, cols = constraints(c), _phrases(a)
    if b.__class__ is bool:
        if cols and cols[0][0] is None:
            raise QError("type")
        return query(False, t, where, None, cols, b, limit)
    by = _phrases(b) or None
    keyed = b.__class__ is Dict and (not cols or cols[0][0] is not None)
    return query(not keyed, t, where, by, cols, False, limit)


@UPDATE.set
def functional_update(t: Value, c: Value, b: Value, a: Value) -> Value:
    """`![t;c;b;a]`: update, or delete if a is not a dictionary."""
    where = constraints(c)
    if a.__class__ is Dict:
        return update.update(t, where, pairs(b) if b.__class__ is Dict else None, pairs(a))
    if a.__class__ is Sym:
        return update.delete(t, where, [a.s])
    return update.delete(t, where, [item.s for item in seq_items(a)])
