"""qSQL: select, exec, update and delete, as templates and in functional form.

A template is run by select.py, update.py, or partitioned.py for a partitioned table.
"""

from __future__ import annotations

import numpy as np

from kshell.errors import QError
from kshell.lang.qsql import partitioned, update
from kshell.lang.qsql.by_pieces import by_pieces
from kshell.lang.qsql.conditions import candidates
from kshell.lang.qsql.select import (
    Limit,
    Named,
    Phrase,
    Source,
    of_groups,
    restricted,
    run_exec,
    run_select,
)
from kshell.lang.tables.columns import Columns
from kshell.lang.tables.tables import fetch, names_of
from kshell.lang.verbs.dicts import UPDATE
from kshell.lang.verbs.search import SELECT
from kshell.parse import tree as N
from kshell.registry import Hook
from kshell.values.base.core import Dict, List, Table, Value, is_list, seq_items
from kshell.values.base.symbols import Sym

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
        group_names = {name for name, _ in by}
        clash = next((name for name, _ in cols if name in group_names), None)
        if clash is not None and verb == "select":
            raise QError(f"dup names for cols/groups {clash}")
    if verb == "update":
        return update.update(table, where, by, cols)
    if verb == "delete":
        names = [phrase.node.name for _, phrase in cols if isinstance(phrase.node, N.Name)]
        if len(names) < len(cols):
            raise QError("type")
        return update.delete(table, where, names)
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
    fetched = fetch(table)
    if fetched.__class__ is Table and fetched.cols.__class__ is not list:
        if partitioned.is_partitioned(fetched):
            return partitioned.query(is_exec, fetched, where, by, cols, distinct, limit)
    source = Source(fetched)
    columns = Columns(source.values, source.n)
    if is_exec and by is not None and len(by) == 1 and by[0][0] is None and _is_false(by[0][1]):
        is_exec, by = False, None  # `exec a,b by 0b`: a table
        cols = [(name or "x", phrase) for name, phrase in cols]
    found = None if by is None else by_pieces(columns, where, by, cols)
    if by is not None and found is not None and found[0]:
        return of_groups(is_exec, by, cols, found, limit)
    if found is not None:  # it is known that no row meets the conditions
        columns, where = columns.restrict(np.zeros(0, np.int64)), []
    columns = restricted(candidates(columns, where), where)
    if is_exec:
        return run_exec(source, columns, by, cols, distinct)
    return run_select(source, columns, by, cols, distinct, limit)


def _is_false(p: Phrase) -> bool:
    return isinstance(p.node, N.Lit) and p.node.t == "b" and p.node.data in (False, 0)


# ------------------------------------------------------------------ functional forms


def tree(x: Value) -> Phrase:
    """The phrase for a parse tree."""
    return TREE.fn(x)


def constraints(c: Value) -> list[Phrase]:
    """The where phrases of a functional form: a list of parse trees."""
    return [tree(phrase) for phrase in seq_items(c)]


def pairs(d: Dict) -> Named:
    """The named phrases of a functional form: a dictionary of names and parse trees."""
    names = seq_items(d.k)
    symbols = [key.s for key in names if key.__class__ is Sym]
    if len(symbols) < len(names):
        raise QError("type")
    return [(key, tree(phrase)) for key, phrase in zip(symbols, seq_items(d.v), strict=True)]


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
    conditions, columns = constraints(c), _phrases(a)
    if b.__class__ is bool:
        if columns and columns[0][0] is None:
            raise QError("type")
        return query(False, t, conditions, None, columns, b, limit)
    grouping = _phrases(b) or None
    keyed = b.__class__ is Dict and (not columns or columns[0][0] is not None)
    return query(not keyed, t, conditions, grouping, columns, False, limit)


@UPDATE.set
def functional_update(t: Value, c: Value, b: Value, a: Value) -> Value:
    """`![t;c;b;a]`: update, or delete if a is not a dictionary."""
    conditions = constraints(c)
    if a.__class__ is Dict:
        return update.update(t, conditions, pairs(b) if b.__class__ is Dict else None, pairs(a))
    if a.__class__ is Sym:
        return update.delete(t, conditions, [a.s])
    return update.delete(t, conditions, names_of(a))
